"""Fork a worker for each job on standard input, so that nothing is imported anew; print its number and its exit code.

    forker.py FOLDER

FOLDER holds design.json. A job is a line of JSON. "loop": release until killed. "crash": one release that ends at a
given call of os.fsync, os.replace or the like, or of a statement of a database, before or after it took effect.
"""

import json
import os
import random
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import darrm
from darrm.accounting import Ledger

DESIGN = darrm.load(Path(sys.argv[1]) / "design.json")
Job = dict[str, Any]


def release(ledger: Ledger, n: int, out: Path) -> None:
    with ledger.releasing(DESIGN, n, out) as file:
        file.write("".join(f"{out.stem},{j}\n" for j in range(n)).encode())


def loop(job: Job) -> None:
    rng, ledger = random.Random(job["seed"]), Ledger(job["ledger"])
    os.write(1, b"ready\n")
    for i in range(2000):  # until it is killed; a bound, in case nobody does
        n = rng.randint(1, 5)
        release(ledger, n, Path(job["out"]) / f"{i}-{n}.csv")


def crash(job: Job) -> None:
    ledger, count = Ledger(job["ledger"]), 0

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count == job["call"] and not job["after"]:
                os._exit(9)
            now = count
            try:
                return call(*args, **kwargs)
            finally:
                if now == job["call"]:
                    os._exit(9)

        return wrapper

    for name in ("fsync", "replace", "rename", "chmod", "unlink"):
        setattr(os, name, counted(getattr(os, name)))

    class Connection(sqlite3.Connection):
        step = counted(sqlite3.Connection.execute)

        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            changes = statement.split()[0] in ("BEGIN", "INSERT", "UPDATE", "COMMIT")
            return self.step(statement, *values) if changes else super().execute(statement, *values)

    if job["ledger"].startswith("postgresql:"):
        import psycopg

        for name in ("execute", "commit"):
            setattr(psycopg.Connection, name, counted(getattr(psycopg.Connection, name)))
    connect = sqlite3.connect
    sqlite3.connect = lambda *args, **named: connect(*args, factory=Connection, **named)
    release(ledger, job["n"], Path(job["out"]))


print("warm", flush=True)
for line in sys.stdin:
    job = json.loads(line)
    child = os.fork()
    if child == 0:
        try:
            {"loop": loop, "crash": crash}[job["do"]](job)
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 3)
    os.write(1, f"{child}\n".encode())
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)

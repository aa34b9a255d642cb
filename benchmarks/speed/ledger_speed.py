"""Charges a second that eight processes make to one ledger, in a file and on a PostgreSQL server of its own.

    python benchmarks/speed/ledger_speed.py [--seconds 10] [--docs]

Takes: three minutes. --docs writes docs/howto/one_ledger.md.

Every charge is on disk before the next one of its process. Each line begins with a new ledger, and ends with a count:
the ledger must have charged exactly what the processes were told. Without PostgreSQL only files are measured.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
import postgres
from pages import DOCS, put, table

import darrm
from darrm.accounting import Ledger

PROCESSES, BLOCK, LEASED = 8, 10_000, 100


def one(ledger: Ledger, design: darrm.Design, who: str) -> int:
    ledger.charge(design)
    return 1


def block(ledger: Ledger, design: darrm.Design, who: str) -> int:
    ledger.charge(design, BLOCK, ids=[f"{who}-{i}" for i in range(BLOCK)])
    return BLOCK


def leased(ledger: Ledger, design: darrm.Design, who: str) -> int:
    with ledger.lease(design, LEASED) as lease:
        for _ in range(LEASED):
            lease.take()
    return LEASED


WAYS: dict[str, Callable[[Ledger, darrm.Design, str], int]] = {
    "one label": one,
    f"{BLOCK:,} labels with ids": block,
    f"a lease of {LEASED} labels": leased,
}


def work(place: str, way: str, seconds: float, number: int, gate: Any, told: Any) -> None:
    """Charge until the time is over; says how many charges and labels were made."""
    ledger, design = Ledger(place), darrm.solve(K=11, m=3, epsilon=0.1)
    charges = labels = 0
    gate.wait()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        labels += WAYS[way](ledger, design, f"{number}-{charges}")
        charges += 1
    told.put((charges, labels))


def measure(place: str, way: str, seconds: float, processes: int) -> tuple[float, float]:
    """Charges and labels a second."""
    design = darrm.solve(K=11, m=3, epsilon=0.1)
    ledger = Ledger.create(place, design, total_epsilon=3.3, total_delta=0, voters="fixed")  # without an end
    context = multiprocessing.get_context("fork")
    gate, told = context.Barrier(processes + 1), context.Queue()
    workers = [
        context.Process(target=work, args=(place, way, seconds, number, gate, told)) for number in range(processes)
    ]
    for worker in workers:
        worker.start()
    gate.wait()
    start = time.perf_counter()
    counts = [told.get(timeout=seconds + 120) for _ in workers]  # none is told if a process fails
    took = time.perf_counter() - start
    for worker in workers:
        worker.join()
    charges, labels = (sum(own) for own in zip(*counts, strict=True))
    if ledger.released(design) != labels:
        raise SystemExit(f"{labels} labels were charged, and the ledger has {ledger.released(design)}")
    ledger.history()
    return charges / took, labels / took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each line")
    parser.add_argument("--docs", action="store_true", help="also put the figures into docs/howto/one_ledger.md")
    options = parser.parse_args()
    lines, missing = [], postgres.missing()
    server = None if missing else postgres.Server()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for way in WAYS:
                for processes in (1, PROCESSES):
                    name = f"p{processes}_{list(WAYS).index(way)}"
                    places = {"file (SQLite)": f"{folder}/{name}.db"}
                    if server is not None:
                        places["server (PostgreSQL)"] = f"{server.url}#{name}"
                    for kind, place in places.items():
                        charges, labels = measure(place, way, options.seconds, processes)
                        lines.append({"one charge": way, "ledger": kind, "processes": processes,
                                      "charges/s": f"{charges:,.0f}", "labels/s": f"{labels:,.0f}"})  # fmt: skip
                        print(lines[-1], flush=True)
    finally:
        if server is not None:
            server.close()
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, SQLite "
        f"{sqlite3.sqlite_version}, server and processes on one machine, which was busy with other work (load "
        f"{os.getloadavg()[1]:.0f}). {missing and f'No server: {missing}.'}"
    ).rstrip()
    content = "\n\n".join([machine, table(lines)])
    print(content)
    if options.docs:
        put("ledgers", content, DOCS / "howto" / "one_ledger.md")


if __name__ == "__main__":
    main()

"""Eight processes charge one ledger while processes are killed and the server crashes: is a charge lost or overspent?

    python benchmarks/studies/ledger_faults.py [--labels 20000] [--kills 40]

Takes: two minutes.

In a file, and on a PostgreSQL server of its own. Each process charges blocks of 25 labels with ids, and writes down a
block when its charge has returned. One of them is killed (-9) again and again, and started anew; the server is stopped
without a checkpoint ("immediate") every tenth time, and started again. Processes end when the budget does. Then the
ledger must have every block that was written down, at most one more for each fault and process, as many ids as labels,
and no label beyond the budget. It ends with status 1 if not.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
import postgres

import darrm
from darrm.accounting import Ledger
from darrm.errors import BudgetError, DarrmError

PROCESSES, BLOCK = 8, 25


def work(place: str, told: Path) -> None:
    """Charge blocks until the budget is spent; a server that is away is waited for."""
    design, at = darrm.solve(K=5, m=2, epsilon=0.01), 0
    with told.open("ab", buffering=0) as book:
        while True:
            try:
                Ledger(place).charge(design, BLOCK, ids=[f"{told.name}-{os.getpid()}-{at}-{i}" for i in range(BLOCK)])
            except BudgetError:
                return
            except (
                DarrmError
            ):  # the server is away; whether the block counts is not known, so its ids are not used again
                time.sleep(0.05)
            else:
                book.write(b"x")
            at += 1


def trial(place: str, labels: int, kills: int, folder: Path, server: Any) -> dict[str, int]:
    """What was counted after so many kills."""
    design, rng = darrm.solve(K=5, m=2, epsilon=0.01), random.Random(1)
    total = float(design.certificate.tight_epsilon) * labels
    ledger = Ledger.create(place, total_epsilon=total, total_delta=0, voters="fresh", rule="basic-filter")
    allowed = ledger.remaining(design) or 0
    context = multiprocessing.get_context("fork")

    def started(number: int) -> Any:
        worker = context.Process(target=work, args=(place, folder / f"{number}"))
        worker.start()
        return worker

    workers, crashes = [started(number) for number in range(PROCESSES)], 0
    for kill in range(1, kills + 1):
        time.sleep(rng.uniform(0.05, 0.4))
        if server is not None and not kill % 10:
            server.stop("immediate")
            server.start()
            crashes += 1
        at = rng.randrange(PROCESSES)
        with suppress(ProcessLookupError):
            os.kill(workers[at].pid, signal.SIGKILL)
        workers[at].join()
        workers[at] = started(at)
    for worker in workers:
        worker.join()
    ledger = Ledger(place)
    status, history = ledger.status(), ledger.history()
    return {
        "allowed": allowed,
        "charged": status["released"],
        "with ids": status["ids"],
        "in the history": sum(charge["n"] for charge in history),
        "written down": BLOCK * sum(path.stat().st_size for path in folder.iterdir()),
        "kills": kills,
        "crashes": crashes,
    }


def holds(found: dict[str, int]) -> bool:
    """Whether nothing was lost or overspent; a fault may leave a block that counts and was not written down."""
    charged, faults = found["charged"], found["kills"] + PROCESSES * found["crashes"]
    alike = charged == found["with ids"] == found["in the history"]
    spent = found["allowed"] - BLOCK < charged <= found["allowed"]
    return alike and spent and found["written down"] <= charged <= found["written down"] + BLOCK * faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=20_000, help="that the budget covers")
    parser.add_argument("--kills", type=int, default=40)
    options = parser.parse_args()
    server = None if postgres.missing() else postgres.Server()
    fine = True
    try:
        with tempfile.TemporaryDirectory() as folder:
            places = {"file (SQLite)": f"{folder}/ledger.db"}
            if server is not None:
                places["server (PostgreSQL)"] = f"{server.url}#faults"
            for kind, place in places.items():
                told = Path(folder) / kind.partition(" ")[0]
                told.mkdir()
                crashing = server if place.startswith("postgresql") else None
                found = trial(place, options.labels, options.kills, told, crashing)
                fine &= holds(found)
                print(f"{kind}: {'nothing lost or overspent' if holds(found) else 'NOT as it must be'}: {found}")
    finally:
        if server is not None:
            server.close()
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())

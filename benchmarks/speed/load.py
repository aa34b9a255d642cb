"""Load: a hundred million releases, a day of ledger charges one a second, a table of 100,000 rows, coins alone.

    python benchmarks/speed/load.py [--labels 100000000] [--charges 86400] [--docs]

Takes: five minutes. --docs writes docs/trust.md.

The day is compressed: four processes charge one ledger file as fast as they can, in /dev/shm if there is one, and a
fiftieth of it on disk, which is what takes time. The budget is exactly what they charge, so that one charge lost or
counted twice would show. Rates are by CPU seconds, but for the ledger. ``--docs`` writes docs/trust.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import table_speed

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, put

import darrm
from darrm.accounting import Ledger
from darrm.errors import BudgetError
from darrm.randomness.coins import Coins

K, BLOCK, PROCESSES = 11, 1_000_000, 4
AGAIN = "`python benchmarks/speed/load.py`"
CHARGES = """
import json, sys, time
import darrm
from darrm.accounting import Ledger
design, ledger, times = darrm.load("gamma.json"), Ledger("ledger.db"), [time.perf_counter()]
for _ in range(int(sys.argv[1])):
    ledger.charge(design, 1)
    times.append(time.perf_counter())
print(json.dumps(times))
"""


def peak() -> float:
    """The most memory that this process held so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def releases(design: darrm.Design, n: int) -> str:
    """Labels of blocks of votes; how far their shares are from what the design says."""
    mechanism, votes = darrm.mechanisms.DaRRM(design), np.zeros((BLOCK, K), dtype=np.uint8)
    for l in range(K + 1):
        votes[l :: K + 1, :l] = 1
    group = np.arange(BLOCK) % (K + 1)
    seen, drawn, early = np.zeros(K + 1), np.zeros(K + 1), 0.0
    used, start = 0.0, time.process_time()
    for block in range(n // BLOCK):
        begun = time.process_time()
        labels = mechanism.release(votes)
        used += time.process_time() - begun
        seen += np.bincount(group, weights=labels, minlength=K + 1)
        drawn += np.bincount(group, minlength=K + 1)
        if block == n // BLOCK // 10:
            early = peak()
    chance = mechanism.kernel(K)[:, 1]
    spread = np.sqrt(np.maximum(chance * (1 - chance) / drawn, 1e-300))
    varied, off = chance * (1 - chance) > 0, np.abs(seen / drawn - chance)
    far = float(np.max(np.where(varied, off / spread, np.where(off > 0, math.inf, 0.0))))
    return (
        f"{n / used / 1e6:.1f} million labels/s of one core ({time.process_time() - start:.0f} CPU s with counting); "
        f"{early:.0f} MB held at a tenth of them and {peak():.0f} MB at the end; of the shares for {K + 1} numbers of "
        f"ones the farthest is {far:.1f} standard errors from what the design says."
    )


def coins() -> str:
    """Exact coins alone, words of the operating system included."""
    n, made = 1 << 20, Coins([Fraction(0.3)])
    which, start = np.zeros(n, dtype=np.intp), time.process_time()
    for _ in range(20):
        made.flip(which)
    rate = 20 * n / (time.process_time() - start)
    start = time.process_time()
    for _ in range(20):
        os.urandom(8 * n)
    words = 20 * n / (time.process_time() - start)
    return f"{rate / 1e6:.0f} million bits/s of one core, of 64-bit words that come at {words / 1e6:.0f} million/s."


def charges(design: darrm.Design, n: int, folder: Path) -> str:
    """One ledger, charged by several processes to the last label of its budget."""
    each = n // PROCESSES
    n = each * PROCESSES
    design.save(folder / "gamma.json")
    problem = design.problem
    total = float(math.ceil(n * Fraction(problem.m) * Fraction(problem.epsilon)))
    book = Ledger.create(
        folder / "ledger.db", design, total_epsilon=total, total_delta=0, voters="fresh", rule="basic-filter"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", CHARGES, str(each)], cwd=folder, stdout=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    ends = [np.array(json.loads(process.communicate()[0])) for process in running]  # of one clock
    times = np.concatenate([np.diff(one) for one in ends])
    seconds = max(one[-1] for one in ends) - min(one[0] for one in ends)
    released = book.status()["released"]
    try:
        book.charge(design, 1)
        refused = "not refused"
    except BudgetError:
        refused = "refused"
    if released != n or refused != "refused" or any(process.returncode for process in running):
        raise SystemExit(f"{released} of {n} charges are in the ledger; the next one was {refused}.")
    return (
        f"All {released:,} are in the ledger, none lost or twice; the next is refused. {n / seconds:.0f} charges/s by "
        f"{PROCESSES} processes, {seconds:.0f} s; one takes {np.median(times) * 1e3:.1f} ms (median), "
        f"{times.max() * 1e3:.0f} ms at most, waiting for the others included."
    )


def lookups(folder: Path) -> str:
    """A large table, opened in a process of its own."""
    small = darrm.tables.solve_grid(range(3, 22), [1, 2, 3], [0.1, 0.5], [0.0, 1e-5])
    count, opened, median, slowest, memory = table_speed.lookups(small, folder)
    return (
        f"Opened in {opened:.1f} s; each of {len(range(0, int(count), int(count) // 200))} lookups gave a design that "
        f"was verified anew, in {median * 1e3:.1f} ms (median), {slowest * 1e3:.0f} ms at most; {memory:.0f} MiB held."
    )


def table(rows: Sequence[Mapping[str, str]]) -> str:
    lines = ["| " + " | ".join(rows[0]) + " |", "| :-- | --: | :-- | :-- |"]
    return "\n".join([*lines, *("| " + " | ".join(row.values()) + " |" for row in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=100_000_000)
    parser.add_argument("--charges", type=int, default=86_400)
    parser.add_argument("--docs", action="store_true", help="also write docs/trust.md")
    options = parser.parse_args()
    design = darrm.solve(K=K, m=3, epsilon=1)
    counter = darrm.solve(K=K, m=2, epsilon=0.5)  # m epsilon = 1 exactly: the budget is the number of labels
    rows = []

    def row(what: str, how_many: int, happened: str) -> None:
        rows.append({"trial": what, "count": f"{how_many:,}", "outcome": happened, "command": AGAIN})
        print(f"{what}, {how_many:,}: {happened}", flush=True)

    with tempfile.TemporaryDirectory() as name:
        row(f"labels released, K = {K}", options.labels, releases(design, options.labels))
        row("exact random bits", 20 << 20, coins())
        row("rows of one table", 100_000, lookups(Path(name)))
        few = options.charges // 50
        row("ledger charges, on disk", few, charges(counter, few, Path(name)))
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        what = "ledger charges, a day of one a second compressed" + ", in a file system in memory" * bool(memory)
        row(what, options.charges, charges(counter, options.charges, Path(name)))
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}, "
        f"load {os.getloadavg()[1]:.0f} from other work."
    )
    content = f"{table(rows)}\n\n{machine}"
    if options.docs:
        put("load", content, DOCS / "trust.md")


if __name__ == "__main__":
    main()

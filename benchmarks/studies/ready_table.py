"""The ready table: gamma_opt, free and monotone, for all K up to 51.

    python benchmarks/studies/ready_table.py [--out gamma-tables.parquet] [--jobs -1]   goes on if interrupted
    python benchmarks/studies/ready_table.py --part 50   every fiftieth design
    python benchmarks/studies/ready_table.py --part 40 --out part.csv --independent   and check each

Takes: some minutes. --docs writes docs/howto/tables.md.

K = 2..51, m = 1..K/2 + 1 (from there on none needs noise), epsilon .05 to 1, Delta 0, 1e-6, 1e-5, ``max_affected`` K
and, for disjoint shards, 1 and 2.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, put

from darrm.design.design import in_file
from darrm.independent import check, cost
from darrm.tables import solve_grid
from darrm.tables.problems import Grid, grid
from darrm.tables.table import Table, as_design

EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0)
DELTAS = (0.0, 1e-6, 1e-5)
LONG = 2.0  # seconds of an independent check; raise it if you have an hour


def ready() -> Grid:
    tasks = []
    for K in range(2, 52):
        for max_affected in sorted({1, 2, K}):
            tasks += grid(
                K, range(1, K // 2 + 2), EPSILONS, DELTAS, max_affected=max_affected, shape=("free", "monotone")
            ).tasks
    return Grid(tuple(dict.fromkeys(tasks)))


def checked_independently(table: Table) -> str:
    """How many designs the independent check verifies, and the claims that it refuses."""
    judged, wrong = 0, []
    for row in table.rows:
        if row["failure"]:
            continue
        design = as_design(row)
        content = in_file(design)
        if cost(content).seconds > LONG:
            continue
        found = check(content)
        wrong += [f"{design!r}: {claim}" for claim in (*found.wrong, *found.loose)]
        judged += 1
    return "\n".join([f"Independent check: {judged} of {len(table)} designs, {len(wrong)} disagreements.", *wrong])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("gamma-tables.parquet"))
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--part", type=int, default=1, help="solve every PART-th design only")
    parser.add_argument("--docs", action="store_true", help="also put its size into docs/")
    parser.add_argument("--independent", action="store_true", help="verify independently too, up to some size")
    options = parser.parse_args()
    todo = Grid(ready().tasks[:: options.part])
    print(f"{len(todo.tasks)} designs")
    table = solve_grid(todo, out=options.out, jobs=options.jobs)
    size = options.out.stat().st_size
    line = (
        f"{len(table)} designs, {len(table.failures)} failures, each verified: {size / 1e6:.2f} MB as "
        f"{options.out.suffix}, {size / len(table):.0f} bytes a design."
    )
    print(line, f"{table.found} of them were there.")
    if options.independent:
        print(checked_independently(table))
    if options.docs:
        put("ready", line, DOCS / "howto" / "tables.md")


if __name__ == "__main__":
    main()

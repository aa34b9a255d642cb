"""Decisions between several classes: how far they can be computed, and what that takes.

    python benchmarks/studies/class_decisions.py [--docs] [--quick]

Takes: two minutes, --quick one minute. --docs writes docs/benchmarks.md.

Three lines of the table go into docs/note.md too.

Seconds are processor time of one core: solve, certificate and gap together; memory is the most that the process of its
own holds, libraries included. The list is every case as a row and every entry as a variable, under all names of the
classes, stated in CVXPY and solved by HiGHS, as one would do by hand; beyond 20,000 rows it is left out.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import platform
import resource
import sys
import time
from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement
from pathlib import Path
from typing import NamedTuple

import numpy as np

import darrm
from darrm import objectives
from darrm.constraints.classes import ClassColumns, ClassRows
from darrm.problem.class_corners import ClassCase, GroupOfCase, kinds_of, n_cases
from darrm.problem.limits import guarantee
from darrm_solvers import Progress

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, bullets, put, table

PAGE, NOTE = DOCS / "benchmarks.md", DOCS / "note.md"
IN_NOTE = {(3, 11), (4, 11), (10, 7)}  # classes and voters, all affected
ACCURACY = 0.6
LISTED = 20_000  # rows, up to which the list is tried


class Size(NamedTuple):
    """One decision by voters of one epsilon, held to (total, delta)."""

    classes: int
    voters: int
    reached: int
    epsilon: float
    total: float
    delta: float = 0.0


SIZES = {
    "All voters affected": [
        *(Size(3, K, K, 0.5, 1.0 if K < 11 else 1.5) for K in (3, 5, 7, 11, 15, 25)),
        *(Size(4, K, K, 0.5, 1.5) for K in (4, 7, 9, 11)),
        *(Size(5, K, K, 0.5, 1.5) for K in (3, 5, 8)),
        Size(10, 7, 7, 0.5, 1.0),
    ],
    "Fewer affected voters": [Size(3, 11, 1, 0.5, 0.3), Size(3, 25, 3, 0.5, 1.0), Size(10, 11, 3, 0.5, 1.0)],
    "Non-private voters, one affected": [
        Size(3, 11, 1, math.inf, 1.0),
        Size(3, 25, 1, math.inf, 1.0),
        Size(3, 100, 1, math.inf, 1.0),
        Size(5, 25, 1, math.inf, 1.0),
    ],
    "With a delta": [
        Size(3, 5, 5, 0.5, 1.0, 1e-3),
        Size(3, 11, 11, 0.5, 1.5, 1e-3),
        Size(5, 8, 8, 0.5, 1.5, 1e-3),
        Size(3, 25, 1, math.inf, 1.0, 1e-5),
    ],
}


def problem_of(size: Size) -> darrm.DecisionProblem:
    group = darrm.VoterGroup(size.voters, size.epsilon)
    return darrm.DecisionProblem([group], size.total, size.delta, size.classes, size.reached)


def objective() -> objectives.Objective:
    return objectives.rule("plurality", [ACCURACY])


def n_listed(size: Size) -> int:
    """How many rows the list has."""
    sets = size.classes if not size.delta else 2**size.classes - 2
    return sum(n_cases(size.voters, size.classes, 2, size.reached, alike=False)) * sets


def cases(size: Size) -> Iterator[ClassCase]:
    """Every multiset of kinds, every way to vote for sure, and every set of answers that can count."""
    most = 2 if not size.delta else size.classes
    sets = [chosen for n in range(1, most) for chosen in combinations(range(size.classes), n)]
    for n in range(size.reached + 1):
        for kinds in combinations_with_replacement(kinds_of(size.classes, 2), n):
            at_kinds = tuple((kind, kinds.count(kind)) for kind in dict.fromkeys(kinds))
            for sure in combinations_with_replacement(range(size.classes), size.voters - n):
                group = GroupOfCase(at_kinds, tuple(sure.count(c) for c in range(size.classes)))
                yield from (ClassCase(answers, (group,)) for answers in sets)


def listed(size: Size) -> float:
    """The least expected cost by the full list in CVXPY."""
    import cvxpy

    problem = problem_of(size)
    costs = objective().costs(problem).reshape(-1, problem.n_answers)
    columns = ClassColumns(problem, costs, alike=False)
    rows, limits = ClassRows(guarantee(problem), columns).of(list(cases(size)))
    x = cvxpy.Variable(columns.n, bounds=[0, 1])
    sums = [] if columns.first.rows.size == 0 else [columns.first.rows @ x <= columns.first.limits]
    cvxpy.Problem(cvxpy.Maximize(columns.weights @ x), [rows @ x <= limits, *sums]).solve(solver=cvxpy.HIGHS)
    return columns.most - float(columns.weights @ np.asarray(x.value))


def one(size: Size) -> dict[str, object]:
    """A line of the table; in a process of its own, for its memory."""
    small = Size(3, 2, 1, 0.5, 0.4)
    darrm.solve(problem_of(small), objective=objective())  # libraries loaded
    last: list[Progress] = []
    start = time.process_time()
    design = darrm.solve(problem_of(size), objective=objective(), report=last.append)
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    row: dict[str, object] = {
        "classes": size.classes,
        "voters": size.voters,
        "affected voters": size.reached,
        "epsilon": f"{size.epsilon:g}",
        "guarantee": f"{size.total:g}" + (f", {size.delta:g}" if size.delta else ""),
        "cases up to names": f"{sum(n_cases(size.voters, size.classes, 2, size.reached, alike=True)):,}",
        "rows used": last[-1].rows if last else 0,
        "rounds": last[-1].rounds if last else 0,
        "probability of a most voted class": f"{1 - design.expected_cost:.4f}",
        "gap": f"{design.gap:.0e}",
        "seconds": f"{seconds:.2g}",
        "memory, MB": f"{memory:.0f}",
        "rows listed": f"{n_listed(size):,}" if n_listed(size) < 10**12 else f"{n_listed(size):.0e}",
        "list, seconds": "",
        "ratio": "",
    }
    if n_listed(size) <= LISTED:
        listed(small)  # CVXPY loaded
        start = time.process_time()
        cost = listed(size)
        by_list = time.process_time() - start
        if abs(cost - design.expected_cost) > 1e-6:
            raise SystemExit(f"The list gives {cost}, darrm {design.expected_cost}: {size}.")
        row["list, seconds"], row["ratio"] = f"{by_list:.2g}", f"{by_list / seconds:.{by_list < 10 * seconds:d}f}"
    return row


def timed(sizes: list[Size], quick: bool) -> list[dict[str, object]]:
    rows = []
    for size in sizes:
        if quick and n_listed(size) > LISTED:
            continue
        with multiprocessing.get_context("spawn").Pool(1) as own:
            rows.append(own.apply(one, (size,)))
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def short(rows: list[dict[str, object]]) -> str:
    """What the note shows."""
    columns = (
        "classes",
        "voters",
        "guarantee",
        "cases up to names",
        "rows used",
        "probability of a most voted class",
        "gap",
        "seconds",
    )
    return table([{name: row[name] for name in columns} for row in rows if (row["classes"], row["voters"]) in IN_NOTE])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/benchmarks.md and the note")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    options = parser.parse_args()
    parts = {name: timed(sizes, options.quick) for name, sizes in SIZES.items()}
    found = "\n\n".join(f"**{name}**\n\n{table(rows)}" for name, rows in parts.items() if rows)
    machine = bullets([f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}."])
    print(found, machine, sep="\n\n")
    if options.docs:
        put("classes", f"{found}\n\n{machine}", PAGE)
        put("classes", short(next(iter(parts.values()))), NOTE)


if __name__ == "__main__":
    main()

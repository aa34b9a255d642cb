"""Decisions by groups of voters: what they are worth beside simpler ways, and what they take to compute.

    python benchmarks/studies/group_decisions.py [--docs] [--quick]

Takes: two minutes, --quick half a minute. --docs writes docs/benchmarks.md.

Everything is exact but for the seconds, which are processor time of one core: solve, certificate and gap together. The
list is every multiset of corners as a row, stated in CVXPY and solved by HiGHS, as one would do by hand; beyond 30,000
multisets it is left out.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import darrm
from darrm import objectives
from darrm.constraints.groups import GroupRows, TableColumns
from darrm.problem.corners import CornerCounts
from darrm.problem.group_corners import entries
from darrm.problem.limits import guarantee

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, bullets, put, table

PAGE = DOCS / "benchmarks.md"
BESIDE: list[tuple[list[tuple[int, float]], float, float, int | None]] = [
    ([(4, 1.0), (7, 0.2)], 1.4, 0.9, None),
    ([(3, 2.0), (6, 0.5)], 2.5, 0.9, None),
    ([(12, 1.0), (13, 0.25)], 0.5, 0.85, 2),
]
EPSILONS = (1.0, 0.25, 0.5, 0.75, 0.1, 0.35)
LISTED = 30_000  # multisets, up to which the list is tried
GROWTH: dict[str, list[tuple[tuple[int, ...], int | None]]] = {
    "More voters": [
        *(((K,), None) for K in (11, 25, 51, 101)),
        *(((K, K), None) for K in (2, 3, 4, 6, 8, 12)),
        *(((K, K, K), None) for K in (1, 2, 3, 4, 6)),
    ],
    "More groups, 12 voters": [((12 // G,) * G, None) for G in (1, 2, 3, 4, 6)],
    "Fewer affected voters": [
        *(((12, 12), reached) for reached in (2, 4, 8)),
        *(((25, 25), reached) for reached in (2, 5)),
        *(((8, 8, 8), reached) for reached in (2, 6)),
    ],
}


def problem_of(groups: list[tuple[int, float]], epsilon: float, most: int | None) -> darrm.DecisionProblem:
    return darrm.DecisionProblem([darrm.VoterGroup(*group) for group in groups], epsilon, max_affected=most)


def objective_of(groups: list[tuple[int, float]], base: float) -> objectives.Objective:
    return objectives.truth([objectives.randomized_response_accuracy(base, epsilon) for _, epsilon in groups])


def seconds_of(action: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    """Least processor time of ``repeat`` calls, and the last answer."""
    least = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        answer = action()
        least = min(least, time.process_time() - start)
    return least, answer


def beside() -> list[dict[str, object]]:
    rows = []
    for groups, epsilon, base, most in BESIDE:
        problem = problem_of(groups, epsilon, most)
        voters = " and ".join(f"{count} of epsilon {each:g}" for count, each in groups)
        reached = "" if most is None else f", {most} affected"
        for entry in darrm.compare(problem, objective=objective_of(groups, base)):
            held = f"{entry.certificate.tight_epsilon:.4g}"
            rows.append(
                {
                    "voters; guarantee": f"{voters}{reached}; {epsilon:g}",
                    "decision": entry.name,
                    "error rate": f"{entry.expected_cost:.4f}",
                    "tight epsilon": held if entry.certificate.holds else f"{held} (not private enough)",
                }
            )
    return rows


def cases(problem: darrm.DecisionProblem) -> Iterator[tuple[int, tuple[CornerCounts, ...]]]:
    """Every multiset of corners, Delta = 0, both answers."""
    own = [
        [
            CornerCounts(group.count - ones - up - down, ones, up, down)
            for up in range(group.count + 1)
            for down in range(group.count + 1 - up)
            for ones in range(group.count + 1 - up - down)
        ]
        for group in problem.groups
    ]
    for counts in product(*own):
        if sum(c.hi_lo + c.lo_hi for c in counts) <= problem.max_affected:
            yield from ((answer, counts) for answer in (0, 1))


def listed(problem: darrm.DecisionProblem, objective: objectives.Objective) -> float:
    """The least expected cost by the full list in CVXPY."""
    import cvxpy

    costs = objective.costs(problem)
    gains = costs[..., 0] - costs[..., 1]
    columns = TableColumns(gains + 1e-6 * np.arange(gains.size).reshape(gains.shape))  # no symmetry: the plain way
    rows, limits = GroupRows(guarantee(problem), columns).of(list(cases(problem)))
    x = cvxpy.Variable(columns.n, bounds=[0, 1])
    signed = np.sign(columns.table(np.ones(columns.n)) - columns.table(np.zeros(columns.n))).ravel()
    program = cvxpy.Problem(cvxpy.Maximize((signed * gains.ravel()) @ x), [rows @ x <= limits])
    program.solve(solver=cvxpy.HIGHS)
    X = columns.table(np.asarray(x.value))
    return float((costs[..., 1] * X + costs[..., 0] * (1 - X)).sum())


def timed(sizes: list[tuple[tuple[int, ...], int | None]], quick: bool) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for shape, most in sizes:
        groups = list(zip(shape, EPSILONS, strict=False))
        reached = sum(shape) if most is None else most
        problem = problem_of(groups, 0.3 * reached if reached < 5 else 1.5, most)
        objective = objective_of(groups, 0.85)
        count = entries(problem)
        if quick and count > LISTED:
            continue
        repeat = 3 if count < 10**5 else 1
        seconds, design = seconds_of(lambda p=problem, o=objective: darrm.solve(p, objective=o), repeat)
        row: dict[str, object] = {
            "voters": " and ".join(map(str, shape)),
            "K": sum(shape),
            "groups": len(shape),
            "affected voters": reached,
            "multisets": f"{count:,}",
            "seconds": f"{seconds:.2g}",
            "list in CVXPY, seconds": "",
            "ratio": "",
        }
        if count <= LISTED:
            by_list, cost = seconds_of(lambda p=problem, o=objective: listed(p, o))
            if abs(cost - design.expected_cost) > 1e-6:
                raise SystemExit(f"The list gives {cost}, darrm {design.expected_cost}: {problem}.")
            row["list in CVXPY, seconds"], row["ratio"] = (
                f"{by_list:.2g}",
                f"{by_list / seconds:.{by_list < 10 * seconds:d}f}",
            )
        rows.append(row)
        print(row, file=sys.stderr, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/benchmarks.md")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    options = parser.parse_args()
    few, truth = problem_of([(2, 1.0)], 0.5, 1), objectives.truth([0.7])
    darrm.solve(few, objective=truth)  # libraries loaded,
    listed(few, truth)  # CVXPY too
    first = table(beside())
    parts = {name: timed(sizes, options.quick) for name, sizes in GROWTH.items()}
    second = "\n\n".join(f"**{name}**\n\n{table(rows)}" for name, rows in parts.items() if rows)
    machine = bullets([f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}."])
    print(first, second, machine, sep="\n\n")
    if options.docs:
        put("beside", first, PAGE)
        put("seconds", f"{second}\n\n{machine}", PAGE)


if __name__ == "__main__":
    main()

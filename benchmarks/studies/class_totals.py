"""Many labels of several classes at equal exact totals: noisy max beside decisions that are held to a divergence.

    python benchmarks/studies/class_totals.py [--docs] [--quick]

Takes: some five minutes, --quick half a minute. --docs writes docs/composition.md.

Teachers are not private, one change of the data reaches one of them, all classes are as likely, a teacher names the
right one with the accuracy and each other one as often. Every mechanism has one parameter, which is raised until the
exact total of all labels is spent. "Gaussian DP": the optimum under the profile of Gaussian DP. "Renyi": the optimum
under a divergence of an order, as many times the one that the planner takes as the column says. "Triangular": the
optimum under sum of (P - Q)^2 / (P + Q), which many labels of no loss would be charged by.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import darrm
from darrm import objectives
from darrm.accounting.gaussian import gdp, gdp_mu
from darrm.accounting.releases import OneLabel
from darrm.accounting.search import Budget, spend
from darrm.baselines import exponential, laplace, permute_and_flip
from darrm.baselines import gaussian as gaussian_noise
from darrm.certificate.classes import ClassSeparation
from darrm.constraints.classes import ClassColumns
from darrm.constraints.engines import weighted_rows
from darrm.design.costs import costs_at_rows
from darrm.design.renyi import RenyiProgram
from darrm.design.rules import cost_of
from darrm.design.solve import solve
from darrm.problem.class_tables import class_table, mixed
from darrm.problem.limits import guarantee
from darrm_solvers import Rows, solve_by_cuts

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, put, table

PAGE = DOCS / "composition.md"
DELTA = 1e-5
# K, classes, accuracy, labels, total epsilon
ROWS = [
    (25, 2, 0.6, 100, 9.36),
    (25, 3, 0.5, 100, 8.56),
    (25, 3, 0.5, 200, 4.69),
    (15, 4, 0.6, 100, 8.80),
    (11, 5, 0.6, 100, 14.67),
]
ORDERS = (0.7, 1.0, 1.5)
_CLOSE = 1e-3

Array = np.ndarray[Any, np.dtype[np.float64]]


def triangular(problem: darrm.DecisionProblem, objective: objectives.Objective, most: float) -> Array:
    """The optimum under the triangular discrimination, by tangents."""
    alike = objective.symmetric(problem)
    columns = ClassColumns(problem, costs_at_rows(problem, objective, alike=alike), alike=alike)

    def find(x: Array) -> Rows:
        search = ClassSeparation(mixed(class_table(columns.table(x), problem), 1 - 1e-6), guarantee(problem))
        worst = search.largest(lambda P, Q: ((P - Q) ** 2 / (P + Q)).sum(axis=1), most * (1 + _CLOSE), 200)
        P, Q = (np.array([part[side] for part in worst]).reshape(-1, problem.n_answers) for side in (1, 2))
        r = (P - Q) / (P + Q)
        cases = [case for case, _, _ in worst]
        rows, scale = weighted_rows(problem, columns, cases, 2 * r - r**2, -2 * r - r**2)
        return Rows(rows.rows, rows.limits + scale * most)

    answer = solve_by_cuts(columns.weights / columns.weights.max(), [find], first=columns.first)
    return mixed(class_table(columns.table(answer.solution.x), problem), 1 - 1e-6)


def row(K: int, classes: int, accuracy: float, queries: int, total: float) -> Iterator[tuple[str, float]]:
    """The label accuracy of each mechanism."""
    problem = darrm.DecisionProblem([darrm.VoterGroup(K, math.inf)], 1.0, 0.5, classes, max_affected=1, none=False)
    objective = objectives.truth([accuracy])
    budget, mu = Budget(queries, total, DELTA, "fresh"), gdp_mu(total, DELTA)
    each = mu / math.sqrt(queries) * math.sqrt(math.pi / 2)

    def right(made: Callable[[float], Array], guess: float) -> float:
        def label(parameter: float) -> OneLabel:
            return OneLabel(problem, made(parameter), {}, certified=False)

        spent = spend(label, budget, guess, tries=30, close=1e-7)
        return math.nan if spent is None else 1 - cost_of(spent.release.table, problem, objective)

    for baseline in (gaussian_noise, laplace, permute_and_flip, exponential):
        family = baseline.BASELINE.family(problem, objective)
        yield baseline.BASELINE.name, right(family.table, family.guess)
    wide = darrm.DecisionProblem(problem.groups, 1e3, 0.0, classes, max_affected=1)

    def gaussian(mu: float) -> Array:
        return solve(wide, objective=objective, profile=gdp(mu)).table

    yield "Gaussian DP", right(gaussian, each)
    order = 1 + 1.1 * math.sqrt(-2 * math.log(DELTA)) / mu
    for times in ORDERS:
        own = 1 + (order - 1) * times
        program = RenyiProgram(problem, objective, own)
        yield f"Renyi, {times:g}", right(program.table, own * each**2 / 2)
    if problem.binary:
        return
    yield "triangular", right(partial(triangular, problem, objective), each**2 / 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--quick", action="store_true", help="two of the problems")
    options = parser.parse_args()
    rows = []
    for K, classes, accuracy, queries, total in ROWS[:2] if options.quick else ROWS:
        named = {"K": K, "classes": classes, "accuracy": accuracy, "labels": queries, "total": total}
        rows.append(named | {name: f"{value:.4f}" for name, value in row(K, classes, accuracy, queries, total)})
        print(rows[-1], flush=True)
    names = list(dict.fromkeys(name for one in rows for name in one))
    rows = [{name: one.get(name, "") for name in names} for one in rows]
    print(table(rows))
    if options.docs:
        put("class_totals", table(rows), PAGE)


if __name__ == "__main__":
    main()

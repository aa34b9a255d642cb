"""The decision of least expected cost by groups of voters: rows in, linear program, certified table out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from darrm._validation import choice, real
from darrm.certificate.engines import engine as engine_of
from darrm.certificate.scaling import repair_all
from darrm.constraints.groups import TableColumns
from darrm.design.cuts import Candidates, CutFinder, separators
from darrm.design.decision import DecisionDesign
from darrm.design.optimum import check_optimal, upper_bound
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.objectives import Objective
from darrm.problem.decision import DecisionProblem
from darrm.problem.limits import guarantee, profile_limits, profile_points
from darrm_solvers import Progress, Rows, solve_by_cuts


def solve_decision(
    problem: DecisionProblem,
    objective: Objective,
    *,
    ordered: bool = False,
    profile: Iterable[tuple[float, float]] | None = None,
    time_limit: float = math.inf,
    on_time_limit: str = "error",
    report: Callable[[Progress], None] | None = None,
) -> DecisionDesign:
    """`darrm.solve` for a `DecisionProblem`."""
    if not isinstance(objective, Objective):
        raise InputError(
            "A decision needs an objective, such as darrm.objectives.truth(accuracy=[0.8, 0.7]). "
            f"Got {objective!r}."
        )
    time_limit = real("time_limit", time_limit, 0, ends="(]", hint="Pass seconds.")
    choice("on_time_limit", on_time_limit, ("error", "best"))
    points = profile_points(profile)
    held = (guarantee(problem), *profile_limits(problem, points))
    engine_of(problem).check_size(problem)
    costs = objective.costs(problem)
    columns = TableColumns(costs[..., 0] - costs[..., 1])
    weights = columns.weights
    if not weights.max() > 0:
        raise InputError(f"Under {objective} both answers cost the same whatever the votes: every decision is as good.")
    candidates = Candidates(held, columns)
    finders = [CutFinder(limit, candidates) for limit in held]
    # What an objective prefers is a variable's 1.
    first = Rows(-np.eye(columns.n), np.full(columns.n, -0.5)) if ordered else None
    answer = solve_by_cuts(
        np.asarray(weights / weights.max()), separators(finders), first=first, time_limit=time_limit, report=report
    )
    check_optimal(answer.solution, "cutting-planes", on_time_limit)
    table = repair_all(candidates.released(answer.solution.x), held)
    rounding = max(finder.rows.rounding for finder in finders)
    bound = upper_bound(rounding, weights, answer.program, answer.solution.multipliers)
    # Of the cost: what the best answers without noise cost, and what is lost of the gain from them.
    design = DecisionDesign(problem, table, objective, ordered, points)
    least = _least_cost(costs, columns) - bound
    return DecisionDesign(problem, table, objective, ordered, points, max(0.0, design.expected_cost - least))


def _least_cost(costs: Array, columns: TableColumns) -> float:
    """The expected cost of the table of all variables at 0: what every variable's weight is gained from."""
    X = columns.table(np.zeros(columns.n))
    return math.fsum((costs[..., 1] * X + costs[..., 0] * (1 - X)).ravel().tolist())

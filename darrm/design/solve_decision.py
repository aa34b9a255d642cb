"""The decision of least expected cost by groups of voters: rows in, linear program, certified table out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from darrm._validation import choice, real
from darrm.certificate.engines import engine as engine_of
from darrm.certificate.scaling import repair_all
from darrm.constraints.groups import TableColumns
from darrm.design.absent import attendances, check_absent
from darrm.design.cuts import Candidates, CutFinder, separators
from darrm.design.decision import DecisionDesign, expected_cost
from darrm.design.optimum import check_optimal, upper_bound
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.objectives import Objective, gains
from darrm.problem.decision import DecisionProblem
from darrm.problem.limits import Limit, guarantee, profile_limits, profile_points
from darrm_solvers import Progress, solve_by_cuts


def solve_decision(
    problem: DecisionProblem,
    objective: object,
    *,
    ordered: bool = False,
    absent: bool = False,
    profile: Iterable[tuple[float, float]] | None = None,
    time_limit: float = math.inf,
    on_time_limit: str = "error",
    report: Callable[[Progress], None] | None = None,
) -> DecisionDesign:
    """`darrm.solve` for a `DecisionProblem`."""
    if not isinstance(objective, Objective):
        raise InputError(
            f"A decision needs an objective, such as darrm.objectives.truth(accuracy=[0.8, 0.7]). Got {objective!r}."
        )
    time_limit = real("time_limit", time_limit, 0, ends="(]", hint="Pass seconds.")
    choice("on_time_limit", on_time_limit, ("error", "best"))
    points, start = profile_points(profile), time.perf_counter()
    held = (guarantee(problem), *profile_limits(problem, points))
    engine_of(problem).check_size(problem)
    if absent:
        check_absent(problem)
    costs = objective.costs(problem)
    columns = TableColumns(gains(costs), ordered=ordered)
    if columns.weights.max() > 0:
        table, gap = _optimum(costs, columns, held, time_limit, on_time_limit, report)
    else:  # every decision is as good
        table, gap = np.full(problem.shape, 0.5), 0.0
    fewer = {}
    for present in attendances(problem) if absent else ():
        left = max(1e-3, time_limit - (time.perf_counter() - start))
        fewer[present] = solve_decision(
            problem.with_present(present),
            objective.with_present(present),
            ordered=ordered,
            profile=points,
            time_limit=left,
            on_time_limit=on_time_limit,
            report=report,
        )
    return DecisionDesign(problem, table, objective, ordered, points, gap, fewer)


def _optimum(
    costs: Array,
    columns: TableColumns,
    held: Sequence[Limit[DecisionProblem]],
    time_limit: float,
    on_time_limit: str,
    report: Callable[[Progress], None] | None,
) -> tuple[Array, float]:
    """The certified table of least cost, and a bound on what it costs more than the least."""
    weights, candidates = columns.weights, Candidates(held, columns)
    finders = [CutFinder(limit, candidates) for limit in held]
    answer = solve_by_cuts(
        np.asarray(weights / weights.max()), separators(finders), time_limit=time_limit, report=report
    )
    check_optimal(answer.solution, "cutting-planes", on_time_limit)
    table = repair_all(candidates.released(answer.solution.x), held)
    rounding = max(finder.rows.rounding for finder in finders)
    bound = upper_bound(rounding, weights, answer.program, answer.solution.multipliers)
    # All variables at 0 cost the most; what they can gain is bounded.
    most = expected_cost(costs, columns.table(np.zeros(columns.n)))
    # What costs were rounded by, here and in their gains.
    rounding_of_costs = float(
        np.abs(costs[..., 0] - costs[..., 1] - gains(costs)).sum() + 2.0**-49 * np.abs(costs).sum()
    )
    return table, max(0.0, expected_cost(costs, table) - most + bound) + rounding_of_costs

"""The decision of least expected cost by groups of voters: rows in, linear program, certified table out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from darrm._validation import choice, real, refusal
from darrm.certificate.engines import engine as engine_of
from darrm.certificate.scaling import repair_all
from darrm.certificate.stored import class_table
from darrm.constraints.classes import ClassColumns, ClassRows, check_variables
from darrm.constraints.groups import GroupRows, TableColumns
from darrm.design.absent import attendances, check_absent
from darrm.design.cuts import Candidates, CutFinder, separators
from darrm.design.decision import DecisionDesign, costs_at_rows, costs_in, expected_cost
from darrm.design.optimum import check_optimal, exact_upper_bound, upper_bound
from darrm.errors import InputError
from darrm.numerics.arrays import Array, in_decimals
from darrm.numerics.exact import decimals
from darrm.objectives import Objective, gains
from darrm.problem.decision import DecisionProblem
from darrm.problem.limits import Limit, guarantee, profile_limits, profile_points
from darrm_solvers import Progress, Rows, solve_by_cuts

_PAID = 1e-10  # of the largest weight: a bound that rounding costs more than this is made again, exactly
_FIRST = 2.0**-48  # how far a first row can be rounded


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
    for name, value in (("ordered", ordered), ("absent", absent)):
        if not isinstance(value, bool | np.bool_):
            raise refusal(name, "True or False", value)
    points, start = profile_points(profile), time.perf_counter()
    held = (guarantee(problem), *profile_limits(problem, points))
    engine_of(problem).check_size(problem)
    if absent:
        if not problem.binary:
            raise InputError(
                "Absent voters must decide between two answers. Got more. Make absence a class, or leave absent=True "
                "(--absent) out. Where a budget pays for fixed voters themselves, any rule on the present votes costs "
                "nothing more."
            )
        check_absent(problem)
    if problem.binary:
        table, gap = _of_two_answers(objective.costs(problem), ordered, held, time_limit, on_time_limit, report)
    else:
        table, gap = _of_several(problem, objective, ordered, held, time_limit, on_time_limit, report)
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


def _of_two_answers(
    costs: Array,
    ordered: bool,
    held: Sequence[Limit[DecisionProblem]],
    time_limit: float,
    on_time_limit: str,
    report: Callable[[Progress], None] | None,
) -> tuple[Array, float]:
    columns = TableColumns(gains(costs), ordered=ordered)
    if not columns.weights.max() > 0:  # every decision is as good
        return np.full(costs.shape[:-1], 0.5), 0.0
    table, bound = _optimum(columns, held, time_limit, on_time_limit, report)
    # All variables at 0 cost the most; what they can gain is bounded.
    most = expected_cost(costs, columns.table(np.zeros(columns.n)))
    # What costs were rounded by, here and in their gains.
    rounding_of_costs = float(
        np.abs(costs[..., 0] - costs[..., 1] - gains(costs)).sum() + 2.0**-49 * np.abs(costs).sum()
    )
    return table, max(0.0, expected_cost(costs, table) - most + bound) + rounding_of_costs


def _of_several(
    problem: DecisionProblem,
    objective: Objective,
    ordered: bool,
    held: Sequence[Limit[DecisionProblem]],
    time_limit: float,
    on_time_limit: str,
    report: Callable[[Progress], None] | None,
) -> tuple[Array, float]:
    alike = objective.symmetric(problem)
    check_variables(problem, alike=alike)
    costs = costs_at_rows(problem, objective, alike=alike)
    columns = ClassColumns(problem, costs, alike=alike, ordered=ordered)
    if not columns.weights.max(initial=0.0) > 0:
        return class_table(np.full((*columns.shape, problem.n_answers), 1 / problem.n_answers), problem), 0.0
    table, bound = _optimum(columns, held, time_limit, on_time_limit, report, columns.first)
    rounding_of_costs = 1.1e-12 * float(np.abs(costs).sum())  # ties of costs, and sums
    cost = expected_cost(costs_in(problem, objective, table), table)
    return table, max(0.0, cost - columns.most + bound) + rounding_of_costs


def _optimum(
    columns: TableColumns | ClassColumns,
    held: Sequence[Limit[DecisionProblem]],
    time_limit: float,
    on_time_limit: str,
    report: Callable[[Progress], None] | None,
    first: Rows | None = None,
) -> tuple[Array, float]:
    """The certified table that gains most, and what no table can gain more than."""
    weights, candidates = columns.weights, Candidates(held, columns)
    finders = [CutFinder(limit, candidates) for limit in held]
    answer = solve_by_cuts(
        np.asarray(weights / weights.max()), separators(finders), first=first, time_limit=time_limit, report=report
    )
    check_optimal(answer.solution, "cutting-planes", on_time_limit)
    table = repair_all(candidates.released(answer.solution.x), held)
    rounding, multipliers = max(finder.rows.rounding for finder in finders), answer.solution.multipliers
    bound = upper_bound(rounding, weights, answer.program, multipliers)
    # Rows of several limits come in turns: no list says which row is whose.
    if len(held) == 1 and float(multipliers[multipliers > 0].sum()) * rounding > _PAID:
        rows = finders[0].rows
        if isinstance(rows, GroupRows | ClassRows):
            with decimals(held[0].epsilon):
                bound = min(bound, _exactly(weights, rows, finders[0].proposed, multipliers, first))
    return table, bound


def _exactly(
    weights: Array, of: GroupRows | ClassRows, proposed: Sequence[Any], multipliers: Array, first: Rows | None
) -> float:
    """`upper_bound` from exact rows: ``first`` come first, then one for each case that was proposed."""
    begun = 0 if first is None else len(first.limits)
    binds = np.flatnonzero(multipliers > 0)
    rows, limits = of.exactly([proposed[i - begun] for i in binds[binds >= begun]])
    if first is not None:
        own = binds[binds < begun]
        rows = np.concatenate([in_decimals(first.rows[own]), rows])
        limits = np.concatenate([in_decimals(first.limits[own]), limits])
    bound = exact_upper_bound(weights, rows, limits, multipliers[binds])
    # Shares such as 1/3 in the first rows are rounded; a row has few of them, and masses are 1 at most.
    return bound + _FIRST * float(multipliers[:begun].clip(0).sum()) * float(weights.max())

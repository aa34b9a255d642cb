"""Programs with more rows than can be listed: rows are added where the last answer breaks them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from darrm_solvers.highs import HighsModel, Option
from darrm_solvers.linear_program import Array, LinearProgram, Solution, Status

if TYPE_CHECKING:
    import cvxpy


class Rows(NamedTuple):
    """rows @ x <= limits that some x breaks; shapes (m, n) and (m,). None if it breaks none."""

    rows: Array
    limits: Array


class Progress(NamedTuple):
    """Where a solve stands after one round."""

    rounds: int
    rows: int
    value: float  # the objective over the rows so far, which the optimum cannot beat
    seconds: float


Separator = Callable[[Array], Rows]
Report = Callable[[Progress], None]
# (objective to minimise, constraints) on x of shape (n,)
ConvexModel = Callable[["cvxpy.Variable"], tuple["cvxpy.Expression", list["cvxpy.Constraint"]]]


@dataclass(frozen=True, eq=False)
class CutSolution:
    """The answer of a cutting-plane solve.

    Attributes
    ----------
    solution : Solution
        How it ended, with the last optimum there was: if the status is not OPTIMAL it breaks rows that the separators
        know. Its multipliers belong to the rows of ``program``; at any status they bound the optimum.
    program : LinearProgram
        The program of all rows that were added.
    rounds : int
        How often the separators were asked.
    """

    solution: Solution
    program: LinearProgram
    rounds: int


def solve_by_cuts(
    objective: Array,
    separators: Sequence[Separator],
    *,
    first: Rows | None = None,
    time_limit: float = math.inf,
    max_rounds: int = 1000,
    options: dict[str, Option] | None = None,
    report: Report | None = None,
) -> CutSolution:
    """maximise objective @ x over 0 <= x <= 1 and every row that the last of the separators knows.

    Starting from x = 1, the rows that the last optimum breaks are added and the dual simplex goes on from its basis,
    until no separator finds any. The next one is asked only when those before it find none, and of a refined optimum
    (`HighsModel.refine`). They decide what counts as broken; they must not return a row twice for ever. Slack rows are
    kept: the linear programs are a small part of the time.

    Parameters
    ----------
    objective : ndarray, shape (n,), nonnegative
    separators : sequence of callables
        x of shape (n,) -> Rows that x breaks; from the quickest to the complete one.
    first : Rows, optional
        Rows to start with.
    time_limit : float, seconds, > 0
        For the whole solve; checked between rounds, and handed to HiGHS.
    max_rounds : int
    options : dict, optional
        Further HiGHS options by name, for instance another algorithm.
    report : callable, optional
        Called with `Progress` after each round.

    Returns
    -------
    CutSolution
        With status TIME_LIMIT or ITERATION_LIMIT if the separators were not satisfied by then.
    """
    if not time_limit > 0:
        raise ValueError(f"time_limit must be above 0 seconds. Got {time_limit}.")
    start = time.perf_counter()
    n = objective.size
    model = HighsModel(objective, options)
    kept = [Rows(np.zeros((0, n)), np.zeros(0))]
    last = answer = Solution(Status.OPTIMAL, np.ones(n), np.zeros(0), 0, "start")
    if first is not None and first.limits.size:
        model.add_rows(first.rows, first.limits)
        kept.append(first)
        answer = model.solve(time_limit)
    status, rounds = Status.ITERATION_LIMIT, 0
    while rounds < max_rounds:
        if answer.status is not Status.OPTIMAL:
            status = answer.status
            break
        last = answer
        rounds += 1
        new = separators[0](last.x)
        if not new.limits.size:
            last = model.refine(last)
            new = _first_broken(separators, last.x)
        if not new.limits.size:
            status = Status.OPTIMAL
            break
        left = time_limit - (time.perf_counter() - start)
        if left <= 0:
            status = Status.TIME_LIMIT
            break
        model.add_rows(new.rows, new.limits)
        kept.append(new)
        answer = model.solve(left)
        if report is not None:
            rows = sum(batch.limits.size for batch in kept)
            report(Progress(rounds, rows, float(objective @ answer.x), time.perf_counter() - start))
    limits = np.concatenate([batch.limits for batch in kept])
    multipliers = np.zeros(limits.size)
    multipliers[: last.multipliers.size] = last.multipliers
    program = LinearProgram(objective, np.concatenate([batch.rows for batch in kept]), limits)
    final = replace(last, status=status, multipliers=multipliers, iterations=answer.iterations, message=answer.message)
    return CutSolution(final, program, rounds)


def _first_broken(separators: Sequence[Separator], x: Array) -> Rows:
    """The rows of the first separator that finds any."""
    for separator in separators:
        rows = separator(x)
        if rows.limits.size:
            break
    return rows


def solve_convex_by_cuts(
    n: int,
    model: ConvexModel,
    separators: Sequence[Separator],
    *,
    time_limit: float = math.inf,
    max_rounds: int = 1000,
    report: Report | None = None,
) -> tuple[Solution, float]:
    """The same for a convex program in CVXPY: minimise ``model``'s objective under its constraints and all rows.

    Parameters
    ----------
    n : int
    model : callable
        From a variable of shape (n,), which lies in [0, 1], to (objective, list of constraints).
    separators, time_limit, max_rounds, report
        As in `solve_by_cuts`; the time limit is checked between rounds.

    Returns
    -------
    solution : Solution
        Without multipliers. x is the last optimum there was.
    value : float
        The objective there.

    Raises
    ------
    ValueError
        If the program is not convex.
    """
    import cvxpy

    start = time.perf_counter()
    x = cvxpy.Variable(n, bounds=[0, 1])
    objective, constraints = model(x)
    batches = list(constraints)
    last, value, m = np.ones(n), math.inf, 0
    for rounds in range(1, max_rounds + 1):
        program = cvxpy.Problem(cvxpy.Minimize(objective), batches)
        if not program.is_dcp():
            raise ValueError("the objective and constraints must be convex by CVXPY's rules (DCP)")
        linear = program.is_lp()
        try:
            program.solve(solver=cvxpy.HIGHS if linear else cvxpy.CLARABEL)  # type: ignore[no-untyped-call]
        except cvxpy.SolverError as error:
            return Solution(Status.NUMERICAL, last, np.zeros(0), 0, str(error)), value
        if program.status in (cvxpy.INFEASIBLE, cvxpy.INFEASIBLE_INACCURATE):
            return Solution(Status.INFEASIBLE, last, np.zeros(0), 0, program.status), value
        values = np.full(n, np.nan) if x.value is None else np.asarray(x.value, dtype=np.float64)
        if program.status not in (cvxpy.OPTIMAL, cvxpy.OPTIMAL_INACCURATE) or not np.isfinite(values).all():
            return Solution(Status.NUMERICAL, last, np.zeros(0), 0, program.status), value
        last, value = np.clip(values, 0.0, 1.0), float(program.value)
        seconds = time.perf_counter() - start
        if report is not None:
            report(Progress(rounds, m, value, seconds))
        new = _first_broken(separators, last)
        if not new.limits.size:
            return Solution(Status.OPTIMAL, last, np.zeros(0), 0, program.status), value
        if seconds > time_limit:
            return Solution(Status.TIME_LIMIT, last, np.zeros(0), 0, program.status), value
        batches.append(cvxpy.Constant(new.rows) @ x <= new.limits)
        m += new.limits.size
    return Solution(Status.ITERATION_LIMIT, last, np.zeros(0), 0, program.status), value

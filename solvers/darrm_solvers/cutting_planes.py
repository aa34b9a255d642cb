"""Linear programs with more rows than can be listed: rows are added where the last answer breaks them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from darrm_solvers.highs import HighsModel
from darrm_solvers.linear_program import Array, LinearProgram, Solution, Status


class Rows(NamedTuple):
    """rows @ x <= limits that some x breaks; shapes (m, n) and (m,). None if it breaks none."""

    rows: Array
    limits: Array


Separator = Callable[[Array], Rows]


@dataclass(frozen=True, eq=False)
class CutSolution:
    """The answer of a cutting-plane solve.

    Attributes
    ----------
    solution : Solution
        Its multipliers belong to the rows of ``program``.
    program : LinearProgram
        The program of all rows that were added.
    rounds : int
        How often the separator was asked.
    """

    solution: Solution
    program: LinearProgram
    rounds: int


def solve_by_cuts(
    objective: Array,
    separator: Separator,
    *,
    first: Rows | None = None,
    time_limit: float = math.inf,
    max_rounds: int = 500,
) -> CutSolution:
    """maximise objective @ x over 0 <= x <= 1 and every row that ``separator`` knows.

    Starting from x = 1, the rows that the last optimum breaks are added and the dual simplex goes on from its basis,
    until the separator finds none. The separator decides what counts as broken; it must not return a row twice for
    ever.

    Parameters
    ----------
    objective : ndarray, shape (n,)
    separator : callable
        x of shape (n,) -> Rows that x breaks.
    first : Rows, optional
        Rows to start with.
    time_limit : float, seconds, > 0
        For the whole solve; checked between rounds, and handed to HiGHS.
    max_rounds : int

    Returns
    -------
    CutSolution
        With status TIME_LIMIT or ITERATION_LIMIT if the separator was not satisfied by then; x is then the last point,
        which breaks rows.
    """
    if not time_limit > 0:
        raise ValueError(f"time_limit must be above 0 seconds. Got {time_limit}.")
    start = time.perf_counter()
    n = objective.size
    model = HighsModel(objective)
    kept = [Rows(np.zeros((0, n)), np.zeros(0))]
    if first is not None and first.limits.size:
        model.add_rows(first.rows, first.limits)
        kept.append(first)
    solution = Solution(Status.OPTIMAL, np.ones(n), np.zeros(0), 0, "start") if first is None else model.solve()
    status, rounds = Status.ITERATION_LIMIT, 0
    while rounds < max_rounds:
        rounds += 1
        if solution.status is not Status.OPTIMAL:
            status = solution.status
            break
        new = separator(solution.x)
        if not new.limits.size:
            status = Status.OPTIMAL
            break
        left = time_limit - (time.perf_counter() - start)
        if left <= 0:
            status = Status.TIME_LIMIT
            break
        model.add_rows(new.rows, new.limits)
        kept.append(new)
        solution = model.solve(left)
    rows = np.concatenate([batch.rows for batch in kept])
    limits = np.concatenate([batch.limits for batch in kept])
    multipliers = np.zeros(limits.size)
    multipliers[: solution.multipliers.size] = solution.multipliers
    final = Solution(status, solution.x, multipliers, solution.iterations, solution.message)
    return CutSolution(final, LinearProgram(objective, rows, limits), rounds)

"""The HiGHS engine: dual simplex through highspy, on a model that can grow row by row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from darrm_solvers.linear_program import Array, LinearProgram, Solution, Status

if TYPE_CHECKING:
    from highspy import Highs

Option = bool | int | float | str

# One thread: HiGHS shares one scheduler in a process, and a table of designs runs one solve a process.
# Tolerances near the floor of HiGHS (1e-10); entries under 1e-12 (the floor) are dropped, those above are kept.
_OPTIONS: dict[str, Option] = {
    "output_flag": False,
    "threads": 1,
    "solver": "simplex",
    "simplex_strategy": 1,
    "presolve": "off",
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
    "small_matrix_value": 1e-12,
    "random_seed": 0,
}
# HiGHS ends some solves with kSolveError or kUnknown; each of these has recovered such a case.
_FALLBACKS: tuple[dict[str, Option], ...] = ({}, {"presolve": "on"}, {"presolve": "off", "simplex_scale_strategy": 0})


def _set(highs: Highs, options: dict[str, Option]) -> None:
    from highspy import HighsStatus

    for name, value in options.items():
        if highs.setOptionValue(name, value) != HighsStatus.kOk:
            raise ValueError(f"HiGHS rejected the option {name} = {value!r}. Check its range.")


class HighsModel:
    """maximise objective @ x over 0 <= x <= 1 and rows added one batch after the other; each solve starts warm.

    Parameters
    ----------
    objective : ndarray, shape (n,)
    options : dict, optional
        Further HiGHS options by name, for instance another algorithm.

    Raises
    ------
    ValueError
        If an option is rejected, or a number is not finite: HiGHS would accept NaN without a word.
    """

    def __init__(self, objective: Array, options: dict[str, Option] | None = None) -> None:
        import highspy

        self._n = objective.size
        self._m = 0
        self._highs = highspy.Highs()  # type: ignore[no-untyped-call]
        self._chosen = {**_OPTIONS, **(options or {})}
        _set(self._highs, self._chosen)
        _finite("objective", objective)
        self._highs.addVars(self._n, np.zeros(self._n), np.ones(self._n))
        self._highs.changeColsCost(self._n, np.arange(self._n, dtype=np.int32), np.ascontiguousarray(objective))
        self._highs.changeObjectiveSense(highspy.ObjSense.kMaximize)

    def add_rows(self, rows: Array, limits: Array) -> None:
        """Add rows @ x <= limits; rows of shape (m, n)."""
        import highspy

        _finite("rows", rows)
        _finite("limits", limits)
        m, n = rows.shape
        # kWarning only says that entries under small_matrix_value were dropped.
        status = self._highs.addRows(
            m,
            np.full(m, -highspy.kHighsInf),
            np.ascontiguousarray(limits),
            m * n,
            np.arange(0, m * n, n, dtype=np.int32),
            np.tile(np.arange(n, dtype=np.int32), m),
            rows.ravel(),
        )
        if status == highspy.HighsStatus.kError:
            raise ValueError("HiGHS rejected rows. Check their shape and size.")
        self._m += m

    def solve(self, time_limit: float = math.inf) -> Solution:
        """The optimum over the rows added so far.

        Parameters
        ----------
        time_limit : float, seconds, > 0
            For each attempt: if HiGHS gives up it is tried again from a cold start, with presolve, without scaling.
        """
        import highspy

        if not time_limit > 0:
            raise ValueError(f"time_limit must be above 0 seconds. Got {time_limit}.")
        statuses = {
            highspy.HighsModelStatus.kOptimal: Status.OPTIMAL,
            highspy.HighsModelStatus.kInfeasible: Status.INFEASIBLE,
            highspy.HighsModelStatus.kUnbounded: Status.UNBOUNDED,
            highspy.HighsModelStatus.kTimeLimit: Status.TIME_LIMIT,
            highspy.HighsModelStatus.kIterationLimit: Status.ITERATION_LIMIT,
        }
        # The time limit of HiGHS counts from the first run of this object on.
        for attempt, fallback in enumerate(({}, *_FALLBACKS)):
            _set(self._highs, {**fallback, "time_limit": self._highs.getRunTime() + time_limit})
            if attempt:
                self._highs.clearSolver()
            self._highs.run()
            ended = self._highs.getModelStatus()
            status = statuses.get(ended, Status.NUMERICAL)
            answer = self._highs.getSolution()
            x, duals = np.array(answer.col_value), np.array(answer.row_dual)
            if status is Status.OPTIMAL and not (
                x.shape == (self._n,) and duals.shape == (self._m,) and np.isfinite(x).all()
            ):
                status = Status.NUMERICAL
            if status is not Status.NUMERICAL:
                break
        if attempt:
            _set(self._highs, {name: self._chosen[name] for name in ("presolve",)} | {"simplex_scale_strategy": 2})
        message = self._highs.modelStatusToString(ended)
        iterations = int(self._highs.getInfo().simplex_iteration_count)
        if status is not Status.OPTIMAL:
            return Solution(status, np.zeros(self._n), np.zeros(self._m), iterations, message)
        # When maximising, HiGHS gives rows that bind from above a nonnegative dual.
        return Solution(status, np.clip(x, 0.0, 1.0), np.maximum(np.nan_to_num(duals), 0.0), iterations, message)


def _finite(name: str, array: Array) -> None:
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite. Got {float(array[~np.isfinite(array)][0])}.")


def solve_highs(
    program: LinearProgram, *, time_limit: float = math.inf, options: dict[str, Option] | None = None
) -> Solution:
    """Solve a linear program whose rows are all there with the dual simplex of HiGHS.

    Parameters
    ----------
    program : LinearProgram
    time_limit : float, seconds, > 0
        For each attempt.
    options : dict, optional
        Further HiGHS options by name, for instance another algorithm.

    Returns
    -------
    Solution
        Never None; look at its status.

    Raises
    ------
    ValueError
        If an option is rejected or time_limit is not positive.
    """
    model = HighsModel(program.objective, options)
    if program.limits.size:
        model.add_rows(program.rows, program.limits)
    return model.solve(time_limit)

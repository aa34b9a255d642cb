"""The HiGHS engine: dual simplex through highspy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from darrm_solvers.linear_program import LinearProgram, Solution, Status

if TYPE_CHECKING:
    from highspy import Highs, HighsLp

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


def _model(program: LinearProgram) -> HighsLp:
    import highspy

    m, n = program.rows.shape
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = n, m
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = program.objective
    model.col_lower_, model.col_upper_ = np.zeros(n), np.ones(n)
    model.row_lower_, model.row_upper_ = np.full(m, -highspy.kHighsInf), program.limits
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.arange(0, m * n + 1, n, dtype=np.int32)
    model.a_matrix_.index_ = np.tile(np.arange(n, dtype=np.int32), m)
    model.a_matrix_.value_ = program.rows.ravel()
    return model


def solve_highs(
    program: LinearProgram, *, time_limit: float = math.inf, options: dict[str, Option] | None = None
) -> Solution:
    """Solve with the dual simplex of HiGHS.

    Parameters
    ----------
    program : LinearProgram
    time_limit : float, seconds, > 0
        For each attempt: HiGHS is tried again with presolve, then without scaling, if it gives up.
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
    m, n = program.rows.shape
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    _set(highs, {**_OPTIONS, **(options or {}), "time_limit": time_limit})
    # kWarning only says that entries under small_matrix_value were dropped.
    if highs.passModel(_model(program)) == highspy.HighsStatus.kError:
        return Solution(Status.NUMERICAL, np.zeros(n), np.zeros(m), 0, "HiGHS rejected the model")
    for fallback in _FALLBACKS:
        _set(highs, fallback)
        highs.clearSolver()
        highs.run()
        ended = highs.getModelStatus()
        status = statuses.get(ended, Status.NUMERICAL)
        answer = highs.getSolution()
        x, duals = np.array(answer.col_value), np.array(answer.row_dual)
        if status is Status.OPTIMAL and not (x.shape == (n,) and duals.shape == (m,) and np.isfinite(x).all()):
            status = Status.NUMERICAL
        if status is not Status.NUMERICAL:
            break
    message = highs.modelStatusToString(ended)
    iterations = int(highs.getInfo().simplex_iteration_count)
    if status is not Status.OPTIMAL:
        return Solution(status, np.zeros(n), np.zeros(m), iterations, message)
    # When maximising, HiGHS gives rows that bind from above a nonnegative dual.
    return Solution(status, np.clip(x, 0.0, 1.0), np.maximum(np.nan_to_num(duals), 0.0), iterations, message)

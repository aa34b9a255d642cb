"""The same linear program as a CVXPY model: slower, readable, and a check on the HiGHS engine."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from darrm_solvers.highs import Option, run, set_options, silent, why_refused
from darrm_solvers.linear_program import LinearProgram, Solution, Status

if TYPE_CHECKING:
    import cvxpy


class RefusedError(Exception):
    """HiGHS did not run at all, for the reason that it gives."""


def solve_by_highs(problem: cvxpy.Problem, options: dict[str, Option] | None = None) -> None:
    """``problem.solve(solver=cvxpy.HIGHS, **options)``, without a word on standard output, in one thread of its own.

    CVXPY states the program and takes the answer back. It would make a `highspy.Highs` that prints before it can be
    told to be silent (1.16.0), and run it in this thread; see `darrm_solvers.highs.run`.

    Raises
    ------
    cvxpy.SolverError
        If HiGHS fails.
    RefusedError
        If HiGHS does not run at all.
    """
    import cvxpy
    import highspy
    from cvxpy import settings

    data, chain, inverse = problem.get_problem_data(cvxpy.HIGHS)
    columns, upper = data[settings.A].tocsc(), data[settings.B]
    m, n = columns.shape
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_, lp.col_cost_ = n, m, data[settings.C]
    lp.row_lower_ = np.where(np.arange(m) < data[settings.DIMS].zero, upper, -math.inf)  # equalities come first
    lp.row_upper_ = upper
    lower, over = data[settings.LOWER_BOUNDS], data[settings.UPPER_BOUNDS]
    low = np.full(n, -math.inf) if lower is None else np.array(lower)
    high = np.full(n, math.inf) if over is None else np.array(over)
    coins, whole = ([*data[name]] for name in (settings.BOOL_IDX, settings.INT_IDX))
    low[coins], high[coins] = np.maximum(low[coins], 0), np.minimum(high[coins], 1)
    lp.col_lower_, lp.col_upper_ = low, high
    if coins or whole:
        kinds = np.full(n, highspy.HighsVarType.kContinuous)
        kinds[[*coins, *whole]] = highspy.HighsVarType.kInteger
        lp.integrality_ = kinds.tolist()
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = columns.indptr, columns.indices, columns.data
    highs = silent()
    set_options(highs, {"output_flag": False, "threads": 1, **(options or {})})
    highs.passModel(lp)
    run(highs)
    refused = why_refused(highs) if highs.getModelStatus() == highspy.HighsModelStatus.kNotset else ""
    if refused:
        raise RefusedError(f"HiGHS says: {refused}")
    answer = {
        "solution": highs.getSolution(),
        "info": highs.getInfo(),
        "model_status": highs.getModelStatus().name,
        "run_time": highs.getRunTime(),
    }
    if answer["model_status"] == "kInfeasible":
        answer["dual_ray"] = highs.getDualRay()  # type: ignore[attr-defined]
    problem.unpack_results(answer, chain, inverse)


def solve_cvxpy(program: LinearProgram, *, time_limit: float = math.inf) -> Solution:
    """Solve through CVXPY, with HiGHS underneath.

        maximise objective @ x   subject to   rows @ x <= limits,  0 <= x <= 1

    Parameters
    ----------
    program : LinearProgram
    time_limit : float, seconds, > 0

    Returns
    -------
    Solution

    Examples
    --------
    >>> import numpy as np
    >>> from darrm_solvers import LinearProgram, solve_cvxpy
    >>> program = LinearProgram(
    ...     objective=np.array([1.0, 1.0]), rows=np.array([[1.0, 2.0]]), limits=np.array([2.0])
    ... )
    >>> solve_cvxpy(program).x.round(6).tolist()
    [1.0, 0.5]
    """
    import cvxpy

    if not time_limit > 0:
        raise ValueError(f"time_limit must be above 0 seconds. Got {time_limit}.")
    m, n = program.rows.shape
    x = cvxpy.Variable(n)
    private = cvxpy.Constant(program.rows) @ x <= program.limits
    model = cvxpy.Problem(cvxpy.Maximize(program.objective @ x), [private, x >= 0, x <= 1])
    options: dict[str, Option] = {
        "primal_feasibility_tolerance": 1e-10,
        "dual_feasibility_tolerance": 1e-10,
        "small_matrix_value": 1e-12,
    }
    if math.isfinite(time_limit):
        options["time_limit"] = time_limit
    try:
        with warnings.catch_warnings():
            # The status says it too.
            warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
            solve_by_highs(model, options)
    except RefusedError as error:
        return Solution(Status.REFUSED, np.zeros(n), np.zeros(m), 0, str(error))
    except cvxpy.SolverError as error:
        return Solution(Status.NUMERICAL, np.zeros(n), np.zeros(m), 0, str(error))
    statuses = {
        cvxpy.OPTIMAL: Status.OPTIMAL,
        cvxpy.INFEASIBLE: Status.INFEASIBLE,
        cvxpy.UNBOUNDED: Status.UNBOUNDED,
        cvxpy.USER_LIMIT: Status.TIME_LIMIT,
    }
    status = statuses.get(model.status, Status.NUMERICAL)
    if status is not Status.OPTIMAL or x.value is None or not np.isfinite(x.value).all():
        status = Status.NUMERICAL if status is Status.OPTIMAL else status
        return Solution(status, np.zeros(n), np.zeros(m), 0, str(model.status))
    duals = np.maximum(np.nan_to_num(np.atleast_1d(private.dual_value)), 0.0)
    return Solution(status, np.clip(x.value, 0.0, 1.0), duals, int(model.solver_stats.num_iters or 0), model.status)

"""The same linear program as a CVXPY model: slower, readable, and a check on the HiGHS engine."""

from __future__ import annotations

import math
import warnings

import numpy as np

from darrm_solvers.linear_program import LinearProgram, Solution, Status


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
    """
    import cvxpy

    if not time_limit > 0:
        raise ValueError(f"time_limit must be above 0 seconds. Got {time_limit}.")
    m, n = program.rows.shape
    x = cvxpy.Variable(n)
    private = cvxpy.Constant(program.rows) @ x <= program.limits
    model = cvxpy.Problem(cvxpy.Maximize(program.objective @ x), [private, x >= 0, x <= 1])
    options: dict[str, object] = {
        "threads": 1,
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
            model.solve(solver=cvxpy.HIGHS, verbose=False, **options)  # type: ignore[no-untyped-call]
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

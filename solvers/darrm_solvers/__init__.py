"""Linear programs for darrm: the statement, the solution, and one module for each engine. Knows no privacy."""

from typing import TYPE_CHECKING

from darrm_solvers.linear_program import LinearProgram, Solution, Status

if TYPE_CHECKING:
    from darrm_solvers.cvxpy_model import solve_cvxpy
    from darrm_solvers.highs import solve_highs

__all__ = ["LinearProgram", "Solution", "Status", "solve_cvxpy", "solve_highs"]


def __getattr__(name: str) -> object:
    if name == "solve_highs":
        from darrm_solvers.highs import solve_highs

        return solve_highs
    if name == "solve_cvxpy":
        from darrm_solvers.cvxpy_model import solve_cvxpy

        return solve_cvxpy
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

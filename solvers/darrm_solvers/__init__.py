"""Linear programs for darrm: the statement, the solution, and one module for each engine. Knows no privacy."""

from importlib import import_module
from typing import TYPE_CHECKING

from darrm_solvers.linear_program import LinearProgram, Solution, Status

if TYPE_CHECKING:
    from darrm_solvers.cutting_planes import CutSolution, Progress, Rows, Separator, solve_by_cuts, solve_convex_by_cuts
    from darrm_solvers.cvxpy_model import solve_cvxpy
    from darrm_solvers.highs import HighsModel, solve_highs

__all__ = [
    "CutSolution",
    "HighsModel",
    "LinearProgram",
    "Progress",
    "Rows",
    "Separator",
    "Solution",
    "Status",
    "solve_by_cuts",
    "solve_convex_by_cuts",
    "solve_cvxpy",
    "solve_highs",
]

_HOME = {
    "CutSolution": "cutting_planes",
    "HighsModel": "highs",
    "Progress": "cutting_planes",
    "Rows": "cutting_planes",
    "Separator": "cutting_planes",
    "solve_by_cuts": "cutting_planes",
    "solve_convex_by_cuts": "cutting_planes",
    "solve_cvxpy": "cvxpy_model",
    "solve_highs": "highs",
}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"darrm_solvers.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

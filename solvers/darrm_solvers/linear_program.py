"""The statement of a linear program and of its solution."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Status(Enum):
    """How a solve ended; the value says what happened and what to do."""

    OPTIMAL = "an optimum was found"
    INFEASIBLE = "no point satisfies all rows and bounds; check the rows"
    UNBOUNDED = "the objective grows without bound; bound the variables"
    TIME_LIMIT = "the time limit was reached before an optimum; raise time_limit or make the problem smaller"
    ITERATION_LIMIT = "the iteration limit was reached before an optimum; raise it or make the problem smaller"
    NUMERICAL = (
        "the solver gave up on numerical grounds after every fallback; rescale the rows or make the problem smaller"
    )
    REFUSED = "the solver refused to run at all, whatever the problem; solve in a process of its own"


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """A linear program over the box [0, 1]^n.

        maximise    objective @ x
        subject to  rows @ x <= limits,    0 <= x <= 1

    Parameters
    ----------
    objective : ndarray, shape (n,)
    rows : ndarray, shape (m, n)
    limits : ndarray, shape (m,)

    Raises
    ------
    ValueError
        If shapes disagree or an entry is not finite: a solver may accept NaN without a word.

    Examples
    --------
    >>> import numpy as np
    >>> from darrm_solvers import LinearProgram
    >>> program = LinearProgram(
    ...     objective=np.array([1.0, 1.0]), rows=np.array([[1.0, 2.0]]), limits=np.array([2.0])
    ... )
    >>> program.violation(np.array([1.0, 1.0]))
    1.0
    >>> program.dual_bound(np.array([0.5]))
    1.5
    """

    objective: Array
    rows: Array
    limits: Array

    def __post_init__(self) -> None:
        for name in ("objective", "rows", "limits"):
            array = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            if not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite. Got {array[~np.isfinite(array)][0]}.")
            object.__setattr__(self, name, array)
        n, m = self.objective.size, self.limits.size
        if self.objective.shape != (n,) or self.limits.shape != (m,) or self.rows.shape != (m, n) or n == 0:
            raise ValueError(
                "objective, rows, limits must have shapes (n,), (m, n), (m,) with n >= 1. "
                f"Got {self.objective.shape}, {self.rows.shape}, {self.limits.shape}."
            )

    @classmethod
    def of_checked(cls, objective: Array, rows: Array, limits: Array) -> LinearProgram:
        """The program of float64 arrays that were checked before: to check them again takes as long as to use them."""
        made = object.__new__(cls)
        made.__dict__.update({"objective": objective, "rows": rows, "limits": limits})
        return made

    def violation(self, x: Array) -> float:
        """The largest violation of a row or a bound by x; 0 if none. Recomputed here, never taken from a solver.

        max(0, max(rows @ x - limits), max(-x), max(x - 1))
        """
        excess = self.rows @ x - self.limits
        return float(max(0.0, excess.max(initial=0.0), (-x).max(), (x - 1).max()))

    def dual_bound(self, multipliers: Array, objective: Array | None = None) -> float:
        """Upper bound on the optimum from any multipliers, by weak duality; of another objective, if one is given.

        limits @ y + sum_l max(0, objective_l - (y @ rows)_l),    y = max(0, multipliers)

        Negative or NaN multipliers count as 0, so every vector gives a bound; the optimal one gives the optimum.
        """
        used = ((multipliers > 0) & (multipliers < np.inf)).nonzero()[0]
        y = multipliers[used]
        reduced = (self.objective if objective is None else objective) - y @ self.rows[used]
        return float(self.limits[used] @ y + np.maximum(reduced, 0.0).sum())


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of an engine.

    Attributes
    ----------
    status : Status
    x : ndarray, shape (n,)
        Clipped to [0, 1]; zeros unless the status is OPTIMAL.
    multipliers : ndarray, shape (m,)
        Nonnegative row multipliers; zeros unless the status is OPTIMAL.
    iterations : int
    message : str
        The engine's own name for how it ended.
    """

    status: Status
    x: Array
    multipliers: Array
    iterations: int
    message: str

"""The vertex of a basis and its multipliers by linear algebra, to the last digits, beyond the tolerance of solvers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm_solvers.linear_program import Array, LinearProgram

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ROUNDING = 2.0**-50  # of a row times a vertex, for each unit of the sizes that are summed
_FINE = ROUNDING / 4  # of an answer that no linear algebra would make better
_NO_PROFIT = 1e-13  # reduced costs and multipliers of the wrong sign, up to which a basis counts as optimal
_LARGE, _SPARSE = 200, 0.05  # from which size on, and up to which share of entries, factors are sparse
_TIGHT = 1e-11  # a distance of bound and objective that nobody sees


class Basis(NamedTuple):
    """Which columns are between their bounds and which rows hold them there: as many of one as of the other."""

    columns: NDArray[np.intp]
    rows: NDArray[np.intp]


class Vertex(NamedTuple):
    """The point at which the rows of a basis bind.

    Attributes
    ----------
    x : ndarray, shape (n,)
        Not clipped.
    multipliers : ndarray, shape (m,)
        The multipliers of the rows; a negative one means that the basis is not optimal, or nearly singular.
    optimal : bool
        Whether x is feasible, and optimal by these multipliers, up to rounding.
    """

    x: Array
    multipliers: Array
    optimal: bool


def vertex(program: LinearProgram, basis: Basis, near: Array) -> Vertex | None:
    """The vertex of a basis, with all columns that are not in it at the bound that ``near`` is nearest to.

        rows x = limits  in the basis' rows,     y rows = objective  in its columns

    Both are solved by one inverse, or factors, and refined with residuals, which leaves what rounds in these.

    Returns
    -------
    Vertex or None
        None if the basis is singular.
    """
    columns, rows = basis
    x, y = np.round(near), np.zeros(rows.size)
    x[columns] = near[columns]
    held = _sparse(program.rows[rows])
    try:
        solved, transposed = _solvers(held[:, columns])
    except (np.linalg.LinAlgError, RuntimeError):
        return None
    for _ in range(3):
        x[columns] += solved(program.limits[rows] - held @ x)
        y += transposed((program.objective - y @ held)[columns])
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return None
    profit = np.where(x > 0.5, -1.0, 1.0) * (program.objective - y @ held)
    profit[columns] = 0.0
    optimal = feasible(program, x) and max(profit.max(), (-y).max(initial=0.0)) <= _NO_PROFIT
    multipliers = np.zeros(program.limits.size)
    multipliers[rows] = y
    return Vertex(x, multipliers, bool(optimal))


def _sparse(rows: Array) -> Array | csr_array:
    """Large ones with few entries as sparse ones."""
    if len(rows) > _LARGE and np.count_nonzero(rows) < _SPARSE * rows.size:
        from scipy.sparse import csr_array

        return csr_array(rows)
    return rows


def _solvers(square: Array | csr_array) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """What solves with a matrix and with its transpose: an inverse, or sparse factors of a sparse one.

    `LinAlgError` or `RuntimeError` if it is singular.
    """
    if isinstance(square, np.ndarray):
        inverse = np.linalg.inv(square)
        return lambda right: np.asarray(inverse @ right), lambda right: np.asarray(right @ inverse)
    from scipy.sparse.linalg import splu

    factors = splu(square.tocsc())
    return lambda right: np.asarray(factors.solve(right)), lambda right: np.asarray(factors.solve(right, trans="T"))  # type: ignore[call-overload]


def feasible(program: LinearProgram, x: Array, rounding: float = ROUNDING) -> bool:
    """Whether x breaks rows and bounds by no more than ``rounding``, of rows for each unit of their sizes."""
    if not (x.min() >= -rounding and x.max() - 1 <= rounding):
        return False
    excess = program.rows @ x - program.limits
    broken = (~(excess <= 0)).nonzero()[0]
    if not broken.size:
        return True
    sizes = np.abs(program.rows[broken]) @ np.abs(x) + np.abs(program.limits[broken])
    return bool((excess[broken] <= rounding * sizes).all())


def settled(program: LinearProgram, x: Array, multipliers: Array) -> bool:
    """Whether ``x`` in [0, 1] is feasible and optimal by these nonnegative multipliers, up to rounding.

    Rows with a positive multiplier bind. Reduced costs are 0 between the bounds, not negative at 1, and not positive at
    0.
    """
    if not feasible(program, x, _FINE):
        return False
    paid = multipliers.nonzero()[0]
    prices, held, limits = multipliers[paid], program.rows[paid], program.limits[paid]
    if (limits - held @ x > _FINE * (abs(held) @ x + abs(limits))).any():
        return False
    profit = program.objective - prices @ held
    return bool((profit[x < 1] <= _NO_PROFIT).all() and (profit[x > 0] >= -_NO_PROFIT).all())


def least(program: LinearProgram, x: Array, known: Iterable[Array]) -> Array:
    """Multipliers that bound the optimum best: of those that are known, or made for x if these are loose.

    Where more rows bind than a vertex needs, some of its bases have multipliers that no sign allows. Some nonnegative
    ones exist at every optimum; they are a problem of nonnegative least squares,

        y rows + s = objective,    y >= 0 in the rows that bind,    s >= 0 where x = 1,  s <= 0 where x = 0.
    """
    best = min((np.maximum(one, 0.0) for one in known), key=program.dual_bound)
    if program.dual_bound(best) - float(program.objective @ x) <= _TIGHT:
        return best
    from scipy.optimize import nnls

    near = 1e-12 + 2 * program.violation(x)
    binding = np.flatnonzero(program.limits - program.rows @ x <= near)
    units = np.eye(x.size)
    sides = np.concatenate([program.rows[binding], units[x >= 1 - near], -units[x <= near]])
    made = np.zeros(program.limits.size)
    try:
        made[binding] = nnls(sides.T, program.objective)[0][: binding.size]
    except RuntimeError:  # too many steps
        return best
    return min(best, made, key=program.dual_bound)

"""The rows of the common case families, precomputed for every limit: they contain nearly all binding constraints."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.arrays import Array
from darrm.numerics.binomials import binomials
from darrm.problem.corners import CornerCounts, weights
from darrm_solvers import Rows

MOST_K = 64  # largest K; above it the rows take too much memory
_DIPS_UP_TO = 35  # largest K for which cases are kept that bind only where gamma is not monotone


@lru_cache(maxsize=4)
def voters_at_hi_lo(epsilon: float, Delta: float, most: int) -> tuple[Array, Array]:
    """alpha' and alpha - alpha' of n = 0, ..., ``most`` voters at (hi,lo), one row each."""
    hi, lo, gap = weights(epsilon, Delta)
    q_side, difference = np.zeros((most + 1, most + 1)), np.zeros((most + 1, most + 1))
    q_side[0, 0] = 1.0
    for n in range(most):
        q_side[n + 1] = hi * q_side[n]
        q_side[n + 1, 1:] += lo * q_side[n, :-1]
        difference[n + 1] = lo * difference[n] - gap * q_side[n]
        difference[n + 1, 1:] += hi * difference[n, :-1] + gap * q_side[n, :-1]
    return q_side, difference


class UsualRows:
    """alpha' and alpha - alpha' of the common case families, folded onto gamma above K/2.

    For each number n of voters at (hi,lo) and each z near 1, as many of the other voters as can be affected are at
    (D,0) and (1,1-D). For small K there are also cases with none near 1, or with those at (1-D,1), the worst cases of
    tables that are not monotone.

    Parameters
    ----------
    K, max_affected : int
    epsilon, Delta : float

    Attributes
    ----------
    q_side, difference : ndarray, shape (max_affected + 1, cases, K - K // 2)
        One block for each n; 0 where there is no case.

    Notes
    -----
    O(K^2 max_affected) numbers. They do not depend on the right side: the rows of one limit are a sum of the two,
    `MajorityRows`.
    """

    def __init__(self, K: int, epsilon: float, Delta: float, max_affected: int) -> None:
        t = max_affected
        n, z = np.arange(t + 1)[:, None], np.arange(K + 1)
        there = (n + z <= K) & ((n > 0) | (Delta > 0))
        none = np.zeros(there.shape, dtype=np.int64)
        # Row c of a block: n voters at (hi,lo) beside c ones.
        q_beside, gap_beside = _folded(np.array(voters_at_hi_lo(epsilon, Delta, t)), K)
        self._counts, present, q_sides, differences = [(none, none, none)], [there], [q_beside], [gap_beside]
        if Delta:
            up = np.where(there, np.minimum(K - n - z, t - n), 0)
            down = np.where(there, np.minimum(z, t - n - up), 0)
            smallest = max(weights(epsilon, Delta).gap, Delta) * 1e-29  # 1e-17 of the least right side not refused
            pmf, moved, _ = binomials(t, Delta, smallest)
            ups = _moves(pmf, moved, up, 1)
            downs = _moves(pmf, moved, down, -1)
            gap, up_change = ups.chance @ gap_beside, ups.change @ q_beside
            self._counts, q_sides = [(up, none, down)], [downs.chance @ q_beside]
            differences = [gap + up_change - downs.change @ q_beside]
            if K <= _DIPS_UP_TO:
                both = _further_down(ups, pmf, moved, down)
                self._counts += [(up, none, none), (up, down, none)]
                present += [there & (down > 0)] * 2
                q_sides += [q_beside] * 2
                differences += [gap + up_change, both.chance @ gap_beside + both.change @ q_beside]
        absent = ~np.concatenate(present, axis=1)
        self.q_side, self.difference = np.concatenate(q_sides, axis=1), np.concatenate(differences, axis=1)
        self.q_side[absent] = self.difference[absent] = 0.0
        self._K = K

    def case(self, n: int, at: int) -> CornerCounts:
        """The multiset behind a row."""
        which, z = divmod(at, self._K + 1)
        i, j, l = (counts.item(n, z) for counts in self._counts[which])
        return CornerCounts(self._K - n - z - i, z - j - l, n, 0, D_0=i, near_one=j, one_near=l)


def _folded(tables: Array, K: int) -> Array:
    """The row of each n beside c = 0, ..., K ones, less its mirror image: shape (tables, n, c, K - K // 2)."""
    several, size, middle = len(tables), tables.shape[1], K // 2
    width = K + 1 + size
    # Rows stored one longer than they are read each begin one column further to the right.
    longer = np.zeros((several, size, K + 1, width + 1))
    longer[..., :size] = tables[:, :, None]
    beside = longer.reshape(several, size, -1)[..., : (K + 1) * width].reshape(several, size, K + 1, width)
    return np.ascontiguousarray(beside[..., middle + 1 : K + 1] - beside[..., : K - middle][..., ::-1])


class _Moves(NamedTuple):
    """The probability of c ones from z near 1, and its difference to that without a move; shape (n, z, c)."""

    chance: Array
    change: Array


def _moves(pmf: Array, moved: Array, movers: NDArray[np.int64], side: int) -> _Moves:
    """``movers`` of shape (n, z) move up (``side`` 1) or down (-1)."""
    columns = movers.shape[1]
    found = _Moves(*np.zeros((2, *movers.shape, columns)))
    for whole, table in zip(found, (pmf, moved), strict=True):
        likely = table[movers]
        for s in range(min(pmf.shape[1], columns)):
            _diagonal(whole, side * s)[:] = likely[:, : columns - s, s] if side > 0 else likely[:, s:, s]
    return found


def _further_down(ups: _Moves, pmf: Array, moved: Array, down: NDArray[np.int64]) -> _Moves:
    """The moves after ``down`` more voters move down, counted from z."""
    found = _Moves(*(np.zeros_like(side) for side in ups))
    columns, likely, change = down.shape[1], pmf[down, :, None], moved[down]
    for r in range(min(pmf.shape[1], columns)):
        for side, whole in zip(ups, found, strict=True):
            whole[..., : columns - r] += likely[:, :, r] * side[..., r:]
        _diagonal(found.change, -r)[:] += change[:, r:, r]
    return found


def _diagonal(tables: Array, at: int) -> Array:
    """The entries (z, z + ``at``) of square tables, as a view."""
    columns = tables.shape[-1]
    first = at if at > 0 else -at * columns
    return tables.reshape(len(tables), -1)[:, first :: columns + 1][:, : columns - abs(at)]


class ReadyRows:
    """The rows of the common case families for one limit, ``rows @ x <= 1``.

    Parameters
    ----------
    rows : ndarray, shape (blocks, cases, n)
    case : callable
        Maps the index of a row, block and case, to its multiset.
    broken : float
        A value above which a row is violated by more than rounding.
    """

    def __init__(self, rows: Array, case: Callable[[int, int], Any], broken: float) -> None:
        self._rows, self._case, self._broken = rows, case, broken

    def most_broken(self, x: Array, seen: Container[Any]) -> tuple[list[Any], Rows]:
        """The most violated case of each block, if ``x`` violates one that is not ``seen``, and their rows."""
        values = self._rows @ x
        broken = (values.max(axis=1) > self._broken).nonzero()[0].tolist()
        if not broken:
            return [], Rows(self._rows[0, :0], np.ones(0))
        places = {n: int(values[n].argmax()) for n in broken}
        cases = {case: n for n, at in places.items() if (case := self._case(n, at)) not in seen}
        blocks = list(cases.values())
        return list(cases), Rows(self._rows[blocks, [places[n] for n in blocks]], np.ones(len(blocks)))


@lru_cache(maxsize=2)
def usual_rows(K: int, epsilon: float, Delta: float, max_affected: int) -> UsualRows:
    """`UsualRows`; those of the last two problems are kept, for series of designs."""
    return UsualRows(K, epsilon, Delta, max_affected)

"""Smoothed acceptance tables: the probability of releasing 1 when some voters sit at given corners.

The certificate is computed from these tables alone. They start from the noise function and share no code with the rows
of the linear program: no corner list, and no distribution of L.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time
from darrm.problem.corners import Weights
from darrm.problem.noise_function import acceptance

Index: TypeAlias = Any  # any numpy index
_NEVER = 1 << 60
_AT_ONCE = 1 << 14  # number of table entries that fit into the cache


class Sides(NamedTuple):
    """X(p), X(p') and X(p) - X(p'), either exact or as an upper, a lower and an upper bound."""

    p_side: Array
    q_side: Array
    difference: Array

    def at(self, index: Index) -> Sides:
        """The entries at ``index``."""
        return Sides(self.p_side[index], self.q_side[index], self.difference[index])


class _Bends(NamedTuple):
    """The largest distance of tables in the gap after each b from those at its ends: V_ab above, V_ba below."""

    b: NDArray[np.int64]
    each: Array  # shape (2, b.size, columns)
    most: Array  # shape (2, columns)


class SmoothLevel(NamedTuple):
    """Tables for n = a + b voters at (hi,lo) and (lo,hi): one row for each computed b, column c = 0..K-n.

    The next level overwrites them.

    Attributes
    ----------
    n : int
    b : ndarray of int, shape (rows,)
        The rising numbers of voters at (lo,hi); a = n - b. A missing b is dominated, in a gap, or was not requested
        (see `levels`).
    sides : Sides, each of shape (rows, K - n + 1)
        V_ab(c) = E X(c + Bin(a,hi) + Bin(b,lo)), V_ba(c), and their difference, carried by its own recurrence.
    rises : ndarray of bool, shape (rows,)
        Whether V_ab is proved nondecreasing in c.
    gaps : ndarray of int, shape (gaps,)
        The rows that are followed by a gap, whose tables are not computed and are bounded by `stand_ins`.
    settles : bool
        Whether all b > 0 of all further levels are dominated.
    """

    n: int
    b: NDArray[np.int64]
    sides: Sides
    rises: NDArray[np.bool_]
    gaps: NDArray[np.int64]
    settles: bool
    bends: _Bends | None

    @property
    def alone(self) -> Index:
        """The rows that are not next to a gap."""
        if not self.gaps.size:
            return slice(None)
        return np.delete(np.arange(self.b.size), np.union1d(self.gaps, self.gaps + 1))

    def stand_ins(self, columns: slice, relative: float) -> Sides:
        """Bounds for each gap: a table above all V_ab in and next to it, one below all V_ba, and their difference.

        ``relative`` is at least twice the relative error of table entries.
        """
        V, V_, W = (side[:, columns] for side in self.sides)
        if self.bends is None or not self.gaps.size:
            return Sides(V[:0], V_[:0], W[:0])
        here, there = _run(self.gaps), _run(self.gaps + 1)
        above, below = self.bends.each[:, _run(np.searchsorted(self.bends.b, self.b[self.gaps])), columns]
        high, low = np.maximum(V[here], V[there]), np.minimum(V_[here], V_[there])
        difference = W[here] + (high - V[here]) + (V_[here] - low) + (above + below)
        high += above
        difference += 4 * relative * (high + V_[here])
        return Sides(high, np.maximum(low - below, 0.0), difference)

    def extremes(self) -> tuple[Array, Array]:
        """An upper bound on all V_ab and a lower bound on all V_ba, gaps included; shape (K - n + 1,) each."""
        high, low = self.sides.p_side.max(axis=0), self.sides.q_side.min(axis=0)
        if self.bends is not None and self.gaps.size:
            above, below = self.bends.most[:, : high.size]
            high, low = high + above, np.maximum(low - below, 0.0)
        return high, low


def levels(
    gamma: Array,
    w: Weights,
    max_affected: int,
    most_b: int | None = None,
    *,
    spacing: int = 1,
    wanted: NDArray[np.bool_] | None = None,
) -> Iterator[SmoothLevel]:
    """The tables for n = 0, 1, ..., ``max_affected``, b up to ``most_b``; O(rows K) memory, O(rows (K - n)) work each.

    With V = V_ab, V' = V_ba and W = V - V', one more voter at (hi,lo) gives

        V(c) <- lo V(c) + hi V(c+1),   V'(c) <- hi V'(c) + lo V'(c+1),
        W(c) <- lo W(c) + hi W(c+1) + (hi - lo) (V'(c+1) - V'(c)),

    one more at (lo,hi) the same with hi and lo exchanged. W keeps the digits that V - V' would lose when epsilon
    is small. Each b has its own chain of tables, which begins with b voters at (lo,hi).

    If V_ab is nondecreasing, every multiset with (a, b+1) needs at most as much delta as one with (a+1, b), also with
    further voters: b+1 is left out (docs/theory.md, Lemma 5 (iii)). Whether V_ab rises is decided by its differences,
    which have their own recurrence, as have their absolute values: a rise counts only if it exceeds rounding.

    Parameters
    ----------
    spacing : int
        If above 1, only its multiples are computed, and b < spacing, and those after the last multiple up to n. Bounds
        replace the tables in the gaps (docs/theory.md, Lemma 5a).
    wanted : ndarray of bool, shape (max_affected + 1,), optional
        The b to compute besides 0.
    """
    until = _followed(max_affected, most_b, spacing, wanted)
    last = int(np.flatnonzero(until >= 0)[-1])
    chains = _Chains(gamma, w)
    margin = 1.01 * 2.0**-53 * (3 * max_affected + 20)
    b, dies = np.zeros(1, dtype=np.int64), np.full(1, _NEVER)
    rises = np.zeros(1, dtype=bool)
    rises_from = _NEVER  # the least a with some V_ab known to rise
    bends: list[_Bends] = []
    no_gaps = np.zeros(0, dtype=np.int64)
    for n in range(max_affected + 1):
        check_time()
        if n:
            growing = rises_from > 0 and n <= last
            chains.one_more(b.size, growing)
            stay = (dies > n) & (until[b] >= n)
            if not stay.all():
                chains.keep(np.flatnonzero(stay))
                b, dies, rises = b[stay], dies[stay], rises[stay]
            if growing and until[n] >= n:
                chains.begin(b.size)
                b, dies = np.concatenate((b, [n])), np.concatenate((dies, [n + rises_from + spacing - 1]))
                rises = np.concatenate((rises, [False]))
        if n % spacing == 0:
            rises = chains.rise(b.size, margin)
        if rises.any():
            a = np.where(rises, n - b, _NEVER)
            rises_from = min(rises_from, int(a.min()))
            dies[1:] = np.minimum(dies[1:], b[1:] + np.minimum.accumulate(a)[:-1] + spacing - 1)
        settles = bool(rises.all()) and (n >= last or not rises_from) and (spacing == 1 or b.size == 1)
        gaps = no_gaps
        if spacing > 1:
            gaps = np.flatnonzero((np.diff(b) == spacing) & (b[:-1] >= spacing))
            if n % spacing == 0:
                first = int(np.searchsorted(b, spacing))
                each = chains.bends(slice(first, b.size), spacing, margin)
                bends = [*bends[-1:], _Bends(b[first:], each, each.max(axis=1, initial=0.0))]
        sides = Sides(*chains.tables[:3, : b.size])
        yield SmoothLevel(n, b, sides, rises, gaps, settles, bends[0] if bends else None)


def _followed(
    max_affected: int, most_b: int | None, spacing: int, wanted: NDArray[np.bool_] | None
) -> NDArray[np.int64]:
    """The last level of each b; -1 if it is not computed."""
    until = np.full(max_affected + 1, _NEVER)
    if spacing > 1:
        b = np.arange(spacing, max_affected + 1)
        until[spacing:] = np.where(b % spacing > 0, b - b % spacing + spacing - 1, _NEVER)
    if most_b is not None:
        until[most_b + 1 :] = -1
    if wanted is not None:
        until[~wanted] = -1
    until[0] = _NEVER
    return until


class _Chains:
    """The tables of all rows, in place: V, V', W, and the differences of V with their absolute values.

    The first row has all voters at (lo,hi); the computed rows come below it.
    """

    def __init__(self, gamma: Array, w: Weights) -> None:
        K = gamma.size - 1
        self._columns, self._at_once = K + 1, min(K + 1, max(1, _AT_ONCE // (K + 1)))
        self._tables = np.zeros((5, 16, K + 1))
        self._tables[:2, :2] = acceptance(gamma)
        self._tables[3, :2, :-1] = np.diff(np.sign(2 * np.arange(K + 1) - K) * gamma)
        self._tables[4, :2] = np.abs(self._tables[3, 0])
        # Of the entries c and c + 1.
        high, low = (w.hi, w.lo, w.hi, w.hi, w.hi), (w.lo, w.hi, w.lo, w.lo, w.lo)
        self._weights = np.array([low, high])[:, :, None, None].repeat(1 + self._at_once, axis=2)
        self._weights[:, :, 0, 0] = high, low
        self._gap = np.full((self._weights.shape[2], 1), w.gap)
        self._gap[0] = -w.gap

    @property
    def tables(self) -> Array:
        """The tables of all rows, shape (5, rows, columns); some of the rows are not in use."""
        return self._tables[:, 1:, : self._columns]

    def one_more(self, rows: int, newest: bool) -> None:
        """Add a voter at (hi,lo) to each computed row, and one at (lo,hi) to the first, if requested."""
        for start in range(1 - newest, rows + 1, self._at_once):
            stop = min(start + self._at_once, rows + 1)
            low, high = self._tables[:, start:stop, : self._columns - 1], self._tables[:, start:stop, 1 : self._columns]
            alike = slice(min(start, 1), min(start, 1) + stop - start)  # all rows but the first have equal weights
            gain = self._gap[alike] * (high[1] - low[1])
            raised = self._weights[1, :, alike] * high
            low *= self._weights[0, :, alike]
            low += raised
            low[2] += gain
        self._columns -= 1

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Keep only these rows, in this order."""
        first = int(np.flatnonzero(np.append(rows, -1) != np.arange(rows.size + 1))[0])
        for table in self.tables:
            table[first : rows.size] = table[rows[first:]]

    def begin(self, row: int) -> None:
        """Start another computed row as a copy of the first."""
        if row + 1 == self._tables.shape[1]:
            self._tables = np.concatenate([self._tables, np.zeros_like(self._tables)], axis=1)
        self._tables[:, row + 1, : self._columns] = self._tables[:, 0, : self._columns]

    def rise(self, rows: int, margin: float) -> NDArray[np.bool_]:
        """Whether each row is proved nondecreasing."""
        steps, sizes = self.tables[3:, :rows, :-1]
        return np.asarray((steps >= margin * sizes).all(axis=1))

    def bends(self, rows: slice, spacing: int, margin: float) -> Array:
        """The largest distance of tables in the gap after each row from those at its ends, two records later."""
        V = self.tables[:2, rows]
        ends, middle = V[..., :-2] + V[..., 2:], 2 * V[..., 1:-1]
        bends = np.abs(ends - middle) + margin * (ends + middle)
        bends *= (spacing * self._gap[1, 0]) ** 2 / 8 * (1 + 1e-9)
        width, reach = 1, 2 * spacing - 2
        while width < reach:
            step = min(width, reach - width)
            np.maximum(bends[..., :-step], bends[..., step:], out=bends[..., :-step])
            width += step
        return np.asarray(bends)


def _run(index: NDArray[np.int64]) -> Index:
    """The same indices, as a slice if they are consecutive, which avoids a copy."""
    return slice(index[0], index[-1] + 1) if index[-1] - index[0] == index.size - 1 else index

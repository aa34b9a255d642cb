"""What voters at the corners of Delta add to a smoothed table, exactly and in bounds.

Voters at (Delta,0) and (1-Delta,1) move the side of p up and down, those at (0,Delta) and (1,1-Delta) the side of p'.
All bounds are proved in docs/theory.md, "Bounds".
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from darrm.certificate.smoothing import Array
from darrm.problem.limits import Promise

Integers = NDArray[np.int64]
_FEW = 24  # with up to so many moves sums are taken entry by entry, with more as matrix products
_CHUNK = 1 << 18


class Sides(NamedTuple):
    """X(p), X(p') and X(p) - X(p'): attained, or bounds from above, below and above."""

    first: Array
    second: Array
    apart: Array


@lru_cache(maxsize=4)
def binomials(most: int, Delta: float, negligible: float) -> tuple[Array, Array, float]:
    """Probabilities that s of u voters move, u = 0, ..., ``most``, s as far as it matters.

    Returns
    -------
    pmf : ndarray, shape (most + 1, terms)
        Pr[Bin(u, Delta) = s], by its recurrence (relative error 3 u each step); read-only.
    moved : ndarray, same shape
        The same less 1 at s = 0, as a sum of terms of one sign; read-only.
    beyond : float
        At least Pr[Bin(most, Delta) >= terms], at most ``negligible``; 0 if all is followed.
    """
    pmf, stay = np.zeros((most + 1, most + 1)), np.zeros(most + 1)
    pmf[0, 0] = 1.0
    for u in range(most):
        pmf[u + 1] = (1 - Delta) * pmf[u]
        pmf[u + 1, 1:] += Delta * pmf[u, :-1]
        stay[u + 1] = stay[u] - Delta * pmf[u, 0]
    beyond = np.append(np.cumsum(pmf[-1, :0:-1])[::-1], 0.0) * (1 + 1e-9)
    beyond[:-1] += 1e-300
    terms = int(np.argmax(beyond <= negligible)) + 1
    pmf = pmf[:, :terms].copy()
    moved = pmf.copy()
    moved[:, 0] = stay
    pmf.flags.writeable = moved.flags.writeable = False
    return pmf, moved, float(beyond[terms - 1])


class Moves:
    """Voters at the corners of Delta, for one problem.

    Attributes
    ----------
    pmf, moved : ndarray
        See `binomials`.
    terms : int
        How many moves are followed on either side, 0 moves included.
    beyond : float
        At least the probability of more, up and down together.
    """

    def __init__(self, problem: Promise, negligible: float) -> None:
        self._Delta = problem.Delta
        most = problem.changed if problem.Delta else 0
        self.pmf, self.moved, tail = binomials(most, problem.Delta, negligible)
        self.terms, self.beyond = self.pmf.shape[1], 2 * tail

    def all_move(self, V: Array, M: Array, apart: Array, up: Integers, down: Integers) -> Sides:
        """E V(z + Bin(up)), E M(z - Bin(down)) and how far they are apart.

        Parameters
        ----------
        V, M, apart : ndarray, shape (rows, columns)
            Tables of X(p), X(p') and of their difference, none moved.
        up, down : ndarray of int, shape (columns,) or (rows, columns)
            How many voters are at (Delta,0) and (1,1-Delta), for each column z; up <= columns - 1 - z, down <= z.
        """
        above, below = self._above(V, up), self._above(M[:, ::-1], down[..., ::-1])[:, ::-1]
        return Sides(
            self.pmf[up, 0] * V + above,
            self.pmf[down, 0] * M + below,
            apart + (self.moved[up, 0] * V + above) - (self.moved[down, 0] * M + below),
        )

    def _above(self, table: Array, movers: Integers) -> Array:
        """Sum over s >= 1 of Pr[Bin(movers) = s] table(z + s), table 0 outside."""
        rows, columns = table.shape
        steps = min(self.terms, columns) - 1
        if not steps:
            return np.zeros_like(table)
        if steps > _FEW and movers.ndim == 1:
            s = np.arange(columns) - np.arange(columns)[:, None]
            band = np.where((s >= 1) & (s <= steps), self.pmf[movers[:, None], np.clip(s, 0, steps)], 0.0)
            return np.asarray(table @ band.T)
        windows = sliding_window_view(np.hstack([table[:, 1:], np.zeros((rows, steps))]), steps, axis=1)
        if movers.ndim == 1:
            return np.asarray(np.einsum("bzs,zs->bz", windows, self.pmf[movers, 1 : steps + 1]))
        sums = np.empty_like(table)
        at_once = max(1, _CHUNK // (columns * steps))
        for start in range(0, rows, at_once):
            part = slice(start, start + at_once)
            sums[part] = np.einsum("bzs,bzs->bz", windows[part], self.pmf[movers[part], 1 : steps + 1])
        return sums

    def loose(self, V: Array, M: Array, apart: Array, most: int) -> Sides:
        """Bounds wherever at most ``most`` voters move: with the chance that any does, they reach the best entry."""
        any_move = min(1.0, -float(self.moved[most, 0]) * (1 + 1e-9) + 1e-300)
        followed = max(0.0, any_move - self.beyond)
        high, low = _extreme(V, self.terms - 1, np.maximum), _extreme(M, self.terms - 1, np.minimum)
        return Sides(
            (1 - any_move) * V + any_move * high,
            (1 - any_move) * M + followed * low,
            apart + any_move * (high - V) + any_move * (M - low),
        )

    def envelope(self, V: Array, M: Array, apart: Array, up: Integers, down: Integers, relative: float) -> Sides:
        """Bounds by rising tables, V below one and M above the other: there the worst is that all move."""
        higher = np.maximum.accumulate(V, axis=1)
        lower = np.minimum.accumulate(M[:, ::-1], axis=1)[:, ::-1]
        spread = (higher - V) + (M - lower) + 4 * relative * (higher + M)
        return self.all_move(higher, lower, apart + spread, up, down)

    def closer(
        self,
        V: Array,
        M: Array,
        apart: Array,
        rows: Integers,
        at: Integers,
        up: Integers,
        down: Integers,
        relative: float,
    ) -> Sides:
        """Bounds for single entries: s voters moved up gain at most the best of the next s table entries.

            E V(z + B - B') <= V(z) + E max over s <= B of (V(z+s) - V(z)) + E max over s <= B' of (V(z-s) - V(z))

        and likewise from below for M. Exact where a table rises around z.
        """
        steps = np.arange(self.terms)
        ahead = np.minimum(at[:, None] + steps, V.shape[1] - 1)
        back = np.maximum(at[:, None] - steps, 0)
        here, there, row = V[rows, at], M[rows, at], rows[:, None]
        first, second, far = here.copy(), there * (1 - 2 * self.beyond), apart[rows, at]
        for reach, movers in ((ahead, up[at]), (back, down[at])):
            chance = self.pmf[movers]
            high = np.maximum.accumulate(V[row, reach], axis=1)
            low = np.minimum.accumulate(M[row, reach], axis=1)
            gain = np.einsum("es,es->e", chance, high - here[:, None])
            loss = np.einsum("es,es->e", chance, there[:, None] - low)
            # Differences of entries that are each right to ``relative``: four times that of the larger one covers them.
            slack_up = 4 * relative * np.einsum("es,es->e", chance[:, 1:], high[:, 1:])
            slack_down = 4 * relative * chance[:, 1:].sum(axis=1) * there
            first += gain + slack_up
            second -= loss + slack_down
            far = far + (gain + slack_up) + (loss + slack_down)
        return Sides(first, np.maximum(second, 0.0), far)

    def averaged(
        self, V: Array, M: Array, apart: Array, most: int, relative: float
    ) -> tuple[Sides, Sides, Integers, Integers]:
        """Bounds that average first: V after i moves up, then at best any entry to the left, for the best i.

            E V(z + B_i - B'_j) <= max over i of  max over c <= z of  E V(c + B_i)

        and likewise from below for M. The worst with moves of V up and of M down alone is found on the way.

        Parameters
        ----------
        V, M, apart : ndarray, shape (rows, columns)
        most : int
            How many voters may be at corners of Delta.

        Returns
        -------
        bounds : Sides
        attained : Sides
            With i voters at (Delta,0) and l at (1,1-Delta).
        i, l : ndarray of int, shape (rows, columns)
        """
        high, first, i = self._best(V, most, np.maximum, np.greater)
        low, second, l = self._best(M[:, ::-1], most, np.minimum, np.less)
        low, second, l = low[:, ::-1], second[:, ::-1], l[:, ::-1]
        slack = 4 * relative * (high + M)
        return Sides(high, low, apart + (high - V) + (M - low) + slack), Sides(first, second, first - second), i, l

    def _best(self, table: Array, most: int, pick: np.ufunc, better: np.ufunc) -> tuple[Array, Array, Integers]:
        """Over i <= min(most, columns - 1 - z): the best E table(c + Bin(i)) for c <= z, that for c = z, and its i."""
        columns = table.shape[1]
        h, reached, attained = table, pick.accumulate(table, axis=1), table.copy()
        i = np.zeros(table.shape, dtype=np.int64)
        for moves in range(1, min(most, columns - 1) + 1):
            h = (1 - self._Delta) * h[:, :-1] + self._Delta * h[:, 1:]
            part = np.s_[:, : columns - moves]
            reached[part] = pick(reached[part], pick.accumulate(h, axis=1))
            won = better(h, attained[part])
            attained[part] = np.where(won, h, attained[part])
            i[part][won] = moves
        return reached, attained, i

    def grid(self, table: Array, z: int, ups: int, downs: int) -> tuple[Array, Array]:
        """E table(z + Bin(i) - Bin(j)) for i < ups, j < downs, and the same less table(z), not by subtracting."""
        s, r = min(self.terms, ups), min(self.terms, downs)
        around = table[z + np.arange(s)[:, None] - np.arange(r)]
        down = self.pmf[:downs, :r].T
        value = self.pmf[:ups, :s] @ around @ down
        change = self.moved[:ups, :s] @ around @ down + around[0] @ self.moved[:downs, :r].T
        return value, change


def _extreme(table: Array, reach: int, pick: np.ufunc) -> Array:
    """The largest (or least) table(z + s) over abs(s) <= reach, for each z."""
    ahead, back, width = table, table, 1
    while width <= reach:
        step = min(width, reach + 1 - width)
        ahead = np.hstack([pick(ahead[:, :-step], ahead[:, step:]), ahead[:, -step:]])
        back = np.hstack([back[:, :step], pick(back[:, step:], back[:, :-step])])
        width += step
    return np.asarray(pick(ahead, back))

"""The effect of voters at the corners of Delta on a smoothed table: exact (`Moves.grid`), and bounds (`Moves.bounds`).

Voters at (Delta,0) and (1-Delta,1) move the side of p up and down, those at (0,Delta) and (1,1-Delta) the side of p'.
All bounds are proved in docs/theory.md, "Bounds". Below, V is the table of X(p) and V' that of X(p'), and "excess" is
the hockey-stick divergence X(p) - e^epsilon X(p').
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from darrm.certificate.smoothing import Sides
from darrm.numerics.arrays import Array
from darrm.numerics.binomials import binomials
from darrm.numerics.deadline import check_time
from darrm.problem.majority import MajorityProblem

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Bound: TypeAlias = "Callable[[Sides, Reach, Mask, float], Sides]"
BAND_TERMS = 24  # largest number of moves for which sums are taken entry by entry; above it, matrix products
AVERAGED_TERMS = 24  # number of moves above which tables are averaged too
ENTRIES_AT_ONCE = 1 << 14
ROWS_AT_ONCE = 64
_FEW = 64  # voters, up to which probabilities are kept: those of a table of designs are few
_binomials = lru_cache(maxsize=16)(binomials)


class Reach(NamedTuple):
    """The largest numbers of voters at corners of Delta.

    Attributes
    ----------
    up, down : ndarray of int, shape (columns,) or (rows, columns)
        The largest number near 0, at (Delta,0) and (0,Delta), and near 1, for each column z.
    together : int, or ndarray of shape (rows, 1)
        The largest number in all.
    """

    up: Integers
    down: Integers
    together: int | Integers


class Moves:
    """The effect of voters at the corners of Delta, for one problem.

    Attributes
    ----------
    pmf, moved : ndarray
        See `darrm.numerics.binomials.binomials`.
    terms : int
        The number of moves that are computed on each side, 0 moves included.
    many : bool
        Whether there are so many that averaging (bound 4) comes first.
    beyond : float
        Upper bound on the probability of more moves, up and down together.
    """

    def __init__(self, problem: MajorityProblem, negligible: float) -> None:
        self._Delta = problem.Delta
        most = problem.max_affected if problem.Delta else 0
        found = _binomials if most <= _FEW else binomials
        self.pmf, self.moved, tail = found(most, problem.Delta, negligible)
        self.terms, self.beyond = self.pmf.shape[1], 2 * tail
        self._chances = np.ascontiguousarray(self.pmf.T)
        self.many = self.terms > AVERAGED_TERMS

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Bounds on the excess over all allowed moves, coarse to fine.

        Each takes the tables, the largest numbers of moves, the requested entries (others may be infinite in the
        result) and the relative error of table entries. Where few voters move, the first three are enough.
        """
        return (self.loose, self.envelope, self.closer, *((self.averaged,) if self.many else ()))

    def all_move(self, sides: Sides, up: Integers, down: Integers) -> Sides:
        """E V(z + Bin(up)), E V'(z - Bin(down)) and their difference.

        Parameters
        ----------
        sides : Sides, shape (rows, columns)
            With no voter moved.
        up, down : ndarray of int, shape (columns,) or (rows, columns)
            How many voters are at (Delta,0) and (1,1-Delta), for each column z; up <= columns - 1 - z, down <= z.
        """
        V, V_, difference = sides
        above, below = self._above(V, up), self._above(V_[:, ::-1], down[..., ::-1])[:, ::-1]
        stay, stayed = self._chances[0], self.moved[:, 0]
        changed = difference + (stayed.take(up) * V + above) - (stayed.take(down) * V_ + below)
        above += stay.take(up) * V
        below += stay.take(down) * V_
        return Sides(above, below, changed)

    def _above(self, table: Array, movers: Integers) -> Array:
        """Sum over s >= 1 of Pr[Bin(movers) = s] table(z + s), table 0 outside."""
        columns = table.shape[1]
        steps = min(self.terms, columns) - 1
        if not steps:
            return np.zeros_like(table)
        if steps > BAND_TERMS and movers.ndim == 1:
            s = np.arange(columns) - np.arange(columns)[:, None]
            band = np.where((s >= 1) & (s <= steps), self.pmf[movers[:, None], np.clip(s, 0, steps)], 0.0)
            return np.asarray(table @ band.T)
        sums = np.zeros_like(table)
        if steps > BAND_TERMS:
            chances = self.pmf[:, 1 : steps + 1]
            ahead = sliding_window_view(np.pad(table[:, 1:], ((0, 0), (0, steps))), steps, axis=1)
            for own, window, total in zip(movers, ahead, sums, strict=True):
                np.einsum("zs,zs->z", window, chances[own], out=total)
            return sums
        for start in range(0, len(table), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            own = movers[part] if movers.ndim == 2 else movers
            check_time()
            for moves in range(1, steps + 1):
                chance = self._chances[moves].take(own[..., : columns - moves]) * table[part, moves:]
                sums[part, : columns - moves] += chance
        return sums

    def loose(self, sides: Sides, reach: Reach, wanted: Mask | None, relative: float) -> Sides:
        """Bound 1: if any voter moves, the tables are replaced by their best entries."""
        V, V_, difference = sides
        any_move = np.minimum(1.0, -self.moved[reach.together, 0] * (1 + 1e-9) + 1e-300)
        followed = np.maximum(0.0, any_move - self.beyond)
        high, low = extreme(V, self.terms - 1, np.maximum), extreme(V_, self.terms - 1, np.minimum)
        return Sides(
            (1 - any_move) * V + any_move * high,
            (1 - any_move) * V_ + followed * low,
            difference + any_move * (high - V) + any_move * (V_ - low),
        )

    def envelope(self, sides: Sides, reach: Reach, wanted: Mask, relative: float) -> Sides:
        """Bound 2: rising tables above V and below V'; for those, moving all voters is the worst."""
        V, V_, difference = sides
        higher = np.maximum.accumulate(V, axis=1)
        lower = np.minimum.accumulate(V_[:, ::-1], axis=1)[:, ::-1]
        spread = (higher - V) + (V_ - lower) + 4 * relative * (higher + V_)
        return self.all_move(Sides(higher, lower, difference + spread), reach.up, reach.down)

    def closer(self, sides: Sides, reach: Reach, wanted: Mask, relative: float) -> Sides:
        """Bound 3: s voters moved up gain at most the best of the next s table entries.

            E V(z + B - B') <= V(z) + E max over s <= B of (V(z+s) - V(z)) + E max over s <= B' of (V(z-s) - V(z))

        and likewise from below for V'. Exact where a table rises around z.
        """
        V = sides.p_side
        bounds = Sides(np.full_like(V, np.inf), np.zeros_like(V), np.full_like(V, np.inf))
        rows, columns = np.nonzero(wanted)
        for start in range(0, rows.size, ENTRIES_AT_ONCE):
            check_time()
            part = rows[start : start + ENTRIES_AT_ONCE], columns[start : start + ENTRIES_AT_ONCE]
            for whole, values in zip(bounds, self.closer_at(sides, *part, reach, relative), strict=True):
                whole[part] = values
        return bounds

    def closer_at(self, sides: Sides, rows: Integers, at: Integers, reach: Reach, relative: float) -> Sides:
        """Bound 3 at the given entries."""
        V, V_, difference = sides
        steps = np.arange(self.terms)
        ahead = np.minimum(at[:, None] + steps, V.shape[1] - 1)
        back = np.maximum(at[:, None] - steps, 0)
        here, there, row = V[rows, at], V_[rows, at], rows[:, None]
        most, least, far = here.copy(), there * (1 - 2 * self.beyond), difference[rows, at]
        up, down = (np.broadcast_to(part, V.shape)[rows, at] for part in (reach.up, reach.down))
        for window, movers in ((ahead, up), (back, down)):
            chance = self.pmf[movers]
            high = np.maximum.accumulate(V[row, window], axis=1)
            low = np.minimum.accumulate(V_[row, window], axis=1)
            gain = np.einsum("es,es->e", chance, high - here[:, None])
            loss = np.einsum("es,es->e", chance, there[:, None] - low)
            # Differences of entries that are each right to ``relative``: four times that of the larger one covers them.
            slack_up = 4 * relative * np.einsum("es,es->e", chance[:, 1:], high[:, 1:])
            slack_down = 4 * relative * chance[:, 1:].sum(axis=1) * there
            most += gain + slack_up
            least -= loss + slack_down
            far = far + (gain + slack_up) + (loss + slack_down)
        return Sides(most, np.maximum(least, 0.0), far)

    def averaged(self, sides: Sides, reach: Reach, wanted: Mask, relative: float) -> Sides:
        """Bound 4: V after i moves up, then at best any entry to the left, for the best i.

            E V(z + B_i - B'_j) <= max over i of  max over c <= z of  E V(c + B_i)

        and likewise from below for V'.
        """
        V, V_, difference = sides
        high, low = self._best_of_both(self._reached, V, V_, int(reach.together))
        slack = 4 * relative * (high + V_)
        return Sides(high, low, difference + (high - V) + (V_ - low) + slack)

    @staticmethod
    def _best_of_both(best: Callable[[Array, int], Array], V: Array, V_: Array, most: int) -> tuple[Array, Array]:
        """``best`` of V for moves up, and the least of V' for moves down, which is ``best`` of -V' read backwards."""
        found = best(np.concatenate([V, -V_[:, ::-1]]), most)
        return found[: len(V)], -found[len(V) :, ::-1]

    def _reached(self, table: Array, most: int) -> Array:
        """Over i <= min(most, columns - 1 - z): the largest E table(c + Bin(i)) for c <= z."""
        reached = np.maximum.accumulate(table, axis=1)
        for averages in self._averages(table, most):
            part = reached[:, : averages.shape[1]]
            np.maximum(part, np.maximum.accumulate(averages, axis=1), out=part)
        return reached

    def one_side_each(self, sides: Sides, most: int) -> tuple[Sides, Integers, Integers]:
        """The worst case with i voters at (Delta,0) and l at (1,1-Delta), each side separately, with i and l."""
        V, V_, _ = sides
        moves = np.zeros((2 * len(V), V.shape[1]), dtype=np.int64)
        p_side, q_side = self._best_of_both(lambda table, most: self._best(table, most, moves), V, V_, most)
        return Sides(p_side, q_side, p_side - q_side), moves[: len(V)], moves[len(V) :, ::-1]

    def _best(self, table: Array, most: int, moves: Integers) -> Array:
        """Over i <= min(most, columns - 1 - z): the largest E table(z + Bin(i)); its i into ``moves``."""
        best = table.copy()
        for i, averages in enumerate(self._averages(table, most), 1):
            part = np.s_[:, : averages.shape[1]]
            won = averages > best[part]
            np.copyto(best[part], averages, where=won)
            np.copyto(moves[part], i, where=won)
        return best

    def _averages(self, table: Array, most: int) -> Iterator[Array]:
        """E table(c + Bin(i)) for i = 1, ..., ``most``, one column fewer each time."""
        for _ in range(min(most, table.shape[1] - 1)):
            moved = self._Delta * table[:, 1:]
            table = (1 - self._Delta) * table[:, :-1]
            table += moved
            yield table

    def grid(self, table: Array, z: int, ups: int, downs: int) -> tuple[Array, Array]:
        """E table(z + Bin(i) - Bin(j)) for i < ups, j < downs, and that minus table(z), without cancellation."""
        s, r = min(self.terms, ups), min(self.terms, downs)
        around = table[z + np.arange(s)[:, None] - np.arange(r)]
        down = self.pmf[:downs, :r].T
        value = self.pmf[:ups, :s] @ around @ down
        change = self.moved[:ups, :s] @ around @ down + around[0] @ self.moved[:downs, :r].T
        return value, change


def extreme(table: Array, reach: int, pick: np.ufunc) -> Array:
    """The largest (or least) table(z + s) over abs(s) <= reach, for each z."""
    ends = table[:, :1], table[:, -1:]
    windows = np.concatenate([*(ends[:1] * reach), table, *(ends[1:] * reach)], axis=1)
    width = 1
    while width <= 2 * reach:
        step = min(width, 2 * reach + 1 - width)
        windows = pick(windows[:, :-step], windows[:, step:])
        width += step
    return np.asarray(windows)

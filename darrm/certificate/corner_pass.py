"""The complete pass over the multisets of corners, level by level: tables, bounds, and a search where those leave any.

What is proved about each step is in docs/theory.md, "The certificate".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from darrm.certificate.moves import Integers, Moves, Reach
from darrm.certificate.protocol import WorstCase, largest
from darrm.certificate.rounding import Scale
from darrm.certificate.smoothing import Sides, SmoothLevel, levels
from darrm.numerics.arrays import Array
from darrm.problem.corners import CornerCounts, Weights
from darrm.problem.majority import MajorityProblem

_TOGETHER = 64  # K, up to which the tables of all levels fit beside each other


class CornerPass:
    """The levels n = a + b of one noise function, a voters at (hi,lo) and b at (lo,hi).

    Parameters
    ----------
    problem : MajorityProblem
    gamma : ndarray, shape (K + 1,)
    weights : Weights
    moves : Moves
    """

    def __init__(self, problem: MajorityProblem, gamma: Array, weights: Weights, moves: Moves) -> None:
        self._problem, self._gamma, self._weights, self._moves = problem, gamma, weights, moves

    def scan(
        self,
        forms: Scale,
        settled: float,
        most_n: int | None = None,
        most_b: int | None = None,
        *,
        every: bool = False,
    ) -> Iterator[WorstCase]:
        """The worst multiset of each level beyond the edge, bounds up to ``settled`` not looked into.

        With ``every`` these are proposals and no bounds: the worst of each table above ``settled``, where it is quickly
        found.
        """
        problem = self._problem
        if problem.K <= _TOGETHER and not self._moves.many:
            yield from self._together(forms, settled, most_n, most_b)
            return
        for level in levels(self._gamma, self._weights, problem.max_affected if most_n is None else most_n, most_b):
            if problem.Delta:
                yield from self._with_moves(level, forms, settled, every)
            elif level.n and level.b.size > 1:
                sides = level.sides.at(np.s_[1:])
                excess = forms.excess(sides, settled)
                row, z = np.unravel_index(int(np.argmax(excess)), excess.shape)
                if excess[row, z] <= settled:
                    yield _unsearched(float(excess[row, z]), forms)
                else:
                    counts = counts_at(problem, level.n, int(level.b[row + 1]), int(z))
                    yield worst_case(forms, counts, excess[row, z], sides.at((row, z)))
            if level.rises.all() and (not problem.Delta or problem.max_affected == problem.K):
                break  # what is left is dominated by the edge

    def _together(self, forms: Scale, settled: float, most_n: int | None, most_b: int | None) -> Iterator[WorstCase]:
        """`scan` of few voters: the tables of all levels at once, each bound on all that those before leave open."""
        K, t, moves = self._problem.K, self._problem.max_affected, self._moves
        found, tables = [], []
        for level in levels(self._gamma, self._weights, t if most_n is None else most_n, most_b):
            found.append(level)
            # Columns that a level does not have repeat its last: they move no maximum, and are not looked at.
            tables.append(np.array(level.sides)[..., np.minimum(np.arange(K + 1), K - level.n)])
            if level.rises.all() and (not self._problem.Delta or t == K):
                break
        sides = Sides(*np.concatenate(tables, axis=1))
        b, rises = np.concatenate([level.b for level in found]), np.concatenate([level.rises for level in found])
        first = np.cumsum([0, *(level.b.size for level in found)])  # row of each level
        n = np.repeat([level.n for level in found], np.diff(first))[:, None]
        z = np.arange(K + 1)
        together = np.minimum(K, t) - n
        reach = Reach(np.clip(K - n - z, 0, t - n), np.minimum(z, t - n), together)
        bounds = np.full(sides.p_side.shape, -np.inf)

        def bound(rows: Integers, made: Callable[[Sides, Reach], Sides]) -> None:
            if rows.size:
                parts = Reach(reach.up[rows], reach.down[rows], together[rows])
                bounds[rows] = forms.excess(made(sides.at(rows), parts), settled)

        if not self._problem.Delta:
            bound(np.flatnonzero(b), lambda tables, reach: tables)
        else:
            # Rows that rise: see `_with_moves`.
            bound(
                np.flatnonzero(rises & ((b > 0) | (t < K))),
                lambda tables, reach: moves.all_move(tables, reach.up, reach.down),
            )
            bound(np.flatnonzero(~rises), lambda tables, reach: moves.loose(tables, reach, None, forms.relative))
        bounds[z > K - n] = -np.inf
        rows, columns = np.nonzero((bounds > settled) & ~rises[:, None])
        if rows.size and self._problem.Delta:
            closer = forms.excess(moves.closer_at(sides, rows, columns, reach, forms.relative), settled)
            bounds[rows, columns] = np.minimum(bounds[rows, columns], closer)
        for level, start, stop in zip(found, first[:-1].tolist(), first[1:].tolist(), strict=True):
            part = bounds[start:stop]
            searched = []
            for row, column in np.argwhere(part > settled).tolist():
                if self._problem.Delta:
                    searched.append(self._search(level, row, column, forms, t - level.n))
                    part[row, column] = searched[-1].bound
                else:
                    counts = counts_at(self._problem, level.n, int(level.b[row]), column)
                    searched.append(worst_case(forms, counts, part[row, column], level.sides.at((row, column))))
            if searched:
                yield largest(searched)
        yield _unsearched(float(bounds.max()), forms)

    def _with_moves(self, level: SmoothLevel, forms: Scale, settled: float, every: bool) -> Iterator[WorstCase]:
        """One level with Delta > 0: bounds for all entries, closer ones where those are not enough, then a search."""
        still, budget = self._problem.K - level.n, self._problem.max_affected - level.n
        z = np.arange(still + 1)
        reach = Reach(np.minimum(z[::-1], budget), np.minimum(z, budget), min(still, budget))
        bounds = np.full_like(level.sides.p_side, -np.inf)
        # Where tables rise the worst is to move all voters (Lemma 5 (ii)); if the budget forbids it, that is a bound.
        on_edge = bool(level.rises[0]) and budget >= still
        rising = np.flatnonzero(level.rises)[int(on_edge) :]
        if rising.size:
            moved = self._moves.all_move(level.sides.at(rising), reach.up, reach.down)
            bounds[rising] = forms.excess(moved, settled)
        unsettled = np.broadcast_to(~level.rises[:, None], bounds.shape).copy()
        bounds[unsettled] = np.inf
        rows = np.flatnonzero(~level.rises)
        for bound in self._moves.bounds:
            if rows.size:
                sides = bound(level.sides.at(rows), reach, unsettled[rows], forms.relative)
                bounds[rows] = np.minimum(bounds[rows], forms.excess(sides, settled))
                unsettled &= bounds > settled
                rows = np.flatnonzero(unsettled.any(axis=1))
        if every and rows.size and budget >= still and self._moves.many:
            for worst, row in self._one_side_each(level, rows, forms, settled, reach):
                yield worst
                unsettled[row] = False
        unsettled |= (bounds > settled) & level.rises[:, None]
        best: WorstCase | None = None
        for row, column in np.argwhere(unsettled):
            worst = self._search(level, int(row), int(column), forms, budget)
            bounds[row, column] = worst.bound
            if best is None or worst.bound > best.bound:
                best = worst
        highest = float(bounds.max())
        if best is None or (highest > best.bound and not every):
            best = _unsearched(highest, forms)
        yield best

    def _one_side_each(
        self, level: SmoothLevel, rows: Integers, forms: Scale, settled: float, reach: Reach
    ) -> Iterator[tuple[WorstCase, int]]:
        """Multisets above ``settled`` that move V up and V' down alone, and their rows: found without a search."""
        sides, i, l = self._moves.one_side_each(level.sides.at(rows), int(reach.together))
        excess = forms.excess(sides)
        for at, z in np.argwhere((excess > settled) & _peaks(excess)):
            counts = counts_at(self._problem, level.n, int(level.b[rows[at]]), int(z), i=int(i[at, z]), l=int(l[at, z]))
            yield worst_case(forms, counts, excess[at, z], sides.at((at, z))), rows[at]

    def _search(self, level: SmoothLevel, row: int, z: int, forms: Scale, budget: int) -> WorstCase:
        """Lemma 4: the worst multiset with given a, b, z, over all numbers of voters at the four corners of Delta.

            max over i, j of  P[i,j] - e^epsilon min over k, l of Q[k,l],  k <= N - z - i, l <= z - j,
            i + j + k + l <= budget

        P does not depend on k, l nor Q on i, j: only the conditions couple them. So the inner minimum is a running one
        over k and l; where the budget binds, one for each budget that is left.
        """
        N = self._problem.K - level.n
        if level.rises[row]:
            return self._search_rising(level, row, z, forms, budget)
        V, V_, difference = level.sides.at(row)
        ups, downs = min(N - z, budget) + 1, min(z, budget) + 1
        (P, P_change), (Q, Q_change) = (self._moves.grid(table, z, ups, downs) for table in (V, V_))
        i_plus_j = k_plus_l = np.add.outer(np.arange(ups), np.arange(downs))
        highest, best = -math.inf, (0, 0, 0, 0)
        binding = budget < N
        for left in range(budget + 1) if binding else (N,):
            i, j = np.nonzero(i_plus_j == budget - left) if binding else np.indices(P.shape).reshape(2, -1)
            if not i.size:
                continue
            allowed = k_plus_l <= left
            most_k, most_l = np.minimum(N - z - i, ups - 1), np.minimum(z - j, downs - 1)
            least_Q = _running_least(Q, allowed)[most_k, most_l]
            least_change = _running_least(Q_change, allowed)[most_k, most_l]  # on its own: the bound only rises
            excess = forms.excess(Sides(P[i, j], least_Q, difference[z] + P_change[i, j] - least_change))
            worst = int(np.argmax(excess))
            if excess[worst] > highest:
                highest = float(excess[worst])
                inner = np.where(allowed, Q, np.inf)[: most_k[worst] + 1, : most_l[worst] + 1]
                k, l = np.unravel_index(int(np.argmin(inner)), inner.shape)
                best = int(i[worst]), int(j[worst]), int(k), int(l)
        p_at, q_at = best[:2], best[2:]
        attained = Sides(P[p_at], Q[q_at], difference[z] + P_change[p_at] - Q_change[q_at])
        return worst_case(forms, counts_at(self._problem, level.n, int(level.b[row]), z, *best), highest, attained)

    def _search_rising(self, level: SmoothLevel, row: int, z: int, forms: Scale, budget: int) -> WorstCase:
        """Lemma 5 (ii) where the budget binds: only (D,0) and (1,1-D) matter, as many voters as the budget allows."""
        i = np.arange(min(self._problem.K - level.n - z, budget) + 1)
        l = np.minimum(z, budget - i)
        moves = self._moves
        V, V_, difference = level.sides.at(row)
        ahead, back = V[z : z + moves.terms], V_[max(0, z - moves.terms + 1) : z + 1][::-1]
        sides = Sides(
            moves.pmf[i, : ahead.size] @ ahead,
            moves.pmf[l, : back.size] @ back,
            difference[z] + moves.moved[i, : ahead.size] @ ahead - moves.moved[l, : back.size] @ back,
        )
        excess = forms.excess(sides)
        top = int(np.argmax(excess))
        counts = counts_at(self._problem, level.n, int(level.b[row]), z, i=int(i[top]), l=int(l[top]))
        return worst_case(forms, counts, excess[top], sides.at(top))


def counts_at(
    problem: MajorityProblem, n: int, b: int, z: int, i: int = 0, j: int = 0, k: int = 0, l: int = 0
) -> CornerCounts:
    """The multiset with n - b at (hi,lo), b at (lo,hi), z near 1, and i, j, k, l that move (Lemma 4)."""
    return CornerCounts(
        zeros=problem.K - n - z - i - k,
        ones=z - j - l,
        hi_lo=n - b,
        lo_hi=b,
        D_0=i,
        zero_D=k,
        near_one=j,
        one_near=l,
    )


def worst_case(forms: Scale, counts: CornerCounts, bound: float, sides: Sides) -> WorstCase:
    """The worst of some multisets: its bound on all of them, and what it attains."""
    p_side, q_side, difference = map(float, sides)
    by_ratio = 2 * forms.relative * p_side
    rounding = min(forms.absolute, by_ratio) if forms.kappa < 2 else by_ratio
    return WorstCase(min(float(bound), 1.0), rounding, counts, p_side, q_side, difference)


def _unsearched(bound: float, forms: Scale) -> WorstCase:
    """A bound on a level that says nothing of where its worst case is."""
    return WorstCase(min(bound, 1.0), forms.absolute, None, math.nan, math.nan, math.nan)


def _peaks(table: Array) -> NDArray[np.bool_]:
    """Entries at least as large as those beside them in their row."""
    padded = np.pad(table, ((0, 0), (1, 1)), constant_values=-np.inf)
    return np.asarray((table >= padded[:, :-2]) & (table >= padded[:, 2:]))


def _running_least(table: Array, allowed: NDArray[np.bool_]) -> Array:
    """The least allowed entry up to each row and column."""
    return np.minimum.accumulate(np.minimum.accumulate(np.where(allowed, table, np.inf), axis=0), axis=1)

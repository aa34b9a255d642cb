"""The complete pass over all multisets of corners, level by level: tables, bounds, and a search where needed.

The proofs of all steps are in docs/theory.md, "The certificate". "Excess" is the hockey-stick divergence of a case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.certificate.moves import Integers, Mask, Moves, Reach, extreme
from darrm.certificate.protocol import WorstCase, largest
from darrm.certificate.rounding import Scale
from darrm.certificate.smoothing import Sides, SmoothLevel, levels
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time
from darrm.problem.corners import CornerCounts, Weights
from darrm.problem.majority import MajorityProblem

SPACING = 8  # values of b, of which one is computed where bounds cover the others
SPACED_FROM = 300  # least number of affected voters for which that is tried
_TOGETHER = 64  # largest K for which the tables of all levels are held at once
_SEARCHED = 4  # number of entries of a level that are searched for proposals
_SMALL = 1 << 13  # least number of table entries for which columns are left out


class _Part(NamedTuple):
    """The columns of a level that are computed, and a bound on the others.

    Attributes
    ----------
    z : ndarray of int, shape (columns,)
        The requested columns and those that moves reach from them.
    inside : slice
        The requested ones among them.
    rows : ndarray of int
        The rows of the level; in `sides` the bounds for rows in and beside gaps come after them.
    sides : Sides, each of shape (rows + gaps, columns)
    outside : float
        A bound on the excess in all other columns.
    """

    z: Integers
    inside: slice
    rows: Integers
    sides: Sides
    outside: float


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
        half = gamma[problem.K // 2 + 1 :]
        self._rises = bool((half[1:] >= half[:-1]).all())  # whether the table of no voters at (hi,lo) or (lo,hi) does

    def scan(
        self,
        forms: Scale,
        settled: float,
        most_n: int | None = None,
        most_b: int | None = None,
        *,
        proposals: bool = False,
    ) -> Iterator[WorstCase]:
        """The worst multiset of each level beyond the edge; bounds up to ``settled`` are not refined.

        With ``proposals`` the results are not bounds: for each table the worst multiset above ``settled`` that is
        quickly found. Without, for large K, bounds cover most b at first; only the b that they leave open are computed.
        """
        if self._rises and self._edge_is_all:
            return  # all is dominated by the edge
        most_n = self._problem.max_affected if most_n is None else most_n
        if self._problem.Delta and self._problem.K <= _TOGETHER and not self._moves.many:
            yield from self._together(forms, settled, most_n, most_b)
            return
        spacing = SPACING if most_n >= SPACED_FROM and not (proposals or self._moves.many) else 1
        unsettled = np.full(most_n + 1, -1)  # the last level of each b
        for level in levels(self._gamma, self._weights, most_n, most_b, spacing=spacing):
            yield from self._level(level, forms, settled, proposals, unsettled)
            if level.settles and self._edge_is_all:
                break  # the rest is dominated by the edge
        last = int(unsettled.max())
        if last >= 0:
            for level in levels(self._gamma, self._weights, last, wanted=unsettled[: last + 1] >= 0):
                yield from self._level(level, forms, settled, proposals, unsettled)

    def _together(self, forms: Scale, settled: float, most_n: int, most_b: int | None) -> Iterator[WorstCase]:
        """`scan` for few voters: all levels at once; each bound is computed where the previous ones leave cases."""
        K, t, moves = self._problem.K, self._problem.max_affected, self._moves
        found, tables = [], []
        for level in levels(self._gamma, self._weights, most_n, most_b):
            # Columns that a level does not have repeat its last one; they change no maximum.
            tables.append(np.array(level.sides)[..., np.minimum(np.arange(K + 1), K - level.n)])
            found.append(level._replace(sides=Sides(*tables[-1])))
            if level.settles and self._edge_is_all:
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

        # Rows that rise: see `_with_moves`.
        bound(
            np.flatnonzero(rises & ((b > 0) | (t < K))),
            lambda tables, reach: moves.all_move(tables, reach.up, reach.down),
        )
        bound(np.flatnonzero(~rises), lambda tables, reach: moves.loose(tables, reach, None, forms.relative))
        bounds[z > K - n] = -np.inf
        rows, columns = np.nonzero((bounds > settled) & ~rises[:, None])
        if rows.size:
            closer = forms.excess(moves.closer_at(sides, rows, columns, reach, forms.relative), settled)
            bounds[rows, columns] = np.minimum(bounds[rows, columns], closer)
        for level, start, stop in zip(found, first[:-1].tolist(), first[1:].tolist(), strict=True):
            part = bounds[start:stop]
            searched = []
            for row, column in np.argwhere(part > settled).tolist():
                check_time()
                searched.append(self._search(level, row, column, forms, t - level.n))
                part[row, column] = searched[-1].bound
            if searched:
                yield largest(searched)
        yield _unsearched(float(bounds.max()), forms)

    @property
    def _edge_is_all(self) -> bool:
        """Whether the multisets of the edge are the worst of those without (lo,hi), where tables rise."""
        return not self._problem.Delta or self._problem.max_affected == self._problem.K

    def _level(
        self, level: SmoothLevel, forms: Scale, settled: float, proposals: bool, unsettled: Integers
    ) -> Iterator[WorstCase]:
        """The worst of one level. Gaps that bounds leave open are skipped and recorded."""
        if not self._problem.Delta and level.b.size == 1:
            return  # the edge
        part = self._doubtful(level, forms, settled)
        if not part.z.size:
            yield _unsearched(part.outside, forms)
        elif self._problem.Delta:
            yield from self._with_moves(level, part, forms, settled, proposals, unsettled)
        else:
            bounds = np.full(part.sides.q_side.shape, -np.inf)  # as the edge, which is known, has for good
            bounds[1:] = forms.excess(part.sides.at(slice(1, None)), settled)
            if level.gaps.size:
                open_entries = bounds > settled
                self._note(level, part, open_entries, unsettled)
                bounds[part.rows.size :][open_entries[part.rows.size :]] = -np.inf
            row, at = np.unravel_index(int(np.argmax(bounds)), bounds.shape)
            highest = max(part.outside, float(bounds[row, at]))
            if -math.inf < highest <= settled:
                yield _unsearched(highest, forms)
            elif highest > settled:
                counts = counts_at(self._problem, level.n, int(level.b[part.rows[row]]), int(part.z[at]))
                yield worst_case(forms, counts, bounds[row, at], part.sides.at((row, at)))

    def _doubtful(self, level: SmoothLevel, forms: Scale, settled: float) -> _Part:
        """The columns that bounds by the extreme entries of all rows leave open."""
        size = self._problem.K - level.n + 1
        if not level.gaps.size and (level.b.size * size < _SMALL or self._moves.many):
            return _Part(np.arange(size), slice(0, size), np.arange(level.b.size), level.sides, -math.inf)
        reach = self._moves.terms - 1
        high, low = level.extremes()
        high, low = extreme(high[None], reach, np.maximum), extreme(low[None], reach, np.minimum)
        low *= 1 - 2 * forms.beyond
        bounds = forms.excess(Sides(high, low, (high - low) + 4 * forms.relative * (high + low)))[0]
        doubtful = np.flatnonzero(bounds > settled)
        start, stop = (int(doubtful[0]), int(doubtful[-1]) + 1) if doubtful.size else (0, 0)
        outside = float(max(bounds[:start].max(initial=-np.inf), bounds[stop:].max(initial=-np.inf)))
        first, last = max(0, start - reach), min(size, stop + reach) if stop else 0
        rows = np.arange(level.b.size)[level.alone]
        sides = level.sides.at((level.alone, slice(first, last)))
        if level.gaps.size:
            bounds_of_gaps = level.stand_ins(slice(first, last), forms.relative)
            sides = Sides(*map(np.concatenate, zip(sides, bounds_of_gaps, strict=True)))
        return _Part(np.arange(first, last), slice(start - first, stop - first), rows, sides, outside)

    @staticmethod
    def _note(level: SmoothLevel, part: _Part, open_entries: Mask, unsettled: Integers) -> None:
        for gap in np.flatnonzero(open_entries[part.rows.size :].any(axis=1)).tolist():
            b = int(level.b[level.gaps[gap]])
            unsettled[b : b + SPACING + 1] = level.n

    def _with_moves(
        self, level: SmoothLevel, part: _Part, forms: Scale, settled: float, proposals: bool, gaps: Integers
    ) -> Iterator[WorstCase]:
        """The worst of one level with Delta > 0: bounds for all entries, closer bounds where needed, then a search."""
        still, budget = self._problem.K - level.n, self._problem.max_affected - level.n
        reach = Reach(np.minimum(still - part.z, budget), np.minimum(part.z, budget), min(still, budget))
        rises = np.zeros(len(part.sides.p_side), dtype=bool)
        rises[: part.rows.size] = level.rises[part.rows]
        bounds = np.full(part.sides.p_side.shape, -np.inf)
        # Where tables rise, moving all voters is the worst (Lemma 5 (ii)); if the budget forbids it, that is a bound.
        on_edge = bool(level.rises[0]) and budget >= still
        if proposals and self._moves.many and budget >= still:
            rows = np.arange(int(on_edge), rises.size)
            if rows.size:
                yield from self._one_side_each(level, rows, forms, settled, reach)
            return
        rising = np.flatnonzero(rises)[int(on_edge) :]
        if rising.size:
            moved = self._moves.all_move(part.sides.at(rising), reach.up, reach.down)
            bounds[rising, part.inside] = forms.excess(moved, settled)[:, part.inside]
        unsettled = np.zeros(bounds.shape, dtype=bool)
        unsettled[:, part.inside] = ~rises[:, None]
        bounds[unsettled] = np.inf
        rows = np.flatnonzero(~rises)
        for bound in self._moves.bounds:
            if rows.size:
                sides = bound(part.sides.at(rows), reach, unsettled[rows], forms.relative)
                bounds[rows] = np.minimum(bounds[rows], forms.excess(sides, settled))
                unsettled &= bounds > settled
                rows = np.flatnonzero(unsettled.any(axis=1))
        self._note(level, part, unsettled, gaps)
        bounds[part.rows.size :][unsettled[part.rows.size :]] = -np.inf
        unsettled[part.rows.size :] = False
        unsettled |= (bounds > settled) & rises[:, None]
        if proposals:
            unsettled &= _peaks(bounds)
            if np.count_nonzero(unsettled) > _SEARCHED:
                unsettled &= bounds >= np.partition(bounds[unsettled], -_SEARCHED)[-_SEARCHED]
        best: WorstCase | None = None
        for row, at in np.argwhere(unsettled):
            worst = self._search(level, int(part.rows[row]), int(part.z[at]), forms, budget)
            bounds[row, at] = worst.bound
            if best is None or worst.bound > best.bound:
                best = worst
        highest = max(part.outside, float(bounds.max()))
        if best is None or (highest > best.bound and not proposals):
            best = _unsearched(highest, forms)
        if best.bound > -math.inf:
            yield best

    def _one_side_each(
        self, level: SmoothLevel, rows: Integers, forms: Scale, settled: float, reach: Reach
    ) -> Iterator[WorstCase]:
        """Multisets above ``settled`` that only move V up and V' down, found without a search."""
        sides, i, l = self._moves.one_side_each(level.sides.at(rows), int(reach.together))
        excess = forms.excess(sides)
        for at, z in np.argwhere((excess > settled) & _peaks(excess)):
            counts = counts_at(self._problem, level.n, int(level.b[rows[at]]), int(z), i=int(i[at, z]), l=int(l[at, z]))
            yield worst_case(forms, counts, excess[at, z], sides.at((at, z)))

    def _search(self, level: SmoothLevel, row: int, z: int, forms: Scale, budget: int) -> WorstCase:
        """Lemma 4: the worst multiset with given a, b, z, over all numbers of voters at the four corners of Delta.

            max over i, j of  P[i,j] - e^epsilon min over k, l of Q[k,l],  k <= N - z - i, l <= z - j,
            i + j + k + l <= budget

        P does not depend on k, l nor Q on i, j: only the conditions couple them. So the inner minimum is a running one
        over k and l, read backwards. Where the budget binds it is one for each i + j: the best P with the least Q that
        the rest of the budget allows is a bound for all of these. Those whose bound is below the worst found so far are
        skipped.
        """
        N = self._problem.K - level.n
        if level.rises[row]:
            return self._search_rising(level, row, z, forms, budget)
        V, V_, difference = level.sides.at(row)
        ups, downs = min(N - z, budget) + 1, min(z, budget) + 1
        (P, P_change), (Q, Q_change) = (self._moves.grid(table, z, ups, downs) for table in (V, V_))
        if budget >= N:
            least_Q, least_change = _running_least(Q)[::-1, ::-1], _running_least(Q_change)[::-1, ::-1]
            highest, (i, j) = forms.largest(Sides(P, least_Q, difference[z] + P_change - least_change))
            p_at, q_at = (i, j), _least_at(Q[: N - z - i + 1, : z - j + 1])
        else:
            i_plus_j = k_plus_l = np.add.outer(np.arange(ups), np.arange(downs))
            most_P, most_change = (-_least_by_sum(-table, i_plus_j, budget) for table in (P, P_change))
            least_Q, least_change = (
                np.minimum.accumulate(_least_by_sum(table, k_plus_l, budget))[::-1] for table in (Q, Q_change)
            )
            bounds = forms.excess(Sides(most_P, least_Q, difference[z] + most_change - least_change))
            highest, p_at, q_at = -math.inf, (0, 0), (0, 0)
            for moved in np.argsort(-bounds, kind="stable").tolist():
                if bounds[moved] <= highest:
                    break
                taken, allowed = np.nonzero(i_plus_j == moved), k_plus_l <= budget - moved
                most = np.minimum(N - z - taken[0], ups - 1), np.minimum(z - taken[1], downs - 1)
                least_Q = _running_least(np.where(allowed, Q, np.inf))[most]
                least_change = _running_least(np.where(allowed, Q_change, np.inf))[most]
                excess = forms.excess(Sides(P[taken], least_Q, difference[z] + P_change[taken] - least_change))
                worst = int(np.argmax(excess))
                if excess[worst] > highest:
                    highest, p_at = float(excess[worst]), (int(taken[0][worst]), int(taken[1][worst]))
                    q_at = _least_at(np.where(allowed, Q, np.inf)[: most[0][worst] + 1, : most[1][worst] + 1])
        attained = Sides(P[p_at], Q[q_at], difference[z] + P_change[p_at] - Q_change[q_at])
        counts = counts_at(self._problem, level.n, int(level.b[row]), z, *p_at, *q_at)
        return worst_case(forms, counts, highest, attained)

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
    """The multiset with n - b voters at (hi,lo), b at (lo,hi), z near 1, and i, j, k, l that move (Lemma 4)."""
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
    """The worst case of the given multisets: the bound on all of them, and the probabilities of the worst one."""
    p_side, q_side, difference = map(float, sides)
    by_ratio = 2 * forms.relative * p_side
    rounding = min(forms.absolute, by_ratio) if forms.kappa < 2 else by_ratio
    return WorstCase(min(float(bound), 1.0), rounding, counts, p_side, q_side, difference)


def _unsearched(bound: float, forms: Scale) -> WorstCase:
    """A bound on a level without its worst case."""
    return WorstCase(min(bound, 1.0), forms.absolute, None, math.nan, math.nan, math.nan)


def _peaks(table: Array) -> NDArray[np.bool_]:
    """Entries at least as large as those beside them in their row."""
    padded = np.pad(table, ((0, 0), (1, 1)), constant_values=-np.inf)
    return np.asarray((table >= padded[:, :-2]) & (table >= padded[:, 2:]))


def _running_least(table: Array) -> Array:
    """The least entry up to each row and column."""
    return np.minimum.accumulate(np.minimum.accumulate(table, axis=0), axis=1)


def _least_by_sum(table: Array, sums: Integers, most: int) -> Array:
    """The least entry of each sum 0, ..., ``most``; infinite where there is none."""
    least = np.full(max(most, int(sums[-1, -1])) + 1, np.inf)
    np.minimum.at(least, sums, table)
    return least[: most + 1]


def _least_at(table: Array) -> tuple[int, int]:
    row, column = np.unravel_index(int(np.argmin(table)), table.shape)
    return int(row), int(column)

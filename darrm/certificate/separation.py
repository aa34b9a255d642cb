"""Separation: the worst case of one noise function over the complete corner set, with a true upper bound.

No bound here looks at a solver's answer, its tolerances or its rows: the table alone is taken through the smoothing
recurrences over every multiset of corners, with a bound on all rounding (derived in docs/theory.md). `broken` proposes
cases for cuts from the same tables, and bounds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.certificate.moves import Integers, Moves, Reach
from darrm.certificate.protocol import Facts, WorstCase, largest
from darrm.certificate.rounding import Scale, scale
from darrm.certificate.smoothing import Sides, SmoothLevel, levels
from darrm.errors import CertificateError, InputError
from darrm.numerics.arrays import Array
from darrm.problem.corners import CornerCounts, weights
from darrm.problem.limits import Limit
from darrm.problem.majority import MajorityProblem
from darrm.problem.noise_function import acceptance, noise_function

MAX_K = 3001
_SUBNORMAL = np.array([5e-324])
_NOTHING = Sides(*np.array([0.0, 1.0, -1.0]))  # costs less than any multiset
_FIRST_LO_HI = 4  # voters at (lo,hi) to look at as long as no cut is known to need more
_LARGE = 100  # K, from which on multisets with few at (lo,hi) are looked at before all


def check_arithmetic() -> None:
    """Refuse a process that flushes subnormal numbers to 0 (some libraries do): underflow would be uncounted.

    Raises
    ------
    CertificateError
    """
    if not np.all(_SUBNORMAL * 1.0 > 0):
        raise CertificateError(
            "This process flushes subnormal numbers to zero, so rounding cannot be bounded and nothing can be "
            "certified. Find the library that sets this mode (often one built with -ffast-math) and load it elsewhere."
        )


def check_size(problem: MajorityProblem) -> None:
    """Refuse a K whose tables would not fit in memory or end in reasonable time, and arithmetic that proves nothing.

    Raises
    ------
    InputError
    CertificateError
    """
    check_arithmetic()
    if problem.K > MAX_K:
        raise InputError(
            f"K must be at most {MAX_K} to be verified. Got {problem.K}: tables of K^2 numbers and K^3 steps would be "
            "needed. Lower K."
        )


class _Edge(NamedTuple):
    """For each n and z one multiset with b = 0: as many as may at (D,0), then as many as may at (1,1-D).

    Attributes
    ----------
    sides : Sides, shape (max_affected + 1, K + 1)
        Entries with z > K - n stand for nothing; they cost less than any that counts.
    up, down : ndarray of int, same shape
    """

    sides: Sides
    up: Integers
    down: Integers


class CornerSeparation:
    """Separation over the complete corner set for one noise function, by smoothing tables: a `Separation`.

        max over allowed (p, p') of   X(p) - e^epsilon X(p'),     X(p) = Pr[release 1 | p]

    All C(K+7,7) multisets are covered (C(K+3,3) if Delta = 0) without being listed. Tables that rise settle theirs with
    one candidate; bounds settle most others; the rest is searched exactly.

    Parameters
    ----------
    gamma : array_like, shape (K + 1,)
    limit : Limit
        Its epsilon is where `worst_cases` are asked for in the end; any other may be asked for.

    Raises
    ------
    InputError
        If gamma is not a noise function, or K is above 3001.

    Notes
    -----
    O(K^3) at most if Delta = 0, and O(K^2) if gamma is monotone; for Delta > 0 the same times the number of voters
    that may move with a probability that matters, and O(K^2) more for each entry that no bound settles. O(K^2) memory.
    """

    def __init__(self, gamma: ArrayLike, limit: Limit[MajorityProblem]) -> None:
        check_size(limit.problem)
        self._problem, self._delta = limit.problem, limit.delta
        self._gamma = noise_function(gamma, self._problem.K)
        self._weights = weights(self._problem.epsilon, self._problem.Delta)
        # Moves left out must not count beside the limit (e^epsilon - 1 + 2 delta) / 2, at any epsilon.
        self._moves = Moves(self._problem, 1e-17 * self._delta / 4)

    def worst_cases(self, epsilon: Decimal) -> list[WorstCase]:
        """One bound for each n = a + b, on all multisets of that n, with its worst multiset if it was searched for.

        Where bounds settled a level without a search, the multiset is that of `glimpse`. The first entry is the
        glimpse; levels that some other multiset dominates are left out.
        """
        attained = self.glimpse(epsilon)
        if self._fair:
            return [attained]
        forms = self._scale(epsilon)
        # A bound that was settled without a search says nothing of where the worst case is.
        return [attained] + [
            worst if worst.case else replace(attained, bound=worst.bound)
            for worst in self._scan(forms, self._settled(forms, attained.bound))
        ]

    def glimpse(self, epsilon: Decimal) -> WorstCase:
        """The worst of some multisets with none at (lo,hi): allowed ones, found in O(K^2), but no bound for all."""
        forms = self._scale(epsilon)
        if self._fair:
            return self._identical(forms)
        excess = forms.excess(self._edge.sides)
        n, z = np.unravel_index(int(np.argmax(excess)), excess.shape)
        return largest((self._identical(forms), self._on_edge(forms, int(n), int(z), float(excess[n, z]))))

    def broken(self, epsilon: Decimal, threshold: float, effort: int, near: Sequence[Any] = ()) -> list[WorstCase]:
        """Multisets whose excess is above ``threshold``, quickly found; there may be others.

        Effort 0 looks at the O(K^2) multisets without (lo,hi); 1 at levels and numbers at (lo,hi) up to those of
        ``near``; 2, from K = 100 on, at all levels, with up to twice as many at (lo,hi).
        """
        most_b = max((counts.lo_hi for counts in near), default=0)
        cases: list[WorstCase] = []
        if effort == 0:
            forms = self._scale(epsilon)
            excess = forms.excess(self._edge.sides)
            z = np.argmax(excess, axis=1)
            worst = excess[np.arange(z.size), z]
            cases = [self._on_edge(forms, int(n), int(z[n]), worst[n]) for n in np.flatnonzero(worst > threshold)]
        elif effort == 1 and near:
            most_n = max(counts.hi_lo + counts.lo_hi for counts in near)
            cases += self._scan(self._scale(epsilon), threshold, most_n, most_b, every=True)
        elif effort == 2 and self._problem.K >= _LARGE:
            cases += self._scan(self._scale(epsilon), threshold, most_b=max(_FIRST_LO_HI, 2 * most_b), every=True)
        return [case for case in cases if case.case and case.bound - case.rounding > threshold]

    def facts(self) -> Facts:
        highest = max(self._gamma[self._problem.K // 2 + 1 :].tolist())
        return Facts(answers=2, least=(1 - Fraction(highest)) / 2)

    @property
    def _fair(self) -> bool:
        """Whether every label is a fair coin: then p = p' stands for all pairs, and nothing is rounded."""
        return not self._gamma[self._problem.K // 2 + 1 :].any()

    @cached_property
    def _edge(self) -> _Edge:
        K, t, w = self._problem.K, self._problem.max_affected, self._weights
        edge = Sides(*(np.full((t + 1, K + 1), nothing) for nothing in _NOTHING))
        # X(p) and X(p') beside each other: one more voter at (hi,lo) does to one what (lo,hi) does to the other.
        both = np.array([acceptance(self._gamma)] * 2)
        W = np.zeros(K + 1)
        here, above = np.array([[w.lo], [w.hi]]), np.array([[w.hi], [w.lo]])
        for n in range(t + 1):
            if n:
                W = w.lo * W[:-1] + w.hi * W[1:] + w.gap * (both[1, 1:] - both[1, :-1])
                both = here * both[:, :-1] + above * both[:, 1:]
            end = K - n + 1
            edge.p_side[n, :end], edge.q_side[n, :end] = both
            edge.difference[n, :end] = W
        if not self._problem.Delta:
            for side, nothing in zip(edge, _NOTHING, strict=True):
                side[0] = nothing  # p = p' is looked at on its own
            none = np.broadcast_to(np.zeros((1, 1), dtype=np.int64), edge.p_side.shape)
            return _Edge(edge, none, none)
        taken, z = np.arange(t + 1)[:, None], np.arange(K + 1)
        up = np.minimum(np.maximum(K - taken - z, 0), t - taken)
        down = np.minimum(z, t - taken - up)
        moved = self._moves.all_move(edge, up, down)
        for side, nothing in zip(moved, _NOTHING, strict=True):
            side[taken + z > K] = nothing
        return _Edge(moved, up, down)

    def _on_edge(self, forms: Scale, n: int, z: int, bound: float) -> WorstCase:
        counts = self._counts(n, 0, z, i=int(self._edge.up[n, z]), l=int(self._edge.down[n, z]))
        return self._worst(forms, counts, bound, self._edge.sides.at((n, z)))

    def _scale(self, epsilon: Decimal) -> Scale:
        return scale(epsilon, self._problem, self._gamma, self._weights, self._moves)

    def _settled(self, forms: Scale, attained: float) -> float:
        """Up to where bounds are not looked into: a little above what is attained, but never across delta."""
        right_side = min(forms.kappa, 1e300) / 2 + self._delta
        settled = attained + (1e-13 * right_side if forms.kappa < 2 else 4 * forms.relative)
        return min(settled, self._delta) if attained <= self._delta else settled

    def _scan(
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
                    counts = self._counts(level.n, int(level.b[row + 1]), int(z))
                    yield self._worst(forms, counts, excess[row, z], sides.at((row, z)))
            if level.rises.all() and (not problem.Delta or problem.max_affected == problem.K):
                break  # what is left is dominated by the edge

    def _identical(self, forms: Scale) -> WorstCase:
        """p = p': the excess is -(e^epsilon - 1) X exactly, which is 0, not nearly 0, where X is."""
        X = acceptance(self._gamma)
        z = int(np.argmin(X))
        bound = -forms.kappa * (1 - forms.relative) * X[z] if X[z] else 0.0
        return self._worst(forms, self._counts(0, 0, z), bound, Sides(X[z], X[z], 0.0))  # type: ignore[arg-type]

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
        sides, i, l = self._moves.one_side_each(level.sides.at(rows), reach.together)
        excess = forms.excess(sides)
        for at, z in np.argwhere((excess > settled) & _peaks(excess)):
            counts = self._counts(level.n, int(level.b[rows[at]]), int(z), i=int(i[at, z]), l=int(l[at, z]))
            yield self._worst(forms, counts, excess[at, z], sides.at((at, z))), rows[at]

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
        return self._worst(forms, self._counts(level.n, int(level.b[row]), z, *best), highest, attained)

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
        counts = self._counts(level.n, int(level.b[row]), z, i=int(i[top]), l=int(l[top]))
        return self._worst(forms, counts, excess[top], sides.at(top))

    def _counts(self, n: int, b: int, z: int, i: int = 0, j: int = 0, k: int = 0, l: int = 0) -> CornerCounts:
        """The multiset with n - b at (hi,lo), b at (lo,hi), z near 1, and i, j, k, l that move (Lemma 4)."""
        return CornerCounts(
            zeros=self._problem.K - n - z - i - k,
            ones=z - j - l,
            hi_lo=n - b,
            lo_hi=b,
            D_0=i,
            zero_D=k,
            near_one=j,
            one_near=l,
        )

    def _worst(self, forms: Scale, counts: CornerCounts, bound: float, sides: Sides) -> WorstCase:
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

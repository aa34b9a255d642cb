"""Separation: the worst case of one noise function over the complete corner set, with a true upper bound.

Nothing here looks at a solver's answer, its tolerances or its rows: the table alone is taken through the smoothing
recurrences over every multiset of corners, with a bound on all rounding (derived in docs/theory.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from darrm.design.smoothing import Array, SmoothLevel, binomials, decimals, levels, noise_function, weights
from darrm.errors import InputError
from darrm.problem import MajorityProblem

_U = 2.0**-53
_CHUNK = 1 << 14
MAX_K = 3001
_TINY = 1e-318  # more than underflow can add up to: 2^-1074 for each of some thousand operations


@dataclass(frozen=True)
class Worst:
    """The worst multiset at one epsilon.

    Attributes
    ----------
    bound : float
        Upper bound on max X(p) - e^epsilon X(p'), which ``counts`` attains but for ``rounding``.
    rounding : float
    counts : tuple of 8 int, in the order (0,0) (1,1) (hi,lo) (lo,hi) (D,0) (0,D) (1-D,1) (1,1-D)
    first, second, difference : float
        X(p), X(p') and X(p) - X(p') there.
    """

    bound: float
    rounding: float
    counts: tuple[int, ...]
    first: float
    second: float
    difference: float


@dataclass(frozen=True)
class _Scale:
    """One epsilon, in both forms of the excess X(p) - e^epsilon X(p'), each with its rounding bound.

    relative:    e^-epsilon X(p) - X(p'), all terms nonnegative, each within 1 +- ``relative``: for any epsilon, and
                 where X is small;
    difference:  (X(p) - X(p')) - (e^epsilon - 1) X(p') within ``absolute``: where epsilon is small.

    Both are proved upper bounds for every multiset, so the smaller one is; docs/theory.md, section "Rounding".
    """

    shrink: float  # e^-epsilon
    kappa: float  # e^epsilon - 1
    relative: float
    absolute: float
    underflow: float
    terms: int  # how many voters at corners of Delta are followed
    beyond: float  # the probability that more of them move

    def excess(self, first: Array, second: Array, apart: Array) -> Array:
        """Upper bounds on the excess.

        Parameters
        ----------
        first, second : ndarray
            Computed X(p) and X(p'), each a sum of nonnegative terms.
        apart : ndarray
            Computed X(p) - X(p'), not by subtracting those.
        """
        up, down = math.nextafter(self.shrink, 1), math.nextafter(self.shrink, 0)
        score = up * (1 + self.relative) * first - (1 - self.relative) * second + (self.underflow + 2 * self.beyond)
        # Multiplied by e^epsilon on the side that keeps an upper bound. 0 stays 0: there both sides are equal to the
        # last bit, as X = 0 on both for a table with gamma(K) = 1.
        with np.errstate(divide="ignore", over="ignore"):
            by_ratio = np.nextafter(np.nextafter(score, np.inf) / np.where(score > 0, down, up), np.inf)
        bound = np.where(score == 0, 0.0, by_ratio)
        if self.kappa < 2:
            lost = self.absolute + (2 + self.kappa) * self.beyond
            bound = np.minimum(bound, np.nextafter(apart - self.kappa * second + lost, np.inf))
        return np.where(np.isnan(bound), np.inf, bound)  # nothing makes one; if something did, it must not pass


def check_size(problem: MajorityProblem) -> None:
    """Refuse a K whose tables would not fit in memory or end in reasonable time; `InputError`."""
    if problem.K > MAX_K:
        raise InputError(
            f"K must be at most {MAX_K} to be verified. Got {problem.K}: tables of K^2 numbers and K^3 steps would be "
            "needed. Lower K."
        )


class _Entry(NamedTuple):
    """A multiset by its table row (b), its column z, and its numbers at (D,0), (1-D,1), (0,D), (1,1-D)."""

    row: int
    z: int
    i: int
    j: int
    k: int
    l: int


class WorstCase:
    """Separation over the complete corner set for one noise function, by smoothing tables.

        max over allowed (p, p') of   X(p) - e^epsilon X(p'),     X(p) = Pr[release 1 | p]

    All C(K+7,7) multisets are covered (C(K+3,3) if Delta = 0) without being listed. Tables that rise settle theirs with
    one candidate; a cheap bound settles most others; the rest is searched exactly.

    Parameters
    ----------
    gamma : array_like, shape (K + 1,)
    problem : MajorityProblem

    Raises
    ------
    InputError
        If gamma is not a noise function, or K is above 3001.

    Notes
    -----
    O(K^3) at most if Delta = 0, and O(K^2) if gamma is U-shaped; for Delta > 0 the same times the number of voters
    that may move with a probability that matters, and O(K^2) more for each entry that no bound settles. O(K^2) memory.
    """

    def __init__(self, gamma: ArrayLike, problem: MajorityProblem) -> None:
        check_size(problem)
        self._problem = problem
        self._gamma = noise_function(gamma, problem.K)
        self._weights = weights(problem)
        self._pmf, self._moved, self._beyond = binomials(problem.changed if problem.Delta else 0, problem.Delta)

    def at(self, epsilon: Decimal) -> Worst:
        """The worst multiset at ``epsilon`` >= 0 (nats), with a true upper bound on its excess."""
        # What the tables without (lo,hi) attain comes first: bounds below it need no closer look.
        attained = self.without_lo_hi(epsilon)
        worst = max(self._scan(epsilon, attained.bound), key=_bound)
        # A bound that was settled without a search says nothing of where the worst case is.
        return worst if worst.counts else replace(attained, bound=worst.bound)

    def without_lo_hi(self, epsilon: Decimal) -> Worst:
        """The worst of some multisets with none at (lo,hi): allowed ones, found in O(K^2), but no bound for all."""
        return max(self._scan(epsilon, -math.inf, only_b_0=True), key=_bound)

    def by_level(self, epsilon: Decimal, ignore: float) -> Iterator[Worst]:
        """The worst multiset of each level n = a + b whose excess is above ``ignore``."""
        return (worst for worst in self._scan(epsilon, ignore) if worst.counts and worst.bound > ignore)

    def _scale(self, epsilon: Decimal) -> _Scale:
        Delta, steps, gap = self._problem.Delta, self._problem.changed, self._weights.gap
        with decimals(epsilon):
            shrink, kappa = float((-epsilon).exp()), float(epsilon.exp() - 1)
        # What is left out must not count beside the limit (e^epsilon - 1 + 2 delta) / 2; all is followed if it would.
        negligible = 1e-17 * (kappa / 2 + self._problem.delta) / (2 + kappa) if kappa < math.inf else 0.0
        terms = int(np.argmax(2 * self._beyond <= negligible)) + 1
        beyond = 2 * float(self._beyond[terms - 1])
        relative = 1.01 * _U * (7 * steps + 4 * terms + 40)
        square = steps * (steps + 1)
        moves = 2 * min(2.0, steps * Delta) * (7 * steps + 4 * terms + 60)
        tables = (6 * square + 4 * steps) * gap + (2 + kappa) * moves
        absolute = 1.01 * _U * tables + relative * kappa + _TINY
        return _Scale(shrink, kappa, relative, absolute, self._underflow(shrink), terms, beyond)

    def _underflow(self, shrink: float) -> float:
        """What underflow can have taken from a product e^-epsilon X(p); 0 if there was none."""
        moves = [self._weights.hi, self._weights.lo]
        if self._problem.Delta > 0:
            moves += [self._problem.Delta, 1 - self._problem.Delta]
        starts = np.concatenate([1 + self._gamma, 1 - self._gamma, np.abs(np.diff(self._gamma)), self._gamma])
        factors = [shrink, float(np.min(starts[starts > 0])) / 2]
        if min(*moves, *factors) <= 0:
            return _TINY
        smallest = sum(map(math.log, factors)) + self._problem.changed * math.log(min(moves))
        return 0.0 if smallest > -650 else _TINY

    def _scan(self, epsilon: Decimal, ignore: float, *, only_b_0: bool = False) -> Iterator[Worst]:
        """The worst multiset of each level, bounds up to ``ignore`` not looked into."""
        scale = self._scale(epsilon)
        limit = min(scale.kappa, 1e300) / 2 + self._problem.delta
        settled = ignore + 1e-13 * limit if scale.kappa < 2 else ignore + 4 * scale.relative
        for level in levels(self._gamma, self._weights, self._problem.changed, only_b_0=only_b_0):
            if level.n == 0:
                yield self._identical(level, scale)
            if not self._problem.Delta:
                if level.n:
                    excess = scale.excess(level.first, level.second, level.difference)
                    row, z = np.unravel_index(int(np.argmax(excess)), excess.shape)
                    entry = _Entry(int(row), int(z), 0, 0, 0, 0)
                    first, second = level.first[row, z], level.second[row, z]
                    yield self._worst(scale, level, entry, excess[row, z], first, second, level.difference[row, z])
                continue
            yield from self._with_moves(level, scale, settled, only_b_0)

    def _identical(self, level: SmoothLevel, scale: _Scale) -> Worst:
        """p = p': the excess is -(e^epsilon - 1) X exactly, which is 0, not nearly 0, where X is."""
        z = int(np.argmin(level.first[0]))
        X = float(level.first[0, z])
        bound = -scale.kappa * (1 - scale.relative) * X if X else 0.0
        return self._worst(scale, level, _Entry(0, z, 0, 0, 0, 0), bound, X, X, 0.0)

    def _with_moves(self, level: SmoothLevel, scale: _Scale, settled: float, attained_only: bool) -> Iterator[Worst]:
        """One level with Delta > 0: bounds for all entries, closer ones where those are not enough, then a search."""
        still = self._problem.K - level.n
        budget = self._problem.changed - level.n
        z = np.arange(still + 1)
        up, down = np.minimum(z[::-1], budget), np.minimum(z, budget)
        if attained_only:
            yield self._candidate(level, scale, up, np.minimum(z, budget - up))
            return
        bounds = np.empty_like(level.first)
        rising, other = np.flatnonzero(level.rises), np.flatnonzero(~level.rises)
        best: Worst | None = None
        if rising.size:
            # Where tables rise the worst is to move all voters, if the budget allows, and a bound if it does not.
            bounds[rising] = scale.excess(*self._all_move(level, rising, scale, up, down))
            if budget >= still and rising[0] == 0:
                best = self._candidate(level, scale, up, down)
        if other.size:
            any_move = min(1.0, -float(self._moved[min(still, budget), 0]) * (1 + 1e-9) + 1e-300)
            bounds[other] = self._loose(level, other, scale, any_move)
        open_ = bounds > settled
        if budget >= still and best is not None:
            open_[0] = False
        rows, at = np.nonzero(open_)
        for start in range(0, rows.size, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            bounds[rows[chunk], at[chunk]] = self._closer(level, rows[chunk], at[chunk], scale, up, down)
        open_ &= bounds > settled
        for row, column in np.argwhere(open_):
            found = self._search(level, int(row), int(column), scale, budget)
            bounds[row, column] = found.bound
            if best is None or found.bound > best.bound:
                best = found
        worst = min(float(bounds.max()), 1.0)
        if best is None or worst > best.bound:
            best = Worst(worst, scale.absolute, (), math.nan, math.nan, math.nan)  # settled without a search
        yield best

    def _all_move(
        self, level: SmoothLevel, rows: NDArray[np.int64], scale: _Scale, up: NDArray[np.int64], down: NDArray[np.int64]
    ) -> tuple[Array, Array, Array]:
        """X(p), X(p') and their difference with ``up`` voters at (D,0) and ``down`` at (1,1-D), for each z."""
        pmf, moved = self._pmf[:, : scale.terms], self._moved[:, : scale.terms]
        V, M = _windows(level.first[rows], scale.terms, 1), _windows(level.second[rows], scale.terms, -1)
        gain, loss = np.einsum("bzs,zs->bz", V, moved[up]), np.einsum("bzs,zs->bz", M, moved[down])
        first, second = np.einsum("bzs,zs->bz", V, pmf[up]), np.einsum("bzs,zs->bz", M, pmf[down])
        return first, second, level.difference[rows] + gain - loss

    def _candidate(self, level: SmoothLevel, scale: _Scale, up: NDArray[np.int64], down: NDArray[np.int64]) -> Worst:
        """The worst multiset of the first row (b = 0) with those voters moved."""
        first, second, apart = self._all_move(level, np.zeros(1, dtype=np.int64), scale, up, down)
        excess = scale.excess(first, second, apart)[0]
        z = int(np.argmax(excess))
        entry = _Entry(0, z, int(up[z]), 0, 0, int(down[z]))
        return self._worst(scale, level, entry, excess[z], first[0, z], second[0, z], apart[0, z])

    def _loose(self, level: SmoothLevel, rows: NDArray[np.int64], scale: _Scale, any_move: float) -> Array:
        """Bounds that hold wherever voters move: with probability ``any_move`` they move to the best table entry."""
        V, M = level.first[rows], level.second[rows]
        reach = scale.terms - 1
        high, low = _extreme(V, reach, np.maximum), _extreme(M, reach, np.minimum)
        first = (1 - any_move) * V + any_move * high
        second = (1 - any_move) * M + any_move * low
        apart = level.difference[rows] + any_move * (high - V) + any_move * (M - low)
        return scale.excess(first, second, apart)

    def _closer(
        self,
        level: SmoothLevel,
        rows: NDArray[np.int64],
        at: NDArray[np.int64],
        scale: _Scale,
        up: NDArray[np.int64],
        down: NDArray[np.int64],
    ) -> Array:
        """Closer bounds for some entries: s voters moved up gain at most the best of the next s table entries.

            E V(z + B - B') <= V(z) + E max over s <= B of (V(z+s) - V(z))+ + E max over s <= B' of (V(z-s) - V(z))+

        and likewise from below for the side of p'. Exact where a table rises around z.
        """
        terms = scale.terms
        steps = np.arange(terms)
        columns = level.first.shape[1] - 1
        ahead, back = np.minimum(at[:, None] + steps, columns), np.maximum(at[:, None] - steps, 0)
        V, M, row = level.first[rows, at], level.second[rows, at], rows[:, None]
        first, second = V.copy(), M.copy()
        apart = level.difference[rows, at]
        for there, movers in ((ahead, up[at]), (back, down[at])):
            chance = self._pmf[movers, :terms]
            high = np.maximum.accumulate(level.first[row, there], axis=1)
            low = np.minimum.accumulate(level.second[row, there], axis=1)
            gain = np.einsum("es,es->e", chance, high - V[:, None])
            loss = np.einsum("es,es->e", chance, M[:, None] - low)
            # Differences of entries that are each right to ``relative``: four times that of the larger one covers them.
            moving = np.einsum("es,es->e", chance[:, 1:], high[:, 1:])
            first += gain + 4 * scale.relative * moving
            second -= loss + 4 * scale.relative * chance[:, 1:].sum(axis=1) * M
            apart = apart + gain + loss
        return scale.excess(first, np.maximum(second, 0.0), apart)

    def _search(self, level: SmoothLevel, row: int, z: int, scale: _Scale, budget: int) -> Worst:
        """The worst multiset with given a, b, z: all numbers of voters at the four corners of Delta.

            max over i, j of  P[i,j] - e^epsilon min over k, l of Q[k,l],  k <= N - z - i, l <= z - j,
            i + j + k + l <= budget

        The inner minimum is a running one over k and l; where the budget binds, one for each budget that is left.
        """
        still = self._problem.K - level.n
        if level.rises[row]:
            return self._search_rising(level, row, z, scale, budget)
        ups, downs = min(still - z, budget) + 1, min(z, budget) + 1
        (P, C), (Q, G) = (self._moves(table[row], z, ups, downs, scale.terms) for table in (level.first, level.second))
        i, j = np.ogrid[:ups, :downs]
        best = -math.inf
        entry = _Entry(row, z, 0, 0, 0, 0)
        binding = budget < still
        for left in range(budget + 1) if binding else (still,):
            chosen = (i + j == budget - left) if binding else np.ones((ups, downs), dtype=bool)
            at_i, at_j = np.nonzero(chosen)
            if not at_i.size:
                continue
            allowed = i + j <= left
            k, l = np.minimum(still - z - at_i, ups - 1), np.minimum(z - at_j, downs - 1)
            second = _running_least(Q, allowed)[k, l]
            apart = level.difference[row, z] + C[at_i, at_j] - _running_least(G, allowed)[k, l]
            excess = scale.excess(P[at_i, at_j], second, apart)
            top = int(np.argmax(excess))
            if excess[top] > best:
                best = float(excess[top])
                inner = np.where(allowed, Q, np.inf)[: k[top] + 1, : l[top] + 1]
                k0, l0 = np.unravel_index(int(np.argmin(inner)), inner.shape)
                entry = _Entry(row, z, int(at_i[top]), int(at_j[top]), int(k0), int(l0))
        first, second = P[entry.i, entry.j], Q[entry.k, entry.l]
        apart = level.difference[row, z] + C[entry.i, entry.j] - G[entry.k, entry.l]
        return self._worst(scale, level, entry, best, first, second, apart)

    def _search_rising(self, level: SmoothLevel, row: int, z: int, scale: _Scale, budget: int) -> Worst:
        """The same where the tables rise: only (D,0) and (1,1-D) matter, as many voters as the budget allows."""
        still = self._problem.K - level.n
        i = np.arange(min(still - z, budget) + 1)
        l = np.minimum(z, budget - i)
        terms = scale.terms
        pmf, moved = self._pmf[:, :terms], self._moved[:, :terms]
        one = np.array([row])
        V, M = _windows(level.first[one], terms, 1)[0, z], _windows(level.second[one], terms, -1)[0, z]
        first, second = pmf[i] @ V, pmf[l] @ M
        apart = level.difference[row, z] + moved[i] @ V - moved[l] @ M
        excess = scale.excess(first, second, apart)
        top = int(np.argmax(excess))
        entry = _Entry(row, z, int(i[top]), 0, 0, int(l[top]))
        return self._worst(scale, level, entry, excess[top], first[top], second[top], apart[top])

    def _moves(self, table: Array, z: int, ups: int, downs: int, terms: int) -> tuple[Array, Array]:
        """E table(z + Bin(i) - Bin(j)) for i < ups, j < downs, and the same less table(z), not by subtracting."""
        s, r = min(terms, ups), min(terms, downs)
        around = table[z + np.arange(s)[:, None] - np.arange(r)]
        down = self._pmf[:downs, :r].T
        value = self._pmf[:ups, :s] @ around @ down
        change = self._moved[:ups, :s] @ around @ down + around[0] @ self._moved[:downs, :r].T
        return value, change

    def _worst(
        self,
        scale: _Scale,
        level: SmoothLevel,
        entry: _Entry,
        bound: float,
        first: float,
        second: float,
        apart: float,
    ) -> Worst:
        row, z, i, j, k, l = entry
        n, b = level.n, int(level.b[row])
        by_ratio = 2 * scale.relative * float(first)
        return Worst(
            bound=min(float(bound), 1.0),
            rounding=min(scale.absolute, by_ratio) if scale.kappa < 2 else by_ratio,
            counts=(self._problem.K - n - z - i - k, z - j - l, n - b, b, i, k, j, l),
            first=float(first),
            second=float(second),
            difference=float(apart),
        )


def _bound(worst: Worst) -> float:
    return worst.bound


def _windows(table: Array, terms: int, direction: int) -> Array:
    """table(z), table(z +- 1), ..., terms of them, for each z; 0 outside. Shape (rows, columns, terms)."""
    nothing = np.zeros((len(table), terms - 1))
    if direction > 0:
        return sliding_window_view(np.hstack([table, nothing]), terms, axis=1)
    return sliding_window_view(np.hstack([nothing, table]), terms, axis=1)[:, :, ::-1]


def _extreme(table: Array, reach: int, pick: np.ufunc) -> Array:
    """The largest (or least) table(z + s) over abs(s) <= reach, for each z."""
    ahead, back, width = table, table, 1
    while width <= reach:
        step = min(width, reach + 1 - width)
        ahead = np.hstack([pick(ahead[:, :-step], ahead[:, step:]), ahead[:, -step:]])
        back = np.hstack([back[:, :step], pick(back[:, step:], back[:, :-step])])
        width += step
    return np.asarray(pick(ahead, back))


def _running_least(table: Array, allowed: NDArray[np.bool_]) -> Array:
    """The least allowed entry up to each row and column."""
    return np.minimum.accumulate(np.minimum.accumulate(np.where(allowed, table, np.inf), axis=0), axis=1)

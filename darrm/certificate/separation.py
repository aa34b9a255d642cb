"""Separation: the worst case of one noise function over the complete corner set, with a true upper bound.

Nothing here looks at a solver's answer, its tolerances or its rows: the table alone is taken through the smoothing
recurrences over every multiset of corners, with a bound on all rounding (derived in docs/theory.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.certificate.moves import Integers, Moves, Sides
from darrm.certificate.smoothing import Array, SmoothLevel, levels
from darrm.errors import CertificateError, InputError
from darrm.numerics.exact import exponentials
from darrm.problem.corners import weights
from darrm.problem.limits import Promise, total_epsilon
from darrm.problem.noise_function import acceptance, noise_function

_U = 2.0**-53
_CHUNK = 1 << 14
_MANY = 24  # moves, from which on tables are averaged first
MAX_K = 3001
_SUBNORMAL = np.array([5e-324])
_TINY = 1e-314  # more than underflow can add up to: 2^-1074 for each of 10^9 operations behind one number


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
    beyond: float  # the probability of more moves than are followed

    def excess(self, sides: Sides, enough: float = -math.inf) -> Array:
        """Upper bounds on the excess.

        Parameters
        ----------
        sides : Sides
            Computed X(p) and X(p'), each a sum of nonnegative terms, and X(p) - X(p'), not by subtracting those.
        enough : float
            Bounds up to this need not be the best of both forms.
        """
        highest = self._ceiling(sides)
        if highest <= enough:
            return np.full_like(sides.second, highest)
        bound = self._by_ratio(self._ratio_score(sides))
        if self.kappa < 2:
            bound = np.minimum(bound, self._by_difference(self._difference_score(sides)))
        return np.where(np.isnan(bound), np.inf, bound)  # nothing makes one; if something did, it must not pass

    def _ceiling(self, sides: Sides) -> float:
        """An upper bound on all of them from one form, cheaply: both forms rise with their scores."""
        if self.kappa < 2:
            return float(self._by_difference(self._difference_score(sides).max()))
        return float(self._by_ratio(self._ratio_score(sides).max()))

    def _difference_score(self, sides: Sides) -> Array:
        score = self.kappa * sides.second
        return np.subtract(sides.apart, score, out=score)

    def _by_difference(self, score: Array) -> Array:
        return np.nextafter(score + self.absolute, np.inf)

    def _ratio_score(self, sides: Sides) -> Array:
        score = (math.nextafter(self.shrink, 1) * (1 + self.relative)) * sides.first
        return np.subtract(score, (1 - self.relative) * sides.second, out=score)

    def _by_ratio(self, score: Array) -> Array:
        # Multiplied by e^epsilon on the side that keeps an upper bound. 0 stays 0: there both sides are equal to the
        # last bit, as X = 0 on both for a table with gamma(K) = 1.
        up, down = math.nextafter(self.shrink, 1), math.nextafter(self.shrink, 0)
        score = np.nextafter(score, np.inf, where=score != 0, out=np.zeros_like(score)) + (
            up * self.beyond + self.underflow
        )
        with np.errstate(divide="ignore", over="ignore"):
            bound = np.nextafter(np.nextafter(score, np.inf) / np.where(score > 0, down, up), np.inf)
        return np.where(score == 0, 0.0, bound)


def check_size(problem: Promise) -> None:
    """Refuse a K whose tables would not fit in memory or end in reasonable time, and arithmetic that proves nothing.

    Raises
    ------
    InputError
    CertificateError
        If this process flushes subnormal numbers to 0 (some libraries switch that on): underflow would be uncounted.
    """
    if not np.all(_SUBNORMAL * 1.0 > 0):
        raise CertificateError(
            "This process flushes subnormal numbers to zero, so rounding cannot be bounded and nothing can be "
            "certified. Find the library that sets this mode (often one built with -ffast-math) and load it elsewhere."
        )
    if problem.K > MAX_K:
        raise InputError(
            f"K must be at most {MAX_K} to be verified. Got {problem.K}: tables of K^2 numbers and K^3 steps would be "
            "needed. Lower K."
        )


class _Entry(NamedTuple):
    """A multiset by n = a + b, b, z, and its numbers at (D,0), (1-D,1), (0,D), (1,1-D)."""

    n: int
    b: int
    z: int
    i: int = 0
    j: int = 0
    k: int = 0
    l: int = 0


class _Edge(NamedTuple):
    """Multisets without (lo,hi), as many as may at (D,0) and then at (1,1-D): for each n and z.

    Attributes
    ----------
    sides : Sides, shape (changed + 1, K + 1)
        Entries with z > K - n stand for nothing; they cost less than any that counts.
    up, down : ndarray of int, same shape
    """

    sides: Sides
    up: Integers
    down: Integers


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

    def __init__(self, gamma: ArrayLike, problem: Promise) -> None:
        check_size(problem)
        self._problem = problem
        self._gamma = noise_function(gamma, problem.K)
        self._weights = weights(problem.epsilon, problem.Delta)
        # Moves left out must not count beside the limit (e^epsilon - 1 + 2 delta) / 2, at any epsilon.
        self._moves = Moves(problem, 1e-17 * problem.delta / 4)

    def at(self, epsilon: Decimal) -> Worst:
        """The worst multiset at ``epsilon`` >= 0 (nats), with a true upper bound on its excess."""
        return largest(self.by_level(epsilon))

    def by_level(self, epsilon: Decimal) -> list[Worst]:
        """The worst multiset of every level n = a + b, each with a true upper bound on all of them.

        The first one has none at (lo,hi); those of levels that some other multiset dominates are left out.
        """
        attained = self.without_lo_hi(epsilon)
        scale = self._scale(epsilon)
        # A bound that was settled without a search says nothing of where the worst case is.
        return [attained] + [
            worst if worst.counts else replace(attained, bound=worst.bound)
            for worst in self._scan(scale, self._settled(scale, attained.bound))
        ]

    def without_lo_hi(self, epsilon: Decimal) -> Worst:
        """The worst of some multisets with none at (lo,hi): allowed ones, found in O(K^2), but no bound for all."""
        scale = self._scale(epsilon)
        excess = scale.excess(self._edge.sides)
        n, z = np.unravel_index(int(np.argmax(excess)), excess.shape)
        identical = self._identical(scale)
        edge = self._on_edge(scale, int(n), int(z), float(excess[n, z]))
        return largest((identical, edge))

    def broken(self, epsilon: Decimal, enough: float, most_n: int, most_b: int) -> list[Worst]:
        """Multisets whose excess is above ``enough``, quickly found; there may be others.

        Parameters
        ----------
        epsilon : Decimal
        enough : float
        most_n, most_b : int
            How many voters at (hi,lo) and (lo,hi) together, and how many at (lo,hi), to look at beyond the O(K^2)
            multisets without (lo,hi) that are always covered; ``most_n`` -1 looks at no others.
        """
        scale = self._scale(epsilon)
        excess = scale.excess(self._edge.sides)
        z = np.argmax(excess, axis=1)
        worst = excess[np.arange(z.size), z]
        found = [self._on_edge(scale, int(n), int(z[n]), worst[n]) for n in np.flatnonzero(worst > enough)]
        if most_n >= 0:
            found += [w for w in self._scan(scale, enough, most_n, most_b, every=True) if w.counts]
        return [w for w in found if w.bound - w.rounding > enough]

    @cached_property
    def _edge(self) -> _Edge:
        K, t, w = self._problem.K, self._problem.changed, self._weights
        first, second, apart = np.zeros((t + 1, K + 1)), np.ones((t + 1, K + 1)), np.full((t + 1, K + 1), -1.0)
        V = M = acceptance(self._gamma)
        W = np.zeros(K + 1)
        for n in range(t + 1):
            if n:
                W = w.lo * W[:-1] + w.hi * W[1:] + w.gap * (M[1:] - M[:-1])
                V, M = w.lo * V[:-1] + w.hi * V[1:], w.hi * M[:-1] + w.lo * M[1:]
            first[n, : K - n + 1], second[n, : K - n + 1], apart[n, : K - n + 1] = V, M, W
        if not self._problem.Delta:
            first[0], second[0], apart[0] = 0.0, 1.0, -1.0  # p = p' is looked at on its own
            none = np.zeros((1, 1), dtype=np.int64)
            return _Edge(Sides(first, second, apart), *np.broadcast_arrays(none, none, first)[:2])
        taken, z = np.ogrid[: t + 1, : K + 1]
        up = np.minimum(np.maximum(K - taken - z, 0), t - taken)
        down = np.minimum(z, t - taken - up)
        moved = self._moves.all_move(first, second, apart, up, down)
        outside = taken + z > K
        for side, nothing in zip(moved, (0.0, 1.0, -1.0), strict=True):
            side[outside] = nothing
        return _Edge(moved, up, down)

    def _on_edge(self, scale: _Scale, n: int, z: int, bound: float) -> Worst:
        first, second, apart = (side[n, z] for side in self._edge.sides)
        entry = _Entry(n, 0, z, i=int(self._edge.up[n, z]), l=int(self._edge.down[n, z]))
        return self._worst(scale, entry, bound, first, second, apart)

    def _scale(self, epsilon: Decimal) -> _Scale:
        Delta, steps, gap = self._problem.Delta, self._problem.changed, self._weights.gap
        shrink, kappa = exponentials(epsilon)
        terms, beyond = self._moves.terms, self._moves.beyond
        relative = 1.01 * _U * (7 * steps + 4 * terms + 40)
        square = steps * (steps + 1)
        moves = 2 * min(2.0, steps * Delta) * (7 * steps + 4 * terms + 60)
        tables = (6 * square + 4 * steps) * gap + (2 + kappa) * moves
        absolute = 1.01 * _U * tables + relative * kappa + (2 + kappa) * beyond + _TINY
        return _Scale(shrink, kappa, relative, absolute, self._underflow(shrink), beyond)

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

    def _settled(self, scale: _Scale, attained: float) -> float:
        """Up to where bounds are not looked into: a little above what is attained, but never across delta."""
        delta = self._problem.delta
        limit = min(scale.kappa, 1e300) / 2 + delta
        settled = attained + (1e-13 * limit if scale.kappa < 2 else 4 * scale.relative)
        return min(settled, delta) if attained <= delta else settled

    def _scan(
        self,
        scale: _Scale,
        settled: float,
        most_n: int | None = None,
        most_b: int | None = None,
        *,
        every: bool = False,
    ) -> Iterator[Worst]:
        """The worst multiset of each level beyond the edge, bounds up to ``settled`` not looked into.

        With ``every`` the worst of each table above ``settled``, where it is quickly found; no bounds then.
        """
        problem = self._problem
        for level in levels(self._gamma, self._weights, problem.changed if most_n is None else most_n, most_b):
            if problem.Delta:
                yield from self._with_moves(level, scale, settled, every)
            elif level.n and level.b.size > 1:
                sides = Sides(level.first[1:], level.second[1:], level.difference[1:])
                excess = scale.excess(sides, settled)
                row, z = np.unravel_index(int(np.argmax(excess)), excess.shape)
                if excess[row, z] <= settled:
                    yield _unsearched(float(excess[row, z]), scale)
                else:
                    at = (row + 1, z)
                    entry = _Entry(level.n, int(level.b[at[0]]), int(z))
                    numbers = level.first[at], level.second[at], level.difference[at]
                    yield self._worst(scale, entry, excess[row, z], *numbers)
            if level.rises.all() and (not problem.Delta or problem.changed == problem.K):
                break  # what is left is dominated by the edge

    def _identical(self, scale: _Scale) -> Worst:
        """p = p': the excess is -(e^epsilon - 1) X exactly, which is 0, not nearly 0, where X is."""
        X = acceptance(self._gamma)
        z = int(np.argmin(X))
        bound = -scale.kappa * (1 - scale.relative) * X[z] if X[z] else 0.0
        return self._worst(scale, _Entry(0, 0, z), bound, X[z], X[z], 0.0)

    def _with_moves(self, level: SmoothLevel, scale: _Scale, settled: float, every: bool) -> Iterator[Worst]:
        """One level with Delta > 0: bounds for all entries, closer ones where those are not enough, then a search."""
        moves, still, budget = self._moves, self._problem.K - level.n, self._problem.changed - level.n
        z = np.arange(still + 1)
        up, down = np.minimum(z[::-1], budget), np.minimum(z, budget)
        on_edge = bool(level.rises[0]) and budget >= still
        bounds = np.full_like(level.first, -np.inf)
        # Where tables rise the worst is to move all voters, if the budget allows, and a bound if it does not.
        rising = np.flatnonzero(level.rises)[int(on_edge) :]
        if rising.size:
            bounds[rising] = scale.excess(moves.all_move(*_rows(level, rising), up, down), settled)
        other = np.flatnonzero(~level.rises)
        if other.size:
            bounds[other] = scale.excess(moves.loose(*_rows(level, other), min(still, budget)), settled)
        best: Worst | None = None
        open_ = ~(bounds <= settled) & ~level.rises[:, None]
        rows = np.flatnonzero(open_.any(axis=1))
        if rows.size:
            sides = moves.envelope(*_rows(level, rows), up, down, scale.relative)
            bounds[rows] = np.minimum(bounds[rows], scale.excess(sides, settled))
            open_ &= bounds > settled
            row, column = np.nonzero(open_)
            for start in range(0, row.size, _CHUNK):
                part = row[start : start + _CHUNK], column[start : start + _CHUNK]
                sides = moves.closer(level.first, level.second, level.difference, *part, up, down, scale.relative)
                bounds[part] = np.minimum(bounds[part], scale.excess(sides, settled))
            open_ &= bounds > settled
            rows = np.flatnonzero(open_.any(axis=1)) if moves.terms > _MANY else rows[:0]
        if rows.size:
            sides, attained, i, l = moves.averaged(*_rows(level, rows), min(still, budget), scale.relative)
            bounds[rows] = np.minimum(bounds[rows], scale.excess(sides, settled))
            open_ &= bounds > settled
            if every and budget >= still:
                excess = scale.excess(attained)
                for at, column in np.argwhere((excess > settled) & _peaks(excess)):
                    where = (at, column)
                    entry = _Entry(level.n, int(level.b[rows[at]]), int(column), i=int(i[where]), l=int(l[where]))
                    yield self._worst(scale, entry, excess[where], *(side[where] for side in attained))
                    open_[rows[at]] = False
        open_ |= (bounds > settled) & level.rises[:, None]
        for row, column in np.argwhere(open_):
            found = self._search(level, int(row), int(column), scale, budget)
            bounds[row, column] = found.bound
            if best is None or found.bound > best.bound:
                best = found
        worst = float(bounds.max())
        if best is None or (worst > best.bound and not every):
            best = _unsearched(worst, scale)
        yield best

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
        (P, C), (Q, G) = (self._moves.grid(table[row], z, ups, downs) for table in (level.first, level.second))
        i, j = np.ogrid[:ups, :downs]
        best = -math.inf
        n, b = level.n, int(level.b[row])
        entry = _Entry(n, b, z)
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
            excess = scale.excess(Sides(P[at_i, at_j], second, apart))
            top = int(np.argmax(excess))
            if excess[top] > best:
                best = float(excess[top])
                inner = np.where(allowed, Q, np.inf)[: k[top] + 1, : l[top] + 1]
                k0, l0 = np.unravel_index(int(np.argmin(inner)), inner.shape)
                entry = _Entry(n, b, z, int(at_i[top]), int(at_j[top]), int(k0), int(l0))
        first, second = P[entry.i, entry.j], Q[entry.k, entry.l]
        apart = level.difference[row, z] + C[entry.i, entry.j] - G[entry.k, entry.l]
        return self._worst(scale, entry, best, first, second, apart)

    def _search_rising(self, level: SmoothLevel, row: int, z: int, scale: _Scale, budget: int) -> Worst:
        """The same where the tables rise: only (D,0) and (1,1-D) matter, as many voters as the budget allows."""
        i = np.arange(min(self._problem.K - level.n - z, budget) + 1)
        l = np.minimum(z, budget - i)
        moves = self._moves
        V, M = level.first[row, z : z + moves.terms], level.second[row, max(0, z - moves.terms + 1) : z + 1][::-1]
        first, second = moves.pmf[i, : V.size] @ V, moves.pmf[l, : M.size] @ M
        apart = level.difference[row, z] + moves.moved[i, : V.size] @ V - moves.moved[l, : M.size] @ M
        excess = scale.excess(Sides(first, second, apart))
        top = int(np.argmax(excess))
        entry = _Entry(level.n, int(level.b[row]), z, i=int(i[top]), l=int(l[top]))
        return self._worst(scale, entry, excess[top], first[top], second[top], apart[top])

    def _worst(self, scale: _Scale, entry: _Entry, bound: float, first: float, second: float, apart: float) -> Worst:
        n, b, z, i, j, k, l = entry
        by_ratio = 2 * scale.relative * float(first)
        return Worst(
            bound=min(float(bound), 1.0),
            rounding=min(scale.absolute, by_ratio) if scale.kappa < 2 else by_ratio,
            counts=(self._problem.K - n - z - i - k, z - j - l, n - b, b, i, k, j, l),
            first=float(first),
            second=float(second),
            difference=float(apart),
        )


@lru_cache(maxsize=64)
def worst_by_level(gamma: bytes, problem: Promise) -> tuple[Worst, ...]:
    """`WorstCase.by_level` at the promised epsilon, for the bytes of a noise function; the last answers are kept."""
    return tuple(WorstCase(np.frombuffer(gamma), problem).by_level(total_epsilon(problem)))


def largest(worst: Iterable[Worst]) -> Worst:
    """The one with the largest bound, which bounds all of them."""
    return max(worst, key=lambda one: one.bound)


def _unsearched(bound: float, scale: _Scale) -> Worst:
    """A bound on a level that says nothing of where its worst case is."""
    return Worst(min(bound, 1.0), scale.absolute, (), math.nan, math.nan, math.nan)


def _rows(level: SmoothLevel, rows: Integers) -> tuple[Array, Array, Array]:
    return level.first[rows], level.second[rows], level.difference[rows]


def _peaks(table: Array) -> NDArray[np.bool_]:
    """Entries at least as large as those beside them in their row."""
    padded = np.pad(table, ((0, 0), (1, 1)), constant_values=-np.inf)
    return np.asarray((table >= padded[:, :-2]) & (table >= padded[:, 2:]))


def _running_least(table: Array, allowed: NDArray[np.bool_]) -> Array:
    """The least allowed entry up to each row and column."""
    return np.minimum.accumulate(np.minimum.accumulate(np.where(allowed, table, np.inf), axis=0), axis=1)

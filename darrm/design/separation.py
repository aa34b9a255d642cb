"""Separation: the worst case of one noise function over the complete corner set, with a true upper bound.

Nothing here looks at a solver's answer, its tolerances or its rows: the table alone is taken through the smoothing
recurrences over every multiset of corners, with a bound on all rounding (derived in docs/theory.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import ArrayLike

from darrm.design.smoothing import (
    Array,
    Nudged,
    SmoothLevel,
    acceptance,
    decimals,
    levels,
    noise_function,
    nudge,
    weights,
)
from darrm.errors import InputError
from darrm.problem import MajorityProblem

_U = 2.0**-53
_TINY = 1e-318  # more than underflow can add up to: 2^-1074 for each of some thousand operations
_MAX_NUMBERS = 12_000_000


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

    @classmethod
    def of(cls, epsilon: Decimal, problem: MajorityProblem, gap: float) -> _Scale:
        Delta, steps = problem.Delta, problem.changed
        with decimals(epsilon):
            shrink, kappa = float((-epsilon).exp()), float(epsilon.exp() - 1)
        relative = 1.01 * _U * (3 * steps + 20)
        square = steps * (steps + 1)
        tables = 6 * square * gap + 8 * square * Delta * (2 + kappa)
        absolute = relative * kappa + 1.01 * _U * (tables + 4 * steps * (gap + 3 * Delta * (1 + kappa))) + _TINY
        return cls(shrink, kappa, relative, absolute)

    def relative_excess(self, nudged: Nudged, underflow: float, budget: int) -> Array:
        up, down = math.nextafter(self.shrink, 1), math.nextafter(self.shrink, 0)
        first = up * (1 + self.relative) * nudged.value
        score = _best_partner(first, (1 - self.relative) * nudged.value[:, :, ::-1], budget) + underflow
        # Multiplied by e^epsilon on the side that keeps an upper bound. 0 stays 0: there both sides are equal to the
        # last bit, as X = 0 on both for a table with gamma(K) = 1.
        with np.errstate(divide="ignore", over="ignore"):
            excess = np.nextafter(np.nextafter(score, np.inf) / np.where(score > 0, down, up), np.inf)
        return np.where(score == 0, 0.0, excess)

    def difference_excess(self, level: SmoothLevel, nudged: Nudged, budget: int) -> Array:
        first = level.difference + nudged.change
        second = (1 + self.kappa) * nudged.change[:, :, ::-1] + self.kappa * level.first[::-1]
        return np.nextafter(_best_partner(first, second, budget) + self.absolute, np.inf)


def _best_partner(first: Array, second: Array, budget: int) -> Array:
    """first[i,j,b,z] less the least second[k,l,b,z] with i + k <= N - z, j + l <= z, i + j + k + l <= budget.

    The least ``second`` is a running minimum over k and l; where the budget binds, one such minimum for each
    budget left over for k + l. Not a number where i, j themselves are not allowed.
    """
    size, _, _, columns = first.shape
    if size == 1:
        return first - second
    still = columns - 1
    least = np.where(np.isnan(second), np.inf, second)
    i, j, z = np.ogrid[:size, :size, :columns]
    best = np.full_like(first, np.nan)
    binding = budget < still
    for left in range(budget + 1) if binding else (still,):
        allowed = (i + j <= left)[..., None]
        running = np.where(allowed, least, np.inf)
        running = np.minimum.accumulate(np.minimum.accumulate(running, axis=0), axis=1)
        chosen = (i <= still - z) & (j <= z)
        if binding:
            chosen = chosen & (i + j == budget - left)
        at_i, at_j, at_z = np.nonzero(chosen)
        k, l = np.minimum(still - at_z - at_i, size - 1), np.minimum(at_z - at_j, size - 1)
        best[at_i, at_j, :, at_z] = first[at_i, at_j, :, at_z] - running[k, l, :, at_z]
    return best


class WorstCase:
    """Separation over the complete corner set for one noise function, by smoothing tables.

        max over allowed (p, p') of   X(p) - e^epsilon X(p'),     X(p) = Pr[release 1 | p]

    All C(K+7,7) multisets are covered (C(K+3,3) if Delta = 0) without being listed: O(K^3) work if
    Delta = 0, O(K^5) otherwise, O(K^6) if also changed < K.

    Parameters
    ----------
    gamma : array_like, shape (K + 1,)
    problem : MajorityProblem

    Raises
    ------
    InputError
        If gamma is not a noise function, or the tables would be too large.
    """

    def __init__(self, gamma: ArrayLike, problem: MajorityProblem) -> None:
        self._problem = problem
        self._X = acceptance(noise_function(gamma, problem.K))
        self._weights = weights(problem)
        biggest = max(self._numbers(n) for n in range(problem.changed + 1))
        if biggest > _MAX_NUMBERS:
            raise InputError(
                f"K = {problem.K} with changed = {problem.changed} and Delta > 0 is too large to verify: it takes "
                f"tables of {biggest:,} numbers, {_MAX_NUMBERS:,} is the most. Lower K or changed, or use Delta = 0."
            )

    def _budget(self, n: int) -> int:
        """How many voters may still move to corners of Delta when n are at (hi,lo) and (lo,hi)."""
        return self._problem.changed - n if self._problem.Delta > 0 else 0

    def _numbers(self, n: int) -> int:
        still = self._problem.K - n
        return (n + 1) * (still + 1) * (min(self._budget(n), still) + 1) ** 2

    def at(self, epsilon: Decimal) -> Worst:
        """The worst multiset at ``epsilon`` >= 0 (nats), with a true upper bound on its excess."""
        return max(self.by_level(epsilon), key=lambda worst: worst.bound)

    def by_level(self, epsilon: Decimal) -> Iterator[Worst]:
        """The worst multiset among those with n at (hi,lo) and (lo,hi), for n = 0, ..., ``changed``."""
        scale = _Scale.of(epsilon, self._problem, self._weights.gap)
        underflow = self._underflow(scale.shrink)
        for level in levels(self._X, self._weights, self._problem.changed):
            budget = self._budget(level.n)
            nudged = nudge(level.first, self._problem.Delta, budget)
            if level.n == 0 and budget == 0:
                # p = p': the excess is -(e^epsilon - 1) X exactly, which is 0, not nearly 0, where X is.
                excess = np.zeros((1, 1, *level.first.shape))
                np.multiply(-scale.kappa * (1 - scale.relative), level.first, out=excess[0, 0], where=level.first > 0)
            else:
                excess = scale.relative_excess(nudged, underflow, budget)
                if scale.kappa < 2:
                    np.fmin(excess, scale.difference_excess(level, nudged, budget), out=excess)
            yield self._describe(excess, level, nudged, scale)

    def _describe(self, excess: Array, level: SmoothLevel, nudged: Nudged, scale: _Scale) -> Worst:
        i, j, b, z = map(int, np.unravel_index(int(np.nanargmax(excess)), excess.shape))
        bound = min(float(excess[i, j, b, z]), 1.0)
        n, value, change = level.n, nudged.value, nudged.change
        still = self._problem.K - n
        inner = value[: still - z - i + 1, : z - j + 1, n - b, z].copy()
        steps = np.add.outer(np.arange(inner.shape[0]), np.arange(inner.shape[1]))
        inner[steps > self._budget(n) - i - j] = np.nan
        k, l = map(int, np.unravel_index(int(np.nanargmin(inner)), inner.shape))
        first, second = float(value[i, j, b, z]), float(value[k, l, n - b, z])
        by_ratio = 2 * scale.relative * first
        return Worst(
            bound=bound,
            rounding=min(scale.absolute, by_ratio) if scale.kappa < 2 else by_ratio,
            counts=(still - z - i - k, z - j - l, n - b, b, i, k, j, l),
            first=first,
            second=second,
            difference=float(level.difference[b, z] + change[i, j, b, z] - change[k, l, n - b, z]),
        )

    def _underflow(self, shrink: float) -> float:
        """What underflow can have taken from a product e^-epsilon X(p); 0 if there was none."""
        moves = [self._weights.hi, self._weights.lo]
        if self._problem.Delta > 0:
            moves += [self._problem.Delta, 1 - self._problem.Delta]
        factors = [shrink, float(np.min(self._X[self._X > 0]))]
        if min(*moves, *factors) <= 0:
            return _TINY
        smallest = sum(map(math.log, factors)) + self._problem.changed * math.log(min(moves))
        return 0.0 if smallest > -650 else _TINY

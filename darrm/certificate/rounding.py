"""Rounding error of a computed hockey-stick divergence ("excess"): two forms for one epsilon, each with a proved bound.

docs/theory.md, section "Rounding": Lemma 6 is `Scale.relative`, Lemma 7 is `Scale.absolute`.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from darrm.certificate.moves import Moves
from darrm.certificate.smoothing import Sides
from darrm.numerics.arrays import Array
from darrm.numerics.exact import exponentials
from darrm.problem.corners import Weights
from darrm.problem.majority import MajorityProblem

_U = 2.0**-53
_LARGEST = float(np.finfo(np.float64).max)
_SMALL = 1 << 10  # entries
TINY = 1e-314  # above the sum of all underflow: 2^-1074 for each of 10^9 operations behind one number


class Scale(NamedTuple):
    """One epsilon, in both forms of the excess X(p) - e^epsilon X(p'), each with its rounding bound.

    relative:    e^-epsilon X(p) - X(p'), all terms nonnegative, each within 1 +- ``relative``: for any epsilon, and
                 where X is small;
    difference:  (X(p) - X(p')) - (e^epsilon - 1) X(p') within ``absolute``: where epsilon is small.

    Both are proved upper bounds for every multiset. The smaller one is used if e^epsilon - 1 < 2, else the first.

    Attributes
    ----------
    shrink, kappa : float
        e^-epsilon and e^epsilon - 1, to the nearest float64.
    relative, absolute : float
        Lemma 6 and Lemma 7.
    underflow : float
        Upper bound on the underflow of a product e^-epsilon X(p).
    beyond : float
        The probability of more moves than are computed.
    """

    shrink: float
    kappa: float
    relative: float
    absolute: float
    underflow: float
    beyond: float

    def excess(self, sides: Sides, enough: float = -math.inf) -> Array:
        """Upper bounds on the excess.

        Parameters
        ----------
        sides : Sides
            Computed X(p) and X(p'), each a sum of nonnegative terms, and X(p) - X(p') by its own recurrence.
        enough : float
            Bounds up to this value need not be the smaller of both forms.
        """
        if enough > -math.inf and sides.q_side.ndim > 1:
            ceilings = self.ceilings(sides)
            over = ~(ceilings <= enough)
            bounds = np.repeat(ceilings[:, None], sides.q_side.shape[1], axis=1)
            if over.any():
                bounds[over] = self.excess(sides.at(over))
            return bounds
        bound = self._by_ratio(self._ratio_score(sides))
        if self.kappa < 2:
            bound = np.minimum(bound, self._by_difference(self._difference_score(sides)))
        return np.where(np.isnan(bound), np.inf, bound)  # NaN should not occur; if it does, it must not pass

    def largest(self, sides: Sides) -> tuple[float, tuple[int, int]]:
        """The largest of `excess` over two dimensions, and its first position."""
        if sides.q_side.size <= _SMALL:  # to leave rows out takes longer than to compute them
            excess = self.excess(sides)
            row, column = np.unravel_index(int(np.argmax(excess)), excess.shape)
            return float(excess[row, column]), (int(row), int(column))
        ceilings = self.ceilings(sides)
        attained = self.excess(sides.at(int(np.argmax(ceilings)))).max()
        rows = (~(ceilings < attained)).nonzero()[0]
        excess = self.excess(sides.at(rows))
        row, column = np.unravel_index(int(np.argmax(excess)), excess.shape)
        return float(excess[row, column]), (int(rows[row]), int(column))

    def ceilings(self, sides: Sides) -> Array:
        """For each row an upper bound on all of them from one form, cheaply: both forms rise with their scores."""
        if self.kappa < 2:
            return self._by_difference(self._difference_score(sides).max(axis=1))
        return self._by_ratio(self._ratio_score(sides).max(axis=1))

    def _difference_score(self, sides: Sides) -> Array:
        score = self.kappa * sides.q_side
        return np.subtract(sides.difference, score, out=score)

    def _by_difference(self, score: Array) -> Array:
        return _higher(score + self.absolute)

    def _ratio_score(self, sides: Sides) -> Array:
        score = (math.nextafter(self.shrink, 1) * (1 + self.relative)) * sides.p_side
        return np.subtract(score, (1 - self.relative) * sides.q_side, out=score)

    def _by_ratio(self, score: Array) -> Array:
        # Multiplied by e^epsilon, rounded so that it stays an upper bound. 0 stays 0: there both sides are equal to the
        # last bit, as X = 0 on both for a table with gamma(K) = 1.
        up, down = math.nextafter(self.shrink, 1), math.nextafter(self.shrink, 0)
        score = np.where(score == 0, 0.0, _higher(score)) + (up * self.beyond + self.underflow)
        with np.errstate(divide="ignore", over="ignore"):
            bound = _higher(_higher(score) / np.where(score > 0, down, up))
        return np.where(score == 0, 0.0, bound)


def _higher(values: Array) -> Array:
    """The next float64 of each or a higher one, in a tenth of the time of np.nextafter.

    Between 2^-1022 and infinity neighbours of x are apart by abs(x) 2^-52 at most, below it by 2^-1074.
    """
    values = np.maximum(values, -_LARGEST)
    return values + (np.abs(values) * 2.0**-52 + 2.0**-1074)


def scale(epsilon: Decimal, problem: MajorityProblem, gamma: Array, weights: Weights, moves: Moves) -> Scale:
    """Both forms of the excess at ``epsilon`` for all multisets of corners, with the constants of Lemmas 6 and 7."""
    Delta, steps = problem.Delta, problem.max_affected
    shrink, kappa = exponentials(epsilon)
    terms, beyond = moves.terms, moves.beyond
    relative = 1.01 * _U * (7 * steps + 4 * terms + 40)
    square = steps * (steps + 1)
    moved = 2 * min(2.0, steps * Delta) * (7 * steps + 4 * terms + 60)
    tables = (6 * square + 4 * steps) * weights.gap + (2 + kappa) * moved
    absolute = 1.01 * _U * tables + relative * kappa + (2 + kappa) * beyond + TINY
    return Scale(shrink, kappa, relative, absolute, _underflow(shrink, problem, gamma, weights), beyond)


def _underflow(shrink: float, problem: MajorityProblem, gamma: Array, weights: Weights) -> float:
    """Upper bound on the underflow of a product e^-epsilon X(p); 0 if there was none."""
    chance = min(weights.hi, weights.lo)
    if problem.Delta > 0:
        chance = min(chance, problem.Delta, 1 - problem.Delta)
    starts = np.concatenate([gamma, 1 - gamma, abs(gamma[1:] - gamma[:-1])])
    start = min(filter(None, starts.tolist())) / 2
    if min(chance, start, shrink) <= 0:
        return TINY
    smallest = math.log(shrink) + math.log(start) + problem.max_affected * math.log(chance)
    return 0.0 if smallest > -650 else TINY

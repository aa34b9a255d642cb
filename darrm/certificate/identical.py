"""The worst case over identically distributed voters: one pair (p, p') for all of them.

    max over (p, p') in the polygon of an (epsilon, Delta)-DP bit of  X(p) - e^eps' X(p'),    X(p) = E X(Bin(K, p))

On a segment of the polygon, from (a, a') to (b, b'), that is a polynomial of degree K whose Bernstein coefficients are
the same expression for K - j voters at (a, a') and j at (b, b'). Its maximum is at most the largest coefficient, and
the first and the last are attained; halving the segment brings the two together. All arithmetic is in whole numbers
of 2^-bits, each average rounded to the safe side, so there is nothing to be said about rounding but that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from darrm.certificate.bernstein import Between, Whole, as_float, as_float_above, halve, restrict
from darrm.errors import InputError
from darrm.numerics.exact import decimals
from darrm.problem.majority import MajorityProblem
from darrm.problem.noise_function import acceptance, noise_function

_DEEP = 48  # halvings in search of turning points, after which an interval is left as it is
_SHALLOW = 12  # halvings of [0, 1] towards 0
_DEEPEST = 64  # halvings of one segment
_MANY = 1000  # intervals where X may turn
_MOST = 4000  # segments
_TINY = Decimal("1e-55")  # more than what 60 digits lose in a few operations
_UPWARDS = Context(prec=120, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX, clamp=0, traps=[])
_LARGEST = Decimal(6000)  # e^epsilon beyond this is not told from it
_CLOSE = 45  # bits that bound and attained value have in common


class _Turn(NamedTuple):
    """An interval where X may turn, and bounds of X on it."""

    left: float
    right: float
    high: int
    low: int

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


class _Value(NamedTuple):
    """The excess on one segment in units of 2^-(2 bits): a bound, the values at its ends, and how close is close."""

    top: int
    start: int
    stop: int
    slack: int


class WorstPair(NamedTuple):
    """The worst (p, p') at one epsilon.

    Attributes
    ----------
    bound : float
        Upper bound on the excess X(p) - e^epsilon X(p') over the polygon.
    rounding : float
        Of that, what no pair is known to attain.
    pair : tuple of two floats
    first, second, difference : float
        X(p), X(p') and X(p) - X(p') there.
    """

    bound: float
    rounding: float
    pair: tuple[float, float]
    first: float
    second: float
    difference: float


@dataclass(frozen=True, eq=False)
class _Segment:
    """Bernstein coefficients on one segment: upper bounds for X(p), lower bounds for X(p')."""

    ends: tuple[tuple[float, float], tuple[float, float]]
    first: Whole
    second: Whole
    below: bool  # the diagonal: p >= p'
    depth: int = 0

    def halves(self) -> tuple[_Segment, _Segment]:
        (a, b), (c, d) = self.ends
        middle = ((a + c) / 2, (b + d) / 2)
        firsts, seconds = halve(self.first, up=True), halve(self.second, up=False)
        return (
            _Segment((self.ends[0], middle), firsts[0], seconds[0], self.below, self.depth + 1),
            _Segment((middle, self.ends[1]), firsts[1], seconds[1], self.below, self.depth + 1),
        )


class IdenticalVoters:
    """The worst case of one noise function over identically distributed voters.

    Parameters
    ----------
    gamma : array_like, shape (K + 1,)
    problem : MajorityProblem
        With ``changed`` = K: if all voters are alike, a change reaches all of them.

    Raises
    ------
    InputError

    Notes
    -----
    Lemma B.1 of Jiang, Zhang, Joshi (TMLR 2024) is the case of Delta = 0 and a U-shaped gamma, where two edges are
    enough; no shape is assumed here. O(K^2) for each halving, some hundred of them.
    """

    def __init__(self, gamma: ArrayLike, problem: MajorityProblem) -> None:
        table = noise_function(gamma, problem.K)
        if problem.changed != problem.K:
            raise InputError(
                f"Identically distributed voters all change together. Got changed = {problem.changed} of {problem.K}. "
                "Pass changed = K, or verify without identical=True."
            )
        self._problem = problem
        steps = np.abs(np.diff(np.sign(2 * np.arange(problem.K + 1) - problem.K) * table))
        small = min(x for x in (1.0, problem.Delta, problem.delta, *steps.tolist()) if x > 0)
        largest = 2 * problem.K * problem.epsilon
        # How many of X(0), X(1), ... are 0, that is, how fast X falls to 0 with p.
        self._order = int(np.argmax(np.append(acceptance(table), 1.0) > 0))
        self._bits = (
            256 + math.ceil(-math.log2(small)) + math.ceil(min(1.45 * largest, 8192)) + 40 * min(self._order, 64)
        )
        sides = np.sign(2 * np.arange(problem.K + 1) - problem.K).tolist()
        exact = [
            (1 + side * Fraction(value)) * 2 ** (self._bits - 1)
            for side, value in zip(sides, table.tolist(), strict=True)
        ]
        self._up = np.array([math.ceil(value) for value in exact], dtype=object)
        self._down = np.array([math.floor(value) for value in exact], dtype=object)
        self._segments = list(self._edges())

    @property
    def unavoidable(self) -> Decimal:
        """A lower bound on the epsilon that delta = 0 allows: r epsilon, as X(p) ~ p^r and p = e^epsilon p' near 0."""
        pure = self._problem.delta == self._problem.Delta == 0
        return _UPWARDS.multiply(Decimal(self._order), Decimal(self._problem.epsilon)) if pure else Decimal(0)

    def at(self, epsilon: Decimal) -> WorstPair:
        """The worst pair at one epsilon."""
        epsilon = min(epsilon, _LARGEST)
        with decimals(epsilon):
            grow = math.floor(epsilon.exp() * 2**self._bits * (1 - _TINY))  # below e^epsilon: the safe side
        # The excess in units of 2^-(2 bits). A segment is settled once its bound is close to what is attained; if that
        # is not enough to tell whether delta is kept, it is halved further.
        limit = math.floor(Fraction(self._problem.delta) * 2 ** (2 * self._bits))
        exact = Fraction(epsilon)
        flat = self._slow_until if exact >= self._order * Fraction(self._problem.epsilon) else -1.0
        noise = 1 << (self._bits + 40)
        rate = math.ceil(exact * 2**80)

        def value(segment: _Segment) -> _Value:
            found = (segment.first << self._bits) - grow * segment.second
            j = int(np.argmax(found))
            settled = segment.below and segment.ends[-1][0] <= flat
            top = min(0, found[j]) if settled else found[j]
            return _Value(top, found[0], found[-1], noise + (rate * grow * segment.second[j] >> (80 + _CLOSE)))

        values = [value(segment) for segment in self._segments]
        while len(values) < _MOST:
            best = max(max(one.start, one.stop) for one in values)
            near = best + (max(0, best) >> _CLOSE)
            open_ = [
                i
                for i, one in enumerate(values)
                if one.top > near + one.slack or (one.top > limit >= best and self._segments[i].depth < _DEEPEST)
            ]
            if not open_:
                break
            for i in reversed(open_):
                halves = self._segments.pop(i).halves()
                del values[i]
                self._segments += halves
                values += [value(half) for half in halves]
        at, end = max(product(range(len(values)), (0, 1)), key=lambda which: values[which[0]][1 + which[1]])
        segment = self._segments[at]
        bound, attained = max(one.top for one in values), values[at][1 + end]
        first, second, pair = segment.first[-end], segment.second[-end], segment.ends[end]
        for left, right in self._turning_pairs:
            excess = (left.high << self._bits) - grow * right.low
            if excess > bound:
                bound, attained = excess, (left.low << self._bits) - grow * right.high
                first, second, pair = left.high, right.low, (left.middle, right.middle)
        return WorstPair(
            bound=min(1.0, as_float_above(bound, 2 * self._bits)),
            rounding=as_float_above(max(0, bound - attained), 2 * self._bits),
            pair=pair,
            first=as_float(first, self._bits),
            second=as_float(second, self._bits),
            difference=as_float(first - second, self._bits),
        )

    def _edges(self) -> Iterator[_Segment]:
        """The edges of the polygon; those below the diagonal, where p >= p', if X is known to rise."""
        one, zero = Fraction(1), Fraction(0)
        D = Fraction(self._problem.Delta)
        epsilon = Decimal(self._problem.epsilon)
        with decimals(epsilon, self._bits // 3):
            s, Delta = (-epsilon).exp(), Decimal(self._problem.Delta)
            hi, lo = (1 + Delta * s) / (1 + s), (1 - Delta) * s / (1 + s)
            scale = 2**self._bits
            high, low = (Between(math.floor(x * scale) - 1, math.ceil(x * scale) + 1) for x in (hi, lo))

        def exact(x: Fraction) -> Between:
            return Between(math.floor(x * scale), math.ceil(x * scale))

        bottom, top, small, large = exact(zero), exact(one), exact(D), exact(1 - D)
        below = [(bottom, bottom), (small, bottom), (high, low), (top, large), (top, top)]
        above = [(q, p) for p, q in below]
        for path in (below, above) if self._turns else (below,):
            for (a, b), (c, d) in pairwise(path):
                if (a, b) != (c, d):
                    ends = tuple(
                        (as_float(p.low, self._bits), as_float(q.low, self._bits)) for p, q in ((a, b), (c, d))
                    )
                    yield _Segment(
                        ends,  # type: ignore[arg-type]
                        restrict(self._up, a, c, self._bits, up=True),
                        restrict(self._down, b, d, self._bits, up=False),
                        below=path is below,
                    )

    @cached_property
    def _slow_until(self) -> float:
        """The largest 2^-d up to which p X'(p) <= r X(p), r = ``_order``: X(p) <= (p / p')^r X(p') for p' <= p <= 2^-d.

        p X' has the coefficients j (V_j - V_(j-1)) where X has V_j. Without it the end of the edge at (0,0), where both
        sides vanish, could not be settled for Delta = delta = 0.
        """
        if self._problem.Delta > 0 or not 0 < self._order <= self._problem.K:
            return -1.0
        up, down = self._up, self._down
        j = np.arange(1, up.size)
        for depth in range(_SHALLOW):
            if np.all(j * down[:-1] >= (j - self._order) * up[1:]):
                return 2.0**-depth * (1 - 1e-9)
            up, down = halve(up, up=True)[0], halve(down, up=False)[0]
        return -1.0

    @cached_property
    def _turns(self) -> list[_Turn]:
        """Intervals where X may turn, points among them; between two of them X rises or falls.

        Where a bound on both sides is needed, so that "rises" and "falls" are certain.
        """
        found: list[_Turn] = []
        rose, open_ = True, [(0.0, 1.0, self._up, self._down, 0)]  # X rises from X(0), the least, if it moves at all
        while open_:  # from left to right
            a, b, up, down, depth = open_.pop()
            rises, falls = bool(np.all(down[1:] >= up[:-1])), bool(np.all(up[1:] <= down[:-1]))
            if rises or falls:
                if rises != rose:
                    found.append(_Turn(a, a, up[0], down[0]))
                rose = rises
            elif depth == _DEEP or len(found) + len(open_) >= _MANY:
                found.append(_Turn(a, b, max(up), min(down)))
            else:
                ups, downs = halve(up, up=True), halve(down, up=False)
                middle = (a + b) / 2
                open_.append((middle, b, ups[1], downs[1], depth + 1))
                open_.append((a, middle, ups[0], downs[0], depth + 1))
        return found

    @cached_property
    def _turning_pairs(self) -> list[tuple[_Turn, _Turn]]:
        """Pairs in the polygon where X turns on both sides."""
        epsilon, D = self._problem.epsilon, self._problem.Delta
        grow = math.exp(epsilon) if epsilon < 700 else math.inf

        def may_meet(p: _Turn, q: _Turn) -> bool:
            """Some point of the box may keep all four constraints; the margin is more than rounding."""
            return not (
                p.left > grow * q.right + D + 1e-9
                or q.left > grow * p.right + D + 1e-9
                or 1 - q.right > grow * (1 - p.left) + D + 1e-9
                or 1 - p.right > grow * (1 - q.left) + D + 1e-9
            )

        return [(p, q) for p, q in product(self._turns, repeat=2) if may_meet(p, q)]

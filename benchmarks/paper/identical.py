"""The worst case over identically distributed voters: one pair (p, p') for all of them.

    max over (p, p') in the polygon of an (epsilon, Delta)-DP bit of  X(p) - e^eps' X(p'),    X(p) = E X(Bin(K, p))

On a segment of the polygon, from (a, a') to (b, b'), that is a polynomial of degree K whose Bernstein coefficients are
the same expression for K - j voters at (a, a') and j at (b, b'). Its maximum is at most the largest coefficient, and
the first and the last are attained; halving the segment brings the two together. All arithmetic is in whole numbers
of 2^-bits, each average rounded conservatively, so there is nothing to be said about rounding but that.

Theorem 4.1 of the DaRRM paper is for such voters; a design is certified for any (`darrm.verify`). `certify` is a
`darrm.Certificate` that is worth something only if all voters have one distribution, on every data set. Used by
double_subsampling.py. Proofs: Lemmas 11 to 13 of docs/theory.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.certificate.certificate import Certificate, proved
from darrm.certificate.protocol import Facts, WorstCase, largest
from darrm.certificate.separation import check_arithmetic, check_size
from darrm.errors import InputError
from darrm.numerics.exact import decimals, rounded_up
from darrm.problem.limits import Limit, guarantee
from darrm.problem.majority import MajorityProblem
from darrm.problem.noise_function import acceptance, noise_function

_DEEP = 48  # halvings in search of turning points, after which an interval is left as it is
_SHALLOW = 12  # halvings of [0, 1] towards 0
_DEEPEST = 64  # halvings of one segment
_MAX_TURNS = 1000  # intervals where X may turn
_MAX_SEGMENTS = 4000
_TINY = Decimal("1e-55")  # more than what 60 digits lose in a few operations
_UPWARDS = Context(prec=120, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX, clamp=0, traps=[])
_LARGEST = Decimal(6000)  # e^epsilon beyond this is not told from it
_CLOSE = 45  # bits that bound and attained value have in common


# Polynomials by their Bernstein coefficients, in whole numbers of 2^-bits that are rounded to a side.
#
#     X(p) = sum over j of  c_j C(n, j) p^j (1 - p)^(n - j)
#
# lies between its least and its largest coefficient, and c_0 and c_n are its values at the ends. Coefficients on a part
# of [0, 1] follow by averaging (de Casteljau); rounded up in every average they are upper bounds of the true ones.
Whole: TypeAlias = NDArray[np.object_]  # of int, in units of 2^-bits


class Between(NamedTuple):
    """A number in [0, 1] between two whole numbers of 2^-bits."""

    low: int
    high: int


def halve(coefficients: Whole, *, up: bool) -> tuple[Whole, Whole]:
    """Coefficients on both halves of the segment, by de Casteljau; averages rounded up, or down."""
    left, right = [coefficients[0]], [coefficients[-1]]
    while coefficients.size > 1:
        coefficients = (coefficients[:-1] + coefficients[1:] + int(up)) >> 1
        left.append(coefficients[0])
        right.append(coefficients[-1])
    return np.array(left, dtype=object), np.array(right[::-1], dtype=object)


def restrict(coefficients: Whole, start: Between, stop: Between, bits: int, *, up: bool) -> Whole:
    """Coefficients on the part of [0, 1] from ``start`` to ``stop``, in that direction."""
    if start.low > stop.high:
        return restrict(coefficients, stop, start, bits, up=up)[::-1]
    part, _ = split(coefficients, stop, bits, up=up)
    if stop.high == 0:
        return part
    ratio = Between((start.low << bits) // stop.high, min(1 << bits, -((-start.high << bits) // max(stop.low, 1))))
    return split(part, ratio, bits, up=up)[1]


def split(coefficients: Whole, t: Between, bits: int, *, up: bool) -> tuple[Whole, Whole]:
    """Coefficients on [0, t] and [t, 1], by de Casteljau; bounds for every t in between."""
    left, right = [coefficients[0]], [coefficients[-1]]
    ends = np.array(t, dtype=object)
    while coefficients.size > 1:
        step = np.diff(coefficients)
        along = step * ends[((step >= 0) == up).astype(np.intp)]
        along = -(-along >> bits) if up else along >> bits
        coefficients = coefficients[:-1] + along
        left.append(coefficients[0])
        right.append(coefficients[-1])
    return np.array(left, dtype=object), np.array(right[::-1], dtype=object)


def as_float(value: int, bits: int) -> float:
    return float(Fraction(value, 1 << bits))


def as_float_above(value: int, bits: int) -> float:
    """The least float64 that is not below value 2^-bits."""
    return rounded_up(Fraction(value, 1 << bits))


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


class IdenticalPair(NamedTuple):
    """All K voters at the same (p, p')."""

    p: float
    q: float
    K: int

    def named(self) -> dict[str, int]:
        """The pair, and K."""
        return {f"({self.p:.12g},{self.q:.12g})": self.K}


@dataclass(frozen=True, eq=False)
class _Segment:
    """Bernstein coefficients on one segment: upper bounds for X(p), lower bounds for X(p')."""

    ends: tuple[tuple[float, float], tuple[float, float]]
    p_side: Whole
    q_side: Whole
    below: bool  # the diagonal: p >= p'
    depth: int = 0

    def halves(self) -> tuple[_Segment, _Segment]:
        (a, b), (c, d) = self.ends
        middle = ((a + c) / 2, (b + d) / 2)
        p_sides, q_sides = halve(self.p_side, up=True), halve(self.q_side, up=False)
        return (
            _Segment((self.ends[0], middle), p_sides[0], q_sides[0], self.below, self.depth + 1),
            _Segment((middle, self.ends[1]), p_sides[1], q_sides[1], self.below, self.depth + 1),
        )


class IdenticalVoters:
    """The worst case of one noise function over identically distributed voters: a `Separation` of its own.

    Parameters
    ----------
    gamma : array_like, shape (K + 1,)
    limit : Limit
        Of a problem with ``max_affected`` = K: if all voters are alike, a change reaches all of them.

    Raises
    ------
    InputError

    Notes
    -----
    Lemma B.1 of Jiang, Zhang, Joshi (TMLR 2024) is the case of Delta = 0 and a monotone gamma, where two edges are
    enough; no shape is assumed here. O(K^2) for each halving, some hundred of them.
    """

    def __init__(self, gamma: ArrayLike, limit: Limit[MajorityProblem]) -> None:
        problem = limit.problem
        table = noise_function(gamma, problem.K)
        if problem.max_affected != problem.K:
            raise InputError(
                f"Identically distributed voters all change together. Got max_affected = {problem.max_affected} of "
                f"{problem.K}. Pass max_affected = K, or verify without identical=True."
            )
        self._problem, self._delta = problem, limit.delta
        steps = np.abs(np.diff(np.sign(2 * np.arange(problem.K + 1) - problem.K) * table))
        small = min(x for x in (1.0, problem.Delta, self._delta, *steps.tolist()) if x > 0)
        most_loss = 2 * problem.K * problem.epsilon
        # How many of X(0), X(1), ... are 0, that is, how fast X falls to 0 with p.
        self._order = int(np.argmax(np.append(acceptance(table), 1.0) > 0))
        self._bits = (
            256 + math.ceil(-math.log2(small)) + math.ceil(min(1.45 * most_loss, 8192)) + 40 * min(self._order, 64)
        )
        sides = np.sign(2 * np.arange(problem.K + 1) - problem.K).tolist()
        exact = [
            (1 + side * Fraction(value)) * 2 ** (self._bits - 1)
            for side, value in zip(sides, table.tolist(), strict=True)
        ]
        self._up = np.array([math.ceil(value) for value in exact], dtype=object)
        self._down = np.array([math.floor(value) for value in exact], dtype=object)
        self._segments = list(self._edges())

    def facts(self) -> Facts:
        """With delta = 0 no epsilon below r epsilon holds, as X(p) ~ p^r and p = e^epsilon p' near 0."""
        pure = self._delta == self._problem.Delta == 0
        floor = _UPWARDS.multiply(Decimal(self._order), Decimal(self._problem.epsilon)) if pure else Decimal(0)
        return Facts(answers=2, least=Fraction(int(self._down.min()), 2**self._bits), epsilon_floor=floor)

    def worst_cases(self, epsilon: Decimal) -> list[WorstCase]:
        """The worst pair, with a bound on all others."""
        return [self.glimpse(epsilon)]

    def broken(self, epsilon: Decimal, threshold: float, effort: int, near: Collection[Any] = ()) -> list[WorstCase]:
        """The worst pair, if its excess is above ``threshold``."""
        return [worst for worst in self.worst_cases(epsilon) if worst.bound - worst.rounding > threshold]

    def worst(self, *epsilons: Decimal) -> list[WorstCase]:
        return [largest(self.worst_cases(epsilon)) for epsilon in epsilons]

    def glimpse(self, epsilon: Decimal) -> WorstCase:
        """The worst pair at one epsilon, with a bound on all others."""
        epsilon = min(epsilon, _LARGEST)
        with decimals(epsilon):
            grow = math.floor(epsilon.exp() * 2**self._bits * (1 - _TINY))  # below e^epsilon, conservatively
        # The excess in units of 2^-(2 bits). A segment is settled once its bound is close to what is attained; if that
        # is not enough to tell whether delta is kept, it is halved further.
        limit = math.floor(Fraction(self._delta) * 2 ** (2 * self._bits))
        exact = Fraction(epsilon)
        flat = self._slow_until if exact >= self._order * Fraction(self._problem.epsilon) else -1.0
        slack = 1 << (self._bits + 40)
        rate = math.ceil(exact * 2**80)

        def value_of(segment: _Segment) -> _Value:
            excess = (segment.p_side << self._bits) - grow * segment.q_side
            j = int(np.argmax(excess))
            settled = segment.below and segment.ends[-1][0] <= flat
            top = min(0, excess[j]) if settled else excess[j]
            return _Value(top, excess[0], excess[-1], slack + (rate * grow * segment.q_side[j] >> (80 + _CLOSE)))

        values = [value_of(segment) for segment in self._segments]
        while len(values) < _MAX_SEGMENTS:
            best = max(max(value.start, value.stop) for value in values)
            near = best + (max(0, best) >> _CLOSE)
            unsettled = [
                i
                for i, value in enumerate(values)
                if value.top > near + value.slack or (value.top > limit >= best and self._segments[i].depth < _DEEPEST)
            ]
            if not unsettled:
                break
            for i in reversed(unsettled):
                halves = self._segments.pop(i).halves()
                del values[i]
                self._segments += halves
                values += [value_of(half) for half in halves]
        at, end = max(product(range(len(values)), (0, 1)), key=lambda which: values[which[0]][1 + which[1]])
        segment = self._segments[at]
        bound, attained = max(value.top for value in values), values[at][1 + end]
        p_side, q_side, (p, q) = segment.p_side[-end], segment.q_side[-end], segment.ends[end]
        for left, right in self._turning_pairs:
            excess = (left.high << self._bits) - grow * right.low
            if excess > bound:
                bound, attained = excess, (left.low << self._bits) - grow * right.high
                p_side, q_side, (p, q) = left.high, right.low, (left.middle, right.middle)
        return WorstCase(
            bound=min(1.0, as_float_above(bound, 2 * self._bits)),
            rounding=as_float_above(max(0, bound - attained), 2 * self._bits),
            case=IdenticalPair(p, q, self._problem.K),
            p_side=as_float(p_side, self._bits),
            q_side=as_float(q_side, self._bits),
            difference=as_float(p_side - q_side, self._bits),
        )

    def _edges(self) -> Iterator[_Segment]:
        """The edges of the polygon; those below the diagonal, where p >= p', if X is known to rise."""
        D = Fraction(self._problem.Delta)
        epsilon = Decimal(self._problem.epsilon)
        with decimals(epsilon, self._bits // 3):
            s, Delta = (-epsilon).exp(), Decimal(self._problem.Delta)
            hi, lo = (1 + Delta * s) / (1 + s), (1 - Delta) * s / (1 + s)
            scale = 2**self._bits
            high, low = (Between(math.floor(x * scale) - 1, math.ceil(x * scale) + 1) for x in (hi, lo))

        def exact(x: Fraction) -> Between:
            return Between(math.floor(x * scale), math.ceil(x * scale))

        bottom, top, small, large = map(exact, (Fraction(0), Fraction(1), D, 1 - D))
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
        turns: list[_Turn] = []
        rose, parts = True, [(0.0, 1.0, self._up, self._down, 0)]  # X rises from X(0), the least, if it moves at all
        while parts:  # from left to right
            a, b, up, down, depth = parts.pop()
            rises, falls = bool(np.all(down[1:] >= up[:-1])), bool(np.all(up[1:] <= down[:-1]))
            if rises or falls:
                if rises != rose:
                    turns.append(_Turn(a, a, up[0], down[0]))
                rose = rises
            elif depth == _DEEP or len(turns) + len(parts) >= _MAX_TURNS:
                turns.append(_Turn(a, b, max(up), min(down)))
            else:
                ups, downs = halve(up, up=True), halve(down, up=False)
                middle = (a + b) / 2
                parts.append((middle, b, ups[1], downs[1], depth + 1))
                parts.append((a, middle, ups[0], downs[0], depth + 1))
        return turns

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


def certify(gamma: ArrayLike, problem: MajorityProblem) -> Certificate:
    """Whether a noise function satisfies the guarantee if all voters have one distribution; ``max_affected`` is K.

    ``worst_case`` has one entry, the pair (p, p') of all of them, which attains ``needed_delta`` but for ``rounding``.
    """
    check_arithmetic()
    check_size(problem)
    limit = guarantee(problem)
    voters = IdenticalVoters(gamma, limit)
    return proved(voters, limit, largest(voters.worst_cases(limit.epsilon)))

"""The largest of counts with continuous noise, exactly: of each noise so many digits as it takes to tell.

Only the place of the largest is released, so nothing but comparisons must be exact. Every noise is known to lie in an
interval. It shrinks by one more word of random bits wherever two intervals overlap, for both, and for good. Two reals
that are equal have probability 0, so this ends. No floating-point number is drawn, and nothing is rounded.

    Exponential (von Neumann).  In a row of uniform reals x > z_1 > z_2 > ... the first n steps hold with probability
    x^n / n!, so the number that hold is even with probability e^-x. Then m + x is drawn, m the number of rows before
    in which it was odd.
    Normal (Karney, ACM TOMS 42, 2016, Algorithm N).  k with probability in proportion to e^(-k^2 / 2), x uniform, kept
    with probability e^(-x (2 k + x) / 2): k + x and a sign. That is k + 1 rows as above, in which each step also asks
    for a coin of bias q = (2 k + x) / (2 k + 2): an even number holds with probability e^(-x q).
    Laplace: exponential with a sign. Gumbel: -ln of an exponential.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.arrays import Array
from darrm.numerics.exact import context
from darrm.randomness.choices import uniform
from darrm.randomness.coins import Words, WordSource, of_rows, system_words
from darrm.randomness.discrete import RealCoins

Integers = NDArray[np.int64]
_WORD = 64
_ROUNDING = 2.0**-50  # more than eight roundings of float64
_HUGE = 1e300
_DIGITS = 20  # decimal digits of a logarithm beyond those that the words known so far can tell


class Uniforms:
    """n independent uniform reals in [0, 1), each known to as many words as were asked for so far.

    Parameters
    ----------
    n : int
    words : WordSource
    bits : int
        Of each word; below 64 only in tests, where ties are wanted.
    """

    def __init__(self, n: int, words: WordSource, bits: int) -> None:
        self._draw, self.bits = words, bits
        self.first: Words = words(n) >> np.uint64(_WORD - bits)
        self._later: dict[int, list[int]] = {}  # all words, of those that have more than one

    def word(self, i: int, j: int) -> int:
        """Word j of the i-th."""
        if not j:
            return int(self.first[i])
        known = self._later.setdefault(i, [int(self.first[i])])
        while len(known) <= j:
            known.append(int(of_rows(self._draw, slice(i, i + 1))(1)[0]) >> _WORD - self.bits)
        return known[j]

    def refine(self, i: int) -> None:
        """One more word of the i-th."""
        self.word(i, len(self._later.get(i, [0])))

    def known(self, i: int) -> tuple[int, int]:
        """Of the i-th, all bits that are known, as one integer, and how many they are."""
        total = 0
        words = self._later.get(i) or [int(self.first[i])]
        for word in words:
            total = (total << self.bits) + word
        return total, len(words) * self.bits

    def below(self, other: Uniforms, at: Integers) -> NDArray[np.bool_]:
        """Whether the i-th is below number at[i] of the other, for all i."""
        theirs = other.first[at]
        less = self.first < theirs
        for i in np.flatnonzero(self.first == theirs).tolist():
            place, j = int(at[i]), 1
            while self.word(i, j) == other.word(place, j):
                j += 1
            less[i] = self.word(i, j) < other.word(place, j)
        return less

    def put(self, at: Integers, other: Uniforms, which: Integers) -> None:
        """Number which[i] of the other in place at[i], with all its words; it must not be used there any more."""
        self.first[at] = other.first[which]
        for place, i in zip(at.tolist(), which.tolist(), strict=True) if other._later else ():
            if i in other._later:
                self._later[place] = other._later[i]


@dataclass
class Deviates:
    """Independent reals sign * (whole + fraction), shape (n,)."""

    sign: Integers
    whole: Integers
    fraction: Uniforms

    def near(self) -> tuple[Array, Array]:
        """Float64 numbers, and how far off they are at most."""
        step = 2.0**-self.fraction.bits
        size = self.whole + (self.fraction.first + 0.5) * step
        return np.asarray(self.sign * size), step + _ROUNDING * (1 + size)

    def bounds(self, i: int) -> tuple[Fraction | float, Fraction | float]:
        """Between which the i-th lies, by what is known of it."""
        bits, count = self.fraction.known(i)
        low = Fraction((int(self.whole[i]) << count) + bits, 1 << count)
        high = low + Fraction(1, 1 << count)
        return (low, high) if self.sign[i] > 0 else (-high, -low)


class Gumbels(Deviates):
    """-ln of such reals, which must be positive."""

    def near(self) -> tuple[Array, Array]:
        size, off = super().near()
        value = -np.log(size)
        # |ln(1 + x)| <= 2 |x| for |x| <= 1/2. Logarithms of float64 are right to less than eight roundings.
        wide = np.where(off <= size / 2, 2 * off / size, math.inf)
        return value, wide + _ROUNDING * (1 + np.abs(value))

    def bounds(self, i: int) -> tuple[Fraction | float, Fraction | float]:
        low, high = super().bounds(i)
        _, bits = self.fraction.known(i)
        digits = int(bits * 0.30103) + _DIGITS

        def log(x: Fraction) -> tuple[Fraction, Fraction]:
            with localcontext(context(digits)):
                found = Fraction((Decimal(x.numerator) / Decimal(x.denominator)).ln())
            # One rounding of the quotient, one of the logarithm.
            return found, (2 + abs(found)) * Fraction(1, 10 ** (digits - 2))

        least, off = log(Fraction(high))
        most, more = log(Fraction(low)) if low else (-math.inf, 0)
        return -least - off, -most + more


def exponential(n: int, words: WordSource = system_words, bits: int = _WORD) -> Deviates:
    """Of density e^-z on z >= 0."""
    whole, fraction = np.zeros(n, dtype=np.int64), Uniforms(n, words, bits)
    rest = np.arange(n)
    while rest.size:
        own = of_rows(words, rest)
        x = Uniforms(rest.size, own, bits)
        even = _even(x, np.arange(rest.size), own)
        fraction.put(rest[even], x, np.flatnonzero(even))
        rest = rest[~even]
        whole[rest] += 1
    return Deviates(np.ones(n, dtype=np.int64), whole, fraction)


def laplace(n: int, words: WordSource = system_words, bits: int = _WORD) -> Deviates:
    """Of density e^-|z| / 2."""
    found = exponential(n, words, bits)
    found.sign = _signs(n, words)
    return found


def gumbel(n: int, words: WordSource = system_words, bits: int = _WORD) -> Gumbels:
    """Of distribution function e^(-e^-z)."""
    found = exponential(n, words, bits)
    return Gumbels(found.sign, found.whole, found.fraction)


def gaussian(n: int, words: WordSource = system_words, bits: int = _WORD) -> Deviates:
    """Of density proportional to e^(-z^2 / 2)."""
    whole, fraction = np.zeros(n, dtype=np.int64), Uniforms(n, words, bits)
    rest = np.arange(n)
    while rest.size:
        own = of_rows(words, rest)
        k, x = _whole_parts(rest.size, own), Uniforms(rest.size, own, bits)
        fine, left = np.arange(rest.size), k + 1
        done = np.zeros(rest.size, dtype=np.bool_)
        while fine.size:
            fine = fine[_even(x, fine, own, k)]
            left[fine] -= 1
            done[fine[left[fine] == 0]] = True
            fine = fine[left[fine] > 0]
        whole[rest[done]] = k[done]
        fraction.put(rest[done], x, np.flatnonzero(done))
        rest = rest[~done]
    return Deviates(_signs(n, words), whole, fraction)


def _even(x: Uniforms, which: Integers, words: WordSource, k: Integers | None = None) -> NDArray[np.bool_]:
    """Whether an even number of steps of a row that begins with x holds, for each of ``which``; with k also coins q.

    ``words`` are for all of x, as those of `_coins` are.
    """
    even = np.ones(which.size, dtype=np.bool_)
    at, last, place = np.arange(which.size), x, which
    while at.size:
        z = Uniforms(at.size, of_rows(words, which[at]), x.bits)
        holds = np.flatnonzero(z.below(last, place))
        if k is not None:
            holds = holds[_coins(x, which[at[holds]], k, words)]
        at, last, place = at[holds], z, holds
        even[at] ^= True
    return even


def _coins(x: Uniforms, which: Integers, k: Integers, words: WordSource) -> NDArray[np.bool_]:
    """Coins of bias (2 k + x) / (2 k + 2)."""
    twice = 2 * k[which]
    own = of_rows(words, which)
    piece = uniform(twice + 2, own)  # of [0, 1), cut into 2 k + 2
    holds = piece < twice
    unsure = np.flatnonzero(piece == twice)
    holds[unsure] = Uniforms(unsure.size, of_rows(own, unsure), x.bits).below(x, which[unsure])
    return holds


def _signs(n: int, words: WordSource) -> Integers:
    return np.where(words(n) >> np.uint64(_WORD - 1), 1, -1)


def _beyond(k: int) -> Decimal:
    """Pr[whole part > k | it is k at least], in proportion to e^(-k^2 / 2)."""
    total = term = Decimal(1)  # in units of e^(-(k + 1)^2 / 2)
    j = k + 1
    while total + term != total:
        term *= (-Decimal(2 * j + 1) / 2).exp()
        total += term
        j += 1
    return total / (total + (Decimal(2 * k + 1) / 2).exp())


_MORE = RealCoins(_beyond)


def _whole_parts(n: int, words: WordSource) -> Integers:
    whole, rest, k = np.zeros(n, dtype=np.int64), np.arange(n), 0
    while rest.size:
        rest = rest[_MORE.flip(np.full(rest.size, k), of_rows(words, rest))]
        whole[rest] += 1
        k += 1
    return whole


def winners(behind: Integers, rate: Fraction, draw: Callable[[int], Deviates]) -> Integers:
    """Which of noise - rate * behind is largest in each row, shape (n,): exactly.

    Parameters
    ----------
    behind : ndarray of int >= 0, shape (n, classes)
        How many votes a class has less than another; the least of a row must be 0.
    rate : Fraction > 0
        What a vote is worth, in units of the noise.
    draw : callable
        From how many to as many deviates.
    """
    noise = draw(behind.size)
    with np.errstate(over="ignore"):
        lost = np.minimum(float(min(rate, Fraction(_HUGE))) * behind, _HUGE)
    value, off = (part.reshape(behind.shape) for part in noise.near())
    off = off + _ROUNDING * (np.abs(value) + lost)
    value = value - lost
    best = np.asarray(value.argmax(axis=1))
    own = best[:, None]
    low = np.take_along_axis(value - off, own, axis=1)
    high = value + off
    np.put_along_axis(high, own, -math.inf, axis=1)
    for row in np.flatnonzero((high >= low).any(axis=1)).tolist():
        best[row] = _largest([rate * less for less in behind[row].tolist()], noise, row * behind.shape[1])
    return best


def _largest(lost: list[Fraction], noise: Deviates, start: int) -> int:
    """The same of one row, by as many digits as it takes; its noise begins at ``start``."""
    while True:
        ends = [noise.bounds(start + j) for j in range(len(lost))]
        low = [end[0] - less for end, less in zip(ends, lost, strict=True)]
        best = low.index(max(low))
        rivals = [j for j in range(len(lost)) if j != best and ends[j][1] - lost[j] > low[best]]
        if not rivals:
            return best
        for j in (best, *rivals):
            noise.fraction.refine(start + j)


def reach(noise: Deviates, least: list[Fraction]) -> NDArray[np.bool_]:
    """Whether each deviate is at least ``least``, one for each: exactly."""
    value, off = noise.near()
    near = np.array([float(min(max(each, Fraction(-_HUGE)), Fraction(_HUGE))) for each in least])
    off = off + _ROUNDING * (np.abs(value) + np.abs(near))
    found = np.asarray(value >= near)
    for i in np.flatnonzero(np.abs(value - near) <= off).tolist():
        low, high = noise.bounds(i)
        while low < least[i] < high:
            noise.fraction.refine(i)
            low, high = noise.bounds(i)
        found[i] = low >= least[i]
    return found

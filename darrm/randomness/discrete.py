"""Exact integer noise, discrete Laplace, from coins whose biases are real numbers.

A real bias is given by its binary digits, as many as are asked for; a coin compares them with uniform bits until one
differs (`darrm.randomness.coins`), so its bias is that number and no rounding of it.

    Let G be geometric, Pr[G >= k] = p^k, p = e^-gamma. Its binary digits are independent, digit j being 1 with
    probability p^(2^j) / (1 + p^(2^j)): for Pr[G = k] = (1 - p) p^k is a product over the digits of k. The difference
    of two such variables has Pr[X = k] proportional to e^(-gamma |k|).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.exact import context
from darrm.randomness.coins import WordSource, of_rows, system_words

Integers = NDArray[np.int64]
_WORD = 64
_SURELY_RATIONAL = 5000  # more decimal digits than so many, all 0 or all 9, are not computed to tell a binary one
_TOP = 64  # nats, from which on the highest digits are drawn as one rare event


class RealCoins:
    """Coins whose biases are real numbers in (0, 1).

    Parameters
    ----------
    bias : callable
        From an index to that bias: a `Fraction` if it is rational, else a `Decimal`, right to the precision of the
        current context.
    """

    def __init__(self, bias: Callable[[int], Decimal | Fraction]) -> None:
        self._bias = bias
        self._words: dict[int, list[int]] = {}

    def word(self, which: int, j: int) -> int:
        """Binary digits 64 j, ..., 64 j + 63 of a bias."""
        known = self._words.setdefault(which, [])
        while len(known) <= j:
            known[:] = self._digits(which, 2 * len(known) + 2)
        return known[j]

    def _digits(self, which: int, words: int) -> list[int]:
        bits, extra = _WORD * words, 10
        while extra < _SURELY_RATIONAL:
            # Digits that an error in the last place could change are computed again, more precisely.
            digits = int(bits * 0.30103) + 20 + extra
            with localcontext(context(digits)):
                bias = self._bias(which)
                if isinstance(bias, Fraction):
                    if not 0 < bias < 1:
                        raise ValueError(f"A bias must be in (0, 1). Got {bias}.")
                    low = high = (bias.numerator << bits) // bias.denominator
                else:
                    value = bias * (Decimal(2) ** bits)
                    slack = value * Decimal(10) ** (8 - digits) + Decimal(10) ** (8 - extra)
                    low, high = int(value - slack), int(value + slack)
            if low == high:
                return [low >> _WORD * (words - 1 - j) & (1 << _WORD) - 1 for j in range(words)]
            extra *= 2
        raise ValueError(f"A bias of few binary digits must be passed as a Fraction. Got {bias:.20g}.")

    def flip(self, which: Integers, draw: WordSource = system_words) -> NDArray[np.bool_]:
        """One independent coin for each entry of ``which``, shape (n,)."""
        out = np.zeros(which.size, dtype=np.bool_)
        undecided, j = np.arange(which.size), 0
        while undecided.size:
            kinds, place = np.unique(which[undecided], return_inverse=True)
            threshold = np.array([self.word(int(kind), j) for kind in kinds], dtype=np.uint64)[place]
            word = of_rows(draw, undecided)(undecided.size)
            out[undecided] = word < threshold
            undecided, j = undecided[word == threshold], j + 1
        return out


class DiscreteLaplace:
    """Integers X with Pr[X = k] proportional to e^(-rate |k|), exactly.

    Parameters
    ----------
    rate : Fraction, at least some 1e-15
        63 bits hold 9000 times that scale, which is exceeded with probability e^-9000.
    """

    def __init__(self, rate: Fraction) -> None:
        self.rate = rate
        self._bits = max(0, int(Fraction(_TOP) / rate).bit_length())

        def bias(j: int) -> Decimal:
            power: Decimal = (-Decimal(rate.numerator) * Decimal(2**j) / Decimal(rate.denominator)).exp()
            # The last index is the event that a geometric variable needs more digits than are drawn.
            return power if j == self._bits else power / (1 + power)

        self._coins = RealCoins(bias)

    def draw(self, n: int, words: WordSource = system_words) -> Integers:
        """n independent integers."""
        return self._geometric(n, words) - self._geometric(n, words)

    def _geometric(self, n: int, words: WordSource) -> Integers:
        total = np.zeros(n, dtype=np.int64)
        for j in range(self._bits):
            total += self._coins.flip(np.full(n, j), words).astype(np.int64) << j
        # With probability p^(2^bits) the variable is beyond, and what is above 2^bits is a fresh one (no memory).
        rest = np.arange(n)
        while True:
            rest = rest[self._coins.flip(np.full(rest.size, self._bits), words)]
            if not rest.size:
                return total
            total[rest] += 1 << self._bits

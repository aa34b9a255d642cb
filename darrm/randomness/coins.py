"""Exact Bernoulli samples ("coins").

A float64 probability q is a dyadic rational, so a coin with exactly that bias exists: compare q, bit by bit, with a
uniform real U whose bits are drawn from the operating system, and return 1 if U < q. Here the bits come 64 at a time.
No floating-point number is drawn and nothing is rounded, so the bias is q and not q up to 2^-53.

    Proof.  Write q = (q_1 + q_2 2^-64 + ...) 2^-64 with words q_j in [0, 2^64), finitely many not 0, and U likewise
    with independent uniform words U_j. The coin is decided at the first j with U_j != q_j, as 1 if U_j < q_j. If all
    words of q from j on are 0, U >= q whatever follows: 0. So the coin is 1 exactly if U < q, with probability q.
"""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
_WORD = 64


class WordSource(Protocol):
    """Draws n independent uniform words of 64 bits."""

    def __call__(self, n: int) -> Words: ...


def of_rows(draw: WordSource, which: NDArray[np.intp] | slice) -> WordSource:
    """The source for some of what a source draws for: itself, unless each row has words of its own."""
    part = getattr(draw, "of", None)  # of `darrm.randomness.keyed.KeyedWords`
    return draw if part is None else part(which)


def system_words(n: int) -> Words:
    """n words from the operating system's cryptographic generator."""
    return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)


class Coins:
    """Coins with exactly the given biases.

    Parameters
    ----------
    biases : sequence of Fraction in [0, 1]
        Dyadic rationals (what every float64 is).
    word_bits : int, default 64
        How many bits of each word are looked at in one step; fewer only for tests that go through all words.
    """

    def __init__(self, biases: list[Fraction], word_bits: int = _WORD) -> None:
        for q in biases:
            if not 0 <= q <= 1 or q.denominator & (q.denominator - 1):
                raise ValueError(f"A bias must be a dyadic rational in [0, 1]. Got {q}.")
        self._bits = word_bits
        scale = 1 << word_bits
        # Bias 1 has no binary expansion with a first word below 2^64; its coin is decided without a word.
        self._sure = np.array([q == 1 for q in biases])
        remainders = [Fraction(0) if q == 1 else q for q in biases]
        self._words: list[Words] = []
        while not self._words or any(remainders):
            scaled = [q * scale for q in remainders]
            words = [q.numerator // q.denominator for q in scaled]
            self._words.append(np.array(words, dtype=np.uint64))
            remainders = [q - w for q, w in zip(scaled, words, strict=True)]

    def flip(self, which: NDArray[np.intp], draw: WordSource = system_words) -> NDArray[np.uint8]:
        """One independent coin for each entry of ``which``, an index into the biases; 1 with exactly that bias.

        Returns
        -------
        ndarray of uint8, shape of ``which`` (n,)
        """
        threshold = self._words[0][which]
        word = draw(which.size)
        out = (word < threshold).astype(np.uint8)
        tied = np.flatnonzero(word == threshold)
        for words in self._words[1:]:
            if not tied.size:
                break
            threshold, word = words[which[tied]], of_rows(draw, tied)(tied.size)
            out[tied] = word < threshold
            tied = tied[word == threshold]
        if self._sure.any():
            out |= self._sure[which]
        return out

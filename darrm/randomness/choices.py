"""Exact draws among several answers, and among several that are equally likely.

Probabilities p_0, ..., p_(m-1) that are dyadic rationals (what every float64 is) and sum exactly to 1 cut [0, 1) into m
pieces, at the sums c_j = p_0 + ... + p_j, j < m - 1. The answer is the piece that holds a uniform real U, whose bits
are drawn from the operating system 64 at a time: the number of sums c_j <= U. Nothing is rounded.

    Proof.  After t words U is known to be in [u, u + w), w = 2^(-64 t), u a multiple of w. A sum c_j <= u is <= U, and
    a sum c_j >= u + w is above U; so once no sum is strictly between, the number of sums <= U is the number of those
    <= u, whatever follows. This comes to an end: a dyadic rational is a multiple of w for t large enough, and no
    multiple of w is strictly between. So the answer is j exactly if c_(j-1) <= U < c_j, with probability p_j.

Among m equally likely: a word below the largest multiple of m in [0, 2^64] leaves each remainder by m equally often;
any other word is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from darrm.randomness.coins import Words, WordSource, of_rows, system_words

_WORD = 64


class Choices:
    """Draws of one of m answers, with exactly the probabilities of each case.

    Parameters
    ----------
    cases, answers : int
        How many there are; ``answers`` is m.
    probabilities : callable
        From the number of a case to its m probabilities: dyadic rationals of sum 1, `Fraction`. It is asked when a case
        comes up first, so cases that never come up cost nothing; it must say the same each time.
    word_bits : int, default 64
        How many bits each word has; fewer only for tests that go through all words.
    """

    def __init__(
        self, cases: int, answers: int, probabilities: Callable[[int], list[Fraction]], word_bits: int = _WORD
    ) -> None:
        self._probabilities, self._answers = probabilities, answers
        self._scale = 1 << word_bits
        # The first word of each sum. Two threads may fill a case at once: they write the same.
        self._first = np.zeros((answers - 1, cases), dtype=np.uint64)
        self._known = np.zeros(cases, dtype=np.bool_)

    def draw(self, which: NDArray[np.intp], words: WordSource = system_words) -> NDArray[np.intp]:
        """One independent answer in 0..m - 1 for each entry of ``which``, the number of a case; shape (n,)."""
        for case in np.unique(which[~self._known[which]]).tolist():
            # The sum 1 has no first word below the scale; its last word is tied with, and then looked at exactly.
            first = [min(int(total * self._scale), self._scale - 1) for total in self._sums(case)]
            self._first[:, case] = np.array(first, dtype=np.uint64)
            self._known[case] = True
        word = words(which.size)
        out, tied = np.zeros(which.size, dtype=np.intp), np.zeros(which.size, dtype=np.bool_)
        for threshold in self._first:
            own = threshold[which]
            out += own < word
            tied |= own == word
        for i in np.flatnonzero(tied).tolist():
            out[i] = self._settled(int(which[i]), int(word[i]), of_rows(words, slice(i, i + 1)))
        return out

    def _sums(self, case: int) -> list[Fraction]:
        """c_0, ..., c_(m-2)."""
        chances = self._probabilities(case)
        dyadic = all(p >= 0 and not p.denominator & (p.denominator - 1) for p in chances)
        if not dyadic or len(chances) != self._answers or sum(chances) != 1:
            raise ValueError(f"There must be {self._answers} dyadic rationals of sum 1. Got {chances}.")
        return list(accumulate(chances[:-1]))

    def _settled(self, case: int, word: int, words: WordSource) -> int:
        """The answer of a case whose uniform real begins with ``word``."""
        sums, width = self._sums(case), Fraction(1, self._scale)
        low = word * width
        while any(low < total < low + width for total in sums):
            width /= self._scale
            low += int(words(1)[0]) * width
        return sum(total <= low for total in sums)


def uniform(sizes: NDArray[np.intp], words: WordSource = system_words, word_bits: int = _WORD) -> NDArray[np.intp]:
    """One independent integer for each of ``sizes``, equally likely in 0, ..., size - 1; shape (n,).

    Parameters
    ----------
    sizes : ndarray of int, shape (n,), in [1, 2^word_bits]
    """
    out = np.zeros(sizes.size, dtype=np.intp)
    left = np.flatnonzero(sizes > 1)
    most = np.uint64((1 << word_bits) - 1)
    while left.size:
        size: Words = sizes[left].astype(np.uint64)
        last = most - (most % size + np.uint64(1)) % size  # below which each remainder is equally frequent
        word = of_rows(words, left)(left.size)
        fine = word <= last
        out[left[fine]] = (word % size)[fine]
        left = left[~fine]
    return out

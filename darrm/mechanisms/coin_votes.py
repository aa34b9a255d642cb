"""Rows of votes for 0 and 1 as one of finitely many cases, each with an exact coin."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm._validation import several_classes, shown
from darrm.errors import InputError
from darrm.randomness.coins import Coins, WordSource


class CoinVotes:
    """Reads rows of K votes as cases, and flips the exact coin of each.

    Parameters
    ----------
    biases : list of Fraction
        Pr[answer 1] of each case.
    ones : sequence of int, length K
        Increment of the case number by a vote for 1, for each column.
    present : sequence of int, length K, optional
        Increment of the case number by a present vote. If given, votes may be absent: -1.
    """

    said = "numbers 0 and 1"

    def __init__(self, biases: list[Fraction], ones: Sequence[int], present: Sequence[int] | None = None) -> None:
        self.K = len(ones)
        self._coins = Coins(biases)
        self._ones = np.array(ones, dtype=np.int64)
        self._present = None if present is None else np.array(present, dtype=np.int64)

    def cases(self, votes: NDArray[Any], row: int) -> NDArray[np.intp]:
        """The case of each row of numbers, shape (n, K); errors count rows from ``row``."""
        ones = votes == 1
        known = ones | (votes == 0)
        fine = known if self._present is None else known | (votes == -1)
        if not fine.all():
            i, j = np.argwhere(~fine)[0]
            allowed = "0 or 1" if self._present is None else "0, 1 or, for an absent voter, -1"
            vote = votes[i, j].item()
            raise InputError(
                f"A vote must be {allowed}. Got {shown(vote)} in row {row + i}, column {j}.{several_classes(vote)}"
            )
        if self._present is None and np.all(self._ones == 1):
            return np.asarray(np.count_nonzero(ones, axis=1), dtype=np.intp)
        cases = np.asarray(ones @ self._ones, dtype=np.intp)
        return cases if self._present is None else cases + np.asarray(known @ self._present, dtype=np.intp)

    def law(self, cases: NDArray[np.intp]) -> NDArray[np.int64]:
        """What the probabilities of each label depend on, shape (n, 1)."""
        return np.asarray(cases, dtype=np.int64)[:, np.newaxis]

    def labels(self, cases: NDArray[np.intp], draw: WordSource) -> NDArray[np.uint8]:
        """One label for each case."""
        return self._coins.flip(cases, draw)

"""Rows of votes for several classes by voters that may be absent: each attendance has its own table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm.design.design import Design
from darrm.mechanisms.class_labels import Labels, as_labels
from darrm.mechanisms.class_votes import ClassVotes, check_votes
from darrm.randomness.choices import uniform
from darrm.randomness.coins import WordSource, of_rows
from darrm.votes.answers import in_numbers

_CELLS = 1 << 20  # counts or votes at a time, for memory


class AbsentVotes:
    """Reads rows of K votes for C classes, -1 for an absent voter, and draws by the table of the present voters.

    If no voter is present, all answers of least cost without votes are equally likely.

    Parameters
    ----------
    design : Design
        For absent voters, with several answers.
    """

    def __init__(self, design: Design) -> None:
        problem = design.problem
        self._design, self._totals, self._C = design, [group.count for group in problem.groups], problem.n_classes
        self.K, self.said = problem.K, f"{in_numbers(self._C)}, or -1 for an absent voter"
        self._group = np.repeat(np.arange(len(self._totals)), self._totals)  # of each column
        self._without = np.flatnonzero(design.answers_without_votes)
        self._made: dict[tuple[int, ...], ClassVotes] = {}

    def cases(self, votes: NDArray[Any], row: int) -> NDArray[Any]:
        """Rows of numbers, shape (n, K), as a copy of few bytes; errors count rows from ``row``."""
        check_votes(votes, self._C, row, absent=True)
        return votes.astype(np.int16)

    def law(self, cases: NDArray[Any]) -> NDArray[np.int64]:
        """What the probabilities of each label depend on: votes for each class in each group, shape (n, groups * C)."""
        return self._counted(cases).reshape(len(cases), len(self._totals) * self._C)

    def labels(self, cases: NDArray[Any], draw: WordSource) -> Labels:
        """One label for each row of checked votes."""
        groups, answers = len(self._totals), self._design.problem.n_answers
        found = as_labels(np.zeros(len(cases)), answers)
        step = max(1, _CELLS // max(self.K, groups * (self._C + 1)))
        for start in range(0, len(cases), step):
            rows = slice(start, start + step)
            found[rows] = self._drawn(self._counted(cases[rows]), of_rows(draw, rows))
        return found

    def _counted(self, votes: NDArray[Any]) -> NDArray[np.int64]:
        """How many votes each class has in each group, shape (n, groups, C)."""
        shape = (len(votes), len(self._totals), self._C + 1)  # the first for who is absent
        rows = np.arange(len(votes))[:, np.newaxis] * len(self._totals)
        at = (rows + self._group) * (self._C + 1) + votes + 1
        return np.bincount(at.ravel(), minlength=int(np.prod(shape))).reshape(shape)[..., 1:]

    def _drawn(self, counts: NDArray[np.int64], draw: WordSource) -> Labels:
        found = as_labels(np.zeros(len(counts)), self._design.problem.n_answers)
        every, which = np.unique(counts.sum(axis=2), axis=0, return_inverse=True)
        for at, present in enumerate(map(tuple, every.tolist())):
            rows = np.flatnonzero(which.ravel() == at)
            if any(present):
                theirs = counts[rows][:, [g for g, count in enumerate(present) if count]]
                found[rows] = self.of(present).of_counts(theirs, of_rows(draw, rows))
            else:
                found[rows] = self._without[uniform(np.full(len(rows), len(self._without)), of_rows(draw, rows))]
        return found

    def of(self, present: tuple[int, ...]) -> ClassVotes:
        """The sampler for the given numbers of present voters of each group, created at its first use."""
        if present not in self._made:
            design = self._design.with_present(present)
            self._made[present] = ClassVotes(design.problem, design.table)
        return self._made[present]

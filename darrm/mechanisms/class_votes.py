"""Rows of votes for several classes, and exact draws by a table of several answers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm._validation import several_classes, shown
from darrm.errors import InputError
from darrm.mechanisms.class_labels import Labels, as_labels, joined
from darrm.numerics.arrays import Array
from darrm.problem.class_tables import block_sizes, is_symmetric, masses
from darrm.problem.counts import sorted_counts
from darrm.problem.decision import DecisionProblem
from darrm.randomness.choices import Choices, uniform
from darrm.randomness.coins import WordSource, of_rows
from darrm.votes.answers import in_numbers
from darrm.votes.rows import other_than

Numbers = NDArray[np.int64]
_CELLS = 1 << 20  # counts or votes at a time, for memory


def check_votes(votes: NDArray[Any], classes: int, row: int, *, absent: bool = False) -> None:
    """`InputError` for a vote that is no class, nor -1 where voters may be absent; it counts rows from ``row``."""
    wrong = other_than(votes, classes, -1 if absent else 0)
    if wrong.size:
        i, j = divmod(int(wrong[0]), votes.shape[1])
        vote = votes[i, j].item()
        raise InputError(
            f"A vote must be an integer from 0 to {classes - 1}{' or, for an absent voter, -1' * absent}. Got "
            f"{shown(vote)} in row {row + i}, column {j}.{several_classes(vote, classes)}"
        )


class ClassVotes:
    """Reads rows of K votes for C classes, and draws an answer for the counts of each.

    By a full table the case of a row is its vector of counts, one for each group. By a symmetric table it is the
    sorted vector: a block of classes of equal counts is drawn, and then, all equally likely, one class of the block.

    Parameters
    ----------
    problem : DecisionProblem
        Not a binary one.
    table : ndarray
        See `darrm.problem.class_tables`, which says what is drawn.
    """

    def __init__(self, problem: DecisionProblem, table: Array) -> None:
        self.K, self._C = problem.K, problem.n_classes
        self.said = in_numbers(self._C)
        self._totals = [group.count for group in problem.groups]
        self._rows = table.reshape(-1, problem.n_answers)
        self._symmetric = is_symmetric(table, problem)
        if self._symmetric:
            self._sizes = block_sizes(problem)
            self._places = _Places(sorted_counts(self.K, self._C))
        self._ranks = [_lexicographic(total, self._C) for total in self._totals]
        self._choices = Choices(len(self._rows), problem.n_answers, self._masses)
        self._n_answers = problem.n_answers

    def cases(self, votes: NDArray[Any], row: int) -> NDArray[Any]:
        """Rows of numbers, shape (n, K), as a copy of few bytes; errors count rows from ``row``."""
        check_votes(votes, self._C, row)
        return as_labels(votes, self._C)

    def law(self, cases: NDArray[Any]) -> Numbers:
        """What the probabilities of each label depend on: votes for each class in each group, shape (n, groups * C)."""
        return self._counted(cases).reshape(len(cases), len(self._totals) * self._C)

    def labels(self, cases: NDArray[Any], draw: WordSource) -> Labels:
        """One label for each row of checked votes."""
        return self._joined(
            self.of_counts(self._counted(cases[rows]), of_rows(draw, rows)) for rows in self._parts(len(cases))
        )

    def of_counts(self, counts: Numbers, draw: WordSource) -> Labels:
        """One label for each vector of counts, shape (n, groups, C), each of the sum of its group."""
        return self._joined(self._drawn(counts[rows], of_rows(draw, rows)) for rows in self._parts(len(counts)))

    def _parts(self, n: int) -> Iterator[slice]:
        step = max(1, _CELLS // max(self.K, len(self._totals) * self._C))
        return (slice(start, start + step) for start in range(0, n, step))

    def _joined(self, parts: Iterator[Any]) -> Labels:
        return joined([as_labels(np.zeros(0), self._n_answers), *parts])

    def _counted(self, votes: NDArray[Any]) -> Numbers:
        """How many votes each class has in each group, shape (n, groups, C)."""
        shape = (len(votes), len(self._totals), self._C)
        first = np.repeat(self._C * np.arange(len(self._totals)), self._totals)  # of the group of each column
        at = votes + first
        at += (math.prod(shape[1:]) * np.arange(len(votes)))[:, np.newaxis]
        return np.bincount(at.ravel(), minlength=math.prod(shape)).reshape(shape)

    def _drawn(self, counts: Numbers, draw: WordSource) -> Labels:
        if not self._symmetric:
            case = np.zeros(len(counts), dtype=np.intp)
            for g, ranks in enumerate(self._ranks):
                case *= math.comb(self._totals[g] + self._C - 1, self._C - 1)
                left = self._totals[g] - np.cumsum(counts[:, g, :-1], axis=1)
                case += ranks[np.arange(self._C - 1), left].sum(axis=1)
            return as_labels(self._choices.draw(case, draw), self._n_answers)
        # Classes of equal counts are equally likely, so their order makes no difference to the probabilities. It is
        # the same on every machine, because a label of keyed randomness must be.
        order = np.argsort(-counts[:, 0], axis=1, kind="stable")
        case = self._places.of(np.take_along_axis(counts[:, 0], order, axis=1))
        entry = self._choices.draw(case, draw)
        entry += uniform(self._sizes[case, entry], draw)
        answers = np.minimum(entry, self._C - 1)
        labels = np.take_along_axis(order, answers[:, np.newaxis], axis=1)[:, 0]
        labels[entry == self._C] = self._C
        return as_labels(labels, self._n_answers)

    def _masses(self, case: int) -> list[Fraction]:
        row = self._rows[case].tolist()
        return masses(row, self._sizes[case].tolist() if self._symmetric else [1] * len(row))


def _lexicographic(total: int, classes: int) -> Numbers:
    """What the counts of the classes add to the place of a vector among `count_vectors`, shape (C - 1, total + 1).

    Entry [i, r], with r votes left after class i: all vectors with the same counts before and more votes for class i
    come earlier. Their last C - i - 1 counts have a sum below r: there are comb(r + C - i - 2, C - i - 1) such.
    """
    return np.array(
        [[math.comb(left + classes - i - 2, classes - i - 1) for left in range(total + 1)] for i in range(classes - 1)],
        dtype=np.int64,
    )


class _Places:
    """Finds vectors of counts, all of which must be in the list, by sums modulo 2^64 that are different."""

    def __init__(self, vectors: Numbers) -> None:
        for base in range(0x9E3779B97F4A7C15, 1 << 64, 2):
            powers = [pow(base, i, 1 << 64) for i in range(vectors.shape[1])]
            self._weights = np.array(powers, dtype=np.uint64)
            keys = self._keys_of(vectors)
            self._order = np.argsort(keys)
            self._keys = keys[self._order]
            if np.all(self._keys[1:] != self._keys[:-1]):
                break

    def of(self, vectors: Numbers) -> NDArray[np.intp]:
        return np.asarray(self._order[np.searchsorted(self._keys, self._keys_of(vectors))])

    def _keys_of(self, vectors: Numbers) -> NDArray[np.uint64]:
        return np.asarray(vectors.astype(np.uint64) @ self._weights)

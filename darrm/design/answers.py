"""What a design answers: to given votes, and to fewer voters, or none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.objectives import Objective
from darrm.problem.class_votes import class_probabilities
from darrm.problem.counts import Counts
from darrm.problem.encodings import Encoding
from darrm.problem.groups import checked_present


class Answers:
    """The answers of a `darrm.Design`."""

    problem: Any
    table: Array
    encoding: Encoding
    objective: Objective
    fewer: Mapping[tuple[int, ...], Any]

    @property
    def release_probabilities(self) -> Array:
        """The probabilities of all answers, in a last axis, at each entry of the table, whatever its encoding."""
        return self.encoding.probabilities(self.table)

    def probabilities(self, counts: ArrayLike) -> Array:
        """The probabilities of all answers for given votes.

        Parameters
        ----------
        counts : array_like of int
            For two classes the numbers of ones in each group, shape (n, groups) or (groups,). For more the votes for
            each class in each group, shape (n, groups, classes) or (groups, classes); for one group also (n, classes)
            or (classes,), or (n, 1, classes).

        Returns
        -------
        ndarray, shape (n, answers) or (answers,)
        """
        problem = self.problem
        sizes = np.array([group.count for group in problem.groups])
        votes = array("counts", counts, None, 0, ends="[)", wholes=True).astype(np.int64)
        if not problem.binary:
            return self._of_classes(votes, sizes)
        if votes.ndim not in (1, 2) or votes.shape[-1] != len(sizes):
            raise InputError(
                f"counts must have one column for each of the {len(sizes)} groups. Got shape {votes.shape}."
            )
        if np.any(votes > sizes):
            raise InputError(f"counts must be at most the group sizes {sizes.tolist()}. Got {votes.max(axis=0)}.")
        return np.asarray(self.release_probabilities[tuple(np.moveaxis(votes, -1, 0))])

    def _of_classes(self, votes: Counts, sizes: Counts) -> Array:
        problem = self.problem
        whole = (len(sizes), problem.n_classes)
        if len(sizes) == 1 and votes.ndim in (1, 2):
            votes = votes[..., None, :]
        if votes.ndim not in (2, 3) or votes.shape[-2:] != whole:
            raise InputError(
                f"counts must be the votes for each of {whole[1]} classes in each of {whole[0]} groups, shape "
                f"(n, {whole[0]}, {whole[1]}). Got shape {np.shape(votes)}."
            )
        sums = votes.sum(axis=-1)
        if np.any(sums != sizes):
            worst = sums.reshape(-1, len(sizes))[np.any(sums != sizes, axis=-1).ravel()][0]
            raise InputError(f"counts must sum to the sizes of the groups, {sizes.tolist()}. Got {worst.tolist()}.")
        found = class_probabilities(self.table, problem, votes.reshape(-1, *whole))
        return np.asarray(found.reshape(*votes.shape[:-2], problem.n_answers))

    @property
    def absent(self) -> bool:
        """Whether voters may be absent."""
        return bool(self.fewer)

    @property
    def without_votes(self) -> float:
        """The probability of answer 1 if no voter is present."""
        return self.answers_without_votes[1]

    @property
    def answers_without_votes(self) -> tuple[float, ...]:
        """The probabilities of all answers if no voter is present: the answers of least cost are equally likely."""
        cost = self.objective.costs_without_votes(self.problem)
        best = [math.isclose(each, cost.min(), rel_tol=1e-12) for each in cost.tolist()]
        return tuple(one / sum(best) for one in best)

    def with_present(self, present: Sequence[int]) -> Self:
        """The decision for the given numbers of present voters of each group, at least one in all.

        Raises
        ------
        InputError
            If voters may not be absent, or a group has fewer voters.
        """
        counts = checked_present(self.problem, present)
        if counts == tuple(group.count for group in self.problem.groups):
            return self
        if not self.absent:
            raise InputError(
                f"This decision needs all its {self.problem.K} voters. Got {list(counts)}. Solve it with absent=True."
            )
        if not any(counts):
            raise InputError("No voter is present: answers have the probabilities answers_without_votes.")
        found: Self = self.fewer[counts]
        return found

    @property
    def _tables(self) -> list[tuple[tuple[int, ...], Array]]:
        """The numbers of present voters of each group, and the table for them: for all, or for any, and for none."""
        every = tuple(group.count for group in self.problem.groups)
        if not self.absent:
            return [(every, self.table)]
        present = [counts for counts in product(*(range(count + 1) for count in every)) if any(counts)]
        alone = self.without_votes if self.problem.binary else self.answers_without_votes
        return [
            ((0,) * len(every), np.array(alone)),
            *((counts, self.with_present(counts).table) for counts in present),
        ]

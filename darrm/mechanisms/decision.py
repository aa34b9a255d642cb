"""Releasing a decision from the votes of groups of voters."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import array, not_a_design
from darrm.design.absent import MAX_CASES
from darrm.design.decision import DecisionDesign
from darrm.errors import InputError
from darrm.mechanisms.class_labels import Labels
from darrm.mechanisms.class_votes import ClassVotes
from darrm.mechanisms.coin_votes import CoinVotes
from darrm.mechanisms.released_votes import ReleasedVotes
from darrm.problem.decision import DecisionProblem
from darrm.randomness.words import word_source


class PrivateDecision(ReleasedVotes):
    """A certified decision from the votes of groups of voters: one exact draw for each vector of counts.

        Pr[release o | n = (n_1, ..., n_G) votes for each class in the groups] = X_o(n)

    A row of votes has one column for each voter, group after group in the design's order. If the design was made for
    absent voters, a vote may be -1: then the decision for the voters that are present is released. Who is absent must
    not depend on the data, on votes or on their noise; a voter whose absence would tell something has to vote.

    Votes and labels in arrays are numbers, 0 and 1 or 0, ..., C - 1 for the classes and C for "none", whatever they
    are called: ``design.problem.named(labels)`` gives their names. Files of `darrm release` and columns of
    `darrm.columns.release` hold the names.

    One release is (epsilon, delta)-DP for the design's problem. What several cost depends on whether the voters are
    fresh or fixed; the same votes released twice are not fresh.

    Parameters
    ----------
    design : DecisionDesign
        From `darrm.solve`, `darrm.load` or `darrm.DecisionDesign`, which hold only verified tables.

    Raises
    ------
    InputError
        If the design is none, or voters may be absent and there are too many vectors of counts.

    Notes
    -----
    For two answers the bias of each coin is the table's entry, to the last bit (`darrm.randomness.coins`). For more,
    every probability is the table's but that of one answer, or block of alike answers, of each row, which has the rest
    (`darrm.mechanisms.class_tables`, `darrm.randomness.choices`). A symmetric table treats all classes alike: votes for
    other classes in the same numbers have the same probabilities, relabelled, exactly.

    Examples
    --------
    Two groups of two voters, a row of votes each query; and two queries by their numbers of ones:

    >>> import darrm
    >>> groups = [darrm.VoterGroup(2, epsilon=1.0), darrm.VoterGroup(2, epsilon=0.2)]
    >>> problem = darrm.DecisionProblem(groups, epsilon=1.0)
    >>> design = darrm.solve(problem, objective=darrm.objectives.truth([0.7, 0.55]))
    >>> mechanism = darrm.mechanisms.PrivateDecision(design)
    >>> labels = mechanism.release([[1, 0, 1, 1], [0, 0, 1, 0]])
    >>> labels.shape, set(labels.tolist()) <= {0, 1}
    ((2,), True)
    >>> mechanism.release_counts([[1, 2], [0, 1]]).shape
    (2,)
    """

    def __init__(self, design: DecisionDesign) -> None:
        if not isinstance(design, DecisionDesign):
            raise not_a_design("PrivateDecision takes a DecisionDesign", design)
        self.design = design
        if not design.problem.binary:
            if design.absent:
                raise InputError("Voters may be absent where there are two answers only. Solve it without absent.")
            self._classes = ClassVotes(design.problem, design.table)
            super().__init__(design, self._classes)
            return
        shape, columns = design.problem.shape, [group.count for group in design.problem.groups]
        strides = [int(np.prod(shape[g + 1 :])) for g in range(len(shape))]
        ones = np.repeat(strides, columns).tolist()
        if not design.absent:
            super().__init__(design, CoinVotes(list(map(Fraction, design.table.ravel().tolist())), ones))
            return
        size = design.table.size
        if size**2 > MAX_CASES:
            raise InputError(
                f"With absent voters there are {size**2:,} vectors of present voters and counts; at most "
                f"{MAX_CASES:,} can be released from."
            )
        biases = [Fraction(1, 2)] * size**2  # of cases that cannot be, such as more ones than voters
        for present in product(*(range(n + 1) for n in columns)):
            if any(present):
                table = design.with_present(present).table
                own = [g for g, count in enumerate(present) if count]
            else:
                table, own = np.array(design.without_votes), []
            start = size * int(np.dot(present, strides))
            for n, value in np.ndenumerate(table):
                case = start + sum(strides[g] * count for g, count in zip(own, n, strict=True))
                biases[case] = Fraction(float(value))
        super().__init__(design, CoinVotes(biases, ones, [size * stride for stride in ones]))

    def __repr__(self) -> str:
        return f"PrivateDecision({self.design!r})"

    def release_counts(self, counts: ArrayLike, rng: np.random.Generator | None = None) -> Labels:
        """One decision for each vector of the numbers of ones in each group, all voters present.

        Parameters
        ----------
        counts : array_like of int, shape (n, groups)
            Where there are more than two answers, the numbers of votes for each class, shape (n, groups, C); for one
            group (n, C) too.
        rng : numpy.random.Generator, optional
            As in `release`.

        Returns
        -------
        ndarray of uint8, shape (n,)
            Of uint16 for more than 256 answers.

        Raises
        ------
        InputError
            If the shape is wrong, a count is not a whole number up to the size of its group, or the counts of all
            classes do not sum to it.
        """
        problem = self.design.problem
        if not problem.binary:
            return self._classes.of_counts(_counts_of_classes(problem, counts), word_source(rng, stacklevel=3))
        ones = array("counts", counts, ("n", len(problem.groups)), 0, ends="[)", wholes=True)
        sizes = np.array([group.count for group in problem.groups])
        if np.any(ones > sizes):
            raise InputError(f"counts must be at most the sizes of the groups, {sizes.tolist()}. Got more.")
        cases = np.ravel_multi_index(tuple(ones.astype(np.intp).T), problem.shape)
        if self.design.absent:
            cases = cases + (self.design.table.size - 1) * self.design.table.size  # all are present
        return self._flip(cases, word_source(rng, stacklevel=3))


def _counts_of_classes(problem: DecisionProblem, counts: ArrayLike) -> NDArray[np.int64]:
    """Votes for each class in each group, shape (n, groups, C), refused unless each group has all its votes."""
    sizes, C = [group.count for group in problem.groups], problem.n_classes
    votes = array("counts", counts, None, 0, ends="[)", wholes=True)
    shape = (votes.shape[0] if votes.ndim else 0, len(sizes), C)
    if votes.shape != shape and (len(sizes) > 1 or votes.shape != shape[::2]):
        allowed = f"(n, {len(sizes)}, {C})" + f", or (n, {C})" * (len(sizes) == 1)
        raise InputError(f"counts must be votes for each class, shape {allowed}. Got shape {votes.shape}.")
    votes = votes.reshape(shape)
    if np.any(votes.sum(axis=2) != sizes):
        raise InputError(f"counts must sum to the sizes of the groups, {sizes}, over all classes. Got other sums.")
    return votes.astype(np.int64)

"""Releasing the majority of private votes, or a decision by groups of voters."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import array, not_a_design, whole
from darrm.design.absent import MAX_CASES
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.mechanisms.absent_votes import AbsentVotes
from darrm.mechanisms.class_labels import Labels
from darrm.mechanisms.class_votes import ClassVotes
from darrm.mechanisms.coin_votes import CoinVotes
from darrm.mechanisms.label_key import Key
from darrm.mechanisms.own_votes import OwnVotes
from darrm.mechanisms.released_votes import ReleasedVotes
from darrm.numerics.arrays import Array
from darrm.problem.groups import ByGroups


class PrivateDecision(ReleasedVotes):
    """Release of a certified majority or decision from the votes of groups of voters, by exact sampling.

        Pr[release o | n = (n_1, ..., n_G) votes for each class in the groups] = X_o(n)

    For a noise function this is data-dependent randomized response on the majority (DaRRM, which is also an alias of
    this class):

        Pr[release 1 | l ones of K] = (1 + gamma(l)) / 2 for l > K/2,  (1 - gamma(l)) / 2 for l < K/2,  1/2 on a tie

    A row of votes has one column for each voter, group after group in the design's order. An array has no names of
    columns: with columns in another order the guarantee of the design does not hold. Files of `darrm release` and
    frames of `darrm.columns.release` are read by the names of the voters, if the design has them. If the design was
    made for absent voters, a vote may be -1, and the decision for the present voters is released. Who is absent must
    not depend on the data, on votes or on their noise; a voter whose absence would depend on them has to vote.

    Votes and labels in arrays are numbers, 0 and 1 or 0, ..., C - 1 for the classes and C for "none", whatever they
    are called: ``design.problem.named(labels)`` gives their names. Files of `darrm release` and columns of
    `darrm.columns.release` hold the names.

    One release is (epsilon, delta)-DP for the release_epsilon and delta of the design's problem. The cost of several
    releases depends on the voters. Voters are fresh if each answer is private by its own randomness. Voters are fixed
    if they were trained with DP once: the costs of their single releases must not be added up. Votes that are released
    twice are not fresh.

    Parameters
    ----------
    design : Design
        From `darrm.solve`, `darrm.load` or `darrm.Design`, which accept only certified tables.

    Raises
    ------
    InputError
        If it is not a design, or voters may be absent and there are too many vectors of counts.

    Notes
    -----
    Algorithm 1 of Jiang, Zhang, Joshi (TMLR 2024), with one exact Bernoulli draw in place of two. For two answers its
    probability is the rational number above, to the last bit (`darrm.randomness.coins`). For more answers, every
    probability is that of the table, except one answer, or block of like answers, of each row, which has the rest
    (`darrm.problem.class_tables`, `darrm.randomness.choices`). A symmetric table treats all classes alike: votes for
    other classes in the same numbers have the same probabilities, relabelled, exactly.

    Examples
    --------
    Two queries to five voters, one private label each:

    >>> import darrm
    >>> import numpy as np
    >>> mechanism = darrm.mechanisms.DaRRM(darrm.solve(K=5, m=1, epsilon=0.5))
    >>> votes = np.array([[1, 1, 1, 0, 1], [0, 0, 1, 0, 0]])
    >>> labels = mechanism.release(votes)
    >>> labels.shape, labels.dtype, set(labels.tolist()) <= {0, 1}
    ((2,), dtype('uint8'), True)

    The probabilities of labels 0 and 1, for 0 to 5 ones:

    >>> mechanism.kernel(5).round(2).tolist()
    [[1.0, 0.0], [0.8, 0.2], [0.6, 0.4], [0.4, 0.6], [0.2, 0.8], [0.0, 1.0]]

    Two groups of two voters, and two queries by their numbers of ones:

    >>> groups = [darrm.VoterGroup(2, epsilon=1.0), darrm.VoterGroup(2, epsilon=0.2)]
    >>> problem = darrm.DecisionProblem(groups, epsilon=1.0)
    >>> design = darrm.solve(problem, objective=darrm.objectives.truth([0.7, 0.55]))
    >>> darrm.mechanisms.PrivateDecision(design).release_counts([[1, 2], [0, 1]]).shape
    (2,)
    """

    def __init__(self, design: Design) -> None:
        if not isinstance(design, Design):
            raise not_a_design("PrivateDecision takes a Design", design)
        self.design = design
        if not design.problem.binary:
            if design.absent:
                votes = AbsentVotes(design)
                self._classes = votes.of(tuple(group.count for group in design.problem.groups))
                super().__init__(design, votes)
                return
            self._classes = ClassVotes(design.problem, design.table)
            super().__init__(design, self._classes)
            return
        shape, columns = design.problem.table_shape, [group.count for group in design.problem.groups]
        strides = [int(np.prod(shape[g + 1 :])) for g in range(len(shape))]
        ones = np.repeat(strides, columns).tolist()
        if not design.absent:
            exact = design.encoding.exact(design.table, design.problem)
            super().__init__(design, CoinVotes([one for _, one in exact], ones))
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

    def release_counts(
        self,
        counts: ArrayLike,
        rng: np.random.Generator | None = None,
        *,
        public: bool = False,
        key: Key | None = None,
        ids: Iterable[str] | None = None,
    ) -> Labels:
        """One label for each vector of the numbers of ones in each group, all voters present.

        Parameters
        ----------
        counts : array_like of int, shape (n, groups)
            Of one group (n,) too. Where there are more than two answers, the numbers of votes for each class, shape
            (n, groups, C); for one group (n, C) too.
        rng : numpy.random.Generator, optional
        public : bool
        key : LabelKey or path, optional
        ids : iterable of str, optional
            As in `release`. A row has the same label by its votes as by its counts.

        Returns
        -------
        ndarray of uint8, shape (n,)
            Of uint16 for more than 256 answers.

        Raises
        ------
        InputError
            If the shape is wrong, a count is not an integer up to the size of its group, or the counts of all
            classes do not sum to it. If these are the votes that the prior was read from, as in `release`.
        """
        problem = self.design.problem
        if not problem.binary:
            votes = _counts_of_classes(problem, counts)
            law = votes.reshape(len(votes), len(problem.groups) * problem.n_classes)
            return self._classes.of_counts(votes, self._source(rng, key, ids, lambda: law))
        cases = _cases(problem, counts)
        OwnVotes(self.design, public).add_cases(cases)
        if self.design.absent:
            cases = cases + (self.design.table.size - 1) * self.design.table.size  # all are present
        return self._flip(cases, self._source(rng, key, ids, lambda: self._of_law(cases)))

    def kernel(self, k: int) -> Array:
        """Pr[label = o | l ones], shape (K + 1, 2): [l, o]; ``k`` must be K. Of one group and two answers.

        Raises
        ------
        InputError
            If ``k`` is another number, or there are several groups or more answers.
        """
        problem = self.design.problem
        if not problem.binary or len(problem.groups) > 1:
            raise InputError("kernel is for one group of voters and two answers. Pass design.probabilities instead.")
        k = whole("k", k)
        if k != problem.K:
            raise InputError(f"k must be K: eta has one value for each of K = {problem.K} voters. Got {k}.")
        return self.design.release_probabilities


DaRRM = PrivateDecision  # the paper's name


def _cases(problem: ByGroups, counts: ArrayLike) -> NDArray[np.intp]:
    """The entry of the table for each vector of the numbers of ones, refused above the sizes of the groups."""
    sizes = np.array([group.count for group in problem.groups])
    ones = array("counts", counts, None, 0, ends="[)", wholes=True)
    shape = ones.shape[:1] + (() if len(sizes) == 1 and ones.ndim == 1 else (len(sizes),))
    if ones.ndim == 0 or ones.shape != shape:
        allowed = f"(n, {len(sizes)})" + ", or (n,)" * (len(sizes) == 1)
        raise InputError(f"counts must be the numbers of ones in each group, shape {allowed}. Got shape {ones.shape}.")
    ones = ones.reshape(len(ones), len(sizes))
    if np.any(ones > sizes):
        raise InputError(f"counts must be at most the sizes of the groups, {sizes.tolist()}. Got more.")
    return np.asarray(np.ravel_multi_index(tuple(ones.astype(np.intp).T), problem.table_shape), dtype=np.intp)


def _counts_of_classes(problem: ByGroups, counts: ArrayLike) -> NDArray[np.int64]:
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

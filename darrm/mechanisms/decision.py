"""Releasing a decision from the votes of groups of voters."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import array
from darrm.design.absent import MAX_CASES
from darrm.design.decision import DecisionDesign
from darrm.errors import InputError
from darrm.mechanisms.released_votes import ReleasedVotes
from darrm.randomness.words import word_source


class PrivateDecision(ReleasedVotes):
    """A certified decision from the votes of groups of voters: one exact coin for each vector of counts.

        Pr[release 1 | n = (n_1, ..., n_G) ones in the groups] = X(n)

    A row of votes has one column for each voter, group after group in the design's order. If the design was made for
    absent voters, a vote may be -1: then the decision for the voters that are present is released. Who is absent must
    not depend on the data, on votes or on their noise; a voter whose absence would tell something has to vote.

    Labels in arrays are the numbers 0 and 1, whatever the answers are called: ``design.problem.named(labels)`` gives
    their names. Files of `darrm release` and columns of `darrm.columns.release` hold the names.

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
    The bias of each coin is the table's entry, to the last bit (`darrm.randomness.coins`).
    """

    def __init__(self, design: DecisionDesign) -> None:
        if not isinstance(design, DecisionDesign):
            raise InputError(
                f"PrivateDecision takes a DecisionDesign from darrm.solve or darrm.load. Got {type(design).__name__}."
            )
        self.design = design
        shape, columns = design.problem.shape, [group.count for group in design.problem.groups]
        strides = [int(np.prod(shape[g + 1 :])) for g in range(len(shape))]
        ones = np.repeat(strides, columns).tolist()
        if not design.absent:
            super().__init__(design, list(map(Fraction, design.table.ravel().tolist())), ones)
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
        super().__init__(design, biases, ones, [size * stride for stride in ones])

    def __repr__(self) -> str:
        return f"PrivateDecision({self.design!r})"

    def release_counts(self, counts: ArrayLike, rng: np.random.Generator | None = None) -> NDArray[np.uint8]:
        """One decision for each vector of the numbers of ones in each group, all voters present.

        Parameters
        ----------
        counts : array_like of int, shape (n, groups)
        rng : numpy.random.Generator, optional
            As in `release`.

        Returns
        -------
        ndarray of uint8, shape (n,)

        Raises
        ------
        InputError
            If the shape is wrong or a count is not a whole number up to the size of its group.
        """
        problem = self.design.problem
        ones = array("counts", counts, ("n", len(problem.groups)), 0, ends="[)", wholes=True)
        sizes = np.array([group.count for group in problem.groups])
        if np.any(ones > sizes):
            raise InputError(f"counts must be at most the sizes of the groups, {sizes.tolist()}. Got more.")
        cases = np.ravel_multi_index(tuple(ones.astype(np.intp).T), problem.shape)
        if self.design.absent:
            cases = cases + (self.design.table.size - 1) * self.design.table.size  # all are present
        return self._flip(cases, word_source(rng, stacklevel=3))

"""The truth, from voters that are right with known probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.objectives.objective import Objective, checked_counts
from darrm.objectives.voters import (
    OfVoters,
    checked_accuracy,
    checked_none,
    checked_prior,
    exchangeable,
    near,
    table_of,
    voters_said,
)
from darrm.problem.groups import ByGroups


@dataclass(frozen=True, eq=False)
class Truth(OfVoters):
    """The truth; see `truth`.

    Examples
    --------
    The cost of both answers where the one voter says 0, and where it says 1, times how often it does:

    >>> import darrm
    >>> problem = darrm.DecisionProblem([darrm.VoterGroup(1, epsilon=1.0)], epsilon=1.0)
    >>> darrm.objectives.truth([0.75]).costs(problem).round(4).tolist()
    [[0.125, 0.375], [0.375, 0.125]]
    """

    confusion: tuple[object, ...]
    prior: tuple[float, ...] | None = None
    cost: tuple[tuple[float, ...], ...] | None = None  # 0 for the right answer and 1 for a wrong one
    none: float | None = None
    kind: ClassVar[str] = "truth"

    def said(self) -> dict[str, list[int]]:
        return {**voters_said(self.confusion, self.prior), "cost": [len(self.cost[0])] if self.cost else []}

    @property
    def plain(self) -> bool:
        """Whether the cost is the label error rate."""
        cost = np.array(self.cost if self.cost is not None else [[0.0]])
        return self.none is None and bool(np.array_equal(cost, 1 - np.eye(len(cost))))

    @property
    def cost_in_words(self) -> str:
        return "the label error rate" if self.plain else "the mean cost of an answer, by the given costs"

    def _spelled(self, classes: int) -> Truth:
        cost = self.cost or tuple(tuple(float(r != y) for y in range(classes)) for r in range(classes))
        if self.none is not None:
            cost = (*cost, (self.none,) * classes)
        return replace(
            self,
            confusion=tuple(table_of(entry, classes) for entry in self.confusion),
            prior=self.prior or (1 / classes,) * classes,
            cost=cost,
            none=None,
        )

    def check_answers(self, problem: ByGroups) -> None:
        rows = len(self.cost or ())
        if rows < problem.n_answers:
            raise InputError(
                'cost must have a last row for the answer "none", which this problem has. Pass it, or none=0.3 for '
                "what that answer costs whatever the truth."
            )
        if rows > problem.n_answers:
            raise InputError(
                'cost has a last row for the answer "none", which this problem does not have. Leave it out, or make '
                "the problem with none=True."
            )

    def costs(self, problem: ByGroups) -> Array:
        cost = np.array(self.of(problem).cost)
        return np.asarray(np.einsum("ot,t...->...o", cost, self.chances(problem)))

    def costs_at(self, problem: ByGroups, counts: ArrayLike) -> Array:
        own = self.of(problem)
        return np.asarray(np.einsum("ot,tm->mo", np.array(own.cost), own.joint(checked_counts(problem, counts))))

    def costs_without_votes(self, problem: ByGroups) -> Array:
        if problem.binary:
            return super().costs_without_votes(problem)
        own = self.of(problem)
        return np.asarray(np.array(own.cost) @ np.array(own.prior))

    def symmetric(self, problem: ByGroups) -> bool:
        own = self.of(problem)
        cost, classes = np.array(own.cost), problem.n_classes
        return own.alike() and exchangeable(cost[:classes]) and all(map(near, cost[classes:]))

    def __str__(self) -> str:
        return "the truth"


def truth(
    accuracy: Sequence[object],
    prior: ArrayLike | None = None,
    cost: ArrayLike | None = None,
    none: float | None = None,
) -> Objective:
    """The expected cost of errors against the truth, for voters that are right with known probabilities.

        C(n, o) = sum over y of  cost[o][y] Pr[truth = y, n]

    The optimal decision weighs votes as the Bayes rule does, within the guarantee. No guarantee rests on accuracy,
    prior or cost, if each comes from elsewhere than the votes or records to be protected. If they are measured on these
    votes, a change of one vote can reverse a label that was certified 1-DP. A design file holds them exactly.

    Parameters
    ----------
    accuracy : sequence with one entry for each group
        The probability that a vote is the truth, in [0, 1], every wrong class as likely. Or a C x C table with Pr[vote
        v | truth y] at [y][v]. Votes are independent given the truth. The accuracy is that of the vote as cast, with
        local noise included; see `randomized_response_accuracy`.
    prior : array_like, shape (C,), optional
        Pr[truth = 0], Pr[truth = 1] and so on; uniform if not given.
    cost : array_like, shape (C, C) or (C + 1, C), optional
        cost[released][truth], finite and at least 0; 1 for a wrong answer and 0 for a right one if not given. The last
        of C + 1 rows is for the further answer "none".
    none : float, at least 0, optional
        Cost of the further answer "none" for any truth; in place of that row.

    Returns
    -------
    Objective
        An objective for the number of classes of table, prior or cost; for any number if none of them sets it.

    Raises
    ------
    InputError
        If an accuracy or a prior is not a probability, or a cost is negative or not finite, or they are for different
        numbers of classes.

    Examples
    --------
    Two hospitals; an answer 0 where 1 is true costs five times as much as the reverse:

    >>> import darrm
    >>> hospitals = darrm.objectives.truth(accuracy=[0.8, 0.7], prior=[0.9, 0.1], cost=[[0, 5], [1, 0]])
    >>> groups = [darrm.VoterGroup(3, epsilon=0.5), darrm.VoterGroup(2, epsilon=0.5)]
    >>> design = darrm.solve(darrm.DecisionProblem(groups, epsilon=1.5), objective=hospitals)
    >>> round(design.expected_cost, 4)
    0.1205

    No answer, if an answer would be wrong with probability above 0.3:

    >>> careful = darrm.objectives.truth(accuracy=[0.8, 0.7], none=0.3)
    """
    rows: tuple[tuple[float, ...], ...] | None = None
    if cost is not None:
        table = array("cost", cost, ("answers", "classes"), 0, math.inf, "[)")
        answers, classes = table.shape
        if classes < 2 or answers not in (classes, classes + 1):
            raise InputError(
                'cost must have shape (C, C), or (C + 1, C) with a last row for the answer "none". Got shape '
                f"{table.shape}."
            )
        if none is not None and answers > classes:
            raise InputError('cost has a row for the answer "none" already. Leave out that row, or none.')
        if not table.any():
            raise InputError("cost must have an entry above 0. Got zeros alone: then every answer is as good.")
        rows = tuple(map(tuple, table.tolist()))
    return Truth(checked_accuracy(accuracy), checked_prior(prior), rows, checked_none(none)).agreeing()

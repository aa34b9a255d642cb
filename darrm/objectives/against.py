"""The objective `dissent`: the share of voters whose vote differs from the label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.objectives.objective import Objective, checked_counts
from darrm.objectives.voters import OfVoters, checked_accuracy, checked_none, checked_prior, table_of, voters_said
from darrm.problem.groups import ByGroups


@dataclass(frozen=True, eq=False)
class Dissent(OfVoters):
    """The share of voters with another vote than the label; see `dissent`.

    Examples
    --------
    The cost of both answers where none, one and both of two voters say 1, times how often they do:

    >>> import darrm
    >>> problem = darrm.DecisionProblem([darrm.VoterGroup(2, epsilon=1.0)], epsilon=1.0)
    >>> darrm.objectives.dissent([0.5]).costs(problem).tolist()
    [[0.0, 0.25], [0.25, 0.25], [0.25, 0.0]]
    """

    confusion: tuple[object, ...]
    prior: tuple[float, ...] | None
    none: float | None = None
    kind: ClassVar[str] = "dissent"

    @property
    def cost_in_words(self) -> str:
        return f"the share of voters with another vote{', and the costs of none' * (self.none is not None)}"

    def said(self) -> dict[str, list[int]]:
        return voters_said(self.confusion, self.prior)

    def _spelled(self, classes: int) -> Dissent:
        tables = tuple(table_of(entry, classes) for entry in self.confusion)
        return replace(self, confusion=tables, prior=self.prior or (1 / classes,) * classes)

    def check_answers(self, problem: ByGroups) -> None:
        if problem.none != (self.none is not None):
            raise InputError(
                f'Dissent {"needs" if problem.none else "has no use for"} what the answer "none" costs, for this '
                f"problem has {'that' if problem.none else 'no such'} answer. Pass none=0.5, or leave it out."
            )

    def costs_at(self, problem: ByGroups, counts: ArrayLike) -> Array:
        own, votes = self.of(problem), checked_counts(problem, counts)
        missed = 1 - votes.sum(axis=1) / problem.K
        if own.none is not None:
            missed = np.column_stack([missed, np.full(len(missed), own.none)])
        return np.asarray(own.joint(votes).sum(axis=0)[:, None] * missed)

    def costs_without_votes(self, problem: ByGroups) -> Array:
        return np.array([0.0] * problem.n_classes + [self.none] * problem.none, dtype=np.float64)  # nobody is against

    def symmetric(self, problem: ByGroups) -> bool:
        return self.of(problem).alike()

    def __str__(self) -> str:
        return "dissent"


def dissent(accuracy: Sequence[object], prior: ArrayLike | None = None, *, none: float | None = None) -> Objective:
    """The expected share of voters whose vote differs from the label.

        C(n, o) = Pr[n] (1 - n_o / K),      C(n, none) = Pr[n] none

    Where voters are absent, K is the number of those present; no votes cost 0.

    Without noise it is least if a class with most votes is released, as for the rule "plurality". With noise it prefers
    a close second to a class without votes, while that rule counts both as equally wrong.

    Parameters
    ----------
    accuracy, prior
        As in `truth`: the distribution of the votes, which must come from elsewhere than these votes or records.
    none : float, at least 0, optional
        Cost of the further answer "none" at all counts; required if the problem has it.

    Raises
    ------
    InputError

    Examples
    --------
    >>> import darrm
    >>> problem = darrm.DecisionProblem([darrm.VoterGroup(11, epsilon=0.1)], epsilon=0.3)
    >>> design = darrm.solve(problem, objective=darrm.objectives.dissent([0.6]))
    >>> round(design.expected_cost, 4)
    0.3715
    """
    return Dissent(checked_accuracy(accuracy), checked_prior(prior), checked_none(none)).agreeing()

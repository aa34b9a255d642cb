"""The objectives of the DaRRM paper: one of two errors under a prior of the votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import choice, refusal
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.objectives.objective import Objective, check_size, checked_counts
from darrm.priors.chances import independent
from darrm.priors.prior import OBJECTIVES, Prior, weights
from darrm.problem.counts import Counts
from darrm.problem.groups import ByGroups

_WHICH_PRIOR = "Pass priors.independent(), where all p in [1/2, 1] are equally likely, or another prior."


@dataclass(frozen=True)
class Paper(Objective):
    """An error under a prior; see `paper`.

    Examples
    --------
    >>> import darrm
    >>> goal = darrm.objectives.paper(darrm.priors.independent())
    >>> goal.name, str(goal.prior)
    ('tv', 'independent:0.5,1')
    """

    prior: Prior
    name: str
    kind: ClassVar[str] = "paper"
    assumed: ClassVar[str] = "the prior"

    @property
    def held(self) -> str:
        return "" if self.prior == independent() else "the figures of its prior"

    @property
    def cost_in_words(self) -> str:
        if self.name == "custom":
            return "the value of your own terms"
        what = "the disagreement rate, the probability that the label differs from the majority of the votes cast"
        if self.name == "tv":
            what = "the expected TV error, the total variation distance of the label from the plain majority"
        return f"{what}, under {self.prior}, votes and their mirror images equally likely"

    def costs(self, problem: ByGroups) -> Array:
        if problem.n_classes > 2 or problem.none:
            raise InputError(
                f"An objective by a prior is for two answers. Got {problem.n_answers}. Pass one by accuracies, such as "
                "darrm.objectives.truth."
            )
        check_size(problem)
        K, ones = problem.K, np.indices(problem.table_shape).sum(axis=0)
        # Of so many ones in all, every choice of the voters is as likely.
        ways = [_log_choices(group.count, np.arange(group.count + 1)) for group in problem.groups]
        share = np.exp(reduce(np.add.outer, ways) - _log_choices(K, ones))
        lost = np.zeros(K + 1)
        lost[K // 2 + 1 :] = weights(self.prior, K, self.name) / 2
        return np.asarray(np.stack([share * lost[ones], share * lost[K - ones]], axis=-1))

    def costs_at(self, problem: ByGroups, counts: ArrayLike) -> Array:
        votes = checked_counts(problem, counts)
        return np.asarray(self.costs(problem)[tuple(votes[..., 1].T)])

    def symmetric(self, problem: ByGroups) -> bool:
        return True

    def with_present(self, present: Sequence[int]) -> Paper:
        try:
            self.prior.ones(sum(present))
        except InputError as error:
            raise InputError(f"For absent voters a prior must be for any number of them. Got {self.prior}.") from error
        return self

    def as_dict(self) -> dict[str, object]:
        return {"kind": self.kind, "prior": self.prior.as_dict(), "name": self.name}

    def __str__(self) -> str:
        return self.name


def _log_choices(n: int, k: Counts) -> Array:
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])  # of factorials
    return np.asarray(logs[n] - logs[k] - logs[n - k])


def paper(prior: Prior, name: str = "tv") -> Paper:
    """The objective of the paper under a prior, which gamma_opt minimises among noise functions.

        "tv"            1/2 abs(E[Pr[release 1] - Pr[majority is 1]]), each side of a tie separately: Definition 2.4
        "disagreement"  the disagreement rate, the probability that the label differs from the majority of votes

    For a decision, votes and their mirror images are equally likely, because under a prior on p >= 1/2 alone the
    constant answer 1 has the least cost. So a noise function and its table for one group have the same cost. With
    several groups every voter is equally likely to be among the ones.

    Parameters
    ----------
    prior : Prior
        Of `darrm.priors`. No guarantee rests on it, if it comes from elsewhere than these votes or records.
    name : {"tv", "disagreement"}

    Raises
    ------
    InputError
        If the prior is none, or the name unknown.

    Examples
    --------
    The best noise function, and the best table of all for the same voters:

    >>> import darrm
    >>> problem = darrm.DecisionProblem([darrm.VoterGroup(31, epsilon=0.1)], epsilon=0.3)
    >>> goal = darrm.objectives.paper(darrm.priors.independent(), "disagreement")
    >>> round(darrm.solve(problem, objective=goal).expected_cost, 6)
    0.064134
    >>> round(darrm.solve(K=31, epsilon=0.1, release_epsilon=0.3, objective="disagreement").expected_cost, 6)
    0.06424
    """
    if not isinstance(prior, Prior):
        raise refusal("prior", "a prior of darrm.priors", prior, _WHICH_PRIOR)
    choice("objective", name, OBJECTIVES)
    return Paper(prior, name)

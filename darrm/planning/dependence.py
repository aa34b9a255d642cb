"""How much labels depend on the votes, and the error rate of a constant answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from darrm.numerics.arrays import Array
from darrm.objectives import OfVoters
from darrm.planning.setting import Setting
from darrm.problem.class_tables import is_symmetric
from darrm.problem.class_votes import all_votes, class_probabilities, votes_up_to_names, ways

_HARDLY = 0.1  # share of the dependence of the plain majority of the same votes


@dataclass(frozen=True)
class Dependence:
    """The dependence of a label on the votes, beside the best constant answer.

    Attributes
    ----------
    share : float
        E[TV(label given the votes, label)], TV the total variation distance, divided by its value for the plain
        majority of the same votes: 1 for the plain majority, 0 for labels that are independent of the votes.
    likeliest : str
        The most frequent answer of the labels.
    often : float
        The probability of that answer.
    constant : str
        The most frequent class of the truth.
    wrong : float
        The error rate of a label that is always this class. NaN if
    nothing is known of the truth.
    """

    share: float
    likeliest: str
    often: float
    constant: str
    wrong: float

    @property
    def hardly(self) -> bool:
        """Whether labels are almost independent of the votes."""
        return self.share <= _HARDLY


def dependence(setting: Setting, table: Array) -> Dependence | None:
    """The dependence of labels drawn by this table; None if the distribution of the votes is not known."""
    problem = setting.problem(1.0, 0.5)
    if setting.of_gamma:  # the probability above 1/2 that a label is the majority of its votes
        return Dependence(max(0.0, 1 - 2 * setting.disagreement(table)), "", 0.5, "", math.nan)
    if not isinstance(setting.objective, OfVoters):
        return None
    prior, names = np.array(setting.objective.of(problem).prior), problem.answers
    mean, spread = _law(setting, setting.objective, table)
    _, plain = _law(setting, setting.objective, setting.majority())
    often, constant = int(mean.argmax()), int(prior.argmax())
    share = spread / plain if plain else 1.0
    return Dependence(share, names[often], float(mean[often]), names[constant], float(1 - prior[constant]))


def none_rate(setting: Setting, table: Array) -> float:
    """The probability that a label is "none"; NaN if the distribution of the votes is not known."""
    if not isinstance(setting.objective, OfVoters):
        return math.nan
    return float(_law(setting, setting.objective, table)[0][-1])


def _law(setting: Setting, objective: OfVoters, table: Array) -> tuple[Array, float]:
    """The probability of each answer, and the mean total variation between it and the probabilities given the votes."""
    problem = setting.problem(1.0, 0.5)
    if problem.binary:
        chance = objective.chances(problem).sum(axis=0).ravel()
        rows = np.stack([1 - table.ravel(), table.ravel()], axis=1)
        mean = chance @ rows
    elif is_symmetric(table, problem) and objective.symmetric(problem):
        votes, rows = votes_up_to_names(problem), table
        chance = objective.chances_at(problem, votes).sum(axis=0) * ways(votes)
        mean = chance @ rows
        mean[: problem.n_classes] = mean[: problem.n_classes].mean()  # all names are equally likely
    else:
        votes = all_votes(problem)
        chance = objective.chances_at(problem, votes).sum(axis=0)
        rows = class_probabilities(table, problem, votes)
        mean = chance @ rows
    return mean, float(chance @ np.abs(rows - mean).sum(axis=1)) / 2

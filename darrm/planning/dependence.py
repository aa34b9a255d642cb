"""How much labels depend on the votes, and how often one answer to everything is wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from darrm.numerics.arrays import Array
from darrm.objectives import OfVoters
from darrm.planning.setting import Setting
from darrm.problem.class_tables import is_symmetric
from darrm.problem.class_votes import all_votes, class_probabilities, votes_up_to_names, ways

_HARDLY = 0.1  # of what the plain majority of the same votes depends on them


@dataclass(frozen=True)
class Dependence:
    """What the votes do to a label.

    Attributes
    ----------
    share : float
        E[TV(label given the votes, label)], TV the total variation, in units of that of the plain majority of the same
        votes: 1 for it, 0 for labels that never look at the votes.
    likeliest : str
        The answer that labels have most often, and
    often : float
        how often.
    constant : str
        The class that is the truth most often, and
    wrong : float
        how often a label is wrong that is always this one. NaN if nothing is known of the truth.
    """

    share: float
    likeliest: str
    often: float
    constant: str
    wrong: float

    @property
    def hardly(self) -> bool:
        """Whether labels hardly depend on the votes."""
        return self.share <= _HARDLY


def dependence(setting: Setting, table: Array) -> Dependence | None:
    """That of labels by this table; None if it is not known how votes fall."""
    problem = setting.problem(1.0, 0.5)
    if setting.of_gamma:  # a label is the majority of its votes by so much more than a coin
        return Dependence(max(0.0, 1 - 2 * setting.disagreement(table)), "", 0.5, "", math.nan)
    if not isinstance(setting.objective, OfVoters):
        return None
    prior, names = np.array(setting.objective.of(problem).prior), problem.answers
    mean, spread = _law(setting, setting.objective, table)
    _, plain = _law(setting, setting.objective, setting.majority())
    often, constant = int(mean.argmax()), int(prior.argmax())
    share = spread / plain if plain else 1.0
    return Dependence(share, names[often], float(mean[often]), names[constant], float(1 - prior[constant]))


def _law(setting: Setting, objective: OfVoters, table: Array) -> tuple[Array, float]:
    """How often a label is each answer, and the mean total variation of its law, given the votes, from that."""
    problem = setting.problem(1.0, 0.5)
    if problem.binary:
        chance = objective.chances(problem).sum(axis=0).ravel()
        rows = np.stack([1 - table.ravel(), table.ravel()], axis=1)
        mean = chance @ rows
    elif is_symmetric(table, problem) and objective.symmetric(problem):
        votes, rows = votes_up_to_names(problem), table
        chance = objective.chances_at(problem, votes).sum(axis=0) * ways(votes)
        mean = chance @ rows
        mean[: problem.n_classes] = mean[: problem.n_classes].mean()  # each name is as likely
    else:
        votes = all_votes(problem)
        chance = objective.chances_at(problem, votes).sum(axis=0)
        rows = class_probabilities(table, problem, votes)
        mean = chance @ rows
    return mean, float(chance @ np.abs(rows - mean).sum(axis=1)) / 2

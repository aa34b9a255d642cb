"""The majority of votes that are flipped at random until each is private enough: local noise only."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from darrm.baselines.baseline import Baseline, Family
from darrm.design.rules import most_voted
from darrm.numerics.arrays import Array
from darrm.numerics.binomials import binomials
from darrm.numerics.printed import at_most
from darrm.objectives import Objective
from darrm.problem.groups import ByGroups

_MOST_FLIPS = 20_000_000  # probabilities of flips that are listed: one group of 4471 votes
_SURE = 700.0  # nats: beyond, e^-epsilon is 0 in float64


def _family(problem: ByGroups, objective: Objective) -> Family:
    """The family by the epsilon of a flipped vote; X(n) is the probability of the majority 1, given n votes for 1."""
    majority = most_voted(problem)

    def table(epsilon: float) -> Array:
        found = majority
        for axis, group in enumerate(problem.groups):
            has, gets = expit(group.epsilon), expit(min(epsilon, group.epsilon))
            flip = (has - gets) / (2 * has - 1) if has > gets else 0.0
            ones = np.arange(group.count + 1)
            stay, turn = (binomials(group.count, p, 0.0)[0] for p in (1 - flip, flip))
            chances = np.array([np.convolve(stay[n], turn[group.count - n])[: group.count + 1] for n in ones])
            found = np.moveaxis(np.tensordot(chances, found, axes=(1, axis)), 0, axis)
        return np.asarray(np.clip(found, 0.0, 1.0))

    most = max(min(group.epsilon, _SURE) for group in problem.groups)
    return Family(table, 0.1, most, lambda epsilon: f"epsilon {at_most(epsilon, 4)} a vote")


BASELINE = Baseline(
    "majority of flipped votes",
    _family,
    "Warner (1965)",
    serves=lambda problem, objective: (
        problem.binary and max((group.count + 1) ** 2 for group in problem.groups) <= _MOST_FLIPS
    ),
)

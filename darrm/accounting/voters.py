"""The cost of the votes themselves, as if published: the optimal composition of voters of any privacy.

Voters of epsilons e_1, ..., e_t are at worst randomized response of those epsilons, whose losses are +e_i with
probability e^e_i / (1 + e^e_i), else -e_i; the delta event of one of them has a probability of F at most. All their
votes have at a total epsilon

    delta = 1 - (1 - F) (1 - V),    V = E max(0, 1 - e^(epsilon - sum of the losses)).

A more private voter is a post-processing of a less private one, so the affected voters with the largest epsilons bound
every other set of affected voters.
"""

from __future__ import annotations

import math
from itertools import product
from typing import NamedTuple

import numpy as np

from darrm._validation import MAX_COUNT
from darrm.accounting.theorems import (
    at_least_once,
    log_binomials,
    log_chance,
    optimal,
    optimal_delta,
)
from darrm.errors import InputError
from darrm.numerics.deadline import check_time
from darrm.problem.groups import ByGroups, VoterGroup
from darrm.problem.limits import Affected, weakest
from darrm.problem.model import VoterModel

_MOST_STATES = 200_000  # largest number of combinations of losses; above it all voters count as the least private
_HALVINGS = 60
_MOST_LISTED, _MOST_SETS = 1000, 8


class AffectedVoters(NamedTuple):
    """The affected voters in the worst case.

    Attributes
    ----------
    kinds : tuple of (epsilon, number)
        The least private voters; each epsilon once.
    Delta : float
        The largest delta of one of them.
    failure : float
        Upper bound on the probability that the delta event of any of them occurs.
    """

    kinds: tuple[tuple[float, int], ...]
    Delta: float
    failure: float

    @property
    def voters(self) -> int:
        """The number of affected voters."""
        return sum(number for _, number in self.kinds)


def reached(problem: ByGroups) -> AffectedVoters:
    """The affected voters in the worst case, for a problem or model."""
    voters = among(problem.affected)
    return voters if len(problem.groups) == 1 else voters._replace(failure=problem.least_delta)


class Together(NamedTuple):
    """Voters that are affected together.

    Attributes
    ----------
    voters : AffectedVoters
    numbers : tuple of int, or None
        The number of each group; None if they bound all sets that the problem allows.
    """

    voters: AffectedVoters
    numbers: tuple[int, ...] | None


def sets_reached(problem: ByGroups) -> list[Together]:
    """The largest sets of voters that can be affected together.

    Sets with equal numbers of each group count as one. If there are more than 8 sets, `reached` bounds all of them.
    """
    everyone = [Together(reached(problem), None)]
    groups = problem.groups
    caps = [min(group.max_affected, problem.max_affected) for group in groups]
    if len(groups) < 2 or math.prod(cap + 1 for cap in caps) > _MOST_LISTED:
        return everyone
    most = min(problem.max_affected, sum(caps))
    sets = [numbers for numbers in product(*(range(cap + 1) for cap in caps)) if sum(numbers) == most]
    if not 1 < len(sets) <= _MOST_SETS:
        return everyone
    made = []
    for numbers in sets:
        own = [VoterGroup(n, group.epsilon, group.delta) for n, group in zip(numbers, groups, strict=True) if n]
        made.append(Together(reached(VoterModel(own)), numbers))
    return made


def among(affected: tuple[Affected, ...], answers: int = 1) -> AffectedVoters:
    """The affected voters in the worst case, by kinds of voters with that many private ``answers`` each."""
    together = weakest(affected)
    kinds: dict[float, int] = {}
    for kind in affected:
        if kind.voters:
            kinds[kind.epsilon] = kinds.get(kind.epsilon, 0) + kind.voters * answers
    if math.prod(count + 1 for count in kinds.values()) > _MOST_STATES:
        kinds = {together.epsilon: together.voters * answers}
    failure = at_least_once(together.Delta, together.voters * answers)
    return AffectedVoters(tuple(kinds.items()), together.Delta, failure)


def delta_of(who: AffectedVoters, epsilon: float) -> float:
    """The least delta of all their votes at a total epsilon, rounded up; 0 only if it is 0."""
    if any(math.isinf(each) for each, _ in who.kinds):
        return 1.0
    if len(who.kinds) == 1 and who.failure == at_least_once(who.Delta, who.voters):
        return optimal_delta(who.kinds[0][0], who.Delta, who.voters, epsilon)
    losses, logs = np.zeros(1), np.zeros(1)
    for each, n in who.kinds:
        i = np.arange(n + 1)
        own = log_binomials(n, i) + log_chance(each) * i + log_chance(-each) * (n - i)
        losses = np.add.outer(losses, (2.0 * i - n) * each).ravel()
        logs = np.add.outer(logs, own).ravel()
    most = sum(n * each for each, n in who.kinds)
    beyond = losses - epsilon + 2.0**-49 * (len(who.kinds) + 1) * (most + epsilon)  # more than rounding
    at = beyond > 0
    if epsilon >= most * (1 + 2.0**-50 * len(who.kinds)):
        at[:] = False
    V = 0.0
    if at.any():
        k = who.voters
        margin = 1e-15 * (k * math.log(k + 2) + k * max(each for each, _ in who.kinds) + 10) * len(who.kinds)
        V = min(1.0, float(np.exp(logs[at]) @ -np.expm1(-beyond[at])) * (1 + margin) + 1e-290)
    return min(1.0, at_least_once(who.failure, 1, V) * (1 + 1e-14))


def epsilon_of(who: AffectedVoters, delta: float) -> float:
    """The least epsilon of all their votes at a total delta, rounded up; infinite if there is none."""
    if any(math.isinf(each) for each, _ in who.kinds) or who.voters > MAX_COUNT:
        return math.inf
    if len(who.kinds) == 1 and who.failure == at_least_once(who.Delta, who.voters):
        try:
            return optimal(who.kinds[0][0], who.Delta, who.voters, delta).epsilon
        except InputError:
            return math.inf
    low, high = 0.0, sum(n * each for each, n in who.kinds) * (1 + 2.0**-49 * len(who.kinds))
    if delta_of(who, high) > delta and who.failure > delta:
        return math.inf
    for _ in range(_HALVINGS):
        check_time()
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(who, middle) <= delta else (middle, high)
    return high

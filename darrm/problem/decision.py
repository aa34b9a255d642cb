"""Decisions by groups of voters: what is assumed of each group, and what is guaranteed for the answer."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from darrm._validation import MAX_EPSILON, real
from darrm.errors import InputError
from darrm.problem.groups import ByGroups, VoterGroup
from darrm.problem.majority import MajorityProblem
from darrm.problem.model import VoterModel

_NAMED = 6  # groups in an error


@dataclass(frozen=True, init=False)
class DecisionProblem(ByGroups):
    """Release a decision from the votes of groups of voters with (epsilon, delta)-differential privacy.

    Every voter names one of C classes. Given the data set D, voters are independent. Let n = (n_1, ..., n_G) be the
    numbers of votes for each class in each group. The release looks at n and gives answer o with probability X_o(n).
    Voters of group g are (epsilon_g, delta_g)-DP; one change of the data reaches at most ``max_affected`` voters, and
    in no group more than its own ``max_affected``. Let P, P' be any two
    distributions of n that such voters can have on adjacent data sets, and S any set of answers. The release is
    (epsilon, delta)-DP if and only if, for all of them,

        sum over o in S of  E_P[X_o] - e^epsilon E_P'[X_o]  <=  delta.

    Parameters
    ----------
    groups : sequence of VoterGroup
        Either all voters have names or none has, and no two the same.
    epsilon : float in (0, 1e6]
        Privacy of one decision, in nats. It may be less than what one vote costs.
    delta : float in [0, 1), optional
        Delta of one decision, which is (epsilon, delta)-DP; 0 if not given. It has no default if a group has a delta of
        its own.
    classes : int, at least 2, or names
        What voters and release answer: how many classes there are, or what they are called. Names are kept as text.
    max_affected : int, optional
        How many voters one change of the data can reach, over all groups; as many as the groups allow if not given.
    adjacency : str, default "replace-one"
        What "adjacent" means, for the voters and for the release alike; free text in one line.
    none : bool
        Whether the release has a further answer, "none" of the classes; its number is C.

    Attributes
    ----------
    K : int
        Number of voters.
    n_classes, n_answers : int
        C, and C or C + 1.
    names, answers : tuple of str
        What the classes are called, and what the answers are.
    voters : tuple of str, or None
        What the voters are called, group after group; None if they have no names.

    Raises
    ------
    InputError
        If a value is outside its range, or of the wrong kind.

    Notes
    -----
    Neighbours are symmetric: with (D, D') the pair (D', D) is adjacent too. Who the voters are does not depend on the
    data. The guarantee is for one decision, and for those who see it: the aggregator sees the votes. What several
    decisions cost depends on whether the voters are fresh or fixed, see the documentation.

    Examples
    --------
    >>> import darrm
    >>> groups = [darrm.VoterGroup(4, epsilon=1.0), darrm.VoterGroup(7, epsilon=0.2)]
    >>> problem = darrm.DecisionProblem(groups, epsilon=1.4)
    >>> problem.K, problem.max_affected, problem.table_shape
    (11, 11, (5, 8))
    """

    groups: tuple[VoterGroup, ...]
    epsilon: float
    delta: float
    classes: int | tuple[str, ...]
    max_affected: int
    adjacency: str
    none: bool

    def __init__(
        self,
        groups: Iterable[VoterGroup],
        epsilon: float,
        delta: float | None = None,
        classes: int | Iterable[str] = 2,
        max_affected: int | None = None,
        adjacency: str = "replace-one",
        none: bool = False,
    ) -> None:
        model = VoterModel(groups, classes, max_affected, adjacency, none)
        hint = "Pass the privacy of one decision in nats, e.g. 1.0."
        epsilon = real("epsilon", epsilon, 0, MAX_EPSILON, "(]", hint=hint)
        if delta is None:
            if any(group.delta for group in model.groups):
                raise InputError(
                    "delta must be given where a group has a delta of its own. Got none. Those of the affected voters "
                    f"come together to {model.least_delta!r}: pass that or more. Less is allowed, at more noise."
                )
            delta = 0.0
        delta = real("delta", delta, 0, 1, "[)", hint="Pass the delta of one decision, e.g. 1e-5.")
        values = (model.groups, epsilon, delta + 0.0, model.classes, model.max_affected, model.adjacency, model.none)
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)

    @property
    def K(self) -> int:
        """Number of voters."""
        return sum(group.count for group in self.groups)

    @property
    def release_epsilon(self) -> float:
        """The epsilon guaranteed for one decision (nats)."""
        return self.epsilon

    @property
    def exact_epsilon(self) -> Fraction:
        """The same, exactly."""
        return Fraction(self.epsilon)

    @property
    def model(self) -> VoterModel:
        """Who votes, and whom one change of the data reaches, without what the release is held to."""
        return VoterModel(self.groups, self.classes, self.max_affected, self.adjacency, self.none)

    def with_present(self, present: Sequence[int]) -> DecisionProblem:
        """The same with so many voters of each group present, at least one in all; groups without any are left out.

        It has no names: any so many voters of a group may be present.
        """
        return decision_by(self.model.with_present(present), self.epsilon, self.delta)


AnyProblem: TypeAlias = MajorityProblem | DecisionProblem


def decision_by(model: VoterModel, epsilon: float, delta: float = 0.0) -> DecisionProblem:
    """The decision of these voters that is held to (epsilon, delta)."""
    return DecisionProblem(model.groups, epsilon, delta, model.classes, model.max_affected, model.adjacency, model.none)


def allowance(problem: AnyProblem) -> float:
    """What one release may cost in multiples of the epsilon of a vote; NaN unless all votes have one finite epsilon.

    Of a majority that is its m, to the last bit.
    """
    epsilons = {group.epsilon for group in problem.groups}
    if len(epsilons) > 1 or math.inf in epsilons:
        return math.nan
    exact = problem.exact_epsilon / Fraction(*epsilons)
    return float(exact) if exact <= sys.float_info.max else math.inf


def sizes_of(problem: ByGroups) -> str:
    """How many voters the groups have, in words; of many groups the first few."""
    sizes = [f"{group.count} voters" for group in problem.groups]
    more = len(sizes) - _NAMED
    return ", ".join(sizes) if more <= 1 else f"{', '.join(sizes[:_NAMED])} and {more} more groups"

"""Decisions by groups of voters: the assumption on each group, and the guarantee for the answer."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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
    Voters of group g are (epsilon_g, delta_g)-DP. Between neighbouring data sets at most ``max_affected`` voters are
    affected, that is, have another distribution of their vote, and in no group more than its own ``max_affected``. Let
    P, P' be any two distributions of n that such voters can have on neighbouring data sets, and S any set of answers.
    The release is (epsilon, delta)-DP if and only if, for all of them, the hockey-stick divergence is at most delta:

        sum over o in S of  E_P[X_o] - e^epsilon E_P'[X_o]  <=  delta.

    Parameters
    ----------
    groups : sequence of VoterGroup
        Either all voters have names or none has, and no two the same.
    epsilon : float in (0, 1e6]
        Epsilon of one decision, in nats. It may be less than the epsilon of one vote.
    delta : float in [0, 1), optional
        Delta of one decision, which is (epsilon, delta)-DP; 0 if not given. It has no default if a group has a delta of
        its own.
    classes : int, at least 2, or names
        The number of classes that voters and release choose from, or the names of the classes. Names are kept as text.
    max_affected : int, optional
        The largest number of affected voters, over all groups; as many as the groups allow if not given.
    adjacency : str, default "replace-one"
        The neighbouring relation, the same for the voters and for the release; free text in one line.
    none : bool
        Whether the release has a further answer, "none" of the classes, with the number C.

    Attributes
    ----------
    K : int
        Number of voters.
    n_classes, n_answers : int
        C, and C or C + 1.
    names, answers : tuple of str
        The names of the classes, and of the answers.
    voters : tuple of str, or None
        The names of the voters, group after group; None if they have no names.

    Raises
    ------
    InputError
        If a value is outside its range, or of the wrong kind.

    Notes
    -----
    Neighbours are symmetric: if D' is a neighbour of D, then D is a neighbour of D'. The voters must not be chosen by
    the data. The guarantee is for one decision, against anyone who sees the decision alone. It does not hold against
    the aggregator, who receives the votes. The cost of several decisions depends on whether the voters are fresh or
    fixed (docs/fresh_or_fixed.md).

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
        hint = "Pass the epsilon of one decision in nats, e.g. 1.0."
        epsilon = real("epsilon", epsilon, 0, MAX_EPSILON, "(]", hint=hint)
        if delta is None:
            if any(group.delta for group in model.groups):
                raise InputError(
                    "delta must be given where a group has a delta of its own. Got none. The deltas of the affected "
                    f"voters compose to {model.least_delta!r}: pass that or more. A smaller delta is allowed, and "
                    "takes more noise."
                )
            delta = 0.0
        delta = real("delta", delta, 0, 1, "[)", hint="Pass the delta of one decision, e.g. 1e-5.")
        values = (model.groups, epsilon, delta + 0.0, model.classes, model.max_affected, model.adjacency, model.none)
        for name, value in zip(DecisionProblem.__dataclass_fields__, values, strict=True):
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
        """The epsilon guaranteed for one decision (nats), exactly."""
        return Fraction(self.epsilon)

    @property
    def model(self) -> VoterModel:
        """The voters and their adjacency, without the guarantee of the release."""
        return VoterModel(self.groups, self.classes, self.max_affected, self.adjacency, self.none)

    def with_present(self, present: Sequence[int]) -> DecisionProblem:
        """The problem with these numbers of voters present in each group, at least one in all, without empty groups.

        It has no names, because any voters of a group may be the present ones.
        """
        return decision_by(self.model.with_present(present), self.epsilon, self.delta)


AnyProblem: TypeAlias = MajorityProblem | DecisionProblem


def decision_by(model: VoterModel, epsilon: float, delta: float = 0.0) -> DecisionProblem:
    """The problem of a decision by these voters that must be (epsilon, delta)-DP."""
    return DecisionProblem(model.groups, epsilon, delta, model.classes, model.max_affected, model.adjacency, model.none)


def any_voters(problem: AnyProblem) -> AnyProblem:
    """The problem where voters of a known randomizer may be any mechanism of the same epsilon: the assumption fails."""
    if not problem.known:
        return problem
    groups = tuple(VoterGroup(group.count, group.epsilon, group.delta, group.max_affected) for group in problem.groups)
    return decision_by(replace(problem.model, groups=groups), problem.release_epsilon, problem.delta)


def allowance(problem: AnyProblem) -> float:
    """The epsilon of one release in multiples of that of a vote; NaN unless all votes have one finite epsilon.

    For a majority this is its m, to the last bit.
    """
    epsilons = {group.epsilon for group in problem.groups}
    if len(epsilons) > 1 or math.inf in epsilons:
        return math.nan
    exact = problem.exact_epsilon / Fraction(*epsilons)
    return float(exact) if exact <= sys.float_info.max else math.inf


def sizes_of(problem: ByGroups) -> str:
    """The sizes of the groups in words; if there are many groups, of the first few."""
    sizes = [f"{group.count} voters" for group in problem.groups]
    more = len(sizes) - _NAMED
    return ", ".join(sizes) if more <= 1 else f"{', '.join(sizes[:_NAMED])} and {more} more groups"

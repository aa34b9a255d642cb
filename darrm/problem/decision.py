"""Decisions by groups of voters: the assumption on each group, and the guarantee for the answer."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from darrm._validation import MAX_CLASSES, MAX_EPSILON, real, refusal, shown
from darrm.errors import InputError
from darrm.problem.groups import ByGroups, VoterGroup, but
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
    epsilon : float in (0, 1e6], or a list of one for each group
        Epsilon of one decision, in nats. It may be less than the epsilon of one vote. A list promises each group its
        own: a change that affects voters of group g alone keeps (epsilon_g, delta_g) of the decision. A change that
        affects voters of several groups then has no limit, unless the list ends with a further one for such changes,
        which is at least that of every group.
    delta : float in [0, 1), or a list of one for each epsilon, optional
        Delta of one decision, which is (epsilon, delta)-DP; 0 if not given. It has no default if a group has a delta of
        its own.
    classes : int, at least 2, or names
        The number of classes that voters and release choose from, or the names of the classes. Names are kept as text.
    max_affected : int, optional
        The largest number of affected voters, over all groups; as many as the groups allow if not given, or the largest
        that a group allows if changes affect voters of one group alone.
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
    kinds : mapping from str to DecisionProblem
        With a limit for each group, the problem of each kind of change: "group 1" and so on, and "several groups". Its
        ``max_affected`` is 0 in all other groups. Else the problem itself, called "".

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

    A record lies with a voter of one group, and those of the first group are promised more:

    >>> promised = darrm.DecisionProblem(groups, epsilon=[0.3, 1.0], max_affected=1)
    >>> {kind: problem.release_epsilon for kind, problem in promised.kinds.items()}
    {'group 1': 0.3, 'group 2': 1.0}
    """

    groups: tuple[VoterGroup, ...]
    epsilon: Any  # a float; with a limit for each kind of change a tuple of them, as delta
    delta: Any
    classes: int | tuple[str, ...]
    max_affected: int
    adjacency: str
    none: bool

    def __init__(
        self,
        groups: Iterable[VoterGroup],
        epsilon: float | Sequence[float],
        delta: float | Sequence[float] | None = None,
        classes: int | Iterable[str] = 2,
        max_affected: int | None = None,
        adjacency: str = "replace-one",
        none: bool = False,
    ) -> None:
        model = VoterModel(groups, classes, max_affected, adjacency, none)
        if model.n_classes > MAX_CLASSES:
            hint = "A table holds no more. Noisy max takes more, on sparse counts (darrm.mechanisms.GaussianNoisyMax)."
            raise refusal("classes", f"at most {MAX_CLASSES}", model.n_classes, hint)
        several = isinstance(epsilon, list | tuple)
        each = tuple(epsilon) if isinstance(epsilon, list | tuple) else (epsilon,)
        if several:
            model = _of_one_group_each(model, len(each), max_affected)
        hint = "Pass the epsilon of one decision in nats, e.g. 1.0."
        epsilons = tuple(real("epsilon", one, 0, MAX_EPSILON, "(]", hint=hint) for one in each)
        if delta is None:
            if any(group.delta for group in model.groups):
                raise InputError(
                    "delta must be given where a group has a delta of its own. Got none. The deltas of the affected "
                    f"voters compose to {model.least_delta!r}: pass that, or 0, which takes more noise; then many "
                    "labels have a total at every delta."
                )
            delta = 0.0
        some = tuple(delta) if isinstance(delta, list | tuple) else (delta,) * len(each)
        if len(some) != len(each):
            raise InputError(
                f"delta must be a number, or a list of one for each of the {len(each)} epsilons. Got {shown(delta)}."
            )
        hint = "Pass the delta of one decision, e.g. 1e-5."
        deltas = tuple(real("delta", one, 0, 1, "[)", hint=hint) + 0.0 for one in some)
        if len(each) > len(model.groups) and (epsilons[-1] < max(epsilons) or deltas[-1] < max(deltas)):
            raise InputError(
                "The last epsilon and delta, for changes that affect voters of several groups, must be at least those "
                f"of every group. Got epsilon {shown(epsilon)} and delta {shown(delta)}."
            )
        limits = (epsilons, deltas) if several else (epsilons[0], deltas[0])
        values = (model.groups, *limits, model.classes, model.max_affected, model.adjacency, model.none)
        for name, value in zip(DecisionProblem.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)

    @property
    def K(self) -> int:
        """Number of voters."""
        return sum(group.count for group in self.groups)

    @property
    def release_epsilon(self) -> float:
        """The epsilon guaranteed for one decision (nats); `InputError` if each group has its own."""
        if isinstance(self.epsilon, tuple):
            raise InputError(
                "This problem has a limit for each group, and no one epsilon. Take the problem of one kind of change, "
                f"from kinds: {', '.join(self.kinds)}."
            )
        return float(self.epsilon)

    @property
    def exact_epsilon(self) -> Fraction:
        """The epsilon guaranteed for one decision (nats), exactly; `InputError` if each group has its own."""
        return Fraction(self.release_epsilon)

    @property
    def kinds(self) -> dict[str, DecisionProblem]:
        """The problem of each kind of change that has a limit of its own, by name; itself, "", if all have one."""
        if not isinstance(self.epsilon, tuple):
            return {"": self}
        found, G = {}, len(self.groups)
        for k, (epsilon, delta) in enumerate(zip(self.epsilon, self.delta, strict=True)):
            reached = [group.max_affected if k in (g, G) else 0 for g, group in enumerate(self.groups)]
            groups = tuple(but(group, max_affected=most) for group, most in zip(self.groups, reached, strict=True))
            model = replace(self.model, groups=groups, max_affected=min(self.max_affected, sum(reached)))
            found[f"group {k + 1}" if k < G else "several groups"] = decision_by(model, epsilon, delta)
        return found

    @property
    def model(self) -> VoterModel:
        """The voters and their adjacency, without the guarantee of the release."""
        return VoterModel(self.groups, self.classes, self.max_affected, self.adjacency, self.none)

    def with_present(self, present: Sequence[int]) -> DecisionProblem:
        """The problem with these numbers of voters present in each group, at least one in all, without empty groups.

        It has no names, because any voters of a group may be the present ones. Each group keeps its limit, if it has
        one of its own.
        """
        model = self.model.with_present(present)
        if not isinstance(self.epsilon, tuple):
            return decision_by(model, self.epsilon, self.delta)
        kept = [g for g, count in enumerate(present) if count]
        if len(kept) < 2:  # a change that affects several groups affects this one, whose limit is the smaller
            return decision_by(model, self.epsilon[kept[0]], self.delta[kept[0]])
        if len(self.epsilon) > len(self.groups):
            kept.append(len(self.groups))
        else:
            most = max(group.max_affected for group in model.groups)
            model = replace(model, max_affected=min(model.max_affected, most))
        epsilons, deltas = (tuple(limits[k] for k in kept) for limits in (self.epsilon, self.delta))
        return decision_by(model, epsilons, deltas)


AnyProblem: TypeAlias = MajorityProblem | DecisionProblem


def decision_by(model: VoterModel, epsilon: Any, delta: Any = 0.0) -> DecisionProblem:
    """The problem of a decision by these voters that must be (epsilon, delta)-DP."""
    return DecisionProblem(model.groups, epsilon, delta, model.classes, model.max_affected, model.adjacency, model.none)


def any_voters(problem: AnyProblem) -> AnyProblem:
    """The problem where no randomizer is known: the assumption on known ones fails."""
    if isinstance(problem, MajorityProblem) or not problem.known:
        return problem
    return replace(problem, groups=tuple(but(group, randomizer=None, colluders=0) for group in problem.groups))


def _of_one_group_each(model: VoterModel, limits: int, max_affected: int | None) -> VoterModel:
    """The model where each group has a limit, by its largest number of affected voters; `InputError` for others."""
    G = len(model.groups)
    if limits == G + 1 and G > 1 and model.max_affected > 1:
        return model
    if limits != G or G == 1:
        several = f", or {G + 1} with max_affected above 1, the last for changes that affect several" * (G > 1)
        listed = f", or a list of {G}, one for each group{several}" * (G > 1)
        raise InputError(f"epsilon must be a number{listed}. Got a list of {limits}. Pass one of these.")
    most = max(group.max_affected for group in model.groups)
    if max_affected is not None and max_affected > most:
        raise InputError(
            f"max_affected must be at most {most}, the most of one group, where changes affect voters of one group "
            f"alone. Got {max_affected}. Pass a further epsilon, for changes that affect several groups."
        )
    return replace(model, max_affected=min(model.max_affected, most))


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

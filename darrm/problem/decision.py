"""Decisions by groups of voters: what is assumed of each group, and what is guaranteed for the answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from darrm._validation import MAX_CLASSES, MAX_EPSILON, array, real, refusal, shown, whole
from darrm.errors import InputError
from darrm.numerics.exact import decimals, rounded_up
from darrm.problem.limits import Affected, adjacency_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

_NONE = "none"
_ROUNDING = Decimal("1e-50")  # relative, of some thousand operations with 60 digits


@dataclass(frozen=True, init=False)
class VoterGroup:
    """Voters that are equally private.

    Parameters
    ----------
    count : int, at least 1
        How many there are.
    epsilon : float in (0, 1e6], or infinity
        Privacy of one voter, in nats; infinity for voters that are not private, such as teachers trained without noise.
    delta : float in [0, 1)
        Failure probability of one voter: each is (epsilon, delta)-DP, independently of the others given the data. It
        says nothing more where epsilon is infinite.
    max_affected : int in [1, count], optional
        How many voters of the group one change of the data can reach; all of them if not given. See
        `darrm.MajorityProblem` for what may be counted.

    Raises
    ------
    InputError
        If a value is outside its range, or of the wrong kind.

    Examples
    --------
    Four voters, and seven of whom one change of the data reaches one at most:

    >>> import darrm
    >>> groups = [darrm.VoterGroup(4, epsilon=1.0), darrm.VoterGroup(7, epsilon=0.2, max_affected=1)]
    >>> darrm.DecisionProblem(groups, epsilon=1.2).max_affected
    5
    """

    count: int
    epsilon: float
    delta: float
    max_affected: int

    def __init__(self, count: int, epsilon: float, delta: float = 0.0, max_affected: int | None = None) -> None:
        count = whole("count", count, hint="Pass the number of voters of the group, e.g. 4.")
        if not (isinstance(epsilon, float) and epsilon == math.inf):
            allowed = f"in (0, {MAX_EPSILON:g}], or math.inf for voters that are not private"
            epsilon = real("epsilon", epsilon, 0, MAX_EPSILON, "(]", allowed=allowed, hint="Pass nats, e.g. 0.5.")
        hint = "Pass the failure probability of one voter, e.g. 1e-6."
        delta = real("delta", delta, 0, 1, "[)", hint=hint) + 0.0
        if max_affected is None:
            max_affected = count
        else:
            in_count = f"in [1, count] = [1, {count}]"
            hint = "Pass the number of voters of the group that one record can reach, or leave it out for all."
            max_affected = whole("max_affected", max_affected, 1, count, allowed=in_count, hint=hint)
        for name, value in zip(self.__dataclass_fields__, (count, epsilon, delta, max_affected), strict=True):
            object.__setattr__(self, name, value)


@dataclass(frozen=True, init=False)
class DecisionProblem:
    """Release a decision from the votes of groups of voters with (epsilon, delta)-differential privacy.

    Every voter names one of C classes. Given the data set D, voters are independent. Let n = (n_1, ..., n_G) be the
    numbers of votes for each class in each group. The release looks at n and gives answer o with probability X_o(n).
    Voters of group g are (epsilon_g, delta_g)-DP; one change of the data reaches at most ``max_affected`` voters, and
    in no group more than its own ``max_affected``. The release is (epsilon, delta)-DP if and only if, for all
    distributions P, P' of n that such voters can have on adjacent data sets, and for all sets S of answers,

        sum over o in S of  E_P[X_o] - e^epsilon E_P'[X_o]  <=  delta.

    Parameters
    ----------
    groups : sequence of VoterGroup
    epsilon : float in (0, 1e6]
        Privacy of one decision, in nats. It may be less than what one vote costs.
    delta : float in [0, 1), optional
        Failure probability of one decision; 0 if not given. It has no default if a group has a delta of its own.
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

    Raises
    ------
    InputError
        If a value is outside its range, or of the wrong kind.

    Notes
    -----
    Neighbours are symmetric: with (D, D') the pair (D', D) is adjacent too. Who the voters are does not depend on the
    data. The guarantee is for one decision, and for those who see it: the collector sees the votes. What several
    decisions cost depends on whether the voters are fresh or fixed, see the documentation.

    Examples
    --------
    >>> import darrm
    >>> groups = [darrm.VoterGroup(4, epsilon=1.0), darrm.VoterGroup(7, epsilon=0.2)]
    >>> problem = darrm.DecisionProblem(groups, epsilon=1.4)
    >>> problem.K, problem.max_affected, problem.shape
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
        hint = "Pass e.g. [VoterGroup(4, epsilon=1.0), VoterGroup(7, epsilon=0.2)]."
        try:
            given = tuple(groups)
        except TypeError:
            raise refusal("groups", "a list of darrm.VoterGroup", groups, hint) from None
        if not given or not all(isinstance(group, VoterGroup) for group in given):
            raise refusal("groups", "a list of darrm.VoterGroup", groups, hint)
        hint = "Pass the privacy of one decision in nats, e.g. 1.0."
        epsilon = real("epsilon", epsilon, 0, MAX_EPSILON, "(]", hint=hint)
        most = sum(group.max_affected for group in given)
        if max_affected is None:
            max_affected = most
        else:
            in_all = f"in [1, {most}], what the groups allow together"
            hint = "Pass the number of voters one record can reach in all, or leave it out."
            max_affected = whole("max_affected", max_affected, 1, most, allowed=in_all, hint=hint)
        if delta is None:
            if any(group.delta for group in given):
                raise InputError(
                    "delta must be given where a group has a delta of its own. Got none. At "
                    "least one of the affected voters fails with a probability of up to "
                    f"{rounded_up(_fails(given, max_affected))!r}: pass that or more. Less is allowed, at more noise."
                )
            delta = 0.0
        delta = real("delta", delta, 0, 1, "[)", hint="Pass the failure probability of one decision, e.g. 1e-5.")
        if not isinstance(none, bool):
            raise refusal("none", "True or False", none)
        named = _classes(classes, none=none)
        values = (given, epsilon, delta + 0.0, named, max_affected, adjacency_text(adjacency), none)
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)

    @property
    def K(self) -> int:
        """Number of voters."""
        return sum(group.count for group in self.groups)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many vectors of votes each group has: (K_1 + 1, ..., K_G + 1), the numbers of ones, for two classes.

        For C classes they are C(K_g + C - 1, C - 1), in the order of `darrm.problem.counts.count_vectors`.
        """
        others = self.n_classes - 1
        return tuple(math.comb(group.count + others, others) for group in self.groups)

    @property
    def n_classes(self) -> int:
        """C: how many classes voters have to choose from."""
        return self.classes if isinstance(self.classes, int) else len(self.classes)

    @property
    def n_answers(self) -> int:
        """How many answers the release has."""
        return self.n_classes + self.none

    @property
    def binary(self) -> bool:
        """Whether there are two answers: then a table holds the probabilities of answer 1 alone."""
        return self.n_answers == 2

    @property
    def names(self) -> tuple[str, ...]:
        """What the classes are called."""
        return tuple(map(str, range(self.classes))) if isinstance(self.classes, int) else self.classes

    @property
    def answers(self) -> tuple[str, ...]:
        """What the answers are called."""
        return (*self.names, _NONE) if self.none else self.names

    def named(self, labels: ArrayLike) -> NDArray[np.str_]:
        """What labels are called, or votes: the names of the answers in place of their numbers.

        Parameters
        ----------
        labels : array_like of int in [0, n_answers), any shape
            Such as what `darrm.mechanisms.PrivateDecision` releases: arrays of labels hold numbers.

        Returns
        -------
        ndarray of str, the shape of ``labels``

        Raises
        ------
        InputError
            If a label is the number of no answer.

        Examples
        --------
        >>> import darrm
        >>> problem = darrm.DecisionProblem([darrm.VoterGroup(3, epsilon=1.0)], epsilon=1.0, classes=["no", "yes"])
        >>> problem.named([0, 1, 1]).tolist()
        ['no', 'yes', 'yes']
        """
        import numpy as np

        numbers = array(
            "labels", labels, None, 0, self.n_answers - 1, "[]", wholes=True, hint="Pass what release gives."
        )
        return np.asarray(np.array(self.answers)[numbers.astype(np.intp)])

    @property
    def total_epsilon(self) -> float:
        """The epsilon guaranteed for one decision (nats)."""
        return self.epsilon

    @property
    def exact_epsilon(self) -> Fraction:
        """The same, exactly."""
        return Fraction(self.epsilon)

    @property
    def affected(self) -> tuple[Affected, ...]:
        """The voters that one change of the data can affect at worst: the least private ones first.

        A group of which no voter is left counts with its delta alone: 0 voters of epsilon 0.
        """
        left, kinds = self.max_affected, []
        for group in sorted(self.groups, key=lambda group: -group.epsilon):
            voters = min(group.max_affected, left)
            kinds.append(Affected(group.epsilon if voters else 0.0, group.delta, voters))
            left -= voters
        return tuple(kinds)

    @property
    def least_delta(self) -> float:
        """`exact_least_delta`, rounded up."""
        return rounded_up(self.exact_least_delta)

    @property
    def exact_least_delta(self) -> Decimal:
        """The probability that one of the affected voters fails, at most: 1 - prod of (1 - delta_i), from above."""
        return _fails(self.groups, self.max_affected)

    def with_present(self, present: Sequence[int]) -> DecisionProblem:
        """The same with so many voters of each group present, at least one in all; groups without any are left out."""
        groups = []
        for group, count in zip(self.groups, checked_present(self, present), strict=True):
            if count:
                groups.append(VoterGroup(count, group.epsilon, group.delta, min(group.max_affected, count)))
        if not groups:
            raise refusal("present", "at least one voter", present)
        most = min(self.max_affected, sum(group.max_affected for group in groups))
        return DecisionProblem(groups, self.epsilon, self.delta, self.classes, most, self.adjacency, self.none)


def checked_present(problem: DecisionProblem, present: Sequence[int]) -> tuple[int, ...]:
    """How many voters of each group are present, as ints, refused unless the problem has so many."""
    sizes = [group.count for group in problem.groups]
    if not isinstance(present, list | tuple) or len(present) != len(sizes):
        raise refusal("present", f"one number for each of {len(sizes)} groups", present)
    return tuple(whole("present", count, 0, size) for count, size in zip(present, sizes, strict=True))


def _fails(groups: tuple[VoterGroup, ...], max_affected: int) -> Decimal:
    smallest = min((Decimal(group.delta) for group in groups if group.delta), default=None)
    if smallest is None:
        return Decimal(0)
    left = max_affected
    worst = sorted(groups, key=lambda group: -group.delta)
    if left == 1:
        return Decimal(worst[0].delta)
    with decimals(smallest):
        stay = Decimal(1)
        for group in worst:
            voters = min(group.max_affected, left)
            stay *= (1 - Decimal(group.delta)) ** voters
            left -= voters
        return min(Decimal(1), (1 - stay) * (1 + _ROUNDING))


def _classes(classes: object, *, none: bool) -> int | tuple[str, ...]:
    hint = "Pass how many classes there are, or their names."
    allowed = f"a whole number in [2, {MAX_CLASSES}], or as many different names"
    if isinstance(classes, int) and not isinstance(classes, bool):
        return whole("classes", classes, 2, MAX_CLASSES, allowed=f"in [2, {MAX_CLASSES}]", hint=hint)
    try:
        names: tuple[object, ...] = tuple(classes)  # type: ignore[arg-type]
    except TypeError:
        raise refusal("classes", allowed, classes, hint) from None
    if isinstance(classes, str) or not 2 <= len(names) <= MAX_CLASSES or len(set(names)) != len(names):
        raise refusal("classes", allowed, classes, hint)
    for place, name in enumerate(names):
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise InputError(f"A class must have a name of one line. Got {shown(name)}. {hint}")
        if name == "-1":  # numbers -1 would leave out who votes so, and absence must not depend on the vote
            raise InputError("A class must not be called -1, which stands for an absent voter. Pass another name.")
        if name in map(str, range(len(names))) and name != str(
            place
        ):  # columns of numbers hold places, columns of text names
            raise InputError(
                f"A class called {name} must be at place {name}, as in votes that are numbers. Got {shown(names)}."
            )
        if none and name == _NONE:
            raise InputError(f"No class may be called {_NONE} where that is a further answer. Pass another name.")
    return tuple(map(str, names))

"""Groups of voters, and the properties that every problem derives from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn

from darrm._validation import MAX_EPSILON, array, real, refusal, whole
from darrm.errors import InputError
from darrm.numerics.exact import decimals, rounded_up
from darrm.numerics.printed import exactly
from darrm.problem.limits import Affected
from darrm.problem.randomizers import RESPONSE, Table, checked_randomizer, treats_alike
from darrm.problem.voter_names import voter_names

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

NONE = "none"  # the answer that is not a class
_ROUNDING = Decimal("1e-50")  # relative error of some thousand operations with 60 digits


@dataclass(frozen=True, init=False)
class VoterGroup:
    """A group of voters with the same privacy parameters.

    Parameters
    ----------
    count : int, at least 1
        Number of voters in the group.
    epsilon : float in (0, 1e6], or infinity
        Epsilon of one voter, in nats; infinity for non-private voters, such as teachers trained without noise.
    delta : float in [0, 1)
        Delta of one voter: each is (epsilon, delta)-DP, independently of the others given the data. It has no effect
        where epsilon is infinite.
    max_affected : int in [1, count], optional
        The largest number of affected voters in the group; all of them if not given. See `darrm.MajorityProblem` for
        the rules of counting them.
    names : sequence of ``count`` different str, optional
        Names of the voters, which are the names of their columns in votes files and data frames. Not ``id`` or
        ``label``. Space around a name is stripped, and accents are in one normal form (NFC). Names change no guarantee:
        groups and problems that differ in names alone are equal. ``dataclasses.replace`` drops the names: construct the
        group again with them.
    randomizer : "randomized response", or a table Pr[vote | truth], optional
        The mechanism by which every voter of the group draws every vote from its true answer; any (epsilon, delta)-DP
        mechanism if not given. "randomized response" of C classes keeps the true answer with probability e^epsilon /
        (e^epsilon + C - 1), and else draws any other class, all alike. A table has a row for each true answer and a
        column for each vote; each row is divided by its sum. The guarantee then rests on the assumption that every
        voter but ``colluders`` draws every vote with new, secret randomness, learns from no vote, and that no vote is
        used twice or decides what to ask, draw again or release: see docs/known_randomizers.md, which lists what
        breaks it.
    colluders : int in [0, count - 1]
        With a randomizer, and without a default: the largest number of voters of the group that may not be as the
        assumption says. Count the voters whose votes one observer of the labels knows: a voter that sees them knows its
        own, so count 1 if none tells another, and more if several pool what they know. Add every voter that repeats
        votes, learns from its votes or forgets to randomize. Records at these voters have no guarantee.
        ``max_affected`` counts the other voters.

    Raises
    ------
    InputError
        If a value is outside its range, or of the wrong kind; if a randomizer is given with a delta, or is less private
        than ``epsilon``.

    Examples
    --------
    Four voters, and seven of which at most one is affected between neighbouring data sets:

    >>> import darrm
    >>> groups = [darrm.VoterGroup(4, epsilon=1.0), darrm.VoterGroup(7, epsilon=0.2, max_affected=1)]
    >>> darrm.DecisionProblem(groups, epsilon=1.2).max_affected
    5

    The plain majority of 25 voters, for one affected voter: any voters of epsilon 1, and voters that draw every vote by
    randomized response with new randomness:

    >>> majority = [float(ones > 12) for ones in range(26)]
    >>> for known in ({}, {"randomizer": "randomized response", "colluders": 1}):
    ...     voters = darrm.VoterGroup(25, epsilon=1.0, max_affected=1, **known)
    ...     problem = darrm.DecisionProblem([voters], epsilon=1.0)
    ...     print(round(darrm.verify(majority, problem).tight_epsilon, 3))
    1.0
    0.516
    """

    count: int
    epsilon: float
    delta: float
    max_affected: int
    randomizer: str | Table | None = None  # the defaults are those of pickles from before known randomizers
    colluders: int = 0

    def __init__(
        self,
        count: int,
        epsilon: float,
        delta: float = 0.0,
        max_affected: int | None = None,
        names: Iterable[str] | None = None,
        randomizer: str | ArrayLike | None = None,
        colluders: int | None = None,
    ) -> None:
        count = whole("count", count, hint="Pass the number of voters of the group, e.g. 4.")
        if not (isinstance(epsilon, float) and epsilon == math.inf):
            allowed = f"in (0, {MAX_EPSILON:g}], or math.inf for non-private voters"
            epsilon = real("epsilon", epsilon, 0, MAX_EPSILON, "(]", allowed=allowed, hint="Pass nats, e.g. 0.5.")
        hint = "Pass the delta of one voter, e.g. 1e-6."
        delta = real("delta", delta, 0, 1, "[)", hint=hint) + 0.0
        known, others = None, 0
        if randomizer is not None:
            known = checked_randomizer(randomizer, epsilon, delta)
            others = _colluders(colluders, count)
        elif colluders:
            raise InputError(
                "colluders is for voters of a known randomizer. Got no randomizer: the guarantee rests on none "
                f"then. Leave colluders out, or pass randomizer={RESPONSE!r}."
            )
        if max_affected is None:
            max_affected = count - others
        else:
            most = "count - colluders" if others else "count"
            hint = "Pass the number of voters of the group that one record can affect, or leave it out for all."
            if others:
                hint = "Voters that collude have no guarantee: count the others, or lower colluders."
            allowed = f"in [1, {most}] = [1, {count - others}]"
            max_affected = whole("max_affected", max_affected, 1, count - others, allowed=allowed, hint=hint)
        values = (count, epsilon, delta, max_affected, known, others)
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)
        # Names are not a field of the dataclass, because they do not change the mathematics that is compared and
        # cached.
        self.__dict__["names"] = None if names is None else voter_names(names, count)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the voters, None if they have none."""
        names: tuple[str, ...] | None = self.__dict__.get("names")  # pickles from before names existed have none
        return names

    def __repr__(self) -> str:
        values = [f"{name}={value!r}" for name, value in plain_values(self).items()]
        named = [] if self.names is None else [f"names={self.names!r}"]
        return f"VoterGroup({', '.join(values + named)})"


def check_problem(problem: object, *, majority: bool = False) -> None:
    """`InputError` unless it is a problem, or with ``majority`` one of a majority; of the user's own type it may be."""
    if isinstance(problem, type) or not hasattr(problem, "m" if majority else "max_affected"):
        allowed = "a darrm.MajorityProblem" + " or a darrm.DecisionProblem" * (not majority)
        raise refusal("problem", allowed, problem)


def with_epsilon(group: VoterGroup, epsilon: float) -> VoterGroup:
    """The group with votes of another epsilon."""
    known = (group.randomizer, group.colluders) if group.randomizer is not None else ()
    return VoterGroup(group.count, epsilon, group.delta, group.max_affected, group.names, *known)


def but(group: VoterGroup, **values: object) -> VoterGroup:
    """The group without names, with some other values, which are not checked: ``max_affected`` may be 0."""
    made = copy(group)
    made.__dict__.update({**values, "names": None})
    return made


def _colluders(colluders: object, count: int) -> int:
    if colluders is None:
        raise InputError(
            "colluders must be given with a randomizer: how many voters may tell their votes, repeat them or learn "
            "from them? Got none. Pass 1 (--colluders 1) or more if voters see the labels, 0 if no one but a "
            "trusted aggregator knows a vote."
        )
    allowed = f"in [0, count - 1] = [0, {count - 1}]"
    hint = "Voters that collude have no guarantee, so one voter at least must not."
    return whole("colluders", colluders, 0, count - 1, allowed=allowed, hint=hint)


def plain_values(instance: Any) -> dict[str, Any]:
    """`dataclasses.asdict`, where a group without a known randomizer says nothing of one.

    Files and digests of problems without known randomizers are then what they were before there were any.
    """
    return asdict(instance, dict_factory=_without_unknown)


def _without_unknown(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if values.get("randomizer", values) is None:
        del values["randomizer"], values["colluders"]
    return values


class ByGroups:
    """Properties derived from the groups of a problem, its classes, and its largest number of affected voters.

    A majority is the problem of one group with two classes.
    """

    if TYPE_CHECKING:  # fields or properties of each kind of problem

        @property
        def K(self) -> int: ...
        @property
        def groups(self) -> tuple[VoterGroup, ...]: ...
        @property
        def classes(self) -> int | tuple[str, ...]: ...
        @property
        def none(self) -> bool: ...
        @property
        def max_affected(self) -> int: ...
        @property
        def adjacency(self) -> str: ...

    @property
    def total_epsilon(self) -> NoReturn:
        raise AttributeError("total_epsilon is for all labels together. One release of a problem has release_epsilon.")

    @property
    def voters(self) -> tuple[str, ...] | None:
        """The names of the voters, group after group, the order of a row of votes; None if they have none."""
        if self.groups[0].names is None:
            return None
        return tuple(name for group in self.groups for name in group.names or ())

    @property
    def table_shape(self) -> tuple[int, ...]:
        """Number of vectors of votes in each group: for two classes the numbers of ones, (K_1 + 1, ..., K_G + 1).

        For C classes there are C(K_g + C - 1, C - 1), in the order of `darrm.problem.counts.count_vectors`.
        """
        others = self.n_classes - 1
        return tuple(math.comb(group.count + others, others) for group in self.groups)

    @property
    def n_classes(self) -> int:
        """C, the number of classes that voters choose from."""
        return self.classes if isinstance(self.classes, int) else len(self.classes)

    @property
    def n_answers(self) -> int:
        """Number of answers of the release."""
        return self.n_classes + self.none

    @property
    def binary(self) -> bool:
        """Whether there are two answers; if so, a table holds the probabilities of answer 1 only."""
        return self.n_answers == 2

    @property
    def known(self) -> bool:
        """Whether the randomizer of any group is known; if so, the guarantee rests on it."""
        return any(group.randomizer is not None for group in self.groups)

    @property
    def classes_alike(self) -> bool:
        """Whether the same is assumed of the voters under every name of the classes, as but for some randomizers."""
        return all(treats_alike(group.randomizer) for group in self.groups)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the classes."""
        return tuple(map(str, range(self.classes))) if isinstance(self.classes, int) else self.classes

    @property
    def answers(self) -> tuple[str, ...]:
        """The names of the answers."""
        return (*self.names, NONE) if self.none else self.names

    def named(self, labels: ArrayLike) -> NDArray[np.str_]:
        """Labels, or votes, by name: the names of the answers in place of their numbers.

        Parameters
        ----------
        labels : array_like of int in [0, n_answers), any shape
            Numbers of answers, such as the labels that `darrm.mechanisms.PrivateDecision` releases.

        Returns
        -------
        ndarray of str, the shape of ``labels``

        Raises
        ------
        InputError
            If a label is not the number of an answer.

        Examples
        --------
        >>> import darrm
        >>> problem = darrm.DecisionProblem([darrm.VoterGroup(3, epsilon=1.0)], epsilon=1.0, classes=["no", "yes"])
        >>> problem.named([0, 1, 1]).tolist()
        ['no', 'yes', 'yes']
        """
        import numpy as np

        numbers = array(
            "labels",
            labels,
            None,
            0,
            self.n_answers - 1,
            "[]",
            wholes=True,
            hint="Pass the labels that release returns.",
        )
        return np.asarray(np.array(self.answers)[numbers.astype(np.intp)])

    @property
    def kinds(self) -> Mapping[str, Any]:
        """The problem of each kind of change that has a limit of its own, by name; all changes are of one kind here."""
        return {"": self}

    @property
    def affected(self) -> tuple[Affected, ...]:
        """The voters that are affected in the worst case: the least private ones first.

        A group of which no voter is left counts with its delta alone: 0 voters of epsilon 0.
        """
        left, kinds = self.max_affected, []
        for group in sorted(_reached(self.groups), key=lambda group: -group.epsilon):
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
        """The probability that the delta event of an affected voter occurs: 1 - prod of (1 - delta_i), rounded up."""
        return chance_of_failure(self.groups, self.max_affected)


def chance_of_failure(groups: tuple[VoterGroup, ...], max_affected: int) -> Decimal:
    """The probability that the delta event of an affected voter occurs: 1 - prod of (1 - delta_i), rounded up."""
    groups = _reached(groups)
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


def without_privacy(groups: Iterable[VoterGroup]) -> bool:
    """Whether no voter is private, in any group: only then does a guarantee rest on output noise alone.

    It is not enough that a change of the data may affect non-private voters only: it may affect others instead.
    """
    return all(math.isinf(group.epsilon) for group in groups)


def called(problem: ByGroups, voters: str) -> str:
    """What voters stated as "fresh" or "fixed" are called in print; without privacy they need not be either."""
    return "non-private" if without_privacy(problem.groups) else voters


def _reached(groups: tuple[VoterGroup, ...]) -> tuple[VoterGroup, ...]:
    """The groups of which a change affects voters."""
    return tuple(group for group in groups if group.max_affected)


UNSEEN = "no observer of the labels knows a vote"  # else there is a colluder, such as a voter that sees the labels
LEFT_OUT = f"the votes of those left out depend on no votes but their own, {UNSEEN} of others"
NO_VOTE = "no vote is used twice or decides what to ask, draw again or release"
AT_COLLUDERS = " Records at voters that collude have no guarantee."  # behind a condition
OF_ANY_OTHERS = (  # of a second total, as a clause
    "only the affected voters randomize as stated, the others may be any mechanism that learns no vote of others, and "
    f"{NO_VOTE}"
)


def assumption(problem: ByGroups) -> str:
    """The assumption on the voters of known randomizers, as a clause; "" if there are none."""
    groups = [(g, group) for g, group in enumerate(problem.groups, 1) if group.randomizer is not None]
    if not groups:
        return ""
    several = len(problem.groups) > 1
    but = [f"{group.colluders}{f' of group {g}' * several}" for g, group in groups if group.colluders]
    among = f" of group {' and '.join(str(g) for g, _ in groups)}" if len(groups) < len(problem.groups) else ""
    kinds = [f"{_said(group)}{f' in group {g}' * several}" for g, group in groups]
    kinds = kinds[:1] if len({_said(group) for _, group in groups}) == 1 else kinds
    shown = kinds[0].removesuffix(f" in group {groups[0][0]}") if len(kinds) == 1 else " and ".join(kinds)
    others = f" but {' and '.join(but)}" if but else ""
    beside = f", {LEFT_OUT if but else UNSEEN}"
    return (
        f"every voter{among}{others} draws every vote from its true answer by {shown} with new, secret randomness and "
        f"learns from no vote{beside}, and {NO_VOTE}"
    )


def rests_on(problem: ByGroups) -> str:
    """`assumption` as the end of a sentence, and a sentence on records at voters that collude; "" if there are none."""
    stated = assumption(problem)
    records = AT_COLLUDERS * any(group.colluders for group in problem.groups)
    return f"{stated}.{records}" if stated else ""


def check_one_limit(problem: ByGroups, what: str) -> None:
    """Refuse what another library cannot say beside a guarantee, which would then be taken for more than it is.

    That is a limit for each group, the limit of one kind of change alone, and the assumption on a known randomizer.
    """
    if len(problem.kinds) > 1:
        raise InputError(
            f"{what} cannot say that each group has a limit of its own. Got a design that does. Use "
            "darrm.accounting.compose, or a ledger by the rule exact."
        )
    if not all(group.max_affected for group in problem.groups):
        raise InputError(
            f"{what} cannot say that a guarantee is for changes in one group alone. Got the design of one kind of "
            "change. Use darrm.accounting.compose, or a ledger by the rule exact for the whole design."
        )
    if problem.known:
        raise InputError(
            f"{what} cannot say that a guarantee rests on a known randomizer. Got a design that does. Leave the "
            "randomizer out, or compute its total with darrm.accounting.compose and state the assumption beside it."
        )


def _said(group: VoterGroup) -> str:
    if group.randomizer == RESPONSE:
        return f"randomized response of epsilon {exactly(group.epsilon)}"
    return "the stated table"


def checked_present(problem: ByGroups, present: Sequence[int]) -> tuple[int, ...]:
    """The numbers of present voters of each group, as ints, refused above the sizes of the groups."""
    sizes = [group.count for group in problem.groups]
    if not isinstance(present, list | tuple) or len(present) != len(sizes):
        raise refusal("present", f"one number for each of {len(sizes)} groups", present)
    return tuple(whole("present", count, 0, size) for count, size in zip(present, sizes, strict=True))

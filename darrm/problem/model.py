"""The voters of a problem and their adjacency, without the guarantee of the release."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from darrm._validation import MAX_CLASSES, MAX_COUNT, refusal, shown, whole
from darrm.errors import InputError
from darrm.problem.groups import NONE, ByGroups, VoterGroup, but, checked_present
from darrm.problem.limits import adjacency_text
from darrm.problem.randomizers import RESPONSE
from darrm.problem.voter_names import check_different


@dataclass(frozen=True, init=False)
class VoterModel(ByGroups):
    """The voters, their classes, and the largest number of affected voters.

    Parameters
    ----------
    groups, classes, max_affected, adjacency, none
        As of `darrm.DecisionProblem`.

    Attributes
    ----------
    K : int
        Number of voters.
    n_classes, n_answers : int
        C, and C or C + 1.

    Raises
    ------
    InputError
        If a value is outside its range, or of the wrong kind.

    Examples
    --------
    >>> import darrm
    >>> model = darrm.MajorityProblem(11, m=3, epsilon=0.1).model
    >>> model == darrm.DecisionProblem([darrm.VoterGroup(11, epsilon=0.1)], epsilon=0.3).model
    True
    >>> model.K, model.max_affected, model.n_classes
    (11, 11, 2)
    """

    groups: tuple[VoterGroup, ...]
    classes: int | tuple[str, ...]
    max_affected: int
    adjacency: str
    none: bool

    def __init__(
        self,
        groups: Iterable[VoterGroup],
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
        named = [group.names for group in given if group.names is not None]
        if named and len(named) < len(given):
            raise InputError(
                f"Either all voters must have names or none. Got names in {len(named)} of {len(given)} groups. Pass "
                "names to every VoterGroup."
            )
        check_different(name for names in named for name in names)
        most = sum(group.max_affected for group in given)
        if max_affected is None or not most:  # of the problem of one kind of change, most can be 0
            max_affected = most
        else:
            in_all = f"in [1, {most}], the number that the groups allow together"
            hint = "Pass the number of voters one record can affect in all, or leave it out."
            max_affected = whole("max_affected", max_affected, 1, most, allowed=in_all, hint=hint)
        if not isinstance(none, bool):
            raise refusal("none", "True or False", none)
        # Noisy max, which is for such voters, needs no table.
        many = all(math.isinf(group.epsilon) for group in given)
        called = _classes(classes, MAX_COUNT if many else MAX_CLASSES, none=none)
        _check_randomizers(given, called)
        values = (given, called, max_affected, adjacency_text(adjacency), none)
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)

    @property
    def K(self) -> int:
        """Number of voters."""
        return sum(group.count for group in self.groups)

    def with_present(self, present: Sequence[int]) -> VoterModel:
        """The model with these numbers of voters present in each group, at least one in all, without empty groups.

        It has no names, because any voters of a group may be the present ones.
        """
        if self.known:
            raise InputError(
                "Voters with a known randomizer must all be present. Leave the randomizer out where voters may be "
                "absent, or let an absent voter send its response to a random true answer: for randomized response an "
                "answer that is drawn uniformly."
            )
        groups = []
        for group, count in zip(self.groups, checked_present(self, present), strict=True):
            if count:
                groups.append(but(group, count=count, max_affected=min(group.max_affected, count)))
        if not groups:
            raise refusal("present", "at least one voter", present)
        most = min(self.max_affected, sum(group.max_affected for group in groups))
        return VoterModel(groups, self.classes, most, self.adjacency, self.none)


def _check_randomizers(groups: tuple[VoterGroup, ...], classes: int | tuple[str, ...]) -> None:
    """Refuse a randomizer that draws other votes than the classes."""
    number = classes if isinstance(classes, int) else len(classes)
    for g, group in enumerate(groups, 1):
        if group.randomizer is not None and group.randomizer != RESPONSE and len(group.randomizer[0]) != number:
            raise InputError(
                f"The randomizer of group {g} must have a column for each of the {number} classes. Got "
                f"{len(group.randomizer[0])} columns."
            )


def _classes(classes: object, most: int, *, none: bool) -> int | tuple[str, ...]:
    hint = "Pass the number of classes, or their names."
    allowed = f"an integer in [2, {most}], or as many different names"
    if isinstance(classes, int) and not isinstance(classes, bool):
        return whole("classes", classes, 2, most, allowed=f"in [2, {most}]", hint=hint)
    try:
        names: tuple[object, ...] = tuple(classes)  # type: ignore[arg-type]
    except TypeError:
        raise refusal("classes", allowed, classes, hint) from None
    if isinstance(classes, str) or not 2 <= len(names) <= most or len(set(names)) != len(names):
        raise refusal("classes", allowed, classes, hint)
    numbers = set(map(str, range(len(names))))
    for place, name in enumerate(names):
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise InputError(f"A class must have a name of one line. Got {shown(name)}. {hint}")
        if name == "-1":  # -1 would leave out the voters who vote so, and absence must not depend on the vote
            raise InputError("A class must not be called -1, which stands for an absent voter. Pass another name.")
        if name in numbers and name != str(place):  # columns of numbers hold indices, columns of text hold names
            raise InputError(
                f"A class called {name} must be at index {name}, as in votes that are numbers. Got {shown(names)}."
            )
        if none and name == NONE:
            raise InputError(f"No class may be called {NONE} where that is a further answer. Pass another name.")
    return tuple(map(str, names))

"""Columns of votes by the names of the voters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from darrm._validation import shown
from darrm.errors import InputError
from darrm.problem.voter_names import compared

_MOST_SHOWN = 12


def places(source: object, header: Sequence[str], voters: Sequence[str]) -> tuple[int, ...]:
    """The indices of the columns of these voters, in any order and among others.

    Names are compared without surrounding space and in one normal form of accents. Those of voters
    come from `darrm.problem.voter_names.voter_names`.

    Raises
    ------
    InputError
        If a voter has no column, or two.

    Examples
    --------
    >>> from darrm.votes.by_name import places
    >>> places("votes.csv", ["id", "ben", "age", "anna"], ["anna", "ben"])
    (3, 1)
    """
    at: dict[str, list[int]] = {}
    for place, name in enumerate(header):
        at.setdefault(compared(name), []).append(place)
    missing = [voter for voter in voters if voter not in at]
    if missing:
        others = [name for name in at if name not in {*voters}]
        raise InputError(
            f"{source} must have a column for each voter by its name. It has none for {_some(missing)}."
            f"{_likely(missing, others)}"
        )
    for voter in voters:
        if len(at[voter]) > 1:
            raise InputError(
                f"{source} must have one column for each voter. It has {len(at[voter])} called {shown(voter)}. Leave "
                "all but the right one out."
            )
    return tuple(at[voter][0] for voter in voters)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return f"{', '.join(map(shown, names[:_MOST_SHOWN]))}{more}"


def _likely(missing: Sequence[str], others: Sequence[str]) -> str:
    """The other columns, and which may be that of a missing voter: one that differs by case, space or little else.

    Whether the file or the list of names is at fault is not known here, nor where that list stands: a design, an option
    or a file of parties has it.
    """
    if not others:
        return f" It has no others. Add {'it' if len(missing) == 1 else 'them'}."
    meant = "."
    letters = {_letters(name): name for name in reversed(others)}
    for voter in missing:
        near = get_close_matches(_letters(voter), list(letters), 1, 0.8)
        if near:
            meant = f": did you mean {shown(letters[near[0]])} for {shown(voter)}?"
            break
    return (
        f" Its other columns are {_some(others)}{meant} Correct the column, or the name where you passed it; if the "
        "design names its voters, call the columns as it does."
    )


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()

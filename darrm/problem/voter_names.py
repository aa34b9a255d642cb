"""Names of voters, by which columns of votes are found in any order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from unicodedata import normalize

from darrm._validation import is_listed, refusal, shown
from darrm.errors import InputError

_SHOWN = 5  # names in an example
_OTHERS = ("id", "label")  # columns that are not votes
# Invisible characters: soft hyphens, joiners and marks without width, and byte order marks left by concatenated files.
_INVISIBLE = dict.fromkeys([0xAD, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF])


def compared(name: str) -> str:
    """The form of a name for comparison: without surrounding space and invisible characters, in the normal form NFC."""
    if not name.isascii():
        name = name.translate(_INVISIBLE)
    return normalize("NFC", name.strip())


def voter_names(names: object, count: int | None, called: str = "names") -> tuple[str, ...]:
    """The names of ``count`` voters in their form for comparison, refused unless all differ.

    Parameters
    ----------
    names : iterable of str
        Each of one line, and not ``id`` or ``label``.
    count : int, or None
        The required number of names; if None, at least one.
    called : str
        The name of the argument in errors.

    Raises
    ------
    InputError

    Examples
    --------
    >>> from darrm.problem.voter_names import voter_names
    >>> voter_names(["anna", " ben "], 2)
    ('anna', 'ben')
    """
    allowed = f"a list of {'' if count is None else f'{count} '}different names, one for each voter"
    own = [f"bank{at}" for at in range(2 if count is None else min(count, _SHOWN))]
    more = "" if count is None or count <= _SHOWN else f" and {count - _SHOWN} more"
    hint = f"Pass e.g. {','.join(own) if '--' in called else json.dumps(own)}{more}."
    if not is_listed(names):
        raise refusal(called, allowed, names, hint)
    made = []
    for name in names:
        if not isinstance(name, str) or not name.strip() or not name.strip().isprintable():
            raise InputError(f"A voter must have a name of one line. Got {shown(name)}. {hint}")
        made.append(compared(name))
        if made[-1].casefold() in _OTHERS:
            raise InputError(
                f"A voter must not be called id or label: such columns hold no votes. Got {shown(name)}. Pass another "
                "name."
            )
    if not made or (count is not None and len(made) != count):
        raise InputError(f"{called} must be {allowed}. Got {len(made)}: {shown(made)}. {hint}")
    check_different(made)
    return tuple(made)


def check_different(names: Iterable[str]) -> None:
    """`InputError` if a name occurs twice."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(
            f"Every voter must have a name of its own. Got {shown(twice[0])} twice: a change of that voter's data "
            "would affect both votes. Name each voter once."
        )

"""What voters are called, so that votes are taken by name, whatever the order of their columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from unicodedata import normalize

from darrm._validation import refusal, shown
from darrm.errors import InputError

_OTHERS = ("id", "label")  # columns that no voter casts
# Nobody sees them: soft hyphens, joiners and marks without width, and marks of byte order that files leave where they
# were put together.
_INVISIBLE = dict.fromkeys([0xAD, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF])


def compared(name: str) -> str:
    """A name as it is compared: without space around it and what nobody sees, accents in one normal form (NFC)."""
    if not name.isascii():
        name = name.translate(_INVISIBLE)
    return normalize("NFC", name.strip())


def voter_names(names: object, count: int | None, called: str = "names") -> tuple[str, ...]:
    """Different names of so many voters, as they are compared.

    Parameters
    ----------
    names : iterable of str
        Each of one line, and not ``id`` or ``label``.
    count : int, or None
        How many there must be; if None, one at least.
    called : str
        What an error calls them.

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
    hint = 'Pass e.g. ["bank0", "bank1"].'
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
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
    """`InputError` if a name is there twice."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(
            f"Every voter must have a name of its own. Got {shown(twice[0])} twice: one change of the data would reach "
            "both votes of that voter. Name each voter once."
        )

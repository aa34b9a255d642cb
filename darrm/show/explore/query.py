"""What every page reads from its address: texts by name, values made of them, and what is wrong beside each control."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

from darrm.errors import InputError

T = TypeVar("T")
C = TypeVar("C")
LONG = 40  # characters of one text, unless a page allows more
_MOST_SAID = 500


class Place(NamedTuple):
    """Where a text goes: its name, the control that errors are said beside, and the texts that it belongs to."""

    name: str
    slot: str
    texts: dict[str, str]


@dataclass
class Choices(Generic[C]):
    """A query string, read.

    Attributes
    ----------
    first : mapping of str to str
        What stands in each control at first.
    texts : dict of str to str
        What stands there now.
    choice : object or None
        None where something is wrong or unsaid.
    errors : dict of str to str
        What is wrong, by the name of the control; "groups" for what is of all groups.
    """

    first: Mapping[str, str]
    texts: dict[str, str] = field(default_factory=dict)
    choice: C | None = None
    errors: dict[str, str] = field(default_factory=dict)

    def query(self) -> str:
        """The query string that leads here."""
        return urlencode(needed(self.texts, self.first))


def read(
    pairs: Iterable[tuple[str, str]],
    first: Mapping[str, str],
    choose: Callable[[Mapping[str, str], dict[str, str]], C | None],
) -> Choices[C]:
    """Read a query string, given as pairs; ``choose`` takes texts and errors. Nothing is raised."""
    state: Choices[C] = Choices(first, dict(first))
    gather(pairs, lambda key: Place(key, key, state.texts) if key in first else None, state.errors)
    state.choice = choose(state.texts, state.errors)
    return state


def gather(
    pairs: Iterable[tuple[str, str]],
    place: Callable[[str], Place | None],
    errors: dict[str, str],
    longest: Mapping[str, int] | None = None,
) -> None:
    """Put every text of a query string, given as pairs, into its ``place``; keys without one are passed over."""
    seen: set[str] = set()
    for key, text in pairs:
        where = place(key)
        if where is None:
            continue
        most = (longest or {}).get(where.name, LONG)
        if key in seen:
            errors[where.slot] = f"{where.name} stands twice in the address. Give it once."
        elif len(text) > most:
            errors[where.slot] = f"{where.name} must have at most {most} characters here. Got {len(text)}. Shorten it."
        else:
            where.texts[where.name] = text
        seen.add(key)


def checked(name: str, errors: dict[str, str], check: Callable[[], T]) -> T | None:
    """What ``check`` returns, or None and what is wrong, shortened, among the ``errors``."""
    try:
        return check()
    except InputError as error:
        message = str(error)
        errors.setdefault(name, message if len(message) <= _MOST_SAID else f"{message[:300]} ... {message[-150:]}")
        return None


def built(
    make: Callable[..., T],
    values: dict[str, Any],
    harmless: Mapping[str, object],
    errors: dict[str, str],
    slot: Callable[[str], str] = str,
) -> T | None:
    """What ``make`` makes of the ``values``, and everything that is wrong with them among the ``errors``.

    Each message begins with the name of what is wrong; something ``harmless`` in its place shows what else is. So what
    is returned may be made of other values than were given, and is of use only where nothing is wrong.
    """
    while True:
        try:
            return make(**values)
        except InputError as error:
            name = str(error).split(" ", 1)[0]
            errors.setdefault(slot(name), str(error))
            if name not in harmless or (name in values and values[name] == harmless[name]):
                return None
            values[name] = harmless[name]


def groups_there(texts: Mapping[str, str], groups: Sequence[int], errors: dict[str, str]) -> list[int]:
    """The groups whose count is given, the first one always; a group that is passed over is among the ``errors``."""
    there = [g for g in groups if texts[f"count{g}"]] or [groups[0]]
    for g in groups[: there[-1]]:
        if g not in there:
            errors.setdefault(f"count{g}", f"count must be given for group {g}, since there is a group {there[-1]}.")
    return there


def needed(texts: Mapping[str, str], first: Mapping[str, str]) -> dict[str, str]:
    """The texts that an address must hold: an empty one only where there is something at first."""
    return {name: text for name, text in texts.items() if text or first[name]}

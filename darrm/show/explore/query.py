"""What every page reads from its address: texts by name, values made of them, and what is wrong beside each control."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

from darrm.errors import InputError

T = TypeVar("T")
C = TypeVar("C")
# Characters of a text, of which a page takes no more.
_LONG, _LONGEST = 40, {"prior": 6000, "cost": 400, "classes": 200, "objective": 200, "truths": 200, "accuracy1": 200}
_MOST_SAID = 500
RANDOMIZERS = {"": "any mechanism", "response": "randomized response"}  # as --randomizer has them


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
    seen: set[str] = set()
    for name, text in pairs:
        most = _LONGEST.get(name, _LONG)
        if name not in first:
            continue
        if name in seen:
            state.errors[name] = f"{name} stands twice in the address. Give it once."
        elif len(text) > most:
            state.errors[name] = f"{name} must have at most {most} characters here. Got {len(text)}. Shorten it."
        else:
            state.texts[name] = text
        seen.add(name)
    state.choice = choose(state.texts, state.errors)
    return state


def checked(name: str, errors: dict[str, str], check: Callable[[], T]) -> T | None:
    """What ``check`` returns, or None and what is wrong, shortened, among the ``errors``."""
    try:
        return check()
    except InputError as error:
        errors.setdefault(name, shortened(str(error)))
        return None


def shortened(message: str) -> str:
    """A message that fits below a control."""
    return message if len(message) <= _MOST_SAID else f"{message[:300]} ... {message[-150:]}"


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


def colluders_of(texts: Mapping[str, str]) -> str | None:
    """The number of colluders that was asked for: only where the randomizer is known."""
    return texts["colluders"] or None if texts["randomizer"] else None


def needed(texts: Mapping[str, str], first: Mapping[str, str]) -> dict[str, str]:
    """The texts that an address must hold: an empty one only where there is something at first."""
    return {name: text for name, text in texts.items() if text or first[name]}

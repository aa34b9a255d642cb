"""The allowed votes and labels, and the meaning of the cells of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from darrm._validation import refusal, shown, whole
from darrm.errors import InputError
from darrm.problem.voter_names import compared

BITS: tuple[str, ...] = ("0", "1")  # what two answers are called, if not otherwise
ABSENT = 255  # the byte of -1
_MOST_NAMES = 255  # so that no answer has the byte of an absent voter; 127, and none is negative beside -1
_MOST_SHOWN = 12
_MOST_KEPT = 1 << 12
_NAMES = "two or more different texts, for the answers 0, 1, ..."
# What programs write where nothing stands: R, pandas, polars, numpy and databases.
_NOTHING = frozenset({"", "NA", "N/A", "<NA>", "NaN", "nan", "null", "NULL"})
_MISSING = _NOTHING | {"-1", "-1.0", "None"}
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
# 1, 1.0, 1.000000000000000000e+00; and 1,0, as some countries write it.
_NUMBER = re.compile(r"[+-]?([0-9]{1,20}[.,]?[0-9]{0,30}|[.,][0-9]{1,30})([eE][+-]?[0-9]{1,2})?")


def is_nothing(value: object) -> bool:
    """Whether a value of a table says that there is none: None, NaN, such a word, or -1."""
    return value is None or value != value or value == -1 or (isinstance(value, str) and compared(value) in _MISSING)


def numbered(names: Sequence[str]) -> bool:
    """Whether the names of answers are their numbers."""
    return tuple(names) == tuple(map(str, range(len(names))))


def in_numbers(n: int) -> str:
    """What n answers are in arrays: "numbers 0 and 1", "numbers 0 to 2"."""
    return "numbers 0 and 1" if n == 2 else f"numbers 0 to {n - 1}"


def in_words(names: Sequence[str]) -> str:
    """What an answer may be: "no, x or yes", "an integer from 0 to 9", "one of 99 names: a, b and so on"."""
    if len(names) > 3 and numbered(names):
        return f"an integer from 0 to {len(names) - 1}"
    if len(names) > _MOST_SHOWN:
        return f"one of {len(names)} names: {', '.join(names[:_MOST_SHOWN])} and so on"
    return f"{', '.join(names[:-1])} or {names[-1]}"


def meant(got: object, names: Sequence[str]) -> str:
    """What a text that is none of the named answers may mean: one in other letters, or the further answer "none"."""
    text = "".join(got.casefold().split()) if isinstance(got, str) and not numbered(names) else ""
    alike = [name for name in names if text and "".join(name.casefold().split()) == text]
    if alike:
        return f" Did you mean {shown(alike[0])}?"
    return ' "none" is an answer of releases alone, no vote.' if text == "none" else ""


def checked_names(names: object) -> tuple[str, ...]:
    """The names of answers, from a list or tuple; `InputError` for anything else, such as one text."""
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) and name for name in names):
        raise refusal("names", _NAMES, names)
    if not 2 <= len(names) == len(set(names)):
        raise refusal("names", _NAMES, names)
    if len(set(map(compared, names))) < len(names):
        raise refusal("names", "texts that differ by more than blanks around them and forms of Unicode", names)
    return tuple(names)


def names_of(names: object, classes: object) -> object:
    """The names of answers: ``names``, or in their place ``classes``, which may be a number of them."""
    if classes is None:
        return names
    if names != BITS:
        raise InputError(f"classes takes the place of names. Got names {shown(names)} too. Pass one of them.")
    if isinstance(classes, Iterable):
        return classes if isinstance(classes, str) else list(classes)
    return tuple(map(str, range(whole("classes", classes, 2, _MOST_NAMES, hint="Pass their number, or their names."))))


def numbers_of(names: Sequence[str]) -> dict[str, int]:
    """The number of each answer, by its name and, unless one of the numbers is a name, by its number."""
    numbers = {str(number): number for number in range(len(names))}
    named = {name: number for number, name in enumerate(names)}
    return named if numbers.keys() & named.keys() else numbers | named


class Readings(dict[str, int]):
    """A mapping from texts to answers: one of ``exact``, or an equal number or word.

    Texts are also compared without surrounding blanks, in both forms of Unicode, as a number ("1.0") and as a truth
    value. A text that means no answer raises KeyError.
    """

    def __init__(self, exact: Mapping[str, int], truth: tuple[int, int] | None) -> None:
        super().__init__(exact)
        self._exact, self._truth = dict(exact), truth
        self._normal: dict[str, int | None] = {}
        for text, number in exact.items():
            alike = compared(text)
            self._normal[alike] = number if self._normal.get(alike, number) == number else None

    def __missing__(self, text: str) -> int:
        answer = self._of(text)
        if answer is None:
            raise KeyError(text)
        if len(self) < _MOST_KEPT:
            self[text] = answer
        return answer

    def means(self, text: str) -> bool:
        """Whether the text means an answer."""
        return text in self or self._of(text) is not None

    def _of(self, text: str) -> int | None:
        alike = compared(text)
        if alike in self._normal:
            return self._normal[alike]
        if alike in _NOTHING:
            return self._exact.get("")
        if alike in _TRUTH:
            return None if self._truth is None else self._truth[_TRUTH[alike]]
        if _NUMBER.fullmatch(alike):
            number = Decimal(alike.replace(",", "."))
            return self._exact.get(str(int(number))) if number == int(number) else None
        return None


@dataclass(frozen=True)
class Answers:
    """The allowed values of a vote or a label.

    Attributes
    ----------
    names : tuple of 2 to 255 str
        What the answers 0, 1, ... are called. These numbers stand for them too, unless one of the numbers is a name.
    absent : bool
        Whether a voter may be absent: a vote of -1, or none.
    of_noisy_max : bool
        Whether the votes are for noisy max, which has no way to allow that.
    """

    names: tuple[str, ...] = BITS
    absent: bool = False
    of_noisy_max: bool = False

    def __post_init__(self) -> None:
        checked_names(self.names)
        most = _MOST_NAMES >> self.absent
        if len(self.names) > most:
            raise InputError(
                f"Files with a column for each voter hold at most {most} answers"
                f"{' of voters that may be absent' * self.absent}. Got {len(self.names)}. Pass arrays of numbers to "
                "the mechanism's release, or for noisy max a file of one row a vote (darrm release --layout rows)."
            )
        if self.absent and "-1" in self.names:
            raise refusal("names", "other texts than -1 where that stands for an absent voter", self.names)

    @classmethod
    def of(cls, names: object, absent: bool = False) -> Answers:
        """With names from a list or tuple; `InputError` for anything else, such as one text."""
        return cls(checked_names(names), absent)

    @cached_property
    def labels(self) -> Readings:
        """The number that each text stands for as a label."""
        return Readings(self._known, self.truth)

    @cached_property
    def votes(self) -> Readings:
        """The number that each text stands for as a vote."""
        return Readings(({"": ABSENT, "-1": ABSENT} if self.absent else {}) | self._known, self.truth)

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The answer that each number stands for in columns of numbers: that of the same number as a text."""
        return {int(text): answer for text, answer in self._known.items() if re.fullmatch("0|-?[1-9][0-9]{0,9}", text)}

    @cached_property
    def truth(self) -> tuple[int, int] | None:
        """The answers that False and True stand for; None if they stand for none."""
        words = [name.casefold() for name in self.names]
        if sorted(words) == ["false", "true"]:
            return words.index("false"), words.index("true")
        places = len(words) == 2 and self.numbers == {0: 0, 1: 1} and not {"false", "true"} & set(words)
        return (0, 1) if places else None

    @cached_property
    def _known(self) -> dict[str, int]:
        return numbers_of(self.names)

    @cached_property
    def digits(self) -> bool:
        """Whether the numbers of the answers have one digit and stand for these answers."""
        n = len(self.names)
        return n <= 10 and all(self._known.get(str(number)) == number for number in range(n))

    @property
    def kind(self) -> str:
        """What a column of numbers holds, in words."""
        return in_numbers(len(self.names))

    @cached_property
    def numbered(self) -> bool:
        """Whether the answers are called by their numbers."""
        return numbered(self.names)

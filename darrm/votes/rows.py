"""What files of votes are read into, some thousand rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm._validation import refusal, several_classes, shown
from darrm.errors import InputError

Votes = NDArray[np.uint8] | NDArray[np.int8]
ABSENT = 255  # the byte of -1
_MOST_NAMES = 255  # so that no answer has the byte of an absent voter; 127, and none is negative beside -1
_MOST_SHOWN = 12
_NAMES = "two or more different texts, for the answers 0, 1, ..."


@dataclass(frozen=True, eq=False)
class Texts:
    """n texts end to end, as Arrow keeps them: iterate for each as str.

    Attributes
    ----------
    data : bytes
        UTF-8.
    ends : ndarray of int64, shape (n,)
        Where each text ends in ``data``.

    Examples
    --------
    >>> from darrm.votes.rows import Texts
    >>> list(Texts.of(["a", "b"])), list(Texts.numbers(1, 3))
    (['a', 'b'], ['1', '2', '3'])
    """

    data: bytes
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        """Those of an iterable; `InputError` if an id is not a text, or UTF-8 cannot hold it."""
        encoded = [_encoded(text) for text in texts]
        return cls(b"".join(encoded), np.cumsum([len(text) for text in encoded], dtype=np.int64))

    @classmethod
    def numbers(cls, start: int, n: int) -> Texts:
        """The n whole numbers from ``start`` >= 0 on, in decimals."""
        parts, lengths, end = [], [], start + n
        while start < end:  # all that have as many digits at once
            width = len(str(start))
            stop = min(end, 10**width)
            digits = np.arange(start, stop)[:, None] // 10 ** np.arange(width - 1, -1, -1) % 10
            parts.append((digits + ord("0")).astype(np.uint8).tobytes())
            lengths.append(np.full(stop - start, width, dtype=np.int64))
            start = stop
        return cls(b"".join(parts), np.cumsum(np.concatenate([np.zeros(0, dtype=np.int64), *lengths])))

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[str]:
        start = 0
        for end in self.ends.tolist():
            yield self.data[start:end].decode()
            start = end


def _encoded(text: object) -> bytes:
    if not isinstance(text, str):
        raise InputError(f"An id must be a text. Got a value of type {type(text).__name__}. Pass str(id).")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InputError(f"An id must be a text that UTF-8 can hold. Got {text!r}, a lone surrogate.") from None


def numbers(array: NDArray[Any]) -> NDArray[Any]:
    """The array, or its bytes if it is of booleans: made by a view of other bytes, these need not be 0 and 1."""
    return array.view(np.uint8) if array.dtype == np.bool_ else array


def other_than(values: NDArray[Any], n: int) -> NDArray[np.intp]:
    """Where numbers are none of 0, ..., n - 1; shape (k,)."""
    if n == 2:
        return np.flatnonzero((values != 0) & (values != 1))
    known = (values >= 0) & (values < n)
    if values.dtype.kind == "f":
        known &= values == np.floor(values)
    return np.flatnonzero(~known)


def numbered(names: Sequence[str]) -> bool:
    """Whether the names of answers are their numbers."""
    return tuple(names) == tuple(map(str, range(len(names))))


def in_numbers(n: int) -> str:
    """What n answers are in arrays: "numbers 0 and 1", "numbers 0 to 2"."""
    return "numbers 0 and 1" if n == 2 else f"numbers 0 to {n - 1}"


def in_words(names: Sequence[str]) -> str:
    """What an answer may be: "no, x or yes", "a whole number from 0 to 9", "one of 99 names: a, b and so on"."""
    if len(names) > 3 and numbered(names):
        return f"a whole number from 0 to {len(names) - 1}"
    if len(names) > _MOST_SHOWN:
        return f"one of {len(names)} names: {', '.join(names[:_MOST_SHOWN])} and so on"
    return f"{', '.join(names[:-1])} or {names[-1]}"


@dataclass(frozen=True, eq=False)
class VotesBlock:
    """Consecutive rows of a votes file.

    Attributes
    ----------
    votes : ndarray of uint8, shape (n, K)
        The numbers of the classes; int8 with -1 for an absent voter, where voters may be absent.
    ids : Texts, length n
        The ``id`` column, or the row numbers of the file from 1.
    labels : ndarray of uint8, shape (n,), or None
        The ``label`` column, if there is one.
    """

    votes: Votes
    ids: Texts
    labels: NDArray[np.uint8] | None


@dataclass(frozen=True)
class Answers:
    """What a vote or a label may be.

    Attributes
    ----------
    names : tuple of 2 to 255 str
        What the answers 0, 1, ... are called. These numbers stand for them too, unless one of the numbers is a name.
    absent : bool
        Whether a voter may be absent: a vote of -1, or none.
    """

    names: tuple[str, ...] = ("0", "1")
    absent: bool = False

    def __post_init__(self) -> None:
        known = isinstance(self.names, tuple) and all(isinstance(name, str) and name for name in self.names)
        if not known or not 2 <= len(self.names) == len(set(self.names)):
            raise refusal("names", _NAMES, self.names)
        most = _MOST_NAMES >> self.absent
        if len(self.names) > most:
            raise InputError(
                f"Files and columns hold at most {most} answers{' of voters that may be absent' * self.absent}. "
                f"Got {len(self.names)}. Pass arrays of numbers to the mechanism's release."
            )
        if self.absent and "-1" in self.names:
            raise refusal("names", "other texts than -1 where that stands for an absent voter", self.names)

    @classmethod
    def of(cls, names: object, absent: bool = False) -> Answers:
        """With names from a list or tuple; `InputError` for anything else, such as one text."""
        if not isinstance(names, list | tuple):
            raise refusal("names", _NAMES, names)
        return cls(tuple(names), absent)

    @cached_property
    def labels(self) -> dict[str, int]:
        """The number that each text stands for as a label."""
        numbers = {str(number): number for number in range(len(self.names))}
        return ({} if numbers.keys() & set(self.names) else numbers) | {
            name: number for number, name in enumerate(self.names)
        }

    @cached_property
    def votes(self) -> dict[str, int]:
        """The number that each text stands for as a vote."""
        return ({"": ABSENT, "-1": ABSENT} if self.absent else {}) | self.labels

    @cached_property
    def digits(self) -> bool:
        """Whether the numbers of the answers have one digit and stand for these answers."""
        n = len(self.names)
        return n <= 10 and all(self.labels.get(str(number)) == number for number in range(n))

    @property
    def kind(self) -> str:
        """What a column of numbers holds, in words."""
        return in_numbers(len(self.names))

    @cached_property
    def numbered(self) -> bool:
        """Whether the answers are called by their numbers."""
        return numbered(self.names)


@dataclass(frozen=True)
class Columns:
    """Which columns are votes: those from ``first`` to ``last``, between an optional id and an optional label."""

    names: tuple[str, ...]
    first: int
    last: int
    answers: Answers

    @classmethod
    def of(cls, source: object, names: Sequence[str], K: int | None, answers: Answers) -> Columns:
        """The columns of those names; `InputError` if they are not K vote columns, or not one if K is None."""
        first = int(bool(names) and names[0] == "id")
        last = len(names) - int(bool(names) and names[-1] == "label")
        n_votes = last - first
        if n_votes < 1 or (K is not None and n_votes != K):
            wanted = "at least 1" if K is None else f"K = {K}"
            raise InputError(
                f"{source} must have {wanted} vote columns, between an optional id and an optional label. "
                f"Got {max(n_votes, 0)}: {', '.join(names[first:last][:12])}{', ...' * (n_votes > 12)}."
                f"{cls._hint(names, n_votes, K, answers)}"
            )
        return cls(tuple(names), first, last, answers)

    @staticmethod
    def _hint(names: Sequence[str], n_votes: int, K: int | None, answers: Answers) -> str:
        """What may be wrong with a header of another number of columns."""
        if n_votes == 1 and (";" in names[0] or "\t" in names[0]):
            return " Separate columns by commas."
        if sum(name in answers.votes for name in names) > 1:
            return " The first line must be a header, and this one holds votes."
        if K is not None and n_votes == K + 1:
            return " A first column is an id only if it is called id."
        return ""

    def fault(self, column: int, got: object) -> str:
        """What is wrong with a value that is none of the answers."""
        what = "A label" if column >= self.last else "A vote"
        absent = ", or -1 or blank for an absent voter" if self.answers.absent and column < self.last else ""
        hint = several_classes(got, len(self.answers.names))
        if not self.answers.absent and column < self.last and str(got).strip() in ("", "-1", "None"):
            hint = (
                " Voters may be absent if the design is for two answers and was solved with --absent; in Python read "
                "with absent=True."
            )
        allowed = in_words(self.answers.names) + absent
        return f"column {self.names[column]}: {what} must be {allowed}. Got {shown(got)}.{hint}"

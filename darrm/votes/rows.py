"""What files of votes are read into, some thousand rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError


@dataclass(frozen=True, eq=False)
class Texts:
    """n texts end to end, as Arrow keeps them: iterate for each as str.

    Attributes
    ----------
    data : bytes
        UTF-8.
    ends : ndarray of int64, shape (n,)
        Where each text ends in ``data``.
    """

    data: bytes
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        """Those of an iterable; `InputError` if one is no text, or none that UTF-8 can hold."""
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


def other_than_bits(values: NDArray[Any]) -> NDArray[np.intp]:
    """Where numbers of shape (n,) are neither 0 nor 1."""
    return np.flatnonzero((values != 0) & (values != 1))


@dataclass(frozen=True, eq=False)
class VotesBlock:
    """Consecutive rows of a votes file.

    Attributes
    ----------
    votes : ndarray of uint8, shape (n, K)
    ids : Texts, length n
        The ``id`` column, or the row numbers of the file from 1.
    labels : ndarray of uint8, shape (n,), or None
        The ``label`` column, if there is one.
    """

    votes: NDArray[np.uint8]
    ids: Texts
    labels: NDArray[np.uint8] | None


@dataclass(frozen=True)
class Columns:
    """Which columns are votes: those from ``first`` to ``last``, between an optional id and an optional label."""

    names: tuple[str, ...]
    first: int
    last: int

    @classmethod
    def of(cls, source: object, names: Sequence[str], K: int | None) -> Columns:
        """The columns of those names; `InputError` if they are not K vote columns, or not one if K is None."""
        first = int(bool(names) and names[0] == "id")
        last = len(names) - int(bool(names) and names[-1] == "label")
        n_votes = last - first
        if n_votes < 1 or (K is not None and n_votes != K):
            wanted = "at least 1" if K is None else f"K = {K}"
            raise InputError(
                f"{source} must have {wanted} vote columns, between an optional id and an optional label. "
                f"Got {max(n_votes, 0)}: {', '.join(names[first:last][:12])}{', ...' * (n_votes > 12)}."
            )
        return cls(tuple(names), first, last)

    def fault(self, column: int, got: object) -> str:
        """What is wrong with a value that is not 0 or 1."""
        what = "A label" if column >= self.last else "A vote"
        return f"column {self.names[column]}: {what} must be 0 or 1. Got {got!r}."

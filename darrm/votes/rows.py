"""What files of votes are read into, some thousand rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm._validation import is_listed, refusal
from darrm.errors import InputError

Votes = NDArray[np.uint8] | NDArray[np.int8]


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
        if not is_listed(texts):
            raise refusal("ids", "a list of texts, one for each row", texts)
        encoded = [_encoded(text) for text in texts]
        return cls(b"".join(encoded), np.cumsum([len(text) for text in encoded], dtype=np.int64))

    @classmethod
    def joined(cls, parts: Sequence[Texts]) -> Texts:
        """Those of all parts, one part after the other."""
        starts = np.cumsum([0, *(len(part.data) for part in parts)])
        ends = [part.ends + start for part, start in zip(parts, starts, strict=False)]
        return cls(b"".join(part.data for part in parts), np.concatenate([np.zeros(0, dtype=np.int64), *ends]))

    @classmethod
    def numbers(cls, start: int, n: int) -> Texts:
        """The n integers from ``start`` >= 0 on, in decimals."""
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


def other_than(values: NDArray[Any], n: int, low: int = 0) -> NDArray[np.intp]:
    """Where numbers are none of ``low``, ..., n - 1; shape (k,), of arrays of several dimensions row by row."""
    if n == 2 and not low:
        return np.flatnonzero((values != 0) & (values != 1))
    known = (values >= low) & (values < n)
    if values.dtype.kind == "f":
        known &= values == np.floor(values)
    return np.flatnonzero(~known)


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
    has_ids : bool
        Whether ``ids`` are those of a column, the same for all blocks of a file. Only then do they say which query a
        row is for: the numbers of rows begin anew in each file.
    voters : tuple of str, length K
        What the columns of votes are called, in the order of ``votes``.
    """

    votes: Votes
    ids: Texts
    labels: NDArray[np.uint8] | None
    has_ids: bool = False
    voters: tuple[str, ...] = ()

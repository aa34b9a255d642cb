"""Randomness by key: words that are a function of a secret key and of the row that they are for.

Word 6 b + j (j < 6) of a row is bytes 8 j, ..., 8 j + 7, the least first, of

    BLAKE2b-512(key, person = "darrm labels v1", law | size of counts | b | counts | id)

where ``law`` are 32 bytes that stand for the mechanism, the size and the number b of the block have 8 bytes each, so
have the counts, and the id is the rest, in UTF-8. The first three have fixed lengths, and the size is that of all
counts, so different rows have different messages. Bytes 48 to 63 of block 0 are the *tag* of the row, by which a ledger
sees that it comes again.

Keyed BLAKE2b (RFC 7693) is a pseudorandom function: without the key, no one can tell its values from independent random
ones in any feasible time. So all words of different rows, and all tags, look independent and uniform, and those of the
same row are the same in every call, order, block, process and machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from darrm.randomness.coins import Words, WordSource

SIZE = 32  # bytes of a key, and of what stands for a mechanism
TAG = 16  # bytes of the tag of a row
_PERSON = b"darrm labels v1"  # of another version, if words or samplers change: the same row has another label then
_EACH = 6  # words of a block
_Rows = NDArray[np.intp] | slice


class KeyedRows:
    """The words of n rows, from the key and what they are for.

    Parameters
    ----------
    secret, law : bytes, 32 each
        The key, and what stands for all that the probabilities depend on but the counts.
    counts : ndarray of int64, shape (n, k)
        What the probabilities of a row depend on.
    data : bytes
        The ids of the rows, in UTF-8, end to end.
    ends : sequence of int, length n
        Where each id ends.
    """

    def __init__(self, secret: bytes, law: bytes, counts: NDArray[np.int64], data: bytes, ends: Sequence[int]) -> None:
        if len(secret) != SIZE or len(law) != SIZE or len(counts) != len(ends):
            raise ValueError(f"A key and a law have {SIZE} bytes, and each row has an id.")
        self._size = 8 * counts.shape[1]
        self._start = hashlib.blake2b(law + self._size.to_bytes(8, "little"), key=secret, person=_PERSON)
        del secret  # so that no traceback that prints values has it
        self._counts, self._data, self._ends = counts.astype("<i8").tobytes(), data, [0, *ends]
        block, digests = self._block(0), []
        for (start, end), at in zip(pairwise(self._ends), range(0, len(self._counts), self._size), strict=True):
            own = block.copy()
            own.update(self._counts[at : at + self._size] + data[start:end])
            digests.append(own.digest())
        values = np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 8)
        self._first: Words = values[:, :_EACH].astype(np.uint64)
        self.tags = values[:, _EACH:].tobytes()
        self._used = np.zeros(len(values), dtype=np.int64)

    def __len__(self) -> int:
        return len(self._used)

    def next(self, rows: NDArray[np.intp]) -> Words:
        """The next word of each of some different rows."""
        at = self._used[rows]
        self._used[rows] += 1
        words = self._first[rows, np.minimum(at, _EACH - 1)]
        for i in np.flatnonzero(at >= _EACH).tolist():
            words[i] = self._word(int(rows[i]), int(at[i]))
        return words

    def take(self, row: int, n: int) -> Words:
        """The next n words of one row."""
        start = int(self._used[row])
        self._used[row] += n
        return np.array([self._word(row, at) for at in range(start, start + n)], dtype=np.uint64)

    def _block(self, number: int) -> hashlib.blake2b:
        block = self._start.copy()
        block.update(number.to_bytes(8, "little"))
        return block

    def _word(self, row: int, at: int) -> int:
        number, place = divmod(at, _EACH)
        if not number:
            return int(self._first[row, place])
        block = self._block(number)
        block.update(self._counts[row * self._size : (row + 1) * self._size])
        block.update(self._data[self._ends[row] : self._ends[row + 1]])
        return int.from_bytes(block.digest()[8 * place : 8 * place + 8], "little")


class KeyedWords:
    """A `WordSource` for some rows, each of which draws words of its own.

    A sampler that draws further words for some of its rows says which (`darrm.randomness.coins.of_rows`); one that does
    not is refused, because words would go to other rows.
    """

    def __init__(self, rows: KeyedRows, which: _Rows = slice(None)) -> None:
        self._rows = rows
        self._which = np.arange(len(rows))[which]

    def __call__(self, n: int) -> Words:
        if n != self._which.size:
            raise ValueError(f"Each of {self._which.size} rows must draw one word. Got {n} to draw.")
        return self._rows.next(self._which)

    def of(self, which: _Rows) -> KeyedWords:
        """The source for some of these rows."""
        part = KeyedWords.__new__(KeyedWords)
        part._rows, part._which = self._rows, self._which[which]
        return part

    def row(self, i: int) -> WordSource:
        """The source of any number of words for one row."""
        return lambda n: self._rows.take(int(self._which[i]), n)

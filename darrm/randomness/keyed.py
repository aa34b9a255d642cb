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

import numpy as np
from numpy.typing import NDArray

from darrm.randomness.coins import Words

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
        every = np.arange(len(ends))
        digests = self._digests(every, np.zeros(len(ends), dtype=np.int64))
        self._words, self._block = digests[:, :_EACH].astype(np.uint64), np.zeros(len(ends), dtype=np.int64)
        self.tags = digests[:, _EACH:].tobytes()
        self._used = np.zeros(len(ends), dtype=np.int64)

    def __len__(self) -> int:
        return len(self._used)

    def next(self, rows: NDArray[np.intp]) -> Words:
        """The next words of some rows in ascending order, as many of each as it is there."""
        steps = np.diff(rows, prepend=-1)
        if (steps < 0).any():
            raise ValueError("Rows must ascend, or two draws of a row would have the same word.")
        first = np.flatnonzero(steps)
        many, each = np.diff(first, append=rows.size), rows[first]
        at = np.arange(rows.size) + np.repeat(self._used[each] - first, many)
        self._used[each] += many
        block, place = np.divmod(at, _EACH)
        new = np.flatnonzero(steps.astype(bool) | (np.diff(block, prepend=-1) != 0))  # where a block of a row begins
        of, number = rows[new], block[new]
        words = self._words[of]
        other = np.flatnonzero(self._block[of] != number)
        words[other] = self._digests(of[other], number[other])[:, :_EACH]
        self._words[of], self._block[of] = words, number  # the last block of each row
        return np.asarray(words[np.repeat(np.arange(new.size), np.diff(new, append=rows.size)), place])

    def _digests(self, rows: NDArray[np.intp], blocks: NDArray[np.int64]) -> Words:
        """Some blocks, of 8 numbers each."""
        size, counts, data, ends, digests = self._size, self._counts, self._data, self._ends, []
        starts = {number: self._starting(number) for number in np.unique(blocks).tolist()}
        for row, number in zip(rows.tolist(), blocks.tolist(), strict=True):
            own = starts[number].copy()
            own.update(counts[row * size : (row + 1) * size] + data[ends[row] : ends[row + 1]])
            digests.append(own.digest())
        return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 8)

    def _starting(self, number: int) -> hashlib.blake2b:
        """What the messages of all blocks of this number begin with."""
        start = self._start.copy()
        start.update(number.to_bytes(8, "little"))
        return start


class KeyedWords:
    """A `WordSource` for some draws, each of which has words of its row.

    ``which`` are the rows of the draws, in ascending order; a row may be there several times. A sampler that draws
    further words for some of its draws says which (`darrm.randomness.coins.of_rows`); one that does not is refused,
    because words would go to other rows.
    """

    def __init__(self, rows: KeyedRows, which: _Rows = slice(None)) -> None:
        self._rows = rows
        self._which = np.arange(len(rows))[which]

    def __call__(self, n: int) -> Words:
        if n != self._which.size:
            raise ValueError(f"Each of {self._which.size} draws must take one word. Got {n} to draw.")
        return self._rows.next(self._which)

    def of(self, which: _Rows) -> KeyedWords:
        """The source for some of these draws."""
        part = KeyedWords.__new__(KeyedWords)
        part._rows, part._which = self._rows, self._which[which]
        return part

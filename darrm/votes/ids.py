"""The ids of a file: which of them came before."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from darrm._validation import shown
from darrm.errors import InputError
from darrm.problem.voter_names import compared
from darrm.votes.rows import Texts

Lines: TypeAlias = Callable[[Sequence[int]], "list[int] | None"]

_ROWS = 1 << 16  # that are entered at a time
_LOAD = 0.5  # share of slots in use from which on the table is made anew, some four times as large
_ODD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93))  # one for each half of a digest
_LENGTH = np.uint64(0xA24BAED4963EE407)
_BYTE, _SHIFT = np.uint64(8), np.uint64(32)
_BLANK = np.array([chr(byte).isspace() and byte < 0x80 for byte in range(256)])  # by its byte
_WIDE_BLANK = re.compile(r"[^\S\x00-\x7f]|[\xad\u200b-\u200f\u2060-\u2064\ufeff]")  # or invisible
# A program that reads 007 as a number writes 7, and 7.0 where another id of the column is missing.
_WHOLE = re.compile(r"([+-]?)0*([0-9]+?)(?:\.0*)?")
_OF_NUMBERS, _LEADS = (np.isin(np.arange(256), list(those)) for those in (b"+-.0123456789", b"+-0"))


def compared_id(text: str) -> str:
    """An id as it is compared: as a name is, and an integer as that number, however it is written.

    Examples
    --------
    >>> from darrm.votes.ids import compared_id
    >>> [compared_id(text) for text in (" 7", "007", "7.0", "7.5", "v7")]
    ['7', '7', '7', '7.5', 'v7']
    """
    text = compared(text)
    whole = _WHOLE.fullmatch(text)
    if whole is None:
        return text
    sign, digits = whole.groups()
    return f"-{digits}" if sign == "-" and digits != "0" else str(digits)


def hint_of(text: str) -> str:
    """What an error says of an id that comes twice, if that need not be seen."""
    whole = _WHOLE.fullmatch(compared(text)) is not None
    return " An integer is one id, however it is written: 7, 007, 7.0." if whole else ""


class SeenIds:
    """The ids of the rows of one file so far, some tens of bytes each; refuses one that comes again.

    Ids are compared as texts, without blanks around them and in one of the forms of Unicode (NFC), but integers as
    numbers.

    Parameters
    ----------
    source : object
        What errors call the file.
    first : int
        The number of the first row.
    lines : callable, optional
        Takes numbers of rows; returns their lines in the file, or None where these cannot be found.

    Examples
    --------
    >>> from darrm.votes.ids import SeenIds
    >>> from darrm.votes.rows import Texts
    >>> seen = SeenIds("votes.csv", first=1)
    >>> seen.add(Texts.of(["a", "b"]))
    >>> seen.add(Texts.of(["c"]))
    >>> len(seen)
    3
    """

    def __init__(self, source: object, first: int, lines: Lines | None = None) -> None:
        self._source, self._first, self._lines = source, first, lines
        self._n = 0
        # Keys of this object alone, so that nobody can make a file of different ids that have one digest.
        self._keys = np.frombuffer(os.urandom(16), dtype=np.uint64)
        self._halves = (np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint64))
        self._last: bytes | None = b""  # the last id while ids ascend, as they mostly do: then none comes again
        self._table = np.zeros(0, dtype=np.uint32)  # a row, counted from 1; 0 where a slot is free

    def __len__(self) -> int:
        return self._n

    def add(self, ids: Texts) -> None:
        """The ids of the next rows.

        Raises
        ------
        InputError
            If one is blank, or is the id of a row before; it names the first such row.
        """
        if not len(ids):
            return
        self._check_blank(ids)
        start, stop = self._n, self._n + len(ids)
        normal = as_compared(ids)
        one, two, ascend = _digests(normal, self._keys)
        for kept, half in zip(self._halves, (one, two), strict=True):
            if kept.size < stop:
                kept.resize(max(stop, kept.size + kept.size // 4), refcheck=False)
            kept[start:stop] = half
        self._n = stop
        if self._last is not None:
            first, last = normal.data[: normal.ends[0]], normal.data[normal.ends[-2] if len(ids) > 1 else 0 :]
            before, self._last = self._last, last
            if ascend and (len(before), before) < (len(first), first):
                return
            self._last = None
        if stop > _LOAD * self._table.size:
            self._table = np.zeros(1 << int(2 * stop / _LOAD).bit_length(), dtype=np.uint32)
            self._put(0, start)
        again = self._put(start, stop)
        if again.size:
            self._refuse(ids, start, again)

    def _put(self, start: int, stop: int) -> NDArray[np.int64]:
        """Enter rows into the table; pairs of rows of the same digest, shape (k, 2)."""
        table, (one, two) = self._table, self._halves
        mask, pairs = table.size - 1, [np.zeros((0, 2), dtype=np.int64)]
        for begin in range(start, stop, _ROWS):
            end = min(begin + _ROWS, stop)
            rows = np.arange(begin + 1, end + 1, dtype=np.uint32)
            slots = (one[begin:end] >> np.uint64(16)).view(np.int64) & mask
            step = 0
            while rows.size:
                # Of several rows that find one slot free, one remains; where it was not free, the row that was there.
                there = table.take(slots)
                taken = there.nonzero()[0]
                table[slots] = rows
                table[slots.take(taken)] = there.take(taken)
                there = table.take(slots)
                left = (there != rows).nonzero()[0]
                rows, slots, there = rows.take(left), slots.take(left), there.take(left)
                mine, other = rows.astype(np.int64) - 1, there.astype(np.int64) - 1
                alike = (one.take(mine) == one.take(other)).nonzero()[0]
                alike = alike[two.take(mine.take(alike)) == two.take(other.take(alike))]
                if alike.size:
                    pairs.append(np.stack([other[alike], mine[alike]], axis=1))
                    rows, slots = np.delete(rows, alike), np.delete(slots, alike)
                step += 1  # by 1, 2, 3, ...: all slots of a table of 2^k are tried, and no row of taken ones grows
                slots = (slots + step) & mask
        return np.concatenate(pairs)

    def _refuse(self, ids: Texts, start: int, pairs: NDArray[np.int64]) -> None:
        """`InputError` for the first row whose id came before."""
        earlier = {int(max(pair)): int(min(pair)) for pair in pairs if min(pair) < start}
        seen: dict[str, int] = {}
        for row, text in enumerate(ids, start):
            before = earlier.get(row, seen.setdefault(compared_id(text), row))
            if before != row:
                kind, (one, other) = self.places([self._first + before, self._first + row])
                raise InputError(
                    f"{self._source} has the id {shown(text)} twice, in {kind}s {one} and {other}: its query would get "
                    "two labels. Leave one of the rows out, or give each query an id of its own."
                    f"{hint_of(text)}"
                )

    def _check_blank(self, ids: Texts) -> None:
        starts = np.concatenate([[0], ids.ends[:-1]]) if len(ids) else ids.ends
        maybe = ids.ends == starts
        if len(ids.data):
            # A blank id is empty, or begins with a blank: few do, and these are looked at one by one.
            first = np.frombuffer(ids.data, dtype=np.uint8)[np.minimum(starts, len(ids.data) - 1)]
            maybe |= _BLANK[first] | (first >= 0x80)
        for at in np.flatnonzero(maybe).tolist():
            if not compared(ids.data[starts[at] : ids.ends[at]].decode()):
                kind, (place,) = self.places([self._first + self._n + at])
                raise InputError(f"{self._source}, {kind} {place}, column id is empty. Give each row an id, or none.")

    def places(self, rows: list[int]) -> tuple[str, list[int]]:
        """Where rows of these numbers stand: "line" and their lines where there are any, else "row" and the numbers."""
        lines = None if self._lines is None else self._lines(rows)
        return ("row", rows) if lines is None else ("line", lines)


def as_compared(ids: Texts) -> Texts:
    """The ids as they are compared; mostly these very ids, which costs less to see than to make them anew."""
    data = np.frombuffer(ids.data, dtype=np.uint8)
    if not data.size:
        return ids
    starts = np.concatenate([[0], ids.ends[:-1]])
    first, last = data[np.minimum(starts, data.size - 1)], data[np.maximum(ids.ends - 1, 0)]
    plain = not _BLANK[first].any() and not _BLANK[last].any() and not _any_odd_number(ids, starts, first)
    if plain and not ids.data.isascii():
        text = ids.data.decode()  # a part of a text in NFC is in NFC
        plain = unicodedata.is_normalized("NFC", text) and _WIDE_BLANK.search(text) is None
    return ids if plain else Texts.of(map(compared_id, ids))


def _any_odd_number(ids: Texts, starts: NDArray[np.int64], first: NDArray[np.uint8]) -> bool:
    """Whether a number may be there that is not written as it is compared."""
    odd, dots = _LEADS[first] & (ids.ends - starts > 1), b"." in ids.data
    if not dots and not odd.any():
        return False
    data = np.frombuffer(ids.data, dtype=np.uint8)
    if dots:
        before = np.concatenate([[0], np.cumsum(data == ord("."))])
        odd |= before[ids.ends] > before[starts]
    before = np.concatenate([[0], np.cumsum(~_OF_NUMBERS[data])])
    return bool((odd & (before[ids.ends] == before[starts])).any())


def _digests(ids: Texts, keys: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64], bool]:
    """Two halves of a keyed digest of each id, and whether each id is longer than the one before or comes after it."""
    lengths = np.diff(ids.ends, prepend=0)
    undecided = lengths[1:] == lengths[:-1]
    ascend = not (lengths[1:] < lengths[:-1]).any()
    # The eight bytes from each byte on.
    windows = np.ndarray(len(ids.data) + 1, dtype="<u8", buffer=ids.data + bytes(8), strides=(1,))
    halves = [lengths.astype(np.uint64) * _LENGTH + key for key in keys]
    live: slice | NDArray[np.intp] = slice(None)  # ids that are not at their end
    for j in range(-(-int(lengths.max()) // 8)):
        if (lengths[live] <= 8 * j).any():
            live = np.flatnonzero(lengths > 8 * j)
        left = lengths[live] - 8 * j
        word = windows[ids.ends[live] - left] << (_BYTE * (8 - np.minimum(left, 8)).astype(np.uint64))
        for half, odd in zip(halves, _ODD, strict=True):
            mixed = half[live]
            mixed ^= word
            mixed *= odd
            mixed ^= mixed >> _SHIFT
            half[live] = mixed
        if ascend:
            in_order = np.zeros(len(ids), dtype=np.uint64)
            in_order[live] = word.byteswap()
            step = undecided & (in_order[1:] != in_order[:-1])
            ascend = bool((in_order[1:][step] > in_order[:-1][step]).all())
            undecided &= ~step
    for half, odd in zip(halves, _ODD, strict=True):
        half *= odd
        half ^= half >> _SHIFT
    return halves[0], halves[1], ascend and not undecided.any()


class RowIds:
    """What the rows of one table are called: by their ids, which come once each, or else by their numbers.

    Parameters
    ----------
    source : object
        What errors call the table.
    first, lines
        As for `SeenIds`.
    """

    def __init__(self, source: object, first: int, lines: Lines | None = None) -> None:
        self._source, self._row = source, first
        self._seen = SeenIds(source, first, lines)
        self._counted: bool | None = None

    def of(self, ids: Texts | None, n: int, *, index: bool) -> tuple[Texts, bool]:
        """The names of the next n rows, and whether they are ids; errors as of `SeenIds.add`.

        ``ids`` is None where there are none. With ``index`` they are those of an index that nobody called id, in which
        integers count rows.
        """
        row, self._row = self._row, self._row + n
        if ids is None:
            return Texts.numbers(row, n), False
        if index:
            counted = ids.data.isdigit() and not (np.diff(ids.ends, prepend=0) == 0).any()
            if self._counted is None:
                self._counted = counted
            if counted != self._counted:
                kind, (place,) = self._seen.places([row])
                raise InputError(
                    f"{self._source} has integers in some rows, and texts in others, of a first column or index "
                    f"without a name. They change in {kind} {place} or later. Call it id, or leave it out."
                )
            if counted:
                return ids, False
        self._seen.add(ids)
        return ids, True

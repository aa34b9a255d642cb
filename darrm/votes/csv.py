"""Votes as CSV: whole lines at a time, by numpy where they are plain and by the csv module where they are not.

Plain lines hold cells of one digit and nothing that CSV quotes, so each ends in the same bytes but for the cells: they
are read by comparing those ends with one pattern. Whatever differs goes through the csv module, up to the next line
where a row begins, so files mean the same and errors say the same with both.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError
from darrm.votes.rows import Answers, Columns, Texts, numbered

EMPTY = "there is no line below the header"
_BLOCK = 1 << 20
_LONGEST = 1 << 26
Cells = NDArray[np.uint8]


def blocks(
    name: Path, file: IO[bytes], K: int | None, answers: Answers
) -> Iterator[tuple[Columns, Cells, Texts | None]]:
    """Columns, cells and ids, if there are any, of about a megabyte of a file at a time.

    Raises
    ------
    InputError, UnicodeDecodeError, csv.Error
        When what is wrong is reached.
    """
    source = _whole_lines(name, file)
    columns, block, line = _header(name, source, K, answers)
    while block or (block := next(source, b"")):
        plain = _plain(block, columns, len(answers.names)) if answers.digits else None
        if plain is None:
            cells, ids, lines = _by_csv_module(name, block, source, columns, line)
        else:
            cells, ids = plain
            lines = len(cells)
        block, line = b"", line + lines
        yield columns, cells, ids


def _whole_lines(name: Path, file: IO[bytes]) -> Iterator[bytes]:
    """Pieces of a file, which are UTF-8 and end where a line does; the end of the file counts as one."""
    check = codecs.getincrementaldecoder("utf-8")()
    rest = file.read(3)
    check.decode(rest)
    rest = rest.removeprefix(codecs.BOM_UTF8)
    while more := file.read(max(_BLOCK, len(rest))):
        check.decode(more)
        rest += more
        # Without any line feed, lines may end in carriage returns; the last byte may be half of a line end.
        cut = rest.rfind(b"\n") + 1 or rest.rfind(b"\r", 0, -1) + 1
        if cut:
            yield rest[:cut]
            rest = rest[cut:]
        elif len(rest) > _LONGEST:
            raise InputError(
                f"{name} is not a CSV file (a line of more than {_LONGEST >> 20} MiB). Export the votes as CSV."
            )
    check.decode(b"", final=True)
    if rest:
        yield rest


def _header(name: Path, source: Iterator[bytes], K: int | None, answers: Answers) -> tuple[Columns, bytes, int]:
    """The columns, what follows the header in its block, and how many lines the header has."""
    lines: deque[str] = deque()
    reader = csv.reader(_text_lines(lines, source), strict=True)
    names = [column.strip() for column in next(reader, [])]
    if not names or all(column in answers.votes for column in names):
        raise InputError(f"{name} has no header. Its first line must name the columns: id, one for each voter, label.")
    return Columns.of(name, names, K, answers), "".join(lines).encode(), reader.line_num


def _text_lines(lines: deque[str], source: Iterator[bytes]) -> Iterator[str]:
    """The lines of ``lines``, which is filled from ``source`` when a line is wanted and none is left."""
    while True:
        while lines:
            yield lines.popleft()
        block = next(source, b"")
        if not block:
            return
        lines.extend(io.StringIO(block.decode(), newline=""))


def _plain(block: bytes, columns: Columns, answers: int) -> tuple[Cells, Texts | None] | None:
    """The votes and labels of each line, digits below ``answers``, and what stands before them; None if not plain."""
    named, cells = columns.first, len(columns.names) - columns.first
    if b'"' in block:
        return None
    if not block.endswith(b"\n"):
        block += b"\n"
    end = b"\r\n" if block.endswith(b"\r\n") else b"\n"
    pattern = np.frombuffer((b",0" * cells)[1 - named :] + end, dtype=np.uint8)
    largest = np.where(pattern == ord("0"), answers - 1, 0).astype(np.uint8)  # digits differ from 0 by their number
    width = pattern.size
    data = np.frombuffer(block, dtype=np.uint8)
    if not named:
        if data.size % width:
            return None
        ends_of_lines = data.reshape(-1, width) ^ pattern
        if not (ends_of_lines <= largest).all():
            return None
        return np.ascontiguousarray(ends_of_lines[:, : 2 * cells : 2]), None
    stops = np.flatnonzero(data == ord("\n")) + 1
    starts = np.concatenate([[0], stops[:-1]])
    lengths = stops - starts - width
    if not (lengths.min() >= 0 and lengths.max() <= csv.field_size_limit()):
        return None
    ends_of_lines = np.lib.stride_tricks.sliding_window_view(data, width)[stops - width]
    ends_of_lines ^= pattern
    if not (ends_of_lines <= largest).all():
        return None
    ends = np.cumsum(lengths)
    ids = data[np.arange(ends[-1]) + np.repeat(starts - ends + lengths, lengths)].tobytes()
    if b"," in ids or b"\r" in ids:
        return None
    return np.ascontiguousarray(ends_of_lines[:, 1 : 2 * cells : 2]), Texts(ids, ends)


def _by_csv_module(
    name: Path, block: bytes, source: Iterator[bytes], columns: Columns, line: int
) -> tuple[Cells, Texts | None, int]:
    """Cells, ids, and how many lines were read: those of the block, and as many more as its last row has."""
    lines = deque(io.StringIO(block.decode(), newline=""))
    reader = csv.reader(_text_lines(lines, source), strict=True)
    names, first_vote, last = columns.names, columns.first, columns.last
    known, known_labels = columns.answers.votes, columns.answers.labels
    ids: list[str] = []
    flat = bytearray()
    while lines:
        row = next(reader)
        if len(row) != len(names):
            raise InputError(
                f"{name}, line {line + reader.line_num}: {len(row)} columns where the header has {len(names)}. "
                "Fix that line."
            )
        try:
            flat.extend([known[cell] for cell in row[first_vote:last]])
            if last < len(row):
                flat.append(known_labels[row[last]])
        except KeyError:
            at = next(i for i in range(first_vote, len(row)) if row[i] not in (known if i < last else known_labels))
            raise InputError(f"{name}, line {line + reader.line_num}, {columns.fault(at, row[at])}") from None
        ids.append(row[0])
    values = np.frombuffer(bytes(flat), dtype=np.uint8).reshape(-1, len(names) - first_vote)
    return values, Texts.of(ids) if first_vote else None, reader.line_num


class Labels:
    """Writes ids and labels, below their header."""

    def __init__(self, file: IO[bytes], names: Sequence[str]) -> None:
        self._file, self._names = file, names
        file.write(b"id,label\n")

    def write(self, ids: Texts, labels: Cells) -> None:
        self._file.write(label_lines(ids, labels, self._names))

    def close(self) -> None:
        """The file is closed by who opened it."""


def label_lines(ids: Texts, labels: NDArray[np.uint8], names: Sequence[str] = ("0", "1")) -> bytes:
    """Lines of ids and labels by their names, quoted where they must be."""
    if len(names) > 10 or not numbered(names) or any(mark in ids.data for mark in b',"\r\n'):
        texts = [_quoted(name) for name in names]
        pairs = zip(ids, labels.tolist(), strict=True)
        return "".join(f"{_quoted(identifier)},{texts[label]}\n" for identifier, label in pairs).encode()
    before = 3 * np.arange(len(ids))  # what stands behind each id before this one: comma, label, line end
    data = np.empty(len(ids.data) + 3 * len(ids), dtype=np.uint8)
    stops = ids.ends + before
    data[stops] = ord(",")
    data[stops + 1] = ord("0") + labels
    data[stops + 2] = ord("\n")
    data[np.arange(len(ids.data)) + np.repeat(before, np.diff(ids.ends, prepend=0))] = np.frombuffer(
        ids.data, dtype=np.uint8
    )
    return data.tobytes()


def _quoted(text: str) -> str:
    return f'"{text.replace(chr(34), 2 * chr(34))}"' if set(text) & set(',"\r\n') else text

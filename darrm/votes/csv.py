"""Votes as CSV: whole lines at a time, by numpy where they are plain and by the csv module where they are not.

Plain lines hold cells of one digit and nothing that CSV quotes, so each ends in the same bytes but for the cells: they
are read by comparing those ends with one pattern. Whatever differs goes through the csv module, up to the next line
where a row begins, so files mean the same and errors say the same with both.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError
from darrm.numerics.printed import counted
from darrm.votes.answers import Answers, numbered
from darrm.votes.header import Columns, Voters
from darrm.votes.rows import Texts

EMPTY = "there is no line below the header"
_BETWEEN = (",", ";", "\t")
# Marks at the beginning of a file in other forms of Unicode; that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BLOCK = 1 << 20
_LONGEST = 1 << 26
Cells = NDArray[np.uint8]


def blocks(
    name: Path, file: IO[bytes], voters: Voters, answers: Answers
) -> Iterator[tuple[Columns, Cells, Texts | None]]:
    """Columns, cells and ids, if there are any, of about a megabyte of a file at a time.

    Raises
    ------
    InputError, UnicodeDecodeError, csv.Error
        When what is wrong is reached.
    """
    source = _whole_lines(name, file)
    columns, mark, block, line = _header(name, source, voters, answers)
    before = int(columns.id is not None)
    order = [at - before for at in columns.read]
    while block or (block := next(source, b"")):
        plain = _plain(block, columns, len(answers.names), mark) if answers.digits and columns.usual else None
        if plain is None:
            cells, ids, lines = _by_csv_module(name, block, source, columns, line, mark)
        else:
            cells, ids = plain
            lines = len(cells)
            if order != sorted(order):
                cells = np.ascontiguousarray(cells[:, order])
        block, line = b"", line + lines
        if len(cells):
            yield columns, cells, ids


def _whole_lines(name: Path, file: IO[bytes]) -> Iterator[bytes]:
    """Pieces of a file, in UTF-8, that end where a line does; the end of the file counts as one."""
    rest = file.read(4)
    encoding = next((encoding for mark, encoding in _MARKS if rest.startswith(mark)), "utf-8")
    decoder = codecs.getincrementaldecoder(encoding)()
    rest = _as_utf8(decoder, rest, encoding).removeprefix(codecs.BOM_UTF8)
    while more := file.read(max(_BLOCK, len(rest))):
        rest += _as_utf8(decoder, more, encoding)
        # Without any line feed, lines may end in carriage returns; the last byte may be half of a line end.
        cut = rest.rfind(b"\n") + 1 or rest.rfind(b"\r", 0, -1) + 1
        if cut:
            yield rest[:cut]
            rest = rest[cut:]
        elif len(rest) > _LONGEST:
            raise InputError(
                f"{name} is not a CSV file (a line of more than {_LONGEST >> 20} MiB). Export the votes as CSV."
            )
    decoder.decode(b"", final=True)
    if rest:
        yield rest


def _as_utf8(decoder: codecs.IncrementalDecoder, data: bytes, encoding: str) -> bytes:
    text = decoder.decode(data)
    return data if encoding == "utf-8" else text.encode()


def _header(name: Path, source: Iterator[bytes], voters: Voters, answers: Answers) -> tuple[Columns, str, bytes, int]:
    """The columns, what stands between them, what follows the header in its block, and how many lines end with it."""
    lines: deque[str] = deque()
    names, reader, mark, above = _first_row(name, _text_lines(lines, source))
    columns = Columns.of(name, names, voters, answers, first_line=True)
    return columns, mark, "".join(lines).encode(), above + reader.line_num


def _first_row(name: Path, texts: Iterator[str]) -> tuple[list[str], Any, str, int]:
    """The names of columns, the reader of what follows, what stands between columns, and lines above the header."""
    first, above = next(texts, ""), 0
    while first and not first.strip():
        first, above = next(texts, ""), above + 1
    if told := re.fullmatch(r'"?sep=([,;\t])"?\s*', first):  # written by Excel
        first, above = next(texts, ""), above + 1
    if "\0" in first:
        raise InputError(f"{name} is not UTF-8 text: there are zero bytes in it. Export the votes as CSV in UTF-8.")
    mark = told[1] if told else _mark(first)
    reader = csv.reader(chain([first], texts), strict=True, delimiter=mark)
    names = next(reader, []) if first else []
    if names and re.match(r"#\s*\S", names[0]):  # as numpy.savetxt begins a header
        names[0] = names[0][1:]
    return names, reader, mark, above


def table(name: Path, file: IO[bytes]) -> Iterator[tuple[str, list[str]]]:
    """Where each row of a table stands, and its cells: the header first. Blank lines are left out.

    Raises
    ------
    InputError, UnicodeDecodeError, csv.Error
        When what is wrong is reached, such as a row that is longer or shorter than the header.
    """
    names, reader, _, above = _first_row(name, _text_lines(deque(), _whole_lines(name, file)))
    yield f"{name}, line {above + reader.line_num}", names
    for row in reader:
        where = f"{name}, line {above + reader.line_num}"
        if len(row) != len(names):
            if len(row) < 2 and not "".join(row).strip():
                continue
            raise InputError(
                f"{where}: {counted(len(row), 'column')} where the header has {len(names)}. Fix that line."
            )
        yield where, row


def lines_of(name: Path, rows: Sequence[int]) -> list[int] | None:
    """The lines of rows, counted from 1, by reading a file again for an error; None if that cannot be done.

    A block does not know them: blank lines and cells of several lines stand between.
    """
    if not name.is_file():
        return None
    found = dict[int, int]()
    try:
        with name.open("rb") as file:
            names, reader, _, above = _first_row(name, _text_lines(deque(), _whole_lines(name, file)))
            row = 0
            for cells in reader:
                row += len(cells) == len(names) or len(cells) > 1 or bool("".join(cells).strip())
                if row in rows:
                    found.setdefault(row, above + reader.line_num)
                if len(found) == len(rows):
                    return [found[row] for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error, InputError):  # which is not the error to tell of
        pass
    return None


def _mark(first: str) -> str:
    """What stands between columns, by the first line: commas, or else semicolons, or else tabs."""
    bare = re.sub(r'"[^"]*"?', "", first)
    return next((mark for mark in _BETWEEN if mark in bare), ",")


def _text_lines(lines: deque[str], source: Iterator[bytes]) -> Iterator[str]:
    """The lines of ``lines``, which is filled from ``source`` when a line is wanted and none is left."""
    while True:
        while lines:
            yield lines.popleft()
        block = next(source, b"")
        if not block:
            return
        lines.extend(io.StringIO(block.decode(), newline=""))


def _plain(block: bytes, columns: Columns, answers: int, mark: str) -> tuple[Cells, Texts | None] | None:
    """The votes and labels of each line, digits below ``answers``, and what stands before them; None if not plain."""
    named, cells = columns.id is not None, len(columns.read)
    if b'"' in block:
        return None
    if not block.endswith(b"\n"):
        block += b"\n"
    end = b"\r\n" if block.endswith(b"\r\n") else b"\n"
    pattern = np.frombuffer((f"{mark}0" * cells)[1 - named :].encode() + end, dtype=np.uint8)
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
    if mark.encode() in ids or b"\r" in ids:
        return None
    return np.ascontiguousarray(ends_of_lines[:, 1 : 2 * cells : 2]), Texts(ids, ends)


def _by_csv_module(
    name: Path, block: bytes, source: Iterator[bytes], columns: Columns, line: int, mark: str
) -> tuple[Cells, Texts | None, int]:
    """Cells, ids, and how many lines were read: those of the block, and as many more as its last row has."""
    lines = deque(io.StringIO(block.decode(), newline=""))
    reader = csv.reader(_text_lines(lines, source), strict=True, delimiter=mark)
    n, label, identifier = len(columns.names), columns.label, columns.id
    known, known_labels = columns.answers.votes, columns.answers.labels
    first, last = columns.votes[0], columns.votes[-1] + 1
    aside = columns.votes == tuple(range(first, last))
    ids: list[str] = []
    flat = bytearray()
    while lines:
        row = next(reader)
        where = f"{name}, line {line + reader.line_num}"
        if len(row) != n:
            if _is_blank(row, columns, where):
                continue
            row = _of_width(row, columns, where)
        votes = row[first:last] if aside else [row[at] for at in columns.votes]
        try:
            flat.extend([known[cell] for cell in votes])
            if label is not None:
                flat.append(known_labels[row[label]])
        except KeyError:
            _check_any(row, where)
            at = next(at for at in columns.read if not (known_labels if at == label else known).means(row[at]))
            raise InputError(f"{where}, {columns.fault(at, row[at])}") from None
        if identifier is not None:
            if not row[identifier].strip():
                _check_any(row, where)
                raise InputError(
                    f"{where}, column {columns.names[identifier] or 1} is empty. Give each row an id, or none."
                )
            ids.append(row[identifier])
        for at in columns.blank:
            columns.check_blank(at, row[at], where)
    values = np.frombuffer(bytes(flat), dtype=np.uint8).reshape(-1, len(columns.read))
    return values, None if identifier is None else Texts.of(ids), reader.line_num


def _is_blank(row: list[str], columns: Columns, where: str) -> bool:
    """Whether there is no row in a line."""
    if len(row) > 1 or "".join(row).strip():
        return False
    if len(columns.names) == 1 and columns.answers.absent:
        raise InputError(
            f"{where} is blank: this may be no row, or one whose voter is absent. Delete the line, or write -1."
        )
    return True


def _of_width(row: list[str], columns: Columns, where: str) -> list[str]:
    """A row without empty cells behind its last column; `InputError` if it has another length than the header."""
    n = len(columns.names)
    # Where voters may be absent, an empty last cell may be a vote, and the first one the number of the row.
    sure = not columns.answers.absent or (columns.id is not None and not columns.index)
    if len(row) < n <= len(row) + len(columns.blank):
        return row + [""] * (n - len(row))
    if len(row) > n and sure and not any(cell.strip() for cell in row[n:]):
        return row[:n]
    raise InputError(f"{where}: {counted(len(row), 'column')} where the header has {n}. Fix that line.")


def _check_any(row: list[str], where: str) -> None:
    """`InputError` if nothing stands in a row."""
    if not any(cell.strip() for cell in row):
        raise InputError(f"{where} holds nothing but what stands between columns. Delete that line.")


class Labels:
    """Writes ids and labels, below their header."""

    def __init__(self, file: IO[bytes], names: Sequence[str]) -> None:
        self._file, self._names = file, names
        file.write(b"id,label\n")

    def write(self, ids: Texts, labels: NDArray[np.unsignedinteger[Any]]) -> None:
        self._file.write(label_lines(ids, labels, self._names))

    def close(self) -> None:
        """The file is closed by who opened it."""


def label_lines(ids: Texts, labels: NDArray[np.unsignedinteger[Any]], names: Sequence[str] = ("0", "1")) -> bytes:
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

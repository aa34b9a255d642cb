"""Votes files read by the csv module alone, row by row."""

from __future__ import annotations

import csv
import unicodedata
from decimal import Decimal, InvalidOperation
from pathlib import Path

FOR_ABSENT = (
    "Voters may be absent if the design was solved with --absent; in Python read with absent=True. Otherwise, of a "
    "voter whose absence depends neither on its data nor on votes, write an answer in that cell that is drawn "
    "anew for each row: uniformly, or, if the design states a table as the randomizer, by that table from a random "
    "true answer."
)


class Refused(Exception):
    pass


class NotJudged(Exception):
    """A header that this reader does not know: an index without a name, an id or a label elsewhere."""


INVISIBLE = dict.fromkeys([0xAD, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF])


def compared(text: str) -> str:
    return unicodedata.normalize("NFC", text.translate(INVISIBLE).strip())


def one_id(text: str) -> str | Decimal:
    """An id as it is told from others: a whole number is one, however it is written."""
    text = compared(text)
    digits = text[1:] if text[:1] in ("+", "-") else text
    try:
        number = Decimal(text if set(digits) <= set("0123456789.") and digits[:1] != "." else "")
    except InvalidOperation:
        return text
    return number if number == number.to_integral_value() else text


def vote(text: str) -> int | None:
    """The vote that a text means as a number, as Python reads it, or with a comma for a point."""
    text = compared(text).replace(",", ".")
    try:
        number = float(text) if set(text) <= set("0123456789.+-eE") else -1.0
    except ValueError:
        return None
    return int(number) if number in (0, 1) else None


def read(name: Path) -> tuple[list[str], list[list[int | None]], list[int | None] | None]:
    """Ids, votes and labels; `Refused` with what darrm should say."""
    try:
        name.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused(f"{name} is not UTF-8 text. Export the votes as CSV.") from None
    try:
        with name.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file, strict=True)
            header = next((row for row in rows if "".join(row).strip() or len(row) > 1), [])
            header = [compared(column) for column in header]
            first, last = check_header(name, header)
            ids, votes, labels = [], [], []
            for row in rows:
                at = f"{name}, line {rows.line_num}"
                if len(row) < 2 and len(row) != len(header) and not "".join(row).strip():
                    continue
                if len(row) > len(header) and not "".join(row[len(header) :]).strip():
                    row = row[: len(header)]
                if len(row) != len(header):
                    columns = f"{len(row)} column{'' if len(row) == 1 else 's'}"
                    raise Refused(f"{at}: {columns} where the header has {len(header)}. Fix that line.")
                for j in range(first, len(row)):
                    if vote(row[j]) is None:
                        if not "".join(row).strip():
                            raise Refused(f"{at} holds nothing but what stands between columns. Delete that line.")
                        what, missing = ("A label" if j >= last else "A vote"), row[j].strip() in ("", "-1")
                        hint = "Fill it in, or leave the column label out." if j >= last else FOR_ABSENT
                        said = f"{what} must be 0 or 1. Got {' '.join(repr(row[j]).split())}."
                        raise Refused(f"{at}, column {header[j]}: {said}{' ' * missing}{hint if missing else ''}")
                if first and not compared(row[0]):
                    raise Refused("column id is empty")
                if first and one_id(row[0]) in map(one_id, ids):
                    raise Refused("twice")
                ids.append(row[0] if first else str(len(ids) + 1))
                votes.append([vote(cell) for cell in row[first:last]])
                labels += [vote(cell) for cell in row[last:]]
    except csv.Error as error:
        raise Refused(f"{name} is not a CSV file ({error}). Export the votes as CSV.") from None
    if not ids:
        raise Refused(f"{name} holds no votes: there is no line below the header.")
    return ids, votes, labels if last < len(header) else None


def check_header(name: Path, header: list[str]) -> tuple[int, int]:
    """Where the votes begin and end; `NotJudged` for a header that has tests of its own."""
    if header[:1] == [""] or header[-1:] == [""]:
        raise NotJudged
    first, last = int(header[:1] == ["id"]), len(header) - int(header[-1:] == ["label"])
    if {"id", "label"} & {name.casefold() for name in header[first:last]}:
        raise NotJudged
    if not header or (
        not first and last == len(header) and all(vote(cell) is not None for cell in header[1:] or header)
    ):
        raise Refused("has no header")
    if "" in header:
        raise Refused("has no name")
    if any("\0" in name for name in header):
        raise Refused("zero bytes")
    if len(set(header)) < len(header):
        raise Refused("twice")
    if last <= first:
        raise Refused("must have at least 1 vote columns")
    return first, last

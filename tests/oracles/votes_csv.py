"""Votes files read by the csv module alone, row by row."""

from __future__ import annotations

import csv
from pathlib import Path

VALUES = {"0": 0, "1": 1}
FOR_ABSENT = (
    "Voters may be absent if the design is for two answers and was solved with --absent; in Python read with "
    "absent=True."
)


class Refused(Exception):
    pass


def read(name: Path) -> tuple[list[str], list[list[int]], list[int] | None]:
    """Ids, votes and labels; `Refused` with what darrm should say."""
    try:
        name.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused(f"{name} is not UTF-8 text. Export the votes as CSV.") from None
    try:
        with name.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file, strict=True)
            header = [column.strip() for column in next(rows, [])]
            if not header or all(column in VALUES for column in header):
                raise Refused(
                    f"{name} has no header. Its first line must name the columns: id, one for each voter, label."
                )
            first, last = int(header[0] == "id"), len(header) - int(header[-1] == "label")
            if last - first < 1:
                raise Refused(
                    f"{name} must have at least 1 vote columns, between an optional id and an optional label. Got 0: ."
                )
            ids, votes, labels = [], [], []
            for row in rows:
                at = f"{name}, line {rows.line_num}"
                if len(row) != len(header):
                    raise Refused(f"{at}: {len(row)} columns where the header has {len(header)}. Fix that line.")
                for j in range(first, len(row)):
                    if row[j] not in VALUES:
                        what = "A label" if j >= last else "A vote"
                        told = what == "A vote" and row[j].strip() in ("", "-1", "None")
                        absent = f" {FOR_ABSENT}" if told else ""
                        raise Refused(f"{at}, column {header[j]}: {what} must be 0 or 1. Got {row[j]!r}.{absent}")
                ids.append(row[0] if first else str(len(ids) + 1))
                votes.append([VALUES[cell] for cell in row[first:last]])
                labels += [VALUES[cell] for cell in row[last:]]
    except csv.Error as error:
        raise Refused(f"{name} is not a CSV file ({error}). Export the votes as CSV.") from None
    if not ids:
        raise Refused(f"{name} holds no votes: there is no line below the header.")
    return ids, votes, labels if last < len(header) else None

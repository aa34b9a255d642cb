"""Votes files: CSV with a header, one row a query, one 0/1 column a mechanism."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import IO, Protocol

import numpy as np
from numpy.typing import NDArray

from darrm.atomic import replacing
from darrm.errors import InputError

_VALUES = {"0": 0, "1": 1}


class _Reader(Iterator[list[str]], Protocol):
    line_num: int


@dataclass(frozen=True, eq=False)
class VotesTable:
    """Votes on n queries.

    Attributes
    ----------
    votes : ndarray of uint8, shape (n, K)
    ids : tuple of str, length n
        The ``id`` column, or the row numbers from 1.
    labels : ndarray of uint8, shape (n,), or None
        The ``label`` column, the true answers, if there is one.
    """

    votes: NDArray[np.uint8]
    ids: tuple[str, ...]
    labels: NDArray[np.uint8] | None

    @property
    def histogram(self) -> NDArray[np.int64]:
        """How many queries have l = 0, ..., K ones; for `darrm.priors.votes`, if these votes are public."""
        return np.bincount(self.votes.sum(axis=1), minlength=self.votes.shape[1] + 1)


def read(path: str | os.PathLike[str], K: int | None = None) -> VotesTable:
    """Read a votes file.

    Parameters
    ----------
    path : path
        CSV with a header; an optional first column ``id``, an optional last column ``label``, every other column the
        0/1 votes of one mechanism. UTF-8, any line ends.
    K : int, optional
        How many vote columns there must be.

    Raises
    ------
    InputError
        If the file cannot be read, has no header, no rows, a row of another length, or a vote or label that is not 0
        or 1. The message names the line and the column.
    """
    name = Path(path)
    try:
        with name.open(newline="", encoding="utf-8-sig") as file:
            return _parse(name, csv.reader(file, strict=True), K)
    except OSError as error:
        raise InputError(f"{name} could not be read: {error.strerror}. Pass the path of a votes file.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text. Export the votes as CSV.") from error
    except csv.Error as error:
        raise InputError(f"{name} is not a CSV file ({error}). Export the votes as CSV.") from error


def _parse(name: Path, rows: _Reader, K: int | None) -> VotesTable:
    header = [column.strip() for column in next(rows, [])]
    if not header or all(column in _VALUES for column in header):
        raise InputError(
            f"{name} has no header. Its first line must name the columns: id, one for each mechanism, label."
        )
    first, last = int(header[0] == "id"), len(header) - int(header[-1] == "label")
    found = last - first
    if found < 1 or (K is not None and found != K):
        wanted = "at least 1" if K is None else f"K = {K}"
        raise InputError(
            f"{name} must have {wanted} vote columns, between an optional id and an optional label. "
            f"Got {max(found, 0)}: {', '.join(header[first:last][:12])}{', ...' * (found > 12)}."
        )
    ids: list[str] = []
    flat = bytearray()
    labels = bytearray()
    for row in rows:
        line = rows.line_num
        if len(row) != len(header):
            raise InputError(
                f"{name}, line {line}: {len(row)} columns where the header has {len(header)}. Mend that line."
            )
        try:
            flat.extend([_VALUES[cell] for cell in row[first:last]])
            labels.extend([_VALUES[cell] for cell in row[last:]])
        except KeyError:
            at = next(i for i in range(first, len(row)) if row[i] not in _VALUES)
            what = "A label" if at >= last else "A vote"
            raise InputError(
                f"{name}, line {line}, column {header[at]}: {what} must be 0 or 1. Got {row[at]!r}."
            ) from None
        ids.append(row[0] if first else str(len(ids) + 1))
    if not ids:
        raise InputError(f"{name} holds no votes: there is no line below the header.")
    return VotesTable(
        votes=np.frombuffer(bytes(flat), dtype=np.uint8).reshape(-1, found),
        ids=tuple(ids),
        labels=np.frombuffer(bytes(labels), dtype=np.uint8) if last < len(header) else None,
    )


def write_labels(
    path: Path,
    ids: Iterable[str],
    labels: NDArray[np.uint8],
    opening: Callable[[Path], AbstractContextManager[IO[bytes]]] | None = None,
) -> None:
    """Write released labels as CSV with columns id and label; all of them or, if that fails, none.

    ``opening`` makes the file, if it is not simply to be replaced: that of a ledger charges for the labels.

    Raises
    ------
    OutputError
        If the path cannot be written.
    """
    with (opening or replacing)(path) as file:
        file.write(b"id,label\n")
        for identifier, label in zip(ids, labels.tolist(), strict=True):
            quoted = f'"{identifier.replace(chr(34), 2 * chr(34))}"' if set(identifier) & set(',"\r\n') else identifier
            file.write(f"{quoted},{label}\n".encode())


def examples() -> dict[str, dict[str, object]]:
    """The votes that come with darrm, by name: what they are, their K, ``changed``, epsilon, Delta and accuracies."""
    text = files("darrm").joinpath("data", "votes.json").read_text(encoding="utf-8")
    return {str(entry["file"]).removesuffix(".csv"): entry for entry in json.loads(text)["files"]}


def example(name: str) -> VotesTable:
    """The votes of that name among `examples`.

    Raises
    ------
    InputError
        If there is none of that name.
    """
    known = examples()
    if name not in known:
        raise InputError(f"There are no votes called {name!r}. Choose one of {', '.join(sorted(known))}.")
    return read(Path(str(files("darrm").joinpath("data", f"{name}.csv"))), K=int(str(known[name]["K"])))

"""Labels as JSON: a list of objects with id and label. Votes are not read from JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError
from darrm.votes.answers import Answers, numbered
from darrm.votes.header import Columns, Voters
from darrm.votes.rows import Texts

EMPTY = "there is no row in it"


def blocks(
    name: Path, file: IO[bytes], voters: Voters, answers: Answers
) -> Iterator[tuple[Columns, NDArray[np.uint8], Texts | None]]:
    """Refuse the file."""
    raise InputError(f"{name} must be CSV or Parquet. Got a name that ends in .json. Export the votes as CSV.")


class Labels:
    """Writes ids and labels as objects, a line each."""

    def __init__(self, file: IO[bytes], names: Sequence[str]) -> None:
        self._file, self._first = file, True
        self._labels = list(names) if numbered(names) else [json.dumps(name) for name in names]
        file.write(b"[")

    def write(self, ids: Texts, labels: NDArray[np.unsignedinteger[Any]]) -> None:
        lines = [
            f'\n{{"id": {json.dumps(identifier)}, "label": {self._labels[label]}}}'
            for identifier, label in zip(ids, labels.tolist(), strict=True)
        ]
        if lines:
            self._file.write(("" if self._first else ",").encode() + ",".join(lines).encode())
            self._first = False

    def close(self) -> None:
        """End the list; the file is closed by who opened it."""
        self._file.write(b"\n]\n")

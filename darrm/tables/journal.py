"""The journal of a table: designs that are finished, on disk until the table is complete."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from darrm.errors import InputError, OutputError
from darrm.storage.sealed_json import parsed
from darrm.tables import files
from darrm.tables.files import Row
from darrm.tables.problems import Grid


class Journal:
    """The journal of the table ``target``, open for more; a line that was cut off by a crash is cut off for good.

    Attributes
    ----------
    path : Path
    rows : dict of int to Row
        What was in it, by its place in the grid.

    Raises
    ------
    InputError
        If it is of another grid, or of other versions.
    OutputError
        If it cannot be written.
    """

    def __init__(self, target: Path, todo: Grid) -> None:
        self.path, self.rows = journal_of(target), dict[int, Row]()
        header = {"format": "darrm-journal", "version": 2, "grid": todo.digest, "made_with": made_with()}
        whole_header = json.dumps(header).encode() + b"\n"
        try:
            self._file = self.path.open("a+b")
            self._file.seek(0)
            header_line = self._file.readline()
            if not whole_header.startswith(header_line):
                self._file.close()
                raise InputError(
                    f"{self.path} is of another grid, or of other versions. Finish that with its own command and "
                    "versions, pass another path, or delete the journal."
                )
            whole = len(header_line) if header_line == whole_header else 0
            for line in self._file if whole else ():
                entry = _entry(line, todo)
                if entry is None:
                    break
                self.rows |= entry
                whole += len(line)
            self._file.truncate(whole)
        except OSError as error:
            raise self._unwritten(error) from None
        if not whole:
            try:
                self._write(whole_header)
            except OutputError:
                self.close()
                raise

    def record(self, rows: Mapping[int, Row]) -> None:
        """Add rows, by their place in the grid; on disk when this returns."""
        self._write(line_of(rows))

    def close(self) -> None:
        with suppress(OSError):  # it says again what writing has said
            self._file.close()

    def _write(self, line: bytes) -> None:
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._unwritten(error) from None

    def _unwritten(self, error: OSError) -> OutputError:
        return OutputError(
            f"{self.path} could not be written: {error.strerror or error}. Designs finished before are kept in it. "
            "Fix that, then run the same again."
        )


def journal_of(out: Path) -> Path:
    """The path of the journal, which holds finished designs until the table is complete."""
    return out.with_name(out.name + ".journal")


@cache
def made_with() -> str:
    """The versions on which the last digits of a design may depend."""
    names = ("darrm", "highspy", "numpy", "scipy")
    return ", ".join([f"python {platform.python_version()}", *(f"{name} {version(name)}" for name in names)])


def line_of(rows: Mapping[int, Row]) -> bytes:
    """Rows as a line of a journal, behind a checksum."""
    body = json.dumps({at: files.as_json(row) for at, row in rows.items()}).encode() + b"\n"
    return hashlib.sha256(body).hexdigest().encode() + b" " + body


def _entry(line: bytes, todo: Grid) -> dict[int, Row] | None:
    """The rows of a line, by their place; None if it is not whole, or not of this grid."""
    digest, _, body = line.partition(b" ")
    if not line.endswith(b"\n") or digest.decode("ascii", "replace") != hashlib.sha256(body).hexdigest():
        return None
    try:
        rows = {int(at): files.from_json(row) for at, row in parsed(body).items()}
        belong = all(files.key_of(row) == todo.tasks[at].key for at, row in rows.items())
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError):
        return None
    return rows if belong else None

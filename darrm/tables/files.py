"""Tables in files: Parquet, CSV and JSON lines, by the ending of the name; all hold every digit."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from darrm._validation import path as check_path
from darrm._validation import shown
from darrm.errors import InputError
from darrm.storage.atomic import replacing
from darrm.storage.frames import pyarrow
from darrm.storage.kinds import check_kind
from darrm.storage.sealed_json import parsed
from darrm.tables.tasks import KINDS, kind_of

Row = dict[str, Any]
ENDINGS = (".parquet", ".csv", ".jsonl")
_RELEASES = {kind.release for kind in KINDS}
_OF_DESIGNS = {name for kind in KINDS for name in (kind.release, *kind.numbers, *kind.others)}
_KNOWN = {kind.columns for kind in KINDS}
_TEXT = ("groups", "adjacency", "prior", "shape", "objective", "accuracy", "cost", "ordered", "made_with", "failure")
_WHOLE = ("K", "max_affected", "binding")
_MOST = 1_000_000  # rows, as of a grid
_LONGEST = 1 << 20  # characters of a line: sixteen times those of the largest K
_PLAIN = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?|-?inf", re.ASCII)
_INSTEAD = ", or use .csv or .jsonl"


def ending(path: str | Path) -> str:
    """The format of a table by its name; `InputError` if there is none."""
    suffix = check_path("path", path).suffix.lower()
    if suffix not in ENDINGS:
        hint = " Write a .csv, then darrm export makes the .tex of it." * (suffix == ".tex")
        raise InputError(f"A table must end in {', '.join(ENDINGS)}. Got {str(path)!r}.{hint}")
    if suffix == ".parquet":
        pyarrow(_INSTEAD)
    return suffix


def write(path: str | Path, rows: Sequence[Row]) -> None:
    """Write a table, whole or not at all."""
    kind = ending(path)
    with replacing(path) as file:
        {".parquet": _write_parquet, ".csv": _write_csv, ".jsonl": _write_jsonl}[kind](file, rows)


def rows(path: str | Path) -> list[Row]:
    """The rows of a table.

    Raises
    ------
    InputError
        If the file is missing, foreign or truncated.
    """
    kind, name = ending(path), Path(path)
    table: list[Row] = []
    try:
        if not name.is_file():
            raise InputError(
                f"{name} could not be read: it is {'a folder' if name.is_dir() else 'not there'}. Pass a table."
            ) from None if name.exists() else FileNotFoundError(name)
        for row in {".parquet": _read_parquet, ".csv": _read_csv, ".jsonl": _read_jsonl}[kind](name):
            reason = fault(row)
            if reason is not None or len(table) == _MOST:
                reason = reason or f"is one more than a table may have, {_MOST:,}"
                raise InputError(f"{name} is not a table of designs: in row {len(table) + 1} {reason}. Make it again.")
            table.append(row)
            if tuple(row) != tuple(table[0]):
                raise InputError(f"{name} is not a table of designs: it holds designs of both kinds. Make two.")
    except InputError:
        check_kind(name, "table")
        raise
    except OSError as error:
        raise InputError(f"{name} could not be read: {error.strerror or error}. Pass the path of a table.") from None
    except (ValueError, KeyError, TypeError, OverflowError, csv.Error) as error:
        check_kind(name, "table")
        raise InputError(f"{name} is not a whole table of designs ({error}). Make it again.") from None
    if not table:
        raise InputError(f"{name} is not a table of designs: it holds no row. Make it again.")
    return table


def key_of(row: Row) -> tuple[Any, ...]:
    """The values that identify the problem of a row."""
    return tuple(row[name] for name in kind_of(row).key)


def fault(row: Row) -> str | None:
    """The fault of a row in its columns and their types; None if there is none. Figures are not verified."""
    if tuple(row) not in _KNOWN:
        return "its columns are not those of a table"
    failed = row["failure"] is not None
    for name, value in row.items():
        if name == "failure" and not failed:
            continue
        if failed and name in _OF_DESIGNS:
            if value is not None:
                return f"{name} stands beside a failure"
        elif name in _RELEASES:
            if not (isinstance(value, list) and value and all(type(x) is float for x in value)):
                return f"{name} is not a list of numbers"
        elif name in _TEXT:
            if not (isinstance(value, str) and value):
                return f"{name} is not a text"
        elif name in _WHOLE:
            if type(value) is not int or not 0 <= value < 2**53:
                return f"{name} is not an integer"
        elif type(value) is not float or not (value >= 0 if name != "error" else value == value):
            return f"{name} is not a number in its range"
    return None


def _write_parquet(file: IO[bytes], rows: Sequence[Row]) -> None:
    pa = pyarrow(_INSTEAD)

    def kind(name: str) -> Any:
        if name in _RELEASES:
            return pa.list_(pa.float64())
        return pa.string() if name in _TEXT else pa.int64() if name in _WHOLE else pa.float64()

    columns = list(rows[0])
    arrays = [pa.array([row[name] for row in rows], type=kind(name)) for name in columns]
    pa.parquet.write_table(pa.table(arrays, names=columns), file, compression="zstd")


def _read_parquet(path: Path) -> Iterator[Row]:
    pa = pyarrow(_INSTEAD)
    try:
        # Batch by batch: a small file can stand for any number of rows.
        with pa.parquet.ParquetFile(path, pre_buffer=False) as file:
            if tuple(file.schema_arrow.names) not in _KNOWN:
                raise ValueError("its columns are not those of a table")
            for batch in file.iter_batches(batch_size=1024):
                yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise ValueError(str(error).splitlines()[0]) from None


def _write_csv(file: IO[bytes], rows: Sequence[Row]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0])
    for row in rows:
        cells = {name: json.dumps(x) if isinstance(x, list) else x for name, x in row.items()}
        writer.writerow("" if value is None else value for value in cells.values())
    text.flush()
    text.detach()


def _read_csv(path: Path) -> Iterator[Row]:
    limit = csv.field_size_limit(1 << 24)  # of the whole process, so it is put back
    with path.open(newline="", encoding="utf-8-sig") as file, ExitStack() as stack:
        stack.callback(csv.field_size_limit, limit)
        rows = csv.DictReader(file)
        header = rows.fieldnames or []
        if len(set(header)) < len(header):
            raise ValueError("a column occurs twice in the header")
        for cells in rows:
            row: Row = {}
            for name, text in cells.items():
                if text is None or name is None:
                    raise ValueError("a line has more or fewer columns than the header")
                if text == "":
                    row[name] = None
                elif name in _RELEASES:
                    row[name] = _listed(name, text)
                elif name in _TEXT:
                    row[name] = text
                else:
                    # Python reads 0_5 and digits of other scripts too; other programs do not.
                    plain = _PLAIN.fullmatch(text)
                    row[name] = _of_cell(int if name in _WHOLE else float, text) if plain else text
            yield row


def _listed(name: str, text: str) -> Any:
    """The numbers of a cell."""
    if not text.lstrip().startswith("["):
        raise ValueError(
            f"a cell of {name} must be a JSON list such as [0.5, 1.0], got {shown(text[:20])}; earlier versions put "
            "spaces between the numbers"
        )
    return _number(name, _of_cell(parsed, text))


def _of_cell(kind: Callable[[str], Any], text: str) -> Any:
    """The value of a cell, or its text, which `fault` reports with its row."""
    try:
        return kind(text)
    except ValueError:
        return text


def _write_jsonl(file: IO[bytes], rows: Sequence[Row]) -> None:
    for row in rows:
        file.write(as_json(row).encode() + b"\n")


def as_json(row: Row) -> str:
    """One line; infinities as text, which JSON has no other way for."""
    plain = {name: str(x) if isinstance(x, float) and math.isinf(x) else x for name, x in row.items()}
    return json.dumps(plain, allow_nan=False)


def from_json(text: str) -> Row:
    row = parsed(text)
    if not isinstance(row, dict):
        raise ValueError("a line is not an object")
    return {name: _number(name, x) for name, x in row.items()}


def _number(name: str, x: Any) -> Any:
    """JSON writes whole floats of other programs without a point, and infinities have no way but text."""
    if name in _TEXT or name in _WHOLE:
        return x
    if name in _RELEASES and isinstance(x, list):
        return [float(value) if type(value) is int else value for value in x]
    return float(x) if type(x) is int or x in ("inf", "-inf") else x


def _read_jsonl(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig") as file:
        while line := file.readline(_LONGEST):
            if len(line) == _LONGEST:
                raise ValueError(f"a line is longer than {_LONGEST:,} characters")
            yield from_json(line)

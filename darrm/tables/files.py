"""Tables in files: Parquet, CSV and JSON lines, by the ending of the name; all hold every digit."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from darrm.atomic import replacing
from darrm.errors import InputError, MissingExtraError
from darrm.tables.problems import KEY

Row = dict[str, Any]
ENDINGS = (".parquet", ".csv", ".jsonl")
NUMBERS = ("error", "disagreement", "gap", "cost", "limit", "needed_delta", "realised_epsilon")
COLUMNS = (*KEY, "gamma", *NUMBERS, "binding", "seconds", "made_with", "failure")
_TEXT = ("adjacency", "prior", "shape", "objective", "made_with", "failure")
_WHOLE = ("K", "changed", "binding")


def ending(path: str | Path) -> str:
    """The format of a table by its name; `InputError` if there is none."""
    found = Path(path).suffix.lower()
    if found not in ENDINGS:
        raise InputError(f"A table must end in {', '.join(ENDINGS)}. Got {str(path)!r}.")
    if found == ".parquet":
        _pyarrow()
    return found


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
    name, kind = Path(path), ending(path)
    try:
        found = list({".parquet": _read_parquet, ".csv": _read_csv, ".jsonl": _read_jsonl}[kind](name))
    except OSError as error:
        raise InputError(f"{name} could not be read: {error.strerror or error}. Pass the path of a table.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{name} is not a whole table of designs ({error}). Make it again.") from None
    for i, row in enumerate(found):
        if tuple(row) != COLUMNS:
            raise InputError(f"{name} is not a table of designs: row {i + 1} lacks columns. Make it again.")
    return found


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError(
            "Parquet needs pyarrow. Run: pip install darrm[tables], or use .csv or .jsonl."
        ) from None
    return pyarrow


def _write_parquet(file: IO[bytes], rows: Sequence[Row]) -> None:
    pa = _pyarrow()

    def kind(name: str) -> Any:
        if name == "gamma":
            return pa.list_(pa.float64())
        return pa.string() if name in _TEXT else pa.int64() if name in _WHOLE else pa.float64()

    arrays = [pa.array([row[name] for row in rows], type=kind(name)) for name in COLUMNS]
    pa.parquet.write_table(pa.table(arrays, names=list(COLUMNS)), file, compression="zstd")


def _read_parquet(path: Path) -> Iterator[Row]:
    pa = _pyarrow()
    try:
        table = pa.parquet.read_table(path)
    except pa.ArrowException as error:
        raise ValueError(str(error).splitlines()[0]) from None
    for batch in table.to_batches(max_chunksize=4096):
        yield from batch.to_pylist()


def _write_csv(file: IO[bytes], rows: Sequence[Row]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        gamma = None if row["gamma"] is None else " ".join(map(repr, row["gamma"]))
        cells = {**row, "gamma": gamma}
        writer.writerow("" if value is None else value for value in cells.values())
    text.flush()
    text.detach()


def _read_csv(path: Path) -> Iterator[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        for cells in csv.DictReader(file):
            row: Row = {}
            for name, text in cells.items():
                if text is None or name is None:
                    raise ValueError("a line has more or fewer columns than the header")
                if text == "":
                    row[name] = None
                elif name == "gamma":
                    row[name] = [float(value) for value in text.split()]
                elif name in _TEXT:
                    row[name] = text
                else:
                    row[name] = int(text) if name in _WHOLE else float(text)
            yield row


def _write_jsonl(file: IO[bytes], rows: Sequence[Row]) -> None:
    for row in rows:
        file.write(as_json(row).encode() + b"\n")


def as_json(row: Row) -> str:
    """One line; infinities as text, which JSON has no other way for."""
    plain = {name: str(x) if isinstance(x, float) and math.isinf(x) else x for name, x in row.items()}
    return json.dumps(plain, allow_nan=False)


def from_json(text: str) -> Row:
    row = json.loads(text)
    if not isinstance(row, dict):
        raise ValueError("a line is not an object")
    return {name: float(x) if name not in _TEXT and x in ("inf", "-inf") else x for name, x in row.items()}


def _read_jsonl(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield from_json(line)

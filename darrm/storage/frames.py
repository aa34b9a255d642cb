"""Tables for analysis: columns as CSV, JSON, Parquet or LaTeX by the ending of the name, or as a data frame."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from darrm._validation import path as check_path
from darrm.errors import InputError, MissingExtraError
from darrm.storage.atomic import replacing
from darrm.storage.sealed_json import finite
from darrm.storage.tex import tabular

Columns = Mapping[str, Sequence[Any]]


def pyarrow(instead: str = "") -> Any:
    """pyarrow with its parquet module; `MissingExtraError` without, which says what to do ``instead``."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError(
            f"Parquet files and Arrow tables need pyarrow. Run: pip install 'darrm[tables]'{instead}."
        ) from None
    return pyarrow


def ending_of(path: str | os.PathLike[str]) -> str:
    """The ending of a name in small letters, without its point."""
    return check_path("path", path).suffix.lstrip(".").lower()


def table_format(path: str | os.PathLike[str]) -> str:
    """One of `FORMATS` by the ending of ``path``.

    Raises
    ------
    InputError, MissingExtraError
        If the ending is another, or Parquet is asked for without pyarrow.
    """
    ending = ending_of(path)
    if ending not in FORMATS:
        raise InputError(f"A table must end in {', '.join(f'.{name}' for name in FORMATS)}. Got {str(path)!r}.")
    if ending == "parquet":
        pyarrow(", or use .csv or .json")
    return ending


def write(
    path: str | os.PathLike[str], columns: Columns, about: str = "", *, gammas: bool = False, note: str = ""
) -> None:
    """Write columns of one length, whole or not at all; with all digits, but for tex.

    Parameters
    ----------
    path : path
        The ending says the format: csv (infinity is ``inf``), parquet, json (a list of objects, infinity is null), or
        tex (a LaTeX tabular of four significant digits, certified bounds rounded up).
    columns : mapping of str to sequence of int, float, bool, str or None
    about : str
        What the table is of, which LaTeX gets as a comment; the other formats have no place for it.
    gammas : bool
        Whether each column but the first is the noise function of the mechanism that it is named for.
    note : str
        What the figures rest on, which LaTeX prints below them; the other formats need a column for it.

    Raises
    ------
    InputError, MissingExtraError, OutputError
    """
    kind = table_format(path)
    with replacing(path) as file:
        if kind in _WRITERS:
            _WRITERS[kind](file, columns)
        else:
            file.write(tabular(columns, about, gammas=gammas, note=note).encode())


def write_csv(path: str | os.PathLike[str], columns: Columns) -> None:
    """Write columns as CSV, whatever the name."""
    with replacing(path) as file:
        _csv(file, columns)


def _csv(file: IO[bytes], columns: Columns) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    file.write(text.getvalue().encode())


def _parquet(file: IO[bytes], columns: Columns) -> None:
    arrow = pyarrow()
    arrow.parquet.write_table(arrow.table(dict(columns)), file, compression="zstd")


def _json(file: IO[bytes], columns: Columns) -> None:
    rows = zip(*columns.values(), strict=True)
    objects = [finite(dict(zip(columns, row, strict=True))) for row in rows]
    lines = ",\n".join(json.dumps(one, allow_nan=False) for one in objects)
    file.write(f"[\n{lines}\n]\n".encode())


_WRITERS: dict[str, Callable[[IO[bytes], Columns], None]] = {
    "csv": _csv,
    "parquet": _parquet,
    "json": _json,
}
FORMATS = (*_WRITERS, "tex")
TABLES = ("csv", "parquet", "tex")  # what no design file ends in


def frame(columns: Columns) -> Any:
    """Columns as a pandas DataFrame; `MissingExtraError` without pandas."""
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("A data frame needs pandas. Run: pip install pandas.") from None
    return pandas.DataFrame(dict(columns))

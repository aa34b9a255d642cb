"""Files of an audit: probabilities to read, rows to write as CSV, JSON, Parquet or LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from array import array
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from darrm._validation import path as check_path
from darrm.errors import InputError
from darrm.labels.audit_row import AuditRow
from darrm.numerics.arrays import Array
from darrm.storage.atomic import replacing
from darrm.storage.frames import pyarrow, table_format, write
from darrm.storage.sealed_json import finite
from darrm.storage.text import opened


def read_eta(path: str | os.PathLike[str]) -> Array:
    """Read probabilities, a label a line, from a CSV file with or without a header.

    One column holds Pr[label = 1]. C > 2 columns hold the probabilities of the classes 0..C - 1.

    Parameters
    ----------
    path : path

    Returns
    -------
    ndarray, shape (n,) or (n, C), in [0, 1]
        8 bytes a number, 16 while it is read.

    Raises
    ------
    InputError
        If the file cannot be read, is empty, or a line does not hold numbers in [0, 1]. Every line must hold as many as
        the first, of sum 1 if they are several. The message names the line.

    Examples
    --------
    >>> import numpy as np
    >>> from darrm.labels.audit_files import read_eta
    >>> np.savetxt("eta.csv", [0.25, 0.5, 0.75], header="probability", comments="")
    >>> read_eta("eta.csv").tolist()
    [0.25, 0.5, 0.75]
    """
    name = check_path("path", path)
    found, columns = array("d"), 0
    with opened(name) as file:
        for line, text in enumerate(file, 1):
            cells = [cell.strip().strip('"') for cell in text.split(",")]
            try:
                values = [float(cell) for cell in cells]
            except ValueError:
                if line == 1 and all(cells) and not any(map(_is_number, cells)):
                    continue  # the header
                raise InputError(
                    f"{name}, line {line}: numbers in [0, 1] are wanted. Got {text.strip()[:40]!r}."
                ) from None
            columns = columns or len(values)
            if len(values) != columns:
                raise InputError(f"{name}, line {line}: {columns} numbers are wanted, as before. Got {len(values)}.")
            if columns == 2:
                raise InputError(f"{name}, line {line}: of two classes pass Pr[label = 1] alone. Got two columns.")
            for value, cell in zip(values, cells, strict=True):
                if not 0 <= value <= 1:
                    raise InputError(f"{name}, line {line}: a probability must be in [0, 1]. Got {cell[:40]}.")
            if columns > 1 and not abs(math.fsum(values) - 1) <= 1e-9:
                raise InputError(f"{name}, line {line}: the sum must be 1 within 1e-9. Got {math.fsum(values)!r}.")
            found.extend(values)
    if not found:
        raise InputError(f"{name} holds no probabilities.")
    return np.array(found) if columns == 1 else np.array(found).reshape(-1, columns)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def save_rows(path: str | os.PathLike[str], rows: Sequence[AuditRow]) -> None:
    """Write the rows of an audit, one column an attribute; whole or not at all.

    Parameters
    ----------
    path : path
        The ending says the format: csv (infinity is ``inf``, what was not measured is empty), parquet (null), json
        (a list of objects, infinity as null too), or tex (as `darrm.storage.frames.write`).
    rows : sequence of AuditRow

    Raises
    ------
    InputError, MissingExtraError, OutputError

    Examples
    --------
    >>> from pathlib import Path
    >>> import darrm
    >>> from darrm.labels.audit_files import save_rows
    >>> rows = darrm.labels.audit({"sums": darrm.labels.LabelProportions()}, [0.5] * 8, bag_size=[2, 4])
    >>> save_rows("audit.csv", rows)
    >>> [line.split(",")[:3] for line in Path("audit.csv").read_text().splitlines()]
    [['mechanism', 'bag_size', 'bags'], ['sums', '2', '4'], ['sums', '4', '2']]
    """
    kind = table_format(path)
    columns = [field.name for field in fields(AuditRow)]
    records = [row.record() for row in rows]
    if kind == "tex":
        write(path, {name: [record[name] for record in records] for name in columns})
        return
    with replacing(path) as file:
        if kind == "csv":
            text = io.StringIO(newline="")
            writer = csv.DictWriter(text, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(records)
            file.write(text.getvalue().encode())
        elif kind == "json":
            file.write((json.dumps(as_json(rows), allow_nan=False, indent=1) + "\n").encode())
        else:
            arrow = pyarrow()
            kinds = {"mechanism": arrow.string(), "bag_size": arrow.int64(), "bags": arrow.int64()}
            kinds |= {"remainder": arrow.int64(), "released_by": arrow.string()}
            schema = arrow.schema([(name, kinds.get(name, arrow.float64())) for name in columns])
            arrow.parquet.write_table(arrow.Table.from_pylist(records, schema=schema), file)


def as_json(rows: Sequence[AuditRow]) -> list[dict[str, Any]]:
    """Rows as JSON objects: infinities are null."""
    return [finite(row.record()) for row in rows]

"""Digests by which an ensemble knows a row that it was asked before."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np

from darrm.errors import InputError

SIZE = 32  # bytes of a key and of a digest
_PERSON = b"darrm rows v1"
_MISSING = ("NAType", "NaTType")  # of pandas, beside None and NaN
_CELLS = 1 << 20  # of a sparse matrix at a time, for memory


def row_digests(key: bytes, records: Any) -> list[bytes]:
    """BLAKE2b with this key of each row of a checked array, sparse matrix or frame.

    Rows of equal values have equal digests: 1, 1.0 and true are equal, so are 0 and -0, and all that is missing.

    Raises
    ------
    InputError
        If a frame has other values than numbers, truth values and texts.
    """
    rows = (
        _of_numbers(records) if isinstance(records, np.ndarray) or hasattr(records, "toarray") else _of_cells(records)
    )
    return [hashlib.blake2b(row, key=key, digest_size=SIZE, person=_PERSON).digest() for row in rows]


def _of_numbers(records: Any) -> Iterator[bytes]:
    """Float64, dense or sparse."""
    n, width = records.shape
    step = max(1, _CELLS // width)
    for start in range(0, n, step):
        part = records[start : start + step]
        values = part.toarray() if hasattr(part, "toarray") else part
        plain = np.where(np.isnan(values), np.nan, values) + 0.0  # NaN has many forms, and -0 + 0 is 0
        yield from (row.tobytes() for row in plain.astype("<f8"))


def _of_cells(records: Any) -> Iterator[bytes]:
    """A frame of pandas or polars."""
    rows = records.itertuples(index=False, name=None) if hasattr(records, "iloc") else records.iter_rows()
    return (b"".join(map(_cell, row)) for row in rows)


def _cell(value: Any) -> bytes:
    """What kind of value it is, and the value, so that cells end to end have one reading."""
    kind, text = b"none", ""
    if isinstance(value, str):
        kind, text = b"text", value
    elif isinstance(value, Integral | np.bool_):
        kind, text = b"real", str(int(value))
    elif isinstance(value, float | np.floating):
        number = float(value)
        if not math.isnan(number):
            kind, text = b"real", str(int(number)) if number.is_integer() else number.hex()
    elif value is not None and type(value).__name__ not in _MISSING:
        raise InputError(
            f"An ensemble with keyed=True knows rows of numbers, truth values and texts. Got a {type(value).__name__}. "
            "Pass it as a number or a text, or leave keyed out."
        )
    data = text.encode("utf-8", "surrogatepass")
    return kind + len(data).to_bytes(8, "little") + data

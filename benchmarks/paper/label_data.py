"""Labelled data sets of the papers on label privacy, read as streams: a file is never held as a whole.

The files are not shipped: HIGGS.csv is from the UCI repository, the features of KDD Cup 2012 (track 2)
from the LIBSVM page. Unpack them first.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError
from darrm.storage.text import opened

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Path_ = str | os.PathLike[str]
HIGGS_FEATURES = 28
MAX_MEMORY = 4 << 30
_CHUNK = 20_000  # lines
_MARGIN = 1.25
_LARGEST = float(np.finfo(np.float32).max)
_LABELS = {"0": 0, "1": 1, "-1": 0}


class LabelledData(NamedTuple):
    """Features and labels of n examples.

    Attributes
    ----------
    X : ndarray of float32, shape (n, d), or scipy.sparse.csr_matrix of float32
    y : ndarray of uint8, shape (n,)
        0 or 1.
    """

    X: NDArray[np.float32] | csr_matrix
    y: NDArray[np.uint8]


def higgs(path: Path_, rows: int | None = None, max_memory: int = MAX_MEMORY) -> LabelledData:
    """Read the Higgs data: CSV without a header, the label 0 or 1 first, then 28 features.

    Parameters
    ----------
    path : path
    rows : int, optional
        Read so many examples from the start; all of them by default.
    max_memory : int
        Bytes that the result may take. If the first lines say that it will take over 1.25 times that, or what was read
        takes more, reading stops with an error.

    Returns
    -------
    LabelledData
        ``X`` (n, 28) float32. 113 bytes an example (11 million of them: 1.24 GB); up to twice that while it is made.
        Some 15 microseconds an example.

    Raises
    ------
    InputError
        If the file cannot be read, a line has not 29 numbers (the message names it), or the result would be too large.
    """
    rows, name = _check_rows(rows), Path(path)
    parts: list[NDArray[np.float32]] = []
    labels = bytearray()
    size = 4 * HIGGS_FEATURES + 1
    with opened(name) as file:
        for start, lines, share in _chunks(file, rows):
            _check_memory(name, (len(labels) + len(lines)) * size, share, max_memory)
            part = np.empty((len(lines), HIGGS_FEATURES), dtype=np.float32)
            for row, line in enumerate(lines):
                label, *cells = line.split(",")
                at = f"{name}, line {start + row}"
                if len(cells) != HIGGS_FEATURES:
                    raise InputError(
                        f"{at}: {len(cells) + 1} columns. It must have a label and {HIGGS_FEATURES} features."
                    )
                labels.append(_whole_label(label, at))
                try:
                    with np.errstate(over="ignore"):
                        part[row] = cells
                except ValueError:
                    raise InputError(f"{at}: a feature is not a number. Fix that line.") from None
            finite = np.isfinite(part).all(axis=1)
            if not finite.all():
                raise InputError(
                    f"{name}, line {start + int(np.argmin(finite))}: a feature is not finite. Fix that line."
                )
            parts.append(part)
    _check_filled(name, len(labels))
    return LabelledData(np.concatenate(parts), np.frombuffer(bytes(labels), dtype=np.uint8))


def kddcup2012(
    path: Path_, n_features: int = 1 << 20, rows: int | None = None, max_memory: int = MAX_MEMORY
) -> LabelledData:
    """Read the KDD Cup 2012 click data in LIBSVM form, with its features hashed to fewer columns.

        label index:value index:value ...

    Parameters
    ----------
    path : path
        One example a line; labels 0 (or -1) and 1; indices are whole numbers from 0 to 2^63 - 1.
    n_features : int in [1, 2^31 - 1]
        Columns of the result.
    rows, max_memory
        As in `higgs`.

    Returns
    -------
    LabelledData
        ``X`` a csr_matrix (n, n_features) of float32. 8 bytes a feature (12 beyond 2^31 of them) and 9 an example, with
        11 features 97 bytes (150 million examples: 15 GB); up to twice that while it is made. Some 12 microseconds an
        example.

    Raises
    ------
    InputError
        If the file cannot be read, a line is not of that form (the message names it), or the result would be too large.

    Notes
    -----
    The column of an index is the upper bits of (index + 1) 0x9E3779B97F4A7C15 mod 2^64, times n_features: the same on
    every machine. Values that meet in one column are added. The paper (2023, Section 5) hashes 54,686,452 indices to
    100,000 and does not say how.
    """
    from scipy.sparse import csr_matrix

    if isinstance(n_features, bool) or not isinstance(n_features, int) or not 1 <= n_features < 1 << 31:
        raise InputError(f"n_features must be a whole number in [1, 2^31 - 1]. Got {n_features!r}.")
    rows, name = _check_rows(rows), Path(path)
    labels, columns, values, ends = bytearray(), array("i"), array("f"), array("q", [0])
    with opened(name) as file:
        for start, lines, share in _chunks(file, rows):
            for row, line in enumerate(lines):
                at = f"{name}, line {start + row}"
                label, *pairs = line.split()
                labels.append(_whole_label(label, at))
                for pair in pairs:
                    column, value = _pair(pair, at)
                    columns.append(_hashed(column, n_features))
                    values.append(value)
                ends.append(len(columns))
            wide = 8 if len(columns) / share < 1 << 31 else 12
            _check_memory(name, wide * len(columns) + 9 * len(labels), share, max_memory)
    _check_filled(name, len(labels))
    X = csr_matrix(
        (
            np.frombuffer(values, dtype=np.float32),
            np.frombuffer(columns, dtype=np.int32),
            np.frombuffer(ends, np.int64),
        ),
        shape=(len(labels), n_features),
    )
    X.sum_duplicates()
    return LabelledData(X, np.frombuffer(bytes(labels), dtype=np.uint8))


def _chunks(file: TextIO, rows: int | None) -> Iterator[tuple[int, list[str], float]]:
    """Lines in chunks, with the number of the first and the share of the work that is done after it, about."""
    wanted = islice(file, rows)
    size = max(1, os.fstat(file.fileno()).st_size)
    start, seen = 1, 0
    while lines := list(islice(wanted, _CHUNK)):
        seen += sum(map(len, lines))
        share = max(seen / size, 0 if rows is None else (start + len(lines) - 1) / rows)
        yield start, [line.strip() or "(nothing)" for line in lines], min(1.0, share)
        start += len(lines)


def _whole_label(text: str, at: str) -> int:
    """0 or 1, however it is written: the files have 1.000000000000000000e+00."""
    label = _LABELS.get(text)
    if label is None:
        try:
            label = _LABELS.get(f"{float(text):g}")
        except ValueError:
            label = None
    if label is None:
        raise InputError(f"{at}: a label must be 0 or 1. Got {text[:40]!r}.")
    return label


def _pair(text: str, at: str) -> tuple[int, float]:
    index, colon, value = text.partition(":")
    try:
        column, number = int(index), float(value)
    except ValueError:
        colon = ""
    if not colon or not 0 <= column < 1 << 63 or not abs(number) <= _LARGEST:
        raise InputError(f"{at}: features must be written index:value, two numbers. Got {text[:40]!r}.")
    return column, number


def _hashed(index: int, n_features: int) -> int:
    mixed = (index + 1) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    return mixed * n_features >> 64


def _check_rows(rows: object) -> int | None:
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1):
        raise InputError(f"rows must be a whole number of at least 1. Got {rows!r}.")
    return None if rows is None else int(rows)


def _check_memory(name: Path, size: float, share: float, max_memory: int) -> None:
    if not (size <= max_memory and size / share <= _MARGIN * max_memory):
        raise InputError(
            f"{name} would take about {size / share:.3g} bytes as arrays, more than max_memory = {max_memory}. Pass "
            "rows to read a part, or raise it."
        )


def _check_filled(name: Path, n: int) -> None:
    if not n:
        raise InputError(f"{name} holds no examples.")

"""Votes and ids in columns of pandas, by its own means: Arrow need not be there."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError
from darrm.votes.answers import Answers
from darrm.votes.arrow import put, put_texts
from darrm.votes.header import Columns, Voters
from darrm.votes.rows import Texts

_WHERE = "The frame"


def of_frame(frame: Any, voters: Voters, answers: Answers) -> tuple[Columns, NDArray[np.uint8], Texts | None]:
    """Columns, votes and ids, if there are any, of a frame: its index is a column, as pandas writes it to files.

    Raises
    ------
    InputError
        As `darrm.votes.arrow.cells`; rows are counted from 0.
    """
    # NaN is no name either, and the only value that is not itself.
    names = ["" if name is None or name != name else str(name) for name in frame.columns]
    levels = [frame.index.get_level_values(level) for level in range(frame.index.nlevels)]
    # One that only counts rows has no column, but for one called id.
    kept = [level for level in levels if level.name is not None or not hasattr(frame.index, "step")]
    index = list(range(len(names), len(names) + len(kept)))
    named = len(kept) == 1 and _is_id(kept[0])
    columns = Columns.of(
        _WHERE,
        [*names, *(str(level.name or f"__index_level_{i}__") for i, level in enumerate(kept))],
        voters,
        answers,
        first_line=None if all(isinstance(name, int) for name in frame.columns) else False,
        index=index[0] if named else None,
        passed=index,
    )
    values = np.empty((len(frame), len(columns.votes)), dtype=np.uint8)
    for j, at in enumerate(columns.votes):
        _put_series(values[:, j], frame.iloc[:, at], at, columns)
    for at in columns.blank:
        series = frame.iloc[:, at]
        for i, value in enumerate(series.tolist()):
            columns.check_blank(at, value, f"{_WHERE}, row {i}")
    if columns.id is None:
        return columns, values, None
    series = frame.iloc[:, columns.id] if columns.id < len(names) else kept[columns.id - len(names)]
    return columns, values, _ids(series, columns.names[columns.id])


def _put_series(place: NDArray[np.uint8], series: Any, at: int, columns: Columns) -> None:
    missing = series.isna().to_numpy(dtype=bool)
    if series.dtype.kind == "b":
        bits = series.to_numpy(dtype=bool, na_value=False) if missing.any() else series.to_numpy(dtype=bool)
        put(place, bits, at, columns, _WHERE, 0, missing)
    elif series.dtype.kind in "iuf":
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan) if missing.any() else series.to_numpy(np.float64)
        put(place, numbers, at, columns, _WHERE, 0, missing if series.dtype.kind != "f" else None)
    elif series.dtype.kind == "O":
        values = [None if gone else value for value, gone in zip(series.tolist(), missing.tolist(), strict=True)]
        different: dict[tuple[type, Any], int] = {}
        try:
            codes = [different.setdefault((type(value), value), len(different)) for value in values]
        except TypeError:  # lists, for instance
            raise columns.other_type(at, _WHERE, f"dtype {series.dtype}") from None
        texts = [_text(value, at, columns) for _, value in different]
        put_texts(place, texts, np.array(codes, dtype=np.intp), at, columns, _WHERE, 0)
    else:
        raise columns.other_type(at, _WHERE, f"dtype {series.dtype}")


def _text(value: Any, at: int, columns: Columns) -> str | None:
    """A value as CSV would have it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float | Decimal):
        return value if value is None or isinstance(value, str) else str(value)
    raise columns.other_type(at, _WHERE, f"a value of type {type(value).__name__}")


def _is_id(series: Any) -> bool:
    return series.dtype.kind in "iu" or (series.dtype.kind == "O" and all(isinstance(id_, str) for id_ in series))


def _ids(series: Any, name: str) -> Texts:
    missing = np.flatnonzero(np.asarray(series.isna(), dtype=bool))
    if missing.size:
        raise InputError(f"{_WHERE}, row {missing[0]}, column {name} is empty. Give each row an id, or none.")
    values = [value.item() if isinstance(value, np.generic) else value for value in series.tolist()]
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise InputError(
                f"{_WHERE}, column {name} must hold texts or integers. Got dtype {series.dtype}, with a value of "
                f"type {type(value).__name__}."
            )
    return Texts.of(map(str, values))

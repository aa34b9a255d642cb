"""Votes in columns of Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError
from darrm.storage.frames import pyarrow
from darrm.votes.rows import ABSENT, Columns, other_than


def cells(arrays: Sequence[Any], columns: Columns, where: str, row: int) -> NDArray[np.uint8]:
    """Arrow arrays of votes, those from the column ``columns.first`` on, as shape (n, len(arrays)).

    Numbers of the answers, or their names as texts; 255 stands for an absent voter.

    Raises
    ------
    InputError
        If one has another type, or holds something else, such as a null where no voter may be absent; it says which
        after ``where``, counting rows from ``row``.
    """
    types = pyarrow().types
    texts = (types.is_string, types.is_large_string, types.is_string_view)
    values = np.empty((len(arrays[0]), len(arrays)), dtype=np.uint8)
    for j, array in enumerate(arrays):
        at = columns.first + j
        kind = array.type.value_type if types.is_dictionary(array.type) else array.type
        if not columns.answers.numbered and any(is_text(kind) for is_text in texts):
            put_texts(values[:, j], array.to_pylist(), at, columns, where, row)
            continue
        if not (types.is_boolean(array.type) or types.is_integer(array.type) or types.is_floating(array.type)):
            raise InputError(
                f"{where}, column {columns.names[at]} must hold {columns.answers.kind}. Got type {array.type}."
            )
        missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
        if missing is not None:
            array = array.fill_null(False if types.is_boolean(array.type) else 0)
        put(values[:, j], array.to_numpy(zero_copy_only=False), at, columns, where, row, missing)
    return values


def put(
    place: NDArray[np.uint8],
    values: NDArray[Any],
    column: int,
    columns: Columns,
    where: str,
    row: int,
    missing: NDArray[np.bool_] | None = None,
) -> None:
    """Put ``values`` into ``place``: numbers of answers, but for those that are ``missing``; errors as in `cells`."""
    if columns.answers.absent and column < columns.last:
        absent = values == -1 if missing is None else missing | (values == -1)
        values = np.where(absent, 0, values)
    else:
        absent = None
        if missing is not None and missing.any():
            raise InputError(f"{where}, row {row + int(missing.argmax())}, {columns.fault(column, None)}")
    if values.dtype != np.bool_:
        wrong = other_than(values, len(columns.answers.names))
        if wrong.size:
            got = values[wrong[0]].item()
            raise InputError(f"{where}, row {row + int(wrong[0])}, {columns.fault(column, got)}")
    place[:] = values
    if absent is not None:
        place[absent] = ABSENT


def put_texts(
    place: NDArray[np.uint8], texts: Sequence[Any], column: int, columns: Columns, where: str, row: int
) -> None:
    """Put names of answers, or None for absent voters, into ``place``; errors as in `cells`."""
    known = columns.answers.votes if column < columns.last else columns.answers.labels
    try:
        place[:] = [known["" if text is None else text] for text in texts]
    except KeyError:
        wrong = next(i for i, text in enumerate(texts) if ("" if text is None else text) not in known)
        raise InputError(f"{where}, row {row + wrong}, {columns.fault(column, texts[wrong])}") from None

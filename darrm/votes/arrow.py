"""pyarrow, if it is installed, and votes in its columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError, MissingExtraError
from darrm.votes.rows import Columns, other_than_bits


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


def cells(arrays: Sequence[Any], columns: Columns, where: str, row: int) -> NDArray[np.uint8]:
    """Arrow arrays of zeros and ones, those from the column ``columns.first`` on, as shape (n, len(arrays)).

    Raises
    ------
    InputError
        If one has another type or a null, or holds another number; it says which after ``where``, counting rows
        from ``row``.
    """
    types = pyarrow().types
    values = np.empty((len(arrays[0]), len(arrays)), dtype=np.uint8)
    for j, array in enumerate(arrays):
        at = columns.first + j
        if not (types.is_boolean(array.type) or types.is_integer(array.type) or types.is_floating(array.type)):
            raise InputError(f"{where}, column {columns.names[at]} must hold numbers 0 and 1. Got type {array.type}.")
        if array.null_count:
            missing = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
            raise InputError(f"{where}, row {row + missing}, {columns.fault(at, None)}")
        put(values[:, j], array.to_numpy(zero_copy_only=False), at, columns, where, row)
    return values


def put(place: NDArray[np.uint8], values: NDArray[Any], column: int, columns: Columns, where: str, row: int) -> None:
    """Put ``values``, which must be zeros and ones, into ``place``; errors as in `cells`."""
    if values.dtype != np.bool_:
        wrong = other_than_bits(values)
        if wrong.size:
            got = values[wrong[0]].item()
            raise InputError(f"{where}, row {row + int(wrong[0])}, {columns.fault(column, got)}")
    place[:] = values

"""The array of most functions, and arrays of exact numbers."""

from decimal import Decimal

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[np.float64]


def in_decimals(values: Array) -> NDArray[np.object_]:
    """The same numbers as decimals, exactly."""
    return np.array([Decimal(value) for value in values.ravel().tolist()], dtype=object).reshape(values.shape)


def number_kind(exact: bool) -> DTypeLike:
    """The kind of an array of decimals, or of float64."""
    return np.object_ if exact else np.float64

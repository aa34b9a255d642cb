"""Checks of what users pass: one voice for what is wrong, what came, what is allowed and what to do.

No numpy is loaded before an array is checked, so that problems stay light.
"""

from __future__ import annotations

import math
import sys
from numbers import Integral, Real
from typing import TYPE_CHECKING, TypeGuard

from darrm.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

MAX_EPSILON = 1e6  # beyond any use; certificates need e^(m epsilon) within the range of decimal arithmetic
MAX_COUNT = 10**7
MAX_CLASSES = 1000
VOTERS = ("fresh", "fixed")
_MOST_JOBS = 1024


def real(name: str, value: object, allowed: str) -> float:
    """``value`` as a float, refused unless it is a number that float64 holds exactly, or NaN."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name} must be a number {allowed}. Got {value!r}.")
    try:
        number = float(value)
    except OverflowError:
        raise InputError(f"{name} must be a number {allowed}. Got {value!r}.") from None
    if number != value and not math.isnan(number):
        raise InputError(
            f"{name} must be a number {allowed} that float64 holds exactly: guarantees are about that number. "
            f"Got {value!r}. Pass {number!r} if that is what you mean."
        )
    return number


def whole(name: str, value: object, allowed: str) -> int:
    """``value`` as an int, refused unless it is a whole number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name} must be a whole number {allowed}. Got {value!r}.")
    if isinstance(value, Integral):
        return int(value)
    number = float(value)
    if not (number.is_integer() and number == value):
        raise InputError(f"{name} must be a whole number {allowed}. Got {value!r}.")
    return int(number)


def is_real(value: object) -> TypeGuard[float]:
    """Whether ``value`` is a number that float64 holds exactly (or NaN); no bool."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        number = float(value)
    except OverflowError:
        return False
    return number == value or math.isnan(number)


def check_count(name: str, k: object, most: int = MAX_COUNT) -> int:
    """``k`` as an int, refused unless it is a whole number in [1, most]."""
    if not is_real(k) or not float(k).is_integer() or not 1 <= k <= most:
        raise InputError(f"{name} must be a whole number in [1, {most:g}]. Got {k!r}.")
    return int(k)


def check_voters(voters: object) -> str:
    """``voters``, refused unless it says which kind they are."""
    if voters not in VOTERS:
        raise InputError(
            f'voters must be "fresh" (the new coins of every answer make it private by themselves, whatever else '
            'the voter keeps) or "fixed" (made private once with all its answers together, such as a DP-SGD model). '
            f"Got {voters!r}. Single labels compose for fresh voters only."
        )
    return str(voters)


def check_epsilon(value: object) -> float:
    """A total epsilon as a float; `InputError` if it is none."""
    if not (is_real(value) and 0 <= value <= MAX_EPSILON):
        raise InputError(f"total_epsilon must be in [0, {MAX_EPSILON:g}]. Got {value!r}. Pass nats, e.g. 1.0.")
    return float(value)


def check_delta(delta: object, name: str = "delta") -> float:
    """A total delta as a float; `InputError` if it is none."""
    if not (is_real(delta) and 0 <= delta < 1):
        raise InputError(f"{name} must be in [0, 1). Got {delta!r}. Pass the total for all labels, e.g. 1e-5.")
    return float(delta)


def check_numbers(name: str, values: ArrayLike, ndim: int, shape: str) -> Array:
    """``values`` as finite float64 of so many dimensions, not empty."""
    import numpy as np

    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers of shape {shape}.") from None
    if found.ndim != ndim or not found.size:
        raise InputError(f"{name} must have shape {shape} and not be empty. Got {found.shape}.")
    if not np.all(np.isfinite(found)):
        raise InputError(f"{name} must be finite.")
    return found


def check_counts(counts: ArrayLike, name: str = "counts") -> Array:
    """Votes for each class as float64, shape (classes,); `InputError` if they are none."""
    import numpy as np

    try:
        found = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers of votes, one for each class. Got {counts!r}.") from None
    if found.ndim != 1 or not 2 <= found.size <= MAX_CLASSES:
        raise InputError(f"{name} must have shape (classes,), 2 to {MAX_CLASSES} classes. Got shape {found.shape}.")
    if not (np.all(np.isfinite(found)) and np.all(found >= 0) and np.all(found == np.floor(found))):
        raise InputError(f"{name} must be whole numbers of at least 0. Got {counts!r}.")
    return found


def check_positive(name: str, value: object) -> float:
    """``value`` as a float, refused unless it is finite and above 0."""
    if not is_real(value):
        raise InputError(f"{name} must be a number above 0. Got {value!r}.")
    if not 0 < value <= sys.float_info.max:
        raise InputError(f"{name} must be finite and above 0, within float64. Got {value!r}.")
    return float(value)


def probabilities(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """``values`` as a float64 array of at least one dimension, refused outside [0, 1]."""
    import numpy as np

    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be an array of numbers in [0, 1]. Got {values!r}.") from None
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InputError(f"{name} must be an array with one value for each vote. Got shape {array.shape}.")
    if not np.all((array >= 0) & (array <= 1)):
        worst = array[~((array >= 0) & (array <= 1))].flat[0]
        raise InputError(f"{name} must be in [0, 1]. Got {worst:g}.")
    return array


def check_jobs(jobs: object) -> int:
    """``jobs`` as an int, refused unless it is a number of processes or threads that joblib can have."""
    if isinstance(jobs, bool) or not isinstance(jobs, Integral) or not (1 <= int(jobs) <= _MOST_JOBS or jobs == -1):
        raise InputError(f"jobs must be a whole number in [1, {_MOST_JOBS}], or -1 for all cores. Got {jobs!r}.")
    return int(jobs)

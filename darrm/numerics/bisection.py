"""Search for the largest number with a monotone property."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time

_AT_ONCE = 126  # numbers that are tried at once, which takes a function of an array hardly longer than one


def edge(holds: Callable[[Array], NDArray[np.bool_]], low: float, high: float, close: float) -> tuple[float, float]:
    """Ends of an interval in [low, high], to a relative ``close`` of the upper one or 1e-300.

    Of a property that holds up to some number and then fails. It holds at the lower end and fails at the upper one,
    unless that is ``low`` or ``high`` itself, which are not tried.
    """
    while math.isfinite(high) and high - low > max(close * high, 1e-300):
        check_time()
        tried = np.linspace(low, high, _AT_ONCE + 2)
        first = 1 + int(np.append(holds(tried[1:-1]), False).argmin())
        low, high = float(tried[first - 1]), float(tried[first])
    return low, high


def largest_that(most: float, holds: Callable[[int], bool]) -> int:
    """The largest n in 1, ..., ``most`` with ``holds(n)``, 0 if there is none; smaller numbers must hold too.

    It starts from 1 and doubles, because ``holds`` often takes longer for large numbers.
    """
    low, high = 0, 1
    while high <= most and holds(high):
        check_time()
        low, high = high, 2 * high
    high = int(min(high, most + 1))
    while high - low > 1:
        check_time()
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low

"""Search for the largest integer with a monotone property."""

from collections.abc import Callable

from darrm.numerics.deadline import check_time


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

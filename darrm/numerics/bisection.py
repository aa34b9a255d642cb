"""The largest number for which something holds."""

from collections.abc import Callable

from darrm.numerics.deadline import check_time


def largest_that(most: float, holds: Callable[[int], bool]) -> int:
    """The largest n in 1, ..., ``most`` for which ``holds(n)``, 0 if there is none; what is smaller must hold too.

    Asked from 1 on, by doubling: what is asked often takes longer for large numbers.
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

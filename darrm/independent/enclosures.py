"""Integers over 2^bits that enclose real ones: the arithmetic of the independent check."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt


def below(value: Fraction, bits: int) -> int:
    """The largest n with n / 2^bits <= ``value``."""
    return (value.numerator << bits) // value.denominator


def above(value: Fraction, bits: int) -> int:
    """The least n with n / 2^bits >= ``value``."""
    return -below(-value, bits)


@lru_cache(maxsize=256)
def exponential(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers with low / 2^bits <= e^x <= high / 2^bits, for x >= 0.

    With y = x / 2^k at most 1/2, terms y^n / n! are summed until one is below a unit, rounded down and rounded up. What
    is left out is at most twice the next term, so two units. Squared k times.
    """
    halvings = ceil(x).bit_length() + 1 + isqrt(bits) // 2
    fine = bits + 2 * halvings + 2 * ceil(x) + 32
    low_y, high_y = below(x / 2**halvings, fine), above(x / 2**halvings, fine)
    low = high = low_term = high_term = 1 << fine
    n = 0
    while high_term > 1:
        n += 1
        low_term = (low_term * low_y >> fine) // n
        high_term = -(-(high_term * high_y) // (n << fine))
        low, high = low + low_term, high + high_term
    high += 2
    for _ in range(halvings):
        low, high = low * low >> fine, -(-high * high >> fine)
    return low >> fine - bits, -(-high >> fine - bits)


def smallness(value: Fraction) -> int:
    """About how many bits after the point ``value`` > 0 begins; 0 if it is 1 or more."""
    return max(0, value.denominator.bit_length() - value.numerator.bit_length() + 1)

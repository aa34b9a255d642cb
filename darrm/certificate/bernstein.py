"""Polynomials by their Bernstein coefficients, in whole numbers of 2^-bits that are rounded to a side.

    X(p) = sum over j of  c_j C(n, j) p^j (1 - p)^(n - j)

lies between its least and its largest coefficient, and c_0 and c_n are its values at the ends. Coefficients on a part
of [0, 1] follow by averaging (de Casteljau); rounded up in every average they are upper bounds of the true ones.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.exact import rounded_up

Whole: TypeAlias = NDArray[np.object_]  # of int, in units of 2^-bits


class Between(NamedTuple):
    """A number in [0, 1] between two whole numbers of 2^-bits."""

    low: int
    high: int


def halve(coefficients: Whole, *, up: bool) -> tuple[Whole, Whole]:
    """Coefficients on both halves of the segment, by de Casteljau; averages rounded up, or down."""
    left, right = [coefficients[0]], [coefficients[-1]]
    while coefficients.size > 1:
        coefficients = (coefficients[:-1] + coefficients[1:] + int(up)) >> 1
        left.append(coefficients[0])
        right.append(coefficients[-1])
    return np.array(left, dtype=object), np.array(right[::-1], dtype=object)


def restrict(coefficients: Whole, start: Between, stop: Between, bits: int, *, up: bool) -> Whole:
    """Coefficients on the part of [0, 1] from ``start`` to ``stop``, in that direction."""
    if start.low > stop.high:
        return restrict(coefficients, stop, start, bits, up=up)[::-1]
    part, _ = split(coefficients, stop, bits, up=up)
    if stop.high == 0:
        return part
    ratio = Between((start.low << bits) // stop.high, min(1 << bits, -((-start.high << bits) // max(stop.low, 1))))
    return split(part, ratio, bits, up=up)[1]


def split(coefficients: Whole, t: Between, bits: int, *, up: bool) -> tuple[Whole, Whole]:
    """Coefficients on [0, t] and [t, 1], by de Casteljau; bounds for every t in between."""
    left, right = [coefficients[0]], [coefficients[-1]]
    ends = np.array(t, dtype=object)
    while coefficients.size > 1:
        step = np.diff(coefficients)
        along = step * ends[((step >= 0) == up).astype(np.intp)]
        along = -(-along >> bits) if up else along >> bits
        coefficients = coefficients[:-1] + along
        left.append(coefficients[0])
        right.append(coefficients[-1])
    return np.array(left, dtype=object), np.array(right[::-1], dtype=object)


def as_float(value: int, bits: int) -> float:
    return float(Fraction(value, 1 << bits))


def as_float_above(value: int, bits: int) -> float:
    """The least float64 that is not below value 2^-bits."""
    return rounded_up(Fraction(value, 1 << bits))

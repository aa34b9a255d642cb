"""Exact numbers as float64, rounded to the safe side."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

Exact = TypeVar("Exact", Fraction, Decimal)


def rounded_up(value: Exact) -> float:
    """The least float64 that is not below ``value``; infinity beyond its range."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return nearest if type(value)(nearest) >= value else math.nextafter(nearest, math.inf)

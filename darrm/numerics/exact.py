"""Exact numbers: decimals in a separate context, and float64 rounded conservatively."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    localcontext,
)
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

Exact = TypeVar("Exact", Fraction, Decimal)
DIGITS = 60


def rounded_up(value: Exact) -> float:
    """The least float64 that is not below ``value``; infinity beyond its range."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return nearest if type(value).from_float(nearest) >= value else math.nextafter(nearest, math.inf)


def decimals(scale: Decimal, digits: int = DIGITS) -> AbstractContextManager[Context]:
    """Decimal arithmetic that keeps 60 digits, or more, of e^scale - 1 even where ``scale`` is tiny."""
    return localcontext(context(max(digits, DIGITS) + (max(0, -scale.adjusted()) if scale else 0)))


@lru_cache(maxsize=16)
def context(digits: int) -> Context:
    """A separate decimal context, because the caller's may have another rounding, range or traps; to be copied."""
    return Context(
        prec=digits,
        rounding=ROUND_HALF_EVEN,
        Emin=MIN_EMIN,
        Emax=MAX_EMAX,
        clamp=0,
        traps=[InvalidOperation, DivisionByZero, Overflow],
    )


@lru_cache(maxsize=256)
def exponential(epsilon: Decimal) -> Decimal:
    """e^epsilon, in the digits of `decimals`; kept, because steps of a search ask again."""
    with decimals(epsilon):
        return epsilon.exp()


@lru_cache(maxsize=256)
def exponentials(epsilon: Decimal) -> tuple[float, float]:
    """e^-epsilon and e^epsilon - 1, the float64 nearest to each."""
    shrink, kappa = powers(epsilon)
    return float(shrink), float(kappa)


def powers(epsilon: Decimal) -> tuple[Decimal, Decimal]:
    """e^-epsilon and e^epsilon - 1, in the digits of `decimals`."""
    grow = exponential(epsilon)
    with decimals(epsilon):
        return 1 / grow, grow - 1

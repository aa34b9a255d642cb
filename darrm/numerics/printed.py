"""Numbers in print, rounded conservatively."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from darrm.numerics.exact import decimals

_NOTHING = Decimal("1e-12")  # a share that is rounding


def counted(number: int, noun: str, form: str = "") -> str:
    """A number of things, which agrees with it: "1 label", "0 labels", "1000 rows"; ``form`` as in a format string."""
    return f"{number:{form}} {noun}{'' if number == 1 else 's'}"


def left(number: int) -> str:
    """That so many are left, as a sentence: "None is left.", "1 is left.", "2 are left."."""
    return "None is left." if not number else f"{number} {'is' if number == 1 else 'are'} left."


def exactly(value: float) -> str:
    """A given number >= 0 with all its digits, at least six; "infinite" if it is."""
    if math.isinf(value):
        return "infinite"
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def at_least(value: float, digits: int = 6) -> str:
    """A certified upper bound to the given digits, rounded up where it exceeds them by more than rounding.

    "infinite": there is no finite one.
    """
    return _rounded(value, digits, ROUND_CEILING, _NOTHING)


def at_most(value: float, digits: int = 6) -> str:
    """A parameter whose privacy loss rises with it, to the given digits, rounded down."""
    return _rounded(value, digits, ROUND_FLOOR, Decimal(0))


def standard_error(share: float, draws: int) -> float:
    """The largest standard error of a mean, of so many draws between 0 and 1."""
    return math.sqrt(max(share * (1 - share), 0.0) / draws)


def of_draws(share: float, draws: int) -> str:
    """A mean of so many draws between 0 and 1, to the first digit of its standard error."""
    error = max(standard_error(share, draws), 1 / draws)
    return f"{share:.{max(1, -math.floor(math.log10(error)))}f}"


def rate(share: float, draws: int = 0) -> str:
    """A rate, a mean of so many draws if there are any, or that it is not known."""
    if math.isnan(share):
        return "not known"
    return of_draws(share, draws) if draws else f"{share:.4f}"


def _rounded(value: float, digits: int, rounding: str, less: Decimal) -> str:
    if math.isinf(value) or not value:
        return "infinite" if value else "0"
    with decimals(Decimal(1)):
        exact = Decimal(value) * (1 - less)
        rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=rounding).normalize()
    if rounded.adjusted() >= -4:
        return f"{rounded:f}"
    shown, _, exponent = f"{rounded:e}".lower().partition("e")
    return f"{shown}e{int(exponent):+03d}"  # as `exactly` prints it

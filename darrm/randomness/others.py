"""Whether the largest of many further deviates is beyond a given one: exactly, by one uniform real for all of them.

The largest of m independent deviates of distribution function F is above t with probability 1 - F(t)^m. So it is if a
uniform real U is above F(t)^m. Both t and U are known to as many digits as it takes to tell; F and the power are
rounded in neither direction but enclosed. Most comparisons are decided by float64 with bounds of its errors.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.numerics import normal
from darrm.numerics.arrays import Array
from darrm.numerics.exact import context
from darrm.randomness.coins import WordSource
from darrm.randomness.digits import Deviates, Integers, Uniforms

_EACH = 2e-12  # more than the relative error of F in float64, for each factor of the power
_POWER = 1e-12  # of the power itself, whose logarithm is above -700
_SMALLEST = 1e-290
_ROUNDING = 2.0**-50  # more than eight roundings of float64
_HUGE = 1e300
_WORD = 64
_GUARD = 15  # decimal digits that sums of thousands of terms may lose


class Below(NamedTuple):
    """A distribution function F.

    Attributes
    ----------
    near : callable
        In float64, right to a relative 1e-12 where it is at least 1e-290.
    closely : callable
        Of a Decimal and a number of digits: F, right to as many digits behind the point, in a context of more.
    """

    near: Callable[[Array], Array]
    closely: Callable[[Decimal, int], Decimal]


def beyond(
    noise: Deviates,
    at: Integers,
    more: tuple[Integers, Fraction],
    others: int,
    below: Below,
    words: WordSource,
) -> NDArray[np.bool_]:
    """Whether the largest of ``others`` further deviates is above deviate at[i] + counts[i] * rate, for each i.

    Parameters
    ----------
    noise : Deviates
        Known so far; digits that decide a comparison stay as they are.
    at : ndarray of int, shape (n,)
    more : ndarray of int >= 0, shape (n,), and Fraction > 0
        The counts and the rate.
    others : int >= 0
    below : Below
        The distribution function of each of them.
    words : WordSource
    """
    if not others:
        return np.zeros(at.size, dtype=np.bool_)
    counts, rate = more
    uniforms = Uniforms(at.size, words, noise.fraction.bits)
    value, off = (part[at] for part in noise.near())
    with np.errstate(over="ignore"):
        lead = np.minimum(float(min(rate, Fraction(_HUGE))) * counts, _HUGE)
    off = off + _ROUNDING * (np.abs(value) + lead)
    sides = []
    for side in (-1, 1):
        with np.errstate(divide="ignore"):
            log = np.log(below.near(value + lead + side * off))
        sides.append(np.exp(np.maximum(others * (log + side * _EACH) + side * _POWER, -1000.0)))
    step = 2.0**-noise.fraction.bits
    u, wide = (uniforms.first + 0.5) * step, step + _ROUNDING
    found = np.asarray(u - wide >= np.maximum(sides[1], _SMALLEST))
    sure = found | (u + wide <= np.where(sides[0] > _SMALLEST, sides[0], -1.0))
    for i in np.flatnonzero(~sure).tolist():
        found[i] = _above(noise, int(at[i]), int(counts[i]) * rate, others, below, uniforms, i)
    return found


def _above(noise: Deviates, place: int, lead: Fraction, others: int, below: Below, uniforms: Uniforms, i: int) -> bool:
    """The same of one, by as many digits as it takes."""
    while True:
        low, high = noise.bounds(place)
        bits, count = uniforms.known(i)
        digits = int(count * 0.30103) + _GUARD + len(str(others))
        off = (others + 1) * Fraction(1, 10**digits)
        if Fraction(bits + 1, 1 << count) <= _power(low + lead, others, below, digits) - off:
            return False
        if Fraction(bits, 1 << count) >= _power(high + lead, others, below, digits) + off:
            return True
        noise.fraction.refine(place)
        uniforms.refine(i)


def _power(t: Fraction | float, others: int, below: Below, digits: int) -> Fraction:
    """F(t)^others, right to (others + 1) 10^-digits."""
    if isinstance(t, float):
        return Fraction(t > 0)  # infinite
    far = 3 * digits + 10  # F(-far) and 1 - F(far) are below 10^-digits
    t = min(max(t, Fraction(-far)), Fraction(far))
    with localcontext(context(digits + _GUARD)):
        each = below.closely(Decimal(t.numerator) / Decimal(t.denominator), digits)
        power = min(max(each, Decimal(0)), Decimal(1)) ** others
        return Fraction(power) if power.adjusted() > -digits - _GUARD else Fraction(0)  # or it has millions of digits


def _gaussian(t: Decimal, digits: int) -> Decimal:
    """1/2 + phi(t) sum over k of t^(2k+1) / (2k+1)!!."""
    square = t * t
    if square > 5 * (digits + 1):  # the tail is below e^(-t^2 / 2)
        return Decimal(t > 0)
    total = term = abs(t)
    k = 1
    while term > total.scaleb(-digits - _GUARD):
        term *= square / (2 * k + 1)
        total += term
        k += 1
    part = (-square / 2).exp() * total / (2 * _pi(digits + _GUARD)).sqrt()
    return Decimal("0.5") + part.copy_sign(t)


def _pi(digits: int) -> Decimal:
    """Machin: 16 arctan(1/5) - 4 arctan(1/239), in integers."""
    unit = int(10 ** (digits + 10))

    def arctan(x: int) -> int:
        term: int = unit // x
        total, k, sign = term, 3, -1
        while term:
            term //= x * x
            total += sign * (term // k)
            k, sign = k + 2, -sign
        return total

    return Decimal(16 * arctan(5) - 4 * arctan(239)) / Decimal(unit)


def _laplace_near(t: Array) -> Array:
    tail = np.exp(-np.abs(t)) / 2
    return np.where(t < 0, tail, 1 - tail)


def _laplace(t: Decimal, _: int) -> Decimal:
    tail = (-abs(t)).exp() / 2
    return tail if t < 0 else 1 - tail


def _exponential(t: Decimal, _: int) -> Decimal:
    return 1 - (-t).exp() if t > 0 else Decimal(0)


def _gumbel_near(t: Array) -> Array:
    return np.asarray(np.exp(-np.exp(np.minimum(-t, 10.0))))


def _gumbel(t: Decimal, _: int) -> Decimal:
    return (-(-t).exp()).exp()


BELOW_GAUSSIAN = Below(normal.distribution, _gaussian)
BELOW_LAPLACE = Below(_laplace_near, _laplace)
BELOW_EXPONENTIAL = Below(lambda t: np.asarray(-np.expm1(-np.maximum(t, 0.0))), _exponential)
BELOW_GUMBEL = Below(_gumbel_near, _gumbel)

"""Chances of noisy max with continuous noise, by other ways than those of darrm, to some forty digits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

DIGITS = 100


def gaussian(counts: Sequence[int], sigma: float) -> list[Fraction]:
    """By FLINT's rigorous integration of the density times all distribution functions."""
    flint = pytest.importorskip("flint")
    many = Counter(counts)
    found = {}
    with flint.ctx.workprec(250):
        scale, root = flint.arb(sigma), flint.arb(2).sqrt()
        means = {n: flint.acb((n - max(counts)) / scale) for n in many}
        low, high = flint.acb(means[min(counts)]) - 25, flint.acb(25)
        for own in many:

            def integrand(t: Any, _: bool, own: int = own) -> Any:
                value = (-((t - means[own]) ** 2) / 2).exp() / (2 * flint.acb.pi()).sqrt()
                for other, mean in means.items():
                    if among := many[other] - (other == own):
                        below = ((mean - t) / root).erfc() / 2
                        value *= below**among if among > 1 else below
                return value

            # What is beyond 25 deviations of all counts has a chance below e^-300.
            tiny = flint.arb(2)
            total = flint.acb.integral(integrand, low, high, rel_tol=tiny**-150, abs_tol=tiny**-2000).real
            assert total.rad() < total.mid() * tiny**-100 + tiny**-1900
            middle = total.mid().fmpq()
            found[own] = Fraction(int(middle.p), int(middle.q))
    return [found[n] for n in counts]


def laplace(counts: Sequence[int], rate: Fraction) -> list[Fraction]:
    """The integrand is a sum of exponentials between the counts; 100 digits, of which cancellation takes some."""
    with localcontext() as context:
        context.prec = DIGITS
        g = Decimal(rate.numerator) / Decimal(rate.denominator)
        kinks = sorted(set(counts))
        found = []
        for j, own in enumerate(counts):
            total = Decimal(0)
            for left, right in [(None, kinks[0]), *pairwise(kinks), (kinks[-1], None)]:
                # Terms c e^(k g t): the density of class j, times the distribution function of every other.
                ahead = left is not None and own <= left
                terms = {(-1 if ahead else 1): g / 2 * ((1 if ahead else -1) * g * own).exp()}
                for i, other in enumerate(counts):
                    if i == j:
                        continue
                    if left is not None and other <= left:
                        factor = {0: Decimal(1), -1: -(g * other).exp() / 2}
                    else:
                        factor = {1: (-g * other).exp() / 2}
                    product: dict[int, Decimal] = {}
                    for k, c in terms.items():
                        for l, d in factor.items():
                            product[k + l] = product.get(k + l, Decimal(0)) + c * d
                    terms = product
                for k, c in terms.items():
                    if k == 0:
                        total += c * (Decimal(right) - Decimal(left))
                    else:
                        high = (k * g * right).exp() if right is not None else Decimal(0)
                        low = (k * g * left).exp() if left is not None else Decimal(0)
                        total += c * (high - low) / (k * g)
            found.append(Fraction(total))
        return found


def exponential(counts: Sequence[int], rate: Fraction) -> list[Fraction]:
    """Integral from 0 to 1 of p_j times the product of 1 - u p_i, by the coefficients of the polynomial."""
    with localcontext() as context:
        context.prec = DIGITS
        g = Decimal(rate.numerator) / Decimal(rate.denominator)
        p = [Fraction((g * (n - max(counts))).exp()) for n in counts]
    found = []
    for j, own in enumerate(p):
        coefficients = [Fraction(1)]
        for other in p[:j] + p[j + 1 :]:
            zero = Fraction(0)
            coefficients = [a - other * b for a, b in zip([*coefficients, zero], [zero, *coefficients], strict=True)]
        found.append(own * sum((c / (k + 1) for k, c in enumerate(coefficients)), Fraction(0)))
    return found


def gumbel(counts: Sequence[int], rate: Fraction) -> list[Fraction]:
    """In proportion to e^(rate n)."""
    with localcontext() as context:
        context.prec = DIGITS
        g = Decimal(rate.numerator) / Decimal(rate.denominator)
        weights = [(g * n).exp() for n in counts]
        return [Fraction(weight / sum(weights)) for weight in weights]

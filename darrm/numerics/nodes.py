"""Gauss-Legendre nodes and weights, the float64 nearest to each."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np

from darrm.numerics.arrays import Array
from darrm.numerics.exact import context

_DIGITS = 50


@lru_cache(maxsize=8)
def unit_nodes(count: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes in (0, 1) and their weights, the float64 nearest to each; nodes[::-1] are 1 - nodes."""
    u, weights = [], []
    with localcontext(context(_DIGITS)):
        for x in map(Decimal, np.polynomial.legendre.leggauss(count)[0].tolist()):
            for _ in range(3):  # float64 is right to 1e-11 at least, and each step doubles the digits
                value, slope = _legendre(count, x)
                x -= value / slope
            _, slope = _legendre(count, x)
            u.append(float((1 + x) / 2))
            weights.append(float(1 / ((1 - x * x) * slope * slope)))
    return np.array(u), np.array(weights)


def _legendre(n: int, x: Decimal) -> tuple[Decimal, Decimal]:
    """The Legendre polynomial of degree n at x, and its derivative."""
    before, value = Decimal(1), x
    for k in range(2, n + 1):
        before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
    return value, n * (x * value - before) / (x * x - 1)

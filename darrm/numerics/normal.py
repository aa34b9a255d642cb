"""The normal distribution function with a proved relative error, from exponentials alone.

scipy's is good, but nothing is proved of it, and every guarantee of noisy max is a sum of its values.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np

from darrm.numerics.arrays import Array
from darrm.numerics.exact import context
from darrm.numerics.nodes import unit_nodes

EACH = 1e-12  # relative error of both functions for |x| <= 38, whose arguments err by three roundings themselves
ROOT = 2.5066282746310005024157652848110452530069867406099383  # of 2 pi
_ROOT = Decimal("2.5066282746310005024157652848110452530069867406099383166299235763422936546078419749")
_EDGE, _STEPS = 13, 8  # the last value in the table, and how many there are for each unit
_NODES, _TERMS = 10, 16
_FAR = 37.0  # up to where phi keeps all digits of float64
_DIGITS, _BITS = 75, 250  # some 40 digits, or 130 bits, are lost where 1/2 is taken off


def density(x: Array) -> Array:
    """phi(x)."""
    return np.asarray(np.exp(-(x * x) / 2) / ROOT)


def distribution(x: Array) -> Array:
    """Phi(x).

    Below 0 a value of a table, correctly rounded, and the integral of phi from there on, all positive: 10 nodes on at
    most 1/8. On the ellipse rho = 16 about such a piece phi is at most e^8 times its least value there, so they err by
    a relative (32/15) e^8 16^-20 < 1e-20. Below -13 the asymptotic series, whose error is below its first term left
    out, 31!! / 13^32 < 1e-18. Exponents up to 722 err by some roundings, 3 x^2 / 2^53 < 5e-13.
    """
    y = np.maximum(-np.abs(x), -38.5)  # beyond, Phi is below the range of float64, or 1
    tail = np.empty(y.shape)
    far = y < -_EDGE
    tail[far] = density(y[far]) / -y[far] * _series(y[far])
    z = y[~far]
    steps = np.floor(z * _STEPS)
    start = steps / _STEPS
    nodes, weights = unit_nodes(_NODES)
    # Without linear algebra, whose threads wait for each other on busy cores.
    rest = (weights[:, None] * density(start + nodes[:, None] * (z - start))).sum(axis=0)
    tail[~far] = _table()[(-steps).astype(np.intp)] + (z - start) * rest
    return np.where(x > 0, 1 - tail, tail)


def _series(z: Array) -> Array:
    """-z Phi(z) / phi(z) below -13."""
    series = np.ones(z.shape)
    if not z.size:
        return series
    for k in range(_TERMS - 1, 0, -1):
        series = 1 - (2 * k - 1) / (z * z) * series
    return series


def log_distribution(x: Array) -> Array:
    """ln Phi(x); errors are within `log_rounding`."""
    tail = distribution(-np.fmin(np.abs(x), _FAR))
    found = np.where(x > 0, np.log1p(-tail), np.log(tail))
    far = ~(x >= -_FAR)  # or NaN
    z = x[far]
    with np.errstate(over="ignore"):
        found[far] = -z * z / 2 - np.log(-z * ROOT) + np.log(_series(z))
    return found


def rounding(x: Array) -> Array:
    """The largest relative error of `distribution` at -|x| >= -37: by exponents, the table, and sums of 10."""
    return 2.0**-53 * (3 * x * x + 32)


def log_rounding(x: Array, log: Array) -> Array:
    """The largest error of `log_distribution`, whose value at ``x`` is ``log``.

    That of a logarithm and its terms; between -37 and 37 that of Phi(-|x|) relative to itself; above, where the value
    is that at 37, the value itself.
    """
    relative = np.where(np.abs(x) <= _FAR, rounding(x), x > _FAR)
    return np.asarray(2.0**-50 * np.abs(log) + relative * np.where(x > 0, np.abs(log), 1.0))


@lru_cache(maxsize=1)
def _table() -> Array:
    """Phi(-j / 8) for j = 0, ..., 104: 1/2 - phi(x) sum over k of x^(2k+1) / (2k+1)!!."""
    found = []
    with localcontext(context(_DIGITS)):
        for j in range(_EDGE * _STEPS + 1):
            total = term = (j << _BITS) // _STEPS  # up to 400 terms, each cut off, err by a relative 2^-240
            k = 1
            while term:
                term = term * j * j // (_STEPS * _STEPS * (2 * k + 1))
                total += term
                k += 1
            x = Decimal(j) / _STEPS
            found.append(float(Decimal("0.5") - (-x * x / 2).exp() / _ROOT * total / 2**_BITS))
    return np.array(found)

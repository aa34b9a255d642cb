"""How likely counts of independent votes are: multinomials, to an ulp or so for each class."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time
from darrm.problem.counts import Counts

_BITS = 128  # of running products
_LEAST = 5000  # no float64 has so small an exponent, nor so large a one
_AT_ONCE = 1 << 14  # factors between two looks at the time


def multinomial(counts: Counts, votes: Array) -> Array:
    """Pr[counts] of independent votes that fall on the classes with the probabilities in each row of ``votes``.

        K! / (n_0! ... n_(C-1)!)  p_0^n_0 ... p_(C-1)^n_(C-1)

    Parameters
    ----------
    counts : ndarray of int, shape (m, C)
        Every row has the same sum, K.
    votes : ndarray, shape (T, C)

    Returns
    -------
    ndarray, shape (T, m)

    Notes
    -----
    Powers and factorials are running products of 128 bits with an exponent of their own, each rounded once to 53 bits:
    the relative error is about C ulp, whatever K. Numbers below the range of float64 are 0 or subnormal. O(K) for each
    different probability and O(T m C).
    """
    total = int(counts[0].sum())
    most = int(counts.max())
    factorials, orders = _factorials(total)
    below = np.prod(factorials[counts], axis=1)
    orders_below = orders[counts].sum(axis=1)
    different, which = np.unique(votes, return_inverse=True)
    values, exponents = (np.stack(part) for part in zip(*(_powers(p, most) for p in different.tolist()), strict=True))
    made = np.empty((len(votes), len(counts)))
    for truth, row in enumerate(which.reshape(votes.shape)):
        above = factorials[total] * np.prod(values[row, counts], axis=1)
        order = orders[total] + exponents[row, counts].sum(axis=1) - orders_below
        made[truth] = np.ldexp(above / below, np.clip(order, -_LEAST, _LEAST).astype(np.intc))
    return made


@lru_cache(maxsize=4)
def _factorials(total: int) -> tuple[Array, NDArray[np.int64]]:
    """0!, ..., total! as mantissas and exponents of 2."""
    return _running(range(1, total + 1), 0)


@lru_cache(maxsize=8)  # a plan asks for the same few again and again, and those of a million voters take seconds
def _powers(p: float, most: int) -> tuple[Array, NDArray[np.int64]]:
    """p^0, ..., p^most as mantissas and exponents of 2."""
    numerator, denominator = p.as_integer_ratio()
    return _running((numerator for _ in range(most)), 1 - denominator.bit_length())


def _running(factors: Iterable[int], order: int) -> tuple[Array, NDArray[np.int64]]:
    """The products 1, f_1, f_1 f_2, ... of factors f 2^order, as mantissas in [1/2, 1) (or 0) and exponents of 2."""
    mantissas, exponents = zip(*_products(factors, order), strict=True)
    return np.array(mantissas), np.array(exponents, dtype=np.int64)


def _products(factors: Iterable[int], order: int) -> Iterator[tuple[float, int]]:
    product, exponent = 1, 0
    yield 0.5, 1
    for done, factor in enumerate(factors):
        if not done % _AT_ONCE:
            check_time()
        product *= factor
        exponent += order
        excess = product.bit_length() - _BITS
        if excess > 0:
            product >>= excess
            exponent += excess
        mantissa, own = math.frexp(product)
        yield mantissa, own + exponent

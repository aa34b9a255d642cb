"""Smoothed acceptance tables: the probability of releasing 1 when some voters sit at given corners.

The certificate is computed from these alone. They start from the noise function itself and share nothing
with the rows that the linear program was built from: no corner list, no distribution of L.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal, localcontext
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.errors import InputError
from darrm.problem import MajorityProblem

Array = NDArray[np.float64]
_DIGITS = 60


class Weights(NamedTuple):
    """hi, lo and hi - lo of an (epsilon, Delta)-DP bit, each the float64 nearest to its exact value.

    hi = (1 + Delta s) / (1 + s), lo = (1 - Delta) s / (1 + s) = 1 - hi, s = e^-epsilon.
    """

    hi: float
    lo: float
    gap: float


@contextmanager
def decimals(scale: Decimal) -> Iterator[None]:
    """Decimal arithmetic that keeps 60 digits of e^scale - 1 even where ``scale`` is tiny."""
    with localcontext() as context:
        context.prec = _DIGITS + (max(0, -scale.adjusted()) if scale else 0)
        yield


def weights(problem: MajorityProblem) -> Weights:
    """The corner weights of the problem, from decimal arithmetic (whose exp is correctly rounded)."""
    epsilon, Delta = Decimal(problem.epsilon), Decimal(problem.Delta)
    with decimals(epsilon):
        s = (-epsilon).exp()
        return Weights(
            hi=float((1 + Delta * s) / (1 + s)),
            lo=float((1 - Delta) * s / (1 + s)),
            gap=float((1 - s + 2 * Delta * s) / (1 + s)),
        )


def total_epsilon(problem: MajorityProblem) -> Decimal:
    """m epsilon to 120 digits: the product of the two float64 numbers, exact but for the tiniest of them."""
    with localcontext() as context:
        context.prec = 2 * _DIGITS
        return Decimal(problem.m) * Decimal(problem.epsilon)


def noise_function(gamma: ArrayLike, K: int) -> Array:
    """``gamma`` as a float64 array of shape (K + 1,), refused unless it is a noise function.

    In [0, 1] and symmetric, gamma[l] == gamma[K - l], to the last bit: every guarantee relies on it.
    """
    try:
        table = np.array(gamma, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"gamma must be an array of K + 1 = {K + 1} numbers in [0, 1]. Got {gamma!r}.") from None
    if table.shape != (K + 1,):
        raise InputError(
            f"gamma must have shape (K + 1,) = ({K + 1},). Got {table.shape}. Pass gamma(0), ..., gamma(K)."
        )
    outside = ~((table >= 0) & (table <= 1))
    if outside.any():
        l = int(np.argmax(outside))
        raise InputError(f"gamma must be in [0, 1]. Got gamma({l}) = {float(table[l])!r}.")
    odd = table != table[::-1]
    if odd.any():
        l = int(np.argmax(odd))
        raise InputError(
            f"gamma must be symmetric, gamma(l) = gamma(K - l). Got gamma({l}) = {float(table[l])!r} and "
            f"gamma({K - l}) = {float(table[K - l])!r}. Average the two, then verify."
        )
    return table + 0.0


def acceptance(gamma: Array) -> Array:
    """X(l) = Pr[release 1 | L = l] = (1 + sign(l - K/2) gamma(l)) / 2; relative error at most u."""
    K = len(gamma) - 1
    side = np.sign(2 * np.arange(K + 1) - K)
    return (1 + side * gamma) / 2


class SmoothLevel(NamedTuple):
    """Tables for n = a + b voters at (hi,lo) and (lo,hi), row b = 0..n, column c = 0..K-n ones elsewhere.

    Attributes
    ----------
    n : int
    first : ndarray, shape (n + 1, K - n + 1)
        E X(c + Bin(a,hi) + Bin(b,lo)) with a = n - b: the side of p. The side of p' is ``first[::-1]``.
    difference : ndarray, same shape
        first - first[::-1], carried by its own recurrence.
    """

    n: int
    first: Array
    difference: Array


def levels(X: Array, w: Weights, changed: int) -> Iterator[SmoothLevel]:
    """The tables for n = 0, 1, ..., ``changed``, two levels in memory at a time; O(K^2) work each.

    With V = first, V' = first[::-1] and W = V - V', one more voter at (hi,lo) gives

        V(c) <- lo V(c) + hi V(c+1)
        W(c) <- lo W(c) + hi W(c+1) + (hi - lo) (V'(c+1) - V'(c)),

    and the row for b = n + 1, a = 0 is the mirror image. W keeps the digits that V - V' would lose when
    epsilon is small.
    """
    V, W = X[None, :], np.zeros((1, len(X)))
    yield SmoothLevel(0, V, W)
    for n in range(1, changed + 1):
        mirrored = V[::-1]
        last = w.hi * V[-1:, :-1] + w.lo * V[-1:, 1:]
        W = w.lo * W[:, :-1] + w.hi * W[:, 1:] + w.gap * (mirrored[:, 1:] - mirrored[:, :-1])
        W = np.vstack([W, -W[:1]])
        V = np.vstack([w.lo * V[:, :-1] + w.hi * V[:, 1:], last])
        yield SmoothLevel(n, V, W)


class Nudged(NamedTuple):
    """The tables of one level with some of its N = K - n still voters moved to corners of Delta.

    ``value[i, j, b, z]`` is E V(z + Bin(i, Delta) - Bin(j, Delta)): of z voters at 1 and N - z at 0, i are
    moved up from 0 and j down from 1. ``change`` is the same less V(z), by its own recurrence. Entries with
    i > N - z or j > z are not a number.
    """

    value: Array
    change: Array


def nudge(V: Array, Delta: float, most: int) -> Nudged:
    """All nudged tables of one level for i, j <= min(most, N); O(n N most^2) numbers and work.

    value(z) <- (1 - Delta) value(z) + Delta value(z +- 1)
    change(z) <- change(z) + Delta (value(z +- 1) - value(z))
    """
    size = min(most, V.shape[1] - 1) + 1
    keep = 1 - Delta
    value = np.full((size, size, *V.shape), np.nan)
    change = np.full_like(value, np.nan)
    value[0, 0], change[0, 0] = V, 0.0
    for i in range(size):
        if i:
            here, up = value[i - 1, 0, :, :-1], value[i - 1, 0, :, 1:]
            value[i, 0, :, :-1] = keep * here + Delta * up
            change[i, 0, :, :-1] = change[i - 1, 0, :, :-1] + Delta * (up - here)
        for j in range(1, size):
            here, down = value[i, j - 1, :, 1:], value[i, j - 1, :, :-1]
            value[i, j, :, 1:] = keep * here + Delta * down
            change[i, j, :, 1:] = change[i, j - 1, :, 1:] + Delta * (down - here)
    return Nudged(value, change)

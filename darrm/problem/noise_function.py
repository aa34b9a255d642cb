"""Noise functions gamma, and the probability of releasing 1 that they give."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.errors import InputError

Array = NDArray[np.float64]


def noise_function(gamma: ArrayLike, K: int) -> Array:
    """``gamma`` as a float64 array of shape (K + 1,), refused unless it is a noise function.

    In [0, 1] and symmetric, gamma[l] == gamma[K - l], to the last bit: every guarantee relies on it.
    """
    if hasattr(gamma, "gamma"):
        raise InputError("gamma must be an array of K + 1 numbers. Got a design: pass design.gamma, design.problem.")
    try:
        if np.iscomplexobj(gamma):
            raise TypeError
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

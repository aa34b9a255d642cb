"""Noise functions gamma, and the resulting probability of releasing 1."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array
from darrm.errors import InputError
from darrm.numerics.arrays import Array

Given: TypeAlias = ArrayLike | Callable[[int], float]  # a table as a user passes it; a gamma may be a function
_ULPS = 8 * 2.0**-53  # largest difference of gamma(l) and gamma(K - l) by the rounding of a formula
_ROUNDED = 1e-6  # largest difference of two equal numbers after rounding in print or in a solver


def noise_function(gamma: Given, K: int | None = None) -> Array:
    """``gamma`` as a float64 array of shape (K + 1,), any K >= 1 if None, refused unless it is a noise function.

    In [0, 1] and symmetric, gamma[l] == gamma[K - l], to the last bit: every guarantee relies on it. If K is given, it
    may be a function of l = 0, ..., K, whose values may differ by rounding.
    """
    if hasattr(gamma, "gamma"):
        raise InputError("gamma must be an array of K + 1 numbers. Got a design: pass design.gamma, design.problem.")
    values: Any = [gamma(l) for l in range(K + 1)] if callable(gamma) and K is not None else gamma
    if K and type(values) is np.ndarray and values.dtype == np.float64 and values.shape == (K + 1,):
        each = values.tolist()
        if min(each) >= 0 and max(each) <= 1 and (values == values[::-1]).all():  # the last not if one is NaN
            return np.asarray(values + 0.0)  # the usual case, in a fraction of the time; what fails is named below
    size: str | int = "K + 1" if K is None else K + 1
    hint = "Pass gamma(0), ..., gamma(K)."
    shape = (len(values),) if isinstance(values, list | tuple) else getattr(values, "shape", None)
    if K is not None and shape in {((K + 1) // 2,), (K // 2 + 1,)}:
        hint += f" The second half mirrors the first: gamma(l) = gamma({K} - l)."
        if isinstance(values, np.ndarray):
            hint += " From a solution x of darrm.linear_program, program.gamma(x) makes them."
    table = array("gamma", values, (size,), 0, 1, "[]", hint=hint)
    K = table.size - 1
    if not K:
        raise InputError("gamma must have shape (K + 1,), K >= 1. Got one number. Pass gamma(0), ..., gamma(K).")
    apart = abs(table - table[::-1])
    if callable(gamma) and 0 < apart.max() <= _ULPS:  # the table is made here, so it may be the even one
        return (table + table[::-1]) / 2
    if apart.any():
        l = int(np.argmax(apart))
        hint = (
            "Average the two: (gamma + gamma[::-1]) / 2."
            if apart[l] < _ROUNDED
            else "If these are probabilities of the label 1, they are the table of a decision: verify them with "
            "darrm.DecisionProblem([darrm.VoterGroup(K, epsilon, Delta)], m * epsilon, delta, max_affected=...)."
        )
        raise InputError(
            f"gamma must be symmetric, gamma(l) = gamma(K - l). Got gamma({l}) = {float(table[l])!r} and "
            f"gamma({K - l}) = {float(table[K - l])!r}. {hint}"
        )
    return table + 0.0


def acceptance(gamma: Array) -> Array:
    """X(l) = Pr[release 1 | L = l] = (1 + sign(l - K/2) gamma(l)) / 2; relative error at most u."""
    K = len(gamma) - 1
    side = sides(K)
    return (1 + side * gamma) / 2


@lru_cache(maxsize=16)
def sides(K: int) -> Array:
    """sign(l - K/2) for l = 0, ..., K; read-only."""
    signs = np.sign(2.0 * np.arange(K + 1) - K)
    signs.flags.writeable = False
    return np.asarray(signs)

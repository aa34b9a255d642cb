"""Smoothed acceptance tables: the probability of releasing 1 when some voters sit at given corners.

The certificate is computed from these alone. They start from the noise function itself and share nothing
with the rows of the linear program: no corner list, no distribution of L.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.errors import InputError
from darrm.problem.majority import Limit, Promise

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
def decimals(scale: Decimal, digits: int = _DIGITS) -> Iterator[None]:
    """Decimal arithmetic that keeps 60 digits, or more, of e^scale - 1 even where ``scale`` is tiny."""
    with localcontext(_context(max(digits, _DIGITS) + (max(0, -scale.adjusted()) if scale else 0))):
        yield


def _context(digits: int) -> Context:
    """A context of our own: the caller's may have another rounding, range or traps, which would move guarantees."""
    return Context(
        prec=digits,
        rounding=ROUND_HALF_EVEN,
        Emin=MIN_EMIN,
        Emax=MAX_EMAX,
        clamp=0,
        traps=[InvalidOperation, DivisionByZero, Overflow],
    )


@lru_cache(maxsize=16)
def weights(epsilon: float, Delta: float) -> Weights:
    """The corner weights, from decimal arithmetic (whose exp is correctly rounded)."""
    exact_epsilon, exact_Delta = Decimal(epsilon), Decimal(Delta)
    with decimals(exact_epsilon):
        s = (-exact_epsilon).exp()
        return Weights(
            hi=float((1 + exact_Delta * s) / (1 + s)),
            lo=float((1 - exact_Delta) * s / (1 + s)),
            gap=float((1 - s + 2 * exact_Delta * s) / (1 + s)),
        )


@lru_cache(maxsize=16)
def exponentials(epsilon: Decimal) -> tuple[float, float]:
    """e^-epsilon and e^epsilon - 1, the float64 nearest to each."""
    with decimals(epsilon):
        return float((-epsilon).exp()), float(epsilon.exp() - 1)


@lru_cache(maxsize=128)
def total_epsilon(problem: Promise) -> Decimal:
    """The promised epsilon: m epsilon to 120 digits, exact for all float64 numbers but the tiniest."""
    if isinstance(problem, Limit):
        return problem.promised
    with localcontext(_context(2 * _DIGITS)):
        return Decimal(problem.m) * Decimal(problem.epsilon)


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


class SmoothLevel(NamedTuple):
    """Tables for n = a + b voters at (hi,lo) and (lo,hi): one row for each b that matters, column c = 0..K-n.

    Attributes
    ----------
    n : int
    b : ndarray of int, shape (rows,)
        The numbers of voters at (lo,hi); a = n - b. Those left out are dominated (see `levels`).
    first : ndarray, shape (rows, K - n + 1)
        V_ab(c) = E X(c + Bin(a,hi) + Bin(b,lo)): the side of p.
    second : ndarray, same shape
        V_ba(c): the side of p'.
    difference : ndarray, same shape
        first - second, carried by its own recurrence.
    rises : ndarray of bool, shape (rows,)
        V_ab is proved nondecreasing in c.
    """

    n: int
    b: NDArray[np.int64]
    first: Array
    second: Array
    difference: Array
    rises: NDArray[np.bool_]


def levels(gamma: Array, w: Weights, changed: int, most_b: int | None = None) -> Iterator[SmoothLevel]:
    """The tables for n = 0, 1, ..., ``changed``, b up to ``most_b``; O(K^2) memory, O(rows (K - n)) work each.

    With V = V_ab, M = V_ba and W = V - M, one more voter at (hi,lo) gives

        V(c) <- lo V(c) + hi V(c+1),   M(c) <- hi M(c) + lo M(c+1),
        W(c) <- lo W(c) + hi W(c+1) + (hi - lo) (M(c+1) - M(c)),

    one more at (lo,hi) the same with hi and lo exchanged. W keeps the digits that V - M would lose when epsilon
    is small.

    If V_ab is nondecreasing, every multiset with (a, b+1) costs at most as much as one with (a+1, b), and so it is
    for all further voters: row (a, b+1) is left out (docs/theory.md, "Dominance"). Whether V_ab rises is decided by
    its differences, averaged on their own next to their absolute values: a sign counts only beyond the rounding.
    """
    K = gamma.size - 1
    side = np.sign(2 * np.arange(K + 1) - K)
    V = acceptance(gamma)[None]
    M, W = V, np.zeros_like(V)
    steps = np.diff(side * gamma)[None]
    sizes = np.abs(steps)
    margin = 1.01 * 2.0**-53 * (3 * changed + 20)
    b, rises = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.bool_)
    for n in range(changed + 1):
        if n:
            down = np.flatnonzero(~rises if most_b is None else ~rises & (b < most_b))
            gain = w.gap * (M[:, 1:] - M[:, :-1])
            V, M, W = (_one_more(V, w.lo, w.hi, down), _one_more(M, w.hi, w.lo, down), _one_more(W, w.lo, w.hi, down))
            W[:1] += gain[:1]
            W[1:] -= gain[down]
            steps, sizes = _one_more(steps, w.lo, w.hi, down), _one_more(sizes, w.lo, w.hi, down)
            b = np.concatenate([b[:1], b[down] + 1])
        rises = np.all(steps >= margin * sizes, axis=1)
        yield SmoothLevel(n, b, V, M, W, rises)


def _one_more(table: Array, here: float, above: float, down: NDArray[np.int64]) -> Array:
    """One more voter: at (hi,lo) for the first row, which keeps its place, at (lo,hi) for the rows ``down``."""
    low, high = table[:, :-1], table[:, 1:]
    return np.concatenate([here * low[:1] + above * high[:1], above * low[down] + here * high[down]])

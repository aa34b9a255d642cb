"""Chances of all labels of noisy max and permute-and-flip, each with a proved relative error.

Sums of positive terms only. Noisy max, with f and H the probabilities of the noise and their sums, s the largest noisy
count, a coin u for ties:

    Pr[j | counts n] = sum over s of f(s - n_j) integral over u in [0, 1] of prod over i != j of
                           (H(s - 1 - n_i) + u f(s - n_i))

Permute-and-flip, with p_j = e^((epsilon / 2) (n_j - max n)):

    Pr[j | counts n] = p_j integral over u in [0, 1] of prod over i != j of (1 - u p_i)

Both integrands are polynomials in u of degree classes - 1 at most, for which Gauss-Legendre quadrature is exact.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError
from darrm.mechanisms.integer_noise import WIDEST, GaussianLaw, IntegerNoise, LaplaceLaw
from darrm.numerics.arrays import Array
from darrm.numerics.exact import context

Votes = NDArray[np.int64]
_U = 2.0**-53
_FAR = 60.0  # nats: Laplace noise of a chance below e^-60 is cut off
_SMALLEST = 1e-290  # underflow takes less than this from any sum
_ENTRIES = 2**22
_TERMS = 10**10
_DIGITS = 50


class Chances(NamedTuple):
    """Pr[label | counts], shape (n, classes), from above and below.

    (1 - rho) values <= Pr <= (1 + rho) values + what is cut off, which is at most ``cut`` for all labels together.
    """

    values: Array
    rho: float
    cut: float


def of_noise(noise: DiscreteNoise, counts: Votes) -> Chances:
    """Of noisy max with this noise, ties decided by fair coins.

    Left out is what happens if any noise is beyond ``reach``.
    """
    classes, (reach, tail, each, law) = counts.shape[1], noise
    # Gaps wider than all noise together are as good as any of that width.
    gaps = np.minimum(counts.max(axis=1, keepdims=True) - counts, 2 * reach + 2)
    nodes, weights = unit_nodes((classes + 1) // 2)
    steps = 2 * reach + 1
    if float(len(counts)) * classes * nodes.size * steps > _TERMS:
        raise InputError(
            f"The chances of labels for {len(counts)} vectors of counts and noise as wide are sums of more than "
            f"{_TERMS:.0e} terms. Take less noise (a larger gamma, a smaller sigma), or fewer votes or classes."
        )
    t = np.arange(-reach, 3 * reach + 3)  # noise of a class, if the largest noisy count is within reach
    mass = np.exp(law.log_mass(t))
    factor = np.exp(law.log_at_most(t - 1))[:, None] + mass[:, None] * nodes
    own = np.where(t <= reach, mass, 0.0)
    values = np.zeros(counts.shape)
    wide = max(1, min(steps, _ENTRIES // (classes * nodes.size)))
    high = max(1, _ENTRIES // (classes * nodes.size * wide))
    for row in range(0, len(counts), high):
        here = gaps[row : row + high, :, None]
        for first in range(0, steps, wide):
            at = np.arange(first, min(first + wide, steps)) + here
            values[row : row + high] += _without_each(own, factor, at, weights)
    # The words of 63 bits that decide ties are equal with a chance of 2^-63.
    rho = (classes + 1) * (each + 8 * _U) + 2.0**-63 * classes**2 + (steps + 16 * classes) * _U
    return Chances(values, rho, 2 * classes * tail + _SMALLEST)


class DiscreteNoise(NamedTuple):
    """A law on the integers; Pr[Z > reach] <= tail, and f and H are right to a relative ``each`` within."""

    reach: int
    tail: float
    each: float
    law: IntegerNoise


def laplace_noise(gamma: float) -> DiscreteNoise:
    """Pr[Z > reach] < e^(-gamma reach); exponents up to 745 err by three units of rounding each."""
    law = LaplaceLaw(gamma)
    if gamma * WIDEST < 1:
        raise InputError(f"gamma must be at least {1 / WIDEST:g} for the chances of all labels. Got {gamma!r}.")
    return DiscreteNoise(math.ceil(_FAR / gamma) + 2, math.exp(-_FAR), 1e-12, law)


def gaussian_noise(sigma: float) -> DiscreteNoise:
    """Pr[Z > reach] < e^-50, see `GaussianLaw`."""
    law = GaussianLaw(sigma)
    return DiscreteNoise(law.reach, math.exp(-50), law.rounding, law)


def _without_each(own: Array, factor: Array, at: NDArray[np.intp], weights: Array) -> Array:
    """For each row and class j: the sum over s of own[j] times the integral of the factors of all others."""
    rows, classes, _ = at.shape
    after = [np.ones((rows, at.shape[2], weights.size))]
    for j in range(classes - 1, 0, -1):
        after.append(after[-1] * factor[at[:, j]])
    before = np.ones(after[0].shape)
    found = np.empty((rows, classes))
    for j in range(classes):
        rest = before * after[classes - 1 - j]
        found[:, j] = ((rest @ weights) * own[at[:, j]]).sum(axis=1)
        before = before * factor[at[:, j]]
    return found


def of_flips(epsilon: float, counts: Votes) -> Chances:
    """Of permute-and-flip."""
    classes = counts.shape[1]
    nodes, weights = unit_nodes((classes + 1) // 2)
    gaps = (counts.max(axis=1, keepdims=True) - counts).astype(np.float64)
    x = np.minimum(gaps * (epsilon / 2), 745.0)
    p, rest = np.exp(-x), -np.expm1(-x)
    # 1 - u p = (1 - u) + u (1 - p), and the nodes are symmetric.
    factor = nodes[::-1] + nodes * rest[:, :, None]
    values = np.empty(counts.shape)
    some = max(1, _ENTRIES // (classes * nodes.size))
    for row in range(0, len(counts), some):
        here = factor[row : row + some]
        after = [np.ones((len(here), nodes.size))]
        for j in range(classes - 1, 0, -1):
            after.append(after[-1] * here[:, j])
        before = np.ones(after[0].shape)
        for j in range(classes):
            values[row : row + some, j] = (before * after[classes - 1 - j]) @ weights
            before = before * here[:, j]
    # Exponents up to 745 err by three units of rounding each.
    return Chances(values * p, 4e-13 + 16 * classes * _U, _SMALLEST)


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

"""Probabilities of all labels of noisy max and permute-and-flip, each with a proved relative error.

Let g and G be the density and the distribution function of the noise, in units of its scale, and a_j >= 0 the distance
of class j from the class with most votes:

    Pr[j] = integral of g(t + a_j) prod over i != j of G(t + a_i) dt

Sums of positive terms only, over points and weights that do for all rows and labels.

    Gaussian noise.  A sum over t = ..., -h, 0, h, 2 h, ... On the line of imaginary part y the integrand f has
    |f(t + i y)| <= f(t) e^(classes y^2 / 2): |phi(t + i y)| = phi(t) e^(y^2 / 2), and Phi is its integral. A sum of
    step h then errs by at most 2 e^(classes y^2 / 2) / (e^(2 pi y / h) - 1) of the integral (Trefethen, Weideman, SIAM
    Review 2014, Theorem 5.1). With y = 2 pi / (classes h) and classes h^2 = pi^2 / 20 that is 2.01 e^-40.
    Laplace noise.  For t >= 0 the integrand is a polynomial in e^-t, times e^-t dt, and Gauss-Legendre quadrature is
    exact. Between two of the -a_j it is analytic, and its continuations are: with z at most d from t, the factors e^z
    and 1 - e^-z / 2 >= 1/2 change by a factor of at most e^d. So n nodes on a length of D, on the ellipse rho, err by
    at most (32/15) rho^-2n / (1 - rho^-2) e^(classes D / 2 (1 + (rho + 1 / rho) / 2)) of the integral. Below all -a_j
    all factors are e^t: one point, weight 1 / classes.
    Exponential noise (permute-and-flip).  G = 0 for t < 0, and the rest is as for Laplace noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError
from darrm.numerics import normal
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time
from darrm.numerics.nodes import unit_nodes

_U = 2.0**-53
_EACH = 1e-12  # relative error of g and G, whose exponents err by some roundings of at most 800
_SMALLEST = 1e-290  # underflow takes less than this from any sum
_ENTRIES = 2**22
_TERMS = 10**10
_QUADRATURE = 38.0  # nats, as all quadratures err by less than e^-38
_REACH = 12.5  # of Gaussian noise; Phi(-12.5) < e^-81
_FAR = 60.0  # of Laplace noise
_OUT = 800.0  # e^-a is 0 in float64
_LONGEST = 10.0  # classes times a length on which Gauss-Legendre quadrature needs no more than 16 nodes


class Chances(NamedTuple):
    """Bounds on Pr[label | counts], shape (n, classes).

    (1 - rho) values <= Pr <= (1 + rho) values + what is cut off, which is at most ``cut`` for all labels together.
    """

    values: Array
    rho: float
    cut: float


class Noise(NamedTuple):
    """A law of noise in units of its scale, and how to integrate.

    Attributes
    ----------
    density, distribution : callable
        g and G.
    rule : callable
        From the values of a_j, which rise from 0 on, and the number of classes to points and weights.
    reach : float
        A class this far behind counts as never winning.
    cut : float
        The probability of that, and of the omitted points, for all labels together and for each class.
    of_two : callable
        The probability of the class behind of two, from its a_j.
    """

    density: Callable[[Array], Array]
    distribution: Callable[[Array], Array]
    rule: Callable[[Array, int], tuple[Array, Array]]
    reach: float
    cut: float
    of_two: Callable[[Array], Array]


def of_noise(noise: Noise, rate: float, counts: NDArray[np.int64] | Array) -> Chances:
    """Of the largest of counts + noise / rate in each row."""
    classes = counts.shape[1]
    with np.errstate(over="ignore"):
        behind = np.minimum(rate * (counts.max(axis=1, keepdims=True) - counts), _OUT)
    if classes == 2:
        lost = noise.of_two(behind)
        return Chances(np.where(behind > 0, lost, 1 - lost[:, ::-1]), 2 * _EACH, _SMALLEST)
    gaps, where = np.unique(np.append(np.minimum(behind, noise.reach), 0.0), return_inverse=True)
    at = where[:-1].reshape(counts.shape)
    points, weights = noise.rule(gaps, classes)
    if float(counts.size) * points.size > _TERMS:
        raise InputError(
            f"The probabilities of labels for {len(counts)} vectors of counts are sums of more than {_TERMS:.0e} "
            "terms. Take "
            "fewer vectors of counts, votes or classes."
        )
    values = np.zeros(counts.shape)
    wide = max(1, min(points.size, _ENTRIES // max(gaps.size, classes)))
    high = max(1, _ENTRIES // (classes * wide))
    for first in range(0, points.size, wide):
        z = gaps[:, None] + points[first : first + wide]
        # Classes out of reach do not win, and what they do is cut off.
        own = np.where(gaps < noise.reach, 1.0, 0.0)[:, None] * noise.density(z) * weights[first : first + wide]
        factor = noise.distribution(z)
        for row in range(0, len(counts), high):
            check_time()
            values[row : row + high] += _without_each(own, factor, at[row : row + high])
    rho = (classes + 1) * (_EACH + 8 * _U) + 3 * math.exp(-_QUADRATURE) + (points.size + 16 * classes) * _U
    return Chances(values, rho, classes * noise.cut + _SMALLEST)


def _without_each(own: Array, factor: Array, at: NDArray[np.intp]) -> Array:
    """For each row and class j: the sum over all points of own[j] times the factors of all others."""
    rows, classes = at.shape
    after = [np.ones((rows, own.shape[1]))]
    for j in range(classes - 1, 0, -1):
        after.append(after[-1] * factor[at[:, j]])
    before = np.ones(after[0].shape)
    found = np.empty((rows, classes))
    for j in range(classes):
        found[:, j] = (before * after[classes - 1 - j] * own[at[:, j]]).sum(axis=1)
        before = before * factor[at[:, j]]
    return found


def _of_grid(gaps: Array, classes: int) -> tuple[Array, Array]:
    """Gaussian noise.

    Left out is t beyond _REACH: above, the sum of phi(t + a_j) is at most Phi(-_REACH) for each class. Below, so is
    that of the class of most votes; all others have the factor Phi(t) of that class, and the sum of phi is below 1.2.
    And classes 2 _REACH behind win with a probability far below that.
    """
    step = math.pi / math.sqrt(20 * classes)
    most = math.ceil(_REACH / step)
    points = np.asarray(step * np.arange(-most, most + 1))
    return points, np.full(points.size, step)


def _above(classes: int) -> tuple[Array, Array]:
    """t >= 0, for a polynomial in u = e^-t of degree classes - 1: t = -ln u."""
    u, weights = unit_nodes((classes + 1) // 2)
    points = np.where(u < 0.5, -np.log(u), -np.log1p(-u[::-1]))  # nodes from the other end are 1 - u
    return points, weights / u


def _of_pieces(gaps: Array, classes: int) -> tuple[Array, Array]:
    """Laplace noise.

    Left out are classes _FAR behind, each of which wins with a probability of at most (2 + _FAR) e^-_FAR / 4, and what
    is below -_FAR if there are any.
    """
    ends = -gaps[::-1]
    longest = min(float(np.diff(ends).max(initial=0.0)), _LONGEST / classes)
    u, weights = unit_nodes(_nodes(max(classes * longest / 2, 1e-3)))
    parts = [_above(classes), (ends[:1], np.array([1 / classes]))]
    for low, high in pairwise(ends.tolist()):
        pieces = max(1, math.ceil((high - low) / longest))
        length = (high - low) / pieces
        starts = low + length * np.arange(pieces)
        parts.append(((starts[:, None] + length * u).ravel(), np.tile(length * weights, pieces)))
    points, all_weights = zip(*parts, strict=True)
    return np.concatenate(points), np.concatenate(all_weights)


def _nodes(x: float) -> int:
    """How many nodes err by less than e^-38 on pieces of classes * length / 2 = x."""
    n = 2
    while True:
        rho = max(2.0, 4 * n / x)
        if 1.1 + x * (1 + (rho + 1 / rho) / 2) - 2 * n * math.log(rho) < -_QUADRATURE:
            return n
        n += 1


def _gaussian_of_two(a: Array) -> Array:
    return normal.distribution(-a / math.sqrt(2))


def _laplace(z: Array) -> Array:
    return np.asarray(np.exp(-np.abs(z)) / 2)


def _laplace_below(z: Array) -> Array:
    tail = _laplace(z)
    return np.where(z < 0, tail, 1 - tail)


def _laplace_of_two(a: Array) -> Array:
    return np.asarray((2 + a) * np.exp(-a) / 4)


def _exponential(z: Array) -> Array:
    return np.asarray(np.exp(-z))


def _exponential_below(z: Array) -> Array:
    return np.asarray(-np.expm1(-z))


def _exponential_of_two(a: Array) -> Array:
    return np.asarray(np.exp(-a) / 2)


GAUSSIAN = Noise(normal.density, normal.distribution, _of_grid, 2 * _REACH, 3 * math.exp(-81), _gaussian_of_two)
LAPLACE = Noise(_laplace, _laplace_below, _of_pieces, _FAR, (3 + _FAR) * math.exp(-_FAR), _laplace_of_two)
EXPONENTIAL = Noise(
    _exponential, _exponential_below, lambda _, classes: _above(classes), _OUT, 0.0, _exponential_of_two
)

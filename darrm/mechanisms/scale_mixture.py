"""The law of a noisy weighted sum of labels whose weights are secret: normal with a random scale.

    o = sum of w_i (y_i + sigma g_i [i in S])  given the noise g is N(0, R^2),
    R^2 = outside + sigma^2 chi'^2(q, inside / sigma^2),   outside = sum outside S of y_i^2,  inside = sum in S of y_i^2

with the noncentral chi-squared of q = |S| degrees of freedom: docs/aggregates.md, Lemma 7.
"""

from __future__ import annotations

import math

import numpy as np

from darrm.numerics.arrays import Array

_NODES, _PANELS = 12, 160
_REACH = 40.0  # standard deviations of the noncentral chi variable, which is 1 at most


def panels(edges: Array, nodes: int = _NODES) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on consecutive panels."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()


def scales(outside: float, inside: float, q: int, sigma: float) -> tuple[Array, Array]:
    """Values of R and their probabilities, by quadrature."""
    from scipy.stats import chi2, ncx2

    noncentral = inside / sigma**2
    centre = math.sqrt(q + noncentral)
    r, w = panels(np.linspace(max(0.0, centre - _REACH), centre + _REACH, _PANELS + 1))
    log_pdf = ncx2.logpdf(r**2, q, noncentral) if noncentral > 0 else chi2.logpdf(r**2, q)
    return np.sqrt(outside + sigma**2 * r**2), w * 2 * r * np.exp(log_pdf)


def log_density(o: float, outside: float, inside: float, q: int, sigma: float) -> float:
    """log density of the weighted sum at o."""
    R, p = scales(outside, inside, q, sigma)
    exponent = np.where(p > 0, -(o**2) / (2 * R**2), -np.inf)
    top = float(exponent.max())
    return top + math.log(float(p @ (np.exp(exponent - top) / R)) / math.sqrt(2 * math.pi))

"""The chance of each class to win noisy max: with the discrete noise that is drawn, and with continuous noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import check_counts, check_positive, choice
from darrm.errors import InputError
from darrm.mechanisms.integer_noise import integer_noise, winning
from darrm.mechanisms.scale_mixture import panels
from darrm.numerics.arrays import Array

_NODES, _WIDTH = 16, 0.25  # Gauss-Legendre nodes on each smooth piece, and its width in scales of the noise
_REACH = 40  # scales of the noise
_FAR = 1000.0  # scales behind, from which on a chance to win is below the range of float64


def check_noise(gamma: float | None, sigma: float | None, noise: str) -> bool:
    """Whether the noise is discrete; refused unless it has either gamma or sigma, and a known kind."""
    hint = "LaplaceNoisyMax and GaussianNoisyMax draw discrete noise; the papers have continuous noise."
    discrete = choice("noise", noise, ("discrete", "continuous"), hint) == "discrete"
    if (gamma is None) == (sigma is None):
        raise InputError("Noisy max needs either gamma (Laplace noise of scale 1/gamma) or sigma (Gaussian noise).")
    return discrete


def noisy_max_probabilities(
    counts: ArrayLike, *, gamma: float | None = None, sigma: float | None = None, noise: str = "discrete"
) -> Array:
    """Probability of each class to be the largest of counts + independent noise: one row of the channel of noisy max.

        discrete     Pr[j] = sum over s of f(s - n_j) integral over u in [0, 1] of prod over i != j of
                                 (H(s - 1 - n_i) + u f(s - n_i)),     f the probabilities of the noise, H their sums
        continuous   Pr[j] = integral of g(t - n_j) prod over i != j of G(t - n_i) dt

    Parameters
    ----------
    counts : array_like of whole numbers, shape (classes,)
    gamma : float > 0
        Laplace noise of scale 1 / gamma. Either this or
    sigma : float > 0
        Gaussian noise of that standard deviation (discrete: Pr[x] proportional to e^(-x^2 / (2 sigma^2))).
    noise : {"discrete", "continuous"}
        "discrete" is what `darrm.mechanisms.LaplaceNoisyMax` and `GaussianNoisyMax` draw, with fair coins for equal
        noisy counts; "continuous" is the mechanism of the papers. Discrete noise is refused above sigma = 1e4, and
        for three classes and more below gamma = 1e-4.

    Returns
    -------
    ndarray, shape (classes,)
        Two classes: closed forms, or one sum for sigma, to some units in the last place. More: each within 1e-12
        (discrete: times the number of classes).

    Raises
    ------
    InputError

    Notes
    -----
    Two classes, d votes apart. Continuous: Phi(d / (sigma sqrt 2)); 1 - (2 + gamma d) e^(-gamma d) / 4 for the class
    ahead. Discrete: Lemma 18 of docs/theory.

    More, discrete: a sum over the noisy counts within 40 / gamma (10 sigma) of the largest; what it leaves out is below
    1e-14. O(classes * scale * distinct counts).

    More, continuous: Gauss-Legendre quadrature with 16 nodes on pieces that are at most 1/4 scale wide and have no
    count inside (Laplace noise is analytic there). With the ellipse rho = 9 its error is at most (64/15) M 9^-32 a
    piece, M the largest modulus of the integrand on the ellipse. M is at most 2 for Laplace noise. For Gaussian noise
    abs(Phi(x + i y)) is at most Phi(x) + phi(x) y e^(y^2 / 2) with y < .56, and so M is below 1e8 for up to 1000
    classes. All pieces together err by some 1e-20. The tails that are cut off are below 1000 e^-40 < 1e-14. Rounding is
    most of the bound. O(classes^2 * pieces).

    Examples
    --------
    >>> import darrm
    >>> darrm.measures.noisy_max_probabilities([5, 3], gamma=1.0).round(4).tolist()
    [0.8698, 0.1302]
    """
    votes = check_counts(counts)
    if check_noise(gamma, sigma, noise):
        law = integer_noise(gamma, sigma)
        if votes.size == 2:
            return _of_two(votes, float(law.behind(np.abs(votes[:1] - votes[1]))[0]))
        return winning(law, votes)
    return _continuous(votes, gamma, sigma)


def _of_two(votes: Array, behind: float) -> Array:
    return np.array([1 - behind, behind] if votes[0] >= votes[1] else [behind, 1 - behind])


def _continuous(votes: Array, gamma: float | None, sigma: float | None) -> Array:
    from scipy.special import log_ndtr, ndtr

    # In scales of the noise, so that none is too wide or too narrow for float64. Beyond _FAR nobody wins.
    with np.errstate(over="ignore"):
        gaps = votes.max() - votes
        gaps = gaps * check_positive("gamma", gamma) if gamma is not None else gaps / check_positive("sigma", sigma)
    values, which, times = np.unique(-np.minimum(gaps, _FAR), return_inverse=True, return_counts=True)
    if votes.size == 2:
        x = -float(values[0])
        return _of_two(votes, (2 + x) * math.exp(-x) / 4 if gamma is not None else float(ndtr(-x / math.sqrt(2))))
    g: Callable[[Array], Array]
    log_G: Callable[[Array], Array]
    if gamma is not None:

        def g(t: Array) -> Array:
            return np.asarray(np.exp(-np.abs(t)) / 2)

        def log_G(t: Array) -> Array:
            far = -np.abs(t)
            return np.where(t < 0, far - math.log(2), np.log1p(-np.exp(far) / 2))

    else:

        def g(t: Array) -> Array:
            return np.asarray(np.exp(-(t**2) / 2) / math.sqrt(2 * math.pi))

        def log_G(t: Array) -> Array:
            return np.asarray(log_ndtr(t))

    # Classes this far behind win with a probability below e^-40, and so does noise beyond _REACH scales.
    kinks = values[values >= -2 * _REACH]
    edges = np.concatenate([[kinks[0] - _REACH], kinks, [kinks[-1] + _REACH]])
    parts = [np.linspace(a, b, max(2, math.ceil((b - a) / _WIDTH) + 1)) for a, b in pairwise(edges)]
    ends = np.unique(np.concatenate(parts))
    t, w = panels(ends, _NODES)
    # Classes with the same count have the same probability.
    logs = np.array([log_G(t - value) for value in values])
    total = times @ logs
    each = [float(w @ (g(t - value) * np.exp(total - logs[i]))) for i, value in enumerate(values)]
    return np.asarray(each)[which]

"""The probability of each class to win noisy max."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import check_counts, check_positive
from darrm.errors import InputError
from darrm.mechanisms.label_chances import GAUSSIAN, LAPLACE, Chances, of_noise
from darrm.numerics.arrays import Array


def chances(counts: Array, gamma: float | None, sigma: float | None) -> Chances:
    """Those of checked rows of counts; refused unless there is either gamma or sigma."""
    if (gamma is None) == (sigma is None):
        raise InputError("Noisy max needs either gamma (Laplace noise of scale 1/gamma) or sigma (Gaussian noise).")
    if gamma is not None:
        return of_noise(LAPLACE, min(check_positive("gamma", gamma), 1e300), counts)
    return of_noise(GAUSSIAN, 1 / max(check_positive("sigma", sigma), 1e-300), counts)


def noisy_max_probabilities(counts: ArrayLike, *, gamma: float | None = None, sigma: float | None = None) -> Array:
    """Probability of each class to be the largest of counts + independent noise: one row of the channel of noisy max.

        Pr[j] = integral of g(t - n_j) prod over i != j of G(t - n_i) dt,     g the density of the noise, G its integral

    Parameters
    ----------
    counts : array_like of integers, shape (classes,)
    gamma : float > 0
        Laplace noise of scale 1 / gamma. Either this or
    sigma : float > 0
        Gaussian noise of that standard deviation.

    Returns
    -------
    ndarray, shape (classes,)
        Those of `darrm.mechanisms.LaplaceNoisyMax` and `GaussianNoisyMax`. Two classes: each right to a relative 1e-11,
        above 1e-290. More: to a relative 1e-12 times the number of classes, but for at most 1e-24 times that.

    Raises
    ------
    InputError

    Notes
    -----
    Two classes, d votes apart, have closed forms: Phi(-d / (sigma sqrt 2)) and (2 + gamma d) e^(-gamma d) / 4 for the
    class behind.

    More, Gaussian noise: the trapezoidal rule, whose relative error is below 1e-16 for an integrand as smooth. Laplace
    noise: Gauss-Legendre quadrature between the counts, to as little. The proofs are in
    `darrm.mechanisms.label_chances`. O(classes^2 * distinct counts) at most.

    Examples
    --------
    >>> import darrm
    >>> darrm.measures.noisy_max_probabilities([5, 3], gamma=1.0).round(4).tolist()
    [0.8647, 0.1353]
    """
    return np.asarray(chances(check_counts(counts)[None], gamma, sigma).values[0])

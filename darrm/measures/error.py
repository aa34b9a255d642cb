"""How far a released majority is from the true one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.design.poisson_binomial import pmf, probabilities
from darrm.design.smoothing import noise_function
from darrm.errors import InputError


def expected_error(gamma: ArrayLike, p: ArrayLike) -> NDArray[np.float64] | float:
    """Error of a noise function for given vote probabilities, exact.

        |Pr[release 1] - Pr[majority 1]| = 1/2 |sum over l > K/2 of (alpha_l - alpha_(K-l)) (1 - gamma(l))|

    Parameters
    ----------
    gamma : array_like, shape (K + 1,), float in [0, 1], symmetric
    p : array_like, shape (K,) or (n, K), float in [0, 1]
        Probability that each mechanism votes 1, for one data set or n of them.

    Returns
    -------
    float, or ndarray of shape (n,)

    Raises
    ------
    InputError
        If gamma or p is not what it should be, or they disagree in K.

    Notes
    -----
    Definition 2.4 of Jiang, Zhang, Joshi (TMLR 2024). O(n K^2).
    """
    p = probabilities("p", p)
    if p.ndim > 2:
        raise InputError(f"p must have shape (K,) or (n, K). Got {p.shape}.")
    K = p.shape[-1]
    half = noise_function(gamma, K)[K // 2 + 1 :]
    alpha = pmf(p)
    balance = alpha[..., K // 2 + 1 :] - alpha[..., : K - K // 2][..., ::-1]
    error = np.abs(balance @ (1 - half)) / 2
    return float(error) if p.ndim == 1 else error

"""Poisson-binomial probabilities: the number of ones among independent votes.

Everything is a sum of nonnegative terms, one vote after the other, so every probability down to the tails
keeps its relative accuracy: 3 K u for K votes, u = 2^-53, as far as float64 reaches (entries below 1e-300 are
right to 1e-320). A Fourier transform would be right to 1e-16 of the largest entry only.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import probabilities
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time
from darrm.numerics.printed import counted

MAX_STEPS = 10**11  # a minute or two


def one_more(pmf: Array, p: Array, q: Array) -> Array:
    out = np.zeros((*pmf.shape[:-1], pmf.shape[-1] + 1), pmf.dtype)
    out[..., :-1] = q[..., None] * pmf
    out[..., 1:] += p[..., None] * pmf
    return out


def pmf(p: ArrayLike, scale: float = 1.0) -> Array:
    """Probabilities of the number of ones among independent votes.

        alpha_l = Pr[L = l],    L = sum of K independent Bernoulli(p_i)

    Parameters
    ----------
    p : array_like, shape (K,) or (..., K), float64 in [0, 1]
    scale : float, default 1
        What the probabilities sum to: a power of 2 up to 2^1000 keeps small ones above the least of float64.

    Returns
    -------
    ndarray, shape (K + 1,) or (..., K + 1), float64

    Raises
    ------
    InputError
        If p has no votes, is not numeric, leaves [0, 1], or takes more than 10^11 steps.

    Notes
    -----
    O(K^2) for each vector of p, with array operations over the others. Relative error of every entry above
    1e-300 at most 3 K u.

    Examples
    --------
    The probabilities of 0 to 3 ones of three votes:

    >>> from darrm.numerics.poisson_binomial import pmf
    >>> pmf([0.9, 0.8, 0.6]).round(3).tolist()
    [0.008, 0.116, 0.444, 0.432]
    """
    p = probabilities("p", p)
    K, vectors = p.shape[-1], math.prod(p.shape[:-1])
    if vectors * K**2 > MAX_STEPS:
        raise InputError(
            f"Probabilities of the number of ones take K^2 steps, of which at most {MAX_STEPS:.0e} are taken. Got K = "
            f"{K:,} "
            f"votes for {counted(vectors, 'data set', ',')}. At most {math.isqrt(MAX_STEPS // vectors):,} votes "
            "would fit."
        )
    out = np.full((*p.shape[:-1], 1), scale)
    for i in range(p.shape[-1]):
        check_time()
        out = one_more(out, p[..., i], 1 - p[..., i])
    return out

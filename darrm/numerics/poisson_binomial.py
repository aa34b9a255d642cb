"""Poisson-binomial probabilities: the number of ones among independent votes.

Everything is a sum of nonnegative terms, one vote after the other, so every probability down to the tails
keeps its relative accuracy: 3 K u for K votes, u = 2^-53, as far as float64 reaches (entries below 1e-300 are
right to 1e-320). A Fourier transform would be right to 1e-16 of the largest entry only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.constraints.multisets import STILL, CornerPoints, levels
from darrm.errors import InputError


def _one_more(pmf: NDArray[np.float64], p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    out = np.zeros((*pmf.shape[:-1], pmf.shape[-1] + 1))
    out[..., :-1] = q[..., None] * pmf
    out[..., 1:] += p[..., None] * pmf
    return out


def pmf(p: ArrayLike, scale: float = 1.0) -> NDArray[np.float64]:
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
        If p has no votes, is not numeric, or leaves [0, 1].

    Notes
    -----
    O(K^2) for each vector of p, with array operations over the others. Relative error of every entry above
    1e-300 at most 3 K u.
    """
    p = probabilities("p", p)
    out = np.full((*p.shape[:-1], 1), scale)
    for i in range(p.shape[-1]):
        out = _one_more(out, p[..., i], 1 - p[..., i])
    return out


def probabilities(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """``values`` as a float64 array of at least one dimension, refused outside [0, 1]."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be an array of numbers in [0, 1]. Got {values!r}.") from None
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InputError(f"{name} must be an array with one value for each vote. Got shape {array.shape}.")
    if not np.all((array >= 0) & (array <= 1)):
        worst = array[~((array >= 0) & (array <= 1))].flat[0]
        raise InputError(f"{name} must be in [0, 1]. Got {worst:g}.")
    return array


class PairLevel(NamedTuple):
    """Distributions of the ones among n moving corners, for every multiset of one level.

    Attributes
    ----------
    counts : ndarray of int16, shape (rows, moving)
    second : ndarray, shape (rows, n + 1)
        Distribution alpha' under p'.
    difference : ndarray, shape (rows, n + 1)
        alpha - alpha', carried by its own recurrence: for small epsilon it keeps the digits that the
        subtraction would lose.
    """

    counts: NDArray[np.int16]
    second: NDArray[np.float64]
    difference: NDArray[np.float64]


def pair_levels(corners: CornerPoints, changed: int) -> Iterator[PairLevel]:
    """The distributions under p and p' of all multisets of 0, ..., ``changed`` moving corners.

    Cost: O(n) array operations' worth of work for each multiset of n corners, not O(n^2), because each grows
    from one that is already there.
    """
    p, q, gap = corners.p[STILL:], corners.q[STILL:], corners.difference[STILL:]
    second = np.ones((1, 1))
    difference = np.zeros((1, 1))
    for n, level in enumerate(levels(len(corners.p), changed)):
        if n:
            second, difference = add_vote(
                second[level.parent], difference[level.parent], p[level.added], q[level.added], gap[level.added]
            )
        yield PairLevel(level.counts, second, difference)


def add_vote(
    second: NDArray[np.float64],
    difference: NDArray[np.float64],
    p: NDArray[np.float64],
    q: NDArray[np.float64],
    gap: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """alpha' and d = alpha - alpha' after one more vote in each row.

        d(l) (1 - p) + d(l - 1) p + (p - p') (alpha'(l - 1) - alpha'(l))

    Parameters
    ----------
    second, difference : ndarray, shape (rows, n)
    p, q : ndarray, shape (rows, 2)
        (p, p') and (1 - p, 1 - p') of the vote.
    gap : ndarray, shape (rows,)
        p - p'.

    Returns
    -------
    second, difference : ndarray, shape (rows, n + 1)
    """
    difference = _one_more(difference, p[:, 0], q[:, 0])
    step = gap[:, None] * second
    difference[:, :-1] -= step
    difference[:, 1:] += step
    return _one_more(second, p[:, 1], q[:, 1]), difference

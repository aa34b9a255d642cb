"""The proportion matching loss of a bag, and the targets that make it unbiased under label noise.

A bag holds scores z_j; its prediction is the mean q of the probabilities s(z_j) = 1 / (1 + e^-z_j), its target t is the
released proportion of ones. Bags lie one after another in one array of scores, bag i from ``starts[i]`` on.

The gradient of both losses is affine in t, and cross-entropy is affine itself: noise of mean 0 on t changes neither
the expected gradient nor, for cross-entropy, the expected loss (Theorem 6.1 of Busa-Fekete et al., "A unified analysis
of label inference attacks", 2023). So t is not clipped and may lie outside [0, 1].
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.arrays import Array

Indices = NDArray[np.intp]
Loss = Literal["cross_entropy", "square"]


def debiased_labels(y: NDArray[np.integer], epsilon: float) -> Array:
    """Unbiased estimates of labels behind randomized response.

        t = (y - rho) / (1 - 2 rho),    rho = 1 / (1 + e^epsilon):    E[t] is the true label

    Parameters
    ----------
    y : ndarray of 0 and 1, shape (n,)
    epsilon : float > 0

    Returns
    -------
    ndarray, shape (n,)
        -rho / (1 - 2 rho) for 0 and (1 - rho) / (1 - 2 rho) for 1.
    """
    # 1 - 2 rho = tanh(epsilon / 2), and 1 - rho = 1 / (1 + e^-epsilon) is accurate for small and large epsilon.
    rho = math.exp(-epsilon) / (1 + math.exp(-epsilon))
    return np.asarray(np.where(y == 1, 1 / (1 + math.exp(-epsilon)), -rho) / math.tanh(epsilon / 2))


def proportion_loss(scores: Array, starts: Indices, targets: Array, loss: Loss) -> tuple[Array, Array]:
    """Loss of each bag, and its derivative by each score.

        cross_entropy:  -t log q - (1 - t) log(1 - q)          square:  (q - t)^2          q = mean of s(z_j)

    For a bag of one the first is log(1 + e^z) - t z, the logistic loss with a target for a label.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        Bag after bag.
    starts : ndarray of int, shape (bags,)
        Where each bag begins; the first is 0 and no bag is empty.
    targets : ndarray, shape (bags,)
        Any real numbers.
    loss : "cross_entropy" or "square"

    Returns
    -------
    losses, shape (bags,), and slopes, shape (n,)

    Notes
    -----
    O(n). All in logarithms, so that no score is too large. Section 2 (PropMatch) of the paper above.
    """
    sizes = np.append(starts[1:], scores.size) - starts
    tail = np.log1p(np.exp(-np.abs(scores)))
    log_one, log_zero = np.minimum(scores, 0) - tail, np.minimum(-scores, 0) - tail
    q_log, share_one = _log_means(log_one, starts, sizes)
    if loss == "square":
        q = np.exp(q_log)
        slopes = np.repeat(2 * (q - targets) / sizes, sizes) * np.exp(log_one + log_zero)
        return (q - targets) ** 2, slopes
    rest_log, share_zero = _log_means(log_zero, starts, sizes)
    t = np.repeat(targets, sizes)
    slopes = (1 - t) * share_zero * np.exp(log_one) - t * share_one * np.exp(log_zero)
    return -targets * q_log - (1 - targets) * rest_log, slopes


def _log_means(logs: Array, starts: Indices, sizes: Indices) -> tuple[Array, Array | float]:
    """log of the mean of e^logs in each bag, and the share of each member in that sum."""
    if starts.size == logs.size:  # bags of one
        return logs, 1.0
    top = np.maximum.reduceat(logs, starts)
    terms = np.exp(logs - np.repeat(top, sizes))
    sums = np.add.reduceat(terms, starts)
    return top + np.log(sums / sizes), terms / np.repeat(sums, sizes)

"""Report noisy max: the label of most votes after noise, for voters that are not private themselves (PATE)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import MAX_CLASSES, array, check_counts, check_orders, check_positive, whole
from darrm.errors import InputError
from darrm.mechanisms.scale_mixture import panels
from darrm.numerics.arrays import Array
from darrm.randomness.discrete import DiscreteGaussian, DiscreteLaplace
from darrm.randomness.words import word_source

_MOST = 10**12  # votes for one class
_NODES, _WIDTH = 16, 0.25  # Gauss-Legendre nodes on each smooth piece, and its width in scales of the noise
_REACH = 40  # scales of the noise


def noisy_max_probabilities(counts: ArrayLike, *, gamma: float | None = None, sigma: float | None = None) -> Array:
    """Probability of each class to be the largest of counts + independent continuous noise.

    The shipped mechanisms draw discrete noise. Their probabilities are close to these and are not these.

        Pr[j] = integral of g(t - n_j) prod over i != j of G(t - n_i) dt

    Parameters
    ----------
    counts : array_like of whole numbers, shape (classes,)
    gamma : float > 0
        Laplace noise of scale 1 / gamma. Either this or
    sigma : float > 0
        Gaussian noise of that standard deviation.

    Returns
    -------
    ndarray, shape (classes,)
        Two classes: closed forms, to a few units in the last place. More: each within 1e-12.

    Raises
    ------
    InputError

    Notes
    -----
    Two classes, d votes apart: Phi(d / (sigma sqrt 2)); 1 - (2 + gamma d) e^(-gamma d) / 4 for the class ahead.

    More: Gauss-Legendre quadrature with 16 nodes on pieces that are at most 1/4 scale wide and have no count inside
    (Laplace noise is analytic there). With the ellipse rho = 9 its error is at most (64/15) M 9^-32 a piece, M the
    largest modulus of the integrand on the ellipse: at most 2 for Laplace noise and, as abs(Phi(x + i y)) is at most
    Phi(x) + phi(x) y e^(y^2 / 2) with y < .56, below 1e8 for up to 1000 classes: some 1e-20 in all. What is cut off is
    below 1000 e^-40 < 1e-14. Rounding is most of the bound. O(classes^2 * pieces).
    """
    votes = check_counts(counts)
    if (gamma is None) == (sigma is None):
        raise InputError("Noisy max needs either gamma (Laplace noise of scale 1/gamma) or sigma (Gaussian noise).")
    from scipy.special import log_ndtr, ndtr

    if votes.size == 2:
        lead = float(abs(votes[0] - votes[1]))
        if gamma is not None:
            x = check_positive("gamma", gamma) * lead
            behind = (2 + x) * math.exp(-x) / 4
        else:
            behind = float(ndtr(-lead / (check_positive("sigma", sigma) * math.sqrt(2))))
        return np.array([1 - behind, behind] if votes[0] >= votes[1] else [behind, 1 - behind])
    g: Callable[[Array], Array]
    log_G: Callable[[Array], Array]
    if gamma is not None:
        rate = check_positive("gamma", gamma)
        scale = 1 / rate

        def g(t: Array) -> Array:
            return np.asarray(rate / 2 * np.exp(-rate * np.abs(t)))

        def log_G(t: Array) -> Array:
            far = -rate * np.abs(t)
            return np.where(t < 0, far - math.log(2), np.log1p(-np.exp(far) / 2))

    else:
        scale = check_positive("sigma", sigma)

        def g(t: Array) -> Array:
            return np.asarray(np.exp(-((t / scale) ** 2) / 2) / (scale * math.sqrt(2 * math.pi)))

        def log_G(t: Array) -> Array:
            return np.asarray(log_ndtr(t / scale))

    values, which, times = np.unique(votes - votes.max(), return_inverse=True, return_counts=True)
    # Classes this far behind win with a probability below e^-40, and so does noise beyond _REACH scales.
    kinks = values[values >= -2 * _REACH * scale]
    edges = np.concatenate([[kinks[0] - _REACH * scale], kinks, [kinks[-1] + _REACH * scale]])
    parts = [np.linspace(a, b, max(2, math.ceil((b - a) / (_WIDTH * scale)) + 1)) for a, b in pairwise(edges)]
    ends = np.unique(np.concatenate(parts))
    t, w = panels(ends, _NODES)
    # Classes with the same count have the same probability.
    logs = np.array([log_G(t - value) for value in values])
    total = times @ logs
    each = [float(w @ (g(t - value) * np.exp(total - logs[i]))) for i, value in enumerate(values)]
    return np.asarray(each)[which]


class _NoisyMax:
    _parameter: ClassVar[str]  # "gamma" or "sigma"

    def __init__(self, noise: DiscreteLaplace | DiscreteGaussian) -> None:
        self._noise = noise

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._parameter}={getattr(self, self._parameter)!r})"

    def kernel(self, k: int) -> Array:
        """Pr[label = o | l of k votes are for class 1], two classes, shape (k + 1, 2): [l, o]; with continuous noise.

        `release` draws discrete noise: its probabilities are close to these and are not these.
        """
        k, noise = whole("k", k), {self._parameter: getattr(self, self._parameter)}
        return np.array([noisy_max_probabilities([k - l, l], **noise) for l in range(k + 1)])

    def release(self, counts: ArrayLike, rng: np.random.Generator | None = None) -> NDArray[np.int64]:
        """One private label for each row of counts.

        Parameters
        ----------
        counts : array_like of whole numbers >= 0, shape (n, classes)
            Votes for each class.
        rng : numpy.random.Generator, optional
            For tests only: the labels can then be predicted, which a `NotPrivateWarning` says. Without it, all
            randomness comes from the operating system.

        Returns
        -------
        ndarray of int, shape (n,)
            Classes from 0 on; equal noisy counts are decided by coins that do not depend on the votes.

        Raises
        ------
        InputError

        Notes
        -----
        The noise is discrete and drawn exactly (`darrm.randomness.discrete`).
        """
        votes = array("counts", counts, None, 0, _MOST, "[]", wholes=True)
        if votes.ndim != 2 or not 2 <= votes.shape[1] <= MAX_CLASSES:
            raise InputError(
                f"counts must have shape (n, classes), one row a query, 2 to {MAX_CLASSES} classes. Got {votes.shape}."
            )
        words = word_source(rng, stacklevel=3)
        noisy = votes.astype(np.int64) + self._noise.draw(votes.size, words).reshape(votes.shape)
        order = words(votes.size).reshape(votes.shape)
        best = noisy == noisy.max(axis=1, keepdims=True)
        # Words of 63 bits: those that are not the largest stand below all others.
        return np.asarray(np.where(best, (order >> np.uint64(1)).astype(np.int64), -1).argmax(axis=1))


class GaussianNoisyMax(_NoisyMax):
    """GNMax with discrete Gaussian noise.

        Pr[noise = x] proportional to e^(-x^2 / (2 sigma^2));     (lambda, lambda / sigma^2)-RDP for every lambda > 1

    Parameters
    ----------
    sigma : float > 0

    Raises
    ------
    InputError

    Notes
    -----
    Section 4.1 of Papernot et al. (ICLR 2018) with continuous noise. One changed vote moves two counts by 1, and the
    discrete Gaussian has the same Renyi divergence bound for whole shifts (Canonne, Kamath, Steinke, NeurIPS 2020):
    2 / (2 sigma^2) an order. `darrm.accounting.gnmax_sigma` finds sigma; `darrm.measures.noisy_max_probabilities` are
    those of continuous noise.
    """

    _parameter = "sigma"

    def __init__(self, sigma: float) -> None:
        self.sigma = check_positive("sigma", sigma)
        super().__init__(DiscreteGaussian(Fraction(self.sigma)))

    def rdp(self, orders: ArrayLike) -> Array:
        """lambda / sigma^2 for one label, whatever the votes; nats."""
        return np.asarray(check_orders(orders) / self.sigma**2)


class LaplaceNoisyMax(_NoisyMax):
    """Noisy max with discrete Laplace noise.

        Pr[noise = k] proportional to e^(-gamma |k|);     (2 gamma, 0)-DP for one changed vote

    Parameters
    ----------
    gamma : float > 0

    Raises
    ------
    InputError

    Notes
    -----
    Papernot et al. (ICLR 2017) with continuous noise. Given the noise of all others and the order that decides ties, a
    class wins if its own noise reaches a threshold; one changed vote moves that by at most 2, and the probability to
    reach it by a factor of at most e^(2 gamma).

    What one label leaks about one vote is at most `darrm.measures.laplace_leakage_bound`, which is for this discrete
    noise. `darrm.measures.entrywise_leakage` and `kernel` are for continuous noise.
    """

    _parameter = "gamma"

    def __init__(self, gamma: float) -> None:
        self.gamma = check_positive("gamma", gamma)
        super().__init__(DiscreteLaplace(Fraction(self.gamma)))

    @property
    def epsilon(self) -> float:
        """2 gamma: what one label costs, nats."""
        return 2 * self.gamma

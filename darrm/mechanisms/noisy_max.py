"""Report noisy max: the label of most votes after noise, for voters that are not private themselves (PATE)."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.errors import InputError
from darrm.mechanisms.majority import word_source
from darrm.randomness.discrete import DiscreteGaussian, DiscreteLaplace

Array = NDArray[np.float64]
MAX_CLASSES = 1000
_MOST = 10**12  # votes for one class


def check_counts(counts: ArrayLike, name: str = "counts") -> Array:
    """Votes for each class as float64, shape (classes,); `InputError` if they are none."""
    try:
        found = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers of votes, one for each class. Got {counts!r}.") from None
    if found.ndim != 1 or not 2 <= found.size <= MAX_CLASSES:
        raise InputError(f"{name} must have shape (classes,), 2 to {MAX_CLASSES} classes. Got shape {found.shape}.")
    if not (np.all(np.isfinite(found)) and np.all(found >= 0) and np.all(found == np.floor(found))):
        raise InputError(f"{name} must be whole numbers of at least 0. Got {counts!r}.")
    return found


def check_positive(name: str, value: object) -> float:
    """``value`` as a float, refused unless it is finite and above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise InputError(f"{name} must be a number above 0. Got {value!r}.")
    if not 0 < value <= sys.float_info.max:
        raise InputError(f"{name} must be finite and above 0, within float64. Got {value!r}.")
    return float(value)


class _NoisyMax:
    def __init__(self, noise: DiscreteLaplace | DiscreteGaussian) -> None:
        self._noise = noise

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
        try:
            array = np.asarray(counts, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"counts must be whole numbers of shape (n, classes). Got {counts!r}.") from None
        if array.ndim != 2 or not 2 <= array.shape[1] <= MAX_CLASSES:
            raise InputError(
                f"counts must have shape (n, classes), one row a query, 2 to {MAX_CLASSES} classes. Got {array.shape}."
            )
        if not np.all((array >= 0) & (array <= _MOST) & (array == np.floor(array))):
            raise InputError(f"counts must be whole numbers in [0, {_MOST:g}].")
        words = word_source(rng, stacklevel=3)
        noisy = array.astype(np.int64) + self._noise.draw(array.size, words).reshape(array.shape)
        order = words(array.size).reshape(array.shape)
        best = noisy == noisy.max(axis=1, keepdims=True)
        # Words of 63 bits: those that are not the largest stand below all others.
        return np.asarray(np.where(best, (order >> np.uint64(1)).astype(np.int64), -1).argmax(axis=1))


def _two_classes(k: int, *, gamma: float | None = None, sigma: float | None = None) -> Array:
    from darrm.measures.leakage import noisy_max_probabilities

    return np.array([noisy_max_probabilities([k - l, l], gamma=gamma, sigma=sigma) for l in range(k + 1)])


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

    def __init__(self, sigma: float) -> None:
        self.sigma = check_positive("sigma", sigma)
        super().__init__(DiscreteGaussian(Fraction(self.sigma)))

    def __repr__(self) -> str:
        return f"GaussianNoisyMax(sigma={self.sigma!r})"

    def kernel(self, k: int) -> Array:
        """Pr[label = o | l of k votes are for class 1], two classes, shape (k + 1, 2): [l, o]; with continuous noise.

        `release` draws discrete noise: its probabilities are close to these and are not these.
        """
        return _two_classes(k, sigma=self.sigma)

    def rdp(self, orders: ArrayLike) -> NDArray[np.float64]:
        """lambda / sigma^2 for one label, whatever the votes; nats."""
        return np.asarray(np.asarray(orders, dtype=np.float64) / self.sigma**2)


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

    def __init__(self, gamma: float) -> None:
        self.gamma = check_positive("gamma", gamma)
        super().__init__(DiscreteLaplace(Fraction(self.gamma)))

    def __repr__(self) -> str:
        return f"LaplaceNoisyMax(gamma={self.gamma!r})"

    def kernel(self, k: int) -> Array:
        """Pr[label = o | l of k votes are for class 1], two classes, shape (k + 1, 2): [l, o]; with continuous noise.

        `release` draws discrete noise: its probabilities are close to these and are not these.
        """
        return _two_classes(k, gamma=self.gamma)

    @property
    def epsilon(self) -> float:
        """2 gamma: what one label costs, nats."""
        return 2 * self.gamma

"""Report noisy max: the label of most votes after noise, for voters that are not private themselves (PATE)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import MAX_CLASSES, array, check_orders, check_positive, whole
from darrm.errors import InputError
from darrm.mechanisms.integer_noise import integer_noise
from darrm.mechanisms.label_chances import Chances, gaussian_noise, laplace_noise, of_noise
from darrm.numerics.arrays import Array
from darrm.randomness.coins import WordSource
from darrm.randomness.discrete import DiscreteGaussian, DiscreteLaplace
from darrm.randomness.words import word_source

_MOST = 10**12  # votes for one class


def checked_votes(counts: ArrayLike) -> NDArray[np.int64]:
    """Votes for each class, one row a query."""
    hint = "Pass the votes for each class, one row a query, such as [[5, 3]]; no labels: count them first."
    votes = array("counts", counts, None, 0, _MOST, "[]", wholes=True, hint=hint)
    if votes.ndim != 2 or not 2 <= votes.shape[1] <= MAX_CLASSES:
        raise InputError(
            f"counts must have shape (n, classes), with 2 to {MAX_CLASSES} classes. Got shape {votes.shape}. {hint}"
        )
    return votes.astype(np.int64)


def any_of(best: NDArray[np.bool_], words: WordSource) -> NDArray[np.int64]:
    """One of the classes that are marked in each row, all as likely."""
    order = words(best.size).reshape(best.shape)
    # Words of 63 bits: those that are not marked stand below all others.
    return np.asarray(np.where(best, (order >> np.uint64(1)).astype(np.int64), -1).argmax(axis=1))


class _NoisyMax(ABC):
    _parameter: ClassVar[str]  # "gamma" or "sigma"

    def __init__(self, noise: DiscreteLaplace | DiscreteGaussian) -> None:
        self._noise = noise

    @abstractmethod
    def _chances(self, votes: NDArray[np.int64]) -> Chances:
        """Those of checked votes, with what is proved of their error."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._parameter}={getattr(self, self._parameter)!r})"

    def kernel(self, k: int) -> Array:
        """Pr[label = o | l of k votes are for class 1], two classes, shape (k + 1, 2): [l, o]; those of `release`.

        In `GaussianNoisyMax` for sigma up to 1e4, as in `darrm.measures.noisy_max_probabilities`.
        """
        k = whole("k", k)
        law = integer_noise(getattr(self, "gamma", None), getattr(self, "sigma", None))
        lead = 2 * np.arange(k + 1) - k  # of class 1
        behind = law.behind(np.abs(lead).astype(np.float64))
        one = np.where(lead > 0, 1 - behind, behind)
        zero = np.where(lead > 0, behind, 1 - behind)
        return np.stack([zero, one], axis=1)

    def release(self, counts: ArrayLike, rng: np.random.Generator | None = None) -> NDArray[np.int64]:
        """One private label for each row of counts.

        Parameters
        ----------
        counts : array_like of whole numbers >= 0, shape (n, classes)
            Votes for each class, one row a query; a single query is one row, shape (1, classes). These are no labels
            of voters: a row of them would be taken for that many classes. Count labels first, with
            ``numpy.bincount(labels, minlength=classes)`` for each query. The shape alone tells counts from labels, and
            no number does: a refusal must not depend on the votes.
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
        votes = checked_votes(counts)
        words = word_source(rng, stacklevel=3)
        noisy = votes + self._noise.draw(votes.size, words).reshape(votes.shape)
        return any_of(noisy == noisy.max(axis=1, keepdims=True), words)

    def chances(self, counts: ArrayLike) -> Array:
        """Pr[label | counts] for every class, with the discrete noise that `release` draws.

        Parameters
        ----------
        counts : array_like of whole numbers >= 0, shape (n, classes)

        Returns
        -------
        ndarray, shape (n, classes)
            Each right to a relative 1e-9, but for at most 1e-20 of noise that is cut off. These chances are for whoever
            may know the votes.

        Raises
        ------
        InputError
            Above sigma = 1e4 or below gamma = 1e-4, and where the sums have more than 1e10 terms.

        Notes
        -----
        Sums over the largest noisy count, and a quadrature for ties that is exact. O(n classes^2 scale).
        """
        return self._chances(checked_votes(counts)).values


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
    2 / (2 sigma^2) an order. `darrm.accounting.gnmax_sigma` finds sigma. The chances of the labels are
    `darrm.measures.noisy_max_probabilities`, what one label leaks about one vote is at most
    `darrm.measures.leakage_bound`; both take sigma.

    Examples
    --------
    Two queries to ten voters: the chances of their labels, and labels.

    >>> import darrm
    >>> mechanism = darrm.mechanisms.GaussianNoisyMax(sigma=4.0)
    >>> mechanism.chances([[6, 3, 1], [10, 0, 0]]).round(3).tolist()
    [[0.622, 0.254, 0.124], [0.931, 0.035, 0.035]]
    >>> mechanism.release([[6, 3, 1], [10, 0, 0]]).shape
    (2,)

    What one label costs in Renyi differential privacy:

    >>> mechanism.rdp([2.0, 4.0]).tolist()
    [0.125, 0.25]
    """

    _parameter = "sigma"

    def __init__(self, sigma: float) -> None:
        self.sigma = check_positive("sigma", sigma)
        super().__init__(DiscreteGaussian(Fraction(self.sigma)))

    def _chances(self, votes: NDArray[np.int64]) -> Chances:
        return of_noise(gaussian_noise(self.sigma), votes)

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
    class wins if its own noise reaches a threshold. One changed vote moves that by at most 2, and the probability to
    reach it by a factor of at most e^(2 gamma).

    The chances of the labels are `darrm.measures.noisy_max_probabilities`, and what one label leaks about one vote is
    at most `darrm.measures.leakage_bound`; both take gamma.

    Examples
    --------
    Two queries to ten voters, one label of epsilon 1 each: their chances, and labels.

    >>> import darrm
    >>> mechanism = darrm.mechanisms.LaplaceNoisyMax(gamma=0.5)
    >>> mechanism.chances([[6, 3, 1], [10, 0, 0]]).round(3).tolist()
    [[0.766, 0.175, 0.059], [0.98, 0.01, 0.01]]
    >>> mechanism.release([[6, 3, 1], [10, 0, 0]]).shape
    (2,)
    """

    _parameter = "gamma"

    def __init__(self, gamma: float) -> None:
        self.gamma = check_positive("gamma", gamma)
        super().__init__(DiscreteLaplace(Fraction(self.gamma)))

    def _chances(self, votes: NDArray[np.int64]) -> Chances:
        return of_noise(laplace_noise(self.gamma), votes)

    @property
    def epsilon(self) -> float:
        """2 gamma: what one label costs, nats."""
        return 2 * self.gamma

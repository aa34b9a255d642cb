"""Label proportions: only the number of ones of a bag of labels is released, exactly or with noise.

All outputs here are sums, on the scale 0..k of the number of ones; divide by k for the proportion of the papers
(Laplace noise of scale 1 / epsilon on the sum is their Laplace(1 / (k epsilon)) on the proportion).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import array, whole
from darrm.mechanisms.labelled_bag import check_unused_features
from darrm.mechanisms.random_bags import ByEpsilon, check_labels
from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import MAX_BAG, as_bags, one_a_bag, posterior
from darrm.randomness.discrete import DiscreteLaplace
from darrm.randomness.words import word_source

_GRID = 1 << 10


def _sums(labels: ArrayLike) -> NDArray[np.int64]:
    return np.asarray(check_labels(labels).sum(axis=-1, dtype=np.int64))


def _ones(output: ArrayLike, k: int) -> Array:
    """Released numbers of ones in bags of k."""
    return array("output", output, None, 0, k, "[]", wholes=True)


class LabelProportions:
    """The exact number of ones of each bag (learning from label proportions, LLP).

    It has no label differential privacy: a bag of equal labels reveals all of them.

    Notes
    -----
    Section 2 of Busa-Fekete et al. (NeurIPS 2024).

    Examples
    --------
    Two bags of four labels; the sum of the second gives all of its labels away.

    >>> import darrm
    >>> mechanism = darrm.labels.LabelProportions()
    >>> mechanism.release([[1, 0, 0, 1], [0, 0, 0, 0]]).tolist()
    [2, 0]
    >>> mechanism.posterior([0.2, 0.3, 0.5, 0.6], 2).round(3).tolist()
    [0.222, 0.357, 0.659, 0.762]
    """

    epsilon = math.inf

    def __repr__(self) -> str:
        return "LabelProportions()"

    def release(self, labels: ArrayLike, rng: object = None) -> NDArray[np.int64] | np.int64:
        """Number of ones of each bag.

        Parameters
        ----------
        labels : array_like of 0 and 1, shape (k,) for one bag or (n, k) for n bags
        rng
            Not used, as nothing is random; there so that all label mechanisms are called alike.

        Returns
        -------
        int, or ndarray of int, shape (n,)

        Raises
        ------
        InputError
        """
        return _sums(labels)[()]

    def posterior(self, eta: ArrayLike, output: ArrayLike, X: ArrayLike | None = None) -> Array:
        """P(y_i = 1 | eta, output) = eta_i q_i(s - 1) / P(s), q_i and P of the ones without and with label i.

        Parameters
        ----------
        eta : array_like, shape (k,) or (n, k), in [0, 1]
        output : int, or array_like of int, shape (n,)
            Numbers of ones.
        X : array_like, optional
            Not used, because the features add nothing to eta.

        Returns
        -------
        ndarray, the shape of ``eta``

        Raises
        ------
        InputError
            If an output has probability 0 under eta, among others.

        Notes
        -----
        Exact but for rounding. O(k^2) a bag.
        """
        check_unused_features(X)
        bags, _ = as_bags(eta)
        weights = np.arange(bags.shape[1] + 1) == one_a_bag(_ones(output, bags.shape[1]), len(bags))[:, None]
        return posterior(eta, weights)

    def kernel(self, k: int) -> Array:
        """Pr[output = o | l ones], shape (k + 1, k + 1): [l, o]."""
        return np.eye(whole("k", k, 1, MAX_BAG) + 1)


class LaplaceLabelProportions(ByEpsilon):
    """The number of ones of each bag with Laplace noise.

        sum + Z,    Z ~ Laplace(1 / epsilon):    epsilon-label-DP

    Parameters
    ----------
    epsilon : float in [1e-9, 1e6]
        Nats.

    Raises
    ------
    InputError

    Notes
    -----
    M_Lap-LLP in Section 6 of Busa-Fekete et al., "A unified analysis of label inference attacks" (2023). Continuous
    noise computed in float64 is not private (Mironov, CCS 2012), so `release` draws discrete Laplace noise exactly, on
    a grid of 2^-10: epsilon-label-DP with nothing rounded. `posterior` and the measures are those of continuous noise.

    Examples
    --------
    An attacker with the prior 1/2 for each of four labels sees a noisy sum of 4:

    >>> import darrm
    >>> mechanism = darrm.labels.LaplaceLabelProportions(1.0)
    >>> mechanism.posterior([0.5, 0.5, 0.5, 0.5], 4.0).round(3).tolist()
    [0.731, 0.731, 0.731, 0.731]
    >>> mechanism.release([[1, 0, 0, 1], [0, 0, 0, 0]]).shape
    (2,)
    """

    def __init__(self, epsilon: float) -> None:
        super().__init__(epsilon)
        self._noise = DiscreteLaplace(Fraction(self.epsilon) / _GRID)

    def release(self, labels: ArrayLike, rng: np.random.Generator | None = None) -> Array | np.float64:
        """Noisy number of ones of each bag, a multiple of 2^-10.

        Parameters
        ----------
        labels : array_like of 0 and 1, shape (k,) for one bag or (n, k) for n bags
        rng : numpy.random.Generator, optional
            For tests only, as in `RandomizedResponse.release`.

        Returns
        -------
        float, or ndarray of float, shape (n,)
            Any real number: not clipped to [0, k].

        Raises
        ------
        InputError
        """
        sums = _sums(labels)
        noise = self._noise.draw(sums.size, word_source(rng, stacklevel=3)).reshape(sums.shape)
        return np.asarray((sums * _GRID + noise) / _GRID)[()]

    def posterior(self, eta: ArrayLike, output: ArrayLike, X: ArrayLike | None = None) -> Array:
        """P(y_i = 1 | eta, output), for continuous noise.

        Parameters
        ----------
        eta : array_like, shape (k,) or (n, k), in [0, 1]
        output : float, or array_like of float, shape (n,)
            Noisy sums.
        X : array_like, optional
            Not used, because the features add nothing to eta.

        Returns
        -------
        ndarray, the shape of ``eta``

        Raises
        ------
        InputError
            If an output is so far from what eta allows that its density is below 1e-290 times that of a likely one.

        Notes
        -----
        Theorem 6.3 of the paper (2023), optimal attacker A*. The noise has the weight e^(-epsilon abs(output - l))
        for l ones, up to a factor. O(k^2) a bag.
        """
        check_unused_features(X)
        bags, _ = as_bags(eta)
        return posterior(
            eta, self._weights(one_a_bag(array("output", output, None), len(bags))[:, None], bags.shape[1])
        )

    def _weights(self, seen: Array, k: int) -> Array:
        distance = np.abs(np.clip(seen, 0, k) - np.arange(k + 1))  # beyond the ends all weights fall alike
        return np.asarray(np.exp(-self.epsilon * (distance - distance.min(axis=1, keepdims=True))))


class GeometricLabelProportions(ByEpsilon):
    """The number of ones of each bag with two-sided geometric noise, clipped to 0..k.

        min(max(sum + Z, 0), k),   Pr[Z = z] = (1 - a) / (1 + a) a^|z|,   a = e^-epsilon:    epsilon-label-DP

    Parameters
    ----------
    epsilon : float in [1e-9, 1e6]
        Nats.

    Raises
    ------
    InputError

    Notes
    -----
    LLP+Geom in Section 4 of Busa-Fekete et al. (NeurIPS 2024).

    Examples
    --------
    Three labels with one 1: the probabilities of sums 0 to 3, and the mean of what `unbiased` makes of them.

    >>> import darrm
    >>> mechanism = darrm.labels.GeometricLabelProportions(1.0)
    >>> chances = mechanism.kernel(3)[1]
    >>> chances.round(3).tolist()
    [0.269, 0.462, 0.17, 0.099]
    >>> round(float(chances @ mechanism.unbiased([0, 1, 2, 3], 3)), 6)
    1.0
    >>> mechanism.release([[1, 0, 0], [0, 1, 1]]).shape
    (2,)
    """

    def __init__(self, epsilon: float) -> None:
        super().__init__(epsilon)
        self._noise = DiscreteLaplace(Fraction(self.epsilon))

    def release(self, labels: ArrayLike, rng: np.random.Generator | None = None) -> NDArray[np.int64] | np.int64:
        """Noisy number of ones of each bag, in 0..k; the noise is drawn exactly.

        Parameters
        ----------
        labels : array_like of 0 and 1, shape (k,) for one bag or (n, k) for n bags
        rng : numpy.random.Generator, optional
            For tests only, as in `RandomizedResponse.release`.

        Returns
        -------
        int, or ndarray of int, shape (n,)

        Raises
        ------
        InputError
        """
        sums = _sums(labels)
        noise = self._noise.draw(sums.size, word_source(rng, stacklevel=3)).reshape(sums.shape)
        return np.asarray(np.clip(sums + noise, 0, np.asarray(labels).shape[-1]))[()]

    def posterior(self, eta: ArrayLike, output: ArrayLike, X: ArrayLike | None = None) -> Array:
        """P(y_i = 1 | eta, output).

        Parameters
        ----------
        eta : array_like, shape (k,) or (n, k), in [0, 1]
        output : int, or array_like of int, shape (n,)
            Released numbers, before `unbiased`.
        X : array_like, optional
            Not used, because the features add nothing to eta.

        Returns
        -------
        ndarray, the shape of ``eta``

        Raises
        ------
        InputError
            If an output has a probability below 1e-290 under eta, among others.

        Notes
        -----
        O(k^2) a bag.
        """
        check_unused_features(X)
        bags, _ = as_bags(eta)
        seen = one_a_bag(_ones(output, bags.shape[1]), len(bags))[:, None]
        # Up to a factor: the weights of an output at an end fall as those inside do.
        return posterior(eta, np.exp(-self.epsilon * np.abs(seen - np.arange(bags.shape[1] + 1))))

    def unbiased(self, output: ArrayLike, k: int) -> Array:
        """Released numbers with the bias of the clipping taken out.

            k -> k + a / (1 - a),   0 -> -a / (1 - a),   others as they are:    the mean is the true sum

        Parameters
        ----------
        output : int or array_like of int in 0..k
        k : int >= 1
            Size of the bag.

        Returns
        -------
        ndarray of float, the shape of ``output``

        Raises
        ------
        InputError
        """
        k = whole("k", k)
        seen = _ones(output, k)
        beyond = math.exp(-self.epsilon) / -math.expm1(-self.epsilon)
        return np.asarray(seen + beyond * (seen == k) - beyond * (seen == 0))

    def kernel(self, k: int) -> Array:
        """Pr[output = o | l ones], shape (k + 1, k + 1): [l, o]."""
        k = whole("k", k, 1, MAX_BAG)
        l = np.arange(k + 1)
        weights = np.exp(-self.epsilon * np.abs(l[:, None] - l))
        weights[:, 1:k] *= -math.expm1(-self.epsilon)
        return np.asarray(weights / (1 + math.exp(-self.epsilon)))

"""Randomized response on labels: each label is released as it is, or flipped by a coin."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.errors import InputError
from darrm.mechanisms.random_bags import ByEpsilon, check_labels
from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import as_bags
from darrm.randomness.discrete import RealCoins
from darrm.randomness.words import word_source

_CHUNK = 1 << 18  # labels at a time, for memory


class RandomizedResponse(ByEpsilon):
    """Randomized response on 0/1 labels.

        Pr[output = y] = e^epsilon / (1 + e^epsilon),  for each label on its own:   epsilon-label-DP

    Parameters
    ----------
    epsilon : float in [1e-9, 1e6]
        Nats.

    Raises
    ------
    InputError

    Notes
    -----
    Section 2 of Busa-Fekete et al., "Auditing privacy mechanisms via label inference attacks" (NeurIPS 2024).
    """

    def __init__(self, epsilon: float) -> None:
        super().__init__(epsilon)
        self._coin = RealCoins(lambda which: 1 / (1 + Decimal(self.epsilon).exp()))

    @property
    def flip_probability(self) -> float:
        """1 / (1 + e^epsilon)."""
        small = math.exp(-self.epsilon)
        return small / (1 + small)

    def release(self, labels: ArrayLike, rng: np.random.Generator | None = None) -> NDArray[np.uint8]:
        """Labels, each flipped with exactly the flip probability.

        Parameters
        ----------
        labels : array_like of 0 and 1, shape (k,) or (n, k)
        rng : numpy.random.Generator, optional
            For tests only: the labels can then be predicted, which a `NotPrivateWarning` says. Without it, all
            randomness comes from the operating system.

        Returns
        -------
        ndarray of uint8, the shape of ``labels``

        Raises
        ------
        InputError
        """
        truth = check_labels(labels)
        draw = word_source(rng, stacklevel=3)
        flat = truth.ravel()
        for start in range(0, flat.size, _CHUNK):
            part = flat[start : start + _CHUNK]
            part ^= self._coin.flip(np.zeros(part.size, dtype=np.int64), draw)
        return flat.reshape(truth.shape)

    def posterior(self, eta: ArrayLike, output: ArrayLike) -> Array:
        """P(y_i = 1 | eta, output).

            eta (1 - pi) / (eta (1 - pi) + (1 - eta) pi)  for output 1,     eta pi / (eta pi + (1 - eta)(1 - pi))  for 0

        Parameters
        ----------
        eta : array_like, shape (k,) or (n, k), in [0, 1]
        output : array_like of 0 and 1, the shape of ``eta``

        Returns
        -------
        ndarray, the shape of ``eta``

        Raises
        ------
        InputError

        Notes
        -----
        Bayes. Section 4 of the paper prints minus signs in the denominators.
        """
        bags, single = as_bags(eta)
        seen = np.atleast_2d(check_labels(output, "output"))
        if seen.shape != bags.shape:
            raise InputError(f"output must have the shape of eta, {bags.shape}. Got {seen.shape}.")
        pi = self.flip_probability
        one, zero = np.where(seen == 1, 1 - pi, pi), np.where(seen == 1, pi, 1 - pi)
        total = bags * one + (1 - bags) * zero
        if not np.all(total > 0):
            raise InputError("An output has no chance under eta in float64, so nothing follows from it.")
        answer = np.asarray(bags * one / total)
        return answer[0] if single else answer

    def label_kernel(self) -> Array:
        """Pr[output = o | y = v], shape (2, 2): [v, o]."""
        pi = self.flip_probability
        return np.array([[1 - pi, pi], [pi, 1 - pi]])

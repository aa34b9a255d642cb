"""Randomized response on labels: each label is released unchanged, or replaced at random."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array
from darrm.errors import InputError
from darrm.mechanisms.class_labels import Labels, check_class_labels, check_class_probabilities, check_classes
from darrm.mechanisms.labelled_bag import check_unused_features
from darrm.mechanisms.random_bags import ByEpsilon, check_labels
from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import as_bags
from darrm.randomness.choices import uniform
from darrm.randomness.discrete import RealCoins
from darrm.randomness.words import word_source

_CHUNK = 1 << 18  # labels at a time, for memory


class RandomizedResponse(ByEpsilon):
    """Randomized response on labels of C classes, 0/1 labels by default.

        Pr[output = y] = e^epsilon / (e^epsilon + C - 1),  each other class as likely,  for each label on its own

    This is epsilon-label-DP.

    Parameters
    ----------
    epsilon : float in [1e-9, 1e6]
        Nats.
    classes : int in [2, 1000], default 2
        C. Labels are 0..C - 1.

    Raises
    ------
    InputError

    Notes
    -----
    Section 2 of Busa-Fekete et al., "Auditing privacy mechanisms via label inference attacks" (NeurIPS 2024); with more
    classes it is the k-ary randomized response after Warner (1965).

    Examples
    --------
    A label of three classes: the release probabilities, and the posterior of an attacker after output 0.

    >>> import darrm
    >>> mechanism = darrm.mechanisms.RandomizedResponse(1.0, classes=3)
    >>> mechanism.label_kernel()[0].round(4).tolist()
    [0.5761, 0.2119, 0.2119]
    >>> mechanism.posterior([0.2, 0.3, 0.5], 0).round(4).tolist()
    [0.4046, 0.2233, 0.3721]
    >>> mechanism.release([0, 1, 2, 2]).shape
    (4,)
    """

    def __init__(self, epsilon: float, classes: int = 2) -> None:
        super().__init__(epsilon)
        self.classes = check_classes(classes)
        others = self.classes - 1
        self._coin = RealCoins(lambda which: others / (others + Decimal(self.epsilon).exp()))

    def __repr__(self) -> str:
        return super().__repr__() if self.classes == 2 else f"RandomizedResponse({self.epsilon!r}, {self.classes})"

    def __reduce__(self) -> tuple[type[RandomizedResponse], tuple[float, int]]:  # type: ignore[override]
        return type(self), (self.epsilon, self.classes)

    @property
    def flip_probability(self) -> float:
        """(C - 1) / (e^epsilon + C - 1): the probability that another class is released."""
        small = (self.classes - 1) * math.exp(-self.epsilon)
        return small / (1 + small)

    def release(self, labels: ArrayLike, rng: np.random.Generator | None = None) -> Labels:
        """Labels, each changed with exactly the flip probability; every other class is then exactly as likely.

        Parameters
        ----------
        labels : array_like of int in 0..C - 1, shape (k,) or (n, k)
        rng : numpy.random.Generator, optional
            For tests only: the labels can then be predicted, which a `NotPrivateWarning` says. Without it, all
            randomness comes from the operating system.

        Returns
        -------
        ndarray of uint8, or of uint16 for more than 256 classes, the shape of ``labels``

        Raises
        ------
        InputError
        """
        truth = check_labels(labels) if self.classes == 2 else check_class_labels(labels, self.classes)
        draw = word_source(rng, stacklevel=3)
        flat = truth.ravel()
        for start in range(0, flat.size, _CHUNK):
            part = flat[start : start + _CHUNK]
            changed = self._coin.flip(np.zeros(part.size, dtype=np.int64), draw)
            if self.classes == 2:
                part ^= changed
            else:
                steps = 1 + uniform(np.full(int(changed.sum()), self.classes - 1), draw)
                part[changed] = (part[changed] + steps) % self.classes
        return flat.reshape(truth.shape)

    def posterior(self, eta: ArrayLike, output: ArrayLike, X: ArrayLike | None = None) -> Array:
        """P(y_i = 1 | eta, output); with more than two classes P(y_i = c | eta, output) for every class c.

            eta (1 - pi) / (eta (1 - pi) + (1 - eta) pi)  for output 1,     eta pi / (eta pi + (1 - eta)(1 - pi))  for 0
            C > 2:   eta_c W(c, output) / sum over b of eta_b W(b, output),    W the `label_kernel`

        Parameters
        ----------
        eta : array_like, shape (k,) or (n, k), in [0, 1]
            C > 2: shape (n, C), or (C,) for one label; probabilities of the classes, rows of sum 1.
        output : array_like of 0 and 1, the shape of ``eta``
            C > 2: array_like of int in 0..C - 1, shape (n,), or one int.
        X : array_like, optional
            Not used, because the features add nothing to eta.

        Returns
        -------
        ndarray, the shape of ``eta``

        Raises
        ------
        InputError

        Notes
        -----
        Bayes. Section 4 of the paper prints minus signs in the denominators. O(n C).
        """
        check_unused_features(X)
        if self.classes > 2:
            return self._posterior_of_classes(eta, output)
        bags, single = as_bags(eta)
        seen = np.atleast_2d(check_labels(output, "output"))
        if seen.shape != bags.shape:
            raise InputError(f"output must have the shape of eta, {bags.shape}. Got {seen.shape}.")
        pi = self.flip_probability
        one, zero = np.where(seen == 1, 1 - pi, pi), np.where(seen == 1, pi, 1 - pi)
        total = bags * one + (1 - bags) * zero
        if not np.all(total > 0):
            raise InputError("An output has probability 0 under eta in float64, so nothing follows from it.")
        answer = np.asarray(bags * one / total)
        return answer[0] if single else answer

    def _posterior_of_classes(self, eta: ArrayLike, output: ArrayLike) -> Array:
        prior, single = check_class_probabilities(eta, self.classes)
        seen = array("output", output, None, 0, self.classes - 1, "[]", wholes=True)
        if seen.shape != (() if single else (len(prior),)):
            raise InputError(f"output must have one class for each of {len(prior)} rows of eta. Got {seen.shape}.")
        joint = prior * self.label_kernel()[:, np.atleast_1d(seen).astype(np.intp)].T
        total = joint.sum(axis=1, keepdims=True)
        if not np.all(total > 0):
            raise InputError("An output has probability 0 under eta in float64, so nothing follows from it.")
        answer: Array = joint / total
        return np.asarray(answer[0] if single else answer)

    def label_kernel(self) -> Array:
        """Pr[output = o | y = v], shape (C, C): [v, o]."""
        pi = self.flip_probability
        if self.classes == 2:
            return np.array([[1 - pi, pi], [pi, 1 - pi]])
        kernel = np.full((self.classes, self.classes), pi / (self.classes - 1))
        np.fill_diagonal(kernel, 1 / (1 + (self.classes - 1) * math.exp(-self.epsilon)))
        return kernel

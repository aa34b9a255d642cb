"""Weighted aggregates of a bag of labelled records: random weights in place of noise on every label.

After the abstract of "Label differential privacy via aggregation" (weighted learning from bag aggregates, and noisy
weighted learning from label proportions), the only part that was available. The privacy cost of releases is computed in
`darrm.labels` (docs/aggregates.md).

The normal variates are float64 numbers: the inverse distribution function at 52 random bits, so nothing beyond 8.2
standard deviations and not every float64 in between. The privacy statements are for real numbers. Sums of rounded
products may tell more than the real sums would; unlike votes and counts, these releases are not exact.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import array, check_positive, choice
from darrm.errors import InputError
from darrm.mechanisms.labelled_bag import (
    check_bag,
    check_features,
    check_labels,
    check_output,
    column_space,
    posterior_by_enumeration,
    residual_of,
)
from darrm.mechanisms.scale_mixture import log_density
from darrm.numerics.arrays import Array
from darrm.randomness.coins import WordSource
from darrm.randomness.words import word_source


def standard_normals(n: int, draw: WordSource) -> Array:
    """n standard normal variates, each from one word: the inverse distribution function at its 52 top bits + 1/2."""
    from scipy.special import ndtri

    # With 53 bits the last of these would round to 1, whose inverse is infinite.
    return np.asarray(ndtri(((draw(n) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52))


class BagAggregate(NamedTuple):
    """Weighted sums of one bag."""

    features: Array  # shape (d,)
    label: float


class WeightedBagAggregates:
    """Weighted sums of features and of labels, with secret weights (weighted LBA).

        (sum over i of w_i x_i,  sum over i of w_i y_i),     w_i ~ N(0, 1) independent, never shown

    No noise is added. Label privacy rests on labels that are far from a linear function of the features. If they are
    such a function, the label of the aggregate is the same function of its features, and nothing is private.
    `darrm.labels.worst_delta` gives delta under a lower bound on the residual sum of squares of the bag.
    `darrm.labels.random_bag_delta` gives that of random bags under a lower bound on the loss of the data set.

    Notes
    -----
    Weighted learning from bag aggregates of the abstract (see the module). Least squares on many aggregates estimates
    the same coefficients as on the records, since the expected squared error of an aggregate is the sum of theirs.

    Examples
    --------
    One bag of three records with two features, the first of them 1:

    >>> import darrm
    >>> X, y = [[1, 30], [1, 45], [1, 60]], [0, 1, 1]
    >>> aggregate = darrm.labels.WeightedBagAggregates().release(X, y)
    >>> aggregate.features.shape, type(aggregate.label)
    ((2,), <class 'float'>)
    """

    def __repr__(self) -> str:
        return "WeightedBagAggregates()"

    def release(self, X: ArrayLike, y: ArrayLike, rng: np.random.Generator | None = None) -> BagAggregate:
        """The aggregate of one bag.

        Parameters
        ----------
        X : array_like, shape (k, d)
            Add a column of ones for an intercept.
        y : array_like, shape (k,)
        rng : numpy.random.Generator, optional
            For tests only: the weights can then be predicted, which a `NotPrivateWarning` says. Without it, all
            randomness comes from the operating system.

        Returns
        -------
        BagAggregate
            features (d,), label.

        Raises
        ------
        InputError
            If a shape is wrong or a number is not finite.
        """
        features, labels = check_bag(X, y)
        w = standard_normals(len(labels), word_source(rng, stacklevel=3))
        return BagAggregate(w @ features, float(w @ labels))

    def posterior(self, eta: ArrayLike, output: BagAggregate, X: ArrayLike | None = None) -> Array:
        """Probability of each 0/1 label to be 1, given the aggregate and the features. Costs 2^k.

            o | u ~ N(y'X (X'X)^+ u,  y'(I - H) y),     H the projection on the columns of X

        Parameters
        ----------
        eta : array_like, shape (k,), in [0, 1]
            Probability of each label to be 1 before, independent.
        output : BagAggregate or (features, label)
        X : array_like, shape (k, d)
            Must be passed: the released sums are of them.

        Returns
        -------
        ndarray, shape (k,)

        Raises
        ------
        InputError
            If X is not passed. If k is above 20: the exact posterior goes through all 2^k label vectors, and no shorter
            way is known here.

        Notes
        -----
        Labels with residual 0 give o for certain, up to a relative 1e-9; if any agree, they alone remain.
        """
        features = check_features(X, self)
        check_output(output, tuple)
        sums = array("output.features", output[0], (features.shape[1],), hint="Pass an aggregate of X.")
        label = float(array("output.label", output[1], ()))
        U = column_space(features)
        size = np.maximum(np.abs(features).max(axis=0), 1e-300)
        slope = np.linalg.lstsq((features / size).T, sums / size, rcond=None)[0]  # the least norm: X (X'X)^+ u

        def given_features(y: Array) -> Array:
            residual = residual_of(U, y.T).T
            variance = (residual**2).sum(axis=1)
            off = label - y @ slope
            sure = variance <= 1e-18 * y.shape[1]
            with np.errstate(divide="ignore", invalid="ignore"):
                spread = -(off**2) / (2 * variance) - np.log(variance) / 2
            agrees = np.abs(off) <= 1e-9 * (abs(label) + np.abs(slope).sum() + 1e-300)
            return np.where(sure, np.where(agrees, np.inf, -np.inf), spread)

        return posterior_by_enumeration(eta, len(features), given_features)


class NoisyAggregate(NamedTuple):
    """Weighted sum of the labels of one bag, and what its release shows of the noise and the weights."""

    label: float
    noised: NDArray[np.bool_]  # shape (k,): which labels got noise
    weights: Array | None  # shape (k,), or None if they are secret


class NoisyWeightedLabelProportions:
    """Weighted sum of labels, a fraction of which got normal noise first (noisy weighted LLP).

        sum over i of w_i (y_i + sigma g_i [i in S]),     w_i, g_i ~ N(0, 1) independent,  |S| = ceil(fraction k)

    S is a uniformly random set, drawn anew for each bag and shown. The weights are shown too, or kept secret: a learner
    who fits sum of w_i f(x_i) to the released number needs them. Privacy needs labels
    within the stated range, and nothing else of the data: `darrm.labels.noisy_delta`.

    Parameters
    ----------
    fraction : float in (0, 1]
    sigma : float > 0, in the unit of the labels
        1 in the abstract, for labels of bounded range.
    weights : "released" or "secret"

    Raises
    ------
    InputError

    Notes
    -----
    Noisy weighted learning from label proportions of the abstract (see the module), which does not say whether weights
    are shown. Without noise there is no label privacy (docs/aggregates.md).

    Examples
    --------
    One bag of four labels, of which a random half gets noise:

    >>> import darrm
    >>> mechanism = darrm.labels.NoisyWeightedLabelProportions(fraction=0.5, sigma=2.0)
    >>> aggregate = mechanism.release([0.0, 1.0, 1.0, 0.0])
    >>> int(aggregate.noised.sum()), aggregate.weights.shape
    (2, (4,))
    """

    def __init__(self, fraction: float, sigma: float, weights: Literal["released", "secret"] = "released") -> None:
        self.fraction = check_positive("fraction", fraction, 1)
        self.sigma = check_positive("sigma", sigma)
        self.weights = choice("weights", weights, ("released", "secret"))

    def __repr__(self) -> str:
        return f"NoisyWeightedLabelProportions({self.fraction!r}, {self.sigma!r}, weights={self.weights!r})"

    def release(self, y: ArrayLike, rng: np.random.Generator | None = None) -> NoisyAggregate:
        """The aggregate of one bag.

        Parameters
        ----------
        y : array_like, shape (k,)
        rng : numpy.random.Generator, optional
            For tests only, as in `WeightedBagAggregates.release`.

        Returns
        -------
        NoisyAggregate

        Raises
        ------
        InputError
        """
        labels = check_labels(y)
        k = labels.size
        draw = word_source(rng, stacklevel=3)
        noised = np.zeros(k, dtype=bool)
        # The places of the largest of k random words: ties have probability below k^2 2^-65 and depend on no label.
        noised[np.argsort(draw(k), kind="stable")[: noised_labels(k, self.fraction)]] = True
        w, g = standard_normals(k, draw), standard_normals(k, draw)
        label = float(w @ (labels + self.sigma * g * noised))
        return NoisyAggregate(label, noised, w if self.weights == "released" else None)

    def posterior(self, eta: ArrayLike, output: NoisyAggregate, X: ArrayLike | None = None) -> Array:
        """Probability of each 0/1 label to be 1, given the aggregate. Costs 2^k.

            o | w, S ~ N(w'y,  sigma^2 sum over S of w_i^2)
            o | S ~ a mixture of N(0, R^2) if the weights are secret (`darrm.mechanisms.scale_mixture`)

        Parameters
        ----------
        eta : array_like, shape (k,), in [0, 1]
        output : NoisyAggregate
        X : array_like, shape (k, d), optional
            Not used: given eta the features tell nothing more.

        Returns
        -------
        ndarray, shape (k,)

        Raises
        ------
        InputError
            If k is above 20: the exact posterior goes through all 2^k label vectors.
        """
        check_output(output, NoisyAggregate)
        array("output.label", output.label, ())
        if X is not None:
            check_features(X)
        noised, q = output.noised, int(output.noised.sum())
        if q < 1 or (output.weights is not None and output.weights.shape != noised.shape):
            raise InputError("output must hold noised and weights of one shape (k,), with at least one noised label.")
        if output.weights is not None:
            w, variance = output.weights, float(self.sigma**2 * (output.weights[noised] ** 2).sum())
            return posterior_by_enumeration(eta, noised.size, lambda y: -((output.label - y @ w) ** 2) / (2 * variance))

        @cache
        def density(outside: int, inside: int) -> float:
            return log_density(output.label, outside, inside, q, self.sigma)

        def by_ones(y: Array) -> Array:
            # Of 0/1 labels only the numbers of ones matter, outside S and in it.
            code = (y[:, ~noised].sum(axis=1) * (q + 1) + y[:, noised].sum(axis=1)).astype(np.int64)
            codes, which = np.unique(code, return_inverse=True)
            return np.array([density(*divmod(int(number), q + 1)) for number in codes])[which]

        return posterior_by_enumeration(eta, noised.size, by_ones)


def noised_labels(k: int, fraction: float) -> int:
    """ceil(fraction k), the number of labels of a bag of k with noise; rounding above an integer is removed."""
    return max(1, min(k, int(np.ceil(fraction * k - 1e-9))))

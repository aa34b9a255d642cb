"""Least squares on weighted aggregates of bags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from darrm._sklearn import BaseEstimator, RegressorMixin, check_is_fitted, check_records, check_weights
from darrm._validation import whole
from darrm.errors import InputError
from darrm.labels.learners.bag_classifier import flat_bags
from darrm.labels.mechanisms.weighted_aggregates import BagAggregate, NoisyAggregate
from darrm.mechanisms.random_bags import Bags
from darrm.numerics.arrays import Array


class AggregateRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Least squares on weighted sums of features and labels.

        minimise  sum over bags of (o - u . w)^2,     u = sum over i of w_i x_i,   o = sum over i of w_i y_i  (+ noise)

    The expected squared error of an aggregate over its weights is the sum of those of its records and the noise, which
    no w changes. So w estimates the least-squares coefficients on the records.

    Parameters
    ----------
    intercept_column : int, optional
        The feature that is 1 for every record; its coefficient becomes ``intercept_``. Aggregates have no other
        intercept: a column of ones belongs into the records before they are aggregated.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
        0 at ``intercept_column``.
    intercept_ : float
        0 without ``intercept_column``.
    rank_ : int
        Of the aggregates' features. Below d the coefficients are those of least norm.
    n_features_in_ : int

    Notes
    -----
    After the abstract of "Label differential privacy via aggregation" (weighted LBA and noisy weighted LLP), by which
    the loss on the records is within 1 + o(1) of the least. For LBA of bags with like moments the ratio has mean
    1 + d / (bags - d - 1). Its tails fall exponentially in the number of bags (docs/aggregates.md, Propositions 13 and
    14). The privacy cost is that of the releases; learning from them has no further cost. O(bags d^2).

    Examples
    --------
    Labels 1 + 2 x and an error, from weighted sums of 200 bags of ten:

    >>> import darrm
    >>> import numpy as np
    >>> rng, mechanism = np.random.default_rng(0), darrm.labels.WeightedBagAggregates()
    >>> X = np.column_stack([np.ones(2000), rng.uniform(size=2000)])
    >>> y = X @ [1.0, 2.0] + rng.normal(0.0, 0.5, 2000)
    >>> aggregates = [mechanism.release(X[bag], y[bag]) for bag in darrm.mechanisms.bags(2000, 10).indices]
    >>> model = darrm.labels.learners.AggregateRegressor(intercept_column=0).fit(aggregates)
    >>> model.coef_.shape, bool(1 < model.coef_[1] < 3)
    ((2,), True)
    """

    def __init__(self, intercept_column: int | None = None) -> None:
        self.intercept_column = intercept_column

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags

    def fit(
        self,
        X: ArrayLike | Sequence[BagAggregate],
        y: ArrayLike | Sequence[NoisyAggregate] | None = None,
        bags: Bags | Sequence[ArrayLike] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> AggregateRegressor:
        """Learn from aggregates, in one of three forms.

        ``fit(aggregates)`` with releases of `WeightedBagAggregates`; ``fit(features, labels)`` with their parts as
        arrays; ``fit(X, releases, bags)`` with releases of `NoisyWeightedLabelProportions` that show their weights.

        Parameters
        ----------
        X : sequence of BagAggregate, or array_like, shape (bags, d), or records, shape (n, d)
        y : array_like, shape (bags,), or sequence of NoisyAggregate
        bags : Bags or sequence of arrays of int, optional
            Records of each noisy release, in the order in which their labels were released.
        sample_weight : array_like of floats >= 0, shape (bags,), optional

        Returns
        -------
        self

        Raises
        ------
        InputError
            Among others if the weights of a noisy release are secret.
        """
        features: Any
        labels: Any
        if bags is not None:
            features, labels = self._from_records(X, y, bags)
        elif y is None:
            features, labels = _parts(X)
        else:
            features, labels = X, y
        features, labels = check_records(self, features, labels, y_numeric=True)
        column = self.intercept_column
        if column is not None:
            column = whole("intercept_column", column, 0, features.shape[1] - 1, hint="Pass a column of X, or None.")
        root = np.sqrt(check_weights(sample_weight, len(labels)))
        coefficients, _, rank, _ = np.linalg.lstsq(features * root[:, None], labels * root, rcond=None)
        self.coef_, self.intercept_, self.rank_ = coefficients, 0.0, int(rank)
        if column is not None:
            self.intercept_ = float(coefficients[column])
            self.coef_[column] = 0.0
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predictions for records.

        Parameters
        ----------
        X : array_like, shape (n, d)
            With the same columns as the aggregates; ``intercept_column`` is not read.

        Returns
        -------
        ndarray, shape (n,)

        Raises
        ------
        InputError
        """
        check_is_fitted(self)
        return np.asarray(check_records(self, X, reset=False) @ self.coef_ + self.intercept_)

    def _from_records(self, X: Any, y: Any, bags: Bags | Sequence[ArrayLike]) -> tuple[Array, Array]:
        """Weighted sums of features by the weights that noisy releases show, and their labels."""
        records = check_records(self, X)
        members, starts = flat_bags(bags, len(records))
        releases = list(y) if isinstance(y, Sequence) else []
        if len(releases) != starts.size or not all(isinstance(release, NoisyAggregate) for release in releases):
            raise InputError(f"y must be a list of {starts.size} releases of NoisyWeightedLabelProportions, one a bag.")
        if any(release.weights is None for release in releases):
            raise InputError('The weights of a release are secret. Release with weights="released" to learn from it.')
        sizes = np.diff(starts, append=members.size)
        weights = [np.asarray(release.weights, dtype=np.float64) for release in releases]
        if [w.size for w in weights] != sizes.tolist():
            raise InputError("Each release must have as many weights as its bag has records.")
        sums = np.add.reduceat(np.concatenate(weights)[:, None] * records[members], starts, axis=0)
        return sums, np.array([release.label for release in releases])


def _parts(aggregates: Any) -> tuple[Array, Array]:
    """Features and labels of releases of `WeightedBagAggregates`."""
    releases = list(aggregates) if isinstance(aggregates, Sequence) else []
    if not releases or not all(isinstance(release, BagAggregate) for release in releases):
        raise InputError(
            "Without y, X must be a list of releases of WeightedBagAggregates. This requires y to be passed, but the "
            "target y is None."
        )
    return np.array([release.features for release in releases]), np.array([release.label for release in releases])

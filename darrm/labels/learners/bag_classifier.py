"""Proportion matching: logistic regression on the label proportions of bags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._sklearn import check_records, check_weights, two_classes
from darrm._validation import array, choice
from darrm.errors import InputError
from darrm.labels.learners.linear_classifier import LinearClassifier
from darrm.labels.learners.proportion_loss import Indices, Loss
from darrm.labels.mechanisms.label_proportions import (
    GeometricLabelProportions,
    LabelProportions,
    LaplaceLabelProportions,
)
from darrm.mechanisms.random_bags import Bags
from darrm.numerics.arrays import Array

Mechanism = LabelProportions | LaplaceLabelProportions | GeometricLabelProportions


def flat_bags(bags: Bags | Sequence[ArrayLike], n: int) -> tuple[Indices, Indices]:
    """Bags of records 0..n-1 one after another, and where each begins; `InputError` if they are none."""
    listed = bags.indices if isinstance(bags, Bags) else bags
    if isinstance(listed, np.ndarray) and listed.ndim == 2 and listed.size and listed.dtype.kind in "iu":
        return _within(listed.ravel(), n), np.arange(0, listed.size, listed.shape[1])
    try:
        arrays: list[NDArray[Any]] = [np.asarray(bag) for bag in listed]
    except (TypeError, ValueError):
        raise InputError(f"bags must be Bags or a list of arrays of indices. Got {type(bags).__name__}.") from None
    if not arrays or not all(bag.ndim == 1 and bag.size and bag.dtype.kind in "iu" for bag in arrays):
        raise InputError("bags must be Bags or a list of arrays of integers of shape (k,), none of them empty.")
    return _within(np.concatenate(arrays), n), np.cumsum([0, *(bag.size for bag in arrays[:-1])])


def _within(members: NDArray[Any], n: int) -> Indices:
    if not (members.min() >= 0 and members.max() < n):
        raise InputError(
            f"bags must hold indices in [0, n - 1] = [0, {n - 1}]. Got {members.min()} to {members.max()}."
        )
    return members.astype(np.intp)


class BagClassifier(LinearClassifier):
    """Logistic regression by proportion matching (PropMatch) on the released sums of bags.

        minimise  C sum of l(q_i, t_i)  +  |w|^2 / 2,     q_i = mean over bag i of 1 / (1 + exp(-(x . w + b)))
        l(q, t) = -t log q - (1 - t) log(1 - q)    or    (q - t)^2

    t_i is the released sum over the size of the bag, with the noise's bias taken out and not clipped: then the expected
    gradient is that without noise. Bags of one without noise are plain logistic regression.

    Parameters
    ----------
    mechanism : LabelProportions, LaplaceLabelProportions or GeometricLabelProportions, optional
        What released the sums; None is as LabelProportions, or plain labels if there are no bags.
    loss : "cross_entropy" or "square"
    C : float > 0
        Inverse strength of the penalty on the coefficients.
    fit_intercept : bool
    tol : float > 0
        Largest entry allowed in the gradient of the objective over C times the number of bags, features in units of
        their root mean square.
    max_iter : int >= 1
    solver : "lbfgs" or "adam"
        Adam stops after its epochs without a warning, whether or not it is near a minimum, or one exists.
    learning_rate, epochs, batch_size : float > 0, int >= 1, int >= 1
        Of Adam: step, in units of 1 / root mean square of a feature; passes over the bags; records of a step, about.
    random_state : int, optional
        Seed of the order in which Adam takes the bags.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
        0 and 1, if y holds sums.
    coef_ : ndarray, shape (1, d)
    intercept_ : ndarray, shape (1,)
    n_iter_ : int
    gradient_norm_ : float
        Largest entry of that gradient at the end.
    converged_ : bool
        Whether it is at most ``tol``.
    n_features_in_ : int

    Notes
    -----
    The privacy cost is that of the releases; learning from them has no further cost. The features are not protected.
    Section 2 and Theorem 6.1 of Busa-Fekete et al., "A unified analysis of label inference attacks" (2023); debiasing
    of clipped noise: Section 4 of their paper at NeurIPS 2024. Beyond bags of one the objective is not convex: L-BFGS
    starts at 0 and finds a stationary point. O(n d) an iteration.

    Examples
    --------
    Labels that are 1 where the feature is positive, from their sums in bags of four:

    >>> import darrm
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(400, 1))
    >>> bags, mechanism = darrm.mechanisms.bags(400, 4), darrm.labels.LabelProportions()
    >>> sums = mechanism.release((X[bags.indices, 0] > 0).astype(int))
    >>> model = darrm.labels.learners.BagClassifier(mechanism).fit(X, sums, bags)
    >>> model.predict([[-1.0], [1.0]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        mechanism: Mechanism | None = None,
        *,
        loss: Loss = "cross_entropy",
        C: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-7,
        max_iter: int = 1000,
        solver: Literal["lbfgs", "adam"] = "lbfgs",
        learning_rate: float = 1e-2,
        epochs: int = 20,
        batch_size: int = 256,
        random_state: int | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        bags: Bags | Sequence[ArrayLike] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> BagClassifier:
        """Learn from released sums.

        Parameters
        ----------
        X : array_like or sparse matrix, shape (n, d)
            Records; those in no bag are not used.
        y : array_like, shape (bags,)
            Released sums, as the mechanism gives them. Without bags and mechanism: labels of two classes, shape (n,).
        bags : Bags or sequence of arrays of int, optional
            Records of each bag. By default each record is a bag of its own.
        sample_weight : array_like of floats >= 0, shape (bags,), optional
            A bag of weight 2 counts as two. All bags count alike by default, whatever their size.

        Returns
        -------
        self

        Raises
        ------
        InputError
            Among others if the mean of the targets is not in (0, 1), so that there is no best intercept.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If ``converged_`` is False.
        """
        if self.mechanism is not None and not isinstance(self.mechanism, Mechanism):
            raise InputError(f"mechanism must be one of label proportions, or None. Got {self.mechanism!r}.")
        choice("loss", self.loss, ("cross_entropy", "square"))
        sums: NDArray[Any]
        if bags is None:
            records, sums = check_records(self, X, y, accept_sparse="csr", y_numeric=self.mechanism is not None)
            members = starts = np.arange(len(sums))
        else:
            records = check_records(self, X, accept_sparse="csr")
            members, starts = flat_bags(bags, records.shape[0])
            sums = array("y", y, (starts.size,), hint="Pass one sum for each bag.")
        if bags is None and self.mechanism is None:
            self.classes_, codes = two_classes(sums)
            targets = codes.astype(np.float64)
        else:
            self.classes_ = np.array([0, 1])
            targets = self._proportions(array("y", sums, ("bags",)), np.diff(starts, append=members.size))
        self._minimise(records, members, starts, targets, check_weights(sample_weight, starts.size), self.loss)
        return self

    def _proportions(self, sums: Array, sizes: Indices) -> Array:
        """Unbiased estimates of the proportions of ones."""
        if isinstance(self.mechanism, LaplaceLabelProportions):
            return np.asarray(sums / sizes)
        if not np.all((sums >= 0) & (sums <= sizes) & (sums == np.floor(sums))):
            raise InputError("y must be integers from 0 to the size of each bag, as the mechanism releases.")
        if isinstance(self.mechanism, GeometricLabelProportions):
            sums = sums.copy()  # the caller's own array may have come through the checks
            for k in np.unique(sizes).tolist():
                of_k = sizes == k
                sums[of_k] = self.mechanism.unbiased(sums[of_k], k)
        return np.asarray(sums / sizes)

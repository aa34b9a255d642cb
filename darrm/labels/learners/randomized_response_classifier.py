"""Logistic regression on labels after randomized response."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from darrm._sklearn import check_records, check_weights, two_classes
from darrm.errors import InputError
from darrm.labels.learners.linear_classifier import LinearClassifier
from darrm.labels.learners.proportion_loss import debiased_labels
from darrm.mechanisms.randomized_response import RandomizedResponse


class RandomizedResponseClassifier(LinearClassifier):
    """Logistic regression with the debiased cross-entropy on labels released by `RandomizedResponse`.

        minimise  C sum of ((1 - rho) l(z_i, y_i) - rho l(z_i, 1 - y_i)) / (1 - 2 rho)  +  |w|^2 / 2,    z = x . w + b
        l(z, y) = log(1 + e^z) - y z,    rho = 1 / (1 + e^epsilon)

    Since l is affine in y, this is log(1 + e^z) - t z with t = (y - rho) / (1 - 2 rho): convex, as the noise only turns
    the linear part, and in expectation over the noise the loss on the true labels.

    Parameters
    ----------
    epsilon : float in [1e-9, 1e6], in nats
        Of the release; 1e6 stands for labels without noise.
    mechanism : RandomizedResponse, optional
        In place of epsilon: the mechanism that released the labels.
    C : float > 0
        Inverse strength of the penalty on the coefficients, as in scikit-learn.
    fit_intercept : bool
    tol : float > 0
        Largest entry allowed in the gradient of the objective over C n, features in units of their root mean square.
    max_iter : int >= 1
    solver : "lbfgs" or "adam"
        Adam stops after its epochs without a warning, whether or not it is near a minimum, or one exists.
    learning_rate, epochs, batch_size : float > 0, int >= 1, int >= 1
        Of Adam: step, in units of 1 / root mean square of a feature; passes over the records; records of a step, about.
    random_state : int, optional
        Seed of the order in which Adam takes the records.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
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
    Section 4 of Busa-Fekete et al. (NeurIPS 2024) and Section 5 of their "A unified analysis of label inference
    attacks" (2023) debias in the same way. O(n d) an iteration of L-BFGS; the minimum is unique.

    Examples
    --------
    Labels that are mostly 1 where the feature is positive, released with epsilon 2:

    >>> import darrm
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 1))
    >>> labels = (X[:, 0] + 0.5 * rng.logistic(size=1000) > 0).astype(int)
    >>> released = darrm.mechanisms.RandomizedResponse(2.0).release(labels)
    >>> model = darrm.labels.learners.RandomizedResponseClassifier(epsilon=2.0).fit(X, released)
    >>> model.predict([[-2.0], [2.0]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        mechanism: RandomizedResponse | None = None,
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
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.C = C
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> RandomizedResponseClassifier:
        """Learn from released labels.

        Parameters
        ----------
        X : array_like or sparse matrix, shape (n, d)
        y : array_like of two classes of any dtype, shape (n,)
            Labels as released. Both classes must occur.
        sample_weight : array_like of floats >= 0, shape (n,), optional
            A weight of 2 counts as two records with the same released label.

        Returns
        -------
        self

        Raises
        ------
        InputError
            Among others if the mean of the debiased labels is not in (0, 1), so that there is no best intercept.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If ``converged_`` is False.
        """
        mechanism = self._released_by()
        records, labels = check_records(self, X, y, accept_sparse="csr")
        self.classes_, codes = two_classes(labels)
        one_by_one: Any = np.arange(codes.size)
        targets = debiased_labels(codes, mechanism.epsilon)
        self._minimise(records, one_by_one, one_by_one, targets, check_weights(sample_weight, codes.size))
        return self

    def _released_by(self) -> RandomizedResponse:
        if (self.epsilon is None) == (self.mechanism is None):
            raise InputError("Pass either epsilon or mechanism: how the labels were released. Got both or neither.")
        if self.mechanism is None:
            return RandomizedResponse(self.epsilon)  # type: ignore[arg-type]  # it refuses what is no number
        if not isinstance(self.mechanism, RandomizedResponse):
            raise InputError(f"mechanism must be a RandomizedResponse. Got {self.mechanism!r}.")
        return self.mechanism

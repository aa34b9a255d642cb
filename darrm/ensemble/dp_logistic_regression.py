"""Logistic regression by DP-SGD."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._sklearn import check_is_fitted, check_records, two_classes
from darrm._validation import check_positive
from darrm.ensemble.dp_classifier import DPClassifier
from darrm.ensemble.dp_sgd import train
from darrm.numerics.arrays import Array


class DPLogisticRegression(DPClassifier):
    """Logistic regression by DP-SGD: the fitted model is (epsilon, delta)-differentially private.

        w  <-  w - lr / (q n) * (sum over a Poisson sample of clip(gradient, C) + N(0, (sigma C)^2 I)),   from 0

    The model is the average of the iterates; sigma is the least that an accountant of privacy loss distributions
    allows.

    Parameters
    ----------
    epsilon : float in (0, 100], nats
    delta : float in (0, 1)
        Both must be given.
    sampling_rate : float in (0, 1]
        q, the probability of a record to be in the sample of a step.
    steps : int, at least 1
    clip : float > 0
        C, the largest L2 norm of the gradient of one record, intercept included.
    learning_rate : float > 0
    fit_intercept : bool
    intercept_scaling : float > 0
        The constant feature whose coefficient, times this, is the intercept.
    adjacency : {"replace-one", "add-remove"}
    n_records : float >= 1, optional
        A number near n that does not depend on the data, to divide by. Needed for "add-remove", where n is private;
        the number of rows otherwise.
    classes : sequence of two labels, optional
        Taken from y if not given, which assumes that the two labels that occur are public.
    random_state : optional
        For tests only: the noise can then be predicted, which a `NotPrivateWarning` says. Without it, all randomness
        comes from the operating system.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
    coef_ : ndarray, shape (1, d)
    intercept_ : ndarray, shape (1,)
    n_iter_ : int
        Steps.
    epsilon_, delta_, adjacency_
        The privacy of the model: ``epsilon_`` is the accountant's upper bound, at most ``epsilon``.
    event_ : dp_accounting.DpEvent
        The training as an event to charge to a ledger: ``ledger.charge(model.event_, adjacency=model.adjacency_)``. It
        composes more tightly than (``epsilon_``, ``delta_``).
    seeded_ : bool
        Whether the noise came from a ``random_state``, whatever the parameter is now. If so, the model is non-private,
        its stated privacy is that of a model with secret noise, and an ensemble refuses it as a private voter.
    noise_multiplier_ : float
        sigma.
    n_features_in_ : int

    Notes
    -----
    Abadi et al., "Deep learning with differential privacy", CCS 2016; proof in `darrm.ensemble.dp_sgd`. Features may
    have any size, because the gradient of each row is clipped; but learning needs rows of norm about 1: divide by
    constants that do not depend on the data. Scaling by their mean or range is not private. Choose the parameters in
    the same way. All records weigh alike: `fit` takes no weights. An error of `fit` can depend on the data, and no
    epsilon covers that. The noise is made of float64 numbers, not exactly normal. O(steps n d), after a calibration of
    about a second that is kept.

    Examples
    --------
    >>> import darrm
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (2000, 2))
    >>> y = X[:, 0] > 0
    >>> model = darrm.ensemble.DPLogisticRegression(epsilon=2.0, delta=1e-6).fit(X, y)
    >>> bool(0.99 < model.epsilon_ / 2.0 <= 1)
    True
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        sampling_rate: float = 0.5,
        steps: int = 20,
        clip: float = 1.0,
        learning_rate: float = 1.2,
        fit_intercept: bool = True,
        intercept_scaling: float = 0.5,
        adjacency: str = "replace-one",
        n_records: float | None = None,
        classes: Sequence[Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.sampling_rate = sampling_rate
        self.steps = steps
        self.clip = clip
        self.learning_rate = learning_rate
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.adjacency = adjacency
        self.n_records = n_records
        self.classes = classes
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> DPLogisticRegression:
        """Train on private records.

        Parameters
        ----------
        X : array_like, shape (n, d)
        y : array_like of two classes of any dtype, shape (n,)

        Returns
        -------
        self

        Raises
        ------
        InputError, MissingExtraError
        """
        target = self._target()
        scaling = check_positive("intercept_scaling", self.intercept_scaling)
        records, labels = check_records(self, X, y)
        classes, codes = two_classes(labels) if self.classes is None else self._codes(labels, 2)
        options, costs = self._options(target, len(records))
        constant = np.full((len(records), int(bool(self.fit_intercept))), scaling)
        weights = train(np.hstack([records, constant]), codes, **options)
        self.classes_ = classes
        self.__dict__.update(costs)
        self.coef_ = weights[None, : records.shape[1]]
        self.intercept_ = np.array([weights[-1] * scaling if self.fit_intercept else 0.0])
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Scores, shape (n,): log-odds of the second class, for X of shape (n, d)."""
        check_is_fitted(self)
        return np.asarray(check_records(self, X, reset=False) @ self.coef_[0] + self.intercept_[0])

    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities of both classes in the order of ``classes_``, shape (n, 2), for X of shape (n, d)."""
        from scipy.special import expit

        scores = self.decision_function(X)
        return np.stack([expit(-scores), expit(scores)], axis=1)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likelier class of each record, shape (n,), for X of shape (n, d).

        Any number of answers about public X has no further privacy cost. Answers about private X are a release of X.
        """
        is_second = self.decision_function(X) > 0
        return np.asarray(self.classes_[is_second.astype(np.intp)])

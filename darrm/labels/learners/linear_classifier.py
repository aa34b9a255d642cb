"""The base of the classifiers: a linear score, and the minimum of a penalised proportion loss."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._sklearn import (
    BaseEstimator,
    ClassifierMixin,
    ConvergenceWarning,
    check_is_fitted,
    check_records,
)
from darrm._validation import check_positive, choice, whole
from darrm.errors import InputError
from darrm.labels.learners.proportion_loss import Indices, Loss, proportion_loss
from darrm.numerics.arrays import Array


class LinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the classifiers: P(second class | x) = 1 / (1 + exp(-(x . coef_ + intercept_))).

    Subclasses have the parameters C, fit_intercept, tol, max_iter, solver, learning_rate, epochs, batch_size and
    random_state, and call `_minimise`.
    """

    C: float
    fit_intercept: bool
    tol: float
    max_iter: int
    solver: str
    learning_rate: float
    epochs: int
    batch_size: int
    random_state: int | None
    classes_: NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def decision_function(self, X: ArrayLike) -> Array:
        """Scores: log-odds of the second class.

        Parameters
        ----------
        X : array_like or sparse matrix, shape (n, d)

        Returns
        -------
        ndarray, shape (n,)

        Raises
        ------
        InputError
        """
        check_is_fitted(self)
        records = check_records(self, X, accept_sparse="csr", reset=False)
        return np.asarray(records @ self.coef_[0] + self.intercept_[0])

    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities of both classes for each record.

        Parameters
        ----------
        X : array_like or sparse matrix, shape (n, d)

        Returns
        -------
        ndarray, shape (n, 2), in the order of ``classes_``

        Raises
        ------
        InputError
        """
        from scipy.special import expit

        scores = self.decision_function(X)
        return np.stack([expit(-scores), expit(scores)], axis=1)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likelier class of each record.

        Parameters
        ----------
        X : array_like or sparse matrix, shape (n, d)

        Returns
        -------
        ndarray, shape (n,)

        Raises
        ------
        InputError
        """
        is_second = self.decision_function(X) > 0
        return np.asarray(self.classes_[is_second.astype(np.intp)])

    def _minimise(
        self, X: Any, members: Indices, starts: Indices, targets: Array, weights: Array, loss: Loss = "cross_entropy"
    ) -> None:
        """Set coef_ and intercept_ to a stationary point of  C sum of weight loss(bag) + |coef|^2 / 2.

        Bag i holds the records members[starts[i]], ... The objective is divided by C times the sum of weights, and
        the coefficients are measured in 1 / root mean square of their feature, so that ``tol`` has no unit.
        """
        from scipy.optimize import minimize

        total = float(weights.sum())
        penalty = 1 / (check_positive("C", self.C) * total)
        tol = check_positive("tol", self.tol)
        max_iter = whole("max_iter", self.max_iter)
        mean = float(weights @ targets) / total
        # Along the intercept the loss tends to the mean times its rise on one side, 1 - mean on the other.
        adam = choice("solver", self.solver, ("lbfgs", "adam")) == "adam"
        if self.fit_intercept and not adam and not 0 < mean < 1:
            raise InputError(
                f"The mean of the labels, noise taken out, must be in (0, 1): with one class, or with noise as large "
                f"as that, no intercept is the best. Got {mean:.6g}. Add records, or pass fit_intercept=False."
            )
        sizes = np.diff(starts, append=members.size)
        shares = weights / total
        squares = X.multiply(X).tocsr() if hasattr(X, "multiply") else X**2
        unit = np.sqrt(squares.T @ np.bincount(members, np.repeat(shares / sizes, sizes), minlength=X.shape[0]))
        unit[unit == 0] = 1.0

        def objective(u: Array) -> tuple[float, Array]:
            w = u[:-1] / unit
            losses, slopes = proportion_loss((X @ w + u[-1])[members], starts, targets, loss)
            by_record = np.bincount(members, slopes * np.repeat(shares, sizes), minlength=X.shape[0])
            gradient = np.append((X.T @ by_record + penalty * w) / unit, by_record.sum() * bool(self.fit_intercept))
            return float(shares @ losses + penalty * (w @ w) / 2), gradient

        if adam:
            data = (X, members, starts, sizes, targets, shares, unit)
            u, self.n_iter_ = self._adam(data, penalty, loss)
            self.coef_, self.intercept_ = (u[:-1] / unit)[None], u[-1:]
            self.gradient_norm_ = float(np.abs(objective(u)[1]).max())
            self.converged_ = self.gradient_norm_ <= tol
            return
        minimum = minimize(
            objective,
            np.zeros(X.shape[1] + 1),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, "maxfun": 20 * max_iter, "gtol": tol, "ftol": 0.0},
        )
        self.coef_ = (minimum.x[:-1] / unit)[None]
        self.intercept_ = minimum.x[-1:]
        self.n_iter_ = int(minimum.nit)
        self.gradient_norm_ = float(np.abs(objective(minimum.x)[1]).max())
        self.converged_ = self.gradient_norm_ <= tol
        if not self.converged_:
            warnings.warn(
                f"The gradient is {self.gradient_norm_:.3g} after {self.n_iter_} iterations, above tol = {tol:g}. "
                "Centre the features, raise max_iter or tol, or lower C.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _adam(self, data: tuple[Any, ...], penalty: float, loss: Loss) -> tuple[Array, int]:
        """Coefficients in units of the features after ``epochs`` passes over the bags in random order, and the steps.

        A step takes bags of about ``batch_size`` records; its gradient is unbiased for that of the objective.
        """
        X, members, starts, sizes, targets, shares, unit = data
        rate, size = check_positive("learning_rate", self.learning_rate), whole("batch_size", self.batch_size)
        seed = self.random_state
        rng = np.random.default_rng(None if seed is None else whole("random_state", seed, 0, 2**32 - 1))
        found = np.zeros(unit.size + 1)
        moves = np.ones(found.size, dtype=bool)
        if hasattr(X, "getnnz"):  # the coefficient of a column of zeros stays 0
            moves[:-1] = X.getnnz(axis=0) > 0
            X, unit = X[:, np.flatnonzero(moves[:-1])], unit[moves[:-1]]
        n, largest = starts.size, int(sizes.max())
        batches = -(-n // max(1, size * n // members.size))
        rows = members.reshape(n, largest) if members.size == n * largest else None  # bags of one size
        firsts = largest * np.arange(n)
        u, mean, square, gradient, step = np.zeros((5, unit.size + 1))
        steps = 0
        for _ in range(whole("epochs", self.epochs)):
            for batch in np.array_split(rng.permutation(n), batches):
                k = sizes[batch]
                if rows is None:
                    first = np.cumsum(k) - k
                    records = members[np.repeat(starts[batch] - first, k) + np.arange(k.sum())]
                else:
                    first, records = firsts[: batch.size], rows[batch].ravel()
                part, w = X[records], u[:-1] / unit
                _, slopes = proportion_loss(part @ w + u[-1], first, targets[batch], loss)
                slopes *= np.repeat(shares[batch] * (n / batch.size), k)
                np.multiply(w, penalty, out=gradient[:-1])
                gradient[:-1] += part.T @ slopes
                gradient[:-1] /= unit
                gradient[-1] = slopes.sum() * bool(self.fit_intercept)
                steps += 1
                mean += 0.1 * (gradient - mean)
                np.square(gradient, out=gradient)
                gradient -= square
                gradient *= 0.001
                square += gradient
                np.divide(square, 1 - 0.999**steps, out=step)
                np.sqrt(step, out=step)
                step += 1e-8
                np.divide(mean, step, out=step)
                step *= rate / (1 - 0.9**steps)
                u -= step
        found[moves] = u
        return found, steps

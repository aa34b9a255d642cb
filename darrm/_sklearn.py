"""The only import of scikit-learn, and checks of the arguments of fit and predict."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import array
from darrm.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from darrm._validation import Array

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.frozen import FrozenEstimator
    from sklearn.utils import get_tags
    from sklearn.utils.metaestimators import _BaseComposition as BaseComposition
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import _check_method_params as check_method_params
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data
except ImportError:
    raise MissingExtraError(
        "The estimators of darrm need scikit-learn of at least 1.6. Run: pip install 'darrm[experiments]'"
    ) from None

__all__ = [
    "BaseComposition",
    "BaseEstimator",
    "ClassifierMixin",
    "ConvergenceWarning",
    "FrozenEstimator",
    "RegressorMixin",
    "available_if",
    "check_is_fitted",
    "check_method_params",
    "check_records",
    "check_table",
    "check_weights",
    "get_tags",
    "rows",
    "two_classes",
]

_NOTHING = "no_validation"  # scikit-learn's word for a missing X or y


def check_records(estimator: Any, X: ArrayLike, y: Any = _NOTHING, **options: Any) -> Any:
    """X, or X and y, checked by scikit-learn; whatever it refuses raises an `InputError`."""
    try:
        return validate_data(estimator, X, y, dtype=np.float64, **options)
    except (TypeError, ValueError) as error:
        if isinstance(error, TypeError) and not hasattr(X, "toarray"):  # not of a sparse matrix
            raise
        raise InputError(" ".join(str(error).split())) from None


def check_table(estimator: Any, X: Any, y: Any = _NOTHING, *, reset: bool = True) -> Any:
    """X, or X and y, for an estimator that hands X on: a pandas or polars frame stays what it is, of any types.

    Of a frame only names and number of columns are checked; the rest is for the classifiers that it goes to. Anything
    else is checked as by `check_records`, sparse or with NaN if the tags of the estimator say so.
    """
    if not _is_frame(X):
        tags = get_tags(estimator).input_tags
        sparse, finite = "csr" if tags.sparse else False, "allow-nan" if tags.allow_nan else True
        return check_records(estimator, X, y, accept_sparse=sparse, ensure_all_finite=finite, reset=reset)
    if 0 in X.shape:
        raise InputError(f"X must have rows and columns. Got a frame of shape {X.shape}.")
    both = not (isinstance(y, str) and y == _NOTHING)
    try:
        labels = validate_data(estimator, _NOTHING, y) if both else None  # first: it forgets the names of columns
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if both:
            check_consistent_length(X, labels)
    except ValueError as error:
        raise InputError(" ".join(str(error).split())) from None
    return (X, labels) if both else X


def rows(X: Any, indices: NDArray[np.intp]) -> Any:
    """The given rows of an array, a sparse matrix, or a pandas or polars frame."""
    return X.iloc[indices] if hasattr(X, "iloc") else X[indices]


def _is_frame(X: Any) -> bool:
    """Whether X is a frame of pandas or polars; if it is, its library is loaded already."""
    loaded = (sys.modules.get(name) for name in ("pandas", "polars"))
    return any(library is not None and isinstance(X, library.DataFrame) for library in loaded)


def check_weights(sample_weight: ArrayLike | None, n: int) -> Array:
    """One weight of at least 0 for each of n labels or bags, not all 0; ones if None."""
    if sample_weight is None:
        return np.ones(n)
    weights = array("sample_weight", sample_weight, (n,), 0, math.inf, "[)")
    if not weights.any():
        raise InputError("sample_weight must not be all zero. Leave it out for equal weights.")
    return weights


def two_classes(y: NDArray[Any], hint: str = "") -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The two classes of y in order, and the class index of each label; ``hint`` says what to do with more classes."""
    from sklearn.utils.multiclass import type_of_target

    kind = type_of_target(y)
    if kind.startswith(("continuous", "unknown")):
        raise InputError(f"Unknown label type: {kind}. y must hold labels of two classes.")
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size > 2:
        said = f"Only binary classification is supported. The type of the target is {kind}."
        raise InputError(f"{said}{hint and ' '}{hint}")
    if classes.size < 2:
        raise InputError(f"y must hold labels of two classes. Got one class, {classes[0]}.")
    return classes, codes

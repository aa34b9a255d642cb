"""scikit-learn, taken in at one place, and checks of what comes to fit and predict."""

from __future__ import annotations

import math
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
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise MissingExtraError(
        "The estimators of darrm need scikit-learn of at least 1.6. Run: pip install darrm[experiments]"
    ) from None

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "ConvergenceWarning",
    "RegressorMixin",
    "check_is_fitted",
    "check_records",
    "check_weights",
    "two_classes",
]


def check_records(estimator: Any, X: ArrayLike, y: Any = "no_validation", **options: Any) -> Any:
    """X, or X and y, as scikit-learn checks them; what it refuses is an `InputError` too."""
    try:
        return validate_data(estimator, X, y, dtype=np.float64, **options)
    except ValueError as error:
        raise InputError(" ".join(str(error).split())) from None


def check_weights(sample_weight: ArrayLike | None, n: int) -> Array:
    """One weight of at least 0 for each of n labels or bags, not all 0; ones if None."""
    if sample_weight is None:
        return np.ones(n)
    weights = array("sample_weight", sample_weight, (n,), 0, math.inf, "[)")
    if not weights.any():
        raise InputError("sample_weight must not be all zero. Leave it out to weigh all alike.")
    return weights


def two_classes(y: NDArray[Any], hint: str = "") -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The two classes of y in order, and for each label which it is; ``hint`` says what to do with several."""
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

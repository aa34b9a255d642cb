"""Learning from private label releases, with scikit-learn's interface.

A release is private once and for all: what is learned from it (and from public features) costs nothing more.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from darrm.learning.aggregate_regressor import AggregateRegressor
    from darrm.learning.bag_classifier import BagClassifier
    from darrm.learning.randomized_response_classifier import RandomizedResponseClassifier

# They load when first used: without scikit-learn the package can be imported, its estimators cannot.
_HOME = {
    "AggregateRegressor": "darrm.learning.aggregate_regressor",
    "BagClassifier": "darrm.learning.bag_classifier",
    "RandomizedResponseClassifier": "darrm.learning.randomized_response_classifier",
}

__all__ = ["AggregateRegressor", "BagClassifier", "RandomizedResponseClassifier"]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'darrm.learning' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

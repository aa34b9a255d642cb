"""Learning from private label releases, with scikit-learn's interface.

A release is private once and for all: learning from it (and from public features) costs nothing more. The estimators
load when first used: without scikit-learn the package can be imported, its estimators cannot.
"""

from typing import TYPE_CHECKING

from darrm._lazy import face

if TYPE_CHECKING:
    from darrm.labels.learners.aggregate_regressor import AggregateRegressor as AggregateRegressor
    from darrm.labels.learners.bag_classifier import BagClassifier as BagClassifier
    from darrm.labels.learners.randomized_response_classifier import (
        RandomizedResponseClassifier as RandomizedResponseClassifier,
    )

__getattr__, __dir__, __all__ = face(
    __name__,
    {
        "darrm.labels.learners.aggregate_regressor": "AggregateRegressor",
        "darrm.labels.learners.bag_classifier": "BagClassifier",
        "darrm.labels.learners.randomized_response_classifier": "RandomizedResponseClassifier",
    },
)

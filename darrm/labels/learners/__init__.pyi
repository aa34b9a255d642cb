from darrm.labels.learners.aggregate_regressor import AggregateRegressor as AggregateRegressor
from darrm.labels.learners.bag_classifier import BagClassifier as BagClassifier
from darrm.labels.learners.randomized_response_classifier import (
    RandomizedResponseClassifier as RandomizedResponseClassifier,
)

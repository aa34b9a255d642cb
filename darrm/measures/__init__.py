"""Numbers that put mechanisms on one scale."""

from darrm.measures.error import Interval, expected_error, least_error, sampled_error
from darrm.measures.leakage import (
    composed_leakage,
    entrywise_leakage,
    laplace_leakage_bound,
    laplace_leakage_data_bound,
    majority_leakage,
    noisy_max_probabilities,
    processed_leakage,
)

__all__ = [
    "Interval",
    "composed_leakage",
    "entrywise_leakage",
    "expected_error",
    "laplace_leakage_bound",
    "laplace_leakage_data_bound",
    "least_error",
    "majority_leakage",
    "noisy_max_probabilities",
    "processed_leakage",
    "sampled_error",
]

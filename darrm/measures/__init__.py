"""Numbers that put mechanisms on one scale."""

from darrm.measures.error import Interval, expected_error, sampled_error
from darrm.measures.leakage import (
    entrywise_leakage,
    laplace_leakage_bound,
    laplace_leakage_data_bound,
    noisy_max_probabilities,
)

__all__ = [
    "Interval",
    "entrywise_leakage",
    "expected_error",
    "laplace_leakage_bound",
    "laplace_leakage_data_bound",
    "noisy_max_probabilities",
    "sampled_error",
]

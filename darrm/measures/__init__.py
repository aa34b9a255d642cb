"""Numbers that put mechanisms on one scale."""

from darrm.measures.error import expected_error
from darrm.measures.leakage import (
    entrywise_leakage,
    laplace_leakage_bound,
    laplace_leakage_data_bound,
    noisy_max_probabilities,
)

__all__ = [
    "entrywise_leakage",
    "expected_error",
    "laplace_leakage_bound",
    "laplace_leakage_data_bound",
    "noisy_max_probabilities",
]

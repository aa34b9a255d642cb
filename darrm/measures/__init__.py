"""Numbers that put mechanisms on one scale."""

from darrm._lazy import modules
from darrm.measures import bounds
from darrm.measures.advantage import (
    additive_advantage,
    individual_advantage,
    label_leakage,
    multiplicative_advantage,
    tight_epsilon,
    total_variation,
)
from darrm.measures.attack import attack_utility, attacker_decisions, log_odds_change, posterior_pairs
from darrm.measures.distribution import Distribution
from darrm.measures.empirical import EmpiricalEpsilon, empirical_epsilon, empirical_epsilon_of_scores
from darrm.measures.error import Interval, expected_error, least_error, sampled_error
from darrm.measures.kernels import CountKernel, joint, posterior
from darrm.measures.leakage import (
    composed_leakage,
    entrywise_leakage,
    laplace_leakage_bound,
    laplace_leakage_data_bound,
    majority_leakage,
    processed_leakage,
)
from darrm.measures.utility import EqualUtility, at_equal_utility
from darrm.mechanisms.noisy_max import noisy_max_probabilities

__all__ = [
    "CountKernel",
    "Distribution",
    "EmpiricalEpsilon",
    "EqualUtility",
    "Interval",
    "additive_advantage",
    "at_equal_utility",
    "attack_utility",
    "attacker_decisions",
    "bounds",
    "composed_leakage",
    "empirical_epsilon",
    "empirical_epsilon_of_scores",
    "entrywise_leakage",
    "expected_error",
    "individual_advantage",
    "joint",
    "label_leakage",
    "laplace_leakage_bound",
    "laplace_leakage_data_bound",
    "least_error",
    "log_odds_change",
    "majority_leakage",
    "multiplicative_advantage",
    "noisy_max_probabilities",
    "posterior",
    "posterior_pairs",
    "processed_leakage",
    "sampled_error",
    "tight_epsilon",
    "total_variation",
]
__getattr__ = modules(__name__)

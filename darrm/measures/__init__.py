"""Numbers that put mechanisms on one scale."""

from darrm._lazy import modules
from darrm.measures import bounds, bounds_over_bags
from darrm.measures.advantage import (
    additive_advantage,
    individual_advantage,
    label_leakage,
    total_variation,
)
from darrm.measures.any_attacker import AttackerUtility, utility_of_attacker
from darrm.measures.attack import (
    attack_utility,
    attacker_decisions,
    log_odds_change,
    posterior_pairs,
    shortcut_decisions,
)
from darrm.measures.change import largest_log_odds_change, multiplicative_advantage, posterior_change
from darrm.measures.distribution import Distribution
from darrm.measures.empirical import EmpiricalEpsilon, empirical_epsilon, empirical_epsilon_of_scores
from darrm.measures.error import Interval, expected_error, least_error, sampled_error
from darrm.measures.joint_releases import joint
from darrm.measures.kernels import CountKernel, posterior
from darrm.measures.leakage import (
    composed_leakage,
    conditional_leakage,
    majority_leakage,
    maximal_leakage,
    processed_leakage,
)
from darrm.measures.noisy_max_leakage import (
    entrywise_leakage,
    laplace_leakage_bound,
    laplace_leakage_data_bound,
    leakage_bound,
    leakage_data_bound,
)
from darrm.measures.over_bags import AverageAdvantage, individual_advantage_over_bags
from darrm.measures.utility import EqualUtility, at_equal_utility
from darrm.mechanisms.noisy_max_chances import noisy_max_probabilities

__all__ = [
    "AttackerUtility",
    "AverageAdvantage",
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
    "bounds_over_bags",
    "composed_leakage",
    "conditional_leakage",
    "empirical_epsilon",
    "empirical_epsilon_of_scores",
    "entrywise_leakage",
    "expected_error",
    "individual_advantage",
    "individual_advantage_over_bags",
    "joint",
    "label_leakage",
    "laplace_leakage_bound",
    "laplace_leakage_data_bound",
    "largest_log_odds_change",
    "leakage_bound",
    "leakage_data_bound",
    "least_error",
    "log_odds_change",
    "majority_leakage",
    "maximal_leakage",
    "multiplicative_advantage",
    "noisy_max_probabilities",
    "posterior",
    "posterior_change",
    "posterior_pairs",
    "processed_leakage",
    "sampled_error",
    "shortcut_decisions",
    "total_variation",
    "utility_of_attacker",
]
__getattr__ = modules(__name__)

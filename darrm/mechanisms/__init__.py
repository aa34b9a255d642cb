"""Mechanisms that release something."""

from darrm._lazy import modules
from darrm.mechanisms.decision import PrivateDecision
from darrm.mechanisms.label_proportions import (
    GeometricLabelProportions,
    LabelProportions,
    LaplaceLabelProportions,
)
from darrm.mechanisms.majority import DaRRM
from darrm.mechanisms.noisy_max import GaussianNoisyMax, LaplaceNoisyMax
from darrm.mechanisms.permute_and_flip import PermuteAndFlip
from darrm.mechanisms.random_bags import Bags, bags
from darrm.mechanisms.randomized_response import RandomizedResponse
from darrm.mechanisms.weighted_aggregates import (
    BagAggregate,
    NoisyAggregate,
    NoisyWeightedLabelProportions,
    WeightedBagAggregates,
)

__all__ = [
    "BagAggregate",
    "Bags",
    "DaRRM",
    "GaussianNoisyMax",
    "GeometricLabelProportions",
    "LabelProportions",
    "LaplaceLabelProportions",
    "LaplaceNoisyMax",
    "NoisyAggregate",
    "NoisyWeightedLabelProportions",
    "PermuteAndFlip",
    "PrivateDecision",
    "RandomizedResponse",
    "WeightedBagAggregates",
    "bags",
]
__getattr__ = modules(__name__)

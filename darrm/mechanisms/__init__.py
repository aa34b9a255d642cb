"""Mechanisms that release something."""

from darrm.mechanisms.majority import DaRRM
from darrm.mechanisms.noisy_max import GaussianNoisyMax, LaplaceNoisyMax
from darrm.mechanisms.weighted_aggregates import (
    BagAggregate,
    NoisyAggregate,
    NoisyWeightedLabelProportions,
    WeightedBagAggregates,
)

__all__ = [
    "BagAggregate",
    "DaRRM",
    "GaussianNoisyMax",
    "LaplaceNoisyMax",
    "NoisyAggregate",
    "NoisyWeightedLabelProportions",
    "WeightedBagAggregates",
]

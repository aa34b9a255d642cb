"""Mechanisms that release something."""

from darrm.mechanisms.bags import Bags, bags
from darrm.mechanisms.label_proportions import (
    GeometricLabelProportions,
    LabelProportions,
    LaplaceLabelProportions,
)
from darrm.mechanisms.majority import DaRRM
from darrm.mechanisms.noisy_max import GaussianNoisyMax, LaplaceNoisyMax
from darrm.mechanisms.randomized_response import RandomizedResponse

__all__ = [
    "Bags",
    "DaRRM",
    "GaussianNoisyMax",
    "GeometricLabelProportions",
    "LabelProportions",
    "LaplaceLabelProportions",
    "LaplaceNoisyMax",
    "RandomizedResponse",
    "bags",
]

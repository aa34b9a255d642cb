"""Mechanisms that release something."""

from darrm.mechanisms.majority import DaRRM
from darrm.mechanisms.noisy_max import GaussianNoisyMax, LaplaceNoisyMax

__all__ = ["DaRRM", "GaussianNoisyMax", "LaplaceNoisyMax"]

"""Laplace noisy max: the class whose count is largest after Laplace noise at each."""

from darrm.baselines.baseline import Baseline, Family, by_counts
from darrm.mechanisms.noisy_max import LaplaceNoisyMax
from darrm.numerics.printed import at_least

BASELINE = Baseline(
    "Laplace noisy max",
    lambda problem, objective: Family(
        by_counts(problem, lambda counts, gamma: LaplaceNoisyMax(gamma).chances(counts)),
        guess=0.1,
        most=20.0,
        said=lambda gamma: f"noise of scale {at_least(1 / gamma, 4)} at each count",
    ),
    "Papernot et al. (ICLR 2017)",
)

"""Gaussian noisy max: the class whose count is largest after Gaussian noise at each."""

from darrm.baselines.baseline import Baseline, Family, by_counts
from darrm.mechanisms.noisy_max import GaussianNoisyMax
from darrm.numerics.printed import at_least

BASELINE = Baseline(
    "Gaussian noisy max",
    lambda problem, objective: Family(
        by_counts(problem, lambda counts, inverse: GaussianNoisyMax(1 / inverse).chances(counts)),
        guess=0.1,
        most=20.0,
        said=lambda inverse: f"sigma {at_least(1 / inverse, 4)} at each count",
    ),
    "Papernot et al. (ICLR 2018)",
)

"""Permute-and-flip: of two classes, the one behind by a lead wins with e^(-epsilon lead / 2) / 2.

Its probabilities and its noise are those of `darrm.mechanisms.permute_and_flip`.
"""

from darrm.baselines.baseline import Baseline, Family, by_counts
from darrm.mechanisms.permute_and_flip import PermuteAndFlip
from darrm.numerics.printed import at_most

BASELINE = Baseline(
    "permute-and-flip",
    lambda problem, objective: Family(
        by_counts(problem, lambda counts, epsilon: PermuteAndFlip(epsilon).chances(counts)),
        guess=0.2,
        most=2e3,
        said=lambda epsilon: f"epsilon {at_most(epsilon, 4)} for one changed vote",
    ),
    "McKenna, Sheldon (NeurIPS 2020)",
)

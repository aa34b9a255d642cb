"""The exponential mechanism on the counts: a class with probability proportional to e^(epsilon n / 2)."""

from scipy.special import softmax

from darrm.baselines.baseline import Baseline, Family, by_counts
from darrm.numerics.printed import at_most

BASELINE = Baseline(
    "exponential mechanism",
    lambda problem, objective: Family(
        by_counts(problem, lambda counts, epsilon: softmax(epsilon / 2 * counts, axis=1)),
        guess=0.2,
        most=2e3,
        said=lambda epsilon: f"epsilon {at_most(epsilon, 4)} for one changed vote",
    ),
    "McSherry, Talwar (FOCS 2007)",
)

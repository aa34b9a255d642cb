"""Confident-GNMax: a label of Gaussian noisy max where the largest count with noise is high enough, else "none"."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from darrm.baselines.baseline import Baseline, Family
from darrm.design.rules import cost_of, of_all_votes
from darrm.mechanisms.noisy_max import GaussianNoisyMax
from darrm.numerics import normal
from darrm.numerics.arrays import Array
from darrm.numerics.printed import at_least
from darrm.objectives import Objective
from darrm.problem.counts import sorted_counts
from darrm.problem.groups import ByGroups

WIDER = 2.0  # the noise of the check, in units of that of a count: 1 to 5 have nearly the same cost
_THRESHOLDS = 9  # tried first, from below the least largest count to above the number of votes
_NEAR = 1e-4  # of the range between two of them


def best_threshold(cost: Callable[[float], float], problem: ByGroups, sigma: float) -> float:
    """The threshold of nearly the least cost, where the noise of the check is ``WIDER`` times ``sigma``."""
    from scipy.optimize import minimize_scalar

    reach = WIDER * sigma
    at = np.linspace(problem.K / problem.n_classes - reach, problem.K + reach, _THRESHOLDS)
    least = at[int(np.argmin([cost(threshold) for threshold in at.tolist()]))]
    step = float(at[1] - at[0])
    bounds = float(least - step), float(least + step)
    found = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": step * _NEAR})
    return float(found.x)


def with_check(labels: Array, largest: NDArray[np.int64], threshold: float, sigma_check: float) -> Array:
    """The probabilities of classes and, last, "none", from those of labels without a check, and the largest counts."""
    ahead = np.asarray((largest - threshold) / sigma_check, dtype=np.float64)
    return np.hstack([normal.distribution(ahead) * labels, normal.distribution(-ahead)])


def _family(problem: ByGroups, objective: Objective) -> Family:
    counts = sorted_counts(problem.K, problem.n_classes)

    @lru_cache(maxsize=4)
    def best(inverse: float) -> tuple[float, Array]:
        """The threshold of least cost at this noise, and the probabilities of answers."""
        sigma = 1 / inverse
        labels, largest = GaussianNoisyMax(sigma).chances(counts), counts[:, :1]

        def table(threshold: float) -> Array:
            return of_all_votes(with_check(labels, largest, threshold, WIDER * sigma), problem)

        threshold = best_threshold(lambda at: cost_of(table(at), problem, objective), problem, sigma)
        return threshold, table(threshold)

    def said(inverse: float) -> str:
        sigma = 1 / inverse
        noise = f"sigma {at_least(sigma, 4)} at each count, {at_least(WIDER * sigma, 4)} at the check"
        return f"{noise}, threshold {best(inverse)[0]:.4g}"

    return Family(lambda inverse: best(inverse)[1], guess=0.1, most=20.0, said=said)


BASELINE = Baseline(
    "Confident-GNMax",
    _family,
    "Papernot et al. (ICLR 2018), Algorithm 1",
    lambda problem, objective: problem.none,
)

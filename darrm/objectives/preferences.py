"""Preferences between two answers, by their costs."""

from __future__ import annotations

import numpy as np

from darrm.numerics.arrays import Array
from darrm.objectives.voters import SAME


def gains(costs: Array) -> Array:
    """The gain of answer 1 at each count vector, C(n, 0) - C(n, 1), with differences by rounding set to 0.

    Costs that differ by less than a relative 1e-12 are a tie. If swapping the answers and all votes changes nothing but
    that, then it changes nothing at all.

    Examples
    --------
    One voter: where it says 0 answer 1 costs .25 more, where it says 1 it saves as much.

    >>> import darrm
    >>> problem = darrm.DecisionProblem([darrm.VoterGroup(1, epsilon=1.0)], epsilon=1.0)
    >>> costs = darrm.objectives.truth([0.75]).costs(problem)
    >>> darrm.objectives.gains(costs).tolist()
    [-0.25, 0.25]
    """
    saved = costs[..., 0] - costs[..., 1]
    size = np.abs(costs).sum(axis=-1)
    saved = np.where(np.abs(saved) <= SAME * size, 0.0, saved)
    mirrored = np.flip(saved)
    if np.all(np.abs(saved + mirrored) <= SAME * (size + np.flip(size))):
        saved = (saved - mirrored) / 2
    return np.asarray(saved + 0.0)

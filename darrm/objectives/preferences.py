"""Which of two answers costs less."""

from __future__ import annotations

import numpy as np

from darrm.numerics.arrays import Array
from darrm.objectives.voters import SAME


def gains(costs: Array) -> Array:
    """What answer 1 saves at each count vector: C(n, 0) - C(n, 1), without what may be rounding alone.

    Costs that differ by less than a relative 1e-12 are a tie. If swapping the answers and all votes changes nothing but
    that, then it changes nothing at all.
    """
    saved = costs[..., 0] - costs[..., 1]
    size = np.abs(costs).sum(axis=-1)
    saved = np.where(np.abs(saved) <= SAME * size, 0.0, saved)
    mirrored = np.flip(saved)
    if np.all(np.abs(saved + mirrored) <= SAME * (size + np.flip(size))):
        saved = (saved - mirrored) / 2
    return np.asarray(saved + 0.0)

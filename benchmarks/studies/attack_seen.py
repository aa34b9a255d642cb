"""What an attack of attack.py leaves: outcomes on D and on D', and the claim that they are held against."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.measures import EmpiricalEpsilon, empirical_epsilon, empirical_epsilon_of_scores

Array = NDArray[np.float64]
Labels = NDArray[np.integer[Any]]
Random = np.random.Generator | None


class Seen(NamedTuple):
    """What an attacker saw of one mechanism, and what it was told.

    Attributes
    ----------
    mechanism, voters, labels : str
    epsilon, delta : float
        The claim.
    here, there : ndarray
        Counts of outcomes, or a score of each run.
    broken : bool
        The claim is known to be false, and must be found out.
    """

    mechanism: str
    voters: str
    labels: str
    epsilon: float
    delta: float
    here: Array | Labels
    there: Array | Labels
    broken: bool = False

    @property
    def runs(self) -> int:
        return int(self.here.sum()) if self.here.dtype.kind in "iu" else self.here.size

    def bound(self, confidence: float, rng: Random) -> EmpiricalEpsilon:
        measure = empirical_epsilon if self.here.dtype.kind in "iu" else empirical_epsilon_of_scores
        return measure(self.here, self.there, delta=self.delta, confidence=confidence, rng=rng)


def tally(outcomes: Any, n: int) -> Labels:
    """How often each of the outcomes 0..n-1 came."""
    return np.bincount(np.asarray(outcomes, dtype=np.intp), minlength=n)


def bits(labels: Any) -> Labels:
    """Rows of labels 0 and 1 as one number each."""
    array = np.asarray(labels, dtype=np.int64)
    return np.asarray(array @ (1 << np.arange(array.shape[1])[::-1]))

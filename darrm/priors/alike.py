"""Votes that are all one vote now and then, such as those of models trained on the same records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from darrm._validation import real
from darrm.numerics.arrays import Array
from darrm.numerics.poisson_binomial import pmf
from darrm.priors.prior import Prior


@dataclass(frozen=True)
class Correlated(Prior):
    """All voters alike with a probability; see `correlated`."""

    p: float
    rho: float
    kind: ClassVar[str] = "correlated"
    default_objective: ClassVar[str] = "disagreement"  # where all vote 0, the signed error of the paper cancels

    def _ones(self, K: int) -> Array:
        mean = (1 - self.rho) * pmf(np.full(K, self.p))
        mean[0] += self.rho * (1 - self.p)
        mean[-1] += self.rho * self.p
        return np.asarray(mean)

    def _sample(self, n: int, K: int, rng: np.random.Generator) -> Array:
        alike, one = rng.random((n, 1)) < self.rho, rng.random((n, 1)) < self.p
        return np.broadcast_to(np.where(alike, one, self.p), (n, K))

    @property
    def reach(self) -> float:
        return 1.0 if self.rho else self.p


def correlated(p: float, rho: float) -> Prior:
    """All voters cast one vote with probability rho, else each votes for itself; every vote is 1 with probability p.

        E[alpha_l] = (1 - rho) Bin(K, p)(l) + rho (p [l = K] + (1 - p) [l = 0])

    The correlation of any two votes is rho: two votes are alike by themselves with p^2 + (1 - p)^2, or because all are.

    Parameters
    ----------
    p : float in [1/2, 1]
    rho : float in [0, 1]

    Raises
    ------
    InputError

    Examples
    --------
    Three votes, of which two of three are 1; half of the time all are one vote:

    >>> import darrm
    >>> darrm.priors.correlated(2 / 3, 0.5).ones(3).round(4).tolist()
    [0.1852, 0.1111, 0.2222, 0.4815]
    >>> darrm.priors.parse("correlated:0.75,0.2") == darrm.priors.correlated(0.75, 0.2)
    True
    """
    return Correlated(real("p", p, 0.5, 1, allowed="in [1/2, 1]"), real("rho", rho, 0, 1))

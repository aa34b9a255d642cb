"""Correlated votes, such as those of models trained on the same records."""

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
    """The prior of correlated votes; see `correlated`."""

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
    """All voters cast the same vote with probability rho, else independent votes; each vote is 1 with probability p.

        E[alpha_l] = (1 - rho) Bin(K, p)(l) + rho (p [l = K] + (1 - p) [l = 0])

    The correlation of any two votes is rho.

    Parameters
    ----------
    p : float in [1/2, 1]
    rho : float in [0, 1]

    Raises
    ------
    InputError

    Examples
    --------
    Three votes that are 1 with probability 2/3; with probability 1/2 all are the same vote:

    >>> import darrm
    >>> darrm.priors.correlated(2 / 3, 0.5).ones(3).round(4).tolist()
    [0.1852, 0.1111, 0.2222, 0.4815]
    >>> darrm.priors.parse("correlated:0.75,0.2") == darrm.priors.correlated(0.75, 0.2)
    True
    """
    return Correlated(real("p", p, 0.5, 1, allowed="in [1/2, 1]"), real("rho", rho, 0, 1))

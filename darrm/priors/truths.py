"""Votes that depend on a truth, by confusion matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array, real, refusal
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.poisson_binomial import pmf
from darrm.priors.prior import Prior

_SUMS_TO_1 = 1e-9


@dataclass(frozen=True)
class Confusion(Prior):
    """Votes that depend on the truth; see `confusion`."""

    truth: float  # Pr[truth = 1]
    chances: tuple[tuple[float, float], ...]  # Pr[vote 1 | truth 0] and Pr[vote 1 | truth 1], of all voters or of each
    kind: ClassVar[str] = "confusion"
    default_objective: ClassVar[str] = "disagreement"

    def text(self, number: Callable[[float], str] = repr) -> str:
        rows = [(1 - self.truth, self.truth), *((1 - a, a, 1 - b, b) for a, b in self.chances)]
        return ":".join([self.kind, *(",".join(map(number, row)) for row in rows)])

    def _of(self, K: int) -> Array:
        """Pr[vote 1 | truth], shape (K, 2)."""
        if len(self.chances) not in (1, K):
            raise InputError(f"matrices for K = {K} must be one, or one for each voter. Got {len(self.chances)}.")
        return np.broadcast_to(np.array(self.chances), (K, 2))

    def _ones(self, K: int) -> Array:
        given_0, given_1 = map(pmf, self._of(K).T)
        return np.asarray((1 - self.truth) * given_0 + self.truth * given_1)

    def _sample(self, n: int, K: int, rng: np.random.Generator) -> Array:
        return np.asarray(self._of(K).T[(rng.random(n) < self.truth).astype(np.intp)])

    @property
    def reach(self) -> float:
        possible = [
            p for pair in self.chances for p, chance in zip(pair, (1 - self.truth, self.truth), strict=True) if chance
        ]
        return max(max(possible), 1 - min(possible))


def confusion(matrices: ArrayLike, truth: ArrayLike = (0.5, 0.5)) -> Prior:
    """Voters with known confusion matrices, and a prior on the truth; given the truth, votes are independent.

        E[alpha_l] = sum over y of  truth[y] PoissonBinomial(matrices[0][y][1], ..., matrices[K - 1][y][1])(l)

    The matrices describe the votes as cast. If they are those before randomized response, pass the prior to
    `randomized_response`. The default objective is the disagreement rate.

    Parameters
    ----------
    matrices : array_like, shape (2, 2) or (K, 2, 2)
        At [y][v] the probability of the vote v if the truth is y, rows of sum 1; or counts of these cases, integers, as
        from scikit-learn's ``confusion_matrix``. One for all voters, or one for each. They must come from public data,
        because counts of private votes are private. The design file holds the shares exactly.
    truth : array_like, shape (2,), rows of sum 1
        Pr[truth = 0] and Pr[truth = 1].

    Raises
    ------
    InputError
        If the rows are neither probabilities nor counts.

    Examples
    --------
    Voters that vote 1 with probability 0.9 if the truth is 1, and 0.2 if it is 0; the truth is 1 with probability 0.3:

    >>> import darrm
    >>> prior = darrm.priors.confusion([[0.8, 0.2], [0.1, 0.9]], truth=[0.7, 0.3])
    >>> prior.ones(3).round(3).tolist()
    [0.359, 0.277, 0.14, 0.224]
    >>> str(darrm.solve(K=11, m=3, epsilon=0.3, prior=prior).objective)
    'disagreement'
    """
    hint = "Pass Pr[vote v | truth y] at [y][v], e.g. [[0.9, 0.1], [0.3, 0.7]], or counts."
    tables = array("matrices", matrices, None, 0, math.inf, "[)", hint=hint)
    if tables.ndim not in (2, 3) or tables.shape[-2:] != (2, 2) or not tables.size:
        raise InputError(f"matrices must have shape (2, 2) or (K, 2, 2). Got shape {tables.shape}. {hint}")
    tables = tables.reshape(-1, 2, 2)
    ones = np.empty((len(tables), 2))
    for at, row in ((at, tables[at]) for at in np.ndindex(ones.shape)):
        total = row.sum()
        if abs(total - 1) > _SUMS_TO_1 and (not total or np.any(row != np.floor(row))):
            raise refusal("A row of matrices", "probabilities of sum 1, or counts", row.tolist(), hint)
        ones[at] = row[1] if abs(total - 1) <= _SUMS_TO_1 else row[1] / total
    on_truth = array("truth", truth, (2,), 0, 1, "[]", hint="Pass Pr[truth = 0] and Pr[truth = 1].")
    if abs(on_truth.sum() - 1) > _SUMS_TO_1:
        raise refusal("truth", "two probabilities of sum 1", truth)
    return of_chances(float(on_truth[1]), ones)


def of_chances(truth: float, chances: ArrayLike) -> Prior:
    """The prior of Pr[truth = 1], and for each voter Pr[vote 1 | truth 0] and Pr[vote 1 | truth 1]."""
    pairs = array("chances", chances, ("voters", 2), 0, 1, "[]").tolist()
    return Confusion(real("truth", truth, 0, 1), tuple((a, b) for a, b in pairs))

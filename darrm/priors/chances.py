"""Priors on the vote probabilities themselves, and histograms of votes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import array, check_positive, plain, real
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.poisson_binomial import pmf
from darrm.priors.prior import Prior

_BELOW_HALF = (
    "Below 1/2 errors at votes for 0 and for 1 would cancel in the mean. For votes that lean either way pass "
    "common:1,1, for close ones independent:0.5,0.6. In Python darrm.expected_error takes any probabilities, and "
    "custom of darrm.solve any terms of your own."
)
_IN_ORDER = "Pass low first, e.g. independent:0.5,1."


@dataclass(frozen=True)
class Independent(Prior):
    """Independent p_i with one common mean; see `independent`."""

    low: float
    high: float
    kind: ClassVar[str] = "independent"

    def _ones(self, K: int) -> Array:
        return pmf(np.full(K, (self.low + self.high) / 2))

    def _sample(self, n: int, K: int, rng: np.random.Generator) -> Array:
        return rng.uniform(self.low, self.high, (n, K))

    @property
    def reach(self) -> float:
        return self.high


@dataclass(frozen=True)
class Common(Prior):
    """One p for all voters; see `common`."""

    a: float
    b: float
    kind: ClassVar[str] = "common"

    def _ones(self, K: int) -> Array:
        from scipy.special import betainc, betaln

        l = np.arange(K + 1.0)
        choose = -math.log(K + 1) - betaln(K - l + 1, l + 1) - betaln(self.a, self.b)

        def half(a: float, b: float) -> Array:
            weight = np.exp(choose + betaln(l + a, K - l + b))
            return np.asarray(weight * betainc(K - l + b, l + a, 0.5), dtype=np.float64)

        return half(self.a, self.b) + half(self.b, self.a)

    def _sample(self, n: int, K: int, rng: np.random.Generator) -> Array:
        q = rng.beta(self.a, self.b, (n, 1))
        return np.broadcast_to(np.maximum(q, 1 - q), (n, K))

    @property
    def reach(self) -> float:
        return 1.0


@dataclass(frozen=True)
class Votes(Prior):
    """Past or public votes; see `votes`."""

    histogram: tuple[float, ...]
    kind: ClassVar[str] = "votes"
    default_objective: ClassVar[str] = "disagreement"

    @property
    def counted(self) -> tuple[float, ...]:
        return self.histogram

    def _ones(self, K: int) -> Array:
        if len(self.histogram) != K + 1:
            raise InputError(
                f"A vote histogram for K = {K} must have K + 1 = {K + 1} counts. Got {len(self.histogram)}. "
                "Count how many rows have 0, 1, ..., K ones."
            )
        counts = np.array(self.histogram)
        return np.asarray(counts / counts.max() / (counts / counts.max()).sum(), dtype=np.float64)


@dataclass(frozen=True)
class Fixed(Prior):
    """Given p; see `fixed`."""

    p: tuple[float, ...]
    kind: ClassVar[str] = "fixed"
    default_objective: ClassVar[str] = "disagreement"

    def _ones(self, K: int) -> Array:
        if len(self.p) != K:
            raise InputError(f"fixed p for K = {K} must have K probabilities. Got {len(self.p)}.")
        return pmf(self.p)

    def _sample(self, n: int, K: int, rng: np.random.Generator) -> Array:
        if len(self.p) != K:
            raise InputError(f"fixed p for K = {K} must have K probabilities. Got {len(self.p)}.")
        return np.broadcast_to(np.array(self.p), (n, K))

    @property
    def reach(self) -> float:
        return max(max(self.p), 1 - min(self.p))


def independent(low: float = 0.5, high: float = 1.0) -> Prior:
    """Independent p_i, uniform on [low, high] within [1/2, 1], as in the paper's surrogate objective.

        E[alpha_l] = Bin(K, q)(l),    q = (low + high) / 2

    (any distribution with mean q gives the same). For K above about 50 it puts almost no weight on close
    votes, so the optimum says little about them; `common` weighs them like clear ones.

    Eqs. 2 and 202 of Jiang, Zhang, Joshi (TMLR 2024), in closed form instead of sampled.

    Examples
    --------
    Only the mean counts:

    >>> import darrm
    >>> darrm.priors.independent(0.6, 0.9).ones(3).round(4).tolist()
    [0.0156, 0.1406, 0.4219, 0.4219]
    >>> darrm.priors.independent(0.5, 1.0).ones(3).round(4).tolist()
    [0.0156, 0.1406, 0.4219, 0.4219]
    """
    low = real("low", low, 0.5, 1, allowed="in [1/2, 1]", hint=_BELOW_HALF)
    return Independent(
        low, real("high", high, low, 1, allowed=f"at least low = {low:g}, and at most 1", hint=_IN_ORDER)
    )


def common(a: float = 1.0, b: float = 1.0) -> Prior:
    """One p for all voters: max(q, 1 - q) with q ~ Beta(a, b). Exchangeable votes; uniform on [1/2, 1] by default.

        E[alpha_l] = C(K,l)/B(a,b) [B(l+a, K-l+b) I_1/2(K-l+b, l+a) + B(l+b, K-l+a) I_1/2(K-l+a, l+b)]

    with I the regularised incomplete beta function.

    Examples
    --------
    All of eleven votes are ones four times as often as with independent ones:

    >>> import darrm
    >>> float(darrm.priors.common().ones(11)[11].round(3)), float(darrm.priors.independent().ones(11)[11].round(3))
    (0.167, 0.042)
    """
    return Common(check_positive("a", a), check_positive("b", b))


def votes(histogram: ArrayLike) -> Prior:
    """A histogram of public or past votes: the number of queries with l = 0, 1, ..., K ones.

    E[alpha_l] = histogram[l] / sum. The default objective is the disagreement rate. The histogram shapes the noise and
    is stored exactly in the design file. So a guarantee holds only if the histogram comes from elsewhere than the votes
    or records to be protected, and the file may be published only if the histogram may. Mechanisms refuse to release
    votes with exactly this histogram, unless ``public`` states that the votes behind it are public
    (`darrm.mechanisms.DaRRM.release`).

    Parameters
    ----------
    histogram : array_like, shape (K + 1,), at least 0
        Or the votes themselves, shape (n, K) of 0 and 1, or a table of them from `darrm.votes.read`.

    Examples
    --------
    Of a hundred past queries to three voters, 10, 20, 30 and 40 had 0, 1, 2 and 3 ones:

    >>> import darrm
    >>> prior = darrm.priors.votes([10, 20, 30, 40])
    >>> prior.ones(3).tolist()
    [0.1, 0.2, 0.3, 0.4]
    >>> str(darrm.solve(K=3, m=1, epsilon=0.5, prior=prior).objective)
    'disagreement'
    """
    given = plain("histogram", getattr(histogram, "histogram", histogram), "numbers of shape (K + 1,)")
    if given.ndim == 2:
        rows = array("votes", given, ("n", "K"), 0, 1, "[]", wholes=True)
        given = np.bincount(rows.sum(axis=1).astype(np.intp), minlength=rows.shape[1] + 1)
    counts = array("histogram", given, ("K + 1",), 0, math.inf, "[)")
    if not counts.any():
        raise InputError("histogram must hold K + 1 counts, not all 0. Got zeros alone.")
    return Votes(tuple(counts.tolist()))


def fixed(p: Sequence[float] | NDArray[np.floating]) -> Prior:
    """Given vote probabilities p_1, ..., p_K: E[alpha_l] is their Poisson-binomial pmf. Objective: disagreement.

    No guarantee rests on p, if it comes from elsewhere than the votes or records to be protected.

    Examples
    --------
    >>> import darrm
    >>> prior = darrm.priors.fixed([0.9, 0.8, 0.6])
    >>> prior.ones(3).round(3).tolist()
    [0.008, 0.116, 0.444, 0.432]
    """
    return Fixed(tuple(array("p", p, ("K",), 0, 1, "[]").tolist()))

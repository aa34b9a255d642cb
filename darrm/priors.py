"""Where votes come from: the distribution that the error of a noise function is averaged over.

Each prior is a distribution of the vote probabilities p_1, ..., p_K, and all that the objective needs of it is
E[alpha_l], the mean probability of l ones. It is exact here for every prior: alpha_l is affine in each p_i.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import array, check_positive, choice, real, whole
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.poisson_binomial import pmf

OBJECTIVES = ("tv", "disagreement")


class Prior:
    """A distribution of vote probabilities; made by `independent`, `common`, `votes` or `fixed`."""

    kind: ClassVar[str]
    default_objective: ClassVar[str] = "tv"

    def ones(self, K: int) -> Array:
        """E[alpha_l] = E[Pr[L = l]] for l = 0, ..., K; shape (K + 1,), sums to 1."""
        return self._ones(whole("K", K))

    def sample(self, n: int, K: int, rng: np.random.Generator) -> Array:
        """n draws of (p_1, ..., p_K), shape (n, K); for simulations."""
        return self._sample(whole("n", n), whole("K", K), rng)

    def _ones(self, K: int) -> Array:
        raise TypeError("Prior is abstract: make one with independent, common, votes or fixed.")

    def _sample(self, n: int, K: int, rng: np.random.Generator) -> Array:
        raise InputError(f"A prior {self.kind!r} has no vote probabilities to draw. Use independent, common or fixed.")

    def as_dict(self) -> dict[str, object]:
        """The prior as plain values, for files: ``{"kind": ..., parameters}``."""
        values = asdict(self)  # type: ignore[call-overload]  # every kind of prior is a dataclass
        return {"kind": self.kind, **{name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}}

    def __str__(self) -> str:
        values = np.ravel(list(asdict(self).values()))  # type: ignore[call-overload]
        return f"{self.kind}:{','.join(f'{value:g}' for value in values)}"


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


@dataclass(frozen=True)
class Votes(Prior):
    """Past or public votes; see `votes`."""

    histogram: tuple[float, ...]
    kind: ClassVar[str] = "votes"
    default_objective: ClassVar[str] = "disagreement"

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


def independent(low: float = 0.5, high: float = 1.0) -> Prior:
    """Independent p_i, uniform on [low, high] within [1/2, 1]: the paper's prior.

        E[alpha_l] = Bin(K, q)(l),    q = (low + high) / 2

    (any distribution with mean q gives the same). For K above about 50 it puts almost no weight on close
    votes, so the optimum says little about them; `common` weighs them like clear ones.

    Eq. 2 and Appendix C.1 of Jiang, Zhang, Joshi (TMLR 2024), in closed form instead of sampled.
    """
    low = real("low", low, 0.5, 1, allowed="in [1/2, 1]")
    return Independent(low, real("high", high, low, 1, allowed=f"in [low, 1] = [{low:g}, 1]"))


def common(a: float = 1.0, b: float = 1.0) -> Prior:
    """One p for all voters: max(q, 1 - q) with q ~ Beta(a, b). Exchangeable votes; uniform on [1/2, 1] by default.

        E[alpha_l] = C(K,l)/B(a,b) [B(l+a, K-l+b) I_1/2(K-l+b, l+a) + B(l+b, K-l+a) I_1/2(K-l+a, l+b)]

    with I the regularised incomplete beta function.
    """
    return Common(check_positive("a", a), check_positive("b", b))


def votes(histogram: Sequence[float] | NDArray[np.floating] | NDArray[np.integer]) -> Prior:
    """Public or past votes: how many queries had l = 0, 1, ..., K ones.

    E[alpha_l] = histogram[l] / sum. The objective is the disagreement; a histogram of private votes is itself
    private, so use public ones.
    """
    counts = array("histogram", histogram, ("K + 1",), 0, math.inf, "[)")
    if not counts.any():
        raise InputError("histogram must hold K + 1 counts, not all 0. Got zeros alone.")
    return Votes(tuple(counts.tolist()))


def fixed(p: Sequence[float] | NDArray[np.floating]) -> Prior:
    """Given vote probabilities p_1, ..., p_K: E[alpha_l] is their Poisson-binomial pmf. Objective: disagreement."""
    return Fixed(tuple(array("p", p, ("K",), 0, 1, "[]").tolist()))


_KINDS: dict[str, Callable[..., Prior]] = {"independent": independent, "common": common, "votes": votes, "fixed": fixed}


def from_dict(values: Mapping[str, object]) -> Prior:
    """The prior that ``as_dict`` described."""
    arguments = dict(values)
    make = _KINDS.get(str(arguments.pop("kind", None)))
    try:
        if make is not None:
            return make(**arguments)
    except TypeError:
        pass
    raise InputError(f"prior must have a kind ({', '.join(_KINDS)}) and its parameters. Got {dict(values)!r}.")


def parse(text: str) -> Prior:
    """A prior from its text: uniform, independent:0.6,0.9, common:2,2, fixed:p1,...,pK or votes:c0,...,cK."""
    kind, _, rest = text.partition(":")
    try:
        numbers = [float(part) for part in rest.split(",")] if rest else []
        if kind == "uniform" and not rest:
            return independent()
        if kind in ("independent", "common"):
            return _KINDS[kind](*numbers)
        if kind in ("votes", "fixed") and rest:
            return _KINDS[kind](numbers)
    except InputError:
        raise
    except (ValueError, TypeError):
        pass
    raise InputError(
        f"prior must be uniform, independent:low,high, common:a,b, fixed:p1,...,pK or votes:c0,...,cK. Got {text!r}."
    )


def weights(prior: Prior, K: int, objective: str) -> Array:
    """What the objective gains from gamma(l), for l = floor(K/2) + 1, ..., K (twice the coefficient).

        "tv":            E[alpha_l - alpha_(K-l)]
        "disagreement":  E[alpha_l + alpha_(K-l)]

    so that the error is 1/2 sum of weights (1 - gamma(l)). Definition 2.4 and Appendix C.1 of the DaRRM paper for
    "tv"; "disagreement" is the probability that the released bit is not the majority of the votes cast.

    Raises
    ------
    InputError
        If the objective is unknown; if "tv" is asked of votes or fixed p, where it can cancel or turn negative; if
        all weights are 0.
    """
    choice("objective", objective, OBJECTIVES)
    if objective == "tv" and prior.default_objective != "tv":
        raise InputError(
            f'objective "tv" is refused for the prior {prior.kind!r}: it compares probabilities of 1, so votes for 1 '
            'and for 0 cancel and a weight can turn negative. Use "disagreement".'
        )
    mean = prior.ones(K)
    result = combine(mean, objective)
    if not result.max() > 0:
        raise InputError(
            f"All weights of the objective {objective!r} are 0 under {prior}: every gamma is optimal. "
            'Use another prior or objective "disagreement".'
        )
    return result


def combine(mean: ArrayLike, objective: str) -> Array:
    """E[alpha_l -+ alpha_(K-l)] for l > K/2 from E[alpha]."""
    mean = array("mean", mean, ("K + 1",))
    K = mean.size - 1
    upper, lower = mean[K // 2 + 1 :], mean[: K - K // 2][::-1]
    return upper - lower if objective == "tv" else upper + lower

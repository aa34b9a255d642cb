"""The base of all priors, and the weights of an objective under a prior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array, choice, whole
from darrm.errors import InputError
from darrm.numerics.arrays import Array

OBJECTIVES = ("tv", "disagreement")


class Prior:
    """A distribution of vote probabilities; made by `independent`, `common`, `votes`, `fixed` and their like.

    No guarantee rests on a prior, if it comes from elsewhere than the votes or records to be protected. A design file
    holds it exactly.

    Examples
    --------
    The probabilities of 0, 1, 2 and 3 ones of three votes, and the prior as text:

    >>> import darrm
    >>> prior = darrm.priors.independent()
    >>> prior.ones(3).round(4).tolist(), prior.text()
    ([0.0156, 0.1406, 0.4219, 0.4219], 'independent:0.5,1.0')
    """

    kind: ClassVar[str]
    default_objective: ClassVar[str] = "tv"

    def ones(self, K: int) -> Array:
        """E[alpha_l] = E[Pr[L = l]] for l = 0, ..., K; shape (K + 1,), sums to 1."""
        return _ones(self, whole("K", K)).copy()

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

    def text(self, number: Callable[[float], str] = repr) -> str:
        """The prior as `parse` reads it, with all digits."""
        values = np.ravel(list(asdict(self).values())).tolist()  # type: ignore[call-overload]
        return f"{self.kind}:{','.join(map(number, values))}"

    def __str__(self) -> str:
        return self.text("{:g}".format)

    @property
    def counted(self) -> tuple[float, ...] | None:
        """The numbers of rows with 0, 1, ..., K ones, if the prior was read from votes; None if not."""
        return None

    @property
    def reach(self) -> float | None:
        """The largest possible max(p_i, 1 - p_i) under the prior; None if it does not model single voters."""
        return None


@lru_cache(maxsize=16)
def _ones(prior: Prior, K: int) -> Array:
    return prior._ones(K)


def weights(prior: Prior, K: int, objective: str) -> Array:
    """The weight of gamma(l) in the objective, for l = K // 2 + 1, ..., K (twice the coefficient).

        "tv":            E[alpha_l - alpha_(K-l)]
        "disagreement":  E[alpha_l + alpha_(K-l)]

    so that the error is 1/2 sum of weights (1 - gamma(l)). Definition 2.4 and Appendix C.1 of the DaRRM paper for
    "tv"; "disagreement" is the probability that the released bit differs from the majority of the votes cast.

    Raises
    ------
    InputError
        If the objective is unknown; if "tv" is asked of votes or fixed p, where it can cancel or turn negative; if
        all weights are 0.

    Examples
    --------
    Six to eleven ones of eleven, with the default prior: the closest and the unanimous votes have small weights.

    >>> import darrm
    >>> darrm.priors.weights(darrm.priors.independent(), 11, "tv").round(3).tolist()
    [0.054, 0.166, 0.257, 0.258, 0.155, 0.042]
    """
    choice("objective", objective, OBJECTIVES)
    if objective == "tv" and prior.default_objective != "tv":
        raise InputError(
            f'objective "tv" is refused for the prior {prior.kind!r}: it compares probabilities of 1, so votes for 1 '
            'and for 0 cancel and a weight can turn negative. Use "disagreement".'
        )
    result = _combined(_ones(prior, whole("K", K)), objective)
    if not result.max() > 0:
        raise InputError(
            f"All weights of the objective {objective!r} are 0 under {prior}: every gamma is optimal. "
            'Use another prior or objective "disagreement".'
        )
    return result


def errors(prior: Prior, gamma: Array) -> tuple[float, float]:
    """Error and disagreement of a noise function under a prior; the first is an absolute value, as votes can cancel."""
    K = gamma.size - 1
    mean, lost = _ones(prior, K), 1 - gamma[K // 2 + 1 :]
    return abs(float(_combined(mean, "tv") @ lost)) / 2, float(_combined(mean, "disagreement") @ lost) / 2


def combine(mean: ArrayLike, objective: str) -> Array:
    """E[alpha_l -+ alpha_(K-l)] for l > K/2 from E[alpha].

    Examples
    --------
    The weights of two and three ones of three, from the probabilities of 0, 1, 2 and 3 ones:

    >>> import darrm
    >>> darrm.priors.combine([0.125, 0.125, 0.25, 0.5], "tv").tolist()
    [0.125, 0.375]
    >>> darrm.priors.combine([0.125, 0.125, 0.25, 0.5], "disagreement").tolist()
    [0.375, 0.625]
    """
    return _combined(array("mean", mean, ("K + 1",)), objective)


def _combined(mean: Array, objective: str) -> Array:
    K = mean.size - 1
    upper, lower = mean[K // 2 + 1 :], mean[: K - K // 2][::-1]
    return upper - lower if objective == "tv" else upper + lower

"""Votes after randomized response, and a check of which priors they can have.

Voters that answer by randomized response of epsilon are right with probability at most e^epsilon / (1 + e^epsilon). A
larger accuracy is possible for privately trained models, but not for randomized response.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import MAX_EPSILON, array, plain, real, refusal
from darrm.errors import ImpossiblePriorWarning
from darrm.numerics.arrays import Array
from darrm.priors.chances import fixed, independent
from darrm.priors.prior import Prior

_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Randomized(Prior):
    """Votes of another prior behind randomized response; see `randomized_response`."""

    base: Prior
    epsilon: float
    kind: ClassVar[str] = "randomized-response"

    @property
    def default_objective(self) -> str:  # type: ignore[override]  # that of the votes before
        return self.base.default_objective

    def as_dict(self) -> dict[str, object]:
        return {"kind": self.kind, "base": self.base.as_dict(), "epsilon": self.epsilon}

    def text(self, number: Callable[[float], str] = repr) -> str:
        return f"{self.kind}:{number(self.epsilon)}:{self.base.text(number)}"

    def _ones(self, K: int) -> Array:
        # A one stays one with probability keep. Generating functions, by Horner's rule; all terms are positive.
        keep = largest_accuracy(self.epsilon)
        one, zero = np.array([1 - keep, keep]), np.array([keep, 1 - keep])
        before = self.base.ones(K)
        after, zeros = before[K:], np.ones(1)
        for chance in before[:K][::-1]:
            zeros = np.convolve(zeros, zero)
            after = np.convolve(after, one) + chance * zeros
        return np.asarray(after)

    def _sample(self, n: int, K: int, rng: np.random.Generator) -> Array:
        return np.asarray(0.5 + (self.base.sample(n, K, rng) - 0.5) * math.tanh(self.epsilon / 2))

    @property
    def counted(self) -> tuple[float, ...] | None:
        return self.base.counted

    @property
    def reach(self) -> float:
        of_base = self.base.reach  # asked for once: bases have bases
        before = 1.0 if of_base is None else of_base
        return 0.5 + (before - 0.5) * math.tanh(self.epsilon / 2)


def largest_accuracy(epsilon: float, Delta: float = 0.0) -> float:
    """The largest accuracy of (epsilon, Delta)-DP randomized response: (e^epsilon + Delta) / (1 + e^epsilon)."""
    epsilon = real("epsilon", epsilon, 0, MAX_EPSILON, hint="Pass the privacy of one voter in nats, e.g. 0.5.")
    Delta = real("Delta", Delta, 0, 1, "[)", hint="Pass the delta of one voter, e.g. 1e-5.")
    shrink = math.exp(-epsilon)
    return (1 + Delta * shrink) / (1 + shrink)


def randomized_response(base: Prior | ArrayLike, epsilon: float) -> Prior:
    """The prior of votes after randomized response; it is valid for such voters only.

        p_i = 1/2 + (b_i - 1/2) tanh(epsilon / 2)

    where b_i is the probability of a 1 before: an answer is kept with probability e^epsilon / (1 + e^epsilon), else
    flipped. Exact for every base: L' = Bin(L, keep) + Bin(K - L, 1 - keep) for L ones before.

    Parameters
    ----------
    base : Prior, float in [1/2, 1], or array_like of shape (K,) in [0, 1]
        The prior of the answers before they are randomized: any other prior (also `votes`, if those were public), one
        accuracy for all voters, or one for each. No guarantee rests on it, if it comes from elsewhere than these votes
        or records.
    epsilon : float, above 0
        Epsilon of one answer, nats: the ``epsilon`` of the problem.

    Raises
    ------
    InputError
        If an argument is out of range.

    Notes
    -----
    O(K^2). Warner (JASA 1965). Privately trained models are not randomized response: their epsilon is about records,
    and does not bound their accuracy. For them use `fixed` or `confusion`.

    Examples
    --------
    Voters with an accuracy of 0.9, and of 0.6 after randomized response of epsilon 1/2:

    >>> import darrm
    >>> prior = darrm.priors.randomized_response(0.9, epsilon=0.5)
    >>> round(prior.reach, 4)
    0.598
    >>> str(darrm.solve(K=11, m=3, epsilon=0.5, prior=prior).objective)
    'tv'
    """
    epsilon = real("epsilon", epsilon, 0, MAX_EPSILON, "(]", hint="Pass the privacy of one answer in nats, e.g. 0.5.")
    if isinstance(base, Prior):
        made = base
    elif plain("base", base, "a prior, an accuracy, or one for each of K voters").ndim:
        made = fixed(array("base", base, ("K",), 0, 1, "[]"))
    else:
        accuracy = real("base", base, 0.5, 1, hint="Pass the accuracy of a voter before its answer is randomized.")
        made = independent(accuracy, accuracy)
    return Randomized(made, epsilon)


def check_possible(prior: Prior, epsilon: float, Delta: float = 0.0) -> bool:
    """Whether voters that answer by randomized response can have this prior; if not, a warning states why.

        max(p_i, 1 - p_i) <= (e^epsilon + Delta) / (1 + e^epsilon)     for every p that the prior takes to be possible

    Call it yourself, because darrm does not know how the voters are made private. The default prior, independent and
    uniform on [1/2, 1], is impossible for randomized response, and possible for privately trained models. An impossible
    prior costs utility, not privacy, if it comes from elsewhere than these votes or records. Public counts (`votes`)
    always count as possible.

    Parameters
    ----------
    prior : Prior
    epsilon, Delta : float
        Privacy of one answer.

    Warns
    -----
    ImpossiblePriorWarning

    Examples
    --------
    >>> import darrm
    >>> answers = darrm.priors.randomized_response(darrm.priors.independent(), epsilon=0.5)
    >>> darrm.priors.check_possible(answers, 0.5)
    True
    """
    reason = why_impossible(prior, epsilon, Delta)
    if reason is not None:
        warnings.warn(reason, ImpossiblePriorWarning, stacklevel=2)
    return reason is None


def why_impossible(prior: Prior, epsilon: float, Delta: float = 0.0) -> str | None:
    """What `check_possible` warns of; None if nothing."""
    if not isinstance(prior, Prior):
        raise refusal("prior", "made by darrm.priors", prior, "Make one of a text with darrm.priors.parse.")
    most, reach = largest_accuracy(epsilon, Delta), prior.reach
    if isinstance(prior, Randomized):
        reach = largest_accuracy(prior.epsilon)  # whatever the answers were before, such a voter must be private
    if reach is None or reach <= most * (1 + _TOLERANCE):
        return None
    return (
        f"The prior {prior} cannot be true of randomized response of epsilon {epsilon:g}, which is right with "
        f"probability {most:.6g} at most. Here it goes up to {reach:.6g}. Pass "
        f"darrm.priors.randomized_response(base, {epsilon:g}), or --prior randomized-response:{epsilon:g}:BASE. "
        "Privacy does not depend on the prior, if it comes from elsewhere than these votes or records."
    )

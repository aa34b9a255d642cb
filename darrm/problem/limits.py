"""What a release is held to: the guarantee of its problem, or points of a whole profile."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import lru_cache
from itertools import pairwise

from darrm._validation import real, refusal
from darrm.errors import InputError
from darrm.numerics.exact import DIGITS, context
from darrm.problem.majority import MajorityProblem


@dataclass(frozen=True)
class Limit:
    """Another (epsilon, delta) that a release is held to: what engines need of a problem, with epsilon as it is.

    Attributes
    ----------
    K, changed : int
    epsilon, Delta : float
        Of one mechanism.
    delta : float
    promised : Decimal
        The epsilon of the release, exactly.
    """

    K: int
    changed: int
    epsilon: float
    Delta: float
    delta: float
    promised: Decimal

    @property
    def total_epsilon(self) -> float:
        """``promised`` to float64."""
        return float(self.promised)


Promise = MajorityProblem | Limit


def profile_points(profile: Iterable[tuple[float, float]] | None) -> tuple[tuple[float, float], ...]:
    """Pairs (epsilon, delta) as floats; `InputError` if they are none."""
    try:
        pairs = [(epsilon, delta) for epsilon, delta in profile or ()]
    except (TypeError, ValueError):
        raise refusal("profile", "a list of pairs (epsilon, delta)", profile) from None
    return tuple(
        (real("An epsilon of profile", epsilon, 0), real("A delta of profile", delta, 0, 1, "[)"))
        for epsilon, delta in pairs
    )


def profile_limits(problem: MajorityProblem, profile: Iterable[tuple[float, float]]) -> tuple[Limit, ...]:
    """The points (epsilon, delta) of a profile as limits for the release of ``problem``.

    An infinite epsilon is read at changed * epsilon + 14 nats: stricter, and no loss but those of Delta is beyond.

    Raises
    ------
    InputError
        If a point is out of range, epsilons do not rise, deltas do not fall, or the point (0, 0) is among them.
    """
    points = profile_points(profile)
    end = Decimal(problem.changed) * Decimal(problem.epsilon) + 14
    limits = []
    for epsilon, delta in points:
        if epsilon == delta == 0:
            raise InputError("The point (0, 0) of a profile leaves nothing of the votes. Raise epsilon or delta.")
        exact = min(Decimal(epsilon), end) if epsilon < math.inf else end
        limits.append(Limit(problem.K, problem.changed, problem.epsilon, problem.Delta, delta, exact))
    for (epsilon, delta), (further, lower) in pairwise(points):
        if not (epsilon < further and delta >= lower):
            raise InputError(
                "A profile must have rising epsilons and falling deltas. Got "
                f"({epsilon:g}, {delta:g}) before ({further:g}, {lower:g})."
            )
    return tuple(limits)


@lru_cache(maxsize=128)
def total_epsilon(problem: Promise) -> Decimal:
    """The promised epsilon: m epsilon to 120 digits, exact for all float64 numbers but the tiniest."""
    if isinstance(problem, Limit):
        return problem.promised
    with localcontext(context(2 * DIGITS)):
        return Decimal(problem.m) * Decimal(problem.epsilon)

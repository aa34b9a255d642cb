"""What a release is held to: the guarantee of its problem, or points of a whole profile."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Generic, NamedTuple, Protocol, TypeVar

from darrm._validation import real, refusal
from darrm.errors import InputError
from darrm.numerics.exact import DIGITS, context

_NOT_PRIVATE = Decimal(400)
_MOST_POINTS = 10_000
ADJACENCIES = ("replace-one", "add-remove")
_TEXTBOOK = {"bounded": "replace-one", "substitute": "replace-one", "unbounded": "add-remove"}


def adjacency_text(adjacency: object) -> str:
    """What "adjacent" means, refused unless it is a text of one line, and if it is a usual name spelt otherwise."""
    if not isinstance(adjacency, str) or not adjacency.strip() or not adjacency.isprintable():
        raise InputError(
            f"adjacency must be a text of one line. Got {adjacency!r}. "
            f"Pass one of {', '.join(ADJACENCIES)}, or describe yours."
        )
    meant = ({_letters(name): name for name in ADJACENCIES} | _TEXTBOOK).get(_letters(adjacency), adjacency)
    if adjacency != meant:
        raise InputError(f"adjacency {adjacency!r} is not a name that darrm knows. Pass {meant!r}.")
    return adjacency


def _letters(name: str) -> str:
    """A name of neighbours without what spellings differ in: "Add or remove one" and "add-remove" are one."""
    return re.sub(r"[\s_/-]", "", name.lower()).removesuffix("one").replace("addorremove", "addremove")


def adjacency_in_print(adjacency: str) -> str:
    """What neighbours are: a name as it is, any other text in quotes, so that it cannot pass for a part of ours."""
    return adjacency if re.fullmatch(r"[\w-]+", adjacency) else repr(adjacency)


def of_neighbours(adjacency: str, Deltas: Sequence[float]) -> str:
    """What to ask of fixed voters of these Deltas, whose privacy may be for other neighbours; else nothing."""
    if adjacency != "replace-one" or not Deltas:
        return ""
    if not any(Deltas):
        return "If their epsilon is for a record added or removed, say adjacency add-remove."
    return "Accountants of DP-SGD mostly speak of a record added or removed. If yours does, say adjacency add-remove."


# An accuracy or a prior may be wrong at no cost in privacy, but not read off what the design protects: a change of one
# vote then changes the whole table, and a label with it, by more than any certificate of either table says.
ELSEWHERE = "if it comes from elsewhere than these votes or records"


def rests_not_on(what: str) -> str:
    """That the guarantee does not rest on ``what`` and under which condition, the same wherever it is printed."""
    return (
        f"The guarantee does not rest on {what}, {ELSEWHERE}. Whatever else shapes the design must come from elsewhere "
        "too, such as costs, m, epsilon and the choice of the design."
    )


class Affected(NamedTuple):
    """Voters of one kind that a single change of the data can affect: how private each is, and how many."""

    epsilon: float
    Delta: float
    voters: int


class Problem(Protocol):
    """What every problem says, whatever its voters are. `darrm.MajorityProblem` is one."""

    @property
    def K(self) -> int:
        """Number of voters."""

    @property
    def delta(self) -> float:
        """The delta guaranteed for one release."""

    @property
    def exact_epsilon(self) -> Fraction:
        """The epsilon guaranteed for one release (nats), exactly."""

    @property
    def release_epsilon(self) -> float:
        """The same, to float64."""

    @property
    def affected(self) -> tuple[Affected, ...]:
        """The voters that one change of the data can affect, kind by kind."""


P = TypeVar("P", bound=Problem)
P_co = TypeVar("P_co", bound=Problem, covariant=True)


@dataclass(frozen=True)
class Limit(Generic[P_co]):
    """The (epsilon, delta) that a release of ``problem`` is held to.

    Attributes
    ----------
    problem : Problem
        Says what the voters are.
    epsilon : Decimal
        To 120 digits.
    delta : float
    """

    problem: P_co
    epsilon: Decimal
    delta: float


def guarantee(problem: P) -> Limit[P]:
    """The guarantee of a problem as a limit; its epsilon to 120 digits, exact for all float64 but the tiniest."""
    if isinstance(problem, type) or not hasattr(problem, "exact_epsilon"):
        raise InputError(f"problem must be a darrm.MajorityProblem or a darrm.DecisionProblem. Got {problem!r}.")
    return Limit(problem, _to_120_digits(problem.exact_epsilon), problem.delta)


@lru_cache(maxsize=128)
def _to_120_digits(exact: Fraction) -> Decimal:
    with localcontext(context(2 * DIGITS)):
        return Decimal(exact.numerator) / Decimal(exact.denominator)


def weakest(affected: tuple[Affected, ...]) -> Affected:
    """As many voters as all kinds together, each no more private than the least private: a bound for all of them."""
    return Affected(
        max(kind.epsilon for kind in affected),
        max(kind.Delta for kind in affected),
        sum(kind.voters for kind in affected),
    )


def losses(affected: tuple[Affected, ...]) -> Decimal:
    """What all affected voters lose together without their Delta (nats); one that is not private counts as 400."""
    with localcontext(context(DIGITS)):
        total = Decimal(0)
        for kind in affected:
            total += kind.voters * (Decimal(kind.epsilon) if kind.epsilon < math.inf else _NOT_PRIVATE)
        return total


def profile_points(profile: Iterable[tuple[float, float]] | None) -> tuple[tuple[float, float], ...]:
    """Pairs (epsilon, delta) as floats; `InputError` if they are none."""
    try:
        pairs = [(epsilon, delta) for epsilon, delta in profile or ()]
    except (TypeError, ValueError):
        raise refusal("profile", "a list of pairs (epsilon, delta)", profile) from None
    if len(pairs) > _MOST_POINTS:
        raise InputError(
            f"A profile must have at most {_MOST_POINTS:,} points, each of which is certified on its own. Got "
            f"{len(pairs):,}. Take fewer."
        )
    return tuple(
        (real("An epsilon of profile", epsilon, 0), real("A delta of profile", delta, 0, 1, "[)"))
        for epsilon, delta in pairs
    )


def point_text(epsilon: float, limit: Limit[P]) -> str:
    """A point of a profile in words, and where it was read if that is not at its own ``epsilon``."""
    read = (
        ""
        if Decimal(epsilon) == limit.epsilon
        else f" (read at epsilon {float(limit.epsilon):.15g}, which is stricter)"
    )
    return f"({epsilon:.15g}, {limit.delta:.15g})-DP{read}"


def profile_limits(problem: P, profile: Iterable[tuple[float, float]]) -> tuple[Limit[P], ...]:
    """The points (epsilon, delta) of a profile as limits for the release of ``problem``.

    No epsilon, and no infinite one, is read further out than 14 nats above what all affected voters lose together
    without their Delta. That is stricter, and no loss but those of Delta is beyond. Voters that are not private count
    as 400 nats.

    Raises
    ------
    InputError
        If a point is out of range, epsilons do not rise, deltas do not fall, or the point (0, 0) is among them.
    """
    points = profile_points(profile)
    limits = []
    with localcontext(context(DIGITS)):
        end = losses(problem.affected) + 14
        for epsilon, delta in points:
            if epsilon == delta == 0:
                raise InputError("The point (0, 0) of a profile leaves nothing of the votes. Raise epsilon or delta.")
            limits.append(Limit(problem, min(Decimal(epsilon), end) if epsilon < math.inf else end, delta))
    for (epsilon, delta), (further, lower) in pairwise(points):
        if not (epsilon < further and delta >= lower):
            raise InputError(
                "A profile must have rising epsilons and falling deltas. Got "
                f"({epsilon:g}, {delta:g}) before ({further:g}, {lower:g})."
            )
    return tuple(limits)

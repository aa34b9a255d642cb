"""The limits that a release must keep: the guarantee of its problem, or points of a privacy profile."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from darrm._validation import real, refusal
from darrm.errors import InputError
from darrm.numerics.exact import DIGITS, context

ANY_NUMBER = "any number of votes and classes"  # what a total of noisy max holds for, if it is for no table
ADDED = "or adds or takes away as many where a row may have any number of votes"  # beside the votes that one changes
_NOT_PRIVATE = Decimal(400)
_MOST_POINTS = 10_000
ADJACENCIES = ("replace-one", "add-remove")
_TEXTBOOK = {"bounded": "replace-one", "substitute": "replace-one", "unbounded": "add-remove"}


def adjacency_text(adjacency: object) -> str:
    """The neighbouring relation as a text of one line; a common name in another spelling is refused."""
    if type(adjacency) is str and adjacency in ADJACENCIES:
        return adjacency
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
    """A neighbouring relation without differences of spelling: "Add or remove one" equals "add-remove"."""
    return re.sub(r"[\s_/-]", "", name.lower()).removesuffix("one").replace("addorremove", "addremove")


def adjacency_in_print(adjacency: str) -> str:
    """The neighbouring relation for print: a known name as it is, any other text in quotes."""
    return adjacency if re.fullmatch(r"[\w-]+", adjacency) else repr(adjacency)


def of_neighbours(adjacency: str, Deltas: Sequence[float]) -> str:
    """A reminder for fixed voters of these Deltas, whose epsilon may be for other neighbours; else empty."""
    if adjacency != "replace-one" or not Deltas:
        return ""
    if not any(Deltas):
        return "If their epsilon is for a record added or removed, make the design with adjacency add-remove."
    return (
        "Accountants of DP-SGD mostly speak of a record added or removed. If yours does, make the design with "
        "adjacency add-remove."
    )


# An accuracy or a prior may be wrong at no cost in privacy, but it must not be measured on the protected data. A change
# of one vote would then change the whole table, which no certificate of either table covers.
ELSEWHERE = "if it comes from elsewhere than these votes or records"


def rests_not_on(what: str) -> str:
    """The sentence that the guarantee does not rest on ``what``, with its condition."""
    return (
        f"The guarantee does not rest on {what}, {ELSEWHERE}. Whatever else shapes the design must come from "
        "elsewhere too, such as costs, m, epsilon and the choice of the design."
    )


class Affected(NamedTuple):
    """Affected voters of equal privacy parameters, and their number."""

    epsilon: float
    Delta: float
    voters: int


class Problem(Protocol):
    """The properties that every problem has. `darrm.MajorityProblem` is one."""

    @property
    def K(self) -> int:
        """Number of voters."""

    @property
    def delta(self) -> float:
        """The delta guaranteed for one release."""

    @property
    def exact_epsilon(self) -> Fraction:
        """The epsilon guaranteed for one release (nats), as an exact number."""

    @property
    def release_epsilon(self) -> float:
        """The epsilon guaranteed for one release (nats), rounded to float64."""

    @property
    def affected(self) -> tuple[Affected, ...]:
        """The affected voters, by privacy parameters."""

    @property
    def kinds(self) -> Mapping[str, Any]:
        """The problem of each kind of change that has a limit of its own, by name; one, called "", if all have one."""


P = TypeVar("P", bound=Problem)
P_co = TypeVar("P_co", bound=Problem, covariant=True)


@dataclass(frozen=True)
class Limit(Generic[P_co]):
    """The (epsilon, delta) that a release of ``problem`` is held to.

    Attributes
    ----------
    problem : Problem
        Describes the voters.
    epsilon : Decimal
        To 120 digits.
    delta : float
    """

    problem: P_co
    epsilon: Decimal
    delta: float


_last: list[Limit[Any]] = []  # the last one: several steps of a solve ask for it


def guarantee(problem: P) -> Limit[P]:
    """The guarantee of a problem as a limit; epsilon has 120 digits, exact for all float64 but the tiniest."""
    last = _last[-1] if _last else None
    if last is not None and last.problem is problem:
        return last
    if not hasattr(type(problem), "exact_epsilon"):  # of the type: a problem of several limits has no epsilon
        raise InputError(f"problem must be a darrm.MajorityProblem or a darrm.DecisionProblem. Got {problem!r}.")
    limit = Limit(problem, _to_120_digits(problem.exact_epsilon), problem.delta)
    _last[:] = [limit]
    return limit


def guarantees(problem: Problem) -> tuple[Limit[Any], ...]:
    """The limit of each kind of change, with the problem of that kind; one, the `guarantee`, if all have the same."""
    return tuple(guarantee(kind) for kind in problem.kinds.values())


def by_kind(problem: Problem, said: Callable[[Any], str]) -> str:
    """``said`` of the problem, or of that of every kind: "x for a change in group 1, y for a change in group 2".

    The problem of one kind, which says nothing of other changes, is named too.
    """
    each = ((said(kind), name or reached_groups(kind)) for name, kind in problem.kinds.items())
    return ", ".join(of + f" for a change in {name}" * bool(name) for of, name in each)


def reached_groups(problem: Any) -> str:
    """The groups to which the changes of a problem of one kind are confined: "group 1"; "" if they are not."""
    groups = problem.groups
    names = [f"group {g}" for g, group in enumerate(groups, 1) if group.max_affected]
    return " and ".join(names) * (len(names) < len(groups))


def _to_120_digits(exact: Fraction) -> Decimal:
    with localcontext(context(2 * DIGITS)):
        return Decimal(exact.numerator) / Decimal(exact.denominator)


def weakest(affected: tuple[Affected, ...]) -> Affected:
    """As many voters as are affected, each with the parameters of the least private: a bound for all of them."""
    return Affected(
        max(kind.epsilon for kind in affected),
        max(kind.Delta for kind in affected),
        sum(kind.voters for kind in affected),
    )


def losses(affected: tuple[Affected, ...]) -> Decimal:
    """The sum of the epsilons of all affected voters (nats); a non-private voter counts as 400."""
    with localcontext(context(DIGITS)):
        total = Decimal(0)
        for kind in affected:
            total += kind.voters * (Decimal(kind.epsilon) if kind.epsilon < math.inf else _NOT_PRIVATE)
        return total


def epsilon_in_print(kind: Any) -> float:
    """The epsilon of one release; that of the affected votes, which also holds, where only rounding puts it above."""
    exact, most = losses(kind.affected), kind.release_epsilon
    votes = float(exact)
    stands = votes >= exact and not any(own.Delta for own in kind.affected)
    return votes if stands and votes < most <= votes * (1 + 1e-9) else float(most)


def profile_points(profile: Iterable[tuple[float, float]] | None) -> tuple[tuple[float, float], ...]:
    """The given points as pairs (epsilon, delta) of floats; `InputError` if they are not."""
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
    """A point of a profile in words, with the epsilon at which it was evaluated if that is not its own ``epsilon``."""
    read = (
        ""
        if Decimal(epsilon) == limit.epsilon
        else f" (evaluated at epsilon {float(limit.epsilon):.15g}, which is stricter)"
    )
    return f"({epsilon:.15g}, {limit.delta:.15g})-DP{read}"


def profile_limits(problem: P, profile: Iterable[tuple[float, float]]) -> tuple[Limit[P], ...]:
    """The points (epsilon, delta) of a profile as limits for the release of ``problem``.

    An epsilon, infinity included, is lowered to at most 14 nats above the sum of the epsilons of all affected voters.
    That is stricter, and only the Deltas matter beyond it. A non-private voter counts as 400 nats.

    Raises
    ------
    InputError
        If a point is out of range, epsilons do not rise, deltas do not fall, or the point (0, 0) is among them; if the
        problem has several limits.
    """
    points = profile_points(profile)
    if not points:
        return ()
    if len(problem.kinds) > 1:
        raise InputError("A profile is for one limit of all changes. Leave it out, or pass one epsilon.")
    limits = []
    with localcontext(context(DIGITS)):
        end = losses(problem.affected) + 14
        for epsilon, delta in points:
            if epsilon == delta == 0:
                raise InputError("The point (0, 0) of a profile hides all votes. Raise epsilon or delta.")
            limits.append(Limit(problem, min(Decimal(epsilon), end) if epsilon < math.inf else end, delta))
    for (epsilon, delta), (further, lower) in pairwise(points):
        if not (epsilon < further and delta >= lower):
            raise InputError(
                "A profile must have rising epsilons and falling deltas. Got "
                f"({epsilon:g}, {delta:g}) before ({further:g}, {lower:g})."
            )
    return tuple(limits)

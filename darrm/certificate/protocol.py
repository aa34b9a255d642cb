"""The interface of every separation engine, which certificates, design and accounting use.

A release is searched over all pairs of neighbouring data sets and all sets S of answers for its hockey-stick
divergence, the largest Pr[S | D] - e^epsilon Pr[S | D']. That value for one case is called its excess.
`darrm.certificate.engines` knows which engine serves which problem.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from darrm.numerics.exact import exponentials
from darrm.problem.limits import Limit

_COARSE = 1e-10


class Case(Protocol):
    """A worst-case configuration: for a majority, the number of voters at each corner. Hashable."""

    def named(self) -> dict[str, int]:
        """The number of voters at each corner or kind, in the words of a certificate."""

    def __hash__(self) -> int: ...


class WorstCase(NamedTuple):
    """The worst case among a set of cases, at one epsilon.

    Attributes
    ----------
    bound : float
        Upper bound on the excess Pr[S | D] - e^epsilon Pr[S | D'] of all these cases.
    rounding : float
        About the part of ``bound`` that covers rounding errors; where it is above 0, ``case`` achieves ``bound`` up to
        about twice that.
    case : Case or None
        None for a bound without a search, which does not locate the worst case.
    p_side, q_side, difference : float
        Pr[S | D], Pr[S | D'] and the first minus the second at ``case``.
    share : float
        The number of answers in S divided by the number of all answers.
    """

    bound: float
    rounding: float
    case: Case | None
    p_side: float
    q_side: float
    difference: float
    share: float = 0.5


class Facts(NamedTuple):
    """Facts about a release that accounting needs besides its worst cases.

    Attributes
    ----------
    answers : int
        The number of answers; exact composition of many releases is for two.
    least : Fraction
        The least Pr[S | votes] over all votes and single answers S.
    epsilon_floor : Decimal
        No epsilon below it can hold at the delta of the limit.
    """

    answers: int
    least: Fraction
    epsilon_floor: Decimal = Decimal(0)


class Separation(Protocol):
    """The search over all cases of one release that must keep one limit.

    Results are sharp at the delta of the limit. Every method takes any epsilon.
    """

    def worst_cases(self, epsilon: Decimal) -> Sequence[WorstCase]:
        """Worst cases that cover every case: the largest bound holds for all neighbours and all sets of answers."""

    def worst(self, *epsilons: Decimal) -> list[WorstCase]:
        """At each epsilon the worst case of the largest bound, which holds for all neighbours and all sets of answers.

        An engine may search several epsilons at once.
        """

    def glimpse(self, epsilon: Decimal) -> WorstCase:
        """The worst of some cases, found quickly: achieved, and a bound on other cases only if the engine states it."""

    def broken(
        self, epsilon: Decimal, threshold: float, effort: int, near: Collection[Any] = ()
    ) -> Sequence[WorstCase]:
        """Worst cases with a ``case`` and an excess above ``threshold``, quickly found; there may be others.

        Parameters
        ----------
        epsilon : Decimal
        threshold : float
        effort : {0, 1, 2}
            The range of the search: 0 the common case families, or some of them if they are many; 1 around ``near``; 2
            all common case families.
        near : collection of Case
            Cases of this engine that were found before; with effort 0 or 2 all known ones, which need not be found
            again.
        """

    def facts(self) -> Facts:
        """The facts that accounting needs."""


def coarse(limit: Limit[Any], rounding: float) -> bool:
    """Whether so much rounding of an excess is more than 1e-10 of what a limit allows."""
    return rounding > _COARSE * (exponentials(limit.epsilon)[1] + 2 * limit.delta)


def largest(worst_cases: Iterable[WorstCase]) -> WorstCase:
    """The worst case with the largest bound, which bounds all of them."""
    return max(worst_cases, key=lambda worst: worst.bound)

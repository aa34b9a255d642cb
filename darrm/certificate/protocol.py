"""What every separation engine answers. Certificates, design and accounting ask only this.

A release is searched over all pairs of neighbouring data sets and all sets S of answers for the largest hockey-stick
excess Pr[S | D] - e^epsilon Pr[S | D']. `darrm.certificate.engines` knows which engine serves which problem.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, Protocol


class Case(Protocol):
    """Where a worst case is: for a majority, how many voters sit at which corner. Hashable."""

    def named(self) -> dict[str, int]:
        """How many voters sit where, in the words of a certificate."""

    def __hash__(self) -> int: ...


@dataclass(frozen=True)
class WorstCase:
    """The worst case among some, at one epsilon.

    Attributes
    ----------
    bound : float
        Upper bound on the excess Pr[S | D] - e^epsilon Pr[S | D'] of all these cases.
    rounding : float
        About what ``bound`` includes for rounding errors; where it is above 0, ``case`` achieves all of it but for
        about twice that.
    case : Case or None
        None for a bound without a search: it says nothing of where the worst case is.
    p_side, q_side, difference : float
        Pr[S | D], Pr[S | D'] and the first less the second at ``case``.
    share : float
        The number of answers in S over the number of all answers.
    """

    bound: float
    rounding: float
    case: Case | None
    p_side: float
    q_side: float
    difference: float
    share: float = 0.5


class Facts(NamedTuple):
    """What accounting asks about a release beside its worst cases.

    Attributes
    ----------
    answers : int
        How many answers there are; exact composition of many releases is for two.
    least : Fraction
        The least Pr[S | votes] over all votes and single answers S.
    epsilon_floor : Decimal
        No epsilon below it can hold at the delta of the limit.
    """

    answers: int
    least: Fraction
    epsilon_floor: Decimal = Decimal(0)


class Separation(Protocol):
    """The search over all cases of one release that is held to one limit.

    The limit says at which delta answers must be sharp. Any epsilon may be asked for.
    """

    def worst_cases(self, epsilon: Decimal) -> Sequence[WorstCase]:
        """Worst cases that cover every case: the largest bound holds for all neighbours and all sets of answers."""

    def glimpse(self, epsilon: Decimal) -> WorstCase:
        """The worst of some cases, found quickly: achieved, and no bound on the others unless the engine says so."""

    def broken(
        self, epsilon: Decimal, threshold: float, effort: int, near: Collection[Any] = ()
    ) -> Sequence[WorstCase]:
        """Worst cases with a ``case`` and an excess above ``threshold``, quickly found; there may be others.

        Parameters
        ----------
        epsilon : Decimal
        threshold : float
        effort : {0, 1, 2}
            How widely to look: at the usual cases, or some if they are many; around ``near``; at all usual cases.
        near : collection of Case
            Cases that were broken before, of this engine's own kind; with effort 0 or 2 all that are known, which need
            not be found again.
        """

    def facts(self) -> Facts:
        """What accounting asks."""


def largest(worst_cases: Iterable[WorstCase]) -> WorstCase:
    """The worst case with the largest bound, which bounds all of them."""
    return max(worst_cases, key=lambda worst: worst.bound)

"""A separation in float64, and in decimals where float64 is coarse beside the limit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any, Protocol

from numpy.typing import ArrayLike

from darrm.certificate.protocol import Facts, Separation, WorstCase, largest
from darrm.numerics.arrays import Array
from darrm.problem.limits import Limit


class OfTwo(Separation, Protocol):
    """A separation of which there is one in float64 and one in decimals."""

    def coarse(self, epsilon: Decimal, delta: float) -> bool:
        """Whether rounding in float64 is a part of this limit, and the tables are small enough for decimals."""

    def largest(
        self, score: Callable[[Array, Array], Array], above: float, most: int
    ) -> list[tuple[Any, Array, Array]]:
        """Cases whose ``score(P, Q)`` exceeds a number, with their P and Q."""


class Finer:
    """A `Separation` by two of one engine, in float64 and in decimals.

    Its worst cases are those in decimals where float64 does not show that the limit holds, and where decimals would be
    asked again for the delta that they need. So a release keeps every epsilon and every delta that is certified.

    Parameters
    ----------
    make : callable
        Takes whether to compute in decimals; returns the separation.
    limit : Limit
    """

    def __init__(self, make: Callable[[bool], OfTwo], limit: Limit[Any]) -> None:
        self._make, self._delta = make, limit.delta
        self._floats = make(False)

    @cached_property
    def _decimals(self) -> OfTwo:
        return self._make(True)

    def worst_cases(self, epsilon: Decimal) -> Sequence[WorstCase]:
        found = self._floats.worst_cases(epsilon)
        return found if self._is_enough(epsilon, largest(found)) else self._decimals.worst_cases(epsilon)

    def worst(self, *epsilons: Decimal) -> list[WorstCase]:
        return [
            found if self._is_enough(epsilon, found) else self._decimals.worst(epsilon)[0]
            for epsilon, found in zip(epsilons, self._floats.worst(*epsilons), strict=True)
        ]

    def _is_enough(self, epsilon: Decimal, worst: WorstCase) -> bool:
        """Whether float64 shows that the limit holds, or is fine enough beside the delta that is needed."""
        return worst.bound <= self._delta or not self._floats.coarse(epsilon, worst.bound)

    def glimpse(self, epsilon: Decimal) -> WorstCase:
        """That in float64; the worst of all cases where it is coarse."""
        if self._floats.coarse(epsilon, self._delta):
            return self.worst(epsilon)[0]
        return self._floats.glimpse(epsilon)

    def broken(
        self, epsilon: Decimal, threshold: float, effort: int, near: Collection[Any] = ()
    ) -> Sequence[WorstCase]:
        """In float64: what is proposed need not be proved."""
        return self._floats.broken(epsilon, threshold, effort, near)

    def largest(
        self, score: Callable[[Array, Array], Array], above: float, most: int
    ) -> list[tuple[Any, Array, Array]]:
        """In float64, as `broken`."""
        return self._floats.largest(score, above, most)

    def facts(self) -> Facts:
        return self._floats.facts()


def by(kind: Callable[..., OfTwo]) -> Callable[[ArrayLike, Limit[Any]], Separation]:
    """The separation of an engine whose ``kind`` takes a release, a limit, and whether to compute in decimals."""
    return lambda release, limit: Finer(lambda exact: kind(release, limit, exact=exact), limit)

"""Separation for voters of a known randomizer, by that of the true answers behind their votes.

A case is one of the problem of true answers (`darrm.problem.truths`), with the votes of the colluders. Each vector of
votes of the colluders has its own separations: one of the table f_k in 50 digits, on which certificates rest, and one
of f_k in float64, which proposes constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from darrm.certificate import classes, groups
from darrm.certificate.classes import ClassSeparation
from darrm.certificate.groups import GroupSeparation
from darrm.certificate.protocol import Facts, WorstCase, largest
from darrm.numerics.arrays import Array
from darrm.problem import encodings
from darrm.problem.decision import DecisionProblem
from darrm.problem.limits import Limit
from darrm.problem.truths import TruthCase, Voted, check_kernels, truths_of


def check_size(problem: DecisionProblem) -> None:
    """Refuse a problem that is too large, and a process whose arithmetic certifies nothing."""
    check_kernels(problem)
    inner = truths_of(problem).problem
    (groups if inner.binary else classes).check_size(inner)


class TruthSeparation:
    """Separation over every case of the true answers and every vote of the colluders: a `Separation`.

    Parameters
    ----------
    release : array_like
        The table of a decision.
    limit : Limit of a DecisionProblem with a known randomizer
    exact : bool
        Whether to compute in decimals from f_k on, and not only f_k.
    """

    def __init__(self, release: ArrayLike, limit: Limit[DecisionProblem], *, exact: bool = False) -> None:
        check_size(limit.problem)
        self._truths = truths_of(limit.problem)
        self._table = encodings.table(release, limit.problem)
        # One search of a table serves all limits of a profile: it looks at no epsilon, and that of groups at no delta.
        self._limit = Limit(self._truths.problem, Decimal(0), 0.0 if self._truths.problem.binary else limit.delta)
        self._exact = exact

    def worst_cases(self, epsilon: Decimal) -> list[WorstCase]:
        """The worst cases of all separations."""
        return [
            self._named(worst, voted)
            for voted, search in self._each(exact=True)
            for worst in search.worst_cases(epsilon)
        ]

    def worst(self, *epsilons: Decimal) -> list[WorstCase]:
        """The worst of all separations at each epsilon."""
        each = self._each(exact=True)
        of_votes = zip(*(search.worst(*epsilons) for _, search in each), strict=True)
        found = [max(zip(of_one, each, strict=True), key=lambda one: one[0].bound) for of_one in of_votes]
        return [self._named(worst, voted) for worst, (voted, _) in found]

    def glimpse(self, epsilon: Decimal) -> WorstCase:
        """The worst of some cases, in float64."""
        return largest(self._named(search.glimpse(epsilon), voted) for voted, search in self._each(exact=False))

    def coarse(self, epsilon: Decimal, delta: float) -> bool:
        """Whether float64 is coarse beside this limit, and the tables are small."""
        limit = Limit(self._truths.problem, epsilon, delta)
        return groups.in_decimals_anyway(limit) if limit.problem.binary else classes.in_decimals_anyway(limit)

    def broken(
        self, epsilon: Decimal, threshold: float, effort: int, near: Collection[TruthCase] = ()
    ) -> Sequence[WorstCase]:
        """Cases above ``threshold``, in float64; none for effort 1, because no case is kept."""
        if effort == 1:
            return []
        return [
            self._named(worst, voted)
            for voted, search in self._each(exact=False)
            for worst in search.broken(epsilon, threshold, effort, ())
        ]

    def facts(self) -> Facts:
        """The number of answers, and the least probability of one, given all true answers."""
        each = [search.facts() for _, search in self._each(exact=True)]
        return Facts(each[0].answers, min(facts.least for facts in each))

    def rows(self, together: tuple[int, ...] | None = None) -> Iterator[tuple[Array, Array]]:
        """The probabilities of all answers on both sides of every case; see `ClassSeparation.rows`."""
        for _, search in self._each(exact=True):
            yield from search.rows(together)

    def largest(
        self, score: Callable[[Array, Array], Array], above: float, most: int
    ) -> list[tuple[TruthCase, Array, Array]]:
        """Cases whose ``score(P, Q)`` exceeds a number, in float64; see `ClassSeparation.largest`."""
        each = self._each(exact=False)
        return [
            (self._case(own, voted), P, Q)
            for voted, search in each
            for own, P, Q in search.largest(score, above, max(1, most // len(each)))
        ]

    @property
    def relative_error(self) -> float:
        """The relative error of every entry that `rows` returns."""
        return float(max(search.relative_error for _, search in self._each(exact=True)))

    def _each(self, *, exact: bool) -> list[tuple[Voted, Any]]:
        whole = self._exact and exact
        return _separations(self._table.tobytes(), self._table.shape, self._truths.votes, self._limit, exact, whole)

    def _named(self, worst: WorstCase, voted: Voted) -> WorstCase:
        """The worst case with the votes of the colluders."""
        if worst.case is None:
            return worst
        return worst._replace(case=self._case(worst.case, voted))

    def _case(self, own: Any, voted: Voted) -> TruthCase:
        return TruthCase(tuple(self._truths.votes_of(voted)), voted, own, self._truths.votes.binary)


@lru_cache(maxsize=4)
def _separations(
    content: bytes,
    shape: tuple[int, ...],
    problem: DecisionProblem,
    limit: Limit[DecisionProblem],
    exact: bool,
    whole: bool,
) -> list[tuple[Voted, Any]]:
    """The separation for each vector of votes of the colluders, of f_k in decimals or computed in them as a whole."""
    truths, found = truths_of(problem), []
    table = np.frombuffer(content).reshape(shape)
    for voted in truths.colluding(table):
        answers = truths.seen(table, voted, exact=exact)
        start = np.moveaxis(answers, -1, 0) if limit.problem.binary else answers
        kind: Any = GroupSeparation if limit.problem.binary else ClassSeparation
        found.append((voted, kind(None, limit, start, exact=whole)))
    return found

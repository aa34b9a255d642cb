"""Proposals of constraints that a table violates, in float64 and without a claim of completeness.

A few common case families contain nearly all binding constraints, and searching them is quick. The engine of the
certificate searches the whole set only when none of those is violated. A missed constraint costs time, or error of the
design; it never costs privacy, because the released table is certified.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from darrm.certificate.engines import search, worst_cases
from darrm.certificate.protocol import Separation, WorstCase
from darrm.certificate.scaling import shrink
from darrm.constraints.engines import Columns, constraint_rows
from darrm.numerics.arrays import Array
from darrm.problem import encodings
from darrm.problem.limits import Limit, Problem, guarantee
from darrm_solvers.cutting_planes import Rows, stacked

_AT_ONCE = 128  # number of rows of common case families that are added at once
_LITTLE = 1e-11  # share of noise; more than that may be far above what a steep limit needs
_FEW, _AHEAD = 64, 6  # number of cases below which each adds those ahead of it, and how many in each direction


class Candidates:
    """The table that would be released for an answer of the solver, and the search over its cases.

    Parameters
    ----------
    limits : sequence of Limit
        All limits that the release must keep.
    columns : Columns
        The meaning of the solver's variables.
    """

    def __init__(self, limits: Sequence[Limit[Problem]], columns: Columns) -> None:
        self._limits, self.columns = limits, columns
        self.rounding = 0.0  # a share of noise that the rounding of the certificate likely needs, where a limit binds
        self._last: tuple[Array, Array] | None = None
        self._searched: tuple[Array, Problem, Separation] | None = None

    def table(self, x: Array) -> Array:
        """The release of the solver's answer ``x``."""
        return self.columns.table(x)

    def search(self, x: Array, problem: Problem) -> Separation:
        """The search over all cases of `table`; the last one is kept, because it helps at the next epsilon."""
        kept = self._searched
        if kept is None or kept[1] is not problem or not np.array_equal(kept[0], x):
            table = encodings.table(self.table(x), problem)
            kept = self._searched = x.copy(), problem, search(table, guarantee(problem))
        return kept[2]

    def released(self, x: Array) -> Array:
        """`table` scaled down until quickly found cases hold: the table that is verified and then released."""
        if self._last is None or self._last[0] is not x:
            table = self.table(x)
            if 0 < self.rounding < _LITTLE and x.min() < 1:  # at the limit, or there would be no noise
                table = encodings.of(self._limits[0].problem, table).mixed(table, 1 - self.rounding)
            for limit in self._limits:
                table = shrink(table, limit)
            self._last = x, table
        return self._last[1]


def separators(finders: Sequence[CutFinder], owners: list[int]) -> list[Callable[[Array], Rows]]:
    """Separators for all limits together, from the quickest to the complete one.

    If there are several limits, ``owners`` gets the number of the limit of each row that they return.
    """

    def together(parts: Sequence[Callable[[Array], Rows]]) -> Callable[[Array], Rows]:
        def find(x: Array) -> Rows:
            found = [part(x) for part in parts]
            for i, rows in enumerate(found):
                owners.extend([i] * len(rows.limits))
            return stacked(found)

        return find

    each = [finder.all() for finder in finders]
    return each[0] if len(each) == 1 else [together(parts) for parts in zip(*each, strict=True)]


class CutFinder:
    """Finds violated constraints of one limit; each is proposed once.

    Parameters
    ----------
    limit : Limit
    candidates : Candidates

    Attributes
    ----------
    full_passes : int
        The number of searches of the whole set.
    rows : ConstraintRows
    """

    def __init__(self, limit: Limit[Problem], candidates: Candidates) -> None:
        self.full_passes = 0
        self.rows = constraint_rows(limit, candidates.columns)
        self._ready = self.rows.ready
        if self._ready:
            candidates.rounding = max(candidates.rounding, self.rows.rounding)
        self._limit, self._candidates = limit, candidates
        self._seen: dict[Any, None] = {}  # in the order in which they were proposed
        self._near: list[Any] = []  # the last cases that a first quick search had missed
        self._kept: Array | None = None  # what breaks none of the rows that are ready
        self._usual_hold = False  # none found by `all_usual`, and no complete pass since
        self._nothing = Rows(np.zeros((0, candidates.columns.n)), np.zeros(0))

    @property
    def proposed(self) -> list[Any]:
        """The cases of all rows so far, in their order."""
        return list(self._seen)

    def begin_with(self, cases: Sequence[Any]) -> Rows:
        """Rows of given cases, which are not proposed again, for example those that bound a similar problem.

        Cases that this problem does not have are left out, because their rows would raise the error unnoticed. No rows
        where `ready` holds them, because they are found faster than computed.
        """
        allowed = self.rows.allowed(cases)
        if self._ready:
            return self._nothing
        self._seen.update(dict.fromkeys(allowed))
        return self.rows.of(allowed)

    def usual(self, x: Array) -> Rows:
        """Rows of the common case families that ``x`` violates; only some families are searched if there are many.

        No rows after `all_usual` found none, until the next complete pass: rows of `nearby` seldom lead to new ones.
        """
        if self._ready:
            if x is self._kept:
                return self._nothing
            cases, rows = self._ready.most_broken(x, self._seen)
            self._seen.update(dict.fromkeys(cases))
            if not cases:
                self._kept = x
            return rows
        return self._nothing if self._usual_hold else self._usual(self._broken(x, 0, self._seen))

    def all_usual(self, x: Array) -> Rows:
        """Rows of all common case families that ``x`` violates, where `usual` searches some of them."""
        rows = self.usual(x) if self._ready else self._usual(self._broken(x, 2, self._seen))
        self._usual_hold = not rows.limits.size
        return rows

    def _usual(self, broken: Sequence[WorstCase]) -> Rows:
        # Neighbouring levels have similar rows: the most violated one of each block of levels is enough.
        groups = np.array_split(np.arange(len(broken)), max(1, min(len(broken), _AT_ONCE)))
        chosen = [
            max((broken[i] for i in group.tolist()), key=lambda worst: worst.bound) for group in groups if group.size
        ]
        return self.rows.of_usual(self._propose(chosen))

    def nearby(self, x: Array) -> Rows:
        """Rows of violated cases near those that `everywhere` or this method found last."""
        return self._propose_hard(self._broken(x, 1, self._near)) if self._near else self._nothing

    def everywhere(self, x: Array) -> Rows:
        """Rows of the complete set that the table to be released violates.

        If there are none, this pass is its certificate. A quick search comes first until it or `nearby` finds some.
        """
        if not (self._near or self._ready):
            rows = self._propose_hard(self._broken(x, 1))
            if rows.limits.size:
                return rows
        self.full_passes += 1
        self._usual_hold = False
        released = worst_cases(self._candidates.released(x), self._limit)
        return self._propose_hard([worst for worst in released if worst.bound - worst.rounding > self.rows.threshold])

    def all(self) -> list[Callable[[Array], Rows]]:
        """All separators, from the quickest to the complete one."""
        return [self.usual, self.nearby, self.all_usual, self.everywhere]

    def _broken(self, x: Array, effort: int, near: Collection[Any] = ()) -> Sequence[WorstCase]:
        search = self._candidates.search(x, self._limit.problem)
        broken = search.broken(self._limit.epsilon, self.rows.threshold, effort, near)
        return [worst for worst in broken if worst.case not in self._seen]

    def _propose(self, broken: Sequence[WorstCase]) -> list[Any]:
        """Rows of the cases, and of those ahead of them, that were not proposed before."""
        found = [worst.case for worst in broken if worst.case not in self._seen]
        steps = _AHEAD if len(found) < _FEW else 0
        ahead = (later for case in found for later in self.rows.ahead(case, steps))
        cases = [case for case in dict.fromkeys((*found, *ahead)) if case not in self._seen]
        self._seen.update(dict.fromkeys(cases))
        return cases

    def _propose_hard(self, broken: Sequence[WorstCase]) -> Rows:
        cases = self._propose(broken)
        if not cases:
            return self._nothing
        self._near = cases
        return self.rows.of(cases)

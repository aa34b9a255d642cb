"""Separation: the worst case of one noise function over the complete corner set, with a true upper bound.

The bound uses the table alone, and no answer, tolerance or row of a solver. The table is taken through the smoothing
recurrences over every multiset of corners, with a bound on all rounding (derived in docs/theory.md). `broken` proposes
cases for cuts from the same tables, without a bound. "Excess" is the hockey-stick divergence of a case.
"""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.certificate.corner_pass import CornerPass, counts_at, worst_case
from darrm.certificate.moves import Integers, Moves
from darrm.certificate.protocol import Facts, WorstCase, largest
from darrm.certificate.rounding import Scale, scale
from darrm.certificate.smoothing import Sides
from darrm.errors import CertificateError, InputError
from darrm.numerics.deadline import check_time
from darrm.problem.corners import weights
from darrm.problem.limits import Limit
from darrm.problem.majority import MajorityProblem
from darrm.problem.noise_function import acceptance, noise_function

MAX_K = 3001
_SUBNORMAL = 5e-324
_NOTHINGS = np.array([0.0, 1.0, -1.0])[:, None, None]  # sides below the excess of any multiset
_SMALL = 64  # largest K for which frames are kept
_ONE_IN = 8  # number of n that are computed first
_ROWS_AT_ONCE = 32  # of the edge
_LARGE = 100  # least K for which multisets with few voters at (lo,hi) come before all
_LOOKS = 64  # steps between checks of the time


def check_arithmetic() -> None:
    """Refuse a process that flushes subnormal numbers to 0 (some libraries do): underflow would be uncounted.

    Raises
    ------
    CertificateError
    """
    if not _SUBNORMAL * 1.0 > 0:
        raise CertificateError(
            "This process flushes subnormal numbers to zero, so rounding cannot be bounded and nothing can be "
            "certified. Find the library that sets this mode (often one built with -ffast-math) and load it elsewhere."
        )


def check_size(problem: MajorityProblem) -> None:
    """Refuse a K that takes too much memory or time, and a process whose arithmetic certifies nothing.

    Raises
    ------
    InputError
    CertificateError
    """
    check_arithmetic()
    if problem.K > MAX_K:
        raise InputError(
            f"K must be at most {MAX_K} to be verified. Got {problem.K}: tables of K^2 numbers and K^3 steps would be "
            "needed. Lower K."
        )


class _Edge(NamedTuple):
    """One multiset with b = 0 for some n and each z: as many voters as allowed at (D,0), then as many at (1,1-D).

    Attributes
    ----------
    n : ndarray of int, shape (rows, 1)
    sides : Sides, shape (rows, K + 1)
        Entries with z > K - n are placeholders below any real entry.
    up, down : ndarray of int, same shape
    """

    n: Integers
    sides: Sides
    up: Integers
    down: Integers


@lru_cache(maxsize=16)
def _frame(K: int, t: int, failing: bool, spacing: int) -> tuple[Integers, Integers, Integers, NDArray[np.bool_]]:
    """What an edge has whatever the noise function is: n, ``up`` and ``down`` as in `_Edge`, and which z are beyond."""
    taken, z = np.arange(0, t + 1, spacing)[:, None], np.arange(K + 1)
    beyond = taken + z > K
    if not failing:
        none = np.broadcast_to(np.zeros((1, 1), dtype=np.int64), beyond.shape)
        return taken, none, none, beyond
    up = np.minimum(np.maximum(K - taken - z, 0), t - taken)
    down = np.minimum(z, t - taken - up) if t < K else z  # entries with z > K - n are not used
    return taken, up, np.broadcast_to(down, up.shape), beyond


class CornerSeparation:
    """Separation over the complete corner set for one noise function, by smoothing tables: a `Separation`.

        max over allowed (p, p') of   X(p) - e^epsilon X(p'),     X(p) = Pr[release 1 | p]

    All C(K+7,7) multisets are covered (C(K+3,3) if Delta = 0) without a list of them. For rising tables one candidate
    is the worst; bounds exclude most other multisets; the rest is searched exactly.

    Parameters
    ----------
    gamma : array_like, shape (K + 1,)
    limit : Limit
        `worst_cases` is sharpest at its epsilon; any other epsilon is allowed.

    Raises
    ------
    InputError
        If gamma is not a noise function, or K is above 3001.

    Notes
    -----
    O(K^3) at most if Delta = 0, in practice an eighth of that from 300 affected voters on, and O(K^2) if gamma is
    monotone; for Delta > 0 that, times the number of voters whose delta events have a probability above rounding, and
    O(K^2) more for each entry that no bound decides. O(K^2) memory.
    """

    def __init__(self, gamma: ArrayLike, limit: Limit[MajorityProblem]) -> None:
        check_size(limit.problem)
        self._problem, self._delta = limit.problem, limit.delta
        self._gamma = noise_function(gamma, self._problem.K)
        self._weights = weights(self._problem.epsilon, self._problem.Delta)
        # Omitted moves must be negligible beside the limit (e^epsilon - 1 + 2 delta) / 2, at any epsilon.
        self._moves = Moves(self._problem, 1e-17 * self._delta / 4)
        self._accepted = acceptance(self._gamma)
        # Whether every label is a fair coin flip; then p = p' covers all pairs, without rounding.
        self._fair = not self._gamma[self._problem.K // 2 + 1 :].any()
        self._scales: dict[Decimal, Scale] = {}
        self._glimpsed: dict[Decimal, WorstCase] = {}
        self._pass = CornerPass(self._problem, self._gamma, self._weights, self._moves)

    def worst_cases(self, epsilon: Decimal) -> list[WorstCase]:
        """Bounds on all multisets, by n = a + b, each with its worst multiset if it was searched for.

        Where bounds decide a level without a search, the multiset is that of `glimpse`. The first entry is the glimpse;
        levels that another multiset dominates are left out.
        """
        attained = self.glimpse(epsilon)
        if self._fair:
            return [attained]
        forms = self._scale(epsilon)
        # A bound without a search does not locate the worst case.
        return [attained] + [
            worst if worst.case else attained._replace(bound=worst.bound)
            for worst in self._pass.scan(forms, self._settled(forms, attained.bound))
        ]

    def worst(self, *epsilons: Decimal) -> list[WorstCase]:
        return [largest(self.worst_cases(epsilon)) for epsilon in epsilons]

    def glimpse(self, epsilon: Decimal) -> WorstCase:
        """The worst of some allowed multisets with no voter at (lo,hi), in O(K^2); not a bound for all multisets."""
        if epsilon not in self._glimpsed:
            self._glimpsed[epsilon] = self._glimpse(self._scale(epsilon))
        return self._glimpsed[epsilon]

    def _glimpse(self, forms: Scale) -> WorstCase:
        if self._fair:
            return self._identical(forms)
        first = int(not self._problem.Delta)  # at n = 0 no voter is affected, which `_identical` covers
        excess, (at, z) = forms.largest(self._edge.sides.at(slice(first, None)))
        return largest((self._identical(forms), self._on_edge(self._edge, forms, first + at, z, excess)))

    def broken(self, epsilon: Decimal, threshold: float, effort: int, near: Collection[Any] = ()) -> list[WorstCase]:
        """Multisets whose excess is above ``threshold``, quickly found; there may be others.

        Effort 0 searches the O(K^2) multisets without (lo,hi), from K = 100 on one n in 8, because neighbouring n have
        similar rows. Effort 1 searches levels and numbers at (lo,hi) up to those of ``near``, from K = 100 on at least
        those with neither (hi,lo) nor (lo,hi). Effort 2 searches all multisets without (lo,hi).
        """
        cases: list[WorstCase] = []
        large, forms = self._problem.K >= _LARGE, self._scale(epsilon)
        if effort == 0:
            cases += self._broken_on(self._edge_at(_ONE_IN) if large else self._edge, forms, threshold)
        elif effort == 1 and (near or large):
            most_n = max((counts.hi_lo + counts.lo_hi for counts in near), default=0)
            most_b = max((counts.lo_hi for counts in near), default=0)
            cases += self._pass.scan(forms, threshold, most_n, most_b, proposals=True)
        elif effort == 2:
            cases += self._broken_on(self._edge, forms, threshold)
        return [case for case in cases if case.case and case.bound - case.rounding > threshold]

    def facts(self) -> Facts:
        highest = max(self._gamma[self._problem.K // 2 + 1 :].tolist())
        return Facts(answers=2, least=(1 - Fraction(highest)) / 2)

    @cached_property
    def _edge(self) -> _Edge:
        return self._edge_at(1)

    def _edge_at(self, spacing: int) -> _Edge:
        """The edge for the multiples n of ``spacing``."""
        K, t, w = self._problem.K, self._problem.max_affected, self._weights
        frame = _frame if K <= _SMALL else _frame.__wrapped__
        taken, up, down, beyond = frame(K, t, self._problem.Delta > 0, spacing)
        # One block of memory: three would be returned to the system and requested again page by page.
        whole = np.empty((3, taken.size, K + 1))
        whole[...] = _NOTHINGS
        edge = Sides(*whole)
        # X(p), X(p') and their difference, with n voters at (hi,lo).
        tables = np.array([self._accepted, self._accepted, np.zeros(K + 1)])
        here, above = np.array([[w.lo], [w.hi], [w.lo]]), np.array([[w.hi], [w.lo], [w.hi]])
        for n in range(t + 1):
            if not n % _LOOKS:
                check_time()
            if n:
                low, high = tables[:, :-1], tables[:, 1:]
                tables = here * low
                tables += above * high
                tables[2] += w.gap * (high[1] - low[1])
            if n % spacing == 0:
                whole[:, n // spacing, : K - n + 1] = tables
        if not self._problem.Delta:
            whole[:, 0] = _NOTHINGS[:, 0]  # p = p' is treated separately
            return _Edge(taken, edge, up, down)
        for first in range(0, taken.size, _ROWS_AT_ONCE):
            check_time()
            part = slice(first, first + _ROWS_AT_ONCE), slice(K - int(taken[first, 0]) + 1)  # the rest is nothing
            moved = self._moves.all_move(edge.at(part), up[part], down[part])
            for side, changed in zip(edge, moved, strict=True):
                side[part] = changed
        np.copyto(whole, _NOTHINGS, where=beyond)
        return _Edge(taken, edge, up, down)

    def _broken_on(self, edge: _Edge, forms: Scale, threshold: float) -> list[WorstCase]:
        """The worst case of each n that is above ``threshold``."""
        rows = np.flatnonzero(forms.ceilings(edge.sides) > threshold)
        excess = forms.excess(edge.sides.at(rows))
        z = np.argmax(excess, axis=1)
        worst = excess[np.arange(z.size), z]
        return [
            self._on_edge(edge, forms, int(rows[at]), int(z[at]), float(worst[at]))
            for at in np.flatnonzero(worst > threshold).tolist()
        ]

    def _on_edge(self, edge: _Edge, forms: Scale, at: int, z: int, bound: float) -> WorstCase:
        counts = counts_at(self._problem, int(edge.n[at, 0]), 0, z, i=int(edge.up[at, z]), l=int(edge.down[at, z]))
        return worst_case(forms, counts, bound, edge.sides.at((at, z)))

    def _scale(self, epsilon: Decimal) -> Scale:
        if epsilon not in self._scales:
            self._scales[epsilon] = scale(epsilon, self._problem, self._gamma, self._weights, self._moves)
        return self._scales[epsilon]

    def _settled(self, forms: Scale, attained: float) -> float:
        """The value up to which bounds are not refined: a little above the achieved excess, but never across delta."""
        right_side = min(forms.kappa, 1e300) / 2 + self._delta
        settled = attained + (1e-13 * right_side if forms.kappa < 2 else 4 * forms.relative)
        return min(settled, self._delta) if attained <= self._delta else settled

    def _identical(self, forms: Scale) -> WorstCase:
        """The worst case with p = p': its excess is exactly -(e^epsilon - 1) X, and so exactly 0 where X is."""
        X = self._accepted
        z = int(X.argmin())
        bound = -forms.kappa * (1 - forms.relative) * X[z] if X[z] else 0.0
        return worst_case(forms, counts_at(self._problem, 0, 0, z), bound, Sides(X[z], X[z], 0.0))  # type: ignore[arg-type]

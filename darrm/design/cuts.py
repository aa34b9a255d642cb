"""Which constraints a noise function breaks: fast proposals in float64, with no claim to be complete.

The multisets with no voter at (lo,hi) and as many as possible at (Delta,0) and (1,1-Delta) hold nearly all the
constraints that bind; going through them costs O(K^2). Only when none of them is broken is the whole set separated, by
the tables of the certificate. What the proposals miss costs time, or error; it never costs privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from darrm.certificate.certificate import shrink
from darrm.certificate.moves import binomials
from darrm.certificate.separation import Worst, WorstCase, worst_by_level
from darrm.constraints.rows import right_side, rows_of, scaled_rows
from darrm.problem.corners import STILL, weights
from darrm.problem.limits import Promise, total_epsilon
from darrm_solvers.cutting_planes import Rows

Array = NDArray[np.float64]
# A row counts as broken from here on, in units of its right side: above the rounding of a row, below HiGHS' tolerance.
_BROKEN = 1e-12
_TAIL = 1e-17
_START_B = 4
_AT_ONCE = 128  # rows without (lo,hi) that are added at once
_LARGE = 100  # K, from which on multisets with few at (lo,hi) are looked at before all


def mirror(half: Array, K: int) -> Array:
    """The symmetric table with ``half`` above K/2; 0 at a tie, where the release is a fair coin."""
    return np.concatenate([half[::-1], np.zeros((K + 1) % 2), half])


class Candidates:
    """From a solver's answer to the table that would be released.

    Parameters
    ----------
    limits : sequence of MajorityProblem or Limit
        All that the release is held to.
    monotone : bool
        Whether tables are made to rise from the tie on, to the last bit.
    """

    def __init__(self, limits: Sequence[Promise], *, monotone: bool = False) -> None:
        self._limits, self._monotone = limits, monotone
        self._last: tuple[Array, Array] | None = None

    def table(self, half: Array) -> Array:
        """The noise function with ``half`` above K/2."""
        if self._monotone:
            half = np.maximum.accumulate(half)
        return mirror(half, self._limits[0].K)

    def released(self, half: Array) -> Array:
        """`table` scaled down until multisets without (lo,hi) hold: what is verified, and then released."""
        if self._last is None or not np.array_equal(self._last[0], half):
            table = self.table(half)
            for limit in self._limits:
                table = shrink(table, limit)
            self._last = half.copy(), table
        return self._last[1]


def separators(finders: Sequence[CutFinder]) -> list[Callable[[Array], Rows]]:
    """Separators for all limits together, from the quickest to the complete one."""

    def together(parts: Sequence[Callable[[Array], Rows]]) -> Callable[[Array], Rows]:
        def find(half: Array) -> Rows:
            found = [part(half) for part in parts]
            return Rows(np.concatenate([one.rows for one in found]), np.concatenate([one.limits for one in found]))

        return find

    each = [finder.all() for finder in finders]
    return each[0] if len(each) == 1 else [together(parts) for parts in zip(*each, strict=True)]


class CutFinder:
    """Finds broken constraints of one limit; each is proposed once.

    Parameters
    ----------
    problem : MajorityProblem or Limit
    candidates : Candidates

    Attributes
    ----------
    full_passes : int
        How often the whole set was separated.
    """

    def __init__(self, problem: Promise, candidates: Candidates) -> None:
        self.full_passes = 0
        self._problem, self._candidates = problem, candidates
        self._weights = weights(problem.epsilon, problem.Delta)
        self._seen: dict[tuple[int, ...], None] = {}  # in the order in which they were proposed
        self._near, self._most_b = (-1, 0), _START_B
        shrinking, _, limit = right_side(problem)
        self._enough = problem.delta + _BROKEN * limit / (2 * shrinking) if shrinking else math.inf
        most = problem.changed if problem.Delta else 0
        self._pmf, self._moved, _ = binomials(most, problem.Delta, _TAIL * limit)
        self._second, self._difference = self._only_hi_lo()

    @property
    def proposed(self) -> list[tuple[int, ...]]:
        """The multisets of all rows so far, in their order."""
        return list(self._seen)

    def begin_with(self, counts: Sequence[tuple[int, ...]]) -> Rows:
        """Rows of given multisets, which are not proposed again: those that bound a neighbouring problem, say.

        Multisets that this problem does not have are left out: a row that does not bind it would cost error unseen.
        """
        problem, corners = self._problem, 8 if self._problem.Delta else 4
        given = np.array(counts, dtype=np.int64).reshape(-1, 8)
        ours = (given >= 0).all(axis=1) & (given.sum(axis=1) == problem.K) & (given[:, corners:] == 0).all(axis=1)
        ours &= given[:, STILL:].sum(axis=1) <= problem.changed
        kept = list(dict.fromkeys(map(tuple, given[ours].tolist())))
        self._seen.update(dict.fromkeys(kept))
        return self._answer(list(rows_of(problem, np.array(kept, dtype=np.int64).reshape(-1, 8)[:, :corners])))

    def without_lo_hi(self, half: Array) -> Rows:
        """Rows of multisets with none at (lo,hi) that ``half`` breaks; shape (n, K - floor(K/2)), limits 1."""
        easy = self._new(self._broken(half, -1, 0))
        # Neighbouring levels have much the same rows: of each group the one that is broken most will do.
        groups = np.array_split(np.arange(len(easy)), max(1, min(len(easy), _AT_ONCE)))
        chosen = [max((easy[i] for i in group), key=lambda worst: worst.bound) for group in groups if group.size]
        return self._answer([self._row(*counts) for counts in self._take(chosen)])

    def nearby(self, half: Array) -> Rows:
        """Rows near those that `everywhere` or this found last."""
        return self._hard(self._new(self._broken(half, *self._near)) if self._near[0] >= 0 else [])

    def few_lo_hi(self, half: Array) -> Rows:
        """Rows of multisets with few at (lo,hi): twice as many as ever were found."""
        large = self._problem.K >= _LARGE
        return self._hard(self._new(self._broken(half, self._problem.changed, self._most_b)) if large else [])

    def everywhere(self, half: Array) -> Rows:
        """Rows of the complete set that are broken by the table as it would be released.

        If there are none, this pass is its certificate.
        """
        self.full_passes += 1
        worst = worst_by_level(self._candidates.released(half).tobytes(), self._problem)
        return self._hard(self._new([one for one in worst if one.bound - one.rounding > self._enough]))

    def all(self) -> list[Callable[[Array], Rows]]:
        """From the quickest to the complete one."""
        return [self.without_lo_hi, self.nearby, self.few_lo_hi, self.everywhere]

    def _broken(self, half: Array, most_n: int, most_b: int) -> list[Worst]:
        worst_case = WorstCase(self._candidates.table(half), self._problem)
        return worst_case.broken(total_epsilon(self._problem), self._enough, most_n, most_b)

    def _hard(self, broken: list[Worst]) -> Rows:
        hard = self._take(broken)
        if not hard:
            return self._answer([])
        most_b = max(counts[3] for counts in hard)
        self._near = (max(counts[2] + counts[3] for counts in hard), most_b)
        self._most_b = max(self._most_b, 2 * most_b)
        return self._answer(list(rows_of(self._problem, np.array(hard)[:, : 8 if self._problem.Delta else 4])))

    def _new(self, broken: list[Worst]) -> list[Worst]:
        return [worst for worst in broken if worst.counts not in self._seen]

    def _take(self, broken: list[Worst]) -> list[tuple[int, ...]]:
        counts = list(dict.fromkeys(worst.counts for worst in broken))
        self._seen.update(dict.fromkeys(counts))
        return counts

    def _answer(self, rows: list[Array]) -> Rows:
        n = self._problem.K - self._problem.K // 2
        return Rows(np.array(rows).reshape(-1, n), np.ones(len(rows)))

    def _only_hi_lo(self) -> tuple[Array, Array]:
        """alpha' and alpha - alpha' of n = 0, ..., ``changed`` voters at (hi,lo), one row each."""
        hi, lo, gap = self._weights
        size = self._problem.changed + 1
        second, difference = np.zeros((size, size)), np.zeros((size, size))
        second[0, 0] = 1.0
        for n in range(size - 1):
            second[n + 1] = hi * second[n]
            second[n + 1, 1:] += lo * second[n, :-1]
            difference[n + 1] = lo * difference[n] - gap * second[n]
            difference[n + 1, 1:] += hi * difference[n, :-1] + gap * second[n, :-1]
        return second, difference

    def _row(self, _zeros: int, ones: int, n: int, _b: int, i: int, _k: int, _j: int, l: int) -> Array:
        """The row of n voters at (hi,lo), i at (Delta,0), l at (1,1-Delta), the others at (0,0) and (1,1)."""
        K, terms = self._problem.K, self._pmf.shape[1]
        second, difference = np.zeros(K + 2 * terms), np.zeros(K + 2 * terms)
        base, apart, z = self._second[n, : n + 1], self._difference[n, : n + 1], ones + l
        for s in range(terms):
            above, below = slice(terms + z + s, terms + z + s + n + 1), slice(terms + z - s, terms + z - s + n + 1)
            difference[above] += apart * self._pmf[i, s] + base * self._moved[i, s]
            difference[below] -= base * self._moved[l, s]
            second[below] += base * self._pmf[l, s]
        inside = slice(terms, terms + K + 1)
        return scaled_rows(self._problem, second[None, inside], difference[None, inside]).ravel()

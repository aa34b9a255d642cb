"""Which constraints a noise function breaks: fast proposals in float64, with no claim to be complete.

The multisets with no voter at (lo,hi) and as many as possible at (Delta,0) and (1,1-Delta) hold nearly all the
constraints that bind; going through them costs O(K^2). Only when none of them is broken is the whole set separated, by
the tables of the certificate. What the proposals miss costs time, or error; it never costs privacy.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from darrm.design.constraints import rows_of, scaled_rows
from darrm.design.separation import WorstCase
from darrm.design.smoothing import binomials, total_epsilon, weights
from darrm.problem import MajorityProblem
from darrm_solvers.cutting_planes import Rows

Array = NDArray[np.float64]
# A row counts as broken from here on, in units of its right side: above the rounding of a row, below HiGHS' tolerance.
_BROKEN = 1e-11
_TAIL = 1e-17


class CutFinder:
    """Finds broken constraints of one problem; each is proposed once.

    Attributes
    ----------
    full_passes : int
        How often the whole set was separated.
    """

    def __init__(self, problem: MajorityProblem) -> None:
        self.full_passes = 0
        self._problem = problem
        self._weights = weights(problem)
        self._seen: set[tuple[int, ...]] = set()
        pmf, moved, beyond = binomials(problem.changed if problem.Delta else 0, problem.Delta)
        limit = -math.expm1(-problem.total_epsilon) + 2 * problem.delta * math.exp(-problem.total_epsilon)
        terms = int(np.argmax(beyond <= _TAIL * limit)) + 1
        self._pmf, self._moved = np.ascontiguousarray(pmf[:, :terms]), np.ascontiguousarray(moved[:, :terms])
        self._second, self._difference = self._only_hi_lo()
        self._shrink = math.exp(-problem.total_epsilon)
        self._grow = -math.expm1(-problem.total_epsilon)
        self._limit = self._grow + 2 * problem.delta * self._shrink

    def __call__(self, half: Array) -> Rows:
        """Rows that ``half`` breaks, those without (lo,hi) first; shape (n, K - floor(K/2)), limits 1."""
        gamma = np.concatenate([half[::-1], np.zeros((self._problem.K + 1) % 2), half])
        easy = self._new(self._broken_without_lo_hi(gamma))
        if easy:
            return self._answer([self._row(*counts) for counts in easy])
        self.full_passes += 1
        hard = self._new(self._broken(gamma))
        if not hard:
            return self._answer([])
        columns = 8 if self._problem.Delta else 4
        return self._answer(list(rows_of(self._problem, np.array(hard)[:, :columns])))

    def _new(self, broken: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        new = [counts for counts in broken if counts not in self._seen]
        self._seen.update(new)
        return new

    def _answer(self, rows: list[Array]) -> Rows:
        n = self._problem.K - self._problem.K // 2
        return Rows(np.array(rows).reshape(-1, n), np.ones(len(rows)))

    def _broken(self, gamma: Array) -> list[tuple[int, ...]]:
        """The worst multiset of each level of the certificate's tables, if it is broken."""
        worst_case, epsilon = WorstCase(gamma, self._problem), total_epsilon(self._problem)
        enough = self._problem.delta + _BROKEN * self._limit / (2 * self._shrink) if self._shrink else math.inf
        return [worst.counts for worst in worst_case.by_level(epsilon, enough) if worst.bound - worst.rounding > enough]

    def _broken_without_lo_hi(self, gamma: Array) -> list[tuple[int, ...]]:
        """For each number of voters at (hi,lo) the worst multiset with none at (lo,hi), if it is broken.

        Of the others as many as may are at (Delta,0) and (1,1-Delta): all of them where tables rise.
        """
        K, (hi, lo, gap) = self._problem.K, self._weights
        F = np.sign(2 * np.arange(K + 1) - K) * gamma
        V, M, W = F, F, np.zeros(K + 1)
        broken: list[tuple[int, ...]] = []
        for n in range(self._problem.changed + 1):
            if n:
                W = lo * W[:-1] + hi * W[1:] + gap * (M[1:] - M[:-1])
                V, M = lo * V[:-1] + hi * V[1:], hi * M[:-1] + lo * M[1:]
            z = np.arange(K - n + 1)
            budget = self._problem.changed - n if self._problem.Delta else 0
            up = np.minimum(z[::-1], budget)
            down = np.minimum(z, budget - up)
            gain = _after_moves(V, self._moved[up], 1)
            loss = _after_moves(M, self._moved[down], -1)
            cost = (self._shrink * (W + gain - loss) - self._grow * (M + loss)) / self._limit
            worst = int(np.argmax(cost))
            if cost[worst] > 1 + _BROKEN:
                i, l = int(up[worst]), int(down[worst])
                broken.append((K - n - worst - i, worst - l, n, 0, i, 0, 0, l))
        return broken

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


def _after_moves(table: Array, moved: Array, direction: int) -> Array:
    """E table(z +- Bin) - table(z) for each z, from ``moved`` of shape (z, terms)."""
    terms = moved.shape[1]
    padding = np.zeros(terms - 1)
    if direction > 0:
        windows = np.lib.stride_tricks.sliding_window_view(np.concatenate([table, padding]), terms)
    else:
        windows = np.lib.stride_tricks.sliding_window_view(np.concatenate([padding, table]), terms)[:, ::-1]
    return np.asarray(np.einsum("zs,zs->z", windows, moved), dtype=np.float64)

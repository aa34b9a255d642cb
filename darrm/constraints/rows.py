"""The privacy constraints as rows of a linear program in gamma, listed in full.

It is the interface between the list of cases and the solver, which sees rows and never corners.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.constraints.distributions import add_vote, pair_levels
from darrm.constraints.multisets import CornerPoints, corner_points, count_multisets
from darrm.constraints.steepness import check_steepness
from darrm.constraints.usual import MOST_K, ReadyRows, usual_rows, voters_at_hi_lo
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.binomials import binomials
from darrm.numerics.deadline import check_time
from darrm.numerics.exact import decimals, exponentials, powers
from darrm.problem.corners import NAMES, STILL, CornerCounts, weights
from darrm.problem.limits import Limit, guarantee
from darrm.problem.majority import MajorityProblem
from darrm_solvers import Rows

MAX_COEFFICIENTS = 15_000_000
# Least violation of a row that counts, in units of its right side: above the rounding of a row, below HiGHS' tolerance.
_BROKEN = 1e-12
_TAIL = 1e-17


class Block(NamedTuple):
    """Some privacy constraints ``rows @ half <= 1`` on half = (gamma(K // 2 + 1), ..., gamma(K)).

    Attributes
    ----------
    rows : ndarray, shape (n, K - K // 2), float64
        Coefficients, divided by the right side of the constraint.
    counts : ndarray of int16, shape (n, corners)
        The multiset behind each row, in the order of `darrm.problem.corners.NAMES`.
    """

    rows: Array
    counts: NDArray[np.int16]


def n_constraints(problem: MajorityProblem) -> int:
    """Number of constraints in the full list: C(K+7,7), or C(K+3,3) if Delta = 0, fewer if max_affected < K.

    Examples
    --------
    Without and with a Delta of the voters:

    >>> import darrm
    >>> from darrm.constraints.rows import n_constraints
    >>> n_constraints(darrm.MajorityProblem(K=11, m=3, epsilon=0.1))
    364
    >>> n_constraints(darrm.MajorityProblem(K=11, m=3, epsilon=0.1, Delta=1e-5))
    31824
    """
    return count_multisets(problem.K, len(NAMES) if problem.Delta > 0 else 4, problem.max_affected)


def blocks(problem: MajorityProblem) -> Iterator[Block]:
    """Every privacy constraint of the problem, in blocks.

    The row of a multiset with distributions alpha, alpha' of L is

        sum over l > K/2 of  [(alpha_l - alpha_(K-l)) - e^(m eps) (alpha'_l - alpha'_(K-l))] gamma(l)
            <=  e^(m eps) - 1 + 2 delta,

    multiplied here by e^(-m eps), so that nothing overflows, and then divided by its right side. The
    difference alpha - alpha' is never formed by subtraction, so rows keep their accuracy for small m eps.

    Notes
    -----
    Lemmas 3.4 and 5.1 of Jiang, Zhang, Joshi (TMLR 2024). One block for each number of moving corners and
    of (1,1); O(K) work for each row.

    Examples
    --------
    The 20 constraints on gamma(2) and gamma(3) of three voters:

    >>> import darrm
    >>> from darrm.constraints.rows import blocks
    >>> problem = darrm.MajorityProblem(K=3, m=1, epsilon=0.5)
    >>> sum(len(block.rows) for block in blocks(problem))
    20
    """
    K, middle = problem.K, problem.K // 2
    shrink, grow, right = right_side(guarantee(problem))
    for n, level in enumerate(pair_levels(corner_points(problem.epsilon, problem.Delta), problem.max_affected)):
        inner = (shrink * level.difference - grow * level.q_side) / right
        rows = np.zeros((len(inner), K + 1))
        for ones in range(K - n + 1):
            check_time()
            rows[:] = 0
            rows[:, ones : ones + n + 1] = inner
            half = rows[:, middle + 1 :] - rows[:, : K - middle][:, ::-1]
            still = np.broadcast_to(np.array([K - n - ones, ones], dtype=np.int16), (len(inner), 2))
            yield Block(half, np.hstack([still, level.counts]))


def all_rows(problem: MajorityProblem) -> Array:
    """The full list of constraints as one matrix, shape (n_constraints(problem), K - K // 2).

    Raises
    ------
    InputError
        If the list has more than ``MAX_COEFFICIENTS`` coefficients.

    Examples
    --------
    They agree with the certificate of a noise function:

    >>> import darrm
    >>> from darrm.constraints.rows import all_rows
    >>> problem = darrm.MajorityProblem(K=5, m=1, epsilon=0.5)
    >>> rows = all_rows(problem)
    >>> gamma = darrm.baselines.subsampling(5, 3)
    >>> rows.shape, bool((rows @ gamma[3:] <= 1).all()), darrm.verify(gamma, problem).holds
    ((56, 3), False, False)
    """
    check_size(problem)
    limit, corners = guarantee(problem), corner_points(problem.epsilon, problem.Delta)
    check_steepness(limit, float(np.abs(corners.difference).max()), right_side(limit)[2])
    return np.concatenate([block.rows for block in blocks(problem)])


def check_size(problem: MajorityProblem) -> None:
    """Refuse problems whose full list has more than ``MAX_COEFFICIENTS`` coefficients; `InputError`."""
    half = problem.K - problem.K // 2
    counted = problem.K < MAX_COEFFICIENTS  # above it, one row for each number of ones is already too many
    total = n_constraints(problem) if counted else problem.K
    if total * half > MAX_COEFFICIENTS:
        raise InputError(
            f"K = {problem.K} with max_affected = {problem.max_affected} and Delta {'> 0' if problem.Delta else '= 0'} "
            f"has {'' if counted else 'more than '}{total:,} constraints of {half} coefficients; a full list stops "
            f"at {MAX_COEFFICIENTS:,} coefficients. By its default engine darrm.solve "
            "(darrm solve) needs no list; or lower K or max_affected."
        )


def right_side(limit: Limit[MajorityProblem]) -> tuple[float, float, float]:
    """e^-eps', 1 - e^-eps' and the right side 1 - e^-eps' + 2 delta e^-eps', each the nearest float64."""
    shrink, _ = powers(limit.epsilon)
    with decimals(limit.epsilon):
        grow = 1 - shrink
        right = grow + 2 * Decimal(limit.delta) * shrink if limit.delta else grow
    return exponentials(limit.epsilon)[0], float(grow), float(right)


class HalfColumns:
    """The variables (gamma(K // 2 + 1), ..., gamma(K)) of the linear program for a majority.

    Parameters
    ----------
    K : int
    monotone : bool
        Whether tables are made monotone from the tie on, to the last bit.
    """

    def __init__(self, K: int, *, monotone: bool = False) -> None:
        self.n = K - K // 2
        self._K, self._monotone = K, monotone

    def table(self, x: Array) -> Array:
        """The symmetric table with ``x`` above K/2; 0 at a tie, where the release is a fair coin flip."""
        half = np.maximum.accumulate(x) if self._monotone else x
        return np.concatenate([half[::-1], np.zeros((self._K + 1) % 2), half])

    def rows(self, coefficients: Array, limits: Array) -> Rows:
        """Constraints ``coefficients @ X <= limits`` on X(l) = Pr[release 1 | l], as rows in x."""
        above = coefficients[:, -self.n :] - coefficients[:, : self.n][:, ::-1]
        return Rows(above / 2, limits - coefficients.sum(axis=1) / 2)


class MajorityRows:
    """The rows of given multisets for one limit: a `ConstraintRows`.

    Attributes
    ----------
    threshold : float
        A hockey-stick divergence above which a row is violated by more than its rounding; infinite where e^-eps' is 0.
    rounding : float
        Bound on the rounding of ``row @ half``, for every row computed here and every half in [0, 1].

    Notes
    -----
    Errors are summed over l. The distributions carry a relative error of 3 K u. Their differences, by the recurrence
    of `pair_levels`, carry an absolute error of 12 K (K + 1) u times the largest ``|p - p'|``. Rows that
    are put together from parts carry twice that. See docs/theory.md, section "Rounding".

    Examples
    --------
    A row that the majority of three random votes of five violates: it exceeds its right side.

    >>> import darrm
    >>> from darrm.constraints.rows import MajorityRows
    >>> from darrm.problem.corners import CornerCounts
    >>> from darrm.problem.limits import guarantee
    >>> problem = darrm.MajorityProblem(K=5, m=1, epsilon=0.5)
    >>> rows = MajorityRows(guarantee(problem)).of([CornerCounts(zeros=2, ones=0, hi_lo=3, lo_hi=0)])
    >>> (rows.rows @ darrm.baselines.subsampling(5, 3)[3:]).round(3).tolist(), rows.limits.tolist()
    ([1.329], [1.0])
    """

    def __init__(self, limit: Limit[MajorityProblem], columns: HalfColumns | None = None) -> None:
        self._limit, problem = limit, limit.problem
        K, u = problem.K, 2.0**-53
        gap = max(weights(problem.epsilon, problem.Delta).gap, problem.Delta)
        self._right_side = shrink, grow, right = right_side(limit)
        check_steepness(limit, gap, right)
        self.rounding = 1.01 * u * (shrink * (24 * K * (K + 1) + 40 * K) * gap + (6 * K + 60) * grow) / right
        self.threshold = limit.delta + _BROKEN * right / (2 * shrink) if shrink else math.inf

    @cached_property
    def _corners(self) -> CornerPoints:
        return corner_points(self._limit.problem.epsilon, self._limit.problem.Delta)

    def allowed(self, cases: Iterable[Sequence[int]]) -> list[CornerCounts]:
        """The cases among ``cases`` that are multisets of this problem; no other row binds it."""
        problem, corners = self._limit.problem, len(self._corners.p)
        given = np.array(list(cases), dtype=np.int64).reshape(-1, len(NAMES))
        ours = (given >= 0).all(axis=1) & (given.sum(axis=1) == problem.K) & (given[:, corners:] == 0).all(axis=1)
        ours &= given[:, STILL:].sum(axis=1) <= problem.max_affected
        return list(dict.fromkeys(CornerCounts(*counts) for counts in given[ours].tolist()))

    def ahead(self, case: CornerCounts, steps: int) -> list[CornerCounts]:
        """No cases: every vote can change, and few rows bind."""
        return []

    def of(self, cases: Sequence[CornerCounts]) -> Rows:
        """The rows of any multisets in the form of `blocks`; O(K max_affected) for each."""
        corners = self._corners
        counts = np.array(cases, dtype=np.int64).reshape(-1, len(NAMES))[:, : len(corners.p)]
        q_side, difference = (self._beside_ones(table, counts) for table in self._tables[:2])
        for corner in range(STILL + 1, counts.shape[1]):
            check_time()
            for step in range(int(counts[:, corner].max(initial=0))):
                at = np.flatnonzero(counts[:, corner] > step)
                which = np.full(at.size, corner)
                more = add_vote(
                    q_side[at], difference[at], corners.p[which], corners.q[which], corners.difference[which]
                )
                q_side[at], difference[at] = more[0][:, :-1], more[1][:, :-1]  # K votes give at most K ones
        return _at_most_one(self._scaled(q_side, difference))

    def _beside_ones(self, table: Array, counts: NDArray[np.int64]) -> Array:
        """The rows of ``table`` for the voters at (hi,lo), shifted up by those at (1,1); shape (cases, K + 1)."""
        ones, at_hi_lo = counts[:, 1], counts[:, STILL]
        moved = np.zeros((len(counts), self._limit.problem.K + table.shape[1]))
        columns = ones[:, None] + np.arange(table.shape[1])
        np.put_along_axis(moved, columns, table[at_hi_lo], axis=1)
        return moved[:, : self._limit.problem.K + 1]

    def of_usual(self, cases: Sequence[CornerCounts]) -> Rows:
        """The rows of multisets with voters at (0,0), (1,1), (hi,lo), (D,0) and (1,1-D) only; O(K) each."""
        q_table, difference_table, pmf, moved = self._tables
        own = [(counts.hi_lo, counts.D_0, counts.one_near, counts.ones + counts.one_near) for counts in cases]
        n, i, l, ones = np.array(own, dtype=np.int64).reshape(-1, 4).T
        K, terms = self._limit.problem.K, pmf.shape[1]
        # The distribution of the voters at (hi,lo), shifted up by the ones, with space on both sides for moves.
        beside = np.zeros((2, n.size, K + 2 * terms + q_table.shape[1]))
        columns = terms + ones[:, None] + np.arange(q_table.shape[1])
        for table, moved_up in zip((q_table, difference_table), beside, strict=True):
            np.put_along_axis(moved_up, columns, table[n], axis=1)
        base, gap = beside
        q_side, difference = np.zeros((2, n.size, K + 1))
        for s in range(terms):
            check_time()
            above, below = (slice(terms + shift, terms + shift + K + 1) for shift in (-s, s))
            difference += gap[:, above] * pmf[i, s, None] + base[:, above] * moved[i, s, None]
            difference -= base[:, below] * moved[l, s, None]
            q_side += base[:, below] * pmf[l, s, None]
        return _at_most_one(self._scaled(q_side, difference))

    def _scaled(self, q_side: Array, difference: Array) -> Array:
        """Rows from alpha' and alpha - alpha' over l = 0, ..., K, shape (n, K + 1)."""
        K, middle = self._limit.problem.K, self._limit.problem.K // 2
        shrink, grow, right = self._right_side
        rows = (shrink * difference - grow * q_side) / right
        return np.ascontiguousarray(rows[:, middle + 1 :] - rows[:, : K - middle][:, ::-1])

    @cached_property
    def _tables(self) -> tuple[Array, ...]:
        """alpha' and alpha - alpha' of n <= ``max_affected`` voters at (hi,lo), one row each, and the other moves."""
        problem = self._limit.problem
        most = problem.max_affected if problem.Delta else 0
        pmf, moved, _ = binomials(most, problem.Delta, _TAIL * self._right_side[2])
        return *voters_at_hi_lo(problem.epsilon, problem.Delta, problem.max_affected), pmf, moved

    @cached_property
    def ready(self) -> ReadyRows | None:
        """The rows of the common case families; None if there are too many to keep."""
        problem = self._limit.problem
        if problem.K > MOST_K:
            return None
        usual = usual_rows(problem.K, problem.epsilon, problem.Delta, problem.max_affected)
        shrink, grow, right = self._right_side
        return ReadyRows((shrink * usual.difference - grow * usual.q_side) / right, usual.case, 1 + _BROKEN)


def _at_most_one(rows: Array) -> Rows:
    return Rows(rows, np.ones(len(rows)))

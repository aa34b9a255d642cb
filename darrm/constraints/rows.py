"""The privacy constraints as rows of a linear program in gamma, listed in full.

This is the seam between "which rows" and "solve": everything after it sees rows, never corners.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.constraints.distributions import add_vote, pair_levels
from darrm.constraints.multisets import corner_points, count_multisets
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.exact import decimals
from darrm.problem.corners import NAMES
from darrm.problem.limits import Promise, total_epsilon
from darrm.problem.majority import MajorityProblem

MAX_COEFFICIENTS = 15_000_000


class Block(NamedTuple):
    """Some privacy constraints ``rows @ half <= 1`` on half = (gamma(floor(K/2) + 1), ..., gamma(K)).

    Attributes
    ----------
    rows : ndarray, shape (n, K - floor(K/2)), float64
        Coefficients, divided by the right side of the constraint.
    counts : ndarray of int16, shape (n, corners)
        The multiset behind each row, in the order of `darrm.problem.corners.NAMES`.
    """

    rows: Array
    counts: NDArray[np.int16]


def n_constraints(problem: MajorityProblem) -> int:
    """Number of constraints in the full list: C(K+7,7), or C(K+3,3) if Delta = 0, fewer if changed < K."""
    return count_multisets(problem.K, len(NAMES) if problem.Delta > 0 else 4, problem.changed)


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
    """
    K, middle = problem.K, problem.K // 2
    shrink, grow, limit = right_side(problem)
    for n, level in enumerate(pair_levels(corner_points(problem.epsilon, problem.Delta), problem.changed)):
        inner = (shrink * level.difference - grow * level.second) / limit
        rows = np.zeros((len(inner), K + 1))
        for ones in range(K - n + 1):
            rows[:] = 0
            rows[:, ones : ones + n + 1] = inner
            half = rows[:, middle + 1 :] - rows[:, : K - middle][:, ::-1]
            still = np.broadcast_to(np.array([K - n - ones, ones], dtype=np.int16), (len(inner), 2))
            yield Block(half, np.hstack([still, level.counts]))


def all_rows(problem: MajorityProblem) -> Array:
    """The full list of constraints as one matrix, shape (n_constraints(problem), K - floor(K/2)).

    Raises
    ------
    InputError
        If the list has more than ``MAX_COEFFICIENTS`` coefficients.
    """
    check_size(problem)
    return np.concatenate([block.rows for block in blocks(problem)])


def check_size(problem: MajorityProblem) -> None:
    """Refuse problems whose full list has more than ``MAX_COEFFICIENTS`` coefficients; `InputError`."""
    half = problem.K - problem.K // 2
    counted = problem.K < MAX_COEFFICIENTS  # beyond it, one row for each number of ones is already too many
    total = n_constraints(problem) if counted else problem.K
    if total * half > MAX_COEFFICIENTS:
        raise InputError(
            f"K = {problem.K} with changed = {problem.changed} and Delta {'> 0' if problem.Delta else '= 0'} has "
            f"{'' if counted else 'more than '}{total:,} constraints of {half} coefficients; listing them all stops at "
            f'{MAX_COEFFICIENTS:,} coefficients. Use engine "cuts", or lower K or changed.'
        )


def rounding(problem: Promise) -> float:
    """How far rounding can move ``row @ half``, for every row that is made here and every half in [0, 1].

    The distributions carry relative error 3 K u; the differences, by the recurrence of `pair_levels`, an absolute
    one of 12 K (K + 1) u times the largest ``|p - p'|`` (both in sum over l); twice that for rows that are put
    together from parts. See docs/theory.md, section "Rounding".
    """
    K, u = problem.K, 2.0**-53
    gap = float(np.abs(corner_points(problem.epsilon, problem.Delta).difference).max())
    shrink, grow, limit = right_side(problem)
    return 1.01 * u * (shrink * (24 * K * (K + 1) + 40 * K) * gap + (6 * K + 60) * grow) / limit


@lru_cache(maxsize=128)
def right_side(problem: Promise) -> tuple[float, float, float]:
    """e^(-m eps), 1 - e^(-m eps) and the right side 1 - e^(-m eps) + 2 delta e^(-m eps), each the nearest float64."""
    total = total_epsilon(problem)
    with decimals(total):
        shrink = (-total).exp()
        return float(shrink), float(1 - shrink), float(1 - shrink + 2 * Decimal(problem.delta) * shrink)


def rows_of(problem: Promise, counts: NDArray[np.integer]) -> Array:
    """The rows of given multisets, in the form of `blocks`.

    Parameters
    ----------
    counts : ndarray of int, shape (n, 8), or (n, 4) if Delta = 0
        Multisets in the order of `darrm.problem.corners.NAMES`, each summing to K.

    Returns
    -------
    ndarray, shape (n, K - floor(K/2))

    Notes
    -----
    O(K changed) for each multiset.
    """
    K = problem.K
    corners = corner_points(problem.epsilon, problem.Delta)
    second = np.zeros((len(counts), K + 1))
    second[np.arange(len(counts)), counts[:, 1]] = 1.0
    difference = np.zeros_like(second)
    for corner in range(2, counts.shape[1]):
        for step in range(int(counts[:, corner].max(initial=0))):
            at = np.flatnonzero(counts[:, corner] > step)
            which = np.full(at.size, corner)
            more = add_vote(second[at], difference[at], corners.p[which], corners.q[which], corners.difference[which])
            second[at], difference[at] = more[0][:, :-1], more[1][:, :-1]  # K votes give at most K ones
    return scaled_rows(problem, second, difference)


def scaled_rows(problem: Promise, second: Array, difference: Array) -> Array:
    """Rows from alpha' and alpha - alpha' over l = 0, ..., K, shape (n, K + 1)."""
    K, middle = problem.K, problem.K // 2
    shrink, grow, limit = right_side(problem)
    whole = (shrink * difference - grow * second) / limit
    return np.ascontiguousarray(whole[:, middle + 1 :] - whole[:, : K - middle][:, ::-1])

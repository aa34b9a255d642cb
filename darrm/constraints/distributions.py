"""The number of ones among voters at corners, on both data sets, for all multisets of one level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.constraints.multisets import CornerPoints, levels
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time
from darrm.numerics.poisson_binomial import one_more
from darrm.problem.corners import STILL


class PairLevel(NamedTuple):
    """Distributions of the ones among n moving corners, for every multiset of one level.

    Attributes
    ----------
    counts : ndarray of int16, shape (rows, moving)
    q_side : ndarray, shape (rows, n + 1)
        Distribution alpha' under p'.
    difference : ndarray, shape (rows, n + 1)
        alpha - alpha', carried by its own recurrence: for small epsilon it keeps the digits that the
        subtraction would lose.
    """

    counts: NDArray[np.int16]
    q_side: Array
    difference: Array


def pair_levels(corners: CornerPoints, max_affected: int) -> Iterator[PairLevel]:
    """The distributions under p and p' of all multisets of 0, ..., ``max_affected`` moving corners.

    Cost: O(n) for each multiset of n corners, not O(n^2), because each distribution extends an existing one.

    Examples
    --------
    One voter of epsilon 1 at either corner with p != p': the distribution of its vote under p', and its change.

    >>> from darrm.constraints.distributions import pair_levels
    >>> from darrm.constraints.multisets import corner_points
    >>> none, one = pair_levels(corner_points(1.0), max_affected=1)
    >>> one.q_side.round(3).tolist()
    [[0.731, 0.269], [0.269, 0.731]]
    >>> one.difference.round(3).tolist()
    [[-0.462, 0.462], [0.462, -0.462]]
    """
    p, q, gap = corners.p[STILL:], corners.q[STILL:], corners.difference[STILL:]
    q_side = np.ones((1, 1))
    difference = np.zeros((1, 1))
    for n, level in enumerate(levels(len(corners.p), max_affected)):
        check_time()
        if n:
            q_side, difference = add_vote(
                q_side[level.parent], difference[level.parent], p[level.added], q[level.added], gap[level.added]
            )
        yield PairLevel(level.counts, q_side, difference)


def add_vote(
    q_side: Array,
    difference: Array,
    p: Array,
    q: Array,
    gap: Array,
) -> tuple[Array, Array]:
    """alpha' and d = alpha - alpha' after one more vote in each row.

        d(l) (1 - p) + d(l - 1) p + (p - p') (alpha'(l - 1) - alpha'(l))

    Parameters
    ----------
    q_side, difference : ndarray, shape (rows, n)
    p, q : ndarray, shape (rows, 2)
        (p, p') and (1 - p, 1 - p') of the vote.
    gap : ndarray, shape (rows,)
        p - p'.

    Returns
    -------
    q_side, difference : ndarray, shape (rows, n + 1)
    """
    difference = one_more(difference, p[:, 0], q[:, 0])
    step = gap[:, None] * q_side
    difference[:, :-1] -= step
    difference[:, 1:] += step
    return one_more(q_side, p[:, 1], q[:, 1]), difference

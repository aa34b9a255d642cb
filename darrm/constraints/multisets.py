"""Corner points of an (epsilon, Delta)-DP bit, and the multisets of them that K voters can take.

The worst pair (p, p') of K voters sits at corners of the polygon that each (p_i, p'_i) may occupy, and
only the number of voters at each corner matters. This is the complete list of Lemma 5.1: the paper's
method, kept as the reference that every faster one is tested against.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.problem.corners import NAMES, STILL, weights

# The first STILL corners have p = p': the extreme votes of a voter that is not affected.


class CornerPoints(NamedTuple):
    """The corners of the polygon of (p, p') of one voter.

    Attributes
    ----------
    p : ndarray, shape (n, 2)
        (p, p') of each corner: n = 8, or 4 if Delta = 0.
    q : ndarray, shape (n, 2)
        (1 - p, 1 - p'), computed on its own so that it keeps full relative accuracy.
    difference : ndarray, shape (n,)
        p - p', likewise.
    names : tuple of str, length n
    """

    p: Array
    q: Array
    difference: Array
    names: tuple[str, ...]


def corner_points(epsilon: float, Delta: float = 0.0) -> CornerPoints:
    """Corners of the set of (p, p') that an (epsilon, Delta)-DP bit allows.

        (0,0) (1,1) (hi,lo) (lo,hi) and, if Delta > 0, (D,0) (0,D) (1-D,1) (1,1-D)
        hi = (e^epsilon + Delta) / (e^epsilon + 1),   lo = (1 - Delta) / (e^epsilon + 1) = 1 - hi,   D = Delta

    Parameters
    ----------
    epsilon : float, > 0, in nats
    Delta : float in [0, 1)

    Returns
    -------
    CornerPoints
        In the order of `NAMES`; the first two are those with p = p'.

    Notes
    -----
    Lemma 5.1 of Jiang, Zhang, Joshi (TMLR 2024). O(1).

    Examples
    --------
    (p, 1 - p) of a voter of epsilon 1 at the four corners:

    >>> from darrm.constraints.multisets import corner_points
    >>> corners = corner_points(1.0)
    >>> dict(zip(corners.names, corners.p.round(3).tolist()))
    {'(0,0)': [0.0, 0.0], '(1,1)': [1.0, 1.0], '(hi,lo)': [0.731, 0.269], '(lo,hi)': [0.269, 0.731]}
    """
    if not (0 < epsilon < math.inf and 0 <= Delta < 1):
        raise InputError(f"Corners need epsilon > 0 and Delta in [0, 1). Got epsilon {epsilon}, Delta {Delta}.")
    hi, lo, gap = weights(epsilon, Delta)
    p = [(0.0, 0.0), (1.0, 1.0), (hi, lo), (lo, hi)]
    q = [(1.0, 1.0), (0.0, 0.0), (lo, hi), (hi, lo)]
    difference = [0.0, 0.0, gap, -gap]
    if Delta > 0:
        D, E = Delta, 1 - Delta
        p += [(D, 0.0), (0.0, D), (E, 1.0), (1.0, E)]
        q += [(E, 1.0), (1.0, E), (D, 0.0), (0.0, D)]
        difference += [D, -D, -D, D]
    return CornerPoints(np.array(p), np.array(q), np.array(difference), NAMES[: len(p)])


def count_multisets(K: int, n_corners: int, max_affected: int | None = None) -> int:
    """Number of multisets of K corners with at most ``max_affected`` of them outside (0,0) and (1,1).

        sum over n <= max_affected of  C(n + n_corners - 3, n) (K - n + 1),
        which is C(K + n_corners - 1, K) if max_affected = K

    Parameters
    ----------
    K : int, at least 1
    n_corners : int, 8 or 4
    max_affected : int in [1, K], optional
        K if not given.

    Examples
    --------
    Eleven voters: without a Delta, with one, and with at most one affected voter:

    >>> from darrm.constraints.multisets import count_multisets
    >>> count_multisets(11, 4), count_multisets(11, 8), count_multisets(11, 4, max_affected=1)
    (364, 31824, 34)
    """
    moving = n_corners - STILL
    if max_affected is None or max_affected == K:
        return math.comb(K + n_corners - 1, K)
    return sum(math.comb(n + moving - 1, n) * (K - n + 1) for n in range(max_affected + 1))


class Level(NamedTuple):
    """All multisets of n moving corners (those with p != p'), each grown from one of n - 1.

    Attributes
    ----------
    counts : ndarray of int16, shape (rows, moving)
        How often each moving corner occurs.
    parent : ndarray of int64, shape (rows,)
        Row of the previous level that this multiset extends; level 0 is its own parent.
    added : ndarray of int64, shape (rows,)
        The moving corner that was added to it.
    """

    counts: NDArray[np.int16]
    parent: NDArray[np.int64]
    added: NDArray[np.int64]


def levels(n_corners: int, max_affected: int) -> Iterator[Level]:
    """The multisets of 0, 1, ..., ``max_affected`` moving corners, one level at a time.

    Every multiset occurs once: a multiset is extended only by corners from its last one on. Together with
    z copies of (1,1) and K - n - z of (0,0), z = 0, ..., K - n, the levels are the list of Lemma 5.1.
    Memory is that of two levels, C(n + n_corners - 3, n) rows each.

    Examples
    --------
    No, one and two voters at the two corners with p != p':

    >>> from darrm.constraints.multisets import levels
    >>> [level.counts.tolist() for level in levels(4, 2)]
    [[[0, 0]], [[1, 0], [0, 1]], [[2, 0], [1, 1], [0, 2]]]
    """
    moving = n_corners - STILL
    counts = np.zeros((1, moving), dtype=np.int16)
    last = np.zeros(1, dtype=np.int64)
    yield Level(counts, last, last)
    for _ in range(max_affected):
        children = moving - last
        parent = np.repeat(np.arange(last.size), children)
        starts = np.cumsum(children) - children
        last = np.arange(parent.size) - starts[parent] + last[parent]
        counts = counts[parent]
        counts[np.arange(parent.size), last] += 1
        yield Level(counts, parent, last)


def multisets(K: int, n_corners: int, max_affected: int | None = None) -> Iterator[NDArray[np.int16]]:
    """Blocks of all multisets of K corners, in the order of `darrm.constraints.rows.blocks`.

    Parameters
    ----------
    K, n_corners, max_affected
        As in `count_multisets`.

    Yields
    ------
    ndarray of int16, shape (rows, n_corners)
        Counts in the order of the corners' `NAMES`. Every row sums to K. There is one block for each number of moving
        corners and each number of (1,1).

    Examples
    --------
    Two voters at four corners:

    >>> import numpy as np
    >>> from darrm.constraints.multisets import multisets
    >>> every = np.concatenate(list(multisets(2, 4)))
    >>> every.shape, every[:4].tolist()
    ((10, 4), [[2, 0, 0, 0], [1, 1, 0, 0], [0, 2, 0, 0], [1, 0, 1, 0]])
    """
    for n, level in enumerate(levels(n_corners, K if max_affected is None else max_affected)):
        for ones in range(K - n + 1):
            still = np.broadcast_to(np.array([K - n - ones, ones], dtype=np.int16), (len(level.counts), STILL))
            yield np.hstack([still, level.counts])

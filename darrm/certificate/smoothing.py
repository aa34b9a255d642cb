"""Smoothed acceptance tables: the probability of releasing 1 when some voters sit at given corners.

The certificate is computed from these alone. They start from the noise function itself and share nothing
with the rows of the linear program: no corner list, no distribution of L.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.arrays import Array
from darrm.problem.corners import Weights
from darrm.problem.noise_function import acceptance

Index: TypeAlias = Any  # whatever numpy takes between brackets


class Sides(NamedTuple):
    """X(p), X(p') and X(p) - X(p'): attained, or bounds from above, below and above."""

    p_side: Array
    q_side: Array
    difference: Array

    def at(self, index: Index) -> Sides:
        """The entries at ``index``."""
        return Sides(self.p_side[index], self.q_side[index], self.difference[index])


class SmoothLevel(NamedTuple):
    """Tables for n = a + b voters at (hi,lo) and (lo,hi): one row for each b that matters, column c = 0..K-n.

    Attributes
    ----------
    n : int
    b : ndarray of int, shape (rows,)
        The numbers of voters at (lo,hi); a = n - b. Those left out are dominated (see `levels`).
    sides : Sides, each of shape (rows, K - n + 1)
        V_ab(c) = E X(c + Bin(a,hi) + Bin(b,lo)), V_ba(c), and their difference, carried by its own recurrence.
    rises : ndarray of bool, shape (rows,)
        V_ab is proved nondecreasing in c.
    """

    n: int
    b: NDArray[np.int64]
    sides: Sides
    rises: NDArray[np.bool_]


def levels(gamma: Array, w: Weights, max_affected: int, most_b: int | None = None) -> Iterator[SmoothLevel]:
    """The tables for n = 0, 1, ..., ``max_affected``, b up to ``most_b``; O(K^2) memory, O(rows (K - n)) work each.

    With V = V_ab, V' = V_ba and W = V - V', one more voter at (hi,lo) gives

        V(c) <- lo V(c) + hi V(c+1),   V'(c) <- hi V'(c) + lo V'(c+1),
        W(c) <- lo W(c) + hi W(c+1) + (hi - lo) (V'(c+1) - V'(c)),

    one more at (lo,hi) the same with hi and lo exchanged. W keeps the digits that V - V' would lose when epsilon
    is small.

    If V_ab is nondecreasing, every multiset with (a, b+1) costs at most as much as one with (a+1, b), and so it is for
    all further voters: row (a, b+1) is left out (docs/theory.md, Lemma 5 (iii)). Whether V_ab rises is decided by its
    differences, averaged on their own next to their absolute values: a rise counts only if it is more than rounding can
    make.
    """
    K = gamma.size - 1
    side = np.sign(2 * np.arange(K + 1) - K)
    V = acceptance(gamma)[None]
    V_, W = V, np.zeros_like(V)
    steps = np.diff(side * gamma)[None]
    sizes = np.abs(steps)
    margin = 1.01 * 2.0**-53 * (3 * max_affected + 20)
    b, rises = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.bool_)
    for n in range(max_affected + 1):
        if n:
            down = np.flatnonzero(~rises if most_b is None else ~rises & (b < most_b))
            gain = w.gap * (V_[:, 1:] - V_[:, :-1])
            V, V_, W = (_one_more(V, w.lo, w.hi, down), _one_more(V_, w.hi, w.lo, down), _one_more(W, w.lo, w.hi, down))
            W[:1] += gain[:1]
            W[1:] -= gain[down]
            steps, sizes = _one_more(steps, w.lo, w.hi, down), _one_more(sizes, w.lo, w.hi, down)
            b = np.concatenate([b[:1], b[down] + 1])
        rises = np.all(steps >= margin * sizes, axis=1)
        yield SmoothLevel(n, b, Sides(V, V_, W), rises)


def _one_more(table: Array, here: float, above: float, down: NDArray[np.int64]) -> Array:
    """One more voter: at (hi,lo) for the first row, which keeps its place, at (lo,hi) for the rows ``down``."""
    low, high = table[:, :-1], table[:, 1:]
    return np.concatenate([here * low[:1] + above * high[:1], above * low[down] + here * high[down]])

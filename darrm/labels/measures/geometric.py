"""Two-sided geometric noise on the number of ones, clipped to 0..k, without a product of matrices.

Given y_i = v the output o inside 0..k has the probability f_v(o) = (1 - a) / (1 + a) S(o - v), a = e^-epsilon, with

    S(j) = sum over l of q_i(l) a^|j - l|

q_i of the ones without label i. Both parts of S, of l <= j and of l > j, follow from their neighbours: O(k) a label.
"""

from __future__ import annotations

import math

import numpy as np

from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import table


def given(eta: Array, epsilon: float) -> tuple[Array, Array]:
    """Probabilities of the outputs 0..k given y_i = 0 and given y_i = 1 for the bags eta (n, k), each (k + 1, n, k).

    All terms are positive, so the relative error of an entry is that of q_i and at most 8 (k + 2) 2^-53 besides.
    """
    n, k = eta.shape
    fall = math.exp(-epsilon)
    inside, end = -math.expm1(-epsilon) / (1 + fall), 1 / (1 + fall)
    q = table(eta)
    zero, one = np.empty((2, k + 1, n, k))
    sums = zero[:k]
    sums[0] = q[0]
    for j in range(1, k):
        np.multiply(sums[j - 1], fall, out=sums[j])
        sums[j] += q[j]
    above = np.zeros((n, k))
    for j in range(k - 2, -1, -1):
        above += q[j + 1]
        above *= fall
        sums[j] += above
    np.multiply(sums, inside, out=one[1:])
    one[0], one[k] = sums[0] * (fall * end), sums[k - 1] * end
    zero[0], zero[k] = sums[0] * end, sums[k - 1] * (fall * end)
    zero[1:k] *= inside
    return zero, one

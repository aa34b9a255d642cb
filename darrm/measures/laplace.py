"""Laplace noise on the number of ones, in closed form.

Given y_i = v the output has the density f_v(t) = sum over l of q_i(l) (epsilon / 2) e^(-epsilon |t - l - v|). Between
two neighbouring integers, t = j + u with 0 <= u <= 1, only two sums matter:

    f_0 = epsilon/2 (C_j e^(-epsilon u) + E_(j+1) e^(-epsilon (1 - u))),    f_1 = the same with C_(j-1) and E_j,
    C_j = sum over l <= j of q_i(l) e^(-epsilon (j - l)),    E_j = sum over l >= j of q_i(l) e^(-epsilon (l - j))

so a f_1 - b f_0 = A e^(-epsilon u) + B e^(-epsilon (1 - u)) is 0 at u = 1/2 + log(-A / B) / (2 epsilon). The ratio
f_1 / f_0 never falls (q_i and the noise are log-concave), so there is one such point: no quadrature anywhere. Below 0
the ratio is e^-epsilon, above k it is e^epsilon.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import table


class LaplaceOutputs:
    """The densities of the outputs given one label, for the bags eta (n, k); 0 and 1 exchanged where ``mirrored``."""

    def __init__(self, eta: Array, epsilon: float, mirrored: NDArray[np.bool_] | None = None) -> None:
        n, k = eta.shape
        self.epsilon = epsilon
        self._fall = math.exp(-epsilon)
        q = table(eta)
        if mirrored is not None:
            q = np.where(mirrored, q[::-1], q)
        # A row before the first stands for C_(-1) = 0.
        self._left = np.zeros((k + 2, n, k))
        self._right = np.zeros((k + 1, n, k))
        for j in range(k + 1):
            np.multiply(self._left[j], self._fall, out=self._left[j + 1])
            if j < k:
                self._left[j + 1] += q[j]
        for j in range(k - 1, -1, -1):
            np.multiply(self._right[j + 1], self._fall, out=self._right[j])
            self._right[j] += q[j]

    def above(self, a: Array | float, b: Array | float, c: Array | float, d: Array | float) -> Array:
        """Integral of c f_1 + d f_0 over all outputs with a f_1 > b f_0, shape (n, k); a, b > 0 or an array of them."""
        A, B = self._pieces(a, -np.asarray(b))
        c_part, d_part = self._pieces(c, d)
        opens, closes = A + self._fall * B, self._fall * A + B
        whole = (c_part + d_part) * (-math.expm1(-self.epsilon) / 2)
        total = np.where(opens >= 0, whole, 0).sum(axis=0)
        at = np.nonzero((opens < 0) & (closes > 0))
        rest = np.clip((self.epsilon - np.log(-A[at]) + np.log(B[at])) / 2, 0, self.epsilon)  # epsilon (1 - u)
        part = -np.expm1(-rest) * (c_part[at] * np.exp(rest - self.epsilon) + d_part[at])
        np.add.at(total, at[1:], part / 2)
        below = self._right[0] / 2 * (self._fall * c + d)
        beyond = self._left[-2] / 2 * c + self._left[-1] / 2 * d
        total += np.where(self._fall * np.asarray(a) > b, below, 0)
        return np.asarray(total + np.where(a > self._fall * np.asarray(b), beyond, 0))

    def _pieces(self, one: Array | float, zero: Array | float) -> tuple[Array, Array]:
        """Factors of e^(-epsilon u) and e^(-epsilon (1 - u)) of one f_1 + zero f_0 on all pieces, up to epsilon / 2."""
        left = one * self._left[:-2] + zero * self._left[1:-1]
        return left, one * self._right[:-1] + zero * self._right[1:]


def individual(eta: Array, epsilon: float) -> Array:
    """Individual additive advantage of Laplace label proportions for the bags eta, shape (n, k)."""
    # What the less likely label gains: where both are exchanged it is label 0, and no difference of masses is taken.
    less = np.minimum(eta, 1 - eta)
    return LaplaceOutputs(eta, epsilon, mirrored=eta > 0.5).above(less, 1 - less, less, less - 1)


def variation(eta: Array, epsilon: float) -> Array:
    """Total variation between the outputs given y_i = 1 and given y_i = 0, shape (n, k)."""
    return LaplaceOutputs(eta, epsilon).above(1.0, 1.0, 1.0, -1.0)

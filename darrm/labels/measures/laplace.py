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
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import table

_TINY = 1e-290  # densities below are not accurate, and have no mass


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
        # Where opens is 0 because e^-epsilon is below the range of float64, closes has the sign.
        total = np.where((opens >= 0) & (closes >= 0), whole, 0).sum(axis=0)
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


class LaplaceOdds:
    """How much of the outputs moves the log odds of a label by more than x, for the bags eta (n, k).

    f_1(t) = f_0(t - 1), so one array holds the densities at integers and one the masses above them:

        density[j + 1] = f_0(j),    tail[j + 1] = integral of f_0 over t > j,    for j = -1, ..., k, up to epsilon / 2

    The ratio f_1 / f_0 never falls, so it passes a threshold between the two integers that a binary search finds.
    """

    def __init__(self, eta: Array, epsilon: float) -> None:
        outputs = LaplaceOutputs(eta, epsilon)
        self._eta = eta.ravel()
        self._open = (self._eta > 0) & (self._eta < 1)
        left = outputs._left.reshape(len(outputs._left), -1)
        right = outputs._right.reshape(len(outputs._right), -1)
        density = left.copy()
        density[:-1] += math.exp(-epsilon) * right
        ratio = np.clip(density[:-1] / np.maximum(density[1:], 1e-300), 0, 1e300)
        ratio[np.maximum(density[:-1], density[1:]) < _TINY] = 0
        tail = density  # the densities are not needed any more
        np.multiply(left[:-1] + right, -math.expm1(-epsilon) / 2, out=tail[:-1])
        np.multiply(left[-1], 0.5, out=tail[-1])
        for j in range(len(tail) - 2, -1, -1):
            tail[j] += tail[j + 1]
        pieces = _Pieces(epsilon, left, right, np.maximum.accumulate(ratio, axis=0), tail)
        self._both = pieces, pieces  # for odds that rise and for odds that fall

    @property
    def size(self) -> int:
        """Numbers that are held for changes up and for changes down."""
        return sum(pieces.left.size + pieces.right.size + pieces.ratio.size + pieces.tail.size for pieces in self._both)

    def moved(self, x: float) -> float:
        """Expected number of labels whose log odds move by more than x, in [0, epsilon); O(log k) a label."""
        e = math.exp(-x)
        rising, falling = self._both
        up, down = self._above(rising, e, 1.0), 1 - self._above(falling, 1.0, e)
        return float(np.where(self._open, up + down, 0).sum())

    def between(self, low: float, high: float) -> LaplaceOdds:
        """The same for x in [low, high] only, without the pieces that no such x asks for."""
        near, far = math.exp(-low), math.exp(-high)
        rising, falling = self._both
        part = copy(self)
        part._both = rising.between(_ratio(1, near), _ratio(1, far)), falling.between(far, near)
        return part

    def _above(self, pieces: _Pieces, a: float, b: float) -> Array:
        """Pr[a f_1(output) > b f_0(output)], for every label."""
        for_one, for_zero = pieces.above(a, b)
        return np.asarray(self._eta * for_one + (1 - self._eta) * for_zero)


class _Pieces(NamedTuple):
    """What `LaplaceOdds` knows between integers, a column a label: sums, ratios that never fall, masses above."""

    epsilon: float
    left: Array
    right: Array
    ratio: Array
    tail: Array

    def above(self, a: float, b: float) -> tuple[Array, Array]:
        """Masses of f_1 and of f_0 on the outputs with a f_1 > b f_0, for every label."""
        labels = np.arange(self.ratio.shape[1])
        j = np.clip(self.passed(_ratio(b, a)) - 1, 0, len(self.ratio) - 2)
        left, right = self.left[j, labels], self.right[j, labels]
        next_left, next_right = self.left[j + 1, labels], self.right[j + 1, labels]
        A, B = a * left - b * next_left, a * right - b * next_right
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.clip((self.epsilon - np.log(-A) + np.log(B)) / 2, 0, self.epsilon)  # epsilon (1 - u)
        rest = np.where(B > 0, np.where(A < 0, rest, self.epsilon), 0)
        share, growth = -np.expm1(-rest) / 2, np.exp(rest - self.epsilon)
        for_one = share * (left * growth + right) + self.tail[j + 1, labels]
        for_zero = share * (next_left * growth + next_right) + self.tail[j + 2, labels]
        return for_one, for_zero

    def passed(self, threshold: float) -> NDArray[np.intp]:
        """At how many of the integers 0, ..., k the ratio is at most the threshold, for every label."""
        labels = np.arange(self.ratio.shape[1])
        low, high = np.zeros_like(labels), np.full_like(labels, len(self.ratio))
        for _ in range(len(self.ratio).bit_length()):
            middle = (low + high) // 2
            passed = self.ratio[np.minimum(middle, len(self.ratio) - 1), labels] <= threshold
            low, high = np.where(passed & (low < high), middle + 1, low), np.where(passed, high, middle)
        return low

    def between(self, low: float, high: float) -> _Pieces:
        """The rows that thresholds in [low, high] reach: as many for every label, each from a place of its own."""
        first, last = (np.clip(self.passed(x) - 1, 0, len(self.ratio) - 2) for x in (low, high))
        rows = int((last - first).max()) + 2
        at = np.minimum(first, len(self.ratio) - rows) + np.arange(rows + 1)[:, None]

        def cut(values: Array, more: int) -> Array:
            return np.take_along_axis(values, at[: rows + more], axis=0)

        return _Pieces(self.epsilon, cut(self.left, 0), cut(self.right, 0), cut(self.ratio, 0), cut(self.tail, 1))


def _ratio(b: float, a: float) -> float:
    return b / a if a else math.inf


def individual(eta: Array, epsilon: float) -> Array:
    """Individual additive advantage of Laplace label proportions for the bags eta, shape (n, k)."""
    # What the less likely label gains: where both are exchanged it is label 0, and no difference of masses is taken.
    less = np.minimum(eta, 1 - eta)
    return LaplaceOutputs(eta, epsilon, mirrored=eta > 0.5).above(less, 1 - less, less, less - 1)


def variation(eta: Array, epsilon: float) -> Array:
    """Total variation between the outputs given y_i = 1 and given y_i = 0, shape (n, k)."""
    return LaplaceOutputs(eta, epsilon).above(1.0, 1.0, 1.0, -1.0)

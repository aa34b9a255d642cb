"""The distributions of one release on two neighbouring data sets, as rows of probabilities.

A row is a pair (P, Q) of distributions over the answers that some votes achieve. A release of two answers has the
points of its region as rows, (x, 1 - x) and (y, 1 - y).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import array, real
from darrm.accounting.profile import Point
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.exact import decimals

_U = 2.0**-53
_COARSEST = 1e-3
_EXACTLY = 1000  # number of losses computed in decimals


@dataclass(frozen=True, eq=False)
class OutcomeRows:
    """Pairs (P, Q) of distributions over any number of answers; each stands for (Q, P) too.

        (1 - rho) P[r, o] <= Pr[answer o | D] <= (1 + rho) P[r, o] + cut[r, o],   sum over o of cut[r, o] <= cut,

    and the same for Q and D'.

    Attributes
    ----------
    P, Q : ndarray, shape (rows, answers), float64 >= 0
        Rows of fewer answers end in zeros.
    rho : float in [0, .001]
        Relative error of every entry. State the width of rows that stand for others near them here. Rows that are
        widened themselves, as P (1 + w) and Q (1 - w), are not distributions: `of` refuses them, and
        `darrm.accounting.cover` counts what their Q lacks as an infinite loss.
    cut : float in [0, 1)
        Probability that no entry holds, such as that of noise beyond a table.

    Raises
    ------
    InputError
        Raised by `of`, the constructor that checks.

    Examples
    --------
    Two answers whose probabilities are exchanged between D and D', and the epsilon of a hundred such releases:

    >>> import darrm
    >>> from darrm.accounting.many_answers import of_rows
    >>> rows = darrm.accounting.OutcomeRows.of([[0.6, 0.4]], [[0.4, 0.6]])
    >>> rows.P.shape
    (1, 2)
    >>> round(of_rows(rows, 100, delta=1e-5).upper, 2)
    23.65
    """

    P: Array
    Q: Array
    rho: float = 0.0
    cut: float = 0.0

    @classmethod
    def of(cls, P: ArrayLike, Q: ArrayLike, rho: float = 0.0, cut: float = 0.0) -> OutcomeRows:
        """Rows from arrays, checked: the constructor for your own rows."""
        rho = real("rho", rho, 0, _COARSEST, "[]", hint="Pass the proved relative error of all entries, e.g. 1e-12.")
        cut = real("cut", cut, 0, 1, "[)", hint="Pass the probability that the entries leave out.")
        on = array("P", P, ("rows", "answers"), 0, 1, "[]")
        off = array("Q", Q, on.shape, 0, 1, "[]")
        for name, side in (("P", on), ("Q", off)):
            if side.size and np.abs(side.sum(axis=1) - 1).max() > 2 * rho + cut + 1e-9:
                raise InputError(f"Every row of {name} must sum to 1. Got sums from {side.sum(axis=1).min():.9g} on.")
        return cls(on, off, rho, cut)

    @classmethod
    def of_points(cls, points: Iterable[Point]) -> OutcomeRows:
        """The rows of a release of two answers, from points of its region."""
        found = [(p.x, p.not_x, p.y, p.not_y) for p in points]
        both = np.array(found, dtype=np.float64).reshape(len(found), 2, 2)
        return cls(both[:, 0], both[:, 1], _U)

    def __len__(self) -> int:
        return len(self.P)

    @property
    def answers(self) -> int:
        return int(self.P.shape[1])

    @cached_property
    def losses(self) -> Array:
        """ln(P / Q), infinite where only one is 0, and 0 where both are; shape (rows, answers)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.log(self.P) - np.log(self.Q)
        return np.where((self.P == 0) & (self.Q == 0), 0.0, found)

    @cached_property
    def delta_infinity(self) -> float:
        """Upper bound on the delta of one release that no epsilon avoids."""
        if not len(self):
            return self.cut
        sides = ((self.P, self.Q), (self.Q, self.P))
        most = max(float(np.where(off == 0, on, 0.0).sum(axis=1).max()) for on, off in sides)
        return min(1.0, most * (1 + 2 * self.rho + 4 * self.answers * _U) + self.cut)

    @property
    def least_loss(self) -> float:
        """Lower bound on the pure-DP epsilon of all rows, nats, from the probabilities of single answers."""
        P, Q = np.concatenate([self.P, self.Q]), np.concatenate([self.Q, self.P])
        on, off = P * (1 - self.rho) - self.cut, np.maximum(Q * (1 + self.rho) + self.cut, 1e-300)
        sure = on > 1e-290
        return float(np.log(on[sure] / off[sure]).max(initial=0.0)) * (1 - 1e-12)

    @cached_property
    def largest_loss(self) -> float:
        """Upper bound on the finite losses of all rows, nats.

        Logarithms in float64 only select entries, because their difference can have a larger error than its value.
        """
        both = (self.P > 0) & (self.Q > 0)
        P, Q = self.P[both], self.Q[both]
        log_P, log_Q = np.log(P), np.log(Q)
        size, margin = np.abs(log_P - log_Q), 16 * _U * (np.abs(log_P) + np.abs(log_Q))
        doubtful = size + margin >= (size - margin).max(initial=0.0)
        pairs = np.unique(np.stack([P[doubtful], Q[doubtful]]), axis=1)
        if pairs.shape[1] <= _EXACTLY:
            most = max(map(_exact_loss, *pairs.tolist()), default=0.0)
        else:
            most = float((size + margin).max()) * (1 + 4 * _U)
        unknown = 2.01 * self.rho if len(self) else 0.0
        return math.nextafter(most + unknown, math.inf) if most or unknown else 0.0

    @cached_property
    def alike(self) -> bool:
        """Whether both sides of every row are equal up to their relative error; if so, no grid is fine enough."""
        return not len(self) or (not self.cut and bool(np.array_equal(self.P, self.Q)))

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Approximate largest mean and largest variance of the finite losses of a row."""
        if not len(self):
            return 0.0, 0.0
        mean = spread = 0.0
        finite = np.where(np.isfinite(self.losses), self.losses, 0.0)
        for side in (self.P, self.Q):
            first = (side * finite).sum(axis=1)
            mean = max(mean, float(np.abs(first).max()))
            spread = max(spread, float((side * (finite - first[:, None]) ** 2).sum(axis=1).max()))
        return mean, spread


def _exact_loss(p: float, q: float) -> float:
    """abs(ln(p / q)), rounded up."""
    if p == q:
        return 0.0
    with decimals(Decimal(1)):
        return math.nextafter(abs(float((Decimal(p) / Decimal(q)).ln())), math.inf)


def some(rows: OutcomeRows, which: NDArray[Any]) -> OutcomeRows:
    """The rows of these indices."""
    return OutcomeRows(rows.P[which], rows.Q[which], rows.rho, rows.cut)

"""The privacy constraints of a decision by groups of voters as rows of a linear program in its table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm.constraints.distributions import add_vote
from darrm.constraints.steepness import check_steepness
from darrm.errors import InputError
from darrm.numerics.arrays import Array, in_decimals, number_kind
from darrm.numerics.exact import decimals, rounded_up
from darrm.problem.corners import STILL, CornerCounts, MovingCorner
from darrm.problem.decision import DecisionProblem
from darrm.problem.group_corners import GroupCase, group_corners
from darrm.problem.groups import VoterGroup
from darrm.problem.limits import Limit
from darrm_solvers import Rows

# Least violation of a row that counts, in units of its right side: above the rounding of a row, below HiGHS' tolerance.
_BROKEN = 1e-12


class TableColumns:
    """Variables x in [0, 1]^n of a linear program for the table of a decision; the objective improves with each.

    Parameters
    ----------
    gains : ndarray, shape of the problem
        The gain of the objective from answer 1 minus that from answer 0, for each count vector.
    alike : bool
        Whether the guarantee stays the same if the answers and all votes are swapped.
    ordered : bool
        Whether the answer with the larger gain must be at least as likely as the other; any order at equal gains.
    """

    def __init__(self, gains: Array, *, alike: bool = True, ordered: bool = False) -> None:
        self.shape = gains.shape
        flat = gains.ravel()
        size = flat.size
        # If swapping the answers and all votes changes neither gain nor guarantee, the table may be taken symmetric.
        self.symmetric = alike and bool(np.array_equal(flat, -flat[::-1]))
        index = np.arange(size)
        half = size // 2
        if self.symmetric:
            variable = np.minimum(index, size - 1 - index)
            self.n = max(half, 1)
            value = flat[: self.n] - flat[::-1][: self.n]
        else:
            variable = index
            self.n = size
            value = flat
        sign = np.where(value[np.minimum(variable, self.n - 1)] >= 0, 1.0, -1.0)
        if self.symmetric:
            sign[size - half :] *= -1
            if size % 2:
                sign[half] = 0.0
                variable[half] = 0
        # The probability of the preferred answer is 1 - span + span x.
        span = np.where(ordered & (value != 0), 0.5, 1.0)
        self._variable, self._sign = variable, sign * span[variable]
        self.weights = np.abs(value) * span
        self._constant = np.where(sign == 0, 0.5, np.where(sign > 0, 1 - span[variable], span[variable]))

    def table(self, x: Array) -> Array:
        """Pr[answer 1] for each count vector."""
        return np.asarray((self._constant + self._sign * x[self._variable]).reshape(self.shape))

    def rows(self, coefficients: NDArray[Any], limits: NDArray[Any]) -> Rows:
        """Constraints ``coefficients @ table <= limits`` as rows in x; ``coefficients`` of shape (m, entries).

        If they are decimals, the rows are too.
        """
        sign, constant = self._sign, self._constant
        if coefficients.dtype == np.object_:
            sign, constant = in_decimals(sign), in_decimals(constant)
        signed = coefficients * sign
        rows = np.zeros((len(coefficients), self.n), coefficients.dtype)
        if self.symmetric:
            half = coefficients.shape[1] // 2
            rows[:, :half] = signed[:, :half] + signed[:, ::-1][:, :half]
        else:
            rows[:] = signed
        return Rows(rows, limits - coefficients @ constant)


class GroupRows:
    """The rows of given cases of a decision for one limit: a `ConstraintRows`.

        sum over n of (P(n) - e^epsilon P'(n)) X_o(n) <= delta,    o the answer of the case,

    divided by e^epsilon - 1 + 2 delta. The left side is the hockey-stick divergence of the case.

    Attributes
    ----------
    threshold : float
    rounding : float
    """

    ready = None

    def __init__(self, limit: Limit[DecisionProblem], columns: TableColumns) -> None:
        self._problem, self._columns = limit.problem, columns
        corners_of, fails = group_corners(limit.problem)
        if Decimal(limit.delta) < fails:
            raise InputError(
                f"delta must be at least {rounded_up(fails)!r}, the combined delta of the affected voters, because "
                f"this many voters are certified as pure voters plus their deltas. Got {limit.delta!r}. Raise "
                "delta, or lower max_affected or the deltas of the groups."
            )
        with decimals(limit.epsilon):
            shrink, delta = (-limit.epsilon).exp(), (Decimal(limit.delta) - fails) / (1 - fails)
            right = 1 - shrink + 2 * delta * shrink
            self._exact_limits = (delta * shrink + 1 - shrink) / right, delta * shrink / right
            self._exact_factors = shrink / right, (1 - shrink) / right
            self._shrink, self._grow = map(float, self._exact_factors)
            size = float(right / (2 * shrink)) if shrink > Decimal("1e-300") else math.inf
        t = limit.problem.max_affected
        gap = max(abs(float(corner.gap)) for corners in corners_of for corner in corners)
        check_steepness(limit, gap, right)
        u = 2.0**-53
        self.rounding = 1.01 * u * (self._shrink * 40 * (t + 1) * (t + 2) * gap + (6 * t + 60) * self._grow)
        self.threshold = limit.delta + _BROKEN * size * float(1 - fails)

    def allowed(self, cases: Iterable[Any]) -> list[Any]:
        """No cases: a decision does not begin with the cases of another."""
        return []

    def ahead(self, case: GroupCase, steps: int) -> list[GroupCase]:
        """The cases with more deterministic votes of a group for the other answer."""
        found, way = [], 1 if case.answer else -1
        for g, (own, reached) in enumerate(zip(case.counts, case.reached, strict=True)):
            if reached:
                for more in range(1, min(steps, own.ones if case.answer else own.zeros) + 1):
                    moved = own._replace(zeros=own.zeros + way * more, ones=own.ones - way * more)
                    found.append(case._replace(counts=(*case.counts[:g], moved, *case.counts[g + 1 :])))
        return found

    def of(self, cases: Sequence[GroupCase]) -> Rows:
        """The rows of any cases; O(entries of the table) for each."""
        return self._of(cases, exact=False)

    def exactly(self, cases: Sequence[GroupCase]) -> Rows:
        """The exact rows behind those of `of`, in decimals of the caller's context."""
        return self._of(cases, exact=True)

    of_usual = of

    def _of(self, cases: Sequence[GroupCase], *, exact: bool) -> Rows:
        shrink, grow = self._exact_factors if exact else (self._shrink, self._grow)
        q_side, difference = _sides(self._problem, cases, exact=exact)
        coefficients = shrink * difference - grow * q_side
        answers = np.array([answer for answer, _ in cases], dtype=np.intp)
        coefficients[answers == 0] *= -1
        return self._columns.rows(coefficients, np.array(self._exact_limits, number_kind(exact))[answers])


def weighted(problem: DecisionProblem, cases: Sequence[GroupCase], on: Array, off: Array) -> tuple[Array, Array]:
    """ "sum over o of on_o Pr[o | D] + off_o Pr[o | D'] <= 0" of each case: coefficients of the table, and limits."""
    q_side, difference = _sides(problem, cases, exact=False)
    (on_0, on_1), (off_0, off_1) = on.T[..., None], off.T[..., None]
    return (on_1 - on_0) * (q_side + difference) + (off_1 - off_0) * q_side, -(on_0 + off_0)[:, 0]


def _sides(problem: DecisionProblem, cases: Sequence[GroupCase], *, exact: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """The distributions of the numbers of ones on D', and the differences to those on D; of shape (cases, entries)."""
    kind = number_kind(exact)
    distributions = _distributions if exact else _rounded_distributions
    q_side, difference = np.ones((len(cases), 1), kind), np.zeros((len(cases), 1), kind)
    for g, (group, corners) in enumerate(zip(problem.groups, group_corners(problem)[0], strict=True)):
        own = [distributions(group, corners, counts[g], exact) for _, counts in cases]
        q_own, difference_own = np.array(own, kind).reshape(-1, 2, 1, group.count + 1).swapaxes(0, 1)
        # P P_g - Q Q_g = (P - Q) P_g + Q (P_g - Q_g)
        p_own, q_before = q_own + difference_own, q_side[..., None]
        shape = len(cases), q_side.shape[1] * (group.count + 1)
        difference = (difference[..., None] * p_own + q_before * difference_own).reshape(shape)
        q_side = (q_before * q_own).reshape(shape)
    return q_side, difference


def _distributions(
    group: VoterGroup, corners: tuple[MovingCorner, ...], counts: CornerCounts, exact: bool
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The distribution of the ones of a group on D', and the difference to that on D; each of shape (count + 1,)."""
    kind = number_kind(exact)
    q_side, difference = np.ones((1, 1), kind), np.zeros((1, 1), kind)
    for corner, number in zip(corners, counts[STILL:], strict=False):
        p, not_p = np.array([[corner.p, corner.q]], kind), np.array([[corner.not_p, corner.not_q]], kind)
        gap = np.array([corner.gap], kind)
        for _ in range(number):
            q_side, difference = add_vote(q_side, difference, p, not_p, gap)
    after = group.count + 1 - counts.ones - q_side.shape[1]
    padded = [np.pad(side[0], (counts.ones, after)) for side in (q_side, difference)]
    return padded[0], padded[1]


_rounded_distributions = lru_cache(maxsize=4096)(_distributions)

"""The privacy constraints of a decision with several answers as rows of a linear program in its table.

At each vector of votes the answers are put into *parts*: where classes are treated alike, those with equal votes are
one part, else every answer is a part. The mass of a part is the probability of all its answers. The masses at one
vector sum to 1, so one of them, of an answer that the objective prefers, follows from the others. The variables are x =
1 - mass of each other part; the objective improves with each of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm.constraints.steepness import check_steepness
from darrm.errors import InputError
from darrm.numerics.arrays import Array, in_decimals, number_kind
from darrm.numerics.deadline import check_time
from darrm.numerics.exact import decimals, rounded_up
from darrm.problem.class_corners import Bit, ClassCase, GroupOfCase, bits
from darrm.problem.class_votes import all_votes, by_votes, votes_up_to_names
from darrm.problem.counts import Counts, Ranking, n_sorted_counts
from darrm.problem.decision import DecisionProblem
from darrm.problem.groups import without_privacy
from darrm.problem.limits import Limit
from darrm_solvers import Rows
from darrm_solvers.cutting_planes import stacked

# Least violation of a row that counts, in units of its right side: above the rounding of a row, below HiGHS' tolerance.
_BROKEN = 1e-12
_TIE = 1e-12
_TOGETHER = 64  # number of cases whose rows are computed in one block
MAX_VARIABLES = 10_000


def check_variables(problem: DecisionProblem, *, alike: bool) -> None:
    """Refuse a table with too many entries for a linear program."""
    rows = n_sorted_counts(problem.K, problem.n_classes) if alike and len(problem.groups) == 1 else None
    entries = (math.prod(problem.table_shape) if rows is None else rows) * problem.n_answers
    if entries > MAX_VARIABLES:
        raise InputError(
            f"A table of {entries:,} probabilities is too large to optimise; at most {MAX_VARIABLES:,}. Take fewer "
            "voters or classes"
            + (", one group" if len(problem.groups) > 1 else "")
            + (", or an objective that treats all classes alike." if not alike else ".")
            + " For non-private voters darrm.plan finds noisy max of any size." * without_privacy(problem.groups)
        )


class ClassColumns:
    """Variables x in [0, 1]^n of a linear program for the table of a decision with several answers.

    Parameters
    ----------
    problem : DecisionProblem
    costs : ndarray, shape (rows, answers)
        The cost of each answer at each row of ``votes``, summed over all renamings.
    alike : bool
        Whether all classes are treated alike; if so, ``votes`` are `votes_up_to_names`, else `all_votes`.
    ordered : bool
        Whether an answer of least cost must be at least as likely as any of higher cost.

    Attributes
    ----------
    votes : ndarray of int, shape (rows, groups, classes)
    shape : tuple of int
        Shape of a table without the axis of answers.
    n : int
    weights : ndarray, shape (n,)
        The gain of the objective from each variable.
    most : float
        The cost of the table with all variables at 0.
    """

    def __init__(self, problem: DecisionProblem, costs: Array, *, alike: bool, ordered: bool = False) -> None:
        self.problem, self.alike = problem, alike
        self.votes = votes_up_to_names(problem) if alike else all_votes(problem)
        self._ranking = Ranking(self.votes.reshape(len(self.votes), -1), max(g.count for g in problem.groups) + 1)
        rows, answers = costs.shape
        part = np.broadcast_to(np.arange(answers), costs.shape).copy()
        if alike:
            new = np.ones(costs.shape, dtype=np.int64)
            new[:, 1 : problem.n_classes] = (self.votes[..., 1:] != self.votes[..., :-1]).any(axis=1)
            part = new.cumsum(axis=1) - 1
        self._parts = part + (np.arange(rows) * answers)[:, None]  # of every answer, before empty parts are left out
        used, places, sizes = np.unique(self._parts, return_inverse=True, return_counts=True)
        self._parts = places.reshape(costs.shape)
        self._row, self._size = used // answers, sizes.astype(np.float64)
        cost = np.zeros(used.size)
        cost[self._parts] = costs
        best = np.minimum.reduceat(cost, np.flatnonzero(np.diff(self._row, prepend=-1)))
        gain = cost - best[self._row]
        gain[gain <= _TIE * (np.abs(cost) + np.abs(best[self._row]))] = 0.0
        # The first part of least cost follows from the others.
        order = np.lexsort((np.arange(used.size), gain, self._row))
        follows = order[np.flatnonzero(np.diff(self._row[order], prepend=-1))]
        self._follows = follows[self._row]
        self._free = np.flatnonzero(self._follows != np.arange(used.size))
        self.n = self._free.size
        self.weights = gain[self._free]
        self.most = math.fsum([*best.tolist(), *self.weights.tolist()])
        self._n_parts = used.size
        self.shape = (rows,) if alike and len(problem.groups) == 1 else problem.table_shape
        self.first = self._sums() if not ordered else stacked([self._sums(), self._order(gain)])

    def table(self, x: Array) -> Array:
        """The probabilities of all answers; negative values of a solver are set to 0."""
        mass = np.zeros(self._n_parts)
        mass[self._free] = 1 - np.clip(x, 0, 1)
        rest = 1 - np.bincount(self._row, mass)
        follows = np.unique(self._follows)
        mass[follows] = np.maximum(rest[self._row[follows]], 0.0)
        mass /= np.bincount(self._row, mass)[self._row]
        each = mass / self._size
        if not self.alike or len(self.problem.groups) == 1:
            table = each[self._parts]
        else:
            table = each[self.parts_of(all_votes(self.problem), range(self.problem.n_answers))[0]]
        return np.asarray(table.reshape(*self.shape, self.problem.n_answers))

    def rows(self, coefficients: NDArray[Any], limits: NDArray[Any]) -> Rows:
        """Constraints ``coefficients @ mass <= limits`` as rows in x; ``coefficients`` of shape (m, parts).

        If they are decimals, the rows are too.
        """
        beyond = coefficients.take(self._free, axis=1) - coefficients.take(self._follows[self._free], axis=1)
        # In C order sums are pairwise.
        constant = coefficients.take(np.unique(self._follows), axis=1).sum(axis=1) + beyond.sum(axis=1)
        return Rows(-beyond, limits - constant)

    @property
    def n_parts(self) -> int:
        """The number of masses."""
        return self._n_parts

    def parts_of(self, votes: Counts, answers: Sequence[int]) -> tuple[NDArray[np.intp], Array]:
        """The indices of the masses of ``answers`` at votes (m, groups, classes), and the sizes of their parts.

        The probability of an answer is the mass of its part divided by the part's size; both have shape (m, answers).
        """
        found = np.broadcast_to(np.asarray(answers, dtype=np.intp), (len(votes), len(answers)))
        if self.alike:
            order = by_votes(votes)
            place = np.empty_like(order)
            np.put_along_axis(place, order, np.broadcast_to(np.arange(order.shape[1]), order.shape), axis=1)
            none = np.full((len(votes), 1), order.shape[1])
            found = np.hstack([place, none])[:, list(answers)]
            votes = np.take_along_axis(votes, order[:, None, :], axis=2)
        parts = self._parts[self._ranking.of(votes.reshape(len(votes), -1))[:, None], found]
        return parts, self._size[parts]

    def _sums(self) -> Rows:
        """The rows "the masses that are variables sum to 1 at most", for each vector of votes."""
        several = np.flatnonzero(np.bincount(self._row[self._free], minlength=self._row[-1] + 1) > 1)
        sums = np.zeros((several.size, self._n_parts))
        for i, row in enumerate(several):
            own = self._free[self._row[self._free] == row]
            sums[i, own] = 1.0
        return self.rows(sums, np.ones(several.size))

    def _order(self, gain: Array) -> Rows:
        """The rows "no answer of higher cost is likelier than the one that follows from the others"."""
        worse = self._free[gain[self._free] > 0]
        order = np.zeros((worse.size, self._n_parts))
        order[np.arange(worse.size), worse] = 1 / self._size[worse]
        order[np.arange(worse.size), self._follows[worse]] = -1 / self._size[self._follows[worse]]
        return self.rows(order, np.zeros(worse.size))


class ClassRows:
    """The rows of given cases of a decision for one limit: a `ConstraintRows`.

        sum over n of (P(n) - e^epsilon P'(n)) sum over o in S of X_o(n) <= delta,    S the answers of the case,

    divided by e^epsilon - 1 + 2 delta. The left side is the hockey-stick divergence of the case.

    Attributes
    ----------
    threshold : float
    rounding : float
    """

    ready = None

    def __init__(self, limit: Limit[DecisionProblem], columns: ClassColumns) -> None:
        problem = self._problem = limit.problem
        self._columns = columns
        self._bits, fails = bits(problem, alike=columns.alike and len(problem.groups) == 1)
        if Decimal(limit.delta) < fails:
            raise InputError(
                f"delta must be at least {rounded_up(fails)!r}, the combined delta of the affected voters, because "
                f"this many voters are certified as pure voters plus their deltas. Got {limit.delta!r}. Raise "
                "delta, or lower max_affected or the deltas of the groups."
            )
        with decimals(limit.epsilon):
            shrink, delta = (-limit.epsilon).exp(), (Decimal(limit.delta) - fails) / (1 - fails)
            right = 1 - shrink + 2 * delta * shrink
            self._exact_factors = shrink / right, (1 - shrink) / right
            self._exact_limit = delta * shrink / right
            self._shrink, self._grow = map(float, self._exact_factors)
            half = float(right / (2 * shrink)) if shrink > Decimal("1e-300") else math.inf
        t, u = problem.max_affected, 2.0**-53
        with decimals(Decimal(1)):
            gap = max(float(sum(map(abs, bit.gaps))) for bit in self._bits)
        check_steepness(limit, gap / 2, right)
        gaps = t * gap
        # Largest number of (votes, answer) of a case in one part: renamings of one vector.
        most = max(len(bit.p) for bit in self._bits) ** t * problem.n_answers
        together = min(math.factorial(problem.n_classes), most) if columns.alike else 1
        size = gaps * self._shrink + self._grow
        self.rounding = u * (
            60 * (t + 2) * gaps * self._shrink + (6 * t + 80 * problem.n_answers + together + 60) * size
        )
        self.threshold = limit.delta + _BROKEN * half * float(1 - fails)

    def allowed(self, cases: Iterable[object]) -> list[ClassCase]:
        """No cases: a decision does not begin with the cases of another."""
        return []

    def ahead(self, case: ClassCase, steps: int) -> list[ClassCase]:
        """Cases with more deterministic votes of a group for the class that its first affected voter has on D'."""
        found = []
        for g, group in enumerate(case.groups):
            if group.kinds:
                kind = group.kinds[0][0]
                for more in range(1, min(steps, group.sure[kind[0]]) + 1):
                    sure = list(group.sure)
                    sure[kind[0]] -= more
                    sure[kind[-1]] += more
                    moved = group._replace(sure=tuple(sure))
                    found.append(case._replace(groups=(*case.groups[:g], moved, *case.groups[g + 1 :])))
        return found

    def of(self, cases: Sequence[ClassCase]) -> Rows:
        """The rows of any cases; the work for each is the number of possible votes at it."""
        return self._of(cases, exact=False)

    def exactly(self, cases: Sequence[ClassCase]) -> Rows:
        """The exact rows behind those of `of`, in decimals of the caller's context."""
        return self._of(cases, exact=True)

    of_usual = of

    def _of(self, cases: Sequence[ClassCase], *, exact: bool) -> Rows:
        n_parts, answers = self._columns.n_parts, self._problem.n_answers
        shrink, grow = self._exact_factors if exact else (self._shrink, self._grow)
        kind = number_kind(exact)
        coefficients = np.zeros((len(cases), n_parts), kind)
        for i in range(0, len(cases), _TOGETHER):
            check_time()
            some = cases[i : i + _TOGETHER]
            votes, q_side, difference = zip(
                *(distributions(case.groups, self._bits, exact=exact) for case in some), strict=True
            )
            case_of = np.repeat(np.arange(len(some)), list(map(len, votes)))
            counts = np.zeros((len(some), answers), kind)
            for on, case in zip(counts, some, strict=True):
                on[list(case.answers)] = 1
            weight = shrink * np.concatenate(difference) - grow * np.concatenate(q_side)
            parts, sizes = self._columns.parts_of(np.concatenate(votes), range(answers))
            places = case_of[:, None] * n_parts + parts
            each = weight[:, None] / (in_decimals(sizes) if exact else sizes) * counts[case_of]
            sums = _summed(places.ravel(), each.ravel(), len(some) * n_parts)
            coefficients[i : i + _TOGETHER] = sums.reshape(len(some), n_parts)
        return self._columns.rows(coefficients, np.full(len(cases), self._exact_limit, kind))


def weighted(
    problem: DecisionProblem, columns: ClassColumns, cases: Sequence[ClassCase], on: Array, off: Array
) -> tuple[Array, Array]:
    """ "sum over o of on_o Pr[o | D] + off_o Pr[o | D'] <= 0" of each case: coefficients of the masses, and limits."""
    bit_of_groups, _ = bits(problem, alike=columns.alike and len(problem.groups) == 1)
    coefficients = np.zeros((len(cases), columns.n_parts))
    for row, case, of_case, of_other in zip(coefficients, cases, on, off, strict=True):
        votes, q_side, difference = distributions(case.groups, bit_of_groups)
        parts, sizes = columns.parts_of(votes, range(problem.n_answers))
        weight = np.outer(difference + q_side, of_case) + np.outer(q_side, of_other)
        np.add.at(row, parts.ravel(), (weight / sizes).ravel())
    return coefficients, np.zeros(len(cases))


def distributions(
    groups: Sequence[GroupOfCase], bits_of: Sequence[Bit], *, exact: bool = False
) -> tuple[Counts, NDArray[Any], NDArray[Any]]:
    """The possible votes at a case, their probabilities on D', and the differences to those on D."""
    of_group = _of_group if exact else _rounded_of_group
    if len(groups) == 1:
        own, q_side, difference = of_group(groups[0], bits_of[0], exact)
        return own[:, None], q_side, difference
    votes = np.zeros((1, 0, len(groups[0].sure)), dtype=np.int64)
    kind = number_kind(exact)
    q_side, difference = np.ones(1, kind), np.zeros(1, kind)
    for group, bit in zip(groups, bits_of, strict=True):
        own, q_own, difference_own = of_group(group, bit, exact)
        rows, columns = np.repeat(np.arange(len(votes)), len(own)), np.tile(np.arange(len(own)), len(votes))
        votes = np.concatenate([votes[rows], own[columns][:, None]], axis=1)
        # P P_g - Q Q_g = (P - Q) P_g + Q (P_g - Q_g)
        p_own = q_own + difference_own
        difference = np.outer(difference, p_own).ravel() + np.outer(q_side, difference_own).ravel()
        q_side = np.outer(q_side, q_own).ravel()
    return votes, q_side, difference


def _of_group(group: GroupOfCase, bit: Bit, exact: bool) -> tuple[Counts, NDArray[Any], NDArray[Any]]:
    """The possible votes of a group at a case, their probabilities on D', and the differences to those on D."""
    votes = np.array([group.sure], dtype=np.int64)
    q_side, difference = np.ones(1, number_kind(exact)), np.zeros(1, number_kind(exact))
    p, q, gaps = bit.as_decimals() if exact else bit.as_floats()
    most = sum(count for _, count in group.kinds) + sum(group.sure)
    weights = np.array([(most + 1) ** i for i in range(len(group.sure))], dtype=np.int64)
    for kind, count in group.kinds:
        for _ in range(count):
            # P_j and Q_j of the outcome, P - Q <- p (P - Q) + (p - q) Q
            more = np.repeat(votes[None], len(kind), axis=0)
            more[np.arange(len(kind)), :, list(kind)] += 1
            new_q = np.concatenate([q_j * q_side for q_j in q])
            new_d = np.concatenate([p_j * difference + gap * q_side for p_j, gap in zip(p, gaps, strict=True)])
            flat = more.reshape(-1, votes.shape[1])
            if len(votes) == 1 and len(set(kind)) == len(kind):  # no votes occur twice
                votes, q_side, difference = flat, new_q, new_d
                continue
            _, first, which = np.unique(flat @ weights, return_index=True, return_inverse=True)
            votes = flat[first]
            q_side, difference = _summed(which, new_q, len(first)), _summed(which, new_d, len(first))
    return votes, q_side, difference


_rounded_of_group = lru_cache(maxsize=20_000)(_of_group)


def _summed(places: NDArray[np.intp], values: NDArray[Any], size: int) -> NDArray[Any]:
    """The sum of the values at each index."""
    if values.dtype != np.object_:
        return np.asarray(np.bincount(places, values, size), dtype=np.float64)
    sums = np.zeros(size, np.object_)
    np.add.at(sums, places, values)
    return sums

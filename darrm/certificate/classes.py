"""Separation for several classes: the worst case of one decision over every multiset of kinds of every group.

A release gives answer o with probability X_o(n) for the votes n of each group. `darrm.certificate.class_cases` lists
the cases. The tables

    V_o(A, z) = E X_o,  W_o(A, z) = E' X_o       A: affected voters by kind, z: other voters by class

start at V = W = X. One more voter of a group at the kind k takes the group's axis through

    V_o(A + k, z) = sum over j of p_j V_o(A, z + e_(k_j)),     W_o(A + k, z) = sum over j of q_j W_o(A, z + e_(k_j)),

which are sums of products of nonnegative numbers. In one case the worst set of answers has all o with V_o > e^epsilon
W_o, so no other sets are searched. The hockey-stick divergence of a case, V - e^epsilon W of that set, is called its
excess. Lemmas and rounding are in docs/decisions.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.certificate.class_cases import Step, level, one_more, sure_votes
from darrm.certificate.protocol import Facts, WorstCase, coarse, largest
from darrm.certificate.separation import check_arithmetic
from darrm.errors import InputError
from darrm.numerics.arrays import Array, in_decimals
from darrm.numerics.deadline import check_time
from darrm.numerics.exact import decimals, exponentials, rounded_up
from darrm.problem.class_corners import (
    MAX_ENTRIES,
    Bit,
    ClassCase,
    GroupOfCase,
    bits,
    entries,
    kinds_of,
    nearest_that_fits,
)
from darrm.problem.class_tables import class_table, drawn, is_symmetric, sampled
from darrm.problem.decision import DecisionProblem, sizes_of
from darrm.problem.limits import Limit

MAX_EXACT_ENTRIES = 1_000_000  # size of tables in decimals, where products leave the range of float64
MAX_FINE_ENTRIES = 20_000  # size of tables in decimals, where float64 would be rounded too much
_KEPT = 4_000_000  # largest number of entries of tables that are kept for the next epsilon
_AT_ONCE = 128  # largest number of proposed cases
_SAFE = 1e-290  # smaller products could lose digits, or vanish
_U = 2.0**-53
_EXACT = Decimal("1e-50")  # relative error of some thousand operations with 60 digits
_BEYOND = 1e300


def check_size(problem: DecisionProblem) -> None:
    """Refuse a problem whose tables are too large, and a process whose arithmetic certifies nothing.

    The limit for one group is that of symmetric tables, which are smaller.
    """
    check_arithmetic()
    alike = len(problem.groups) == 1
    if entries(problem, alike=alike, pure=True, most=MAX_ENTRIES) > MAX_ENTRIES:
        raise InputError(_too_large(problem, alike=alike))


def _too_large(problem: DecisionProblem, *, alike: bool) -> str:
    groups = sizes_of(problem)
    return (
        f"Groups of {groups} with {problem.n_classes} classes and max_affected = {problem.max_affected} have "
        f"more than {MAX_ENTRIES:,} probabilities to compute; no more can be certified. "
        + nearest_that_fits(problem, alike=alike)
    )


@lru_cache(maxsize=64)
def in_decimals_anyway(limit: Limit[DecisionProblem], *, alike: bool = False) -> bool:
    """Whether float64 is coarse beside the limit, and the tables are small enough for decimals."""
    problem = limit.problem
    of_groups, fails = bits(problem, alike=alike)
    gaps = problem.max_affected * max(sum(abs(float(gap)) for gap in bit.gaps) for bit in of_groups)
    outcomes = max(len(bit.p) for bit in of_groups)
    if not coarse(limit, _rounding_of_differences(gaps, outcomes, problem.max_affected, drawn(problem.n_answers))):
        return False
    return entries(problem, alike=alike, pure=bool(fails), most=MAX_FINE_ENTRIES) <= MAX_FINE_ENTRIES


def _rounding_of_differences(gaps: float, outcomes: int, reached: int, apart: float) -> float:
    """A bound for V - W of that many affected voters, whose |p_j - q_j| sum to ``gaps`` at most."""
    return 1.1 * gaps * ((4 * outcomes + 4) * (reached + 1) * _U + apart) + (1e-300 if reached else 0.0)


class _Tables(NamedTuple):
    """V, W and V - W; axes (states of earlier groups, multisets, votes, states of later groups and answers).

    Where classes are alike, votes and answers are one axis.
    """

    p_side: NDArray[Any]
    q_side: NDArray[Any]
    difference: NDArray[Any]


class _Pair(NamedTuple):
    """W and V - W, which are enough for an excess without its rounding."""

    q_side: NDArray[Any]
    difference: NDArray[Any]


_Sides = TypeVar("_Sides", _Tables, _Pair)


class _Part(NamedTuple):
    """A group in a block of states: the number of its affected voters, and of the classes that their kinds name."""

    reached: int
    touched: int


@dataclass(frozen=True, eq=False)
class _Leaf(Generic[_Sides]):
    """States with given numbers of affected voters in each group; tables of shape (states of each group, answers)."""

    parts: tuple[_Part, ...]
    tables: _Sides


class ClassSeparation:
    """Separation over every case of a decision with several answers: a `Separation`.

    Parameters
    ----------
    release : array_like, full or symmetric
        X_o(n); see `darrm.problem.class_tables.class_table`.
    limit : Limit of a DecisionProblem
    start : ndarray of Decimal or float64, full, optional
        The probabilities of all answers in the place of ``release``, of relative error 1e-50, or 2 u in float64.
    exact : bool
        Whether to compute in decimals.

    Notes
    -----
    With u = 2^-53, r outcomes of a private bit, O answers and N affected voters, an entry of V or W has relative error
    at most (r + 2) N u + d, d = O (3 O + 2) u from the sampled probability of a stored entry: each step has r products,
    with weights that are the float64 nearest to exact ones, and r - 1 sums. V - W has its own recurrence,

        V - W  <-  sum over j of  p_j (V - W)(z + e_(k_j)) + (p_j - q_j) W(z + e_(k_j)),

    with absolute error at most ((4 r + 4)(N + 1) u + d) s, s = sum over affected voters and j of |p_j - q_j|. Of the
    two bounds on an excess, V - e^epsilon W and (V - W) - (e^epsilon - 1) W, each with its errors, the smaller is taken
    for each answer; sums over answers are raised by 4 O u. If a product could be below 1e-290, decimals of 60 digits
    replace float64, and start with the sampled probabilities. Lemmas D6 to D9 of docs/decisions.md.
    """

    def __init__(
        self,
        release: ArrayLike | None,
        limit: Limit[DecisionProblem],
        start: NDArray[Any] | None = None,
        *,
        exact: bool = False,
    ) -> None:
        problem = self._problem = limit.problem
        self._limit, self._given = limit, start is not None
        check_arithmetic()
        self._start = class_table(release, problem) if start is None else start  # type: ignore[arg-type]  # one is given
        self._table: Array = self._start.astype(np.float64)
        # Relative error of a stored entry, beside the probability that is sampled.
        self._apart = drawn(problem.n_answers) if start is None else 4 * _U
        self._alike = is_symmetric(self._table, problem)
        if entries(problem, alike=self._alike, pure=True, most=MAX_ENTRIES) > MAX_ENTRIES:
            raise InputError(_too_large(problem, alike=self._alike))
        self._bits, self._fails = bits(problem, alike=self._alike)
        self._beyond = self._leaves_float64()
        count = entries(problem, alike=self._alike, pure=bool(self._fails))
        if self._beyond and count > MAX_EXACT_ENTRIES:
            raise InputError(
                f"This release has probabilities, or voters an epsilon, so far out that products leave the range of "
                f"float64; at most {MAX_EXACT_ENTRIES:,} probabilities are certified then. Got {count:,}. Lower "
                "max_affected, the number of voters or their epsilon."
            )
        self._exact = self._beyond or exact
        self._keep = count <= (_KEPT if not self._exact else MAX_EXACT_ENTRIES)
        self._last: tuple[Decimal, tuple[WorstCase, ...]] | None = None

    def worst_cases(self, epsilon: Decimal) -> tuple[WorstCase, ...]:
        """The worst case of each block of states, over all sets of answers."""
        last = self._last  # local to this call: another thread may call meanwhile
        if last is None or last[0] != epsilon:
            bounds = self._bounds(epsilon)
            with decimals(epsilon):  # sums over answers may be decimals
                last = self._last = epsilon, tuple(self._worst(leaf, bounds) for leaf in self._leaves())
        return last[1]

    def worst(self, *epsilons: Decimal) -> list[WorstCase]:
        return [largest(self.worst_cases(epsilon)) for epsilon in epsilons]

    def glimpse(self, epsilon: Decimal) -> WorstCase:
        """The worst of all cases, up to rounding of the others."""
        if self._exact:
            return largest(self.worst_cases(epsilon))
        kappa = self._kappa(epsilon)
        leaf = max(self._pairs(), key=lambda leaf: float(_above(leaf.tables, kappa).max()))
        W, D = leaf.tables
        return self._worst(_Leaf(leaf.parts, _Tables(W + D, W, D)), self._bounds(epsilon))

    def broken(
        self, epsilon: Decimal, threshold: float, effort: int, near: Collection[ClassCase] = ()
    ) -> Sequence[WorstCase]:
        """Cases above ``threshold``, spread over all blocks of states; none for effort 1, because no case is kept.

        At delta = 0 every single answer is a case, because no set of answers is worse. A found case has its excess
        only, and no sides, except where products leave the range of float64.
        """
        if effort == 1:
            return []
        if self._beyond:
            return [worst for worst in self.worst_cases(epsilon) if worst.bound - worst.rounding > threshold]
        kappa, found = self._kappa(epsilon), []
        if self._fails:
            with decimals(Decimal(1)):
                threshold = float((Decimal(threshold) - self._fails) / (1 - self._fails))
        alone = Decimal(self._limit.delta) <= self._fails
        each = max(1, _AT_ONCE // sum(len(part) for part in self._level_sizes))
        for leaf in self._pairs():
            excess = (leaf.tables.difference - kappa * leaf.tables.q_side).reshape(-1, self._problem.n_answers)
            flat = _columns(np.maximum, excess) if alone else _columns(np.add, np.maximum(excess, 0))
            length = -(-flat.size // each)
            for start in range(0, flat.size, length):
                at = start + int(flat[start : start + length].argmax())
                if flat[at] > threshold:
                    above, groups = np.flatnonzero(excess[at] > 0).tolist(), self._groups_of(leaf, at)
                    for answers in [(o,) for o in above] if alone else [tuple(above)]:
                        bound = self._with_failures(excess[at, list(answers)].sum())
                        found.append(WorstCase(bound, 0.0, ClassCase(answers, groups), math.nan, math.nan, math.nan))
        return found

    def coarse(self, epsilon: Decimal, delta: float) -> bool:
        """Whether float64 is coarse beside this limit, and the tables are small."""
        return in_decimals_anyway(Limit(self._problem, epsilon, delta), alike=self._alike)

    def facts(self) -> Facts:
        """The number of answers, and the least probability of one."""
        least = max(Fraction(0), Fraction(float(self._table.min())) - Fraction(self._apart))
        return Facts(answers=self._problem.n_answers, least=least)

    def rows(self, together: tuple[int, ...] | None = None) -> Iterator[tuple[Array, Array]]:
        """E X_o and E' X_o of every case, shape (cases, answers) each, block by block.

        With ``together``: of the cases with at most these numbers of affected voters in each group.

        Each has the relative error `relative_error` at most. Refused where float64 cannot hold them, or where voters
        with a delta are too many to list the cases of their delta events.
        """
        if self._beyond or self._fails:
            raise InputError(
                "The probabilities of all cases are listed only where float64 holds them and voters with a delta are "
                "few enough. Raise the least probability of the release, or take fewer "
                "voters, classes or, if that is true of the data, a lower max_affected."
            )
        for leaf in self._leaves():
            if together is not None and any(part.reached > n for part, n in zip(leaf.parts, together, strict=True)):
                continue
            check_time()
            yield self._floats(leaf)

    def largest(
        self, score: Callable[[Array, Array], Array], above: float, most: int
    ) -> list[tuple[ClassCase, Array, Array]]:
        """Up to ``most`` cases whose ``score(P, Q)`` exceeds a number: the worst of each block, with their P and Q.

        P and Q are the probabilities of all answers, as `rows` lists them; ``score`` maps rows of them to numbers. The
        cases name no answers.
        """
        found = []
        leaves = list(self._leaves())
        each = max(1, most // len(leaves))
        for leaf in leaves:
            check_time()
            P, Q = self._floats(leaf)
            scores = score(P, Q)
            worst = np.argsort(-scores)[:each]
            above_it = worst[scores[worst] > above].tolist()
            found += [(ClassCase((), self._groups_of(leaf, at)), P[at], Q[at]) for at in above_it]
        return found

    def _floats(self, leaf: _Leaf[_Tables]) -> tuple[Array, Array]:
        """P and Q of all cases, shape (cases, answers)."""
        P, Q = (side.reshape(-1, self._problem.n_answers).astype(np.float64) for side in leaf.tables[:2])
        return P, Q

    @property
    def relative_error(self) -> float:
        """The relative error of every entry that `rows` returns."""
        return self._relative(self._problem.max_affected)

    def _relative(self, reached: int) -> float:
        """The relative error of entries with that many affected voters."""
        return _relative(self._outcomes, reached, self._apart)

    @property
    def _outcomes(self) -> int:
        return max(len(bit.p) for bit in self._bits)

    @staticmethod
    def _kappa(epsilon: Decimal) -> float:
        return min(exponentials(epsilon)[1], _BEYOND)

    def _bounds(self, epsilon: Decimal) -> _Bounds:
        return _Bounds(epsilon, self._outcomes, self._apart, exact=self._exact)

    def _worst(self, leaf: _Leaf[_Tables], bounds: _Bounds) -> WorstCase:
        excess = bounds.of(leaf.tables, self._gaps(leaf.parts), sum(part.reached for part in leaf.parts))
        own = excess.reshape(-1, excess.shape[-1])
        at = int(np.argmax(_columns(np.add, np.maximum(own, 0))))
        above = np.flatnonzero(own[at] > 0)
        if above.size:
            return self._case(leaf, at, tuple(above.tolist()), own[at])
        at, answer = divmod(int(np.argmax(own)), own.shape[-1])
        return self._case(leaf, at, (answer,), own[at])

    def _case(self, leaf: _Leaf[_Tables], at: int, answers: tuple[int, ...], excess: NDArray[Any]) -> WorstCase:
        """The case at one state and set of answers; ``excess`` holds bounds for single answers."""
        sides = [side.reshape(-1, excess.size)[at][list(answers)].sum() for side in leaf.tables]
        p_side, q_side, difference = map(float, sides)
        reached = sum(part.reached for part in leaf.parts)
        if p_side < self._gaps(
            leaf.parts
        ):  # then the sides have smaller rounding errors than V - W by its own recurrence
            difference = float(sides[0] - sides[1])
        bound = excess[list(answers)].sum()
        if not self._exact and bound > 0:  # the worst case is that of sums over answers, which were rounded
            bound = bound * (1 + 4 * excess.size * _U)
        rounding = 0.0 if self._exact else 4 * self._relative(reached) * p_side
        case = ClassCase(answers, self._groups_of(leaf, at))
        share = len(answers) / excess.size
        return WorstCase(min(self._with_failures(bound), 1.0), rounding, case, p_side, q_side, difference, share)

    def _groups_of(self, leaf: _Leaf[Any], at: int) -> tuple[GroupOfCase, ...]:
        problem, found = self._problem, []
        where = np.unravel_index(at, leaf.tables.difference.shape[:-1])
        if self._alike:
            where = (where[0] * leaf.tables.difference.shape[1] + where[1],)
        for group, bit, part, index in zip(problem.groups, self._bits, leaf.parts, where, strict=True):
            sure = sure_votes(group.count - part.reached, problem.n_classes, part.touched)
            which, votes = divmod(int(index), len(sure))
            block = level(problem.n_classes, len(bit.p), part.reached, alike=self._alike)[part.touched]
            kinds, counts = np.unique(block.kinds[which], return_counts=True)
            every = kinds_of(problem.n_classes, len(bit.p))
            at_kinds = tuple((every[kind], count) for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True))
            found.append(GroupOfCase(at_kinds, tuple(sure[votes].tolist())))
        return tuple(found)

    def _with_failures(self, bound: Any) -> float:
        """The excess with the delta events of voters included, from that of their kinds, rounded up."""
        if not self._fails:
            return rounded_up(bound) if isinstance(bound, Decimal) else float(bound)
        with decimals(Decimal(1)):
            return rounded_up(self._fails + (1 - self._fails) * Decimal(bound) + _EXACT)

    def _gaps(self, parts: tuple[_Part, ...]) -> float:
        """Upper bound on the sum of |p_j - q_j| over all affected voters."""
        gaps = [sum(abs(float(gap)) for gap in bit.gaps) for bit in self._bits]
        return sum(part.reached * gap for part, gap in zip(parts, gaps, strict=True)) * (1 + 1e-12)

    def _leaves_float64(self) -> bool:
        """Whether a product of a positive entry and weights of all affected voters could be below 1e-290."""
        if (self._start[self._table == 0] != 0).any():  # rounded to 0
            return True
        least = float(self._table[self._table > 0].min())
        logs = []
        for group, bit in zip(self._problem.groups, self._bits, strict=True):
            with decimals(Decimal(1)):
                farthest = float(min(w for w in (*bit.p, *bit.q) if w).ln())
            logs += [farthest] * min(group.max_affected, self._problem.max_affected)
        return math.log(least) + sum(sorted(logs)[: self._problem.max_affected]) < math.log(_SAFE)

    @cached_property
    def _level_sizes(self) -> list[dict[int, Any]]:
        first = self._problem.groups[0]
        most = min(first.max_affected, self._problem.max_affected)
        outcomes = len(self._bits[0].p)
        return [level(self._problem.n_classes, outcomes, n, alike=self._alike) for n in range(most + 1)]

    def _leaves(self) -> Iterable[_Leaf[_Tables]]:
        return self._kept_leaves if self._keep else self._fresh_leaves()

    @cached_property
    def _kept_leaves(self) -> list[_Leaf[_Tables]]:
        with decimals(Decimal(1)):
            return list(self._fresh_leaves())

    def _fresh_leaves(self) -> Iterator[_Leaf[_Tables]]:
        X: NDArray[Any] = self._table
        if self._exact:
            X = self._in_decimals()
        return self._reached(_Tables(X, X, X - X), (), (), self._problem.max_affected)

    def _in_decimals(self) -> NDArray[Any]:
        """The probabilities with which answers are sampled."""
        if self._start.dtype == np.object_:
            return self._start
        return in_decimals(self._table) if self._given else sampled(self._table, self._problem)

    def _pairs(self) -> Iterable[_Leaf[_Pair]]:
        return self._kept_pairs if self._keep else self._fresh_pairs()

    @cached_property
    def _kept_pairs(self) -> list[_Leaf[_Pair]]:
        return list(self._fresh_pairs())

    def _fresh_pairs(self) -> Iterator[_Leaf[_Pair]]:
        return self._reached(_Pair(self._table, 0 * self._table), (), (), self._problem.max_affected)

    def _reached(
        self, tables: _Sides, parts: tuple[_Part, ...], states: tuple[int, ...], left: int
    ) -> Iterator[_Leaf[_Sides]]:
        """The blocks with the given numbers of affected voters in the first groups."""
        problem, g = self._problem, len(parts)
        if g == len(problem.groups):
            yield _Leaf(parts, _reshaped(tables, *states, problem.n_answers))
            return
        group, bit = problem.groups[g], self._bits[g]
        later = math.prod(problem.table_shape[g + 1 :]) * problem.n_answers
        start = _reshaped(tables, math.prod(states), 1, -1, 1 if self._alike else later)
        blocks: dict[int, _Sides] = {0 if self._alike else problem.n_classes: start}
        for n in range(min(group.max_affected, left) + 1):
            check_time()
            if n:
                blocks = self._one_more(blocks, bit, group.count - n, n)
            for touched, block in blocks.items():
                sets, votes = block.difference.shape[1:3]
                sizes: tuple[int, ...] = (sets, votes // problem.n_answers) if self._alike else (sets * votes,)
                yield from self._reached(block, (*parts, _Part(n, touched)), (*states, *sizes), left - n)

    def _one_more(self, blocks: dict[int, _Sides], bit: Bit, sure: int, n: int) -> dict[int, _Sides]:
        """The tables with one more affected voter, n in all, and ``sure`` voters that are not affected."""
        problem = self._problem
        made: dict[int, _Sides] = {}
        exact = next(iter(blocks.values())).difference.dtype == np.object_
        weights = bit.as_decimals() if exact else bit.as_floats()
        for touched, block in level(problem.n_classes, len(bit.p), n, alike=self._alike).items():
            parts = []
            for step in block.steps:
                takes = [
                    one_more(
                        sure, problem.n_classes, touched, voted, step.touched, problem.n_answers, alike=self._alike
                    )
                    for voted in step.kind
                ]
                parts.append(_taken(blocks[step.touched], step, takes, weights))
            kind = type(parts[0])
            made[touched] = kind(*(np.concatenate(sides, axis=1) for sides in zip(*parts, strict=True)))
        return made


def _reshaped(tables: _Sides, *shape: int) -> _Sides:
    return type(tables)(*(side.reshape(shape) for side in tables))


def _above(tables: _Pair, kappa: float) -> Array:
    """The largest excess of each case over all sets of answers."""
    excess = tables.difference - kappa * tables.q_side
    return _columns(np.add, np.maximum(excess, 0, out=excess))


def _columns(combined: np.ufunc, values: Array) -> Array:
    """``combined.reduce`` over the last axis, column by column, which is faster as the axis is short."""
    found = values[..., 0].copy()
    for o in range(1, values.shape[-1]):
        combined(found, values[..., o], out=found)
    return found


def _taken(tables: _Sides, step: Step, takes: Sequence[NDArray[np.intp]], weights: tuple[Sequence[Any], ...]) -> _Sides:
    """The tables of all multisets of one step."""
    parents, total = [side.take(step.parents, axis=1) for side in tables], None
    for take, p, q, gap in zip(takes, *weights, strict=True):
        check_time()  # a step has up to millions of cases
        sides = [side.take(take, axis=2) for side in parents]
        W, D = sides[-2:]
        D *= p
        D += gap * W
        W *= q
        if len(sides) > 2:
            sides[0] *= p
        if total is None:
            total = sides
        else:
            for side, more in zip(total, sides, strict=True):
                side += more
    return type(tables)(*(total or parents))


@lru_cache(maxsize=256)
def _relative(outcomes: int, reached: int, apart: float) -> float:
    return 1.01 * (_U * (outcomes + 2) * reached + apart)


class _Bounds:
    """Upper bounds on V_o - e^epsilon W_o, rounding included."""

    def __init__(self, epsilon: Decimal, outcomes: int, apart: float, *, exact: bool) -> None:
        with decimals(epsilon):
            self._grow = epsilon.exp()
            self._kappa = self._grow - 1
        self._outcomes, self._apart, self._exact = outcomes, apart, exact

    def of(self, tables: _Tables, gaps: float, reached: int) -> NDArray[Any]:
        """Bounds for tables with that many affected voters, whose |p_j - q_j| sum to ``gaps`` at most; all answers."""
        V, W, D = tables
        if self._exact:
            with decimals(Decimal(1)):
                return np.asarray(V * (1 + _EXACT) - W * (self._grow * (1 - _EXACT)))
        relative = _relative(self._outcomes, reached, self._apart) + 8 * _U
        bounds = V * (1 + relative) - W * (min(float(self._grow), _BEYOND) * (1 - relative))
        if self._kappa < 1000:
            kappa = float(self._kappa) * (1 - relative)
            absolute = _rounding_of_differences(gaps, self._outcomes, reached, self._apart)
            np.minimum(bounds, D - W * kappa + absolute, out=bounds)
        return np.asarray(bounds)

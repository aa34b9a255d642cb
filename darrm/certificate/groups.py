"""Separation for groups of voters: the worst case of one decision over every multiset of corners of every group.

A release answers 1 with probability X(n) for the numbers n = (n_1, ..., n_G) of ones. The affected voters of a group
sit at corners (p, p'), the others vote 0 or 1 with certainty. The tables

    V(A, z) = E X,  W(A, z) = E' X      A: affected voters at each corner, z: other voters for 1, by group

start at V = W = X. One more voter of a group at the corner (p, p') takes the group's axis through

    V <- (1 - p) V(z) + p V(z + 1),     W <- (1 - p') W(z) + p' W(z + 1),

which are sums of products of nonnegative numbers. The hockey-stick divergence of a case, V - e^epsilon W, is called its
excess. Lemmas and rounding are in docs/decisions.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.certificate.group_search import Found, GroupSearch, prefixes, searchable
from darrm.certificate.protocol import Facts, WorstCase, coarse, largest
from darrm.certificate.separation import check_arithmetic
from darrm.errors import InputError
from darrm.numerics.arrays import Array, in_decimals
from darrm.numerics.bisection import largest_that
from darrm.numerics.deadline import check_time
from darrm.numerics.exact import decimals, exponential, exponentials, rounded_up
from darrm.problem.corners import NAMES, STILL, CornerCounts, MovingCorner
from darrm.problem.decision import DecisionProblem, sizes_of
from darrm.problem.encodings import binary_table
from darrm.problem.group_corners import MAX_ENTRIES, GroupCase, entries, group_corners
from darrm.problem.groups import VoterGroup
from darrm.problem.limits import Limit

MAX_EXACT_ENTRIES = 1_000_000  # size of tables in decimals, where products leave the range of float64
MAX_FINE_ENTRIES = 20_000  # size of tables in decimals, where float64 would be rounded too much
_KEPT = 2_000_000  # largest number of entries of tables that are kept for the next epsilon
_AT_ONCE = 100  # largest number of proposed cases
_ENTRIES_AT_ONCE = 2**16  # largest number of excesses, of several epsilons, in memory at once
_LIKELY = 4  # number of states that are computed with rounding
_SAFE = 1e-290  # smaller products could lose digits, or vanish
_U = 2.0**-53
_EXACT = Decimal("1e-50")  # relative error of some thousand operations with 60 digits
_BEYOND = 1e300
_BELOW = 1 - Fraction(1, 2**50)  # times a least probability with rounding: below it without


class _Tables(NamedTuple):
    """V and W for both answers, and V - W for answer 1; axes (answer, states of earlier groups, this group, later)."""

    p_side: NDArray[Any]
    q_side: NDArray[Any]
    difference: NDArray[Any]

    def reshaped(self, *shape: int) -> _Tables:
        return _Tables(self.p_side.reshape(2, *shape), self.q_side.reshape(2, *shape), self.difference.reshape(shape))


class _Block(NamedTuple):
    """The states with given numbers of affected voters; tables of shape (answers, states of each group)."""

    reached: tuple[int, ...]
    tables: _Tables


def check_size(problem: DecisionProblem) -> None:
    """Refuse a problem whose tables are too large, and a process whose arithmetic certifies nothing."""
    check_arithmetic()
    if _counted(problem, problem.max_affected) <= MAX_ENTRIES:
        return
    fits = largest_that(problem.max_affected - 1, lambda t: _counted(problem, t) <= MAX_ENTRIES)
    groups = sizes_of(problem)
    raise InputError(
        f"Groups of {groups} with max_affected = {problem.max_affected} have more than {MAX_ENTRIES:,} multisets of "
        "corners; no more can be certified. "
        + (f"max_affected = {fits} would fit" if fits else "No max_affected would fit")
        + "; fewer groups or voters need less."
    )


def _counted(problem: DecisionProblem, reached: int) -> int:
    """`entries` for (epsilon, 0)-DP voters with that many affected; counting stops above `MAX_ENTRIES`."""
    smaller = DecisionProblem(problem.groups, 1.0, 0.0, max_affected=reached)
    return entries(smaller, pure=True, most=MAX_ENTRIES)


@lru_cache(maxsize=64)
def in_decimals_anyway(limit: Limit[DecisionProblem]) -> bool:
    """Whether float64 is coarse beside the limit, and the tables are small enough for decimals."""
    corners, fails = group_corners(limit.problem)
    affected = limit.problem.max_affected
    gaps = affected * max(abs(float(corner.gap)) for own in corners for corner in own)
    if not coarse(limit, _rounding_of_differences(gaps, affected)):
        return False
    return entries(limit.problem, pure=bool(fails), most=MAX_FINE_ENTRIES) <= MAX_FINE_ENTRIES


def _rounding_of_differences(gaps: float, reached: int) -> float:
    """A bound for V - W of that many affected voters, whose |p - p'| sum to ``gaps`` at most."""
    return 1.1 * _U * gaps * (10 * reached + 20) + (1e-300 if reached else 0.0)


class GroupSeparation:
    """Separation over every multiset of corners for one decision: a `Separation`.

    Parameters
    ----------
    release : array_like, shape of the problem
        X(n), the probability of answer 1.
    limit : Limit of a DecisionProblem
    start : ndarray of Decimal or float64, shape (2, *shape of the problem), optional
        The probabilities of both answers in the place of ``release``, of relative error 1e-50, or 2 u in float64.
    exact : bool
        Whether to compute in decimals.

    Notes
    -----
    With u = 2^-53 and N affected voters, an entry of V or W has relative error at most (3 N + 1) u: each step has two
    products, with weights that are the float64 nearest to exact ones, and a sum. V - W has its own recurrence,

        V - W  <-  (1 - p) (V - W)(z) + p (V - W)(z + 1) + (p - p') (W(z + 1) - W(z)),

    with absolute error at most 10 (N + 1) s u, s = sum of the |p - p'| of all affected voters. Of the two bounds on an
    excess, V - e^epsilon W and (V - W) - (e^epsilon - 1) W, each with its errors, the smaller is taken. If a product
    could be below 1e-290, decimals of 60 digits replace float64.
    """

    def __init__(
        self,
        release: ArrayLike | None,
        limit: Limit[DecisionProblem],
        start: NDArray[Any] | None = None,
        *,
        exact: bool = False,
    ) -> None:
        check_size(limit.problem)
        self._problem = limit.problem
        if start is None:
            X = binary_table(release, limit.problem)  # type: ignore[arg-type]  # one of the two is given
            self._answers, self._least = (
                np.stack([1 - X, X]),
                min(Fraction(float(X.min())), 1 - Fraction(float(X.max()))),
            )
            self._in_decimals = partial(_both_in_decimals, X)
        else:
            self._answers = start.astype(np.float64)
            self._least = Fraction(start.min()) * _BELOW
            self._in_decimals = partial(_in_decimals, start)
        self._corners, self._fails = group_corners(limit.problem)
        self._beyond = self._leaves_float64()
        count = entries(limit.problem, pure=bool(self._fails), most=MAX_ENTRIES)
        if self._beyond and count > MAX_EXACT_ENTRIES:
            raise InputError(
                f"This release has probabilities, or voters an epsilon, so far out that products leave the range of "
                f"float64; at most {MAX_EXACT_ENTRIES:,} multisets of corners are certified then. Got {count:,}. Lower "
                "max_affected, the number of voters or their epsilon."
            )
        self._exact = self._beyond or exact
        self._keep = count <= (_KEPT if not self._exact else MAX_EXACT_ENTRIES)
        self._kept: list[_Block] | None = None
        self._last: tuple[Decimal, tuple[WorstCase, ...]] | None = None

    def worst_cases(self, epsilon: Decimal) -> tuple[WorstCase, ...]:
        """The worst case of each block of states, for both answers together."""
        last = self._last  # local to this call: another thread may call meanwhile
        if last is None or last[0] != epsilon:
            last = self._last = (
                epsilon,
                tuple(self._case(*self._worst(block, [epsilon])[0]) for block in self._blocks()),
            )
        return last[1]

    def worst(self, *epsilons: Decimal) -> list[WorstCase]:
        """The worst of `worst_cases` at each epsilon; the cases of the other blocks are not spelled out."""
        worst: list[tuple[_Block, int, int, Any]] = []
        blocks = self._blocks()
        still = next(blocks)
        for block in chain(blocks, [still]):
            if block is still and worst and all(bound > 0 for *_, bound in worst):
                break  # without an affected voter V = W, so no excess is above 0
            found = self._worst(block, epsilons)
            # Of tables that are not kept, the worst blocks alone stay in memory.
            pairs = zip(worst or found, found, strict=True)
            worst = [max(pair, key=lambda one: self._with_failures(one[-1])) for pair in pairs]
        return [self._case(*found) for found in worst]

    def glimpse(self, epsilon: Decimal) -> WorstCase:
        """The worst of the cases that `GroupSearch` finds; of all cases in decimals, and where it does not apply."""
        if self._exact or not self._searches:
            return self.worst(epsilon)[0]
        bounds, kappa = _bounds((epsilon,), self._exact), _kappa(epsilon)
        found = [(worst, answer) for answer, search in self._searches.items() for worst in search.worst(kappa)]
        few = sorted(found, key=lambda one: -one[0].excess)[:_LIKELY]
        return largest(self._attained(worst, answer, bounds) for worst, answer in few)

    def broken(
        self, epsilon: Decimal, threshold: float, effort: int, near: Collection[GroupCase] = ()
    ) -> Sequence[WorstCase]:
        """Cases above ``threshold``, spread over all blocks of states; none for effort 1, because no case is kept.

        A case that `GroupSearch` finds has its excess only, and no sides.
        """
        if effort == 1:
            return []
        if not self._searches:
            return [worst for worst in self.worst_cases(epsilon) if worst.bound - worst.rounding > threshold]
        kappa = _kappa(epsilon)
        return [
            WorstCase(
                worst.excess, 0.0, self._place(answer, worst.reached, search.at(worst)), math.nan, math.nan, math.nan
            )
            for answer, search in self._searches.items()
            for worst in search.worst(kappa, _AT_ONCE, threshold)
        ]

    def largest(
        self, score: Callable[[Array, Array], Array], above: float, most: int
    ) -> list[tuple[GroupCase, Array, Array]]:
        """About ``most`` cases whose ``score(P, Q)`` exceeds a number: the worst of each block, with their P and Q.

        P and Q are the probabilities of both answers; ``score`` maps rows of them to numbers.
        """
        found, each = [], max(1, most // (self._problem.max_affected + 1))
        for block in self._blocks():
            P, Q = (side.reshape(2, -1).T.astype(np.float64) for side in block.tables[:2])
            scores = score(P, Q)
            worst = np.argsort(-scores)[:each]
            found += [(self._case_at(block, 1, int(at)), P[at], Q[at]) for at in worst[scores[worst] > above]]
        return found

    def coarse(self, epsilon: Decimal, delta: float) -> bool:
        """Whether float64 is coarse beside this limit, and the tables are small."""
        return in_decimals_anyway(Limit(self._problem, epsilon, delta))

    def facts(self) -> Facts:
        """The number of answers, two, and the least probability of one."""
        return Facts(answers=2, least=self._least)

    @cached_property
    def _searches(self) -> dict[int, GroupSearch]:
        """A search for each answer; none where float64 or the running time does not allow it."""
        if self._beyond or self._fails or not searchable(self._problem, self._corners):
            return {}
        # Where swapping the answers and all votes changes nothing, a case has a mirror image.
        X0, X1 = self._answers
        mirrored = np.allclose(X1, np.flip(X0), rtol=0, atol=1e-12)
        tables = {1: X1} if mirrored else {0: X0, 1: X1}
        return {answer: GroupSearch(X, self._problem, self._corners) for answer, X in tables.items()}

    def _place(self, answer: int, reached: tuple[int, ...], at: Sequence[tuple[int, int]]) -> GroupCase:
        own = zip(self._problem.groups, self._corners, reached, at, strict=True)
        return GroupCase(answer, tuple(_counts(group, corners, n, *state) for group, corners, n, state in own))

    def _attained(self, found: Found, answer: int, bounds: _Bounds) -> WorstCase:
        search = self._searches[answer]
        V, W, difference = search.sides(found)
        both = np.full((2, 1), V), np.full((2, 1), W), np.full(1, difference if answer else -difference)
        gaps, reached = self._gaps(found.reached), sum(found.reached)
        bound = float(bounds.of(_Tables(*both), gaps, reached)[0, answer, 0])
        return WorstCase(
            min(bound, 1.0),
            self._rounding(found.reached, V),
            self._place(answer, found.reached, search.at(found)),
            V,
            W,
            V - W if gaps > V else difference,
        )

    def _rounding(self, reached: tuple[int, ...], p_side: float) -> float:
        return 0.0 if self._exact else 8 * _U * (3 * sum(reached) + 10) * p_side

    def _worst(self, block: _Block, epsilons: Sequence[Decimal]) -> list[tuple[_Block, int, int, Any]]:
        """The block, and the answer, state and bound of its largest excess, at each epsilon."""
        size, found = block.tables.difference.size, []
        once = max(1, _ENTRIES_AT_ONCE // size)
        for first in range(0, len(epsilons), once):
            bounds = _bounds(tuple(epsilons[first : first + once]), self._exact)
            excess = bounds.of(block.tables, self._gaps(block.reached), sum(block.reached))
            for own in excess.reshape(len(excess), -1):
                at = int(own.argmax())
                found.append((block, *divmod(at, size), own[at]))
        return found

    def _case(self, block: _Block, answer: int, at: int, bound: Any) -> WorstCase:
        tables = block.tables
        p_side, q_side = tables.p_side[answer].flat[at], tables.q_side[answer].flat[at]
        difference = (1 if answer else -1) * float(tables.difference.flat[at])
        gaps = self._gaps(block.reached)
        if p_side < gaps:  # then the sides have smaller rounding errors than V - W by its own recurrence
            difference = float(p_side - q_side)
        return WorstCase(
            min(self._with_failures(bound), 1.0),
            self._rounding(block.reached, float(p_side)),
            self._case_at(block, answer, at),
            float(p_side),
            float(q_side),
            difference,
        )

    def _case_at(self, block: _Block, answer: int, at: int) -> GroupCase:
        shape = block.tables.difference.shape
        where = zip(np.unravel_index(at, shape), self._problem.groups, block.reached, strict=True)
        states = [divmod(int(index), group.count - reached + 1) for index, group, reached in where]
        return self._place(answer, block.reached, [(ones, which) for which, ones in states])

    def _with_failures(self, bound: Any) -> float:
        """The excess with the delta events of voters included, from that of their corners, rounded up."""
        if not self._fails:
            return rounded_up(bound) if self._exact else float(bound)
        with decimals(Decimal(1)):
            return rounded_up(self._fails + (1 - self._fails) * Decimal(bound) + _EXACT)

    def _gaps(self, reached: tuple[int, ...]) -> float:
        """Upper bound on the sum of |p - p'| over all affected voters."""
        return sum(n * gap for n, gap in zip(reached, self._largest_gaps, strict=True)) * (1 + 1e-12)

    @cached_property
    def _largest_gaps(self) -> tuple[float, ...]:
        return tuple(max(abs(float(corner.gap)) for corner in corners) for corners in self._corners)

    def _leaves_float64(self) -> bool:
        """Whether a product of a positive entry and weights of all affected voters could be below 1e-290."""
        if self._least and not float(self._least):  # rounded to 0
            return True
        least = float(self._answers[self._answers > 0].min(initial=1.0))
        logs = []
        for group, corners in zip(self._problem.groups, self._corners, strict=True):
            weights = [w for corner in corners for w in (corner.p, corner.not_p, corner.q, corner.not_q) if w]
            with decimals(Decimal(1)):
                logs += [float(min(weights).ln())] * min(group.max_affected, self._problem.max_affected)
        farthest = sum(sorted(logs)[: self._problem.max_affected])
        return math.log(least) + farthest < math.log(_SAFE)

    def _blocks(self) -> Iterator[_Block]:
        if not self._keep:
            return self._fresh_blocks()
        if self._kept is None:
            with decimals(Decimal(1)):
                self._kept = list(self._fresh_blocks())
        return iter(self._kept)

    def _fresh_blocks(self) -> Iterator[_Block]:
        both = self._in_decimals() if self._exact else self._answers
        return self._reached(_Tables(both, both, both[1] - both[1]), (), (), self._problem.max_affected)

    def _reached(
        self, tables: _Tables, reached: tuple[int, ...], states: tuple[int, ...], left: int
    ) -> Iterator[_Block]:
        """The blocks with the given numbers of affected voters in the first groups."""
        g = len(reached)
        if g == len(self._problem.groups):
            yield _Block(reached, tables.reshaped(*states))
            return
        group = self._problem.groups[g]
        later = math.prod(self._problem.table_shape[g + 1 :])
        level = tables.reshaped(math.prod(states), 1, group.count + 1, later)
        steps = [_Step(corner, exact=self._exact) for corner in self._corners[g]]
        for n in range(min(group.max_affected, left) + 1):
            check_time()
            if n:
                level = _one_more(level, steps, prefixes(len(steps), n))
            sets, sure = level.difference.shape[1:3]
            yield from self._reached(level, (*reached, n), (*states, sets * sure), left - n)


def _both_in_decimals(X: Array) -> NDArray[Any]:
    """Both answers of a table in decimals of the caller's context."""
    exact = in_decimals(X)
    return np.stack([1 - exact, exact])


def _in_decimals(values: NDArray[Any]) -> NDArray[Any]:
    return values if values.dtype == np.object_ else in_decimals(values)


class _Step:
    """The step to one more voter at a corner: its weights, and the tables after it."""

    def __init__(self, corner: MovingCorner, *, exact: bool) -> None:
        kind: Any = Decimal if exact else float
        self.p, self.not_p, self.q, self.not_q = map(kind, corner[1:])
        self.gap = kind(corner.gap)

    def taken(self, tables: _Tables) -> _Tables:
        V, W, D = tables
        V0, V1, W0, W1 = V[..., :-1, :], V[..., 1:, :], W[..., :-1, :], W[..., 1:, :]
        return _Tables(
            self.not_p * V0 + self.p * V1,
            self.not_q * W0 + self.q * W1,
            self.not_p * D[..., :-1, :] + self.p * D[..., 1:, :] + self.gap * (W1[1] - W0[1]),
        )


def _one_more(level: _Tables, steps: Sequence[_Step], prefixes: Sequence[int]) -> _Tables:
    """The level with one more affected voter: each corner is added to the multisets that use no later corner."""
    parts = [
        step.taken(_Tables(level.p_side[:, :, :m], level.q_side[:, :, :m], level.difference[:, :m]))
        for step, m in zip(steps, prefixes, strict=True)
    ]
    return _Tables(
        np.concatenate([part.p_side for part in parts], axis=2),
        np.concatenate([part.q_side for part in parts], axis=2),
        np.concatenate([part.difference for part in parts], axis=1),
    )


@lru_cache(maxsize=256)
def _multisets(kinds: int, n: int) -> tuple[tuple[int, ...], ...]:
    """The multisets of n corners in the order of `_one_more`."""
    if n == 0:
        return ((0,) * kinds,)
    smaller = _multisets(kinds, n - 1)
    return tuple(
        (*counts[:kind], counts[kind] + 1, *counts[kind + 1 :])
        for kind, m in enumerate(prefixes(kinds, n))
        for counts in smaller[:m]
    )


def _counts(group: VoterGroup, corners: Sequence[MovingCorner], reached: int, ones: int, which: int) -> CornerCounts:
    """The number of voters of a group at each corner, for one multiset and a number of deterministic votes for 1."""
    moving = _multisets(len(corners), reached)[which]
    still = (group.count - reached - ones, ones)
    return CornerCounts(*still, *moving, *[0] * (len(NAMES) - STILL - len(moving)))


def _kappa(epsilon: Decimal) -> float:
    return min(exponentials(epsilon)[1], _BEYOND)


class _Bounds:
    """Upper bounds on V - e^epsilon W at each of several epsilons, rounding included."""

    def __init__(self, epsilons: Sequence[Decimal], exact: bool) -> None:
        grow, kappas = (
            [exponential(epsilon) for epsilon in epsilons],
            [exponentials(epsilon)[1] for epsilon in epsilons],
        )
        self._exact = exact
        self._grow = _each(grow if exact else [min(float(one), _BEYOND) for one in grow])
        self._few = [at for at, kappa in enumerate(kappas) if kappa < 1000]
        self._kappas = _each([kappas[at] for at in self._few])[..., 0]

    def of(self, tables: _Tables, gaps: float, reached: int) -> NDArray[Any]:
        """Bounds for tables with that many affected voters, whose |p - p'| sum to ``gaps`` at most.

        Axes: epsilon, answer, states.
        """
        V, W, D = (side.reshape(*shape, -1) for side, shape in zip(tables, ((1, 2), (1, 2), (1,)), strict=True))
        if self._exact:
            with decimals(Decimal(1)):
                return np.asarray(V * (1 + _EXACT) - W * (self._grow * (1 - _EXACT)))
        relative = 1.01 * _U * (3 * reached + 12)
        bounds: NDArray[Any] = V * (1 + relative) - W * (self._grow * (1 - relative))
        if self._few:
            kappas, absolute = self._kappas * (1 - relative), _rounding_of_differences(gaps, reached)
            for answer, sign in ((0, -1.0), (1, 1.0)):
                by_difference = sign * D - W[:, answer] * kappas + absolute
                bounds[self._few, answer] = np.minimum(bounds[self._few, answer], by_difference)
        return bounds


@lru_cache(maxsize=8)
def _bounds(epsilons: tuple[Decimal, ...], exact: bool) -> _Bounds:
    """Kept, because all blocks, and the votes of all colluders, are asked at the same epsilons."""
    return _Bounds(epsilons, exact)


def _each(values: Sequence[Any]) -> NDArray[Any]:
    """One value for each epsilon, in the axes of `_Bounds.of`."""
    return np.reshape(values, (-1, 1, 1))

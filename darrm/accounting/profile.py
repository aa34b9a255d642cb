"""The exact privacy profile of one release, and the polygon of its probabilities on two neighbouring data sets.

Upper bounds come from the separation of the complete corner set, rounding included; lower bounds from allowed
multisets, with their probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array
from darrm.certificate.engines import separation
from darrm.certificate.protocol import Separation, WorstCase
from darrm.errors import InputError
from darrm.numerics.arithmetic import usual_arithmetic
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time
from darrm.numerics.exact import decimals, exponential
from darrm.problem import encodings
from darrm.problem.decision import AnyProblem
from darrm.problem.groups import check_problem
from darrm.problem.limits import guarantee, losses

# e^-400: a smaller probability counts as 0, which is counted against the guarantee.
INFINITE = Decimal(400)
_LEAST = Decimal("1e-40")  # least loss, so that e^loss differs from 1 in these digits; smaller ones are raised to it
MAX_POINTS = 10_000  # largest number of points of a profile
_NARROW = Decimal("1e-12")  # directions closer than this add nothing
BEYOND = 14.0  # nats; one in a million
_THIN = 1e-3  # share of the tolerance of a region; lines that cut off less are left out
_CLOSER = 1e-12  # relative error of achieved probabilities; lower bounds are moved by as much


@usual_arithmetic
def privacy_profile(gamma: ArrayLike, problem: AnyProblem, epsilons: ArrayLike) -> Array:
    """Certified upper bounds on the privacy profile: the least delta of one release at each epsilon.

        delta(epsilon) = max(0, max over allowed (p, p') of X(p) - e^epsilon X(p')),     X(p) = Pr[release 1 | p]

    Parameters
    ----------
    gamma : array_like, shape (K + 1,), or ``problem.table_shape`` for a decision
        A noise function, or the ``table`` of a `Design`.
    problem : MajorityProblem or DecisionProblem
        Describes the voters (K, epsilon, Delta, max_affected); its guarantee is not used. Where each group has a limit
        of its own, the profile is the largest over the kinds of change that have one; ``problem.kinds`` has the problem
        of each, and a profile of its own.
    epsilons : array_like of float >= 0, any shape; nats
        ``inf`` returns delta(infinity), evaluated at 400.

    Returns
    -------
    ndarray, the shape of ``epsilons``
        In [0, 1], nonincreasing in epsilon up to the rounding counted at each.

    Raises
    ------
    InputError
        If an epsilon is negative or NaN, gamma is not a noise function for this K, or there are more than 10,000
        epsilons.

    Notes
    -----
    docs/theory.md, "The profile". delta(epsilon) is the hockey-stick divergence of the release. One separation
    (`darrm.verify`) for each epsilon. The profile is that of one release; the cost of several depends on whether the
    voters are fresh or fixed: `darrm.accounting.compose`. For a decision the maximum is over both answers.

    Examples
    --------
    Delta of the majority of three random votes, at epsilons up to the guaranteed 1.5:

    >>> import darrm
    >>> problem = darrm.MajorityProblem(K=5, m=3, epsilon=0.5)
    >>> darrm.privacy_profile(darrm.baselines.subsampling(5, 3), problem, [0.0, 0.5, 1.0, 1.5]).round(4).tolist()
    [0.36, 0.1525, 0.0, 0.0]
    """
    upper = np.array([bounds[1] for bounds in profile_bounds(gamma, problem, epsilons)])
    return upper.reshape(np.shape(epsilons))


def profile_bounds(gamma: ArrayLike, problem: AnyProblem, epsilons: ArrayLike) -> list[tuple[float, float]]:
    """Lower and upper bounds on the profile, one pair for each epsilon; see `privacy_profile`.

    Examples
    --------
    The majority of three random votes, at the epsilon of one:

    >>> import darrm
    >>> problem = darrm.MajorityProblem(K=5, m=3, epsilon=0.5)
    >>> [(lower, upper)] = darrm.accounting.profile_bounds(darrm.baselines.subsampling(5, 3), problem, [0.5])
    >>> lower <= upper, round(upper, 4)
    (True, 0.1525)
    """
    check_problem(problem)
    wanted = array("epsilons", epsilons, None, 0, ends="[]", hint="Pass nats, e.g. [0, 0.1, 1].").ravel()
    if wanted.size > MAX_POINTS:
        raise InputError(
            f"epsilons must be at most {MAX_POINTS:,}: each takes a separation. Got {wanted.size:,}. Take fewer; the "
            "profile is convex in e^epsilon, so that lines between its points are above it."
        )
    kinds = [_bounds(gamma, kind, wanted) for kind in problem.kinds.values()]
    return [(max(low for low, _ in at), max(high for _, high in at)) for at in zip(*kinds, strict=True)]


def _bounds(gamma: ArrayLike, problem: AnyProblem, epsilons: Array) -> list[tuple[float, float]]:
    """`profile_bounds` for one kind of change."""
    search = separation(gamma, guarantee(problem))
    if says_nothing(gamma, problem):
        return [(0.0, 0.0)] * epsilons.size
    answer = []
    for epsilon in epsilons:
        check_time()
        exact = min(Decimal(float(epsilon)), INFINITE) if math.isfinite(epsilon) else INFINITE
        (worst,) = search.worst(exact)
        attained = _attained(worst, exact)
        low = 0.0 if math.isinf(epsilon) else min(max(0.0, attained), 1.0)
        answer.append((low, min(max(0.0, worst.bound), 1.0)))
    return answer


def says_nothing(table: ArrayLike, problem: AnyProblem) -> bool:
    """Whether the release is independent of the votes, or no voter is affected, as by changes in an absent group."""
    if not problem.max_affected:
        return True
    checked = encodings.table(table, problem)
    encoding = encodings.of(problem, checked)
    chances = encoding.probabilities(checked).reshape(-1, problem.n_answers)
    if np.ptp(chances, axis=0).any():
        return False
    first, *others = encoding.exact(checked, problem)
    # For classes treated alike, a row reveals the class with most votes unless all probabilities are equal.
    alike = encoding is not encodings.SYMMETRIC or len(set(first[: problem.n_classes])) == 1
    return alike and all(row == first for row in others)


def _attained(worst: WorstCase, epsilon: Decimal) -> float:
    """Lower bound on X(p) - e^epsilon X(p') at the worst multiset."""
    with decimals(Decimal(1)):
        value = Decimal(worst.p_side) * Decimal(1 - _CLOSER) - epsilon.exp() * Decimal(worst.q_side) * Decimal(
            1 + _CLOSER
        )
        return float(value * Decimal(1 - _CLOSER))


@dataclass(frozen=True)
class Point:
    """Pr[release 1] on two neighbouring data sets, x >= y, and Pr[release 0]: each the float64 nearest to its value.

    ``reached`` is the number of affected voters of each group, for an achieved point of a problem with groups.
    """

    x: float
    y: float
    not_x: float
    not_y: float
    reached: tuple[int, ...] = ()


@dataclass(frozen=True)
class Region:
    """The region of all (Pr[release 1 | D], Pr[release 1 | D']) of one release, between two polygons.

    Both are symmetric: with (x, y) they have (1 - x, 1 - y), for release 0, and (y, x), for D and D' exchanged. Only
    corners with x >= y and x + y <= 1 are listed. A decision whose table is not symmetric does not achieve them all,
    but composes to the same as if it did (docs/theory.md, Lemma 10).

    Attributes
    ----------
    outer : tuple of Point
        Corners of a polygon that contains them all.
    inner : tuple of Point
        Achieved points, moved a little towards the diagonal; with several groups, not all of the same affected voters.
    delta_infinity : float
        Upper bound on delta(infinity) of one release: x of the outer corner with y = 0, if there is one.
    largest_loss : float
        Upper bound on the finite losses of the outer corners: ln(x / y), or ln 1 / (1 - x) where y = 0.
    """

    outer: tuple[Point, ...]
    inner: tuple[Point, ...]
    delta_infinity: float
    largest_loss: float


@dataclass(frozen=True)
class _Direction:
    """The bound X(p) - e^epsilon X(p') <= delta, achieved up to rounding at (x, y)."""

    epsilon: Decimal
    a: Decimal
    delta: Decimal
    x: float
    y: float
    reached: tuple[int, ...]


def region(gamma: ArrayLike, problem: AnyProblem, tolerance: float = 1e-6, max_directions: int = 400) -> Region:
    """The polygon of one release, from separation in as many directions as needed.

    Parameters
    ----------
    gamma : array_like, shape (K + 1,), or ``problem.table_shape`` for a decision
    problem : MajorityProblem or DecisionProblem
    tolerance : float
        Directions are added until the two polygons differ by less than this, relative to x (or to 1 - y, if smaller).
    max_directions : int

    Returns
    -------
    Region

    Notes
    -----
    docs/theory.md, "Exact composition". Supports of the region in directions (1, -a), a >= 1, come from the separation;
    those for a < 1 are the same by symmetry, and in directions (1, b), b >= 0, the largest is at x = y = max X, where X
    is of either answer.
    """
    search = separation(gamma, guarantee(problem))
    facts = search.facts()
    if facts.answers != 2:
        raise InputError(f"Exact composition is for two answers. Got {facts.answers}.")
    if says_nothing(gamma, problem):
        return Region((), (), 0.0, 0.0)
    with decimals(Decimal(1)):
        return _region(search, problem, tolerance, max_directions)


def _region(search: Separation, problem: AnyProblem, tolerance: float, max_directions: int) -> Region:
    """`region` of a release that depends on the votes, in a context of decimals."""
    least = search.facts().least
    floor = Decimal(least.numerator) / Decimal(least.denominator)
    # Steeper lines are not accurate enough to locate where they meet y = ``floor``.
    last = min(INFINITE, (10**6 / floor).ln()) if floor else INFINITE
    # With Delta = 0 all affected votes together lose at most the sum of their epsilons, and so does the release.
    votes = max(losses(problem.affected), _LEAST)
    pure = not any(kind.Delta for kind in problem.affected) and votes < last
    last = votes if pure else last

    def separate(*epsilons: Decimal) -> list[_Direction]:
        return [
            # Cases of a decision have numbers of affected voters.
            _Direction(
                a, exponential(a), Decimal(worst.bound), worst.p_side, worst.q_side, getattr(worst.case, "reached", ())
            )
            for a, worst in zip(epsilons, search.worst(*epsilons), strict=True)
        ]

    (start, end), own = separate(Decimal(0), max(last, Decimal(0))), guarantee(problem).epsilon
    if pure:
        end = replace(end, delta=min(Decimal(0), end.delta))
    elif _LEAST <= own < last:
        (at_own,) = separate(own)
        end = at_own if at_own.delta <= 0 else end  # no loss is larger
    directions, gaps = [start, end], [_gap(start, end, floor)]
    while gaps and len(directions) < max_directions:
        check_time()
        gaps = [gap for gap in gaps if gap.size > tolerance * max(min(gap.left.x, 1 - gap.left.y), 1e-300)]
        gaps = sorted(gaps, key=lambda gap: -gap.size)[: max_directions - len(directions)]
        middles = separate(*(gap.between for gap in gaps))
        directions += middles
        halves = [
            half
            for gap, middle in zip(gaps, middles, strict=True)
            for half in ((gap.left, middle), (middle, gap.right))
        ]
        gaps = [_gap(*half, floor) for half in halves if half[1].epsilon - half[0].epsilon > _NARROW]
    directions.sort(key=lambda direction: direction.epsilon)
    # A loss far above that of the votes without Delta comes from a gamma that rounding kept below 1. It counts as
    # infinite, which is conservative, so that the total has no epsilon of 30 for it.
    beyond = math.exp(-float(losses(problem.affected)) - BEYOND)
    outer = tuple(
        replace(point, y=0.0, not_y=1.0) if point.y <= beyond * point.x else point
        for point in _outer(directions, floor, tolerance * _THIN)
    )
    # Points that the move takes across the diagonal are too close to it to matter.
    moved = dict.fromkeys(inside(direction.x, direction.y, direction.reached) for direction in directions)
    inner = tuple(point for point in moved if point.x > point.y)
    return Region(
        outer,
        inner,
        delta_infinity=max((point.x for point in outer if point.y == 0), default=0.0),
        largest_loss=largest_loss(outer),
    )


class _Gap(NamedTuple):
    """The distance of the corner of two lines from the achieved points on them, and the direction between."""

    size: float
    between: Decimal
    left: _Direction
    right: _Direction


def _gap(left: _Direction, right: _Direction, floor: Decimal) -> _Gap:
    x, y = _corner(left, right, floor)
    if left.x + left.y > 1:  # at a = 1 its mirror image is achieved too
        left_x, left_y = 1 - left.y, 1 - left.x
    else:
        left_x, left_y = left.x, left.y
    if left_y > right.y and left_x > right.x:
        a = (left_x - right.x) / (left_y - right.y)
        epsilon = Decimal(max(0.0, math.log(a)))
        if not left.epsilon < epsilon < right.epsilon:
            epsilon = (left.epsilon + right.epsilon) / 2
        beyond = float(x) - a * float(y) - (left_x - a * left_y)
    else:
        epsilon, beyond = (left.epsilon + right.epsilon) / 2, 0.0
    return _Gap(beyond, epsilon, left, right)


def _corner(left: _Direction, right: _Direction, floor: Decimal) -> tuple[Decimal, Decimal]:
    """Where two lines meet, or the first meets the floor if that is higher."""
    y = max(floor, (left.delta - right.delta) / (right.a - left.a))
    return left.delta + left.a * y, y


def _outer(directions: list[_Direction], floor: Decimal, slack: float) -> tuple[Point, ...]:
    """Corners of the polygon of all lines, from the one with a = 1 down to the floor.

    Lines that cut off less than ``slack``, relative to x, are left out: every corner costs time at every query.
    """
    kept = [directions[0]]
    heights: list[Decimal] = []  # of the corner of each kept line with the next
    for line in directions[1:]:
        while True:
            y = (kept[-1].delta - line.delta) / (line.a - kept[-1].a)
            if not heights or (y <= heights[-1] and _cut_off(kept[-2], kept[-1], line, floor) > slack):
                break
            kept.pop()  # redundant, or nearly: leaving a line out is conservative
            heights.pop()
        kept.append(line)
        heights.append(y)
    corners = []
    for line, other in pairwise(kept):
        x, y = _corner(line, other, floor)
        corners.append(_point(x, y))
        if y == floor:
            break
    else:
        corners.append(_point(kept[-1].delta + kept[-1].a * floor, floor))
    return tuple(dict.fromkeys(_apart(point) for point in corners))


def _apart(corner: Point) -> Point:
    """The corner, moved away from the diagonal by one float64 if rounding put it there, which is conservative."""
    return corner if corner.x > corner.y else replace(corner, x=math.nextafter(corner.y, 1.0))


def _cut_off(before: _Direction, line: _Direction, after: _Direction, floor: Decimal) -> float:
    """The distance of the corner of two lines beyond the line between them, relative to its x."""
    x, y = _corner(before, after, floor)
    return float((x - line.a * y - line.delta) / x) if x > 0 else 0.0


def _point(x: Decimal, y: Decimal, reached: tuple[int, ...] = ()) -> Point:
    """The four probabilities, each the nearest float64, with a relative error of 2^-53."""
    x, y = min(max(x, Decimal(0)), Decimal(1)), min(max(y, Decimal(0)), Decimal(1))
    return Point(float(x), float(y), float(1 - x), float(1 - y), reached)


def largest_loss(corners: Iterable[Point]) -> float:
    """Upper bound on the finite losses of all corners: of one ln(x / y), or ln 1 / (1 - x) where y = 0."""
    with decimals(Decimal(1)):
        ratios = [Decimal(p.x) / Decimal(p.y) if p.y else 1 / Decimal(p.not_x or 1.0) for p in corners]
        return math.nextafter(float(max(ratios).ln() + Decimal(4 * 2.0**-53)), math.inf) if ratios else 0.0


def inside(attained_x: float, attained_y: float, reached: tuple[int, ...] = ()) -> Point:
    """The achieved point, moved towards the diagonal by more than its rounding."""
    with decimals(Decimal(1)):
        x, y = Decimal(attained_x) * Decimal(1 - _CLOSER), Decimal(attained_y) * Decimal(1 + _CLOSER)
        not_x = (1 - Decimal(attained_x)) * Decimal(1 + _CLOSER)
        return _point(min(x, 1 - not_x), y, reached)

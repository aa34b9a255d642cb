"""Regions as convex hulls in exact fractions: of voters without privacy, and of several releases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
from numpy.typing import ArrayLike

from darrm.accounting.profile import Point, Region, inside, loss
from darrm.certificate.groups import decision_table
from darrm.problem.decision import DecisionProblem
from darrm.problem.noise_function import noise_function

_MARGIN = Fraction(1, 10**12)  # relative, more than the rounding of corners


def counts_region(gamma: ArrayLike, max_affected: int) -> Region:
    """The polygon of one release if the voters have no privacy: one change moves the count by ``max_affected``.

        the convex hull of all (X(i), X(j)) with |i - j| <= max_affected

    Parameters
    ----------
    gamma : array_like, shape (K + 1,)
    max_affected : int in [1, K]

    Returns
    -------
    Region
        Exact but for the rounding of its corners to float64. ``delta_infinity`` and ``largest_loss`` as in `region`.

    Notes
    -----
    docs/theory.md, Theorem 1. For each X(i) only the least X(j) in reach can be a corner below the diagonal.
    O(K max_affected).
    """
    K = np.size(gamma) - 1
    table = noise_function(gamma, K).tolist()
    X = [(1 + ((2 * l > K) - (2 * l < K)) * Fraction(value)) / 2 for l, value in enumerate(table)]
    lowest: dict[Fraction, Fraction] = {}
    for i, x in enumerate(X):
        lowest[x] = min(*X[max(0, i - max_affected) : i + max_affected + 1], lowest.get(x, x))
    return _of_counts(lowest)


def decision_counts_region(table: ArrayLike, problem: DecisionProblem, together: Sequence[int] | None = None) -> Region:
    """`counts_region` for a decision: one change moves the counts as far as the problem allows, group by group.

        the convex hull of all (X(i), X(j)) and (1 - X(i), 1 - X(j)) with |i_g - j_g| <= max_affected of group g
        for all g, sum over g of |i_g - j_g| <= max_affected of all

    Parameters
    ----------
    table : array_like, shape ``problem.shape``
    problem : DecisionProblem
    together : sequence of int, optional
        If the change is known to reach no more than so many voters of each group: these in the place of the problem's.

    Returns
    -------
    Region

    Notes
    -----
    docs/theory.md, Theorem 1. Entries times moves: the product of 2 max_affected + 1 over the groups.
    """
    X = decision_table(table, problem)
    least, most = X.copy(), X.copy()
    caps = [group.max_affected for group in problem.groups] if together is None else together
    most_moved = problem.max_affected if together is None else sum(together)
    for move in product(*(range(-cap, cap + 1) for cap in caps)):
        if sum(map(abs, move)) <= most_moved:
            here = tuple(slice(max(0, -by), size - max(0, by)) for by, size in zip(move, X.shape, strict=True))
            there = tuple(slice(max(0, by), size - max(0, -by)) for by, size in zip(move, X.shape, strict=True))
            least[here], most[here] = np.minimum(least[here], X[there]), np.maximum(most[here], X[there])
    lowest: dict[Fraction, Fraction] = {}
    for x, low, high in zip(X.ravel().tolist(), least.ravel().tolist(), most.ravel().tolist(), strict=True):
        for a, b in ((Fraction(x), Fraction(low)), (1 - Fraction(x), 1 - Fraction(high))):
            lowest[a] = min(b, lowest.get(a, b))
    return _of_counts(lowest)


def _of_counts(lowest: dict[Fraction, Fraction]) -> Region:
    """The region whose points of least y are given for each x."""
    corners = [(x, y) for x, y in _lower_side(lowest.items()) if x > y and x + y <= 1]
    outer = tuple(Point(float(x), float(y), float(1 - x), float(1 - y)) for x, y in corners)
    inner = tuple(inside(point.x, point.y) for point in outer)
    return Region(
        outer,
        tuple(point for point in inner if point.x > point.y),
        delta_infinity=max((point.x for point in outer if point.y == 0), default=0.0),
        largest_loss=max((loss(point) for point in outer), default=0.0),
    )


def hull(regions: Sequence[Region]) -> Region:
    """The region of a label that may come from any of several releases."""
    if len(regions) == 1:
        return regions[0]
    outer = dict.fromkeys(point for part in regions for point in part.outer)
    inner = dict.fromkeys(point for part in regions for point in part.inner)
    return Region(
        _without_inner(tuple(outer)),
        _without_inner(tuple(inner)),
        delta_infinity=max(part.delta_infinity for part in regions),
        largest_loss=max(part.largest_loss for part in regions),
    )


def by_reached_voters(points: Sequence[Point], most: int) -> list[tuple[Point, ...]]:
    """Sets of attained points, so that one choice of at most ``most`` reached voters attains all points of a set.

    One change of the data reaches the same voters at every query. What is attained at several queries is therefore
    attained by points of one set. All points if they are of one group; not every set is listed.
    """
    if sum(_together(point.reached for point in points)) <= most:
        return [tuple(points)]
    worst_first = sorted(points, key=lambda point: point.y - point.x)
    sets: dict[tuple[int, ...], tuple[Point, ...]] = {}
    for voters in dict.fromkeys(point.reached for point in worst_first):
        for point in worst_first:
            more = _together((voters, point.reached))
            voters = more if sum(more) <= most else voters
        sets[voters] = tuple(point for point in points if _together((voters, point.reached)) == voters)
    return list(sets.values())


def _together(reached: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """The fewest voters of each group that hold all of these."""
    return tuple(max(numbers) for numbers in zip(*reached, strict=True))


def _without_inner(points: tuple[Point, ...]) -> tuple[Point, ...]:
    """Without points that lie inside the hull of the others by more than their rounding.

    To move a point away from the diagonal only raises what is composed, so a point may be left out if it is inside the
    hull after such a move.
    """
    exact = [(Fraction(point.x), Fraction(point.y)) for point in points]
    chain = _lower_side([*exact, *((1 - y, 1 - x) for x, y in exact)])
    kept = []
    for point, (x, y) in zip(points, exact, strict=True):
        if (x, y) in chain or not _above(chain, x * (1 + _MARGIN), y * (1 - _MARGIN)):
            kept.append(point)
    return tuple(kept)


def _lower_side(points: Iterable[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """The lower side of the convex hull of points, from left to right."""
    chain: list[tuple[Fraction, Fraction]] = []
    for point in sorted(points):
        if chain and chain[-1][0] == point[0]:
            continue  # above the last
        while len(chain) > 1 and _turns_right(chain[-2], chain[-1], point):
            chain.pop()
        chain.append(point)
    return chain


def _above(chain: list[tuple[Fraction, Fraction]], x: Fraction, y: Fraction) -> bool:
    """Whether a point is on or above the lower side of a hull; not if it is beside it."""
    return any(
        left[0] <= x <= right[0] and (y - left[1]) * (right[0] - left[0]) >= (right[1] - left[1]) * (x - left[0])
        for left, right in pairwise(chain)
    )


def _turns_right(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction], c: tuple[Fraction, Fraction]) -> bool:
    """Whether b is on or above the line from a to c."""
    return (b[0] - a[0]) * (c[1] - a[1]) <= (c[0] - a[0]) * (b[1] - a[1])

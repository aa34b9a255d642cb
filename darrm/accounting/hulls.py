"""Regions as convex hulls in exact fractions: for non-private voters, and for unions of several releases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
from numpy.typing import ArrayLike

from darrm.accounting.profile import Point, Region, inside, largest_loss
from darrm.numerics.deadline import check_time
from darrm.problem import encodings
from darrm.problem.decision import AnyProblem

_MARGIN = Fraction(1, 10**12)  # relative, more than the rounding of corners


def counts_region(table: ArrayLike, problem: AnyProblem, together: Sequence[int] | None = None) -> Region:
    """The polygon of one release of two answers for non-private voters, whose votes may change arbitrarily.

        the convex hull of all (X(i), X(j)) and (1 - X(i), 1 - X(j)) with |i_g - j_g| <= max_affected of group g
        for all g, sum over g of |i_g - j_g| <= max_affected of all

    Parameters
    ----------
    table : array_like
        gamma, shape (K + 1,), of a majority; else Pr[answer 1], shape ``problem.table_shape``.
    problem : MajorityProblem or DecisionProblem
    together : sequence of int, optional
        Largest numbers of voters in each group affected together, in place of those of the problem.

    Returns
    -------
    Region
        Exact, except for the rounding of its corners to float64. ``delta_infinity`` and ``largest_loss`` as in
        `region`.

    Notes
    -----
    docs/theory.md, Theorem 1. For each X(i) only the least reachable X(j) can be a corner below the diagonal. Time:
    entries times moves, the product of 2 max_affected + 1 over the groups.
    """
    checked = encodings.table(table, problem)
    X = [ones for _, ones in encodings.of(problem, checked).exact(checked, problem)]
    values = sorted(set(X))
    rank = {x: i for i, x in enumerate(values)}
    place = np.array([rank[x] for x in X]).reshape(checked.shape)
    least, most = place.copy(), place.copy()
    most_moved = problem.max_affected if together is None else sum(together)
    caps = [group.max_affected for group in problem.groups] if together is None else together
    if len(caps) > checked.ndim:  # a gamma for several groups is a function of all ones together
        caps = [most_moved]
    for move in product(*(range(-cap, cap + 1) for cap in caps)):
        check_time()
        if sum(map(abs, move)) <= most_moved:
            here = tuple(slice(max(0, -by), size - max(0, by)) for by, size in zip(move, checked.shape, strict=True))
            there = tuple(slice(max(0, by), size - max(0, -by)) for by, size in zip(move, checked.shape, strict=True))
            least[here] = np.minimum(least[here], place[there])
            most[here] = np.maximum(most[here], place[there])
    lowest: dict[Fraction, Fraction] = {}
    for i, low, high in zip(place.ravel().tolist(), least.ravel().tolist(), most.ravel().tolist(), strict=True):
        for a, b in ((values[i], values[low]), (1 - values[i], 1 - values[high])):
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
        largest_loss=largest_loss(outer),
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
    """Sets of achieved points, each achieved by one choice of at most ``most`` affected voters.

    The affected voters are the same at every query, so a lower bound for several queries must use points of one set.
    All points are one set if there is one group; not every set is listed.
    """
    if sum(_together(point.reached for point in points)) <= most:
        return [tuple(points)]
    worst_first = sorted(points, key=lambda point: point.y - point.x)
    sets: dict[tuple[int, ...], tuple[Point, ...]] = {}
    for voters in dict.fromkeys(point.reached for point in worst_first):
        for point in worst_first:
            check_time()
            more = _together((voters, point.reached))
            voters = more if sum(more) <= most else voters
        sets[voters] = tuple(point for point in points if _together((voters, point.reached)) == voters)
    return list(sets.values())


def _together(reached: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """The least numbers of voters of each group that include all of these."""
    return tuple(max(numbers) for numbers in zip(*reached, strict=True))


def _without_inner(points: tuple[Point, ...]) -> tuple[Point, ...]:
    """The points without those inside the hull of the others by more than their rounding.

    Moving a point away from the diagonal only raises the composition, so a point may be left out if it is inside the
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
    """Whether a point is on or above the lower side of a hull; False if it is left or right of the hull."""
    return any(
        left[0] <= x <= right[0] and (y - left[1]) * (right[0] - left[0]) >= (right[1] - left[1]) * (x - left[0])
        for left, right in pairwise(chain)
    )


def _turns_right(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction], c: tuple[Fraction, Fraction]) -> bool:
    """Whether b is on or above the line from a to c."""
    return (b[0] - a[0]) * (c[1] - a[1]) <= (c[0] - a[0]) * (b[1] - a[1])

"""The cumulative privacy loss of many labels, from the rows of a release with any number of answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import islice

import numpy as np

from darrm.accounting import adaptive
from darrm.accounting.cover import Cover, cover, farthest
from darrm.accounting.fresh import (
    BLOCKS,
    EXACT,
    FAR,
    FINENESS,
    UNDERFLOW,
    Total,
    by_grid,
    grid_for,
    one_pair,
    without_grid,
)
from darrm.accounting.profile import Point
from darrm.accounting.rows import OutcomeRows, some
from darrm.accounting.theorems import at_least_once
from darrm.errors import InputError
from darrm.numerics.deadline import check_time
from darrm.numerics.printed import counted
from darrm.problem.limits import Affected

_WORK = 2**31  # grid points times rows times answers times queries, above which the grid is not refined
_U = 2.0**-53
_PAIRS = 8  # number of rows for lower bounds where no grid gives one
_LOWER = 3 * 10**8  # largest grid points times rows times answers times queries of a lower bound
Guarantee = tuple[Fraction, Fraction]


def of_rows(
    rows: OutcomeRows,
    queries: int,
    delta: float,
    tolerance: float = 1e-3,
    guaranteed: Guarantee | None = None,
    others: Mapping[str, float] | None = None,
    affected: tuple[Affected, ...] = (),
    same_voters: bool = True,
) -> Total:
    """Bound the least epsilon of ``queries`` labels with fresh randomness, each with any of the rows.

    Parameters
    ----------
    rows : OutcomeRows
        All pairs of distributions on neighbouring data sets; the total covers no other pairs.
    queries : int in [1, 1e7]
    delta : float in [0, 1)
    tolerance : float
        The grid is refined until upper and lower bound are this close, relatively, or it would take too long.
    guaranteed : (Fraction, Fraction), optional
        The certified (epsilon, delta) of one label, if there is one.
    others : mapping of str to float, optional
        Other certified bounds on the total, to be listed with these.
    affected : tuple of Affected
        The privacy of the affected voters; empty for non-private ones.
    same_voters : bool
        Whether the same affected voters can achieve any of the rows, as at every query of one pair of neighbours.

    Returns
    -------
    Total
        ``lower`` is achieved by rows, or 0 if no single set of affected voters achieves them.

    Examples
    --------
    Ten releases with three answers, two of which have another probability on D'; by simple composition they cost 2.88:

    >>> import darrm
    >>> from darrm.accounting.many_answers import of_rows
    >>> rows = darrm.accounting.OutcomeRows.of([[0.5, 0.3, 0.2]], [[0.4, 0.4, 0.2]])
    >>> round(of_rows(rows, 10, delta=1e-5).upper, 2)
    2.78
    """
    unavoidable = at_least_once(rows.delta_infinity, queries)
    bounds = without_grid(rows, affected, queries, delta, guaranteed) | dict(others or {})
    lower, gained, last = 0.0, math.inf, None
    least = _least_delta(rows, queries)
    if delta > least and not rows.alike:
        fewer = cover(rows, queries, delta, grid_for(rows, queries, delta, FINENESS[0]))
        own = envelope(rows, queries, delta) if len(rows) * rows.answers <= 10**5 else math.inf
        bounds |= {"own profile, any accountant": own} if math.isfinite(own) else {}
        name = EXACT if queries <= BLOCKS else f"{EXACT} of blocks"
        for fineness in FINENESS:
            check_time()
            found = by_grid(fewer.rows, queries, delta, fineness)
            if found is None:
                continue
            bounds[name] = min(found[0], bounds.get(name, math.inf))
            upper = min(bounds.values())
            # Lower bounds have no error from the grid, so finer ones soon give no better ones; they take longest.
            if upper - lower > tolerance * upper and gained > 0.1 * tolerance * upper and found[1] != last:
                before, last, lower = lower, found[1], max(lower, _attained(fewer, queries, delta, found[1]))
                gained = lower - before
            work = float(min(queries, BLOCKS)) * found[1].size * fewer.rows.P.size
            if upper - lower <= tolerance * upper or work > _WORK:
                break
    if not bounds:
        if delta <= max(least, unavoidable):
            raise InputError(
                f"At delta = {delta:g} no bound was found for {counted(queries, 'label')}. At any epsilon "
                f"they can need a delta of {unavoidable:.3g}. Bounds exist above {least:.3g}. Pass a larger delta, "
                "add noise, or ask fewer labels."
            )
        raise InputError(
            f"At delta = {delta:g} no bound was found for {counted(queries, 'label')} on any grid, which ends "
            f"at {FAR:g} nats, "
            "and one label has no stated epsilon. Ask fewer labels, add noise, state an epsilon, or make the `cut` of "
            "probabilities 0."
        )
    upper = min(bounds.values())
    lower = lower or by_one_set(rows, queries, delta) if same_voters else 0.0
    if not affected and lower > upper * (1 + 1e-6) + 1e-9:
        raise InputError(
            f"These labels cost at least {lower:.6g}, and by the numbers stated for them at most {upper:.6g}. One of "
            "those numbers is false, such as sigma or epsilon of a mechanism. Correct it."
        )
    lower = min(lower, upper)
    kind = "fresh" if affected else "not private"
    return Total(lower, (lower + upper) / 2, upper, delta, queries, kind, bounds, min(unavoidable, delta))


def _least_delta(rows: OutcomeRows, queries: int) -> float:
    """The delta above which a grid is tried."""
    return max(UNDERFLOW, queries * rows.cut * 1.1)


def upper_of_rows(
    rows: OutcomeRows,
    queries: int,
    delta: float,
    guaranteed: Guarantee | None = None,
    affected: tuple[Affected, ...] = (),
) -> float:
    """The upper bound of `of_rows` on a coarse grid: certified, may be infinite."""
    if not len(rows):
        return 0.0
    bounds = list(without_grid(rows, affected, queries, delta, guaranteed).values())
    if delta > _least_delta(rows, queries) and not rows.alike:
        fewer = cover(rows, queries, delta, grid_for(rows, queries, delta, FINENESS[0]))
        found = by_grid(fewer.rows, queries, delta, FINENESS[1])
        bounds += [] if found is None else [found[0]]
    return min(bounds, default=math.inf)


def _attained(fewer: Cover, queries: int, delta: float, grid: adaptive.Grid) -> float:
    """A lower bound by as many of the worst rows as the time limit allows."""
    rows = int(_LOWER // (queries * grid.size * fewer.worst.answers))
    if not rows or queries > BLOCKS:
        return 0.0
    worst = some(fewer.worst, np.arange(min(rows, len(fewer.worst))))
    return adaptive.most_epsilon(next(islice(adaptive.lower_bounds(worst, grid), queries - 1, None)), delta)


def by_one_set(rows: OutcomeRows, queries: int, delta: float) -> float:
    """A lower bound for any number of labels, by one row at every query and the number of answers in one set."""
    points = []
    few = farthest(rows, _PAIRS)
    room = 2.02 * rows.rho + 4 * rows.answers * _U
    for P, Q, loss in zip(few.P, few.Q, few.losses, strict=True):
        order = np.argsort(-loss)[:-1]
        on, off = np.cumsum(P[order]) * (1 - room), np.cumsum(Q[order]) * (1 + room) + rows.cut
        points += [Point(x, y, 1 - x, 1 - y) for x, y in zip(on.tolist(), off.tolist(), strict=True) if 1 >= x > y]
    return one_pair(points, queries, delta)


def envelope(rows: OutcomeRows, queries: int, delta: float) -> float:
    """The largest profile of all rows, composed as one pair; looser, because the worst row depends on epsilon."""
    grid = grid_for(rows, queries, delta, FINENESS[-1])
    one = adaptive.of_bounds(next(adaptive.upper_bounds(rows, grid)), grid)
    return adaptive.least_epsilon(adaptive.excess(adaptive.repeated(one, queries)), grid, delta)

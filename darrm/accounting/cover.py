"""A small set of rows that bounds all rows of a release: dominated rows are dropped, similar rows are merged.

The profile of a row is its hockey-stick divergence h(a) = sum over answers of max(0, P_o - a Q_o). If h_r <= h_w at all
a >= 0, row r never exceeds row w in the recursion of `darrm.accounting.adaptive` (docs/composition.md, Proposition 2).
h is convex, and that of w is linear between its kinks, the ratios P_o / Q_o; so a comparison at the kinks is a proof.

Rows are compared by rounded ratios t = P / Q: P is t Q to a relative 2^-53. Sums of max(0, t - a) Q do not cancel. Each
kept row w is widened to P (1 + slack) and Q (1 - slack), which covers all rounding. h_r <= h_w + lost is enough if
`lost` is counted as an infinite loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.accounting.adaptive import Grid, Tally, upper_bounds
from darrm.accounting.rows import OutcomeRows, some
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time

_SLACK = 1e-12  # relative widening of kept rows
_LOST = 1e-4  # share of delta, counted as infinite losses, for all dropped rows
_KEPT = 400  # largest number of undominated rows before others are merged
_TRIED = 32
_DIRECT = 500_000  # largest rows times answers times queries without merging
_STARTED = 32  # initial number of clusters
_SIGNS = 12  # number of values of each profile for clustering
_ROUNDS = 16
_COARSE = 2  # coarsening of the grid that finds the worst rows
_STEPS = 16  # recursions over all rows to find them; between those, over the worst of the last one
_FLOOR = 0.03  # share of delta; a smaller excess does not matter
_WORST = 24  # number of rows for lower bounds
_APART = 1e-4  # relative distance of the kinks of a merged row
_WIDEST = 1e-9
_ENTRIES = 2**22

Indices = NDArray[np.intp]


class _Sides(NamedTuple):
    """Rows as ratios t = P / Q, probabilities Q, and the probability P where Q = 0: one orientation of each."""

    t: Array
    Q: Array
    infinite: Array

    def profile(self, points: Array) -> Array:
        """h at these a for all rows, or at a[r] for row r; shape (rows, points)."""
        found = np.empty((len(self.t), points.shape[-1]))
        chunk = max(1, _ENTRIES // max(1, self.t.shape[1] * points.shape[-1]))
        for i in range(0, len(self.t), chunk):
            check_time()
            here = slice(i, i + chunk)
            at = points[here, :, None] if points.ndim == 2 else points[None, :, None]
            above = np.maximum(self.t[here, None, :] - at, 0.0)
            found[here] = np.einsum("rko,ro->rk", above, self.Q[here]) + self.infinite[here, None]
        return found

    def only(self, which: Indices) -> _Sides:
        return _Sides(self.t[which], self.Q[which], self.infinite[which])


def _sides(P: Array, Q: Array) -> _Sides:
    positive = Q > 0
    with np.errstate(over="ignore"):
        t = np.divide(P, Q, out=np.zeros_like(P), where=positive)
    # A ratio beyond float64 counts as an infinite loss, which is conservative; only a row to be covered needs it.
    far = np.isinf(t)
    return _Sides(np.where(far, 0.0, t), np.where(far, 0.0, Q), np.where(positive & ~far, 0.0, P).sum(axis=1))


def _kinks(w: _Sides) -> Array:
    return np.unique(w.t[0][(w.Q[0] > 0) & (w.t[0] > 0)])


def _below(w: _Sides, rows: _Sides, slack: float, lost: float) -> NDArray[np.bool_]:
    """Whether the profile of each row is proved to be at most lost + that of row w, widened by ``slack``.

    The widened w has its kinks at a (1 + 2 slack) or more, and its profile there is (1 + slack) h_w(a). Rows are
    evaluated further left, and w further down than that, by more than all rounding. At a = 0 both are 1.
    """
    at = np.unique(w.t[0][(w.Q[0] > 0) & (w.t[0] > 0)])
    limit = w.profile(at)[0] * (1 + slack / 4) + lost * (1 - slack)
    within = np.asarray((rows.profile(at * (1 + slack)) <= limit).all(axis=1))
    return within if at.size else within & (rows.infinite <= w.infinite[0]) & ~(rows.t > 0).any(axis=1)


class _Both(NamedTuple):
    """Rows in both orientations, (P, Q) and (Q, P)."""

    forward: _Sides
    back: _Sides

    def only(self, which: Indices) -> _Both:
        return _Both(self.forward.only(which), self.back.only(which))

    def exchanged(self) -> _Both:
        return _Both(self.back, self.forward)


def _both(P: Array, Q: Array) -> _Both:
    return _Both(_sides(P, Q), _sides(Q, P))


def dominated(w: _Both, rows: _Both, slack: float = _SLACK, lost: float = 0.0) -> NDArray[np.bool_]:
    """Whether each row is proved no worse than row w, widened, up to ``lost``, in both orientations.

    Without rounding one orientation would be enough.
    """
    found = _below(w.forward, rows.forward, slack, lost)
    found[found] = _below(w.back, rows.back.only(np.flatnonzero(found)), slack, lost)
    return found


def farthest(rows: OutcomeRows, most: int) -> OutcomeRows:
    """Up to the given number of rows, those of the largest Hellinger distance."""
    return some(rows, np.argsort(-_distance(rows), kind="stable")[:most])


def _distance(rows: OutcomeRows) -> Array:
    return np.asarray(((np.sqrt(rows.P) - np.sqrt(rows.Q)) ** 2).sum(axis=1))


def undominated(rows: OutcomeRows, lost: float = 0.0, most: int = _KEPT) -> tuple[Indices, Indices]:
    """Rows that dominate others, up to ``most`` of them, and the remaining undominated rows."""
    both = _both(rows.P, rows.Q)
    # A row that dominates another has at least as large a distance in every f-divergence.
    left = np.argsort(-_distance(rows), kind="stable")
    points = _points(rows)
    signs, signs_back = both.forward.profile(points), both.back.profile(points)
    kept: list[int] = []
    while left.size and len(kept) < most:
        check_time()
        if len(kept) == _TRIED and len(left) > len(rows) - 3 * _TRIED:
            break  # few rows are dominated
        first, left = int(left[0]), left[1:]
        kept.append(first)
        w = both.only(np.array([first]))
        within = signs[first] * (1 + _SLACK) + lost
        gone = np.zeros(left.size, dtype=np.bool_)
        for side, near in ((both, signs), (both.exchanged(), signs_back)):
            maybe = np.flatnonzero(~gone & (near[left] <= within).all(axis=1))
            gone[maybe] = dominated(w, side.only(left[maybe]), _SLACK, lost)
        left = left[~gone]
    return np.array(kept, dtype=np.intp), left


def _points(rows: OutcomeRows) -> Array:
    """The points at which profiles are compared for clustering."""
    reach = max(1e-12, min(30.0, rows.moments[1] ** 0.5))
    return np.exp(np.linspace(-3 * reach, 3 * reach, _SIGNS))


def merged(P: Array, Q: Array, lost: float = 0.0) -> tuple[Array, Array, float] | None:
    """One row whose profile, widened, is above those of all rows of P and Q; None if rounding forbids it.

    Its profile goes through the largest of theirs at some of their kinks, in straight lines between: the largest of
    convex functions is convex, so it lies below these. At 0 it is 1, as theirs are. If their Q sum to less than 1, its
    Q still sums to 1, and what theirs lack has P = 0: an infinite loss for the exchanged row.
    """
    rows = _both(P, Q)
    sides = rows.forward
    # The kinks in order, from the right; where an answer ranks equally in all rows its kinks lie close together.
    ranked = -np.sort(-sides.t, axis=1)
    ends = np.concatenate([ranked.min(axis=0), ranked.max(axis=0)])
    ends = np.sort(ends[ends > 0])[::-1]
    if not ends.size:
        return None
    places = [float(ends[0])]
    for value in ends[1:].tolist():
        if value < places[-1] * (1 - _APART):
            places.append(value)
    if places[1:]:
        places[-1] = float(ends[-1])
    knots = np.array([0.0, *reversed(places)])
    height = sides.profile(knots).max(axis=0)
    height[0] = 1.0
    beyond = np.maximum((height[:-1] - height[1:]) / np.diff(knots), 0.0)  # sums of Q over all ratios to the right
    chances = np.maximum(beyond - np.append(beyond[1:], 0.0), 0.0)
    rest = 1 - chances.sum()
    made_Q = np.concatenate([[rest if rest > _SLACK / 16 else 0.0], chances, [0.0]])
    made_P = np.concatenate([[0.0], knots[1:] * chances, [height[-1]]])
    w, slack = _both(made_P[None], made_Q[None]), _SLACK
    while min(made_P.sum(), made_Q.sum()) * (1 + slack / 4) < 1 or not dominated(w, rows, slack, lost).all():
        slack *= 4
        if slack > _WIDEST:
            return None
    return made_P, made_Q, slack


@dataclass(frozen=True, eq=False)
class Cover:
    """Rows that bound all rows of a release from above.

    Attributes
    ----------
    rows : OutcomeRows
    worst : OutcomeRows
        The worst rows of the release itself, for lower bounds.
    undominated, merged : int
        The number of undominated rows (at least), and how many of them are merged.
    """

    rows: OutcomeRows
    worst: OutcomeRows
    undominated: int
    merged: int


def _winners(rows: OutcomeRows, queries: int, floor: float, grid: Grid) -> NDArray[np.int64]:
    """The number of points of a coarse grid at which each row is the worst, during ``queries`` labels."""
    tally = Tally(np.zeros(len(rows), dtype=np.int64), floor)
    V, done = None, 0
    while done < queries:
        before = tally.won.copy()
        V = next(upper_bounds(rows, grid, tally, V))
        chosen = np.flatnonzero(tally.won > before)
        steps = min(max(1, queries // _STEPS), queries - done) - 1
        if steps and chosen.size:
            V = next(islice(upper_bounds(some(rows, chosen), grid, start=V), steps - 1, None))
        done += steps + 1
    return tally.won


def cover(rows: OutcomeRows, queries: int, delta: float, grid: Grid) -> Cover:
    """Fewer rows that bound all of ``rows``, for ``queries`` labels on a grid of this length.

    Rows that are the worst somewhere are kept unchanged as far as possible. Others are merged with similar ones, which
    does not loosen the bound as long as they stay below the worst.
    """
    lost = _LOST * delta / queries
    ids = np.concatenate(undominated(rows, lost))
    coarse = Grid(_COARSE * grid.step, -(-grid.size // _COARSE))
    groups = _Groups(rows, ids, lost)
    if ids.size * rows.answers * queries <= _DIRECT or ids.size <= _STARTED:
        clusters = [np.array([i]) for i in range(ids.size)]
    else:
        clusters = groups.split([np.arange(ids.size)], _STARTED)
    for turn in range(_ROUNDS):
        clusters, used = groups.cover(clusters)
        won = _winners(used, queries, _FLOOR * delta, coarse)
        mixed = [i for i in np.flatnonzero(won).tolist() if clusters[i].size > 1]
        if not mixed or turn == _ROUNDS - 1:
            break
        parts = groups.split([clusters[i] for i in mixed], 4 * len(mixed))
        clusters = [clusters[i] for i in sorted(set(range(len(clusters))) - set(mixed))] + parts
    worst = np.argsort(-won, kind="stable")[: max(1, min(_WORST, np.count_nonzero(won)))]
    many = sum(cluster.size for cluster in clusters if cluster.size > 1)
    return Cover(used, some(rows, np.array([ids[clusters[i][0]] for i in worst])), ids.size, many)


class _Groups:
    """Clusters of similar rows; ``ids`` are the rows to be clustered, and clusters hold indices into it."""

    def __init__(self, rows: OutcomeRows, ids: Indices, lost: float) -> None:
        self.rows, self.ids, self.lost = rows, ids, lost
        # Of a row and its exchange the one of larger loss on D.
        finite = np.where(np.isfinite(rows.losses), rows.losses, 0.0)
        mean = [(side * finite).sum(axis=1) for side in (rows.P, rows.Q)]
        back = (mean[0] + mean[1] < 0)[ids, None]
        self.P, self.Q = np.where(back, rows.Q[ids], rows.P[ids]), np.where(back, rows.P[ids], rows.Q[ids])
        self.signs = _sides(self.P, self.Q).profile(_points(rows))
        self.made: dict[bytes, tuple[Array, Array, float] | None] = {}

    def cover(self, clusters: list[Indices]) -> tuple[list[Indices], OutcomeRows]:
        """One row for each cluster; a cluster that cannot be merged is split."""
        found: list[tuple[Indices, Array, Array]] = []
        slack = _SLACK
        for cluster in clusters:
            check_time()
            key = cluster.tobytes()
            if cluster.size > 1 and key not in self.made:
                self.made[key] = merged(self.P[cluster], self.Q[cluster], self.lost)
            one = self.made.get(key)
            if one is not None:
                found.append((cluster, one[0], one[1]))
                slack = max(slack, one[2])
            else:
                found += [(np.array([i]), self.P[i], self.Q[i]) for i in cluster]
        width = max(P.size for _, P, _ in found)
        P = np.array([np.pad(on, (0, width - on.size)) for _, on, _ in found])
        Q = np.array([np.pad(off, (0, width - off.size)) for _, _, off in found])
        return [row[0] for row in found], OutcomeRows(P, Q, self.rows.rho + slack, self.rows.cut + self.lost)

    def split(self, clusters: list[Indices], count: int) -> list[Indices]:
        """Clusters cut at their medians, the widest first, until there are ``count`` or each is one row."""
        found = [(self._width(cluster), cluster) for cluster in clusters]
        while len(found) < count:
            i = max(range(len(found)), key=lambda i: found[i][0])
            cluster = found[i][1]
            if cluster.size == 1:
                break
            axis = int(np.ptp(self.signs[cluster], axis=0).argmax())
            order = cluster[np.argsort(self.signs[cluster, axis], kind="stable")]
            found[i : i + 1] = [(self._width(half), half) for half in np.split(order, [cluster.size // 2])]
        return [cluster for _, cluster in found]

    def _width(self, cluster: Indices) -> float:
        return float(np.ptp(self.signs[cluster], axis=0).max()) if cluster.size > 1 else -1.0

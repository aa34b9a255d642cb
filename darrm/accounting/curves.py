"""Privacy curves of mechanisms, and their composition.

A mechanism has two curves: the hockey-stick divergence V(a) of its answers on D from those on D', called excess in this
subpackage, and that with D and D' exchanged,

    V(a) = max over sets S of  Pr[S | D] - a Pr[S | D'],     delta(epsilon) = V(e^epsilon).

V is convex in a, so straight lines between its points lie above it, and define a pair of distributions that dominates
the mechanism. Independent pairs convolve. Proof, also for interleaved labels: docs/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from darrm._validation import MAX_COUNT
from darrm.accounting import adaptive, voters
from darrm.accounting.adaptive import Grid, Losses
from darrm.accounting.theorems import at_least_once
from darrm.errors import InputError
from darrm.numerics.arrays import Array

_U = 2.0**-53
_FAR = 690.0  # nats; above it e^epsilon is not a float64
_FINENESS = 60  # grid points to one standard deviation of all losses together, for one curve
_POINTS = (1000, 40_000)  # least and largest number on each side
_SPLITS = 1500  # points of the curve of fixed voters
_FEW = 2000  # voters or mechanisms
_BINOMIAL = 20_000  # largest number of equal mechanisms whose losses are composed one by one
_WIDE = 40.0  # standard deviations; no delta of a budget lies beyond


class Masses(NamedTuple):
    """The dominating pair of a curve: losses, their probabilities on D, rounded up, and that of an infinite loss."""

    losses: Array
    P: Array
    infinite: float


@dataclass(frozen=True, eq=False)
class Curve:
    """Upper bounds on the privacy curves of one mechanism, linear in e^epsilon between points.

    Attributes
    ----------
    epsilons : ndarray, shape (n,)
        0 first, increasing.
    deltas : ndarray, shape (1, n) or (2, n)
        The hockey-stick divergences of D from D', and of D' from D; one row if they are equal. Nonincreasing and convex
        in e^epsilon, up to rounding; beyond the last point the last delta stays.
    """

    epsilons: Array
    deltas: Array

    @classmethod
    def of(cls, epsilons: Array, deltas: Array) -> Curve:
        """A curve from given points, checked; both directions are raised to the larger start, which they share."""
        n = epsilons.size
        good = n and epsilons.shape == (n,) and deltas.shape in ((1, n), (2, n))
        good = bool(good and np.isfinite(epsilons).all() and not epsilons[0] and (np.diff(epsilons) > 0).all())
        good = good and epsilons[-1] <= _FAR * (1 + 1e-9) and bool(((deltas >= 0) & (deltas <= 1)).all())
        if not good:
            raise InputError(
                f"A privacy curve needs increasing epsilons from 0 to {_FAR:g} at most, and deltas from 0 to 1. For a "
                "mechanism with larger losses, charge its (epsilon, delta)."
            )
        deltas = np.minimum.accumulate(deltas, axis=1)
        deltas[:, 0] = deltas[:, 0].max()
        # Lines between the points must bound a convex function: a point above the line of its neighbours is on it.
        return cls(epsilons, np.stack([_convex(epsilons, row) for row in deltas]))

    @classmethod
    def of_guarantee(cls, epsilon: float, delta: float) -> Curve:
        """The curve that dominates any (epsilon, delta)-DP mechanism: randomized response, or an infinite loss."""
        start = min(1.0, (delta + (1 - delta) * math.tanh(epsilon / 2)) * (1 + 8 * _U))
        if not epsilon:
            return cls(np.zeros(1), np.array([[min(1.0, delta)]]))
        return cls(np.array([0.0, epsilon]), np.array([[start, delta]]))

    @classmethod
    def of_voters(cls, who: voters.AffectedVoters) -> Curve:
        """The curve of all answers of fixed voters, by the privacy of the voters."""
        most = sum(n * epsilon for epsilon, n in who.kinds) * (1 + 2.0**-48 * (len(who.kinds) + 1))
        if not math.isfinite(most):
            raise InputError(
                "Fixed voters must be private themselves in a ledger for several designs. Got non-private voters that "
                "one record can affect. Leave those voters out, or make a ledger for one design (--rule exact)."
            )
        mean = sum(n * epsilon * math.tanh(epsilon / 2) for epsilon, n in who.kinds)
        spread = sum(n * epsilon**2 for epsilon, n in who.kinds)
        most = min(most, mean + _WIDE * math.sqrt(spread), _FAR)  # beyond, the last delta stays
        splits = _SPLITS if who.voters <= _FEW else _SPLITS // 4
        corners = np.zeros(1)
        for epsilon, n in who.kinds[:3] if who.voters <= 64 else ():
            corners = np.unique(np.add.outer(corners, epsilon * (2.0 * np.arange(n + 1) - n)))
        points = np.unique(np.concatenate([np.linspace(0.0, most, splits), corners[(corners > 0) & (corners < most)]]))
        points = points[np.concatenate([[True], np.diff(points) > 1e-9 * max(most, 1e-300)])]
        points[-1] = most
        return cls.of(points, np.array([[voters.delta_of(who, float(point)) for point in points]]))

    @classmethod
    def of_excess(cls, grid: Grid, *V: Array) -> Curve:
        """The curve of upper bounds on a grid, in one direction or both."""
        return cls.of(grid.logs[grid.size :], np.stack([np.minimum(one, 1.0) for one in V]))

    @classmethod
    def of_guarantees(cls, epsilon: float, delta: float, n: int) -> Curve:
        """The curve that dominates ``n`` (epsilon, delta)-DP mechanisms together: their optimal composition."""
        if n == 1 or not epsilon:
            return cls.of_guarantee(epsilon, at_least_once(delta, n) if n > 1 else delta)
        if n > MAX_COUNT:  # no composition is computed, so the curve promises nothing
            return cls.of_guarantee(0.0, 1.0)
        if n > _BINOMIAL:
            return together([(cls.of_guarantee(epsilon, delta), n)], 0.0)
        return cls.of_voters(voters.AffectedVoters(((epsilon, n),), delta, at_least_once(delta, n)))

    @property
    def undirected(self) -> Curve:
        """The larger of both directions in each direction, for symmetric neighbouring relations."""
        return self if len(self.deltas) == 1 else Curve.of(self.epsilons, self.deltas.max(axis=0)[None])

    @property
    def silent(self) -> bool:
        """Whether the curve is that of a mechanism without any privacy loss."""
        return not self.deltas.any()

    @property
    def delta_infinity(self) -> float:
        """Upper bound on the delta that no epsilon avoids."""
        return float(self.deltas[:, -1].max())

    def at(self, epsilons: Array) -> Array:
        """The deltas of each direction at these epsilons >= 0, rounded up; shape (rows, len(epsilons))."""
        if self.epsilons.size == 1:
            return np.repeat(self.deltas, epsilons.size, axis=1)
        left = np.clip(np.searchsorted(self.epsilons, epsilons, side="right") - 1, 0, self.epsilons.size - 2)
        start, width = self.epsilons[left], self.epsilons[left + 1] - self.epsilons[left]
        way = np.expm1(np.clip(epsilons - start, 0, width)) / np.expm1(width)
        way = np.where(way < 1, np.maximum(0.0, way * (1 - 32 * _U) - 16 * _U * (1 + epsilons)), 1.0)
        way = np.where(epsilons >= self.epsilons[-1], 1.0, way)
        V = (self.deltas[:, left] * (1 - way) + self.deltas[:, left + 1] * way) * (1 + 8 * _U)
        return np.asarray(np.where(way == 1, self.deltas[:, left + 1], np.minimum(1.0, V)))

    def epsilon(self, delta: float) -> float:
        """The least epsilon at this delta, rounded up; infinite if there is none."""
        worst = self.deltas.max(axis=0)
        held = np.flatnonzero(worst <= delta)
        if not held.size:
            return math.inf
        j = int(held[0])
        if j == 0:
            return 0.0
        before, after, start = float(worst[j - 1]), float(worst[j]), float(self.epsilons[j - 1])
        width = float(self.epsilons[j]) - start
        found = start + math.log1p((before - delta) / (before - after) * math.expm1(width))
        return min(found + 1e-13 * (1 + found), float(self.epsilons[j]))

    def on(self, grid: Grid) -> tuple[Losses, ...]:
        """The dominating pair on a grid, for each direction: losses beyond the grid count as infinite."""
        right = self.at(grid.logs[grid.size :])
        both = right if len(right) == 2 else np.repeat(right, 2, axis=0)
        return tuple(adaptive.of_bounds(both[row], grid, both[1 - row]) for row in range(len(right)))

    @cached_property
    def masses(self) -> tuple[Masses, ...]:
        """The dominating pair itself, for each direction."""
        if self.epsilons.size == 1:
            here = self.delta_infinity
            return (Masses(np.zeros(1), np.array([1 - here]), here),)
        rows = self.deltas if len(self.deltas) == 2 else np.repeat(self.deltas, 2, axis=0)
        width = np.diff(self.epsilons)
        fall = -np.diff(rows, axis=1)
        # Changes of slope in a are probabilities on D'; multiplied by a = e^epsilon, those on D.
        left = fall / -np.expm1(-width)
        right = np.append(fall[:, 1:] / np.expm1(width[1:]), np.zeros((2, 1)), axis=1)
        unknown = rows[:, :-1] / -np.expm1(-width) + np.append(
            rows[:, 1:-1] / np.expm1(width[1:]), right[:, -1:], axis=1
        )
        P = np.maximum(left - right, 0.0) + 32 * _U * unknown  # above the rounding of each
        found = []
        for row in range(len(self.deltas)):
            mirrored = P[1 - row] * np.exp(-self.epsilons[1:])
            infinite = float(rows[row, -1])
            middle = max(0.0, 1 - float(P[row].sum()) - float(mirrored.sum()) - infinite) + 64 * _U
            losses = np.concatenate([-self.epsilons[:0:-1], [0.0], self.epsilons[1:]])
            found.append(Masses(losses, np.concatenate([mirrored[::-1], [middle], P[row]]), infinite))
        return tuple(found)

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Approximate mean and variance of the finite losses, the larger of both directions."""
        mean = spread = 0.0
        for losses, P, _ in self.masses:
            first = float(P @ losses)
            mean, spread = max(mean, first), max(spread, float(P @ (losses - first) ** 2))
        return mean, spread


def _convex(epsilons: Array, deltas: Array) -> Array:
    """The convex function in e^epsilon through some of these points, with the others lowered to its chords.

    A point above the chord of its neighbours is a bound that rounding left too high: any bound of a convex function may
    be lowered to the chord between two other bounds of it.
    """
    kept: list[int] = []
    for i in range(epsilons.size):
        while len(kept) >= 2:
            h, j = kept[-2], kept[-1]
            way = math.expm1(epsilons[j] - epsilons[h]) / math.expm1(min(epsilons[i] - epsilons[h], _FAR))
            if deltas[j] <= deltas[h] * (1 - way) + deltas[i] * way:
                break
            kept.pop()
        kept.append(i)
    if len(kept) == epsilons.size:
        return deltas
    lines = Curve(epsilons[kept], deltas[None, kept])
    return np.asarray(np.where(np.isin(np.arange(epsilons.size), kept), deltas, lines.at(epsilons)[0]))


def together(curves: Sequence[tuple[Curve, int]], delta: float) -> Curve:
    """The curve of all mechanisms together, each with its number of uses, in any order; sharp near ``delta``.

    All mechanisms see the same pair of neighbours, so each direction is composed separately. O(size log size) for each
    curve.
    """
    curves = [(curve, n) for curve, n in curves if n and not curve.silent]
    if not curves:
        return Curve.of_guarantee(0.0, 0.0)
    if len(curves) == 1 and curves[0][1] == 1:
        return curves[0][0]
    grid = _grid(curves, delta)
    answer: list[Losses] | None = None
    directions = max(len(curve.deltas) for curve, _ in curves)
    for curve, n in curves:
        on = [adaptive.repeated(losses, n) for losses in curve.on(grid)]
        on = on if len(on) == directions else on * directions
        answer = on if answer is None else [adaptive.together(*pair) for pair in zip(answer, on, strict=True)]
    return Curve.of_excess(grid, *(adaptive.excess(losses) for losses in answer or ()))


def _grid(curves: Sequence[tuple[Curve, int]], delta: float) -> Grid:
    """A grid that extends beyond the point where the composition is at delta, and is fine enough for each curve."""
    mean = sum(n * curve.moments[0] for curve, n in curves)
    spread = sum(n * curve.moments[1] for curve, n in curves)
    most = sum(n * float(curve.epsilons[-1]) for curve, n in curves)
    left = max(delta - sum(n * curve.delta_infinity for curve, n in curves), 1e-6 * delta, 1e-300)
    far = mean + 1.3 * math.sqrt(2 * spread * math.log(4 / left)) + 2 * max(float(c.epsilons[-1]) for c, _ in curves)
    far = max(min(far, most * (1 + 1e-9)), 1e-12)
    # Each rounding to the grid adds at most step^2 / 4 to the variance, and moves the pure-DP epsilon by less than a
    # step.
    times = sum(n for _, n in curves)
    fine = _FINENESS * math.sqrt(times / max(spread, 1e-300))
    size = math.ceil(min(_POINTS[1], max(_POINTS[0], far * fine)))
    step = far / size
    size = min(size + times + 1, 2 * size)
    return Grid(min(step, _FAR / size), size)

"""Labels of a design and other mechanisms that share one budget.

Labels may be interleaved with the others in any order: docs/composition.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import islice

import numpy as np

from darrm.accounting import adaptive
from darrm.accounting.adaptive import Grid
from darrm.accounting.cover import cover
from darrm.accounting.curves import Curve, together
from darrm.accounting.fresh import BLOCKS, FAR, excess, grid_for
from darrm.accounting.gaussian import gdp_epsilon, gdp_log_delta
from darrm.accounting.ladder import any_votes_profile
from darrm.accounting.profile import Region
from darrm.accounting.releases import OneLabel
from darrm.accounting.rows import OutcomeRows
from darrm.accounting.voters import reached
from darrm.numerics.arrays import Array
from darrm.numerics.exact import rounded_up

_U = 2.0**-53
_FINENESS = 24  # grid points to one standard deviation of the loss of a label
_POINTS = 40_000  # largest number on each side
_KINKS, _EVENLY = 2000, 500  # points of the curve of one label
_LEAST = 1e-9  # nats
_TOGETHER = 32  # numbers of labels of which the largest is compared with the budget first
_BEYOND = 1e-3  # share of delta down to which the curve of a part is computed


def labels_curve(label: OneLabel, n: int, delta: float) -> Curve:
    """The curve of ``n`` labels of fresh voters, exactly composed, sharp near ``delta``."""
    return curve_of(label.gives(), n, delta, label.guarantee)


def noisy_curve(sigma: float, n: int, delta: float, affected: int = 1, sigma_check: float | None = None) -> Curve:
    """The curve of ``n`` labels of Gaussian noisy max for any votes, sharp near ``delta``: Gaussian DP, and a pad.

    With ``sigma_check`` that of ``n`` checks and labels.
    """
    return gaussian_curve(*any_votes_profile(sigma, n, delta, affected, sigma_check), delta)


def gaussian_curve(mu: float, pad: float, delta: float) -> Curve:
    """The curve of mu-Gaussian DP and a pad, sharp near ``delta``."""
    most = min(gdp_epsilon(mu, max(delta, 1e-12) * _BEYOND), FAR)
    points = np.linspace(0.0, most, _KINKS if most > _LEAST else 1)
    return Curve.of(points, np.minimum(1.0, (np.exp(gdp_log_delta(points, mu)) + pad) * (1 + 8 * _U))[None])


def voters_curve(label: OneLabel) -> Curve:
    """The curve of all answers of fixed voters, for any number of labels."""
    return Curve.of_voters(reached(label.problem))


def curve_of(release: Region | OutcomeRows, n: int, delta: float, guaranteed: object = None) -> Curve:
    """`labels_curve`, from the region or rows of one label with the certified ``guaranteed``, if any."""
    if not n or adaptive.is_silent(release):
        return Curve.of_guarantee(0.0, 0.0)
    aim = max(delta, 1e-12) * _BEYOND
    if isinstance(release, OutcomeRows):
        if release.alike:  # no grid is fine enough
            return together([(Curve.of_guarantee(release.largest_loss, release.delta_infinity), n)], aim)
        release = cover(release, n, max(delta, 1e-12), grid_for(release, n, aim, _FINENESS)).rows
    if n == 1:
        return _of_one(adaptive.as_rows(release))
    grid = grid_for(release, n, aim, _FINENESS)
    return Curve.of_excess(grid, excess(release, n, grid, aim))


def _of_one(rows: OutcomeRows) -> Curve:
    """The curve of one label, at its kinks: the largest over rows of the sum over answers of max(0, P - a Q)."""
    losses = np.abs(rows.losses[np.isfinite(rows.losses)])
    most = min(float(losses.max(initial=0.0)) * (1 + 16 * _U) + 4 * rows.rho, FAR)
    kinks = np.quantile(losses, np.linspace(0, 1, _KINKS), method="nearest") if losses.size > _KINKS else losses
    points = np.unique(np.concatenate([kinks[(kinks > 0) & (kinks < most)], np.linspace(0.0, most, _EVENLY)]))
    room = (1 + 4 * _U * rows.answers) * (1 + 1.01 * rows.rho)
    V = np.zeros(points.size)
    for P, Q in ((rows.P, rows.Q), (rows.Q, rows.P)):
        for on, off in zip(P, Q * (1 - 1.01 * rows.rho - 4 * _U), strict=True):
            V = np.maximum(V, np.maximum(on * room - np.multiply.outer(np.exp(points), off), 0.0).sum(axis=1))
    return Curve.of(points, np.minimum(1.0, V * room + rows.cut)[None])


def labels_beside(rest: Curve, label: OneLabel, epsilon: float, delta: float, most: int) -> int:
    """The certified number of labels of fresh voters, up to ``most``, within (epsilon, delta) together with ``rest``.

    At most 10,000. The excess of n labels and the rest at a is the sum over losses s of the rest of
    P(s) V_n(a e^-s), so one run of the exact composition tells.
    """
    if float(rest.at(np.array([epsilon])).max()) > delta:
        return 0
    release = label.gives()
    if adaptive.is_silent(release):
        return most
    most = min(most, BLOCKS)
    best = _by_guarantee(rest, label, release, epsilon, delta, most)
    if best == most or not delta or (isinstance(release, OutcomeRows) and release.alike):
        return best
    if isinstance(release, OutcomeRows):
        release = cover(release, min(most, 1000), delta, grid_for(release, min(most, 1000), delta, _FINENESS)).rows
    grid, at = _grid_beside(rest, release, epsilon, delta)
    pairs = [(losses.P[::-1], losses.infinite) for losses in rest.on(grid)]
    n, bounds = 0, adaptive.upper_bounds(release, grid)
    while n < most:
        # No bound is below one before it, so the last of some tells whether all of them are within the budget.
        some = [V.copy() for V in islice(bounds, min(_TOGETHER, most - n))]
        if _beside(pairs, some[-1], grid, at) > delta:
            n += bisect_left(some[:-1], True, key=lambda V: _beside(pairs, V, grid, at) > delta)
            break
        n += len(some)
    return max(best, n)


def _by_guarantee(
    rest: Curve, label: OneLabel, release: Region | OutcomeRows, epsilon: float, delta: float, most: int
) -> int:
    """The number by simple composition of the labels, by pure-DP epsilon or guarantee, within what the rest leaves."""
    spent = rest.epsilon(delta)
    best = 0
    if release.largest_loss and not release.delta_infinity:
        best = int((epsilon - spent) * (1 - 4 * _U) // release.largest_loss)
    if label.guarantee is not None:
        each, failure = (rounded_up(part) for part in label.guarantee)
        n = int((epsilon - spent) * (1 - 4 * _U) // each) if each else most
        while n > 0 and not _fits(rest, epsilon - n * each, delta - n * failure * (1 + 4 * _U)):
            n //= 2
        best = max(best, n)
    return min(most, best)


def _fits(rest: Curve, epsilon: float, delta: float) -> bool:
    return delta >= 0 and rest.epsilon(delta) <= epsilon * (1 - 4 * _U)


def _grid_beside(rest: Curve, release: Region | OutcomeRows, epsilon: float, delta: float) -> tuple[Grid, int]:
    """A grid with a point at epsilon, up to a rounding error before it, and that point."""
    fine = grid_for(release, 1, 0.5, _FINENESS).step
    mean, spread = rest.moments
    far = min(mean + 1.3 * math.sqrt(2 * spread * math.log(4 / (_BEYOND * delta))), float(rest.epsilons[-1]))
    reach = min(max(1.5 * epsilon, far) + 4 * release.largest_loss, FAR)
    step = max(fine, reach / _POINTS)
    count = math.floor(epsilon / step)
    step = epsilon / count * (1 - 1e-15) if count else step
    return Grid(step, max(1000, math.ceil(reach / step))), count


def _beside(pairs: list[tuple[Array, float]], V: Array, grid: Grid, at: int) -> float:
    """The excess at grid point ``at`` of labels with excess V composed with a pair, the larger of both directions."""
    size = grid.size
    # The losses size, ..., -size of the pair meet V at the points at - size, ..., at + size; V(1/a) = 1 - 1/a + V(a)/a.
    left = grid.logs[at:size]
    mirrored = (np.exp(left) * V[size - at : 0 : -1] - np.expm1(left)) * (1 + 8 * _U)
    here = np.concatenate([mirrored, V, np.full(at, V[-1])])
    return max(float(P @ here) * (1 + (2 * size + 8) * _U) + infinite for P, infinite in pairs)

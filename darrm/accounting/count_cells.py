"""The labels of Gaussian noisy max as rows of two numbers, for any number of votes and classes, and cells of such rows.

Reveal the largest noisy count of all classes but the two whose counts differ between D and D'. In units of sigma let u
and v be these two counts less the revealed one, d = (u - v) / sqrt(2) and m = (u + v) / sqrt(2). The answers are the
first class, the second, and another; on D', d is less by sqrt(2) / sigma. docs/composition.md has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time
from darrm.numerics.normal import density, distribution, log_distribution

_HIDDEN = 0.1  # relative error of P and Q, at most, of what interpolation leaves; see `_left`
_USUAL = 1.2  # of |P - Q| / P, in units of `move`
_NEVER = 1e200  # a weight that allows no increment
_SLIGHT = 0.3  # of |P - Q| / P, in the same units; less is as good as this
_ROUNDING = 1e-9  # relative, of an increment; its evaluation is within 1e-11 for a shift of at most 1
_ROOT = math.sqrt(2)
_FAR = 40.0  # an m at which the third answer has probability 0 in float64
_WIDE, _STEEP = 2.5, 16.0  # of a loss / sqrt(s), and of it times z, within which the nodes suffice for losses to 20
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_FEWER = np.polynomial.legendre.leggauss(10)  # as near to 40 nodes as 20 are, over a cell and where little changes
_SMALL, _LITTLE = 0.1, 8.0  # a shift; the change of an exponent
_AXIS_D = ((0.8, 0.025), (2.0, 0.05), (math.inf, 0.06))  # widths of cells, and up to which |d| and |m|
_AXIS_M = ((2.5, 0.06), (math.inf, 0.15))
_USUAL_REACH = 7.5
_AT_ONCE = 4000  # cells


@dataclass(frozen=True, eq=False)
class Cells:
    """Rectangles of (d, m), with what bounds the increments of all rows in one.

    Attributes
    ----------
    P, loss : ndarray, shape (answers, points)
        P, and ln(Q / P), at points (d, m).
    corner : ndarray, shape (corners, cells)
        The points at the corners of a cell.
    kept : ndarray, shape (answers, cells)
        1 if the corners bound an answer up to what is left, 0 if what is left or the pad covers it.
    weight : ndarray, shape (answers, cells)
        P of what interpolation between the corners leaves, times its share in the mixture.
    least, most : ndarray, shape (answers, cells)
        Its smallest and largest ln(Q / P).
    mirror : ndarray, shape (cells,)
        The cell of the exchanged rows (Q, P), whose d is sqrt(2) shift - d.
    """

    P: Array
    loss: Array
    corner: NDArray[np.int64]
    kept: Array
    weight: Array
    least: Array
    most: Array
    mirror: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.corner.shape[1])

    def among(self, which: NDArray[np.bool_]) -> Cells:
        """The cells that are chosen, each with its mirror."""
        points, corner = np.unique(self.corner[:, which], return_inverse=True)
        mirror = (which.cumsum() - 1)[self.mirror[which]]
        kept, weight, least, most = (part[:, which] for part in (self.kept, self.weight, self.least, self.most))
        places = corner.reshape(len(self.corner), -1)
        return Cells(self.P[:, points], self.loss[:, points], places, kept, weight, least, most, mirror)

    def increments(self, z: Array, s: float) -> Array:
        """Upper bounds on 2 (T_r G_s - G_s) / psi_s at ln a = s / 2 + z sqrt(s), for all rows of each cell.

        ``z`` is evenly spaced. Shape (z, cells).
        """
        found = np.empty((z.size, len(self)))
        for begin in range(0, len(self), _AT_ONCE):
            check_time()
            here = slice(begin, begin + _AT_ONCE)
            left = np.maximum(divergence(self.least[:, here], z, s), divergence(self.most[:, here], z, s))
            found[:, here] = (self.weight[:, here] * left).sum(axis=1)
        for each, at_points in zip(found, divergence(self.loss, z, s), strict=True):
            at_points = at_points * self.P
            each += sum(at_points[o][self.corner] * self.kept[o] for o in range(len(self.P))).max(axis=0)
        return found * (1 + _ROUNDING)


def divergence(loss: Array, z: Array, s: float) -> Array:
    """2 f(t) / psi_s for t = Q / P, where f(t) = G_s(a t) - G_s(a) - a G_s'(a) (t - 1); an upper bound.

        2 integral over x from 0 to loss of  (e^(loss - x) - 1) exp(-z x / sqrt(s) - x^2 / (2 s)),    loss = ln t

    For s = infinity it is 2 (t - 1 - ln t). ``z`` is evenly spaced. Shape (z, *loss.shape).
    """
    alone = 2 * (np.expm1(loss) - loss)
    if s == math.inf:
        return np.broadcast_to(alone, (z.size, *loss.shape))
    root = math.sqrt(s)
    found = np.zeros((z.size, *loss.shape))
    size, reach = float(np.abs(loss).max(initial=0.0)), float(np.abs(z).max(initial=1.0))
    changes = size * (1 + reach / root + size / s)
    for node, weight in zip(*(_FEWER if changes <= _LITTLE else (_NODES, _WEIGHTS)), strict=True):
        x = loss * (1 + node) / 2
        term = weight * loss * np.expm1(loss - x) * np.exp(-x * (z[0] / root + x / (2 * s)))
        factor = np.exp(-x * ((z[1] - z[0]) / root)) if z.size > 1 else 1.0
        for each in found:
            each += term
            term *= factor
    wide = np.abs(loss) > root * min(_WIDE, _STEEP / reach)
    if wide.any():
        far = loss[wide]
        for each, at in zip(found, z.tolist(), strict=True):
            peak = np.clip(-at * root, np.minimum(far, 0), np.maximum(far, 0))
            each[wide] = alone[wide] * np.exp(-peak * (at / root + peak / (2 * s)))
    return found


def _edge(d: Array, m: Array) -> Array:
    """phi(u) Phi(-v): how fast the first class wins against others, as u rises."""
    return density((m + d) / _ROOT) * distribution((d - m) / _ROOT)


def _first_slope(d: Array, m: Array) -> Array:
    """The derivative of Pr[first class] in d."""
    return np.asarray(density(d) * distribution(m) + _edge(d, m) / _ROOT)


def _other_slope(d: Array, m: Array) -> Array:
    """The derivative of Pr[another class] in d."""
    return np.asarray((_edge(-d, m) - _edge(d, m)) / _ROOT)


def _first(d: Array, m: Array) -> Array:
    """Pr[first class]: the integral of edge / sqrt(2) over m from -infinity; shape (d, m), and m ends in _FAR twice."""
    alone = np.repeat(distribution(d)[:, None], 2, axis=1)  # no other class
    if m.size == 2:
        return alone
    below = np.linspace(m[0] - 25, m[0], 251)
    ends = np.concatenate([below, m[1:-2]])
    middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
    pieces = np.zeros((d.size, half.size))
    for node, weight in zip(*_FEWER, strict=True):
        check_time()
        pieces += weight / _ROOT * half * _edge(d[:, None], (middle + half * node)[None])
    return np.concatenate([pieces.cumsum(axis=1)[:, below.size - 2 :], alone], axis=1)


def _axis(first: float, last: float, widths: tuple[tuple[float, float], ...]) -> Array:
    """Points from ``first`` < 0 to ``last`` > 0, of these widths up to these distances from 0."""
    points = [0.0]
    for most, width in widths:
        for end in (-min(most, -first), min(most, last)):
            begin = min(points) if end < 0 else max(points)
            finer = width if most < math.inf else width * min(1.0, _USUAL_REACH / last)  # as far out P falls faster
            points += np.linspace(begin, end, max(1, math.ceil(abs(end - begin) / finer)) + 1)[1:].tolist()
    return np.unique(points)


def _reach(shift: float, pad: float) -> float:
    """A distance in d, and in m above, beyond which a row is one of two answers, up to ``pad`` / 5."""
    from scipy.special import ndtri

    reach = _ROOT * shift - float(ndtri(pad / 20))
    while True:
        tail = float(distribution(np.asarray(_ROOT * shift - reach)))
        if 2 * tail * (1 + math.exp(shift * (reach + shift + 1))) <= pad / 5:
            return reach
        reach += 0.1


@lru_cache(maxsize=3)
def cells_of(shift: float, pad: float, two: bool = False) -> Cells:
    """Cells of the rows of all votes, or with ``two`` of those of two classes, up to ``pad`` / 2 of probability."""
    move, reach = _ROOT * shift, _reach(shift, pad)
    d = _axis(-reach - move / 2, reach + move / 2, _AXIS_D) + move / 2
    m = np.append([] if two else _axis(-_ROOT * reach, reach, _AXIS_M), [_FAR, _FAR])
    over = np.add.outer
    P, Q = (
        np.stack([_first(x, m), _first(-x, m), distribution(-over(x, m) / _ROOT) * distribution(-over(-x, m) / _ROOT)])
        for x in (d, d - move)
    )
    moved = np.stack([np.zeros_like(P[0])] * 3)
    for node, its_weight in zip(*(_FEWER if shift <= _SMALL else (_NODES, _WEIGHTS)), strict=True):
        check_time()
        at = (d - move * (1 - node) / 2)[:, None]
        moved += its_weight * move / 2 * np.stack([_first_slope(at, m), -_first_slope(-at, m), _other_slope(at, m)])
    low, high, near, far = d[:-1, None] - move, d[1:, None], m[None, :-1], m[None, 1:]
    outside = (high + far <= -_ROOT * reach) | (far - low <= -_ROOT * reach) | ((near >= reach) & (near < _FAR))
    # Where P and Q of an answer are below a share of the pad, it takes no part.
    u, v = (near + low) / _ROOT, (near - high) / _ROOT
    most_other = np.minimum(distribution(-near), distribution(-u) * distribution(-v))
    rare = 2 * np.stack([P[0, 1:, 1:], Q[1, :-1, 1:], most_other]) <= pad / 8
    kept = ~np.broadcast_to(outside, rare[0].shape)
    kept |= kept[::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        # The difference is exact where it is small, and the quotient where it is large.
        loss = np.where(moved < P / 2, np.log1p(-moved / P), np.log(Q / P))
    numbers = np.arange(d.size * m.size).reshape(d.size, m.size)
    corner = np.stack([part[kept] for part in _corners(numbers)])
    widths = np.diff(d)[:, None] ** 2 / 8, np.diff(m)[None] ** 2 / 8
    left = []
    for o, bounds in enumerate((_first_bounds, _second_bounds, _other_bounds)):
        check_time()
        errors = []
        for begin, end in ((d[:-1, None], high), (low, high - move), (low, high)):  # of P, of Q, and of both
            second_d, second_m, third_d, third_m = bounds(begin, end, near, far)
            errors.append(widths[0] * second_d + widths[1] * second_m)
        bent = move * (widths[0] * third_d + widths[1] * third_m)
        of_corners = _corners(np.stack([P[o], Q[o], moved[o], loss[o]], axis=-1))
        left.append(_left(of_corners, (errors[0], errors[1]), bent, move))
    weight, least, most = (np.stack(part) for part in zip(*left, strict=True))
    # The third answer, where it is rare: its largest P and its losses between the ends of the cell are enough.
    whole = _whole(d[:-1, None], high, near, far, shift)
    corners = _corners(P[2] * np.nan_to_num(loss[2], posinf=0.0, neginf=0.0) ** 2).max(axis=0)
    alone = whole[0] * _size(*whole[1:]) ** 2 < corners + weight[2] * _size(least[2], most[2]) ** 2
    for part, other in zip((weight, least, most), whole, strict=True):
        part[2] = np.where(alone, other, part[2])
    at_corners = ~rare
    at_corners[2] &= ~alone
    weight, least, most = (np.where(rare, 0.0, part)[:, kept] for part in (weight, least, most))
    mirror = (kept.cumsum().reshape(kept.shape) - 1)[::-1][kept]
    possible = np.isfinite(loss)
    flat_P, flat_loss = (np.where(possible, part, 0.0).reshape(3, -1) for part in (P, loss))
    every = Cells(flat_P, flat_loss, corner, at_corners.astype(np.float64)[:, kept], weight, least, most, mirror)
    return every.among(np.ones(len(every), dtype=np.bool_))


def _corners(grid: Any) -> Any:
    """Values at the four corners of each cell; shape (4, cells of d, cells of m)."""
    return np.stack([grid[:-1, :-1], grid[1:, :-1], grid[:-1, 1:], grid[1:, 1:]])


def _left(of_corners: Array, curved: tuple[Array, Array], bent: Array, move: float) -> tuple[Array, Array, Array]:
    """``weight``, ``least`` and ``most`` of one answer of `Cells`, from P, Q, P - Q and ln(Q / P) at the corners.

    P is within ``curved[0]``, Q within ``curved[1]``, and P - Q within ``bent``, of what is interpolated between the
    corners. So (P, Q) is a mixture of the corners, with weight 1 - share, and of (P*, Q*), with P* and Q* within a
    relative ``hidden`` of the interpolated ones, and P* - Q* as well, relative to P ``ratio``. Where ``hidden`` is not
    below 1, the weight is so large that the cell has no increment.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        P, Q, moved, loss = np.moveaxis(of_corners, -1, 0)
        least_P = P.min(axis=0)
        error = np.maximum(curved[0] / least_P, curved[1] / Q.min(axis=0))
        # Where P - Q changes its sign, a larger ratio than that of the corners.
        difference = bent / least_P
        ratio = np.maximum(np.abs(moved / P).max(axis=0), _SLIGHT * move)
        ratio = np.maximum(ratio, difference / np.maximum(error, _HIDDEN))
        error = np.maximum(error, difference / ratio)
        hidden = np.maximum(_HIDDEN * np.minimum(1.0, _USUAL * move / ratio), error)  # so that the share is at most 1
        share = error / hidden
        relative = ratio * ((1 + hidden) / (1 - hidden))
        room = np.log((1 + hidden) / (1 - hidden))
        least = np.maximum(np.log1p(-np.minimum(relative, 1)), loss.min(axis=0) - room)
        most = np.minimum(np.log1p(relative), loss.max(axis=0) + room)
        weight = np.where(hidden < 1, share * (1 + hidden) * P.max(axis=0), _NEVER)
    return weight, np.where(hidden < 1, least, -1.0), np.where(hidden < 1, most, 1.0)


def _whole(low: Array, high: Array, near: Array, far: Array, shift: float) -> tuple[Array, Array, Array]:
    """The largest Pr[another class], and its smallest and largest ln(Q / P), for d and m between these ends.

    It is Phi(-u) Phi(-v), and the logarithm of Phi(-x) falls ever faster. No row has both ends, so that the losses of
    all rows are between the two by more than rounding.
    """
    u, v = ((near + low) / _ROOT, (far + high) / _ROOT), ((near - high) / _ROOT, (far - low) / _ROOT)
    rise = [log_distribution(shift - x) - log_distribution(-x) for x in u]
    fall = [log_distribution(-x - shift) - log_distribution(-x) for x in v]
    return distribution(-u[0]) * distribution(-v[0]), rise[0] + fall[1], rise[1] + fall[0]


def _size(low: Array, high: Array) -> Array:
    return np.maximum(np.abs(low), np.abs(high))


def _peak(low: Array, high: Array) -> Array:
    """The largest density between two ends."""
    return density(np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high))))


def _hermite(low: Array, high: Array) -> Array:
    """The largest |x^2 - 1| between two ends."""
    inside = np.where((low <= 0) & (high >= 0), 1.0, 0.0)
    return np.maximum(inside, np.maximum(np.abs(low * low - 1), np.abs(high * high - 1)))


def _edge_slopes(low: Array, high: Array, near: Array, far: Array) -> tuple[Array, Array, Array]:
    """Bounds on the derivatives of `_edge` in d (and in m), twice in d, and in both; for d and m between these ends."""
    u, v = ((near + low) / _ROOT, (far + high) / _ROOT), ((near - high) / _ROOT, (far - low) / _ROOT)
    edge, both = _peak(*u) * distribution(-v[0]), _peak(low, high) * _peak(near, far)
    one = (_size(*u) * edge + both) / _ROOT
    two = (_hermite(*u) * edge + (2 * _size(*u) + _size(*v)) * both) / 2
    return one, two, (_hermite(*u) * edge + _size(*v) * both) / 2


def _first_bounds(low: Array, high: Array, near: Array, far: Array) -> tuple[Array, Array, Array, Array]:
    """Bounds on second derivatives of Pr[first class], in d and in m, and on the derivatives of these in d."""
    one, two, mixed = (part / _ROOT for part in _edge_slopes(low, high, near, far))
    both = _peak(low, high) * distribution(far)
    return _size(low, high) * both + one, one, _hermite(low, high) * both + two, mixed


def _second_bounds(low: Array, high: Array, near: Array, far: Array) -> tuple[Array, Array, Array, Array]:
    """The same of Pr[second class]."""
    return _first_bounds(-high, -low, near, far)


def _other_bounds(low: Array, high: Array, near: Array, far: Array) -> tuple[Array, Array, Array, Array]:
    """The same of Pr[another class]."""
    sides = zip(_edge_slopes(low, high, near, far), _edge_slopes(-high, -low, near, far), strict=True)
    one, two, mixed = ((here + there) / _ROOT for here, there in sides)
    return one, one, two, mixed

"""The total of many labels of Gaussian noisy max, for any number of votes and classes: a ladder of Gaussian profiles.

docs/composition.md has the statements with proofs. In short: reveal the largest noisy count of all classes but the two
whose counts differ. What is left is a release of three answers, a row r(d, m) of two numbers. Write T_r V for the
excess V of the labels so far after one more label by the row r, and G_s for the excess of sqrt(s)-Gaussian DP. If

    T_r G_s <= G_(s + c) + pad   for every row r,

then this holds at every larger s too. So the excess of n labels is at most G_S + n pad, where S is the sum of the c,
each taken at a level that is reached by then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.accounting.gaussian import gdp_delta, gdp_epsilon, gdp_mu
from darrm.accounting.pate import gnmax_sigma_analytic
from darrm.numerics.arrays import Array
from darrm.numerics.bisection import largest_that
from darrm.numerics.deadline import check_time

_SHIFTS = 1e-6, 1.0  # 1 / sigma; other noise is bounded by the noisy counts
_LEAST_PAD = 1e-40  # so that the tails of the noise are not too many cells
_PADS = 1e-2  # share of delta that the pads of all labels take
_FIRST = 6  # labels that the noisy counts bound; the first rungs give no more
_GROW, _FINE = (1.2, 1.08), 4000  # from one rung to the next, with more cells than this and with fewer
_APART = 0.8  # of two z at which increments are compared
_HIDDEN = 0.1  # relative error of P and Q, at most, of what interpolation leaves; see `_left`
_USUAL = 1.2  # of |P - Q| / P, in units of `move`
_NEVER = 1e200  # a weight that allows no increment
_SLIGHT = 0.3  # of |P - Q| / P, in the same units; less is as good as this
_ROUNDING = 1e-9  # relative, of an increment; its evaluation is within 1e-11
_TRIES = 6
_ROOT = math.sqrt(2)
_FAR = 40.0  # an m at which the third answer has probability 0 in float64
_WIDE, _STEEP = 2.5, 16.0  # of a loss / sqrt(s), and of it times z, within which the nodes suffice
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_AXIS_D = ((0.8, 0.025), (2.0, 0.05), (math.inf, 0.06))  # widths of cells, and up to which |d| and |m|
_AXIS_M = ((2.5, 0.06), (math.inf, 0.15))
_USUAL_REACH = 7.5
_AT_ONCE = 4000  # cells


@dataclass(frozen=True, eq=False)
class _Cells:
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

    def among(self, which: NDArray[np.bool_]) -> _Cells:
        """The cells that are chosen, each with its mirror."""
        points, corner = np.unique(self.corner[:, which], return_inverse=True)
        mirror = (which.cumsum() - 1)[self.mirror[which]]
        kept, weight, least, most = (part[:, which] for part in (self.kept, self.weight, self.least, self.most))
        places = corner.reshape(len(self.corner), -1)
        return _Cells(self.P[:, points], self.loss[:, points], places, kept, weight, least, most, mirror)

    def increments(self, z: Array, s: float) -> Array:
        """Upper bounds on 2 (T_r G_s - G_s) / psi_s at ln a = s / 2 + z sqrt(s), for all rows of each cell.

        ``z`` is evenly spaced. Shape (z, cells).
        """
        found = np.empty((z.size, len(self)))
        for begin in range(0, len(self), _AT_ONCE):
            here = slice(begin, begin + _AT_ONCE)
            left = np.maximum(_divergence(self.least[:, here], z, s), _divergence(self.most[:, here], z, s))
            found[:, here] = (self.weight[:, here] * left).sum(axis=1)
        for each, at_points in zip(found, _divergence(self.loss, z, s), strict=True):
            at_points = at_points * self.P
            each += sum(at_points[o][self.corner] * self.kept[o] for o in range(len(self.P))).max(axis=0)
        return found * (1 + _ROUNDING)


class Ladder(NamedTuple):
    """Labels are below G_level + pad; ``step`` is what the last label added to the level."""

    level: float
    pad: float
    step: float


def climbs(sigma: float, queries: int, delta: float) -> bool:
    """Whether there is a ladder: sigma in [1, 1e6], and delta / queries not below some 1e-36."""
    return _SHIFTS[0] <= 1 / sigma <= _SHIFTS[1] and delta * _PADS / (20 * queries) >= _LEAST_PAD


def any_votes_epsilon(sigma: float, queries: int, delta: float) -> float:
    """The total epsilon of labels of noisy max with noise N(0, sigma^2), for any numbers of votes and classes.

    Parameters
    ----------
    sigma : float > 0
        Outside [1, 1e6] the total is infinite: see Gaussian DP of the noisy counts.
    queries : int
        Chosen adaptively. Neighbouring data sets differ in one vote; a teacher may also appear or fall silent.
    delta : float in (0, 1)

    Returns
    -------
    float
        Certified, rounded up. Some 1 percent above the least total for 1,000 labels at sigma 40, and less for more. If
        delta / queries is below some 1e-17 and sigma near 1, it may be no less than that of the noisy counts.

    Notes
    -----
    docs/composition.md, "Any number of votes and classes". One to four seconds; up to half a minute for sigma near 1.

    Examples
    --------
    A thousand labels; the noisy counts themselves cost 4.98, and Renyi DP says 5.99:

    >>> from darrm.accounting.ladder import any_votes_epsilon
    >>> round(any_votes_epsilon(40.0, 1000, 1e-5), 1)
    3.9
    """
    if not climbs(sigma, queries, delta):
        return math.inf
    found = climb(1 / sigma, queries, delta * _PADS)
    left = delta - found.pad
    return gdp_epsilon(math.sqrt(found.level) * (1 + 1e-15), left) if left > 0 else math.inf


def any_votes_sigma(queries: int, epsilon: float, delta: float) -> float:
    """Nearly the least sigma with which labels of any votes cost at most ``epsilon``, by `any_votes_epsilon` or counts.

    Parameters
    ----------
    queries : int
    epsilon : float > 0, nats
    delta : float in (0, 1)

    Examples
    --------
    >>> from darrm.accounting.ladder import any_votes_sigma
    >>> round(any_votes_sigma(1000, 4.0, 1e-5), 1)
    38.9
    """
    best = gnmax_sigma_analytic(epsilon, delta) * math.sqrt(queries) * (1 + 1e-6)
    if queries <= _FIRST:
        return best
    level, sigma = gdp_mu(epsilon, delta * (1 - _PADS)) ** 2, best
    for _ in range(_TRIES):
        if not climbs(sigma, queries, delta):
            break
        found = climb(1 / sigma, queries, delta * _PADS)
        if found.level <= level and any_votes_epsilon(sigma, queries, delta) <= epsilon:
            best = min(best, sigma)
            if found.level >= level * (1 - 1e-3):
                break
        sigma *= math.sqrt(found.level / level) * (1 + 1e-4)
    return best


def any_votes_queries(sigma: float, epsilon: float, delta: float, most: int) -> int:
    """The number of labels, at most ``most``, that cost at most ``epsilon``, by `any_votes_epsilon` or by the counts.

    Examples
    --------
    >>> from darrm.accounting.ladder import any_votes_queries
    >>> 1000 < any_votes_queries(40.0, 3.9, 1e-5, 10**6) < 1020
    True
    """

    def by_counts(n: int) -> bool:
        return gdp_epsilon(math.sqrt(2 * n) / sigma * (1 + 1e-15), delta) <= epsilon

    best, high = largest_that(most, by_counts), most + 1
    level, n = gdp_mu(epsilon, delta * (1 - _PADS)) ** 2, best
    for _ in range(_TRIES if best > _FIRST and climbs(sigma, most, delta) else 0):
        found = climb(1 / sigma, n, delta * _PADS)
        n = min(max(best + 1, n + int((level - found.level) / found.step)), high - 1)
        if n <= best:
            break
        if any_votes_epsilon(sigma, n, delta) <= epsilon:
            best = n
        else:
            high = n
    return best


@lru_cache(maxsize=64)
def climb(shift: float, queries: int, pad: float) -> Ladder:
    """A level below which labels of this shift are, up to ``pad`` for each of them.

    Parameters
    ----------
    shift : float in (0, 1]
        1 / sigma.
    queries : int
    pad : float > 0
        For all labels together. That of one label falls like 1 / n, as steps from low levels need more and are few.
    """
    counts = 2 * shift * shift * (1 + 1e-15)  # the increment of the noisy counts, which have no pad
    done = min(queries, _FIRST)
    level, padded, step, own = done * counts, 0.0, counts, 0.0
    if done < queries:
        harmonic = 1 + math.log(queries / done)
        least_pad = 10.0 ** math.floor(math.log10(pad / (queries * harmonic)))  # few values, so that cells are kept
        cells = _cells(shift, least_pad)
        # The increment of all cells at large levels, and the largest of cells that are no longer looked at.
        limit, settled = float(cells.increments(np.zeros(1), math.inf).max()), 0.0
    while done < queries:
        check_time()
        now, later = _increments(cells, level, (pad / (done * harmonic), least_pad), step)
        found, given = max(float(now.max(initial=settled)), limit), pad / (done * harmonic)
        if found < step or (found == step and given < own):
            step, own = found, given
        # Theorem 2 is for all a, and a cell says nothing of a < 1: there its mirror does.
        low = later <= limit
        low &= low[cells.mirror]
        if low.any():
            settled, cells = max(settled, float(later[low].max())), cells.among(~low)
        grow = _GROW[len(cells) < _FINE] - 1
        labels = min(queries - done, max(1, int(grow * level / step)))
        if not len(cells):
            labels, step, own = queries - done, settled, least_pad
        done, level, padded = done + labels, level + labels * step, padded + labels * own
    return Ladder(level * (1 + 1e-12), padded * (1 + 1e-12), step)


def _increments(cells: _Cells, s: float, pads: tuple[float, float], most: float) -> tuple[Array, Array]:
    """For each cell a c <= ``most`` with T_r G_s <= G_(s + c) + pad for all its rows, by two pads; infinite if none is.

    X(z) = 2 (T_r G_s - G_s) / psi_s is a mixture of exponentials in z. The logarithm of psi rises from s to s + c at

        rate(z) = (s / 2 + z sqrt(s))^2 / (2 (s + most)^2) - 1 / 8 - 1 / (2 s)

    at least, so Y(z) = (e^(rate c) - 1) / rate is at most 2 (G_(s + c) - G_s) / psi_s. ln X is below its chord between
    two z, and ln(Y + free) above its tangent in the middle, which is at most ``bent`` below it at the ends. So X <= Y +
    free in between if X e^bent <= Y + free at both ends. Beyond the last z, G_(s + c) is at most a quarter of the pad.
    """
    root = math.sqrt(s)
    ends = [(_end(s + most, pad / 4) - s / 2) / root for pad in pads]
    z = np.linspace(-root / 2, max(ends), 2 + int((max(ends) + root / 2) / _APART))
    X, apart = cells.increments(z, s), z[1] - z[0]
    found = [np.zeros(X.shape[1]), np.zeros(X.shape[1])]
    for i in range(z.size - 1):
        slope = (s / 2 + z[i + 1] * root) * root / (s + most) ** 2  # of the rate, where it is largest
        bent = math.exp(apart**2 / 8 * (most * s / (s + most) ** 2 + (most * slope) ** 2 / 4))
        for which, pad in enumerate(pads):
            if z[i] >= ends[which]:
                continue
            free = pad / 2 / _density(max(z[i], 0.0), s)  # psi falls from z = 0 on
            for j in (i, i + 1):
                rate = (s / 2 + z[j] * root) ** 2 / (2 * (s + most) ** 2) - 1 / 8 - 1 / (2 * s)
                found[which] = np.maximum(found[which], _solved(X[j] * bent - free, rate))
    now, later = (np.where(each <= most, each, math.inf) for each in found)
    return now, later


def _solved(least: Array, rate: float) -> Array:
    """The least c >= 0 with (e^(rate c) - 1) / rate >= ``least``; infinite if there is none."""
    times = rate * np.maximum(least, 0.0)
    return np.where(times > -1, np.log1p(np.maximum(times, -1 + 1e-12)) / rate, math.inf) * (1 + 1e-13)


def _density(z: float, s: float) -> float:
    """psi_s = a^2 G_s''(a) = phi(z) / sqrt(s)."""
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi * s)


def _end(s: float, least: float) -> float:
    """An ln a from which on G_s is at most ``least``."""
    mu = math.sqrt(s)
    low, high = 0.0, s / 2 + 45 * mu
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if gdp_delta(middle, mu) <= least * (1 - 1e-6) else (middle, high)
    return high


def _divergence(loss: Array, z: Array, s: float) -> Array:
    """2 f(t) / psi_s for t = Q / P, where f(t) = G_s(a t) - G_s(a) - a G_s'(a) (t - 1); an upper bound.

        2 integral over x from 0 to loss of  (e^(loss - x) - 1) exp(-z x / sqrt(s) - x^2 / (2 s)),    loss = ln t

    For s = infinity it is 2 (t - 1 - ln t). ``z`` is evenly spaced. Shape (z, *loss.shape).
    """
    alone = 2 * (np.expm1(loss) - loss)
    if s == math.inf:
        return np.broadcast_to(alone, (z.size, *loss.shape))
    root = math.sqrt(s)
    found = np.zeros((z.size, *loss.shape))
    for node, weight in zip((1 + _NODES) / 2, _WEIGHTS, strict=True):
        x = loss * node
        term = weight * loss * np.expm1(loss - x) * np.exp(-x * (z[0] / root + x / (2 * s)))
        factor = np.exp(-x * ((z[1] - z[0]) / root)) if z.size > 1 else 1.0
        for each in found:
            each += term
            term *= factor
    wide = np.abs(loss) > root * min(_WIDE, _STEEP / float(np.abs(z).max(initial=1.0)))
    if wide.any():
        far = loss[wide]
        for each, at in zip(found, z.tolist(), strict=True):
            peak = np.clip(-at * root, np.minimum(far, 0), np.maximum(far, 0))
            each[wide] = alone[wide] * np.exp(-peak * (at / root + peak / (2 * s)))
    return found


# Rows. In units of sigma let d = (u - v) / sqrt(2) and m = (u + v) / sqrt(2), where u and v are the two counts less the
# revealed largest one. The answers are the first class, the second, and another. On D', d is less by sqrt(2) shift.


def _phi(x: Array) -> Array:
    return np.asarray(np.exp(-x * x / 2) / math.sqrt(2 * math.pi))


def _Phi(x: Array) -> Array:
    from scipy.special import ndtr

    return np.asarray(ndtr(x))


def _edge(d: Array, m: Array) -> Array:
    """phi(u) Phi(-v): how fast the first class wins against others, as u rises."""
    return _phi((m + d) / _ROOT) * _Phi((d - m) / _ROOT)


def _first_slope(d: Array, m: Array) -> Array:
    """The derivative of Pr[first class] in d."""
    return np.asarray(_phi(d) * _Phi(m) + _edge(d, m) / _ROOT)


def _other_slope(d: Array, m: Array) -> Array:
    """The derivative of Pr[another class] in d."""
    return np.asarray((_edge(-d, m) - _edge(d, m)) / _ROOT)


def _first(d: Array, m: Array) -> Array:
    """Pr[first class]: the integral of edge / sqrt(2) over m from -infinity; shape (d, m), and m ends in _FAR twice."""
    below = np.linspace(m[0] - 25, m[0], 251)
    ends = np.concatenate([below, m[1:-2]])
    middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
    pieces = np.zeros((d.size, half.size))
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        pieces += weight / _ROOT * half * _edge(d[:, None], (middle + half * node)[None])
    alone = np.repeat(_Phi(d)[:, None], 2, axis=1)  # no other class
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
        tail = float(_Phi(np.asarray(_ROOT * shift - reach)))
        if 2 * tail * (1 + math.exp(shift * (reach + shift + 1))) <= pad / 5:
            return reach
        reach += 0.1


@lru_cache(maxsize=2)
def _cells(shift: float, pad: float) -> _Cells:
    """Cells that cover the rows of all votes, up to ``pad`` / 2 of probability."""
    move, reach = _ROOT * shift, _reach(shift, pad)
    d = _axis(-reach - move / 2, reach + move / 2, _AXIS_D) + move / 2
    m = np.append(_axis(-_ROOT * reach, reach, _AXIS_M), [_FAR, _FAR])
    over = np.add.outer
    P, Q = (
        np.stack([_first(x, m), _first(-x, m), _Phi(-over(x, m) / _ROOT) * _Phi(-over(-x, m) / _ROOT)])
        for x in (d, d - move)
    )
    moved = np.stack([np.zeros_like(P[0])] * 3)
    for node, weight in zip(_NODES, _WEIGHTS * move / 2, strict=True):
        at = (d - move * (1 - node) / 2)[:, None]
        moved += weight * np.stack([_first_slope(at, m), -_first_slope(-at, m), _other_slope(at, m)])
    low, high, near, far = d[:-1, None] - move, d[1:, None], m[None, :-1], m[None, 1:]
    outside = (high + far <= -_ROOT * reach) | (far - low <= -_ROOT * reach) | ((near >= reach) & (near < _FAR))
    # Where P and Q of an answer are below a share of the pad, it takes no part.
    u, v = (near + low) / _ROOT, (near - high) / _ROOT
    most_other = np.minimum(_Phi(-near), _Phi(-u) * _Phi(-v))
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
    every = _Cells(flat_P, flat_loss, corner, at_corners.astype(np.float64)[:, kept], weight, least, most, mirror)
    return every.among(np.ones(len(every), dtype=np.bool_))


def _corners(grid: Any) -> Any:
    """Values at the four corners of each cell; shape (4, cells of d, cells of m)."""
    return np.stack([grid[:-1, :-1], grid[1:, :-1], grid[:-1, 1:], grid[1:, 1:]])


def _left(of_corners: Array, curved: tuple[Array, Array], bent: Array, move: float) -> tuple[Array, Array, Array]:
    """``weight``, ``least`` and ``most`` of one answer of `_Cells`, from P, Q, P - Q and ln(Q / P) at the corners.

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

    It is Phi(-u) Phi(-v), and the logarithm of Phi(-x) falls ever faster.
    """
    from scipy.special import log_ndtr

    u, v = ((near + low) / _ROOT, (far + high) / _ROOT), ((near - high) / _ROOT, (far - low) / _ROOT)
    rise = [log_ndtr(shift - x) - log_ndtr(-x) for x in u]
    fall = [log_ndtr(-x - shift) - log_ndtr(-x) for x in v]
    return _Phi(-u[0]) * _Phi(-v[0]), rise[0] + fall[1], rise[1] + fall[0]


def _size(low: Array, high: Array) -> Array:
    return np.maximum(np.abs(low), np.abs(high))


def _peak(low: Array, high: Array) -> Array:
    """The largest density between two ends."""
    return _phi(np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high))))


def _hermite(low: Array, high: Array) -> Array:
    """The largest |x^2 - 1| between two ends."""
    inside = np.where((low <= 0) & (high >= 0), 1.0, 0.0)
    return np.maximum(inside, np.maximum(np.abs(low * low - 1), np.abs(high * high - 1)))


def _edge_slopes(low: Array, high: Array, near: Array, far: Array) -> tuple[Array, Array, Array]:
    """Bounds on the derivatives of `_edge` in d (and in m), twice in d, and in both; for d and m between these ends."""
    u, v = ((near + low) / _ROOT, (far + high) / _ROOT), ((near - high) / _ROOT, (far - low) / _ROOT)
    edge, both = _peak(*u) * _Phi(-v[0]), _peak(low, high) * _peak(near, far)
    one = (_size(*u) * edge + both) / _ROOT
    two = (_hermite(*u) * edge + (2 * _size(*u) + _size(*v)) * both) / 2
    return one, two, (_hermite(*u) * edge + _size(*v) * both) / 2


def _first_bounds(low: Array, high: Array, near: Array, far: Array) -> tuple[Array, Array, Array, Array]:
    """Bounds on second derivatives of Pr[first class], in d and in m, and on the derivatives of these in d."""
    one, two, mixed = (part / _ROOT for part in _edge_slopes(low, high, near, far))
    both = _peak(low, high) * _Phi(far)
    return _size(low, high) * both + one, one, _hermite(low, high) * both + two, mixed


def _second_bounds(low: Array, high: Array, near: Array, far: Array) -> tuple[Array, Array, Array, Array]:
    """The same of Pr[second class]."""
    return _first_bounds(-high, -low, near, far)


def _other_bounds(low: Array, high: Array, near: Array, far: Array) -> tuple[Array, Array, Array, Array]:
    """The same of Pr[another class]."""
    sides = zip(_edge_slopes(low, high, near, far), _edge_slopes(-high, -low, near, far), strict=True)
    one, two, mixed = ((here + there) / _ROOT for here, there in sides)
    return one, one, two, mixed

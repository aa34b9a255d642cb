"""Exact adaptive composition of releases with any number of answers, between certified bounds.

One release is a row (P, Q) of probabilities of its answers o on D and D'. An adaptive adversary chooses the next row
after seeing all labels so far. The hockey-stick divergence of Q labels, the largest P(S) - a P'(S) over sets S of
sequences, called excess in the modules of this subpackage, obeys, with V_0(a) = max(0, 1 - a),

    V_Q(a) = max over rows of  sum over o of  P_o V_{Q-1}(a Q_o / P_o),

and delta_Q(epsilon) = V_Q(e^epsilon). Two answers: a point (x, y) of a region is the row (x, 1 - x), (y, 1 - y). All of
it is proved in docs/theory.md, "Exact composition", and docs/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.accounting.profile import Point, Region
from darrm.accounting.rows import OutcomeRows
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time

_U = 2.0**-53
_TINY = 1e-300  # above the underflow of one step
_AT_ONCE = 2**16  # number of sums over choices held in memory at once
_MARGIN = 1e-12  # relative; above the rounding of corners
_COLUMNS = 256  # least number of sums for one choice held at once
_KEPT = 2**21
_ROWS = 64  # largest number of choices whose sums are held at once
_DIRECT = 4096  # largest grid size for direct convolution, without the error of an FFT
_SMALLEST = 1e-280  # above it, underflow of a probability is below its rounding


class Grid(NamedTuple):
    """ln a = step * (-size, ..., 0, ..., size)."""

    step: float
    size: int

    @property
    def logs(self) -> Array:
        return np.asarray(self.step * np.arange(-self.size, self.size + 1))


class _Places(NamedTuple):
    """The terms of one answer: for row r, V(a e^shift) between the grid points k[r] and k[r] + 1, counted from a."""

    chance: Array  # of the answer on D
    other: Array  # on D'
    k: NDArray[np.intp]
    weight: Array  # weight of the point k + 1, rounded so that interpolation stays an upper bound


def _places(chance: Array, other: Array, rho: float, grid: Grid) -> _Places:
    k = np.where(chance > 0, -2 * grid.size - 2, 2 * grid.size + 2)  # other = 0: V(0); probability = 0: V(infinity)
    weight = np.zeros(chance.size)
    both = (chance > 0) & (other > 0)
    log_chance = np.log(chance[both])
    shift = np.log(other[both]) - log_chance
    # V falls in a, so a point further left gives an upper bound; it is moved by more than the rounding of the shift.
    shift -= 16 * _U * (np.abs(shift) + np.abs(log_chance) + 1) + 2.01 * rho
    place = np.clip(np.floor(shift / grid.step), -2 * grid.size - 2, 2 * grid.size + 2)
    room = np.clip(np.expm1(np.clip(shift - place * grid.step, 0, grid.step)) / math.expm1(grid.step), 0.0, 1.0)
    k[both], weight[both] = place.astype(np.intp), np.maximum(0.0, room - 16 * _U)
    return _Places(chance, other, k, weight)


def _choices(rows: OutcomeRows, grid: Grid) -> list[_Places]:
    """The choices for one query, answer by answer: each row, and each row with D and D' exchanged."""
    on, off = np.concatenate([rows.P, rows.Q]), np.concatenate([rows.Q, rows.P])
    every = _places(on.T.ravel(), off.T.ravel(), rows.rho, grid)
    return [_Places(*each) for each in zip(*(part.reshape(on.shape[1], -1) for part in every), strict=True)]


class _Terms(NamedTuple):
    """One term of several choices: chance V(a e^shift) = near V[start + j] + far V[start + j + 1] for j >= 0."""

    start: NDArray[np.intp]
    near: Array
    far: Array


class _Sums:
    """The sums for all choices, as a sparse matrix times the windows that begin at ``places``.

    A row of the product is summed term by term.
    """

    def __init__(self, terms: list[_Terms]) -> None:
        from scipy.sparse import csr_array

        at = np.stack([place for each in terms for place in (each.start, each.start + 1)], axis=1)
        factors = np.stack([factor for each in terms for factor in (each.near, each.far)], axis=1)
        counted = factors > 0
        self.places, column = np.unique(at[counted], return_inverse=True)
        ends = np.concatenate([[0], np.cumsum(counted.sum(axis=1))])
        matrix = csr_array((factors[counted], column, ends), shape=(len(factors), self.places.size))
        self.blocks = [(i, matrix[i : i + _ROWS]) for i in range(0, len(factors), _ROWS)]
        self.width = max(_COLUMNS, _AT_ONCE // min(len(factors), _ROWS))

    def blocks_of(self, windows: Array, j: int, length: int) -> Iterator[tuple[int, Array]]:
        """Blocks of choices: the first choice, and the sums of the block at ``length`` points from point j on."""
        found = windows[self.places + j, :length]
        for first, block in self.blocks:
            yield first, block @ found


class _Wide:
    """V at the points of a grid with a >= 1, extended on both sides as far as the terms need it.

    V is 1 to the left of the grid, and the last value to its right. ``windows(length)[at + j]`` begins with V at point
    j.
    """

    def __init__(self, choices: list[_Places], grid: Grid) -> None:
        size = grid.size
        self.at = max(0, -min(int(places.k.min()) for places in choices))
        self._mirrored = min(self.at, size)
        self._V = np.ones(self.at + 3 * size + 6)
        logs = grid.step * np.arange(-self._mirrored, 0)
        self._a, self._less_one = np.exp(logs), np.expm1(logs)

    def windows(self, length: int) -> Array:
        return np.lib.stride_tricks.sliding_window_view(self._V, length)

    def hold(self, V: Array) -> None:
        """Store V at a = 1, e^step, ..., and its last value beyond. V(1/a) = 1 - 1/a + V(a)/a gives the other side."""
        at, far = self.at, self.at + self._mirrored
        self._V[at : at + V.size], self._V[at + V.size :] = V, V[-1]
        left = self._a * self._V[far:at:-1] - self._less_one
        left *= 1 + 8 * _U
        self._V[at - self._mirrored : at] = left


def _terms(places: _Places, grid: Grid, at: int) -> _Terms:
    n = 2 * grid.size + 1
    # other = 0: V(0) = 1; or a point so far left that 1 will do; or so far right that the last value does
    beyond = (places.k <= -n - 1) | (places.k >= n)
    near = np.where(beyond, places.chance, places.chance * (1 - places.weight))
    far = np.where(beyond, 0.0, places.chance * places.weight)
    return _Terms(at + np.minimum(places.k, grid.size + 1), near, far)


class Tally(NamedTuple):
    """The number of grid points at which each row was the worst, where the excess is at least ``floor``."""

    won: NDArray[np.int64]
    floor: float


def is_silent(release: Region | OutcomeRows) -> bool:
    """Whether labels are independent of the votes: no row distinguishes D from D'."""
    return not (len(release) if isinstance(release, OutcomeRows) else release.outer)


def as_rows(release: Region | OutcomeRows) -> OutcomeRows:
    """Rows whose recursion bounds that of the release from above."""
    if isinstance(release, OutcomeRows):
        return release
    # A constant answer 0 is (0, 0): a corner between it, another corner and the diagonal adds nothing.
    kept: list[Point] = []
    for point in release.outer:
        last = kept[-1] if kept else None
        between = last is not None and point.x <= last.x and point.y > _SMALLEST
        if last is None or not between or point.y / point.x < last.y / last.x * (1 + _MARGIN):
            kept.append(point)
    return OutcomeRows.of_points(kept)


def upper_bounds(
    release: Region | OutcomeRows,
    grid: Grid,
    tally: Tally | None = None,
    start: Array | None = None,
    least: float = 0.0,
) -> Iterator[Array]:
    """Upper bounds on V_1, V_2, ... at a = 1, e^step, ...; ``start`` is V_0, if labels came before.

    V is convex and falls, so linear interpolation in a, the last value beyond the grid, and the value of any earlier
    point are upper bounds. Where V is within ``least`` of the unavoidable delta, it is set to the value of an earlier
    point. Each step is multiplied by a factor for its rounding. O(rows * answers * size) for each query. ``tally``
    counts the worst rows. A yielded array is valid until the next one.
    """
    rows = as_rows(release)
    places = _choices(rows, grid)
    wide, size = _Wide(places, grid), grid.size
    terms = [_terms(each, grid, wide.at) for each in places]
    sums = _Sums(terms)
    np.empty(_KEPT)  # freed at once: glibc then keeps freed blocks below this size, else each step asks for them again
    width = min(size + 1, sums.width)
    windows = wide.windows(width)
    V = np.zeros(size + 1) if start is None else start
    wide.hold(V)
    here = wide.windows(size + 1)[wide.at]
    factor = (1 + (8 + 2 * rows.answers) * _U) * (1 + 1.01 * rows.rho)
    # The first point from which V is constant, and the number of points by which one label moves it.
    held = _first(V, 0, least)
    reach = max(1 - int(each.k[(each.chance > 0) & (each.other > 0)].min(initial=0)) for each in places)
    spent = 0.0
    while True:
        until = min(size, held + reach)
        V = here[: until + 1].copy()  # to choose P = Q
        for j in range(0, until + 1, width):
            check_time()
            best = V[j : j + width]
            leader = None if tally is None else np.full(best.size, -1)
            for first, values in sums.blocks_of(windows, j, best.size):
                if leader is not None:
                    which = values.argmax(axis=0)
                    leader = np.where(values[which, np.arange(best.size)] > best, first + which, leader)
                np.maximum(best, values.max(axis=0), out=best)
            if tally is not None and leader is not None:
                np.add.at(tally.won, leader[(leader >= 0) & (best >= tally.floor)] % len(rows), 1)
        V *= factor
        V += rows.cut + _TINY
        np.minimum(V, 1.0, out=V)
        wide.hold(V)
        spent += (1 - spent) * rows.delta_infinity
        held = _first(V, min(held, until), least + spent)
        yield here


def _first(V: Array, begin: int, most: float) -> int:
    """The first point from ``begin`` on where V, which falls, is at most that large, or the last one."""
    return min(begin + int(np.count_nonzero(V[begin:] > most)), V.size - 1)


class Sets(NamedTuple):
    """Sets S of label sequences, one for each grid point: lower bounds on P(S) and upper bounds on P'(S)."""

    P: Array
    Q: Array


def lower_bounds(attained: tuple[Point, ...] | OutcomeRows, grid: Grid) -> Iterator[Sets]:
    """Sets S of sequences of 1, 2, ... labels, with choices of rows, that nearly achieve V_1, V_2, ... on the grid.

    V(a) >= P(S) - a P'(S) for every a and S: the lines lie below V, without an error from the grid.
    """
    rows = attained if isinstance(attained, OutcomeRows) else OutcomeRows.of_points(attained)
    choices = _choices(rows, grid)
    n = 2 * grid.size + 1
    a = np.exp(grid.logs)
    P = Q = (grid.logs < 0).astype(np.float64)
    while not len(rows):
        yield Sets(P, Q)
    # Left of the grid the set of all sequences, right of it the empty set.
    wide_P, wide_Q = (np.concatenate([np.ones(n), side, np.zeros(n)]) for side in (P, Q))
    starts = [n + np.clip(places.k, -n, n - 1) for places in choices]
    sums = _Sums([_between(places, start) for places, start in zip(choices, starts, strict=True)])
    left = -np.expm1(grid.step * np.arange(-grid.size - n, -grid.size))
    wide = np.concatenate([left, np.zeros(2 * n + sums.width)])
    points = np.arange(n)
    rounding = 0.0
    while True:
        check_time()
        best = wide[n : 2 * n] = P - a * Q
        row = _best_choices(sums, wide, n)  # any choice gives sets; the best one is found but for the error of the grid
        drop_P, drop_Q = wide_P[:-1] - wide_P[1:], wide_Q[:-1] - wide_Q[1:]
        new_P, new_Q = np.zeros(n), np.zeros(n)
        for places, start in zip(choices, starts, strict=True):
            chance, other, at = places.chance[row], places.other[row] + rows.cut, start[row] + points
            at += a * other * drop_Q[at] > chance * drop_P[at]  # the set of the next point is better
            new_P += chance * wide_P[at]
            new_Q += other * wide_Q[at]
        won = new_P - a * new_Q > best
        P, Q = np.where(won, new_P, P), np.where(won, new_Q, Q)
        wide_P[n : 2 * n], wide_Q[n : 2 * n] = P, Q
        # All terms are nonnegative, so relative errors add up: (1 + r)^n <= 1 / (1 - n r).
        rounding += (6 + rows.answers) * _U + 1.01 * rows.rho
        yield Sets(P * (1 - rounding), Q / max(1 - rounding, _SMALLEST))


def _between(places: _Places, start: NDArray[np.intp]) -> _Terms:
    return _Terms(start, places.chance * (1 - places.weight), places.chance * places.weight)


def _best_choices(sums: _Sums, V: Array, n: int) -> NDArray[np.intp]:
    """The choice of the largest sum at each of n points, by interpolation of V on three times as many."""
    width = min(n, sums.width)
    windows = np.lib.stride_tricks.sliding_window_view(V, width)
    chosen = np.zeros(n, dtype=np.intp)
    for j in range(0, n, width):
        leader, most = chosen[j : j + width], np.zeros(min(width, n - j))
        for first, values in sums.blocks_of(windows, j, most.size):
            which = values.argmax(axis=0)
            found = values[which, np.arange(most.size)]
            np.copyto(leader, first + which, where=found > most)
            np.maximum(most, found, out=most)
    return chosen


def least_epsilon(V: Array, grid: Grid, delta: float) -> float:
    """The least epsilon >= 0 with V(e^epsilon) <= delta by interpolation, rounded up; infinite if beyond the grid."""
    held = np.flatnonzero(delta >= V)
    if not held.size:
        return math.inf
    j = int(held[0])
    if j == 0:
        return 0.0
    before, after = float(V[j - 1]), float(V[j])
    share = (before - delta) / (before - after)  # share of the way from a_(j-1) to a_j
    epsilon = grid.step * (j - 1) + math.log1p(share * math.expm1(grid.step))
    return min(epsilon + 1e-13 * (1 + epsilon), grid.step * j * (1 + 4 * _U))


def most_epsilon(sets: Sets, delta: float) -> float:
    """A lower bound on every epsilon >= 0 with V(e^epsilon) <= delta: each line is above delta until it crosses it.

    Lines with a P'(S) so small that it may come from underflow are left out.
    """
    possible = (delta < sets.P) & (sets.Q > _SMALLEST)
    if not possible.any():
        return 0.0
    crossings = np.log(sets.P[possible] - delta) - np.log(sets.Q[possible])
    return max(0.0, float(crossings.max()) * (1 - 1e-13) - 1e-12)


class Losses(NamedTuple):
    """A dominating pair of distributions: on D the privacy loss is step * i with probability P[i].

    Attributes
    ----------
    P : ndarray, shape (2 size + 1,), for i = -size, ..., size
    infinite : float
        Probability on D of an infinite loss, including all that rounding and truncation may have taken from P.
    """

    P: Array
    infinite: float
    grid: Grid


def one_release(region: Region, grid: Grid) -> Losses:
    """The whole region of one release as one dominating pair, which is not binary and so composes to more.

    The edges of the polygon are its outcomes. Each is split between two grid points with both probabilities kept, and
    the result dominates it.
    """
    lower = sorted(region.outer, key=lambda point: point.x)
    path = [(0.0, 0.0), *((p.x, p.y) for p in lower), *((p.not_y, p.not_x) for p in reversed(lower)), (1.0, 1.0)]
    P, infinite = np.zeros(2 * grid.size + 1), 0.0
    for (x, y), (further, higher) in pairwise(path):
        on, off = further - x + 8 * _U * further, max(0.0, higher - y - 8 * _U * higher)
        if on <= 0:
            continue
        if off <= 0 or math.log(on / off) > grid.step * grid.size:
            infinite += on
            continue
        place = max(math.log(on / off) / grid.step + 1e-12, -float(grid.size))
        k = min(math.floor(place), grid.size - 1)
        room = min(1.0, max(0.0, place - k)) * grid.step
        # on = P_k + P_(k+1) and off = P_k e^-s_k + P_(k+1) e^-s_(k+1)
        share = -math.expm1(-room) / -math.expm1(-grid.step)
        P[k + grid.size] += on * (1 - share)
        P[k + 1 + grid.size] += on * share
    return Losses(P * (1 + 64 * _U), infinite * (1 + 64 * _U), grid)


def of_bounds(V: Array, grid: Grid, exchanged: Array | None = None) -> Losses:
    """The pair whose hockey-stick divergence at a >= 1 is V, linear in a between grid points.

    Changes of slope are probabilities on D'. The other half of the pair is the divergence of D' from D, ``exchanged``,
    with the same first entry; without it the mirror image of V.
    """
    mass = _masses(V, grid)
    mirrored = mass if exchanged is None else _masses(exchanged, grid)
    mirrored = mirrored * np.exp(-grid.logs[grid.size + 1 :])
    infinite = float(V[-1])
    middle = max(0.0, 1 - float(mass.sum()) - float(mirrored.sum()) - infinite) + 64 * _U
    return Losses(np.concatenate([mirrored[::-1], [middle], mass]) * (1 + 16 * _U), infinite, grid)


def _masses(right: Array, grid: Grid) -> Array:
    """Probabilities on D of the losses step, 2 step, ..., from an excess at a = 1, e^step, ..."""
    fall = (right[:-1] - right[1:]) / math.expm1(grid.step)
    mass = math.exp(grid.step) * fall - np.append(fall[1:], 0.0)
    # Above the rounding of each entry; a larger entry makes the excess larger.
    return np.asarray(np.maximum(mass, 0.0) + 32 * _U * right[:-1] / math.expm1(grid.step))


@np.errstate(over="ignore", invalid="ignore")  # masses of a coarse grid beyond float64 allow no epsilon at all
def together(losses: Losses, others: Losses) -> Losses:
    """The losses of two mechanisms composed; losses beyond the grid go to its lower end or to infinity."""
    size = losses.grid.size
    if size <= _DIRECT:
        whole = np.convolve(losses.P, others.P) * (1 + (2 * size + 3) * 2 * _U)
        noise = _TINY * whole.size
    else:
        from scipy import fft  # scipy.signal has the same convolution, and takes long to load

        n = losses.P.size + others.P.size - 1
        room = fft.next_fast_len(n, real=True)
        whole = np.maximum(fft.irfft(fft.rfft(losses.P, room) * fft.rfft(others.P, room), room)[:n], 0.0)
        # Three FFTs of n points err by less than 24 log2(n) units of rounding in each entry, relative to both norms.
        norms = float(np.linalg.norm(losses.P) * np.linalg.norm(others.P))
        noise = 24 * _U * math.log2(4 * size + 2) * norms * whole.size
    P = whole[size : 3 * size + 1].copy()
    P[0] += whole[:size].sum()
    either = losses.infinite * (float(others.P.sum()) + others.infinite) + float(losses.P.sum()) * others.infinite
    infinite = either * (1 + 4 * size * _U) + float(whole[3 * size + 1 :].sum()) + noise
    return Losses(P, infinite * (1 + 64 * _U), losses.grid)


def repeated(losses: Losses, times: int) -> Losses:
    """The losses of ``times`` composed mechanisms, by squaring."""
    answer: Losses | None = None
    while True:
        if times & 1:
            answer = losses if answer is None else together(answer, losses)
        times >>= 1
        if not times:
            return answer if answer is not None else losses
        losses = together(losses, losses)


def excess(losses: Losses) -> Array:
    """V at a = 1, e^step, ...: the sum over losses s of P(s) max(0, 1 - a e^-s), plus the probability of infinity."""
    # sum over s > s_i of P(s) and of P(s) e^(s_i - s), from the right
    falling = losses.P[: losses.grid.size : -1]
    total = np.append(np.cumsum(falling)[::-1], 0.0)
    shrink = math.exp(-losses.grid.step)
    sums = accumulate(falling.tolist(), lambda weighted, chance: shrink * (weighted + chance), initial=0.0)
    weighted = np.array(list(sums))[::-1]
    return np.asarray(np.minimum(1.0, (total - weighted) + 8 * _U * losses.P.size * total + losses.infinite))

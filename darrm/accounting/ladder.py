"""The total of many labels of Gaussian noisy max, for any number of votes and classes: a ladder of Gaussian profiles.

docs/composition.md has the statements with proofs. In short: reveal the largest noisy count of all classes but the two
whose counts differ. What is left is a release of three answers, a row r(d, m) of two numbers. Write T_r V for the
excess V of the labels so far after one more label by the row r, and G_s for the excess of sqrt(s)-Gaussian DP. If

    T_r G_s <= G_(s + c) + pad   for every row r,

then this holds at every larger s too. So the excess of all labels is at most G_S and the sum of their pads, where S
is the sum of the c, each taken at a level that is reached by then. Levels and pads of labels and of checks before
labels (Confident-GNMax) add up, in any order.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from darrm.accounting.count_cells import Cells, cells_of
from darrm.accounting.gaussian import gdp_epsilon, gdp_mu
from darrm.accounting.pate import gnmax_sigma_analytic
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time

_SHIFTS = 1e-6, 1.0  # 1 / sigma; other noise is bounded by the noisy counts
_LEAST_PAD = 1e-40  # so that the tails of the noise are not too many cells
PADS = 1e-2  # share of delta that the pads of all labels take
FIRST = 6  # labels that the noisy counts bound; the first rungs give no more
_GROW, _FINE = (1.2, 1.08), 4000  # from one rung to the next, with more cells than this and with fewer
_APART = 0.8  # of two z at which increments are compared
_TRIES = 6
_ALMOST = 0.9  # of the last step: the ladder of one more label may rise by a little less than that step
_ROOT = math.sqrt(2)


class Ladder(NamedTuple):
    """Labels are below G_level + pad; ``step`` is what the last label added to the level.

    ``rungs`` are numbers of fewer labels, rising, each with its level and pad; both are linear between two. ``steps``
    are the level at which each of these parts begins, and what one label of it adds to level and pad.
    """

    level: float
    pad: float
    step: float
    rungs: tuple[tuple[int, float, float], ...] = ()
    steps: tuple[tuple[float, float, float], ...] = ()


class Checks(NamedTuple):
    """Checks that come before labels: the largest count + N(0, sigma^2) >= threshold. At most ``answers`` get one."""

    threshold: float
    sigma: float
    answers: int


def climbs(sigma: float, queries: int, delta: float) -> bool:
    """Whether there is a ladder: sigma in [1, 1e6], and delta / queries not below some 1e-36."""
    return _SHIFTS[0] <= 1 / sigma <= _SHIFTS[1] and delta * PADS / (20 * queries) >= _LEAST_PAD


def any_votes_epsilon(
    sigma: float, queries: int, delta: float, checks: Checks | None = None, affected: int = 1
) -> float:
    """The total epsilon of labels of noisy max with noise N(0, sigma^2), for any number of votes and classes.

    Parameters
    ----------
    sigma : float > 0
        Outside [1, 1e6] the total is infinite: see Gaussian DP of the noisy counts.
    queries : int
        Chosen adaptively. Neighbouring data sets differ in one vote; a teacher may also appear or fall silent.
    delta : float in (0, 1)
    checks : Checks, optional
        Those of Confident-GNMax. Queries without a label count too.
    affected : int
        How many votes of each query one record can change, cast or withdraw.

    Returns
    -------
    float
        Certified, rounded up. Some 1 percent above the least total for 1,000 labels at sigma 40, and less for more. If
        delta / queries is below some 1e-17 and sigma near 1, it may be no less than that of the noisy counts.

    Notes
    -----
    docs/composition.md, "Any number of votes and classes". Some seconds, whatever the number of labels.

    Examples
    --------
    A thousand labels; the noisy counts themselves cost 4.98, and Renyi DP says 5.38:

    >>> from darrm.accounting.ladder import any_votes_epsilon
    >>> round(any_votes_epsilon(40.0, 1000, 1e-5), 1)
    3.9
    """
    if not climbs(sigma / affected, queries, delta):
        return math.inf
    found = _together(sigma, queries, delta, checks, affected)
    left = delta - found.pad
    return gdp_epsilon(math.sqrt(found.level) * (1 + 1e-15), left) if left > 0 else math.inf


def any_votes_sigma(queries: int, epsilon: float, delta: float, affected: int = 1, wider: float | None = None) -> float:
    """Nearly the least sigma with which labels of any votes cost at most ``epsilon``, by `any_votes_epsilon` or counts.

    Parameters
    ----------
    queries : int
    epsilon : float > 0, nats
    delta : float in (0, 1)
    affected : int
        As of `any_votes_epsilon`.
    wider : float, optional
        The noise of a check before each label, in units of sigma.

    Examples
    --------
    >>> from darrm.accounting.ladder import any_votes_sigma
    >>> round(any_votes_sigma(1000, 4.0, 1e-5), 1)
    38.9
    """

    def checks(sigma: float) -> Checks | None:
        return None if wider is None else Checks(0.0, wider * sigma, queries)

    best = gnmax_sigma_analytic(epsilon, delta) * math.sqrt(queries) * affected * (1 + 1e-6)
    best *= 1.0 if wider is None else math.sqrt(1 + 0.5 / wider**2)
    if queries <= FIRST:
        return best
    level, sigma = gdp_mu(epsilon, delta * (1 - PADS)) ** 2, best
    for _ in range(_TRIES):
        if not climbs(sigma / affected, queries, delta):
            break
        found = _together(sigma, queries, delta, checks(sigma), affected)
        if found.level <= level and any_votes_epsilon(sigma, queries, delta, checks(sigma), affected) <= epsilon:
            best = min(best, sigma)
            if found.level >= level * (1 - 1e-3):
                break
        sigma *= math.sqrt(found.level / level) * (1 + 1e-4)
    return best


def _together(sigma: float, queries: int, delta: float, checks: Checks | None, affected: int = 1) -> Ladder:
    """Labels and checks, in any order: levels and pads add up."""
    kinds = [(sigma / affected * (1 - (affected > 1) * 1e-15), queries, False)]
    if checks is not None:  # a check is a label of two classes with another sigma
        [(wide, _, _)], narrow = kinds, checks.sigma / affected * (1 - (affected > 1) * 1e-15)
        kinds = [(wide, min(queries, checks.answers), False), (_ROOT * narrow, queries, True)]
    level = pad = step = 0.0
    for wide, n, two in kinds:
        found = _by_counts(wide, n)
        if climbs(wide, n, delta / len(kinds)):
            # All changes of several votes move the largest count, by as much at most: checks have no other rows.
            found = climb(1 / wide, n, delta * PADS / len(kinds), two, 1 if two else affected)
        level, pad = level + found.level, pad + found.pad
        step += found.step if n == queries else 0.0
    return Ladder(level, pad, step)  # both are rounded up by more than a sum


def _by_counts(sigma: float, queries: int) -> Ladder:
    """Without a pad: the noisy counts are Gaussian DP."""
    each = 2 / sigma / sigma * (1 + 1e-15)
    return Ladder(queries * each, 0.0, each)


def any_votes_queries(
    sigma: float,
    epsilon: float,
    delta: float,
    by_counts: int,
    most: int,
    checks: Checks | None = None,
    affected: int = 1,
) -> int:
    """The number of labels, at most ``most``, that cost at most ``epsilon`` by `any_votes_epsilon`.

    At least ``by_counts``, the number of labels of which that is known by the noisy counts.

    Examples
    --------
    >>> from darrm.accounting.ladder import any_votes_queries
    >>> 1000 < any_votes_queries(40.0, 3.9, 1e-5, 600, 10**6) < 1020
    True
    """
    best, high = by_counts, most + 1
    level, n = gdp_mu(epsilon, delta * (1 - PADS)) ** 2, best
    for _ in range(_TRIES if best > FIRST and climbs(sigma / affected, most, delta) else 0):
        found = _together(sigma, n, delta, checks, affected)
        if n == best and gdp_epsilon(math.sqrt(found.level + _ALMOST * found.step), delta - found.pad) > epsilon:
            break  # one more would be above, and to see that by its own ladder takes as long as all before
        n = min(max(best + 1, n + int((level - found.level) / found.step)), high - 1)
        if n <= best:
            break
        if any_votes_epsilon(sigma, n, delta, checks, affected) <= epsilon:
            best = n
        else:
            high = n
    return best


def any_votes_profile(
    sigma: float, queries: int, delta: float, affected: int = 1, sigma_check: float | None = None
) -> tuple[float, float]:
    """A mu and a pad: the excess of labels of any votes is at most that of mu-Gaussian DP and the pad.

    The ladder is that of the next power of 16, so that a ledger seldom climbs anew as its labels become more.

    Parameters
    ----------
    sigma : float > 0
    queries : int
    delta : float in [0, 1)
        Total, near which the bound is to be sharp; the pad is at most a hundredth of it.
    affected : int
        As of `any_votes_epsilon`.
    sigma_check : float, optional
        The noise of a check before each label.

    Examples
    --------
    Six labels by their noisy counts:

    >>> from darrm.accounting.ladder import any_votes_profile
    >>> mu, pad = any_votes_profile(4.0, 6, 1e-5)
    >>> round(mu, 4), pad
    (0.866, 0.0)
    """
    wide = sigma / affected * (1 - (affected > 1) * 1e-15)
    if sigma_check is None:
        level, pad = _climbed(wide, queries, delta, False, affected)
    else:
        narrow = _ROOT * sigma_check / affected * (1 - 2e-15)
        parts = _climbed(wide, queries, delta / 2, False, affected), _climbed(narrow, queries, delta / 2, True, 1)
        level, pad = (sum(each) * (1 + 1e-15) for each in zip(*parts, strict=True))
    return math.sqrt(level) * (1 + 1e-15), pad


def _climbed(sigma: float, queries: int, delta: float, two: bool, affected: int) -> tuple[float, float]:
    """A level and a pad of labels of one kind, by the ladder of the next power of 16."""
    level, pad = 2 * queries / sigma**2 * (1 + 1e-15), 0.0
    most = 16
    while most < queries:
        most *= 16
    if queries > FIRST and delta and climbs(sigma, most, delta):
        found = climb(1 / sigma, most, delta * PADS, two, affected)
        names = np.array(found.rungs).T
        climbed, padded = (float(np.interp(queries, names[0], part)) * (1 + 1e-11) for part in names[1:])
        if climbed < level:
            level, pad = climbed, padded
    return level, pad


@lru_cache(maxsize=64)
def climb(shift: float, queries: int, pad: float, two: bool = False, affected: int = 1) -> Ladder:
    """A level below which labels of this shift are, up to a pad; with ``two``, labels of two classes.

    Parameters
    ----------
    shift : float in (0, 1]
        ``affected`` / sigma: all affected votes move from one class to another.
    queries : int
    pad : float > 0
        At most, of all labels together. That of one label falls like 1 / n: steps from low levels need more, and are
        few.
    affected : int
        If t > 1 votes move in another way, the noisy counts bound the label: their squared distance is
        t^2 + (t - 1)^2 + 1 at most, in units of sigma.
    """
    least = (2 - 2 / affected + 2 / affected**2) * shift * shift * (1 + 1e-14) if affected > 1 else 0.0
    counts = 2 * shift * shift * (1 + 1e-15)  # the increment of the noisy counts, which have no pad
    done = min(queries, FIRST)
    level, padded, step, own = done * counts, 0.0, counts, 0.0
    rungs, steps = [(0, 0.0, 0.0), (done, level, padded)], [(0.0, step, own)]
    if done < queries:
        harmonic = 1 + math.log(queries / done)
        least_pad = 10.0 ** math.floor(math.log10(pad / (queries * harmonic)))  # few values, so that cells are kept
        cells = cells_of(shift, least_pad, two)
        # The increment of all cells at large levels, and the largest of cells that are no longer looked at.
        limit, settled = max(float(cells.increments(np.zeros(1), math.inf).max()), least), least
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
        steps.append((level, step, own))
        done, level, padded = done + labels, level + labels * step, padded + labels * own
        rungs.append((done, level, padded))
    return Ladder(level * (1 + 1e-12), padded * (1 + 1e-12), step, tuple(rungs), tuple(steps))


def _increments(cells: Cells, s: float, pads: tuple[float, float], most: float) -> tuple[Array, Array]:
    """For each cell a c <= ``most`` with T_r G_s <= G_(s + c) + pad for all its rows, by two pads; infinite if none is.

    X(z) = 2 (T_r G_s - G_s) / psi_s is a mixture of exponentials in z. The logarithm of psi rises from s to s + c at

        rate(z) = (s / 2 + z sqrt(s))^2 / (2 (s + most)^2) - 1 / 8 - 1 / (2 s)

    at least, so Y(z) = (e^(rate c) - 1) / rate is at most 2 (G_(s + c) - G_s) / psi_s. ln X is below its chord between
    two z, and ln(Y + free) above its tangent in the middle, which is at most ``bent`` below it at the ends. So X <= Y +
    free in between if X e^bent <= Y + free at both ends. Beyond the last z, G_(s + c) is at most a quarter of the pad.
    """
    root = math.sqrt(s)
    ends = [(gdp_epsilon(math.sqrt(s + most), pad / 4) - s / 2) / root for pad in pads]
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

"""Labels of several sigmas, the next chosen by earlier labels: shares of the filter against recursions made here."""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from cases import slow
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from darrm.accounting import max_queries
from darrm.accounting.ladder_filter import Noise, _pads, _psi, _rungs, _Stairs, shares
from darrm.mechanisms import GaussianNoisyMax

Floats = NDArray[np.float64]
Pair = tuple[list[float], list[float]]


def label(u: float, v: float) -> list[float]:
    """Probabilities of the two classes and of another, by their counts less the largest other noisy count."""

    def first(u: float, v: float) -> float:
        return float(quad(lambda z: norm.pdf(z) * ndtr(z + u - v), -u, max(-u, 0) + 14, epsabs=1e-16)[0])

    return [first(u, v), first(v, u), float(ndtr(-u) * ndtr(-v))]


@cache
def label_rows(sigma: float) -> list[Pair]:
    """Rows with a revealed maximum, the worst ones near (.75, .75), and some of two classes, in both directions."""
    h = 1 / sigma
    places = [(0.75, 0.75), (0.75 + h, 0.75), (9 + h / 2, 9 - h / 2), (9.0, 9.0), (9 + h, 9 - h), (0.2, 1.4)]
    rows = [(label(u, v), label(u - h, v + h)) for u, v in places]
    return rows + [(Q, P) for P, Q in rows]


def check_row(sigma: float) -> list[Pair]:
    t, k = 0.5 / sigma, 1 / sigma
    P, Q = ([float(ndtr(x)), float(ndtr(-x))] for x in (t, t - k))
    return [(P, Q), (Q, P)]


@cache
def votes_rows(sigma: float, K: int, classes: int) -> list[Pair]:
    """All neighbouring votes of K voters, by integrals over the noise of the winner."""

    def chances(votes: tuple[int, ...]) -> list[float]:
        def density(t: float, j: int) -> float:
            behind = [ndtr((t - n) / sigma) for i, n in enumerate(votes) if i != j]
            return float(math.prod(behind) * norm.pdf(t, votes[j], sigma))

        return [float(quad(density, -math.inf, math.inf, (j,), epsabs=1e-13)[0]) for j in range(classes)]

    known = {tuple(sorted(v)) for v in np.ndindex(*(K,) * classes) if sum(v) == K - 1}
    sides = {v: [chances(tuple(n + (j == c) for j, n in enumerate(v))) for c in range(classes)] for v in known}
    return [(own[c], own[d]) for own in sides.values() for c in range(classes) for d in range(classes) if c != d]


def attained(kinds: list[tuple[float, list[Pair]]], left: float, a: float, queries: int) -> float:
    """The excess of the best strategy that chooses kind and row by all labels so far, while shares are left."""
    best = max(0.0, 1 - a)
    for share, rows in kinds if queries else []:
        if share <= left:
            for P, Q in rows:
                after = [p * attained(kinds, left - share, a * q / p, queries - 1) for p, q in zip(P, Q, strict=True)]
                best = max(best, sum(after))
    return best


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize(
    ("sigmas", "K", "classes", "epsilon", "delta", "queries"),
    [
        ((1.5, 2.5), 3, 2, 5.0, 1e-2, 3),
        *slow(
            ((2.0, 3.0, 4.5), 2, 2, 3.0, 1e-2, 4), ((2.0, 3.5), 3, 3, 3.0, 1e-2, 2), ((1.5, 2.0), 2, 4, 4.0, 1e-2, 3)
        ),
        *slow(((2.5, 4.0), 6, 2, 3.0, 1e-3, 4), ((2.0, 3.0), 4, 3, 4.0, 1e-3, 3)),
    ],
)
def test_no_choice_of_noise_costs_more(
    sigmas: tuple[float, ...], K: int, classes: int, epsilon: float, delta: float, queries: int
) -> None:
    """All strategies of few voters; with twice the shares the budget would be overspent."""
    each = shares(tuple(map(Noise, sigmas)), epsilon, delta)
    kinds = [(share, votes_rows(sigma, K, classes)) for share, sigma in zip(each, sigmas, strict=True)]
    assert attained(kinds, 1.0, math.exp(epsilon), queries) <= delta
    assert max(each) <= 1
    assert attained(kinds, 1.0, math.exp(0.35 * epsilon), queries) > delta


def worst_excess(kinds: list[tuple[int, list[Pair]]], budget: int, a: float) -> float:
    """Of strategies in whole units of the budget, a little above it: chords lie above a convex function."""
    grid = np.concatenate([[0.0], np.exp(np.linspace(-9, 9, 1200))])
    V: list[Floats] = []
    for left in range(budget + 1):
        now = np.maximum(0.0, 1 - grid)
        for cost, rows in kinds:
            for P, Q in rows if cost <= left else []:
                after = [
                    p * np.interp(np.minimum(grid * q / p, 9e9), grid, V[left - cost])
                    for p, q in zip(P, Q, strict=True)
                ]
                now = np.maximum(now, sum(after))
        V.append(now)
    return float(np.interp(a, grid, V[-1]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "kinds",
    [
        (Noise(7.0), Noise(15.0)),
        (Noise(6.0), Noise(9.0), Noise(15.0)),
        (Noise(8.0, 30.0), Noise(14.0, 20.0)),
    ],
)
def test_no_choice_of_noise_costs_more_for_many_labels(kinds: tuple[Noise, ...]) -> None:
    """Rows of any votes, a check and its label after each other; shares in whole units, rounded down."""
    epsilon, delta, units = 5.0, 1e-5, 600
    each = shares(kinds, epsilon, delta)
    labels: list[tuple[int, list[Pair]]] = []
    for share, kind in zip(each, kinds, strict=True):
        rows = label_rows(kind.sigma)
        if kind.sigma_check is not None:
            checks = check_row(kind.sigma_check)
            rows = [([p * x for p in P for x in C], [q * y for q in Q for y in D]) for P, Q in rows for C, D in checks]
        labels.append((math.floor(share * units), rows))
    assert worst_excess(labels, units, math.exp(epsilon)) <= delta
    assert worst_excess(labels, units, math.exp(0.85 * epsilon)) > delta


@pytest.mark.slow
def test_shares_are_hardly_more_than_those_of_one_noise() -> None:
    """As many labels of each sigma alone as by the ladder, but for a percent."""
    sigmas = (40.0, 60.0, 400.0)
    for share, sigma in zip(shares(tuple(map(Noise, sigmas)), 4.0, 1e-5), sigmas, strict=True):
        alone = max_queries(GaussianNoisyMax(sigma), 4.0, 1e-5)
        assert 0.99 * alone <= 1 / share <= alone + 1
    [one], [two] = (shares((Noise(sigma, None, t),), 4.0, 1e-5) for sigma, t in ((40.0, 1), (80.0, 2)))
    assert two > one * 1.03


def random_stairs(rng: np.random.Generator) -> _Stairs:
    """Increments and pads that fall."""
    n = int(rng.integers(1, 6))
    starts = np.concatenate([[0.0], np.sort(rng.uniform(0, 3, n - 1))])
    c = np.sort(rng.uniform(0.05, 0.6, n))[::-1] * rng.uniform(0.2, 1)
    e = np.sort(rng.uniform(0, 1e-3, n))[::-1] * (np.arange(n) > 0)
    return _Stairs(tuple(starts.tolist()), tuple(c.tolist()), tuple(e.tolist()))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(5))
def test_no_order_of_increments_exceeds_psi(seed: int) -> None:
    """Levels and pads of random systems, by random and by greedy strategies backwards from level 0."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        stairs, end = [random_stairs(rng) for _ in range(int(rng.integers(1, 4)))], rng.uniform(0.5, 3)
        weights = [float(w) for w in rng.uniform(0.05, 0.3, len(stairs))]
        whole, pads = _psi(stairs, weights, end), _pads(stairs, end)
        for way in range(30):
            level = spent = padded = 0.0
            while True:
                fits = [i for i, w in enumerate(weights) if spent + w <= whole]
                if not fits:
                    break
                places = [int(np.searchsorted(stairs[i].starts, level, side="right")) - 1 for i in fits]
                rate = [stairs[i].c[place] / weights[i] for i, place in zip(fits, places, strict=True)]
                which = int(np.argmax(rate)) if way == 0 else int(rng.integers(len(fits)))
                i, place = fits[which], places[which]
                level, padded, spent = level + stairs[i].c[place], padded + stairs[i].e[place], spent + weights[i]
            assert level <= end
            assert padded <= pads + 1e-15


@pytest.mark.parametrize("seed", range(3))
def test_integrals_are_rounded_against_the_budget(seed: int) -> None:
    """Psi from below and pads from above, by sums of exact fractions."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        stairs, end = [random_stairs(rng) for _ in range(3)], float(rng.uniform(0.5, 3))
        weights = [float(w) for w in rng.uniform(0.05, 0.3, 3)]
        starts = {Fraction(start) for each in stairs for start in each.starts}
        breaks = sorted(
            {Fraction(0), Fraction(end)}
            | {x for start in starts for x in (start, *(start + Fraction(each.c[0]) for each in stairs)) if x < end}
        )
        psi = pads = Fraction(0)
        for low, high in pairwise(breaks):
            before = [max(Fraction(0), low - Fraction(each.c[0])) for each in stairs]
            places = [
                bisect_right(list(map(Fraction, each.starts)), x) - 1 for each, x in zip(stairs, before, strict=True)
            ]
            psi += (high - low) * min(
                Fraction(w) / Fraction(each.c[k]) for w, each, k in zip(weights, stairs, places, strict=True)
            )
            now = [bisect_right(list(map(Fraction, each.starts)), low) for each in stairs]
            pads += (high - low) * max(
                Fraction(each.e[j]) / Fraction(each.c[j])
                for each, k, n in zip(stairs, places, now, strict=True)
                for j in range(k, n)
            )
        assert psi * Fraction("0.8") < Fraction(_psi(stairs, weights, end)) < psi * Fraction("0.999999999991")
        assert Fraction(_pads(stairs, end)) >= pads * Fraction("1.000000000009")


@pytest.mark.parametrize("shift", [1.7, 3.0])
def test_steps_are_rounded_up(shift: float) -> None:
    """Where sigma is below 1 there are those of the noisy counts alone: 2 shift^2."""
    least = 2 * Fraction(shift) ** 2 * (1 + Fraction(5, 10**12))
    assert _rungs(shift, 0.5, 1e-5, False, 1).c[0] > least


@pytest.mark.slow
def test_what_does_not_fit_has_no_share() -> None:
    assert shares((Noise(1.0), Noise(9.0)), 0.5, 1e-5)[0] > 1
    assert shares((Noise(0.1),), 0.5, 1e-5)[0] > 1
    [few] = shares((Noise(3.5),), 4.0, 1e-5)
    assert 5 <= 1 / few < 6

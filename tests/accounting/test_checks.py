"""Totals of Confident-GNMax, labels after a check of the largest count, against rows and recursions made here."""

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

import darrm
from darrm.accounting import compose, max_queries
from darrm.accounting.count_cells import cells_of
from darrm.accounting.gaussian import gdp_epsilon
from darrm.accounting.ladder import Checks, _increments, _together, any_votes_epsilon, climb
from darrm.mechanisms import ConfidentNoisyMax, GaussianNoisyMax

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]  # P and Q
MNIST = ConfidentNoisyMax(200, 150, 40, answers=286)


def G(a: Floats | float, s: float) -> Floats:
    mu = math.sqrt(s)
    return np.asarray(ndtr(mu / 2 - np.log(a) / mu) - a * ndtr(-mu / 2 - np.log(a) / mu))


@pytest.mark.parametrize("seed", range(6))
def test_no_check_needs_more_than_a_step(seed: int) -> None:
    """All largest counts at many levels and a, by the normal distribution function alone."""
    rng = np.random.default_rng(seed)
    sigma, checks, pad = math.exp(rng.uniform(0.1, 6)), int(math.exp(rng.uniform(2.5, 8))), 10 ** rng.uniform(-14, -7)
    cells, s = cells_of(math.sqrt(0.5) / sigma, pad, two=True), checks / sigma**2 * rng.uniform(0.6, 1)
    step = float(_increments(cells, s, (pad, pad), 1 / sigma**2)[0].max())
    assert 2 / math.pi < step * sigma**2 <= 1
    t = np.concatenate([np.linspace(-2, 3, 200), rng.uniform(-12, 12, 100)])[:, None]
    z = rng.uniform(-math.sqrt(s) / 2, 8, 50)
    a = np.exp(s / 2 + z * math.sqrt(s))
    after = np.zeros((300, 50))
    for way in (1, -1):
        P, Q = ndtr(way * t), ndtr(way * (t - 1 / sigma))
        after += P * G(a * Q / P, s)
    unit = step * np.exp(-z * z / 2) / math.sqrt(2 * math.pi * s) / 2
    assert ((after - G(a, s + step) - pad) / unit - 1e-15 / unit).max() < 1e-6


@pytest.mark.thorough
def test_checks_cost_two_over_pi_of_the_largest_count_in_the_limit() -> None:
    """Half of what a label of two classes costs at half the variance, and never more than Gaussian DP."""
    few, many = (climb(math.sqrt(0.5) / 150, n, 1e-8, two=True) for n in (640, 10**4))
    assert few.level * 150**2 / 640 == pytest.approx(0.645, abs=1e-3)
    assert 2 / math.pi < many.level * 150**2 / 10**4 < 0.6391
    assert many.pad <= 1e-8


def label_rows(sigma: float, places: list[tuple[float, float]]) -> list[Pair]:
    """Rows of labels by the two counts less the largest other noisy count, in units of sigma."""

    def first(u: float, v: float) -> float:
        return float(quad(lambda z: norm.pdf(z) * ndtr(z + u - v), -u, max(-u, 0) + 14, epsabs=1e-16)[0])

    def row(u: float, v: float) -> Floats:
        return np.array([first(u, v), first(v, u), ndtr(-u) * ndtr(-v)])

    return [(row(u, v), row(u - 1 / sigma, v + 1 / sigma)) for u, v in places]


def check_rows(sigma: float, places: list[float]) -> list[Pair]:
    return [(ndtr([t, -t]), ndtr([t - 1 / sigma, 1 / sigma - t])) for t in places]


def worst_excess(labels: list[Pair], checks: list[Pair], answers: int, queries: int, a: float) -> float:
    """Of labels and checks in any adaptive order, a little above it: chords lie above a convex function."""
    grid = np.exp(np.linspace(-9, 9, 1000))
    grid = np.concatenate([[0.0], grid])
    steps = [
        [(P[o], np.minimum(grid * Q[o] / P[o], grid[-1])) for P, Q in rows for o in range(len(P))]
        for rows in (labels, checks)
    ]
    sizes = [len(labels[0][0]), 2]

    def after(V: Floats, kind: int) -> Floats:
        parts = [p * np.interp(at, grid, V) for p, at in steps[kind]]
        return np.max([sum(parts[i : i + sizes[kind]]) for i in range(0, len(parts), sizes[kind])], axis=0)

    before: list[Floats] = []
    for n in range(queries + 1):
        now: list[Floats] = []
        for m in range(answers + 1):
            found = np.maximum(0.0, 1 - grid)
            if m:
                found = np.maximum(found, after(now[m - 1], 0))
            if n:
                found = np.maximum(found, after(before[m], 1))
            now.append(found)
        before = now
    return float(np.interp(a, grid, before[answers]))


def brink(sigma: float, sigma_check: float) -> tuple[list[Pair], list[Pair]]:
    """The worst rows, rows of two classes, and some more, in both directions."""
    h, k = 1 / sigma, 1 / sigma_check
    near = [(0.75, 0.75), (0.75 + h, 0.75), (9.0, 9.0), (9.0 + h, 9.0 - h), (0.2, 1.4)]
    return label_rows(sigma, near + [(v + h, u - h) for u, v in near]), check_rows(
        sigma_check, [k / 2, 0.0, k, -0.5, k + 0.5, 2.0]
    )


@pytest.mark.slow
@pytest.mark.parametrize(("sigma", "sigma_check", "answers", "queries"), [(6.0, 4.0, 12, 30), (9.0, 40.0, 25, 25)])
def test_labels_and_checks_in_any_order_cost_less(sigma: float, sigma_check: float, answers: int, queries: int) -> None:
    rows = brink(sigma, sigma_check)
    bound = any_votes_epsilon(sigma, queries, 1e-5, Checks(0.0, sigma_check, answers))
    assert worst_excess(*rows, answers, queries, math.exp(bound)) <= 1e-5
    assert worst_excess(*rows, answers, queries, math.exp(0.85 * bound)) > 1e-5


@lru_cache
def releases(threshold: float, sigma_check: float, sigma: float, K: int, classes: int) -> tuple[Floats, Floats]:
    """All neighbouring votes of K voters: Pr[label or, last, none] on both, by integrals."""

    @lru_cache
    def chances(votes: tuple[int, ...]) -> list[float]:
        passes = ndtr((max(votes) - threshold) / sigma_check)
        labels = [quad(density, -math.inf, math.inf, (votes, j), epsabs=1e-13)[0] for j in range(classes)]
        return [passes * float(p) for p in labels] + [1 - passes]

    def density(t: float, votes: tuple[int, ...], j: int) -> float:
        behind = [ndtr((t - n) / sigma) for i, n in enumerate(votes) if i != j]
        return float(math.prod(behind) * norm.pdf(t, votes[j], sigma))

    P, Q = [], []
    for known in product(range(K), repeat=classes):
        if sum(known) == K - 1:
            sides = [chances(tuple(n + (j == c) for j, n in enumerate(known))) for c in range(classes)]
            for c, d in product(range(classes), repeat=2):
                if c != d:
                    P.append(sides[c])
                    Q.append(sides[d])
    return np.array(P), np.array(Q)


def excess(rows: tuple[Floats, Floats], queries: int, answers: int, a: Floats) -> Floats:
    """By the best adaptive choice of votes at every query, which stops after so many labels."""
    if not queries or not answers:
        return np.maximum(0.0, 1 - a)
    P, Q = rows
    at = a[..., None, None] * Q / P
    none = excess(rows, queries - 1, answers, at[..., -1])
    labels = excess(rows, queries - 1, answers - 1, at[..., :-1])
    return np.asarray(((P[:, :-1] * labels).sum(axis=-1) + P[:, -1] * none).max(axis=-1))


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize(
    ("K", "classes", "queries", "answers"), [(4, 2, 3, 1), (4, 2, 3, 3), (3, 3, 3, 2), (2, 4, 2, 1)]
)
@pytest.mark.parametrize("noise", [(3.0, 2.0, 3.0), (2.0, 1.0, 1.0)])
def test_no_strategy_costs_more_than_a_total(
    K: int, classes: int, queries: int, answers: int, noise: tuple[float, float, float]
) -> None:
    """A total of any votes, and one of these; a cap lowers both."""
    rows, delta = releases(*noise, K, classes), 1e-3
    for votes in ({}, {"K": K, "classes": classes}):
        total = compose(ConfidentNoisyMax(*noise, answers=answers, **votes), queries, delta=delta)
        attained = [
            float(excess(rows, queries, answers, np.array(math.exp(x)))) for x in (total.upper, total.lower - 1e-9)
        ]
        assert attained[0] <= delta
        assert not votes or attained[1] >= delta
        assert total.lower <= total.upper
    if answers == queries:
        assert total.upper < total.lower * 1.01
        assert excess(rows, queries, answers, np.array(math.exp(total.upper - 0.02))) > delta


def test_a_cap_is_counted() -> None:
    """Gaussian DP of labels and checks, and totals that grow with both."""
    free, capped = (compose(ConfidentNoisyMax(5, 8.0, 4.0, answers=n), 6, delta=1e-5) for n in (None, 2))
    for total, labels in ((free, 6), (capped, 2)):
        assert total.bounds["Gaussian DP"] == pytest.approx(gdp_epsilon(math.sqrt(2 * labels / 16 + 6 / 64), 1e-5))
        assert total.upper <= total.bounds["Gaussian DP"] < total.bounds["Renyi DP"]
    more = compose(ConfidentNoisyMax(5, 8.0, 4.0, answers=7), 6, delta=1e-5)
    assert more.bounds == free.bounds
    assert capped.upper < free.upper
    labels = compose(GaussianNoisyMax(4.0), 2, delta=1e-5)
    assert labels.lower == pytest.approx(capped.lower)
    assert labels.upper < capped.upper


def test_narrow_noise_of_checks_is_that_of_the_largest_count() -> None:
    found = _together(3.0, 20, 1e-5, Checks(0.0, 0.5, 5))
    assert found.level == pytest.approx(5 * 2 / 9 + 20 * 4)
    assert found.pad == 0


@pytest.mark.slow
def test_mnist_of_pate_2018() -> None:
    """2.004 by a ladder without rounding and with joint strategies up to 1.97; 3.17 by Renyi DP in the paper."""
    total = compose(MNIST, 640, delta=1e-5)
    assert 1.97 < total.upper < 2.0125
    assert total.upper == total.bounds["ladder of Gaussian profiles"]
    assert total.lower == pytest.approx(compose(GaussianNoisyMax(40), 286, delta=1e-5).lower)
    assert 640 <= max_queries(MNIST, 2.0125, 1e-5) < 660


@pytest.mark.slow
def test_two_classes_of_adult_are_counted_exactly() -> None:
    """250 teachers who all vote, with no cap on labels; the ladder has 2.78 for 524 labels."""
    adult = ConfidentNoisyMax(300, 200, 40, K=250, classes=2)
    assert compose(adult, 1500, delta=1e-5, tolerance=1e-2).upper == pytest.approx(2.045, abs=1e-2)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: compose(MNIST, 640, delta=0.0), "delta must be above 0 for Gaussian noise"),
        (lambda: compose(MNIST, 640, delta=1e-5, voters="fresh"), "voters does not apply to ConfidentNoisyMax"),
        (lambda: compose(MNIST, 640, delta=1e-5, K=250), "Pass both"),
        (lambda: darrm.accounting.noisy_max_parameter(ConfidentNoisyMax, 9, 1.0, 1e-5), "kind must be"),  # type: ignore[arg-type]
    ],
)
def test_totals_that_there_are_not(call: Callable[[], object], match: str) -> None:
    with pytest.raises(darrm.InputError, match=match):
        call()


def test_a_total_says_that_it_is_of_queries_and_how_many_have_a_label() -> None:
    said = {
        str(compose(ConfidentNoisyMax(200, 150, 40, answers=answers), 640, delta=1e-5)).partition(" of ")[2]
        for answers in (286, 640, None)
    }
    assert {text.partition(" of non")[0] for text in said} == {"640 queries with 286 labels at most", "640 queries"}
    assert compose(MNIST, 640, delta=1e-5).answers == 286

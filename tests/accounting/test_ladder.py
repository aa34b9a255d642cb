"""Totals of Gaussian noisy max for any number of votes and classes, against rows and recursions made here."""

import math
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from cases import slow, thorough
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

import darrm
from darrm.accounting import OutcomeRows, compose, ladder, max_queries, noisy_max_parameter
from darrm.accounting.count_cells import Cells, cells_of, divergence
from darrm.accounting.gaussian import gdp_delta, gdp_epsilon
from darrm.accounting.ladder import (
    _increments,
    _together,
    any_votes_epsilon,
    any_votes_profile,
    any_votes_queries,
    any_votes_sigma,
    climb,
)
from darrm.accounting.many_answers import of_rows
from darrm.mechanisms import ExponentialMechanism, GaussianNoisyMax, LaplaceNoisyMax, PermuteAndFlip

Floats = NDArray[np.float64]


def first(u: float, v: float) -> float:
    """Pr[u + Z > max(0, v + Z')], by an integral over Z."""
    found = quad(lambda z: norm.pdf(z) * ndtr(z + u - v), -u, max(-u, 0) + 14, epsabs=1e-18, epsrel=1e-12, limit=500)
    return float(found[0])


@cache
def row(u: float, v: float) -> tuple[float, float, float]:
    return first(u, v), first(v, u), float(ndtr(-u) * ndtr(-v))


def G(a: float, s: float) -> float:
    mu = math.sqrt(s)
    return float(ndtr(mu / 2 - math.log(a) / mu) - a * ndtr(-mu / 2 - math.log(a) / mu))


def after_one_label(u: float, v: float, h: float, a: float, s: float) -> float:
    """T_r G_s at a."""
    pairs = zip(row(u, v), row(u - h, v + h), strict=True)
    return sum(p * G(a * q / p, s) for p, q in pairs if p > 1e-290)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3, 4, 5)])
def test_no_row_needs_more_than_a_step(seed: int) -> None:
    """Rows, levels and a at random, with integrals of their own; in units of the step, to rounding."""
    rng = np.random.default_rng(seed)
    sigma, labels, pad = math.exp(rng.uniform(0.05, 5)), int(math.exp(rng.uniform(2.5, 7))), 10 ** rng.uniform(-12, -7)
    h = 1 / sigma
    cells, s = cells_of(h, pad), labels * h * h * rng.uniform(1.3, 2)
    step = float(_increments(cells, s, (pad, pad), 2 * h * h)[0].max())
    assert h * h < step <= 2 * h * h
    for place in range(30):
        u, v = rng.normal(0.75, 1.0, 2) if place % 2 else rng.uniform(-5, 9, 2)
        z = rng.uniform(-math.sqrt(s) / 2, 7)
        a = math.exp(s / 2 + z * math.sqrt(s))
        unit = step * math.exp(-z * z / 2) / math.sqrt(2 * math.pi * s) / 2
        over = (after_one_label(u, v, h, a, s) - G(a, s + step) - pad) / unit
        assert over < 1e-6 + 1e-15 / unit


@pytest.mark.slow
def test_a_step_is_hardly_above_what_one_row_needs() -> None:
    """At large levels a row needs 2 KL: 1.2799 / sigma^2 at most, found on a fine grid of rows."""
    h = 1 / 40
    most = 0.0
    for u in np.linspace(0.5, 1.1, 7):
        for v in np.linspace(0.5, 1.1, 7):
            pairs = zip(row(u, v), row(u - h, v + h), strict=True)
            most = max(most, 2 * sum(p * math.log(p / q) for p, q in pairs))
    limit = float(cells_of(h, 1e-11).increments(np.zeros(1), math.inf).max())
    assert 1.2798 * h * h < most < limit < 1.004 * most


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sigma", "s", "z"),
    [(40.0, 0.01, 5.5), (1.0, 12.0, 3.0), (3.0, 9.0, -1.0), (40.0, 0.1, 5.0)],
)
def test_cells_bound_rows_between_their_corners(sigma: float, s: float, z: float) -> None:
    """2 (T_r G_s - G_s) / psi_s of rows between the corners, in fifty digits, is below the largest of the cells."""
    h, rng = 1 / sigma, np.random.default_rng(7)
    cells = cells_of(h, 1e-10)
    d, m = np.array([0.0125, -0.45, 1.3, -2.7, 0.8001, 4.4]), np.array([0.9, 1.2, -0.7, 2.6, 3.3, 0.01])
    at = np.array([z, z])
    most = float(cells.increments(at, s)[0].max())
    for x, y in zip(rng.permutation(d), m, strict=True):
        u, v = float(y + x) / math.sqrt(2), float(y - x) / math.sqrt(2)
        total = mpmath.mpf(0)
        with mpmath.workdps(50):
            for p, q in zip(exact_row(u, v), exact_row(u - h, v + h), strict=True):
                total += p * exact_divergence(mpmath.log(q / p), z, s)
            assert total <= most


def exact_row(u: float, v: float) -> list[mpmath.mpf]:
    def wins(x: float, y: float) -> mpmath.mpf:
        points = [-x, max(-x, 0) + 3, max(-x, 0) + 14]
        return mpmath.quad(lambda t: mpmath.npdf(t) * mpmath.ncdf(t + x - y), points)

    return [wins(u, v), wins(v, u), mpmath.ncdf(-u) * mpmath.ncdf(-v)]


def exact_divergence(loss: mpmath.mpf, z: float, s: float) -> mpmath.mpf:
    def inside(x: mpmath.mpf) -> mpmath.mpf:
        return mpmath.expm1(loss - x) * mpmath.exp(-x * (z / mpmath.sqrt(s) + x / (2 * mpmath.mpf(s))))

    return 2 * mpmath.quad(inside, [0, loss / 2, loss])


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize("s", [1e-6, 0.05, 30.0])
def test_integrals_are_upper_bounds_and_close(s: float) -> None:
    """Losses within 2.5 sqrt(s), and z up to 16 / 2.5, to a relative 1e-9; wider losses are bounded from above."""
    z = np.linspace(-math.sqrt(s) / 2, 6.3, 4)
    losses = math.sqrt(s) * np.array([-2.49, -1.0, -1e-3, 1e-3, 0.7, 2.49, -3.5, 3.0])
    found = divergence(losses, z, s)
    for i, at in enumerate(z.tolist()):
        for j, loss in enumerate(losses.tolist()):
            with mpmath.workdps(40):
                exact = float(exact_divergence(mpmath.mpf(loss), at, s))
            assert found[i, j] >= exact * (1 - 1e-9)
            if abs(loss) <= 2.5 * math.sqrt(s):
                assert found[i, j] <= exact * (1 + 1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize(("sigma", "labels"), [(40.0, 300), *slow((1.0, 20))])
def test_beyond_the_last_a_nothing_is_left(sigma: float, labels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """G_(s + c) is at most a quarter of a pad at the last a at which a step is compared."""
    compared: list[float] = []
    evaluated = Cells.increments

    def noted(self: Cells, z: Floats, s: float) -> Floats:
        if math.isfinite(s):
            compared.append(float(s / 2 + z[-1] * math.sqrt(s)))
        return evaluated(self, z, s)

    h, pad = 1 / sigma, 1e-9
    monkeypatch.setattr(Cells, "increments", noted)
    s = 1.4 * labels * h * h
    step = float(_increments(cells_of(h, pad), s, (pad, 1e-3 * pad), 2 * h * h)[0].max())
    assert gdp_delta(compared[-1], math.sqrt(s + min(step, 2 * h * h))) <= 1e-3 * pad / 4


class _Line:
    """A cell whose ln X is a line in z: the tangent of ln((e^(rate c) - 1) / rate) at one z."""

    def __init__(self, s: float, most: float, c: float, at: float) -> None:
        self.at = at
        value, after = (math.log(self.grown(s, most, c, z)) for z in (at, at + 1e-5))
        self.value, self.slope = value, (after - value) / 1e-5

    @staticmethod
    def grown(s: float, most: float, c: float, z: float) -> float:
        rate = (s / 2 + z * math.sqrt(s)) ** 2 / (2 * (s + most) ** 2) - 1 / 8 - 1 / (2 * s)
        return math.expm1(rate * c) / rate

    def increments(self, z: Floats, s: float) -> Floats:
        return np.exp(self.value + self.slope * (z - self.at))[:, None]


@pytest.mark.parametrize("s", [0.3, 0.64, 3.0, 12.0])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_increments_are_enough_between_the_points_at_which_they_are_compared(s: float, place: int) -> None:
    """A row may need most in the middle between two z: there its step is not below what is found at both ends."""
    most, pad, ends = 0.5 * s, 1e-30, list[Floats]()

    class Seen(_Line):
        def increments(self, z: Floats, s: float) -> Floats:
            ends.append(z)
            return super().increments(z, s)

    cells: Any = Seen(s, most, most, 0.0)
    _increments(cells, s, (pad, pad), 2 * most)
    at = float(ends[0][place : place + 2].mean())
    cells = _Line(s, most, 0.8 * most, at)
    assert _increments(cells, s, (pad, pad), most)[0][0] >= 0.8 * most * (1 - 1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("sigma", [1.0, 40.0])
def test_every_cell_has_the_cell_of_its_exchanged_rows(sigma: float) -> None:
    """By exchange the first two answers have the losses of the other, with the other sign, at mirrored corners."""
    cells = cells_of(1 / sigma, 1e-9)
    assert (cells.mirror[cells.mirror] == np.arange(len(cells))).all()
    here, there = cells.loss[:, cells.corner], cells.loss[:, cells.corner[:, cells.mirror]]
    seen = (cells.P[0][cells.corner] > 1e-12) & (cells.P[1][cells.corner[[1, 0, 3, 2]][:, cells.mirror]] > 1e-12)
    assert np.allclose(here[0][seen], -there[1][[1, 0, 3, 2]][seen], rtol=1e-7, atol=1e-12)
    few = cells.among(np.arange(len(cells)) % 2 == np.arange(len(cells))[cells.mirror] % 2)
    assert (few.mirror[few.mirror] == np.arange(len(few))).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sigma", "queries", "delta"),
    [(1e6, 10**7, 0.006), (1e5, 10**7, 0.1), (1000.0, 10**6, 0.1), (1e4, 10**7, 1e-3)],
)
def test_large_pads_are_no_more_than_what_they_may_be(sigma: float, queries: int, delta: float) -> None:
    found = climb(1 / sigma, queries, delta * 1e-2)
    assert found.pad <= delta * 1e-2
    assert any_votes_epsilon(sigma, queries, delta) <= gdp_epsilon(math.sqrt(2 * queries) / sigma, delta) + 1e-200


def some_rows(sigma: float, count: int, seed: int) -> OutcomeRows:
    """Rows at random, the worst ones, and that of two classes among them."""
    rng, h = np.random.default_rng(seed), 1 / sigma
    places = [(0.75, 0.75), (0.75 + h / 2, 0.75 - h / 2), (9.0, 9.0 - h), (9.0 + h, 9.0 - h)]
    places += [tuple(each) for each in rng.normal(0.6, 1.2, (count - len(places), 2)).tolist()]
    P, Q = (np.array([row(u - shift, v + shift) for u, v in places]) for shift in (0.0, h))
    return OutcomeRows.of(P / P.sum(axis=1, keepdims=True), Q / Q.sum(axis=1, keepdims=True), rho=1e-9)


@pytest.mark.parametrize(("sigma", "queries"), [*thorough((7.0, 40)), *slow((30.0, 150))])
def test_strategies_of_listed_rows_cost_less(sigma: float, queries: int) -> None:
    """The exact composition of 24 rows, chosen adaptively: below the ladder, and not by far."""
    listed = of_rows(some_rows(sigma, 24, 3), queries, 1e-5)
    bound = any_votes_epsilon(sigma, queries, 1e-5)
    assert listed.lower <= bound
    assert listed.upper <= bound * (1 + 1e-3)
    assert bound < (1.2 if queries < 50 else 1.05) * listed.upper  # the first labels cost as much as the counts


@pytest.mark.parametrize(
    ("sigma", "K", "classes", "queries"), [*thorough((2.0, 9, 4, 20)), *slow((50**0.5, 25, 3, 100), (1.1, 10, 2, 30))]
)
def test_exact_totals_of_given_votes_cost_less(sigma: float, K: int, classes: int, queries: int) -> None:
    exact = compose(GaussianNoisyMax(sigma, K=K, classes=classes), queries, delta=1e-5)
    total = compose(GaussianNoisyMax(sigma), queries, delta=1e-5)
    assert exact.upper <= total.bounds["ladder of Gaussian profiles"]
    assert total.upper <= gdp_epsilon(math.sqrt(2 * queries) / sigma * (1 + 1e-9), 1e-5)


# Attained by strategies, and the bound of another implementation of Theorem 2 without rounding.
PUBLISHED = (
    (40.0, 1000, 1e-5, 3.853, 3.871),
    *slow(
        (50**0.5, 100, 1e-5, 7.705, 7.794), (40.0, 10_000, 1e-5, 15.404, 15.511), (100.0, 10_762, 1e-8, 6.888, 6.931)
    ),
)


@pytest.mark.thorough
@pytest.mark.parametrize(("sigma", "queries", "delta", "attained", "bound"), PUBLISHED)
def test_totals_of_pate(sigma: float, queries: int, delta: float, attained: float, bound: float) -> None:
    found = any_votes_epsilon(sigma, queries, delta)
    assert attained < found < 1.03 * bound


@pytest.mark.slow
def test_a_total_of_little_noise_is_as_tight_as_it_was() -> None:
    """Where cells are far narrower than what a changed vote moves: no published figure is near."""
    assert any_votes_epsilon(1.0, 20, 1e-5) <= 41.53


@pytest.mark.thorough
def test_pads_are_counted() -> None:
    """The level alone would allow less: delta less all pads is what is left."""
    found = climb(1 / 40, 1000, 1e-7)
    assert 0 < found.pad <= 1e-7
    assert any_votes_epsilon(40.0, 1000, 1e-5) == gdp_epsilon(math.sqrt(found.level) * (1 + 1e-15), 1e-5 - found.pad)


def test_without_a_delta_there_are_the_noisy_counts() -> None:
    mu, pad = any_votes_profile(4.0, 20, 0.0)
    assert (mu, pad) == (pytest.approx(math.sqrt(40 / 16)), 0.0)


def test_few_labels_are_the_noisy_counts() -> None:
    assert any_votes_epsilon(40.0, 5, 1e-5) == pytest.approx(gdp_epsilon(math.sqrt(10) / 40, 1e-5), rel=1e-9)
    assert any_votes_epsilon(0.9, 100, 1e-5) == math.inf  # Gaussian DP of the counts stands beside it
    assert (
        compose(GaussianNoisyMax(0.9), 100, delta=1e-5).upper
        == compose(GaussianNoisyMax(0.9), 100, delta=1e-5).bounds["Gaussian DP"]
    )


@pytest.mark.thorough
@pytest.mark.parametrize(("queries", "epsilon"), [(1, 1.0), *slow((20, 4.0), (3000, 2.0))])
def test_the_least_noise_of_a_total_and_the_most_labels_of_a_noise(queries: int, epsilon: float) -> None:
    sigma = any_votes_sigma(queries, epsilon, 1e-5)
    spent = compose(GaussianNoisyMax(sigma), queries, delta=1e-5).upper
    assert 0.995 * epsilon < spent <= epsilon
    most = any_votes_queries(sigma, epsilon, 1e-5, max(1, queries // 2), 10**6)
    assert queries <= most <= 1.01 * queries + 1
    assert max_queries(GaussianNoisyMax(sigma), epsilon, 1e-5) == most


@pytest.mark.slow
def test_noise_and_labels_without_numbers_of_votes() -> None:
    assert noisy_max_parameter(GaussianNoisyMax, 100, 4.0, 1e-5) == any_votes_sigma(100, 4.0, 1e-5)
    assert noisy_max_parameter(GaussianNoisyMax, 100, 4.0, 1e-5, K=250, classes=10) == any_votes_sigma(100, 4.0, 1e-5)
    for kind in (LaplaceNoisyMax, PermuteAndFlip, ExponentialMechanism):
        made = kind(noisy_max_parameter(kind, 100, 4.0, 1e-5))
        total = compose(made, 100, delta=1e-5)
        own = kind is ExponentialMechanism
        names = ["Renyi DP"] * own + ["simple composition", "optimal composition"] + ["bounded range"] * own
        assert list(total.bounds) == names
        assert 3.9 < total.upper <= 4
        assert max_queries(made, 4.0, 1e-5) in (100, 101)


@pytest.mark.thorough
def test_totals_without_numbers_of_votes() -> None:
    total = compose(GaussianNoisyMax(40.0), 1000, delta=1e-5)
    assert (total.K, total.classes) == (None, None)
    assert list(total.bounds) == ["Renyi DP", "Gaussian DP", "ladder of Gaussian profiles"]
    assert 3.8 < total.lower < total.upper < 3.88
    many = compose(GaussianNoisyMax(40.0), 1000, delta=1e-5, K=250, classes=10)
    assert (many.K, many.classes, many.upper) == (250, 10, total.upper)
    with pytest.raises(darrm.InputError, match="Pass both"):
        compose(GaussianNoisyMax(40.0), 1000, delta=1e-5, K=250)
    with pytest.raises(darrm.InputError, match="delta must be above 0 for Gaussian noise"):
        compose(GaussianNoisyMax(40.0), 1000, delta=0.0)


@pytest.mark.slow
def test_a_mechanism_with_votes_is_counted_exactly() -> None:
    """25 teachers: 100 labels of (7.66, 1e-5) where any votes allow fewer."""
    exact = max_queries(GaussianNoisyMax(50**0.5, K=25, classes=3), 7.7, 1e-5)
    assert max_queries(GaussianNoisyMax(50**0.5), 7.7, 1e-5) < 97 < 100 <= exact


@pytest.mark.slow
def test_labels_climb_by_rows_of_any_classes() -> None:
    """Rows of two classes alone, which need less, are for checks: the total and its profile count all rows."""
    all_rows, two = (climb(1 / 40, 700, 1e-7, which).level for which in (False, True))
    found = _together(40.0, 700, 1e-5, None)
    assert found.level == all_rows > 1.002 * two
    mu, _ = any_votes_profile(40.0, 700, 1e-5)
    assert mu**2 > 1.002 * two


def test_the_number_of_labels_climbs_no_ladder_of_one_more_that_is_above(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ladders whose steps are all equal: from the number by counts the second is that of the answer."""
    looked: list[int] = []

    @cache
    def climbed(n: int) -> ladder.Ladder:
        looked.append(n)
        return ladder.Ladder(n * 8e-4, 1e-5 * ladder.PADS, 8e-4)

    monkeypatch.setattr(ladder, "_together", lambda sigma, n, *_: climbed(n))
    found = ladder.any_votes_queries(40.0, 4.0, 1e-5, 684, 10**6)
    assert looked == [684, found]
    within = [gdp_epsilon(math.sqrt(n * 8e-4), 1e-5 * (1 - ladder.PADS)) <= 4.0 for n in (found, found + 2)]
    assert within == [True, False]

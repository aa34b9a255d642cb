"""The profile and the region of one release, against the definition."""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from cases import thorough
from oracles import exact

import darrm
from darrm.accounting import compose, gdp, profile_bounds
from darrm.accounting.profile import region, says_nothing


def noise(rng: np.random.Generator, K: int, kind: str) -> np.ndarray:
    half = rng.random(K - K // 2)
    if kind == "monotone":
        half = np.sort(half)
    if kind == "reaches 1":
        half[-1] = 1
    return np.concatenate([half[::-1], np.zeros((K + 1) % 2), half])


@pytest.mark.parametrize("kind", ["random", "monotone", "reaches 1"])
@pytest.mark.parametrize("Delta", [0.0, 1e-3, 0.2])
@pytest.mark.parametrize("K", [2, 3, 4])
def test_profile_is_between_its_bounds(K: int, Delta: float, kind: str) -> None:
    rng = np.random.default_rng([K, int(1000 * Delta), len(kind)])
    for max_affected in {1, K}:
        problem = darrm.MajorityProblem(K, 1.3, 0.4, Delta, max_affected=max_affected)
        gamma = noise(rng, K, kind)
        epsilons = [0.0, 0.2, 0.52, 1.0, 3.0]
        for epsilon, (low, high) in zip(epsilons, profile_bounds(gamma, problem, epsilons), strict=True):
            true = max(Fraction(0), exact.worst_excess(gamma.tolist(), problem, Decimal(epsilon)))
            assert low <= true <= high
            assert high - low <= 1e-10


@pytest.mark.parametrize("K", [1, 3, 11, 2, 10])
@pytest.mark.parametrize("Delta", [0.0, 0.01])
def test_plain_majority_of_one_changed_voter(K: int, Delta: float) -> None:
    """Odd K: one voter can decide, so the profile is that of its own bit; even K: half of it, for a tie is a coin."""
    problem = darrm.MajorityProblem(K, 1, 0.5, Delta, max_affected=1)
    gamma = np.ones(K + 1)
    epsilons = np.array([0.0, 0.1, 0.3, 0.5, 2.0])
    found = darrm.privacy_profile(gamma, problem, epsilons)
    hi, lo = (math.exp(0.5) + Delta) / (math.exp(0.5) + 1), (1 - Delta) / (math.exp(0.5) + 1)
    bit = np.maximum(Delta, hi - np.exp(epsilons) * lo)
    if K % 2:
        assert found == pytest.approx(bit, abs=1e-12)
    else:
        # A tie or a majority of one: X is 1/2 and 1, or 1/2 and 0.
        half = [max(0.0, x - math.exp(e) * y) for e in epsilons for x, y in [(hi / 2, lo / 2)]]
        assert found == pytest.approx(np.maximum(Delta / 2, half), abs=1e-12)


def test_no_votes_cost_nothing() -> None:
    problem = darrm.MajorityProblem(5, 1, 0.3)
    assert darrm.privacy_profile(np.zeros(6), problem, [0, 1, np.inf]).tolist() == [0, 0, 0]
    assert region(np.zeros(6), problem).outer == ()


def test_profile_keeps_its_shape_and_falls() -> None:
    design = darrm.solve(K=11, m=3, epsilon=0.1, Delta=1e-5)
    found = darrm.privacy_profile(design.gamma, design.problem, np.linspace(0, 1, 20).reshape(4, 5))
    assert found.shape == (4, 5)
    assert np.all(np.diff(found.ravel()) <= 1e-15)
    at = darrm.privacy_profile(design.gamma, design.problem, [design.problem.release_epsilon])
    assert at[0] == pytest.approx(design.problem.delta, rel=1e-9)


@pytest.mark.parametrize("bad", [[-1e-9], [float("nan")], "x", [[0, -1]], None])
def test_epsilons_that_are_none(bad: object) -> None:
    with pytest.raises(darrm.InputError, match="Got"):
        darrm.privacy_profile(np.ones(6), darrm.MajorityProblem(5, 1, 0.3), bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["random", "monotone", "reaches 1"])
@pytest.mark.parametrize("Delta", [0.0, 0.05])
@pytest.mark.parametrize("max_affected", [1, 3])
def test_region_is_between_its_polygons(kind: str, Delta: float, max_affected: int) -> None:
    """Every pair of probabilities of every multiset is inside the outer polygon; the inner corners are attained."""
    K = 3
    rng = np.random.default_rng([max_affected, len(kind)])
    problem = darrm.MajorityProblem(K, 1, 0.4, Delta, max_affected=max_affected)
    gamma = noise(rng, K, kind)
    found = region(gamma, problem)
    corners = [(p.x, p.y) for p in found.outer]
    corners += [(1 - y, 1 - x) for x, y in corners]
    kinds = 8 if Delta else 4
    points = [
        tuple(map(float, exact.probabilities(gamma.tolist(), problem, counts)))
        for counts in exact.multisets(K, kinds, max_affected)
    ]
    for angle in np.linspace(-math.pi / 4, -math.pi / 2, 50):
        # The region is symmetric; below the diagonal and towards its lower left its support is all that matters.
        u = math.cos(angle), math.sin(angle)
        support = max(u[0] * x + u[1] * y for x, y in [*corners, (0.5, 0.5)])
        floor = (1 - gamma[K // 2 + 1 :].max()) / 2
        support = max(support, (u[0] + u[1]) * floor)
        for x, y in points:
            assert u[0] * x + u[1] * y <= support + 1e-12
    for inner in found.inner:
        assert min(abs(inner.x - x) + abs(inner.y - y) for x, y in points) <= 1e-10
    for outer in found.outer:
        assert outer.x >= outer.y
        assert (outer.not_x, outer.not_y) == pytest.approx((1 - outer.x, 1 - outer.y), rel=1e-12)


def test_outer_and_inner_polygon_are_close() -> None:
    design = darrm.solve(K=11, m=3, epsilon=0.0892, Delta=1e-4)
    found = region(design.gamma, design.problem)
    assert found.delta_infinity == pytest.approx(1.81807e-4, rel=1e-5)
    for inner in found.inner:
        assert min(math.hypot(inner.x - p.x, inner.y - p.y) for p in found.outer) <= 1e-6 * inner.x + 1e-9


@pytest.mark.parametrize("epsilon", [1e-8, 1e-5, 0.1])
def test_the_largest_loss_is_not_below_the_truth(epsilon: float) -> None:
    problem = darrm.MajorityProblem(1, 1, epsilon)
    design = darrm.Design(problem, darrm.repair(np.ones(2), problem), darrm.priors.common())
    total = compose(design, 1, delta=0.0, voters="fresh").upper
    assert epsilon * (1 - 1e-12) <= total <= epsilon


@pytest.mark.parametrize("epsilon", [30.0, 40.0])
def test_losses_near_the_end_of_float64_are_composed(epsilon: float) -> None:
    # One voter between a 1 and a 0 decides, but for the coin of a gamma that repair kept below 1.
    design = darrm.solve(K=3, m=1, epsilon=epsilon, max_affected=1)
    truth = -3 * math.log(math.exp(-epsilon) + (1 - design.gamma.max()) / 2)
    assert compose(design, 3, delta=1e-9, voters="fresh").upper == pytest.approx(truth, rel=1e-8)


def test_a_corner_rounded_to_one_is_composed() -> None:
    design = darrm.solve(K=3, m=3, epsilon=20.0, max_affected=3)
    total = compose(design, 3, delta=1e-9, voters="fresh")
    assert 3 * 2 * 20.0 - 1e-6 <= total.lower <= total.upper <= 3 * 3 * 20.0  # two of three voters decide


def test_a_corner_at_the_floor_is_found() -> None:
    gamma = [0.3855872572300576, 0.6203, 0.3855872572300576]
    problem = darrm.MajorityProblem(2, 1.055871965031871, 5, 0.3, max_affected=1)
    found = region(gamma, problem)
    last = min(found.outer, key=lambda point: point.y)
    assert (last.x, last.y) == pytest.approx((0.36504, 0.30721), abs=1e-5)


@pytest.mark.thorough
def test_a_profile_is_held() -> None:
    kept = {"K": 11, "m": 3, "epsilon": 0.0892, "Delta": 1e-4}
    free, rising = darrm.solve(**kept), darrm.solve(**kept, shape="monotone")  # type: ignore[arg-type]
    epsilons = [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.2676, 0.28, 0.3, math.inf]
    deltas = darrm.privacy_profile(rising.gamma, rising.problem, [*epsilons[:-1], 11 * 0.0892 + 14]) * (1 + 1e-9)
    design = darrm.solve(**kept, profile=zip(epsilons, deltas, strict=True))  # type: ignore[arg-type]
    assert free.error < design.error < rising.error
    assert design.gap < 1e-9
    assert np.all(darrm.privacy_profile(design.gamma, design.problem, epsilons) <= deltas)
    assert np.any(darrm.privacy_profile(free.gamma, free.problem, epsilons) > deltas)


def test_a_profile_survives_its_file(tmp_path: object) -> None:
    design = darrm.solve(K=5, m=2, epsilon=0.3, profile=[(0.2, 0.1), (math.inf, 0.0)])
    path = f"{tmp_path}/gamma.json"
    design.save(path)
    assert darrm.load(path).profile == design.profile == ((0.2, 0.1), (math.inf, 0.0))


def test_a_design_that_breaks_its_profile_cannot_be() -> None:
    design = darrm.solve(K=5, m=2, epsilon=0.3)
    with pytest.raises(darrm.CertificateError, match="a point of its profile"):
        darrm.Design(design.problem, design.gamma, design.prior, profile=((0.0, 1e-3),))


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize("mu", [1.0, *thorough(0.1, 0.3)])
def test_gaussian_profile_is_held_between_its_points(mu: float) -> None:
    from scipy.stats import norm

    problem = darrm.MajorityProblem(11, 11, 0.1, 1e-6)
    design = darrm.solve(problem, profile=gdp(mu))
    epsilons = np.linspace(0, mu * mu / 2 + 8 * mu, 300)
    curve = norm.cdf(mu / 2 - epsilons / mu) - np.exp(epsilons) * norm.cdf(-mu / 2 - epsilons / mu)
    assert np.all(darrm.privacy_profile(design.gamma, problem, epsilons) <= curve * (1 + 1e-9) + 1e-15)
    finer = darrm.solve(problem, profile=gdp(mu, points=60))
    assert finer.error <= design.error + 1e-9


def test_gaussian_points_are_below_the_curve() -> None:
    """Where tangents touch it, to the last digit: there the polygon comes closest."""
    flint = pytest.importorskip("flint")
    arb = flint.arb
    for mu, number in product((1e-5, 1e-3, 0.05, 1.0, 12.0), (2, 8, 24)):
        points = gdp(mu, number)
        assert all(e < f and d >= g for (e, d), (f, g) in pairwise(points))
        with flint.ctx.workprec(300):
            for touch in np.linspace(0, mu * mu / 2 + 6 * mu, number).tolist():
                here, there = ((arb(sign * mu) / 2 - arb(touch) / mu) / arb(2).sqrt() for sign in (1, -1))
                curve = ((-here).erfc() - arb(touch).exp() * (-there).erfc()) / 2
                (e, d), (f, g) = next(pair for pair in pairwise(points) if touch <= pair[1][0])
                share = (arb(touch).exp() - arb(e).exp()) / (arb(f).exp() - arb(e).exp())
                polygon = arb(d) + share * (arb(g) - arb(d))
                assert 0 < polygon < curve < polygon * 1.000001


@pytest.mark.parametrize(
    "profile",
    [
        [(0, 0)],
        [(0.2, 0.1), (0.1, 0.05)],
        [(0.1, 0.1), (0.2, 0.2)],
        [(-1, 0.1)],
        [(0.1, 1)],
        [0.1],
        [("a", 1)],
        [(float("nan"), 0.1)],
        3,
    ],
)
def test_profiles_that_are_none(profile: object) -> None:
    with pytest.raises((darrm.InputError, TypeError)):
        darrm.solve(K=5, m=2, epsilon=0.3, profile=profile)  # type: ignore[arg-type]


@pytest.mark.parametrize("mu", [0, -1, float("nan"), 1e-6, 20, "1"])
def test_gdp_of_nothing(mu: object) -> None:
    with pytest.raises(darrm.InputError, match="mu must be"):
        gdp(mu)  # type: ignore[arg-type]


@pytest.mark.thorough
def test_points_that_the_move_takes_across_the_diagonal_are_not_attained() -> None:
    problem = darrm.MajorityProblem(5, 1.1162693962214274, 0.10294811270877499, 9.78797180833433e-14, max_affected=2)
    half = [float.fromhex(x) for x in ("0x1.30338fc3805c9p-1", "0x1.adc2fca8856a8p-1", "0x1.fffffffffff52p-1")]
    gamma = np.array([*half[::-1], *half])
    assert all(point.x > point.y for point in region(gamma, problem).inner)
    design = darrm.Design(problem, gamma, darrm.priors.independent())
    for delta in (1e-13, 1e-12):
        total = compose(design, 50, delta=delta, voters="fresh")
        assert total.lower < total.upper
        assert total.upper - total.lower < 0.01


@pytest.mark.parametrize("points", [1, 0, 1001, 2.5, True, "9"])
def test_gdp_of_no_points(points: object) -> None:
    with pytest.raises(darrm.InputError, match="points must be"):
        gdp(0.5, points)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-60, 1e-50, 1e-30])
def test_losses_that_no_digit_shows_are_composed(epsilon: float) -> None:
    """They were a division by zero below 1e-59."""
    design = darrm.solve(K=3, m=2, epsilon=epsilon, delta=1e-300)
    total = compose(design, 10, delta=0.1, voters="fresh")
    assert 0 <= total.lower <= total.upper <= 1e-29


@pytest.mark.parametrize(
    ("table", "problem", "silent"),
    [
        ([0.0] * 4, darrm.MajorityProblem(3, 1, 1.0), True),
        ([1e-300, 0.0, 0.0, 1e-300], darrm.MajorityProblem(3, 1, 1.0), False),
        ([0.7] * 4, darrm.MajorityProblem(3, 1, 1.0), False),
        ([0.0, 1.0, 0.0], darrm.MajorityProblem(2, 1, 1.0), True),  # a tie is a coin whatever gamma is
        ([0.7] * 4, darrm.DecisionProblem([darrm.VoterGroup(3, 1.0)], 1.0), True),
        ([0.7, 0.7, 0.7, 0.7 + 2**-53], darrm.DecisionProblem([darrm.VoterGroup(3, 1.0)], 1.0), False),
        ([[0.5, 0.25, 0.25]] * 3, darrm.DecisionProblem([darrm.VoterGroup(1, 1.0)], 1.0, classes=3), True),
        ([[0.5, 0.25, 0.25]], darrm.DecisionProblem([darrm.VoterGroup(1, 1.0)], 1.0, classes=3), False),
        ([[0.25] * 4] * 2, darrm.DecisionProblem([darrm.VoterGroup(2, 1.0)], 1.0, classes=4), True),
        (
            [[0.1, 0.1, 0.1, 0.7]] * 2,
            darrm.DecisionProblem([darrm.VoterGroup(2, 1.0)], 1.0, classes=3, none=True),
            True,
        ),
    ],
)
def test_a_release_says_nothing_if_all_that_is_drawn_is_as_likely_whatever_the_votes(
    table: list[Any], problem: Any, silent: bool
) -> None:
    assert says_nothing(table, problem) == silent

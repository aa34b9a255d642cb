"""Individual advantage over random bags is that of the definition, and the bounds for random bags hold."""

import math
from itertools import permutations, product

import numpy as np
import pytest
from cases import thorough
from oracles import labels as oracle

import darrm
from darrm.labels import (
    GeometricLabelProportions,
    LabelProportions,
    LaplaceLabelProportions,
    additive_advantage,
    bounds,
    bounds_over_bags,
    individual_advantage,
    individual_advantage_over_bags,
)
from darrm.mechanisms import RandomizedResponse

LLP = LabelProportions()


@pytest.mark.parametrize("replacement", [True, False])
def test_every_bag_one_after_the_other(replacement: bool) -> None:
    """All ordered draws of the others, and all labellings of each bag: no count of compositions, no binomial."""
    population, size, eta_i = [0.1, 0.1, 0.4, 0.7], 3, 0.3
    others = list(product(population, repeat=size - 1) if replacement else permutations(population, size - 1))
    for mechanism, answer in (
        (LLP, oracle.proportions),
        (GeometricLabelProportions(0.7), oracle.geometric(0.7)),
        (RandomizedResponse(0.7), oracle.randomized_response(0.7)),
    ):
        each = [oracle.individual(answer, [eta_i, *rest])[0] for rest in others]
        exact = individual_advantage_over_bags(mechanism, eta_i, population, size, replacement=replacement)
        assert exact.mean == pytest.approx(np.mean(each), abs=1e-13)
        assert exact.standard_error == 0


def test_randomized_response_does_not_see_the_others() -> None:
    for eta_i, epsilon in ((0.5, 1.0), (0.3, 1.0), (0.2, 1.0), (0.8, 3.0)):
        exact = individual_advantage_over_bags(RandomizedResponse(epsilon), eta_i, [0.0, 0.3, 0.9], 5)
        assert exact.mean == pytest.approx(bounds.label_dp_individual(epsilon, [eta_i])[0], abs=1e-15)


def test_the_mean_over_the_population_is_the_additive_advantage() -> None:
    population, k = [0.1, 0.4, 0.8], 5
    bags = np.array(list(product(population, repeat=k)))
    for mechanism in (LLP, LaplaceLabelProportions(1.0), GeometricLabelProportions(1.0)):
        each = [individual_advantage_over_bags(mechanism, x, population, k).mean for x in population]
        assert np.mean(each) == pytest.approx(additive_advantage(mechanism, bags), abs=1e-14)


def test_others_at_their_mean_tell_less() -> None:
    """Jensen, with figures that were found by another program."""
    for eta_i, wanted, at_mean in ((0.5, 0.12369, 0.11260), (0.2, 0.00056, 0.00020)):
        assert individual_advantage_over_bags(LLP, eta_i, [0.1, 0.4], 16).mean == pytest.approx(wanted, abs=6e-6)
        assert individual_advantage(LLP, [eta_i, *[0.25] * 15])[0] == pytest.approx(at_mean, abs=6e-6)
    # Others that are known for certain: the number of ones gives the label away, however large the bag.
    for eta_i, at_mean in ((0.5, 0.04967), (0.2, 0.0)):
        assert individual_advantage_over_bags(LLP, eta_i, [0.0, 1.0], 64).mean == pytest.approx(eta_i, abs=1e-14)
        assert individual_advantage(LLP, [eta_i, *[0.5] * 63])[0] == pytest.approx(at_mean, abs=6e-6)
    one_value = individual_advantage_over_bags(LLP, 0.4, [0.25] * 9, 7).mean
    assert one_value == pytest.approx(individual_advantage(LLP, [0.4, *[0.25] * 6])[0], abs=1e-15)


@pytest.mark.parametrize("replacement", [True, False])
def test_draws_agree_with_the_sum(monkeypatch: pytest.MonkeyPatch, replacement: bool) -> None:
    population = [0.05, 0.05, 0.3, 0.3, 0.5, 0.9]
    exact = individual_advantage_over_bags(LLP, 0.4, population, 5, replacement=replacement)
    monkeypatch.setattr("darrm.labels.measures.over_bags._MOST_COMPOSITIONS", 0)
    draws = {"replacement": replacement, "draws": 4000}
    drawn = individual_advantage_over_bags(LLP, 0.4, population, 5, **draws, rng=np.random.default_rng(1))
    again = individual_advantage_over_bags(LLP, 0.4, population, 5, **draws, rng=np.random.default_rng(1))
    assert drawn == again
    assert drawn.bags == 4000
    assert 0 < drawn.standard_error < 0.003
    assert abs(drawn.mean - exact.mean) <= 5 * drawn.standard_error
    # All of the population, without replacement, is one bag.
    whole = individual_advantage_over_bags(LLP, 0.4, population, 7, replacement=False, draws=2)
    assert whole.mean == pytest.approx(individual_advantage(LLP, [0.4, *population])[0], abs=1e-15)
    assert whole.standard_error == pytest.approx(0, abs=1e-15)


def test_bags_that_cannot_be() -> None:
    with pytest.raises(darrm.InputError, match=r"at least size - 1 = 3 records .* Got 2"):
        individual_advantage_over_bags(LLP, 0.5, [0.1, 0.2], 4, replacement=False)
    with pytest.raises(darrm.InputError, match="the class LabelProportions itself"):
        individual_advantage_over_bags(LabelProportions, 0.5, [0.1, 0.2], 4)  # type: ignore[arg-type]
    assert individual_advantage_over_bags(LLP, 0.3, [0.9], 1).mean == pytest.approx(0.3)


POPULATIONS = ([0.5], [0.1, 0.4], [0.02, 0.9], [0.0, 0.5], [0.001, 0.3], [0.01], [0.2, 0.5, 0.95])


@pytest.mark.parametrize("population", [*POPULATIONS[:3], *thorough(*POPULATIONS[3:])], ids=str)
def test_bounds_over_bags_hold(population: list[float]) -> None:
    p, spread = float(np.mean(population)), float(np.mean(np.multiply(population, np.subtract(1, population))))
    for k in (2, 3, 8, 33, 128) if len(population) < 3 else (2, 3, 8, 33):
        each = []
        for eta_i in [*population, 0.5, 0.05]:
            exact = individual_advantage_over_bags(LLP, eta_i, population, k).mean
            assert exact <= bounds_over_bags.proportions_individual(eta_i, spread, k) + 1e-14
            assert exact <= bounds_over_bags.proportions_individual_by_mean(eta_i, p, spread, k) + 1e-14
            each.append(exact)
        additive = float(np.mean(each[: len(population)]))
        assert additive <= bounds_over_bags.proportions(p, spread, k) + 1e-14
        assert bounds_over_bags.proportions(p, spread, k) <= 2.37 * math.sqrt(spread / (k - 1)) + 1e-15
    for k in (1, 2, 8, 20):
        for epsilon in (0.1, 1.0, 4.0):
            for kind, bound in (
                (LaplaceLabelProportions, bounds_over_bags.laplace_proportions),
                (GeometricLabelProportions, bounds_over_bags.noisy_proportions),
            ):
                exact = np.mean(
                    [individual_advantage_over_bags(kind(epsilon), x, population, k).mean for x in population]
                )
                assert exact <= bound(epsilon, p, spread, k) + 1e-14
            both = bounds_over_bags.laplace_proportions(epsilon, p, spread, k)
            assert both <= bounds.laplace_proportions(epsilon, spread) + 1e-15
            assert both <= bounds_over_bags.noisy_proportions(epsilon, p, spread, k) + 1e-15


def test_the_formula_of_proposition_1() -> None:
    """For these bags it is far above the advantage, so that only the formula shows a mistake in it."""
    for p, spread, k in ((0.5, 0.25, 20), (0.2, 0.1, 150), (0.01, 0.005, 10**4)):
        share = 1.18482 / math.sqrt((k - 1) * spread)
        assert share < 0.6
        before = min(2 * spread, p)
        assert bounds_over_bags.proportions(p, spread, k) == pytest.approx(before * share, rel=1e-14)
        assert bounds_over_bags.proportions_individual(0.3, spread, k) == pytest.approx(0.3 * share, rel=1e-14)
        for bound in (bounds_over_bags.noisy_proportions, bounds_over_bags.laplace_proportions):
            assert bound(1e6, p, spread, k) == pytest.approx(before * share, rel=1e-14)
            assert bound(20.0, p, spread, 1) == pytest.approx(before, rel=1e-4)
    # 5 v = 1.25 is below 1.18482^2: such a bag leaves everything.
    assert bounds_over_bags.proportions(0.5, 0.25, 6) == bounds_over_bags.proportions_individual(0.5, 0.25, 6) == 0.5


def test_the_formula_of_proposition_2() -> None:
    """The parts of its proof: Bernstein with 1 / (2 n) outside, 2 t + 2 integers inside, and the mean of squares."""
    from scipy.integrate import quad

    for p, v, k in ((0.5, 0.25, 1000), (0.5, 0.25, 10**6), (0.2, 0.1, 10**4)):
        n = k - 1
        # The integral of 2 (1 - cos) e^(-2 n v (1 - cos)) / (2 pi), which is all near 0; 1 - cos = 2 sin^2.
        end = min(math.pi, 20 / math.sqrt(n * v))

        def square(u: float, x: float = 2 * n * v) -> float:
            return 4 * math.sin(u / 2) ** 2 * math.exp(-2 * x * math.sin(u / 2) ** 2) / math.pi

        squares = quad(square, 0, end, epsabs=0, epsrel=1e-11)[0]
        bound = bounds_over_bags.proportions_individual_by_mean(0.4, p, v, k)
        inside = (bound / (0.4 * 0.6) - 1 / n) ** 2 / squares
        t = (inside - 2) / 2
        outside = 2 * math.exp(-t * t / (2 * (n * p * (1 - p) + t / 3)))
        assert outside == pytest.approx(1 / (2 * n), rel=1e-6)
    with pytest.raises(darrm.InputError, match="p must be"):
        bounds_over_bags.proportions_individual_by_mean(0.4, 1.5, 0.0, 10)


def test_draws_without_replacement_keep_the_bound() -> None:
    population = np.random.default_rng(4).beta(0.3, 0.6, 40)
    spread = float(np.mean(population * (1 - population)))
    for k in (5, 20, 41):
        drawn = individual_advantage_over_bags(LLP, 0.5, population, k, replacement=False, draws=400)
        assert drawn.mean <= bounds_over_bags.proportions_individual(0.5, spread, k)


def test_the_constant_of_proposition_1() -> None:
    """min over s of c / sqrt(1 - s) + max over x of sqrt(x) e^(-4 x h(s)), the maximum by a grid."""
    c = bounds._PEAK
    x = np.geomspace(1e-3, 1e3, 20_001)

    def value(s: float) -> float:
        h = s + (1 - s) * math.log1p(-s)
        peak = float((np.sqrt(x) * np.exp(-4 * x * h)).max())
        assert peak == pytest.approx(1 / math.sqrt(8 * math.e * h), rel=1e-6)
        return c / math.sqrt(1 - s) + 1 / math.sqrt(8 * math.e * h)

    assert value(0.591) <= bounds_over_bags._PROPOSITION
    least = min(value(s) for s in np.linspace(0.55, 0.65, 201))
    assert least > bounds_over_bags._PROPOSITION - 1e-5


def test_lemma_a1_is_never_below_proposition_1() -> None:
    """The older bound is at least 2.68 sqrt(v / n)."""
    for k in (2, 3, 10, 100, 10**4, 10**7):
        for p in (0.5, 0.2, 1e-3, 1e-9):
            for share in (1.0, 0.3, 1e-3):
                spread = p * (1 - p) * share
                older = bounds.proportions(p, spread, k)
                assert older >= 2.68 * math.sqrt(spread / (k - 1))
                assert bounds_over_bags.proportions(p, spread, k) <= older


def test_the_squares_of_proposition_2() -> None:
    """E sum (P(s) - P(s - 1))^2 over bags of two kinds, exactly, against 2 e^-x (I_0 - I_1), and Lemma A.3's form."""
    from scipy.special import ive

    from darrm.numerics.poisson_binomial import pmf

    for a, b in ((0.5, 0.5), (0.1, 0.4), (0.02, 0.9), (0.001, 0.3)):
        v = (a * (1 - a) + b * (1 - b)) / 2
        for n in (1, 2, 5, 20, 60):
            bags = np.where(np.arange(n) < np.arange(n + 1)[:, None], a, b)
            chance = np.array([math.comb(n, j) / 2**n for j in range(n + 1)])
            steps = np.diff(pmf(bags), axis=1, prepend=0, append=0)
            exact = float(chance @ (steps**2).sum(axis=1))
            x = 2 * n * v
            bound = 2 * float(ive(0, x) - ive(1, x))
            assert exact <= bound
            # Lemma A.3 of the paper (2023) with the factor 2 that it lost.
            printed = (1 - 2 * v) ** n + math.pi / (8 * v * n) ** 1.5 + math.pi / (2 * math.e * v * n**2)
            assert bound <= 2 * printed


def test_the_assembled_formula_of_proposition_2() -> None:
    """With the integral in place of its Bessel functions; never above what the attacker can gain at all."""
    theta = np.linspace(0, np.pi, 200_001)
    for eta_i, p, v, k in ((0.5, 0.5, 0.25, 1000), (0.2, 0.3, 0.1, 5000), (0.9, 0.1, 0.09, 20_000)):
        n = k - 1
        log = math.log(4 * n)
        t = log / 3 + math.sqrt(log**2 / 9 + 2 * n * p * (1 - p) * log)
        away = 1 - np.cos(theta)
        squares = np.trapezoid(2 * away * np.exp(-2 * n * v * away), theta) / np.pi
        wanted = eta_i * (1 - eta_i) * (1 / n + math.sqrt((2 * t + 2) * squares))
        assert wanted < min(eta_i, 1 - eta_i)
        assert bounds_over_bags.proportions_individual_by_mean(eta_i, p, v, k) == pytest.approx(wanted, rel=1e-9)
    for eta_i in (0.0, 1e-12, 0.3, 0.5, 0.8, 1.0):
        assert bounds_over_bags.proportions_individual_by_mean(eta_i, 0.5, 0.01, 2) == min(eta_i, 1 - eta_i)


@pytest.mark.thorough
def test_theorem_3_7_with_constants() -> None:
    for p in (0.5, 0.3, 0.1, 0.02):
        for failure, n in ((0.1, 1), (1e-3, 1), (1e-6, 1), (0.01, 1000)):
            least = bounds.moderate_bag_size(p, failure, n)
            assert least - 1 < 10.6 * math.log(2 * n / failure) / (p * (1 - p)) <= least + 1e-6
            for k in (least, 3 * least):
                if k > 3000:
                    continue
                change = bounds.moderate_change(p, k, failure, n)
                assert change == pytest.approx(
                    2.25 * math.sqrt(math.log(2 * n / failure) / (p * (1 - p) * k)), rel=1e-12
                )
                assert change <= 0.7
                assert bounds.extreme_bags(p, k, n, threshold=change) <= failure
    with pytest.raises(darrm.InputError, match="at least moderate_bag_size = 225"):
        bounds.moderate_change(0.5, 224, 0.01)


def test_the_mean_over_given_bags() -> None:
    eta = np.random.default_rng(3).beta(0.5, 1, (5, 9))
    assert bounds.proportions_mean(eta) == pytest.approx(bounds.proportions_individual(eta).mean())
    assert additive_advantage(LLP, eta) <= bounds.proportions_mean(eta)
    own = eta * (1 - eta)
    others = own.sum(axis=1, keepdims=True) - own
    # the form that Section 3.1 of 2024 announces, with a constant
    assert bounds.proportions_mean(eta) <= float((0.94 * own / np.sqrt(others)).mean())

"""What docs/misprints.md says of Busa-Fekete et al. (2023, 2024), each by a small computation."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad

from darrm.measures import attack_utility, bounds, bounds_over_bags
from darrm.mechanisms import GeometricLabelProportions, LaplaceLabelProportions


def second_step(epsilon: float) -> float:
    """Mean of one logistic parameter after two steps of 2 (alpha~ - sigmoid), alpha = .7, from 0: a bag of 4."""

    def logistic(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    if math.isinf(epsilon):
        after = logistic(0.4)
    else:
        rate = 4 * epsilon
        density = lambda z: rate / 2 * math.exp(-rate * abs(z)) * logistic(0.4 + 2 * z)  # noqa: E731
        after = quad(density, -20, 0)[0] + quad(density, 0, 20)[0]
    return 0.4 + 2 * (0.7 - after)


def test_the_expected_path_of_sgd_depends_on_epsilon() -> None:
    for epsilon, wanted in ((0.5, 0.6467), (1.0, 0.6200), (8.0, 0.6030), (math.inf, 0.6026)):
        assert second_step(epsilon) == pytest.approx(wanted, abs=6e-5)


@pytest.mark.parametrize(("epsilon", "k", "corrected", "clipped"), [(0.5, 4, 5.56, 2.22), (1.0, 1, 0.921, 0.269)])
def test_taking_the_bias_out_raises_every_squared_error(
    epsilon: float, k: int, corrected: float, clipped: float
) -> None:
    mechanism = GeometricLabelProportions(epsilon)
    outputs, sums = np.arange(k + 1), np.arange(k + 1)[:, None]
    kernel = mechanism.kernel(k)
    without = (kernel * (mechanism.unbiased(outputs, k) - sums) ** 2).sum(axis=1)
    plain = (kernel * (outputs - sums) ** 2).sum(axis=1)
    assert np.all(without > plain)
    assert without.mean() == pytest.approx(corrected, abs=6e-3)
    assert plain.mean() == pytest.approx(clipped, abs=6e-3)


def test_the_bound_of_0_46() -> None:
    assert bounds.label_dp(1.0) == pytest.approx(1 - 2 / (1 + math.e), abs=1e-15) == pytest.approx(0.46212, abs=5e-6)
    assert 1 - 2 / (1 + 1) == 0


def test_no_attacker_knows_the_label() -> None:
    assert attack_utility(LaplaceLabelProportions(0.1), [0.5, 0.5]) == pytest.approx(0.524, abs=5e-4)


def printed_sum(a: float, b: float, k: int) -> float:
    """The left side of Proposition A.5: (1 / (k + 2)) sum over u of (1 - cos)(a + b cos)^k."""
    cos = np.cos(2 * np.pi * np.arange(k + 2) / (k + 2))
    return float(((1 - cos) * (a + b * cos) ** k).mean())


def test_lemma_a3_lost_a_factor_of_2() -> None:
    """Labels of one p: the exact sum of squares, in fractions, is twice the expression (7)."""
    for k, p in ((1, Fraction(1, 2)), (5, Fraction(1, 3)), (12, Fraction(1, 10))):
        chance = [math.comb(k, s) * p**s * (1 - p) ** (k - s) for s in range(k + 1)]
        exact = sum((x - y) ** 2 for x, y in zip([*chance, 0], [0, *chance], strict=True))
        v = float(p * (1 - p))
        assert float(exact) == pytest.approx(2 * printed_sum(1 - 2 * v, 2 * v, k), rel=1e-12)
    # It does no harm in Lemma A.1: with the 2 put back, the constant is still below the printed one.
    assert 2 * math.exp(-1.5) + 2 * math.pi / 8**1.5 < math.exp(-1.5) + math.pi / 4


def test_proposition_a5_needs_a_small_b() -> None:
    def right(a: float, b: float, k: int) -> float:
        return a**k + math.pi / (4 * k * b) ** 1.5 + math.pi / (math.e * b * k**2)

    assert printed_sum(0.1, 0.9, 10) == pytest.approx(0.03081, abs=6e-6)
    assert right(0.1, 0.9, 10) == pytest.approx(0.02739, abs=6e-6)
    for k in (1, 3, 10, 100, 1000):
        for b in (0.001, 0.05, 0.2, 0.5):
            assert printed_sum(1 - b, b, k) <= right(1 - b, b, k)


def test_theorem_3_5_does_not_follow_from_lemma_a1() -> None:
    v, k = 1e-9, 10**4
    lemma = bounds.proportions(1e-9 / (1 - 1e-9), v, k)
    theorem = v**0.25 * v**0.25 / math.sqrt(k) + v**0.25 / k
    assert lemma > 25 * theorem
    assert bounds_over_bags.proportions(1e-9 / (1 - 1e-9), v, k) < theorem


@pytest.mark.parametrize(("epsilon", "factor"), [(0.01, 1.995), (1.0, 1.607), (4.0, 1.135)])
def test_how_loose_theorem_6_4_is(epsilon: float, factor: float) -> None:
    """By the L1 distance between Laplace noise and the same noise plus 1, by quadrature."""

    def apart(t: float) -> float:
        return epsilon / 2 * abs(math.exp(-epsilon * abs(t)) - math.exp(-epsilon * abs(t - 1)))

    far = 40 / epsilon
    distance = quad(apart, -far, 0)[0] + quad(apart, 0, 1, points=[0.5])[0] + quad(apart, 1, far)[0]
    assert bounds.laplace_proportions(epsilon, 0.2) / (0.2 * distance) == pytest.approx(factor, abs=6e-4)
    assert 1 + math.exp(-epsilon / 2) == pytest.approx(factor, abs=6e-4)

"""The scripts behind docs/label_privacy.md: utilities and learners are what they are said to be."""

import math

import numpy as np
import pytest
from scripts import load

from darrm import mechanisms
from darrm.measures import CountKernel
from darrm.numerics.poisson_binomial import pmf

matrix, figures = load("label_matrix"), load("label_figures")
K = matrix.K


@pytest.mark.parametrize("p", [0.5, 1 / 3])
def test_utility_of_randomized_response_is_that_of_the_posterior(p: float) -> None:
    """By Bayes for each label: given the released ones the labels are independent, and their majority is a tail."""
    mechanism = mechanisms.RandomizedResponse(1.3)
    pi = mechanism.flip_probability
    one, zero = p * (1 - pi) + (1 - p) * pi, p * pi + (1 - p) * (1 - pi)
    right = 0.0
    for j in range(K + 1):
        after = np.repeat([p * (1 - pi) / one, p * pi / zero], [j, K - j])
        majority = float(pmf(after)[K // 2 + 1 :].sum())
        right += math.comb(K, j) * one**j * zero ** (K - j) * max(majority, 1 - majority)
    assert matrix.utility(mechanism, pmf(np.full(K, p))) == pytest.approx(right, abs=1e-13)


@pytest.mark.parametrize(("p", "epsilon"), [(0.5, 1.0), (1 / 3, 2.0), (0.1, 0.3)])
def test_utility_of_a_noisy_sum_is_the_integral(p: float, epsilon: float) -> None:
    ones = pmf(np.full(K, p))
    t = np.linspace(-150, 150 + K, 1_600_001)
    density = np.zeros((2, t.size))
    for l, chance in enumerate(ones):
        density[int(2 * l > K)] += chance * epsilon / 2 * np.exp(-epsilon * np.abs(t - l))
    integral = np.trapezoid(density.max(axis=0), t)
    assert matrix.laplace_utility(epsilon, ones) == pytest.approx(integral, abs=2e-8)


def test_ends_of_the_utility() -> None:
    for setting in matrix.SETTINGS:
        least = max(setting.ones[6:].sum(), setting.ones[:6].sum())
        assert matrix.utility(mechanisms.LabelProportions(), setting.ones) == pytest.approx(1, abs=1e-14)
        assert matrix.utility(mechanisms.RandomizedResponse(1e-9), setting.ones) == pytest.approx(least, abs=1e-8)
        assert matrix.laplace_utility(1e-6, setting.ones) == pytest.approx(least, abs=1e-5)


def test_label_privacy_of_kernels() -> None:
    assert matrix.label_dp(mechanisms.GeometricLabelProportions(0.8)) == pytest.approx(0.8, abs=1e-12)
    assert matrix.label_dp(mechanisms.LabelProportions()) == math.inf
    assert matrix.label_dp(CountKernel.from_noise_function(np.full(K + 1, 0.8))) == pytest.approx(
        math.log(9), abs=1e-12
    )
    noisy = mechanisms.LaplaceNoisyMax(1.0)
    assert 1 < matrix.label_dp(noisy) <= noisy.epsilon


def test_the_matrix_is_at_one_utility() -> None:
    setting = matrix.SETTINGS[0]
    found = {one.name: one for one in matrix.lines(setting)}
    assert len(found) == 12
    fair = [one for one in found.values() if one.matched]
    assert len(fair) == 8
    for one in fair:
        assert one.utility == pytest.approx(setting.target, abs=1e-7)
    # A coin on the majority is right with (1 + gamma) / 2, and costs log (1 + gamma) / (1 - gamma).
    constant = found["randomized response on the majority"]
    assert constant.parameter == "gamma = 0.8"
    assert constant.label_dp == pytest.approx(math.log(9), abs=1e-6)
    for one in found.values():
        assert one.row.largest_log_odds_change <= one.label_dp * (1 + 1e-9)
        assert one.row.additive_advantage <= one.row.max_individual_advantage
    assert found["LabelProportions"].row.infinite_mass > 0
    assert len(matrix.table(list(found.values()))) == 12
    assert "0.5000" in matrix.reading(setting, list(found.values()))[-1]


def test_proportion_matching_with_bags_of_one_is_logistic_regression() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 4))
    y = (rng.random(300) < 1 / (1 + np.exp(-X[:, 0]))).astype(np.uint8)
    found = figures.learn(X, np.arange(300)[:, None], y.astype(float))
    design = np.column_stack([X, np.ones(300)])
    model = LogisticRegression(C=1 / (300 * figures.RIDGE), fit_intercept=False, tol=1e-10).fit(design, y)
    np.testing.assert_allclose(found, model.coef_[0], rtol=0, atol=2e-3)


@pytest.mark.parametrize(
    "mechanism",
    [
        mechanisms.RandomizedResponse(1.0),
        mechanisms.LabelProportions(),
        mechanisms.LaplaceLabelProportions(1.0),
        mechanisms.GeometricLabelProportions(1.0),
    ],
    ids=repr,
)
def test_released_proportions_are_unbiased(mechanism: object) -> None:
    labels = np.tile(np.array([1, 0, 0, 0, 0], dtype=np.uint8), (40_000, 1))
    found = figures.released(mechanism, labels, np.random.default_rng(3))
    spread = found.std() / math.sqrt(found.size)
    assert abs(found.mean() - 0.2) <= 4.5 * spread + 1e-12

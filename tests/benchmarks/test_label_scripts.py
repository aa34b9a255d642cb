"""The scripts behind docs/label_privacy.md: utilities and learners are what they are said to be."""

import math

import numpy as np
import pytest
from scripts import load

from darrm import mechanisms
from darrm.measures import CountKernel

matrix, figures = load("label_matrix"), load("label_figures")
K = matrix.K


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
        assert one.row.tight_epsilon <= one.label_dp * (1 + 1e-9)
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

"""Utilities are those of the definition, and the parameters found give them."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from cases import thorough

import darrm
from darrm import mechanisms
from darrm.errors import InputError
from darrm.labels.measures import utility
from darrm.numerics.poisson_binomial import pmf

K = 11


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
    assert utility._majority_right(mechanism, K, p) == pytest.approx(right, abs=1e-13)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("p", "epsilon"),
    [(0.5, 1.0), (0.1, 0.3), *thorough((1 / 3, 2.0), (2 / 3, 2.0), (0.7, 0.3), (0.9, 0.3), (0.9, 1.0))],
)
def test_utility_of_a_noisy_sum_is_the_integral(p: float, epsilon: float) -> None:
    ones = pmf(np.full(K, p))
    t = np.linspace(-150, 150 + K, 1_600_001)
    density = np.zeros((2, t.size))
    for l, chance in enumerate(ones):
        density[int(2 * l > K)] += chance * epsilon / 2 * np.exp(-epsilon * np.abs(t - l))
    integral = np.trapezoid(density.max(axis=0), t)
    assert utility._laplace_majority(epsilon, ones, 2 * np.arange(K + 1) > K) == pytest.approx(integral, abs=2e-8)


@pytest.mark.parametrize("p", [0.5, 1 / 3, 2 / 3, 0.95])
def test_ends_of_the_utility(p: float) -> None:
    ones = pmf(np.full(K, p))
    least = max(ones[6:].sum(), ones[:6].sum())
    assert utility._majority_right(darrm.labels.LabelProportions(), K, p) == pytest.approx(1, abs=1e-14)
    assert utility._majority_right(mechanisms.RandomizedResponse(1e-9), K, p) == pytest.approx(least, abs=1e-8)
    assert utility._majority_right(darrm.labels.LaplaceLabelProportions(1e-6), K, p) == pytest.approx(least, abs=1e-5)


NOISE = [
    mechanisms.RandomizedResponse(0.8),
    darrm.labels.LabelProportions(),
    darrm.labels.GeometricLabelProportions(0.8),
    mechanisms.LaplaceNoisyMax(1.0),
]


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("mechanism", NOISE, ids=repr)
def test_auc_and_accuracy_are_those_of_all_labellings(mechanism: Any, k: int) -> None:
    """Two bags, the first label of each, every labelling and every output, scored by its own posterior."""
    p = 0.3
    each = isinstance(mechanism, mechanisms.RandomizedResponse)
    kernel = mechanism.label_kernel() if each else mechanism.kernel(k)
    given: list[dict[Any, float]] = [{}, {}]
    for y in itertools.product((0, 1), repeat=k):
        others = math.prod(p if v else 1 - p for v in y[1:])
        for o in range(kernel.shape[1]):
            given[y[0]][o] = given[y[0]].get(o, 0.0) + others * kernel[y[0] if each else sum(y), o]
    zero, one = given
    score = {o: p * one[o] / (p * one[o] + (1 - p) * zero[o]) for o in one if one[o] + zero[o] > 0}
    right = sum(
        one[a] * zero[b] * (0.5 if abs(score[a] - score[b]) < 1e-12 else float(score[a] > score[b]))
        for a in score
        for b in score
    )
    assert utility._auc(mechanism, k, p) == pytest.approx(right, abs=1e-13)
    best = sum(max(p * one[o], (1 - p) * zero[o]) for o in score)
    assert utility._accuracy(mechanism, k, p) == pytest.approx(best, abs=1e-13)


@pytest.mark.thorough
@pytest.mark.parametrize(("k", "epsilon"), [(1, 0.5), (4, 1.0), (9, 3.0)])
def test_auc_of_a_noisy_sum_is_the_integral(k: int, epsilon: float) -> None:
    others = pmf(np.full(k - 1, 0.3)) if k > 1 else np.ones(1)
    t = np.linspace(-80, 80 + k, 1_600_001)
    below, density = np.zeros((2, t.size))
    for l, chance in enumerate(others):
        tail = np.exp(-epsilon * np.abs(t - l)) / 2
        below += chance * np.where(t < l, tail, 1 - tail)
        density += chance * epsilon / 2 * np.exp(-epsilon * np.abs(t - l - 1))
    wanted = np.trapezoid(below * density, t)
    assert utility._auc(darrm.labels.LaplaceLabelProportions(epsilon), k, 0.3) == pytest.approx(wanted, abs=1e-7)


@pytest.mark.thorough
def test_rows_are_at_the_target_and_hold_the_measures() -> None:
    bags = np.random.default_rng(4).beta(2, 3, (60, 6))
    families: dict[str, Any] = {
        "rr": (mechanisms.RandomizedResponse, 0.01, 20),
        "laplace": (darrm.labels.LaplaceLabelProportions, 0.01, 20),
        "gaussian": (mechanisms.GaussianNoisyMax, 0.2, 50),  # the utility falls with sigma
        "llp": (lambda k: (darrm.labels.LabelProportions(), k), [1, 3, 9]),
        "majority": darrm.labels.CountKernel.from_noise_function(np.ones(7)),
    }
    rows = darrm.labels.at_equal_utility(families, bags, "accuracy", 0.66)
    assert rows == darrm.labels.at_equal_utility(families, bags, "accuracy", 0.66)
    assert [row.name for row in rows] == list(families)
    for row in rows[:3]:
        assert row.matched
        assert row.utility == pytest.approx(0.66, abs=1e-8)
    assert [(row.matched, row.bag_size) for row in rows[3:]] == [(False, row.bag_size) for row in rows[3:]]
    assert rows[4].parameter is None
    for row in rows:
        groups = bags.ravel()[: bags.size // row.bag_size * row.bag_size].reshape(-1, row.bag_size)
        (audited,) = darrm.labels.audit(
            {"it": row.mechanism}, groups.ravel(), bags=np.arange(groups.size).reshape(groups.shape)
        )
        for name in (
            "largest_log_odds_change",
            "additive_advantage",
            "multiplicative_98",
            "infinite_mass",
            "mean_leakage",
        ):
            assert getattr(row, name) == getattr(audited, name)


def test_a_utility_of_the_callers_own() -> None:
    seen = []

    def half(mechanism: Any, k: int) -> float:
        seen.append(k)
        return mechanism.epsilon / 2

    (row,) = darrm.labels.at_equal_utility({"rr": (mechanisms.RandomizedResponse, 1, 5)}, [0.2, 0.5], half, 1.25)
    assert row.parameter == pytest.approx(2.5, rel=1e-8)
    assert row.mechanism.epsilon == row.parameter
    assert set(seen) == {2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": 0.999999}, r"utilities of rr: 0\.\d+ at 0.1 and 0\.\d+ at 2"),
        ({"target": math.nan}, "target must be"),
        ({"mechanisms": {}}, "at least one"),
        ({"mechanisms": {"rr": (1, 2, 3)}}, "rr must be"),
        ({"mechanisms": {"llp": (lambda k: (darrm.labels.LabelProportions(), k), [])}}, "at least one value"),
        ({"mechanisms": {"llp": (lambda k: (darrm.labels.LabelProportions(), k), [99])}}, "bag size of a family"),
        ({"utility": "f1"}, "utility must be"),
        ({"utility": lambda mechanism, k: math.nan}, "The utility must be"),
        ({"utility": lambda mechanism, k: math.inf if mechanism.epsilon == 1.05 else mechanism.epsilon}, "The utility"),
        ({"mechanisms": {"rr": (mechanisms.RandomizedResponse, 3)}}, "at least one value"),
        ({"mechanisms": {"rr": (mechanisms.RandomizedResponse, 0, math.inf)}}, "The range of rr must"),
        ({"mechanisms": {"llp": (lambda k: (darrm.labels.LabelProportions(), k), [1.5])}}, "bag size of a family"),
        ({"mechanisms": {"llp": (lambda k: (darrm.labels.LabelProportions(), k, k), [1])}}, "or a pair"),
        ({"p": 0}, "p must be in"),
        ({"eta": [0.0, 0.0]}, "p must be in"),
        ({"tolerance": 0}, "tolerance must be"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "mechanisms": {"rr": (mechanisms.RandomizedResponse, 0.1, 2)},
        "eta": [0.2, 0.4],
        "utility": "auc",
        "target": 0.6,
    }
    with pytest.raises(InputError, match=message):
        darrm.labels.at_equal_utility(**(given | change))


@pytest.mark.parametrize(
    ("low", "high", "root"), [(-1.0, 1.5, 0.0), (0.0, 1.0, 5e-324), (1e308, 1.7e308, 1.5e308), (-1.7e308, 1.7e308, 1.0)]
)
def test_the_bisection_ends_at_any_parameter(low: float, high: float, root: float) -> None:
    """At 0 no relative tolerance is reached, and the sum of two large ends is infinite."""
    made: list[float] = []

    def make(parameter: float) -> Any:
        made.append(parameter)
        return mechanisms.RandomizedResponse(1.0)

    def passed(mechanism: Any, k: int) -> float:
        return float(made[-1] >= root)

    (row,) = darrm.labels.at_equal_utility({"rr": (make, low, high)}, [0.2, 0.4], passed, 0.5)
    assert row.parameter == pytest.approx(root, rel=1e-8, abs=0)
    assert len(made) < 4300

"""Noisy max: its probabilities, its leakage and its Renyi privacy, by published figures and by definition."""

import itertools
import math

import numpy as np
import pytest

import darrm
from darrm.accounting import gnmax_rdp, gnmax_sigma, gnmax_sigma_analytic, max_queries, rdp_epsilon
from darrm.measures import entrywise_leakage, laplace_leakage_bound, laplace_leakage_data_bound, noisy_max_probabilities
from darrm.mechanisms import PermuteAndFlip


@pytest.mark.parametrize(
    ("votes", "leakage", "digits"),
    [
        ([4, 3, 2, 1], 0.085, 4),
        ([5, 2, 2, 1], 0.084, 4),
        ([5, 3, 1, 1], 0.0837, 4),
        ([5, 3, 2, 0], 0.0835, 4),
        ([3, 3, 2, 2], 0.085854, 6),
    ],
)
def test_example_14(votes: list[int], leakage: float, digits: int) -> None:
    """Saeidian et al., Example 14: gamma = .1, four classes."""
    assert entrywise_leakage(votes, 0.1) == pytest.approx(leakage, abs=10.0**-digits)


def test_example_17() -> None:
    assert laplace_leakage_bound(4, 0.1) == pytest.approx(0.0861, abs=5e-5)
    for votes, printed, off in (([4, 3, 2, 1], 0.681, 5e-4), ([90, 5, 5, 0], 0.00105, 5e-6)):
        assert laplace_leakage_data_bound(votes, 0.1) == pytest.approx(printed, abs=off)


@pytest.mark.parametrize("m", [2, 3, 4, 10, 40])
@pytest.mark.parametrize("gamma", [0.05, 0.5, 2.0])
def test_the_largest_leakage_is_the_closed_form(m: int, gamma: float) -> None:
    """Proposition 12: B1 is the leakage where all classes have as many votes."""
    c = 1 - math.exp(-gamma) / 2
    H = gamma + sum((2.0**-k - c**k) / k for k in range(1, m - 1))
    B1 = (1 - m) * 2.0**-m * math.exp(-gamma) + math.exp(gamma) * (1 - c**m) + m / 2 * c ** (m - 1)
    B1 -= m * (m - 1) / 4 * math.exp(-gamma) * H
    assert laplace_leakage_bound(m, gamma) == pytest.approx(math.log(B1), abs=1e-10)
    assert entrywise_leakage([7] * m, gamma) == pytest.approx(math.log(B1), abs=1e-10)
    assert math.log(B1) - 1e-12 < laplace_leakage_bound(m, gamma) <= gamma


@pytest.mark.thorough
def test_leakage_is_below_its_bounds() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        m, gamma = int(rng.integers(2, 6)), float(10 ** rng.uniform(-2, 0.3))
        votes = rng.multinomial(30, rng.dirichlet(np.ones(m)))
        found = entrywise_leakage(votes, gamma)
        assert found <= laplace_leakage_bound(m, gamma)
        assert found <= laplace_leakage_data_bound(votes, gamma) + 1e-12
        # Agreement of all leaks less than any other votes that were seen.
        together = np.eye(m, dtype=int)[0] * votes.sum()
        assert entrywise_leakage(together, gamma) <= found + 1e-12


def test_leakage_by_its_definition() -> None:
    votes, gamma = np.array([3, 2, 2]), 0.4
    tables = [noisy_max_probabilities(votes + np.eye(3)[j], gamma=gamma) for j in range(3)]
    assert entrywise_leakage(votes, gamma) == pytest.approx(math.log(np.max(tables, axis=0).sum()), abs=1e-12)


@pytest.mark.parametrize("noise", [{"gamma": 0.3}, {"gamma": 5.0}, {"sigma": 3.0}, {"sigma": 0.2}, {"sigma": 100.0}])
def test_probabilities_sum_to_one_and_two_classes_have_a_closed_form(noise: dict[str, float]) -> None:
    for votes in ([5, 3], [50, 30, 3, 1], [0, 0, 0], [1000, 0], [7, 7, 7, 6, 1]):
        p = noisy_max_probabilities(votes, **noise)
        assert p.sum() == pytest.approx(1, abs=1e-12)
        for (i, a), (j, b) in itertools.combinations(enumerate(votes), 2):
            assert (p[i] >= p[j]) == (a >= b) or p[i] == pytest.approx(p[j])
        if len(votes) == 2:
            d = votes[0] - votes[1]
            if "gamma" in noise:
                far = noise["gamma"] * d
                wrong = (2 + far) / 4 * math.exp(-far)
            else:
                wrong = math.erfc(d / (2 * noise["sigma"])) / 2
            assert p[1] == pytest.approx(wrong, rel=1e-10, abs=1e-15)


def test_probabilities_are_those_of_samples() -> None:
    rng = np.random.default_rng(5)
    votes = np.array([5, 4, 2])
    for noise, draw in (
        ({"gamma": 0.4}, rng.laplace(0, 2.5, (200_000, 3))),
        ({"sigma": 2.0}, rng.normal(0, 2, (200_000, 3))),
    ):
        seen = np.bincount((votes + draw).argmax(axis=1), minlength=3) / 200_000
        assert noisy_max_probabilities(votes, **noise) == pytest.approx(seen, abs=5e-3)  # type: ignore[arg-type]


@pytest.mark.parametrize(("epsilon", "sigma"), [(0.2676, 21.46), (0.2556, 22.46)])
def test_table_4(epsilon: float, sigma: float) -> None:
    assert gnmax_sigma(epsilon, 3e-4) == pytest.approx(sigma, abs=5e-3)
    orders = np.linspace(1.01, 5000, 400_000)
    room = epsilon - math.log(1 / 3e-4) / (orders - 1)
    searched = np.sqrt((orders[room > 0] / room[room > 0]).min())
    assert gnmax_sigma(epsilon, 3e-4) <= searched <= gnmax_sigma(epsilon, 3e-4) * (1 + 1e-6)


def test_data_dependent_rdp() -> None:
    assert gnmax_rdp([220, 20, 5, 5, 0, 0, 0, 0, 0, 0], 40, [10.0])[0] == pytest.approx(2.6695565e-4, rel=1e-7)
    assert gnmax_rdp([200, 30, 10, 10], 40, 10.0) == pytest.approx(7.6103486e-4, rel=1e-7)
    assert gnmax_rdp([90, 10], 40, [10.0]).tolist() == [0.00625]


def test_rdp_is_never_above_the_plain_one() -> None:
    rng = np.random.default_rng(9)
    orders = np.array([1.0001, 1.5, 2, 10, 100, 1e4])
    for _ in range(300):
        sigma = float(10 ** rng.uniform(-1, 3))
        votes = rng.integers(0, 1000, int(rng.integers(2, 8)))
        found = gnmax_rdp(votes, sigma, orders)
        assert np.all((found >= 0) & (found <= orders / sigma**2))
    assert np.all(gnmax_rdp([10**6, 0], 1.0, orders) <= orders)


@pytest.mark.parametrize("counts", [[1], [], [1, -1], [1, 0.5], [1, float("nan")], [[1, 2]], "ab", None])
def test_counts_that_are_none(counts: object) -> None:
    for call in (
        lambda: gnmax_rdp(counts, 1.0, [2]),  # type: ignore[arg-type]
        lambda: entrywise_leakage(counts, 0.1),  # type: ignore[arg-type]
        lambda: noisy_max_probabilities(counts, sigma=1),  # type: ignore[arg-type]
    ):
        with pytest.raises(darrm.InputError, match="Got"):
            call()


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "1", None, True])
def test_noise_that_is_none(value: object) -> None:
    for call in (
        lambda: gnmax_rdp([1, 2], value, [2]),  # type: ignore[arg-type]
        lambda: gnmax_sigma(value, 1e-5),  # type: ignore[arg-type]
        lambda: entrywise_leakage([1, 2], value),  # type: ignore[arg-type]
        lambda: laplace_leakage_bound(3, value),  # type: ignore[arg-type]
    ):
        with pytest.raises(darrm.InputError):
            call()
    with pytest.raises(darrm.InputError, match="either gamma"):
        noisy_max_probabilities([1, 2], gamma=1, sigma=1)
    with pytest.raises(darrm.InputError, match="orders"):
        gnmax_rdp([1, 2], 1.0, [1.0])
    with pytest.raises(darrm.InputError, match="n_classes"):
        laplace_leakage_bound(1, 0.1)


@pytest.mark.parametrize("epsilon", [1e-3, 0.2676, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 3e-4, 0.2])
def test_analytic_sigma_is_the_least(epsilon: float, delta: float) -> None:
    from scipy.stats import norm

    sigma = gnmax_sigma_analytic(epsilon, delta)
    for factor, holds in ((1.0, True), (1 - 1e-6, False)):
        mu = math.sqrt(2) / (sigma * factor)
        spent = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        assert (spent <= delta * (1 + 1e-9)) == holds
    assert sigma < gnmax_sigma(epsilon, delta)


def test_renyi_bounds_become_the_guarantee() -> None:
    sigma = gnmax_sigma(0.2676, 3e-4)
    orders = np.linspace(1.5, 500, 5000)
    papers = (orders / sigma**2 - math.log(3e-4) / (orders - 1)).min()
    assert papers == pytest.approx(0.2676, rel=1e-5)
    assert rdp_epsilon(orders, orders / sigma**2, 3e-4) < 0.85 * papers  # which is the worst conversion that is proved
    for bad in (
        ([1.0], [0.1], 0.1),
        ([2.0], [0.1, 0.2], 0.1),
        ([2.0], [-0.1], 0.1),
        ([2.0], [0.1], 0),
        ("a", [1], 0.1),
    ):
        with pytest.raises(darrm.InputError):
            rdp_epsilon(*bad)  # type: ignore[arg-type]


def test_a_budget_that_no_grid_reaches_covers_at_least_what_a_smaller_one_does() -> None:
    covered = [max_queries(PermuteAndFlip(3.0, K=5, classes=2), epsilon, 1e-6) for epsilon in (669, 690, 1000)]
    assert covered == sorted(covered)

"""From Renyi divergences to (epsilon, delta): between the worst pair of distributions there is and simpler formulas."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from darrm.accounting import compose, gnmax_sigma_analytic, noisy_max_parameter, optimal, rdp_epsilon
from darrm.accounting.gaussian import gdp_delta, gdp_epsilon
from darrm.accounting.ladder import any_votes_sigma
from darrm.accounting.renyi import epsilon_of_orders
from darrm.errors import InputError
from darrm.mechanisms import GaussianNoisyMax, LaplaceNoisyMax, PermuteAndFlip

CASES = [(2.0, 0.1, 1e-5), (10.0, 1.0, 1e-5), (30.0, 3.0, 1e-6), (1.2, 0.5, 0.05), (1.3, 0.05, 1e-3), (4.0, 2e-3, 0.02)]


def worst_pair(order: float, rdp: float, delta: float) -> float:
    """The largest epsilon at ``delta`` of pairs with two answers and this divergence.

    On D' they have the chances 1 - q and q, and the likelihood ratios L < 1 and H > 1.
    """
    most = math.exp((order - 1) * rdp)
    worst = 0.0
    for L in 1 - np.geomspace(1, 1e-7, 3000):

        def over(H: float, L: float = L) -> float:
            return ((H - 1) * L**order + (1 - L) * H**order) / (H - L) - most

        far = 2.0
        while over(far) < 0:
            far *= 2
        H = float(brentq(over, 1 + 1e-12, far)) if over(1 + 1e-12) < 0 else 1.0
        q = (1 - L) / (H - L) if H > L else 0.0
        if q * H > delta:
            worst = max(worst, math.log((q * H - delta) / q))
    return worst


@pytest.mark.thorough
@pytest.mark.parametrize(("order", "rdp", "delta"), CASES)
def test_one_order_proves_as_much_as_it_can(order: float, rdp: float, delta: float) -> None:
    """Not below what some pair needs, and not far above."""
    found = epsilon_of_orders(np.array([order]), np.array([rdp]), delta)[0]
    needed = worst_pair(order, rdp, delta)
    assert needed * (1 - 1e-9) <= found <= needed * 1.01 + 1e-6


def test_no_formula_that_is_known_is_better() -> None:
    orders = 1 + np.geomspace(1e-3, 1e4, 300)
    for rho in (1e-4, 0.02, 1.0, 30.0):
        for delta in (1e-12, 1e-5, 0.1):
            found = epsilon_of_orders(orders, rho * orders, delta)
            canonne = rho * orders + np.log(1 - 1 / orders) - np.log(delta * orders) / (orders - 1)
            papernot = rho * orders - math.log(delta) / (orders - 1)
            assert np.all(found <= np.maximum(canonne, 0) * (1 + 1e-11) + 1e-11)
            assert np.all(np.maximum(canonne, 0) <= papernot)


def test_dp_accounting_converts_no_better() -> None:
    rdp = pytest.importorskip("dp_accounting.rdp")
    orders = np.concatenate([1.1 + np.arange(80) / 10, np.arange(10, 64)])
    for rho in (1e-3, 0.05, 2.0):
        theirs, _ = rdp.compute_epsilon(orders, rho * orders, 1e-5)
        assert rdp_epsilon(orders, rho * orders, 1e-5) <= theirs * (1 + 1e-9)


def test_ends_of_the_range() -> None:
    orders = np.array([2.0, 1e300, np.inf, 3.0])
    assert epsilon_of_orders(orders, np.array([np.inf, 3.0, 1.5, 0.0]), 1e-2).tolist() == pytest.approx(
        [math.inf, 3.0, 1.5, 0.0], abs=1e-9
    )
    assert rdp_epsilon([2.0], [0.0], 1e-3) == 0.0
    # Exact Gaussian DP is never above what its divergences prove.
    for mu in (0.01, 0.5, 3.0):
        orders = 1 + np.geomspace(1e-2, 1e3, 2000)
        epsilon = rdp_epsilon(orders, orders * mu**2 / 2, 1e-5)
        assert gdp_delta(epsilon, mu) <= 1e-5
        assert gdp_epsilon(mu, 1e-5) <= epsilon


def gaussian_delta(epsilon: float, mu: float) -> Any:
    """The curve of Gaussian DP in sixty digits, whatever its terms cancel."""
    from mpmath import mp, mpf, ncdf

    with mp.workdps(60 + int(abs(math.log10(mu)))):
        e, m = mpf(epsilon), mpf(mu)
        return ncdf(m / 2 - e / m) - mp.exp(e) * ncdf(-m / 2 - e / m)


@pytest.mark.parametrize("mu", [1e-4, 0.03, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.1])
def test_the_epsilon_of_gaussian_dp_is_rounded_up(mu: float, delta: float) -> None:
    epsilon = gdp_epsilon(mu, delta)
    assert gaussian_delta(epsilon, mu) <= delta
    assert epsilon < 1e-12 or gaussian_delta(epsilon * (1 - 1e-8) - 1e-12, mu) > delta


@pytest.mark.every
@pytest.mark.parametrize(
    ("mu", "delta"),
    [(1.48e-12, 4e-266), (5.6e-8, 1.46e-256), (1e9, 1e-5), (10.0, 5e-324), (1.0, 1e-320), (50.0, 1 - 2.0**-53)],
)
def test_the_epsilon_is_rounded_up_where_float64_ends(mu: float, delta: float) -> None:
    """Where logarithms of tails cancel, tails are 1 to all digits, or delta has few digits left."""
    assert gaussian_delta(gdp_epsilon(mu, delta), mu) <= delta


@pytest.mark.every
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1e-8, 1e-16), (1e-9, 1e-300), (1e-12, 1e-300), (1.0, 1e-5), (30.0, 0.9)]
)
def test_the_sigma_of_noisy_counts_is_rounded_up(epsilon: float, delta: float) -> None:
    sigma = gnmax_sigma_analytic(epsilon, delta)
    assert gaussian_delta(epsilon, math.sqrt(2) / sigma) <= delta
    assert gaussian_delta(epsilon, math.sqrt(2) / sigma * 1.001) > delta or epsilon < 1e-6


def test_gaussian_dp_at_its_ends() -> None:
    assert gdp_epsilon(1e300, 1e-5) == math.inf
    assert gdp_epsilon(1e-300, 1e-5) < 1e-290
    assert compose(GaussianNoisyMax(1e160, K=250, classes=10), 1, delta=1e-5).upper < 1e-150


@pytest.mark.slow
def test_totals_where_votes_are_too_many_to_list() -> None:
    """250 teachers and ten classes: Renyi and Gaussian DP, and the composition of stated epsilons."""
    votes = {"K": 250, "classes": 10}
    total = compose(GaussianNoisyMax(40.0, **votes), 1000, delta=1e-5)
    orders = np.arange(1.05, 60, 0.05)
    assert list(total.bounds) == ["Renyi DP", "Gaussian DP", "ladder of Gaussian profiles"]
    assert total.bounds["Renyi DP"] == pytest.approx(rdp_epsilon(orders, 1000 * orders / 1600, 1e-5), rel=1e-4)
    assert total.upper == total.bounds["ladder of Gaussian profiles"]
    assert gdp_delta(total.bounds["Gaussian DP"], math.sqrt(2000) / 40) == pytest.approx(1e-5, rel=1e-6)
    assert 3.8 < total.lower < total.upper < 3.88
    assert (total.K, total.classes) == (250, 10)
    for mechanism in (LaplaceNoisyMax(0.05, **votes), PermuteAndFlip(0.1, **votes)):
        total = compose(mechanism, 100, delta=1e-5)
        assert total.upper == optimal(0.1, 0.0, 100, 1e-5).epsilon
        assert compose(mechanism, 100, delta=0.0).upper == pytest.approx(10.0, rel=1e-12)
    sigma = noisy_max_parameter(GaussianNoisyMax, 1000, 8, 1e-5, **votes)
    assert sigma == pytest.approx(any_votes_sigma(1000, 8, 1e-5), rel=1e-12)
    assert 0.8 < sigma / (math.sqrt(1000) * gnmax_sigma_analytic(8, 1e-5)) < 0.81
    for kind in (GaussianNoisyMax, LaplaceNoisyMax, PermuteAndFlip):
        parameter = noisy_max_parameter(kind, 1000, 8, 1e-5, **votes)
        assert 7.9 < compose(kind(parameter, **votes), 1000, delta=1e-5).upper <= 8
    with pytest.raises(InputError, match=r"pairs of neighbouring votes, too many to list for an exact total\. At most"):
        compose(GaussianNoisyMax(40.0, **votes), 1000, delta=0.0)


@pytest.mark.thorough
def test_noise_of_any_width_has_an_exact_total() -> None:
    """Of Gaussian noise wider than 1e4 only Renyi DP was known."""
    total = compose(GaussianNoisyMax(3e4), 10, delta=1e-5, K=25, classes=3)
    assert 0 < total.upper < total.bounds["Renyi DP"] / 1.5
    assert compose(LaplaceNoisyMax(1e-5), 10, delta=0.0, K=25, classes=3).upper == pytest.approx(2e-4, rel=0.01)


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize(("K", "classes"), [(4, 2), (5, 2), (3, 3)])
def test_bounds_for_any_votes_are_above_exact_ones(K: int, classes: int) -> None:
    for mechanism in (GaussianNoisyMax(1.5), LaplaceNoisyMax(0.4), PermuteAndFlip(0.8)):
        total = compose(mechanism, 7, delta=1e-4, K=K, classes=classes)
        plain = compose(mechanism, 7, delta=1e-4, K=10**6, classes=50)
        assert total.lower <= total.upper <= plain.upper

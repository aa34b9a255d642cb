"""Samplers and privacy maps of OpenDP beside those of darrm.

Two samples are compared cell by cell with Fisher's exact test, at 1e-9 over all cells: a false alarm once in a billion
runs at most.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import opendp.prelude as dp
import pytest
import scipy.stats

import darrm
from darrm.randomness.coins import Coins
from darrm.randomness.discrete import DiscreteLaplace

FALSE_ALARM = 1e-9
OURS, THEIRS, CALLS = 100_000, 20_000, 4000  # of the one library; of the other, all at once; one call each


@pytest.fixture(autouse=True, scope="module")
def _features() -> None:
    dp.enable_features("contrib")


def least_p_value(ours: Any, theirs: Any, cells: int = 12) -> float:
    """Of exact tests that a value is as likely in both samples, times their number; the values beyond are one cell."""
    ours, theirs = (np.clip(np.asarray(sample, dtype=np.int64), -cells, cells) for sample in (ours, theirs))
    values = np.union1d(ours, theirs)
    tests = [
        [[int((sample == value).sum()), int((sample != value).sum())] for sample in (ours, theirs)] for value in values
    ]
    return len(tests) * min(float(scipy.stats.fisher_exact(table).pvalue) for table in tests)


def integers() -> Any:
    return dp.vector_domain(dp.atom_domain(T=int))


# Samplers.


@pytest.mark.thorough
@pytest.mark.parametrize("scale", [0.5, 1.0, 2.5])
@pytest.mark.parametrize("make", [dp.m.make_laplace, dp.m.make_geometric])
def test_discrete_laplace_noise_is_that_of_opendp(make: Any, scale: float) -> None:
    theirs = make(integers(), dp.l1_distance(T=int), scale=scale)([0] * THEIRS)
    assert least_p_value(DiscreteLaplace(1 / Fraction(scale)).draw(OURS), theirs) > FALSE_ALARM


@pytest.mark.thorough
@pytest.mark.parametrize("q", [0.5, 0.75, 0.999])
def test_coins_are_those_of_opendp(q: float) -> None:
    coin = dp.m.make_randomized_response_bool(q)
    ours = Coins([Fraction(q)]).flip(np.zeros(OURS, dtype=np.intp))
    assert least_p_value(ours, [coin(True) for _ in range(CALLS)]) > FALSE_ALARM


@pytest.mark.thorough
def test_randomized_response_of_three_classes_is_that_of_opendp() -> None:
    ours = darrm.mechanisms.RandomizedResponse(1.0, classes=3)
    theirs = dp.m.make_randomized_response([0, 1, 2], 1 - ours.flip_probability)
    assert least_p_value(ours.release(np.ones(OURS, dtype=int)), [theirs(1) for _ in range(CALLS)]) > FALSE_ALARM


@pytest.mark.thorough
def test_permute_and_flip_is_noisy_max_of_opendp() -> None:
    """With exponential noise; and its exact chances are what OpenDP's labels have."""
    counts, ours = [5, 3, 4], darrm.mechanisms.PermuteAndFlip(1.0)
    noisy_max = dp.m.make_noisy_max(integers(), dp.linf_distance(T=int), dp.max_divergence(), scale=2.0)
    theirs = [noisy_max(counts) for _ in range(CALLS)]
    assert least_p_value(ours.release([counts] * OURS), theirs) > FALSE_ALARM
    for seen, chance in zip(np.bincount(theirs, minlength=3).tolist(), ours.chances([counts])[0], strict=True):
        assert scipy.stats.binomtest(seen, CALLS, float(chance)).pvalue > FALSE_ALARM / 3


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda: DiscreteLaplace(Fraction(0.5)).draw(OURS), lambda: DiscreteLaplace(Fraction(0.4)).draw(THEIRS)),
        (lambda: np.arange(OURS) % 4 < 3, lambda: np.arange(CALLS) % 10 < 8),
        (lambda: np.arange(100_000) % 3, lambda: np.arange(4000) % 5 // 2),
    ],
)
def test_other_noise_is_seen(ours: Any, theirs: Any) -> None:
    assert least_p_value(ours(), theirs()) < FALSE_ALARM


# Privacy maps.


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 5.0])
def test_randomized_response_costs_as_much(epsilon: float, classes: int) -> None:
    """OpenDP rounds up, from a probability that is rounded itself."""
    stay = 1 - darrm.mechanisms.RandomizedResponse(epsilon, classes=classes).flip_probability
    made = [dp.m.make_randomized_response(list(range(classes)), stay)]
    if classes == 2:
        made.append(dp.m.make_randomized_response_bool(stay))
    assert [one.map(1) for one in made] == pytest.approx([epsilon] * len(made), rel=1e-12 / epsilon)


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
def test_noise_of_one_change_costs_as_much(epsilon: float) -> None:
    """Discrete Laplace noise of rate epsilon on a number that changes by 1; permute-and-flip of counts that do."""
    laplace = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1 / epsilon)
    noisy_max = dp.m.make_noisy_max(integers(), dp.linf_distance(T=int), dp.max_divergence(), scale=2 / epsilon)
    law = -epsilon * np.abs(np.arange(-20, 21))
    assert laplace.map(1) == pytest.approx(np.abs(np.diff(law)).max(), rel=1e-12)
    flip = darrm.mechanisms.PermuteAndFlip(epsilon)
    here, there = flip.chances([[30, 0], [29, 1]])
    assert noisy_max.map(1) == pytest.approx(flip.epsilon, rel=1e-12)
    assert np.abs(np.log(here / there)).max() <= noisy_max.map(1)


@pytest.mark.thorough
@pytest.mark.parametrize("sigma", [0.5, 2.0, 6.0, 40.0])
def test_gaussian_noisy_max_costs_the_zcdp_of_its_counts(sigma: float) -> None:
    """One changed vote moves two counts by 1, a length of sqrt 2: rho = 1 / sigma^2. The RDP is order times that."""
    gaussian = dp.m.make_gaussian(integers(), dp.l2_distance(T=float), scale=sigma)
    rho, orders = gaussian.map(math.sqrt(2.0)), np.array([1.5, 2.0, 17.0, 256.0])
    mechanism = darrm.mechanisms.GaussianNoisyMax(sigma)
    assert mechanism.rdp(orders) == pytest.approx(orders * rho, rel=1e-12)
    # No conversion is below the exact curve, and OpenDP's is as good as ours, which knows more orders than one rho.
    theirs = dp.c.make_zCDP_to_approxDP(gaussian).map(math.sqrt(2.0)).epsilon(1e-5)
    dense = 1 + np.geomspace(1e-3, 1e5, 20_000)
    ours = darrm.accounting.rdp_epsilon(dense, mechanism.rdp(dense), 1e-5)
    assert ours <= theirs * (1 + 1e-6)
    assert theirs == pytest.approx(ours, rel=1e-3)
    assert darrm.accounting.gnmax_sigma_analytic(theirs, 1e-5) <= sigma <= darrm.accounting.gnmax_sigma(theirs, 1e-5)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_labels_of_noisy_max_cost_less_than_their_counts(epsilon: float) -> None:
    """`compose` of one label beside OpenDP's map for all noisy counts."""
    gaussian = dp.m.make_gaussian(integers(), dp.l2_distance(T=float), scale=2.0 / epsilon)
    counts = dp.c.make_zCDP_to_approxDP(gaussian).map(math.sqrt(2.0)).epsilon(1e-6)
    mechanism = darrm.mechanisms.GaussianNoisyMax(2.0 / epsilon)
    assert 0 < darrm.accounting.compose(mechanism, 1, delta=1e-6, K=7, classes=2).upper < counts

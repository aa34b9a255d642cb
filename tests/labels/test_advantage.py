"""Advantage measures are those of the definition, keep below their bounds, and behave as the theorems say."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import labels as oracle

import darrm
from darrm.labels import (
    CountKernel,
    GeometricLabelProportions,
    LabelProportions,
    LaplaceLabelProportions,
    additive_advantage,
    attack_utility,
    attacker_decisions,
    bounds,
    individual_advantage,
    label_leakage,
    largest_log_odds_change,
    log_odds_change,
    multiplicative_advantage,
    posterior,
    posterior_change,
    posterior_pairs,
    total_variation,
)
from darrm.labels.measures.kernels import channel
from darrm.measures import noisy_max_probabilities
from darrm.mechanisms import DaRRM, GaussianNoisyMax, LaplaceNoisyMax, RandomizedResponse

etas = st.lists(st.floats(0, 1), min_size=1, max_size=7)
epsilons = st.floats(0.05, 6)
LLP = LabelProportions()


@pytest.fixture(scope="module")
def majority() -> DaRRM:
    return DaRRM(darrm.solve(K=5, m=2, epsilon=0.5))


def test_published_figures() -> None:
    assert additive_advantage(LLP, oracle.ETA) == pytest.approx(oracle.LLP, abs=1e-15)
    assert individual_advantage(LLP, oracle.ETA) == pytest.approx(oracle.LLP_INDIVIDUAL, abs=1e-15)
    for kind, figures in (
        (LaplaceLabelProportions, oracle.LAPLACE),
        (GeometricLabelProportions, oracle.GEOMETRIC),
        (RandomizedResponse, oracle.RANDOMIZED_RESPONSE),
    ):
        for epsilon, figure in figures.items():
            assert additive_advantage(kind(epsilon), oracle.ETA) == pytest.approx(figure, abs=1e-15)
    assert additive_advantage(LLP, [0.5, 0.5]) == oracle.HALF_HALF_LLP
    found = additive_advantage(LaplaceLabelProportions(1), [0.5, 0.5])
    assert found == pytest.approx(oracle.HALF_HALF_LAPLACE_1, abs=1e-15)


def by_definition(mechanism: object, answer: oracle.Answer, eta: list[float]) -> None:
    wanted = oracle.individual(answer, eta)
    assert individual_advantage(mechanism, eta) == pytest.approx(wanted, abs=1e-12)
    assert additive_advantage(mechanism, eta) == pytest.approx(np.mean(wanted), abs=1e-12)
    leaks = [1 + 2 * x for x in (oracle.individual(answer, [*eta[:i], 0.5, *eta[i + 1 :]])[i] for i in range(len(eta)))]
    assert np.exp(label_leakage(mechanism, eta)) == pytest.approx(leaks, abs=1e-12)
    if any(p in (0, 1) or p < 1e-9 or p > 1 - 1e-9 for p in eta):
        return  # the oracle itself loses the digits of a log ratio there
    pairs = oracle.moved(answer, eta)
    found = multiplicative_advantage(mechanism, eta)
    assert found.infinite_mass == pytest.approx(sum(w for x, w in pairs if x == math.inf), abs=1e-12)
    finite = sorted(x for x, w in pairs if x < math.inf)
    for x in (0.0, 0.1, 1.0, *(finite[j] + 1e-7 for j in range(0, len(finite), 5))):
        # A value at x up to the rounding of the oracle may count or not.
        low = sum(w for y, w in pairs if y <= x - 1e-9)
        high = sum(w for y, w in pairs if y <= x + 1e-9)
        assert low - 1e-12 <= found.cdf(x) <= high + 1e-12
    assert largest_log_odds_change(mechanism, eta) == pytest.approx(max(x for x, _ in pairs), abs=1e-9)
    assert found.maximum == pytest.approx(largest_log_odds_change(mechanism, eta), abs=1e-12)


@pytest.mark.thorough
@settings(derandomize=True, max_examples=40, deadline=None)
@given(eta=st.lists(st.floats(0, 1), min_size=1, max_size=5), epsilon=epsilons)
def test_every_mechanism_of_labels_by_the_definition(eta: list[float], epsilon: float) -> None:
    by_definition(LLP, oracle.proportions, eta)
    by_definition(GeometricLabelProportions(epsilon), oracle.geometric(epsilon), eta)
    by_definition(RandomizedResponse(epsilon), oracle.randomized_response(epsilon), eta)


@pytest.mark.thorough
def test_bags_of_ten_by_the_definition() -> None:
    eta = np.random.default_rng(1).beta(0.7, 1.5, 10).tolist()
    by_definition(LLP, oracle.proportions, eta)
    by_definition(GeometricLabelProportions(0.8), oracle.geometric(0.8), eta)


def test_majorities_by_the_definition(majority: DaRRM) -> None:
    eta = [0.2, 0.9, 0.5, 0.7, 0.65]
    kernel = [[1 - p, p] for p in (1 + np.sign(2 * np.arange(6) - 5) * majority.design.gamma) / 2]
    by_definition(majority, oracle.of_counts(kernel), eta)
    subsampled = darrm.baselines.subsampling(5, 2)
    by_definition(CountKernel.from_noise_function(majority.design.gamma), oracle.of_counts(kernel), eta)
    assert additive_advantage(CountKernel.from_noise_function(subsampled), eta) > 0
    for noisy, noise in ((LaplaceNoisyMax(0.4), {"gamma": 0.4}), (GaussianNoisyMax(2.0), {"sigma": 2.0})):
        table = [noisy_max_probabilities([5 - l, l], **noise).tolist() for l in range(6)]
        by_definition(noisy, oracle.of_counts(table), eta)
        assert posterior(noisy, eta, 1) == pytest.approx(posterior(CountKernel(table), eta, 1), abs=1e-14)
    assert largest_log_odds_change(LaplaceNoisyMax(0.4), eta) <= LaplaceNoisyMax(0.4).epsilon
    # (m epsilon, delta) is about a record that private voters have seen; a vote itself may tell more.
    assert largest_log_odds_change(majority, eta) > majority.design.problem.m * majority.design.problem.epsilon


@pytest.mark.thorough
@settings(derandomize=True, max_examples=12, deadline=None)
@given(eta=st.lists(st.floats(0, 1), min_size=1, max_size=5), epsilon=st.floats(0.1, 4))
def test_laplace_by_quadrature(eta: list[float], epsilon: float) -> None:
    mechanism = LaplaceLabelProportions(epsilon)
    each = individual_advantage(mechanism, eta)
    for i, p in enumerate(eta):
        zero, one = oracle.laplace_mass(eta, epsilon, i, 1.0)
        assert each[i] == pytest.approx(one + (1 - p - zero) - max(p, 1 - p), abs=1e-12)
        zero, one = oracle.laplace_mass([*eta[:i], 0.5, *eta[i + 1 :]], epsilon, i, 1.0)
        assert total_variation(mechanism, eta)[i] == pytest.approx(2 * (one - zero), abs=1e-12)
    if not all(0.001 < p < 0.999 for p in eta):
        return
    found = multiplicative_advantage(mechanism, eta)
    for x in (0.15 * epsilon, 0.6 * epsilon, 0.95 * epsilon):
        wanted = 0.0
        for i, p in enumerate(eta):
            odds = p / (1 - p)
            above, below = (oracle.laplace_mass(eta, epsilon, i, odds * math.exp(y)) for y in (x, -x))
            wanted += (sum(below) - sum(above)) / len(eta)
        assert found.cdf(x) == pytest.approx(wanted, abs=1e-11)


@pytest.mark.thorough
@settings(derandomize=True, max_examples=15, deadline=None)
@given(eta=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=5), epsilon=st.floats(0.2, 3))
def test_laplace_is_the_limit_of_fine_discrete_noise(eta: list[float], epsilon: float) -> None:
    """Discrete Laplace noise on a grid of 1/g, by a count kernel, with nothing in common with the closed form."""
    k, g = len(eta), 200
    t = np.arange(-g * 3, g * (k + 3) + 1) / g
    kernel = np.exp(-epsilon * np.abs(t - np.arange(k + 1)[:, None])) * math.tanh(epsilon / g / 2)
    # The ends hold all mass beyond, where the likelihood ratio does not change.
    kernel[:, [0, -1]] /= -math.expm1(-epsilon / g)
    fine = CountKernel(kernel)
    mechanism = LaplaceLabelProportions(epsilon)
    assert individual_advantage(mechanism, eta) == pytest.approx(individual_advantage(fine, eta), abs=5e-5 * epsilon)
    close, exact = multiplicative_advantage(fine, eta), multiplicative_advantage(mechanism, eta)
    step = 1.0001 * epsilon / g  # a value moves by at most 2 epsilon / g from one point of the grid to the next
    for x in (0.1 * epsilon, 0.5 * epsilon, 0.9 * epsilon):
        assert close.cdf(x - 2 * step) - 2 * step <= exact.cdf(x) <= close.cdf(x + 2 * step) + 2 * step
    assert exact.cdf(epsilon) == 1
    for q in (0.0, 0.3, 0.7):
        x = exact.quantile(q)
        assert x == epsilon or exact.cdf(x + 1e-9) >= q
        assert x == 0 or exact.cdf(x - 1e-9) <= q
    assert exact.quantile(1.0) == exact.maximum == epsilon == largest_log_odds_change(mechanism, eta)


@pytest.mark.thorough
@settings(derandomize=True, max_examples=60, deadline=None)
@given(eta=etas, epsilon=epsilons)
def test_label_dp_bounds_every_measure(eta: list[float], epsilon: float) -> None:
    sharp = bounds.label_dp_individual(epsilon, eta)
    assert np.all(sharp <= bounds.label_dp(epsilon) / 2 + 1e-15)
    for kind in (RandomizedResponse, LaplaceLabelProportions, GeometricLabelProportions):
        mechanism = kind(epsilon)
        each = individual_advantage(mechanism, eta)
        assert np.all(each >= 0)
        assert np.all(each <= sharp + 1e-14)
        if kind is not RandomizedResponse:  # noise on the sum never helps
            assert np.all(each <= individual_advantage(LLP, eta) + 1e-14)
        assert np.all(label_leakage(mechanism, eta) <= math.log1p(math.tanh(epsilon / 2)) + 1e-14)
        found = multiplicative_advantage(mechanism, eta)
        assert found.maximum <= epsilon + 1e-11
        assert found.infinite_mass == 0
        assert found.cdf(epsilon) == 1
        assert largest_log_odds_change(mechanism, eta) <= epsilon + 1e-11
    assert individual_advantage(RandomizedResponse(epsilon), eta) == pytest.approx(sharp, abs=1e-15)
    laplace = individual_advantage(LaplaceLabelProportions(epsilon), eta)
    assert np.all(laplace <= bounds.laplace_proportions_individual(epsilon, eta) + 1e-14)
    spread = float(np.mean(np.multiply(eta, np.subtract(1, eta))))
    assert laplace.mean() <= bounds.laplace_proportions(epsilon, spread) + 1e-14
    assert np.all(individual_advantage(LLP, eta) <= bounds.proportions_individual(eta) + 1e-14)


@pytest.mark.thorough
@given(p=st.floats(0, 1), k=st.integers(1, 60))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_exact_proportions_of_like_labels(p: float, k: int) -> None:
    """The equation of Theorem 3.4 of Busa-Fekete et al. (2023), and its two bounds."""
    share = np.arange(k + 1) / k
    chance = [math.comb(k, s) * p**s * (1 - p) ** (k - s) for s in range(k + 1)]
    wanted = min(p, 1 - p) - float(np.array(chance) @ np.minimum(share, 1 - share))
    found = additive_advantage(LLP, [p] * k)
    assert found == pytest.approx(wanted, abs=1e-12)
    assert found <= bounds.proportions_iid(p, k) + 1e-14


@pytest.mark.parametrize("p", [0.45, 0.4, 0.1])
def test_the_tail_of_large_bags_of_like_labels(p: float) -> None:
    """Where the advantage is the tail of a binomial number: sum over s > k/2 of Pr[s] (2 s / k - 1)."""
    from scipy.stats import binom

    for k in (100, 1000, 8000):
        s = np.arange(k // 2 + 1, k + 1)
        exact = float(binom.pmf(s, k, p) @ (2 * s / k - 1))
        assert exact <= bounds.proportions_iid(p, k) == pytest.approx(bounds.proportions_iid(1 - p, k), rel=1e-12)


def test_a_label_is_no_noise_for_itself() -> None:
    for eta in ([0.5], [0.5, 0.0, 1.0], [0.3, 1.0, 1.0]):
        assert bounds.proportions_individual(eta)[0] == individual_advantage(LLP, eta)[0] == eta[0]


def test_advantage_falls_as_the_root_of_the_bag() -> None:
    sizes = np.array([32, 64, 128, 256])
    found = [additive_advantage(LLP, np.full(k, 0.5)) for k in sizes]
    slope = np.polyfit(np.log(sizes), np.log(found), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.005)
    # E|alpha - 1/2| = sqrt(1 / (2 pi k)) to first order.
    assert found[-1] == pytest.approx(math.sqrt(1 / (2 * math.pi * 256)), rel=2e-3)


@pytest.mark.thorough
def test_lemma_a1_for_two_kinds_of_labels() -> None:
    """Bags of labels with eta = a or b, by fair coins: the expected advantage over all compositions."""
    for a, b in ((0.1, 0.4), (0.5, 0.5), (0.02, 0.9)):
        for k in (10, 60):
            bags = np.where(np.arange(k) < np.arange(k + 1)[:, None], a, b)
            chance = np.array([math.comb(k, j) / 2**k for j in range(k + 1)])
            exact = float(chance @ individual_advantage(LLP, bags).mean(axis=1))
            p, spread = (a + b) / 2, (a * (1 - a) + b * (1 - b)) / 2
            assert 0 < exact <= bounds.proportions(p, spread, k)
    assert bounds.proportions(0.5, 0.25, 10**6) < bounds.proportions(0.5, 0.25, 10**4) < 0.5


def test_laplace_bound_is_attained() -> None:
    for epsilon in (0.1, 1.0, 4.0):
        found = individual_advantage(LaplaceLabelProportions(epsilon), [0.5])
        assert found == pytest.approx(bounds.laplace_proportions_individual(epsilon, [0.5]), abs=1e-15)
        assert found[0] == pytest.approx((1 - math.exp(-epsilon / 2)) / 2, abs=1e-15)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_discrete_laplace_noise_that_is_released(epsilon: float) -> None:
    """On its grid of 2^-10: epsilon is that of the mechanism, and the bound for continuous noise holds and is attained.

    Outputs up to 0 are one outcome, and so are those from k on: likelihood ratios do not change there.
    """
    grid, eta = 1024, [0.5, 0.1, 0.7]
    q = math.exp(-epsilon / grid)
    for k in (1, 3):
        steps = np.arange(k * grid + 1) - grid * np.arange(k + 1)[:, None]
        kernel = np.exp(-epsilon / grid * np.abs(steps)) * (1 - q) / (1 + q)
        kernel[:, [0, -1]] /= 1 - q
        shipped, labels = CountKernel(kernel), eta[:k]
        found = individual_advantage(shipped, labels)
        assert np.all(found <= bounds.laplace_proportions_individual(epsilon, labels) + 1e-15)
        assert found == pytest.approx(individual_advantage(LaplaceLabelProportions(epsilon), labels), abs=1e-6)
        assert np.abs(np.diff(np.log(kernel), axis=0)).max() == pytest.approx(epsilon, rel=1e-9)
    half = individual_advantage(CountKernel(kernel), [0.5, 0.0, 1.0])[0]
    assert half == pytest.approx((1 - math.exp(-epsilon / 2)) / 2, abs=1e-14)


def test_like_bags_give_labels_away() -> None:
    p, k = 0.3, 4
    found = multiplicative_advantage(LLP, [p] * k)
    wanted = p**k + (1 - p) ** k
    assert found.infinite_mass == pytest.approx(wanted, abs=1e-15)
    assert bounds.extreme_bags(p, k) == pytest.approx(wanted, abs=1e-15)
    assert bounds.extreme_bags(p, k, n=1000) == pytest.approx(1 - (1 - wanted) ** 1000, rel=1e-12)
    assert found.cdf(1e9) == pytest.approx(1 - wanted, abs=1e-14)
    assert found.cdf(math.inf) == 1
    assert found.quantile(1 - wanted - 1e-9) < math.inf == found.quantile(1 - wanted + 1e-9)
    for x in (0.2, 0.5, 1.2):
        assert bounds.extreme_bags(p, k, threshold=x) == pytest.approx(1 - found.cdf(x), abs=1e-14)
    assert largest_log_odds_change(LLP, [p] * k) == math.inf
    assert bounds.extreme_bags(0.0, 4) == 0
    assert bounds.extreme_bags(0.5, 1) == bounds.extreme_bags(0.5, 1, n=7) == 1


def test_labels_known_before_do_not_move() -> None:
    eta = [0.0, 1.0, 0.3, 0.6]
    for mechanism in (LLP, GeometricLabelProportions(1), LaplaceLabelProportions(1), RandomizedResponse(1)):
        assert individual_advantage(mechanism, eta)[:2].tolist() == [0, 0]
        found, rest = multiplicative_advantage(mechanism, eta), multiplicative_advantage(mechanism, eta[2:])
        for x in (0.0, 0.2, 0.7):
            assert found.cdf(x) == pytest.approx((1 + rest.cdf(x)) / 2, abs=1e-12)
        assert found.infinite_mass == pytest.approx(rest.infinite_mass / 2, abs=1e-15)
        assert largest_log_odds_change(mechanism, [0.0, 1.0]) == 0
        assert multiplicative_advantage(mechanism, [0.0, 1.0]).quantile(1.0) == 0


def test_many_bags_are_their_mean() -> None:
    eta = np.random.default_rng(2).random((9, 6))
    for mechanism in (LLP, GeometricLabelProportions(1), LaplaceLabelProportions(1), RandomizedResponse(1)):
        each = individual_advantage(mechanism, eta)
        assert np.allclose(each, [individual_advantage(mechanism, row) for row in eta], rtol=1e-12, atol=1e-16)
        assert additive_advantage(mechanism, eta) == pytest.approx(each.mean(), abs=1e-16)
        whole, parts = multiplicative_advantage(mechanism, eta), [multiplicative_advantage(mechanism, x) for x in eta]
        assert whole.cdf(0.4) == pytest.approx(np.mean([x.cdf(0.4) for x in parts]), abs=1e-12)
        assert total_variation(mechanism, eta).shape == eta.shape


@pytest.mark.thorough
def test_parts_of_many_bags_are_the_whole(monkeypatch: pytest.MonkeyPatch, majority: DaRRM) -> None:
    eta = np.random.default_rng(5).random((11, 5))
    mechanisms = (LLP, GeometricLabelProportions(1), LaplaceLabelProportions(1), RandomizedResponse(1), majority)
    measures = (
        individual_advantage,
        label_leakage,
        largest_log_odds_change,
        lambda m, x: multiplicative_advantage(m, x).cdf(0.5),
    )
    whole = [np.asarray(measure(m, eta)) for m in mechanisms for measure in measures]
    monkeypatch.setattr("darrm.numerics.leave_one_out._ENTRIES", 60)
    parts = [np.asarray(measure(m, eta)) for m in mechanisms for measure in measures]
    assert all(np.allclose(a, b, rtol=1e-13) for a, b in zip(whole, parts, strict=True))


@pytest.mark.thorough
def test_the_attacker_gets_what_the_advantage_says() -> None:
    """Real releases of random labels, attacked: the share of right guesses, within five standard errors."""
    rng = np.random.default_rng(3)
    bag = rng.beta(1, 2, 6)
    n = 20_000
    eta = np.tile(bag, (n, 1))
    labels = rng.random((n, 6)) < eta
    for mechanism in (LLP, GeometricLabelProportions(1), LaplaceLabelProportions(1), RandomizedResponse(1)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            output = mechanism.release(labels, rng=np.random.default_rng(4))
        right = (attacker_decisions(mechanism, eta, output) == labels).mean(axis=1)
        wanted = attack_utility(mechanism, bag)
        assert abs(right.mean() - wanted) <= 5 * right.std() / math.sqrt(n)
        pairs = posterior_pairs(mechanism, eta, output)
        assert pairs.shape == (6 * n, 2)
        assert np.array_equal(pairs[:, 0], eta.ravel())
        # Posteriors are calibrated: the mean of each is the mean of its label.
        slack = pairs[:, 1].reshape(n, 6) - labels
        assert np.all(np.abs(slack.mean(axis=0)) <= 5 * slack.std(axis=0) / math.sqrt(n))


def test_log_odds_of_any_classes() -> None:
    before, after = [[0.2, 0.3, 0.5], [0.0, 0.5, 0.5]], [[0.4, 0.6, 0.0], [0.0, 0.8, 0.2]]
    assert log_odds_change(before, after) == pytest.approx([0, 0], abs=1e-15)
    assert log_odds_change(before, after, a=1, b=2).tolist() == [math.inf, pytest.approx(math.log(4))]
    assert log_odds_change(before, after, a=2, b=1).tolist() == [-math.inf, pytest.approx(-math.log(4))]
    eta = np.array(oracle.ETA)
    after_one = posterior(GeometricLabelProportions(0.5), eta, 0)
    change = log_odds_change(np.stack([1 - eta, eta], axis=1), np.stack([1 - after_one, after_one], axis=1))
    assert np.all((change >= -0.5 - 1e-12) & (change < 0))
    for bad in ({"a": 3}, {"b": -1}, {"a": True}, {"after": [[1.0, 0, 0]]}, {"after": [[0.0, 0, 1], [0.0, 0, 1]]}):
        with pytest.raises(darrm.InputError, match="must"):
            log_odds_change(**{"before": before, "after": after} | bad)


def test_epsilon_beyond_the_range_of_float64() -> None:
    for kind in (RandomizedResponse, GeometricLabelProportions, LaplaceLabelProportions):
        assert largest_log_odds_change(kind(2000), [0.5, 0.2]) == 2000
        assert multiplicative_advantage(kind(2000), [0.5, 0.2]).infinite_mass == 0
    for kind in (GeometricLabelProportions, LaplaceLabelProportions):
        assert additive_advantage(kind(2000), oracle.ETA) == pytest.approx(oracle.LLP, abs=1e-15)
        assert 0 < additive_advantage(kind(1e-6), [0.5] * 4) < 2.6e-7


@pytest.mark.first(2)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "eta", [[0.5, 1e-12, 0.5, 1e-12, 1.0], [1e-12, 1e-12, 0.0, 1.0], [1.0, 0.0, 1.0, 0.3], [0.0, 0.5], [1e-200, 0.4]]
)
def test_laplace_noise_that_is_nothing_is_exact_proportions(eta: list[float]) -> None:
    """From epsilon = 745 on e^-epsilon is 0 in float64; labels that were known make densities of 0 too."""
    for epsilon in (600.0, 744.0, 746.0, 2000.0, 1e6):
        noisy = LaplaceLabelProportions(epsilon)
        for measure in (individual_advantage, total_variation):
            assert measure(noisy, eta) == pytest.approx(measure(LLP, eta), abs=1e-12)
        found, exact = posterior_change(noisy, eta), posterior_change(LLP, eta)
        # The less likely value becomes certain.
        assert found.maximum == pytest.approx(max(max(p, 1 - p) for p in eta if 0 < p < 1), abs=1e-12)
        assert 0 <= found.quantile(0.98) <= found.maximum <= 1
        for x in (0.2, 0.45, 0.6):
            assert found.cdf(x) == pytest.approx(exact.cdf(x), abs=1e-9)


def test_small_epsilon_attacker_of_theorem_6_3() -> None:
    """Odds below e^-epsilon mean 0 and odds above e^epsilon mean 1, whatever the output (printed the other way)."""
    eta = [0.05, 0.95, 0.5]
    for output in (-5.0, 0.0, 1.3, 9.0):
        assert attacker_decisions(LaplaceLabelProportions(1.0), eta, output)[:2].tolist() == [0, 1]


@pytest.mark.parametrize("eta", [[0.5, 1.1], [float("nan")], [], 0.5, "ab", [[[0.5]]]])
def test_eta_that_is_none(eta: object) -> None:
    for measure in (
        additive_advantage,
        multiplicative_advantage,
        label_leakage,
        largest_log_odds_change,
        attack_utility,
    ):
        for mechanism in (LLP, LaplaceLabelProportions(1)):
            with pytest.raises(darrm.InputError, match="eta must"):
                measure(mechanism, eta)  # type: ignore[operator]


def test_mechanisms_that_are_none(majority: DaRRM) -> None:
    for thing in (np.ones(4), "llp", None, LabelProportions):
        with pytest.raises(darrm.InputError, match="mechanism must be"):
            additive_advantage(thing, [0.5, 0.5])  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match="K = 5 voters"):
        additive_advantage(majority, [0.5] * 4)
    for table in ([[1.0]], [[0.5, 0.6], [1, 0]], [[float("nan"), 1], [1, 0]], [[-0.5, 1.5], [1, 0]], "ab"):
        with pytest.raises(darrm.InputError, match="probabilities must"):
            CountKernel(table)  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match="each of 1 label\\."):
        additive_advantage(CountKernel([[1, 0], [0, 1]]), [0.5] * 2)
    for output in (2, -1, 0.5, [0, 1]):
        with pytest.raises(darrm.InputError, match="output must"):
            posterior(majority, [0.5] * 5, output)  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match="Pass fewer bags"):
        multiplicative_advantage(LaplaceLabelProportions(1), np.full((6000, 64), 0.5))


def test_levels_and_bounds_that_are_none() -> None:
    for found in (multiplicative_advantage(LLP, [0.5]), multiplicative_advantage(LaplaceLabelProportions(1), [0.5])):
        for q in (-0.1, 1.1, float("nan"), "1"):
            with pytest.raises(darrm.InputError, match="q must"):
                found.quantile(q)  # type: ignore[arg-type]
        with pytest.raises(darrm.InputError, match="x must"):
            found.cdf(float("nan"))
    for call in (
        lambda: bounds.label_dp(float("nan")),
        lambda: bounds.label_dp_individual(1, [2.0]),
        lambda: bounds.proportions_iid(1.5, 3),
        lambda: bounds.proportions_iid(0.5, 0),
        lambda: bounds.proportions(0.5, 0.3, 3),
        lambda: bounds.proportions(0.5, 0.2, 1),
        lambda: bounds.laplace_proportions(1, 0.3),
        lambda: bounds.extreme_bags(0.5, 3, n=0),
        lambda: bounds.extreme_bags(0.5, 3, threshold=float("nan")),
    ):
        with pytest.raises(darrm.InputError, match="must be"):
            call()


@pytest.mark.thorough
def test_the_constant_of_the_poisson_binomial_peak() -> None:
    from scipy.special import ive

    x = np.linspace(1e-3, 5, 500_001)
    peak = float((np.sqrt(2 * x) * ive(0, 2 * x)).max())
    assert peak <= bounds._PEAK <= peak + 1e-6


@pytest.mark.parametrize("n", [10, 100, 1000, 20_000])
@pytest.mark.parametrize("p", [0.5, 0.1, 0.01])
def test_the_half_width_of_bernstein_leaves_little_outside(n: int, p: float) -> None:
    from scipy.stats import binom

    log = math.log(4 * n)
    t = log / 3 + math.sqrt(log * log / 9 + 2 * n * p * (1 - p) * log)
    outside = binom.cdf(math.ceil(n * p - t) - 1, n, p) + binom.sf(math.floor(n * p + t), n, p)
    assert outside <= 1 / (2 * n)
    # and it is this t that the bound uses
    v = p * (1 - p)
    rest = math.sqrt((math.exp(-1.5) + math.pi / 4 + math.pi / math.e) * math.sqrt(v) / n**1.5)
    assert bounds.proportions(p, v, n + 1) == pytest.approx(math.sqrt(2 * t + 1) * rest + v / n, rel=1e-9)


@pytest.mark.parametrize(
    "call", [lambda: bounds.proportions(0.5, "a", 3), lambda: bounds.extreme_bags(0.5, 3, threshold="a")]
)  # type: ignore[arg-type]
def test_bounds_of_no_numbers(call: object) -> None:
    with pytest.raises(darrm.InputError):
        call()  # type: ignore[operator]


def test_extreme_bags_count_strictly() -> None:
    # At p = 1/4, k = 4 one label of four moves nothing; the others do.
    assert bounds.extreme_bags(0.25, 4, threshold=0.0) == pytest.approx(1 - 4 * 0.25 * 0.75**3)


@pytest.mark.first(1, 8)
@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 5.0, 600.0])
@pytest.mark.parametrize("k", [1, 2, 3, 8, 120])
def test_geometric_proportions_by_their_neighbours_are_those_of_the_kernel(k: int, epsilon: float) -> None:
    """The recurrence against sums over the kernel: every chance to a relative 1e-13, tails included."""
    mechanism = GeometricLabelProportions(epsilon)
    bags = np.random.default_rng(11).random((3, k)) ** 3
    bags[0, : k // 3], bags[1, k // 2 :] = 0, 1
    quick = channel(mechanism, k).given(bags)
    plain = channel(CountKernel(mechanism.kernel(k)), k).given(bags)
    for chances, wanted in zip(quick, plain, strict=True):
        large = wanted > 1e-280
        assert chances[large] == pytest.approx(wanted[large], rel=1e-13)
        assert np.all(chances[~large] < 1e-279)

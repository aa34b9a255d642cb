"""What docs/errata.md says of Saeidian et al. (2021) and Busa-Fekete et al. (2023, 2024), by small computations."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import binom

from darrm.labels import (
    GeometricLabelProportions,
    LabelProportions,
    LaplaceLabelProportions,
    additive_advantage,
    attack_utility,
    bounds,
    bounds_over_bags,
    individual_advantage,
    individual_advantage_over_bags,
    log_odds_change,
    multiplicative_advantage,
    total_variation,
)
from darrm.measures import (
    composed_leakage,
    leakage_bound,
    leakage_data_bound,
    maximal_leakage,
    noisy_max_probabilities,
    processed_leakage,
)
from darrm.mechanisms import RandomizedResponse

LLP = LabelProportions()

# ---- leakage (2021)


def test_delta_is_not_the_probability_of_a_loss_above_epsilon() -> None:
    """Section I. Gaussian noise of deviation 1 on a number that moves by 1, at epsilon 1."""
    delta = ndtr(-0.5) - math.e * ndtr(-1.5)
    x = np.random.default_rng(0).normal(size=100_000)
    loss = (-(x**2) + (x - 1) ** 2) / 2  # log of the densities at 0 and at 1
    assert np.maximum(0, 1 - np.exp(1 - loss)).mean() == pytest.approx(delta, abs=2e-3)
    assert (loss > 1).mean() == pytest.approx(ndtr(-0.5), abs=4e-3)
    assert (delta, ndtr(-0.5)) == pytest.approx((0.1269, 0.3085), abs=6e-5)


def test_outputs_that_are_independent_two_by_two_do_not_compose() -> None:
    """(7) asks nothing of more than two outputs. Two coins, and the sum of both and the secret bit modulo 2."""
    joint = np.zeros((2, 2, 2, 2))
    for bit, a, b in itertools.product((0, 1), repeat=3):
        joint[bit, a, b, a ^ b ^ bit] = 0.25
    for axis in (1, 2, 3):
        pair = joint.sum(axis=axis)
        assert np.array_equal(pair, pair.sum(axis=1, keepdims=True) * pair.sum(axis=2, keepdims=True))
    singles = [maximal_leakage(joint.sum(axis=others)) for others in ((2, 3), (1, 3), (1, 2))]
    assert singles == [0, 0, 0]
    assert maximal_leakage(joint.reshape(2, 8)) == pytest.approx(math.log(2))


def test_nothing_gains_from_outputs_that_do_not_depend_on_it() -> None:
    """(35) has the supremum over U - Z - Y1 - Y2, which is 0; U - (Y1, Z) - Y2 is meant."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        of_u, of_x, first, second = (rng.dirichlet(np.ones(3), size) for size in (1, 1, 3, 3))
        joint = of_u[0][:, None] * (of_x @ first @ second)[0]  # given z, U is independent of Y2
        assert joint.max(axis=0).sum() / of_u.max() == pytest.approx(1)
        assert 0.001 < maximal_leakage(first @ second) <= maximal_leakage(second) + 1e-12


@pytest.mark.parametrize(("gamma", "together"), [(0.5, 0.0568), (5.0, 0.6696)])
def test_labels_of_voters_trained_with_coins_do_not_add_up(gamma: float, together: float) -> None:
    """(10) for random training. The one unknown voter answers a coin R, and then R plus the secret bit modulo 2.

    Neither vote tells the bit, and both do. What two labels tell of the votes still adds up.
    """
    of_vote = np.array([noisy_max_probabilities(v, gamma=gamma) for v in ([4, 3], [3, 4])])
    labels = np.array([np.mean([np.outer(of_vote[r], of_vote[r ^ bit]) for r in (0, 1)], axis=0) for bit in (0, 1)])
    training = 0.0  # of each vote, given the bit
    each = [maximal_leakage(labels.sum(axis=other)) for other in (2, 1)]
    assert each == pytest.approx([0, 0], abs=1e-12)
    joint = maximal_leakage(labels.reshape(2, 4))
    assert joint == pytest.approx(together, abs=6e-5)
    assert composed_leakage([processed_leakage([training, maximal_leakage(of_vote)])] * 2) == 0 < joint
    both_votes = math.log(2)  # of R and R plus the bit
    assert joint <= processed_leakage([both_votes, composed_leakage([maximal_leakage(of_vote)] * 2)]) <= 2 * gamma


BUDGET = 0.1


def bound_at(votes: tuple[int, int], gamma: float) -> float:
    """The lesser of Propositions 12 and 16, for whichever vote is not known."""
    known = [(votes[0] - 1, votes[1])] * (votes[0] > 0) + [(votes[0], votes[1] - 1)] * (votes[1] > 0)
    data = max(leakage_data_bound(one, gamma) for one in known)
    return min(leakage_bound(2, gamma), data)


def chosen_noise(votes: tuple[int, int]) -> float:
    """The least noise that keeps the budget at these votes."""
    return max(gamma for gamma in [*np.arange(0.01, 1, 0.01), 10, 100] if bound_at(votes, gamma) <= BUDGET)


def leaks(known: tuple[int, int], release: object) -> float:
    a, b = known
    return maximal_leakage([release((a + 1, b)), release((a, b + 1))])  # type: ignore[operator]


@pytest.mark.thorough
def test_noise_and_refusals_by_the_votes_break_the_budget() -> None:
    """Section V, 11 voters of two classes: noise that keeps a budget of .1 at the votes, and refusals at gamma = 1."""

    def adjusted(votes: tuple[int, int]) -> np.ndarray:
        return noisy_max_probabilities(votes, gamma=chosen_noise(votes))

    def refusing(votes: tuple[int, int]) -> list[float]:
        if bound_at(votes, 1.0) > BUDGET:
            return [0.0, 0.0, 1.0]
        return [*noisy_max_probabilities(votes, gamma=1.0), 0.0]

    assert leaks((5, 5), adjusted) <= BUDGET
    assert leaks((6, 4), adjusted) == pytest.approx(0.370, abs=5e-4)
    assert leaks((7, 3), refusing) == pytest.approx(math.log(2))


# ---- label inference (2023, 2024)


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


def test_inequality_5_lacks_the_first_term_beyond_its_interval() -> None:
    """Outside [a, b] the numbers s - 1 take in the last of the interval. With a and b of the proof: k = 2, p = .1."""
    k, p = 2, 0.1
    log = math.log(8 * k)
    half = log / 3 + math.sqrt(2 * log + 12 * k * p * (1 - p) * log) / 6  # sqrt(k) c_k as printed
    low, high = max(k * p - half, 0), min(k * p + half, k)
    s = np.arange(k + 2)
    outside = (s < low) | (s > high)
    assert s[~outside].tolist() == [0, 1]
    apart = np.abs(np.diff(binom(k, p).pmf(np.arange(-1, k + 2))))
    assert apart[outside].sum() == pytest.approx(0.18)
    assert 2 * binom(k, p).pmf(s[outside]).sum() == pytest.approx(0.02)


def test_the_upper_sum_of_proposition_a6_goes_to_one_quarter() -> None:
    """m = 4, alpha = 16, so that m x_0 is 1 and the sum has one term; its integral as printed is over nothing."""

    def f(x: float) -> float:
        return x * x * math.exp(-16 * x * x)

    term = f(0.25) / 4
    assert term == pytest.approx(0.00575, abs=5e-6)
    assert quad(f, 0, 1 / 4 - 1 / 4)[0] == 0
    assert term <= quad(f, 0, 1 / 4)[0] + f(0.25) / 4  # with the largest value added, as the proof goes on


@pytest.mark.thorough
def test_a_smaller_spread_can_raise_the_advantage() -> None:
    """After Theorem 3.4 of 2024. p = 1/4 and v = 3/16 or 1/8; and a label among fair coins or among known ones."""
    like = additive_advantage(LLP, [0.25] * 129)
    mixed = np.mean([individual_advantage_over_bags(LLP, eta, [0.0, 0.5], 129).mean for eta in (0.0, 0.5)])
    assert like == pytest.approx(7.69e-12, rel=1e-3)
    assert mixed == pytest.approx(0.0248, abs=5e-5)
    among = [individual_advantage_over_bags(LLP, 0.5, others, 65).mean for others in ([0.5], [0.0, 1.0])]
    assert among == pytest.approx([0.0497, 0.5], abs=5e-5)


def test_two_classes_that_change_alike_do_not_move_their_odds() -> None:
    """After Definition 3.6 of 2024: both of three classes are 49 times as likely as before."""
    before, after = [0.01, 0.01, 0.98], [0.49, 0.49, 0.02]
    assert log_odds_change(before, after, 0, 1) == 0
    assert log_odds_change(before, after, 0, 2) == pytest.approx(7.78, abs=5e-3)


def test_the_additive_advantage_is_not_the_difference_of_the_rates() -> None:
    """Section 3.3 of 2024. The best attacker of eta = .3 repeats the answer; that of .2 never says 1."""
    answers = RandomizedResponse(1.0)
    assert individual_advantage(answers, [0.3, 0.2, 0.5]) == pytest.approx([0.0311, 0, 0.2311], abs=5e-5)
    assert total_variation(answers, [0.3, 0.2, 0.5]) == pytest.approx([0.4621] * 3, abs=5e-5)


def test_noise_is_folded_into_likelihoods_and_not_into_posteriors() -> None:
    """Section 4 of 2024: two labels of eta = 1/2 and geometric noise of epsilon 1, output 0."""
    mechanism = GeometricLabelProportions(1.0)
    kernel = mechanism.kernel(2)
    exact = np.array([LLP.posterior([0.5, 0.5], s)[0] for s in range(3)])
    chances = np.array([0.25, 0.5, 0.25])
    assert mechanism.posterior([0.5, 0.5], 0)[0] == pytest.approx(0.2689, abs=5e-5)
    assert (exact * chances) @ kernel[:, 0] / (chances @ kernel[:, 0]) == pytest.approx(0.2689, abs=5e-5)
    assert exact @ kernel[:, 0] == pytest.approx(0.2334, abs=5e-5)
    assert exact @ kernel[:, 0] / kernel[:, 0].sum() == pytest.approx(0.2124, abs=5e-5)


def test_noisy_sums_do_not_follow_the_exact_ones_first() -> None:
    """Figure 2 of 2024, Beta(2, 30), k = 8, epsilon = 1: distribution functions of the multiplicative advantage."""
    eta = np.random.default_rng(1).beta(2, 30, (1000, 8))
    noisy = multiplicative_advantage(GeometricLabelProportions(1.0), eta)
    exact = multiplicative_advantage(LLP, eta)
    assert noisy.cdf(0.5) == pytest.approx(0.25, abs=0.01)
    assert exact.cdf(0.5) == pytest.approx(0.07, abs=0.01)


def test_proportion_matching_needs_a_class_that_holds_eta() -> None:
    """Section 2: h(x) = c x, x = 1 or 2, eta = .9 or .1. In bags of k the square loss is Var / k + mean^2."""
    x, eta = np.array([1.0, 2.0]), np.array([0.9, 0.1])

    def of_bag(c: float, k: int) -> float:
        """E of (mean of h - mean of labels)^2, by all bags and labellings."""
        total = 0.0
        for bag in itertools.product((0, 1), repeat=k):
            for y in itertools.product((0, 1), repeat=k):
                chance = math.prod(eta[i] if one else 1 - eta[i] for i, one in zip(bag, y, strict=True)) / 2**k
                total += chance * (c * x[list(bag)].mean() - np.mean(y)) ** 2
        return total

    def best(k: int) -> float:
        """Least of a quadratic of c, from three values."""
        at = [of_bag(c, k) for c in (0.0, 1.0, 2.0)]
        return (3 * at[0] - 4 * at[1] + at[2]) / (2 * (at[0] - 2 * at[1] + at[2]))

    assert [best(k) for k in (1, 2, 4)] == pytest.approx([0.22, 0.2737, 0.3027], abs=5e-5)
    assert of_bag(0.22, 1) == pytest.approx(0.379, abs=5e-4)
    assert of_bag(0.3027, 1) == pytest.approx(0.396, abs=5e-4)

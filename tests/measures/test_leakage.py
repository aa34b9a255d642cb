"""Leakage of majorities by the definition, bounds through stages, and noisy max to the stated accuracy."""

import functools
import itertools
import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import slow, thorough
from oracles import noisy_max as oracle

import darrm
from darrm import baselines
from darrm.labels import CountKernel, GeometricLabelProportions, LabelProportions, label_leakage
from darrm.measures import (
    composed_leakage,
    conditional_leakage,
    entrywise_leakage,
    laplace_leakage_bound,
    laplace_leakage_data_bound,
    majority_leakage,
    maximal_leakage,
    noisy_max_probabilities,
    processed_leakage,
)
from darrm.mechanisms import DaRRM, GaussianNoisyMax, LaplaceNoisyMax, RandomizedResponse


def test_leakage_of_a_majority_by_its_definition() -> None:
    gamma = darrm.solve(K=7, m=2, epsilon=0.5).gamma
    X = [(1 + (1 if 2 * l > 7 else -1) * g) / 2 for l, g in enumerate(gamma)]
    for l in range(7):
        # log sum over outputs of the larger of the two probabilities that the unknown vote can give
        both = max(X[l], X[l + 1]) + max(1 - X[l], 1 - X[l + 1])
        assert majority_leakage(gamma)[l] == pytest.approx(math.log(both), abs=1e-15)


def test_a_vote_leaks_as_much_where_one_more_makes_the_label_rarer() -> None:
    """Noise functions need not rise: from 4 to 5 ones of 6 this one turns the label 1 from certain to a coin."""
    gamma = np.array([1.0, 0.0, 1.0, 0.3, 1.0, 0.0, 1.0])
    kernel = CountKernel.from_noise_function(gamma).kernel(6)
    assert np.diff(kernel[:, 1]).min() == -0.5
    given = np.stack([kernel[:-1], kernel[1:]], axis=1)
    assert majority_leakage(gamma) == pytest.approx(conditional_leakage(given), abs=1e-15)
    assert majority_leakage(gamma)[4] == pytest.approx(math.log(1.5))


def test_leakage_is_at_most_the_epsilon_of_one_vote() -> None:
    # One vote alone moved without limit: max_affected = 1 and a voter that is not private; at most log 2.
    assert majority_leakage(np.ones(8)).max() == pytest.approx(math.log(2))
    assert majority_leakage(np.zeros(8)).max() == 0
    assert majority_leakage(baselines.subsampling(8, 3)).shape == (8,)
    with pytest.raises(darrm.InputError):
        majority_leakage([0.5, 0.4, 0.2])


def gain(guess: np.ndarray, prior: np.ndarray, channel: np.ndarray) -> float:
    """log of what the best guess of U gains from Y: guess[x, u] = P(u | x), any law of U given X."""
    joint = (prior[:, None] * guess).T @ channel  # [u, y]
    return math.log(joint.max(axis=0).sum() / (prior @ guess).max())


def shattered(prior: np.ndarray) -> np.ndarray:
    """P(u | x): each x in pieces of the least probability, and one smaller piece for the rest."""
    least, columns = prior[prior > 0].min(), []
    for x, p in enumerate(prior):
        while p > 1e-15:
            piece = np.zeros(prior.size)
            piece[x] = min(p, least) / prior[x]
            columns.append(piece)
            p -= least
    return np.stack(columns, axis=1)


def channels(seed: int, n: int) -> Iterator[tuple[np.random.Generator, np.ndarray]]:
    """Random channels, some with outputs that cannot occur."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        inputs, outputs = rng.integers(1, 6, 2)
        yield rng, rng.dirichlet(np.full(outputs, 10 ** rng.uniform(-1.5, 1)), inputs)


@pytest.mark.thorough
def test_maximal_leakage_is_the_gain_of_the_best_guess() -> None:
    for rng, channel in channels(1, 300):
        prior = rng.dirichlet(np.ones(len(channel)))
        prior[prior < 0.02] = 0
        prior /= prior.sum()
        leak = maximal_leakage(channel, prior)
        whole = np.where(prior[:, None] > 0, shattered(prior), 0)
        assert gain(whole, prior, channel) == pytest.approx(leak, abs=1e-12)
        for _ in range(5):
            assert gain(rng.dirichlet(np.full(4, 0.3), len(prior)), prior, channel) <= leak + 1e-12
        assert leak <= math.log(min(channel.shape)) + 1e-12
        assert leak == pytest.approx(maximal_leakage(channel, np.sign(prior)), abs=1e-15)


def test_functions_of_the_input_are_not_enough() -> None:
    prior, channel = np.array([0.9, 0.1]), np.array([[0.8, 0.2], [0.2, 0.8]])
    for guess in (np.eye(2), np.ones((2, 1))):
        assert gain(guess, prior, channel) == pytest.approx(0, abs=1e-15)
    assert gain(shattered(prior), prior, channel) == pytest.approx(math.log(1.6))
    assert maximal_leakage(channel, prior) == pytest.approx(math.log(1.6))


def test_inputs_that_cannot_occur_leak_nothing() -> None:
    channel = [[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]]
    assert maximal_leakage(channel) == pytest.approx(math.log(1.5))
    assert maximal_leakage(channel, [0.4, 0.6, 0]) == 0
    assert conditional_leakage([channel, channel], [[1, 1, 0], [1, 1, 1]]) == pytest.approx([0, math.log(1.5)])
    assert conditional_leakage([channel]).tolist() == [maximal_leakage(channel)]


@pytest.mark.thorough
def test_composition_and_processing_of_random_channels() -> None:
    for rng, one in channels(2, 400):
        other = rng.dirichlet(np.full(3, 0.5), len(one))
        both = (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)
        parts = [maximal_leakage(one), maximal_leakage(other)]
        assert max(parts) - 1e-12 <= maximal_leakage(both) <= composed_leakage(parts) + 1e-12
        after = rng.dirichlet(np.full(4, 0.5), one.shape[1])
        possible = one.max(axis=0)  # outputs that the first stage can give
        stages = [maximal_leakage(one), maximal_leakage(after, possible)]
        assert maximal_leakage(one @ after) <= processed_leakage(stages) + 1e-12


def test_leakage_is_at_most_epsilon() -> None:
    for epsilon in (0.1, 1.0, 4.0):
        rows = RandomizedResponse(epsilon).label_kernel()
        assert maximal_leakage(rows) == pytest.approx(math.log(2 / (1 + math.exp(-epsilon))))
        assert maximal_leakage(rows) <= epsilon
        assert maximal_leakage(GeometricLabelProportions(epsilon).kernel(1)) <= epsilon


@pytest.mark.parametrize(
    ("mechanism", "kernel"),
    [
        (LabelProportions(), LabelProportions().kernel(4)),
        (GeometricLabelProportions(0.7), GeometricLabelProportions(0.7).kernel(4)),
        (LaplaceNoisyMax(0.6), LaplaceNoisyMax(0.6).kernel(4)),
        (GaussianNoisyMax(1.5), GaussianNoisyMax(1.5).kernel(4)),
        (CountKernel.from_noise_function([1, 0.4, 0, 0.4, 1]), None),
    ],
)
def test_label_leakage_is_that_of_the_channel(mechanism: Any, kernel: Any) -> None:
    eta, rows = np.array([0.2, 0.9, 0.5, 0.7]), mechanism.kernel(4) if kernel is None else kernel
    for i in range(4):
        channel = np.zeros((2, rows.shape[1]))  # of label i; all others vary as eta says
        for labels in itertools.product((0, 1), repeat=4):
            chance = np.prod([eta[j] if y else 1 - eta[j] for j, y in enumerate(labels) if j != i])
            channel[labels[i]] += chance * rows[sum(labels)]
        assert label_leakage(mechanism, eta)[i] == pytest.approx(maximal_leakage(channel), abs=1e-12)


def test_label_leakage_of_randomized_response_is_that_of_its_channel() -> None:
    response = RandomizedResponse(0.8)
    leak = maximal_leakage(response.label_kernel())
    assert label_leakage(response, [0.2, 0.5]) == pytest.approx([leak, leak], abs=1e-14)


def test_majority_leakage_is_that_of_the_channel() -> None:
    design = darrm.solve(K=7, m=2, epsilon=0.5)
    kernel = DaRRM(design).kernel(7)
    given = np.stack([kernel[:-1], kernel[1:]], axis=1)  # [ones among the known votes, last vote, label]
    assert majority_leakage(design.gamma) == pytest.approx(conditional_leakage(given), abs=1e-14)


@pytest.mark.parametrize("scale", [{"gamma": 0.7}, {"sigma": 1.3}])
def test_entrywise_leakage_is_that_of_the_channel(scale: dict[str, float]) -> None:
    for votes in ([3, 1], [2, 2, 0], [4, 1, 1, 0], [3, 3, 3, 3, 2]):
        up = np.array(votes) + np.eye(len(votes), dtype=int)
        channel = [noisy_max_probabilities(row, **scale) for row in up]
        assert entrywise_leakage(votes, **scale) == pytest.approx(maximal_leakage(channel), abs=1e-11)


@pytest.mark.parametrize(
    ("channel", "support", "message"),
    [
        ([[0.5, 0.4]], None, "sum to 1 within 1e-9. Got the sum 0.9. Pass"),
        ([[1.0, 0.0], [0.5, 0.4]], None, "Got the sum 0.9. Pass"),
        ([0.5, 0.5], None, "channel must be"),
        ([[-0.5, 1.5]], None, "channel must be"),
        ([[math.nan, 1]], None, "channel must be"),
        ([[1.0, 0.0]], [0], "support must be above 0"),
        ([[1.0, 0.0]], [1, 1], "support must be"),
        ([[1.0, 0.0]], [-1], "support must be"),
    ],
)
def test_channels_that_are_none(channel: Any, support: Any, message: str) -> None:
    with pytest.raises(darrm.InputError, match=message):
        maximal_leakage(channel, support)


def test_two_classes_of_noisy_max_are_a_majority() -> None:
    K, rate = 9, 0.4
    right = np.array([noisy_max_probabilities([max(l, K - l), min(l, K - l)], gamma=rate)[0] for l in range(K + 1)])
    gamma = baselines.from_accuracy(right)
    for l in range(K):
        assert majority_leakage(gamma)[l] == pytest.approx(entrywise_leakage([K - 1 - l, l], rate), abs=1e-13)


def test_bounds_through_stages_and_of_many() -> None:
    one = laplace_leakage_bound(4, 0.1)
    assert composed_leakage([one] * 50) == pytest.approx(50 * one)
    assert composed_leakage([one] * 50) <= 50 * 0.1  # Corollary 15
    assert processed_leakage([0.3, one]) == one
    for wrong in ([], [-1.0], [math.nan], "ab", [[1.0]], None):
        for function in (composed_leakage, processed_leakage):
            with pytest.raises(darrm.InputError, match="leakages must"):
                function(wrong)  # type: ignore[arg-type]


@pytest.mark.thorough
def test_a_sum_of_many_leakages_is_not_rounded_down() -> None:
    """Added in float64 one after the other, in eights or in pairs, the small ones of a block are lost."""
    leakages = np.full(128, 1.1e-16)
    leakages[:8] = 1.0
    for parts in (leakages, np.full(10**5, 0.1)):
        exact = sum(map(Fraction, parts.tolist()), Fraction(0))
        assert exact <= Fraction(composed_leakage(parts)) <= exact * (1 + Fraction(1, 10**14))
    assert composed_leakage([math.inf, 1.0]) == math.inf
    assert composed_leakage([1.7e308, 1.7e308]) == math.inf
    assert composed_leakage([0.0]) == 0


@pytest.mark.thorough
def test_the_sum_of_leakages_is_rounded_up() -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 3, 10, 127, 1000):
        for _ in range(20):
            leakages = rng.random(n) * 10.0 ** -rng.integers(0, 8, n)
            exact = sum(map(Fraction, leakages.tolist()))
            assert exact <= Fraction(composed_leakage(leakages)) <= exact * (1 + Fraction(1, 10**14))
    assert composed_leakage([0.1] * 4000) >= 4000 * Fraction(0.1)


def test_two_labels_leak_no_more_than_their_sum() -> None:
    # Independent given the votes: the product channel, by the definition.
    a, b = (noisy_max_probabilities([3, 3 + v, 2], gamma=0.7) for v in (0, 1))
    other = noisy_max_probabilities([4, 3, 2], gamma=0.7)
    rows = [np.outer(x, x).ravel() for x in (a, b, other)]
    one = math.log(np.max([a, b, other], axis=0).sum())
    assert math.log(np.max(rows, axis=0).sum()) <= composed_leakage([one, one])


@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1), Fraction(5, 2)])
@pytest.mark.parametrize("counts", [[5, 3, 2], [4, 4, 4], [30, 3, 2, 1, 0], [7, 7, 6], [1, 0], [9] * 12])
def test_laplace_probabilities_against_sixty_digits(counts: list[int], rate: Fraction) -> None:
    found = noisy_max_probabilities(counts, gamma=float(rate))
    wanted = list(map(float, oracle.laplace(counts, Fraction(float(rate)))))
    assert found == pytest.approx(wanted, rel=1e-13)
    assert sum(wanted) == pytest.approx(1, abs=1e-14)


@pytest.mark.thorough
def test_probabilities_when_counts_are_far_apart_or_many() -> None:
    noises: list[dict[str, float]] = [{"gamma": 1.0}, {"sigma": 1.0}]
    for noise in noises:
        p = noisy_max_probabilities([10**12, 10**12 - 1, 3, 0], **noise)
        two = noisy_max_probabilities([1, 0], **noise)
        assert p == pytest.approx([*two, 0, 0], abs=1e-13)
        assert noisy_max_probabilities([4] * 200, **noise) == pytest.approx(np.full(200, 5e-3), abs=1e-13)
        assert noisy_max_probabilities(np.arange(100), **noise).sum() == pytest.approx(1, abs=1e-12)


@functools.cache
def exact_leakage(known_votes: tuple[int, ...], gamma: float) -> float:
    """By the definition: log sum over labels of the largest probability."""
    m = len(known_votes)
    ups = [tuple(n + (i == j) for i, n in enumerate(known_votes)) for j in range(m)]
    rows = [oracle.laplace(up, Fraction(gamma)) for up in ups]
    return math.log1p(float(sum(map(max, zip(*rows, strict=True))) - 1))


VOTES = {2: 12, 3: 6, 4: 3, 5: 2}  # classes: most votes for one


@pytest.mark.thorough
@pytest.mark.parametrize("gamma", [0.2, 5.0, *slow(0.05, 0.5, 1.0, 2.0, 3.5)])
def test_no_votes_leak_more_than_the_bounds(gamma: float) -> None:
    for m, most in VOTES.items():
        if gamma < 0.1 and m > 3:
            continue
        found = {
            votes: exact_leakage(votes, gamma) for votes in itertools.combinations_with_replacement(range(most + 1), m)
        }
        bound = laplace_leakage_bound(m, gamma)
        # The bound is attained at equal counts, and nowhere else.
        assert max(found.values()) <= bound <= max(found.values()) + 2e-11
        assert {votes for votes, leak in found.items() if leak > bound - 1e-9} == {(n,) * m for n in range(most + 1)}
        for votes, leak in found.items():
            data = laplace_leakage_data_bound(votes, gamma)
            assert leak <= data
            if m == 2:
                assert leak == pytest.approx(data, rel=1e-11, abs=1e-11)


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize("gamma", [*thorough(0.2, 3.0), 1.0])
def test_votes_for_the_classes_that_have_least_raise_the_leakage(gamma: float) -> None:
    """The step of the proof: raised together by one vote, up to the next class, they make the leakage no smaller."""
    for m, most in VOTES.items():
        for votes in itertools.combinations_with_replacement(range(most + 1), m):
            least = min(votes)
            if max(votes) > least:
                raised = tuple(n + (n == least) for n in votes)
                assert exact_leakage(votes, gamma) <= exact_leakage(raised, gamma) + 1e-13
                assert entrywise_leakage(votes, gamma) <= entrywise_leakage(raised, gamma) + 1e-11


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize("gamma", [1e-300, 1e-9, 0.05, 0.69, 2.0, 20.0, 49.9, 200.0])
def test_the_bound_is_rounded_up(gamma: float) -> None:
    """Against B1 as the paper prints it, in so many digits that it does not cancel."""
    for m in (2, 3, 4, 10, 1000):
        bound = laplace_leakage_bound(m, gamma)
        with localcontext() as context:
            context.prec = 700
            q = (-Decimal(gamma)).exp()
            c = 1 - q / 2
            H = Decimal(gamma) + sum((Decimal(2) ** -k - c**k) / k for k in range(1, m - 1))
            B1 = (1 - m) * q / 2**m + (1 - c**m) / q + Decimal(m) / 2 * c ** (m - 1) - m * (m - 1) * q * H / 4
            exact = B1.ln()
            assert exact * (1 - Decimal(10) ** -300) <= Decimal(bound) <= exact + Decimal(m) * Decimal("1e-11")
        assert bound <= gamma


@pytest.mark.parametrize("gamma", [1e-9, 0.05, 0.3, 0.7, 2.0, 7.3])
def test_the_bound_for_the_votes_at_hand_is_rounded_up(gamma: float) -> None:
    for votes in ((5, 5), (9, 6), (40, 2), (90, 5, 5, 0), (4, 4, 3, 3, 1), (61, 23, 7)):
        first = votes.count(votes[0])
        with localcontext() as context:
            context.prec = 400
            rate = Decimal(gamma)
            total, parts = Decimal(first), Decimal(first - 1)
            for d, sign in [(votes[0] + 1 - votes[1], -first)] + [(votes[0] - 1 - v, 1) for v in votes[first:]]:
                term = sign * (-rate * d).exp() * (1 + d * rate / 2) / 2
                total, parts = total + term, parts + abs(term)
            found = Decimal(laplace_leakage_data_bound(votes, gamma))
            assert total.ln() <= found <= (total + 5 * parts / 10**12).ln()


@pytest.mark.thorough
def test_bounds_at_the_ends_of_float64() -> None:
    for gamma in (5e-324, 1e-200, 800.0, 1e308):
        for votes in ([5, 3], [10**12, 0, 0], [4, 4, 1], [1e300, 1e300, 0], [10**12, 10**12 - 1]):
            assert 0 < laplace_leakage_data_bound(votes, gamma) < 1.1
        assert 0 < laplace_leakage_bound(1000, gamma) <= min(gamma, math.log(1000) + 2e-9)
    # The chance that a vote matters is below the range of float64, and not 0.
    assert 0 < laplace_leakage_data_bound([900, 0], 1.0) < 1e-299


def test_more_consensus_can_leak_more() -> None:
    """Theorem 10 of Saeidian et al. (2021) says it cannot. (5, 5, 0) majorises (5, 4, 1)."""
    assert np.all(np.cumsum([5, 5, 0]) >= np.cumsum([5, 4, 1]))
    for votes, leak in (((5, 5, 0), 0.37416), ((5, 4, 1), 0.32780)):
        assert entrywise_leakage(votes, 1.0) == pytest.approx(leak, abs=5e-6)
    # The same by the exponential sums, in 60 digits.
    found = [exact_leakage(votes, 1.0) for votes in ((5, 5, 0), (5, 4, 1))]
    assert found == pytest.approx([0.37416, 0.32780], abs=5e-6)


def test_a_gaussian_label_needs_less_noise_than_the_noisy_counts() -> None:
    """The figures of docs/howto/pate.md: 11 voters, two classes."""

    def epsilon(sigma: float) -> float:
        behind = np.log([noisy_max_probabilities([l, 11 - l], sigma=sigma)[0] for l in range(12)])
        return float(np.abs(np.diff(behind)).max())

    sigma = darrm.accounting.gnmax_sigma_analytic(1.0, 1e-5)
    assert sigma == pytest.approx(5.276, abs=5e-4)
    assert darrm.accounting.gnmax_sigma(1.0, 1e-5) == pytest.approx(6.930, abs=5e-4)
    assert epsilon(sigma) == pytest.approx(0.4836, abs=5e-5)
    assert epsilon(3.433) < 1 < epsilon(3.432)

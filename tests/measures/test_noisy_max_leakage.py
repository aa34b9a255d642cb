"""Leakage of noisy max with Laplace and Gaussian noise, discrete and continuous, against brute force and releases."""

import functools
import itertools
import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from cases import thorough

import darrm
from darrm.measures import (
    entrywise_leakage,
    laplace_leakage_bound,
    laplace_leakage_data_bound,
    leakage_bound,
    leakage_data_bound,
    noisy_max_probabilities,
)
from darrm.mechanisms import GaussianNoisyMax, LaplaceNoisyMax
from darrm.randomness.words import NotPrivateWarning

SCALES = [{"gamma": 0.3}, {"gamma": 1.0}, {"gamma": 4.0}, {"sigma": 0.25}, {"sigma": 1.0}, {"sigma": 3.0}]
NOISES = ["discrete", "continuous"]
VOTES = {2: 9, 3: 6, 4: 3}  # classes: most votes for one


def every_noise(gamma: float = 0.0, sigma: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Values of the discrete noise and their probabilities."""
    reach = int(45 / gamma if gamma else 12 * sigma) + 3
    values = np.arange(-reach, reach + 1)
    weight = np.exp(-gamma * np.abs(values)) if gamma else np.exp(-(values**2) / (2 * sigma**2))
    return values, weight / weight.sum()


def by_ties(counts: tuple[int, ...], scale: dict[str, float]) -> np.ndarray:
    """Pr[label], sums over the value of the winner and how many tie with it; a tie of k is won with 1 / k."""
    values, weight = every_noise(**scale)
    grid = np.arange(min(counts) + values[0], max(counts) + values[-1] + 1)
    mass = [np.interp(grid - n, values, weight, left=0, right=0) for n in counts]
    below = [np.concatenate([[0.0], np.cumsum(one)[:-1]]) for one in mass]
    answer = []
    for j in range(len(counts)):
        ties = [np.ones(grid.size)]
        for i in range(len(counts)):
            if i != j:
                less = [one * below[i] for one in ties] + [np.zeros(grid.size)]
                equal = [np.zeros(grid.size)] + [one * mass[i] for one in ties]
                ties = [a + b for a, b in zip(less, equal, strict=True)]
        answer.append(float(mass[j] @ sum(one / (k + 1) for k, one in enumerate(ties))))
    return np.array(answer)


def by_definition(known: tuple[int, ...], scale: dict[str, float]) -> float:
    rows = [by_ties(tuple(n + (i == j) for i, n in enumerate(known)), scale) for j in range(len(known))]
    return math.log(np.max(rows, axis=0).sum())


@pytest.mark.first(2)
@pytest.mark.parametrize("scale", [*SCALES, *thorough({"gamma": 0.05}, {"sigma": 20.0}, {"sigma": 0.01})], ids=str)
def test_discrete_probabilities_by_brute_force(scale: dict[str, float]) -> None:
    for counts in (
        (3, 2),
        (5, 5),
        (0, 7),
        (3, 2, 2),
        (5, 5, 0),
        (4,) * 4,
        (9, 0, 0, 0, 1),
        (2,) * 40,
        (3,) * 9 + (2,) * 30,
    ):
        wanted = by_ties(counts, scale)
        assert noisy_max_probabilities(counts, **scale) == pytest.approx(wanted, abs=2e-13)
        assert wanted.sum() == pytest.approx(1, abs=1e-12)


def test_the_brute_force_of_these_tests_by_all_triples() -> None:
    values, weight = every_noise(sigma=1.0)
    counts, near = np.array([3, 2, 2]), np.abs(values) <= 9
    noise = np.array(list(itertools.product(values[near], repeat=3)))
    chance = np.prod(np.array(list(itertools.product(weight[near], repeat=3))), axis=1)
    best = counts + noise == (counts + noise).max(axis=1, keepdims=True)
    wanted = (chance[:, None] * best / best.sum(axis=1, keepdims=True)).sum(axis=0)
    assert by_ties((3, 2, 2), {"sigma": 1.0}) == pytest.approx(wanted, abs=1e-13)


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", [LaplaceNoisyMax(0.7), GaussianNoisyMax(1.2)], ids=repr)
@pytest.mark.parametrize("counts", [[5, 3], [4, 4, 3], [2, 2, 2, 2, 1]])
def test_releases_have_the_discrete_probabilities(mechanism: Any, counts: list[int]) -> None:
    n, scale = 200_000, {mechanism._parameter: getattr(mechanism, mechanism._parameter)}
    with pytest.warns(NotPrivateWarning):
        labels = mechanism.release(np.tile(counts, (n, 1)), np.random.default_rng(len(counts)))
    p = noisy_max_probabilities(counts, **scale)
    seen = np.bincount(labels, minlength=len(counts)) / n
    assert np.all(np.abs(seen - p) <= 5 * np.sqrt(p * (1 - p) / n))
    if len(counts) == 2:
        assert mechanism.kernel(8)[3] == pytest.approx(p, abs=1e-14)


@pytest.mark.thorough
def test_releases_leak_what_is_said() -> None:
    """200,000 releases for each vote of the last voter: log sum over labels of the largest share."""
    n, known = 200_000, np.array([2, 2, 1])
    for mechanism, scale in ((LaplaceNoisyMax(1.0), {"gamma": 1.0}), (GaussianNoisyMax(1.0), {"sigma": 1.0})):
        shares = []
        for j in range(3):
            with pytest.warns(NotPrivateWarning):
                labels = mechanism.release(np.tile(known + np.eye(3, dtype=int)[j], (n, 1)), np.random.default_rng(j))
            shares.append(np.bincount(labels, minlength=3) / n)
        # The sum has a standard error below sqrt(3 / (4 n)) = .002, and is at least 1.
        assert math.log(np.max(shares, axis=0).sum()) == pytest.approx(entrywise_leakage(known, **scale), abs=0.01)


def test_kernels_are_those_of_the_release() -> None:
    for mechanism, scale in ((LaplaceNoisyMax(0.4), {"gamma": 0.4}), (GaussianNoisyMax(2.0), {"sigma": 2.0})):
        wanted = [by_ties((6 - l, l), scale) for l in range(7)]
        assert mechanism.kernel(6) == pytest.approx(np.array(wanted), abs=1e-13)


@pytest.mark.first(2)
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_discrete_leakage_by_its_definition_and_below_its_bounds(scale: dict[str, float]) -> None:
    for m, most in VOTES.items():
        bound = leakage_bound(m, **scale)
        for votes in itertools.combinations_with_replacement(range(most + 1), m):
            leak = by_definition(votes, scale)
            assert entrywise_leakage(votes, **scale) == pytest.approx(leak, abs=1e-12)
            assert leak <= bound + 1e-14
            assert leak <= leakage_data_bound(votes, **scale) + 4e-15
            if min(votes) == max(votes):
                assert leak == pytest.approx(bound, abs=2e-11)  # B1 is attained
            if m == 2:
                assert leak == pytest.approx(leakage_data_bound(votes, **scale), abs=1e-11)


@pytest.mark.thorough
@pytest.mark.parametrize("sigma", [0.3, 1.0, 2.5])
def test_continuous_gaussian_leakage_is_below_its_bounds(sigma: float) -> None:
    for m, most in VOTES.items():
        bound = leakage_bound(m, sigma=sigma, noise="continuous")
        for votes in itertools.combinations_with_replacement(range(most + 1), m):
            leak = entrywise_leakage(votes, sigma=sigma, noise="continuous")
            assert leak <= bound
            assert leak <= leakage_data_bound(votes, sigma=sigma, noise="continuous") + m * 1e-12
            if min(votes) == max(votes):
                assert leak == pytest.approx(bound, abs=1e-11)
    assert leakage_bound(2, sigma=sigma, noise="continuous") == pytest.approx(
        math.log(1 + math.erf(1 / (2 * sigma))), abs=3e-12
    )


def in_sixty_digits(m: int, sigma: float) -> Decimal:
    """log of the sum of Lemma 20 for discrete Gaussian noise."""
    square, reach = Decimal(sigma) ** 2, int(20 * sigma) + 6
    mass = {t: (-(Decimal(t) ** 2) / (2 * square)).exp() for t in range(-reach - 1, reach + 2)}
    total, at_most = sum(mass.values()), {-reach - 2: Decimal(0)}
    for t in mass:
        mass[t] /= total
        at_most[t] = at_most[t - 1] + mass[t]
    return sum(
        (mass[t] / mass[t + 1] * (at_most[t + 1] ** m - at_most[t] ** m) for t in range(-reach - 1, reach + 1)),
        Decimal(0),
    ).ln()


@pytest.mark.first(2)
@pytest.mark.parametrize("sigma", [0.1, 0.25, 0.5, 1.0, 3.0, 20.0])
def test_the_gaussian_bound_is_rounded_up(sigma: float) -> None:
    for m in (2, 3, 4, 10, 100, 1000):
        bound = leakage_bound(m, sigma=sigma)
        with localcontext() as context:
            context.prec = 60
            exact = in_sixty_digits(m, sigma)
        assert exact <= Decimal(bound) <= exact + Decimal("5e-11")


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.0])
def test_the_gaussian_bound_for_the_votes_at_hand_is_rounded_up(sigma: float) -> None:
    reach = int(30 * sigma) + 5
    with localcontext() as context:
        context.prec = 60
        weight = [(-(Decimal(t) ** 2) / (2 * Decimal(sigma) ** 2)).exp() for t in range(-reach, reach + 1)]
        total = sum(weight)
        mass = [one / total for one in weight]
        ones = range(len(mass))
        equal = [sum(mass[t] * mass[t - d] for t in ones if t >= d) for d in range(2 * reach)]
        behind = [sum(equal[d + 1 :]) + equal[d] / 2 for d in range(2 * reach)]
        for votes in ((5, 5), (9, 6), (4, 4, 1), (5, 5, 3, 0), (12, 7, 7, 2)):
            r = votes.count(votes[0])
            terms = [-r * behind[votes[0] + 1 - votes[1]]] + [behind[votes[0] - 1 - v] for v in votes[r:]]
            bound = Decimal(leakage_data_bound(votes, sigma=sigma))
            assert (r + sum(terms)).ln() <= bound
            assert bound <= (r + sum(terms) + Decimal("1e-11") * (r - 1 + sum(map(abs, terms)))).ln()


def test_the_gaussian_bound_far_behind_is_not_cut() -> None:
    """One class leads by up to 30 sigma: completing the square, as in docs/theory.md."""
    sigma = 7
    with localcontext() as context:
        context.prec = 160

        def bell(t: Decimal, width: int) -> Decimal:
            return (-t * t / (width * sigma**2)).exp()

        total = sum(bell(Decimal(t), 2) for t in range(-120, 121))
        halves = [sum(bell(Decimal(2 * t - c) / 2, 1) for t in range(-120, 121)) for c in (0, 1)]
        equal = [bell(Decimal(d), 4) * halves[d % 2] / total**2 for d in range(400)]
        behind = [sum(equal[d + 1 :]) + equal[d] / 2 for d in range(220)]
        for lead in (70, 110, 150, 210):
            terms = [behind[lead - 1], -behind[lead + 1], behind[lead - 1]]
            bound = Decimal(leakage_data_bound([lead, 0, 0], sigma=sigma))
            assert (1 + sum(terms)).ln() <= bound <= 1.0001 * float(sum(terms))


def test_figures_of_the_pages() -> None:
    """Of docs/theory.md and docs/howto/pate.md."""
    classes = (2, 3, 4, 10, 100, 1000)
    discrete, continuous = ([leakage_bound(m, sigma=1.0, noise=noise) for m in classes] for noise in NOISES)
    assert discrete == pytest.approx([0.4067, 0.6230, 0.7678, 1.1869, 2.0273, 2.6972], abs=5.1e-5)
    assert continuous == pytest.approx([0.4190, 0.6424, 0.7921, 1.2265, 2.1097, 2.8096], abs=5.1e-5)
    votes = [90, 5, 5, 0]
    assert entrywise_leakage(votes, sigma=10.0, noise="continuous") <= leakage_data_bound(
        votes, sigma=10.0, noise="continuous"
    )


def test_gaussian_noise_has_no_bound_for_every_number_of_classes() -> None:
    for noise in NOISES:
        for scale in ({"sigma": 0.5}, {"sigma": 4.0}, {"gamma": 0.5}):
            bounds = [leakage_bound(m, **scale, noise=noise) for m in (2, 3, 5, 10, 30, 100, 300, 1000)]
            assert bounds == sorted(bounds)
            assert bounds[-1] <= scale.get("gamma", math.inf)
    # Lemma 20: F(0) is at least Pr[M >= t] f(t - 1) / f(t) for every t, M the largest of m noises.
    values, weight = every_noise(sigma=0.5)
    for m, t in ((10, 1), (1000, 1), (1000, 2)):
        reached = 1 - weight[values < t].sum() ** m
        assert leakage_bound(m, sigma=0.5) >= math.log(reached) + (2 * t - 1) / (2 * 0.5**2)
    assert leakage_bound(1000, sigma=0.5) > 4.6


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("scale", [{"gamma": 1.0}, {"sigma": 1.0}], ids=str)
def test_theorem_10_fails_for_every_noise(scale: dict[str, float], noise: str) -> None:
    leaks = [entrywise_leakage(votes, **scale, noise=noise) for votes in ((5, 5, 0), (5, 4, 1), (5, 3, 2))]
    printed = {
        ("gamma", "continuous"): [0.37416, 0.32780, 0.25801],
        ("sigma", "continuous"): [0.41915, 0.35651, 0.25128],
        ("gamma", "discrete"): [0.38354, 0.33072, 0.25280],
        ("sigma", "discrete"): [0.40684, 0.35159, 0.25999],
    }
    assert leaks == pytest.approx(printed[next(iter(scale)), noise], abs=5.1e-6)
    if noise == "discrete":
        assert leaks[0] == pytest.approx(by_definition((5, 5, 0), scale), abs=1e-12)


@pytest.mark.first(1)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    "scale",
    [{"gamma": 0.3}, {"sigma": 1.0}, *thorough({"gamma": 1.0}, {"sigma": 0.5}, {"sigma": 3.0})],
    ids=str,
)
def test_a_vote_that_moves_to_a_largest_class_never_raises_the_leakage(scale: dict[str, float], noise: str) -> None:
    """Lemma 19 (continuous noise). For discrete noise this is all that is known. Two classes: any such move."""
    leak = functools.cache(lambda votes: entrywise_leakage(votes, **scale, noise=noise))
    for m, most in {2: 9, 3: 6, 4: 3}.items():
        least: dict[int, float] = {}
        for votes in itertools.combinations_with_replacement(range(most + 1), m):
            least[sum(votes)] = min(leak(votes), least.get(sum(votes), math.inf))
            for j in range(m - 1):
                if votes[j]:
                    moved = tuple(sorted(n + (k == m - 1) - (k == j) for k, n in enumerate(votes)))
                    assert leak(moved) <= leak(votes) + 1e-11
        # (15): where all agree it is least.
        for total, value in least.items():
            assert leak((0,) * (m - 1) + (total,)) <= value + 1e-11


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("scale", [{"gamma": 1.0}, {"sigma": 1.0}], ids=str)
def test_one_vote_counts_where_float64_has_even_numbers_only(scale: dict[str, float], noise: str) -> None:
    for votes in ([2**53, 2**53], [2**60, 2**60, 2**60], [2**53, 2**53, 0], [1e300, 1e300, 3]):
        like = np.array([5 if v == max(votes) else 5 - 200 for v in votes]) + 195
        leak = entrywise_leakage(votes, **scale, noise=noise)
        assert leak == pytest.approx(entrywise_leakage(like, **scale, noise=noise), abs=1e-12)
        assert 0.3 < leak <= leakage_data_bound(votes, **scale, noise=noise)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kind", ["gamma", "sigma"])
def test_noise_of_any_width(kind: str, noise: str) -> None:
    narrow = [1e5, 1e200, 1.7e308] if kind == "gamma" else [1e-5, 1e-200, 1e-310, 5e-324]
    for value in narrow:
        scale = {kind: value, "noise": noise}
        for votes, wins in (([9, 7], [1, 0]), ([9, 9, 8], [0.5, 0.5, 0]), ([1e12, 0, 1e12 - 1], [1, 0, 0])):
            assert noisy_max_probabilities(votes, **scale) == pytest.approx(wins, abs=1e-13)
        assert noisy_max_probabilities([1e300, 0], **scale).tolist() == [1, 0]
        assert entrywise_leakage([5, 5, 5], **scale) == pytest.approx(math.log(3), abs=1e-12)
        assert entrywise_leakage([5, 3, 2], **scale) == pytest.approx(0, abs=1e-12)
        assert 0 < leakage_data_bound([5, 3, 2], **scale) < 1e-299
        for m in (2, 3, 1000):
            assert math.log(m) * (1 - 1e-15) <= leakage_bound(m, **scale) <= math.log(m) * (1 + 2e-15)
    if noise == "continuous":
        for value in [1e-200, 1e-310, 5e-324] if kind == "gamma" else [1e200, 1.7e308]:
            scale = {kind: value, "noise": noise}
            assert noisy_max_probabilities([10, 7, 0, 0], **scale) == pytest.approx([0.25] * 4, abs=1e-13)
            assert 0 < leakage_bound(4, **scale) < 1e-11


def test_laplace_names_are_the_same_bounds() -> None:
    for noise in NOISES:
        assert laplace_leakage_bound(3, 0.7, noise=noise) == leakage_bound(3, gamma=0.7, noise=noise)
        assert laplace_leakage_data_bound([4, 1, 0], 0.7, noise=noise) == leakage_data_bound(
            [4, 1, 0], 0.7, noise=noise
        )


def test_noise_that_cannot_be_summed_or_is_none() -> None:
    for call in (noisy_max_probabilities, entrywise_leakage, leakage_data_bound):
        with pytest.raises(darrm.InputError, match=r'sigma must be at most 10000 for .* Got 10001.* pass noise="con'):
            call([3, 1, 0], sigma=10001)
        with pytest.raises(darrm.InputError, match="either gamma"):
            call([3, 1, 0])
        with pytest.raises(darrm.InputError, match="either gamma"):
            call([3, 1, 0], gamma=1.0, sigma=1.0)
        with pytest.raises(darrm.InputError, match="noise must be one of"):
            call([3, 1, 0], gamma=1.0, noise="normal")
    for call in (noisy_max_probabilities, entrywise_leakage):
        with pytest.raises(darrm.InputError, match=r"gamma must be at least 0\.0001 for discrete noise"):
            call([3, 1, 0], gamma=9e-5)
        assert np.all(np.isfinite(call([3, 1], gamma=5e-324)))
    with pytest.raises(darrm.InputError, match="sigma must be at most 10000"):
        leakage_bound(3, sigma=2e4)
    assert leakage_bound(3, sigma=1e4) == pytest.approx(leakage_bound(3, sigma=1e4, noise="continuous"), abs=1e-9)
    assert leakage_bound(3, sigma=1e-3) == pytest.approx(math.log(3))

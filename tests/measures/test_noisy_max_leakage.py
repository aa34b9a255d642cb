"""Leakage of noisy max with Laplace and Gaussian noise, against other computations and releases."""

import functools
import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import thorough
from oracles import noisy_max as oracle

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
VOTES = {2: 9, 3: 6, 4: 3}  # classes: most votes for one


@functools.cache
def exact(counts: tuple[int, ...], kind: str, value: float) -> tuple[Fraction, ...]:
    """Pr[label] to forty digits."""
    return tuple(oracle.laplace(counts, Fraction(value)) if kind == "gamma" else oracle.gaussian(counts, value))


def by_definition(known: tuple[int, ...], scale: dict[str, float]) -> float:
    ((kind, value),) = scale.items()
    rows = [exact(tuple(n + (i == j) for i, n in enumerate(known)), kind, value) for j in range(len(known))]
    return math.log1p(float(sum(map(max, zip(*rows, strict=True))) - 1))


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", [LaplaceNoisyMax(0.7), GaussianNoisyMax(1.2)], ids=repr)
@pytest.mark.parametrize("counts", [[5, 3], [4, 4, 3], [2, 2, 2, 2, 1]])
def test_releases_have_their_probabilities(mechanism: Any, counts: list[int]) -> None:
    (parameter,) = mechanism._parameters
    n, scale = 200_000, {parameter: getattr(mechanism, parameter)}
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


@pytest.mark.thorough
def test_kernels_are_those_of_the_release() -> None:
    for mechanism, kind, value in ((LaplaceNoisyMax(0.4), "gamma", 0.4), (GaussianNoisyMax(2.0), "sigma", 2.0)):
        wanted = [list(map(float, exact((6 - l, l), kind, value))) for l in range(7)]
        assert mechanism.kernel(6) == pytest.approx(np.array(wanted), rel=1e-13)


@pytest.mark.thorough
@pytest.mark.first(1, 2)
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_leakage_by_its_definition_and_below_its_bounds(scale: dict[str, float]) -> None:
    for m, most in (VOTES if "gamma" in scale else {2: 3, 3: 1}).items():
        bound = leakage_bound(m, **scale)
        for votes in itertools.combinations_with_replacement(range(most + 1), m):
            leak = by_definition(votes, scale)
            assert entrywise_leakage(votes, **scale) == pytest.approx(leak, abs=1e-13)
            assert leak <= bound
            assert leak <= leakage_data_bound(votes, **scale)
            if min(votes) == max(votes):
                assert leak == pytest.approx(bound, abs=2e-11)  # it is attained
            if m == 2:
                assert leak == pytest.approx(leakage_data_bound(votes, **scale), abs=1e-11)


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize("sigma", [0.1, 0.3, 1.0, 2.5, 20.0])
def test_the_gaussian_bound_is_rounded_up(sigma: float) -> None:
    for m in (2, 3, 8):
        F = m * oracle.gaussian((1, *[0] * (m - 1)), sigma)[0]
        bound = leakage_bound(m, sigma=sigma)
        with localcontext() as context:
            context.prec = 60
            largest = (Decimal(F.numerator) / Decimal(F.denominator)).ln()
            assert largest <= Decimal(bound) <= largest + Decimal("3e-11")
    assert leakage_bound(2, sigma=sigma) == pytest.approx(math.log(1 + math.erf(1 / (2 * sigma))), abs=5e-12)


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.0])
def test_the_gaussian_bound_for_the_votes_at_hand_is_rounded_up(sigma: float) -> None:
    def behind(d: int) -> Fraction:
        return oracle.gaussian((d, 0), sigma)[1]

    # One class leads by up to 30 deviations in the last ones.
    for votes in ((5, 5), (9, 6), (4, 4, 1), (5, 5, 3, 0), (12, 7, 7, 2), (70, 0, 0), (210, 0, 0)):
        r = votes.count(votes[0])
        terms = [-r * behind(votes[0] + 1 - votes[1])] + [behind(votes[0] - 1 - v) for v in votes[r:]]
        most = r - 1 + sum(map(abs, terms))
        with localcontext() as context:
            context.prec = 700
            log, above = (
                (Decimal(x.numerator) / Decimal(x.denominator)).ln()
                for x in (r + sum(terms), r + sum(terms) + Fraction(1, 10**11) * most + Fraction(1, 10**299))
            )
            assert log <= Decimal(leakage_data_bound(votes, sigma=sigma)) <= above


def test_figures_of_the_pages() -> None:
    """Of docs/theory.md and docs/howto/pate.md."""
    classes = (2, 3, 4, 10, 100, 1000)
    found = [leakage_bound(m, sigma=1.0) for m in classes]
    assert found == pytest.approx([0.4190, 0.6424, 0.7921, 1.2265, 2.1097, 2.8096], abs=5.1e-5)
    votes = [90, 5, 5, 0]
    assert entrywise_leakage(votes, sigma=10.0) <= leakage_data_bound(votes, sigma=10.0)


@pytest.mark.thorough
def test_gaussian_noise_has_no_bound_for_every_number_of_classes() -> None:
    for scale in ({"sigma": 0.5}, {"sigma": 4.0}, {"gamma": 0.5}):
        bounds = [leakage_bound(m, **scale) for m in (2, 3, 5, 10, 30, 100, 300, 1000)]
        assert bounds == sorted(bounds)
        assert bounds[-1] <= scale.get("gamma", math.inf)
    # Lemma 20: F(0) is at least Pr[M >= t] g(t - 1) / g(t) for every t, M the largest of m noises.
    for m, t in ((10, 1), (1000, 1), (1000, 1.4)):
        reached = 1 - (1 - math.erfc(t / (0.5 * math.sqrt(2))) / 2) ** m
        assert leakage_bound(m, sigma=0.5) >= math.log(reached) + (2 * t - 1) / (2 * 0.5**2)
    assert leakage_bound(1000, sigma=0.5) > 4.6


@pytest.mark.parametrize("scale", [{"gamma": 1.0}, {"sigma": 1.0}], ids=str)
def test_theorem_10_fails_for_every_noise(scale: dict[str, float]) -> None:
    leaks = [entrywise_leakage(votes, **scale) for votes in ((5, 5, 0), (5, 4, 1), (5, 3, 2))]
    printed = {"gamma": [0.37416, 0.32780, 0.25801], "sigma": [0.41915, 0.35651, 0.25128]}
    assert leaks == pytest.approx(printed[next(iter(scale))], abs=5.1e-6)
    assert leaks[0] == pytest.approx(by_definition((5, 5, 0), scale), abs=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "scale",
    [{"gamma": 0.3}, {"sigma": 1.0}, *thorough({"gamma": 1.0}, {"sigma": 0.5}, {"sigma": 3.0})],
    ids=str,
)
def test_a_vote_that_moves_to_a_largest_class_never_raises_the_leakage(scale: dict[str, float]) -> None:
    """Lemma 19. Two classes: any such move."""
    leak = functools.cache(lambda votes: entrywise_leakage(votes, **scale))
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


@pytest.mark.parametrize("scale", [{"gamma": 1.0}, {"sigma": 1.0}], ids=str)
def test_one_vote_counts_where_float64_has_even_numbers_only(scale: dict[str, float]) -> None:
    for votes in ([2**53, 2**53], [2**60, 2**60, 2**60], [2**53, 2**53, 0], [1e300, 1e300, 3]):
        like = np.array([5 if v == max(votes) else 5 - 200 for v in votes]) + 195
        leak = entrywise_leakage(votes, **scale)
        assert leak == pytest.approx(entrywise_leakage(like, **scale), abs=1e-12)
        assert 0.3 < leak <= leakage_data_bound(votes, **scale)


@pytest.mark.thorough
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["sigma", *thorough("gamma")])
def test_noise_of_any_width(kind: str) -> None:
    narrow = [1e5, 1e200, 1.7e308] if kind == "gamma" else [1e-5, 1e-200, 1e-310, 5e-324]
    for value in narrow:
        scale = {kind: value}
        for votes, wins in (([9, 7], [1, 0]), ([9, 9, 8], [0.5, 0.5, 0]), ([1e12, 0, 1e12 - 1], [1, 0, 0])):
            assert noisy_max_probabilities(votes, **scale) == pytest.approx(wins, abs=1e-13)
        assert noisy_max_probabilities([1e300, 0], **scale).tolist() == [1, 0]
        assert entrywise_leakage([5, 5, 5], **scale) == pytest.approx(math.log(3), abs=1e-12)
        assert entrywise_leakage([5, 3, 2], **scale) == pytest.approx(0, abs=1e-12)
        assert 0 < leakage_data_bound([5, 3, 2], **scale) < 1e-299
        for m in (2, 3, 1000):
            assert math.log(m) * (1 - 1e-15) <= leakage_bound(m, **scale) <= math.log(m) * (1 + 2e-15)
    for value in [1e-200, 1e-310, 5e-324] if kind == "gamma" else [1e200, 1.7e308]:
        scale = {kind: value}
        assert noisy_max_probabilities([10, 7, 0, 0], **scale) == pytest.approx([0.25] * 4, abs=1e-13)
        assert 0 < leakage_bound(4, **scale) < 1e-11


def test_laplace_names_are_the_same_bounds() -> None:
    assert laplace_leakage_bound(3, 0.7) == leakage_bound(3, gamma=0.7)
    assert laplace_leakage_data_bound([4, 1, 0], 0.7) == leakage_data_bound([4, 1, 0], 0.7)


def test_noise_that_is_none_or_two() -> None:
    for call in (noisy_max_probabilities, entrywise_leakage, leakage_data_bound):
        with pytest.raises(darrm.InputError, match="either gamma"):
            call([3, 1, 0])
        with pytest.raises(darrm.InputError, match="either gamma"):
            call([3, 1, 0], gamma=1.0, sigma=1.0)


def uniform(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Density and distribution function of noise on [0, 4]."""
    return ((t >= 0) & (t <= 4)) / 4, np.clip(t / 4, 0, 1)


def exponential(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    late = np.maximum(t, 0)
    return np.where(t >= 0, np.exp(-late), 0), -np.expm1(-late)


@pytest.mark.parametrize(("noise", "reach"), [(uniform, 4.0), (exponential, 40.0)])
def test_a_vote_for_the_leader_where_the_density_is_0(noise: Any, reach: float) -> None:
    """Lemma 19 and (15) of the paper for noise of one side, by the midpoint rule; three classes, six known votes."""
    n = 20_000
    t = reach * (np.arange(n) + 0.5) / n
    weight = noise(t)[0] * reach / n

    @functools.cache
    def total(votes: tuple[int, ...]) -> float:
        return sum(
            float(weight @ np.prod([noise(t + 1 + own - votes[i])[1] for i in range(3) if i != j], axis=0))
            for j, own in enumerate(votes)
        )

    seen = 0
    for votes in itertools.product(range(7), repeat=3):
        if sum(votes) != 6 or votes[0] < max(votes):
            continue
        assert total((6, 0, 0)) - 1e-6 <= total(votes) <= total((2, 2, 2)) + 1e-6
        for j in (1, 2):
            if votes[j] > 0:
                moved = tuple(v + (i == 0) - (i == j) for i, v in enumerate(votes))
                assert total(moved) <= total(votes) + 1e-6
                seen += 1
    assert seen == 14

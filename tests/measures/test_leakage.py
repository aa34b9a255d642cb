"""Leakage of majorities by the definition, bounds through stages, and noisy max to the stated accuracy."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import darrm
from darrm import baselines
from darrm.measures import (
    composed_leakage,
    entrywise_leakage,
    laplace_leakage_bound,
    majority_leakage,
    noisy_max_probabilities,
    processed_leakage,
)


def test_leakage_of_a_majority_by_its_definition() -> None:
    gamma = darrm.solve(K=7, m=2, epsilon=0.5).gamma
    X = [(1 + (1 if 2 * l > 7 else -1) * g) / 2 for l, g in enumerate(gamma)]
    for l in range(7):
        # log sum over outputs of the larger of the two probabilities that the unknown vote can give
        both = max(X[l], X[l + 1]) + max(1 - X[l], 1 - X[l + 1])
        assert majority_leakage(gamma)[l] == pytest.approx(math.log(both), abs=1e-15)


def test_leakage_is_at_most_the_epsilon_of_one_vote() -> None:
    # One vote alone moved without limit: changed = 1 and a voter that is not private; at most log 2.
    assert majority_leakage(np.ones(8)).max() == pytest.approx(math.log(2))
    assert majority_leakage(np.zeros(8)).max() == 0
    assert majority_leakage(baselines.subsampling(8, 3)).shape == (8,)
    with pytest.raises(darrm.InputError):
        majority_leakage([0.5, 0.4, 0.2])


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


def test_two_labels_leak_no_more_than_their_sum() -> None:
    # Independent given the votes: the product channel, by the definition.
    a, b = (noisy_max_probabilities([3, 3 + v, 2], gamma=0.7) for v in (0, 1))
    other = noisy_max_probabilities([4, 3, 2], gamma=0.7)
    rows = [np.outer(x, x).ravel() for x in (a, b, other)]
    one = math.log(np.max([a, b, other], axis=0).sum())
    assert math.log(np.max(rows, axis=0).sum()) <= composed_leakage([one, one])


def exact_laplace(counts: list[int], rate: Fraction, digits: int = 60) -> list[float]:
    """Probabilities of Laplace noisy max in 60 digits: the integrand is a sum of exponentials between the counts."""
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = digits
        g = Decimal(rate.numerator) / Decimal(rate.denominator)
        kinks = sorted(set(counts))
        found = []
        for j, own in enumerate(counts):
            total = Decimal(0)
            for left, right in [(None, kinks[0]), *pairwise(kinks), (kinks[-1], None)]:
                # Terms c e^(k g t): the density of class j, times the distribution function of every other.
                ahead = left is not None and own <= left
                terms = {(-1 if ahead else 1): g / 2 * ((1 if ahead else -1) * g * own).exp()}
                for i, other in enumerate(counts):
                    if i == j:
                        continue
                    if left is not None and other <= left:
                        factor = {0: Decimal(1), -1: -(g * other).exp() / 2}
                    else:
                        factor = {1: (-g * other).exp() / 2}
                    product: dict[int, Decimal] = {}
                    for k, c in terms.items():
                        for l, d in factor.items():
                            product[k + l] = product.get(k + l, Decimal(0)) + c * d
                    terms = product
                for k, c in terms.items():
                    if k == 0:
                        total += c * (Decimal(right) - Decimal(left))
                    else:
                        high = (k * g * right).exp() if right is not None else Decimal(0)
                        low = (k * g * left).exp() if left is not None else Decimal(0)
                        total += c * (high - low) / (k * g)
            found.append(float(total))
        return found


@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1), Fraction(5, 2)])
@pytest.mark.parametrize("counts", [[5, 3, 2], [4, 4, 4], [30, 3, 2, 1, 0], [7, 7, 6], [1, 0], [9] * 12])
def test_laplace_probabilities_against_sixty_digits(counts: list[int], rate: Fraction) -> None:
    found = noisy_max_probabilities(counts, gamma=float(rate))
    wanted = exact_laplace(counts, Fraction(float(rate)))
    assert found == pytest.approx(wanted, abs=1e-13)
    assert sum(wanted) == pytest.approx(1, abs=1e-14)


def test_probabilities_when_counts_are_far_apart_or_many() -> None:
    for noise in ({"gamma": 1.0}, {"sigma": 1.0}):
        p = noisy_max_probabilities([10**12, 10**12 - 1, 3, 0], **noise)
        two = noisy_max_probabilities([1, 0], **noise)
        assert p == pytest.approx([*two, 0, 0], abs=1e-13)
        assert noisy_max_probabilities([4] * 1000, **noise) == pytest.approx(np.full(1000, 1e-3), abs=1e-13)
        assert noisy_max_probabilities(np.arange(300), **noise).sum() == pytest.approx(1, abs=1e-12)

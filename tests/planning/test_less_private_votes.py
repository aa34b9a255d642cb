"""Proposition D5 of docs/decisions.md: a release of noisier votes is a release of the others, no worse."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import darrm
from darrm import DecisionProblem, VoterGroup, objectives
from darrm.accounting.fresh import of_region
from darrm.accounting.profile import region
from darrm.baselines import flipped_votes
from darrm.planning.setting import Setting


def binomial(n: int, p: Fraction) -> list[Fraction]:
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def flipped(table: np.ndarray, sizes: tuple[int, ...], flips: tuple[Fraction, ...]) -> np.ndarray:
    """E[table(n after independent flips)], in exact fractions, rounded at the end."""
    answer = np.zeros(table.shape)
    for n in np.ndindex(table.shape):
        chances = []
        for K, ones, flip in zip(sizes, n, flips, strict=True):
            stay, turn = binomial(ones, 1 - flip), binomial(K - ones, flip)
            chances.append(
                [sum(stay[i] * turn[j - i] for i in range(ones + 1) if 0 <= j - i <= K - ones) for j in range(K + 1)]
            )
        answer[n] = float(
            sum(
                (
                    Fraction(table[m]) * math.prod([c[i] for c, i in zip(chances, m, strict=True)], start=Fraction(1))
                    for m in product(*(range(K + 1) for K in sizes))
                ),
                Fraction(0),
            )
        )
    return answer


def kept(epsilon: float) -> Fraction:
    return Fraction(float(1 / (1 + np.exp(-epsilon))))


CASES = [
    ((5,), (2.0,), (0.5,), (0.0,), 1),
    ((5,), (2.0,), (0.5,), (1e-3,), 2),
    ((4,), (np.inf,), (1.0,), (0.0,), 4),
    ((2, 3), (3.0, 0.5), (0.4, 0.5), (0.0, 0.0), 2),
    ((2, 2), (1.0, 0.5), (0.2, 0.1), (0.0, 1e-4), 3),
]


@pytest.mark.parametrize(("sizes", "more", "less", "Delta", "reached"), CASES)
def test_noise_in_the_votes_can_be_noise_at_the_labels(
    sizes: tuple[int, ...],
    more: tuple[float, ...],
    less: tuple[float, ...],
    Delta: tuple[float, ...],
    reached: int,
) -> None:
    random = np.random.default_rng(3)
    flips = tuple((kept(e) - kept(f)) / (2 * kept(e) - 1) for e, f in zip(more, less, strict=True))
    assert all(0 <= flip <= Fraction(1, 2) for flip in flips)

    def problem(epsilons: tuple[float, ...]) -> DecisionProblem:
        groups = [VoterGroup(*group) for group in zip(sizes, epsilons, Delta, strict=True)]
        return DecisionProblem(groups, 1.0, 0.5, max_affected=reached)

    base = [0.9, 0.7][: len(sizes)]
    for kind in ("any", "monotone", "extreme"):
        shape = tuple(K + 1 for K in sizes)
        other = random.random(shape)
        if kind == "monotone":
            other = np.sort(other.ravel()).reshape(shape)
        if kind == "extreme":
            other = np.round(other)
        table = flipped(other, sizes, flips)
        epsilons = [0.0, 0.2, 0.5, 1.0, 2.0]
        here = darrm.privacy_profile(table, problem(more), epsilons)
        there = darrm.privacy_profile(other, problem(less), epsilons)
        assert (here <= there + 1e-12).all()
        totals = [
            of_region(region(X, of), of.affected, 5, 0.05 if any(Delta) else 1e-4)
            for X, of in ((table, problem(more)), (other, problem(less)))
        ]
        assert totals[0].lower <= totals[1].upper * (1 + 1e-9)
        costs = [
            objectives.truth(
                [objectives.randomized_response_accuracy(b, e) for b, e in zip(base, epsilons, strict=True)],
                [0.3, 0.7],
                [[0, 2], [1, 0]],
            ).costs(problem(epsilons))
            for epsilons in (more, less)
        ]
        found = [float((c[..., 1] * X + c[..., 0] * (1 - X)).sum()) for c, X in zip(costs, (table, other), strict=True)]
        assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_fewer_flips_would_tell_more() -> None:
    """The flips of the proposition are needed: with half of them a label of the majority is less private."""
    of, less = (DecisionProblem([VoterGroup(3, e)], 1.0, 0.5, max_affected=1) for e in (2.0, 0.5))
    majority = np.array([0.0, 0.0, 1.0, 1.0])
    flip = (kept(2.0) - kept(0.5)) / (2 * kept(2.0) - 1)
    there = darrm.privacy_profile(majority, less, [0.1])
    assert (darrm.privacy_profile(flipped(majority, (3,), (flip / 2,)), of, [0.1]) > there * 1.05).all()


def test_the_majority_of_flipped_votes_is_that_of_the_proposition() -> None:
    setting = Setting((VoterGroup(3, 2.0), VoterGroup(2, 0.5)), 1, "replace-one", 2, objectives.truth([0.8, 0.7]))
    flip = (kept(2.0) - kept(0.7)) / (2 * kept(2.0) - 1)
    exact = flipped(setting.majority(), (3, 2), (flip, Fraction(0)))
    assert flipped_votes.BASELINE.family(setting.model, setting.objective).table(0.7) == pytest.approx(exact, abs=1e-12)

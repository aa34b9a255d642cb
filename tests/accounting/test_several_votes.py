"""Gaussian noisy max where one record changes several votes: bounds for any votes, against all changes of few votes."""

from __future__ import annotations

import copy
import math
from pathlib import Path

import numpy as np
import pytest
from cases import slow, thorough
from scipy.special import ndtr

import darrm
from darrm.accounting import OutcomeRows, compose, max_queries
from darrm.accounting.ladder import any_votes_epsilon, any_votes_sigma, climb
from darrm.accounting.many_answers import of_rows
from darrm.mechanisms import ConfidentNoisyMax, GaussianNoisyMax
from darrm.problem.counts import count_vectors


def rows_of_changes(mechanism: GaussianNoisyMax | ConfidentNoisyMax, K: int, classes: int, t: int) -> OutcomeRows:
    """Every pair of votes of K voters, or of one less on either side, of which at most t voters change or withdraw."""
    found = [np.array(count_vectors(k, classes)) for k in range(max(0, K - t), K + 1)]
    votes = np.concatenate(found)
    P = mechanism.chances(votes)
    sides = [
        (i, j)
        for i in range(len(votes))
        for j in range(len(votes))
        if i != j and max(np.maximum(0, votes[i] - votes[j]).sum(), np.maximum(0, votes[j] - votes[i]).sum()) <= t
    ]
    i, j = np.array(sides).T
    return OutcomeRows.of(P[i], P[j], 1e-10)


@pytest.mark.parametrize("queries", [1, *thorough(2), *slow(7, 8, 60)])
@pytest.mark.parametrize(("sigma", "K", "classes", "t"), [(4.0, 3, 3, 2), (6.0, 4, 2, 3), *thorough((3.0, 3, 4, 2))])
def test_no_change_of_so_many_votes_costs_more(sigma: float, K: int, classes: int, t: int, queries: int) -> None:
    """All counts that differ in up to t votes, cast, changed or withdrawn, are below the ladder and the counts."""
    mechanism = GaussianNoisyMax(sigma, max_affected=t)
    for delta in (1e-4, 0.1):
        attained = of_rows(rows_of_changes(mechanism, K, classes, t), queries, delta)
        total = compose(mechanism, queries, delta=delta)
        for bound in total.bounds.values():
            assert attained.lower <= bound
        assert total.lower <= total.upper


@pytest.mark.parametrize("queries", [1, *thorough(2), *slow(7, 40)])
@pytest.mark.parametrize(
    ("noise", "K", "classes", "t"), [((2.0, 6.0, 4.0), 3, 3, 2), *thorough(((3.0, 5.0, 7.0), 4, 2, 3))]
)
def test_no_change_of_so_many_votes_costs_more_after_checks(
    noise: tuple[float, float, float], K: int, classes: int, t: int, queries: int
) -> None:
    mechanism = ConfidentNoisyMax(*noise, max_affected=t)
    for delta in (1e-4, 0.1):
        attained = of_rows(rows_of_changes(mechanism, K, classes, t), queries, delta)
        total = compose(mechanism, queries, delta=delta)
        for bound in total.bounds.values():
            assert attained.lower <= bound
        assert total.lower <= total.upper


def worst_of_two_classes(
    noise: tuple[float, float, float], K: int, t: int, queries: int, answers: int, a: float
) -> float:
    """The excess of the best adaptive strategy, by closed forms: up to t votes are changed, cast or withdrawn."""
    threshold, sigma_check, sigma = noise

    def chances(x: int, y: int) -> list[float]:
        checked, first = ndtr((max(x, y) - threshold) / sigma_check), ndtr((x - y) / sigma / math.sqrt(2))
        return [checked * first, checked * (1 - first), 1 - checked]

    votes = [(x, y) for x in range(K + 1) for y in range(K + 1 - x)]
    near = [
        (chances(*v), chances(*w))
        for v in votes
        for w in votes
        for change in [(w[0] - v[0], w[1] - v[1])]
        if v != w and max(sum(max(0, d) for d in change), sum(max(0, -d) for d in change)) <= t
    ]
    P, Q = (np.array(side) for side in zip(*near, strict=True))

    def excess(at: np.ndarray, queries: int, answers: int) -> np.ndarray:
        if not queries or not answers:
            return np.maximum(0.0, 1 - at)
        after = at[..., None, None] * Q / P
        none, labels = excess(after[..., 2], queries - 1, answers), excess(after[..., :2], queries - 1, answers - 1)
        return np.asarray(((P[:, :2] * labels).sum(axis=-1) + P[:, 2] * none).max(axis=-1))

    return float(excess(np.array(a), queries, answers))


@pytest.mark.parametrize(
    ("K", "t", "queries", "answers"), [(3, 2, 2, 1), *thorough((3, 2, 2, 2), (5, 3, 2, 2), (2, 2, 3, 1))]
)
@pytest.mark.parametrize("noise", [(2.0, 1.5, 3.0), pytest.param((1.0, 4.0, 2.0), marks=pytest.mark.thorough)])
def test_no_strategy_of_several_votes_costs_more(
    K: int, t: int, queries: int, answers: int, noise: tuple[float, float, float]
) -> None:
    for delta in (1e-3, 0.1):
        total = compose(ConfidentNoisyMax(*noise, answers=answers, max_affected=t), queries, delta=delta).upper
        attained = [worst_of_two_classes(noise, K, t, queries, answers, math.exp(x * total)) for x in (1, 0.28)]
        assert attained[0] <= delta < attained[1]  # so few queries are bounded by their noisy counts


@pytest.mark.slow
def test_checks_of_several_votes_have_no_other_rows() -> None:
    """In units of the votes checks cost as much as those of one vote, and only labels more."""
    one = ConfidentNoisyMax(200, 150, 40, answers=286)
    two = ConfidentNoisyMax(400, 300, 80, answers=286, max_affected=2)
    assert two.rdp([3.0])[0] == pytest.approx(one.rdp([3.0])[0], rel=1e-14)
    few, many = (compose(each, 640, delta=1e-5) for each in (one, two))
    for name in ("Gaussian DP", "Renyi DP"):
        assert few.bounds[name] == pytest.approx(many.bounds[name], rel=1e-9)
    assert few.upper * 1.05 < many.upper < many.bounds["Gaussian DP"] * 0.9


@pytest.mark.slow
def test_between_the_ladder_of_one_vote_and_the_counts() -> None:
    """In units of the votes that change the labels cost more than those of one vote, and less than the counts."""
    one = compose(GaussianNoisyMax(40.0), 300, delta=1e-5)
    two = compose(GaussianNoisyMax(80.0, max_affected=2), 300, delta=1e-5)
    assert one.upper * 1.05 < two.upper < two.bounds["Gaussian DP"] * 0.9
    assert two.bounds["Gaussian DP"] == pytest.approx(one.bounds["Gaussian DP"], rel=1e-9)
    assert two.bounds["Renyi DP"] == pytest.approx(one.bounds["Renyi DP"], rel=1e-9)
    assert two.lower == pytest.approx(one.lower, rel=1e-6)
    held = compose(GaussianNoisyMax(80.0, K=250, classes=10, max_affected=2), 300, delta=1e-5)
    assert held.upper == two.upper
    few = compose(GaussianNoisyMax(80.0, K=5, classes=2, max_affected=2), 300, delta=1e-5)
    assert few.upper == two.upper  # rows of one changed vote are no bound


@pytest.mark.parametrize(("t", "squared"), [*slow((2, 6), (3, 14)), *thorough((5, 42))])
def test_a_step_is_never_below_the_counts_of_another_change(t: int, squared: int) -> None:
    found = climb(t / 50.0, 5000, 1e-9, False, t)
    assert found.step >= squared / 50.0**2
    assert found.level >= 5000 * squared / 50.0**2
    assert found.level < 5000 * 2 * t**2 / 50.0**2


@pytest.mark.slow
def test_the_least_noise_is_spent() -> None:
    sigma = any_votes_sigma(200, 3.0, 1e-5, 2)
    assert 2.98 < any_votes_epsilon(sigma, 200, 1e-5, None, 2) <= 3
    assert max_queries(GaussianNoisyMax(sigma, max_affected=2), 3.0, 1e-5) >= 200
    assert GaussianNoisyMax(sigma, max_affected=2).rdp([2.0])[0] == pytest.approx(8 / sigma**2)


def test_files_and_copies(tmp_path: Path) -> None:
    made = GaussianNoisyMax(40.0, K=9, classes=3, max_affected=2)
    assert repr(made) == "GaussianNoisyMax(sigma=40.0, K=9, classes=3, max_affected=2)"
    made.save(tmp_path / "noisy.json")
    for again in (GaussianNoisyMax.load(tmp_path / "noisy.json"), copy.deepcopy(made)):
        assert repr(again) == repr(made)
        assert again.problem is not None
        assert again.problem.max_affected == again.max_affected == 2
    confident = copy.deepcopy(ConfidentNoisyMax(3, 4.0, 5.0, K=9, classes=3, max_affected=2))
    assert repr(confident).endswith("sigma=5.0, K=9, classes=3, max_affected=2)")
    with pytest.raises(darrm.InputError, match="max_affected"):
        GaussianNoisyMax(40.0, K=1, classes=3, max_affected=2)
    for wrong in (0, 1.5, "2", math.nan):
        with pytest.raises(darrm.InputError, match="max_affected must be"):
            GaussianNoisyMax(40.0, max_affected=wrong)  # type: ignore[arg-type]
        with pytest.raises(darrm.InputError, match="max_affected must be"):
            ConfidentNoisyMax(3, 4.0, 5.0, max_affected=wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_plan_falls_back_to_it() -> None:
    plan = darrm.plan(
        [darrm.VoterGroup(250, math.inf)], classes=10, max_affected=2, queries=50, total_epsilon=4, total_delta=1e-5
    )
    assert isinstance(plan.chosen, GaussianNoisyMax)
    assert (plan.chosen.max_affected, plan.chosen.K) == (2, 250)
    assert 3.98 < plan.spent <= 4
    assert plan.spent == compose(plan.chosen, 50, delta=1e-5).upper

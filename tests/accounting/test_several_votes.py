"""Gaussian noisy max where one record changes several votes: bounds for any votes, against all changes of few votes."""

from __future__ import annotations

import copy
import math
from pathlib import Path

import numpy as np
import pytest
from cases import slow, thorough

import darrm
from darrm.accounting import OutcomeRows, compose, max_queries
from darrm.accounting.ladder import any_votes_epsilon, any_votes_sigma, climb
from darrm.accounting.many_answers import of_rows
from darrm.mechanisms import GaussianNoisyMax
from darrm.problem.counts import count_vectors


def rows_of_changes(mechanism: GaussianNoisyMax, K: int, classes: int, t: int) -> OutcomeRows:
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


@pytest.mark.parametrize("queries", [1, *thorough(7), *slow(8, 60)])
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


@pytest.mark.thorough
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
    with pytest.raises(darrm.InputError, match="max_affected"):
        GaussianNoisyMax(40.0, K=1, classes=3, max_affected=2)
    for wrong in (0, 1.5, "2", math.nan):
        with pytest.raises(darrm.InputError, match="max_affected must be"):
            GaussianNoisyMax(40.0, max_affected=wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_plan_falls_back_to_it() -> None:
    plan = darrm.plan(
        [darrm.VoterGroup(250, math.inf)], classes=10, max_affected=2, queries=50, total_epsilon=4, total_delta=1e-5
    )
    assert isinstance(plan.chosen, GaussianNoisyMax)
    assert (plan.chosen.max_affected, plan.chosen.K) == (2, 250)
    assert 3.98 < plan.spent <= 4
    assert plan.spent == compose(plan.chosen, 50, delta=1e-5).upper

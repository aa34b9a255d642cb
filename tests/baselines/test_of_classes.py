"""Decisions between several classes beside what people do without them, at the same guarantee.

Figures without noise of their own: the table "one label" of the project's design notes, from trials of another program.
"""

import math

import numpy as np
import pytest
from cases import thorough

import darrm
from darrm import objectives
from darrm.baselines.random_votes import subsampled
from darrm.problem.counts import count_vectors, sorted_counts

# K, classes, accuracy, and how often each is right at (1, 1e-5) for voters without privacy, one of them reached
ONE_LABEL = [
    (25, 3, 0.5, {"optimum": 0.8301, "Gaussian noisy max": 0.6579}),
    (15, 4, 0.6, {"optimum": 0.9082, "Gaussian noisy max": 0.7293}),
    (11, 5, 0.6, {"optimum": 0.8437, "Gaussian noisy max": 0.6495}),
]
PERMUTE_AND_FLIP = {25: 0.8238, 15: 0.8947, 11: 0.8094}  # of epsilon 1, without the delta


def _right(problem: darrm.DecisionProblem, objective: objectives.Objective) -> dict[str, float]:
    entries = list(darrm.compare(problem, objective=objective))
    assert all(entry.certificate.holds for entry in entries[:-2])
    assert not any(entry.certificate.holds for entry in entries[-2:])
    return {entry.name.split(" (")[0]: 1 - entry.expected_cost for entry in entries}


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize(("K", "classes", "accuracy", "figures"), [*thorough(*ONE_LABEL[:2]), *ONE_LABEL[2:]])
def test_one_label_of_teachers(K: int, classes: int, accuracy: float, figures: dict[str, float]) -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(K, math.inf)], 1.0, 1e-5, classes, max_affected=1)
    right = _right(problem, objectives.truth([accuracy]))
    for name, figure in figures.items():
        assert right[name] == pytest.approx(figure, abs=1e-3)
    # The comparison also spends the delta on it.
    assert PERMUTE_AND_FLIP[K] - 1e-4 <= right["permute-and-flip"] <= PERMUTE_AND_FLIP[K] + 2e-3
    noiseless = ("plain plurality, no noise", "Bayes rule, no noise")
    others = [name for name in right if name not in ("optimum", *noiseless)]
    assert all(right[name] <= right["optimum"] + 1e-9 for name in others)


@pytest.mark.slow
def test_private_votes() -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(11, 0.5)], 1.5, classes=3)
    right = _right(problem, objectives.rule("plurality", [0.6]))
    assert right["optimum"] == pytest.approx(0.9274678538, abs=1e-8)
    assert right["Bayes rule with constant gamma"] < right["optimum"]
    assert "plurality of all, optimal noise" not in right  # it is the optimum


@pytest.mark.slow
def test_groups_and_a_further_answer() -> None:
    groups = [darrm.VoterGroup(3, 1.0), darrm.VoterGroup(2, 0.5)]
    problem = darrm.DecisionProblem(groups, 1.0, classes=["a", "b", "c"], none=True)
    right = _right(problem, objectives.truth([0.7, 0.6], none=0.4, prior=[0.5, 0.3, 0.2]))
    best = right.pop("optimum")
    for name in ("plain plurality, no noise", "Bayes rule, no noise"):
        del right[name]
    assert {"all as the least private", "plurality of all, optimal noise"} <= set(right)
    assert any(name.endswith("alone") for name in right)
    assert max(right.values()) <= best + 1e-9


@pytest.mark.parametrize(("K", "classes", "m"), [(4, 3, 2), (5, 3, 3), (3, 4, 2), (4, 2, 1), (3, 3, 3)])
def test_subsampled_plurality_is_that_of_all_samples(K: int, classes: int, m: int) -> None:
    from itertools import combinations

    table = subsampled(K, classes, m)
    for row, votes in zip(table, sorted_counts(K, classes), strict=True):
        each = np.repeat(np.arange(classes), votes)
        wins = np.zeros(classes)
        samples = list(combinations(each, m))
        for sample in samples:
            counts = np.bincount(sample, minlength=classes)
            wins += (counts == counts.max()) / (counts == counts.max()).sum() / len(samples)
        np.testing.assert_allclose(row, wins, atol=1e-14)


def test_none_of_no_votes() -> None:
    np.testing.assert_array_equal(subsampled(3, 4, 0), np.full((len(sorted_counts(3, 4)), 4), 0.25))
    assert len(count_vectors(0, 4)) == 1

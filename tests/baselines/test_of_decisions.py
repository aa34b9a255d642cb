"""Simpler ways to decide get their best chance: each keeps the guarantee, or says that it does not."""

import math
import re

import numpy as np
import pytest

import darrm
from darrm import DecisionProblem, VoterGroup, baselines, objectives
from darrm.baselines.entries import Entry
from darrm.problem.noise_function import acceptance

UNEVEN = objectives.truth([0.685, 0.54], prior=[0.97, 0.03])


def entries(problem: DecisionProblem, objective: objectives.Objective) -> dict[str, Entry]:
    found = list(darrm.compare(problem, objective=objective))
    assert all(entry.certificate.holds for entry in found[:-2])
    assert all(entry.expected_cost >= found[0].expected_cost - 1e-9 for entry in found[:-2])
    assert [entry.name for entry in found[-2:]] == ["plain majority, no noise", "Bayes rule, no noise"]
    return {entry.name: entry for entry in found}


@pytest.mark.slow
def test_a_guess_without_votes_is_among_them() -> None:
    problem = DecisionProblem([VoterGroup(4, 1.0), VoterGroup(7, 0.2)], 1.4, classes=("no", "yes"))
    found = entries(problem, UNEVEN)
    assert found["always no, no votes"].expected_cost == pytest.approx(0.03)
    assert found["Bayes rule with constant gamma"].expected_cost > 0.1
    even = entries(problem, objectives.truth([0.685, 0.54]))
    assert not any(name.startswith("always") for name in even)


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize(
    ("group", "epsilon", "reach"),
    [
        (VoterGroup(11, 0.1), 0.3, None),  # .3 / .1 is below 3 in float64
        (VoterGroup(25, 0.5), 0.5, 2),
        (VoterGroup(9, 0.5), 0.3, None),
        (VoterGroup(10, 0.5), 5.0, None),
    ],
)
def test_subsampling_takes_as_many_votes_as_it_may(group: VoterGroup, epsilon: float, reach: int | None) -> None:
    problem = DecisionProblem([group], epsilon, max_affected=reach)
    found = entries(problem, objectives.truth([0.6]))["tuned subsampling"]
    tight = {
        m: darrm.verify(acceptance(baselines.subsampling(problem.K, m)), problem).tight_epsilon
        for m in range(1, problem.K + 1, 2)
    }
    fits = [m for m, value in tight.items() if value <= epsilon * (1 + 1e-9)]
    taken = re.search(r"([\d.]+) at the mean|^(\d+) of", found.setting)
    assert (float(taken[1] or taken[2]) if taken else 1.0) >= max(fits, default=0)
    if not darrm.verify(acceptance(baselines.subsampling(problem.K, problem.K)), problem).holds:
        assert found.tight_epsilon == pytest.approx(epsilon, rel=2e-7)


@pytest.mark.thorough
def test_a_tie_of_the_best_rule_is_a_coin() -> None:
    for sizes, accuracies in (((2,), [0.7]), ((2, 2), [0.7, 0.7]), ((4, 2), [0.9, 0.6])):
        problem = DecisionProblem([VoterGroup(size, 1.0) for size in sizes], 1.0)
        table = entries(problem, objectives.truth(accuracies))["Bayes rule, no noise"].table
        assert table[tuple(size // 2 for size in sizes)] == 0.5
        assert np.allclose(table, 1 - np.flip(table), rtol=0, atol=1e-12)


@pytest.mark.thorough
def test_a_rule_that_meets_the_guarantee_exactly_is_not_refused_for_rounding() -> None:
    """Two votes of epsilon 1 with a coin at a tie are 1-DP to the digit: over it by some 1e-15 as computed."""
    problem = DecisionProblem([VoterGroup(2, 1.0)], 1.0)
    found = entries(problem, objectives.truth([0.7]))
    for name in ("plain majority, no noise", "Bayes rule, no noise"):
        assert found[name].within, name
        assert np.allclose(found[name].table, [0, 0.5, 1], rtol=0, atol=1e-12)
        assert darrm.verify(found[name].table, problem).holds
    below = entries(DecisionProblem([VoterGroup(2, 1.0)], 1.0 - 1e-6), objectives.truth([0.7]))
    assert not below["Bayes rule, no noise"].within
    assert below["Bayes rule, no noise"].table.tolist() == [0, 0.5, 1]


@pytest.mark.thorough
def test_of_voters_that_are_not_private_one_vote_is_taken_now_and_then() -> None:
    """One vote with probability p: the changed one is drawn with p / 5, against a coin at the least."""
    problem = DecisionProblem([VoterGroup(5, math.inf)], 1.0, max_affected=1)
    found = entries(problem, objectives.truth([0.7]))["tuned subsampling"]
    assert found.setting.startswith("one vote with probability 0.8111")
    p = 2 * found.table[-1] - 1  # all five say 1
    assert math.log((p / 5 + (1 - p) / 2) / ((1 - p) / 2)) == pytest.approx(1.0, rel=1e-6)

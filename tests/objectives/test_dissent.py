"""The share of voters that a label is against."""

from itertools import product

import numpy as np
import pytest

import darrm
from darrm import objectives
from darrm.design.rules import cost_of
from darrm.errors import InputError


@pytest.mark.parametrize("classes", [2, 3])
def test_costs_by_all_votes_one_by_one(classes: int) -> None:
    sizes, accuracies, prior = (2, 1), (0.7, 0.9), np.arange(1.0, classes + 1) / sum(range(1, classes + 1))
    problem = darrm.DecisionProblem([darrm.VoterGroup(n, 1.0) for n in sizes], 1.0, classes=classes)
    expected = np.zeros((*problem.table_shape, classes))
    places = [{tuple(v): i for i, v in enumerate(rows)} for rows in (_rows(n, classes) for n in sizes)]
    for truth, *votes in product(range(classes), repeat=4):
        chance = prior[truth]
        for vote, accuracy in zip(votes, (accuracies[0], accuracies[0], accuracies[1]), strict=True):
            chance *= accuracy if vote == truth else (1 - accuracy) / (classes - 1)
        counts = [np.bincount(part, minlength=classes) for part in (votes[:2], votes[2:])]
        at = tuple(place[tuple(n.tolist())] for place, n in zip(places, counts, strict=True))
        expected[at] += chance * np.array([np.mean(np.array(votes) != label) for label in range(classes)])
    goal = objectives.dissent(accuracies, prior)
    assert goal.costs(problem) == pytest.approx(expected, abs=1e-14)


def _rows(n: int, classes: int) -> list[tuple[int, ...]]:
    """Vectors of counts in the order of a table: by votes for class 1 of two, else in descending order."""
    if classes == 2:
        return [(n - ones, ones) for ones in range(n + 1)]
    return sorted((v for v in product(range(n + 1), repeat=classes) if sum(v) == n), reverse=True)


@pytest.mark.thorough
def test_without_noise_the_most_voted_class_is_best_and_with_noise_another_table() -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(11, 0.1)], 0.3)
    goal, rule = objectives.dissent([0.6]), objectives.rule("plurality", [0.6])
    found = darrm.compare(problem, objective=goal)
    assert found["Bayes rule, no noise"].expected_cost == pytest.approx(
        found["plain majority, no noise"].expected_cost, abs=1e-15
    )
    best, of_the_rule = darrm.solve(problem, objective=goal), darrm.solve(problem, objective=rule)
    assert best.expected_cost < cost_of(of_the_rule.table, problem, goal) - 0.005
    assert darrm.verify(best.table, problem).holds


@pytest.mark.thorough
def test_absent_voters_and_none() -> None:
    groups = [darrm.VoterGroup(3, 0.5), darrm.VoterGroup(1, 1.0)]
    problem = darrm.DecisionProblem(groups, 1.0, none=True)
    for goal in (objectives.dissent([0.7, 0.8]), objectives.rule("plurality", [0.7, 0.8])):
        with pytest.raises(InputError, match=r'needs what.*"none" costs'):
            darrm.solve(problem, objective=goal)
    with pytest.raises(InputError, match="no such answer"):
        darrm.solve(darrm.DecisionProblem(groups, 1.0), objective=objectives.dissent([0.7, 0.8], none=0.3))
    design = darrm.solve(problem, objective=objectives.dissent([0.7, 0.8], none=0.3), absent=True)
    assert design.expected_cost <= 0.3 + 1e-9
    assert design.answers_without_votes[2] == 0  # nobody is against a class that nobody voted on
    assert darrm.objectives.from_dict(design.objective.as_dict()) == design.objective

"""What a decision costs, vote by vote: every objective against the sum over all single votes."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import darrm
from darrm import DecisionProblem, VoterGroup, objectives
from darrm.errors import InputError

Right = Callable[[list[list[int]]], set[int]]  # from the votes of each group to the answers that are right


def by_single_votes(
    sizes: list[int],
    confusion: list[list[list[float]]],
    prior: list[float],
    cost_of: Callable[[int, int, list[list[int]]], float],
) -> np.ndarray:
    """C(n, o), summed over the truth and every vote of every voter; ``cost_of(answer, truth, votes)``."""
    costs = np.zeros((*(size + 1 for size in sizes), 2))
    for y, votes in itertools.product((0, 1), itertools.product((0, 1), repeat=sum(sizes))):
        left = iter(votes)
        groups = [[next(left) for _ in range(size)] for size in sizes]
        chance = prior[y]
        for table, group in zip(confusion, groups, strict=True):
            for vote in group:
                chance *= table[y][vote]
        for answer in (0, 1):
            costs[(*map(sum, groups), answer)] += chance * cost_of(answer, y, groups)
    return costs


def side(lead: float) -> set[int]:
    return {0, 1} if lead == 0 else {int(lead > 0)}


@pytest.mark.parametrize("seed", range(8))
def test_costs_are_those_of_the_single_votes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in rng.integers(1, 4, rng.integers(1, 4))]
    problem = DecisionProblem([VoterGroup(size, 1.0) for size in sizes], 1.0)
    confusion = [[[1 - a, a], [1 - b, b]] for a, b in rng.random((len(sizes), 2)).tolist()]
    second = float(rng.random())
    prior, cost = [1 - second, second], rng.random((2, 2)).tolist()
    weights, least = [float(w) for w in rng.integers(1, 4, len(sizes))], int(rng.integers(0, sum(sizes) + 1))

    def lead(votes: list[list[int]], weights: list[float]) -> float:
        return sum(w * sum(2 * vote - 1 for vote in group) for w, group in zip(weights, votes, strict=True))

    rules: list[tuple[object, Right]] = [
        ("majority", lambda votes: side(lead(votes, [1.0] * len(sizes)))),
        (weights, lambda votes: side(lead(votes, weights))),
        (objectives.at_least(least), lambda votes: {int(sum(map(sum, votes)) >= least)}),
        (lambda ones: int(ones.sum() % 3 == ones[0] % 2), lambda v: {int(sum(map(sum, v)) % 3 == sum(v[0]) % 2)}),
    ]
    expected = by_single_votes(sizes, confusion, prior, lambda answer, y, _: cost[answer][y])
    assert objectives.truth(confusion, prior, cost).costs(problem) == pytest.approx(expected, abs=1e-14)
    for which, right in rules:
        objective = objectives.rule(which, confusion, prior, problem=problem)  # type: ignore[arg-type]
        wrong = by_single_votes(sizes, confusion, prior, lambda answer, _, votes, ok=right: answer not in ok(votes))
        assert objective.costs(problem) == pytest.approx(wrong, abs=1e-14)


def test_an_accuracy_is_that_of_both_truths() -> None:
    problem = DecisionProblem([VoterGroup(3, 1.0)], 1.0)
    by_number, by_table = objectives.truth([0.8], [0.3, 0.7]), objectives.truth([[[0.8, 0.2], [0.2, 0.8]]], [0.3, 0.7])
    assert by_number.costs(problem) == pytest.approx(by_table.costs(problem), abs=1e-15)


PROBLEM = DecisionProblem([VoterGroup(3, 1.0), VoterGroup(2, 0.5)], 1.0)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("which", "answers"),
    [
        (objectives.at_least(3), {(0, 0): 0.0, (2, 0): 0.0, (3, 0): 1.0, (1, 2): 1.0}),
        (objectives.at_least(0), {(0, 0): 1.0, (2, 0): 1.0}),
        ("majority", {(0, 0): 0.5, (1, 0): 1.0, (2, 1): 1.0}),
        ([2.0, 1.0], {(0, 0): 0.5, (0, 1): 1.0}),
        (lambda ones: ones[0] >= 2, {(0, 0): 0.0, (1, 2): 0.0, (2, 0): 1.0}),
        (lambda ones: ones.sum() <= 1, {(0, 0): 1.0, (1, 0): 1.0, (1, 1): 0.0}),
    ],
)
def test_a_rule_asks_those_who_are_present(which: object, answers: dict[tuple[int, int], float]) -> None:
    """What it prefers if all who are present, and so many of each group are, say 1."""
    objective = objectives.rule(which, [0.9, 0.8], [0.1, 0.9], problem=PROBLEM)  # type: ignore[arg-type]
    design = darrm.solve(PROBLEM, objective=objective, absent=True)
    for present, answer in answers.items():
        if not any(present):
            assert design.without_votes == answer
            continue
        fewer = design.with_present(present)
        gain = objectives.gains(fewer.objective.costs(fewer.problem))
        assert (1 + np.sign(gain[(-1,) * gain.ndim])) / 2 == answer


@pytest.mark.thorough
def test_more_ones_than_voters_are_no_rule() -> None:
    """All of them may be asked for, and one more not; where voters are absent, the rest may be too few."""
    objective = objectives.rule(objectives.at_least(5), [0.9, 0.8])
    fewer = darrm.solve(PROBLEM, objective=objective, absent=True).fewer
    assert all(np.all(part.objective.costs(part.problem)[..., 0] == 0) for part in fewer.values())
    assert all(part.objective.kind == "rule" and str(part.objective) == "at least 5" for part in fewer.values())
    beyond = objectives.rule(objectives.at_least(6), [0.9, 0.8])
    for use in (beyond.costs, lambda problem: darrm.solve(problem, objective=beyond)):
        with pytest.raises(InputError, match=r"at most the number of voters, K = 5: more never say 1\. Got 6\."):
            use(PROBLEM)


@pytest.mark.thorough
def test_the_truth_without_votes_is_the_cheaper_guess() -> None:
    for prior, cost, answer in (
        ([0.9, 0.1], [[0, 5], [1, 0]], 0.0),
        ([0.9, 0.1], [[0, 10], [1, 0]], 1.0),
        ([0.5, 0.5], None, 0.5),
    ):
        design = darrm.DecisionDesign(PROBLEM, np.full((4, 3), 0.5), objectives.truth([0.9, 0.8], prior, cost))
        assert design.without_votes == answer

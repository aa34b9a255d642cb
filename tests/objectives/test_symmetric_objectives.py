"""Whether an objective treats all classes alike, against all permutations of them."""

import itertools
from typing import Any

import numpy as np
import pytest

from darrm import DecisionProblem, VoterGroup, objectives
from darrm.objectives.objective import Objective
from darrm.problem.counts import count_vectors, places


def permuted(table: np.ndarray, problem: DecisionProblem, order: tuple[int, ...]) -> np.ndarray:
    """The table of who calls class order[0] 0, order[1] 1, and so on."""
    at = [places(count_vectors(group.count, problem.n_classes)[:, list(order)]) for group in problem.groups]
    return table[np.ix_(*at, [*np.argsort(order), *range(problem.n_classes, problem.n_answers)])]


def same_for_all(objective: Objective, problem: DecisionProblem) -> bool:
    table = objective.costs(problem)
    orders = itertools.permutations(range(problem.n_classes))
    return all(np.allclose(permuted(table, problem, order), table, rtol=1e-11, atol=0) for order in orders)


def table(rng: np.random.Generator, problem: DecisionProblem) -> np.ndarray:
    """A table of costs that is the same for all classes: any table, averaged over their permutations."""
    given = rng.random((*problem.table_shape, problem.n_answers))
    orders = list(itertools.permutations(range(problem.n_classes)))
    return np.mean([permuted(given, problem, order) for order in orders], axis=0)


def confused(C: int, right: float, wrong: dict[tuple[int, int], float]) -> list[list[float]]:
    rows = np.full((C, C), (1 - right) / (C - 1))
    np.fill_diagonal(rows, right)
    for place, chance in wrong.items():
        rows[place] += chance
    return rows.tolist()


def cases(C: int, *, none: bool) -> list[tuple[str, bool, Any]]:
    """Name, whether symmetric, and the objective from the problem of two groups."""
    more: dict[str, Any] = {"none": 0.25} if none else {}
    even = confused(C, 0.7, {})
    one_up = confused(C, 0.7, {(0, 0): 0.1, (0, 1): -0.1})
    skew = [[1 / C] * C, *confused(C, 0.7, {})[1:]]
    cost = 2.0 - 2 * np.eye(C)
    dear = cost.copy()
    dear[0, 1] += 1
    paid = cost.copy()
    paid[0, 0] += 1
    third = [1 / C] * C
    most = np.array([1.0] * C)
    most[0] += 1
    found: list[tuple[str, bool, Any]] = [
        ("accuracies", True, objectives.truth([0.7, 0.6], **more)),
        ("tables", True, objectives.truth([even, 0.6], third, **more)),
        ("one class is known better", False, objectives.truth([0.7, one_up], **more)),
        ("one class is unknown", False, objectives.truth([skew, 0.6], **more)),
        ("prior", False, objectives.truth([0.7, 0.6], (most / most.sum()).tolist(), **more)),
        ("even costs", True, objectives.truth([0.7, 0.6], None, cost, **more)),
        ("one dear mistake", False, objectives.truth([0.7, 0.6], None, dear, **more)),
        ("a right answer costs", False, objectives.truth([0.7, 0.6], None, paid, **more)),
        ("plurality", True, objectives.rule("plurality", [0.7, 0.6], **more)),
        ("weights", True, objectives.rule([2.0, 1.0], [0.7, 0.6], **more)),
        ("plurality of skewed votes", False, objectives.rule("plurality", [0.7, one_up], **more)),
        ("plurality, prior", False, objectives.rule("plurality", [0.7, 0.6], (most / most.sum()).tolist(), **more)),
    ]
    if none:
        last = np.vstack([cost, [0.5] * C])
        uneven = last.copy()
        uneven[-1, 0] = 0.25
        found.append(("none costs the same", True, objectives.truth([0.7, 0.6], None, last)))
        found.append(("none costs less for one", False, objectives.truth([0.7, 0.6], None, uneven)))
    return found


@pytest.mark.parametrize("none", [False, True], ids=["", "none"])
@pytest.mark.parametrize("C", [2, 3, 4])
def test_symmetry_is_that_of_the_costs(C: int, none: bool) -> None:
    problem = DecisionProblem([VoterGroup(2, 1.0), VoterGroup(1, 2.0)], 1.0, classes=C, none=none)
    for name, symmetric, objective in cases(C, none=none):
        assert objective.symmetric(problem) is symmetric, name
        assert same_for_all(objective, problem) is symmetric, name


@pytest.mark.parametrize("none", [False, True], ids=["", "none"])
@pytest.mark.parametrize(("sizes", "C"), [([3], 2), ([3], 3), ([2, 1], 3), ([2], 4)], ids=str)
def test_tables_are_tried_under_a_swap_and_a_cycle(sizes: list[int], C: int, none: bool) -> None:
    problem = DecisionProblem([VoterGroup(size, 1.0) for size in sizes], 1.0, classes=C, none=none)
    even = table(np.random.default_rng(C), problem)
    assert objectives.costs(even).symmetric(problem)
    rounded = even * (1 + 1e-14 * np.random.default_rng(0).standard_normal(even.shape))
    assert objectives.costs(rounded).symmetric(problem)
    for entry in np.ndindex(*even.shape):
        other = even.copy()
        other[entry] *= 1 + 1e-9
        orders = itertools.permutations(range(C))
        alone = all(permuted(other, problem, order)[entry] == other[entry] for order in orders)
        assert objectives.costs(other).symmetric(problem) is alone


def test_a_cycle_alone_is_not_all_permutations() -> None:
    """Of one vote: the next class costs 1, the one before it 2. Turning changes nothing, swapping does; and back."""
    problem = DecisionProblem([VoterGroup(1, 1.0)], 1.0, classes=3)
    turned = objectives.costs([[0, 1, 2], [2, 0, 1], [1, 2, 0]])
    assert not turned.symmetric(problem)
    swapped = objectives.costs([[0, 1, 2], [1, 0, 2], [2, 2, 0]])
    assert not swapped.symmetric(problem)
    assert objectives.costs([[0, 1, 1], [1, 0, 1], [1, 1, 0]]).symmetric(problem)


def test_functions_and_thresholds_are_tried() -> None:
    three = DecisionProblem([VoterGroup(3, 1.0)], 1.0, classes=3)
    unanimous = objectives.rule(lambda n: int(n[0].argmax()), [0.7], problem=three)  # a tie goes to the first
    assert not unanimous.symmetric(three)
    one = DecisionProblem([VoterGroup(1, 1.0)], 1.0, classes=3)
    assert objectives.rule(lambda n: int(n[0].argmax()), [0.7], problem=one).symmetric(one)
    for K, k, symmetric in ((3, 2, True), (3, 1, False), (4, 2, False), (5, 3, True)):
        two = DecisionProblem([VoterGroup(K, 1.0)], 1.0)
        assert objectives.rule(objectives.at_least(k), [0.7]).symmetric(two) is symmetric
        assert not objectives.rule(objectives.at_least(k), [0.7], [0.4, 0.6]).symmetric(two)

"""Optimal decisions between several classes: figures, closed forms, and a whole linear program."""

import itertools
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from cases import slow, thorough
from numpy.typing import NDArray
from oracles import several_classes as oracle
from scipy.optimize import linprog
from scipy.stats import norm

import darrm
from darrm import DecisionProblem, VoterGroup, objectives
from darrm.accounting import gdp
from darrm.objectives import Objective, rule, truth
from darrm.problem.class_votes import class_probabilities

TEACHERS = math.inf
# Classes, voters, affected, epsilon of a vote, guarantee, accuracy; then how likely a most voted class and the truth
# are. Independent computation: the same program, cases gone through one by one, ten digits.
GOLDEN = [
    (3, 5, 5, 0.5, 1.0, 0.0, 0.6, 0.9448663878, 0.7257891115),
    (3, 7, 7, 1.0, 1.5, 0.0, 0.6, 0.8158558559, 0.6883627411),
    *thorough((3, 11, 11, 0.5, 1.5, 0.0, 0.6, 0.9274678538, 0.8370703904)),
    pytest.param(3, 15, 15, 0.5, 1.5, 0.0, 0.6, 0.8953009477, 0.8477641016, marks=pytest.mark.slow),
    (4, 7, 7, 0.5, 1.0, 0.0, 0.6, 0.8536720307, 0.7662029737),
    pytest.param(4, 9, 9, 0.5, 1.5, 0.0, 0.6, 0.9321204614, 0.8613655838, marks=pytest.mark.slow),
    *thorough((5, 5, 5, 0.5, 1.0, 0.0, 0.6, 0.8904452751, 0.7610506814)),
    (3, 7, 7, 0.5, 1.0, 0.001, 0.6, 0.8729163067, 0.7417688549),
    (3, 12, 2, 1.0, 0.5, 0.0, 0.6, 0.7735040133, 0.7288075416),
]


@pytest.mark.parametrize(("C", "K", "t", "epsilon", "total", "delta", "accuracy", "most_votes", "right"), GOLDEN)
def test_golden(
    C: int, K: int, t: int, epsilon: float, total: float, delta: float, accuracy: float, most_votes: float, right: float
) -> None:
    problem = DecisionProblem([VoterGroup(K, epsilon)], total, delta, C, t)
    for objective, figure in ((rule("plurality", [accuracy]), most_votes), (truth([accuracy]), right)):
        design = darrm.solve(problem, objective=objective)
        assert 1 - design.expected_cost == pytest.approx(figure, abs=1e-8)
        assert design.certificate.holds
        assert design.gap < 1e-9


# The whole linear program


def least_cost(problem: DecisionProblem, costs: NDArray[np.float64]) -> float:
    """By every row of the oracle at once, and every entry as a variable."""
    own = [oracle.Group(group.count, group.epsilon, group.delta, group.max_affected) for group in problem.groups]
    every = oracle.all_votes(own, problem.n_classes)
    unit = {votes: [Decimal(int(i == j)) for j in range(len(every))] for i, votes in enumerate(every)}
    cases = oracle.truth(unit, own, problem.n_classes, problem.max_affected)
    P, Q = cases.p_side.astype(np.float64), cases.q_side.astype(np.float64)
    O, first = problem.n_answers, math.exp(-problem.epsilon) * P - Q
    first = np.unique(first.round(14), axis=0)
    sizes = range(1, O) if problem.delta else (1,)
    sets = [chosen for size in sizes for chosen in itertools.combinations(range(O), size)]
    rows = np.concatenate([np.kron(first, [float(o in chosen) for o in range(O)]) for chosen in sets])
    right = np.full(len(rows), math.exp(-problem.epsilon) * problem.delta)
    sums = np.kron(np.eye(len(every)), np.ones(O))
    answer: Any = linprog(
        costs.ravel(),
        rows,
        right,
        sums,
        np.ones(len(every)),
        bounds=(0, 1),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert answer.status == 0
    return float(answer.fun)


def random_problem(rng: np.random.Generator) -> tuple[DecisionProblem, Objective]:
    shapes = ((1,), (2,), (3,), (2, 1), (1, 1))
    sizes = shapes[rng.integers(len(shapes))]
    failing = float(rng.choice([0.0, 0.01])) if sum(sizes) <= 2 else 0.0
    members = [
        VoterGroup(
            count,
            float(rng.choice([0.01, 0.3, 1.0, 3.0, math.inf])),
            failing,
            int(rng.integers(1, count + 1)) if rng.random() < 0.5 else None,
        )
        for count in sizes
    ]
    most = sum(group.max_affected for group in members)
    delta = float(rng.choice([0.0, 1e-6, 0.02])) + 2 * failing
    epsilon, reach = float(np.exp(rng.uniform(-3, 1.5))), int(rng.integers(1, most + 1))
    C, none = int(rng.choice([2, 3, 3])), bool(rng.random() < 0.4)
    problem = DecisionProblem(members, epsilon, delta, C, reach, none=none or C == 2)
    accuracy = [round(float(rng.uniform(0.4, 0.95)), 2) for _ in sizes]
    prior = rng.dirichlet(np.ones(C))
    prior[0] = 1 - math.fsum(prior[1:])
    cost = 1 - np.eye(problem.n_answers)[:, :C]
    if problem.none:
        cost[C] = 0.3
    shape = (*problem.table_shape, problem.n_answers)
    unsure = 0.3 if problem.none else None
    wanted = [
        rule("plurality", accuracy, none=unsure),
        rule("plurality", accuracy, prior.tolist(), none=unsure),
        truth(accuracy, None, cost.tolist()),
        truth(accuracy, prior.tolist(), cost.tolist()),
        objectives.costs(rng.random(shape)),
    ]
    return problem, wanted[rng.integers(len(wanted))]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [3, *thorough(1), *slow(0, 2)])
def test_every_row_at_once_gives_the_same(seed: int) -> None:
    rng = np.random.default_rng(70 + seed)
    for _ in range(6):
        problem, objective = random_problem(rng)
        design = darrm.solve(problem, objective=objective)
        least = least_cost(problem, objective.costs(problem))
        assert design.expected_cost == pytest.approx(least, abs=1e-8)
        assert 0 <= design.gap < 1e-8
        assert design.expected_cost - least <= design.gap + 1e-10
        ordered = darrm.solve(problem, objective=objective, ordered=True)
        assert ordered.reversals == 0
        assert least - 1e-9 <= ordered.expected_cost
        assert ordered.gap < 1e-8


def test_the_gap_of_a_design_that_is_not_the_best() -> None:
    problem = DecisionProblem([VoterGroup(3, 1.0)], 0.9, 0.0, 3)
    objective = rule("plurality", [0.6])
    design = darrm.solve(problem, objective=objective, time_limit=1e-9, on_time_limit="best")
    least = least_cost(problem, objective.costs(problem))
    assert design.certificate.holds
    assert least - 1e-9 <= design.expected_cost <= least + design.gap + 1e-10


# Closed forms


@pytest.mark.parametrize("C", [3, 6])
def test_one_voter_is_randomized_response(C: int) -> None:
    for epsilon in (1.0, TEACHERS):
        design = darrm.solve(DecisionProblem([VoterGroup(1, epsilon)], 0.7, 0.0, C), objective=truth([0.8]))
        # A vote that says d in place of c by lo / hi hides the one of C that a label says.
        table = design.table[0]
        assert table[1:] == pytest.approx(np.full(C - 1, table[1]), abs=1e-12)
        hi, lo = (1 / (1 + math.exp(-e)) for e in (epsilon, -epsilon))
        ratio = (hi * table[0] + lo * table[1]) / (lo * table[0] + hi * table[1])
        assert ratio == pytest.approx(math.exp(0.7), rel=1e-9)


@pytest.mark.parametrize(("K", "epsilon"), [(5, 1.0), (11, 0.5)])
def test_a_further_answer_that_is_never_right_is_no_use(K: int, epsilon: float) -> None:
    """Two classes and "none" go through the engine of several; one teacher has truncated geometric noise."""
    problem = DecisionProblem([VoterGroup(K, TEACHERS)], epsilon, 0.0, 2, 1, none=True)
    design = darrm.solve(problem, objective=rule("majority", [0.7], none=0.9))
    other = np.exp(-epsilon * (np.arange(K // 2 + 1, K + 1) - (K + 1) / 2)) / (1 + math.exp(epsilon))
    assert design.table.shape == (K // 2 + 1, 3)
    assert design.table[::-1, 0] == pytest.approx(1 - other, abs=1e-9)
    assert design.table[:, 2].max() < 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_two_classes_and_none_are_as_good_as_two_answers(delta: float) -> None:
    for groups in ([VoterGroup(5, 0.5)], [VoterGroup(2, 1.0), VoterGroup(3, 0.3)]):
        costs = []
        for none in (False, True):
            problem = DecisionProblem(groups, 0.8, delta, 2, none=none)
            objective = rule("majority", [0.7] * len(groups), none=0.9 if none else None)
            costs.append(darrm.solve(problem, objective=objective).expected_cost)
        assert costs[0] == pytest.approx(costs[1], abs=1e-9)


@pytest.mark.thorough
def test_a_gaussian_profile_gives_gaussian_noise_with_none_too() -> None:
    """Phi(mu (n - K/2)) for two classes, but for the polygon of the profile; the engine of two answers is the judge."""
    K, mu, profile = 5, 0.5, gdp(0.5, 16)
    tables = []
    for none in (False, True):
        problem = DecisionProblem([VoterGroup(K, TEACHERS)], *profile[1], max_affected=1, none=none)
        objective = rule("majority", [0.7], none=0.9 if none else None)
        tables.append(darrm.solve(problem, objective=objective, profile=profile).table)
    assert tables[1][:, 0] == pytest.approx(tables[0][:2:-1], abs=1e-6)
    assert tables[1][:, 0] == pytest.approx(norm.cdf(mu * (np.arange(K, 2, -1) - K / 2)), abs=1e-2)


@pytest.mark.parametrize(("epsilon", "t"), [(0.3, 2), (0.3, 4), (1.0, 3)])
def test_where_voters_cost_less_no_noise_is_needed(epsilon: float, t: int) -> None:
    problem = DecisionProblem([VoterGroup(4, epsilon)], t * epsilon * (1 + 1e-9), 0.0, 3, t)
    assert darrm.solve(problem, objective=rule("plurality", [0.6])).expected_cost < 1e-9


@pytest.mark.thorough
def test_a_group_in_two_parts_is_the_same_group() -> None:
    costs = []
    for parts in ((4,), (1, 3), (2, 2)):
        problem = DecisionProblem([VoterGroup(count, 0.5) for count in parts], 0.7, 0.0, 3, 2)
        costs.append(darrm.solve(problem, objective=rule("plurality", [0.6] * len(parts))).expected_cost)
    assert costs == pytest.approx([costs[0]] * 3, abs=1e-9)


def test_a_profile_of_one_teacher_is_held() -> None:
    profile = [(0.2, 0.1), (1.0, 0.01)]
    problem = DecisionProblem([VoterGroup(6, TEACHERS)], 0.5, 0.05, 3, 1)
    loose = darrm.solve(problem, objective=rule("plurality", [0.6]))
    tight = darrm.solve(problem, objective=rule("plurality", [0.6]), profile=profile)
    assert tight.expected_cost > loose.expected_cost
    for epsilon, delta in profile:
        assert darrm.verify(tight.table, DecisionProblem(problem.groups, epsilon, delta, 3, 1)).holds


# Names


def test_relabelling_classes_relabels_the_release_exactly() -> None:
    rng = np.random.default_rng(5)
    for none in (False, True):
        problem = DecisionProblem([VoterGroup(5, 0.5)], 1.0, 0.0, ("a", "b", "c"), none=none)
        design = darrm.solve(problem, objective=rule("plurality", [0.6], none=0.4 if none else None))
        assert design.table.shape == (5, 3 + none)
        votes = rng.multinomial(5, [1 / 3] * 3, 20)
        for order in itertools.permutations(range(3)):
            here, there = design.probabilities(votes), design.probabilities(votes[:, list(order)])
            assert np.array_equal(there, here[:, [*order, *range(3, 3 + none)]])


@pytest.mark.thorough
def test_relabelling_classes_relabels_a_release_of_two_groups() -> None:
    problem = DecisionProblem([VoterGroup(2, 0.5), VoterGroup(2, 2.0)], 1.0, 0.0, 3)
    design = darrm.solve(problem, objective=rule("plurality", [0.6, 0.8]))
    assert design.table.shape == (6, 6, 3)
    votes = np.random.default_rng(7).multinomial(2, [1 / 3] * 3, (20, 2))
    for order in itertools.permutations(range(3)):
        there = class_probabilities(design.table, problem, votes[..., list(order)])
        # Rows are summed in the order of their classes, so the last digits may differ.
        here = class_probabilities(design.table, problem, votes)
        assert there == pytest.approx(here[:, list(order)], abs=1e-15)


@pytest.mark.thorough
def test_an_objective_that_names_a_class_has_a_full_table() -> None:
    problem = DecisionProblem([VoterGroup(3, 1.0)], 0.9, 0.0, 3)
    costs = []
    for order in itertools.permutations((0.5, 0.3, 0.2)):
        design = darrm.solve(problem, objective=truth([0.7], list(order)))
        assert design.table.shape == (10, 3)
        costs.append(design.expected_cost)
    assert costs == pytest.approx([costs[0]] * 6, abs=1e-9)

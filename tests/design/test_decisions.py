"""Optimal decisions by groups of voters: golden figures, closed forms, the first engine, and a whole linear program."""

import math

import numpy as np
import pytest
from cases import slow, thorough
from numpy.typing import NDArray
from oracles import decisions as oracle
from oracles import golden
from scipy.optimize import linprog
from scipy.stats import norm

import darrm
from darrm import DecisionProblem, MajorityProblem, VoterGroup, objectives, priors
from darrm.accounting import gdp
from darrm.objectives import at_least, rule, truth
from darrm.problem.noise_function import acceptance

TEACHERS = math.inf


def majority(accuracy: float, groups: int = 1) -> objectives.Objective:
    return rule("majority", accuracy=[accuracy] * groups)


@pytest.mark.thorough
@pytest.mark.parametrize("case", golden.DECISIONS, ids=lambda case: str(case.groups))
def test_golden_decisions(case: golden.Decision) -> None:
    members = [VoterGroup(count, epsilon, 0.0, reach) for count, epsilon, reach in case.groups]
    problem = DecisionProblem(members, case.epsilon, case.delta, max_affected=case.affected)
    prior = [1 - case.prior_of_1, case.prior_of_1]
    for objective, cost in (
        (truth(case.accuracy, prior, [[0, case.cost_false_0], [1, 0]]), case.least_cost),
        (rule(case.rule, case.accuracy, prior), case.least_disagreement),
    ):
        if cost is not None:
            design = darrm.solve(problem, objective=objective)
            assert design.expected_cost == pytest.approx(cost, abs=1.1e-10)
            assert design.certificate.holds
            assert design.gap < 1e-10


# The first engine


def as_table(gamma: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(acceptance(gamma))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, 1, *thorough(*range(2, 10))])
def test_the_certificates_of_both_engines_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(20):
        K = int(rng.integers(1, 42))
        reach, epsilon = int(rng.integers(1, K + 1)), float(10 ** rng.uniform(-3, 0.7))
        m = float(rng.uniform(1, reach))
        delta = float(rng.choice([0.0, 1e-6, 1e-2]))
        half = rng.random(K + 1) if rng.random() < 0.5 else 1 - 0.1 * rng.random(K + 1)
        gamma = np.maximum(half, half[::-1])
        one = MajorityProblem(K, m, epsilon, delta=delta, max_affected=reach)
        other = DecisionProblem([VoterGroup(K, epsilon)], m * epsilon, delta, max_affected=reach)
        first, second = darrm.verify(gamma, one), darrm.verify(as_table(gamma), other)
        assert second.needed_delta == pytest.approx(first.needed_delta, abs=1e-12)
        assert second.tight_epsilon == pytest.approx(first.tight_epsilon, rel=2e-9, abs=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_the_optima_of_both_engines_agree(seed: int) -> None:
    rng = np.random.default_rng(50 + seed)
    for _ in range(4):
        K = 2 * int(rng.integers(0, 21)) + 1
        reach, epsilon, p = (
            int(rng.integers(1, K + 1)),
            float(10 ** rng.uniform(-2, 0.3)),
            float(rng.uniform(0.55, 0.9)),
        )
        m = float(rng.uniform(1, reach))
        one = MajorityProblem(K, m, epsilon, max_affected=reach)
        other = DecisionProblem([VoterGroup(K, epsilon)], m * epsilon, max_affected=reach)
        first = darrm.solve(one, prior=priors.fixed([p] * K), objective="disagreement")
        second = darrm.solve(other, objective=majority(p), ordered=True)
        assert second.expected_cost == pytest.approx(first.disagreement, abs=1e-9)
        free = darrm.solve(other, objective=majority(p))
        assert free.expected_cost <= second.expected_cost + 1e-12


# The whole linear program


def least_cost(problem: DecisionProblem, costs: NDArray[np.float64], *, ordered: bool) -> float:
    """By every row of the oracle at once."""
    own = [oracle.Group(group.count, group.epsilon, group.delta, group.max_affected) for group in problem.groups]
    P, Q = (side.astype(np.float64) for side in oracle.rows(own, problem.max_affected))
    shrink = math.exp(-problem.epsilon)
    first = shrink * P - Q
    right = np.full(len(first), shrink * problem.delta)
    rows, limits = np.concatenate([first, -first]), np.concatenate([right, right - (shrink - 1)])
    rows, kept = np.unique(rows.round(14), axis=0, return_index=True)
    gain = (costs[..., 0] - costs[..., 1]).ravel()
    prefers_1, prefers_0 = gain > 1e-14, gain < -1e-14
    bounds = np.stack([np.where(prefers_1 & ordered, 0.5, 0.0), np.where(prefers_0 & ordered, 0.5, 1.0)], axis=1)
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    answer = linprog(-gain, rows, limits[kept], bounds=bounds, method="highs", options=options)
    assert answer.status == 0
    return float(costs[..., 0].sum() + answer.fun)


def random_problem(rng: np.random.Generator) -> tuple[DecisionProblem, objectives.Objective]:
    shapes = ((1,), (4,), (2, 2), (3, 2), (1, 1, 1), (3, 3), (2, 2, 1))
    sizes = shapes[rng.integers(len(shapes))]
    failing = float(rng.choice([0.0, 1e-3, 0.05])) if sum(sizes) <= 4 else 0.0
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
    accuracy = [round(float(rng.uniform(0.5, 0.95)), 2) for _ in sizes]
    wanted = [
        truth(accuracy),
        truth(accuracy, [0.2, 0.8], [[0, 5], [1, 0]]),
        rule("majority", accuracy),
        rule(at_least(min(2, sum(sizes))), accuracy, [0.7, 0.3]),
        rule([1.0 + i for i in range(len(sizes))], accuracy),
    ][rng.integers(5)]
    return DecisionProblem(members, epsilon, delta, max_affected=reach), wanted


@pytest.mark.thorough
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("seed", [0, 1, *thorough(2, 3, 4)])
def test_every_row_at_once_gives_the_same(seed: int, ordered: bool) -> None:
    rng = np.random.default_rng(70 + seed)
    for _ in range(8):
        problem, objective = random_problem(rng)
        design = darrm.solve(problem, objective=objective, ordered=ordered)
        least = least_cost(problem, objective.costs(problem), ordered=ordered)
        assert design.expected_cost == pytest.approx(least, abs=1e-9)
        assert 0 <= design.gap < 1e-9
        assert design.expected_cost - least <= design.gap + 1e-10
        if ordered:
            assert design.reversals == 0


def test_the_gap_of_a_design_that_is_not_the_best() -> None:
    """What a solver leaves behind when its time is up is certified, and as far from the best as it says."""
    problem = DecisionProblem([VoterGroup(3, 1.0), VoterGroup(3, 0.3)], 0.9)
    objective = truth([0.8, 0.6])
    with pytest.raises(darrm.SolverError, match="cutting-planes ended without an optimum"):
        darrm.solve(problem, objective=objective, time_limit=1e-9)
    design = darrm.solve(problem, objective=objective, time_limit=1e-9, on_time_limit="best")
    least = least_cost(problem, objective.costs(problem), ordered=False)
    assert design.certificate.holds
    assert least - 1e-9 <= design.expected_cost <= least + design.gap + 1e-10


@pytest.mark.thorough
@pytest.mark.parametrize(("K", "ordered"), [(101, True), *thorough((101, False)), *slow((201, True), (201, False))])
def test_weights_of_many_voters_are_not_too_small_to_be_solved_for(K: int, ordered: bool) -> None:
    """The weight of few ones is 1e-20 and less of the largest: without a floor K = 201 took minutes."""
    problem = DecisionProblem([VoterGroup(K, 0.1)], 0.3)
    design = darrm.solve(problem, objective=truth([0.525]), ordered=ordered, time_limit=60)
    assert design.certificate.holds
    assert 0 <= design.gap < 1e-9


def test_a_tie_is_in_no_order() -> None:
    """Where both answers are right, an ordered decision may prefer either: here what the private voters say."""
    problem = DecisionProblem([VoterGroup(2, 0.1), VoterGroup(2, 3.0)], 0.8)
    objective = rule("majority", [0.7, 0.7])
    design = darrm.solve(problem, objective=objective, ordered=True)
    least = least_cost(problem, objective.costs(problem), ordered=True)
    assert design.expected_cost == pytest.approx(least, abs=1e-9)
    assert design.table[0, 2] == pytest.approx(1 - design.table[2, 0], abs=1e-15)
    assert design.table[0, 2] < 0.5 < design.table[2, 0]


def test_costs_that_are_equal_but_for_rounding_are_a_tie() -> None:
    """One strong voter against two weak ones whose accuracies make 1 + 1 exactly as good as the one."""
    strong = 0.8
    odds = math.sqrt(strong / (1 - strong))
    problem = DecisionProblem([VoterGroup(1, 0.5), VoterGroup(2, 2.0)], 0.7)
    design = darrm.solve(problem, objective=truth([strong, odds / (1 + odds)]), ordered=True)
    assert design.reversals == 0
    assert design.gap < 1e-9


@pytest.mark.parametrize("size", [1.0, 1e6, 1e-6])
def test_the_gap_counts_what_costs_are_rounded_by(size: float) -> None:
    """Costs with a large part in common: their difference, and so the gap, is known to a part of the whole only."""
    problem = DecisionProblem([VoterGroup(3, 1.0), VoterGroup(2, 0.3)], 0.8)
    plain = darrm.solve(problem, objective=truth([0.8, 0.7]))
    costs = [[1e6 * size, (1e6 + 1) * size], [(1e6 + 1) * size, 1e6 * size]]
    design = darrm.solve(problem, objective=truth([0.8, 0.7], cost=costs))
    assert design.expected_cost == pytest.approx((1e6 + plain.expected_cost) * size, rel=1e-14)
    assert design.gap >= 1e-16 * design.expected_cost


# Closed forms


@pytest.mark.parametrize(("K", "epsilon"), [(1, 0.5), (5, 1.0), (11, 0.5), (25, 0.1)])
def test_one_teacher_gives_truncated_geometric_noise(K: int, epsilon: float) -> None:
    design = darrm.solve(DecisionProblem([VoterGroup(K, TEACHERS)], epsilon, max_affected=1), objective=majority(0.7))
    l = np.arange(K // 2 + 1, K + 1)
    other = np.exp(-epsilon * (l - (K + 1) / 2)) / (1 + math.exp(epsilon))
    assert 1 - design.table[K // 2 + 1 :] == pytest.approx(other, abs=1e-9)
    assert design.table[: (K + 1) // 2] == pytest.approx(other[::-1], abs=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize(("K", "mu"), [(5, 0.5), (11, 0.3)])
def test_a_gaussian_profile_gives_gaussian_noise(K: int, mu: float) -> None:
    off = []
    for points in (12, 36):
        profile = gdp(mu, points)
        epsilon, delta = profile[1]
        problem = DecisionProblem([VoterGroup(K, TEACHERS)], epsilon, delta, max_affected=1)
        design = darrm.solve(problem, objective=truth([0.7]), profile=profile)
        off.append(np.abs(design.table - norm.cdf(mu * (np.arange(K + 1) - K / 2))).max())
    assert off[0] < 1e-2
    assert off[1] < off[0] / 4  # the polygon comes closer by the square of its points


@pytest.mark.parametrize(
    ("epsilon", "guaranteed"), [(1.0, 0.3), (5.0, 1e-3), (0.1, 0.0999), (30.0, 2.0), (TEACHERS, 1.0)]
)
def test_one_voter_is_randomized_response_again(epsilon: float, guaranteed: float) -> None:
    design = darrm.solve(DecisionProblem([VoterGroup(1, epsilon)], guaranteed), objective=majority(0.7))
    gamma = math.tanh(guaranteed / 2) / math.tanh(epsilon / 2)
    assert design.table == pytest.approx([(1 - gamma) / 2, (1 + gamma) / 2], abs=1e-10)
    assert design.expected_cost == pytest.approx((1 - gamma) / 2, abs=1e-10)


@pytest.mark.parametrize(
    ("sizes", "epsilons", "reach", "guaranteed"),
    [
        ((7,), (0.5,), 2, 1.0),
        ((3, 3), (0.5, 0.25), 2, 1.0),
        ((3, 2), (1.0, 0.25), 5, 3.5),
        ((2, 2, 2), (0.5, 0.25, 2.0), 1, 2.0),
    ],
)
def test_where_voters_cost_less_no_noise_is_needed(
    sizes: tuple[int, ...], epsilons: tuple[float, ...], reach: int, guaranteed: float
) -> None:
    members = [VoterGroup(count, epsilon) for count, epsilon in zip(sizes, epsilons, strict=True)]
    objective = rule("majority", [0.7] * len(sizes))
    design = darrm.solve(DecisionProblem(members, guaranteed, max_affected=reach), objective=objective)
    assert design.expected_cost == pytest.approx(0, abs=1e-12)
    if len(sizes) == 1:
        tighter = DecisionProblem(members, guaranteed * 0.9, max_affected=reach)
        assert darrm.solve(tighter, objective=objective).expected_cost > 1e-4


@pytest.mark.parametrize(("parts", "epsilon", "reach"), [((3, 3), 0.5, 2), ((4, 4), 1.0, 8), ((2, 2), TEACHERS, 1)])
def test_a_group_in_two_parts_is_the_same_group(parts: tuple[int, int], epsilon: float, reach: int) -> None:
    whole = DecisionProblem([VoterGroup(sum(parts), epsilon)], 0.8, max_affected=reach)
    split = DecisionProblem([VoterGroup(part, epsilon) for part in parts], 0.8, max_affected=reach)
    for one, two in (
        (truth([0.7]), truth([0.7, 0.7])),
        (rule(at_least(2), [0.7]), rule(at_least(2), [0.7, 0.7])),
    ):
        least = darrm.solve(whole, objective=one).expected_cost
        assert darrm.solve(split, objective=two).expected_cost == pytest.approx(least, abs=1e-9)


@pytest.mark.thorough
def test_voters_that_know_nothing_do_no_harm() -> None:
    strong = VoterGroup(4, 1.0)
    for epsilon, reach in ((0.5, 4), (1.2, 2), (0.2, 1)):
        alone = DecisionProblem([strong], epsilon, max_affected=reach)
        both = DecisionProblem([strong, VoterGroup(3, 0.3)], epsilon, max_affected=reach)
        least = darrm.solve(alone, objective=truth([0.8])).expected_cost
        assert darrm.solve(both, objective=truth([0.8, 0.5])).expected_cost <= least + 1e-10


# What was refused, or failed


def test_teachers_beside_others_when_one_can_be_affected() -> None:
    """Groups of which no voter is among the affected, and losses without end."""
    problem = DecisionProblem(
        [VoterGroup(2, TEACHERS), VoterGroup(2, TEACHERS), VoterGroup(2, 0.5)], 0.5, max_affected=1
    )
    design = darrm.solve(problem, objective=truth([0.7, 0.6, 0.8]))
    least = least_cost(problem, truth([0.7, 0.6, 0.8]).costs(problem), ordered=False)
    assert design.expected_cost == pytest.approx(least, abs=1e-9)


def test_a_profile_of_teachers_may_end_in_infinity() -> None:
    problem = DecisionProblem([VoterGroup(5, TEACHERS)], 0.01, 0.3, max_affected=1)
    free = darrm.solve(problem, objective=truth([0.7]))
    design = darrm.solve(problem, objective=truth([0.7]), profile=[(math.inf, 0.0)])
    assert free.table.min() < 1e-12
    assert 0 < design.table.min() < 1e-12
    assert design.expected_cost == pytest.approx(free.expected_cost, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [False, True])
def test_many_random_problems(ordered: bool) -> None:
    rng = np.random.default_rng(90)
    for _ in range(300):
        problem, objective = random_problem(rng)
        design = darrm.solve(problem, objective=objective, ordered=ordered)
        least = least_cost(problem, objective.costs(problem), ordered=ordered)
        assert design.expected_cost == pytest.approx(least, abs=1e-8)
        assert design.expected_cost - least <= design.gap + 1e-9


def test_a_point_of_a_profile_that_is_read_nearer_says_so() -> None:
    """Three voters, epsilon 0.5 each: a point at 30 nats is read at 15.5."""
    problem = darrm.MajorityProblem(3, 1, 0.5, 1e-3)
    design = darrm.solve(problem)
    with pytest.raises(
        darrm.CertificateError, match=r"\(30, 1e-09\)-DP \(evaluated at epsilon 15.5, which is stricter\)"
    ):
        darrm.Design(problem, design.gamma, design.prior, profile=[(30, 1e-9)])
    with pytest.raises(darrm.CertificateError, match=r"\(2, 1e-09\)-DP, a point of its profile"):
        darrm.Design(problem, design.gamma, design.prior, profile=[(2, 1e-9)])

"""The bound on the cost of every table within a total, against pairs and tables that are tried one by one."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import darrm
from darrm.accounting.search import Budget
from darrm.planning.at_one_total import at_one_total
from darrm.planning.bound import _largest, least_cost, profile_of_each
from darrm.planning.designs import design_within
from darrm.planning.setting import Setting

TRUTH = darrm.objectives.truth([0.7])


def _setting(*groups: darrm.VoterGroup) -> Setting:
    return Setting(groups, 1, "replace-one", 2, darrm.objectives.truth([0.7] * len(groups)))


KNOWN: dict[str, Any] = {"randomizer": "randomized response", "colluders": 0}
SHARES = Setting(
    (darrm.VoterGroup(2, epsilon=1.0, **KNOWN), darrm.VoterGroup(2, epsilon=1.0, **KNOWN)),
    1,
    "replace-one",
    2,
    darrm.objectives.truth([0.7, 0.7]),
    shares=(0.4, 1.0),
)
PARTS = Budget(4, 1.0, 1e-3, "fresh", fallback=1.0, of={"group 1": 0.4, "group 2": 1.0})


@pytest.mark.slow
def test_every_part_of_the_budget_is_a_limit_of_its_own() -> None:
    """The bound is smaller if a budget is left out or raised."""
    bound = least_cost(SHARES, PARTS)
    one_budget = replace(SHARES, shares=())
    assert bound > least_cost(SHARES, replace(PARTS, fallback=math.inf)) + 1e-3
    assert bound > least_cost(one_budget, replace(PARTS, of={})) + 1e-3
    strict = least_cost(one_budget, replace(PARTS, of={}, epsilon=0.4, fallback=0.4))
    assert bound < strict - 1e-3
    alike = replace(SHARES, shares=(1.0, 1.0))
    same = replace(PARTS, of={"group 1": 1.0, "group 2": 1.0})
    assert least_cost(alike, same) == pytest.approx(least_cost(one_budget, replace(PARTS, of={})), abs=1e-7)


@pytest.mark.slow
def test_no_table_within_all_budgets_costs_less() -> None:
    rng = np.random.default_rng(2)
    bound, least, kept, rule = least_cost(SHARES, PARTS), 1.0, 0, SHARES.best_rule()
    for _ in range(150):
        toward = rule + rng.uniform(-0.5, 0.5, rule.shape) * rng.uniform()
        table = 0.5 + rng.uniform(0.05, 0.5) * (np.clip(toward, 0, 1) - 0.5)
        if PARTS.cost(SHARES.label(table)) <= PARTS.epsilon:
            kept, least = kept + 1, min(least, SHARES.cost(table))
    assert kept > 5
    assert bound <= least


@pytest.mark.slow
def test_the_plan_of_several_budgets_is_near_its_bound() -> None:
    bound = least_cost(SHARES, PARTS)
    assert bound <= design_within(SHARES, PARTS).expected_cost < 1.06 * bound


def _told_apart(x: Fraction, y: Fraction, queries: int, epsilon: float) -> Fraction:
    """The hockey-stick divergence of Binomial(Q, x) from Binomial(Q, y), in fractions but for e^epsilon."""
    grow, found = Fraction(math.exp(epsilon)), Fraction(0)
    for k in range(queries + 1):
        p, q = (math.comb(queries, k) * z**k * (1 - z) ** (queries - k) for z in (x, y))
        found += max(Fraction(0), p - grow * q)
    return found


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize(("queries", "epsilon", "delta"), [(1, 0.5, 0.01), (3, 1.0, 0.02), (8, 2.0, 1e-3)])
def test_no_pair_within_the_total_is_above_the_profile(queries: int, epsilon: float, delta: float) -> None:
    profile = profile_of_each(queries, epsilon, delta)
    grid, most = 60, [0.0] * len(profile)
    for i in range(grid + 1):
        for j in range(i):
            x, y = Fraction(i, grid), Fraction(j, grid)
            both = (_told_apart(x, y, queries, epsilon), _told_apart(1 - y, 1 - x, queries, epsilon))
            if max(both) <= Fraction(delta):
                gained = [float(x) - math.exp(a) * float(y) for a, _ in profile]
                most = [max(pair) for pair in zip(most, gained, strict=True)]
    assert all(found <= allowed for found, (_, allowed) in zip(most, profile, strict=True))
    assert most[0] > profile[0][1] - 3 / grid  # the grid comes close to the bound
    assert [a for a, _ in profile] == sorted(a for a, _ in profile)


@pytest.mark.thorough
def test_no_table_within_the_total_costs_less() -> None:
    rng = np.random.default_rng(1)
    setting, budget = (
        _setting(darrm.VoterGroup(2, epsilon=1.0), darrm.VoterGroup(2, epsilon=0.5)),
        Budget(4, 1.0, 1e-3, "fresh"),
    )
    bound, least, kept = least_cost(setting, budget), 1.0, 0
    rule = setting.best_rule()
    for _ in range(60):
        toward = rule + rng.uniform(-0.5, 0.5, rule.shape) * rng.uniform()
        table = 0.5 + rng.uniform(0.2, 0.6) * (np.clip(toward, 0, 1) - 0.5)
        if budget.total(setting.label(table)) <= budget.epsilon:
            kept, least = kept + 1, min(least, setting.cost(table))
    assert kept > 5
    assert bound <= least


@pytest.mark.thorough
@pytest.mark.parametrize("queries", [1, 5])
def test_it_is_the_optimum_where_that_is_known(queries: int) -> None:
    """For one label, and at delta 0, where epsilons of the worst case add up."""
    delta = 1e-4 if queries == 1 else 0.0
    plan = darrm.plan(
        K=5,
        epsilon=1.0,
        base_accuracy=0.8,
        max_affected=1,
        queries=queries,
        total_epsilon=0.8,
        total_delta=delta,
        voters="fresh",
    )
    assert plan.cost_at_least <= plan.design.expected_cost
    assert plan.cost_at_least == pytest.approx(plan.design.expected_cost, rel=2e-3)


@pytest.mark.thorough
def test_it_is_no_higher_than_the_cost_of_the_plain_majority_where_that_is_within_the_budget() -> None:
    """The planned table is nearly that of the majority, and costs some 1e-13 more."""
    voters = darrm.VoterGroup(3, 0.008821863377488588, max_affected=1, randomizer="randomized response", colluders=2)
    objective = darrm.objectives.truth([0.9760141290020332])
    epsilon = 0.09227772067223458
    plan = darrm.plan(
        [voters],
        queries=1,
        total_epsilon=epsilon,
        total_delta=1e-5,
        fallback_epsilon=epsilon,
        voters="fresh",
        objective=objective,
    )
    costs = objective.costs(plan.problem)
    assert plan.comparison is not None
    assert plan.design.expected_cost - 1e-9 < plan.comparison.cost_at_least <= costs.min(axis=-1).sum()


@pytest.mark.slow
def test_it_is_below_the_plan_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    asked = (
        "plan --K 11 --epsilon 1 --base-accuracy .9 --max-affected 1 --queries 50 --total-epsilon 4 --total-delta 1e-5"
    )
    assert darrm.cli.main([*asked.split(), "--voters", "fresh", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    bound, cost = plan["cost_at_least"], plan["design"]["expected_cost"]
    assert 0.9 * cost < bound < cost
    assert darrm.cli.main([*asked.split(), "--voters", "fresh"]) == 0
    assert f"within the budget has a label error rate of at least {math.floor(bound * 1e4) / 1e4}" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.thorough
def test_fixed_voters_have_no_bound() -> None:
    fixed = Budget(4, 1.0, 1e-3, "fixed")
    assert math.isnan(least_cost(_setting(darrm.VoterGroup(3, epsilon=1.0)), fixed))
    silent = _setting(darrm.VoterGroup(3, epsilon=math.inf))
    assert least_cost(silent, fixed) == least_cost(silent, Budget(4, 1.0, 1e-3, "fresh")) > 0
    assert math.isnan(least_cost(silent, Budget(4, 601.0, 1e-3, "fresh")))


@pytest.mark.parametrize(
    ("queries", "epsilon", "delta"), [(1, 45.0, 1e-6), (2, 100.0, 1e-6), (1, 600.0, 0.9), (1, 599.0, 1e-6)]
)
def test_a_budget_that_limits_nothing_is_no_error(queries: int, epsilon: float, delta: float) -> None:
    setting = _setting(darrm.VoterGroup(3, epsilon=math.inf))
    bound = least_cost(setting, Budget(queries, epsilon, delta, "fresh"))
    assert math.isnan(bound) or 0 <= bound <= setting.cost(setting.best_rule()) + 1e-9


@pytest.mark.thorough
def test_a_comparison_states_no_bound_where_none_is_known() -> None:
    """For fixed, private voters it once stated the planned cost, as if no table could be better."""
    problem, objective = (
        darrm.DecisionProblem([darrm.VoterGroup(5, 2.0)], 1.0, max_affected=1),
        darrm.objectives.truth([0.8]),
    )
    asked: Any = {"queries": 5, "total_epsilon": 1.0, "total_delta": 1e-5, "objective": objective}
    assert math.isnan(darrm.compare(problem, **asked, voters="fixed").cost_at_least)


@pytest.mark.thorough
def test_the_bound_needs_no_gap_of_the_design() -> None:
    setting = Setting((darrm.VoterGroup(5, epsilon=1.0),), 5, "replace-one", 3, TRUTH)
    found = at_one_total(setting, Budget(10, 2.0, 1e-5, "fresh"))
    assert found.entries[0].design is not None
    assert math.isinf(found.entries[0].design.gap)
    assert 0.6 < found.cost_at_least <= found.entries[0].expected_cost


def _divergence(queries: int, x: float, y: float, epsilon: float) -> float:
    """The larger hockey-stick divergence of Binomial(Q, x) and Binomial(Q, y), count by count in logarithms."""
    forward = back = 0.0
    for count in range(queries + 1):
        ways = math.lgamma(queries + 1) - math.lgamma(count + 1) - math.lgamma(queries - count + 1)
        on, off = (ways + count * math.log(p) + (queries - count) * math.log1p(-p) for p in (x, y))
        forward -= math.exp(on) * math.expm1(min(0.0, epsilon - on + off))
        back -= math.exp(off) * math.expm1(min(0.0, epsilon - off + on))
    return max(forward, back)


@pytest.mark.parametrize(
    ("queries", "epsilon", "delta", "y"),
    [
        pytest.param(1, 1.95645, 5.4e-31, 3.6126e-17, id="below the resolution of 1 - x"),
        pytest.param(1000, 449.0, 8.5e-201, 0.3887, id="tails below float64"),
    ],
)
def test_draws_above_the_largest_probability_are_told_apart(
    queries: int, epsilon: float, delta: float, y: float
) -> None:
    x = float(_largest(np.array([y]), queries, epsilon, delta)[0]) * (1 + 1e-6)
    assert _divergence(queries, x, y, epsilon) > delta * (1 - 1e-9)

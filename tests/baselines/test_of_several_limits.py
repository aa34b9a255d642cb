"""Comparisons of mechanisms where each group has a limit, or a budget, of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import slow

import darrm
from darrm.accounting import compose, profile_bounds
from darrm.accounting.releases import OneLabel
from darrm.baselines.entries import Comparison

GOAL = darrm.objectives.truth([0.7, 0.7])
GROUPS = darrm.VoterGroup(4, epsilon=1.0), darrm.VoterGroup(5, epsilon=1.0)
PROBLEM = darrm.DecisionProblem(GROUPS, epsilon=[0.3, 1.0], max_affected=1)
SEVERAL = darrm.DecisionProblem(
    [darrm.VoterGroup(1, epsilon=1.0), darrm.VoterGroup(2, epsilon=1.0)], [0.3, 0.8, 1.0], max_affected=2, classes=3
)


@pytest.fixture(scope="module", params=[PROBLEM, *slow(SEVERAL)], ids=["two answers", "three"])
def one_release(request: pytest.FixtureRequest) -> tuple[darrm.DecisionProblem, Comparison]:
    return request.param, darrm.compare(request.param, objective=GOAL)


@pytest.mark.thorough
def test_certificates_are_those_of_every_kind(one_release: tuple[darrm.DecisionProblem, Comparison]) -> None:
    problem, entries = one_release
    for entry in entries:
        assert entry.certificate == darrm.verify(entry.table, problem)
        assert entry.within == all(
            darrm.verify(entry.table, kind).tight_epsilon <= kind.release_epsilon for kind in problem.kinds.values()
        )


@pytest.mark.thorough
def test_the_optimum_is_the_best_of_all(one_release: tuple[darrm.DecisionProblem, Comparison]) -> None:
    problem, (best, *others) = one_release
    assert best.design is not None
    assert best.design.problem == problem
    for entry in others:
        assert entry.within == (", no noise" not in entry.name)
        if entry.within:
            assert best.expected_cost <= entry.expected_cost + 1e-9


@pytest.mark.thorough
def test_noise_of_one_parameter_is_the_least_that_keeps_all(
    one_release: tuple[darrm.DecisionProblem, Comparison],
) -> None:
    """Some limit is reached: the epsilon of one kind of change is that of its limit."""
    problem, entries = one_release
    for name in ("Bayes rule with constant gamma", "Gaussian noisy max", "permute-and-flip", "exponential mechanism"):
        certificate = entries[name].certificate
        assert certificate is not None
        shares = [own.tight_epsilon / problem.kinds[kind].release_epsilon for kind, own in certificate.kinds.items()]
        assert max(shares) == pytest.approx(1, rel=1e-5)
    against = [entry for entry in entries if entry.name == "one against the rest"]
    assert [entry.within for entry in against] == [True] * (problem.n_classes > 2)


@pytest.mark.thorough
def test_who_knows_one_limit_only() -> None:
    """All votes together are held to the strictest limit, one group alone to its own: tables of problems of one limit.

    A change in the other group cannot change the label of a group alone.
    """
    entries = darrm.compare(PROBLEM, objective=GOAL)
    pooled = darrm.solve(
        darrm.DecisionProblem([darrm.VoterGroup(9, epsilon=1.0)], epsilon=0.3, max_affected=1),
        objective=darrm.objectives.truth([0.7]),
    )
    assert entries["all as the least private"].expected_cost == pytest.approx(pooled.expected_cost, abs=1e-9)
    alone = darrm.solve(
        darrm.DecisionProblem([darrm.VoterGroup(5, epsilon=1.0)], epsilon=1.0, max_affected=1),
        objective=darrm.objectives.truth([0.7]),
    )
    entry = entries["group 2 alone"]
    assert entry.expected_cost == pytest.approx(alone.expected_cost, abs=1e-9)
    assert entry.certificate is not None
    assert entry.certificate.kinds["group 1"].tight_epsilon < 1e-12


@pytest.mark.thorough
def test_own_tables_are_judged_by_every_limit() -> None:
    """Nearly the majority of group 1 has an epsilon above the .3 of that group; that of group 2 is within its 1."""
    of_1, of_2 = np.full((5, 6), 0.05), np.full((5, 6), 0.05)
    of_1[3:], of_2[:, 3:] = 0.95, 0.95
    entries = darrm.compare(PROBLEM, objective=GOAL, extra={"group 1 decides": of_1, "group 2 decides": of_2})
    assert entries["group 2 decides"].within
    assert not entries["group 1 decides"].within
    certificate = entries["group 1 decides"].certificate
    assert certificate is not None
    assert [own.holds for own in certificate.kinds.values()] == [False, True]


ASKED: dict[str, Any] = {"queries": 6, "total_epsilon": [0.8, 2.0], "total_delta": 1e-6, "voters": "fresh"}
SMALL = darrm.VoterGroup(2, epsilon=1.0), darrm.VoterGroup(3, epsilon=1.0)


@pytest.fixture(scope="module")
def at_a_total() -> Comparison:
    return darrm.compare(darrm.DecisionProblem(SMALL, epsilon=1.0, max_affected=1), base_accuracy=0.9, **ASKED)


@pytest.mark.slow
def test_each_is_calibrated_to_all_budgets(at_a_total: Comparison) -> None:
    for entry in at_a_total:
        of = entry.of
        assert list(of) == ["group 1", "group 2"]
        assert [own.total_epsilon for own in of.values()] == [0.8, 2.0]
        assert entry.total == max(own.spent for own in of.values())
        assert entry.within == all(own.spent <= own.total_epsilon for own in of.values())
        assert entry.within == (entry.name != "plain majority")
        if entry.within:  # the first budget to be spent is spent
            assert max(own.spent / own.total_epsilon for own in of.values()) > 0.99
            assert at_a_total[0].wrong <= entry.wrong + 1e-9
        if "noisier" in entry.name or "local" in entry.name:
            continue  # other votes
        problem = darrm.DecisionProblem(SMALL, [1.0, 1.0], 0.5, max_affected=1)
        label = OneLabel(problem, entry.table, {}, certified=False)
        for kind, own in label.kinds.items():
            assert compose(own, 6, delta=1e-6, voters="fresh").upper == pytest.approx(of[kind].spent, rel=2e-3)


@pytest.mark.thorough
def test_the_totals_of_all_kinds_are_columns(at_a_total: Comparison) -> None:
    columns = at_a_total.columns()
    assert columns["total, group 2"] == [entry.of["group 2"].spent for entry in at_a_total]
    assert columns["total"] == [
        max(pair) for pair in zip(columns["total, group 1"], columns["total, group 2"], strict=True)
    ]


@pytest.mark.thorough
def test_local_noise_has_an_epsilon_for_each_group(at_a_total: Comparison) -> None:
    local = at_a_total["local noise only"]
    first, second = (float(word) for word in local.setting.split() if word[0].isdigit())
    assert first < second < 1
    for kind, epsilon in (("group 1", first), ("group 2", second)):
        alone = darrm.accounting.optimal(epsilon, 0.0, 6, 1e-6).epsilon
        assert alone == pytest.approx(local.of[kind].spent, rel=2e-3)


@pytest.mark.slow
def test_a_second_budget_for_every_kind() -> None:
    known = [darrm.VoterGroup(n, 1.0, randomizer="randomized response", colluders=0) for n in (2, 3)]
    problem = darrm.DecisionProblem(known, epsilon=1.0, max_affected=1)
    asked = {**ASKED, "queries": 1, "total_epsilon": [0.4, 0.8]}
    entries = darrm.compare(problem, base_accuracy=0.9, fallback_epsilon=0.88, **asked)
    assert entries.fallback_epsilon == 0.88
    for entry in entries:
        kept = [own.spent <= own.total_epsilon and own.fallback <= 1.1 * own.total_epsilon for own in entry.of.values()]
        assert entry.within == all(kept)
    assert darrm.compare(problem, base_accuracy=0.9, **asked).fallback_epsilon == 1.6
    with pytest.raises(darrm.InputError, match="takes no 'fallback_epsilon'"):
        darrm.compare(problem, objective=GOAL, fallback_epsilon=1.0)
    with pytest.raises(darrm.InputError, match="a list of 2, one for each group"):
        darrm.compare(problem, base_accuracy=0.9, **{**ASKED, "total_epsilon": [1.0] * 4})


@pytest.mark.thorough
def test_votes_that_one_budget_covers_need_noise_for_the_other() -> None:
    """Group 2's budget covers its votes; that of group 1 does not, so a second release is not covered either."""
    groups = darrm.VoterGroup(3, epsilon=0.5), darrm.VoterGroup(1, epsilon=0.5)
    asked = {**ASKED, "queries": 2, "total_epsilon": [0.3, 1.0], "total_delta": 0.0}
    plan = darrm.plan(groups, base_accuracy=0.9, max_affected=1, **asked)
    assert plan.of["group 1"].spent <= 0.3 < plan.aggregator <= 1.0
    assert not any("second release of them" in said for said in plan.assumptions)
    assert not any("because it covers the votes" in said for said in plan.assumptions)
    assert plan.comparison is not None
    assert len(plan.comparison) > 3


def test_the_profile_is_the_largest_of_all_kinds() -> None:
    design = darrm.solve(PROBLEM, objective=GOAL)
    at = [0.0, 0.2, 0.5, 1.0]
    each = [profile_bounds(design.table, kind, at) for kind in PROBLEM.kinds.values()]
    both = profile_bounds(design.table, PROBLEM, at)
    assert both == [(max(a, c), max(b, d)) for (a, b), (c, d) in zip(*each, strict=True)]
    assert darrm.privacy_profile(design.table, PROBLEM, at).tolist() == [upper for _, upper in both]
    assert each[0] != each[1]

"""What `darrm.plan` promises: within the budget for everybody who counts it, and no mechanism beside it is better."""

import json
import math
import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from cases import slow, thorough
from scripts import load

import darrm
from darrm import InputError, SolverError, VoterGroup
from darrm.accounting import compose, max_queries
from darrm.accounting.fresh import of_region
from darrm.accounting.profile import region
from darrm.accounting.search import Budget, pays
from darrm.accounting.theorems import at_least_once
from darrm.baselines.baseline import Baseline, Family
from darrm.cli import main
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import OutOfTime, check_time, ends_at
from darrm.planning import Plan, designs
from darrm.planning.designs import _Search
from darrm.planning.planner import Progress
from darrm.planning.setting import Setting
from darrm.show.inline import notebook_html
from darrm.show.plan_words import remarks

TABLE: dict[str, Any] = {"K": 25, "base_accuracy": 0.85, "queries": 200, "total_epsilon": 6.0, "total_delta": 1e-6}
TABLE |= {"voters": "fresh", "max_affected": 1}
SMALL: dict[str, Any] = {
    "K": 5,
    "epsilon": 1.0,
    "queries": 10,
    "total_epsilon": 2.0,
    "total_delta": 1e-5,
    "voters": "fresh",
}
SMALL |= {"max_affected": 1, "base_accuracy": 0.85}


def V(count: int, epsilon: float, delta: float = 0.0, most: int | None = None) -> VoterGroup:
    return VoterGroup(count, epsilon, delta, most)


def settings(voters: str, total: tuple[float, float], queries: int, reached: int) -> dict[str, Any]:
    return {
        "voters": voters,
        "total_epsilon": total[0],
        "total_delta": total[1],
        "queries": queries,
        "max_affected": reached,
    }


PROBLEMS: dict[str, dict[str, Any]] = {
    "even K": {"groups": [V(6, 0.5)], "base_accuracy": 0.8} | settings("fresh", (2.0, 1e-6), 20, 1),
    "groups": {"groups": [V(2, 3.0), V(2, 0.5)], "base_accuracy": [0.8, 0.7]} | settings("fresh", (3.0, 1e-6), 20, 2),
    "no delta": {"groups": [V(5, 1.0)], "accuracy": [0.75]} | settings("fresh", (1.0, 0.0), 3, 1),
    "failing voters": {"groups": [V(4, 1.0, 1e-8)], "accuracy": [0.75]} | settings("fresh", (2.0, 1e-5), 20, 1),
    "not private": {"groups": [V(7, math.inf)], "accuracy": [0.8]} | settings("fresh", (2.0, 1e-6), 20, 1),
    "all reached": {"groups": [V(5, 1.0)], "base_accuracy": 0.9} | settings("fresh", (3.0, 1e-6), 10, 5),
    "one query": {"groups": [V(5, 1.0)], "accuracy": [0.75]} | settings("fresh", (0.6, 1e-6), 1, 2),
    "one query, no delta": {"groups": [V(6, 0.5)], "accuracy": [0.64]} | settings("fixed", (1.0, 0.0), 1, 6),
    "fixed below their price": {"groups": [V(5, 2.0)], "accuracy": [0.8]} | settings("fixed", (1.0, 0.0), 5, 1),
    "fixed, many": {"groups": [V(5, 2.0)], "accuracy": [0.8]} | settings("fixed", (1.0, 1e-5), 30, 1),
    "fixed above their price": {"groups": [V(4, 0.5)], "accuracy": [0.77]} | settings("fixed", (1.2, 1e-4), 50, 2),
    "prior and cost": {"groups": [V(5, 1.0)], "accuracy": [0.8], "prior": [0.4, 0.6], "cost": [[0, 2], [1, 0]]}
    | settings("fresh", (4.0, 1e-6), 20, 1),
    "mostly one answer": {"groups": [V(5, 1.0, 1e-7)], "accuracy": [0.78], "prior": [0.3, 0.7]}
    | settings("fresh", (0.3, 1e-6), 10, 2),
    "one that always pays": {"groups": [V(3, 0.1)], "accuracy": [0.8]} | settings("fresh", (5.0, 1e-6), 10, 3),
}


FEW = ("failing voters", "not private", "fixed below their price")
LEFT = [name for name in PROBLEMS if name not in FEW]


@pytest.fixture(scope="module", params=[*FEW, *thorough(*LEFT[::2]), *slow(*LEFT[1::2])])
def planned(request: pytest.FixtureRequest) -> tuple[dict[str, Any], Plan]:
    return PROBLEMS[request.param], darrm.plan(**PROBLEMS[request.param])


@pytest.mark.thorough
@pytest.mark.first(0, 2)
def test_everybody_who_counts_finds_it_within_the_budget(planned: tuple[dict[str, Any], Plan]) -> None:
    asked, plan = planned
    total = compose(plan.design, plan.queries, delta=plan.total_delta, voters=plan.voters)
    assert total.upper <= plan.total_epsilon
    assert total.upper <= plan.spent * (1 + 1e-12)
    assert plan.spent <= plan.total_epsilon
    assert max_queries(plan.design, plan.total_epsilon, plan.total_delta, voters=plan.voters) >= asked["queries"]


@pytest.mark.thorough
def test_the_budget_is_spent_or_not_needed(planned: tuple[dict[str, Any], Plan]) -> None:
    _, plan = planned
    assert plan.comparison is not None
    best = plan.comparison["planned"]
    without = plan.comparison["plain majority"]
    if without.within:
        assert best.expected_cost <= without.expected_cost * (1 + 1e-9)
    elif best.table.std() > 1e-6:  # else the answer does not depend on the votes
        assert plan.spent >= 0.99 * plan.total_epsilon


@pytest.mark.thorough
def test_what_a_comparison_says_of_totals_is_so(planned: tuple[dict[str, Any], Plan]) -> None:
    _, plan = planned
    assert plan.comparison is not None
    problem = plan.design.problem
    for row in plan.comparison:
        assert row.within == (row.total <= plan.total_epsilon)
        calibrated = "plain majority" not in row.name and row.name != "local noise only"
        assert row.within or not calibrated, row.name
        if plan.voters == "fresh" and plan.total_delta and calibrated and "votes" not in row.name:
            assert isinstance(problem, darrm.DecisionProblem)
            one = region(row.table, problem)
            if plan.total_delta < at_least_once(one.delta_infinity, plan.queries):
                continue
            found = of_region(one, problem.affected, plan.queries, plan.total_delta)
            # That of the row is on a coarser grid, that of the budget: from above, by less than five thousandths.
            assert found.lower * (1 - 1e-9) <= row.total <= max(found.upper, 1e-9) * 1.005, row.name


@pytest.mark.thorough
def test_no_mechanism_beside_it_is_better(planned: tuple[dict[str, Any], Plan]) -> None:
    _, plan = planned
    assert plan.comparison is not None
    best, *others = plan.comparison
    for row in others:
        if row.within and row.name != "plain majority of fixed voters":
            assert best.expected_cost <= row.expected_cost * 1.002, row.name


@pytest.mark.thorough
def test_a_rival_is_gauged_at_its_best_where_its_total_rises_and_falls() -> None:
    """One of 25 votes costs more than nine or eleven of them: the majority of one vote is that vote."""
    asked: Any = {**TABLE, "queries": 100, "epsilon": 1.0, "base_accuracy": 0.9}
    rows = darrm.plan(**asked).comparison
    assert rows is not None
    best, rival = rows["planned"], rows["tuned subsampling"]
    assert "9 or 11 of 25" in rival.setting
    assert best.wrong <= rival.wrong * 1.002 < 0.1134


@pytest.mark.thorough
def test_a_sample_may_be_mixed_with_a_coin() -> None:
    """No size of a sample is within this budget; seven votes and a coin are, and one vote and a coin err in .33."""
    asked: Any = {**TABLE, "epsilon": 1.0, "base_accuracy": 0.9}
    rows = darrm.plan(**asked).comparison
    assert rows is not None
    assert "7 of 25 votes with probability 0.9" in rows["tuned subsampling"].setting
    assert rows["planned"].wrong < rows["tuned subsampling"].wrong < 0.182


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize(
    ("epsilon", "wrong", "aggregator"),
    [(1.0, 0.208, 147), *thorough((0.5, 0.261, 55), (2.0, 0.189, 379), (5.0, 0.184, 1000))],
)
def test_the_table_of_both_budgets(epsilon: float, wrong: float, aggregator: float) -> None:
    plan = darrm.plan(**TABLE, epsilon=epsilon, compare=False)
    assert plan.wrong < wrong + 5e-4
    assert plan.spent <= 6
    assert plan.aggregator == pytest.approx(aggregator, rel=0.02)
    assert plan.wrong_without_privacy < plan.wrong_without_noise < plan.wrong


@pytest.mark.thorough
def test_calibrated_mechanisms_spend_what_there_is() -> None:
    asked = {name: value for name, value in SMALL.items() if name != "voters"}
    found = darrm.plan(**asked, voters="fresh").comparison
    assert found is not None
    calibrated = [row for row in found if row.setting and row.name not in ("local noise only", "plain majority")]
    assert len(calibrated) >= 5
    assert all(0.99 * 2 <= row.total <= 2 for row in calibrated)
    problem = darrm.DecisionProblem([VoterGroup(5, 1.0)], 1.0, max_affected=1)
    same = darrm.compare(problem, base_accuracy=0.85, queries=10, total_epsilon=2.0, total_delta=1e-5, voters="fresh")
    assert [(row.name, row.total, row.wrong) for row in same] == [(row.name, row.total, row.wrong) for row in found]


@pytest.mark.slow
def test_voters_that_fail_more_than_the_budget_allows_are_planned_for() -> None:
    """Totals are infinite, or hardly grow with the parameter, before the output noise hides the voters."""
    fixed: dict[str, Any] = {"voters": "fixed", "max_affected": 1, "accuracy": 0.85, "compare": False}
    plan = darrm.plan(K=3, epsilon=2.0, Delta=1e-6, queries=20, total_epsilon=4.0, total_delta=9e-7, **fixed)
    assert 0.9 * 4 <= plan.spent <= 4


@pytest.mark.thorough
def test_fixed_voters_that_the_budget_pays_for_need_no_noise() -> None:
    """Nor does any other mechanism, so none is listed; at a budget just below, all are."""
    problem = PROBLEMS["fixed above their price"]
    plan = darrm.plan(**problem)
    assert plan.comparison is not None
    assert plan.wrong == pytest.approx(plan.wrong_without_noise)
    assert [row.name for row in plan.comparison] == ["planned", "plain majority"]
    assert all(row.within for row in plan.comparison)
    below = darrm.plan(**problem | {"total_epsilon": plan.aggregator * (1 - 1e-6)})
    assert below.comparison is not None
    assert len(below.comparison) > 5


@pytest.mark.slow
def test_a_budget_that_is_the_price_of_fixed_voters_needs_no_noise() -> None:
    """Its delta is that of a voter, to the last bit; then any number of labels is paid for, and the plan says so."""
    voters = {"accuracy": [0.8], "max_affected": 1, "total_delta": 1e-5, "voters": "fixed", "compare": False}
    plan = darrm.plan([VoterGroup(3, 1.1, 1e-5)], queries=600, total_epsilon=1.1, **voters)
    assert plan.wrong == pytest.approx(plan.wrong_without_noise, abs=1e-12)
    assert any("it holds for any number of labels of their answers" in assumed for assumed in plan.assumptions)
    below = darrm.plan([VoterGroup(3, 1.1, 1e-5)], queries=2, total_epsilon=1.0, **voters)
    assert any("does not cover a second release" in assumed for assumed in below.assumptions)


def test_who_votes_may_be_left_out_where_no_voter_is_private() -> None:
    rest = {"accuracy": [0.8], "max_affected": 1, "queries": 1, "total_epsilon": 1, "total_delta": 0, "compare": False}
    assert darrm.plan([VoterGroup(3, math.inf)], **rest).voters == "fresh"
    with pytest.raises(InputError, match="voters must be"):
        darrm.plan([VoterGroup(3, math.inf), VoterGroup(2, 1.0)], **{**rest, "accuracy": [0.8, 0.8]})


@pytest.mark.thorough
def test_totals_agree_with_dp_accounting() -> None:
    """A privacy loss distribution of the whole profile of one label bounds what labels cost, loosely."""
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import common, privacy_loss_distribution  # type: ignore[import-untyped]

    plan = darrm.plan(**SMALL)
    assert plan.comparison is not None
    problem = plan.design.problem
    assert isinstance(problem, darrm.DecisionProblem)
    for name in ("planned", "Gaussian noisy max", "Bayes rule with constant gamma"):
        row = plan.comparison[name]
        epsilons = np.linspace(0, 1.2, 25)
        deltas = darrm.privacy_profile(row.table, problem, epsilons)
        best = math.inf
        for epsilon, delta in zip(epsilons, deltas, strict=True):
            if 10 * delta < 1e-5:
                parameters = common.DifferentialPrivacyParameters(float(epsilon), float(delta))
                one = privacy_loss_distribution.from_privacy_parameters(parameters, value_discretization_interval=1e-3)
                best = min(best, one.self_compose(10).get_epsilon_for_delta(1e-5))
        assert row.total <= best * (1 + 1e-3)


@pytest.mark.thorough
@pytest.mark.parametrize("voters", [*slow("fresh"), "fixed"])
def test_more_budget_and_less_private_votes_are_never_worse(voters: str) -> None:
    kind: dict[str, Any] = {"accuracy": [0.8], "voters": voters}
    asked = {name: value for name, value in SMALL.items() if name != "base_accuracy"} | kind | {"compare": False}
    wrong = [darrm.plan(**asked | {"total_epsilon": total}).wrong for total in (0.3, 1.2, 4.8)]
    assert all(after <= before * 1.005 for before, after in pairwise(wrong))
    assert wrong[-1] < 0.8 * wrong[0]
    if voters == "fresh":
        votes = [darrm.plan(**SMALL | {"epsilon": e, "compare": False}).wrong for e in (0.2, 1, math.inf)]
        assert all(after <= before * 1.005 for before, after in pairwise(votes))


@pytest.mark.thorough
def test_the_curve_ends_with_the_plan() -> None:
    plan = darrm.plan(**SMALL | {"epsilon": "auto", "at_most": 1.0, "compare": False})
    assert plan.vote_epsilon == plan.curve[-1].epsilon == 1.0
    assert plan.curve[-1].wrong == plan.wrong
    epsilons = [step.epsilon for step in plan.curve]
    assert epsilons == sorted(set(epsilons))
    assert all(step.public <= 2 for step in plan.curve)
    least = darrm.plan(**SMALL | {"epsilon": "auto", "aggregator_epsilon": 4.0, "compare": False})
    assert 3.99 < least.aggregator <= 4.0


@pytest.mark.slow
def test_ordered_plans_are_ordered() -> None:
    groups = [V(2, 3.0), V(2, 0.5)]
    asked: dict[str, Any] = settings("fresh", (8.0, 1e-4), 200, 2) | {
        "groups": groups,
        "base_accuracy": [0.9, 0.6],
        "compare": False,
    }
    plan = darrm.plan(**asked, ordered=True)
    assert isinstance(plan.design, darrm.DecisionDesign)
    assert plan.design.ordered
    assert not plan.design.reversals
    assert plan.wrong >= darrm.plan(**asked).wrong * (1 - 1e-3)


class TestStopped:
    """A plan that is stopped is proved all the same, or there is none."""

    @pytest.mark.thorough
    def test_an_interrupt_returns_the_best_so_far(self) -> None:
        def stop(progress: Progress) -> None:
            if progress.done:
                raise KeyboardInterrupt

        plan = darrm.plan(**SMALL, report=stop)
        assert not plan.complete
        assert plan.comparison is None
        assert compose(plan.design, 10, delta=1e-5, voters="fresh").upper <= 2

    def test_an_interrupt_before_any_design_is_an_interrupt(self) -> None:
        def stop(progress: Progress) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            darrm.plan(**SMALL, report=stop)

    def test_no_time_at_all_is_an_error(self) -> None:
        with pytest.raises(SolverError, match="time limit ended before any design"):
            darrm.plan(**SMALL, time_limit=1e-9)

    def test_long_totals_end_near_the_time_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With totals of ten seconds there is time for that of a ledger, and no total begins after the limit."""
        now = [0.0]

        def long(action: Any) -> Any:
            def run(*arguments: Any) -> Any:
                for _ in range(100):
                    now[0] += 0.1
                    check_time()
                return action(*arguments)

            return run

        monkeypatch.setattr(time, "monotonic", lambda: now[0])
        monkeypatch.setattr(Budget, "_composed", long(Budget._composed))
        monkeypatch.setattr("darrm.planning.planner.pays", long(pays))
        plan = darrm.plan(**SMALL, time_limit=60.0)
        assert not plan.complete
        assert plan.spent <= 2
        assert now[0] <= 61

    @pytest.mark.thorough
    def test_time_that_ends_after_the_first_design(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made: list[float] = []
        solve = designs.solve  # type: ignore[attr-defined]  # to count

        def counted(*arguments: Any, **options: Any) -> Any:
            made.append(1.0)
            return solve(*arguments, **options)

        monkeypatch.setattr(designs, "solve", counted)
        monkeypatch.setattr(time, "monotonic", lambda: 0.0 if len(made) < 2 else 100.0)
        plan = darrm.plan(**SMALL, time_limit=50.0)
        assert not plan.complete
        assert compose(plan.design, 10, delta=1e-5, voters="fresh").upper <= 2

    @pytest.mark.thorough
    @pytest.mark.parametrize(
        "asked",
        [
            {"groups": [V(5, math.inf)], "classes": 3, "queries": 10, "total_epsilon": 3},
            {"groups": [V(5, 1.0), V(4, 0.3)], "queries": 10, "voters": "fresh", "total_epsilon": 2},
            {"groups": [V(5, 1.0)], "queries": 1, "voters": "fresh", "total_epsilon": 0.9, "time_limit": 1000.0},
        ],
        ids=["several classes", "two answers", "one label"],
    )
    def test_there_is_noise_at_the_counts_before_any_optimum(
        self, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def endless(*_: object, **__: object) -> None:
            raise OutOfTime

        monkeypatch.setattr(_Search, "optima", endless)
        monkeypatch.setattr(designs, "solve", endless)
        monkeypatch.setattr(designs, "one_label", endless)
        plan = darrm.plan(**asked, accuracy=0.7, max_affected=1, total_delta=1e-5)
        assert not plan.complete
        assert plan.wrong < 0.6
        assert compose(plan.design, asked["queries"], delta=1e-5, voters="fresh").upper <= asked["total_epsilon"]
        assert "The search was stopped early" in remarks(plan)[0]

    def test_the_first_noise_within_the_budget_is_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The time may end before the first mechanism has all it can have."""
        spend = designs.spend  # type: ignore[attr-defined]  # to stop it

        def until_the_first(*arguments: Any, found: Any = lambda spent: None, **options: Any) -> Any:
            def then_no_time(spent: Any) -> None:
                found(spent)
                raise OutOfTime

            return spend(*arguments, found=then_no_time, **options)

        monkeypatch.setattr(designs, "spend", until_the_first)
        plan = darrm.plan(**SMALL)
        assert not plan.complete
        assert plan.wrong < 0.5
        assert compose(plan.design, 10, delta=1e-5, voters="fresh").upper <= 2

    def test_noise_at_counts_is_made_no_more_when_time_is_over(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made: list[float] = []

        def table(parameter: float) -> Array:
            made.append(parameter)
            return np.full(6, 0.5) if parameter < 1 else np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])

        slow = Family(table, 0.1, 2.0, repr)
        one = Baseline("slow", lambda problem, objective: slow, "a test")
        monkeypatch.setattr(designs, "tried", lambda problem, objective: [one])
        setting = Setting((V(5, 1.0),), 1, "replace-one", 2, darrm.objectives.truth([0.85]))
        with ends_at(-math.inf), pytest.raises(OutOfTime):
            _Search(setting, Budget(10, 2.0, 1e-5, "fresh"), list[Any]().append).noisy_counts()
        assert not made


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"voters": None}, "voters must be"),
        ({"max_affected": None}, "max_affected must be given"),
        ({"max_affected": 6}, "max_affected must be"),
        ({"queries": 0}, "queries must be"),
        ({"total_epsilon": math.nan}, "total_epsilon must be"),
        ({"total_epsilon": 0.0}, "total_epsilon must be above 0"),
        ({"total_delta": 1.0}, "total_delta must be"),
        ({"K": 0}, "K must be"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"epsilon": "much"}, "epsilon must be"),
        ({"epsilon": "auto"}, "needs an upper end"),
        ({"epsilon": "auto", "at_most": math.nan}, "at_most must be"),
        ({"epsilon": "auto", "aggregator_epsilon": -1.0}, "aggregator_epsilon must be"),
        ({"epsilon": "auto", "base_accuracy": None, "accuracy": [0.8], "at_most": 1.0}, "needs base_accuracy"),
        ({"at_most": 1.0}, "are for epsilon"),
        ({"base_accuracy": 1.5}, "base_accuracy must be"),
        ({"base_accuracy": [0.8, 0.9]}, "base_accuracy must be"),
        ({"base_accuracy": np.array([1.0, 2.0])}, "base_accuracy must be"),
        ({"base_accuracy": None}, "The accuracy of the voters must be one of"),
        ({"base_accuracy": None, "accuracy": [0.8, 0.7]}, "accuracy must be"),
        ({"base_accuracy": None, "accuracy": np.array([0.8, 0.7])}, "accuracy must be"),
        ({"base_accuracy": None, "accuracy": math.nan}, "accuracy"),
        ({"base_accuracy": None, "accuracy": [[1.0], [1.0, 2.0]]}, "accuracy must be"),
        ({"base_accuracy": None, "accuracy": [[1.0, 2.0]]}, "accuracy must be"),
        ({"base_accuracy": None, "accuracy": "much"}, "accuracy must be"),
        ({"ordered": math.nan}, "ordered must be True or False"),
        ({"accuracy": [0.8]}, "The accuracy of the voters must be one of"),
        ({"voters": "fixed"}, "base_accuracy is for fresh voters"),
        (  # first, for to make the voters fresh would undo the accuracy in place of base_accuracy
            {
                **{"K": None, "epsilon": None, "voters": "fixed"},
                "groups": [darrm.VoterGroup(5, 0.5, randomizer="randomized response", colluders=0)],
            },
            "A known randomizer is for fresh voters",
        ),
        ({"prior": "uniform"}, "A prior of votes"),
        (
            {"K": None, "epsilon": None, "base_accuracy": None, "prior": "uniform", "groups": [V(3, 1.0), V(2, 1.0)]},
            "A prior of votes",
        ),
        ({"prior": [0.5, 0.6]}, "prior"),
        ({"cost": [[0, -1], [1, 0]]}, "cost"),
        ({"time_limit": -1.0}, "time_limit must be"),
        ({"groups": [(3, 1.0)]}, "either by groups or by K"),
        ({"K": None}, "either by groups or by K"),
        ({"K": None, "epsilon": None, "groups": []}, "groups must be"),
        ({"K": None, "epsilon": None, "groups": [3]}, "A group must be"),
        ({"K": None, "epsilon": None, "groups": [(3, 1.0, 0.0, 1, None, None, None, 1)]}, "A group must be"),
        ({"K": None, "epsilon": None, "Delta": 1e-7, "groups": [(3, 1.0)]}, "epsilon and Delta go with K"),
        ({"Delta": 1.0}, "delta must be"),
    ],
)
def test_what_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as refused:
        darrm.plan(**SMALL | change)
    assert words in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.thorough
def test_pages_escape_names() -> None:
    asked = {name: value for name, value in SMALL.items() if name not in ("K", "epsilon")}
    plan = darrm.plan([(5, 1.0)], **asked, adjacency="<script>alert(1)</script>", classes=["<b>no", "yes&"])
    shown = notebook_html(plan)
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert plan.comparison is not None
    named = notebook_html(plan.comparison)
    assert "<b>no" not in shown + named
    assert "permute-and-flip" in named


@pytest.mark.thorough
def test_json_of_the_command_is_strict(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--group", "4:inf", "--accuracy", "0.8", "--max-affected", "1", "--queries", "5", "--voters", "fresh"]
    options += ["--total-epsilon", "1", "--total-delta", "1e-5", "--json"]
    for command in ("plan",):
        assert main([command, *options]) == 0
        text = capsys.readouterr().out

        def refuse(name: str) -> None:
            raise AssertionError(name)

        got = json.loads(text, parse_constant=refuse)
        rows = got["comparison"] if command == "plan" else got["mechanisms"]
        assert rows[0]["name"] == "planned"
        assert rows[0]["total"] <= 1


@pytest.mark.thorough
@pytest.mark.parametrize("case", [1, *slow(4)])
def test_a_wide_search_finds_little_more(case: int) -> None:
    script = load("plan")
    asked, setting, budget = list(script.small(5))[case]
    assert darrm.plan(**asked).wrong <= 1.01 * script.wide_search(setting, budget)


@pytest.mark.thorough
def test_labels_are_as_often_wrong_as_planned() -> None:
    script = load("plan")
    plan = darrm.plan(**SMALL | {"compare": False})
    accuracy = darrm.objectives.randomized_response_accuracy(0.85, 1.0)
    share, deviation = script.simulated(plan, 5, accuracy, 50_000, 3)
    assert abs(share - plan.wrong) < 4 * deviation


@pytest.mark.slow
def test_a_curve_is_over_the_epsilon_that_is_looked_for() -> None:
    """Not over that of groups which have one."""
    plan = darrm.plan(
        [(5, 2.0), (3, "auto")], base_accuracy=0.9, at_most=1.0, compare=False, **settings("fresh", (2.0, 1e-5), 10, 1)
    )
    assert [step.epsilon for step in plan.curve][-2:] == [0.5, 1.0]
    assert plan.vote_epsilon == 2.0


def test_votes_that_tell_too_much_by_themselves_leave_nothing_to_look_for() -> None:
    with pytest.raises(
        darrm.BudgetError, match="No epsilon of a vote keeps the epsilon of all votes together within 1"
    ):
        darrm.plan(
            [(5, 2.0), (3, "auto")], base_accuracy=0.9, aggregator_epsilon=1.0, **settings("fresh", (2.0, 1e-5), 10, 1)
        )


@pytest.mark.thorough
def test_steps_are_told() -> None:
    """What is done next, how much is done, and of how much."""
    told = list[Progress]()
    darrm.plan(**SMALL | {"epsilon": "auto", "at_most": 1.0}, report=told.append)
    assert [step.done for step in told] == list(range(len(told)))
    assert {step.steps for step in told} == {len(told)}
    doing = [step.doing for step in told]
    assert doing[:2] == ["searching for the best noise", "comparing at the same total"]
    assert len(doing) > 2
    assert all(step.startswith("votes of epsilon ") for step in doing[2:])


def test_that_no_noise_is_needed_is_told_before_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate of a large table takes minutes, and the time limit may end it."""

    def late(*arguments: object) -> None:
        raise OutOfTime

    monkeypatch.setattr("darrm.planning.planner.planned", late)
    told, of_votes = list[Progress](), "the budget covers all of them, so release the class with most votes of each row"
    asked = {"accuracy": 0.6, "max_affected": 1, "queries": 100, "total_delta": 1e-3, "voters": "fixed"}
    for total, noiseless in ((10.0, True), (7.0, False)):
        with pytest.raises(darrm.SolverError) as refused:
            darrm.plan([(50, 8.0, 1e-5)], classes=10, total_epsilon=total, report=told.append, **asked)  # type: ignore[arg-type]
        assert (of_votes in str(refused.value)) == noiseless
    assert [step.doing for step in told] == ["certifying votes that need no noise", "searching for the best noise"]


@pytest.mark.thorough
def test_a_plan_by_a_prior_is_that_of_the_accountant() -> None:
    asked = {name: value for name, value in SMALL.items() if name != "base_accuracy"}
    plan = darrm.plan(**asked, prior="uniform")
    design = darrm.accounting.plan(
        **{name: value for name, value in asked.items() if name not in ("K", "epsilon")}, K=5, epsilon=1.0
    )
    assert isinstance(plan.design, darrm.Design)
    assert plan.design.gamma.tolist() == design.gamma.tolist()
    assert plan.vote_epsilon == 1.0
    assert plan.design.problem.K == 5
    assert compose(plan.design, 10, delta=1e-5, voters="fresh").upper <= plan.spent <= 2.0


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("K", "epsilon", "Delta", "reached", "queries", "total", "before"),
    [
        (5, 0.5, 0.0, 3, 20, 8.0, 0.179352),
        *thorough((5, 8.0, 0.0, 1, 20, 8.0, 0.276592)),
        *slow((11, 0.5, 1e-5, 11, 10, 4.0, 0.267818)),
    ],
)
def test_a_plan_by_a_prior_is_better_than_all_else(
    K: int, epsilon: float, Delta: float, reached: int, queries: int, total: float, before: float
) -> None:
    """One search for priors and truths: better than all mechanisms, and by percents than what priors had before."""
    delta = 1e-3 if Delta else 1e-5
    budget: dict[str, Any] = {"queries": queries, "total_epsilon": total, "total_delta": delta, "voters": "fresh"}
    plan = darrm.plan(K=K, epsilon=epsilon, Delta=Delta, max_affected=reached, prior="uniform", **budget)
    assert plan.disagreement < 0.98 * before
    assert compose(plan.design, queries, delta=delta, voters="fresh").upper <= total
    assert plan.comparison is not None
    planned, *others = plan.comparison
    assert planned.disagreement == plan.disagreement == plan.design.disagreement
    assert len(others) >= 6
    for other in others:
        of_others = other.name == "plain majority of fixed voters"
        assert other.disagreement > plan.disagreement or not other.within or of_others
        assert math.isnan(other.wrong)
    assert darrm.accounting.plan(K=K, epsilon=epsilon, Delta=Delta, max_affected=reached, **budget) == plan.design


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("K", "epsilon", "Delta", "queries", "total", "delta", "before"),
    [*slow((7, 0.2, 1e-4, 30, 4.0, 0.1, 0.0480573)), (11, 0.0892, 1e-4, 100, 5.0, 0.0297, 0.0449320)],
)
def test_voters_that_fail_are_planned_for_without_a_share_of_delta_too(
    K: int, epsilon: float, Delta: float, queries: int, total: float, delta: float, before: float
) -> None:
    """With an equal share for their failures alone labels differ from the majority by some percents more often."""
    budget: dict[str, Any] = {"queries": queries, "total_epsilon": total, "total_delta": delta, "voters": "fresh"}
    design = darrm.accounting.plan(K=K, epsilon=epsilon, Delta=Delta, **budget)
    assert design.disagreement < 1.001 * before
    assert design.problem.delta == pytest.approx(1 - (1 - Delta) ** K, rel=1e-9)
    assert compose(design, queries, delta=delta, voters="fresh").upper <= total


@pytest.mark.thorough
def test_voters_that_fail_can_be_said_in_three_ways() -> None:
    asked = SMALL | {"compare": False, "base_accuracy": None, "accuracy": 0.8}
    one = darrm.plan(**asked | {"Delta": 1e-7})
    several = asked | {"K": None, "epsilon": None}
    assert darrm.plan(**several | {"groups": [(5, 1.0, 1e-7)]}).design == one.design
    assert darrm.plan(**several | {"groups": [V(5, 1.0, 1e-7)]}).design == one.design
    assert darrm.plan(**asked).design != one.design


def test_gaussian_optima_are_looked_for_where_renyi_ones_are_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(_Search, "_renyi", lambda *_: True)  # its program fits, but nothing is within
    monkeypatch.setattr(_Search, "noisy_counts", lambda _, **__: None)
    monkeypatch.setattr(_Search, "_raise", lambda self, make, *_: asked.append(make.__name__))
    with pytest.raises(darrm.errors.BudgetError):
        darrm.plan(**SMALL, compare=False)
    assert "gaussian" in asked


@pytest.mark.thorough
@pytest.mark.parametrize(("K", "epsilon", "queries"), [(5, 0.3, 1000), (11, 1.0, 100), (25, 2.0, 100)])
def test_gaussian_optima_that_are_left_out_would_gain_less_than_is_said(
    K: int, epsilon: float, queries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = darrm.VoterGroup(K, epsilon=epsilon, randomizer="randomized response", colluders=1)
    asked = {"queries": queries, "total_epsilon": 6.0, "total_delta": 1e-6, "voters": "fresh", "max_affected": 1}
    own = darrm.plan([group], **asked, base_accuracy=0.75, compare=False)
    renyi = _Search._renyi
    tried: list[bool] = []

    def renyi_alone(self: _Search, *arguments: Any) -> bool:
        tried.append(renyi(self, *arguments))
        return False  # so that Gaussian optima are tried too

    monkeypatch.setattr(_Search, "_renyi", renyi_alone)
    both = darrm.plan([group], **asked, base_accuracy=0.75, compare=False)
    assert all(tried)
    assert tried
    assert both.design.expected_cost <= own.design.expected_cost * (1 + 1e-12)
    assert own.design.expected_cost <= both.design.expected_cost * (1 + 1e-4)


@pytest.mark.slow
def test_a_larger_budget_has_a_plan_too_where_no_grid_of_composition_reaches_it() -> None:
    """Grids end at 690 nats; no design was found for 700, where that for 600 is within it."""
    asked: dict[str, Any] = {"K": 3, "epsilon": 3.0, "base_accuracy": 0.9, "max_affected": 1, "voters": "fresh"}
    asked |= {"total_delta": 1e-6, "queries": 400, "compare": False}
    small, large = (darrm.plan(**asked, total_epsilon=total).design for total in (600, 700))
    assert large.expected_cost < small.expected_cost
    covered = [max_queries(small, total, 1e-6, voters="fresh") for total in (600, 669, 690, 700)]
    assert covered == sorted(covered)
    assert covered[0] >= 400

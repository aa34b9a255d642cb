"""What a plan says in words is true of the voters it was made for."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import slow, thorough

import darrm
from darrm import VoterGroup
from darrm.accounting.search import pays
from darrm.accounting.theorems import optimal
from darrm.baselines.entries import Comparison, Entry
from darrm.planning import planner
from darrm.problem.limits import of_neighbours
from darrm.show import comparison_words, plan_words, wording
from darrm.show.inline import notebook_html
from darrm.show.plots_plan import plot_comparison_at_one_total

TOTAL = {"queries": 5, "total_epsilon": 2.0, "total_delta": 1e-4}


@pytest.mark.thorough
def test_caps_of_groups_and_the_privacy_of_votes_are_assumed_in_words() -> None:
    """The total of this plan does not hold if a record reaches two voters of the first group."""
    groups = [VoterGroup(4, 1.0, max_affected=1), VoterGroup(7, 0.2)]
    plan = darrm.plan(groups, base_accuracy=0.9, max_affected=3, voters="fresh", compare=False, **TOTAL)
    assert "affects 3 of the 11 voters at most, 1 of group 1 at most." in plan.assumptions[0]
    assert "(1, 0)-DP in group 1 and (0.2, 0)-DP in group 2 by its own randomness alone" in plan.assumptions[1]


def test_fixed_voters_are_private_with_all_their_answers() -> None:
    plan = darrm.plan(K=5, epsilon=2.0, accuracy=[0.8], max_affected=1, voters="fixed", compare=False, **TOTAL)
    assert "from voters of epsilon 2 each, over all answers of the voter together." in plan_words.aggregator(plan)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("group", "said"),
    [
        (VoterGroup(5, 1.0, 1e-3), "at delta 0.0001 no finite epsilon is certified for all of them together"),
        (VoterGroup(5, math.inf), "they are not private by themselves"),
    ],
)
def test_why_the_aggregator_must_be_trusted(group: VoterGroup, said: str) -> None:
    plan = darrm.plan([group], accuracy=[0.9], max_affected=1, voters="fresh", compare=False, **TOTAL)
    assert math.isinf(plan.aggregator)
    assert said in plan_words.aggregator(plan)


def test_the_plain_majority_of_a_prior_says_what_one_label_costs() -> None:
    total = {"queries": 5, "total_epsilon": 20.0, "total_delta": 1e-6}
    plan = darrm.plan(K=25, epsilon=1.0, max_affected=1, prior="uniform", voters="fresh", **total)
    assert plan.disagreement == pytest.approx(0, abs=1e-9)
    assert plan.design.problem.release_epsilon == pytest.approx(1.0, rel=1e-6)
    assert any("Pass --accuracy" in remark for remark in plan_words.remarks(plan))


@pytest.mark.thorough
def test_rare_labels_that_are_right_are_no_coin_flips() -> None:
    plan = darrm.plan(
        K=5, epsilon=0.1, base_accuracy=0.9, prior=[0.02, 0.98], max_affected=1, voters="fresh", compare=False, **TOTAL
    )
    assert plan.wrong < 0.03 < 0.4 < plan.disagreement
    assert not any("coin flips" in remark for remark in plan_words.remarks(plan))


@pytest.mark.thorough
def test_costs_are_compared_where_they_count() -> None:
    objective = darrm.objectives.truth(accuracy=[0.7], cost=[[0, 5], [1, 0]])
    plan = darrm.plan(K=5, epsilon=1.0, objective=objective, max_affected=1, voters="fresh", **TOTAL)
    assert plan.comparison is not None
    assert comparison_words.mechanism_heads(plan.comparison)[2] == "expected cost"
    assert comparison_words.mechanism_rows(plan.comparison)[0][2] == f"{plan.comparison['planned'].expected_cost:.4f}"
    assert any("minimises the expected cost" in remark for remark in plan_words.remarks(plan))


@pytest.mark.thorough
def test_a_table_of_costs_says_nothing_of_wrong_labels() -> None:
    costs = np.stack([np.linspace(0, 1, 6), np.linspace(1, 0, 6)], axis=-1) / 6
    plan = darrm.plan(
        K=5, epsilon=1.0, objective=darrm.objectives.costs(costs), max_affected=1, voters="fresh", **TOTAL
    )
    assert plan.comparison is not None
    assert "nan" not in notebook_html(plan)
    assert not any("Pass --accuracy" in remark for remark in plan_words.remarks(plan))
    assert "not known" in comparison_words.mechanism_rows(plan.comparison)[0]
    assert plot_comparison_at_one_total(plan.comparison).get_xlabel() == "expected cost of a label"


@pytest.mark.thorough
def test_a_ledger_pays_for_a_plan_that_was_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Designs are found on a grid of the search; only one that the ledger's grid pays for is kept."""
    refused: list[darrm.DecisionDesign] = []

    def grudging(design: darrm.DecisionDesign, budget: object) -> bool:
        refused.append(design)
        return len(refused) > 1 and pays(design, budget)  # type: ignore[arg-type]

    def stopped(setting: object, budget: object, found: object) -> darrm.DecisionDesign:
        made = darrm.plan(K=3, epsilon=1.0, base_accuracy=0.9, max_affected=1, voters="fresh", compare=False, **TOTAL)
        found(made.design)  # type: ignore[operator]
        found(made.design)  # type: ignore[operator]
        raise planner.OutOfTime

    real = planner.planned
    monkeypatch.setattr(planner, "pays", grudging)

    def first_stopped(*arguments: object) -> darrm.DecisionDesign:
        monkeypatch.setattr(planner, "planned", real)
        return stopped(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(planner, "planned", first_stopped)
    plan = darrm.plan(K=3, epsilon=1.0, base_accuracy=0.9, max_affected=1, voters="fresh", compare=False, **TOTAL)
    assert len(refused) == 2
    assert not plan.complete


@pytest.mark.slow
def test_a_delta_that_voters_exceed_is_named() -> None:
    """Fixed voters whose deltas combine to more than the total delta need noise, however large epsilon is."""
    voters = {"accuracy": [0.8], "max_affected": 2, "total_epsilon": 4.0, "voters": "fixed", "compare": False}
    group = [darrm.VoterGroup(3, 1.0, 1e-5)]
    exceeded = "combine to 2e-05, more than the total delta"
    [remark] = plan_words.remarks(darrm.plan(group, queries=2, total_delta=1e-6, **voters))
    assert exceeded in remark
    assert (
        "A total delta of 2e-05 covers the cost of the voters themselves: with all their answers they are (2, 2e-05)-DP"
        in remark
    )
    paid = darrm.plan(group, queries=5, total_delta=2e-5, **voters)
    assert paid.wrong == pytest.approx(paid.wrong_without_noise, abs=1e-9)
    small = darrm.plan(group, queries=1, total_delta=1e-6, **{**voters, "total_epsilon": 1.5})
    for plan in (paid, small):  # the second cannot pay for them with any delta
        assert not any("combine to" in one for one in plan_words.remarks(plan))


@pytest.mark.thorough
@pytest.mark.first(0, 1)
@pytest.mark.parametrize(
    ("total", "pays"),
    [
        ((1.0, 1e-7), "A privacy budget of (2, 2e-07) covers the cost of the voters themselves"),
        *slow(((1.0, 1e-6), "A total epsilon of ")),
        ((2.0, 1e-7), "A total delta of 2e-07 covers"), *slow(((0.9, 1e-7), "")), ((2.0, 2e-7), ""),
    ],
)  # fmt: skip
def test_what_pays_for_fixed_voters_is_named_where_it_is_near(total: tuple[float, float], pays: str) -> None:
    plan = darrm.plan(
        [VoterGroup(5, 1.0, 1e-7)], accuracy=[0.8], max_affected=2, queries=20, total_epsilon=total[0],
        total_delta=total[1], voters="fixed", compare=False,
    )  # fmt: skip
    said = [one for one in plan_words.remarks(plan) if "covers the cost of the voters themselves" in one]
    assert [pays in one for one in said] == ([True] if pays else [])


@pytest.mark.parametrize("total", [*thorough(2.0), *slow(0.3)])
def test_beside_voters_without_privacy_the_private_ones_alone_are_named(total: float) -> None:
    """Where any is not private, the output noise alone bounds the total of fixed voters."""
    private = [VoterGroup(2, 1.0, 1e-7), VoterGroup(2, 0.5, 1e-7)]
    voters = {"max_affected": 1, "total_delta": 1e-6, "voters": "fixed", "compare": False}
    all_three = [*private, VoterGroup(1, math.inf)]
    plan = darrm.plan(all_three, accuracy=[0.8, 0.7, 0.9], queries=50, total_epsilon=total, **voters)
    [remark] = [one for one in plan_words.remarks(plan) if "group 3" in one]
    assert "4 other voters alone" in remark
    alone = darrm.plan(private, accuracy=[0.8, 0.7], queries=50, total_epsilon=total, **voters)
    assert ("needs no output noise" in remark) == (alone.spent == alone.aggregator) == (total == 2)
    assert ("plan again without group 3" in remark) == (total == 2 and alone.wrong < plan.wrong)
    assert total < 2 or f"({wording.at_least(alone.aggregator)}, 1e-06)" in remark
    assert total < 2 or f"and its label error rate is {alone.wrong_without_noise:.4f}" in remark
    assert not any("group" in one for one in plan_words.remarks(alone))
    turned = darrm.plan(all_three[::-1], accuracy=[0.9, 0.7, 0.8], queries=50, total_epsilon=total, **voters)
    assert remark.replace("group 3", "group 1") in plan_words.remarks(turned)


@pytest.mark.thorough
def test_the_private_voters_alone_are_called_better_only_if_they_are() -> None:
    groups = [VoterGroup(3, 0.3), VoterGroup(1, math.inf)]
    total = {"max_affected": 1, "queries": 5, "total_epsilon": 8, "total_delta": 1e-6, "voters": "fixed"}
    plan = darrm.plan(groups, accuracy=[0.6, 0.999], compare=False, **total)
    assert plan.wrong < darrm.plan(groups[:1], accuracy=[0.6], compare=False, **total).wrong
    [remark] = [one for one in plan_words.remarks(plan) if "group 2" in one]
    assert "needs no output noise" in remark
    assert "plan again" not in remark


def test_what_is_asked_of_neighbours_depends_on_every_delta() -> None:
    assert "DP-SGD" in of_neighbours("replace-one", [0.0, 1e-7])
    assert of_neighbours("replace-one", [0.0, 0.0]).startswith("If their epsilon")
    assert of_neighbours("replace-one", []) == of_neighbours("add-remove", [1e-7]) == ""


def test_groups_without_privacy_are_named() -> None:
    groups = [darrm.VoterGroup(2, 1.0, 1e-5), darrm.VoterGroup(1, math.inf)]
    plan = darrm.plan(
        groups, accuracy=[0.8, 0.8], max_affected=1, queries=1, total_epsilon=2, total_delta=1e-5, voters="fixed",
        compare=False,
    )  # fmt: skip
    [said] = [one for one in plan.assumptions if one.startswith("Voters are fixed")]
    assert "a voter together are (1, 1e-05)-DP in group 1. Accountants of DP-SGD mostly speak of a record added" in said
    assert said.endswith("No privacy is assumed of the voters in group 2.")


@pytest.mark.parametrize(
    ("delta", "adjacency", "voters", "told"),
    [
        (1e-7, "replace-one", "fixed", "Accountants of DP-SGD"), (1e-7, "add-remove", "fixed", ""),
        (0.0, "replace-one", "fixed", "If their epsilon is for"), (1e-7, "replace-one", "fresh", ""),
    ],
)  # fmt: skip
def test_fixed_voters_are_asked_for_their_neighbours(delta: float, adjacency: str, voters: str, told: str) -> None:
    plan = darrm.plan(
        K=3, epsilon=1.0, Delta=delta, accuracy=0.9, max_affected=1, queries=2, total_epsilon=1.5, total_delta=1e-6,
        adjacency=adjacency, voters=voters, compare=False,
    )  # fmt: skip
    assert any("with adjacency add-remove" in one for one in plan.assumptions) is bool(told)
    assert any(told in one for one in plan.assumptions)


@pytest.mark.parametrize(
    ("voters", "epsilon", "warned"), [("fixed", 2.0, True), ("fixed", math.inf, False), ("fresh", 2.0, False)]
)
def test_plans_of_the_same_fixed_voters_are_not_to_be_added(voters: str, epsilon: float, warned: bool) -> None:
    """Two such plans for three voters of epsilon 2 lose 4.12 together, and each says 2 (docs/theory.md)."""
    plan = darrm.plan(
        [VoterGroup(3, epsilon)], accuracy=[0.6], max_affected=3, queries=1, total_epsilon=2, total_delta=0,
        voters=voters, compare=False,
    )  # fmt: skip
    assert any("It must not be added" in one for one in plan.assumptions) is warned
    assert plan.spent <= 2


@pytest.mark.thorough
def test_a_parameter_in_print_costs_no_more_than_the_total_beside_it() -> None:
    """Rounded to the nearest, .0856 a vote cost 6.0008 where 6 stood beside it."""
    epsilon, total = 0.5, 6.0
    plan = darrm.plan(
        K=3, epsilon=epsilon, base_accuracy=0.85, max_affected=1, queries=200, total_epsilon=total, total_delta=1e-6,
        voters="fresh",
    )  # fmt: skip
    row = plan.comparison["local noise only"]
    printed = float(row.setting.removeprefix("epsilon ").removesuffix(" a vote"))
    assert 0.98 * total < optimal(printed, 0.0, 200, 1e-6).epsilon <= total


@pytest.mark.parametrize(("epsilon", "delta", "said"), [(1.0, 1e-6, 0), (80.0, 1e-6, 1), (80.0, 0.1, 2)])
def test_an_epsilon_in_percent_and_a_likely_delta_are_pointed_out(epsilon: float, delta: float, said: int) -> None:
    plan = darrm.plan(
        K=3, epsilon=epsilon, base_accuracy=0.9, max_affected=1, queries=1, total_epsilon=1, total_delta=delta,
        voters="fresh", compare=False,
    )  # fmt: skip
    remarks = " ".join(plan_words.remarks(plan))
    assert ("in nats" in remarks) + ("reveals a record" in remarks) == said


def test_labels_of_local_noise_by_a_known_randomizer_cost_less_than_their_votes() -> None:
    voters = VoterGroup(3, 1.0, randomizer="randomized response", colluders=0)
    plan = darrm.plan(
        [voters], base_accuracy=[0.8], max_affected=1, queries=5, total_epsilon=1, total_delta=1e-5, voters="fresh"
    )
    row = plan.comparison["local noise only"]
    assert row.total < row.fallback <= row.aggregator <= 1
    [cells] = [cells for cells in comparison_words.mechanism_rows(plan.comparison) if cells[0] == row.called]
    assert [cell.endswith(" *") for cell in cells[-3:]] == [False, False, True]


@pytest.mark.thorough
def test_a_total_delta_is_printed_in_full() -> None:
    plan = darrm.plan(
        K=3, epsilon=1.0, base_accuracy=0.9, max_affected=1, queries=2, total_epsilon=1.5, total_delta=1.2345612e-6,
        voters="fresh", compare=False,
    )  # fmt: skip
    assert plan_words.together(plan).endswith(
        "1.2345612e-06)-DP (certified), within the privacy budget (1.5, 1.2345612e-06)."
    )


@pytest.mark.parametrize(
    ("queries", "again"), [(4, "it holds for a second release"), (5, "does not cover a second release")]
)
def test_a_plan_for_fresh_voters_pays_for_its_labels_alone(queries: int, again: str) -> None:
    """The budget would pay for these voters if they were fixed. Of fresh ones it pays for four votes each, not five."""
    plan = darrm.plan(
        K=3, epsilon=0.5, base_accuracy=0.9, max_affected=1, queries=queries, total_epsilon=2, total_delta=0,
        voters="fresh", compare=False,
    )  # fmt: skip
    assert not any("any number of labels" in one for one in plan.assumptions)
    assert sum("second release" in one for one in plan.assumptions) == 1
    assert any(again in one for one in plan.assumptions)


@pytest.mark.thorough
def test_a_second_label_of_non_private_voters_counts_as_one_more() -> None:
    """Only the output noise protects, and it is new for each label: `release` says that such labels compose."""
    group = darrm.VoterGroup(3, epsilon=math.inf)
    plan = darrm.plan(
        [group], accuracy=0.8, max_affected=1, queries=2, total_epsilon=2, total_delta=1e-5, compare=False
    )
    assert "A second label of the same votes counts as one label more." in plan.assumptions
    assert not any("second release" in one for one in plan.assumptions)


def test_a_total_below_the_price_of_the_votes_covers_no_second_release() -> None:
    """Two voters of .5: one label costs .5, two of the same votes cost .664, and the votes 1, which is the budget."""
    plan = darrm.plan(
        K=2, epsilon=0.5, base_accuracy=0.9, max_affected=2, queries=1, total_epsilon=1, total_delta=0, voters="fresh",
        compare=False,
    )  # fmt: skip
    assert plan.spent < 0.51
    votes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    right = 1 / (1 + math.exp(-0.5))
    chances = np.where(votes[:, None] == votes, right, 1 - right).prod(axis=2)  # of the votes, for each truth
    one = plan.design.table[votes.sum(axis=1)]
    for times, cost in ((1, 0.5), (2, 0.664)):
        said = np.array([chances @ (one**ones * (1 - one) ** (times - ones)) for ones in range(times + 1)])
        assert np.log(said.max(axis=1) / said.min(axis=1)).max() == pytest.approx(cost, abs=1e-3)
    (again,) = (one for one in plan.assumptions if "second release" in one)
    assert "the total does not cover a second release of the same votes. The budget covers that" in again


@pytest.mark.parametrize("voters", ["fresh", "fixed"])
def test_a_total_that_is_the_price_but_for_rounding_is_the_price(voters: str) -> None:
    """One label of five such voters costs .9999999999999998, and what they say 1."""
    right = "base_accuracy" if voters == "fresh" else "accuracy"
    plan = darrm.plan(
        K=5, epsilon=0.5, max_affected=2, queries=1, total_epsilon=2, total_delta=0, voters=voters, compare=False,
        **{right: 0.8},
    )  # fmt: skip
    assert plan.spent == plan.aggregator == 1.0
    assert sum(one.startswith("The total covers the") for one in plan.assumptions) == 1


@pytest.mark.slow
def test_a_budget_a_hair_below_the_price_of_the_voters_says_the_price() -> None:
    asked: dict[str, Any] = {"K": 5, "epsilon": 0.25, "accuracy": 0.8, "max_affected": 1, "queries": 10}
    asked |= {"total_delta": 1e-6, "voters": "fixed", "compare": False}
    said = (
        "A total epsilon of 0.249999 covers the cost of the voters themselves, with all their answers: then their plain"
    )
    assert any(remark.startswith(said) for remark in plan_words.remarks(darrm.plan(**asked, total_epsilon=0.24)))
    for total in (0.1, 0.25):
        assert not any(
            "the cost of the voters" in remark
            for remark in plan_words.remarks(darrm.plan(**asked, total_epsilon=total))
        )


def _known_comparison(*figures: tuple[float, float]) -> Comparison:
    rows = [
        Entry(f"mechanism {at}", "", np.zeros(2), 0.1, 0.1, total=total, fallback=fallback, aggregator=9.0)
        for at, (total, fallback) in enumerate(figures)
    ]
    return Comparison(tuple(rows), 3, 2.0, 1e-5, "fresh", 4.0, assumption="every voter draws every vote anew.")


def test_a_comparison_carries_the_assumption_and_the_second_budget_wherever_it_goes(tmp_path: Path) -> None:
    found = _known_comparison((1.9, 3.0), (1.0, 3.9), (2.5, 9.0))
    for ending in ("csv", "json", "tex"):
        found.write(tmp_path / f"t.{ending}")
        text = (tmp_path / f"t.{ending}").read_text()
        assert "every voter draws every vote anew." in text
        assert "binding" in text
        assert "fallback" in text
        assert re.search(r"\b4(\.0)?\b", text)
    latex = (tmp_path / "t.tex").read_text()
    assert not any("every voter" in line for line in latex.splitlines() if line.startswith("%"))
    assert found.columns()["binding"] == ["first", "second", "second"]
    axes = plot_comparison_at_one_total(found)
    title = " ".join(axes.figure.get_suptitle().split())
    assert found.note in title
    assert "second budget, of epsilon 4" in title
    assert [text.get_text() for text in axes.texts][::-1] == [f"0.100, {b} budget" for b in found.columns()["binding"]]
    assert [row[2:4] for row in comparison_words.mechanism_rows(found)][:2] == [("1.9 *", "3"), ("1", "3.9 *")]
    meant = comparison_words.columns_meant(found)
    assert meant.count(found.assumption) == 1
    assert found.assumption not in comparison_words.columns_meant(found, stated=True)


def test_a_comparison_of_one_budget_has_no_column_for_another() -> None:
    found = replace(_known_comparison((1.9, 3.0)), assumption="", fallback_epsilon=math.inf)
    assert not {"binding", "fallback_epsilon", "assumption"} & found.columns().keys()
    assert not found.note


@pytest.mark.parametrize(("queries", "are"), [(1, "one label is"), (2, "2 labels together are")])
def test_few_labels_are_said_as_many_are(queries: int, are: str) -> None:
    design = darrm.solve(K=3, m=1, epsilon=0.5)
    said = wording.cost(darrm.accounting.compose(design, queries, delta=1e-6, voters="fresh"), design.problem)
    assert said.startswith(f"Fresh voters: {are} (")


def test_a_disagreement_of_zero_is_written_as_others_are() -> None:
    plan = darrm.plan(K=3, epsilon=1.0, base_accuracy=0.9, max_affected=1, voters="fresh", compare=False, **TOTAL)
    (_, wrong, disagreement), (_, wrong_without, none), *_ = plan_words.wrong_rows(plan)
    assert {len(cell) for cell in (wrong, disagreement, wrong_without, none)} == {len("0.0000")}
    assert float(none) == 0

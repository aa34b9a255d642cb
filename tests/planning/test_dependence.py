"""A plan whose labels hardly depend on the votes says so first, beside what one answer to everything would cost."""

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from cases import thorough

import darrm
from darrm.planning.dependence import dependence
from darrm.planning.setting import Setting
from darrm.problem.class_votes import all_votes
from darrm.show import plan_words

TOTAL: dict[str, Any] = {"total_delta": 1e-6, "compare": False}
ALWAYS_OK = TOTAL | {
    "groups": [(5, math.inf)],
    "accuracy": 0.7,
    "prior": [0.9, 0.1],
    "classes": ["ok", "bad"],
    "max_affected": 1,
}


@pytest.mark.parametrize(
    ("queries", "total", "are"), [(1, 0.1, "One label is ("), *thorough((100, 1.0, "100 labels together are ("))]
)
def test_a_plan_that_always_answers_ok_says_so_first(queries: int, total: float, are: str) -> None:
    plan = darrm.plan(**ALWAYS_OK, queries=queries, total_epsilon=total)
    said = (
        "These labels hardly depend on the votes. Nearly all of them are ok, and the label error rate is 0.1000. If "
        f"every label was ok, it would be 0.1000. {are}"
    )
    assert plan_words.together(plan).startswith(said)
    assert "hardly depend on the votes" in repr(plan)
    assert "hardly depend on the votes" in plan_words.plan_html(plan)[:200]
    assert plan.on_votes is not None
    assert plan.on_votes.hardly
    assert (plan.on_votes.likeliest, plan.on_votes.constant) == ("ok", "ok")
    assert plan.on_votes.wrong == pytest.approx(0.1)


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [2, *thorough(3)])
def test_labels_like_draws_at_random_say_so_first(classes: int) -> None:
    plan = darrm.plan(
        [(5, math.inf)], classes=classes, accuracy=0.7, max_affected=1, queries=100, total_epsilon=0.2, **TOTAL
    )
    wrong = 1 - 1 / classes
    assert "They are close to random draws, and the label error rate is 0." in plan_words.together(plan)
    assert f"If every label was 0, it would be {wrong:.4f}." in plan_words.together(plan)
    assert 0.9 * wrong < plan.wrong < wrong


@pytest.mark.slow
def test_a_plan_by_a_prior_of_votes_says_so_too() -> None:
    many, few = (
        darrm.plan(
            K=11, epsilon=1.0, prior="uniform", max_affected=11, queries=queries, total_epsilon=total, total_delta=1e-6,
            voters="fresh",
        )
        for queries, total in ((500, 1.0), (1, 8.0))
    )  # fmt: skip
    assert plan_words.together(many).startswith(
        "These labels hardly depend on the votes. They are close to random draws"
    )
    assert plan_words.together(few).startswith("One label is (")


@pytest.mark.thorough
def test_labels_that_follow_the_votes_say_nothing() -> None:
    plan = darrm.plan([(9, math.inf)], classes=2, accuracy=0.8, max_affected=1, queries=10, total_epsilon=5, **TOTAL)
    assert plan.on_votes is not None
    assert plan.on_votes.share > 0.5
    assert plan_words.together(plan).startswith("10 labels together are (")
    assert "hardly" not in repr(plan)


@pytest.mark.parametrize("prior", [None, [0.6, 0.3, 0.1]])
def test_the_dependence_is_that_of_single_votes(prior: list[float] | None) -> None:
    """Against sums over all votes of all voters, one by one."""
    K, C, accuracy = 3, 3, 0.6
    setting = Setting((darrm.VoterGroup(K, 1.0),), 1, "replace-one", C, darrm.objectives.truth([accuracy], prior))
    rng = np.random.default_rng(0)
    votes = all_votes(setting.problem(1.0, 0.5))[:, 0]
    full = rng.dirichlet(np.ones(C), len(votes))
    place = {tuple(row): i for i, row in enumerate(votes.tolist())}
    chance = np.zeros(len(votes))
    for truth, cast in product(range(C), product(range(C), repeat=K)):
        p = (prior or [1 / 3] * 3)[truth] * math.prod(
            accuracy if vote == truth else (1 - accuracy) / (C - 1) for vote in cast
        )
        chance[place[tuple(cast.count(c) for c in range(C))]] += p

    def spread(rows: np.ndarray) -> float:
        return float(chance @ np.abs(rows - chance @ rows).sum(axis=1)) / 2

    most = votes == votes.max(axis=1, keepdims=True)
    plain = spread(most / most.sum(axis=1, keepdims=True))
    found = dependence(setting, full)
    assert found is not None
    assert found.share == pytest.approx(spread(full) / plain)
    assert found.often == pytest.approx((chance @ full).max())
    same = dependence(setting, setting.majority())
    assert same is not None
    assert same.share == pytest.approx(1.0)


@pytest.mark.thorough
def test_labels_near_coin_flips_say_so_first_and_no_plan_prints_nan() -> None:
    voters: Any = {"groups": [(3, 1.0)], "max_affected": 1, "queries": 10, "voters": "fresh"}
    plan = darrm.plan(**voters, base_accuracy=0.8, total_epsilon=2, **TOTAL)
    assert plan.near_chance == "coin flips"
    assert plan.on_votes is not None
    assert not plan.on_votes.hardly
    assert plan_words.together(plan).startswith(
        f"These labels are hardly better than coin flips (label error rate {plan.wrong:.4f}). 10 labels together "
    )
    assert "hardly better than coin flips, label error rate 0.4" in repr(plan)
    assert any(said.startswith("To improve these labels, ask fewer queries") for said in plan_words.remarks(plan))
    unknown = repr(replace(plan, wrong=math.nan, disagreement=math.nan, on_votes=None))
    assert f": error rates not known without the accuracy of the voters, {plan.chosen!r}>" in unknown
    assert "nan" not in unknown

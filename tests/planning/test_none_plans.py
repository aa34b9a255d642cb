"""Plans with the further answer "none": Confident-GNMax beside the optimum, and in its place where no table fits."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import thorough
from scipy.special import ndtr

import darrm
from darrm.accounting import Ledger, compose
from darrm.baselines import confident
from darrm.cli import main
from darrm.design.content import headed
from darrm.design.rules import cost_of
from darrm.mechanisms import ConfidentNoisyMax, GaussianNoisyMax
from darrm.mechanisms.confident_noisy_max import load_noisy_max
from darrm.planning.answers import Plan
from darrm.problem.class_votes import votes_up_to_names, ways
from darrm.show import plan_words
from darrm.storage import sealed_json

TOTAL: dict[str, Any] = {"queries": 10, "total_epsilon": 3, "total_delta": 1e-5}


def teachers(K: int) -> list[darrm.VoterGroup]:
    return [darrm.VoterGroup(K, epsilon=math.inf, max_affected=1)]


@pytest.mark.slow
def test_the_plan_is_no_worse_than_confident_gnmax() -> None:
    """By the same total, that of the table and that of the mechanism, and by costs that are summed here."""
    accuracy, none, K, classes = 0.7, 0.15, 7, 3
    plan = darrm.plan(teachers(K), classes=classes, accuracy=accuracy, none=none, **TOTAL)
    assert plan.comparison is not None
    assert plan.design.problem.none
    rows = {row.name: row for row in plan.comparison}
    own, best = rows["Confident-GNMax"], rows["planned"]
    assert best.expected_cost <= own.expected_cost < rows["Gaussian noisy max"].expected_cost
    assert own.total <= 3
    noise = [float(word.rstrip(",")) for word in own.setting.split() if word[0].isdigit()]
    sigma, sigma_check, threshold = noise
    assert sigma_check == pytest.approx(confident.WIDER * sigma, rel=1e-3)
    mechanism = ConfidentNoisyMax(threshold, sigma_check, sigma, K=K, classes=classes)
    assert compose(mechanism, 10, delta=1e-5).upper == pytest.approx(own.total, rel=5e-3)
    votes = votes_up_to_names(plan.problem)
    counts = votes.reshape(len(votes), -1)
    wrong = (1 - accuracy) / (classes - 1)
    chance = [[accuracy ** row[y] * wrong ** (K - row[y]) / classes for y in range(classes)] for row in counts.tolist()]
    orders = [math.factorial(K) / math.prod(map(math.factorial, row)) for row in counts.tolist()]
    joint = np.array(chance) * (ways(votes) * orders)[:, None]
    for table, found in ((mechanism.chances(counts), own.expected_cost), (plan.design.table, plan.cost)):
        cost = sum(
            joint[:, y] @ (none * table[:, -1] + table[:, :classes].sum(axis=1) - table[:, y]) for y in range(classes)
        )
        assert cost == pytest.approx(found, rel=1e-3)
    assert plan.none == pytest.approx(joint.sum(axis=1) @ plan.design.table[:, -1])
    assert plan.wrong == pytest.approx(rows["planned"].wrong)
    assert plan.wrong >= plan.none


@pytest.mark.thorough
def test_the_threshold_has_the_least_cost() -> None:
    problem = darrm.DecisionProblem(teachers(9), 1.0, 1e-5, 3, none=True)
    objective = darrm.objectives.truth([0.6], none=0.25)
    family = confident.BASELINE.family(problem, objective)
    for inverse in (0.2, 1.0):
        least = cost_of(family.table(inverse), problem, objective)
        sigma = 1 / inverse
        said = [float(number) for number in re.findall(r"\d+\.?\d*", family.said(inverse))]
        assert said[:2] == pytest.approx([sigma, confident.WIDER * sigma], rel=1e-3)
        votes = np.array([row for row in np.ndindex(10, 10, 10) if sum(row) == 9 and row[0] >= row[1] >= row[2]])[::-1]
        for threshold in np.linspace(3 - 2 * sigma, 9 + 2 * sigma, 40):
            chances = ConfidentNoisyMax(threshold, confident.WIDER * sigma, sigma).chances(votes)
            assert cost_of(chances, problem, objective) >= least - 1e-9
    assert not confident.BASELINE.serves(darrm.DecisionProblem(teachers(9), 1.0, 1e-5, 3), objective)


@pytest.fixture(scope="module")
def beyond() -> darrm.planning.Plan:
    total = {"queries": 20, "total_epsilon": 8, "total_delta": 1e-5}
    return darrm.plan(teachers(60), classes=20, accuracy=0.3, none=0.05, **total)


@pytest.mark.slow
def test_where_no_table_fits_the_better_is_taken(beyond: darrm.planning.Plan, tmp_path: Path) -> None:
    made = beyond.chosen
    assert isinstance(made, ConfidentNoisyMax)
    sigma = made.sigma
    free = ConfidentNoisyMax(made.threshold, made.sigma_check, sigma)
    assert 7.97 < beyond.spent == compose(free, 20, delta=1e-5).upper <= 8
    votes = np.random.default_rng(5).multinomial(60, [0.3] + [0.7 / 19] * 19, 4000)
    chances = made.chances(votes)
    assert beyond.none == pytest.approx(chances[:, -1].mean(), abs=0.02)
    assert beyond.cost == pytest.approx((1 - chances[:, 0] - 0.95 * chances[:, -1]).mean(), abs=2e-3)
    assert beyond.wrong == pytest.approx(1 - chances[:, 0].mean(), abs=0.02)
    always = GaussianNoisyMax(sigma / math.sqrt(1 + 0.5 / confident.WIDER**2))
    assert beyond.cost < min(0.05, 1 - always.chances(votes)[:, 0].mean())
    made.save(tmp_path / "plan.json")
    again = load_noisy_max(tmp_path / "plan.json")
    assert repr(again) == repr(made)
    assert again.problem is not None
    assert again.problem.answers[-1] == "none"
    ledger = Ledger.create(tmp_path / "ledger.db", again, total_epsilon=8, total_delta=1e-5)
    assert ledger.remaining(again) in (20, 21)
    with pytest.raises(darrm.InputError, match="its mechanism is ConfidentNoisyMax, not GaussianNoisyMax"):
        GaussianNoisyMax.load(tmp_path / "plan.json")
    dear = darrm.plan(teachers(60), classes=20, accuracy=0.3, none=0.9, queries=20, total_epsilon=8, total_delta=1e-5)
    assert isinstance(dear.chosen, GaussianNoisyMax)
    assert dear.none == 0
    assert any(remark.startswith('No label is "none". The expected cost') for remark in plan_words.remarks(dear))
    assert dear.cost == pytest.approx(dear.wrong)


def test_a_file_of_a_check(tmp_path: Path) -> None:
    made = ConfidentNoisyMax(7.5, 4.0, 2.0, K=2, classes=["cat", "dog"], voters=["a", "b"], max_affected=2)
    made.save(tmp_path / "noisy.json")
    again = ConfidentNoisyMax.load(tmp_path / "noisy.json")
    assert repr(again) == repr(made)
    assert again.as_dict() == made.as_dict()
    assert again.problem is not None
    assert again.problem.voters == ("a", "b")
    with pytest.raises(darrm.InputError, match="holds the numbers of voters and classes"):
        ConfidentNoisyMax(7.5, 4.0, 2.0).save(tmp_path / "other.json")
    capped = ConfidentNoisyMax(7.5, 4.0, 2.0, answers=3, K=2, classes=2)
    with pytest.raises(darrm.InputError, match="cannot count the labels that were given"):
        capped.save(tmp_path / "other.json")
    sealed_json.write(tmp_path / "other.json", headed(capped.as_dict(), "darrm-mechanism", 1))
    with pytest.raises(darrm.InputError, match="every object made from it would have again"):
        ConfidentNoisyMax.load(tmp_path / "other.json")
    text = (tmp_path / "noisy.json").read_text()
    (tmp_path / "noisy.json").write_text(text.replace("7.5", "6.5"))
    with pytest.raises(darrm.InputError):
        load_noisy_max(tmp_path / "noisy.json")


@pytest.mark.parametrize("layout", ["voters", *thorough("counts", "rows")])
def test_labels_by_a_file_of_a_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], layout: str
) -> None:
    """Rows where all agree have their class, others none: the noise is narrow."""
    monkeypatch.chdir(tmp_path)
    ConfidentNoisyMax(4.5, 0.01, 0.01, K=6, classes=["cat", "dog", "elk"]).save("noisy.json")
    votes = [[0] * 6, [1] * 6, [0, 0, 1, 1, 2, 2], [2] * 6]
    with Path("votes.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        if layout == "voters":
            rows.writerows([[f"v{k}" for k in range(6)], *votes])
        elif layout == "counts":
            rows.writerows(
                [["id", "cat", "dog", "elk"], *([i, *np.bincount(v, minlength=3)] for i, v in enumerate(votes))]
            )
        else:
            rows.writerows([["id", "vote"], *([i, vote] for i, v in enumerate(votes) for vote in v)])
    assert main(["release", "noisy.json", "--votes", "votes.csv", "--layout", layout, "--out", "labels.csv"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert 'sigma 0.01; "none" where the largest count with noise of sigma 0.01 is below 4.5' in said
    labels = [line.split(",")[1] for line in Path("labels.csv").read_text().splitlines()[1:]]
    assert labels == ["cat", "dog", "none", "elk"]
    if layout == "voters":
        assert main(["key", "key.bin"]) == 0
        assert main(["release", "noisy.json", "--votes", "votes.csv", "--out", "more.csv", "--key", "key.bin"]) == 2
        assert "--key is not for labels after a check" in capsys.readouterr().err
        assert not Path("more.csv").exists()


@pytest.mark.slow
def test_a_plan_with_none_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    line = "plan --group 5:inf --max-affected 1 --accuracy .8 --queries 5 --total-epsilon 3 --total-delta 1e-5"
    found = []
    for option in (["--none", ".1"], ["--cost", "0,1,1,0,.1,.1"]):
        assert main([*line.split(), *option, "--json", "--out", "plan.json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["cost"] == pytest.approx(found[1]["cost"], rel=1e-6)
    assert darrm.load("plan.json").problem.none
    assert main([*line.split(), "--none", ".1"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f'A label is "none" with probability {found[0]["none"]:.4f}' in said
    assert "Confident-GNMax" in said
    compare = line.replace("plan", "compare")
    assert main([*compare.split(), "--none", ".1"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert 'Confident-GNMax: "none" where the largest count with the noise of the check is below the threshold.' in said


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"none": -1}, "none must be"),
        ({"none": "x"}, "none must be"),
        ({"none": math.nan}, "none must be"),
        ({"none": True}, 'cost must have a last row for the answer "none"'),
        (
            {"none": 0.1, "objective": darrm.objectives.truth([0.6], none=0.1), "accuracy": None},
            "cost of none are part",
        ),
        ({"none": 0.1, "accuracy": None}, "Say how often voters are right|accuracy"),
        ({"objective": darrm.objectives.truth([0.6], none=0.1), "accuracy": None}, "which this problem does not have"),
        ({"none": 0.1, "accuracy": None, "prior": "uniform"}, "A prior of votes"),
    ],
)
def test_plans_with_none_that_there_are_not(wrong: dict[str, Any], match: str) -> None:
    with pytest.raises(darrm.InputError, match=match):
        darrm.plan(teachers(5), **{"accuracy": 0.6, **TOTAL, **wrong})


def test_a_check_and_its_label_have_the_chances_of_both() -> None:
    labels = GaussianNoisyMax(3.0).chances([[5, 2, 1], [4, 4, 0]])
    found = confident.with_check(labels, np.array([[5], [4]]), 4.5, 2.0)
    passes = ndtr((np.array([5, 4]) - 4.5) / 2)
    assert found[:, -1] == pytest.approx(1 - passes)
    assert found[:, :-1] == pytest.approx(labels * passes[:, None])


def test_a_plan_that_nearly_always_says_none_says_first_that_it_is_useless() -> None:
    plan = darrm.plan(K=3, epsilon=1.0, accuracy=0.6, none=0.1, max_affected=1, voters="fresh", compare=False, **TOTAL)
    assert plan.none > 0.99
    assert plan_words.together(plan).startswith('These labels are of little use: nearly all of them are "none".')
    assert 'nearly all "none"' in repr(plan)
    assert any('raise the cost of "none"' in said for said in plan_words.remarks(plan))


def test_labels_that_are_given_near_chance_are_of_little_use() -> None:
    """Labels of teachers: 92 % are none, and the others are wrong as often as classes at random."""
    chosen = ConfidentNoisyMax(880.0, 615.0, 307.0, K=100, classes=10)
    figures = {"queries": 9, "total_epsilon": 0.5, "total_delta": 1e-6, "voters": "fresh", "spent": 0.4}
    rates = {"wrong": 0.9907, "disagreement": 0.9907, "wrong_without_noise": 0.0, "wrong_without_privacy": math.nan}
    others: dict[str, Any] = {"aggregator": math.inf, "vote_epsilon": math.inf, "curve": (), "comparison": None}
    plan = Plan(chosen, **figures, **rates, **others, assumptions=(), complete=True, none=0.9165, cost=0.35)
    assert plan_words.together(plan).startswith(
        'These labels are of little use: 91.6 % of them are "none". The others are hardly better than classes at '
        "random (label error rate 0.89)."
    )


@pytest.mark.thorough
def test_a_comparison_says_that_planned_labels_are_of_little_use(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["compare", "--group", "1:inf", "--accuracy", ".6", "--max-affected", "1", "--none", ".1"]
    assert main([*asked, "--queries", "1", "--total-epsilon", ".1", "--total-delta", "1e-6"]) == 0
    said = 'Planned: These labels are of little use: nearly all of them are "none". '
    assert said in " ".join(capsys.readouterr().out.split())

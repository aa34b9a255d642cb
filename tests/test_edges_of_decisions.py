"""Decisions, totals and ledgers at the edges: answers that are checked by another way, or a refusal in one line."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripts import COMMAND

import darrm
from darrm import VoterGroup as Group
from darrm.accounting import Ledger, OutcomeRows, compose, plan
from darrm.accounting.many_answers import of_rows

HALF = 1 / (1 + math.exp(-0.5))  # what a label of epsilon 0.5 may be right at most, of two answers
MAJORITY = darrm.solve(K=5, m=1, epsilon=0.5)


def table(groups: list[Group], accuracy: list[Any], epsilon: float = 0.5, prior: Any = None, **problem: Any) -> Any:
    of = darrm.DecisionProblem(groups, epsilon, **problem)
    design = darrm.solve(of, objective=darrm.objectives.truth(accuracy, prior=prior))
    assert darrm.verify(design.table, of).holds
    return design.table


@pytest.mark.parametrize("vote", [0.5, 1.0, 50.0, 1e6, math.inf])
def test_a_single_voter_is_flipped_until_the_label_is_as_private_as_asked(vote: float) -> None:
    """One voter: kept is the label with t, (t hi + (1 - t) lo) = e^0.5 (t lo + (1 - t) hi)."""
    hi = 1 / (1 + math.exp(-vote))
    t = min(1.0, ((HALF - (1 - hi)) / (2 * hi - 1)))
    np.testing.assert_allclose(table([Group(1, vote)], [0.7]), [1 - t, t], atol=1e-9)


def test_of_groups_of_one_voter_the_best_decides() -> None:
    """Weights of its accuracy make it outvote both others, and its vote alone is flipped."""
    found = table([Group(1, 1.0), Group(1, 0.5), Group(1, 0.2)], [0.9, 0.55, 0.55])
    alone = table([Group(1, 1.0)], [0.9])
    np.testing.assert_allclose(found, np.broadcast_to(alone[:, None, None], (2, 2, 2)), atol=1e-9)


# Two voters of epsilon 1, both at (hi, lo): a, 1/2, 1 - a with the least a whose label is 0.5-DP.
HI = 1 / (1 + math.exp(-1.0))
LEAST = (HI - HALF) / (2 * HI - 1)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("accuracy", "prior", "wanted"),
    [
        (0.5, None, [0.5, 0.5, 0.5]),  # a coin is no news
        (0.7, [1, 0], [0, 0, 0]),  # a truth that is known beforehand needs no votes
        (0.7, [0, 1], [1, 1, 1]),
        (1.0, None, [LEAST, 0.5, 1 - LEAST]),
        (0.0, None, [1 - LEAST, 0.5, LEAST]),  # voters that are always wrong are believed the other way round
    ],
    ids=str,
)
def test_accuracies_and_priors_at_their_ends(accuracy: float, prior: Any, wanted: list[float]) -> None:
    np.testing.assert_allclose(table([Group(2, 1.0)], [accuracy], prior=prior), wanted, atol=1e-9)


def test_classes_that_cannot_be_or_tell_nothing() -> None:
    rare = table([Group(2, 1.0)], [0.7], classes=3, prior=[0.5, 0.5, 0])
    assert rare[:, 2].max() < 1e-9
    np.testing.assert_allclose(table([Group(2, 1.0)], [1 / 3], classes=3), 1 / 3, atol=1e-9)
    # One voter without privacy among three classes: right with e^0.5 / (e^0.5 + 2).
    np.testing.assert_allclose(table([Group(1, math.inf)], [0.7], classes=3)[0, 0], 1 / (1 + 2 * math.exp(-0.5)))


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: Group(3, 1.0, max_affected=0), "max_affected must be an integer in [1, count] = [1, 3]. Got 0."),
    (lambda: darrm.DecisionProblem([Group(3, 1.0)], 0.5, max_affected=0), "max_affected must be an integer in"),
    (lambda: darrm.DecisionProblem([Group(3, 1.0)], math.inf), "epsilon must be in (0, 1e+06]. Got inf."),
    (
        lambda: table([Group(1, 1.0)], [0.7], classes=255),
        "with 255 classes, of 255 vectors of counts, are too many to count. 30 classes would fit",
    ),
    (
        lambda: table([Group(1, 1.0)], [0.7], classes=256),
        "with 256 classes, of 256 vectors of counts, are too many to count. 30 classes would fit",
    ),
    (lambda: table([Group(2, 1.0)], [0.7], prior=[0, 0]), "prior must be probabilities that sum to 1. Got [0, 0]."),
    (lambda: compose(MAJORITY, 0, delta=0.0, voters="fresh"), "queries must be an integer in [1, 1e+07]"),
    (lambda: compose(MAJORITY, 10**7 + 1, delta=0.0, voters="fresh"), "queries must be an integer in [1, 1e+07]"),
]


@pytest.mark.parametrize(("action", "reason"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_says_why_in_one_line(action: Callable[[], object], reason: str) -> None:
    with pytest.raises(darrm.InputError) as refusal:
        action()
    assert reason in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


# Profiles and rows of a single point


def test_a_profile_of_one_point_is_a_guarantee() -> None:
    held = darrm.solve(K=3, m=3, epsilon=0.5, profile=[(0.7, 0.0)])
    np.testing.assert_allclose(held.gamma, darrm.solve(K=3, m=1.4, epsilon=0.5).gamma, atol=1e-12)


def test_a_release_of_one_answer_costs_nothing() -> None:
    assert of_rows(OutcomeRows.of([[1.0]], [[1.0]]), 10**6, delta=1e-5).upper == 0


# Totals near the end of float64, and many labels


@pytest.mark.parametrize("total", [689.0, 690.0, 709.0, 710.0, 1e6])
def test_totals_whose_exponential_overflows(total: float) -> None:
    """Three voters of 690 / 3 or more: at m = 3 the total is that of the votes, and no noise is needed."""
    design = darrm.solve(K=3, m=3, epsilon=total / 3)
    assert compose(design, 1, delta=0.0, voters="fresh").upper <= total * (1 + 1e-12)
    assert design.gamma.min() >= 1 - 1e-14
    planned = plan(K=3, epsilon=total / 3, queries=2, total_epsilon=total, total_delta=0.0, voters="fresh")
    assert compose(planned, 2, delta=0.0, voters="fresh").upper <= total


@pytest.mark.thorough
def test_a_million_labels_cost_what_the_normal_law_says() -> None:
    """The loss of one label is 0.5 or -0.5: a million have nearly a normal law, whose delta is known in closed form."""
    each = compose(MAJORITY, 1, delta=0.0, voters="fresh").upper
    mean, square = each * math.tanh(each / 2), each**2
    n = 10**6
    spread = math.sqrt(n * (square - mean**2))
    total = compose(MAJORITY, n, delta=1e-5, voters="fresh")
    assert total.upper == pytest.approx(n * mean + 4.2649 * spread, rel=1e-4)  # Pr[Z > 4.2649] = 1e-5
    assert compose(MAJORITY, n, delta=0.0, voters="fresh").upper == pytest.approx(n * each)
    voters = 5 * 0.5  # what fixed voters cost, however many labels
    assert compose(MAJORITY, n, delta=0.0, voters="fixed").upper <= voters * (1 + 1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("rule", ["exact", "in-advance", "renyi-filter", "basic-filter"])
def test_a_ledger_of_one_label_and_of_a_million(rule: str, tmp_path: Path) -> None:
    design = MAJORITY if rule == "exact" else None
    for n, budget in ((1, 2.0), (10**6, 6e5)):
        kept = {"total_epsilon": budget, "total_delta": 1e-5, "voters": "fresh", "rule": rule}
        ledger = Ledger.create(tmp_path / f"{n}.json", design, **kept)
        ledger.charge(MAJORITY, n)
        assert 0.999 * compose(MAJORITY, n, delta=1e-5, voters="fresh").lower <= ledger.spent()[0] <= budget
    small = Ledger(tmp_path / "1.json")
    before = small.status()
    with pytest.raises(darrm.BudgetError) as refusal:
        small.charge(MAJORITY, 10**6)
    assert len(str(refusal.value).splitlines()) == 1
    assert small.status() == before


# The command line


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, COMMAND, *arguments], capture_output=True, text=True)


GROUPS = ("--total-epsilon", "0.5", "--accuracy", "0.7", "--json")


@pytest.mark.thorough
def test_the_command_solves_a_voter_without_privacy(tmp_path: Path) -> None:
    done = command("solve", "--group", "1:inf", *GROUPS, "--out", str(tmp_path / "one.json"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    np.testing.assert_allclose(darrm.load(tmp_path / "one.json").table, [1 - HALF, HALF], atol=1e-9)


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--group", "3:1:0:0"), "max_affected"),
        (("--group", "1:1", "--classes", "255"), "30 classes would fit"),
        (("--group", "1:1", "--classes", "256"), "30 classes would fit"),
    ],
    ids=str,
)
def test_the_command_refuses_in_one_line(arguments: tuple[str, ...], said: str) -> None:
    done = command("solve", *arguments, *GROUPS)
    assert done.returncode == 2
    assert said in json.loads(done.stdout)["error"]["message"]
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1

"""What the charges of a ledger cost if voters that are not affected may be any mechanism."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import darrm
from darrm import DecisionProblem, VoterGroup
from darrm.accounting import Ledger, compose, optimal

GOAL = darrm.objectives.truth([0.7])
PLAIN = [0.0, 0.0, 1.0, 1.0]
NOISY = [0.1, 0.25, 0.75, 0.9]


def design_of(table: Sequence[float], *, known: bool = True, epsilon: float = 1.0) -> darrm.Design:
    """Three voters of epsilon 1, one affected; the others may be constants where their randomizer is not known."""
    more: dict[str, Any] = {"randomizer": "randomized response", "colluders": 0} if known else {}
    problem = DecisionProblem([VoterGroup(3, 1.0, max_affected=1, **more)], epsilon * (1 + 1e-9))
    return darrm.Design(problem, np.array(table), GOAL)


def ledger_of(path: Path, rule: str, delta: float = 1e-6) -> Ledger:
    return Ledger.create(path, total_epsilon=50.0, total_delta=delta, voters="fresh", rule=rule)


@pytest.mark.parametrize("rule", ["exact", "composed", "renyi", "basic"])
@pytest.mark.parametrize("delta", [1e-6, 0.01])
def test_constants_leave_the_vote_of_the_affected_voter(tmp_path: Path, rule: str, delta: float) -> None:
    """One voter says 0 and one 1: every label of the plain majority is then the affected vote, of epsilon 1."""
    design = design_of(PLAIN)
    if rule == "exact":
        budget: dict[str, Any] = {"total_epsilon": 50.0, "total_delta": delta, "voters": "fresh"}
        ledger = Ledger.create(tmp_path / "a.json", design, **budget)
    else:
        ledger = ledger_of(tmp_path / "a.json", rule, delta)
    assert ledger.fallback() == {}
    ledger.charge(design, 6)
    (total,) = ledger.fallback().values()
    votes = optimal(1.0, 0.0, 6, delta).epsilon
    assert votes * (1 - 1e-9) <= total <= votes * (1 + 1e-6)
    if rule in ("exact", "composed"):
        assert ledger.spent()[0] < 0.95 * total


def test_at_delta_0_it_is_a_sum(tmp_path: Path) -> None:
    design = design_of(PLAIN)
    ledger = Ledger.create(tmp_path / "a.json", design, total_epsilon=6.0, total_delta=0.0, voters="fresh")
    ledger.charge(design, 6)
    assert ledger.fallback()[""] == pytest.approx(6.0, rel=1e-9)
    assert ledger.fallback()[""] >= 6.0
    assert ledger.spent()[0] < 5


def test_it_is_the_total_of_the_same_table_for_any_voters(tmp_path: Path) -> None:
    design = design_of(NOISY)
    ledger = Ledger.create(tmp_path / "a.json", design, total_epsilon=50.0, total_delta=1e-6, voters="fresh")
    ledger.charge(design, 20)
    total = compose(design_of(NOISY, known=False), 20, delta=1e-6, voters="fresh", tolerance=1e-3)
    assert total.lower <= ledger.fallback()[""] <= total.upper * 1.01
    assert Ledger(ledger.path).fallback() == ledger.fallback()  # from the file alone
    assert "fallback" not in ledger.path.read_text(encoding="utf-8")


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_several_mechanisms_are_composed_with_the_labels(tmp_path: Path, delta: float) -> None:
    """By the rule that composes them, the same charges for any voters have the same total."""
    tight = darrm.verify(NOISY, design_of(NOISY, known=False).problem).tight_epsilon
    known, of_any = (ledger_of(tmp_path / f"{name}.json", "composed", delta) for name in ("known", "any"))
    for table, n, epsilon in ((PLAIN, 4, 1.0), (NOISY, 5, tight)):
        known.charge(design_of(table, epsilon=epsilon), n)
        of_any.charge(design_of(table, known=False, epsilon=epsilon), n)
    for ledger in (known, of_any):
        ledger.charge((0.5, 0.0), adjacency="replace-one")
    assert of_any.fallback() == {}
    total = of_any.spent()[0]
    assert known.fallback()[""] == pytest.approx(total, rel=1e-2)
    assert known.spent()[0] < 0.95 * total or not delta  # there it is the sum of the guarantees that labels state


def test_labels_that_depend_on_no_vote_cost_nothing(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path / "a.json", "composed")
    ledger.charge(design_of([0.5] * 4), 5)
    assert ledger.fallback()[""] <= 1e-11
    ledger.charge((0.5, 0.0), adjacency="replace-one")
    assert ledger.fallback()[""] == pytest.approx(0.5, rel=1e-4)


def test_the_other_mechanisms_alone_assume_nothing(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path / "a.json", "composed")
    ledger.charge((0.5, 0.0), adjacency="replace-one")
    assert ledger.fallback() == {}


def test_it_is_infinite_where_only_the_other_voters_protect(tmp_path: Path) -> None:
    """A non-private voter decides where the others are split; constants can always be split."""
    group = VoterGroup(4, 1.0, max_affected=1, randomizer="randomized response", colluders=0)
    problem = DecisionProblem([group, VoterGroup(1, math.inf)], 3.0, max_affected=1)
    majority = [[float(ones + own > 2) for own in (0, 1)] for ones in range(5)]
    design = darrm.Design(problem, np.array(majority), darrm.objectives.truth([0.7, 0.8]))
    for rule in ("composed", "basic"):
        ledger = ledger_of(tmp_path / f"{rule}.json", rule)
        ledger.charge(design, 2)
        assert ledger.spent()[0] <= 6
        assert ledger.fallback() == {"": math.inf}
        ledger.charge((0.5, 0.0), adjacency="replace-one")
        assert ledger.fallback() == {"": math.inf}


def test_a_second_label_of_the_same_votes_costs_the_votes(tmp_path: Path) -> None:
    design = design_of(PLAIN)
    ledger = Ledger.create(tmp_path / "a.json", design, total_epsilon=50.0, total_delta=1e-6, voters="fresh")
    ledger.charge(design, 3)
    ledger.charge(design, 3, again=True)
    assert ledger.fallback()[""] == pytest.approx(optimal(1.0, 0.0, 6, 1e-6).epsilon, rel=1e-6)
    assert ledger.fallback()[""] == ledger.spent()[0]


def test_each_kind_of_change_has_its_own(tmp_path: Path) -> None:
    known: dict[str, Any] = {"randomizer": "randomized response", "colluders": 0}
    groups = [VoterGroup(2, 0.5, max_affected=1, **known), VoterGroup(3, 1.0, max_affected=1, **known)]
    problem = DecisionProblem(groups, [0.51, 1.01], max_affected=1)
    table = np.array([[float(a + b > 2) for b in range(4)] for a in range(3)])
    design = darrm.Design(problem, table, darrm.objectives.truth([0.6, 0.7]))
    ledger = Ledger.create(tmp_path / "a.json", design, total_epsilon=[9.0, 9.0], total_delta=1e-6, voters="fresh")
    ledger.charge(design, 4)
    totals = ledger.fallback()
    assert totals.keys() == ledger.balances().keys()
    for kind, epsilon in (("group 1", 0.5), ("group 2", 1.0)):
        assert totals[kind] == pytest.approx(optimal(epsilon, 0.0, 4, 1e-6).epsilon, rel=1e-6)
        assert ledger.balances()[kind].epsilon < totals[kind]

"""What the charges of a ledger cost if voters that are not affected may be any mechanism."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ledgers
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


@pytest.mark.thorough
@pytest.mark.parametrize("rule", ["exact", "in-advance", "renyi-filter", "basic-filter"])
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
    if rule in ("exact", "in-advance"):
        assert ledger.spent()[0] < 0.95 * total


def test_at_delta_0_it_is_a_sum(tmp_path: Path) -> None:
    design = design_of(PLAIN)
    ledger = Ledger.create(tmp_path / "a.json", design, total_epsilon=6.0, total_delta=0.0, voters="fresh")
    ledger.charge(design, 6)
    assert ledger.fallback()[""] == pytest.approx(6.0, rel=1e-9)
    assert ledger.fallback()[""] >= 6.0
    assert ledger.spent()[0] < 5


@pytest.mark.thorough
def test_it_is_the_total_of_the_same_table_for_any_voters(tmp_path: Path) -> None:
    design = design_of(NOISY)
    ledger = Ledger.create(tmp_path / "a.json", design, total_epsilon=50.0, total_delta=1e-6, voters="fresh")
    ledger.charge(design, 20)
    total = compose(design_of(NOISY, known=False), 20, delta=1e-6, voters="fresh", tolerance=1e-3)
    assert total.lower <= ledger.fallback()[""] <= total.upper * 1.01
    assert Ledger(ledger.path).fallback() == ledger.fallback()  # from the file alone
    assert "fallback_epsilon" not in ledgers.content(ledger.path)


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_several_mechanisms_are_composed_with_the_labels(tmp_path: Path, delta: float) -> None:
    """By the rule that composes them, the same charges for any voters have the same total."""
    tight = darrm.verify(NOISY, design_of(NOISY, known=False).problem).tight_epsilon
    known, of_any = (ledger_of(tmp_path / f"{name}.json", "in-advance", delta) for name in ("known", "any"))
    for table, n, epsilon in ((PLAIN, 4, 1.0), (NOISY, 5, tight)):
        known.charge(design_of(table, epsilon=epsilon), n)
        of_any.charge(design_of(table, known=False, epsilon=epsilon), n)
    for ledger in (known, of_any):
        ledger.charge((0.5, 0.0), adjacency="replace-one")
    assert of_any.fallback() == {}
    total = of_any.spent()[0]
    assert known.fallback()[""] == pytest.approx(total, rel=1e-2)
    assert known.spent()[0] < 0.95 * total or not delta  # there it is the sum of the guarantees that labels state


@pytest.mark.thorough
def test_labels_that_depend_on_no_vote_cost_nothing(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path / "a.json", "in-advance")
    ledger.charge(design_of([0.5] * 4), 5)
    assert ledger.fallback()[""] <= 1e-11
    ledger.charge((0.5, 0.0), adjacency="replace-one")
    assert ledger.fallback()[""] == pytest.approx(0.5, rel=1e-4)


def test_the_other_mechanisms_alone_assume_nothing(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path / "a.json", "in-advance")
    ledger.charge((0.5, 0.0), adjacency="replace-one")
    assert ledger.fallback() == {}


@pytest.mark.thorough
def test_it_is_infinite_where_only_the_other_voters_protect(tmp_path: Path) -> None:
    """A non-private voter decides where the others are split; constants can always be split."""
    group = VoterGroup(4, 1.0, max_affected=1, randomizer="randomized response", colluders=0)
    problem = DecisionProblem([group, VoterGroup(1, math.inf)], 3.0, max_affected=1)
    majority = [[float(ones + own > 2) for own in (0, 1)] for ones in range(5)]
    design = darrm.Design(problem, np.array(majority), darrm.objectives.truth([0.7, 0.8]))
    for rule in ("in-advance", "basic-filter"):
        ledger = ledger_of(tmp_path / f"{rule}.json", rule)
        ledger.charge(design, 2)
        assert ledger.spent()[0] <= 6
        assert ledger.fallback() == {"": math.inf}
        ledger.charge((0.5, 0.0), adjacency="replace-one")
        assert ledger.fallback() == {"": math.inf}


@pytest.mark.thorough
def test_a_second_label_of_the_same_votes_costs_the_votes(tmp_path: Path) -> None:
    design = design_of(PLAIN)
    ledger = Ledger.create(tmp_path / "a.json", design, total_epsilon=50.0, total_delta=1e-6, voters="fresh")
    ledger.charge(design, 3)
    ledger.charge(design, 3, again=True)
    assert ledger.fallback()[""] == pytest.approx(optimal(1.0, 0.0, 6, 1e-6).epsilon, rel=1e-6)
    assert ledger.fallback()[""] == ledger.spent()[0]


@pytest.mark.thorough
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


# A second budget


@pytest.mark.thorough
@pytest.mark.parametrize("rule", ["exact", "in-advance", "renyi-filter", "basic-filter"])
def test_a_charge_beyond_the_second_budget_is_refused(tmp_path: Path, rule: str) -> None:
    """The plain majority, where constants leave the affected vote: at most the labels of a vote of epsilon 1."""
    design, path = design_of(PLAIN), tmp_path / "a.json"
    budget: dict[str, Any] = {"total_delta": 1e-6, "voters": "fresh", "rule": rule}
    second = 12.0
    ledger = Ledger.create(path, design, total_epsilon=11.9, fallback_epsilon=second, **budget)
    of_any = Ledger.create(tmp_path / "b.json", design_of(PLAIN, known=False), total_epsilon=second, **budget)
    allowed = of_any.remaining(design_of(PLAIN, known=False))
    free = Ledger.create(tmp_path / "c.json", design, total_epsilon=11.9, **budget).remaining(design)
    assert allowed is not None
    assert ledger.remaining(design) == (allowed if rule != "basic-filter" else min(allowed, 11))
    if rule in ("exact", "in-advance"):
        assert allowed < free  # the first budget covers more
    ledger.charge(design, ledger.remaining(design))
    assert ledger.fallback()[""] <= second
    before = path.read_bytes()
    with pytest.raises(
        darrm.BudgetError, match="second budget of this ledger, epsilon 12: " if allowed < free else "."
    ):
        ledger.charge(design)
    assert path.read_bytes() == before
    assert Ledger(path).remaining(design) == 0
    assert Ledger(path).status()["fallback_epsilon"] == second


@pytest.mark.thorough
def test_other_mechanisms_count_in_both_budgets(tmp_path: Path) -> None:
    design = design_of(PLAIN)
    ledger = Ledger.create(
        tmp_path / "a.json", total_epsilon=6.0, fallback_epsilon=6.0, total_delta=0.0, voters="fresh", rule="in-advance"
    )
    ledger.charge((2.5, 0.0), adjacency="replace-one")
    assert ledger.remaining(design) == 3
    ledger.charge(design, 3)
    with pytest.raises(darrm.BudgetError, match="second budget"):
        ledger.charge((0.6, 0.0), adjacency="replace-one")
    ledger.charge((0.4, 0.0), adjacency="replace-one")
    assert ledger.fallback()[""] <= 6.0


def test_without_known_randomizers_the_first_budget_decides(tmp_path: Path) -> None:
    """A total of the same voters, whoever they are, is within the larger budget too."""
    design = design_of(PLAIN, known=False)
    ledger = Ledger.create(
        tmp_path / "a.json", total_epsilon=3.0, fallback_epsilon=4.0, total_delta=0.0, voters="fresh", rule="in-advance"
    )
    ledger.charge(design, 2)
    assert ledger.remaining(design) == 0
    with pytest.raises(darrm.BudgetError, match=r"within \(3, 0\)"):
        ledger.charge(design)


@pytest.mark.thorough
def test_the_second_budget_of_each_kind(tmp_path: Path) -> None:
    known: dict[str, Any] = {"randomizer": "randomized response", "colluders": 0}
    groups = [VoterGroup(2, 0.5, max_affected=1, **known), VoterGroup(3, 1.0, max_affected=1, **known)]
    problem = DecisionProblem(groups, [0.51, 1.01], max_affected=1)
    table = np.array([[float(a + b > 2) for b in range(4)] for a in range(3)])
    design = darrm.Design(problem, table, darrm.objectives.truth([0.6, 0.7]))
    budget: dict[str, Any] = {"total_delta": 0.0, "voters": "fresh"}
    for seconds, allowed in (([3.1, 100.0], 6), ([100.0, 5.6], 5), (6.1, 6)):
        path = tmp_path / f"{seconds}.json"
        ledger = Ledger.create(path, design, total_epsilon=[2.9, 5.5], fallback_epsilon=seconds, **budget)
        assert ledger.remaining(design) == allowed
        ledger.charge(design, allowed)
        with pytest.raises(darrm.BudgetError, match=r"second budget of this ledger, epsilon (3\.1|5\.6|6\.1)"):
            ledger.charge(design)
    with pytest.raises(darrm.InputError, match="a list of 2: group 1, group 2"):
        Ledger.create(tmp_path / "b.json", design, total_epsilon=3.9, fallback_epsilon=[3.9], **budget)


def test_what_a_second_budget_refuses(tmp_path: Path) -> None:
    known, path = design_of(PLAIN), tmp_path / "a.json"
    budget: dict[str, Any] = {"total_epsilon": 3.0, "total_delta": 0.0}
    for design, voters, given, said in (
        (known, "fresh", 2.9, r"fallback_epsilon must be .*3"),
        (known, "fresh", "6", "fallback_epsilon must be"),
        (design_of(PLAIN, known=False), "fresh", 6.0, "for labels of fresh voters by a known randomizer"),
        (design_of(PLAIN, known=False), "fixed", 6.0, "for labels of fresh voters by a known randomizer"),
    ):
        with pytest.raises(darrm.InputError, match=said):
            Ledger.create(path, design, voters=voters, fallback_epsilon=given, **budget)  # type: ignore[arg-type]
    with pytest.raises(darrm.BudgetError, match=r"second budget of 0\.9 does not cover one label"):
        Ledger.create(path, known, total_epsilon=0.9, total_delta=0.0, voters="fresh", fallback_epsilon=0.9)
    free = Ledger.create(path, known, voters="fresh", fallback_epsilon=math.inf, **budget)
    assert "fallback_epsilon" not in ledgers.content(path)
    assert free.status()["fallback_epsilon"] is None


def test_nothing_is_certified_of_labels_that_only_the_others_protect(tmp_path: Path) -> None:
    group = VoterGroup(4, 1.0, max_affected=1, randomizer="randomized response", colluders=0)
    problem = DecisionProblem([group, VoterGroup(1, math.inf)], 3.0, max_affected=1)
    majority = [[float(ones + own > 2) for own in (0, 1)] for ones in range(5)]
    design = darrm.Design(problem, np.array(majority), darrm.objectives.truth([0.7, 0.8]))
    ledger = Ledger.create(
        tmp_path / "a.json",
        total_epsilon=9.0,
        fallback_epsilon=99.0,
        total_delta=1e-6,
        voters="fresh",
        rule="basic-filter",
    )
    assert ledger.remaining(design) == 0
    with pytest.raises(darrm.BudgetError, match="nothing is certified of these labels"):
        ledger.charge(design)


def test_a_forged_second_budget_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    design = design_of(PLAIN)
    Ledger.create(path, design, total_epsilon=3.0, fallback_epsilon=4.0, total_delta=0.0, voters="fresh")
    content = ledgers.content(path)
    for forged in (2.0, "4", [4.0], True):
        ledgers.forge(path, {**content, "fallback_epsilon": forged})
        with pytest.raises(darrm.InputError):
            Ledger(path)

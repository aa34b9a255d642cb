"""A budget for each group: totals of every kind of change, plans that spend all, ledgers that end with the first."""

from __future__ import annotations

import functools
import json
import math
import re
from fractions import Fraction as F
from itertools import product
from pathlib import Path
from typing import Any

import ledgers
import numpy as np
import pytest
from cases import slow
from oracles import decisions
from oracles.known_voters import Row, exponential, recursion
from scipy.optimize import linprog

import darrm
from darrm import objectives
from darrm.accounting import Ledger, compose, max_queries
from darrm.accounting.composition import of_label
from darrm.accounting.releases import OneLabel
from darrm.numerics.deadline import OutOfTime
from darrm.planning import designs

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "known_randomizers.json").read_text())["per_group"]
GOAL = darrm.objectives.truth([0.7, 0.7])
ALIKE = (4, 1.0), (5, 1.0)


def design_of(epsilon: Any, groups: Any = ALIKE, **others: Any) -> darrm.Design:
    made = [darrm.VoterGroup(*group) for group in groups]
    return darrm.solve(darrm.DecisionProblem(made, epsilon, **others), objective=GOAL)


@pytest.fixture(scope="module")
def design() -> darrm.Design:
    return design_of([0.3, 1.0], max_affected=1)


def pairs_of(design: darrm.Design, kind: int) -> list[Row]:
    """Every pair of distributions of a label that a change in one group can reach, by listing, in fractions."""
    groups = [
        decisions.Group(group.count, group.epsilon, group.delta, group.max_affected if g == kind else 0)
        for g, group in enumerate(design.problem.groups)
    ]
    truth = decisions.truth(design.table, groups, design.problem.max_affected)
    half = len(truth.p_side) // 2  # the first half is answer 1, the second answer 0
    sides = zip(truth.p_side[:half], truth.q_side[:half], strict=True)
    return [((F(p), 1 - F(p)), (F(q), 1 - F(q))) for p, q in sides]


def kept(pairs: list[Row]) -> list[Row]:
    """The pairs rounded to 60 bits, each once: the recursion goes through all of them at every label."""
    near = {(round(P[0] * 2**60), round(Q[0] * 2**60)) for P, Q in pairs}
    return [((F(p, 2**60), 1 - F(p, 2**60)), (F(q, 2**60), 1 - F(q, 2**60))) for p, q in sorted(near)]


@pytest.mark.parametrize("queries", [1, 2, 3])
def test_the_total_of_a_kind_is_that_of_its_own_pairs(queries: int) -> None:
    design = design_of([0.4, 1.2], ((2, 1.5), (2, 1.5)), max_affected=1)
    delta = 1e-2
    total = compose(design, queries, delta=delta, voters="fresh", tolerance=1e-6)
    assert list(total.of) == ["group 1", "group 2"]
    for kind, own in enumerate(total.of.values()):
        pairs = kept(pairs_of(design, kind))
        assert recursion(pairs, queries, exponential(own.upper * (1 + 1e-9))) <= F(delta) * (1 + F(1, 10**6))
        assert recursion(pairs, queries, exponential(own.upper * 0.99)) > F(delta)
    assert total.upper == max(own.upper for own in total.of.values())
    assert total.of["group 1"].upper < total.of["group 2"].upper


@pytest.mark.thorough
@pytest.mark.parametrize("row", [0, *slow(1, 2, 3, 4, 5)])
def test_recorded_totals(row: int) -> None:
    """Tables of the design notes, whose totals for a change in either group were computed by another program."""
    recorded = GOLDEN[row]
    known: dict[str, Any] = {"randomizer": "randomized response", "colluders": 0}
    how = known if recorded["hypothesis"] == "known" else {}
    groups = [darrm.VoterGroup(count, recorded["eps"], **how) for count in recorded["groups"]]
    problem = darrm.DecisionProblem(groups, recorded["promised"], 0.5, max_affected=1)
    table = np.array(recorded["table"]).reshape(problem.table_shape)
    label = OneLabel(problem, table, {}, certified=False)
    for own, (lower, upper) in zip(label.kinds.values(), recorded["totals_fine"], strict=True):
        total = of_label(own, recorded["Q"], recorded["delta"], "fresh", 1e-3)
        assert total.lower <= upper * (1 + 1e-4)
        assert total.upper == pytest.approx(upper, rel=2e-4)
        assert total.upper >= lower


@pytest.mark.thorough
def test_a_change_in_several_groups_has_its_own_total() -> None:
    both = design_of([0.3, 1.0, 1.2], max_affected=2)
    total = compose(both, 20, delta=1e-6, voters="fresh")
    single = compose(
        darrm.Design(both.problem.kinds["several groups"], both.table, GOAL), 20, delta=1e-6, voters="fresh"
    )
    assert total.upper == total.of["several groups"].upper == pytest.approx(single.upper, rel=1e-9)
    assert total.of["group 1"].upper < total.of["several groups"].upper
    alone = max_queries(both, [100.0, 100.0, single.upper], 1e-6, voters="fresh")
    assert alone == max_queries(both, single.upper, 1e-6, voters="fresh") >= 20
    for wrong in ([1.0, 2.0], [1.0, 2.0, 3.0, 4.0]):
        with pytest.raises(darrm.InputError, match="a list of 3: group 1, group 2, several groups"):
            max_queries(both, wrong, 1e-6, voters="fresh")


@pytest.mark.thorough
def test_the_total_of_several_deltas_holds_for_every_kind() -> None:
    """The largest epsilon and the largest delta: at the delta of another kind the epsilon of one may not hold."""
    design = design_of([0.3, 1.0, 1.2], max_affected=2)
    deltas = [1e-2, 1e-6, 1e-3]
    total = compose(design, 10, delta=deltas, voters="fresh")
    assert [own.delta for own in total.of.values()] == deltas
    assert total.upper == max(own.upper for own in total.of.values())
    assert total.delta == max(deltas)
    for kind, own in total.of.items():
        assert compose(design.of_kind(kind), 10, delta=total.delta, voters="fresh").upper <= total.upper
        assert own.lower <= own.estimate <= own.upper
    at_most = max(compose(design, 10, delta=total.delta, voters="fresh").of.values(), key=lambda own: own.upper)
    assert total.lower == total.of["group 1"].lower <= at_most.upper  # a lower bound at that delta
    assert total.lower <= total.estimate <= total.upper


@pytest.mark.thorough
def test_what_is_for_one_kind_says_so() -> None:
    design = design_of([0.3, 1.0], max_affected=1)
    assert "epsilon=0.3 delta=0 for a change in group 1, epsilon=1 delta=0 for a change in group 2, max" in repr(design)
    one = design.of_kind("group 1")
    assert repr(one).startswith("<Design 4 of epsilon 1, 5 of epsilon 1; epsilon=0.3 delta=0 for a change in group 1, ")
    assert "for a change" not in repr(design_of(1.0, max_affected=1))
    assert "for a change" not in repr(design_of([0.3, 1.0, 1.2], max_affected=2).of_kind("several groups"))
    total = compose(design, 5, delta=0.0, voters="fresh")
    said = "<Total of 5 labels of fresh voters: (1.5, 0) for a change in group 1, (5, 0) for a change in group 2>"
    assert re.sub(r"[.]00000\d*", "", repr(total)) == said
    assert re.fullmatch(
        r"<Total of 1 label of fresh voters: \(1(.00000\d*)?, 0\)>",
        repr(compose(design.of_kind("group 2"), 1, delta=0.0, voters="fresh")),
    )


@pytest.mark.slow
def test_a_plan_spends_the_budget_of_each_group() -> None:
    asked: dict[str, Any] = {
        "base_accuracy": 0.9,
        "max_affected": 1,
        "queries": 10,
        "total_delta": 1e-6,
        "voters": "fresh",
        "compare": False,
    }
    groups = [(3, 1.0), (6, 1.0)]
    found = darrm.plan(groups, total_epsilon=[0.8, 3.0], **asked)
    assert found.comparison is None
    total = compose(found.design, 10, delta=1e-6, voters="fresh")
    for kind, budget in (("group 1", 0.8), ("group 2", 3.0)):
        own = found.of[kind]
        assert own.total_epsilon == budget
        assert 0.99 * budget < own.spent <= budget
        assert total.of[kind].upper <= budget
    assert max_queries(found.design, [0.8, 3.0], 1e-6, voters="fresh") == 10
    strict, loose = (darrm.plan(groups, total_epsilon=one, **asked).wrong for one in (0.8, 3.0))
    assert loose < found.wrong < strict
    said = darrm.show.plan_words.together(found)
    assert "for a change in group 1, within (0.8, 1e-06)" in said
    assert "for a change in group 2, within (3, 1e-06)" in said
    with pytest.raises(darrm.InputError, match="a list of 2"):
        darrm.plan(groups, total_epsilon=[1.0, 2.0, 3.0, 4.0], **asked)
    with pytest.raises(darrm.InputError, match="auto"):
        darrm.plan([(3, "auto"), (6, 1.0)], total_epsilon=[1.0, 2.0], **asked)
    with pytest.raises(darrm.InputError, match=r"must be a number\. Got"):
        darrm.plan(
            K=9,
            epsilon=1.0,
            prior="uniform",
            total_epsilon=[1.0],
            max_affected=1,
            queries=10,
            total_delta=1e-6,
            voters="fresh",
        )


@pytest.mark.slow
def test_equal_budgets_of_groups_plan_what_one_budget_plans() -> None:
    asked: dict[str, Any] = {"accuracy": 0.7, "max_affected": 1, "queries": 30, "total_delta": 1e-6, "voters": "fresh"}
    one, two = (
        darrm.plan([(3, 1.0), (4, 0.7)], total_epsilon=total, compare=False, **asked) for total in (2.0, [2.0, 2.0])
    )
    assert two.wrong == pytest.approx(one.wrong, rel=3e-4)
    assert two.design.profile == ()
    assert one.of == {}
    assert max(own.spent for own in two.of.values()) <= 2.0


@pytest.mark.thorough
def test_a_plan_that_is_stopped_has_simple_noise_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the time ended where the first optimum is looked for."""

    def ended(*arguments: object, **named: object) -> None:
        raise OutOfTime

    monkeypatch.setattr(designs, "RenyiProgram", ended)
    asked: dict[str, Any] = {"accuracy": 0.7, "max_affected": 1, "queries": 30, "total_delta": 1e-6, "voters": "fresh"}
    found = darrm.plan([(2, 1.0), (3, 1.0)], total_epsilon=[0.5, 1.0], time_limit=1e6, **asked)
    assert not found.complete
    for own in found.of.values():
        assert own.spent <= own.total_epsilon
    assert max_queries(found.design, [0.5, 1.0], 1e-6, voters="fresh") >= 30


def least_wrong(groups: list[int], epsilon: float, pairs: list[tuple[int, bool, float]], delta: float) -> float:
    """The least error rate of one label by a program written down here: a variable for each vector of counts.

    ``pairs`` has a group whose voter is affected, whether the other voters randomize as stated, and the epsilon of the
    label. Right answers have a probability of .8, before voters draw their votes by randomized response.
    """
    hi = math.exp(epsilon) / (1 + math.exp(epsilon))
    shape = tuple(count + 1 for count in groups)

    def votes(ones: list[float], zeros: list[float], certain: tuple[int, int]) -> np.ndarray:
        """The distribution of the number of votes for 1: some certain, the others with these probabilities."""
        found = np.zeros(1) + 1.0
        for p in [*ones, *zeros, *[1.0] * certain[1], *[0.0] * certain[0]]:
            found = np.convolve(found, [1 - p, p])
        return found

    def together(each: list[np.ndarray]) -> np.ndarray:
        return functools.reduce(np.multiply.outer, each).ravel()

    rows, limits = [], []
    for g, known, most in pairs:
        for truths in product(*(range(count + 1 - (i == g)) for i, count in enumerate(groups))):
            sides = []
            for moved in (hi, 1 - hi):
                own = []
                for i, (count, ones) in enumerate(zip(groups, truths, strict=True)):
                    left = count - (i == g)
                    others = ([hi] * ones, [1 - hi] * (left - ones), (0, 0)) if known else ([], [], (left - ones, ones))
                    own.append(votes([*others[0], *[moved] * (i == g)], others[1], others[2]))
                sides.append(together(own))
            for P, Q in (sides, sides[::-1]):
                rows += [P - math.exp(most) * Q, -(P - math.exp(most) * Q)]  # of answer 1, of answer 0
                limits += [delta, delta + math.exp(most) - 1]
    right = objectives.randomized_response_accuracy(0.8, epsilon, 2)
    one = together([votes([right] * count, [], (0, 0)) for count in groups])
    zero = together([votes([], [1 - right] * count, (0, 0)) for count in groups])
    found = linprog((zero - one) / 2, np.array(rows), np.array(limits), bounds=(0, 1))
    assert found.status == 0
    assert math.prod(shape) == found.x.size
    return float(0.5 + found.fun)


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_one_label_is_the_optimum_of_one_program(delta: float) -> None:
    """With one budget or two, for one kind of change or several; the program is written anew."""
    known: dict[str, Any] = {"randomizer": "randomized response", "colluders": 0}
    asked: dict[str, Any] = {"base_accuracy": 0.8, "max_affected": 1, "queries": 1, "voters": "fresh", "compare": False}
    alone = [darrm.VoterGroup(5, 1.2, **known)]
    one, seconds = 0.3, (0.35, 0.5, math.inf)
    found = [
        darrm.plan(alone, total_epsilon=one, total_delta=delta, fallback_epsilon=second, **asked) for second in seconds
    ]
    for plan, second in zip(found, seconds, strict=True):
        pairs = [(0, True, one), *([(0, False, second)] if second < math.inf else [])]
        assert plan.wrong == pytest.approx(least_wrong([5], 1.2, pairs, delta), abs=1e-7)
        assert plan.spent <= one
        assert plan.fallback <= second
        assert plan.design.gap < 1e-7
    assert found[0].wrong > found[1].wrong + 1e-4 > found[2].wrong + 2e-4
    groups = [darrm.VoterGroup(count, 1.2, **known) for count in (2, 3)]
    both = darrm.plan(groups, total_epsilon=[0.2, 0.6], total_delta=delta, fallback_epsilon=0.75, **asked)
    pairs = [(0, True, 0.2), (1, True, 0.6), (0, False, 0.25), (1, False, 0.75)]
    assert both.wrong == pytest.approx(least_wrong([2, 3], 1.2, pairs, delta), abs=1e-7)
    assert both.wrong > least_wrong([2, 3], 1.2, pairs[:2], delta) + 1e-4
    assert [own.spent <= own.total_epsilon for own in both.of.values()] == [True, True]
    assert [own.fallback <= 1.25 * own.total_epsilon for own in both.of.values()] == [True, True]
    anyone = [darrm.VoterGroup(count, 1.2) for count in (2, 3)]
    plain = darrm.plan(anyone, total_epsilon=[0.2, 0.6], total_delta=delta, **asked)
    pairs = [(0, False, 0.2), (1, False, 0.6)]
    assert plain.wrong == pytest.approx(least_wrong([2, 3], 1.2, pairs, delta), abs=1e-7)


@pytest.mark.slow
def test_a_second_budget_for_each_group() -> None:
    """With a known randomizer, each group has a second budget, and all four are kept by one table."""
    groups = [darrm.VoterGroup(count, 1.0, randomizer="randomized response", colluders=0) for count in (3, 6)]
    found = darrm.plan(
        groups,
        base_accuracy=0.9,
        max_affected=1,
        queries=10,
        total_epsilon=[0.8, 3.0],
        total_delta=1e-6,
        voters="fresh",
    )
    label = darrm.accounting.releases.one_label(found.design)
    for kind, own in found.of.items():
        assert own.spent <= own.total_epsilon
        assert own.fallback <= 2 * own.total_epsilon
        anyway = of_label(label.kinds[kind].of_any_voters(), 10, 1e-6, "fresh", 1e-3)
        assert anyway.upper <= own.fallback * (1 + 1e-9)
    assert max(own.spent / own.total_epsilon for own in found.of.values()) > 0.98


@pytest.mark.thorough
def test_a_ledger_ends_with_the_first_budget_that_is_spent(tmp_path: Path, design: darrm.Design) -> None:
    path = tmp_path / "ledger.json"
    ledger = Ledger.create(path, design, total_epsilon=[2.0, 50.0], total_delta=[1e-6, 1e-6], voters="fresh")
    allowed = ledger.remaining(design)
    assert allowed == max_queries(
        design.__class__(design.problem.kinds["group 1"], design.table, GOAL), 2.0, 1e-6, voters="fresh"
    )
    ledger.charge(design, allowed - 1)
    assert ledger.remaining(design) == 1
    balances = Ledger(path).balances()
    total = compose(design, allowed - 1, delta=1e-6, voters="fresh")
    for kind, own in balances.items():
        assert own.epsilon == pytest.approx(total.of[kind].upper, rel=1e-2)
        assert own.epsilon <= own.total_epsilon
    assert ledger.spent() == (max(own.epsilon for own in balances.values()), 1e-6)
    with pytest.raises(darrm.BudgetError, match="1 is left"):
        ledger.charge(design, 2)
    ledger.charge(design)
    with pytest.raises(darrm.BudgetError):
        ledger.charge(design)
    assert Ledger(path).status()["left"] == 0
    other = Ledger.create(tmp_path / "other.json", design, total_epsilon=[50.0, 2.0], total_delta=1e-6, voters="fresh")
    assert other.remaining(design) < allowed  # the other group's budget ends first


@pytest.mark.thorough
def test_one_budget_holds_every_kind_of_change(tmp_path: Path, design: darrm.Design) -> None:
    ledger = Ledger.create(tmp_path / "one.db", design, total_epsilon=2.0, total_delta=1e-6, voters="fresh")
    ledger.charge(design)
    total = compose(design, 1, delta=1e-6, voters="fresh")
    assert {kind: own.total_epsilon for kind, own in ledger.balances().items()} == dict.fromkeys(
        design.problem.kinds, 2.0
    )
    for kind, own in ledger.balances().items():
        assert own.epsilon == pytest.approx(total.of[kind].upper, rel=1e-2)


def test_what_a_ledger_refuses(tmp_path: Path, design: darrm.Design) -> None:
    with pytest.raises(darrm.BudgetError, match=r"for a change in group 2 does not cover one label"):
        Ledger.create(tmp_path / "a.json", design, total_epsilon=[2.0, 0.1], total_delta=1e-6, voters="fresh")
    with pytest.raises(darrm.InputError, match="a list of 2: group 1, group 2"):
        Ledger.create(tmp_path / "a.json", design, total_epsilon=[2.0], total_delta=1e-6, voters="fresh")
    with pytest.raises(darrm.InputError, match="total_epsilon"):
        Ledger.create(
            tmp_path / "a.json", total_epsilon=[2.0, 3.0], total_delta=1e-6, voters="fresh", rule="basic-filter"
        )
    for rule in ("basic-filter", "in-advance", "renyi-filter"):
        one = Ledger.create(tmp_path / f"{rule}.json", total_epsilon=9.0, total_delta=1e-5, voters="fresh", rule=rule)
        with pytest.raises(darrm.InputError, match="one budget, and this design a limit for each group"):
            one.charge(design)
    path = tmp_path / "kept.json"
    Ledger.create(path, design, total_epsilon=[2.0, 8.0], total_delta=1e-6, voters="fresh").charge(design, 2)
    content = ledgers.content(path)
    for changed in (
        {"total_epsilon": [2.0]},
        {"total_epsilon": [2.0, -1.0]},
        {"total_delta": [1e-6, 2.0]},
        {"total_epsilon": ["2", 8.0]},
    ):
        ledgers.forge(path, {**content, **changed})
        with pytest.raises(darrm.InputError):
            Ledger(path)


@pytest.mark.thorough
def test_fixed_voters_pay_for_each_kind_of_change(tmp_path: Path) -> None:
    design = design_of([0.3, 1.0], ((4, 0.5), (5, 1.0)), max_affected=1)
    total = compose(design, 1000, delta=1e-6, voters="fixed")
    assert total.of["group 1"].upper <= 0.5
    assert 0.5 < total.of["group 2"].upper <= 1.0
    paid = Ledger.create(tmp_path / "a.json", design, total_epsilon=[0.5, 1.0], total_delta=1e-6, voters="fixed")
    assert paid.remaining(design) is None
    with pytest.raises(darrm.BudgetError, match="does not cover one label"):
        Ledger.create(tmp_path / "b.json", design, total_epsilon=[0.5, 0.99], total_delta=1e-6, voters="fixed")

"""A limit for each group where voters may be absent: every attendance, kind and total beside a listing of its own."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import thorough
from oracles import decisions, several_classes

import darrm
from darrm.accounting import Ledger, compose, max_queries
from darrm.accounting.profile import privacy_profile
from darrm.cli import main
from darrm.design.design import in_file
from darrm.design.loading import from_content
from darrm.problem.class_votes import all_votes, class_probabilities

Floats = np.ndarray[Any, Any]
GROUPS = ((2, 1.0), (1, 0.7), (1, 1.5))
GOAL = darrm.objectives.truth([0.8, 0.7, 0.75])
# Limits of the groups, and of several if there is one more; the most voters in all; the groups that each affects.
LIMITS = {
    "alone": ([0.2, 0.9, 0.5], [0.0, 1e-2, 0.0], 1, [[0], [1], [2]]),
    "two of one group": ([0.6, 0.3, 1.5], [0.0, 0.0, 0.0], 2, [[0], [1], [2]]),
    "several": ([0.3, 0.5, 0.4, 0.7], [0.0, 0.0, 1e-3, 1e-3], 2, [[0], [1], [2], [0, 1, 2]]),
}


def problem_of(name: str, classes: int = 2) -> darrm.DecisionProblem:
    epsilon, delta, most, _ = LIMITS[name]
    groups = [darrm.VoterGroup(*group) for group in GROUPS]
    return darrm.DecisionProblem(groups, epsilon, delta, classes=classes, max_affected=most)


def attendances() -> list[tuple[int, ...]]:
    return [present for present in product(*(range(count + 1) for count, _ in GROUPS)) if any(present)]


def in_full(design: darrm.Design) -> Floats:
    """The table with a row for every vector of votes, also of a design that treats all classes alike."""
    problem = design.problem
    if problem.binary:
        return design.table
    table = class_probabilities(design.table, problem, all_votes(problem))
    return table.reshape(*problem.table_shape, problem.n_answers)


def pairs(table: Floats, present: tuple[int, ...], reached: list[int], most: int, classes: int = 2) -> list[Any]:
    """All pairs of distributions of the answer that a change in these groups can have, with these voters present."""
    kind = decisions if classes == 2 else several_classes
    groups = [
        kind.Group(count, epsilon, 0.0, count if g in reached else 0)
        for g, (count, (_, epsilon)) in enumerate(zip(present, GROUPS, strict=True))
        if count
    ]
    if classes > 2:
        full = several_classes.full(table, groups, classes)
        found = several_classes.truth(full, groups, classes, most)
        return [*zip(found.p_side.astype(float), found.q_side.astype(float), strict=True)]
    truth = decisions.truth(table, groups, most)
    half = len(truth.p_side) // 2  # the first half is answer 1
    sides = zip(truth.p_side[:half], truth.q_side[:half], strict=True)
    return [(np.array([float(p), float(1 - p)]), np.array([float(q), float(1 - q)])) for p, q in sides]


def excess(rows: list[Any], epsilon: float) -> float:
    return max(float(np.maximum(P - math.exp(epsilon) * Q, 0).sum()) for P, Q in rows)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["several", *thorough("alone", "two of one group")])
@pytest.mark.parametrize("classes", [2, *thorough(3)])
def test_every_attendance_keeps_the_limit_of_every_change(name: str, classes: int) -> None:
    """Whatever of the voters is present, no change of a kind has more than its limit, by listing."""
    epsilon, delta, most, kinds = LIMITS[name]
    problem = problem_of(name, classes)
    design = darrm.solve(problem, objective=GOAL, absent=True)
    bound, of_kinds = 0, [design.of_kind(kind) for kind in problem.kinds]
    for present in attendances():
        table = in_full(design.with_present(present))
        for one, e, d, reached in zip(of_kinds, epsilon, delta, kinds, strict=True):
            found = excess(pairs(table, present, reached, most, classes), e)
            assert found <= d + 1e-12
            bound += found > d - 1e-9
            there = one.with_present(present)
            assert there.certificate.needed_delta == pytest.approx(found, abs=1e-11)
            assert there.problem.max_affected == min(most, sum(present[g] for g in reached))
    assert bound >= len(kinds)  # limits are reached, so none is stricter than asked


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*LIMITS])
def test_any_table_is_judged_by_the_limits_of_the_present_groups(name: str) -> None:
    """Random tables: refused exactly if the listing finds a kind beyond its limit."""
    epsilon, delta, most, kinds = LIMITS[name]
    problem, draw, judged = problem_of(name), np.random.default_rng(7), set[bool]()
    for present in attendances():
        own = problem.with_present(present)
        for spread in (0.05, 0.4, 1.0):
            table = 0.5 + spread * (draw.random(own.table_shape) - 0.5)
            each = [excess(pairs(table, present, reached, most), e) for e, reached in zip(epsilon, kinds, strict=True)]
            kept = all(found <= d for found, d in zip(each, delta, strict=True))
            assert darrm.verify(table, own).holds == kept
            judged.add(kept)
    assert judged == {True, False}


def brute(rows: list[Any], queries: int, a: float) -> float:
    """The largest excess of adaptive labels, each by any of these pairs: by recursion over all that was released."""
    P, Q = (np.array([row[side] for row in rows]) for side in (0, 1))

    def after(x: Floats, y: Floats, left: int) -> Floats:
        if not left:
            return np.maximum(x - a * y, 0)
        inner = after(x[..., None, None] * P, y[..., None, None] * Q, left - 1)
        return np.asarray(inner.sum(axis=-1).max(axis=-1))

    return float(after(np.array(1.0), np.array(1.0), queries))


def mixed(classes: int) -> darrm.Design:
    """Two voters, of which the second decides while the first is away: the kinds have their worst cases elsewhere."""
    problem = darrm.DecisionProblem(
        [darrm.VoterGroup(1, 1.5), darrm.VoterGroup(1, 1.0)], [0.4, 0.9], classes=classes, max_affected=1
    )
    return darrm.solve(problem, objective=darrm.objectives.truth([0.8, 0.7]), absent=True)


def pairs_of_kind(design: darrm.Design, reached: int) -> list[Any]:
    """The pairs of all attendances, both ways, each once."""
    found: dict[bytes, Any] = {}
    problem = design.problem
    for present in ((0, 1), (1, 0), (1, 1)):
        kind = decisions if problem.n_classes == 2 else several_classes
        groups = [
            kind.Group(1, group.epsilon, 0.0, int(g == reached))
            for g, (count, group) in enumerate(zip(present, problem.groups, strict=True))
            if count
        ]
        table = in_full(design.with_present(present))
        if problem.n_classes == 2:
            truth = decisions.truth(table, groups, 1)
            half = len(truth.p_side) // 2
            sides = [[np.array([float(x), float(1 - x)]) for x in side[:half]] for side in truth]
        else:
            full = several_classes.truth(several_classes.full(table, groups, 3), groups, 3, 1)
            sides = [[*side.astype(float)] for side in (full.p_side, full.q_side)]
        for P, Q in zip(*sides, strict=True):
            for row in ((P, Q), (Q, P)):
                found[np.round(row, 13).tobytes()] = row
    return [*found.values()]


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [2, *thorough(3)])
def test_the_total_of_a_kind_is_the_recursion_over_all_attendances(classes: int) -> None:
    """Who is present may be chosen label by label, after all labels before; the kind of the change stays the same."""
    design = mixed(classes)
    for queries in (1, 2):
        total = compose(design, queries, delta=1e-2, voters="fresh", tolerance=1e-6)
        for reached, own in enumerate(total.of.values()):
            rows = pairs_of_kind(design, reached)
            assert brute(rows, queries, math.exp(own.upper)) <= 1e-2 * (1 + 1e-9)
            assert brute(rows, queries, math.exp(own.upper * 0.99)) > 1e-2
            assert own.lower <= own.upper <= own.lower * 1.001
        assert total.upper == max(own.upper for own in total.of.values())
    alone = compose(design.with_present((1, 0)), 2, delta=1e-2, voters="fresh")
    assert alone.upper <= total.of["group 1"].upper < total.of["group 2"].upper


@pytest.mark.thorough
def test_a_change_of_absent_voters_alone_costs_nothing() -> None:
    design = mixed(2)
    there = design.of_kind("group 1").with_present((0, 1))
    assert there.problem.max_affected == 0
    assert there.certificate.tight_epsilon == there.certificate.needed_delta == 0.0
    assert privacy_profile(there.table, there.problem, [0.0, 0.5]).tolist() == [0.0, 0.0]
    assert compose(there, 50, delta=0.0, voters="fresh").upper == 0.0


@pytest.mark.thorough
def test_files_keep_every_limit_and_readers_refuse_a_table_beyond_one(tmp_path: Path) -> None:
    design = mixed(2)
    design.save(tmp_path / "d.json")
    assert darrm.load(tmp_path / "d.json") == design
    content = json.loads((tmp_path / "d.json").read_text())
    found = darrm.independent.check(content)
    assert (found.wrong, found.loose, found.tables) == ((), (), 3)
    problem = darrm.DecisionProblem(design.problem.groups, [0.5, 0.9], max_affected=1)
    parts = in_file(darrm.solve(problem, objective=design.objective, absent=True))
    assert darrm.independent.check(parts).wrong == ()
    forged = [
        {**content, "fewer": parts["fewer"]},  # of the first group more than its limit, while the other is away
        {**parts, "problem": content["problem"]},
        {**content, "fewer": content["fewer"][:1]},
    ]
    for one in forged:
        with pytest.raises((darrm.InputError, darrm.CertificateError)):
            from_content(one)
        try:
            wrong = darrm.independent.check(one).wrong
        except darrm.InputError:
            continue
        assert any("for a change in group 1 is not" in line for line in wrong)


@pytest.mark.thorough
def test_a_ledger_counts_labels_of_any_attendance(tmp_path: Path) -> None:
    design = mixed(2)
    most = max_queries(design, [2.0, 3.0], 1e-6, voters="fresh")
    ledger = Ledger.create(tmp_path / "l.json", design, total_epsilon=[2.0, 3.0], total_delta=1e-6, voters="fresh")
    assert ledger.remaining(design) == most > 0
    ledger.charge(design, 3)
    assert darrm.mechanisms.PrivateDecision(design).release([[1, -1], [-1, 0], [-1, -1]]).shape == (3,)
    again = Ledger(tmp_path / "l.json")
    assert again.remaining(design) == most - 3
    for kind, balance in again.balances().items():
        assert balance.epsilon == pytest.approx(compose(design, 3, delta=1e-6, voters="fresh").of[kind].upper, rel=1e-2)
    with pytest.raises(darrm.BudgetError):
        again.charge(design, most - 2)


@pytest.mark.thorough
def test_fixed_voters_pay_for_each_kind_whoever_is_absent() -> None:
    total = compose(mixed(2), 1000, delta=1e-6, voters="fixed")
    assert [own.upper for own in total.of.values()] == pytest.approx([1.5, 1.0], abs=1e-5)


@pytest.mark.thorough
def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = "solve --group 1:1.5 --group 1:1 --max-affected 1 --accuracy .8,.7 --release-epsilon .4,.9 --absent"
    assert main([*asked.split(), "--out", "d.json"]) == 0
    Path("v.csv").write_text("a,b\n1,-1\n-1,0\n,1\n")
    for command in (
        "verify d.json",
        "verify d.json --independent",
        "profile d.json",
        "report d.json --short --kind group 1",
        "ledger create l.json d.json --total-epsilon 2,3 --total-delta 1e-6 --voters fresh",
        "release d.json --votes v.csv --out o.csv --ledger l.json",
        "budget d.json --queries 10 --total-delta 1e-6 --voters fresh",
    ):
        assert main([word.replace("\0", " ") for word in command.replace("group ", "group\0").split()]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "tight epsilon 0.4 at delta 0 for a change in group 1, whoever is absent" in said
    assert "of 3 tables" in said
    assert "A change in group 2." in said
    assert "who is absent depends neither" in said
    assert len(Path("o.csv").read_text().splitlines()) == 4


def test_the_exact_limits_of_present_groups() -> None:
    problem = problem_of("several")
    assert problem.with_present((1, 0, 1)).epsilon == (0.3, 0.4, 0.7)
    assert problem.with_present((0, 0, 1)).epsilon == 0.4
    assert problem.with_present((0, 0, 1)).delta == 1e-3
    assert problem_of("two of one group").with_present((1, 1, 0)).max_affected == 1
    assert problem.with_present((2, 0, 0)).max_affected == 2

"""Absent voters and several classes: every attendance has a table of its own, each of which keeps the guarantee."""

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import thorough
from oracles import several_classes

import darrm
from darrm import DecisionProblem, InputError, VoterGroup, objectives
from darrm.accounting.ledger import Ledger
from darrm.cli import main
from darrm.design.absent import attendances, check_absent
from darrm.independent import check
from darrm.problem.class_tables import is_symmetric

truth, rule = objectives.truth, objectives.rule


def of_two_groups(**more: Any) -> DecisionProblem:
    return DecisionProblem([VoterGroup(1, 1.0), VoterGroup(2, 0.5, max_affected=1)], 0.8, classes=3, **more)


DESIGNS: dict[str, Callable[[], darrm.DecisionDesign]] = {
    "alike": lambda: darrm.solve(
        DecisionProblem([VoterGroup(3, 1.0)], 1.2, classes=["cat", "dog", "fox"]), objective=truth([0.6]), absent=True
    ),
    "a prior": lambda: darrm.solve(
        DecisionProblem([VoterGroup(2, 1.0)], 0.7, classes=3),
        objective=truth([0.6], prior=[0.5, 0.3, 0.2]),
        absent=True,
    ),
    "two groups": lambda: darrm.solve(of_two_groups(), objective=truth([0.7, 0.5]), absent=True),
    "none, delta": lambda: darrm.solve(
        DecisionProblem([VoterGroup(2, 1.0, 1e-3)], 0.9, 5e-3, classes=3, none=True),
        objective=truth([0.6], none=0.3),
        absent=True,
        ordered=True,
    ),
    "none of two": lambda: darrm.solve(
        DecisionProblem([VoterGroup(3, 1.0)], 0.9, none=True), objective=truth([0.7], none=0.45), absent=True
    ),
    "a function": lambda: darrm.solve(
        of_two_groups(),
        objective=rule(lambda n: int(n.sum(axis=0).argmax()), [0.7, 0.5], problem=of_two_groups()),
        absent=True,
    ),
}


@pytest.fixture(params=list(DESIGNS))
def design(request: pytest.FixtureRequest) -> darrm.DecisionDesign:
    return DESIGNS[request.param]()


def whole(design: darrm.DecisionDesign) -> tuple[int, ...]:
    return tuple(group.count for group in design.problem.groups)


def by_definition(design: darrm.DecisionDesign, present: tuple[int, ...]) -> several_classes.Truth:
    """All that a table can say, over all corners of all present voters; nothing of darrm but the table."""
    problem, table = design.problem, design.with_present(present).table
    groups = [
        several_classes.Group(n, group.epsilon, group.delta, min(n, group.max_affected))
        for n, group in zip(present, problem.groups, strict=True)
        if n
    ]
    if is_symmetric(table, design.with_present(present).problem):
        listed = several_classes.symmetric(table, groups[0].count, problem.n_classes)
    else:
        listed = several_classes.full(table, groups, problem.n_classes)
    return several_classes.truth(listed, groups, problem.n_classes, problem.max_affected)


def test_every_attendance_keeps_the_guarantee(design: darrm.DecisionDesign) -> None:
    problem = design.problem
    assert set(design.fewer) == set(attendances(problem))
    for present in (*attendances(problem), whole(design)):
        needed = by_definition(design, present).excess(problem.epsilon)
        assert Fraction(needed) <= Fraction(problem.delta)
        assert design.with_present(present).certificate.holds


def test_every_table_is_the_best_one_for_who_is_present(design: darrm.DecisionDesign) -> None:
    for present in attendances(design.problem):
        alone = darrm.solve(
            design.problem.with_present(present),
            objective=design.objective.with_present(present),
            ordered=design.ordered,
        )
        assert design.fewer[present] == alone


@pytest.mark.thorough
def test_files_come_back_and_both_checks_agree(design: darrm.DecisionDesign, tmp_path: Path) -> None:
    path = tmp_path / "design.json"
    design.save(path)
    assert darrm.load(path) == design
    content = json.loads(path.read_text(encoding="utf-8"))
    found = check(content)
    assert (found.wrong, found.loose, found.tables) == ((), (), 1 + len(design.fewer))


@pytest.mark.thorough
def test_a_table_for_fewer_voters_that_tells_too_much_is_seen(tmp_path: Path) -> None:
    design = DESIGNS["two groups"]()
    design.save(tmp_path / "design.json")
    content = json.loads((tmp_path / "design.json").read_text(encoding="utf-8"))
    for place, part in enumerate(content["fewer"]):
        if not part["present"][0]:  # the one vote of .5 that one record affects may be published
            continue
        n = len(part["table_hex"])  # three entries for each vector of votes, whose first varies slowest
        sure = {**part, "table_hex": [float(i % 3 == 3 * (i // 3) // (n // 3)).hex() for i in range(n)]}
        fewer = [*content["fewer"][:place], sure, *content["fewer"][place + 1 :]]
        assert any("present voters" in line for line in check({**content, "fewer": fewer}).wrong), part["present"]
    few = dict(list(design.fewer.items())[1:])
    with pytest.raises(InputError, match="every vector of present voters"):
        darrm.DecisionDesign(design.problem, design.table, design.objective, gap=design.gap, fewer=few)


@pytest.mark.thorough
def test_without_votes_answers_that_cost_least_are_equally_likely() -> None:
    assert DESIGNS["alike"]().answers_without_votes == (1 / 3, 1 / 3, 1 / 3)
    assert DESIGNS["a prior"]().answers_without_votes == (1.0, 0.0, 0.0)
    assert DESIGNS["none, delta"]().answers_without_votes == (0.0, 0.0, 0.0, 1.0)  # .3 where a guess costs 2 / 3


def test_columns_for_analysis_have_every_attendance_and_all_names(design: darrm.DecisionDesign) -> None:
    problem, columns = design.problem, design.columns()
    groups, several = len(problem.groups), len(problem.groups) > 1
    rows = list(zip(*columns.values(), strict=True))
    assert next(iter(columns)) == "present_1"
    assert rows[0] == (*(0,) * groups, *(0,) * groups * problem.n_classes, *design.answers_without_votes)
    votes = [f"votes_{name}" + f"_{g}" * several for g in range(1, groups + 1) for name in problem.names]
    assert list(columns)[groups : groups + len(votes)] == votes
    seen = set()
    for row in rows[1:]:
        present, counts = row[:groups], np.array(row[groups : groups + len(votes)]).reshape(groups, -1)
        assert tuple(counts.sum(axis=1)) == present
        own = design.with_present(present)
        assert row[groups + len(votes) :] == tuple(
            own.probabilities(counts[counts.sum(axis=1) > 0][np.newaxis])[0].tolist()
        )
        seen.add(row[: groups + len(votes)])
    each = math.prod(math.comb(group.count + problem.n_classes, problem.n_classes) for group in problem.groups)
    assert len(seen) == len(rows) - 1 == each - 1


@pytest.mark.thorough
def test_a_ledger_counts_them(tmp_path: Path) -> None:
    design = DESIGNS["two groups"]()
    ledger = Ledger.create(tmp_path / "ledger.json", design, total_epsilon=3.0, total_delta=1e-6, voters="fresh")
    ledger.charge(design, 2)
    again = Ledger(tmp_path / "ledger.json")
    assert again.status()["released"] == 2
    assert again.remaining(design) == 1
    assert again.rests_on()[0][1] is True


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("large", "alike"),
    [
        (DecisionProblem([VoterGroup(40, 1.0)], 1.0, classes=3), True),
        (DecisionProblem([VoterGroup(6, 1.0), VoterGroup(6, 1.0)], 1.0, classes=4), False),
        *thorough((DecisionProblem([VoterGroup(2000, 1.0, max_affected=1)], 1.0, classes=3), True)),
    ],
)
def test_too_many_voters_are_refused_with_what_fits(large: DecisionProblem, alike: bool) -> None:
    with pytest.raises(InputError, match=r"searches.* would fit") as refusal:
        check_absent(large, alike=alike)
    assert "\n" not in str(refusal.value)
    check_absent(DecisionProblem([VoterGroup(12, 1.0)], 1.0, classes=3), alike=True)
    check_absent(DecisionProblem([VoterGroup(25, 1.0, max_affected=1)], 1.0, classes=3), alike=True)


@pytest.mark.thorough
def test_the_command_line_solves_verifies_and_releases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    line = ["solve", "--group", "3:1.0", "--total-epsilon", "1.5", "--classes", "cat,dog,fox", "--accuracy", ".6"]
    assert main([*line, "--absent", "--out", "design.json"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Voters may be absent: 2 further tables" in said
    assert "If no voter is present, cat, dog, fox are equally likely." in said
    for options in ([], ["--independent"], ["--json"]):
        assert main(["verify", "design.json", *options]) == 0
    Path("votes.csv").write_text("id,v1,v2,v3\nq1,cat,,dog\nq2,cat,cat,-1\nq3,,,\n", encoding="utf-8")
    assert main(["release", "design.json", "--votes", "votes.csv", "--out", "labels.csv"]) == 0
    labels = dict(row.split(",") for row in Path("labels.csv").read_text(encoding="utf-8").split()[1:])
    assert list(labels) == ["q1", "q2", "q3"]
    assert set(labels.values()) <= {"cat", "dog", "fox"}
    assert "who is absent depends neither on the data nor on votes" in capsys.readouterr().err
    assert main(["report", "design.json", "--out", "page.html"]) == 0
    assert "no voter is present, each of 3 labels is equally likely" in Path("page.html").read_text(encoding="utf-8")

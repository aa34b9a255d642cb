"""The command line shows decisions between several classes."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from cases import thorough

import darrm
from darrm.cli import common, main
from darrm.show import classes

THREE = ["--group", "5:0.7", "--total-epsilon", "1.2", "--accuracy", ".6", "--classes", "ash,birch,cedar"]
CASES = {
    "alike": THREE,
    "none": [*THREE, "--none", ".3", "--objective", "plurality"],
    "named": [*THREE, "--prior", ".5,.3,.2"],
    "two groups": [*THREE[:5], ".6,.7", *THREE[6:], "--group", "2:1"],
    "two and none": [*THREE[:6], "--none", ".45"],
}


@pytest.fixture(scope="module", params=CASES)
def once(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    file, out = tmp_path_factory.mktemp("solved") / "decision.json", io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["solve", *CASES[request.param], "--out", str(file)]) == 0
    return file, out.getvalue()


@pytest.fixture
def solved(once: tuple[Path, str], tmp_path: Path) -> tuple[Path, str]:
    """A design file, and what was printed."""
    file, out = once
    return Path(shutil.copy(file, tmp_path)), out


def load(file: Path) -> darrm.DecisionDesign:
    design = darrm.load(file)
    assert isinstance(design, darrm.DecisionDesign)
    return design


def joined(text: str) -> str:
    return " ".join(text.split())


def test_solve_tells_rows_guarantee_and_figures(solved: tuple[Path, str]) -> None:
    file, out = solved
    design = load(file)
    problem, shown = design.problem, classes.telling(design)
    lines = [line.split() for line in out.splitlines()]
    lines = lines[next(i for i, line in enumerate(lines) if line[:1] == ["votes"]) :]  # below its note and its meaning
    width = problem.n_answers + 1
    table = {" ".join(line[:-width]): line[-width:] for line in lines if len(line) > width and line[0][0].isdigit()}
    assert list(table) == [classes.votes_text(votes) for votes in shown.votes.tolist()]
    numbers = np.array([[float(cell) for cell in row] for row in table.values()])
    np.testing.assert_allclose(numbers[:, :-1], shown.chances, atol=5e-7)
    np.testing.assert_allclose(numbers[:, -1], shown.often, atol=5e-5)
    assert ["votes", *classes.answer_heads(design), "Pr[votes]"] in lines
    said = joined(out)
    assert f"one decision from the votes of K = {problem.K} voters is (1.2, 0)-DP, if the votes are" in said
    assert f"expected cost {design.expected_cost:.8g} (" in said
    assert "above the optimum" in said
    assert "tight epsilon 1.2 at delta 0" in said
    assert ("Note: an answer that costs more is likelier" in said) is bool(design.reversals)
    answers, places = classes.worst_places(design.certificate.worst_case)
    assert f"answer {classes.answers_of(problem.answers, answers)} has probability" in said
    for place in places:
        assert f"{place.voters} of group {place.group} {classes.said(place, problem)}" in said
    if len(shown.votes) < shown.every:
        assert f"(The 30 most likely of {shown.every} vectors of votes, with total probability " in said


@pytest.mark.first(2)
def test_verify_says_the_same(solved: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    file, out = solved
    assert main(["verify", str(file)]) == 0
    again, named = " ".join(capsys.readouterr().out.split()).split(" A ledger calls it ")
    assert "according to the file" in again
    assert again.replace(", according to the file", "") == " ".join(out.split())
    assert named == f"{common.account_of(load(file)).called}."


def test_the_exported_columns_are_votes_and_answers(
    solved: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    file, _ = solved
    design, out = load(file), file.with_suffix(".csv")
    assert main(["export", str(file), "--out", str(out)]) == 0
    with out.open(newline="") as lines:
        header, *rows = csv.reader(lines)
    groups = [f"_{g}" for g in range(1, len(design.problem.groups) + 1)]
    ends = groups if len(groups) > 1 else [""]
    votes = [f"votes_{name}{end}" for end in ends for name in design.problem.names]
    assert header == [*votes, *(f"probability_{answer}" for answer in design.problem.answers)]
    whole = classes.rows(design)
    assert len(rows) == whole.every
    np.testing.assert_array_equal(np.array(rows)[:, len(votes) :].astype(float), whole.chances)
    np.testing.assert_array_equal(np.array(rows)[:, : len(votes)].astype(int), whole.votes.reshape(whole.every, -1))
    assert main(["verify", str(out)]) == 2
    assert "is a table for analysis" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.parametrize("once", ["none", *thorough("alike", "named", "two groups", "two and none")], indirect=True)
def test_profile_and_report(solved: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    file, _ = solved
    assert main(["profile", str(file), "--epsilons", "0,1.2,inf", "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["profile"]
    assert points[0]["delta"] > 0.1
    assert [point["delta"] for point in points[1:]] == [0, 0]
    assert main(["report", str(file), "--short"]) == 0
    assert "Private decision by" in file.with_suffix(".html").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", ["40", "80", "200"])
@pytest.mark.parametrize("case", ["none", *thorough("two groups")])
def test_lines_fit_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: str, case: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert main(["solve", *CASES[case]]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= int(width)


def test_answers_that_have_no_room_are_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    options = ["--group", "3:0.7", "--classes", "5", "--total-epsilon", "1.2", "--accuracy", ".6"]
    assert main(["solve", *options]) == 0
    assert "3 of 5 answers. --out or --json has all." in joined(capsys.readouterr().out)


@pytest.mark.thorough
def test_a_picture_is_drawn_or_refused_before_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "triangle.svg"
    assert main(["solve", *CASES["none"], "--plot", str(picture)]) == 0
    text = picture.read_text(encoding="utf-8")
    assert "<svg" in text
    assert len(text) > 10_000
    capsys.readouterr()
    picture.unlink()
    assert main(["solve", *CASES["two groups"], "--plot", str(picture)]) == 2
    error = capsys.readouterr().err
    assert "--plot: A picture of more than two answers shows decisions of one group" in error
    assert "Solved" not in error
    assert not picture.exists()


def test_tables_of_problems_hold_two_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "problems.csv"
    file.write_text("groups,total_epsilon,accuracy,classes\n4:1.0,1.0,[.7],3\n")
    assert main(["table", "--problems", str(file), "--out", str(tmp_path / "out.csv")]) == 2
    assert "a table holds decisions between two answers. Got the column classes." in capsys.readouterr().err


def test_votes_for_a_release_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", *CASES["alike"], "--out", str(tmp_path / "decision.json")]) == 0
    assert "or 0 to 2, for each of 5 voters" in capsys.readouterr().err

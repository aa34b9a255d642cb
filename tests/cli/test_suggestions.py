"""Whatever command the command line prints runs as it is printed, with a number for DELTA."""

import random
import re
import shlex
from pathlib import Path

import pytest
from cases import slow

import darrm
from darrm.cli import main

MAJORITY = ["solve", "--K", "5", "--m", "2", "--epsilon", "0.5"]
DECISION = ["solve", "--group", "3:1", "--group=2:.5", "--total-epsilon", "1", "--accuracy", ".8,.7", "--ordered"]
NAMES = "solve|verify|release|compare|table|profile|budget|plan|ledger|report|explore|audit|demo|export"
LINE = re.compile(rf"^  (darrm (?:{NAMES}) .*)$", re.MULTILINE)
IN_ERROR = re.compile(rf"Run: (darrm (?:{NAMES}) .*)$", re.MULTILINE)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with votes of five voters."""
    monkeypatch.chdir(tmp_path)
    made = random.Random(1)
    rows = [",".join(made.choice("01") for _ in range(5)) for _ in range(20)]
    Path("votes.csv").write_text("a,b,c,d,e\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path


def suggested(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The commands in what was printed; a command that stands elsewhere fails."""
    said = "\n".join(capsys.readouterr())
    found = LINE.findall(said) + IN_ERROR.findall(said)
    assert len(found) == len(re.findall(rf"\bdarrm (?:{NAMES})\b(?!-)", said)), said
    return found


def run_all(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """Run a command, and all that it suggests; the names of those."""
    assert main(arguments) == 0, capsys.readouterr().err
    commands = [shlex.split(command)[1:] for command in suggested(capsys)]
    for command in commands:
        assert main(command) == 0, (command, capsys.readouterr().err)
    capsys.readouterr()
    return [command[0] for command in commands]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "more",
    [
        *slow((["--prior", "common:2,3", "--both-shapes", "--voter-delta", "1e-5", "--max-affected", "3"],)),
        ["--voter-delta", "0.3", "--delta", "0.4"],
    ],
    ids=["more", "large delta"],
)
def test_of_a_majority(capsys: pytest.CaptureFixture[str], more: list[str]) -> None:
    assert run_all(capsys, *MAJORITY, *more) == ["solve", "compare"]
    kept = darrm.load("gamma.json")
    assert kept.problem.max_affected == (3 if "--max-affected" in more else 5)
    found = run_all(capsys, *MAJORITY, *more, "--out", "it's gamma.json")
    assert found[:2] == ["report", "release"]
    assert found[2:] == (["budget"] if "0.4" not in more else [])


@pytest.mark.thorough
def test_of_a_decision(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_all(capsys, *DECISION) == ["solve"]
    kept = darrm.load("decision.json")
    assert isinstance(kept, darrm.DecisionDesign)
    assert kept.ordered
    assert run_all(capsys, *DECISION, "--out", "decision.json") == ["report", "release", "budget"]


@pytest.mark.thorough
def test_of_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    plan = ["plan", "--K", "5", "--epsilon", "0.5", "--accuracy", ".6", "--max-affected", "1", "--queries", "20"]
    budget = ["--total-epsilon", "4", "--total-delta", "1e-5", "--voters", "fresh", "--no-comparison"]
    assert run_all(capsys, *plan, *budget) == ["plan"]
    assert run_all(capsys, *plan, *budget, "--out", "design.json") == ["ledger", "release"]
    assert darrm.accounting.Ledger("design-ledger.db").status()["released"] == 20


def test_of_several_labels(capsys: pytest.CaptureFixture[str]) -> None:
    darrm.solve(K=5, m=2, epsilon=0.5, Delta=1e-5).save("gamma.json")
    assert run_all(capsys, "release", "gamma.json", "--votes", "votes.csv", "--out", "labels.csv") == ["budget"]
    fixed = darrm.load("gamma.json").for_plan("fixed")
    fixed.save("fixed.json")
    assert main(["release", "fixed.json", "--votes", "votes.csv", "--out", "others.csv"]) == 0
    [command] = suggested(capsys)  # the delta of the plan, which its file does not hold
    assert main(shlex.split(command.replace("--total-delta DELTA", "--total-delta 1e-5"))[1:]) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "--design", "decision.json", "--eta", "beta:1,1", "--n", "10"],
        ["ledger", "show", "no ledger"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_of_an_error(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    darrm.solve(
        darrm.DecisionProblem([darrm.VoterGroup(5, epsilon=1.0)], 0.5), objective=darrm.objectives.truth([0.8])
    ).save("decision.json")
    assert main(arguments) == 2
    [command] = suggested(capsys)
    assert main(shlex.split(command)[1:]) == 0


@pytest.mark.slow
def test_of_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_all(capsys, "demo") == ["plan"]

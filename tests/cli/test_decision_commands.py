"""Decisions by groups of voters on the command line: solved, verified, released, refused."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripts import COMMAND, PROGRAMS

import darrm
from darrm.cli import main
from darrm.cli.problem import take_asked
from darrm.cli.solve import command
from darrm.show.classes import warning
from darrm.show.report.answers import forbids
from darrm.show.typed import goals
from darrm.votes import csv as votes_csv

GROUPS = ["--group", "4:1.0", "--group", "7:0.2", "--total-epsilon", "1.4"]
TRUTH = ["--objective", "truth", "--accuracy", ".685,.54"]
SMALL = ["--group", "2:2", "--group", "1:1", "--total-epsilon", "1", "--accuracy", ".8,.6"]
N = 3000


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 2) -> str:
    capsys.readouterr()
    assert main(arguments) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert captured.err.startswith("darrm: ")
    return captured.err


def last_voter_decides(absent: bool = False) -> darrm.DecisionDesign:
    """Almost no noise: the two voters of group 1 are not counted, the one of group 2 is the answer."""
    groups = [darrm.VoterGroup(2, epsilon=40.0), darrm.VoterGroup(1, epsilon=40.0)]
    problem = darrm.DecisionProblem(groups, epsilon=1000.0, classes=("no", "yes"))
    truth = darrm.objectives.truth([0.5, 1.0], prior=[0.75, 0.25])
    if not absent:
        return darrm.DecisionDesign(problem, [[0, 1]] * 3, truth)
    fewer = {}
    for present in ((0, 1), (1, 0), (1, 1), (2, 0)):
        own = problem.with_present(present)
        table = np.full(own.table_shape, 0.0)
        table[..., -1] = float(present[1])  # the last axis is that of group 2, if it is there
        fewer[present] = darrm.DecisionDesign(own, table, truth.with_present(present))
    return darrm.DecisionDesign(problem, [[0, 1]] * 3, truth, fewer=fewer)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Decisions without noise, one of them for absent voters, and votes in many blocks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(votes_csv, "_BLOCK", 1000)
    last_voter_decides().save("decision.json")
    last_voter_decides(absent=True).save("absent.json")
    lines = [f"q{i},{','.join(map(str, row))}\n" for i, row in enumerate(drawn().tolist())]
    Path("votes.csv").write_text("id,a,b,c\n" + "".join(lines), encoding="utf-8")
    return tmp_path


def drawn() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2, (N, 3))


def release(design: str = "decision.json", votes: str = "votes.csv", out: str = "labels.csv") -> int:
    return main(["release", design, "--votes", votes, "--out", out, "--overwrite"])


def answers(out: str = "labels.csv") -> list[str]:
    return [line.split(",")[1] for line in Path(out).read_text(encoding="utf-8").splitlines()[1:]]


# Solve and verify


@pytest.mark.thorough
def test_solve_gives_what_the_library_gives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "decision.json"
    got = run_json(capsys, "solve", *GROUPS, *TRUTH, "--out", str(path))
    groups = [darrm.VoterGroup(4, epsilon=1.0), darrm.VoterGroup(7, epsilon=0.2)]
    problem = darrm.DecisionProblem(groups, epsilon=1.4)
    wanted = darrm.solve(problem, objective=darrm.objectives.truth([0.685, 0.54]))
    assert got["expected_cost"] == pytest.approx(wanted.expected_cost, abs=1e-9)
    assert {"problem", "table", "objective", "gap", "certificate", "absent", "ordered", "seconds"} <= got.keys()
    assert got["problem"]["groups"][1] == {"count": 7, "epsilon": 0.2, "delta": 0.0, "max_affected": 7}
    loaded = darrm.load(path)
    assert isinstance(loaded, darrm.DecisionDesign)
    assert loaded.problem == problem
    assert loaded.table.tolist() == got["table"]


@pytest.mark.parametrize(
    ("options", "objective"),
    [
        (["--objective", "majority"], darrm.objectives.rule("majority", [0.7])),
        (["--objective", "at-least:3"], darrm.objectives.rule(darrm.objectives.at_least(3), [0.7])),
        (["--objective", "weights:2"], darrm.objectives.rule([2.0], [0.7])),
        (["--prior", ".9,.1"], darrm.objectives.truth([0.7], [0.9, 0.1])),
        (["--cost", "0,5,1,0"], darrm.objectives.truth([0.7], None, [[0, 5], [1, 0]])),
        (["--accuracy", ".9:.1/.2:.8"], darrm.objectives.truth([[[0.9, 0.1], [0.2, 0.8]]])),
        (["--prior", ".9,.1", "--objective", "truth"], darrm.objectives.truth([0.7], [0.9, 0.1])),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_objectives_are_those_of_the_library(
    capsys: pytest.CaptureFixture[str], options: list[str], objective: darrm.objectives.Objective
) -> None:
    given = options if "--accuracy" in options else ["--accuracy", ".7", *options]
    got = run_json(capsys, "solve", "--group", "5:0.5", "--total-epsilon", "1", *given)
    assert got["objective"] == json.loads(json.dumps(objective.as_dict()))


@pytest.mark.parametrize(
    "command",
    [
        ["solve", "--total-epsilon", "1"],
        *(
            [
                name,
                "--voters",
                "fixed",
                "--queries",
                "3",
                "--total-epsilon",
                "1",
                "--total-delta",
                "0",
                "--max-affected",
                "1",
            ]
            for name in ("plan", "compare")
        ),
    ],
    ids=["solve", "plan", "compare"],
)
def test_one_accuracy_is_for_all_groups(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    groups = ["--group", "2:0.5", "--group", "2:1"]
    found = [run_json(capsys, *command, *groups, "--accuracy", text) for text in (".8", ".8,.8")]
    for one in found:
        one.pop("seconds", None)
    assert found[0] == found[1]


def test_tables_and_numbers_of_accuracy_stand_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    groups = ["--group", "2:1", "--group", "1:inf", "--group", "1:2", "--total-epsilon", "1"]
    got = run_json(capsys, "solve", *groups, "--accuracy", ".7,1:0/0.25:0.75,.6")
    wanted = darrm.objectives.truth([0.7, [[1, 0], [0.25, 0.75]], 0.6])
    assert got["objective"] == json.loads(json.dumps(wanted.as_dict()))


def test_m_says_the_guarantee_of_a_group_too(capsys: pytest.CaptureFixture[str]) -> None:
    """The same voters by --K and by --group: one guarantee, and the table of all is no worse than gamma_opt."""
    voters = ["--max-affected", "4", "--delta", "1e-4", "--m", "3", "--objective", "disagreement", "--prior", "uniform"]
    majority = run_json(capsys, "solve", "--K", "11", "--epsilon", ".1", "--voter-delta", "1e-5", *voters)
    group = run_json(capsys, "solve", "--group", "11:.1:1e-5", *voters)
    assert 0.3 == group["problem"]["epsilon"] < 3 * 0.1  # at most the exact product, which no float64 is
    assert group["problem"]["delta"] == majority["problem"]["delta"]
    assert group["expected_cost"] <= majority["disagreement"] + 1e-9
    ordered = run_json(capsys, "solve", "--group", "11:.1:1e-5", *voters, "--ordered")
    assert ordered["expected_cost"] == pytest.approx(majority["disagreement"], abs=1e-9)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--group", "3:1", "--group", "2:.5", "--m", "2", "--accuracy", ".7"], "--m needs votes of one epsilon"),
        (["--group", "3:inf", "--m", "2", "--accuracy", ".7"], "--m needs votes of one epsilon"),
        (["--group", "3:1", "--m", "4", "--accuracy", ".7"], r"--m must be in \(0, 3\]"),
        (["--group", "3:1", "--m", "2", "--total-epsilon", "1", "--accuracy", ".7"], "takes the place of"),
        (["--group", "3:1", "--m", "2", "--accuracy", ".7", "--engine", "full-list"], "is for a majority"),
        (["--group", "3:1", "--m", "2", "--accuracy", ".7", "--shape", "monotone"], "is for a MajorityProblem"),
        (["--group", "3:1", "--m", "2", "--prior", "uniform", "--cost", "0,1,1,0"], "--cost goes with --accuracy"),
        (["--K", "3", "--epsilon", "1", "--m", "2", "--absent"], "--absent is for groups of voters"),
        (["--K", "3", "--epsilon", "1", "--m", "2", "--accuracy", ".7"], "is for groups of voters"),
    ],
)
def test_options_that_the_voters_have_no_use_for(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", *options]) == 2
    assert re.search(said, capsys.readouterr().err.replace("\n", " "))


def taken(*options: str) -> tuple[darrm.DecisionProblem, darrm.objectives.Objective]:
    """What ``darrm solve`` would solve."""
    with command.make_context("solve", list(options)) as context:
        asked = take_asked(dict(context.params), context.params["prior"])
    return asked["problem"], asked["objective"]


@pytest.mark.parametrize(
    ("options", "answers", "objective"),
    [
        (["--accuracy", ".7"], "a b c", darrm.objectives.truth([0.7])),
        (["--accuracy", ".7", "--none", ".25"], "a b c none", darrm.objectives.truth([0.7], none=0.25)),
        (
            ["--accuracy", ".8:.1:.1/.25:.5:.25/0:0:1", "--prior", ".5,.25,.25"],
            "a b c",
            darrm.objectives.truth([[[0.8, 0.1, 0.1], [0.25, 0.5, 0.25], [0, 0, 1]]], [0.5, 0.25, 0.25]),
        ),
        (
            ["--accuracy", ".7", "--cost", "0,1,2,3,0,4,5,6,0"],
            "a b c",
            darrm.objectives.truth([0.7], None, [[0, 1, 2], [3, 0, 4], [5, 6, 0]]),
        ),
        (
            ["--accuracy", ".7", "--cost", "0,1,2,3,0,4,5,6,0,.1,.2,.3"],
            "a b c none",
            darrm.objectives.truth([0.7], None, [[0, 1, 2], [3, 0, 4], [5, 6, 0], [0.1, 0.2, 0.3]]),
        ),
        (
            ["--accuracy", ".7", "--cost", "0,1,2,3,0,4,5,6,0", "--none", ".5"],
            "a b c none",
            darrm.objectives.truth([0.7], None, [[0, 1, 2], [3, 0, 4], [5, 6, 0], [0.5] * 3]),
        ),
        (["--accuracy", ".7", "--objective", "plurality"], "a b c", darrm.objectives.rule("plurality", [0.7])),
        (
            ["--accuracy", ".7", "--objective", "weights:2", "--none", "1"],
            "a b c none",
            darrm.objectives.rule([2.0], [0.7], none=1.0),
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_three_classes_reach_problem_and_objective(
    options: list[str], answers: str, objective: darrm.objectives.Objective
) -> None:
    problem, got = taken("--group", "4:1", "--total-epsilon", "1", "--classes", "a,b,c", *options)
    assert problem.answers == tuple(answers.split())
    assert got.of(problem) == objective.of(problem)


def test_a_number_of_classes_names_them_by_numbers() -> None:
    problem, _ = taken("--group", "4:1", "--total-epsilon", "1", "--classes", "4", "--accuracy", ".7")
    assert problem.answers == ("0", "1", "2", "3")
    two, _ = taken("--group", "4:1", "--total-epsilon", "1", "--accuracy", ".7", "--cost", "0,1,1,0,.2,.2")
    assert two.answers == ("0", "1", "none")


PROFILES = {
    "points.csv": "name,epsilon,delta\na,0.5,0.2\nb,1,0.01\nc,inf,0\n",
    "points.json": "[[0.5, 0.2], [1, 0.01], [null, 0]]",
    "printed.json": '{"profile": [{"epsilon": 0.5, "delta": 0.2, "delta_lower": 0.1}, '
    '{"epsilon": 1.0, "delta": 0.01, "delta_lower": 0}, {"epsilon": null, "delta": 0.0, "delta_lower": 0.0}]}',
}


@pytest.mark.thorough
@pytest.mark.first(1)
@pytest.mark.parametrize("text", [".5:.2,1:.01,inf:0", *PROFILES])
@pytest.mark.parametrize(
    "of", [[*SMALL[:4], "--total-epsilon", "1.5", *SMALL[6:]], ["--K", "5", "--m", "3", "--epsilon", ".5"]], ids=len
)
def test_a_profile_is_kept_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, of: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in PROFILES.items():
        Path(name).write_text(content, encoding="utf-8")
    got = run_json(capsys, "solve", *of, "--profile", text, "--out", "design.json")
    points = [[0.5, 0.2], [1.0, 0.01], [None, 0.0]]
    assert got["profile"] == points
    found = run_json(capsys, "profile", "design.json", "--epsilons", ".5,1,inf")["profile"]
    assert all(point["delta"] <= delta for point, (_, delta) in zip(found, points, strict=True))
    assert main(["verify", "design.json"]) == 0
    assert "above the optimum" in (said := " ".join(capsys.readouterr().out.split()))
    assert " with this profile" in said
    free = run_json(capsys, "solve", *of, "--out", "free.json")
    assert main(["verify", "free.json"]) == 0
    assert "with this profile" not in capsys.readouterr().out
    assert free["profile"] == []
    loose = run_json(capsys, "profile", "free.json", "--epsilons", ".5")["profile"]
    assert loose[0]["delta"] > 0.2  # without a profile more is given away


@pytest.mark.parametrize(
    ("text", "content", "said"),
    [
        ("1", None, "--profile must be EPS:DELTA,EPS:DELTA"),
        (".5:.1:2", None, "--profile must be EPS:DELTA,EPS:DELTA"),
        ("1:.1,.5:.01", None, "A profile must have rising epsilons"),
        ("1:2", None, "A delta of profile must be in [0, 1)"),
        ("nan:.1", None, "An epsilon of profile must be"),
        ("no.csv", None, "no.csv could not be read"),
        ("bad.csv", "epsilon,gamma\n1,2\n", "bad.csv holds no profile: a CSV"),
        ("bad.csv", "epsilon,delta\n1,x\n", "bad.csv holds no profile: a CSV"),
        ("bad.csv", "epsilon,delta\n1\n", "bad.csv holds no profile: a CSV"),
        ("bad.csv", "epsilon,delta\n", "it has no point"),
        ("bad.json", "{}", "bad.json holds no profile"),
        ("bad.json", "3", "bad.json holds no profile"),
        ("bad.json", "[[1, null]]", "bad.json holds no profile"),
        ("bad.json", "\x00", "bad.json holds no profile"),
    ],
)
def test_profiles_that_are_none(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    content: str | None,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path(text).write_text(content, encoding="utf-8")
    assert said in refused(capsys, "solve", *SMALL, "--profile", text)


def test_the_profile_of_a_decision(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "decision.json")
    assert main(["solve", *SMALL, "--out", path]) == 0
    capsys.readouterr()
    found = run_json(capsys, "profile", path, "--epsilons", "0,.4,1,inf")["profile"]
    design = darrm.load(path)
    wanted = darrm.accounting.privacy_profile(design.table, design.problem, [0, 0.4, 1, np.inf])
    assert [point["delta"] for point in found] == wanted.tolist()
    assert all(point["delta_lower"] <= point["delta"] for point in found)
    assert main(["profile", path]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "(2, 0)-DP in group 1 (2 voters)" in out
    assert "The guarantee of the design is (1, 0)-DP." in out


@pytest.mark.thorough
def test_the_profile_with_absent_voters_is_the_largest(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """The table of everybody says nothing; that of one voter alone says what it votes."""
    problem = darrm.DecisionProblem([darrm.VoterGroup(2, 0.5)], 1.0)
    coin = darrm.objectives.truth([0.6])
    alone = darrm.DecisionDesign(problem.with_present((1,)), [0.0, 1.0], coin.with_present((1,)))
    darrm.DecisionDesign(problem, [0.5] * 3, coin, fewer={(1,): alone}).save("design.json")
    found = run_json(capsys, "profile", "design.json", "--epsilons", "0,.5")["profile"]
    assert found[0]["delta"] == pytest.approx(np.tanh(0.25), rel=1e-9)  # of one voter, at epsilon 0
    assert 0 < found[0]["delta_lower"] <= found[0]["delta"]
    assert main(["profile", "design.json"]) == 0
    assert "who is absent depends neither" in " ".join(capsys.readouterr().out.split())


@pytest.mark.thorough
def test_the_profile_of_a_decision_is_drawn(tmp_path: Path, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    assert main(["profile", "decision.json", "--epsilons", "1", "--plot", "profile.svg"]) == 0
    assert "<svg" in Path("profile.svg").read_text(encoding="utf-8")


def test_every_option_reaches_the_problem(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--group", "3:inf:0:1", "--group", "2:1:1e-6:2", "--total-epsilon", "2", "--delta", "1e-5"]
    more = ["--max-affected", "2", "--classes", "no, yes", "--adjacency", "add-remove", "--accuracy", ".9,.6"]
    got = run_json(capsys, "solve", *options, *more, "--ordered")
    assert got["problem"] == {
        "groups": [
            {"count": 3, "epsilon": None, "delta": 0.0, "max_affected": 1},
            {"count": 2, "epsilon": 1.0, "delta": 1e-6, "max_affected": 2},
        ],
        "epsilon": 2.0,
        "delta": 1e-5,
        "classes": ["no", "yes"],
        "max_affected": 2,
        "adjacency": "add-remove",
        "none": False,
    }
    assert got["ordered"] is True
    assert got["certificate"]["holds"] is True


@pytest.mark.thorough
def test_solve_tells_the_result_to_a_reader(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "decision.json")
    assert main(["solve", *GROUPS, *TRUTH, "--out", path]) == 0
    out = " ".join(capsys.readouterr().out.split())
    design = darrm.load(path)
    assert isinstance(design, darrm.DecisionDesign)
    assert "rows are the votes for it in group 2, columns those in group 1" in out
    for j in range(8):  # the larger group is in the lines
        assert " ".join([str(j), *(f"{design.table[i, j]:.3f}" for i in range(5))]) in out
    assert "K = 11 voters is (1.4, 0)-DP, if the votes are independent given the data, each is (1, 0)-DP in" in out
    assert (
        "in group 1 (4 voters) and (0.2, 0)-DP in group 2 (7 voters), and a change to a neighbouring data "
        "set (replace-one) affects" in out
    )
    assert f"expected cost {design.expected_cost:.8g} (the label error rate), at most" in out
    assert "worst case: " in out
    assert main(["verify", path]) == 0
    again = " ".join(capsys.readouterr().out.split())
    assert "optimum, according to the file The guarantee does not rest on the accuracy" in again  # of the gap alone
    assert again.replace(", according to the file", "").partition(" A ledger calls it")[0] == out


@pytest.mark.thorough
def test_a_release_says_that_clear_votes_can_lose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An optimum may give up votes that its objective takes to be rare."""
    (tmp_path / "votes.csv").write_text(",".join(f"v{j}" for j in range(11)) + "\n" + ",".join("01000000000"))
    for ordered in ([], ["--ordered"]):
        design, labels = str(tmp_path / f"{len(ordered)}.json"), str(tmp_path / f"{len(ordered)}.csv")
        solve = [
            "solve",
            "--group",
            "11:0.5",
            "--total-epsilon",
            "1.5",
            "--accuracy",
            ".6",
            "--objective",
            "at-least:3",
        ]
        assert main([*solve, *ordered, "--out", design]) == 0
        capsys.readouterr()
        assert main(["release", design, "--votes", str(tmp_path / "votes.csv"), "--out", labels]) == 0
        said = "Note: the cheaper answer is the less likely one" in capsys.readouterr().err
        assert said is not bool(ordered)


def test_clear_votes_that_can_lose_name_the_command_that_forbids_it() -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(11, 0.5)], epsilon=1.5)
    solved = darrm.solve(problem, objective=darrm.objectives.rule(darrm.objectives.at_least(3), [0.6]))
    for by, design in (("solve", solved), ("plan", solved.for_plan("fresh"))):
        assert warning(design).endswith(f" darrm {by} --ordered forbids it.")
        assert f"<code>darrm.{by}(..., ordered=True)</code> forbids it." in forbids(design)


def test_one_group_is_told_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--group", "5:0.5:0:2", "--group", "1:1", "--accuracy", ".6,.6", "--max-affected", "3"]
    assert (
        main(["solve", "--group", "11:0.5", "--total-epsilon", "1.5", "--accuracy", ".6", "--objective", "at-least:3"])
        == 0
    )
    out = capsys.readouterr().out
    assert re.search(r"^ *8:3 +1\.000000", out, re.MULTILINE)
    assert "the probability that the answer is not that of the rule (at least" in " ".join(out.split())
    assert out.startswith("Note: the cheaper answer is the less likely one at")  # above a long table
    assert "darrm solve --ordered forbids it." in " ".join(out.split())
    assert main(["solve", *options, "--total-epsilon", "1"]) == 0
    assert "affects at most 3 voters, of these at most 2 of group 1." in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("columns", ["40", "80", "200"])
@pytest.mark.parametrize("groups", [["60:0.1"], ["40:0.1", "4:0.5"], ["2:1", "2:1", "2:1"]], ids=len)
def test_lines_fit_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, groups: list[str], columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    stated = [text for group in groups for text in ("--group", group)]
    accuracy = ",".join([".6"] * len(groups))
    assert main(["solve", *stated, "--total-epsilon", "1", "--accuracy", accuracy, "--max-affected", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= int(columns)
    assert any("--json" in line for line in lines)


def test_a_table_of_costs_is_no_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(1, 0.5)], 1.0)
    design = darrm.DecisionDesign(problem, [0.4, 0.6], darrm.objectives.costs([[0.0, 0.7], [0.3, 0.0]]))
    design.save(tmp_path / "costs.json")
    assert main(["verify", str(tmp_path / "costs.json")]) == 0
    assert (
        "expected cost 0.4 (the sum over a table of costs, each times the probability of its answer), distance to the "
        "optimum unknown" in " ".join(capsys.readouterr().out.split())
    )


@pytest.mark.thorough
def test_absent_voters_are_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "absent.json")
    assert main(["solve", *SMALL, "--absent", "--out", path]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "and who is absent depends neither on the data nor on votes or their noise." in out
    assert "4 further tables" in out
    assert main(["verify", path]) == 0


@pytest.mark.thorough
def test_too_many_absent_voters_are_refused_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    many = ["--group", "25:1", "--group", "25:.5", "--total-epsilon", "1", "--accuracy", ".7,.6", "--absent"]
    assert "675 searches" in refused(capsys, "solve", *many)


def test_progress_counts_attendances() -> None:
    from darrm.cli.solve import _Attendances
    from darrm_solvers import Progress

    say = _Attendances(5)
    names = Progress._fields
    rounds = [1, 2, 3, 1, 2, 1, 1]
    said = [say(Progress(**{**dict.fromkeys(names, 0), "rounds": n, "rows": 7})) for n in rounds]
    assert [done for done, _, _ in said] == [0, 0, 0, 1, 1, 2, 3]
    assert said[-1] == (3, 5, "table 4 of 5: 7 constraints")


@pytest.mark.thorough
def test_solve_draws_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "decision.svg"
    assert main(["solve", *SMALL, "--plot", str(path)]) == 0
    assert path.read_text(encoding="utf-8").count("<svg") == 1
    four = [text for _ in range(4) for text in ("--group", "1:1")]
    picture = ["--plot", str(tmp_path / "no.svg"), "--accuracy", ".6,.6,.6,.6", "--total-epsilon", "1"]
    assert "one to 3 groups. Got 4" in refused(capsys, "solve", *four, *picture)


# Release


@pytest.mark.thorough
def test_names_of_answers_are_votes_and_labels(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release() == 0
    said = capsys.readouterr().err
    assert "Vote columns were used in order: 1 to 2 as group 1 and 3 to 3 as group 2, that is" in said
    assert "darrm budget" in said
    assert answers() == [("no", "yes")[last] for last in drawn()[:, 2].tolist()]
    # In Python labels are numbers, and the problem says what they are called.
    mechanism = darrm.mechanisms.PrivateDecision(last_voter_decides())
    named = mechanism.design.problem.named
    assert named(mechanism.release(drawn())).tolist() == answers()
    assert [name for block in mechanism.release_blocks([drawn()]) for name in named(block)] == answers()
    assert named(mechanism.release_counts([[2, 0], [0, 1]])).tolist() == ["no", "yes"]
    rows = [",".join(("no", "yes")[vote] for vote in row) + "\n" for row in drawn().tolist()]
    Path("names.csv").write_text("a,b,c\n" + "".join(rows), encoding="utf-8")
    assert release(votes="names.csv", out="again.csv") == 0
    assert answers("again.csv") == answers()


def test_absent_voters_are_minus_one_or_blank(folder: Path) -> None:
    Path("some.csv").write_text("a,b,c\n1,,yes\n,-1,no\nyes,1,\n,,\n-1,-1,1\n", encoding="utf-8")
    assert release("absent.json", "some.csv") == 0
    assert answers() == ["yes", "no", "no", "no", "yes"]


@pytest.mark.thorough
def test_parquet_of_names_numbers_and_nulls(folder: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    columns = {
        "a": pa.array([1, None, 0, -1], pa.int8()),
        "b": pa.array(["yes", None, "no", "no"]).dictionary_encode(),
        "c": pa.array([True, False, None, True]),
    }
    pq.write_table(pa.table(columns), "votes.parquet")
    assert release("absent.json", "votes.parquet", "labels.parquet") == 0
    assert pq.read_table("labels.parquet").column("label").to_pylist() == ["yes", "no", "no", "yes"]


@pytest.mark.parametrize("cell", ["", "-1", "2", "nan", "YES", "NaN", "yes!"])
def test_votes_that_are_none(folder: Path, capsys: pytest.CaptureFixture[str], cell: str) -> None:
    Path("bad.csv").write_text(f"a,b,c\n1,0,1\n1,{cell},0\n", encoding="utf-8")
    arguments = ["--votes", "bad.csv", "--out", "labels.csv"]
    said = refused(capsys, "release", "decision.json", *arguments)
    assert f"bad.csv, line 3, column b: A vote must be no or yes. Got {cell!r}." in said
    if cell not in ("", "-1", "nan", "NaN"):
        said = refused(capsys, "release", "absent.json", *arguments)
        assert f"must be no or yes, or -1 or nothing for an absent voter. Got {cell!r}." in said
    assert not Path("labels.csv").exists()


@pytest.mark.thorough
def test_a_wrong_number_of_columns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for header, row in (("a,b", "1,0"), ("a,b,c,d", "1,0,0,1")):
        Path("bad.csv").write_text(f"{header}\n{row}\n", encoding="utf-8")
        said = refused(capsys, "release", "decision.json", "--votes", "bad.csv", "--out", "labels.csv")
        assert "must have K = 3 vote columns" in said


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL: run on Linux or macOS")
def test_a_kill_within_the_stream(folder: Path) -> None:
    Path("labels.csv").write_text("what stood here", encoding="utf-8")
    arguments = ["release", "decision.json", "--votes", "votes.csv", "--out", "labels.csv", "--overwrite"]
    program = [sys.executable, PROGRAMS / "command_in_blocks.py", "--kill", *arguments]
    assert subprocess.run(program, capture_output=True, timeout=60).returncode == -signal.SIGKILL
    assert Path("labels.csv").read_text(encoding="utf-8") == "what stood here"
    assert release() == 0
    assert len(answers()) == N


def test_an_output_that_cannot_be_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out", "missing/labels.csv"]
    assert "could not be written" in refused(capsys, "release", "decision.json", "--votes", "votes.csv", *out, status=5)
    assert "could not be written" in refused(capsys, "solve", *SMALL, "--out", "missing/decision.json", status=5)


# Files that were changed


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["decision.json", "absent.json"])
def test_one_digit_changed(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Wherever a digit is another one, the file is refused, or does not say anything else."""
    text = Path(name).read_text(encoding="utf-8")
    whole = json.loads(text)
    digits = [match.start() for match in re.finditer("[0-9]", text)]
    for at in digits[:: max(1, len(digits) // 60)]:
        changed = text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :]
        Path("changed.json").write_text(changed, encoding="utf-8")
        status = main(["verify", "changed.json", "--json"])
        captured = capsys.readouterr()
        if status == 0:
            assert json.loads(changed) == whole
        else:
            found = json.loads(captured.out)
            assert found.get("error", found)["status"] == status
            assert len(captured.err.splitlines()) == 1


def test_truncated_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = Path("absent.json").read_text(encoding="utf-8")
    for length in (0, 1, len(text) // 3, len(text) // 2, len(text) - 3):
        Path("cut.json").write_text(text[:length], encoding="utf-8")
        refused(capsys, "verify", "cut.json")
        refused(capsys, "release", "cut.json", "--votes", "votes.csv", "--out", "labels.csv")
    assert not Path("labels.csv").exists()


# Refusals


@pytest.mark.first(15)
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"--group": "0:1"}, "--group 0:1: count must be an integer"),
        ({"--group": "3:-1"}, "--group 3:-1: epsilon must be in"),
        ({"--group": "3:nan"}, "--group 3:nan: epsilon must be in"),
        ({"--group": "3:1:2"}, "delta must be in [0, 1)"),
        ({"--group": "3:1:0:4"}, "max_affected must be an integer in [1, count] = [1, 3]"),
        ({"--group": "3"}, "--group must be COUNT:EPSILON"),
        ({"--group": "3:1:0:1:1"}, "--group must be COUNT:EPSILON"),
        ({"--group": "3:1:1e-6"}, "delta must be given where a group has a delta of its own"),
        ({"--total-epsilon": "nan"}, "epsilon must be in (0, 1e+06]. Got NaN"),
        ({"--total-epsilon": "-1"}, "epsilon must be in (0, 1e+06]. Got -1"),
        ({"--accuracy": ".7,.6"}, "one entry for each of 1 group. Got 2"),
        ({"--accuracy": "1.5"}, "An accuracy must be in [0, 1]. Got 1.5"),
        ({"--accuracy": "nan"}, "An accuracy must be in [0, 1]. Got NaN"),
        ({"--accuracy": "high"}, "--accuracy must be numbers"),
        ({"--accuracy": ".9/.8"}, "--accuracy must be numbers with commas between, or for a group a table"),
        ({"--accuracy": ".9:.1:0/.2:.8:0"}, "--accuracy must be numbers with commas between"),
        ({"--accuracy": ".9:.1/.2:.8/.5:.5"}, "--accuracy must be numbers with commas between"),
        ({"--accuracy": ".9:.1/.2:x"}, "Pass e.g. .7, or .9:.1/.2:.8 for two classes."),
        ({"--accuracy": ".9:.2/.2:.8"}, "A table of accuracy must be rows that sum to 1"),
        ({"--accuracy": ".9:nan/.2:.8"}, "An accuracy must be in [0, 1]. Got NaN"),
        ({"--objective": "at-least:4"}, "at most the number of voters, K = 3"),
        ({"--cost": "0,1,1"}, "--cost must be four numbers, C00,C01,C10,C11, or six"),
        ({"--cost": "0,nan,1,0"}, "cost must be finite and at least 0. Got NaN"),
        ({"--cost": "0,1,1,0", "--objective": "majority"}, "--cost goes with --objective truth"),
        ({"--max-affected": "4"}, "--max-affected must be an integer in [1, 3]"),
        ({"--delta": "1"}, "delta must be in [0, 1)"),
        ({"--objective": "tv"}, f"--objective must be {goals()} for groups"),
        ({"--objective": "at-least:x"}, "k must be an integer"),
        ({"--objective": "weights:1,2"}, "one weight for each of 1 group"),
        ({"--prior": ".5,.6"}, "prior must be probabilities that sum to 1"),
        ({"--prior": "uniform"}, "--prior must be 2 probabilities"),
        ({"--prior": ""}, "--prior must be 2 probabilities"),
        ({"--classes": "1"}, "classes must be an integer in [2, 1000]. Got 1"),
        ({"--classes": "no,no"}, "or as many different names. Got ['no', 'no']"),
        ({"--classes": ""}, "classes must be an integer in [2, 1000], or as many different names. Got ''"),
        ({"--classes": "3", "--accuracy": ".9:.1/.2:.8"}, "is for 2 classes by its accuracy. The problem has 3"),
        ({"--classes": "3", "--prior": ".5,.5"}, "--prior must be 3 probabilities"),
        ({"--classes": "3", "--cost": "0,1,1,0"}, "--cost must be 9 numbers, or 12 with the answer none"),
        ({"--classes": "3", "--objective": "at-least:2"}, "is for 2 classes by its at_least(k). The problem has 3"),
        ({"--classes": "3", "--objective": "majority"}, 'Pass "plurality" for the class with most votes'),
        ({"--classes": "no,none", "--none": ".3"}, "No class may be called none where that is a further answer"),
        ({"--none": "-1"}, "none must be finite and at least 0. Got -1"),
        ({"--none": "nan"}, "none must be finite and at least 0. Got NaN"),
        ({"--none": ".3", "--cost": "0,1,1,0,0.2,0.2"}, 'cost has a row for the answer "none" already'),
        ({"--K": "3"}, "--group is for groups of voters, --K for voters that are all alike"),
        ({"--epsilon": "1"}, "--group is for groups of voters, --epsilon for"),
        ({"--engine": "full-list"}, "A decision is solved without 'engine', which is for a majority"),
    ],
    ids=lambda value: " ".join(f"{a} {b}" for a, b in value.items()) if isinstance(value, dict) else "",
)
def test_bad_options(capsys: pytest.CaptureFixture[str], changes: dict[str, str], said: str) -> None:
    good = {"--group": "3:1", "--total-epsilon": "1", "--accuracy": ".7"}
    assert said in refused(capsys, "solve", *(text for item in (good | changes).items() for text in item))


@pytest.mark.parametrize("arguments", [[], ["--absent"], ["--group", "3:1"], ["--K", "3"], ["--accuracy", ".7"]])
def test_too_few_options(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert re.search(r"Missing (option )?'--", refused(capsys, "solve", *arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "--design", "decision.json", "--eta", "eta.csv"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands_for_majorities_say_so(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    Path("eta.csv").write_text("eta\n0.5\n0.25\n0.75\n", encoding="utf-8")
    assert "is for majorities" in refused(capsys, *arguments)


@pytest.mark.thorough
def test_a_ledger_pays_for_decisions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("decision.json").unlink()
    problem = darrm.DecisionProblem([darrm.VoterGroup(1, 1.0), darrm.VoterGroup(2, 0.2)], 0.5)
    darrm.solve(problem, objective=darrm.objectives.truth([0.8, 0.6])).save("decision.json")
    Path("votes.csv").write_text("a,b,c\n1,0,1\n0,0,1\n", encoding="utf-8")
    book = ["--total-epsilon", "1.2", "--total-delta", "0", "--voters", "fresh"]
    assert main(["ledger", "create", "ledger.json", "decision.json", *book]) == 0
    capsys.readouterr()
    assert main(["budget", "decision.json", "--queries", "2", "--total-delta", "0", "--voters", "fresh", "--json"]) == 0
    total = json.loads(capsys.readouterr().out)["upper"]
    assert 0.5 < total <= 1.0 + 1e-9
    arguments = ["release", "decision.json", "--votes", "votes.csv", "--ledger", "ledger.json", "--out"]
    assert main([*arguments, "labels.csv"]) == 0
    assert darrm.accounting.Ledger("ledger.json").status()["released"] == 2
    assert "would overspend: 2 of 2" in refused(capsys, *arguments, "more.csv", status=3)
    assert not Path("more.csv").exists()


@pytest.mark.thorough
def test_the_help_says_which_columns_are_whose() -> None:
    shown = subprocess.run([sys.executable, COMMAND, "release", "--help"], capture_output=True, text=True, check=True)
    said = " ".join(shown.stdout.split())
    assert "columns are matched by name" in said
    assert "otherwise all columns are used, in the order of its groups" in said


@pytest.mark.parametrize(("epsilon", "public"), [("inf", True), ("1", False)])
def test_a_release_of_votes_that_are_not_private_is_not_told_of_fixed_voters(
    epsilon: str, public: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    design, votes = str(tmp_path / "design.json"), tmp_path / "votes.csv"
    votes.write_text("a,b,c\n1,0,1\n0,0,1\n", encoding="utf-8")
    options = ["--max-affected", "1", "--total-epsilon", "1", "--accuracy", ".8"]
    assert main(["solve", "--group", f"3:{epsilon}", *options, "--out", design]) == 0
    capsys.readouterr()
    assert main(["release", design, "--votes", str(votes), "--out", str(tmp_path / "labels.csv")]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert ("Only the output noise protects" in told) is public
    assert ("Those of fixed voters do not" in told) is not public


@pytest.mark.parametrize("rows", [1, 2])
def test_labels_of_voters_beside_others_without_privacy_are_bounded_by_noise_alone(
    rows: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Released day by day, one by one, labels must not be added up either."""
    design, votes = str(tmp_path / "design.json"), tmp_path / "votes.csv"
    votes.write_text("a,b,c\n" + "1,0,1\n" * rows, encoding="utf-8")
    options = ["--max-affected", "1", "--total-epsilon", "1", "--accuracy", ".8,.6"]
    assert main(["solve", "--group", "2:1", "--group", "1:inf", *options, "--out", design]) == 0
    capsys.readouterr()
    assert main(["release", design, "--votes", str(votes), "--out", str(tmp_path / "labels.csv")]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "Those of fixed voters do not: an affected voter may be non-private" in told
    assert "what the affected voters cost" not in told


@pytest.mark.thorough
def test_what_a_ledger_rests_on_counts_absence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    design, book = str(tmp_path / "design.json"), str(tmp_path / "book.json")
    assert main(["solve", *SMALL, "--absent", "--out", design]) == 0
    budget = ["--total-epsilon", "3", "--total-delta", "0", "--voters"]
    capsys.readouterr()
    assert main(["ledger", "create", book, design, *budget, "fresh"]) == 0
    assert "who is absent depends neither on the data" in " ".join(capsys.readouterr().out.split())


@pytest.mark.thorough
@pytest.mark.parametrize(("epsilon", "voters", "warned"), [("2", "fixed", 1), ("inf", "fixed", 0), ("2", "fresh", 0)])
def test_totals_of_the_same_fixed_voters_are_not_to_be_added(
    epsilon: str, voters: str, warned: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a ledger, below labels that it paid for, and in a budget; not where the voters pay for any number."""
    folder = tmp_path
    design, book, votes = str(folder / "design.json"), str(folder / "book.json"), folder / "votes.csv"
    votes.write_text("a,b,c\n1,0,1\n", encoding="utf-8")
    options = ["--max-affected", "3", "--total-epsilon", "1", "--accuracy", ".6"]
    assert main(["solve", "--group", f"3:{epsilon}", *options, "--out", design]) == 0
    assert (
        main(["ledger", "create", book, design, "--total-epsilon", "3", "--total-delta", "0", "--voters", voters]) == 0
    )
    assert main(["release", design, "--votes", str(votes), "--ledger", book, "--out", str(folder / "labels.csv")]) == 0
    assert main(["budget", design, "--queries", "2", "--total-delta", "0", "--voters", voters]) == 0
    told = capsys.readouterr()
    said = "Do not add this total to another total of the same voters: the sum is not a bound for both."
    assert " ".join(told.out.split()).count(said) == 2 * warned
    assert " ".join(told.err.split()).count(said) == warned
    paid = ["--total-epsilon", "6", "--total-delta", "0", "--voters", voters]
    assert main(["ledger", "create", str(folder / "paid.json"), design, *paid]) == 0
    if epsilon != "inf":  # such voters must be private themselves
        composed = str(folder / "composed.json")
        assert main(["ledger", "create", composed, *paid[:3], "1e-6", *paid[4:], "--rule", "in-advance"]) == 0
        assert main(["ledger", "charge", composed, design]) == 0
    paid_for = " ".join(capsys.readouterr().out.split())
    assert said not in paid_for
    # Other voters of equal privacy are not paid for, and such a ledger cannot tell.
    assert (
        paid_for.count("This total is for one set of voters. Add the total of other voters on the same records")
        == 2 * warned
    )


def test_a_description_of_neighbours_stands_in_quotes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = "replace-one) reaches none of them, so that (whoever"
    plan = ["--K", "3", "--epsilon", "1", "--base-accuracy", ".8", "--max-affected", "1", "--queries", "2"]
    budget = ["--total-epsilon", "2", "--total-delta", "0", "--voters", "fresh", "--adjacency", said]
    assert main(["plan", *plan, *budget, "--no-comparison"]) == 0
    assert main(["ledger", "create", str(tmp_path / "book"), "--rule", "basic-filter", *budget]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.count(said) == told.count(repr(said)) == 2


@pytest.mark.thorough
def test_figures_are_the_largest_of_all_attendances(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With one voter of group 1 present the delta and the tight epsilon are larger than with all."""
    groups = [darrm.VoterGroup(3, 0.01, 0.0, 1), darrm.VoterGroup(1, 3.3, 0.0, 1)]
    problem = darrm.DecisionProblem(groups, epsilon=0.1, delta=0.02, max_affected=1)
    design = darrm.solve(problem, objective=darrm.objectives.truth(accuracy=[0.9, 0.6]), absent=True)
    largest = max(part.certificate.tight_epsilon for part in design.fewer.values())
    assert largest > design.certificate.tight_epsilon + 0.01
    design.save(tmp_path / "absent.json")
    assert main(["verify", str(tmp_path / "absent.json")]) == 0
    found = " ".join(capsys.readouterr().out.split())
    assert f"tight epsilon {largest:.6g} at delta 0.02, whoever is absent" in found
    assert "of 4 voters present:" in found
    whole = darrm.solve(K=5, m=1, epsilon=1.0, delta=1.00004e-3)
    whole.save(tmp_path / "whole.json")
    assert main(["verify", str(tmp_path / "whole.json")]) == 0
    found = " ".join(capsys.readouterr().out.split())
    assert "at delta 0.00100004" in found


@pytest.mark.thorough
def test_compare_of_groups_is_the_comparison_of_python(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["compare", "--group", "2:1.0", "--group", "3:.2", "--release-epsilon", "1.4", "--accuracy", ".7,.6"]
    problem = darrm.DecisionProblem([darrm.VoterGroup(2, 1.0), darrm.VoterGroup(3, 0.2)], 1.4)
    found = darrm.compare(problem, objective=darrm.objectives.truth([0.7, 0.6]))
    assert main([*line, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["mechanisms"]
    assert [row["name"] for row in rows] == [entry.name for entry in found]
    assert [row["wrong"] for row in rows] == pytest.approx([entry.wrong for entry in found], abs=1e-9)
    assert main(line) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"optimum {found[0].expected_cost:.6f} {found[0].wrong:.6f}" in out
    assert re.search(r"permute-and-flip [\d.]+ [\d.]+ [\d.]+ yes .* permute-and-flip: epsilon [\d.]+ for one", out)
    assert "The guarantee holds if the votes are independent" in out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--queries", "5"], "--queries goes with --K and --m, or with a privacy budget"),
        (["--K", "3"], "--K for voters that are all alike"),
        (["--voter-delta", ".1"], "--voter-delta for voters that are all alike"),
        (["--randomized-response"], "--randomized-response for voters that are all alike"),
        (["--total-epsilon", "2"], "Pass one of them"),
        (["--base-accuracy", ".7"], "--base-accuracy is for one privacy budget"),
        (["--voters", "fresh"], "--voters is for one privacy budget"),
    ],
)
def test_compare_of_groups_refuses_what_it_has_no_use_for(
    capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    line = ["compare", "--group", "3:1.0", "--release-epsilon", "1.4", "--accuracy", ".7", *more]
    assert main(line) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_compare_of_groups_asks_for_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    for line, missing in (
        (["--group", "3:1.0", "--accuracy", ".7"], "--release-epsilon"),
        (["--group", "3:1.0", "--release-epsilon", "1"], "--accuracy"),
    ):
        assert main(["compare", *line]) == 2
        assert f"Missing option '{missing}'" in capsys.readouterr().err

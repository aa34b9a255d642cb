"""The short check that the documentation prints: it finds designs fine that are, and forged ones not."""

from __future__ import annotations

import ast
import json
import math
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import darrm
from darrm.cli import main

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "check_design.py"
Voters = darrm.VoterGroup


def decision(groups: list[darrm.VoterGroup], *problem: Any, **more: Any) -> Any:
    settings = {name: more.pop(name) for name in ("classes", "max_affected") if name in more}
    objective = darrm.objectives.truth([0.7, 0.6][: len(groups)])
    return darrm.solve(darrm.DecisionProblem(groups, *problem, **settings), objective=objective, **more)


DESIGNS: dict[str, Callable[[], Any]] = {
    "majority": lambda: darrm.solve(K=7, m=2, epsilon=0.5),
    "an even number": lambda: darrm.solve(K=6, m=1.5, epsilon=0.5, shape="monotone"),
    "delta, few reached": lambda: darrm.solve(K=5, m=1, epsilon=0.5, Delta=1e-3, max_affected=2),
    "a profile": lambda: darrm.solve(K=5, m=2, epsilon=0.5, Delta=1e-3, profile=[(0.5, 0.4), (math.inf, 0.009)]),
    "groups": lambda: decision([Voters(2, 1.0), Voters(3, 0.2)], 1.0),
    "groups with delta": lambda: decision([Voters(2, 1.0, 1e-4), Voters(2, 0.2, 0.0, 1)], 1.0, 1e-3, max_affected=2),
    "not private": lambda: decision([Voters(5, math.inf)], 1.0, 0.0, max_affected=1),
    "absent voters": lambda: decision([Voters(2, 1.0), Voters(1, 0.5)], 1.0, absent=True),
    "planned": lambda: decision([Voters(3, 0.5)], 1.0).for_plan("fixed"),
}


def verdict(content: dict[str, Any], folder: Path) -> tuple[int, str, str]:
    path = folder / "content.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    ended = subprocess.run([sys.executable, "-I", SCRIPT, path], capture_output=True, text=True)
    return ended.returncode, re.sub(r"^[1-9]\d* cases, some ms each\n", "", ended.stdout), ended.stderr


def forged(content: dict[str, Any]) -> list[dict[str, Any]]:
    """One number that claims more each: the release's epsilon, the voters', those reached, the table."""
    made = []
    problem = content["problem"]
    grouped = "groups" in problem
    less = {**problem, "epsilon" if grouped else "m": problem["epsilon" if grouped else "m"] * (1 - 1e-9)}
    made.append({**content, "problem": less})
    if grouped and problem["groups"][0]["epsilon"] is not None:
        groups = [{**group, "epsilon": group["epsilon"] * (1 + 1e-8)} for group in problem["groups"]]
        made.append({**content, "problem": {**problem, "groups": groups}})
    elif grouped:
        groups = [{**group, "max_affected": 2} for group in problem["groups"]]
        made.append({**content, "problem": {**problem, "groups": groups, "max_affected": 2}})
    name = "table_hex" if grouped else "gamma_hex"
    values = [float.fromhex(x) for x in content[name]]
    surer = [min(1.0, max(0.0, 0.5 + (x - 0.5) * (1 + 1e-9) if grouped else x * (1 + 1e-9))) for x in values]
    made.append({**content, name: [x.hex() for x in surer]})
    made.append({**content, "profile": [[0.01, 0.0]]})
    if "fewer" in content:
        *parts, last = content["fewer"]
        sure = {**last, "table_hex": [float(i > 1).hex() for i in range(len(last["table_hex"]))]}
        made.append({**content, "fewer": [*parts, sure]})
    return made


@pytest.mark.thorough
@pytest.mark.parametrize("name", DESIGNS)
def test_it_agrees_and_sees_what_is_forged(name: str, tmp_path: Path) -> None:
    DESIGNS[name]().save(tmp_path / "design.json")
    content = json.loads((tmp_path / "design.json").read_text(encoding="utf-8"))
    assert verdict(content, tmp_path) == (0, "It holds.\n", "")
    for place, other in enumerate(forged(content)):
        assert verdict(other, tmp_path) == (1, "It does not hold.\n", ""), place


@pytest.mark.thorough
def test_what_is_not_whole_is_not_judged(tmp_path: Path) -> None:
    """Each of these would hold as it stands, for what is missing is what would not."""
    decision([Voters(2, 1.0)], 1.0, absent=True).save(tmp_path / "design.json")
    absent = json.loads((tmp_path / "design.json").read_text(encoding="utf-8"))
    darrm.solve(K=3, m=1, epsilon=0.5).save(tmp_path / "design.json")
    majority = json.loads((tmp_path / "design.json").read_text(encoding="utf-8"))
    groups = [{**group, "max_affected": 0} for group in absent["problem"]["groups"]]
    for content in (
        {**absent, "fewer": []},
        {**absent, "problem": {**absent["problem"], "groups": groups}},
        {**absent, "problem": {**majority["problem"], **absent["problem"]}},
        {**majority, "problem": {**majority["problem"], "max_affected": 0}},
    ):
        status, said, error = verdict(content, tmp_path)
        assert (status, said) == (1, "")
        assert "whole" in error


@pytest.mark.thorough
def test_an_m_of_groups_adds_nothing_to_their_epsilon(tmp_path: Path) -> None:
    """A decision has no m; with a stray one, ten times a tenth of its epsilon would pass for the whole."""
    decision([Voters(2, 1.0), Voters(3, 0.2)], 1.0).save(tmp_path / "design.json")
    content = json.loads((tmp_path / "design.json").read_text(encoding="utf-8"))
    less = {**content, "problem": {**content["problem"], "epsilon": 0.1, "m": 11}}
    assert verdict(less, tmp_path) == (1, "It does not hold.\n", "")


@pytest.mark.thorough
def test_tables_of_absent_voters_are_named_and_not_counted(tmp_path: Path) -> None:
    """As many tables as there should be, one of them of voters that are all there or too many, or a part of one."""
    decision([Voters(2, 1.0), Voters(1, 0.5)], 1.0, absent=True).save(tmp_path / "design.json")
    content = json.loads((tmp_path / "design.json").read_text(encoding="utf-8"))
    full = {"present": [2, 1], "table_hex": content["table_hex"]}
    many = {"present": [5, 0], "table_hex": [(0.5).hex()] * 6}
    for other in ([*content["fewer"][:-1], full], [*content["fewer"][:-1], many], content["fewer"][:-1]):
        share = len(other) / len(content["fewer"])
        status, said, error = verdict({**content, "fewer": other, "absent": share}, tmp_path)
        assert (status, said) == (1, "")
        assert "whole" in error


@pytest.mark.thorough
@pytest.mark.parametrize("part", ["design", "problem", "group", "table for fewer voters"])
def test_what_says_more_than_is_read_is_not_judged(tmp_path: Path, part: str) -> None:
    """Such as what voters answer by, or a promise of its own: a check that leaves it out would judge something else."""
    decision([Voters(2, 1.0), Voters(1, 0.5)], 1.0, absent=True).save(tmp_path / "design.json")
    content = json.loads((tmp_path / "design.json").read_text(encoding="utf-8"))
    assert verdict(content, tmp_path)[0] == 0
    parts = {"design": content, "problem": content["problem"], "group": content["problem"]["groups"][0]}
    {**parts, "table for fewer voters": content["fewer"][0]}[part]["randomizer"] = "randomized response"
    status, said, error = verdict(content, tmp_path)
    assert (status, said) == (1, "")
    assert "says what is not read here" in error


@pytest.mark.thorough
def test_a_limit_for_each_group_is_not_judged(tmp_path: Path) -> None:
    groups = [darrm.VoterGroup(2, 1.0), darrm.VoterGroup(2, 1.0)]
    problem = darrm.DecisionProblem(groups, [0.4, 0.9], max_affected=1)
    darrm.solve(problem, objective=darrm.objectives.truth([0.7, 0.7])).save(tmp_path / "design.json")
    content = json.loads((tmp_path / "design.json").read_text(encoding="utf-8"))
    status, said, error = verdict(content, tmp_path)
    assert (status, said) == (1, "")
    assert "says what is not read here" in error


@pytest.mark.thorough
def test_more_answers_are_not_judged(tmp_path: Path) -> None:
    decision([Voters(3, 1.0)], 1.0, classes=3).save(tmp_path / "design.json")
    content = json.loads((tmp_path / "design.json").read_text(encoding="utf-8"))
    status, said, error = verdict(content, tmp_path)
    assert (status, said) == (1, "")
    assert "two answers" in error


def without_noise(folder: Path, *, grouped: bool) -> dict[str, Any]:
    """A design without noise, of three voters of epsilon 1, that claims epsilon .1."""
    problem = darrm.DecisionProblem([Voters(3, 1.0)], 3.5) if grouped else darrm.MajorityProblem(3, 3, 1.0)
    made = (
        darrm.Design(problem, [0.0, 0.0, 1.0, 1.0], darrm.objectives.truth([0.7]))
        if grouped
        else darrm.Design(problem, [1.0] * 4, darrm.priors.independent())
    )
    made.save(folder / "design.json")
    content: dict[str, Any] = json.loads((folder / "design.json").read_text(encoding="utf-8"))
    content["problem"]["epsilon" if grouped else "m"] = 0.1
    return content


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [-0.8591, -1e-9, 1.0, math.nan])
@pytest.mark.parametrize("grouped", [True, False])
def test_voters_that_cannot_be_are_not_judged(tmp_path: Path, grouped: bool, delta: float) -> None:
    """Voters of a delta below 0 have no corners but those that tell nothing: any table would hold."""
    content = without_noise(tmp_path, grouped=grouped)
    assert verdict(content, tmp_path) == (1, "It does not hold.\n", "")
    if grouped:
        content["problem"]["groups"][0]["delta"] = delta
    else:
        content["problem"]["Delta"] = delta
    status, said, error = verdict(content, tmp_path)
    assert (status, said) == (1, "")
    assert "whole" in error


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_affected", 0.5),
        ("max_affected", 4),
        ("max_affected", True),
        ("count", 3.0),
        ("epsilon", -1.0),
        ("epsilon", 0.0),
    ],
)
def test_a_group_that_cannot_be_is_not_judged(tmp_path: Path, name: str, value: object) -> None:
    content = without_noise(tmp_path, grouped=True)
    content["problem"]["groups"][0][name] = value
    status, said, error = verdict(content, tmp_path)
    assert (status, said) == (1, "")
    assert "whole" in error


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_affected", 0.5), ("epsilon", -0.1), ("classes", 3), ("classes", ["a", "b", "c"]), ("none", True)],
)
def test_a_problem_that_cannot_be_is_not_judged(tmp_path: Path, name: str, value: object) -> None:
    decision([Voters(2, 1.0), Voters(3, 0.2)], 1.0).save(tmp_path / "design.json")
    content = json.loads((tmp_path / "design.json").read_text(encoding="utf-8"))
    content["problem"][name] = value
    status, said, error = verdict(content, tmp_path)
    assert (status, said) == (1, "")
    assert "whole" in error


def test_it_says_before_how_many_cases_it_checks(tmp_path: Path) -> None:
    darrm.solve(K=3, m=1, epsilon=0.5, Delta=1e-3).save(tmp_path / "design.json")
    ended = subprocess.run([sys.executable, "-I", SCRIPT, tmp_path / "design.json"], capture_output=True, text=True)
    assert ended.stdout == "120 cases, some ms each\nIt holds.\n"  # multisets of 3 of 8 corners


def test_it_is_short_and_plain() -> None:
    text = SCRIPT.read_text(encoding="utf-8")
    assert len([line for line in text.splitlines() if line.strip()]) <= 60
    imported = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in imported}
    assert names == {"fractions", "itertools", "json", "math", "sys"}


def test_the_page_prints_it_and_shows_what_the_command_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (SCRIPT.parent / "howto" / "verify.md").read_text(encoding="utf-8")
    assert f"```{{literalinclude}} ../{SCRIPT.name}\n" in page
    *before, last = re.findall(r"^\$ (.*)\n([^$`]*)", page, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    for command, _ in before:
        assert main(shlex.split(command)[1:]) == 0
    capsys.readouterr()
    assert main(shlex.split(last[0])[1:]) == 0
    told = capsys.readouterr()
    assert told.err + told.out == last[1]

"""What shapes a design must come from elsewhere than the votes: every help, and every answer, says so."""

import json
from pathlib import Path

import click
import pytest

from darrm.cli import app, main

ELSEWHERE = "if it comes from elsewhere than these votes or records"
SHAPES = ("--accuracy", "--base-accuracy", "--prior", "--cost")
MAJORITY = ["--K", "5", "--m", "2", "--epsilon", "0.5"]
DECISION = ["--group", "3:1", "--total-epsilon", "1.2", "--accuracy", ".7"]
MANY = ["--K", "5", "--epsilon", "1", "--max-affected", "1", "--queries", "3", "--voters", "fresh"]
MANY += ["--total-epsilon", "2", "--total-delta", "1e-5"]


def commands(command: click.Command, name: str = "") -> list[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        return [(name, command)]
    context = click.Context(command)
    below = [(f"{name} {each}".strip(), command.get_command(context, each)) for each in command.list_commands(context)]
    return [found for each, one in below if one is not None for found in commands(one, each)]


def test_every_help_of_what_shapes_a_design_has_the_condition() -> None:
    found = [
        (name, option.opts[0], option.help or "")
        for name, command in commands(app)
        for option in command.params
        if isinstance(option, click.Option) and set(option.opts) & set(SHAPES)
    ]
    assert {name for name, _, _ in found} >= {"solve", "plan", "compare", "table"}
    assert {option for _, option, _ in found} == set(SHAPES)
    assert [(name, option) for name, option, help in found if ELSEWHERE not in help] == []


def words(text: str) -> str:
    return " ".join(text.replace("- ", " ").split())


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        pytest.param(["solve", *MAJORITY], "the prior", id="solve, a majority"),
        pytest.param(["solve", *DECISION], "the accuracy", id="solve, a decision"),
        pytest.param(["compare", *MAJORITY], "the prior", id="compare, one label"),
        pytest.param(["compare", *MANY, "--accuracy", ".8"], "the accuracy of the votes", id="compare, many labels"),
        pytest.param(["plan", *MANY, "--base-accuracy", ".8", "--no-comparison"], "the base accuracy", id="plan, base"),
        pytest.param(["plan", *MANY, "--accuracy", ".8", "--no-comparison"], "the accuracy of the votes", id="plan"),
        pytest.param(["plan", *MANY, "--prior", "uniform"], "the prior", id="plan, a prior"),
    ],
)
def test_answers_say_what_no_guarantee_rests_on_and_when(
    capsys: pytest.CaptureFixture[str], arguments: list[str], what: str
) -> None:
    assert main(arguments) == 0
    said = words(capsys.readouterr().out)
    assert f"The guarantee does not rest on {what}, {ELSEWHERE}." in said
    assert "Whatever else shapes the design must come from elsewhere too" in said


@pytest.mark.thorough
def test_plans_as_json_say_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *MANY, "--base-accuracy", ".8", "--no-comparison", "--json"]) == 0
    assert any(ELSEWHERE in line for line in json.loads(capsys.readouterr().out)["assumptions"])


@pytest.mark.parametrize(
    ("arguments", "held"),
    [
        pytest.param(["solve", *MAJORITY], "", id="the paper's prior"),
        pytest.param(["solve", *MAJORITY, "--prior", "common:2,2"], "the figures of its prior", id="a prior"),
        pytest.param(["solve", *DECISION], "the accuracy, prior and costs", id="a decision"),
        pytest.param(["plan", *MANY, "--accuracy", ".6944"], "the accuracy, prior and costs", id="a plan"),
    ],
)
def test_who_writes_a_design_file_reads_what_it_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], held: str
) -> None:
    assert main([*arguments, "--out", str(tmp_path / "gamma.json"), "--json"]) == 0
    out, err = capsys.readouterr()
    json.loads(out)
    said = f"gamma.json holds {held} exactly. Publish it only if they come from elsewhere than these votes or records."
    assert (said in err) == bool(held)
    assert ("exactly" in err) == bool(held)
    if ".6944" in arguments:
        assert "0.6944" in (tmp_path / "gamma.json").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_reports_and_pages_say_it(tmp_path: Path) -> None:
    for name, arguments in (("one", MAJORITY), ("two", DECISION)):
        design, page = str(tmp_path / f"{name}.json"), tmp_path / f"{name}.html"
        assert main(["solve", *arguments, "--out", design]) == 0
        assert main(["report", design, "--out", str(page), "--short"]) == 0
        assert f", {ELSEWHERE}. " in words(page.read_text(encoding="utf-8"))

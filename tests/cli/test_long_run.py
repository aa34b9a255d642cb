"""What a command says while it takes long."""

import json
import subprocess
import sys
import time
from collections.abc import Callable

import click
import pytest
from scripts import COMMAND

from darrm.cli import _NAMES, app, long_run, main


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(long_run.QUIET, raising=False)
    monkeypatch.setattr(long_run, "_FIRST", 0.01)
    monkeypatch.setattr(long_run, "_EVERY", 0.01)


def slow(seconds: float) -> Callable[..., None]:
    return lambda *_, **__: time.sleep(seconds)


@pytest.mark.parametrize("name", sorted({*_NAMES} - {"explore"}))
def test_every_command_says_that_it_is_at_work(
    impatient: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.setattr(app, "commands", {name: click.Command(name, callback=slow(0.2))})
    assert main([name]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert (
        err.splitlines()[0]
        == f"darrm {name}: {'at work' if name in {'key', 'completion'} else long_run._DOES[name]} (0 s)"
    )


@pytest.mark.parametrize(
    ("options", "lines"), [([], ["darrm compare: comparing mechanisms (0 s)"]), (["--json"], [])], ids=["lines", "json"]
)
def test_on_a_terminal_the_first_line_comes_sooner_unless_json_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], lines: list[str]
) -> None:
    monkeypatch.delenv(long_run.QUIET, raising=False)
    monkeypatch.setattr(long_run, "_SEEN", 0.02)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    command = click.Command("compare", callback=slow(0.2), params=[click.Option(["--json"], is_flag=True)])
    monkeypatch.setattr(app, "commands", {"compare": command})
    assert main(["compare", *options]) == 0
    assert capsys.readouterr().err.splitlines() == lines


def test_the_explorer_serves_until_it_is_interrupted_and_says_nothing(
    impatient: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(app, "commands", {"explore": click.Command("explore", callback=slow(0.2))})
    assert main(["explore"]) == 0
    assert capsys.readouterr().err == ""


def test_the_lines_say_how_far_it_is(impatient: None, capsys: pytest.CaptureFixture[str]) -> None:
    with long_run.telling("table"), long_run.progress(lambda done: (done, 9, f"{done} of 9")) as report:
        report(3)
        time.sleep(0.2)
    assert "darrm table: 3 of 9 (0 s)" in capsys.readouterr().err.splitlines()
    time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_nothing_is_said_on_request(
    impatient: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(long_run.QUIET, "1")
    with long_run.telling("table"):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_solve_beside_a_script_says_so_and_prints_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal, as long as its time limit."""
    monkeypatch.delenv(long_run.QUIET)
    group = ["--group", "500:1", "--max-affected", "30", "--total-epsilon", "1", "--accuracy", "0.6"]
    command = [sys.executable, COMMAND, "solve", *group, "--time-limit", "12", "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert json.loads(ended.stdout)["error"]["code"] == "no-design"
    assert ended.stderr.startswith("darrm solve: ")

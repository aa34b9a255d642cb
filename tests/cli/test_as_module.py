"""``python -m darrm`` is ``darrm``: what it prints, how it ends, what it loads."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cases import slow, thorough
from scripts import COMMAND
from test_package import HEAVY, loaded_by

from darrm.cli import main

MODULE = ["-m", "darrm"]


def run(start: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *start, *arguments], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("--help", 0),
        ("solve --K 0 --m 1 --epsilon 0.1", 2),
        *thorough(
            ("--version", 0),
            ("", 2),
            ("solve --help", 0),
            ("ledger create --help", 0),
            ("nothing-such", 2),
            ("solve --shape round", 2),
            ("solve --K 11 --m 3 --epsilon 0.1 --time-limit 1e-9", 4),
        ),
        *slow(("compare --K 5 --m 2 --epsilon 0.5", 0)),
    ],
)
def test_both_do_the_same(arguments: str, status: int) -> None:
    """Word for word, but for the name of the program."""
    module, script = (run(start, *arguments.split()) for start in (MODULE, [COMMAND]))
    assert (module.returncode, script.returncode) == (status, status)
    for mine, theirs in ((module.stdout, script.stdout), (module.stderr, script.stderr)):
        # How far a search had come when its time was over is no matter of how it was called.
        one, two = (re.sub(r"optimum \(.*?\)", "optimum", text) for text in (mine, theirs))
        assert one.replace("python -m darrm", "darrm").split() == two.split()


@pytest.mark.thorough
def test_usage_and_errors_say_how_it_was_called() -> None:
    assert run(MODULE, "solve", "--help").stdout.startswith("Usage: python -m darrm solve [OPTIONS]\n")
    assert run([COMMAND], "solve", "--help").stdout.startswith("Usage: darrm solve [OPTIONS]\n")
    assert run(MODULE, "nothing-such").stderr.rstrip().endswith("Try 'python -m darrm --help'.")
    assert run(MODULE, "solve", "--shape", "round").stderr.rstrip().endswith("Try 'python -m darrm solve --help'.")


@pytest.mark.thorough
def test_help_of_the_module_loads_no_numbers() -> None:
    loaded = loaded_by(
        "import runpy, sys; sys.argv = ['darrm', '--help']\n"
        "try: runpy.run_module('darrm', run_name='__main__')\nexcept SystemExit as ended: assert ended.code == 0"
    )
    assert "click" in loaded
    assert not loaded & (HEAVY - {"click"} | {"numpy"})


@pytest.mark.thorough
@pytest.mark.parametrize("program", ["darrm", *slow("python -m darrm")])
def test_commands_that_are_suggested_run_as_they_stand(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["solve", "--K", "3", "--m", "2", "--epsilon", "0.5", "--out", "gamma.json"], program) == 0
    lines = [line[2:] for line in capsys.readouterr().err.splitlines() if line.startswith("  ")]
    assert len(lines) == 3
    assert all(line.startswith(f"{program} ") for line in lines)
    for line in lines[::2]:  # the second needs votes
        assert main(shlex.split(line.removeprefix(program)), program) == 0

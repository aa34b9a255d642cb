"""Completion by the Tab key: click's own machinery, the scripts it prints, and a real bash."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete, get_completion_class
from scripts import COMMAND
from test_package import HEAVY, loaded_by

from darrm.cli import app, main
from darrm.cli.completion import VARIABLE

SHELLS = ("bash", "zsh", "fish")
FILE = ["file"]


def completed(line: str) -> list[str]:
    """What a shell is offered for the last word; "file" where the shell completes paths itself."""
    *words, begun = line.split(" ")
    items = ShellComplete(app, {}, "darrm", VARIABLE).get_completions(words, begun)
    return [item.type if item.type == "file" else item.value for item in items]


@pytest.mark.first(8)
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ver", ["verify"]),
        ("ledger ", ["charge", "create", "export", "import", "show"]),
        ("completion ", list(SHELLS)),
        ("solve --sh", ["--shape"]),
        ("solve --shape ", ["free", "ordered", "monotone"]),
        ("solve --engine full", ["full-list", "full-list-cvxpy"]),
        ("solve --on-time-limit=b", ["best"]),
        ("solve --objective t", ["tv", "truth"]),
        ("compare --objective t", ["tv"]),
        ("budget gamma.json --voters ", ["fresh", "fixed"]),
        ("plan --voters fi", ["fixed"]),
        ("audit --mechanism llp-", ["llp-laplace", "llp-geometric"]),
        ("table --backend d", ["dask"]),
        ("verify gam", FILE),
        ("verify gamma.json ", []),
        ("release gamma.json --votes ", FILE),
        ("solve --out g", FILE),
        ("solve --plot g", FILE),
        ("solve --profile p", FILE),
        ("audit --eta e", FILE),
        ("export gamma.json --out g", FILE),
        ("solve --K ", []),
        ("nothing-such ", [min(app.commands)]),
    ],
)
def test_what_is_offered(line: str, words: list[str]) -> None:
    assert completed(line)[: len(words) or None] == words


def commands(group: click.Group, *before: str) -> list[tuple[str, click.Parameter]]:
    found = []
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found += commands(command, *before, name)
        else:
            found += [(" ".join((*before, name)), parameter) for parameter in command.params]
    return found


@pytest.mark.first(10)
@pytest.mark.parametrize(
    ("line", "option"),
    [
        pytest.param(f"{name} {parameter.opts[0]} ", parameter, id=f"{name} {parameter.opts[0]}")
        for name, parameter in commands(app)
        if isinstance(parameter.type, click.Path | click.Choice) and isinstance(parameter, click.Option)
    ],
)
def test_every_path_and_choice_completes(line: str, option: click.Option) -> None:
    assert completed(line) == (list(option.type.choices) if isinstance(option.type, click.Choice) else FILE)


@pytest.mark.parametrize("wrong", ["--plot picture.wrong", "--out gamma.wrong", "--K many", "--shape round"])
def test_a_line_that_would_be_refused_still_completes(wrong: str) -> None:
    assert completed(f"solve {wrong} --eng") == ["--engine"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "line", ["darrm ", "darrm solve --plot a.png --out g.parquet --sh", "darrm export gamma.json --out g.parquet --"]
)
def test_completing_loads_no_numbers(line: str) -> None:
    words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), VARIABLE: "bash_complete"}
    loaded = loaded_by(
        f"import os; os.environ.update({words})\nfrom darrm.cli import main\ntry: main([])\nexcept SystemExit: pass"
    )
    assert "click" in loaded
    assert not loaded & (HEAVY - {"click"} | {"numpy", "pyarrow"})


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_the_one_that_click_makes(
    shell: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    kind = get_completion_class(shell)
    assert kind is not None
    assert script.strip() == kind(app, {}, "darrm", VARIABLE).source().strip()
    assert f"{VARIABLE}={shell}_complete" in script
    assert "darrm" in script.replace(VARIABLE, "")
    monkeypatch.setenv(VARIABLE, f"{shell}_source")
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert capsys.readouterr().out.strip() == script.strip()


@pytest.mark.thorough
def test_the_module_completes_too() -> None:
    """For who calls it darrm by a function of the shell; a script for ``python -m darrm`` no shell would take."""
    words = {VARIABLE: "bash_complete", "COMP_WORDS": "darrm solve --shape m", "COMP_CWORD": "3"}
    for start, more, said in (
        (["-m", "darrm"], words, "plain,monotone\n"),
        ([COMMAND], words, "plain,monotone\n"),
        (["-m", "darrm", "completion", "zsh"], {}, "#compdef darrm\n"),
    ):
        ended = subprocess.run(
            [sys.executable, *start], env=os.environ | more, capture_output=True, text=True, timeout=60, check=True
        )
        assert ended.stdout.startswith(said)


def test_another_shell_is_refused_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion"]) == 2
    assert "Choose from: bash, zsh, fish. Try 'darrm completion --help'." in " ".join(capsys.readouterr().err.split())
    assert main(["completion", "tcsh"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("darrm: ")
    assert all(shell in error for shell in SHELLS)


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment whose ``darrm`` is that of this interpreter."""
    program = tmp_path / "bin" / "darrm"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(COMMAND)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return os.environ | {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}


def asked(shell: list[str], script: str, home: dict[str, str]) -> str:
    if not shutil.which(shell[0]):
        pytest.skip(f"needs {shell[0]}: install it to try its completion")
    ended = subprocess.run(
        [*shell, script], env=home, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.thorough
def test_bash_completes(home: dict[str, str]) -> None:
    if asked(["bash", "--norc", "-c"], 'echo "$((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1]))"', home) < "404":
        pytest.skip("needs bash 4.4 or newer")
    script = """
        eval "$(darrm completion bash)"
        complete -p darrm
        COMP_WORDS=(darrm solve --shape m) COMP_CWORD=3
        _darrm_completion darrm m --shape
        echo "${COMPREPLY[@]}"
    """
    registered, *words = asked(["bash", "--norc", "-c"], script, home).splitlines()
    assert registered.endswith("_darrm_completion darrm")
    assert words == ["monotone"]


def test_fish_completes(home: dict[str, str]) -> None:
    script = "darrm completion fish | source; complete -C 'darrm solve --shape m'"
    assert asked(["fish", "--no-config", "-c"], script, home).split() == ["monotone"]


@pytest.mark.thorough
def test_zsh_takes_the_script(home: dict[str, str]) -> None:
    script = 'autoload -Uz compinit && compinit -u -D; eval "$(darrm completion zsh)"; echo "$_comps[darrm]"'
    assert asked(["zsh", "-f", "-c"], script, home).split() == ["_darrm_completion"]

"""The script of the page on nightly releases: it may run twice, and its exit status is that of darrm."""

from __future__ import annotations

import json
import runpy
import sys
from datetime import date
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from scripts import COMMAND

import darrm
from darrm.accounting import Ledger
from darrm.mechanisms import LabelKey

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "nightly.py"


@pytest.mark.parametrize("arguments", [[], ["2026-13-01"], ["yesterday"], ["2026-11-28", "2026-11-29"]], ids=str)
def test_what_is_no_date_is_refused(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    assert ended.value.code == 2  # that of bad input
    said = f"nightly.py takes one date, such as 2026-11-28. Got {arguments}."
    assert capsys.readouterr().err.splitlines() == [said]


def loaded() -> Any:
    spec = spec_from_file_location("nightly", SCRIPT)
    assert spec is not None and spec.loader is not None  # noqa: PT018
    script: Any = module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


@pytest.mark.parametrize("made", [True, False], ids=["by another run", "by none"])
def test_a_key_that_another_run_makes_meanwhile_is_used(
    made: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script, commands = loaded(), []
    monkeypatch.chdir(tmp_path)
    for name in ("keys", "votes"):
        Path(name).mkdir()
    Path("votes/2026-11-28.csv").touch()

    def run(command: list[str], **_: Any) -> CompletedProcess[str]:
        commands.append(command[len(script.DARRM)])
        if commands[-1] == "release":
            return CompletedProcess(command, 0, '{"labels": 1, "charged": 1, "left": null}')
        if made:
            LabelKey.create(command[-1])
        return CompletedProcess(command, 2, "", "darrm: why not\n")

    monkeypatch.setattr(script.subprocess, "run", run)
    assert script.release(date(2026, 11, 28)) == (0 if made else 2)
    assert commands == ["key", "release"][: 1 + made]
    assert capsys.readouterr().err == ("" if made else "darrm: why not\n")


@pytest.mark.parametrize("killed", ["key", "release"])
def test_a_killed_darrm_is_said_as_a_shell_says_it(
    killed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = loaded()
    monkeypatch.chdir(tmp_path)
    Path("votes").mkdir()
    Path("votes/2026-11-28.csv").touch()

    def run(command: list[str], **_: Any) -> CompletedProcess[str]:
        return CompletedProcess(command, -9 if command[len(script.DARRM)] == killed else 0, "", "")

    monkeypatch.setattr(script.subprocess, "run", run)
    assert script.release(date(2026, 11, 28)) == 137
    assert capsys.readouterr().err == "Signal 9 ended darrm. Run this again.\n"


@pytest.mark.thorough
def test_a_night_is_charged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    script = loaded()
    script.DARRM = [script.DARRM[0], COMMAND]
    monkeypatch.chdir(tmp_path)
    for name in ("keys", "votes", "labels"):
        Path(name).mkdir()
    design = darrm.solve(K=3, m=1, epsilon=0.5)
    design.save("design.json")
    Ledger.create("ledger.db", design, total_epsilon=1.5, total_delta=0.0, voters="fresh")
    first, second = date(2026, 11, 28), date(2026, 11, 29)
    assert script.release(first) == 2
    assert capfd.readouterr().err == f"{Path(f'votes/{first}.csv')} is missing.\n"
    assert not list(Path("keys").iterdir())
    for night in (first, second):
        rows = "".join(f"{night}/{i},1,0,1\n" for i in range(2))
        Path(f"votes/{night}.csv").write_text(f"id,a,b,c\n{rows}", encoding="utf-8")
    assert script.release(first) == 0
    labels = Path(f"labels/{first}.csv").read_bytes()
    assert script.release(first) == 0
    assert Path(f"labels/{first}.csv").read_bytes() == labels
    out, err = capfd.readouterr()
    said = [f"{first}: 2 labels, {n} charged, left: 1" for n in (2, 0)]
    assert [line for line in out.splitlines() if "charged," in line] == said
    assert out.count("All were charged before, and are written again") == 1
    assert "The budget ends within a week." in err
    wrong = date(2026, 11, 27)
    Path(f"votes/{wrong}.csv").write_bytes(Path(f"votes/{first}.csv").read_bytes())
    assert script.release(wrong) == 0
    assert "these are the votes of another night" in capfd.readouterr().out
    Path(f"labels/{wrong}.csv").unlink()
    assert script.release(second) == 3
    assert json.loads(capfd.readouterr().err.splitlines()[-1])["code"] == "budget-spent"
    assert sorted(path.name for path in Path("labels").iterdir()) == [f"{first}.csv"]
    assert [path.name for path in Path("keys").iterdir()] == ["2026-11.key"]
    (charge,) = Ledger("ledger.db").status()["charges"]
    assert (charge["n"], charge["note"]) == (2, str(first))
    Path(f"votes/{second}.csv").write_text(f"id,a,b,c\n{second}/0,1,0,1\n", encoding="utf-8")
    assert script.release(second) == 0
    assert capfd.readouterr().err.splitlines()[-1] == "The budget is spent."

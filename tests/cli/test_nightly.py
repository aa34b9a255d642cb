"""The script of the page on nightly releases: it may run twice, and its exit status is that of darrm."""

from __future__ import annotations

import json
import runpy
import sys
from datetime import date
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from scripts import COMMAND

import darrm
from darrm.accounting import Ledger

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


@pytest.mark.thorough
def test_a_night_is_charged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    spec = spec_from_file_location("nightly", SCRIPT)
    assert spec is not None and spec.loader is not None  # noqa: PT018
    script: Any = module_from_spec(spec)
    spec.loader.exec_module(script)
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
    assert out.splitlines() == [f"{first}: 2 labels, {n} charged, left: 1" for n in (2, 0)]
    assert "The budget ends within a week." in err
    assert "another night" not in err
    wrong = date(2026, 11, 27)
    Path(f"votes/{wrong}.csv").write_bytes(Path(f"votes/{first}.csv").read_bytes())
    assert script.release(wrong) == 0
    assert "are these the votes of another night?" in capfd.readouterr().err
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

"""What darrm designs is what it designed for tests/golden, to 1e-9; tests/tools/golden.py holds all bits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scripts import load

golden = load("golden")
DESIGNS = json.loads(golden.DESIGNS.read_text(encoding="utf-8"))
FEW = dict(golden.few())


def test_each_golden_design_is_made() -> None:
    assert FEW.keys() == DESIGNS.keys()


@pytest.mark.every
@pytest.mark.parametrize("name", FEW)
def test_a_design_is_the_golden_one(name: str) -> None:
    now, then = golden.numbers(FEW[name]()), DESIGNS[name]
    assert now.keys() == then.keys()
    for key, value in then.items():
        np.testing.assert_allclose(now[key], value, rtol=0, atol=1e-9, err_msg=key)


def test_what_differs_in_one_bit_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(option: str) -> int:
        monkeypatch.setattr("sys.argv", ["golden.py", option, str(tmp_path / "golden.json")])
        return int(golden.main())

    values = {"table": [0.25, 0.5], "gap": float("inf")}
    monkeypatch.setattr(golden, "everything", lambda: iter([("one", values), ("two", values)]))
    assert (run("--write"), run("--check")) == (0, 0)
    changed = {**values, "table": [0.25, float(np.nextafter(0.5, 1))]}
    monkeypatch.setattr(golden, "everything", lambda: iter([("one", changed), ("three", values)]))
    capsys.readouterr()
    assert run("--check") == 1
    *differ, _ = capsys.readouterr().out.splitlines()
    assert differ == ["one: table by 1.11e-16", "three: only here", "two: only there"]

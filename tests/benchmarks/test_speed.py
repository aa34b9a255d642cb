"""benchmarks/speed/speed.py: what it reads out of its own page, and where its sources come from."""

from pathlib import Path

import pytest
from scripts import load

speed = load("speed")
COMPARED = {"rows": "9", "build, s": "", "solve, s": "0.0031", "ratio, with build": "1.0", "ratio, one by one": ""}
LISTED = {"rows": "31824", "build, s": "1", "solve, s": "1", "ratio, with build": "22.5", "ratio, one by one": "410.2"}


def test_the_few_lines_for_the_readme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "SHOWN", [("11", "1e-05"), ("1001", "0")])
    at = {"K": "11", "Delta": "1e-05"}
    compared = [at | {"engine": "cuts"} | COMPARED, at | {"engine": "list"} | LISTED]
    compared.append(at | {"engine": "CVXPY"} | LISTED | {"ratio, with build": "70.1"})
    alone = [{"K": "1001", "m": "30", "Delta": "0", "full list": "1.7e+08", "after, s": "1.2345"}]
    page = f"text\n\n{speed.markdown(compared)}\n\nmore\n\n{speed.markdown(alone)}\n"
    assert speed.short(page).splitlines()[2:] == [
        "| 11 | 1e-05 | 31,824 | 0.0031 s | 22.5 times | 70.1 times | 410.2 times |",
        "| 1001 | 0 | 2e+08 | 1.2 s | - | - | - |",
    ]


def test_without_the_revision_only_today_is_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert speed.sources_of("no-such-revision", tmp_path) is None
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_medians_are_over_all_processes() -> None:
    answers = [{"seconds": [3.0, 1.0], "rows": 5, "peak": 60.0}, {"seconds": [2.0], "rows": 5, "peak": 70.0}]
    assert speed.joined(answers) == {"seconds": 2.0, "rows": 5, "peak": 70.0}


def test_calls_of_functions_are_counted() -> None:
    def called() -> None:
        len("")

    def caller() -> None:
        called()
        called()

    assert speed.calls_of(caller) == 3

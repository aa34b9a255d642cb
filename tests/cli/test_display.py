"""What is printed suits the terminal, the pipe and the reader."""

import re
import sys
from pathlib import Path

import pytest
from cases import slow

import darrm
from darrm.cli import main

PROBLEM = ["--K", "11", "--m", "3", "--epsilon", "0.1"]
ESCAPE = "\x1b"


@pytest.fixture(scope="module")
def design_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("design") / "gamma.json"
    darrm.solve(K=11, m=3, epsilon=0.1).save(path)
    return path


def printed(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


@pytest.mark.thorough
@pytest.mark.first(4, 8)
@pytest.mark.parametrize("columns", ["40", "60", "80", "200"])
@pytest.mark.parametrize("command", ["solve", "verify", "compare", *slow("demo")])
def test_lines_fit_the_terminal(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    design_file: Path,
    command: str,
    columns: str,
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    arguments = {"verify": [str(design_file)], "demo": []}.get(command, PROBLEM)
    lines = printed(capsys, [command, *arguments]).splitlines()
    assert max(map(len, lines)) <= int(columns)


@pytest.mark.parametrize("columns", ["40", "60", "200"])
def test_gamma_is_legible_at_any_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    out = printed(capsys, ["solve", *PROBLEM])
    for votes, gamma in (("5:6", "0.9397"), ("4:7", "0.5420"), ("0:11", "1.0000")):
        assert re.search(rf"^ *{votes} +{gamma}", out, re.MULTILINE)


@pytest.mark.thorough
@pytest.mark.parametrize("columns", ["40", "80"])
def test_verdicts_are_legible_at_any_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    out = printed(capsys, ["compare", *PROBLEM])
    assert re.search(r"gamma_opt .*0\.0413", out)
    assert re.search(r"plain majority .*no\b", out)


@pytest.mark.thorough
@pytest.mark.parametrize("columns", ["60", "80"])
def test_names_of_mechanisms_do_not_wrap(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    many = ["--draws", "100", "--queries", "10", "--total-delta", "1e-3"]
    out = printed(capsys, ["compare", *PROBLEM, *many])
    assert max(map(len, out.splitlines())) <= int(columns)
    assert len(re.findall(r"^ randomized response \(largest\) +0\.\d{6} ", out, re.MULTILINE)) == 2
    if columns == "80":
        assert re.search(r"^ double subsampling of 5 votes +0\.\d{6} +0\.\d{6} +[\d.]+ +yes ?$", out, re.MULTILINE)
        assert re.search(r"^ double subsampling of 5 votes +0\.\d{6} \+- \S+ +[\d.]+ $", out, re.MULTILINE)
        assert "…" not in out


@pytest.mark.parametrize("columns", ["1", "0", "many", ""])
def test_odd_widths_do_no_harm(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert printed(capsys, ["solve", *PROBLEM]).strip()


@pytest.mark.thorough
@pytest.mark.parametrize("variable", ["NO_COLOR", "none"])
@pytest.mark.parametrize("command", ["solve", "compare", *slow("demo")])
def test_pipes_get_no_escape_codes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, variable: str
) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "1")
    assert main([command, *(PROBLEM if command != "demo" else [])]) == 0
    captured = capsys.readouterr()
    assert ESCAPE not in captured.out + captured.err


@pytest.mark.parametrize("command", ["solve", "compare", *slow("demo")])
def test_no_color_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    out = printed(capsys, [command, *(PROBLEM if command != "demo" else [])])
    # Bold and dim may stay; colours (30 to 49, 90 to 107) may not.
    for codes in re.findall(rf"{ESCAPE}\[([\d;]*)m", out):
        assert all(not (30 <= int(code or 0) <= 49 or 90 <= int(code or 0) <= 107) for code in codes.split(";"))


def test_json_never_holds_escape_codes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    out = printed(capsys, ["solve", *PROBLEM, "--json"])
    assert ESCAPE not in out
    assert out.count("\n") == 1


@pytest.mark.parametrize(("K", "tie"), [("4", " *2:2  0.000000  a tie releases a fair coin *\n *1:3 "), ("5", None)])
def test_a_tie_has_a_line_of_its_own(capsys: pytest.CaptureFixture[str], K: str, tie: str | None) -> None:
    out = printed(capsys, ["solve", "--K", K, "--m", "2", "--epsilon", "0.5"])
    assert re.search(tie, out) if tie else "tie" not in out


@pytest.mark.thorough
def test_many_values_are_a_chart_that_fits_a_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = printed(capsys, ["solve", "--K", "301", "--m", "20", "--epsilon", "0.1", "--prior", "common"])
    chart = [line for line in out.splitlines() if re.match(r"^ *\d+:\d+", line)]
    assert 2 <= len(chart) <= 30
    design = darrm.solve(K=301, m=20, epsilon=0.1, prior=darrm.priors.common())
    for line in chart:
        named = [int(one) for one in re.findall(r"\d+:(\d+)", line)]
        value = re.search(r" ([01]\.\d{6}) ", line)
        assert value
        for l in range(named[0], named[-1] + 1):
            assert f"{design.gamma[l]:.6f}" == value[1]
    assert re.search(rf"^ *(\d+:\d+ to )?{0}:301 ", out, re.MULTILINE)
    assert f"({len(chart)} lines for 151 values" in out


def test_it_says_what_to_do_next(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "a name.json"
    assert main(["solve", *PROBLEM, "--out", str(path)]) == 0
    told = capsys.readouterr().err
    commands = re.findall(r"^  darrm (report|release|budget) '([^']*)'", told, re.MULTILINE)
    assert commands == [(name, str(path)) for name in ("report", "release", "budget")]
    assert main(["solve", *PROBLEM]) == 0
    assert "--out gamma.json" in capsys.readouterr().err
    assert main(["solve", *PROBLEM, "--json"]) == 0
    assert "Next" not in capsys.readouterr().err

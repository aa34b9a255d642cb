"""The README does what it says."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from darrm.cli import main

README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")


def fenced(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found, language
    return found.group(1)


def test_python_example_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(fenced("python"), "README.md", "exec"), {})
    assert capsys.readouterr().out == fenced("text")


def test_command_line_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "darrm").symlink_to(README.parent / "darrm")
    commands = re.findall(r"^\$ darrm (.*)$", fenced("console"), re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        assert main(shlex.split(command)) == 0


def test_solve_prints_what_the_readme_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["solve", "--K", "11", "--m", "3", "--epsilon", "1"]) == 0
    shown = re.search(r"The first prints\n\n```text\n(.*?)```", TEXT, re.DOTALL)
    assert shown

    def settled(text: str) -> list[str]:
        """Without the last digits of the gap, and without where lines break."""
        return re.sub(r"most [\d.e-]+ above", "most ... above", " ".join(text.split())).split()

    assert settled(capsys.readouterr().out) == settled(shown.group(1))


def test_demo_prints_what_the_readme_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["demo", "--out", "demo"]) == 0
    shown = re.search(r"<!-- demo -->\n+((?:    .*\n|\n)+)", TEXT)
    assert shown

    def settled(text: str) -> list[str]:
        """Without the accuracy of one release, which real coins decide, and where lines break."""
        return re.sub(r"[\d.]+ % are right this time", "are right this time", " ".join(text.split())).split()

    assert settled(capsys.readouterr().out) == settled(shown.group(1))


def test_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    tutorial = (README.parent / "docs" / "tutorial.md").read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", tutorial, re.DOTALL)), {})
    first = capsys.readouterr().out.splitlines()[0]
    assert first == re.search(r"print\(design.gamma\[6:\].*# (.*)", tutorial).group(1)  # type: ignore[union-attr]


def test_the_page_of_tables_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (README.parent / "docs" / "tables.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), names)
    assert names["design"].certificate.holds
    assert main(["verify", "gamma.csv"]) == 0
    commands = re.findall(r"^    darrm table (.*--out gamma\.parquet.*)$", page.replace("\\\n", " "), re.MULTILINE)
    assert len(commands) == 2
    arguments = re.sub(r"--K \S+ --m \S+", "--K 3:5:2 --m 1:3", commands[0])
    assert main(["table", *shlex.split(arguments)]) == 0


def test_the_page_of_attacks_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (README.parent / "docs" / "attack.md").read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), {})
    assert capsys.readouterr().out.strip() == re.search(r"print\(.*# (.*)", page).group(1)  # type: ignore[union-attr]
    assert not re.findall("MISSED|ABOVE", page)

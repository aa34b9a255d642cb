"""The README does what it says, and so do the commands of the first pages."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import darrm
from darrm.cli import main

README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")
CLINICS, TUTORIAL = (
    (README.parent / "docs" / name).read_text(encoding="utf-8") for name in ("clinics.md", "tutorial.md")
)


def fenced(text: str, language: str) -> tuple[str, str]:
    """The first block of a language, and the first block of text after it."""
    block = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert block
    return block.group(1), shown_after(text[block.end() :])


def shown_after(text: str) -> str:
    shown = re.search(r"```text\n(.*?)```", text, re.DOTALL)
    assert shown
    return shown.group(1)


def commands(block: str) -> list[list[str]]:
    return [shlex.split(line) for line in re.findall(r"^\$ darrm (.*)$", block.replace("\\\n", " "), re.MULTILINE)]


@pytest.mark.thorough
@pytest.mark.parametrize("number", [0, 1], ids=["one label", "many labels"])
def test_python_examples_print_what_they_say(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert TEXT.count("```python\n") == 2
    program, shown = fenced(TEXT[(TEXT.index, TEXT.rindex)[number]("```python\n") :], "python")
    assert len(program.splitlines()) <= 12
    exec(compile(program, "README.md", "exec"), {})
    assert capsys.readouterr().out == shown


@pytest.mark.thorough
def test_the_story_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Plan, compare, ledger, release: and the same rows are refused."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "darrm").symlink_to(README.parent / "darrm")
    story = commands(fenced(CLINICS, "console")[0])
    assert [command[0] for command in story] == ["plan", "compare", "ledger", "release"]
    for command in story:
        assert main(command) == 0
        out = capsys.readouterr().out
        if command[0] in ("plan", "compare"):
            shown = shown_after(CLINICS[CLINICS.index(f"`darrm {command[0]}` prints") :])
            assert out.split() == shown.split(), f"docs/clinics.md must show what the command prints:\n{out}"
    assert len(Path("labels.csv").read_text(encoding="utf-8").splitlines()) == 101
    assert main([*story[-1][:-3], "more.csv", "--ledger", "ledger.db"]) == 6
    assert not Path("more.csv").exists()


@pytest.mark.thorough
def test_command_line_example_of_one_label_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "darrm").symlink_to(README.parent / "darrm")
    example = commands(fenced(TUTORIAL, "console")[0])
    assert len(example) == 4
    printed = []
    for command in example:
        assert main(command) == 0
        printed.append(capsys.readouterr().out)

    def settled(text: str) -> list[str]:
        """Without the last digits of the gap, and without where lines break."""
        return re.sub(r"most [\d.e-]+ above", "most ... above", " ".join(text.split())).split()

    shown = shown_after(TUTORIAL[TUTORIAL.index("The first prints") :])
    # What solve --out says beside this goes to standard error.
    assert settled(printed[0]) == settled(shown)


def block(begin: str) -> list[list[str]]:
    """The arguments of the commands in the block of the README that begins like this."""
    lines = TEXT[TEXT.index(f"    {begin}") :].partition("\n\n")[0].replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines]


def test_many_labels_of_a_design_of_delta_0_cost_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in block("darrm solve --K 11 --m 3 --epsilon 0.1 --voter-delta 1e-5 --delta 0 --out"):
        assert main(command) == 0
    said = re.search(r"# (\(\S+ \S+\)-DP) together", TEXT)
    assert said is not None
    assert f"100 labels together are {said[1]}" in " ".join(capsys.readouterr().out.split())
    other = darrm.solve(K=11, m=3, epsilon=0.1, Delta=1e-5)
    figures = re.search(r"hardly larger here \((\S+) for (\S+)\), .* no total at a delta of (\S+) or less", TEXT)
    assert figures is not None
    assert [f"{darrm.load('many.json').error:.5f}"[1:], f"{other.error:.5f}"[1:]] == [*figures.groups()][:2]
    with pytest.raises(darrm.InputError, match="delta must be above"):
        darrm.accounting.compose(other, 100, delta=float(figures[3]), voters="fresh")


@pytest.mark.thorough
def test_the_plan_by_a_known_randomizer_is_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "darrm").symlink_to(README.parent / "darrm")
    story = block("darrm plan --K 25 --epsilon 1 --randomizer response")
    assert [command[0] for command in story] == ["plan", "ledger", "release"]
    for command in story:
        assert main(command) == 0
    assert "second budget, epsilon 12" in " ".join(capsys.readouterr().out.split())
    assert len(Path("labels.csv").read_text(encoding="utf-8").splitlines()) == 101


def test_demo_prints_what_the_readme_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["demo", "--out", "demo"]) == 0
    shown = re.search(r"<!-- demo -->\n+((?:    .*\n|\n)+)", TEXT)
    assert shown

    def settled(text: str) -> list[str]:
        """Without how many labels are wrong, which real coins decide, and where lines break."""
        return re.sub(r"\d+ of them are wrong", "of them are right", " ".join(text.split())).split()

    out = capsys.readouterr().out
    assert settled(out) == settled(shown.group(1)), f"README.md must show what `darrm demo` prints:\n{out}"


@pytest.mark.thorough
def test_the_page_of_tables_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (README.parent / "docs" / "howto" / "tables.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), names)
    assert names["design"].certificate.holds
    assert main(["verify", "gamma.csv"]) == 0
    commands = re.findall(r"^    darrm table (.*--out gamma\.parquet.*)$", page.replace("\\\n", " "), re.MULTILINE)
    assert len(commands) == 2
    arguments = re.sub(r"--K \S+ --m \S+", "--K 3:5:2 --m 1:3", commands[0])
    assert main(["table", *shlex.split(arguments)]) == 0


def test_the_page_of_attacks_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (README.parent / "docs" / "trust.md").read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), {})
    assert capsys.readouterr().out.strip() == re.search(r"print\(.*# (.*)", page).group(1)  # type: ignore[union-attr]
    assert not re.findall("MISSED|ABOVE", page)


def test_the_example_of_the_solvers_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = (README.parent / "solvers" / "README.md").read_text(encoding="utf-8")
    program, printed = re.findall(r"```python\n(.*?)```\n\nprints `(.*?)`", text, re.DOTALL)[0]
    exec(compile(program, "solvers/README.md", "exec"), {})
    assert capsys.readouterr().out.strip() == printed


@pytest.mark.parametrize("folder", ["solvers", "notebooks"])
def test_a_readme_lists_what_its_folder_has(folder: str) -> None:
    home = README.parent / folder
    text = (home / "README.md").read_text(encoding="utf-8")
    files = home.glob("*.ipynb") if folder == "notebooks" else (home / "darrm_solvers").glob("[a-z]*.py")
    assert {path.name for path in files} <= set(re.findall(r"[a-z_]+\.(?:ipynb|py)", text))

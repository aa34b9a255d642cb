"""What the documentation shows is what happens: its Python runs, its sessions print what they say, its paths exist."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import click
import pytest
from cases import thorough

import darrm
from darrm.cli import app
from darrm.problem.groups import OF_ANY_OTHERS

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts and "notebooks" not in path.parts
)
# Other tests run these, with more around them.
ELSEWHERE = {"tables.md", "ensembles.md", "labels.md", "label_privacy.md"}

LONG = {
    *("clinics.md", "classes.md", "choose.md", "fixed.md", "fresh_or_fixed.md", "one_ledger.md", "pate.md"),
    "tutorial.md",
}  # a second each, or more


def long_ones_last(pages: list[Path]) -> list[Any]:
    return [page for page in pages if page.name not in LONG] + thorough(*(page for page in pages if page.name in LONG))


def fenced(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def named(page: Path) -> str:
    return str(page.relative_to(ROOT / "docs"))


@pytest.mark.thorough
@pytest.mark.parametrize("page", long_ones_last([page for page in PAGES if fenced(page, "pycon")]), ids=named)
def test_sessions_print_what_they_say(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "\n".join(fenced(page, "pycon"))
    test = doctest.DocTestParser().get_doctest(text, {}, str(page), str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.tries > 0
    assert runner.failures == 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    "page",
    long_ones_last([page for page in PAGES if fenced(page, "python") and page.name not in ELSEWHERE]),
    ids=named,
)
def test_python_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder with the files that pages speak of: votes.csv and gamma.json."""
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(ROOT / "darrm" / "votes" / "examples" / "fresh_t11.csv", "votes.csv")
    darrm.solve(K=11, m=3, epsilon=1).save("gamma.json")
    names: dict[str, Any] = {}
    exec(compile("\n".join(fenced(page, "python")), str(page), "exec"), names)


@pytest.mark.thorough
def test_the_page_of_custom_terms_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {}
    exec("\n".join(fenced(ROOT / "docs" / "howto" / "objectives.md", "python")), names)
    assert names["careful"].gamma[6] >= 0.95 - 1e-6
    worst = [float(names["rows"][i] @ (1 - names["robust"].gamma)) / 2 for i in range(3)]
    usual = darrm.solve(names["problem"])
    assert max(worst) < max(float(row @ (1 - usual.gamma)) / 2 for row in names["rows"])


@pytest.mark.every
@pytest.mark.parametrize(
    "page", [*(ROOT / name / "README.md" for name in ("", "benchmarks", "notebooks", "solvers")), *PAGES], ids=str
)
def test_paths_exist(page: Path) -> None:
    for path in set(re.findall(r"\b(?:tests|benchmarks|notebooks)/[\w/.]*\w", page.read_text(encoding="utf-8"))):
        assert (ROOT / path).exists(), f"{page.name} names {path}"


def test_paths_of_the_house_exist() -> None:
    """CONTRIBUTING.md names modules from the folder of the package."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w./])[a-z_]+(?:/[\w.]+)+\.(?:py|pyi|md|json|svg)\b", text))
    places = (ROOT, ROOT / "darrm")
    assert {path for path in named if "NAME" not in path and not any((at / path).exists() for at in places)} == set()
    assert len(named) > 60


@pytest.mark.every
@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_commands_have_the_options_they_are_shown_with(page: Path) -> None:
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in re.findall(r"^(?:    |       |\$ )darrm (\w.*)$", text, re.MULTILINE):
        words = shlex.split(re.split(r"  #|  \.\.\.| \.\.\.$", line)[0])
        command = app.commands.get(words[0])
        assert command is not None, line
        if isinstance(command, click.Group):
            command = command.commands[words[1]]
        known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        for word in words[1:]:
            if word.startswith("--") and word != "--help":
                assert word.split("=")[0] in known, f"{page.name}: {line}"


def test_who_may_be_any_mechanism_stands_with_all_that_it_needs() -> None:
    """Others that copy the affected vote, or rows that are released by it, show that vote at every label."""
    needed, wrong = OF_ANY_OTHERS.partition("the others ")[2], []
    for path in (ROOT / "README.md", *PAGES, *(ROOT / "darrm").rglob("*.py")):
        text = " ".join(re.sub(r'\\n|["#>]', " ", path.read_text(encoding="utf-8")).split())
        if text.count("may be any mechanism") != text.count(needed):
            wrong.append(path.name)
    assert wrong == ["groups.py"]  # where these words are put together

"""The script that lists words of our own for which the field has one."""

import json
from pathlib import Path

import pytest
from scripts import load

words = load("words")
OURS = "A coin, a chance and a whole number of coins."
SAID = '"coins": say randomness, "chance": say probability, "whole number": say integer'
THE_FIELDS = "A fair coin, a probability and an integer."


def listed(root: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    status = words.main(["--root", str(root)])
    return status, capsys.readouterr().out.splitlines()


def test_planted_sentences_are_found_where_users_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "darrm").mkdir()
    (tmp_path / "README.md").write_text(f"# A title\n\n{THE_FIELDS} {OURS}\n", encoding="utf-8")
    (tmp_path / "docs" / "page.md").write_text("* Plain.\n* Nobody reads this.\n", encoding="utf-8")
    (tmp_path / "darrm" / "page.html").write_text("<p>It is\n<b>no</b> answer.</p>\n", encoding="utf-8")
    (tmp_path / "darrm" / "__init__.pyi").write_text("from darrm.shown import shown as shown\n", encoding="utf-8")
    (tmp_path / "darrm" / "shown.py").write_text(
        'def shown():\n    """Mend this.\n\n    >>> nobody(), 1\n    """\n'
        '    raise InputError(f"{1} is no list of numbers")\n\n\ndef hidden():\n    """Nobody sees this."""\n'
        '    found["the own coins of voters"] = {"a key that nobody renames": "it is no key at all"}\n',
        encoding="utf-8",
    )
    status, lines = listed(tmp_path, capsys)
    assert status == 1
    assert lines == [
        f"README.md:3: {SAID}: {OURS}",
        'docs/page.md:2: "Nobody": say no one: Nobody reads this.',
        'darrm/page.html:1: "is no": say is not a: It is no answer.',
        'darrm/shown.py:2: "Mend": say fix: Mend this.',
        'darrm/shown.py:6: "is no": say is not a: X is no list of numbers',
        'darrm/shown.py:11: "is no": say is not a: it is no key at all',
    ]


def test_only_names_in_the_stub_of_a_package_are_public(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    package = tmp_path / "darrm" / "measures"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('"""Fine."""\nfrom darrm.measures.one import inner, shown\n', encoding="utf-8")
    (package / "__init__.pyi").write_text("from darrm.measures.one import shown as shown\n", encoding="utf-8")
    (package / "one.py").write_text(
        'def shown():\n    """Mend this."""\n\n\ndef inner():\n    """Nobody sees this."""\n', encoding="utf-8"
    )
    assert listed(tmp_path, capsys) == (1, ['darrm/measures/one.py:2: "Mend": say fix: Mend this.'])


def test_pages_at_the_root_and_notebooks_are_read_once_without_cells_of_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "\n", f"{OURS}\n", "\n", "It learns\n", 'at most "1".']},
        {
            "cell_type": "code",
            "outputs": [{"text": ["Mend this."]}],
            "source": [f"# {OURS}\n", "print('Nobody sees this.')  # may learn"],
        },
        {"cell_type": "markdown", "source": ["Mend this."]},
    ]
    text = json.dumps({"cells": cells}, indent=1)
    places = [text[: text.index(part)].count("\n") + 1 for part in ("A coin", "It learns", "may learn")]
    places.append(text[: text.rindex("Mend")].count("\n") + 1)
    for folder in ("docs/notebooks", "notebooks"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "one.ipynb").write_text(text, encoding="utf-8")
    (tmp_path / "SECURITY.md").write_text("1. **Wrong.** Fine.\n2. Nobody knows.\n", encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n- {THE_FIELDS}\n- {OURS}\n", encoding="utf-8")
    status, lines = listed(tmp_path, capsys)
    assert status == 1
    assert lines == [
        'SECURITY.md:2: "Nobody": say no one: Nobody knows.',
        f"CHANGELOG.md:4: {SAID}: {OURS}",
        f"notebooks/one.ipynb:{places[0]}: {SAID}: {OURS}",
        f'notebooks/one.ipynb:{places[3]}: "Mend": say fix: Mend this.',
        f'notebooks/one.ipynb:{places[1]}: misleading "learns at most": learns',
        "at most",
        f'notebooks/one.ipynb:{places[2]}: misleading "learns at most": may learn',
    ]


def test_code_tables_and_formulas_are_not_prose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [f"```python\n{OURS}\n```", f"    {OURS}", f"| {OURS} |", f"$$\n{OURS}\n$$", f"It is ${OURS}$."]
    (tmp_path / "README.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    assert listed(tmp_path, capsys) == (0, [])


@pytest.mark.parametrize(
    "phrase",
    [
        "rounded to the safe side",
        "errors on the\n# unsafe side",
        "Failure probability of one label",
        "a failure\n    probability of",
        "whoever sees them learns at most (6, 1e-6)",
        "the public learns about one record at most",
        "what all labels tell everybody",
        'what the aggregator "\n    f"learns',
        "as much as they may learn",
    ],
)
def test_phrases_that_mislead_about_privacy_are_found_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], phrase: str
) -> None:
    """In tables, comments and the programs that measure too, and over ends of lines."""
    for folder in ("docs", "darrm", "benchmarks"):
        (tmp_path / folder).mkdir()
    comment = "# " + phrase.replace("\n", "\n# ") + "\n"
    (tmp_path / "README.md").write_text(f"| {phrase} |\n", encoding="utf-8")
    (tmp_path / "darrm" / "page.html").write_text(f"<td>{phrase}</td>\n", encoding="utf-8")
    for name in ("darrm/code.py", "benchmarks/figures.py"):
        (tmp_path / name).write_text(comment, encoding="utf-8")
    status, lines = listed(tmp_path, capsys)
    assert status == 1
    assert [line.split(":")[0] for line in lines if "misleading" in line] == [
        "README.md",
        "darrm/code.py",
        "darrm/page.html",
        "benchmarks/figures.py",
    ]


def test_words_that_do_not_mislead_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "To learn something, count. A label loses at most 2. Who knows the features learns little."
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    assert listed(tmp_path, capsys) == (0, [])


def test_long_sentences_are_counted_and_shown_but_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list of names and figures is read as a table."""
    figures = " ".join(f"name {0.125 * n}," for n in range(12))
    text = " ".join(["word"] * 36).capitalize()
    (tmp_path / "README.md").write_text(f"Errors, in percent: {figures} last.\n\n{text}.\n", encoding="utf-8")
    assert words.main(["--root", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "0 sentences to rewrite; 1 of more than 35 words\n"
    assert words.main(["--root", str(tmp_path), "--warn"]) == 0
    assert capsys.readouterr().out == f"README.md:3: 36 words: {text}.\n"


def test_a_line_of_code_that_begins_with_a_number_opens_no_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "README.md").write_text(f"It prints\n\n    epsilon =\n    1. Before\n\n    {OURS}\n")
    assert listed(tmp_path, capsys) == (0, [])


@pytest.mark.thorough
def test_this_project_uses_the_words_of_the_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert words.main([]) == 0, capsys.readouterr().out

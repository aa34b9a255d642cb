"""docs/errata.md lists every item of the papers; what it names is there, and nothing is left blank."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pytest

import darrm

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
HEAD = ["Item", "Remark", "Computed by", "Checked by"]


@functools.cache
def known_tests(path: str) -> frozenset[str]:
    """Names of the tests of a file; none if there is no such file."""
    file = ROOT / path
    if not path.startswith("tests/") or not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(x.name for x in tree.body if isinstance(x, ast.FunctionDef) and x.name.startswith("test_"))


def is_there(name: str) -> bool:
    """Whether a script exists, or a public name follows from `import darrm`."""
    if name.endswith(".py"):
        return name.startswith("benchmarks/") and (ROOT / name).is_file()
    try:
        found = attrgetter(name)(darrm)
    except AttributeError:
        return False
    return callable(found) and not any(part.startswith("_") for part in name.split("."))


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def wrong(line: str) -> Iterator[str]:
    """What is wrong with one row of a table."""
    row = cells(line)
    if len(row) != 4 or not all(re.search(r"\w", cell) for cell in row):
        yield "four cells, none of them blank, are needed"
        return
    item, remark, code, tests = row
    names, checks = (re.findall(r"`([^`]+)`", cell) for cell in (code, tests))
    yield from (f"{name} is not there" for name in names if not is_there(name))
    for check in checks:
        path, _, test = check.partition("::")
        if test not in known_tests(path):
            yield f"{check} is not there"
    for cell, found in ((code, names), (tests, checks)):
        if cell != ("none" if not found else ", ".join(f"`{one}`" for one in found)):
            yield f"{item}: names in backticks with commas, or none, are needed. Got {cell}"
    if (not names) != remark.startswith("Not computed: ") or (not checks and names):
        yield f"{item}: 'none' needs a remark that begins with 'Not computed: '"
    if not remark.endswith("."):
        yield f"{item}: the remark must be a sentence"


def tables(page: str) -> dict[str, list[str]]:
    """Rows of the table under each heading, as they are written."""
    found = {}
    for section in re.split(r"^##+ ", page, flags=re.MULTILINE)[1:]:
        lines = [line for line in section.splitlines() if line.startswith("|")]
        if lines and cells(lines[0]) == HEAD:
            found[section.splitlines()[0]] = lines[2:]
    return found


TABLES = tables(PAGE)
LINES = [line for lines in TABLES.values() for line in lines]


@pytest.mark.parametrize("line", LINES, ids=lambda line: re.sub(r"[^\w.,() ]", "", cells(line)[0])[:50])
def test_what_a_row_names_is_there(line: str) -> None:
    assert list(wrong(line)) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("measures.maximal_leakage", "measures.minimal_leakage", "minimal_leakage is not there"),
        ("measures.maximal_leakage", "measures.leakage._channel", "_channel is not there"),
        ("measures.maximal_leakage", "benchmarks/paper/nothing.py", "nothing.py is not there"),
        ("::test_functions_of", "::test_no_functions_of", "test_no_functions_of_the_input_are_not_enough is not there"),
        ("test_leakage.py::", "test_nothing.py::", "test_nothing.py::"),
        ("`measures.maximal_leakage`", "none", "'none' needs a remark"),
        ("`measures.maximal_leakage`", " ", "four cells"),
        ("`measures.maximal_leakage`", "see elsewhere", "names in backticks"),
        ("Misprint: ", "Not computed: ", "'none' needs a remark"),
    ],
)
def test_a_row_that_is_wrong_is_seen(old: str, new: str, message: str) -> None:
    line = next(line for line in LINES if line.startswith("| **Definition 1**"))
    assert old in line
    assert any(message in said for said in wrong(line.replace(old, new)))


def items(lines: list[str]) -> str:
    return "\n".join(cells(line)[0] for line in lines)


def equations(text: str) -> set[int]:
    """Numbers in brackets, and all between two that are joined by "to"."""
    found = {int(n) for n in re.findall(r"\((\d+)\)", text)}
    for first, last in re.findall(r"\((\d+)\) to \((\d+)\)", text):
        found |= set(range(int(first), int(last) + 1))
    return found


def numbered(text: str, kind: str) -> set[int]:
    """Numbers after a word, such as 2, 3 and 5 to 7 of "Figures 2, 3" and "Figures 5 to 7"."""
    found: set[int] = set()
    for said in re.findall(rf"{kind}s? (\d[\d, and to]*)", text):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", said):
            found |= set(range(int(first), int(last or first) + 1))
    return found


def test_no_item_of_the_papers_is_left_out() -> None:
    darrm_, leakage, unified, auditing, aggregation = (items(lines) for lines in TABLES.values())
    assert equations(darrm_) == set(range(1, 206))
    for kind, count in (("Figure", 10), ("Table", 10), ("Algorithm", 6)):
        assert numbered(darrm_, kind) >= set(range(1, count + 1))
    lemmas = {
        *(f"3.{i}" for i in range(1, 5)),
        "4.1",
        "5.1",
        *(f"A.{i}" for i in range(1, 6)),
        *(f"B.{i}" for i in range(1, 12)),
    }
    assert lemmas <= set(re.findall(r"\b([A-Z\d]\.\d+)\b", darrm_))
    assert equations(leakage) == set(range(1, 87))
    named = re.sub(r"\([^)]*\)", "", leakage)
    assert set(map(int, re.findall(r"\b(\d+)\b", named))) == set(range(1, 23))  # one sequence of numbers for all
    assert equations(unified) == set(range(1, 22))
    numbers = {"2.1", *(f"3.{i}" for i in range(1, 8)), *(f"6.{i}" for i in range(1, 5))}
    numbers |= {f"A.{i}" for i in range(1, 8)}
    assert numbers <= set(re.findall(r"\b([A-Z\d]\.\d)\b", unified))
    assert equations(auditing) == {1}
    assert {"2.1", *(f"3.{i}" for i in range(1, 8))} <= set(re.findall(r"\b(\d\.\d)\b", auditing))
    for text, figures in ((leakage, 1), (unified, 2), (auditing, 3)):
        assert {f"Figure {i}" for i in range(1, figures + 1)} <= set(re.findall(r"Figure \d", text))
    assert len(aggregation.splitlines()) == 10

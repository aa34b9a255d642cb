"""What is published beside the package agrees with it: the journal's paper, the conda recipe, citation and versions."""

import importlib.util
import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from scripts import load

import darrm

ROOT = Path(__file__).resolve().parents[1]
PAPER = (ROOT / "docs" / "joss" / "paper.md").read_text(encoding="utf-8")
BIBLIOGRAPHY = (ROOT / "docs" / "joss" / "paper.bib").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HEADER, BODY = PAPER.split("---\n", 2)[1:]

# What the paper says with a figure, and what a script or a command printed that says so.
FIGURES = {
    "two labels cost 4 by addition, and an adversary finds a loss of 4.1203": (
        "The loss of two labels of fixed voters is 4.1203; 2 m epsilon is 4;",
    ),
    "For 20 labels beside a training run `dp-accounting` proves a total epsilon of 6.590, `darrm` alone 7.357, and both"
    " together 5.263.": (
        "| 20 of A, training |",
        "| dp-accounting | loss distributions | 25.764 | 20.742 | 26.257 | 6.590 |",
        '| darrm | ledger, "in-advance" | 17.538 | 15.533 | 20.869 | 7.357 |',
        "| dp-accounting and darrm | `PLDAccountant` | 17.538 | 15.532 | 18.084 | 5.263 |",
    ),
    "For 25 fresh voters and 100 labels, Gaussian noise on the counts is nearly as good as the planned noise": (
        "planned 11.3 %",
        "Gaussian noisy max 11.7 %",
    ),
    "For 11 votes that are (0.1, 0)-DP and a majority that is (0.3, 0)-DP, the optimum has an expected error of 0.0413;"
    " double subsampling has 0.0692 and the best randomized response 0.0596.": (
        "11 votes, each (0.1, 0)-DP, all of which a record may affect, and one release of their majority, (0.3, 0)-DP.",
        "votes gamma_opt double subsampling of 5 votes randomized response (largest)",
        "expected TV error 0.0413 0.0692 0.0596",
    ),
    "For 25 voters of epsilon 1, 100 labels within (6, 1e-06) are wrong with probability 11.3 % by the plan, which is"
    " tuned subsampling here, 11.7 % by Gaussian noisy max, and 40.3 % if all noise is in the votes.": (
        "25 clinics answer it for 100 new patients.",
        "all 100 labels together must be (6, 1e-06)-DP.",
        "planned 11.3 %",
        "Gaussian noisy max 11.7 %",
        "tuned subsampling 11.3 %",
        "local noise only 40.3 %",
    ),
    "with 100 labels, general composition gives an epsilon of 15.04 and optimal composition 12.6. The recursion proves"
    " 5.315 for fresh voters.": (
        "| data | m | queries | delta | paper | optimal | exact |",
        "| MNIST | 3 | 100 | 0.02966 | 15.04 | 12.6 | 5.315 |",
    ),
    "over 25 teachers and 3 classes it proves 7.657, where Gaussian DP [@dong2022gaussian] gives 9.998.": (
        "| K | classes | mu | labels | Renyi DP | GDP | own profile | exact | achieved |",
        "| 25 | 3 | 0.2 | 100 | 10.725 | 9.998 | 9.814 | 7.657 | 7.649 |",
    ),
    "verified 539 of 565 designs that the tests make and found 0 wrong claims; the others were too large.": (
        "| 565 | 539 judged, 0 wrong claims;",
        "the others were too large |",
    ),
    "0 of 42 sound claims were refuted, and all 31 of 31 false claims were found.": (
        "Of 42 sound claims 0 were refuted; of 31 false ones 31 were.",
    ),
}
# Keys of the bibliography, the name of a type, and the label 1.
NO_FIGURES = r"@\w+|float64|\bvote 1\b|\breleasing 1\b"


def even(text: str) -> str:
    return " ".join(text.split())


def printed() -> str:
    """What scripts and commands printed into the pages: between the marks of a script, and below that of the demo."""
    pages = [ROOT / "README.md", *(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)]
    texts = [page.read_text(encoding="utf-8") for page in pages if page.parent.name != "joss"]
    found = [part for text in texts for _, part in re.findall(r"<!-- ([^/].*?) -->(.*?)<!-- /\1 -->", text, re.DOTALL)]
    found += [part for text in texts for part in re.findall(r"<!-- demo -->\n+((?:    .*\n|\n)+)", text)]
    return even(" ".join(found))


@pytest.fixture(scope="module")
def figures() -> str:
    return printed()


# --- the paper ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phrase", FIGURES)
def test_a_figure_of_the_paper_was_printed(phrase: str, figures: str) -> None:
    assert phrase in even(BODY)
    for source in FIGURES[phrase]:
        assert source in figures


def test_rows_of_the_papers_table_were_printed(figures: str) -> None:
    rows = [row for row in BODY.splitlines() if row.startswith("|") and "--:" not in row]
    assert len(rows) > 3
    assert [row for row in rows if row not in figures] == []


def unheld(body: str) -> list[str]:
    """Numbers of the paper that no line above holds."""
    text = even("\n".join(row for row in body.splitlines() if not row.startswith("|")))
    for phrase in FIGURES:
        text = text.replace(phrase, " ")
    # A formula without a decimal point holds constants of a proof.
    text = re.sub(r"(\$+)[^$]+\1", lambda formula: formula[0] if "." in formula[0] else " ", text)
    return re.findall(r"\S*\d\S*", re.sub(NO_FIGURES, " ", text))


def test_the_paper_has_no_other_figures() -> None:
    assert unheld(BODY) == []
    for added in ("It takes 3 seconds.", "The factor is $4.1$.", "2.5 % are wrong.", "at $\\delta = 0.01$"):
        assert unheld(f"{BODY}\n{added}\n")


def test_the_paper_has_the_form_of_the_journal() -> None:
    for field in ("title", "tags", "authors", "affiliations", "date", "bibliography"):
        assert re.search(rf"^{field}:", HEADER, re.MULTILINE), field
    assert "bibliography: paper.bib" in HEADER
    headings = re.findall(r"^# (.*)$", BODY, re.MULTILINE)
    assert headings[:3] == ["Summary", "Statement of need", "State of the field"]
    assert headings[-2:] == ["Acknowledgements", "References"]
    prose = "\n".join(row for row in BODY.splitlines() if not row.startswith(("|", "$$")))
    assert 800 <= len(prose.split()) <= 1200


def test_the_paper_cites_what_its_bibliography_has() -> None:
    entries = re.findall(r"^@\w+\{(\w+),", BIBLIOGRAPHY, re.MULTILINE)
    assert sorted(set(entries)) == sorted(entries)
    assert set(re.findall(r"@(\w+)", BODY)) == set(entries)


# --- the recipe --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recipe() -> Any:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / "docs" / "conda" / "recipe.yaml").read_text(encoding="utf-8"))


def without_space(requirements: list[str]) -> list[str]:
    return [line.replace(" ", "") for line in requirements]


def test_the_recipe_requires_what_the_package_requires(recipe: Any) -> None:
    python, *libraries = recipe["requirements"]["run"]
    assert without_space(libraries) == PROJECT["dependencies"]
    assert python == "python >=${{ python_min }}"
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert without_space(recipe["requirements"]["host"])[2:] == build


def test_the_recipe_is_of_this_package(recipe: Any) -> None:
    assert recipe["context"]["version"] == darrm.__version__
    assert recipe["package"]["name"] == PROJECT["name"]
    assert recipe["build"]["python"]["entry_points"] == [f"{k} = {v}" for k, v in PROJECT["scripts"].items()]
    about = recipe["about"]
    assert (about["summary"], about["license"]) == (PROJECT["description"], PROJECT["license"])
    assert [about["license_file"]] == PROJECT["license-files"]
    assert recipe["tests"][0]["python"]["imports"] == list(load("release_check").PACKAGES.values())


# --- the description of the package ------------------------------------------------------------------------------


def test_the_description_has_no_link_that_leads_nowhere() -> None:
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("description", ROOT / "docs" / "description.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    made = module.alone(readme)
    of_files = r"\]\((?!https?:|#)"
    assert len(re.findall(of_files, readme)) > 10
    assert re.findall(of_files, made) == []
    assert re.findall(r"\]\(https?:[^)]*\)", made) == re.findall(r"\]\(https?:[^)]*\)", readme)
    for code in (r"(?ms)^```.*?^```$", r"(?m)^ {4}.*$"):
        assert re.findall(code, made) == re.findall(code, readme) != []
    assert module.alone("A [page](docs/a.md#b), [paper](https://x.y).\n\n![P](p.png)\n\n    [a](b)\n") == (
        "A page, [paper](https://x.y).\n\n    [a](b)\n"
    )


# --- citation and versions ---------------------------------------------------------------------------------------


def released() -> str:
    """The date that CITATION.cff has for this version, as 2000-12-31."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", text, re.MULTILINE) == [darrm.__version__]
    [found] = re.findall(r'^date-released: "(.*)"$', text, re.MULTILINE)
    return str(found)


def test_the_citation_is_of_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"license: {PROJECT['license']}\n" in text
    assert [f"name: {author['name']}" for author in PROJECT["authors"]] == re.findall(r"- (name: .*)", text)
    assert set(re.findall(r"^  - ([\w ]+)$", text, re.MULTILINE)) == set(PROJECT["keywords"])


def test_the_paper_is_of_the_day_of_the_citation() -> None:
    day = date.fromisoformat(released())
    assert f"date: {day.day} {day:%B %Y}\n" in HEADER


def test_every_version_has_a_row_in_the_documentation() -> None:
    """The newest one first, with the date of the citation."""
    page = (ROOT / "docs" / "project.md").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d[\w.]*) \| (\S+) \|", page, re.MULTILINE)
    assert [version for version, _ in rows] == re.findall(r"^## (\d[\w.]*)", changes, re.MULTILINE)
    assert rows[0] == (darrm.__version__, released())

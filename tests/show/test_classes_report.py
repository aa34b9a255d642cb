"""The report of a decision between several classes says what the decision says."""

from __future__ import annotations

import html
import json
import math
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from cases import slow, thorough
from oracles.pages import Page

import darrm
from darrm import DecisionDesign, DecisionProblem, VoterGroup, objectives
from darrm.problem.counts import count_vectors
from darrm.show import classes, report
from darrm.show.report import sections, worst_classes
from darrm.show.report.worst_classes import work_out_classes

pytest.importorskip("matplotlib")
PLURALITY = objectives.rule("plurality", [0.6])


def alike() -> DecisionDesign:
    return darrm.solve(DecisionProblem([VoterGroup(5, 0.7)], 1.2, classes=3), objective=PLURALITY)


def with_none() -> DecisionDesign:
    problem = DecisionProblem([VoterGroup(4, 0.7)], 1.2, classes=("ash", "<b>", "$cedar"), none=True)
    return darrm.solve(problem, objective=objectives.truth([0.6], [0.5, 0.3, 0.2], none=0.3))


def two_groups() -> DecisionDesign:
    problem = DecisionProblem([VoterGroup(2, math.inf, max_affected=1), VoterGroup(2, 0.5)], 1.2, 0.05, classes=3)
    return darrm.solve(problem, objective=objectives.rule("plurality", [0.7, 0.6]))


def failing() -> DecisionDesign:
    problem = DecisionProblem([VoterGroup(3, 0.7, 1e-3)], 1.2, 1e-2, classes=3)
    return darrm.solve(problem, objective=objectives.rule("plurality", [0.6]))


def five() -> DecisionDesign:
    problem = DecisionProblem([VoterGroup(3, 0.7)], 1.2, classes=5, none=True)
    return darrm.solve(problem, objective=objectives.rule("plurality", [0.6], none=0.4), ordered=True)


CASES = {"alike": alike, "with none": with_none, "two groups": two_groups, "failing": failing, "five": five}


@pytest.fixture(scope="module", autouse=True)
def few_labels() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sections, "QUERIES", (1, 10))
        yield


@pytest.fixture(scope="module", params=[*thorough(alike), with_none, *slow(two_groups, failing, five)], ids=CASES)
def case(few_labels: None, request: pytest.FixtureRequest) -> tuple[DecisionDesign, Page]:
    design = request.param()
    return design, Page(report.html(design))


@pytest.mark.thorough
@pytest.mark.first(0, 2)
def test_the_rows_stand_there(case: tuple[DecisionDesign, Page]) -> None:
    design, page = case
    shown = classes.telling(design)
    rows = page.rows("The decision")
    assert [row[0] for row in rows] == [classes.votes_text(votes) for votes in shown.votes.tolist()]
    np.testing.assert_allclose([[float(x) for x in row[1:-1]] for row in rows], shown.chances, atol=1e-8)
    assert page.tables["The decision"][0][1:-1] == classes.answer_heads(design)
    assert ("The design file has all of them." in page.text) is (len(rows) < shown.every)


@pytest.mark.thorough
@pytest.mark.first(0, 2)
def test_what_is_assumed_stands_there(case: tuple[DecisionDesign, Page]) -> None:
    design, page = case
    problem, objective = design.problem, design.objective
    assert isinstance(objective, objectives.OfVoters)
    rows = {
        row[0].translate({8220: "", 8221: ""}): list(map(float, row[1:]))
        for row in page.rows("Assumptions on the votes")
    }
    assert rows["prior"] == pytest.approx(objective.prior, rel=1e-11)
    for g, table in enumerate(objective.confusion, 1):
        for c, name in enumerate(problem.names):
            assert rows[f"group {g} says {name}"] == pytest.approx(np.array(table)[:, c], rel=1e-11)
    if problem.none:
        cost = 0.3 if problem.n_classes == 3 else 0.4
        assert rows["cost of the label none"] == [cost] * problem.n_classes


@pytest.mark.thorough
def test_the_worst_case_can_be_recomputed_from_the_page(case: tuple[DecisionDesign, Page]) -> None:
    design, page = case
    problem, worst = design.problem, design.certificate.worst_case
    answers, places = classes.worst_places(worst)
    corners = page.rows("The worst case by group")
    assert [int(row[2]) for row in corners] == [place.voters for place in places]
    sums = page.rows("Sums of the worst case")
    for side in (0, 1):
        groups: list[dict[tuple[int, ...], float]] = []
        for g in range(1, len(problem.groups) + 1):
            pmf = {(0,) * problem.n_classes: 1.0}
            for row in corners:
                if row[0] != f"group {g}":
                    continue
                says = {
                    problem.names.index(name): float(x)
                    for name, x in (part.split(": ") for part in row[3 + side].split(", "))
                }
                assert math.fsum(says.values()) == pytest.approx(1, rel=1e-10)
                for _ in range(int(row[2])):
                    more: dict[tuple[int, ...], float] = defaultdict(float)
                    for votes, chance in pmf.items():
                        for c, own in says.items():
                            more[(*votes[:c], votes[c] + 1, *votes[c + 1 :])] += chance * own
                    pmf = more
            for row in page.rows("The votes in the worst case"):
                if row[0] == f"group {g}":
                    chance = pmf.get(tuple(map(int, row[1].split(":"))), 0.0)
                    assert float(row[2 + side]) == pytest.approx(chance, rel=1e-9, abs=1e-11)
            groups.append(pmf)
        total = sum(
            math.prod(chance for _, chance in votes)
            * design.probabilities([[n for n, _ in votes]])[0, list(answers)].sum()
            for votes in product(*(pmf.items() for pmf in groups))
        )
        assert float(sums[side][1]) == pytest.approx(total, rel=1e-9, abs=1e-11)
        assert float(sums[side][1]) == pytest.approx(design.certificate.probabilities[side], rel=1e-9, abs=1e-300)
    assert design.certificate.needed_delta <= float(sums[5][1]) <= problem.delta * (1 + 1e-11)


@pytest.mark.thorough
def test_the_worst_case_attains_what_the_certificate_says(case: tuple[DecisionDesign, Page]) -> None:
    design, _ = case
    worst, certificate = work_out_classes(design), design.certificate
    assert float(worst.excess) <= design.problem.delta + 1e-13
    if certificate.needed_delta:
        assert float(worst.excess) >= certificate.needed_delta - 2 * certificate.rounding - 1e-13


@pytest.mark.thorough
def test_votes_that_are_too_many_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worst_classes, "MOST_VOTES", 10)
    design = alike()
    page = Page(report.html(design, full=False))
    assert "too many vectors of votes to list" in page.text
    assert "The votes in the worst case" not in page.tables
    assert float(page.rows("Sums of the worst case")[0][1]) == pytest.approx(design.certificate.probabilities[0])
    assert work_out_classes(design).probabilities[1] == Decimal(design.certificate.probabilities[1])


@pytest.mark.thorough
def test_many_reached_voters_say_any_set_of_labels(case: tuple[DecisionDesign, Page]) -> None:
    design, page = case
    text = " ".join(page.text.split())
    assert "the probability P of a label, or of any set of labels together, to at most" in text
    assert f"names one of {design.problem.n_classes} classes: " in text
    assert ("one of the classes, or none, each" in text) is design.problem.none
    for untrue in ("either label", "both labels", "ones"):
        assert untrue not in text


def test_the_page_is_whole(case: tuple[DecisionDesign, Page]) -> None:
    design, page = case
    levels = [level for level, _ in page.headings]
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))
    assert len(page.images) == (3 if len(design.problem.groups) == 1 else 2)
    for image in page.images:
        assert len(str(image["alt"])) > 40
        assert str(image["src"]).startswith("data:image/svg+xml;base64,")
    for word in ("nan", "None", "inf,", "E+"):
        assert word not in page.text
    assert not {"script", "link", "iframe", "form", "b"} & {tag for tag, _ in page.tags}


@pytest.mark.thorough
def test_the_report_of_a_file_checks_it(tmp_path: Path) -> None:
    design, file = with_none(), tmp_path / "trees.json"
    design.save(file)
    page = Page(report.html(design, file=file, full=False))
    digests = dict(row[:2] for row in page.rows("Checksums"))
    assert digests[f"design file {file.name}"] == json.loads(file.read_text())["sha256"]
    assert "the last answer fastest" in " ".join(page.text.split())
    assert html.escape("“<b>”") in report.html(design, full=False)
    assert len(count_vectors(4, 3)) == len(page.rows("The decision"))

"""The report of a decision says what the decision says, and opens anywhere."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import slow, thorough
from oracles.pages import Page
from scipy.stats import binom

import darrm
from darrm import DecisionDesign, DecisionProblem, VoterGroup, compare, objectives
from darrm.accounting import compose
from darrm.accounting.fixed import fixed_voters
from darrm.cli import main
from darrm.show import report, wording
from darrm.show.markup import TIMES
from darrm.show.report import sections
from darrm.show.report.worst_case import work_out_groups

pytest.importorskip("matplotlib")
HOSPITALS = [VoterGroup(2, epsilon=1.0), VoterGroup(3, epsilon=0.2)]
TRUTH = objectives.truth([0.7, 0.6])


def hospitals(**more: bool) -> DecisionDesign:
    problem = DecisionProblem(HOSPITALS, epsilon=1.0)
    return darrm.solve(problem, objective=objectives.truth([0.7, 0.6]), **more)


def alarm() -> DecisionDesign:
    problem = DecisionProblem([VoterGroup(11, epsilon=0.5)], epsilon=1.5, classes=("quiet", "alarm"))
    return darrm.solve(problem, objective=objectives.truth([0.7], prior=[0.9, 0.1], cost=[[0, 5], [1, 0]]))


def three_groups() -> DecisionDesign:
    groups = [
        VoterGroup(2, epsilon=math.inf, max_affected=1),
        VoterGroup(2, epsilon=0.5, delta=1e-6),
        VoterGroup(3, epsilon=0.2),
    ]
    problem = DecisionProblem(groups, epsilon=1.0, delta=1e-4, max_affected=3)
    return darrm.solve(problem, objective=objectives.rule("majority", [0.9, 0.6, 0.55]), profile=[(2.0, 1e-5)])


def four_groups() -> DecisionDesign:
    problem = DecisionProblem([VoterGroup(1, epsilon=g / 10) for g in range(1, 5)], epsilon=0.4)
    return darrm.solve(problem, objective=objectives.truth([0.55, 0.6, 0.7, 0.8]), ordered=True)


def in_a_table() -> DecisionDesign:
    problem = DecisionProblem([VoterGroup(1, epsilon=800.0), VoterGroup(1, epsilon=1.0)], epsilon=800.0)
    return darrm.solve(problem, objective=objectives.costs(np.arange(8.0).reshape(2, 2, 2) % 3))


CASES = {
    "two groups": hospitals,
    "one group": alarm,
    "three groups": three_groups,
    "four groups": four_groups,
    "costs": in_a_table,
    "absent": lambda: hospitals(absent=True),
}


@pytest.fixture(scope="module", autouse=True)
def few_labels() -> Iterator[None]:
    """Exact composition of many labels takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sections, "QUERIES", (1, 10))
        yield


@pytest.fixture(
    scope="module",
    params=[hospitals, alarm, *slow(three_groups), *thorough(four_groups, in_a_table, CASES["absent"])],
    ids=CASES,
)
def case(few_labels: None, request: pytest.FixtureRequest) -> tuple[DecisionDesign, Page]:
    design = request.param()
    return design, Page(report.html(design))


@pytest.fixture(scope="module")
def design() -> DecisionDesign:
    return hospitals()


@pytest.mark.thorough
@pytest.mark.first(0, 2)
def test_the_table_stands_there_to_the_last_digit(case: tuple[DecisionDesign, Page]) -> None:
    design, page = case
    rows = page.rows("The decision")
    G = len(design.problem.groups)
    assert len(rows) == design.table.size
    costs, names = design.objective.costs(design.problem), design.problem.names
    for row, n in zip(rows, np.ndindex(*design.table.shape), strict=True):
        assert tuple(map(int, row[:G])) == n
        assert float(row[G]) == design.table[n]
        tie = abs(costs[n][0] - costs[n][1]) <= 1e-12 * sum(costs[n])
        cheaper = "either" if tie else names[int(costs[n][1] < costs[n][0])]
        assert row[G + 1].strip("“”") == cheaper


@pytest.mark.thorough
def test_where_both_answers_cost_the_same_rounding_prefers_none(few_labels: None) -> None:
    """Two groups that are right equally often: at 3 of 6 votes for 1 there is nothing to choose."""
    groups = [VoterGroup(4, epsilon=0.1), VoterGroup(2, epsilon=0.25)]
    design = darrm.solve(DecisionProblem(groups, epsilon=0.5), objective=objectives.truth([0.85, 0.85]))
    said = {tuple(map(int, row[:2])): row[3] for row in Page(report.html(design, full=False)).rows("The decision")}
    assert {n for n, cheaper in said.items() if cheaper == "either"} == {(1, 2), (2, 1), (3, 0)}


@pytest.mark.thorough
def test_a_decision_without_a_proved_gap_is_called_no_optimum(design: DecisionDesign, few_labels: None) -> None:
    with_gap, without = (
        report.html(made, full=False) for made in (design, DecisionDesign(design.problem, design.table, TRUTH))
    )
    assert "above the cost of any decision" in with_gap
    assert "above the cost of" not in without
    assert "No gap is certified: another decision with this guarantee may cost less." in without
    assert "optimum" not in without


@pytest.mark.thorough
def test_the_groups_stand_there(case: tuple[DecisionDesign, Page]) -> None:
    design, page = case
    problem = design.problem
    rows = page.rows("The groups")
    for row, group in zip(rows, problem.groups, strict=False):
        assert int(row[1]) == group.count
        assert int(row[3]) == min(group.max_affected, problem.max_affected)
        assert (row[2] == "non-private") is math.isinf(group.epsilon)
        if group.epsilon < math.inf:
            epsilon, delta = row[2].removesuffix("-DP").strip("()").split(", ")
            assert (float(epsilon), float(delta)) == (group.epsilon, group.delta)
    value = {row[0]: row[1] for row in page.rows("The problem")}
    assert [float(value[symbol]) for symbol in "Kεδt"] == [
        problem.K,
        problem.epsilon,
        problem.delta,
        problem.max_affected,
    ]
    assert value["ordered"] == ("yes" if design.ordered else "no")
    assert sum(row[0] == "profile" for row in page.rows("The problem")) == len(design.profile)


@pytest.mark.thorough
def test_the_worst_case_can_be_recomputed_from_the_page(case: tuple[DecisionDesign, Page]) -> None:
    design, page = case
    problem = design.problem
    corners = page.rows("The worst case by group")
    named = {f"{row[0]} at {row[1]}": int(row[2]) for row in corners}
    answer = design.certificate.worst_case["answer"]
    assert {"answer": answer, **named} == design.certificate.worst_case
    release = design.table if answer else 1 - design.table
    sums = page.rows("Sums of the worst case")
    for side in (0, 1):
        counts = []
        for g, group in enumerate(problem.groups, 1):
            pmf = np.ones(1)
            for row in corners:
                if row[0] == f"group {g}":
                    pmf = np.convolve(pmf, binom.pmf(np.arange(int(row[2]) + 1), int(row[2]), float(row[3 + side])))
            assert pmf.size == group.count + 1
            shown = [
                float(row[2 + side])
                for row in page.rows("The numbers of ones in the worst case")
                if row[0] == f"group {g}"
            ]
            np.testing.assert_allclose(shown, pmf, rtol=1e-9, atol=1e-11)
            counts.append(shown)
        total = sum(
            math.prod(chances) * release[n]
            for n, chances in zip(np.ndindex(*release.shape), product(*counts), strict=True)
        )
        assert float(sums[side][1]) == pytest.approx(total, rel=1e-9, abs=1e-11)
        assert float(sums[side][1]) == pytest.approx(design.certificate.probabilities[side], rel=1e-9, abs=1e-300)
    product_ = Decimal(sums[1][1]) * Decimal(sums[2][1])
    assert abs(Decimal(sums[3][1]) - product_) <= Decimal("1e-10") * product_
    assert design.certificate.needed_delta <= float(sums[5][1]) <= problem.delta * (1 + 1e-11)


@pytest.mark.thorough
def test_the_worst_case_attains_what_the_certificate_says(case: tuple[DecisionDesign, Page]) -> None:
    design, _ = case
    worst, certificate = work_out_groups(design), design.certificate
    assert worst.excess <= Decimal(certificate.needed_delta) or not certificate.needed_delta
    assert float(worst.excess) <= design.problem.delta
    if certificate.needed_delta:
        assert float(worst.excess) >= certificate.needed_delta - 2 * certificate.rounding - 1e-14


@pytest.mark.thorough
@pytest.mark.first(0, 2)
def test_costs_and_gap_stand_there(case: tuple[DecisionDesign, Page]) -> None:
    design, page = case
    text = " ".join(page.text.split())
    assert f"The expected cost is {sections.figure(design.expected_cost)}: " in text
    assert f"any {'ordered ' * design.ordered}decision with this guarantee" in text
    rows = page.rows("Expected cost beside simpler decision rules")
    others = compare(design.problem, objective=design.objective)
    same = abs(others[0].expected_cost - design.expected_cost) <= 1e-9
    assert rows[0][0] == "this design" + " (optimum)" * same
    for row, cost in zip(rows, [design.expected_cost, *(other.expected_cost for other in others[same:])], strict=True):
        assert row[1] == (sections.figure(cost) if cost else "0.000000")
    for row, entry in zip(rows[1:], others[same:], strict=True):
        assert row[0] == entry.called
        assert row[3] == ("yes" if entry.certificate.holds else "no")


@pytest.mark.thorough
def test_where_the_optimum_prefers_the_dearer_label(case: tuple[DecisionDesign, Page]) -> None:
    design, page = case
    few = f"At {design.reversals} of {design.table.size} counts the label that costs more is the likelier one"
    assert (few if design.reversals else "The label that costs more is never the likelier one") in page.text
    assert ("ordered=True" in page.text) is bool(design.reversals)


@pytest.mark.thorough
def test_absent_voters_are_spoken_of_only_where_they_may_be(case: tuple[DecisionDesign, Page]) -> None:
    design, page = case
    condition = "Who is absent must depend neither on the data nor on votes or their noise."
    assert (condition in page.text) is design.absent
    assert ("All voters must be present" in page.text) is not design.absent
    rows = page.rows("With absent voters") if design.absent else []
    assert len(rows) == (len(design.fewer) + 1 if design.absent else 0)
    for row in rows:
        part = design.with_present([int(k) for k in row[0].split(",")])
        assert row[1] == sections.figure(part.expected_cost)
        assert row[4] == "yes"


@pytest.mark.thorough
def test_reversals_are_named_with_their_chance() -> None:
    design = hospitals()
    mask = (design.table - 0.5) * np.diff(design.objective.costs(design.problem), axis=-1)[..., 0] > 0
    assert mask.sum() == design.reversals == 2
    text = " ".join(Page(report.html(design, full=False)).text.split())
    for n in np.argwhere(mask).tolist():
        assert str(tuple(n)) in text
    chance = design.objective.chances(design.problem).sum(axis=0)[mask].sum()  # type: ignore[attr-defined]
    assert f"These counts have probability {chance:.2g}." in text


@pytest.mark.thorough
def test_many_labels_of_voters_without_privacy_have_no_bound_for_any_number() -> None:
    page = Page(report.html(three_groups(), full=False))
    assert "Affected voters may be non-private" in " ".join(page.text.split())
    assert page.rows("Total epsilon of many labels")[1][4] == "not computed"


@pytest.mark.thorough
def test_voters_beside_others_without_privacy_are_not_taken_for_those() -> None:
    """Three voters without privacy are as many as one change reaches. It may reach the three private ones instead.

    Whether those are fresh or fixed then matters: the table takes the majority of their votes alone, at its best.
    """
    few = darrm.solve(K=3, m=1, epsilon=2.0)
    chance = np.where(np.arange(4) > 1, 1 + few.gamma, 1 - few.gamma) / 2
    problem = DecisionProblem([VoterGroup(3, epsilon=2.0), VoterGroup(3, epsilon=math.inf)], 2.0, max_affected=3)
    design = DecisionDesign(problem, np.repeat(chance[:, None], 4, axis=1), darrm.objectives.truth([0.8, 0.8]))
    for voters in ("fresh", "fixed"):
        said = wording.condition(problem, voters)
        assert "(2, 0)-DP in group 1 (3 voters)" in said
        assert "; voters of group 2 (3 voters) need not be private" in said
    page = Page(report.html(design, full=False))
    assert {row[4] for row in page.rows("Total epsilon of many labels")[1:]} == {"not computed"}
    assert compose(design, 2, delta=1e-5, voters="fixed").upper > 2 * compose(design, 2, delta=0, voters="fresh").upper


@pytest.mark.thorough
def test_fixed_voters_beside_others_without_privacy_have_a_total_for_each_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sections, "QUERIES", (1, 10))
    problem = DecisionProblem([VoterGroup(3, epsilon=0.1), VoterGroup(1, epsilon=math.inf)], 0.5, max_affected=1)
    design = darrm.solve(problem, objective=objectives.truth([0.6, 0.95]))
    assert (
        compose(design, 10, delta=1e-6, voters="fixed").lower
        < 0.9 * compose(design, 10, delta=1e-6, voters="fixed").upper
    )
    rows = Page(report.html(design, delta=1e-6, queries=5, full=True)).rows("Total epsilon of many labels")
    assert [row[0] for row in rows] == ["1", "5", "10"]
    for labels, _, _, _, total in rows:
        fixed = compose(design, int(labels), delta=1e-6, voters="fixed").upper
        assert fixed <= float(total) <= fixed * 1.00001


@pytest.mark.slow
def test_what_others_keep_of_a_profile_stands_beside_them() -> None:
    """The optimum of the guarantee alone breaks the profile that this design was solved for, and says so."""
    problem = DecisionProblem(HOSPITALS, epsilon=1.0)
    design = darrm.solve(problem, objective=TRUTH, profile=[(0.5, 0.05), (0.8, 0.001)])
    text = report.html(design, full=True)
    rows = {row[0]: row[1:] for row in Page(text).rows("Expected cost beside simpler decision rules")}
    assert rows["this design"][2:] == ["yes", "yes"]
    assert rows["optimum without the profile"][2:] == ["yes", "no"]
    plain = darrm.solve(problem, objective=TRUTH)
    with pytest.raises(darrm.CertificateError, match="a point of its profile"):
        DecisionDesign(problem, plain.table, TRUTH, profile=design.profile)
    broken = DecisionDesign(problem, design.table, TRUTH, profile=[(0.5, 0.05)])
    with pytest.raises(darrm.CertificateError, match=r"0\.0001\)-DP, a point of its profile"):  # not the first
        DecisionDesign(problem, broken.table, TRUTH, profile=[(0.5, 0.05), (0.8, 1e-4)])
    assert "any decision with this guarantee and profile." in text
    assert "and profile" not in report.html(plain, full=False)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_page_of_voters_without_privacy_asks_nothing_of_their_kind(classes: int) -> None:
    pages = []
    for group in (VoterGroup(3, math.inf, max_affected=1), VoterGroup(3, 0.5, max_affected=1)):
        design = darrm.solve(DecisionProblem([group], 0.4, classes=classes), objective=objectives.truth([0.8]))
        pages.append(" ".join(Page(report.html(design.for_plan("fresh"), full=False)).text.split()))
    for words in ("The trap", "planned for fresh", "released once", "independent given", "as private as stated"):
        assert words not in pages[0]
        assert words in pages[1]
    assert "Votes may depend on each other." in pages[0]
    assert "whether the voters are fresh or fixed. Labels compose" in pages[0]


def test_groups_without_privacy_rest_on_the_coins_however_many_are_reached() -> None:
    groups = [VoterGroup(1, epsilon=math.inf), VoterGroup(2, epsilon=math.inf)]
    for affected in (1, 2, 3):
        problem = DecisionProblem(groups, 1.0, max_affected=affected)
        assert wording.condition(problem, "fixed").startswith("if the output noise of every label is fresh")
    mixed = [VoterGroup(1, epsilon=math.inf), VoterGroup(2, epsilon=1.0)]
    assert not any(
        wording.condition(DecisionProblem(mixed, 1.0, max_affected=t), "fixed").startswith("if the output")
        for t in (1, 2, 3)
    )


@pytest.mark.thorough
def test_fixed_voters_of_several_kinds_are_named(design: DecisionDesign) -> None:
    page = Page(report.html(design, full=False))
    copies = f"2 {TIMES} (1, 0)-DP and 3 {TIMES} (0.2, 0)-DP"
    assert f"the optimal composition of the affected voters: {copies}." in " ".join(page.text.split())
    fixed = fixed_voters(design.problem, report.default_delta(design))
    assert fixed <= float(page.rows("Total epsilon of many labels")[1][4]) <= fixed * 1.00001


@pytest.mark.thorough
def test_voters_that_fail_most_often_need_not_be_the_least_private() -> None:
    """The bound counts the largest epsilons and the largest failures, of other voters if need be; so does the text."""
    groups = [VoterGroup(2, epsilon=1.0, delta=0.1), VoterGroup(2, epsilon=0.5, delta=0.102)]
    problem = DecisionProblem(groups, epsilon=1.0, delta=0.3, max_affected=2)
    text = " ".join(Page(report.html(DecisionDesign(problem, np.full((3, 3), 0.4), TRUTH), full=False)).text.split())
    failure = 1 - (1 - 0.102) ** 2
    assert fixed_voters(problem, failure - 1e-9) == math.inf
    assert 1.99 < fixed_voters(problem, failure + 1e-9) < 2.0  # of the first group, which fails a little less often
    copies = (
        f"composition of the affected voters: 2 {TIMES} (1, 0)-DP, and a failure event of probability {failure:.4f}."
    )
    assert copies in text
    alike = DecisionProblem(groups, epsilon=1.0, delta=0.3)
    text = " ".join(Page(report.html(DecisionDesign(alike, np.full((3, 3), 0.4), TRUTH), full=False)).text.split())
    assert f"composition of the affected voters: 2 {TIMES} (1, 0.1)-DP and 2 {TIMES} (0.5, 0.102)-DP." in text


@pytest.mark.thorough
def test_failures_that_are_counted_together_are_told_apart() -> None:
    """62 million cases with failures: the certificate is of voters without them, and so is the worst case shown."""
    problem = DecisionProblem([VoterGroup(40, epsilon=0.5, delta=1e-3)], epsilon=0.05, delta=0.3)
    design = DecisionDesign(problem, np.linspace(0.4, 0.6, 41), objectives.truth([0.6]))
    worst = work_out_groups(design)
    d = 1 - (1 - 1e-3) ** 40
    assert worst.excess > 0
    assert design.certificate.needed_delta == pytest.approx(d + (1 - d) * float(worst.excess), rel=1e-9)
    text = " ".join(Page(report.html(design, full=False)).text.split())
    assert "This case has Δ = 0, because the cases with a larger one are too many to check." in text
    assert f"adds the deltas of the affected voters, together at most {d:.3g}" in text
    assert "Lemma D4" not in Page(report.html(hospitals(), full=False)).text


def test_the_page_is_whole(case: tuple[DecisionDesign, Page]) -> None:
    design, page = case
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))
    assert len(page.images) == (3 if len(design.problem.groups) <= 3 else 2)
    for image in page.images:
        assert len(str(image["alt"])) > 40
        assert str(image["src"]).startswith("data:image/svg+xml;base64,")
    ids = [given["id"] for _, given in page.tags if "id" in given]
    for _, given in page.tags:
        if str(given.get("href", "")).startswith("#"):
            assert str(given["href"])[1:] in ids
    for word in ("$", "nan", "None", "inf,", "E+"):
        assert word not in page.text
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & {tag for tag, _ in page.tags}


@pytest.mark.thorough
def test_text_of_the_user_is_text(tmp_path: Path) -> None:
    nasty = "<script>alert(1)</script> & \"quoted\" $K ${x} 'it' </main>"
    problem = DecisionProblem(HOSPITALS, epsilon=1.0, classes=("<b>no", "$one"), adjacency=nasty)
    page = Page(report.html(darrm.solve(problem, objective=objectives.truth([0.7, 0.6])), full=False))
    assert not {"script", "b"} & {tag for tag, _ in page.tags}
    assert dict(row[:2] for row in page.rows("The problem"))["adjacency"] == nasty
    assert "“<b>no” or “$one”" in page.text


@pytest.mark.thorough
@pytest.mark.parametrize("absent", [False, True])
def test_the_python_of_the_page_runs_and_prints_its_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absent: bool
) -> None:
    design, file = hospitals(absent=absent), tmp_path / "it's mine.json"
    design.save(file)
    page = Page(report.html(design, file=file, full=False))
    digests = dict(row[:2] for row in page.rows("Checksums"))
    assert digests[f"design file {file.name}"] == json.loads(file.read_text())["sha256"]
    code = page.text[page.text.index("import darrm, hashlib") :].split("SHA-256 of")[0]
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {})
    first, second = printed.getvalue().splitlines()
    assert first.split()[0] == "True"
    assert second == digests["the probabilities"]
    tables = [design.table, *(part.table for part in design.fewer.values())]
    assert second == sections.digest(*tables)
    assert second != sections.digest(design.table[::-1], *tables[1:])


@pytest.mark.thorough
def test_a_file_with_another_decision_is_refused(tmp_path: Path, design: DecisionDesign) -> None:
    others = [
        hospitals(absent=True),
        hospitals(ordered=True),
        DecisionDesign(design.problem, design.table, objectives.truth([0.7, 0.61])),
        darrm.solve(K=5, m=2, epsilon=0.5),
    ]
    for other in others:
        other.save(tmp_path / "other.json")
        with pytest.raises(darrm.InputError, match="holds another design"):
            report.html(design, file=tmp_path / "other.json")


@pytest.mark.thorough
def test_the_command_writes_the_same_bytes_every_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], design: DecisionDesign
) -> None:
    file = tmp_path / "decision.json"
    design.save(file)
    for name in ("a.html", "b.html"):
        assert main(["report", str(file), "--short", "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert (tmp_path / "a.html").read_text() == report.html(design, file=file, full=False)


@pytest.mark.thorough
def test_many_multisets_get_a_short_report() -> None:
    problem = DecisionProblem([VoterGroup(12, epsilon=1.0), VoterGroup(12, epsilon=0.25)], epsilon=0.5)
    design = DecisionDesign(problem, np.full(problem.table_shape, 0.5), objectives.truth([0.7, 0.6]))
    page = Page(report.html(design))
    assert page.text.count("left out of this short report") == 2
    assert "No gap is certified" in page.text
    assert len(page.rows("The decision, all rows")) == 169


@pytest.mark.thorough
def test_cells_are_short_groups_are_named_and_the_box_says_what_was_minimised(few_labels: None) -> None:
    groups = [VoterGroup(2, 1.0, names=["anna", "ben"]), VoterGroup(3, 0.3, 1e-6, names=["x", "y", "z"])]
    design = darrm.solve(DecisionProblem(groups, 1 / 3, 1e-5), objective=objectives.truth([0.8, 2 / 3]))
    page = Page(report.html(design, full=False))
    assert [row[0] for row in page.rows("The groups")] == ["group 1: anna, ben", "group 2: x, y, z", "all"]
    numbers = [found for cell in page.printed for found in re.findall(r"(?<![\w.])\d*\.\d+(?![\w.])", cell)]
    assert max(len(found.replace(".", "").lstrip("0")) for found in numbers) == 7
    box = page.text.split("The guarantee\n")[0]
    assert "minimised: the label error rate" in box
    assert sections.figure(design.expected_cost) in box


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("known", [False, True])
def test_the_certificate_of_a_known_randomizer_speaks_of_true_answers(classes: int, *, known: bool) -> None:
    """The condition for voters of any mechanism is false of such a table, and its number of cases is another."""
    randomizer: dict[str, Any] = {"randomizer": "randomized response", "colluders": 1} if known else {}
    problem = DecisionProblem([VoterGroup(4, 1.0, max_affected=1, **randomizer)], 0.8, classes=classes, max_affected=1)
    page = " ".join(report.html(darrm.solve(problem, objective=objectives.truth([0.7])), full=False).split())
    assert ("gives to its true answer" in page) is known
    assert ("at a corner point of the region" in page or "is a private bit" in page) is not known


def test_conditions_of_several_kinds_of_voters_are_one_sentence() -> None:
    known = VoterGroup(3, epsilon=1.0, max_affected=1, randomizer="randomized response", colluders=1)
    conditions = [wording.condition(DecisionProblem([own], 1.0), "fresh") for own in (known, VoterGroup(3, 1.0), known)]
    said = wording.joined(conditions)
    assert said.count("; and if ") == 1
    assert re.findall(r"\.\D", said) == [". "]  # before the sentence on the records at colluders
    assert wording.joined(conditions[1:2]) == conditions[1]
    assert not wording.joined([])

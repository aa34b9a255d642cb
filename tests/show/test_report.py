"""The report says what the design says, and opens anywhere."""

import contextlib
import decimal
import hashlib
import io
import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import thorough
from oracles import exact
from oracles.pages import Page

import darrm
from darrm import compare
from darrm.accounting import compose, optimal
from darrm.accounting.composition import of_label
from darrm.accounting.releases import one_label
from darrm.cli import main
from darrm.numerics import poisson_binomial
from darrm.show import markup, report, wording
from darrm.show.markup import shown
from darrm.show.report import sections
from darrm.show.report.sections import digest
from darrm.show.report.worst_case import work_out

matplotlib = pytest.importorskip("matplotlib")
ALL = sections.QUERIES
FEW = (1, 10, 100)

CASES: dict[str, dict[str, Any]] = {
    "pure": {"K": 11, "m": 3, "epsilon": 1.0},
    "delta": {"K": 11, "m": 3, "epsilon": 0.0892, "Delta": 1e-4},
    "even": {"K": 8, "m": 2, "epsilon": 0.3, "max_affected": 3},
    "one": {"K": 1, "m": 1, "epsilon": 0.5},
    "delta alone": {"K": 5, "m": 2, "epsilon": 0.5, "delta": 0.01},
    "far": {"K": 3, "m": 3, "epsilon": 800.0},
    "monotone": {"K": 7, "m": 2, "epsilon": 0.5, "shape": "monotone", "prior": "common:2,3"},
    "votes": {"K": 3, "m": 2, "epsilon": 0.1, "prior": "votes:1,0,1,2"},
    "profile": {"K": 5, "m": 2, "epsilon": 0.5, "delta": 1e-3, "profile": [(0.2, 0.3), (float("inf"), 1e-4)]},
}
FIRST = {"delta", "profile"}


@pytest.fixture(scope="module", autouse=True)
def few_labels() -> Iterator[None]:
    """Exact composition of many labels takes a second: one test below has them, the others do without."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sections, "QUERIES", FEW)
        yield


@pytest.fixture(scope="module", params=[*sorted(FIRST), *thorough(*sorted(CASES.keys() - FIRST))])
def case(few_labels: None, request: pytest.FixtureRequest) -> tuple[darrm.Design, Page]:
    design = darrm.solve(**CASES[request.param])
    return design, Page(report.html(design))


@pytest.fixture(scope="module")
def design() -> darrm.Design:
    return darrm.solve(K=5, m=2, epsilon=0.5)


@pytest.mark.thorough
@pytest.mark.first(1, 2)
def test_gamma_stands_there_to_the_last_digit(case: tuple[darrm.Design, Page]) -> None:
    design, page = case
    K = design.problem.K
    found = {row[0]: row[1] for row in page.rows("The noise function")}
    assert len(found) == K // 2 + 1 if K % 2 == 0 else (K + 1) // 2
    for l in range(K // 2 + 1, K + 1):
        assert float(found[f"{K - l} : {l}"]) == design.gamma[l]
    assert (found.get(f"{K // 2} : {K // 2}") == "any") is (K % 2 == 0)
    assert ("A tie releases a fair coin." in page.text) is (K % 2 == 0)


@pytest.mark.thorough
@pytest.mark.first(0, 2)
def test_the_problem_stands_there_exactly(case: tuple[darrm.Design, Page]) -> None:
    design, page = case
    problem, value = design.problem, {row[0]: row[1] for row in page.rows("The problem")}
    for symbol, number in zip(
        "KεΔmδt",
        (problem.K, problem.epsilon, problem.Delta, problem.m, problem.delta, problem.max_affected),
        strict=True,
    ):
        assert float(value[symbol]) == number
    assert value["adjacency"] == problem.adjacency
    assert sum(row[0] == "profile" for row in page.rows("The problem")) == len(design.profile)


@pytest.mark.thorough
def test_the_worst_case_can_be_recomputed_from_the_page(case: tuple[darrm.Design, Page]) -> None:
    design, page = case
    problem, K = design.problem, design.problem.K
    corners = page.rows("The worst case")
    assert {row[0]: int(row[1]) for row in corners} == design.certificate.worst_case
    lines = page.rows("The worst case line by line")
    assert [int(row[0]) for row in lines] == list(range(K + 1))
    for column, side in ((1, 2), (2, 3)):
        p = [float(row[side]) for row in corners for _ in range(int(row[1]))]
        expected = poisson_binomial.pmf(p)
        # p is printed to 12 digits, so 1 - p is right to 1e-12 and no better
        np.testing.assert_allclose([float(row[column]) for row in lines], expected, rtol=1e-9, atol=1e-11)
        total = sum(Decimal(row[column + 3]) for row in lines)
        printed = Decimal(page.rows("Sums of the worst case")[column - 1][1])
        assert abs(total - printed) <= (K + 1) * Decimal("1e-11") * printed
        if design.certificate.probabilities[column - 1]:
            assert float(printed) == pytest.approx(design.certificate.probabilities[column - 1], rel=1e-11)
    for row in lines:
        l = int(row[0])
        assert float(row[3]) == pytest.approx((1 + np.sign(2 * l - K) * design.gamma[l]) / 2, rel=1e-9, abs=1e-16)
    sums = page.rows("Sums of the worst case")
    product = Decimal(sums[1][1]) * Decimal(sums[2][1])  # may be beyond float, where pytest.approx ends
    assert abs(Decimal(sums[3][1]) - product) <= Decimal("1e-10") * product
    assert float(sums[5][1]) >= design.certificate.needed_delta
    assert float(sums[5][1]) <= problem.delta * (1 + 1e-11)


@pytest.mark.parametrize("name", ["pure", "delta", "even", "one", "delta alone"])
def test_the_worst_case_is_that_of_exact_fractions(name: str) -> None:
    design = darrm.solve(**CASES[name])
    problem, worst = design.problem, work_out(design)
    counts = tuple(
        design.certificate.worst_case.get(corner, 0)
        for corner in ("(0,0)", "(1,1)", "(hi,lo)", "(lo,hi)", "(D,0)", "(0,D)", "(1-D,1)", "(1,1-D)")
    )[: len(exact.corners(problem))]
    x, y = exact.probabilities(design.gamma.tolist(), problem, counts)
    with decimal.localcontext() as context:
        context.prec = 60
        excess = x - exact.exponential(exact.total_epsilon(problem)) * y
        assert abs(worst.excess - Decimal(excess.numerator) / Decimal(excess.denominator)) < Decimal("1e-50")
    assert excess <= design.certificate.needed_delta <= problem.delta
    assert sum(worst.p_side) == pytest.approx(Decimal(1), abs=Decimal("1e-20"))


@pytest.mark.thorough
def test_what_many_labels_cost_is_what_compose_says(case: tuple[darrm.Design, Page]) -> None:
    design, page = case
    problem, delta = design.problem, report.default_delta(design)
    rows = page.rows("Total epsilon of many labels")
    assert [int(row[0].replace(",", "")) for row in rows] == list(FEW)
    for row, queries in zip(rows, FEW, strict=True):
        try:
            total = compose(design, queries, delta=delta, voters="fresh")
        except darrm.InputError:
            assert row[1:3] == ["infinite", ""]
        else:
            assert total.upper <= float(row[1]) <= total.upper * 1.00001
            least = min(total.bounds, key=total.bounds.__getitem__)
            assert total.bounds[least] == total.upper
            assert row[2] == wording.rule(least)
            assert wording.RULES[least][1] in page.text
    fixed = optimal(problem.epsilon, problem.Delta, problem.max_affected, delta).epsilon
    for row in rows[1:]:
        assert fixed <= float(row[4]) <= fixed * 1.00001
    one = compose(design, 1, delta=delta, voters="fixed").upper
    assert one <= float(rows[0][4]) <= one * 1.00001


@pytest.mark.thorough
def test_what_is_near_one_is_explained(case: tuple[darrm.Design, Page]) -> None:
    design, page = case
    near = [gamma for gamma in design.gamma.tolist() if 1 - 1e-9 < gamma < 1]
    assert ("slightly below 1" in page.text) is bool(near)
    if near:
        assert f"slightly below 1, by at most {shown(1 - min(near), 2, up=True)}: " in page.text


def too_long(page: Page) -> list[str]:
    """Cells with a number of more than 7 significant digits."""
    numbers = re.compile(r"(?<![\w.])(\d*\.\d+)(?:e-?\d+)?(?![\w.])")
    return [
        cell
        for cell in page.printed
        if any(len(found.replace(".", "").lstrip("0")) > 7 for found in numbers.findall(cell))
    ]


@pytest.mark.thorough
def test_no_cell_has_a_long_number(case: tuple[darrm.Design, Page]) -> None:
    design, page = case
    assert too_long(page) == []
    delta = page.printed[page.printed.index("delta guaranteed for one label") - 1]
    assert design.problem.delta <= float(delta) <= design.problem.delta * (1 + 1e-6)


@pytest.mark.thorough
def test_digits_that_are_cut_make_no_claim_stronger() -> None:
    problem = darrm.MajorityProblem(3, 2, 2 / 3, 1e-5 / 3)
    page = Page(report.html(darrm.Design(problem, np.zeros(4), darrm.priors.independent()), full=False))
    value = {name: float(page.printed[at + 1]) for at, name in enumerate(page.printed) if name in ("ε", "Δ", "δ", "mε")}
    assert value["ε"] < problem.epsilon < value["ε"] * (1 + 1e-6)
    assert value["Δ"] < problem.Delta < value["Δ"] * (1 + 1e-6)
    assert value["δ"] > problem.delta > value["δ"] * (1 - 1e-6)
    assert value["mε"] > problem.release_epsilon > value["mε"] * (1 - 1e-6)
    assert too_long(page) == []


@pytest.mark.thorough
def test_the_first_box_says_what_was_minimised(case: tuple[darrm.Design, Page]) -> None:
    design, page = case
    box = page.text.split("The guarantee\n")[0]
    assert f"minimised: {design.objective.cost_in_words}" in box
    assert sections.figure(design.expected_cost) in box


@pytest.mark.thorough
def test_what_is_no_optimum_is_not_called_minimised(design: darrm.Design) -> None:
    for name in ("tv", "custom"):
        other = darrm.Design(design.problem, design.gamma * 0.5, design.prior, objective=name)
        page = Page(report.html(other, full=False))
        assert "minimised:" not in page.text
        assert sections.figure(other.error if name == "tv" else other.disagreement) in page.text


def test_noise_that_falls_is_explained_where_it_can(case: tuple[darrm.Design, Page]) -> None:
    design, page = case
    assert ("need not increase with the majority" in page.text) is (design.shape == "free")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("planned", "there", "missing"),
    [
        ("fresh", ["epsilon, fresh voters", "it was planned for fresh voters"], ["epsilon, fixed voters"]),
        ("fixed", ["epsilon, fixed voters", "is not for fresh voters"], ["epsilon, fresh voters", "composes exactly"]),
    ],
)
def test_a_plan_has_no_total_of_the_other_kind_of_voters(planned: str, there: list[str], missing: list[str]) -> None:
    design = darrm.solve(K=3, m=1, epsilon=0.5).for_plan(planned)
    section = str(sections.many_labels(design, 1e-5, False, None))
    assert all(words in section for words in there)
    assert not any(words in section for words in missing)


def test_totals_by_a_known_randomizer_stand_beside_what_they_rest_on() -> None:
    voters = darrm.VoterGroup(3, 1.0, max_affected=1, randomizer="randomized response", colluders=1)
    design = darrm.Design(darrm.DecisionProblem([voters], 1.01), [0, 0, 1, 1], darrm.objectives.truth([0.7]))
    section = str(sections.many_labels(design.for_plan("fresh"), 1e-5, True, None))
    total = of_label(one_label(design).of_any_voters(), 10, 1e-5, "fresh", 1e-3)
    assert shown(total.upper, 6, up=True) in section
    assert all(words in section for words in ("they hold if every voter but 1", "claim the last column alone"))
    assert "fixed voters can cost" not in section


def test_labels_go_up_to_a_hundred_thousand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "QUERIES", ALL)
    design = darrm.solve(K=3, m=1, epsilon=0.01)
    totals = [float(row[1]) for row in Page(report.html(design)).rows("Total epsilon of many labels")]
    assert totals[4] < totals[3] * 100  # composed, not added up
    for total, count in zip(totals, ALL, strict=True):
        assert total <= count * 0.01 * 1.00001
    upper = compose(design, 1000, delta=1e-5, voters="fresh").upper
    assert upper <= totals[3] <= upper * 1.00001


@pytest.mark.thorough
def test_the_errors_are_those_of_compare() -> None:
    design = darrm.solve(K=11, m=3, epsilon=0.1, prior="common")
    rows = Page(report.html(design)).rows("Errors beside other mechanisms")
    assert rows[0][0] == "this design (gamma_opt)"
    for row, entry in zip(rows, compare(design.problem, design.prior), strict=True):
        assert row[1:3] == [f"{entry.error:.6f}", f"{entry.disagreement:.6f}"] or 0 < entry.error < 1e-3
        assert row[4] == ("yes" if entry.certificate.holds else "no")


@pytest.mark.thorough
def test_a_design_that_is_no_optimum_stands_beside_it(design: darrm.Design) -> None:
    other = darrm.Design(design.problem, design.gamma * 0.5, design.prior)
    page = Page(report.html(other))
    assert [row[0] for row in page.rows("Errors beside other mechanisms")][:3] == [
        "this design",
        "gamma_opt",
        "monotone",
    ]
    assert "No gap is certified" in page.text


@pytest.mark.thorough
def test_without_a_comparison_the_report_says_why(design: darrm.Design) -> None:
    prior = darrm.priors.parse("independent:0.5,0.5")  # no gamma is better than another
    page = Page(report.html(darrm.Design(design.problem, design.gamma, prior)))
    assert "There is no comparison" in page.text


def test_the_page_is_whole_and_names_what_it_shows(case: tuple[darrm.Design, Page]) -> None:
    _, page = case
    assert page.tags[0] == ("html", {"lang": "en"})
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))
    assert len(page.images) == 4
    for image in page.images:
        assert len(str(image["alt"])) > 40
        assert str(image["src"]).startswith("data:image/svg+xml;base64,")
    ids = [given["id"] for _, given in page.tags if "id" in given]
    assert len(set(ids)) == len(ids)
    for _, given in page.tags:
        if str(given.get("href", "")).startswith("#"):
            assert str(given["href"])[1:] in ids
    for word in ("$", "nan", "None", "inf,", "E+"):
        assert word not in page.text


def test_nothing_is_loaded_from_elsewhere_and_nothing_runs(case: tuple[darrm.Design, Page]) -> None:
    _, page = case
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & {tag for tag, _ in page.tags}
    for tag, given in page.tags:
        for name, value in given.items():
            assert not name.startswith("on")
            if name in ("src", "srcset", "style", "data", "action", "poster"):
                assert str(value).startswith("data:")
            if name == "href":
                assert tag == "a"


@pytest.mark.thorough
def test_the_page_is_small_and_the_same_on_every_run(tmp_path: Path, design: darrm.Design) -> None:
    file = tmp_path / "gamma.json"
    design.save(file)
    sizes = [report.write(tmp_path / name, darrm.load(file), file=file) for name in ("a.html", "b.html")]
    one, other = ((tmp_path / name).read_bytes() for name in ("a.html", "b.html"))
    assert one == other
    assert sizes == [len(one)] * 2
    assert len(one) < 1_000_000


@pytest.mark.thorough
def test_the_callers_decimal_context_changes_nothing(design: darrm.Design) -> None:
    before = report.html(design)
    with decimal.localcontext(decimal.Context(prec=3, Emax=5, Emin=-5)):
        assert report.html(design) == before


@pytest.mark.thorough
def test_text_of_the_user_is_text(tmp_path: Path) -> None:
    nasty = "<script>alert(1)</script> & \"quoted\" $K ${x} 'it' </main>"
    file = tmp_path / "<b>&'x.json"
    darrm.solve(K=3, m=1, epsilon=0.5, adjacency=nasty).save(file)
    page = Page(report.html(darrm.load(file), file=file, full=False))
    assert "script" not in {tag for tag, _ in page.tags}
    assert "b" not in {tag for tag, _ in page.tags}
    assert dict(row[:2] for row in page.rows("The problem"))["adjacency"] == nasty
    assert file.name in page.text
    assert f"({nasty!r}) affects at most 3 voters" in page.text.replace("\n", " ")


@pytest.mark.thorough
def test_the_python_of_the_page_runs_and_prints_its_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, design: darrm.Design
) -> None:
    file = tmp_path / "it's mine.json"
    design.save(file)
    page = Page(report.html(design, file=file, full=False))
    digests = dict(row[:2] for row in page.rows("Checksums"))
    assert digests["gamma"] == digest(design.gamma)
    assert digests[f"design file {file.name}"] == json.loads(file.read_text())["sha256"]
    code = page.text[page.text.index("import darrm, hashlib") :].split("SHA-256 of")[0]
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {})
    first, second = printed.getvalue().splitlines()
    assert first.split()[0] == "True"
    assert second == digests["gamma"]
    lines = "\n".join(value.hex() for value in design.gamma.tolist())
    assert second == hashlib.sha256(lines.encode()).hexdigest()


@pytest.mark.thorough
def test_versions_are_those_of_the_file_and_of_this_run(tmp_path: Path, design: darrm.Design) -> None:
    file = tmp_path / "gamma.json"
    design.save(file)
    made = json.loads(file.read_text())["made_with"]
    rows = {row[0]: row[1:] for row in Page(report.html(design, file=file, full=False)).rows("Versions")}
    assert {name: old for name, (old, _) in rows.items() if name in made} == made
    assert rows["darrm"][1] == darrm.__version__
    assert Page(report.html(design, full=False)).rows("Versions")[0][1] == "not stored"


def test_a_file_with_another_design_is_refused(tmp_path: Path, design: darrm.Design) -> None:
    file = tmp_path / "gamma.json"
    darrm.solve(K=5, m=2, epsilon=0.5, adjacency="another").save(file)
    with pytest.raises(darrm.InputError, match="holds another design"):
        report.html(design, file=file)


@pytest.mark.thorough
@pytest.mark.parametrize("noise", ["subsampling", "largest constant"])  # the first is far from its limit
def test_many_voters_get_a_short_report_with_all_values(noise: str) -> None:
    K = 151
    problem = darrm.MajorityProblem(K=K, m=5, epsilon=0.1)
    subsampled = noise == "subsampling"
    gamma = darrm.baselines.subsampling(K, 5) if subsampled else darrm.baselines.largest_constant(problem)
    design = darrm.Design(problem, gamma, darrm.priors.common())
    html = report.html(design)
    page = Page(html)
    assert len(html) < 1_000_000
    assert len(page.images) == 2
    assert page.text.count("left out of this short report") == 2
    gammas = page.rows("The noise function, all rows")
    assert [float(row[1]) for row in gammas] == design.gamma[K // 2 + 1 :].tolist()
    assert len(page.rows("The noise function, some rows")) == 12
    lines = page.rows("The worst case line by line, all rows")
    assert len(lines) == K + 1
    few = page.rows("The worst case line by line, some rows")
    assert len(few) == 12
    assert max(lines, key=lambda row: float(row[4])) in few
    assert max(lines, key=lambda row: float(row[5])) in few
    total = page.rows("Total epsilon of many labels")
    assert {row[2] for row in total} == {"optimal composition of the single-label guarantee"}
    assert total[2][1] == shown(optimal(problem.release_epsilon, 0, 100, 1e-5).epsilon, 6, up=True)


@pytest.mark.thorough
def test_short_and_full_can_be_asked_for(design: darrm.Design) -> None:
    assert len(Page(report.html(design, full=False)).images) == 2
    assert len(Page(report.html(design, full=True)).images) == 4


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        ({"K": 11, "m": 3, "epsilon": 1}, 1e-5),
        ({"K": 11, "m": 3, "epsilon": 0.0892, "Delta": 1e-4}, 0.02),  # ten times 1 - (1 - 1e-4)^11 = .0011
        ({"K": 5, "m": 1, "epsilon": 1, "delta": 0.003}, 0.03),
        ({"K": 5, "m": 1, "epsilon": 1, "Delta": 0.1}, 0.5),
    ],
)
def test_the_total_delta_leaves_room(problem: dict[str, Any], expected: float) -> None:
    assert report.default_delta(darrm.solve(**problem)) == expected


@pytest.mark.parametrize(
    ("value", "options", "expected"),
    [
        (0.0, {}, "0"),
        (-0.0, {}, "0"),
        (2 / 3, {}, "0.666666666667"),
        (1e-4, {"digits": 6}, "0.0001"),
        (1.23456789e-7, {"digits": 4}, "1.235e-7"),
        (-1.23456789e-7, {"digits": 4}, "-1.235e-7"),
        (2.0000001, {"digits": 6}, "2"),
        (2.0000001, {"digits": 6, "up": True}, "2.00001"),
        (99.9999999, {"digits": 4}, "100"),
        (123456.0, {"digits": 3}, "123000"),
        (1.5e300, {"digits": 3}, "1.5e300"),
        (Decimal("1.26e+868"), {"digits": 2, "up": True}, "1.3e868"),
        (float("inf"), {}, "infinite"),
    ],
)
def test_numbers_are_shown(value: Any, options: dict[str, Any], expected: str) -> None:
    assert shown(value, **{"digits": 12, **options}) == expected


@pytest.mark.thorough
def test_the_command_writes_beside_the_design(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], design: darrm.Design
) -> None:
    file = tmp_path / "gamma.json"
    design.save(file)
    assert main(["report", str(file)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert str(tmp_path / "gamma.html") in captured.err
    content = (tmp_path / "gamma.html").read_text(encoding="utf-8")
    assert content == report.html(design, file=file)
    out = tmp_path / "other.html"
    assert main(["report", str(file), "--out", str(out), "--short", "--total-delta", "0.25", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"out": str(out), "bytes": out.stat().st_size}
    assert "at a total delta of 0.25" in out.read_text(encoding="utf-8").replace("\n", " ")


@pytest.mark.first(3)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gamma.json", "--out", "gamma.json"], "A report is HTML"),
        (["gamma.json", "--out", "link.html"], "would replace the design"),
        (["gamma.html"], "would replace the design"),
        (["gamma.json", "--out", "missing/x.html"], "could not be written"),
        (["gamma.json", "--total-delta", "1.5"], "delta must be in"),
        (["gamma.json", "--total-delta", "x"], "delta must be a number in"),
        (["none.json"], "could not be read"),
        (["foreign.json"], "not a design file"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    design: darrm.Design,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("gamma.json", "gamma.html"):
        design.save(name)
    Path("link.html").symlink_to("gamma.json")
    Path("foreign.json").write_text("{}")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert main(["report", *arguments]) == (5 if message == "could not be written" else 2)
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_report_is_about_a_design() -> None:
    with pytest.raises(darrm.InputError, match="Design"):
        report.html({"gamma": [1.0]})  # type: ignore[arg-type]


def test_without_matplotlib_the_error_names_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, design: darrm.Design
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(darrm.MissingExtraError, match="pip install matplotlib"):
        report.write(tmp_path / "x.html", design)
    assert list(tmp_path.iterdir()) == []


def test_a_text_of_neighbours_cannot_pass_for_a_sentence_of_ours() -> None:
    problem = darrm.MajorityProblem(
        K=3, m=1, epsilon=0.5, adjacency="replace-one) reaches 0 of them. It is (0,0)-DP. ("
    )
    assert f"a change to a neighbouring data set ({problem.adjacency!r}) affects at most 3 voters" in wording.condition(
        problem
    )
    assert "(add-remove)" in wording.condition(darrm.MajorityProblem(K=3, m=1, epsilon=0.5, adjacency="add-remove"))


@pytest.mark.thorough
@pytest.mark.parametrize("several", [False, True])
def test_no_printed_guarantee_is_below_the_one_proved(several: bool) -> None:
    design: darrm.Design | darrm.DecisionDesign
    if several:
        group = darrm.VoterGroup(3, 0.7777774, 1.2345674e-7)
        problem = darrm.DecisionProblem([group], epsilon=0.96024644, delta=1.5242004e-7)
        design = darrm.solve(problem, objective=darrm.objectives.truth([0.9]))
    else:
        design = darrm.solve(K=3, m=1.2345671, epsilon=0.7777774, Delta=1.2345674e-7)
    page = report.html(design, full=False)
    total, delta = design.problem.release_epsilon, design.problem.delta
    said = re.findall(r"\(([0-9.e-]+), ([0-9.e-]+)\)-DP", page)
    of_one_label = [(e, d) for e, d in said if float(e) != 0.7777774]
    assert len(of_one_label) >= 3
    assert all(float(e) >= total * (1 - 1e-11) and float(d) >= delta * (1 - 1e-11) for e, d in of_one_label)
    assert all(float(d) == 1.2345674e-7 for e, d in said if float(e) == 0.7777774)  # a premise, as it was given
    at = re.search(r"at epsilon ([0-9.e-]+) the delta", page)
    assert at
    assert float(at[1]) >= total * (1 - 1e-11)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.5, "0.5"),
        (3.0, "3"),
        (0.999999999999989, '<data value="0.999999999999989">1</data>'),
        (2.7755575615628914e-16, '<data value="2.7755575615628914e-16">2.775558e-16</data>'),
        (Decimal(1) / 3, '<data value="0.333333333333">0.3333333</data>'),
        (math.inf, '<data value="inf">infinite</data>'),
        (np.float64(1e-7), "1e-7"),
    ],
)
def test_a_cell_shows_seven_digits_and_holds_the_rest(value: Any, expected: str) -> None:
    assert f'<th scope="row">{expected}</th>' in markup.row([value])

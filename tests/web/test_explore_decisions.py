"""The explorer's page of decisions by groups of voters, asked without a browser."""

import csv
import html
import math
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from cases import thorough
from oracles.explorer import HOME, errors, get, pre, wrong

import darrm
from darrm import objectives
from darrm.cli import main
from darrm.errors import InputError

pytest.importorskip("flask")
pytest.importorskip("matplotlib")

from darrm import compare
from darrm.show.explore import answers, create_app
from darrm.show.explore import decision_choices as choices
from darrm.show.wording import at_least

SMALL = {"count1": "2", "count2": "3", "epsilon": "1"}


@pytest.fixture(scope="module")
def client() -> Any:
    return create_app().test_client()


def small(**more: Any) -> darrm.DecisionDesign:
    groups = [darrm.VoterGroup(2, epsilon=1.0), darrm.VoterGroup(3, epsilon=0.2)]
    accuracy = [objectives.randomized_response_accuracy(0.9, epsilon) for epsilon in (1.0, 0.2)]
    return darrm.solve(darrm.DecisionProblem(groups, epsilon=1.0), objective=objectives.truth(accuracy), **more)


# What is shown


def test_the_pages_lead_to_each_other(client: Any) -> None:
    pages = {
        "/": "Plan of many labels",
        "/noise/": "Majority of equal voters",
        "/decisions/": "Decision by groups of voters",
    }
    for path, name in pages.items():
        text = get(client, path).text
        assert re.findall(r'<a href="([^"]*)"[^>]*aria-current="page">([^<]*)</a>', text) == [(path, name)]
        assert text.count("<nav ") == 1
        assert {f'href="{path}"' for path in pages} <= set(re.findall(r'href="[^"?]*"', text))
    assert client.get("/decisions?count1=3", base_url=HOME).headers["Location"].endswith("/decisions/?count1=3")


def test_the_page_shows_the_design_of_its_controls(client: Any) -> None:
    text, design = get(client, "/decisions/", **SMALL).text, small()
    assert "K&nbsp;=&nbsp;5 voters is <b>(1, 0)-DP</b>" in text
    assert f"<td>{design.expected_cost:.6g}</td>" in text
    assert f"<td>{at_least(design.certificate.tight_epsilon)}</td>" in text
    assert all(f"<td>{value:.3f}</td>" in text for value in design.table.ravel())
    assert '<img class="picture" src="data:image/svg+xml;base64,' in text
    assert "Not computed yet." in text  # the comparison comes when it is asked for


def test_the_parts_are_those_of_the_page(client: Any) -> None:
    before, after = get(client, "/decisions/design", **SMALL).text.split("<!-- many labels -->")
    others = get(client, "/decisions/others", **SMALL).text
    page = get(client, "/decisions/", others="now", **SMALL).text
    places = [page.index(one) for one in (before, others, after)]
    assert places == sorted(places)
    assert "Not computed yet." not in page


@pytest.mark.thorough
def test_other_ways_stand_beside_it(client: Any) -> None:
    design = small()
    text = html.unescape(get(client, "/decisions/others", **SMALL).text)
    entries = compare(design.problem, objective=design.objective)
    assert len(entries) == 12
    for entry in entries:
        name = "this design (optimum)" if entry.called == "optimum" else entry.called
        holds = "yes" if entry.certificate.holds else "no"
        assert re.search(
            rf"{re.escape(name)}(<span [^>]*></span>)?</th><td>{entry.expected_cost:.6f}</td><td>{holds}</td>", text
        )
    # An ordered design may cost more than the optimum.
    ordered = {
        "max_affected": "3",
        "objective": "at-least",
        "k": "4",
        "ordered": "yes",
        "count3": "2",
        "epsilon3": "inf",
    }
    text = get(client, "/decisions/others", **ordered).text
    ours, optimum = (re.search(rf">{name}<[^/]*></span></th><td>([\d.]+)", text) for name in ("this design", "optimum"))
    assert ours
    assert optimum
    assert float(optimum.group(1)) < float(ours.group(1))


def test_the_worst_case_is_that_of_the_certificate(client: Any) -> None:
    design = small()
    text = get(client, "/decisions/design", **SMALL).text.split("The worst case")[1].split("</section>")[0]
    case = dict(design.certificate.worst_case)
    assert f"for the answer {case.pop('answer')}, where" in text
    voters = [int(voters) for voters in re.findall(r"<tr><th[^>]*>group \d</th><td>(\d+)</td>", text)]
    assert voters == list(case.values())
    on, off, most = map(float, re.findall(r"(?:is|and|other:) (0?\.?\d[\d.]*)(?: with|\.<)", text))
    assert (on, off) == pytest.approx(design.certificate.probabilities, rel=1e-5)
    assert on <= most == pytest.approx(math.e * off, rel=1e-5)


def test_reversals_are_said_unless_ordered(client: Any) -> None:
    design = small()
    said = f"At {design.reversals} of 12 vectors of counts"
    assert (said in get(client, "/decisions/design", **SMALL).text) == bool(design.reversals)
    assert design.reversals
    assert "vectors of counts" not in get(client, "/decisions/design", **SMALL, ordered="yes").text


@pytest.mark.thorough
@pytest.mark.parametrize("none", ["", "0.3"])
def test_several_classes_have_a_triangle_and_a_table(client: Any, none: str) -> None:
    values = {"count1": "5", "count2": "", "epsilon1": "0.7", "epsilon": "1.2", "classes": "3", "none": none}
    text = html.unescape(get(client, "/decisions/design", **values).text)
    accuracy = [objectives.randomized_response_accuracy(0.9, 0.7, classes=3)]
    problem = darrm.DecisionProblem([darrm.VoterGroup(5, 0.7)], 1.2, classes=3, none=bool(none))
    design = darrm.solve(problem, objective=objectives.truth(accuracy, none=float(none) if none else None))
    assert all(f"<td>{value:.6f}</td>" in text for value in design.table.ravel())
    assert 'alt="A triangle of all votes for three classes' in text
    assert ('coloured by the chance of "0" and "none"' in text) is bool(none)
    assert "in a corner all name the class that stands there" in text
    assert "The chance of the answer 1" not in text
    worst = text.split("The worst case")[1].split("</section>")[0]
    voters = [int(voters) for voters in re.findall(r"<th[^>]*>group 1</th><td>(\d+)</td>", worst)]
    assert sum(voters) == 5
    page = get(client, "/decisions/", **values).text
    assert re.search(r'<option value="3" selected>3</option>', page)


# The same elsewhere

CHOICES = [
    {},
    {"count2": "", "max_affected": "2", "prior": "0.3", "miss": "5", "false_alarm": "0.25"},
    {"epsilon1": "inf", "accuracy1": "0.95", "max_affected1": "1", "ordered": "yes", "delta": "1e-5"},
    {"objective": "majority", "count3": "1", "epsilon3": "0.30000000000000004", "base": "0.8"},
    {"objective": "at-least", "k": "2", "prior": "0.1", "miss": "nothing", "accuracy2": "0.55"},
    {"count1": "4", "count2": "", "classes": "3"},
    {"count1": "4", "count2": "", "classes": "3", "none": "0.3", "objective": "majority", "prior": "nothing"},
    {"count1": "3", "count2": "", "classes": "5", "none": "0.25", "max_affected": "2", "accuracy1": "0.5"},
    {"count1": "5", "count2": "", "none": "0.5", "miss": "3", "prior": "0.3", "ordered": "yes"},
    {"count1": "5", "count2": "", "none": "0", "objective": "at-least", "k": "2", "delta": "0.001"},
]


@pytest.mark.parametrize("values", [*CHOICES[:1], CHOICES[4], *thorough(*CHOICES[1:4], *CHOICES[5:])])
def test_command_and_python_make_the_same_design(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    values = {**SMALL, **values}
    text = get(client, "/decisions/design", **values).text
    Path("page.json").write_bytes(get(client, "/decisions/decision.json", **values).data)
    page = darrm.load("page.json")
    assert isinstance(page, darrm.DecisionDesign)
    program, *arguments = shlex.split(pre(text, "command"))
    assert program == "darrm"
    assert main(arguments) == 0
    names: dict[str, Any] = {}
    exec(pre(text, "python"), names)
    for other in (darrm.load("decision.json"), names["design"]):
        assert other.table.tolist() == page.table.tolist()
        assert (other.problem, other.objective, other.ordered) == (page.problem, page.objective, page.ordered)


@pytest.mark.thorough
def test_downloads(client: Any) -> None:
    design, table = small(), get(client, "/decisions/decision.csv", **SMALL)
    rows = list(csv.DictReader(table.text.splitlines()))
    assert [(int(row["ones_1"]), int(row["ones_2"])) for row in rows] == [(i, j) for i in range(3) for j in range(4)]
    assert [float(row["probability_1"]) for row in rows] == design.table.ravel().tolist()
    assert table.headers["Content-Disposition"] == 'attachment; filename="decision_2x3_epsilon1.csv"'
    report = get(client, "/decisions/report.html", **SMALL)
    assert report.status_code == 200
    assert "Private decision by 5 voters in 2 groups" in report.text


def test_the_address_holds_the_state(client: Any) -> None:
    given = {**choices.FIRST, "count2": "", "count1": "3", "ordered": "yes", "k": "2"}
    state = choices.read(given.items())
    again = choices.read([(name, text) for name, text in given.items() if text or choices.FIRST[name]])
    assert again == state
    assert not state.errors
    assert state.query().count("count2=") == 1  # empty, where there is something at first
    page = get(client, "/decisions/", **given).text
    assert re.search(r'<input type="checkbox" id="ordered"[^>]* checked', page)
    assert re.search(r'id="count2"[^>]* value="" data-first="7"', page)


# What is wrong


@pytest.mark.first(12)
@pytest.mark.parametrize(
    ("values", "name", "said"),
    [
        ({"count1": "0"}, "count1", "count must be a whole number"),
        ({"count1": ""}, "count1", "count must be given for group 1, since there is a group 2"),
        ({"count1": "", "count2": ""}, "count1", "count must be a whole number"),
        ({"count2": "", "count3": "2", "epsilon3": "1"}, "count2", "since there is a group 3"),
        ({"epsilon2": "-1"}, "epsilon2", "epsilon must be in (0, 1e+06]"),
        ({"epsilon2": "<script>alert(1)</script>"}, "epsilon2", "Got '<script>alert(1)</script>'"),
        ({"count3": "2"}, "epsilon3", "epsilon must be a number"),
        ({"max_affected2": "4"}, "max_affected2", "max_affected must be a whole number in [1, count] = [1, 3]"),
        ({"accuracy2": "1.5"}, "accuracy2", "accuracy must be in [0, 1]. Got 1.5"),
        ({"base": "nan"}, "base", "base must be in [0, 1]"),
        ({"base": ""}, "base", "base must be a number in [0, 1]"),
        ({"max_affected": "6"}, "max_affected", "max_affected must be a whole number in [1, 5]"),
        ({"epsilon": "0"}, "epsilon", "epsilon must be in (0, 1e+06]"),
        ({"delta": "1"}, "delta", "delta must be in [0, 1)"),
        ({"objective": "round"}, "objective", "objective must be one of truth, majority, at-least"),
        ({"objective": "at-least"}, "k", "k must be a whole number"),
        ({"objective": "at-least", "k": "6"}, "k", "at most the number of voters, K = 5"),
        ({"prior": "-0.1"}, "prior", "prior must be in [0, 1]"),
        ({"miss": "inf"}, "miss", "miss must be finite and at least 0"),
        ({"miss": "0", "false_alarm": "0"}, "miss", "cost must have an entry above 0"),
        ({"ordered": "maybe"}, "ordered", "ordered must be one of yes, no"),
        ({"classes": "3"}, "classes", "classes must be 2 for several groups on this page. Leave the voters"),
        ({"none": "0.3"}, "none", "none must be blank for several groups on this page"),
        ({"none": "-1", "count2": ""}, "none", "none must be finite and at least 0. Got -1"),
        ({"classes": "6", "count2": ""}, "classes", "classes must be one of 2, 3, 4, 5. Got '6'"),
        ({"classes": "3", "count2": "", "objective": "at-least"}, "objective", "at-least is for 2 classes"),
        ({"classes": "3", "count1": "30", "count2": ""}, "groups", "must be of at most 15 voters on this page"),
        ({"classes": "3", "count1": "9999999", "count2": ""}, "groups", "darrm solve --group 9999999:1 --classes 3"),
        ({"count1": "30", "count2": "30"}, "groups", "Got 961. 2 groups of at most 16 voters would fit"),
        ({"count1": "1" * 20}, "count1", "count must be a whole number"),
        ({"count1": "9999999"}, "groups", "darrm solve --group 9999999:1"),
        ({"count1": "200", "count2": ""}, "groups", "max_affected = 47 would fit"),
        ({"k": "1" * 50}, "k", "at most 40 characters here. Got 50"),
    ],
)
def test_what_is_wrong_is_said_beside_its_control(client: Any, values: dict[str, str], name: str, said: str) -> None:
    found = errors(get(client, "/decisions/design", **{**SMALL, **values}))
    assert list(found) == [name]
    assert said in found[name]
    page = get(client, "/decisions/", **{**SMALL, **values})
    assert page.status_code == 400
    assert wrong(page.text, name) == found[name]
    assert "<script>alert" not in page.text
    assert "Nothing is shown" in page.text
    for path in ("decision.json", "decision.csv", "report.html"):
        assert get(client, f"/decisions/{path}", **{**SMALL, **values}).status_code == 400


def test_what_would_fit_fits() -> None:
    """One voter more does not."""
    group = darrm.VoterGroup(200, 1.0)
    assert choices.check_page_size(darrm.DecisionProblem([group], 1.0, max_affected=47))
    with pytest.raises(InputError, match="max_affected = 47 would fit"):
        choices.check_page_size(darrm.DecisionProblem([group], 1.0, max_affected=48))


@pytest.mark.parametrize(("C", "none"), [(2, True), (3, False), (3, True), (4, False), (5, True)])
@pytest.mark.parametrize("reached", [1, 3, 60])
def test_what_would_fit_of_several_classes_fits(C: int, none: bool, reached: int) -> None:
    def problem(K: int) -> darrm.DecisionProblem:
        return darrm.DecisionProblem(
            [darrm.VoterGroup(K, 1.0, max_affected=min(K, reached))], 1.0, classes=C, none=none
        )

    with pytest.raises(InputError, match="must be of at most") as refused:
        choices.check_page_size(problem(1000))
    most = int(re.findall(r"at most (\d+) voters", str(refused.value))[0])
    assert choices.check_page_size(problem(most))
    with pytest.raises(InputError, match=f"at most {most} voters"):
        choices.check_page_size(problem(most + 1))


def test_all_that_is_wrong_is_said_at_once(client: Any) -> None:
    values = {"count1": "x", "epsilon2": "x", "max_affected2": "0", "accuracy1": "x", "base": "x", "epsilon": "x"}
    values |= {"delta": "x", "max_affected": "0", "prior": "x"}
    assert errors(get(client, "/decisions/design", **values)).keys() == values.keys()
    values = {"miss": "-1", "false_alarm": "-1"}
    assert errors(get(client, "/decisions/design", **values)).keys() == values.keys()


def test_what_an_objective_has_no_use_for_may_be_wrong(client: Any) -> None:
    assert get(client, "/decisions/design", **SMALL, k="x").status_code == 200
    assert get(client, "/decisions/design", **SMALL, objective="majority", miss="x").status_code == 200
    accuracies = {"accuracy1": "0.8", "accuracy2": "0.7", "base": "x"}
    assert get(client, "/decisions/design", **SMALL, **accuracies).status_code == 200


def test_a_name_that_stands_twice(client: Any) -> None:
    assert "stands twice" in errors(client.get("/decisions/design?count1=5&count1=2", base_url=HOME))["count1"]


@pytest.mark.parametrize("query", ["count1=%ff%fe", "%ff=%fe", "count1=11%00", "count1[]=1", "&&&&", "k", "%", "=&="])
def test_hostile_query_strings(client: Any, query: str) -> None:
    for path in ("", "design", "decision.csv"):
        answer = client.get(f"/decisions/{path}?{query}", base_url=HOME)
        assert answer.status_code in (200, 400)
        assert "Traceback" not in answer.text


def test_a_time_limit_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "TIME_LIMIT", 1e-9)
    found = errors(get(create_app().test_client(), "/decisions/design", count1="11", count2="12"))
    assert "darrm solve --group 11:1 --group 12:0.2 --total-epsilon 1.4" in found["solve"]


def test_a_comparison_that_takes_too_long_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    new = create_app().test_client()
    assert get(new, "/decisions/design", **SMALL).status_code == 200
    monkeypatch.setattr(answers, "TIME_LIMIT", 1e-9)
    text = get(new, "/decisions/others", **SMALL).text
    assert text.startswith("<p>There is no comparison with other ways.")


def test_every_answer_is_guarded(client: Any) -> None:
    for path in ("/decisions/", "/decisions/design", "/decisions/design?count1=x", "/decisions/decision.csv"):
        answer = client.get(path, base_url=HOME)
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
        assert client.get(path, base_url="http://evil.example").status_code == 400

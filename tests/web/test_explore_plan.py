"""The explorer's first page, a plan of many labels, asked without a browser."""

import csv
import html
import re
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from cases import slow
from oracles.explorer import HOME, errors, get, pre, wrong

import darrm
from darrm.cli import main
from darrm.errors import InputError
from darrm.planning import Plan

pytest.importorskip("flask")
pytest.importorskip("matplotlib")

from darrm.show import comparison_words, plan_words
from darrm.show.explore import create_app, serving
from darrm.show.explore import plan_choices as choices

SMALL = {"count1": "5", "epsilon1": "1", "max_affected": "1", "voters": "fresh", "queries": "10", "total_epsilon": "3"}
ARGUMENTS: dict[str, Any] = {
    "K": 5,
    "epsilon": 1.0,
    "base_accuracy": 0.85,
    "max_affected": 1,
    "voters": "fresh",
    "queries": 10,
    "total_epsilon": 3,
    "total_delta": 1e-6,
}


@pytest.fixture(scope="module")
def client() -> Any:
    return create_app().test_client()


@pytest.fixture(scope="module")
def small() -> Plan:
    return darrm.plan(**ARGUMENTS)


# What is shown


def test_nothing_is_planned_before_all_is_said(client: Any) -> None:
    for said, missing in (({}, 2), ({"max_affected": "1"}, 1), ({"voters": "fresh"}, 1)):
        for path in ("/", "/plan"):
            answer = get(client, path, plan="now", **said)
            assert answer.status_code == 200
            assert ("Give the largest number of voters that a change of one record affects" in answer.text) == (
                "max_affected" not in said
            )
            assert ("Choose whether your voters are fresh or fixed" in answer.text) == ("voters" not in said)
            assert len(re.findall("<p>(Give|Choose) ", answer.text)) == missing
            assert "DP" not in re.sub(r'<p class="hint".*?</p>', "", answer.text)
        assert "Once there is a plan" in get(client, "/others", **said).text
    assert "checked" not in get(client, "/").text


def test_a_page_is_there_before_its_plan(client: Any) -> None:
    text = get(client, "/", **SMALL).text
    assert text.count("Not computed yet.") == 2
    assert "Press “Plan”" in text
    assert "together are" not in text


@pytest.mark.thorough
def test_the_plan_is_that_of_the_library(client: Any, small: Plan) -> None:
    text = html.unescape(get(client, "/", **SMALL, plan="now").text)
    assert plan_words.together(small) in text
    for wrong_ in (small.wrong, small.wrong_without_noise, small.wrong_without_privacy):
        assert f"<td>{wrong_:.4f}</td>" in text
    assert f"The disagreement rate of this plan is {small.disagreement:.4f}" in text
    assert all(assumption in text for assumption in small.assumptions)
    assert plan_words.aggregator(small) in text
    assert plan_words.one_label(small) in text
    assert isinstance(small.design, darrm.DecisionDesign)
    assert all(f"<td>{value:.6f}</td>" in text for value in small.design.table)
    assert plan_words.CURVE_TITLE not in text


@pytest.mark.thorough
def test_the_comparison_is_that_of_the_library(client: Any, small: Plan) -> None:
    text = html.unescape(get(client, "/others", **SMALL).text)
    assert small.comparison is not None
    assert '<img class="picture" src="data:image/svg+xml;base64,' in text
    for row, (_, *cells) in zip(small.comparison, comparison_words.mechanism_rows(small.comparison), strict=True):
        name = f"{row.name} <small>{row.setting}</small>" if row.setting else row.name
        assert f">{name}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}" in text
    assert text.count('class="this"') == 1


@pytest.mark.thorough
def test_the_parts_are_those_of_the_page(client: Any) -> None:
    before, after = get(client, "/plan", **SMALL).text.split("<!-- many labels -->")
    page = get(client, "/", **SMALL, plan="now").text
    beside = get(client, "/others", **SMALL).text
    places = [page.index(one) for one in (before, beside, after)]
    assert places == sorted(places)


@pytest.mark.thorough
def test_epsilon_auto_shows_the_curve(client: Any) -> None:
    values = {**SMALL, "epsilon1": "auto", "at_most": "0.5"}
    text = html.unescape(get(client, "/plan", **values).text)
    found = darrm.plan(**{**ARGUMENTS, "epsilon": "auto", "at_most": 0.5, "compare": False})
    assert len(found.curve) > 3
    for epsilon, *cells in plan_words.curve_rows(found):
        assert f">{epsilon}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}" in text
    assert "Epsilon, all labels: for all labels together." in text
    assert text.count('<img class="picture"') == 1


@pytest.mark.thorough
def test_a_aggregator_ends_epsilon(client: Any) -> None:
    values = {**SMALL, "epsilon1": "auto", "at_most": "", "aggregator": "4"}
    text = html.unescape(get(client, "/plan", **values).text)
    total = re.search(r"All votes together are \(([\d.]+),", text)
    assert total
    assert 3.9 < float(total.group(1)) <= 4
    assert "--aggregator-epsilon 4 " in pre(text, "command")
    assert "--at-most" not in pre(text, "command")


@pytest.mark.thorough
def test_ends_are_of_no_use_for_an_epsilon_that_is_given(client: Any) -> None:
    text = get(client, "/plan", **SMALL, at_most="x", aggregator="-1").text
    assert "--at-most" not in pre(text, "command")


@pytest.mark.thorough
def test_a_search_that_was_stopped_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is then the best one so far; a comparison that was stopped is none."""
    import dataclasses

    from darrm.numerics.deadline import OutOfTime
    from darrm.show.explore import plan_app

    def stopped(choice: choices.Choice) -> Plan:
        return dataclasses.replace(darrm.plan(**ARGUMENTS, compare=False), complete=False)

    def late(*arguments: object) -> None:
        raise OutOfTime

    monkeypatch.setattr(plan_app, "_planned", stopped)
    monkeypatch.setattr(plan_app, "at_one_total", late)
    new = create_app().test_client()
    assert "The search was stopped early" in get(new, "/plan", **SMALL).text
    assert get(new, "/mechanisms.csv", **SMALL).status_code == 400
    text = get(new, "/others", **SMALL).text
    assert text.startswith("<p>There is no comparison here")
    assert pre(text, "others-command").startswith("darrm plan --K 5")


# Known randomizers

STATED = {**SMALL, "randomizer": "response", "colluders": "1"}


@pytest.fixture(scope="module")
def stated() -> Plan:
    group = darrm.VoterGroup(5, epsilon=1.0, randomizer="randomized response", colluders=1)
    return darrm.plan([group], **{name: value for name, value in ARGUMENTS.items() if name not in ("K", "epsilon")})


@pytest.mark.thorough
def test_a_plan_by_a_known_randomizer_is_that_of_the_library(client: Any, stated: Plan, small: Plan) -> None:
    text = html.unescape(get(client, "/", **STATED, plan="now").text)
    assert stated.wrong < small.wrong
    assert plan_words.together(stated) in text
    holds, fallback, counts, *_ = plan_words.otherwise(stated)
    assert "This total holds if every voter but 1 draws every vote" in holds
    for said in (holds, fallback, counts, *stated.assumptions):
        assert said in text
    assert "It is within the second budget, (6, 1e-06)" in text
    assert isinstance(stated.design, darrm.DecisionDesign)
    assert all(f"<td>{value:.6f}</td>" in text for value in stated.design.table)


@pytest.mark.thorough
def test_the_comparison_by_a_known_randomizer_has_both_totals(client: Any, stated: Plan) -> None:
    text = html.unescape(get(client, "/others", **STATED).text)
    assert stated.comparison is not None
    assert ">same, others any mechanism<" in text
    for row, (_, *cells) in zip(stated.comparison, comparison_words.mechanism_rows(stated.comparison), strict=True):
        name = f"{row.name} <small>{row.setting}</small>" if row.setting else row.name
        assert f">{name}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}" in text
    assert "within the second budget of 6" in text
    assert f"Epsilon, all labels, holds {plan_words.known(stated.design.problem)}" in text


@pytest.mark.thorough
def test_any_mechanism_is_the_default_and_colluders_are_asked_for(client: Any, small: Plan) -> None:
    first = get(client, "/").text
    assert '<option value="" selected>any mechanism</option>' in first
    assert re.search(r'id="colluders"[^>]* value="" data-first=""', first)
    text = html.unescape(get(client, "/plan", **SMALL, colluders="4").text)  # of no use without a randomizer
    assert plan_words.together(small) in text
    assert "colluders" not in pre(text, "command")
    assert "second budget" not in text
    for path in ("/", "/plan"):
        answer = get(client, path, **{**STATED, "colluders": ""}, plan="now")
        assert answer.status_code == 200
        assert "<p>Give the number of colluders" in answer.text
        assert "Voters of a" not in re.sub(r'<p class="hint".*?</p>', "", answer.text)
    assert "before it is given: colluders" in get(client, "/design.json", **{**STATED, "colluders": ""}).text


@pytest.mark.thorough
def test_the_curve_by_a_known_randomizer_says_what_it_rests_on(client: Any) -> None:
    values = {**STATED, "epsilon1": "auto", "at_most": "0.5", "queries": "3"}
    text = html.unescape(get(client, "/plan", **values).text)
    assert "That of all labels rests on the assumption of the guarantee" in text
    assert "--group 5:auto --randomizer response --colluders 1 " in pre(text, "command")
    names: dict[str, Any] = {}
    exec(pre(text, "python").rpartition("\n")[0], names)
    assert plan_words.together(names["plan"]) in text


@pytest.mark.parametrize(
    ("values", "name", "said"),
    [
        ({"randomizer": "laplace"}, "randomizer", "randomizer must be one of response. Got 'laplace'."),
        ({"voters": "fixed", "meaning": "votes"}, "randomizer", "A known randomizer is for fresh voters"),
        (
            {"voters": "fixed", "meaning": "votes", "colluders": ""},
            "randomizer",
            "A known randomizer is for fresh voters",
        ),
        ({"epsilon1": "inf", "meaning": "votes"}, "randomizer", "--randomizer is for private voters"),
        ({"colluders": "5"}, "colluders", "colluders must be an integer in [0, count - 1] = [0, 4]. Got 5."),
        ({"colluders": "-1"}, "colluders", "colluders must be an integer in [0, count - 1]"),
        ({"colluders": "x"}, "colluders", "colluders must be integers with commas between. Got 'x'."),
        ({"colluders": "1,1"}, "colluders", "must be one number, or one for each group"),
        ({"max_affected": "5"}, "max_affected", "in [1, 4], the voters that do not collude. Got 5."),
        ({"count1": "61"}, "groups", "at most 61 on this page for a stated randomizer. Got 62. 1 group of at most 60"),
    ],
)
def test_what_is_wrong_with_a_randomizer_is_said(client: Any, values: dict[str, str], name: str, said: str) -> None:
    found = errors(get(client, "/plan", **{**STATED, **values}))
    assert list(found) == [name]
    assert said in found[name]
    assert wrong(get(client, "/", **{**STATED, **values}, plan="now").text, name) == found[name]


# The same elsewhere

CHOICES = [
    {},
    {"count2": "2", "epsilon2": "0.30000000000000004", "accuracy2": "0.9", "max_affected": "2"},
    {"voters": "fixed", "meaning": "votes", "accuracy": "0.7", "total_epsilon": "0.8"},
    {"count2": "1", "epsilon2": "inf", "accuracy1": "0.6", "accuracy2": "0.8", "meaning": "votes", "accuracy": "x"},
    {"epsilon1": "auto", "at_most": "0.1", "queries": "3"},
    {"randomizer": "response", "colluders": "1"},
    {"count2": "2", "epsilon2": "inf", "randomizer": "response", "colluders": "0", "meaning": "votes", "queries": "2"},
]


@pytest.mark.thorough
@pytest.mark.parametrize("values", [CHOICES[1], *slow(CHOICES[0], *CHOICES[2:])])
def test_command_and_python_make_the_same_plan(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    values = {**SMALL, "count1": "3", **values}
    text = get(client, "/plan", **values).text
    Path("page.json").write_bytes(get(client, "/design.json", **values).data)
    page = darrm.load("page.json")
    assert isinstance(page, darrm.DecisionDesign)
    program, *arguments = shlex.split(pre(text, "command"))
    assert program == "darrm"
    assert main(arguments) == 0
    command = darrm.load("decision.json")
    Path("decision.json").unlink()
    names: dict[str, Any] = {}
    exec(pre(text, "python"), names)
    for other in (command, darrm.load("decision.json"), names["plan"].design):
        assert isinstance(other, darrm.DecisionDesign)
        assert other.table.tolist() == page.table.tolist()
        assert other.problem == page.problem
    assert plan_words.together(names["plan"]) in html.unescape(text)


@pytest.mark.thorough
def test_downloads(client: Any, small: Plan) -> None:
    assert isinstance(small.design, darrm.DecisionDesign)
    assert small.comparison is not None
    table = get(client, "/design.csv", **SMALL)
    rows = list(csv.DictReader(table.text.splitlines()))
    assert [float(row["probability_1"]) for row in rows] == small.design.table.tolist()
    assert [int(row["ones_1"]) for row in rows] == list(range(6))
    assert table.headers["Content-Disposition"] == 'attachment; filename="plan_5_labels10_epsilon3.csv"'
    mechanisms = list(csv.DictReader(get(client, "/mechanisms.csv", **SMALL).text.splitlines()))
    assert [row["name"] for row in mechanisms] == [row.name for row in small.comparison]
    assert [float(row["wrong"]) for row in mechanisms] == [row.wrong for row in small.comparison]
    report = get(client, "/report.html", **SMALL)
    assert report.status_code == 200
    assert "Private decision by 5 voters" in report.text


def test_downloads_of_nothing(client: Any) -> None:
    for path in ("/design.json", "/design.csv", "/mechanisms.csv", "/report.html"):
        for values in ({}, {**SMALL, "count1": "<b>"}):
            answer = get(client, path, **values)
            assert answer.status_code == 400
            assert "Content-Disposition" not in answer.headers
        assert "Nothing is planned before it is given: max_affected, voters" in get(client, path).text
        assert "&lt;b&gt;" in answer.text


def test_the_address_holds_the_state(client: Any) -> None:
    given = {**choices.FIRST, **SMALL, "epsilon1": "auto", "aggregator": "20", "accuracy1": "0.9", "at_most": ""}
    state = choices.read(given.items())
    assert choices.read(parse_qsl(state.query(), keep_blank_values=True)) == state
    assert not state.errors
    page = get(client, "/", **given).text
    assert re.search(r'<input type="radio" name="voters" value="fresh" checked>', page)
    assert re.search(r'id="at_most"[^>]* value="" data-first="2"', page)
    assert re.search(r'<details id="auto" open>', page)
    assert re.search(r'id="epsilon1"[^>]* inputmode="text"', page)  # a keyboard of digits has no letters


# What is wrong


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("values", "name", "said"),
    [
        ({"count1": "0"}, "count1", "count must be an integer"),
        ({"count1": "", "count2": "3", "epsilon2": "1"}, "count1", "count must be given for group 1"),
        ({"epsilon1": "-1"}, "epsilon1", "epsilon must be in (0, 1e+06]"),
        ({"epsilon1": "<script>alert(1)</script>"}, "epsilon1", "Got '<script>alert(1)</script>'"),
        ({"count2": "2"}, "epsilon2", "epsilon must be a number"),
        ({"accuracy": "1.5"}, "accuracy", "accuracy must be in [0, 1]. Got 1.5"),
        ({"accuracy1": "nan"}, "accuracy1", "accuracy must be in [0, 1]"),
        ({"accuracy": ""}, "accuracy", "accuracy must be a number in [0, 1]"),
        ({"meaning": "both"}, "meaning", "meaning must be one of base, votes"),
        ({"voters": "fixed"}, "meaning", "Choose the accuracy of votes as cast"),
        ({"epsilon1": "auto", "meaning": "votes"}, "meaning", "needs the accuracy before the noise"),
        ({"epsilon1": "auto", "at_most": ""}, "at_most", "needs an upper limit"),
        ({"epsilon1": "auto", "at_most": "41"}, "at_most", "at_most must be in (0, 40]"),
        ({"epsilon1": "auto", "aggregator": "0"}, "aggregator", "aggregator_epsilon must be in (0, 1e+06]"),
        ({"max_affected": "6"}, "max_affected", "max_affected must be an integer in [1, 5]"),
        ({"voters": "both"}, "voters", 'voters must be "fresh"'),
        ({"queries": "0"}, "queries", "queries must be an integer"),
        ({"queries": "5000"}, "queries", "queries must be at most 1,000 on this page. Got 5,000"),
        ({"queries": "5000"}, "queries", "darrm plan --K 5 --epsilon 1 "),
        ({"total_epsilon": "0"}, "total_epsilon", "total_epsilon must be in (0, 1e+06]"),
        ({"total_delta": "1"}, "total_delta", "total_delta must be in [0, 1)"),
        ({"count1": "151"}, "groups", "Got 152. 1 group of at most 149 voters would fit"),
        ({"count1": "9999999"}, "groups", "darrm plan --K 9999999 "),
        ({"count1": "100", "max_affected": "100"}, "groups", "would fit"),
        ({"count1": "1" * 50}, "count1", "at most 40 characters here. Got 50"),
    ],
)
def test_what_is_wrong_is_said_beside_its_control(client: Any, values: dict[str, str], name: str, said: str) -> None:
    found = errors(get(client, "/plan", **{**SMALL, **values}))
    assert list(found) == [name]
    assert said in found[name]
    page = get(client, "/", **{**SMALL, **values}, plan="now")
    assert page.status_code == 400
    assert wrong(page.text, name) == found[name]
    assert "<script>alert" not in page.text
    assert page.text.count("Nothing is shown") == 2


def test_all_that_is_wrong_is_said_at_once(client: Any) -> None:
    values = {"count1": "x", "epsilon2": "x", "count2": "y", "accuracy": "x", "meaning": "x", "voters": "x"}
    values |= {"queries": "x", "total_epsilon": "x", "total_delta": "x"}
    assert errors(get(client, "/plan", **values)).keys() == values.keys()


def test_what_is_wrong_is_said_before_all_is_said(client: Any) -> None:
    assert errors(get(client, "/plan", count1="500")).keys() == {"groups"}


def test_what_would_fit_fits() -> None:
    """One voter more does not."""

    def of(reached: int) -> choices.Choice:
        return choices.Choice(((100, 1.0),), (0.8,), "base", reached, 10, 1.0, 1e-6, "fresh", None, None)

    with pytest.raises(InputError, match="would fit") as refused:
        choices.check_page_size(of(100))
    fits = int(re.findall(r"max_affected = (\d+) would fit", str(refused.value))[0])
    assert choices.check_page_size(of(fits))
    with pytest.raises(InputError):
        choices.check_page_size(of(fits + 1))


def test_a_name_that_stands_twice(client: Any) -> None:
    assert "stands twice" in errors(client.get("/plan?queries=5&queries=2", base_url=HOME))["queries"]


@pytest.mark.parametrize("query", ["count1=%ff%fe", "%ff=%fe", "count1=11%00", "count1[]=1", "&&&&", "queries", "%"])
def test_hostile_query_strings(client: Any, query: str) -> None:
    for path in ("", "plan", "others", "design.csv"):
        answer = client.get(f"/{path}?{query}", base_url=HOME)
        assert answer.status_code in (200, 400)
        assert "Traceback" not in answer.text


@pytest.mark.thorough
def test_a_budget_that_buys_nothing_is_said(client: Any) -> None:
    found = errors(get(client, "/plan", **{**SMALL, "total_epsilon": "1e-12"}))
    assert found["solve"].startswith("No noise was found that keeps 10 labels within (1e-12, 1e-06)")


@pytest.mark.thorough
def test_votes_that_tell_next_to_nothing_are_drawn(client: Any) -> None:
    """Their totals are 0 and have no logarithm."""
    values = {**SMALL, "epsilon1": "auto", "at_most": "", "aggregator": "1e-300"}
    assert '<img class="picture"' in get(client, "/plan", **values).text


def test_a_time_limit_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "TIME_LIMIT", 1e-9)
    values = {**SMALL, "max_affected": "5"}
    found = errors(get(create_app().test_client(), "/plan", **values))
    assert "darrm plan --K 5 --epsilon 1 --base-accuracy 0.85 --max-affected 5" in found["solve"]


def test_every_answer_is_guarded(client: Any) -> None:
    for path in ("/", "/plan", "/others", "/plan?count1=x", "/?K=3", "/design.csv"):
        answer = client.get(path, base_url=HOME)
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
        assert client.get(path, base_url="http://evil.example").status_code == 400

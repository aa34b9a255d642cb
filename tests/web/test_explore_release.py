"""The explorer's page of one release, asked without a browser."""

import csv
import html
import re
import shlex
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from cases import thorough
from oracles.explorer import HOME, errors, get, pre, wrong

import darrm
from darrm import compare, objectives
from darrm.cli import main
from darrm.errors import SolverError

pytest.importorskip("flask")
pytest.importorskip("matplotlib")

from darrm.show.explore import create_app, serving
from darrm.show.explore import release_choices as choices
from darrm.show.typed import GOALS
from darrm.show.wording import at_least

SMALL = {"count1": "5", "m": "2", "epsilon1": "0.5"}
GROUPS = {"count1": "2", "epsilon1": "1", "count2": "3", "epsilon2": "0.2", "known": "accuracy", "m": ""}
OF_GROUPS = {**GROUPS, "release_epsilon": "1"}
CLASSES = {"known": "accuracy", "count1": "5", "epsilon1": "0.7", "m": "", "release_epsilon": "1.2", "classes": "3"}


@pytest.fixture(scope="module")
def client() -> Any:
    return create_app().test_client()


def of_groups(**more: Any) -> darrm.Design:
    groups = [darrm.VoterGroup(2, epsilon=1.0), darrm.VoterGroup(3, epsilon=0.2)]
    accuracy = [objectives.randomized_response_accuracy(0.9, epsilon) for epsilon in (1.0, 0.2)]
    return darrm.solve(darrm.DecisionProblem(groups, epsilon=1.0), objective=objectives.truth(accuracy), **more)


# What is shown


@pytest.mark.thorough
def test_the_pages_lead_to_each_other(client: Any) -> None:
    pages = {"/": "Plan of many labels", "/release/": "One release"}
    for path, name in pages.items():
        text = get(client, path).text
        assert re.findall(r'<a href="([^"]*)"[^>]*aria-current="page">([^<]*)</a>', text) == [(path, name)]
        assert text.count("<nav ") == 1
        assert {f'href="{path}"' for path in pages} <= set(re.findall(r'href="[^"?]*"', text))
    assert client.get("/release?m=3", base_url=HOME).headers["Location"].endswith("/release/?m=3")


def test_at_first_it_shows_the_problem_of_the_paper(client: Any) -> None:
    text, design = get(client, "/release/").text, darrm.solve(K=11, m=3, epsilon=0.1)
    assert all(f"<td>{value:.6f}</td>" in text for value in design.gamma[6:])
    assert f"<td>{design.error:.6g}</td>" in text
    assert "one release of the majority of K = 11 votes is (0.3, 0)-DP, if the votes are independent" in text
    assert re.search(r'<img alt="gamma for K = 11, [^"]*" src="data:image/svg\+xml;base64,', text)
    assert "Not computed yet." in text  # the comparison comes when it is asked for


@pytest.mark.thorough
def test_a_decision_by_groups(client: Any) -> None:
    text, design = get(client, "/release/", **OF_GROUPS).text, of_groups()
    assert "one release of a decision by 5 voters is (1, 0)-DP" in text
    assert f"<td>{design.expected_cost:.6g}</td>" in text
    assert f"<td>{at_least(design.certificate.tight_epsilon)}</td>" in text
    assert all(f"<td>{value:.3f}</td>" in text for value in design.table.ravel())
    said = f"at {design.reversals} of 12 count vectors"
    assert design.reversals
    assert said in text
    assert said not in get(client, "/release/", **OF_GROUPS, shape="ordered").text


@pytest.mark.thorough
@pytest.mark.parametrize("none", ["", "0.3"])
def test_several_classes_have_a_triangle_and_a_table(client: Any, none: str) -> None:
    text = html.unescape(get(client, "/release/design", **CLASSES, none=none).text)
    accuracy = [objectives.randomized_response_accuracy(0.9, 0.7, classes=3)]
    problem = darrm.DecisionProblem([darrm.VoterGroup(5, 0.7)], 1.2, classes=3, none=bool(none))
    design = darrm.solve(problem, objective=objectives.truth(accuracy, none=float(none) if none else None))
    assert all(f"<td>{value:.6f}</td>" in text for value in design.table.ravel())
    assert 'alt="A triangle of all votes for three classes' in text
    assert ('coloured by the probability of "0" and "none"' in text) is bool(none)
    assert "in a corner all voters name the class written there" in text
    assert "The probability of the answer 1" not in text


@pytest.mark.thorough
def test_the_parts_are_those_of_the_page(client: Any) -> None:
    for values in (SMALL, OF_GROUPS):
        before, after = get(client, "/release/design", **values).text.split("<!-- many labels -->")
        others = get(client, "/release/others", **values).text
        page = get(client, "/release/", others="now", **values).text
        places = [page.index(one) for one in (before, others, after)]
        assert places == sorted(places)
        assert "Not computed yet." not in page


@pytest.mark.thorough
@pytest.mark.parametrize("values", [SMALL, *thorough(OF_GROUPS)])
def test_other_mechanisms_stand_beside_it(client: Any, values: dict[str, str]) -> None:
    design = darrm.solve(K=5, m=2, epsilon=0.5) if values is SMALL else of_groups()
    text = html.unescape(get(client, "/release/others", **values).text)
    entries = compare(design.problem, objective=design.objective)
    assert len(entries) > 2
    for entry in entries:
        if entry.name in ("gamma_opt", "monotone"):
            continue
        name = "this design (optimum)" if entry.called == "optimum" else entry.called
        holds = "yes" if entry.within else "no"
        assert re.search(
            rf"{re.escape(name)}(<span [^>]*></span>)?</th><td>{entry.expected_cost:.6f}</td><td>{holds}</td>", text
        ), name
    # What costs nothing has no bar.
    assert text.count('<span class="bar') == len(re.findall("<tr", text)) - 1 - text.count("<td>0.000000</td>")


@pytest.mark.thorough
def test_an_ordered_design_may_cost_more_than_the_optimum(client: Any) -> None:
    values = {**OF_GROUPS, "objective": "at-least:4", "shape": "ordered", "count3": "2", "epsilon3": "inf"}
    values |= {"max_affected3": "1", "max_affected": "3"}
    text = get(client, "/release/others", **values).text
    ours, best = (re.search(rf">{name}<[^/]*></span></th><td>([\d.]+)", text) for name in ("this design", "optimum"))
    assert ours
    assert best
    assert float(best.group(1)) < float(ours.group(1))


@pytest.mark.first(2)
@pytest.mark.parametrize("K", [1, 2, 3, 10])
def test_small_and_even_sizes(client: Any, K: int) -> None:
    found = get(client, "/release/design", count1=str(K), m="1", epsilon1="0.3")
    assert found.status_code == 200
    assert ("A tie releases a fair coin." in found.text) is (K % 2 == 0)


@pytest.mark.thorough
def test_pictures_are_the_same_every_time() -> None:
    from darrm.show.inline import picture

    for design in (darrm.solve(K=5, m=2, epsilon=0.5), of_groups()):
        assert picture(design) == picture(design)


# Known randomizers

STATED = {
    **{"known": "accuracy", "count1": "5", "epsilon1": "1", "m": "", "release_epsilon": "0.6", "max_affected": "1"},
    **{"randomizer": "response", "colluders": "1"},
}


@pytest.mark.thorough
def test_a_release_by_a_known_randomizer(client: Any) -> None:
    group = darrm.VoterGroup(5, epsilon=1.0, randomizer="randomized response", colluders=1)
    problem = darrm.DecisionProblem([group], epsilon=0.6, max_affected=1)
    design = darrm.solve(problem, objective=objectives.truth([objectives.randomized_response_accuracy(0.9, 1.0)]))
    assert isinstance(design, darrm.DecisionDesign)
    text = html.unescape(get(client, "/release/design", **STATED).text)
    assert all(f"<td>{value:.6f}</td>" in text for value in design.table)
    assert f"<td>{design.expected_cost:.6g}</td>" in text
    holds = "if every voter but 1 draws every vote from its true answer by randomized response of epsilon 1"
    assert f"one release of a decision by 5 voters is (0.6, 0)-DP, {holds}" in text
    assert "Records at voters that collude have no guarantee." in text
    beside = html.unescape(get(client, "/release/others", **STATED).text)
    assert f"The guarantee of each holds {holds}" in beside
    for entry in compare(problem, objective=design.objective)[1:]:
        assert f"<td>{entry.expected_cost:.6f}</td><td>{'yes' if entry.within else 'no'}</td>" in beside
    any_voters = get(client, "/release/design", **{**STATED, "randomizer": ""})
    assert "randomizer" not in pre(any_voters.text, "command")
    assert f"<td>{design.expected_cost:.6g}</td>" not in any_voters.text


# The same elsewhere

CHOICES = [
    SMALL,
    {"count1": "7", "m": "3", "epsilon1": "1", "delta1": "1e-6", "delta": "0.001", "max_affected1": "2"},
    {
        "count1": "3",
        "m": "1",
        "epsilon1": "0.5",
        "prior": "randomized-response:0.5:confusion:0.25,0.75:0.9,0.1,0.3,0.7",
    },
    {**SMALL, "prior": "common:1.1,2", "shape": "monotone", "minimise": "disagreement"},
    {"count1": "3", "m": "", "release_epsilon": "0.7", "epsilon1": "0.30000000000000004", "prior": "votes:1,2,3,4"},
    OF_GROUPS,
    {
        "known": "accuracy",
        "count1": "5",
        "epsilon1": "0.1",
        "truths": ".7,.3",
        "cost": "0,5,0.25,0",
        "max_affected": "2",
    },
    {**OF_GROUPS, "epsilon1": "inf", "accuracy1": "0.95", "max_affected1": "1", "shape": "ordered", "delta": "1e-5"},
    {**OF_GROUPS, "objective": "majority", "count3": "1", "epsilon3": "0.30000000000000004", "base": "0.8"},
    {**OF_GROUPS, "objective": "at-least:2", "truths": ".9,.1", "accuracy2": "0.55", "delta1": "1e-6", "delta": "1e-5"},
    {**OF_GROUPS, "objective": "weights:2,1", "accuracy1": ".9:.1/.2:.8"},
    CLASSES,
    {**CLASSES, "none": "0.3", "objective": "plurality", "classes": "inf,VoterGroup,it's"},
    {**CLASSES, "none": "0.3", "objective": "dissent"},
    {**OF_GROUPS, "objective": "dissent"},
    {**CLASSES, "classes": "2", "none": "0", "objective": "at-least:2", "delta": "0.001"},
    STATED,
    {
        **OF_GROUPS,
        "epsilon2": "inf",
        "accuracy2": "0.8",
        "randomizer": "response",
        "colluders": "0",
        "max_affected": "1",
    },
]


@pytest.mark.parametrize(
    "values", [CHOICES[0], CHOICES[10], CHOICES[16], *thorough(*CHOICES[1:10], *CHOICES[11:16], CHOICES[17])]
)
def test_command_and_python_make_the_same_design(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = get(client, "/release/design", **values).text
    Path("page.json").write_bytes(get(client, "/release/design.json", **values).data)
    page = darrm.load("page.json")
    program, *arguments = shlex.split(pre(text, "command"))
    assert program == "darrm"
    assert main(arguments) == 0
    names: dict[str, Any] = {}
    exec(pre(text, "python"), names)
    for other in (darrm.load("design.json"), names["design"]):
        assert other.table.tolist() == page.table.tolist()
        assert (other.problem, other.objective, other.shape) == (page.problem, page.objective, page.shape)


def test_every_goal_is_tried() -> None:
    tried = {
        values.get("objective", "truth").partition(":")[0] for values in CHOICES if values.get("known") == "accuracy"
    }
    assert tried == GOALS.keys()


@pytest.mark.thorough
def test_what_compares_as_equal_is_not_served_for_another_question(client: Any) -> None:
    """An accuracy alone goes with any number of classes, and equals the same with a prior of two."""
    values = {**CLASSES, "count1": "3"}
    assert get(client, "/release/design", **values).status_code == 200
    assert "must be 3 probabilities" in errors(get(client, "/release/design", **values, truths=".5,.5"))["truths"]
    assert get(client, "/release/design", **values, objective="plurality").status_code == 200
    assert "majority is for two classes" in str(errors(get(client, "/release/design", **values, objective="majority")))
    # Names of voters are no part of what groups are equal by.
    found = errors(get(client, "/release/design", **{**GROUPS, "release_epsilon": "1"}, max_affected1="1:alice"))
    assert found == {"max_affected1": "max_affected1 must be one number. Got '1:alice'."}


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::darrm.errors.ImpossiblePriorWarning")
def test_a_prior_of_priors_of_priors_does_not_hang(client: Any) -> None:
    """Its reach was asked for twice at each level: 2^200 times."""
    start = time.perf_counter()
    nested = "randomized-response:1:" * 20 + ".9"
    assert get(client, "/release/design", prior=nested, minimise="disagreement").status_code == 200
    assert time.perf_counter() - start < 10
    found = errors(get(client, "/release/design", prior="randomized-response:1:" * 200 + ".9"))
    assert found["prior"].startswith("A prior has at most 20 randomized-response")


@pytest.mark.thorough
def test_a_picture_that_is_not_there_is_not_described(client: Any) -> None:
    values = {**OF_GROUPS, "count1": "2", "count2": "1", "classes": "3"}
    text = get(client, "/release/design", **values).text
    assert "<img" not in text
    assert "Each cell" not in text
    named = get(client, "/release/design", **OF_GROUPS, classes="no,yes").text
    assert "The probability of the answer yes, by the number of voters of each group that say yes." in named


@pytest.mark.thorough
def test_downloads(client: Any) -> None:
    design, table = of_groups(), get(client, "/release/design.csv", **OF_GROUPS)
    rows = list(csv.DictReader(table.text.splitlines()))
    assert [(int(row["ones_1"]), int(row["ones_2"])) for row in rows] == [(i, j) for i in range(3) for j in range(4)]
    assert [float(row["probability_1"]) for row in rows] == design.table.ravel().tolist()
    assert table.headers["Content-Disposition"] == 'attachment; filename="design_2x3_epsilon1.csv"'
    report = get(client, "/release/report.html", **SMALL)
    assert report.status_code == 200
    assert "<html" in report.text


def test_the_address_holds_the_state(client: Any) -> None:
    given = {**choices.FIRST, **OF_GROUPS, "shape": "ordered", "classes": ""}
    state = choices.read(given.items())
    assert choices.read(parse_qsl(state.query(), keep_blank_values=True)) == state
    assert state.query().count("m=&") == 1  # empty, where there is something at first
    page = get(client, "/release/", **given).text
    assert '<option value="ordered" selected>ordered</option>' in page
    assert re.search(r'id="m"[^>]* value="" data-first="3"', page)


def test_pages_that_there_were_lead_here(client: Any) -> None:
    old = client.get("/noise/?K=5&m=2&epsilon=0.5&Delta=1e-5&prior=common:2,2&b.K=4", base_url=HOME)
    to = urlsplit(old.headers["Location"])
    assert (old.status_code, to.netloc, to.path) == (302, "", "/release/")
    now = {"count1": ["5"], "m": ["2"], "epsilon1": ["0.5"], "delta1": ["1e-5"], "prior": ["common:2,2"]}
    assert parse_qs(to.query).items() >= now.items()
    found = client.get("/noise/?K=5&m=2&epsilon=0.5&shape=monotone", base_url=HOME, follow_redirects=True)
    assert "--K 5 --m 2 --epsilon 0.5 --shape monotone" in pre(found.text, "command")
    assert client.get("/decisions/?count1=3&miss=5", base_url=HOME).headers["Location"] == "/release/?known=accuracy"
    assert client.get("/noise/", base_url="http://evil.example").status_code == 400
    for query in ("K=//evil.example", "K=%0d%0aX-Evil:1", "//evil.example=1", "K=%ff"):
        answer = client.get(f"/noise/?{query}", base_url=HOME)
        assert answer.headers["Location"].startswith("/release/?known=prior&")
        assert "X-Evil" not in answer.headers


# What is wrong


@pytest.mark.first(32)
@pytest.mark.parametrize(
    ("values", "name", "said"),
    [
        ({**STATED, "colluders": ""}, "colluders", "colluders must be given with a randomizer"),
        ({**STATED, "colluders": "5"}, "colluders", "colluders must be an integer in [0, count - 1] = [0, 4]. Got 5."),
        ({**STATED, "colluders": "x"}, "colluders", "--colluders must be integers"),
        ({**STATED, "delta1": "1e-6", "delta": "1e-5"}, "randomizer", "A known randomizer is for voters of delta 0"),
        ({**STATED, "epsilon1": "inf"}, "randomizer", "--randomizer is for private voters"),
        ({**STATED, "randomizer": "laplace"}, "randomizer", "randomizer must be one of response. Got 'laplace'."),
        ({**STATED, "known": "prior"}, "known", "known must be accuracies of voters where the randomizer is stated"),
        ({**STATED, "max_affected": "5"}, "max_affected", "max_affected must be an integer in [1, 4]"),
        ({"count1": "0"}, "count1", "K must be an integer of at least 1. Got 0."),
        ({"count1": ""}, "count1", "K must be"),
        ({"count1": "9999999999"}, "count1", "K must be at most 3001 to be verified"),
        ({"count1": "1" * 100_000}, "count1", "at most 40 characters here. Got 100000"),
        ({"m": "30"}, "m", "m must be in (0, K] = (0, 11]. Got 30"),
        ({"m": "nan"}, "m", "m must be in (0, K]"),
        ({"m": ""}, "m", "A problem takes either m or release_epsilon"),
        ({"release_epsilon": "1"}, "m", "A problem takes either m or release_epsilon"),
        ({"epsilon1": "1e400"}, "epsilon1", "epsilon must be in (0, 1e+06]"),
        ({"epsilon1": "<script>alert(1)</script>"}, "epsilon1", "Got '<script>alert(1)</script>'"),
        ({"delta1": "1"}, "delta1", "Delta must be in [0, 1). Got 1."),
        ({"delta": "nan"}, "delta", "delta must be in [0, 1)"),
        ({"max_affected": "2", "max_affected1": "3"}, "max_affected", "max_affected stands twice"),
        ({"prior": "correlated:.3,.1"}, "prior", "p must be in [1/2, 1]"),
        ({"prior": "correlated:.6"}, "prior", "A prior correlated must be correlated:P,RHO"),
        ({"max_affected": "12"}, "max_affected", "max_affected must be an integer in [1, K]"),
        ({"prior": "votes:1,2"}, "prior", "K + 1 = 12 counts"),
        ({"prior": "votes:/etc/passwd.csv"}, "prior", "A prior votes must be"),
        ({"prior": "fixed:" + "0.5," * 9999}, "prior", "at most 6000 characters"),
        ({"shape": "round"}, "shape", "shape must be one of free, ordered, monotone"),
        ({"minimise": "round"}, "minimise", "minimise must be one of tv, disagreement"),
        ({"known": "x"}, "known", "known must be one of prior, accuracy"),
        (
            {"count2": "3", "epsilon2": "1"},
            "known",
            "known must be accuracies of voters where there are several groups",
        ),
        ({"count3": "3"}, "count2", "count must be given for group 2, since there is a group 3"),
        ({**OF_GROUPS, "epsilon2": "-1"}, "epsilon2", "epsilon must be in (0, 1e+06]"),
        ({**OF_GROUPS, "count3": "2"}, "epsilon3", "epsilon must be a number"),
        ({**OF_GROUPS, "delta2": "2"}, "delta2", "delta must be in [0, 1)"),
        ({**OF_GROUPS, "max_affected2": "4"}, "max_affected2", "max_affected must be an integer in [1, count]"),
        ({**OF_GROUPS, "accuracy2": "1.5"}, "accuracy1", "An accuracy must be in [0, 1]"),
        ({**OF_GROUPS, "accuracy2": "x"}, "accuracy1", "--accuracy must be numbers"),
        ({**OF_GROUPS, "base": ""}, "base", "base must be a number in [0, 1]"),
        ({**OF_GROUPS, "max_affected": "6"}, "max_affected", "max_affected must be an integer in [1, 5]"),
        ({**OF_GROUPS, "release_epsilon": "0"}, "release_epsilon", "epsilon must be in (0, 1e+06]"),
        ({**OF_GROUPS, "release_epsilon": ""}, "release_epsilon", "epsilon must be"),
        ({**OF_GROUPS, "m": "1"}, "m", "--m takes the place of --release-epsilon"),
        ({**OF_GROUPS, "m": "1", "release_epsilon": ""}, "m", "--m needs votes of one epsilon"),
        ({**OF_GROUPS, "objective": "round"}, "objective", "--objective must be truth, plurality"),
        ({**OF_GROUPS, "objective": "at-least:6"}, "objective", "at most the number of voters, K = 5"),
        ({**OF_GROUPS, "objective": "weights:1"}, "objective", "A rule must have one weight for each of 2 groups"),
        ({**OF_GROUPS, "truths": "-0.1,1.1"}, "truths", "prior must be"),
        ({**OF_GROUPS, "cost": "0,1"}, "cost", "--cost must be four numbers"),
        ({**OF_GROUPS, "cost": "0,0,0,0"}, "cost", "cost must have an entry above 0"),
        ({**OF_GROUPS, "objective": "majority", "cost": "0,1,2,0"}, "cost", "--cost goes with --objective truth"),
        ({**OF_GROUPS, "none": "-1"}, "none", "none must be finite and at least 0. Got -1"),
        ({**OF_GROUPS, "classes": "x"}, "classes", "classes must be an integer in [2, 1e+07]"),
        ({**OF_GROUPS, "count1": "9999999"}, "solve", "multisets of corners"),
    ],
)
def test_what_is_wrong_is_said_beside_its_control(client: Any, values: dict[str, str], name: str, said: str) -> None:
    found = errors(get(client, "/release/design", **values))
    assert list(found) == [name]
    assert said in found[name]
    page = get(client, "/release/", **values)
    assert page.status_code == 400
    assert wrong(page.text, name) == found[name]
    assert "<script>alert" not in page.text
    assert "Nothing is shown" in page.text
    for path in ("design.json", "design.csv", "report.html"):
        answer = get(client, f"/release/{path}", **values)
        assert answer.status_code == 400
        assert "Content-Disposition" not in answer.headers
        assert "Traceback" not in answer.text


@pytest.mark.thorough
def test_what_the_other_kind_needs_may_be_wrong(client: Any) -> None:
    assert get(client, "/release/design", **SMALL, base="x", cost="x", objective="x").status_code == 200
    assert get(client, "/release/design", **OF_GROUPS, prior="x").status_code == 200
    accuracies = {"accuracy1": "0.8", "accuracy2": "0.7", "base": "x"}
    assert get(client, "/release/design", **OF_GROUPS, **accuracies).status_code == 200


def test_a_name_that_stands_twice(client: Any) -> None:
    assert "stands twice" in errors(client.get("/release/design?count1=5&count1=2", base_url=HOME))["count1"]


@pytest.mark.parametrize("query", ["count1=%ff%fe", "%ff=%fe", "m=3%00", "count1[]=1", "&&&&", "m", "%", "=&=", "+"])
def test_hostile_query_strings(client: Any, query: str) -> None:
    for path in ("", "design", "others", "design.csv"):
        answer = client.get(f"/release/{path}?{query}", base_url=HOME)
        assert answer.status_code in (200, 400)
        assert "Traceback" not in answer.text


def test_a_time_limit_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "TIME_LIMIT", 1e-9)
    new = create_app().test_client()
    late = {"count1": "41", "m": "7", "epsilon1": "0.1", "delta1": "1e-4"}
    assert (
        "darrm solve --K 41 --m 7 --epsilon 0.1 --voter-delta 1e-4"
        in errors(get(new, "/release/design", **late))["solve"]
    )
    found = errors(get(new, "/release/design", **{**OF_GROUPS, "count1": "11", "count2": "12"}))
    assert "darrm solve --group 11:1 --group 12:0.2 --release-epsilon 1 " in found["solve"]


@pytest.mark.thorough
def test_a_comparison_that_takes_too_long_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    new = create_app().test_client()
    assert get(new, "/release/design", **OF_GROUPS).status_code == 200
    monkeypatch.setattr(serving, "TIME_LIMIT", 1e-9)
    text = get(new, "/release/others", **OF_GROUPS).text
    assert text.startswith("<p>There is no comparison with other mechanisms.")


def test_compare_keeps_its_time_limit() -> None:
    with pytest.raises(SolverError, match="time limit"):
        compare(darrm.MajorityProblem(41, 7, 0.1, 1e-4), time_limit=1e-9)

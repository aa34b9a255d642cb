"""The explorer, asked as a browser would ask it, but without one."""

import ast
import csv
import html
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from cases import thorough
from oracles.explorer import HOME, errors, get, pre, wrong
from scripts import PROGRAMS

import darrm
from darrm.cli import main
from darrm.errors import InputError, MissingExtraError, SolverError

pytest.importorskip("flask")
pytest.importorskip("waitress")
pytest.importorskip("matplotlib")

from darrm.show.explore import answers, choices, create_app
from darrm.show.explore.cache import Cache, Gone
from darrm.show.explore.server import Server, is_loopback

PAGES = ("/", "/noise/", "/decisions/")
SMALL = {"K": "5", "m": "2", "epsilon": "0.5"}


@pytest.fixture(scope="module")
def client() -> Any:
    return create_app().test_client()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    found = Server(port=0)
    running = threading.Thread(target=found.run)
    running.start()
    yield found
    found.close()
    running.join(20)
    assert not running.is_alive()


# What is shown


def test_the_page_shows_the_design_of_its_controls(client: Any) -> None:
    answer = get(client, "/noise/")
    assert answer.status_code == 200
    design = darrm.solve(K=11, m=3, epsilon=0.1)
    for l in range(6, 12):
        assert f"<td>{design.gamma[l]:.6f}</td>" in answer.text
    assert f"<td>{design.error:.6g}</td>" in answer.text
    assert '<img class="picture" src="data:image/svg+xml;base64,' in answer.text


def test_the_parts_are_those_of_the_page(client: Any) -> None:
    part = get(client, "/noise/design", **SMALL)
    assert part.status_code == 200
    before, after = part.text.split("<!-- many labels -->")
    page = get(client, "/noise/", **SMALL).text
    # What many labels cost stands between the noise function and the rest.
    places = [page.index(one) for one in (before, '<h2 id="budget-heading">', after)]
    assert places == sorted(places)


def test_each_baseline_stands_there_with_its_error(client: Any) -> None:
    from darrm import compare

    text = get(client, "/noise/design", **SMALL).text
    entries = compare(darrm.MajorityProblem(5, 2, 0.5))
    assert len(entries) == 12
    for entry in entries:
        assert re.search(rf"{re.escape(entry.called)}(<span [^>]*></span>)?</th><td>{entry.error:.6f}</td><td>", text)


def test_a_bar_without_length_is_not_drawn(client: Any) -> None:
    text = get(client, "/noise/design", **SMALL).text
    assert '<th scope="row">plain majority</th><td>0.000000</td><td>no</td>' in text
    assert text.count('<span class="bar') == 11


def test_the_tight_epsilon_is_said_with_its_delta(client: Any) -> None:
    assert "at delta = 0.001</small>" in get(client, "/noise/design", **SMALL, delta="0.001").text
    both = get(client, "/noise/design", **SMALL, delta="0.001", **{"b.K": "9", "b.m": "3", "b.epsilon": "0.2"}).text
    assert "<small>at 0.001</small>" in both
    assert "<small>at 0</small>" in both


def test_nothing_is_said_of_many_labels_before_the_voters_are_named(client: Any) -> None:
    for path in ("/noise/", "/noise/budget"):
        text = get(client, path, **SMALL, budget="now").text
        assert "Say first whether your voters are fresh or fixed" in text
        assert "proved by" not in text
    assert "checked" not in get(client, "/noise/").text


def test_budgets_are_those_of_the_library(client: Any) -> None:
    design = darrm.solve(K=5, m=2, epsilon=0.5)
    for voters in ("fresh", "fixed"):
        total = darrm.accounting.compose(design, 20, delta=1e-4, voters=voters, tolerance=answers.TOLERANCE)
        text = get(client, "/noise/budget", **SMALL, queries="20", total_delta="1e-4", voters=voters).text
        from darrm.show.wording import condition, cost

        assert cost(total, design.problem) in html.unescape(text)
        assert f"This holds {condition(design.problem, voters)}" in html.unescape(text)
        assert len(re.findall('<th scope="row">', text)) == len(total.bounds)
    assert "any number of them" in text


def test_a_kept_design_stands_beside_the_present_one(client: Any) -> None:
    text = get(
        client, "/noise/design", **SMALL, **{"b.K": "9", "b.m": "3", "b.epsilon": "0.2", "b.shape": "monotone"}
    ).text
    present, kept = darrm.solve(K=5, m=2, epsilon=0.5), darrm.solve(K=9, m=3, epsilon=0.2, shape="monotone")
    assert f"<td>{present.error:.6g}</td><td>{kept.error:.6g}</td>" in text
    assert text.count('class="gamma"') == 2
    assert f"<td>{kept.gamma[9]:.6f}</td>" in text


def test_keeping_and_letting_go_are_addresses(client: Any) -> None:
    def link(text: str, label: str) -> dict[str, str]:
        found = re.search(rf'href="([^"]*)">{label}', text)
        assert found
        return dict(parse_qsl(urlsplit(html.unescape(found.group(1))).query))

    kept = link(get(client, "/noise/", **SMALL, prior="common:2,2").text, "Keep this one")
    assert {"b.K": "5", "b.prior": "common:2,2", "K": "5"}.items() <= kept.items()
    page = get(client, "/noise/", **kept).text
    assert page.count('<input type="hidden" name="b.') == sum(name.startswith("b.") for name in kept)
    gone = link(page, "Let the kept one go")
    assert not any(name.startswith("b.") for name in gone)
    assert gone["prior"] == "common:2,2"


@pytest.mark.first(2)
@pytest.mark.parametrize("K", [1, 2, 3, 10])
def test_small_and_even_sizes(client: Any, K: int) -> None:
    assert get(client, "/noise/design", K=str(K), m="1", epsilon="0.3").status_code == 200


def test_pictures_are_the_same_every_time(client: Any) -> None:
    from darrm.show.inline import gamma_picture

    one, two = darrm.solve(K=5, m=2, epsilon=0.5), darrm.solve(K=8, m=2, epsilon=0.5)
    for designs in ({"a": one}, {"a": one, "b": one}, {"a": one, "b": two}):
        assert gamma_picture(designs) == gamma_picture(designs)


# The same elsewhere


CHOICES = [
    {"K": "5", "m": "2", "epsilon": "0.5"},
    {"K": "6", "m": "2.5", "epsilon": "0.30000000000000004", "Delta": "1e-5"},
    {"K": "7", "m": "3", "epsilon": "1", "Delta": "1e-6", "delta": "0.001", "max_affected": "2"},
    {"K": "5", "m": "2", "epsilon": "0.5", "prior": "common:1.1,2", "shape": "monotone"},
    {"K": "3", "m": "1", "epsilon": "0.5", "prior": "fixed:0.1,0.123456789012345,0.9"},
    {"K": "3", "m": "1.25", "epsilon": "0.5", "prior": "votes:1,2,3,4"},
    {"K": "3", "m": "1", "epsilon": "0.5", "prior": "randomized-response:0.5:confusion:0.25,0.75:0.9,0.1,0.3,0.7"},
]


@pytest.mark.first(2)
@pytest.mark.parametrize("values", CHOICES)
def test_command_and_python_make_the_same_design(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = get(client, "/noise/design", **values).text
    (tmp_path / "page.json").write_bytes(get(client, "/noise/gamma.json", **values).data)
    page = darrm.load("page.json")
    program, *arguments = shlex.split(pre(text, "command"))
    assert program == "darrm"
    assert main(arguments) == 0
    names: dict[str, Any] = {}
    exec(pre(text, "python"), names)
    for other in (darrm.load("gamma.json"), names["design"]):
        assert other.gamma.tolist() == page.gamma.tolist()
        assert (other.problem, other.prior, other.shape) == (page.problem, page.prior, page.shape)


def test_budget_command_and_python_say_the_same(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = get(client, "/noise/budget", **SMALL, queries="20", total_delta="1e-4", voters="fresh").text
    design = darrm.solve(K=5, m=2, epsilon=0.5)
    design.save("gamma.json")
    assert main([*shlex.split(pre(text, "budget-command"))[1:], "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["upper"]
    code = pre(text, "budget-python")
    assert eval(code, {"darrm": darrm, "design": design}).upper == printed
    assert ast.literal_eval(re.findall(r"Fresh voters: 20 labels cost \(([\d.]+),", text)[0]) == pytest.approx(
        printed, rel=answers.TOLERANCE
    )


def test_downloads(client: Any, tmp_path: Path) -> None:
    values = {"K": "7", "m": "3", "epsilon": "0.5", "shape": "monotone"}
    file, table = get(client, "/noise/gamma.json", **values), get(client, "/noise/gamma.csv", **values)
    (tmp_path / "gamma.json").write_bytes(file.data)
    design = darrm.load(tmp_path / "gamma.json")
    assert design.gamma.tolist() == darrm.solve(K=7, m=3, epsilon=0.5, shape="monotone").gamma.tolist()
    rows = list(csv.DictReader(table.text.splitlines()))
    assert [float(row["gamma"]) for row in rows] == design.gamma.tolist()
    assert [int(row["ones"]) for row in rows] == list(range(8))
    for answer, ending in ((file, "json"), (table, "csv")):
        assert answer.headers["Content-Disposition"] == f'attachment; filename="gamma_K7_m3_epsilon0.5.{ending}"'


@pytest.mark.thorough
def test_a_report_is_offered_if_there_is_one(client: Any) -> None:
    from importlib.util import find_spec

    there = find_spec("darrm.show.report") is not None
    assert ("report.html?" in get(client, "/noise/design", **SMALL).text) == there
    assert get(client, "/noise/report.html", **SMALL).status_code == (200 if there else 404)


# What is wrong


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("K", "0", "K must be a whole number of at least 1. Got 0."),
        ("K", "", "K must be a whole number"),
        ("K", "9999999999", "K must be at most 201 on this page"),
        ("K", "202", "darrm solve --K 202"),
        ("m", "30", "m must be in (0, K] = (0, 11]. Got 30"),
        ("m", "nan", "m must be in (0, K]"),
        ("epsilon", "-1", "epsilon must be in (0, 1e+06]"),
        ("epsilon", "1e400", "epsilon must be in (0, 1e+06]"),
        ("epsilon", "<script>alert(1)</script>", "Got '<script>alert(1)</script>'"),
        ("Delta", "1", "Delta must be in [0, 1). Got 1."),
        ("delta", "nan", "delta must be in [0, 1)"),
        ("max_affected", "12", "max_affected must be a whole number in [1, K]"),
        ("prior", "votes:1,2", "K + 1 = 12 counts"),
        ("prior", "votes:/etc/passwd.csv", "prior must be uniform"),
        ("prior", "fixed:" + "0.5," * 9999, "at most 6000 characters"),
        ("shape", "round", "shape must be one of free, monotone"),
        ("K", "1" * 100_000, "at most 40 characters here. Got 100000"),
    ],
)
def test_what_is_wrong_is_said_beside_its_control(client: Any, name: str, text: str, said: str) -> None:
    found = errors(get(client, "/noise/design", **{name: text}))
    assert list(found) == [name]
    assert said in found[name]
    page = get(client, "/noise/", **{name: text})
    assert page.status_code == 400
    assert wrong(page.text, name) == found[name]
    assert "<script>alert" not in page.text
    assert "Traceback" not in page.text


def test_all_that_is_wrong_is_said_at_once(client: Any) -> None:
    values = {"K": "0", "m": "nan", "epsilon": "-1", "Delta": "2", "delta": "3", "max_affected": "-4", "prior": "x"}
    assert errors(get(client, "/noise/design", **values)).keys() == values.keys()


@pytest.mark.parametrize(
    ("values", "name", "said"),
    [
        ({"queries": "0"}, "queries", "queries must be a whole number"),
        ({"queries": "1e6"}, "queries", "darrm budget gamma.json --queries 1000000"),
        ({"total_delta": "nan"}, "total_delta", "total_delta must be in [0, 1)"),
        ({"voters": "both"}, "voters", 'voters must be "fresh"'),
        (
            {"K": "11", "m": "3", "total_delta": "0", "Delta": "1e-3"},
            "total_delta",
            "is below what 100 labels of fresh voters spend",
        ),
        ({"m": "9"}, "m", "m must be in (0, K]"),
    ],
)
def test_wrong_budgets(client: Any, values: dict[str, str], name: str, said: str) -> None:
    found = errors(get(client, "/noise/budget", **{**SMALL, "voters": "fresh", **values}))
    assert said in found[name]
    if name != "m":  # the design is shown all the same
        assert get(client, "/noise/design", **{**SMALL, "voters": "fresh", **values}).status_code == 200


def test_a_name_that_stands_twice(client: Any) -> None:
    found = client.get("/noise/design?K=5&m=2&K=7&b.m=1&b.m=2", base_url=HOME)
    assert "stands twice" in errors(found)["K"]
    assert "stands twice" in errors(found)["kept"]


def test_a_kept_design_of_no_use(client: Any) -> None:
    assert "m must be in" in errors(get(client, "/noise/design", **{"b.K": "3", "b.m": "5", "b.epsilon": "1"}))["kept"]


@pytest.mark.parametrize(
    "query", ["K=%ff%fe", "%ff=%fe", "K=11%00", "K[]=1", "&&&&", "K", "%", "=&=", "K=1;DROP", "K=%F0%9F%92%A9", "+"]
)
def test_hostile_query_strings(client: Any, query: str) -> None:
    for path in ("/noise/", "/noise/design", "/noise/budget", "/noise/gamma.json", "/noise/gamma.csv"):
        answer = client.get(f"{path}?{query}", base_url=HOME)
        assert answer.status_code in (200, 400)
        assert "Traceback" not in answer.text


def test_downloads_of_nothing(client: Any) -> None:
    for path in ("/noise/gamma.json", "/noise/gamma.csv"):
        answer = get(client, path, K="<b>")
        assert answer.status_code == 400
        assert "Content-Disposition" not in answer.headers
        assert "&lt;b&gt;" in answer.text


def test_a_time_limit_names_the_command(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "TIME_LIMIT", 1e-9)
    found = errors(get(create_app().test_client(), "/noise/design", K="41", m="7", epsilon="0.1", Delta="1e-4"))
    assert "darrm solve --K 41 --m 7 --epsilon 0.1 --voter-delta 0.0001" in found["solve"]


def test_compare_keeps_its_time_limit() -> None:
    from darrm import compare

    with pytest.raises(SolverError, match="time limit"):
        compare(darrm.MajorityProblem(41, 7, 0.1, 1e-4), time_limit=1e-9)


# Who may ask


@pytest.mark.first(2)
@pytest.mark.parametrize(
    "path", ["/", "/noise/", "/noise/design", "/decisions/", "/voters", "/static/explore.js", "/nothing"]
)
def test_other_names_of_this_machine_are_refused(client: Any, path: str) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8000"):
        answer = client.get(path, base_url=f"http://{host}")
        assert answer.status_code == 400
        assert answer.text == "This page answers only at the address that darrm explore printed.\n"
    for host in ("localhost:8000", "LOCALHOST", "127.0.0.1:80", "[::1]:8000", "[::1]"):
        with client.get(path, base_url=f"http://{host}") as answer:
            assert answer.status_code == (404 if path == "/nothing" else 200)


@pytest.mark.parametrize(
    "host", ["", "localhost@evil.example", "a@localhost", "[::1", "::1", "localhost:", "localhost:x", "/"]
)
def test_hosts_that_are_none(client: Any, host: str) -> None:
    assert client.get("/voters", headers={"Host": host}).status_code == 400


def test_pages_elsewhere_may_link_here_and_no_more(client: Any) -> None:
    cross = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert client.get("/noise/design", base_url=HOME, headers=cross).status_code == 403
    assert client.get("/voters", base_url=HOME, headers={**cross, "Sec-Fetch-Mode": "navigate"}).status_code == 200


@pytest.mark.parametrize(
    "path", ["/noise/", "/noise/design", "/noise/design?K=x", "/nothing", "/static/explore.css", "/noise/gamma.csv"]
)
def test_every_answer_is_guarded(client: Any, path: str) -> None:
    with client.get(path, base_url=HOME) as answer:
        headers = answer.headers
    policy = headers["Content-Security-Policy"]
    for part in ("default-src 'self'", "img-src 'self' data:", "style-src 'self' 'unsafe-inline'"):
        assert part in policy
    assert "script-src" not in policy  # so that scripts come from this page only, and never from within it
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_nothing_is_loaded_from_elsewhere(client: Any) -> None:
    texts = []
    for path in (*PAGES, "/voters", "/static/explore.css", "/static/explore.js"):
        with get(client, path) as answer:
            texts.append(answer.text)
    for text in texts:
        assert re.findall(r"""(?:src|href|url|fetch)\s*[=(]\s*["'`]?(?:https?:)?//""", text) == []
    assert not any(re.search(r"<script(?![^>]*src=)", text) for text in texts[:4])


def test_only_get(client: Any) -> None:
    for path in (*PAGES, "/plan", "/noise/design", "/decisions/design", "/noise/gamma.json"):
        assert client.post(path, base_url=HOME).status_code == 405


# The server


def test_loopback() -> None:
    assert all(is_loopback(host) for host in ("localhost", "127.0.0.1", "127.8.8.8", "::1"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "192.168.1.2", "localhost.example", ""))


def test_other_machines_are_let_in_only_if_that_is_said() -> None:
    for host in ("0.0.0.0", "192.168.1.2", "example.org"):
        with pytest.raises(InputError, match="--allow-remote"):
            Server(host, 0)


@pytest.mark.parametrize("port", [-1, 65536, "http", 80.5, True, None])
def test_no_port(port: Any) -> None:
    with pytest.raises(InputError, match=r"--port must be a whole number in \[0, 65535\]"):
        Server(port=port)


def test_a_port_in_use_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["explore", "--port", str(port), "--no-browser"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"Port {port} of 127.0.0.1 cannot be had" in said


@pytest.mark.parametrize("module", ["flask", "waitress", "matplotlib"])
def test_a_missing_library_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError):
        Server(port=0)
    assert main(["explore", "--port", "0", "--no-browser"]) == 5
    said = capsys.readouterr().err
    assert f"darrm explore needs {module}. Run: pip install flask waitress matplotlib" in " ".join(said.split())


def ask(server: Server, path: str, host: str | None = None) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


@pytest.mark.thorough
def test_ten_clients_at_once(server: Server) -> None:
    """Each gets the answer to its own question, whatever the others ask."""
    sizes = [3, 5, 7, 9, 11] * 2
    wanted = {K: darrm.solve(K=K, m=2, epsilon=0.4).gamma.tolist() for K in set(sizes)}
    start = threading.Barrier(len(sizes))
    found: list[tuple[int, Any]] = []

    def client(K: int) -> None:
        start.wait()
        for path in ("/noise/design", "/noise/gamma.json", "/noise/budget"):
            status, body = ask(server, f"{path}?K={K}&m=2&epsilon=0.4&queries=5&voters=fresh&b.K=4&b.m=1&b.epsilon=1")
            if path == "/noise/gamma.json":
                found.append((K, json.loads(body)["gamma"]))
            elif path == "/noise/design":
                found.append(
                    (K, wanted[K] if status == 200 and f"<td>{wanted[K][K]:.6f}</td>" in body.decode() else body)
                )
            else:
                found.append((K, wanted[K] if status == 200 and b"Fresh voters: 5 labels cost" in body else body))

    threads = [threading.Thread(target=client, args=(K,)) for K in sizes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 30
    assert all(gamma == wanted[K] for K, gamma in found)


QUESTIONS = {
    "/plan": "count1={}&max_affected=1&voters=fresh&queries=5",
    "/others": "count1={}&max_affected=1&voters=fresh&queries=5",
    "/decision.json": "count1={}&max_affected=1&voters=fresh&queries=5",
    "/decisions/design": "count1={}&count2=2",
    "/decisions/others": "count1={}&count2=2",
    "/decisions/decision.json": "count1={}&count2=2",
    "/decisions/decision.csv": "count1={}&count2=2",
    "/noise/gamma.csv": "K={}&m=1&epsilon=0.4",
}


@pytest.mark.thorough
@pytest.mark.parametrize("wrong", [False, True], ids=["all right", "some wrong"])
def test_ten_clients_at_once_get_what_each_gets_alone(server: Server, wrong: bool) -> None:
    """On every page; of five of them every question twice."""
    sizes = [1, 2, 3, 4, "five" if wrong else 5] * 2
    questions = [(f"{path}?{text.format(K)}", K) for path, text in QUESTIONS.items() for K in sizes]
    alone = create_app().test_client()
    wanted = {}
    for question, K in questions:
        answer = alone.get(question, base_url=HOME)
        assert answer.status_code == (400 if K == "five" else 200), question
        wanted[question] = answer.status_code, answer.get_data()
    assert len({body for status, body in wanted.values() if status == 200}) == 8 * (4 if wrong else 5)
    start = threading.Barrier(10)
    found: list[tuple[str, tuple[int, bytes]]] = []

    def client(place: int) -> None:
        start.wait()
        for question, _ in [*questions[place::10], *questions[(place + 3) % 10 :: 10]]:
            found.append((question, ask(server, question)))

    threads = [threading.Thread(target=client, args=(place,)) for place in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(found) == 2 * len(questions)
    for question, answer in found:
        assert answer == wanted[question], question


def test_a_hundred_kilobytes_of_address_are_refused(server: Server) -> None:
    status, body = ask(server, "/noise/design?K=" + "1" * 100_000)
    assert status in (400, 414, 431)
    assert b"Traceback" not in body
    assert ask(server, "/voters")[0] == 200


def test_the_longest_prior_fits(server: Server) -> None:
    prior = "fixed:" + ",".join(f"{0.5 + i / 1000:.17f}" for i in range(201))
    status, body = ask(server, f"/noise/design?K=201&m=1&epsilon=0.1&max_affected=1&prior={quote(prior)}")
    assert status == 200, body[:300]


def test_the_server_refuses_other_hosts(server: Server) -> None:
    assert ask(server, "/", host="evil.example")[0] == 400
    assert ask(server, "/voters", host=f"localhost:{server.port}")[0] == 200


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("seconds", [None, 0.3, *thorough(0.0, 1.0)])
def test_ctrl_c_ends_at_once(seconds: float | None) -> None:
    """Idle, or so many seconds into a budget: while libraries load, while it is computed."""
    program = [sys.executable, "-u", PROGRAMS / "command_with_interrupts.py", "explore", "--port", "0", "--no-browser"]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
        assert url
        connection = HTTPConnection("127.0.0.1", int(url.group(1)), timeout=60)
        connection.request("GET", "/voters")
        assert connection.getresponse().read()
        if seconds is not None:
            connection.request(
                "GET", "/noise/budget?K=51&m=25&epsilon=0.1&Delta=1e-5&queries=1000&total_delta=0.1&voters=fresh"
            )
            time.sleep(seconds)
        connection.close()
        start = time.perf_counter()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        assert time.perf_counter() - start < 15
        assert process.returncode == 0
        assert said == "Stopped.\n"
    finally:
        process.kill()
        process.communicate()


# What is kept


def test_an_answer_is_computed_once_however_many_ask() -> None:
    made = []

    def make(key: int) -> int:
        made.append(key)
        time.sleep(0.1)
        return -key

    cache: Cache[int, int] = Cache(make, 2, 2)
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(cache.get(3))) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [3]
    assert found == [-3] * 10
    for key in (4, 5, 3):
        cache.get(key)
    assert made == [3, 4, 5, 3]  # two are kept


def test_errors_of_darrm_are_kept_and_others_are_not() -> None:
    made = []

    def make(error: type[Exception]) -> None:
        made.append(error)
        raise error("no")

    cache: Cache[type[Exception], None] = Cache(make, 5, 1)
    for error in (InputError, InputError, KeyError, KeyError):
        with pytest.raises(error):
            cache.get(error)
    assert made == [InputError, KeyError, KeyError]


def test_who_went_away_is_not_worked_for_and_holds_nobody_up() -> None:
    begun, end = threading.Event(), threading.Event()
    made = []

    def make(key: str) -> str:
        made.append(key)
        if key == "long":
            begun.set()
            end.wait(20)
        return key

    cache: Cache[str, str] = Cache(make, 5, 1)
    left = threading.Event()
    outcomes: list[str] = []

    def asks(key: str, gone: Any) -> None:
        try:
            outcomes.append(cache.get(key, gone))
        except Gone:
            outcomes.append(f"{key} gone")

    threads = [threading.Thread(target=asks, args=("long", lambda: False))]
    threads[0].start()
    assert begun.wait(20)
    threads.append(threading.Thread(target=asks, args=("next", left.is_set)))
    threads[-1].start()
    time.sleep(0.05)
    threads.append(threading.Thread(target=asks, args=("next", lambda: False)))
    threads[-1].start()
    left.set()
    time.sleep(0.3)
    assert outcomes == ["next gone"]
    end.set()
    for thread in threads:
        thread.join(20)
    assert sorted(outcomes) == ["long", "next", "next gone"]
    assert made == ["long", "next"]


# Elsewhere


def test_designs_show_themselves_in_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = darrm.MajorityProblem(5, 2, 0.5, adjacency="<script>alert(1)</script>")
    design = darrm.solve(problem)
    text = design._repr_html_()
    assert "<script>" not in text
    assert "(1, 0)-DP" in text
    assert f"{design.gamma[3]:.6f}" in text
    assert "data:image/svg+xml;base64," in text
    for module in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    assert "<img" not in design._repr_html_()


def test_first_values_are_read_without_a_word() -> None:
    found = choices.read([])
    assert not found.errors
    assert found.many is None
    assert found.choice == choices.Choice(darrm.MajorityProblem(11, 3, 0.1), darrm.priors.independent(), "free")

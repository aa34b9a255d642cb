"""The explorer, asked as a browser would ask it, but without one."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote

import pytest
from cases import slow, thorough
from oracles.explorer import HOME, get
from scripts import PROGRAMS

import darrm
from darrm.cli import main
from darrm.errors import InputError, MissingExtraError

pytest.importorskip("flask")
pytest.importorskip("waitress")
pytest.importorskip("matplotlib")

from darrm.show.explore import create_app, release_choices
from darrm.show.explore.cache import Cache, Gone
from darrm.show.explore.server import Server, is_loopback

PAGES = ("/", "/release/")


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


# Who may ask


@pytest.mark.thorough
@pytest.mark.first(2)
@pytest.mark.parametrize("path", ["/", "/release/", "/release/design", "/voters", "/static/explore.js", "/nothing"])
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
    assert client.get("/release/design", base_url=HOME, headers=cross).status_code == 403
    assert client.get("/voters", base_url=HOME, headers={**cross, "Sec-Fetch-Mode": "navigate"}).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["/release/", "/release/design", "/release/design?m=x", "/nothing", "/static/explore.css", "/release/design.csv"],
)
def test_every_answer_is_guarded(client: Any, path: str) -> None:
    with client.get(path, base_url=HOME) as answer:
        headers = answer.headers
    policy = headers["Content-Security-Policy"]
    for part in ("default-src 'self'", "img-src 'self' data:", "style-src 'self' 'unsafe-inline'"):
        assert part in policy
    assert "script-src" not in policy  # so that scripts come from this page only, and never from within it
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.thorough
def test_nothing_is_loaded_from_elsewhere(client: Any) -> None:
    texts = []
    for path in (*PAGES, "/voters", "/static/explore.css", "/static/explore.js"):
        with get(client, path) as answer:
            texts.append(answer.text)
    for text in texts:
        assert re.findall(r"""(?:src|href|url|fetch)\s*[=(]\s*["'`]?(?:https?:)?//""", text) == []
    assert not any(re.search(r"<script(?![^>]*src=)", text) for text in texts[:3])


def test_only_get(client: Any) -> None:
    for path in (*PAGES, "/plan", "/release/design", "/release/design.json"):
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
    with pytest.raises(InputError, match=r"--port must be an integer in \[0, 65535\]"):
        Server(port=port)


def test_a_server_ends_while_a_request_wakes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Server(port=0)
    trigger = own._server.trigger
    write = trigger._physical_pull

    def late() -> None:  # as if a request had ended, and waked the loop, at the same moment
        write()
        time.sleep(0.05)
        write()

    monkeypatch.setattr(trigger, "_physical_pull", late)
    running = threading.Thread(target=own.run)
    running.start()
    assert ask(own, "/nothing")[0] == 404
    own.close()
    running.join(20)
    assert not running.is_alive()


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
        for path in ("design", "design.json"):
            status, body = ask(server, f"/release/{path}?count1={K}&m=2&epsilon1=0.4")
            if path == "design.json":
                found.append((K, json.loads(body)["gamma"]))
            else:
                found.append(
                    (K, wanted[K] if status == 200 and f"<td>{wanted[K][K]:.6f}</td>" in body.decode() else body)
                )

    threads = [threading.Thread(target=client, args=(K,)) for K in sizes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 20
    assert all(gamma == wanted[K] for K, gamma in found)


OF_GROUPS = "known=accuracy&count1={}&epsilon1=1&count2=2&epsilon2=0.2&m=&release_epsilon=1.4"
QUESTIONS = {
    "/plan": "count1={}&max_affected=1&voters=fresh&queries=5",
    "/others": "count1={}&max_affected=1&voters=fresh&queries=5",
    "/design.json": "count1={}&max_affected=1&voters=fresh&queries=5",
    "/release/design": OF_GROUPS,
    "/release/others": OF_GROUPS,
    "/release/design.json": OF_GROUPS,
    "/release/design.csv": "count1={}&m=1&epsilon1=0.4",
}


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [True, *slow(False)], ids=["some wrong", "all right"])
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
    assert len({body for status, body in wanted.values() if status == 200}) == len(QUESTIONS) * (4 if wrong else 5)
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
    status, body = ask(server, "/release/design?count1=" + "1" * 100_000)
    assert status in (400, 414, 431)
    assert b"Traceback" not in body
    assert ask(server, "/voters")[0] == 200


@pytest.mark.thorough
def test_the_longest_prior_fits(server: Server) -> None:
    prior = "fixed:" + ",".join(f"{0.5 + i / 1000:.17f}" for i in range(201))
    status, body = ask(server, f"/release/design?count1=201&m=1&epsilon1=0.1&max_affected=1&prior={quote(prior)}")
    assert status == 200, body[:300]


def test_the_server_refuses_other_hosts(server: Server) -> None:
    assert ask(server, "/", host="evil.example")[0] == 400
    assert ask(server, "/voters", host=f"localhost:{server.port}")[0] == 200


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("seconds", [None, 0.3, *thorough(0.0, 1.0)])
def test_ctrl_c_ends_at_once(seconds: float | None) -> None:
    """Idle, or so many seconds into a comparison: while libraries load, while it is computed."""
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
            connection.request("GET", "/release/others?count1=201&m=25&epsilon1=0.1&delta1=1e-5")
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


@pytest.mark.thorough
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
    found = release_choices.read([])
    assert not found.errors
    assert found.choice is not None
    assert (found.choice.problem, found.choice.prior) == (
        darrm.MajorityProblem(11, 3, 0.1),
        darrm.priors.independent(),
    )

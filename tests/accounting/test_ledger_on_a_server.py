"""A ledger on a PostgreSQL server counts as one in a file does: with many processes, kills, and a server that ends."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np
import postgres
import pytest
from ledgers import FAST, PROGRAMS, Forker

import darrm
from darrm.accounting import Ledger, max_queries
from darrm.accounting.old_ledgers import import_ledger
from darrm.cli import main
from darrm.storage import sealed_json
from darrm.storage.postgres import PostgresSchema

pytestmark = [
    pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing() or "-"),
    pytest.mark.filterwarnings("ignore::darrm.errors.RecoveredLabelsWarning"),
]
BUDGET: dict[str, Any] = {"total_epsilon": 100.0, "total_delta": 0.0, "voters": "fresh", "rule": "basic-filter"}
NUMBERS = count()


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    server = postgres.Server()
    yield server
    server.close()


@pytest.fixture
def url(server: postgres.Server) -> str:
    """Where no ledger is yet."""
    return f"{server.url}#ledger_{next(NUMBERS)}"


@pytest.fixture(scope="module")
def design() -> darrm.Design:
    return darrm.solve(K=5, m=2, epsilon=0.01)


@pytest.fixture(scope="module")
def forker(tmp_path_factory: pytest.TempPathFactory, design: darrm.Design) -> Iterator[Forker]:
    folder = tmp_path_factory.mktemp("forker")
    design.save(folder / "design.json")
    forker = Forker(folder)
    yield forker
    forker.process.communicate(timeout=60)


def asked(url: str, statement: str) -> list[Any]:
    """What the server says in the schema of a ledger."""
    import psycopg

    place, _, schema = url.partition("#")
    with psycopg.connect(place, options=f"-c search_path={schema}") as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def recorded(url: str) -> int:
    ((content,),) = asked(url, "SELECT content FROM ledger")
    return sum(account["charged"] for account in json.loads(content)["designs"].values())


@pytest.mark.thorough
def test_a_server_counts_as_a_file_does(url: str, tmp_path: Path, design: darrm.Design) -> None:
    told = []
    for place in (url, tmp_path / "ledger.db"):
        ledger = Ledger.create(place, design, **{**BUDGET, "total_epsilon": 0.2})
        ledger.charge(design, 3, note="first", ids=["a", "b", "c"])
        messages = []
        for ids in (["x", "b"], ["x", "x"], None, list("ghijklmnop")):
            with pytest.raises(darrm.DarrmError) as refused:
                ledger.charge(design, len(ids or "1"), ids=ids)
            messages.append(str(refused.value).replace(str(ledger.path), "PATH"))
        with ledger.releasing(design, 2, tmp_path / "labels.csv", ids=["d", "e"]) as file:
            file.write(b"1\n1\n")
        history = [{**charge, "time": None} for charge in Ledger(place).history()]
        told.append((messages, ledger.status(), ledger.spent(), ledger.remaining(design), history))
    assert told[0] == told[1]
    assert (tmp_path / "labels.csv").read_bytes() == b"1\n1\n"


@pytest.mark.thorough
def test_streams_go_on(url: str, design: darrm.Design) -> None:
    ledger = Ledger.create(url, **BUDGET)
    mechanism, votes = darrm.mechanisms.DaRRM(design), np.ones((6, 5), dtype=np.uint8)
    assert sum(map(len, mechanism.release_blocks([votes[:2], votes[2:4]], ledger=ledger))) == 4
    with pytest.warns(darrm.errors.ResumedStreamWarning):
        assert sum(map(len, mechanism.release_blocks([votes], ledger=ledger))) == 2
    assert [charge["stream"] for charge in ledger.history()] == ["", "", ""]


@pytest.mark.thorough
def test_many_ids(url: str, design: darrm.Design) -> None:
    ledger = Ledger.create(url, **{**BUDGET, "total_epsilon": 1e5})
    ids = [f"q{i}" for i in range(70_000)]
    ledger.charge(design, len(ids), ids=ids)
    with pytest.raises(darrm.InputError, match="One id was charged before: 'q69999'"):
        ledger.charge(design, 2, ids=["q70000", "q69999"])
    assert asked(url, "SELECT count(*) FROM charged") == [(70_000,)]


@pytest.mark.thorough
def test_there_is_one_ledger_at_a_place(url: str, server: postgres.Server, tmp_path: Path) -> None:
    with pytest.raises(darrm.InputError, match=r"has no ledger in the schema .*Run: darrm ledger create"):
        Ledger(url)
    ledger = Ledger.create(url, **BUDGET)
    with pytest.raises(darrm.errors.ExistsError, match=r"exists already.*another schema"):
        Ledger.create(url, **BUDGET)
    assert repr(ledger) == f"Ledger({url!r})"
    for schema in ("A", "a-b", "pg_toast", "a;b", "a" * 64):
        with pytest.raises(darrm.InputError, match="small letters, digits and _"):
            Ledger(f"{server.url}#{schema}")


@pytest.mark.thorough
def test_the_command_line_takes_a_url(
    url: str, tmp_path: Path, design: darrm.Design, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A password in it is not printed."""
    monkeypatch.chdir(tmp_path)
    design.save("gamma.json")
    Path("votes.csv").write_text("id,a,b,c,d,e\nx,1,0,1,1,0\ny,0,0,1,0,0\n", encoding="utf-8")
    place = url.replace("darrm@", "darrm:tOpSeCrEt@")
    budget = ["--total-epsilon", "1", "--total-delta", "0", "--voters", "fresh", "--rule", "basic-filter"]
    assert main(["ledger", "create", place, "gamma.json", *budget]) == 0
    release = ["release", "gamma.json", "--votes", "votes.csv", "--out", "labels.csv", "--ledger", place]
    assert main(release) == 0
    assert main([*release, "--overwrite"]) == 6
    assert main(["ledger", "charge", place, "--epsilon", "9", "--adjacency", "replace-one"]) == 3
    assert main(["ledger", "show", place, "gamma.json"]) == 0
    assert main(["ledger", "export", place, "--csv", "charges.csv"]) == 0
    said = capsys.readouterr()
    assert "Charged to postgresql://darrm@127" in said.err
    assert "tOpSeCrEt" not in said.out + said.err
    with Path("charges.csv").open(encoding="utf-8", newline="") as file:
        assert [row["n"] for row in csv.DictReader(file)] == ["2"]
    assert main(["ledger", "show", place.replace("127.0.0.1:", "127.0.0.1:1")]) != 0
    assert "tOpSeCrEt" not in capsys.readouterr().err


@pytest.mark.thorough
def test_an_ensemble_keeps_its_budget_there(url: str) -> None:
    sklearn_base = pytest.importorskip("sklearn.base")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    asked: dict[str, Any] = {"queries": 4, "total_epsilon": 2.0, "total_delta": 1e-5, "epsilon": 1.0, "K": 5}
    model = darrm.ensemble.PrivateMajorityClassifier(voters="fresh", ledger=url, **asked)
    with pytest.raises(darrm.InputError, match="does not exist"):
        sklearn_base.clone(model).fit(X, y)
    fitted = sklearn_base.clone(model).set_params(ledger_create=True).fit(X, y)
    second = sklearn_base.clone(model).fit(X, y)
    left = Ledger(url).status()["left"]
    fitted.predict(X[: left - 1])
    second.predict(X[:1])
    for one in (fitted, second):
        with pytest.raises(darrm.BudgetError):
            one.predict(X[:1])


@pytest.mark.thorough
def test_rows_that_copies_ask_at_the_same_time_have_one_label(url: str) -> None:
    """Threads have a connection each, as processes have."""
    pytest.importorskip("sklearn")
    from concurrent.futures import ThreadPoolExecutor
    from copy import deepcopy

    from darrm.ensemble import PrivateMajorityClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    budget: dict[str, Any] = {
        "total_epsilon": 80.0,
        "total_delta": 1e-5,
        "ledger": url,
        "ledger_create": True,
        "keyed": True,
    }
    model = PrivateMajorityClassifier(voters="fresh", K=5, epsilon=0.1, **budget).fit(X, X[:, 0] > 0)
    rows = rng.normal(size=(30, 3))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda start: deepcopy(model).predict(rows[start:]), [0, 10, 20] * 4))
    labels = model.predict(rows)
    assert all(answer.tolist() == labels[-len(answer) :].tolist() for answer in answers)
    assert Ledger(url).status()["released"] == 30
    assert asked(url, "SELECT count(*) FROM charged") == [(30,)]


def test_an_old_ledger_is_imported(url: str, tmp_path: Path) -> None:
    """Its labels that wait get their name on this host."""
    import zipfile

    with zipfile.ZipFile(Path(__file__).parents[1] / "golden" / "stored.zip") as stored:
        for ending in ("", ".ids"):
            (tmp_path / f"old{ending}").write_bytes(stored.read(f"ledgers/exact ids{ending}"))
    part, out = tmp_path / ".out.csv.x.waiting", tmp_path / "out.csv"
    part.write_text("id,label\na,1\n", encoding="utf-8")
    content = json.loads((tmp_path / "old").read_bytes())
    del content["sha256"]
    sealed_json.write(tmp_path / "old", {**content, "leaving": [{"part": str(part), "out": str(out)}]})
    with pytest.warns(darrm.errors.RecoveredLabelsWarning):
        assert import_ledger(tmp_path / "old", url).status()["ids"] == 2
    assert out.is_file()
    assert asked(url, "SELECT count(*) FROM charged") == [(2,)]


@pytest.mark.every
@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE charges SET n = 1 WHERE number = 1",
        "UPDATE charges SET time = '2020-01-01T00:00:00.000000Z' WHERE number = 1",
        "DELETE FROM charges WHERE number = 2",
        "UPDATE ledger SET content = replace(content, '\"total_epsilon\": 100.0', '\"total_epsilon\": 200.0')",
    ],
)
def test_an_edited_database_is_refused(url: str, design: darrm.Design, edit: str) -> None:
    ledger = Ledger.create(url, **BUDGET)
    ledger.charge(design, 2)
    ledger.charge(design, 1)
    asked(url, edit)
    with pytest.raises(darrm.InputError, match="was changed after it was written"):
        Ledger(url)


def test_time_is_that_of_the_server(url: str, design: darrm.Design, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hosts' clocks may differ."""
    ledger = Ledger.create(url, **BUDGET)
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    ((before,),) = asked(url, "SELECT clock_timestamp()")
    ledger.charge(design)
    ((after,),) = asked(url, "SELECT clock_timestamp()")
    (charge,) = ledger.history()
    assert before <= datetime.fromisoformat(charge["time"]) <= after
    assert charge["host"] == "another"


@pytest.mark.thorough
def test_an_end_waits_for_the_disk_whatever_the_settings(server: postgres.Server, url: str) -> None:
    name = url.partition("#")[2]
    Ledger.create(url, **BUDGET)
    asked(url, "ALTER ROLE darrm SET synchronous_commit TO off")
    try:
        with PostgresSchema(url, "ledger", "").transaction((), write=True) as run:
            assert run("SHOW synchronous_commit").fetchone() == ("on",)
            assert run("SHOW search_path").fetchone() == (name,)
    finally:
        asked(url, "ALTER ROLE darrm RESET synchronous_commit")
    server.stop()
    server.start(fsync="off")
    with pytest.raises(darrm.InputError, match="fsync = off"):
        Ledger(url)
    server.stop()
    server.start()
    Ledger(url)


# Many processes


@pytest.mark.thorough
def test_eight_processes_never_overspend(url: str, tmp_path: Path, design: darrm.Design) -> None:
    design.save(tmp_path / "design.json")
    (tmp_path / "out").mkdir()
    allowed = max_queries(design, 1.0, 1e-5, voters="fresh")
    book = Ledger.create(url, design, total_epsilon=1.0, total_delta=1e-5, voters="fresh")
    command, pipe = [sys.executable, PROGRAMS / "until_refused.py", tmp_path], subprocess.PIPE
    workers = [
        subprocess.Popen([*command, f"w{i}", url], stdin=pipe, stdout=pipe, env=FAST, text=True) for i in range(8)
    ]
    try:
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        refused = [int(worker.communicate("go\n", timeout=120)[0]) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    lines = [line for file in (tmp_path / "out").glob("*.csv") for line in file.read_text().splitlines()]
    released = book.status()["released"]
    assert len(lines) == len(set(lines)) == released == recorded(url)
    assert 0 <= allowed - released < min(refused)
    assert sum(charge["n"] for charge in book.history()) == released


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_every_step(url: str, tmp_path: Path, forker: Forker, after: bool) -> None:
    """Before and after every statement and every call that changes the disk: neither labels nor a charge, or both."""
    book = Ledger.create(url, **BUDGET)
    code, call, charged, recovered = 9, 0, 0, 0
    while code == 9:
        call += 1
        folder = tmp_path / str(call)
        folder.mkdir()
        code = forker.crash(url, 2, folder / "labels.csv", call, after)
        early = (folder / "labels.csv").exists()
        released = book.status()["released"]
        assert released - charged in (0, 2)
        assert (folder / "labels.csv").exists() == (released > charged)
        recovered += early != (folder / "labels.csv").exists()
        charged = released
    assert code == 0
    assert call > 15
    assert recovered


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_kills_at_any_moment(url: str, tmp_path: Path, forker: Forker) -> None:
    book, rng, most = Ledger.create(url, **{**BUDGET, "total_epsilon": 1e5}), random.Random(1), 0
    for kill in range(6):
        folder = tmp_path / str(kill)
        folder.mkdir()
        with forker.looping(url, folder, kill):  # type: ignore[arg-type]
            time.sleep(rng.uniform(0.05, 0.15))
        book.status()
        rows = sum(path.read_bytes().count(b"\n") for path in tmp_path.rglob("*.csv") if path.name[0] != ".")
        assert rows == recorded(url) >= most
        most = rows
    assert most > 0


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_leases_of_eight_processes_never_overspend(url: str, tmp_path: Path, design: darrm.Design) -> None:
    """Some are killed with labels that were not released: these count."""
    design.save(tmp_path / "design.json")
    book = Ledger.create(url, **{**BUDGET, "total_epsilon": 0.505})  # 25 labels
    command = [sys.executable, PROGRAMS / "leasing.py", tmp_path / "design.json", url, "6"]
    workers = [
        subprocess.Popen([*command, ("killed", "ended")[at % 2]], stdout=subprocess.PIPE, env=FAST, text=True)
        for at in range(8)
    ]
    lines = [worker.communicate(timeout=120)[0].splitlines() for worker in workers]
    ends = [worker.returncode for worker in workers]
    assert set(ends) <= {-9, 0, 4}
    assert [len(own) for own in lines] == [0 if end == 4 else 2 for end in ends]
    assert book.status()["released"] == 6 * ends.count(-9) + 2 * ends.count(0) <= 25
    assert sum(charge["n"] for charge in book.history()) == book.status()["released"]


# A server that ends


def test_a_server_that_ends_charges_nothing_more(server: postgres.Server, url: str, design: darrm.Design) -> None:
    ledger = Ledger.create(url, **BUDGET)
    ledger.charge(design, 2)
    server.stop()
    try:
        for use in (lambda: Ledger(url), lambda: ledger.charge(design), ledger.status):
            with pytest.raises(darrm.OutputError, match="Nothing was released or charged") as refused:
                use()
            assert "\n" not in str(refused.value)
    finally:
        server.start()
    ledger.charge(design, 3)
    assert ledger.status()["released"] == 5


@pytest.mark.thorough
def test_no_charge_is_lost_with_a_server_that_crashes(
    server: postgres.Server, url: str, tmp_path: Path, design: darrm.Design
) -> None:
    """What a worker was told is charged; one more charge of each may be."""
    ledger, told, ended = Ledger.create(url, **BUDGET), [0, 0], threading.Event()

    def work(at: int) -> None:
        while not ended.is_set():
            try:
                Ledger(url).charge(design)
                told[at] += 1
            except darrm.OutputError:
                time.sleep(0.01)

    workers = [threading.Thread(target=work, args=(at,)) for at in range(2)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(2):
            time.sleep(0.3)
            server.stop("immediate")
            server.start()
    finally:
        ended.set()
        for worker in workers:
            worker.join()
    assert min(told) > 0
    assert sum(told) <= ledger.status()["released"] <= sum(told) + 4
    assert len(ledger.history()) == ledger.status()["released"]


@pytest.mark.parametrize("reached", [False, True])
def test_an_end_without_an_answer_is_looked_up(
    url: str, tmp_path: Path, design: darrm.Design, monkeypatch: pytest.MonkeyPatch, reached: bool
) -> None:
    """The connection is lost before the server ends the transaction, or after it; then somebody else charges too."""
    import psycopg

    ledger, commit = Ledger.create(url, **BUDGET), psycopg.Connection.commit

    def lost(connection: Any) -> None:
        monkeypatch.undo()
        if reached:
            commit(connection)
        connection.close()
        Ledger(url).charge(design, 1)
        raise psycopg.OperationalError("server closed the connection")

    for use in ("charge", "releasing"):
        before = ledger.status()["released"]

        def charge(use: str = use) -> None:
            if use == "charge":
                ledger.charge(design, 2)
                return
            with ledger.releasing(design, 2, tmp_path / "labels.csv") as file:
                file.write(b"1\n1\n")
                monkeypatch.setattr(psycopg.Connection, "commit", lost)

        if use == "charge":
            ends = iter([False, True])  # the first is of reading

            def second(connection: Any, ends: Iterator[bool] = ends) -> None:
                (lost if next(ends) else commit)(connection)

            monkeypatch.setattr(psycopg.Connection, "commit", second)
        if reached:
            charge()
        else:
            with pytest.raises(darrm.OutputError, match="server closed the connection"):
                charge()
        assert ledger.status()["released"] == before + 2 * reached + 1
        assert [path.name for path in tmp_path.iterdir()] == ["labels.csv"] * (reached and use == "releasing")


def test_labels_that_wait_on_another_host_wait_for_it(
    url: str, tmp_path: Path, design: darrm.Design, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(url, **BUDGET)

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("darrm.accounting.ledger_store.move", stopped)
        with pytest.raises(KeyboardInterrupt), ledger.releasing(design, 1, tmp_path / "labels.csv") as file:
            file.write(b"1\n")
    with monkeypatch.context() as patch:
        patch.setattr("socket.gethostname", lambda: "another")
        assert len(ledger.status()["waiting"]) == 1
    assert not (tmp_path / "labels.csv").exists()
    assert ledger.status()["waiting"] == []
    assert (tmp_path / "labels.csv").exists()


@pytest.mark.every
@pytest.mark.parametrize("url", ["postgresql://u:tOpSe%Cr@h/d", "postgresql://h/d?password=tOpSe%25Cr&port=x&user=u"])
def test_a_url_that_cannot_be_read_gives_no_password_away(url: str) -> None:
    with pytest.raises(darrm.DarrmError) as refused:
        Ledger(url)
    assert "tOpSe" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("password", ["tOp/Se", "tOp?Se", "tOp#Se", "12/tOpSe"])
def test_a_password_that_is_not_encoded_is_not_printed(password: str) -> None:
    with pytest.raises(darrm.InputError, match="as %2F %3F %23 %40") as refused:
        Ledger(f"postgresql://u:{password}@localhost:1/d")
    assert "Se" not in str(refused.value)


def test_a_url_whose_codes_are_not_text() -> None:
    with pytest.raises(darrm.InputError, match="not UTF-8"):
        Ledger("postgresql://localhost:1/d?application_name=%ff")


def test_a_url_that_is_none() -> None:
    with pytest.raises(darrm.InputError, match="must be postgresql://user@host"):
        Ledger("postgresql://[h/d")


@pytest.mark.parametrize("scheme", ["postgresql+psycopg", "sqlite", "mysql"])
def test_other_schemes_are_no_paths(scheme: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "show", f"{scheme}://darrm@localhost/privacy"]) == 2
    assert f"{scheme}:// is not read here. Pass postgresql://" in capsys.readouterr().err


def test_a_url_that_no_retry_helps_is_bad_input(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another database, a port and a query that libpq does not take; a server that is not there is worth a retry.

    In any language that the server speaks.
    """
    import psycopg

    parts, connect = urlsplit(url), psycopg.connect

    def auf_deutsch(*place: Any, **options: Any) -> Any:
        try:
            return connect(*place, **options)
        except psycopg.OperationalError as error:
            said = str(error).replace("does not exist", "existiert nicht").replace("invalid port", "falscher Port")
            raise psycopg.OperationalError(said, pgconn=error.pgconn) from None

    monkeypatch.setattr(psycopg, "connect", auf_deutsch)
    for wrong in (
        urlunsplit(parts._replace(path="/nowhere")),
        "postgresql://localhost:99999/x",
        "postgresql://localhost:5432x/x",
        "postgresql://localhost/x?nosuch=1",
    ):
        with pytest.raises(darrm.InputError, match="Pass the URL of a database that is there"):
            Ledger(wrong)
    with pytest.raises(darrm.OutputError, match="Connection refused"):
        Ledger("postgresql://localhost:1/x")
    with pytest.raises(darrm.OutputError, match=r'role "nobody" existiert nicht'):  # who may be made meanwhile
        Ledger(urlunsplit(parts._replace(netloc=f"nobody@127.0.0.1:{parts.port}", path="/nowhere")))


def test_without_psycopg_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(darrm.errors.MissingExtraError, match=r"pip install 'darrm\[postgres\]'"):
        Ledger("postgresql://localhost/x")

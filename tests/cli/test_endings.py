"""How commands end: a status of its own for each way, and with --json one object on standard output in all of them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from cases import thorough
from scripts import COMMAND, PROGRAMS

import darrm
from darrm.accounting import Ledger
from darrm.cli import app, endings, main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"
PROBLEM = ["--K", "3", "--m", "2", "--epsilon", "0.1"]
BUDGET = ["--total-epsilon", "9", "--total-delta", "1e-6", "--voters", "fresh"]
VOTERS = ["--K", "3", "--epsilon", "1", "--base-accuracy", "0.85", "--max-affected", "1", "--queries", "5"]
# A command of each kind that ends well, with an output of its own where it has one.
WELL = {
    "solve": ["solve", *PROBLEM, "--out", "new.json"],
    "solve --group": ["solve", "--group", "3:1", "--total-epsilon", "1.2", "--accuracy", "0.8", "--out", "new.json"],
    "verify": ["verify", "gamma.json"],
    "verify --independent": ["verify", "gamma.json", "--independent"],
    "verify table": ["verify", "table.csv"],
    "release": ["release", "gamma.json", "--votes", "votes.csv", "--out", "labels.csv", "--ledger", "ledger.json"],
    "release-shared": ["release-shared", "gamma.json", "--votes", "votes.csv", "-M", "3", "--out", "labels.csv"],
    "key": ["key", "new.key"],
    "compare": ["compare", *PROBLEM],
    "compare at one total": ["compare", *VOTERS, *BUDGET],
    "table": ["table", "--K", "3", "--m", "1,2", "--epsilon", "0.1", "--out", "new.csv"],
    "profile": ["profile", "gamma.json"],
    "budget": ["budget", "gamma.json", "--queries", "3", "--total-delta", "1e-6", "--voters", "fresh"],
    "budget of a total": ["budget", "gamma.json", "--total-epsilon", "3", "--total-delta", "1e-6", "--voters", "fresh"],
    "plan": ["plan", *VOTERS, *BUDGET, "--out", "new.json"],
    "ledger create": ["ledger", "create", "new.json", "gamma.json", *BUDGET],
    "ledger charge": ["ledger", "charge", "ledger.json", "gamma.json"],
    "ledger import": ["ledger", "import", "old.json", "new.db"],
    "ledger show": ["ledger", "show", "ledger.json"],
    "ledger export": ["ledger", "export", "ledger.json", "--csv", "new.csv"],
    "report": ["report", "gamma.json", "--short", "--out", "new.html"],
    "export": ["export", "gamma.json", "--out", "new.csv"],
    "constraints": ["constraints", "--K", "3", "--m", "1", "--epsilon", "0.1"],
    "audit": ["audit", "--mechanism", "rr", "--epsilon", "1", "--eta", "beta:2,2", "--n", "20", "--out", "new.csv"],
    "demo": ["demo"],
}
WITHOUT_JSON = {"explore", "completion"}  # pages that are served, and a script
SLOW = ("demo", "release-shared", "plan", "compare at one total")
EACH = [name for name in WELL if name not in SLOW] + thorough(*SLOW)

Ended = tuple[int, dict[str, Any], str]
Run = Callable[..., Ended]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    design = darrm.solve(K=3, m=2, epsilon=0.1)
    design.save(folder / "gamma.json")
    with zipfile.ZipFile(Path(__file__).parents[1] / "golden" / "stored.zip") as stored:
        (folder / "old.json").write_bytes(stored.read("ledgers/exact"))
    (folder / "votes.csv").write_text("id,a,b,c\nx,1,0,1\ny,1,1,1\n", encoding="utf-8")
    darrm.tables.solve_grid(darrm.tables.grid(K=[3], m=[1, 2], epsilon=[0.1]), out=folder / "table.csv")
    wrong = darrm.solve(K=3, m=2, epsilon=0.1)
    object.__setattr__(wrong, "table", np.ones(4))
    wrong.save(folder / "wrong.json")
    text = (folder / "table.csv").read_text(encoding="utf-8")
    (folder / "wrong.csv").write_text(re.sub(r'"\[[^]]*]"', '"[1.0, 1.0, 1.0, 1.0]"', text), encoding="utf-8")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a design, votes, a table, ledgers, and what does not hold."""
    for path in made.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    design = darrm.load("gamma.json")
    Ledger.create("ledger.json", design, total_epsilon=9, total_delta=0, voters="fresh", rule="basic-filter")
    Ledger.create("spent.json", design, total_epsilon=0.25, total_delta=0, voters="fresh", rule="basic-filter").charge(
        design
    )
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command with --json: its status, its one object, and standard error."""

    def run(*arguments: str, at: int | None = None) -> Ended:
        where = len(arguments) if at is None else at
        capsys.readouterr()
        status = main([*arguments[:where], "--json", *arguments[where:]])
        captured = capsys.readouterr()
        found = one_object(captured.out)
        assert "Traceback" not in captured.err
        if isinstance(found.get("error"), dict):  # of a design it is a number
            assert set(found) == {"error"}
            assert found["error"]["status"] == status
            assert found["error"]["code"] in {ending.code for ending in endings.ENDINGS if ending.status == status}
            assert f"darrm: {' '.join(found['error']['message'].split())}" in captured.err.splitlines()
        return status, found, captured.err

    return run


def one_object(text: str) -> dict[str, Any]:
    def refuse(token: str) -> None:
        pytest.fail(f"{token} is no JSON")

    assert text.endswith("\n")
    found = json.loads(text, parse_constant=refuse)
    assert isinstance(found, dict)
    return found


def code(ended: Ended) -> tuple[int, str]:
    return ended[0], ended[1]["error"]["code"]


def commands(of: click.Command, *names: str) -> list[str]:
    if isinstance(of, click.Group):
        return [name for inner in of.commands for name in commands(of.commands[inner], *names, inner)]
    return [" ".join(names)]


@pytest.mark.every
@pytest.mark.parametrize(
    "command",
    [
        "verify none.json",
        "verify none.csv",
        "release none.json --votes votes.csv --out new.csv",
        "release gamma.json --votes none.csv --out new.csv",
        "release gamma.json --votes votes.csv --out new.csv --ledger none.json",
        "ledger show none.json",
        "table --problems none.csv --out new.csv",
        "solve --K 3 --m 1 --epsilon .1 --profile none.csv",
        "compare --K 3 --m 1 --epsilon .1 --extra mine=none.json",
    ],
)
def test_a_file_that_has_not_arrived_has_a_code_of_its_own(run: Run, command: str) -> None:
    ended = run(*command.split())
    assert code(ended) == (2, "no-file"), ended[2]


def test_a_folder_in_the_place_of_a_file_is_bad_input(run: Run, folder: Path) -> None:
    (folder / "votes").mkdir()
    assert code(run("release", "gamma.json", "--votes", "votes", "--out", "new.csv")) == (2, "bad-input")


def test_the_page_has_the_table() -> None:
    rows = re.findall(r"^\| (\d+) \| `([a-z-]+)` \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [(int(status), name, meaning) for status, name, meaning in rows] == list(endings.ENDINGS)


def test_each_way_to_end_has_a_code_and_the_asked_ones_a_status() -> None:
    codes = [ending.code for ending in endings.ENDINGS]
    assert len(set(codes)) == len(codes)
    own = [endings.DONE, endings.NOT_HELD, endings.BUDGET_SPENT, endings.REPEATED, endings.DEFECT, endings.INTERRUPTED]
    statuses = [ending.status for ending in endings.ENDINGS]
    assert all(statuses.count(ending.status) == 1 for ending in own)


def test_every_command_is_walked() -> None:
    every = commands(app)
    assert {name for name in every if not any(name in tried for tried in WELL)} == WITHOUT_JSON
    for name in every:
        command: click.Command = app
        for part in name.split():
            assert isinstance(command, click.Group)
            command = command.commands[part]
        assert any("--json" in option.opts for option in command.params) == (name not in WITHOUT_JSON)


@pytest.mark.parametrize("name", EACH)
def test_what_ends_well(run: Run, name: str) -> None:
    status, found, said = run(*WELL[name])
    assert status == 0, said
    assert not isinstance(found.get("error"), dict)
    assert found.get("status", 0) == 0


@pytest.mark.parametrize("name", EACH)
def test_a_bad_option(run: Run, name: str) -> None:
    for at in (None, len(name.split()) if name.startswith("ledger") else 1):
        assert code(run(*WELL[name], "--bogus", at=at)) == (2, "bad-input")


@pytest.mark.parametrize("name", sorted({*WITHOUT_JSON, "nothing-such", "ledger"}))
def test_no_such_command_or_option(run: Run, name: str) -> None:
    assert code(run(name)) == (2, "bad-input")


def test_before_the_command(run: Run) -> None:
    assert code(run("verify", "gamma.json", at=0)) == (2, "bad-input")


@pytest.mark.parametrize("name", sorted(WELL.keys() - {"demo", "key", "table"}))
def test_a_bad_file_or_value(run: Run, name: str) -> None:
    for path in ("gamma.json", "table.csv", "ledger.json", "old.json"):
        Path(path).write_text("{}", encoding="utf-8")
    changed = [{"0.1": "0", "1": "-1", "3:1": "3:x", "beta:2,2": "beta:0,2"}.get(word, word) for word in WELL[name]]
    assert code(run(*changed)) == (2, "bad-input")


@pytest.mark.parametrize(
    "arguments",
    [
        ["release", "gamma.json", "--votes", "votes.csv", "--out", "labels.csv", "--ledger", "spent.json"],
        ["ledger", "charge", "spent.json", "gamma.json"],
        [
            "ledger",
            "create",
            "new.json",
            "gamma.json",
            "--total-epsilon",
            "0.01",
            *BUDGET[2:],
            "--rule",
            "basic-filter",
        ],
        ["plan", "--group", "5:2", "--group", "3:auto", *VOTERS[4:], *BUDGET, "--aggregator-epsilon", "1"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_budget_that_is_spent(run: Run, arguments: list[str]) -> None:
    before = Path("spent.json").read_bytes()
    assert code(run(*arguments)) == (3, "budget-spent")
    assert Path("spent.json").read_bytes() == before
    assert not Path("labels.csv").exists()


@pytest.mark.parametrize(
    "arguments",
    [["wrong.json"], ["wrong.json", "--independent"], ["wrong.csv"]],
    ids=" ".join,
)
def test_verify_says_no_in_its_usual_object(run: Run, arguments: list[str]) -> None:
    status, found, _ = run("verify", *arguments)
    assert (status, found["status"], found["code"], found["holds"]) == (1, 1, "not-held", False)
    assert found["wrong"]
    if arguments == ["wrong.json"]:
        assert found["certificate"]["holds"] is False
        assert found["certificate"]["needed_delta"] > found["problem"]["delta"]


def test_verify_says_yes_in_the_same_form(run: Run) -> None:
    yes, no = run("verify", "gamma.json")[1], run("verify", "wrong.json")[1]
    assert yes.keys() == no.keys()
    assert (yes["status"], yes["code"], yes["holds"], yes["wrong"]) == (0, "done", True, [])


def test_a_profile_that_is_not_kept(run: Run) -> None:
    design = darrm.solve(K=3, m=2, epsilon=0.5)
    object.__setattr__(design, "profile", ((0.1, 1e-9),))
    design.save("profile.json")
    status, found, _ = run("verify", "profile.json")
    assert (status, found["holds"]) == (1, False)
    assert "0.1" in found["wrong"][0]


@pytest.mark.parametrize("name", ["release", "profile", "budget", "report", "export", "ledger create", "ledger charge"])
def test_a_guarantee_that_does_not_hold(run: Run, name: str) -> None:
    arguments = ["wrong.json" if word == "gamma.json" else word for word in WELL[name]]
    assert code(run(*arguments)) == (1, "not-held")


@pytest.mark.parametrize(
    "arguments",
    [
        ["solve", "--K", "11", "--m", "3", "--epsilon", "0.1", "--time-limit", "1e-9"],
        ["plan", *VOTERS[:-1], "90", *BUDGET, "--time-limit", "1e-9"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_time_limit(run: Run, arguments: list[str]) -> None:
    assert code(run(*arguments)) == (4, "no-design")


def test_a_table_with_a_row_that_failed(run: Run) -> None:
    status, found, _ = run(
        "table", "--K", "3,5", "--m", "1", "--epsilon", "1", "--prior", "votes:1,2,3,4", "--out", "t.csv"
    )
    assert (status, found["status"], found["code"], found["failures"]) == (4, 4, "no-design", 1)


@pytest.mark.parametrize("name", ["solve", "release", "table", "report", "export", "audit", "ledger create"])
def test_an_output_that_cannot_be_written(run: Run, name: str) -> None:
    outputs = ("new.json", "new.csv", "new.html", "labels.csv")
    arguments = [f"missing/{word}" if word in outputs else word for word in WELL[name]]
    assert code(run(*arguments)) == (5, "not-written")


WORK = {
    "solve": "darrm.design.solve.solve",
    "solve --group": "darrm.design.solve.solve",
    "verify table": "darrm.tables.verify_table",
    "compare": "darrm.planning.comparison.compare",
    "compare at one total": "darrm.planning.planner.plan",
    "table": "darrm.tables.solve_grid",
    "profile": "darrm.accounting.profile.profile_bounds",
    "budget": "darrm.accounting.composition.compose",
    "budget of a total": "darrm.accounting.search.max_queries",
    "plan": "darrm.planning.planner.plan",
    "ledger create": "darrm.accounting.ledger.Ledger.create",
    "ledger charge": "darrm.accounting.ledger.Ledger.charge",
    "release-shared": "darrm.interop.shared_parties.Parties.of",
    "ledger show": "darrm.accounting.ledger.Ledger.status",
    "ledger import": "darrm.accounting.old_ledgers.import_ledger",
    "ledger export": "darrm.storage.frames.write_csv",
    "report": "darrm.show.report.write",
    "export": "darrm.storage.frames.write",
    "constraints": "darrm.constraints.rows.blocks",
    "audit": "darrm.labels.audit",
    "demo": "darrm.planning.planner.plan",
    "verify": "darrm.design.loading.load",
    "verify --independent": "darrm.independent.check",
    "release": "darrm.votes.files.blocks_of",
    "key": "darrm.mechanisms.label_key.LabelKey.create",
}


@pytest.mark.parametrize(
    ("error", "ending", "said"),
    [
        (ZeroDivisionError("division\nby zero"), endings.DEFECT, "ZeroDivisionError: division by zero"),
        (EOFError(), endings.DEFECT, "EOFError"),
        (KeyboardInterrupt(), endings.INTERRUPTED, "Interrupted"),
        (MemoryError(), endings.NO_MEMORY, "fewer voters, classes, labels or rows"),
        (OSError(24, "Too many open files", "x.so"), endings.SYSTEM, "Too many open files: x.so"),
        (darrm.errors.MissingExtraError("needs it"), endings.NO_LIBRARY, "needs it"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
@pytest.mark.parametrize("name", WELL)
def test_what_goes_wrong_on_the_way(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException, ending: endings.Ending, said: str
) -> None:
    def fails(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(WORK[name], fails)
    ended = run(*WELL[name])
    assert code(ended) == (ending.status, ending.code)
    assert said in " ".join(ended[2].split())
    assert "max_affected" not in ended[2]  # which may be 1


@pytest.mark.parametrize("name", ["solve", "solve --group", "plan", "report", "export", "audit", "compare"])
def test_a_folder_that_is_missing_is_told_before_the_work(run: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def works(*arguments: object, **options: object) -> None:
        pytest.fail("the work begins")

    monkeypatch.setattr(WORK[name], works)
    plot = ["--plot", "missing/new.png"] if name == "compare" else []
    arguments = [f"missing/{word}" if word.startswith("new.") else word for word in WELL[name]]
    before = sorted(os.listdir())
    assert code(run(*arguments, *plot)) == (5, "not-written")
    assert sorted(os.listdir()) == before


def test_a_defect_says_what_to_do_and_where_it_is(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("darrm.design.loading.load", lambda path: 1 / 0)
    assert main(["verify", "gamma.json"]) == 70
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("darrm: This is a defect of darrm, not of your input: ZeroDivisionError")
    assert "test_endings.py, line " in line
    assert f"{endings.TRACEBACK}=1" in line
    monkeypatch.setenv(endings.TRACEBACK, "1")
    assert main(["verify", "gamma.json"]) == 70
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Traceback (most recent call last):")
    assert captured.err.splitlines()[-1] == line


def test_an_error_after_the_object_prints_no_second_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*paths: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("darrm.cli.common.wrote", fails)
    status, found, _ = run("plan", *VOTERS, *BUDGET, "--no-comparison")
    assert status == 70
    assert "design" in found


def test_the_word_as_a_value_asks_for_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "charge", "spent.json", "gamma.json", "--note", "--json"]) == 3
    assert main(["verify", "--", "--json"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.thorough
@pytest.mark.parametrize("out", ["/dev/stdout", "link", "file"])
@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout: run on Linux or macOS")
def test_json_and_labels_do_not_share_standard_output(folder: Path, out: str) -> None:
    Path("link").symlink_to("/dev/stdout")
    arguments = [sys.executable, COMMAND, "release", "gamma.json", "--votes", "votes.csv", f"--out={out}", "--json"]
    with Path("file").open("w+b") as file:
        ended = subprocess.run(arguments, stdout=file, stderr=subprocess.PIPE, timeout=60)
        file.seek(0)
        found = one_object(file.read().decode())
    assert (ended.returncode, found["error"]["code"]) == (2, "bad-input")


# In processes of their own: what the parts of a process in C print, pipes and signals.

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and pipes: run on Linux or macOS")


def in_process(*arguments: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, COMMAND, *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, timeout=120, **({"stdout": subprocess.PIPE} | more))


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["full-list-cvxpy", *thorough("cutting-planes", "full-list")])
def test_no_engine_prints_beside_the_object(folder: Path, engine: str) -> None:
    ended = in_process("solve", *PROBLEM, "--engine", engine, "--json")
    assert ended.returncode == 0
    assert one_object(ended.stdout.decode())["certificate"]["holds"] is True


@pytest.mark.thorough
@posix
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["verify", "wrong.csv"], 1),
        *thorough(
            (["verify", "gamma.json", "--json"], 0),
            (["verify", "wrong.json", "--json"], 1),
            (["verify", "wrong.csv", "--json"], 1),
            (["solve", *PROBLEM, "--json"], 0),
            (["solve", "--K", "x", "--json"], 2),
        ),
    ],
)
def test_a_reader_that_leaves_changes_no_answer(folder: Path, arguments: list[str], status: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = in_process(*arguments, stdout=writer)
    finally:
        os.close(writer)
    assert ended.returncode == status
    assert b"Traceback" not in ended.stderr


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk without room: run on Linux")
@pytest.mark.parametrize("unbuffered", ["", *thorough("1")])
def test_a_full_disk_behind_the_object(folder: Path, unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        ended = in_process(
            "verify", "gamma.json", "--json", stdout=full, env={**os.environ, "PYTHONUNBUFFERED": unbuffered}
        )
    assert ended.returncode == 5
    [line] = ended.stderr.decode().splitlines()
    assert "No space left" in line


@pytest.mark.thorough
@posix
def test_no_standard_output_for_the_object(folder: Path) -> None:
    line = f'"{sys.executable}" "{COMMAND}" verify gamma.json --json >&-'
    ended = subprocess.run(["/bin/sh", "-c", line], capture_output=True, timeout=60)
    assert ended.returncode == 5
    assert b"Standard output is closed" in ended.stderr


@pytest.mark.thorough
@posix
@pytest.mark.parametrize("stream", ["2>&-", *thorough("2>/dev/full")])
def test_no_standard_error(folder: Path, stream: str) -> None:
    for arguments, status in ((["gamma.json"], 0), (["missing.json"], 2)):
        line = f'"{sys.executable}" "{COMMAND}" verify {arguments[0]} --json {stream}'
        ended = subprocess.run(["/bin/sh", "-c", line], capture_output=True, timeout=60)
        assert ended.returncode == status
        one_object(ended.stdout.decode())


@pytest.mark.thorough
@posix
def test_an_interrupt_of_a_search_is_one_object(folder: Path) -> None:
    """While the search is in C: the process ends there and then."""
    program = [
        sys.executable,
        str(PROGRAMS / "interrupted_search.py"),
        "solve",
        *PROBLEM,
        "--out",
        "new.json",
        "--json",
    ]
    ended = subprocess.run(program, capture_output=True, timeout=60)
    assert ended.returncode == 130
    error = one_object(ended.stdout.decode())["error"]
    assert (error["status"], error["code"]) == (130, "interrupted")
    assert ended.stderr.decode() == f"darrm: {error['message']}\n"
    assert not Path("new.json").exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

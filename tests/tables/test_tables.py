"""Tables: what is in the grid is in the table, once, verified, whatever interrupts the work."""

import csv
import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripts import COMMAND, load

import darrm
from darrm import tables
from darrm._validation import check_jobs
from darrm.cli import main
from darrm.cli.table import values
from darrm.errors import OutputError
from darrm.tables import files, parallel, problems, solving
from darrm.tables.journal import journal_of, line_of

GRID: dict[str, Any] = {"K": [3, 5, 8], "m": [1, 2, 4], "epsilon": [0.1, 0.5], "Delta": [0.0, 1e-4]}
ARGUMENTS = ["table", "--K", "3,5,8", "--m", "1,2,4", "--epsilon", "0.1,0.5", "--voter-delta", "0,1e-4"]


def content(table: tables.Table) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in ("seconds", "made_with")} for row in table]


@pytest.fixture(scope="module")
def whole() -> tables.Table:
    return tables.solve_grid(**GRID)


@pytest.mark.thorough
def test_every_combination_is_there_once(whole: tables.Table) -> None:
    assert len(whole) == 32
    assert whole.left_out == 4  # m = 4 of K = 3
    keys = [(row["K"], row["m"], row["epsilon"], row["Delta"]) for row in whole]
    assert keys == [
        (K, m, e, D) for K in (3, 5, 8) for m in (1, 2, 4) for e in (0.1, 0.5) for D in (0.0, 1e-4) if m <= K
    ]
    twice = tables.grid([3, 3], [1, 1.0], 0.1)
    assert len(twice.tasks) == 1


def test_rows_are_what_solve_gives(whole: tables.Table) -> None:
    for row in whole.rows[::5]:
        design = darrm.solve(K=row["K"], m=row["m"], epsilon=row["epsilon"], Delta=row["Delta"])
        assert row["gamma"] == pytest.approx(design.gamma, abs=1e-9)
        assert row["error"] == pytest.approx(design.error, abs=1e-9)
        assert row["needed_delta"] <= row["delta"]
        assert row["gap"] <= 1e-9
        assert row["failure"] is None
        assert row["tight_epsilon"] <= design.problem.release_epsilon * (1 + 1e-15)


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_files_hold_every_digit(whole: tables.Table, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t{ending}"
    tables.files.write(path, whole.rows)
    assert list(tables.read(path)) == list(whole)
    assert tables.verify_table(path, jobs=1) == tables.Check(32, 0, ())
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    if ending == ".parquet":
        with pytest.raises(darrm.InputError, match="not a whole table"):
            tables.read(path)
    else:
        cut = data[: data.rindex(b"\n", 0, len(data) // 2) - 5]
        path.write_bytes(cut)
        with pytest.raises(darrm.InputError):
            tables.read(path)


@pytest.mark.thorough
def test_two_processes_give_the_same(whole: tables.Table) -> None:
    assert content(tables.solve_grid(**GRID, jobs=2)) == content(whole)


def test_lookup_is_exact_and_names_the_nearest(whole: tables.Table) -> None:
    design = whole.lookup(5, 2, 0.1, 1e-4)
    assert design.problem == darrm.MajorityProblem(K=5, m=2, epsilon=0.1, Delta=1e-4)
    assert design.certificate.holds
    with pytest.raises(darrm.InputError, match=r"no design for exactly K=5 m=2.5.*Nearest: K=5 m=2"):
        whole.lookup(5, 2.5, 0.1)
    with pytest.raises(darrm.InputError, match="no design"):
        whole.lookup(5, 2, 0.1, shape="monotone")
    with pytest.raises(darrm.InputError, match="no design"):
        whole.lookup(5, 2, 0.1, prior="common")


@pytest.mark.thorough
def test_an_edited_table_is_found_out(whole: tables.Table, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    changes = {
        "gamma": lambda row: {**row, "gamma": [1.0] * len(row["gamma"])},
        "needed delta": lambda row: {**row, "needed_delta": row["needed_delta"] + 0.1},
        "epsilon": lambda row: {**row, "epsilon": row["epsilon"] / 2},
        "delta": lambda row: {**row, "delta": 0.9},
        "K": lambda row: {**row, "K": row["K"] + 2},
        "error": lambda row: {**row, "error": 0.0},
        "short": lambda row: {**row, "gamma": row["gamma"][:-1]},
    }
    for change in changes.values():
        rows = list(whole.rows)
        rows[0] = change(rows[0])
        tables.files.write(path, rows)
        check = tables.verify_table(path)
        assert not check.holds
        assert check.wrong[0].startswith("row 1 ")
        assert len(check.wrong) == 1


ODD = [
    {"gamma": [None] * 4},
    {"gamma": []},
    {"gamma": "1 1 1 1"},
    {"prior": None},
    {"prior": 3},
    {"K": [1]},
    {"K": 3.5},
    {"K": -3},
    {"delta": None},
    {"max_affected": None},
    {"gap": None},
    {"gap": "x"},
    {"epsilon": -0.1},
    {"failure": "none"},
    {"failure": False},
    {"failure": ""},
    {"made_with": {}},
    {"needed_delta": float("nan")},
]


@pytest.mark.parametrize("change", ODD, ids=str)
def test_rows_that_are_none(
    whole: tables.Table, tmp_path: Path, change: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.jsonl"
    rows = [{**whole.rows[0], **change}, *whole.rows[1:]]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    assert main(["verify", str(path)]) in (1, 2)
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err + printed.out
    with pytest.raises(darrm.InputError):
        tables.read(path).lookup(3, 1, 0.1)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "hello"),
        ("t.csv", ""),
        ("t.csv", "K,m\n" + "1" * 200_000),
        ("t.jsonl", ""),
        ("t.jsonl", "3\n"),
        ("t.jsonl", "[" * 100_000),
        ("t.jsonl", '{"K": 1e999}'),
        ("t.jsonl", '{"gap": ' + "9" * 400 + "}"),
        ("t.parquet", "PAR1"),
    ],
    ids=range(9),
)
def test_files_that_hold_no_table(tmp_path: Path, name: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert main(["verify", str(tmp_path / name)]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    (tmp_path / "folder.parquet").mkdir()
    assert main(["verify", str(tmp_path / "folder.parquet")]) == 2


@pytest.mark.thorough
def test_what_is_found_is_verified_too(whole: tables.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "t.jsonl"
    forged = [{**whole.rows[0], "gamma": [1.0] * 4}, *whole.rows[1:]]
    tables.files.write(out, forged)
    with pytest.raises(darrm.InputError, match="changed after it was written: row 1"):
        tables.solve_grid(**GRID, out=out)
    out.unlink()
    # The same in a journal, with a checksum of its own.
    todo = tables.grid(**GRID)
    with monkeypatch.context() as patch:
        patch.setattr(solving, "_solve_chain", lambda tasks: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            tables.solve_grid(**GRID, out=out)
    journal = journal_of(out)
    chain = next(chain for chain in todo.chains() if 0 in chain)
    with journal.open("ab") as file:
        file.write(line_of({i: forged[i] for i in chain}))
    with pytest.raises(darrm.InputError, match="changed after it was written"):
        tables.solve_grid(**GRID, out=out)
    # A part of a chain, or rows of other problems, are solved again.
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
    with journal.open("ab") as file:
        file.write(line_of({chain[0]: whole.rows[chain[0]]}))
        file.write(line_of({chain[0]: whole.rows[-1]}))
        file.write(line_of({10**6: whole.rows[-1]}))
    assert content(tables.solve_grid(**GRID, out=out)) == content(whole)


def test_a_file_that_is_no_journal_stays(tmp_path: Path) -> None:
    out = tmp_path / "t.csv"
    for text in ("my notes", "my notes\nmore\n"):
        journal_of(out).write_text(text, encoding="utf-8")
        with pytest.raises(darrm.InputError, match="of another grid"):
            tables.solve_grid([3], 1, 0.1, out=out)
        assert journal_of(out).read_text(encoding="utf-8") == text


def test_an_error_is_no_difference_with_a_sign(tmp_path: Path) -> None:
    """Earlier versions wrote the sum of Definition 2.4 without its absolute value; their tables can still be read."""
    table = tables.solve_grid(K=3, m=1, epsilon=0.5, prior="fixed:0.1,0.2,0.3")
    (row,) = table.rows
    assert row["error"] == pytest.approx(float(darrm.expected_error(row["gamma"], [0.1, 0.2, 0.3])), abs=1e-15)
    assert row["error"] > 0.01
    files.write(tmp_path / "t.csv", [{**row, "error": -row["error"]}])
    assert tables.verify_table(tmp_path / "t.csv").wrong == ()


def test_a_row_twice_is_refused(whole: tables.Table, tmp_path: Path) -> None:
    tables.files.write(tmp_path / "t.csv", [*whole.rows, whole.rows[3]])
    with pytest.raises(darrm.InputError, match="twice"):
        tables.read(tmp_path / "t.csv")


def test_a_column_twice_is_refused(whole: tables.Table, tmp_path: Path) -> None:
    """Programs differ in which of the two they read."""
    path = tmp_path / "t.csv"
    tables.files.write(path, whole.rows)
    rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["epsilon", *rows[0]], *(["5.0", *row] for row in rows[1:])])
    with pytest.raises(darrm.InputError, match="occurs twice in the header"):
        tables.read(path)


@pytest.mark.parametrize("number", ["0_0.1", "\u0660.\u0661", " 0.1", "0x1p-3", "nan"])
def test_numbers_that_other_programs_read_otherwise_are_refused(
    whole: tables.Table, tmp_path: Path, number: str
) -> None:
    path = tmp_path / "t.csv"
    tables.files.write(path, whole.rows)
    text = path.read_text(encoding="utf-8")
    assert ",0.1," in text
    path.write_text(text.replace(",0.1,", f",{number},"), encoding="utf-8")
    with pytest.raises(darrm.InputError, match="epsilon is not a number"):
        tables.read(path)


def test_what_cannot_be_solved_is_a_row_with_its_reason(tmp_path: Path) -> None:
    out = tmp_path / "t.csv"
    table = tables.solve_grid([3, 5], 1, 0.1, prior=["votes:1,2,3,4", "uniform"], out=out)
    (failed,) = table.failures
    assert failed["K"] == 5
    assert "K + 1" in failed["failure"]
    assert failed["gamma"] is None
    assert tables.verify_table(out) == tables.Check(4, 1, ())
    with pytest.raises(darrm.InputError, match="There is no design"):
        tables.lookup(out, 5, 1, 0.1, prior="votes:1,2,3,4")
    command = ["table", *["--K", "3,5", "--m", "1", "--epsilon", ".1", "--prior", "votes:1,2,3,4", "--out"], str(out)]
    assert main(command) == 2  # another grid stands there
    out.unlink()
    assert (
        main(["table", "--K", "3,5", "--m", "1", "--epsilon", ".1", "--prior", "votes:1,2,3,4", "--out", str(out)]) == 4
    )


def test_only_large_problems_wait_for_their_neighbours() -> None:
    """A small problem takes about as long as to hand it to a process, so a unit is full; a large one begins with the
    binding constraints of the last, so its unit has one epsilon and rising guarantees."""
    small = tables.grid(K=5, m=[1, 2], epsilon=[i / 100 for i in range(1, 33)])
    assert sorted(map(len, small.chains())) == [32, 32]
    large = tables.grid(K=65, m=[3, 1, 2], epsilon=[0.1, 0.2])
    units = [[(large.tasks[i].problem.epsilon, large.tasks[i].problem.m) for i in unit] for unit in large.chains()]
    assert sorted(units) == [[(0.1, 1), (0.1, 2), (0.1, 3)], [(0.2, 1), (0.2, 2), (0.2, 3)]]


@pytest.mark.thorough
def test_it_goes_on_where_it_stopped(whole: tables.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "t.parquet"
    true, calls = solving._solve_chain, []

    def stops(tasks: Any) -> Any:
        if len(calls) == 4:
            raise KeyboardInterrupt
        calls.append(tasks)
        return true(tasks)

    monkeypatch.setattr(solving, "_solve_chain", stops)
    monkeypatch.setattr(problems, "_CHAIN", 3)
    with pytest.raises(KeyboardInterrupt):
        tables.solve_grid(**GRID, out=out)
    assert not out.exists()
    journal = journal_of(out)
    done = sum(len(tasks) for tasks in calls)
    monkeypatch.setattr(solving, "_solve_chain", true)
    # A line that a crash cut off is solved again.
    journal.write_bytes(journal.read_bytes()[:-7])
    seen: list[tuple[int, int, int]] = []
    table = tables.solve_grid(**GRID, out=out, progress=lambda *now: seen.append(now))
    assert table.found == done - len(calls[-1])
    assert seen[0] == (table.found, 32, 0)
    assert content(table) == content(whole)
    assert not journal.exists()
    again = tables.solve_grid(**GRID, out=out)
    assert again.found == 32
    assert list(again) == list(table)


def test_another_grid_does_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "t.csv"
    journal = journal_of(out)

    def stops(tasks: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(solving, "_solve_chain", stops)
        with pytest.raises(KeyboardInterrupt):
            tables.solve_grid(**GRID, out=out)
    assert journal.exists()
    with pytest.raises(darrm.InputError, match="of another grid"):
        tables.solve_grid([3], 1, 0.1, out=out)
    journal.unlink()
    tables.solve_grid([3], 1, 0.1, out=out)
    with pytest.raises(darrm.InputError, match="holds another grid"):
        tables.solve_grid([3], 1, 0.2, out=out)


@pytest.mark.thorough
def test_a_full_disk_is_one_line_and_keeps_what_was_done(
    whole: tables.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "t.csv"
    true, calls = os.fsync, []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        true(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"No space left on device\. Designs finished before are kept"):
        tables.solve_grid(**GRID, out=out)
    monkeypatch.setattr(os, "fsync", true)
    table = tables.solve_grid(**GRID, out=out)
    assert table.found > 0
    assert content(table) == content(whole)


def test_two_runs_of_one_file(tmp_path: Path) -> None:
    from darrm.storage.locks import locked

    with locked(tmp_path / "t.csv"), pytest.raises(OutputError, match="written by another process"):
        tables.solve_grid([3], 1, 0.1, out=tmp_path / "t.csv")


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals: run on Linux or macOS")
def test_kills_and_an_interrupt_change_nothing(tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl"
    command = [sys.executable, COMMAND, *ARGUMENTS, "--out", str(out), "--jobs", "2"]
    rng = random.Random(3)
    for _ in range(4):
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        time.sleep(rng.uniform(0.7, 2.0))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if out.exists():
            break
    journal = journal_of(out)
    before = journal.read_bytes() if journal.exists() else b""
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert ended.returncode == 0, ended.stderr
    assert before.count(b"\n") <= 1 or "came from an earlier run" in ended.stdout
    alone = tables.solve_grid(**GRID)
    assert content(tables.read(out)) == content(alone)


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals: run on Linux or macOS")
def test_an_interrupt_ends_at_once_with_what_is_done(tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl"
    arguments = [
        "table",
        "--K",
        "5:61:2",
        "--m",
        "1:20",
        "--epsilon",
        "0.1",
        "--voter-delta",
        "1e-5",
        "--jobs",
        "2",
        "--out",
    ]
    command = [sys.executable, COMMAND, *arguments, str(out)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    journal = journal_of(out)
    until = time.time() + 60
    while time.time() < until and (not journal.exists() or journal.read_bytes().count(b"\n") < 3):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    start = time.time()
    _, error = process.communicate(timeout=30)
    seconds = time.time() - start
    print(f"ended {seconds:.2f} s after the interrupt")
    assert seconds < 20
    assert process.returncode == 130
    assert error.decode().strip().splitlines()[-1].startswith("darrm: Interrupted.")
    assert journal.read_bytes().count(b"\n") >= 3
    assert not out.exists()


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals: run on Linux or macOS")
def test_an_interrupt_ends_verifying_at_once(tmp_path: Path) -> None:
    # Half a minute of work or more for two processes, of few rows that are quickly made.
    row, path = tables.solve_grid([5], 1, 0.1, 1e-5).rows[0], tmp_path / "t.jsonl"
    rows = [{**row, "K": 2001, "m": float(m), "max_affected": 2001, "gamma": [0.001] * 2002} for m in range(1, 129)]
    tables.files.write(path, rows)
    command = [sys.executable, COMMAND, "verify", str(path), "--jobs", "2"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    time.sleep(4)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    start = time.time()
    out, error = process.communicate(timeout=60)
    assert time.time() - start < 20
    assert (process.returncode, out) == (130, b"")
    assert error.decode().strip().startswith("darrm: Interrupted. ")


@pytest.mark.parametrize("jobs", [0, -2, 1025, True, 1.5, "2", None, float("nan")])
def test_jobs_that_are_none(whole: tables.Table, jobs: Any) -> None:
    for refuses in (
        lambda: tables.solve_grid([3], 1, 0.1, jobs=jobs),
        lambda: tables.verify_table(whole, jobs=jobs),
        lambda: darrm.labels.audit({"a": darrm.labels.LabelProportions()}, [0.5, 0.5], bag_size=2, jobs=jobs),
    ):
        with pytest.raises(darrm.InputError, match="jobs must be an integer in"):
            refuses()
    assert check_jobs(np.int64(-1)) == -1


@pytest.mark.thorough
def test_a_cluster_with_a_worker_killed(whole: tables.Table) -> None:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with distributed.LocalCluster(**options, silence_logs=50) as cluster:
        pids = [worker.pid for worker in cluster.workers.values()]

        def kill(done: int, total: int, failures: int) -> None:
            if done >= 4 and pids:
                os.kill(pids.pop(), signal.SIGKILL)
                pids.clear()

        address = cluster.scheduler_address
        table = tables.solve_grid(**GRID, backend="dask", scheduler=address, progress=kill)
        assert not pids
    assert content(table) == content(whole)


@pytest.mark.thorough
def test_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_PATIENCE", 0.5)
    with pytest.raises(darrm.InputError, match="does not answer"):
        tables.solve_grid([3, 5], 1, 0.1, backend="dask", scheduler="tcp://127.0.0.1:9")


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (([3], [5], [0.1]), {}, "empty: 1 combinations"),
        (([3], [], [0.1]), {}, "m has no values"),
        (([3], [1], [0.0]), {}, "epsilon"),
        (([3], [1], ["x"]), {}, "epsilon"),
        (([3], [1], [0.1]), {"jobs": 0}, "jobs"),
        (([3], [1], [0.1]), {"backend": "ray"}, "backend"),
        (([3], [1], [0.1]), {"backend": "dask"}, "needs a scheduler"),
        (([3], [1], [0.1]), {"scheduler": "tcp://x:1"}, "needs a scheduler"),
        (([3], [1], [0.1]), {"shape": "round"}, "shape"),
        (([3], [1], [0.1]), {"prior": "x"}, "prior"),
        (([3], [1], [0.1]), {"objective": "x"}, "objective"),
        (([3], [1], [0.1]), {"out": "t.txt"}, "must end in"),
        (([3], [1], [np.nan]), {}, "epsilon"),
        (([-3], [1], [0.1]), {}, "K must be an integer"),
        ((b"3", [1], [0.1]), {}, "K must be a"),
        (([3], [1], [0.1]), {"jobs": 10**9}, "jobs"),
        ((range(1, 2000), range(1, 1000), [0.1]), {}, "1,000,000 combinations at most"),
        ((tables.grid(3, 1, 0.1),), {"Delta": 0.1}, "a Grid alone"),
    ],
)
def test_grids_that_are_none(arguments: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(darrm.InputError, match=words):
        tables.solve_grid(*arguments, **options)


def test_problems_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(
        'K,m,epsilon,Delta,prior,shape\n3,1,0.1,,,\n5,2.5,0.2,1e-5,"common:1,2",monotone\n', encoding="utf-8"
    )
    found = tables.from_csv(path)
    assert [task.problem.K for task in found.tasks] == [3, 5]
    assert found.tasks[1].prior == "common:1.0,2.0"
    assert found.tasks[1].shape == "monotone"
    assert len(tables.solve_grid(found)) == 2
    for text, words in (
        ("K,m\n3,1\n", "header"),
        ("K,m,epsilon,x\n3,1,1,1\n", "header"),
        ("K,m,epsilon\n", "no problems"),
        ("K,m,epsilon\n3,1,0.1\n3,7,0.1\n", "line 3: m must be"),
        ("K,m,epsilon\n3,1\n", "line 2"),
        ("K,m,epsilon\n3,one,0.1\n", "line 2: m must be a number"),
        ("K,m,epsilon\n3,,0.1\n", "line 2: m is missing"),
        ("", "header"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(darrm.InputError, match=words):
            tables.from_csv(path)
    with pytest.raises(darrm.InputError, match="could not be read"):
        tables.from_csv(tmp_path / "none.csv")


def test_ranges() -> None:
    assert values("K", "11:17:2,30") == [11, 13, 15, 17, 30]
    assert values("epsilon", "0.1:0.3:0.1") == [0.1, 0.2, 0.3]
    assert values("m", "2:4") == [2, 3, 4]
    for text in ("", "a", "5:1", "1:5:0", "1:2:3:4", "nan", "1:inf", "0:1:1e-9", "1e9999999", "1e5000", "1e-5000"):
        with pytest.raises(darrm.InputError, match="--m must be numbers"):
            values("m", text)


@pytest.mark.thorough
def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "t.parquet")
    picture = tmp_path / "t.svg"
    assert main([*ARGUMENTS, "--out", out, "--plot", str(picture)]) == 0
    assert capsys.readouterr().out.startswith(f"32 designs in {out}, each verified;")
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    assert main([*ARGUMENTS, "--out", out, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["designs"], found["found"], found["left_out"], found["failures"]) == (32, 32, 4, 0)
    assert main(["verify", out]) == 0
    assert capsys.readouterr().out.strip() == "32 of 32 rows verified."
    assert main(["verify", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        **{"rows": 32, "failures": 0, "wrong": []},
        **{"holds": True, "status": 0, "code": "done"},
    }
    rows = list(tables.read(out))
    rows[0] = {**rows[0], "gamma": [1.0] * 4}
    tables.files.write(out, rows)
    assert main(["verify", out]) == 1
    assert "31 of 32 rows verified" in capsys.readouterr().out
    one = ["table", "--K", "3", "--m", "1", "--epsilon", "1"]
    for arguments, words in (
        (["table", "--K", "3", "--m", "1", "--out", out], "--epsilon is missing"),
        (
            ["table", "--K", "3", "--m", "1", "--epsilon", "1", "--out", str(tmp_path / "no" / "t.csv")],
            "could not be written",
        ),
        ([*one, "--out", "t.csv", "--plot", "t.doc"], "must end in"),
        (["table", "--problems", "x.csv", "--K", "3", "--out", "t.csv"], "--K would be ignored"),
        (["table", "--problems", "x.csv", "--prior", "common", "--out", "t.csv"], "--prior would be ignored"),
        (["verify", str(tmp_path / "none.csv")], "could not be read"),
    ):
        assert main(arguments) == (5 if words == "could not be written" else 2)
        error = capsys.readouterr().err
        assert words in error
        assert len(error.strip().splitlines()) == 1


@pytest.mark.thorough
def test_a_part_of_the_ready_table() -> None:
    ready_table = load("ready_table")
    tasks = ready_table.ready().tasks
    assert len(tasks) == len(set(tasks))
    assert {task.problem.K for task in tasks} == set(range(2, 52))
    table = tables.solve_grid(tables.Grid(tasks[:: len(tasks) // 12]))
    assert not table.failures
    assert tables.verify_table(table).holds


def test_cells_of_csv_are_json_lists_and_older_ones_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "t.csv"
    made = tables.solve_grid([3], [1, 2], 0.1, out=out)
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [json.loads(row["gamma"]) for row in rows] == [row["gamma"] for row in made.rows]
    text = out.read_text(encoding="utf-8")
    for row in rows:
        text = text.replace(f'"{row["gamma"]}"', row["gamma"].strip("[]").replace(",", ""))
    out.write_text(text, encoding="utf-8")
    with pytest.raises(darrm.InputError, match=r"a cell of gamma must be a JSON list .* earlier versions put spaces"):
        tables.read(out)
    whole = text.replace(rows[0]["gamma"].strip("[]").replace(",", ""), '"[1, 0, 0, 1]"', 1)
    out.write_text(whole.splitlines()[0] + "\n" + whole.splitlines()[1] + "\n", encoding="utf-8")
    assert tables.read(out).rows[0]["gamma"] == [1.0, 0.0, 0.0, 1.0]

"""Faults of what darrm stands on: solvers, workers, disks, clocks, homes, extras, locales, other versions' files."""

from __future__ import annotations

import errno
import json
import locale
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import ledgers
import numpy as np
import pytest
from cases import slow, thorough
from scripts import COMMAND, PROGRAMS

import darrm
from darrm import tables, votes
from darrm.accounting import Ledger
from darrm.cli import main
from darrm.cli.long_run import counted
from darrm.labels.audit_files import read_eta
from darrm.storage import sealed_json
from darrm.tables import parallel
from darrm.tables.journal import journal_of
from darrm_solvers import HighsModel

PROBLEM = ["--K", "3", "--m", "2", "--epsilon", "0.1"]
TABLE = ["table", "--K", "3,5", "--m", "1,2", "--epsilon", "0.1", "--out"]
BUDGET = ["--total-epsilon", "9", "--total-delta", "0", "--voters", "fresh"]
MIXED = ["--total-epsilon", "9", "--total-delta", "1e-6", "--voters", "fresh", "--rule", "in-advance"]
GROUPS = ["--group", "2:1", "--group", "1:0.3", "--total-epsilon", "1.2", "--accuracy", "0.8,0.7"]
CLASSES = ["--group", "2:1", "--total-epsilon", "1.2", "--accuracy", "0.7", "--classes", "3", "--none", "0.3"]
PLAN = ["plan", "--K", "3", "--epsilon", "1", "--base-accuracy", "0.85", "--max-affected", "1", "--queries", "5"]
PLAN += ["--total-epsilon", "3", "--total-delta", "1e-6", "--voters", "fresh"]
AUDIT = ["audit", "--mechanism", "rr", "--epsilon", "1", "--eta", "beta:2,2", "--n", "20"]
IN_LOCALE = str(PROGRAMS / "command_in_locale.py")  # darrm where 1.5 is written 1,5
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX limits and signals: run on Linux or macOS")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a design, votes and a ledger."""
    monkeypatch.chdir(tmp_path)
    design = darrm.solve(K=3, m=2, epsilon=0.1)
    design.save("gamma.json")
    Path("votes.csv").write_text("id,a,b,c\n" + "".join(f"{i},1,0,1\n" for i in range(400)), encoding="utf-8")
    Ledger.create("ledger.json", design, total_epsilon=1e6, total_delta=0, voters="fresh", rule="basic-filter")
    groups = [darrm.VoterGroup(2, 1.0), darrm.VoterGroup(1, 0.3)]
    truth = darrm.objectives.truth([0.8, 0.7])
    decision = darrm.solve(darrm.DecisionProblem(groups, 1.2), objective=truth)
    decision.save("decision.json")
    Path("groups.csv").write_text("id,a,b,c\n" + "".join(f"{i},1,0,1\n" for i in range(4)), encoding="utf-8")
    mixed = Ledger.create("mixed.json", total_epsilon=90, total_delta=1e-6, voters="fresh", rule="in-advance")
    mixed.charge(decision, 2)
    mixed.charge((0.5, 1e-9), adjacency="replace-one")
    return tmp_path


def one_line(text: str) -> str:
    assert len(text.splitlines()) == 1, text
    assert text.startswith("darrm: ")
    return text


def in_process(
    *arguments: str, program: str = COMMAND, without: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """A command, or another program, in an interpreter of its own, as if some libraries were not installed."""
    missing = [str(PROGRAMS / "without.py"), ",".join(without)] if without else []
    return subprocess.run(
        [sys.executable, *missing, program, *arguments],
        capture_output=True, text=True, timeout=120, env={**os.environ, **environment},
    )  # fmt: skip


# Solvers


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("call", ["run", "getSolution", "getModelStatus"])
def test_a_solver_that_throws_is_one_error(monkeypatch: pytest.MonkeyPatch, call: str, after: int) -> None:
    """`highspy` turns what is thrown in C++ into a RuntimeError."""
    import highspy

    true, calls = getattr(highspy.Highs, call), count()

    def throws(self: Any) -> Any:
        if next(calls) >= after:
            raise RuntimeError("bad alloc")
        return true(self)

    monkeypatch.setattr(highspy.Highs, call, throws)
    with pytest.raises(darrm.SolverError, match="HiGHS failed: bad alloc") as refusal:
        darrm.solve(K=11, m=3, epsilon=0.1)
    assert len(str(refusal.value).splitlines()) == 1


def test_a_solver_that_throws_while_refining_costs_digits_only(monkeypatch: pytest.MonkeyPatch) -> None:
    best, honest, refining = darrm.solve(K=11, m=3, epsilon=0.1), HighsModel.refine, []
    import highspy

    true = highspy.Highs.run

    def refine(self: HighsModel, solution: Any) -> Any:
        refining.append(True)
        try:
            return honest(self, solution)
        finally:
            refining.pop()

    def run(self: Any) -> Any:
        if refining:
            raise RuntimeError("bad alloc")
        return true(self)

    monkeypatch.setattr(HighsModel, "refine", refine)
    monkeypatch.setattr(highspy.Highs, "run", run)
    design = darrm.solve(K=11, m=3, epsilon=0.1)
    assert design.certificate.holds
    assert design.error - best.error <= design.gap + 1e-15
    assert design.gap <= 1e-6


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", ["col_value", "row_dual"])
def test_numbers_that_are_none_from_the_solver(monkeypatch: pytest.MonkeyPatch, which: str, value: float) -> None:
    """Of gamma: refused. Of the multipliers: they bound the optimum, so the gap says what it may be off."""
    import highspy

    best, true = darrm.solve(K=11, m=3, epsilon=0.1), highspy.Highs.getSolution

    class Spoilt:
        def __init__(self, answer: Any) -> None:
            self.col_value, self.row_dual = list(answer.col_value), list(answer.row_dual)
            values = getattr(self, which)
            values[:1] = [value] * len(values[:1])

    monkeypatch.setattr(highspy.Highs, "getSolution", lambda self: Spoilt(true(self)))
    if which == "col_value":
        with pytest.raises(darrm.SolverError, match="numerical"):
            darrm.solve(K=11, m=3, epsilon=0.1)
    else:
        design = darrm.solve(K=11, m=3, epsilon=0.1)
        assert design.certificate.holds
        assert design.error - best.error <= design.gap + 1e-12


@pytest.mark.thorough
def test_cvxpy_stopped_at_once_is_one_error() -> None:
    """And no warning, which its own status makes needless."""
    pytest.importorskip("cvxpy")
    with pytest.raises(darrm.SolverError, match="time limit"):
        darrm.solve(K=4, m=2, epsilon=50.0, Delta=0.0, engine="full-list-cvxpy", time_limit=1e-9)


# Workers


def dies_once(mark: str, value: int) -> int:
    if value == 5 and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return value * value


def dies(value: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return value


@pytest.mark.thorough
@posix
@pytest.mark.filterwarnings("ignore:A worker stopped")
def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    work = {i: (str(tmp_path / "mark"), i) for i in range(20)}
    done = list(parallel.in_parallel(dies_once, work, jobs=2))
    assert sorted(done) == [(i, i * i) for i in range(20)]
    assert (tmp_path / "mark").exists()


@posix
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:A worker stopped")
def test_workers_that_are_killed_again_and_again_are_one_error() -> None:
    with pytest.raises(darrm.OutputError, match="Worker processes were killed 3 times"):
        list(parallel.in_parallel(dies, {i: (i,) for i in range(4)}, jobs=2))


# Disks

WRITES = {
    "design": ["solve", *PROBLEM, "--out", "out.json"],
    "labels": ["release", "gamma.json", "--votes", "votes.csv", "--out", "out.csv", "--overwrite"],
    "labels, Parquet": ["release", "gamma.json", "--votes", "votes.csv", "--out", "out.parquet", "--overwrite"],
    "labels, ledger": [
        "release",
        "gamma.json",
        "--votes",
        "votes.csv",
        "--out",
        "out.csv",
        "--overwrite",
        "--ledger",
        "ledger.json",
    ],
    "table, CSV": [*TABLE, "new.csv"],
    "table, JSON lines": [*TABLE, "new.jsonl"],
    "table, Parquet": [*TABLE, "new.parquet"],
    "ledger": ["ledger", "create", "new.json", "gamma.json", *BUDGET],
    "report": ["report", "gamma.json", "--short", "--out", "out.html"],
    "PNG": ["solve", *PROBLEM, "--plot", "out.png"],
    "SVG": ["solve", *PROBLEM, "--plot", "out.svg"],
    "PDF": ["solve", *PROBLEM, "--plot", "out.pdf"],
    "audit": [*AUDIT, "--out", "out.csv"],
    "decision": ["solve", *GROUPS, "--out", "out.json"],
    "decision, absent": ["solve", *GROUPS, "--absent", "--out", "out.json"],
    "decision, classes": ["solve", *CLASSES, "--out", "out.json"],
    "plan": [*PLAN, "--out", "out.json"],
    "mixed ledger": ["ledger", "create", "new.json", *MIXED],
    "charge, pair": ["ledger", "charge", "mixed.json", "--epsilon", "0.5", "--adjacency", "replace-one"],
    "charge, Gaussian": ["ledger", "charge", "mixed.json", "--noise-multiplier", "3"],
    "labels, mixed ledger": [
        "release",
        "decision.json",
        "--votes",
        "groups.csv",
        "--out",
        "out.csv",
        "--overwrite",
        "--ledger",
        "mixed.json",
    ],
}


@contextmanager
def small_files(most: int) -> Iterator[None]:
    """No file may grow beyond ``most`` bytes, which Linux tells like a full disk: in the middle of a write."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def contents(folder: Path) -> dict[str, bytes]:
    """All that stands in a folder but locks, which stay, and journals, which hold what was done before."""
    return {
        path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix not in (".lock", ".journal")
    }


def old_files(arguments: list[str]) -> None:
    for name in arguments:
        if name.startswith("out."):
            Path(name).write_bytes(b"old")


@pytest.mark.first(1, 32)
@posix
@pytest.mark.parametrize("most", [0, 40, 200])
@pytest.mark.parametrize("what", WRITES)
def test_a_write_that_stops_leaves_what_was_there(
    folder: Path, what: str, most: int, capsys: pytest.CaptureFixture[str]
) -> None:
    import joblib  # noqa: F401 (it makes semaphores when it is imported, which are files too)

    old_files(WRITES[what])
    before = contents(folder)
    with small_files(most):
        status = main(WRITES[what])
    assert status == 5
    said = one_line(capsys.readouterr().err)
    by_sqlite = re.search(r"[.]json could not be written: disk I/O error", said)
    assert by_sqlite or os.strerror(errno.EFBIG) in said
    assert contents(folder) == before
    assert main(WRITES[what]) == 0, capsys.readouterr().err  # and then there is room again
    assert contents(folder) != before


@pytest.fixture
def full_disk(folder: Path) -> Iterator[Path]:
    """A disk of 128 KB. Only root may mount it; writes that stop half way for lack of room are tried above for all."""
    place = folder / "disk"
    place.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)], capture_output=True
    )
    if not mounted or mounted.returncode:
        pytest.skip("needs the right to mount a disk: run as root")
    for path in folder.iterdir():
        if path.is_file() and path.suffix != ".lock":
            shutil.copy(path, place)
    try:
        yield place
    finally:
        os.chdir(folder)
        subprocess.run(["umount", str(place)], check=True)


def fill(path: Path, room: int) -> None:
    """Fill the disk but for ``room`` bytes, in pages of 4096."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass  # now it is full
        file.truncate(max(0, file.tell() - room))


@pytest.mark.thorough
@pytest.mark.parametrize("what", WRITES)
def test_a_full_disk_leaves_what_was_there(full_disk: Path, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    os.chdir(full_disk)
    old_files(WRITES[what])
    fill(full_disk / "filler", 0)
    before = contents(full_disk)
    assert main(WRITES[what]) == 5
    assert re.search("No space left|disk is full", one_line(capsys.readouterr().err))
    assert contents(full_disk) == before
    assert darrm.load("gamma.json").certificate.holds
    assert Ledger("ledger.json").status()["released"] == 0
    assert Ledger("mixed.json").status()["released"] == 2


@pytest.fixture
def read_only(full_disk: Path) -> Iterator[Path]:
    """The same disk, of which nothing may be written any more."""
    os.chdir(full_disk)
    for arguments in WRITES.values():
        old_files(arguments)
    subprocess.run(["mount", "-o", "remount,ro", str(full_disk)], check=True, capture_output=True)
    try:
        yield full_disk
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(full_disk)], check=True, capture_output=True)


@pytest.mark.parametrize("what", WRITES)
def test_a_folder_that_cannot_be_written_to(read_only: Path, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(read_only)
    assert main(WRITES[what]) == 5
    assert re.search("Read-only file system|readonly database", one_line(capsys.readouterr().err))
    assert contents(read_only) == before


@pytest.mark.thorough
def test_a_disk_that_is_full_half_way(full_disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Labels that need more room than there is: none is charged, none stays."""
    os.chdir(full_disk)
    Path("votes.csv").unlink()
    votes_path = full_disk.parent / "many.csv"
    votes_path.write_text("a,b,c\n" + "1,0,1\n" * 60_000, encoding="utf-8")
    fill(full_disk / "filler", 3 * 4096)
    before = contents(full_disk)
    command = ["release", "gamma.json", "--votes", str(votes_path), "--out", "labels.csv", "--ledger", "ledger.json"]
    assert main(command) == 5
    assert "No space left" in one_line(capsys.readouterr().err)
    assert contents(full_disk) == before
    assert Ledger("ledger.json").status()["released"] == 0


# Clocks


@pytest.fixture
def clocks_run_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at a clock shows an hour earlier."""
    for name in ("time", "perf_counter", "monotonic"):
        steps = count()
        start = getattr(time, name)()
        monkeypatch.setattr(time, name, lambda start=start, steps=steps: start - 3600.0 * next(steps))


@pytest.mark.thorough
@pytest.mark.usefixtures("clocks_run_back")
def test_clocks_that_run_back_change_no_count_and_no_answer(folder: Path) -> None:
    design, ledger = darrm.load("gamma.json"), Ledger("ledger.json")
    for n in range(1, 6):
        ledger.charge(design, n)
        os.utime("ledger.json", (2.0**31 * (n % 2), 1.0))
        assert Ledger("ledger.json").status()["released"] == n * (n + 1) // 2
    assert darrm.solve(K=3, m=2, epsilon=0.1, time_limit=1.0).gamma.tolist() == design.gamma.tolist()
    mixed, decision = Ledger("mixed.json"), darrm.load("decision.json")
    mixed.charge(decision)
    assert mixed.status()["released"] == 3
    assert darrm.solve(decision.problem, objective=decision.objective, time_limit=1.0) == decision
    planned = {"max_affected": 1, "queries": 5, "total_epsilon": 3.0, "total_delta": 1e-6, "voters": "fresh"}
    plan = darrm.plan(K=3, epsilon=1.0, base_accuracy=0.85, time_limit=1.0, **planned)
    assert plan.complete
    assert plan.spent <= 3
    say = counted("failed")
    assert say(1, 9, 0)[:2] == (1, 9)
    assert say(5, 9, 0)[:2] == (5, 9)
    assert len(tables.solve_grid([3], [1, 2], 0.1, out="t.jsonl")) == 2


# Interrupts and kills


@posix
def test_a_plan_that_is_interrupted_before_its_design(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from darrm.planning import planner

    def interrupted(*given: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)

    before = contents(folder)
    monkeypatch.setattr(planner, "planned", interrupted)
    assert main([*PLAN, "--out", "gamma.json"]) == 130
    said = capsys.readouterr()
    assert "Interrupted" in one_line(said.err.lstrip("\n"))
    assert not said.out
    assert contents(folder) == before


@pytest.mark.thorough
@posix
def test_a_plan_that_is_interrupted_after_its_design(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is written, and says what is missing."""
    from darrm.planning import planner

    def interrupted(*given: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)

    monkeypatch.setattr(planner, "at_one_total", interrupted)
    assert main([*PLAN, "--out", "gamma.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["complete"] is False
    assert darrm.load("gamma.json").certificate.holds


@pytest.mark.thorough
@posix
@pytest.mark.parametrize("what", ["decision, absent", *slow("plan")])
def test_kills_in_the_middle_leave_the_old_file_or_the_new_one(folder: Path, what: str) -> None:
    """Killed when the new file is written, before and after it gets its name."""
    command = [name.replace("out.json", "decision.json") for name in WRITES[what]]
    old = Path("decision.json").read_bytes()
    seen = set()
    for at in ("fsync", "replace", "after"):
        ended = subprocess.run(
            [sys.executable, PROGRAMS / "killed_at.py", at, *command], capture_output=True, timeout=120
        )
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        now = Path("decision.json").read_bytes()
        seen.add(now == old)
        if at != "after":
            assert now == old
        assert darrm.load("decision.json").certificate.holds
    assert seen == {True, False}
    assert main(command) == 0  # no lock is left behind


@pytest.mark.thorough
@posix
def test_two_processes_that_write_one_decision(folder: Path) -> None:
    """Whole, and of one of the two."""
    command = [sys.executable, COMMAND, *WRITES["decision, absent"]]
    both = [subprocess.Popen([*command, *more], stdout=subprocess.PIPE) for more in ([], ["--ordered"])]
    for process in both:
        process.communicate(timeout=120)
    assert [process.returncode for process in both] == [0, 0]
    found = darrm.load("out.json")
    assert isinstance(found, darrm.DecisionDesign)
    assert found.absent
    assert not [path for path in folder.iterdir() if ".part" in path.name or ".waiting" in path.name]


@pytest.mark.thorough
@posix
def test_two_commands_that_charge_the_last_of_a_mixed_budget(folder: Path) -> None:
    Ledger.create("last.json", total_epsilon=1.0, total_delta=0.0, voters="fresh", rule="in-advance")
    command = [
        sys.executable,
        COMMAND,
        "ledger",
        "charge",
        "last.json",
        "--epsilon",
        "0.6",
        "--adjacency",
        "replace-one",
    ]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=120) for process in both]
    assert sorted(process.returncode for process in both) == [0, 3], said
    assert sum("would overspend" in error for _, error in said) == 1
    assert [charge["n"] for charge in Ledger("last.json").status()["charges"]] == [1]


# Homes


@pytest.mark.thorough
@pytest.mark.parametrize(
    "command",
    [["solve", *PROBLEM, "--plot", "p.png"], pytest.param(["report", "gamma.json"], marks=pytest.mark.slow)],
    ids=["solve", "report"],
)
def test_no_home_and_nothing_but_the_folder_to_write_to(folder: Path, command: list[str]) -> None:
    (folder / "file").touch()
    places = ("HOME", "MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
    ended = in_process(*command, **{name: str(folder / "file" / name) for name in places})
    assert ended.returncode == 0, ended.stderr
    assert all(
        line.startswith(("Wrote ", "Solved ", "Next, ", "To ", "  darrm ")) for line in ended.stderr.splitlines()
    )


# Extras

MISSING = [
    ("matplotlib", "plot", ["solve", *PROBLEM, "--plot", "p.png"]),
    ("flask", "web", ["explore", "--port", "0", "--no-browser"]),
    ("pyarrow", "tables", ["release", "gamma.json", "--votes", "votes.csv", "--out", "labels.parquet"]),
    ("distributed", "dask", [*TABLE, "t.csv", "--backend", "dask", "--scheduler", "tcp://127.0.0.1:9"]),
    ("sklearn", "experiments", "darrm.ensemble PrivateMajorityClassifier"),
    *thorough(
        ("matplotlib", "plot", ["report", "gamma.json"]),
        ("matplotlib", "plot", [*TABLE, "t.jsonl", "--plot", "p.png"]),
        ("matplotlib", "web", ["explore", "--port", "0", "--no-browser"]),
        ("waitress", "web", ["explore", "--port", "0", "--no-browser"]),
        ("pyarrow", "tables", ["release", "gamma.json", "--votes", "votes.parquet", "--out", "labels.csv"]),
        ("pyarrow", "tables", [*TABLE, "t.parquet"]),
        ("pyarrow", "tables", ["verify", "t.parquet"]),
        ("pyarrow", "tables", [*AUDIT, "--out", "a.parquet"]),
        ("sklearn", "experiments", "darrm.labels.learners RandomizedResponseClassifier"),
    ),
    *slow(("dp_accounting", "experiments", "darrm.ensemble DPLogisticRegression 1.0 1e-5")),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "extra", "action"), MISSING, ids=str)
def test_a_missing_library_is_one_line_that_names_the_extra(
    folder: Path, name: str, extra: str, action: list[str] | str
) -> None:
    for path in ("votes.parquet", "t.parquet"):
        Path(path).write_bytes(b"PAR1")
    before = contents(folder)
    if isinstance(action, str):
        ended = in_process(*action.split(), program=str(PROGRAMS / "estimator.py"), without=(name,))
    else:
        ended = in_process(*action, without=(name,))
    assert (ended.returncode, ended.stdout) == (5, ""), ended.stderr
    assert f"darrm[{extra}]" in one_line(ended.stderr)
    assert contents(folder) == before


@pytest.mark.thorough
def test_all_but_the_extras_works_without_them(folder: Path) -> None:
    without = "matplotlib sklearn dp_accounting pyarrow distributed flint flask waitress pandas"
    for command in (
        WRITES["design"], WRITES["labels, ledger"], ["compare", *PROBLEM], ["verify", "gamma.json"],
        [*TABLE, "t.csv"], ["budget", "gamma.json", "--queries", "9", "--total-delta", "1e-5", "--voters", "fresh"],
    ):  # fmt: skip
        ended = in_process(*command, without=tuple(without.split()))
        assert ended.returncode == 0, ended.stderr


# Locales


@pytest.fixture(scope="module")
def comma(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a locale that writes 1,5. Where none can be had, no user of this machine writes that way."""
    place = tmp_path_factory.mktemp("locales")
    made = shutil.which("localedef") and subprocess.run(
        ["localedef", "-i", "de_DE", "-f", "UTF-8", str(place / "de_DE.UTF-8")], capture_output=True
    )
    environment = {"LC_ALL": "de_DE.UTF-8"} | ({"LOCPATH": str(place)} if made and not made.returncode else {})
    if in_process("--version", program=IN_LOCALE, **environment).returncode:
        pytest.skip("needs a locale with decimal commas: apt-get install locales")
    return environment


@pytest.mark.thorough
def test_decimal_commas_of_a_locale_change_nothing(folder: Path, comma: dict[str, str]) -> None:
    made = {}
    for name, changes, program in (("plain", {}, COMMAND), ("comma", comma, IN_LOCALE)):
        for command in (
            ["solve", "--K", "11", "--m", "2.5", "--epsilon", "0.1", "--voter-delta", "1e-5", "--out", f"{name}.json"],
            [*TABLE, f"{name}.csv"],
            ["solve", *PROBLEM, "--plot", f"{name}.svg"],
        ):
            ended = in_process(*command, program=program, **changes)
            assert ended.returncode == 0, ended.stderr
        rows = [
            {key: value for key, value in row.items() if key != "seconds"} for row in tables.read(f"{name}.csv").rows
        ]
        made[name] = Path(f"{name}.json").read_bytes(), Path(f"{name}.svg").read_bytes(), rows
    assert made["plain"] == made["comma"]
    assert locale.localeconv()["decimal_point"] == "."


# Without asserts


@pytest.mark.thorough
@pytest.mark.parametrize("level", ["-O", "-OO"])
def test_refusals_do_not_rest_on_asserts(folder: Path, level: str) -> None:
    text = Path("gamma.json").read_text(encoding="utf-8")
    Path("edited.json").write_text(text.replace('"epsilon": 0.1', '"epsilon": 0.2'), encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, level, PROGRAMS / "refusals.py"], capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    said = json.loads(ended.stdout)
    assert said["asserts"] is False
    assert said["refused"] == said["all"]
    assert Ledger("small.json").status()["released"] == 0


# Files of other versions


def resigned(path: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a JSON file and give it a checksum that fits."""
    content = json.loads(Path(path).read_bytes())
    del content["sha256"]
    change(content)
    sealed_json.write(path, content)


def test_resigning_alone_changes_nothing(folder: Path) -> None:
    before = Path("gamma.json").read_bytes()
    resigned("gamma.json", lambda content: None)
    assert Path("gamma.json").read_bytes() == before
    before = Path("ledger.json").read_bytes()
    ledgers.forge("ledger.json", ledgers.content("ledger.json"))
    assert Ledger("ledger.json").status()["released"] == 0


@pytest.mark.first(2)
@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 6, "5", 5.0, None, True])
def test_another_version_of_a_ledger_is_refused(folder: Path, version: object) -> None:
    ledgers.forge("ledger.json", {**ledgers.content("ledger.json"), "version": version})
    before = Path("ledger.json").read_bytes()
    with pytest.raises(darrm.InputError, match="format version"):
        Ledger("ledger.json")
    assert Path("ledger.json").read_bytes() == before


def test_a_ledger_with_an_entry_of_a_later_version_is_refused(folder: Path) -> None:
    """It may stand for something that is spent."""
    ledgers.forge("ledger.json", {**ledgers.content("ledger.json"), "spent_elsewhere": 3})
    with pytest.raises(darrm.InputError, match=r"'spent_elsewhere'.*does not know"):
        Ledger("ledger.json")


def test_a_design_with_a_further_entry_is_verified_like_any(folder: Path) -> None:
    """What is not known guarantees nothing: the guarantee is of the problem and gamma, which are verified."""
    gamma = darrm.load("gamma.json").gamma.tolist()
    resigned("gamma.json", lambda content: content.update(note="of a later version"))
    assert darrm.load("gamma.json").gamma.tolist() == gamma
    resigned("gamma.json", lambda content: content["problem"].update(voters="fresh"))
    with pytest.raises(darrm.InputError, match="exactly its own parameters"):
        darrm.load("gamma.json")


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_a_table_with_a_further_column_is_refused(folder: Path, ending: str) -> None:
    rows = [{**row, "later": 1.0} for row in tables.solve_grid([3], 1, 0.1).rows]
    tables.files.write(f"t{ending}", rows)
    with pytest.raises(darrm.InputError, match="its columns are not those of a table"):
        tables.read(f"t{ending}")


def test_a_journal_of_another_version_is_neither_used_nor_lost(folder: Path) -> None:
    todo = tables.grid([3], 1, 0.1)
    header = {"format": "darrm-journal", "version": 3, "grid": todo.digest, "made_with": "darrm 9"}
    journal = journal_of(Path("t.csv"))
    journal.write_text(json.dumps(header) + "\n", encoding="utf-8")
    with pytest.raises(darrm.InputError, match="of another grid, or of other versions"):
        tables.solve_grid(todo, out="t.csv")
    assert json.loads(journal.read_bytes())["version"] == 3


# Line ends and marks of other systems

DIALECTS: dict[str, Callable[[bytes], bytes]] = {
    "CRLF": lambda text: text.replace(b"\n", b"\r\n"),
    "BOM": lambda text: b"\xef\xbb\xbf" + text,
    "both": lambda text: b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"),
}


READERS: dict[str, tuple[Callable[[], object], Callable[[str], object]]] = {
    "design.json": (
        lambda: darrm.load("gamma.json").save("design.json"),
        lambda path: darrm.load(path).gamma.tolist(),
    ),
    "t.csv": (lambda: tables.solve_grid([3, 4], [1, 2], 0.1, out="t.csv"), lambda path: tables.read(path).rows),
    "t.jsonl": (lambda: tables.solve_grid([3, 4], [1, 2], 0.1, out="t.jsonl"), lambda path: tables.read(path).rows),
    "problems.csv": (
        lambda: Path("problems.csv").write_text("K,m,epsilon,prior\n3,1,0.1,\n5,2,0.1,common\n", encoding="utf-8"),
        lambda path: tables.from_csv(path).tasks,
    ),
    "plain.csv": (
        lambda: Path("plain.csv").write_text("id,a,b\nx,1,0\ny,0,1\n", encoding="utf-8"),
        lambda path: (votes.read(path).ids, votes.read(path).votes.tolist()),
    ),
    "quoted.csv": (
        lambda: Path("quoted.csv").write_text('"id",a,b\n"x",1,0\n"y",0,1\n', encoding="utf-8"),
        lambda path: (votes.read(path).ids, votes.read(path).votes.tolist()),
    ),
    "eta.csv": (
        lambda: Path("eta.csv").write_text("eta\n0.25\n0.5\n", encoding="utf-8"),
        lambda path: read_eta(path).tolist(),
    ),
}


@pytest.mark.thorough
@pytest.mark.first(2)
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", READERS)
def test_texts_of_other_systems_mean_the_same(folder: Path, name: str, dialect: str) -> None:
    make, read = READERS[name]
    make()
    wanted, plain = read(name), Path(name).read_bytes()
    Path(name).write_bytes(DIALECTS[dialect](plain))
    assert Path(name).read_bytes() != plain
    assert read(name) == wanted

"""darrm release, block by block: all labels or none, whatever ends it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scripts import COMMAND, PROGRAMS

import darrm
from darrm import votes
from darrm.accounting import Ledger
from darrm.cli import main
from darrm.votes import csv as votes_csv

N = 3000
NAMES = ("a", "b", "c")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A design without noise, so that labels are majorities, and votes in many blocks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(votes_csv, "_BLOCK", 1000)
    darrm.solve(K=3, m=1, epsilon=0.1, max_affected=1).save("gamma.json")
    lines = [f"query {i},{','.join(map(str, row))}\n" for i, row in enumerate(drawn().tolist())]
    Path("votes.csv").write_text("id,a,b,c\n" + "".join(lines), encoding="utf-8")
    return tmp_path


def drawn() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2, (N, 3))


def majorities() -> list[str]:
    return [f"query {i},{int(ones > 1)}" for i, ones in enumerate(drawn().sum(axis=1))]


def release(*more: str, votes_path: str = "votes.csv", out: str = "labels.csv") -> int:
    return main(["release", "gamma.json", "--votes", votes_path, "--out", out, "--overwrite", *more])


def ledger(total: float) -> Ledger:
    book = ["--total-epsilon", str(total), "--total-delta", "0", "--voters", "fresh", "--rule", "basic-filter"]
    assert main(["ledger", "create", "ledger.json", "gamma.json", *book]) == 0
    return Ledger("ledger.json")


@pytest.mark.thorough
def test_rows_and_labels_stay_together(folder: Path) -> None:
    assert release() == 0
    assert Path("labels.csv").read_text(encoding="utf-8").splitlines() == ["id,label", *majorities()]


@pytest.mark.thorough
def test_parquet_in_and_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    ids = [f"query {i}" for i in range(N)]
    columns = {name: drawn()[:, j] for j, name in enumerate(NAMES)}
    pq.write_table(pa.table({"id": ids, **columns}), "votes.parquet")
    for votes_path in ("votes.csv", "votes.parquet"):
        for out in ("labels.csv", "labels.parquet"):
            assert release("--json", votes_path=votes_path, out=out) == 0
            assert json.loads(capsys.readouterr().out)["labels"] == N
        rows = pq.read_table("labels.parquet").to_pylist()
        assert [f"{row['id']},{row['label']}" for row in rows] == majorities()
        assert Path("labels.csv").read_text(encoding="utf-8").splitlines()[1:] == majorities()
        Path("labels.csv").unlink()


@pytest.mark.thorough
@pytest.mark.first(2)
@pytest.mark.parametrize("last", ["x,1,0,2\n", "x,1,0", '"x,1,0,1\n', "x,1,0,1\n,,,\n", "query 7,1,0,1\n", "\ufffe"])
@pytest.mark.parametrize("out", ["labels.csv", "labels.parquet"])
def test_a_fault_at_the_end_leaves_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], last: str, out: str
) -> None:
    if out.endswith("parquet"):
        pytest.importorskip("pyarrow")
    with Path("votes.csv").open("a", encoding="utf-8") as file:
        file.write(last)
    book = ledger(1000)
    Path(out).write_text("what stood here", encoding="utf-8")
    before = sorted(path.name for path in folder.iterdir())
    capsys.readouterr()
    for more in ([], ["--ledger", "ledger.json"]):
        assert release(*more, out=out) == 2
        captured = capsys.readouterr()
        assert (captured.out, len(captured.err.splitlines())) == ("", 1)
        assert "votes.csv" in captured.err
    assert book.status()["released"] == 0
    assert Path(out).read_text(encoding="utf-8") == "what stood here"
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.thorough
def test_the_ledger_is_charged_for_all_rows_or_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = ledger(0.1 * N + 0.05)
    assert release("--ledger", "ledger.json") == 0
    assert book.status()["released"] == N
    capsys.readouterr()
    assert release("--ledger", "ledger.json", out="again.csv") == 6  # not 3: these rows have labels
    assert f"{N} ids were charged before" in capsys.readouterr().err
    assert not Path("again.csv").exists()


@pytest.mark.thorough
def test_a_ledger_that_is_short_of_one_label(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = ledger(0.1 * (N - 1) + 0.05)
    capsys.readouterr()
    assert release("--ledger", "ledger.json") == 3
    assert f"{N} more labels would overspend" in capsys.readouterr().err
    assert book.status()["released"] == 0
    assert not Path("labels.csv").exists()


@pytest.mark.thorough
@pytest.mark.skipif(
    not Path("/dev/stdout").exists(), reason="needs /dev/stdout: without it a pipe has no name to release to"
)
@pytest.mark.parametrize("bad", [False, True])
def test_a_pipe_gets_all_labels_or_none(folder: Path, bad: bool) -> None:
    if bad:
        with Path("votes.csv").open("a", encoding="utf-8") as file:
            file.write("x,1,0,2\n")
    arguments = ["release", "gamma.json", "--votes", "votes.csv", "--out", "/dev/stdout"]
    program = [sys.executable, PROGRAMS / "command_in_blocks.py", *arguments]
    ended = subprocess.run(program, capture_output=True, timeout=60)
    assert ended.returncode == (2 if bad else 0)
    assert ended.stdout.decode().splitlines() == ([] if bad else ["id,label", *majorities()])


@pytest.mark.thorough
@pytest.mark.skipif(
    not Path("/dev/fd").exists(), reason="needs /dev/fd: without it standard output has no name to release to"
)
def test_standard_output_may_be_a_file(folder: Path) -> None:
    """Not /dev/stdout itself: a faulty darrm that is run by root would replace that."""
    Path("stdout").symlink_to("/dev/stdout")
    for out in ("stdout", "/dev/fd/1"):
        arguments = ["release", "gamma.json", "--votes", "votes.csv", "--out", out]
        with Path("labels.csv").open("wb") as file:
            subprocess.run([sys.executable, COMMAND, *arguments], stdout=file, timeout=60, check=True)
        assert Path("labels.csv").read_text(encoding="utf-8").splitlines() == ["id,label", *majorities()]
    assert os.readlink("stdout") == "/dev/stdout"


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL: run on Linux or macOS")
def test_a_kill_within_the_stream(folder: Path) -> None:
    book = ledger(1000)
    arguments = ["release", "gamma.json", "--votes", "votes.csv", "--out", "labels.csv", "--ledger", "ledger.json"]
    program = [sys.executable, PROGRAMS / "command_in_blocks.py", "--kill", *arguments]
    ended = subprocess.run(program, capture_output=True, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    assert book.status()["released"] == 0
    assert not Path("labels.csv").exists()
    (part,) = folder.glob(".labels.csv.*.part")
    assert part.stat().st_mode & 0o077 == 0
    assert release("--ledger", "ledger.json") == 0
    assert book.status()["released"] == N


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
def test_labels_of_an_interrupted_release_are_not_replaced(
    folder: Path, overwrite: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are charged, and get their name when the ledger is used next: by the release that would replace them."""
    book = ledger(1000)
    Path("none.csv").write_text("a,b,c\n0,1,1\n1,0,1\n", encoding="utf-8")

    def stop(part: Path, target: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("darrm.accounting.ledger_store.move", stop)
        assert release("--ledger", "ledger.json", votes_path="none.csv") == 130
    (waiting,) = folder.glob(".labels.csv.*.waiting")
    labels = waiting.read_text(encoding="utf-8")
    again = ["release", "gamma.json", "--votes", "none.csv", "--out", "labels.csv", "--ledger", "ledger.json"]
    assert main([*again, *overwrite]) == 2
    said = capsys.readouterr().err
    assert f"they are in {folder / 'labels.csv'} now. Do not release them again." in said
    assert "exists already" in said
    assert Path("labels.csv").read_text(encoding="utf-8") == labels
    assert book.status()["released"] == 2


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc for the peak of memory: run on Linux")
def test_ten_million_rows_at_a_million_a_second(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    n, K = 10_000_000, 11
    darrm.solve(K=K, m=3, epsilon=1).save(tmp_path / "gamma.json")
    names = [f"v{j}" for j in range(K)]
    drawn = np.random.default_rng(0).integers(0, 2, (n, K), dtype=np.uint8)
    pq.write_table(pa.table({name: drawn[:, j] for j, name in enumerate(names)}), tmp_path / "votes.parquet")
    cells = np.full((n, 2 * K), ord(","), dtype=np.uint8)
    cells[:, ::2] = drawn + ord("0")
    cells[:, -1] = ord("\n")
    (tmp_path / "votes.csv").write_bytes(",".join(names).encode() + b"\n" + cells.tobytes())
    del drawn, cells
    for name in ("votes.csv", "votes.parquet"):
        arguments = ["release", "gamma.json", "--votes", name, "--out", "labels.csv", "--overwrite"]
        program = [sys.executable, PROGRAMS / "command_and_memory.py", *arguments]
        before = cpu()
        ended = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert cpu() - before < n / 1e6
        assert int(ended.stdout.split()[1]) < 300_000, "kB"
    ones = sum(int(block.votes.sum()) for block in votes.blocks(relabelled(tmp_path)))
    assert 0.4 < ones / n < 0.6


def cpu() -> float:
    """Seconds of the processes that have ended, which other work on the machine does not add to."""
    times = os.times()
    return times.children_user + times.children_system


def relabelled(folder: Path) -> Path:
    """The labels as a votes file of one voter."""
    path = folder / "labels.csv"
    with path.open("r+b") as file:
        assert file.readline() == b"id,label\n"
        file.seek(0)
        file.write(b"id,voter\n")
    return path


# Rows that have a label already


def write_votes(name: str, *rows: str) -> str:
    Path(name).write_text("\n".join(["id,a,b,c", *(f"{row},0,1,1" for row in rows)]) + "\n", encoding="utf-8")
    return name


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_id_of_another_file_is_refused(folder: Path, capsys: pytest.CaptureFixture[str], ending: str) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    book = ledger(2.0)
    assert release("--ledger", "ledger.json", votes_path=write_votes("one.csv", "q1", "q2")) == 0
    said = capsys.readouterr().err
    assert (
        "The ledger refuses an id that it charged before. You must make sure that no row of votes has two ids." in said
    )
    second = write_votes("two.csv", "q3", "q2", "q1")
    if ending == "parquet":
        pq.write_table(pa.table({"id": ["q3", "q2", "q1"], "a": [0] * 3, "b": [1] * 3, "c": [1] * 3}), "two.parquet")
        second = "two.parquet"
    before = Path("ledger.json").read_bytes()
    assert release("--ledger", "ledger.json", votes_path=second, out="new.csv") != 0
    said = capsys.readouterr().err
    assert "2 ids were charged before, first 'q2'. Nothing was released or charged." in said
    assert "--again" in said
    assert not Path("new.csv").exists()
    assert Path("ledger.json").read_bytes() == before
    assert not list(folder.glob(".*"))
    assert book.status()["released"] == book.status()["ids"] == 2


def test_again_charges_a_label_more_of_fixed_voters(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = ["--total-epsilon", "2", "--total-delta", "0", "--voters", "fixed"]
    assert main(["ledger", "create", "ledger.json", "gamma.json", *book]) == 0
    names = write_votes("one.csv", "q1", "q2")
    assert release("--ledger", "ledger.json", votes_path=names) == 0
    assert release("--ledger", "ledger.json", "--again", votes_path=names) == 0
    assert Ledger("ledger.json").status()["released"] == 4


@pytest.mark.thorough
def test_again_of_fresh_voters_says_what_covers_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rule, status in (("exact", 0), ("basic-filter", 1)):
        name = f"{rule}.json"
        book = ["--total-epsilon", "2", "--total-delta", "0", "--voters", "fresh", "--rule", rule]
        assert main(["ledger", "create", name, "gamma.json", *book]) == 0
        names = write_votes("one.csv", "q1", "q2")
        assert release("--ledger", name, votes_path=names) == 0
        capsys.readouterr()
        assert bool(release("--ledger", name, "--again", "--json", votes_path=names)) is bool(status)
        said = capsys.readouterr()
        if status:
            assert "only the cost of the votes themselves covers a second one" in said.err
            continue
        content = json.loads(said.out)["ledger"]
        assert (content["released"], content["again"]) == (4, 2)
        assert content["condition"].startswith("which rows of votes are released again is fixed in advance")
        assert "The total covers all votes themselves, and so that too, if the rows to release again" in said.err
        assert "each row of votes is released once" not in said.err.split("Charged to")[1]
        assert main(["ledger", "show", name]) == 0
        assert "The votes of 2 of them may have had a label before." in " ".join(capsys.readouterr().out.split())


@pytest.mark.thorough
def test_a_file_without_ids_is_said_to_be_unchecked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger(2.0)
    capsys.readouterr()
    Path("none.csv").write_text("a,b,c\n0,1,1\n", encoding="utf-8")
    assert release("--ledger", "ledger.json", "--json", votes_path="none.csv") == 0
    said = capsys.readouterr()
    assert "They have no ids, so you must make sure that each row is released once." in said.err
    assert json.loads(said.out)["ledger"]["condition"].startswith("each row of votes is released once")
    assert release("--ledger", "ledger.json", votes_path=write_votes("one.csv", "q1")) == 0
    assert "Only 1 of 2 have ids" in capsys.readouterr().err
    assert release("--ledger", "ledger.json", votes_path="none.csv") == 2
    assert "knows by their ids which rows have a label (1 so far), and these rows have none" in capsys.readouterr().err
    assert main(["ledger", "show", "ledger.json", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["ids"], content["condition"].startswith("each row of votes is released once")) == (1, True)


def test_again_needs_a_ledger(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release("--again", votes_path=write_votes("one.csv", "q1")) == 2
    assert "--again goes with --ledger" in capsys.readouterr().err


@pytest.mark.thorough
def test_no_command_writes_over_a_ledger(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger(2.0)
    assert release("--ledger", "ledger.json", votes_path=write_votes("one.csv", "q1")) == 0
    before = Path("ledger.json").read_bytes()
    Path("link.json").symlink_to("ledger.json")
    for out in ("ledger.json", "link.json"):
        assert release(votes_path="one.csv", out=out) == 2
    assert main(["solve", "--K", "3", "--m", "1", "--epsilon", "1", "--out", "link.json"]) == 2
    assert "is a ledger" in capsys.readouterr().err
    assert Path("ledger.json").read_bytes() == before

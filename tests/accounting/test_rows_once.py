"""No row of votes gets a second label unasked: kept ids, streams that go on, and what covers a second label."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import ledgers
import numpy as np
import pytest
from cases import slow

import darrm
from darrm import votes
from darrm.accounting import Ledger, compose, optimal
from darrm.accounting.ledger_ids import Batch
from darrm.cli import main
from darrm.cli.ledger import command
from darrm.errors import ResumedStreamWarning
from darrm.problem.groups import VoterGroup
from darrm.votes.rows import Texts, VotesBlock

pytestmark = pytest.mark.filterwarnings("ignore::darrm.errors.RecoveredLabelsWarning")
VOTES = np.random.default_rng(0).integers(0, 2, (12, 3), dtype=np.uint8)
BUDGET: dict[str, Any] = {"total_epsilon": 20.0, "total_delta": 1e-6}


@pytest.fixture(scope="module")
def design() -> darrm.Design:
    """Labels that cost as much as one vote."""
    return darrm.solve(K=3, m=1, epsilon=1, max_affected=1)


@pytest.fixture(scope="module")
def tighter() -> darrm.Design:
    """Labels that cost half of the one vote that a change reaches."""
    return darrm.solve(K=3, m=0.5, epsilon=1, max_affected=1)


@pytest.fixture
def book(tmp_path: Path, design: darrm.Design) -> Ledger:
    return Ledger.create(tmp_path / "l.json", design, voters="fresh", **BUDGET)


def block(ids: list[str], rows: np.ndarray | None = None) -> VotesBlock:
    return VotesBlock(VOTES[: len(ids)] if rows is None else rows, Texts.of(ids), None, has_ids=True)


def kept(book: Ledger) -> list[tuple[bytes, int]]:
    """Digests of ids, and the numbers of their charges."""
    with sqlite3.connect(book.path) as db:
        found = db.execute("SELECT digest, number FROM charged").fetchall()
    db.close()
    return sorted(found)


# Ids


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM charged",
        "DELETE FROM charged WHERE digest = (SELECT min(digest) FROM charged)",
        "INSERT INTO charged VALUES (x'00', 1)",
    ],
)
def test_a_ledger_whose_ids_were_edited_is_refused(
    statement: str, book: Ledger, design: darrm.Design, capsys: pytest.CaptureFixture[str]
) -> None:
    book.charge(design, 3, ids=["a", "b", "c"])
    with book.lease(design, 2, ids=["d", "e"]) as lease:
        lease.take(1)
    Ledger(book.path)
    with closing(sqlite3.connect(book.path)) as db, db:
        db.execute(statement)
    with pytest.raises(darrm.InputError, match=r"changed after it was written: it has [035] digests of ids of 4\."):
        Ledger(book.path)
    assert main(["ledger", "show", str(book.path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_ids_that_an_earlier_darrm_did_not_count(book: Ledger, design: darrm.Design) -> None:
    book.charge(design, 3, ids=["a", "b", "c"])
    content = ledgers.content(book.path)
    del content["notes"]
    assert content.pop("rows") == 3
    ledgers.forge(book.path, content)
    Ledger(book.path).charge(design, 1, ids=["d"])
    content = ledgers.content(book.path)
    del content["notes"]
    assert content.pop("rows") == 4
    ledgers.forge(book.path, content)
    with closing(sqlite3.connect(book.path)) as db, db:
        db.execute("DELETE FROM charged")
    with pytest.raises(darrm.InputError, match="it has 0 digests of ids of 4"):
        Ledger(book.path)


def test_a_ledger_that_says_other_ids_than_its_charges_is_refused(book: Ledger, design: darrm.Design) -> None:
    book.charge(design, 3, ids=["a", "b", "c"])
    for ids in (0, 2):
        content = ledgers.content(book.path) | {"ids": ids}
        del content["notes"]
        ledgers.forge(book.path, content)
        with pytest.raises(darrm.InputError, match=f"its charges have 3 labels with ids of {ids}"):
            Ledger(book.path)


@pytest.mark.thorough
def test_an_id_is_charged_once(book: Ledger, design: darrm.Design) -> None:
    book.charge(design, 3, ids=["a", "b", "c"])
    before, known = book.path.read_bytes(), kept(book)
    assert [batch for _, batch in known] == [1, 1, 1]
    for ids, message in (
        (["x", "c", "b"], "2 ids were charged before, first 'c'"),
        (["x", "a"], "One id was charged before: 'a'"),
        (["x", "y", "x"], "The id 'x' occurs twice"),
        ([" a"], "before: ' a'"),
    ):
        with pytest.raises(darrm.InputError, match=f"{message}.*Nothing was released or charged"):
            book.charge(design, len(ids), ids=ids)
        assert (book.path.read_bytes(), kept(book)) == (before, known)
    book.charge(design, 2, ids=["x", "y"])
    assert book.status()["ids"] == book.status()["released"] == len(kept(book)) == 5


def test_an_id_is_one_for_all_designs(tmp_path: Path, design: darrm.Design, tighter: darrm.Design) -> None:
    book = Ledger.create(tmp_path / "l.json", voters="fresh", rule="in-advance", **BUDGET)
    book.charge(design, 1, ids=["a"])
    with pytest.raises(darrm.InputError, match="before: 'a'"):
        book.charge(tighter, 1, ids=["a"])


@pytest.mark.parametrize("voters", ["fresh", "fixed"])
def test_rows_without_ids_are_not_taken_beside_ids(tmp_path: Path, design: darrm.Design, voters: str) -> None:
    """They may be the same rows; for fixed voters a second label is one label more, and nothing is refused."""
    budget = {**BUDGET, "total_epsilon": 500.0} if voters == "fixed" else BUDGET
    book = Ledger.create(tmp_path / "l.json", design, voters=voters, **budget)
    book.charge(design, 1)
    book.charge(design, 1, ids=["a"])
    before, stream = book.path.read_bytes(), lambda: list(mechanism.release_blocks([VOTES[:1]], ledger=book))
    mechanism = darrm.mechanisms.DaRRM(design)
    if voters == "fixed":
        book.charge(design, 1)
        assert len(stream()) == 1
        return
    for charge in (lambda: book.charge(design, 1), stream):
        with pytest.raises(darrm.InputError, match=r"these rows have none.*Nothing was released or charged"):
            charge()
        assert book.path.read_bytes() == before


def test_no_ledger_knows_the_ids_of_another(tmp_path: Path, design: darrm.Design) -> None:
    """So budgets of two add up only if no row has a label in both: two labels of one answer are not two answers."""
    books = [Ledger.create(tmp_path / name, design, voters="fresh", **BUDGET) for name in ("a.json", "b.json")]
    for book in books:
        book.charge(design, 1, ids=["a"])
    said = " ".join(str(command.help).split())
    assert "add up if voters are fresh and no row of votes has a label in both" in said


@pytest.mark.parametrize(
    ("one", "other"), [("caf\u00e9", "cafe\u0301"), ("a", "a "), ("7", "\t7\n"), ("7", "7.0"), ("007", "7")]
)
def test_ids_are_compared_as_people_write_them(book: Ledger, design: darrm.Design, one: str, other: str) -> None:
    book.charge(design, 1, ids=[one])
    with pytest.raises(darrm.InputError, match="was charged before"):
        book.charge(design, 1, ids=[other])
    book.charge(design, 1, ids=[f"{one}x"])


def test_what_ids_must_be(book: Ledger, design: darrm.Design) -> None:
    for ids, message in (
        (["a"], "one id for each label. Got 1 id for 2 labels"),
        ([], "Got 0 ids for 2 labels"),
        (["a", 3], "must be a text"),
        (["a", ""], "The id of label 2 is blank. Nothing was released or charged"),
        ([" \u200b", "b"], "The id of label 1 is blank"),
        ("ab", "must be a list of texts"),
        (7, "must be a list of texts"),
    ):
        with pytest.raises(darrm.InputError, match=message):
            book.charge(design, 2, ids=ids)  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match="again must be True or False"):
        book.charge(design, 2, again="yes")  # type: ignore[arg-type]
    assert (book.status()["released"], kept(book)) == (0, [])


@pytest.mark.parametrize("ids", [["a"], ["a", "b", "c"], ["a", " "]])
def test_a_block_has_an_id_for_each_row(book: Ledger, design: darrm.Design, ids: list[str]) -> None:
    """A row without one would be charged, and never known again."""
    stream = darrm.mechanisms.DaRRM(design).release_blocks([block(ids, VOTES[:2])], ledger=book)
    with pytest.raises(darrm.InputError, match=r"one id for each label\. Got \d ids? for 2|label 2 is blank"):
        list(stream)
    assert (book.status()["released"], kept(book)) == (0, [])


def test_ids_are_of_labels(tmp_path: Path) -> None:
    book = Ledger.create(tmp_path / "l.json", voters="fresh", rule="in-advance", **BUDGET)
    with pytest.raises(darrm.InputError, match="ids are for labels only"):
        book.charge((0.5, 0.0), adjacency="replace-one", ids=["a"])


@pytest.mark.thorough
def test_many_ids_in_parts() -> None:
    """Digests come in order, each with its row, and texts by their rows."""
    batch = Batch(f"q{i}" for i in range(70_000))
    batch.add(Texts.of(["\u00e9", "v"]))
    parts = batch.parts(np.arange(5, 70_002))
    found = [(digests[16 * i : 16 * i + 16], row) for digests, rows in parts for i, row in enumerate(rows)]
    assert sorted(row for _, row in found) == list(range(5, 70_002))
    assert [digest for digest, _ in found] == sorted(digest for digest, _ in found)
    assert [batch.text(row) for row in (0, 69_999, 70_000, 70_001)] == ["q0", "q69999", "\u00e9", "v"]
    batch.add(["more"])
    assert (batch.text(70_002), batch.text(1)) == ("more", "q1")
    batch.close()


# The file


def test_a_digest_of_the_ids_is_kept(book: Ledger, design: darrm.Design) -> None:
    book.charge(design, 2, ids=["a", "b"])
    _, (charge,) = book._store.history()
    with closing(Batch(["a", "b"])) as same, closing(Batch(["b", "a"])) as turned:
        assert (charge.ids, charge.ids_digest) == (2, same.digest(0))
        assert charge.ids_digest != turned.digest(0)


@pytest.mark.parametrize("name", ["l.json-journal", "l.json-wal", "l.json.lock", "l.json"])
def test_labels_are_not_written_over_a_ledger(book: Ledger, design: darrm.Design, name: str) -> None:
    with pytest.raises(darrm.InputError, match="is the ledger"), book.releasing(design, 1, book.path.with_name(name)):
        pass


def test_a_full_disk_charges_nothing(book: Ledger, design: darrm.Design, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite itself says that the disk is full, at any page."""
    book.charge(design, 1, ids=["a"])
    before, connect, ids = book.path.read_bytes(), sqlite3.connect, [f"{i}" for i in range(2000)]
    pages, size = len(before) // 4096, 0

    def small(*given: Any, **named: Any) -> sqlite3.Connection:
        db = connect(*given, **named)
        db.execute(f"PRAGMA max_page_count = {pages + size}")
        return db

    monkeypatch.setattr(sqlite3, "connect", small)
    fixed = Ledger.create(book.path.with_name("f.json"), design, voters="fixed", total_epsilon=500, total_delta=1e-6)
    for size in range(8):  # noqa: B007  # which the next connection takes
        with pytest.raises(darrm.OutputError, match=r"disk is full. Nothing was released or charged"):
            fixed.charge(design, 2000, ids=ids)
        assert fixed.status()["released"] == len(kept(fixed)) == 0
    size = 1000
    fixed.charge(design, 2000, ids=ids)
    assert fixed.status()["ids"] == len(kept(fixed)) == 2000


# Kills


def steps(kill_at: int) -> None:
    """Kill this process before that step: a statement of SQLite, or a call that writes or moves a file."""
    seen = iter(range(10_000))

    def step(*_: Any) -> None:
        if next(seen) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def stepping(honest: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            step()
            done = honest(*given, **named)
            step()
            return done

        return call

    def connect(*given: Any, **named: Any) -> Any:
        db = honest_connect(*given, **named)
        db.set_trace_callback(step)
        return db

    honest_connect = sqlite3.connect
    sqlite3.connect = connect
    for name in ("fsync", "replace", "rename", "chmod"):
        setattr(os, name, stepping(getattr(os, name)))


def release_file(book: Ledger, design: darrm.Design) -> None:
    with book.releasing(design, 2, book.path.with_name("out.csv"), ids=["a", "b"]) as file:
        file.write(b"1\n0\n")


def release_stream(book: Ledger, design: darrm.Design) -> None:
    list(darrm.mechanisms.DaRRM(design).release_blocks([block(["a", "b"])], ledger=book))


USES: dict[str, Callable[[Ledger, darrm.Design], Any]] = {
    "charge": lambda book, design: book.charge(design, 2, ids=["a", "b"]),
    "releasing": release_file,
    "stream": release_stream,
}


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
@pytest.mark.parametrize("first", [True, *slow(False)], ids=["first ids", "more ids"])
@pytest.mark.parametrize("use", ["charge", "releasing", *slow("stream")])
def test_a_kill_at_any_step_charges_all_or_nothing(design: darrm.Design, tmp_path: Path, use: str, first: bool) -> None:
    at, before, charged = 0, 0 if first else 1, set()
    while True:
        folder = tmp_path / str(at)
        folder.mkdir()
        book = Ledger.create(folder / "l.json", design, voters="fresh", **BUDGET)
        if not first:
            book.charge(design, 1, ids=["z"])
        child = os.fork()
        if not child:
            try:
                steps(at)
                USES[use](book, design)
                os._exit(0)
            finally:
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, -signal.SIGKILL)
        released = Ledger(book.path).status()["released"]
        assert released in (before, before + 2)
        charged.add(released > before)
        if (folder / "out.csv").exists():
            assert released > before
        if released > before:
            with pytest.raises(darrm.InputError, match="2 ids were charged before, first 'a'"):
                book.charge(design, 2, ids=["a", "b"])
        else:
            book.charge(design, 2, ids=["a", "b"])
        book.charge(design, 1, ids=["c"])
        assert book.status()["ids"] == book.status()["released"] == len(kept(book)) == before + 3
        if status == 0:
            break
        at += 1
    assert at > 15
    assert charged == {True, False}


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_after_a_kill_at_any_step_a_retry_by_key_gives_the_labels_and_charges_once(
    design: darrm.Design, tmp_path: Path
) -> None:
    at, charged, mechanism = 0, set(), darrm.mechanisms.DaRRM(design)
    key, rows = darrm.mechanisms.LabelKey(bytes(32)), block(["a", "b"])
    known = mechanism.release(rows.votes, key=key, ids=["a", "b"]).tolist()
    while True:
        book = Ledger.create(tmp_path / f"{at}.json", design, voters="fresh", **BUDGET)
        child = os.fork()
        if not child:
            try:
                steps(at)
                list(mechanism.release_blocks([rows], ledger=book, key=key))
                os._exit(0)
            finally:
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, -signal.SIGKILL)
        charged.add(Ledger(book.path).status()["released"])
        (labels,) = mechanism.release_blocks([rows], ledger=book, key=key)
        assert labels.tolist() == known
        assert book.status()["ids"] == book.status()["released"] == 2
        assert len(kept(book)) == 4  # of each row the id and the tag
        if status == 0:
            break
        at += 1
    assert at > 15
    assert charged == {0, 2}


# Released again


def test_fixed_voters_count_a_label_more(tmp_path: Path, design: darrm.Design) -> None:
    book = Ledger.create(tmp_path / "l.json", design, voters="fixed", **BUDGET)
    condition = book.status()["condition"]
    book.charge(design, 2, ids=["a", "b"])
    with pytest.raises(darrm.InputError, match="charged before"):
        book.charge(design, 2, ids=["b", "c"])
    book.charge(design, 2, ids=["b", "c"], again=True)
    status = book.status()
    assert (status["released"], status["ids"], status["again"], status["condition"]) == (4, 4, 0, condition)
    assert "released once" not in condition


@pytest.mark.thorough
def test_teachers_without_privacy_count_a_label_more(tmp_path: Path) -> None:
    """Their coins are those of the labels, which are new every time."""
    design = darrm.solve(
        darrm.DecisionProblem([VoterGroup(5, float("inf"))], epsilon=0.5, max_affected=1),
        objective=darrm.objectives.truth([0.8]),
    )
    book = Ledger.create(tmp_path / "l.json", design, voters="fresh", **BUDGET)
    book.charge(design, 1, ids=["a"])
    book.charge(design, 1, ids=["a"], again=True)
    book.charge(design, 1, again=True)
    assert (book.status()["released"], book.status()["again"]) == (3, 0)
    assert "released once" not in book.status()["condition"]


@pytest.mark.thorough
def test_fresh_votes_are_released_again_only_if_they_are_paid_for(tmp_path: Path, tighter: darrm.Design) -> None:
    """Two labels of one row can cost more than two labels: the budget must pay for the votes."""
    n = 4
    price = optimal(1.0, 0.0, n, 1e-6).epsilon  # of the votes of n rows
    assert compose(tighter, n, delta=1e-6, voters="fresh").upper < 0.6 * price
    for total, covered in ((0.99 * price, False), (1.01 * price, True)):
        book = Ledger.create(tmp_path / f"{total}.json", tighter, voters="fresh", total_epsilon=total, total_delta=1e-6)
        book.charge(tighter, 2, ids=["a", "b"])
        book.charge(tighter, 1, ids=["a"], again=True)
        before = book.path.read_bytes()
        if not covered:
            assert book.remaining(tighter) == 0
            with pytest.raises(darrm.BudgetError, match="only the cost of the votes themselves covers a second one"):
                book.charge(tighter, 1, ids=["b"], again=True)
            with pytest.raises(darrm.BudgetError, match="All votes behind 4 labels cost"):
                book.charge(tighter, 1, ids=["c"])  # from now on, whatever is charged
            assert book.path.read_bytes() == before
            continue
        assert book.remaining(tighter) == 1
        book.charge(tighter, 1, ids=["b"], again=True)
        status = book.status()
        assert (status["again"], status["left"]) == (2, 0)
        assert status["condition"].startswith("which rows of votes are released again is fixed in advance")
        assert price <= book.spent()[0] <= total


@pytest.mark.parametrize("rule", ["in-advance", "renyi-filter", "basic-filter"])
def test_other_rules_do_not_cover_fresh_votes_again(tmp_path: Path, design: darrm.Design, rule: str) -> None:
    book = Ledger.create(tmp_path / "l.json", voters="fresh", rule=rule, **BUDGET)
    book.charge(design, 1, ids=["a"])
    for ids in (["a"], None):
        with pytest.raises(darrm.BudgetError, match=f'"{rule}" does not cover that'):
            book.charge(design, 1, ids=ids, again=True)
    book.charge(design, 1, ids=["b"], again=True)  # a new one
    assert book.status()["again"] == 0


def test_conditions_say_what_is_known_of_the_rows(tmp_path: Path, design: darrm.Design) -> None:
    book = Ledger.create(tmp_path / "l.json", voters="fresh", rule="renyi-filter", **BUDGET)
    assert book.status()["condition"].startswith("each row of votes is released once, and one use")
    book.charge((0.1, 0.0), adjacency="replace-one")
    assert book.status()["condition"].startswith("one use answers once")  # there are no rows
    book.charge(design, 1, ids=["a"])
    assert book.status()["condition"].startswith("no row of votes has two ids, and one use")
    some = Ledger.create(tmp_path / "some.json", voters="fresh", rule="renyi-filter", **BUDGET)
    some.charge(design, 1)
    some.charge(design, 1, ids=["a"])
    assert some.status()["condition"].startswith("each row of votes is released once, and one use")


# Streams


def given(blocks: Any, book: Ledger, design: darrm.Design, **more: Any) -> list[int]:
    labels = darrm.mechanisms.DaRRM(design).release_blocks(blocks, ledger=book, **more)
    return [len(part) for part in labels]


def failing() -> Iterator[Any]:
    yield VOTES[:4]
    yield VOTES[4:6]
    yield np.full((2, 3), 7)


def test_a_stream_that_is_started_again_goes_on(book: Ledger, design: darrm.Design) -> None:
    with pytest.raises(darrm.InputError, match="in row 6"):
        given(failing(), book, design)
    assert book.status()["streams"] == {"": 6}
    with pytest.warns(
        ResumedStreamWarning, match=r"first 6 rows of this stream .* skipped.*stream=\"tuesday\""
    ) as said:
        assert given([VOTES[:2], VOTES[2:7], VOTES[7:]], book, design) == [1, 5]  # cut otherwise
    assert len(said) == 1
    assert said[0].filename == __file__
    assert (book.status()["released"], book.status()["streams"]) == (12, {"": 12})
    before = book.path.read_bytes()
    with pytest.warns(ResumedStreamWarning, match="first 12 rows"):
        assert given([VOTES], book, design) == []
    with pytest.warns(ResumedStreamWarning):
        assert given(iter(VOTES), book, design, rows=5) == []  # one by one
    assert book.path.read_bytes() == before
    assert "a restarted stream has the same rows" in book.status()["condition"]


def test_rows_that_are_left_out_are_checked(book: Ledger, design: darrm.Design) -> None:
    given([VOTES[:4]], book, design)
    with pytest.raises(darrm.InputError, match="in row 1"):
        given([np.vstack([VOTES[:1], np.full((1, 3), 7), VOTES[:4]])], book, design)


def test_streams_have_names(book: Ledger, design: darrm.Design) -> None:
    assert given([VOTES[:4]], book, design) == given([VOTES[:4]], book, design, stream="tuesday") == [4]
    assert book.status()["streams"] == {"": 4, "tuesday": 4}
    with pytest.raises(darrm.InputError, match="stream must be a text"):
        given([VOTES], book, design, stream="two\nlines")


def test_a_stream_is_one_for_all_designs(tmp_path: Path, design: darrm.Design, tighter: darrm.Design) -> None:
    book = Ledger.create(tmp_path / "l.json", voters="fresh", rule="basic-filter", **BUDGET)
    given([VOTES[:4]], book, design)
    with pytest.warns(ResumedStreamWarning):
        assert given([VOTES[:6]], book, tighter) == [2]


def test_a_stream_is_released_again_if_told(tmp_path: Path, book: Ledger, design: darrm.Design) -> None:
    given([VOTES[:4]], book, design)
    assert given([VOTES[:3], VOTES[3:6]], book, design, again=True) == [3, 3]
    status = book.status()
    assert (status["released"], status["again"], status["streams"]) == (10, 4, {"": 6})
    basic = Ledger.create(tmp_path / "b.json", voters="fresh", rule="basic-filter", **BUDGET)
    given([VOTES[:4]], basic, design)
    with pytest.raises(darrm.BudgetError, match="4 of the rows have a label"):
        given([VOTES[:6]], basic, design, again=True)


def test_two_at_once_do_not_release_the_same_rows(book: Ledger, design: darrm.Design) -> None:
    mechanism = darrm.mechanisms.DaRRM(design)
    blocks = [VOTES[:3], VOTES[3:6], VOTES[6:9]]
    one, two = (mechanism.release_blocks(blocks, ledger=book) for _ in range(2))
    next(one)
    with pytest.warns(ResumedStreamWarning, match="first 3 rows"):
        next(two)
    with pytest.raises(darrm.InputError, match=r"has charged for 6 rows of the stream .* this is row 3"):
        next(one)
    next(two)
    assert book.status()["released"] == 9


def test_a_ledger_that_was_put_back_does_not_go_on(book: Ledger, design: darrm.Design) -> None:
    older = book.path.read_bytes()
    labels = darrm.mechanisms.DaRRM(design).release_blocks([VOTES[:3], VOTES[3:6]], ledger=book)
    next(labels)
    book.path.write_bytes(older)
    with pytest.raises(darrm.InputError, match="has charged for 0 rows"):
        next(labels)


@pytest.mark.thorough
def test_blocks_with_ids_go_on_by_their_ids(book: Ledger, design: darrm.Design) -> None:
    assert given([block(["a", "b"]), block(["c"])], book, design) == [2, 1]
    with pytest.warns(ResumedStreamWarning, match="from id 'a' on, were charged before"):
        assert given([block(["a"]), block(["b", "c", "d"])], book, design) == [1]
    assert book.status()["streams"] == {}
    before = book.path.read_bytes()
    for blocks in ([block(["e", "a"])], [block(["e"]), block(["a"])], [block(["a", "e", "b"])]):
        with pytest.raises(darrm.InputError, match=r"One id was charged before: '[ab]'"):
            given(blocks, Ledger(shutil_copy(book)), design)
    assert book.path.read_bytes() == before
    assert given([block(["a", "f"])], book, design, again=True) == [2]
    assert book.status()["again"] == 1


def shutil_copy(book: Ledger) -> Path:
    """A copy of a ledger with its ids."""
    other = book.path.with_name("copy.json")
    shutil.copy(book.path, other)
    return other


def test_blocks_of_a_file(book: Ledger, design: darrm.Design, tmp_path: Path) -> None:
    (tmp_path / "ids.csv").write_text("id,a,b,c\nx,1,1,0\ny,0,1,0\n", encoding="utf-8")
    (tmp_path / "rows.csv").write_text("a,b,c\n1,1,0\n0,1,0\n", encoding="utf-8")
    for name in ("rows.csv", "ids.csv"):
        assert given(votes.blocks(tmp_path / name), book, design) == [2]
    assert (book.status()["ids"], book.status()["streams"]) == (2, {"": 2})
    for name in ("rows.csv", "ids.csv"):
        with pytest.warns(ResumedStreamWarning):
            assert given(votes.blocks(tmp_path / name), book, design) == []


def test_blocks_of_named_voters_come_by_name(tmp_path: Path) -> None:
    design = darrm.solve(
        darrm.DecisionProblem([VoterGroup(2, 1.0, names=("ann", "bob"))], epsilon=1.0),
        objective=darrm.objectives.truth([0.8]),
    )
    mechanism = darrm.mechanisms.PrivateDecision(design)
    (tmp_path / "v.csv").write_text("bob,ann\n1,0\n", encoding="utf-8")
    with pytest.raises(darrm.InputError, match="voters of the design, by name"):
        next(mechanism.release_blocks(votes.blocks(tmp_path / "v.csv")))
    assert len(next(mechanism.release_blocks(votes.blocks(tmp_path / "v.csv", voters=("ann", "bob"))))) == 1


# Files that were edited


@pytest.mark.parametrize(
    "entries",
    [
        {"streams": {"": 0}},
        {"streams": {"": 4}},
        {"streams": {"": 1.0}},
        {"streams": {"a\nb": 1}},
        {"again": 4},
        {"again": True},
        {"again": -1},
        {"ids": 4},
        {"ids": -1},
        {"ids": True},
        {"ids": None},
        {"ids": []},
        {"by_key": 1},
        {"by_key": -1},
        {"by_key": True},
    ],
    ids=str,
)
def test_what_no_ledger_says_is_refused(book: Ledger, design: darrm.Design, entries: dict[str, Any]) -> None:
    book.charge(design, 3)
    ledgers.forge(book.path, {**ledgers.content(book.path), **entries})
    with pytest.raises(darrm.InputError, match="is not a complete ledger"):
        book.status()

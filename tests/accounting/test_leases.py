"""Labels that are taken in advance: never more than the budget, and what was not released is given back."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from ledgers import FAST, PROGRAMS

import darrm
from darrm.accounting import Ledger
from darrm.accounting.ledger_ids import Batch

BUDGET: dict[str, Any] = {"total_epsilon": 0.505, "total_delta": 0.0, "voters": "fresh", "rule": "basic-filter"}
ALLOWED = 25  # labels of the design
posix = pytest.mark.skipif(os.name != "posix", reason="needs fork and SIGKILL")


@pytest.fixture(scope="module")
def design() -> darrm.Design:
    return darrm.solve(K=5, m=2, epsilon=0.01)


@pytest.fixture
def book(tmp_path: Path, design: darrm.Design) -> Ledger:
    return Ledger.create(tmp_path / "ledger.db", design, **BUDGET)


def test_what_was_not_taken_is_given_back(book: Ledger, design: darrm.Design) -> None:
    assert book.remaining(design) == ALLOWED
    with book.lease(design, 10, note="of one worker") as lease:
        assert (lease.left, book.remaining(design)) == (10, ALLOWED - 10)
        lease.take()
        lease.take(3)
        with pytest.raises(darrm.BudgetError, match=r"7 more labels would be beyond this lease of 10\. 6 are left"):
            lease.take(7)
        assert lease.left == 6
    assert (lease.left, book.released(design)) == (0, 4)
    with pytest.raises(darrm.InputError, match="This lease has ended"):
        lease.take()
    lease.close()
    assert [(charge["n"], charge["lease"], charge["note"]) for charge in book.history()] == [
        (10, 1, "of one worker"),
        (-6, 1, "of one worker"),
    ]
    with pytest.raises(darrm.BudgetError):
        book.lease(design, ALLOWED - 3)
    with book.lease(design, ALLOWED - 4) as rest:
        rest.take(ALLOWED - 4)
    assert book.remaining(design) == 0
    assert len(book.history()) == 3  # nothing was left to give back
    assert book.spent() == (pytest.approx(0.5), 0.0)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_fails_gives_back_the_rest(book: Ledger, design: darrm.Design, error: type[BaseException]) -> None:
    def failing() -> None:
        with book.lease(design, 10) as lease:
            lease.take(2)
            raise error

    with pytest.raises(error):
        failing()
    assert book.released(design) == 2


def test_ids_that_were_not_taken_can_be_charged(book: Ledger, design: darrm.Design) -> None:
    with book.lease(design, 4, ids=["a", "b", "c", "d"]) as lease:
        with pytest.raises(darrm.InputError, match="2 ids were charged before, first 'd'"):
            book.charge(design, 3, ids=["d", "x", "a"])
        lease.take(2)
    assert (book.status()["released"], book.status()["ids"]) == (2, 2)
    for name in "ab":
        with pytest.raises(darrm.InputError, match="charged before"):
            book.charge(design, 1, ids=[name])
    book.charge(design, 2, ids=["d", "c"])
    with pytest.raises(darrm.InputError, match="these rows have none"):
        book.lease(design, 1)
    assert sum(charge["ids"] for charge in book.history()) == 4


def test_a_lease_takes_no_labels_by_key(book: Ledger, design: darrm.Design) -> None:
    """Rows of an earlier charge would be given back, although they were not charged, and their tags would stay."""
    with closing(Batch(["a", "b"], bytes(16) + bytes(range(16)))) as batch:
        with pytest.raises(darrm.InputError, match="A lease takes no labels by key"):
            book.lease(design, 2, ids=batch)
        assert (book.history(), book.remaining(design)) == ([], ALLOWED)
        book.charge(design, 2, ids=batch)  # neither an id nor a tag was entered


def test_a_list_that_is_fixed_in_advance_has_no_leases(tmp_path: Path, design: darrm.Design) -> None:
    composed = Ledger.create(tmp_path / "c.db", **{**BUDGET, "rule": "in-advance"})
    with pytest.raises(darrm.InputError, match="fixed in advance"):
        composed.lease(design, 2)


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2"])
def test_counts_are_whole_numbers(book: Ledger, design: darrm.Design, n: Any) -> None:
    with pytest.raises(darrm.InputError, match="n must be an integer"):
        book.lease(design, n)
    with book.lease(design, 2) as lease, pytest.raises(darrm.InputError, match="n must be an integer"):
        lease.take(n)
    assert book.released(design) == 0


def test_threads_share_a_lease(book: Ledger, design: darrm.Design) -> None:
    taken = []

    def take(_: int) -> None:
        try:
            lease.take()
            taken.append(1)
        except darrm.BudgetError:
            pass

    with book.lease(design, 20) as lease, ThreadPoolExecutor(8) as pool:
        list(pool.map(take, range(200)))
    assert len(taken) == book.released(design) == 20


@pytest.mark.thorough
@posix
def test_a_lease_is_of_one_process(book: Ledger, design: darrm.Design) -> None:
    with book.lease(design, 10) as lease:
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(darrm.InputError, match="cannot be copied"):
                copied(lease)  # type: ignore[operator]
        child = os.fork()
        if not child:
            try:
                lease.take()
            except darrm.InputError:
                lease.close()
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert book.released(design) == 10
        lease.take(3)
    assert book.released(design) == 3


def test_what_cannot_be_given_back_stays_charged(
    book: Ledger, design: darrm.Design, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease, connect = book.lease(design, 10), sqlite3.connect
    lease.take(1)

    def full(*given: Any, **named: Any) -> sqlite3.Connection:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(sqlite3, "connect", full)
    with pytest.raises(darrm.OutputError, match="disk is full"):
        lease.close()
    monkeypatch.setattr(sqlite3, "connect", connect)
    assert (lease.left, book.released(design)) == (0, 10)
    with pytest.raises(darrm.InputError, match="has ended"):
        lease.take()
    lease.close()
    lease.close()
    lease._ended = False  # as if the answer of the second call had been lost
    lease.close()
    assert book.released(design) == 1


@posix
@pytest.mark.thorough
def test_leases_of_killed_workers_stay_charged(book: Ledger, design: darrm.Design, tmp_path: Path) -> None:
    """Workers write each label when it was taken; some are killed, others end. Labels never exceed what is charged."""
    design.save(tmp_path / "design.json")
    command = [sys.executable, PROGRAMS / "leasing.py", tmp_path / "design.json", str(book.path)]
    workers = [
        subprocess.Popen([*command, str(n), end], stdout=subprocess.PIPE, env=FAST, text=True)
        for n, end in ((6, "killed"), (5, "ended"), (7, "killed"))
    ]
    lines = [worker.communicate(timeout=120)[0].splitlines() for worker in workers]
    assert [worker.returncode for worker in workers] == [-signal.SIGKILL, 0, -signal.SIGKILL]
    assert [len(own) for own in lines] == [2, 2, 2]
    assert book.released(design) == 6 + 2 + 7  # those of the killed ones count whole
    assert book.remaining(design) == ALLOWED - 15


def test_a_ledger_that_never_charged_a_lease_gets_nothing_back(book: Ledger, design: darrm.Design) -> None:
    """A copy from before the lease is put back; what others charged stays charged."""
    book.charge(design, 8)
    before = Path(book.path).read_bytes()
    lease = book.lease(design, 10)
    lease.take(5)
    Path(book.path).write_bytes(before)
    with pytest.raises(darrm.InputError, match="has no charge of this lease"):
        lease.close()
    assert book.released(design) == 8


def test_an_id_that_was_charged_again_stays_when_its_lease_is_given_back(tmp_path: Path) -> None:
    design = darrm.solve(K=5, m=1, epsilon=0.1, max_affected=1)
    book = Ledger.create(tmp_path / "fixed.db", design, total_epsilon=9.0, total_delta=0.0, voters="fixed")
    with book.lease(design, 2, ids=["a", "b"]) as lease:
        book.charge(design, ids=["b"], again=True)
        assert (lease.take(), lease.left) == (0, 1)
    with pytest.raises(darrm.errors.RepeatedIdError):
        book.charge(design, ids=["b"])

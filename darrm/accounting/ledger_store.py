"""Where a ledger is kept: its state and its history in a database, both sealed.

A charge is one transaction: the row of the history, the ids of its labels and the new state take effect together, or
not at all. The seal of the state is a checksum of its text; that of a charge also covers the charge before it, and the
state holds the last one, and the number of digests of ids. So a change of the state or of a charge without the others
is found, and ids that were deleted are; a digest itself has no seal.
Checksums are no secret: whoever may write can also seal.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from darrm.accounting.ledger_state import (
    AGAIN,
    NO_SECOND,
    NOTHING_CHARGED,
    State,
    Waiting,
    content_of,
    state_of,
)
from darrm.errors import ExistsError, InputError, OutputError, RecoveredLabelsWarning
from darrm.storage.atomic import Part, keep_names, move, resolved
from darrm.storage.databases import Run, SqliteFile, UnsettledError
from darrm.storage.locks import locked
from darrm.storage.postgres import PostgresSchema, is_url
from darrm.storage.sealed_json import parsed

TABLES = (
    "CREATE TABLE ledger (one BIGINT PRIMARY KEY CHECK (one = 1), content TEXT NOT NULL, seal TEXT NOT NULL)",
    "CREATE TABLE charges (number BIGINT PRIMARY KEY, time TEXT, host TEXT, account TEXT NOT NULL, n BIGINT NOT NULL, "
    "note TEXT NOT NULL, stream TEXT, ids BIGINT NOT NULL, ids_digest TEXT, lease BIGINT, seal TEXT NOT NULL)",
    "CREATE TABLE charged (digest BYTEA PRIMARY KEY, number BIGINT NOT NULL)",
)
_FIX = f"{NOTHING_CHARGED} {NO_SECOND}"


@dataclass(frozen=True)
class Charge:
    """A row of the history of a ledger.

    Attributes
    ----------
    number : int
        1 for the first.
    time : str or None
        In UTC, by the clock of the server or, for a file, of the host. None if an earlier darrm charged, which kept no
        times.
    host : str or None
        The name of that host.
    account : str
        The digest of the design, or of another mechanism.
    n : int
        Number of labels, or of uses; negative if they were given back.
    note : str
    stream : str or None
        The name of the stream of rows without ids.
    ids : int
        Number of labels with ids.
    ids_digest : str or None
        BLAKE2b of the digests of these ids, in the order of the labels.
    lease : int or None
        The number of the lease that was taken or, with a negative ``n``, given back.
    """

    number: int
    time: str | None
    host: str | None
    account: str
    n: int
    note: str
    stream: str | None = None
    ids: int = 0
    ids_digest: str | None = None
    lease: int | None = None

    def seal(self, before: str) -> str:
        """The seal after that of the charge ``before``."""
        return _sealed(json.dumps([before, *astuple(self)], default=repr))


_COLUMNS = ", ".join(entry.name for entry in fields(Charge))


class Change:
    """A transaction that may change a ledger: its state, and charges that are added to its history."""

    def __init__(self, run: Run, state: State, now: Callable[[Run], datetime], path: Path | str) -> None:
        self.run, self.state, self.path, self._now = run, state, path, now

    @property
    def number(self) -> int:
        """The number of the next charge."""
        return self.state.charges + 1

    def add(self, account: str, n: int, note: str, **more: Any) -> None:
        """Add a charge to the history."""
        now = self._now(self.run).isoformat(timespec="microseconds").replace("+00:00", "Z")
        self.append(Charge(self.number, now, socket.gethostname(), account, n, note, **more))

    def count_rows(self, more: int) -> None:
        """Note that ``more`` digests were entered, or deleted if negative; those of an earlier darrm are counted."""
        state = self.state
        state.rows = state.rows + more if state.rows else _rows(self.run)

    def append(self, charge: Charge) -> None:
        """Add this charge to the history, sealed."""
        state = self.state
        state.charges, state.chain = charge.number, charge.seal(state.chain)
        values = (*astuple(charge), state.chain)
        self.run(f"INSERT INTO charges ({_COLUMNS}, seal) VALUES ({', '.join('?' * len(values))})", values)


class Store:
    """A ledger in a database."""

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self._db: SqliteFile | PostgresSchema
        if isinstance(place, str) and is_url(place):
            self._db = PostgresSchema(place, "ledger", _FIX)
        else:
            self._db = SqliteFile(path_of(place), "ledger", _FIX)
        self.path: Path | str = self._db.path
        self.exists = self._db.exists

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the ledger, which nothing else may replace."""
        path = self.path
        if isinstance(path, str):
            return ()
        return path, *(path.with_name(path.name + ending) for ending in ("-journal", "-wal", "-shm", ".lock"))

    def create(self, state: State, fill: Callable[[Change], None] = lambda change: None) -> None:
        """Make the ledger, and add to it what ``fill`` does; `ExistsError` if there is one."""

        def filled(run: Run) -> None:
            run("INSERT INTO ledger VALUES (1, '', '')")
            fill(Change(run, state, self._db.now, self.path))
            _write(run, state)

        self._db.create(TABLES, filled, self._taken)

    def check_new(self) -> None:
        """Raise now the `ExistsError` that `create` would raise after a total was composed."""
        if self.exists():
            raise ExistsError(self._taken)

    @property
    def _taken(self) -> str:
        return (
            f"{self.path} exists already. Use it: a second ledger for the same voters would be no guarantee. For other "
            f"voters pass another {'path' if isinstance(self.path, Path) else 'schema, behind the # of the URL'}."
        )

    def read(self) -> State:
        """The state; interrupted moves of labels to their names are finished first.

        Raises
        ------
        InputError
            If the ledger is missing, foreign, truncated or edited, or has a second name.
        """
        with self._db.transaction(TABLES, write=False) as run:
            state = self._state(run)
        if any(self._recovered(waiting) for waiting in state.leaving):
            return self.read()
        return state

    @contextmanager
    def changing(self) -> Iterator[Change]:
        """A transaction: what the block changes is on disk when it ends well, and nothing is changed otherwise.

        Raises
        ------
        InputError
            As `read`.
        OutputError
            If the database cannot be written.
        """
        try:
            with self._db.transaction(TABLES, write=True) as run:
                change = Change(run, self._state(run, self._db.locks), self._db.now, self.path)
                before = change.state.charges, list(change.state.leaving)
                yield change
                if (change.state.charges, change.state.leaving) != before:
                    _write(run, change.state)
        except UnsettledError:
            if change.state.charges == before[0] or not self._has(change.state):
                raise

    def _has(self, state: State) -> bool:
        """Whether the transaction of the last charge of ``state`` took effect, although its end failed.

        Others may have charged since.
        """
        try:
            with self._settled() as run:
                found = run("SELECT seal FROM charges WHERE number = ?", (state.charges,)).fetchall()
                return bool(found == [(state.chain,)])
        except (InputError, OutputError) as error:
            raise OutputError(
                f"{self.path} may have the last charge, or not: its end failed, and it could not be read then. Look at "
                "its charges before you charge again: darrm ledger show."
            ) from error

    @contextmanager
    def _settled(self) -> Iterator[Run]:
        """A transaction that changes nothing, and begins when all others have ended: a server may still be at one."""
        with self._db.transaction(TABLES, write=bool(self._db.locks)) as run:
            self._state(run, self._db.locks)
            yield run

    def history(self) -> tuple[State, list[Charge]]:
        """The state, and all charges that led to it; `InputError` if they are others."""
        with self._db.transaction(TABLES, write=False) as run:
            state, rows = self._state(run), run(f"SELECT {_COLUMNS}, seal FROM charges ORDER BY number").fetchall()
            digests = _rows(run)
        charges, chain, sums = [], "", dict.fromkeys(state.accounts, 0)
        for at, (*values, seal) in enumerate(rows, 1):
            charge = Charge(*values)
            chain = charge.seal(chain)
            known = charge.number == at and charge.account in sums and type(charge.n) is int and charge.n
            known = known and type(charge.ids) is int
            if seal != chain or not known or not (isinstance(charge.note, str) and charge.note.isprintable()):
                raise self._edited(f"charge {at} does not match its seal")
            sums[charge.account] += charge.n
            charges.append(charge)
        if (len(charges), chain) != (state.charges, state.chain):
            raise self._edited(f"it has {len(charges)} charges of {state.charges}")
        if sums != {name: account.charged for name, account in state.accounts.items()}:
            raise self._edited("its charges and its counts differ")
        ids = sum(charge.ids for charge in charges)
        if ids > state.ids or (ids < state.ids and all(charge.time for charge in charges)):  # imported ones have none
            raise self._edited(f"its charges have {ids} labels with ids of {state.ids}")
        if digests != state.rows if state.rows else state.ids and not digests:
            raise self._edited(f"it has {digests} digests of ids of {state.rows or state.ids}")
        return state, charges

    def _state(self, run: Run, locks: str = "") -> State:
        """The state, checked against its seal and the last charge."""
        rows = run(f"SELECT content, seal FROM ledger{locks}").fetchall()
        if len(rows) != 1 or not isinstance(rows[0][0], str) or _sealed(rows[0][0]) != rows[0][1]:
            raise self._edited("its checksum does not match")
        try:
            content = parsed(rows[0][0])
        except ValueError as error:
            raise InputError(f"{self.path} is not a whole ledger ({error}). {AGAIN}") from error
        state = state_of(content, self.path)
        last = run("SELECT number, seal FROM charges ORDER BY number DESC LIMIT 1").fetchall()
        if last != ([(state.charges, state.chain)] if state.charges else []):
            raise self._edited("its last charge is another one")
        return state

    def _edited(self, how: str) -> InputError:
        return InputError(f"{self.path} was changed after it was written: {how}. {AGAIN}")

    # Labels that are charged, and wait for their name

    @contextmanager
    def leaving(self, part: Part, out: Path) -> Iterator[Waiting]:
        """Finished labels that wait for their name ``out``: the block charges them, and records that they wait.

        If the charge does not reach the disk, the labels are deleted. A lock beside them tells other processes that
        this one is alive and moves them itself.
        """
        place = part.path.with_suffix(".waiting")
        waiting = Waiting(os.path.abspath(place), os.path.abspath(out), self.host)
        with locked(place):
            os.rename(part.path, place)
            try:
                keep_names(place.parent)  # the charge must not outlive the labels
                yield waiting
            except BaseException:
                if not self._is_charged(waiting):
                    os.unlink(place)
                raise
            try:
                move(place, out)
                self._settle(waiting)
            except OSError as error:
                raise OutputError(
                    f"Charged labels wait in {waiting.part} ({error.strerror or error}). Do not release them again. "
                    "Remove the cause: the next use of the ledger moves them to their name."
                ) from error

    @property
    def host(self) -> str:
        """The host in whose folders labels wait: "" for a file, since whoever opens it sees the same disk."""
        return socket.gethostname() if isinstance(self.path, str) else ""

    def _settle(self, waiting: Waiting) -> None:
        """Remove labels from the waiting ones."""
        with self.changing() as change:
            if waiting in change.state.leaving:
                change.state.leaving.remove(waiting)

    def _is_charged(self, waiting: Waiting) -> bool:
        """Whether the ledger has the charge for these labels, because a write can fail after it took effect."""
        try:
            with self._settled() as run:
                return waiting in self._state(run).leaving
        except (InputError, OutputError):
            return True

    def _recovered(self, waiting: Waiting) -> bool:
        """Finish the move of labels whose process has ended; returns whether that is done."""
        part = Path(waiting.part)
        if waiting.host != self.host or not part.parent.is_dir():  # it may come back with the labels
            return False
        try:
            with locked(part, wait=False), self.changing() as change:
                if waiting not in change.state.leaving:  # another process was faster
                    return True
                end = _finished(waiting)
                if end:
                    change.state.leaving.remove(waiting)
        except OutputError:  # of a process that is alive, or who may only read leaves that to the next one
            return False
        if end:
            warnings.warn(end, RecoveredLabelsWarning, stacklevel=4)
        return bool(end)


def _rows(run: Run) -> int:
    """The number of digests."""
    ((found,),) = run("SELECT count(*) FROM charged").fetchall()
    return int(found)


def _write(run: Run, state: State) -> None:
    text = json.dumps(content_of(state), allow_nan=False)
    state_of(json.loads(text), "what was to be written")  # else nothing could read the ledger again
    run("UPDATE ledger SET content = ?, seal = ?", (text, _sealed(text)))


def _sealed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def path_of(path: str | os.PathLike[str]) -> Path:
    """The resolved path of a ledger."""
    try:
        target = resolved(path)
        is_folder = target.is_dir()
        Path(f"{target}-journal").exists()  # which a charge makes: raises if that name is too long
    except (TypeError, ValueError, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path!r} cannot be the path of a ledger ({reason}). Pass another path.") from None
    if not target.name or not os.fspath(path) or is_folder:
        raise InputError(f"{os.fspath(path)!r} cannot be the path of a ledger: it is a folder or no name.")
    return target


def _finished(waiting: Waiting) -> str:
    """Move charged labels to their name, or to another if it is taken; returns what became of them, if that is done."""
    part, out = Path(waiting.part), Path(waiting.out)
    try:
        part.lstat()
    except FileNotFoundError:
        if os.path.exists(out):
            return f"An interrupted release charged its labels: they are in {out}."
        return f"An interrupted release charged labels that are gone: neither {part} nor {out} is there. They count."
    except OSError:  # in a folder that others can read
        return ""
    try:
        if out.exists() or out.is_symlink():
            out = out.with_name(f"{out.name}.{part.stem.rpartition('.')[2]}")
        move(part, out)
    except OSError:
        return ""
    return f"An interrupted release charged its labels: they are in {out} now. Do not release them again."

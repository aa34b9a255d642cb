"""Databases in SQLite files, with transactions that are on disk when they end; `darrm.storage.postgres` has others."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from darrm.errors import ExistsError, InputError, OutputError
from darrm.storage.atomic import move, part_of
from darrm.storage.kinds import check_kind
from darrm.storage.locks import locked

Run: TypeAlias = Callable[..., Any]  # a statement with ? for each value; returns a cursor
APPLICATION = 0x6441524D  # of the header of SQLite: dARM
_WAIT = 600.0  # seconds for another transaction to end


class UnsettledError(OutputError):
    """A transaction may be on disk, or not: its end failed. Look whether it is there."""


class SqliteFile:
    """A database in a file, with a rollback journal.

    The journal makes the file whole at rest: a copy of it alone has every transaction, where a write-ahead log keeps
    the last ones in a second file. It also lets people read who may not write. ``synchronous = EXTRA`` also has the end
    of the journal on disk: with FULL a transaction that has ended can be undone by a loss of power.

    Nothing here opens the file without SQLite, because closing it would end the locks of other threads.
    """

    locks = ""  # what makes a SELECT keep others from writing, which BEGIN IMMEDIATE does already

    def __init__(self, path: Path, kind: str, remedy: str) -> None:
        self.path, self._kind, self._remedy = path, kind, remedy

    def exists(self) -> bool:
        """Whether there is a file."""
        return self.path.exists()

    def now(self, run: Run) -> datetime:
        """The time by the clock of this host."""
        return datetime.now(UTC)

    def create(self, tables: Sequence[str], fill: Callable[[Run], None], exists: str) -> None:
        """Make the database, whole or not at all; `ExistsError` with the text ``exists`` if there is a file."""
        with locked(self.path, remedy=self._remedy), part_of(self.path, self._remedy) as part:
            if self.path.exists():
                raise ExistsError(exists)
            part.file.close()
            with self._blaming(self.path, write=True), _connected(part.path, write=True) as run:
                run(f"PRAGMA application_id = {APPLICATION}")
                for table in tables:
                    run(_typed(table))
                fill(run)
            move(part.path, self.path)

    @contextmanager
    def transaction(self, tables: Sequence[str], *, write: bool) -> Iterator[Run]:
        """Statements that take effect together when the block ends well; on disk then.

        Raises
        ------
        InputError
            If there is no such database, or it has other tables.
        OutputError
            If it cannot be written.
        """
        path = self.path
        if not path.is_file():
            what = "is not a file" if path.exists() else "No such file or directory"
            raise InputError(f"{path} could not be read: {what}. Pass the path of a {self._kind}.")
        if path.stat().st_nlink > 1:  # the journal would be found by one name only
            raise InputError(f"{path} has a second name (a hard link), so it cannot be written safely. Remove it.")
        with self._blaming(path, write=write), _connected(path, write=write) as run:
            found = {sql for (sql,) in run("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
            if found != {_typed(table) for table in tables}:
                raise InputError(f"{path} is not a {self._kind}: it has other tables. Pass the path of one.")
            (mode,) = run("PRAGMA journal_mode").fetchone()
            if mode != "delete":  # its last transactions would be in a second file
                raise InputError(
                    f'{path} has journal mode "{mode}", and a {self._kind} has "delete". Set it back: sqlite3 FILE '
                    '"PRAGMA journal_mode = delete".'
                )
            (pages,), (size,) = run("PRAGMA page_count").fetchone(), run("PRAGMA page_size").fetchone()
            if path.stat().st_size < pages * size:
                raise InputError(f"{path} is not a whole {self._kind}: its end is missing. {self._remedy}")
            yield run

    @contextmanager
    def _blaming(self, path: Path, *, write: bool) -> Iterator[None]:
        """Convert errors of SQLite and of the disk to those of darrm."""
        try:
            yield
        except sqlite3.OperationalError as error:  # the disk, the rights, or another program that holds the file
            if isinstance(error, _Unsettled):
                raise UnsettledError(f"{path} could not be written: {error}. {self._remedy}") from error
            if not write:
                raise InputError(f"{path} could not be read: {error}. Pass the path of a {self._kind}.") from error
            raise OutputError(f"{path} could not be written: {error}. {self._remedy}") from error
        except sqlite3.DatabaseError as error:
            check_kind(path, self._kind)
            raise InputError(f"{path} is not a whole {self._kind} ({error}). {self._remedy}") from error


class _Unsettled(sqlite3.OperationalError):
    """An error at the end of a transaction."""


@contextmanager
def _connected(path: Path, *, write: bool) -> Iterator[Run]:
    """A transaction of SQLite."""
    db = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=1)
    try:
        run = partial(_patiently, db)
        for setting in ("synchronous = EXTRA", "trusted_schema = OFF", "cache_size = -16384"):
            run(f"PRAGMA {setting}")
        run("BEGIN IMMEDIATE" if write else "BEGIN")
        yield run
        try:
            run("COMMIT")
        except sqlite3.OperationalError as error:
            raise _Unsettled(str(error)) from error
    finally:
        with suppress(sqlite3.Error):
            if db.in_transaction:
                db.execute("ROLLBACK")
        db.close()


def _patiently(db: sqlite3.Connection, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
    """Execute a statement; any may have to wait for other processes. An interrupt ends the wait."""
    end = time.monotonic() + _WAIT
    while True:
        try:
            return db.execute(statement, values)
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > end:
                raise
            time.sleep(random.uniform(0, 0.005))


def _typed(table: str) -> str:
    """A table in the types of SQLite."""
    end = " WITHOUT ROWID" if "BYTEA PRIMARY KEY" in table else ""
    return table.replace("BYTEA", "BLOB").replace("BIGINT", "INTEGER") + end

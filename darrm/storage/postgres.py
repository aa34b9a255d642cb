"""Databases on a PostgreSQL server: a schema each, with transactions that are on the server's disk when they end."""

from __future__ import annotations

import atexit
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from darrm.errors import ExistsError, InputError, MissingExtraError, OutputError
from darrm.storage.databases import Run, UnsettledError

SCHEMES = ("postgresql://", "postgres://")
_OTHER = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # such as SQLAlchemy's postgresql+psycopg://
_SCHEMA = "darrm"  # of a URL that names none
_EVERYWHERE = ("postgres", "template1")  # databases of nearly every server
# A host that is gone keeps its lock for a minute; one that hangs, or computes on, for ten.
_ALIVE = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
_OPTIONS: dict[str, Any] = {"application_name": "darrm", "prepare_threshold": None, **_ALIVE}
_SETTINGS = {
    **{f"tcp_{name}": str(value) for name, value in _ALIVE.items() if name.startswith("keepalives")},
    "idle_in_transaction_session_timeout": "600s",
    "lock_timeout": "600s",
}
# The end of a transaction waits for the disk, whatever the server's own setting is.
_DURABLE = (
    "set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on' "
    "ELSE current_setting('synchronous_commit') END, true), current_setting('fsync')"
)

_KEPT: dict[tuple[int, int, str], Any] = {}  # open connections


@atexit.register
def _close() -> None:
    for (process, *_), connection in _KEPT.items():
        if process == os.getpid():  # else it is that of the process that forked
            connection.close()


def is_url(place: str) -> bool:
    """Whether a place is the URL of a server, and no path; `InputError` for a URL of another scheme."""
    if place.startswith(SCHEMES):
        return True
    if _OTHER.match(place):
        scheme = place.partition("://")[0]
        raise InputError(f"{scheme}:// is not read here. Pass postgresql://user@host:5432/database#schema, or a path.")
    return False


class PostgresSchema:
    """A database in a schema of a PostgreSQL server.

    ``postgresql://user@host:5432/database#schema``, as libpq reads it, with the schema behind it [darrm]. A password
    belongs in ``~/.pgpass`` or ``PGPASSWORD``; one in the URL is not printed.
    """

    locks = " FOR UPDATE"  # a SELECT of the one row of the state keeps others from writing

    def __init__(self, url: str, kind: str, remedy: str) -> None:
        try:
            parts = urlsplit(url)
        except ValueError as error:
            raise InputError(
                f"The URL of a {kind} must be postgresql://user@host:5432/database#schema ({error})."
            ) from None
        behind = parts._replace(scheme="", netloc="").geturl()
        if ":" in parts.netloc and "@" not in parts.netloc and "@" in behind:  # else a password would be printed
            raise InputError(
                f"The URL of a {kind} has @ behind its host, as if its password had one of / ? #. Write them, and @ in "
                "other places, as %2F %3F %23 %40, or pass the password in PGPASSWORD."
            )
        self._schema = parts.fragment or _SCHEMA
        if not re.fullmatch(r"(?!pg_)[a-z_][a-z0-9_]{0,62}", self._schema):
            raise InputError(
                f"The schema of a {kind} must be small letters, digits and _. Got {self._schema!r}, behind the # of "
                "its URL."
            )
        self._url = urlunsplit(parts._replace(fragment=""))
        user, at, host = parts.netloc.rpartition("@")
        secrets = [user.partition(":")[2], *(value for name, value in parse_qsl(parts.query) if "pass" in name)]
        self._secrets = [secret for secret in secrets if secret]
        query = urlencode([(name, value) for name, value in parse_qsl(parts.query) if "pass" not in name])
        shown = parts._replace(netloc=user.partition(":")[0] + at + host, query=query)
        self.path = urlunsplit(shown)
        self._kind, self._remedy = kind, remedy

    def exists(self) -> bool:
        """Whether there is such a database."""
        with self._transaction(write=False) as run:
            (found,) = run("SELECT to_regclass(?) IS NOT NULL", (f"{self._schema}.ledger",)).fetchone()
            return bool(found)

    def create(self, tables: Sequence[str], fill: Callable[[Run], None], exists: str) -> None:
        """Make the database, whole or not at all; `ExistsError` with the text ``exists`` if there is one."""
        psycopg = _psycopg()
        try:
            with self._transaction(write=True) as run:
                if not run("SELECT 1 FROM pg_namespace WHERE nspname = ?", (self._schema,)).fetchall():
                    run(f"CREATE SCHEMA {self._schema}")
                for table in tables:
                    run(table)
                fill(run)
        except OutputError as error:
            made = psycopg.errors.DuplicateSchema, psycopg.errors.DuplicateTable, psycopg.errors.UniqueViolation
            if isinstance(error.__cause__, made):
                raise ExistsError(exists) from None
            raise

    @contextmanager
    def transaction(self, tables: Sequence[str], *, write: bool) -> Iterator[Run]:
        """Statements that take effect together when the block ends well; on the server's disk then.

        Raises
        ------
        InputError
            If there is no such database.
        OutputError
            If the server cannot be reached, or refuses.
        """
        with self._transaction(write=write) as run:
            yield run

    def now(self, run: Run) -> datetime:
        """The time by the server's clock, which all hosts share."""
        (time,) = run("SELECT clock_timestamp() AT TIME ZONE 'UTC'").fetchone()
        return time.replace(tzinfo=UTC)  # type: ignore[no-any-return]

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[Run]:
        psycopg = _psycopg()
        connection, ends = None, False
        try:
            connection, fsync = self._begun(psycopg, write=write)
            if fsync == "off":
                raise InputError(
                    f"The server of {self.path} has fsync = off, so a crash can undo charges. Set it to on, or use "
                    "another server."
                )
            yield lambda statement, values=(): connection.execute(statement.replace("?", "%s"), values)
            ends = True
            connection.commit()
        except psycopg.errors.UndefinedTable as error:
            raise InputError(
                f"{self.path} has no {self._kind} in the schema {self._schema}. Pass the URL of one, or make one. Run: "
                f"darrm {self._kind} create --help"
            ) from error
        except UnicodeDecodeError:
            raise InputError(f"{self.path} cannot be used: what its %-codes stand for is not UTF-8.") from None
        except psycopg.Error as error:
            said = " ".join(str(error).split()) or type(error).__name__
            for secret in self._secrets:  # libpq repeats what it cannot read
                said = said.replace(secret, "...")
            if connection is None and self._is_wrong(psycopg, error):
                raise InputError(
                    f"{self.path} cannot be used: {said}. Pass the URL of a database that is there: "
                    "postgresql://user@host:5432/database#schema"
                ) from None
            kind = UnsettledError if ends and write else OutputError
            raise kind(f"{self.path} could not be {'written' if write else 'read'}: {said}. {self._remedy}") from error
        finally:
            if connection is not None:
                try:
                    connection.rollback()
                    _KEPT[self._key] = connection
                except psycopg.Error:
                    connection.close()

    def _is_wrong(self, psycopg: Any, error: Any) -> bool:
        """Whether no retry helps a URL: libpq cannot read it, or the server has no such database.

        libpq gives no SQLSTATE for a connection that fails, and the server's text is in its own language. So the server
        is asked in another database; one that lets nobody in there counts as worth a retry.
        """
        if isinstance(error, psycopg.ProgrammingError):
            return True
        ports = str(psycopg.conninfo.conninfo_to_dict(self._url).get("port") or 1).split(",")
        if not all(port.strip().isdecimal() and 0 < int(port) < 1 << 16 for port in ports if port):
            return True
        name = error.pgconn.db.decode() if error.pgconn else ""
        for other in _EVERYWHERE if name else ():
            with suppress(psycopg.Error), psycopg.connect(self._url, dbname=other, **_OPTIONS) as asked:
                return not asked.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchall()
        return False

    @property
    def _key(self) -> tuple[int, int, str]:
        """Each thread of each process has a connection of its own."""
        return os.getpid(), threading.get_ident(), self._url

    def _begun(self, psycopg: Any, *, write: bool) -> tuple[Any, str]:
        """A connection in a transaction, and the server's setting fsync; the last one of this thread if it still works.

        A connection takes longer than a charge.
        """
        settings = {**_SETTINGS, "search_path": self._schema}
        local = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings.items())
        levels = psycopg.IsolationLevel
        while True:
            kept = _KEPT.pop(self._key, None)
            try:
                connection = kept or psycopg.connect(self._url, **_OPTIONS)
                connection.isolation_level = levels.READ_COMMITTED if write else levels.REPEATABLE_READ
                connection.read_only = not write
                *_, fsync = connection.execute(f"SELECT {local}, {_DURABLE}").fetchone()
                return connection, fsync
            except psycopg.OperationalError:
                if kept is None:
                    raise  # else the server was started again


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError("A PostgreSQL server needs psycopg. Run: pip install 'darrm[postgres]'.") from None
    return psycopg

"""The ids of charged labels, as digests in a file beside the ledger, so that no id is charged twice.

Ids are public, so a refusal reveals nothing. The file is an SQLite database, and the ledger records the number of
charged batches of ids. A batch is on disk before the ledger records it. After a crash between the two, the batch has a
number that the ledger does not know, and the next charge deletes it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm._validation import shown
from darrm.accounting.ledger_file import NOTHING_CHARGED, KeptIds, State, ids_of
from darrm.errors import InputError, OutputError, RepeatedIdError
from darrm.votes.ids import as_compared, hint_of
from darrm.votes.rows import Texts

APPLICATION, _VERSION = 0x6441524D, 1  # of SQLite's header
_DIGEST, _AT_ONCE = 16, 1 << 16  # bytes of a digest; digests that one statement takes
_OLDER = "Restore both files from one copy that is not older. If there is none, the budget counts as spent."
# The rows of a blob of digests, in its order. Named: Python 3.12.1 warns of numbered parameters.
_ROWS = (
    "WITH RECURSIVE at(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM at WHERE i + 1 < :count) "
    f"SELECT substr(:digests, {_DIGEST} * i + 1, {_DIGEST}) AS digest, i FROM at"
)


class Batch:
    """The ids of labels to be charged together: 16 bytes each in memory, the texts on disk.

    They are compared in the form of `darrm.votes.ids.compared_id`.

    Parameters
    ----------
    ids : iterable of str
    tags : bytes, 16 for each id, optional
        Of keyed randomness (`darrm.randomness.keyed`): a row with the tag of a charged row has the same label.

    Attributes
    ----------
    same : int
        The number of rows that were charged before with the same tag, and are not charged again; known when the batch
        is entered.
    """

    def __init__(self, ids: Iterable[str] = (), tags: bytes = b"") -> None:
        self._digests, self.tags, self.same = bytearray(), bytearray(), 0
        self._texts: list[tuple[int, int]] = []  # rows and bytes of each block of the file of texts
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(1 << 20)  # noqa: SIM115  # see close
        try:
            self.add(ids, tags)
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._digests) // _DIGEST

    def close(self) -> None:
        """Delete the file of texts."""
        self._file.close()

    def add(self, ids: Iterable[str], tags: bytes = b"") -> None:
        """Add the ids of further rows, and their tags."""
        texts = ids if isinstance(ids, Texts) else Texts.of(_single(ids))
        normal = as_compared(texts)
        blank = np.flatnonzero(np.diff(normal.ends, prepend=0) == 0)
        if blank.size:
            at = len(self) + int(blank[0]) + 1
            raise InputError(f"The id of label {at} is blank. {NOTHING_CHARGED} Give each row an id, or none.")
        pieces = (normal.data[start:end] for start, end in pairwise([0, *normal.ends.tolist()]))
        self._digests += b"".join(map(_digest, pieces))
        self._file.write(texts.data + texts.ends.tobytes())
        self._texts.append((len(texts), len(texts.data)))
        self.tags += tags

    def check_for(self, labels: int) -> None:
        """`InputError` unless there is one id for each of ``labels`` labels."""
        if len(self) != labels:
            raise InputError(f"There must be one id for each label. Got {len(self)} ids for {labels} labels.")

    def text(self, row: int) -> str:
        """The id of a row."""
        self._file.seek(0)
        for rows, size in self._texts:
            data, ends = self._file.read(size), np.frombuffer(self._file.read(8 * rows), dtype=np.int64)
            if row < rows:
                self._file.seek(0, os.SEEK_END)
                return data[ends[row - 1] if row else 0 : ends[row]].decode()
            row -= rows
        raise IndexError(row)

    def parts(self, rows: NDArray[np.intp], *, tags: bool = False) -> Iterator[tuple[bytes, NDArray[np.intp]]]:
        """The digests (or tags) of some rows and these rows, in order, some thousand at a time."""
        of = self.tags if tags else self._digests
        order = rows[np.argsort(np.frombuffer(of, dtype=f"S{_DIGEST}")[rows])]
        digests = np.frombuffer(of, dtype=f"V{_DIGEST}")
        for first in range(0, len(order), _AT_ONCE):
            rows = order[first : first + _AT_ONCE]
            yield digests[rows].tobytes(), rows


@contextmanager
def batch_of(ids: Iterable[str] | Batch | None) -> Iterator[Batch | None]:
    """The ids of labels as a batch for the block; a batch is returned unchanged."""
    if ids is None or isinstance(ids, Batch):
        yield ids
        return
    with closing(Batch(ids)) as batch:
        yield batch


class Entered(NamedTuple):
    """The result of entering a batch of ids.

    Attributes
    ----------
    skipped : int
        Number of rows at the beginning that were charged before, and are skipped.
    repeated : int
        Number of other rows whose id was charged before.
    """

    skipped: int
    repeated: int


@contextmanager
def entered(path: Path, state: State, batch: Batch, *, again: bool, skip: bool = False) -> Iterator[Entered]:
    """Enter ids beside the ledger at ``path``, whose lock is held; on disk when the block ends without an error.

    ``state`` then records them, and must be written next. ``again`` allows ids that were charged before, ``skip`` skips
    such rows if they are the first ones of the batch. Rows of a batch with tags that were charged with their tags are
    neither charged nor refused: ``batch.same``.

    Raises
    ------
    InputError
        If an id was charged before, unless that is allowed; if the file of ids is missing, foreign or older than the
        ledger.
    OutputError
        If it cannot be written.
    """
    place = ids_of(path)
    with _blaming(place), _opened(place, path, state) as (db, known):
        number, new = known.batches + 1, np.arange(len(batch))
        if batch.tags:
            same = _rows_before(db, batch, new, number, tags=True)
            new, batch.same = np.setdiff1d(new, same), len(same)
        skipped = _leading(db, batch, number) if skip and not again and not batch.tags else 0
        new = new[skipped:]
        repeated = 0
        for tags in (False, True)[: 1 + bool(batch.tags)]:
            for digests, rows in batch.parts(new, tags=tags):
                values = {"digests": digests, "count": len(rows), "batch": number}
                insert = f"INSERT OR IGNORE INTO charged SELECT digest, :batch FROM ({_ROWS})"
                inserted = db.execute(insert, values).rowcount
                repeated += len(rows) - inserted
                if repeated and not again:
                    _refuse(db, batch, new, number)
        yield Entered(skipped, repeated)
        if new.size:
            db.execute("UPDATE about SET last = ?", (number,))
            state.ids = KeptIds(known.token, number, known.labels + len(new))
            db.execute("COMMIT")


@contextmanager
def _opened(place: Path, path: Path, state: State) -> Iterator[tuple[sqlite3.Connection, KeptIds]]:
    """The file of ids in a transaction that the block commits, and the ledger's record of it."""
    if state.ids is None and not place.exists():
        os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.chmod(place, path.stat().st_mode & 0o777)  # it has the permissions of the ledger
    db = sqlite3.connect(place, isolation_level=None)
    try:
        db.execute("PRAGMA synchronous = EXTRA")  # with the name of the journal gone when a batch is on disk
        db.execute("PRAGMA cache_size = -16384")
        db.execute("BEGIN IMMEDIATE")
        yield db, _known(db, place, path, state)
    finally:
        with suppress(sqlite3.Error):
            if db.in_transaction:
                db.execute("ROLLBACK")
        db.close()
        with suppress(OSError):
            if state.ids is None and not place.stat().st_size:
                place.unlink()  # a failed charge leaves the file unchanged


def _known(db: sqlite3.Connection, place: Path, path: Path, state: State) -> KeptIds:
    """The ledger's record of the file; batches beyond the record are deleted."""
    empty = not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    form = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
    if not empty and form != [APPLICATION, _VERSION]:
        raise InputError(
            f"{place} is not a file of ids that this version of darrm reads. {NOTHING_CHARGED} Restore the file of the "
            "ledger."
        )
    token, last = ("", 0) if empty else db.execute("SELECT token, last FROM about").fetchone()
    if state.ids is None:
        if last > 1:
            raise InputError(
                f"{place} holds the ids of another ledger, or {path} is older than it. {NOTHING_CHARGED} {_OLDER}"
            )
        _start(db, empty)
        return KeptIds(db.execute("SELECT token FROM about").fetchone()[0], 0, 0)
    known = state.ids
    if token != known.token or last not in (known.batches, known.batches + 1):
        what = "is the file of another ledger" if token != known.token else f"and {path} are of different times"
        raise InputError(f"{place} {what}. {NOTHING_CHARGED} {_OLDER}")
    if last > known.batches:  # of a charge that ended in a crash
        db.execute("DELETE FROM charged WHERE batch > ?", (known.batches,))
    return known


def _start(db: sqlite3.Connection, empty: bool) -> None:
    """Create empty tables, also after a crash in the first charge."""
    if empty:
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {_VERSION}")
        db.execute("CREATE TABLE about (token TEXT NOT NULL, last INTEGER NOT NULL)")
        db.execute("CREATE TABLE charged (digest BLOB PRIMARY KEY, batch INTEGER NOT NULL) WITHOUT ROWID")
    db.execute("DELETE FROM charged")
    db.execute("DELETE FROM about")
    db.execute("INSERT INTO about VALUES (?, 0)", (secrets.token_hex(16),))


def _rows_before(
    db: sqlite3.Connection, batch: Batch, among: NDArray[np.intp], number: int, *, tags: bool = False
) -> NDArray[np.intp]:
    """Those of some rows whose id (or tag) was charged before, in ascending order."""
    found = [np.zeros(0, dtype=np.intp)]
    for digests, rows in batch.parts(among, tags=tags):
        query = f"SELECT i FROM ({_ROWS}) CROSS JOIN charged USING (digest) WHERE batch < :batch"
        values = {"digests": digests, "count": len(rows), "batch": number}
        at = [i for (i,) in db.execute(query, values)]
        found.append(rows[at])
    return np.sort(np.concatenate(found))


def _leading(db: sqlite3.Connection, batch: Batch, number: int) -> int:
    """The number of rows at the beginning that were charged before."""
    rows = _rows_before(db, batch, np.arange(len(batch)), number)
    return int(np.count_nonzero(rows == np.arange(len(rows))))


def _refuse(db: sqlite3.Connection, batch: Batch, new: NDArray[np.intp], number: int) -> None:
    rows = _rows_before(db, batch, new, number)
    if len(rows):
        text = batch.text(int(rows[0]))
        if batch.tags:
            raise RepeatedIdError(
                f"{len(rows)} ids were charged before, with other votes, another key or design, or none; first "
                f"{shown(text)}. {NOTHING_CHARGED} Use the key, design and votes of then, which give the "
                "label of then, or leave these rows out; rows of other votes need other ids. Which rows these are can "
                f"depend on votes, so keep this message where the votes are.{hint_of(text)}"
            )
        many = f"{len(rows)} ids were charged before, first" if len(rows) > 1 else "One id was charged before:"
        raise RepeatedIdError(
            f"{many} {shown(text)}. {NOTHING_CHARGED} Leave out rows that have a label, and give rows "
            "of other votes other ids. If the voters are fixed or non-private, or the total covers all votes "
            f"themselves, --again (again=True) charges each as one label more.{hint_of(text)}"
        )
    seen: set[bytes] = set()
    for row in new.tolist():
        digest = bytes(batch._digests[_DIGEST * row : _DIGEST * (row + 1)])
        if digest in seen:
            raise InputError(
                f"The id {shown(batch.text(row))} occurs twice. {NOTHING_CHARGED} Leave one of the rows out, or "
                "give each row its own id."
            )
        seen.add(digest)


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=_DIGEST).digest()


def _single(ids: Iterable[str]) -> Iterable[str]:
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise InputError(f"ids must be a list of texts, one for each label. Got {shown(ids)}.")
    return ids


@contextmanager
def _blaming(place: Path) -> Iterator[None]:
    """Convert errors of SQLite and of the disk to those of darrm."""
    try:
        yield
    except (OutputError, InputError):
        raise
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):  # the disk, or another program that holds the file
            raise OutputError(
                f"{place} could not be written: {error}. {NOTHING_CHARGED} Fix that, and try again."
            ) from error
        raise InputError(f"{place} is not a complete file of ids ({error}). {NOTHING_CHARGED} {_OLDER}") from error
    except OSError as error:
        raise OutputError(
            f"{place} could not be written: {error.strerror}. {NOTHING_CHARGED} Fix that, and try again."
        ) from error

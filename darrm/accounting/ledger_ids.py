"""The ids of charged labels, as digests in the ledger, so that no id is charged twice.

Ids are public, so a refusal reveals nothing.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import pairwise
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm._validation import shown
from darrm.accounting.ledger_state import NOTHING_CHARGED
from darrm.errors import InputError, RepeatedIdError
from darrm.numerics.printed import counted
from darrm.storage.databases import Run
from darrm.votes.ids import as_compared, hint_of
from darrm.votes.rows import Texts

_DIGEST, _AT_ONCE = 16, 1 << 16  # bytes of a digest; digests that one statement takes
# The rows of a blob of digests, in its order; values: their number, the blob.
_ROWS = (
    "(WITH RECURSIVE at(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM at WHERE i + 1 < ?) "
    f"SELECT substr(?, {_DIGEST} * i + 1, {_DIGEST}) AS digest, i FROM at) AS own"
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
    before : ndarray of int
        The rows that were charged before with the same tag, and are not charged again; known when the batch is entered.
    """

    def __init__(self, ids: Iterable[str] = (), tags: bytes = b"") -> None:
        self._digests, self.tags, self.before = bytearray(), bytearray(), np.zeros(0, dtype=np.intp)
        self._texts: list[tuple[int, int]] = []  # rows and bytes of each block of the file of texts
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(1 << 20)  # noqa: SIM115  # see close
        try:
            self.add(ids, tags)
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._digests) // _DIGEST

    @property
    def same(self) -> int:
        """The number of rows of `before`."""
        return len(self.before)

    def close(self) -> None:
        """Delete the file of texts."""
        self._file.close()

    def add(self, ids: Iterable[str], tags: bytes = b"") -> None:
        """Add the ids of further rows, and their tags."""
        texts = ids if isinstance(ids, Texts) else Texts.of(ids)
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
            raise InputError(
                f"There must be one id for each label. Got {counted(len(self), 'id')} for {counted(labels, 'label')}."
            )

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

    def digest(self, start: int) -> str:
        """The digest of the digests of the rows that are charged, from row ``start`` on."""
        rows = np.setdiff1d(np.arange(start, len(self)), self.before)
        digests = np.frombuffer(self._digests, dtype=f"V{_DIGEST}")[rows]
        return hashlib.blake2b(digests.tobytes(), digest_size=32).hexdigest()

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
    digests : int
        Number of digests that are new.
    """

    skipped: int
    repeated: int
    digests: int = 0


def enter(run: Run, number: int, batch: Batch, *, again: bool, skip: bool = False) -> Entered:
    """Enter the ids of the charge with this number, in its transaction.

    ``again`` allows ids that were charged before, ``skip`` skips such rows if they are the first ones of the batch.
    Rows of a batch with tags that were charged with their tags are neither charged nor refused: ``batch.before``.

    Raises
    ------
    InputError
        If an id was charged before, unless that is allowed.
    """
    new = np.arange(len(batch))
    if batch.tags:
        batch.before = _rows_before(run, batch, new, number, tags=True)
        new = np.setdiff1d(new, batch.before)
    skipped = _leading(run, batch, number) if skip and not again and not batch.tags else 0
    new = new[skipped:]
    repeated = entered = 0
    for tags in (False, True)[: 1 + bool(batch.tags)]:
        for digests, rows in batch.parts(new, tags=tags):
            added = _insert(run, number, digests)
            entered, repeated = entered + added, repeated + len(rows) - added
            if repeated and not again:
                _refuse(run, batch, new, number)
            if repeated:  # a lease that entered them first, and is given back, leaves them charged
                own = f"SELECT digest FROM {_ROWS}"
                run(f"UPDATE charged SET number = ? WHERE digest IN ({own})", (number, len(rows), digests))
    return Entered(skipped, repeated, entered)


def leave(run: Run, number: int, batch: Batch, start: int) -> int:
    """Delete the ids of the rows from ``start`` on of the charge with this number, whose batch has no tags; how many.

    Those that were charged again since stay.
    """
    left = 0
    for digests, rows in batch.parts(np.arange(start, len(batch))):
        own = f"SELECT digest FROM {_ROWS}"
        left += run(
            f"DELETE FROM charged WHERE number = ? AND digest IN ({own})", (number, len(rows), digests)
        ).rowcount
    return left


def kept_labels(run: Run, rows: Sequence[bytes], classes: int) -> NDArray[np.intp]:
    """The label that was kept for each row, -1 if there is none.

    A row is given by a secret digest. The ledger keeps neither it nor the label, but a digest of both, so that a reader
    of the ledger alone sees nothing of them; whoever has the row tries all labels.
    """
    labels = np.full(len(rows), -1)
    step = max(1, _AT_ONCE // classes)
    for start in range(0, len(rows), step):
        tags = b"".join(_tag(row, label) for row in rows[start : start + step] for label in range(classes))
        query = f"SELECT i FROM {_ROWS} CROSS JOIN charged WHERE charged.digest = own.digest"
        for (i,) in run(query, (len(tags) // _DIGEST, tags)).fetchall():
            labels[start + i // classes] = i % classes
    return labels


def keep_labels(run: Run, number: int, rows: Sequence[bytes], labels: NDArray[np.intp]) -> int:
    """Keep the labels of the charge with this number, of rows that have none; returns the number of new digests."""
    tags = b"".join(map(_tag, rows, labels.tolist()))
    step = _AT_ONCE * _DIGEST
    return sum(_insert(run, number, tags[start : start + step]) for start in range(0, len(tags), step))


def _insert(run: Run, number: int, digests: bytes) -> int:
    """Enter digests with the number of a charge; returns how many are new."""
    insert = f"INSERT INTO charged SELECT digest, ? FROM {_ROWS} WHERE true ON CONFLICT DO NOTHING"
    return int(run(insert, (number, len(digests) // _DIGEST, digests)).rowcount)


def _tag(row: bytes, label: int) -> bytes:
    return hashlib.blake2b(row + label.to_bytes(8, "little"), digest_size=_DIGEST, person=b"darrm label v1").digest()


def _rows_before(
    run: Run, batch: Batch, among: NDArray[np.intp], number: int, *, tags: bool = False
) -> NDArray[np.intp]:
    """Those of some rows whose id (or tag) was charged before, in ascending order."""
    found = [np.zeros(0, dtype=np.intp)]
    for digests, rows in batch.parts(among, tags=tags):
        query = f"SELECT i FROM {_ROWS} CROSS JOIN charged WHERE charged.digest = own.digest AND number < ?"
        at = [i for (i,) in run(query, (len(rows), digests, number)).fetchall()]
        found.append(rows[at])
    return np.sort(np.concatenate(found))


def _leading(run: Run, batch: Batch, number: int) -> int:
    """The number of rows at the beginning that were charged before."""
    rows = _rows_before(run, batch, np.arange(len(batch)), number)
    return int(np.count_nonzero(rows == np.arange(len(rows))))


def _refuse(run: Run, batch: Batch, new: NDArray[np.intp], number: int) -> None:
    rows = _rows_before(run, batch, new, number)
    if len(rows):
        text = batch.text(int(rows[0]))
        if batch.tags:
            raise RepeatedIdError(
                f"{counted(len(rows), 'id')} {'was' if len(rows) == 1 else 'were'} charged before, with other "
                "votes, another key or design, or none; first "
                f"{shown(text)}. {NOTHING_CHARGED} Use the key, design and votes of then, which give the labels of "
                "then. Do not leave out or rename just these rows: which they are can depend on votes. Leave out, or "
                f"give new ids, all rows that have labels, and keep this message where the votes are.{hint_of(text)}"
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

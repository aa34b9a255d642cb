"""Files of counted votes, one row a query and one column a class, and of single votes, one row a vote."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from darrm._validation import MAX_CLASSES, shown, truth, whole
from darrm._validation import path as check_path
from darrm.errors import InputError
from darrm.problem.voter_names import compared
from darrm.votes import parquet
from darrm.votes.answers import Readings, checked_names, in_words, meant, numbers_of
from darrm.votes.csv import table
from darrm.votes.formats import format_of, lines_of, votes_file
from darrm.votes.ids import RowIds, compared_id
from darrm.votes.rows import Texts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Counts = NDArray[np.int64] | csr_array[np.int64, tuple[int, int]]

_MOST = 10**12  # votes for one class
_ROWS, _CELLS = 1 << 14, 1 << 20  # at a time
_MOST_SHOWN = 12


@dataclass(frozen=True, eq=False)
class CountsTable:
    """Counts of votes on n queries.

    Attributes
    ----------
    counts : ndarray of int64 or scipy.sparse.csr_array, shape (n, classes)
        Votes for each class; sparse from files of one row a vote, and of more than 1,000 classes.
    ids : Texts, length n
        The ``id`` of each query, or row numbers from 1: iterate for each as str.
    has_ids : bool
        Whether ``ids`` are those of a column.
    """

    counts: Counts
    ids: Texts
    has_ids: bool

    def __repr__(self) -> str:
        n, classes = self.counts.shape
        return f"<votes for {classes} classes on {n} queries>"


def read_counts(
    path: str | os.PathLike[str], classes: int | Sequence[str], *, tall: bool = False, K: int | None = None
) -> CountsTable:
    """Read a file of counted votes, or with ``tall`` of one row a vote; for noisy max.

    Parameters
    ----------
    path : path
        CSV with a header, or Parquet if the name ends in .parquet. One column for each class, by its name, in any
        order, with the number of votes for it, and an optional column ``id``; a column ``label`` is left out. With
        ``tall`` the columns ``id``, of the query, and ``vote``, a class by its name or number, and an optional
        ``voter``; other columns are left out, and rows may be in any order.
    classes : int or sequence of str
        The number of classes, called 0, 1, ..., or their names: ``classes`` of the mechanism's problem.
    tall : bool
        Whether a row is one vote. With a column ``voter`` a voter may vote once on each query.
    K : int, optional
        How many votes each query must have. `GaussianNoisyMax` with K and classes checks that too.

    Returns
    -------
    CountsTable
        With ``tall`` queries are in the order of their first votes.

    Raises
    ------
    InputError
        If the file cannot be read, or a column is missing or not a class. If a value is not a count or not a class, or
        an id or a voter occurs twice.
    MissingExtraError
        If it is Parquet and pyarrow is not installed.

    Notes
    -----
    A column of counts for each class is read in blocks, and only the counts and ids are held in memory: 200 MB for a
    million rows of ten classes. Rows of votes are held whole; a million of them take some seconds.

    Examples
    --------
    >>> import darrm
    >>> from pathlib import Path
    >>> _ = Path("counts.csv").write_text("id,cat,dog\\na,3,1\\nb,0,4\\n")
    >>> darrm.votes.read_counts("counts.csv", ["cat", "dog"]).counts.tolist()
    [[3, 1], [0, 4]]

    One row a vote, for one of 50,257 tokens:

    >>> _ = Path("votes.csv").write_text("id,voter,vote\\na,v1,464\\na,v2,50256\\na,v3,464\\n")
    >>> table = darrm.votes.read_counts("votes.csv", 50257, tall=True)
    >>> table.counts.data.tolist(), list(table.ids)
    ([2, 1], ['a'])
    """
    names = tuple(map(str, range(whole("classes", classes, 2)))) if isinstance(classes, int) else checked_names(classes)
    tall, name = truth("tall", tall), check_path("path", path)
    K = None if K is None else whole("K", K)
    if not tall:
        parts = list(count_blocks(name, names, K))
        made = np.concatenate([part.counts for part in parts])
        ids, has_ids = Texts.joined([part.ids for part in parts]), parts[0].has_ids
        if len(names) > MAX_CLASSES:
            from scipy.sparse import csr_array

            return CountsTable(csr_array(made), ids, has_ids)
        return CountsTable(made, ids, has_ids)
    with votes_file(name) as file:
        return _of_k_votes(_of_votes(name, file, names), K, name)


def count_blocks(name: Path, names: tuple[str, ...], K: int | None) -> Iterator[CountsTable]:
    """Read a file of a column of counts for each class, some ten thousand rows at a time; errors as `read_counts`.

    Memory grows only by the digests of ids. A fault in a row is found when that row is read, and a repeated id before
    its block is yielded.
    """
    with votes_file(name) as file:
        yield from (_of_k_votes(block, K, name) for block in _of_counts(name, file, names))


def _of_k_votes(made: CountsTable, K: int | None, name: Path) -> CountsTable:
    """Counts of which each row has K votes."""
    sums = np.asarray(made.counts.sum(axis=1))
    if K is not None and (sums != K).any():
        at = int(np.flatnonzero(sums != K)[0])
        raise InputError(f"Each query must have {K} votes. Got {sums[at]} for {list(made.ids)[at]!r} in {name}.")
    return made


def _rows(name: Path, file: IO[bytes]) -> Iterator[tuple[str, list[str]]]:
    """Where each row stands, and its cells as texts; the first row is the header."""
    return parquet.table(name, file) if format_of(name) is parquet else table(name, file)


def _places(name: Path, header: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for at, text in enumerate(map(compared, header)):
        key = text.casefold() if text.casefold() in ("id", "label", "vote", "voter") else text
        if found.setdefault(key, at) != at:
            raise InputError(f"{name} has the column {text} twice. Delete one.")
    return found


def _check_header(name: Path, header: list[str], names: tuple[str, ...]) -> None:
    """`InputError` if the first line of a text holds numbers that are not the names of classes: a row would be lost."""
    cells = [text for text in map(compared, header) if text.casefold() not in ("id", "label")]
    numbers = [text for text in cells if re.fullmatch("[0-9]+([.]0*)?", text)]
    at_most_an_id = len(numbers) >= max(1, len(cells) - 1)
    if (
        format_of(name) is not parquet
        and at_most_an_id
        and not set(names) >= set(numbers)
        and not set(names) <= set(cells)
    ):
        raise InputError(
            f"{name} has no header. Its first line must name the columns: id, and one for each class, which is "
            f"{in_words(names)}. Got {_some(header)}."
        )


def _of_counts(name: Path, file: IO[bytes], names: tuple[str, ...]) -> Iterator[CountsTable]:
    rows = _rows(name, file)
    _, header = next(rows, ("", []))
    _check_header(name, header, names)
    places = _places(name, header)
    own = [places.get(compared(each)) for each in names]
    if None in own:
        raise InputError(
            f"{name} must have a column of counts for each class, whose name is the class: {in_words(names)}. Got "
            f"{_some(header)}. Add one for {names[own.index(None)]}, or give the column of its counts that name."
        )
    strange = set(places.values()) - {*own, places.get("id"), places.get("label")}
    strange = {at for at in strange if header[at].strip()}
    if strange:
        raise InputError(
            f"{name} has the column {header[min(strange)]}, which is not a class. Classes are {in_words(names)}. "
            "Delete it, so that no vote is left out by mistake."
        )
    read = [at for at in own if at is not None]
    pick = itemgetter(*read)  # at least two classes
    step = max(1, min(_ROWS, _CELLS // len(read)))
    names_of, n = RowIds(name, first=1, lines=lines_of(name)), 0
    while block := list(islice(rows, step)):
        counts = _numbers([pick(row) for _, row in block])
        if counts is None:  # some cell is no count, or is one in another form
            cells = [[_count(row[at], where, header[at]) for at in read] for where, row in block]
            counts = np.array(cells, dtype=np.int64)
        ids = Texts.of([row[places["id"]] for _, row in block]) if "id" in places else None
        texts, has_ids = names_of.of(ids, len(block), index=False)
        n += len(block)
        yield CountsTable(counts, texts, has_ids)
    if not n:
        raise InputError(f"{name} holds no counts: there is no row in it.")


def _numbers(cells: list[tuple[str, ...]]) -> NDArray[np.int64] | None:
    """The counts in cells of digits alone, at most twelve; None if there are others."""
    texts = np.array(cells)
    if texts.dtype.itemsize > 12 * 4 or not np.char.isdecimal(texts).all():
        return None
    try:
        return texts.astype(np.int64)
    except ValueError:
        return None


def _of_votes(name: Path, file: IO[bytes], names: tuple[str, ...]) -> CountsTable:
    from scipy.sparse import coo_array

    rows = _rows(name, file)
    _, header = next(rows, ("", []))
    places = _places(name, header)
    if not {"id", "vote"} <= places.keys():
        none = ", or write such a line above this one, if the file has no header"
        raise InputError(
            f"{name} must have the columns id, of the query, and vote, with one row a vote, and may have voter. Got "
            f"{_some(header)}. Rename its columns{none * (not places.keys() & {'id', 'vote', 'voter'})}."
        )
    query, vote, voter = places["id"], places["vote"], places.get("voter")
    known, number = Readings(numbers_of(names), None), dict[str, int]()
    ids: list[str] = []
    at: list[int] = []
    classes: list[int] = []
    seen: set[tuple[int, str]] = set()
    for where, row in rows:
        text = row[query]
        i = number.get(text)
        if i is None:
            if not text.strip():
                raise InputError(f"{where}, column id is empty. Give each vote the id of its query.")
            i = number.setdefault(compared_id(text), len(ids))
            number[text] = i
            if i == len(ids):
                ids.append(text)
        try:
            classes.append(known[row[vote]])
        except KeyError:
            _refuse_vote(where, row[vote], names)
        at.append(i)
        if voter is not None:
            who = i, compared(row[voter])
            if not who[1] or who in seen:
                said = f"{row[voter]} votes on {text} a second time" if who[1] else "column voter is empty"
                raise InputError(f"{where}: {said}. Each voter has one vote on each query. Delete or name it.")
            seen.add(who)
    if not ids:
        raise InputError(f"{name} holds no votes: there is no row in it.")
    ones = np.ones(len(at), dtype=np.int64)
    counts = coo_array((ones, (np.array(at), np.array(classes))), shape=(len(ids), len(names))).tocsr()
    return CountsTable(counts, Texts.of(ids), has_ids=True)


def _refuse_vote(where: str, text: str, names: tuple[str, ...]) -> NoReturn:
    said = f"A vote must be {in_words(names)}. Got {shown(text)}.{meant(text, names)}"
    raise InputError(f"{where}, column vote: {said}") from None


def _count(text: str, where: str, column: str) -> int:
    try:
        number = float(text)
        if 0 <= number <= _MOST and number == int(number):
            return int(number)
    except ValueError:
        pass
    raise InputError(f"{where}, column {column}: A count must be an integer of at least 0. Got {shown(text)}.")


def _some(header: list[str]) -> str:
    return ", ".join(header[:_MOST_SHOWN]) + ", ..." * (len(header) > _MOST_SHOWN) or "none"

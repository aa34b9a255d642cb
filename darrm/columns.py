"""Releases as a column: from a frame of pandas or polars or an Arrow table of votes to a Series or array of labels."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from darrm._validation import refusal, truth
from darrm.accounting.ledger_ids import Batch
from darrm.errors import InputError
from darrm.mechanisms.class_labels import Labels
from darrm.mechanisms.decision import PrivateDecision
from darrm.mechanisms.label_key import Key, LabelKey, keyed
from darrm.randomness.coins import WordSource, system_words
from darrm.randomness.words import word_source
from darrm.storage.frames import pyarrow
from darrm.votes.answers import Answers, numbered
from darrm.votes.arrow import cells, ids_of, of_schema
from darrm.votes.frame import of_frame
from darrm.votes.header import Columns, Voters, voters_of
from darrm.votes.ids import RowIds
from darrm.votes.rows import Texts, VotesBlock

if TYPE_CHECKING:
    from darrm.accounting.ledger import Ledger


def release(
    mechanism: PrivateDecision,
    votes: Any,
    *,
    ledger: Ledger | None = None,
    again: bool = False,
    voters: Sequence[str] | None = None,
    rng: np.random.Generator | None = None,
    public: bool = False,
    key: Key | None = None,
) -> Any:
    """One private label for each row of a table of votes.

    Parameters
    ----------
    mechanism : PrivateDecision, which is DaRRM
    votes : pandas.DataFrame, polars.DataFrame, pyarrow.Table, pyarrow.RecordBatch, or another table with
        ``__arrow_c_stream__`` K columns of class numbers, as any number type, booleans or texts. If the design names
        its voters, the columns of these names are taken, in any order and among others; else all columns, in the order
        of the design's groups. As in files, a column ``id``, or an index of that name, and a column ``label`` are not
        votes. If the design has names for classes, a column may hold these instead. Where voters may be absent, -1 or a
        missing value means absent; else no value may be missing.
    ledger : Ledger, optional
        Is charged before the labels are given, with the ids of the column ``id``, if there is one: it refuses an id
        that it charged before. Without ids the ledger cannot detect that a row had a label already, as its
        `Ledger.status` says.
    again : bool
        Whether rows may be released a second time, as in `Ledger.charge`.
    voters : sequence of str, optional
        For a design without names of voters: the columns of votes, by name, in the order of the design's groups; others
        are left out.
    rng : numpy.random.Generator, optional
    public : bool
        As in `DaRRM.release`: whether the votes behind the design's prior are public.
    key : LabelKey or path, optional
        Compute the randomness of each row from this key and its id, as in `DaRRM.release`: the table needs ids, and a
        second evaluation gives the same labels. The guarantee is then computational and rests on the key, which must be
        as secret as the votes. Pass the path, not the key itself, where another process evaluates the column. With a
        ledger, a row that was charged with this key and these votes costs nothing more.

    Returns
    -------
    pandas.Series, polars.Series or pyarrow.Array of uint8, length n
        For a frame a Series of its library called label, in pandas with its index; else an array. Its values are the
        names of the answers (a category, an enum, a dictionary) if the design has names for classes or the further
        answer "none". Without a key each call draws new labels. Do not pass it to an engine that may evaluate a column
        twice, because two labels of the same votes would then be released. A ledger counts both, but for fresh voters
        its guarantee does not cover the second; give the table an ``id``, so that the second evaluation is refused.

    Raises
    ------
    InputError
        If there are not exactly K vote columns, a voter has two columns, or a voter of the design or of ``voters`` has
        none. If an id occurs twice or was charged before. If a value is not a vote; the message names the column, and
        the row counted from 0. If the table holds the votes that the design's prior was read from, see `DaRRM.release`.
    BudgetError
        If the budget of the ledger does not cover all rows, or does not cover repeated rows; nothing is charged then.
    MissingExtraError
        If a polars frame or an Arrow table of another library comes and pyarrow is not installed.

    Examples
    --------
    >>> import darrm
    >>> import pandas as pd
    >>> mechanism = darrm.mechanisms.DaRRM(darrm.solve(K=3, m=1, epsilon=1.0))
    >>> votes = pd.DataFrame({"anna": [1, 0], "ben": [1, 0], "eve": [1, 1]}, index=["first", "second"])
    >>> labels = darrm.columns.release(mechanism, votes)
    >>> labels.name, list(labels.index), bool(labels.isin([0, 1]).all())
    ('label', ['first', 'second'], True)
    """
    names = _checked(mechanism).design.problem.answers
    pandas, polars = _library_of(votes, "pandas"), _library_of(votes, "polars")
    block = _block_for(mechanism, votes, voters)
    source = word_source(rng, stacklevel=3) if key is None else keyed(key, rng, again)
    labels: Any = next(_released(mechanism, [block], source, ledger, again, public))
    named = not numbered(names)
    if pandas is not None:
        labels = pandas.Categorical.from_codes(labels, names) if named else labels
        return pandas.Series(labels, index=votes.index, name="label")
    if polars is not None:
        if named:
            return polars.Series("label", list(names), polars.Enum(list(names))).gather(labels)
        return polars.Series("label", labels)
    labels = pyarrow().array(labels)
    return pyarrow().DictionaryArray.from_arrays(labels, list(names)) if named else labels


def release_batches(
    mechanism: PrivateDecision,
    batches: Iterable[Any],
    *,
    ledger: Ledger | None = None,
    voters: Sequence[str] | None = None,
    public: bool = False,
    key: Key | None = None,
) -> Iterator[Any]:
    """The ids and labels of batches of votes, for engines that pass tables on part by part (Spark, DuckDB, Arrow).

    Parameters
    ----------
    mechanism : PrivateDecision, which is DaRRM
    batches : iterable of pyarrow.RecordBatch or another table
        Each as in `release`, with a column ``id``, because engines do not keep the order of rows. A
        `pyarrow.RecordBatchReader` is one.
    ledger : Ledger, optional
        Charged for each batch before its labels are yielded, with its ids.
    voters, public
        As in `release`.
    key : LabelKey or path, optional
        As in `release`. An engine that may evaluate a batch twice needs it, and the path in place of the key itself,
        because a key cannot be sent to its workers.

    Yields
    ------
    pyarrow.RecordBatch
        For each batch, in memory of its size: ``id`` (string) and ``label``, an int32, or a string if the design has
        names for classes or the further answer "none".

    Raises
    ------
    InputError
        As `release`; if a batch has no ids, or an id is there twice in all batches of this call. Nothing of that batch
        is charged or yielded then; earlier batches stay charged.
    BudgetError
        If the budget of the ledger does not cover a batch.

    Examples
    --------
    >>> import darrm
    >>> import pyarrow as pa
    >>> mechanism = darrm.mechanisms.DaRRM(darrm.solve(K=3, m=1, epsilon=1.0))
    >>> votes = pa.table({"id": ["x", "y"], "anna": [1, 0], "ben": [1, 0], "eve": [1, 1]})
    >>> key = darrm.mechanisms.LabelKey.create("batches.key")
    >>> first, again = (
    ...     pa.Table.from_batches(darrm.columns.release_batches(mechanism, votes.to_batches(), key=path))
    ...     for path in (key, "batches.key")
    ... )
    >>> first.column_names, first == again
    (['id', 'label'], True)
    """
    answers = _checked(mechanism).design.problem.answers
    source = system_words if key is None else keyed(key, None)
    if not isinstance(batches, Iterable):
        raise refusal("batches", "an iterable of tables of Arrow", batches)
    pa, named = pyarrow(), not numbered(answers)
    last: list[VotesBlock] = []

    def blocks() -> Iterator[VotesBlock]:
        for batch in batches:
            last[:] = [_block_for(mechanism, batch, voters)]
            if not last[0].has_ids:
                raise InputError("Each batch must have a column id, because an engine may change the order of rows.")
            yield last[0]

    def made() -> Iterator[Any]:
        for labels in _released(mechanism, blocks(), source, ledger, again=False, public=public):
            ends = np.concatenate([[0], last[0].ids.ends])
            places, texts = pa.py_buffer(ends.tobytes()), pa.py_buffer(last[0].ids.data)
            ids = pa.LargeStringArray.from_buffers(len(labels), places, texts).cast(pa.string())
            column = pa.array(labels).cast(pa.int32())
            if named:
                column = pa.DictionaryArray.from_arrays(column, list(answers)).cast(pa.string())
            yield pa.RecordBatch.from_arrays([ids, column], names=["id", "label"])

    return made()


def _checked(mechanism: object) -> PrivateDecision:
    if not isinstance(mechanism, PrivateDecision):
        raise InputError(
            f"mechanism must be a DaRRM(design) or PrivateDecision(design). Got {type(mechanism).__name__}. Count the "
            "votes for noisy max with darrm.votes.counts, and pass the counts to its release."
        )
    return mechanism


def _released(
    mechanism: PrivateDecision,
    blocks: Iterable[VotesBlock],
    source: WordSource | LabelKey,
    ledger: Ledger | None,
    again: bool,
    public: bool,
) -> Iterator[Labels]:
    """The labels of each block, charged before."""
    last: list[VotesBlock] = []

    def votes() -> Iterator[Any]:
        for block in blocks:
            last[:] = [block]
            yield block if isinstance(source, LabelKey) else block.votes

    def charge(n: int, _: Texts | None, tags: bytes = b"") -> int:
        if ledger is not None:
            with closing(Batch(last[0].ids, tags)) if last[0].has_ids else nullcontext() as ids:
                ledger.charge(mechanism.design, n, ids=ids, again=again)
        return 0

    truth("again", again)
    if isinstance(source, LabelKey):
        return mechanism._by_key(votes(), charge, 1, source, public)
    return mechanism._charged(votes(), charge, 1, source, public)


def _library_of(votes: Any, name: str) -> Any:
    """The library of this name if ``votes`` is one of its frames, else None; a frame's library is loaded already."""
    library = sys.modules.get(name)
    return library if library is not None and isinstance(votes, library.DataFrame) else None


def _block_for(mechanism: PrivateDecision, votes: Any, voters: Sequence[str] | None) -> VotesBlock:
    """All rows of a frame or table as one block of the votes of a mechanism."""
    problem = mechanism.design.problem
    return _block_of(votes, voters_of(problem, voters), Answers(problem.names, mechanism.design.absent))


def _block_of(votes: Any, taken: Voters, answers: Answers) -> VotesBlock:
    """All rows as one block; errors count rows from 0."""
    is_frame = _library_of(votes, "pandas") is not None
    columns, array, ids = (of_frame if is_frame else _of_table)(votes, taken, answers)
    names, has_ids = RowIds("The frame" if is_frame else "The table", 0).of(ids, len(array), index=columns.index)
    made = array.view(np.int8) if answers.absent else array
    return VotesBlock(made, names, None, has_ids=has_ids, voters=columns.voters)


def _of_table(votes: Any, voters: Voters, answers: Answers) -> tuple[Columns, NDArray[np.uint8], Texts | None]:
    if hasattr(votes, "__arrow_c_stream__"):
        pa = pyarrow()
        try:
            table = pa.table(votes)
        except (TypeError, ValueError, pa.ArrowException) as error:
            if _library_of(votes, "polars") is not None:
                raise InputError(
                    f"The frame could not be read by Arrow ({error}). Cast columns of types that Arrow lacks, such as "
                    "Int128, to others."
                ) from None
            table = None  # a stream of something else, such as a single column
        if table is not None:
            columns = of_schema("The table", table.schema, voters, answers)
            return columns, cells(table, columns, "The table", 0, labels=False), ids_of(table, columns, "The table", 0)
    raise InputError(
        f"votes must be a DataFrame of pandas or polars, or an Arrow table. Got {type(votes).__name__}. "
        "Pass arrays to the mechanism's release, and collect a LazyFrame before."
    )

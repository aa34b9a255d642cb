"""Releases as a column: from a frame of pandas or polars or an Arrow table of votes to a Series or array of labels."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError
from darrm.mechanisms.decision import PrivateDecision
from darrm.mechanisms.majority import DaRRM
from darrm.storage.frames import pyarrow
from darrm.votes.arrow import cells, put, put_texts
from darrm.votes.rows import Answers, Columns, Votes, numbered

if TYPE_CHECKING:
    from darrm.accounting.ledger import Ledger


def release(
    mechanism: DaRRM | PrivateDecision,
    votes: Any,
    *,
    ledger: Ledger | None = None,
    rng: np.random.Generator | None = None,
) -> Any:
    """One private label for each row of a table of votes.

    Parameters
    ----------
    mechanism : DaRRM or PrivateDecision
    votes : pandas.DataFrame, polars.DataFrame, pyarrow.Table, pyarrow.RecordBatch, or another table with
        ``__arrow_c_stream__``
        K columns of the numbers of classes, of any type of number or boolean, in the order of the design's groups. As
        in files, a first column ``id`` and a last column ``label`` may be there and are left out. If the design has
        names for classes, a column may hold these instead. An absent voter, where voters may be absent, has -1 or
        nothing; else nothing may be missing.
    ledger : Ledger, optional
        Is charged before the labels are given.
    rng : numpy.random.Generator, optional
        As in `DaRRM.release`.

    Returns
    -------
    pandas.Series, polars.Series or pyarrow.Array of uint8, length n
        For a frame a Series of its library called label, in pandas with its index; else an array. Of the names of the
        answers (a category, an enum, a dictionary), if the design has names for classes or the further answer "none".
        Each call draws new labels, so do not hand it to an engine that may evaluate a column twice. Two labels of the
        same votes would then be released. A ledger counts them but, for fresh voters, does not cover them.

    Raises
    ------
    InputError
        If there are other than K vote columns, or a value is not a vote; it names the column, and the row from 0.
    BudgetError
        If the ledger does not pay for all of it; nothing is charged then.
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
    if isinstance(mechanism, PrivateDecision):
        answers = Answers(mechanism.design.problem.names, mechanism.design.absent)
        names = mechanism.design.problem.answers
    elif isinstance(mechanism, DaRRM):
        answers, names = Answers(), Answers().names
    else:
        raise InputError(
            f"mechanism must be a DaRRM(design) or PrivateDecision(design). Got {type(mechanism).__name__}."
        )
    K = mechanism.design.problem.K
    pandas, polars = _library_of(votes, "pandas"), _library_of(votes, "polars")
    array: Votes = _of_table(votes, K, answers) if pandas is None else _of_frame(votes, K, answers)
    if answers.absent:
        array = array.view(np.int8)
    labels: Any = next(mechanism.release_blocks([array], ledger=ledger, rng=rng))
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


def _library_of(votes: Any, name: str) -> Any:
    """The library of this name, None unless ``votes`` is one of its frames; whoever holds one has loaded it."""
    library = sys.modules.get(name)
    return library if library is not None and isinstance(votes, library.DataFrame) else None


def _of_table(votes: Any, K: int, answers: Answers) -> NDArray[np.uint8]:
    if hasattr(votes, "__arrow_c_stream__"):
        pa = pyarrow()
        try:
            table = pa.table(votes)
        except (TypeError, ValueError, pa.ArrowException):  # a stream of something else, such as a single column
            table = None
        if table is not None:
            columns = Columns.of("The table", table.column_names, K, answers)
            return cells(table.columns[columns.first : columns.last], columns, "The table", 0)
    raise InputError(
        f"votes must be a DataFrame of pandas or polars, or an Arrow table. Got {type(votes).__name__}. "
        "Pass arrays to the mechanism's release, and collect a LazyFrame before."
    )


def _of_frame(frame: Any, K: int, answers: Answers) -> NDArray[np.uint8]:
    columns = Columns.of("The frame", [str(name) for name in frame.columns], K, answers)
    values = np.empty((len(frame), K), dtype=np.uint8)
    for j in range(K):
        at = columns.first + j
        series = frame.iloc[:, at]
        missing = series.isna().to_numpy(dtype=bool)
        if series.dtype.kind == "O" and not answers.numbered:
            texts = [None if gone else text for text, gone in zip(series.tolist(), missing.tolist(), strict=True)]
            put_texts(values[:, j], texts, at, columns, "The frame", 0)
            continue
        if series.dtype.kind not in "biuf":
            raise InputError(
                f"The frame, column {columns.names[at]} must hold {answers.kind}. Got dtype {series.dtype}."
            )
        cells_of = series.to_numpy(dtype=np.float64, na_value=np.nan) if missing.any() else series.to_numpy(np.float64)
        put(values[:, j], cells_of, at, columns, "The frame", 0, missing)
    return values

"""Votes counted for each class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import plain, shown, truth, whole
from darrm.errors import InputError
from darrm.votes.answers import in_numbers
from darrm.votes.names_above import check_frame
from darrm.votes.rows import numbers, other_than

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Sparse = csr_array[np.int64, tuple[int, int]]

_MOST_COUNTS = 200_000_000
_CELLS = 1 << 20  # votes or counts at a time, for memory


@overload
def counts(votes: ArrayLike, classes: int, *, sparse: Literal[False] = False) -> NDArray[np.int64]: ...
@overload
def counts(votes: ArrayLike, classes: int, *, sparse: Literal[True]) -> Sparse: ...
def counts(votes: ArrayLike, classes: int, *, sparse: bool = False) -> NDArray[np.int64] | Sparse:
    """How many voters each class has: n_c = #{i : v_i = c}, for mechanisms that take counts, such as noisy max.

    Parameters
    ----------
    votes : array_like, shape (n, K) or (K,), values 0, ..., classes - 1 (integers, booleans or floats)
        One row a query, one column a voter. No voter may be absent: guarantees of noisy max are for K votes in each
        row. If voters may have no answer, let that be a class of its own.
    classes : int, at least 2
    sparse : bool
        Keep only the classes that have votes, such as those of 50,257 that K voters named: at most K numbers a row.

    Returns
    -------
    ndarray of int64, shape (n, classes); for one row of votes (classes,)
        Each row has the sum K. With ``sparse`` a `scipy.sparse.csr_array` of shape (n, classes), also for one row.

    Raises
    ------
    InputError
        If the shape is wrong or a vote is none of these; rows and columns are counted from 0. If counts would be more
        than 200 million numbers.

    Examples
    --------
    Two queries to four voters:

    >>> import darrm
    >>> darrm.votes.counts([[0, 2, 2, 1], [1, 1, 1, 1]], classes=3).tolist()
    [[1, 1, 2], [0, 4, 0]]

    One query to three voters about the next of 50,257 tokens:

    >>> darrm.votes.counts([[50256, 7, 7]], classes=50257, sparse=True).data.tolist()
    [2, 1]
    """
    C, sparse = whole("classes", classes, 2), truth("sparse", sparse)
    shape = "votes must have shape (n, K), one row a query, or (K,)"
    if not isinstance(votes, np.ndarray) and hasattr(votes, "votes"):
        raise InputError(f"votes must be an array. Got a {type(votes).__name__}: pass its .votes.")
    check_frame(votes)
    array = plain("votes", votes, "rows of one length, shape (n, K)")
    if array.dtype.kind not in "biuf":
        raise InputError(f"votes must be {in_numbers(C)}. Got dtype {array.dtype}.")
    if array.ndim not in (1, 2) or not array.shape[-1]:
        raise InputError(f"{shape}. Got {array.shape}.")
    rows = numbers(np.atleast_2d(array))
    wrong = other_than(rows.ravel(), C)
    if wrong.size:
        i, j = np.unravel_index(wrong[0], rows.shape)
        got = rows[i, j].item()
        absent = " A voter without an answer needs a class of its own here." if got == -1 or got != got else ""
        raise InputError(f"A vote must be {_allowed(C)}. Got {shown(got)} in row {i}, column {j}.{absent}")
    if sparse:
        return _sparse(rows, C)
    if len(rows) * C > _MOST_COUNTS:
        raise InputError(
            f"Counts of {len(rows):,} rows for {C:,} classes are {len(rows) * C:,} numbers; at most {_MOST_COUNTS:,} "
            f"are made. Pass sparse=True, or at most {_MOST_COUNTS // C:,} rows at once."
        )
    made = np.empty((len(rows), C), dtype=np.int64)
    step = max(1, _CELLS // max(C, rows.shape[1]))
    for start in range(0, len(rows), step):
        part = rows[start : start + step].astype(np.int64)
        part += C * np.arange(len(part))[:, np.newaxis]
        made[start : start + step] = np.bincount(part.ravel(), minlength=len(part) * C).reshape(-1, C)
    return made if array.ndim == 2 else made[0]


def _sparse(rows: NDArray[Any], C: int) -> Sparse:
    from scipy.sparse import csr_array

    ordered = np.sort(rows, axis=1).astype(np.int64)
    first = np.ones(ordered.shape, dtype=np.bool_)  # of the votes for a class
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    starts = np.flatnonzero(first)
    ends = np.concatenate([[0], np.cumsum(np.count_nonzero(first, axis=1))])
    return csr_array((np.diff(starts, append=ordered.size), ordered[first], ends), shape=(len(rows), C))


def _allowed(C: int) -> str:
    return "0 or 1" if C == 2 else f"an integer from 0 to {C - 1}"

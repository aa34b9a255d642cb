"""Which records each voter sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import check_count
from darrm.errors import InputError

Indices = NDArray[np.intp]


def shards(n: int, K: int, overlap: int = 1) -> list[Indices]:
    """The records of each of K voters, by position: record i goes to voters i, i + 1, ..., i + overlap - 1 modulo K.

    A record that is replaced by another one in its place reaches exactly ``overlap`` voters.

    Parameters
    ----------
    n : int
        Records; at least K.
    K : int, at least 1
    overlap : int in [1, K]

    Returns
    -------
    list of K ndarrays of int

    Raises
    ------
    InputError
    """
    n, K = check_count("n", n), check_count("K", K)
    overlap = check_overlap(overlap, K)
    if n < K:
        raise InputError(f"K must be at most the number of records, {n}. Got {K}. Each voter needs a record.")
    position = np.arange(n)
    return [np.flatnonzero((voter - position) % K < overlap) for voter in range(K)]


def check_overlap(overlap: object, K: int) -> int:
    """``overlap`` as an int in [1, K]; `InputError` if it is none."""
    found = check_count("overlap", overlap)
    if not found <= K:
        raise InputError(f"overlap must be in [1, K] = [1, {K}]. Got {found}.")
    return found


def check_shards(given: Sequence[ArrayLike], n: int, K: int, overlap: int) -> list[Indices]:
    """Shards that a user gave, refused unless every record 0..n-1 is in exactly ``overlap`` of K, once in each."""
    try:
        arrays: list[NDArray[Any]] = [np.asarray(one) for one in given]
    except (TypeError, ValueError):
        raise InputError(f"shards must be a list of arrays of indices. Got {type(given).__name__}.") from None
    if len(arrays) != K:
        raise InputError(f"shards must hold one array for each of K = {K} voters. Got {len(arrays)}.")
    reached = np.zeros(n, dtype=np.int64)
    for voter, one in enumerate(arrays):
        if one.ndim != 1 or not one.size or one.dtype.kind not in "iu":
            raise InputError(f"Shard {voter} must be whole numbers of shape (k,), not empty. Got shape {one.shape}.")
        if not (one.min() >= 0 and one.max() < n):
            raise InputError(f"Shard {voter} must hold indices in [0, n - 1] = [0, {n - 1}].")
        if np.unique(one).size != one.size:
            raise InputError(f"Shard {voter} holds a record twice.")
        reached[one] += 1
    wrong = np.flatnonzero(reached != overlap)
    if wrong.size:
        raise InputError(
            f"Every record must be in exactly overlap = {overlap} shards. Record {wrong[0]} is in {reached[wrong[0]]}."
        )
    return [one.astype(np.intp) for one in arrays]

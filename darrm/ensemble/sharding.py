"""The shards: the records of each voter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import check_count, whole
from darrm.errors import InputError

Indices = NDArray[np.intp]


def shards(n: int, K: int, overlap: int = 1) -> list[Indices]:
    """The records of each of K voters, by position: record i goes to voters i, i + 1, ..., i + overlap - 1 modulo K.

    Replacing a record in its place affects exactly ``overlap`` voters.

    Parameters
    ----------
    n : int
        Number of records; at least K.
    K : int, at least 1
    overlap : int in [1, K]

    Returns
    -------
    list of K ndarrays of int

    Raises
    ------
    InputError

    Examples
    --------
    >>> import darrm
    >>> [rows.tolist() for rows in darrm.ensemble.shards(6, 3, overlap=2)]
    [[0, 2, 3, 5], [0, 1, 3, 4], [1, 2, 4, 5]]
    """
    n, K = check_count("n", n), check_count("K", K)
    overlap = check_overlap(overlap, K)
    if n < K:
        raise InputError(f"K must be at most the number of records, {n}. Got {K}. Each voter needs a record.")
    position = np.arange(n)
    return [np.flatnonzero((voter - position) % K < overlap) for voter in range(K)]


def check_overlap(overlap: object, K: int) -> int:
    """``overlap`` as an int in [1, K]; `InputError` for other values."""
    return whole("overlap", overlap, 1, K, allowed=f"in [1, K] = [1, {K}]")


def parts_of(given: Sequence[ArrayLike] | None, prefitted: Sequence[bool], n: int, overlap: int) -> list[Indices]:
    """The shard of each voter: as given, or by position; empty if all voters are prefitted."""
    K = len(prefitted)
    if all(prefitted):
        if given is not None:
            raise InputError(
                "shards must not be given if all voters are prefitted: none is trained. Pass overlap, the number of "
                "their training sets that one record can be in."
            )
        return [np.zeros(0, dtype=np.intp)] * K
    if given is not None:
        return check_shards(given, n, prefitted, overlap)
    if any(prefitted):
        raise InputError(
            "shards must be given if some voters are prefitted and others are not. Pass for each "
            "prefitted voter the rows of X that it was trained on, none if it saw no row. Pass for each other voter "
            "the rows to train it on."
        )
    return shards(n, K, overlap)


def check_shards(given: Sequence[ArrayLike], n: int, prefitted: Sequence[bool], overlap: int) -> list[Indices]:
    """Shards that a user gave, refused unless every record 0..n-1 is in exactly ``overlap``, once in each.

    Only those of ``prefitted`` voters may be empty.
    """
    K = len(prefitted)
    try:
        arrays: list[NDArray[Any]] = [np.asarray(shard) for shard in given]
    except (TypeError, ValueError):
        raise InputError(f"shards must be a list of arrays of indices. Got {type(given).__name__}.") from None
    if len(arrays) != K:
        raise InputError(f"shards must hold one array for each of K = {K} voters. Got {len(arrays)}.")
    reached = np.zeros(n, dtype=np.int64)
    for voter, shard in enumerate(arrays):
        if prefitted[voter] and shard.shape == (0,):
            continue
        if shard.ndim != 1 or not shard.size or shard.dtype.kind not in "iu":
            raise InputError(f"Shard {voter} must be integers of shape (k,), not empty. Got shape {shard.shape}.")
        if not (shard.min() >= 0 and shard.max() < n):
            raise InputError(f"Shard {voter} must hold indices in [0, n - 1] = [0, {n - 1}].")
        if np.unique(shard).size != shard.size:
            raise InputError(f"Shard {voter} holds a record twice.")
        reached[shard] += 1
    wrong = np.flatnonzero(reached != overlap)
    if wrong.size:
        raise InputError(
            f"Every record must be in exactly overlap = {overlap} shards. Record {wrong[0]} is in {reached[wrong[0]]}."
        )
    return [shard.astype(np.intp) for shard in arrays]

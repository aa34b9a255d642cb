"""Vote counts: all vectors (n_0, ..., n_(C-1)) of a given sum, in the order that tables and files rely on."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.bisection import largest_that

Counts = NDArray[np.int64]

_DEEP = 100  # classes; each takes one recursive call


@lru_cache(maxsize=256)
def count_vectors(total: int, classes: int) -> Counts:
    """All vectors of counts with the sum ``total``, shape (n, classes), n = C(total + classes - 1, total).

    Descending in n_0, then in n_1, and so on: for two classes the number of votes for class 1 rises from 0.
    """
    if classes == 1:
        made = np.full((1, 1), total, dtype=np.int64)
    elif classes == 2:
        ones = np.arange(total + 1, dtype=np.int64)
        made = np.stack([total - ones, ones], axis=1)
    elif classes > _DEEP:
        voted = np.array(list(combinations_with_replacement(range(classes), total)), dtype=np.intp)
        made = np.zeros((len(voted), classes), dtype=np.int64)
        np.add.at(made, (np.arange(len(voted))[:, None], voted), 1)
    else:
        parts = [(first, count_vectors(total - first, classes - 1)) for first in range(total, -1, -1)]
        made = np.concatenate([np.insert(rest, 0, first, axis=1) for first, rest in parts])
    made.flags.writeable = False
    return made


def places(vectors: Counts) -> NDArray[np.intp]:
    """The index of each vector in `count_vectors` of its sum, (..., C) to (...); there must be fewer than 2^63 vectors.

    Before a vector come those with more votes at the first class that differs: for each class but the last, C(later
    votes - 1 + remaining classes, remaining classes) of them.
    """
    later = vectors[..., ::-1].cumsum(axis=-1)[..., ::-1]
    most, classes = int(later.max(initial=0)), vectors.shape[-1]
    found = np.zeros(vectors.shape[:-1], dtype=np.intp)
    for c in range(1, classes):
        left = classes - c
        before = np.array([math.comb(votes - 1 + left, left) if votes else 0 for votes in range(most + 1)])
        found += before[later[..., c]]
    return found


@lru_cache(maxsize=4096)
def sorted_counts(total: int, classes: int, most: int | None = None) -> Counts:
    """Those of `count_vectors` with n_0 >= n_1 >= ..., in the same order; no count above ``most`` if that is given."""
    high = total if most is None else min(most, total)
    if classes == 1:
        made = np.full((int(total <= high), 1), total, dtype=np.int64)
    elif classes > max(total, 1):  # the rest have no votes
        few = sorted_counts(total, max(total, 1), most)
        made = np.pad(few, ((0, 0), (0, classes - few.shape[1])))
    elif classes == 2:
        first = np.arange(high, (total - 1) // 2, -1, dtype=np.int64)
        made = np.stack([first, total - first], axis=1)
    else:
        parts = [
            np.insert(sorted_counts(total - first, classes - 1, first), 0, first, axis=1)
            for first in range(high, -1, -1)
            if first * classes >= total
        ]
        made = np.concatenate(parts) if parts else np.zeros((0, classes), dtype=np.int64)
    made.flags.writeable = False
    return made


@lru_cache(maxsize=64)
def n_sorted_counts(total: int, classes: int) -> int:
    """How many `sorted_counts` there are, without listing them."""
    ways = [1] + [0] * total  # partitions of each sum into parts of at most 1, 2, ... classes
    for part in range(1, classes + 1):
        for value in range(part, total + 1):
            ways[value] += ways[value - part]
    return ways[total]


def more_sorted_counts(total: int, classes: int, most: int) -> bool:
    """Whether there are more than ``most`` `sorted_counts`, found without listing or counting them.

    Every sorted vector has at most c! orders, so that for any c <= classes there are at least
    C(total + c - 1, c - 1) / c! of them.
    """
    if any(math.comb(total + c - 1, c - 1) > most * math.factorial(c) for c in range(1, min(classes, total, 64) + 1)):
        return True
    return n_sorted_counts(total, min(classes, max(total, 1))) > most


def largest_total(classes: int, most: int) -> int:
    """The largest total with at most ``most`` `sorted_counts`."""
    return largest_that(math.inf, lambda total: not more_sorted_counts(total, classes, most))


class Ranking:
    """Finds vectors of counts in a list of them.

    Parameters
    ----------
    vectors : ndarray of int, shape (n, classes)
        All different, with sums below ``base``.
    base : int
        ``base`` to the power of the classes must be below 2^62.
    """

    def __init__(self, vectors: Counts, base: int) -> None:
        self._weights = np.array([base**i for i in range(vectors.shape[1])], dtype=np.int64)
        keys = vectors @ self._weights
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    def of(self, vectors: Counts) -> NDArray[np.intp]:
        """The index of each vector, shape (..., classes) to (...); all must be in the list."""
        return np.asarray(self._order[np.searchsorted(self._keys, vectors @ self._weights)])

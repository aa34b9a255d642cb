"""Tables of several answers: validation, the exact probabilities that are sampled, and their distance from stored ones.

    Full table.  One row for each vector of counts. Every entry is sampled with exactly the stored float64, except the
    first largest of its row, which has 1 minus the sum of the others.
    Symmetric table.  One row for each vector of sorted counts: entry j for the class with the j-th largest count, and
    a last one for "none" if there is that answer. Classes of equal counts form a block; "none" is a block by itself.
    The mass of a block is its size times its entry. Every block is sampled with exactly that mass, except the first of
    largest mass, which has 1 minus the sum of the others. Within a block every class is equally likely.

So the probabilities of a row sum to 1 exactly. A full table is a symmetric one whose blocks have one answer each.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import array
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import check_time
from darrm.numerics.exact import decimals
from darrm.problem.counts import n_sorted_counts, sorted_counts
from darrm.problem.groups import ByGroups

_U = 2.0**-53
_GIVEN = 1e-9
_FAR = Fraction(1, 10**9)  # a larger difference is a mistake, and not rounding of float64


def is_symmetric(table: Array, problem: ByGroups) -> bool:
    """Whether a table has a row for sorted votes only, and so treats all classes alike."""
    return len(problem.groups) == 1 and table.shape != (*problem.table_shape, problem.n_answers)


def class_table(release: ArrayLike, problem: ByGroups) -> Array:
    """``release`` as float64, refused unless it is a full or symmetric table of the probabilities of all answers.

    A row that sums to 1 within rounding stays as it is; a row that sums to 1 within 1e-9 is divided by its sum. The
    sampled probabilities sum to 1 exactly and differ from the stored row in its largest entry only, by at most the
    relative distance `drawn`.
    """
    table = array("release", release, None, 0, 1, "[]", hint="Pass the probabilities of all answers.") + 0.0
    forms: list[tuple[int, ...]] = [(*problem.table_shape, problem.n_answers)]
    if len(problem.groups) == 1:
        forms.append((n_sorted_counts(problem.K, problem.n_classes), problem.n_answers))
    if table.shape not in forms:
        allowed = " or ".join(map(str, forms))
        raise InputError(f"release must be an array of shape {allowed}. Got shape {table.shape}.")
    sums = table.sum(axis=-1, keepdims=True)
    if np.abs(sums - 1).max() > _GIVEN:
        worst = float(sums.flat[int(np.abs(sums - 1).argmax())])
        raise InputError(f"The probabilities of all answers must sum to 1 at all votes. Got a sum of {worst!r}.")
    if is_symmetric(table, problem):
        votes = sorted_counts(problem.K, problem.n_classes)
        equal = votes[:, 1:] == votes[:, :-1]
        for j in range(1, problem.n_classes):  # equal votes: the probability of the class before
            tied = equal[:, j - 1]
            if np.abs(table[tied, j] - table[tied, j - 1]).max(initial=0.0) > _GIVEN:
                raise InputError("Classes with equal votes must have equal probabilities in a symmetric table.")
            table[tied, j] = table[tied, j - 1]
        sums = table.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(np.abs(sums - 1) <= (2 * problem.n_answers + 2) * _U, table, table / sums))


def drawn(answers: int) -> float:
    """The largest relative distance between a stored entry and the sampled probability.

    With O answers the computed sum of a row is within (2 O + 2) u of 1, and that of exact numbers within (3 O + 2) u;
    the largest entry, or the largest mass of classes with equal votes, takes that difference, and is at least 1 / O.
    """
    return answers * (3 * answers + 2) * _U


def mixed(table: Array, share: float) -> Array:
    """The release with probability ``share``, else a uniformly random answer."""
    even = np.asarray(share * table + (1 - share) / table.shape[-1])
    return np.asarray(even / even.sum(axis=-1, keepdims=True))


def rounded(table: Array, bits: int) -> Array:
    """The nearest table of multiples of 2^-bits, by largest remainders: rows sum to 1 exactly; for full tables.

    Likely answers come first among equal remainders, so an answer that was as likely as another stays so.
    """
    scaled = np.ldexp(table, bits).reshape(-1, table.shape[-1])
    units = np.floor(scaled)
    left = (2.0**bits - units.sum(axis=1)).astype(np.int64)  # at most one for each answer, but for rounding of the sum
    order = np.lexsort((-scaled, -(scaled - units)))
    np.put_along_axis(
        units, order, np.take_along_axis(units, order, 1) + (np.arange(units.shape[1]) < left[:, None]), 1
    )
    return np.asarray(np.ldexp(units, -bits).reshape(table.shape))


def block_sizes(problem: ByGroups) -> NDArray[np.intp]:
    """The size of the block that begins at each entry of a symmetric table; 0 where none begins."""
    counts = sorted_counts(problem.K, problem.n_classes)
    begins = np.ones((len(counts), problem.n_answers + 1), dtype=np.bool_)  # the end of a row begins another
    begins[:, 1 : problem.n_classes] = counts[:, 1:] != counts[:, :-1]
    flat = np.flatnonzero(begins.ravel())
    sizes = np.zeros(begins.size, dtype=np.intp)
    sizes[flat[:-1]] = np.diff(flat)
    return sizes.reshape(begins.shape)[:, :-1]


def masses(entries: list[float], sizes: list[int]) -> list[Fraction]:
    """The exact probability of each block of one row, at the entry where the block begins; 0 at the others.

    Raises
    ------
    InputError
        If the row does not sum to 1 within rounding, or a block has different entries.
    """
    chances = [size * Fraction(entry) for size, entry in zip(sizes, entries, strict=True)]
    implied = chances.index(max(chances))
    stored, chances[implied] = chances[implied], 1 - sum(chances) + chances[implied]
    blocks = [entries[j : j + size] for j, size in enumerate(sizes) if size]
    far = abs(chances[implied] - stored) > _FAR
    if far or min(chances) < 0 or any(len(set(block)) > 1 for block in blocks):
        raise InputError(
            "A row of a table must hold probabilities of sum 1, equal where counts of classes are equal. "
            f"Got {entries}."
        )
    return chances


def exact_rows(table: Array, problem: ByGroups) -> list[list[Fraction]]:
    """The exact probability of every entry: one list for each row of a table, full ones in the order of C.

    Raises
    ------
    InputError
        If a row does not hold probabilities.
    """
    rows = table.reshape(-1, problem.n_answers).tolist()
    if not is_symmetric(table, problem):
        return [masses(row, [1] * problem.n_answers) for row in rows]
    made = []
    for row, sizes in zip(rows, block_sizes(problem).tolist(), strict=True):
        check_time()
        chances = masses(row, sizes)
        made.append([chances[j] / size for j, size in enumerate(sizes) for _ in range(size)])
    return made


def sampled(table: Array, problem: ByGroups) -> NDArray[Any]:
    """The probabilities with which answers are sampled, in decimals of 50 digits; shape of ``table``."""
    with decimals(Decimal(1)):
        rows = [[Decimal(p.numerator) / p.denominator for p in row] for row in exact_rows(table, problem)]
    return np.array(rows, dtype=object).reshape(table.shape)

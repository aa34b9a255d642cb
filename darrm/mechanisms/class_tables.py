"""What a table of several answers means exactly: which probabilities are drawn, and so what is certified.

    Full table.  One row for each vector of counts. Every entry but the first largest of its row is drawn with exactly
    the stored float64; that one with 1 minus the sum of the others.
    Symmetric table.  One row for each vector of sorted counts, entry j for the class with the j-th largest count, and
    a last one for "none" if there is that answer. Classes of equal counts form a block, "none" one of its own. Each
    block but the first of largest mass, size times entry, is drawn with exactly that mass; that one with 1 minus the
    sum of the others. Within a block every class is equally likely.

So the probabilities of a row sum to 1 exactly. A full table is a symmetric one whose blocks have one answer each.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from darrm.certificate.stored import is_symmetric
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.problem.counts import sorted_counts
from darrm.problem.decision import DecisionProblem

_FAR = Fraction(1, 10**9)  # no rounding of a table of float64, but a mistake


def block_sizes(problem: DecisionProblem) -> NDArray[np.intp]:
    """How many answers the block has that begins at each entry of a symmetric table; 0 where none begins."""
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
        If the others do not leave what the block of largest mass says, or a block has different entries.
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


def exact_rows(problem: DecisionProblem, table: Array) -> list[list[Fraction]]:
    """The exact probability of every entry: one list for each row of a table, full ones in the order of C.

    Raises
    ------
    InputError
        If a row is none of probabilities.
    """
    rows = table.reshape(-1, problem.n_answers).tolist()
    if not is_symmetric(table, problem):
        return [masses(row, [1] * problem.n_answers) for row in rows]
    made = []
    for row, sizes in zip(rows, block_sizes(problem).tolist(), strict=True):
        chances = masses(row, sizes)
        made.append([chances[j] / size for j, size in enumerate(sizes) for _ in range(size)])
    return made

"""Whether a table changes when the classes are permuted, in the counts and in the answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.arrays import Array
from darrm.objectives.voters import SAME
from darrm.problem.counts import count_vectors, places
from darrm.problem.groups import ByGroups


def table_symmetric(table: Array, problem: ByGroups) -> bool:
    """Whether T(pi n, pi o) = T(n, o) for all permutations pi of the classes, to 1e-12 of the largest entry of a row.

    A transposition and a cycle of all classes are tried: all permutations are products of those. The further answer
    "none" stays in its place, if it has a column. ``table`` has shape (*problem.table_shape, n_classes or n_answers).
    """
    classes = np.arange(problem.n_classes)
    swapped = classes.copy()
    swapped[:2] = 1, 0
    return all(_same_under(order, table, problem) for order in (swapped, np.roll(classes, 1)))


def _same_under(order: NDArray[np.intp], table: Array, problem: ByGroups) -> bool:
    """Whether votes n_order[0], n_order[1], ... for class 0, 1, ... cost with answer c what n costs with order[c]."""
    answers = np.arange(table.shape[-1])
    answers[: problem.n_classes] = order
    at = [places(count_vectors(group.count, problem.n_classes)[:, order]) for group in problem.groups]
    moved, named = table[np.ix_(*at)], table[..., answers]
    size = np.maximum(np.abs(moved).max(axis=-1), np.abs(named).max(axis=-1))
    return bool(np.all(np.abs(moved - named) <= SAME * size[..., None]))

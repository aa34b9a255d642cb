"""Whether a table changes when the classes are permuted, in the counts and in the answers."""

from __future__ import annotations

import numpy as np

from darrm.numerics.arrays import Array
from darrm.objectives.voters import SAME
from darrm.problem.counts import count_vectors, places
from darrm.problem.decision import DecisionProblem


def table_symmetric(table: Array, problem: DecisionProblem) -> bool:
    """Whether T(pi n, pi o) = T(n, o) for all permutations pi of the classes, to 1e-12 of the largest entry of a row.

    A transposition and a cycle of all classes are tried: all permutations are products of those. The further answer
    "none" stays in its place, if it has a column. ``table`` has shape (*problem.shape, n_classes or n_answers).
    """
    classes = np.arange(problem.n_classes)
    swapped = classes.copy()
    swapped[:2] = 1, 0
    return all(_same_under(permuted, table, problem) for permuted in (swapped, np.roll(classes, 1)))


def _same_under(permuted: np.ndarray[tuple[int], np.dtype[np.int_]], table: Array, problem: DecisionProblem) -> bool:
    answers = np.arange(table.shape[-1])
    answers[: problem.n_classes] = permuted
    at = [places(count_vectors(group.count, problem.n_classes)[:, permuted]) for group in problem.groups]
    other = table[np.ix_(*at, answers)]
    size = np.maximum(np.abs(table).max(axis=-1), np.abs(other).max(axis=-1))
    return bool(np.all(np.abs(table - other) <= SAME * size[..., None]))

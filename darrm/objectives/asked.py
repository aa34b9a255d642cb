"""A rule that is a function of the counts: its answers as a table, and that table where voters are absent."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.objectives.objective import check_size
from darrm.problem.class_votes import all_votes
from darrm.problem.counts import count_vectors, places
from darrm.problem.groups import ByGroups


def answers_of(which: Callable[..., object], problem: ByGroups) -> Array:
    """1 where the function names the class, else 0; shape (*problem.table_shape, n_classes)."""
    check_size(problem)
    classes = problem.n_classes
    allowed = "0 or 1" if classes == 2 else f"a class, 0 to {classes - 1}"
    every = all_votes(problem)
    right = np.zeros((len(every), classes))
    for row, n in enumerate(every[..., 1] if classes == 2 else every):
        answer = which(n.copy())
        if not (isinstance(answer, int | np.integer | np.bool_) and 0 <= answer < classes):
            votes = tuple(n.tolist())
            raise InputError(f"The function of a rule must answer {allowed}. Got {answer!r} for the counts {votes}.")
        right[row, int(answer)] = 1.0
    return right.reshape(*problem.table_shape, classes)


def with_absent(right: Array, present: Sequence[int]) -> Array:
    """The same table for so many present voters of each group: who is absent counts as a vote for class 0."""
    classes, at = right.shape[-1], []
    for vectors, count in zip(right.shape[:-1], present, strict=True):
        voters = next(k for k in range(vectors) if math.comb(k + classes - 1, classes - 1) == vectors)
        votes = count_vectors(count, classes).copy()
        votes[:, 0] += voters - count
        at.append(places(votes))
    kept = right[np.ix_(*at)]
    return kept[tuple(slice(None) if count else 0 for count in present)]

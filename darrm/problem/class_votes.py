"""The vote counts of each row of a decision's table, and representatives of them up to a renaming of the classes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from darrm.numerics.arrays import Array
from darrm.problem.counts import Counts, Ranking, count_vectors, sorted_counts
from darrm.problem.groups import ByGroups


def all_votes(problem: ByGroups) -> Counts:
    """The vote counts of each entry of a full table, shape (entries, groups, classes)."""
    each = [count_vectors(group.count, problem.n_classes) for group in problem.groups]
    places = np.indices(problem.table_shape).reshape(len(each), -1)
    return np.stack([votes[place] for votes, place in zip(each, places, strict=True)], axis=1)


def votes_up_to_names(problem: ByGroups) -> Counts:
    """One vector of vote counts for each set of renamings: classes in descending order of votes, by the first group.

    For one group these are the rows of a symmetric table.
    """
    if len(problem.groups) == 1:
        return sorted_counts(problem.K, problem.n_classes)[:, None]
    votes = all_votes(problem)
    order = by_votes(votes)
    return np.asarray(votes[(order == np.arange(problem.n_classes)).all(axis=1)])


def by_votes(votes: Counts) -> NDArray[np.intp]:
    """The classes in descending order of votes, the first group decides; shape (rows, classes)."""
    return np.lexsort([-votes[:, g] for g in reversed(range(votes.shape[1]))], axis=-1)


def ways(votes: Counts) -> Array:
    """The number of distinct renamings of each row of `votes_up_to_names`; shape (rows,)."""
    runs, equal = np.ones(len(votes)), np.ones(len(votes))
    for j in range(1, votes.shape[-1]):
        equal = np.where((votes[..., j] == votes[..., j - 1]).all(axis=1), equal + 1, 1)
        runs *= equal
    return np.asarray(math.factorial(votes.shape[-1]) / runs)


def class_probabilities(table: Array, problem: ByGroups, votes: Counts) -> Array:
    """The probabilities of all answers, (n, answers), that a full or symmetric table has at votes (n, groups, classes).

    A symmetric table has one group.
    """
    if table.shape == (*problem.table_shape, problem.n_answers):
        places = []
        for g, group in enumerate(problem.groups):
            places.append(Ranking(count_vectors(group.count, problem.n_classes), group.count + 1).of(votes[:, g]))
        return np.asarray(table[tuple(places)])
    order = by_votes(votes)
    ranking = Ranking(sorted_counts(problem.K, problem.n_classes), problem.K + 1)
    rows = table[ranking.of(np.take_along_axis(votes[:, 0], order, axis=1))]
    found = rows.copy()
    np.put_along_axis(found, order, rows[:, : problem.n_classes], axis=1)
    return found

"""Rules without noise as tables, and the expected cost of any table."""

from __future__ import annotations

import numpy as np

from darrm.design.costs import costs_in, expected_cost
from darrm.numerics.arrays import Array
from darrm.objectives import Objective, gains
from darrm.problem.class_votes import all_votes, class_probabilities, votes_up_to_names
from darrm.problem.counts import Counts, sorted_counts
from darrm.problem.groups import ByGroups, VoterGroup
from darrm.problem.model import VoterModel

_TIE = 1e-12


def best_rule(problem: ByGroups, objective: Objective) -> Array:
    """The table of the Bayes rule: an answer of least cost at all votes, equally likely ones at a tie."""
    if problem.binary:
        return np.asarray((1 + np.sign(gains(objective.costs(problem)))) / 2)
    alike = len(problem.groups) == 1 and objective.symmetric(problem)
    costs = objective.costs_at(problem, votes_up_to_names(problem) if alike else all_votes(problem))
    cheap = costs <= costs.min(axis=1, keepdims=True) + _TIE * np.abs(costs)
    table = cheap / cheap.sum(axis=1, keepdims=True)
    return np.asarray(table if alike else table.reshape(*problem.table_shape, problem.n_answers))


def most_voted(problem: ByGroups) -> Array:
    """The table of the class with most votes of all groups together, equally likely ones at a tie."""
    return of_all_votes(plurality(sorted_counts(problem.K, problem.n_classes)), problem)


def of_all_votes(chances: Array, problem: ByGroups) -> Array:
    """A table for the votes of all groups together, from a table for sorted votes.

    Its shape is (rows, classes), or (rows, answers) if it has the probability of "none" too.
    """
    table = np.hstack([chances, np.zeros((len(chances), problem.n_answers - chances.shape[1]))])
    table /= table.sum(axis=1, keepdims=True)
    if len(problem.groups) == 1 and not problem.binary:
        return table
    return seen(table, together(problem), all_votes(problem).sum(axis=1, keepdims=True), problem)


def together(problem: ByGroups) -> VoterModel:
    """All voters of a problem as one group, without their privacy parameters."""
    return VoterModel([VoterGroup(problem.K, 1.0)], problem.classes, none=problem.none)


def seen(table: Array, own: ByGroups, votes: Counts, problem: ByGroups) -> Array:
    """The table of a problem that uses only some of its votes.

    Parameters
    ----------
    table : ndarray
        A table for ``own``, as a `Design` holds it, or with the probabilities of both of two answers.
    own : problem or model
    votes : ndarray, shape (entries, groups of own, classes)
        The votes that it uses, for each of `all_votes` of ``problem``.
    """
    both = np.stack([1 - table, table], axis=-1) if own.binary and table.shape == own.table_shape else table
    found = class_probabilities(both, own, votes)
    if problem.binary:
        return np.asarray(found[:, 1].reshape(problem.table_shape))
    return found.reshape(*problem.table_shape, problem.n_answers)


def plurality(votes: Counts) -> Array:
    """The class with most votes, equally likely ones at a tie; shape (rows, classes)."""
    most = votes == votes.max(axis=1, keepdims=True)
    return np.asarray(most / most.sum(axis=1, keepdims=True))


def cost_of(table: Array, problem: ByGroups, objective: Objective) -> float:
    """The expected cost of a table in any encoding."""
    if not problem.binary and not objective.symmetric(problem) and table.shape[:-1] != problem.table_shape:
        table = class_probabilities(table, problem, all_votes(problem)).reshape(*problem.table_shape, problem.n_answers)
    return expected_cost(costs_in(problem, objective, table), table)

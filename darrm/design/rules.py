"""Rules without noise as tables, and what any table of a problem costs."""

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
    """At all votes an answer that costs least, each as likely at a tie."""
    if problem.binary:
        return np.asarray((1 + np.sign(gains(objective.costs(problem)))) / 2)
    alike = len(problem.groups) == 1 and objective.symmetric(problem)
    costs = objective.costs_at(problem, votes_up_to_names(problem) if alike else all_votes(problem))
    cheap = costs <= costs.min(axis=1, keepdims=True) + _TIE * np.abs(costs)
    table = cheap / cheap.sum(axis=1, keepdims=True)
    return np.asarray(table if alike else table.reshape(*problem.table_shape, problem.n_answers))


def most_voted(problem: ByGroups) -> Array:
    """The class of most votes, of all groups together; each as likely at a tie."""
    if problem.binary:
        ones = np.indices(problem.table_shape).sum(axis=0)
        return np.asarray((1 + np.sign(2 * ones - problem.K)) / 2)
    return of_all_votes(plurality(sorted_counts(problem.K, problem.n_classes)), problem)


def of_all_votes(chances: Array, problem: ByGroups) -> Array:
    """A table of the votes of all groups together, from one for sorted votes, shape (rows, classes)."""
    table = np.hstack([chances, np.zeros((len(chances), problem.n_answers - problem.n_classes))])
    table /= table.sum(axis=1, keepdims=True)
    if len(problem.groups) == 1:
        return table
    together = VoterModel([VoterGroup(problem.K, 1.0)], problem.classes, none=problem.none)
    found = class_probabilities(table, together, all_votes(problem).sum(axis=1, keepdims=True))
    return found.reshape(*problem.table_shape, problem.n_answers)


def plurality(votes: Counts) -> Array:
    """The most voted class, each as likely at a tie; shape (rows, classes)."""
    most = votes == votes.max(axis=1, keepdims=True)
    return np.asarray(most / most.sum(axis=1, keepdims=True))


def cost_of(table: Array, problem: ByGroups, objective: Objective) -> float:
    """The expected cost of a table, whatever its form."""
    if not problem.binary and not objective.symmetric(problem) and table.shape[:-1] != problem.table_shape:
        table = class_probabilities(table, problem, all_votes(problem)).reshape(*problem.table_shape, problem.n_answers)
    return expected_cost(costs_in(problem, objective, table), table)

"""Expected costs of tables of decisions, and the counts at which a table prefers the costlier answer."""

from __future__ import annotations

import math

import numpy as np

from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.objectives import Objective, gains
from darrm.problem.class_tables import is_symmetric
from darrm.problem.class_votes import all_votes, votes_up_to_names, ways
from darrm.problem.groups import ByGroups


def costs_in(problem: ByGroups, objective: Objective, table: Array) -> Array:
    """The cost of each answer at each row of a table; of a symmetric table summed over all renamings."""
    if problem.binary or not is_symmetric(table, problem):
        return objective.costs(problem)
    if not objective.symmetric(problem):
        raise InputError("A symmetric table needs an objective that treats all classes alike. Pass a full table.")
    return costs_at_rows(problem, objective, alike=True)


def costs_at_rows(problem: ByGroups, objective: Objective, *, alike: bool) -> Array:
    """The cost of each answer at all votes, or at `votes_up_to_names` with their renamings; shape (rows, answers)."""
    votes = votes_up_to_names(problem) if alike else all_votes(problem)
    return np.asarray(objective.costs_at(problem, votes) * (ways(votes)[:, None] if alike else 1.0))


def reversals_of(costs: Array, table: Array) -> int:
    if costs.ndim > table.ndim:
        return int(np.count_nonzero(np.sign(table - 0.5) * np.sign(gains(costs)) < 0))
    least = costs.min(axis=-1, keepdims=True)
    cheap = costs <= least + 1e-12 * np.abs(costs)
    of_cheap = np.where(cheap, table, 0.0).max(axis=-1)
    return int(np.count_nonzero(np.where(cheap, 0.0, table).max(axis=-1) > of_cheap * (1 + 1e-9)))


def expected_cost(costs: Array, table: Array) -> float:
    """The expected cost of a table; ``costs`` as from `costs_in`."""
    if costs.ndim == table.ndim:
        return math.fsum((costs * table).ravel().tolist())
    return math.fsum((costs[..., 1] * table + costs[..., 0] * (1 - table)).ravel().tolist())

"""Decisions of several answers held to a Renyi divergence: best, as far as we know, where labels are many.

    maximise the objective   subject to   sum over o of P_o^order Q_o^(1 - order) <= e^((order - 1) divergence)

for the probabilities P, Q of all answers at every case. The left side is convex and homogeneous in (P, Q), so that its
tangents are rows without a constant, which are added where they are broken:

    sum over o of  order r_o^(order - 1) P_o + (1 - order) r_o^order Q_o,     r_o = P_o / Q_o at the last table.

No guarantee rests on it: what labels cost is counted from the table alone.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from darrm.certificate.classes import ClassSeparation, class_table, mixed
from darrm.constraints.classes import ClassColumns, check_variables, weighted_rows
from darrm.design.decision import costs_at_rows
from darrm.numerics.arrays import Array
from darrm.objectives import Objective
from darrm.problem.decision import DecisionProblem
from darrm.problem.limits import guarantee
from darrm_solvers import Rows, solve_by_cuts

_STEEPEST = 1e7  # of r^order: any tangent is a row
_CLOSE = 1e-3  # relative, of the divergence
_AT_ONCE = 200
_EVEN = 1e-6  # of an answer at random, so that no answer is impossible


def solve_renyi(
    problem: DecisionProblem,
    objective: Objective,
    order: float,
    divergence: float,
    *,
    ordered: bool = False,
    time_limit: float = math.inf,
) -> Array:
    """The table that costs least under the divergence, nearly; ``order`` is above 1."""
    alike = objective.symmetric(problem)
    check_variables(problem, alike=alike)
    columns = ClassColumns(problem, costs_at_rows(problem, objective, alike=alike), alike=alike, ordered=ordered)
    allowed = math.exp((order - 1) * divergence)
    separate = partial(_tangents, columns=columns, order=order, allowed=allowed)
    weights = columns.weights / columns.weights.max()
    answer = solve_by_cuts(weights, [separate], first=columns.first, time_limit=time_limit)
    return mixed(class_table(columns.table(answer.solution.x), problem), 1 - _EVEN)


def _tangents(x: Array, columns: ClassColumns, order: float, allowed: float) -> Rows:
    """Rows at the cases where the table of x breaks the divergence most."""
    problem = columns.problem
    table = mixed(class_table(columns.table(x), problem), 1 - _EVEN)
    search = ClassSeparation(table, guarantee(problem))

    def moment(P: Array, Q: Array) -> Array:
        return np.asarray((P * (P / Q) ** (order - 1)).sum(axis=1))

    broken = search.largest(moment, 1 + (allowed - 1) * (1 + _CLOSE), _AT_ONCE)
    rows = []
    for groups, P, Q in broken:
        r = np.minimum(P / Q, _STEEPEST ** (1 / order))
        rows.append((groups, order * r ** (order - 1), (1 - order) * r**order))
    return weighted_rows(columns, rows, allowed)

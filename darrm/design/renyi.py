"""Decisions with several answers under a limit on a Renyi divergence, the best known family for many labels.

    maximise the objective   subject to   sum over o of P_o^order Q_o^(1 - order) <= e^((order - 1) divergence)

for the probabilities P, Q of all answers at every case. The left side is convex and homogeneous in (P, Q), so that its
tangents are rows without a constant, which are added where they are violated:

    sum over o of  order r_o^(order - 1) P_o + (1 - order) r_o^order Q_o,     r_o = P_o / Q_o at the last table.

No guarantee rests on it: the cost of labels is computed from the table alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from darrm.certificate.classes import ClassSeparation
from darrm.constraints.classes import ClassColumns, check_variables, weighted_rows
from darrm.design.costs import costs_at_rows
from darrm.numerics.arrays import Array
from darrm.objectives import Objective
from darrm.problem.class_tables import class_table, mixed
from darrm.problem.decision import DecisionProblem
from darrm.problem.limits import guarantee
from darrm_solvers import Rows, solve_by_cuts

_STEEPEST = 1e7  # limit of r^order; any tangent is a valid row
_CLOSE = 1e-3  # relative accuracy of the divergence
_AT_ONCE = 200
_HALVINGS = 20
_EVEN = 1e-6  # share of a random answer, so that no answer is impossible


class RenyiProgram:
    """Finds tables of nearly least cost under a limit on the divergence.

    Tangents are valid for every limit, so each search begins with those of the previous ones.

    Parameters
    ----------
    problem : DecisionProblem
        Describes the voters; its guarantee is not used.
    objective : Objective
    order : float, above 1
    ordered : bool
        As in `darrm.solve`.
    """

    def __init__(self, problem: DecisionProblem, objective: Objective, order: float, *, ordered: bool = False) -> None:
        alike = objective.symmetric(problem)
        check_variables(problem, alike=alike)
        costs = costs_at_rows(problem, objective, alike=alike)
        self._columns = ClassColumns(problem, costs, alike=alike, ordered=ordered)
        self._problem, self._order = problem, order
        first = self._columns.first
        self._rows, self._scales = [first], [np.zeros(first.limits.size)]

    def table(self, divergence: float, *, time_limit: float = math.inf) -> Array:
        """The table for this divergence, nats."""
        allowed = math.exp((self._order - 1) * divergence)
        first = Rows(
            np.concatenate([rows.rows for rows in self._rows]),
            np.concatenate(
                [rows.limits + scale * allowed for rows, scale in zip(self._rows, self._scales, strict=True)]
            ),
        )
        weights = self._columns.weights / self._columns.weights.max()
        answer = solve_by_cuts(weights, [partial(self._tangents, allowed)], first=first, time_limit=time_limit)
        return self._possible(answer.solution.x)

    def _possible(self, x: Array) -> Array:
        """The table of x, in which no answer is impossible."""
        return mixed(class_table(self._columns.table(x), self._problem), 1 - _EVEN)

    def _tangents(self, allowed: float, x: Array) -> Rows:
        """Rows at the cases where the table of x violates the limit most."""
        order = self._order

        def moment(P: Array, Q: Array) -> Array:
            P, Q = _floats(P), _floats(Q)
            with np.errstate(over="ignore"):  # an infinite moment is above what is allowed, as it should be
                return np.asarray((P * (P / Q) ** (order - 1)).sum(axis=1))

        search = ClassSeparation(self._possible(x), guarantee(self._problem))
        tangents = []
        for groups, P, Q in search.largest(moment, 1 + (allowed - 1) * (1 + _CLOSE), _AT_ONCE):
            P, Q = _kept(moment, P, Q, allowed)
            r = np.minimum(P / Q, _STEEPEST ** (1 / order))
            tangents.append((groups, order * r ** (order - 1), (1 - order) * r**order))
        rows, scale = weighted_rows(self._columns, tangents)
        self._rows.append(rows)
        self._scales.append(scale)
        return Rows(rows.rows, rows.limits + scale * allowed)


def _kept(moment: Callable[[Array, Array], Array], P: Array, Q: Array, allowed: float) -> tuple[Array, Array]:
    """The point between (P, Q) and a random answer, which violates nothing, at which the divergence equals the limit.

    The tangent there also cuts off (P, Q), and cuts off more: rows there need fewer rounds.
    """
    P, Q = _floats(P), _floats(Q)
    broken, kept = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (broken + kept) / 2
        at = [(1 - middle) * chances + middle / chances.size for chances in (P, Q)]
        broken, kept = (middle, kept) if moment(at[0][None], at[1][None])[0] > allowed else (broken, middle)
    return (1 - broken) * P + broken / P.size, (1 - broken) * Q + broken / Q.size


def _floats(chances: Array) -> Array:
    """Probabilities that are decimals, for voters of large epsilon, as float64: none is near 0."""
    return np.asarray(chances, dtype=np.float64)

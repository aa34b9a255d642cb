"""Decisions under a limit on a Renyi divergence, the best known family for many labels.

    maximise the objective   subject to   sum over o of P_o^order Q_o^(1 - order) <= e^((order - 1) divergence)

for the probabilities P, Q of all answers at every case. The left side is convex and homogeneous in (P, Q), so that its
tangents are rows without a constant, which are added where they are violated:

    sum over o of  order r_o^(order - 1) P_o + (1 - order) r_o^order Q_o,     r_o = P_o / Q_o at the last table.

No guarantee rests on it: the cost of labels is computed from the table alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from darrm.certificate.engines import engine
from darrm.constraints.engines import weighted_rows
from darrm.design.program import variables
from darrm.numerics.arrays import Array
from darrm.objectives import Objective
from darrm.problem import encodings
from darrm.problem.decision import AnyProblem, decision_by
from darrm.problem.limits import guarantee
from darrm_solvers import Rows, solve_by_cuts
from darrm_solvers.cutting_planes import stacked

_FAR = 600.0  # nats; e^600 is a float64, and no table has such a moment
_STEEPEST = 1e30  # limit of r^order; any tangent is a valid row
_CLOSE = 1e-3  # relative accuracy of the divergence
_AT_ONCE = 200
_HALVINGS = 20
_EVEN = 1e-6  # share of a random answer, so that no answer is impossible


class RenyiProgram:
    """Finds tables of nearly least cost under a limit on the divergence.

    Tangents are valid for every limit, so each search begins with those of the previous ones.

    Parameters
    ----------
    problem : MajorityProblem or DecisionProblem
        Describes the voters; its guarantee is not used.
    objective : Objective
    order : float, above 1
    shape : str
        As in `darrm.solve`.
    also : sequence of (problem, order)
        Further divergences that the table keeps, each of the same votes: of other kinds of change, or of any voters.
    """

    def __init__(
        self,
        problem: AnyProblem,
        objective: Objective,
        order: float,
        *,
        shape: str = "free",
        also: Sequence[tuple[AnyProblem, float]] = (),
    ) -> None:
        self._variables = variables(problem, objective, shape, math.inf)
        self._problem = problem
        self._held = [(decision_by(held.model, 1.0, 0.5), own) for held, own in ((problem, order), *also)]
        for held, _ in self._held:
            engine(held).check_size(held)
        # Of the first rows and all tangents: limits, and what is added to them for each allowed moment.
        self._rows = self._variables.first
        self._scales = np.zeros((len(self._held), self._rows.limits.size))

    def table(self, *divergences: float, time_limit: float = math.inf) -> Array:
        """The table for these divergences, nats, in the order of ``problem`` and ``also``."""
        limits = zip(self._held, divergences, strict=True)
        allowed = np.array([math.exp(min((order - 1) * most, _FAR)) for (_, order), most in limits])
        first = Rows(self._rows.rows, self._rows.limits + allowed @ self._scales)
        weights = self._variables.weights / (self._variables.weights.max() or 1.0)
        answer = solve_by_cuts(weights, [partial(self._tangents, allowed)], first=first, time_limit=time_limit)
        return self._possible(answer.solution.x)

    def _possible(self, x: Array) -> Array:
        """The table of x, in which no answer is impossible."""
        table = self._variables.columns.table(np.clip(x, 0.0, 1.0))
        encoding = encodings.of(self._problem, table)
        mixed = encoding.mixed(encoding.checked(table, self._problem), 1 - _EVEN)
        return encodings.complementary(mixed) if encoding is encodings.BINARY else mixed

    def _tangents(self, allowed: Array, x: Array) -> Rows:
        """Rows at the cases where the table of x violates a limit most."""
        table = self._possible(x)
        if encodings.of(self._problem, table) is encodings.GAMMA:
            table = encodings.GAMMA.probabilities(table)[:, 1]
        before = self._rows.limits.size
        for which, ((problem, order), most) in enumerate(zip(self._held, allowed.tolist(), strict=True)):
            moment = partial(_moment, order)
            search: Any = engine(problem).separation(table, guarantee(problem))
            worst = search.largest(moment, 1 + (most - 1) * (1 + _CLOSE), _AT_ONCE)
            if worst:
                cases, *sides = zip(*worst, strict=True)
                r = np.array([_ratios(moment, P, Q, most) for P, Q in zip(*sides, strict=True)])
                r = np.minimum(r, _STEEPEST ** (1 / order))
                on, off = order * r ** (order - 1), (1 - order) * r**order
                rows, scale = weighted_rows(problem, self._variables.columns, cases, on, off)
                self._rows = stacked([self._rows, rows])
                self._scales = np.hstack([self._scales, np.outer(np.arange(len(allowed)) == which, scale)])
        new = slice(before, None)
        return Rows(self._rows.rows[new], self._rows.limits[new] + allowed @ self._scales[:, new])


def _moment(order: float, P: Array, Q: Array) -> Array:
    """The left side of the limit, for each row."""
    P, Q = _floats(P), _floats(Q)
    with np.errstate(over="ignore"):  # an infinite moment is above what is allowed, as it should be
        return np.asarray((P * (P / Q) ** (order - 1)).sum(axis=1))


def _ratios(moment: Callable[[Array, Array], Array], P: Array, Q: Array, allowed: float) -> Array:
    """P / Q at the point between (P, Q) and a random answer, which violates nothing, at which the limit is reached.

    The tangent there also cuts off (P, Q), and cuts off more: rows there need fewer rounds.
    """
    P, Q = _floats(P), _floats(Q)
    broken, kept = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (broken + kept) / 2
        at = [(1 - middle) * chances + middle / chances.size for chances in (P, Q)]
        broken, kept = (middle, kept) if moment(at[0][None], at[1][None])[0] > allowed else (broken, middle)
    return ((1 - broken) * P + broken / P.size) / ((1 - broken) * Q + broken / Q.size)


def _floats(chances: Array) -> Array:
    """Probabilities that are decimals, for voters of large epsilon, as float64: none is near 0."""
    return np.asarray(chances, dtype=np.float64)

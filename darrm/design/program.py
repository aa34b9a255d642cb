"""The linear program of a problem and an objective, from its variables and first rows to a certified table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from darrm.certificate.scaling import repair_all
from darrm.constraints import rows as constraints
from darrm.constraints.classes import ClassColumns, ClassRows, check_variables
from darrm.constraints.engines import Columns
from darrm.constraints.groups import GroupRows, TableColumns
from darrm.constraints.rows import HalfColumns
from darrm.constraints.truths import TruthRows
from darrm.design.costs import costs_at_rows, costs_in, expected_cost
from darrm.design.cuts import Candidates, CutFinder, separators
from darrm.design.optimum import WEIGHT_FLOOR, check_optimal, exact_upper_bound, raised, searching, upper_bound
from darrm.errors import InputError
from darrm.numerics.arrays import Array, in_decimals
from darrm.numerics.exact import decimals
from darrm.objectives import Objective, Paper, gains
from darrm.priors.prior import weights as weights_of
from darrm.problem import encodings
from darrm.problem.class_tables import class_table
from darrm.problem.limits import Limit
from darrm_solvers import (
    LinearProgram,
    Progress,
    Rows,
    Solution,
    solve_by_cuts,
    solve_cvxpy,
    solve_highs,
)
from darrm_solvers.cutting_planes import CutSolution, stacked

_PAID = 1e-10  # share of the largest weight; a bound that loses more to rounding is computed again, exactly
_FIRST = 2.0**-48  # largest rounding of a first row


@dataclass(frozen=True)
class Variables:
    """The variables of a program, x in [0, 1]^n; the objective improves with each of them.

    Attributes
    ----------
    columns : Columns
        The meaning of x.
    weights : ndarray, shape (n,)
        The gain of the objective from each variable.
    first : Rows
        The constraints of the table's shape.
    exact : int
        The number of first rows that are exact; the others are rounded.
    floor : float
        The share of the largest weight to which smaller ones are raised.
    gap : callable
        Maps a certified table and a bound on the gain of any table to a bound on its cost above the optimum.
    anything : ndarray or None
        The table if no gain is possible.
    """

    columns: Columns
    weights: Array
    first: Rows
    exact: int
    floor: float
    gap: Callable[[Array, float], float]
    anything: Array | None = None


def variables(problem: Any, objective: Objective, shape: str, until: float) -> Variables:
    """The variables of a problem's tables, by their encoding; ``until`` is the time limit for listing costs."""
    encoding = encodings.of(problem, ())
    if isinstance(objective, Paper) and encoding is encodings.GAMMA:
        return _of_gamma(problem.K, objective, shape)
    with searching(until):
        return (_of_two if encoding is encodings.BINARY else _of_several)(problem, objective, shape == "ordered")


def _of_gamma(K: int, objective: Paper, shape: str) -> Variables:
    name = objective.name if objective.name != "custom" else objective.prior.default_objective
    weights = weights_of(objective.prior, K, name)
    monotone = shape == "monotone"
    n = weights.size
    rising = np.eye(n)[:-1] - np.eye(n, k=1)[:-1] if monotone else np.zeros((0, n))  # gamma(l) - gamma(l+1) <= 0

    def gap(gamma: Array, bound: float) -> float:
        return max(0.0, bound - float(weights @ gamma[K // 2 + 1 :])) / 2

    first = Rows(rising, np.zeros(len(rising)))
    return Variables(HalfColumns(K, monotone=monotone), weights, first, len(rising), WEIGHT_FLOOR, gap)


def _of_two(problem: Any, objective: Objective, ordered: bool) -> Variables:
    costs = objective.costs(problem)
    columns = TableColumns(gains(costs), alike=problem.classes_alike, ordered=ordered)

    def gap(table: Array, bound: float) -> float:
        # All variables at 0 have the largest cost; their gain is bounded.
        most = expected_cost(costs, columns.table(np.zeros(columns.n)))
        # The rounding of costs, here and in their gains.
        rounding_of_costs = float(
            np.abs(costs[..., 0] - costs[..., 1] - gains(costs)).sum() + 2.0**-49 * np.abs(costs).sum()
        )
        return max(0.0, expected_cost(costs, table) - most + bound) + rounding_of_costs

    anything = None if columns.weights.max() > 0 else np.full(costs.shape[:-1], 0.5)
    return Variables(columns, columns.weights, _none(columns.n), 0, WEIGHT_FLOOR / 2, gap, anything)


def _of_several(problem: Any, objective: Objective, ordered: bool) -> Variables:
    alike = objective.symmetric(problem) and problem.classes_alike
    check_variables(problem, alike=alike)
    costs = costs_at_rows(problem, objective, alike=alike)
    columns = ClassColumns(problem, costs, alike=alike, ordered=ordered)

    def gap(table: Array, bound: float) -> float:
        rounding_of_costs = 1.1e-12 * float(np.abs(costs).sum())  # ties of costs, and sums
        cost = expected_cost(costs_in(problem, objective, table), table)
        return max(0.0, cost - columns.most + bound) + rounding_of_costs

    anything = None
    if not columns.weights.max(initial=0.0) > 0:
        even = np.full((*columns.shape, problem.n_answers), 1 / problem.n_answers)
        anything = class_table(even, problem)
    return Variables(columns, columns.weights, columns.first, 0, WEIGHT_FLOOR / 2, gap, anything)


def _none(n: int) -> Rows:
    return Rows(np.zeros((0, n)), np.zeros(0))


def optimum(of: Variables, held: Sequence[Limit[Any]], until: float) -> tuple[Array, float]:
    """The certified table of least cost under all limits, and its gap; raises what `darrm.solve` raises."""
    if of.anything is not None:
        return of.anything, 0.0
    table, gap, _ = Search(of, held, until, "error", None).by_cuts()
    return table, gap


def most_gain(of: Variables, held: Sequence[Limit[Any]], until: float) -> float:
    """An upper bound on the gain of every table that keeps all limits, by cases that are found quickly."""
    search = Search(of, held, until, "error", None)
    return search.bounded(search.by(search.cuts[:-1], of.first))[0]


class Search:
    """The search for the optimum over variables under limits.

    Parameters
    ----------
    of : Variables
    held : sequence of Limit
    until : float
        The moment of `time.monotonic` at which it ends.
    on_time_limit : {"error", "best"}
    report : callable, optional
        See `darrm.solve`.
    """

    def __init__(
        self,
        of: Variables,
        held: Sequence[Limit[Any]],
        until: float,
        on_time_limit: str,
        report: Callable[[Progress], None] | None,
    ) -> None:
        self.of, self.held, self.until, self.on_time_limit, self.report = of, held, until, on_time_limit, report
        self.candidates = Candidates(held, of.columns)
        self.finders = [CutFinder(limit, self.candidates) for limit in held]
        self._owners: list[int] = []
        self.cuts = separators(self.finders, self._owners)

    def by_cuts(self, near: Sequence[Any] = ()) -> tuple[Array, float, list[Any]]:
        """The certified table, its gap, and its binding cases; ``near`` are cases to begin with."""
        of, first = self.of, self.of.first
        if near:
            try:
                rows = self.finders[0].begin_with(near)
            except (TypeError, ValueError, OverflowError):
                raise InputError("binding.counts must be multisets: 8 integers each.") from None
            first = Rows(np.concatenate([first.rows, rows.rows]), np.concatenate([first.limits, rows.limits]))
        answer = self.by(self.cuts, first)
        table = self._certified(answer.solution)
        bound, bound_by = self.bounded(answer)
        return table, of.gap(table, bound), [case for _, case in bound_by] if len(self.held) == 1 else []

    def by(self, cuts: Sequence[Callable[[Array], Rows]], first: Rows) -> CutSolution:
        """The optimum under all rows that ``cuts`` find."""
        with searching(self.until) as left:
            weights = raised(self.of.weights, self.of.floor)
            answer = solve_by_cuts(weights, cuts, first=first, time_limit=left, report=self.report)
        check_optimal(answer.solution, "cutting-planes", self.on_time_limit)
        return answer

    def bounded(self, answer: CutSolution) -> tuple[float, list[tuple[int, Any]]]:
        """An upper bound on the gain of any table by an optimum, and the limits and cases that bind it."""
        multipliers, begun = answer.solution.multipliers, len(self.of.first.limits)
        binds = (multipliers > 0).nonzero()[0]
        bound_by = self._cases(binds[binds >= begun] - begun)
        return min(self._bound(answer.program, multipliers), self._exactly(multipliers, bound_by)), bound_by

    def listed(self, engine: str) -> tuple[Array, float]:
        """The certified table and its gap, from the whole list of constraints of a majority."""
        of = self.of
        with searching(self.until, engine) as left:
            rows = constraints.all_rows(self.held[0].problem)
            limits = np.concatenate([of.first.limits, np.ones(len(rows))])
            program = LinearProgram(raised(of.weights, of.floor), np.vstack([of.first.rows, rows]), limits)
            solution = (solve_highs if engine == "full-list" else solve_cvxpy)(program, time_limit=left)
        check_optimal(solution, engine, self.on_time_limit)
        table = self._certified(solution)
        return table, of.gap(table, self._bound(program, solution.multipliers))

    def _certified(self, solution: Solution) -> Array:
        """The certified table of a solver's answer."""
        # One common factor, as in repair, keeps a monotone table monotone.
        return repair_all(self.candidates.released(solution.x), self.held)

    def _bound(self, program: LinearProgram, multipliers: Array) -> float:
        """An upper bound on the gain of any table, from the rows of a program and their multipliers."""
        rounding = max([finder.rows.rounding for finder in self.finders])
        return upper_bound(rounding, self.of.weights, program, multipliers, exact=self.of.exact)

    def _cases(self, numbers: NDArray[np.intp]) -> list[tuple[int, Any]]:
        """The limit and the case of rows that separators returned, by their numbers."""
        proposed = [finder.proposed for finder in self.finders]
        if len(proposed) == 1:
            return [(0, proposed[0][i]) for i in numbers.tolist()]
        owners = np.array(self._owners, dtype=np.intp)
        of_owner = (owners[:, None] == np.arange(len(proposed))).cumsum(axis=0)
        return [(int(owners[i]), proposed[owners[i]][of_owner[i, owners[i]] - 1]) for i in numbers.tolist()]

    def _exactly(self, multipliers: Array, bound_by: Sequence[tuple[int, Any]]) -> float:
        """The bound from exact rows, where that from rounded rows loses too much to rounding; else infinity."""
        of, each = self.of, [finder.rows for finder in self.finders]
        if not all(isinstance(rows, GroupRows | ClassRows | TruthRows) for rows in each):
            return math.inf
        if not float(multipliers[multipliers > 0].sum()) * max(rows.rounding for rows in each) > _PAID:
            return math.inf
        begun = len(of.first.limits)
        own = np.flatnonzero(multipliers[:begun] > 0)
        parts: list[Any] = [(in_decimals(of.first.rows[own]), in_decimals(of.first.limits[own]))]
        with decimals(min(limit.epsilon for limit in self.held)):
            for i, some in groupby(bound_by, key=itemgetter(0)):
                parts.append(cast(Any, each[i]).exactly([case for _, case in some]))
            exact, limits = stacked(parts)
            bound = exact_upper_bound(of.weights, exact, limits, multipliers[multipliers > 0])
        # Shares such as 1/3 in the first rows are rounded; a row has few of them, and masses are 1 at most.
        return bound + _FIRST * float(multipliers[:begun].clip(0).sum()) * float(of.weights.max())

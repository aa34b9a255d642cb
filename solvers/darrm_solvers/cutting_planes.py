"""Cutting planes for programs with too many rows to list: rows are added where the last answer violates them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm_solvers.highs import HighsModel, Option
from darrm_solvers.linear_program import Array, LinearProgram, Solution, Status

if TYPE_CHECKING:
    import cvxpy

_CROWDED = 2  # times as many rows as columns, from which on slack rows are left out
_SLACK, _BROKEN = 1e-6, 1e-10


class Rows(NamedTuple):
    """Violated rows of rows @ x <= limits; shapes (m, n) and (m,). None if there are none."""

    rows: Array
    limits: Array


class Progress(NamedTuple):
    """The progress of a solve after one round."""

    rounds: int
    rows: int
    value: float  # the objective over the rows so far, which the optimum cannot beat
    seconds: float


Separator = Callable[[Array], Rows]
Report = Callable[[Progress], None]
# (objective to minimise, constraints) on x of shape (n,)
ConvexModel = Callable[["cvxpy.Variable"], tuple["cvxpy.Expression", list["cvxpy.Constraint"]]]


@dataclass(frozen=True, eq=False)
class CutSolution:
    """The answer of a cutting-plane solve.

    Attributes
    ----------
    solution : Solution
        The status and the last optimum: if the status is not OPTIMAL, it violates rows of the separators. Its
        multipliers belong to the rows of ``program``; at any status they bound the optimum.
    program : LinearProgram
        The program of all rows that were added.
    rounds : int
        The number of calls of the separators.
    """

    solution: Solution
    program: LinearProgram
    rounds: int


def solve_by_cuts(
    objective: Array,
    separators: Sequence[Separator],
    *,
    first: Rows | None = None,
    time_limit: float = math.inf,
    max_rounds: int = 1000,
    options: dict[str, Option] | None = None,
    report: Report | None = None,
) -> CutSolution:
    """maximise objective @ x over 0 <= x <= 1 and every row of the last separator.

    Starting from x = 1, the rows that the last optimum violates are added and the dual simplex continues from its
    basis, until no separator finds any. A separator is called only when those before it find none; where the first two
    find none, the optimum is refined (`HighsModel.refine`) before all but the first are called. Separators decide what
    counts as violated; they must not return the same row forever. One that raises TimeoutError ends the solve as the
    time limit does. Where rows are many more than variables slack ones leave the program, each once, and come back
    where they are broken.

    Parameters
    ----------
    objective : ndarray, shape (n,), nonnegative
    separators : sequence of callables
        Map x of shape (n,) to the Rows that x violates; from the quickest to the complete one. The others must find all
        that the first one finds.
    first : Rows, optional
        Rows to start with.
    time_limit : float, seconds, > 0
        For the whole solve; checked between rounds, and handed to HiGHS.
    max_rounds : int
    options : dict, optional
        Further HiGHS options by name, for instance another algorithm.
    report : callable, optional
        Called with `Progress` after each round.

    Returns
    -------
    CutSolution
        With status TIME_LIMIT or ITERATION_LIMIT if a separator still finds rows by then.

    Examples
    --------
    The largest sum in a disc around (1/2, 1/2), which infinitely many rows describe: each x outside breaks its tangent.

    >>> import numpy as np
    >>> from darrm_solvers import Rows, solve_by_cuts
    >>> def tangent(x):
    ...     distance = np.linalg.norm(x - 0.5)
    ...     if distance <= 0.5 + 1e-9:
    ...         return Rows(np.zeros((0, 2)), np.zeros(0))
    ...     normal = (x - 0.5) / distance
    ...     return Rows(normal[None], np.array([0.5 + normal.sum() / 2]))
    >>> answer = solve_by_cuts(np.array([1.0, 1.0]), [tangent])
    >>> answer.solution.status.name, round(float(answer.solution.x.sum()), 6)
    ('OPTIMAL', 1.707107)
    """
    if not time_limit > 0:
        raise ValueError(f"time_limit must be above 0 seconds. Got {time_limit}.")
    start = time.perf_counter()
    n = objective.size
    model = _Model(objective, options, start + time_limit)
    last = answer = Solution(Status.OPTIMAL, np.ones(n), np.zeros(0), 0, "start")
    if first is not None and first.limits.size:
        model.add(first)
        answer = model.solve()
    status, rounds = Status.ITERATION_LIMIT, 0
    while rounds < max_rounds:
        if answer.status is not Status.OPTIMAL:
            status = answer.status
            break
        last = answer
        rounds += 1
        try:
            new = _first_broken(separators[:2], last.x)
            if not new.limits.size:
                last = model.refine(last)
                new = _first_broken(separators[1:] or separators, last.x)
        except TimeoutError:
            status = Status.TIME_LIMIT
            break
        if not new.limits.size:
            status = Status.OPTIMAL
            break
        if model.late:
            status = Status.TIME_LIMIT
            break
        model.add(new)
        answer = model.solve()
        if report is not None:
            report(Progress(rounds, model.size, float(objective @ answer.x), time.perf_counter() - start))
    multipliers = np.zeros(model.size)
    multipliers[: last.multipliers.size] = last.multipliers
    program = model.program
    model.end()
    final = Solution(status, last.x, multipliers, answer.iterations, answer.message)
    return CutSolution(final, program, rounds)


class _Model:
    """A `HighsModel` of the rows that matter out of all that were added: slack ones leave it, once each."""

    def __init__(self, objective: Array, options: dict[str, Option] | None, until: float) -> None:
        self._model, self._objective, self._n = HighsModel(objective, options), objective, objective.size
        self._until = until  # of time.perf_counter
        self._batches: list[Rows] = []
        self._inside = np.zeros(0, dtype=np.intp)  # the places of the model's rows among all
        self._left: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)  # which of all left the model at some time
        self._out: NDArray[np.intp] = np.zeros(0, dtype=np.intp)  # the places of those that are not back, in order
        self._rows_out = Rows(np.zeros((0, self._n)), np.zeros(0))
        self._reordered = False  # whether the model's rows stand in another order than all

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return time.perf_counter() >= self._until

    @property
    def size(self) -> int:
        """How many rows were added."""
        return self._left.size

    @property
    def program(self) -> LinearProgram:
        """The program of all rows, as they were added."""
        if not self._reordered:
            return self._model.program
        return LinearProgram(self._objective, *stacked(self._batches))

    def add(self, new: Rows) -> None:
        places = np.arange(self.size, self.size + new.limits.size)
        self._left = np.concatenate((self._left, np.zeros(places.size, dtype=np.bool_)))
        self._inside = np.concatenate((self._inside, places))
        self._batches.append(new)
        self._model.add_rows(new.rows, new.limits)

    def solve(self) -> Solution:
        """The optimum over all rows; multipliers in their order."""
        while True:
            answer = self._model.solve(max(1e-9, self._until - time.perf_counter()))
            if answer.status is not Status.OPTIMAL:
                return answer
            if not self._take_in(answer.x):
                break
        found = self._of_all(answer)
        if self._inside.size > _CROWDED * self._n:
            slack = self._model.slack(answer.x)
            places = np.flatnonzero((slack > _SLACK) & (answer.multipliers == 0) & ~self._left[self._inside])
            if places.size > self._n:
                self._leave_out(places)
        return found

    def _leave_out(self, places: NDArray[np.intp]) -> None:
        """Take rows out of the model, by their places in it."""
        self._reordered = True
        self._left[self._inside[places]] = True
        self._out = np.append(self._out, self._inside[places])
        self._inside = np.delete(self._inside, places)
        self._rows_out = stacked([self._rows_out, Rows(*self._model.drop_rows(places))])

    def _take_in(self, x: Array) -> bool:
        """Whether ``x`` breaks rows that left the model; they come back."""
        if not self._out.size:
            return False
        rows, limits = self._rows_out
        broken = rows @ x > limits + _BROKEN
        if broken.any():
            self._inside = np.append(self._inside, self._out[broken])
            self._model.add_rows(rows[broken], limits[broken])
            self._out, self._rows_out = self._out[~broken], Rows(rows[~broken], limits[~broken])
        return bool(broken.any())

    def refine(self, solution: Solution) -> Solution:
        """The optimum refined; among several it can be another one, which rows that left the model may forbid."""
        while True:
            own = replace(solution, multipliers=solution.multipliers[self._inside]) if self._reordered else solution
            refined = self._of_all(self._model.refine(own))
            if not self._take_in(refined.x):
                return refined
            answer = self.solve()
            if answer.status is not Status.OPTIMAL:
                return solution
            solution = answer

    def end(self) -> None:
        self._model.end()

    def _of_all(self, answer: Solution) -> Solution:
        if not self._reordered:
            return answer
        multipliers = np.zeros(self._left.size)
        multipliers[self._inside] = answer.multipliers
        return replace(answer, multipliers=multipliers)


def stacked(batches: Sequence[Rows]) -> Rows:
    """One batch after the other; there must be one."""
    return Rows(*(np.concatenate(parts) for parts in zip(*batches, strict=True)))


def _first_broken(separators: Sequence[Separator], x: Array) -> Rows:
    """The rows of the first separator that finds any."""
    for separator in separators:
        rows = separator(x)
        if rows.limits.size:
            break
    return rows


def solve_convex_by_cuts(
    n: int,
    model: ConvexModel,
    separators: Sequence[Separator],
    *,
    time_limit: float = math.inf,
    max_rounds: int = 1000,
    report: Report | None = None,
) -> tuple[Solution, float]:
    """Cutting planes for a convex program in CVXPY: minimise ``model``'s objective under its constraints and all rows.

    Parameters
    ----------
    n : int
    model : callable
        Maps a variable of shape (n,) in [0, 1] to (objective, list of constraints).
    separators, time_limit, max_rounds, report
        As in `solve_by_cuts`; the time limit is checked between rounds.

    Returns
    -------
    solution : Solution
        Without multipliers. x is the last optimum.
    value : float
        The objective there.

    Raises
    ------
    ValueError
        If the program is not convex.

    Examples
    --------
    The point of a half plane that is nearest to (1, 1):

    >>> import cvxpy
    >>> import numpy as np
    >>> from darrm_solvers import Rows, solve_convex_by_cuts
    >>> def half_plane(x):
    ...     broken = x.sum() > 1 + 1e-6
    ...     return Rows(np.ones((int(broken), 2)), np.ones(int(broken)))
    >>> solution, value = solve_convex_by_cuts(2, lambda x: (cvxpy.sum_squares(x - 1), []), [half_plane])
    >>> solution.x.round(3).tolist(), round(value, 3)
    ([0.5, 0.5], 0.5)
    """
    import cvxpy

    from darrm_solvers.cvxpy_model import RefusedError, solve_by_highs

    start = time.perf_counter()
    x = cvxpy.Variable(n, bounds=[0, 1])
    objective, constraints = model(x)
    batches = list(constraints)
    last, value, m = np.ones(n), math.inf, 0
    for rounds in range(1, max_rounds + 1):
        program = cvxpy.Problem(cvxpy.Minimize(objective), batches)
        if not program.is_dcp():
            raise ValueError("the objective and constraints must be convex by CVXPY's rules (DCP)")
        linear = program.is_lp()
        try:
            if linear:
                solve_by_highs(program)
            else:
                program.solve(solver=cvxpy.CLARABEL)  # type: ignore[no-untyped-call]
        except RefusedError as error:
            return Solution(Status.REFUSED, last, np.zeros(0), 0, str(error)), value
        except cvxpy.SolverError as error:
            return Solution(Status.NUMERICAL, last, np.zeros(0), 0, str(error)), value
        if program.status in (cvxpy.INFEASIBLE, cvxpy.INFEASIBLE_INACCURATE):
            return Solution(Status.INFEASIBLE, last, np.zeros(0), 0, program.status), value
        values = np.full(n, np.nan) if x.value is None else np.asarray(x.value, dtype=np.float64)
        if program.status not in (cvxpy.OPTIMAL, cvxpy.OPTIMAL_INACCURATE) or not np.isfinite(values).all():
            return Solution(Status.NUMERICAL, last, np.zeros(0), 0, program.status), value
        last, value = np.clip(values, 0.0, 1.0), float(program.value)
        seconds = time.perf_counter() - start
        if report is not None:
            report(Progress(rounds, m, value, seconds))
        try:
            new = _first_broken(separators, last)
        except TimeoutError:
            return Solution(Status.TIME_LIMIT, last, np.zeros(0), 0, program.status), value
        if not new.limits.size:
            return Solution(Status.OPTIMAL, last, np.zeros(0), 0, program.status), value
        if seconds > time_limit:
            return Solution(Status.TIME_LIMIT, last, np.zeros(0), 0, program.status), value
        batches.append(cvxpy.Constant(new.rows) @ x <= new.limits)
        m += new.limits.size
    return Solution(Status.ITERATION_LIMIT, last, np.zeros(0), 0, program.status), value

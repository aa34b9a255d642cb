"""The HiGHS engine: dual simplex through highspy, on a model that can grow row by row."""

from __future__ import annotations

import math
import os
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from darrm_solvers.linear_program import Array, LinearProgram, Solution, Status
from darrm_solvers.vertices import Basis, feasible, least, settled, vertex

if TYPE_CHECKING:
    from highspy import Highs, HighsModelStatus, HighsStatus

P = ParamSpec("P")
T = TypeVar("T")
Option = bool | int | float | str

# One thread: a table of designs runs one solve a process.
# Tolerances near the floor of HiGHS (1e-10); entries under 1e-12 (the floor) are dropped, those above are kept.
_OPTIONS: dict[str, Option] = {
    "output_flag": False,
    "threads": 1,
    "solver": "simplex",
    "simplex_strategy": 1,
    "presolve": "off",
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
    "small_matrix_value": 1e-12,
    "random_seed": 0,
}
_FINER, _RUNS = 2.0**20, 3
_LOOK = 0.1  # seconds between looks for a signal
# Iterations, and more for each row and column: HiGHS can go in circles for ever, most of all from the basis before.
_MOST_AT_FIRST, _MOST_ITERATIONS = (1_000, 1), (10_000, 20)
# HiGHS ends some solves with kSolveError or kUnknown; each of these has recovered such a case.
_FALLBACKS: tuple[dict[str, Option], ...] = (
    {},
    {"presolve": "on"},
    {"presolve": "off", "simplex_scale_strategy": 0},
    {"simplex_scale_strategy": 2, "simplex_strategy": 4, "simplex_iteration_limit": 3_000},
    {
        "simplex_strategy": 1,
        "dual_simplex_cost_perturbation_multiplier": 0.0,
        "simplex_iteration_limit": 30_000,  # each goes on from the options of those before
    },
)
_IN_REFINE = 3  # of them: there a smaller step is the next thing to try
# What they change, and a model goes on with.
_USUAL: dict[str, Option] = {"simplex_scale_strategy": 2, "dual_simplex_cost_perturbation_multiplier": 1.0}


def set_options(highs: Highs, options: dict[str, Option]) -> None:
    """Set options of HiGHS by name; `ValueError` for one that is rejected, where HiGHS would keep its default."""
    from highspy import HighsStatus

    for name, value in options.items():
        if highs.setOptionValue(name, value) != HighsStatus.kOk:
            raise ValueError(f"HiGHS rejected the option {name} = {value!r}. Check its range.")


@cache
def _class() -> type[Highs]:
    import highspy

    class Silent(highspy.Highs):
        def __init__(self) -> None:
            """Make no callbacks; none is used, they take most of the time, and 1.16.0 prints when they are set."""
            super(highspy.Highs, self).__init__()

    return Silent


def silent() -> Highs:
    """A HiGHS that prints nothing once "output_flag" is False."""
    return _class()()


@cache
def _statuses() -> dict[HighsModelStatus, Status]:
    """Those of HiGHS that say something; all variables have bounds, so "unbounded" is an error too."""
    from highspy import HighsModelStatus

    return {
        HighsModelStatus.kOptimal: Status.OPTIMAL,
        HighsModelStatus.kInfeasible: Status.INFEASIBLE,
        HighsModelStatus.kTimeLimit: Status.TIME_LIMIT,
        HighsModelStatus.kIterationLimit: Status.ITERATION_LIMIT,
    }


class _Work:
    """Work for a thread of darrm's own; ``ended`` has one entry once ``answers`` has one."""

    def __init__(self, do: Callable[[], Any]) -> None:
        self.do = do
        self.highs: Highs | None = None  # the last one that it ran
        self.stopped = False
        self.answers: list[Any] = []
        self.ended: SimpleQueue[None] = SimpleQueue()


class _Thread:
    """A thread that runs HiGHS for one other thread, and ends with that."""

    def __init__(self) -> None:
        self.process = os.getpid()  # a fork has no such thread
        self.works: SimpleQueue[_Work | None] = SimpleQueue()
        threading.Thread(target=_serve, args=(self.works,), name="darrm-highs", daemon=True).start()

    def __del__(self) -> None:
        self.works.put(None)


def _serve(works: SimpleQueue[_Work | None]) -> None:
    while (asked := works.get()) is not None:
        _OF_CALLER.work = asked
        try:
            asked.answers.append(asked.do())
        except BaseException as error:
            asked.answers.append(error)
        asked.ended.put(None)
        del asked, _OF_CALLER.work  # the next may be long in coming


_OF_CALLER = threading.local()


def aside(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """``function`` in a thread of darrm's own, where HiGHS runs without a change of threads.

    An interrupt ends it at its next run of HiGHS, so that it should not take long without one. HiGHS has a scheduler
    for each thread that ever ran it, of as many threads as the first run there asked for. A later run in the same
    thread that asks for another number fails. Nobody else ever runs HiGHS in this one.
    """
    if hasattr(_OF_CALLER, "work"):  # this is such a thread
        return function(*arguments, **named)
    do = partial(copy_context().run, function, *arguments, **named)
    own: _Thread | None = getattr(_OF_CALLER, "thread", None)
    if own is None or own.process != os.getpid():
        try:
            own = _OF_CALLER.thread = _Thread()
        except RuntimeError:  # no more threads here, or no longer
            return do()
    asked = _Work(do)
    own.works.put(asked)
    try:
        _wait(asked.ended)
    except BaseException:
        # Python would take the process down with a solver at work. HiGHS looks at its limit while it runs.
        asked.stopped = True
        if asked.highs is not None:
            set_options(asked.highs, {"time_limit": 0.0})
        if not asked.answers:  # else the entry may have been taken when the interrupt came
            asked.ended.get()
        raise
    [answer] = asked.answers
    if isinstance(answer, BaseException):
        raise answer
    return cast(T, answer)


def _wait(ended: SimpleQueue[None]) -> None:
    """Take the entry; a signal that came just before the wait began, and did not end it, is seen soon."""
    while True:
        with suppress(Empty):
            return ended.get(timeout=_LOOK)


def run(highs: Highs) -> HighsStatus:
    """``highs.run()`` in a thread of darrm's own; an interrupt ends it."""
    return aside(_run, highs)


def _run(highs: Highs) -> HighsStatus:
    work: _Work | None = getattr(_OF_CALLER, "work", None)
    if work is None:  # there is no such thread
        return highs.run()
    work.highs = highs
    status = None if work.stopped else highs.run()
    if status is None or work.stopped:
        raise KeyboardInterrupt
    return status


def why_refused(highs: Highs) -> str:
    """The reason, in one line, if HiGHS does not run at all, else empty; it is only written to a log."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        log.touch()
        set_options(highs, {"log_to_console": False, "log_file": str(log), "output_flag": True})
        run(highs)
        set_options(highs, {"output_flag": False, "log_file": ""})
        lines = log.read_text(errors="replace").splitlines()
    return " ".join(line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:"))


class HighsModel:
    """maximise objective @ x over 0 <= x <= 1 and rows added one batch after the other; each solve starts warm.

    Parameters
    ----------
    objective : ndarray, shape (n,)
    options : dict, optional
        Further HiGHS options by name, for instance another algorithm.

    Raises
    ------
    ValueError
        If an option is rejected, or a number is not finite: HiGHS would accept NaN without a word.

    Examples
    --------
    >>> import numpy as np
    >>> from darrm_solvers import HighsModel
    >>> model = HighsModel(np.array([1.0, 1.0]))
    >>> model.solve().x.tolist()
    [1.0, 1.0]
    >>> model.add_rows(np.array([[1.0, 2.0]]), np.array([2.0]))
    >>> model.solve().x.tolist()
    [1.0, 0.5]
    """

    def __init__(self, objective: Array, options: dict[str, Option] | None = None) -> None:
        import highspy

        self._n, self._m, self._limited = objective.size, 0, False
        self._objective = np.ascontiguousarray(objective, dtype=np.float64)
        self._program: LinearProgram | None = None  # of the rows in `_batches`, once it is needed
        self._batches: list[tuple[Array, Array]] = [(np.zeros((0, self._n)), np.zeros(0))]
        self._chosen = {**_OPTIONS, **(options or {})}
        self._usual = not options  # whether all options of HiGHS are, and were, those of `_OPTIONS`
        spare: Highs | None = _OF_CALLER.__dict__.pop("spare", None) if self._usual else None
        if spare is None:
            spare = silent()
            set_options(spare, self._chosen)
        self._highs = spare
        _finite("objective", objective)
        self._highs.addVars(self._n, np.zeros(self._n), np.ones(self._n))
        self._highs.changeColsCost(self._n, np.arange(self._n, dtype=np.int32), self._objective)
        self._highs.changeObjectiveSense(highspy.ObjSense.kMaximize)

    def end(self) -> None:
        """Give HiGHS back, for the next model of this thread: to make one takes longer than a small solve."""
        if self._usual:
            self._highs.clearModel()
            _OF_CALLER.spare = self.__dict__.pop("_highs")

    def add_rows(self, rows: Array, limits: Array) -> None:
        """Add rows @ x <= limits; rows of shape (m, n)."""
        import highspy

        rows, limits = (np.ascontiguousarray(part, dtype=np.float64) for part in (rows, limits))
        _finite("rows", rows)
        _finite("limits", limits)
        m = limits.size
        if rows.shape != (m, self._n):
            raise ValueError(f"rows must have shape {(m, self._n)} beside {m} limits. Got {rows.shape}.")
        row, column = rows.nonzero()
        # kWarning only says that entries under small_matrix_value were dropped.
        status = self._highs.addRows(
            m,
            np.full(m, -highspy.kHighsInf),
            limits,
            row.size,
            row.searchsorted(np.arange(m)).astype(np.int32),
            column.astype(np.int32),
            rows[row, column],
        )
        if status == highspy.HighsStatus.kError:
            raise ValueError("HiGHS rejected rows. Check their shape and size.")
        self._m += m
        self._batches.append((rows, limits))
        self._program = None

    def drop_rows(self, dropped: NDArray[np.intp]) -> tuple[Array, Array]:
        """Take rows and their limits out again, by their places; best those that do not bind: then the basis stays."""
        rows, limits = (np.concatenate(parts) for parts in zip(*self._batches, strict=True))
        self._batches = [(np.delete(rows, dropped, axis=0), np.delete(limits, dropped))]
        self._highs.deleteRows(dropped.size, dropped.astype(np.int32))
        self._m -= dropped.size
        self._program = None
        return rows[dropped], limits[dropped]

    @property
    def program(self) -> LinearProgram:
        """The program of all rows that are in the model."""
        if self._program is None:
            rows, limits = map(np.concatenate, zip(*self._batches, strict=True))
            self._program = LinearProgram.of_checked(self._objective, rows, limits)
        return self._program

    def slack(self, x: Array) -> Array:
        """limits - rows @ x."""
        return np.concatenate([limits - rows @ x for rows, limits in self._batches])

    def refine(self, solution: Solution) -> Solution:
        """Refine the optimum to some digits beyond the tolerances of HiGHS.

        Answers that are right to rounding, as most of small programs are, stay. Else the vertex of the basis that HiGHS
        ended with is solved for by linear algebra. If its multipliers do not prove it optimal, the program of the
        correction d = s (x* - x), s = 2^20, with a larger objective,

            maximise 2^10 objective @ d   subject to   rows @ d <= s (limits - rows @ x),   -s x <= d <= s (1 - x),

        is solved from that basis, within the same tolerances, which is better by s, and then the vertex anew; where
        HiGHS gives up, with a smaller s. (The primal half of iterative refinement: Gleixner, Steffy, Wolter, INFORMS
        Journal on Computing 28, 2016.)

        Returns
        -------
        Solution
            With the multipliers that bound the optimum best, of all computed ones. Unchanged if there is nothing to
            refine, or if HiGHS finds no optimum.
        """
        if solution.status is not Status.OPTIMAL or not self._m:
            return solution
        program, limits = self.program, self.program.limits
        if settled(program, solution.x, solution.multipliers):
            return solution
        x, known, finer = solution.x, [solution.multipliers], _FINER
        for run in range(_RUNS + 1):
            if run:
                cost = math.sqrt(finer)
                self._move(cost, -finer * x, finer * (1 - x), finer * (limits - program.rows @ x))
                correction = self._run(math.inf, _IN_REFINE)
            basis = self._basis()
            if run:
                self._move(1.0, np.zeros(self._n), np.ones(self._n), limits)
                if correction.status is not Status.OPTIMAL:
                    finer /= 2.0**8
                    continue
                x = np.clip(x + correction.x / finer, 0.0, 1.0)
                known.append(correction.multipliers / cost)
            found = None if basis is None else vertex(program, basis, x)
            if found is not None:
                known.append(found.multipliers)
                if found.optimal:
                    return replace(solution, x=np.clip(found.x, 0.0, 1.0), multipliers=np.maximum(known[-1], 0.0))
                if run and feasible(program, found.x):
                    x = np.clip(found.x, 0.0, 1.0)
                    break
        return replace(solution, x=x, multipliers=least(program, x, known))

    def _basis(self) -> Basis | None:
        """The basis that HiGHS ended with."""
        import highspy

        basic, basis = highspy.HighsBasisStatus.kBasic, self._highs.getBasis()
        columns = np.flatnonzero([status == basic for status in basis.col_status])
        rows = np.flatnonzero([status != basic for status in basis.row_status])
        return Basis(columns, rows) if columns.size == rows.size else None

    def _move(self, cost: float, low: Array, high: Array, limits: Array) -> None:
        columns, rows = np.arange(self._n, dtype=np.int32), np.arange(self._m, dtype=np.int32)
        self._highs.changeColsCost(self._n, columns, cost * self._objective)
        self._highs.changeColsBounds(self._n, columns, low, high)
        self._highs.changeRowsBounds(self._m, rows, np.full(self._m, -math.inf), limits)  # type: ignore[attr-defined]

    def solve(self, time_limit: float = math.inf) -> Solution:
        """The optimum over the rows added so far.

        Parameters
        ----------
        time_limit : float, seconds, > 0
            For each attempt: if HiGHS gives up it is tried again from a cold start, with presolve, without scaling.
        """
        if not time_limit > 0:
            raise ValueError(f"time_limit must be above 0 seconds. Got {time_limit}.")
        answer = self._run(time_limit)
        # When maximising, HiGHS gives rows that bind from above a nonnegative dual.
        x, multipliers = np.minimum(np.maximum(answer.x, 0.0), 1.0), np.maximum(answer.multipliers, 0.0)
        return Solution(answer.status, x, multipliers, answer.iterations, answer.message)

    def _run(self, time_limit: float, fallbacks: int = len(_FALLBACKS)) -> Solution:
        """What HiGHS finds for the model as it is now, not clipped."""
        import highspy

        # The time limit of HiGHS counts from the first run of this object on.
        most, later = (
            self._chosen.get("simplex_iteration_limit", base + each * (self._n + self._m))
            for base, each in (_MOST_AT_FIRST, _MOST_ITERATIONS)
        )
        set_options(self._highs, {"simplex_iteration_limit": most})
        for attempt, fallback in enumerate(({}, *_FALLBACKS[:fallbacks])):
            if attempt or self._limited or time_limit < math.inf:
                self._usual = False
                self._limited = time_limit < math.inf
                set_options(self._highs, {"time_limit": self._highs.getRunTime() + time_limit})
            if attempt:
                set_options(self._highs, {"simplex_iteration_limit": later, **fallback})
                self._highs.clearSolver()
            try:
                run(self._highs)
                ended = self._highs.getModelStatus()
                answer = self._highs.getSolution()
            except RuntimeError as error:  # thrown in C++: what HiGHS holds then is nothing to go on from
                self._usual = False
                return Solution(Status.NUMERICAL, np.zeros(self._n), np.zeros(self._m), 0, f"HiGHS failed: {error}")
            status = _statuses().get(ended, Status.NUMERICAL)
            if status is Status.ITERATION_LIMIT and (attempt or "simplex_iteration_limit" not in self._chosen):
                status = Status.NUMERICAL
            x, duals = np.array(answer.col_value), np.array(answer.row_dual)
            if status is Status.OPTIMAL and not (
                x.shape == (self._n,) and duals.shape == (self._m,) and np.isfinite(x).all()
            ):
                status = Status.NUMERICAL
            if status is not Status.NUMERICAL:
                break
        refused = why_refused(self._highs) if ended == highspy.HighsModelStatus.kNotset else ""
        if attempt:
            set_options(self._highs, {**_USUAL, **self._chosen})
        if refused:
            return Solution(Status.REFUSED, np.zeros(self._n), np.zeros(self._m), 0, f"HiGHS says: {refused}")
        message = self._highs.modelStatusToString(ended)
        iterations = int(self._highs.getInfoValue("simplex_iteration_count")[1])
        if status is not Status.OPTIMAL:
            return Solution(status, np.zeros(self._n), np.zeros(self._m), iterations, message)
        return Solution(status, x, np.where(np.isfinite(duals), duals, 0.0), iterations, message)


def _finite(name: str, array: Array) -> None:
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite. Got {float(array[~np.isfinite(array)][0])}.")


def solve_highs(
    program: LinearProgram, *, time_limit: float = math.inf, options: dict[str, Option] | None = None
) -> Solution:
    """Solve a linear program whose rows are all there with the dual simplex of HiGHS.

    Parameters
    ----------
    program : LinearProgram
    time_limit : float, seconds, > 0
        For each attempt.
    options : dict, optional
        Further HiGHS options by name, for instance another algorithm.

    Returns
    -------
    Solution
        Never None; look at its status.

    Raises
    ------
    ValueError
        If an option is rejected or time_limit is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from darrm_solvers import LinearProgram, solve_highs
    >>> program = LinearProgram(
    ...     objective=np.array([1.0, 1.0]), rows=np.array([[1.0, 2.0]]), limits=np.array([2.0])
    ... )
    >>> solution = solve_highs(program)
    >>> solution.status.name, solution.x.tolist(), solution.multipliers.tolist()
    ('OPTIMAL', [1.0, 0.5], [0.5])
    """
    model = HighsModel(program.objective, options)
    if program.limits.size:
        model.add_rows(program.rows, program.limits)
    return model.solve(time_limit)

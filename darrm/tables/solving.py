"""Solving a grid in parallel, and resuming an earlier run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from darrm._validation import check_jobs, choice
from darrm._validation import path as check_path
from darrm.errors import DarrmError, InputError
from darrm.storage.locks import locked
from darrm.tables import files
from darrm.tables.files import Row
from darrm.tables.journal import Journal, made_with
from darrm.tables.parallel import BACKENDS, in_parallel
from darrm.tables.problems import Grid, Values, grid
from darrm.tables.table import Table, figures, verify_table
from darrm.tables.tasks import DECISIONS, MAJORITIES, Task

_FEW = 200  # rows that one process verifies at once
_QUICK = 64  # voters, up to which a majority is solved in some hundredths of a second
Progress = Callable[[int, int, int], None]


def solve_grid(
    K: Values | Grid = None,
    m: Values = None,
    epsilon: Values = None,
    Delta: Values = 0.0,
    *,
    out: str | Path | None = None,
    jobs: int = 1,
    backend: str = "loky",
    scheduler: str | None = None,
    progress: Progress | None = None,
    **more: Any,
) -> Table:
    """Solve and certify every problem of a grid; resume an earlier run of the same grid.

    Parameters
    ----------
    K, m, epsilon, Delta, and delta, max_affected, prior, shape, objective, adjacency by name
        The grid, as of `darrm.tables.grid`; or a `Grid` alone (`darrm.tables.from_csv`).
    out : path, optional
        The file of the table (.parquet, .csv, .jsonl). Until it is complete, finished designs are kept in a journal
        beside it (``<out>.journal``), on disk before the next are begun. After an interruption, the same call resumes
        from the journal. A complete table is read and verified, and nothing is solved.
    jobs : int
        Processes on this machine; -1 for all cores.
    backend : {"loky", "dask"}
        "dask" works on the cluster behind ``scheduler``, whose workers need this version of darrm.
    scheduler : str, optional
        ``tcp://host:port``.
    progress : callable, optional
        Called with (designs done, designs, failures).

    Returns
    -------
    Table
        In the order of the grid, the same to the last digit for any ``jobs``, backend and interruptions on one kind of
        machine (except ``seconds``). A problem that cannot be solved has a row with its ``failure``.

    Raises
    ------
    InputError
        If the grid is unusable, ``out`` holds another, another run is writing it, or the scheduler does not answer.
    OutputError
        If the journal or table cannot be written; designs finished before are kept.

    Notes
    -----
    A process is handed up to 32 problems of one K at once, from small m on. Above K = 64 they are of one epsilon and
    Delta too, and each begins with the binding constraints of the previous one (`darrm.design.solve.Binding`). If a
    run is killed, what was handed to a process and is not finished is lost.

    Examples
    --------
    Three designs; asked again, they are found in the file and nothing is solved:

    >>> import darrm
    >>> table = darrm.tables.solve_grid(K=[5, 7, 9], m=2, epsilon=0.1, out="gamma.csv")
    >>> [round(row["error"], 4) for row in table.rows]
    [0.0422, 0.0672, 0.0853]
    >>> darrm.tables.solve_grid(K=[5, 7, 9], m=2, epsilon=0.1, out="gamma.csv").found
    3
    """
    if isinstance(K, Grid):
        if m is not None or epsilon is not None or Delta != 0.0 or more:
            raise InputError("solve_grid takes a Grid alone, or the values of one.")
        todo = K
    else:
        todo = grid(K, m, epsilon, Delta, **more)
    jobs = check_jobs(jobs)
    choice("backend", backend, BACKENDS)
    if (backend == "dask") != (scheduler is not None):
        raise InputError('backend "dask" needs a scheduler, tcp://host:port, and nothing else does.')
    with ExitStack() as stack:
        rows: dict[int, Row] = {}
        journal = None
        if out is not None:
            target = check_path("out", out)
            files.ending(target)
            stack.enter_context(locked(target, wait=False))
            there = _complete(target, todo)
            if there is not None:
                _check_found(target, there, jobs)
                return Table(there, len(there), todo.left_out)
            journal = Journal(target, todo)
            stack.callback(journal.close)
            rows |= journal.rows
            _check_found(journal.path, list(rows.values()), jobs)
        finished = len(rows)
        failed = sum(row["failure"] is not None for row in rows.values())
        if progress is not None:
            progress(finished, len(todo.tasks), failed)
        chains = {at: chain for at, chain in enumerate(todo.chains()) if not all(i in rows for i in chain)}
        work = {at: ([todo.tasks[i] for i in chain],) for at, chain in chains.items()}
        for at, done in in_parallel(_solve_chain, work, jobs=jobs, backend=backend, scheduler=scheduler):
            new = dict(zip(chains[at], done, strict=True))
            if journal is not None:
                journal.record(new)
            rows |= new
            failed += sum(row["failure"] is not None for row in done)
            if progress is not None:
                progress(len(rows), len(todo.tasks), failed)
        table = Table(tuple(rows[i] for i in range(len(todo.tasks))), finished, todo.left_out)
        if out is not None and journal is not None:
            files.write(out, table.rows)
            journal.path.unlink()
        return table


def _solve_chain(tasks: Sequence[Task]) -> list[Row]:
    """The rows of neighbouring problems, each with the help of the one before."""
    from darrm_solvers.highs import aside

    # A solve of few voters takes no longer than a change of threads for it, and than anybody waits after an interrupt.
    few = all(task.helped and task.problem.K <= _QUICK for task in tasks)
    return aside(_solved, tasks) if few else _solved(tasks)


def _solved(tasks: Sequence[Task]) -> list[Row]:
    from darrm.design.solve import Binding

    binding, rows = Binding(), []
    for task in tasks:
        kind = MAJORITIES if task.helped else DECISIONS
        row: Row = dict.fromkeys(kind.columns)
        row |= dict(zip(kind.key, task.key, strict=True))
        start = time.perf_counter()
        try:
            design = task.solve(binding)
            row |= {kind.release: design.table.ravel().tolist(), **figures(design)}
            row |= dict.fromkeys(kind.others, len(binding.counts))
        except DarrmError as error:
            binding = Binding()
            row["failure"] = " ".join(str(error).split())
        rows.append(row | {"seconds": time.perf_counter() - start, "made_with": made_with()})
    return rows


def _complete(target: Path, todo: Grid) -> tuple[Row, ...] | None:
    """The rows in ``target``, if they are exactly those of this grid; None if there is no file."""
    if not target.exists():
        return None
    rows = tuple(files.rows(target))
    if [files.key_of(row) for row in rows] != [task.key for task in todo.tasks]:
        raise InputError(f"{target} holds another grid. Pass another path, or move it away.")
    return rows


def _check_found(path: Path, rows: Sequence[Row], jobs: int) -> None:
    """Verify the rows that were read, as solved ones are."""
    check = verify_table(Table(tuple(rows)), jobs=jobs if len(rows) > _FEW else 1)
    if not check.holds:
        raise InputError(f"{path} was changed after it was written: {check.wrong[0]}. Delete it, then solve anew.")

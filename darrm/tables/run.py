"""Solving a grid: in parallel, on one machine or a cluster, with a journal from which it goes on."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from darrm.atomic import locked
from darrm.errors import DarrmError, InputError, MissingExtraError, OutputError
from darrm.tables import files
from darrm.tables.files import COLUMNS, Row
from darrm.tables.problems import KEY, Grid, Task, Values, grid
from darrm.tables.table import Table, figures

BACKENDS = ("loky", "dask")
_ATTEMPTS = 3  # pools, if workers are killed
_MOST_JOBS = 1024
_FEW = 200  # rows that one process verifies at once
_PATIENCE = 8  # seconds for a scheduler to answer
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
    """Solve and certify every problem of a grid; go on where an earlier run of the same grid stopped.

    Parameters
    ----------
    K, m, epsilon, Delta, and delta, changed, prior, shape, objective, adjacency by name
        The grid, as of `darrm.tables.grid`; or a `Grid` alone (`darrm.tables.from_csv`).
    out : path, optional
        Where the table goes (.parquet, .csv, .jsonl). Until all is done, finished designs stand in a journal beside it
        (``<out>.journal``), on disk before the next are begun: whatever ends the run, calling this again goes on from
        there. A table that is there and complete is read and verified, and nothing is solved.
    jobs : int
        Processes on this machine; -1 for all cores.
    backend : {"loky", "dask"}
        "dask" works on the cluster behind ``scheduler``, whose workers need this version of darrm.
    scheduler : str, optional
        tcp://host:port.
    progress : callable, optional
        Called with (designs done, designs, failures).

    Returns
    -------
    Table
        In the order of the grid, the same to the last digit for any ``jobs``, backend and interruptions on one kind of
        machine (but for ``seconds``). What cannot be solved is a row with its ``failure``.

    Raises
    ------
    InputError
        If the grid is unusable, ``out`` holds another, another run is writing it, or the scheduler does not answer.
    OutputError
        If the journal or table cannot be written; what was finished before stays.

    Notes
    -----
    Designs are solved in chains of up to 32 neighbours, from small m on, each beginning with the constraints that bound
    the last (`darrm.design.solve.Binding`); a chain is the unit that is lost if a run is killed.
    """
    if isinstance(K, Grid):
        if m is not None or epsilon is not None or Delta != 0.0 or more:
            raise InputError("solve_grid takes a Grid alone, or the values of one.")
        todo = K
    else:
        todo = grid(K, m, epsilon, Delta, **more)
    check_jobs(jobs)
    if backend not in BACKENDS:
        raise InputError(f"backend must be one of {', '.join(BACKENDS)}. Got {backend!r}.")
    if (backend == "dask") != (scheduler is not None):
        raise InputError('backend "dask" needs a scheduler, tcp://host:port, and nothing else does.')
    with ExitStack() as stack:
        rows: dict[int, Row] = {}
        journal = None
        if out is not None:
            target = Path(out)
            files.ending(target)
            stack.enter_context(locked(target, wait=False))
            there = _complete(target, todo)
            if there is not None:
                _check_found(target, there, jobs)
                return Table(there, len(there), todo.left_out)
            journal, rows = _open_journal(target, todo)
            stack.callback(_close, journal)
            _check_found(journal_of(target), list(rows.values()), jobs)
        found = len(rows)
        failed = sum(row["failure"] is not None for row in rows.values())
        if progress is not None:
            progress(found, len(todo.tasks), failed)
        chains = {at: chain for at, chain in enumerate(todo.chains()) if not all(i in rows for i in chain)}
        work = {at: ([todo.tasks[i] for i in chain],) for at, chain in chains.items()}
        for at, done in in_parallel(_solve_chain, work, jobs=jobs, backend=backend, scheduler=scheduler):
            new = dict(zip(chains[at], done, strict=True))
            if journal is not None:
                _record(journal, Path(str(out)), new)
            rows |= new
            failed += sum(row["failure"] is not None for row in done)
            if progress is not None:
                progress(len(rows), len(todo.tasks), failed)
        table = Table(tuple(rows[i] for i in range(len(todo.tasks))), found, todo.left_out)
        if out is not None:
            files.write(out, table.rows)
            journal_of(Path(out)).unlink()
        return table


def _solve_chain(tasks: Sequence[Task]) -> list[Row]:
    """The rows of neighbouring problems."""
    from darrm.design.solve import Binding, solve

    binding, rows = Binding(), []
    for task in tasks:
        row: Row = dict.fromkeys(COLUMNS)
        row |= dict(zip(KEY, task.key, strict=True))
        start = time.perf_counter()
        try:
            design = solve(task.problem, prior=task.prior, shape=task.shape, objective=task.objective, binding=binding)
            row |= {"gamma": design.gamma.tolist(), **figures(design), "binding": len(binding.counts)}
        except DarrmError as error:
            binding = Binding()
            row["failure"] = " ".join(str(error).split())
        rows.append(row | {"seconds": time.perf_counter() - start, "made_with": _made_with()})
    return rows


@cache
def _made_with() -> str:
    names = ("darrm", "highspy", "numpy", "scipy")
    return ", ".join([f"python {platform.python_version()}", *(f"{name} {version(name)}" for name in names)])


def check_jobs(jobs: int) -> int:
    """``jobs`` as a number of processes."""
    if isinstance(jobs, bool) or not isinstance(jobs, int) or not (1 <= jobs <= _MOST_JOBS or jobs == -1):
        raise InputError(f"jobs must be a whole number in [1, {_MOST_JOBS}], or -1 for all cores. Got {jobs!r}.")
    return jobs if jobs > 0 else (os.cpu_count() or 1)


def in_parallel(
    function: Callable[..., Any],
    work: Mapping[int, tuple[Any, ...]],
    *,
    jobs: int = 1,
    backend: str = "loky",
    scheduler: str | None = None,
) -> Iterator[tuple[int, Any]]:
    """(key, function(*arguments)) for all of ``work``, as they are finished; workers that are killed are replaced."""
    left = dict(work)
    if jobs == 1 and backend == "loky":
        for key, arguments in work.items():
            yield key, function(*arguments)
        return
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    with _cluster(backend, scheduler, jobs):
        for attempt in range(1, _ATTEMPTS + 1):
            # All of a cluster; chunks are made beforehand.
            pool = Parallel(n_jobs=-1 if backend == "dask" else jobs, return_as="generator_unordered", batch_size=1)
            results = pool(delayed(_keyed)(function, key, arguments) for key, arguments in list(left.items()))
            try:
                for key, result in results:
                    left.pop(key)
                    yield key, result
                return
            except TerminatedWorkerError:
                if attempt == _ATTEMPTS:
                    raise OutputError(
                        f"Worker processes were killed {_ATTEMPTS} times (out of memory?). Finished designs are kept. "
                        "Use fewer jobs, then run the same again."
                    ) from None
            except (KeyboardInterrupt, GeneratorExit):
                if backend == "loky":
                    from joblib.externals.loky import get_reusable_executor

                    get_reusable_executor().shutdown(wait=False, kill_workers=True)
                raise


def _keyed(function: Callable[..., Any], key: int, arguments: tuple[Any, ...]) -> tuple[int, Any]:
    return key, function(*arguments)


@contextmanager
def _cluster(backend: str, scheduler: str | None, jobs: int) -> Iterator[None]:
    from joblib import parallel_config

    if backend == "loky":
        # One thread each for linear algebra: processes do not compete, and sums are the same for any number of them.
        with parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1):
            yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError("Clusters need Dask. Run: pip install darrm[dask].") from None
    try:
        client = Client(scheduler, timeout=_PATIENCE)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"The scheduler {scheduler} does not answer ({reason}). Start it, or pass tcp://host:port."
        ) from None
    with client, parallel_config(backend="dask"):
        yield


def journal_of(out: Path) -> Path:
    """Where finished designs stand until the table is complete."""
    return out.with_name(out.name + ".journal")


def _complete(target: Path, todo: Grid) -> tuple[Row, ...] | None:
    """The rows that stand at ``target``, if they are all of this grid's; None if nothing does."""
    if not target.exists():
        return None
    rows = tuple(files.rows(target))
    if [tuple(row[name] for name in KEY) for row in rows] != [task.key for task in todo.tasks]:
        raise InputError(f"{target} holds another grid. Pass another path, or move it away.")
    return rows


def _check_found(path: Path, rows: Sequence[Row], jobs: int) -> None:
    """What is found is verified like what is solved: nothing leaves unverified."""
    from darrm.tables.table import verify_table

    check = verify_table(Table(tuple(rows)), jobs=jobs if len(rows) > _FEW else 1)
    if not check.holds:
        raise InputError(f"{path} was changed after it was written: {check.wrong[0]}. Delete it, then solve anew.")


def _open_journal(target: Path, todo: Grid) -> tuple[IO[bytes], dict[int, Row]]:
    """The journal, open for more, and what is in it; a line that was cut off by a crash is cut off for good."""
    path = journal_of(target)
    header = json.dumps({"format": "darrm-journal", "version": 1, "grid": todo.digest, "made_with": _made_with()})
    rows: dict[int, Row] = {}
    try:
        file = path.open("a+b")
        file.seek(0)
        first = file.readline()
        whole_header = header.encode() + b"\n"
        if not whole_header.startswith(first):
            file.close()
            raise InputError(
                f"{path} is of another grid, or of other versions. Finish that with its own command and versions, pass "
                "another path, or delete the journal."
            )
        whole = len(first) if first == whole_header else 0
        for line in file if whole else ():
            entry = _entry(line, todo)
            if entry is None:
                break
            rows |= entry
            whole += len(line)
        file.truncate(whole)
        if not whole:
            file.write(whole_header)
            _settle(file)
    except OSError as error:
        raise _unwritten(path, error) from None
    return file, rows


def _entry(line: bytes, todo: Grid) -> dict[int, Row] | None:
    """The rows of a line, by their place; None if it is not whole, or not of this grid."""
    digest, _, body = line.partition(b" ")
    if not line.endswith(b"\n") or digest.decode("ascii", "replace") != hashlib.sha256(body).hexdigest():
        return None
    try:
        rows = {int(at): files.from_json(row) for at, row in json.loads(body).items()}
        belong = all(tuple(row[name] for name in KEY) == todo.tasks[at].key for at, row in rows.items())
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError):
        return None
    return rows if belong else None


def _record(journal: IO[bytes], out: Path, rows: Mapping[int, Row]) -> None:
    body = json.dumps({at: files.as_json(row) for at, row in rows.items()}).encode() + b"\n"
    try:
        journal.write(hashlib.sha256(body).hexdigest().encode() + b" " + body)
        _settle(journal)
    except OSError as error:
        raise _unwritten(journal_of(out), error) from None


def _close(file: IO[bytes]) -> None:
    with suppress(OSError):  # it says again what writing has said
        file.close()


def _settle(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _unwritten(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{path} could not be written: {error.strerror or error}. Designs finished before are kept in it. Mend that, "
        "then run the same again."
    )

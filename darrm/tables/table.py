"""A table of designs in memory: lookup and verification."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from darrm._validation import check_jobs
from darrm.design.content import certificate_size
from darrm.design.design import Design
from darrm.errors import CertificateError, DarrmError, InputError
from darrm.priors import Prior
from darrm.problem.majority import MajorityProblem
from darrm.tables import files
from darrm.tables.decisions import rests_on_randomizer
from darrm.tables.files import Row
from darrm.tables.parallel import in_parallel
from darrm.tables.tasks import KEY, MAJORITIES, kind_of, prior_text, task_of

_SAME = 1e-9  # as in design files: certificates are float64, errors through library functions


class Check(NamedTuple):
    """The result of verifying a table.

    Attributes
    ----------
    rows, failures : int
        Number of rows, and of rows with a failure in place of a design.
    wrong : tuple of str
        The faults, row by row; empty if every noise function satisfies its guarantee and every figure matches.
    """

    rows: int
    failures: int
    wrong: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.wrong


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Rows of a grid, in its order.

    Attributes
    ----------
    rows : tuple of dict
        The columns of `darrm.tables.tasks.MAJORITIES`: the problem, the objective, gamma, its errors and certificate,
        how many constraints bind, seconds, versions. ``failure`` is the reason why there is no gamma. For decisions by
        groups those of `DECISIONS`, with ``table``, the probabilities of answer 1, last group's count fastest.
    found : int
        Number of rows found from an earlier run.
    left_out : int
        Number of invalid combinations of the grid (m or ``max_affected`` above K).

    Examples
    --------
    >>> import darrm
    >>> table = darrm.tables.solve_grid(K=[3, 5], m=1, epsilon=0.5)
    >>> [(row["K"], row["failure"]) for row in table.rows]
    [(3, None), (5, None)]
    >>> table.lookup(K=5, m=1, epsilon=0.5).gamma.round(4).tolist()
    [1.0, 0.6, 0.2, 0.2, 0.6, 1.0]
    """

    rows: tuple[Row, ...]
    found: int = 0
    left_out: int = 0

    def __repr__(self) -> str:
        return f"<Table of {len(self.rows)} designs, {len(self.failures)} failed>"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def known(self) -> int:
        """Number of rows whose guarantee rests on a known randomizer, as docs/known_randomizers.md says."""
        return sum(rests_on_randomizer(str(row.get("groups", ""))) for row in self.rows)

    @property
    def failures(self) -> list[Row]:
        """Rows without a design."""
        return [row for row in self.rows if row.get("failure") is not None]

    def columns(self) -> dict[str, list[Any]]:
        """The rows as columns of one value each, for analysis: a number of gamma a column.

        Returns
        -------
        dict of str to list
            The problem and the objective, the figures of the design and ``failure``. Then ``gamma_0`` to ``gamma_K`` of
            the largest K, or ``table_0``, ``table_1``, ... of decisions by groups, in the order of ``table``. A row of
            fewer numbers has None in the rest. `darrm.storage.frames.write` writes them, ``darrm export`` too.
            This method does not verify them; `verify_table` does.

        Examples
        --------
        >>> import darrm
        >>> from darrm.storage import frames
        >>> columns = darrm.tables.solve_grid(K=[3, 5], m=1, epsilon=0.5).columns()
        >>> columns["K"], [round(gamma, 4) for gamma in columns["gamma_3"]], columns["gamma_5"][0]
        ([3, 5], [1.0, 0.2], None)
        >>> frames.write("gamma.tex", columns)
        """
        if not self.rows:
            return {}
        kind = kind_of(self.rows[0])
        released = [row[kind.release] or [] for row in self.rows]
        names = (*kind.key, *kind.numbers, "failure")
        return {
            **{name: [row[name] for row in self.rows] for name in names},
            **{
                f"{kind.release}_{i}": [values[i] if i < len(values) else None for values in released]
                for i in range(max(map(len, released)))
            },
        }

    @cached_property
    def _at(self) -> dict[tuple[Any, ...], int]:
        return {files.key_of(row): i for i, row in enumerate(self.rows)}

    def lookup(
        self,
        K: int,
        m: float,
        epsilon: float,
        Delta: float = 0.0,
        *,
        delta: float | None = None,
        max_affected: int | None = None,
        prior: Prior | str = "uniform",
        shape: str = "free",
        objective: str | None = None,
        adjacency: str = "replace-one",
    ) -> Design:
        """The design for exactly this problem, verified again.

        Returns
        -------
        Design

        Raises
        ------
        InputError
            If the table has none; the message names the nearest. Or if the row holds a failure.
        CertificateError
            If its noise function does not satisfy its guarantee.
        """
        if self.rows and "groups" in self.rows[0]:
            raise InputError("This table holds decisions by groups of voters. Find the row, then pass it to as_design.")
        problem = MajorityProblem(K, m, epsilon, Delta, delta, max_affected, adjacency)
        key = task_of(problem, prior_text(prior), shape, objective).key
        at = self._at.get(key)
        if at is None:
            raise InputError(f"The table has no design for exactly {_named(key)}. Nearest: {self._nearest(key)}.")
        row = self.rows[at]
        if row["failure"] is not None:
            raise InputError(f"There is no design for {_named(key)}: {row['failure']}")
        return as_design(row)

    def _nearest(self, key: tuple[Any, ...]) -> str:
        def far(other: tuple[Any, ...]) -> tuple[float, ...]:
            numbers = sum(abs(math.log((a + 1e-12) / (b + 1e-12))) for a, b in zip(key[:6], other[:6], strict=True))
            return sum(a != b for a, b in zip(key[6:], other[6:], strict=True)), numbers

        import heapq

        return "; ".join(map(_named, heapq.nsmallest(3, self._at, key=far))) or "none, the table is empty"


def read(path: str | Path) -> Table:
    """A table from its file (.parquet, .csv or .jsonl); its designs are verified when looked up, or by `verify_table`.

    Raises
    ------
    InputError
        If the file is missing, foreign or truncated, or holds a problem twice.

    Examples
    --------
    >>> import darrm
    >>> table = darrm.tables.solve_grid(K=[3, 5], m=1, epsilon=0.5, out="gamma.csv")
    >>> [(row["K"], round(row["error"], 3)) for row in darrm.tables.read("gamma.csv").rows]
    [(3, 0.094), (5, 0.146)]
    """
    table = Table(tuple(files.rows(path)))
    if len(table._at) < len(table):
        raise InputError(f"{path} holds a problem twice. Make it again.")
    return table


def lookup(table: Table | str | Path, *problem: Any, **named: Any) -> Design:
    """`Table.lookup`, of a table or of its file.

    Examples
    --------
    From a file, verified anew:

    >>> import darrm
    >>> table = darrm.tables.solve_grid(K=[3, 5], m=1, epsilon=0.5, out="gamma.csv")
    >>> design = darrm.tables.lookup("gamma.csv", K=5, m=1, epsilon=0.5)
    >>> design.certificate.holds, round(design.error, 4)
    (True, 0.1465)
    """
    return (table if isinstance(table, Table) else read(table)).lookup(*problem, **named)


def as_design(row: Row) -> Design:
    """The design of a row; it verifies itself."""
    return kind_of(row).design(row)


def wrong_with(row: Row) -> str | None:
    """The fault of a row, or None."""
    reason = files.fault(row)
    if reason is not None or row["failure"] is not None:
        return reason
    try:
        design = as_design(row)
    except CertificateError as error:
        return str(error)
    except (DarrmError, TypeError, ValueError) as error:
        return f"not a design: {error}"
    now = figures(design)
    for name in now:
        if name == "gap":
            continue  # what the solver's run proved; nothing here could prove it again
        size = certificate_size(design.problem) if name == "needed_delta" else 1.0
        then = abs(row[name]) if name == "error" else row[name]  # earlier versions wrote errors with their sign
        if not (isinstance(then, float) and math.isclose(now[name], then, rel_tol=_SAME, abs_tol=_SAME * size)):
            return f"{name} does not match its {kind_of(row).release} ({then!r} for {now[name]!r})"
    return None


def figures(design: Design) -> dict[str, float]:
    """The figures of a design in a table, besides its numbers."""
    names = kind_of(vars(design.problem)).numbers
    of = {name: design if hasattr(design, name) else design.certificate for name in names}
    return {name: float(getattr(of[name], name)) for name in names}


def verify_table(
    table: Table | str | Path, *, jobs: int = 1, progress: Callable[[int, int, int], None] | None = None
) -> Check:
    """Verify every noise function of a table, and the figures beside it.

    All figures are verified except ``gap``, ``binding`` and ``seconds``, which belong to the run that made it: privacy
    and errors are verified, but not their distance from the optimum.

    Parameters
    ----------
    table : Table, or the path of one
    jobs : int
        Processes.
    progress : callable, optional
        Called with (rows done, rows, wrong so far).

    Returns
    -------
    Check

    Raises
    ------
    InputError
        If the file cannot be used.

    Examples
    --------
    >>> import darrm
    >>> table = darrm.tables.solve_grid(K=[3, 5], m=1, epsilon=0.5)
    >>> darrm.tables.verify_table(table)
    Check(rows=2, failures=0, wrong=())
    """
    designs = table if isinstance(table, Table) else read(table)
    jobs = check_jobs(jobs)
    workers = jobs if jobs > 0 else os.cpu_count() or 1
    size = max(1, min(64, len(designs) // (4 * workers) + 1))
    parts = [range(i, min(i + size, len(designs))) for i in range(0, len(designs), size)]
    wrong: dict[int, str] = {}
    done = 0
    work = {at: (designs.rows[part.start : part.stop],) for at, part in enumerate(parts)}
    for at, reasons in in_parallel(_wrong_rows, work, jobs=jobs):
        wrong |= {parts[at].start + i: reason for i, reason in enumerate(reasons) if reason}
        done += len(reasons)
        if progress is not None:
            progress(done, len(designs), len(wrong))
    findings = tuple(f"row {i + 1} ({_which(designs.rows[i])}): {wrong[i]}" for i in sorted(wrong))
    return Check(len(designs), len(designs.failures), findings)


def _wrong_rows(rows: Sequence[Row]) -> list[str | None]:
    return [wrong_with(row) for row in rows]


def _which(row: Row) -> str:
    kind = kind_of(row)
    if kind is MAJORITIES:
        return _named(files.key_of(row))
    return " ".join(f"{name}={row[name]}" for name in kind.key)


def _named(key: tuple[Any, ...]) -> str:
    return " ".join(f"{name}={str(value).removesuffix('.0')}" for name, value in zip(KEY, key, strict=True))

"""The rows of a linear program for the cases of each type of problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from darrm.constraints import classes, groups
from darrm.constraints.classes import ClassRows
from darrm.constraints.groups import GroupRows
from darrm.constraints.rows import MajorityRows
from darrm.constraints.truths import TruthColumns, TruthRows
from darrm.constraints.usual import ReadyRows
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.problem.decision import DecisionProblem
from darrm.problem.limits import Limit, Problem
from darrm.problem.majority import MajorityProblem
from darrm.problem.truths import truths_of
from darrm_solvers import Rows
from darrm_solvers.cutting_planes import stacked


class Columns(Protocol):
    """The meaning of the variables x in [0, 1]^n of a linear program."""

    @property
    def n(self) -> int:
        """The number of variables."""

    def table(self, x: Array) -> Array:
        """The release of x."""


class ConstraintRows(Protocol):
    """The rows ``row @ x <= limit`` of given cases, for one limit of privacy.

    A row is the constraint "hockey-stick divergence of the case <= delta", divided by e^epsilon - 1 + 2 delta.

    Attributes
    ----------
    threshold : float
        A divergence above which a case is violated by more than rounding.
    rounding : float
        Bound on the rounding of ``row @ x``.
    ready : ReadyRows or None
        The rows of the common case families, where all of them can be kept.
    """

    threshold: float
    rounding: float

    @property
    def ready(self) -> ReadyRows | None: ...

    def allowed(self, cases: Iterable[Any]) -> list[Any]:
        """The cases among ``cases``, tuples of numbers, that this problem has, each once."""

    def ahead(self, case: Any, steps: int) -> list[Any]:
        """Cases that are likely violated once the row of this one holds; ``steps`` in each direction.

        A row limits the fall of a probability from some votes to the next. The table with all variables at 1 falls in
        one step; limited there, it falls in the next. The cases returned are those next steps.
        """

    def of(self, cases: Sequence[Any]) -> Rows:
        """The rows of any cases."""

    def of_usual(self, cases: Sequence[Any]) -> Rows:
        """The rows of cases found with effort 0."""


def _of_decisions(limit: Limit[DecisionProblem], columns: Any) -> ConstraintRows:
    if limit.problem.known:
        return TruthRows(limit, columns)
    return GroupRows(limit, columns) if limit.problem.binary else ClassRows(limit, columns)


ROWS: dict[type, Callable[[Limit[Any], Any], ConstraintRows]] = {
    MajorityProblem: MajorityRows,
    DecisionProblem: _of_decisions,
}


def constraint_rows(limit: Limit[Problem], columns: Columns) -> ConstraintRows:
    """The rows for the type of a limit's problem; `InputError` for any other type."""
    for kind in type(limit.problem).__mro__:
        if kind in ROWS:
            return ROWS[kind](limit, columns)
    raise InputError(f"problem must be one of {', '.join(kind.__name__ for kind in ROWS)}. Got {limit.problem!r}.")


def weighted_rows(
    problem: DecisionProblem, columns: Any, cases: Sequence[Any], on: Array, off: Array
) -> tuple[Rows, Array]:
    """Rows "sum over o of on_o Pr[o | D] + off_o Pr[o | D'] <= 0" of given cases, in the variables of ``columns``.

    ``on`` and ``off`` have shape (cases, answers). Each row is divided by its largest coefficient if that is above 1;
    the factors are returned too.
    """
    if problem.known:
        truths, voted = truths_of(problem), [case.voted for case in cases]
        parts = []
        for which in dict.fromkeys(voted):
            own = [i for i, votes in enumerate(voted) if votes == which]
            seen = TruthColumns(columns, truths, which)
            parts.append(weighted_rows(truths.problem, seen, [cases[i].case for i in own], on[own], off[own]))
        return stacked([rows for rows, _ in parts]), np.concatenate([scale for _, scale in parts])
    if problem.binary:
        coefficients, limits = groups.weighted(problem, cases, on, off)
    else:
        coefficients, limits = classes.weighted(problem, columns, cases, on, off)
    scale = 1 / np.maximum(1.0, np.abs(coefficients).max(axis=1, initial=0.0))
    return columns.rows(coefficients * scale[:, None], limits * scale), scale

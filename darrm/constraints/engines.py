"""Which rows stand for the cases of which problem. The design asks here for the row of every case it adds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from darrm.constraints.rows import MajorityRows
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.problem.limits import Limit, Problem
from darrm.problem.majority import MajorityProblem


class ConstraintRows(Protocol):
    """The rows ``row @ half <= 1`` of given cases, for one limit; half = (gamma(floor(K/2) + 1), ..., gamma(K)).

    A row is the constraint "excess of the case <= delta", divided by its right side. No cases give an array of shape
    (0, K - floor(K/2)).

    Attributes
    ----------
    threshold : float
        An excess above which a case is broken by more than rounding.
    rounding : float
        How far rounding can move ``row @ half``.
    """

    threshold: float
    rounding: float

    def allowed(self, cases: Iterable[Any]) -> list[Any]:
        """Those of ``cases``, tuples of numbers, that this problem has, each once."""

    def of(self, cases: Sequence[Any]) -> Array:
        """The rows of any cases."""

    def of_usual(self, cases: Sequence[Any]) -> Array:
        """The rows of cases that were found with effort 0."""


ROWS: dict[type, Callable[[Limit[Any]], ConstraintRows]] = {MajorityProblem: MajorityRows}


def constraint_rows(limit: Limit[Problem]) -> ConstraintRows:
    """The rows for the type of a limit's problem; `InputError` if there are none."""
    for kind in type(limit.problem).__mro__:
        if kind in ROWS:
            return ROWS[kind](limit)
    raise InputError(f"problem must be one of {', '.join(kind.__name__ for kind in ROWS)}. Got {limit.problem!r}.")

"""The privacy constraints of a decision by voters of a known randomizer, as rows of a linear program in its table.

The rows of the problem of true answers hold for f, and f = B X: each row times the kernel B is a row for X.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm.constraints.classes import ClassColumns, ClassRows
from darrm.constraints.groups import GroupRows, TableColumns
from darrm.numerics.arrays import Array, in_decimals
from darrm.problem.class_votes import all_votes
from darrm.problem.counts import Counts, places
from darrm.problem.decision import DecisionProblem
from darrm.problem.limits import Limit
from darrm.problem.truths import TruthCase, Truths, Voted, truths_of
from darrm_solvers import Rows

_U = 2.0**-53


class TruthColumns:
    """The variables of a table X as the columns of f_k, for the rows of the problem of true answers.

    Parameters
    ----------
    columns : TableColumns or ClassColumns
        Of X.
    truths : Truths
    voted : tuple of int
        The votes of the colluders.
    """

    alike = False

    def __init__(self, columns: TableColumns | ClassColumns, truths: Truths, voted: Voted) -> None:
        self._columns, self._truths, self._voted = columns, truths, voted
        self.n_parts = int(np.prod(truths.problem.table_shape)) * truths.problem.n_answers

    def parts_of(self, votes: Counts, answers: Sequence[int]) -> tuple[NDArray[np.intp], Array]:
        """The index of each entry of f_k at true answers (m, groups, classes), and 1 for each; shape (m, answers)."""
        each = [places(votes[:, g]) for g in range(votes.shape[1])]
        at = np.ravel_multi_index(tuple(each), self._truths.problem.table_shape)
        found = at[:, None] * self._truths.problem.n_answers + np.asarray(answers)
        return found, np.ones(found.shape)

    def rows(self, coefficients: NDArray[Any], limits: NDArray[Any]) -> Rows:
        """Constraints ``coefficients @ f_k <= limits`` as rows in x.

        With two true answers and two answers the coefficients are those of answer 1.
        """
        inner, columns = self._truths.problem, self._columns
        if inner.binary:
            coefficients = np.stack([0 * coefficients, coefficients], axis=-1)
        own = self._truths.behind(coefficients, self._voted)
        if isinstance(columns, TableColumns):
            return columns.rows(own[..., 1] - own[..., 0], limits - own[..., 0].sum(axis=1))
        parts, sizes = columns.parts_of(all_votes(self._truths.votes), range(own.shape[-1]))
        each = own / (in_decimals(sizes) if own.dtype == np.object_ else sizes)
        summed = np.zeros((columns.n_parts, len(own)), own.dtype)
        np.add.at(summed, parts.ravel(), each.reshape(len(own), parts.size).T)
        return columns.rows(summed.T, limits)


class TruthRows:
    """The rows of given cases of true answers for one limit: a `ConstraintRows`.

    Attributes
    ----------
    threshold : float
    rounding : float
    """

    ready = None

    def __init__(self, limit: Limit[DecisionProblem], columns: TableColumns | ClassColumns) -> None:
        truths = truths_of(limit.problem)
        own = Limit(truths.problem, limit.epsilon, limit.delta)
        kind: Any = GroupRows if truths.problem.binary else ClassRows
        self._rows = {voted: kind(own, TruthColumns(columns, truths, voted)) for voted in truths.colluding()}
        some = next(iter(self._rows.values()))
        self.threshold: float = some.threshold
        # Every entry of a kernel is a nearest float64, and sums have as many terms as a table has entries.
        entries = float(np.prod(limit.problem.table_shape))
        self.rounding: float = some.rounding + 4 * _U * (entries + 2)

    def allowed(self, cases: Iterable[object]) -> list[TruthCase]:
        """No cases: a decision does not begin with the cases of another."""
        return []

    def ahead(self, case: TruthCase, steps: int) -> list[TruthCase]:
        """The cases ahead among the true answers, with the same votes of the colluders."""
        return [case._replace(case=later) for later in self._rows[case.voted].ahead(case.case, steps)]

    def of(self, cases: Sequence[TruthCase]) -> Rows:
        """The rows of any cases, in their order."""
        return self._each(cases, "of")

    def exactly(self, cases: Sequence[TruthCase]) -> Rows:
        """The rows behind those of `of` in decimals of the caller's context, whose kernels have 50 digits."""
        return self._each(cases, "exactly")

    of_usual = of

    def _each(self, cases: Sequence[TruthCase], name: str) -> Rows:
        groups = [(voted, list(some)) for voted, some in groupby(cases, key=lambda case: case.voted)]
        none: list[tuple[Voted, list[TruthCase]]] = [(next(iter(self._rows)), [])]
        parts = [getattr(self._rows[voted], name)([case.case for case in some]) for voted, some in groups or none]
        return Rows(np.concatenate([part.rows for part in parts]), np.concatenate([part.limits for part in parts]))

"""Any costs, as a table."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.objectives.nested import nested
from darrm.objectives.objective import Objective, check_size, checked_counts
from darrm.objectives.permutations import table_symmetric
from darrm.problem.counts import places
from darrm.problem.groups import ByGroups


@dataclass(frozen=True)
class Costs(Objective):
    """A table of costs; see `costs`.

    Examples
    --------
    >>> import darrm
    >>> goal = darrm.objectives.costs([[0.0, 0.75], [0.25, 0.0]])
    >>> goal.as_dict()
    {'kind': 'costs', 'table': ((0.0, 0.75), (0.25, 0.0))}
    """

    table: tuple[object, ...]
    kind: ClassVar[str] = "costs"

    def costs(self, problem: ByGroups) -> Array:
        check_size(problem)
        table = np.array(self.table, dtype=np.float64)
        if table.shape != (*problem.table_shape, problem.n_answers):
            raise InputError(
                f"These costs are for tables of shape {table.shape[:-1]} and {table.shape[-1]} answers. Got "
                f"{problem.table_shape} and {problem.n_answers}."
            )
        return table

    def costs_at(self, problem: ByGroups, counts: ArrayLike) -> Array:
        votes = checked_counts(problem, counts)
        return self.costs(problem)[tuple(places(votes[:, g]) for g in range(votes.shape[1]))]

    def symmetric(self, problem: ByGroups) -> bool:
        return table_symmetric(self.costs(problem), problem)

    def as_dict(self) -> dict[str, object]:
        return {"kind": self.kind, **asdict(self)}

    def __str__(self) -> str:
        return "a table of costs"


def costs(table: ArrayLike) -> Objective:
    """Any costs: C(n, o) of answer o at the counts n, probability of the counts included.

    Parameters
    ----------
    table : array_like, shape ``(*problem.table_shape, problem.n_answers)``, finite and at least 0
        There is one axis for each group. For two classes it is the number of votes for class 1. For more classes it
        goes through the vectors of votes for each, in descending order: (K, 0, 0), (K - 1, 1, 0), (K - 1, 0, 1) and so
        on. A last column is for the answer "none", if the problem has it.

    Examples
    --------
    One voter that says 1 in three cases of ten, and a decision that should say the same:

    >>> import darrm
    >>> same = darrm.objectives.costs([[0.0, 0.7], [0.3, 0.0]])
    >>> problem = darrm.DecisionProblem([darrm.VoterGroup(1, epsilon=2.0)], epsilon=1.0)
    >>> round(darrm.solve(problem, objective=same).expected_cost, 4)
    0.1966
    """
    values = array("table", table, None, 0, math.inf, "[)")
    if values.ndim < 2 or values.shape[-1] < 2:
        raise InputError(f"A table of costs must have shape (*problem.table_shape, n_answers). Got {values.shape}.")
    return Costs(nested(values))

"""The base of all objectives: the cost of each answer at each vector of counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.problem.class_votes import all_votes
from darrm.problem.counts import Counts
from darrm.problem.groups import ByGroups

MAX_ENTRIES = 5_000_000
MAX_BINARY = 20_000_000


class Objective:
    """An expected cost that a decision minimises; made by `truth`, `rule` or `costs`.

    Examples
    --------
    >>> import darrm
    >>> problem = darrm.DecisionProblem([darrm.VoterGroup(1, epsilon=1.0)], epsilon=1.0)
    >>> goal = darrm.objectives.costs([[0.0, 0.75], [0.25, 0.0]])
    >>> isinstance(goal, darrm.objectives.Objective)
    True
    >>> goal.costs(problem).tolist()
    [[0.0, 0.75], [0.25, 0.0]]
    """

    kind: ClassVar[str]
    assumed: ClassVar[str] = "the objective"  # the parts of an expected cost that the user provides

    def __init_subclass__(cls, **others: Any) -> None:
        """Costs are looked at where a class makes them: solves, plans and comparisons all take them from there."""
        super().__init_subclass__(**others)
        for name in ("costs", "costs_at"):
            if name in vars(cls):
                setattr(cls, name, _checked(vars(cls)[name]))

    @property
    def called(self) -> str:
        """The objective in refusals of what it returns."""
        return f"the objective {getattr(self, 'kind', type(self).__name__)!r}"

    @property
    def held(self) -> str:
        """The parts of the objective in a design file that may have been measured, in words; "" if none."""
        return "the costs of its objective"

    @property
    def cost_in_words(self) -> str:
        """The expected cost in words that follow "the expected cost is"."""
        return f"the sum over {self}, each times the probability of its answer"

    def costs(self, problem: ByGroups) -> Array:
        """C(n, o): the cost of answer o at the counts n times their probability.

        Its shape is ``(*problem.table_shape, problem.n_answers)``.

        Raises `InputError` if the objective does not fit the problem, or above 5 million entries, or 20 million of two
        answers.
        """
        check_size(problem)
        return self.costs_at(problem, all_votes(problem)).reshape(*problem.table_shape, problem.n_answers)

    def costs_at(self, problem: ByGroups, counts: ArrayLike) -> Array:
        """`costs` at given counts, ints of shape (m, groups, n_classes); shape (m, n_answers)."""
        raise TypeError("Objective is abstract: make one with truth, rule or costs.")

    def of(self, problem: ByGroups) -> Objective:
        """The objective with all defaults filled in that depend on the problem's classes and answers."""
        return self

    def symmetric(self, problem: ByGroups) -> bool:
        """Whether all classes are alike: permuting them in the counts and in the answers leaves the costs as they are.

        To a relative 1e-12. Then averaging a decision over the permutations costs the same. Parts are compared one by
        one: a cost that compensates an uneven prior is not detected.
        """
        raise TypeError("Objective is abstract: make one with truth, rule or costs.")

    def with_present(self, present: Sequence[int]) -> Objective:
        """The objective for the given numbers of present voters of each group, without empty groups."""
        raise InputError("A table of costs is for all voters. For absent voters use truth or rule.")

    def costs_without_votes(self, problem: ByGroups) -> Array:
        """The cost of each answer where no voter votes; shape (n_answers,)."""
        return np.asarray(self.costs(problem).reshape(-1, problem.n_answers).sum(axis=0))

    def as_dict(self) -> dict[str, object]:
        """The objective as plain values, for files: ``{"kind": ..., parameters}``."""
        raise TypeError("Objective is abstract: make one with truth, rule or costs.")


def _checked(made: Callable[..., object]) -> Callable[..., Array]:
    """`Objective.costs` or `Objective.costs_at` that return finite costs of the right shape, or are refused by name."""

    @wraps(made)
    def costs(self: Objective, problem: ByGroups, counts: ArrayLike | None = None) -> Array:
        found: Any = made(self, problem) if counts is None else made(self, problem, counts)
        rows = problem.table_shape if counts is None else np.shape(counts)[:1]
        hint = "Return the cost of each answer at each vector of counts."
        return array(f"Costs of {self.called}", found, (*rows, problem.n_answers), hint=hint)

    return costs


def check_size(problem: ByGroups) -> None:
    """Refuse to list more than 5 million entries, or 20 million of two answers."""
    entries = math.prod(problem.table_shape) * problem.n_answers
    most = MAX_BINARY if problem.binary else MAX_ENTRIES
    if entries > most:
        raise InputError(
            f"A table of costs must have at most {most:,} entries: vectors of counts times answers. Got "
            f"{entries:,}. Take fewer voters, groups or classes."
        )


def checked_counts(problem: ByGroups, counts: ArrayLike) -> Counts:
    """Counts as ints, refused unless every group has as many votes as voters."""
    groups, classes = len(problem.groups), problem.n_classes
    hint = "Pass the votes for each class in each group."
    votes = array("counts", counts, ("m", groups, classes), 0, math.inf, "[)", wholes=True, hint=hint).astype(np.int64)
    sizes = np.array([group.count for group in problem.groups])
    wrong = np.argwhere(votes.sum(axis=2) != sizes)
    if len(wrong):
        row, g = wrong[0].tolist()
        raise InputError(
            f"counts of group {g + 1} must sum to its {sizes[g]} voters. Got {votes[row, g].tolist()}. {hint}"
        )
    return votes

"""The two kinds of tasks behind the rows of a table, and the differences between their tables."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from darrm import priors
from darrm._validation import choice
from darrm.design.design import SHAPES, Design
from darrm.errors import InputError
from darrm.problem.majority import MajorityProblem
from darrm.tables.decisions import DECISION_KEY, NEEDED, DecisionTask, decision_of, decision_task

if TYPE_CHECKING:
    from darrm.design.solve import Binding

KEY = ("K", "m", "epsilon", "Delta", "delta", "max_affected", "adjacency", "prior", "shape", "objective")
_of_problem = attrgetter(*KEY[:7])


class MajorityTask(NamedTuple):
    """One noise function to solve."""

    problem: MajorityProblem
    prior: str
    shape: str
    objective: str

    @property
    def key(self) -> tuple[Any, ...]:
        """The values that identify the task, in the order of `KEY`."""
        return (*_of_problem(self.problem), *self[1:])

    @property
    def helped(self) -> tuple[Any, ...]:
        """A key shared by the tasks whose binding constraints help this one."""
        K, _, epsilon, Delta, _, *others = self.key
        return K, epsilon, Delta, *others

    def solve(self, binding: Binding) -> Design:
        """The design; its binding constraints are kept for the next."""
        from darrm.constraints.usual import MOST_K
        from darrm.design.solve import solve

        if self.problem.K <= MOST_K:
            binding.counts = []  # all rows of the usual cases are ready, so it would only be checked
        prior = _parsed(self.prior)
        return solve(self.problem, prior=prior, shape=self.shape, objective=self.objective, binding=binding)


def _from_texts(values: dict[str, str]) -> MajorityTask:
    numbers: dict[str, Any] = {}
    for name in KEY[:6]:
        if name in values:
            try:
                numbers[name] = float(values[name])
            except ValueError:
                raise InputError(f"{name} must be a number. Got {values[name]!r}.") from None
    absent = [name for name in ("K", "m", "epsilon") if name not in numbers]
    if absent:
        raise InputError(f"{absent[0]} is missing.")
    problem = MajorityProblem(**numbers, adjacency=values.get("adjacency", "replace-one"))
    text = prior_text(values.get("prior", "uniform"))
    return task_of(problem, text, values.get("shape", "free"), values.get("objective"))


def task_of(problem: MajorityProblem, prior: str, shape: object, objective: str | None) -> MajorityTask:
    """The task of a problem; ``prior`` as `prior_text` writes it, ``objective`` the prior's own if None."""
    choice("shape", shape, SHAPES)
    chosen = _parsed(prior).default_objective if objective is None else objective
    return MajorityTask(problem, prior, str(shape), choice("objective", chosen, priors.OBJECTIVES))


def prior_text(prior: Any) -> str:
    """The text of a prior with all its digits."""
    return priors.parse(prior).text()


def _majority_of(row: dict[str, Any]) -> Design:
    problem = MajorityProblem(*(row[name] for name in KEY[:7]))
    return Design(problem, row["gamma"], _parsed(row["prior"]), row["shape"], row["objective"], gap=row["gap"])


_parsed = lru_cache(maxsize=16)(priors.parse)  # a table has few priors, and many designs of each


Task: TypeAlias = MajorityTask | DecisionTask


class Kind(NamedTuple):
    """One kind of designs, of which a table holds one.

    Attributes
    ----------
    key : tuple of str
        The columns that identify a task, in order.
    needed : tuple of str
        Those that a file of problems must have.
    release : str
        The column of the numbers that are released by.
    numbers : tuple of str
        The columns of figures that follow from them.
    others : tuple of str
        Further columns, of the run.
    task, design : callable
        The task of a row's texts, and the design of a row, which verifies itself.
    """

    key: tuple[str, ...]
    needed: tuple[str, ...]
    release: str
    numbers: tuple[str, ...]
    others: tuple[str, ...]
    task: Callable[[dict[str, str]], Task]
    design: Callable[[dict[str, Any]], Design]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of a table, in order."""
        return (*self.key, self.release, *self.numbers, *self.others, "seconds", "made_with", "failure")


MAJORITIES = Kind(
    KEY,
    KEY[:3],
    "gamma",
    ("error", "disagreement", "gap", "needed_delta", "tight_epsilon"),
    ("binding",),
    _from_texts,
    _majority_of,
)
DECISIONS = Kind(
    DECISION_KEY,
    NEEDED,
    "table",
    ("expected_cost", "gap", "needed_delta", "tight_epsilon"),
    (),
    decision_task,
    decision_of,
)
KINDS = (MAJORITIES, DECISIONS)


def kind_of(columns: Container[str]) -> Kind:
    """The kind of a row, or of a header."""
    return DECISIONS if "groups" in columns else MAJORITIES

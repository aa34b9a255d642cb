"""The joint distribution of truth and counts, for voters of known accuracy."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import reduce, wraps
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array, is_listed, real, refusal
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.printed import counted
from darrm.objectives.multinomials import multinomial
from darrm.objectives.objective import Objective, check_size, checked_counts
from darrm.problem.class_votes import all_votes
from darrm.problem.counts import Counts, count_vectors
from darrm.problem.groups import ByGroups

SAME = 1e-12  # relative, of numbers that rounding alone may have set apart
_SUMS_TO_1 = 1e-9
_ROUNDING = 1e-6  # of all probabilities of truth and counts together
_LISTED = 10_000  # vectors of counts, up to which those of an objective's own `joint` are added up


def _summing_to_1(made: Callable[[Any, ByGroups], Array]) -> Callable[[Any, ByGroups], Array]:
    """`OfVoters.chances` that return probabilities of all truths and counts, or are refused by name."""

    @wraps(made)
    def chances(self: OfVoters, problem: ByGroups) -> Array:
        found = made(self, problem)
        self._check_sum(found, problem)
        return found

    return chances


class OfVoters(Objective):
    """The base of objectives for voters of known accuracy.

    Accuracies alone, without a prior, a cost or a table, leave the number of classes open; `of` sets it. Two such
    objectives are equal if they are for two classes, or for as many as they name.

    Examples
    --------
    One voter that is right with probability 0.75, with a uniform prior: the probabilities of truth and vote.

    >>> import darrm
    >>> problem = darrm.DecisionProblem([darrm.VoterGroup(1, epsilon=1.0)], epsilon=1.0)
    >>> goal = darrm.objectives.truth([0.75])
    >>> isinstance(goal, darrm.objectives.OfVoters)
    True
    >>> goal.chances(problem).round(4).tolist()
    [[0.375, 0.125], [0.125, 0.375]]
    """

    confusion: tuple[object, ...]  # of each group an accuracy, or Pr[vote v | truth y] at [y][v]
    prior: tuple[float, ...] | None  # even
    none: float | None  # what the further answer "none" costs at all counts
    kind: ClassVar[str]
    assumed: ClassVar[str] = "the accuracy"

    def __init_subclass__(cls, **others: Any) -> None:
        super().__init_subclass__(**others)
        if "chances" in vars(cls):
            setattr(cls, "chances", _summing_to_1(cls.chances))  # noqa: B010  # mypy: no assignment to a method

    @property
    def held(self) -> str:
        return "the accuracy, prior and costs"

    @abstractmethod
    def said(self) -> dict[str, list[int]]:
        """For how many classes its parts are, by their names; nothing for what goes with any number."""

    @property
    def classes(self) -> int | None:
        """How many classes the objective is for; None if for any number."""
        return agreed(**self.said())

    def agreeing(self) -> Self:
        """The same, refused unless all parts are for the same number of classes."""
        agreed(**self.said())
        return self

    @abstractmethod
    def _spelled(self, classes: int) -> Self:
        """The same for so many classes, with a table for each accuracy, and a prior."""

    @abstractmethod
    def check_answers(self, problem: ByGroups) -> None:
        """`InputError` unless the costs are those of the problem's answers; ``self`` has been spelled out."""

    def of(self, problem: ByGroups) -> Self:
        self._check_groups(len(problem.groups))
        if self.classes not in (None, problem.n_classes):
            parts = " and ".join(name for name, sizes in self.said().items() if sizes)
            raise InputError(
                f"This objective is for {self.classes} classes by its {parts}. The problem has {problem.n_classes}. "
                f"Pass one for {problem.n_classes} classes."
            )
        own = self._spelled(problem.n_classes)
        own.check_answers(problem)
        by_itself = type(own).joint is OfVoters.joint and abs(sum(own.prior or ()) - 1) <= _ROUNDING
        if not by_itself and math.prod(problem.table_shape) <= _LISTED:
            self._check_sum(own.joint(all_votes(problem)), problem)
        return own

    def _check_sum(self, chances: Array, problem: ByGroups) -> None:
        """`InputError` unless these are probabilities of all truths and counts."""
        name, hint = f"Probabilities of {self.called}", "Return Pr[truth = y, n] for each truth y and counts n."
        if not isinstance(chances, np.ndarray):
            raise refusal(name, "a numpy array", chances, hint)
        each = chances.reshape(len(chances), -1) if chances.ndim else chances
        shape = problem.n_classes, math.prod(problem.table_shape)
        total = array(name, each, shape, -_ROUNDING, ends="[)", hint=hint).sum()
        if abs(total - 1) > _ROUNDING:
            raise InputError(f"{name} must sum to 1 over all truths and counts. Got {total:.6g}. {hint}")

    def _check_groups(self, number: int) -> None:
        if len(self.confusion) != number:
            raise InputError(
                f"accuracy must have one entry for each of {counted(number, 'group')}. Got {len(self.confusion)}."
            )

    @_summing_to_1
    def chances(self, problem: ByGroups) -> Array:
        """Pr[truth = y, n] for all counts n; shape (n_classes, *problem.table_shape), sums to 1."""
        check_size(problem)
        own = self.of(problem)
        groups = [
            multinomial(count_vectors(group.count, problem.n_classes), np.array(table, dtype=np.float64))
            for group, table in zip(problem.groups, own.confusion, strict=True)
        ]
        start = own.prior or ()
        return np.stack(
            [
                np.asarray(reduce(np.multiply.outer, (group[y] for group in groups), np.array(start[y])))
                for y in range(problem.n_classes)
            ]
        )

    def chances_at(self, problem: ByGroups, counts: ArrayLike) -> Array:
        """Pr[truth = y, n] at some counts, ints of shape (m, groups, n_classes); shape (n_classes, m)."""
        return self.of(problem).joint(checked_counts(problem, counts))

    def joint(self, counts: Counts) -> Array:
        """The same, of counts that have been checked; ``self`` has been spelled out."""
        chance = np.tile(np.array(self.prior)[:, None], len(counts))
        for g, table in enumerate(self.confusion):
            if len(counts):
                chance = chance * multinomial(counts[:, g], np.array(table, dtype=np.float64))
        return chance

    def alike(self) -> bool:
        """Whether votes and prior are the same for all classes; ``self`` has been spelled out."""
        tables = [np.array(table, dtype=np.float64) for table in self.confusion]
        return near(np.array(self.prior)) and all(map(exchangeable, tables))

    def with_present(self, present: Sequence[int]) -> OfVoters:
        self._check_groups(len(present))
        kept = tuple(table for table, count in zip(self.confusion, present, strict=True) if count)
        return replace(self, confusion=kept)  # type: ignore[type-var]  # both kinds are dataclasses

    def as_dict(self) -> dict[str, object]:
        own = self._spelled(self.classes or 2)
        values: dict[str, object] = asdict(own)  # type: ignore[call-overload]  # both kinds are dataclasses
        if values["none"] is None:
            del values["none"]
        return {"kind": self.kind, **values}

    def __eq__(self, other: object) -> bool:
        return self.as_dict() == other.as_dict() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.as_dict().items()))


def near(values: Array) -> bool:
    """Whether all are the same, to a relative 1e-12."""
    return bool(np.ptp(values) <= SAME * np.abs(values).max())


def exchangeable(table: Array) -> bool:
    """Whether a C x C table is the same on its diagonal, and beside it."""
    return near(np.diag(table)) and near(table[~np.eye(len(table), dtype=bool)])


def table_of(entry: object, classes: int) -> object:
    """Pr[vote v | truth y] at [y][v], of an accuracy or of such a table: each wrong class is as likely."""
    if not isinstance(entry, float):
        return entry
    wrong = (1 - entry) / (classes - 1)
    return tuple(tuple(entry if vote == truth else wrong for vote in range(classes)) for truth in range(classes))


def checked_accuracy(accuracy: object) -> tuple[object, ...]:
    """An accuracy, or a table Pr[vote v | truth y] at [y][v], for each group."""
    hint = "Pass one accuracy, or one 2 x 2 table, for each group, e.g. [0.8, 0.7]; C x C for C classes."
    if not isinstance(accuracy, list | tuple | np.ndarray) or not is_listed(accuracy) or not list(accuracy):
        raise refusal("accuracy", "a list with one entry for each group", accuracy, hint)
    entries: list[object] = []
    for entry in accuracy:
        if np.ndim(entry) == 0:
            entries.append(real("An accuracy", entry, 0, 1, hint=hint))
            continue
        table = array("An accuracy", entry, ("C", "C"), 0, 1, "[]", hint=hint)
        if len(table) != table.shape[1] or len(table) < 2:
            raise InputError(f"A table of accuracy must have shape (C, C), C >= 2. Got shape {table.shape}. {hint}")
        if np.abs(table.sum(axis=1) - 1).max() > _SUMS_TO_1:
            raise refusal("A table of accuracy", "rows that sum to 1", entry, hint)
        entries.append(tuple(map(tuple, table.tolist())))
    return tuple(entries)


def checked_prior(prior: ArrayLike | None) -> tuple[float, ...] | None:
    """Pr[truth = y] for each class, or None."""
    if prior is None:
        return None
    chances = array("prior", prior, ("classes",), 0, 1, "[]", hint="Pass Pr[truth = 0], Pr[truth = 1] and so on.")
    if abs(chances.sum() - 1) > _SUMS_TO_1:
        raise refusal("prior", "probabilities that sum to 1", prior)
    if len(chances) < 2:
        raise refusal("prior", "a probability for each of two or more classes", prior)
    return tuple(chances.tolist())


def checked_none(none: object) -> float | None:
    """What the further answer costs, or None."""
    hint = 'Pass what the answer "none" costs, e.g. 0.3.'
    return None if none is None else real("none", none, 0, math.inf, "[)", hint=hint)


def agreed(**sizes: Sequence[int]) -> int | None:
    """How many classes several parts say, refused unless they agree; None if they say nothing."""
    every = {size for several in sizes.values() for size in several}
    if len(every) > 1:
        listed = ", ".join(f"{name} for {size}" for name, several in sizes.items() for size in dict.fromkeys(several))
        raise InputError(f"All parts of an objective must be for the same number of classes. Got {listed}.")
    return every.pop() if every else None


def voters_said(confusion: Sequence[object], prior: Sequence[float] | None) -> dict[str, list[int]]:
    """For how many classes tables of accuracy, and a prior, are."""
    tables = [len(entry) for entry in confusion if isinstance(entry, tuple)]
    return {"accuracy": tables, "prior": [] if prior is None else [len(prior)]}

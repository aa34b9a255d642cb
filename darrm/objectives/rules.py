"""A rule of the votes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array, refusal, whole
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.printed import counted
from darrm.objectives.asked import answers_of, with_absent
from darrm.objectives.nested import nested
from darrm.objectives.objective import Objective, checked_counts
from darrm.objectives.permutations import table_symmetric
from darrm.objectives.voters import (
    OfVoters,
    checked_accuracy,
    checked_none,
    checked_prior,
    table_of,
    voters_said,
)
from darrm.problem.class_votes import all_votes
from darrm.problem.counts import Counts, places
from darrm.problem.decision import DecisionProblem
from darrm.problem.groups import ByGroups

_RULES = ("majority", "plurality")


class AtLeast(NamedTuple):
    """Answer 1 if at least the given number of voters vote 1; see `at_least`."""

    k: int


@dataclass(frozen=True, eq=False)
class Rule(OfVoters):
    """A rule of the votes; see `rule`.

    Examples
    --------
    >>> import darrm
    >>> problem = darrm.DecisionProblem([darrm.VoterGroup(2, epsilon=1.0)], epsilon=1.0)
    >>> goal = darrm.objectives.rule("plurality", accuracy=[0.75])

    Which class is right where none, one and both of two voters say 1; both are at a tie:

    >>> goal.is_right(problem).astype(int).tolist()
    [[1, 0], [1, 1], [0, 1]]
    """

    confusion: tuple[object, ...]
    prior: tuple[float, ...] | None
    name: str
    right: tuple[object, ...] | None = None  # for a rule of the user's: the answers that are right, as nested lists
    numbers: tuple[float, ...] = ()
    none: float | None = None
    kind: ClassVar[str] = "rule"

    def said(self) -> dict[str, list[int]]:
        said = voters_said(self.confusion, self.prior)
        if self.right is not None:
            said["function"] = [np.array(self.right).shape[-1]]
        elif self.name == "at least":
            said["at_least(k)"] = [2]
        return said

    @property
    def cost_in_words(self) -> str:
        if self.none is None:
            return f"the probability that the answer is not that of the rule ({self})"
        return f"the probability that the answer is another class than that of the rule ({self}), and the costs of none"

    def _spelled(self, classes: int) -> Rule:
        name = self.name
        if name == "majority" and classes > 2:
            raise InputError(
                f"The rule majority is for two classes: of {classes} none may have more than half of the votes. Pass "
                '"plurality" for the class with most votes.'
            )
        if name == "plurality" and classes == 2:
            name = "majority"  # the same, and what files call it
        tables = tuple(table_of(entry, classes) for entry in self.confusion)
        return replace(self, confusion=tables, prior=self.prior or (1 / classes,) * classes, name=name)

    def check_answers(self, problem: ByGroups) -> None:
        if problem.none and self.none is None:
            raise InputError(
                'A rule needs what the answer "none" costs, which this problem has. Pass e.g. none=0.3: less than 1, '
                "which a wrong answer costs."
            )
        if self.none is not None and not problem.none:
            raise InputError(
                'This rule says what the answer "none" costs, which this problem does not have. Leave it out, or make '
                "the problem with none=True."
            )

    def costs(self, problem: ByGroups) -> Array:
        chance = self.chances(problem).sum(axis=0)
        return np.asarray(
            chance[..., None] * self.of(problem)._missed(problem, all_votes(problem), problem.table_shape)
        )

    def costs_at(self, problem: ByGroups, counts: ArrayLike) -> Array:
        own, votes = self.of(problem), checked_counts(problem, counts)
        return np.asarray(own.joint(votes).sum(axis=0)[:, None] * own._missed(problem, votes, (len(votes),)))

    def _missed(self, problem: ByGroups, counts: Counts, shape: tuple[int, ...]) -> Array:
        """What each answer costs at given counts, whose probability is left out; shape (*shape, n_answers)."""
        wrong = 1 - self._right_at(problem, counts)
        if self.none is not None:
            wrong = np.column_stack([wrong, np.full(len(wrong), self.none)])
        return np.asarray(wrong.reshape(*shape, problem.n_answers))

    def costs_without_votes(self, problem: ByGroups) -> Array:
        own = self.of(problem)
        cost = np.zeros(problem.n_answers)  # no votes are a tie
        if own.none is not None:
            cost[-1] = own.none
        if own.right is not None or own.name == "at least":
            nobody = np.zeros((1, len(problem.groups), problem.n_classes), dtype=np.int64)
            nobody[0, :, 0] = [group.count for group in problem.groups]
            cost[: problem.n_classes] = 1 - own._right_at(problem, nobody)[0]
        return cost

    def symmetric(self, problem: ByGroups) -> bool:
        own = self.of(problem)
        if not own.alike():
            return False
        if own.right is None and own.name != "at least":
            own._right_at(
                problem, np.zeros((0, len(problem.groups), problem.n_classes), dtype=np.int64)
            )  # refuses misfits
            return True
        return table_symmetric(self.is_right(problem), problem)

    def is_right(self, problem: ByGroups) -> Array:
        """1 where a class is right at the counts n, else 0; shape (*problem.table_shape, n_classes)."""
        right = self.of(problem)._right_at(problem, all_votes(problem))
        return right.reshape(*problem.table_shape, problem.n_classes)

    def _right_at(self, problem: ByGroups, counts: Counts) -> Array:
        """1 where a class is right, shape (m, n_classes)."""
        if self.right is not None:
            right = np.array(self.right, dtype=np.float64)
            if right.shape != (*problem.table_shape, problem.n_classes):
                raise InputError(
                    f"This rule was made for tables of shape {right.shape[:-1]}. Got {problem.table_shape}."
                )
            return right[tuple(places(counts[:, g]) for g in range(counts.shape[1]))]
        if self.name == "at least":
            if self.numbers[0] > problem.K:
                raise InputError(
                    f"k of at_least(k) must be at most the number of voters, K = {problem.K}: more never say 1. Got "
                    f"{self.numbers[0]:g}. Lower k."
                )
            yes = counts[..., 1].sum(axis=1) >= self.numbers[0]
            return np.stack([~yes, yes], axis=-1).astype(np.float64)
        weights = np.array(self.numbers if self.name == "weights" else [1.0] * len(problem.groups))
        if len(weights) != len(problem.groups):
            raise InputError(
                f"A rule must have one weight for each of {counted(len(problem.groups), 'group')}. Got {len(weights)}."
            )
        if problem.n_classes == 2:
            sizes = np.array([group.count for group in problem.groups])
            # Twice the weight of the ones less that of all: exact for whole weights, so that ties are ties.
            lead = np.tensordot(weights, 2 * counts[..., 1].T, axes=1) - float(weights @ sizes)
            return np.stack([lead <= 0, lead >= 0], axis=-1).astype(np.float64)
        heard = np.zeros((len(counts), problem.n_classes))
        for g, weight in enumerate(weights):  # one group after the other, so that equal votes have equal sums
            heard += weight * counts[:, g]
        return np.asarray(heard == heard.max(axis=1, keepdims=True), dtype=np.float64)

    def with_present(self, present: Sequence[int]) -> OfVoters:
        kept: dict[str, object] = {}
        if self.name == "weights":
            kept["numbers"] = tuple(weight for weight, count in zip(self.numbers, present, strict=True) if count)
        if self.right is not None:
            kept["right"] = nested(with_absent(np.array(self.right), present))
        elif self.name == "at least" and self.numbers[0] > sum(present):
            # So few can never be enough, which is no mistake here: 0 is right at all counts.
            kept["right"] = nested(np.broadcast_to([1.0, 0.0], (*(count + 1 for count in present if count), 2)))
        return replace(super().with_present(present), **kept)  # type: ignore[type-var]

    def __str__(self) -> str:
        return {"at least": f"at least {self.numbers[0]:g}" if self.numbers else ""}.get(self.name, self.name)


def rule(
    which: str | AtLeast | Sequence[float] | Callable[..., object],
    accuracy: Sequence[object],
    prior: ArrayLike | None = None,
    *,
    none: float | None = None,
    problem: DecisionProblem | None = None,
) -> Objective:
    """A rule of the votes: the objective is the probability that the release differs from it.

        C(n, o) = Pr[n] (1 if o is not right for the counts n, else 0),      C(n, none) = Pr[n] none

    Parameters
    ----------
    which : "plurality", "majority", `at_least`, weights or a function
        With "plurality" each class with most of all votes is right. "majority" is another name of it, for two classes
        only. ``at_least(3)`` is for two classes. With one weight for each group the classes with the largest weighted
        sum are right. Pass integer weights: sums of .1 and .2 are rounded, so that a tie may be missed. A function maps
        the votes to the right class, an int in [0, C). For two classes it takes the numbers of ones in each group, ints
        of shape (groups,). For more it takes all votes, ints of shape (groups, C). Where voters are absent, plurality
        and weights count the present voters. ``at_least(3)`` still requires 3 votes, and a function counts an absent
        voter as a vote for class 0.
    accuracy, prior
        As in `truth`: the distribution of the votes. Like the rule and its thresholds, they must come from elsewhere
        than these votes or records.
    none : float, at least 0, optional
        Cost of the further answer "none" at all counts; required if the problem has it.
    problem : DecisionProblem, optional
        Required for a function, which is called for every count vector of this problem; its answers are kept.

    Returns
    -------
    Objective

    Raises
    ------
    InputError

    Examples
    --------
    An alarm if three voters of five vote 1, and the probability that a decision of epsilon 1 differs from it:

    >>> import darrm
    >>> alarm = darrm.objectives.rule(darrm.objectives.at_least(3), accuracy=[0.6])
    >>> problem = darrm.DecisionProblem([darrm.VoterGroup(5, epsilon=0.5)], epsilon=1.0)
    >>> round(darrm.solve(problem, objective=alarm).expected_cost, 4)
    0.0215

    Most votes, for any number of classes:

    >>> most_votes = darrm.objectives.rule("plurality", accuracy=[0.6])
    """
    voters = checked_accuracy(accuracy), checked_prior(prior)
    cost = checked_none(none)
    if isinstance(which, AtLeast):
        return Rule(*voters, "at least", numbers=(float(which.k),), none=cost).agreeing()
    if isinstance(which, str):
        if which not in _RULES:
            raise refusal("rule", "majority, plurality, at_least(k), weights or a function", which)
        return Rule(*voters, which, none=cost).agreeing()
    if callable(which):
        if problem is None:
            raise InputError("A rule that is a function needs the problem whose counts it is asked for: problem=...")
        return Rule(*voters, "a function of the counts", right=nested(answers_of(which, problem)), none=cost).agreeing()
    weights = array("weights", which, ("groups",), 0, math.inf, "[)", hint="Pass one weight for each group.")
    if not weights.any():
        raise InputError("weights must not all be 0.")
    return Rule(*voters, "weights", numbers=tuple(weights.tolist()), none=cost).agreeing()


def at_least(k: int) -> AtLeast:
    """The rule "answer 1 if at least k voters vote 1", for `rule`.

    Parameters
    ----------
    k : int, at least 0
        At most the number of voters of the problem, which is checked where the rule meets it.

    Raises
    ------
    InputError
        If k is not such a number.

    Examples
    --------
    Where answer 1 is right, for 0 to 5 votes for it:

    >>> import darrm
    >>> alarm = darrm.objectives.rule(darrm.objectives.at_least(3), accuracy=[0.6])
    >>> problem = darrm.DecisionProblem([darrm.VoterGroup(5, epsilon=0.5)], epsilon=1.0)
    >>> alarm.is_right(problem)[:, 1].astype(int).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    return AtLeast(whole("k", k, 0, hint="Pass a number of voters, e.g. 3."))

"""What a decision is good for: the truth at a cost, or a rule of the votes. Every objective is a cost to be small.

    minimise  sum over n, o of  C(n, o) X_o(n)

over the numbers n = (n_1, ..., n_G) of ones in each group and the answers o; X_o(n) is the probability of answer o.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array, real, refusal, whole
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.problem.decision import DecisionProblem

_RULES = ("majority", "plurality")
_SUMS_TO_1 = 1e-9
_TIE = 1e-12


class Objective:
    """What a decision should cost little of; made by `truth`, `rule` or `costs`."""

    kind: ClassVar[str]

    def costs(self, problem: DecisionProblem) -> Array:
        """C(n, o): the cost of answer o at the counts n times their probability; shape (*problem.shape, 2)."""
        raise TypeError("Objective is abstract: make one with truth, rule or costs.")

    def with_present(self, present: Sequence[int]) -> Objective:
        """The same objective for so many voters of each group; groups without any are left out."""
        raise InputError("A table of costs is for all voters. For absent voters use truth or rule.")

    def costs_without_votes(self, problem: DecisionProblem) -> Array:
        """The cost of each answer where nobody votes; shape (2,)."""
        return np.asarray(self.costs(problem).reshape(-1, 2).sum(axis=0))

    def as_dict(self) -> dict[str, object]:
        """The objective as plain values, for files: ``{"kind": ..., parameters}``."""
        return {"kind": self.kind, **asdict(self)}  # type: ignore[call-overload]  # every kind is a dataclass


class OfVoters(Objective):
    """An objective of voters that are right with known probabilities."""

    confusion: tuple[object, ...]
    prior: tuple[float, ...]

    def chances(self, problem: DecisionProblem) -> Array:
        """Pr[truth = y, n] for the counts n of ones in each group; shape (2, *problem.shape), sums to 1."""
        confusion = np.array(self.confusion, dtype=np.float64)
        if len(confusion) != len(problem.groups):
            raise InputError(
                f"accuracy must have one entry for each of the {len(problem.groups)} groups. Got {len(confusion)}."
            )
        joint = np.zeros((2, *problem.shape))
        for truth in (0, 1):
            chance = np.array(self.prior[truth])
            for group, table in zip(problem.groups, confusion, strict=True):
                chance = np.multiply.outer(chance, _binomial(group.count, float(table[truth][1])))
            joint[truth] = chance
        return joint

    def with_present(self, present: Sequence[int]) -> OfVoters:
        kept = tuple(table for table, count in zip(self.confusion, present, strict=True) if count)
        return replace(self, confusion=kept)  # type: ignore[type-var]  # both kinds are dataclasses


@dataclass(frozen=True)
class Truth(OfVoters):
    """The truth; see `truth`."""

    confusion: tuple[object, ...]
    prior: tuple[float, ...]
    cost: tuple[tuple[float, ...], ...]
    kind: ClassVar[str] = "truth"

    def costs(self, problem: DecisionProblem) -> Array:
        return np.asarray(np.einsum("ot,t...->...o", np.array(self.cost), self.chances(problem)))

    def __str__(self) -> str:
        return "the truth"


@dataclass(frozen=True)
class Rule(OfVoters):
    """A rule of the votes; see `rule`."""

    confusion: tuple[object, ...]
    prior: tuple[float, ...]
    name: str
    right: tuple[object, ...] | None = None  # for a rule of the user's: the answers that are right, as nested lists
    numbers: tuple[float, ...] = ()
    kind: ClassVar[str] = "rule"

    def costs(self, problem: DecisionProblem) -> Array:
        chance = self.chances(problem).sum(axis=0)
        return np.asarray(chance[..., None] * (1 - self.is_right(problem)))

    def with_present(self, present: Sequence[int]) -> OfVoters:
        kept: dict[str, object] = {}
        if self.name == "weights":
            kept["numbers"] = tuple(weight for weight, count in zip(self.numbers, present, strict=True) if count)
        if self.right is not None:
            right = np.array(self.right)[tuple(slice(count + 1) if count else 0 for count in present)]
            kept["right"] = _nested(right)
        elif self.name == "at least" and self.numbers[0] > sum(present):
            # So few can never be enough, which is no mistake here: 0 is right at all counts.
            kept["right"] = _nested(np.broadcast_to([1.0, 0.0], (*(count + 1 for count in present if count), 2)))
        return replace(super().with_present(present), **kept)  # type: ignore[type-var]

    def costs_without_votes(self, problem: DecisionProblem) -> Array:
        if self.right is None and self.name != "at least":
            return np.zeros(2)  # no votes are a tie
        return np.asarray(1 - self.is_right(problem)[(0,) * len(problem.shape)])

    def is_right(self, problem: DecisionProblem) -> Array:
        """1 where answer o is right at the counts n, else 0; shape (*problem.shape, 2)."""
        if self.right is not None:
            right = np.array(self.right, dtype=np.float64)
            if right.shape != (*problem.shape, 2):
                raise InputError(f"This rule was made for tables of shape {right.shape[:-1]}. Got {problem.shape}.")
            return right
        ones = np.indices(problem.shape)
        if self.name == "at least":
            if self.numbers[0] > problem.K:
                raise InputError(
                    f"k of at_least(k) must be at most the number of voters, K = {problem.K}: more never say 1. Got "
                    f"{self.numbers[0]:g}. Lower k."
                )
            yes = ones.sum(axis=0) >= self.numbers[0]
            return np.stack([~yes, yes], axis=-1).astype(np.float64)
        weights = np.array(self.numbers if self.name == "weights" else [1.0] * len(problem.groups))
        if len(weights) != len(problem.groups):
            raise InputError(
                f"A rule must have one weight for each of {len(problem.groups)} groups. Got {len(weights)}."
            )
        sizes = np.array([group.count for group in problem.groups])
        # Twice the weight of the ones less that of all: exact for whole weights, so that ties are ties.
        lead = np.tensordot(weights, 2 * ones, axes=1) - float(weights @ sizes)
        return np.stack([lead <= 0, lead >= 0], axis=-1).astype(np.float64)

    def __str__(self) -> str:
        return {"at least": f"at least {self.numbers[0]:g}" if self.numbers else ""}.get(self.name, self.name)


@dataclass(frozen=True)
class Costs(Objective):
    """A table of costs; see `costs`."""

    table: tuple[object, ...]
    kind: ClassVar[str] = "costs"

    def costs(self, problem: DecisionProblem) -> Array:
        table = np.array(self.table, dtype=np.float64)
        if table.shape != (*problem.shape, 2):
            raise InputError(f"These costs are for tables of shape {table.shape[:-1]}. Got {problem.shape}.")
        return table

    def __str__(self) -> str:
        return "a table of costs"


def gains(costs: Array) -> Array:
    """What answer 1 saves at each count vector: C(n, 0) - C(n, 1), without what may be rounding alone.

    Costs that differ by less than a relative 1e-12 are a tie. If swapping the answers and all votes changes nothing but
    that, then it changes nothing at all.
    """
    saved = costs[..., 0] - costs[..., 1]
    size = np.abs(costs).sum(axis=-1)
    saved = np.where(np.abs(saved) <= _TIE * size, 0.0, saved)
    mirrored = np.flip(saved)
    if np.all(np.abs(saved + mirrored) <= _TIE * (size + np.flip(size))):
        saved = (saved - mirrored) / 2
    return np.asarray(saved + 0.0)


class AtLeast(NamedTuple):
    """Answer 1 if at least so many voters say 1; see `at_least`."""

    k: int


def truth(accuracy: Sequence[object], prior: ArrayLike | None = None, cost: ArrayLike | None = None) -> Objective:
    """The truth, from voters that are right with known probabilities.

        C(n, o) = sum over y of  cost[o][y] Pr[truth = y, n]

    The decision weighs votes by itself, as the best rule would, but privately.

    Parameters
    ----------
    accuracy : sequence with one entry for each group
        The probability that a vote is the truth, in [0, 1], or a 2 x 2 table with Pr[vote v | truth y] at [y][v]; votes
        are independent given the truth. Of the votes as they are cast: noise in the vote included, see
        `randomized_response_accuracy`.
    prior : array_like, shape (2,), optional
        Pr[truth = 0], Pr[truth = 1]; even if not given.
    cost : array_like, shape (2, 2), optional
        cost[released][truth], finite and at least 0; 1 for a wrong answer and 0 for a right one if not given.

    Returns
    -------
    Objective

    Raises
    ------
    InputError
        If an accuracy or a prior is no probability, or a cost is negative or not finite.

    Examples
    --------
    >>> hospitals = truth(accuracy=[0.8, 0.7], prior=[0.9, 0.1], cost=[[0, 5], [1, 0]])
    """
    table = np.array([[0.0, 1.0], [1.0, 0.0]]) if cost is None else array("cost", cost, (2, 2), 0, math.inf, "[)")
    if not table.any():
        raise InputError("cost must have an entry above 0. Got zeros alone: then every answer is as good.")
    return Truth(_confusions(accuracy), _prior(prior), tuple(map(tuple, table.tolist())))


def rule(
    which: str | AtLeast | Sequence[float] | Callable[..., object],
    accuracy: Sequence[object],
    prior: ArrayLike | None = None,
    *,
    problem: DecisionProblem | None = None,
) -> Objective:
    """A rule of the votes: the objective is the probability that the release differs from it.

        C(n, o) = Pr[n] (1 if o is not right for the counts n, else 0)

    Parameters
    ----------
    which : "majority", "plurality", `at_least`, weights or a function
        "majority" (of all votes; both answers are right at a tie; "plurality" is the same for two answers);
        ``at_least(3)``; one weight for each group, the answer with the larger weighted sum (whole weights: sums of .1
        and .2 are rounded, so that a tie may not be seen as one); or a function from the
        numbers of ones in each group, ints of shape (groups,), to the right answer, 0 or 1. Where voters are absent,
        majority and weights are of those present; ``at_least(3)`` still asks for 3, and a function takes who is absent
        for a 0.
    accuracy, prior
        As in `truth`: where votes come from.
    problem : DecisionProblem, optional
        A function is asked here for every count vector of this problem, and its answers are kept.

    Returns
    -------
    Objective

    Raises
    ------
    InputError

    Examples
    --------
    >>> alarm = rule(at_least(3), accuracy=[0.6])
    """
    confusion, chances = _confusions(accuracy), _prior(prior)
    if isinstance(which, AtLeast):
        return Rule(confusion, chances, "at least", numbers=(float(which.k),))
    if isinstance(which, str):
        if which not in _RULES:
            raise refusal("rule", "majority, plurality, at_least(k), weights or a function", which)
        return Rule(confusion, chances, "majority")
    if callable(which):
        if problem is None:
            raise InputError("A rule that is a function needs the problem whose counts it is asked for: problem=...")
        right = np.zeros((*problem.shape, 2))
        for n in np.ndindex(*problem.shape):
            answer = which(np.array(n))
            if not (isinstance(answer, int | np.integer | np.bool_) and answer in (0, 1)):
                raise InputError(f"The function of a rule must answer 0 or 1. Got {answer!r} for the counts {n}.")
            right[(*n, int(answer))] = 1.0
        return Rule(confusion, chances, "a function of the counts", right=_nested(right))
    weights = array("weights", which, ("groups",), 0, math.inf, "[)", hint="Pass one weight for each group.")
    if not weights.any():
        raise InputError("weights must not all be 0.")
    return Rule(confusion, chances, "weights", numbers=tuple(weights.tolist()))


def costs(table: ArrayLike) -> Objective:
    """Any costs: C(n, o) of answer o at the counts n, probability of the counts included.

    Parameters
    ----------
    table : array_like, shape ``(*problem.shape, 2)``, finite and at least 0

    Examples
    --------
    One voter that says 1 in three cases of ten, and a decision that should say the same:

    >>> same = costs([[0.0, 0.7], [0.3, 0.0]])
    """
    values = array("table", table, None, 0, math.inf, "[)")
    if values.ndim < 2 or values.shape[-1] != 2:
        raise InputError(f"A table of costs must have shape (*problem.shape, 2). Got {values.shape}.")
    return Costs(_nested(values))


def at_least(k: int) -> AtLeast:
    """For `rule`: answer 1 if at least k voters say 1.

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
    >>> at_least(3)
    AtLeast(k=3)
    """
    return AtLeast(whole("k", k, 0, hint="Pass a number of voters, e.g. 3."))


def randomized_response_accuracy(base: float, epsilon: float, classes: int = 2) -> float:
    """The accuracy of an answer that passed through randomized response of ``epsilon``.

        (base e^epsilon + 1 - base) / (e^epsilon + classes - 1)

    of an answer that was right with probability ``base`` before. No voter that randomizes its own answer so can be more
    accurate; a model that was trained privately can, because its epsilon is about records, not about its answer.

    Parameters
    ----------
    base : float in [0, 1]
        The probability that the answer is right before the noise; each wrong answer is as likely.
    epsilon : float, at least 0, or infinity
        Privacy of the noise, in nats; infinity for an answer without noise.
    classes : int, at least 2
        How many answers there are.

    Returns
    -------
    float in [0, 1]

    Raises
    ------
    InputError
        If a value is outside its range, or of the wrong kind.

    Examples
    --------
    >>> round(randomized_response_accuracy(0.9, 1.0), 4)
    0.6848
    """
    base = real("base", base, 0, 1)
    classes = whole("classes", classes, 2)
    if not (isinstance(epsilon, float) and epsilon == math.inf):
        epsilon = real("epsilon", epsilon, 0, hint="Pass nats, e.g. 1.0.")
    shrink = math.exp(-epsilon)
    return (base + (1 - base) * shrink) / (1 + (classes - 1) * shrink)


def from_dict(values: Mapping[str, object]) -> Objective:
    """The objective that ``as_dict`` described."""
    given = {name: _tuples(value) for name, value in values.items()}
    kind = given.pop("kind", None)
    try:
        if kind == "truth":
            made = truth(given["confusion"], given["prior"], given["cost"])  # type: ignore[arg-type]
            if made.as_dict() == {"kind": kind, **given}:
                return made
        if kind == "costs" and set(given) == {"table"}:
            return costs(np.array(given["table"], dtype=np.float64))
        if kind == "rule":
            confusion, prior = _confusions(given["confusion"]), _prior(given["prior"])  # type: ignore[arg-type]
            again = Rule(confusion, prior, **{k: v for k, v in given.items() if k not in ("confusion", "prior")})  # type: ignore[arg-type]
            if again.name in ("majority", "at least", "weights", "a function of the counts"):
                return again
    except (TypeError, KeyError):
        pass
    raise InputError(f"objective must have a kind (truth, rule, costs) and its parameters. Got {dict(values)!r}.")


def _confusions(accuracy: object) -> tuple[object, ...]:
    """One table Pr[vote v | truth y] for each group, from accuracies or such tables."""
    hint = "Pass one accuracy, or one 2 x 2 table, for each group, e.g. [0.8, 0.7]."
    if not isinstance(accuracy, list | tuple | np.ndarray) or not len(accuracy):
        raise refusal("accuracy", "a list with one entry for each group", accuracy, hint)
    tables: list[object] = []
    for entry in accuracy:
        if np.ndim(entry) == 0:
            a = real("An accuracy", entry, 0, 1, hint=hint)
            tables.append(((a, 1 - a), (1 - a, a)))
            continue
        table = array("An accuracy", entry, (2, 2), 0, 1, "[]", hint=hint)
        if np.abs(table.sum(axis=1) - 1).max() > _SUMS_TO_1:
            raise refusal("A table of accuracy", "rows that sum to 1", entry, hint)
        tables.append(tuple(map(tuple, table.tolist())))
    return tuple(tables)


def _prior(prior: ArrayLike | None) -> tuple[float, ...]:
    if prior is None:
        return (0.5, 0.5)
    chances = array("prior", prior, (2,), 0, 1, "[]", hint="Pass Pr[truth = 0] and Pr[truth = 1].")
    if abs(chances.sum() - 1) > _SUMS_TO_1:
        raise refusal("prior", "probabilities that sum to 1", prior)
    return tuple(chances.tolist())


def _binomial(count: int, p: float) -> Array:
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(count + 1), count, p))


def _nested(values: Array) -> tuple[object, ...]:
    return _tuples(values.tolist())  # type: ignore[return-value]


def _tuples(value: object) -> object:
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value

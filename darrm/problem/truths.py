"""Voters whose randomizer is known, as non-private voters whose votes are the true answers.

Let the voters of some groups draw their votes from true answers by a known randomizer, each with a coin of its own. The
label is then one randomized function of the true answers h:

    f_o(h) = E X_o(votes | h),

and truths may be anything. So a table X of the problem is as private as the table f of the problem whose voters are
non-private and vote by their true answers, and every engine takes f unchanged (docs/known_randomizers.md, Theorem K1).
Of c voters of a group that collude, the votes k are certain and known: there is a table f_k for each of them. Groups
without a known randomizer stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError
from darrm.numerics.arrays import Array, in_decimals
from darrm.numerics.deadline import check_time
from darrm.numerics.exact import decimals
from darrm.problem import encodings
from darrm.problem.class_corners import ClassCase
from darrm.problem.class_tables import sampled
from darrm.problem.class_votes import all_votes, class_probabilities
from darrm.problem.counts import count_vectors, places
from darrm.problem.decision import DecisionProblem
from darrm.problem.group_corners import GroupCase
from darrm.problem.groups import VoterGroup, but
from darrm.problem.randomizers import exact_table

OTHERWISE = " Leave the randomizer out, or take fewer voters or classes."
_MOST = 4_000_000  # largest number of entries of a kernel; each is kept in float64 and in decimals
_WORDS = (
    ("at (hi,lo)", "from 1 to 0"),
    ("at (lo,hi)", "from 0 to 1"),
    ("at (0,0)", "surely 0"),
    ("at (1,1)", "surely 1"),
)
Voted = tuple[int, ...]  # for each group, which of the vectors of votes its colluders have


class Kernel(NamedTuple):
    """The randomizer of one group, for the voters that do not collude.

    Attributes
    ----------
    exact, rounded : ndarray, shape (vectors of truths, vectors of votes)
        The probability of votes given the true answers, in decimals, and the nearest float64.
    beside : tuple of ndarray of int
        For each vector of votes of the colluders, the index of all votes together, for each vector of votes of the
        others.
    """

    exact: NDArray[Any]
    rounded: Array
    beside: tuple[NDArray[np.intp], ...]


@dataclass(frozen=True, init=False)
class TruthProblem(DecisionProblem):
    """The problem of the true answers: it may have another number of true answers than of released ones.

    The voters are those that do not collude, non-private where the randomizer is known. Groups with fewer true answers
    than others have copies of their last one.
    """

    released: int

    def __init__(self, votes: DecisionProblem) -> None:
        truths = _n_truths(votes)
        groups = [
            but(
                group,
                count=group.count - group.colluders,
                epsilon=group.epsilon if group.randomizer is None else math.inf,
                randomizer=None,
                colluders=0,
            )
            for group in votes.groups
        ]
        super().__init__(groups, votes.epsilon, votes.delta, truths, votes.max_affected, votes.adjacency)
        object.__setattr__(self, "released", votes.n_answers)

    @property
    def n_answers(self) -> int:
        """Number of answers of the release."""
        return self.released

    @property
    def binary(self) -> bool:
        """Whether there are two true answers, and two answers of the release."""
        return self.n_classes == self.released == 2


class Truths(NamedTuple):
    """A problem with known randomizers, and the problem of the true answers.

    Attributes
    ----------
    votes : DecisionProblem
        With known randomizers.
    problem : TruthProblem
    kernels : tuple of Kernel or None
        None for a group whose votes are arbitrary, by the same classes.
    """

    votes: DecisionProblem
    problem: TruthProblem
    kernels: tuple[Kernel | None, ...]

    def colluding(self, table: Array | None = None) -> list[Voted]:
        """The possible votes of all colluders.

        Of votes that differ by the names of classes, where ``table`` and the randomizers treat all classes alike, only
        the first: f_k of the others is that of the first with other names of votes and answers, and its worst cases
        are as bad.
        """
        every = list(product(*(range(len(kernel.beside)) if kernel else (0,) for kernel in self.kernels)))
        if table is None or not self.votes.classes_alike or not encodings.treats_alike(table, self.votes):
            return every
        up_to_names = {tuple(sorted(zip(*self.votes_of(voted), strict=True))): voted for voted in reversed(every)}
        return list(reversed(up_to_names.values()))

    def seen(self, table: Array, voted: Voted, *, exact: bool) -> NDArray[Any]:
        """f_k for a table of votes and votes of the colluders: the probabilities of all answers, on the last axis.

        In decimals of 50 digits, or in float64, whose entries have a relative error of some K 2^-53.
        """
        X: NDArray[Any] = table
        if exact:
            X = in_decimals(table) if self.votes.binary else sampled(table, self.votes)
        with decimals(Decimal(1)):
            X = self._answers(X)
            for g, (kernel, which) in enumerate(zip(self.kernels, voted, strict=True)):
                if kernel is None:
                    continue
                own = X.take(kernel.beside[which], axis=g)
                B = kernel.exact if exact else kernel.rounded
                X = np.moveaxis(np.tensordot(B, own, axes=(1, g)), 0, g)
        return X

    def behind(self, coefficients: NDArray[Any], voted: Voted) -> NDArray[Any]:
        """The coefficients of X in sums of coefficients times f_k; shape (rows, entries of a table, answers).

        ``coefficients`` has one number for each entry of f_k and answer; if they are decimals, so is the result.
        """
        exact = coefficients.dtype == np.object_
        own = coefficients.reshape(len(coefficients), *self.problem.table_shape, self.problem.n_answers)
        for g, (kernel, which) in enumerate(zip(self.kernels, voted, strict=True), 1):
            if kernel is None:
                continue
            B = kernel.exact if exact else kernel.rounded
            part = np.moveaxis(np.tensordot(own, B, axes=(g, 0)), -1, g)
            shape = (*part.shape[:g], self.votes.table_shape[g - 1], *part.shape[g + 1 :])
            own = np.zeros(shape, part.dtype)
            own[(slice(None),) * g + (kernel.beside[which],)] = part
        return own.reshape(len(own), math.prod(self.votes.table_shape), own.shape[-1])

    def votes_of(self, voted: Voted) -> list[tuple[int, ...]]:
        """The colluders' votes for each class, by group."""
        groups = zip(self.votes.groups, voted, strict=True)
        return [tuple(count_vectors(group.colluders, self.votes.n_classes)[which].tolist()) for group, which in groups]

    def _answers(self, X: NDArray[Any]) -> NDArray[Any]:
        """A table as the probabilities of all answers at all votes."""
        problem = self.votes
        if problem.binary:
            return np.stack([1 - X, X], axis=-1)
        full = class_probabilities(X, problem, all_votes(problem))
        return full.reshape(*problem.table_shape, problem.n_answers)


class TruthCase(NamedTuple):
    """A worst case of true answers, and the votes of the colluders.

    Attributes
    ----------
    colluding : tuple of tuple of int
        The colluders' votes for each class, by group.
    voted : tuple of int
        Their indices.
    case : GroupCase or ClassCase
        Of the true answers: "from 1 to 0" is a voter whose answer is 1 on D and 0 on D'.
    binary : bool
        Whether the release has two answers.
    """

    colluding: tuple[tuple[int, ...], ...]
    voted: Voted
    case: GroupCase | ClassCase
    binary: bool

    @property
    def reached(self) -> tuple[int, ...]:
        """The number of affected voters of each group."""
        return self.case.reached

    def named(self) -> dict[str, int]:
        """The case in words, then the votes of the colluders."""
        named, words = self.case.named(), dict[str, int]()
        if self.binary and isinstance(self.case, ClassCase):
            words = {"answer": self.case.answers[0]}
            named = {name: count for name, count in named.items() if not name.startswith("answer")}
        for name, count in named.items():
            for corner, said in _WORDS:
                name = name.replace(corner, said)
            words[name] = count
        for g, votes in enumerate(self.colluding, 1):
            words |= {f"group {g} colluders for {vote}": count for vote, count in enumerate(votes) if count}
        return words


def check_kernels(problem: DecisionProblem) -> None:
    """Refuse more voters and classes of a known randomizer than can be listed."""
    truths, classes = _n_truths(problem), problem.n_classes
    for g, group in enumerate(problem.groups, 1):
        entries = math.prod(math.comb(group.count - group.colluders + n - 1, n - 1) for n in (truths, classes))
        if (group.randomizer is not None or truths != classes) and entries > _MOST:
            raise InputError(
                f"Known randomizers are for at most {_MOST:,} pairs of true answers and votes. Got {entries:,} for the "
                f"{group.count} voters of group {g} and {classes} classes.{OTHERWISE}"
            )


@lru_cache(maxsize=32)
def truths_of(problem: DecisionProblem) -> Truths:
    """The true answers behind the votes of a problem with known randomizers."""
    check_kernels(problem)
    truths, classes = _n_truths(problem), problem.n_classes
    return Truths(problem, TruthProblem(problem), tuple(_kernel(group, truths, classes) for group in problem.groups))


def _n_truths(problem: DecisionProblem) -> int:
    """The largest number of true answers of a group."""
    tables = [group.randomizer for group in problem.groups]
    return max(len(table) if isinstance(table, tuple) else problem.n_classes for table in tables)


@lru_cache(maxsize=32)
def _kernel(group: VoterGroup, truths: int, classes: int) -> Kernel | None:
    if group.randomizer is not None:
        own = exact_table(group.randomizer, group.epsilon, classes)
        one = (*own, *[own[-1]] * (truths - len(own)))
    elif truths != classes:
        sure = [[Decimal(vote == min(true, classes - 1)) for vote in range(classes)] for true in range(truths)]
        one = tuple(map(tuple, sure))
    else:
        return None
    honest = group.count - group.colluders
    exact, votes = _of_voters(one, honest), count_vectors(honest, classes)
    beside = tuple(places(votes + colluding) for colluding in count_vectors(group.colluders, classes))
    return Kernel(exact, exact.astype(np.float64), beside)


def _of_voters(one: Sequence[Sequence[Decimal]], voters: int) -> NDArray[Any]:
    """The kernel of several voters, from that of one: for each vector of truths, one voter after the other."""
    truths, classes = len(one), len(one[0])
    steps = np.eye(max(truths, classes), dtype=np.int64)
    kernel = np.array([[Decimal(1)]], dtype=object)
    with decimals(Decimal(1)):
        for n in range(1, voters + 1):
            check_time()
            before, now = count_vectors(n - 1, classes), count_vectors(n, truths)
            adds = [places(before + steps[vote, :classes]) for vote in range(classes)]
            first = (now > 0).argmax(axis=1)  # the truth of the voter that is added
            parents = places(now - steps[first, :truths])
            grown = np.full((len(now), math.comb(n + classes - 1, classes - 1)), Decimal(0), dtype=object)
            for true in range(truths):
                rows = np.flatnonzero(first == true)
                earlier = kernel[parents[rows]]
                for vote, add in enumerate(adds):
                    if one[true][vote]:
                        grown[np.ix_(rows, add)] += one[true][vote] * earlier
            kernel = grown
    return kernel

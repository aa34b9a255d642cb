"""How the votes of an ensemble become labels, and what those cost."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from darrm.accounting.budgets import Budget, LedgerBudget, MemoryBudget
from darrm.accounting.composition import compose
from darrm.accounting.ledger import Ledger
from darrm.accounting.planning import max_queries
from darrm.accounting.theorems import Privacy
from darrm.design.design import AnyDesign, Design
from darrm.errors import InputError
from darrm.mechanisms.decision import PrivateDecision
from darrm.mechanisms.majority import DaRRM
from darrm.mechanisms.randomized_response import RandomizedResponse

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class EnsemblePrivacy:
    """What the labels of an ensemble cost together: they are (epsilon, delta)-differentially private.

    Attributes
    ----------
    epsilon : float
        Upper bound, nats.
    delta : float
    adjacency : str
    max_affected : int
        Voters that one change of the data reaches.
    voters : {"fixed", "fresh", "non-private"}
    queries : int or None
        Labels that it covers; None for any number.
    accounting : {"exact", "Renyi DP", "optimal composition"}
        By what ``queries`` were counted. "exact": the composition of the releases (if fixed, of the voters). The others
        are looser, and stand where there are too many votes or labels for it: Gaussian noise by its Renyi divergences,
        Laplace noise by the optimal composition of labels that are as private as one is.
    """

    epsilon: float
    delta: float
    adjacency: str
    max_affected: int
    voters: str
    queries: int | None
    accounting: str = "exact"


class Release(Protocol):
    """What a classifier needs of a way to release labels."""

    privacy: EnsemblePrivacy

    @property
    def spent(self) -> Privacy:
        """What the labels released so far cost."""

    def labels(self, votes: Codes, classes: int, rng: np.random.Generator | None) -> Codes:
        """One label for each row of votes, shape (n, K), all of them charged for before the first is drawn."""


class PlainMajority:
    """The most frequent vote of fixed voters, without noise; the first class of those that are equal."""

    def __init__(self, privacy: EnsemblePrivacy) -> None:
        self.privacy = privacy

    @property
    def spent(self) -> Privacy:
        return Privacy(self.privacy.epsilon, self.privacy.delta)

    def labels(self, votes: Codes, classes: int, rng: np.random.Generator | None) -> Codes:
        return np.asarray(counts(votes, classes).argmax(axis=1))


class DesignedLabels:
    """Labels by a design, charged to a budget: the majority by DaRRM, a decision from its table.

    ``epsilon`` is that of the randomized response through which each vote passes before, anew for each label; None for
    teachers whose votes are taken as they are.
    """

    def __init__(
        self, design: AnyDesign, budget: Budget, total_epsilon: float, total_delta: float, epsilon: float | None
    ) -> None:
        problem, count = design.problem, budget.count()
        self.design, self.budget, self.epsilon = design, budget, epsilon
        queries = None if count.remaining is None else count.released + count.remaining
        voters = "non-private" if epsilon is None else "fresh"
        self.privacy = EnsemblePrivacy(
            total_epsilon, total_delta, problem.adjacency, problem.max_affected, voters, queries
        )

    @property
    def spent(self) -> Privacy:
        released, total = self.budget.count().released, self.privacy
        if not released:
            return Privacy(0.0, 0.0)
        composed = compose(self.design, released, delta=total.delta, voters="fresh").upper
        return Privacy(min(composed, total.epsilon), total.delta)  # the budget's proof covers them all

    def labels(self, votes: Codes, classes: int, rng: np.random.Generator | None) -> Codes:
        self.budget.charge(len(votes))
        answers = votes if self.epsilon is None else RandomizedResponse(self.epsilon, classes).release(votes, rng)
        made = DaRRM(self.design) if isinstance(self.design, Design) else PrivateDecision(self.design)
        return made.release(answers, rng).astype(np.intp)


def budget_of(
    design: AnyDesign, total_epsilon: float, total_delta: float, path: str | os.PathLike[str] | None
) -> Budget:
    """What the exact adaptive composition allows: in memory, or in the ledger at ``path``, made if there is none.

    A ledger that is there may be for labels of this design alone, or for anything by another rule.
    """
    if path is None:
        return MemoryBudget(max_queries(design, total_epsilon, total_delta, voters="fresh"))
    if Path(path).exists():
        ledger = Ledger(path)
    else:
        ledger = Ledger.create(path, design, total_epsilon=total_epsilon, total_delta=total_delta, voters="fresh")
    adjacency = design.problem.adjacency
    budget = {"total_epsilon": total_epsilon, "total_delta": total_delta, "voters": "fresh", "adjacency": adjacency}
    status = ledger.status()
    if any(status[key] != value for key, value in budget.items()):
        raise InputError(
            f"{path} must be a ledger of {budget}. Got one of another budget, "
            f"{ {key: status[key] for key in budget} }. Pass its totals, or a new path."
        )
    return LedgerBudget(ledger, design)


def counts(votes: Codes, classes: int) -> NDArray[np.intp]:
    """Votes for each class, shape (n, classes)."""
    return np.stack([(votes == label).sum(axis=1) for label in range(classes)], axis=1)

"""How the votes of an ensemble become labels, and what those cost."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from darrm.accounting.budgets import Budget, LedgerBudget, MemoryBudget
from darrm.accounting.composition import compose
from darrm.accounting.ledger import Ledger
from darrm.accounting.pate import rdp_epsilon
from darrm.accounting.planning import max_queries
from darrm.accounting.theorems import Privacy, largest_count, optimal, simple
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.mechanisms.majority import DaRRM
from darrm.mechanisms.noisy_max import GaussianNoisyMax, LaplaceNoisyMax
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
    """

    epsilon: float
    delta: float
    adjacency: str
    max_affected: int
    voters: str
    queries: int | None


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


class FreshMajority:
    """Randomized response on each vote, anew for each label; then DaRRM on the majority."""

    def __init__(self, design: Design, budget: Budget, total_delta: float, total_epsilon: float) -> None:
        problem, count = design.problem, budget.count()
        self.design, self.budget, self.total_delta = design, budget, total_delta
        queries = None if count.remaining is None else count.released + count.remaining
        self.privacy = EnsemblePrivacy(
            total_epsilon, total_delta, problem.adjacency, problem.max_affected, "fresh", queries
        )

    @property
    def spent(self) -> Privacy:
        released = self.budget.count().released
        if not released:
            return Privacy(0.0, 0.0)
        composed = compose(self.design, released, delta=self.total_delta, voters="fresh").upper
        return Privacy(min(composed, self.privacy.epsilon), self.total_delta)  # the budget's proof covers them all

    def labels(self, votes: Codes, classes: int, rng: np.random.Generator | None) -> Codes:
        self.budget.charge(len(votes))
        answers = RandomizedResponse(self.design.problem.epsilon).release(votes, rng)
        return DaRRM(self.design).release(answers, rng).astype(np.intp)


class NoisyMax:
    """Noisy max over the votes of teachers that are not private, one of which a change reaches (PATE)."""

    def __init__(
        self, gamma: float | None, sigma: float | None, total_epsilon: float, total_delta: float, adjacency: str
    ) -> None:
        if (gamma is None) == (sigma is None):
            raise InputError("Noisy max needs either gamma (Laplace noise of scale 1/gamma) or sigma (Gaussian noise).")
        self.gamma, self.sigma, self.total_delta = gamma, sigma, total_delta
        self.mechanism()  # checks them
        if sigma is not None and total_delta == 0:
            raise InputError("Gaussian noise needs a total_delta above 0. Got 0. Pass for instance 1e-5.")
        queries = largest_count(lambda queries: self.cost(queries) <= total_epsilon)
        self.budget: Budget = MemoryBudget(queries)
        self.privacy = EnsemblePrivacy(total_epsilon, total_delta, adjacency, 1, "non-private", queries)

    def mechanism(self) -> GaussianNoisyMax | LaplaceNoisyMax:
        """Made anew, since its sampler cannot be pickled."""
        return LaplaceNoisyMax(self.gamma) if self.gamma is not None else GaussianNoisyMax(self.sigma)  # type: ignore[arg-type]

    def cost(self, queries: int) -> float:
        """The epsilon of so many labels: by Renyi privacy (Gaussian) or the optimal composition (Laplace)."""
        mechanism = self.mechanism()
        if isinstance(mechanism, LaplaceNoisyMax):
            return optimal(mechanism.epsilon, 0.0, queries, self.total_delta).epsilon
        # lambda Q / sigma^2 + c / (lambda - 1) is least at lambda = 1 + sigma sqrt(c / Q).
        order = 1 + mechanism.sigma * math.sqrt(-math.log(self.total_delta) / queries)
        return rdp_epsilon([order], queries * mechanism.rdp([order]), self.total_delta)

    @property
    def spent(self) -> Privacy:
        released = self.budget.count().released
        return Privacy(self.cost(released), self.total_delta) if released else Privacy(0.0, 0.0)

    def labels(self, votes: Codes, classes: int, rng: np.random.Generator | None) -> Codes:
        n_votes = counts(votes, classes)
        self.budget.charge(len(votes))
        return np.asarray(self.mechanism().release(n_votes, rng)).astype(np.intp)


def fixed_privacy(
    epsilon: float, Delta: float, max_affected: int, adjacency: str, total_delta: float | None
) -> EnsemblePrivacy:
    """What fixed voters cost: the optimal composition of ``max_affected`` copies, for any number of labels (Lemma 8).

    Without ``total_delta`` the epsilons and the deltas are added up.
    """
    if total_delta is None:
        cost = simple(epsilon, Delta, max_affected)
    elif max_affected == 1 and total_delta == Delta:
        cost = Privacy(epsilon, Delta)
    else:
        cost = optimal(epsilon, Delta, max_affected, total_delta)
    return EnsemblePrivacy(cost.epsilon, cost.delta, adjacency, max_affected, "fixed", None)


def fresh_budget(
    design: Design, total_epsilon: float, total_delta: float, path: str | os.PathLike[str] | None
) -> Budget:
    """What the exact adaptive composition allows: in memory, or in the ledger at ``path``, made if there is none."""
    if path is None:
        return MemoryBudget(max_queries(design, total_epsilon, total_delta, voters="fresh"))
    if Path(path).exists():
        ledger = Ledger(path)
    else:
        ledger = Ledger.create(path, design, total_epsilon=total_epsilon, total_delta=total_delta, voters="fresh")
    budget = {"total_epsilon": total_epsilon, "total_delta": total_delta, "voters": "fresh", "rule": "exact"}
    status = ledger.status()
    if any(status[key] != value for key, value in budget.items()):
        raise InputError(
            f"{path} must be a ledger of {budget}. Got one of another budget, {status}. Pass its totals, or a new path."
        )
    return LedgerBudget(ledger, design)


def counts(votes: Codes, classes: int) -> NDArray[np.intp]:
    """Votes for each class, shape (n, classes)."""
    return np.stack([(votes == label).sum(axis=1) for label in range(classes)], axis=1)

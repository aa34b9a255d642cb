"""Noisy max over the votes of non-private teachers (PATE), and the number of labels within a budget."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from darrm.accounting.budgets import Budget, LedgerBudget, MemoryBudget
from darrm.accounting.noisy_max import LADDER, of_labels, queries_within, upper_of_any_votes
from darrm.accounting.theorems import MOST_LABELS, Privacy
from darrm.ensemble.releases import Codes, EnsemblePrivacy, charged, ledger_budget
from darrm.errors import InputError
from darrm.mechanisms.noisy_max import GaussianNoisyMax, LaplaceNoisyMax
from darrm.votes.tally import counts

Mechanism: TypeAlias = GaussianNoisyMax | LaplaceNoisyMax

_TOLERANCE = 1e-2  # how close the bounds of what is spent are driven, relatively


class NoisyMax:
    """Noisy max over the votes of K non-private teachers, at most one of which is affected."""

    def __init__(
        self,
        gamma: float | None,
        sigma: float | None,
        total_epsilon: float,
        total_delta: float,
        adjacency: str,
        K: int,
        classes: int,
        copies: int = 1,
        ledger: str | os.PathLike[str] | None = None,
        create: bool = False,
    ) -> None:
        if (gamma is None) == (sigma is None):
            raise InputError("Noisy max needs either gamma (Laplace noise of scale 1/gamma) or sigma (Gaussian noise).")
        self.gamma, self.sigma, self.total_delta = gamma, sigma, total_delta
        self._K, self._classes = K, classes
        mechanism = self.mechanism()  # checks them
        if sigma is not None and total_delta == 0:
            raise InputError("Gaussian noise needs a total_delta above 0. Got 0. Pass for instance 1e-5.")
        self.budget: Budget
        if ledger is None:
            votes = self._K, self._classes
            queries, accounting = queries_within(mechanism, total_epsilon, total_delta, MOST_LABELS, votes)
            self.budget = MemoryBudget(queries, copies)
        elif isinstance(mechanism, GaussianNoisyMax):
            self.budget = ledger_budget(mechanism, total_epsilon, total_delta, ledger, create=create)
            accounting = LADDER  # for any number of votes, as the ledger counts
        else:
            raise InputError("A ledger counts no labels of Laplace noise. Pass sigma or queries in place of gamma.")
        count = self.budget.count()
        covered = None if count.remaining is None else count.released + count.remaining
        self.privacy = EnsemblePrivacy(total_epsilon, total_delta, adjacency, 1, "non-private", covered, accounting)

    def mechanism(self) -> Mechanism:
        """The mechanism for K votes, created at each use because its sampler cannot be pickled."""
        votes = {"K": self._K, "classes": self._classes}
        return LaplaceNoisyMax(self.gamma, **votes) if self.gamma is not None else GaussianNoisyMax(self.sigma, **votes)  # type: ignore[arg-type]

    @property
    def spent(self) -> Privacy:
        released, total = self.budget.count().released, self.privacy
        if not released:
            return Privacy(0.0, 0.0)
        if total.accounting == "exact":
            cost = of_labels(self.mechanism(), self._K, self._classes, released, total.delta, _TOLERANCE).upper
        else:
            charged_to = self.budget.account if isinstance(self.budget, LedgerBudget) else self.mechanism()
            cost = upper_of_any_votes(charged_to, released, total.delta)
        return Privacy(min(cost, total.epsilon), total.delta)

    def labels(
        self, votes: Codes, classes: int, rng: np.random.Generator | None, rows: Sequence[bytes] | None = None
    ) -> Codes:
        mechanism, n_votes = self.mechanism(), counts(votes, classes)

        def draw(which: Codes) -> Codes:
            return np.asarray(mechanism.release(n_votes[which], rng)).astype(np.intp)

        return charged(self.budget, len(votes), rows, classes, draw)

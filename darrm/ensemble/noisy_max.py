"""Noisy max over the votes of non-private teachers (PATE), and the number of labels within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from darrm.accounting.budgets import Budget, MemoryBudget
from darrm.accounting.noisy_max import of_labels, queries_within, upper_of_any_votes
from darrm.accounting.theorems import MOST_LABELS, Privacy
from darrm.ensemble.releases import Codes, EnsemblePrivacy, charged
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
    ) -> None:
        if (gamma is None) == (sigma is None):
            raise InputError("Noisy max needs either gamma (Laplace noise of scale 1/gamma) or sigma (Gaussian noise).")
        self.gamma, self.sigma, self.total_delta = gamma, sigma, total_delta
        self._K, self._classes = K, classes
        self.mechanism()  # checks them
        if sigma is not None and total_delta == 0:
            raise InputError("Gaussian noise needs a total_delta above 0. Got 0. Pass for instance 1e-5.")
        queries, accounting = queries_within(
            self.mechanism(), total_epsilon, total_delta, MOST_LABELS, (self._K, self._classes)
        )
        self.budget: Budget = MemoryBudget(queries, copies)
        self.privacy = EnsemblePrivacy(
            total_epsilon, total_delta, adjacency, 1, "non-private", self.budget.count().remaining, accounting
        )  # fmt: skip

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
            cost = upper_of_any_votes(self.mechanism(), released, total.delta)
        return Privacy(min(cost, total.epsilon), total.delta)

    def labels(
        self, votes: Codes, classes: int, rng: np.random.Generator | None, rows: Sequence[bytes] | None = None
    ) -> Codes:
        mechanism, n_votes = self.mechanism(), counts(votes, classes)

        def draw(which: Codes) -> Codes:
            return np.asarray(mechanism.release(n_votes[which], rng)).astype(np.intp)

        return charged(self.budget, len(votes), rows, classes, draw)

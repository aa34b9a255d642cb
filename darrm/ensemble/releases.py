"""The release of labels from the votes of an ensemble, and its privacy cost."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from darrm.accounting import search
from darrm.accounting.budgets import Budget, Draw, LedgerBudget, MemoryBudget
from darrm.accounting.composition import compose
from darrm.accounting.fresh import labels_within
from darrm.accounting.ledger import Ledger
from darrm.accounting.ledger_store import Store
from darrm.accounting.releases import OneLabel, certified_of_any_voters
from darrm.accounting.theorems import Privacy
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.mechanisms.decision import PrivateDecision
from darrm.mechanisms.noisy_max import GaussianNoisyMax
from darrm.mechanisms.randomized_response import RandomizedResponse
from darrm.problem.groups import assumption
from darrm.votes.tally import counts

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class EnsemblePrivacy:
    """The cumulative privacy loss of the labels of an ensemble: together they are (epsilon, delta)-DP.

    It is of one fit: each fit of a cross-validation has a statement of its own, and together they cost the composition.

    Attributes
    ----------
    epsilon : float
        Upper bound, nats.
    delta : float
    adjacency : str
    max_affected : int
        The largest number of affected voters.
    voters : {"fixed", "fresh", "non-private"}
    queries : int or None
        Number of labels that it covers; None for any number.
    accounting : {"exact", "ladder of Gaussian profiles", "optimal composition"}
        The composition behind ``queries``. "exact": that of the releases (for fixed voters, of the voters). For
        non-private voters it holds for votes of all K for all classes, and no others are released. The other two are
        looser, and are used where there are too many votes or labels. They are `darrm.accounting.compose` for any
        numbers of votes and classes: of Gaussian noise, and of Laplace noise by the epsilon of one label.
    seeded : bool
        Whether the noise came from a ``random_state``. If so, nothing is private, and the other fields are those of
        secret noise.
    assumption : str
        The declarations, not checked, that ``epsilon`` rests on, as clauses; "" if there are none. With ``colluders``,
        how votes are drawn; for fixed voters, the privacy of each model without ``epsilon_`` and ``delta_`` after
        `fit`; for prefitted voters, the number that one record affects.
    otherwise : float or None
        With ``colluders``: the total epsilon of ``queries`` labels of each copy at ``delta``, an upper bound, if only
        the affected voters randomize as stated, the others may be any mechanism that learns no vote of others, and no
        vote is used twice or decides what to ask, draw again or release. Infinite if there is none at that delta; None
        without ``colluders``, or for any number of labels.
    """

    epsilon: float
    delta: float
    adjacency: str
    max_affected: int
    voters: str
    queries: int | None
    accounting: str = "exact"
    seeded: bool = False
    assumption: str = ""
    otherwise: float | None = None


class Release(Protocol):
    """The interface of a release of labels for a classifier."""

    privacy: EnsemblePrivacy

    @property
    def spent(self) -> Privacy:
        """The cumulative privacy loss of the labels released so far."""

    def labels(
        self, votes: Codes, classes: int, rng: np.random.Generator | None, rows: Sequence[bytes] | None = None
    ) -> Codes:
        """One label for each row of votes, shape (n, K); all are charged before the first is drawn.

        With the digests of ``rows``, one for each different row, which is charged once.
        """


def charged(budget: Budget, n: int, rows: Sequence[bytes] | None, classes: int, draw: Draw) -> Codes:
    """One label for each of ``n`` queries, as `Release.labels` says; ``draw`` has the votes."""
    if rows is None:
        budget.charge(n)
        return draw(np.arange(n))
    place = {row: i for i, row in enumerate(dict.fromkeys(rows))}
    at = np.array([place[row] for row in rows])
    first = np.unique(at, return_index=True)[1]
    return np.asarray(budget.once(list(place), classes, lambda new: draw(first[new]))[at])


class PlainMajority:
    """The most frequent vote of fixed voters, without noise; the first class of those that are equal."""

    def __init__(self, privacy: EnsemblePrivacy) -> None:
        self.privacy = privacy

    @property
    def spent(self) -> Privacy:
        return Privacy(self.privacy.epsilon, self.privacy.delta)

    def labels(
        self, votes: Codes, classes: int, rng: np.random.Generator | None, rows: Sequence[bytes] | None = None
    ) -> Codes:
        return np.asarray(counts(votes, classes).argmax(axis=1))


class DesignedLabels:
    """Labels by a design, charged to a budget: the majority by DaRRM, a decision from its table.

    ``epsilon`` is that of the randomized response on each vote, drawn anew for each label; None for teachers, whose
    votes are not randomized.
    """

    def __init__(
        self,
        design: Design,
        budget: Budget,
        total_epsilon: float,
        total_delta: float,
        epsilon: float | None,
        copies: int,
    ) -> None:
        problem, count = design.problem, budget.count()
        self.design, self.budget, self.epsilon = design, budget, epsilon
        queries = None if count.remaining is None else count.released + count.remaining
        voters = "non-private" if epsilon is None else "fresh"
        self.privacy = EnsemblePrivacy(
            total_epsilon,
            total_delta,
            problem.adjacency,
            problem.max_affected,
            voters,
            queries,
            assumption=assumption(problem),
            otherwise=_otherwise(design, queries, total_delta, copies),
        )

    @property
    def spent(self) -> Privacy:
        released, total = self.budget.count().released, self.privacy
        if not released:
            return Privacy(0.0, 0.0)
        composed = compose(self.design, released, delta=total.delta, voters="fresh").upper
        return Privacy(min(composed, total.epsilon), total.delta)  # the certified budget covers them all

    def labels(
        self, votes: Codes, classes: int, rng: np.random.Generator | None, rows: Sequence[bytes] | None = None
    ) -> Codes:
        def draw(which: Codes) -> Codes:
            own = votes[which]
            answers = own if self.epsilon is None else RandomizedResponse(self.epsilon, classes).release(own, rng)
            return PrivateDecision(self.design).release(answers, rng).astype(np.intp)

        return charged(self.budget, len(votes), rows, classes, draw)


def _otherwise(design: Design, queries: int | None, delta: float, copies: int) -> float | None:
    if queries is None or not design.problem.known:
        return None
    if not queries:
        return 0.0  # a ledger of another design, which charges none of this one
    with suppress(InputError):  # nothing is certified
        return search.Budget(queries * copies, math.inf, delta, "fresh").total(_of_any_voters(design))
    return math.inf


def _of_any_voters(design: Design) -> OneLabel:
    """The label where no randomizer is known, with the guarantee that is certified then."""
    return OneLabel(certified_of_any_voters(design.problem, design.table), design.table, {})


def budget_of(
    design: Design,
    total_epsilon: float,
    total_delta: float,
    path: str | os.PathLike[str] | None,
    *,
    create: bool = False,
    copies: int = 1,
    fallback: float = math.inf,
) -> Budget:
    """The budget by exact adaptive composition: in memory for the given ``copies``, or in the ledger at ``path``.

    Labels counted in memory, or in a ledger that is created, are also within (fallback, total_delta) if
    `OF_ANY_OTHERS`; an existing ledger keeps the budgets with which it was created.
    """
    if path is not None:
        return ledger_budget(design, total_epsilon, total_delta, path, create=create, fallback=fallback)
    allowed = search.max_queries(design, total_epsilon, total_delta, voters="fresh")
    if fallback < math.inf:
        allowed = labels_within(_of_any_voters(design), fallback, total_delta, allowed)
    return MemoryBudget(allowed, copies)


def ledger_budget(
    release: Design | GaussianNoisyMax,
    total_epsilon: float,
    total_delta: float,
    path: str | os.PathLike[str],
    *,
    create: bool = False,
    fallback: float | None = None,
) -> LedgerBudget:
    """The budget in the ledger at ``path``.

    An existing ledger may be for labels of this release alone, or for any mechanisms by a rule for fully adaptive
    composition. A ledger is created only with ``create``, because a new ledger has a new budget.
    """
    problem: Any = release.problem  # noisy max of an ensemble has K and classes
    store = Store(path)
    known = store.exists()
    if create and not known:
        ledger = Ledger.create(
            path,
            release,
            total_epsilon=total_epsilon,
            total_delta=total_delta,
            fallback_epsilon=fallback,
            voters="fresh",
        )
    elif known:
        ledger = Ledger(path)
    else:
        raise InputError(
            f"{store.path} does not exist. Pass the path of the ledger of these records. If they have "
            "none, pass ledger_create=True, or make one with Ledger.create."
        )
    adjacency = problem.adjacency
    budget = {"total_epsilon": total_epsilon, "total_delta": total_delta, "voters": "fresh", "adjacency": adjacency}
    status = ledger.status()
    if any(status[key] != value for key, value in budget.items()):
        raise InputError(
            f"{store.path} must be a ledger of {budget}. Got one of another budget, "
            f"{ {key: status[key] for key in budget} }. Pass its totals, or a new path."
        )
    if status["rule"] == "in-advance":
        raise InputError(
            f'{store.path} has the rule "in-advance", which holds for charges that are fixed in advance. Those of an '
            'ensemble are not: queries may depend on earlier answers. Keep a ledger by the rule "exact", '
            '"renyi-filter" or "basic-filter".'
        )
    return LedgerBudget(ledger, release)

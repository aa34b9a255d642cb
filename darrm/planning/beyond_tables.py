"""Plans for non-private voters that no table fits: Gaussian noisy max, whose total holds for any votes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import numpy as np

from darrm._validation import MAX_CLASSES
from darrm.accounting.composition import compose
from darrm.accounting.ladder import any_votes_sigma
from darrm.accounting.noisy_max import has_exact_total, noisy_max_parameter
from darrm.accounting.pate import gnmax_sigma
from darrm.accounting.search import Budget
from darrm.baselines.confident import WIDER, best_threshold, with_check
from darrm.baselines.entries import BY_PAPER, DRAWS, Comparison, Entry
from darrm.certificate.engines import engine
from darrm.design.content import check_writable
from darrm.errors import InputError, SolverError
from darrm.mechanisms.confident_noisy_max import ConfidentNoisyMax, Noisy
from darrm.mechanisms.exponential_mechanism import ExponentialMechanism
from darrm.mechanisms.noisy_max import GaussianNoisyMax, LaplaceNoisyMax
from darrm.mechanisms.permute_and_flip import PermuteAndFlip
from darrm.numerics.arrays import Array
from darrm.numerics.deadline import OutOfTime, check_time, ends_at
from darrm.numerics.printed import at_least, at_most, exactly
from darrm.objectives import OfVoters
from darrm.planning.answers import Plan
from darrm.planning.asked import reached_of
from darrm.planning.assumed import of_noisy_max
from darrm.problem.decision import DecisionProblem
from darrm.problem.groups import VoterGroup, without_privacy
from darrm.problem.model import VoterModel

_NO_TABLE = np.zeros(0)
_EQUAL = 1e-9  # difference of probabilities that is rounding
_NAMES = {GaussianNoisyMax: "Gaussian noisy max", ConfidentNoisyMax: "Confident-GNMax"}
_RIVALS: dict[str, Callable[[float], Any]] = {
    "Laplace noisy max": LaplaceNoisyMax,
    "permute-and-flip": PermuteAndFlip,
    "exponential mechanism": ExponentialMechanism,
}


def beyond_tables(
    groups: Sequence[VoterGroup], max_affected: object, classes: object, adjacency: str, none: bool = False
) -> VoterModel | None:
    """The voters, if they are non-private and no table fits, even if they are one group.

    Where one vote changes and the votes have no exact total, a table that may fit no file is not searched for either:
    that takes many minutes, and by these tables labels are hardly better.
    """
    if not without_privacy(groups):
        return None
    reached = reached_of(max_affected, sum(group.max_affected for group in groups))
    model = VoterModel(groups, classes, reached, adjacency, none)  # type: ignore[arg-type]  # which it checks
    if model.n_classes > MAX_CLASSES:
        return model
    merged = VoterGroup(model.K, math.inf, max_affected=reached)
    problem = DecisionProblem([merged], 1.0, 0.5, model.classes, reached, model.adjacency, none)
    try:
        engine(problem).check_size(problem)
        if reached == 1 and model.n_classes > 2 and not has_exact_total(model.K, model.n_classes):
            check_writable(problem)
    except InputError:
        return model
    return None


def noisy_max_plan(model: VoterModel, budget: Budget, objective: OfVoters | None, *, compare: bool) -> Plan:
    """Noisy max with nearly the least noise for the budget, and its error rates under the accuracy of ``objective``.

    Where labels may be "none", that or Confident-GNMax: what costs less by the objective. The total is that of any
    votes, whatever the numbers of voters and classes. ``compare``: with other noise at the same budget, if the accuracy
    is known and one vote changes.
    """
    total = budget.queries, budget.epsilon, budget.delta
    held: _Held = {"K": model.K, "classes": model.classes, "voters": model.voters, "max_affected": model.max_affected}
    drawn = None if objective is None else _Drawn(model, objective)
    try:
        with ends_at(budget.until):
            found: list[Noisy] = [GaussianNoisyMax(_short(any_votes_sigma(*total, model.max_affected)), **held)]
            if model.none and drawn is not None:
                sigma = _short(any_votes_sigma(*total, model.max_affected, WIDER))
                found.append(ConfidentNoisyMax(drawn.threshold(sigma), _short(WIDER * sigma), sigma, **held))
                found.sort(key=drawn.cost)
            chosen = found[0]
            spent = _spent(chosen, budget)
    except OutOfTime:
        raise SolverError("The time limit ended before the noise was found. Pass half a minute or more.") from None
    rates = (math.nan,) * 3 if drawn is None else drawn.rates(chosen)
    comparison, complete = None, True
    if compare and drawn is not None and model.max_affected == 1:
        try:
            with ends_at(budget.until):
                comparison = _compared(drawn, budget, found, spent)
        except OutOfTime:
            complete = False
    wrong, disagreement, without_noise = rates
    return Plan(
        chosen,
        *total,
        budget.voters,
        spent,
        wrong,
        disagreement,
        without_noise,
        math.nan,
        math.inf,
        math.inf,
        (),
        comparison,
        of_noisy_max(
            model,
            "" if objective is None else "accuracy of the votes",
            evenly=objective is not None and _errs_evenly(objective),
        ),
        complete=complete,
        none=math.nan if drawn is None or not model.none else drawn.none(chosen),
        cost=math.nan if drawn is None or not model.none else drawn.cost(chosen),
    )


def _short(sigma: float) -> float:
    """The noise that is needed, rounded up to digits that are printed everywhere: who types them has enough of it."""
    return float(at_least(sigma))


def _spent(mechanism: Noisy, budget: Budget) -> float:
    """The total of its labels, for any number of votes and classes."""
    given = (getattr(mechanism, name) for name in mechanism._parameters)
    return compose(
        type(mechanism)(*given, max_affected=mechanism.max_affected), budget.queries, delta=budget.delta
    ).upper


def _compared(drawn: _Drawn, budget: Budget, found: Sequence[Noisy], spent: float) -> Comparison:
    """The noise that was found, the planned one first, and other noise at the budget, with totals for any votes."""
    queries, delta = budget.queries, budget.delta

    def row(name: str, setting: str, mechanism: Noisy, total: float) -> Entry:
        wrong, disagreement, _ = drawn.rates(mechanism)
        cost = drawn.cost(mechanism) if drawn.may_be_none else wrong
        return Entry(name, setting, _NO_TABLE, cost, wrong, disagreement, total=total, aggregator=math.inf)

    planned, *others = found
    rows = [row("planned", f"{type(planned).__name__}, {_given(planned)}", planned, spent)]
    rows += [row(_NAMES[type(other)], _given(other), other, _spent(other, budget)) for other in others]
    for name, kind in _RIVALS.items():
        check_time()
        mechanism = kind(noisy_max_parameter(kind, queries, budget.epsilon, delta))
        rows.append(row(name, _given(mechanism), mechanism, compose(mechanism, queries, delta=delta).upper))
    mechanism = GaussianNoisyMax(gnmax_sigma(budget.epsilon, delta) * math.sqrt(queries))
    total = compose(mechanism, queries, delta=delta).upper
    said = f"{_given(mechanism)}: epsilon {exactly(budget.epsilon)} by the paper's Renyi DP"
    rows.append(row(BY_PAPER, said, mechanism, total))
    return Comparison(tuple(rows), queries, budget.epsilon, delta, budget.voters)


def _given(mechanism: Any) -> str:
    """The parameters of its noise, in words, rounded towards more noise."""
    rounded = {name: at_least if "sigma" in name else at_most for name in mechanism._parameters}
    return ", ".join(f"{name} {towards(getattr(mechanism, name))}" for name, towards in rounded.items())


class _Held(TypedDict):
    """The votes that a mechanism is held to."""

    K: int
    classes: int | tuple[str, ...]
    voters: tuple[str, ...] | None
    max_affected: int


def _errs_evenly(objective: OfVoters) -> bool:
    """Whether every wrong class is as likely as another, whatever the truth and the group."""
    tables = [np.array(table) for table in objective.confusion]
    return all(np.ptp(np.delete(row, truth)) < _EQUAL for table in tables for truth, row in enumerate(table))


class _Drawn:
    """Drawn votes of voters of known accuracy, and the truth of each row."""

    def __init__(self, model: VoterModel, objective: OfVoters) -> None:
        rng = np.random.default_rng(0)  # the same figures on every run; nothing is released from these votes
        self.may_be_none = model.none
        self._model, self._costs = model, np.array(getattr(objective, "cost", None) or np.zeros((0, 0)))
        self._truth = rng.choice(model.n_classes, DRAWS, p=objective.prior)
        self._counts = np.zeros((DRAWS, model.n_classes), dtype=np.int64)
        for group, table in zip(model.groups, objective.confusion, strict=True):
            self._counts += rng.multinomial(group.count, np.array(table)[self._truth])

    def cost(self, mechanism: Noisy) -> float:
        """The mean cost of a label, by the costs of all answers."""
        return self._cost(mechanism.chances(self._counts))

    def _cost(self, chances: Array) -> float:
        return float((chances * self._costs[: chances.shape[1], self._truth].T).sum(axis=1).mean())

    def none(self, mechanism: Noisy) -> float:
        """The mean probability of "none"."""
        return float(mechanism.chances(self._counts)[:, self._model.n_classes :].sum(axis=1).mean())

    def threshold(self, sigma: float) -> float:
        """That of the least mean cost."""
        labels, largest = GaussianNoisyMax(sigma).chances(self._counts), self._counts.max(axis=1, keepdims=True)

        def cost(threshold: float) -> float:
            return self._cost(with_check(labels, largest, threshold, WIDER * sigma))

        return best_threshold(cost, self._model, sigma)

    def rates(self, mechanism: Noisy) -> tuple[float, float, float]:
        """The label error rate, the disagreement rate, and the error rate without noise, as means."""
        counts, truth = self._counts, self._truth
        chances, most = mechanism.chances(counts), counts == counts.max(axis=1, keepdims=True)
        at, shares = np.arange(DRAWS), most / most.sum(axis=1, keepdims=True)
        agree = (chances[:, : self._model.n_classes] * most).sum(axis=1)
        right = chances[at, truth].mean(), agree.mean(), shares[at, truth].mean()
        wrong, disagreement, without_noise = (float(max(0.0, 1 - share)) for share in right)
        return wrong, disagreement, without_noise

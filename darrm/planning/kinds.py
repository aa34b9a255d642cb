"""The parts of a budget: one for each kind of change, and for the case that an assumption on randomizers fails.

A table is the optimum under a limit for each part, whose parameter is x times the share of the part. The largest x
within all budgets leaves some of them unspent: their shares are raised until all are spent, or until a larger share
gains nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from darrm.accounting.gaussian import gdp, gdp_mu
from darrm.accounting.search import Budget
from darrm.problem.decision import AnyProblem, decision_by
from darrm.problem.limits import Limit, guarantees, profile_limits

MOST_MU, LEAST_MU = 12.0, 1e-4
SPENT = 0.997  # share of a budget; a larger share of the noise gains little
_MOST_RAISED = 4.0  # times, in one round

Limits: TypeAlias = Callable[[AnyProblem, float, float], tuple[Limit[Any], ...]]


def pure(problem: AnyProblem, epsilon: float, delta: float) -> tuple[Limit[Any], ...]:
    """(epsilon, delta) alone."""
    return guarantees(decision_by(problem.model, epsilon, delta))


def gaussian(problem: AnyProblem, mu: float, delta: float) -> tuple[Limit[Any], ...]:
    """The profile of mu-Gaussian differential privacy, with ``delta`` beside."""
    return profile_limits(problem, [(epsilon, own + delta) for epsilon, own in gdp(min(max(mu, LEAST_MU), MOST_MU))])


def first_shares(budget: Budget, epsilons: Iterable[float]) -> list[float]:
    """The first shares: each part alone would spend its budget at the same x, by Gaussian differential privacy."""
    if budget.delta == 0 or budget.queries == 1:
        return [epsilon / budget.epsilon for epsilon in epsilons]
    most = gdp_mu(budget.epsilon, budget.delta)
    return [gdp_mu(epsilon, budget.delta) / most for epsilon in epsilons]


def raised_shares(shares: Sequence[float], used: Sequence[float]) -> list[float]:
    """The next shares, where the parts have spent ``used`` of their budgets."""
    most = max(used)
    return [share * min(most / max(own, 1e-9), _MOST_RAISED) for share, own in zip(shares, used, strict=True)]

"""Rule "renyi-filter": the Renyi divergences of all charges at one order, also of those that earlier outputs chose."""

from __future__ import annotations

import math

from darrm.accounting import filters
from darrm.accounting.accounts import Account, Labels, NoisyLabels
from darrm.accounting.ledger_state import State
from darrm.accounting.rules import second_budget
from darrm.accounting.rules.common import ABOVE, CHOSEN_ALONG_THE_WAY, overspent
from darrm.accounting.theorems import MOST_LABELS
from darrm.errors import InputError


def condition(state: State) -> str:
    return CHOSEN_ALONG_THE_WAY


def limits(state: State) -> filters.Filter:
    """What is allowed, at the order that was fixed with the budget."""
    order, failure = state.order or math.inf, state.failure or 0.0
    return filters.filter_at(order, failure, state.total_epsilon, state.total_delta)


def divergences(state: State, order: float) -> filters.Spent:
    """The sums of the Renyi divergences and of the probabilities of failure of all charges, rounded up."""
    divergence = failure = 0.0
    for account in state.accounts.values():
        if account.charged:
            one = account.divergence(order)
            divergence, failure = divergence + account.charged * one.divergence, failure + account.charged * one.failure
    more = 1 + 2.0**-50 * (len(state.accounts) + 1)
    return filters.Spent(divergence * more, failure * more)


def check(state: State, account: Account, n: int) -> None:
    allowed = limits(state)
    used = divergences(state, allowed.order)
    if used.divergence > allowed.divergence or used.failure > allowed.failure:
        why = (
            f"all together have a Renyi divergence of {used.divergence:.6g} at order {allowed.order:.6g}, where "
            f"{max(allowed.divergence, 0):.6g} is allowed, and a failure of {used.failure:.3g}, where "
            f"{allowed.failure:.3g} is allowed."
        )
        raise overspent(state, account, n, why, second_budget.left_before(state, account, n, remaining))


def remaining(state: State, account: Labels | NoisyLabels) -> int | None:
    allowed = limits(state)
    used, one = divergences(state, allowed.order), account.divergence(allowed.order)
    more = [(a - s) * (1 - 1e-12) / o for a, s, o in zip(allowed[1:], used, one, strict=True) if o]
    return int(max(0, min(more, default=MOST_LABELS)))


def spent(state: State) -> tuple[float, float]:
    allowed = limits(state)
    used, failed = divergences(state, allowed.order)
    if used > allowed.divergence or failed > allowed.failure:
        raise InputError(ABOVE)
    epsilon = state.total_epsilon - (allowed.divergence - used) * (1 - 1e-12)
    return max(0.0, min(state.total_epsilon, epsilon)), state.total_delta

"""Rule "in-advance": any mechanisms, by the least of three bounds on all of them together.

These are the product of their dominating pairs (docs/composition.md, Theorem 1), basic composition, and the sum of
their pure-DP epsilons. Fixed voters are charged once, with their own cost, whatever they answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from darrm.accounting.accounts import Account, Labels, NoisyLabels
from darrm.accounting.curves import Curve, together
from darrm.accounting.fixed import fixed_voters
from darrm.accounting.fresh import labels_within
from darrm.accounting.ledger_state import State
from darrm.accounting.mixed import labels_beside, voters_curve
from darrm.accounting.rules import basic_filter
from darrm.accounting.rules.common import delta_alone, overspent, within_the_budget
from darrm.accounting.rules.voters import are_the_same
from darrm.accounting.theorems import MOST_LABELS
from darrm.errors import BudgetError, InputError
from darrm.numerics.bisection import largest_that
from darrm.numerics.exact import rounded_up
from darrm.numerics.printed import exactly

MOST_BESIDE = 10_000  # labels of noisy max beside other charges that are counted
LABELS_ALONE = "only labels of these voters were charged, chosen in any way"
# Numbers of labels that this process certified, by budget, design and other charges.
_CERTIFIED: dict[tuple[object, ...], int] = {}


def condition(state: State) -> str:
    # Labels of fixed voters whose own cost is charged are post-processing of private voters.
    others = any(account.charged and not isinstance(account, Labels) for account in state.accounts.values())
    if _paid_once(state) is not None and not others:
        return LABELS_ALONE
    return "all charges are fixed in advance, independently of what was released, and are within the budget as a whole"


def check(state: State, account: Account, n: int) -> None:
    if isinstance(account, Labels) and state.voters == "fresh":
        allowed = _allowed_beside(state, account)
        if account.charged > allowed:
            more = max(allowed - (account.charged - n), 0)
            raise _refused(state, account, n, more, delta_alone(state, account))
        return
    if not are_the_same(state):
        raise InputError(
            "This ledger is for other fixed voters: their groups differ in order, numbers, epsilon, Delta or "
            "max_affected. If they are the same voters, describe them alike in all designs: one group of the "
            "largest epsilon and Delta, with the same max_affected, is enough. If not, charge what the others cost "
            "by darrm.interop.privacy_loss_distribution."
        )
    if not _holds(state):
        raise _refused(state, account, n)


def _refused(state: State, account: Account, n: int, more: int | None = None, alone: str = "") -> BudgetError:
    budget = f"({exactly(state.total_epsilon)}, {exactly(state.total_delta)})"
    why = f"with all charges so far, no total within {budget} is certified."
    return overspent(state, account, n, why, more, alone)


def remaining(state: State, account: Labels | NoisyLabels) -> int | None:
    if isinstance(account, Labels) and state.voters == "fresh":
        return max(0, _allowed_beside(state, account) - account.charged)

    def holds(n: int) -> bool:
        after = state.with_account(replace(account, charged=account.charged + n))
        return are_the_same(after) and _holds(after)

    if isinstance(account, NoisyLabels):
        return largest_that(MOST_BESIDE, holds)
    return None if holds(1) else 0


def spent(state: State) -> tuple[float, float]:
    return within_the_budget(composed(state), state), state.total_delta


def composed(state: State) -> float:
    """The least epsilon of all charges at the total delta, from above."""
    cost = min(_by_sums(state), _by_curves(state))
    return cost if cost <= state.total_epsilon else min(cost, _by_losses(state))


def _holds(state: State) -> bool:
    return any(cost(state) <= state.total_epsilon for cost in (_by_sums, _by_curves, _by_losses))


def _paid_once(state: State) -> Labels | None:
    """A design of the fixed voters, who are charged once; None if there are none."""
    return next((labels for labels in state.designs.values() if labels.charged and state.voters == "fixed"), None)


def _by_sums(state: State) -> float:
    """The total epsilon by basic composition."""
    paid_once = _paid_once(state)
    added = state if paid_once is None else replace(state, designs={})
    if any(account.charged and account.guarantee is None for account in added.accounts.values()):
        return math.inf
    epsilon, delta = basic_filter.sums(added)
    left = Fraction(state.total_delta) - delta
    if left < 0:
        return math.inf
    if paid_once is not None:
        voters = fixed_voters(paid_once.problem, max(0.0, -rounded_up(-left)))
        if voters == math.inf:
            return math.inf
        epsilon += Fraction(voters)
    return rounded_up(epsilon)


def _by_curves(state: State) -> float:
    """The total epsilon by the privacy curves of all charges."""
    return _curve_beside(state).epsilon(state.total_delta)


def _by_losses(state: State) -> float:
    """The sum of the pure-DP epsilons at delta = 0, where the curves of rounded losses are not sharp."""
    if _paid_once(state) is not None:
        return math.inf
    total = 0.0
    for account in state.accounts.values():
        if account.charged:
            each = account.pure_epsilon
            if each == math.inf:
                return math.inf
            total = (total + account.charged * each) * (1 + 2.0**-50)
    return total


def _curve_beside(state: State, account: Account | None = None) -> Curve:
    """The curve of all charges except one account."""

    def parts() -> Iterator[tuple[Curve, int]]:
        paid_once = _paid_once(state)
        for other in state.accounts.values():
            if other.charged and other is not account and not (paid_once and isinstance(other, Labels)):
                yield other.part(state.total_delta)
        if paid_once is not None:
            yield voters_curve(paid_once.label()), 1

    return together(list(parts()), state.total_delta)


def _allowed_beside(state: State, account: Labels) -> int:
    """The number of labels of a design that the budget covers together with all other charges."""
    others = sorted((name, other.charged) for name, other in state.accounts.items() if name != account.name)
    key = (state.total_epsilon, state.total_delta, account.name, *others)
    if key not in _CERTIFIED:
        _CERTIFIED[key] = _certified_beside(state, account)
    return _CERTIFIED[key]


def _certified_beside(state: State, account: Labels) -> int:
    by_sums = 0
    others = replace(state, designs={k: v for k, v in state.designs.items() if v is not account})
    if _by_sums(others) < math.inf:
        by_sums = basic_filter.remaining(others, account)
    rest, budget = _curve_beside(state, account), (state.total_epsilon, state.total_delta)
    if rest.silent:
        return max(by_sums, labels_within(account.label(), *budget, MOST_LABELS))
    return max(by_sums, labels_beside(rest, account.label(), *budget, MOST_LABELS))

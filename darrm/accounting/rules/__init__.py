"""The four composition rules of a ledger, each with its own proof: a file here, and an entry in `RULES`.

exact           labels of one design, by their exact adaptive composition (docs/theory.md, "Exact composition"), or of
                Gaussian noisy max of one sigma, by the ladder (docs/composition.md, "Any number of votes and classes"),
                or of several sigmas, by the filter of their ladders (Theorem 7a)
in-advance      any mechanisms, by the product of their dominating pairs (docs/composition.md, Theorem 1)
renyi-filter    any mechanisms, by their Renyi divergences of one order (Theorem 2)
basic-filter    mechanisms with a known (epsilon, delta), by their sums
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from darrm.accounting import released_once
from darrm.accounting.accounts import Account, Labels, NoisyLabels, Other
from darrm.accounting.ledger_state import MOST_COUNTED, NOTHING_CHARGED, State
from darrm.accounting.rules import basic_filter, exact, in_advance, renyi_filter, second_budget
from darrm.accounting.rules.common import ABOVE
from darrm.accounting.rules.voters import check_known
from darrm.errors import BudgetError, InputError
from darrm.numerics.arithmetic import usual_arithmetic


class Rule(Protocol):
    """A composition rule: the functions of its module."""

    def condition(self, state: State) -> str:
        """The condition under which the total holds."""

    def check(self, state: State, account: Account, n: int) -> None:
        """Raise unless ``state``, in which ``n`` uses of ``account`` were just counted, is within its budget."""

    def remaining(self, state: State, account: Labels | NoisyLabels) -> int | None:
        """The number of further labels of one account within the first budget; None if unlimited."""

    def spent(self, state: State) -> tuple[float, float]:
        """(epsilon, delta) of all charges, of which there are some, rounded up; at most the budget."""


RULES: dict[str, Rule] = {
    "exact": exact,
    "in-advance": in_advance,
    "renyi-filter": renyi_filter,
    "basic-filter": basic_filter,
}


def condition(state: State) -> str:
    """The condition under which the total holds; empty if none is left beside those of the voters."""
    return ", and ".join(filter(None, [*released_once.conditions(state), RULES[state.rule].condition(state)]))


@usual_arithmetic
def take(state: State, account: Account, n: int) -> None:
    """Add ``n`` uses to an account of ``state``, or raise and add none."""
    if not isinstance(account, Other):
        check_known(state, account)
    before = account.charged
    if before + n > MOST_COUNTED:
        raise BudgetError(f"A ledger counts to 2^64 of {account.said}, and {before} are charged. {NOTHING_CHARGED}")
    account.charged, check = before + n, RULES[state.rule].check
    try:
        check(state, account, n)
        second_budget.check(state, account, n, check)
    except BaseException as error:
        account.charged = before
        if isinstance(error, BudgetError):
            _check_charged(state, account)
        raise


def _check_charged(state: State, account: Account) -> None:
    """`InputError` if the charges are above the budget as they are, so the file was edited: no ledger takes such."""
    if state.rule != "exact" and any(one.charged for one in state.accounts.values()):  # which counts them itself
        try:
            RULES[state.rule].check(state, account, 0)
        except BudgetError:
            raise InputError(ABOVE) from None


@usual_arithmetic
def remaining(state: State, account: Labels | NoisyLabels) -> int | None:
    """The number of further labels of one account within the remaining budgets; None if unlimited."""
    return second_budget.within_both(state, account, RULES[state.rule].remaining)


@usual_arithmetic
def spent(state: State) -> tuple[float, float]:
    """(epsilon, delta) of all charges, rounded up; at most the budget. The largest, if each group has a budget."""
    kinds = state.kinds
    if len(kinds) > 1:
        epsilons, deltas = zip(*map(spent, kinds.values()), strict=True)
        return max(epsilons), max(deltas)
    (state,) = kinds.values()
    if not any(account.charged for account in state.accounts.values()):
        return 0.0, 0.0
    return RULES[state.rule].spent(state)


@usual_arithmetic
def fallback(state: State) -> float | None:
    """The epsilon of all charges if `darrm.problem.groups.OF_ANY_OTHERS`, rounded up.

    At the total delta, for charges that do not depend on releases; infinite if none is certified there. None if no
    charged label rests on a known randomizer.
    """
    charged = [account for account in state.accounts.values() if account.charged]
    labels = [account for account in charged if isinstance(account, Labels)]
    if not any(account.problem.known for account in labels):
        return None
    if state.again:
        return released_once.votes_themselves(state, labels[0], labels[0].charged)
    with suppress(InputError):  # nothing is certified, or delta is below what is unavoidable
        of_any = {account.name: second_budget.of_any_voters(account) for account in labels}
        if len(charged) > 1:
            return in_advance.composed(replace(state, designs=of_any))
        (account,) = of_any.values()
        return exact.total_of(state, account).upper
    return math.inf

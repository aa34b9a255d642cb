"""The second budget of a ledger: for the case that `darrm.problem.groups.OF_ANY_OTHERS` alone holds.

Each rule counts the same charges once more, without the assumption on known randomizers, under this budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from darrm.accounting.accounts import Account, Labels, NoisyLabels
from darrm.accounting.ledger_state import NOTHING_CHARGED, State
from darrm.accounting.releases import certified_of_any_voters
from darrm.errors import BudgetError, InputError
from darrm.numerics.printed import exactly
from darrm.problem.decision import AnyProblem
from darrm.problem.groups import OF_ANY_OTHERS

Remaining: TypeAlias = Callable[[State, Labels | NoisyLabels], int | None]  # of a rule, within one budget
_OF_ANY: dict[str, AnyProblem] = {}  # that of a design for any voters, with what this process certified of it
_BEYOND = f"That is beyond the second budget of this ledger, epsilon {{}}: the total if {OF_ANY_OTHERS}."
_NONE = (
    "This ledger has a second budget, for the case that only the affected voters randomize as stated, and nothing is "
    "certified of these labels then."
)


def check(state: State, account: Account, n: int, check: Callable[[State, Account, int], None]) -> None:
    """Refuse uses beyond the second budget, by the ``check`` of the rule."""
    for second, own in _otherwise(state, account):
        try:
            check(second, account if own is None else own, n)
        except BudgetError as error:
            raise BudgetError(f"{error} {_BEYOND.format(exactly(second.total_epsilon))}") from None


def within_both(state: State, account: Labels | NoisyLabels, remaining: Remaining) -> int | None:
    """The number of further labels within both budgets, by ``remaining`` of the rule within one; None if unlimited."""
    first = remaining(state, account)
    if first is None:
        return None  # fixed voters, who have no second budget
    try:
        seconds = [remaining(second, own) for second, own in _otherwise(state, account) if own is not None]
    except BudgetError:
        return 0
    return min([first, *(left for left in seconds if left is not None)])


def left_before(state: State, account: Account, n: int, remaining: Remaining) -> int | None:
    """The number of labels left, where ``n`` more were counted already; None of other charges."""
    if not isinstance(account, Labels):
        return None
    before = replace(account, charged=account.charged - n)
    return within_both(state.with_account(before), before, remaining) or 0


def _otherwise(state: State, account: Account) -> Iterator[tuple[State, Labels | None]]:
    """The charges without the assumption on known randomizers, under the second budget, for each kind of change.

    Beside each the account of the labels that ``account`` counts. None if there is no second budget, or if no labels
    rest on a known randomizer: then it is at least the first, for the same charges.

    Raises
    ------
    BudgetError
        If nothing is certified of some labels.
    """
    if state.fallback_epsilon is None:
        return
    asked = isinstance(account, Labels)
    for kind in (state.with_account(account) if asked else state).kinds.values():
        designs, found = dict[str, Labels](), None
        for name, labels in kind.designs.items():
            is_asked = asked and (name == account.name or state.rule == "exact")
            if labels.charged or is_asked:
                try:
                    own = replace(of_any_voters(labels), allowed=None)
                except InputError as error:
                    raise BudgetError(f"{_NONE} ({error}) {NOTHING_CHARGED}") from None
                designs[own.name] = own
                found = own if is_asked else found
        if any(labels.problem.known for labels in kind.designs.values()):
            yield replace(kind, total_epsilon=kind.fallback_epsilon, designs=designs, fallback_epsilon=None), found


def of_any_voters(account: Labels) -> Labels:
    """The account where no randomizer is known, which is certified once."""
    if not account.problem.known:
        return account
    if account.name not in _OF_ANY:
        _OF_ANY[account.name] = certified_of_any_voters(account.problem, account.label().table)
    return replace(account, problem=_OF_ANY[account.name])

"""Rule "basic-filter": the sums of the guarantees of all charges, also of those that earlier outputs chose."""

from __future__ import annotations

from fractions import Fraction

from darrm.accounting.accounts import Account, Labels, NoisyLabels
from darrm.accounting.ledger_state import State
from darrm.accounting.rules.common import ABOVE, CHOSEN_ALONG_THE_WAY, overspent
from darrm.accounting.rules.second_budget import left_before
from darrm.errors import InputError
from darrm.numerics.exact import rounded_up
from darrm.numerics.printed import exactly


def condition(state: State) -> str:
    return CHOSEN_ALONG_THE_WAY


def check(state: State, account: Account, n: int) -> None:
    epsilon, delta = sums(state)
    if _exceed(epsilon, delta, state):
        why = (
            f"together ({_told_apart(epsilon, state.total_epsilon)}, {_told_apart(delta, state.total_delta)}) by basic "
            f"composition, of ({state.total_epsilon:g}, {state.total_delta:g})."
        )
        raise overspent(state, account, n, why, left_before(state, account, n, remaining))


def _exceed(epsilon: Fraction, delta: Fraction, state: State) -> bool:
    return epsilon > Fraction(state.total_epsilon) or delta > Fraction(state.total_delta)


def _told_apart(spent: Fraction, total: float) -> str:
    """A sum to six digits, or to all if it is above a total that these digits would show: ten times 0.1 above 1."""
    short = f"{float(spent):.6g}"
    return exactly(rounded_up(spent)) if spent > Fraction(total) and short == f"{total:.6g}" else short


def remaining(state: State, account: Labels | NoisyLabels) -> int:
    most = (Fraction(state.total_epsilon), Fraction(state.total_delta))
    left = [(m - s) // e for m, s, e in zip(most, sums(state), _guarantee(account), strict=True) if e]
    return int(max(0, min(left)))


def spent(state: State) -> tuple[float, float]:
    epsilon, delta = sums(state)
    if _exceed(epsilon, delta, state):
        together = f"({float(epsilon):.6g}, {float(delta):.6g}) by basic composition"
        raise InputError(ABOVE.replace(".", f": together {together}.", 1))
    return rounded_up(epsilon), rounded_up(delta)


def sums(state: State) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) of all charges by basic composition, exactly; `InputError` if one has no guarantee."""
    epsilon = delta = Fraction(0)
    for account in state.accounts.values():
        if account.charged:
            each = _guarantee(account)
            epsilon, delta = epsilon + account.charged * each[0], delta + account.charged * each[1]
    return epsilon, delta


def _guarantee(account: Account) -> tuple[Fraction, Fraction]:
    each = account.guarantee
    if each is None:
        raise InputError(
            f'Rule "basic-filter" adds up guarantees, and {account.said} has a privacy curve instead. '
            "Charge its (epsilon, delta), or keep a ledger by another rule."
        )
    return each

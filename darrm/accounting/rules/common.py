"""What the rules of a ledger share: their refusals, a condition, and the reading of a total against the budget."""

from __future__ import annotations

from darrm.accounting.accounts import Account, Other
from darrm.accounting.ledger_state import NOTHING_CHARGED, State
from darrm.errors import BudgetError, InputError
from darrm.numerics.printed import counted, left

ABOVE = "The ledger records charges above its budget. Count it as spent."
CHOSEN_ALONG_THE_WAY = (
    "one use answers once; the next charge may depend on what was released, and then the budget holds in place of the "
    "total"
)
_SAME_PROOF = 1.02  # relative distance of bounds on different grids


def within_the_budget(cost: float, state: State) -> float:
    """The total of charges that were within the budget when made; `InputError` if it is certainly above."""
    if cost > state.total_epsilon * _SAME_PROOF:
        raise InputError(ABOVE)
    return min(cost, state.total_epsilon)


def check_left(n: int, released: int, allowed: int) -> None:
    """`BudgetError` if ``n`` labels more than ``released`` are more than ``allowed``."""
    if released + n > allowed:
        more = max(allowed - released, 0)
        raise BudgetError(
            f"{_labels(n)} would overspend: {released} of {allowed} are released. {left(more)} "
            f"{NOTHING_CHARGED}{_leave_out(n, more)}"
        )


def overspent(
    state: State, account: Account, n: int, why: str, more: int | None = None, alone: str = ""
) -> BudgetError:
    """The refusal of ``n`` more uses, where ``more`` labels are left; None if that is not counted."""
    remedy = "" if more is None else _leave_out(n, more)
    if isinstance(account, Other):
        what = f"{n} times {account.said}" if n > 1 else account.said[:1].upper() + account.said[1:]
        what += "" if account.guarantee else f" under {state.adjacency}"  # as dp-accounting composes it there
        remedy = f" Charge {'fewer uses, or ' * (n > 1)}what costs less."
    else:
        what = _labels(n)
    kept = "" if more is None else f" {left(more)}"
    return BudgetError(f"{what} would overspend: {why}{kept}{alone} {NOTHING_CHARGED}{remedy}")


def _leave_out(n: int, more: int) -> str:
    """What to do where ``more`` of ``n`` labels are left, or none is."""
    stop = " Release no more labels of these voters: a larger budget promises less."
    return f" Leave out {n - more} or more." if more else stop


def _labels(n: int) -> str:
    return f"{counted(n, 'more label')}"


def delta_alone(state: State, account: Account) -> str:
    """The delta of one label, where it exceeds the total by itself; else nothing, nor where groups have several."""
    delta, total = getattr(getattr(account, "problem", None), "delta", None), state.total_delta
    if state.voters == "fixed" or not (isinstance(delta, float | int) and isinstance(total, float | int)):
        return ""
    return f" One label has delta {delta:g} alone." if delta > total else ""

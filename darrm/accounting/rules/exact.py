"""Rule "exact": labels of one design, or of noisy max (`darrm.accounting.rules.noise`), by their exact composition."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from darrm.accounting import released_once
from darrm.accounting.accounts import Account, Labels, NoisyLabels
from darrm.accounting.composition import of_label
from darrm.accounting.fixed import fixed_voters, fixed_within
from darrm.accounting.fresh import Total, labels_within
from darrm.accounting.ledger_state import State
from darrm.accounting.rules import noise
from darrm.accounting.rules.common import ABOVE, check_left
from darrm.accounting.theorems import MOST_LABELS
from darrm.certificate.certificate import verify
from darrm.errors import CertificateError, InputError

_TOLERANCE = 1e-2  # relative accuracy of the bounds for one design
# Numbers of labels that this process certified, by budget and design. The number in a file is no proof.
_CERTIFIED: dict[tuple[object, ...], int] = {}


def condition(state: State) -> str:
    if state.endless:  # the total is that of the voters, whatever is asked
        return ""
    each = " of each noise" * (len(state.noisy) > 1)
    return (
        f"the number of labels{each} does not depend on what was released; if it does, the budget holds in place of "
        "the total"
    )


def check(state: State, account: Account, n: int) -> None:
    if isinstance(account, NoisyLabels):
        noise.check(state, account, n)
        return
    for kind in state.kinds.values():  # the first kind of change whose budget is spent refuses
        (own,) = kind.designs.values()
        limit = _limit(kind, own)
        if own.charged - n > limit:
            raise InputError(ABOVE)
        check_left(n, own.charged - n, limit)
        released_once.check(kind, own)


def remaining(state: State, account: Labels | NoisyLabels) -> int | None:
    if isinstance(account, NoisyLabels):
        return max(0, noise.left(state, account))
    if state.endless:
        return None
    each = [(kind, own) for kind in state.kinds.values() for own in kind.designs.values()]
    return max(0, min(released_once.limit(kind, own, _limit(kind, own)) - own.charged for kind, own in each))


def spent(state: State) -> tuple[float, float]:
    return noise.spent(state) if state.noisy else _of_design(state), state.total_delta


def _of_design(state: State) -> float:
    (account,) = state.designs.values()
    cost, least_cost = state.total_epsilon, 0.0
    if state.again:
        return min(cost, released_once.votes_themselves(state, account, account.charged))
    if state.voters == "fixed":
        cost = min(cost, fixed_voters(account.problem, state.total_delta))
    # The charges are within the budget, although `compose` may use another grid than the charge, or none.
    with suppress(InputError):
        total = total_of(state, account)
        cost, least_cost = min(cost, total.upper), total.lower
    if least_cost > state.total_epsilon:
        raise InputError(
            f"The ledger allows too many labels: the {account.charged} released ones cost at least {least_cost:.6g} at "
            f"delta {state.total_delta:g}, above its budget {state.total_epsilon:g}. Count it as spent."
        )
    return cost


def total_of(state: State, account: Labels) -> Total:
    """The total of all labels of one design at the total delta."""
    return of_label(account.label(), account.charged, state.total_delta, state.voters, _TOLERANCE)


def _limit(state: State, account: Labels) -> int:
    """The number of labels in all that the budget of one design covers: as in the file, if that is certified again."""
    most = state.limit(account)
    if state.endless:
        return most
    key = (state.total_epsilon, state.total_delta, state.voters, account.name)
    if key not in _CERTIFIED:
        within = fixed_within if state.voters == "fixed" else labels_within
        label = account.label()
        found = within(label, state.total_epsilon, state.total_delta, MOST_LABELS)
        if found < most:  # the tight epsilon of one label may allow more
            certificates = [verify(table, problem) for problem, table in label.tables]
            if not all(certificate.holds for certificate in certificates):
                raise CertificateError("A release of the ledger does not satisfy its guarantee. Count it as spent.")
            tight = max(certificate.tight_epsilon for certificate in certificates)
            tightly = replace(label, tight_epsilon=tight)
            found = max(found, within(tightly, state.total_epsilon, state.total_delta, MOST_LABELS))
        _CERTIFIED[key] = found
    return min(most, _CERTIFIED[key])

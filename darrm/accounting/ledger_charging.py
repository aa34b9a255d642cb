"""What a charge changes in a ledger: its accounts, the ids of its labels and its history, in one transaction."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, TypeVar

from darrm.accounting import rules
from darrm.accounting.accounts import Account, Labels, NoisyLabels, Other
from darrm.accounting.ledger_ids import Batch, Entered, enter
from darrm.accounting.ledger_state import State
from darrm.accounting.ledger_store import Change
from darrm.accounting.released_once import check_ids, take_again
from darrm.accounting.rules.noise import shares_of
from darrm.accounting.rules.voters import check_names, keep_names
from darrm.errors import InputError

_Kind = TypeVar("_Kind", bound=Account)


def charge(
    change: Change, account: Account, n: int, note: str, batch: Batch | None, *, again: bool, **more: Any
) -> None:
    """Add ``n`` uses of a mechanism to the ledger, with the ids of labels; ``more`` is of `ledger_store.Charge`."""
    check_one(change.state, account, change.path)  # first: for another design no other rows would do
    if batch is not None:
        if isinstance(account, Other):
            raise InputError("ids are for labels only. Pass a design or GaussianNoisyMax, or leave ids out.")
        rows = enter_ids(change, batch, n, again=again)
    else:
        if not again:
            check_ids(change.state, account)
        rows = Entered(0, n if again else 0)
    if batch is None or batch.same < n:
        add(change, account, n - (0 if batch is None else batch.same), note, rows, batch, **more)


def enter_ids(change: Change, batch: Batch, n: int, *, again: bool, skip: bool = False) -> Entered:
    """Enter the ids of ``n`` labels; see `ledger_ids.enter`."""
    batch.check_for(n)
    entered = enter(change.run, change.number, batch, again=again, skip=skip)
    if entered.digests:
        change.count_rows(entered.digests)
    return entered


def add(change: Change, account: Account, n: int, note: str, rows: Entered, batch: Batch | None, **more: Any) -> None:
    """Add ``n`` uses, whose ids are entered, to the state and the history."""
    name = take(change.state, account, n, change.path, rows.repeated)
    if batch is not None:
        change.state.ids += n
        change.state.by_key += n if batch.tags else 0
        more |= {"ids": n, "ids_digest": batch.digest(rows.skipped)}
    change.add(name, n, note, **more)


def take(state: State, account: Account, n: int, where: object, repeated: int = 0) -> str:
    """Add ``n`` uses to ``state``, ``repeated`` of them of rows with a label, or raise; the ledger is at ``where``.

    Returns the name of the account to which they are charged.
    """
    account = check_one(state, account, where)
    name = account.name
    if isinstance(account, Labels):
        check_names(state, account.problem)
    kept = state.like(account).setdefault(name, replace(account))
    if isinstance(account, Labels):
        keep_names(kept, account.problem)
        take_again(state, kept, repeated)
    rules.take(state, kept, n)
    return name


def check_one(state: State, account: _Kind, where: object) -> _Kind | NoisyLabels:
    """The account to which it is charged; `InputError` if the rule "exact" is for something else."""
    charged = charged_as(state, account)
    if state.rule == "exact" and charged.name not in state.of_labels:
        raise _is_for_another(state, charged, where)
    return charged


def charged_as(state: State, account: _Kind) -> _Kind | NoisyLabels:
    """By the rule "exact" for noisy max, the account that a label is charged to: of those it covers, the cheapest."""
    if state.rule != "exact" or not isinstance(account, NoisyLabels) or account.name in state.noisy:
        return account
    shares = shares_of(state) if len(state.noisy) > 1 else [1.0] * len(state.noisy)
    covering = [(share, one) for share, one in zip(shares, state.noisy.values(), strict=True) if one.covers(account)]
    return min(covering, key=lambda one: one[0], default=(1.0, account))[1]


def _is_for_another(state: State, account: Account, where: object) -> InputError:
    """The refusal of what is not of the ledger's one design or noisy max, with what to do instead."""
    if state.voters == "fresh" or state.noisy:
        remedy = (
            "Pass what it was made for, or another ledger. A second ledger has its own budget, and the two budgets add "
            'up if no row of votes has a label in both. Or make one ledger by the rule "in-advance" before the first '
            "label; labels that are out count in addition."
        )
    else:
        labels = [*state.designs.values(), *([account] if isinstance(account, Labels) else [])]
        bare = any(math.isinf(kind.epsilon) for one in labels for kind in one.problem.affected)
        remedy = (
            "Budgets of two ledgers must not be added up for the same fixed voters: only the voters' own cost "
            "covers the labels of both. "
            + (
                "Non-private voters have no such cost. For several designs leave those voters out of all of "
                'them, and make one ledger by the rule "in-advance".'
                if bare
                else 'Make one ledger by the rule "in-advance" for this design, which charges them once.'
            )
            + " Other voters need a ledger of their own, whose budget is added."
        )
    kind = "labels of one design only" if isinstance(account, Other) else "another design"
    kind += ", or more noise" if state.noisy and isinstance(account, NoisyLabels) else ""
    made_for = " and ".join(one.called for one in state.of_labels.values())
    return InputError(f"{where} is for {kind} ({made_for}). Got {account.called}. {remedy}")

"""What pays for labels: a count in memory, or a ledger on disk that other processes share."""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple, Protocol

from darrm.accounting.ledger import Ledger
from darrm.accounting.rules import check_left
from darrm.design.design import AnyDesign
from darrm.errors import BudgetError, InputError

_COUNTING = Lock()  # one for all, so that budgets can be pickled


class Count(NamedTuple):
    """Labels charged so far, and those still paid for: None if there is no end, or if it depends on other charges."""

    released: int
    remaining: int | None


class Budget(Protocol):
    """What pays for the labels of one mechanism."""

    def count(self) -> Count:
        """Labels released and remaining, at one moment."""

    def charge(self, n: int) -> None:
        """Take ``n`` labels, or none of them by a `BudgetError`."""


class MemoryBudget:
    """A `Budget` of ``allowed`` labels, counted by this object alone."""

    def __init__(self, allowed: int) -> None:
        if not allowed:
            raise BudgetError("The total budget does not pay for one label. Raise it, or make each label more private.")
        self._allowed, self._released = allowed, 0

    def count(self) -> Count:
        return Count(self._released, self._allowed - self._released)

    def charge(self, n: int) -> None:
        with _COUNTING:
            check_left(n, self._released, self._allowed)
            self._released += n


class LedgerBudget:
    """The `Budget` that a ledger has for one design; a charge is on disk when `charge` returns."""

    def __init__(self, ledger: Ledger, design: AnyDesign) -> None:
        if not isinstance(ledger, Ledger):
            raise InputError(f"ledger must be a Ledger of darrm.accounting. Got {type(ledger).__name__}.")
        self._ledger, self._design = ledger, design

    def count(self) -> Count:
        return Count(*self._ledger.counts(self._design))

    def charge(self, n: int) -> None:
        self._ledger.charge(self._design, n)

"""What pays for labels: a count in memory, or a ledger on disk that other processes share."""

from __future__ import annotations

from threading import Lock
from typing import Protocol

from darrm.accounting.ledger import Ledger, check_left
from darrm.design.design import Design
from darrm.errors import BudgetError, InputError

_COUNTING = Lock()  # one for all, so that budgets can be pickled


class Budget(Protocol):
    """What pays for the labels of one mechanism."""

    @property
    def allowed(self) -> int | None:
        """Labels that it pays for in all; None if there is no end, or if it depends on what else is charged."""

    @property
    def released(self) -> int:
        """Labels charged so far."""

    @property
    def remaining(self) -> int | None:
        """Labels that it still pays for; None as for ``allowed``."""

    def charge(self, n: int) -> None:
        """Take ``n`` labels, or none of them by a `BudgetError`."""


class MemoryBudget:
    """A `Budget` of ``allowed`` labels, counted by this object alone."""

    def __init__(self, allowed: int) -> None:
        if not allowed:
            raise BudgetError("The total budget does not pay for one label. Raise it, or make each label more private.")
        self.allowed, self.released = allowed, 0

    @property
    def remaining(self) -> int:
        return self.allowed - self.released

    def charge(self, n: int) -> None:
        with _COUNTING:
            check_left(n, self.released, self.allowed)
            self.released += n


class LedgerBudget:
    """The `Budget` that a ledger has for one design; a charge is on disk when `charge` returns."""

    def __init__(self, ledger: Ledger, design: Design) -> None:
        if not isinstance(ledger, Ledger):
            raise InputError(f"ledger must be a Ledger of darrm.accounting. Got {type(ledger).__name__}.")
        self.ledger, self.design = ledger, design

    @property
    def allowed(self) -> int | None:
        status = self.ledger.status()
        return None if status["left"] is None else int(status["released"] + status["left"])

    @property
    def released(self) -> int:
        return int(self.ledger.status()["released"])

    @property
    def remaining(self) -> int | None:
        left: int | None = self.ledger.status()["left"]
        return left

    def charge(self, n: int) -> None:
        self.ledger.charge(self.design, n)

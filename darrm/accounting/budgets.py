"""Budgets for labels: a count in memory, or a ledger on disk that processes share."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from threading import Lock
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from darrm.accounting.accounts import Labels, NoisyLabels
from darrm.accounting.charges import labels_of
from darrm.accounting.ledger import Ledger
from darrm.accounting.ledger_charging import charge, charged_as
from darrm.accounting.ledger_ids import keep_labels, kept_labels
from darrm.accounting.noisy_max import CountMechanism
from darrm.accounting.rules.common import check_left
from darrm.design.design import Design
from darrm.errors import BudgetError, CopiedBudgetWarning, InputError

_COUNTING = Lock()  # one lock for all, so that budgets can be pickled
_REMEDY = (
    "Fit with ledger= (not where gamma= is the noise of counts), which all copies share, or with copies=n, which gives "
    "each of n objects its share."
)

Draw: TypeAlias = Callable[[NDArray[np.intp]], NDArray[np.intp]]  # labels of the rows at some places


class Count(NamedTuple):
    """Labels charged so far, and labels left: None if unlimited, or if it depends on other charges."""

    released: int
    remaining: int | None


class Budget(Protocol):
    """The budget for the labels of one mechanism."""

    def count(self) -> Count:
        """Labels released and remaining, at the same moment."""

    def charge(self, n: int) -> None:
        """Charge ``n`` labels, or raise `BudgetError` and charge none."""

    def once(self, rows: Sequence[bytes], classes: int, draw: Draw) -> NDArray[np.intp]:
        """The labels of different rows, known by secret digests: new rows are charged, then drawn, then kept.

        A row that came before has the label of then, at no charge.
        """


class MemoryBudget:
    """A `Budget` of ``allowed`` labels, counted by this object alone.

    A copy does not know the releases of the original and of other copies, so its budget is 0. To share the labels, pass
    ``copies`` = n beforehand: each object, the original included, then has ``floor(allowed / n)`` labels. Every object
    from a pickle or a deepcopy counts as a copy, and so does every forked process.
    """

    _process: int | None = None  # the process in which this object may charge; a pickle has none

    def __init__(self, allowed: int, copies: int = 1) -> None:
        if not allowed // copies:
            each = f" for each of {copies} copies" if copies > 1 else ""
            raise BudgetError(
                f"The total budget does not cover one label{each}. Raise it, or make each label more private."
            )
        self._allowed, self._released, self._copies, self._process = allowed // copies, 0, copies, os.getpid()
        self._labels: dict[bytes, int] = {}  # of rows by their digests

    def __reduce__(self) -> tuple[object, tuple[int, int, int, dict[bytes, int]]]:
        return _copied, (self._allowed, self._released, self._copies, self._labels)

    def count(self) -> Count:
        return Count(self._released, self._allowed - self._released)

    def charge(self, n: int) -> None:
        with _COUNTING:
            self._charge(n)

    def once(self, rows: Sequence[bytes], classes: int, draw: Draw) -> NDArray[np.intp]:
        with _COUNTING:
            new = [i for i, row in enumerate(rows) if row not in self._labels]
            if new:
                self._charge(len(new))
                drawn = draw(np.array(new)).tolist()
                self._labels.update(zip((rows[i] for i in new), drawn, strict=True))
            return np.array([self._labels[row] for row in rows], dtype=np.intp)

    def _charge(self, n: int) -> None:
        if self._copies == 1 and self._process != os.getpid():
            how = "was copied (pickle, joblib, deepcopy)" if self._process is None else "was forked to another process"
            raise BudgetError(
                f"The budget of {self._allowed} labels {how}, and only the original may spend it. Nothing was released "
                f"or charged. {_REMEDY}"
            )
        check_left(n, self._released, self._allowed)
        self._released += n


def _copied(allowed: int, released: int, copies: int, labels: dict[bytes, int]) -> MemoryBudget:
    """A copy of a budget after ``released`` labels of the original, some of them of rows that are known."""
    copy = MemoryBudget(allowed * copies, copies)
    copy._labels = dict(labels)
    if copies == 1:
        copy._released, copy._process = released, None
        warnings.warn(
            f"A copy of a fitted ensemble cannot release labels: its budget is that of the original. {_REMEDY}",
            CopiedBudgetWarning,
            stacklevel=2,
        )
    return copy


class LedgerBudget:
    """The `Budget` of a ledger for one design or noisy max; a charge is on disk when `charge` returns."""

    def __init__(self, ledger: Ledger, design: Design | CountMechanism) -> None:
        if not isinstance(ledger, Ledger):
            raise InputError(f"ledger must be a Ledger of darrm.accounting. Got {type(ledger).__name__}.")
        self._ledger, self._design = ledger, design

    @property
    def account(self) -> Labels | NoisyLabels:
        """The account that `count` counts: of noisy max it may be one of less noise, which covers these labels."""
        state = self._ledger._state()
        return charged_as(state, labels_of(self._design, state.adjacency, state.voters))

    def count(self) -> Count:
        return Count(*self._ledger.counts(self._design))

    def charge(self, n: int) -> None:
        self._ledger.charge(self._design, n)

    def once(self, rows: Sequence[bytes], classes: int, draw: Draw) -> NDArray[np.intp]:
        """In one transaction, so that processes that ask at the same time have the same label, charged once."""
        ledger = self._ledger
        before = ledger._state()
        account = labels_of(self._design, before.adjacency, before.voters)  # may take long, so without the lock
        with ledger._store.changing() as change:
            labels = kept_labels(change.run, rows, classes)
            new = np.flatnonzero(labels < 0)
            if new.size:
                charge(change, account, new.size, "", None, again=False)
                labels[new] = draw(new)
                kept = keep_labels(change.run, change.state.charges, [rows[i] for i in new.tolist()], labels[new])
                change.count_rows(kept)
        return labels

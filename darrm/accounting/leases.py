"""Leases: labels that a process takes from a ledger in advance, and of which it gives back what it did not release."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Any

from darrm._validation import check_count
from darrm.accounting.ledger_ids import Batch, leave
from darrm.accounting.ledger_state import NOTHING_CHARGED
from darrm.accounting.ledger_store import Store
from darrm.errors import BudgetError, InputError
from darrm.numerics.printed import counted, left


class Lease:
    """Labels that are charged to a ledger before they are released; made by `Ledger.lease`.

    Use it as a context manager. `take` labels before you release them: it asks no disk and no server. What was not
    taken is given back when the block ends, however it ends. Labels of a process that is killed stay charged.

    A lease is for one process, whose threads may share it.

    Examples
    --------
    >>> import darrm
    >>> design = darrm.solve(K=11, m=3, epsilon=0.1)
    >>> ledger = darrm.accounting.Ledger.create(
    ...     "leased.db", design, total_epsilon=4, total_delta=1e-6, voters="fresh"
    ... )
    >>> lease = ledger.lease(design, 5)
    >>> lease.take(2)
    0
    >>> lease.left
    3
    >>> lease.close()
    >>> ledger.released(design)
    2
    """

    def __init__(
        self, store: Store, account: str, charge: tuple[int, str], n: int, note: str, batch: Batch | None
    ) -> None:
        self._store, self._account, self._n, self._note = store, account, n, note
        self._number, self._seal = charge  # of the charge of all its labels
        self._batch, self._taken, self._process = batch, 0, os.getpid()
        self._open, self._ended, self._lock = True, False, threading.Lock()

    @property
    def left(self) -> int:
        """The number of labels that can still be taken."""
        return self._n - self._taken if self._open else 0

    def take(self, n: int = 1) -> int:
        """Take ``n`` labels; with ids, those of the next ``n`` ids. Release them after it.

        Returns
        -------
        int
            The number of labels that were taken before, so that threads know which ids are theirs.

        Raises
        ------
        BudgetError
            If fewer are left. None is taken then.
        InputError
            If the lease has ended, or belongs to another process.
        """
        n = check_count("n", n, 2**53)
        with self._lock:
            if self._process != os.getpid():
                raise InputError(f"This lease belongs to the process {self._process}. Take one in each process.")
            if not self._open:
                raise InputError("This lease has ended: what was left was given back. Take another one.")
            if n > self.left:
                raise BudgetError(
                    f"{counted(n, 'more label')} would be beyond this lease of {self._n}. {left(self.left)} "
                    f"{NOTHING_CHARGED} Take another lease."
                )
            self._taken += n
            return self._taken - n

    def close(self) -> None:
        """Give back what was not taken, once. In a process that was forked off it does nothing.

        Raises
        ------
        OutputError
            If the ledger cannot be written. The labels stay charged until `close` is called again.
        InputError
            If the ledger has no charge of this lease, such as a restored copy from before it.
        """
        with self._lock:
            if self._process != os.getpid() or self._ended:
                return
            self._open = False
            if self._n > self._taken:
                self._give_back(self._n - self._taken)
            self._ended = True

    def _give_back(self, left: int) -> None:
        with self._store.changing() as change:
            own = "SELECT 1 FROM charges WHERE number = ? AND seal = ?"
            if not change.run(own, (self._number, self._seal)).fetchall():
                raise InputError(
                    f"{self._store.path} has no charge of this lease: it is another ledger, or an older copy. Nothing "
                    "was given back. Restore the newest ledger, or treat its budget as spent."
                )
            given = "SELECT 1 FROM charges WHERE lease = ? AND number > ?"
            if change.run(given, (self._number, self._number)).fetchall():
                return  # by an earlier call, whose answer was lost
            ids = 0 if self._batch is None else -left
            if self._batch is not None:
                change.count_rows(-leave(change.run, self._number, self._batch, self._taken))
            change.state.ids += ids
            change.state.accounts[self._account].charged -= left
            change.add(self._account, -left, self._note, ids=ids, lease=self._number)

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise InputError("A lease cannot be copied: its labels would be released twice. Take one in each process.")

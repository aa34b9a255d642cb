"""Streams of votes that are charged to a ledger block by block, and that may be restarted."""

from __future__ import annotations

import warnings
from contextlib import closing

from darrm._validation import shown, truth
from darrm.accounting.accounts import checked_note
from darrm.accounting.charges import labels_of
from darrm.accounting.ledger import Ledger
from darrm.accounting.ledger_charging import add, charge, check_one, enter_ids
from darrm.accounting.ledger_ids import Batch, Entered, batch_of
from darrm.accounting.released_once import check_ids
from darrm.design.design import Design
from darrm.errors import InputError, ResumedStreamWarning
from darrm.numerics.printed import counted
from darrm.votes.rows import Texts

_OTHER_ROWS = 'If these are other rows, name the stream: stream="tuesday". '


class Stream:
    """Charges the labels of one stream, from its first row without a label on.

    For rows without ids the ledger keeps the number of charged rows, by the name of the stream. The number is for all
    designs together, because a label by another design is a second label of the same votes.
    """

    def __init__(self, ledger: Ledger, design: Design, name: str, again: bool) -> None:
        if not isinstance(ledger, Ledger):
            raise InputError(f"ledger must be a Ledger of darrm.accounting. Got {type(ledger).__name__}.")
        self._ledger, self._name, self._again = ledger, checked_note(name, "stream"), truth("again", again)
        status = ledger.status()
        self._account = labels_of(design, status["adjacency"], status["voters"])
        self._at = 0  # rows without ids so far
        self._warned = False
        self._goes_on = False  # whether a row was charged; later rows cannot be skipped

    def charge(self, n: int, ids: Texts | None, tags: bytes = b"") -> int:
        """Charge n further rows; returns how many of the first ones were charged before and must be skipped.

        With ``tags``, of keyed randomness, none is skipped, and rows that were charged with theirs cost nothing more.

        Raises
        ------
        BudgetError
            If the budget does not cover the others; none is charged then.
        InputError
            If rows that were charged before come later than at the beginning.
        """
        if ids is not None and tags:
            self._charge_keyed(n, ids, tags)
            return 0
        ledger = self._ledger
        with batch_of(ids) as batch, ledger._store.changing() as change:
            state = change.state
            check_one(state, self._account, ledger.path)  # first, as in `ledger_charging.charge`
            charged = state.streams.get(self._name, 0)
            if batch is None:
                rows = self._passed(charged, n)
            else:
                rows = enter_ids(change, batch, n, again=self._again, skip=not self._goes_on)
            if rows.skipped < n:
                if batch is None and not self._again:
                    check_ids(state, self._account)
                stream = self._name if batch is None else None
                add(change, self._account, n - rows.skipped, "", rows, batch, stream=stream)
                if batch is None:
                    state.streams[self._name] = max(charged, self._at + n)
        if rows.skipped and not self._warned:
            which = (
                f"{counted(charged, 'row')} of this stream"
                if ids is None
                else f"rows, from id {shown(next(iter(ids)))} on,"
            )
            remedy = _OTHER_ROWS if ids is None else ""
            warnings.warn(
                f"The first {which} were charged before, and are skipped: no row gets a second label. {remedy}"
                "To release them again, at a further charge: again=True.",
                ResumedStreamWarning,
                stacklevel=3,
            )
            self._warned = True
        self._goes_on = self._goes_on or rows.skipped < n
        self._at += n if batch is None else 0
        return rows.skipped

    def _charge_keyed(self, n: int, ids: Texts, tags: bytes) -> None:
        with closing(Batch(ids, tags)) as batch, self._ledger._store.changing() as change:
            charge(change, self._account, n, "", batch, again=False)

    def _passed(self, charged: int, n: int) -> Entered:
        """The treatment of n rows without ids, by the number of charged rows of the stream."""
        before = min(max(charged - self._at, 0), n)
        if self._again:
            return Entered(0, before)
        if charged != self._at and (self._goes_on or charged < self._at):
            raise InputError(
                f"{self._ledger.path} has charged for {counted(charged, 'row')} of the stream {self._name!r}, "
                "and this is row "
                f"{self._at}. Nothing of this block was released or charged. Let one process at a time read a stream, "
                "or name each stream."
            )
        return Entered(before, 0)

"""What mechanisms that answer 0 or 1 from rows of votes share: checked votes, streams, exact coins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import MAX_SIZE, plain, refusal, several_classes, shown, whole
from darrm.errors import InputError
from darrm.randomness.coins import Coins, WordSource
from darrm.randomness.words import word_source
from darrm.votes.files import VotesTable
from darrm.votes.rows import VotesBlock, numbers

if TYPE_CHECKING:
    from darrm.accounting.ledger import Ledger
    from darrm.design.decision import DecisionDesign
    from darrm.design.design import Design

_CHUNK = 1 << 16
_KINDS = "biuf"


class ReleasedVotes:
    """A mechanism that reads a row of K votes as one of finitely many cases and flips the exact coin of that case.

    Parameters
    ----------
    design : Design or DecisionDesign
    biases : list of Fraction
        Pr[answer 1] of each case.
    ones : sequence of int, length K
        By how much a vote for 1 in each column raises the number of the case.
    present : sequence of int, length K, optional
        By how much a vote that is there raises it. If given, votes may be absent: -1.
    """

    def __init__(
        self,
        design: Design | DecisionDesign,
        biases: list[Fraction],
        ones: Sequence[int],
        present: Sequence[int] | None = None,
    ) -> None:
        self._released_by, self._coins = design, Coins(biases)
        self._ones = np.array(ones, dtype=np.int64)
        self._present = None if present is None else np.array(present, dtype=np.int64)

    def release(self, votes: ArrayLike, rng: np.random.Generator | None = None) -> NDArray[np.uint8]:
        """One private label for each row of votes.

        Parameters
        ----------
        votes : array_like, shape (n, K) or (K,), values 0 and 1 (integers, booleans or floats)
            Columns in the order of the design's groups; -1 for an absent voter where voters may be absent.
        rng : numpy.random.Generator, optional
            For tests only: the labels can then be predicted, which a `NotPrivateWarning` says. Without it, all
            randomness comes from the operating system.

        Returns
        -------
        ndarray of uint8, shape (n,); for one row of votes one uint8

        Raises
        ------
        InputError
            If the shape is wrong or a vote is not 0 or 1.
        """
        rows = _array(votes, self._ones.size)
        if rows.shape == (self._ones.size,):
            label: Any = self._flip(self._cases(rows[np.newaxis]), word_source(rng, stacklevel=3))[0]
            return label  # type: ignore[no-any-return]  # a label, as numpy's functions give for one row
        return self._flip(self._cases(rows), word_source(rng, stacklevel=3))

    def release_blocks(
        self,
        blocks: Iterable[ArrayLike],
        *,
        ledger: Ledger | None = None,
        rows: int = _CHUNK,
        rng: np.random.Generator | None = None,
    ) -> Iterator[NDArray[np.uint8]]:
        """Private labels for a stream of votes, in memory that does not grow with it.

        Parameters
        ----------
        blocks : iterable of array_like
            Each of shape (n, K), values as for `release`; or of shape (K,), one row. Rows that come one by one are
            gathered; to have a label at once, pass them as [row].
        ledger : Ledger, optional
            Is charged for each block before its labels are given. A charge takes some milliseconds, however large
            the block.
        rows : int, default 65536
            How many single rows make a block.
        rng : numpy.random.Generator, optional
            As in `release`.

        Yields
        ------
        ndarray of uint8, shape (n,)
            The labels of each block, in order.

        Raises
        ------
        InputError
            If a block has another shape or a vote is not 0 or 1; rows are counted from 0 over the whole stream.
        BudgetError
            If the ledger does not pay for a block.

        Notes
        -----
        When an error ends the stream, its own or one of ``blocks``, nothing of the block at hand, nor of rows that
        were being gathered, is charged or released; labels given before stay given and charged.
        """
        budget = None
        if ledger is not None:
            from darrm.accounting.budgets import LedgerBudget

            budget = LedgerBudget(ledger, self._released_by)
        if not isinstance(blocks, Iterable):
            raise refusal("blocks", "an iterable of arrays of votes", blocks)
        rows = whole("rows", rows, high=MAX_SIZE)
        draw = word_source(rng, stacklevel=3)

        def released() -> Iterator[NDArray[np.uint8]]:
            for cases in self._gathered(blocks, rows):
                if budget is not None and cases.size:
                    budget.charge(cases.size)
                yield self._flip(cases, draw)

        return released()

    def _cases(self, votes: ArrayLike, row: int = 0) -> NDArray[np.intp]:
        """The case of each row; errors count rows from ``row``."""
        K = self._ones.size
        array = _array(votes, K)
        after = f" after row {row - 1}" if row else ""
        if array.ndim != 2 or array.shape[1] != K:
            raise InputError(
                f"votes must have shape (n, K) = (n, {K}), one row a query, or ({K},). Got {array.shape}{after}."
            )
        if array.dtype.kind not in _KINDS:
            raise InputError(f"votes must be numbers 0 and 1. Got dtype {array.dtype}{after}.")
        cases = np.empty(len(array), dtype=np.intp)
        for start in range(0, len(array), _CHUNK):
            chunk = numbers(array[start : start + _CHUNK])
            ones = chunk == 1
            known = ones | (chunk == 0)
            fine = known if self._present is None else known | (chunk == -1)
            if not fine.all():
                i, j = np.argwhere(~fine)[0]
                allowed = "0 or 1" if self._present is None else "0, 1 or, for an absent voter, -1"
                vote = chunk[i, j].item()
                raise InputError(
                    f"A vote must be {allowed}. Got {shown(vote)} in row {row + start + i}, column {j}."
                    f"{several_classes(vote)}"
                )
            cases[start : start + _CHUNK] = self._case_of(ones, known)
        return cases

    def _case_of(self, ones: NDArray[np.bool_], present: NDArray[np.bool_]) -> NDArray[np.intp]:
        if self._present is None and np.all(self._ones == 1):
            return np.asarray(np.count_nonzero(ones, axis=1), dtype=np.intp)
        cases = np.asarray(ones @ self._ones, dtype=np.intp)
        return cases if self._present is None else cases + np.asarray(present @ self._present, dtype=np.intp)

    def _gathered(self, blocks: Iterable[ArrayLike], rows: int) -> Iterator[NDArray[np.intp]]:
        """The cases of the rows of each block, single rows gathered; a fault comes before what it follows."""
        K = self._ones.size
        single: list[NDArray[Any]] = []
        start = 0
        for block in blocks:
            array = _array(block, K)
            is_row = array.shape == (K,) and array.dtype.kind in _KINDS
            if is_row:
                # The next row may come in the same memory; truth values may be other bytes than 0 and 1.
                single.append((array.view(np.uint8) if array.dtype == np.bool_ else array).copy())
                if len(single) < rows:
                    continue
            cases = []
            if single:
                cases.append(self._cases(np.stack(single), start))
                start += len(single)
                single = []
            if not is_row:  # before the rows gathered so far are given: if this fails, they are not
                cases.append(self._cases(array, start))
                start += len(array)
            yield from cases
        if single:
            yield self._cases(np.stack(single), start)

    def _flip(self, cases: NDArray[np.intp], draw: WordSource) -> NDArray[np.uint8]:
        labels = np.empty(cases.size, dtype=np.uint8)
        for start in range(0, cases.size, _CHUNK):
            labels[start : start + _CHUNK] = self._coins.flip(cases[start : start + _CHUNK], draw)
        return labels


def _array(votes: ArrayLike, K: int) -> NDArray[Any]:
    if type(votes) is np.ndarray:  # rows of a stream come by the million
        return votes
    if isinstance(votes, VotesTable | VotesBlock):
        raise InputError(f"votes must be an array. Got a {type(votes).__name__}: pass its .votes.")
    return plain("votes", votes, f"rows of one length, shape (n, K) = (n, {K})")

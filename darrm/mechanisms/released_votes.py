"""What mechanisms that answer from rows of votes share: checked votes, streams, charges before labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import MAX_SIZE, plain, refusal, whole
from darrm.errors import InputError
from darrm.mechanisms.class_labels import Labels
from darrm.randomness.coins import WordSource
from darrm.randomness.words import word_source
from darrm.votes.files import VotesTable
from darrm.votes.rows import VotesBlock, numbers

if TYPE_CHECKING:
    from darrm.accounting.ledger import Ledger
    from darrm.design.decision import DecisionDesign
    from darrm.design.design import Design

_CHUNK = 1 << 16
_KINDS = "biuf"


class Sampler(Protocol):
    """Turns rows of K votes into labels, in two steps: votes are checked before they are paid for.

    Attributes
    ----------
    K : int
    said : str
        What votes must be, in words.
    """

    K: int
    said: str

    def cases(self, votes: NDArray[Any], row: int) -> NDArray[Any]:
        """What labels are drawn from, for rows of numbers, shape (n, K) to (n, ...); errors count rows from ``row``."""

    def labels(self, cases: NDArray[Any], draw: WordSource) -> Labels:
        """One label for each case, shape (n,)."""


class ReleasedVotes:
    """A mechanism that releases a label for each row of K votes.

    Parameters
    ----------
    design : Design or DecisionDesign
    sampler : Sampler
    """

    def __init__(self, design: Design | DecisionDesign, sampler: Sampler) -> None:
        self._released_by, self._sampler = design, sampler

    def release(self, votes: ArrayLike, rng: np.random.Generator | None = None) -> Labels:
        """One private label for each row of votes.

        Parameters
        ----------
        votes : array_like, shape (n, K) or (K,), values 0 and 1 (integers, booleans or floats)
            Columns in the order of the design's groups; -1 for an absent voter where voters may be absent. For C
            classes the values are 0, ..., C - 1.
        rng : numpy.random.Generator, optional
            For tests only: the labels can then be predicted, which a `NotPrivateWarning` says. Without it, all
            randomness comes from the operating system.

        Returns
        -------
        ndarray of uint8, shape (n,); for one row of votes one uint8
            Of uint16 for more than 256 answers. The further answer "none" is C.

        Raises
        ------
        InputError
            If the shape is wrong or a vote is none of these.
        """
        rows = _array(votes, self._sampler.K)
        if rows.shape == (self._sampler.K,):
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
    ) -> Iterator[Labels]:
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
        ndarray of uint8 or uint16, shape (n,)
            The labels of each block, in order.

        Raises
        ------
        InputError
            If a block has another shape or a vote is none; rows are counted from 0 over the whole stream.
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

        def released() -> Iterator[Labels]:
            for cases in self._gathered(blocks, rows):
                if budget is not None and len(cases):
                    budget.charge(len(cases))
                yield self._flip(cases, draw)

        return released()

    def _cases(self, votes: ArrayLike, row: int = 0) -> NDArray[Any]:
        """The case of each row; errors count rows from ``row``."""
        K = self._sampler.K
        array = _array(votes, K)
        after = f" after row {row - 1}" if row else ""
        if array.ndim != 2 or array.shape[1] != K:
            raise InputError(
                f"votes must have shape (n, K) = (n, {K}), one row a query, or ({K},). Got {array.shape}{after}."
            )
        if array.dtype.kind not in _KINDS:
            raise InputError(f"votes must be {self._sampler.said}. Got dtype {array.dtype}{after}.")
        return _by_chunks(
            lambda start: self._sampler.cases(numbers(array[start : start + _CHUNK]), row + start), len(array)
        )

    def _gathered(self, blocks: Iterable[ArrayLike], rows: int) -> Iterator[NDArray[Any]]:
        """The cases of the rows of each block, single rows gathered; a fault comes before what it follows."""
        K = self._sampler.K
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

    def _flip(self, cases: NDArray[Any], draw: WordSource) -> Labels:
        return _by_chunks(lambda start: self._sampler.labels(cases[start : start + _CHUNK], draw), len(cases))


def _by_chunks(made: Callable[[int], NDArray[Any]], n: int) -> NDArray[Any]:
    """What is made of n rows, so many at a time that they stay in the cache: from 0 on, and from later starts."""
    first = made(0)
    if n <= _CHUNK:
        return first
    whole = np.empty((n, *first.shape[1:]), dtype=first.dtype)
    whole[:_CHUNK] = first
    for start in range(_CHUNK, n, _CHUNK):
        whole[start : start + _CHUNK] = made(start)
    return whole


def _array(votes: ArrayLike, K: int) -> NDArray[Any]:
    if type(votes) is np.ndarray:  # rows of a stream come by the million
        return votes
    if isinstance(votes, VotesTable | VotesBlock):
        raise InputError(f"votes must be an array. Got a {type(votes).__name__}: pass its .votes.")
    if isinstance(votes, str | os.PathLike):
        raise InputError(f"votes must be an array. Got {str(votes)!r:.80}: read a file with darrm.votes.read.")
    array = plain("votes", votes, f"rows of one length, shape (n, K) = (n, {K})")
    if hasattr(votes, "columns") and (array.shape[1:] != (K,) or array.dtype.kind not in _KINDS):
        raise InputError(
            f"votes must be {K} columns of numbers. Got a data frame of shape {array.shape}, dtype {array.dtype}: pass "
            "it to darrm.columns.release, which leaves out id and label and takes names of classes."
        )
    return array

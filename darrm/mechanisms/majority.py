"""Releasing the majority of private votes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import MAX_SIZE, array, plain, refusal, whole
from darrm.design.design import Design
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.randomness.coins import Coins, WordSource
from darrm.randomness.words import word_source
from darrm.votes.files import VotesTable
from darrm.votes.rows import VotesBlock, numbers

if TYPE_CHECKING:
    from darrm.accounting.ledger import Ledger

_CHUNK = 1 << 16
_KINDS = "biuf"


class DaRRM:
    """Data-dependent randomized response on the majority (DaRRM).

        Pr[release 1 | l ones of K] = (1 + gamma(l)) / 2 for l > K/2,  (1 - gamma(l)) / 2 for l < K/2,  1/2 on a tie

    One release is (m epsilon, delta)-DP for the design's problem. What several releases cost depends on whether the
    voters are fresh (new coins make every answer private by themselves) or fixed (made private once, then they answer):
    for fixed voters the costs of single releases must not be added up. The same votes released twice are not fresh.

    Parameters
    ----------
    design : Design
        From `darrm.solve`, `darrm.load` or `darrm.Design`, which hold only verified noise functions.

    Notes
    -----
    Algorithm 1 of Jiang, Zhang, Joshi (TMLR 2024), with one exact coin in place of two: the bias of each coin is the
    rational number above, to the last bit (`darrm.randomness.coins`).
    """

    def __init__(self, design: Design) -> None:
        if not isinstance(design, Design):
            raise InputError(f"DaRRM takes a Design from darrm.solve or darrm.load. Got {type(design).__name__}.")
        self.design = design
        K = design.problem.K
        half = Fraction(1, 2)
        biases = [
            half + half * ((2 * l > K) - (2 * l < K)) * Fraction(value) for l, value in enumerate(design.gamma.tolist())
        ]
        self._coins = Coins(biases)

    def __repr__(self) -> str:
        return f"DaRRM({self.design!r})"

    def release(self, votes: ArrayLike, rng: np.random.Generator | None = None) -> NDArray[np.uint8]:
        """One private label for each row of votes.

        Parameters
        ----------
        votes : array_like, shape (n, K), values 0 and 1 (integers, booleans or floats)
        rng : numpy.random.Generator, optional
            For tests only: the labels can then be predicted, which a `NotPrivateWarning` says. Without it, all
            randomness comes from the operating system.

        Returns
        -------
        ndarray of uint8, shape (n,)

        Raises
        ------
        InputError
            If the shape is wrong or a vote is not 0 or 1.
        """
        counts = self._counts(votes)
        return self._flip(counts, word_source(rng, stacklevel=3))

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

            budget = LedgerBudget(ledger, self.design)
        if not isinstance(blocks, Iterable):
            raise refusal("blocks", "an iterable of arrays of votes", blocks)
        rows = whole("rows", rows, high=MAX_SIZE)
        draw = word_source(rng, stacklevel=3)

        def released() -> Iterator[NDArray[np.uint8]]:
            for counts in self._counted(blocks, rows):
                if budget is not None and counts.size:
                    budget.charge(counts.size)
                yield self._flip(counts, draw)

        return released()

    def release_counts(self, counts: ArrayLike, rng: np.random.Generator | None = None) -> NDArray[np.uint8]:
        """One private label for each number of ones.

        Parameters
        ----------
        counts : array_like of int, shape (n,), in [0, K]
        rng : numpy.random.Generator, optional
            As in `release`.

        Returns
        -------
        ndarray of uint8, shape (n,)

        Raises
        ------
        InputError
            If the shape is wrong or a count is not a whole number in [0, K].
        """
        K = self.design.problem.K
        ones = array("counts", counts, None, 0, K, "[]", wholes=True)
        if ones.ndim != 1:
            raise InputError(f"counts must be whole numbers of shape (n,). Got shape {ones.shape}.")
        return self._flip(ones.astype(np.intp), word_source(rng, stacklevel=3))

    def kernel(self, k: int) -> Array:
        """Pr[label = o | l ones], shape (K + 1, 2): [l, o]; ``k`` must be K."""
        problem = self.design.problem
        k = whole("k", k)
        if k != problem.K:
            raise InputError(f"k must be K: eta has one value for each of K = {problem.K} voters. Got {k}.")
        l = np.arange(k + 1)
        tilt = np.sign(2 * l - k) * self.design.gamma
        return np.stack([1 - tilt, 1 + tilt], axis=1) / 2

    def _counts(self, votes: ArrayLike, row: int = 0) -> NDArray[np.int32]:
        """How many ones each row has; errors count rows from ``row``."""
        K = self.design.problem.K
        array = _array(votes, K)
        after = f" after row {row - 1}" if row else ""
        hint = f" For one query pass [votes], of shape (1, {K})." if array.shape == (K,) else ""
        if array.ndim != 2 or array.shape[1] != K:
            raise InputError(
                f"votes must have shape (n, K) = (n, {K}), one row a query. Got {array.shape}{after}.{hint}"
            )
        if array.dtype.kind not in _KINDS:
            raise InputError(f"votes must be numbers 0 and 1. Got dtype {array.dtype}{after}.")
        counts = np.empty(len(array), dtype=np.int32)
        for start in range(0, len(array), _CHUNK):
            chunk = numbers(array[start : start + _CHUNK])
            binary = (chunk == 0) | (chunk == 1)
            if not binary.all():
                i, j = np.argwhere(~binary)[0]
                raise InputError(
                    f"A vote must be 0 or 1. Got {chunk[i, j].item()!r} in row {row + start + i}, column {j}."
                )
            counts[start : start + _CHUNK] = np.count_nonzero(chunk, axis=1)
        return counts

    def _counted(self, blocks: Iterable[ArrayLike], rows: int) -> Iterator[NDArray[np.int32]]:
        """How many ones the rows of each block have, single rows gathered; a fault comes before what it follows."""
        K = self.design.problem.K
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
            counted = []
            if single:
                counted.append(self._counts(np.stack(single), start))
                start += len(single)
                single = []
            if not is_row:  # before the rows gathered so far are given: if this fails, they are not
                counted.append(self._counts(array, start))
                start += len(array)
            yield from counted
        if single:
            yield self._counts(np.stack(single), start)

    def _flip(self, counts: NDArray[np.integer], draw: WordSource) -> NDArray[np.uint8]:
        labels = np.empty(counts.size, dtype=np.uint8)
        for start in range(0, counts.size, _CHUNK):
            chunk = counts[start : start + _CHUNK].astype(np.intp)
            labels[start : start + _CHUNK] = self._coins.flip(chunk, draw)
        return labels


def _array(votes: ArrayLike, K: int) -> NDArray[Any]:
    if type(votes) is np.ndarray:  # rows of a stream come by the million
        return votes
    if isinstance(votes, VotesTable | VotesBlock):
        raise InputError(f"votes must be an array. Got a {type(votes).__name__}: pass its .votes.")
    return plain("votes", votes, f"rows of one length, shape (n, K) = (n, {K})")

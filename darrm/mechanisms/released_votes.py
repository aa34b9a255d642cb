"""The base of mechanisms for rows of votes: checked votes, streams, charges before labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import MAX_SIZE, plain, refusal, shown, whole
from darrm.errors import InputError
from darrm.mechanisms.class_labels import Labels
from darrm.mechanisms.label_key import NO_IDS, Key, LabelKey, keyed, keyed_words, law_of
from darrm.mechanisms.own_votes import OwnVotes
from darrm.problem.voter_names import compared
from darrm.randomness.coins import WordSource, of_rows
from darrm.randomness.keyed import KeyedWords
from darrm.randomness.words import word_source
from darrm.votes.files import VotesTable
from darrm.votes.ids import SeenIds
from darrm.votes.names_above import check_frame
from darrm.votes.rows import Texts, VotesBlock, numbers

if TYPE_CHECKING:
    from darrm.accounting.ledger import Ledger
    from darrm.design.design import Design

_CHUNK = 1 << 16
# From a number of rows, their ids and, by a key, their tags to the number of first rows to skip.
Charge = Callable[..., int]
_KINDS = "biuf"
_NAMES_OF = ("columns", "keys", "_fields", "__fields__")  # frames; series, mappings; named tuples; rows of Spark


class Sampler(Protocol):
    """Draws labels for rows of K votes in two steps: votes are checked before they are charged.

    Attributes
    ----------
    K : int
    said : str
        The allowed votes, in words.
    """

    K: int
    said: str

    def cases(self, votes: NDArray[Any], row: int) -> NDArray[Any]:
        """The cases of rows of numbers, shape (n, K) to (n, ...), to draw labels from; errors count from ``row``."""

    def law(self, cases: NDArray[Any]) -> NDArray[np.int64]:
        """What the probabilities of each label depend on, shape (n, k)."""

    def labels(self, cases: NDArray[Any], draw: WordSource) -> Labels:
        """One label for each case, shape (n,)."""


class ReleasedVotes:
    """A mechanism that releases a label for each row of K votes.

    Parameters
    ----------
    design : Design
    sampler : Sampler
    """

    def __init__(self, design: Design, sampler: Sampler) -> None:
        self._released_by, self._sampler = design, sampler
        self._law_digest: bytes | None = None
        self._named = getattr(design.problem, "voters", None) is not None

    def release(
        self,
        votes: ArrayLike,
        rng: np.random.Generator | None = None,
        *,
        public: bool = False,
        key: Key | None = None,
        ids: Iterable[str] | None = None,
    ) -> Labels:
        """One private label for each row of votes.

        Parameters
        ----------
        votes : array_like, shape (n, K) or (K,), values 0 and 1 (integers, booleans or floats)
            Columns in the order of the design's groups: an array has no names, so the order of columns cannot be
            checked. If the design's voters have names, a frame or a row with names is refused. -1 for an absent voter
            where voters may be absent. For C classes the values are 0, ..., C - 1.
        rng : numpy.random.Generator, optional
            For tests only: the labels can then be predicted, which a `NotPrivateWarning` says. Without it, all
            randomness comes from the operating system.
        public : bool
            Whether the votes behind the prior of the design are public, if it was read from votes: `priors.votes`.
        key : LabelKey or path, optional
            Compute the randomness of each row from this key and its id, so that the same row has the same label in
            every call. The guarantee is then computational and rests on the key, which must be as secret as the votes;
            an id must stand for one row of votes: see `LabelKey`.
        ids : iterable of str, optional
            With a key, one for each row.

        Returns
        -------
        ndarray of uint8, shape (n,); for one row of votes one uint8
            Of uint16 for more than 256 answers. The further answer "none" is C.

        Raises
        ------
        InputError
            If the shape is wrong or a vote has another value; if these may be the votes that the prior was read from,
            by the numbers of ones, unless ``public``. If a key comes without ids, or an id is there twice.

        Notes
        -----
        That error depends on the votes. Do not publish that it occurred, and do not change the rows to avoid it: solve
        again with a prior from elsewhere. It cannot occur where ``public`` is true or the prior was not read from
        votes.
        """
        rows = _array(votes, self._sampler.K, named=self._named)
        row = rows.shape == (self._sampler.K,)
        cases = self._cases(rows[np.newaxis] if row else rows)
        OwnVotes(self._released_by, public).add_cases(cases)
        labels = self._flip(cases, self._source(rng, key, ids, lambda: self._of_law(cases)))
        label: Any = labels[0] if row else labels
        return label  # type: ignore[no-any-return]  # a label, as numpy's functions give for one row

    def release_blocks(
        self,
        blocks: Iterable[ArrayLike | VotesBlock],
        *,
        ledger: Ledger | None = None,
        stream: str = "",
        again: bool = False,
        rows: int = _CHUNK,
        rng: np.random.Generator | None = None,
        public: bool = False,
        key: Key | None = None,
    ) -> Iterator[Labels]:
        """Private labels for a stream of votes, in memory that does not grow with it.

        Parameters
        ----------
        blocks : iterable of array_like
            Each of shape (n, K), values as for `release`; or of shape (K,), one row. Rows that come one by one are
            gathered; to have a label at once, pass them as [row]. Or `darrm.votes.VotesBlock`, as `darrm.votes.blocks`
            reads them, with the ids of their rows.
        ledger : Ledger, optional
            Charged for each block before its labels are yielded. A charge takes some milliseconds for any size of
            block. The ledger records the charged rows, by ids or, where there are none, by the number of rows of the
            stream. If these rows come first again, as when a stream is restarted, they are read and skipped, with a
            `darrm.errors.ResumedStreamWarning`. The stream must yield them in the same order, but may divide them into
            other blocks.
        stream : str
            The name of the stream, for rows without ids. Other rows charged to the same ledger need another name.
        again : bool
            Whether to charge and release rows again that were charged before, as in `Ledger.charge`.
        rows : int, default 65536
            Number of single rows in a block.
        rng : numpy.random.Generator, optional
        public : bool
            As in `release`.
        key : LabelKey or path, optional
            As in `release`; the blocks must have ids. Nothing is skipped then: a row that the ledger charged before,
            with this key and these votes, has the same label again, at no charge. If its id was charged otherwise, the
            block is refused.

        Yields
        ------
        ndarray of uint8 or uint16, shape (n,)
            The labels of each block, in order, without skipped rows; nothing for a block whose rows are all skipped.

        Raises
        ------
        InputError
            If a block has another shape or a vote is invalid; rows are counted from 0 over the whole stream. If an id
            was charged before and comes after a row that was not, or the ledger charged meanwhile for this stream. At
            the block after which the rows so far have the histogram of the prior, see `release`; labels of earlier
            blocks are released by then.
        BudgetError
            If the budget of the ledger does not cover a block.

        Notes
        -----
        When an error ends the stream, its own or one of ``blocks``, nothing of the current block, nor of rows being
        gathered, is charged or released; labels yielded before stay released and charged. A block is charged before it
        is yielded: if the process ends between the two, its labels are lost, and stay charged.
        """
        charge: Charge = _free
        if ledger is not None:
            from darrm.accounting.streams import Stream

            charge = Stream(ledger, self._released_by, stream, again).charge
        if not isinstance(blocks, Iterable):
            raise refusal("blocks", "an iterable of arrays of votes", blocks)
        rows = whole("rows", rows, high=MAX_SIZE)
        if key is not None:
            return self._by_key(blocks, charge, rows, keyed(key, rng, again), public)
        return self._charged(blocks, charge, rows, word_source(rng, stacklevel=3), public)

    def _charged(
        self,
        blocks: Iterable[ArrayLike | VotesBlock],
        charge: Charge,
        rows: int,
        draw: WordSource,
        public: bool,
    ) -> Iterator[Labels]:
        """The labels of each block, checked before it is charged, charged before its labels are drawn."""
        own = OwnVotes(self._released_by, public)

        def released() -> Iterator[Labels]:
            for cases, ids in self._gathered(blocks, rows):
                own.add_cases(cases)
                left_out = charge(len(cases), ids) if len(cases) else 0
                if left_out < len(cases) or not len(cases):
                    yield self._flip(cases[left_out:], draw)

        return released()

    def _by_key(
        self,
        blocks: Iterable[ArrayLike | VotesBlock],
        charge: Charge,
        rows: int,
        key: LabelKey,
        public: bool,
    ) -> Iterator[Labels]:
        """`_charged` with the randomness of a key, without skipped rows."""
        own, seen = OwnVotes(self._released_by, public), SeenIds("The stream", 0)

        def released() -> Iterator[Labels]:
            for cases, ids in self._gathered(blocks, rows):
                own.add_cases(cases)
                if ids is None:
                    raise InputError(NO_IDS)
                seen.add(ids)
                words = key._rows(self._law_bytes(), self._of_law(cases), ids)
                if len(cases):
                    charge(len(cases), ids, words.tags)
                yield self._flip(cases, KeyedWords(words))

        return released()

    def _labels_and_tags(self, votes: ArrayLike, ids: Texts, key: LabelKey) -> tuple[Labels, bytes]:
        """The labels of rows by a key, and the tags by which a ledger knows the rows."""
        cases = self._cases(votes)
        words = key._rows(self._law_bytes(), self._of_law(cases), ids)
        return self._flip(cases, KeyedWords(words)), words.tags

    def _source(
        self,
        rng: np.random.Generator | None,
        key: Key | None,
        ids: Iterable[str] | None,
        law: Callable[[], NDArray[np.int64]],
    ) -> WordSource:
        """The words of a public method, by a key those of rows whose probabilities depend on what ``law`` returns."""
        if key is None and ids is None:
            return word_source(rng, stacklevel=4)
        return keyed_words(key, ids, rng, self._law_bytes(), law())

    def _law_bytes(self) -> bytes:
        """What stands for the design where randomness is computed from a key."""
        if self._law_digest is None:
            from darrm.accounting.accounts import Labels as Account

            design = self._released_by
            alone = [chance.hex() for chance in design.answers_without_votes] if design.absent else []
            self._law_digest = law_of(["design", *Account.of(design).release, alone])
        return self._law_digest

    def _of_law(self, cases: NDArray[Any]) -> NDArray[np.int64]:
        return _by_chunks(lambda start: self._sampler.law(cases[start : start + _CHUNK]), len(cases))

    def _cases(self, votes: ArrayLike, row: int = 0) -> NDArray[Any]:
        """The case of each row; errors count rows from ``row``."""
        K = self._sampler.K
        array = _array(votes, K, named=self._named)
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

    def _gathered(
        self, blocks: Iterable[ArrayLike | VotesBlock], rows: int
    ) -> Iterator[tuple[NDArray[Any], Texts | None]]:
        """Cases and ids of the rows of each block, single rows gathered; a fault comes before what it follows."""
        K = self._sampler.K
        single: list[NDArray[Any]] = []
        start = 0
        for block in blocks:
            ids = None
            if isinstance(block, VotesBlock):
                ids, block = block.ids if block.has_ids else None, self._of_file(block)
            array = _array(block, K, named=self._named)
            is_row = array.shape == (K,) and array.dtype.kind in _KINDS
            if is_row:
                # The next row may come in the same memory; truth values may be other bytes than 0 and 1.
                single.append(numbers(array).copy())
                if len(single) < rows:
                    continue
            cases: list[tuple[NDArray[Any], Texts | None]] = []
            if single:
                cases.append((self._cases(np.stack(single), start), None))
                start += len(single)
                single = []
            if not is_row:  # before the rows gathered so far are given: if this fails, they are not
                cases.append((self._cases(array, start), ids))
                start += len(array)
            yield from cases
        if single:
            yield self._cases(np.stack(single), start), None

    def _of_file(self, block: VotesBlock) -> NDArray[Any]:
        """The votes of a block, refused if they are not of the design's voters by name."""
        names = getattr(self._released_by.problem, "voters", None)
        if names is not None and tuple(map(compared, block.voters)) != tuple(names):
            raise InputError(
                "blocks must have the voters of the design, by name. Pass voters=design.problem.voters to "
                f"darrm.votes.blocks. Got {shown(list(block.voters))}."
            )
        return block.votes

    def _flip(self, cases: NDArray[Any], draw: WordSource) -> Labels:
        def part(start: int) -> Labels:
            rows = slice(start, start + _CHUNK)
            return self._sampler.labels(cases[rows], of_rows(draw, rows))

        return _by_chunks(part, len(cases))


def _free(n: int, ids: Texts | None, tags: bytes = b"") -> int:
    return 0


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


def _array(votes: ArrayLike | VotesTable | VotesBlock, K: int, *, named: bool) -> NDArray[Any]:
    if type(votes) is np.ndarray:  # rows of a stream come by the million
        return votes
    if isinstance(votes, VotesTable | VotesBlock):
        raise InputError(
            f"votes must be an array. Got a {type(votes).__name__}: pass its .votes"
            f"{', read with voters=design.problem.voters, so that its columns are in their order' * named}."
        )
    if isinstance(votes, str | os.PathLike):
        raise InputError(f"votes must be an array. Got {str(votes)!r:.80}: read a file with darrm.votes.read.")
    if named and _names_cells(votes):
        came = "a data frame" if hasattr(votes, "columns") else "rows whose cells have names"
        raise InputError(
            f"votes must be an array, columns in the order of the design's groups. Got {came}: pass a frame to "
            "darrm.columns.release, which takes columns by the names of the design's voters."
        )
    check_frame(votes)
    array = plain("votes", votes, f"rows of one length, shape (n, K) = (n, {K})")
    if hasattr(votes, "columns") and (array.shape[1:] != (K,) or array.dtype.kind not in _KINDS):
        raise InputError(
            f"votes must be {K} columns of numbers. Got a data frame of shape {array.shape}, dtype {array.dtype}: pass "
            "it to darrm.columns.release, which leaves out id and label and takes names of classes."
        )
    return array


def _names_cells(votes: object) -> bool:
    """Whether it says whose a vote is, which an array forgets: a frame, its rows, or rows of a database."""
    rows = votes if isinstance(votes, list | tuple) else ()
    return any(hasattr(part, names) for part in (votes, *rows) for names in _NAMES_OF)

"""Releases of streams: the labels of `release`, each block charged before it is given."""

import itertools
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from ledgers import recorded

import darrm
from darrm import votes
from darrm.accounting import Ledger
from darrm.randomness.words import NotPrivateWarning

DESIGN = darrm.solve(K=5, m=2, epsilon=0.01)
MECHANISM = darrm.mechanisms.DaRRM(DESIGN)
VOTES = np.random.default_rng(0).integers(0, 2, (1000, 5), dtype=np.uint8)


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    """A ledger of 20 labels."""
    return Ledger.create(
        tmp_path / "ledger.json", DESIGN, total_epsilon=0.4, total_delta=0.0, voters="fresh", rule="basic-filter"
    )


def charged(book: Ledger) -> int:
    """As the file says, without opening the ledger."""
    return recorded(book.path)


@pytest.mark.parametrize("sizes", [[1000], [1, 0, 999], [300, 300, 400], [100] * 10])
def test_blocks_get_the_labels_of_release(sizes: list[int]) -> None:
    blocks = np.split(VOTES, np.cumsum(sizes)[:-1])
    with pytest.warns(NotPrivateWarning, match="not private"):
        found = list(MECHANISM.release_blocks(blocks, rng=np.random.default_rng(5)))
    assert [len(labels) for labels in found] == sizes
    rng = np.random.default_rng(5)
    with pytest.warns(NotPrivateWarning):
        wanted = [MECHANISM.release(block, rng=rng) for block in blocks]
    for labels, one in zip(found, wanted, strict=True):
        assert labels.dtype == np.uint8
        np.testing.assert_array_equal(labels, one)


@pytest.mark.thorough
def test_labels_have_their_probabilities() -> None:
    """Coins of the operating system; a false alarm once in a million runs."""
    n = 200_000
    for l in range(6):
        side = (2 * l > 5) - (2 * l < 5)
        row = [1] * l + [0] * (5 - l)
        ones = sum(int(labels.sum()) for labels in MECHANISM.release_blocks([np.tile(row, (n // 8, 1))] * 8))
        one = (1 + side * DESIGN.gamma[l]) / 2
        assert scipy.stats.binomtest(ones, n, one).pvalue > 1e-6 / 6


def test_single_rows_are_gathered_in_order() -> None:
    sure = darrm.mechanisms.DaRRM(darrm.solve(K=5, m=1, epsilon=0.1, max_affected=1))
    majority = (VOTES.sum(axis=1) > 2).astype(np.uint8)
    found = list(sure.release_blocks(iter(VOTES), rows=300))
    assert [len(labels) for labels in found] == [300, 300, 300, 100]
    np.testing.assert_array_equal(np.concatenate(found), majority)
    mixed = [*VOTES[:2].tolist(), VOTES[2:9], VOTES[9].astype(bool), VOTES[10:11], tuple(VOTES[11])]
    found = list(sure.release_blocks(mixed))
    assert [len(labels) for labels in found] == [2, 7, 1, 1, 1]
    np.testing.assert_array_equal(np.concatenate(found), majority[:12])


def test_rows_may_all_come_in_one_buffer() -> None:
    sure = darrm.mechanisms.DaRRM(darrm.solve(K=5, m=1, epsilon=0.1, max_affected=1))

    def source() -> Iterator[Any]:
        buffer = np.empty(5, dtype=np.uint8)
        for row in VOTES:
            buffer[:] = row
            yield buffer

    found = np.concatenate(list(sure.release_blocks(source(), rows=300)))
    np.testing.assert_array_equal(found, VOTES.sum(axis=1) > 2)


def test_a_stream_is_not_read_ahead() -> None:
    read = []

    def source() -> Iterator[Any]:
        for i in range(5):
            read.append(i)
            yield VOTES[:10]

    labels = MECHANISM.release_blocks(source())
    assert read == []
    next(labels)
    assert read == [0]


@pytest.mark.thorough
def test_memory_does_not_grow_with_the_stream() -> None:
    peaks = []
    for n in (5, 500):
        tracemalloc.start()
        assert sum(len(one) for one in MECHANISM.release_blocks(VOTES for _ in range(n))) == 1000 * n
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ([[0, 1, 0, 1, 0], [0, 1, 2, 1, 0]], "Got 2 in row 13, column 2"),
        ([[0, 1, np.nan, 1, 0]], r"Got NaN \(not a number\) in row 12, column 2"),
        (np.zeros((3, 4)), r"shape \(n, K\) = \(n, 5\).* Got \(3, 4\) after row 11"),
        (np.zeros(6), r"Got \(6,\) after row 11"),
        ([[1, 0, 1, 0, 1], [1]], "rows of one length"),
        ([["1"] * 5], "numbers 0 and 1. Got dtype <U1 after row 11"),
        (["1"] * 5, "shape"),
        (1, "shape"),
        (None, "shape"),
    ],
)
def test_a_bad_block_ends_the_stream(book: Ledger, bad: Any, said: str) -> None:
    labels = MECHANISM.release_blocks([VOTES[:8], VOTES[:4], bad, VOTES[:1]], ledger=book)
    assert len(next(labels)) + len(next(labels)) == 12
    with pytest.raises(darrm.InputError, match=said) as error:
        next(labels)
    assert len(str(error.value).splitlines()) == 1
    assert charged(book) == 12
    assert list(labels) == []


def test_a_bad_row_among_gathered_ones(book: Ledger) -> None:
    labels = MECHANISM.release_blocks([[1, 0, 1, 0, 1]] * 4 + [[1, 0, 1, 0, 3]] + [[0] * 5], ledger=book, rows=3)
    assert len(next(labels)) == 3
    with pytest.raises(darrm.InputError, match="Got 3 in row 4, column 4"):
        next(labels)
    assert charged(book) == 3


@pytest.mark.parametrize("bad", [np.zeros((3, 4)), np.zeros(6), [[0, 1, 0, 1, 2]], [[1], [1, 0]], ["1"] * 5, None])
def test_a_bad_block_after_gathered_rows(book: Ledger, bad: Any) -> None:
    labels = MECHANISM.release_blocks([*VOTES[:4], VOTES[:2], *VOTES[:3], bad, VOTES[:1]], ledger=book)
    assert (len(next(labels)), charged(book)) == (4, 4)
    assert (len(next(labels)), charged(book)) == (2, 6)
    with pytest.raises(darrm.InputError, match=r"after row 8|in row 9|rows of one length"):
        next(labels)
    assert charged(book) == 6  # the three rows before it are neither charged nor released
    assert list(labels) == []


@pytest.mark.parametrize("sizes", [[3, 0, 5, 2], [1, 1, 1], [0, 1]])
def test_each_block_is_charged_before_it_is_given(book: Ledger, sizes: list[int]) -> None:
    given = 0
    for labels in MECHANISM.release_blocks([VOTES[:n] for n in sizes], ledger=book):
        given += len(labels)
        assert charged(book) == given
    assert given == sum(sizes)


def test_single_rows_are_charged(book: Ledger) -> None:
    for i, _ in enumerate(MECHANISM.release_blocks(iter(VOTES[:3]), ledger=book, rows=1)):
        assert charged(book) == i + 1
    assert charged(book) == 3


def test_the_charge_is_made_before_a_coin_is_drawn(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MECHANISM, "_flip", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        next(MECHANISM.release_blocks([VOTES[:3]], ledger=book))
    assert charged(book) == 3


def test_the_budget_ends_a_stream(book: Ledger) -> None:
    with pytest.raises(darrm.BudgetError, match="Nothing was released"):
        list(MECHANISM.release_blocks(itertools.repeat(VOTES[:6]), ledger=book))
    assert charged(book) == book.status()["released"] == 18
    given: list[Any] = []
    with pytest.raises(darrm.BudgetError):
        given.extend(MECHANISM.release_blocks(itertools.repeat(VOTES[:2]), ledger=book, stream="more"))
    assert [len(labels) for labels in given] == [2]
    assert charged(book) == 20


def test_a_reader_that_stops_has_what_was_charged(book: Ledger) -> None:
    labels = MECHANISM.release_blocks(itertools.repeat(VOTES[:3]), ledger=book)
    next(labels)
    next(labels)
    labels.close()  # type: ignore[attr-defined]
    assert charged(book) == 6


def test_a_source_that_fails(book: Ledger) -> None:
    def source() -> Iterator[Any]:
        yield VOTES[:4]
        yield VOTES[0]
        yield VOTES[1]
        raise ZeroDivisionError

    labels = MECHANISM.release_blocks(source(), ledger=book)
    assert len(next(labels)) == 4
    with pytest.raises(ZeroDivisionError):
        next(labels)
    assert charged(book) == 4  # the two gathered rows are neither charged nor released


def test_only_ledgers_are_charged_and_rows_are_counted() -> None:
    with pytest.raises(darrm.InputError, match="ledger must be a Ledger"):
        MECHANISM.release_blocks([VOTES], ledger="ledger.json")  # type: ignore[arg-type]
    for rows in (0, -1, 1.5, float("nan"), None):
        with pytest.raises(darrm.InputError, match="rows must be"):
            MECHANISM.release_blocks([VOTES], rows=rows)  # type: ignore[arg-type]


def test_no_generator_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(MECHANISM.release_blocks([VOTES]))


def test_tables_and_blocks_name_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("a,b,c,d,e\n1,1,1,0,0\n", encoding="utf-8")
    for given in (votes.read(path), next(votes.blocks(path))):
        with pytest.raises(darrm.InputError, match=r"Got a Votes\w+: pass its .votes"):
            MECHANISM.release(given)  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match=r"pass its .votes"):
        next(MECHANISM.release_blocks([votes.read(path)]))  # type: ignore[list-item]
    assert [len(labels) for labels in MECHANISM.release_blocks(votes.blocks(path))] == [1]


def test_gathered_truth_values_of_other_bytes_are_refused() -> None:
    odd = np.full(MECHANISM.design.problem.K, 2, dtype=np.uint8).view(bool)
    rows = [np.ones(MECHANISM.design.problem.K, dtype=np.int64), odd]
    with pytest.raises(darrm.InputError, match="0 or 1"):
        list(MECHANISM.release_blocks(rows))


def test_a_design_for_fixed_voters_is_no_stream_of_a_ledger_of_fresh_ones(book: Ledger) -> None:
    mechanism = darrm.mechanisms.DaRRM(DESIGN.for_plan("fixed"))
    with pytest.raises(darrm.InputError, match="planned for fixed voters"):
        next(mechanism.release_blocks([VOTES[:3]], ledger=book))
    assert charged(book) == 0
    with pytest.raises(darrm.InputError, match="planned for fixed voters"):
        book.remaining(mechanism.design)

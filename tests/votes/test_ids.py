"""Ids that come again are found, and no others."""

import os
import random
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import darrm
from darrm._validation import shown
from darrm.votes import csv, ids
from darrm.votes.ids import RowIds, SeenIds, as_compared, compared_id
from darrm.votes.rows import Texts

MADE: dict[str, Callable[[int], str]] = {
    "numbers": str,
    "numbers of one length": lambda i: f"query-{i:07}",
    "words of all lengths": lambda i: "x" * (i % 40) + str(i),
    "accents": lambda i: f"\u00e9{i}e\u0301",
    "blanks around": lambda i: f"{' ' * (i % 3)}{i}{' ' * (i % 2)}",
    "numbers in many ways": lambda i: ("", "+", "-", "00")[i % 4] + str(i // 12) + ("", ".0", ".")[i % 3],
    "no numbers, but nearly": lambda i: (
        ("", "v", "0x", "-")[i % 4] + str(i // 16) + ("-", ".5", "e0", ".0.0")[i // 4 % 4]
    ),
    "zero bytes": lambda i: "\0" * (i % 5) + "a" + "\0" * (i % 7) + str(i // 35),
}


def first_again(blocks: Sequence[Sequence[str]]) -> tuple[int, int, str] | None:
    """The rows, from 1, of the first id that came before."""
    seen: dict[str, int] = {}
    for row, text in enumerate((text for block in blocks for text in block), start=1):
        if compared_id(text) in seen:
            return seen[compared_id(text)], row, text
        seen[compared_id(text)] = row
    return None


@pytest.mark.thorough
@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("most", [20, 500, 10**6])
@pytest.mark.parametrize("ascending", [True, False])
def test_the_first_id_that_comes_again_is_named(
    monkeypatch: pytest.MonkeyPatch, kind: str, most: int, ascending: bool
) -> None:
    rng = random.Random(f"{kind}{most}{ascending}")
    monkeypatch.setattr(ids, "_ROWS", 32)
    made, found = MADE[kind], 0
    for _ in range(60):
        rows = [rng.randrange(most) for _ in range(rng.randrange(1, 200))]
        if ascending:
            rows = sorted(set(rows))
        if rng.random() < 0.8:
            rows[-1] = rng.choice(rows)
        texts = list(map(made, rows))
        cut = rng.randrange(len(texts) + 1)
        blocks = [texts[:cut], texts[cut : cut + 1], texts[cut + 1 :]]
        wanted, seen = first_again(blocks), SeenIds("votes.csv", first=1)
        if wanted is None:
            for block in blocks:
                seen.add(Texts.of(block))
            assert len(seen) == len(texts)
            continue
        found += 1
        one, two, text = wanted
        with pytest.raises(darrm.InputError) as error:  # noqa: PT012
            for block in blocks:
                seen.add(Texts.of(block))
        assert f"votes.csv has the id {shown(text)} twice, in rows {one} and {two}: its query" in str(error.value)
    assert found > 0


@pytest.mark.parametrize(
    ("texts", "one"),
    [
        (["7", "007", "7.0", "+7", "7.", "07.00", " 7 "], "7"),
        (["0", "-0", "00", "0.0", "-0.000"], "0"),
        (["-7", "-007.0"], "-7"),
        (["10", "010", "10.0"], "10"),
        (["12345678901234567890123", "12345678901234567890123.0"], "12345678901234567890123"),
    ],
)
def test_a_whole_number_is_one_id(texts: list[str], one: str) -> None:
    """Of floats, and of numbers that lost their zeros: as programs that read and write tables leave ids."""
    assert {compared_id(text) for text in texts} == {one}
    assert list(as_compared(Texts.of(["a", *texts, "b"]))) == ["a", *[one] * len(texts), "b"]
    seen = SeenIds("votes.csv", first=1)
    seen.add(Texts.of(["x", texts[0], "y"]))
    with pytest.raises(darrm.InputError, match=r"twice, in rows 2 and 5.* An integer is one id, however"):
        seen.add(Texts.of(["z", texts[-1]]))


@pytest.mark.parametrize(
    "text", ["7.5", ".0", "1.0.0", "v7", "007a", "0x7", "1e3", "--7", "+", "-", ".", "", "2024-01-01", "7 0", "\u0667"]
)
def test_other_ids_are_texts(text: str) -> None:
    assert compared_id(text) == text
    assert list(as_compared(Texts.of(["a", text, "0b"]))) == ["a", text, "0b"]
    assert list(as_compared(Texts.of([text]))) == [text]


@pytest.mark.parametrize("text", ["", " ", "\t", "\u00a0", " \u2003"])
@pytest.mark.parametrize("row", [0, 3])
def test_a_blank_id_is_none(text: str, row: int) -> None:
    texts = ["a", "b", "c", "d"]
    texts[row] = text
    seen = SeenIds("votes.csv", first=1)
    seen.add(Texts.of(["x"]))
    with pytest.raises(darrm.InputError, match=rf"votes\.csv, row {row + 2}, column id is empty"):
        seen.add(Texts.of(texts))


@pytest.mark.every
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,a,b\nx,1,0\ny,0,0\nx,1,1\n", "twice, in lines 2 and 4:"),
        ('\nsep=,\nid,a,b\nx,1,0\n\n"y\nz",0,0\n x,1,1\n', "twice, in lines 4 and 8:"),
        ("id,a,b\nx,1,0\n\ny,0,0\n,1,1\n", ", line 5, column id is empty"),
        ("id,a,b\nx,1,0\n\n3,0,0\n\u200b,1,1\n", ", line 5, column id is empty"),
    ],
)
@pytest.mark.parametrize("counted", [False, True])
def test_a_file_of_lines_is_told_of_by_its_lines(tmp_path: Path, text: str, said: str, *, counted: bool) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(darrm.InputError, match=said):
        darrm.votes.read_counts(path, ["a", "b"]) if counted else darrm.votes.read(path)


def test_a_pipe_cannot_be_read_again(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "votes")
    assert csv.lines_of(tmp_path / "votes", [1, 3]) is None


def test_different_ids_of_one_slot_are_not_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """All ids share half of their digest, and so all slots."""
    made = ids._digests

    def halved(texts: Texts, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        one, two, _ = made(texts, keys)
        return np.zeros_like(one), two, False

    monkeypatch.setattr(ids, "_digests", halved)
    seen = SeenIds("votes.csv", first=1)
    for start in range(0, 300, 60):
        seen.add(Texts.numbers(start, 60))
    with pytest.raises(darrm.InputError, match=r"the id '77' twice, in rows 78 and 301"):
        seen.add(Texts.of(["77"]))


@pytest.mark.thorough
def test_memory_is_some_tens_of_bytes_an_id() -> None:
    n, step = 400_000, 50_000
    for shuffled in (False, True):
        seen = SeenIds("votes.csv", first=1)
        tracemalloc.start()
        for start in range(0, n, step):
            seen.add(Texts.numbers(n - start if shuffled else start, step if start < n - step else step - 1))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < (100 if shuffled else 60) * n


def test_rows_without_ids_are_numbered() -> None:
    names = RowIds("votes.csv", 1)
    for start in (1, 4):
        made, has_ids = names.of(None, 3, index=False)
        assert (list(made), has_ids) == ([str(start + i) for i in range(3)], False)


def test_whole_numbers_of_an_index_are_no_ids() -> None:
    names = RowIds("votes.csv", 1)
    for _ in range(2):
        made, has_ids = names.of(Texts.of(["3", "1"]), 2, index=True)
        assert (list(made), has_ids) == (["3", "1"], False)
    with pytest.raises(darrm.InputError, match=r"integers in some rows, and texts in others, .* change in row 5"):
        names.of(Texts.of(["a"]), 1, index=True)
    assert RowIds("votes.csv", 1).of(Texts.of(["a"]), 1, index=True)[1]

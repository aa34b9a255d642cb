"""Votes counted for each class."""

from typing import Any

import numpy as np
import pytest

import darrm
from darrm.votes import tally


@pytest.mark.parametrize("kind", ["int64", "uint8", "int8", "float32", "float64"])
@pytest.mark.parametrize("classes", [2, 3, 11, 100])
def test_counts_are_those_of_each_row(monkeypatch: pytest.MonkeyPatch, classes: int, kind: str) -> None:
    monkeypatch.setattr(tally, "_CELLS", 500)  # several parts, the last of another size
    votes = np.random.default_rng(classes).integers(0, classes, (203, 7))
    wanted = [[row.count(c) for c in range(classes)] for row in votes.tolist()]
    made = darrm.votes.counts(votes.astype(kind), classes)
    assert (made.dtype, made.tolist()) == (np.int64, wanted)
    assert darrm.votes.counts(votes[0].astype(kind), classes).tolist() == wanted[0]
    assert darrm.votes.counts(votes.tolist(), classes).tolist() == wanted
    assert darrm.votes.counts(votes[:0], classes).shape == (0, classes)


def test_booleans_are_two_classes() -> None:
    assert darrm.votes.counts([[True, False, True]], 2).tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("votes", "classes", "said"),
    [
        ([[0, 1], [1, 3]], 3, r"integer from 0 to 2\. Got 3 in row 1, column 1\."),
        ([[0, 2]], 2, r"must be 0 or 1\. Got 2 in row 0, column 1\."),
        ([[0, -1]], 3, r"Got -1 in row 0, column 1\. A voter without an answer needs a class of its own here"),
        ([[0, float("nan")]], 3, r"Got NaN .* needs a class of its own"),
        ([[0, 0.5]], 3, r"Got 0\.5 in row 0, column 1"),
        (np.array([[2, 1]], dtype=np.uint8).view(bool), 2, "Got 2 in row 0, column 0"),
        ([["a", "b"]], 2, "numbers 0 and 1. Got dtype <U1"),
        ([[[0]]], 2, r"shape \(n, K\).* Got \(1, 1, 1\)"),
        ([[]], 2, r"Got \(1, 0\)"),
        (1, 2, r"Got \(\)"),
        ([[0, 1], [0]], 2, "rows of one length"),
        ([[0, 1]], 1, "classes must be an integer"),
        ([[0, 1]], "ab", "classes must be an integer"),
        (np.ma.array([[0, 1]], mask=[[True, False]]), 2, "masked"),
    ],
)
def test_what_cannot_be_counted(votes: Any, classes: Any, said: str) -> None:
    with pytest.raises(darrm.InputError, match=said):
        darrm.votes.counts(votes, classes)


def test_a_table_of_a_file_is_asked_for_its_votes() -> None:
    with pytest.raises(darrm.InputError, match=r"Got a VotesTable: pass its \.votes"):
        darrm.votes.counts(darrm.votes.example("fresh_t3"), 2)  # type: ignore[arg-type]


def test_counts_are_what_noisy_max_takes() -> None:
    votes = np.tile([2, 2, 2, 2, 2, 0], (50, 1))
    assert darrm.mechanisms.GaussianNoisyMax(0.1).release(darrm.votes.counts(votes, 3)).tolist() == [2] * 50

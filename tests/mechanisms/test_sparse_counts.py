"""Counts of the classes that have votes, among many: labels of the same law as from counts of all classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.stats

import darrm
from darrm.mechanisms import (
    ConfidentNoisyMax,
    ExponentialMechanism,
    GaussianNoisyMax,
    LaplaceNoisyMax,
    PermuteAndFlip,
    noisy_max,
)
from darrm.mechanisms.noisy_max import NoisyMax

KINDS: list[NoisyMax] = [GaussianNoisyMax(2.0), LaplaceNoisyMax(0.4), PermuteAndFlip(0.8), ExponentialMechanism(1.0)]
RARE = 1e-6


@pytest.mark.parametrize("counts", [[0, 3, 0, 1, 0, 0], [2, 0, 0, 2, 0, 1], [1, 1, 1, 1, 1, 1], [5, 0]], ids=repr)
@pytest.mark.parametrize("mechanism", KINDS, ids=repr)
def test_labels_have_the_chances_of_all_counts(mechanism: NoisyMax, counts: list[int]) -> None:
    runs = 30_000
    with pytest.warns(darrm.randomness.words.NotPrivateWarning):
        labels = mechanism.release(scipy.sparse.csr_array(np.tile(counts, (runs, 1))), rng=np.random.default_rng(1))
    seen, law = np.bincount(labels, minlength=len(counts)), mechanism.chances([counts])[0]
    assert scipy.stats.chisquare(seen, law * runs / law.sum()).pvalue > RARE


@pytest.mark.thorough
def test_rows_of_many_kinds_at_once_and_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each label is from its own row, in whatever order and however many classes have votes."""
    monkeypatch.setattr(noisy_max, "_AT_ONCE", 100)
    rng = np.random.default_rng(2)
    votes = np.sort(rng.integers(0, 40, (500, 6)), axis=1)
    votes[:, 3:] = votes[:, :1]  # at least four of six for the first
    counts = darrm.votes.counts(votes, 40, sparse=True)
    assert len(set(np.diff(counts.indptr).tolist())) > 2
    for mechanism in (GaussianNoisyMax(1e-3), PermuteAndFlip(1e4), LaplaceNoisyMax(1e4)):
        assert mechanism.release(counts).tolist() == votes[:, 0].tolist()
    confident = ConfidentNoisyMax(3.5, 1e-3, 1e-3)
    assert confident.release(counts).tolist() == votes[:, 0].tolist()
    assert set(ConfidentNoisyMax(6.5, 1e-3, 1e-3).release(counts).tolist()) == {40}


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", KINDS, ids=repr)
def test_any_class_without_votes_may_win(mechanism: NoisyMax) -> None:
    """A vote less than any noise: all 12 classes alike, two of which have votes; and rows without any votes."""
    alike: Any = {"sigma": 1e9, "gamma": 1e-9, "epsilon": 1e-9}[mechanism._parameters[0]]
    for row in ([0] * 4 + [1, 0, 0, 2] + [0] * 4, [0] * 12):
        labels = type(mechanism)(alike).release(scipy.sparse.csr_array(np.tile(row, (20_000, 1))))
        assert scipy.stats.chisquare(np.bincount(labels, minlength=12)).pvalue > RARE


def test_fifty_thousand_classes() -> None:
    """Far more votes than noise: the plurality. Far more noise: nearly always one of the classes without votes."""
    rng = np.random.default_rng(3)
    votes = rng.integers(0, 50_257, (200, 100))
    votes[:, :60] = 50_256
    counts = darrm.votes.counts(votes, 50_257, sparse=True)
    made = GaussianNoisyMax(5.0, K=100, classes=50_257)
    assert made.release(counts).tolist() == [50_256] * 200
    assert np.count_nonzero(GaussianNoisyMax(1e3).release(counts) == 50_256) < 5
    with pytest.raises(darrm.InputError, match="Each row of counts must have 100 votes"):
        made.release(counts[:, :].maximum(0) * 2)
    with pytest.raises(darrm.InputError, match="sparse=True"):
        made.release(np.zeros((1, 50_257), dtype=int))


def test_sparse_counts_are_those_of_each_row() -> None:
    votes = np.random.default_rng(4).integers(0, 9, (50, 7))
    made = darrm.votes.counts(votes, 9, sparse=True)
    assert isinstance(made, scipy.sparse.csr_array)
    assert (made.toarray() == darrm.votes.counts(votes, 9)).all()
    assert darrm.votes.counts(votes[0], 9, sparse=True).toarray().tolist() == [darrm.votes.counts(votes[0], 9).tolist()]
    assert darrm.votes.counts(votes[:0], 9, sparse=True).shape == (0, 9)
    assert GaussianNoisyMax(1.0).release(made[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (scipy.sparse.csr_array(([1, -1], [0, 1], [0, 2]), shape=(1, 3)), r"counts must"),
        (scipy.sparse.csr_array(([1.0, 0.5], [0, 1], [0, 2]), shape=(1, 3)), r"counts must"),
        (scipy.sparse.csr_array((1, 1)), r"Got shape \(1, 1\)"),
        (scipy.sparse.csr_array((1, 10**8)), r"Got shape \(1, 100000000\)"),
        (scipy.sparse.csr_array([[1, 2, 0], [1, 0, 0]]), r"all have as many votes\. Got 3 in row 0 and 1 in row 1"),
    ],
)
def test_sparse_counts_that_are_none(counts: Any, said: str) -> None:
    with pytest.raises(darrm.InputError, match=said):
        GaussianNoisyMax(1.0).release(counts)


def test_duplicates_zeros_and_other_formats_mean_the_same() -> None:
    """As scipy reads them: a class that stands twice has the sum, and a 0 is no vote."""
    twice = scipy.sparse.coo_array(([2, 0, 3], ([0, 0, 0], [5, 2, 5])), shape=(1, 6))
    for counts in (twice, twice.tocsc(), scipy.sparse.csr_matrix(twice)):
        assert GaussianNoisyMax(1e-3, K=5, classes=6).release(counts).tolist() == [5]
    assert twice.nnz == 3  # what was passed stays as it was

"""Exact coins and the release."""

import itertools
import os
import time
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

import darrm
from darrm.randomness.coins import Coins
from darrm.randomness.words import NotPrivateWarning

DESIGN = darrm.solve(K=11, m=3, epsilon=0.1)


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_coins_are_exact_over_all_inputs(bits: int) -> None:
    """Every sequence of words, every dyadic bias of six binary digits: 1 comes out in exactly that share."""
    depth = -(-6 // bits) + 1
    biases = [Fraction(n, 64) for n in range(65)]
    coins = Coins(biases, word_bits=bits)
    ones = np.zeros(len(biases), dtype=int)
    for words in itertools.product(range(2**bits), repeat=depth):
        for at in range(len(biases)):
            stream = iter(words)

            def draw(n: int, stream: object = stream) -> np.ndarray:
                return np.array([next(stream) for _ in range(n)], dtype=np.uint64)  # type: ignore[call-overload]

            ones[at] += coins.flip(np.array([at]), draw)[0]
    assert [Fraction(int(n), 2 ** (bits * depth)) for n in ones] == biases


@pytest.mark.parametrize("q", [1.0, 0.0, 0.5, 1e-300, 2.0**-1074, 1 - 2**-53, 1 / 3])
def test_ties_are_decided_by_further_bits(q: float) -> None:
    bias = Fraction(q)
    coins = Coins([bias])
    digits = [int(bias * 2 ** (64 * (i + 1))) % 2**64 for i in range(18)]
    for last, wanted in ((0, 0), (-1, 1)):
        words = iter(digits[:17])

        def draw(n: int, words: object = words, last: int = last) -> np.ndarray:
            value = next(words)  # type: ignore[call-overload]
            return np.array([value if value == 0 or not last else value - 1] * n, dtype=np.uint64)

        if bias not in (0, 1):
            assert coins.flip(np.array([0]), draw)[0] == wanted
    if bias in (0, 1):
        assert coins.flip(np.zeros(1000, dtype=int)).mean() == float(bias)


def test_coins_refuse_what_no_coin_can_have() -> None:
    for bias in (Fraction(1, 3), Fraction(-1, 2), Fraction(3, 2)):
        with pytest.raises(ValueError, match="dyadic"):
            Coins([bias])


@pytest.mark.thorough
@pytest.mark.parametrize("K", [6, 11])
def test_labels_have_their_probabilities(K: int) -> None:
    """Operating-system coins; a false alarm once in a million runs, over all l together."""
    design = darrm.solve(K=K, m=2, epsilon=0.3)
    mechanism, n = darrm.mechanisms.DaRRM(design), 200_000
    for l in range(K + 1):
        side = (2 * l > K) - (2 * l < K)
        one = (1 + side * design.gamma[l]) / 2
        ones = int(mechanism.release_counts(np.full(n, l)).sum())
        assert scipy.stats.binomtest(ones, n, one).pvalue > 1e-6 / (K + 1)


def test_release_counts_votes() -> None:
    sure = darrm.mechanisms.DaRRM(darrm.solve(K=11, m=11, epsilon=3))
    votes = np.random.default_rng(0).integers(0, 2, (5000, 11))
    majority = (votes.sum(axis=1) > 5).astype(np.uint8)
    kinds = [votes, votes.astype(bool), votes.astype(float), votes.astype(np.uint8), np.asfortranarray(votes)]
    for given in [*kinds, votes.tolist()]:
        assert (sure.release(given) == majority).mean() > 0.999
    assert sure.release(np.zeros((0, 11))).shape == (0,)
    assert sure.release_counts(np.array([], dtype=int)).shape == (0,)


def test_more_votes_than_a_byte_counts() -> None:
    design = darrm.solve(K=301, m=1, epsilon=1, max_affected=1)
    mechanism = darrm.mechanisms.DaRRM(design)
    assert mechanism.release(np.ones((50, 301), dtype=np.uint8)).tolist() == [1] * 50
    assert mechanism.release_counts(np.full(50, 290, dtype=np.uint16)).tolist() == [1] * 50


@pytest.mark.parametrize(
    "votes",
    [
        [[0, 1, 2] + [0] * 8],
        [[0.5] + [0] * 10],
        [[np.nan] + [0] * 10],
        [[-1] + [0] * 10],
        [[1] * 10],
        [1] * 10,
        [["1"] * 11],
        np.ones((2, 11, 1)),
        [[1j] * 11],
        None,
    ],
)
def test_bad_votes(votes: object) -> None:
    with pytest.raises(darrm.InputError):
        darrm.mechanisms.DaRRM(DESIGN).release(votes)  # type: ignore[arg-type]


def test_booleans_of_other_bytes_are_refused() -> None:
    """numpy would count such a vote as two, or as many as its byte says."""
    mechanism = darrm.mechanisms.DaRRM(DESIGN)
    votes = np.zeros((70_000, 11), dtype=np.uint8)
    votes[66_000, 4] = 2
    for given, row in ((votes, 66_000), (votes[::-1], 3999), (list(votes[66_000:].view(bool)), 0)):
        array = given if isinstance(given, list) else given.view(bool)
        with pytest.raises(darrm.InputError, match=f"must be 0 or 1. Got 2 in row {row}, column 4"):
            mechanism.release(array)
        with pytest.raises(darrm.InputError, match=f"Got 2 in row {row}"):
            list(mechanism.release_blocks([array]))
    with pytest.raises(darrm.InputError, match="Got 2 in row 1, column 4"):
        list(mechanism.release_blocks(iter(votes[65_999:66_005].view(bool))))


def test_masked_arrays_are_refused() -> None:
    """As plain arrays they would show what is below the mask."""
    mechanism = darrm.mechanisms.DaRRM(DESIGN)
    row = np.ma.array(np.ones(11, dtype=int), mask=[True] + [False] * 10)
    for given in (np.ma.array([row.data, row.data], mask=[row.mask, row.mask]), [row, row], np.ma.array([row.data])):
        with pytest.raises(darrm.InputError, match=r"^votes must be a plain array. Got a masked one"):
            mechanism.release(given)
    with pytest.raises(darrm.InputError, match=r"^votes must be a plain array. Got a masked one"):
        list(mechanism.release_blocks(iter([row.data, row])))
    with pytest.raises(darrm.InputError, match=r"^counts must be a plain array"):
        mechanism.release_counts(np.ma.array([3, 4], mask=[True, False]))


def test_every_label_has_words_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tie is decided by one word, below 2^63 or not: words that were drawn before must not decide a second label."""
    mechanism = darrm.mechanisms.DaRRM(darrm.solve(K=4, m=2, epsilon=0.1))
    n = 2 * 65536 + 1000
    votes = np.tile([1, 0, 1, 0], (n, 1))
    drawn: list[np.ndarray] = []

    def words(k: int) -> np.ndarray:
        drawn.append(np.frombuffer(os.urandom(8 * k), dtype=np.uint64))
        return drawn[-1]

    monkeypatch.setattr("darrm.randomness.words.system_words", words)
    for release in (
        lambda: mechanism.release(votes),
        lambda: mechanism.release_counts(np.full(n, 2)),
        lambda: np.concatenate(list(mechanism.release_blocks(np.split(votes, 8)))),
    ):
        drawn.clear()
        labels = release()
        assert labels.tolist() == (np.concatenate(drawn) < 2**63).tolist()  # as many words as labels, each once
        first, second = labels[:65536], labels[65536 : 2 * 65536]
        assert 0.45 < (first != second).mean() < 0.55
        assert 0.4 < (first[:1000] != labels[2 * 65536 :]).mean() < 0.6


@pytest.mark.parametrize("counts", [[12], [-1], [0.5], [[1, 1]], [[[1]]], 1, ["1"]])
def test_bad_counts(counts: object) -> None:
    with pytest.raises(darrm.InputError):
        darrm.mechanisms.DaRRM(DESIGN).release_counts(counts)  # type: ignore[arg-type]


def test_a_given_generator_warns_and_repeats() -> None:
    votes, labels = np.random.default_rng(1).integers(0, 2, (400, 11)), []
    for _ in range(2):
        with pytest.warns(NotPrivateWarning, match="not private"):
            labels.append(darrm.mechanisms.DaRRM(DESIGN).release(votes, rng=np.random.default_rng(5)))
    assert labels[0].tolist() == labels[1].tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        darrm.mechanisms.DaRRM(DESIGN).release(votes)


def test_words_of_a_generator_are_uniform_too() -> None:
    from darrm.randomness.words import word_source

    with pytest.warns(NotPrivateWarning):
        words = word_source(np.random.default_rng(1), 2)(10_000)
    for bit in (0, 1, 31, 62, 63):
        assert abs(int((words >> np.uint64(bit) & np.uint64(1)).sum()) - 5000) < 300


def test_only_designs_release() -> None:
    with pytest.raises(darrm.InputError, match="Design"):
        darrm.mechanisms.DaRRM(DESIGN.gamma)  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork: run on Linux or macOS")
def test_forked_processes_draw_different_coins() -> None:
    mechanism, drawn = darrm.mechanisms.DaRRM(DESIGN), []
    for _ in range(2):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, mechanism.release_counts(np.full(200, 4)).tobytes())
            os._exit(0)
        os.waitpid(child, 0)
        drawn.append(os.read(reader, 200))
        os.close(reader)
        os.close(writer)
    assert drawn[0] != drawn[1]


@pytest.mark.slow
def test_ten_million_labels_a_second() -> None:
    votes = np.random.default_rng(0).integers(0, 2, (10_000_000, 11), dtype=np.uint8)
    mechanism = darrm.mechanisms.DaRRM(DESIGN)
    start = time.perf_counter()
    mechanism.release(votes)
    assert time.perf_counter() - start < 1

"""Noisy max releases labels of its chances and keeps its guarantee."""

import copy
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles import noisy_max as oracle

import darrm
from darrm.mechanisms import ExponentialMechanism, GaussianNoisyMax, LaplaceNoisyMax, PermuteAndFlip, noisy_max
from darrm.randomness.words import NotPrivateWarning
from darrm.storage import sealed_json


@pytest.mark.parametrize("gamma", [0.2, 1.0])
def test_laplace_noisy_max_is_two_gamma_private(gamma: float) -> None:
    for counts in ([5, 3, 2], [4, 4, 4], [1, 0, 9]):
        p = oracle.laplace(counts, Fraction(gamma))
        for a in range(3):
            for b in range(3):
                if a != b and counts[a] > 0:
                    moved = [n - (i == a) + (i == b) for i, n in enumerate(counts)]
                    q = oracle.laplace(moved, Fraction(gamma))
                    assert max(abs(math.log(x / y)) for x, y in zip(p, q, strict=True)) <= 2 * gamma * (1 + 1e-15)


@pytest.mark.thorough
def test_labels_come_as_often_as_they_should() -> None:
    counts, n = [5, 3, 3], 100_000
    mechanism = LaplaceNoisyMax(0.5)
    labels = mechanism.release([counts] * n)
    p = np.array(list(map(float, oracle.laplace(counts, Fraction(1, 2)))))
    seen = np.bincount(labels, minlength=3) / n
    assert np.all(np.abs(seen - p) <= 5 * np.sqrt(p * (1 - p) / n))
    assert mechanism.epsilon == 1.0
    gaussian = GaussianNoisyMax(2.0)
    seen = np.bincount(gaussian.release([[4, 4]] * n), minlength=2) / n
    assert abs(seen[0] - 0.5) <= 5 * 0.5 / math.sqrt(n)
    assert gaussian.rdp([2.0, 10.0]).tolist() == [0.5, 2.5]
    assert set(GaussianNoisyMax(0.01).release([[9, 1, 0], [0, 1, 9]])) == {0, 2}


@pytest.mark.parametrize(
    "mechanism", [LaplaceNoisyMax(0.5), GaussianNoisyMax(2.0), PermuteAndFlip(1.0), ExponentialMechanism(1.0)]
)
def test_many_rows_are_drawn_some_at_a_time(mechanism: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as all at once, each row from its own counts, and no more deviates in memory than are allowed."""
    asked: list[int] = []
    draw = type(mechanism)._draw

    def counted(n: int, words: Any) -> Any:
        asked.append(n)
        return draw(n, words)

    monkeypatch.setattr(noisy_max, "_AT_ONCE", 3000)
    monkeypatch.setattr(type(mechanism), "_draw", staticmethod(counted))
    counts = np.tile([[5, 3, 3], [0, 7, 4]], (5000, 1))
    labels = mechanism.release(counts)
    assert max(asked) <= 3000
    assert sum(asked) == counts.size
    for at, p in enumerate(mechanism.chances(counts[:2])):
        seen = np.bincount(labels[at::2], minlength=3) / 5000
        assert np.all(np.abs(seen - p) <= 5 * np.sqrt(p * (1 - p) / 5000))


def test_a_generator_is_for_tests() -> None:
    with pytest.warns(NotPrivateWarning):
        first = LaplaceNoisyMax(0.1).release([[5, 3]] * 50, rng=np.random.default_rng(1))
    with pytest.warns(NotPrivateWarning):
        again = LaplaceNoisyMax(0.1).release([[5, 3]] * 50, rng=np.random.default_rng(1))
    assert np.array_equal(first, again)


@pytest.mark.parametrize(
    "counts", [[1, 2], [[1]], [[1, -1]], [[1, 0.5]], [[1, float("nan")]], "ab", [[1, 1e13]], [[[1, 2]]]]
)
def test_counts_that_are_none(counts: object) -> None:
    with pytest.raises(darrm.InputError, match="counts must"):
        GaussianNoisyMax(1.0).release(counts)  # type: ignore[arg-type]


@pytest.mark.parametrize("mechanism", [LaplaceNoisyMax(1.0), GaussianNoisyMax(1.0)], ids=repr)
def test_labels_of_voters_are_no_counts(mechanism: LaplaceNoisyMax | GaussianNoisyMax) -> None:
    """By their shape: one label for each voter is a row, counts of one query are a table with one row."""
    for labels, shape in (([0, 1, 0, 1, 1, 0, 0, 1], r"\(8,\)"), ([[1], [0]], r"\(2, 1\)"), ([], r"\(0,\)")):
        with pytest.raises(darrm.InputError, match=rf"counts must have shape .* Got shape {shape}\. Pass the votes"):
            mechanism.release(labels)
    with pytest.raises(darrm.InputError, match="to count labels, call"):
        mechanism.release([[True, False, True]])
    # No counts are refused for their numbers, which would tell something about the votes: two voters who disagree,
    # one voter, none.
    for counts in ([[1, 1]], [[1, 0, 1]], [[0, 0, 1]], [[0, 0]], [[8, 0]]):
        assert mechanism.release(counts).shape == (1,)


@pytest.mark.filterwarnings("error")
def test_noise_of_any_width() -> None:
    """Next to none never changes the label; noise that is wider than all votes does not see them."""
    for narrow in (
        GaussianNoisyMax(1e-300),
        GaussianNoisyMax(5e-324),
        LaplaceNoisyMax(1e300),
        PermuteAndFlip(1.7e308),
        ExponentialMechanism(1.7e308),
    ):
        assert set(narrow.release([[10**12, 0, 10**12 - 1]] * 50).tolist()) == {0}
        assert narrow.chances([[10**12, 0, 10**12 - 1]])[0] == pytest.approx([1, 0, 0], rel=1e-14, abs=0)
    for wide in (
        GaussianNoisyMax(1.7e308),
        LaplaceNoisyMax(5e-324),
        PermuteAndFlip(5e-324),
        ExponentialMechanism(5e-324),
    ):
        assert len(set(wide.release([[10**12, 0, 5]] * 200).tolist())) == 3
        assert wide.chances([[10**12, 0, 5]])[0] == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "1", None])
def test_noise_that_is_none(value: object) -> None:
    for kind in (GaussianNoisyMax, LaplaceNoisyMax):
        with pytest.raises(darrm.InputError, match="must be"):
            kind(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [GaussianNoisyMax, LaplaceNoisyMax, PermuteAndFlip, ExponentialMechanism])
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_copies_and_pickles_release_the_same(kind: type, again: Callable) -> None:
    """What is held to a total is so in a copy too."""
    made = kind(0.75, K=5, classes=2)
    made.release([[3, 2]])
    other = again(made)
    assert repr(other) == repr(made) == f"{kind.__name__}({made._parameters[0]}=0.75, K=5, classes=2)"
    with pytest.warns(NotPrivateWarning):
        drawn, same = (one.release([[3, 2]] * 50, rng=np.random.default_rng(5)) for one in (other, made))
    assert drawn.tolist() == same.tolist()
    with pytest.raises(darrm.InputError, match="must have 5 votes"):
        other.release([[3, 3]])
    with pytest.raises(darrm.InputError, match="must not be changed"):
        other.K = 4
    assert again(kind(0.75)).K is None


def test_a_file_holds_the_noise_and_who_votes_for_what(tmp_path: Path) -> None:
    path, names = tmp_path / "noisy.json", ["anna", "ben", "eve"]
    for classes, voters in ((10, None), (["cat", "dog"], None), (["cat", "dog"], names)):
        made = GaussianNoisyMax(0.1 + 0.2, K=3, classes=classes, voters=voters)
        made.save(path)
        for again in (GaussianNoisyMax.load(path), pickle.loads(pickle.dumps(made))):
            assert (again.sigma, again.K, again.classes) == (made.sigma, 3, made.classes)
            assert again.problem == made.problem
            assert again.problem.voters == made.problem.voters == (None if voters is None else tuple(names))
    with pytest.raises(darrm.InputError, match=r"a file of noisy max, not a design file. It has no table"):
        darrm.load(path)
    text = path.read_text()
    path.write_text(text.replace('"K": 3', '"K": 4'))
    with pytest.raises(darrm.InputError, match="was changed after it was written"):
        GaussianNoisyMax.load(path)
    darrm.solve(K=3, m=1, epsilon=1.0).save(path)
    with pytest.raises(darrm.InputError, match="is a design file, not a file of noisy max"):
        GaussianNoisyMax.load(path)


@pytest.mark.parametrize(
    "changed",
    [
        {"sigma": -1.0},
        {"sigma": None},
        {"mechanism": "LaplaceNoisyMax"},
        {"mechanism": None},
        {"more": 1},
        {"K": 2.5},
        {"K": None, "classes": None},
    ],
)
def test_a_forged_file_is_refused(tmp_path: Path, changed: dict[str, object]) -> None:
    path = tmp_path / "noisy.json"
    content = GaussianNoisyMax(4.0, K=3, classes=2).as_dict() | changed
    sealed_json.write(path, {"format": "darrm-mechanism", "version": 1, **content})
    with pytest.raises(darrm.InputError, match="is not a valid file of noisy max"):
        GaussianNoisyMax.load(path)


def test_what_no_file_holds(tmp_path: Path) -> None:
    with pytest.raises(darrm.InputError, match="Got a mechanism for any"):
        GaussianNoisyMax(4.0).save(tmp_path / "noisy.json")
    with pytest.raises(darrm.InputError, match="A design file is JSON"):
        GaussianNoisyMax(4.0, K=3, classes=2).save(tmp_path / "noisy.csv")
    with pytest.raises(darrm.InputError, match="Got names without K"):
        GaussianNoisyMax(4.0, voters=["anna", "ben"])
    with pytest.raises(darrm.InputError, match="a list of 4 different names"):
        GaussianNoisyMax(4.0, K=4, classes=2, voters=["anna", "ben", "eve"])

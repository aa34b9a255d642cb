"""Confident-GNMax releases labels of its chances, and no more of them than it may."""

import copy
import math
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from oracles import noisy_max as oracle
from scipy.special import ndtr

import darrm
from darrm.mechanisms import ConfidentNoisyMax, GaussianNoisyMax
from darrm.randomness.words import NotPrivateWarning

COUNTS = [[5, 3, 1], [4, 4, 4], [9, 0, 0], [0, 2, 30]]


@pytest.mark.thorough
@pytest.mark.parametrize("noise", [(6.0, 1.5, 2.0), (-3.5, 20.0, 0.7)])
def test_chances_are_those_of_both_noises(noise: tuple[float, float, float]) -> None:
    """A label has the chance of the check times that of noisy max, since the noise is fresh."""
    threshold, sigma_check, sigma = noise
    made = ConfidentNoisyMax(*noise)._chances(np.array(COUNTS))
    assert made.rho < 2e-11
    assert made.cut < 1e-23
    for counts, found in zip(COUNTS, made.values.tolist(), strict=True):
        ahead = (max(counts) - threshold) / sigma_check
        wanted = [float(ndtr(ahead)) * float(p) for p in oracle.gaussian(counts, sigma)] + [float(ndtr(-ahead))]
        for p, exact in zip(found, wanted, strict=True):
            assert abs(p - exact) <= 1e-12 * exact + made.cut
    assert ConfidentNoisyMax(*noise).chances(COUNTS) == pytest.approx(made.values, abs=0)


def test_small_chances_are_right_too() -> None:
    """Far above and below the threshold, beyond the range of float64, and with hardly any noise."""
    far = ConfidentNoisyMax(30, 1.0, 1.0)
    assert far.chances([[0, 0]])[0, 0] == pytest.approx(float(ndtr(-30)) / 2, rel=1e-12)
    assert far.chances([[60, 0]])[0, 2] == pytest.approx(float(ndtr(-30)), rel=1e-12)
    made = ConfidentNoisyMax(1e4, 1.0, 1.0)._chances(np.array([[5, 3]]))
    assert made.values[0].tolist() == [0, 0, 1]
    assert made.cut >= 1e-290
    narrow = ConfidentNoisyMax(5, 5e-324, 1.0).chances([[4, 0], [5, 0], [6, 0]])[:, 2]
    assert narrow.tolist() == [1, 0.5, 0]


@pytest.mark.thorough
def test_labels_come_as_often_as_they_should() -> None:
    n, mechanism = 60_000, ConfidentNoisyMax(6, 2.0, 3.0)
    labels = mechanism.release(np.repeat([[6, 4, 2], [3, 3, 6]], n, axis=0))
    for drawn, p in zip((labels[:n], labels[n:]), mechanism.chances([[6, 4, 2], [3, 3, 6]]), strict=True):
        seen = np.bincount(drawn, minlength=4) / n
        assert np.all(np.abs(seen - p) <= 5 * np.sqrt(p * (1 - p) / n))
    assert mechanism.given == np.count_nonzero(labels < 3)


@pytest.mark.filterwarnings("error")
def test_noise_of_any_width() -> None:
    votes = [[10**12, 0, 10**12 - 1]] * 50
    assert set(ConfidentNoisyMax(1e12, 1e-300, 1e-300).release(votes).tolist()) == {0, 3}  # a count at the threshold
    assert set(ConfidentNoisyMax(10**12 - 1, 1e-300, 1e-300).release(votes).tolist()) == {0}
    assert set(ConfidentNoisyMax(1.5e308, 5e-324, 1.0).release(votes).tolist()) == {3}
    assert set(ConfidentNoisyMax(-1.5e308, 5e-324, 1e-300).release(votes).tolist()) == {0}
    assert len(set(ConfidentNoisyMax(0, 1.7e308, 1.7e308).release(votes * 6).tolist())) == 4


def test_no_more_labels_than_allowed() -> None:
    """Sure checks: the labels end after so many, in a call and over calls; then votes are refused unseen."""
    mechanism = ConfidentNoisyMax(5, 1e-3, 1e-3, answers=4)
    assert mechanism.release([[9, 0], [0, 9], [4, 5], [9, 0]][:2]).tolist() == [0, 1]
    assert (mechanism.given, mechanism.answers) == (2, 4)
    with pytest.warns(darrm.errors.LabelsEndedWarning, match="The last of 4 labels was given.* 2 rows of"):
        assert mechanism.release([[3, 3, 3], [9, 0, 0], [0, 9, 0], [0, 0, 9], [9, 0, 0]]).tolist() == [3, 0, 1, 3, 3]
    assert mechanism.given == 4
    for counts in ([[9, 0]], [[0, 9]], [[1, 1]]):
        with pytest.raises(darrm.InputError, match=r"At most 4 labels may be given, and all were\."):
            mechanism.release(counts)
    assert mechanism.release(np.zeros((0, 2), dtype=np.int64)).shape == (0,)


def test_refused_votes_take_no_label() -> None:
    mechanism = ConfidentNoisyMax(5, 1e-3, 1.0, answers=2, K=9, classes=2)
    with pytest.raises(darrm.InputError, match="Each row of counts must have 9 votes"):
        mechanism.release([[9, 0], [9, 1]])
    with pytest.raises(darrm.InputError, match="must have 2 columns"):
        mechanism.release([[9, 0, 0]])
    assert mechanism.given == 0


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::darrm.errors.LabelsEndedWarning")
def test_threads_share_the_labels() -> None:
    mechanism = ConfidentNoisyMax(-9, 1e-3, 1.0, answers=300)

    def some(_: int) -> int:
        try:
            return int(np.count_nonzero(mechanism.release([[3, 2]] * 7) < 2))
        except darrm.InputError:
            return 0

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(some, range(80))) == mechanism.given == 300


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_copies_and_pickles(again: Callable[[Any], Any]) -> None:
    """Of the same law; but of an object that counts its labels there is one."""
    free = ConfidentNoisyMax(5, 2.0, 3.0, K=5, classes=2)
    other = again(free)
    assert repr(other) == repr(free) == "ConfidentNoisyMax(threshold=5.0, sigma_check=2.0, sigma=3.0, K=5, classes=2)"
    with pytest.warns(NotPrivateWarning):
        drawn, same = (one.release([[3, 2]] * 50, rng=np.random.default_rng(5)) for one in (other, free))
    assert drawn.tolist() == same.tolist()
    with pytest.raises(darrm.InputError, match="must not be changed"):
        other.answers = 3
    capped = ConfidentNoisyMax(5, 2.0, 3.0, answers=9)
    assert repr(capped).endswith("sigma=3.0, answers=9)")
    with pytest.raises(darrm.InputError, match="cannot be copied or pickled: the copy would give 9 labels too"):
        again(capped)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork: run on Linux or macOS")
def test_a_fork_has_no_cap_of_its_own() -> None:
    """The labels of both processes would be twice the cap, where the total is for one."""
    for answers, ended in ((5, 7), (None, 0)):
        mechanism = ConfidentNoisyMax(-1e6, 1.0, 1.0, answers=answers)
        child = os.fork()
        if not child:
            status = 1
            try:
                mechanism.release([[3, 1]])
                status = 0
            except darrm.InputError as error:
                status = 7 if "was forked to another process, which would give 5 labels too" in str(error) else 1
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == ended
        assert mechanism.release([[3, 1]]).size == 1


def test_renyi_divergences_and_kernel() -> None:
    mechanism = ConfidentNoisyMax(8, 2.0, 4.0)
    assert mechanism.rdp([2.0, 3.0]) == pytest.approx([2 / 16 + 2 / 8, 3 / 16 + 3 / 8])
    kernel = mechanism.kernel(9)
    assert kernel.shape == (10, 3)
    assert kernel == pytest.approx(mechanism.chances([[9 - n, n] for n in range(10)]))
    assert kernel.sum(axis=1) == pytest.approx(1)
    free = ConfidentNoisyMax(-1e9, 1.0, 4.0).kernel(9)
    assert free[:, :2] == pytest.approx(GaussianNoisyMax(4.0).kernel(9))


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"threshold": math.inf}, "threshold must be"),
        ({"threshold": "8"}, "threshold must be"),
        ({"sigma_check": 0}, "sigma_check must be"),
        ({"sigma": -1}, "sigma must be"),
        ({"answers": 0}, "answers must be"),
        ({"answers": 2.5}, "answers must be"),
        ({"K": 4}, "K and classes go together"),
        ({"threshold": Fraction(1, 3)}, "float64 holds exactly"),
    ],
)
def test_arguments_that_are_none(arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(darrm.InputError, match=match):
        ConfidentNoisyMax(**{"threshold": 8, "sigma_check": 2, "sigma": 1, **arguments})

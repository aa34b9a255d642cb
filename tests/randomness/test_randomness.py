"""Randomness: coins are exact, nobody draws the same words twice, and nothing that is seeded goes without a warning."""

from __future__ import annotations

import importlib
import inspect
import itertools
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import thorough

import darrm
from darrm import columns, mechanisms
from darrm.ensemble import DPLogisticRegression, PrivateMajorityClassifier
from darrm.mechanisms import DaRRM, PrivateDecision
from darrm.randomness.coins import Coins, Words, system_words
from darrm.randomness.words import NotPrivateWarning

DESIGN = darrm.solve(K=4, m=2, epsilon=0.1)  # two of four votes are a tie: a fair coin


DECISION = darrm.solve(
    darrm.DecisionProblem([darrm.VoterGroup(1, epsilon=1.0), darrm.VoterGroup(2, epsilon=0.5)], epsilon=0.25),
    objective=darrm.objectives.truth([0.75, 0.5]),
)
CLASSES = darrm.solve(
    darrm.DecisionProblem([darrm.VoterGroup(4, epsilon=1.0)], 0.8, classes=3, none=True),
    objective=darrm.objectives.rule("plurality", [0.6], none=0.5),
)


# Exactness (Lemma 15): all words, one sequence after the other, several coins flipped together


@pytest.mark.parametrize(("bits", "digits"), [(1, 4), (2, 4), (3, 3), (4, 3), (5, 2)])
def test_the_law_of_two_coins_flipped_together_is_exact(bits: int, digits: int) -> None:
    """For all pairs of biases of so many binary digits and all words: independent, each with exactly its bias."""
    denominator = 2**digits
    biases = [Fraction(n, denominator) for n in range(denominator + 1)]
    coins = Coins(biases, word_bits=bits)
    depth = -(-digits // bits)
    words = np.array(list(itertools.product(range(2**bits), repeat=2 * depth)), dtype=np.uint64).T
    rng = np.random.default_rng(bits)
    pairs = rng.integers(0, denominator + 1, (12, 2))
    for first, second in [(0, denominator), (denominator, denominator), *pairs.tolist()]:
        seen = np.zeros((2, 2), dtype=int)
        for column in words.T:
            at = iter(column)
            one, two = coins.flip(np.array([first, second]), lambda n, at=at: np.array([next(at) for _ in range(n)]))
            seen[one, two] += 1
        p, q = biases[first], biases[second]
        total = words.shape[1]
        wanted = [[(1 - p) * (1 - q), (1 - p) * q], [p * (1 - q), p * q]]
        assert [[Fraction(int(n), total) for n in row] for row in seen] == wanted


@pytest.mark.thorough
@pytest.mark.first(0, 1)
@pytest.mark.parametrize("bits", [4, *thorough(1, 2, 8)])
def test_every_bias_of_eight_digits_is_exact(bits: int) -> None:
    biases = [Fraction(n, 256) for n in range(257)]
    coins = Coins(biases, word_bits=bits)
    depth = -(-8 // bits)
    which = np.arange(257)
    ones = np.zeros(257, dtype=int)
    for words in itertools.product(range(2**bits), repeat=depth):
        for at in which:
            left = iter(words)
            drawn = coins.flip(which[at : at + 1], lambda n, left=left: np.array([next(left)], dtype=np.uint64))
            ones[at] += drawn[0]
    assert [Fraction(int(n), 256) for n in ones] == biases


# Nobody draws the same words twice


def labels(n: int = 512) -> bytes:
    return DaRRM(DESIGN).release_counts(np.full(n, 2)).tobytes()


def forked(children: int) -> list[bytes]:
    """What children of this process release, all from the same state."""
    pipes = []
    for _ in range(children):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, labels())
            os._exit(0)
        os.close(writer)
        pipes.append((reader, child))
    drawn = []
    for reader, child in pipes:
        os.waitpid(child, 0)
        drawn.append(os.read(reader, 512))
        os.close(reader)
    return drawn


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork: run on Linux or macOS")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_parent_and_children_draw_words_of_their_own() -> None:
    """After labels were drawn already, so that words left over in a buffer would be shared."""
    before = labels()
    drawn = [before, *forked(4), labels()]
    assert all(len(one) == 512 for one in drawn)
    assert len(set(drawn)) == 6


def test_threads_draw_words_of_their_own() -> None:
    mechanism, drawn, start = DaRRM(DESIGN), [], threading.Barrier(8)

    def work() -> None:
        start.wait()
        drawn.append(mechanism.release_counts(np.full(512, 2)).tobytes())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == 8


def test_words_come_from_the_operating_system_as_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    true = os.urandom

    def urandom(n: int) -> bytes:
        asked.append(n)
        return true(n)

    monkeypatch.setattr(os, "urandom", urandom)
    assert system_words(5).shape == (5,)
    DaRRM(DESIGN).release_counts(np.full(1000, 2))
    assert asked[:2] == [40, 8000]  # one word a coin, and more only on a tie of 64 bits


# Rare branches: words that a release meets once in 2^64 draws, as read-only as those of the operating system


EDGES = (0, 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1)


class Rare:
    """Words of the operating system, but for some draws, which are all one word."""

    def __init__(self, word: int, draws: range) -> None:
        self.word, self.draws, self.done = word, draws, 0

    def __call__(self, n: int) -> Words:
        self.done += 1
        if self.done - 1 not in self.draws:
            return system_words(n)
        return np.frombuffer(np.full(n, self.word, dtype=np.uint64).tobytes(), dtype=np.uint64)


@pytest.mark.thorough
@pytest.mark.parametrize("word", EDGES)
@pytest.mark.parametrize("draws", [range(1), range(2), range(7), range(1, 2), range(1, 5), range(2, 3)])
def test_no_word_is_too_rare_for_a_release(monkeypatch: pytest.MonkeyPatch, word: int, draws: range) -> None:
    counts, bag = np.array([[3, 3, 3], [4, 1, 4]]), np.array([[0, 1, 1, 0]] * 2)
    releases: dict[str, tuple[Callable[[], Any], int]] = {
        "majority": (lambda: DaRRM(DESIGN).release(bag), 2),
        "decision": (lambda: PrivateDecision(DECISION).release(bag[:, :3]), 2),
        "classes": (lambda: PrivateDecision(CLASSES).release([[0, 1, 2, 0], [2, 2, 2, 1]]), 4),
        "Gaussian": (lambda: mechanisms.GaussianNoisyMax(4.0).release(counts), 3),
        "narrow Gaussian": (lambda: mechanisms.GaussianNoisyMax(1e-300).release(counts), 3),
        "wide Gaussian": (lambda: mechanisms.GaussianNoisyMax(1e15).release(counts), 3),
        "confident": (lambda: mechanisms.ConfidentNoisyMax(4, 4.0, 4.0).release(counts), 4),
        "Laplace": (lambda: mechanisms.LaplaceNoisyMax(0.5).release(counts), 3),
        "narrow Laplace": (lambda: mechanisms.LaplaceNoisyMax(1e300).release(counts), 3),
        "wide Laplace": (lambda: mechanisms.LaplaceNoisyMax(1e-15).release(counts), 3),
        "permute and flip": (lambda: mechanisms.PermuteAndFlip(0.5).release(counts), 3),
        "exponential mechanism": (lambda: mechanisms.ExponentialMechanism(0.5).release(counts), 3),
        "two labels": (lambda: mechanisms.RandomizedResponse(1.0).release(bag), 2),
        "three labels": (lambda: mechanisms.RandomizedResponse(1.0, 3).release(bag), 3),
        "a thousand labels": (lambda: mechanisms.RandomizedResponse(1e-9, 1000).release(bag), 1000),
        "geometric": (lambda: darrm.labels.GeometricLabelProportions(1e-9).release(bag), 5),
    }
    for name, (release, labels) in releases.items():
        monkeypatch.setattr("darrm.randomness.words.system_words", Rare(word, draws))
        found = release()
        assert np.issubdtype(found.dtype, np.integer), name
        assert np.all((found >= 0) & (found < labels)), name
        monkeypatch.undo()
    real: tuple[Callable[[], Any], ...] = (
        lambda: darrm.labels.LaplaceLabelProportions(1.0).release(bag),
        lambda: darrm.labels.NoisyWeightedLabelProportions(0.5, 1.0).release(bag[0]).label,
        lambda: darrm.labels.WeightedBagAggregates().release(np.eye(4), bag[0])[0],
        lambda: DPLogisticRegression(1.0, 1e-3, classes=(0, 1), steps=3).fit(PIXELS, LABELS).coef_,
    )
    for number in real:
        monkeypatch.setattr("darrm.randomness.words.system_words", Rare(word, draws))
        assert np.isfinite(number()).all()
        monkeypatch.undo()


# Nothing seeded without a warning

FRAME = pytest.importorskip("pyarrow").table({name: [0, 1] for name in "abcd"})
PIXELS = np.zeros((8, 16))
LABELS = np.array([0, 1] * 4)
RELEASES: dict[str, Callable[[Any], object]] = {
    "columns.release": lambda rng: columns.release(DaRRM(DESIGN), FRAME, rng=rng),
    "mechanisms.DaRRM.release": lambda rng: DaRRM(DESIGN).release(np.zeros((2, 4)), rng=rng),
    "mechanisms.DaRRM.release_blocks": lambda rng: DaRRM(DESIGN).release_blocks([], rng=rng),
    "mechanisms.DaRRM.release_counts": lambda rng: DaRRM(DESIGN).release_counts([1, 2], rng=rng),
    "mechanisms.PrivateDecision.release": lambda rng: PrivateDecision(DECISION).release(np.zeros((2, 3)), rng=rng),
    "mechanisms.PrivateDecision.release_blocks": lambda rng: PrivateDecision(DECISION).release_blocks([], rng=rng),
    "mechanisms.PrivateDecision.release_counts": lambda rng: PrivateDecision(DECISION).release_counts(
        [[1, 2]], rng=rng
    ),
    "mechanisms.ConfidentNoisyMax.release": lambda rng: mechanisms.ConfidentNoisyMax(1, 1.0, 4.0).release(
        [[1, 2]], rng=rng
    ),
    "mechanisms.GaussianNoisyMax.release": lambda rng: mechanisms.GaussianNoisyMax(4.0).release([[1, 2]], rng=rng),
    "mechanisms.LaplaceNoisyMax.release": lambda rng: mechanisms.LaplaceNoisyMax(0.5).release([[1, 2]], rng=rng),
    "mechanisms.PermuteAndFlip.release": lambda rng: mechanisms.PermuteAndFlip(0.5).release([[1, 2]], rng=rng),
    "mechanisms.ExponentialMechanism.release": lambda rng: mechanisms.ExponentialMechanism(1.0).release(
        [[1, 2]], rng=rng
    ),
    "mechanisms.RandomizedResponse.release": lambda rng: mechanisms.RandomizedResponse(1.0).release([0, 1], rng=rng),
    "labels.GeometricLabelProportions.release": lambda rng: darrm.labels.GeometricLabelProportions(1.0).release(
        [[0, 1]], rng=rng
    ),
    "labels.LaplaceLabelProportions.release": lambda rng: darrm.labels.LaplaceLabelProportions(1.0).release(
        [[0, 1]], rng=rng
    ),
    "labels.NoisyWeightedLabelProportions.release": lambda rng: darrm.labels.NoisyWeightedLabelProportions(
        0.5, 1.0
    ).release([0.0, 1.0], rng=rng),
    "labels.WeightedBagAggregates.release": lambda rng: darrm.labels.WeightedBagAggregates().release(
        np.eye(2), [0.0, 1.0], rng=rng
    ),
    "ensemble.DPLogisticRegression": lambda seed: DPLogisticRegression(
        1.0, 1e-3, classes=(0, 1), steps=1, random_state=seed
    ).fit(PIXELS, LABELS),
    "ensemble.PrivateMajorityClassifier": lambda seed: (
        PrivateMajorityClassifier(
            voters="fresh", epsilon=1.0, total_epsilon=6.0, total_delta=1e-5, K=3, random_state=seed
        )
        .fit(PIXELS, LABELS)
        .predict(PIXELS[:1])
    ),
}
# No release, or one without randomness: what they draw may be known to all.
PUBLIC = {
    "labels.LabelProportions.release": "exact, whatever is drawn",
    "mechanisms.bags": "which bags there are is known to the attacker",
    "labels.audit": "bags, as above",
    "measures.empirical_epsilon": "splits counts that were released",
    "measures.empirical_epsilon_of_scores": "splits scores that were released",
    "measures.sampled_error": "integrates over the prior",
    "labels.utility_of_attacker": "makes up the labels that it releases",
    "labels.individual_advantage_over_bags": "integrates over features",
    "compare": "integrates over the prior",
    "priors.Prior.sample": "draws from the prior",
}
INSIDE = (".show.report",)  # public, and not reached through the face of their room
SEEDS = {"rng", "random_state", "seed", "random", "draw", "words", "source", "generator"}


def parameters(thing: Callable[..., Any]) -> set[str]:
    try:
        return set(inspect.signature(thing).parameters)
    except ValueError:  # classes that are made in C, such as exceptions
        return set()


def seeded_callables() -> Iterator[str]:
    """Public functions, classes and methods with a parameter that is a source of randomness."""
    faces = [name for name in darrm.__all__ if inspect.ismodule(getattr(darrm, name))]
    for module in ("", *(f".{getattr(darrm, name).__name__.removeprefix('darrm.')}" for name in faces), *INSIDE):
        found = importlib.import_module(f"darrm{module}")
        own = [name for name, thing in vars(found).items() if getattr(thing, "__module__", None) == found.__name__]
        names = getattr(found, "__all__", None) or [name for name in own if not name.startswith("_")]
        for name in names:
            thing = getattr(found, name)
            if not callable(thing) or not str(getattr(thing, "__module__", "")).startswith("darrm"):
                continue
            of_class = inspect.getmembers(thing, inspect.isfunction) if inspect.isclass(thing) else []
            methods = [(f"{name}.{method}", function) for method, function in of_class if not method.startswith("_")]
            for label, one in [(name, thing), *methods]:
                if SEEDS & parameters(one):
                    yield f"{module}.{label}".lstrip(".")


def test_all_that_takes_a_seed_is_known() -> None:
    found = set(seeded_callables())
    unlike = found ^ (set(RELEASES) | set(PUBLIC))
    assert not unlike, (
        f"add to RELEASES (or PUBLIC, if it releases nothing) of this file, or take out: {sorted(unlike)}"
    )
    assert not set(RELEASES) & set(PUBLIC)


@pytest.mark.first(4)
@pytest.mark.parametrize("name", RELEASES)
def test_a_release_from_a_seed_says_that_it_is_not_private(name: str) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        RELEASES[name](np.random.default_rng(0))
    places = [one.filename for one in said if one.category is NotPrivateWarning]
    assert places
    if name.startswith("mechanisms."):  # the others release through one of these
        assert set(places) == {__file__}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        RELEASES[name](None)
    assert not any(one.category is NotPrivateWarning for one in said)


def test_no_words_come_from_a_seedable_generator_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a seed no release makes a generator of numpy's or of Python's, or asks a global one."""
    import random

    def refuse(*_: object, **__: object) -> Any:
        raise AssertionError("a seedable generator was asked")

    for owner, name in (
        *((np.random, name) for name in ("default_rng", "rand", "random", "randint", "normal", "uniform")),
        *((random, name) for name in ("random", "getrandbits", "randint", "gauss", "Random")),
    ):
        monkeypatch.setattr(owner, name, refuse)
    for name, action in RELEASES.items():
        if name.startswith(("mechanisms", "columns")):
            action(None)

"""Every sampler against its law, with words of the operating system.

What is drawn is counted, and each count is held against its binomial law, exactly. A sampler that is right fails with
a probability of at most `ALARM` = 1e-9, by the union bound over its outcomes: all of this file together with 3e-8
at most. All but three are run once more with words whose first bit is 1 too often: that is found.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.integrate
import scipy.sparse
import scipy.stats
from cases import slow
from numpy.typing import NDArray

import darrm
from darrm import mechanisms
from darrm.labels.mechanisms.weighted_aggregates import standard_normals
from darrm.randomness.choices import Choices, uniform
from darrm.randomness.coins import Coins, WordSource, system_words
from darrm.randomness.digits import exponential, gaussian, gumbel
from darrm.randomness.digits import laplace as laplace_digits
from darrm.randomness.discrete import DiscreteLaplace, RealCoins

ALARM = 1e-9
RUNS = 100_000
BIAS = 0.1  # of the first bit of every word: 1 with probability 1/2 + BIAS

Law = NDArray[np.float64]
Outcomes = NDArray[np.integer[Any]]

GROUPS = [darrm.VoterGroup(1, epsilon=1.0), darrm.VoterGroup(2, epsilon=0.5)]
MAJORITY = darrm.solve(K=5, m=1, epsilon=0.5)
DECISION = darrm.solve(
    darrm.DecisionProblem(GROUPS, epsilon=0.6), objective=darrm.objectives.truth([0.75, 0.6]), absent=True
)
CLASSES = darrm.solve(
    darrm.DecisionProblem([darrm.VoterGroup(4, epsilon=1.0)], 0.8, classes=3, none=True),
    objective=darrm.objectives.rule("plurality", [0.6], none=0.5),
)
COUNTS = (3, 1, 2)  # votes for three classes
BAG = np.array([1, 1, 0, 1])  # labels


class Sampler(NamedTuple):
    """A law on 0, 1, ..., and what draws from it so many times.

    Attributes
    ----------
    law : ndarray of shape (outcomes,)
        By the definition, not by the sampler.
    draw : callable
    runs : int
    """

    law: Law
    draw: Callable[[int], Outcomes]
    runs: int = RUNS


def improbable(counts: Outcomes, law: Law) -> bool:
    """Whether a count is so far off that draws from the law have any such with a probability of at most ALARM."""
    n = counts.sum()
    tails = np.minimum(scipy.stats.binom.cdf(counts, n, law), scipy.stats.binom.sf(counts - 1, n, law))
    return bool((2 * tails.min()) < ALARM / law.size)


def fails(sampler: Sampler) -> bool:
    counts = np.bincount(sampler.draw(sampler.runs), minlength=sampler.law.size)
    return counts.size != sampler.law.size or improbable(counts, sampler.law)


# Laws


def coin(p: float) -> Law:
    return np.array([1 - p, p])


def on_integers(weight: Callable[[Law], Law], reach: int) -> Law:
    """Pr[Z] at -reach, ..., reach from weights, what is beyond left out as negligible."""
    weights = weight(np.arange(-reach, reach + 1.0))
    return np.asarray(weights / weights.sum())


def laplace(rate: float, reach: int) -> Law:
    return on_integers(lambda z: np.exp(-rate * np.abs(z)), reach)


def folded(law: Law, ends: int) -> Law:
    """A law on -reach..reach with all beyond -ends and ends at those."""
    middle = law.size // 2
    inner = law[middle - ends : middle + ends + 1].copy()
    inner[0] += law[: middle - ends].sum()
    inner[-1] += law[middle + ends + 1 :].sum()
    return inner


def shown(z: NDArray[Any], ends: int) -> Outcomes:
    return np.asarray(np.clip(z, -ends, ends).astype(np.int64) + ends)


def winner(noise: Any) -> Law:
    """Which of COUNTS is the largest with this noise of scipy.stats."""

    t = np.linspace(-60, 60, 120 * 64 + 1)  # kinks of densities are at whole numbers, so ends of a parabola
    densities = [noise.pdf(t - own) * math.prod(noise.cdf(t - n) for n in COUNTS if n != own) for own in COUNTS]
    return np.asarray(scipy.integrate.simpson(densities, x=t))


def permuted(epsilon: float) -> Law:
    """Permute-and-flip over all orders."""
    p, law = [math.exp(epsilon / 2 * (n - max(COUNTS))) for n in COUNTS], np.zeros(3)
    for order in itertools.permutations(range(3)):
        left = 1 / 6
        for j in order:
            law[j] += left * p[j]
            left *= 1 - p[j]
    return law


EDGES = scipy.stats.norm.ppf(np.arange(1, 12) / 12)


def twelfths(z: NDArray[np.float64]) -> Outcomes:
    """Of the standard normal law."""
    return np.asarray(np.searchsorted(EDGES, z))


def quarters(z: NDArray[np.float64]) -> Outcomes:
    return twelfths(z) // 3


def weighted(runs: int) -> Outcomes:
    """In which quarters the sum of two weights and their difference are, which are independent."""
    y = np.array([1.0, -1.0])
    out = [darrm.labels.WeightedBagAggregates().release(np.ones((2, 1)), y) for _ in range(runs)]
    both = np.array([[one.features[0], one.label] for one in out]) / math.sqrt(2)
    return 4 * quarters(both[:, 0]) + quarters(both[:, 1])


def noisy_weighted(runs: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The first weight, and the label with its noise given the weights: both standard normal."""
    mechanism, y = darrm.labels.NoisyWeightedLabelProportions(1.0, 0.7), np.array([0.0, 1.0, 3.0])
    out = [mechanism.release(y) for _ in range(runs)]
    noise = [(one.label - one.weights @ y) / (0.7 * np.linalg.norm(one.weights)) for one in out]
    return np.array([one.weights[0] for one in out]), np.array(noise)


def signs(first: NDArray[np.float64], second: NDArray[np.float64]) -> Outcomes:
    return 2 * (first > 0) + (second > 0)


def absent(runs: int) -> Outcomes:
    return mechanisms.PrivateDecision(DECISION).release(np.tile([-1, 1, 0], (runs, 1)))


PAIRS = list(itertools.combinations(range(4), 2))


def bag_of_two(runs: int) -> Outcomes:
    return np.array([PAIRS.index(tuple(sorted(mechanisms.bags(4, 2).indices[0].tolist()))) for _ in range(runs)])


def of_columns(runs: int) -> Outcomes:
    votes = pytest.importorskip("pyarrow").table({name: [int(name == "a")] * runs for name in "abcde"})
    return np.asarray(darrm.columns.release(mechanisms.DaRRM(MAJORITY), votes))


def majority_law(ones: int) -> Law:
    gamma = MAJORITY.gamma[ones]
    return coin((1 + gamma) / 2 if 2 * ones > 5 else (1 - gamma) / 2)


GEOMETRIC = laplace(0.7, 100)
CHANCES = [Fraction(1, 2), Fraction(1, 8), Fraction(3, 8)]
GRID = 1024  # of Laplace label proportions, whose noise is shown in units of 1/2
HALVES = np.bincount(
    np.clip(np.floor_divide(np.arange(-40 * GRID, 40 * GRID + 1), GRID // 2), -6, 6) + 6, laplace(1 / GRID, 40 * GRID)
)
SAMPLERS = {
    "Coins": Sampler(coin(0.3), lambda n: Coins([Fraction(0.3)]).flip(np.zeros(n, dtype=np.intp))),
    "RealCoins": Sampler(
        coin(math.exp(-1)),
        lambda n: RealCoins(lambda _: Decimal(-1).exp()).flip(np.zeros(n, dtype=np.int64)).astype(np.int64),
    ),
    "Choices": Sampler(
        np.array([0.5, 0.125, 0.375]), lambda n: Choices(1, 3, lambda _: CHANCES).draw(np.zeros(n, dtype=np.intp))
    ),
    "DiscreteLaplace": Sampler(
        folded(laplace(0.4, 200), 9), lambda n: shown(DiscreteLaplace(Fraction(2, 5)).draw(n), 9)
    ),
    **{
        f"digits, {law.name}": Sampler(
            np.full(12, 1 / 12),
            lambda n, draw=draw, law=law: np.floor(12 * law.cdf(draw(n).near()[0])).astype(np.int64),
        )
        for draw, law in {
            gaussian: scipy.stats.norm,
            laplace_digits: scipy.stats.laplace,
            exponential: scipy.stats.expon,
            gumbel: scipy.stats.gumbel_r,
        }.items()
    },
    "standard_normals": Sampler(np.full(12, 1 / 12), lambda n: twelfths(standard_normals(n, system_words))),
    "DaRRM": Sampler(majority_law(1), lambda n: mechanisms.DaRRM(MAJORITY).release_counts(np.full(n, 1))),
    "DaRRM, rows": Sampler(
        majority_law(4), lambda n: mechanisms.DaRRM(MAJORITY).release(np.tile([1, 0, 1, 1, 1], (n, 1)))
    ),
    "PrivateDecision": Sampler(
        coin(DECISION.table[0, 2]), lambda n: mechanisms.PrivateDecision(DECISION).release(np.tile([0, 1, 1], (n, 1)))
    ),
    "PrivateDecision, absent": Sampler(coin(DECISION.with_present((0, 2)).table[1]), absent),
    "PrivateDecision, classes": Sampler(
        CLASSES.probabilities([[[3, 1, 0]]])[0],
        lambda n: mechanisms.PrivateDecision(CLASSES).release(np.tile([0, 1, 0, 0], (n, 1))),
    ),
    "LaplaceNoisyMax": Sampler(
        winner(scipy.stats.laplace(scale=2)),
        lambda n: mechanisms.LaplaceNoisyMax(0.5).release(np.tile(COUNTS, (n, 1))),
        1_000_000,
    ),
    "GaussianNoisyMax": Sampler(
        winner(scipy.stats.norm(scale=2)), lambda n: mechanisms.GaussianNoisyMax(2.0).release(np.tile(COUNTS, (n, 1)))
    ),
    "ConfidentNoisyMax": Sampler(
        np.append(scipy.stats.norm.sf(0.5) * winner(scipy.stats.norm(scale=2)), scipy.stats.norm.cdf(0.5)),
        lambda n: mechanisms.ConfidentNoisyMax(max(COUNTS) + 1, 2.0, 2.0).release(np.tile(COUNTS, (n, 1))),
    ),
    "PermuteAndFlip": Sampler(permuted(1.0), lambda n: mechanisms.PermuteAndFlip(1.0).release(np.tile(COUNTS, (n, 1)))),
    "ExponentialMechanism": Sampler(
        winner(scipy.stats.gumbel_r(scale=2)),
        lambda n: mechanisms.ExponentialMechanism(1.0).release(np.tile(COUNTS, (n, 1))),
    ),
    "GaussianNoisyMax, sparse": Sampler(
        winner(scipy.stats.norm(scale=2)),
        lambda n: mechanisms.GaussianNoisyMax(2.0).release(scipy.sparse.csr_array(np.tile(COUNTS, (n, 1)))),
    ),
    "RandomizedResponse": Sampler(
        coin(1 / (1 + math.e)), lambda n: mechanisms.RandomizedResponse(1.0).release(np.zeros(n, dtype=np.int64))
    ),
    "RandomizedResponse, classes": Sampler(
        np.array([1, math.e, 1]) / (2 + math.e),
        lambda n: mechanisms.RandomizedResponse(1.0, classes=3).release(np.ones(n, dtype=np.int64)),
    ),
    "GeometricLabelProportions": Sampler(
        np.array([GEOMETRIC[:98].sum(), GEOMETRIC[98], GEOMETRIC[99], GEOMETRIC[100], GEOMETRIC[101:].sum()]),
        lambda n: darrm.labels.GeometricLabelProportions(0.7).release(np.tile(BAG, (n, 1))),
    ),
    "LaplaceLabelProportions": Sampler(
        HALVES,
        lambda n: shown(np.floor(2 * (darrm.labels.LaplaceLabelProportions(1.0).release(np.tile(BAG, (n, 1))) - 3)), 6),
    ),
    "WeightedBagAggregates": Sampler(np.full(16, 1 / 16), weighted, 20_000),
    "NoisyWeightedLabelProportions": Sampler(np.full(4, 1 / 4), lambda n: signs(*noisy_weighted(n)), 20_000),
    "NoisyWeightedLabelProportions, noise": Sampler(
        np.full(12, 1 / 12), lambda n: twelfths(noisy_weighted(n)[1]), 20_000
    ),
    "bags": Sampler(np.full(6, 1 / 6), bag_of_two, 20_000),
    "columns.release": Sampler(majority_law(1), of_columns),
}
FROM_WORDS: dict[str, Callable[[int, WordSource], Outcomes]] = {
    "uniform": lambda n, words: uniform(np.full(n, 5), words, 3),
    "uniform, whole words": lambda n, words: uniform(np.full(n, 5), words),
}
LONGEST = "NoisyWeightedLabelProportions"


@pytest.mark.first(8)
@pytest.mark.parametrize("name", [*(name for name in SAMPLERS if name != LONGEST), *slow(LONGEST)])
def test_draws_follow_the_law(name: str) -> None:
    assert abs(SAMPLERS[name].law.sum() - 1) < 1e-9
    assert not fails(SAMPLERS[name])


def test_every_mechanism_that_releases_is_here() -> None:
    """Exact label proportions draw nothing."""
    releasing = {name for name in mechanisms.__all__ if hasattr(getattr(mechanisms, name), "release")}
    known = {name.partition(",")[0] for name in SAMPLERS}
    missing = sorted(releasing - known - {"LabelProportions"})
    assert not missing, f"Add the law of {', '.join(missing)} to SAMPLERS."
    assert releasing - {"LabelProportions"} == known & releasing


@pytest.fixture
def _biased(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words whose first bit is 1 with probability 1/2 + BIAS; all other bits are fair."""
    true, source = os.urandom, np.random.default_rng(7)

    def urandom(n: int) -> bytes:
        words = np.frombuffer(true(n), dtype=np.uint64).copy()
        words[source.random(words.size) < 2 * BIAS] |= np.uint64(1 << 63)
        return words.tobytes()

    monkeypatch.setattr(os, "urandom", urandom)


# Exchangeable words order a set as well as fair ones do, and so they nearly do what exponential noise asks of them.
# Noise times a weight has no side where both have one.
@pytest.mark.thorough
@pytest.mark.first(0, 12)
@pytest.mark.usefixtures("_biased")
@pytest.mark.parametrize(
    "name", sorted(SAMPLERS.keys() - {"bags", "PermuteAndFlip", "NoisyWeightedLabelProportions, noise"})
)
def test_biased_words_are_found(name: str) -> None:
    assert fails(SAMPLERS[name])


@pytest.mark.thorough
def test_an_order_that_is_not_random_is_found() -> None:
    """A bag that is drawn with the same words in one case of ten."""
    one_of_ten = SAMPLERS["bags"]._replace(draw=lambda n: np.where(np.arange(n) % 10, bag_of_two(n), 0))
    assert fails(one_of_ten)


@pytest.mark.parametrize("name", FROM_WORDS)
def test_equally_likely_numbers(name: str) -> None:
    """Both of those, fair; and by the remainder alone, as is wrong: of 8 words 0, 1 and 2 come from two each."""
    bits = 3 if name == "uniform" else 64
    rng = np.random.default_rng()
    law = np.full(5, 0.2)

    def words(n: int) -> NDArray[np.uint64]:
        return rng.integers(0, 1 << bits, size=n, dtype=np.uint64)

    assert not fails(Sampler(law, lambda n: FROM_WORDS[name](n, words)))
    assert fails(Sampler(law, lambda n: np.random.default_rng(1).integers(0, 8, n) % 5))


@pytest.mark.thorough
def test_the_alarm_is_as_rare_as_said() -> None:
    """Over all counts of one law, exactly: what is called improbable has a probability of at most ALARM."""
    law = np.array([0.9, 0.1])
    ones = np.arange(2001)
    called = np.array([improbable(np.array([2000 - n, n]), law) for n in ones])
    assert 0 < scipy.stats.binom.pmf(ones, 2000, 0.1)[called].sum() <= ALARM
    assert not called[200]

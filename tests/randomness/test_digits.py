"""Continuous noise with digits on demand: its law, the largest of a row, and digits that stay as they were."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from cases import slow
from numpy.typing import NDArray

from darrm.numerics.arrays import Array
from darrm.randomness.coins import Words, WordSource
from darrm.randomness.digits import (
    Deviates,
    Gumbels,
    Uniforms,
    _largest,
    exponential,
    gaussian,
    gumbel,
    laplace,
    reach,
    winners,
)

LAWS: dict[Callable[..., Deviates], Any] = {
    gaussian: scipy.stats.norm,
    laplace: scipy.stats.laplace,
    exponential: scipy.stats.expon,
    gumbel: scipy.stats.gumbel_r,
}
RUNS = 400_000
RARE = 1e-6  # p-values; all draws of this file are seeded


def words(seed: int) -> WordSource:
    rng = np.random.default_rng(seed)

    def draw(n: int) -> Words:
        return rng.integers(0, 1 << 64, size=n, dtype=np.uint64)

    return draw


def p_value(seen: NDArray[np.integer[Any]], law: Array) -> float:
    """By chi-squared, cells of few draws merged."""
    order = np.argsort(law)
    seen, expected = seen[order], law[order] * seen.sum()
    few = max(1, int(np.searchsorted(np.cumsum(expected), 20, side="right")) + 1)
    ours = np.append(seen[:few].sum(), seen[few:])
    theirs = np.append(expected[:few].sum(), expected[few:])
    return float(scipy.stats.chisquare(ours, theirs * ours.sum() / theirs.sum()).pvalue)


@pytest.mark.first(5, 7)
@pytest.mark.parametrize("bits", [64, 8])
@pytest.mark.parametrize("draw", LAWS)
def test_a_deviate_has_its_law(draw: Callable[..., Deviates], bits: int) -> None:
    """In forty cells as likely; with words of 8 bits by the middle of what two words tell."""
    runs = RUNS if bits == 64 else RUNS // 8
    z = draw(runs, words(bits), bits)
    near, _ = z.near()
    if bits < 64:
        # Where it is in its interval of 1/256 is known by the second word, which may have been seen before.
        rest = np.array([z.fraction.word(i, 1) for i in range(runs)])
        size = z.whole + (z.fraction.first + (rest + 0.5) / 256) / 256
        near = -np.log(size) if draw is gumbel else z.sign * size
    cells = np.floor(LAWS[draw].cdf(near) * 40).astype(np.int64)
    assert p_value(np.bincount(cells, minlength=40), np.full(40, 1 / 40)) > RARE


@pytest.mark.parametrize("draw", slow(gaussian, exponential))
def test_digits_that_decided_are_kept(draw: Callable[..., Deviates]) -> None:
    """Words of 3 bits: of the six bits that the first two tell all cells are as likely as they should.

    Second words that are drawn anew would be uniform, whatever was compared with them before.
    """
    z = draw(RUNS // 2, words(3), 3)
    second = np.array([z.fraction.word(i, 1) for i in range(RUNS // 2)])
    edges = np.arange(65) / 64 + np.arange(3)[:, None]
    law = np.diff(LAWS[draw].cdf(edges), axis=1) * (2 if draw is gaussian else 1)
    anew = []
    for whole in range(3):
        here = z.whole == whole
        cells = (8 * z.fraction.first[here].astype(np.int64)) + second[here]
        assert p_value(np.bincount(cells, minlength=64), law[whole] / law[whole].sum()) > RARE
        within = law[whole].reshape(8, 8).sum(axis=1, keepdims=True) / 8
        flat = np.broadcast_to(within, (8, 8)).ravel() / law[whole].sum()
        anew.append(p_value(np.bincount(cells, minlength=64), flat))
    assert min(anew) < RARE


def chances(law: Any, means: Array) -> Array:
    """Of each to be the largest, by scipy's densities and quadrature."""

    def density(t: float, j: int) -> float:
        return float(law.pdf(t - means[j]) * np.prod(law.cdf(t - np.delete(means, j))))

    low, high = means.min() - 40, means.max() + 40
    return np.array(
        [scipy.integrate.quad(density, low, high, (j,), points=means, limit=500, epsabs=1e-11)[0] for j in range(3)]
    )


@pytest.mark.thorough
@pytest.mark.first(1, 2)
@pytest.mark.parametrize("bits", [64, 4])
@pytest.mark.parametrize("draw", LAWS)
def test_the_largest_is_as_likely_as_it_should(draw: Callable[..., Deviates], bits: int) -> None:
    runs, behind, rate = RUNS if bits == 64 else RUNS // 30, np.array([0, 1, 3]), Fraction(3, 8)
    labels = winners(np.tile(behind, (runs, 1)), rate, lambda n: draw(n, words(7), bits))
    assert p_value(np.bincount(labels, minlength=3), chances(LAWS[draw], -behind * 0.375)) > RARE


@pytest.mark.thorough
@pytest.mark.parametrize("bits", [64, 3])
def test_what_is_reached_is_as_likely_as_it_should(bits: int) -> None:
    """Normal noise against numbers at, beside and between the ends of what is known of it."""
    runs = 40_000 if bits == 64 else 3000
    for least in (Fraction(0), Fraction(-5, 8), Fraction(1, 3), Fraction(7, 4) + Fraction(1, 2**90)):
        seen = np.count_nonzero(reach(gaussian(runs, words(3), bits), [least] * runs))
        p = scipy.stats.norm.sf(float(least))
        assert p_value(np.array([seen, runs - seen]), np.array([p, 1 - p])) > RARE


@pytest.mark.parametrize("bits", [64, 2])
def test_what_is_reached_holds_for_the_digits_that_are_known(bits: int) -> None:
    """Also within one part in 2^90 of the noise, where floats see no difference, and beyond all floats."""
    z = gaussian(400, words(8), bits)
    rng, least = np.random.default_rng(3), []
    for i in range(400):
        low, high = map(Fraction, z.bounds(i))
        least.append(low + (high - low) * Fraction(float(rng.uniform(-0.2, 1.2))))
    least[:2] = Fraction(10) ** 400, -(Fraction(10) ** 400)
    found = reach(z, least)
    assert found[:2].tolist() == [False, True]
    for i, sure in enumerate(found.tolist()):
        low, high = z.bounds(i)
        assert least[i] <= low if sure else high <= least[i]
    assert sum(z.fraction.known(i)[1] > bits for i in range(400)) > 200
    assert 100 < np.count_nonzero(found) < 300


@pytest.mark.thorough
@pytest.mark.first(1, 3)
@pytest.mark.parametrize("draw", LAWS)
def test_ties_refine_both_for_good(draw: Callable[..., Deviates]) -> None:
    """Words of two bits, so that most rows are refined; all labels hold for the digits that are known in the end."""
    kept: list[Deviates] = []

    def drawn(n: int) -> Deviates:
        kept.append(draw(n, words(11), 2))
        return kept[0]

    behind = np.random.default_rng(1).integers(0, 3, size=(500, 3))
    behind -= behind.min(axis=1, keepdims=True)
    rate = Fraction(1, 4)
    labels = winners(behind, rate, drawn)
    z = kept[0]
    assert sum(z.fraction.known(i)[1] > 2 for i in range(1500)) > 400
    before = [z.bounds(i) for i in range(1500)]
    # With other votes, and so other rivals, the same noise goes on from what is known.
    again = winners(behind[:, ::-1] - behind[:, ::-1].min(axis=1, keepdims=True), rate, lambda _: z)
    for i, (low, high) in enumerate(before):
        now = z.bounds(i)
        assert low <= now[0] < now[1] <= high
    for row in range(500):
        for label, less in ((labels[row], behind[row]), (again[row], behind[row, ::-1])):
            ends = [z.bounds(3 * row + j) for j in range(3)]
            own = ends[label][0] - rate * int(less[label])
            assert all(own >= ends[j][1] - rate * int(less[j]) for j in range(3) if j != label)


@pytest.mark.thorough
@pytest.mark.parametrize("bits", [64, 12])
@pytest.mark.parametrize("draw", LAWS)
def test_floats_are_as_near_as_said(draw: Callable[..., Deviates], bits: int) -> None:
    z = draw(2000, words(5), bits)
    near, off = z.near()
    for i in range(2000):
        low, high = z.bounds(i)
        assert Fraction(near[i]) - Fraction(min(off[i], 1e9)) <= low or math.isinf(off[i])
        assert high <= Fraction(near[i]) + Fraction(min(off[i], 1e9)) or math.isinf(off[i])


@pytest.mark.thorough
@pytest.mark.parametrize("rate", [Fraction(1, 7), Fraction(10) ** 400, Fraction(1, 10**400), Fraction(1, 10**12)])
@pytest.mark.parametrize("draw", LAWS)
def test_floats_decide_as_digits_do(draw: Callable[..., Deviates], rate: Fraction) -> None:
    kept: list[Deviates] = []

    def drawn(n: int) -> Deviates:
        kept.append(draw(n, words(6)))
        return kept[0]

    behind = np.random.default_rng(2).choice([0, 0, 1, 5, 10**12], size=(300, 4))
    behind[:, 2] = 0
    labels = winners(behind, rate, drawn)
    slow = [_largest([rate * less for less in row.tolist()], kept[0], 4 * i) for i, row in enumerate(behind)]
    assert labels.tolist() == slow


def test_the_closest_rivals_are_told_apart() -> None:
    """By the last bit of the third word, where floats see no difference."""
    given = [5, 5, 9, 9, 4, 3]  # first words, second words, third words
    left = np.array(given, dtype=np.uint64)

    def draw(n: int) -> Words:
        nonlocal left
        now, left = left[:n], left[n:]
        return now

    for sign, label in ((1, 0), (-1, 1)):
        left = np.array(given, dtype=np.uint64)
        z = Deviates(np.array([sign, sign]), np.array([2, 2]), Uniforms(2, draw, 64))
        assert _largest([Fraction(0)] * 2, z, 0) == label
        assert not left.size
        assert z.fraction.known(0)[1] == 192


@pytest.mark.thorough
def test_logarithms_are_enclosed() -> None:
    flint = pytest.importorskip("flint")
    rng = np.random.default_rng(4)
    for bits in (3, 20, 64):
        z = gumbel(60, words(bits), bits)
        for i in range(60):
            for _ in range(int(rng.integers(0, 3))):
                z.fraction.refine(i)
            low, high = Deviates.bounds(z, i)
            least, most = z.bounds(i)
            with flint.ctx.workprec(600):
                ends = [
                    -(flint.arb(flint.fmpq(Fraction(x).numerator, Fraction(x).denominator))).log() for x in (high, low)
                ]
                given = [
                    flint.arb(flint.fmpq(x.numerator, x.denominator)) for x in (least, most) if isinstance(x, Fraction)
                ]
                assert given[0] <= ends[0]
                if low:
                    assert ends[1] <= given[1]
                    assert given[1] - given[0] < 2 * (ends[1] - ends[0])
                else:
                    assert most == math.inf


@pytest.mark.thorough
def test_gumbels_are_made_of_exponentials() -> None:
    """The race: the largest of -ln E_j - rate a_j is the first of E_j e^(rate a_j), and all is as likely as softmax."""
    behind, rate = np.array([0, 1, 2, 5]), 0.5
    weights = np.exp(-rate * behind)
    labels = winners(np.tile(behind, (RUNS, 1)), Fraction(1, 2), lambda n: gumbel(n, words(9)))
    assert isinstance(gumbel(1), Gumbels)
    assert p_value(np.bincount(labels, minlength=4), weights / weights.sum()) > RARE

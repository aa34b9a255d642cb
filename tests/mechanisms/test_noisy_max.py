"""Discrete noise is what it says, digit by digit, and noisy max keeps its guarantee."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import darrm
from darrm.mechanisms import GaussianNoisyMax, LaplaceNoisyMax
from darrm.randomness.coins import Words
from darrm.randomness.discrete import DiscreteGaussian, DiscreteLaplace, RealCoins
from darrm.randomness.words import NotPrivateWarning


def words(seed: int):
    rng = np.random.default_rng(seed)

    def draw(n: int) -> Words:
        return rng.integers(0, 1 << 64, size=n, dtype=np.uint64)

    return draw


def test_digits_of_a_bias_are_right() -> None:
    coins = RealCoins(lambda which: (-Decimal(which + 1) / 7).exp())
    for which in (0, 3, 300):
        with localcontext(Context(prec=400)):
            value = int((-Decimal(which + 1) / 7).exp() * Decimal(2) ** 640)
        assert [coins.word(which, j) for j in range(10)] == [value >> 64 * (9 - j) & 2**64 - 1 for j in range(10)]


def test_a_rational_bias_has_exact_digits() -> None:
    coins = RealCoins(lambda which: (Fraction(3, 4), Fraction(1, 3))[which])
    assert [coins.word(0, j) for j in range(3)] == [3 << 62, 0, 0]
    assert [coins.word(1, j) for j in range(3)] == [0x5555555555555555] * 3


def test_a_decimal_of_few_binary_digits_is_refused() -> None:
    """No precision tells whether 3/4 is a little more or less."""
    with pytest.raises(ValueError, match=r"Fraction\. Got 0\.75"):
        RealCoins(lambda _: Decimal(3) / 4).flip(np.zeros(1, dtype=np.int64))


@pytest.mark.parametrize("bias", [Fraction(0), Fraction(1), Fraction(3, 2), Fraction(-1, 4)])
def test_a_fraction_beyond_0_and_1_is_refused(bias: Fraction) -> None:
    with pytest.raises(ValueError, match=r"must be in \(0, 1\)"):
        RealCoins(lambda _: bias).word(0, 0)


def test_a_bias_a_hair_below_1_has_its_digits() -> None:
    """1 - 1e-300 has 996 ones before the first 0, which 300 more decimal digits tell."""
    coins = RealCoins(lambda _: (-Decimal("1e-300")).exp())
    ones = "".join(f"{coins.word(0, j):064b}" for j in range(17))
    assert len(ones) - len(ones.lstrip("1")) == 996


def test_a_coin_is_decided_at_the_first_digit_that_differs() -> None:
    coins = RealCoins(lambda which: Decimal(2).ln())
    first, second = coins.word(0, 0), coins.word(0, 1)
    for given, wanted in (
        ([first - 1], True),
        ([first + 1], False),
        ([first, second - 1], True),
        ([first, second + 1], False),
    ):
        left = list(given)
        assert (
            coins.flip(np.zeros(1, dtype=np.int64), lambda n, left=left: np.array([left.pop(0)], dtype=np.uint64))
            == wanted
        )  # type: ignore[misc]
        assert not left


@pytest.mark.first(2)
@pytest.mark.parametrize("rate", [Fraction(5), Fraction(1), Fraction(1, 10), Fraction(0.003)])
def test_discrete_laplace(rate: Fraction) -> None:
    n = 300_000
    x = DiscreteLaplace(rate).draw(n, words(1))
    p = np.tanh(float(rate) / 2) * np.exp(-float(rate) * np.abs(np.arange(-3, 4)))
    seen = np.array([(x == k).mean() for k in range(-3, 4)])
    assert np.all(np.abs(seen - p) <= 5 * np.sqrt(p * (1 - p) / n) + 1e-12)
    variance = 1 / (2 * math.sinh(float(rate) / 2) ** 2)
    assert x.var() == pytest.approx(variance, rel=0.03)


@pytest.mark.first(2)
@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(40)])
def test_discrete_gaussian(sigma: Fraction) -> None:
    n = 200_000
    x = DiscreteGaussian(sigma).draw(n, words(2))
    every = np.arange(-400, 401)
    weight = np.exp(-(every**2) / (2 * float(sigma) ** 2))
    p = (weight / weight.sum())[397:404]
    seen = np.array([(x == k).mean() for k in range(-3, 4)])
    assert np.all(np.abs(seen - p) <= 5 * np.sqrt(p * (1 - p) / n) + 1e-12)
    assert x.var() == pytest.approx((weight * every**2).sum() / weight.sum(), rel=0.03)


def laplace_max(counts: list[int], gamma: float, order: list[int]) -> list[float]:
    """Output probabilities by summing over all noises that matter; ties to the class that comes first in ``order``."""
    k = np.arange(-120, 121)
    pmf = np.tanh(gamma / 2) * np.exp(-gamma * np.abs(k))
    cdf = np.cumsum(pmf)

    def below(t: np.ndarray, strict: bool) -> np.ndarray:
        at = np.clip(t - int(strict) + 120, -1, 240)
        return np.where(at < 0, 0.0, cdf[at])

    answer = []
    for j, count in enumerate(counts):
        others = np.ones(k.size)
        for i, other in enumerate(counts):
            if i != j:
                others *= below(count + k - other, strict=order.index(i) < order.index(j))
        answer.append(float(pmf @ others))
    return answer


@pytest.mark.parametrize("gamma", [0.2, 1.0])
def test_laplace_noisy_max_is_two_gamma_private(gamma: float) -> None:
    for counts in ([5, 3, 2], [4, 4, 4], [1, 0, 9]):
        for order in ([0, 1, 2], [2, 0, 1]):
            p = laplace_max(counts, gamma, order)
            for a in range(3):
                for b in range(3):
                    if a != b and counts[a] > 0:
                        moved = list(counts)
                        moved[a] -= 1
                        moved[b] += 1
                        q = laplace_max(moved, gamma, order)
                        assert max(abs(math.log(x / y)) for x, y in zip(p, q, strict=True)) <= 2 * gamma + 1e-9


def test_labels_come_as_often_as_they_should() -> None:
    counts, n = [5, 3, 3], 100_000
    mechanism = LaplaceNoisyMax(0.5)
    labels = mechanism.release([counts] * n)
    p = np.mean(
        [
            laplace_max(counts, 0.5, list(order))
            for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0])
        ],
        axis=0,
    )
    seen = np.bincount(labels, minlength=3) / n
    assert np.all(np.abs(seen - p) <= 5 * np.sqrt(p * (1 - p) / n))
    assert mechanism.epsilon == 1.0
    gaussian = GaussianNoisyMax(2.0)
    seen = np.bincount(gaussian.release([[4, 4]] * n), minlength=2) / n
    assert abs(seen[0] - 0.5) <= 5 * 0.5 / math.sqrt(n)
    assert gaussian.rdp([2.0, 10.0]).tolist() == [0.5, 2.5]
    assert set(GaussianNoisyMax(0.01).release([[9, 1, 0], [0, 1, 7]])) == {0, 2}


def test_the_least_words_still_choose_a_largest_count(monkeypatch: pytest.MonkeyPatch) -> None:
    from darrm.mechanisms import noisy_max

    monkeypatch.setattr(noisy_max, "word_source", lambda *_, **__: lambda n: np.zeros(n, dtype=np.uint64))
    mechanism = LaplaceNoisyMax(1.0)
    monkeypatch.setattr(mechanism._noise, "draw", lambda n, words: np.zeros(n, dtype=np.int64))
    assert mechanism.release([[1, 5, 2], [0, 0, 1], [7, 1, 1]]).tolist() == [1, 2, 0]


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
    with pytest.raises(darrm.InputError, match="no labels: count them first"):
        mechanism.release([[True, False, True]])
    # No counts are refused for their numbers, which would tell something about the votes: two voters who disagree,
    # one voter, none.
    for counts in ([[1, 1]], [[1, 0, 1]], [[0, 0, 1]], [[0, 0]], [[8, 0]]):
        assert mechanism.release(counts).shape == (1,)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "1", None])
def test_noise_that_is_none(value: object) -> None:
    for kind in (GaussianNoisyMax, LaplaceNoisyMax):
        with pytest.raises(darrm.InputError, match="must be"):
            kind(value)  # type: ignore[arg-type]


def test_discrete_laplace_beyond_its_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """With hardly any digits the rare event that stands for all higher ones is a common one."""
    from darrm.randomness import discrete

    monkeypatch.setattr(discrete, "_TOP", 1)
    rate, n = Fraction(1, 3), 300_000
    x = DiscreteLaplace(rate).draw(n, words(4))
    p = np.tanh(float(rate) / 2) * np.exp(-float(rate) * np.abs(np.arange(-12, 13)))
    seen = np.array([(x == k).mean() for k in range(-12, 13)])
    assert np.all(np.abs(seen - p) <= 5 * np.sqrt(p * (1 - p) / n))
    assert x.var() == pytest.approx(1 / (2 * math.sinh(float(rate) / 2) ** 2), rel=0.03)

"""Coins of real biases and discrete Laplace noise are what they say, digit by digit."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from darrm.randomness.coins import Words, WordSource
from darrm.randomness.discrete import DiscreteLaplace, RealCoins


def words(seed: int) -> WordSource:
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


@pytest.mark.thorough
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


@pytest.mark.thorough
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

"""Whether the largest of many further deviates is beyond one: its law, by float64 and by digits on demand."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from darrm.numerics.exact import context
from darrm.randomness import others
from darrm.randomness.coins import Words, WordSource
from darrm.randomness.digits import Deviates, exponential, gaussian, gumbel, laplace
from darrm.randomness.others import (
    BELOW_EXPONENTIAL,
    BELOW_GAUSSIAN,
    BELOW_GUMBEL,
    BELOW_LAPLACE,
    Below,
    _power,
    beyond,
)

LAWS: dict[Callable[..., Deviates], tuple[Below, Any]] = {
    gaussian: (BELOW_GAUSSIAN, scipy.stats.norm),
    laplace: (BELOW_LAPLACE, scipy.stats.laplace),
    exponential: (BELOW_EXPONENTIAL, scipy.stats.expon),
    gumbel: (BELOW_GUMBEL, scipy.stats.gumbel_r),
}
RARE = 1e-6  # p-values; all draws of this file are seeded


def words(seed: int) -> WordSource:
    rng = np.random.default_rng(seed)

    def draw(n: int) -> Words:
        return rng.integers(0, 1 << 64, size=n, dtype=np.uint64)

    return draw


@pytest.mark.thorough
@pytest.mark.first(3)
@pytest.mark.parametrize("bits", [64, 3])
@pytest.mark.parametrize("draw", LAWS)
def test_one_draw_stands_for_many(draw: Callable[..., Deviates], bits: int) -> None:
    """Pr[the largest of m others is above z + lead] = 1 - E F(z + lead)^m; words of 3 bits leave most to digits."""
    below, law = LAWS[draw]
    runs, m, lead = 40_000 if bits == 64 else 1500, 7, 2
    noise = draw(runs, words(1), bits)
    above = beyond(noise, np.arange(runs), (np.full(runs, lead), Fraction(2, 5)), m, below, words(2))
    p = 1 - scipy.integrate.quad(lambda z: law.pdf(z) * law.cdf(z + 0.8) ** m, -30, 60, points=[0.0], limit=500)[0]
    assert scipy.stats.binomtest(int(above.sum()), runs, p).pvalue > RARE


@pytest.mark.thorough
@pytest.mark.parametrize("draw", LAWS)
def test_what_was_decided_holds_for_the_digits_that_are_known(draw: Callable[..., Deviates]) -> None:
    """Words of two bits: U and the power are apart by what is known of them in the end, in each of 300 rows."""
    below, _ = LAWS[draw]
    kept: list[Any] = []

    class Kept(others.Uniforms):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            kept.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(others, "Uniforms", Kept)
        noise = draw(300, words(3), 2)
        above = beyond(noise, np.arange(300), (np.full(300, 3), Fraction(1, 3)), 4, below, words(4))
    for i, beaten in enumerate(above.tolist()):
        bits, count = kept[0].known(i)
        low, high = (_power(end + 1, 4, below, 60) for end in noise.bounds(i))
        u = Fraction(bits, 1 << count)
        assert u >= high if beaten else u + Fraction(1, 1 << count) <= low
    assert 30 < above.sum() < 270
    assert sum(kept[0].known(i)[1] > 2 for i in range(300)) > 50


@pytest.mark.thorough
@pytest.mark.parametrize("draw", LAWS)
def test_a_distribution_function_has_the_digits_that_it_claims(draw: Callable[..., Deviates]) -> None:
    """In float64 to a relative 1e-12, against itself with sixty digits; and these against twice as many, and scipy."""
    below, law = LAWS[draw]
    t = np.concatenate([np.linspace(-24, 40, 60), [1e-300, 0.0, -1e-9]])
    with localcontext(context(320)):
        close = [below.closely(Decimal(x), 60) for x in t.tolist()]
        closer = [below.closely(Decimal(x), 280) for x in t.tolist()]
    assert max(abs(a - b) for a, b in zip(close, closer, strict=True)) < Decimal(10) ** -60
    for x, ours, exact in zip(t.tolist(), below.near(t).tolist(), closer, strict=True):
        assert float(exact) == pytest.approx(law.cdf(x), rel=1e-10, abs=1e-15)
        if ours >= 1e-290:
            assert abs(Decimal(ours) / exact - 1) < Decimal("1e-12")


@pytest.mark.filterwarnings("error")
def test_no_others_and_leads_beyond_all_floats() -> None:
    noise = gaussian(50, words(5))
    at, one = np.arange(50), np.ones(50, dtype=np.int64)
    assert not beyond(noise, at, (one, Fraction(1)), 0, BELOW_GAUSSIAN, words(6)).any()
    assert not beyond(noise, at, (one, Fraction(10) ** 400), 10**7, BELOW_GAUSSIAN, words(6)).any()
    assert beyond(noise, at, (one, Fraction(1, 10**400)), 10**7, BELOW_GAUSSIAN, words(6)).all()
    assert _power(Fraction(-3), 10**7, BELOW_GAUSSIAN, 40) == 0  # at once, though it is 10^-28,000,000
    assert _power(float("inf"), 3, BELOW_GUMBEL, 20) == 1
    assert _power(float("-inf"), 3, BELOW_GUMBEL, 20) == 0

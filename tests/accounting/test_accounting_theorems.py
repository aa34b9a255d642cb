"""Published compositions: their own figures, their definitions, and each other."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import darrm
from darrm.accounting import general, optimal, simple

# Tables 2, 5, 7, 9 of Jiang, Zhang, Joshi (TMLR 2024): K = 11, delta' = 1e-4, Delta = 1e-4; epsilon of one query by
# m, queries, total epsilon. MNIST has epsilon = .0892 a teacher, Fashion-MNIST .0852.
TABLES = [
    (0.0892, 1, 20, 1.704), (0.0892, 1, 50, 2.837), (0.0892, 1, 100, 4.202),
    (0.0892, 3, 20, 5.352), (0.0892, 3, 50, 9.901), (0.0892, 3, 100, 15.044),
    (0.0892, 5, 20, 8.92), (0.0892, 5, 50, 18.428), (0.0892, 5, 100, 28.926),
    (0.0892, 7, 20, 12.488), (0.0892, 7, 50, 28.392), (0.0892, 7, 100, 45.683),
    (0.0852, 1, 20, 1.62), (0.0852, 1, 50, 2.695), (0.0852, 1, 100, 3.988),
    (0.0852, 3, 20, 5.112), (0.0852, 3, 50, 9.382), (0.0852, 3, 100, 14.219),
    (0.0852, 5, 20, 8.52), (0.0852, 5, 50, 17.398), (0.0852, 5, 100, 27.223),
    (0.0852, 7, 20, 11.928), (0.0852, 7, 50, 26.738),
]  # fmt: skip
# Table 3: K = 35, epsilon = .1, Delta = 1e-5, delta' = .1; m = general composition of M mechanisms, in epsilons.
TABLE_3 = [(10, 6.4521, 0.1001), (13, 7.5742, 0.1001), (15, 8.2708, 0.1001), (20, 9.8823, 0.1002)]


@pytest.mark.first(8)
@pytest.mark.parametrize(("epsilon", "m", "queries", "total"), TABLES)
def test_general_gives_tables_2_5_7_9(epsilon: float, m: int, queries: int, total: float) -> None:
    assert general(m * epsilon, m * 1e-4, queries, 1e-4).epsilon == pytest.approx(total, abs=6e-4)


@pytest.mark.parametrize(("M", "m", "delta"), TABLE_3)
def test_general_gives_table_3(M: int, m: float, delta: float) -> None:
    total = general(0.1, 1e-5, M, 0.1)
    assert total.epsilon / 0.1 == pytest.approx(m, abs=6e-5)
    assert total.delta == pytest.approx(delta, abs=6e-5)


@pytest.mark.parametrize("k", [1, 2, 7, 35, 101])
def test_the_delta_of_general_composition_is_rounded_up(k: int) -> None:
    for delta in (0.0, 1e-12, 1e-5, 0.001, 0.1):
        for prime in (1e-12, 1e-5, 0.1, 0.75):
            exact = 1 - (1 - Fraction(delta)) ** k * (1 - Fraction(prime))
            found = general(0.1, delta, k, prime).delta
            assert Fraction(math.nextafter(found, 0)) < exact <= Fraction(found)


def test_simple_adds_up() -> None:
    assert simple(0.1, 1e-5, 7) == pytest.approx((0.7, 7e-5))
    assert simple(0.1, 0.4, 7).delta == 1


def excess(epsilon: float, k: int, total: float) -> float:
    """V of k randomized responses by the definition, in fractions."""
    hi = Fraction(math.exp(epsilon)) / (1 + Fraction(math.exp(epsilon)))
    ratio = Fraction(math.exp(total))
    terms = (
        math.comb(k, i) * max(Fraction(0), hi**i * (1 - hi) ** (k - i) - ratio * hi ** (k - i) * (1 - hi) ** i)
        for i in range(k + 1)
    )
    return float(sum(terms))


@pytest.mark.parametrize("k", [1, 2, 7, 40])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.01])
def test_optimal_is_the_least_by_its_definition(k: int, epsilon: float, delta: float) -> None:
    unavoidable = -math.expm1(k * math.log1p(-delta))
    for share in (1e-9, 1e-4, 0.05, 0.3):
        total = unavoidable + share * (1 - unavoidable)
        found = optimal(epsilon, delta, k, total).epsilon
        assert excess(epsilon, k, found) <= share * (1 + 1e-6)
        if found > 0:
            assert excess(epsilon, k, found * (1 - 1e-6)) > share * (1 - 1e-5)


def least(epsilon: float, delta: float, k: int, total: float) -> Decimal:
    """The least total epsilon by bisection, in 60 digits."""
    with localcontext(Context(prec=60)):
        e = Decimal(epsilon)
        hi = e.exp() / (1 + e.exp())

        def holds(at: Decimal) -> bool:
            V = sum(
                math.comb(k, i) * hi**i * (1 - hi) ** (k - i) * max(Decimal(0), 1 - (at - (2 * i - k) * e).exp())
                for i in range(k + 1)
            )
            return 1 - (1 - Decimal(delta)) ** k * (1 - V) <= Decimal(total)

        low, high = Decimal(0), k * e
        if holds(low):
            return low
        for _ in range(120):
            middle = (low + high) / 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return low


@pytest.mark.thorough
def test_optimal_is_on_the_safe_side() -> None:
    rng = np.random.default_rng(4)
    for _ in range(40):
        k = int(rng.integers(1, 12))
        epsilon, delta = float(10 ** rng.uniform(-7, 1)), float(rng.choice([0.0, 1e-9, 0.01, 0.3]))
        unavoidable = -math.expm1(k * math.log1p(-delta))
        total = float(unavoidable + (1 - unavoidable) * 10 ** rng.uniform(-12, -0.01))
        if unavoidable < total < 1:
            found, true = optimal(epsilon, delta, k, total).epsilon, least(epsilon, delta, k, total)
            assert true <= Decimal(found) <= true * (1 + Decimal("1e-9")) + Decimal("1e-11")


def test_optimal_is_never_above_the_others() -> None:
    for k in (1, 10, 1000):
        for epsilon in (0.01, 0.5):
            wide = general(epsilon, 1e-8, k, 1e-3)
            assert optimal(epsilon, 1e-8, k, wide.delta).epsilon <= wide.epsilon * (1 + 1e-9)
            assert optimal(epsilon, 0.0, k, 0.0).epsilon == pytest.approx(k * epsilon)


def test_optimal_of_a_million_is_near_its_normal_limit() -> None:
    from scipy.stats import norm

    k, epsilon, delta = 10**6, 1e-3, 1e-5
    mu = math.sqrt(k) * epsilon  # privacy losses of size epsilon: mean k eps^2 / 2, variance k eps^2
    found = optimal(epsilon, 0.0, k, delta).epsilon
    limit = norm.cdf(mu / 2 - found / mu) - math.exp(found) * norm.cdf(-mu / 2 - found / mu)
    assert limit == pytest.approx(delta, rel=2e-3)


@pytest.mark.thorough
def test_optimal_agrees_with_a_privacy_loss_distribution() -> None:
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import common, privacy_loss_distribution

    one = privacy_loss_distribution.from_privacy_parameters(
        common.DifferentialPrivacyParameters(0.2676, 3e-4), value_discretization_interval=1e-4
    )
    theirs = one.self_compose(100).get_epsilon_for_delta(0.0297)
    ours = optimal(0.2676, 3e-4, 100, 0.0297).epsilon
    assert theirs - 2e-2 <= ours <= theirs + 1e-9


def test_fixed_teachers_of_table_2() -> None:
    """Any number of queries, where the paper reports 15.04 for a hundred."""
    assert optimal(0.0892, 1e-4, 11, 0.0011).epsilon == pytest.approx(0.981, abs=1e-3)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        *[(simple, these) for these in ((-1, 0, 1), (float("nan"), 0, 1), (0.1, 2, 1), (0.1, 0, 0), (0.1, 0, 1.5))],
        *[(general, (0.1, 0, 1, prime)) for prime in (0, -1, 2, float("nan"), "x")],
        *[(optimal, (0.1, 0, 1, total)) for total in (-1e-9, 1, float("nan"), None)],
        (optimal, (0.1, 0, 10**9, 0.1)),
        (optimal, (True, 0, 1, 0.1)),
    ],
)  # fmt: skip
def test_bad_input(function: object, arguments: tuple[object, ...]) -> None:
    with pytest.raises(darrm.InputError, match="Got"):
        function(*arguments)  # type: ignore[operator]


def test_a_delta_that_cannot_be_is_named() -> None:
    with pytest.raises(darrm.InputError, match=r"0\.0109452"):
        optimal(0.1, 1e-3, 11, 0.01)


def test_sums_are_rounded_up_and_tiny_deltas_count() -> None:
    for k in range(1, 60):
        for epsilon in (0.1, 0.3, 0.7):
            assert Fraction(optimal(epsilon, 0.0, k, 0.0).epsilon) >= k * Fraction(epsilon)
            assert Fraction(simple(epsilon, 1e-9, k).epsilon) >= k * Fraction(epsilon)
    with pytest.raises(darrm.InputError, match="unavoidable"):
        optimal(0.1, 1e-70, 3, 0.0)

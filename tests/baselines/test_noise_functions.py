"""Baselines as noise functions are the mechanisms they stand for."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import darrm
from darrm import baselines


@pytest.mark.parametrize(("K", "m"), [(5, 3), (6, 3), (7, 4), (8, 2), (11, 5)])
def test_subsampling_is_what_drawing_votes_gives(K: int, m: int) -> None:
    """Pick m of K votes and release their majority, a fair coin on a tie."""
    rng = np.random.default_rng(K + m)
    n = 40_000
    gamma = baselines.subsampling(K, m)
    for l in range(K // 2 + 1, K + 1):
        drawn = rng.permuted(np.tile(np.arange(K) < l, (n, 1)), axis=1)[:, :m].sum(axis=1)
        right = np.where(2 * drawn == m, rng.random(n) < 0.5, 2 * drawn > m).mean()
        assert abs(right - (1 + gamma[l]) / 2) <= 5 * 0.5 / np.sqrt(n)


def test_any_algorithm_enters_by_how_often_it_is_right() -> None:
    for K, m in ((5, 3), (6, 3)):
        gamma = baselines.subsampling(K, m)
        assert baselines.from_accuracy((1 + gamma) / 2) == pytest.approx(gamma, abs=1e-15)
    assert baselines.from_accuracy([1, 0.5, 1]).tolist() == [1, 0, 1]
    exact = Fraction(3, 4)
    assert baselines.from_accuracy([exact, exact]).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    "chance", [[1], [1, 0.4, 1], [1, 0.9], [1.1, 1.1], [[1, 1]], [float("nan")] * 3, "ab", None, [0.6, 0.5, 0.7]]
)
def test_accuracies_that_are_none(chance: object) -> None:
    with pytest.raises(darrm.InputError, match="pr_correct must"):
        baselines.from_accuracy(chance)  # type: ignore[arg-type]


@pytest.mark.parametrize("m", [0, 6, 2.5, "3", True, -1, float("nan")])
def test_subsampling_of_no_whole_number(m: object) -> None:
    with pytest.raises(darrm.InputError, match=r"m must be an integer in \[1, K\] = \[1, 5\]"):
        baselines.subsampling(5, m)  # type: ignore[arg-type]


def test_a_constant_by_general_composition() -> None:
    # Appendix D.1.1 of the paper, K = 35: tau 14.0328 and lambda .1003 (Table 3).
    problem = darrm.MajorityProblem(K=35, m=6.4521, epsilon=0.1, Delta=1e-5, delta=0.1001)
    found = baselines.constant(problem, delta_prime=0.1)
    general = darrm.accounting.general(0.1, 1e-5, 35, 0.1)
    assert found == pytest.approx(baselines.constant(problem, general.epsilon / 0.1, general.delta), abs=1e-15)
    assert found[0] > baselines.constant(problem)[0]
    assert darrm.verify(found, problem).holds
    assert np.array_equal(
        baselines.constant(problem, delta_prime=Fraction(1, 8)), baselines.constant(problem, delta_prime=0.125)
    )  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match="either tau and lam, or delta_prime"):
        baselines.constant(problem, tau=2.0, delta_prime=0.1)
    with pytest.raises(darrm.InputError, match="delta_prime"):
        baselines.constant(problem, delta_prime=0.0)


def corners(a: Decimal, b: Decimal, lam: Decimal) -> Decimal:
    """The largest q - a q' over the corners of all pairs that are (tau epsilon, lam)-close, found as the paper does."""
    high, low = (b + lam) / (b + 1), (1 - lam) / (b + 1)
    pairs = [(0, 0), (1, 1), (0, lam), (lam, 0), (1 - lam, 1), (1, 1 - lam), (high, low), (low, high)]
    return max(q - a * other for q, other in pairs)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 2.0, 40.0])
@pytest.mark.parametrize("m", [0.25, 2.0, 2.5, 5.0])
@pytest.mark.parametrize("tau", [0.5, 2.0, 3.5, 11.0])
@pytest.mark.parametrize("lam", [0.0, 1e-12, 0.1, 0.75])
def test_a_constant_keeps_the_guarantee_at_every_corner(epsilon: float, m: float, tau: float, lam: float) -> None:
    for delta in (0.0, 1e-12, 0.1, 0.3):
        problem = darrm.MajorityProblem(11, m, epsilon, 0.0, delta=delta)
        gamma = baselines.constant(problem, tau, lam)[0]
        with localcontext() as context:
            context.prec = 400
            a, b = ((Decimal(x) * Decimal(epsilon)).exp() for x in (m, tau))
            worst, allowed = 2 * corners(a, b, Decimal(lam)) + a - 1, a - 1 + 2 * Decimal(delta)
            assert Decimal(gamma) * worst <= allowed * (1 + Decimal("1e-300"))
            assert gamma == 1 or Decimal(math.nextafter(gamma, 2)) * worst > allowed  # the largest float64


@pytest.mark.parametrize(
    ("K", "m", "value", "printed"), [(35, 16, 0.951842417886, 9.13e-6), (101, 30, 0.989629534257, 1.325e-4)]
)
def test_a_constant_of_voters_who_cost_less_than_the_release(K: int, m: int, value: float, printed: float) -> None:
    """There tau < m, and by the paper's corner (13) the plain majority would do; this is what it needs."""
    problem = darrm.MajorityProblem(K=K, m=m, epsilon=0.1)
    gamma = baselines.constant(problem, delta_prime=0.1)
    assert gamma == pytest.approx(value, abs=1e-12)
    assert darrm.verify(gamma, problem).holds
    assert darrm.verify(baselines.plain_majority(K), problem).needed_delta == pytest.approx(printed, rel=1e-3)


@pytest.mark.parametrize("lost", [{"total_epsilon": 0.5}, {"m": 5.0}])
def test_a_constant_of_few_affected_voters_that_fail(lost: dict[str, float]) -> None:
    """Two votes cost .2, the release may cost .5, but never fail."""
    problem = darrm.MajorityProblem(K=11, epsilon=0.1, Delta=1e-3, delta=0.0, max_affected=2, **lost)  # type: ignore[call-overload]
    gamma = baselines.constant(problem)
    value = math.expm1(0.5) / (math.expm1(0.5) + 2 * (2e-3 - 1e-6))
    assert gamma == pytest.approx(value, abs=1e-15)
    assert darrm.repair(gamma, problem) == pytest.approx(gamma, abs=1e-12)
    assert not darrm.verify(baselines.plain_majority(11), problem).holds


def test_a_constant_never_rounds_to_certainty() -> None:
    problem = darrm.MajorityProblem(K=11, m=3, epsilon=1e6)
    gamma = baselines.constant(problem)
    assert gamma.tolist() == [math.nextafter(1, 0)] * 12
    assert darrm.verify(gamma, problem).holds
    assert not darrm.verify(baselines.plain_majority(11), problem).holds


@pytest.mark.parametrize(("K", "m", "epsilon", "Delta"), [(11, 3, 0.1, 0.0), (8, 2, 0.5, 1e-3), (5, 5, 1.0, 0.0)])
def test_the_largest_constant_cannot_be_larger(K: int, m: float, epsilon: float, Delta: float) -> None:
    problem = darrm.MajorityProblem(K=K, m=m, epsilon=epsilon, Delta=Delta)
    gamma = baselines.largest_constant(problem)
    assert darrm.verify(gamma, problem).holds
    assert gamma.max() >= baselines.constant(problem).max() * (1 - 1e-12)
    if gamma.max() < 1:
        assert not darrm.verify(gamma * (1 + 1e-9), problem).holds

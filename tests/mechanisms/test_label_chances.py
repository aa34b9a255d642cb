"""Chances of all labels against rigorous integrals and exact sums, and permute-and-flip against all orders."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from cases import slow, thorough
from oracles import noisy_max as oracle

from darrm.errors import InputError
from darrm.mechanisms import ExponentialMechanism, GaussianNoisyMax, LaplaceNoisyMax, PermuteAndFlip
from darrm.mechanisms.label_chances import GAUSSIAN, LAPLACE, _nodes
from darrm.numerics import normal
from darrm.numerics.nodes import unit_nodes
from darrm.randomness.words import NotPrivateWarning

COUNTS = [
    [5, 3, 1],
    [4, 4, 4],
    [6, 0],
    [7, 7, 1, 0],
    [9, 8, 7, 6, 5, 4],
    [2] * 9,
    [3, 3, 2],
    [30, 0, 29, 7],
    [40, 1, 0],
]
ORACLES: dict[Any, Callable[[list[int], float], list[Fraction]]] = {
    GaussianNoisyMax: oracle.gaussian,
    LaplaceNoisyMax: lambda counts, gamma: oracle.laplace(counts, Fraction(gamma)),
    PermuteAndFlip: lambda counts, epsilon: oracle.exponential(counts, Fraction(epsilon) / 2),
    ExponentialMechanism: lambda counts, epsilon: oracle.gumbel(counts, Fraction(epsilon) / 2),
}


@pytest.mark.thorough
@pytest.mark.first(1, 24)
@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize("counts", [*COUNTS[:4], *slow(COUNTS[4]), *thorough(*COUNTS[5:])])
@pytest.mark.parametrize("parameter", [0.3, 0.9, 2.5])
def test_chances_to_their_relative_error(kind: Any, counts: list[int], parameter: float) -> None:
    """However small they are; and far more exactly than is promised."""
    made = kind(parameter)._chances(np.array([counts]))
    assert made.rho < 2e-11
    assert made.cut < 1e-23
    for found, wanted in zip(made.values[0].tolist(), ORACLES[kind](counts, parameter), strict=True):
        exact, error = float(wanted), abs(float(Fraction(found) - wanted))
        assert (1 - made.rho) * found <= exact <= (1 + made.rho) * found + made.cut
        if exact > 1e-50:
            assert error <= 1e-13 * exact + (made.cut if exact < 1e-20 else 0)


@pytest.mark.parametrize("classes", [2, 3, 10, *thorough(60)])
@pytest.mark.parametrize("kind", ORACLES)
def test_chances_sum_to_one(kind: Any, classes: int) -> None:
    rng = np.random.default_rng(classes)
    for parameter in (0.01, 0.2, 3.0, 50.0):
        counts = rng.multinomial(250, rng.dirichlet(np.ones(classes)), size=20)
        assert kind(parameter).chances(counts).sum(axis=1) == pytest.approx(1, abs=1e-14 * classes + 1e-14)


@pytest.mark.thorough
def test_many_rows_at_once_are_those_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    from darrm.mechanisms import label_chances

    counts = np.random.default_rng(1).integers(0, 30, size=(40, 5))
    mechanisms: list[Any] = [
        GaussianNoisyMax(3.0),
        LaplaceNoisyMax(0.5),
        PermuteAndFlip(1.5),
        ExponentialMechanism(2.0),
    ]
    whole = [mechanism.chances(counts) for mechanism in mechanisms]
    monkeypatch.setattr(label_chances, "_ENTRIES", 100)
    for mechanism, wanted in zip(mechanisms, whole, strict=True):
        assert mechanism.chances(counts) == pytest.approx(wanted, rel=1e-12, abs=1e-300)


@pytest.mark.thorough
def test_a_class_out_of_reach_is_cut_off() -> None:
    """It is said to win with chance 0, and what it may win is within what is cut off."""
    for mechanism, lost in ((GaussianNoisyMax(1.0), 26), (LaplaceNoisyMax(1.0), 61)):
        made = mechanism._chances(np.array([[lost, 0, lost]]))
        assert made.values[0, 1] == 0
        assert made.cut > float(ORACLES[type(mechanism)]([lost, 0, lost], 1.0)[1]) > 0
        assert made.values[0, 0] == pytest.approx(0.5, rel=1e-14)


def test_what_is_cut_off_is_as_rare_as_said() -> None:
    beyond, two = (math.erfc(x / math.sqrt(2)) / 2 for x in (GAUSSIAN.reach / 2, GAUSSIAN.reach / math.sqrt(2)))
    assert 2.2 * beyond + two < GAUSSIAN.cut < 10 * beyond
    loses = (2 + LAPLACE.reach) * math.exp(-LAPLACE.reach) / 4
    assert loses + math.exp(-LAPLACE.reach) / 2 < LAPLACE.cut < 10 * loses


def test_the_step_of_the_grid_has_the_error_of_its_proof() -> None:
    for classes in (2, 3, 10, 1000):
        points, weights = GAUSSIAN.rule(np.zeros(1), classes)
        step = weights[0]
        assert np.diff(points) == pytest.approx(step)
        assert min(points.max(), -points.min()) >= 12.5
        y = 2 * math.pi / (classes * step)
        assert 2 * math.exp(classes * y * y / 2) / math.expm1(2 * math.pi * y / step) < math.exp(-38)


def test_enough_nodes_for_each_length() -> None:
    for x in (1e-3, 0.1, 1.0, 5.0):
        n = _nodes(x)
        rho = np.geomspace(1.01, 1e6, 2000)
        bound = np.log(32 / 15 / (1 - rho**-2)) + x * (1 + (rho + 1 / rho) / 2) - 2 * n * np.log(rho)
        assert n <= 16
        assert bound.min() < -38


@pytest.mark.thorough
def test_the_normal_distribution_to_its_relative_error() -> None:
    flint = pytest.importorskip("flint")
    x = np.concatenate([-np.linspace(0, 37.5, 2000), [-13.0, -13.0000001, 0.0, 0.5, 3.0, 40.0]])
    with flint.ctx.workprec(200):
        exact = list(map(flint.arb, x.tolist()))
        Phi = np.array([float((-z / flint.arb(2).sqrt()).erfc() / 2) for z in exact])
        phi = np.array([float((-z * z / 2).exp() / (2 * flint.arb.pi()).sqrt()) for z in exact])
    assert np.all(np.abs(normal.distribution(x) - Phi) <= normal.EACH / 5 * Phi)
    assert np.all(np.abs(normal.density(x) - phi) <= normal.EACH / 5 * phi)
    assert normal.distribution(np.array([-1e300, -38.6])).max() < 1e-300


def test_the_logarithm_of_the_normal_distribution_to_its_rounding() -> None:
    flint = pytest.importorskip("flint")
    x = np.concatenate([np.linspace(-40, 60, 500), -np.geomspace(1e-300, 1e4, 100), [0.0]])
    with flint.ctx.workprec(3000):  # 1 - Phi(-60) needs 2600
        root = flint.arb(2).sqrt()
        wanted = [((-flint.arb(z) / root).erfc() / 2).log() for z in x.tolist()]
        found = normal.log_distribution(x)
        error = np.array([abs(float(one - flint.arb(z))) for one, z in zip(wanted, found.tolist(), strict=True)])
    assert np.all(error <= normal.log_rounding(x, found))
    ends = normal.log_distribution(np.array([-np.inf, -1e200, np.inf, np.nan]))
    assert ends[0] == ends[1] == -np.inf
    assert -1e-299 < ends[2] < 0
    assert np.isnan(ends[3])


@pytest.mark.parametrize("n", [1, 2, 5, 16, 40])
def test_nodes_integrate_what_they_should_exactly(n: int) -> None:
    u, weights = unit_nodes(n)
    assert u[::-1] == pytest.approx(1 - u, rel=1e-15)
    for power in (0, 1, 2 * n - 1):
        exact = sum(Fraction(w) * Fraction(x) ** power for x, w in zip(u.tolist(), weights.tolist(), strict=True))
        assert abs(float(exact * (power + 1) - 1)) <= (power + 2) * 2.0**-53


@pytest.mark.thorough
def test_too_many_terms_are_refused() -> None:
    counts = np.random.default_rng(1).integers(0, 10**6, size=(10_000, 10))
    with pytest.raises(InputError, match=r"sums of more than 1e\+10 terms"):
        LaplaceNoisyMax(1e-5).chances(counts)
    assert LaplaceNoisyMax(1e-5).chances([[3, 1]])[0] == pytest.approx([0.500005, 0.499995], abs=1e-9)


@pytest.mark.parametrize("counts", [[5, 3, 1], [4, 4, 4], [6, 0, 0], [0, 1, 0], [7, 7, 1], [3, 3, 2, 0], [9, 1]])
def test_flips_against_all_orders(counts: list[int]) -> None:
    bias = Fraction(7, 10)
    top = max(counts)
    wanted = [Fraction(0)] * len(counts)
    for order in permutations(range(len(counts))):
        left = Fraction(1, math.factorial(len(counts)))
        for j in order:
            wanted[j] += left * bias ** (top - counts[j])
            left *= 1 - bias ** (top - counts[j])
    mechanism = PermuteAndFlip(-2 * math.log(0.7))
    made = mechanism._chances(np.array([counts]))
    assert np.all(np.abs(made.values[0] / [float(x) for x in wanted] - 1) < 1e-13 * top + made.rho)
    assert made.rho < 1e-11
    assert mechanism.chances([counts]) == pytest.approx(made.values)


@pytest.mark.thorough
def test_flips_are_released_as_often_as_they_should() -> None:
    mechanism = PermuteAndFlip(0.8)
    n = 200_000
    counts = [6, 5, 5, 1]
    with pytest.warns(NotPrivateWarning):
        seen = np.bincount(mechanism.release([counts] * n, rng=np.random.default_rng(4)), minlength=4) / n
    wanted = mechanism.chances([counts])[0]
    assert np.all(np.abs(seen - wanted) <= 5 * np.sqrt(wanted * (1 - wanted) / n))
    assert wanted[1] == pytest.approx(wanted[2])
    assert set(mechanism.release([[10**12, 0], [0, 10**12]] * 20).tolist()) == {0, 1}
    assert mechanism.release([[10**12, 0, 0]] * 50).tolist() == [0] * 50


@pytest.mark.thorough
def test_flips_keep_their_epsilon_and_need_it() -> None:
    mechanism = PermuteAndFlip(0.5)
    assert mechanism.epsilon == 0.5
    largest = 0.0
    for known in np.ndindex(9, 9, 9):
        here, there = mechanism.chances([known + np.eye(3, dtype=np.int64)[j] for j in (0, 1)])
        largest = max(largest, float(np.abs(np.log(here / there)).max()))
    assert 0.45 < largest <= 0.5 + 1e-12


def test_flips_of_two_classes() -> None:
    """The class behind wins with half the bias of its coin."""
    kernel = PermuteAndFlip(0.6).kernel(5)
    assert kernel.sum(axis=1) == pytest.approx(1)
    assert kernel[:3, 1] == pytest.approx([math.exp(-0.3 * d) / 2 for d in (5, 3, 1)])
    assert kernel[::-1, 0] == pytest.approx(kernel[:, 1])
    with pytest.raises(InputError, match="epsilon must be"):
        PermuteAndFlip(0.0)

"""Chances of all labels against exact sums, and permute-and-flip against all orders and drawn labels."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from cases import thorough

from darrm.errors import InputError
from darrm.measures import noisy_max_probabilities
from darrm.mechanisms import GaussianNoisyMax, LaplaceNoisyMax, PermuteAndFlip
from darrm.mechanisms.label_chances import DiscreteNoise, gaussian_noise, laplace_noise, unit_nodes
from darrm.numerics.arrays import Array
from darrm.randomness.words import NotPrivateWarning

COUNTS = [[5, 3, 1], [4, 4, 4], [6, 0, 0], [0, 1, 0], [7, 7, 1]]


def by_values(masses: dict[int, Fraction], counts: list[int]) -> list[Fraction]:
    """Noisy max with this noise, by going through all of its values."""
    wins = [Fraction(0)] * len(counts)
    for noise in product(masses, repeat=len(counts)):
        noisy = [n + z for n, z in zip(counts, noise, strict=True)]
        best = [j for j, n in enumerate(noisy) if n == max(noisy)]
        chance = math.prod((masses[z] for z in noise), start=Fraction(1))
        for j in best:
            wins[j] += chance / len(best)
    return wins


@pytest.mark.first(1)
@pytest.mark.parametrize("counts", [*COUNTS[:2], *thorough(*COUNTS[2:])])
def test_gaussian_chances_to_their_relative_error(counts: list[int]) -> None:
    """sigma = .9, noise up to 12: what is beyond has a chance below 1e-38, so even the rarest labels are right."""
    sigma = 0.9
    with localcontext() as context:
        context.prec = 60
        square = Decimal(sigma) * Decimal(sigma)
        weights = {z: (-Decimal(z * z) / (2 * square)).exp() for z in range(-12, 13)}
        total = sum(weights.values())
        masses = {z: Fraction(weight / total) for z, weight in weights.items()}
    wanted = np.array([float(x) for x in by_values(masses, counts)])
    made = GaussianNoisyMax(sigma)._chances(np.array([counts]))
    assert made.rho < 1e-10
    assert made.cut < 1e-20
    assert np.all(np.abs(made.values[0] - wanted) <= made.rho * wanted + made.cut)
    assert np.all(np.abs(made.values[0] / wanted - 1) < 1e-9)


@pytest.mark.first(1)
@pytest.mark.parametrize("counts", [*COUNTS[:2], *thorough(*COUNTS[2:])])
def test_laplace_chances_to_their_relative_error(counts: list[int]) -> None:
    """q = 1/16, noise up to 16 and the rest of the tails on its ends: right to 1e-16."""
    gamma = math.log(16)
    q, most = Fraction(1, 16), 16
    masses = {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-most, most + 1)}
    masses[most] /= 1 - q
    masses[-most] /= 1 - q
    assert sum(masses.values()) == 1
    wanted = np.array([float(x) for x in by_values(masses, counts)])
    made = LaplaceNoisyMax(gamma)._chances(np.array([counts]))
    assert made.rho < 1e-10
    assert np.all(np.abs(made.values[0] / wanted - 1) < 1e-9)


@pytest.mark.parametrize("noise", [{"sigma": 2.5}, {"gamma": 0.4}])
@pytest.mark.parametrize("counts", [[5, 3], [9, 9, 8, 2], [3] * 12, [40, 2, 1, 0, 0], [10**9, 0, 5]])
def test_they_agree_with_single_rows(noise: dict[str, float], counts: list[int]) -> None:
    mechanism = GaussianNoisyMax(**noise) if "sigma" in noise else LaplaceNoisyMax(**noise)
    found = mechanism.chances([counts, counts[::-1]])
    wanted = noisy_max_probabilities(counts, **noise)  # type: ignore[arg-type]
    assert found[0] == pytest.approx(wanted, abs=1e-12 * len(counts))
    assert found[1] == pytest.approx(wanted[::-1], abs=1e-12 * len(counts))
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-12)


def test_many_rows_at_once_are_those_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    from darrm.mechanisms import label_chances

    counts = np.random.default_rng(1).integers(0, 30, size=(40, 5))
    mechanisms: list[Any] = [GaussianNoisyMax(3.0), LaplaceNoisyMax(0.5), PermuteAndFlip(1.5)]
    whole = [mechanism.chances(counts) for mechanism in mechanisms]
    monkeypatch.setattr(label_chances, "_ENTRIES", 100)
    for mechanism, wanted in zip(mechanisms, whole, strict=True):
        assert mechanism.chances(counts) == pytest.approx(wanted, rel=1e-12, abs=1e-300)


def test_what_is_cut_off_is_as_rare_as_said() -> None:
    z = np.arange(1.0, 2000.0)
    laws: list[tuple[DiscreteNoise, Callable[[Array], Array]]] = [
        (gaussian_noise(3.0), lambda z: np.exp(-(z**2) / 18) / (3 * math.sqrt(2 * math.pi))),
        (laplace_noise(0.2), lambda z: math.tanh(0.1) * np.exp(-0.2 * z)),
    ]
    for noise, mass in laws:
        beyond = float(mass(np.asarray(z + noise.reach, dtype=np.float64)).sum())
        assert 0 < beyond <= noise.tail
        assert noise.law.log_mass(np.array([noise.reach])) > -math.inf


@pytest.mark.parametrize("n", [1, 2, 5, 16, 40])
def test_nodes_integrate_what_they_should_exactly(n: int) -> None:
    u, weights = unit_nodes(n)
    assert u[::-1] == pytest.approx(1 - u, rel=1e-15)
    for power in (0, 1, 2 * n - 1):
        exact = sum(Fraction(w) * Fraction(x) ** power for x, w in zip(u.tolist(), weights.tolist(), strict=True))
        assert abs(float(exact * (power + 1) - 1)) <= (power + 2) * 2.0**-53


def test_too_much_noise_is_refused() -> None:
    with pytest.raises(InputError, match=r"sums of more than 1e\+10 terms"):
        GaussianNoisyMax(9999.0).chances(np.full((10_000, 10), 3))
    with pytest.raises(InputError, match=r"gamma must be at least 0\.0001"):
        LaplaceNoisyMax(1e-5).chances([[3, 1]])


@pytest.mark.parametrize("counts", [*COUNTS, [3, 3, 2, 0], [9, 1]])
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

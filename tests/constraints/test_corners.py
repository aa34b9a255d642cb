"""Corners, the full list of constraints and Poisson-binomial probabilities, against brute force and exact fractions."""

import itertools
import math
import time
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from oracles import exact

import darrm
from darrm.constraints import rows as constraints
from darrm.constraints.multisets import corner_points, count_multisets, multisets
from darrm.numerics.poisson_binomial import pmf
from darrm.problem.limits import guarantee


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("Delta", [0.0, 1e-8, 0.3])
def test_corners_are_where_two_conditions_bind(epsilon: float, Delta: float) -> None:
    corners = corner_points(epsilon, Delta)
    assert len(corners.p) == (8 if Delta else 4)
    p, q = corners.p[:, 0], corners.p[:, 1]
    e = math.exp(epsilon)
    slack = np.array(
        [e * q + Delta - p, e * p + Delta - q, e * (1 - p) + Delta - (1 - q), e * (1 - q) + Delta - (1 - p)]
    )
    walls = np.array([p, 1 - p, q, 1 - q])
    size = e * 1e-15
    assert slack.min() >= -size
    assert walls.min() >= 0
    assert np.all((np.abs(slack) <= size).sum(axis=0) + (walls == 0).sum(axis=0) >= 2)
    assert corners.q == pytest.approx(1 - corners.p, abs=1e-15)
    assert corners.difference == pytest.approx(p - q, abs=1e-15)


@pytest.mark.parametrize(
    ("epsilon", "Delta"),
    [(0.0, 0.1), (-1.0, 0.0), (math.inf, 0.0), (math.nan, 0.0), (1.0, 1.0), (1.0, -0.1), (1.0, math.nan)],
)
def test_corners_of_nothing(epsilon: float, Delta: float) -> None:
    with pytest.raises(darrm.InputError, match="Corners need"):
        corner_points(epsilon, Delta)


@pytest.mark.parametrize("K", [1, 2, 3, 4])
@pytest.mark.parametrize("n_corners", [4, 8])
def test_multisets_are_those_of_all_assignments(K: int, n_corners: int) -> None:
    for max_affected in range(1, K + 1):
        wanted = set()
        for assignment in itertools.product(range(n_corners), repeat=K):
            counts = Counter(assignment)
            if sum(counts[c] for c in range(2, n_corners)) <= max_affected:
                wanted.add(tuple(counts[c] for c in range(n_corners)))
        listed = [tuple(row) for block in multisets(K, n_corners, max_affected) for row in block.tolist()]
        assert len(listed) == len(set(listed)) == count_multisets(K, n_corners, max_affected)
        assert set(listed) == wanted


def test_counts_are_the_binomials() -> None:
    assert count_multisets(11, 8) == math.comb(18, 7) == 31824
    assert count_multisets(15, 8) == 170544
    assert count_multisets(101, 4) == math.comb(104, 3)
    assert (count_multisets(11, 8, 1), count_multisets(11, 4, 1)) == (78, 34)
    for t in (0, 3, 11):
        assert count_multisets(11, 8, t) == sum(math.comb(n + 5, 5) * (12 - n) for n in range(t + 1))
        assert count_multisets(11, 4, t) == sum((n + 1) * (12 - n) for n in range(t + 1))


@pytest.mark.parametrize("Delta", [0.0, 1e-3, 0.3])
@pytest.mark.parametrize("K", [1, 2, 3, 4])
def test_every_row_is_its_constraint(K: int, Delta: float) -> None:
    problem = darrm.MajorityProblem(K, 1 + 0.3 * (K - 1), 0.7, Delta)
    e, corners = exact.exponential(exact.total_epsilon(problem)), exact.corners(problem)
    limit = e - 1 + 2 * Fraction(problem.delta)
    rows = constraints.MajorityRows(guarantee(problem))
    for block in constraints.blocks(problem):
        given = np.zeros((len(block.counts), 8), dtype=int)
        given[:, : block.counts.shape[1]] = block.counts
        again = rows.of(rows.allowed(given.tolist())).rows
        for row, same, counts in zip(block.rows, again, block.counts.tolist(), strict=True):
            sides = [
                exact.pmf([corner[side] for corner, n in zip(corners, counts, strict=True) for _ in range(n)])
                for side in (0, 1)
            ]
            for at, l in enumerate(range(K // 2 + 1, K + 1)):
                f = [alpha[l] - alpha[K - l] for alpha in sides]
                wanted = float((f[0] - e * f[1]) / limit)
                assert abs(row[at] - wanted) <= rows.rounding + 1e-16
                assert abs(same[at] - wanted) <= rows.rounding + 1e-16


def test_rows_keep_their_accuracy_when_m_epsilon_is_tiny() -> None:
    problem = darrm.MajorityProblem(3, 1, 1e-9)
    e, corners = exact.exponential(exact.total_epsilon(problem)), exact.corners(problem)
    for block in constraints.blocks(problem):
        for row, counts in zip(block.rows, block.counts.tolist(), strict=True):
            sides = [
                exact.pmf([corner[side] for corner, n in zip(corners, counts, strict=True) for _ in range(n)])
                for side in (0, 1)
            ]
            wanted = [
                float((sides[0][l] - sides[0][3 - l] - e * (sides[1][l] - sides[1][3 - l])) / (e - 1)) for l in (2, 3)
            ]
            assert row == pytest.approx(wanted, abs=1e-13)


def test_order_of_votes_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    p = rng.random(9)
    assert pmf(p) == pytest.approx(pmf(rng.permutation(p)), rel=1e-14)


def test_the_list_for_15_votes_takes_seconds() -> None:
    start = time.perf_counter()
    rows = constraints.all_rows(darrm.MajorityProblem(15, 3, 0.1, 1e-5))
    assert rows.shape == (170544, 8)
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize("K", [1, 7, 40])
def test_pmf_against_fractions(K: int) -> None:
    rng = np.random.default_rng(K)
    p = np.concatenate([rng.random(K - 1) ** 4, [1e-12]])
    wanted = exact.pmf([Fraction(x) for x in p.tolist()])
    for got, exactly in zip(pmf(p).tolist(), wanted, strict=True):
        assert abs(Fraction(got) - exactly) <= exactly * Fraction(1, 10**13)


@pytest.mark.parametrize("p", [0.5, 0.03, 0.75])
def test_pmf_of_1001_votes_down_to_the_tails(p: float) -> None:
    got, K = pmf(np.full(1001, p)), 1001
    n, d = Fraction(p).numerator, Fraction(p).denominator
    for l in range(0, K + 1, 13):
        exactly = Fraction(math.comb(K, l) * n**l * (d - n) ** (K - l), d**K)
        if exactly > Fraction(1, 10**300):
            assert abs(Fraction(float(got[l])) - exactly) <= exactly * Fraction(1, 10**13)
        else:
            assert got[l] < 1e-299


@pytest.mark.thorough
def test_pmf_of_1001_different_votes() -> None:
    """In integers: every p is a multiple of 2^-20."""
    rng = np.random.default_rng(4)
    numerators = rng.integers(0, 2**20 + 1, 1001)
    weights = [1]
    for n in numerators.tolist():
        weights = [
            (weights[l] * (2**20 - n) if l < len(weights) else 0) + (weights[l - 1] * n if l else 0)
            for l in range(len(weights) + 1)
        ]
    got, one = pmf(numerators / 2**20), 2 ** (20 * 1001)
    for l in range(0, 1002, 7):
        exactly = Fraction(weights[l], one)
        if exactly > Fraction(1, 10**300):
            assert abs(Fraction(float(got[l])) - exactly) <= exactly * Fraction(1, 10**13)


@pytest.mark.skipif(not hasattr(scipy.stats, "poisson_binom"), reason="needs scipy 1.15: pip install -U scipy")
def test_pmf_against_scipy() -> None:
    p = np.random.default_rng(8).random(60)
    assert pmf(p) == pytest.approx(scipy.stats.poisson_binom.pmf(np.arange(61), p), abs=1e-12)


def test_pmf_refuses_what_is_no_probability() -> None:
    for bad in ([1.1], [-0.1], [np.nan], [0.5, 1.1], [0.5, np.nan, 0.5], [], 0.5, "half"):
        with pytest.raises(darrm.InputError):
            pmf(bad)  # type: ignore[arg-type]
    assert pmf([0.0, 1.0]).tolist() == [0.0, 1.0, 0.0]
    assert pmf(np.full((3, 2), 0.5)).tolist() == [[0.25, 0.5, 0.25]] * 3


@pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 6, 7, 8, 11, 12])
def test_the_plain_majority_loses_at_most_half_of_the_votes(K: int) -> None:
    """Lemma 3a: k epsilon with k = K/2, rounded up, and t epsilon; the smaller one is attained."""
    k = (K + 1) // 2
    for epsilon in (0.01, 0.5, 3.0):
        for max_affected in {1, min(k, K), K}:
            problem = darrm.MajorityProblem(K, K, epsilon, max_affected=max_affected)
            found = darrm.verify(np.ones(K + 1), problem).tight_epsilon
            assert found <= min(k, max_affected) * epsilon * (1 + 1e-12)
            if K % 2 or max_affected >= k:
                assert found == pytest.approx(min(k, max_affected) * epsilon, rel=1e-9)

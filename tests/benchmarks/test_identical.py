"""Identically distributed voters: the bound of benchmarks/paper/identical.py is below no pair, and is attained."""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from oracles.exact import acceptance_alike, corners, exponential
from scripts import load

import darrm
from darrm import baselines
from darrm.problem.limits import guarantee

identical = load("identical")
IdenticalVoters, certify = identical.IdenticalVoters, identical.certify

CASES = [(1, 1.0, 0.0), (3, 0.5, 0.0), (4, 2.0, 0.1), (7, 0.3, 1e-3), (8, 0.1, 0.0), (11, 0.7, 0.02), (5, 1e-9, 0.0)]


def tables(K: int, rng: np.random.Generator) -> list[np.ndarray]:
    half = rng.random(K + 1)
    dips = np.where(rng.random(K + 1) < 0.5, 0.0, 1.0)
    found = []
    for one in (half, dips, np.sort(half), np.ones(K + 1), np.zeros(K + 1)):
        gamma = np.array([one[max(l, K - l)] for l in range(K + 1)])
        if K % 2 == 0:
            gamma[K // 2] = 0
        found.append(gamma)
    return found


def polygon(problem: darrm.MajorityProblem) -> list[tuple[Fraction, Fraction]]:
    """Pairs of the polygon, in exact fractions: its corners, and points of its edges and inside."""
    found = corners(problem)
    path = [found[i] for i in ((0, 4, 2, 7, 1, 6, 3, 5) if problem.Delta else (0, 2, 1, 3))]
    half = Fraction(1, 2)
    pairs = []
    for (a, b), (c, d) in pairwise([*path, path[0]]):
        for t in (Fraction(i, 8) for i in range(9)):
            for inside in (0, Fraction(1, 10), half, Fraction(9, 10)):
                p, q = a + t * (c - a), b + t * (d - b)
                pairs.append((p + inside * (half - p), q + inside * (half - q)))
    return pairs


@pytest.mark.thorough
@pytest.mark.first(1, 3)
@pytest.mark.parametrize(("K", "epsilon", "Delta"), CASES)
def test_no_pair_is_above_the_bound_and_one_attains_it(K: int, epsilon: float, Delta: float) -> None:
    rng = np.random.default_rng(K)
    problem = darrm.MajorityProblem(K=K, m=1, epsilon=epsilon, Delta=Delta)
    pairs = polygon(problem)
    for gamma in tables(K, rng):
        voters = IdenticalVoters(gamma, guarantee(problem))
        X = {p: acceptance_alike(gamma.tolist(), p) for p in {x for pair in pairs for x in pair}}
        for at in (Decimal(0), Decimal(epsilon) / 2, 2 * Decimal(epsilon)):
            worst = voters.glimpse(at)
            grow = exponential(at)
            largest = max(X[p] - grow * X[q] for p, q in pairs)
            assert largest <= Fraction(worst.bound)
            p, q = (Fraction(x) for x in worst.case[:2])
            here = acceptance_alike(gamma.tolist(), p) - grow * acceptance_alike(gamma.tolist(), q)
            # The pair is given in float64; near it the excess moves by at most K times that.
            assert abs(float(here) - (worst.bound - worst.rounding)) <= 4e-16 * K * (1 + float(grow))
            assert worst.rounding <= 1e-12 * max(worst.bound, epsilon)


@pytest.mark.thorough
def test_a_dip_is_worst_inside_an_edge_and_turns_are_found() -> None:
    # gamma = 1 but for the closest votes: X falls around 1/2, so pairs above the diagonal count too.
    K, epsilon = 9, 2.0
    gamma = np.zeros(K + 1)
    gamma[[0, K]], gamma[[3, 6]], gamma[[4, 5]] = 0.0, 1.0, 0.0
    problem = darrm.MajorityProblem(K=K, m=2, epsilon=epsilon)
    voters = IdenticalVoters(gamma, guarantee(problem))
    grid = np.linspace(0, 1, 2001)
    X = np.array([float(acceptance_alike(gamma.tolist(), Fraction(p))) for p in grid])
    assert np.any(np.diff(X) < 0)
    s = math.exp(epsilon)
    p, q = grid[:, None], grid[None, :]
    allowed = (p <= s * q) & (q <= s * p) & (1 - q <= s * (1 - p)) & (1 - p <= s * (1 - q))
    for at in (0.0, 0.2, 1.0):
        seen = np.where(allowed, X[:, None] - math.exp(at) * X[None, :], -1).max()
        bound = voters.glimpse(Decimal(at)).bound
        assert seen <= bound <= seen + 1e-4


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("m", [2, 3, 4, 5])
def test_double_subsampling_keeps_its_guarantee(m: int, epsilon: float) -> None:
    # Theorem 4.1 of the paper: m epsilon-DP for identical, purely private voters. At K = 11 it holds for all voters.
    problem = darrm.MajorityProblem(K=11, m=m, epsilon=epsilon)
    gamma = baselines.double_subsampling(11, m)
    alike, any_ = certify(gamma, problem), darrm.verify(gamma, problem)
    total = problem.release_epsilon
    assert total * (1 - 1e-15) <= alike.tight_epsilon <= total * (1 + 4e-16)
    assert total * (1 - 1e-12) <= any_.tight_epsilon <= total * (1 + 1e-12)
    assert any_.worst_case == {"(0,0)": 11 - m, "(hi,lo)": m}
    # What rounding of gamma to float64 adds is scaled away.
    assert certify(darrm.repair(gamma, problem), problem).holds


@pytest.mark.thorough
def test_the_bound_for_any_voters_is_above_that_for_identical_ones() -> None:
    rng = np.random.default_rng(3)
    for K, Delta in ((5, 0.0), (8, 1e-3), (11, 0.05)):
        problem = darrm.MajorityProblem(K=K, m=2, epsilon=0.4, Delta=Delta)
        for gamma in tables(K, rng):
            alike, any_ = certify(gamma, problem), darrm.verify(gamma, problem)
            assert alike.needed_delta <= any_.needed_delta + 1e-15
            assert alike.tight_epsilon <= any_.tight_epsilon * (1 + 1e-12) + 1e-15


@pytest.mark.thorough
def test_a_table_for_identical_voters_only() -> None:
    # The plain majority, at the epsilon that identical voters need with a delta: any voters need more.
    problem = darrm.MajorityProblem(K=11, m=5.3, epsilon=0.1, Delta=1e-5)
    ones = np.ones(12)
    assert certify(ones, problem).holds
    assert not darrm.verify(ones, problem).holds
    worst = certify(ones, problem).worst_case
    assert list(worst.values()) == [11]


@pytest.mark.thorough
def test_one_part_in_a_billion_is_seen() -> None:
    problem = darrm.MajorityProblem(K=11, m=3, epsilon=0.1, Delta=1e-3)
    gamma = baselines.double_subsampling(11, 4)
    needed = certify(gamma, problem).needed_delta
    for factor, holds in ((1 - 1e-9, False), (1 + 1e-9, True)):
        near = darrm.MajorityProblem(K=11, m=3, epsilon=0.1, Delta=1e-3, delta=needed * factor)
        assert certify(gamma, near).holds is holds


def test_voters_that_change_one_by_one_are_not_identical() -> None:
    problem = darrm.MajorityProblem(K=11, m=3, epsilon=0.1, max_affected=2)
    with pytest.raises(darrm.InputError, match="max_affected = 2 of 11"):
        certify(np.ones(12), problem)


def turned(halves: list[float], K: int) -> np.ndarray:
    """gamma from its upper half, from the closest vote on."""
    gamma = np.zeros(K + 1)
    for i, value in enumerate(halves):
        gamma[K // 2 + 1 + i] = gamma[K - K // 2 - 1 - i] = value
    return gamma


@pytest.mark.thorough
def test_a_turn_at_a_point_where_intervals_are_halved() -> None:
    # X' = 0 exactly at 1/4 and 3/4; the worst pair is inside the polygon, at both.
    gamma = turned([19 / 32, 6 / 32, 0], 5)
    problem = darrm.MajorityProblem(K=5, m=1, epsilon=2.0)
    three, one = Fraction(3, 4), Fraction(1, 4)
    low, high = (acceptance_alike(gamma.tolist(), p) for p in (three, one))
    certificate = certify(gamma, problem)
    assert certificate.tight_epsilon >= abs(math.log(high / low)) * (1 - 1e-12)
    for at in (Decimal(0), Decimal(1) / 10):
        largest = max(high - exponential(at) * low, low - exponential(at) * high)
        assert float(largest) <= IdenticalVoters(gamma, guarantee(problem)).glimpse(at).bound * (1 + 1e-15)


@pytest.mark.thorough
def test_averages_are_rounded_to_the_safe_side() -> None:
    # At eight bits, where rounding shows: both halves, and the part between two ends that are not known exactly.
    rng = np.random.default_rng(5)
    bits = 8

    def exact(c: list[Fraction], s: Fraction) -> tuple[list[Fraction], list[Fraction]]:
        left, right = [c[0]], [c[-1]]
        while len(c) > 1:
            c = [(1 - s) * x + s * y for x, y in pairwise(c)]
            left.append(c[0])
            right.append(c[-1])
        return left, right[::-1]

    for _ in range(200):
        c = np.array([int(x) for x in rng.integers(0, 2**bits, 6)], dtype=object)
        fractions = [Fraction(int(x)) for x in c]
        low = int(rng.integers(0, 2**bits - 3))
        for up in (True, False):
            bounds = [(identical.halve(c, up=up), exact(fractions, Fraction(1, 2)))]
            between = identical.Between(low, low + 3)
            for s in (Fraction(low, 2**bits), Fraction(2 * low + 3, 2 ** (bits + 1)), Fraction(low + 3, 2**bits)):
                bounds.append((identical.split(c, between, bits, up=up), exact(fractions, s)))
                stop = Fraction(250, 2**bits)
                if s < stop:
                    wanted = exact(exact(fractions, stop)[0], s / stop)[1]
                    ends = between, identical.Between(250, 250)
                    for part, whole in ((ends, wanted), (ends[::-1], wanted[::-1])):
                        found = identical.restrict(c, *part, bits, up=up)
                        assert all((x >= y) if up else (x <= y) for x, y in zip(found, whole, strict=True))
            for found, wanted in bounds:
                for one, other in zip(found, wanted, strict=True):
                    assert all((x >= y) if up else (x <= y) for x, y in zip(one, other, strict=True))
        segment = identical._Segment(((0.0, 0.0), (1.0, 1.0)), c, c, below=True)
        for half, wanted in zip(segment.halves(), exact(fractions, Fraction(1, 2)), strict=True):
            assert all(x >= y for x, y in zip(half.p_side, wanted, strict=True))
            assert all(x <= y for x, y in zip(half.q_side, wanted, strict=True))


@pytest.mark.thorough
def test_without_halving_the_bound_is_one_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identical, "_MAX_SEGMENTS", 1)
    for K, epsilon, Delta in CASES:
        problem = darrm.MajorityProblem(K=K, m=1, epsilon=epsilon, Delta=Delta)
        for gamma in tables(K, np.random.default_rng(K)):
            largest = max(
                acceptance_alike(gamma.tolist(), p)
                - exponential(Decimal(epsilon)) * acceptance_alike(gamma.tolist(), q)
                for p, q in polygon(problem)[::7]
            )
            assert largest <= Fraction(IdenticalVoters(gamma, guarantee(problem)).glimpse(Decimal(epsilon)).bound)


@pytest.mark.thorough
def test_where_x_is_said_to_grow_slowly_it_does() -> None:
    rng = np.random.default_rng(8)
    seen = 0
    for K in (5, 8, 11, 21):
        problem = darrm.MajorityProblem(K=K, m=1, epsilon=0.5)
        for zeros in range(1, K // 2 + 1):
            gamma = turned(sorted(rng.random(K - K // 2 - zeros).tolist()) + [1.0] * zeros, K)
            until = IdenticalVoters(gamma, guarantee(problem))._slow_until
            X = [Fraction(x) for x in (1 + np.sign(2 * np.arange(K + 1) - K) * gamma) / 2]
            seen += until > 0
            for p in (Fraction(until) * Fraction(i, 40) for i in range(1, 41)) if until > 0 else ():
                slope = sum(
                    K * (X[l + 1] - X[l]) * math.comb(K - 1, l) * p**l * (1 - p) ** (K - 1 - l) for l in range(K)
                )
                assert p * slope <= zeros * acceptance_alike(gamma.tolist(), p)
    assert seen > 10

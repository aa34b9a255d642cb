"""No certified noise function is below the least error, and at some probabilities one attains it."""

import math

import numpy as np
import pytest

import darrm
from darrm.measures import least_error

CASES = [(3, 1, 1.0, 0.0), (5, 1, 0.5, 0.0), (11, 1, 0.1, 0.0), (3, 1, 1.0, 0.05), (5, 2, 0.3, 0.01), (6, 2, 0.3, 0.0)]


def chains(epsilon: float) -> list[float]:
    halves = [1 - math.exp(-j * epsilon) / 2 for j in (1, 2, 3)]
    return halves + [1 - math.exp(-j * epsilon) / (1 + math.exp(epsilon)) for j in (0, 1, 2)]


def optimum(problem: darrm.MajorityProblem, p: float) -> float:
    """The least error at voters of probability p that any certified noise function has."""
    near = darrm.priors.independent(p - 1e-12, p + 1e-12)
    gamma = darrm.solve(problem, prior=near, objective="tv").gamma
    return float(darrm.expected_error(gamma, [p] * problem.K))


@pytest.mark.thorough
@pytest.mark.first(2)
@pytest.mark.parametrize(("K", "m", "epsilon", "Delta"), CASES)
def test_no_noise_function_is_below(K: int, m: float, epsilon: float, Delta: float) -> None:
    problem = darrm.MajorityProblem(K=K, m=m, epsilon=epsilon, Delta=Delta)
    for p in [*np.linspace(0.51, 0.99, 9), *chains(epsilon)]:
        assert optimum(problem, float(p)) >= least_error(problem, float(p)) - 1e-10
        assert least_error(problem, float(p)) == pytest.approx(least_error(problem, 1 - float(p)), abs=1e-12)


@pytest.mark.parametrize(("K", "epsilon"), [(3, 1.0), (5, 0.5), (11, 0.1)])
def test_it_is_attained_and_is_lemma_3_2_on_the_chains(K: int, epsilon: float) -> None:
    problem = darrm.MajorityProblem(K=K, m=1, epsilon=epsilon)
    for p in chains(epsilon):
        above = sum(math.comb(K, l) * p**l * (1 - p) ** (K - l) for l in range(K // 2 + 1, K + 1))
        bound = least_error(problem, p)
        assert bound == pytest.approx(above - p, abs=1e-9)
        assert optimum(problem, p) == pytest.approx(bound, abs=1e-9)


@pytest.mark.parametrize("K", [3, 11, 35])
@pytest.mark.parametrize("epsilon", [0.01, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.49])
@pytest.mark.parametrize("upper", [False, True])
def test_it_is_lemma_3_2_at_every_link(K: int, epsilon: float, upper: bool) -> None:
    """As float64 a link lies a hair to either side of itself."""
    problem = darrm.MajorityProblem(K=K, m=1, epsilon=epsilon)
    for j in range(1, 11):
        p = math.exp(-j * epsilon) / 2
        above = sum(math.comb(K, l) * p**l * (1 - p) ** (K - l) for l in range(K // 2 + 1, K + 1))
        assert least_error(problem, 1 - p if upper else p) == pytest.approx(p - above, abs=1e-13)


def test_a_link_at_the_edge_of_numbers() -> None:
    value = least_error(darrm.MajorityProblem(K=11, m=1, epsilon=0.3), math.exp(-0.3) / 2)
    assert value == pytest.approx(0.184957909182, abs=1e-12)
    for p in (0.0, 5e-324, 0.3, 1.0):
        for epsilon in (1e-300, 1e6):
            found = least_error(darrm.MajorityProblem(K=11, m=0.5, epsilon=epsilon), p)
            assert 0 <= found <= 0.5
    assert least_error(darrm.MajorityProblem(K=11, m=0.5, epsilon=0.3), 1.0) == 0
    # c = Delta / (e^epsilon - 1) is 3e8 here, and the difference of two such numbers is p.
    problem = darrm.MajorityProblem(K=11, m=3, epsilon=1e-9, Delta=0.3, delta=0.3)
    assert least_error(problem, 0.3) == pytest.approx(0.2 - 0.0782247916, abs=1e-8)


def test_lemma_3_2_says_too_much_elsewhere() -> None:
    """K = 11, epsilon = .1: an error below |Pr[majority 1] - p|, and (Lemma 3.2's other gap) unequal probabilities."""
    problem, p = darrm.MajorityProblem(K=11, m=1, epsilon=0.1), 0.5125
    above = sum(math.comb(11, l) * p**l * (1 - p) ** (11 - l) for l in range(6, 12))
    assert above - p == pytest.approx(0.021303, abs=1e-6)
    assert optimum(problem, p) == pytest.approx(0.021225, abs=1e-6)
    loose, p = darrm.MajorityProblem(K=3, m=1, epsilon=2.0), 0.7
    assert 3 * p**2 * (1 - p) + p**3 - p == pytest.approx(0.0840, abs=1e-4)
    assert optimum(loose, p) == pytest.approx(0.0371, abs=1e-4)
    small = darrm.MajorityProblem(K=3, m=1, epsilon=1.0)
    gamma = darrm.solve(small, prior=darrm.priors.fixed([1, 1, 0]), objective="disagreement").gamma
    assert darrm.expected_error(gamma, [1, 1, 0]) < 1 - 2 / 3 - 0.05


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan, "x", None, True, [0.5]])
def test_probabilities_that_are_none(p: object) -> None:
    with pytest.raises(darrm.InputError, match="p must be"):
        least_error(darrm.MajorityProblem(K=3, m=1, epsilon=1.0), p)  # type: ignore[arg-type]


def test_changes_must_reach_all_voters() -> None:
    with pytest.raises(darrm.InputError, match="Got 1 of 3"):
        least_error(darrm.MajorityProblem(K=3, m=1, epsilon=1.0, max_affected=1), 0.7)

"""Everything that needs a worst case works with any engine: here two voters of different epsilon, by enumeration."""

import math
from pathlib import Path

import numpy as np
import pytest
from oracles.two_voters import Enumeration, TwoVoters

import darrm
from darrm import accounting
from darrm.accounting.profile import region
from darrm.certificate.engines import ENGINES
from darrm.certificate.separation import CornerSeparation
from darrm.constraints.engines import ROWS, constraint_rows
from darrm.constraints.rows import HalfColumns
from darrm.problem.limits import guarantee

PROBLEM = TwoVoters((0.9, 0.3), 0.5)


def slope(problem: TwoVoters) -> float:
    """The largest s - e^epsilon s', where X(p) = (1 + gamma s) / 2, s = p_1 + p_2 - 1, over what the voters can do."""
    pairs = [[(0.0, 0.0), (1.0, 1.0), (1 / (1 + math.exp(-e)), 1 / (1 + math.exp(e)))] for e in problem.epsilons]
    return max((p + r - 1) - math.exp(problem.epsilon) * (q + s - 1) for p, q in pairs[0] for r, s in pairs[1])


def largest_gamma(problem: TwoVoters) -> float:
    """By hand, from (1 + gamma s) / 2 - e^epsilon (1 + gamma s') / 2 <= delta."""
    return min(1.0, (math.expm1(problem.epsilon) + 2 * problem.delta) / slope(problem))


def test_the_engine_is_chosen_by_the_problem() -> None:
    assert isinstance(ENGINES[darrm.MajorityProblem].separation([1, 0, 1], guarantee(majority())), CornerSeparation)
    assert isinstance(ENGINES[TwoVoters].separation([1, 0, 1], guarantee(PROBLEM)), Enumeration)
    assert set(ENGINES) == set(ROWS)
    with pytest.raises(darrm.InputError, match="problem must be"):
        darrm.verify([1, 0, 1], object())  # type: ignore[arg-type]


def majority() -> darrm.MajorityProblem:
    return darrm.MajorityProblem(2, 1, 0.5)


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("epsilons", [(0.9, 0.3), (0.3, 0.3), (2.0, 0.01)])
def test_solve_finds_the_largest_gamma(epsilons: tuple[float, float], delta: float) -> None:
    problem = TwoVoters(epsilons, 0.5, delta)
    design = darrm.solve(problem)  # type: ignore[arg-type]
    assert design.gamma[2] == pytest.approx(largest_gamma(problem), abs=1e-12)
    assert design.gamma[2] <= largest_gamma(problem) + 1e-15
    assert design.gap < 1e-9
    assert design.certificate.holds
    assert sum(design.certificate.worst_case.values()) == 2


def test_verify_and_repair_refuse_and_scale() -> None:
    certificate = darrm.verify([1, 0, 1], PROBLEM)  # type: ignore[arg-type]
    assert not certificate.holds
    # The tight epsilon of the plain majority: gamma = 1 holds from there on.
    wider = TwoVoters(PROBLEM.epsilons, certificate.tight_epsilon)
    assert largest_gamma(wider) == pytest.approx(1, abs=1e-12)
    gamma = darrm.repair([1, 0, 1], PROBLEM)
    assert gamma[2] == pytest.approx(largest_gamma(PROBLEM), abs=1e-12)
    assert darrm.verify(gamma, PROBLEM).holds  # type: ignore[arg-type]


def test_the_profile_and_the_region_follow() -> None:
    gamma = darrm.repair([1, 0, 1], PROBLEM)
    epsilons = [0.0, 0.2, 0.5, 1.0]
    wanted = [max(0.0, (gamma[2] * slope(TwoVoters(PROBLEM.epsilons, e)) - math.expm1(e)) / 2) for e in epsilons]
    assert darrm.privacy_profile(gamma, PROBLEM, epsilons) == pytest.approx(wanted, abs=1e-12)
    outer = region(gamma, PROBLEM).outer
    supports = [max(0.0, max(point.x - math.exp(e) * point.y for point in outer)) for e in epsilons]
    assert supports == pytest.approx(wanted, abs=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("queries", [1, 5])
def test_compose_counts_both_kinds_of_voters(queries: int) -> None:
    design = darrm.solve(PROBLEM)  # type: ignore[arg-type]
    fixed = accounting.compose(design, queries, delta=1e-6, voters="fixed")
    assert fixed.bounds["the voters themselves"] <= sum(PROBLEM.epsilons) + 1e-12
    assert fixed.upper >= accounting.compose(design, 1, delta=1e-6, voters="fixed").lower
    fresh = accounting.compose(design, queries, delta=1e-6, voters="fresh")
    assert fresh.upper <= queries * 0.5 * (1 + 1e-12)
    assert fresh.lower <= fresh.upper
    # One label is tight at delta = 0; with many the bounds meet.
    assert fresh.upper - fresh.lower <= 2e-3 * fresh.upper


def test_rows_are_the_enumeration() -> None:
    limit = guarantee(PROBLEM)
    gamma = np.array([0.4, 0.0, 0.4])
    grow = math.exp(0.5)
    for worst in Enumeration(gamma, limit).worst_cases(limit.epsilon):
        row = constraint_rows(limit, HalfColumns(2)).of([worst.case]).rows
        # row @ half <= 1 says excess <= delta.
        excess = float(row[0, 0]) * 0.4 * (grow - 1) / 2 - (grow - 1) / 2
        assert worst.bound == pytest.approx(excess, abs=1e-12)


def test_a_design_that_no_reader_knows_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(darrm.InputError, match="add the type to problem_of"):
        darrm.solve(PROBLEM).save(tmp_path / "two.json")
    assert not list(tmp_path.iterdir())

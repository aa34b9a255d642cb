"""The problem of a majority: release_epsilon beside m, labels more private than a vote, and a delta below a vote's."""

import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from oracles import exact

import darrm
from darrm.errors import InputError

VALUES = [
    (m, delta, Delta, max_affected)
    for m in (1e-6, 0.04, 0.5, 0.999)
    for delta, Delta in ((0.0, 0.0), (None, 0.03), (0.0, 0.03), (1e-9, 0.03), (0.01, 0.3), (0.2, 0.0))
    for max_affected in (1, 3)
] + [(2.5, 1e-4, 0.03, 3), (3, 0.0, 0.2, 2), (3, 0.0, 0.9, 3)]


@pytest.mark.first(4)
@pytest.mark.parametrize(("m", "delta", "Delta", "max_affected"), VALUES)
def test_any_m_and_delta_against_every_multiset(m: float, delta: float | None, Delta: float, max_affected: int) -> None:
    """Solve, certificate, tight epsilon and both engines, in exact fractions from the definition."""
    problem = darrm.MajorityProblem(3, m, 0.7, Delta, delta=delta, max_affected=max_affected)
    designs = [darrm.solve(problem, engine=engine) for engine in ("cutting-planes", "full-list")]
    assert designs[0].error == pytest.approx(designs[1].error, abs=1e-9)
    assert max(design.gap for design in designs) <= 1e-9
    gamma, certificate = designs[0].gamma.tolist(), designs[0].certificate
    assert max(gamma) > 0  # some noise function that says something satisfies every guarantee above 0

    def excess(epsilon: Decimal) -> Fraction:
        return exact.worst_excess(gamma, problem, epsilon)

    at = exact.total_epsilon(problem)
    assert max(Fraction(0), excess(at)) <= Fraction(certificate.needed_delta) <= Fraction(problem.delta)
    tight = Decimal(certificate.tight_epsilon)
    assert excess(tight) <= Fraction(problem.delta)
    if tight > Decimal("1e-9"):
        assert excess(tight * (1 - Decimal("1e-5"))) > Fraction(problem.delta)


@pytest.mark.parametrize("m", [1e-9, 0.01, 0.3, 0.99])
def test_one_voter_becomes_randomized_response_of_the_label_s_own_epsilon(m: float) -> None:
    """K = 1, Delta = delta = 0: gamma = tanh(m epsilon / 2) / tanh(epsilon / 2)."""
    gamma = darrm.solve(K=1, m=m, epsilon=0.8).gamma
    assert gamma == pytest.approx(math.tanh(0.4 * m) / math.tanh(0.4), rel=1e-8)


def test_gamma_0_satisfies_every_guarantee() -> None:
    for problem in (darrm.MajorityProblem(4, 1e-300, 1e-300, 0.5, delta=0), darrm.MajorityProblem(5, 0.1, 0.7)):
        certificate = darrm.verify(np.zeros(problem.K + 1), problem)
        assert certificate.holds
        assert certificate.needed_delta == certificate.tight_epsilon == 0
        assert not darrm.verify(np.full(problem.K + 1, 0.5), problem).holds


@pytest.mark.parametrize("engine", ["cutting-planes", "full-list"])
@pytest.mark.parametrize("given", [{"m": 1e-200}, {"m": 1e-13}, {"release_epsilon": 1e-20, "Delta": 0.01, "delta": 0}])
def test_a_guarantee_that_leaves_nothing_is_refused_in_one_line(engine: str, given: dict[str, float]) -> None:
    with pytest.raises(InputError, match="every label would be a fair coin") as error:
        darrm.solve(darrm.MajorityProblem(5, epsilon=0.5, **given), engine=engine)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_decision_that_leaves_nothing_is_refused_in_one_line(classes: int) -> None:
    goal = darrm.objectives.truth(accuracy=[0.8])

    def solve(epsilon: float, delta: float) -> darrm.DecisionDesign:
        problem = darrm.DecisionProblem([darrm.VoterGroup(3, 1.0)], epsilon, delta, classes=classes)
        return darrm.solve(problem, objective=goal)

    for epsilon, delta in ((3e-13, 0.0), (1e-300, 0.0), (5e-324, 1e-300)):
        with pytest.raises(InputError, match="a random answer") as error:
            solve(epsilon, delta)
        assert "\n" not in str(error.value)
    assert 0 <= solve(1e-12, 0.0).gap <= 1e-9
    assert 0 <= solve(1e-11, 0.0).gap <= 1e-9  # HiGHS called it unbounded on the way


def test_a_program_in_a_box_is_not_taken_for_unbounded() -> None:
    problem = darrm.MajorityProblem(K=4, m=1e-12, epsilon=1000, delta=1e-17, max_affected=3)
    assert darrm.solve(problem).certificate.holds


@pytest.mark.thorough
def test_release_epsilon_is_never_exceeded() -> None:
    rng = np.random.default_rng(20)
    for _ in range(2000):
        K, epsilon = int(rng.integers(1, 60)), float(10 ** rng.uniform(-12, 5))
        total = float(K * epsilon * rng.choice([1.0, rng.random(), 10 ** rng.uniform(-9, 0)]))
        if Fraction(total) > K * Fraction(epsilon):
            total = math.nextafter(total, 0)
        problem = darrm.MajorityProblem(K, epsilon=epsilon, release_epsilon=total)
        asked, guaranteed = Fraction(total), problem.exact_epsilon
        assert asked * (1 - Fraction(2, 2**53)) <= guaranteed <= asked
        assert Fraction(math.nextafter(problem.m, math.inf)) * Fraction(epsilon) > asked
        assert problem.release_epsilon == pytest.approx(total, rel=1e-15)


def test_the_epsilon_of_a_release_is_not_that_of_all_labels() -> None:
    """What it was called is still read, but no attribute: other things are called total_epsilon."""
    problem = darrm.MajorityProblem(11, epsilon=0.5, total_epsilon=0.2)
    assert problem == darrm.MajorityProblem(11, epsilon=0.5, release_epsilon=0.2)
    for each in (problem, darrm.DecisionProblem([darrm.VoterGroup(3, 1.0)], 1.0)):
        with pytest.raises(AttributeError, match="release_epsilon"):
            each.total_epsilon  # noqa: B018


def test_release_epsilon_of_all_voters_is_allowed_however_it_is_rounded() -> None:
    for K in range(1, 200):
        for epsilon in (0.1, 0.3, 0.7, 1e-3):
            problem = darrm.MajorityProblem(K, epsilon=epsilon, release_epsilon=K * epsilon)
            assert problem.m == pytest.approx(K, rel=1e-15)


def test_files_hold_m_and_give_the_same_problem(tmp_path: Path) -> None:
    problem = darrm.MajorityProblem(5, epsilon=0.3, release_epsilon=0.1, Delta=1e-3, delta=1e-6)
    darrm.solve(problem).save(tmp_path / "gamma.json")
    assert darrm.load(tmp_path / "gamma.json").problem == problem
    assert json.loads((tmp_path / "gamma.json").read_text())["problem"]["m"] == problem.m <= 1 / 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "either m or release_epsilon. Got neither"),
        ({"m": 1, "release_epsilon": 0.1}, "either m or release_epsilon. Got m = 1 and release_epsilon = 0.1"),
        ({"m": 0}, r"m must be in \(0, K\] = \(0, 11\]. Got 0"),
        ({"m": -1}, r"m must be in \(0, K\]"),
        ({"m": math.nan}, r"m must be in \(0, K\]"),
        ({"release_epsilon": 0}, r"release_epsilon must be in \(0, K epsilon\] = \(0, 1.1\]. Got 0"),
        ({"release_epsilon": 1.2}, r"release_epsilon must be in \(0, K epsilon\]"),
        ({"release_epsilon": math.nan}, r"release_epsilon must be in \(0, K epsilon\]"),
        ({"release_epsilon": math.inf}, r"release_epsilon must be in \(0, K epsilon\]"),
        ({"m": 1, "delta": -1e-9}, r"delta must be a number in \[0, 1\)|delta must be in \[0, 1\)"),
        ({"m": 1, "delta": 1}, r"delta must be"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        darrm.MajorityProblem(11, epsilon=0.1, **given)


def test_the_default_delta_is_that_of_one_vote_at_least() -> None:
    assert darrm.MajorityProblem(5, 0.2, 0.1, 1e-3).delta == pytest.approx(1e-3, rel=1e-12)
    assert darrm.MajorityProblem(5, 2, 0.1, 1e-3).delta == pytest.approx(1 - 0.999**2, rel=1e-12)


def test_a_gamma_that_is_not_symmetric_is_told_what_it_may_be() -> None:
    problem = darrm.MajorityProblem(K=3, m=1, epsilon=0.5)
    with pytest.raises(
        darrm.InputError, match="If these are probabilities of the label 1, they are the table of a decision"
    ):
        darrm.verify([0.1, 0.3, 0.7, 0.9], problem)
    # |2 X(l) - 1| of a majority that gives ties to 1 would hold here; what the error names does not.
    one_group = darrm.DecisionProblem([darrm.VoterGroup(4, 1.0)], 2.1, 0.0)
    assert darrm.verify([1, 1, 1, 1, 1], darrm.MajorityProblem(4, 2.1, 1.0)).holds
    assert darrm.verify([0, 0, 1, 1, 1], one_group).needed_delta == pytest.approx(0.2319, abs=1e-4)
    with pytest.raises(darrm.InputError, match="Average the two"):
        darrm.verify([0.1, 0.1, 0.1 + 1e-9, 0.1], problem)
    with pytest.raises(darrm.InputError, match=r"gamma must be numbers of shape \(4,\). Got shape \(\)."):
        darrm.verify(None, problem)  # type: ignore[arg-type]


def test_a_design_takes_the_priors_that_solve_takes() -> None:
    problem = darrm.MajorityProblem(K=3, m=1, epsilon=0.5)
    assert darrm.Design(problem, [0.1] * 4) == darrm.Design(problem, [0.1] * 4, "uniform")
    for refused in (darrm.Design, lambda problem, _, prior: darrm.solve(problem, prior=prior)):
        with pytest.raises(darrm.InputError, match=r"prior must be a prior of darrm.priors.* Got 12. .*priors.votes"):
            refused(problem, [0.1] * 4, 12)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("addremove", "add-remove"),
        ("Add or remove one", "add-remove"),
        ("replace", "replace-one"),
        ("Replace-One ", "replace-one"),
    ],
)
def test_a_usual_name_of_neighbours_spelt_otherwise_is_refused(text: str, meant: str) -> None:
    with pytest.raises(darrm.InputError, match=f"not a name that darrm knows. Pass '{meant}'"):
        darrm.MajorityProblem(3, 1, 0.5, adjacency=text)
    with pytest.raises(darrm.InputError, match="not a name that darrm knows"):
        darrm.DecisionProblem([darrm.VoterGroup(3, 0.5)], 0.5, adjacency=text)
    assert darrm.MajorityProblem(3, 1, 0.5, adjacency=f"{meant} 2").adjacency == f"{meant} 2"
    assert darrm.MajorityProblem(3, 1, 0.5, adjacency=f"{meant}, of users").adjacency == f"{meant}, of users"

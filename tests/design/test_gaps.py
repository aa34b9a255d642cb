"""Gaps are tight: to 1e-9 where bases are degenerate and ill-conditioned, with weights that vanish, rising tables."""

import math
import warnings
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import highspy
import numpy as np
import pytest

import darrm
from darrm.constraints.classes import ClassColumns
from darrm.constraints.groups import TableColumns
from darrm.design import cuts
from darrm.design.cuts import Candidates, CutFinder
from darrm.design.optimum import exact_upper_bound, upper_bound
from darrm.numerics.arrays import in_decimals
from darrm.problem.limits import guarantee
from darrm_solvers import (
    HighsModel,
    LinearProgram,
    Progress,
    Rows,
    Status,
    cutting_planes,
    highs,
    solve_highs,
    vertices,
)
from darrm_solvers.vertices import Basis, feasible, least, settled, vertex

TIGHT = 1e-9
# K, epsilon, Delta, delta, prior, each with m = 1, whose gaps were from 1e-6 to 16.
LOOSE = [
    (41, 0.0038994679179924427, 0.001, 0.001, "common"),
    (51, 0.0014758326449581883, 1e-5, None, "common"),
    (31, 0.15934432130897863, 0.001, 0.003001, "uniform"),
    (59, 0.00470347, 0.001, 0.001, "uniform"),
    (43, 0.0518464, 0.001, 0.001, "uniform"),
    (33, 0.20702, 0.001, 0.003001, "uniform"),
    (49, 0.00304392, 1e-5, 3.001e-5, "common"),
]


@pytest.mark.first(2)
@pytest.mark.parametrize(("K", "epsilon", "Delta", "delta", "prior"), LOOSE)
def test_where_bases_are_degenerate(K: int, epsilon: float, Delta: float, delta: float | None, prior: str) -> None:
    allowed: dict[str, Any] = {} if delta is None else {"delta": delta}
    assert darrm.solve(K=K, m=1, epsilon=epsilon, Delta=Delta, prior=prior, **allowed).gap <= TIGHT


@pytest.mark.parametrize("p", [0.99, 1.0])
@pytest.mark.parametrize("K", [50, 90])
def test_where_most_weights_vanish(K: int, p: float) -> None:
    assert darrm.solve(K=K, m=10, epsilon=0.1, prior=darrm.priors.fixed([p] * K)).gap <= TIGHT


@pytest.mark.parametrize("m", [0.0012, 0.1])
@pytest.mark.parametrize("engine", ["cutting-planes", "full-list"])
def test_where_a_rising_table_is_far_more_private_than_a_vote(engine: str, m: float) -> None:
    K = 70 if engine == "cutting-planes" else 30
    assert darrm.solve(K=K, m=m, epsilon=0.037, delta=1e-5, shape="monotone", engine=engine).gap <= TIGHT


def test_where_refining_finds_another_optimum_that_rows_left_out_forbid() -> None:
    profile = [(0.0002, 0.0808), (0.0003, 0.0754), (0.00058, 0.0735)]
    problem = darrm.MajorityProblem(18, 0.0033635, 0.1, delta=0.0469)
    prior = darrm.priors.randomized_response(0.6875, 0.1)
    assert darrm.solve(problem, prior=prior, profile=profile).gap <= TIGHT


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_ahead_save_most_rounds(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(30, math.inf)], 0.2, classes=classes, max_affected=1)
    rounds, costs = [], []
    for ahead in (0, cuts._AHEAD):
        monkeypatch.setattr(cuts, "_AHEAD", ahead)
        reports: list[Progress] = []
        design = darrm.solve(problem, objective=darrm.objectives.rule("plurality", [0.6]), report=reports.append)
        rounds.append(len(reports))
        costs.append(design.expected_cost)
        assert design.gap <= TIGHT
    assert rounds[1] <= rounds[0] / 2
    assert costs[1] == pytest.approx(costs[0], rel=1e-9)


def test_rows_that_are_exact_pay_for_no_rounding() -> None:
    program = LinearProgram(np.array([1.0, 0.5]), np.array([[1.0, -1.0], [1.0, 2.0]]), np.array([0.0, 1.0]))
    multipliers = np.array([0.5, 0.25])
    true = program.dual_bound(multipliers)
    for exact, paid in ((0, 0.75), (1, 0.25), (2, 0.0)):
        bound = upper_bound(0.01, 3 * program.objective, program, multipliers, exact=exact)
        assert bound >= 3 * (true + 0.01 * paid)
        assert bound == pytest.approx(3 * (true + 0.01 * paid), rel=1e-12)


@pytest.mark.thorough
def test_where_a_decision_is_far_more_private_than_a_vote() -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(15, 0.5, 5.299e-9)], epsilon=2.376e-05, delta=0.0)
    assert darrm.solve(problem, objective=darrm.objectives.truth([0.913558], [0.381287, 0.618713])).gap <= TIGHT


@pytest.mark.thorough
def test_where_a_decision_between_classes_is_far_more_private_than_a_vote() -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(2, 0.1)], epsilon=4.6e-06, classes=4)
    costs = np.random.default_rng(7).random((*problem.table_shape, 4))
    for ordered in (False, True):
        assert darrm.solve(problem, objective=darrm.objectives.costs(costs), ordered=ordered).gap <= TIGHT


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [[0.1, 4.609257461902318e-06, 0.1], 4.609257461902318e-06])
def test_where_a_decision_within_several_limits_is_far_more_private_than_a_vote(epsilon: Any) -> None:
    groups = [darrm.VoterGroup(1, 0.1), darrm.VoterGroup(2, 0.0031418445493831726)]
    problem = darrm.DecisionProblem(groups, epsilon=epsilon, delta=0.0, classes=3)
    profile = [] if isinstance(epsilon, list) else [(0.1, 0.0)]
    costs = np.random.default_rng(257974369).random((*problem.table_shape, 3))
    assert darrm.solve(problem, objective=darrm.objectives.costs(costs), profile=profile).gap <= TIGHT / 10


RANDOMIZED = {  # limits of some millionths, which rounding of probabilities near 1 had used up
    "three classes": (
        [(2, 0.7, {"colluders": 0, "randomizer": [[0.324, 0.513, 0.163], [0.325, 0.348, 0.327]]})],
        {"epsilon": 2.35e-6, "delta": 8.8e-7, "classes": 3, "max_affected": 1},
        1217522695,
    ),
    "four classes": (
        [(2, 2.1, {"max_affected": 1, "colluders": 1, "randomizer": [
            [0.447, 0.169, 0.097, 0.287], [0.159, 0.142, 0.281, 0.418], [0.389, 0.19, 0.369, 0.052]]})],
        {"epsilon": 2.94e-6, "classes": 4},
        715950308,
    ),
    "a limit for each group": (
        [
            (1, 0.005, {"colluders": 0, "randomizer": [[0.461, 0.539], [0.459, 0.541]]}),
            (2, 0.5, {"colluders": 0, "randomizer": "randomized response"}),
            (2, 0.32, {}),
        ],
        {"epsilon": [0.5, 0.5, 2.55e-6], "delta": [0.0, 0.0, 1.7e-8], "max_affected": 2},
        2084305791,
    ),
}  # fmt: skip


@pytest.mark.every
@pytest.mark.parametrize("name", RANDOMIZED)
def test_where_a_decision_is_far_more_private_than_known_randomizers(name: str) -> None:
    groups, limits, seed = RANDOMIZED[name]
    voters = [darrm.VoterGroup(count, epsilon, **more) for count, epsilon, more in groups]
    problem = darrm.DecisionProblem(voters, **limits)
    costs = np.random.default_rng(seed).random((*problem.table_shape, problem.n_classes))
    assert darrm.solve(problem, objective=darrm.objectives.costs(costs)).gap <= TIGHT


def test_where_two_answers_together_need_more_than_a_tiny_delta() -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(1, 0.1, 6.2e-11)], 0.00137, 3.1e-11, classes=3, none=True)
    costs = np.random.default_rng(1132549894).random((*problem.table_shape, 4))
    assert darrm.solve(problem, objective=darrm.objectives.costs(costs)).gap <= TIGHT


UNLIKE = {
    "two": (2, [[0.75, 0.25], [0.33, 0.67]]),
    "three": (3, [[0.43, 0.45, 0.12], [0.17, 0.44, 0.39]]),
    "turned": (3, [[0.6, 0.3, 0.1], [0.1, 0.6, 0.3], [0.3, 0.1, 0.6]]),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_a_randomizer_that_treats_classes_unlike_may_have_no_symmetric_optimum(name: str) -> None:
    """An objective that treats classes a little unlike is not held to symmetric tables, and costs nearly the same."""
    classes, rows = UNLIKE[name]
    voters = darrm.VoterGroup(3, 3.0, max_affected=1, randomizer=rows, colluders=1)
    problem = darrm.DecisionProblem([voters], epsilon=0.25, classes=classes)
    assert not problem.classes_alike
    prior = np.full(classes, 1 / classes) + 1e-7 * np.arange(classes)
    even, nearly = (
        darrm.solve(problem, objective=darrm.objectives.truth([0.7], own)) for own in (None, prior / prior.sum())
    )
    assert even.expected_cost == pytest.approx(nearly.expected_cost, abs=1e-6)
    assert max(even.gap, nearly.gap) <= TIGHT


@pytest.mark.parametrize(
    "rows", ["randomized response", [[0.9, 0.1], [0.1, 0.9]], [[0.3, 0.7], [0.5, 0.5], [0.7, 0.3]]]
)
def test_a_randomizer_that_treats_classes_alike_has_a_symmetric_optimum(rows: Any) -> None:
    voters = darrm.VoterGroup(4, 3.0, max_affected=1, randomizer=rows, colluders=1)
    problem = darrm.DecisionProblem([voters], epsilon=0.25)
    assert problem.classes_alike
    table = darrm.solve(problem, objective=darrm.objectives.truth([0.7])).table
    assert np.allclose(table, 1 - table[::-1], rtol=0, atol=1e-15)


@pytest.mark.parametrize("classes", [2, 3])
def test_exact_rows_are_those_that_rows_are_rounded_from(classes: int) -> None:
    groups = [darrm.VoterGroup(2, 1.0, 1e-3), darrm.VoterGroup(1, 0.3)]
    problem = darrm.DecisionProblem(groups, epsilon=0.4, delta=0.01, classes=classes)
    costs = np.random.default_rng(1).random((*problem.table_shape, classes))
    if classes == 2:
        columns: Any = TableColumns(costs[..., 0] - costs[..., 1])
    else:
        columns = ClassColumns(problem, costs.reshape(-1, classes), alike=False)
    candidates = Candidates([guarantee(problem)], columns)
    finder = CutFinder(guarantee(problem), candidates)
    finder.usual(np.ones(columns.n))
    finder.everywhere(np.ones(columns.n))
    rows: Any = finder.rows
    assert finder.proposed
    rounded, exact = rows.of(finder.proposed), rows.exactly(finder.proposed)
    apart = np.abs(exact.rows - in_decimals(rounded.rows)).max(axis=1) + np.abs(
        exact.limits - in_decimals(rounded.limits)
    )
    assert 0 < apart.max() <= rows.rounding
    assert isinstance(exact.rows.ravel()[np.abs(rounded.rows).argmax()], Decimal)


def test_the_exact_bound_is_that_of_fractions() -> None:
    rng = np.random.default_rng(5)
    weights, multipliers = rng.random(6), rng.normal(size=4)
    rows, limits = rng.normal(size=(4, 6)), rng.normal(size=4)
    exact_rows = np.array([[Decimal(v) for v in row] for row in rows.tolist()], dtype=object)
    bound = exact_upper_bound(weights, exact_rows, np.array([Decimal(v) for v in limits.tolist()]), multipliers)
    y = [max(Fraction(0), Fraction(v) * Fraction(float(weights.max()))) for v in multipliers.tolist()]
    true = sum(Fraction(b) * v for b, v in zip(limits.tolist(), y, strict=True))
    for weight, column in zip(weights.tolist(), rows.T.tolist(), strict=True):
        reduced = Fraction(weight) - sum(Fraction(a) * v for a, v in zip(column, y, strict=True))
        true += max(Fraction(0), reduced)
    assert true <= Fraction(bound) <= true * (1 + Fraction(1, 10**15))


# Three lines through (1/2, 1/2), nearly parallel; the objective is twice the second less the third.
DEGENERATE = LinearProgram(
    np.ones(2), np.array([[1.0, 1.0], [1.0 + 1e-7, 1.0 - 1e-7], [1.0 + 2e-7, 1.0 - 2e-7]]), np.ones(3)
)


def test_multipliers_are_made_where_the_basis_has_none() -> None:
    at = vertex(DEGENERATE, Basis(np.array([0, 1]), np.array([1, 2])), np.array([0.3, 0.6]))
    assert at is not None
    assert at.x == pytest.approx([0.5, 0.5], abs=1e-8)
    assert at.multipliers == pytest.approx([0.0, 2.0, -1.0], abs=1e-6)
    assert not at.optimal
    best = 1.0
    poor = [np.zeros(3), np.array([np.nan, -5.0, 0.0])]
    made = least(DEGENERATE, np.array([0.5, 0.5]), poor)
    assert (made >= 0).all()
    assert DEGENERATE.dual_bound(made) == pytest.approx(best, abs=1e-12)
    known = np.array([1.0, 0.0, 0.0])
    assert least(DEGENERATE, np.array([0.5, 0.5]), [*poor, known]).tolist() == known.tolist()


def test_the_vertex_of_a_basis_is_exact_to_rounding() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        program = LinearProgram(rng.random(9), rng.random((40, 9)), np.ones(40))
        model = HighsModel(program.objective)
        model.add_rows(program.rows, program.limits)
        coarse = model.solve()
        basis = model._basis()
        assert basis is not None
        at = vertex(program, basis, np.round(coarse.x, 4))
        assert at is not None
        assert at.optimal
        assert feasible(program, at.x)
        assert not feasible(program, at.x + 1e-14)
        assert np.abs(at.x - coarse.x).max() <= 1e-9
        assert program.dual_bound(at.multipliers) - program.objective @ at.x <= 1e-14


@pytest.mark.parametrize(
    ("x", "price", "right"),
    [
        ((1.0, 0.0), 0.5, True),
        ((1.0, 0.0), 1.0, True),
        ((1.0, 0.0), 0.5 - 1e-12, False),  # the second column would gain
        ((1.0, 0.0), 1.0 + 1e-12, False),  # the first would lose
        ((1.0, 1e-12), 0.7, False),  # breaks the row
        ((1.0 - 1e-12, 0.0), 1.0, False),  # what is paid for does not bind
        ((0.5, 0.25), 0.5, False),  # between bounds the first would gain
        ((0.5, 0.25), 1.0, False),  # the second would lose
        ((1.0, 0.0), 0.0, False),
    ],
)
def test_an_answer_is_settled_if_it_is_optimal_to_rounding(x: tuple[float, float], price: float, right: bool) -> None:
    """maximise x + y subject to x + 2 y <= 1: the optimum is (1, 0), with any price between 1/2 and 1."""
    program = LinearProgram(np.ones(2), np.array([[1.0, 2.0]]), np.ones(1))
    assert settled(program, np.array(x), np.array([price])) == right


def test_only_answers_that_are_not_settled_are_refined() -> None:
    model = HighsModel(np.ones(2))
    model.add_rows(np.array([[1.0, 2.0]]), np.ones(1))
    answer = model.solve()
    assert model.refine(answer) is answer
    coarse = replace(answer, x=answer.x - 1e-11)
    assert model.refine(coarse).x == pytest.approx([1.0, 0.0], abs=1e-16)


def test_a_singular_basis_has_no_vertex() -> None:
    program = LinearProgram(np.ones(2), np.ones((2, 2)), np.ones(2))
    assert vertex(program, Basis(np.array([0, 1]), np.array([0, 1])), np.ones(2)) is None


@pytest.mark.thorough
def test_a_program_in_which_highs_goes_in_circles() -> None:
    """Without a limit of iterations one run of the simplex method did not end in an hour."""
    voters = [(2, 0.5, 0.00010152799549953887), (2, 5.706373649526536, 4.394129609602912e-05), (3, 0.5, 1e-5)]
    problem = darrm.DecisionProblem([darrm.VoterGroup(*group) for group in voters], 0.1, delta=0.0)
    accuracy, prior = (
        [0.7909680893517398, 0.7582194995397658, 0.5490850863487778],
        [0.6304805795092513, 0.36951942049074854],
    )
    assert darrm.solve(problem, objective=darrm.objectives.truth(accuracy, prior)).gap <= TIGHT


@pytest.mark.parametrize("limits", [("_MOST_AT_FIRST",), ("_MOST_AT_FIRST", "_MOST_ITERATIONS")])
def test_a_run_that_does_not_end_is_tried_in_other_ways(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[str, ...]
) -> None:
    rng = np.random.default_rng(3)
    program = LinearProgram(rng.random(30), rng.random((200, 30)), np.ones(200))
    best = solve_highs(program)
    assert best.iterations > 5
    for name in limits:
        monkeypatch.setattr(highs, name, (2, 0))
    given_up: list[int] = []
    clear = highspy.Highs.clearSolver
    monkeypatch.setattr(highspy.Highs, "clearSolver", lambda self: (given_up.append(1), clear(self))[1])
    model = HighsModel(program.objective)
    model.add_rows(program.rows, program.limits)
    model.solve()
    assert len(given_up) == 1 if limits == ("_MOST_AT_FIRST",) else len(given_up) > 1
    for answer in (model.solve(), model.solve(), model.refine(model.solve())):
        assert answer.status is Status.OPTIMAL
        assert answer.x == pytest.approx(best.x, abs=1e-9)
    asked = solve_highs(program, options={"simplex_iteration_limit": 2})
    assert asked.status is Status.ITERATION_LIMIT


def test_a_sparse_vertex_is_that_of_all_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of three entries: by sparse factors as by an inverse; a singular basis has no vertex either way."""
    rng, n = np.random.default_rng(3), 60
    rows = np.eye(n) + np.where(rng.random((n, n)) < 0.03, rng.normal(size=(n, n)), 0.0)
    program, basis = LinearProgram(rng.random(n), rows, rng.random(n)), Basis(np.arange(n), np.arange(n))
    singular = LinearProgram(program.objective, rows * (np.arange(n) > 0), program.limits)
    for large in (10, 200):
        monkeypatch.setattr(vertices, "_LARGE", large)
        found = vertex(program, basis, np.full(n, 0.5))
        assert found is not None
        np.testing.assert_allclose(found.x, np.linalg.solve(rows, program.limits), rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.multipliers, np.linalg.solve(rows.T, program.objective), rtol=0, atol=1e-12)
        assert vertex(singular, basis, np.full(n, 0.5)) is None


def test_rows_that_left_a_program_come_back_once() -> None:
    """Each row is in the model of HiGHS or out of it, whatever left and came back; the multipliers are of all rows."""
    rng = np.random.default_rng(8)
    batches = [Rows(rng.normal(size=(9, 6)), rng.random(9) + 0.1) for _ in range(3)]
    model, objective = cutting_planes._Model(np.ones(6), None, math.inf), np.ones(6)
    for batch in batches:
        model.add(batch)
    before = model.solve()
    assert model._out.size > 6  # slack ones left: there are more than twice as many rows as columns
    assert sorted([*model._inside, *model._out]) == list(range(27))
    rows, limits = model.program.rows, model.program.limits
    np.testing.assert_array_equal(rows, np.concatenate([batch.rows for batch in batches]))
    np.testing.assert_array_equal(model._rows_out.rows, rows[model._out])
    out = set(model._out.tolist())
    x = rows[model._out[0]] * 10  # which breaks that row
    back = {i for i in out if rows[i] @ x > limits[i]}
    assert model._take_in(x)
    assert set(model._out.tolist()) == out - back
    assert not model._take_in(x)
    assert sorted([*model._inside, *model._out]) == list(range(27))
    after = model.solve()
    np.testing.assert_allclose(after.x, before.x, rtol=0, atol=1e-9)
    program = LinearProgram(objective, rows, limits)
    assert program.dual_bound(after.multipliers) == pytest.approx(objective @ after.x, abs=1e-9)


@pytest.mark.parametrize("none", [1e200, 1e308])
def test_costs_near_the_end_of_float64_overflow_nowhere(none: float) -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(11, 0.1)], 0.3, none=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        design = darrm.solve(problem, objective=darrm.objectives.truth([0.6], none=none))
    assert design.certificate.holds
    assert 0 <= design.gap < math.inf
    assert design.expected_cost - design.gap <= 0.5  # a coin between the classes


@pytest.mark.thorough
@pytest.mark.parametrize("m", [1e-10, 2e-12])
def test_a_steep_limit_is_reached(m: float) -> None:
    """Rows of a steep limit are rounded by far more than the noise that the certificate needs."""
    design = darrm.solve(K=63, m=m, epsilon=3.0)
    assert design.certificate.tight_epsilon > 0.9999 * design.problem.release_epsilon

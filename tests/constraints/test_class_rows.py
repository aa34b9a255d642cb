"""The rows of decisions between several classes against what the certificate computes at the same cases."""

import math
from decimal import Decimal

import numpy as np
import pytest

from darrm import DecisionProblem, InputError, VoterGroup, objectives
from darrm.certificate.classes import ClassSeparation
from darrm.constraints import classes
from darrm.constraints.classes import ClassColumns, ClassRows, check_variables
from darrm.problem.class_corners import ClassCase, GroupOfCase
from darrm.problem.class_votes import all_votes, votes_up_to_names, ways
from darrm.problem.limits import guarantee

PROBLEMS = [
    ([VoterGroup(4, 0.5)], 3, False, 0.0, True),
    ([VoterGroup(3, 0.5, 0.05)], 3, True, 0.3, True),
    ([VoterGroup(4, math.inf, 0.0, 2)], 4, False, 0.01, True),
    ([VoterGroup(3, 1.0)], 3, True, 0.0, False),
    ([VoterGroup(2, 1.0), VoterGroup(2, 0.2)], 3, False, 0.01, True),
    ([VoterGroup(2, 1.0, 0.1), VoterGroup(1, math.inf)], 3, True, 0.5, False),
    ([VoterGroup(3, 1e-7)], 3, False, 0.0, True),
]


@pytest.mark.parametrize(("groups", "C", "none", "delta", "alike"), PROBLEMS)
def test_a_row_says_what_the_certificate_says(
    groups: list[VoterGroup], C: int, none: bool, delta: float, alike: bool
) -> None:
    rng = np.random.default_rng(1)
    for epsilon in (1e-9, 0.3, 3.0):
        problem = DecisionProblem(groups, epsilon, delta, C, none=none)
        votes = votes_up_to_names(problem) if alike else all_votes(problem)
        costs = rng.random((len(votes), problem.n_answers)) * (ways(votes)[:, None] if alike else 1.0)
        columns = ClassColumns(problem, costs, alike=alike)
        x = 1 - rng.random(columns.n) / problem.n_answers
        limit = guarantee(problem)
        search, rows = ClassSeparation(columns.table(x), limit), ClassRows(limit, columns)
        cases = [worst for worst in search.worst_cases(limit.epsilon) if worst.p_side]
        found = rows.of([worst.case for worst in cases if isinstance(worst.case, ClassCase)])
        assert rows.rounding < 1e-12 / min(epsilon, 1.0) * 400
        size = math.expm1(epsilon) + 2 * delta
        for row, most, worst in zip(found.rows, found.limits, cases, strict=True):
            exact = Decimal(worst.difference) - (Decimal(epsilon).exp() - 1) * Decimal(worst.q_side)
            said = (row @ x - most) * size
            assert said == pytest.approx(float(exact) - delta, rel=1e-7, abs=2e-15 + 10 * worst.rounding)
        assert len(cases) > 2


def test_what_a_table_costs_is_linear_in_the_variables() -> None:
    rng = np.random.default_rng(3)
    for groups, C, none, _, alike in PROBLEMS:
        problem = DecisionProblem(groups, 1.0, 0.5, C, none=none)
        objective = objectives.rule("plurality", [0.6] * len(groups), none=0.3 if none else None) if alike else None
        votes = votes_up_to_names(problem) if alike else all_votes(problem)
        costs = rng.random((len(votes), problem.n_answers))
        if objective is not None:
            costs = objective.costs_at(problem, votes) * ways(votes)[:, None]
        columns = ClassColumns(problem, costs, alike=alike)
        x = 1 - rng.random(columns.n) / problem.n_answers
        table = columns.table(x)
        if alike and len(groups) > 1:
            assert objective is not None
            costs = objective.costs(problem)
        spent = float((costs.reshape(-1, problem.n_answers) * table.reshape(-1, problem.n_answers)).sum())
        assert spent == pytest.approx(columns.most - columns.weights @ x, abs=1e-12)
        assert table.sum(axis=-1) == pytest.approx(np.ones(table.shape[:-1]), abs=1e-15)


def test_masses_that_are_variables_sum_to_1_at_most() -> None:
    problem = DecisionProblem([VoterGroup(3, 1.0)], 1.0, 0.0, 3)
    rng = np.random.default_rng(2)
    columns = ClassColumns(problem, rng.random((10, 3)), alike=False)
    x = rng.random(20)  # two of three answers at each of ten vectors of votes
    assert columns.first.rows @ x - columns.first.limits == pytest.approx((1 - x).reshape(10, 2).sum(axis=1) - 1)


def test_variables_beyond_their_range_are_cut_off() -> None:
    problem = DecisionProblem([VoterGroup(2, 1.0)], 1.0, 0.0, 3)
    columns = ClassColumns(problem, np.random.default_rng(0).random((6, 3)), alike=False)
    table = columns.table(np.linspace(-0.1, 1.1, columns.n))
    assert table.min() >= 0
    assert table.sum(axis=-1) == pytest.approx(np.ones(6), abs=1e-15)


def test_tables_too_large_to_optimise_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "MAX_VARIABLES", 100)
    many = DecisionProblem([VoterGroup(6, 1.0)], 1.0, 0.0, 3)
    check_variables(many, alike=True)  # 7 rows of 3
    with pytest.raises(InputError, match=r"A table of 112 probabilities .*treats all classes alike"):
        check_variables(DecisionProblem([VoterGroup(6, 1.0)], 1.0, 0.0, 3, none=True), alike=False)
    with pytest.raises(InputError, match="one group"):
        check_variables(DecisionProblem([VoterGroup(3, 1.0), VoterGroup(3, 1.0)], 1.0, 0.0, 3), alike=True)


def test_cases_ahead_are_cases_of_the_same_voters() -> None:
    """The votes move on from what a reached voter says on D to what it says on D', as long as there are any."""
    problem = DecisionProblem([VoterGroup(6, math.inf), VoterGroup(4, 0.3)], epsilon=0.4, classes=3, max_affected=1)
    columns = ClassColumns(problem, np.random.default_rng(2).random((len(all_votes(problem)), 3)), alike=False)
    rows = ClassRows(guarantee(problem), columns)
    still = GroupOfCase((), (1, 1, 2))
    case = ClassCase((0, 2), (GroupOfCase((((2, 0), 1),), (1, 1, 3)), still))
    ahead = rows.ahead(case, 10)
    votes = [(2, 1, 2), (3, 1, 1), (4, 1, 0)]
    assert ahead == [ClassCase((0, 2), (GroupOfCase((((2, 0), 1),), sure), still)) for sure in votes]
    assert rows.ahead(case, 2) == ahead[:2]

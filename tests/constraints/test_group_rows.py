"""Rows of decisions by groups: of many cases at once as of one after the other, and of no case none."""

import math

import numpy as np
import pytest

import darrm
from darrm import DecisionProblem, VoterGroup
from darrm.certificate.groups import GroupSeparation
from darrm.constraints.groups import GroupRows, TableColumns
from darrm.problem.corners import CornerCounts
from darrm.problem.group_corners import GroupCase
from darrm.problem.limits import guarantee


@pytest.mark.parametrize("groups", [[VoterGroup(4, 0.5, 1e-3)], [VoterGroup(3, 0.4), VoterGroup(2, 1.0, 1e-2)]])
def test_rows_of_many_cases_are_those_of_each(groups: list[VoterGroup]) -> None:
    problem, rng = DecisionProblem(groups, epsilon=0.7, delta=0.05), np.random.default_rng(4)
    columns, limit = TableColumns(rng.normal(size=problem.table_shape)), guarantee(problem)
    rows = GroupRows(limit, columns)
    x = rng.random(columns.n)
    search = GroupSeparation(columns.table(x), limit)
    cases = [worst.case for worst in search.worst_cases(limit.epsilon)]
    found = rows.of(cases)
    assert len(found.rows) == len(cases) > 3
    for case, row, most in zip(cases, found.rows, found.limits, strict=True):
        alone = rows.of([case])
        np.testing.assert_allclose(row, alone.rows[0], rtol=0, atol=1e-15)
        assert most == pytest.approx(alone.limits[0], rel=1e-15)
    assert rows.of([]).rows.shape == (0, columns.n)


def test_only_cases_above_the_threshold_are_looked_for() -> None:
    """As many parts of each block as before, those of a small excess left out."""
    problem = DecisionProblem([VoterGroup(5, 0.5), VoterGroup(3, 1.0)], epsilon=0.8, max_affected=2)
    table = np.random.default_rng(1).random(problem.table_shape)
    (search, *_) = GroupSeparation(table, guarantee(problem))._searches.values()
    everything = list(search.worst(0.3, 100))
    assert len(everything) > 20
    for above in np.quantile([found.excess for found in everything], [0.0, 0.5, 0.9, 1.0]).tolist():
        assert list(search.worst(0.3, 100, above)) == [found for found in everything if found.excess > above]


def test_cases_ahead_are_cases_of_the_same_voters() -> None:
    """Of a group that is reached, and no further than it has voters: every table that is released holds them."""
    problem = DecisionProblem([VoterGroup(6, math.inf), VoterGroup(4, 0.3)], epsilon=0.4, max_affected=1)
    columns, limit = TableColumns(np.random.default_rng(2).normal(size=problem.table_shape)), guarantee(problem)
    rows = GroupRows(limit, columns)
    case = GroupCase(1, (CornerCounts(3, 2, 1, 0), CornerCounts(2, 2, 0, 0)))
    for answer, ones in ((1, [1, 0]), (0, [3, 4, 5])):
        ahead = rows.ahead(case._replace(answer=answer), 10)
        assert ahead == [GroupCase(answer, (CornerCounts(5 - n, n, 1, 0), CornerCounts(2, 2, 0, 0))) for n in ones]
        assert rows.ahead(case._replace(answer=answer), 1) == ahead[:1]
    table = darrm.solve(problem, objective=darrm.objectives.truth([0.7, 0.8])).table
    limits = GroupRows(limit, TableColumns(np.ones(problem.table_shape)))  # of which the table is the variables
    found = limits.of(rows.ahead(case, 10))
    assert (found.rows @ table.ravel() <= found.limits + 1e-12).all()

"""Rows of usual cases that are kept ready: each is the row of its case, and the most broken are found."""

from __future__ import annotations

import numpy as np
import pytest

import darrm
from darrm.constraints.rows import MajorityRows
from darrm.constraints.usual import MOST_K
from darrm.problem.limits import guarantee

PROBLEMS = [
    (K, Delta, t) for K in (1, 2, 3, 8, 13, 36) for Delta in (0.0, 1e-5, 0.2) for t in sorted({1, K // 2, K} - {0})
]


@pytest.mark.first(15)
@pytest.mark.parametrize(("K", "Delta", "max_affected"), PROBLEMS)
def test_each_is_the_row_of_its_case(K: int, Delta: float, max_affected: int) -> None:
    problem = darrm.MajorityProblem(K, max(0.5, 0.3 * K), 0.4, Delta, max_affected=max_affected)
    made = MajorityRows(guarantee(problem))
    assert made.ready is not None
    rows, case = made.ready._rows, made.ready._case
    places = [(n, at) for n, at in np.ndindex(*rows.shape[:2]) if rows[n, at].any()]
    cases = [case(*place) for place in places]
    assert made.allowed(cases) == cases  # multisets of this problem, each once
    assert {sum(counts[2:]) for counts in cases} <= set(range(max_affected + 1))
    expected = made.of(cases).rows
    assert np.abs(np.array([rows[place] for place in places]) - expected).sum(axis=1).max() <= made.rounding


def test_where_few_move_the_usual_cases_hold_for_a_rising_table() -> None:
    """Of all multisets the worst of a table that rises is among them: Lemma 5."""
    problem = darrm.MajorityProblem(9, 2, 0.3, 1e-3)
    design = darrm.solve(problem, shape="monotone")
    ready = MajorityRows(guarantee(problem)).ready
    assert ready is not None
    assert (ready._rows @ design.gamma[5:]).max() == pytest.approx(1, abs=1e-9)


def test_the_most_broken_of_each_block_are_proposed_once() -> None:
    problem = darrm.MajorityProblem(11, 3, 0.1, 1e-5)
    ready = MajorityRows(guarantee(problem)).ready
    assert ready is not None
    x = np.ones(6)
    cases, rows = ready.most_broken(x, set())
    values = ready._rows @ x
    assert sorted((rows.rows @ x).tolist()) == sorted(
        worst for worst in values.max(axis=1).tolist() if worst > 1 + 1e-12
    )
    assert len(set(cases)) == len(cases) == rows.limits.size > 1
    assert ready.most_broken(x, set(cases))[0] == []
    fair, none = ready.most_broken(np.zeros(6), set())
    assert fair == []
    assert none.rows.shape == (0, 6)


def test_rows_that_fill_memory_are_not_kept() -> None:
    assert MajorityRows(guarantee(darrm.MajorityProblem(MOST_K, 3, 0.1))).ready is not None
    assert MajorityRows(guarantee(darrm.MajorityProblem(MOST_K + 1, 3, 0.1))).ready is None

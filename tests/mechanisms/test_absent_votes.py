"""Labels of several classes by voters that may be absent: each row by the table of those who are present."""

import copy
import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest

import darrm
from darrm import DecisionProblem, InputError, VoterGroup
from darrm.mechanisms import absent_votes
from darrm.problem.class_votes import all_votes
from darrm.randomness.words import NotPrivateWarning

TRUTH = darrm.objectives.truth([0.6, 0.5], prior=[0.2, 0.3, 0.5])
PROBLEM = DecisionProblem([VoterGroup(1, 40.0), VoterGroup(2, 40.0)], 1000.0, classes=["a", "b", "c"])


def expected(row: tuple[int, ...]) -> int:
    """The sum of the votes of who is present, those of group 2 twice, beside how many of each are: modulo 3."""
    present = [vote != -1 for vote in row]
    if not any(present):
        return 2  # the likeliest truth
    said = sum(vote * (1 + (at > 0)) for at, vote in enumerate(row) if vote != -1)
    return (said + present[0] + 2 * sum(present[1:])) % 3


def of_rows(problem: DecisionProblem, present: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The table that says the same of votes as `expected` does."""
    groups = [g for g, count in enumerate(present) if count]
    votes = all_votes(problem)
    said = sum((1 + g) * (votes[:, at] @ np.arange(3)) for at, g in enumerate(groups))
    answers = (said + present[0] + 2 * present[1]) % 3
    return np.eye(3)[answers].reshape(*problem.table_shape, 3)


def sure() -> darrm.DecisionDesign:
    """Next to no noise, and another rule for every attendance."""
    fewer = {}
    for present in ((0, 1), (0, 2), (1, 0), (1, 1)):
        own = PROBLEM.with_present(present)
        fewer[present] = darrm.DecisionDesign(own, of_rows(own, present), TRUTH.with_present(present))
    return darrm.DecisionDesign(PROBLEM, of_rows(PROBLEM, (1, 2)), TRUTH, fewer=fewer)


ROWS = list(product((-1, 0, 1, 2), repeat=3))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float64, object])
def test_every_row_is_answered_by_the_table_of_who_is_present(dtype: Any) -> None:
    mechanism = darrm.mechanisms.PrivateDecision(sure())
    rows = np.array(ROWS, dtype=dtype) if dtype is not object else [list(row) for row in ROWS]
    labels = mechanism.release(rows)
    assert labels.dtype == np.uint8
    assert labels.tolist() == [expected(row) for row in ROWS]
    assert len({expected(row) for row in ROWS}) == 3
    assert mechanism.release(list(ROWS[7])) == expected(ROWS[7])
    assert mechanism.release_counts([[[0, 1, 0], [0, 0, 2]]]).tolist() == [expected((1, 2, 2))]
    assert mechanism.release(np.zeros((0, 3), dtype=np.int8)).shape == (0,)


def test_many_rows_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absent_votes, "_CELLS", 30)
    many = ROWS * 5
    assert darrm.mechanisms.PrivateDecision(sure()).release(many).tolist() == [expected(row) for row in many]


@pytest.mark.thorough
@pytest.mark.parametrize("again", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_copies_and_pickles_release_the_same(again: Any) -> None:
    mechanism = darrm.mechanisms.PrivateDecision(sure())
    mechanism.release(ROWS)
    assert again(mechanism).release(ROWS).tolist() == [expected(row) for row in ROWS]


@pytest.mark.thorough
def test_the_chances_are_those_of_the_tables() -> None:
    problem = DecisionProblem([VoterGroup(3, 1.0)], 0.9, classes=3, none=True)
    design = darrm.solve(problem, objective=darrm.objectives.truth([0.6], none=0.9), absent=True)
    mechanism, n = darrm.mechanisms.PrivateDecision(design), 40_000
    for row, counts in {
        (0, -1, 2): [1, 0, 1], (-1, 1, -1): [0, 1, 0], (2, 2, 1): [0, 1, 2], (-1, -1, -1): None,
    }.items():  # fmt: skip
        with pytest.warns(NotPrivateWarning):
            labels = mechanism.release(np.tile(row, (n, 1)), rng=np.random.default_rng(3))
        chances = np.array(design.answers_without_votes)
        if counts is not None:
            chances = design.with_present((sum(counts),)).probabilities(counts)
        seen = np.bincount(labels, minlength=4) / n
        assert seen == pytest.approx(chances, abs=5 * 0.5 / np.sqrt(n))


@pytest.mark.parametrize("bad", [-2, 3, 0.5, float("nan"), 255])
def test_only_minus_one_is_an_absent_voter(bad: float) -> None:
    with pytest.raises(InputError, match=r"from 0 to 2 or, for an absent voter, -1\. Got .* in row 1, column 2"):
        darrm.mechanisms.PrivateDecision(sure()).release([[0, -1, 2], [1, 1, bad]])


def test_files_and_frames_hold_names_and_blanks() -> None:
    pd = pytest.importorskip("pandas")
    mechanism = darrm.mechanisms.PrivateDecision(sure())
    named = pd.DataFrame(
        [[None if vote == -1 else "abc"[vote] for vote in row] for row in ROWS], columns=["x", "y", "z"]
    )
    labels = darrm.columns.release(mechanism, pd.DataFrame(named, columns=["x", "y", "z"]))
    assert labels.tolist() == ["abc"[expected(row)] for row in ROWS]

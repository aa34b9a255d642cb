"""Who votes, without what a release is held to."""

import math
from typing import Any

import pytest

import darrm
from darrm.problem.decision import allowance, decision_by
from darrm.problem.groups import assumption
from darrm.problem.model import VoterModel

GROUPS = [darrm.VoterGroup(4, 1.0, names=list("abcd")), darrm.VoterGroup(3, math.inf, 1e-6, 2, names=list("efg"))]
DECISION = darrm.DecisionProblem(GROUPS, 1.3, 1e-3, ["red", "blue"], 5, "add-remove", none=True)


def test_the_model_of_a_decision_has_all_but_its_promise() -> None:
    again = decision_by(DECISION.model, 1.3, 1e-3)
    assert again == DECISION
    assert again.voters == DECISION.voters == DECISION.model.voters == tuple("abcdefg")
    assert decision_by(DECISION.model, 0.5) == darrm.DecisionProblem(
        GROUPS, 0.5, 0.0, ["red", "blue"], 5, "add-remove", none=True
    )


def test_promises_differ_and_models_do_not() -> None:
    model = darrm.MajorityProblem(7, m=2, epsilon=0.5, Delta=1e-5, max_affected=3, adjacency="add-remove").model
    group = darrm.VoterGroup(7, 0.5, 1e-5, 3)
    assert model == VoterModel([group], adjacency="add-remove")
    assert model == darrm.DecisionProblem([group], 2.0, 0.1, adjacency="add-remove").model
    assert model != darrm.MajorityProblem(7, m=2, epsilon=0.5, Delta=1e-5, max_affected=3).model
    assert len({model, VoterModel([group], adjacency="add-remove")}) == 1


@pytest.mark.parametrize("present", [(4, 1), (0, 3), (2, 0)])
def test_the_model_of_present_voters_is_that_of_their_decision(present: tuple[int, int]) -> None:
    assert DECISION.model.with_present(present) == DECISION.with_present(present).model


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"groups": []}, "groups must be a list of darrm.VoterGroup"),
        ({"max_affected": 8}, r"max_affected must be .*in \[1, 6\], the number that the groups allow"),
        ({"classes": 1}, r"classes must be .*in \[2, 1000\]"),
        ({"adjacency": ""}, "adjacency must be a text of one line"),
        ({"none": 1}, "none must be True or False"),
    ],
)
def test_a_model_is_refused_as_its_decision_is(wrong: dict[str, Any], words: str) -> None:
    asked = {"groups": GROUPS, **wrong}
    with pytest.raises(darrm.InputError, match=words):
        VoterModel(**asked)
    with pytest.raises(darrm.InputError, match=words):
        darrm.DecisionProblem(**asked, epsilon=1.0, delta=0.5)


@pytest.mark.parametrize(("m", "epsilon"), [(3, 0.1), (1 / 3, 0.7), (11, 5e-324), (2.5, 1e6)])
def test_the_allowance_of_a_majority_is_its_m(m: float, epsilon: float) -> None:
    assert allowance(darrm.MajorityProblem(11, m, epsilon)) == m


def test_the_allowance_of_groups_is_that_of_their_one_epsilon() -> None:
    voters = [darrm.VoterGroup(4, 0.25), darrm.VoterGroup(3, 0.25)]
    assert allowance(darrm.DecisionProblem(voters, 1.0)) == 4
    assert allowance(darrm.DecisionProblem([darrm.VoterGroup(4, 5e-324)], 1e6)) == math.inf
    assert math.isnan(allowance(darrm.DecisionProblem([*voters, darrm.VoterGroup(1, 0.5)], 1.0)))
    assert math.isnan(allowance(darrm.DecisionProblem([darrm.VoterGroup(4, math.inf)], 1.0)))


WRONG: dict[str, tuple[Any, str]] = {
    "one row": ([[0.5, 0.5]], "a table of 2 to 1000 rows of one length"),
    "one column": ([[1.0], [1.0]], "a table of 2 to 1000 rows of one length"),
    "rows of several lengths": ([[0.5, 0.5], [0.2, 0.3, 0.5]], "a table of 2 to 1000 rows of one length"),
    "too many rows": ([[0.5, 0.5]] * 1001, "a table of 2 to 1000 rows of one length"),
    "numbers": ([1, 2], "'randomized response', or a table"),
    "another name": ("random response", "'randomized response', or a table"),
    "below 0": ([[1.5, -0.5], [0.5, 0.5]], "A probability of randomizer"),
    "sums": ([[0.9, 0.2], [0.1, 0.9]], "must sum to 1"),
    "an impossible vote": ([[1.0, 0.0], [0.1, 0.9]], "epsilon must be that of the randomizer at least, inf"),
    "less private": ([[0.9, 0.1], [0.1, 0.9]], "epsilon must be that of the randomizer at least, 2.197"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_known_randomizer(name: str) -> None:
    table, message = WRONG[name]
    with pytest.raises(darrm.InputError, match=message):
        darrm.VoterGroup(3, 1.0, randomizer=table, colluders=0)


@pytest.mark.parametrize("colluders", [0, 1])
def test_the_assumption_says_what_observers_know(colluders: int) -> None:
    voters = darrm.VoterGroup(3, 1.0, randomizer="randomized response", colluders=colluders)
    said = assumption(darrm.DecisionProblem([voters], 1.0))
    assert f"no observer of the labels knows a vote{' of others' * colluders}, and" in said


def test_what_a_known_randomizer_goes_with() -> None:
    for others, message in (({"delta": 1e-5}, "of delta 0"), ({"epsilon": math.inf}, "a finite epsilon")):
        with pytest.raises(darrm.InputError, match=message):
            darrm.VoterGroup(
                **{"count": 3, "epsilon": 1.0, "randomizer": "randomized response", "colluders": 0} | others
            )
    for table in ([[0.5, 0.5], [0.5, 0.5]], [[0.2] * 5] * 1000):  # epsilon 0, and as many rows as there may be
        assert darrm.VoterGroup(3, 1.0, randomizer=table, colluders=0).randomizer is not None
    voters = darrm.VoterGroup(3, 1.0, randomizer=[[0.5, 0.5], [0.4, 0.6]], colluders=0)
    with pytest.raises(darrm.InputError, match="a column for each of the 3 classes"):
        VoterModel([voters], classes=3)

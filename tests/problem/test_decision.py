"""Problems of groups of voters: what their own failures cost at least."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from darrm import DecisionProblem, InputError, VoterGroup


@pytest.mark.parametrize("most", [1, 3, 7])
@pytest.mark.parametrize("deltas", [(0.1, 1e-3), (1e-9, 0.3), (1e-300, 1e-17), (5e-324, 0.0), (1 - 2.0**-53, 0.5)])
def test_the_least_delta_is_rounded_up(deltas: tuple[float, float], most: int) -> None:
    """Exactly 1 - prod of (1 - delta_i) over the voters that fail most, and never below it."""
    groups = [VoterGroup(count, 1.0, delta) for count, delta in zip((3, 4), deltas, strict=True)]
    problem = DecisionProblem(groups, 1.0, delta=0.5, max_affected=most)
    voters = sorted([deltas[0]] * 3 + [deltas[1]] * 4, reverse=True)[:most]
    exact = 1 - math.prod(1 - Fraction(delta) for delta in voters)
    assert exact <= Fraction(problem.exact_least_delta) <= exact * (1 + Fraction(1, 10**49))
    assert exact <= Fraction(problem.least_delta) <= exact * (1 + Fraction(1, 2**50)) + Fraction(5e-324)


def test_the_least_delta_that_an_error_names_is_enough() -> None:
    groups = [VoterGroup(3, 1.0, 1e-3)]
    with pytest.raises(InputError, match="delta must be given") as refusal:
        DecisionProblem(groups, 1.0)
    named = float(str(refusal.value).split("compose to ")[1].split(":")[0])
    assert named == DecisionProblem(groups, 1.0, delta=named).least_delta


def test_labels_are_named() -> None:
    problem = DecisionProblem([VoterGroup(2, 1.0)], 1.0, classes=("no", "yes"))
    assert problem.named([[0, 1], [1, 1]]).tolist() == [["no", "yes"], ["yes", "yes"]]
    assert problem.named(np.uint8(1)) == "yes"
    assert problem.named(np.zeros(0, dtype=np.uint8)).shape == (0,)
    assert DecisionProblem([VoterGroup(2, 1.0)], 1.0).named([1, 0]).tolist() == ["1", "0"]
    for wrong in ([-1], [2], [0.5], ["yes"], [math.nan]):
        with pytest.raises(InputError, match="labels must be"):
            problem.named(wrong)


@pytest.mark.parametrize(
    ("groups", "change", "words"),
    [
        (VoterGroup(2, 1.0), {}, "groups must be a list"),
        ([], {}, "groups must be a list"),
        ([(2, 1.0)], {}, "groups must be a list"),
        (None, {"classes": ("no", "")}, "name of one line"),
        (None, {"classes": ("no", " ")}, "name of one line"),
        (None, {"classes": ("no", "yes\nno")}, "name of one line"),
        (None, {"classes": ("no", 3)}, "name of one line"),
        (None, {"classes": ("no", "-1")}, "must not be called -1"),
        (None, {"classes": ("1", "0")}, "must be at index"),
        (None, {"classes": ("no", "none"), "none": True}, "No class may be called none"),
        (None, {"classes": ("no", "no")}, "classes must be"),
        (None, {"classes": "no"}, "classes must be"),
        (None, {"classes": ("no",)}, "classes must be"),
        (None, {"classes": True}, "classes must be"),
        (None, {"classes": 1}, "classes must be"),
        (None, {"classes": 1.5}, "classes must be"),
    ],
)
def test_what_is_no_group_or_class_is_refused(groups: Any, change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        DecisionProblem([VoterGroup(2, 1.0)] if groups is None else groups, 1.0, **change)


def test_no_delta_has_no_sign() -> None:
    groups = [VoterGroup(2, 1.0)]
    assert repr(DecisionProblem(groups, 1.0, delta=-0.0)) == repr(DecisionProblem(groups, 1.0, delta=0.0))

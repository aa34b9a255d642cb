"""Scripts on several classes do what they say, at sizes that take a second."""

import math
from itertools import islice

import numpy as np
import pytest
from scripts import load

import darrm
from darrm import objectives


@pytest.mark.thorough
def test_the_noises_of_digits_give_chances() -> None:
    digits = load("digits_teachers")
    votes = np.array([[3, 0, 0, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]])
    names = [digits.PLAIN, digits.RENYI, digits.GDP, *digits.COUNTED]  # a plan follows, which takes a minute
    found = {name: chances(votes) for name, _, chances in islice(digits.ways(3, 2, 20.0), len(names))}
    assert names == list(found)
    for name, chances in found.items():
        sums = [1, 3] if name == digits.PLAIN else [1, 1]
        np.testing.assert_allclose(chances.sum(axis=1), sums, atol=1e-9)
        assert chances[0].argmax() == 0


def test_the_triangular_optimum_is_held_to_its_discrimination() -> None:
    totals = load("class_totals")
    problem = darrm.DecisionProblem([darrm.VoterGroup(3, math.inf)], 1.0, 0.5, 3, max_affected=1)
    table = totals.triangular(problem, objectives.truth([0.7]), 0.05)
    rows = darrm.accounting.releases.class_rows(table, problem.model)
    assert 0.045 < ((rows.P - rows.Q) ** 2 / (rows.P + rows.Q)).sum(axis=1).max() < 0.0502

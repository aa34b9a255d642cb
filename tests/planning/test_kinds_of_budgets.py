"""The parts of a budget: limits of a part, the shares that it begins with, and how they are raised."""

from __future__ import annotations

from fractions import Fraction

import pytest

import darrm
from darrm.accounting.gaussian import gdp, gdp_mu
from darrm.accounting.search import Budget
from darrm.planning.kinds import first_shares, gaussian, pure, raised_shares

PROBLEM = darrm.DecisionProblem([darrm.VoterGroup(3, 1.0)], epsilon=1.0, delta=0.5)


def test_the_limits_of_a_part() -> None:
    (limit,) = pure(PROBLEM, 0.25, 1e-6)
    assert (float(limit.epsilon), limit.delta) == (0.25, 1e-6)
    limits, curve = gaussian(PROBLEM, 0.5, 1e-3), [*gdp(0.5)]
    assert len(limits) == len(curve)
    assert [limit.delta for limit in limits] == [own + 1e-3 for _, own in curve]
    assert [Fraction(limit.epsilon) for limit in limits[:-1]] == [Fraction(epsilon) for epsilon, _ in curve[:-1]]


def test_shares_are_those_of_gaussians() -> None:
    assert first_shares(Budget(10, 2.0, 1e-6, "fresh"), [1.0, 2.0]) == [gdp_mu(1.0, 1e-6) / gdp_mu(2.0, 1e-6), 1.0]
    for alone in (Budget(10, 2.0, 0.0, "fresh"), Budget(1, 2.0, 1e-6, "fresh")):
        assert first_shares(alone, [1.0, 2.0]) == [0.5, 1.0]


def test_shares_are_raised_until_all_is_spent() -> None:
    assert raised_shares([1.0, 3.0], [0.5, 1.0]) == pytest.approx([2.0, 3.0])
    assert raised_shares([1.0, 3.0], [0.0, 1.0]) == pytest.approx([4.0, 3.0])  # not by more than four times

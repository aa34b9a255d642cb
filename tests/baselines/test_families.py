"""Mechanisms of one parameter that plans are compared with, put together in another way."""

import math
from fractions import Fraction

import numpy as np
import pytest

import darrm
from darrm import VoterGroup, objectives
from darrm.accounting.search import Budget
from darrm.baselines import random_votes
from darrm.baselines.registry import raised
from darrm.planning.assumed import assumptions
from darrm.planning.setting import Setting


def of_random_votes(K: int, ones: int, m: int) -> Fraction:
    """How often the majority of ``m`` random votes of K is 1, a tie being a coin."""
    total = Fraction(0)
    for k in range(m + 1):
        chance = Fraction(math.comb(ones, k) * math.comb(K - ones, m - k), math.comb(K, m))
        total += chance * (1 if 2 * k > m else Fraction(1, 2) if 2 * k == m else 0)
    return total


@pytest.mark.parametrize("K", [1, 2, 5, 6])
def test_votes_at_the_mean_are_mixed_from_the_odd_numbers_beside_them(K: int) -> None:
    problem = darrm.DecisionProblem([VoterGroup(K, 1.0)], 1.0)
    family = random_votes.BASELINE.family(problem, objectives.truth([0.8]))
    assert family.most == K
    odd = [0, *range(1, K + 1, 2), *([] if K % 2 else [K])]
    for votes in (0.25, 1.0, 1.5, 2.0, 3.0, 3.5, 4.9, 5.0, 5.5, 6.0):
        if votes > K:
            continue
        high = next(m for m in odd if m >= votes)
        low = max(m for m in odd if m <= votes)
        share = Fraction(votes - low) / (high - low) if high > low else Fraction(0)
        exact = [(1 - share) * of_random_votes(K, n, low) + share * of_random_votes(K, n, high) for n in range(K + 1)]
        assert family.table(votes) == pytest.approx(np.array(exact, dtype=float), abs=1e-12)
        said = "one vote with" if votes <= 1 else f"{low} or {high} of {K} votes, {votes:.4g} at" if high > low else ""
        assert (said or f"{votes:g} of {K} votes") in family.said(votes)


def test_assumptions_name_groups_of_which_fewer_are_reached() -> None:
    def reach(*groups: VoterGroup, t: int = 2) -> str:
        of = Setting(groups, t, "replace-one", 2, objectives.truth([0.8]))
        said, _, others = assumptions(of, Budget(5, 1.0, 1e-6, "fresh", math.inf), {"": 1.0})[0].partition(
            " If a record"
        )
        assert bool(others) == (t < sum(group.count for group in groups))
        return said

    assert reach(VoterGroup(5, 1.0, max_affected=2)).endswith(" 2 of the 5 voters at most.")
    assert reach(VoterGroup(5, 1.0, max_affected=2), t=1).endswith(" one of the 5 voters at most.")
    assert reach(VoterGroup(2, 1.0)).endswith(" every one.")
    assert reach(VoterGroup(1, 1.0), VoterGroup(4, 1.0)).endswith(" 2 of the 5 voters at most.")
    assert reach(VoterGroup(3, 1.0), VoterGroup(2, 1.0, max_affected=1)).endswith("at most, 1 of group 2 at most.")


@pytest.mark.parametrize("of", [(0,), (1,), (0, 1)])
def test_votes_of_another_epsilon_are_those_of_the_groups_that_are_named(of: tuple[int, ...]) -> None:
    groups = (VoterGroup(3, 2.0, 1e-6), VoterGroup(2, 1.0, max_affected=1))
    setting = Setting(groups, 2, "replace-one", 2, objectives.truth([0.8, 0.7]), (0.9, 0.8))
    found = setting.with_epsilon(0.5, of)
    assert [group.epsilon for group in found.groups] == [0.5 if g in of else groups[g].epsilon for g in (0, 1)]
    assert [(g.count, g.delta, g.max_affected) for g in found.groups] == [(3, 1e-6, 3), (2, 0.0, 1)]
    confusion = getattr(found.objective, "confusion")  # noqa: B009  # not all objectives have one
    for g, (group, base) in enumerate(zip(found.groups, (0.9, 0.8), strict=True)):
        right = objectives.randomized_response_accuracy(base, group.epsilon)
        assert np.asarray(confusion[g]) == pytest.approx(np.array([[right, 1 - right], [1 - right, right]]))


def test_of_groups_the_votes_are_counted_together() -> None:
    """A lead, and random votes, do not ask which group a vote is from."""
    one = Setting((VoterGroup(5, 1.0),), 1, "replace-one", 2, objectives.truth([0.8]))
    two = Setting((VoterGroup(3, 1.0), VoterGroup(2, 1.0)), 1, "replace-one", 2, objectives.truth([0.8, 0.8]))
    of_one, of_two = (raised(setting.model, setting.objective) for setting in (one, two))
    assert of_one == of_two
    for baseline in of_one:
        alone, together = (baseline.family(of.model, of.objective).table(0.7) for of in (one, two))
        sums = np.add.outer(np.arange(4), np.arange(3))
        assert together == pytest.approx(alone[sums], abs=1e-15)
        assert darrm.DecisionProblem(two.groups, 1.0).table_shape == together.shape


@pytest.mark.parametrize("voters", ["fresh", "fixed"])
def test_assumptions_name_what_makes_votes_private(voters: str) -> None:
    def kind(*groups: VoterGroup) -> str:
        of = Setting(groups, 2, "replace-one", 2, objectives.truth([0.8]))
        return assumptions(of, Budget(5, 1.0, 1e-6, voters, math.inf), {"": 1.0})[1]

    assert "(1, 0)-DP" in kind(VoterGroup(2, 1.0), VoterGroup(3, 1.0))
    assert "group" not in kind(VoterGroup(2, 1.0), VoterGroup(3, 1.0))
    mixed = kind(VoterGroup(2, 1.0, 1e-6), VoterGroup(3, math.inf))
    assert "(1, 1e-06)-DP in group 1" in mixed
    assert mixed.endswith("No privacy is assumed of the voters in group 2.")
    assert kind(VoterGroup(2, math.inf)).startswith("Voters are non-private")

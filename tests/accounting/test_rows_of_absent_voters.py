"""What many labels of several classes cost where voters may be absent, beside all pairs of all attendances."""

import math
from typing import Any

import numpy as np
import pytest
from oracles import several_classes

import darrm
from darrm import DecisionProblem, VoterGroup
from darrm.accounting import compose
from darrm.accounting.releases import one_label
from darrm.accounting.rows import OutcomeRows

Floats = np.ndarray[Any, Any]
GROUPS = [VoterGroup(1, 0.5), VoterGroup(1, 1.0)]
PROBLEM = DecisionProblem(GROUPS, 1.2, classes=3)
TRUTH = darrm.objectives.truth([0.6, 0.6])


def design_of(steep: tuple[int, int]) -> darrm.DecisionDesign:
    """Coins, but for one attendance whose label follows the last vote as far as the guarantee allows."""

    def table(present: tuple[int, int]) -> Floats:
        own = PROBLEM.with_present(present)
        coins = np.full((*own.table_shape, 3), 1 / 3)
        follow = 0.8 if present == steep else 0.0
        last = np.eye(3) if len(own.table_shape) == 1 else np.broadcast_to(np.eye(3), (3, 3, 3))
        return (1 - follow) * coins + follow * last

    fewer = {
        present: darrm.DecisionDesign(PROBLEM.with_present(present), table(present), TRUTH.with_present(present))
        for present in ((0, 1), (1, 0))
    }
    return darrm.DecisionDesign(PROBLEM, table((1, 1)), TRUTH, fewer=fewer)


def pairs_of(design: darrm.DecisionDesign, *, private: bool = True) -> tuple[Floats, Floats]:
    """Pr[answer | D] and Pr[answer | D'] for all corners of all voters of every attendance, both ways."""
    sides: list[list[Floats]] = [[], []]
    for present in ((0, 1), (1, 0), (1, 1)):
        groups = [
            several_classes.Group(1, group.epsilon if private else math.inf, 0.0, 1)
            for group, count in zip(GROUPS, present, strict=True)
            if count
        ]
        table = several_classes.full(design.with_present(present).table, groups, 3)
        found = several_classes.truth(table, groups, 3, 2)
        for side, one in zip(sides, (found.p_side, found.q_side), strict=True):
            side.append(one.astype(np.float64))
    P, Q = map(np.concatenate, sides)
    both = np.concatenate([np.hstack([P, Q]), np.hstack([Q, P])])
    P, Q = np.hsplit(np.unique(both.round(14), axis=0), 2)
    return P, Q


def brute(P: Floats, Q: Floats, queries: int, a: float) -> float:
    """The largest excess of adaptive queries, each of any pair: by recursion over all that was answered."""

    def after(x: Floats, y: Floats, left: int) -> Floats:
        if not left:
            return np.maximum(x - a * y, 0)
        inner = after(x[..., None, None] * P, y[..., None, None] * Q, left - 1)
        return np.asarray(inner.sum(axis=-1).max(axis=-1))

    return float(after(np.array(1.0), np.array(1.0), queries))


@pytest.mark.parametrize("steep", [(0, 1), (1, 0), (1, 1)])
def test_fresh_voters_cost_the_worst_attendance_at_every_label(steep: tuple[int, int]) -> None:
    design = design_of(steep)
    P, Q = pairs_of(design)
    for queries, share in ((1, 0.4), (2, 0.1), (2, 0.5)):
        delta = share * brute(P, Q, queries, 1.0)
        found = compose(design, queries, delta=delta, voters="fresh")
        assert brute(P, Q, queries, math.exp(found.upper)) <= delta * (1 + 1e-9)
        assert brute(P, Q, queries, math.exp(found.lower * (1 - 1e-4))) >= delta * (1 - 1e-3)
        assert found.upper <= found.lower * 1.01


@pytest.mark.thorough
def test_a_table_for_fewer_voters_may_cost_the_most() -> None:
    """That of all voters alone, a coin, costs nothing."""
    whole = darrm.DecisionDesign(PROBLEM, design_of((0, 1)).table, TRUTH)
    assert compose(whole, 3, delta=1e-6, voters="fresh").upper == 0
    assert compose(design_of((0, 1)), 3, delta=1e-6, voters="fresh").upper > 1


@pytest.mark.thorough
@pytest.mark.parametrize("steep", [(0, 1), (1, 0), (1, 1)])
def test_the_coins_of_all_attendances_count_for_fixed_voters(steep: tuple[int, int]) -> None:
    """What labels tell of voters without privacy, over all of whom one record affects."""
    design = design_of(steep)
    P, Q = pairs_of(design, private=False)
    given = one_label(design).gives_of_counts()
    assert isinstance(given, OutcomeRows)
    for a in (1.0, 1.5, 4.0):
        sides = ((given.P, given.Q), (given.Q, given.P))
        found = max(float(np.maximum(p - a * q, 0).sum(axis=1).max()) for p, q in sides)
        assert found == pytest.approx(brute(P, Q, 1, a), abs=1e-12)
    total = compose(design, 2, delta=1e-3, voters="fixed")
    voters = sum(group.epsilon for group in GROUPS)
    assert total.upper <= voters + 1e-9


@pytest.mark.thorough
def test_the_profile_is_the_largest_of_all_attendances() -> None:
    design = design_of((0, 1))
    P, Q = pairs_of(design)
    found = one_label(design).profile([0.0, 0.3, 0.6])
    assert found == pytest.approx([brute(P, Q, 1, math.exp(e)) for e in (0.0, 0.3, 0.6)], abs=1e-12)

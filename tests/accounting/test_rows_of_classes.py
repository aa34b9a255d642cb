"""What float64 cannot tell apart is still counted: totals of releases of several classes that hardly say anything."""

import math
from fractions import Fraction

import numpy as np
import pytest
from cases import thorough

import darrm
from darrm import objectives
from darrm.accounting import compose, max_queries, privacy_profile
from darrm.mechanisms.class_tables import exact_rows

LABELS = 10**7


def _design(problem: darrm.DecisionProblem, table: np.ndarray) -> darrm.DecisionDesign:
    return darrm.DecisionDesign(problem, table, objectives.rule("plurality", accuracy=[0.6]))


def test_a_third_for_each_class_is_not_drawn_exactly_and_so_costs_something() -> None:
    # 3 times the float64 nearest to 1/3 is below 1: with votes (2, 0, 0) the classes without votes take the rest.
    problem = darrm.DecisionProblem([darrm.VoterGroup(2, math.inf)], 1.0, classes=3)
    design = _design(problem, np.full((2, 3), 1 / 3))
    first, second = exact_rows(problem, design.table)
    ratio = max(max(p / q, q / p) for p in first for q in second)
    assert ratio > 1
    loss = float(ratio - 1) * (1 - 1e-9)
    for voters in ("fresh", "fixed"):
        assert compose(design, LABELS, delta=0.0, voters=voters).upper >= LABELS * loss
        assert max_queries(design, 1e-12, 0.0, voters=voters) < 1e-12 / loss
    moved = max(abs(p - q) for p in first for q in second)
    assert privacy_profile(design.table, problem, [0.0])[0] >= float(moved) / 2


def test_votes_of_an_epsilon_that_float64_loses_cost_what_they_cost_alone() -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(1, 1e-17)], 1.0, classes=3)
    design = _design(problem, np.array([[1.0, 0.0, 0.0]]))
    assert compose(design, LABELS, delta=0.0, voters="fresh").upper == pytest.approx(1e-10, rel=1e-9)
    assert max_queries(design, 1e-12, 0.0, voters="fresh") <= 10**5
    assert max_queries(design, 1e-12, 1e-9, voters="fresh") < 10**6


def test_a_quarter_for_each_class_is_drawn_exactly_and_costs_nothing() -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(2, math.inf)], 1.0, classes=4)
    design = _design(problem, np.full((2, 4), 0.25))
    assert {p for row in exact_rows(problem, design.table) for p in row} == {Fraction(1, 4)}
    assert compose(design, LABELS, delta=0.0, voters="fixed").upper == 0
    assert max_queries(design, 1e-300, 0.0, voters="fresh") == 10**6


def _excess(labels: int, a: float, rows: list[tuple[list[float], list[float]]]) -> float:
    """V(a) of a few labels, by going through all choices: the recursion of docs/many_answers.md."""
    if not labels:
        return max(0.0, 1 - a)
    return max(
        sum(p * (_excess(labels - 1, a * q / p, rows) if q else 1.0) for p, q in zip(P, Q, strict=True) if p)
        for P, Q in rows
    )


@pytest.mark.parametrize("reached", [1, 2])
def test_a_lower_bound_is_attained_by_one_set_of_voters(reached: int) -> None:
    # One record reaches a voter of either group, and the worst labels for both in turn are attained by neither alone.
    groups = [darrm.VoterGroup(1, 0.3, 1e-3), darrm.VoterGroup(1, 1.0)]
    said = np.array([[1, 2, 2], [2, 1, 0], [1, 0, 1]])
    problem = darrm.DecisionProblem(groups, 1e3, 0.9, classes=3, max_affected=reached)
    design = darrm.DecisionDesign(problem, np.eye(3)[said], objectives.truth([0.6, 0.6]))
    total = compose(design, 2, delta=0.01, voters="fresh")
    hi, lo = math.exp(1) / (1 + math.exp(1)), 1 / (1 + math.exp(1))
    second = [
        ([hi * (c == o) + lo * (d == o) for o in range(3)], [lo * (c == o) + hi * (d == o) for o in range(3)])
        for row in said.tolist()
        for c in row
        for d in row
    ]
    if reached == 1:
        truth = 1.98111179  # of the second group; the first alone costs .5754
        assert _excess(2, math.exp(truth), second) == pytest.approx(0.01, rel=1e-6)
        assert total.lower <= truth <= total.upper
    else:  # then both are reached at every query
        assert total.upper * (1 - 1e-3) <= total.lower <= total.upper


@pytest.mark.parametrize(("labels", "delta"), [*thorough((20_000, 1e-5)), (40, 0.0)])
def test_more_labels_than_a_grid_is_run_for_are_bounded_from_below(labels: int, delta: float) -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(1, 0.5)], 0.5, classes=3)
    design = _design(problem, np.array([[0.4, 0.3, 0.3]]))
    total = compose(design, labels, delta=delta, voters="fresh")
    # A vote (c, d) gives answer c more often on D, by .1 (hi - lo), than on D', and d less often.
    gap = 0.1 * math.tanh(0.25)
    chance, other = 0.35 + gap / 2, 0.35 - gap / 2
    assert total.lower > 0.2 * total.upper
    assert total.lower <= min(total.upper, labels * math.log(chance / other) * (1 + 1e-9))

"""What float64 cannot tell apart is still counted: totals of releases of several classes that hardly say anything."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from cases import thorough

import darrm
from darrm import objectives
from darrm.accounting import OutcomeRows, compose, max_queries, privacy_profile
from darrm.accounting.fresh import within
from darrm.accounting.many_answers import of_rows
from darrm.numerics.exact import decimals
from darrm.problem.class_tables import exact_rows

LABELS = 10**7


def _design(problem: darrm.DecisionProblem, table: np.ndarray) -> darrm.DecisionDesign:
    return darrm.DecisionDesign(problem, table, objectives.rule("plurality", accuracy=[0.6]))


@pytest.mark.thorough
def test_a_third_for_each_class_is_not_drawn_exactly_and_so_costs_something() -> None:
    # 3 times the float64 nearest to 1/3 is below 1: with votes (2, 0, 0) the classes without votes take the rest.
    problem = darrm.DecisionProblem([darrm.VoterGroup(2, math.inf)], 1.0, classes=3)
    design = _design(problem, np.full((2, 3), 1 / 3))
    first, second = exact_rows(design.table, problem)
    ratio = max(max(p / q, q / p) for p in first for q in second)
    assert ratio > 1
    loss = float(ratio - 1) * (1 - 1e-9)
    for voters in ("fresh", "fixed"):
        assert compose(design, LABELS, delta=0.0, voters=voters).upper >= LABELS * loss
        assert max_queries(design, 1e-12, 0.0, voters=voters) < 1e-12 / loss
    moved = max(abs(p - q) for p in first for q in second)
    assert privacy_profile(design.table, problem, [0.0])[0] >= float(moved) / 2


def test_the_largest_loss_is_not_the_difference_of_two_logarithms() -> None:
    """Of small probabilities both are long; their rounding is more than the loss, and a thousand labels cost 0."""
    part, moved, rest = float.fromhex("0x1.3456789abcde0p-32"), 2.0**-83, 2.0**-30
    P, Q = [part, rest - part, 1 - rest], [part + moved, rest - (part + moved), 1 - rest]
    assert sum(map(Fraction, P)) == sum(map(Fraction, Q)) == 1
    rows = OutcomeRows.of([P], [Q])
    needed = Fraction(moved) / Fraction(part) * (1 - Fraction(1, 10**6))
    assert needed < Fraction(rows.largest_loss) < needed * (1 + Fraction(1, 10**5))
    assert Fraction(of_rows(rows, 1000, delta=0.0).upper) >= 1000 * needed
    assert within(rows, None, 2.0, 0.0, 100) == 100
    assert within(rows, None, float(10 * needed), 0.0, 100) in (9, 10)


@pytest.mark.thorough
def test_the_largest_loss_of_rows_is_an_upper_bound() -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        P = rng.random((2, 3)) ** rng.integers(1, 60)
        Q = P * (1 + 10.0 ** rng.uniform(-16, 2) * rng.random(P.shape))
        P, Q = (side / side.sum(axis=1, keepdims=True) for side in (P, Q))
        with decimals(Decimal(1)):
            exact = [abs((Decimal(p) / Decimal(q)).ln()) for p, q in zip(P.ravel(), Q.ravel(), strict=True)]
            assert max(exact) <= Decimal(OutcomeRows(P, Q).largest_loss) <= max(exact) * (1 + Decimal("1e-15"))


@pytest.mark.thorough
def test_the_largest_loss_of_many_rows_that_are_as_near_is_an_upper_bound() -> None:
    """Too many for decimals: logarithms then carry their rounding."""
    rng = np.random.default_rng(5)
    P = 10.0 ** -rng.uniform(150, 250, (2000, 1))
    Q = P * 1.5
    rows = OutcomeRows(np.hstack([P, 1 - P]), np.hstack([Q, 1 - Q]))
    with decimals(Decimal(1)):
        exact = max(abs((Decimal(p) / Decimal(q)).ln()) for p, q in zip(P.ravel(), Q.ravel(), strict=True))
        assert exact <= Decimal(rows.largest_loss) <= exact * (1 + Decimal("1e-11"))


@pytest.mark.thorough
def test_answers_of_tiny_probability_cost_what_they_tell() -> None:
    """Totals of certified designs were up to 18 % too low at delta 0."""
    problem = darrm.DecisionProblem([darrm.VoterGroup(1, 1.0)], 1.0, 0.0, 3)
    rng = np.random.default_rng(1)
    with decimals(Decimal(1)):
        hi = 1 / (1 + (-Decimal(1)).exp())
        for _ in range(20):
            small, more = 10.0 ** rng.uniform(-250, -20), 10.0 ** rng.uniform(-13, -2)
            design = _design(problem, np.array([[small, 0.3, 0.7], [small * (1 + more), 0.3, 0.7], [small, 0.3, 0.7]]))
            low, high = (Decimal(pick(design.table[..., 0].ravel().tolist())) for pick in (min, max))
            needed = ((high * hi + low * (1 - hi)) / (high * (1 - hi) + low * hi)).ln()
            assert 1000 * needed <= Decimal(compose(design, 1000, delta=0.0, voters="fresh").upper)


@pytest.mark.thorough
def test_votes_of_an_epsilon_that_float64_loses_cost_what_they_cost_alone() -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(1, 1e-17)], 1.0, classes=3)
    design = _design(problem, np.array([[1.0, 0.0, 0.0]]))
    assert compose(design, LABELS, delta=0.0, voters="fresh").upper == pytest.approx(1e-10, rel=1e-9)
    assert max_queries(design, 1e-12, 0.0, voters="fresh") <= 10**5
    assert max_queries(design, 1e-12, 1e-9, voters="fresh") < 10**6


@pytest.mark.thorough
def test_a_quarter_for_each_class_is_drawn_exactly_and_costs_nothing() -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(2, math.inf)], 1.0, classes=4)
    design = _design(problem, np.full((2, 4), 0.25))
    assert {p for row in exact_rows(design.table, problem) for p in row} == {Fraction(1, 4)}
    assert compose(design, LABELS, delta=0.0, voters="fixed").upper == 0
    assert max_queries(design, 1e-300, 0.0, voters="fresh") == 10**6


def _excess(labels: int, a: float, rows: list[tuple[list[float], list[float]]]) -> float:
    """V(a) of a few labels, by going through all choices: the recursion of docs/composition.md."""
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

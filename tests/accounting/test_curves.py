"""Privacy curves, and what several cost together, beside exact fractions and every adaptive adversary."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from cases import thorough
from finite_pairs import (
    ONE,
    ZERO,
    Counts,
    Pair,
    best_strategy,
    composed,
    curve,
    epsilon,
    excess,
    exchanged,
    random_pair,
    renyi,
    response,
)
from oracles.exact import exponential

import darrm
from darrm.accounting import filters, mixed, optimal, voters
from darrm.accounting.curves import Curve, _convex, together
from darrm.accounting.mixed import curve_of, labels_beside, labels_curve, voters_curve
from darrm.accounting.profile import Point, Region, largest_loss
from darrm.accounting.releases import OneLabel, one_label
from darrm.accounting.rows import OutcomeRows

CLOSE = 2e-2  # relative: how near a total is at the delta asked for
Kinds = list[tuple[Pair, int]]


def at(epsilons: Sequence[float]) -> list[Fraction]:
    return [exponential(Decimal(float(one))) for one in epsilons]


def some_pairs(seed: int) -> Kinds:
    """Two to five pairs with counts 1 to 4, few enough to compose exactly."""
    rng = random.Random(seed)
    while True:
        kinds = []
        for _ in range(rng.randint(2, 5)):
            if rng.random() < 0.4:
                pair = response(Fraction(rng.randint(11, 40), 10), Fraction(rng.choice([0, 0, 1]), 10**4))
            else:
                pair = random_pair(rng, rng.choice([2, 3]), rng.choice([0, 0, 1]))
            kinds.append((pair, rng.randint(1, 4)))
        if math.prod(math.comb(n + len(pair) - 1, n) for pair, n in kinds) <= 700:
            return kinds


def never_below(found: Curve, pair: Pair, epsilons: Sequence[float]) -> None:
    """In either direction."""
    for row, side in zip(
        np.broadcast_to(found.at(np.array(epsilons)), (2, len(epsilons))), (pair, exchanged(pair)), strict=True
    ):
        for value, a in zip(row.tolist(), at(epsilons), strict=True):
            assert Fraction(value) >= excess(side, a)


# One curve


@pytest.mark.parametrize("seed", range(12))
def test_a_curve_is_never_below_its_pair(seed: int) -> None:
    rng = random.Random(seed)
    pair = random_pair(rng, rng.randint(2, 6), seed % 3)
    found = curve(pair)
    epsilons = [0.0, *found.epsilons.tolist(), *(rng.uniform(0, 3) for _ in range(30)), 50.0]
    never_below(found, pair, epsilons)
    values = found.at(np.array(epsilons))
    exact = [[float(excess(side, a)) for a in at(epsilons)] for side in (pair, exchanged(pair))]
    np.testing.assert_allclose(values, exact, rtol=1e-12, atol=1e-13)
    for delta in (0.3, 0.11, 0.013, 1.7e-3):
        truth = max(epsilon(side, Fraction(delta)) for side in (pair, exchanged(pair)))
        cost = found.epsilon(delta)
        assert cost >= truth * (1 - 1e-15)
        for row, side in zip(
            found.deltas, (pair, exchanged(pair)), strict=True
        ):  # where they cross, lines join the worse
            alone, own = Curve.of(found.epsilons, row[None]).epsilon(delta), epsilon(side, Fraction(delta))
            assert own * (1 - 1e-15) <= alone <= own * (1 + 1e-9) + 1e-12 or own == alone == math.inf


@pytest.mark.parametrize("seed", range(12))
def test_masses_are_a_pair_with_that_curve(seed: int) -> None:
    rng = random.Random(seed)
    pair = random_pair(rng, rng.randint(2, 6), seed % 3)
    found = curve(pair)
    assert len(found.masses) == 2
    for side, (losses, P, infinite) in zip((pair, exchanged(pair)), found.masses, strict=True):
        whole = sum(map(Fraction, P.tolist())) + Fraction(infinite)
        assert 1 <= whole <= 1 + Fraction(1, 10**11)
        for a in at([0.0, 0.1, 0.4, 0.9, 1.7]):
            value = Fraction(infinite) + sum(
                (
                    Fraction(p) * max(ZERO, 1 - a / exponential(Decimal(s)))
                    for s, p in zip(losses, P.tolist(), strict=True)
                ),
                ZERO,
            )
            assert value >= excess(side, a)
            assert float(value) == pytest.approx(float(excess(side, a)), abs=1e-11)


@pytest.mark.thorough
def test_convex_takes_off_what_is_above_a_chord_and_nothing_else() -> None:
    rng = random.Random(3)
    for _ in range(50):
        pair = random_pair(rng, 4)
        epsilons = np.array([0.0, *sorted(rng.uniform(0.01, 2.0) for _ in range(12))])
        exact = [excess(pair, a) for a in at(epsilons.tolist())]
        raised = np.array([float(v) * (1 + (rng.random() if rng.random() < 0.3 else 0.0)) + 1e-15 for v in exact])
        lowered = _convex(epsilons, np.minimum.accumulate(raised))
        assert (lowered <= raised * (1 + 1e-12)).all()
        assert all(Fraction(v) >= e for v, e in zip(lowered.tolist(), exact, strict=True))
        a = np.exp(epsilons)
        slopes = np.diff(lowered) / np.diff(a)
        assert (np.diff(slopes) >= -1e-9 * np.abs(slopes[:-1]) - 1e-12 / np.diff(a)[1:]).all()


@pytest.mark.parametrize(("each", "failure", "n"), [(0.1, 0.0, 30), (0.5, 1e-6, 8), (2.0, 1e-6, 3), (1e-4, 0.0, 200)])
def test_guarantees_compose_as_kairouz_oh_and_viswanath_say(each: float, failure: float, n: int) -> None:
    """Their formula is the optimal composition of (epsilon, delta)-DP (ICML 2015)."""
    for delta in (1e-2, 1e-4):
        found = together([(Curve.of_guarantee(each, failure), n)], delta).epsilon(delta)
        truth = optimal(each, failure, n, delta).epsilon
        assert truth * (1 - 1e-12) <= found <= truth * (1 + CLOSE) + 1e-6


@pytest.mark.parametrize(
    "pair", [(0.0, 0.0), (0.0, 0.3), (5e-324, 0.0), (1e-300, 1e-300), (690.0, 0.0), (0.1, 1 - 2**-53)]
)
def test_guarantees_at_the_ends_of_their_range(pair: tuple[float, float]) -> None:
    found = Curve.of_guarantee(*pair)
    assert found.delta_infinity >= pair[1]
    assert found.epsilon(pair[1]) <= pair[0]
    assert Fraction(float(found.at(np.zeros(1)).max())) >= Fraction(pair[1])
    if pair[0] and pair[1] < found.deltas[0, 0]:
        assert found.epsilon(pair[1]) == pair[0]


@pytest.mark.thorough
def test_fixed_voters_cost_what_their_votes_do() -> None:
    problem = darrm.DecisionProblem(
        [darrm.VoterGroup(3, 0.2, 1e-6), darrm.VoterGroup(2, 0.7), darrm.VoterGroup(4, 0.05)], 2.0, 0.5, max_affected=6
    )
    for who in (voters.reached(problem), voters.reached(darrm.MajorityProblem(9, 3, 0.1, 1e-5))):
        found = Curve.of_voters(who)
        most = sum(n * e for e, n in who.kinds)
        for one in [*np.linspace(0, 1.1 * most, 40), most]:
            value = float(found.at(np.array([one])).max())
            assert value >= voters.delta_of(who, float(one)) * (1 - 1e-13)
            assert value <= voters.delta_of(who, float(one)) * (1 + 1e-3) + 1e-9
        assert found.epsilon(1e-2) == pytest.approx(voters.epsilon_of(who, 1e-2), rel=1e-3)


@pytest.mark.parametrize(
    ("epsilons", "deltas"),
    [
        ([0.1, 1.0], [[0.5, 0.1]]),
        ([0.0, 0.0], [[0.5, 0.1]]),
        ([0.0, 1.0, 0.5], [[0.5, 0.2, 0.1]]),
        ([0.0, math.nan], [[0.5, 0.1]]),
        ([0.0, math.inf], [[0.5, 0.1]]),
        ([0.0, 691.0], [[0.5, 0.1]]),
        ([0.0, 1.0], [[1.1, 0.1]]),
        ([0.0, 1.0], [[0.5, -1e-9]]),
        ([0.0, 1.0], [[0.5, math.nan]]),
        ([0.0, 1.0], [[0.5]]),
        ([0.0, 1.0], [[0.5, 0.1]] * 3),
        ([], [[]]),
    ],
)
def test_what_is_no_curve_is_refused(epsilons: list[float], deltas: list[list[float]]) -> None:
    with pytest.raises(darrm.InputError, match="A privacy curve needs"):
        Curve.of(np.array(epsilons), np.array(deltas))


# Several together


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, *thorough(*range(5, 14))])
def test_together_is_never_below_the_exact_composition(seed: int) -> None:
    kinds, rng = some_pairs(seed), random.Random(seed + 100)
    exact = composed(kinds)
    unavoidable = max(p for side in (exact, exchanged(exact)) for p in [sum((p for p, q in side if not q), ZERO)])
    delta = rng.choice([1e-2, 1e-3, 1e-4]) + float(unavoidable)
    found = together([(curve(pair), n) for pair, n in kinds], delta)
    reach = max(abs(math.log(p) - math.log(q)) for p, q in exact if p and q)
    never_below(found, exact, [0.0, reach, *(rng.uniform(0, 1.05 * reach) for _ in range(28))])
    truth = max(epsilon(side, Fraction(delta)) for side in (exact, exchanged(exact)))
    assert truth <= found.epsilon(delta) <= truth * (1 + CLOSE) or truth == found.epsilon(delta) == math.inf


@pytest.mark.thorough
def test_directions_are_not_mixed_up() -> None:
    """Composed apart, as one change of the data is the same for all: less than if each were the worse of both."""
    rng = random.Random(5)
    pair = random_pair(rng, 3, 0)
    pair = ((Fraction(1, 100), Fraction(1, 1000)), (Fraction(99, 100), Fraction(999, 1000)))
    both = composed([(pair, 3), (exchanged(pair), 3)])
    found = together([(curve(pair), 3), (curve(exchanged(pair)), 3)], 1e-3)
    never_below(found, both, np.linspace(0, 5, 30).tolist())
    truth = max(epsilon(side, Fraction(1, 1000)) for side in (both, exchanged(both)))
    assert truth <= found.epsilon(1e-3) <= truth * (1 + CLOSE)
    alike = together([(curve(pair), 6)], 1e-3)
    assert alike.epsilon(1e-3) > found.epsilon(1e-3)


@pytest.mark.parametrize("delta", [1e-12, 1e-100, 1e-250])
def test_totals_at_tiny_deltas_do_not_end_too_soon(delta: float) -> None:
    kinds = [(response(Fraction(3, 2)), 4), (response(Fraction(11, 10)), 3), (response(Fraction(7)), 2)]
    exact = composed(kinds)
    truth = epsilon(exact, Fraction(delta))
    found = together([(curve(pair), n) for pair, n in kinds], delta).epsilon(delta)
    assert found >= truth * (1 - 1e-15)
    assert found <= truth * (1 + CLOSE) or found == math.inf


def test_nothing_costs_nothing() -> None:
    nothing = Curve.of_guarantee(0.0, 0.0)
    assert nothing.silent
    assert together([], 1e-6).silent
    assert together([(nothing, 2**53)], 1e-6).epsilon(0.0) == 0
    some = Curve.of_guarantee(0.3, 0.0)
    assert together([(some, 0), (nothing, 7)], 1e-6).silent
    assert together([(some, 1), (nothing, 7)], 1e-6) is some


# Labels between other labels


def region_of(points: Sequence[tuple[Fraction, Fraction]]) -> Region:
    """A region with these corners."""
    corners = tuple(Point(float(x), float(y), float(1 - x), float(1 - y)) for x, y in points)
    return Region(
        corners,
        corners,
        max((p.x for p in corners if p.y == 0), default=0.0),
        largest_loss(corners),
    )


def rows_of(release: Region | OutcomeRows) -> list[Pair]:
    """Every row and its exchange."""
    rows = release if isinstance(release, OutcomeRows) else OutcomeRows.of_points(release.outer)
    found = []
    for on, off in zip(rows.P.tolist(), rows.Q.tolist(), strict=True):
        pair = tuple((Fraction(p), Fraction(q)) for p, q in zip(on, off, strict=True))
        found += [pair, exchanged(pair)]
    return found


SMALL = region_of([(Fraction(6, 10), Fraction(5, 10)), (Fraction(2, 10), Fraction(1, 8))])
STEEP = region_of([(Fraction(3, 10), Fraction(1, 10)), (Fraction(1, 100), ZERO)])
THREE = OutcomeRows.of([[0.5, 0.25, 0.25], [0.125, 0.625, 0.25]], [[0.25, 0.5, 0.25], [0.125, 0.375, 0.5]])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("first", "second", "counts"),
    [
        (SMALL, STEEP, (2, 2)),
        (SMALL, THREE, (2, 2)),
        (region_of([(Fraction(6, 10), Fraction(4, 10))]), region_of([(Fraction(3, 10), Fraction(1, 10))]), (4, 4)),
        (region_of([(Fraction(6, 10), Fraction(4, 10))]), region_of([(Fraction(1, 10), ZERO)]), (4, 3)),
    ],
)
def test_labels_in_any_order_are_below_the_product_of_both(
    first: Region | OutcomeRows, second: Region | OutcomeRows, counts: tuple[int, int]
) -> None:
    """The order, and what is asked, are chosen after every label."""
    one, two = rows_of(first), rows_of(second)
    for i in range(1, counts[0] + 1):
        for j in range(1, counts[1] + 1):
            product = together([(curve_of(first, i, 1e-3), 1), (curve_of(second, j, 1e-3), 1)], 1e-3)

            def within(used: Counts, i: int = i, j: int = j) -> bool:
                return sum(used[: len(one)]) <= i and sum(used[len(one) :]) <= j

            for total in (0.0, 0.4, 1.1):
                if (i, j) != counts and total:
                    continue
                worst = best_strategy([*one, *two], within, total)
                bound = float(product.at(np.array([total])).max())
                assert worst <= bound * (1 + 1e-12)
                assert bound <= worst * (1 + CLOSE) + 1e-4


# Labels beside a rest


def design_of_one(each: float, failure: float = 0.0) -> OneLabel:
    """A design whose label is randomized response itself."""
    return one_label(darrm.solve(K=1, m=1, epsilon=each, Delta=failure))


RESTS: list[tuple[str, Kinds]] = [
    ("symmetric", [(response(Fraction(3, 2)), 2)]),
    ("asymmetric", [(((Fraction(1, 10), Fraction(1, 25)), (Fraction(9, 10), Fraction(24, 25))), 1)]),
    ("exchanged", [(((Fraction(1, 25), Fraction(1, 10)), (Fraction(24, 25), Fraction(9, 10))), 1)]),
    ("fails", [(response(Fraction(6, 5), Fraction(1, 4000)), 3)]),
    ("one side fails", [(((Fraction(1, 2000), ZERO), (Fraction(1999, 2000), ONE)), 2)]),
]


def odds_of(each: float) -> Fraction:
    return exponential(Decimal(each)).limit_denominator(10**15)


@pytest.mark.thorough
@pytest.mark.parametrize(("each", "total", "delta"), [(0.25, 2.0, 2e-3), (0.05, 1.5, 5e-3)])
@pytest.mark.parametrize(("_name", "kinds"), RESTS, ids=[name for name, _ in RESTS])
def test_labels_beside_a_rest_are_within_the_budget(
    _name: str, kinds: Kinds, each: float, total: float, delta: float
) -> None:
    """By the exact composition of the rest and randomized response; and not many more would be."""
    label = design_of_one(each)
    rest = together([(curve(pair), n) for pair, n in kinds], delta)
    n = labels_beside(rest, label, total, delta, 10**6)
    others, a = composed(kinds), math.exp(total)

    def cost(labels: int) -> float:
        hi = 1 / (1 + math.exp(-each))
        chances = [math.comb(labels, k) * hi**k * (1 - hi) ** (labels - k) for k in range(labels + 1)]
        sides = [[(float(p), float(q)) for p, q in side] for side in (others, exchanged(others))]
        return max(
            math.fsum(max(0.0, p * x - a * q * y) for p, q in side for x, y in zip(chances, chances[::-1], strict=True))
            for side in sides
        )

    assert 3 <= n < 200
    assert cost(n) <= delta * (1 + 1e-12)
    assert cost(n + 1 + n // 20) > delta
    assert labels_beside(rest, label, total, delta, 2) == 2


@pytest.mark.thorough
@pytest.mark.parametrize("failure", [0.0, 1e-5])
def test_labels_beside_agree_with_a_finer_grid(failure: float) -> None:
    label = one_label(darrm.solve(K=5, m=2, epsilon=0.1, Delta=failure, delta=50 * failure))
    rest = together([(curve(RESTS[1][1][0][0]), 1), (Curve.of_guarantee(0.1, 1e-5), 5)], 1e-3)
    n = labels_beside(rest, label, 3.0, 1e-3, 10**6)
    assert n > 5
    assert together([(rest, 1), (labels_curve(label, n, 1e-3), 1)], 1e-3).epsilon(1e-3) <= 3.0 * (1 + 1e-3)
    more = math.ceil(1.05 * n) + 1
    assert together([(rest, 1), (labels_curve(label, more, 1e-3), 1)], 1e-3).epsilon(1e-3) > 3.0


@pytest.mark.thorough
def test_labels_of_classes_beside_a_rest() -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(3, 0.3)], 0.3, 1e-4, classes=3)
    label = one_label(darrm.solve(problem, objective=darrm.objectives.rule("plurality", accuracy=[0.6])))
    rest = together([(curve(pair), n) for pair, n in RESTS[3][1]], 5e-3)
    n = labels_beside(rest, label, 2.0, 5e-3, 10**6)
    assert n > 3
    assert together([(rest, 1), (labels_curve(label, n, 5e-3), 1)], 5e-3).epsilon(5e-3) <= 2.0 * (1 + 1e-2)
    more = math.ceil(1.1 * n) + 1
    assert together([(rest, 1), (labels_curve(label, more, 5e-3), 1)], 5e-3).epsilon(5e-3) > 2.0


def test_labels_beside_a_rest_are_compared_with_the_budget_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number is the one that a comparison for every number of labels finds, wherever ``most`` ends."""
    label, rest, compared = design_of_one(0.05), Curve.of_guarantee(0.5, 1e-6), []
    beside = mixed._beside
    monkeypatch.setattr(mixed, "_beside", lambda *given: compared.append(beside(*given)) or compared[-1])
    found = labels_beside(rest, label, 2.0, 1e-4, 10**6)
    assert found > 64
    assert len(compared) <= found // 32 + 1 + 6
    for most in (31, 33, found - 1):
        assert labels_beside(rest, label, 2.0, 1e-4, most) == min(most, found)
    monkeypatch.setattr(mixed, "_TOGETHER", 1)
    assert labels_beside(rest, label, 2.0, 1e-4, 10**6) == found


def test_no_labels_where_nothing_is_left() -> None:
    label = design_of_one(0.25)
    rest = Curve.of_guarantee(1.0, 1e-3)
    for total, delta in ((0.99, 1e-2), (2.0, 9e-4), (1.0, 1e-3), (1.24, 1e-3)):
        assert labels_beside(rest, label, total, delta, 100) == 0
    assert labels_beside(rest, label, 1.2501, 1.0001e-3, 100) == 1
    assert labels_beside(Curve.of_guarantee(0.0, 0.5), label, 10.0, 0.4, 100) == 0


@pytest.mark.parametrize("each", [0.1, 0.25, 0.3, 1 / 3])
def test_labels_beside_a_rest_without_delta(each: float) -> None:
    """The epsilons add up, and rounding does not make room."""
    label = design_of_one(each)
    for spent in (0.1, 0.25, 0.7):
        for total in (spent + each, 1.0, 2.0, 3.3):
            n = labels_beside(Curve.of_guarantee(spent, 0.0), label, total, 0.0, 10**6)
            room = (Fraction(total) - Fraction(spent)) / Fraction(each)
            assert room - 1 - Fraction(1, 10**12) <= n <= room
    silent = OneLabel(darrm.MajorityProblem(3, 1, 0.1), np.zeros(4), {})
    assert labels_beside(Curve.of_guarantee(1.0, 0.0), silent, 1.0, 0.0, 77) == 77


# Filters

ORDERS = (1.01, 1.3, 2.0, 7.5, 60.0)


@pytest.mark.parametrize("seed", range(9))
def test_a_curve_spends_at_least_its_divergence(seed: int) -> None:
    rng = random.Random(seed)
    pair = random_pair(rng, rng.randint(2, 5), seed % 3)
    for order in ORDERS:
        spent = filters.of_curve(curve(pair), order)
        sides = [renyi(side, order) for side in (pair, exchanged(pair))]
        assert Decimal(spent.divergence) >= max(divergence for divergence, _ in sides)
        assert Decimal(spent.failure) >= max(failure for _, failure in sides)
        truth = max(0.0, *(float(divergence) for divergence, _ in sides))
        assert spent.divergence <= truth * (1 + 1e-6) + 1e-9 / (order - 1)


@pytest.mark.parametrize("gap", [Fraction(1, 5), Fraction(1, 10**4), Fraction(1, 10**7), Fraction(1, 2**50)])
@pytest.mark.parametrize("order", ORDERS)
def test_a_label_spends_at_least_its_divergence(order: float, gap: Fraction) -> None:
    rng = random.Random(7)
    corners = []
    for _ in range(30):
        y = Fraction(rng.randint(1, 2**20), 2**21)
        corners.append((y + gap * y, y))
    for corner in corners:
        region = region_of([corner])
        exact = [(*corner,), (1 - corner[0], 1 - corner[1])]
        truth = max(renyi(side, order)[0] for side in (tuple(exact), exchanged(tuple(exact))))
        assert Decimal(filters.of_release(region, order).divergence) >= truth
    rows = rows_of(THREE)
    truth = max(renyi(row, order)[0] for row in rows)
    assert truth <= Decimal(filters.of_release(THREE, order).divergence) <= truth * (1 + Decimal("1e-9"))


def test_what_rows_of_fewer_answers_and_impossible_answers_spend() -> None:
    rows = OutcomeRows.of(
        [[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.5, 0.5]], [[0.25, 0.75, 0.0], [0.5, 0.25, 0.25], [0.01, 0.49, 0.5]]
    )
    for order in ORDERS:
        with np.errstate(invalid="ignore"):  # see the next test
            spent = filters.of_release(rows, order)
        sides = [renyi(row, order) for row in rows_of(rows)]
        assert Decimal(spent.divergence) >= max(divergence for divergence, _ in sides)
        assert spent.failure >= 0.01


def filter_of(total: float, delta: float) -> filters.Filter:
    """The filter of a new ledger."""
    return filters.filter_at(filters.best_order(total, delta), filters.FAILURES * delta, total, delta)


@pytest.mark.parametrize(("total", "delta"), [(1.0, 1e-2), (3.0, 1e-6), (0.1, 1e-9), (20.0, 1e-12), (600.0, 1e-5)])
def test_a_filter_allows_no_more_than_its_order_proves(total: float, delta: float) -> None:
    """Canonne, Kamath, Steinke (NeurIPS 2020): the least delta of a Renyi divergence at an epsilon."""
    order, divergence, failure = (Decimal(x) for x in filter_of(total, delta))
    chance = ((order - 1) * (divergence - Decimal(total))).exp() * (1 - 1 / order) ** (order - 1) / order
    assert chance + failure <= Decimal(delta)
    assert chance + failure >= Decimal(delta) * (1 - Decimal("1e-6"))
    assert 0 < divergence < Decimal(total)


def test_a_filter_without_delta_allows_nothing() -> None:
    for total, delta in ((1.0, 0.0), (0.0, 1e-9)):
        assert filter_of(total, delta).divergence < 0
    assert filters.of_curve(Curve.of_guarantee(0.0, 0.0), 3.0) == (0.0, 0.0)


def test_an_answer_that_no_side_gives_spends_nothing() -> None:
    rows = OutcomeRows.of([[0.5, 0.5, 0.0]], [[0.25, 0.75, 0.0]])
    assert filters.of_release(rows, 2.0) == filters.of_release(OutcomeRows.of([[0.5, 0.5]], [[0.25, 0.75]]), 2.0)


APART = OutcomeRows.of([[1.0, 0.0], [0.6, 0.4]], [[0.0, 1.0], [0.4, 0.6]])


def test_a_row_without_common_answers_fails() -> None:
    with np.errstate(invalid="ignore"):
        assert filters.of_release(APART, 2.0).failure == 1.0


def test_a_row_without_common_answers_does_not_hide_the_others() -> None:
    with np.errstate(invalid="ignore"):
        alone = filters.of_release(OutcomeRows.of(APART.P[1:], APART.Q[1:]), 2.0)
        assert filters.of_release(APART, 2.0).divergence >= alone.divergence


TOTAL, DELTA = 1.2, 0.03
RR, SMALLER = response(Fraction(8, 5)), response(Fraction(5, 4))
FAILS = ((Fraction(1, 1000), ZERO), (Fraction(999, 1000), ONE))
SKEW = ((Fraction(1, 10), Fraction(1, 25)), (Fraction(9, 10), Fraction(24, 25)))


def by_divergences(kinds: Sequence[Pair]) -> tuple[filters.Filter, list[filters.Spent]]:
    allowed = filter_of(TOTAL, DELTA)
    return allowed, [filters.of_curve(curve(kind), allowed.order) for kind in kinds]


@pytest.mark.parametrize(
    "kinds", [(RR, SMALLER), (RR, SKEW, exchanged(SKEW)), (RR, FAILS, exchanged(FAILS)), (SKEW, exchanged(SKEW), FAILS)]
)
def test_no_adversary_gets_past_a_filter_of_divergences(kinds: Sequence[Pair]) -> None:
    """The best of all strategies that choose the next mechanism by every outcome so far."""
    allowed, spent = by_divergences(kinds)

    def within(used: Counts) -> bool:
        divergence = sum(n * one.divergence for n, one in zip(used, spent, strict=True))
        failure = sum(n * one.failure for n, one in zip(used, spent, strict=True))
        return divergence <= allowed.divergence and failure <= allowed.failure

    worst = best_strategy(kinds, within, TOTAL)
    assert DELTA * 1e-2 < worst <= DELTA


@pytest.mark.parametrize("kinds", [(RR, SMALLER), (RR, SMALLER, FAILS)])
def test_no_adversary_gets_past_sums(kinds: Sequence[Pair]) -> None:
    guarantees = {RR: (math.log(1.6), 0.0), SMALLER: (math.log(1.25), 0.0), FAILS: (0.0, 1e-3)}

    def within(used: Counts) -> bool:
        epsilon, delta = (sum(n * guarantees[kind][i] for n, kind in zip(used, kinds, strict=True)) for i in (0, 1))
        return epsilon <= TOTAL and delta <= 3.5e-3

    assert best_strategy(kinds, within, TOTAL) <= 3.5e-3


def counterexample() -> tuple[Pair, Pair, Pair, float, float]:
    """Two mechanisms of which one is chosen by the outcome of the first, and a budget that pays for it and either."""
    first, total, delta = response(Fraction(3, 2)), 1.0, 1e-3
    x = total - math.log(1.5) + 0.0024  # both outcomes + are beyond the total epsilon, with nearly delta
    second = response(Fraction(math.exp(x)).limit_denominator(10**9))
    return first, second, response(ONE, Fraction(97, 10**5)), total, delta


def test_the_rule_composed_is_no_filter() -> None:
    """What is charged must not depend on what was released: here the total delta is spent one and a third times."""
    *kinds, total, delta = counterexample()
    curves = [curve(kind) for kind in kinds]

    @cache
    def within(used: Counts) -> bool:
        if max(used) > 1:
            return False
        return together(list(zip(curves, used, strict=True)), delta).epsilon(delta) <= total

    assert within((1, 1, 0))
    assert within((1, 0, 1))
    assert not within((1, 1, 1))
    assert best_strategy(kinds, within, total) > 1.3 * delta
    for used in ((1, 1, 0), (1, 0, 1)):  # each alone, settled before, is within the budget
        everything = composed(list(zip(kinds, used, strict=True)))
        assert max(excess(side, exponential(Decimal(total))) for side in (everything, exchanged(everything))) <= delta


@pytest.mark.thorough
def test_fixed_voters_are_one_curve_however_much_they_answer() -> None:
    label = one_label(darrm.solve(K=5, m=2, epsilon=0.2, Delta=1e-6))
    found = voters_curve(label)
    exact = composed([(response(odds_of(0.2), Fraction(1e-6)), 5)])
    truth = max(epsilon(side, Fraction(1, 1000)) for side in (exact, exchanged(exact)))
    assert truth * (1 - 1e-12) <= found.epsilon(1e-3) <= truth * (1 + 1e-3)
    never_below(found, exact, [0.0, 0.1, 0.35, 0.6, 0.99])

"""Accounting for decisions by groups: against brute force over all corner pairs, and against the first engine."""

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import slow
from numpy.typing import NDArray
from oracles.exact import exponential, pmf

import darrm
from darrm.accounting import Ledger, compose, fixed, max_queries, optimal
from darrm.accounting.fixed import fixed_voters, fixed_within, labels_allowance, of_fixed
from darrm.accounting.fresh import of_region, within
from darrm.accounting.hulls import counts_region
from darrm.accounting.profile import Region, privacy_profile, region
from darrm.accounting.releases import OneLabel, one_label
from darrm.accounting.rows import OutcomeRows
from darrm.accounting.voters import delta_of, reached, sets_reached
from darrm.design.absent import attendances

Floats = NDArray[np.float64]
Pair = tuple[Fraction, Fraction]


def objective(groups: int) -> darrm.objectives.Objective:
    return darrm.objectives.truth(accuracy=[0.7] * groups)


def group_pairs(group: darrm.VoterGroup, n: int, number: Any) -> list[tuple[list[Any], list[Any]]]:
    """Distributions of the ones of a group on both data sets with n reached voters, for every multiset of corners."""
    D = Fraction(group.delta)
    hi, lo = Fraction(1), Fraction(0)
    if group.epsilon < math.inf:
        e = exponential(Decimal(group.epsilon))
        hi, lo = (e + D) / (e + 1), (1 - D) / (e + 1)
    corners = [(hi, lo), (lo, hi)]
    if D and group.epsilon < math.inf:
        corners += [(D, Fraction(0)), (Fraction(0), D), (1 - D, Fraction(1)), (Fraction(1), 1 - D)]
    corners = [(number(p), number(q)) for p, q in corners]
    found = []
    for moving in combinations_with_replacement(corners, n):
        for ones in range(group.count - n + 1):
            still = [number(1)] * ones + [number(0)] * (group.count - n - ones)
            found.append((pmf([p for p, _ in moving] + still), pmf([q for _, q in moving] + still)))
    return found


def points(
    table: Floats, problem: darrm.DecisionProblem, number: Any = Fraction, voters: tuple[int, ...] | None = None
) -> list[Pair]:
    """(Pr[1 | D], Pr[1 | D']) of every multiset, in fractions or in floats; ``voters``: how many of each group move."""
    X = {n: number(float(table[n])) for n in np.ndindex(*table.shape)}
    found: set[Pair] = set()
    for reach in product(*(range(group.max_affected + 1) for group in problem.groups)):
        if sum(reach) > problem.max_affected or any(n > most for n, most in zip(reach, voters or reach, strict=True)):
            continue
        for choice in product(*(group_pairs(group, n, number) for group, n in zip(problem.groups, reach, strict=True))):
            sides = []
            for side in (0, 1):
                total = number(0)
                for n, x in X.items():
                    total += x * math.prod((choice[g][side][i] for g, i in enumerate(n)), start=number(1))
                sides.append(total)
            found.add((sides[0], sides[1]))
    return sorted(found)


def brute(pairs: list[tuple[float, float]], queries: int, a: float) -> float:
    """V by the recursion of the definition; no pair is turned over to the other answer."""

    @cache
    def value(left: int, at: float) -> float:
        if left == 0:
            return max(0.0, 1 - at)
        best = 0.0
        for x, y in pairs:
            total = 0.0
            for on, off in ((x, y), (1 - x, 1 - y)):
                total += on * value(left - 1, at * off / on) if on > 0 else 0.0
            best = max(best, total)
        return best

    return value(queries, a)


def group(count: int, epsilon: float, delta: float = 0.0, max_affected: int | None = None) -> darrm.VoterGroup:
    return darrm.VoterGroup(count, epsilon, delta, max_affected)


PROBLEMS = [
    darrm.DecisionProblem([group(1, 1.0), group(2, 0.3)], 0.8),
    darrm.DecisionProblem([group(2, 0.5), group(2, 1.2, max_affected=1)], 1.0, max_affected=2),
    darrm.DecisionProblem([group(1, math.inf), group(2, 0.4)], 0.7, max_affected=1),
    darrm.DecisionProblem([group(2, math.inf)], 0.7, 0.05),
    darrm.DecisionProblem([group(1, math.inf), group(1, math.inf)], 0.7, max_affected=1),
    darrm.DecisionProblem([group(1, 0.5, 0.02), group(1, 0.2)], 0.6, 0.03),
    darrm.DecisionProblem([group(1, 1.0), group(1, 0.5), group(1, 0.1)], 0.9, max_affected=2),
]


def tables(problem: darrm.DecisionProblem, seed: int) -> list[Floats]:
    rng = np.random.default_rng([20, seed])
    skewed = rng.random(problem.table_shape) ** 4
    return [rng.random(problem.table_shape), skewed, 1 - skewed / 50, np.sort(rng.random(problem.table_shape), axis=0)]


@pytest.mark.thorough
@pytest.mark.parametrize("which", range(len(PROBLEMS)))
def test_the_profile_is_the_largest_excess_of_both_answers(which: int) -> None:
    problem = PROBLEMS[which]
    for table in tables(problem, which):
        pairs = points(table, problem)
        epsilons = [0.0, 0.05, 0.3, 1.0, 3.0]
        for epsilon, delta in zip(epsilons, privacy_profile(table, problem, epsilons).tolist(), strict=True):
            a = exponential(Decimal(epsilon))
            truth = max(max(x - a * y, (1 - x) - a * (1 - y)) for x, y in pairs)
            assert 0 <= Fraction(delta) - max(Fraction(0), truth) <= Fraction(1, 10**12)


@pytest.mark.thorough
@pytest.mark.parametrize("which", range(len(PROBLEMS)))
def test_the_polygon_contains_all_and_composes_exactly(which: int) -> None:
    """The table is not symmetric: brute force composes its pairs as they are, the polygon those of both answers."""
    problem = PROBLEMS[which]
    for table in tables(problem, which)[1:3]:
        one = region(table, problem)
        pairs = [(min(1.0, float(x)), min(1.0, float(y))) for x, y in points(table, problem, float)]
        corners = {(p.x, p.y) for p in one.outer} | {(1 - p.y, 1 - p.x) for p in one.outer}
        for x, y in pairs:
            for u, v in ((x, y), (y, x), (1 - x, 1 - y), (1 - y, 1 - x)):
                for a in (1.0, 1.01, 1.5, 4.0, 1e3):
                    at_most = max(0.0, max((c - a * d for c, d in corners), default=0.0))
                    assert u - a * v <= max(at_most, (1 - a) * float(one_floor(table))) + 1e-12
        for queries in (1, 2, 3) if len(pairs) < 25 else (1, 2) if len(pairs) < 90 else (1,):
            worst = brute(pairs, queries, 1.0)
            for share in (0.03, 0.4):
                delta = share * worst
                if delta < 1e-6:
                    continue
                try:
                    found = of_region(one, problem.affected, queries, delta)
                except darrm.InputError:
                    assert brute(pairs, queries, 1e9) > delta * 0.99
                    continue
                assert brute(pairs, queries, math.exp(found.upper)) <= delta * (1 + 1e-9)
                assert brute(pairs, queries, math.exp(found.lower * (1 - 1e-5))) >= delta * (1 - 1e-4)
                assert found.upper - found.lower <= 5e-3 * found.upper


@pytest.mark.thorough
def test_the_lower_bound_is_for_the_same_voters_at_every_query() -> None:
    """One change reaches one of three voters: which one is worst differs from query to query, who is reached does not.

    So what several labels cost is between what the lower and the upper bound say.
    """
    problem = darrm.DecisionProblem([group(1, 0.4), group(1, 0.03), group(1, 5.0)], 1.0, 0.5, max_affected=1)
    table = np.array([[[0.0, 0.0515], [0.0344, 0.0462]], [[1e-5, 6e-6], [0.433, 0.366]]])
    absent = darrm.DecisionProblem([group(1, 0.4), group(1, 0.03), group(2, 5.0)], 1.0, 0.5, max_affected=1)
    fewer = {present: np.full(absent.with_present(present).table_shape, 0.5) for present in attendances(absent)}
    fewer[1, 1, 1] = table
    whole = OneLabel(absent, np.full(absent.table_shape, 0.5), fewer)
    sets = [
        [(float(x), float(y)) for x, y in points(table, problem, voters=voters)]
        for voters in ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    ]
    every, apart = sorted(set().union(*sets)), 0
    for queries in (1, 2, 3):
        for delta in (1e-5, 1e-4, 1e-3, 1e-2):
            for label in (OneLabel(problem, table, {}), whole):
                found = of_region(label.region(), problem.affected, queries, delta)
                assert brute(every, queries, math.exp(found.upper)) <= delta * (1 + 1e-9)
                low = math.exp(found.lower * (1 - 1e-9))
                assert max(brute(one, queries, low) for one in sets) >= delta * (1 - 1e-9)
            apart += max(brute(one, queries, math.exp(found.upper * (1 - 1e-3))) for one in sets) < delta
    assert apart  # what the union of the three costs is not what one of them costs


def one_floor(table: Floats) -> float:
    return min(float(table.min()), 1 - float(table.max()))


@pytest.mark.thorough
@pytest.mark.parametrize("Delta", [0.0, 0.01])
@pytest.mark.parametrize("max_affected", [1, 3])
def test_one_group_is_what_the_first_engine_says(Delta: float, max_affected: int) -> None:
    majority = darrm.MajorityProblem(3, 2, 0.6, Delta, max_affected=max_affected)
    design = darrm.solve(majority)
    X = (1 + np.sign(2 * np.arange(4) - 3) * design.gamma) / 2
    problem = darrm.DecisionProblem([group(3, 0.6, Delta, max_affected)], majority.release_epsilon, majority.delta)
    epsilons = [0.0, 0.1, 0.5, 1.0]
    assert privacy_profile(X, problem, epsilons) == pytest.approx(
        privacy_profile(design.gamma, majority, epsilons), abs=1e-12
    )
    first, second = region(design.gamma, majority), region(X, problem)
    assert second.delta_infinity == pytest.approx(first.delta_infinity, abs=1e-9)
    decision = darrm.DecisionDesign(problem, np.nextafter(X, 0.5), objective(1))
    delta = 0.3 if Delta else 1e-3
    for voters in ("fresh", "fixed"):
        ours = compose(decision, 4, delta=delta, voters=voters)
        theirs = compose(design, 4, delta=delta, voters=voters)
        assert ours.upper == pytest.approx(theirs.upper, rel=1e-6)
        assert max(ours.lower, theirs.lower) <= min(ours.upper, theirs.upper)
    one, other = counts_region(X, problem), counts_region(design.gamma, majority)
    corners, their_corners = ([z for p in part.outer for z in (p.x, p.y)] for part in (one, other))
    assert corners == pytest.approx(their_corners, abs=1e-15)


def test_voters_that_are_not_private_leave_the_noise_of_the_labels() -> None:
    """epsilon inf, one affected: the truncated geometric, whose label loses the guaranteed epsilon and no more."""
    problem = darrm.DecisionProblem([group(5, math.inf)], 0.5, max_affected=1)
    design = darrm.solve(problem, objective=objective(1))
    one = region(design.table, problem)
    assert one.largest_loss == pytest.approx(0.5, rel=1e-9)
    fresh = compose(design, 10, delta=1e-5, voters="fresh")
    fixed = compose(design, 10, delta=1e-5, voters="fixed")
    assert fresh.upper <= optimal(0.5, 0, 10, 1e-5).epsilon + 1e-9
    assert fixed.upper == pytest.approx(fresh.upper, rel=1e-3)
    assert fixed_voters(problem, 0.5) == math.inf
    noisier = darrm.verify(0.5 + (design.table - 0.5) / 2, problem)
    assert noisier.tight_epsilon < 0.45
    pairs = [(float(x), float(y)) for x, y in points(0.5 + (design.table - 0.5) / 2, problem)]
    assert brute(pairs, 1, math.exp(noisier.tight_epsilon * (1 - 1e-9))) > 0


@pytest.mark.parametrize("which", range(len(PROBLEMS)))
def test_the_composition_of_different_voters_is_that_of_their_losses(which: int) -> None:
    """Every allowed set of reached voters, each randomized response of its epsilon and a failure of its delta."""
    problem = PROBLEMS[which]
    every = [(g.epsilon, g.delta, i) for i, g in enumerate(problem.groups) for _ in range(g.count)]
    voters = reached(problem)
    for total in (0.0, 0.1, 0.5, 0.9, 2.0):
        worst = 0.0
        for chosen in product((0, 1), repeat=len(every)):
            some = [voter for voter, taken in zip(every, chosen, strict=True) if taken]
            caps = [sum(1 for v in some if v[2] == i) <= g.max_affected for i, g in enumerate(problem.groups)]
            if len(some) > problem.max_affected or not all(caps):
                continue
            V, stay = 0.0, math.prod(1 - delta for _, delta, _ in some)
            for signs in product((1, -1), repeat=len(some)):
                chance, loss = 1.0, 0.0
                for sign, (epsilon, _, _) in zip(signs, some, strict=True):
                    if epsilon == math.inf:
                        chance, loss = chance * (sign > 0), math.inf if sign > 0 else loss
                    else:
                        chance, loss = chance / (1 + math.exp(-sign * epsilon)), loss + sign * epsilon
                V += chance * max(0.0, 1 - math.exp(total - loss)) if chance else 0.0
            worst = max(worst, 1 - stay * (1 - V))
        assert worst * (1 - 1e-12) - 1e-15 <= delta_of(voters, total) <= worst * (1 + 1e-9) + 1e-12
        if 0 < worst < 1 and all(g.delta == 0 for g in problem.groups):
            assert fixed_voters(problem, worst) == pytest.approx(total, rel=1e-7, abs=1e-7)


def test_different_voters_cost_less_than_as_many_of_the_least_private() -> None:
    mixed = darrm.DecisionProblem([group(4, 1.0), group(7, 0.2)], 1.4)
    assert fixed_voters(mixed, 1e-3) < 0.8 * fixed_voters(darrm.DecisionProblem([group(11, 1.0)], 1.4), 1e-3)
    assert fixed_voters(mixed, 0.0) == pytest.approx(5.4, rel=1e-12)
    many = darrm.DecisionProblem([group(3000, 0.01), group(3000, 0.02)], 1.4, max_affected=6000)
    assert fixed_voters(many, 1e-3) == pytest.approx(optimal(0.02, 0, 6000, 1e-3).epsilon)  # too many to list


@pytest.mark.parametrize("together", [None, (2, 0), (1, 1), (0, 2)])
def test_counts_of_a_region_without_privacy_are_all_that_a_change_can_do(together: tuple[int, int] | None) -> None:
    problem = darrm.DecisionProblem([group(3, 1.0, max_affected=2), group(2, 0.3)], 1.0, max_affected=3)
    table = np.random.default_rng(3).random(problem.table_shape)
    one = counts_region(table, problem, together)
    most = (2, 2) if together is None else together
    pairs = [
        (table[i], table[j])
        for i in np.ndindex(*table.shape)
        for j in np.ndindex(*table.shape)
        if all(abs(a - b) <= n for a, b, n in zip(i, j, most, strict=True)) and abs(i[0] - j[0]) + abs(i[1] - j[1]) <= 3
    ]
    for a in (1.0, 1.3, 2.0, 10.0):
        truth = max(0.0, *(max(x - a * y, (1 - x) - a * (1 - y)) for x, y in pairs))
        corners = [(p.x, p.y) for p in one.outer] + [(1 - p.y, 1 - p.x) for p in one.outer]
        assert max(0.0, *(x - a * y for x, y in corners)) == pytest.approx(truth, abs=1e-12)


def mixture(design: OneLabel) -> list[Pair]:
    return [pair for problem, table in design.tables for pair in points(table, problem)]  # type: ignore[arg-type]


@pytest.mark.thorough
def test_absent_voters_compose_by_the_hull_of_all_attendances() -> None:
    problem = darrm.DecisionProblem([group(1, 1.0), group(2, 0.4)], 0.8)
    design = darrm.solve(problem, objective=darrm.objectives.truth(accuracy=[0.7, 0.6]), absent=True)
    label = one_label(design)
    assert len(label.tables) == 1 + len(list(attendances(problem)))
    pairs = sorted({(float(x), float(y)) for x, y in mixture(label)})
    alone = [(float(x), float(y)) for x, y in points(design.table, problem)]
    for queries, share in ((1, 0.3), (2, 0.05), (2, 0.4)):
        delta = share * brute(pairs, queries, 1.0)
        found = compose(design, queries, delta=delta, voters="fresh")
        assert brute(pairs, queries, math.exp(found.upper)) <= delta * (1 + 1e-9)
        assert brute(pairs, queries, math.exp(found.lower * (1 - 1e-5))) >= delta * (1 - 1e-4)
    epsilons = [0.0, 0.2, 0.5]
    largest = label.profile(epsilons)
    for epsilon, delta in zip(epsilons, largest.tolist(), strict=True):
        a = math.exp(epsilon)
        assert delta == pytest.approx(max(0.0, *(max(x - a * y, (1 - x) - a * (1 - y)) for x, y in pairs)), abs=1e-9)
    assert (largest >= privacy_profile(design.table, problem, epsilons) - 1e-15).all()
    assert brute(pairs, 2, 1.2) >= brute(alone, 2, 1.2)
    assert label.counts_region().delta_infinity >= counts_region(design.table, problem).delta_infinity


def fixed_worst(table: Floats, problem: darrm.DecisionProblem, total: float) -> float:
    """The largest delta of two labels of fixed voters that answer by sheets of two answers."""
    sheets = list(product((0, 1), repeat=2))
    kinds = [g for g, group_ in enumerate(problem.groups) for _ in range(group_.count)]
    best, e = 0.0, math.exp(total)

    def labels(answers: tuple[tuple[int, int], ...]) -> Floats:
        chances = []
        for q in (0, 1):
            n = [0] * len(problem.groups)
            for g, sheet in zip(kinds, answers, strict=True):
                n[g] += sheet[q]
            chances.append(table[tuple(n)])
        x, y = chances
        return np.array([(1 - x) * (1 - y), (1 - x) * y, x * (1 - y), x * y])

    every = {answers: labels(answers) for answers in product(sheets, repeat=len(kinds))}
    moves = [(a, b) for a in sheets for b in sheets if a != b]
    his = [
        1.0 if problem.groups[g].epsilon == math.inf else 1 / (1 + math.exp(-problem.groups[g].epsilon)) for g in kinds
    ]
    allowed = [
        taken
        for n in range(1, problem.max_affected + 1)
        for taken in combinations_with_replacement(range(len(kinds)), n)
        if len(set(taken)) == n
        and all(sum(kinds[v] == g for v in taken) <= c.max_affected for g, c in enumerate(problem.groups))
    ]
    for taken in allowed:
        rest = [v for v in range(len(kinds)) if v not in taken]
        for still in product(sheets, repeat=len(rest)):
            for pairs in product(moves, repeat=len(taken)):
                P, Q = np.zeros(4), np.zeros(4)
                for which in product((0, 1), repeat=len(taken)):
                    answers: list[Any] = [None] * len(kinds)
                    for v, sheet in zip(rest, still, strict=True):
                        answers[v] = sheet
                    here = there = 1.0
                    for v, pair, w in zip(taken, pairs, which, strict=True):
                        answers[v] = pair[w]
                        here, there = here * (1 - his[v] if w else his[v]), there * (his[v] if w else 1 - his[v])
                    chances = every[tuple(answers)]
                    P, Q = P + here * chances, Q + there * chances
                best = max(best, float(np.maximum(0, P - e * Q).sum()))
    return best


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize(
    "problem",
    [
        darrm.DecisionProblem([group(1, 1.5), group(1, 0.4)], 0.9),
        darrm.DecisionProblem([group(1, 2.0), group(2, 0.5)], 0.9, max_affected=1),
        darrm.DecisionProblem([group(1, math.inf), group(1, 0.7)], 0.9, max_affected=1),
        darrm.DecisionProblem([group(1, math.inf), group(2, 0.7, max_affected=1)], 0.9, max_affected=1),
        darrm.DecisionProblem([group(1, math.inf), group(1, 1.5), group(1, 0.3)], 0.9, max_affected=2),
        darrm.DecisionProblem([group(2, 2.0), group(1, 0.2)], 0.9, max_affected=2),
    ],
)
def test_no_fixed_voters_are_above_the_bound(problem: darrm.DecisionProblem) -> None:
    rng = np.random.default_rng(11)
    for table in (0.3 + 0.4 * rng.random(problem.table_shape), 0.05 + 0.2 * rng.random(problem.table_shape)):
        label = OneLabel(problem, table, {}, certified=False)
        for total in (0.1, 0.4, 1.0):
            worst = fixed_worst(table, problem, total)
            allowed = labels_allowance(problem, total, 0.0)
            p = delta_of(reached(problem), total)
            assert worst <= p * (1 + 1e-12)
            if worst > 1e-6 and allowed is not None:
                assert of_fixed(label, 2, worst * 0.999).upper >= total * (1 - 1e-9)
        for delta in (0.0, 0.01, 0.05):
            found = of_fixed(label, 2, delta).upper
            assert found == math.inf or fixed_worst(table, problem, found) <= delta + 1e-12
            for most in (0.3, 1.0):
                if fixed_within(label, most, delta, 2) == 2:
                    assert fixed_worst(table, problem, most) <= delta + 1e-12


MIXED = darrm.DecisionProblem([group(1, math.inf), group(2, 0.4)], 0.9, max_affected=1)


def of_all_at_once(label: OneLabel, queries: int, delta: float, monkeypatch: pytest.MonkeyPatch) -> float:
    """The bound by one set that stands for all."""
    with monkeypatch.context() as patch:
        patch.setattr("darrm.accounting.voters._MOST_SETS", 0)
        return of_fixed(label, queries, delta).upper


@pytest.mark.thorough
def test_each_set_of_fixed_voters_pays_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the votes of private voters move a label far, those who are not private cost what theirs move."""
    table = np.array([[0.1, 0.4, 0.8], [0.15, 0.45, 0.85]])
    label = OneLabel(MIXED, table, {})
    one = OneLabel(darrm.DecisionProblem([group(1, math.inf)], 1.0), np.array([0.1, 0.15]), {})
    for queries, delta in ((2, 0.0), (2, 0.01), (40, 1e-3)):
        found = of_fixed(label, queries, delta).upper
        assert of_fixed(one, queries, delta).upper <= found * (1 + 1e-9)
        assert found < 0.7 * of_all_at_once(label, queries, delta, monkeypatch)
    found = of_fixed(label, 2, 0.0).upper
    assert found == pytest.approx(2 * math.log(1.5), rel=1e-5)
    assert fixed_worst(table, MIXED, found * (1 - 1e-5)) > 0  # it is attained
    private = of_fixed(
        OneLabel(darrm.DecisionProblem([group(2, 0.4)], 1.0, max_affected=1), table[0], {}), 2, 0.0
    ).upper
    assert fixed_worst(table, MIXED, private) > 0  # that of the private voters alone would be too low


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [2, *slow(3)])
def test_sets_of_fixed_voters_in_all_attendances_and_classes(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A set's rows are among those of all sets, and all sets have all of them."""
    problem = darrm.DecisionProblem(
        [group(1, math.inf), group(2, 0.4), group(1, 0.7)], 0.9, classes=classes, max_affected=2
    )
    goal = darrm.objectives.truth([0.9, 0.7, 0.7], prior=[1 / classes] * classes)
    design = darrm.solve(problem, objective=goal, absent=True)
    less = {present: 0.5 * other.table + 0.5 / classes for present, other in design.fewer.items()}
    label = OneLabel(problem, 0.5 * design.table + 0.5 / classes, less)
    sets = sets_reached(problem)
    assert {who.numbers for who in sets} == {(0, 1, 1), (0, 2, 0), (1, 0, 1), (1, 1, 0)}
    epsilons = {who.numbers: [each for each, n in who.voters.kinds for _ in range(n)] for who in sets}
    assert epsilons[0, 2, 0] == [0.4, 0.4]
    assert sorted(epsilons[1, 0, 1]) == [0.7, math.inf]
    for a in (1.0, 1.3, 2.0, 4.0):

        def excess(numbers: tuple[int, ...] | None, a: float = a) -> float:
            given = label.gives_of_counts(numbers)
            if isinstance(given, OutcomeRows):
                pairs = [*zip(given.P, given.Q, strict=True), *zip(given.Q, given.P, strict=True)]
                return max(float(np.maximum(p - a * q, 0).sum()) for p, q in pairs)
            pairs = [(p.x, p.y) for p in given.outer] + [(1 - p.y, 1 - p.x) for p in given.outer]
            return max(0.0, *(x - a * y for x, y in pairs))

        every = [excess(who.numbers) for who in sets]
        assert max(every) == pytest.approx(excess(None), abs=1e-12)
        assert every[0] == pytest.approx(excess((0, 1, 1)), abs=1e-15)
        assert excess((0, 1, 0)) <= min(excess((0, 2, 0)), excess((0, 1, 1))) + 1e-12
    together = of_all_at_once(label, 5, 1e-3, monkeypatch)
    assert of_fixed(label, 5, 1e-3).upper <= together * (1 + 1e-6)


def test_a_set_of_fixed_voters_fails_as_often_as_its_own_voters() -> None:
    groups = [group(3, 0.5, 0.1), group(2, 0.7, 0.01), group(1, math.inf)]
    for t in (1, 2, 3):
        sets = sets_reached(darrm.DecisionProblem(groups, 1.0, 0.5, max_affected=t))
        assert len(sets) == {1: 3, 2: 5, 3: 6}[t]
        for voters, numbers in sets:
            assert numbers is not None
            assert sum(numbers) == t
            stay = math.prod((1 - g.delta) ** n for g, n in zip(groups, numbers, strict=True))
            assert voters.failure == pytest.approx(1 - stay, rel=1e-13)
            assert voters.voters == t
            if not numbers[2]:
                assert delta_of(voters, 100.0) == pytest.approx(1 - stay, rel=1e-12)


STEEP, EVEN_FOR_MANY = [[0.1, 0.4, 0.8], [0.0, 0.45, 0.85]], [[0.3, 0.31, 0.32], [0.5, 0.51, 0.52]]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("one", "many", "rows"),
    [
        (group(1, math.inf), group(2, 0.4), STEEP),
        (group(1, math.inf), group(2, 3.0), EVEN_FOR_MANY),
        (group(1, 3.0, 0.02), group(2, 0.4), STEEP),
    ],
)
def test_the_order_of_groups_changes_no_bound_of_fixed_voters(
    one: darrm.VoterGroup, many: darrm.VoterGroup, rows: list[list[float]]
) -> None:
    table = np.array(rows)
    here = OneLabel(darrm.DecisionProblem([one, many], 0.9, 0.1, max_affected=1), table, {})
    there = OneLabel(darrm.DecisionProblem([many, one], 0.9, 0.1, max_affected=1), table.T, {})
    for queries, delta in ((1, 0.12), (2, 0.25), (3, 0.6)):
        total, other = of_fixed(here, queries, delta), of_fixed(there, queries, delta)
        assert total.upper < math.inf
        assert total.bounds == pytest.approx(other.bounds, rel=1e-6)
        assert total.unavoidable == pytest.approx(other.unavoidable, rel=1e-9)
        for share in (0.5, 1.001):
            most = total.upper * share
            assert fixed_within(here, most, delta, 9) == fixed_within(there, most, delta, 9)


@pytest.mark.thorough
def test_each_set_of_fixed_voters_moves_the_counts_of_any_attendance() -> None:
    groups = [group(1, math.inf), group(2, 0.4), group(2, 0.7)]
    problem = darrm.DecisionProblem(groups, 0.9, max_affected=2)
    present = {tuple(map(int, each)): problem.with_present(each).table_shape for each in attendances(problem)}
    rng = np.random.default_rng(8)
    for steep in present:
        fewer = {each: np.full(shape, 0.5) for each, shape in present.items()}
        fewer[steep] = rng.random(present[steep])
        label = OneLabel(problem, np.full(problem.table_shape, 0.5), fewer)
        table = fewer[steep].reshape([n + 1 for n in steep])
        for _, numbers in sets_reached(problem):
            assert numbers is not None
            found = label.gives_of_counts(numbers)
            assert not isinstance(found, OutcomeRows)
            pairs = [
                (table[i], table[j])
                for i in np.ndindex(*table.shape)
                for j in np.ndindex(*table.shape)
                if all(abs(a - b) <= n for a, b, n in zip(i, j, numbers, strict=True))
            ]
            for a in (1.0, 1.7):
                truth = max(max(x - a * y, (1 - x) - a * (1 - y)) for x, y in [*pairs, (0.5, 0.5)])
                corners = [(p.x, p.y) for p in found.outer] + [(1 - p.y, 1 - p.x) for p in found.outer]
                worst = max([0.0, *(x - a * y for x, y in corners)])
                assert worst == pytest.approx(max(0.0, truth), abs=1e-11), (steep, numbers)


def test_a_refusal_for_voters_without_privacy_says_what_the_coins_tell() -> None:
    label = OneLabel(MIXED, np.array([[0.0, 0.5, 0.5], [0.5, 0.5, 1.0]]), {})
    with pytest.raises(darrm.InputError, match=r"The output noise of 2 labels alone can need a delta of 0\.75"):
        of_fixed(label, 2, 0.1)


def test_many_sets_of_voters_are_bounded_by_one() -> None:
    groups = [group(5, 0.1 * (g + 1)) for g in range(4)]
    assert [who.numbers for who in sets_reached(darrm.DecisionProblem(groups, 1.0, max_affected=5))] == [None]
    assert len(sets_reached(darrm.DecisionProblem(groups, 1.0, max_affected=1))) == 4
    assert [who.numbers for who in sets_reached(darrm.DecisionProblem(groups, 1.0))] == [None]


def test_the_set_for_which_a_label_tells_most_is_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a set whose coins tell nearly nothing a budget pays for labels without end, each a step of the recursion."""
    asked: list[int] = []

    def counted(counts: Any, guaranteed: None, epsilon: float, delta: float, most: int, fineness: int) -> int:
        asked.append(most)
        return within(counts, guaranteed, epsilon, delta, most, fineness)

    monkeypatch.setattr(fixed, "within", counted)
    problem = darrm.DecisionProblem([group(1, math.inf), group(3, 1.0, 1e-7)], 1.0, 0.5, max_affected=1)
    table = np.array([0.3, 0.7])[:, None] + np.array([-1e-3, -3e-4, 3e-4, 1e-3])
    label = OneLabel(problem, table, {}, certified=False)
    allowed = fixed_within(label, 0.9, 1e-6, 1_000_000)
    assert len(asked) == 2
    assert asked[0] == 1_000_000
    assert allowed <= asked[1] < 100


@pytest.mark.thorough
def test_a_ledger_charges_decisions(tmp_path: Path) -> None:
    problem = darrm.DecisionProblem([group(2, math.inf), group(2, 0.5)], 0.5, max_affected=1)
    design = darrm.solve(problem, objective=darrm.objectives.truth(accuracy=[0.8, 0.6]))
    other = darrm.solve(problem, objective=darrm.objectives.truth(accuracy=[0.6, 0.6]), absent=True)
    for i, one in enumerate((design, other)):
        path = tmp_path / f"book{i}.json"
        ledger = Ledger.create(path, one, total_epsilon=2.0, total_delta=1e-6, voters="fresh")
        allowed = max_queries(one, 2.0, 1e-6, voters="fresh")
        assert allowed >= 4
        ledger.charge(one, 3)
        assert Ledger(path).status()["left"] == allowed - 3
        assert 0 < Ledger(path).spent()[0] <= 1.5
        assert Ledger(path).rests_on() == ((problem, one is other),)
        with pytest.raises(darrm.BudgetError):
            ledger.charge(one, allowed)
        with pytest.raises(darrm.InputError, match="another design"):
            ledger.charge((other, design)[i], 1)
    both = Ledger.create(tmp_path / "c", design, total_epsilon=2.0, total_delta=0, voters="fresh", rule="basic-filter")
    both.charge(design, 2)
    both.charge(other, 1)
    both.charge(darrm.solve(K=3, m=1, epsilon=0.25), 1)
    assert Ledger(tmp_path / "c").spent()[0] == pytest.approx(1.75)
    assert len(Ledger(tmp_path / "c").rests_on()) == 2


@pytest.mark.thorough
def test_a_total_rests_on_all_kinds_of_voters_that_were_charged(tmp_path: Path) -> None:
    """Designs of the same least private voters can ask more of the others: .2 of them in one, .9 in the other."""
    goal = darrm.objectives.truth(accuracy=[0.8, 0.6])
    problems = [
        darrm.DecisionProblem([group(3, 1.0), group(4, epsilon)], 0.5, max_affected=1) for epsilon in (0.9, 0.2, 0.3)
    ]
    assert len({problem.affected for problem in problems}) == 1
    first, second, unused = (darrm.solve(problem, objective=goal) for problem in problems)
    absent = darrm.solve(problems[0], objective=darrm.objectives.truth(accuracy=[0.7, 0.6]), absent=True)
    book = Ledger.create(
        tmp_path / "book", unused, total_epsilon=9.0, total_delta=0, voters="fresh", rule="basic-filter"
    )
    assert book.rests_on() == ((problems[2], False),)
    book.charge(first, 1)
    book.charge(second, 2)
    assert book.rests_on() == ((problems[0], False), (problems[1], False))
    book.charge(absent, 1)
    assert Ledger(tmp_path / "book").rests_on() == ((problems[0], True), (problems[1], False))
    book.charge(darrm.solve(problems[0], objective=darrm.objectives.truth(accuracy=[0.9, 0.6])), 1)
    assert book.rests_on()[0] == (problems[0], True)


@pytest.mark.thorough
def test_a_label_that_says_nothing_costs_nothing() -> None:
    problem = darrm.DecisionProblem([group(2, 1.0), group(1, 0.3)], 0.5)
    design = darrm.DecisionDesign(problem, np.full(problem.table_shape, 0.25), objective(2))
    for voters in ("fresh", "fixed"):
        assert compose(design, 1000, delta=0, voters=voters).upper == 0
    assert (privacy_profile(design.table, problem, [0.0, 1.0]) == 0).all()


def test_no_loss_beside_voters_without_privacy_is_beyond_the_guarantee() -> None:
    """Voters without privacy bound no loss; what the label is certified for at delta = 0 does."""
    groups = [darrm.VoterGroup(9, 0.1), darrm.VoterGroup(2, math.inf)]
    problem = darrm.DecisionProblem(groups, 0.4, max_affected=1)
    truth = darrm.objectives.truth([0.8, 0.9])
    design = darrm.solve(problem, objective=truth, profile=[(0.1, 0.02), (0.2, 0.001)])
    found = region(design.table, problem)
    assert found.largest_loss <= 0.4 * (1 + 1e-12)
    # One of the two voters without privacy changes: these pairs are attained.
    before, after = design.table[:, :-1].ravel(), design.table[:, 1:].ravel()
    for x, y in zip([*before, *after], [*after, *before], strict=True):
        if x > y and x + y <= 1:
            assert all(x - math.exp(epsilon) * y <= worst + 1e-15 for epsilon, worst in lines(found))


def lines(found: Region) -> list[tuple[float, float]]:
    """The largest x - e^epsilon y over the outer corners, for some epsilons."""
    epsilons = np.linspace(0.0, 0.4, 21).tolist()
    return [(e, max(p.x - math.exp(e) * p.y for p in found.outer)) for e in epsilons]


def test_non_private_voters_need_no_word(tmp_path: Path) -> None:
    """Fresh or fixed, only the output noise protects; a ledger of several designs may meet other voters."""
    bare = darrm.DecisionProblem([group(5, math.inf)], 0.5, max_affected=1)
    mixed = darrm.DecisionProblem([group(5, math.inf), group(2, 0.4)], 0.5, max_affected=1)
    budget: dict[str, Any] = {"total_epsilon": 2.0, "total_delta": 1e-5}
    design = darrm.solve(bare, objective=darrm.objectives.truth([0.8]))
    assert compose(design, 3, delta=1e-5) == compose(design, 3, delta=1e-5, voters="fresh")
    assert max_queries(design, 2.0, 1e-5) == max_queries(design, 2.0, 1e-5, voters="fresh")
    assert Ledger.create(tmp_path / "one.json", design, **budget).status()["voters"] == "fresh"
    with pytest.raises(darrm.InputError, match="voters must be"):
        Ledger.create(tmp_path / "several.json", design, rule="in-advance", **budget)
    with pytest.raises(darrm.InputError, match=r"For non-private voters .* leave it out"):
        compose(darrm.solve(mixed, objective=darrm.objectives.truth([0.8, 0.8])), 3, delta=1e-5)

"""Composition: the recursion against brute force over all strategies, and its bounds against each other."""

import math
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
from cases import slow, thorough
from oracles import exact
from scipy.stats import norm

import darrm
from darrm.accounting import adaptive, compose, fresh, max_queries, optimal, plan
from darrm.accounting.fresh import envelope, exact_guarantee, of_region, one_pair, within
from darrm.accounting.gaussian import gdp_mu
from darrm.accounting.profile import Point, Region, region
from darrm.accounting.rows import OutcomeRows

PAPER = {"K": 11, "m": 3, "epsilon": 0.0892, "Delta": 1e-4}


@lru_cache
def design_of(shape: str) -> darrm.Design:
    return darrm.solve(**PAPER, shape=shape)  # type: ignore[arg-type]


def brute(points: list[tuple[float, float]], queries: int, a: float) -> float:
    """V by the recursion of the definition, over every multiset."""
    if queries == 0:
        return max(0.0, 1 - a)
    best = 0.0
    for x, y in points:
        total = 0.0
        for on, off in ((x, y), (1 - x, 1 - y)):
            total += on * brute(points, queries - 1, a * off / on) if on > 0 else 0.0
        best = max(best, total)
    return best


@pytest.mark.first(1)
@pytest.mark.parametrize("Delta", [0.0, 0.02])
@pytest.mark.parametrize(("K", "queries"), [(1, 3), (2, 3), (3, 2)])
@pytest.mark.parametrize("max_affected", ["one", "all"])
def test_bounds_hold_what_brute_force_finds(K: int, queries: int, Delta: float, max_affected: str) -> None:
    rng = np.random.default_rng([K, queries])
    problem = darrm.MajorityProblem(K, 1, 0.4, Delta, max_affected=1 if max_affected == "one" else K)
    half = rng.random(K - K // 2)
    gamma = np.concatenate([half[::-1], np.zeros((K + 1) % 2), half])
    kinds = 8 if Delta else 4
    points = {
        tuple(round(float(z), 15) for z in exact.probabilities(gamma.tolist(), problem, counts))
        for counts in exact.multisets(K, kinds, problem.max_affected)
    }
    one = region(gamma, problem)
    for share in (0.02, 0.3):
        delta = share * brute(list(points), queries, 1.0)
        found = of_region(one, problem.affected, queries, delta)
        assert found.upper - found.lower <= 2e-3 * found.upper
        assert brute(list(points), queries, math.exp(found.upper)) <= delta * (1 + 1e-9)
        assert brute(list(points), queries, math.exp(found.lower * (1 - 1e-6))) >= delta * (1 - 1e-4)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("shape", "at_most", "around", "outer_around"),
    [("free", 5.33, 5.3103, 6.28), ("monotone", 5.08, 5.0643, 5.59)],
)
def test_a_hundred_queries_of_the_paper(shape: str, at_most: float, around: float, outer_around: float) -> None:
    """K = 11, m = 3, epsilon = .0892, Delta = 1e-4, total delta .0297; Table 2 of the paper says 15.04."""
    design = design_of(shape)
    total = compose(design, 100, delta=0.0297, voters="fresh")
    assert 5.03 <= total.lower <= total.estimate <= total.upper <= at_most
    assert total.upper == pytest.approx(around, abs=5e-3)
    one = region(design.gamma, design.problem)
    outer, fixed_pair = envelope(one, 100, 0.0297), one_pair(one.inner, 100, 0.0297)
    assert outer == pytest.approx(outer_around, abs=0.02)
    assert 5.03 <= fixed_pair <= total.lower + 1e-9
    assert total.upper < outer < optimal(0.2676, 3e-4, 100, 0.0297).epsilon


@pytest.mark.parametrize(("queries", "delta"), [(40, 1e-5), (1500, 1e-5), (1500, 0.3), (1500, 1e-60)])
def test_one_pair_reaches_beyond_the_range_of_float64(queries: int, delta: float) -> None:
    """Against the binomial sums in whole numbers; for 1500 labels the other side's chances are below 1e-290."""
    x, y, whole = 24, 5, 32
    point = Point(x / whole, y / whole, 1 - x / whole, 1 - y / whole)
    spent, best = round(Fraction(delta) * whole**queries), -math.inf
    for p, q in ((x, y), (whole - y, whole - x)):
        on = off = 0
        for n in range(queries, -1, -1):
            ways = math.comb(queries, n)
            on, off = on + ways * p**n * (whole - p) ** (queries - n), off + ways * q**n * (whole - q) ** (queries - n)
            if on > spent:
                best = max(best, math.log(on - spent) - math.log(off))
            if off * 10**9 > on:
                break
    found = one_pair((point,), queries, delta)
    assert best * (1 - 1e-5) <= found <= best


def test_totals_beyond_the_grid_take_no_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    design = darrm.solve(K=5, m=2, epsilon=1.0)
    one = region(design.gamma, design.problem)
    monkeypatch.setattr("darrm.accounting.fresh.excess", None)
    total = of_region(one, design.problem.affected, 2000, 1e-5, guaranteed=exact_guarantee(design.problem))
    assert 690 < total.lower < total.upper < 4000


def test_no_corner_comes_twice() -> None:
    """Each costs time at every query. Lines through one attained point meet in corners that differ by rounding."""
    for K, m in ((11, 3), (25, 4)):
        design = darrm.solve(K=K, m=m, epsilon=0.3)
        heights = sorted(point.y for point in region(design.gamma, design.problem).outer)
        assert all(above > below * (1 + 1e-9) for below, above in pairwise(heights))


@pytest.mark.thorough
def test_fixed_voters_pay_once_whatever_is_asked() -> None:
    design = design_of("free")
    once, often = (compose(design, queries, delta=0.0011, voters="fixed") for queries in (1, 10**6))
    assert often.upper == pytest.approx(0.9805, abs=1e-4)
    assert often.bounds == {"the voters themselves": often.upper}
    assert once.upper < often.upper
    problem = darrm.MajorityProblem(**PAPER, delta=0.0011)  # type: ignore[arg-type]
    assert once.upper == pytest.approx(darrm.verify(design.gamma, problem).tight_epsilon, rel=1e-3)
    assert once.lower <= once.upper


def test_one_fixed_voter_costs_its_own_epsilon() -> None:
    design = darrm.solve(K=11, m=1, epsilon=0.5, Delta=1e-5, max_affected=1)
    total = compose(design, 50, delta=1e-5, voters="fixed")
    assert total.upper == pytest.approx(0.5, rel=1e-9)


def test_one_query_costs_what_verify_says() -> None:
    for shape in ("free", "monotone"):
        design = design_of(shape)
        total = compose(design, 1, delta=design.problem.delta, voters="fresh")
        assert total.upper == pytest.approx(design.certificate.tight_epsilon, rel=1e-6)


@pytest.mark.thorough
def test_pure_privacy_adds_up_and_no_more() -> None:
    design = darrm.solve(K=11, m=3, epsilon=0.1)
    for queries in (1, 10, 3000):
        total = compose(design, queries, delta=0.0, voters="fresh")
        assert total.upper == pytest.approx(0.3 * queries)
    assert compose(design, 1000, delta=1e-6, voters="fresh").upper < 60


@pytest.mark.parametrize(
    ("K", "m", "epsilon", "t", "each"), [(11, 3, 0.1, 1, 0.1), (5, 5, 0.5, 5, 1.5), (5, 3, 0.5, 5, 1.5)]
)
def test_labels_that_cost_less_than_they_may_add_up_what_they_cost(
    K: int, m: float, epsilon: float, t: int, each: float
) -> None:
    """One affected vote loses epsilon, whatever m; five votes that need no noise lose what three do."""
    design = darrm.solve(K=K, m=m, epsilon=epsilon, max_affected=t)
    total = compose(design, 9, delta=0.0, voters="fresh")
    assert total.upper == pytest.approx(9 * each, rel=1e-9)
    assert total.lower <= 9 * each * (1 + 1e-12) <= total.upper * (1 + 1e-11)
    assert max_queries(design, 9.001 * each, 0.0, voters="fresh") == 9


def test_labels_of_tight_epsilon_0_are_counted() -> None:
    design = darrm.solve(K=3, m=1, epsilon=0.1, delta=0.3, max_affected=1)
    assert design.certificate.tight_epsilon == 0
    assert max_queries(design, 1.0, 1e-6, voters="fresh") == 10
    assert (
        compose(design, 10, delta=1e-6, voters="fresh").upper
        <= 1
        < compose(design, 11, delta=1e-6, voters="fresh").upper
    )
    assert max_queries(design, 0.0, 0.7, voters="fresh") > 2  # of .3 each at most


@pytest.mark.thorough
def test_whoever_is_present_counts_for_the_tight_epsilon() -> None:
    """The whole table loses .5 at most, that of the two voters of group 2 alone twice as much."""
    groups = [darrm.VoterGroup(3, 0.5), darrm.VoterGroup(2, 1.0)]
    problem = darrm.DecisionProblem(groups, epsilon=1.5, max_affected=1)
    design = darrm.solve(problem, objective=darrm.objectives.truth([0.9, 0.6]), absent=True)
    assert design.certificate.tight_epsilon == pytest.approx(0.5)
    assert compose(design, 5, delta=0.0, voters="fresh").upper == pytest.approx(5.0)


@pytest.mark.thorough
@pytest.mark.parametrize(("K", "m", "epsilon"), [(11, 3, 0.1), (3, 1, 0.5), (5, 2, 0.3)])
def test_lower_bounds_of_many_labels_are_not_above_by_rounding(K: int, m: float, epsilon: float) -> None:
    """Where x^Q is no normal number: in float64 its logarithm can be a part in a thousand off."""
    design = darrm.solve(K=K, m=m, epsilon=epsilon, max_affected=1)
    points = region(design.gamma, design.problem).inner
    for queries in (*range(300, 1900, 7), 496, 1147, 1560, 1567):
        assert one_pair(points, queries, 0.0) <= queries * design.certificate.tight_epsilon * (1 + 1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize(("queries", "exact"), [(800, True), (1000, False), (20_000, False)])
def test_the_upper_bound_alone_looks_at_no_grid_that_is_too_short(
    queries: int, exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """800 labels cost 583 nats together, 1,000 at least 711: more than the 690 that a grid reaches."""
    design = darrm.solve(K=11, m=3, epsilon=0.5)
    one, affected = region(design.table, design.problem), design.problem.affected
    looked: list[int] = []
    by_grid = fresh.by_grid
    monkeypatch.setattr(fresh, "by_grid", lambda *given: looked.append(1) or by_grid(*given))
    found = fresh.least_of_region(one, affected, queries, 1e-5)
    assert bool(looked) == exact == (found[1] == "exact composition")
    assert fresh.one_pair(one.inner, queries, 1e-5) <= found[0]
    monkeypatch.setattr(fresh, "one_pair", lambda *_, **__: 0.0)
    assert fresh.least_of_region(one, affected, queries, 1e-5) == found


@pytest.mark.thorough
def test_refining_only_lowers() -> None:
    one = region(design_of("free").gamma, design_of("free").problem)
    previous = math.inf
    for doubling in range(4):
        grid = adaptive.Grid(0.02 / 2**doubling, 450 * 2**doubling)
        V = next(islice(adaptive.upper_bounds(one, grid), 99, None))
        found = adaptive.least_epsilon(V, grid, 0.0297)
        assert found <= previous + 1e-9
        previous = found
        lines = next(islice(adaptive.lower_bounds(one.inner, grid), 99, None))
        assert adaptive.most_epsilon(lines, 0.0297) <= found
        right = slice(grid.size, None)
        assert np.all(lines.P[right] - np.exp(grid.logs[right]) * lines.Q[right] <= V + 1e-12)


@pytest.mark.thorough
def test_more_queries_and_less_delta_cost_more() -> None:
    design = design_of("monotone")
    costs = [compose(design, queries, delta=0.02, voters="fresh") for queries in (1, 2, 5, 20, 100)]
    assert all(a.upper < b.lower for a, b in pairwise(costs))
    costs = [compose(design, 20, delta=delta, voters="fresh") for delta in (0.1, 0.01, 0.001)]
    assert all(a.upper < b.lower for a, b in pairwise(costs))


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize("delta", [1e-9, 1e-3])
@pytest.mark.parametrize("Delta", [0.0, *thorough(1e-12)])
def test_blocks_are_above_the_exact_and_close(monkeypatch: pytest.MonkeyPatch, Delta: float, delta: float) -> None:
    design = darrm.solve(K=11, m=2, epsilon=0.02, Delta=Delta)
    one = region(design.gamma, design.problem)
    direct = of_region(one, design.problem.affected, 80, delta)
    monkeypatch.setattr("darrm.accounting.fresh.BLOCKS", 79)
    monkeypatch.setattr("darrm.accounting.fresh._BLOCK", 20)
    blocks = of_region(one, design.problem.affected, 80, delta)
    assert "exact composition of blocks" in blocks.bounds
    assert direct.lower < blocks.upper < 1.05 * direct.upper


@pytest.mark.parametrize("known", [40, 10])
def test_a_grid_that_allows_no_more_than_are_known_counts_no_single_labels(
    monkeypatch: pytest.MonkeyPatch, known: int
) -> None:
    monkeypatch.setattr(fresh, "BLOCKS", 40)
    monkeypatch.setattr(fresh, "_BLOCK", 10)
    rows = OutcomeRows.of([[0.51, 0.49]], [[0.49, 0.51]])
    counted = fresh._within_on(rows, adaptive.Grid(0.02, 600), 25, 1e-3, known, 10**6)
    assert counted == 10 if known == 40 else 10 < counted <= 40


def exactly(x: float, y: float, epsilon: float, queries: int, at: float) -> Decimal:
    """V of one pair and its mirror images, in 60 digits: the extreme choice is the same at every query."""
    with localcontext(Context(prec=60)):
        points = [(Decimal(x), Decimal(y)), (Decimal(y), Decimal(x))]

        @cache
        def V(n: int, a: Decimal) -> Decimal:
            if n == 0:
                return max(Decimal(0), 1 - a)
            return max(u * V(n - 1, a * v / u) + (1 - u) * V(n - 1, a * (1 - v) / (1 - u)) for u, v in points)

        return V(queries, Decimal(at).exp())


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [1.637e-10, 1.868e-6, 1.112e-4, 0.80045])
@pytest.mark.parametrize("parts", [6, 7, 12])
def test_upper_bounds_hold_to_the_last_digit(epsilon: float, parts: int) -> None:
    """Losses at grid points, where a shift is off by rounding, and tiny ones, where differences would cancel."""
    lo = 1 / (1 + math.exp(epsilon))
    point = Point(1 - lo, lo, lo, 1 - lo)
    one = Region((point,), (point,), 0.0, epsilon)
    grid = adaptive.Grid(epsilon / parts, 6 * parts)
    for queries, V in enumerate(islice(adaptive.upper_bounds(one, grid), 5), start=1):
        for j in range(grid.size + 1):
            true = exactly(point.x, point.y, epsilon, queries, grid.step * j * (1 + 1e-15))
            assert Decimal(float(V[j])) >= true


def test_an_infinite_loss_has_a_finite_neighbour() -> None:
    problem = darrm.MajorityProblem(3, 1.7353393413397256, 0.001, 0.01)
    gamma = np.array([1, 0.0403599662298777, 0.0403599662298777, 1])
    one = region(gamma, problem)
    assert of_region(one, problem.affected, 1, 0.015522).upper < 0.01


def test_a_rare_loss_beyond_every_grid_leaves_a_budget_its_labels() -> None:
    """That of an answer which float64 rounds to a probability of 8e-16, if voters are not private."""
    points = [(0.5872, 0.3086), (0.4128, 0.1697), (0.2477, 0.0653), (8.3e-16, 1.6e-189)]
    outer = tuple(Point(x, y, 1 - x, 1 - y) for x, y in points)
    one = Region(outer, outer, 0.0, 400.0)
    assert of_region(one, (), 10, 1e-6).upper < 12 < of_region(one, (), 11, 1e-6).upper
    assert within(one, None, 12.0, 1e-6, 20) == 10


@pytest.mark.parametrize("voters", ["fresh", "fixed"])
@pytest.mark.parametrize(("K", "m", "epsilon", "Delta"), [(7, 7, 0.5, 1e-3), (11, 2, 0.1, 1e-5), (5, 5, 0.2, 0.03)])
def test_a_design_can_be_composed_at_its_own_delta(K: int, m: float, epsilon: float, Delta: float, voters: str) -> None:
    design = darrm.solve(K=K, m=m, epsilon=epsilon, Delta=Delta)
    total = compose(design, 1, delta=design.problem.delta, voters=voters)
    assert total.upper <= m * epsilon * (1 + 1e-12)


@pytest.mark.slow
def test_there_is_no_cliff_at_ten_thousand() -> None:
    design = darrm.solve(K=11, m=2, epsilon=0.002)
    direct, blocks = (compose(design, queries, delta=1e-9, voters="fresh").upper for queries in (10_000, 10_001))
    assert direct < blocks < 1.03 * direct


@pytest.mark.slow
def test_labels_beyond_ten_thousand_are_counted_in_blocks() -> None:
    lo = 1 / (1 + math.exp(0.003))
    point = Point(1 - lo, lo, lo, 1 - lo)
    one = Region((point,), (point,), 0.0, 0.003)
    most = within(one, None, 1.4, 1e-6, 1_000_000)
    assert most > 10_000
    assert of_region(one, (), most, 1e-6).upper <= 1.4 < of_region(one, (), int(1.005 * most), 1e-6).upper
    assert within(one, None, 1.4, 1e-6, most) == most


def test_losses_of_bounds_give_the_bounds_back() -> None:
    one = region(design_of("monotone").gamma, design_of("monotone").problem)
    grid = adaptive.Grid(0.01, 600)
    V = next(islice(adaptive.upper_bounds(one, grid), 9, None))
    again = adaptive.excess(adaptive.of_bounds(V, grid))
    assert np.all(again >= V - 1e-12)
    assert np.abs(again - V).max() <= 1e-8


@pytest.mark.thorough
@pytest.mark.parametrize("step", [1e-5, 1e-4])
def test_losses_of_bounds_are_not_below_them_by_rounding(step: float) -> None:
    """To 100 digits: sum over losses s of P(s) max(0, 1 - a e^-s), on a grid where every loss is rare."""
    grid = adaptive.Grid(step, 800)
    V = np.array([delta_of(100 * step, float(log)) for log in grid.logs[grid.size :]])
    losses = adaptive.of_bounds(V, grid)
    with localcontext(Context(prec=100)):
        falls = [(Decimal(step) * -i).exp() for i in range(-800, 801)]  # e^-s
        chances = [Decimal(chance) for chance in losses.P.tolist()]
        for j in range(800, 1601, 10):
            above = zip(chances[j + 1 :], falls[j + 1 :], strict=True)
            found = sum(chance * (1 - fall / falls[j]) for chance, fall in above)
            assert found + Decimal(losses.infinite) >= Decimal(float(V[j - 800]))


def delta_of(mu: float, epsilon: float) -> float:
    """The Gaussian mechanism, for its convex curve."""
    from scipy.stats import norm

    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


@pytest.mark.thorough
def test_envelope_agrees_with_dp_accounting() -> None:
    """The same profile, given to an accountant as a dominating pair, costs the same."""
    pytest.importorskip("dp_accounting")
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    design = design_of("monotone")
    one = region(design.gamma, design.problem)
    grid = adaptive.Grid(1e-3, 400)
    losses = adaptive.one_release(one, grid)
    masses = {i - grid.size: float(p) for i, p in enumerate(losses.P) if p > 0}
    total = sum(masses.values()) + losses.infinite
    pmf = pld_pmf.create_pmf(masses, 1e-3, losses.infinite - (total - 1), pessimistic_estimate=True)
    theirs = privacy_loss_distribution.PrivacyLossDistribution(pmf).self_compose(100).get_epsilon_for_delta(0.0297)
    assert envelope(one, 100, 0.0297) == pytest.approx(theirs, rel=2e-3)


def test_unavoidable_delta_is_named() -> None:
    with pytest.raises(darrm.InputError, match=r"0\.018018"):
        compose(design_of("free"), 100, delta=0.01, voters="fresh")
    plain = darrm.Design(darrm.MajorityProblem(11, 11, 0.1, 1e-4), np.ones(12), design_of("free").prior)
    with pytest.raises(darrm.InputError, match=r"0\.00109945"):
        compose(plain, 2, delta=1e-5, voters="fixed")


@pytest.mark.parametrize("voters", [None, "", "both", 1])
def test_voters_must_be_said(voters: object) -> None:
    design = design_of("free")
    for call in (
        lambda: compose(design, 2, delta=0.1, voters=voters),  # type: ignore[arg-type]
        lambda: max_queries(design, 1.0, 0.1, voters=voters),  # type: ignore[arg-type]
        lambda: plan(K=3, epsilon=0.1, queries=2, total_epsilon=1, total_delta=0.1, voters=voters),  # type: ignore[arg-type]
    ):
        with pytest.raises(darrm.InputError, match=r'"fresh".*"fixed"'):
            call()


@pytest.mark.parametrize("queries", [0, -1, 1.5, "3", None, 10**9, float("nan"), True])
def test_queries_that_are_none(queries: object) -> None:
    with pytest.raises(darrm.InputError, match="queries must be"):
        compose(design_of("free"), queries, delta=0.1, voters="fresh")  # type: ignore[arg-type]


def test_only_designs_are_composed() -> None:
    with pytest.raises(darrm.InputError, match=r"design must be a Design .* Got list"):
        compose([1, 0, 1], 2, delta=0.1, voters="fresh")  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [-1e-9, 1.0, float("nan"), "x", None])
def test_deltas_that_are_none(delta: object) -> None:
    with pytest.raises(darrm.InputError, match="delta must be"):
        compose(design_of("free"), 2, delta=delta, voters="fresh")  # type: ignore[arg-type]


@pytest.mark.thorough
def test_max_queries_is_the_most_that_is_proved() -> None:
    design = design_of("free")
    most = max_queries(design, 5.32, 0.0297, voters="fresh")
    assert most == 100
    assert max_queries(design, 5.30, 0.0297, voters="fresh") == 99
    assert max_queries(design, 0.01, 0.0297, voters="fresh") == 0
    assert max_queries(design, 1.0, 0.0011, voters="fixed") == 10**6
    assert max_queries(design, 0.3, 0.0011, voters="fixed") == 1
    assert max_queries(design, 0.1, 0.0011, voters="fixed") == 0
    pure = darrm.solve(K=5, m=2, epsilon=0.125)
    assert max_queries(pure, 1.0, 0.0, voters="fresh") == 4


@pytest.mark.thorough
@pytest.mark.parametrize("Delta", [0.0, *slow(1e-7)])
def test_a_plan_uses_its_budget_and_no_more(Delta: float) -> None:
    kept = {"K": 3, "epsilon": 0.1, "Delta": Delta, "queries": 8, "total_epsilon": 1.2, "total_delta": 1e-4}
    design = plan(**kept, voters="fresh", shape="monotone")  # type: ignore[arg-type]
    assert 1.17 <= compose(design, 8, delta=1e-4, voters="fresh").upper <= 1.2
    more = darrm.MajorityProblem(3, design.problem.m * 1.02, 0.1, Delta, delta=design.problem.delta)
    assert compose(darrm.solve(more, shape="monotone"), 8, delta=1e-4, voters="fresh").upper > 1.2
    if Delta:
        best = plan(**kept, voters="fresh")  # type: ignore[arg-type]
        assert best.disagreement <= design.disagreement
        assert compose(best, 8, delta=1e-4, voters="fresh").upper <= 1.2


@pytest.mark.thorough
def test_a_plan_is_not_beaten_by_adding_up() -> None:
    """Few labels: m = total / (queries epsilon) is what simple composition allows."""
    design = plan(K=5, epsilon=0.5, queries=4, total_epsilon=4.0, total_delta=1e-6, voters="fresh")
    plain = darrm.solve(K=5, m=2, epsilon=0.5, objective="disagreement")
    assert str(design.objective) == "disagreement"
    assert design.disagreement <= plain.disagreement + 1e-9


@pytest.mark.thorough
def test_a_label_of_a_plan_may_be_more_private_than_a_vote() -> None:
    design = plan(K=5, epsilon=0.5, queries=20, total_epsilon=1.0, total_delta=1e-5, voters="fresh", shape="monotone")
    assert 0.1 < design.problem.m < 1
    assert 0.99 <= compose(design, 20, delta=1e-5, voters="fresh").upper <= 1.0
    plain = darrm.solve(K=5, m=0.1, epsilon=0.5, objective="disagreement", shape="monotone")
    assert design.disagreement < plain.disagreement


@pytest.mark.parametrize("voters", ["fresh", "fixed"])
@pytest.mark.parametrize(("Delta", "total_delta"), [(0.0, 0.0), (1e-3, 0.0), (1e-3, 1e-5)])
def test_a_plan_for_one_label_is_the_optimum_of_its_budget(voters: str, Delta: float, total_delta: float) -> None:
    design = plan(K=5, epsilon=1, Delta=Delta, queries=1, total_epsilon=0.3, total_delta=total_delta, voters=voters)
    assert compose(design, 1, delta=total_delta, voters=voters).upper <= 0.3
    best = darrm.solve(K=5, epsilon=1, Delta=Delta, delta=total_delta, release_epsilon=0.3, objective="disagreement")
    assert design.disagreement == pytest.approx(best.disagreement, abs=1e-9)


@pytest.mark.thorough
def test_a_total_delta_below_that_of_the_voters_is_planned_for() -> None:
    design = plan(K=3, epsilon=1, Delta=1e-3, queries=3, total_epsilon=1, total_delta=0, voters="fresh")
    assert design.problem.delta == 0
    assert design.disagreement < 0.45
    assert compose(design, 3, delta=0, voters="fresh").upper <= 1


@pytest.mark.thorough
def test_a_plan_of_two_voters_with_a_flat_profile() -> None:
    design = plan(
        K=2, epsilon=1, Delta=0.001, queries=3, total_epsilon=0.586, total_delta=1e-2, max_affected=1, voters="fresh"
    )
    assert compose(design, 3, delta=1e-2, voters="fresh").upper <= 0.586


def test_what_compose_proves_a_ledger_pays_for() -> None:
    design = darrm.solve(K=3, m=1, epsilon=0.01, max_affected=2)
    spent = compose(design, 1, delta=0.01, voters="fresh").upper
    assert spent == 0
    assert max_queries(design, 0.005125, 0.01, voters="fresh") >= 1


def test_a_corner_at_one_and_nothing() -> None:
    problem = darrm.MajorityProblem(3, 3, 50, 0.999, max_affected=2)
    with pytest.raises(darrm.InputError, match=r"Pass a larger delta, or .*delta=0"):
        of_region(region(np.ones(4), problem), problem.affected, 1, 0.9999999)


@pytest.mark.thorough
def test_a_plan_for_fixed_voters_has_noise_only_below_their_price() -> None:
    kept = {"K": 3, "epsilon": 0.2, "queries": 20, "total_delta": 1e-5, "voters": "fixed"}
    assert plan(**kept, total_epsilon=0.6).disagreement == pytest.approx(0, abs=1e-9)  # type: ignore[arg-type]
    below = plan(**kept, total_epsilon=0.3)  # type: ignore[arg-type]
    assert 0.3 < below.disagreement < 0.5
    assert 0.29 < compose(below, 20, delta=1e-5, voters="fixed").upper <= 0.3
    one = plan(**{**kept, "queries": 1}, total_epsilon=0.2)  # type: ignore[arg-type]
    assert 0 < one.disagreement < 0.5


@pytest.mark.thorough
@pytest.mark.parametrize("most", [60, 10**6])
def test_coarse_grids_count_no_label_that_finer_ones_do_not(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    label, grids = design_of("monotone"), list[int]()
    every = adaptive.upper_bounds

    def counted(release: Any, grid: adaptive.Grid, **options: Any) -> Any:
        grids.append(grid.size)
        return every(release, grid, **options)

    monkeypatch.setattr(adaptive, "upper_bounds", counted)
    found = fresh.labels_within(label, 9.0, 0.05, most)
    assert grids == sorted(grids)
    assert len(grids) == (1 if most == 60 else len(fresh._COARSER))
    monkeypatch.setattr(fresh, "_COARSER", (1,))
    assert fresh.labels_within(label, 9.0, 0.05, most) == found >= 60


@pytest.mark.thorough
@pytest.mark.every
@pytest.mark.parametrize(
    "total",
    [
        lambda design, voters: compose(design, 5, delta=1e-5, voters=voters),
        lambda design, voters: max_queries(design, 9.0, 1e-5, voters=voters),
        lambda design, voters: darrm.interop.dp_event(design, voters=voters),
        lambda design, voters: darrm.interop.privacy_loss_distribution(design, voters=voters),
    ],
)
def test_a_plan_has_a_total_of_its_own_voters_only(total: Callable[[darrm.Design, str], object]) -> None:
    design = darrm.solve(K=3, m=1, epsilon=0.2)
    for own, other in (("fixed", "fresh"), ("fresh", "fixed")):
        planned = design.for_plan(own)
        with pytest.raises(darrm.InputError, match=rf'was planned for {own} voters.*Got voters="{other}"'):
            total(planned, other)
        assert total(planned, own) is not None
    teachers = darrm.DecisionProblem([darrm.VoterGroup(3, math.inf)], epsilon=0.3, max_affected=1)
    assert total(darrm.solve(teachers, objective=darrm.objectives.truth([0.8])).for_plan("fixed"), "fresh") is not None


@pytest.mark.parametrize(
    "change", [{"total_epsilon": 0}, {"total_epsilon": float("nan")}, {"queries": 0}, {"shape": "V"}]
)
def test_plans_that_are_none(change: dict[str, object]) -> None:
    kept = {"K": 5, "epsilon": 0.1, "queries": 5, "total_epsilon": 1.0, "total_delta": 1e-5, "voters": "fresh"}
    with pytest.raises(darrm.InputError, match="must be"):
        plan(**{**kept, **change})  # type: ignore[arg-type]


def test_a_line_of_underflow_is_no_lower_bound() -> None:
    lines = adaptive.Sets(np.array([0.5, 0.5, 0.5]), np.array([0.25, 5e-324, 0.0]))
    assert adaptive.most_epsilon(lines, 0.1) == pytest.approx(math.log(0.4 / 0.25), abs=1e-11)
    assert adaptive.most_epsilon(lines, 0.6) == 0.0


@pytest.mark.slow
def test_a_plan_for_many_labels_limits_the_whole_profile() -> None:
    setting: dict[str, Any] = {"K": 7, "epsilon": 0.2, "total_epsilon": 4.0, "total_delta": 1e-5, "voters": "fresh"}

    def within(m: float, shape: str) -> darrm.Design | None:
        """gamma of least disagreement under (m epsilon, 0), if 30 labels are within the budget."""
        design = darrm.solve(K=7, m=m, epsilon=0.2, shape=shape, objective="disagreement")
        return design if compose(design, 30, delta=1e-5, voters="fresh").upper <= 4.0 else None

    found = [within(m, shape) for m in np.arange(0.9, 1.2, 0.01) for shape in ("free", "monotone")]
    assert found[-1] is None  # so the largest m that the budget pays for is among them, to .01
    one_point = min(design.disagreement for design in found if design is not None)
    best = plan(**setting, queries=30)
    assert plan(**setting, queries=30, shape="free") == best
    assert best.disagreement < plan(**setting, queries=30, shape="monotone").disagreement
    assert best.disagreement < 0.99 * one_point  # whose m is below 1
    assert compose(best, 30, delta=1e-5, voters="fresh").upper <= 4.0
    assert best.problem.m < 7
    assert best.certificate.tight_epsilon == pytest.approx(best.problem.release_epsilon, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.1, 1e-2), (20.0, 1e-9)])
def test_the_mu_of_a_budget_spends_it(epsilon: float, delta: float) -> None:
    mu = gdp_mu(epsilon, delta)
    there = float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))
    assert there == pytest.approx(delta, rel=1e-6)


@pytest.mark.thorough
def test_totals_beyond_the_reach_of_the_exact_composition() -> None:
    design = darrm.solve(K=5, m=2, epsilon=0.5)
    total = compose(design, 20_000, delta=1e-5, voters="fresh")
    assert total.upper == total.bounds["optimal composition"]
    assert total.upper == pytest.approx(optimal(1.0, 0.0, 20_000, 1e-5).epsilon, rel=1e-9)
    assert total.upper < 0.6 * total.bounds["simple composition"]
    pays = max_queries(design, total.upper * (1 + 1e-9), 1e-5, voters="fresh")
    assert pays == 20_000
    assert compose(design, pays + 1, delta=1e-5, voters="fresh").upper > total.upper


@pytest.mark.parametrize(("K", "epsilon", "gamma"), [(11, 1e-15, 0.01), (1, 1e-6, 1e-12), (3, 1e-12, 1e-6)])
def test_losses_below_rounding_are_not_nothing(K: int, epsilon: float, gamma: float) -> None:
    """Corners that rounding puts on the diagonal are moved away from it."""
    problem = darrm.MajorityProblem(K, K, epsilon)
    design = darrm.Design(problem, np.full(K + 1, gamma), darrm.priors.common())
    assert compose(design, 10**7, delta=0, voters="fresh").upper > 0
    assert max_queries(design, 0, 0, voters="fresh") == 0


def test_a_tiny_budget_takes_no_memory() -> None:
    problem = darrm.MajorityProblem(3, 3, 1.0)
    design = darrm.Design(problem, np.full(4, 0.2), darrm.priors.common())
    for voters in ("fresh", "fixed"):
        assert max_queries(design, 1e-10, 0.3, voters=voters) >= 1


@pytest.mark.thorough
def test_only_the_falling_part_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    design = darrm.solve(K=11, m=3, epsilon=0.1)
    one = region(design.gamma, design.problem)
    queries, delta = 200, 1e-5
    grid = adaptive.Grid(0.02, 2000)
    points = 0
    sums = adaptive._Sums.blocks_of

    def counted(self: Any, windows: Any, j: int, length: int) -> Any:
        nonlocal points
        points += length
        return sums(self, windows, j, length)

    monkeypatch.setattr(adaptive._Sums, "blocks_of", counted)
    whole = next(islice(adaptive.upper_bounds(one, grid), queries - 1, None)).copy()
    points = 0
    held = next(islice(adaptive.upper_bounds(one, grid, least=1e-9 * delta / queries), queries - 1, None))
    assert 0 < points < 0.6 * queries * grid.size
    assert np.all(held >= whole * (1 - 1e-12))  # sums of longer arrays may round otherwise
    assert np.all(held <= whole + 1e-8 * delta)
    here, there = (adaptive.least_epsilon(V, grid, delta) for V in (whole, held))
    assert there == pytest.approx(here, rel=1e-8)


def test_corners_between_others_and_no_release_are_left_out() -> None:
    design = darrm.solve(K=11, m=3, epsilon=0.1)
    one = region(design.gamma, design.problem)
    rows = adaptive.as_rows(one)
    assert 0 < len(rows) < len(one.outer)
    grid = adaptive.Grid(0.02, 450)
    less, all_rows = (
        next(islice(adaptive.upper_bounds(made, grid), 49, None)) for made in (one, OutcomeRows.of_points(one.outer))
    )
    assert np.all(less <= all_rows)
    assert np.all(less >= all_rows - 1e-11)  # the corners left out say 1 once in 10^13 labels
    kept = {tuple(pair) for pair in rows.P.tolist()}
    for point in one.outer:
        if (point.x, point.not_x) not in kept:
            x, y = rows.P[:, 0], rows.Q[:, 0]
            assert np.any((point.x <= x) & (point.y * x >= point.x * y))

"""Separation against the complete list, its bounds against every choice of moves, its rounding against balls."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from oracles import exact

import darrm
from darrm.certificate import rounding
from darrm.certificate.moves import Moves, Reach
from darrm.certificate.protocol import WorstCase, largest
from darrm.certificate.separation import CornerSeparation
from darrm.certificate.smoothing import Sides, levels
from darrm.constraints import rows as constraints
from darrm.problem.corners import CornerCounts, weights
from darrm.problem.limits import guarantee
from darrm.problem.noise_function import acceptance


def worst_at(gamma: np.ndarray, problem: darrm.MajorityProblem, epsilon: Decimal) -> WorstCase:
    return largest(CornerSeparation(gamma, guarantee(problem)).worst_cases(epsilon))


def noise(rng: np.random.Generator, K: int, kind: str) -> np.ndarray:
    n = K - K // 2
    half = rng.random(n)
    if kind == "monotone":
        half = np.sort(half)
    if kind == "dips":
        half = np.minimum(1, 0.3 + np.arange(n) / 4)
        half[rng.integers(n)] *= 0.6
    return np.concatenate([half[::-1], np.zeros((K + 1) % 2), half])


CASES = [
    (K, Delta, epsilon, max_affected)
    for K, Deltas in (
        (5, (1e-8, 1e-3, 0.5)),
        (6, (1e-5, 0.3)),
        (7, (1e-8, 0.2)),
        (11, (0.0,)),
        (14, (0.0,)),
        (15, (0.0,)),
    )
    for Delta in Deltas
    for epsilon in (1e-3, 0.3, 20.0)
    for max_affected in sorted({1, K // 2, K})
]


@pytest.mark.first(30)
@pytest.mark.parametrize("forced", [False, True], ids=["as it is", "every bound"])
@pytest.mark.parametrize(("K", "Delta", "epsilon", "max_affected"), CASES)
def test_separation_is_the_maximum_over_the_list(
    monkeypatch: pytest.MonkeyPatch, K: int, Delta: float, epsilon: float, max_affected: int, forced: bool
) -> None:
    if forced:  # small problems would not come to averages and matrix products
        monkeypatch.setattr("darrm.certificate.moves.AVERAGED_TERMS", 0)
        monkeypatch.setattr("darrm.certificate.moves.BAND_TERMS", 0)
    rng = np.random.default_rng([K, max_affected, int(1000 * epsilon)])
    problem = darrm.MajorityProblem(K, 1 + (K - 1) * 0.2, epsilon, Delta, max_affected=max_affected)
    shrink, grow, limit = constraints.right_side(guarantee(problem))
    for kind in ("random", "dips", "monotone"):
        gamma = noise(rng, K, kind)
        listed = max(float((block.rows @ gamma[K // 2 + 1 :]).max()) for block in constraints.blocks(problem))
        separated = worst_at(gamma, problem, guarantee(problem).epsilon)
        assert (grow + 2 * separated.bound * shrink) / limit == pytest.approx(max(listed, -1e300), abs=1e-11)
        # At this epsilon the guarantee may be slack; where it binds the bound must be tight, at other epsilons too.
        for at in (Decimal(0), Decimal("0.1")):
            worst = worst_at(gamma, problem, at)
            assert sum(worst.case) == K
            assert sum(worst.case[2:]) <= max_affected
            assert worst.bound >= worst.difference - float(at.exp() - 1) * worst.q_side - 1e-14


@pytest.mark.parametrize("few", [0, 24])
@pytest.mark.parametrize("Delta", [1e-6, 0.02, 0.4])
@pytest.mark.parametrize(("K", "max_affected"), [(9, 9), (9, 4), (14, 14), (14, 11)])
def test_every_bound_holds_for_every_move(
    monkeypatch: pytest.MonkeyPatch, K: int, max_affected: int, Delta: float, few: int
) -> None:
    monkeypatch.setattr("darrm.certificate.moves.BAND_TERMS", few)
    rng = np.random.default_rng([K, max_affected, int(1e6 * Delta)])
    problem = darrm.MajorityProblem(K, 2, 0.5, Delta, max_affected=max_affected)
    moves = Moves(problem, 0.0)
    tiny, relative = 1e-13, 1e-14
    settled = 0
    for level in levels(noise(rng, K, "dips"), weights(problem.epsilon, Delta), min(3, max_affected - 1)):
        V, V_, _ = level.sides
        still, budget = K - level.n, max_affected - level.n
        z = np.arange(still + 1)
        up, down = np.minimum(z[::-1], budget), np.minimum(z, budget)
        rows, at = (part.ravel() for part in np.indices(V.shape))
        reach = Reach(up, down, min(still, budget))
        wanted = np.ones(V.shape, dtype=bool)
        kinds = (moves.loose, moves.envelope, moves.closer, moves.averaged)
        bounds = {kind.__name__: kind(level.sides, reach, wanted, relative) for kind in kinds}
        assert moves.bounds == kinds[: 4 if moves.many else 3]
        for row, column in zip(rows, at, strict=True):
            ups, downs = up[column] + 1, down[column] + 1
            P, _ = moves.grid(V[row], column, ups, downs)
            Q, _ = moves.grid(V_[row], column, ups, downs)
            i, j = np.ogrid[:ups, :downs]
            allowed = i + j <= budget
            best, least = P[allowed].max(), Q[allowed].min()
            for name, (p_side, q_side, difference) in bounds.items():
                assert p_side[row, column] >= best - tiny, name
                assert q_side[row, column] <= least + tiny, name
                assert difference[row, column] >= best - least - tiny, name
                settled += name == "averaged" and p_side[row, column] <= best + tiny
    assert settled > 0


@pytest.mark.parametrize("Delta", [0.1, 0.4])
def test_averages_attain_what_they_say(Delta: float) -> None:
    problem = darrm.MajorityProblem(8, 2, 0.5, Delta)
    moves = Moves(problem, 0.0)
    rng = np.random.default_rng(2)
    V = rng.random((3, 9))
    M = 1 - V[:, ::-1]
    attained, i, l = moves.one_side_each(Sides(V, M, V - M), 8)
    for row, z in np.ndindex(3, 9):
        P, _ = moves.grid(V[row], z, 9 - z, 1)
        Q, _ = moves.grid(M[row], z, 1, z + 1)
        assert attained.p_side[row, z] == pytest.approx(P[i[row, z], 0], abs=1e-14)
        assert attained.p_side[row, z] == pytest.approx(P.max(), abs=1e-14)
        assert attained.q_side[row, z] == pytest.approx(Q[0, l[row, z]], abs=1e-14)
        assert attained.q_side[row, z] == pytest.approx(Q.min(), abs=1e-14)


@pytest.mark.parametrize("Delta", [0.0, 1e-5, 0.3])
def test_what_is_quickly_found_is_broken(Delta: float) -> None:
    """Proposals are multisets of the list, and each breaks its row."""
    problem = darrm.MajorityProblem(9, 1, 0.2, Delta)
    gamma = noise(np.random.default_rng(4), 9, "dips")
    limit = guarantee(problem)
    for effort, hi_lo, lo_hi in ((0, 0, 0), (1, 3, 1), (1, 0, 9), (2, 0, 0)):
        near = [CornerCounts(9 - hi_lo - lo_hi, 0, hi_lo, lo_hi)]
        broken = CornerSeparation(gamma, limit).broken(limit.epsilon, problem.delta + 1e-6, effort, near)
        if not broken and effort:  # beside the usual cases none may be left
            continue
        counts = np.array([worst.case for worst in broken])
        assert np.all(counts >= 0)
        assert np.all(counts.sum(axis=1) == 9)
        rows = constraints.MajorityRows(limit).of([worst.case for worst in broken]).rows
        assert np.all(rows @ gamma[5:] > 1)


@pytest.mark.first(3)
@pytest.mark.parametrize(
    ("K", "Delta"),
    [
        *((K, Delta) for K in (12, 101, 301) for Delta in (0.0, 1e-5)),
        (12, 0.3),
        (51, 0.3),
        pytest.param(301, 0.3, marks=pytest.mark.slow),  # hardly any bound settles a table that is no optimum
    ],
)
def test_rounding_is_within_its_bound(K: int, Delta: float) -> None:
    """Tables, and the certificate of the worst multiset, against ball arithmetic with 200 bits."""
    flint = pytest.importorskip("flint")
    arb, u = flint.arb, 2.0**-53
    previous, flint.ctx.prec = flint.ctx.prec, 200
    try:
        problem = darrm.MajorityProblem(K, 3, 0.1, Delta)
        gamma = noise(np.random.default_rng(K), K, "dips" if Delta > 0.1 else "random")
        w = weights(problem.epsilon, Delta)
        s, D = (-arb(problem.epsilon)).exp(), arb(Delta)
        hi, lo = (1 + D * s) / (1 + s), (1 - D) * s / (1 + s)
        X = [(1 + int(np.sign(2 * l - K)) * arb(float(g))) / 2 for l, g in enumerate(gamma)]
        tables = {0: (X, X)}
        for level in levels(gamma, w, min(K, 60), 1):
            if level.n:
                V, M = tables[0]
                grown = {0: (mix(V, lo, hi), mix(M, hi, lo))}
                if 1 in level.b:
                    grown[1] = mix(V, hi, lo), mix(M, lo, hi)
                tables = grown
            for row, b in enumerate(level.b):
                for c in range(0, K - level.n + 1, 7):
                    V, M = tables[int(b)]
                    for exact, computed in ((V[c], level.sides.p_side[row, c]), (M[c], level.sides.q_side[row, c])):
                        assert abs(float(arb(float(computed)) - exact)) <= 1.01 * (3 * level.n + 1) * u * float(exact)
                    error = float(arb(float(level.sides.difference[row, c])) - (V[c] - M[c]))
                    assert abs(error) <= 1.01 * u * (6 * level.n * (level.n + 1) + 4) * w.gap
        worst = worst_at(gamma, problem, guarantee(problem).epsilon)
        corners = [(arb(0), arb(0)), (arb(1), arb(1)), (hi, lo), (lo, hi), (D, arb(0)), (arb(0), D)]
        corners += [(1 - D, arb(1)), (arb(1), 1 - D)]
        sides = []
        for side in (0, 1):
            alpha = [arb(1)]
            for corner, n in zip(corners, worst.case, strict=True):
                for _ in range(n):
                    alpha = mix([arb(0), *alpha, arb(0)], corner[side], 1 - corner[side])
            sides.append(sum((x * a for x, a in zip(X, alpha, strict=True)), arb(0)))
        excess = sides[0] - (arb(problem.m) * arb(problem.epsilon)).exp() * sides[1]
        assert float(arb(worst.bound) - excess) >= 0
        assert float(arb(worst.bound) - excess) <= 2.5 * worst.rounding + 1e-15
    finally:
        flint.ctx.prec = previous


@pytest.mark.parametrize(("K", "max_affected", "Delta"), [(11, 11, 0.0), (11, 3, 1e-5), (40, 40, 0.3)])
@pytest.mark.parametrize("epsilon", ["0", "0.01", "0.9", "3"])
def test_rounding_is_counted_as_the_proof_says(K: int, max_affected: int, Delta: float, epsilon: str) -> None:
    """docs/theory.md, "Rounding": too little would show in no other test, as errors seldom come near their bounds."""
    problem = darrm.MajorityProblem(K, 2, 0.1, Delta, max_affected=max_affected)
    cases = CornerSeparation(np.ones(K + 1), guarantee(problem))
    scale, u = cases._scale(Decimal(epsilon)), Fraction(1, 2**53)
    S, T, beta = max_affected, cases._moves.terms, Fraction(cases._moves.beyond)
    gap, kappa = Fraction(weights(0.1, Delta).gap), exact.exponential(Decimal(epsilon)) - 1
    r = Fraction(101, 100) * (7 * S + 4 * T + 40) * u
    moves = 2 * (2 + kappa) * min(2, S * Fraction(Delta)) * (7 * S + 4 * T + 60)
    absolute = Fraction(101, 100) * u * ((6 * S * (S + 1) + 4 * S) * gap + moves) + r * kappa + (2 + kappa) * beta
    assert float(Fraction(scale.relative) / r) == pytest.approx(1, abs=1e-14)
    assert float(Fraction(scale.absolute) / absolute) == pytest.approx(1, abs=1e-13)
    assert scale.beyond == cases._moves.beyond


def mix(values: list, here: object, above: object) -> list:
    return [here * x + above * y for x, y in itertools.pairwise(values)]


@pytest.mark.parametrize(("Delta", "lost"), [(0.01, 1e-6), (0.01, 1e-3), (0.3, 0.1), (0.5, 0.13)])
def test_moves_that_are_left_out_are_paid_for(monkeypatch: pytest.MonkeyPatch, Delta: float, lost: float) -> None:
    whole = Moves.__init__
    monkeypatch.setattr(Moves, "__init__", lambda self, problem, negligible: whole(self, problem, lost))
    rng = np.random.default_rng([int(1 / lost), int(100 * Delta)])
    truncated = 0
    for K, max_affected in ((3, 2), (4, 4), (4, 3)):
        problem = darrm.MajorityProblem(K, 1.5, 0.2, Delta, max_affected=max_affected)
        truncated += Moves(problem, lost).beyond > 0
        for kind in ("random", "dips", "monotone"):
            gamma = noise(rng, K, kind)
            for epsilon in (exact.total_epsilon(problem), Decimal(0), Decimal(3)):
                bound = Fraction(worst_at(gamma, problem, epsilon).bound)
                assert bound >= min(1, exact.worst_excess(gamma.tolist(), problem, epsilon))
    assert truncated


def test_the_edge_is_the_monotone_case() -> None:
    """A monotone table needs the multisets without (lo,hi) alone."""
    problem = darrm.MajorityProblem(21, 3, 0.2, 1e-3)
    gamma = noise(np.random.default_rng(1), 21, "monotone")
    limit = guarantee(problem)
    search = CornerSeparation(gamma, limit)
    assert largest(search.worst_cases(limit.epsilon)).bound == search.glimpse(limit.epsilon).bound
    assert len(list(levels(gamma, weights(0.2, 1e-3), 21))) == 22
    start = next(levels(gamma, weights(0.2, 1e-3), 21))
    assert start.rises.all()
    assert start.sides.p_side[0] == pytest.approx(acceptance(gamma))


def test_a_flat_stretch_rises() -> None:
    """Equal neighbours count as rising; a fall by one part in 1e15 does not."""
    w = weights(0.2, 0.0)
    gamma = np.array([1.0, 1.0, 0.5, 0.5, 1.0, 1.0])
    assert next(levels(gamma, w, 5)).rises.all()
    gamma[[1, 4]] = 1.0
    gamma[[0, 5]] = 1 - 1e-15
    assert not next(levels(gamma, w, 5)).rises.any()
    assert math.isclose(gamma[0], 1.0, rel_tol=1e-14)


def test_higher_is_at_least_the_next_number() -> None:
    """The step that stands for np.nextafter in bounds: never below it, two steps above it at most."""
    ends = [0.0, -0.0, 5e-324, 2.0**-1022, 2.0**-970, 1.0, 1 + 2.0**-52, 2 - 2.0**-52, 1.7e308]
    random = np.random.default_rng(8)
    values = np.ldexp(random.uniform(1, 2, 20_000), random.integers(-1074, 1023, 20_000))
    values = np.concatenate([ends, values])
    values = np.concatenate([values, -values])
    higher, following = rounding._higher(values), np.nextafter(values, np.inf)
    assert np.all(higher >= following)
    assert np.all(higher <= np.nextafter(np.nextafter(following, np.inf), np.inf))
    largest_number = np.finfo(np.float64).max
    assert -largest_number <= rounding._higher(np.array(-np.inf)) < -largest_number / 2
    assert rounding._higher(np.array(np.inf)) == np.inf

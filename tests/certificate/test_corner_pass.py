"""The pass at large K: bounds for tables that are left out, and columns that are not looked into."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from cases import slow
from oracles import exact

import darrm
from darrm.certificate import corner_pass
from darrm.certificate.protocol import largest
from darrm.certificate.rounding import Scale
from darrm.certificate.separation import CornerSeparation
from darrm.certificate.smoothing import Sides, levels
from darrm.problem.corners import weights
from darrm.problem.limits import guarantee
from darrm.problem.noise_function import acceptance


def noise(rng: np.random.Generator, K: int, kind: str) -> np.ndarray:
    n = K - K // 2
    half = {
        "random": lambda: rng.random(n),
        "rising": lambda: np.sort(rng.random(n)),
        "dips": lambda: np.where(rng.random(n) < 0.2, rng.random(n), 1.0),
        "spike": lambda: np.where(np.arange(n) == rng.integers(n), 0.0, 1.0),
        "tiny": lambda: 1 - rng.random(n) * 10.0 ** -rng.integers(0, 17, n),
    }[kind]()
    return np.concatenate([half[::-1], np.zeros((K + 1) % 2), half])


KINDS = ("random", "rising", "dips", "spike", "tiny")


@pytest.fixture
def spaced(monkeypatch: pytest.MonkeyPatch) -> None:
    space(monkeypatch)


def space(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gaps of two tables, from the first on, and no table too small to leave columns out."""
    monkeypatch.setattr(corner_pass, "_TOGETHER", 0)
    monkeypatch.setattr(corner_pass, "SPACED_FROM", 0)
    monkeypatch.setattr(corner_pass, "SPACING", 3)
    monkeypatch.setattr(corner_pass, "_SMALL", 0)


@pytest.mark.first(2, 12)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spacing", [2, 3, 8])
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_what_stands_for_tables_bounds_them(spacing: int, kind: str, epsilon: float) -> None:
    """Every table that is left out and not dominated is within the bounds of its gap, its neighbours too."""
    K, w = 41, weights(epsilon, 1e-3)
    rng = np.random.default_rng([spacing, KINDS.index(kind)])
    gamma, tiny, stood_for = noise(rng, K, kind), 1e-13, 0
    whole = {0: {0: (acceptance(gamma),) * 2}}
    for n in range(K):
        step = {b: (w.lo * V[:-1] + w.hi * V[1:], w.hi * M[:-1] + w.lo * M[1:]) for b, (V, M) in whole[n].items()}
        V, M = whole[n][n]
        step[n + 1] = w.hi * V[:-1] + w.lo * V[1:], w.lo * M[:-1] + w.hi * M[1:]
        whole[n + 1] = step
    for level in levels(gamma, w, K, spacing=spacing):
        for row, b in enumerate(level.b.tolist()):
            V, M = whole[level.n][b]
            assert level.sides.p_side[row] == pytest.approx(V, abs=tiny)
            assert level.sides.q_side[row] == pytest.approx(M, abs=tiny)
            assert level.sides.difference[row] == pytest.approx(V - M, abs=tiny)
        above, below, difference = level.stand_ins(slice(0, K - level.n + 1), 1e-16)
        high, low = level.extremes()
        for gap, b in enumerate(level.b[level.gaps].tolist()):
            for between in range(b, b + spacing + 1):
                V, M = whole[level.n][between]
                assert np.all(above[gap] >= V - tiny)
                assert np.all(below[gap] <= M + tiny)
                assert np.all(difference[gap] >= V - M - tiny)
                assert np.all(difference[gap] >= above[gap] - below[gap] - (below[gap] == 0) - tiny)
                assert np.all((high >= V - tiny) & (low <= M + tiny))
                stood_for += 1
        # What is neither followed nor stood for is dominated: a table with fewer at (lo,hi), no more at (hi,lo), rises.
        stood = {c for b in level.b[level.gaps].tolist() for c in range(b, b + spacing)}
        for b in set(range(level.n + 1)) - set(level.b.tolist()) - stood:
            a = level.n - b
            assert any(np.all(np.diff(whole[at + less][less][0]) >= -tiny) for at in range(a + 1) for less in range(b))
        if level.settles:
            break
    assert stood_for or kind == "rising"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("Delta", [0.0, 1e-4, 0.02])
@pytest.mark.parametrize(("K", "max_affected"), [(9, 9), (12, 12), (12, 8)])
@pytest.mark.parametrize("m", [1, 9])
def test_the_spaced_pass_is_the_maximum(
    spaced: None, K: int, max_affected: int, Delta: float, kind: str, m: int
) -> None:
    """Beside the pass that follows every table: with and without (lo,hi) at the worst, in both forms of the excess."""
    rng = np.random.default_rng([K, max_affected, int(1e5 * Delta), KINDS.index(kind), m])
    problem = darrm.MajorityProblem(K, m, 0.4, Delta, max_affected=max_affected)
    for _ in range(4):
        gamma = noise(rng, K, kind)
        worst = largest(CornerSeparation(gamma, guarantee(problem)).worst_cases(guarantee(problem).epsilon))
        listed = largest(dense(gamma, problem))
        assert worst.bound == pytest.approx(listed.bound, rel=1e-11, abs=1e-14)
        assert sum(worst.case) == K


def dense(gamma: np.ndarray, problem: darrm.MajorityProblem) -> list:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corner_pass, "SPACED_FROM", 10**6)
        patch.setattr(corner_pass, "_SMALL", 10**9)
        return CornerSeparation(gamma, guarantee(problem)).worst_cases(guarantee(problem).epsilon)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("K", "Delta"), [(7, 0.0), (5, 1e-3)])
def test_no_bound_is_below_the_exact_excess(spaced: None, K: int, Delta: float, kind: str) -> None:
    rng = np.random.default_rng([K, KINDS.index(kind)])
    problem = darrm.MajorityProblem(K, 1.5, 0.3, Delta)
    for epsilon in (exact.total_epsilon(problem), Decimal(0), Decimal(3)):
        gamma = noise(rng, K, kind)
        bound = largest(CornerSeparation(gamma, guarantee(problem)).worst_cases(epsilon)).bound
        assert Fraction(bound) >= min(1, exact.worst_excess(gamma.tolist(), problem, epsilon))


@pytest.mark.thorough
@pytest.mark.parametrize("Delta", [0.0, 1e-5])
@pytest.mark.parametrize("m", [2, 16])
def test_a_large_pass_gives_what_the_whole_gives(Delta: float, m: int) -> None:
    """At the size from which on tables are left out: dips that some gap cannot settle, and a guarantee that is met."""
    K = 311
    problem = darrm.MajorityProblem(K, m, 0.1, Delta)
    gamma = darrm.repair(noise(np.random.default_rng(m), K, "dips"), problem)
    for table in (gamma, np.minimum(1, 1.01 * gamma)):
        spaced = largest(CornerSeparation(table, guarantee(problem)).worst_cases(guarantee(problem).epsilon))
        assert spaced.bound == pytest.approx(largest(dense(table, problem)).bound, rel=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["random", *slow("dips", "spike")])
@pytest.mark.parametrize("Delta", [0.0, 1e-3])
def test_gaps_that_bounds_leave_are_looked_into(spaced: None, Delta: float, kind: str) -> None:
    """Where nothing counts as settled, each level has the worst of all its tables; some of these are in gaps."""
    K, in_gaps = 16, 0
    problem = darrm.MajorityProblem(K, 4, 3.0, Delta)
    for seed in range(3):
        gamma = noise(np.random.default_rng(seed), K, kind)
        search = CornerSeparation(gamma, guarantee(problem))
        forms = search._scale(guarantee(problem).epsilon)
        found = {n: b for n, b, _ in worst_by_level(search, forms)}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(corner_pass, "SPACED_FROM", 10**6)
            for n, bound, lo_hi in worst_by_level(search, forms):
                assert found[n] >= bound - 1e-12 * abs(bound)  # more if a table that is dominated is still followed
                in_gaps += lo_hi > 3 and lo_hi % 3 > 0 and n >= lo_hi - lo_hi % 3 + 3
    assert in_gaps


def worst_by_level(search: CornerSeparation, forms: Scale) -> list[tuple[int, float, int]]:
    """n, the bound and the number at (lo,hi) of the worst case of each level."""
    found: dict[int, tuple[int, float, int]] = {}
    for worst in search._pass.scan(forms, -1e12):
        n = worst.case.hi_lo + worst.case.lo_hi
        found[n] = max(found.get(n, (n, -1e12, 0)), (n, worst.bound, worst.case.lo_hi))
    return list(found.values())


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_all_levels_at_once_say_what_each_says(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few voters the levels are bounded together: with the usual cases left out too, and all others searched."""
    rng = np.random.default_rng(seed)
    for round_number in range(20):
        K, Delta = int(rng.integers(1, 10)), float(rng.choice([1e-6, 1e-3, 0.1]))
        m, epsilon = float(rng.uniform(0.02, 0.8)) * K, float(10 ** rng.uniform(-2, 0.5))
        problem = darrm.MajorityProblem(K, m, epsilon, Delta, max_affected=int(rng.integers(1, K + 1)))
        limit = guarantee(problem)
        search = CornerSeparation(noise(rng, K, KINDS[round_number % len(KINDS)]), limit)
        forms = search._scale(limit.epsilon)
        for settled in (-1e9, problem.delta):
            found = []
            for together in (64, 0):
                monkeypatch.setattr(corner_pass, "_TOGETHER", together)
                bounds = [worst.bound for worst in search._pass.scan(forms, settled)]
                found.append(max(bounds, default=-np.inf))
            if max(found) > settled:
                assert found[0] == found[1]


@pytest.mark.thorough
@pytest.mark.parametrize("t", [7, 5, 3, 1])
@pytest.mark.parametrize("m", [1.0, 6.0])
def test_a_search_is_over_all_moves(t: int, m: float) -> None:
    """Its bound and its multiset are the worst of all i, j, k, l, one by one, where the budget binds and where not."""
    problem = darrm.MajorityProblem(7, m, 0.4, 0.2, max_affected=t)
    searched = 0
    for seed in range(12):
        gamma = noise(np.random.default_rng([seed, t]), 7, "random")
        search, limit = CornerSeparation(gamma, guarantee(problem)), guarantee(problem)
        forms, moves = search._scale(limit.epsilon), search._moves
        for level in levels(gamma, weights(0.4, 0.2), t):
            N, budget = 7 - level.n, t - level.n
            for row, z in ((row, z) for row in np.flatnonzero(~level.rises) for z in range(N + 1)):
                V, V_, difference = level.sides.at(row)
                (P, P_change), (Q, Q_change) = (moves.grid(table, z, N - z + 1, z + 1) for table in (V, V_))
                i, j, k, l = np.indices((N - z + 1, z + 1, N - z + 1, z + 1)).reshape(4, -1)
                i, j, k, l = np.array([i, j, k, l])[:, (i + k <= N - z) & (j + l <= z) & (i + j + k + l <= budget)]
                each = forms.excess(Sides(P[i, j], Q[k, l], difference[z] + P_change[i, j] - Q_change[k, l]))
                found = search._pass._search(level, int(row), z, forms, budget)
                assert each.max() == pytest.approx(found.bound, abs=1e-13, rel=1e-13)
                case = found.case
                own = (i == case.D_0) & (j == case.near_one) & (k == case.zero_D) & (l == case.one_near)
                assert each[own].item() == pytest.approx(found.bound, abs=1e-13, rel=1e-13)
                searched += 1
    assert searched >= 8

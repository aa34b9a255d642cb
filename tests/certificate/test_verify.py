"""The certificate against the definition, in exact fractions."""

import copy
import pickle
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from oracles import exact

import darrm
from darrm.certificate import tight_epsilon
from darrm.certificate.protocol import WorstCase, largest
from darrm.certificate.separation import CornerSeparation
from darrm.problem.limits import guarantee

EPSILONS = [Decimal(0), Decimal("1e-9"), Decimal("0.01"), Decimal(1), Decimal(3), Decimal(60)]


def worst_at(gamma: np.ndarray, problem: darrm.MajorityProblem, epsilon: Decimal) -> WorstCase:
    return largest(CornerSeparation(gamma, guarantee(problem)).worst_cases(epsilon))


def table(rng: np.random.Generator, K: int, kind: str) -> np.ndarray:
    half = {
        "random": rng.random(K),
        "rising": np.sort(rng.random(K)),
        "one": np.ones(K),
        "nearly one": 1 - rng.random(K) * 10.0 ** -rng.integers(3, 17),
        "extreme": rng.choice([0.0, 1.0, 1 - 2**-53, 1e-300, 0.5], K),
    }[kind][: K - K // 2]
    return np.concatenate([half[::-1], np.zeros((K + 1) % 2), half])


@pytest.mark.parametrize(("Delta", "max_affected"), [(0.0, 4), (0.3, 4), (1e-3, 2)])
def test_the_oracle_takes_every_multiset(Delta: float, max_affected: int) -> None:
    problem = darrm.MajorityProblem(4, 2, 0.7, Delta, max_affected=max_affected)
    gamma, grow = [0.1, 1.0, 0.0, 1.0, 0.1], exact.exponential(Decimal("0.3"))
    every = exact.multisets(4, len(exact.corners(problem)), max_affected)
    sides = [exact.probabilities(gamma, problem, counts) for counts in every]
    assert exact.worst_excess(gamma, problem, Decimal("0.3")) == max(first - grow * second for first, second in sides)


@pytest.mark.parametrize("kind", ["random", "rising", "one", "nearly one", "extreme"])
@pytest.mark.parametrize("Delta", [0.0, 1e-300, 1e-8, 1e-3, 0.3, 0.9])
@pytest.mark.parametrize("K", [1, 2, 3, 4])
def test_bound_is_true_and_tight(K: int, Delta: float, kind: str) -> None:
    rng = np.random.default_rng([K, int(Delta * 1000), len(kind)])
    for max_affected in range(1, K + 1):
        epsilon = float(10 ** rng.uniform(-6, 1.3))
        problem = darrm.MajorityProblem(K, rng.uniform(1, K), epsilon, Delta, max_affected=max_affected)
        gamma = table(rng, K, kind)
        for at in (exact.total_epsilon(problem), EPSILONS[rng.integers(len(EPSILONS))]):
            worst = worst_at(gamma, problem, at)
            truth = exact.worst_excess(gamma.tolist(), problem, at)
            assert Fraction(worst.bound) >= min(truth, 1)
            size = (exact.exponential(at) + 1) * max(Fraction(problem.epsilon), Fraction(1, 100))
            assert Fraction(worst.bound) - truth <= size * Fraction(1, 10**11)


@pytest.mark.parametrize(("K", "max_affected"), [(5, 5), (6, 6), (6, 3), (7, 7)])
def test_pure_bound_for_more_votes(K: int, max_affected: int) -> None:
    rng = np.random.default_rng(K)
    for kind in ("random", "extreme", "rising"):
        problem = darrm.MajorityProblem(K, 2, 0.4, max_affected=max_affected)
        gamma = table(rng, K, kind)
        at = exact.total_epsilon(problem)
        bound = Fraction(worst_at(gamma, problem, at).bound)
        assert 0 <= bound - exact.worst_excess(gamma.tolist(), problem, at) <= Fraction(1, 10**12)


@pytest.mark.parametrize(
    ("max_affected", "epsilon", "at", "half"),
    [
        (1, 0.6, 0.3, [0.15, 1.0, 0.0]),
        (1, 0.4, 0.2, [0.5, 0.5, 1.0, 0.0]),
        (1, 0.64, 0.32, [0.0, 0.5, 1.0, 0.0, 0.83, 1.0]),
        (2, 0.4164, 0.7587, [0.5, 0.6364, 0.6364, 1.0, 1.0, 0.5]),
    ],
)
def test_the_last_changed_voter_counts_where_gamma_dips(
    max_affected: int, epsilon: float, at: float, half: list[float]
) -> None:
    """The worst case has voters at (lo,hi), which no table of those at (hi,lo) shows."""
    gamma = np.array([*half[::-1], *half])
    problem = darrm.MajorityProblem(gamma.size - 1, 1.5 if max_affected == 1 else 2, epsilon, max_affected=max_affected)
    worst = worst_at(gamma, problem, Decimal(at))
    assert worst.case.lo_hi >= 1
    assert sum(worst.case[2:]) == max_affected
    excess = exact.worst_excess(gamma.tolist(), problem, Decimal(at))
    assert 0 <= Fraction(worst.bound) - excess <= Fraction(1, 10**12)


@pytest.mark.parametrize("max_affected", [2, 9])
@pytest.mark.parametrize("Delta", [0.0, 1e-3, 0.3])
@pytest.mark.parametrize("kind", ["random", "rising", "one", "nearly one", "solved"])
def test_the_worst_case_of_a_certificate_attains_the_needed_delta(kind: str, Delta: float, max_affected: int) -> None:
    rng = np.random.default_rng([9, max_affected, len(kind)])
    for epsilon in (0.05, 0.1, 1.0):
        for m in (1.0, 2.5):
            problem = darrm.MajorityProblem(9, m, epsilon, Delta, max_affected=max_affected)
            gamma = darrm.solve(problem).gamma if kind == "solved" else table(rng, 9, kind)
            certificate = darrm.verify(gamma, problem)
            names = ("(0,0)", "(1,1)", "(hi,lo)", "(lo,hi)", "(D,0)", "(0,D)", "(1-D,1)", "(1,1-D)")
            counts = tuple(certificate.worst_case.get(name, 0) for name in names)
            first, second = exact.probabilities(gamma.tolist(), problem, counts)
            grow = exact.exponential(exact.total_epsilon(problem))
            attained = max(Fraction(0), first - grow * second)
            limit = grow - 1 + 2 * Fraction(problem.delta)
            assert 0 <= Fraction(certificate.needed_delta) - attained <= limit / 10**12
            assert certificate.probabilities == pytest.approx((float(first), float(second)), rel=1e-12, abs=1e-300)


def test_the_worst_case_attains_the_bound() -> None:
    rng = np.random.default_rng(7)
    for Delta in (0.0, 1e-3, 0.3):
        for max_affected in (2, 9):
            problem = darrm.MajorityProblem(9, 2.5, 0.3, Delta, max_affected=max_affected)
            gamma = table(rng, 9, "random")
            worst = worst_at(gamma, problem, exact.total_epsilon(problem))
            assert sum(worst.case) == 9
            assert sum(worst.case[2:]) <= max_affected
            first, second = exact.probabilities(gamma.tolist(), problem, worst.case)
            excess = first - exact.exponential(exact.total_epsilon(problem)) * second
            assert abs(float(excess) - worst.bound) < 1e-12


@pytest.mark.parametrize("Delta", [0.0, 1e-5])
@pytest.mark.parametrize("K", [11, 12, 31])
def test_one_part_in_a_billion_decides(K: int, Delta: float) -> None:
    problem = darrm.MajorityProblem(K, 3, 0.1, Delta)
    gamma = darrm.repair(np.ones(K + 1), problem)
    assert gamma[K] < 1
    assert darrm.verify(gamma * (1 - 1e-9), problem).holds
    refused = darrm.verify(gamma * (1 + 1e-9), problem)
    assert not refused.holds
    assert refused.needed_delta > problem.delta


@pytest.mark.parametrize("Delta", [0.0, 0.1])
def test_needed_delta_is_that_of_the_definition(Delta: float) -> None:
    problem = darrm.MajorityProblem(3, 2, 0.7, Delta)
    certificate = darrm.verify([1.0, 0.5, 0.5, 1.0], problem)
    needed = exact.worst_excess([1.0, 0.5, 0.5, 1.0], problem, exact.total_epsilon(problem))
    assert certificate.needed_delta == pytest.approx(float(needed), rel=1e-12)
    assert Fraction(certificate.needed_delta) >= needed


def test_large_m_epsilon_is_not_lost_in_rounding() -> None:
    """A(p) - e^(m eps) A(p') equals its limit in float64, and yet the release is far from 50-DP."""
    problem = darrm.MajorityProblem(K=11, m=2, epsilon=25)
    certificate = darrm.verify(np.ones(12), problem)
    assert not certificate.holds
    # 5 votes at (0,0), 6 at (hi,lo): all six must be 1, hi^6 against lo^6, and hi / lo = e^25.
    first, second = exact.probabilities([1.0] * 12, problem, (5, 0, 6, 0))
    assert abs(first / second / exact.exponential(Decimal(150)) - 1) < Fraction(1, 10**60)
    assert certificate.tight_epsilon == pytest.approx(150, rel=1e-12)
    assert certificate.tight_epsilon >= 150


def test_small_m_epsilon_is_certified() -> None:
    design = darrm.solve(K=11, m=1, epsilon=1e-9)
    assert design.gamma[6:] == pytest.approx(np.arange(1, 12, 2) / 11, abs=1e-7)


def test_a_large_guarantee_with_Delta_is_proved() -> None:
    """Moves left out are weighed by e^(-m eps), or the bound would contradict the tight epsilon."""
    for Delta in (1e-6, 1e-3, 0.3):
        certificate = darrm.verify(np.ones(6), darrm.MajorityProblem(5, 5, 12.0, Delta))
        assert certificate.holds
        assert certificate.tight_epsilon <= 60


@pytest.mark.parametrize("epsilon", [1000.0, 3000.0])
def test_huge_m_epsilon_does_not_overflow(epsilon: float) -> None:
    for Delta in (0.0, 1e-5):
        design = darrm.solve(K=11, m=3, epsilon=epsilon, Delta=Delta)
        assert design.gamma.min() > 1 - 1e-12


@pytest.mark.parametrize("Delta", [0.0, 1e-4])
def test_tight_epsilon_is_the_least_that_holds(Delta: float) -> None:
    rng = np.random.default_rng(3)
    problem = darrm.MajorityProblem(4, 1.5, 0.5, Delta)
    gamma = darrm.repair(table(rng, 4, "random"), problem)
    tight = Decimal(darrm.verify(gamma, problem).tight_epsilon)
    delta = Fraction(problem.delta)
    assert exact.worst_excess(gamma.tolist(), problem, tight) <= delta
    assert exact.worst_excess(gamma.tolist(), problem, tight * (1 - Decimal("1e-9"))) > delta


def test_a_wrong_eighth_corner_is_caught() -> None:
    """e^-epsilon in the denominator of the corner (lo,hi), as in a published script: K = 15, epsilon = 1, m = 2."""
    from darrm import priors
    from darrm.numerics.poisson_binomial import pmf
    from darrm_solvers import LinearProgram, solve_highs

    K, total = 15, 2.0
    hi, lo = np.e / (1 + np.e), 1 / (1 + np.e)
    wrong = [(0.0, 0.0), (1.0, 1.0), (hi, lo), (1 / (1 + np.exp(-1)), np.e / (1 + np.e))]
    every = np.array(list(exact.multisets(K, 4, K)))
    pairs = np.array([np.repeat(wrong, counts, axis=0) for counts in every])
    f = pmf(pairs[:, :, 0]) - np.exp(total) * pmf(pairs[:, :, 1])
    rows = (f[:, 8:] - f[:, :8][:, ::-1]) / np.expm1(total)
    weights = priors.weights(priors.independent(), K, "tv")
    half = solve_highs(LinearProgram(weights / weights.max(), rows, np.ones(len(rows)))).x
    gamma = np.concatenate([half[::-1], half])
    problem = darrm.MajorityProblem(K, 2, 1.0)
    certificate = darrm.verify(gamma, problem)
    assert not certificate.holds
    assert 2.02 < certificate.tight_epsilon < 2.05
    names = ("(0,0)", "(1,1)", "(hi,lo)", "(lo,hi)")
    counts = tuple(certificate.worst_case.get(name, 0) for name in names)
    first, second = exact.probabilities(gamma.tolist(), problem, counts)
    assert first > exact.exponential(Decimal(2)) * second
    with pytest.raises(darrm.CertificateError, match="not certified \\(2, 0\\)-DP"):
        darrm.Design(problem, gamma, priors.independent())


def test_verify_refuses_what_is_no_noise_function() -> None:
    problem = darrm.MajorityProblem(3, 1, 0.1)
    for bad in (
        [0.5] * 3,
        [0.5, 0.5, 0.5, 0.6],
        [-0.1, 0, 0, -0.1],
        [np.nan] * 4,
        [[0.5] * 4],
        "gamma",
        [1.1] * 4,
        [0.5 + 0j] * 4,
    ):
        with pytest.raises(darrm.InputError):
            darrm.verify(bad, problem)  # type: ignore[arg-type]


def test_arithmetic_without_subnormals_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("darrm.certificate.separation._SUBNORMAL", 0.0)
    with pytest.raises(darrm.CertificateError, match="subnormal"):
        darrm.verify([0.5] * 4, darrm.MajorityProblem(3, 1, 0.1))


def test_more_votes_than_can_be_verified_are_refused() -> None:
    with pytest.raises(darrm.InputError, match="K must be at most 3001"):
        darrm.verify(np.zeros(3004), darrm.MajorityProblem(3003, 3003, 1e-4))


@pytest.mark.parametrize("K", [0, -1])
def test_no_votes_are_no_problem(K: int) -> None:
    with pytest.raises(darrm.InputError, match="K must be an integer"):
        darrm.MajorityProblem(K, 1, 0.1)


def test_a_table_cannot_be_changed_after_it_was_verified() -> None:
    gamma = darrm.solve(K=3, m=1, epsilon=0.1).gamma
    with pytest.raises(ValueError, match="WRITEABLE"):
        gamma.flags.writeable = True


def test_only_exact_float64_parameters() -> None:
    assert darrm.MajorityProblem(Fraction(3), Fraction(3, 2), Fraction(1, 4)).m == 1.5
    for bad in ({"epsilon": Fraction(1, 10)}, {"m": Fraction(4, 3)}, {"K": Fraction(10**40 + 1, 10**40)}):
        with pytest.raises(darrm.InputError):
            darrm.MajorityProblem(**{"K": 3, "m": 1, "epsilon": 0.1, **bad})  # type: ignore[arg-type]


@pytest.mark.thorough
def test_needed_delta_is_not_below_what_the_worst_case_attains() -> None:
    rng = np.random.default_rng(11)
    for _ in range(200):
        problem = darrm.MajorityProblem(3, float(rng.uniform(1, 3)), float(10 ** rng.uniform(-3, 1)), 0.01)
        gamma = table(rng, 3, "random")
        certificate = darrm.verify(gamma, problem)
        at = exact.total_epsilon(problem)
        assert Fraction(certificate.needed_delta) >= exact.worst_excess(gamma.tolist(), problem, at)


def test_beyond_float64_the_worst_case_named_is_one_with_its_probabilities() -> None:
    for epsilon in (236.0, 240.0, 1000.0):
        certificate = darrm.verify(np.full(4, 0.5), darrm.MajorityProblem(3, 3, epsilon))
        assert certificate.worst_case == {"(0,0)": 2, "(hi,lo)": 1}
        assert certificate.probabilities == pytest.approx((0.25, 0.25), abs=1e-15)


def test_repair_scales_and_keeps_what_holds() -> None:
    rng = np.random.default_rng(5)
    for Delta in (0.0, 1e-6):
        problem = darrm.MajorityProblem(9, 2, 0.2, Delta)
        gamma = table(rng, 9, "nearly one")
        repaired = darrm.repair(gamma, problem)
        assert np.ptp(repaired / gamma) < 1e-15
        assert darrm.verify(repaired, problem).holds
        assert darrm.repair(repaired, problem).tolist() == repaired.tolist()
        assert not darrm.verify(repaired * (1 + 1e-11), problem).holds


@pytest.mark.parametrize("Delta", [0.0, 1e-3])
def test_a_tie_is_a_fair_coin_whatever_gamma_says(Delta: float) -> None:
    problem = darrm.MajorityProblem(6, 2, 0.3, Delta)
    without = darrm.solve(problem).gamma
    assert without[3] == 0
    with_tie = without.copy()
    with_tie[3] = 0.9
    assert darrm.verify(with_tie, problem) == darrm.verify(without, problem)
    design = darrm.Design(problem, with_tie, darrm.priors.independent())
    ones = int(darrm.mechanisms.DaRRM(design).release_counts(np.full(100_000, 3)).sum())
    # Six standard deviations: a false alarm once in 10^8 runs.
    assert abs(ones - 50_000) < 6 * np.sqrt(25_000)


def test_the_caller_cannot_move_a_guarantee_by_a_decimal_context() -> None:
    """Rounding, range and traps of the caller's decimal context must not reach the certificate."""
    gamma = [1.0, 1 - 1e-6, 0.9, 0.9, 1 - 1e-6, 1.0]
    for epsilon, context in (
        (354.0, Context(prec=7, Emin=-95, traps=[])),
        (137.0, Context(Emin=0, traps=[])),
        (0.1, Context(prec=3, rounding=ROUND_FLOOR)),
    ):
        problem = darrm.MajorityProblem(5, 1.01, epsilon)
        wanted = darrm.verify(gamma, problem)
        with localcontext(context):
            got = darrm.verify(gamma, problem)
        assert (got.holds, got.needed_delta) == (wanted.holds, wanted.needed_delta)
        assert got.tight_epsilon >= wanted.tight_epsilon * (1 - 1e-9)


@pytest.mark.parametrize("way", ["copy", "deepcopy", "pickle"])
def test_copies_of_a_design_are_verified_and_read_only(way: str) -> None:
    design = darrm.solve(K=5, m=2, epsilon=0.3)
    ways = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda one: pickle.loads(pickle.dumps(one))}
    other = ways[way](design)
    assert other.certificate == design.certificate
    assert (other.error, other.gap, other.shape) == (design.error, design.gap, design.shape)
    with pytest.raises(ValueError, match="read-only"):
        other.gamma[:] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        other.gamma.flags.writeable = True


def test_a_pickle_with_another_gamma_is_refused() -> None:
    design = darrm.solve(K=5, m=2, epsilon=0.3)
    forged = pickle.dumps(design).replace(design.gamma.tobytes(), np.ones(6).tobytes())
    with pytest.raises(darrm.CertificateError, match="not certified"):
        pickle.loads(forged)


def test_a_design_is_not_a_table() -> None:
    design = darrm.solve(K=5, m=2, epsilon=0.3)
    with pytest.raises(darrm.InputError, match=r"pass design\.table"):
        darrm.verify(design, design.problem)  # type: ignore[arg-type]


def test_a_function_of_the_number_of_ones_is_a_table_too() -> None:
    problem = darrm.MajorityProblem(K=5, m=2, epsilon=0.5)
    table = [abs(2 * l - 5) / 10 for l in range(6)]
    assert darrm.verify(lambda l: table[l], problem) == darrm.verify(table, problem)
    assert darrm.repair(lambda l: 1.0, problem).tolist() == darrm.repair([1.0] * 6, problem).tolist()
    made = darrm.Design(problem, lambda l: 0.1, darrm.priors.independent())
    assert made.gamma.tolist() == [0.1] * 6
    assert darrm.expected_error(lambda l: 0.1, [0.7] * 5) == darrm.expected_error(made.gamma, [0.7] * 5)
    uneven = darrm.MajorityProblem(K=15, m=4, epsilon=0.2)
    gamma = darrm.Design(uneven, lambda l: abs(2 * l / 15 - 1) / 9, darrm.priors.independent()).gamma
    assert (gamma == gamma[::-1]).all()  # the two halves of the formula differ by a rounding
    with pytest.raises(darrm.InputError, match=r"gamma must be symmetric, gamma\(l\) = gamma\(K - l\)"):
        darrm.verify(lambda l: l / 5, problem)
    with pytest.raises(darrm.InputError, match=r"Got shape \(3,\)\. .* program\.gamma\(x\) makes them"):
        darrm.verify(darrm.linear_program(problem).c, problem)
    groups = darrm.DecisionProblem([darrm.VoterGroup(2, 1.0)], epsilon=1.0)
    with pytest.raises(darrm.InputError, match=r"release must be numbers of shape \(3\)?,?\)?.* Got <function"):
        darrm.verify(lambda l: 0.5, groups)


@pytest.mark.parametrize("epsilon", [1e-16, 1e-15])
def test_the_least_excess_is_refused(epsilon: float) -> None:
    """No tolerance is granted: what is missing here is 1e-16."""
    problem = darrm.MajorityProblem(11, 1, epsilon)
    certificate = darrm.verify(np.ones(12), problem)
    assert not certificate.holds
    assert 0 < certificate.needed_delta < 1e-14
    assert certificate.tight_epsilon > 2 * epsilon


def test_an_epsilon_near_nothing_ends_the_bisection() -> None:
    """Of a delta that every epsilon above 0 keeps, and 0 itself does not by rounding."""
    asked: list[Decimal] = []

    def certified(epsilon: Decimal) -> bool:
        asked.append(epsilon)
        return epsilon > 0

    assert 0 < tight_epsilon._bisected(certified, Decimal(0), Decimal(1)) < 1e-39
    assert len(asked) < 200

"""What docs/errata.md says of Jiang, Zhang, Joshi (TMLR 2024), each by a small computation."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest

import darrm
from darrm import baselines, priors
from darrm.constraints.multisets import corner_points, count_multisets


def printed_subsampling(l: int, K: int, m: int) -> Fraction:
    """gamma_Sub of Lemma 3.1, by its formula, whatever l is."""
    above = sum(comb(l, j) * comb(K - l, m - j) for j in range(m // 2 + 1, m + 1))
    tied = 0 if m % 2 else comb(l, m // 2) * comb(K - l, m // 2)
    return 1 - Fraction(2 * above + tied, comb(K, m))


@pytest.mark.parametrize(("K", "m"), [(11, 3), (11, 4), (7, 2)])
def test_lemma_3_1_is_for_less_than_half_of_the_votes(K: int, m: int) -> None:
    gamma = baselines.subsampling(K, m)
    for l in range(K + 1):
        sign = 1 if 2 * l < K else -1
        assert sign * printed_subsampling(l, K, m) == pytest.approx(gamma[l], abs=1e-15)
    assert printed_subsampling(K, K, m) == -1


@pytest.mark.parametrize(("m", "printed"), [(3, Fraction(3, 11)), (4, Fraction(2, 11))])
def test_sums_of_equations_27_and_28_begin_at_0(m: int, printed: Fraction) -> None:
    """K = 11, l = 5: votes for 1 among m of which K - l are."""

    def formula(first: int) -> Fraction:
        below = sum(comb(6, j) * comb(5, m - j) for j in range(first, (m + 1) // 2))
        tied = 0 if m % 2 else comb(6, m // 2) * comb(5, m // 2)
        return 1 - Fraction(2 * below + tied, comb(11, m))

    assert formula(1) == printed
    assert formula(0) == Fraction(5, 33) == pytest.approx(baselines.subsampling(11, m)[6], abs=1e-15)


def test_randomized_response_gets_better_with_the_root_of_k() -> None:
    """Section 3: "at most O(m / K)" for delta = 0. The largest constant tends to m (pi / (2 K))^(1/2)."""
    scaled = []
    for K in (11, 41, 101):
        problem = darrm.MajorityProblem(K=K, m=1, epsilon=0.01)
        largest = baselines.largest_constant(problem)[0]
        assert darrm.verify(np.full(K + 1, largest), problem).holds
        scaled.append(largest * math.sqrt(K))
    assert scaled == pytest.approx([1.2252, 1.2459, 1.2507], abs=1e-4)
    assert math.sqrt(math.pi / 2) == pytest.approx(1.2533, abs=1e-4)


@pytest.mark.parametrize("corners", [8, 4])
def test_choices_of_corners_are_a_power_and_multisets_a_polynomial(corners: int) -> None:
    """Section 5 has K^8 and K^4 for 8^K and 4^K (Appendix C.3), and goes on to reduce those to O(K^7) and O(K^3)."""
    chosen = list(itertools.product(range(corners), repeat=3))
    assert len(chosen) == corners**3 < 3**corners
    multisets = {tuple(sorted(one)) for one in chosen}
    assert len(multisets) == comb(3 + corners - 1, corners - 1)
    assert comb(101 + corners - 1, corners - 1) < 101 ** (corners - 1) < corners**101


def test_h_of_even_m_takes_half_the_ties_to_it() -> None:
    """K = 11, m = 4, l = 5: 1 - 2 h is to be gamma_Sub."""
    total, tied = comb(11, 4), comb(5, 2) * comb(6, 2)
    above = sum(comb(5, j) * comb(6, 4 - j) for j in (3, 4))
    printed, meant = Fraction(above - tied, total), Fraction(2 * above + tied, 2 * total)
    assert float(1 - 2 * printed) == pytest.approx(1.515, abs=5e-4)
    assert 1 - 2 * meant == pytest.approx(baselines.subsampling(11, 4)[5], abs=1e-15)
    assert float(1 - 2 * meant) == pytest.approx(0.1515, abs=5e-5)


# Appendix B: voters who are alike, p and q for D and D'

K, M, EPSILON = 7, 3, 0.3
GAMMA = baselines.double_subsampling(K, 2)
H = [(1 - GAMMA[l]) / 2 if 2 * l < K else (1 + GAMMA[l]) / 2 for l in range(K + 1)]
MIDDLE = (K - 1) // 2


def ahead(p: float, gamma: np.ndarray = GAMMA) -> float:
    return sum((1 if 2 * l > K else -1) * gamma[l] * comb(K, l) * p**l * (1 - p) ** (K - l) for l in range(K + 1))


def cost(p: float, q: float, m: int = M, gamma: np.ndarray = GAMMA) -> float:
    """f(p, p'; gamma)."""
    return ahead(p, gamma) - math.exp(m * EPSILON) * ahead(q, gamma)


def less(l: int, p: float) -> float:
    """Pr[Binomial(K - 1, p) = l]."""
    return comb(K - 1, l) * p**l * (1 - p) ** (K - 1 - l)


def test_equation_54_lacks_m() -> None:
    """The plain majority of 7 is 4 epsilon-DP, and f is e^(4 epsilon) - 1 at (0, 0)."""
    plain = np.ones(K + 1)
    problem = darrm.MajorityProblem(K=K, m=4, epsilon=EPSILON)
    assert darrm.verify(plain, problem).needed_delta < 1e-14
    assert cost(0.0, 0.0, m=4, gamma=plain) == pytest.approx(math.expm1(4 * EPSILON))
    assert math.expm1(4 * EPSILON) > 6 * math.expm1(EPSILON)


def test_equation_77_is_no_identity() -> None:
    def one(p: float) -> float:
        return (1 + ahead(p)) / 2

    p, q = 0.3, 0.25
    assert cost(p, q) == pytest.approx(1.1230, abs=1e-4)
    assert one(p) / one(q) - 1 == pytest.approx(0.3824, abs=1e-4)
    # What follows from it is true: f rises in p and falls in p'.
    grid = np.linspace(0.01, 0.99, 50)
    assert all(np.diff([cost(p, 0.5) for p in grid]) > 0)
    assert all(np.diff([cost(0.5, q) for q in grid]) < 0)


def pmf(p: float) -> list[float]:
    return [comb(K, l) * p**l * (1 - p) ** (K - l) for l in range(K + 1)]


LOWER, UPPER = range(MIDDLE + 1), range(MIDDLE + 1, K + 1)


def test_equation_36_has_d_for_d_prime() -> None:
    p, q = 0.3, 0.25

    def right_side(first: float) -> float:
        upper = sum((GAMMA[l] + (1 - GAMMA[l]) / 2) * pmf(first)[l] for l in UPPER)
        return math.exp(M * EPSILON) * (upper + sum((1 - GAMMA[l]) / 2 * pmf(q)[l] for l in LOWER))

    meant = math.exp(M * EPSILON) * (1 + ahead(q)) / 2
    assert right_side(q) == pytest.approx(meant)
    assert meant == pytest.approx(0.3843, abs=1e-4)
    assert right_side(p) == pytest.approx(0.4799, abs=1e-4)


def test_upper_sums_of_equations_48_to_50_begin_one_later() -> None:
    """They are (47) by K - l for l, where the l of the closest vote for 0 is in the first sum alone."""
    excess = [a - math.exp(M * EPSILON) * b for a, b in zip(pmf(0.3), pmf(0.25), strict=True)]
    before = sum(excess[l] * GAMMA[l] for l in UPPER) - sum(excess[l] * GAMMA[l] for l in LOWER)

    def mirrored(first: int) -> float:
        lower = sum(excess[K - l] * GAMMA[K - l] for l in range(MIDDLE + 1))
        return lower - sum(excess[K - l] * GAMMA[K - l] for l in range(first, K + 1))

    assert before == pytest.approx(cost(0.3, 0.25), rel=1e-12)
    assert mirrored((K + 1) // 2) == pytest.approx(before, rel=1e-12)
    assert mirrored((K - 1) // 2) == pytest.approx(before + 0.0115, abs=1e-4)


def test_equations_78_to_87() -> None:
    """The probability of 1, its polynomial h and the derivative: wrong condition, exponent, constant, no g(l)."""
    p, step = 0.3, 1e-6
    one = (1 + ahead(p)) / 2
    given = [(1 + (1 if 2 * l > K else -1) * GAMMA[l]) / 2 for l in range(K + 1)]  # Pr[1 | L = l]
    assert sum(x * a for x, a in zip(given, pmf(p), strict=True)) == pytest.approx(one)
    assert sum(given[1] * a for a in pmf(p)) == pytest.approx(given[1]) != pytest.approx(one, abs=0.05)  # (78)

    def polynomial(less_by: int) -> float:
        lower = sum(GAMMA[l] * comb(K, l) * p**l * (1 - p) ** (K - l - less_by) for l in LOWER)
        return sum(GAMMA[l] * pmf(p)[l] for l in UPPER) / 2 - lower / 2 + 1 / 2

    assert polynomial(0) == pytest.approx(one) == pytest.approx(0.216)
    assert polynomial(1) == pytest.approx(0.0843, abs=1e-4)  # (81) to (83)
    g = [(1 if 2 * l > K else -1) * GAMMA[l] / 2 for l in range(K + 1)]
    assert sum(x * a for x, a in zip(g, pmf(p), strict=True)) == pytest.approx(one - 1 / 2)  # (84)
    slope = (ahead(p + step) - ahead(p - step)) / (4 * step)
    first, second = ([K * factor[l + i] * less(l, p) for l in range(K)] for i, factor in ((1, g), (0, g)))
    without = [K * less(l, p) for l in range(K)]
    assert sum(first) - sum(second) == pytest.approx(slope, abs=1e-8)
    assert sum(first) - sum(without) == pytest.approx(-8.106, abs=1e-3)  # (86); (87) lacks both, and so is 0
    assert slope == pytest.approx(1.26, abs=1e-3)


def test_equation_93_has_another_power() -> None:
    e, q, step = math.exp(EPSILON), 0.2, 1e-6
    plain = np.ones(K + 1)
    slope = (cost(e * (q + step), q + step, gamma=plain) - cost(e * (q - step), q - step, gamma=plain)) / (2 * step)

    def printed(power: bool) -> float:
        """Its eight sums, over l up to the middle or from behind it, and one less."""

        def sums(p: float) -> tuple[float, ...]:
            ranges = (range(MIDDLE + 1), range(MIDDLE + 1, K), range(MIDDLE), range(MIDDLE, K))
            return tuple(K * sum(less(l, p) for l in some) for some in ranges)

        near, far = sums(q), sums(e * q)
        third = far[0]
        if power:
            third = K * sum(
                comb(K - 1, l) * (EPSILON * q) ** EPSILON * (1 - e * q) ** (K - l - 1) for l in range(MIDDLE + 1)
            )
        high, low = math.exp(M * EPSILON), e
        return high * (-near[0] + near[1] + near[2] - near[3]) + low * (third - far[1] - far[2] + far[3])

    assert printed(False) == pytest.approx(slope, abs=1e-7)
    assert printed(True) == pytest.approx(45.68, abs=1e-2)
    assert slope == pytest.approx(0.0726, abs=1e-4)


def test_equation_203_lacks_the_weight_of_a_point() -> None:
    """K = 1: the mean of alpha_1 - alpha_0 = 2 p - 1 over [.5, 1] is .25 of length; the grid has 50 points."""
    theta = 0.01
    grid = sum(2 * (0.5 + theta * i) - 1 for i in range(50))
    assert grid == pytest.approx(24.5)
    assert theta * grid == pytest.approx(0.245)


def test_line_6_of_algorithm_3_favours_1_at_ties() -> None:
    """K = 11, m = 4, l = 5: with half of the ties, as in (20) and Lemma 3.1, the minority's bit is the less likely."""
    above, tied = sum(comb(5, j) * comb(6, 4 - j) for j in (3, 4)), comb(5, 2) * comb(6, 2)
    printed, meant = (Fraction(above) + share * tied for share in (1, Fraction(1, 2)))
    assert float(printed / comb(11, 4)) == pytest.approx(0.6515, abs=5e-5)
    assert float(meant / comb(11, 4)) == pytest.approx(0.4242, abs=5e-5)
    assert float(1 - 2 * meant / comb(11, 4)) == pytest.approx(baselines.subsampling(11, 4)[5], abs=1e-15)


def test_corners_of_lemma_5_1_depend_on_the_delta_of_a_voter() -> None:
    """Delta = 0 and delta > 0: the eight points that the lemma names for delta > 0 are four."""
    D, e = 0.0, math.e
    high, low = (e + D) / (e + 1), (1 - D) / (e + 1)
    named = {(0.0, 0.0), (1.0, 1.0), (0.0, D), (D, 0.0), (1 - D, 1.0), (1.0, 1 - D), (high, low), (low, high)}
    assert len(named) == len(corner_points(1.0).p) == 4
    problem = darrm.MajorityProblem(3, 1, 1.0, Delta=0.0, delta=1e-3)
    assert len(darrm.linear_program(problem).A) == count_multisets(3, 4)


def test_equation_116_has_one_factor_too_many_and_122_one_too_few() -> None:
    e, step = math.exp(EPSILON), 1e-6
    rise = [2 * (H[l + 1] - H[l]) for l in range(K)]
    q = 0.2
    slope = (cost(e * (q + step), q + step) - cost(e * (q - step), q - step)) / (2 * step) / K
    second = e * sum(less(l, e * q) * rise[l] for l in range(K))
    first = [e**M * sum(less(l, q) * (1 - q) ** more * rise[l] for l in range(K)) for more in (0, 1)]
    assert second - first[0] == pytest.approx(slope, abs=1e-8)
    assert second - first[1] == pytest.approx(slope + 0.135, abs=1e-3)  # as printed, (1 - p')^(K - l)

    q = 0.15
    slope = (cost(1 - q - step, 1 - e * (q + step)) - cost(1 - q + step, 1 - e * (q - step))) / (2 * step) / K
    upper, lower = range(MIDDLE + 1, K), range(MIDDLE)
    fall = [GAMMA[l] - GAMMA[l + 1] for l in range(K)]

    def printed(factor: float, chances: bool) -> float:
        """Equation (122); with e^((m + 1) epsilon) in its second sum and binomials in its fifth it is right."""
        near, far = 1 - e * q, 1 - q
        fifth = [less(l, far) if chances else far**l * q ** (K - l - 1) for l in upper]
        return (
            e ** (M + 1) * sum(less(l, near) * fall[l] for l in lower)
            - factor * sum(less(l, near) * fall[l] for l in upper)
            + 2 * e ** (M + 1) * less(MIDDLE, near) * GAMMA[MIDDLE]
            - sum(less(l, far) * fall[l] for l in lower)
            + sum(chance * fall[l] for chance, l in zip(fifth, upper, strict=True))
            - 2 * less(MIDDLE, far) * GAMMA[MIDDLE]
        )

    assert printed(e ** (M + 1), True) == pytest.approx(slope, abs=1e-8)
    assert slope == pytest.approx(0.7005, abs=1e-4)
    assert printed(1.0, False) == pytest.approx(0.3471, abs=1e-4)


def test_equations_131_and_132_lack_a_factor() -> None:
    """Lemma B.8 brings (K + 1) p, which (133) has again: i = 2, m = 4, X of K + 1 = 7 and of 6 voters, p = .3."""
    p, i, m, size = 0.3, 2, 4, 6

    def mean(n: int, of: int, rest: int, taken: int) -> float:
        return (
            sum(
                comb(n, x) * p**x * (1 - p) ** (n - x) * comb(x, of) * comb(n - x, rest)
                for x in range(n + 1)
                if n - x >= 0
            )
            / comb(size + 1, m)
            / taken
        )

    left = mean(size + 1, i, m - i, 1)
    assert left == pytest.approx(comb(m, i) * p**i * (1 - p) ** (m - i))  # Lemma B.9
    assert mean(size, i - 1, m - i, i) * (size + 1) * p == pytest.approx(left)


def test_more_votes_are_not_strictly_better() -> None:
    """Appendix B says "strictly", and Lemma B.11 that at p = 1 all l have alpha_l = alpha_(K - l)."""
    assert priors.fixed([1.0] * 5).ones(5).tolist() == [0, 0, 0, 0, 0, 1]
    assert np.array_equal(baselines.double_subsampling(7, 1), baselines.subsampling(7, 1))
    for m in (2, 3):
        double, single = baselines.double_subsampling(7, m), baselines.subsampling(7, m)
        assert np.all(double >= single)
        for p in (0.0, 0.5, 1.0):
            assert darrm.expected_error(double, [p] * 7) == darrm.expected_error(single, [p] * 7) == 0


def test_without_its_absolute_value_the_objective_is_0() -> None:
    """(197) drops it. With the prior of Section 5, uniform on [0, 1], nothing is left to minimise."""
    chances = priors.fixed([0.5] * 11).ones(11)  # E[alpha_l] of independent p_i of mean 1/2
    assert priors.combine(chances, "tv") == pytest.approx([0.0] * 6, abs=1e-15)
    drawn = darrm.measures.sampled_error(
        {"subsampling": baselines.subsampling(11, 3)},
        priors.chances.Independent(0.0, 1.0),
        draws=2000,
        rng=np.random.default_rng(0),
    )
    assert drawn["subsampling"].low > 0.08


def test_weights_of_algorithm_5_count_points_too_often() -> None:
    """P w T / T against 1/2^K, the size of the cube: the same for all gamma, so the optimum is the same."""
    size, points = 11, 50
    P, w = comb(points + size - 1, size), Fraction(1, 2 * points) ** size * math.factorial(size)
    assert float(P * w * 2**size) == pytest.approx(2.80, abs=5e-3)


@pytest.mark.parametrize("M_drawn", [10, 13, 15, 20])
def test_the_delta_of_appendix_d_is_that_of_a_voter(M_drawn: int) -> None:
    """delta = 1 - (1 - delta)^M (1 - delta') is printed, of delta by itself: then delta is 1. Table 3 has Delta."""
    printed = {10: 0.1001, 13: 0.1001, 15: 0.1001, 20: 0.1002}[M_drawn]
    assert darrm.accounting.general(0.1, 1e-5, M_drawn, 0.1).delta == pytest.approx(printed, abs=5e-5)
    delta = 0.1
    for _ in range(100):
        delta = 1 - (1 - delta) ** M_drawn * 0.9
    assert delta == 1


def test_line_9_of_algorithm_6_gives_less_than_is_proved() -> None:
    votes, sigma, order = (220, 20, 5, 5, 0, 0, 0, 0, 0, 0), 40.0, 10.0
    q = sum(math.erfc((220 - n) / (2 * sigma)) for n in votes[1:]) / 2
    mu = sigma * math.sqrt(-math.log(q))
    first, second = (mu + 1) / sigma**2, mu / sigma**2
    B = math.exp(first) / q ** (1 / mu)

    def bound(product: float) -> float:
        A = (1 - q) / (1 - product)
        return math.log((1 - q) * A ** (order - 1) + q * B ** (order - 1)) / (order - 1)

    share = (mu - 1) / mu
    assert bound((q * math.exp(second)) ** share) == pytest.approx(2.66956e-4, abs=1e-9)
    assert darrm.accounting.gnmax_rdp(votes, sigma, order) == pytest.approx(2.66956e-4, abs=1e-9)
    assert bound(q * math.exp(second) ** share) == pytest.approx(2.18347e-4, abs=1e-9)


def test_lemma_3_2_fails_for_unequal_probabilities() -> None:
    """Two of three are sure of 1 and one of 0: the lemma says that no private noise function errs less than 1/3."""
    problem = darrm.MajorityProblem(3, 1, 0.4)
    gamma = darrm.repair([0, 1, 1, 0], problem)
    assert darrm.verify(gamma, problem).holds
    assert gamma == pytest.approx([0, 1, 1, 0], abs=1e-12)
    assert darrm.expected_error(gamma, [1, 1, 0]) < 1e-12


def test_reflecting_the_better_half_can_break_privacy() -> None:
    """gamma = .8 where 1 has less votes, 0 where it has more; then .8 on both sides; then the mean with its mirror."""
    problem = darrm.DecisionProblem([darrm.VoterGroup(3, 1.0)], 1.0)
    lopsided, reflected, mean = [0.1, 0.1, 0.5, 0.5], [0.1, 0.1, 0.9, 0.9], [0.3, 0.3, 0.7, 0.7]
    assert darrm.verify(lopsided, problem).tight_epsilon == pytest.approx(0.918, abs=1e-3)
    assert darrm.verify(reflected, problem).tight_epsilon == pytest.approx(1.207, abs=1e-3)
    assert darrm.verify(mean, problem).tight_epsilon <= 0.918

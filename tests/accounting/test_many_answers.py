"""Exact composition of releases with any number of answers: against full trees, and noisy max by it."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import islice, pairwise, permutations, product

import numpy as np
import pytest
from cases import slow

import darrm
from darrm.accounting import OutcomeRows, adaptive, compose, many_answers, noisy_max_parameter
from darrm.accounting.adaptive import Grid
from darrm.accounting.fresh import by_grid, of_region, within
from darrm.accounting.hulls import counts_region
from darrm.accounting.many_answers import of_rows
from darrm.accounting.noisy_max import rows_of
from darrm.errors import InputError
from darrm.mechanisms import ExponentialMechanism, GaussianNoisyMax, LaplaceNoisyMax, PermuteAndFlip
from darrm.numerics.arrays import Array
from darrm.problem.counts import count_vectors

Row = tuple[tuple[Fraction, ...], tuple[Fraction, ...]]


def flips(counts: tuple[int, ...], bias: Fraction) -> tuple[Fraction, ...]:
    """Permute-and-flip in exact fractions, with coins bias^(votes behind), by going through all orders."""
    top = max(counts)
    wins = [Fraction(0)] * len(counts)
    orders = list(permutations(range(len(counts))))
    for order in orders:
        left = Fraction(1, len(orders))
        for j in order:
            wins[j] += left * bias ** (top - counts[j])
            left *= 1 - bias ** (top - counts[j])
    return tuple(wins)


def all_rows(K: int, classes: int, chances: Callable[[tuple[int, ...]], tuple[Fraction, ...]]) -> list[Row]:
    """Every pair of neighbouring votes, nothing sorted and nothing left out."""
    rows = []
    for known in count_vectors(K - 1, classes).tolist():
        for c, d in product(range(classes), repeat=2):
            here, there = (tuple(n + (i == one) for i, n in enumerate(known)) for one in (c, d))
            rows.append((chances(here), chances(there)))
    return rows


def brute(rows: list[Row], queries: int, a: Fraction) -> Fraction:
    """V by its full tree of choices."""
    if not queries:
        return max(Fraction(0), 1 - a)
    best = Fraction(0)
    for P, Q in rows:
        best = max(
            best, sum((p * brute(rows, queries - 1, a * q / p) for p, q in zip(P, Q, strict=True) if p), Fraction(0))
        )
    return best


BIAS = Fraction(7, 10)
EPSILON = -2 * math.log(0.7)


@pytest.mark.parametrize("queries", [1, 2, 3])
def test_bounds_hold_the_full_tree(queries: int) -> None:
    """Three classes, three votes: all 54 ordered pairs against the rows that are kept."""
    exact = list(dict.fromkeys(all_rows(3, 3, lambda counts: flips(counts, BIAS))))
    exact = exact if queries < 3 else list({tuple(sorted(zip(P, Q, strict=True))): (P, Q) for P, Q in exact}.values())
    rows = rows_of(PermuteAndFlip(EPSILON), 3, 3)
    grid = Grid(0.002, 1500)
    upper = next(islice(adaptive.upper_bounds(rows, grid), queries - 1, None))
    sets = next(islice(adaptive.lower_bounds(rows, grid), queries - 1, None))
    for i in (0, 100, 317) if queries < 3 else (100,):
        a = Fraction(float(np.exp(grid.step * i)))
        V = float(brute(exact, queries, a))
        below = float((sets.P - float(a) * sets.Q).max())
        assert below <= V * (1 + 1e-12)
        assert upper[i] * (1 + 1e-9) >= V  # a is the float64 nearest to the grid point
        assert upper[i] <= V + 2e-5
        assert below >= V - 2e-4


@pytest.mark.parametrize("fineness", [5, 200])
def test_sums_in_blocks_are_those_at_once(fineness: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same terms in the same order, on one block of points and choices and on several."""
    rows = rows_of(PermuteAndFlip(EPSILON), 10, 3)
    grid = Grid(1 / fineness, 12 * fineness)
    in_blocks, at_once = [], []
    for choices, points, found in ((7, 50, in_blocks), (10**6, 10**6, at_once)):
        monkeypatch.setattr(adaptive, "_ROWS", choices)
        monkeypatch.setattr(adaptive, "_COLUMNS", points)
        monkeypatch.setattr(adaptive, "_AT_ONCE", choices * points)
        found += [V.copy() for V in islice(adaptive.upper_bounds(rows, grid), 4)]
    assert len(rows) > 16
    np.testing.assert_allclose(in_blocks, at_once, rtol=1e-14, atol=0)
    assert 0 < in_blocks[-1][len(in_blocks[-1]) // 3] < 1


def test_answers_that_never_come_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are filled up to the length of the longest: what is 0 is not added up."""
    rows = rows_of(PermuteAndFlip(EPSILON), 10, 3)
    counted: list[int] = []
    sums = adaptive._Sums.__init__

    def count(self: adaptive._Sums, terms: list[adaptive._Terms]) -> None:
        sums(self, terms)
        counted.append(sum(block.nnz for _, block in self.blocks))

    monkeypatch.setattr(adaptive._Sums, "__init__", count)
    wider = OutcomeRows(*(np.pad(side, ((0, 0), (0, 5))) for side in (rows.P, rows.Q)), rows.rho, rows.cut)
    grid = Grid(0.05, 200)
    shorter, longer = (next(adaptive.upper_bounds(each, grid)).copy() for each in (rows, wider))
    assert counted[0] == counted[1] <= 4 * rows.P.size  # near and far, and with D and D' exchanged
    np.testing.assert_allclose(shorter, longer, rtol=1e-14, atol=0)


@pytest.mark.thorough
def test_no_pair_of_neighbours_is_left_out() -> None:
    """Each of them, whatever its classes are called, is a row or the exchange of one."""
    for K, classes in ((3, 3), (4, 3), (3, 4), (5, 2)):
        made = rows_of(PermuteAndFlip(EPSILON), K, classes)
        pairs = [sorted(zip(P, Q, strict=True)) for P, Q in zip(made.P.tolist(), made.Q.tolist(), strict=True)]
        pairs += [sorted((q, p) for p, q in pair) for pair in pairs]
        kept = np.array(pairs)
        for P, Q in all_rows(K, classes, lambda counts: flips(counts, BIAS)):
            if P != Q:
                wanted = np.array(sorted((float(p), float(q)) for p, q in zip(P, Q, strict=True)))
                by_first = np.abs(kept - wanted).max(axis=(1, 2)).min()
                assert by_first < 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize(
    "mechanism", [GaussianNoisyMax(3.0), LaplaceNoisyMax(0.3), PermuteAndFlip(0.4), ExponentialMechanism(0.5)], ids=repr
)
@pytest.mark.parametrize("K", [4, 11])
def test_two_classes_cost_what_the_polygon_says(
    mechanism: GaussianNoisyMax | LaplaceNoisyMax | PermuteAndFlip | ExponentialMechanism, K: int
) -> None:
    ones = mechanism.kernel(K)[:, 1]
    lead = 2 * np.arange(K + 1) - K
    gamma = np.where(lead == 0, 0.0, np.abs(2 * ones - 1))
    gamma = (gamma + gamma[::-1]) / 2
    polygon = of_region(
        counts_region(gamma, darrm.MajorityProblem(K, 1, 1.0, max_affected=1)), (), 50, 1e-6, tolerance=1e-4
    )
    rows = compose(mechanism, 50, delta=1e-6, K=K, classes=2, tolerance=1e-4)
    # Each is within its bounds of the same number.
    assert rows.lower <= polygon.upper * (1 + 1e-9)
    assert polygon.lower <= rows.upper * (1 + 1e-9)
    assert rows.upper <= rows.lower * 1.002
    assert rows.upper == pytest.approx(polygon.upper, rel=5e-4)


@pytest.mark.thorough
@pytest.mark.parametrize(("classes", "low", "high"), [(2, 7.679, 7.683), *slow((3, 7.64, 7.66))])
def test_totals_of_gaussian_noise(classes: int, low: float, high: float) -> None:
    """K = 25, mu = .2, 100 labels, delta 1e-5: 7.68 and 7.65 nats, where Gaussian DP has 10.00."""
    total = compose(GaussianNoisyMax(math.sqrt(2) / 0.2), 100, delta=1e-5, K=25, classes=classes, tolerance=2e-4)
    assert low < total.lower <= total.upper < high
    assert total.bounds["own profile, any accountant"] == pytest.approx({2: 9.95, 3: 9.80}[classes], abs=0.02)
    orders = np.linspace(1.01, 30, 30_000)
    best = (100 / 50 * orders + np.log(1 - 1 / orders) - np.log(orders * 1e-5) / (orders - 1)).min()
    assert total.bounds["Renyi DP"] == pytest.approx(best, rel=1e-4)
    assert total.voters == "not private"


@pytest.mark.thorough
def test_a_fixed_pair_is_below() -> None:
    """The closest vote of two classes, the same at every label: binomial tails."""
    from scipy.stats import binom

    mechanism = PermuteAndFlip(0.4)
    x, y = mechanism.chances([[3, 2], [2, 3]])[:, 0]
    total = compose(mechanism, 60, delta=1e-5, K=5, classes=2)
    count = np.arange(61)
    for epsilon in (total.upper * 1.0001, total.lower * 0.9):
        excess = np.maximum(0, binom.pmf(count, 60, x) - math.exp(epsilon) * binom.pmf(count, 60, y)).sum()
        assert (excess <= 1e-5) == (epsilon > total.upper)


def test_what_is_cut_off_counts_at_every_label() -> None:
    rows = rows_of(PermuteAndFlip(0.5), 3, 3)
    grid = Grid(0.01, 400)
    more = OutcomeRows(rows.P, rows.Q, rows.rho, 1e-3)
    for n, (without, cut) in enumerate(
        islice(zip(adaptive.upper_bounds(rows, grid), adaptive.upper_bounds(more, grid), strict=True), 5), start=1
    ):
        gained = cut[:100] - without[:100]
        assert np.all(gained >= 0.9e-3)
        assert np.all(gained <= n * 1e-3 * 1.001)
    assert more.delta_infinity == pytest.approx(1e-3, rel=1e-6)


def test_a_relative_error_widens_on_both_sides() -> None:
    rows = rows_of(PermuteAndFlip(0.5), 3, 3)
    loose = OutcomeRows(rows.P, rows.Q, 1e-4)
    grid = Grid(0.002, 1500)
    above, plain = (next(islice(adaptive.upper_bounds(one, grid), 9, None)) for one in (loose, rows))
    here, there = (adaptive.least_epsilon(V, grid, 1e-3) for V in (plain, above))
    # Exactly P (1 + rho) and Q (1 - rho), 10 times, shift a loss by 20 rho at most.
    assert here + 5e-4 <= there <= here + 20.1e-4 + 1e-3
    sets = [next(islice(adaptive.lower_bounds(one, grid), 9, None)) for one in (rows, loose)]
    assert adaptive.most_epsilon(sets[1], 1e-3) <= adaptive.most_epsilon(sets[0], 1e-3) - 5e-4


@pytest.mark.slow
def test_more_labels_cost_more_also_beyond_one_by_one() -> None:
    rows = rows_of(GaussianNoisyMax(200.0), 3, 3)
    found = [by_grid(rows, n, 1e-5, 6) for n in (9900, 10_000, 10_001, 12_000)]
    uppers = [one[0] for one in found if one is not None]
    assert len(uppers) == 4
    assert all(before < after for before, after in pairwise(uppers))
    assert uppers[2] <= uppers[1] * 1.1


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [GaussianNoisyMax, LaplaceNoisyMax, PermuteAndFlip, ExponentialMechanism])
def test_a_budget_is_spent_and_no_more(
    kind: Callable[[float], GaussianNoisyMax | LaplaceNoisyMax | PermuteAndFlip | ExponentialMechanism],
) -> None:
    found = noisy_max_parameter(kind, 30, 3.0, 1e-6, K=5, classes=3)
    total = compose(kind(found), 30, delta=1e-6, K=5, classes=3)
    assert 0.99 * 3.0 < total.upper <= 3.0 * (1 + 1e-9)
    if kind is GaussianNoisyMax:
        orders = np.arange(2.0, 99.0)
        plain = GaussianNoisyMax(found / 0.8)  # Renyi DP needs more than this
        assert darrm.accounting.rdp_epsilon(orders, 30 * plain.rdp(orders), 1e-6) > 3.0


@pytest.mark.parametrize("classes", [2, 3])
def test_an_epsilon_that_is_too_small_contradicts_the_chances(classes: int) -> None:
    class Boasting(PermuteAndFlip):
        def chances(self, counts: object) -> Array:
            return PermuteAndFlip(2 * self.epsilon).chances(counts)

        def _chances(self, votes: Array) -> object:
            return PermuteAndFlip(2 * self.epsilon)._chances(votes)

    with pytest.raises(InputError, match=r"epsilon of Boasting must be at least (1\.99|2)\d* here: .* It states 1\."):
        compose(Boasting(1.0), 1, delta=0.0, K=5, classes=classes)


def test_a_sigma_that_is_too_large_contradicts_the_chances() -> None:
    class Quiet:
        sigma = 1000.0

        def chances(self, counts: object) -> Array:
            return PermuteAndFlip(2.0).chances(counts)  # type: ignore[arg-type]

        def _chances(self, votes: Array) -> object:
            return PermuteAndFlip(2.0)._chances(votes)  # type: ignore[arg-type]

    with pytest.raises(InputError, match=r"at least 1\.99\d*, and .* at most 0\.0\d*\. One of those"):
        compose(Quiet(), 1, delta=1e-6, K=5, classes=3)  # type: ignore[arg-type]


def test_without_epsilon_and_noise_the_error_says_that_no_grid_reaches() -> None:
    """What is cut off spends a delta of 5e-289 in all, far below the one that was passed."""

    class Silent:
        def chances(self, counts: object) -> Array:
            return PermuteAndFlip(300.0).chances(counts)  # type: ignore[arg-type]

        def _chances(self, votes: Array) -> object:
            return PermuteAndFlip(300.0)._chances(votes)  # type: ignore[arg-type]

    with pytest.raises(
        InputError, match=r"on any grid, which ends at 690 nats, and one label has no stated epsilon.*`cut`"
    ):
        compose(Silent(), 50, delta=1e-6, K=5, classes=3)  # type: ignore[arg-type]


def test_what_is_cut_off_asks_for_a_larger_delta() -> None:
    rows = OutcomeRows.of([[0.5, 0.3, 0.2]], [[0.4, 0.4, 0.2]], cut=1e-7)
    assert of_rows(rows, 10, delta=1.2e-6).upper < 3
    with pytest.raises(InputError, match=r"Bounds exist above 1\.1e-06\. Pass a larger delta"):
        of_rows(rows, 10, delta=1.05e-6)


def test_what_has_no_parameter_is_refused() -> None:
    with pytest.raises(InputError, match="kind must be GaussianNoisyMax"):
        noisy_max_parameter(float, 30, 3.0, 1e-6, K=5, classes=3)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_limit_of_two_classes_has_two_over_pi() -> None:
    """Many labels of little each: mu of the labels is sqrt(2 / pi) of that of the counts; three classes: .733."""
    from darrm.accounting.gaussian import gdp_mu

    for classes, factor in ((2, math.sqrt(2 / math.pi)), (3, math.sqrt(27 / (16 * math.pi)))):
        rows = rows_of(GaussianNoisyMax(math.sqrt(2) / 0.02), 3, classes)
        found = by_grid(rows, 10_000, 1e-5, 12)
        assert found is not None
        assert gdp_mu(found[0], 1e-5) / 2 == pytest.approx(factor, rel=0.005)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"K": 3, "classes": 3, "voters": "fresh"}, "voters does not apply to GaussianNoisyMax"),
        ({"K": 3}, "classes must be"),
        ({"classes": 3}, "K must be"),
        ({"K": 300, "classes": 20, "delta": 0.0}, r"more than 200,000 pairs .* At most 23 voters fit 20 classes"),
        ({"K": 10**7, "classes": 1000, "delta": 0.0}, r"more than 200,000 pairs .* Take fewer"),
    ],
)
def test_what_is_refused(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        compose(GaussianNoisyMax(3.0), 5, **{"delta": 1e-5, **arguments})  # type: ignore[arg-type]


def test_a_design_takes_no_number_of_voters() -> None:
    design = darrm.solve(darrm.MajorityProblem(K=3, m=1, epsilon=1.0))
    with pytest.raises(InputError, match="K and classes are for noisy max"):
        compose(design, 5, delta=1e-5, voters="fresh", K=3)


def test_a_mechanism_without_chances_of_many_votes_is_told_what_it_lacks() -> None:
    class Half:
        def chances(self, counts: object) -> None:
            """For single votes only."""

    with pytest.raises(InputError, match="other mechanisms with a method _chances"):
        compose(Half(), 5, delta=1e-5, K=3, classes=3)  # type: ignore[arg-type]


def test_rows_of_any_origin_are_checked() -> None:
    with pytest.raises(InputError, match="Every row of Q must sum to 1"):
        OutcomeRows.of([[0.5, 0.5]], [[0.5, 0.4]])
    with pytest.raises(InputError, match="rho must be"):
        OutcomeRows.of([[0.5, 0.5]], [[0.5, 0.5]], rho=0.1)


@pytest.mark.thorough
def test_finer_grids_without_gain_are_not_the_end() -> None:
    """The second and third grid of these chances are no better than the first; the fourth is."""
    total = of_rows(rows_of(PermuteAndFlip(0.8), 11, 2), 20, delta=1e-5, tolerance=1e-4)
    assert total.upper - total.lower <= 2e-4 * total.upper


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize(
    "mechanism", [GaussianNoisyMax(0.02), LaplaceNoisyMax(1e3), PermuteAndFlip(1e4), ExponentialMechanism(1e4)]
)
def test_next_to_no_noise_costs_much_and_warns_of_nothing(
    mechanism: GaussianNoisyMax | LaplaceNoisyMax | PermuteAndFlip | ExponentialMechanism,
) -> None:
    """Masses beyond float64 are meant: what is left are the bounds that need no grid."""
    total = compose(mechanism, 50, delta=1e-6, K=11, classes=2)
    assert 1000 < total.lower <= total.upper < math.inf


def test_sets_of_labels_nearly_achieve_the_excess() -> None:
    """By rows of which the better one depends on the labels so far: by either alone they do not."""
    both = np.array([[[0.5, 0.3, 0.2], [0.9, 0.1, 0.0]], [[0.3, 0.3, 0.4], [0.91, 0.0, 0.09]]])
    grid, here = Grid(0.004, 800), slice(800, 1400)  # away from the end of the grid, beyond which the set is empty
    upper = next(islice(adaptive.upper_bounds(OutcomeRows.of(*both), grid), 4, None))[:600]
    below = []
    for rows in (slice(0, 2), slice(0, 1), slice(1, 2)):
        sets = next(islice(adaptive.lower_bounds(OutcomeRows.of(*both[:, rows]), grid), 4, None))
        below.append((upper - (sets.P - np.exp(grid.logs) * sets.Q)[here]).max())
    assert 0 <= below[0] < 1e-4 < 0.05 < min(below[1:])


def test_lower_bounds_look_at_finer_grids_while_they_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The upper bound needs the third grid."""
    sizes: dict[str, list[int]] = {"_attained": [], "by_grid": []}
    for name, sides in sizes.items():
        inner = getattr(many_answers, name)
        monkeypatch.setattr(
            many_answers, name, lambda *given, inner=inner, sides=sides: sides.append(given[3]) or inner(*given)
        )
    rows = OutcomeRows.of([[0.5, 0.3, 0.2], [0.9, 0.07, 0.03]], [[0.3, 0.3, 0.4], [0.8, 0.01, 0.19]])
    total = of_rows(rows, 100, 1e-5)
    assert len(sizes["by_grid"]) == 3 > len(sizes["_attained"]) == 2
    assert total.upper - total.lower <= 1e-3 * total.upper


def test_rows_that_are_alike_are_counted_without_a_division_by_their_loss() -> None:
    assert within(OutcomeRows.of([[0.5, 0.5]], [[0.5, 0.5]]), None, 1.0, 1e-5, 5) == 0  # a bound: any number would do

"""Privacy from below: bounds that are above the truth no more often than they may be."""

import math
from itertools import product

import numpy as np
import pytest
from cases import thorough
from scipy.stats import binom, binomtest, norm

from darrm import InputError
from darrm.measures import empirical_epsilon, empirical_epsilon_of_scores
from darrm.measures.empirical import _clopper_pearson


def true_epsilon(p: list[float], q: list[float], delta: float) -> float:
    """By the definition, over all events of a few outcomes and both directions."""
    largest = 0.0
    for event in product((0, 1), repeat=len(p)):
        on, off = (sum(x for x, taken in zip(side, event, strict=True) if taken) for side in (p, q))
        for one, other in ((on, off), (off, on)):
            if one > delta and other > 0:
                largest = max(largest, math.log((one - delta) / other))
    return largest


@pytest.mark.parametrize("tail", [0.1, 0.0125, 1e-6])
@pytest.mark.parametrize("n", [1, 7, 2000])
def test_bounds_are_those_of_clopper_and_pearson(n: int, tail: float) -> None:
    for x in {0, 1, n // 3, n - 1, n}:
        low, high = _clopper_pearson(x, n, tail)
        exact = binomtest(x, n).proportion_ci(1 - 2 * tail, method="exact")
        assert (low, high) == pytest.approx((exact.low, exact.high), rel=1e-7, abs=1e-12)
        # The definition, rounded conservatively.
        assert x == 0 or binom.sf(x - 1, n, low) <= tail
        assert x == n or binom.cdf(x, n, high) <= tail


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
@pytest.mark.parametrize("sizes", [(12, 12), (30, 20)])
def test_above_the_truth_no_more_often_than_allowed(sizes: tuple[int, int], confidence: float, delta: float) -> None:
    """Exactly: every pair of counts, weighted by its probability."""
    n, n_there = sizes
    lower = np.array(
        [
            [
                empirical_epsilon([x, n - x], [y, n_there - y], delta=delta, confidence=confidence).lower
                for y in range(n_there + 1)
            ]
            for x in range(n + 1)
        ]
    )
    for p, q in product([0.02, 0.1, 0.3, 0.37, 0.5, 0.63, 0.8, 0.95], repeat=2):
        chance = np.outer(binom.pmf(range(n + 1), n, p), binom.pmf(range(n_there + 1), n_there, q))
        above = float(chance[lower > true_epsilon([p, 1 - p], [q, 1 - q], delta)].sum())
        assert above <= 1 - confidence + 1e-12


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize("confidence", [*thorough(0.5, 0.8), 0.95])
def test_the_confidence_is_used(confidence: float) -> None:
    """With one side all but known, two of the four bounds can fail, a quarter each; and they do."""
    n, known = 400, 10**13
    for p in (0.5, 0.2):
        there = [round(p * known), round((1 - p) * known)]
        above = sum(
            float(binom.pmf(x, n, p))
            for x in range(n + 1)
            if empirical_epsilon([x, n - x], there, confidence=confidence).lower > 0
        )
        assert 0.7 * (1 - confidence) / 2 <= above <= (1 - confidence) / 2 + 1e-4


def test_which_bound_it_is() -> None:
    """One count on either side: log((low - delta) / high), each bound at a quarter of 5 %."""
    low = binomtest(90, 100).proportion_ci(0.975, method="exact").low
    high = binomtest(5, 200).proportion_ci(0.975, method="exact").high
    found = empirical_epsilon([90, 10], [5, 195], delta=0.02)
    assert found.lower == pytest.approx(math.log((low - 0.02) / high), rel=1e-8)
    assert found.here == pytest.approx((0.9, low, 0.9558), abs=1e-3)
    assert found.there.high == pytest.approx(high, rel=1e-8)
    assert found.event.tolist() == [True, False]


def test_both_directions_and_both_events_count() -> None:
    counts, rare = [990, 10], [900, 100]
    found = [
        empirical_epsilon(here, there).lower
        for here, there in ((counts, rare), (rare, counts), (counts[::-1], rare[::-1]), (rare[::-1], counts[::-1]))
    ]
    assert found == pytest.approx([found[0]] * 4, rel=1e-12)
    assert found[0] > 1.3


@pytest.mark.thorough
def test_a_chosen_event_is_judged_by_other_runs() -> None:
    """Two equal distributions over many outcomes: the truth is 0, and chance alone offers events that look worse."""
    rng, outcomes, times, above = np.random.default_rng(3), 200, 400, 0
    for _ in range(times):
        here, there = rng.multinomial(2000, np.full(outcomes, 1 / outcomes), size=2)
        above += empirical_epsilon(here, there, confidence=0.8, rng=rng).lower > 0
    assert above <= binom.ppf(1 - 1e-6, times, 0.2)
    # What choosing and judging by the same runs would do.
    event = here > there
    assert empirical_epsilon(here, there, confidence=0.8, event=event).lower > 0.2


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_a_chosen_event_is_the_right_one(delta: float) -> None:
    p, q = [0.05, 0.3, 0.1, 0.25, 0.3], [0.1, 0.05, 0.3, 0.25, 0.3]
    rng, n = np.random.default_rng(4), 400_000
    truth = true_epsilon(p, q, delta)
    found = empirical_epsilon(rng.multinomial(n, p), rng.multinomial(n, q), delta=delta, rng=rng)
    assert truth - 0.05 < found.lower < truth
    wrong = np.array([False, False, False, True, True])
    assert empirical_epsilon(rng.multinomial(n, p), rng.multinomial(n, q), delta=delta, event=wrong).lower < 0.05


@pytest.mark.thorough
def test_scores_find_the_threshold() -> None:
    """Two normal distributions at a distance of mu, whose epsilon at a delta is known."""
    mu, delta, n = 1.0, 0.01, 200_000
    low, high = 0.0, 10.0
    for _ in range(60):
        epsilon = (low + high) / 2
        if norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu) > delta:
            low = epsilon
        else:
            high = epsilon
    rng = np.random.default_rng(5)
    for sign in (1, -1):
        here, there = (rng.normal(loc, size=n) for loc in (sign * mu, 0.0))
        found = empirical_epsilon_of_scores(here, there, delta=delta, rng=rng)
        assert low - 0.25 < found.lower < low
        assert found.here.mean == pytest.approx(norm.sf(found.event - sign * mu), abs=0.01)


@pytest.mark.thorough
def test_scores_of_equal_distributions() -> None:
    """At so low a confidence a threshold that is judged by the runs that chose it is wrong nearly always."""
    rng, times = np.random.default_rng(6), 300
    above = sum(
        empirical_epsilon_of_scores(*rng.normal(size=(2, 300)), confidence=0.2, rng=rng).lower > 0 for _ in range(times)
    )
    assert above <= binom.ppf(1 - 1e-6, times, 0.8)


def test_what_runs_can_show_is_limited() -> None:
    n = 1000
    found = empirical_epsilon([n, 0], [0, n]).lower
    low, high = 0.0125 ** (1 / n), 1 - 0.0125 ** (1 / n)
    assert found == pytest.approx(math.log(low / high), rel=1e-8)
    assert found == pytest.approx(math.log(n / math.log(4 / 0.05)), abs=0.01)
    assert empirical_epsilon([n, 0], [0, n], delta=0.999).lower == 0


def test_the_bound_holds_for_unequal_numbers_of_runs_and_small_ones() -> None:
    assert empirical_epsilon([1, 0], [0, 1]).lower == 0
    assert empirical_epsilon([10, 0], [0, 10_000_000]).lower > 10


@pytest.mark.parametrize(
    ("here", "there", "options", "said"),
    [
        ([1], [1], {}, "two or more"),
        ([1, 2], [1, 2, 3], {}, "same outcomes"),
        ([1, -2], [1, 2], {}, "integers"),
        ([1.5, 2], [1, 2], {}, "integers"),
        ([[1, 2]], [1, 2], {}, "integers"),
        ([[1], [2, 3]], [1, 2], {}, "integers of shape"),
        ([0, 0], [1, 2], {}, "at least one run"),
        ([1, 0, 0], [1, 1, 1], {}, "2 to 999999999 runs"),
        ([1, 2], [1, 2], {"delta": math.nan}, "delta"),
        ([1, 2], [1, 2], {"delta": 1.0}, "delta"),
        ([1, 2], [1, 2], {"confidence": math.nan}, "confidence"),
        ([1, 2], [1, 2], {"confidence": 1.0}, "confidence"),
        ([1, 2], [1, 2], {"confidence": 95}, "confidence"),
        ([1, 2], [1, 2], {"event": [True]}, "event"),
        ([1, 2], [1, 2], {"event": [1, 0]}, "event"),
    ],
)
def test_what_is_refused(here: object, there: object, options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        empirical_epsilon(here, there, **options)


@pytest.mark.parametrize("scores", [[1.0], [1.0, math.nan], [[1.0, 2.0]], ["a", "b"]])
def test_scores_that_are_refused(scores: object) -> None:
    with pytest.raises(InputError, match="here"):
        empirical_epsilon_of_scores(scores, [1.0, 2.0])
    with pytest.raises(InputError, match="there"):
        empirical_epsilon_of_scores([1.0, 2.0], scores)

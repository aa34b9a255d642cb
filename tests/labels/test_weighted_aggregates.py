"""Weighted aggregates are drawn as they say, and their label privacy is what sampling and plain integrals give."""

import itertools
import math
import time

import numpy as np
import pytest
from cases import slow, thorough
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm
from scripts import load

import darrm
from darrm.labels import (
    NoisyAggregate,
    NoisyWeightedLabelProportions,
    WeightedBagAggregates,
    local_delta,
    noisy_delta,
    noisy_local_delta,
    worst_delta,
)
from darrm.labels.centred_gaussians import log_delta, variance_changes
from darrm.labels.mechanisms.weighted_aggregates import noised_labels, standard_normals
from darrm.mechanisms.labelled_bag import column_space, residual_of
from darrm.randomness.words import NotPrivateWarning


def bag(k: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(k), rng.normal(size=(k, d - 1))])
    return X, X @ rng.normal(size=d) + rng.normal(size=k)


def moments(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    both = np.column_stack([X, y])
    return both.T @ both


def residual_sum(X: np.ndarray, y: np.ndarray) -> float:
    residual = residual_of(column_space(X), y)
    return float(residual @ residual)


def inner_hockey_stick(m: float, variance: float, factor: float, swapped: bool) -> float:
    """Of N(0, 1) from N(m, variance) or the other way round, by adding up the pieces between sign changes."""
    sign = -1 if swapped else 1
    a, b = (1 / variance - 1) / 2, -m / variance
    c = m * m / variance / 2 + math.log(variance) / 2 - sign * math.log(factor)
    roots = [root.real for root in np.roots([a, b, c]) if abs(root.imag) < 1e-12]
    ends = [-np.inf, *sorted(roots), np.inf]
    total, s = 0.0, math.sqrt(variance)
    for low, high in itertools.pairwise(ends):
        P = norm.cdf(high) - norm.cdf(low)
        Q = norm.cdf((high - m) / s) - norm.cdf((low - m) / s)
        total += max(0.0, Q - factor * P if swapped else P - factor * Q)
    return total


def plain_delta(epsilon: float, variance: float, tau: float, reverse: bool) -> float:
    """v ~ N(0, tau^2); t ~ N(0, 1) against t | v ~ N(v, variance)."""
    return quad(
        lambda z: norm.pdf(z) * inner_hockey_stick(tau * z, variance, math.exp(epsilon), reverse),
        -10,
        10,
        epsabs=1e-14,
        epsrel=1e-9,
        limit=300,
    )[0]


# ---- the mechanisms


def test_normals_from_words_are_normal() -> None:
    rng = np.random.default_rng(1)
    x = standard_normals(400_000, lambda n: rng.integers(0, 1 << 64, size=n, dtype=np.uint64))
    for t in (-3, -1, 0, 0.5, 2):
        p = norm.cdf(t)
        assert abs((x <= t).mean() - p) <= 5 * math.sqrt(p * (1 - p) / x.size)
    ends = standard_normals(2, lambda n: np.array([0, 2**64 - 1], dtype=np.uint64))
    assert ends[0] == pytest.approx(norm.ppf(2.0**-53))
    assert ends[1] == pytest.approx(-ends[0])


@pytest.mark.slow
def test_aggregates_have_the_moments_of_the_bag() -> None:
    X, y = bag(6, 3, 2)
    mechanism = WeightedBagAggregates()
    rng = np.random.default_rng(3)
    with pytest.warns(NotPrivateWarning):
        out = np.array([[*one.features, one.label] for one in (mechanism.release(X, y, rng) for _ in range(20_000))])
    wanted = moments(X, y)
    seen = out.T @ out / len(out)
    spread = np.sqrt((wanted**2 + np.outer(np.diag(wanted), np.diag(wanted))) / len(out))
    assert np.all(np.abs(seen - wanted) <= 5 * spread)
    assert mechanism.release(X, y).label != mechanism.release(X, y).label


@pytest.mark.slow
def test_noisy_sums_have_the_variance_they_should() -> None:
    y = np.array([0.0, 1.0, 3.0, -2.0])
    mechanism = NoisyWeightedLabelProportions(0.5, 0.7)
    rng = np.random.default_rng(4)
    with pytest.warns(NotPrivateWarning):
        out = [mechanism.release(y, rng) for _ in range(20_000)]
    assert {int(one.noised.sum()) for one in out} == {2}
    chosen = np.mean([one.noised for one in out], axis=0)
    assert np.all(np.abs(chosen - 0.5) <= 5 * 0.5 / math.sqrt(len(out)))
    # Given weights and S, the standardised label is standard normal.
    z = np.array([(one.label - one.weights @ y) / (0.7 * np.linalg.norm(one.weights[one.noised])) for one in out])
    assert abs(z.mean()) <= 5 / math.sqrt(len(z))
    assert abs((z**2).mean() - 1) <= 5 * math.sqrt(2 / len(z))
    assert NoisyWeightedLabelProportions(0.5, 0.7, weights="secret").release(y).weights is None


def test_a_fraction_of_the_labels() -> None:
    assert [noised_labels(10, f) for f in (1e-6, 0.1, 0.3, 0.31, 1.0)] == [1, 1, 3, 4, 10]


def test_posterior_of_bag_aggregates_is_bayes() -> None:
    X, _ = bag(5, 2, 5)
    eta = np.array([0.2, 0.5, 0.9, 0.4, 0.7])
    output = WeightedBagAggregates().release(X, np.array([1, 0, 1, 1, 0]))
    weights, vectors = [], list(itertools.product([0, 1], repeat=5))
    for y in vectors:
        prior = np.prod(np.where(np.array(y) == 1, eta, 1 - eta))
        variance = residual_sum(X, np.array(y, float))
        if variance < 1e-9:  # all equal: given for certain by the constant column, which these labels are not
            weights.append(0.0)
            continue
        at = [*output.features, output.label]
        weights.append(prior * multivariate_normal(cov=moments(X, np.array(y))).pdf(at))
    wanted = np.array(weights) @ np.array(vectors) / sum(weights)
    assert WeightedBagAggregates().posterior(eta, output, X) == pytest.approx(wanted, rel=1e-9)


def test_posterior_where_labels_are_certain() -> None:
    X, _ = bag(5, 2, 6)
    mechanism = WeightedBagAggregates()
    for label in (0, 1):
        output = mechanism.release(X, np.full(5, label))
        assert mechanism.posterior(np.full(5, 0.3), output, X).tolist() == [label] * 5


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::darrm.randomness.words.NotPrivateWarning")
@pytest.mark.parametrize(("weights", "draws"), [("released", 1500), *slow(("secret", 150))])
def test_posterior_of_noisy_sums_is_calibrated(weights: str, draws: int) -> None:
    # Over labels drawn from the prior, label minus posterior has mean 0 whatever function of the output it is times.
    rng = np.random.default_rng(7)
    eta = np.array([0.2, 0.6, 0.5, 0.9])
    mechanism = NoisyWeightedLabelProportions(0.5, 0.4, weights=weights)  # type: ignore[arg-type]
    labels = (rng.random((draws, 4)) < eta).astype(float)
    outputs = [mechanism.release(y, rng) for y in labels]
    post = np.array([mechanism.posterior(eta, output) for output in outputs])
    size = np.abs([output.label for output in outputs])[:, None]
    for weight in (1.0, post, size):
        gaps = (labels - post) * weight
        assert np.all(np.abs(gaps.mean(axis=0)) <= 5 * gaps.std(axis=0) / math.sqrt(draws))
    assert post.std(axis=0).min() > 1e-3


@pytest.mark.thorough
def test_posterior_with_secret_weights_is_bayes() -> None:
    # Two labels, one of them noised: the density by the characteristic function, which is a product.
    eta, sigma, o = np.array([0.3, 0.6]), 0.5, 0.8
    noised = np.array([True, False])
    post = NoisyWeightedLabelProportions(0.5, sigma, weights="secret").posterior(eta, NoisyAggregate(o, noised, None))
    weight = {}
    for y in itertools.product([0, 1], repeat=2):

        def phi(t: float, y: tuple[int, ...] = y) -> float:
            spread = 1 + sigma**2 * t * t
            return math.cos(t * o) * spread**-0.5 * math.exp(-t * t * y[0] / (2 * spread) - t * t * y[1] / 2) / math.pi

        # Without a label outside S this decays slowly; then one noise variate is integrated instead.
        if y[1]:
            density = quad(phi, 0, 40, limit=400)[0]
        else:
            density = quad(
                lambda g, y=y: norm.pdf(g) * norm.pdf(o / abs(y[0] + sigma * g)) / abs(y[0] + sigma * g),
                -12,
                12,
                points=[-y[0] / sigma],
                limit=400,
            )[0]
        weight[y] = float(np.prod(np.where(np.array(y) == 1, eta, 1 - eta))) * density
    wanted = [sum(value for y, value in weight.items() if y[i]) / sum(weight.values()) for i in range(2)]
    assert post == pytest.approx(wanted, rel=1e-6)


# ---- privacy of bag aggregates


@pytest.mark.parametrize(("record", "change"), [(0, 1.0), (3, -2.0), (5, 0.4)])
def test_reduction_to_two_variances(record: int, change: float) -> None:
    # Lemmas 1 and 2: generalised eigenvalues of the two covariances are 1 - down, 1, ..., 1, 1 + up.
    X, y = bag(9, 3, 8)
    other = y.copy()
    other[record] += change
    values = np.sort(np.linalg.eigvals(np.linalg.solve(moments(X, y), moments(X, other))).real)
    rho = residual_sum(X, y)
    e = float(residual_of(column_space(X), y)[record])
    h = float((column_space(X)[record] ** 2).sum())
    down, up = variance_changes(np.array([(2 * change * e + change**2) / rho]), np.array([change**2 * h / rho]))
    assert values == pytest.approx([1 - down[0], 1, 1, 1 + up[0]], rel=1e-9)
    # and the residual sum of squares of the changed labels is that of Lemma 1
    assert residual_sum(X, other) == pytest.approx(rho + 2 * change * e + change**2 * (1 - h))
    assert residual_sum(X, other) / rho == pytest.approx(float((1 - down[0]) * (1 + up[0])))


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize(("variance", "tau"), [(1.3, 0.4), (0.5, 0.7), (4.0, 0.02), (1.0, 0.05)])
def test_delta_is_the_plain_integral(epsilon: float, variance: float, tau: float) -> None:
    down, up = variance_changes(np.array([variance - 1 + tau**2]), np.array([tau**2]))
    for reverse in (False, True):
        high, low = (math.exp(log_delta(epsilon, down, up, reverse, side)[0]) for side in (True, False))
        assert low <= high <= low * (1 + 1e-9) + 1e-11
        assert high == pytest.approx(plain_delta(epsilon, variance, tau, reverse), rel=1e-7, abs=1e-10)


@pytest.mark.thorough
def test_delta_against_sampling() -> None:
    X, y = bag(12, 3, 9)
    record, change, epsilon, n = 4, 2.5, 0.5, 400_000
    other = y.copy()
    other[record] += change
    figure = local_delta(epsilon, X, y, record, change)
    rng = np.random.default_rng(10)
    laws = [multivariate_normal(cov=moments(X, labels)) for labels in (y, other)]
    for p, q, value in ((laws[0], laws[1], figure.forward), (laws[1], laws[0], figure.reverse)):
        x = p.rvs(n, random_state=rng)
        gain = np.maximum(-np.expm1(epsilon + q.logpdf(x) - p.logpdf(x)), 0)
        assert abs(gain.mean() - value) <= 5 * gain.std() / math.sqrt(n)
    assert figure.private
    assert figure.delta == max(figure.forward, figure.reverse) > 0.05
    assert figure.error < 1e-9


@pytest.mark.thorough
def test_directions_differ() -> None:
    # A bag of 20 whose residual sum of squares grows from 2 to 4.95: nearly free to leave, dear to enter.
    X, y = np.ones((20, 1)), np.zeros(20)
    y[:2] = 1, -1
    figure = local_delta(0.5, X, y, 0, 1.0)
    assert figure.forward < 5e-5 < 0.13 < figure.reverse
    for value, reverse in ((figure.forward, False), (figure.reverse, True)):
        assert value == pytest.approx(plain_delta(0.5, 4.95 / 2, math.sqrt(0.05 / 2), reverse), rel=1e-6)
    other = y.copy()
    other[0] += 1
    back = local_delta(0.5, X, other, 0, -1.0)
    assert (back.forward, back.reverse) == pytest.approx((figure.reverse, figure.forward), rel=1e-6)


def test_tails_and_tiny_changes() -> None:
    X, y = bag(40, 3, 11)
    assert 0 <= local_delta(1.0, X, y, 0, 1e-9).delta < 1e-300
    assert local_delta(1e-6, X, y, 0, 1e-6).delta < 1e-5
    # One variance doubled: the law of log10 delta far out is that of a chi-squared tail.
    value = log_delta(200.0, np.array([0.0]), np.array([1.0]), reverse=True)[0]
    t = 400 + math.log(2)
    wanted = math.log(
        quad(lambda x: math.exp(-x / 2) * (1 - math.exp(-x / 2)) / math.sqrt(2 * math.pi * (x + t)), 0, 200)[0]
    )
    assert value == pytest.approx(wanted - t / 2, rel=1e-9)


def test_no_privacy_without_residual() -> None:
    X, y = bag(6, 2, 12)
    assert local_delta(1.0, X[:2], y[:2], 0, 1.0)[:2] == (1.0, 1.0)  # k <= d
    assert local_delta(1.0, X, np.full(6, 0.7), 2, 0.1)[:2] == (1.0, 1.0)  # homogeneous, with an intercept
    assert local_delta(1.0, X, X @ [1.0, 2.0], 2, 0.1)[:2] == (1.0, 1.0)  # linear
    almost = np.full(6, 0.7)
    almost[2] += 0.1
    assert local_delta(1.0, X, almost, 2, -0.1)[:2] == (1.0, 1.0)  # linear after the change
    # columns that repeat each other do no harm
    assert local_delta(1.0, np.column_stack([X, X]), y, 0, 1.0) == pytest.approx(local_delta(1.0, X, y, 0, 1.0))


# ---- the worst case


@pytest.mark.parametrize("reverse", [False, True])
def test_delta_rises_with_both_variance_changes(reverse: bool) -> None:
    # Lemma 4.
    grid = np.array([0.0, 1e-6, 0.01, 0.1, 0.3, 0.6, 0.9])
    for epsilon in (0.01, 0.7, 3.0):
        table = np.array([log_delta(epsilon, grid, np.full(7, up), reverse) for up in (0, 1e-6, 0.1, 1, 4, 30)])
        finite = np.maximum(table, -700)
        slack = 2e-10 + 1e-10 * np.exp(-finite[:, 1:])
        assert np.all(np.diff(finite, axis=1) >= -slack)
        assert np.all(np.diff(finite, axis=0) >= -2e-10 - 1e-10 * np.exp(-finite[1:]))


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(4, 12),
    d=st.integers(1, 3),
    epsilon=st.floats(0.01, 3),
    corner=st.booleans(),
)
def test_no_bag_is_worse_than_the_worst(seed: int, k: int, d: int, epsilon: float, corner: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(k, d))
    y = rng.integers(0, 2, size=k).astype(float) if corner else rng.random(k)
    record = int(rng.integers(k))
    change = (1 - 2 * round(y[record])) * (1.0 if corner else rng.random() / 2)
    other = y.copy()
    other[record] += change
    floor = min(residual_sum(X, y), residual_sum(X, other))
    if floor < 1e-6 or change == 0:
        return
    found = local_delta(epsilon, X, y, record, change).delta
    # A label range of less than the guaranteed one and a floor a hair lower: rounding of the sums is not the question.
    by_features = worst_delta(epsilon, floor * (1 - 1e-9), (0, 1), X=X)
    by_leverage = worst_delta(
        epsilon, floor * (1 - 1e-9), (0, 1), leverage=float((column_space(X) ** 2).sum(axis=1).max())
    )
    assert found <= by_features.upper <= by_leverage.upper * 1.021
    for worst in (by_features, by_leverage):
        assert worst.lower <= worst.upper <= worst.lower * 1.021 + 5e-324


@pytest.mark.parametrize(
    ("epsilon", "floor", "leverage"),
    [(0.5, 2.3754715949685385, 0.0), (1e-13, 1e20, 0.5), (30, 1e-40, 0.3), (600.0, 1.0, 0.5), (1.0, 1e-30, 1.0)],
)
def test_the_search_ends_at_the_ends_of_its_range(epsilon: float, floor: float, leverage: float) -> None:
    worst = worst_delta(epsilon, floor, (0, 1), leverage=leverage)
    assert 0 < worst.lower <= worst.upper <= min(1.0, 1.021 * worst.lower)


def test_worst_delta_rises_with_what_is_allowed() -> None:
    def upper(floor: float = 2.0, width: float = 1.0, leverage: float = 0.2) -> float:
        return worst_delta(0.5, floor, (0, width), leverage=leverage).upper

    # Steps large enough to be seen through the 2% of the search.
    assert upper(floor=4.0) < upper() < upper(floor=1.0)
    assert upper(width=0.5) < upper() < upper(width=2.0)
    assert upper(leverage=0.0) <= upper(leverage=0.5) * 1.021


def test_the_worst_is_attained() -> None:
    # Theorem 5: a bag with the leverage, the floor and the ratio that the search names.
    epsilon, h, floor = 0.5, 0.2, 2.0
    worst = worst_delta(epsilon, floor, (0, 1), leverage=h)
    shift_in_s = math.sqrt(worst.ratio) - 1
    leverage = min(h, 1 - shift_in_s**2 * floor)
    e = (floor * (worst.ratio - 1) - (1 - leverage)) / 2
    k = 40
    x = np.full(k, math.sqrt((1 - leverage) / (k - 1)))
    x[0] = math.sqrt(leverage)
    # e_0 = e; the rest of the residual is orthogonal to x and to the first record.
    ahead = np.eye(k)[0] - x * x[0]
    r = e * ahead / (1 - leverage)
    rest = np.zeros(k)
    rest[1:3] = 1, -1
    r += rest * math.sqrt(max(0.0, floor - r @ r) / 2)
    figure = local_delta(epsilon, x[:, None], r, 0, 1.0)
    assert worst.lower * (1 - 1e-6) <= figure.delta <= worst.upper


@pytest.mark.parametrize("h", [0.2, 0.5, 0.8])
def test_a_residual_that_only_changes_its_sign(h: float) -> None:
    """The largest change that leaves the residual sum of squares as it was: 2 rho / sqrt(1 - h)."""
    k, rho = 12, 1.3
    x = np.full(k, math.sqrt((1 - h) / (k - 1)))
    x[0] = math.sqrt(h)
    y = rho * (np.eye(k)[0] - x * x[0]) / math.sqrt(1 - h)
    change = -2 * rho / math.sqrt(1 - h)
    moved = y + change * np.eye(k)[0]
    assert residual_sum(x[:, None], moved) == pytest.approx(rho**2) == pytest.approx(residual_sum(x[:, None], y))
    worst = worst_delta(
        0.5, rho**2 * (1 - 1e-9), (-50, 50), leverage=h, largest_residual=rho * math.sqrt(1 - h) * (1 + 1e-9)
    )
    assert 0.05 < local_delta(0.5, x[:, None], y, 0, change).delta <= worst.upper < 1


def test_worst_delta_falls_with_the_size_of_the_bag() -> None:
    # The floor grows with k, the leverage falls. With leverages alone log delta falls like sqrt(k), with X like k.
    sizes = np.array([100, 400, 1600, 6400, 25600])
    logs = [math.log(worst_delta(1.0, k / 10, (0, 1), leverage=5 / k).upper) for k in sizes.tolist()]
    slopes = np.diff(logs) / np.diff(np.sqrt(sizes))
    limit = -math.sqrt(0.1) / 2  # -epsilon sqrt(floor / k) / (2 C)
    assert np.all(np.abs(slopes - limit) < 0.1)
    assert np.all(np.diff(np.abs(slopes - limit)) < 0)
    sizes = np.array([50, 100, 200, 400])
    logs = [
        math.log(worst_delta(1.0, k / 10, (0, 1), X=np.column_stack([np.ones(k), np.tile([1.0, -1.0], k // 2)])).upper)
        for k in sizes.tolist()
    ]
    slopes = np.diff(logs) / np.diff(sizes)
    # Here k (up - down) tends to 10 and k^2 up down to 20, and log delta to -epsilon / up.
    limit = -2 / (10 + math.sqrt(10**2 + 4 * 20))
    assert np.all(np.diff(np.abs(slopes - limit)) < 0)
    assert slopes[-1] == pytest.approx(limit, rel=0.1)


# ---- noisy weighted label proportions


def gaussian_delta(epsilon: float, mu: np.ndarray) -> np.ndarray:
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@pytest.mark.thorough
@pytest.mark.first(2)
@pytest.mark.parametrize(("k", "fraction"), [(10, 0.5), (3, 0.3), (6, 1.0), (1, 1.0), (7, 0.2)])
def test_released_weights_against_sampling(k: int, fraction: float) -> None:
    q, n = noised_labels(k, fraction), 300_000
    w = np.random.default_rng(13).normal(size=(n, k))
    noise = 0.8 * np.linalg.norm(w[:, :q], axis=1)
    values = q / k * gaussian_delta(0.7, 2 * np.abs(w[:, 0]) / noise)
    if q < k:
        values += (1 - q / k) * gaussian_delta(0.7, 2 * np.abs(w[:, -1]) / noise)
    wanted = noisy_delta(0.7, k, fraction, 0.8, (-1, 1))
    # `noisy_delta` is raised by a millionth.
    assert abs(values.mean() - wanted / (1 + 1e-6)) <= 5 * values.std() / math.sqrt(n) + 1e-8


def test_released_weights_against_a_plain_integral() -> None:
    # k = q = 3: the squared share of one weight is Beta(1/2, 1).
    share = quad(lambda u: gaussian_delta(1.0, np.array(u)), 0, 1, epsabs=1e-13)[0]
    found = noisy_delta(1.0, 3, 1.0, 1.0, (0, 1))
    assert share < found
    assert found == pytest.approx(share * (1 + 1e-6), rel=1e-8)


def test_noisy_delta_falls_like_the_root_of_k() -> None:
    sizes = np.array([400, 1600, 6400, 25600, 102400])
    logs = np.log([noisy_delta(1.0, int(k), 0.5, 1.0, (0, 1)) for k in sizes])
    slopes = np.diff(logs) / np.diff(np.sqrt(sizes / 2))
    assert np.all(np.abs(slopes + 1) < 0.2)
    assert np.all(np.diff(np.abs(slopes + 1)) < 0)  # tends to -epsilon sigma / C = -1


def within(a: float, y: np.ndarray, noised: np.ndarray, sigma: float) -> float:
    """Pr[|o| <= a] by inverting the characteristic function, which is a product over the records."""

    def phi(t: float) -> float:
        spread = np.where(noised, 1 + sigma**2 * t * t, 1.0)
        return float(np.prod(spread**-0.5 * np.exp(-t * t * y**2 / (2 * spread))))

    return 2 / math.pi * quad(lambda t: math.sin(t * a) / t * phi(t), 0, 60, limit=2000, epsabs=1e-12)[0]


@pytest.mark.thorough
@pytest.mark.parametrize("record", [*slow(0), 5])
def test_secret_weights_against_another_inversion(record: int) -> None:
    y, sigma, change, epsilon = np.array([0.3, 1, 0, 1, 0, 0.2]), 0.6, 1.7, 0.05
    noised = np.array([True, True, True, True, False, False])
    other = y.copy()
    other[record] += change
    figure = noisy_local_delta(epsilon, y, noised, record, change, sigma)
    grid = np.linspace(0.05, 12, 240)
    p = np.array([within(a, y, noised, sigma) for a in grid])
    q = np.array([within(a, other, noised, sigma) for a in grid])
    factor = math.exp(epsilon)
    forward = max((p - factor * q).max(), ((1 - p) - factor * (1 - q)).max())
    reverse = max((q - factor * p).max(), ((1 - q) - factor * (1 - p)).max())
    assert figure.forward == pytest.approx(forward, rel=2e-3)
    assert figure.reverse == pytest.approx(reverse, rel=2e-3)
    assert figure.forward >= forward - 1e-8
    assert figure.reverse >= reverse - 1e-8
    assert min(forward, reverse) > 0.05


@pytest.mark.slow
def test_secret_weights_are_never_worse_than_released_ones() -> None:
    rng = np.random.default_rng(14)
    for k in (2, 5, 12):
        q = noised_labels(k, 0.6)
        for _ in range(2):
            y, record = rng.random(k).round(), int(rng.integers(k))
            change = 1 - 2 * y[record]
            noised = np.zeros(k, dtype=bool)
            inside = []
            for chosen in (True, False):
                noised[:] = False
                noised[record] = chosen
                others = rng.permutation(np.delete(np.arange(k), record))[: q - chosen]
                noised[others] = True
                if (not chosen and q == k) or noised.sum() < 2:
                    continue
                inside.append(
                    (q / k if chosen else 1 - q / k) * noisy_local_delta(0.3, y, noised, record, change, 1.0).delta
                )
            assert sum(inside) <= noisy_delta(0.3, k, 0.6, 1.0, (0, 1))


@pytest.mark.thorough
def test_without_noise_there_is_none() -> None:
    # Secret weights: N(0, 0) against N(0, c^2). As sigma vanishes, all-zero labels are given away.
    noised = np.array([True, True, False, False])
    values = [noisy_local_delta(1.0, np.zeros(4), noised, 3, 1.0, sigma).delta for sigma in (1.0, 0.1, 0.01, 1e-4)]
    assert values[0] < 1e-12
    assert np.all(np.diff(values) > 0)
    assert values[-1] > 0.999
    assert noisy_delta(1.0, 4, 0.5, 1e-5, (0, 1)) > 0.999


# ---- bad input


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[1, 2]], [1, 2]),
        ([1, 2], [1, 2]),
        ([[1], [2]], [[1], [2]]),
        ([[1], [float("nan")]], [1, 2]),
        ([[1], [2]], [1, float("inf")]),
        ("ab", [1, 2]),
        ([], []),
        ([[1], [2]], None),
    ],
)
def test_bags_that_are_none(X: object, y: object) -> None:
    for call in (WeightedBagAggregates().release, lambda X, y: local_delta(1.0, X, y, 0, 1.0)):
        with pytest.raises(darrm.InputError, match="must"):
            call(X, y)  # type: ignore[operator]


def test_numbers_that_are_none() -> None:
    X, y = bag(6, 2, 15)
    nan = float("nan")
    for epsilon in (0, -1, nan, math.inf, "1"):
        for call in (
            lambda e: local_delta(e, X, y, 0, 1.0),
            lambda e: worst_delta(e, 1.0, (0, 1), X=X),
            lambda e: noisy_delta(e, 5, 0.5, 1.0, (0, 1)),
            lambda e: noisy_local_delta(e, y, np.ones(6, bool), 0, 1.0, 1.0),
        ):
            with pytest.raises(darrm.InputError, match="epsilon"):
                call(epsilon)
    for record in (-1, 6, 1.5, True, None):
        with pytest.raises(darrm.InputError, match="record"):
            local_delta(1.0, X, y, record, 1.0)  # type: ignore[arg-type]
    for change in (0, nan, math.inf, "1", None):
        with pytest.raises(darrm.InputError, match="change"):
            local_delta(1.0, X, y, 0, change)  # type: ignore[arg-type]
    for fraction in (0, -0.1, 1.01, nan, "1"):
        with pytest.raises(darrm.InputError, match="fraction"):
            NoisyWeightedLabelProportions(fraction, 1.0)  # type: ignore[arg-type]
        with pytest.raises(darrm.InputError, match="fraction"):
            noisy_delta(1.0, 5, fraction, 1.0, (0, 1))  # type: ignore[arg-type]
    for sigma in (0, -1, nan, math.inf):
        with pytest.raises(darrm.InputError, match="sigma"):
            NoisyWeightedLabelProportions(0.5, sigma)
        with pytest.raises(darrm.InputError, match="sigma"):
            noisy_delta(1.0, 5, 0.5, sigma, (0, 1))
    for k in (0, 2.5, True, 10**9):
        with pytest.raises(darrm.InputError, match="k must"):
            noisy_delta(1.0, k, 0.5, 1.0, (0, 1))  # type: ignore[arg-type]
    for label_range in ((1, 0), (0, nan), (0, 0), 3, (0, 1, 2), "ab"):
        with pytest.raises(darrm.InputError, match="label_range"):
            worst_delta(1.0, 1.0, label_range, leverage=0.5)  # type: ignore[arg-type]
    for floor in (0, -1, nan):
        with pytest.raises(darrm.InputError, match="residual_floor"):
            worst_delta(1.0, floor, (0, 1), leverage=0.5)
    for leverage in (-0.1, 1.1, nan, "1"):
        with pytest.raises(darrm.InputError, match="leverage"):
            worst_delta(1.0, 1.0, (0, 1), leverage=leverage)  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match="either X"):
        worst_delta(1.0, 1.0, (0, 1))
    with pytest.raises(darrm.InputError, match="fits every label"):
        worst_delta(1.0, 1.0, (0, 1), X=np.eye(3))
    with pytest.raises(darrm.InputError, match="weights"):
        NoisyWeightedLabelProportions(0.5, 1.0, weights="hidden")  # type: ignore[arg-type]
    for noised in ([True], np.zeros(6, bool), np.ones(6)):
        with pytest.raises(darrm.InputError, match="noised"):
            noisy_local_delta(1.0, y, noised, 0, 1.0, 1.0)
    with pytest.raises(darrm.InputError, match="two noised"):
        noisy_local_delta(1.0, y, np.eye(6, dtype=bool)[0], 1, 1.0, 1.0)


def test_posteriors_that_are_none() -> None:
    X, _ = bag(21, 2, 16)
    y = np.tile([0, 1, 1], 7)
    mechanism = WeightedBagAggregates()
    output = mechanism.release(X, y)
    with pytest.raises(darrm.InputError, match="2\\^k"):
        mechanism.posterior(np.full(21, 0.5), output, X)
    with pytest.raises(darrm.InputError, match="eta"):
        mechanism.posterior(np.full(20, 0.5), output, X)
    with pytest.raises(darrm.InputError, match="eta"):
        mechanism.posterior(np.full(21, 1.5), output, X)
    with pytest.raises(darrm.InputError, match="an aggregate of X"):
        mechanism.posterior(np.full(21, 0.5), output, X[:, :1])
    with pytest.raises(darrm.InputError, match=r"output\.label"):
        mechanism.posterior(np.full(4, 0.5), output._replace(label=float("nan")), X[:4])
    small = mechanism.release(X[:4], [1, 1, 1, 1])
    with pytest.raises(darrm.InputError, match="impossible"):
        mechanism.posterior(np.zeros(4), small, X[:4])
    noisy = NoisyWeightedLabelProportions(0.5, 1.0)
    with pytest.raises(darrm.InputError, match="2\\^k"):
        noisy.posterior(np.full(21, 0.5), noisy.release(y))
    with pytest.raises(darrm.InputError, match="one shape"):
        noisy.posterior(np.full(4, 0.5), noisy.release(y[:4])._replace(weights=np.ones(3)))


TRUE_NOISY = [  # by 40-digit quadrature in log tan
    ((1, 10, 0.1, 100), 3.484e-3),
    ((1, 10, 0.1, 1000), 3.48e-4),
    ((1, 10, 0.1, 1e5), 3.48e-6),
    ((10, 20, 0.5, 100), 2.2e-27),
]


@pytest.mark.parametrize(("arguments", "wanted"), TRUE_NOISY)
def test_noisy_delta_where_one_weight_is_much_larger(arguments: tuple[float, int, float, float], wanted: float) -> None:
    epsilon, k, fraction, sigma = arguments
    assert noisy_delta(epsilon, k, fraction, sigma, (0, 1)) == pytest.approx(wanted, rel=2e-2)


def test_noise_beyond_the_panels_of_the_quadrature_counts() -> None:
    """One noised label: its share a of the angle is uniform, so delta tends to (2 / pi) int G(m) dm / (m^2 sigma)."""
    far = quad(lambda m: float(gaussian_delta(1.0, np.array(m))) / m**2, 0.05, 40, limit=200)[0]
    far += quad(lambda m: 1 / m**2, 40, math.inf)[0]
    for sigma in (1e14, 1e15, 1e16, 1e20):
        assert noisy_delta(1.0, 10, 0.1, sigma, (0, 1)) >= 0.9 * 2 / math.pi * far / sigma


@pytest.mark.thorough
@pytest.mark.parametrize("sigma", [0.01, 1.0, 30.0, 1e4])
@pytest.mark.parametrize(("k", "fraction"), [(1, 1.0), (2, 0.5), (3, 0.5), (10, 0.3), (50, 1.0)])
@pytest.mark.parametrize("epsilon", [0.1, 3.0, 30.0])
def test_noisy_delta_is_not_below_quadrature_in_the_logarithm(
    epsilon: float, k: int, fraction: float, sigma: float
) -> None:
    from scipy.special import betaln, log_ndtr

    q = math.ceil(fraction * k)
    # x = log of the ratio w_j^2 / sum in S, for j in S and for j outside, on a fine grid: midpoints of 4e5 cells.
    x = np.linspace(-300, 60, 400_001)
    x = (x[1:] + x[:-1]) / 2
    ratio = np.exp(x)

    def G(mu: np.ndarray) -> np.ndarray:
        first = log_ndtr(mu / 2 - epsilon / mu)
        with np.errstate(invalid="ignore"):
            value = np.exp(first) * -np.expm1(np.minimum(0, epsilon + log_ndtr(-mu / 2 - epsilon / mu) - first))
        return np.where(np.isfinite(first), value, 0.0)

    step = x[1] - x[0]
    if q == 1:
        within = float(G(np.array([1 / sigma]))[0])
    else:
        angle = (np.arange(400_000) + 0.5) * (math.pi / 800_000)
        weight = np.cos(angle) ** (q - 2)
        within = float((G(np.sin(angle) / sigma) * weight).sum() / weight.sum())
    # chi^2_1 / chi^2_q, a beta prime law, in the logarithm
    log_pdf = x / 2 - (q + 1) / 2 * np.log1p(ratio) - betaln(0.5, q / 2)
    outside = float((G(np.sqrt(ratio) / sigma) * np.exp(log_pdf)).sum() * step)
    truth = (q * within + (k - q) * outside) / k
    found = noisy_delta(epsilon, k, fraction, sigma, (0, 1))
    assert found >= truth * (1 - 2e-4)
    assert found <= truth * (1 + 5e-3) + 1e-13


def test_columns_of_any_size_count() -> None:
    k = 20
    one = np.eye(k)[0]
    for big in (1.0, 1e16, 1e250, 1e-250):
        X = np.column_stack([np.full(k, big), one])
        assert worst_delta(1.0, 2.0, (0, 1), X=X).upper == pytest.approx(0.0550, abs=5e-4)
        labels = np.arange(k) % 2 * 1.0
        sure = local_delta(1.0, np.column_stack([np.full(k, big), labels]), labels, 0, 0.5)
        assert (sure.forward, sure.reverse) == (1.0, 1.0)
    stamps = 1.7e18 + 1e17 * np.random.default_rng(2).random(k)
    flat = local_delta(1.0, np.column_stack([np.ones(k), stamps]), np.ones(k), 0, -1.0)
    assert flat.delta == 1.0


def test_an_offset_of_the_labels_does_not_lower_delta() -> None:
    rng = np.random.default_rng(4)
    X = np.column_stack([np.ones(30), rng.normal(size=30)])
    noise = rng.normal(size=30)
    plain = local_delta(1.0, X, noise, 3, 0.5)
    moved = local_delta(1.0, X, 1e8 * (1 + X[:, 1]) + noise, 3, 0.5)
    assert moved.forward >= plain.forward * (1 - 1e-6)
    assert moved.reverse >= plain.reverse * (1 - 1e-6)
    assert moved.forward - moved.error <= plain.forward * (1 + 1e-4)


@pytest.mark.parametrize(
    "call",
    [
        lambda: worst_delta(1.0, 1.0, (-1.7e308, 1.7e308), leverage=0.5),
        lambda: worst_delta(1.0, 1e-310, (0, 1), leverage=0.5),
        lambda: worst_delta(1.0, 1.0, (0, 1e155), leverage=0.5),
        lambda: worst_delta(1e300, 1.0, (0, 1), leverage=0.5),
        lambda: local_delta(1e300, np.ones((3, 1)), [0, 1, 2], 0, 1.0),
        lambda: noisy_delta(700.0, 3, 0.5, 1.0, (0, 1)),
        lambda: noisy_local_delta(800.0, [1, 0, 0], np.array([False, True, True]), 0, -1.0, 1.0),
        lambda: noisy_local_delta(1.0, [1e5, 0, 0], np.array([True, True, True]), 0, -1.0, 1e-3),
    ],
)
def test_beyond_the_range_is_one_line(call: object) -> None:
    with pytest.raises(darrm.InputError):
        call()  # type: ignore[operator]


def test_a_search_that_finds_nothing_ends() -> None:
    start = time.perf_counter()
    assert worst_delta(1.0, 1e20, (0, 1e-5), leverage=0.0).upper <= 1e-300
    assert time.perf_counter() - start < 5


@pytest.mark.thorough
def test_secret_weights_with_hardly_any_noise() -> None:
    # The threshold that tells the two apart is far from the scale of the first law.
    found = noisy_local_delta(10.0, [1, 0, 0], np.array([False, True, True]), 0, -1.0, 1e-8)
    assert found.reverse >= 0.9983


def test_upper_and_lower_quadrature_are_apart_and_on_their_sides() -> None:
    from darrm.labels.centred_gaussians import log_delta

    down, up = np.array([0.3, 0.01, 0.9, 0.0]), np.array([0.5, 2.0, 0.1, 0.7])
    for epsilon in (0.2, 1.0, 5.0):
        for reverse in (False, True):
            low = log_delta(epsilon, down, up, reverse, upper=False)
            high = log_delta(epsilon, down, up, reverse, upper=True)
            assert np.all(low < high)
    # Where one variance all but vanishes the upper bound must not rest on the clipped one.
    assert log_delta(0.5, np.array([1.0 - 2.0**-54]), np.array([0.1]), upper=True)[0] == 0.0


@pytest.mark.parametrize("variance", [2.0, 4.0, 100.0])
def test_one_larger_variance_is_bounded_from_both_sides(variance: float) -> None:
    """The narrow from the wide one: delta is that of the event abs(x) < a, by the error function."""
    for epsilon in (0.01, 0.1, 0.3):
        a = math.sqrt((math.log(variance) - 2 * epsilon) / (1 - 1 / variance))
        exact = math.erf(a / math.sqrt(2)) - math.exp(epsilon) * math.erf(a / math.sqrt(2 * variance))
        low, high = (
            math.exp(log_delta(epsilon, np.zeros(1), np.array([variance - 1]), upper=side)[0]) for side in (False, True)
        )
        assert exact * (1 - 1e-9) <= low <= exact - 2e-13 < exact + 2e-13 <= high <= exact * (1 + 1e-9)


def test_sums_without_weights_tell_neighbours_apart() -> None:
    # Naive aggregates of bags: the outputs are certain, and differ in the label.
    X, y = bag(9, 3, 17)
    labels = np.round(y)
    for record, change in ((0, 1.0), (8, -2.0)):
        other = labels.copy()
        other[record] += change
        here, there = (np.append(X.sum(axis=0), z.sum()) for z in (labels, other))
        assert np.array_equal(here[:-1], there[:-1])
        assert there[-1] - here[-1] == change
    # Noise of standard deviation t on the sum hides the label no more as t vanishes.
    deltas = [gaussian_delta(5.0, np.array([1.0 / t])) for t in (1.0, 0.1, 0.01)]
    assert deltas[0] < 0.01 < 0.99 < deltas[1] <= deltas[2]


# ---- what least squares on aggregates loses: Propositions 13 and 14


def aggregated_loss(moment: np.ndarray, m: int, rng: np.random.Generator) -> tuple[np.ndarray, float, float]:
    """Moments of m aggregates of bags that are alike, the loss of what they teach, and the least loss."""
    d = len(moment) - 1
    rows = rng.multivariate_normal(np.zeros(d + 1), moment, size=m)
    r = np.append(-np.linalg.lstsq(rows[:, :d], rows[:, d])[0], 1.0)
    least = moment[d, d] - moment[d, :d] @ np.linalg.solve(moment[:d, :d], moment[:d, d])
    return rows.T @ rows / m, float(r @ moment @ r), float(least)


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize(("d", "m"), [(1, 5), (5, 20), *thorough((3, 8), (5, 40))])
def test_the_loss_of_like_bags_has_its_law(d: int, m: int) -> None:
    from scipy.stats import f, kstest

    rng = np.random.default_rng(d * m)
    moment = moments(*bag(30, d + 1, 18)) if d > 1 else np.array([[2.0, 1.0], [1.0, 3.0]])
    moment = moment[-d - 1 :, -d - 1 :]
    excess = []
    for _ in range(3000):
        _, loss, least = aggregated_loss(moment, m, rng)
        excess.append(loss / least - 1)
    # chi^2_d / chi^2_(m - d + 1)
    law = f(d, m - d + 1, scale=d / (m - d + 1))
    assert law.mean() == pytest.approx(d / (m - d - 1))
    assert kstest(excess, law.cdf).pvalue > 1e-3
    for theta in (0.2, 1.0, 5.0):
        assert law.sf(theta) <= 2 ** (d / 2) * (1 + theta / 2) ** (-(m - d + 1) / 2)


@pytest.mark.thorough
def test_all_losses_at_once() -> None:
    # Both propositions are about the singular values of the aggregates' moments in units of the records'.
    rng = np.random.default_rng(19)
    d, m, draws = 2, 60, 400
    X, y = bag(m * 20, d, 20)
    parts = [np.column_stack([X, y])[part] for part in np.arange(m * 20).reshape(m, 20)]
    each = np.array([part.T @ part for part in parts])
    scale = np.linalg.inv(np.linalg.cholesky(each.mean(axis=0)))
    largest = max(float(np.linalg.eigvalsh(scale @ one @ scale.T)[-1]) for one in each)
    factors = np.array([scale @ np.linalg.cholesky(one) for one in each])
    for t in (0.5, 1.0, 2.0):
        a = (math.sqrt(d + 1) + t) / math.sqrt(m)
        x = math.log(2 * 9 ** (d + 1)) + t
        theta = 4 * math.sqrt(largest * x / m) + 4 * largest * x / m
        like = other = 0
        for _ in range(draws):
            h = rng.normal(size=(m, d + 1))
            values = np.linalg.eigvalsh(h.T @ h / m)
            like += values[0] < (1 - a) ** 2 or values[-1] > (1 + a) ** 2
            g = np.einsum("bij,bj->bi", factors, h)
            other += float(np.abs(np.linalg.eigvalsh(g.T @ g / m) - 1).max()) > theta
        assert like / draws <= min(1.0, 2 * math.exp(-t * t / 2))
        assert other / draws <= math.exp(-t)
    assert 1 <= largest < 5


@pytest.mark.slow
def test_the_noise_in_a_squared_aggregate() -> None:
    # E (o - sum of w_i f(x_i))^2 = sum of (y_i - f(x_i))^2 + sigma^2 q for any function f.
    rng = np.random.default_rng(21)
    y, values, sigma = rng.random(6), rng.random(6), 0.8
    mechanism = NoisyWeightedLabelProportions(0.5, sigma)
    with pytest.warns(NotPrivateWarning):
        releases = [mechanism.release(y, rng) for _ in range(20_000)]
    squares = np.array([(one.label - one.weights @ values) ** 2 for one in releases])
    wanted = ((y - values) ** 2).sum() + sigma**2 * 3
    assert abs(squares.mean() - wanted) <= 5 * squares.std() / math.sqrt(len(squares))


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::darrm.randomness.words.NotPrivateWarning")
def test_what_attackers_gain_is_below_the_total_variation_of_neighbours() -> None:
    rows = load("weighted_aggregates").audit(5, 100)
    plain, lba, shown, secret = rows
    # The sum of 5 labels against the sum of the 4 others: half of the largest probability of Binomial(4, 1/2).
    assert plain["advantage"] == pytest.approx(6 / 16 / 2)
    assert lba["advantage"] > 0
    for row in (shown, secret):
        assert 0 < row["advantage"] <= row["at most"] + 3 * row["s.e."]
    assert shown["at most"] < 0.5
    assert secret["advantage"] < shown["advantage"]  # weights are the same in both, and hidden in one


@pytest.mark.thorough
def test_an_upper_bound_is_never_0() -> None:
    """Delta is above 0 for every change of a label, be it below the range of float64."""
    y = np.arange(20) % 2 * 1.0
    for change in (1e-9, -1e-160, 5e-324):
        value = local_delta(0.1, np.ones((20, 1)), y, 0, change)
        assert value.forward > 0
        assert value.reverse > 0
    value = noisy_local_delta(600.0, y, y == 0, 0, 1e-3, 10.0)
    assert value.forward > 0
    assert value.reverse > 0
    assert value.error > 0
    assert worst_delta(600.0, 1.0, (0, 1e-9), leverage=0.5).upper > 0


@pytest.mark.parametrize("residual", [3.0, 1e9, 1e308])
def test_a_residual_larger_than_any_change_bounds_nothing(residual: float) -> None:
    alone = worst_delta(0.5, 1.0, (0, 1), leverage=0.5)
    assert worst_delta(0.5, 1.0, (0, 1), leverage=0.5, largest_residual=residual) == alone
    assert worst_delta(0.5, 1.0, (0, 1), leverage=0.5, largest_residual=0.6).upper < alone.upper

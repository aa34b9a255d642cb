"""Learning from label releases: losses are unbiased, estimators find their optimum and keep scikit-learn's rules."""

import itertools
import math
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.sparse import csr_array
from scipy.special import expit
from scripts import PROGRAMS, load
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import darrm
from darrm.errors import InputError
from darrm.labels import (
    GeometricLabelProportions,
    LabelProportions,
    LaplaceLabelProportions,
    NoisyAggregate,
    NoisyWeightedLabelProportions,
    WeightedBagAggregates,
)
from darrm.labels.learners import AggregateRegressor, BagClassifier, RandomizedResponseClassifier
from darrm.labels.learners.proportion_loss import debiased_labels, proportion_loss
from darrm.mechanisms import Bags, LaplaceNoisyMax, RandomizedResponse, bags

estimator_checks = load("estimator_checks")
NO_NOISE = 1e6  # epsilon whose flip probability is 0 in float64
seeded = pytest.mark.filterwarnings("ignore::darrm.randomness.words.NotPrivateWarning")


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Threads of the linear algebra wait for each other where tests share processors, for longer than they run."""
    with threadpool_limits(1):
        yield


def records(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (rng.random(n) < expit(X @ [1.5, -1.0, 0.0] + 0.3)).astype(int)


def parameters(model: Any) -> np.ndarray:
    return np.append(model.coef_.ravel(), model.intercept_)


def plain_loss(scores: np.ndarray, target: float, loss: str) -> float:
    """Of one bag, by the formula of the papers."""
    q = float(np.mean(1 / (1 + np.exp(-scores))))
    return (q - target) ** 2 if loss == "square" else -target * math.log(q) - (1 - target) * math.log(1 - q)


# ---- losses


@pytest.mark.parametrize("loss", ["cross_entropy", "square"])
def test_losses_are_the_formulas_and_slopes_their_derivatives(loss: Any) -> None:
    rng = np.random.default_rng(1)
    scores, starts = rng.normal(size=8) * 2, np.array([0, 1, 5])
    targets = np.array([0.3, 1.7, -0.4])  # noise takes them out of [0, 1]
    losses, slopes = proportion_loss(scores, starts, targets, loss)
    split = np.split(scores, starts[1:])
    assert losses == pytest.approx([plain_loss(z, t, loss) for z, t in zip(split, targets, strict=True)], rel=1e-13)
    numeric = approx_fprime(scores, lambda z: float(proportion_loss(z, starts, targets, loss)[0].sum()), 1e-7)
    assert slopes == pytest.approx(numeric, abs=1e-6)


@pytest.mark.parametrize("loss", ["cross_entropy", "square"])
def test_no_score_is_too_large(loss: Any) -> None:
    found = proportion_loss(np.array([800.0, 900.0, -800.0]), np.array([0, 2]), np.array([0.0, 1.0]), loss)
    # 1 - q is the mean of e^-800 and e^-900; the last bag has q = e^-800.
    wanted = [800 + math.log(2), 800] if loss == "cross_entropy" else [1, 1]
    assert found[0] == pytest.approx(wanted, rel=1e-14)
    assert np.all(np.isfinite(found[1]))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, NO_NOISE])
def test_debiased_cross_entropy_is_logistic_loss_plus_a_line_and_unbiased(epsilon: float) -> None:
    rho = RandomizedResponse(epsilon).flip_probability
    z = np.linspace(-4, 4, 9)

    def logistic(y: int) -> np.ndarray:
        return np.log1p(np.exp(z)) - y * z

    def released(y: int) -> np.ndarray:
        targets = np.full(9, debiased_labels(np.array([y]), epsilon)[0])
        return proportion_loss(z, np.arange(9), targets, "cross_entropy")[0]

    for y in (0, 1):
        stated = ((1 - rho) * logistic(y) - rho * logistic(1 - y)) / (1 - 2 * rho)
        assert released(y) == pytest.approx(stated, rel=1e-11)
        line = released(y) - logistic(y)  # so the second derivative is that of the logistic loss: convex
        assert np.diff(line, 2) == pytest.approx(np.zeros(7), abs=1e-12 / math.tanh(epsilon / 2))
        mean = (1 - rho) * released(y) + rho * released(1 - y)
        assert mean == pytest.approx(logistic(y), rel=1e-12)


def test_randomized_response_over_all_flips_of_five_labels() -> None:
    """The expected loss and gradient of a whole data set, over all 32 releases."""
    epsilon = 0.7
    rho = RandomizedResponse(epsilon).flip_probability
    X, y = records(5, 2)
    scores, each = X @ [0.4, -1.2, 2.0], np.arange(5)
    loss, gradient = 0.0, np.zeros(3)
    for flips in itertools.product((0, 1), repeat=5):
        chance = rho ** sum(flips) * (1 - rho) ** (5 - sum(flips))
        losses, slopes = proportion_loss(scores, each, debiased_labels(y ^ np.array(flips), epsilon), "cross_entropy")
        loss, gradient = loss + chance * losses.sum(), gradient + chance * (slopes @ X)
    losses, slopes = proportion_loss(scores, each, y.astype(float), "cross_entropy")
    assert loss == pytest.approx(losses.sum(), rel=1e-13)
    assert gradient == pytest.approx(slopes @ X, rel=1e-12)


def noisy_targets(mechanism: Any, ones: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Debiased proportions of a bag with so many ones, and the probability of each."""
    if isinstance(mechanism, GeometricLabelProportions):
        return mechanism.unbiased(np.arange(k + 1), k) / k, mechanism.kernel(k)[ones]
    j = np.arange(-40_000, 40_001)  # the noise of the release, on its grid of 2^-10
    chance = math.tanh(mechanism.epsilon / 2048) * np.exp(-mechanism.epsilon * np.abs(j) / 1024)
    return (ones + j / 1024) / k, chance


@pytest.mark.parametrize("loss", ["cross_entropy", "square"])
@pytest.mark.parametrize("mechanism", [LaplaceLabelProportions(1.0), GeometricLabelProportions(0.5)], ids=repr)
@pytest.mark.parametrize("ones", [0, 2, 5])
def test_theorem_6_1_the_expected_gradient_is_that_without_noise(mechanism: Any, loss: Any, ones: int) -> None:
    k, start = 5, np.array([0])
    scores = np.random.default_rng(3).normal(size=k)
    targets, chance = noisy_targets(mechanism, ones, k)
    assert chance.sum() == pytest.approx(1, abs=1e-12)
    found = [proportion_loss(scores, start, np.array([t]), loss) for t in (0.0, 1.0)]
    # Slopes are affine in the target, so two of them give all.
    at = targets[:, None]
    middle = proportion_loss(scores, start, targets[:1], loss)[1]
    slopes = (1 - at) * found[0][1] + at * found[1][1]
    assert slopes[0] == pytest.approx(middle, rel=1e-11)
    losses, plain = proportion_loss(scores, start, np.array([ones / k]), loss)
    assert chance @ slopes == pytest.approx(plain, abs=1e-12)
    q = float(expit(scores).mean())
    values = (q - targets) ** 2 if loss == "square" else -targets * math.log(q) - (1 - targets) * math.log(1 - q)
    # The square also has the variance of the noise in it, which no model changes.
    variance = float(chance @ targets**2 - (ones / k) ** 2) if loss == "square" else 0.0
    assert chance @ values == pytest.approx(losses[0] + variance, abs=1e-12)


@pytest.mark.parametrize(("k", "epsilon"), [(1, 1.0), (4, 1.0), (8, 0.5)])
def test_theorem_6_2_the_second_moment_of_the_gradient(k: int, epsilon: float) -> None:
    """|gradient|^2 grows by 2 / (k epsilon)^2 times |gradient of log(q / (1 - q))|^2."""
    ones, start = k // 2, np.array([0])
    X = np.random.default_rng(4).normal(size=(k, 3))
    scores = X @ [0.5, 1.0, -1.0]
    zero, one = (proportion_loss(scores, start, np.array([t]), "cross_entropy")[1] @ X for t in (0.0, 1.0))
    targets, chance = noisy_targets(LaplaceLabelProportions(epsilon), ones, k)
    gradients = (1 - targets)[:, None] * zero + targets[:, None] * one
    s = expit(scores)
    q = s.mean()
    of_log_odds = (s * (1 - s)) @ X / k / (q * (1 - q))
    plain = (1 - ones / k) * zero + ones / k * one
    wanted = plain @ plain + 2 / (k * epsilon) ** 2 * (of_log_odds @ of_log_odds)
    # The grid of the release takes (epsilon / 1024)^2 / 12 off the variance.
    assert chance @ (gradients**2).sum(axis=1) == pytest.approx(wanted, rel=1e-6)


# ---- the classifiers


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_bags_of_one_and_labels_without_noise_are_logistic_regression(C: float, intercept: bool) -> None:
    X, y = records(300, 5)
    X[:, 1] *= 30  # units of features must not matter
    plain = LogisticRegression(C=C, fit_intercept=intercept, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    wanted = parameters(plain.fit(X, y))
    options: dict[str, Any] = {"C": C, "fit_intercept": intercept, "tol": 1e-8}
    ones = [[i] for i in range(300)]
    for model in (
        RandomizedResponseClassifier(NO_NOISE, **options).fit(X, y),
        BagClassifier(**options).fit(X, y),
        BagClassifier(LabelProportions(), **options).fit(X, y, ones),
        BagClassifier(GeometricLabelProportions(NO_NOISE), **options).fit(X, y, ones),
    ):
        assert parameters(model) == pytest.approx(wanted, abs=1e-6)
        assert model.converged_
        assert model.gradient_norm_ <= 1e-8
    assert model.predict_proba(X) == pytest.approx(plain.predict_proba(X), abs=1e-6)


@pytest.mark.parametrize("loss", ["cross_entropy", "square"])
def test_proportion_matching_is_at_a_minimum_of_the_objective_as_written(loss: Any) -> None:
    X, y = records(120, 6)
    parts = [np.arange(0, 7), np.arange(7, 10), *np.arange(10, 118).reshape(-1, 4)]  # two records in no bag
    sums = [y[part].sum() for part in parts]
    C, weights = 0.7, np.linspace(0.5, 2, len(parts))
    model = BagClassifier(loss=loss, C=C).fit(X, sums, parts, sample_weight=weights)

    def objective(at: np.ndarray) -> float:
        scores = X @ at[:3] + at[3]
        matched = zip(parts, sums, weights, strict=True)
        total = sum(w * plain_loss(scores[part], s / len(part), loss) for part, s, w in matched)
        return float(C * total + at[:3] @ at[:3] / 2)

    found = parameters(model)
    numeric = [(objective(found + h) - objective(found - h)) / 2e-5 for h in 1e-5 * np.eye(4)]
    assert numeric == pytest.approx(np.zeros(4), abs=1e-5)
    rng = np.random.default_rng(7)
    assert all(objective(found + 0.1 * rng.normal(size=4)) > objective(found) for _ in range(50))


@pytest.mark.parametrize(("targets", "bounded"), [([1.4, 0.5], True), ([1.7, 0.5], False), ([-0.9, 0.5], False)])
def test_the_best_intercept_exists_if_the_mean_target_is_between_0_and_1(targets: list[float], bounded: bool) -> None:
    scores, starts = np.array([3.0, -2.0, 1.0, 0.0]), np.array([0, 3])

    def at(b: float) -> float:
        return float(proportion_loss(scores + b, starts, np.array(targets), "cross_entropy")[0].sum())

    far = [at(b) - at(b / 2) for b in (-2000.0, 2000.0)]
    assert (min(far) > 0) == bounded
    X = np.array([[0.0], [1.0], [2.0], [1.0]])
    mechanism, pairs = LaplaceLabelProportions(1.0), [[0, 1], [2, 3]]
    sums = 2 * np.array(targets)
    if bounded:
        assert BagClassifier(mechanism).fit(X, sums, pairs).converged_
    else:
        with pytest.raises(darrm.InputError, match="no intercept is the best"):
            BagClassifier(mechanism).fit(X, sums, pairs)
    assert BagClassifier(mechanism, fit_intercept=False).fit(X, sums, pairs).converged_


Fit = Callable[[np.ndarray, np.ndarray, int], tuple[Any, Any]]


def randomized(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[Any, Any]:
    released = RandomizedResponse(1.0).release(y, np.random.default_rng(seed))
    return RandomizedResponseClassifier(1.0).fit(X, released), RandomizedResponseClassifier(NO_NOISE).fit(X, y)


def in_bags(mechanism: Any) -> Fit:
    def fit(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[Any, Any]:
        rng = np.random.default_rng(seed)
        parts = bags(len(y), 4, rng)
        released = mechanism.release(y[parts.indices], rng)
        exact = LabelProportions().release(y[parts.indices])
        return BagClassifier(mechanism).fit(X, released, parts), BagClassifier().fit(X, exact, parts)

    return fit


@pytest.mark.thorough
@pytest.mark.first(0, 1)
@seeded
@pytest.mark.parametrize(
    "fit",
    [randomized, in_bags(LaplaceLabelProportions(1.0)), in_bags(GeometricLabelProportions(1.0))],
    ids=["randomized response", "Laplace", "geometric"],
)
def test_noise_is_learned_through_at_the_rate_of_one_over_root_n(fit: Fit) -> None:
    """The distance from the optimum without noise is a quarter with 16 times as many records."""

    def distance(n: int) -> float:
        pairs = [fit(*records(n, seed), seed) for seed in range(25)]
        return float(np.sqrt(np.mean([(parameters(noisy) - parameters(best)) ** 2 for noisy, best in pairs])))

    assert 3 < distance(2_000) / distance(32_000) < 5.3


@pytest.mark.thorough
@seeded
def test_proportions_of_bags_teach_the_model_of_the_records() -> None:
    """Consistency of proportion matching: bags of 4, no noise, labels of a logistic model."""

    def distance(n: int) -> float:
        fits = []
        for seed in range(6):
            X, y = records(n, seed)
            parts = bags(n, 4, np.random.default_rng(seed))
            fits.append(parameters(BagClassifier().fit(X, LabelProportions().release(y[parts.indices]), parts)))
        return float(np.sqrt(np.mean((np.array(fits) - [1.5, -1.0, 0.0, 0.3]) ** 2)))

    most = distance(32_000)
    assert most < 0.06
    assert distance(2_000) > 2.7 * most


@pytest.mark.thorough
@seeded
def test_without_the_correction_the_noise_stays() -> None:
    X, y = records(32_000, 8)
    best = parameters(RandomizedResponseClassifier(NO_NOISE).fit(X, y))
    released = RandomizedResponse(1.0).release(y, np.random.default_rng(8))
    corrected, taken = (parameters(RandomizedResponseClassifier(e).fit(X, released)) for e in (1.0, NO_NOISE))
    assert np.linalg.norm(taken - best) > 10 * np.linalg.norm(corrected - best)
    parts = np.arange(len(y)).reshape(-1, 4)
    mechanism = GeometricLabelProportions(0.5)
    sums = mechanism.release(y[parts], np.random.default_rng(9))
    best = parameters(BagClassifier().fit(X, y[parts].sum(axis=1), list(parts)))
    corrected, taken = (parameters(BagClassifier(m).fit(X, sums, list(parts))) for m in (mechanism, None))
    assert np.linalg.norm(taken - best) > 3 * np.linalg.norm(corrected - best)


def test_weights_are_repetitions() -> None:
    X, y = records(80, 10)
    weights = np.random.default_rng(10).integers(0, 4, size=80)
    again = np.repeat(np.arange(80), weights)
    for model in (RandomizedResponseClassifier(3.0), BagClassifier()):
        wanted = parameters(model.fit(X[again], y[again]))
        assert parameters(model.fit(X, y, sample_weight=weights)) == pytest.approx(wanted, abs=1e-7)
    parts = np.arange(80).reshape(-1, 4)
    sums, weights = y[parts].sum(axis=1), weights[:20]
    again = np.repeat(np.arange(20), weights)
    wanted = parameters(BagClassifier().fit(X, sums[again], list(parts[again])))
    found = parameters(BagClassifier().fit(X, sums, list(parts), sample_weight=weights))
    assert found == pytest.approx(wanted, abs=1e-7)


def test_forms_of_bags_and_of_the_mechanism_agree() -> None:
    X, y = records(83, 11)
    parts = bags(83, 4, np.random.default_rng(11))
    assert isinstance(parts, Bags)
    sums = y[parts.indices].sum(axis=1)
    wanted = parameters(BagClassifier().fit(X, sums, parts))
    for form in (parts.indices, list(parts.indices), parts.indices.tolist()):
        assert np.array_equal(parameters(BagClassifier().fit(X, sums, form)), wanted)
    sparse = BagClassifier().fit(csr_array(X), sums, parts)
    assert parameters(sparse) == pytest.approx(wanted, abs=1e-7)
    assert sparse.predict_proba(csr_array(X)) == pytest.approx(sparse.predict_proba(X), rel=1e-12)
    used = np.sort(parts.indices.ravel())
    place = np.searchsorted(used, parts.indices)
    alone = BagClassifier().fit(X[used], sums, place)  # records in no bag do not count
    assert parameters(alone) == pytest.approx(wanted, abs=1e-7)
    by_mechanism = RandomizedResponseClassifier(mechanism=RandomizedResponse(3.0)).fit(X, y)
    assert np.array_equal(parameters(by_mechanism), parameters(RandomizedResponseClassifier(3.0).fit(X, y)))


def test_classes_of_any_kind() -> None:
    X, y = records(100, 12)
    wanted = RandomizedResponseClassifier(3.0).fit(X, y)
    for names in (np.array(["no", "yes"]), np.array([False, True]), np.array([-1.0, 1.0]), np.array([5, 7])):
        found = RandomizedResponseClassifier(3.0).fit(X, names[y])
        assert np.array_equal(found.classes_, names)
        assert np.array_equal(found.predict(X), names[wanted.predict(X)])
        assert np.array_equal(found.predict_proba(X), wanted.predict_proba(X))


def test_what_does_not_converge_says_so() -> None:
    X, y = records(100, 13)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations, above tol = 1e-07"):
        model = BagClassifier(max_iter=2).fit(X, y)
    assert not model.converged_
    assert model.gradient_norm_ > 1e-7


@pytest.mark.parametrize(
    "mechanism", [RandomizedResponse(1.5), LaplaceLabelProportions(1.5), GeometricLabelProportions(1.5)], ids=repr
)
def test_fitted_models_with_their_mechanism_can_be_pickled(mechanism: Any) -> None:
    X, y = records(60, 14)
    kind: Any = RandomizedResponseClassifier if isinstance(mechanism, RandomizedResponse) else BagClassifier
    model = kind(mechanism=mechanism, fit_intercept=False).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.mechanism.epsilon == 1.5


# ---- aggregates


def aggregated() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(15)
    X = np.column_stack([np.ones(600), rng.normal(size=(600, 2))])
    return X, X @ [2.0, -1.0, 0.5] + 0.3 * rng.normal(size=600), np.arange(600).reshape(-1, 10)


@seeded
def test_aggregates_are_fitted_by_least_squares() -> None:
    X, y, parts = aggregated()
    rng = np.random.default_rng(16)
    sums = [WeightedBagAggregates().release(X[part], y[part], rng) for part in parts]
    features, labels = np.array([s.features for s in sums]), np.array([s.label for s in sums])
    wanted = LinearRegression(fit_intercept=False).fit(features, labels).coef_
    model = AggregateRegressor(intercept_column=0).fit(sums)
    assert [model.intercept_, *model.coef_[1:]] == pytest.approx(wanted, rel=1e-10)
    assert model.coef_[0] == 0
    assert model.rank_ == 3
    assert np.array_equal(model.predict(X), AggregateRegressor(0).fit(features, labels).predict(X))
    assert model.predict(X) == pytest.approx(X @ wanted, rel=1e-10)
    plain = AggregateRegressor().fit(sums)
    assert plain.intercept_ == 0
    assert plain.predict(X) == pytest.approx(X @ wanted, rel=1e-10)
    weights = np.arange(60) % 3
    again = np.repeat(np.arange(60), weights)
    repeated = AggregateRegressor().fit(features[again], labels[again]).coef_
    assert AggregateRegressor().fit(sums, sample_weight=weights).coef_ == pytest.approx(repeated, rel=1e-10)


@seeded
def test_noisy_releases_are_fitted_with_the_weights_that_they_show() -> None:
    X, y, parts = aggregated()
    rng = np.random.default_rng(17)
    mechanism = NoisyWeightedLabelProportions(0.5, 0.2)
    releases = [mechanism.release(y[part], rng) for part in parts]
    shown = np.array([one.weights @ X[part] for one, part in zip(releases, parts, strict=True)])
    wanted = np.linalg.lstsq(shown, [one.label for one in releases])[0]
    assert AggregateRegressor().fit(X, releases, parts).coef_ == pytest.approx(wanted, rel=1e-10)


@pytest.mark.thorough
def test_the_loss_on_aggregates_tends_to_the_least_loss() -> None:
    """1 + o(1) of the abstract: 1 + d / (bags - d - 1) for aggregates of features and labels; noise adds to it."""
    with pytest.warns(darrm.randomness.words.NotPrivateWarning):
        rows = load("weighted_aggregates").utility((20, 80, 320), 15)
    for row in rows:
        assert row["LBA loss ratio"] == pytest.approx(row["1 + d / (bags - d - 1)"], abs=4 * row["LBA s.e."])
        assert row["LLP loss ratio"] > row["LBA loss ratio"]
    for name in ("LBA", "LLP"):
        excess = [row[f"{name} loss ratio"] - 1 for row in rows]
        assert all(2 < before / after < 8 for before, after in itertools.pairwise(excess))  # about 4


# ---- bad input

X, Y = records(12, 18)
PAIRS = list(np.arange(12).reshape(-1, 2))
SUMS = np.array([1, 0, 2, 1, 1, 0])
SPOILED = np.where(np.arange(36).reshape(12, 3) == 4, np.nan, X)
SECRET = NoisyAggregate(1.0, np.array([True, False]), None)
SHOWN = NoisyAggregate(1.0, np.array([True, False]), np.array([1.0, 2.0]))
BAD: list[tuple[str, Callable[[], Any], str]] = [
    ("no epsilon", lambda: RandomizedResponseClassifier().fit(X, Y), "Pass either epsilon or mechanism"),
    ("two", lambda: RandomizedResponseClassifier(1.0, mechanism=RandomizedResponse(1)).fit(X, Y), "Got both"),
    ("epsilon nan", lambda: RandomizedResponseClassifier(math.nan).fit(X, Y), "epsilon must be"),
    ("epsilon text", lambda: RandomizedResponseClassifier("1").fit(X, Y), "epsilon must be"),  # type: ignore[arg-type]
    ("other kind", lambda: RandomizedResponseClassifier(mechanism=LabelProportions()).fit(X, Y), "RandomizedResponse"),
    ("other kind, bags", lambda: BagClassifier(RandomizedResponse(1.0)).fit(X, Y), "label proportions, or None"),
    ("noisy max", lambda: BagClassifier(LaplaceNoisyMax(1.0)).fit(X, Y), "label proportions, or None"),
    ("three classes", lambda: RandomizedResponseClassifier(1.0).fit(X, np.arange(12) % 3), "Only binary"),
    ("one class", lambda: RandomizedResponseClassifier(1.0).fit(X, np.ones(12)), "one class, 1.0"),
    ("continuous", lambda: BagClassifier().fit(X, X[:, 0]), "Unknown label type: continuous"),
    ("NaN label", lambda: RandomizedResponseClassifier(1.0).fit(X, np.where(Y == 1, np.nan, 0)), "NaN"),
    ("NaN in X", lambda: BagClassifier().fit(SPOILED, Y), "NaN"),
    ("NaN in X, bags", lambda: BagClassifier().fit(SPOILED, SUMS, PAIRS), "NaN"),
    ("NaN to predict", lambda: BagClassifier().fit(X, Y).predict(SPOILED), "NaN"),
    ("rows", lambda: BagClassifier().fit(X, Y[:5]), "inconsistent numbers of samples"),
    ("sum above k", lambda: BagClassifier().fit(X, SUMS + 1, PAIRS), "from 0 to the size"),
    ("negative sum", lambda: BagClassifier(GeometricLabelProportions(1)).fit(X, SUMS - 1, PAIRS), "from 0 to the size"),
    ("half", lambda: BagClassifier(LabelProportions()).fit(X, SUMS / 2, PAIRS), "integers from 0"),
    ("NaN sum", lambda: BagClassifier(LaplaceLabelProportions(1)).fit(X, SUMS * np.nan, PAIRS), "y must be finite"),
    ("text sum", lambda: BagClassifier(LaplaceLabelProportions(1)).fit(X, list("abcdef"), PAIRS), "y must be numbers"),
    (
        "sums",
        lambda: BagClassifier().fit(X, SUMS[:5], PAIRS),
        r"of shape \(6,\). Got shape \(5,\). Pass",
    ),
    ("index", lambda: BagClassifier().fit(X, SUMS, [part + 1 for part in PAIRS]), r"\[0, 11\]. Got 1 to 12"),
    ("empty bag", lambda: BagClassifier().fit(X, [1, 0], [[0, 1], []]), "none of them empty"),
    ("real index", lambda: BagClassifier().fit(X, SUMS, np.arange(12.0).reshape(-1, 2)), "integers"),
    ("no bags", lambda: BagClassifier().fit(X, SUMS, 6), "bags must be Bags or a list"),  # type: ignore[arg-type]
    ("loss", lambda: BagClassifier(loss="hinge").fit(X, Y), "Got 'hinge'"),  # type: ignore[arg-type]
    ("C", lambda: BagClassifier(C=0.0).fit(X, Y), "C must be"),
    ("tol", lambda: BagClassifier(tol=math.nan).fit(X, Y), "tol must be"),
    ("max_iter", lambda: BagClassifier(max_iter=0).fit(X, Y), "max_iter must be"),
    ("weights", lambda: BagClassifier().fit(X, Y, sample_weight=np.ones(11)), r"of shape \(12,\)"),
    ("negative weights", lambda: BagClassifier().fit(X, Y, sample_weight=-np.ones(12)), "at least 0"),
    ("no intercept", lambda: BagClassifier(LaplaceLabelProportions(1)).fit(X, SUMS + 5, PAIRS), "no intercept is the"),
    ("no aggregates", lambda: AggregateRegressor().fit(X), "list of releases of WeightedBagAggregates"),
    ("secret", lambda: AggregateRegressor().fit(X[:2], [SECRET], [[0, 1]]), "are secret"),
    ("size", lambda: AggregateRegressor().fit(X[:3], [SHOWN], [[0, 1, 2]]), "as many weights"),
    ("not released", lambda: AggregateRegressor().fit(X, SUMS, PAIRS), "releases of NoisyWeighted"),
    ("column", lambda: AggregateRegressor(3).fit(X, Y), r"in \[0, 2\]. Got 3. Pass a column of X, or None"),
    ("NaN, least squares", lambda: AggregateRegressor().fit(SPOILED, Y), "NaN"),
]


@pytest.mark.first(15)
@pytest.mark.parametrize(("call", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_input_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(darrm.InputError, match=message):
        call()


# ---- scikit-learn


ONE_OF_EACH = list({type(one): one for one in reversed(estimator_checks.LEARNING)}.values())
OTHERS = [one for one in estimator_checks.LEARNING if all(one is not first for first in ONE_OF_EACH)]


@pytest.mark.first(30)
@parametrize_with_checks(ONE_OF_EACH, expected_failed_checks=estimator_checks.cannot_hold)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.thorough
@pytest.mark.first(0, 60)
@parametrize_with_checks(OTHERS, expected_failed_checks=estimator_checks.cannot_hold)
def test_scikit_learn_checks_of_others(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.thorough
def test_the_command_says_what_fails_and_what_holds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["estimator_checks.py"])
    monkeypatch.setattr(estimator_checks, "ENSEMBLE", [])
    monkeypatch.setattr(estimator_checks, "PLANNED", [])
    monkeypatch.setattr(estimator_checks, "LEARNING", [RandomizedResponseClassifier(1.0)])
    assert estimator_checks.main() == 0
    assert "5 cannot hold" in capsys.readouterr().out
    monkeypatch.setattr(estimator_checks, "_REASONS", {})
    assert estimator_checks.main() == 1
    assert "FAILED check_dtype_object" in capsys.readouterr().out
    wrong = {"RandomizedResponseClassifier(epsilon=1.0)": ("", ["check_dtype_object", "check_fit1d"])}
    monkeypatch.setattr(estimator_checks, "_REASONS", wrong)
    assert estimator_checks.main() == 1
    assert "HOLDS, against what is said: check_fit1d" in capsys.readouterr().out


# ---- the package and its page


@pytest.mark.thorough
def test_without_scikit_learn_the_package_says_what_to_install() -> None:
    ended = subprocess.run(
        [sys.executable, PROGRAMS / "learners_without_sklearn.py"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    lines = ended.stdout.splitlines()
    assert len(lines) == 3
    assert all("pip install 'darrm[experiments]'" in line for line in lines)


@pytest.mark.thorough
def test_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "labels.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, names)
    # The releases are random; 20,000 records leave the fits this near.
    for model in ("debiased", "matched", "noisy"):
        assert names[model].converged_
        assert names[model].coef_[0] == pytest.approx([1.5, -1.0], abs=0.6)
    assert names["regressor"].coef_[1:] == pytest.approx([2.0, -1.0], abs=0.6)
    assert capsys.readouterr().out.count("\n") == 4


def test_fitting_leaves_the_released_sums_alone() -> None:
    sums = np.array([0.0, 1, 2, 1, 1, 2])
    model = BagClassifier(GeometricLabelProportions(1.0)).fit(X, sums, PAIRS)
    assert sums.tolist() == [0, 1, 2, 1, 1, 2]
    assert model.coef_.tolist() == BagClassifier(GeometricLabelProportions(1.0)).fit(X, sums, PAIRS).coef_.tolist()


@pytest.mark.thorough
@seeded
def test_adam_comes_near_the_minimum_and_asks_for_no_more() -> None:
    X, y = records(4000, 3)
    parts = bags(4000, 4, np.random.default_rng(1))
    sums = LabelProportions().release(y[parts.indices])
    exact = BagClassifier().fit(X, sums, parts)
    near = BagClassifier(solver="adam", epochs=60, random_state=2).fit(X, sums, parts)
    assert near.coef_ == pytest.approx(exact.coef_, abs=0.1)
    assert near.intercept_ == pytest.approx(exact.intercept_, abs=0.1)
    assert near.n_iter_ == 60 * math.ceil(4000 / 256)
    again = BagClassifier(solver="adam", epochs=60, random_state=2).fit(X, sums, list(parts.indices))
    assert np.array_equal(near.coef_, again.coef_)
    # Noise so large that no intercept is the best: epochs end all the same.
    none = np.where(np.arange(1000) < 1, 1, 0)
    with pytest.raises(InputError, match="must be in"):
        RandomizedResponseClassifier(epsilon=0.1).fit(X[:1000], none)
    fitted = RandomizedResponseClassifier(epsilon=0.1, solver="adam", epochs=1, random_state=0).fit(X[:1000], none)
    assert np.isfinite(fitted.coef_).all()
    sparse = BagClassifier(solver="adam", epochs=2, random_state=2).fit(csr_array(X), sums, parts)
    dense = BagClassifier(solver="adam", epochs=2, random_state=2).fit(X, sums, parts)
    assert sparse.coef_ == pytest.approx(dense.coef_, abs=1e-12)
    padded = np.column_stack([X[:, :1], np.zeros(4000), X[:, 1:]])  # a column of zeros is left out of the steps
    padded_coef = BagClassifier(solver="adam", epochs=2, random_state=2).fit(csr_array(padded), sums, parts).coef_[0]
    assert padded_coef[1] == 0
    assert np.delete(padded_coef, 1) == pytest.approx(dense.coef_[0], abs=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"solver": "sgd"}, "solver must be"),
        ({"learning_rate": 0}, "learning_rate must be"),
        ({"epochs": 0}, "epochs must be"),
        ({"batch_size": 0.5}, "batch_size must be"),
    ],
)
def test_settings_of_adam_are_checked(change: dict[str, Any], message: str) -> None:
    X, y = records(50, 4)
    with pytest.raises(InputError, match=message):
        BagClassifier(**({"solver": "adam"} | change)).fit(X, y)

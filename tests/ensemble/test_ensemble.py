"""Private ensembles: what they guarantee is what the theorems give, and nothing leaves unpaid."""

import itertools
import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import slow, thorough
from dp_accounting import dp_event
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.privacy_accountant import NeighboringRelation
from scipy.special import expit
from scipy.stats import kstest
from scripts import load
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import darrm
from darrm.accounting import Ledger, compose, max_queries, optimal
from darrm.ensemble import (
    DPLogisticRegression,
    EnsemblePrivacy,
    PrivateMajorityClassifier,
    dp_sgd,
    shards,
)
from darrm.ensemble.dp_sgd import calibrated_noise, clipped_sum, iterates, normals, train
from darrm.randomness.coins import system_words
from darrm.randomness.words import NotPrivateWarning

estimator_checks = load("estimator_checks")
seeded = pytest.mark.filterwarnings("ignore::darrm.randomness.words.NotPrivateWarning")
RELATIONS = {"replace-one": NeighboringRelation.REPLACE_ONE, "add-remove": NeighboringRelation.ADD_OR_REMOVE_ONE}


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Threads of the linear algebra wait for each other where tests share processors, for longer than they run."""
    with threadpool_limits(1):
        yield


def records(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) / 2
    return X, np.where(rng.random(n) < expit(X @ [6.0, -3.0, 0.0]), "yes", "no")


X, Y = records(1100)


def fixed(**options: Any) -> PrivateMajorityClassifier:
    return PrivateMajorityClassifier(**{"voters": "fixed", "epsilon": 1.0, "Delta": 1e-5} | options)


def fresh(**options: Any) -> PrivateMajorityClassifier:
    return PrivateMajorityClassifier(
        **{"voters": "fresh", "epsilon": 1.0, "total_epsilon": 6.0, "total_delta": 1e-5, "K": 5} | options
    )


def pate(**options: Any) -> PrivateMajorityClassifier:
    return PrivateMajorityClassifier(
        **{"teachers": "non-private", "sigma": 4.0, "total_epsilon": 5.0, "total_delta": 1e-5, "K": 21} | options
    )


def teacher(epsilon: Any, **options: Any) -> DPLogisticRegression:
    return DPLogisticRegression(epsilon, 1e-5, **options)


# ---- DP-SGD


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("epsilon", "delta", "rate", "steps", "adjacency"),
    [
        *thorough((1.0, 1e-5, 0.5, 20, "replace-one"), (0.2, 1e-6, 0.1, 50, "replace-one")),
        (1.0, 1e-4, 1.0, 3, "replace-one"),
        (0.5, 1e-5, 0.3, 30, "add-remove"),
    ],
)
def test_the_noise_is_never_below_what_a_finer_accountant_asks(
    epsilon: float, delta: float, rate: float, steps: int, adjacency: str
) -> None:
    noise, spent = calibrated_noise(epsilon, delta, rate, steps, adjacency)

    def finer(noise_multiplier: float) -> float:
        step = dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(noise_multiplier))
        accountant = PLDAccountant(RELATIONS[adjacency], value_discretization_interval=5e-5)
        return accountant.compose(dp_event.SelfComposedDpEvent(step, steps)).get_epsilon(delta)

    assert finer(noise) <= spent <= epsilon
    assert finer(noise) == pytest.approx(epsilon, rel=2e-3)
    assert finer(noise * 0.99) > epsilon


def test_a_target_that_no_noise_meets_is_refused() -> None:
    with pytest.raises(darrm.InputError, match=r"No noise up to 1e\+06"):
        calibrated_noise(1e-7, 1e-12, 1.0, 1, "replace-one")


@pytest.mark.thorough
def test_a_full_batch_of_one_step_is_the_gaussian_mechanism() -> None:
    # Replacing a record moves the sum by up to 2 C: mu = 2 / sigma, by Balle and Wang's formula.
    from scipy.stats import norm

    noise, _ = calibrated_noise(1.0, 1e-5, 1.0, 1, "replace-one")
    mu = 2 / noise
    delta = norm.cdf(mu / 2 - 1 / mu) - math.e * norm.cdf(-mu / 2 - 1 / mu)
    assert 0.97e-5 < delta <= 1e-5


def steps_without_noise(features: np.ndarray, codes: np.ndarray, steps: int, clip: float) -> np.ndarray:
    return train(
        features, codes, noise_multiplier=0.0, rate=1.0, steps=steps, clip=clip, learning_rate=0.7,
        n=len(features), words=system_words,
    )  # fmt: skip


def test_without_noise_it_is_clipped_gradient_descent() -> None:
    codes = (Y == "yes").astype(np.intp)
    features = np.hstack([8 * X, np.ones((len(X), 1))])
    w, total = np.zeros(4), np.zeros(4)
    for _ in range(7):
        gradients = (expit(features @ w) - codes)[:, None] * features
        gradients *= 0.4 / np.maximum(np.linalg.norm(gradients, axis=1, keepdims=True), 0.4)
        w = w - 0.7 * gradients.mean(axis=0)
        total += w
    assert steps_without_noise(features, codes, 7, 0.4) == pytest.approx(total / 7, rel=1e-12)


@pytest.mark.parametrize("size", [0.0, 1e-300, 1.0, 1e6, 1e305])
def test_one_record_moves_a_step_by_the_clip_norm_at_most(size: float) -> None:
    row = size * np.array([[0.6, -0.8, 0.1]])
    moved = np.linalg.norm(steps_without_noise(row, np.array([1]), 1, 0.25)) / 0.7
    assert moved == pytest.approx(min(0.25, 0.5 * np.linalg.norm(row / max(size, 1)) * max(size, 1)), rel=1e-12)


@pytest.mark.parametrize("size", [0.0, 1e-300, 1.0, 1e200, 1e308])
def test_a_sum_of_gradients_clips_each_to_its_norm(size: float) -> None:
    row = size * np.array([[0.6, -0.8, 0.1, 0.0]])
    found = clipped_sum(row, 0.25)
    assert found == pytest.approx(row[0] * min(1, 0.25 / max(size * math.sqrt(1.01), 1e-305)), rel=1e-12)
    assert clipped_sum(np.vstack([row, [[3.0, 0.0, 0.0, 4.0]]]), 0.25) == pytest.approx(
        found + np.array([0.15, 0.0, 0.0, 0.2]), rel=1e-12
    )


def test_clipping_is_by_the_norm_of_all_coordinates() -> None:
    for p in (1, 2, 100):
        rows = np.vstack([np.ones(p), np.full(p, -1e3), np.full(p, 1e-3)])
        for row in rows:
            length = np.linalg.norm(row)
            assert clipped_sum(row[None], 0.5) == pytest.approx(row * min(1, 0.5 / length), rel=1e-12)


@pytest.mark.parametrize("spoiled", [np.nan, np.inf, -np.inf])
def test_gradients_that_are_not_finite_count_as_nothing(spoiled: float) -> None:
    row = np.array([0.6, -0.8, 0.1])
    alone = np.array([0.0, spoiled, 0.0])
    assert not clipped_sum(alone[None], 0.25).any()
    for bad in (alone, np.array([1.0, spoiled, 2.0]), np.full(3, spoiled)):
        found = clipped_sum(np.vstack([bad, row, bad]), 0.25)
        assert found == pytest.approx(clipped_sum(row[None], 0.25), rel=1e-15)


def test_iterates_are_finite_before_they_meet_data_again() -> None:
    met = []

    def gradient(weights: np.ndarray, batch: np.ndarray) -> np.ndarray:
        met.append(weights)
        return np.array([np.inf, -np.inf, np.nan, 1e308, -1e308, 0.5])

    found = list(
        iterates(
            gradient, np.zeros(6), 4, noise_multiplier=0.0, rate=1.0, steps=3, clip=1.0, learning_rate=1.0, n=1.0,
            words=system_words,
        )
    )  # fmt: skip
    assert len(found) == len(met) == 3
    for weights in [*found, *met]:
        assert np.abs(weights).max() <= 1e100
    assert found[2].tolist() == [-1e100, 1e100, 0.0, -1e100, 1e100, -1.5]


@pytest.mark.parametrize("size", [1e-100, 1.0, 1e100])
def test_each_gradient_is_clipped_alone(size: float) -> None:
    gradients = np.random.default_rng(2).normal(size=(40, 5)) * size
    norms = np.linalg.norm(gradients / size, axis=1)
    clip = float(np.median(norms)) * size
    wanted = (gradients / np.maximum(norms * (size / clip), 1)[:, None]).sum(axis=0)
    assert clipped_sum(gradients, clip) == pytest.approx(wanted, rel=1e-12)
    assert np.linalg.norm(clipped_sum(gradients[norms.argmax()][None], clip)) == pytest.approx(clip, rel=1e-12)
    for spoiled in (np.nan, np.inf, -np.inf):  # counts as 0
        bad = np.array([1.0, spoiled, 0.0, 2.0, 0.0])
        assert clipped_sum(np.vstack([gradients, bad]), clip) == pytest.approx(wanted, rel=1e-12)
    assert not clipped_sum(np.zeros((2, 5)), clip).any()


def test_the_noise_and_the_samples_have_their_distributions() -> None:
    words = np.random.default_rng(5)
    drawn = normals(20_000, lambda n: words.integers(0, 1 << 64, size=n, dtype=np.uint64))
    assert kstest(drawn, "norm").pvalue > 1e-4
    # Rows of gradient -1/2 along one axis: the sum counts the sample.
    n = 10_000
    w = train(
        np.ones((n, 1)), np.ones(n, dtype=np.intp), noise_multiplier=0.0, rate=0.3, steps=1, clip=1.0,
        learning_rate=1.0, n=n, words=lambda k: words.integers(0, 1 << 64, size=k, dtype=np.uint64),
    )  # fmt: skip
    assert abs(2 * w[0] * 0.3 - 0.3) < 5 * math.sqrt(0.3 * 0.7 / n)


def test_every_step_adds_noise_of_its_own() -> None:
    words = np.random.default_rng(6)
    w = train(
        np.zeros((50, 5000)), np.zeros(50, dtype=np.intp), noise_multiplier=3.0, rate=0.2, steps=2, clip=0.5,
        learning_rate=0.8, n=50, words=lambda k: words.integers(0, 1 << 64, size=k, dtype=np.uint64),
    )  # fmt: skip
    # The iterates are n_1 and n_1 + n_2, their average n_1 + n_2 / 2.
    scale = 0.8 / (0.2 * 50) * 3.0 * 0.5 * math.sqrt(1.25)
    assert kstest(w / scale, "norm").pvalue > 1e-4


@pytest.mark.thorough
def test_the_fitted_model_says_what_it_costs() -> None:
    model = teacher(2.0, steps=10).fit(X, Y)
    noise, spent = calibrated_noise(2.0, 1e-5, 0.5, 10, "replace-one")
    assert (model.epsilon_, model.delta_, model.adjacency_) == (spent, 1e-5, "replace-one")
    assert (model.noise_multiplier_, model.n_iter_, model.coef_.shape) == (noise, 10, (1, 3))
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(X, Y) > 0.8
    assert model.predict_proba(X)[:, 1] == pytest.approx(expit(X @ model.coef_[0] + model.intercept_[0]))
    assert teacher(2.0, fit_intercept=False).fit(X, Y).intercept_ == [0.0]
    assert not np.array_equal(model.coef_, teacher(2.0, steps=10).fit(X, Y).coef_)


@pytest.mark.thorough
def test_a_seed_is_repeatable_and_warned_of() -> None:
    with pytest.warns(NotPrivateWarning):
        one = teacher(2.0, random_state=3).fit(X, Y)
    with pytest.warns(NotPrivateWarning):
        assert np.array_equal(one.coef_, teacher(2.0, random_state=3).fit(X, Y).coef_)


@pytest.mark.thorough
def test_known_classes_need_not_occur_and_a_public_n_is_used() -> None:
    assert set(teacher(1.0, classes=["yes", "no"]).fit(X[:40], ["yes"] * 40).predict(X)) <= {"yes", "no"}
    with threadpool_limits(1), pytest.warns(NotPrivateWarning):
        half = teacher(1.0, adjacency="add-remove", n_records=2 * len(X), learning_rate=2.4, random_state=0).fit(X, Y)
    with pytest.warns(NotPrivateWarning):
        whole = teacher(1.0, adjacency="add-remove", n_records=len(X), random_state=0).fit(X, Y)
    assert half.coef_ == pytest.approx(whole.coef_)
    assert half.adjacency_ == "add-remove"


# ---- shards


@pytest.mark.parametrize(("n", "K", "overlap"), [(10, 3, 1), (11, 11, 4), (23, 5, 5), (7, 1, 1), (100, 7, 2)])
def test_each_record_is_in_exactly_so_many_shards(n: int, K: int, overlap: int) -> None:
    parts = shards(n, K, overlap)
    assert len(parts) == K
    assert all(np.unique(part).size == part.size for part in parts)
    assert np.bincount(np.concatenate(parts), minlength=n).tolist() == [overlap] * n
    # A replaced record changes no other: shards do not depend on anything but positions.
    assert [i for i, part in enumerate(parts) if 3 in part] == sorted((3 + j) % K for j in range(overlap))


# ---- fixed voters


@pytest.mark.thorough
@pytest.mark.parametrize(("overlap", "total_delta"), [(1, None), (1, 2e-5), (3, None), (3, 1e-4), (5, 1e-3)])
def test_fixed_voters_cost_the_composition_of_those_a_record_reaches(overlap: int, total_delta: float | None) -> None:
    model = fixed(overlap=overlap, total_delta=total_delta).fit(X, Y)
    _, each = calibrated_noise(1.0, 1e-5, 0.5, 20, "replace-one")
    if total_delta is None:
        epsilon, delta = overlap * each, overlap * 1e-5
    else:
        epsilon, delta = optimal(each, 1e-5, overlap, total_delta)
    assert model.privacy_.epsilon == pytest.approx(epsilon, rel=1e-15)
    assert model.privacy_.delta == pytest.approx(delta, rel=1e-15)
    rest = (model.privacy_.adjacency, model.privacy_.max_affected, model.privacy_.voters, model.privacy_.queries)
    assert rest == ("replace-one", overlap, "fixed", None)
    before = model.spent_
    assert np.array_equal(model.predict(X), model.predict(X))
    assert model.spent_ == before == (model.privacy_.epsilon, model.privacy_.delta)


@pytest.mark.thorough
def test_fixed_labels_are_the_plain_majority_and_ties_give_the_first_class() -> None:
    parts = [np.arange(i, 1100, 4) for i in range(4)]
    votes = ["yes", "yes", "no", "no"]
    model = fixed(K=4, shards=parts).fit(X, Y)
    model.estimators_ = [DummyClassifier(strategy="constant", constant=vote).fit(X, Y) for vote in votes]
    assert model.predict(X[:2]).tolist() == ["no", "no"]
    model.estimators_[2] = model.estimators_[0]
    assert model.predict(X[:2]).tolist() == ["yes", "yes"]


def test_declared_privacy_is_believed_where_voters_do_not_say_theirs() -> None:
    blind = DummyClassifier(strategy="constant", constant="yes")  # private indeed: it never looks
    model = fixed(estimator=blind, epsilon=0.5, Delta=0.0, overlap=2, total_delta=0.0).fit(X, Y)
    said = "each model is (0.5, 0)-DP, all its answers together, as declared"
    assert model.privacy_ == EnsemblePrivacy(1.0, 0.0, "replace-one", 2, "fixed", None, assumption=said)


@pytest.mark.thorough
@seeded
def test_parallel_training_is_serial_training() -> None:
    one, two = (fixed(overlap=2, n_jobs=jobs, random_state=4).fit(X, Y) for jobs in (1, 3))
    assert all(np.array_equal(a.coef_, b.coef_) for a, b in zip(one.estimators_, two.estimators_, strict=True))
    assert len({voter.random_state for voter in one.estimators_}) == 11  # one seed would give all the same noise
    pair = [fresh(n_jobs=jobs, random_state=4).fit(X, Y).predict(X[:5]).tolist() for jobs in (1, 3)]
    assert pair[0] == pair[1]


# ---- fresh voters


@pytest.mark.parametrize(("overlap", "m", "said"), [(1, 3, "overlap = 1 voter,"), (3, 4.5, "overlap = 3 voters,")])
def test_m_above_the_overlap_has_no_effect_which_is_said(overlap: int, m: float, said: str) -> None:
    with pytest.warns(UserWarning, match=f"^m = {m:g} has no effect: one record affects {said}"):
        model = fresh(overlap=overlap, m=m).fit(X, Y)
    for design in (model.design_, fresh(overlap=overlap).fit(X, Y).design_):
        np.testing.assert_allclose(design.gamma, 1, rtol=1e-12)


@pytest.mark.parametrize("kind", [{"m": 0.7}, {"queries": 3, "K": 3}])
def test_a_fit_with_the_same_parameters_has_the_same_noise_and_a_budget_of_its_own(kind: dict[str, Any]) -> None:
    """Else each fold of a cross-validation would search for it, or spend the labels of the others."""
    first, second = fresh(**kind).fit(X, Y), fresh(**kind).fit(X[::-1], Y[::-1])
    assert first.design_ is second.design_
    first.predict(X[:1])
    assert first.spent_.epsilon > second.spent_.epsilon == 0


@pytest.mark.thorough
def test_m_of_the_overlap_or_below_has_an_effect_or_is_the_default() -> None:
    assert fresh(m=1).fit(X, Y).design_.gamma.min() > 1 - 1e-12
    assert fresh(m=0.5).fit(X, Y).design_.gamma.min() < 0.9


@pytest.mark.parametrize(("overlap", "m"), [(1, None), (3, 1), (3, 2.5), (5, 2)])
def test_fresh_voters_get_the_labels_that_the_exact_composition_allows(overlap: int, m: float | None) -> None:
    model = fresh(overlap=overlap, m=m).fit(X, Y)
    design = darrm.solve(K=5, m=m or overlap, epsilon=1.0, max_affected=overlap)
    assert np.array_equal(model.design_.gamma, design.gamma)
    allowed = max_queries(design, 6.0, 1e-5, voters="fresh")
    assert model.privacy_ == EnsemblePrivacy(6.0, 1e-5, "replace-one", overlap, "fresh", allowed)
    assert model.spent_ == (0.0, 0.0)
    model.predict(X[:1])
    assert model.spent_ == (compose(design, 1, delta=1e-5, voters="fresh").upper, 1e-5)
    model.predict(X[: allowed - 1])
    assert 0 < model.spent_.epsilon <= 6.0


@pytest.mark.thorough
def test_past_the_budget_nothing_is_released_or_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.json"
    drawn: list[int] = []
    for model in (fresh().fit(X, Y), fresh(ledger=path, ledger_create=True).fit(X, Y), pate().fit(X, Y)):
        allowed = model.privacy_.queries
        model.predict(X[:2])
        before, text = model.spent_, path.read_bytes() if path.exists() else b""
        with monkeypatch.context() as patch:
            for where in ("randomized_response", "noisy_max", "released_votes"):
                patch.setattr(f"darrm.mechanisms.{where}.word_source", lambda *_, **__: drawn.append(1))
            with pytest.raises(darrm.BudgetError, match=f"{allowed - 1} more labels .* 2 of {allowed} are released"):
                model.predict(X[: allowed - 1])
        assert not drawn  # not even a coin
        assert model.spent_ == before
        assert (path.read_bytes() if path.exists() else b"") == text
        assert len(model.predict(X[: allowed - 2])) == allowed - 2
        with pytest.raises(darrm.BudgetError):
            model.predict(X[:1])


def test_bad_queries_are_not_charged() -> None:
    model = fresh().fit(X, Y)
    for queries in (X[:1, :2], X[:1] * np.nan):
        with pytest.raises(darrm.InputError):
            model.predict(queries)
    assert model.spent_ == (0.0, 0.0)


@pytest.mark.thorough
def test_a_ledger_outlives_fits(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    first = fresh(ledger=path, ledger_create=True).fit(X, Y)
    first.predict(X[:4])
    second = fresh(ledger=path).fit(X, Y)
    assert second.spent_ == first.spent_ != (0.0, 0.0)
    assert Ledger(path).status()["released"] == 4
    assert second.privacy_ == first.privacy_
    with pytest.raises(darrm.InputError, match="another budget"):
        fresh(ledger=path, total_epsilon=7.0).fit(X, Y)
    with pytest.raises(darrm.InputError, match="another design"):
        fresh(ledger=path, epsilon=0.5).fit(X, Y).predict(X[:1])


@pytest.mark.thorough
@seeded
def test_fresh_labels_have_the_distribution_of_the_kernel() -> None:
    n = 40_000
    model = fresh(overlap=3, m=1, total_epsilon=1e5, random_state=7).fit(X, Y)
    model.estimators_ = [DummyClassifier(strategy="constant", constant=v).fit(X, Y) for v in ("yes",) * 3 + ("no",) * 2]
    ones = model.predict(np.repeat(X[:1], n, axis=0)) == "yes"
    flip = 1 / (1 + math.e)
    chance = 0.0
    kernel = 0.5 + 0.5 * np.sign(np.arange(6) - 2.5) * model.design_.gamma
    for votes in itertools.product([0, 1], repeat=5):
        correct = sum(a == b for a, b in zip(votes, (1, 1, 1, 0, 0), strict=True))
        chance += (1 - flip) ** correct * flip ** (5 - correct) * kernel[sum(votes)]
    assert 0.5 < chance < 0.6
    assert abs(ones.mean() - chance) < 5 * math.sqrt(chance * (1 - chance) / n)
    # A query that comes again is answered anew: pairs of labels are independent.
    pairs = (ones[::2] & ones[1::2]).mean()
    assert abs(pairs - chance**2) < 5 * math.sqrt(chance**2 / (n / 2))


@pytest.mark.thorough
def test_noise_can_be_planned_for_a_number_of_queries() -> None:
    model = fresh(overlap=2, queries=12, total_epsilon=8.0).fit(X, Y)
    assert model.privacy_.queries >= 12
    assert compose(model.design_, 12, delta=1e-5, voters="fresh").upper <= 8.0


# ---- teachers that are not private


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{"sigma": 4.0}, {"sigma": None, "gamma": 0.2}], ids=str)
def test_noisy_max_is_metered(options: dict[str, Any]) -> None:
    model = pate(**options).fit(X, Y)
    queries, mechanism = model.privacy_.queries, model._release.mechanism()

    def epsilon(n: int) -> float:
        return compose(mechanism, n, delta=1e-5, K=21, classes=2).lower

    def without_grid(n: int) -> float:
        if options["sigma"] is None:
            return optimal(0.4, 0.0, n, 1e-5).epsilon
        orders = 1 + np.geomspace(0.01, 1000, 20_001)
        return float((n * orders / 16 + math.log(1e5) / (orders - 1)).min())

    assert epsilon(queries) <= 5.0 < epsilon(queries + 1)
    assert without_grid(queries) > 5.0
    assert set(model.predict(X[:queries])) <= {"yes", "no"}
    assert epsilon(queries) <= model.spent_.epsilon <= 5.0


@pytest.mark.thorough
@seeded
def test_noisy_max_takes_more_classes() -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 900)
    model = pate(random_state=1).fit(np.eye(3)[y], np.array(["a", "b", "c"])[y])
    assert model.predict(np.eye(3)).tolist() == ["a", "b", "c"]


# ---- bad input


class Broken(LogisticRegression):  # type: ignore[misc]
    def fit(self, X: Any, y: Any) -> None:
        raise RuntimeError("no memory")


class Elsewhere(DummyClassifier):  # type: ignore[misc]
    def predict(self, X: Any) -> Any:
        return np.full(len(X), "maybe")


SORTED = np.sort(Y)
THREE = np.arange(len(Y)) % 3
FIFTHS = [np.arange(i, 1100, 5) for i in range(5)]
IN_ORDER = np.array_split(np.arange(1100), 5)
BAD: list[tuple[str, Callable[[], Any], str]] = [
    ("no voters", lambda: fixed(voters=None).fit(X, Y), '"fixed" .* or "fresh" .*Got None. There is no default'),
    ("odd voters", lambda: fixed(voters="both").fit(X, Y), "Got 'both'"),
    ("non-private", lambda: fixed(voters="non-private").fit(X, Y), 'leave voters out and pass teachers="non-private"'),
    ("teachers", lambda: fixed(teachers="public").fit(X, Y), "Got 'public'"),
    ("K > n", lambda: fixed(K=11).fit(X[:10], Y[:10]), "at most the number of records, 10. Got 11"),
    ("K = 0", lambda: fixed(K=0).fit(X, Y), "K must be an integer"),
    ("overlap", lambda: fixed(overlap=12).fit(X, Y), r"\[1, 11\]. Got 12"),
    ("shards, number", lambda: fresh(shards=FIFTHS[:4]).fit(X, Y), "each of K = 5 voters. Got 4"),
    (
        "shards, twice",
        lambda: fresh(shards=[*FIFTHS[:4], FIFTHS[0]]).fit(X, Y),
        "exactly overlap = 1.*Record 0 is in 2",
    ),
    ("shards, range", lambda: fresh(shards=[*FIFTHS[:4], [1100]]).fit(X, Y), r"\[0, 1099\]"),
    ("shards, repeated", lambda: fresh(shards=[*FIFTHS[:4], [4, 4]]).fit(X, Y), "twice"),
    ("shards, floats", lambda: fresh(shards=[[0.5]] * 5).fit(X, Y), "integers"),
    ("shards, overlap", lambda: fresh(shards=FIFTHS, overlap=2, m=1).fit(X, Y), "exactly overlap = 2"),
    ("one class in a shard", lambda: fresh(shards=IN_ORDER).fit(X, SORTED), "Shard 0 holds one class, no"),
    ("one class", lambda: fixed().fit(X, np.zeros(1100)), "two classes. Got one class"),
    ("three classes", lambda: fixed().fit(X, np.arange(1100) % 3), "Only binary classification"),
    ("real labels", lambda: fresh().fit(X, X[:, 0]), "Unknown label type"),
    ("real labels, PATE", lambda: pate().fit(X, X[:, 0]), "Unknown label type"),
    ("one class, PATE", lambda: pate().fit(X, np.zeros(1100)), "Got one class"),
    (
        "broken teacher",
        lambda: fresh(estimator=Broken()).fit(X, Y),
        "Voter 0 could not be fitted: RuntimeError: no mem",
    ),
    ("other labels", lambda: fresh(estimator=Elsewhere()).fit(X, Y).predict(X[:1]), "must predict one of"),
    ("no estimator", lambda: fresh(estimator=3).fit(X, Y), "scikit-learn classifier. Got 3"),
    ("no classifier", lambda: fresh(estimator=FunctionTransformer()).fit(X, Y), "with fit and predict"),
    ("shapes", lambda: fixed().fit(X, Y[:-1]), "inconsistent numbers of samples"),
    ("columns", lambda: fixed().fit(X, Y).predict(X[:, :2]), "2 features"),
    ("NaN", lambda: fixed().fit(np.where(X > 1, np.nan, X), Y), "NaN"),
    ("m of 0", lambda: fresh(m=0).fit(X, Y), r"m must be in \(0, K\]"),
    ("m above K", lambda: fresh(m=6).fit(X, Y), r"m must be in \(0, K\] = \(0, 5\]"),
    ("m is NaN", lambda: fresh(m=math.nan).fit(X, Y), "m must be"),
    ("m, fixed", lambda: fixed(m=2).fit(X, Y), "m must not be given for fixed voters"),
    ("m and queries", lambda: fresh(m=1, queries=3).fit(X, Y), "at most one of m and queries"),
    ("Delta, fresh", lambda: fresh(Delta=0.1).fit(X, Y), "Delta must not be given for fresh"),
    ("sigma, fresh", lambda: fresh(sigma=1.0).fit(X, Y), "sigma must not be given for fresh"),
    ("no epsilon", lambda: fresh(epsilon=None).fit(X, Y), "need epsilon, that of one answer"),
    ("epsilon", lambda: fresh(epsilon=-1.0).fit(X, Y), "above 0"),
    ("large epsilon", lambda: fresh(epsilon=5.0, overlap=5).fit(X, Y), "at most 20 for fresh voters. Got 25"),
    ("no budget", lambda: fresh(total_delta=None).fit(X, Y), "need total_epsilon and total_delta"),
    ("budget is NaN", lambda: fresh(total_epsilon=math.nan).fit(X, Y), "total_epsilon must be in"),
    ("adjacency", lambda: fixed(adjacency="add-remove").fit(X, Y), "Shards go by position"),
    (
        "adjacency of teachers",
        lambda: fixed(estimator=teacher(1.0, adjacency="add-remove", n_records=100)).fit(X, Y),
        "under adjacency 'replace-one'. Got 'add-remove'",
    ),
    ("Delta missing", lambda: fixed(estimator=LogisticRegression(), Delta=None).fit(X, Y), r"^Delta is missing\. "),
    ("not private", lambda: fixed(estimator=LogisticRegression(), Delta=None).fit(X, Y), "has no epsilon_ and delta_"),
    ("epsilon missing", lambda: fixed(estimator=LogisticRegression(), epsilon=None).fit(X, Y), "^epsilon is missing"),
    (
        "both missing",
        lambda: fixed(estimator=LogisticRegression(), epsilon=None, Delta=None).fit(X, Y),
        "^epsilon and Delta are missing",
    ),
    ("fixed, epsilons", lambda: fixed(epsilon=[1, 2]).fit(X, Y), r"darrm\.VoterGroup.*DecisionProblem"),
    ("fresh, epsilons", lambda: fresh(epsilon=np.array([1.0, 2.0])).fit(X, Y), "one number, the same for all voters"),
    ("Deltas", lambda: fixed(Delta=(0.0, 0.1)).fit(X, Y), "Delta must be one number"),
    ("fixed, three classes", lambda: fixed().fit(X, THREE), "takes two classes. For more pass another private"),
    ("Fixed", lambda: fixed(voters="Fixed").fit(X, Y), "Got 'Fixed'. Pass \"fixed\"."),
    (
        "private model behind a step that may not be",
        lambda: fixed(estimator=make_pipeline(FunctionTransformer(), teacher(1.0)), epsilon=None, Delta=None).fit(X, Y),
        "Pipeline has no epsilon_",
    ),
    ("more than declared", lambda: fixed(estimator=teacher(2.0)).fit(X, Y), "above the declared"),
    ("one seed for all", lambda: fixed(estimator=teacher(1.0, random_state=1)).fit(X, Y), "no random_state"),
    ("seed", lambda: fixed(random_state="x").fit(X, Y), "random_state must be None or a seed"),
    ("total_delta", lambda: fixed(overlap=3, total_delta=1e-5).fit(X, Y), "total_delta = 1e-05 is below the"),
    ("jobs", lambda: fixed(n_jobs=0).fit(X, Y), "n_jobs must be an integer"),
    ("overlap, PATE", lambda: pate(overlap=2).fit(X, Y), "disjoint shards"),
    ("no noise", lambda: pate(sigma=None).fit(X, Y), "either gamma .* or sigma"),
    ("pure Gaussian", lambda: pate(total_delta=0.0).fit(X, Y), "total_delta above 0"),
    ("DP-SGD, no target", lambda: DPLogisticRegression().fit(X, Y), "needs epsilon and delta"),
    ("DP-SGD, epsilon", lambda: teacher(math.nan).fit(X, Y), r"epsilon must be in \(0, 100\]"),
    ("DP-SGD, large epsilon", lambda: teacher(101.0).fit(X, Y), r"\(0, 100\]"),
    ("DP-SGD, delta", lambda: DPLogisticRegression(1.0, 1.0).fit(X, Y), r"delta must be in \(0, 1\)"),
    ("DP-SGD, rate", lambda: teacher(1.0, sampling_rate=1.5).fit(X, Y), r"sampling_rate must be in \(0, 1\]"),
    ("DP-SGD, steps", lambda: teacher(1.0, steps=0).fit(X, Y), "steps must be an integer"),
    ("DP-SGD, clip", lambda: teacher(1.0, clip=0.0).fit(X, Y), "clip must be"),
    ("DP-SGD, adjacency", lambda: teacher(1.0, adjacency="swap").fit(X, Y), "Got 'swap'"),
    ("DP-SGD, n", lambda: teacher(1.0, adjacency="add-remove").fit(X, Y), "Pass n_records"),
    ("DP-SGD, classes", lambda: teacher(1.0, classes=[1]).fit(X, Y), "classes must be two labels"),
    ("DP-SGD, other class", lambda: teacher(1.0, classes=["no", "maybe"]).fit(X, Y), "maybe and no only"),
    ("shards of more", lambda: shards(3, 4), "Got 4"),
]


@pytest.mark.first(25)
@seeded
@pytest.mark.parametrize(("call", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_input_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(darrm.InputError, match=message):
        call()


@pytest.mark.parametrize(
    "model", [fixed(overlap=3, total_epsilon=2.5), fresh(total_epsilon=0.5), pate(sigma=1.0, total_epsilon=0.1)]
)
def test_a_budget_that_does_not_pay_is_refused(model: PrivateMajorityClassifier) -> None:
    with pytest.raises(darrm.BudgetError):
        model.fit(X, Y)
    assert not hasattr(model, "estimators_")


# ---- scikit-learn


ONE_OF_EACH = list({type(one): one for one in reversed(estimator_checks.ENSEMBLE)}.values())
OTHERS = [one for one in estimator_checks.ENSEMBLE if all(one is not first for first in ONE_OF_EACH)]


@pytest.mark.first(6)
@seeded
@parametrize_with_checks(ONE_OF_EACH, expected_failed_checks=estimator_checks.cannot_hold)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.thorough
@pytest.mark.first(0, 60)
@seeded
@parametrize_with_checks(OTHERS, expected_failed_checks=estimator_checks.cannot_hold)
def test_scikit_learn_checks_of_others(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


# ---- the package and its page


@pytest.mark.thorough
@pytest.mark.parametrize("missing", ["sklearn", *thorough("dp_accounting")])
def test_what_is_missing_is_said(missing: str) -> None:
    program = Path(__file__).with_name("programs") / "without.py"
    ended = subprocess.run([sys.executable, program, missing], capture_output=True, text=True, timeout=60, check=True)
    assert "pip install 'darrm[experiments]'" in ended.stdout


@pytest.mark.thorough
def test_the_page_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "ensembles.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, names)
    assert names["fixed"].privacy_.epsilon <= 1.0
    assert names["fixed"].score(names["X"], names["y"]) > 0.8
    assert names["several"].privacy_.epsilon <= 3.0
    assert names["prefitted"].privacy_.epsilon <= 2.0
    assert names["fresh"].spent_.epsilon <= 5.0
    assert names["teachers"].spent_.epsilon <= 5.0
    assert capsys.readouterr().out.count("Nothing was released") == 1


@pytest.mark.parametrize(
    "options",
    [{"clip": 1.7e308}, {"clip": 5e-324}, {"learning_rate": 1e308}, {"n_records": 1e-308}, {"n_records": 0.5}],
    ids=str,
)
def test_numbers_that_would_undo_the_clipping(options: dict[str, float]) -> None:
    X, y = np.full((40, 1), 0.5), np.arange(40) % 2
    with pytest.raises(darrm.InputError):
        DPLogisticRegression(0.1, 1e-5, sampling_rate=1.0, steps=2, fit_intercept=False, **options).fit(X, y)


@pytest.mark.thorough
def test_no_row_turns_the_model_into_nan() -> None:
    X, y = np.full((40, 1), 0.5), np.arange(40) % 2
    X[0] = 0.0
    options = {"clip": 1e100, "learning_rate": 1e100, "n_records": 1.0}
    model = DPLogisticRegression(0.1, 1e-5, sampling_rate=1.0, steps=3, fit_intercept=False, **options).fit(X, y)
    assert np.isfinite(model.coef_).all()


@pytest.mark.thorough
def test_one_declared_limit_is_kept_alone() -> None:
    X, y = np.random.default_rng(3).normal(size=(600, 2)), np.arange(600) % 2
    for limit in ({"epsilon": 0.5}, {"Delta": 1e-9}):
        with pytest.raises(darrm.InputError, match="above the declared"):
            PrivateMajorityClassifier(DPLogisticRegression(5.0, 1e-3), voters="fixed", K=3, **limit).fit(X, y)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("epsilon", "delta", "rate", "steps", "least"),
    [
        (1.0, 0.01, 1e-3, 5, 1.0),
        (50.0, 1e-5, 0.01, 1, 1.0),
        *slow((1.0, 0.5, 0.5, 1, 1.0), (1.0, 0.5, 0.5, 1, 0.25)),
    ],
)
def test_no_noise_is_asked_for_so_the_least_is_taken(
    epsilon: float, delta: float, rate: float, steps: int, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert dp_sgd.LEAST_NOISE == 0.25
    monkeypatch.setattr(dp_sgd, "LEAST_NOISE", least)  # below 1 the accountant takes seconds
    monkeypatch.setattr(dp_sgd, "_calibrate", dp_sgd._calibrate.__wrapped__)  # nothing is kept from another least
    noise, spent = calibrated_noise(epsilon, delta, rate, steps, "replace-one")
    assert noise == pytest.approx(least)
    assert spent <= epsilon

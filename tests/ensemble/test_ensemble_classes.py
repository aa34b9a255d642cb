"""Ensembles of several classes: the same budgets, the labels of the design, and what noisy max costs exactly."""

import itertools
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import slow, thorough
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

import darrm
from darrm.accounting import Ledger, compose, max_queries
from darrm.accounting.budgets import MemoryBudget
from darrm.accounting.noisy_max import upper_of_any_votes
from darrm.design.design import Design as DecisionDesign
from darrm.design.rules import cost_of
from darrm.ensemble import EnsemblePrivacy, PrivateMajorityClassifier, noisy_max
from darrm.mechanisms import GaussianNoisyMax
from darrm.objectives import randomized_response_accuracy
from darrm.problem.counts import sorted_counts

seeded = pytest.mark.filterwarnings("ignore::darrm.randomness.words.NotPrivateWarning")
NAMES = np.array(["a", "b", "c"])
KIND = np.random.default_rng(0).integers(0, 3, 600)
X = np.eye(3)[KIND] + np.random.default_rng(1).normal(size=(600, 3)) / 4
Y = NAMES[KIND]


def fixed(**options: Any) -> PrivateMajorityClassifier:
    model = LogisticRegression()
    return PrivateMajorityClassifier(model, **{"voters": "fixed", "K": 5, "epsilon": 1.0, "Delta": 0.0} | options)


def fresh(**options: Any) -> PrivateMajorityClassifier:
    return PrivateMajorityClassifier(
        **{"voters": "fresh", "epsilon": 1.0, "total_epsilon": 6.0, "total_delta": 1e-5, "K": 5} | options
    )


def pate(**options: Any) -> PrivateMajorityClassifier:
    return PrivateMajorityClassifier(
        **{"teachers": "non-private", "total_epsilon": 5.0, "total_delta": 1e-5, "K": 5} | options
    )


def voting(model: PrivateMajorityClassifier, votes: str) -> PrivateMajorityClassifier:
    """The fitted model with voters that always cast these votes."""
    model.estimators_ = [DummyClassifier(strategy="constant", constant=vote).fit(X, Y) for vote in votes]
    return model


def test_fixed_voters_release_the_class_of_most_votes_and_cost_what_two_classes_do() -> None:
    model = fixed(overlap=2, total_delta=0.0).fit(X, Y)
    said = "each model is (1, 0)-DP, all its answers together, as declared"
    assert model.privacy_ == EnsemblePrivacy(2.0, 0.0, "replace-one", 2, "fixed", None, assumption=said)
    assert model.score(X, Y) > 0.9
    assert voting(model, "bcacb").predict(X[:2]).tolist() == ["b", "b"]  # the first of equals
    assert voting(model, "bcacc").predict(X[:1]).tolist() == ["c"]


@pytest.mark.thorough
@pytest.mark.parametrize(("overlap", "m"), [(1, None), (2, None), (2, 1.0), (1, 0.5)])
def test_fresh_voters_get_a_decision_and_what_it_allows(overlap: int, m: float | None) -> None:
    model = fresh(overlap=overlap, m=m).fit(X, Y)
    design, asked = model.design_, float(m or overlap)
    assert isinstance(design, DecisionDesign)
    assert design.problem.n_classes == 3
    assert design.problem.max_affected == overlap
    assert design.problem.epsilon == pytest.approx(asked, rel=1e-12)
    assert design.problem.delta == 0
    allowed = max_queries(design, 6.0, 1e-5, voters="fresh")
    assert model.privacy_ == EnsemblePrivacy(6.0, 1e-5, "replace-one", overlap, "fresh", allowed)
    assert model.spent_ == (0.0, 0.0)
    model.predict(X[:allowed])
    assert model.spent_ == (min(6.0, compose(design, allowed, delta=1e-5, voters="fresh").upper), 1e-5)
    with pytest.raises(darrm.BudgetError):
        model.predict(X[:1])


def test_without_m_the_plurality_is_released_and_m_above_the_overlap_says_so() -> None:
    plain = fresh().fit(X, Y).design_
    chances = plain.probabilities(np.array([[4, 1, 0], [2, 3, 0], [1, 3, 1], [2, 1, 2]])[:, None])
    np.testing.assert_allclose(chances, [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0.5, 0, 0.5]], atol=1e-12)
    with pytest.warns(UserWarning, match="^m = 2 has no effect"):
        above = fresh(m=2).fit(X, Y).design_
    assert np.array_equal(above.table, plain.table)


@pytest.mark.thorough
def test_the_noise_is_solved_for_the_accuracy_that_is_said() -> None:
    for base in (0.6, 0.9):
        design = fresh(m=0.5, base_accuracy=base).fit(X, Y).design_
        truth = darrm.objectives.truth([randomized_response_accuracy(base, 1.0, 3)])
        assert design == darrm.solve(design.problem, objective=truth)


@pytest.mark.thorough
@seeded
def test_fresh_labels_have_the_distribution_of_responses_and_decision() -> None:
    n = 30_000
    model = voting(fresh(K=3, m=0.5, total_epsilon=1e5, random_state=3).fit(X, Y), "abb")
    labels = model.predict(np.repeat(X[:1], n, axis=0))
    keep = math.e / (math.e + 2)
    chances = np.zeros(3)
    for answers in itertools.product(range(3), repeat=3):
        weight = math.prod(keep if a == b else (1 - keep) / 2 for a, b in zip(answers, (0, 1, 1), strict=True))
        chances += weight * model.design_.probabilities(np.bincount(answers, minlength=3)[None, None])[0]
    found = np.array([(labels == name).mean() for name in NAMES])
    assert chances[1] > chances[0] + 0.02 > chances[2] + 0.03
    assert np.abs(found - chances).max() < 5 * math.sqrt(0.25 / n)


@pytest.mark.thorough
@pytest.mark.parametrize("model", [fresh(queries=10), pate(queries=6)], ids=["fresh", "non-private"])
def test_noise_is_planned_for_a_number_of_labels_within_the_total(model: PrivateMajorityClassifier) -> None:
    fitted = clone(model).fit(X, Y)
    design, asked = fitted.design_, model.queries
    assert fitted.privacy_.queries >= asked
    assert compose(design, asked, delta=1e-5, voters="fresh").upper <= model.total_epsilon
    assert compose(design, 2 * asked, delta=1e-5, voters="fresh").upper > model.total_epsilon  # nothing is left over
    fitted.predict(X[:asked])
    assert 0 < fitted.spent_.epsilon <= model.total_epsilon


@seeded
def test_planned_labels_of_teachers_are_drawn_from_the_table() -> None:
    n = 30_000
    model = voting(pate(K=3, queries=1, total_epsilon=2.0, random_state=3).fit(X, Y), "abb")
    model._release.budget = MemoryBudget(n)
    labels = model.predict(np.repeat(X[:1], n, axis=0))
    chances = model.design_.probabilities(np.array([[[1, 2, 0]]]))[0]
    assert 0.34 < chances[1] < 0.99
    found = np.array([(labels == name).mean() for name in NAMES])
    assert np.abs(found - chances).max() < 5 * math.sqrt(0.25 / n)


@pytest.mark.thorough
def test_a_plan_is_not_more_often_wrong_than_noisy_max_of_the_same_total() -> None:
    sigma = darrm.accounting.noisy_max_parameter(darrm.mechanisms.GaussianNoisyMax, 6, 5.0, 1e-5, K=5, classes=3)
    design = pate(queries=6).fit(X, Y).design_
    table = GaussianNoisyMax(sigma).chances(sorted_counts(5, 3))
    truth = darrm.objectives.truth([0.75])
    assert design.expected_cost < cost_of(table, design.problem, truth)


@pytest.mark.thorough
@pytest.mark.parametrize("options", [*slow({"sigma": 4.0}), {"gamma": 0.2}], ids=str)
def test_noisy_max_pays_by_its_exact_total(options: dict[str, float]) -> None:
    model = pate(**options).fit(X, Y)
    labels, release = model.privacy_.queries, model._release
    assert model.privacy_.accounting == "exact"
    assert not hasattr(model, "design_")
    mechanism = release.mechanism()
    assert compose(mechanism, labels, delta=1e-5, K=5, classes=3).lower <= 5.0
    assert compose(mechanism, labels + 2, delta=1e-5, K=5, classes=3).lower > 5.0
    assert upper_of_any_votes(mechanism, labels, 1e-5) > 5.0  # more than the bounds for any votes pay for
    model.predict(X[:labels])
    exact = compose(mechanism, labels, delta=1e-5, K=5, classes=3)
    assert exact.lower <= model.spent_.epsilon <= 5.0


@pytest.mark.thorough
def test_what_is_too_large_for_the_exact_total_is_charged_by_looser_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("darrm.accounting.noisy_max._MOST_EXACT", 3)
    for options, said in (({"sigma": 4.0}, "ladder of Gaussian profiles"), ({"gamma": 0.2}, "optimal composition")):
        model = pate(**options).fit(X, Y)
        labels = model.privacy_.queries
        assert model.privacy_.accounting == said
        mechanism = model._release.mechanism()
        assert upper_of_any_votes(mechanism, labels, 1e-5) <= 5.0 < upper_of_any_votes(mechanism, labels + 1, 1e-5)
        model.predict(X[:2])
        assert model.spent_.epsilon == upper_of_any_votes(mechanism, 2, 1e-5)


@pytest.mark.thorough
def test_the_number_of_labels_of_a_hundred_by_25_teachers() -> None:
    # mu = sqrt(2) / sigma = .2: Gaussian DP has 10.00 for a hundred labels, exact are 7.65 (docs/howto/pate.md).
    counted = [
        noisy_max.NoisyMax(None, 50**0.5, epsilon, 1e-5, "replace-one", 25, 3).privacy.queries
        for epsilon in (7.6, 7.66)
    ]
    assert counted[0] < 100 <= counted[1]


@pytest.mark.thorough
@pytest.mark.parametrize("model", [fresh(), *slow(pate(queries=6))], ids=["fresh", "non-private"])
def test_a_ledger_is_shared_by_fits_and_processes(model: PrivateMajorityClassifier, tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    model = clone(model).set_params(ledger=path)
    first, second = clone(model).set_params(ledger_create=True).fit(X, Y), clone(model).fit(X, Y)
    allowed = first.privacy_.queries
    first.predict(X[:2])
    assert second.spent_ == first.spent_ != (0.0, 0.0)
    pickled, rows = tmp_path / "model.pickle", tmp_path / "rows.npy"
    pickled.write_bytes(pickle.dumps(first))
    np.save(rows, X[:2])
    program = Path(__file__).with_name("programs") / "predict_pickled.py"
    ended = subprocess.run(
        [sys.executable, program, pickled, rows], capture_output=True, text=True, timeout=120, check=True
    )
    assert len(ended.stdout.split()) == 2
    assert Ledger(path).status()["released"] == 4
    before = path.read_bytes()
    with pytest.raises(darrm.BudgetError):
        second.predict(X[: allowed - 3])
    assert path.read_bytes() == before
    assert second.spent_ == first.spent_


@pytest.mark.thorough
@pytest.mark.parametrize(
    "model",
    [fixed(), fresh(), pate(sigma=4.0), *thorough(pate(gamma=0.2), pate(queries=6))],
    ids=lambda model: str(model)[26:60],
)
def test_pickles_and_parallel_training(model: PrivateMajorityClassifier) -> None:
    model = model if model.voters == "fixed" else clone(model).set_params(copies=2)
    one, two = clone(model).fit(X, Y), clone(model).set_params(n_jobs=2).fit(X, Y)
    assert all(np.array_equal(a.coef_, b.coef_) for a, b in zip(one.estimators_, two.estimators_, strict=True))
    labels = one.predict(X[:2])
    assert set(labels) <= set(NAMES)
    again = pickle.loads(pickle.dumps(one))
    assert again.spent_ == (one.spent_ if model.voters == "fixed" else (0.0, 0.0))
    assert again.privacy_ == one.privacy_
    assert set(again.predict(X[:2])) <= set(NAMES)


@pytest.mark.thorough
def test_nothing_is_drawn_before_it_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    for model in (fresh().fit(X, Y), pate(queries=6).fit(X, Y), pate(sigma=4.0).fit(X, Y)):
        allowed = model.privacy_.queries
        with monkeypatch.context() as patch:
            for where in ("randomized_response", "noisy_max", "released_votes"):
                patch.setattr(f"darrm.mechanisms.{where}.word_source", lambda *_, **__: drawn.append(1))
            with pytest.raises(darrm.BudgetError, match=f"{allowed + 1} more labels"):
                model.predict(X[: allowed + 1])
        assert not drawn
        assert model.spent_ == (0.0, 0.0)
        assert len(model.predict(X[:allowed])) == allowed


@pytest.mark.thorough
def test_two_classes_of_planned_teachers() -> None:
    model = pate(queries=5).fit(X, KIND > 0)
    assert compose(model.design_, 5, delta=1e-5, voters="fresh").upper <= 5.0
    assert set(model.predict(X[:5])) <= {True, False}


BAD: list[tuple[str, Callable[[], Any], str]] = [
    ("DP-SGD tells two", lambda: fixed().set_params(estimator=None).fit(X, Y), "Only binary.*takes two classes"),
    ("sigma and queries", lambda: pate(sigma=1.0, queries=3).fit(X, Y), "Pass one of the three"),
    ("a ledger of Laplace noise", lambda: pate(gamma=0.2, ledger="x.db").fit(X, Y), "Pass sigma or queries in place"),
    ("a guess", lambda: fresh(base_accuracy=1 / 3).fit(X, Y), "base_accuracy must be .*accuracy of one"),
    ("base is NaN", lambda: pate(queries=3, base_accuracy=math.nan).fit(X, Y), "base_accuracy must be"),
    ("no labels", lambda: pate(queries=0).fit(X, Y), "queries must be an integer"),
    ("m above K", lambda: fresh(m=6).fit(X, Y), r"m must be in \(0, K\] = \(0, 5\]"),
    ("m of 0", lambda: fresh(m=0).fit(X, Y), r"m must be in \(0, K\]"),
    ("no noise", lambda: pate().fit(X, Y), "either gamma .* or sigma"),
    ("m of teachers", lambda: pate(m=1.0, queries=3).fit(X, Y), "m must not be given for non-private"),
    ("large epsilon", lambda: fresh(epsilon=21.0).fit(X, Y), "at most 20 for fresh voters. Got 21"),
]


@pytest.mark.parametrize(("call", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_input_of_several_classes_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(darrm.InputError, match=message):
        call()


def test_a_budget_that_does_not_pay_for_several_classes() -> None:
    for model in (fresh(total_epsilon=0.5), pate(sigma=1.0, total_epsilon=0.1)):
        with pytest.raises(darrm.BudgetError):
            model.fit(X, Y)
        assert not hasattr(model, "estimators_")

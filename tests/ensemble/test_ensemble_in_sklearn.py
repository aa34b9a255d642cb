"""Ensembles beside the rest of scikit-learn: vote shares, weights and other metadata, sparse matrices, frames."""

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import sklearn
from cases import thorough
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.metadata_routing import get_routing_for_object

import darrm
from darrm.ensemble import DPLogisticRegression, PrivateMajorityClassifier, shards

N = 400
RNG = np.random.default_rng(8)
X = RNG.normal(size=(N, 3))
Y = np.where(X[:, 0] + RNG.normal(size=N) / 2 > 0, "yes", "no")
KIND = np.where(X[:, 1] > 0.7, "maybe", Y)
WEIGHTS = RNG.random(N) + 0.5
BUDGET = {"total_epsilon": 6.0, "total_delta": 1e-5}


def fixed(**options: Any) -> PrivateMajorityClassifier:
    known = {"estimator": LogisticRegression(), "voters": "fixed", "K": 5, "epsilon": 1.0, "Delta": 0.0}
    return PrivateMajorityClassifier(**known | options)


def fresh(**options: Any) -> PrivateMajorityClassifier:
    return PrivateMajorityClassifier(**{"voters": "fresh", "K": 5, "epsilon": 1.0, **BUDGET} | options)


def pate(**options: Any) -> PrivateMajorityClassifier:
    return PrivateMajorityClassifier(**{"teachers": "non-private", "K": 5, "sigma": 4.0, **BUDGET} | options)


NOISY = pytest.mark.parametrize("model", [fresh(), pate()], ids=["fresh", "non-private"])


# ---- vote shares


def saying(answers: list[str], y: Any) -> PrivateMajorityClassifier:
    voters = [DummyClassifier(strategy="constant", constant=answer).fit(X, y) for answer in answers]
    return fixed(estimator=None, estimators=[FrozenEstimator(voter) for voter in voters], K=None).fit(X, y)


def test_shares_of_two_classes() -> None:
    for answers, share in [("nnnyn", 0.2), ("nyyy", 0.75), ("ny", 0.5), ("n", 0.0)]:
        model = saying(["no" if answer == "n" else "yes" for answer in answers], Y)
        assert model.predict_proba(X[:2]) == pytest.approx(np.array([[1 - share, share]] * 2), rel=1e-15)
        assert model.decision_function(X[:2]) == pytest.approx([2 * share - 1] * 2, rel=1e-15)
        assert model.predict(X[:1]).tolist() == ["yes" if share > 0.5 else "no"]


def test_shares_of_several_classes() -> None:
    model = saying(["yes", "no", "yes", "maybe", "no"], KIND)
    assert model.predict_proba(X[:1]) == pytest.approx(np.array([[0.2, 0.4, 0.4]]))
    assert model.decision_function(X[:1]) == pytest.approx(np.array([[0.2, 0.4, 0.4]]))
    assert model.predict(X[:1]).tolist() == ["no"]  # the first of equals


@pytest.mark.parametrize(("y", "K"), [(Y, 4), (Y, 2), (KIND, 6), (KIND, 2)])
def test_the_largest_share_is_what_predict_gives_ties_included(y: Any, K: int) -> None:
    model = fixed(K=K, estimator=DecisionTreeClassifier(max_depth=2)).fit(X, y)
    shares, scores, labels = model.predict_proba(X), model.decision_function(X), model.predict(X)
    assert (np.sort(shares, axis=1)[:, -1] == np.sort(shares, axis=1)[:, -2]).any()  # ties there are
    assert np.array_equal(model.classes_[shares.argmax(axis=1)], labels)
    second = scores > 0 if y is Y else scores.argmax(axis=1)
    assert np.array_equal(model.classes_[second.astype(int)], labels)
    assert shares.sum(axis=1) == pytest.approx(np.ones(N), rel=1e-12)
    assert np.allclose(shares * K, np.round(shares * K))


def test_shares_are_charged_for_by_no_budget() -> None:
    model = fixed().fit(X, Y)
    before = model.spent_
    model.predict_proba(X)
    model.decision_function(X)
    assert model.spent_ == before == (1.0, 0.0)


@pytest.mark.thorough
@NOISY
@pytest.mark.parametrize("name", ["predict_proba", "decision_function"])
def test_votes_under_noise_have_no_shares(model: PrivateMajorityClassifier, name: str) -> None:
    fitted = clone(model).fit(X, Y)
    pretending = clone(model).set_params(copies=2).fit(X, Y).set_params(teachers="private", voters="fixed")
    for ensemble in (model, fitted, pretending, pickle.loads(pickle.dumps(pretending))):
        assert not hasattr(ensemble, name)
        with pytest.raises(AttributeError) as raised:
            getattr(ensemble, name)
        assert "hides them" in str(raised.value.__cause__)
        assert "Call predict, or use voters that are private themselves" in str(raised.value.__cause__)
        with pytest.raises(AttributeError):
            getattr(PrivateMajorityClassifier, name)(ensemble, X)  # unbound either
    assert fitted.spent_ == (0.0, 0.0)
    assert hasattr(fixed(), name)
    assert hasattr(fixed().fit(X, Y), name)


@pytest.mark.thorough
def test_scorers_and_calibration_take_fixed_voters() -> None:
    model = fixed().fit(X, Y)
    assert get_scorer("roc_auc")(model, X, Y) == roc_auc_score(Y, model.predict_proba(X)[:, 1]) > 0.8
    numbered = fixed().fit(X, Y == "yes")
    assert get_scorer("neg_brier_score")(numbered, X, Y == "yes") > -0.2
    assert cross_val_score(fixed(), X, Y, cv=3, scoring="roc_auc").min() > 0.8
    assert get_scorer("roc_auc_ovr")(fixed().fit(X, KIND), X, KIND) > 0.7
    for calibrated in (
        CalibratedClassifierCV(fixed(), cv=2).fit(X, Y),
        CalibratedClassifierCV(FrozenEstimator(model)).fit(X, Y),
    ):
        assert calibrated.predict_proba(X).shape == (N, 2)
        assert calibrated.score(X, Y) > 0.8
    assert model.score(X, Y, sample_weight=WEIGHTS) == pytest.approx(
        WEIGHTS[model.predict(X) == Y].sum() / WEIGHTS.sum()
    )


@NOISY
def test_scorers_that_need_shares_refuse_labels_under_noise(model: PrivateMajorityClassifier) -> None:
    fitted = clone(model).fit(X, Y)
    with pytest.raises(AttributeError):
        get_scorer("roc_auc")(fitted, X[:3], Y[:3])
    assert fitted.spent_ == (0.0, 0.0)


@pytest.mark.thorough
def test_a_search_over_the_parameters_of_voters() -> None:
    search = GridSearchCV(fixed(), {"estimator__C": [1e-6, 1.0], "K": [3, None]}, cv=2).fit(X, Y)
    assert search.best_params_["estimator__C"] == 1.0
    assert len(search.best_estimator_.estimators_) in (3, 11)


# ---- weights and other metadata


class Recorder(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Answers with the class of most weight, and tells what came to fit."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, clinic: Any = None, setting: Any = None) -> "Recorder":
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.first_ = self.classes_[np.bincount(codes, sample_weight).argmax()]
        self.came_ = {"sample_weight": sample_weight, "clinic": clinic, "setting": setting}
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.first_)


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@NOISY
@pytest.mark.parametrize("kind", [np.asarray, list, "pandas", "polars"])
def test_weights_go_where_their_records_go(model: PrivateMajorityClassifier, kind: Any) -> None:
    if isinstance(kind, str):
        kind = pytest.importorskip(kind).Series
    fitted = clone(model).set_params(estimator=Recorder()).fit(X, Y, sample_weight=kind(WEIGHTS))
    for voter, part in zip(fitted.estimators_, shards(N, 5), strict=True):
        assert np.array_equal(voter.came_["sample_weight"], WEIGHTS[part])
    none = clone(model).set_params(estimator=Recorder()).fit(X, Y, sample_weight=None)
    assert none.estimators_[0].came_["sample_weight"] is None


def test_voters_are_trained_with_their_weights() -> None:
    model = fresh().fit(X, Y, sample_weight=WEIGHTS)
    for voter, part in zip(model.estimators_, shards(N, 5), strict=True):
        wanted = LogisticRegression().fit(X[part], Y[part], sample_weight=WEIGHTS[part])
        assert np.array_equal(voter.coef_, wanted.coef_)
        assert not np.allclose(voter.coef_, LogisticRegression().fit(X[part], Y[part]).coef_, rtol=1e-6)


@pytest.mark.parametrize("overlap", [1, 3])
def test_a_record_of_another_weight_reaches_the_voters_of_its_shards_alone(overlap: int) -> None:
    before = fresh(overlap=overlap, m=1.0).fit(X, Y, sample_weight=WEIGHTS)
    features, labels, weights = X.copy(), Y.copy(), WEIGHTS.copy()
    features[7], labels[7], weights[7] = 9.0, "no", 1000.0
    after = fresh(overlap=overlap, m=1.0).fit(features, labels, sample_weight=weights)
    pairs = zip(before.estimators_, after.estimators_, strict=True)
    changed = [i for i, (one, other) in enumerate(pairs) if not np.array_equal(one.coef_, other.coef_)]
    assert changed == sorted((7 + j) % 5 for j in range(overlap))


def test_prefitted_voters_get_no_weights() -> None:
    there = FrozenEstimator(KNeighborsClassifier().fit(X, Y))  # whose fit takes no weights
    parts = [np.arange(0), *shards(N, 2)]
    model = fresh(estimators=[there, Recorder(), Recorder()], K=None, shards=parts).fit(X, Y, sample_weight=WEIGHTS)
    assert np.array_equal(model.estimators_[2].came_["sample_weight"], WEIGHTS[parts[2]])


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        (fixed(), {"sample_weight": WEIGHTS}, "sample_weight must not be given for fixed voters: a weight changes"),
        (fixed(estimator=DPLogisticRegression()), {"sample_weight": WEIGHTS}, "for fixed voters"),
        (fresh(estimator=KNeighborsClassifier()), {"sample_weight": WEIGHTS}, "fit of KNeighborsClassifier takes none"),
        (
            pate(estimators=[LogisticRegression(), KNeighborsClassifier()], K=None),
            {"sample_weight": WEIGHTS},
            "fit of KNeighborsClassifier takes none",
        ),
        (fresh(estimator=DPLogisticRegression(1.0, 1e-5)), {"sample_weight": WEIGHTS}, "Regression takes none"),
        (fresh(), {"sample_weight": WEIGHTS[1:]}, r"sample_weight must .*400"),
        (fresh(), {"sample_weight": -WEIGHTS}, "sample_weight must be"),
        (fresh(), {"sample_weight": WEIGHTS * np.nan}, "sample_weight must be"),
        (fresh(), {"sample_weight": 0 * WEIGHTS}, "must not be all zero"),
        (fresh(estimator=Recorder()), {"clinic": WEIGHTS}, "fit takes sample_weight. Got clinic.*_routing=True"),
        (
            fresh(estimators=[FrozenEstimator(LogisticRegression().fit(X, Y))], K=None),
            {"sample_weight": WEIGHTS},
            "all voters are prefitted",
        ),
    ],
)  # fmt: skip
def test_weights_that_cannot_be_used_are_refused(model: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(darrm.InputError, match=said):
        clone(model).fit(X, Y, **given)


def test_dp_sgd_takes_no_weights() -> None:
    with pytest.raises(TypeError, match="sample_weight"):
        DPLogisticRegression(1.0, 1e-5).fit(X, Y, sample_weight=WEIGHTS)  # type: ignore[call-arg]


@pytest.mark.usefixtures("routing")
def test_metadata_is_routed_to_the_voters_that_request_it() -> None:
    clinics = np.array(["a", "b"])[RNG.integers(0, 2, N)]
    asking = Recorder().set_fit_request(sample_weight=True, clinic=True, setting=True)
    silent = Recorder().set_fit_request(sample_weight=False, clinic=False, setting=False)
    model = fresh(estimators=[("one", asking), ("two", silent), ("three", clone(asking))], K=None)
    model.fit(X, Y, sample_weight=WEIGHTS, clinic=clinics, setting="any")
    one, two, three = model.estimators_
    parts = shards(N, 3)
    for voter, part in ((one, parts[0]), (three, parts[2])):
        assert np.array_equal(voter.came_["sample_weight"], WEIGHTS[part])
        assert np.array_equal(voter.came_["clinic"], clinics[part])
        assert voter.came_["setting"] == "any"
    assert two.came_ == {"sample_weight": None, "clinic": None, "setting": None}
    # The same by copies of one, and without names.
    copies = pate(estimator=asking).fit(X, Y, clinic=clinics)
    assert np.array_equal(copies.estimators_[4].came_["clinic"], clinics[shards(N, 5)[4]])
    nameless = fresh(estimators=[silent, asking], K=None).fit(X, Y, clinic=clinics)
    assert [voter.came_["clinic"] is None for voter in nameless.estimators_] == [True, False]


@pytest.mark.usefixtures("routing")
def test_metadata_that_nobody_decided_about_is_refused() -> None:
    for model in (fresh(estimator=Recorder()), fresh(estimators=[Recorder(), Recorder()], K=None)):
        with pytest.raises(UnsetMetadataPassedError, match="not explicitly set as requested"):
            model.fit(X, Y, sample_weight=WEIGHTS)
    with pytest.raises(TypeError, match="unexpected argument"):
        fresh(estimator=Recorder()).fit(X, Y, nothing=WEIGHTS)
    with pytest.raises(TypeError, match="unexpected argument"):
        fresh(estimator=DPLogisticRegression(1.0, 1e-5)).fit(X, Y, sample_weight=WEIGHTS)
    asking = LogisticRegression().set_fit_request(sample_weight=True)
    with pytest.raises(darrm.InputError, match="must not be given for fixed voters"):
        fixed(estimator=asking).fit(X, Y, sample_weight=WEIGHTS)
    assert fresh(estimator=Recorder()).fit(X, Y).estimators_[0].came_["sample_weight"] is None


@pytest.mark.usefixtures("routing")
def test_metadata_passes_through_a_cross_validation() -> None:
    asking = Recorder().set_fit_request(sample_weight=True)
    model = pate(estimator=asking, sigma=None, gamma=40.0, total_epsilon=1e6).set_score_request(sample_weight=False)
    results = cross_validate(model, X, Y, cv=2, params={"sample_weight": WEIGHTS}, return_estimator=True)
    for fitted in results["estimator"]:
        came = np.concatenate([voter.came_["sample_weight"] for voter in fitted.estimators_])
        assert len(came) == N / 2
        assert set(came) <= set(WEIGHTS)


@pytest.mark.usefixtures("routing")
def test_the_router_names_the_voters_that_are_trained() -> None:
    there = FrozenEstimator(LogisticRegression().fit(X, Y))
    for model, names in [
        (fresh(), ["estimator"]),
        (fresh(estimators=[Recorder(), there, Recorder()]), ["voter_0", "voter_2"]),
        (fresh(estimators=[("a", Recorder()), ("b", there)]), ["a"]),
        (fixed(estimator=None), ["estimator"]),
    ]:
        assert list(get_routing_for_object(model)._route_mappings) == names


# ---- sparse matrices, and values that are missing


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["csr_array", *thorough("csr_matrix", "csc_matrix", "coo_array")])
@pytest.mark.parametrize("model", [fixed(overlap=2), fresh(overlap=2), pate()], ids=["fixed", "fresh", "non-private"])
def test_sparse_records_train_the_same_voters(model: PrivateMajorityClassifier, kind: str) -> None:
    thin = np.where(np.abs(X) > 0.8, X, 0.0)
    sparse = getattr(scipy.sparse, kind)(thin)
    one, two = clone(model).fit(sparse, Y), clone(model).fit(thin, Y)
    for a, b in zip(one.estimators_, two.estimators_, strict=True):
        assert a.coef_ == pytest.approx(b.coef_, rel=1e-3)
    assert one.privacy_ == two.privacy_
    labels = one.predict(getattr(scipy.sparse, kind)(thin[:2])), two.predict(thin[:2])
    assert labels[0].shape == (2,)
    assert one.spent_ == two.spent_ != (0.0, 0.0)
    if model.voters == "fixed":
        assert np.array_equal(*labels)


@pytest.mark.thorough
def test_sparse_records_are_refused_where_a_voter_takes_none() -> None:
    sparse = scipy.sparse.csr_array(X)
    voters = [LogisticRegression(), DPLogisticRegression(1.0, 1e-5)]
    for model in (fixed(estimator=DPLogisticRegression()), fresh(estimators=voters, K=None)):
        with pytest.raises(darrm.InputError, match="Sparse data was passed"):
            model.fit(sparse, Y)
    with pytest.raises(darrm.InputError, match="Sparse data was passed"):
        fresh(estimators=voters, K=None).fit(X, Y).predict(sparse)


@pytest.mark.thorough
def test_missing_values_are_taken_where_all_voters_take_them() -> None:
    holes = np.where(np.abs(X) > 2, np.nan, X)
    trees = HistGradientBoostingClassifier(max_iter=5)
    assert fixed(estimator=trees).fit(holes, Y).score(holes, Y) > 0.7
    with pytest.raises(darrm.InputError, match="NaN"):
        fixed(estimator=None, estimators=[trees, LogisticRegression()], K=None).fit(holes, Y)


# ---- frames


def table(library: str, **columns: Any) -> Any:
    given = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]} | columns
    return pytest.importorskip(library).DataFrame(given)


def series(library: str, values: Any) -> Any:
    return pytest.importorskip(library).Series(values)


def needs(frame: Any, model: Any) -> None:
    """Skip where scikit-learn is too old for the library of the frame: there the classifiers alone do not take it."""
    try:
        taken = hasattr(clone(model).fit(frame, Y), "feature_names_in_")
    except (AttributeError, TypeError, ValueError):
        taken = False
    if not taken:
        pytest.skip(f"scikit-learn {sklearn.__version__} takes no such frames")


FRAMES = pytest.mark.parametrize("library", ["pandas", "polars"])


@pytest.mark.thorough
@FRAMES
@pytest.mark.parametrize("model", [fixed(overlap=2), fresh(), pate()], ids=["fixed", "fresh", "non-private"])
def test_frames_train_the_same_voters_with_the_names_of_columns(model: PrivateMajorityClassifier, library: str) -> None:
    frame = table(library)
    needs(frame, LogisticRegression())
    one, two = clone(model).fit(frame, series(library, Y)), clone(model).fit(X, Y)
    assert one.feature_names_in_.tolist() == ["a", "b", "c"]
    assert one.n_features_in_ == 3
    assert not hasattr(two, "feature_names_in_")
    assert one.classes_.tolist() == ["no", "yes"]
    for a, b in zip(one.estimators_, two.estimators_, strict=True):
        assert a.coef_ == pytest.approx(b.coef_, rel=1e-9)
        assert a.feature_names_in_.tolist() == ["a", "b", "c"]
    labels = one.predict(frame[:4])
    assert isinstance(labels, np.ndarray)
    assert labels.shape == (4,)
    for bad, said in (
        (frame[["a", "c", "b"]], "same order"),
        (frame[["a", "b"]], "c"),
        (frame[:0], "must have rows"),
    ):
        with pytest.raises(darrm.InputError, match=said):
            one.predict(bad)


@pytest.mark.thorough
@FRAMES
def test_columns_of_texts_go_to_voters_that_take_them(library: str) -> None:
    frame = table(library, town=np.where(X[:, 0] > 0, "up", "down"))
    encoded = ColumnTransformer([("town", OneHotEncoder(), ["town"])], remainder="passthrough")
    needs(frame, make_pipeline(encoded, LogisticRegression()))
    model = fixed(estimator=make_pipeline(encoded, LogisticRegression())).fit(frame, series(library, Y))
    assert model.score(frame, Y) > 0.8
    assert model.predict_proba(frame).shape == (N, 2)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "town"]
    with pytest.raises(darrm.InputError, match="Voter 0 could not be fitted: ValueError: could not convert"):
        fixed().fit(frame, Y)


@FRAMES
def test_bad_frames_are_refused(library: str) -> None:
    frame = table(library)
    model = fresh(K=3).fit(frame, Y)
    for call, said in [
        (lambda: fixed().fit(frame, Y[:-1]), "inconsistent numbers of samples"),
        (lambda: fixed().fit(frame[:0], Y[:0]), "must have rows|minimum of 1"),
        (lambda: fixed().fit(frame, None), "y"),
        (lambda: fixed().fit(frame, np.where(X[:, 0] > 0, np.nan, 1.0)), "NaN"),
        (lambda: fixed(K=11).fit(frame[:10], Y[:10]), "at most the number of records, 10"),
        (lambda: model.predict(table(library, c=np.full(N, np.nan))), "Voter 0 could not predict: ValueError.*NaN"),
    ]:
        with pytest.raises(darrm.InputError, match=said):
            call()
    assert model.spent_ == (0.0, 0.0)


def test_rows_of_a_pandas_frame_go_by_position_whatever_its_index() -> None:
    frame = table("pandas")
    frame.index = RNG.permutation(N)
    one, two = fixed().fit(frame, series("pandas", Y)), fixed().fit(X, Y)
    for a, b in zip(one.estimators_, two.estimators_, strict=True):
        assert a.coef_ == pytest.approx(b.coef_, rel=1e-9)


def test_prefitted_voters_meet_the_kind_of_table_that_trained_them() -> None:
    frame = table("pandas")
    voters = [FrozenEstimator(LogisticRegression().fit(frame[i::2], Y[i::2])) for i in range(2)]
    model = fixed(estimator=None, estimators=voters, K=None).fit(frame, Y)  # warnings are errors
    assert model.score(frame, Y) > 0.8


def test_text_columns_pass_through_a_step_that_is_public() -> None:
    frame = table("pandas")
    lengths = FunctionTransformer(lambda table: table[["a", "b"]])
    assert fixed(estimator=make_pipeline(lengths, LogisticRegression())).fit(frame, Y).score(frame, Y) > 0.8

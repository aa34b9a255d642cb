"""Ensembles of a list of classifiers: of several kinds, prefitted, and of privacy of their own."""

import copy
import itertools
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

import darrm
from darrm.accounting import optimal
from darrm.accounting.theorems import Privacy
from darrm.ensemble import DPLogisticRegression, EnsemblePrivacy, PrivateMajorityClassifier, shards
from darrm.ensemble.fixed_voters import fixed_privacy

seeded = pytest.mark.filterwarnings("ignore::darrm.randomness.words.NotPrivateWarning")
N = 600
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 3))
Y = np.where(X[:, 0] + RNG.normal(size=N) / 2 > 0, "yes", "no")
THIRDS = shards(N, 3)
KINDS = [LogisticRegression(), GaussianNB(), DecisionTreeClassifier(max_depth=3)]


class Teacher(LogisticRegression):  # type: ignore[misc]
    """Says a cost: of tests, it is not private."""

    def __init__(self, cost: Any = 1.0, failure: Any = 0.0, adjacency: str = "replace-one") -> None:
        super().__init__()
        self.cost, self.failure, self.adjacency = cost, failure, adjacency

    def fit(self, X: Any, y: Any) -> "Teacher":
        super().fit(X, y)
        self.epsilon_, self.delta_, self.adjacency_ = self.cost, self.failure, self.adjacency
        return self


def fixed(*estimators: Any, **options: Any) -> PrivateMajorityClassifier:
    return PrivateMajorityClassifier(estimators=list(estimators), voters="fixed", **options)


def fresh(*estimators: Any, **options: Any) -> PrivateMajorityClassifier:
    budget = {"epsilon": 1.0, "total_epsilon": 6.0, "total_delta": 1e-5}
    return PrivateMajorityClassifier(estimators=list(estimators), voters="fresh", **budget | options)


def pate(*estimators: Any, **options: Any) -> PrivateMajorityClassifier:
    budget = {"sigma": 4.0, "total_epsilon": 5.0, "total_delta": 1e-5}
    return PrivateMajorityClassifier(estimators=list(estimators), teachers="non-private", **budget | options)


def frozen(model: Any, part: Any = None) -> FrozenEstimator:
    rows = np.arange(N) if part is None else part
    return FrozenEstimator(clone(model).fit(X[rows], Y[rows]))


def trained(*models: Any) -> list[FrozenEstimator]:
    """The classifiers, each trained on its own part of the records."""
    parts = shards(N, len(models))
    return [frozen(model, part) for model, part in zip(models, parts, strict=True)]


# ---- training


@pytest.mark.thorough
@pytest.mark.parametrize("make", [fresh, pate, lambda *each: fixed(*each, epsilon=1.0, Delta=0.0)])
@pytest.mark.parametrize("jobs", [None, 2])
def test_each_classifier_is_trained_on_its_shard(make: Callable[..., Any], jobs: int | None) -> None:
    model = make(*KINDS).set_params(n_jobs=jobs).fit(X, Y)
    assert [type(voter) for voter in model.estimators_] == [type(kind) for kind in KINDS]
    for voter, kind, part, shard in zip(model.estimators_, KINDS, THIRDS, model.shards_, strict=True):
        assert voter is not kind
        assert np.array_equal(shard, part)
        assert np.array_equal(voter.predict(X), clone(kind).fit(X[part], Y[part]).predict(X))
    assert not hasattr(KINDS[0], "classes_")  # what was passed is left alone


@pytest.mark.thorough
def test_names_reach_the_parameters_of_voters() -> None:
    named = fresh(*zip("abc", KINDS, strict=True))
    assert named.get_params()["c__max_depth"] == 3
    assert named.get_params(deep=False)["K"] is None
    changed = clone(named).set_params(c__max_depth=1, a=GaussianNB())
    assert [type(voter) for voter in changed.fit(X, Y).estimators_] == [GaussianNB, GaussianNB, DecisionTreeClassifier]
    assert changed.estimators_[2].max_depth == 1
    assert named.get_params()["c__max_depth"] == 3
    search = GridSearchCV(fixed(("a", Teacher()), ("b", Teacher())), {"a__cost": [0.5, 2.0]}, cv=2).fit(X, Y)
    assert search.best_estimator_.estimators_[0].cost in (0.5, 2.0)


def test_classifiers_without_names_have_no_parameters_of_their_own() -> None:
    pipes = [make_pipeline(FunctionTransformer(), kind) for kind in KINDS]  # each is a list of two steps
    model = fresh(*pipes)
    assert set(model.get_params()) == set(model.get_params(deep=False))
    assert model.set_params(m=0.5).m == 0.5
    assert len(clone(model).fit(X, Y).estimators_) == 3


@pytest.mark.thorough
def test_the_number_of_voters_follows_from_the_list() -> None:
    assert fresh(*KINDS, K=3).fit(X, Y).design_.problem.K == 3
    assert fresh(*KINDS).fit(X, Y).design_.problem.K == 3
    eleven = PrivateMajorityClassifier(voters="fresh", epsilon=1.0, total_epsilon=6.0, total_delta=1e-5)
    assert eleven.fit(X, Y).design_.problem.K == 11
    assert clone(eleven).get_params()["K"] is None


# ---- prefitted voters


def counting(model: Any) -> FrozenEstimator:
    """A prefitted voter whose training again would be an error."""

    class Once(type(model)):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Any:
            raise AssertionError("trained again")

    made = frozen(model)
    made.estimator.__class__ = Once
    return made


@pytest.mark.parametrize("make", [fresh, pate, lambda *each: fixed(*each, epsilon=1.0, Delta=0.0)])
def test_prefitted_voters_are_taken_as_they_are(make: Callable[..., Any]) -> None:
    voters = [counting(kind) for kind in KINDS]
    model = make(*voters).fit(X[:1].repeat(2, axis=0), ["no", "yes"])  # public rows, one of each class
    assert all(one is other for one, other in zip(model.estimators_, voters, strict=True))
    assert [len(shard) for shard in model.shards_] == [0, 0, 0]
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(X[:1])) <= {"no", "yes"}


def test_prefitted_fixed_voters_answer_by_their_majority() -> None:
    answers = ["yes", "no", "yes"]
    voters = [frozen(DummyClassifier(strategy="constant", constant=answer)) for answer in answers]
    model = fixed(*voters, epsilon=0.5, Delta=1e-6).fit(X, Y)
    assert set(model.predict(X)) == {"yes"}
    each = "each model is (0.5, 1e-06)-DP, all its answers together, as declared"
    said = f"{each}; one record affects at most 1 voter, as declared"
    assert model.privacy_ == EnsemblePrivacy(0.5, 1e-6, "replace-one", 1, "fixed", None, assumption=said)


def test_what_is_declared_of_voters_is_said_beside_their_total() -> None:
    """Not of what fitted voters state themselves, and a record in all K shards affects no more than all."""
    silent, halves = LogisticRegression(), [frozen(LogisticRegression()) for _ in range(2)]
    for half in halves:
        half.estimator.epsilon_ = 0.25
    each, together = "each model that states", ", all its answers together, as declared"
    for voters, options, said in (
        ([Teacher(0.5), Teacher(1.0)], {}, ""),
        ([Teacher(0.5), silent], {}, f"{each} neither epsilon_ nor delta_ is (2, 1e-06)-DP{together}"),
        (halves, {"overlap": 2}, f"each model is (its epsilon_, 1e-06)-DP{together}"),
        (trained(Teacher(0.5), Teacher(1.0)), {}, "one record affects at most 1 voter, as declared"),
    ):
        model = fixed(*voters, epsilon=2.0, Delta=1e-6, **options).fit(X, Y)
        assert model.privacy_.assumption == said
    known = fresh(*[frozen(kind) for kind in KINDS]).fit(X, Y).privacy_.assumption
    assert known == pate(*[frozen(kind) for kind in KINDS]).fit(X, Y).privacy_.assumption
    assert known == "one record affects at most 1 voter, as declared"


def test_prefitted_and_new_voters_together_need_their_shards() -> None:
    there = frozen(Teacher(2.0), THIRDS[0])
    with pytest.raises(darrm.InputError, match=r"^shards must be given if some voters are prefitted"):
        fixed(there, Teacher(), Teacher()).fit(X, Y)
    model = fixed(there, Teacher(), Teacher(), shards=THIRDS).fit(X, Y)
    assert model.estimators_[0] is there
    for voter in (1, 2):
        wanted = Teacher().fit(X[THIRDS[voter]], Y[THIRDS[voter]])
        assert np.array_equal(model.estimators_[voter].coef_, wanted.coef_)
    halves = shards(N, 2)
    elsewhere = fixed(Teacher(), there, Teacher(), shards=[halves[0], [], halves[1]], n_jobs=2).fit(X, Y)
    assert elsewhere.estimators_[1] is there
    assert np.array_equal(elsewhere.estimators_[2].coef_, Teacher().fit(X[halves[1]], Y[halves[1]]).coef_)
    with pytest.raises(darrm.InputError, match=r"Shard 1 must be integers .* not empty"):
        fixed(there, Teacher(), Teacher(), shards=[halves[0], [], halves[1]]).fit(X, Y)


def test_pickles_and_clones_keep_prefitted_voters() -> None:
    model = fixed(*trained(*[Teacher(cost) for cost in (0.5, 1.0, 2.0)])).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.privacy_ == model.privacy_
    copy = clone(model)
    assert not hasattr(copy, "estimators_")
    assert np.array_equal(copy.fit(X, Y).predict(X), model.predict(X))


@pytest.mark.thorough
def test_prefitted_dp_voters_cost_what_they_say() -> None:
    parts = shards(N, 2)
    teachers = [
        DPLogisticRegression(epsilon, 1e-5, classes=("no", "yes")).fit(X[part], Y[part])
        for epsilon, part in zip((1.0, 3.0), parts, strict=True)
    ]
    model = fixed(*map(FrozenEstimator, teachers), total_epsilon=3.0).fit(X, Y)
    assert model.privacy_.epsilon == max(teacher.epsilon_ for teacher in teachers) > 2.9
    assert model.spent_ == (model.privacy_.epsilon, 1e-5)
    with pytest.raises(darrm.BudgetError, match="above total_epsilon = 2"):
        fixed(*map(FrozenEstimator, teachers), total_epsilon=2.0).fit(X, Y)


# ---- what fixed voters of different privacy cost


def exact_delta(voters: list[tuple[float, float]], epsilon: float) -> float:
    """The delta of these voters together at an epsilon: all outcomes of their losses, one by one."""
    V = 0.0
    for signs in itertools.product((1, -1), repeat=len(voters)):
        loss = sum(sign * e for sign, (e, _) in zip(signs, voters, strict=True))
        chance = math.prod(1 / (1 + math.exp(-sign * e)) for sign, (e, _) in zip(signs, voters, strict=True))
        V += chance * max(0.0, 1 - math.exp(epsilon - loss))
    return 1 - (1 - V) * math.prod(1 - d for _, d in voters)


VOTERS = [(0.1, 1e-3), (1.0, 0.0), (0.7, 1e-6), (0.7, 0.0), (2.0, 1e-5)]


@pytest.mark.parametrize("overlap", [1, 2, 3, 5])
@pytest.mark.parametrize("total_delta", [2e-3, 0.05])
def test_they_cost_the_composition_of_the_worst(overlap: int, total_delta: float) -> None:
    model = fixed(*[Teacher(*cost) for cost in VOTERS], overlap=overlap, total_delta=total_delta).fit(X, Y)
    epsilon, delta = model.spent_
    assert delta == total_delta
    for reached in itertools.combinations(VOTERS, overlap):
        assert exact_delta(list(reached), epsilon) <= total_delta
    # No less is true of the largest epsilons with the largest deltas.
    worst = list(zip(*(sorted(each, reverse=True)[:overlap] for each in zip(*VOTERS, strict=True)), strict=True))
    assert exact_delta(worst, epsilon) == pytest.approx(total_delta, rel=1e-6)
    assert model.privacy_.max_affected == overlap


@pytest.mark.parametrize(("overlap", "cost"), [(1, (2.0, 1e-3)), (2, (3.0, 1e-3 + 1e-5)), (5, (4.5, 0.001011))])
def test_without_a_total_delta_the_largest_are_added_up(overlap: int, cost: tuple[float, float]) -> None:
    model = fixed(*[Teacher(*each) for each in VOTERS], overlap=overlap).fit(X, Y)
    assert model.spent_ == pytest.approx(cost, rel=1e-12)
    assert model.spent_.epsilon >= math.fsum(sorted((e for e, _ in VOTERS), reverse=True)[:overlap])


def test_voters_of_equal_privacy_cost_what_copies_do() -> None:
    costs = [Privacy(0.5, 1e-5)] * 4

    def cost(overlap: int, total_delta: float | None) -> tuple[float, float]:
        privacy = fixed_privacy(costs, overlap, "replace-one", total_delta)
        return privacy.epsilon, privacy.delta

    assert cost(3, None) == (1.5, pytest.approx(3e-5, rel=1e-15))
    assert cost(1, 1e-5) == (0.5, 1e-5)
    for overlap in (1, 3, 4):
        assert cost(overlap, 1e-3) == optimal(0.5, 1e-5, overlap, 1e-3)


def test_one_voter_more_that_is_not_reached_costs_nothing_and_a_worse_one_does() -> None:
    costs = [Privacy(1.0, 1e-6), Privacy(0.5, 1e-6)]
    before = fixed_privacy(costs, 2, "replace-one", 1e-4).epsilon
    assert fixed_privacy([*costs, Privacy(0.2, 0.0)], 2, "replace-one", 1e-4).epsilon == before
    assert fixed_privacy([*costs, Privacy(0.6, 0.0)], 2, "replace-one", 1e-4).epsilon > before + 0.05
    assert fixed_privacy([*costs, Privacy(0.0, 2e-5)], 2, "replace-one", 1e-4).epsilon > before


def test_declared_privacy_is_that_of_voters_that_say_none_and_a_limit_for_the_others() -> None:
    model = fixed(Teacher(0.25), LogisticRegression(), Teacher(1.0), epsilon=1.5, Delta=1e-6, overlap=2).fit(X, Y)
    assert model.spent_ == (2.5, 1e-6)  # 0 of the others
    with pytest.raises(darrm.InputError, match=r"Voter 2 has epsilon 1, above the declared 0.5"):
        fixed(Teacher(0.25), LogisticRegression(), Teacher(1.0), epsilon=0.5, Delta=1e-6).fit(X, Y)
    with pytest.raises(darrm.InputError, match=r"Voter 0 has Delta 0\.1, above the declared 1e-06"):
        fixed(Teacher(0.25, 0.1), epsilon=0.5, Delta=1e-6).fit(X, Y)


def test_an_epsilon_without_its_delta_is_not_replaced_by_a_declared_one() -> None:
    class Half(Teacher):
        def fit(self, X: Any, y: Any) -> "Half":
            super().fit(X, y)
            del self.delta_
            return self

    assert fixed(Half(0.5), epsilon=2.0, Delta=1e-6).fit(X, Y).spent_ == (0.5, 1e-6)
    with pytest.raises(darrm.InputError, match="above the declared"):
        fixed(Half(3.0), epsilon=2.0, Delta=1e-6).fit(X, Y)


# ---- bad input


ONE = trained(Teacher(), Teacher())
SAME = frozen(Teacher())
OTHERS = FrozenEstimator(LogisticRegression().fit(X, np.where(Y == "yes", 1, 0)))
NARROW = FrozenEstimator(LogisticRegression().fit(X[:, :2], Y))
KNOWN = {"epsilon": 1.0, "Delta": 0.0}
BAD: list[tuple[str, Callable[[], Any], str]] = [
    ("an empty list", lambda: fresh().fit(X, Y), r"list of classifiers, or of pairs .* not empty. Got \[\]"),
    ("no list", lambda: fresh().set_params(estimators=3).fit(X, Y), "list of classifiers, .* Got 3"),
    ("a classifier", lambda: fresh().set_params(estimators=KINDS[0]).fit(X, Y), r"Got LogisticRegression\(\)"),
    ("numbers", lambda: fresh(1, 2).fit(X, Y), r"estimators\[0\] must be a scikit-learn classifier. Got 1"),
    ("a class", lambda: fresh(GaussianNB).fit(X, Y), r"estimators\[0\] must be a scikit-learn classifier. Got <class"),
    ("a regressor", lambda: fresh(*KINDS, LinearRegression()).fit(X, Y), r"estimators\[3\] .* Got a regressor"),
    ("a clusterer", lambda: fresh(KMeans()).fit(X, Y), "Got a clusterer"),
    ("a regressor, copied", lambda: fresh().set_params(estimators=None, estimator=LinearRegression()).fit(X, Y),
     "estimator must be a classifier. Got a regressor"),
    ("no predict", lambda: fresh(FunctionTransformer()).fit(X, Y), r"estimators\[0\] .* with fit and predict"),
    ("a prefitted regressor", lambda: fresh(FrozenEstimator(LinearRegression().fit(X, X[:, 0]))).fit(X, Y),
     "Got a regressor"),
    ("both", lambda: fresh(*KINDS).set_params(estimator=GaussianNB()).fit(X, Y), "Got both"),
    ("another K", lambda: fresh(*KINDS, K=5).fit(X, Y), "number of estimators, 3, or left out. Got 5"),
    ("K is NaN", lambda: fresh(*KINDS, K=math.nan).fit(X, Y), "K must be an integer"),
    ("some names", lambda: fresh(("a", KINDS[0]), KINDS[1]).fit(X, Y), "names for all classifiers, or for none"),
    ("the same name", lambda: fresh(("a", KINDS[0]), ("a", KINDS[1])).fit(X, Y), "different names. .*not unique"),
    ("the name of a parameter", lambda: fresh(("epsilon", KINDS[0])).fit(X, Y), "conflict with constructor"),
    ("a name with __", lambda: fresh(("a__b", KINDS[0])).fit(X, Y), "must not contain __"),
    ("not fitted", lambda: fresh(*KINDS[:2], FrozenEstimator(GaussianNB())).fit(X, Y),
     r"estimators\[2\] must be fitted.*Got GaussianNB\(\)\. Fit it"),
    ("a prefitted one to copy", lambda: fresh().set_params(estimators=None, estimator=SAME).fit(X, Y),
     r"which all voters would share.*Pass estimators=\[\.\.\]"),
    ("the same twice", lambda: fixed(SAME, *ONE, SAME).fit(X, Y), r"estimators\[3\] .* classifier of estimators\[0\]"),
    ("the same twice, wrapped", lambda: pate(SAME, FrozenEstimator(SAME.estimator)).fit(X, Y), "would affect both"),
    ("the same twice, wrapped twice", lambda: pate(SAME, FrozenEstimator(SAME)).fit(X, Y), "would affect both"),
    ("other classes", lambda: fixed(*ONE, OTHERS, **KNOWN).fit(X, Y), r"\['no', 'yes'\]. Got \[0, 1"),
    ("a class less in y", lambda: fresh(*map(frozen, KINDS)).fit(X, np.where(Y == "no", "no", "maybe")), "every class"),
    ("other columns", lambda: fixed(NARROW, **KNOWN).fit(X, Y), "fitted on 2 columns, and X has 3"),
    ("another adjacency", lambda: fixed(Teacher(), Teacher(adjacency="add-remove")).fit(X, Y),
     "Voter 1 must be private under adjacency 'replace-one'. Got 'add-remove'"),
    ("another adjacency, prefitted", lambda: fixed(*ONE, frozen(Teacher(adjacency="add-remove"))).fit(X, Y), "Voter 2"),
    ("NaN", lambda: fixed(Teacher(), Teacher(math.nan), **KNOWN).fit(X, Y), "epsilon_ of voter 1 must be .*Got NaN"),
    ("infinite", lambda: fixed(Teacher(math.inf), **KNOWN).fit(X, Y), "epsilon_ of voter 0 must be"),
    ("below 0", lambda: fixed(Teacher(-1.0), **KNOWN).fit(X, Y), "epsilon_ of voter 0 must be"),
    ("text", lambda: fixed(Teacher("1"), **KNOWN).fit(X, Y), "epsilon_ of voter 0 must be"),
    ("a truth value", lambda: fixed(Teacher(True), **KNOWN).fit(X, Y), "epsilon_ of voter 0 must be"),
    ("delta is NaN", lambda: fixed(Teacher(1.0, math.nan)).fit(X, Y), "delta_ of voter 0 must be"),
    ("delta of 1", lambda: fixed(Teacher(1.0, 1.0)).fit(X, Y), r"delta_ of voter 0 must be in \[0, 1\)"),
    ("prefitted, NaN", lambda: fixed(*ONE, frozen(Teacher(math.nan))).fit(X, Y), "epsilon_ of voter 2"),
    ("one says nothing", lambda: fixed(Teacher(), LogisticRegression()).fit(X, Y),
     "^epsilon and Delta are missing.* LogisticRegression has no epsilon_"),
    ("one prefitted says nothing", lambda: fixed(*ONE, frozen(GaussianNB())).fit(X, Y), "GaussianNB has no epsilon_"),
    ("a delta below what the voters fail with", lambda: fixed(Teacher(1.0, 1e-5), Teacher(0.5, 1e-4), overlap=2,
     total_delta=1e-4).fit(X, Y), "total_delta = 0.0001 is below the unavoidable .* = 0.000109999 of the affected"),
    ("overlap", lambda: fixed(*ONE, overlap=3).fit(X, Y), r"overlap must be .* \[1, 2\]"),
    ("overlap of teachers", lambda: pate(*ONE, overlap=2).fit(X, Y), "disjoint shards"),
    ("shards of prefitted", lambda: fixed(*ONE, shards=shards(N, 2)).fit(X, Y), "shards must not be given if all"),
    ("a seed", lambda: fixed(Teacher(), LogisticRegression(random_state=1), **KNOWN).fit(X, Y), "no random_state"),
    ("a seed, prefitted", lambda: fixed(*ONE, frozen(LogisticRegression(random_state=1)), **KNOWN).fit(X, Y),
     "no random_state"),
    ("epsilons", lambda: fixed(Teacher(), Teacher(), epsilon=[1.0, 2.0]).fit(X, Y), "epsilon must be one number"),
    ("three classes", lambda: fixed(DPLogisticRegression(1.0, 1e-5), Teacher()).fit(X, np.arange(N) % 3), "takes two"),
]  # fmt: skip


@pytest.mark.thorough
@seeded
@pytest.mark.parametrize("copied", [lambda x: x, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("wrapped", [lambda x: x, lambda x: make_pipeline(x), lambda x: FrozenEstimator(x)])
def test_a_model_remembers_that_a_seed_made_it(copied: Callable[[Any], Any], wrapped: Callable[[Any], Any]) -> None:
    model = DPLogisticRegression(1.0, 1e-5, steps=1, random_state=1).fit(X, Y)
    assert model.seeded_
    model = copied(model.set_params(random_state=None))
    assert model.seeded_
    with pytest.raises(darrm.InputError, match="no random_state"):
        fixed(*ONE, FrozenEstimator(wrapped(model)), epsilon=1.0, Delta=1e-5).fit(X, Y)
    secret = copied(DPLogisticRegression(1.0, 1e-5, steps=1).fit(X, Y).set_params(random_state=1))
    assert not secret.seeded_
    assert fixed(*ONE, FrozenEstimator(wrapped(secret)), epsilon=1.0, Delta=1e-5).fit(X, Y).privacy_.epsilon > 0
    assert not model.fit(X, Y).seeded_


@pytest.mark.thorough
@seeded
def test_a_voter_inside_a_search_or_an_ensemble_remembers_its_seed() -> None:
    inner = fixed(*ONE, random_state=1, epsilon=1.0, Delta=1e-5).fit(X, Y)
    assert inner.privacy_.seeded
    search = GridSearchCV(DPLogisticRegression(1.0, 1e-5, steps=1, random_state=1), {"clip": [1.0]}, cv=2).fit(X, Y)
    search.estimator.set_params(random_state=None)
    search.best_estimator_.set_params(random_state=None)
    for model in (copy.deepcopy(inner.set_params(random_state=None)), search):
        with pytest.raises(darrm.InputError, match="no random_state"):
            fixed(*ONE, FrozenEstimator(model), epsilon=1.0, Delta=1e-5).fit(X, Y)
    assert not fixed(*ONE, epsilon=1.0, Delta=1e-5).fit(X, Y).privacy_.seeded
    forest = RandomForestClassifier(n_estimators=2)  # gives its trees seeds of its own
    assert fixed(*ONE, frozen(forest), epsilon=1.0, Delta=1e-5).fit(X, Y).privacy_.epsilon > 0


def case(name: str) -> tuple[Callable[[], Any], str]:
    return next(each[1:] for each in BAD if each[0] == name)


@pytest.mark.first(15)
@pytest.mark.parametrize(("call", "message"), [each[1:] for each in BAD], ids=[each[0] for each in BAD])
def test_bad_lists_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(darrm.InputError, match=message):
        call()


def test_a_voter_that_knows_some_of_the_classes_is_taken() -> None:
    kind = np.where(X[:, 1] > 1, "maybe", Y)
    voters = [frozen(LogisticRegression()), FrozenEstimator(LogisticRegression().fit(X, kind))]
    model = fixed(*voters, **KNOWN).fit(X, kind)
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    assert model.predict_proba(X)[:, 0].max() == 0.5


@seeded
def test_with_a_seed_for_tests_seeds_of_voters_are_set_and_prefitted_ones_left() -> None:
    there = frozen(DecisionTreeClassifier(random_state=3), THIRDS[0])
    options = {"shards": THIRDS, "random_state": 1, **KNOWN}
    model = fixed(there, DecisionTreeClassifier(), DecisionTreeClassifier(), **options).fit(X, Y)
    assert there.estimator.random_state == 3
    assert len({voter.random_state for voter in model.estimators_[1:]}) == 2

"""Ensembles whose labels rest on the randomized response of the other voters, and say so."""

import math
import pickle
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import slow
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

import darrm
from darrm.accounting import Ledger, compose, max_queries
from darrm.accounting.releases import one_label
from darrm.design.rules import cost_of
from darrm.ensemble import PrivateMajorityClassifier
from darrm.problem.groups import assumption

X = np.random.default_rng(0).uniform(-1, 1, (600, 2))
Y = np.where(X[:, 0] > 0, "yes", "no")
KIND = np.where(np.abs(X[:, 0]) < 0.3, "unsure", Y)
CHANGED = [
    ("fixed", {"voters": "fixed", "epsilon": 1.0}, "they are trained once, so no vote has new randomness"),
    ("teachers", {"teachers": "non-private", "sigma": 4.0}, "they do not randomize their votes"),
]
seeded = pytest.mark.filterwarnings("ignore::darrm.randomness.words.NotPrivateWarning")


def fresh(**options: Any) -> PrivateMajorityClassifier:
    budget = {"total_epsilon": 4.0, "total_delta": 1e-6, "base_accuracy": 0.85}
    return PrivateMajorityClassifier(**{"voters": "fresh", "epsilon": 1.0, "K": 11, **budget, **options})


@pytest.mark.thorough
@pytest.mark.parametrize("labels", [Y, *slow(KIND)], ids=["two classes", "three"])
@pytest.mark.parametrize("overlap", [2, *slow(1)])
def test_planned_labels_keep_both_budgets_and_are_more_accurate(labels: Any, overlap: int) -> None:
    options = {"queries": 20, "overlap": overlap, "K": 11 if labels is Y else 6}
    known = fresh(colluders=1, **options).fit(X, labels)
    design, privacy = known.design_, known.privacy_
    assert (design.problem.groups[0].randomizer, design.problem.groups[0].colluders) == ("randomized response", 1)
    assert compose(design, 20, delta=1e-6, voters="fresh").upper <= 4.0
    without = one_label(design).of_any_voters()
    least = compose(without, privacy.queries, delta=1e-6, voters="fresh").lower
    assert least <= privacy.otherwise <= least * 1.01
    assert privacy.queries >= 20
    assert 4.0 < privacy.otherwise <= 8.0  # above the total: the labels do rest on the assumption
    assert privacy.assumption == assumption(design.problem)
    assert "every voter but 1 draws every vote" in str(privacy)
    any_voters = fresh(**options).fit(X, labels).design_
    table = any_voters.table if any_voters.encoding.name != "gamma" else any_voters.release_probabilities[:, 1]
    assert design.expected_cost < cost_of(table, design.problem, design.objective) - 1e-4


@pytest.mark.thorough
@pytest.mark.parametrize("m", [None, 0.4])
def test_by_m_the_limit_is_that_of_the_known_randomizer_and_pays_for_more_labels(m: float | None) -> None:
    known, any_voters = fresh(m=m, colluders=1).fit(X, Y), fresh(m=m).fit(X, Y)
    assert known.design_.problem.release_epsilon == pytest.approx(m or 1.0, rel=1e-12)
    assert known.privacy_.queries <= max_queries(known.design_, 4.0, 1e-6, voters="fresh")
    # Of ten labels of .4 both totals end at their budgets: 4 of any voters, 8 if the assumption fails.
    assert known.privacy_.queries - any_voters.privacy_.queries >= (m is None)
    assert 4.0 < known.privacy_.otherwise <= 8.0
    any_problem = replace(one_label(known.design_).of_any_voters().problem, epsilon=1.0)
    assert darrm.verify(known.design_.table, any_problem).tight_epsilon <= 2 * (m or 1.0)
    assert (any_voters.privacy_.assumption, any_voters.privacy_.otherwise) == ("", None)


@pytest.mark.thorough
def test_no_label_of_a_plan_is_beyond_the_second_budget() -> None:
    known = fresh(queries=20, K=25, total_epsilon=2.0, colluders=0).fit(X, Y)
    most = max_queries(known.design_, 2.0, 1e-6, voters="fresh")
    assert 20 <= known.privacy_.queries <= most
    assert known.privacy_.otherwise <= 4.0
    # without the second budget memory would count more labels of a design that is far within the first
    far = fresh(queries=5, K=25, total_epsilon=4.0, colluders=0).fit(X, Y)
    most = max_queries(far.design_, 4.0, 1e-6, voters="fresh")
    beyond = one_label(far.design_).of_any_voters()
    assert far.privacy_.queries < most
    assert compose(beyond, most, delta=1e-6, voters="fresh").upper > 8.0


@seeded
def test_votes_pass_through_randomized_response_and_then_the_table() -> None:
    model = fresh(K=3, m=None, total_epsilon=1e4, total_delta=0.0, colluders=0, random_state=0).fit(X, Y)
    cast = ["no", "yes", "yes"]
    model.estimators_ = [DummyClassifier(strategy="constant", constant=vote).fit(X, Y) for vote in cast]
    keep, table = 1 / (1 + math.exp(-1.0)), model.design_.table
    chance = 0.0
    for votes in np.ndindex(2, 2, 2):
        drawn = math.prod(keep if vote == (name == "yes") else 1 - keep for vote, name in zip(votes, cast, strict=True))
        chance += drawn * table[sum(votes)]
    n = 4000
    share = np.mean(np.concatenate([model.predict(X[:500]) == "yes" for _ in range(n // 500)]))
    assert abs(share - chance) < 5 * math.sqrt(chance * (1 - chance) / n)


@pytest.mark.thorough
def test_copies_share_the_labels_and_pickles_and_clones_keep_the_assumption() -> None:
    one = fresh(m=0.5, K=25, colluders=2).fit(X, Y)
    model = fresh(m=0.5, K=25, colluders=2, copies=2).fit(X, Y)
    assert model.privacy_.queries == one.privacy_.queries // 2
    covered = 2 * model.privacy_.queries
    without = one_label(model.design_).of_any_voters()
    least = compose(without, covered, delta=1e-6, voters="fresh").lower
    assert least <= model.privacy_.otherwise <= least * 1.01
    other = pickle.loads(pickle.dumps(model))
    assert (other.privacy_, other.colluders) == (model.privacy_, 2)
    assert set(other.predict(X[:2])) <= {"no", "yes"}
    assert clone(model).colluders == model.get_params()["colluders"] == 2
    old = model.privacy_.__dict__.copy()
    del old["assumption"], old["otherwise"]  # as pickled before there were known randomizers
    restored = object.__new__(type(model.privacy_))
    restored.__dict__.update(old)
    assert (restored.assumption, restored.otherwise) == ("", None)
    assert {field.name for field in fields(restored)} > set(old)


@pytest.mark.slow
def test_a_ledger_keeps_the_budget_and_knows_the_assumption(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    options = {"queries": 10, "colluders": 1, "ledger": path, "ledger_create": True}
    model = fresh(**options).fit(X, Y)
    model.predict(X[:3])
    again = fresh(**options).fit(X, Y)
    assert again.spent_ == model.spent_ != (0.0, 0.0)
    assert Ledger(path).counts(model.design_)[0] == 3
    other = fresh(**options | {"colluders": 2}).fit(X, Y)
    assert (other.privacy_.queries, other.privacy_.otherwise) == (0, 0.0)
    with pytest.raises(darrm.InputError, match="for another design"):
        other.predict(X[:1])
    assert Ledger(path).counts(model.design_)[0] == 3
    assert Ledger(path).status()["fallback_epsilon"] == 8.0
    model.predict(X[: model.privacy_.queries - 3])
    assert Ledger(path).fallback()[""] <= 8.0
    with pytest.raises(darrm.BudgetError):
        model.predict(X[:1])


@pytest.mark.thorough
def test_labels_by_m_have_a_second_budget() -> None:
    """Without it the optimum for one label undoes the smoothing, and few of its labels are within twice the total."""
    asked: dict[str, Any] = {"m": 0.1, "K": 25, "colluders": 0, "total_epsilon": 2.0}
    model = fresh(**asked).fit(X, Y)
    design = model.design_
    assert darrm.verify(design.table, design.problem).tight_epsilon <= 0.1
    any_problem = replace(one_label(design).of_any_voters().problem, epsilon=1.0)
    assert 0.15 < darrm.verify(design.table, any_problem).tight_epsilon <= 0.2
    alone = darrm.solve(design.problem, objective=design.objective)
    assert darrm.verify(alone.table, any_problem).tight_epsilon > 0.3
    assert model.privacy_.otherwise <= 4.0
    assert model.privacy_.queries > max_queries(alone, 2.0, 1e-6, voters="fresh") / 2


@pytest.mark.parametrize(("kind", "changed", "reason"), CHANGED, ids=[kind for kind, *_ in CHANGED])
def test_voters_without_new_randomness_are_refused(kind: str, changed: dict[str, Any], reason: str) -> None:
    budget = {"total_epsilon": 4.0, "total_delta": 1e-6}
    with pytest.raises(darrm.InputError, match=reason) as error:
        PrivateMajorityClassifier(K=5, colluders=0, **budget, **changed).fit(X, Y)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("colluders", [-1, 10, 1.5, "one", math.nan])
def test_colluders_leave_the_affected_voters(colluders: Any) -> None:
    with pytest.raises(darrm.InputError, match=r"\[0, K - overlap\] = \[0, 9\]"):
        fresh(overlap=2, colluders=colluders).fit(X, Y)


def test_as_many_as_allowed_leave_no_noise_to_others() -> None:
    model = fresh(K=3, colluders=2, m=None).fit(X, Y)
    assert Counter(group.colluders for group in model.design_.problem.groups) == {2: 1}

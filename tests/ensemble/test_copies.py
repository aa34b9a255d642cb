"""Copies of a fitted ensemble, and its ledger: whatever they release together is within one budget."""

import copy
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

import darrm
from darrm.accounting import Ledger
from darrm.ensemble import PrivateMajorityClassifier
from darrm.ensemble.designs import teachers_decision
from darrm.ensemble.noisy_max import NoisyMax
from darrm.errors import CopiedBudgetWarning

X = np.random.default_rng(0).normal(size=(300, 3))
Y = np.where(X[:, 0] > 0, "yes", "no")


def fresh(**options: Any) -> PrivateMajorityClassifier:
    budget = {"total_epsilon": 6.0, "total_delta": 1e-5}
    return PrivateMajorityClassifier(**{"voters": "fresh", "epsilon": 1.0, "K": 5, **budget, **options})


def pate(**options: Any) -> PrivateMajorityClassifier:
    budget = {"total_epsilon": 5.0, "total_delta": 1e-5}
    return PrivateMajorityClassifier(**{"teachers": "non-private", "sigma": 4.0, "K": 5, **budget, **options})


COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
    "joblib": lambda model: joblib.Parallel(n_jobs=1)([joblib.delayed(copy.deepcopy)(model)])[0],
    "of a copy": lambda model: copy.deepcopy(pickle.loads(pickle.dumps(model))),
}


@pytest.mark.thorough
@pytest.mark.parametrize("make", [fresh, pate])
@pytest.mark.parametrize("way", COPIES)
def test_a_copy_that_was_not_told_of_releases_nothing(way: str, make: Callable[..., Any]) -> None:
    model = make().fit(X, Y)
    model.predict(X[:3])
    spent = model.spent_
    with pytest.warns(CopiedBudgetWarning, match="cannot release labels.* ledger=.* copies=n"):
        other = COPIES[way](model)
    assert (other.spent_, other.privacy_) == (spent, model.privacy_)
    with pytest.raises(darrm.BudgetError, match=r"copied.*only the original.*ledger=.*copies=n"):
        other.predict(X[:1])
    assert (other.spent_, model.spent_) == (spent, spent)
    model.predict(X[:1])
    assert copy.copy(model).spent_ == model.spent_ != spent  # no copy of the budget: both have this one


@pytest.mark.thorough
@pytest.mark.parametrize("make", [fresh, pate])
@pytest.mark.parametrize("copies", [2, 3])
def test_copies_that_were_told_of_share_the_budget(copies: int, make: Callable[..., Any]) -> None:
    """All of them release no more than one object that has the budget to itself."""
    allowed = make().fit(X, Y).privacy_.queries
    first = make(copies=copies).fit(X, Y)
    first.predict(X[:1])
    objects = [first]
    while len(objects) < copies:  # the last one is a copy of a copy
        objects.append(COPIES["pickle"](objects[-1]))
    released = 0
    for model in objects:
        assert model.privacy_.queries == allowed // copies
        with suppress(darrm.BudgetError):
            while True:
                model.predict(X[:1])
                released += 1
    assert released + 1 == copies * (allowed // copies) <= allowed


def test_a_budget_that_is_shared_out_pays_for_a_label_each() -> None:
    allowed = fresh().fit(X, Y).privacy_.queries
    with pytest.raises(darrm.BudgetError, match=f"one label for each of {allowed + 1} copies"):
        fresh(copies=allowed + 1).fit(X, Y)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_is_a_copy() -> None:
    for copies, refused in ((1, 7), (2, 0)):
        model = fresh(copies=copies).fit(X, Y)
        child = os.fork()
        if not child:
            status = 1
            try:
                model.predict(X[:1])
                status = 0
            except darrm.BudgetError:
                status = 7
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == refused
        model.predict(X[:1])


def test_threads_share_one_budget() -> None:
    model = fresh().fit(X, Y)

    def released(_: object) -> int:
        try:
            return len(model.predict(X[:1]))
        except darrm.BudgetError:
            return 0

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(released, range(3 * model.privacy_.queries))) == model.privacy_.queries


@pytest.mark.thorough
def test_fit_makes_no_ledger_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(darrm.InputError, match=r"does not exist.*ledger_create=True"):
        fresh(ledger="ledger.json").fit(X, Y)
    assert not any(tmp_path.iterdir())
    model = fresh(ledger="ledger.json", ledger_create=True).fit(X, Y)
    again = fresh(ledger="ledger.json", ledger_create=True).fit(X, Y)  # the one that is there
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")  # where the same relative name is another file
    for one in (model, again, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        one.predict(X[:1])
    assert Ledger(tmp_path / "ledger.json").status()["released"] == 4
    assert not any(Path().iterdir())
    (tmp_path / "ledger.json").unlink()
    for one in (model, pickle.loads(pickle.dumps(model))):
        with pytest.raises(darrm.InputError, match="could not be read"):
            one.predict(X[:1])
    assert not (tmp_path / "ledger.json").exists()


def test_fits_and_copies_with_one_sigma_share_a_ledger(tmp_path: Path) -> None:
    """The ledger counts for any number of votes, as its own total does, and keeps labels of rows by key."""
    path, noise = tmp_path / "ledger.db", darrm.mechanisms.GaussianNoisyMax(6.0)
    kept = {"sigma": 6.0, "total_epsilon": 2.5, "ledger": path}
    first = pate(**kept, ledger_create=True).fit(X, Y)
    ledger = Ledger(path)
    assert first.privacy_.queries == ledger.remaining(noise) > 3
    assert first.privacy_.accounting == "ladder of Gaussian profiles"
    other, keyed = pate(**kept).fit(X[::-1], Y), pate(**kept, keyed=True).fit(X, Y)
    for model in (first, other, COPIES["pickle"](first)):
        model.predict(X[:1])
        assert model.spent_ == ledger.spent()
    assert keyed.predict(X[:2]).tolist() == COPIES["pickle"](keyed).predict(X[:2]).tolist()
    assert ledger.released(noise) == 5
    more = ledger.remaining(noise) + 1
    with pytest.raises(darrm.BudgetError, match=f"{more} more labels"):
        other.predict(X[:more])
    assert ledger.released(noise) == 5


def test_labels_of_more_noise_than_the_ledger_cost_what_it_counts(tmp_path: Path) -> None:
    less = darrm.mechanisms.GaussianNoisyMax(6.0)
    ledger = Ledger.create(tmp_path / "ledger.db", less, total_epsilon=2.5, total_delta=1e-5)
    model = pate(sigma=8.0, total_epsilon=2.5, ledger=ledger.path).fit(X, Y)
    model.predict(X[:3])
    assert (ledger.released(less), model.spent_) == (3, ledger.spent())
    with pytest.raises(darrm.InputError, match="or more noise"):
        pate(sigma=3.0, total_epsilon=2.5, ledger=ledger.path).fit(X, Y).predict(X[:1])
    assert ledger.released(less) == 3


def test_what_a_refused_plan_advises_takes_the_ledger(tmp_path: Path) -> None:
    with pytest.raises(darrm.InputError, match="in place of queries") as refused:
        teachers_decision(250, "replace-one", 5, 4.0, 1e-5, 10, 0.75)
    sigma = float(str(refused.value).split("sigma=")[1].split()[0])
    release = NoisyMax(None, sigma, 4.0, 1e-5, "replace-one", 250, 10, ledger=tmp_path / "ledger.db", create=True)
    assert release.privacy.queries is not None
    assert release.privacy.queries >= 5


@pytest.mark.thorough
def test_workers_of_joblib_share_a_ledger(tmp_path: Path) -> None:
    model = fresh(ledger=tmp_path / "ledger.db", ledger_create=True).fit(X, Y)
    ask, allowed = joblib.delayed(model.predict), model.privacy_.queries
    with joblib.Parallel(n_jobs=2) as workers:
        workers(ask(X[:1]) for _ in range(allowed - 1))
        with pytest.raises(darrm.BudgetError, match="None is left"):
            workers(ask(X[:1]) for _ in range(4))
    ledger = Ledger(tmp_path / "ledger.db")
    assert ledger.status()["released"] == sum(charge["n"] for charge in ledger.history()) == allowed


@pytest.mark.thorough
def test_an_ensemble_is_no_settled_charge(tmp_path: Path) -> None:
    """Who asks it may stop, or charge something else, by its answers: docs/composition.md has what that costs."""
    for rule in ("in-advance", "renyi-filter", "basic-filter"):
        Ledger.create(tmp_path / rule, total_epsilon=6.0, total_delta=1e-5, voters="fresh", rule=rule)
    with pytest.raises(
        darrm.InputError, match=r'rule "in-advance".*fixed in advance.*"exact", "renyi-filter" or "basic-filter"'
    ):
        fresh(ledger=tmp_path / "in-advance").fit(X, Y)
    for rule in ("renyi-filter", "basic-filter"):
        fresh(ledger=tmp_path / rule).fit(X, Y).predict(X[:1])
        assert Ledger(tmp_path / rule).status()["released"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ledger_create": True}, "ledger_create is for a ledger"),
        ({"ledger_create": "yes", "ledger": "l.json"}, "ledger_create must be True or False"),
        ({"copies": 0}, "copies must be an integer"),
        ({"copies": 1.5}, "copies must be an integer"),
        ({"copies": 2, "ledger": "l.json"}, "which all copies share"),
    ],
)
def test_what_cannot_be_asked_of_a_budget(options: dict[str, Any], message: str) -> None:
    with pytest.raises(darrm.InputError, match=message):
        fresh(**options).fit(X, Y)


@pytest.mark.thorough
def test_copies_of_fixed_voters_need_no_share() -> None:
    model = PrivateMajorityClassifier(voters="fixed", epsilon=1.0, Delta=1e-5, K=3)
    with pytest.raises(darrm.InputError, match="copies must not be given for fixed voters"):
        model.set_params(copies=2).fit(X, Y)
    fitted = model.set_params(copies=1).fit(X, Y)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))

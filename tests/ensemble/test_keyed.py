"""Ensembles with ``keyed=True``: a row that comes again has its label again, and is charged once."""

from __future__ import annotations

import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from ledgers import FAST
from sklearn.base import BaseEstimator, ClassifierMixin, clone

import darrm
from darrm.accounting import Ledger, ledger_ids
from darrm.ensemble import PrivateMajorityClassifier
from darrm.ensemble.row_digests import row_digests
from darrm.errors import BudgetError, CopiedBudgetWarning, InputError, OutputError

X = np.random.default_rng(0).normal(size=(300, 3))
Y = np.where(X[:, 0] > 0, "yes", "no")
ASKED = np.random.default_rng(1).normal(size=(40, 3)) / 4
KEY = bytes(32)


class Fickle(ClassifierMixin, BaseEstimator):
    """Answers by chance, as a classifier whose rounding depends on the other rows at its worst."""

    def fit(self, X: Any, y: Any) -> Fickle:
        self.classes_ = np.unique(y)
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict(self, X: Any) -> Any:
        return np.random.default_rng().choice(self.classes_, len(X))


def fresh(**options: Any) -> PrivateMajorityClassifier:
    budget = {"total_epsilon": 140.0, "total_delta": 1e-5, "keyed": True}
    voters = {"estimator": Fickle(), "voters": "fresh", "epsilon": 1.0, "K": 5}
    return PrivateMajorityClassifier(**{**voters, **budget, **options})


def pate(**options: Any) -> PrivateMajorityClassifier:
    budget = {"total_epsilon": 50.0, "total_delta": 1e-5, "keyed": True}
    voters = {"estimator": Fickle(), "teachers": "non-private", "sigma": 4.0, "K": 5}
    return PrivateMajorityClassifier(**{**voters, **budget, **options})


def planned(**options: Any) -> PrivateMajorityClassifier:
    return pate(**{"sigma": None, "queries": 80, **options})


def of_ledger(folder: Path, **options: Any) -> PrivateMajorityClassifier:
    return fresh(ledger=folder / "ledger.db", ledger_create=True, **options)


def charged(model: PrivateMajorityClassifier) -> int:
    return int(model._release.budget.count().released)  # type: ignore[attr-defined]


@pytest.mark.first(2)
@pytest.mark.parametrize("make", [fresh, pate, planned, of_ledger])
def test_a_row_has_one_label_whatever_the_voters_say_next_time(make: Callable[..., Any], tmp_path: Path) -> None:
    model = (make(tmp_path) if make is of_ledger else make()).fit(X, Y)
    twice = np.concatenate([ASKED, ASKED[::-1]])
    labels = model.predict(twice)
    assert labels[:40].tolist() == labels[:39:-1].tolist()
    assert charged(model) == 40
    spent = model.spent_
    again = [model.predict(ASKED[i : i + 7]) for i in range(0, 40, 7)]
    assert np.concatenate(again).tolist() == labels[:40].tolist()
    assert (charged(model), model.spent_) == (40, spent)
    model.predict(ASKED + 1)
    assert charged(model) == 80
    assert set(labels) == {"no", "yes"}


@pytest.mark.thorough
@pytest.mark.parametrize("make", [fresh, pate])
def test_without_it_a_row_is_asked_anew(make: Callable[..., Any]) -> None:
    model = make(keyed=False).fit(X, Y)
    first, second = model.predict(ASKED), model.predict(ASKED)
    assert first.tolist() != second.tolist()  # with a probability of 2^-40 they are equal
    assert charged(model) == 80


@pytest.mark.parametrize("make", [fresh, of_ledger])
def test_a_spent_budget_answers_rows_that_it_has_paid_for(make: Callable[..., Any], tmp_path: Path) -> None:
    model = make(tmp_path, total_epsilon=8.0) if make is of_ledger else make(total_epsilon=8.0)
    model.fit(X, Y)
    allowed = model.privacy_.queries
    rows = np.arange(3.0 * (allowed + 1)).reshape(allowed + 1, 3)
    labels = model.predict(rows[:allowed])
    for asked in (rows, rows[-1:], rows[::-1]):
        with pytest.raises(BudgetError, match="None is left"):
            model.predict(asked)
    assert model.predict(rows[:allowed]).tolist() == labels.tolist()
    assert charged(model) == allowed


def test_a_call_beyond_the_budget_keeps_no_label(tmp_path: Path) -> None:
    model = of_ledger(tmp_path, total_epsilon=8.0).fit(X, Y)
    allowed = model.privacy_.queries
    rows = np.arange(3.0 * (allowed + 1)).reshape(allowed + 1, 3)
    with pytest.raises(BudgetError):
        model.predict(rows)
    assert charged(model) == 0
    model.predict(rows[1:])
    assert charged(model) == allowed


@pytest.mark.thorough
def test_copies_share_the_labels_of_a_ledger(tmp_path: Path) -> None:
    model = of_ledger(tmp_path, estimator=None).fit(X, Y)
    labels = model.predict(ASKED).tolist()
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    np.save(tmp_path / "rows.npy", ASKED[::-1])
    program = Path(__file__).with_name("programs") / "predict_pickled.py"
    command = [sys.executable, program, tmp_path / "model.pickle", tmp_path / "rows.npy"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=FAST)
    assert ended.stdout.split() == labels[::-1]
    assert pickle.loads(pickle.dumps(model)).predict(ASKED).tolist() == labels
    assert Ledger(tmp_path / "ledger.db").status()["released"] == 40


@pytest.mark.thorough
def test_workers_that_ask_at_the_same_time_have_one_label(tmp_path: Path) -> None:
    model = of_ledger(tmp_path, estimator=None).fit(X, Y)
    ask = joblib.delayed(model.predict)
    answers = joblib.Parallel(n_jobs=2)(ask(ASKED[start:]) for start in [0, 10, 20] * 4)
    for answer in answers:
        assert answer.tolist() == model.predict(ASKED)[-len(answer) :].tolist()
    assert Ledger(tmp_path / "ledger.db").status()["released"] == 40


@pytest.mark.thorough
def test_threads_have_one_label() -> None:
    model = fresh().fit(X, Y)
    with ThreadPoolExecutor(4) as pool:
        answers = {tuple(answer) for answer in pool.map(model.predict, [ASKED] * 12)}
    assert (len(answers), charged(model)) == (1, 40)


@pytest.mark.thorough
@pytest.mark.parametrize("make", [fresh, pate])
def test_a_copy_without_a_ledger_repeats_what_it_knows_and_no_more(make: Callable[..., Any]) -> None:
    model = make().fit(X, Y)
    labels = model.predict(ASKED).tolist()
    with pytest.warns(CopiedBudgetWarning):
        copy = pickle.loads(pickle.dumps(model))
    assert copy.predict(ASKED[::2]).tolist() == labels[::2]
    with pytest.raises(BudgetError, match="was copied"):
        copy.predict(ASKED[:3] + 1)
    shared = make(copies=2).fit(X, Y)
    known = shared.predict(ASKED).tolist()
    copy = pickle.loads(pickle.dumps(shared))
    assert copy.predict(ASKED).tolist() == known
    later = [one.predict(ASKED + 1).tolist() for one in (shared, copy)]  # two labels of a row, each of them charged
    assert later[0] != later[1]
    assert (charged(shared), charged(copy)) == (80, 40)


@pytest.mark.thorough
def test_another_fit_answers_anew_and_pays_for_it(tmp_path: Path) -> None:
    """Its voters are others, so its label of a row is another one."""
    model = of_ledger(tmp_path).fit(X, Y)
    first = model.predict(ASKED).tolist()
    second = clone(model).fit(X, Y).predict(ASKED).tolist()
    assert first != second
    assert Ledger(tmp_path / "ledger.db").status()["released"] == 80
    assert model.predict(ASKED).tolist() == first


def test_an_interrupt_leaves_no_charge_without_its_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = of_ledger(tmp_path).fit(X, Y)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(darrm.accounting.budgets, "keep_labels", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.predict(ASKED)
    assert charged(model) == 0
    labels = model.predict(ASKED).tolist()
    assert model.predict(ASKED).tolist() == labels
    assert charged(model) == 40


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_is_killed_leaves_a_label_for_each_charge(tmp_path: Path) -> None:
    """At any moment: what the ledger counts are the rows that it has labels of."""
    model = of_ledger(tmp_path, total_epsilon=5000.0, total_delta=1e-5, estimator=None).fit(X, Y)
    path = tmp_path / "ledger.db"

    def kept() -> int:
        with closing(sqlite3.connect(path, timeout=60)) as db:
            ((count,),) = db.execute("SELECT count(*) FROM charged").fetchall()
        return int(count)

    for seed in range(6):
        before, child = kept(), os.fork()
        if not child:
            with suppress(BaseException):
                rng = np.random.default_rng(seed)
                while True:
                    model.predict(rng.normal(size=(2, 3)))
            os._exit(1)
        while kept() == before:
            time.sleep(0.01)
        time.sleep(0.01 * seed)
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        after = kept()
        assert after == Ledger(path).status()["released"]
        model.predict(np.random.default_rng(seed).normal(size=(2, 3)))  # what the child asked first
        assert kept() == after


@pytest.mark.thorough
def test_a_reader_of_the_ledger_sees_neither_rows_nor_labels(tmp_path: Path) -> None:
    model = of_ledger(tmp_path).fit(X, Y)
    model.predict(ASKED)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as db:
        found = {digest for (digest,) in db.execute("SELECT digest FROM charged")}
    assert len(found) == 40
    for row in row_digests(KEY, ASKED):  # by another key than that of the ensemble
        assert not found & {ledger_ids._tag(row, label) for label in (0, 1)}
    assert model._row_key is not None
    rows = row_digests(model._row_key, ASKED)
    assert found == {
        ledger_ids._tag(row, int(label == "yes")) for row, label in zip(rows, model.predict(ASKED), strict=True)
    }
    status = Ledger(tmp_path / "ledger.db").status()
    assert (status["ids"], status["by_key"], status["computational"]) == (0, 0, False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"voters": "fixed", "epsilon": 1.0, "Delta": 1e-6}, "keyed must not be given for fixed voters"),
        ({"voters": "fresh", "keyed": "yes"}, "keyed must be True or False"),
    ],
)
def test_what_cannot_be_keyed_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        fresh(**options).fit(X, Y)


# What is the same row


def test_rows_of_equal_numbers_are_one_row() -> None:
    scipy_sparse = pytest.importorskip("scipy.sparse")
    rows = np.array([[0.0, 1.5, -2.0], [-0.0, 1.5, -2.0], [np.nan, 0.0, 1.0], [-np.nan, 0.0, 1.0]])
    dense = row_digests(KEY, rows)
    assert [dense.index(row) for row in dense] == [0, 0, 2, 2]
    assert {len(row) for row in dense} == {32}
    for other in (np.asfortranarray(rows), scipy_sparse.csr_array(rows), rows[::-1][::-1]):
        assert row_digests(KEY, other) == dense
    assert not set(dense) & set(row_digests(b"k" * 32, rows))
    near = np.nextafter(rows, np.inf)
    assert not set(dense) & set(row_digests(KEY, near[:2]))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_known_by_their_values(library: str) -> None:
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"a": [1, 2, 1], "b": ["x", "y", "x"], "c": [True, False, True], "d": [0.5, None, 0.5]})
    one, two, three = row_digests(KEY, frame)
    assert one == three != two
    other = frames.DataFrame({"a": [1.0, None], "b": ["x", ""], "c": [1, 0], "d": [0.5, float("nan")]})
    assert row_digests(KEY, other)[0] == one
    cells = frames.DataFrame({"a": ["ab", "a", "", "1"], "b": ["c", "bc", "abc", "1"]})
    numbers = frames.DataFrame({"a": [1, 2**53, 2**53 + 1], "b": [1, 0, 0]})
    assert len({*row_digests(KEY, cells), *row_digests(KEY, numbers)}) == 7
    with pytest.raises(InputError, match=r"numbers, truth values and texts. Got a .*keyed"):
        row_digests(KEY, frames.DataFrame({"a": [datetime(2026, 11, 28)]}))


@pytest.mark.thorough
def test_a_frame_may_have_values_that_are_missing() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": pandas.array([1, None], dtype="Int64"), "b": pandas.Categorical(["x", None])})
    plain = pandas.DataFrame({"a": [1.0, float("nan")], "b": ["x", None]})
    assert row_digests(KEY, frame) == row_digests(KEY, plain)


@pytest.mark.thorough
def test_an_unwritable_ledger_releases_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = of_ledger(tmp_path).fit(X, Y)
    import darrm.accounting.ledger_store as store

    def full(*_: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(store, "_write", full)
        with pytest.raises(OutputError, match="disk is full"):
            model.predict(ASKED)
    assert charged(model) == 0
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as db:
        assert db.execute("SELECT count(*) FROM charged").fetchall() == [(0,)]

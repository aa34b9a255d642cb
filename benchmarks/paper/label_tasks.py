"""Labelled data in two halves, and what the learners of darrm make of a release of the first half's labels."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import darrm
from darrm import mechanisms
from darrm.labels.learners import BagClassifier, RandomizedResponseClassifier
from darrm.randomness.words import NotPrivateWarning

sys.path.insert(0, str(Path(__file__).resolve().parent))

import label_data

Array = NDArray[np.float64]
CATEGORIES = 11


class Task(NamedTuple):
    """A data set in two halves, and what the attacker knows of the first."""

    X: Any
    y: NDArray[np.uint8]
    eta: Array
    X_test: Any
    y_test: NDArray[np.uint8]


def simulated(n: int, features: int = 28) -> Task:
    """Numbers as features, like Higgs, and labels that follow a logistic model: eta is known and not estimated."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(n, features))
    eta = 1 / (1 + np.exp(-1.2 * X @ rng.normal(size=features) / np.sqrt(features / 4)))
    return halves(X, (rng.random(n) < eta).astype(np.uint8), eta)


def simulated_clicks(n: int, columns: int) -> Task:
    """11 categories as features, like KDD Cup 2012, one column a value; some 5 % of the labels are ones.

    Value v = 1, 2, .. of a category is drawn about 1 / v times as often as its first, and moves the log odds by some
    0.8 / v^(1/4).
    """
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(18)
    values = columns // CATEGORIES
    drawn = ((values + 1) ** rng.random((n, CATEGORIES))).astype(np.int64) - 1
    at = np.minimum(drawn, values - 1) + values * np.arange(CATEGORIES)
    ones = np.ones(at.size, np.float32)
    X = csr_matrix((ones, at.ravel(), np.arange(0, at.size + 1, CATEGORIES)), (n, columns))
    effects = np.zeros(columns)
    effects[: values * CATEGORIES] = 0.8 * np.tile(np.arange(1, values + 1) ** -0.25, CATEGORIES)
    eta = 1 / (1 + np.exp(3.9 - X @ (effects * rng.normal(size=columns))))
    return halves(X, (rng.random(n) < eta).astype(np.uint8), eta)


def halves(X: Any, y: NDArray[np.uint8], eta: Array) -> Task:
    half = len(y) // 2
    return Task(X[:half], y[:half], eta[:half], X[half:], y[half:])


def of_file(data: label_data.LabelledData) -> Task:
    """eta is what a model without any privacy learns on the half that is not released."""
    order = np.random.default_rng(12).permutation(len(data.y))
    X, y = data.X[order], data.y[order]
    if isinstance(X, np.ndarray):
        X = ((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)).astype(np.float64)
    task = halves(X, y, np.zeros(len(y)))
    model = BagClassifier(tol=1e-4).fit(task.X_test, task.y_test)
    return task._replace(eta=darrm.labels.eta_from_model(model, task.X))


def tasks_of(
    higgs: Path | None, kdd: Path | None, rows: int | None, made: tuple[int, int], hashed: int
) -> dict[str, Task]:
    """The data sets by what they are called in the pictures.

    Without a file as many examples are made as ``rows`` says, or ``made[0]``, and click data have ``made[1]`` columns.
    """
    tasks = {}
    examples, columns = rows or made[0], made[1]
    if higgs is None:
        tasks["synthetic, like Higgs"] = simulated(examples)
    else:
        tasks["Higgs"] = of_file(label_data.higgs(higgs, rows))
    if kdd is None:
        tasks["synthetic, like KDD12"] = simulated_clicks(examples, columns)
    else:
        tasks["KDD12"] = of_file(label_data.kddcup2012(kdd, hashed, rows))
    return tasks


def bags_of(n: int, k: int) -> NDArray[np.intp]:
    return mechanisms.bags(n, k, np.random.default_rng(16)).indices


def release(mechanism: Any, labels: NDArray[np.uint8], seed: int) -> Any:
    """What the mechanism says of bags (n, k) of labels, the same at every call: a simulation, and not private."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return mechanism.release(labels, rng=np.random.default_rng(seed))


def learn(task: Task, mechanism: Any, bags: NDArray[np.intp], released: Any, **settings: Any) -> Any:
    """A classifier of darrm on one release of the labels in these bags."""
    if isinstance(mechanism, mechanisms.RandomizedResponse):
        model = RandomizedResponseClassifier(mechanism=mechanism, **settings)
        return model.fit(task.X[bags.ravel()], released.ravel())
    return BagClassifier(mechanism, **settings).fit(task.X, released, mechanisms.Bags(bags, np.zeros(0, np.intp)))


def scores(task: Task, model: Any) -> tuple[float, float]:
    """AUC (of the ranks, ties in the middle) and cross-entropy on the other half."""
    from scipy.stats import rankdata

    log_odds, is_one = model.decision_function(task.X_test), task.y_test == 1
    ones = int(is_one.sum())
    auc = (rankdata(log_odds)[is_one].sum() - ones * (ones + 1) / 2) / (ones * (is_one.size - ones))
    return float(auc), float(np.mean(np.logaddexp(0, log_odds) - task.y_test * log_odds))

"""Training the voters of an ensemble, and their votes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm._validation import check_jobs
from darrm.ensemble.dp_classifier import DPClassifier
from darrm.errors import DarrmError, InputError
from darrm.numerics.arrays import Array

Codes = NDArray[np.intp]

_SEEDS = ("random_state", "seed", "random_seed", "rng", "generator")


def train_all(
    model: Any,
    records: Array,
    labels: NDArray[Any],
    parts: list[NDArray[np.intp]],
    *,
    n_jobs: int,
    rng: np.random.Generator | None,
    shared_seed: bool,
) -> list[Any]:
    """Copies of ``model``, fitted to each part, in their order whatever the number of jobs.

    With ``rng`` each draws from a seed of its own. Without, a seed that the model has is refused unless
    ``shared_seed``: the noise of private voters must be independent.
    """
    from joblib import Parallel, delayed
    from sklearn.base import clone

    n_jobs = check_jobs(n_jobs, "n_jobs")
    seeded = [name for name in model.get_params() if name.rpartition("__")[2] == "random_state"]
    seeds = [name for name in model.get_params() if name.rpartition("__")[2] in _SEEDS]
    if not shared_seed and any(model.get_params()[name] is not None for name in seeds):
        raise InputError(
            "estimator must have no random_state or other seed: its copies would draw the same noise in all voters."
        )
    models = []
    for _ in parts:
        voter = clone(model)
        if rng is not None:
            voter.set_params(**{name: int(rng.integers(2**31)) for name in seeded})
        models.append(voter)
    run = Parallel(n_jobs=n_jobs, prefer="threads")
    return list(
        run(
            delayed(_fit)(voter, records[part], labels[part], i)
            for i, (voter, part) in enumerate(zip(models, parts, strict=True))
        )
    )


def _fit(model: Any, records: Array, labels: NDArray[Any], voter: int) -> Any:
    # Classifiers trained by DP-SGD know the classes beforehand.
    if not isinstance(model, DPClassifier) and np.unique(labels).size < 2:
        raise InputError(f"Shard {voter} holds one class, {labels[0]}. Shuffle the records, or lower K.")
    try:
        return model.fit(records, labels)
    except DarrmError:
        raise
    except Exception as error:
        raise InputError(f"Voter {voter} could not be fitted: {type(error).__name__}: {error}") from error


def predictions(models: list[Any], records: Array, classes: NDArray[Any]) -> Codes:
    """The vote of each model on each record as an index into ``classes``, shape (n, K)."""
    votes = np.empty((len(records), len(models)), dtype=np.intp)
    for voter, model in enumerate(models):
        answers = np.asarray(model.predict(records))
        if answers.shape != (len(records),) or not np.isin(answers, classes).all():
            raise InputError(f"Voter {voter} must predict one of {classes.tolist()} for each record.")
        votes[:, voter] = np.searchsorted(classes, answers)
    return votes

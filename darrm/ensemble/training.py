"""Training the voters of an ensemble, and their votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm._sklearn import FrozenEstimator, check_method_params, rows
from darrm._validation import check_jobs
from darrm.ensemble.dp_classifier import DPClassifier
from darrm.errors import DarrmError, InputError

Codes = NDArray[np.intp]

_SEEDS = ("random_state", "seed", "random_seed", "rng", "generator")


def train_all(
    voters: Sequence[Any],
    records: Any,
    labels: NDArray[Any],
    parts: Sequence[NDArray[np.intp]],
    *,
    n_jobs: int | None,
    rng: np.random.Generator | None,
    shared_seed: bool,
    metadata: Sequence[dict[str, Any]] | None = None,
) -> list[Any]:
    """Copies of ``voters``, each fitted to its part, in their order whatever the number of jobs.

    Prefitted voters are not trained. ``metadata`` holds the further arguments of ``fit`` of each voter, for all
    records. With ``rng`` each voter draws from its own seed. Without it, a voter with a seed is refused unless
    ``shared_seed``, because the noise of private voters must be independent.
    """
    from joblib import Parallel, delayed
    from sklearn.base import clone

    n_jobs = None if n_jobs is None else check_jobs(n_jobs, "n_jobs")
    models = []
    for model in voters:
        if rng is None and not shared_seed and _has_seed(model):
            raise InputError(
                "estimator must have no random_state or other seed: its copies would draw the same noise in all "
                "voters, and anyone who knows the seed can remove it."
            )
        voter = clone(model)
        if rng is not None and not isinstance(model, FrozenEstimator):
            seeded = [name for name in voter.get_params() if name.rpartition("__")[2] == "random_state"]
            voter.set_params(**{name: int(rng.integers(2**31)) for name in seeded})
        models.append(voter)
    run = Parallel(n_jobs=n_jobs, prefer="threads")
    given = metadata or [{} for _ in models]
    trained = iter(
        run(
            delayed(_fit)(model, rows(records, part), labels[part], i, check_method_params(records, own, indices=part))
            for i, (model, part, own) in enumerate(zip(models, parts, given, strict=True))
            if not isinstance(model, FrozenEstimator)
        )
    )
    return [model if isinstance(model, FrozenEstimator) else next(trained) for model in models]


def _has_seed(model: Any) -> bool:
    """Whether the noise of a classifier, or of one inside it, comes or would come from a seed.

    For darrm's own classifiers the record of `fit` decides, because parameters can be changed afterwards. For others
    the parameters decide, and not fitted attributes, because a forest gives seeds to its trees.
    """
    left, seen = [(model, True)], set[int]()
    while left:
        part, passed = left.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, list | tuple | dict):
            left += [(inner, passed) for inner in (part.values() if isinstance(part, dict) else part)]
        elif hasattr(part, "get_params") and not isinstance(part, type):
            params: dict[str, Any] = part.get_params(deep=False)
            made = getattr(part, "seeded_", getattr(getattr(part, "privacy_", None), "seeded", None))
            if made is None:
                made = passed and any(name in _SEEDS and value is not None for name, value in params.items())
            if made:
                return True
            # The last one first: what is a parameter is also an attribute.
            left += [(inner, False) for inner in getattr(part, "__dict__", {}).values()]
            left += [(inner, passed) for inner in params.values()]
    return False


def _fit(model: Any, records: Any, labels: NDArray[Any], voter: int, metadata: dict[str, Any]) -> Any:
    # Classifiers trained by DP-SGD know the classes beforehand.
    if not isinstance(model, DPClassifier) and np.unique(labels).size < 2:
        raise InputError(f"Shard {voter} holds one class, {labels[0]}. Shuffle the records, or lower K.")
    try:
        return model.fit(records, labels, **metadata)
    except DarrmError:
        raise
    except Exception as error:
        raise InputError(f"Voter {voter} could not be fitted: {type(error).__name__}: {error}") from error


def predictions(models: Sequence[Any], records: Any, classes: NDArray[Any]) -> Codes:
    """The vote of each model on each record as an index into ``classes``, shape (n, K)."""
    n = records.shape[0]
    votes = np.empty((n, len(models)), dtype=np.intp)
    for voter, model in enumerate(models):
        try:
            answers = np.asarray(model.predict(records))
        except DarrmError:
            raise
        except Exception as error:
            raise InputError(f"Voter {voter} could not predict: {type(error).__name__}: {error}") from error
        if answers.shape != (n,) or not np.isin(answers, classes).all():
            raise InputError(f"Voter {voter} must predict one of {classes.tolist()} for each record.")
        votes[:, voter] = np.searchsorted(classes, answers)
    return votes

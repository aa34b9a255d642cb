"""The voters of an ensemble, as passed: copies of one classifier, or a list, some of them prefitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm._sklearn import FrozenEstimator, get_tags
from darrm._validation import check_count, check_positive, real, shown
from darrm.ensemble.dp_classifier import DPClassifier
from darrm.errors import InputError

DEFAULT_K = 11


class Asked(NamedTuple):
    """One classifier for each voter, as passed, and their names."""

    names: tuple[str, ...]
    models: list[Any]

    @property
    def prefitted(self) -> list[bool]:
        """Whether each voter is prefitted."""
        return [isinstance(model, FrozenEstimator) for model in self.models]


def of_copies(model: Any, K: object) -> Asked:
    """K voters that are copies of one classifier; 11 if K is None."""
    number = DEFAULT_K if K is None else check_count("K", K)
    _check_classifier(model, "estimator")
    if isinstance(model, FrozenEstimator):
        raise InputError(
            "estimator must be a classifier to train copies of. Got a prefitted one, which all voters would share: a "
            "record that it was trained on would affect all. Pass estimators=[..] of prefitted ones."
        )
    return Asked(("estimator",) * number, [model] * number)


def of_list(estimators: Any, K: object) -> Asked:
    """The voters of a list of classifiers, or of pairs of a name and a classifier."""
    models = listed(estimators)
    if not models:
        allowed = "a list of classifiers, or of pairs (name, classifier), not empty"
        raise InputError(f"estimators must be {allowed}. Got {shown(estimators)}.")
    if 0 < sum(map(_is_pair, estimators)) < len(models):
        raise InputError("estimators must have names for all classifiers, or for none.")
    if K is not None and check_count("K", K) != len(models):
        raise InputError(f"K must be the number of estimators, {len(models)}, or left out. Got {K}.")
    for i, model in enumerate(models):
        _check_classifier(model, f"estimators[{i}]")
    _check_prefitted(models)
    return Asked(names_of(estimators), models)


def template(model: Any, kind: str, classes: NDArray[Any], epsilon: object, Delta: object) -> Any:
    """A copy of a classifier to train as a voter; a prefitted one unchanged.

    Classifiers trained by DP-SGD get the classes and, for fixed voters, the privacy target, where they have none.
    """
    from sklearn.base import clone

    if isinstance(model, FrozenEstimator):
        return model
    try:
        copy = clone(model)
    except TypeError as error:
        raise InputError(f"estimator must be a scikit-learn classifier. Got {shown(model)}.") from error
    if isinstance(copy, DPClassifier):
        known: dict[str, Any] = {"classes": tuple(classes.tolist())}
        if kind == "fixed":
            known["epsilon"] = None if epsilon is None else check_positive("epsilon", epsilon)
            known["delta"] = None if Delta is None else real("Delta", Delta, 0, 1, "[)")
        copy.set_params(**{name: value for name, value in known.items() if getattr(copy, name) is None})
    return copy


def check_known(asked: Asked, classes: NDArray[Any], columns: int) -> None:
    """`InputError` unless prefitted voters have only ``classes``, and the same number of columns."""
    for i, (model, frozen) in enumerate(zip(asked.models, asked.prefitted, strict=True)):
        own = getattr(model, "classes_", None) if frozen else None
        if own is not None and not set(np.asarray(own).tolist()) <= set(classes.tolist()):
            raise InputError(
                f"estimators[{i}] must know only classes of y, {classes.tolist()}. Got {np.asarray(own).tolist()}. "
                "Let y hold every class."
            )
        width = getattr(model, "n_features_in_", columns) if frozen else columns
        if width != columns:
            raise InputError(f"estimators[{i}] was fitted on {width} columns, and X has {columns}.")


def tags_of(model: Any) -> Any:
    """The tags of a classifier, None if it has none."""
    try:
        return get_tags(model)
    except (AttributeError, TypeError, ValueError):
        return None


def _check_classifier(model: Any, name: str) -> None:
    if isinstance(model, type) or not (hasattr(model, "fit") or hasattr(model, "get_params")):
        raise InputError(f"{name} must be a scikit-learn classifier. Got {shown(model)}.")
    if not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise InputError(f"{name} must be a classifier, with fit and predict. Got {shown(model)}.")
    tags = tags_of(model)
    if tags is not None and tags.estimator_type not in (None, "classifier"):
        raise InputError(f"{name} must be a classifier. Got a {tags.estimator_type}, {shown(model)}.")


def _check_prefitted(models: list[Any]) -> None:
    """`InputError` for a prefitted voter that is not fitted, or occurs twice: one record would affect both."""
    seen: dict[int, int] = {}
    for i, model in enumerate(models):
        if not isinstance(model, FrozenEstimator):
            continue
        if not model.__sklearn_is_fitted__():
            raise InputError(
                f"estimators[{i}] must be fitted: a FrozenEstimator is taken as it is. Got {shown(model.estimator)}. "
                "Fit it, or pass it without FrozenEstimator to have it trained."
            )
        inner = model.estimator
        while isinstance(inner, FrozenEstimator):
            inner = inner.estimator
        if id(inner) in seen:
            raise InputError(
                f"estimators[{i}] must be a separate classifier. Got the fitted classifier of "
                f"estimators[{seen[id(inner)]}] again: a record that it was trained on would affect both."
            )
        seen[id(inner)] = i


def listed(estimators: Any) -> list[Any]:
    """The classifiers of a list, unchecked and without their names; empty if it is not a list."""
    given = estimators if isinstance(estimators, list | tuple) else []
    return [part[1] if _is_pair(part) else part for part in given]


def names_of(estimators: Sequence[Any]) -> tuple[str, ...]:
    """The names of the voters; voter_0, voter_1, ... where they have none."""
    return tuple(part[0] if _is_pair(part) else f"voter_{i}" for i, part in enumerate(estimators))


def are_pairs(estimators: Any) -> bool:
    """Whether all classifiers of a list have names."""
    return isinstance(estimators, list) and bool(estimators) and all(map(_is_pair, estimators))


def _is_pair(part: Any) -> bool:
    return isinstance(part, list | tuple) and len(part) == 2 and isinstance(part[0], str)

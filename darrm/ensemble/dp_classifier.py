"""The common base of classifiers trained by DP-SGD: privacy target, classes, and the cost of a fitted model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from darrm._sklearn import BaseEstimator, ClassifierMixin
from darrm._validation import check_count, check_positive, choice, real
from darrm.ensemble.dp_sgd import MAX_EPSILON, RELATIONS, calibrated_noise, training_event
from darrm.errors import InputError
from darrm.randomness.words import word_source

_SMALL = 1e-100


class Target(NamedTuple):
    """Checked parameters: the privacy of the model, and the steps that train it."""

    epsilon: float
    delta: float
    rate: float
    steps: int
    clip: float
    learning_rate: float


class DPClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The base of classifiers whose `fit` is DP-SGD; it reads their parameters and sets what a model costs."""

    epsilon: float | None
    delta: float | None
    sampling_rate: float
    steps: int
    clip: float
    learning_rate: float
    adjacency: str
    n_records: float | None
    classes: Sequence[Any] | None
    random_state: Any

    def _target(self) -> Target:
        choice("adjacency", self.adjacency, tuple(RELATIONS))
        if self.epsilon is None or self.delta is None:
            raise InputError(
                f"{type(self).__name__} needs epsilon and delta: the privacy of the fitted "
                "model. (An ensemble of it takes epsilon and Delta.)"
            )
        beyond = "Above that, rounding could undo the clipping."
        return Target(
            epsilon=check_positive("epsilon", self.epsilon, MAX_EPSILON),
            delta=real("delta", self.delta, 0, 1, "()", hint="Pass for instance 1e-5."),
            rate=check_positive("sampling_rate", self.sampling_rate, 1),
            steps=check_count("steps", self.steps, 10**6),
            clip=real("clip", self.clip, _SMALL, 1 / _SMALL, hint=beyond),
            learning_rate=real("learning_rate", self.learning_rate, 0, 1 / _SMALL, "(]", hint=beyond),
        )

    def _options(self, target: Target, rows: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """The options of `iterates` for so many records, and what the model costs: attributes to set after training."""
        if self.n_records is not None:
            n = real("n_records", self.n_records, 1, math.inf, "[)")
        elif self.adjacency == "replace-one":
            n = float(rows)
        else:
            raise InputError("Under add-remove the number of records is private. Pass n_records, a public one near it.")
        epsilon, delta, rate, steps, clip, speed = target
        noise, spent = calibrated_noise(epsilon, delta, rate, steps, self.adjacency)
        words = word_source(generator(self.random_state), stacklevel=4)  # whoever called fit
        options = {"noise_multiplier": noise, "rate": rate, "steps": steps, "clip": clip, "learning_rate": speed}
        costs = {"epsilon_": spent, "delta_": delta, "adjacency_": self.adjacency}
        costs |= {"event_": training_event(noise, rate, steps), "noise_multiplier_": noise, "n_iter_": steps}
        costs["seeded_"] = self.random_state is not None
        return options | {"n": n, "words": words}, costs

    def _codes(self, labels: NDArray[Any], most: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """The classes that were passed, sorted and at most so many, and for each label which it is."""
        classes = np.unique(np.asarray(self.classes))
        if not 2 <= classes.size <= most:
            allowed = "two labels" if most == 2 else f"2 to {most} labels"
            raise InputError(f"classes must be {allowed}. Got {self.classes!r}.")
        if not np.isin(labels, classes).all():
            raise InputError(f"y must hold labels of the classes {' and '.join(map(str, classes))} only.")
        return classes, np.searchsorted(classes, labels).astype(np.intp)


def generator(random_state: Any) -> np.random.Generator | None:
    """A generator for tests from a seed, a RandomState or a Generator; None stands for the operating system."""
    from sklearn.utils import check_random_state

    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    try:
        return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1, size=4))
    except ValueError as error:
        raise InputError(f"random_state must be None or a seed. Got {random_state!r}. ({error})") from None

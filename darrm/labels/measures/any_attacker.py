"""The utility of an attacker given by the caller, beside the best one (module `attack`)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import MAX_COUNT, array, plain, real, whole
from darrm.errors import InputError
from darrm.labels.measures.classes import kernel_of_classes
from darrm.labels.measures.kernels import OfCounts, OfLabels, channel, name_of
from darrm.labels.mechanisms.weighted_aggregates import NoisyWeightedLabelProportions, WeightedBagAggregates
from darrm.mechanisms.class_labels import check_class_probabilities
from darrm.mechanisms.labelled_bag import check_features, check_unused_features
from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import as_bags, slices
from darrm.randomness.words import NotPrivateWarning

Attacker = Callable[[Array, Any], ArrayLike]
_TINY = 1e-290  # outputs of a smaller probability are left out, as in all measures
_ENTRIES = 20_000_000  # labels times outputs that are gone through


class AttackerUtility(NamedTuple):
    """The expected share of correct guesses of an attacker.

    Attributes
    ----------
    utility : float in [0, 1]
        Expected share of labels that it guesses correctly.
    advantage : float in [-1, 1]
        ``utility`` minus that of the best attacker without the release. Subtract the same from ``low`` and ``high`` for
        its interval.
    low, high : float in [0, 1]
        Interval of the utility; both are ``utility`` if it is exact but for rounding.
    draws : int
        0 if it is exact.
    """

    utility: float
    advantage: float
    low: float
    high: float
    draws: int


def utility_of_attacker(
    mechanism: object,
    eta: ArrayLike,
    attacker: Attacker | ArrayLike,
    *,
    X: ArrayLike | None = None,
    draws: int = 10_000,
    confidence: float = 0.95,
    rng: np.random.Generator | None = None,
) -> AttackerUtility:
    """The expected share of labels that an attacker guesses correctly, over labels, outputs and bags.

        utility = mean over i of Pr[A(eta, output)_i = y_i],  advantage = utility - mean over i of max(eta_i, 1 - eta_i)

    Parameters
    ----------
    mechanism
        As for `individual_advantage`, weighted aggregates, or anything with ``release(labels, rng)``, labels (n, k).
    eta : array_like, shape (k,) for one bag or (n, k) for n bags, in [0, 1]
        `RandomizedResponse` of C > 2 classes: shape (n, C), probabilities of the classes of each label.
    attacker : callable or array_like
        A: from eta (bags, k) and the output of each bag, both as `posterior` takes them, to the guessed labels (bags,
        k). Of classes: from (n, C) and (n,) to (n,). Weighted aggregates: from one bag (k,) and its output. Outputs of
        `joint` are numbers of columns of its kernel. Or the guesses as an array of shape (outputs, n, k), or (outputs,
        k) for one bag. Where each label is answered on its own, the guess of a label by its own answer: (answers, n,
        k), of classes (answers, n).
    X : array_like, shape (k, d), optional
        Features of the bag, which the release of `WeightedBagAggregates` needs.
    draws : int in [2, 1e7]
        Releases of bags that are drawn where it cannot be exact.
    confidence : float in (0, 1)
        Of the interval, at least (Hoeffding).
    rng : numpy.random.Generator, optional
        Makes draws reproducible. Nothing here is private.

    Returns
    -------
    AttackerUtility
        Exact but for rounding where the outputs are finitely many; else the mean over the draws. `RandomizedResponse`
        has 2^k outputs for a bag. For a callable it is drawn if they are more than 2e7 for all labels. Pass ``eta`` of
        shape (n, 1) if the guess of a label depends on its own answer only.

    Raises
    ------
    InputError

    Notes
    -----
    Expected attack utility of an attacker A, Section 3 of Busa-Fekete et al. (2023 and NeurIPS 2024). None is above
    `attack_utility`, which is that of `attacker_decisions` (Lemma 3.2, 2023). A is deterministic; a randomized attacker
    is a mixture of such. Laplace noise is drawn as it is released, discrete. Outputs of a probability below 1e-290
    count as wrong guesses.

    Examples
    --------
    >>> from darrm.labels import attack_utility, utility_of_attacker
    >>> from darrm.labels import LabelProportions
    >>> def majority(eta, ones):
    ...     return [[2 * s > eta.shape[1]] * eta.shape[1] for s in ones]
    >>> llp, eta = LabelProportions(), [0.9, 0.5, 0.5]
    >>> found = utility_of_attacker(llp, eta, majority)
    >>> round(found.utility, 6), round(found.advantage, 6), round(attack_utility(llp, eta), 6)
    (0.75, 0.116667, 0.808333)
    """
    draws, confidence = whole("draws", draws, 2, MAX_COUNT), real("confidence", confidence, 0, 1, "()")
    check_unused_features(X)
    kernel = kernel_of_classes(mechanism)
    if kernel is None:
        bags = as_bags(eta)[0]
        before, shape = float(np.maximum(bags, 1 - bags).mean()), bags.shape
    else:
        bags = check_class_probabilities(eta, len(kernel))[0]
        before, shape = float(bags.max(axis=1).mean()), bags.shape[:1]
    classes = 2 if kernel is None else len(kernel)
    if isinstance(mechanism, type):
        raise InputError(f"mechanism must be a mechanism. Got {name_of(mechanism)}.")
    if not callable(attacker):
        utility = _of_table(mechanism, bags, attacker, shape, classes)
    elif kernel is not None:
        outputs = ((np.full(len(bags), o), bags * kernel[:, o]) for o in range(kernel.shape[1]))
        utility = _of_outputs(bags, attacker, outputs, classes)
    elif isinstance(mechanism, OfLabels) and bags.size * len(mechanism.label_kernel()[0]) ** shape[1] <= _ENTRIES:
        utility = _of_outputs(bags, attacker, _all_answers(mechanism.label_kernel(), bags), 2)
    elif isinstance(mechanism, OfCounts) and not isinstance(mechanism, OfLabels):
        utility = sum(
            _of_outputs(bags[at], attacker, _all_counts(mechanism, bags[at]), 2) * (at.stop - at.start) / len(bags)
            for at in slices(len(bags), channel(mechanism, shape[1]).entries)
        )
    else:
        utility = _sampled(mechanism, bags, attacker, X, draws, rng)
        off = math.sqrt(math.log(2 / (1 - confidence)) / (2 * draws))
        return AttackerUtility(utility, utility - before, max(0.0, utility - off), min(1.0, utility + off), draws)
    return AttackerUtility(utility, utility - before, utility, utility, 0)


def _of_table(mechanism: object, bags: Array, table: ArrayLike, shape: tuple[int, ...], classes: int) -> float:
    """The guesses of all outputs, from an array."""
    kernel = kernel_of_classes(mechanism)
    if kernel is not None:
        chances = bags[None] * kernel.T[:, None, :]  # [o, i, c]
    else:
        p = bags
        zero, one = channel(mechanism, bags.shape[1]).given(p)  # type: ignore[arg-type]  # refuses what has no outputs
        chances = np.stack([zero * (1 - p), one * p], axis=-1)
    guesses = array("attacker", table, None, 0, classes - 1, "[]", wholes=True).astype(np.intp)
    if guesses.shape == (len(chances), *shape[1:]) and shape[0] == 1:
        guesses = guesses.reshape(len(chances), *shape)
    if guesses.shape != (len(chances), *shape):
        raise InputError(f"attacker must have the shape {(len(chances), *shape)}, by output. Got {guesses.shape}.")
    return float(np.take_along_axis(chances, guesses[..., None], axis=-1).sum() / math.prod(shape))


def _of_outputs(bags: Array, attacker: Attacker, outputs: Iterator[tuple[Array, Array]], classes: int) -> float:
    """The guesses of a callable, from (output of each bag, Pr[output and y = c], c last) for all outputs."""
    right, labels = 0.0, 1
    for output, joint in outputs:
        labels = joint.size // classes
        chance = joint.sum(axis=-1)
        likely = (chance if chance.ndim == 1 else chance[:, 0]) > _TINY
        if likely.any():
            given = joint[likely]
            guesses = _guesses(attacker(bags[likely], output[likely]), given.shape[:-1], classes)
            right += float(np.take_along_axis(given, guesses[..., None], axis=-1).sum())
    return right / labels


def _all_counts(mechanism: OfCounts, bags: Array) -> Iterator[tuple[Array, Array]]:
    zero, one = channel(mechanism, bags.shape[1]).given(bags)
    for o in range(len(zero)):
        yield np.full(len(bags), o), np.stack([zero[o] * (1 - bags), one[o] * bags], axis=-1)


def _all_answers(kernel: Array, bags: Array) -> Iterator[tuple[Array, Array]]:
    """All answers to the k labels of a bag together."""
    for answers in product(range(kernel.shape[1]), repeat=bags.shape[1]):
        each = np.stack([(1 - bags) * kernel[0, answers], bags * kernel[1, answers]], axis=-1)
        chance = each.sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            after = np.where(chance[..., None] > 0, each / chance[..., None], 0)
        yield np.tile(answers, (len(bags), 1)), after * chance.prod(axis=1)[:, None, None]


def _guesses(given: Any, shape: tuple[int, ...], classes: int) -> NDArray[np.intp]:
    """What a callable returned; True is the label 1."""
    hint = "Return a label for each label of eta."
    guesses = plain("What attacker returns", given, f"labels of shape {shape}", hint)
    guesses = guesses.astype(np.uint8) if guesses.dtype == bool else guesses
    labels = array("What attacker returns", guesses, shape, 0, classes - 1, "[]", wholes=True, hint=hint)
    return labels.astype(np.intp)


def _sampled(
    mechanism: Any, bags: Array, attacker: Attacker, X: ArrayLike | None, draws: int, rng: np.random.Generator | None
) -> float:
    """Mean share of right guesses over drawn bags, labels and releases."""
    if not callable(getattr(mechanism, "release", None)):
        raise InputError(
            f"mechanism must have a release(labels, rng), or few enough outputs. Got {name_of(mechanism)} for bags of "
            f"{bags.shape[1]}. Pass fewer labels a bag."
        )
    source = np.random.default_rng() if rng is None else rng
    alone = isinstance(mechanism, WeightedBagAggregates | NoisyWeightedLabelProportions)
    if isinstance(mechanism, WeightedBagAggregates) and (X is None or bags.shape != (1, len(check_features(X)))):
        came = "no X" if X is None else f"eta of shape {bags.shape} and X of shape {np.shape(X)}"
        raise InputError(f"X must be the features of the one bag eta, shape (k, d). Got {came}.")
    right = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)  # labels and releases are made up here
        for at in slices(draws, 1 if alone else bags.shape[1]):
            chosen = bags[source.integers(0, len(bags), at.stop - at.start)]
            labels = (source.random(chosen.shape) < chosen).astype(np.uint8)
            if not alone:
                guesses = _guesses(attacker(chosen, mechanism.release(labels, rng=rng)), labels.shape, 2)
                right += float((guesses == labels).mean(axis=1).sum())
                continue
            for p, y in zip(chosen, labels, strict=True):
                features = (X,) if isinstance(mechanism, WeightedBagAggregates) else ()
                output = mechanism.release(*features, y, rng=rng)
                right += float((_guesses(attacker(p, output), y.shape, 2) == y).mean())
    return right / draws

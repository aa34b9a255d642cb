"""One bag of labelled records: checks, the projection on its features, the posterior of its labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array
from darrm.errors import InputError
from darrm.numerics.arrays import Array

_MOST_ENUMERATED = 20


def check_features(X: ArrayLike | None, mechanism: object = None) -> Array:
    """Features of one bag as float64, shape (k, d); what released sums of them cannot do without them."""
    if X is None:
        raise InputError(
            f"X must be the features of the bag, shape (k, d): {type(mechanism).__name__} releases sums of them. "
            "Got None. Pass posterior(eta, output, X)."
        )
    return array("X", X, ("k", "d"))


def check_unused_features(X: ArrayLike | None) -> None:
    """Features that a posterior takes, so that all mechanisms are called alike, but does not need."""
    if X is not None:
        array("X", X, None)


def check_output(output: object, kind: type) -> None:
    """``output``, refused unless it is of its mechanism's class."""
    if not isinstance(output, kind):
        raise InputError(
            f"output must be a {kind.__name__}. Got {type(output).__name__}. Pass what `release` returned."
        )


def check_labels(y: ArrayLike) -> Array:
    """Labels of one bag as float64, shape (k,)."""
    return array("y", y, ("k",))


def check_bag(X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Features (k, d) and labels (k,) of one bag."""
    features, labels = check_features(X), check_labels(y)
    if len(features) != len(labels):
        raise InputError(f"X and y must have as many rows. Got {len(features)} and {len(labels)}.")
    return features, labels


def column_space(X: Array) -> Array:
    """Orthonormal columns that span those of X, shape (k, rank); by singular values, so X may have any rank.

    Columns are brought to one length first: a small one is released as precisely as a large one.
    """
    size = np.abs(X).max(axis=0)
    scaled = X[:, size > 0] / size[size > 0]
    if not scaled.size:
        return np.zeros((len(X), 0))
    U, s, _ = np.linalg.svd(scaled / np.linalg.norm(scaled, axis=0), full_matrices=False)
    return np.asarray(U[:, s > s[0] * max(X.shape) * np.finfo(np.float64).eps])


def residual_of(U: Array, y: Array) -> Array:
    """What is left of y beside the space of U; twice, so that rounding of the first is taken out."""
    left = y - U @ (U.T @ y)
    return np.asarray(left - U @ (U.T @ left))


def posterior_by_enumeration(eta: ArrayLike, k: int, log_density: Callable[[Array], Array]) -> Array:
    """Posterior means of k binary labels by going through all label vectors, at most 2^14 at a time."""
    prior = array("eta", eta, (k,), 0, 1, "[]")
    if k > _MOST_ENUMERATED:
        raise InputError(
            f"The exact posterior costs 2^k label vectors and is refused for k above {_MOST_ENUMERATED}. Got k = {k}."
        )
    top, total, ones = -np.inf, 0.0, np.zeros(k)
    with np.errstate(divide="ignore"):
        odds = np.log(prior), np.log1p(-prior)
    for start in range(0, 1 << k, 1 << 14):
        codes = np.arange(start, min(start + (1 << 14), 1 << k))
        y = ((codes[:, None] >> np.arange(k)) & 1).astype(np.float64)
        log_prior = np.where(y == 1, odds[0], odds[1]).sum(axis=1)
        possible = log_prior > -np.inf
        y, log_prior = y[possible], log_prior[possible]
        if not len(y):
            continue
        log_joint = log_density(y)
        # A certain output outweighs every density: such label vectors are compared by their priors alone.
        log_joint = np.where(log_joint == np.inf, 1e300, log_joint + log_prior)
        extra = np.where(log_joint == 1e300, log_prior, 0.0)
        best = float(log_joint.max())
        if best > top:
            shrink = np.exp(top - best) if top > -np.inf else 0.0
            total, ones, top = total * shrink, ones * shrink, best
        if top > -np.inf:
            weight = np.exp(np.where(log_joint == -np.inf, -np.inf, log_joint - top) + extra)
            total, ones = total + float(weight.sum()), ones + weight @ y
    if not total > 0:
        raise InputError("output is impossible under eta and X: no label vector gives it.")
    return np.asarray(ones / total)

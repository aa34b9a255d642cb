"""Random bags of a data set: a lower bound on their residual, and the delta of their weighted aggregates.

A lower bound on the loss of the data set implies one for the bag that holds a record, except with a probability that is
added to delta. It follows from a Chernoff bound for matrices drawn without replacement, with the matrices that the
features allow. Proofs: docs/aggregates.md, Lemmas 8 to 11 and Theorem 12.

The abstract of "Label differential privacy via aggregation" assumes only a lower bound on the loss of the data set.
That is not enough: a few records may hold all the residual, and most bags then have none. A bound on residuals, or on
labels, has to be added.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import check_positive, real, refusal, whole
from darrm.errors import InputError
from darrm.labels.aggregates import check_loss, check_range, worst_delta
from darrm.mechanisms.labelled_bag import check_features, column_space, residual_of
from darrm.numerics.arrays import Array

_TILTS = np.geomspace(1e-3, 30, 60)  # theta, times the rank + 1
_LARGEST_RATIO = 1e12  # of squared residuals; beyond, nothing is said of any bag
_LEAST_FAILURE = 1e-300
_HALVINGS = 12
_LEAST_SINGULAR = 1e-8


class BagFloor(NamedTuple):
    """Bounds for the random bag of a record, which hold except with the given probability."""

    residual_sum: float  # lower bound on the residual sum of squares, whatever the label of the record; 0 says nothing
    leverage: float  # upper bound on the leverage of the record in its bag


def bag_floor(k: int, failure: float, *, X: ArrayLike, loss_floor: float, residual_bound: float) -> BagFloor:
    """Lower bound on the residual sum of squares of the random bag of a record, for any label of that record.

        Pr[ min over r of sum over i in B, i != j of (y_i - r . x_i)^2 < residual_sum ] <= failure   for every record j,
        B = j and k - 1 other records at random

    Parameters
    ----------
    k : int in [2, n]
        Records of a bag.
    failure : float in (0, 1)
        The allowed probability that the lower bound does not hold.
    X : array_like, shape (n, d)
        Features of the data set, which are not private here. Its leverages must be below 1.
    loss_floor : float > 0
        Least mean squared residual, in squared units of the labels, of the n - 1 records that are left without any one
        record. An assumption of the caller about the labels.
    residual_bound : float
        Largest absolute residual of these n - 1 records; its square is at least ``loss_floor``. Also a required
        assumption: without it a few records may have all of the residual, and most bags have none.

    Returns
    -------
    BagFloor
        It depends on no label and may be published. Both statements hold at once, except with probability ``failure``.

    Raises
    ------
    InputError

    Notes
    -----
    docs/aggregates.md, Lemma 11: a Chernoff bound for matrices drawn without replacement,

        failure = (rank + 1) e^(theta t) (1 - lambda(theta))^(k - 1),     residual_sum = loss_floor t,

    with the best theta of a grid; lambda follows from X and residual_bound^2 / loss_floor. One record of large leverage
    in X lowers the bound for all bags. O(n d^2) for each theta.

    Examples
    --------
    >>> import darrm
    >>> import numpy as np
    >>> X = np.column_stack([np.ones(1000), np.arange(1000) % 10])
    >>> floor = darrm.labels.bag_floor(300, 1e-6, X=X, loss_floor=0.2, residual_bound=1.0)
    >>> round(floor.residual_sum, 1), round(floor.leverage, 3)
    (13.8, 0.048)
    """
    U, off = _space(X)
    k = _check_size(k, len(U))
    failure = real("failure", failure, 0, 1, "()")
    loss_floor = check_positive("loss_floor", loss_floor)
    bound = _check_bound(residual_bound, loss_floor)
    return _floor(k, failure, loss_floor, _largest(U, off), U.shape[1], *_tails(U, bound * bound / loss_floor, off))


class RandomBagDelta(NamedTuple):
    """Delta of weighted aggregates of random bags. It does not depend on the labels and may be published."""

    upper: float  # failure + worst_delta at the floor
    failure: float  # the probability that the bag of a record is below the floor
    floor: BagFloor


def random_bag_delta(
    epsilon: float,
    k: int,
    label_range: tuple[float, float],
    *,
    X: ArrayLike,
    loss_floor: float,
    residual_bound: float | None = None,
) -> RandomBagDelta:
    """Delta of weighted aggregates of random disjoint bags of k records, given a lower bound on the data set's loss.

        delta <= failure + worst_delta(epsilon, residual_sum, label_range, leverage=..., largest_residual=...)

    with ``residual_sum`` and ``leverage`` from `bag_floor` at ``failure``, chosen to make the sum small.

    Parameters
    ----------
    epsilon : float in (0, 600], nats
    k : int in [2, n]
        Records of a bag, drawn by `darrm.mechanisms.bags` without a generator of your own.
    label_range : (low, high)
        All labels are in it.
    X : array_like, shape (n, d)
        Features of the data set, which are not private here. Add a column of ones if the learner fits an intercept.
    loss_floor, residual_bound
        As in `bag_floor`. Without ``residual_bound``, the bound that ``label_range`` implies.

    Returns
    -------
    RandomBagDelta
        ``upper`` is delta of the release of all bags together, whether or not the bags are published. A record is in
        one bag, or in none, and only that bag must have the residual. Other bags do not matter. 1 if no lower bound was
        found.

    Raises
    ------
    InputError

    Notes
    -----
    docs/aggregates.md, Theorem 12. For known bags, this bounds the mean of delta over the random draw of bags, and not
    the delta of these bags. O(n d^2) for each theta of a grid, and a search by `worst_delta` for each of a dozen
    failures.

    Examples
    --------
    >>> import darrm
    >>> import numpy as np
    >>> X = np.column_stack([np.ones(10_000), np.arange(10_000) % 10])
    >>> darrm.labels.random_bag_delta(1.0, 2000, (0.0, 1.0), X=X, loss_floor=0.2).upper < 1e-6
    True
    """
    epsilon = check_loss(epsilon)
    low, high = check_range(label_range)
    U, off = _space(X)
    k = _check_size(k, len(U))
    loss_floor = check_positive("loss_floor", loss_floor)
    largest = _largest(U, off)
    # If a column of X is constant, labels may be taken from the middle of their range; `beside` is what is not.
    middle, beside = low / 2 + high / 2, float(np.abs(residual_of(U, np.ones(len(U)))).max()) + off
    size = min(max(abs(low), abs(high)), (high / 2 - low / 2) + abs(middle) * beside) * (1 + 1e-12)
    if loss_floor > size * size:
        raise refusal("loss_floor", f"at most {size * size:g}, the pure-DP epsilon of labels of this range", loss_floor)
    if residual_bound is None:
        bound = (size + math.sqrt(largest) * math.sqrt(size * size - loss_floor)) * (1 + 1e-12)
    else:
        bound = _check_bound(residual_bound, loss_floor)
    tails = _tails(U, bound * bound / loss_floor, off)
    ties = math.exp(len(U) ** 2 * 2.0**-65) * (1 + 1e-15)  # equal words of the shuffle, and this product

    def total(log_failure: float) -> RandomBagDelta:
        failure = math.exp(log_failure)
        floor = _floor(k, failure, loss_floor, largest, U.shape[1], *tails)
        if not floor.residual_sum > 0:
            return RandomBagDelta(1.0, failure, floor)
        h = min(floor.leverage, 0.5)
        residual = size * (1 + math.sqrt((k - 1) * h * (1 - h)))
        worst = worst_delta(
            epsilon, floor.residual_sum, (low, high), leverage=floor.leverage, largest_residual=residual
        )
        return RandomBagDelta(min(1.0, (failure + worst.upper) * ties), failure, floor)

    # The failure falls and worst_delta rises to the left: where they meet the sum is within a factor 2 of the least.
    left, right = math.log(_LEAST_FAILURE), math.log(0.5)
    best = total(right)
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        here = total(middle)
        best = min(best, here, key=lambda delta: delta.upper)
        left, right = (left, middle) if here.upper < 2 * here.failure else (middle, right)
    return best


def _space(X: ArrayLike) -> tuple[Array, float]:
    """Orthonormal columns that span those of X, shape (n, d), and how far leverages may be off by their rounding.

    A direction too small to be seen in the data set may be a whole feature of one bag, so X must have full rank with a
    margin, not rounded away.
    """
    features = check_features(X)
    largest = np.abs(features).max(axis=0)
    if not features.shape[1] or not largest.all():
        raise InputError("X must have columns that are not 0. Got a column of zeros, or none. Leave it out.")
    scaled = features / largest
    singular = np.linalg.svd(scaled / np.linalg.norm(scaled, axis=0), compute_uv=False)
    if len(features) < features.shape[1] or not singular[-1] > _LEAST_SINGULAR * singular[0]:
        raise InputError(
            "X must have columns that do not depend on each other: least singular value above "
            f"{_LEAST_SINGULAR:g} of the largest, with columns at length 1. Got {singular[-1] / singular[0]:.2g}. "
            "Leave a column out."
        )
    return column_space(features), math.sqrt(len(features)) * 2.0**-46 * float(singular[0] / singular[-1])


def _largest(U: Array, off: float = 0.0) -> float:
    """(n - 1) h / (1 - h) for the largest leverage h: largest squared length of features in units of any n - 1."""
    h = float((U * U).sum(axis=1).max()) * (1 + 1e-12 + off)
    if not h < 1 - 1e-9:
        raise InputError(
            f"Leverages of X must be below 1. Got {h:g}: without that record X has a lower rank. Leave a column out."
        )
    return (len(U) - 1) * h / (1 - h)


def _check_size(k: object, n: int) -> int:
    return whole("k", k, 2, n, allowed=f"in [2, n] = [2, {n}], n the rows of X")


def _check_bound(residual_bound: object, loss_floor: float) -> float:
    bound = check_positive("residual_bound", residual_bound)
    if bound * bound < loss_floor:
        raise refusal("residual_bound", f"at least the root of loss_floor, {math.sqrt(loss_floor):g}", residual_bound)
    return bound


def _tails(U: Array, ratio: float, off: float = 0.0) -> tuple[Array, Array]:
    """theta and log(1 - lambda(theta)) of Lemma 11, rounded up; ratio = residual_bound^2 / loss_floor >= 1."""
    n, rank = U.shape
    U = U[np.argsort(-(U * U).sum(axis=1))]  # g below rises then
    square = (U * U).sum(axis=1)
    length = (n - 1) * square + ratio
    thetas = _TILTS / (rank + 1)
    logs = np.zeros(thetas.size)
    if not ratio <= _LARGEST_RATIO:
        return thetas, logs
    for place, theta in enumerate(thetas):
        g = -np.expm1(-theta * length) / length
        p = float(np.linalg.eigvalsh(U.T @ (g[:, None] * U))[0] - (g * square).max())
        # The residual may sit where g is the least: on (n - 1) / ratio records.
        share = np.clip((n - 1) / ratio - np.arange(n), 0, 1)
        s = float(g @ share) * ratio / (n - 1)
        center = float(g @ square) / rank
        q = math.sqrt(max(0.0, float(np.linalg.eigvalsh(U.T @ ((g - center)[:, None] ** 2 * U))[-1])))
        least = (p + s) / 2 - math.hypot((p - s) / 2, q) - (n * 2.0**-48 + off) * (abs(p) + s + q)
        logs[place] = math.log1p(-min(max(least, 0.0), 1 - 1e-12))
    return thetas, logs


def _floor(
    k: int, failure: float, loss_floor: float, largest: float, rank: int, thetas: Array, logs: Array
) -> BagFloor:
    """`bag_floor` from the tails of Lemma 11."""
    log_failure = math.log(failure / (rank + 1))
    exponent = log_failure - (k - 1) * logs
    slack = 1e-12 * (abs(log_failure) + (k - 1) * np.abs(logs))
    least = max(0.0, float(((exponent - slack) / thetas).max()) * (1 - 1e-12))
    return BagFloor(loss_floor * least, min(1.0, largest / (largest + least) * (1 + 1e-12)))

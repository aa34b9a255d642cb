"""Label privacy of weighted bag aggregates: the delta of (X'w, y'w) with secret standard normal weights w.

A change of one label y_j by c leaves a pair of centred Gaussians, and these differ by two numbers only: in suitable
coordinates N(0, I) against N(0, diag(1 - down, 1 + up)) with, for the leverage h, the residual e_j and the residual sum
of squares rho^2 of the bag,

    up - down = (2 c e_j + c^2) / rho^2,     up down = c^2 h / rho^2,     up, down >= 0

Both hockey-stick divergences rise in up and in down, and are one integral of a completely monotone function, which
quadrature by Gauss bounds from below and by Lobatto from above. Derivations and proofs: docs/aggregates.md.

After the abstract of "Label differential privacy via aggregation", the only part that was available; no theorem of it
is quoted here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array, check_positive, real, refusal, whole
from darrm.errors import InputError
from darrm.labels.centred_gaussians import log_delta, variance_changes
from darrm.mechanisms.labelled_bag import check_bag, check_features, column_space, residual_of
from darrm.numerics.arrays import Array

_MOST_CELLS = 20_000
_ROUNDS = 60
_NOTHING = -745.0  # log of a delta below the range of float64: not searched further
_ROWS = 256
_MOST_LOSS = 600.0  # nats: e^epsilon and its square root are far from the ends of float64
_WIDEST = 1e100  # changes in units of the least rho
LEAST_DELTA = 5e-324  # an upper bound below the range of float64 is the least positive number, never 0


class LabelDependentValue(NamedTuple):
    """Delta of one pair of neighbouring data sets. It is computed from the private labels and must stay secret.

    Publishing it, or choosing by it what to publish, is a release that it does not account for.
    """

    forward: float  # upper bound on sup over events of Pr[data] - e^epsilon Pr[changed data]
    reverse: float  # the same with the two exchanged
    error: float  # the true values are at most this far below
    private: bool = True

    @property
    def delta(self) -> float:
        """The larger of the two directions."""
        return max(self.forward, self.reverse)


def local_delta(epsilon: float, X: ArrayLike, y: ArrayLike, record: int, change: float) -> LabelDependentValue:
    """Delta between a bag and the same bag with one label changed. PRIVATE: it depends on the labels.

        (X'w, y'w) against (X'w, y'w + change w_record),     w ~ N(0, I) secret

    Parameters
    ----------
    epsilon : float in (0, 600], nats
    X : array_like, shape (k, d)
        Features of one bag; add a column of ones if the learner fits an intercept.
    y : array_like, shape (k,)
    record : int in [0, k)
    change : float, not 0
        The noise that is added to the label.

    Returns
    -------
    LabelDependentValue
        Both directions. 1 if the labels, or the changed ones, are a linear function of X (residual below a relative
        1e-10): no privacy. This holds for every bag whose X has rank k, as for k <= d records in general position, and
        for a bag with equal labels if X has a constant column. Linearly dependent columns are allowed.

    Raises
    ------
    InputError

    Notes
    -----
    docs/aggregates.md, Lemmas 1 to 3. O(k d^2).

    Examples
    --------
    A change of the first of twenty labels, for labels far from a line, and for labels on a line:

    >>> import darrm
    >>> import numpy as np
    >>> X = np.column_stack([np.ones(20), np.arange(20) // 2])
    >>> found = darrm.labels.local_delta(0.5, X, np.arange(20) % 2, record=0, change=1.0)
    >>> found.private, round(found.delta, 4)
    (True, 0.0042)
    >>> darrm.labels.local_delta(0.5, X, X[:, 1], record=0, change=1.0).delta
    1.0
    """
    epsilon = check_loss(epsilon)
    features, labels = check_bag(X, y)
    record = check_record(record, len(labels))
    change = check_change(change)
    U = column_space(features)
    residual = residual_of(U, labels)
    changed_labels = labels.copy()
    changed_labels[record] += change
    changed = residual_of(U, changed_labels)
    size = max(float(np.linalg.norm(labels)), abs(change))
    rho = float(np.linalg.norm(residual))
    least = min(rho, float(np.linalg.norm(changed)))
    if not least > 1e-10 * size:
        return LabelDependentValue(1.0, 1.0, 0.0)
    # Rounding of the residual, relative to rho: the upper bounds take it on their side, by Lemma 4.
    off = 2.0**-50 * len(labels) * size / least
    h = min(1.0, float(U[record] @ U[record]) * (1 + 1e-13))
    shift = 2 * change * float(residual[record]) + change * change
    slack = 2 * off * (abs(change) * rho + abs(shift))
    low, high = (shift - slack) / rho**2, (shift + slack) / rho**2
    tilt = np.array([change * change * h / rho**2 * (1 + 2 * off)])
    down, _ = variance_changes(np.array([low]), tilt)
    _, up = variance_changes(np.array([high]), tilt)
    least_down, least_up = variance_changes(np.array([shift / rho**2]), tilt)

    def bound(reverse: bool, upper: bool) -> float:
        changes = (down, up) if upper else (least_down, least_up)
        value = math.exp(log_delta(epsilon, *changes, reverse, upper)[0])
        return max(value, LEAST_DELTA) if upper else value

    forward, reverse = bound(False, True), bound(True, True)
    return LabelDependentValue(forward, reverse, max(forward - bound(False, False), reverse - bound(True, False)))


def check_loss(epsilon: float) -> float:
    """``epsilon`` of these functions as a float in (0, 600]."""
    return check_positive("epsilon", epsilon, _MOST_LOSS)


def check_record(record: object, k: int) -> int:
    """``record`` as an index of a bag of k."""
    return whole("record", record, 0, k - 1, hint="Pass a row of the bag.")


def check_change(change: object) -> float:
    """``change`` as a finite float that is not 0."""
    value = real("change", change, ends="()")
    if value == 0:
        raise refusal("change", "finite and not 0", change)
    return value


class WorstDelta(NamedTuple):
    """A bound on delta over all labels with a least residual; it does not depend on the labels and may be published."""

    upper: float
    lower: float  # the largest value found in the search; `upper` exceeds it by 2% (2.1% with rounding) at most
    direction: str  # "forward": from the smaller residual sum of squares to the larger one, or "reverse"
    ratio: float  # residual sum of squares of the larger to the smaller, where `lower` was met


def worst_delta(
    epsilon: float,
    residual_floor: float,
    label_range: tuple[float, float],
    *,
    X: ArrayLike | None = None,
    leverage: float | None = None,
    largest_residual: float | None = None,
) -> WorstDelta:
    """Delta of weighted bag aggregates over all labels whose residual sum of squares has a lower bound.

        sup of delta over both directions, records j, labels in the range and changes of y_j within it,
        with rho^2 >= residual_floor before and after the change

    Parameters
    ----------
    epsilon : float in (0, 600], nats
    residual_floor : float > 0
        Least residual sum of squares of the labels of this bag on X, in squared units of the labels. An assumption of
        the caller, without which the bound does not hold. The abstract assumes a bound on the loss of the data set
        instead: see `random_bag_delta`. It must hold for the changed labels as well, and must not be measured on the
        labels.
    label_range : (low, high)
    X : array_like, shape (k, d)
        Features of the bag, which are not private here. Either these or
    leverage : float in [0, 1]
        An upper bound on the leverages of all records (diagonal of the projection on the columns of X).
    largest_residual : float >= 0, optional, with ``leverage``
        An upper bound on the absolute residual of the changed record, before and after the change. An assumption of the
        caller, like ``residual_floor``; with X it is computed.

    Returns
    -------
    WorstDelta

    Raises
    ------
    InputError

    Notes
    -----
    docs/aggregates.md, Theorem 5. By its proof the worst case has exactly the least residual sum of squares, and the
    largest change, for each ratio of residual sums of squares. The search bisects that ratio, with bounds by
    monotonicity. With X the residual of a record is bounded by that of labels in the range, and the result is an
    upper bound, not always achieved, as with ``largest_residual``. With ``leverage`` alone it is, up to the 2%, the
    supremum over all bags of real labels whose changes are at most high - low, also of labels outside the range.

    Examples
    --------
    Bags whose labels keep a residual sum of squares of 20, or of 80:

    >>> import darrm
    >>> [round(darrm.labels.worst_delta(1.0, floor, (0.0, 1.0), leverage=0.1).upper, 4) for floor in (20.0, 80.0)]
    [0.0086, 0.0004]
    """
    epsilon = check_loss(epsilon)
    floor = check_positive("residual_floor", residual_floor)
    low, high = check_range(label_range)
    if (X is None) == (leverage is None):
        raise InputError("worst_delta needs either X, the features of the bag, or leverage, a bound on its leverages.")
    if X is not None and largest_residual is not None:
        raise InputError("largest_residual goes with leverage. With X it is computed: leave it out.")
    most = (high - low) / math.sqrt(floor)  # the largest change, in units of the least rho
    if not 1 / _WIDEST <= most <= _WIDEST:
        raise InputError(
            f"The width of label_range must be between {1 / _WIDEST:g} and {_WIDEST:g} times the root of "
            f"residual_floor. Got {most:g}."
        )
    if X is not None:
        U = column_space(check_features(X))
        h = np.clip((U * U).sum(axis=1), 0, 1)
        if len(U) - U.shape[1] < 1:
            raise InputError(
                f"X of shape {np.shape(X)} fits every label vector: the residual is 0, so residual_floor cannot hold."
            )
        positive, negative = _sides(U)
        reach = np.maximum(high * positive - low * negative, high * negative - low * positive) / math.sqrt(floor)
        end = np.minimum(most * np.sqrt(1 - h), _growth(h, reach, most))
        # Records that are alike are searched once; rounded up, which enlarges what is searched.
        h, end = np.unique(np.ceil(np.stack([h, end]) * 1e12 + 1) / 1e12, axis=1)
        h = np.minimum(h, 1)
    else:
        h, end = np.array([real("leverage", leverage, 0, 1)]), np.array([most])
        if largest_residual is not None:
            residual = real("largest_residual", largest_residual, 0, ends="[)")
            # From 2 above the largest change on, a larger residual bounds nothing: the ratio ends at 1 + most before.
            reach = np.array([min(residual / math.sqrt(floor), most + 2)])
            end = np.minimum(end, _growth(h, reach, most) * (1 + 1e-12))
    # For s >= 1 the reverse direction is the larger one in all cases seen; the other has little left to search then.
    backward = _search(epsilon, most, h, end, True, WorstDelta(0.0, 0.0, "reverse", 1.0))
    return _search(epsilon, most, h, end, False, backward)


def _growth(h: Array, reach: Array, most: float) -> Array:
    """Upper bound on rho' / rho - 1 for records of leverage up to h and residuals up to reach, in units of the floor.

    max over 0 <= g <= most of g (2 reach - g (1 - h)) is that on (rho' / rho)^2 - 1; it rises in h.
    """
    free = 1 - h
    best = np.minimum(most, np.divide(reach, free, out=np.full_like(h, most), where=free > 1e-12))
    growth = np.maximum(best * (2 * reach - best * free), 0)
    return np.asarray(growth / (1 + np.sqrt(1 + growth)))


def _sides(U: Array) -> tuple[Array, Array]:
    """Sums of the positive and of the negative entries of each row of I - U U'; some rows at a time."""
    positive, negative = np.empty(len(U)), np.empty(len(U))
    for start in range(0, len(U), _ROWS):
        rows = -U[start : start + _ROWS] @ U.T
        rows[np.arange(len(rows)), start + np.arange(len(rows))] += 1
        positive[start : start + _ROWS] = np.maximum(rows, 0).sum(axis=1)
        negative[start : start + _ROWS] = np.maximum(-rows, 0).sum(axis=1)
    return positive, negative


def _tilt(start: Array, end: Array, h: Array, most: float) -> Array:
    """Upper bound on c^2 h / rho^2 over s = rho' / rho from 1 + start to 1 + end, exact if start = end; arrays (n,)."""
    leverage = np.clip(np.minimum(h, 1 - (start / most) ** 2), 0, 1)
    farthest = np.divide((2 + end) ** 2, 1 - leverage, out=np.full_like(h, np.inf), where=leverage < 1)
    return np.asarray(leverage * np.minimum(most**2, farthest))


def _search(epsilon: float, most: float, h: Array, end: Array, reverse: bool, known: WorstDelta) -> WorstDelta:
    """The largest delta over s - 1 in [0, end] and of ``known``, by bisecting cells whose bound is above the best."""
    cells = np.linspace(0, 1, 5)
    left, right = (end[:, None] * cells[:-1]).ravel(), (end[:, None] * cells[1:]).ravel()
    which = np.repeat(np.arange(h.size), 4)
    log_best, at, log_upper = math.log(known.lower) if known.lower else -math.inf, -1.0, -math.inf
    for rounds in range(_ROUNDS):
        # The right end is met; up rises and down falls with s, both rise with the tilt, and delta with all.
        met = _tilt(right, right, h[which], most)
        values = log_delta(epsilon, *variance_changes(right * (2 + right) + met, met), reverse, upper=False)
        top = int(np.argmax(values))
        if values[top] > log_best:
            log_best, at = float(values[top]), float(right[top])
        tilt = _tilt(left, right, h[which], most)
        down, _ = variance_changes(left * (2 + left) + tilt, tilt)
        _, up = variance_changes(right * (2 + right) + tilt, tilt)
        bounds = log_delta(epsilon, down, up, reverse)
        bounds = np.where(np.isnan(bounds), 0.0, bounds)  # nothing makes one; if something did, it must not pass
        open_cells = (bounds > log_best + 0.02) & (bounds > _NOTHING)
        log_upper = max(log_upper, float(bounds[~open_cells].max(initial=-math.inf)))
        if not open_cells.any():
            break
        if (
            open_cells.sum() > _MOST_CELLS or rounds == _ROUNDS - 1
        ):  # too fine for rounding: what is left stays as the bound
            log_upper = max(log_upper, float(bounds.max()))
            break
        left, right, which = left[open_cells], right[open_cells], which[open_cells]
        middle = (left + right) / 2
        left, right, which = np.append(left, middle), np.append(middle, right), np.append(which, which)
    upper = max(known.upper, math.exp(min(0.0, log_upper)), LEAST_DELTA)
    if at < 0:
        return known._replace(upper=upper)
    return WorstDelta(upper, math.exp(log_best), "reverse" if reverse else "forward", (1 + at) ** 2)


def check_range(label_range: ArrayLike) -> tuple[float, float]:
    """(low, high), finite, low < high."""
    low, high = array("label_range", label_range, (2,)).tolist()
    if not low < high:
        raise refusal("label_range", "(low, high) with low < high", label_range)
    return low, high

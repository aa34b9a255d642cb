"""A Renyi privacy filter for fully adaptive composition: mechanisms may depend on earlier outputs.

At one order that is fixed in advance, the Renyi divergences of adaptively chosen mechanisms add up, if their sum is
kept below a number that is fixed in advance too (Feldman, Zrnic, NeurIPS 2021). Proof, also for losses without a finite
divergence: docs/composition.md, "Chosen along the way".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from darrm.accounting import adaptive
from darrm.accounting.curves import Curve
from darrm.accounting.profile import Region
from darrm.accounting.rows import OutcomeRows
from darrm.numerics.arrays import Array

_U = 2.0**-53
FAILURES = 0.1  # share of the total delta for events without a finite divergence
_ORDERS = 1 + np.logspace(-2, 5, 701)


class Filter(NamedTuple):
    """The limits for all mechanisms together: a Renyi divergence of one order, and a probability of failure."""

    order: float
    divergence: float
    failure: float


class Spent(NamedTuple):
    """Upper bounds on the Renyi divergence of one use, and on its probability of failure."""

    divergence: float
    failure: float


def best_order(epsilon: float, delta: float) -> float:
    """The order that is best for Gaussian noise within (epsilon, delta): a function of the budget alone."""
    if not delta:
        return 2.0  # at which nothing is allowed, as at any other order
    allowed = np.array([filter_at(order, FAILURES * delta, epsilon, delta).divergence for order in _ORDERS])
    return float(_ORDERS[int(np.argmax(allowed / _ORDERS))])


def filter_at(order: float, failure: float, epsilon: float, delta: float) -> Filter:
    """The filter of this order that guarantees (epsilon, delta)-DP, with ``failure`` reserved for failures.

        divergence = epsilon + ln(delta' / c) / (order - 1),   c = (1 - 1 / order)^(order - 1) / order

    with delta' = delta - failure.

    ``divergence`` is rounded down, and negative where nothing is allowed.
    """
    return Filter(order, _divergence(order, epsilon, (delta - failure) * (1 - 4 * _U)), failure)


def _divergence(order: float, epsilon: float, delta: float) -> float:
    if delta <= 0:
        return -math.inf
    log_c = (order - 1) * math.log1p(-1 / order) - math.log(order)
    room = (math.log(delta) - log_c) / (order - 1)
    return epsilon + room - 1e-13 * (epsilon + abs(room) + 1)


def of_release(release: Region | OutcomeRows, order: float) -> Spent:
    """The divergence of one label: that of its worst row, which bounds all mixtures by convexity."""
    if adaptive.is_silent(release):
        return Spent(0.0, 0.0)
    rows = adaptive.as_rows(release)
    most = longest = 0.0
    for P, Q in ((rows.P, rows.Q), (rows.Q, rows.P)):
        both = (P > 0) & (Q > 0)
        on, off = np.log(np.where(both, P, 1.0)), np.log(np.where(both, Q, 1.0))
        logs = np.where(both, order * on + (1 - order) * off, -np.inf)
        most = max(most, float(_log_sums(logs).max()))
        longest = max(longest, float(np.abs(on).max()))
    unknown = (2 * order - 1) * (1.01 * rows.rho + (16 + 8 * longest) * _U)
    divergence = (max(most, 0.0) + unknown) / (order - 1)
    return Spent(divergence * (1 + 64 * _U * order), release.delta_infinity)


def of_noisy_max(sigma: float, order: float, affected: int = 1, sigma_check: float | None = None) -> Spent:
    """The divergence of one label of Gaussian noisy max for any votes: that of the noisy counts, order (t / sigma)^2.

    Each of the t ``affected`` votes that changes moves two counts by 1, a teacher that appears or falls silent only
    one; they move the counts farthest where all move the same two. The label is computed from the noisy counts, in both
    directions. They move the largest count by t at most, so a check with ``sigma_check`` before each label adds
    order (t / sigma_check)^2 / 2.
    """
    check = 0.0 if sigma_check is None else order / sigma_check / sigma_check / 2
    return Spent((order / sigma / sigma + check) * affected**2 * (1 + 12 * _U), 0.0)


def of_curve(curve: Curve, order: float) -> Spent:
    """The divergence of one use of a mechanism with this privacy curve."""
    if curve.silent:
        return Spent(0.0, 0.0)
    most, failure = 0.0, 0.0
    for losses, P, infinite in curve.masses:
        with np.errstate(divide="ignore"):
            logs = np.where(P > 0, np.log(P) + (order - 1) * losses, -np.inf)
        most = max(most, float(_log_sums(logs[None]).max()))
        failure = max(failure, infinite)
    margin = 16 * _U * (order * float(curve.epsilons[-1]) + 50)  # more than the rounding of these sums
    return Spent((max(most, 0.0) + margin) / (order - 1) * (1 + 4 * _U), failure)


def _log_sums(logs: Array) -> Array:
    top = np.maximum(logs.max(axis=1, keepdims=True), -1e300)  # a row without common answers has a sum of 0
    with np.errstate(divide="ignore"):
        return np.asarray(top[:, 0] + np.log(np.exp(logs - top).sum(axis=1)))

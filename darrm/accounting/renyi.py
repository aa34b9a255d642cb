"""Conversion of Renyi divergences to (epsilon, delta): the least epsilon that one order implies."""

from __future__ import annotations

import numpy as np

from darrm.numerics.arrays import Array

_U = 2.0**-53
_LOWER = 1 - np.geomspace(1.0, 1e-4, 41)  # values of x, from 0 on; any x in [0, 1) gives a bound


def epsilon_of_orders(orders: Array, rdp: Array, delta: float) -> Array:
    """The least epsilon at ``delta`` that each single Renyi divergence implies, rounded up; nats, at least 0.

        epsilon = min over x in [0, 1) of ln( (1 - 1/a) (y^a - x^a) / (y^(a-1) - x^(a-1)) ),
        y^(a-1) = x^(a-1) + (e^((a-1) rdp) + (a-1) x^a - a x^(a-1)) / (a delta),      a the order

    With x = 0 it is rdp + ln(1 - 1/a) - ln(a delta) / (a - 1). Proof: docs/composition.md, Proposition 4.
    """
    # Where x is near y the differences cancel: their rounding is added.
    best = np.where(np.isinf(orders), rdp, np.inf)
    finite = np.isfinite(orders) & np.isfinite(rdp)
    a, cost = orders[finite], rdp[finite]
    t = a - 1
    log_scale = np.log(a) + np.log(delta)
    found = np.full(a.shape, np.inf)
    with np.errstate(all="ignore"):
        for x in _LOWER:
            log_x = np.log(x) if x else -np.inf
            power = np.exp(t * log_x)  # x^(a-1)
            rest = power * (t * x - a + np.exp(log_scale)) + 16 * _U * a * power
            log_rest = np.log1p(rest * np.exp(-t * cost))
            log_y = cost + (log_rest - log_scale) / t
            log_r = log_x - log_y  # of x / y
            means = np.log1p(-np.exp(a * log_r)) - np.log(-np.expm1(t * log_r)) if x else 0.0
            epsilon = log_y + np.log(t / a) + means
            size = cost + (np.abs(log_rest) + np.abs(np.log(a)) + abs(np.log(delta))) / t + np.abs(np.log(t / a))
            slack = 32 * _U * (size + 1)
            if x:
                slack = slack + 16 * _U * (np.abs(log_x) + np.abs(log_y) + 1) * (1 + 1 / np.abs(log_r))
            proved = (log_r < 0) & np.isfinite(epsilon)
            found = np.where(proved, np.minimum(found, epsilon + slack), found)
    best[finite] = np.maximum(found, 0.0)
    return np.asarray(best)

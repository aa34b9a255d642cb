"""Gaussian differential privacy as a profile for `darrm.solve`."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from darrm._validation import real, whole
from darrm.numerics.arrays import Array
from darrm.numerics.bisection import edge
from darrm.numerics.normal import distribution, log_distribution, log_rounding, rounding

_ROUNDING = 2.0**-50  # of a sum or a quotient; and more than ln Phi(37)


def gdp(mu: float, points: int = 24) -> list[tuple[float, float]]:
    """Points (epsilon, delta) whose profile implies the whole curve of mu-Gaussian differential privacy.

        delta(epsilon) = Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu)

    The curve is convex in e^epsilon, and so is the profile of any release. The points are the corners of a polygon of
    tangents, which lies below the curve. A profile below the points is below the polygon between them. So it is below
    the curve everywhere. The last point has delta = 0.

    Parameters
    ----------
    mu : float in [1e-5, 12]
        Parameter of one release.
    points : int, at least 2
        Number of tangents; more come closer to the curve.

    Returns
    -------
    list of (epsilon, delta)
        For ``darrm.solve(..., profile=...)``; deltas are rounded down by more than the rounding of tangents.

    Raises
    ------
    InputError

    Notes
    -----
    Dong, Roth, Su, "Gaussian differential privacy", J. R. Stat. Soc. B 2022, for the curve; the tangents touch it at
    epsilons from 0 to mu^2 / 2 + 6 mu. docs/theory.md, "A whole profile".

    Examples
    --------
    A label whose whole profile is below that of Gaussian differential privacy with mu = 1/2:

    >>> import darrm
    >>> points = darrm.accounting.gdp(0.5, points=4)
    >>> [(round(epsilon, 2), round(delta, 4)) for epsilon, delta in points[:3]]
    [(0.0, 0.1974), (0.37, 0.0192), (1.22, 0.0)]
    >>> darrm.solve(K=7, m=7, epsilon=0.5, profile=points).certificate.holds
    True
    """
    mu = real("mu", mu, 1e-5, 12, hint="Pass mu of one release, e.g. 0.5.")
    points = whole("points", points, 2, 1000)
    touch = np.linspace(0, mu * mu / 2 + 6 * mu, points)
    # The tangent in a = e^epsilon at a point of contact, P - a Q, is known up to ``slack`` where it is positive.
    here, there = _ends(touch, mu)
    P, Q = distribution(here), distribution(there)
    slack = 4 * rounding(there) * P  # of P and of a Q <= P, and of what is made of them
    # Corners lie so far to the left of where tangents meet that the value of the right one is below the left one.
    meet = np.log((P[:-1] - P[1:] - 2 * slack[:-1]) / (Q[:-1] - Q[1:]))
    least = P[1:] - np.exp(meet) * Q[1:] - slack[1:]
    corners = [(0.0, P[0] - Q[0] - slack[0]), *zip(meet.tolist(), least, strict=True)]
    corners.append((math.log(P[-1] / Q[-1]) - float(slack[-1] / P[-1]), 0.0))
    return [(epsilon, max(0.0, float(delta) * (1 - 1e-9))) for epsilon, delta in corners]


def gdp_log_parts(epsilon: float | Array, mu: float | Array) -> tuple[Any, Any]:
    """log Phi(mu / 2 - epsilon / mu), and the log of e^epsilon Phi(-mu / 2 - epsilon / mu) minus it."""
    log_here, log_there = log_distribution(_ends(epsilon, mu))
    return log_here, epsilon + log_there - log_here


def _ends(epsilon: float | Array, mu: float | Array) -> Array:
    """mu / 2 - epsilon / mu and -mu / 2 - epsilon / mu."""
    return np.stack(np.broadcast_arrays(mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu))


def gdp_delta(epsilon: float, mu: float | Array) -> Any:
    """The least delta with which mu-Gaussian DP is (epsilon, delta)-DP: the curve of `gdp`."""
    log_here, difference = gdp_log_parts(epsilon, mu)
    return -np.exp(log_here) * np.expm1(np.minimum(0.0, difference))


@lru_cache(maxsize=64)
def gdp_mu(epsilon: float, delta: float) -> float:
    """The largest mu in [1e-5, 1e3] whose Gaussian DP is (epsilon, delta)-DP, to a relative 1e-9; delta in (0, 1)."""
    if gdp_delta(epsilon, 1e-5) >= delta:
        return 1e-5
    return edge(lambda mu: gdp_delta(epsilon, mu) <= delta, 1e-5, 1e3, 1e-9)[0]


def gdp_log_delta(epsilon: float | Array, mu: float | Array) -> Any:
    """The logarithm of `gdp_delta`, rounded up."""
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows has delta 1 at most
        ends = _ends(epsilon, mu)
        logs = log_distribution(ends)
        # ``moved`` of the ends, where a logarithm has slope <= 1 + |x|
        moved = _ROUNDING * (mu / 2 + epsilon / mu)
        slack, other = log_rounding(ends, logs) + moved * (1 + np.abs(ends))
        difference = np.minimum(0.0, epsilon + logs[1] - logs[0]) - (slack + other + _ROUNDING * (1 + epsilon))
        return np.fmin(0.0, logs[0] + slack + np.log(-np.expm1(difference)) + _ROUNDING)


def gdp_holds(epsilon: float | Array, delta: float, mu: float | Array) -> Any:
    """Whether mu-Gaussian DP is certainly (epsilon, delta)-DP: the curve of `gdp`, with its rounding counted."""
    return gdp_log_delta(epsilon, mu) <= math.log(delta)


def gdp_epsilon(mu: float, delta: float) -> float:
    """The least epsilon with which mu-Gaussian DP is (epsilon, delta)-DP, rounded up; infinite beyond float64.

    Examples
    --------
    A hundred labels of noisy max, each 0.2-Gaussian DP, are 2-Gaussian DP together:

    >>> from darrm.accounting.gaussian import gdp_epsilon
    >>> round(gdp_epsilon(100**0.5 * 0.2, 1e-5), 2)
    10.0
    """
    low, high = 0.0, 40 * mu
    while math.isfinite(high) and not gdp_holds(high, delta, mu):
        low, high = high, 2 * high
    return edge(lambda epsilon: ~gdp_holds(epsilon, delta, mu), low, high, 1e-10)[1]

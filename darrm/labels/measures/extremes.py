"""The probability of extreme log odds under exact label proportions, and the size of bags that prevents them.

Busa-Fekete et al. (2024) is "Auditing privacy mechanisms via label inference attacks" (NeurIPS 2024). Part of
`darrm.labels.measures.bounds`.
"""

from __future__ import annotations

import math

import numpy as np

from darrm._validation import MAX_SIZE, real, whole
from darrm.numerics.poisson_binomial import pmf

_ENOUGH, _MOVE = 10.6, 2.25  # Proposition 3 of docs/label_privacy.md


def extreme_bags(p: float, k: int, n: int = 1, threshold: float = math.inf) -> float:
    """Probability that exact label proportions move the log odds of the labels of any of n bags beyond a threshold.

        1 - (1 - x)^n,     x = Pr[ |log(s / (k - s)) - log(p / (1 - p))| > threshold ],     s ~ Binomial(k, p)

    Parameters
    ----------
    p : float in [0, 1]
        Probability of a one, the same for all labels.
    k : int >= 1
        Size of a bag.
    n : int >= 1
        Bags.
    threshold : float >= 0
        Nats. Infinity (the default) asks for bags of equal labels, which give all of them away.

    Returns
    -------
    float
        Exact but for rounding. 0 if p is 0 or 1: the labels were known before.

    Notes
    -----
    O(k^2). Theorem 3.7 and Section 3.2 of Busa-Fekete et al. (2024) bound it with constants that they do not give;
    `moderate_bag_size` and `moderate_change` have some.

    Examples
    --------
    How often a bag of ten labels is all ones or all zeros, and one of a hundred such bags:

    >>> import darrm
    >>> darrm.labels.measures.bounds.extreme_bags(0.5, 10)
    0.001953125
    >>> round(darrm.labels.measures.bounds.extreme_bags(0.5, 10, n=100), 4)
    0.1776
    """
    p, k, n = real("p", p, 0, 1), whole("k", k), whole("n", n, high=MAX_SIZE)
    threshold = real("threshold", threshold, 0)
    if p in (0, 1):
        return 0.0
    s = np.arange(k + 1)
    with np.errstate(divide="ignore"):
        moved = np.abs(np.log(s) - np.log(k - s) - math.log(p) + math.log1p(-p))
    beyond = threshold * (1 + 1e-12) + 1e-12
    extreme = (moved > beyond) | np.isinf(moved)
    chance = min(1.0, float(pmf(np.full(k, p))[extreme].sum()))
    return 1.0 if chance == 1 else -math.expm1(n * math.log1p(-chance))


def moderate_bag_size(p: float, failure: float, n: int = 1) -> int:
    """A size of bags that keeps the log odds of n bags of like labels from extremes but for a given probability.

        least k >= 10.6 log(2 n / failure) / (p (1 - p))

    Parameters
    ----------
    p : float in [1e-12, 1 - 1e-12]
        Probability of a one, the same for all labels.
    failure : float in (0, 1)
        Probability that any of the bags moves its log odds further than `moderate_change` says.
    n : int >= 1
        Bags.

    Returns
    -------
    int

    Raises
    ------
    InputError

    Notes
    -----
    Theorem 3.7 of Busa-Fekete et al. (2024) with constants: Proposition 3 of docs/label_privacy.md. O(1).
    `extreme_bags` is exact, and smaller bags may do.

    Examples
    --------
    >>> from darrm.labels import bounds
    >>> bounds.moderate_bag_size(0.5, 0.01)
    225
    """
    p = _inside(p)
    return math.ceil(_ENOUGH * _log_of(failure, n) / (p * (1 - p)))


def moderate_change(p: float, k: int, failure: float, n: int = 1) -> float:
    """What the change of the log odds in n bags of k like labels exceeds with a given probability at most, nats.

        2.25 sqrt(log(2 n / failure) / (p (1 - p) k)),     k >= 10.6 log(2 n / failure) / (p (1 - p))

    Parameters
    ----------
    p, failure, n
        As for `moderate_bag_size`.
    k : int
        Size of a bag, at least `moderate_bag_size`.

    Returns
    -------
    float
        Nats; at most 0.7.

    Raises
    ------
    InputError
        If k is smaller, among others.

    Notes
    -----
    As for `moderate_bag_size`.

    Examples
    --------
    >>> from darrm.labels import bounds
    >>> bounds.extreme_bags(0.5, 400, threshold=bounds.moderate_change(0.5, 400, 0.01)) < 0.01
    True
    """
    p, least = _inside(p), moderate_bag_size(p, failure, n)
    k = whole("k", k, least, allowed=f"of at least moderate_bag_size = {least} and at most 1e+07")
    return _MOVE * math.sqrt(_log_of(failure, n) / (p * (1 - p) * k))


def _inside(p: object) -> float:
    return real("p", p, 1e-12, 1 - 1e-12)


def _log_of(failure: object, n: object) -> float:
    return math.log(2 * whole("n", n, high=MAX_SIZE)) - math.log(real("failure", failure, 0, 1, "()"))

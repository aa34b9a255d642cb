"""Composition of k mechanisms that are each (epsilon, delta)-DP, by three published theorems."""

from __future__ import annotations

import math
from bisect import bisect_left
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from darrm._validation import MAX_EPSILON, check_count, check_total_delta, real
from darrm.errors import InputError
from darrm.numerics.exact import context, decimals, rounded_up

MOST_LABELS = 10**6  # largest k in searches for a number of labels
_ZERO = -760.0  # the exponential of it and of all below is exactly 0, by more than their rounding


class Privacy(NamedTuple):
    """(epsilon, delta)-differential privacy; epsilon in nats."""

    epsilon: float
    delta: float


def simple(epsilon: float, delta: float, k: int) -> Privacy:
    """Simple composition: k mechanisms, each (epsilon, delta)-DP, are (k epsilon, k delta)-DP together, adaptively too.

    Parameters
    ----------
    epsilon : float >= 0, nats
    delta : float in [0, 1]
    k : int in [1, 1e7]

    Returns
    -------
    Privacy

    Raises
    ------
    InputError

    Notes
    -----
    Theorem 2.2 of Jiang, Zhang, Joshi (TMLR 2024), after Dwork and Roth (2014). O(1). Each mechanism must be private by
    its own fresh randomness, given everything released or kept before: for fixed voters compose the voters, not the
    releases.

    Examples
    --------
    A hundred releases; the last digit is rounded up:

    >>> import darrm
    >>> darrm.accounting.simple(epsilon=0.1, delta=0.0, k=100)
    Privacy(epsilon=10.000000000000002, delta=0.0)
    """
    epsilon, delta, k = _check(epsilon, delta, k)
    return Privacy(rounded_up(k * Fraction(epsilon)), min(1.0, rounded_up(k * Fraction(delta))))


def general(epsilon: float, delta: float, k: int, delta_prime: float) -> Privacy:
    """General composition: a closed form, looser than `optimal`.

        epsilon' = min(k eps, s + eps sqrt(2 k ln(e + sqrt(k eps^2) / delta')), s + eps sqrt(2 k ln(1 / delta'))),
        s = k eps (e^eps - 1) / (e^eps + 1),      total delta = 1 - (1 - delta)^k (1 - delta')

    Parameters
    ----------
    epsilon : float >= 0, nats
    delta : float in [0, 1]
    k : int in [1, 1e7]
    delta_prime : float in (0, 1]

    Returns
    -------
    Privacy
        Both numbers are rounded up.

    Raises
    ------
    InputError

    Notes
    -----
    Theorem 2.3 of Jiang, Zhang, Joshi (TMLR 2024), which is Theorem 3.4 of Kairouz, Oh, Viswanath (2015). O(1).
    Each mechanism must be private by its own fresh randomness, given everything released or kept before.

    Examples
    --------
    A hundred releases cost 10 by simple composition:

    >>> import darrm
    >>> total = darrm.accounting.general(epsilon=0.1, delta=0.0, k=100, delta_prime=1e-5)
    >>> round(total.epsilon, 3), total.delta
    (5.298, 1e-05)
    """
    epsilon, delta, k = _check(epsilon, delta, k)
    delta_prime = real("delta_prime", delta_prime, 0, 1, "(]", hint="Pass for instance 1e-6.")
    drift = k * epsilon * math.tanh(epsilon / 2)
    total = min(
        rounded_up(k * Fraction(epsilon)),
        drift + epsilon * math.sqrt(2 * k * math.log(math.e + math.sqrt(k) * epsilon / delta_prime)),
        drift + epsilon * math.sqrt(2 * k * math.log(1 / delta_prime)),
    ) * (1 + 1e-14)  # rounded up
    if not delta:
        return Privacy(total, delta_prime)
    with decimals(min(Decimal(delta), Decimal(delta_prime))):
        failure = (1 - (1 - Decimal(delta)) ** k * (1 - Decimal(delta_prime))) * (1 + Decimal("1e-40"))
    return Privacy(total, min(1.0, rounded_up(failure)))


def optimal(epsilon: float, delta: float, k: int, delta_total: float) -> Privacy:
    """Optimal composition: the least epsilon at a total delta for any k mechanisms, each (epsilon, delta)-DP.

        delta_total = 1 - (1 - delta)^k (1 - V),   V = sum over i of Pr[i] max(0, 1 - e^(eps' - (2 i - k) eps)),
        i ~ Binomial(k, e^eps / (1 + e^eps))

    Parameters
    ----------
    epsilon : float >= 0, nats
    delta : float in [0, 1)
    k : int in [1, 1e7]
    delta_total : float in [0, 1)

    Returns
    -------
    Privacy
        Rounded up: epsilon is larger by some 1e-14 (k ln k + k epsilon + 10).

    Raises
    ------
    InputError
        If ``delta_total`` is below the unavoidable 1 - (1 - delta)^k, which the message gives.

    Notes
    -----
    Theorem 3.3 of Kairouz, Oh, Viswanath, "The composition theorem for differential privacy", ICML 2015, for every
    total epsilon and not only for those of its grid. Computed in logarithms; O(k ln k). Each mechanism must be private
    by its own fresh randomness, given everything released or kept before.

    Examples
    --------
    A hundred releases of epsilon .1, by the three theorems:

    >>> import darrm
    >>> round(darrm.accounting.simple(0.1, 0.0, 100).epsilon, 3)
    10.0
    >>> round(darrm.accounting.general(0.1, 0.0, 100, delta_prime=1e-5).epsilon, 3)
    5.298
    >>> round(darrm.accounting.optimal(0.1, 0.0, 100, delta_total=1e-5).epsilon, 3)
    4.307
    """
    epsilon, delta, k = _check(epsilon, delta, k)
    delta_total = check_total_delta(delta_total, "delta_total")
    # V <= target  <=>  1 - (1 - delta)^k (1 - V) <= delta_total
    digits = 60 + max(-Decimal(x).adjusted() for x in (1, delta, delta_total) if x)
    with localcontext(context(digits)):
        kept = (1 - Decimal(delta)) ** k
        exact = 1 - (1 - Decimal(delta_total)) / kept if kept else Decimal(-1)
        if exact < 0:
            raise InputError(
                f"delta_total = {delta_total:g} is below the unavoidable 1 - (1 - delta)^k = {float(1 - kept):.6g}. "
                "Pass a delta_total above it, or take fewer mechanisms."
            )
        margin = 1e-15 * (k * math.log(k + 2) + k * epsilon + 10)
        target = float(exact * Decimal(max(0.0, 1 - margin)))
    if epsilon == 0:
        return Privacy(0.0, delta_total)
    if target <= 1e-280:  # there float64 cannot tell V from 0
        return Privacy(rounded_up(k * Fraction(epsilon)), delta_total)
    i = _possible(k, epsilon)
    pmf = _pmf(k, i, epsilon)

    def excess(at: int) -> float:
        return float(pmf[at:] @ -np.expm1(-2 * epsilon * (i[at:] - i[at])))

    if i[0] > (k + 1) // 2 and excess(0) <= target:  # only for a target next to 1
        i = np.arange((k + 1) // 2, k + 1)
        pmf = _pmf(k, i, epsilon)
    low, high = 0, i.size - 1  # the first loss at which V is at most the target; it is at the last, where V = 0
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if excess(middle) <= target else (middle + 1, high)
    loss = float(2 * i[low] - k) * epsilon
    above, scaled = float(pmf[low:].sum()), float(pmf[low:] @ np.exp(-2 * epsilon * (i[low:] - i[low])))
    # From the loss before this one on, V = above - e^(eps' - loss) scaled.
    total = loss + math.log((above - target) / scaled) if above > target else -math.inf
    rounding = 8 * margin + 1e-15 * (loss + 1)
    return Privacy(min(rounded_up(k * Fraction(epsilon)), max(0.0, total + rounding)), delta_total)


def optimal_delta(epsilon: float, delta: float, k: int, total_epsilon: float) -> float:
    """Optimal composition: the least delta at a total epsilon for any k mechanisms, each (epsilon, delta)-DP.

        1 - (1 - delta)^k (1 - V),   V = sum over i of Pr[i] max(0, 1 - e^(total_epsilon - (2 i - k) epsilon)),
        i ~ Binomial(k, e^eps / (1 + e^eps))

    Parameters
    ----------
    epsilon : float >= 0, nats
    delta : float in [0, 1)
    k : int in [1, 1e7]
    total_epsilon : float >= 0, nats

    Returns
    -------
    float
        In [0, 1], rounded up: larger by a relative 1e-15 (k ln k + k epsilon + 10), by the effect of a relative 1e-15
        of the epsilons, and by 1e-290. 0 only if it is 0.

    Raises
    ------
    InputError

    Notes
    -----
    The inverse of `optimal`. O(k).
    """
    epsilon, delta, k = _check(epsilon, delta, k)
    total_epsilon = real("total_epsilon", total_epsilon, 0, hint="Pass nats, e.g. 1.0.")
    if Fraction(total_epsilon) >= k * Fraction(epsilon):
        return min(1.0, at_least_once(delta, k) * (1 + 1e-14))
    i = _possible(k, epsilon)
    losses = (2 * i - k) * epsilon
    beyond = losses - total_epsilon + 2.0**-50 * (losses + total_epsilon)  # above rounding; positive for i = k
    i, beyond = i[beyond > 0], beyond[beyond > 0]
    pmf = _pmf(k, i, epsilon)
    margin = 1e-15 * (k * math.log(k + 2) + k * epsilon + 10)
    V = min(1.0, float(pmf @ -np.expm1(-beyond)) * (1 + margin) + 1e-290)  # positive, although pmf may underflow
    return min(1.0, at_least_once(delta, k, V) * (1 + 1e-14))


def _possible(k: int, epsilon: float) -> np.ndarray:
    """The i >= k / 2 (losses >= 0) whose probability `_pmf` is not exactly 0; the others change no sum.

    Binomial probabilities rise up to their mode and fall from there. O(ln k).
    """
    first = (k + 1) // 2
    mode = min(k, max(first, int((k + 1) / (1 + math.exp(-epsilon)))))

    def log_pmf(i: int) -> float:
        choices = math.lgamma(k + 1) - math.lgamma(i + 1) - math.lgamma(k - i + 1)
        return choices + log_chance(epsilon) * i + log_chance(-epsilon) * (k - i)

    start = first + bisect_left(range(first, mode), _ZERO, key=log_pmf)
    end = mode + bisect_left(range(mode, k + 1), -_ZERO, key=lambda i: -log_pmf(i))
    return np.arange(start, end)


def _pmf(k: int, i: np.ndarray, epsilon: float) -> np.ndarray:
    """Pr[i], i ~ Binomial(k, e^eps / (1 + e^eps))."""
    return np.asarray(np.exp(log_binomials(k, i) + log_chance(epsilon) * i + log_chance(-epsilon) * (k - i)))


def log_binomials(k: int, i: np.ndarray) -> np.ndarray:
    """ln of the binomial coefficients of k over i."""
    from scipy.special import gammaln

    return np.asarray(gammaln(k + 1) - gammaln(i + 1) - gammaln(k - i + 1))


def log_chance(x: float) -> float:
    """ln 1 / (1 + e^-x)."""
    return -math.log1p(math.exp(-x)) if x > 0 else x - math.log1p(math.exp(x))


def at_least_once(delta: float, k: int, other: float = 0.0) -> float:
    """1 - (1 - delta)^k (1 - other)."""
    if delta >= 1 or other >= 1:
        return 1.0
    return -math.expm1(k * math.log1p(-delta) + math.log1p(-other))


def _check(epsilon: float, delta: float, k: int) -> tuple[float, float, int]:
    hint = "Pass the delta of one mechanism."
    return (
        real("epsilon", epsilon, 0, MAX_EPSILON, hint=hint),
        real("delta", delta, 0, 1, hint=hint),
        check_count("k", k),
    )

"""What a release tells an attacker about single labels who knows how likely every label is: eta_i = Pr[y_i = 1].

All numbers are exact but for rounding: no sampling, no quadrature. The definitions are those of Busa-Fekete et al.,
"Auditing privacy mechanisms via label inference attacks" (NeurIPS 2024), for one bag; several bags are independent, and
their mean is taken. Mechanisms: all of `darrm.mechanisms` and `darrm.measures.CountKernel`; for `DaRRM`, eta holds the
vote probabilities of the K voters and the measures say what one released majority tells about one vote. Its guarantee
is about a record that private voters have seen, and is no bound for that. Noisy max is taken with continuous noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from darrm.errors import InputError
from darrm.measures import laplace
from darrm.measures.distribution import ContinuousDistribution, DiscreteDistribution, Distribution
from darrm.measures.kernels import OfCounts, OfLabels, channel
from darrm.mechanisms.label_proportions import GeometricLabelProportions, LaplaceLabelProportions
from darrm.mechanisms.randomized_response import RandomizedResponse
from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import as_bags, by_parts, slices

Mechanism = OfCounts | OfLabels | LaplaceLabelProportions
_TINY = 1e-290  # outputs of a smaller chance are left out: float64 has no ratio for them
_ATOMS = 20_000_000


def individual_advantage(mechanism: Mechanism, eta: ArrayLike) -> Array:
    """By how much a release raises the chance to guess each label.

        sum over outputs o of max(eta_i P(o | y_i = 1), (1 - eta_i) P(o | y_i = 0))  -  max(eta_i, 1 - eta_i)

    Parameters
    ----------
    mechanism
        Any of `darrm.mechanisms`, or a `CountKernel`.
    eta : array_like, shape (k,) for one bag or (n, k) for n bags, in [0, 1]

    Returns
    -------
    ndarray, the shape of ``eta``; in [0, 1/2]

    Raises
    ------
    InputError

    Notes
    -----
    Individual expected attack advantage, Definition 3.1 of the paper (2024). Computed as the gain of the less likely
    label over all outputs that speak for it, so that nothing cancels. O(k^2) a bag for exact and Laplace label
    proportions; O(k^2 outcomes) for other kernels.
    """

    def gain(p: Array, zero: Array, one: Array) -> Array:
        sign = np.where(p <= 0.5, 1.0, -1.0)
        gains = one * (sign * p)
        gains -= zero * (sign * (1 - p))
        return gains

    return _of_each_label(mechanism, eta, laplace.individual, gain)


def additive_advantage(mechanism: Mechanism, eta: ArrayLike) -> float:
    """By how much a release raises the share of labels that the best attacker guesses right.

        mean over all labels of `individual_advantage`

    Parameters
    ----------
    mechanism, eta
        As for `individual_advantage`.

    Returns
    -------
    float
        In [0, 1/2].

    Raises
    ------
    InputError

    Notes
    -----
    Definition 3.1 and Theorem 3.3 of Busa-Fekete et al. (2023), for the features at hand.
    """
    return float(individual_advantage(mechanism, eta).mean())


def total_variation(mechanism: Mechanism, eta: ArrayLike) -> Array:
    """Total variation between the outputs given y_i = 1 and given y_i = 0.

        sum over outputs o of max(P(o | y_i = 1) - P(o | y_i = 0), 0)

    Returns
    -------
    ndarray, the shape of ``eta``; in [0, 1]
        The other labels vary as eta says; eta_i itself does not matter. Twice the individual advantage at eta_i = 1/2.
    """
    return np.minimum(_of_each_label(mechanism, eta, laplace.variation, lambda p, zero, one: one - zero), 1)


def _of_each_label(
    mechanism: Mechanism,
    eta: ArrayLike,
    of_laplace: Callable[[Array, float], Array],
    gain: Callable[[Array, Array, Array], Array],
) -> Array:
    """Sum over outputs of max(gain, 0), from eta and the chances of the outputs given 0 and 1."""
    bags, single = as_bags(eta)
    n, k = bags.shape
    if isinstance(mechanism, LaplaceLabelProportions):
        epsilon = mechanism.epsilon
        answer = by_parts(n, k * k, lambda at: of_laplace(bags[at], epsilon))
    else:
        outputs = channel(mechanism, k)

        def part(at: slice) -> Array:
            gains = gain(bags[at], *outputs.given(bags[at]))
            return np.asarray(np.maximum(gains, 0, out=gains).sum(axis=0))

        answer = by_parts(n, outputs.entries, part)
    return answer[0] if single else answer


def label_leakage(mechanism: Mechanism, eta: ArrayLike) -> Array:
    """Maximal leakage from each label to the output, nats.

        log sum over outputs o of max over v of P(o | y_i = v)  =  log(1 + total variation)

    Returns
    -------
    ndarray, the shape of ``eta``; in [0, log 2]

    Notes
    -----
    The other labels vary as eta says; entrywise leakage of Saeidian et al. (IEEE TIFS 2021) knows them all.
    """
    return np.log1p(total_variation(mechanism, eta))


def multiplicative_advantage(mechanism: Mechanism, eta: ArrayLike) -> Distribution:
    """By how much a release moves the log odds of a label: distribution over outputs and labels.

        | log odds of y_i after - before | = | log P(o | y_i = 1) / P(o | y_i = 0) |,    o by its probability, i uniform

    Parameters
    ----------
    mechanism, eta
        As for `individual_advantage`. The measure keeps everything in memory: labels times outcomes up to 2e7.

    Returns
    -------
    Distribution
        ``cdf(x)``, ``quantile(q)``, ``infinite_mass`` (outputs that give a label away), ``maximum``; nats.

    Raises
    ------
    InputError

    Notes
    -----
    abs(I_(1,0)) of Definition 3.6 of the paper (2024). A label with eta_i 0 or 1 was known before: its change
    counts as 0. Outputs with a chance below 1e-290 given either value are left out. At most epsilon under
    epsilon-label-DP.
    """
    bags, _ = as_bags(eta)
    n, k = bags.shape
    if isinstance(mechanism, LaplaceLabelProportions):
        return _laplace_distribution(bags, mechanism.epsilon)
    outputs = channel(mechanism, k)
    most = _guarantee(mechanism)
    values: list[Array] = []
    weights: list[Array] = []
    size = 0
    for at in slices(n, outputs.entries):
        p = bags[at]
        zero, one = outputs.given(p)
        size += zero.size
        _check_size(size)
        values.append(_log_ratio(zero, one, p, most).ravel())
        weight = one * p
        weight += zero * (1 - p)
        weights.append(weight.ravel() / bags.size)
    return DiscreteDistribution(np.concatenate(values), np.concatenate(weights))


def tight_epsilon(mechanism: Mechanism, eta: ArrayLike) -> float:
    """Largest change of the log odds of any label by any output, nats.

        sup over i and o of | log P(o | y_i = 1) / P(o | y_i = 0) |

    Parameters
    ----------
    mechanism, eta
        As for `individual_advantage`.

    Returns
    -------
    float
        At most epsilon under epsilon-label-DP, and infinity where an output gives a label away. Labels with eta_i 0 or
        1 count as 0, and outputs with a chance below 1e-290 given either value are left out.
    """
    bags, _ = as_bags(eta)
    n, k = bags.shape
    if isinstance(mechanism, LaplaceLabelProportions):  # attained below 0 and above k
        return mechanism.epsilon if np.any((bags > 0) & (bags < 1)) else 0.0
    outputs = channel(mechanism, k)
    most = _guarantee(mechanism)
    return max(float(_log_ratio(*outputs.given(bags[at]), bags[at], most).max()) for at in slices(n, outputs.entries))


def _guarantee(mechanism: Mechanism) -> float:
    """What no log ratio of darrm's own label-DP mechanisms exceeds: epsilon, where float64 has no smaller number.

    What others say of themselves is not taken for it: an audit is there to find out.
    """
    return mechanism.epsilon if isinstance(mechanism, RandomizedResponse | GeometricLabelProportions) else math.inf


def _log_ratio(zero: Array, one: Array, p: Array, most: float) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.minimum(np.abs(np.log(one) - np.log(zero)), most)
    return np.where((np.maximum(zero, one) > _TINY) & (p > 0) & (p < 1), ratio, 0.0)


def _check_size(size: int) -> None:
    if size > _ATOMS:
        raise InputError(
            f"The distribution has more than {_ATOMS:g} entries, one for each label and outcome. Pass fewer bags."
        )


def _laplace_distribution(bags: Array, epsilon: float) -> Distribution:
    n, k = bags.shape
    _check_size(bags.size * k)
    known = float(((bags == 0) | (bags == 1)).mean())
    if known == 1:
        return DiscreteDistribution(np.zeros(1), np.ones(1))
    parts = [laplace.LaplaceOdds(bags[at], epsilon) for at in slices(n, k * k)]

    def below(points: Array) -> Array:
        return np.array([1 - sum(part.moved(x) for part in parts) / bags.size for x in points.tolist()])

    return ContinuousDistribution(below, epsilon)

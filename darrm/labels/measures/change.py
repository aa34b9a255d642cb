"""The change of an attacker's belief about a label by a release: of its log odds and of its probability.

Distributions over outputs and labels, exact but for rounding, and the largest change. Mechanisms, attacker and source
are those of `darrm.labels.measures.advantage`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from darrm.errors import InputError
from darrm.labels.measures import classes, laplace
from darrm.labels.measures.advantage import Mechanism
from darrm.labels.measures.distribution import ContinuousDistribution, DiscreteDistribution, Distribution
from darrm.labels.measures.kernels import OfCounts, OfLabels, channel
from darrm.labels.mechanisms.label_proportions import GeometricLabelProportions, LaplaceLabelProportions
from darrm.mechanisms.randomized_response import RandomizedResponse
from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import as_bags, slices

_TINY = 1e-290  # outputs of a smaller probability are left out: float64 has no ratio for them
_ATOMS = 20_000_000
_SLACK = 1e-12  # values so far above x count as x, as in `DiscreteDistribution`


def multiplicative_advantage(mechanism: Mechanism, eta: ArrayLike, *, signed: bool = False) -> Distribution:
    """The change of the log odds of a label by a release: its distribution over outputs and labels.

        | log odds of y_i after - before | = | log P(o | y_i = 1) / P(o | y_i = 0) |,    o by its probability, i uniform

    Parameters
    ----------
    mechanism, eta
        As for `individual_advantage`. The measure keeps everything in memory: labels times outcomes up to 2e7.
    signed : bool, default False
        Whether to keep the sign: above 0 where the output speaks for 1. For two classes only.

    Returns
    -------
    Distribution
        ``cdf(x)``, ``quantile(q)``, ``infinite_mass`` (outputs that give a label away), ``maximum``; nats.

    Raises
    ------
    InputError

    Notes
    -----
    abs(I_(1,0)) of Definition 3.6 of the paper (2024), or I_(1,0) if signed. With C > 2 classes it is the largest
    abs(I_(a,b)) over all pairs of classes that are possible (docs/label_privacy.md). A label with eta_i 0 or 1 was
    known before: its change counts as 0. Outputs with a probability below 1e-290 given either value are left out. At
    most epsilon under epsilon-label-DP.

    Examples
    --------
    Randomized response of epsilon 1 always moves log odds by 1:

    >>> import darrm
    >>> law = darrm.labels.multiplicative_advantage(darrm.mechanisms.RandomizedResponse(1.0), [0.5, 0.2])
    >>> round(law.quantile(0.5), 6), round(law.maximum, 6), law.infinite_mass
    (1.0, 1.0, 0.0)

    The sum of two labels gives them away if they are equal:

    >>> darrm.labels.multiplicative_advantage(darrm.labels.LabelProportions(), [0.5, 0.5]).infinite_mass
    0.5
    """
    most = guarantee(mechanism)
    kernel = classes.kernel_of_classes(mechanism)
    if kernel is not None:
        if signed:
            raise InputError(
                f"signed must be False for more than two classes. Got {signed!r} for {len(kernel)} classes."
            )
        return DiscreteDistribution(*classes.log_ratios(kernel, eta, most, _TINY))
    bags, _ = as_bags(eta)
    if isinstance(mechanism, LaplaceLabelProportions):
        law = _signed_laplace_distribution if signed else _laplace_distribution
        return law(bags, mechanism.epsilon)
    if signed:
        return _discrete_distribution(mechanism, bags, lambda zero, one, p: _signed_log_ratio(zero, one, p, most))
    return _discrete_distribution(mechanism, bags, lambda zero, one, p: _log_ratio(zero, one, p, most))


def posterior_change(mechanism: Mechanism, eta: ArrayLike) -> Distribution:
    """The change of the probability of a label by a release: its distribution over outputs and labels.

        | P(y_i = 1 | o) - eta_i |,    o by its probability, i uniform

    Parameters
    ----------
    mechanism, eta
        As for `multiplicative_advantage`; two classes.

    Returns
    -------
    Distribution
        ``1 - cdf(x)`` is the tail: the probability that the attacker's belief changes by more than x; x in [0, 1].

    Raises
    ------
    InputError

    Notes
    -----
    Exact but for rounding, at the cost of `multiplicative_advantage`. The paper (2024) says that its appendix has a
    variant of the advantage for its tail. That appendix was not available; this definition is the library's own.

    Examples
    --------
    >>> from darrm.labels import posterior_change
    >>> from darrm.labels import LabelProportions
    >>> law = posterior_change(LabelProportions(), [0.5, 0.5])
    >>> law.cdf(0.25), law.maximum
    (0.5, 0.5)
    """
    bags, _ = as_bags(eta)
    if isinstance(mechanism, LaplaceLabelProportions):
        return _laplace_change(bags, mechanism.epsilon)

    def change(zero: Array, one: Array, p: Array) -> Array:
        # P - eta = eta (1 - eta) (f_1 - f_0) / (eta f_1 + (1 - eta) f_0): nothing cancels.
        total = p * one + (1 - p) * zero
        return np.abs(p * (1 - p) * (one - zero)) / np.where(total > 0, total, 1)

    return _discrete_distribution(mechanism, bags, change)


def _discrete_distribution(
    mechanism: OfCounts | OfLabels, bags: Array, value: Callable[[Array, Array, Array], Array]
) -> DiscreteDistribution:
    """Law of value(f_0, f_1, eta) over outputs and labels."""
    n, k = bags.shape
    outputs = channel(mechanism, k)
    values: list[Array] = []
    weights: list[Array] = []
    size = 0
    for at in slices(n, outputs.entries):
        p = bags[at]
        zero, one = outputs.given(p)
        size += zero.size
        _check_size(size)
        values.append(value(zero, one, p).ravel())
        weight = one * p
        weight += zero * (1 - p)
        weights.append(weight.ravel() / bags.size)
    return DiscreteDistribution(np.concatenate(values), np.concatenate(weights))


def largest_log_odds_change(mechanism: Mechanism, eta: ArrayLike) -> float:
    """Largest change of the log odds of any label by any output, nats.

        sup over i and o of | log P(o | y_i = 1) / P(o | y_i = 0) |

    Parameters
    ----------
    mechanism, eta
        As for `individual_advantage`.

    Returns
    -------
    float
        At most epsilon under epsilon-label-DP, and infinity where an output gives a label away. So it is a lower bound
        on the epsilon of label privacy, for an attacker who knows ``eta`` and no label. It is not a guarantee. Labels
        with eta_i 0 or 1 count as 0, and outputs with a probability below 1e-290 given either value are left out. More
        than two classes: the largest over all pairs of possible classes.

    Examples
    --------
    Noisy sums of epsilon 1 move log odds by 1 at most; exact sums can give a label away:

    >>> import darrm
    >>> eta = [0.5, 0.3, 0.6]
    >>> round(darrm.labels.largest_log_odds_change(darrm.labels.GeometricLabelProportions(1.0), eta), 4)
    1.0
    >>> darrm.labels.largest_log_odds_change(darrm.labels.LabelProportions(), eta)
    inf
    """
    kernel = classes.kernel_of_classes(mechanism)
    if kernel is not None:
        return float(classes.log_ratios(kernel, eta, guarantee(mechanism), _TINY)[0].max())
    bags, _ = as_bags(eta)
    n, k = bags.shape
    if isinstance(mechanism, LaplaceLabelProportions):  # achieved below 0 and above k
        return mechanism.epsilon if np.any((bags > 0) & (bags < 1)) else 0.0
    outputs = channel(mechanism, k)
    most = guarantee(mechanism)
    return max(float(_log_ratio(*outputs.given(bags[at]), bags[at], most).max()) for at in slices(n, outputs.entries))


def guarantee(mechanism: Mechanism) -> float:
    """What no log ratio of darrm's own label-DP mechanisms exceeds: epsilon, where float64 has no smaller number.

    What others say of themselves is not taken for it: an audit is there to find out.
    """
    return mechanism.epsilon if isinstance(mechanism, RandomizedResponse | GeometricLabelProportions) else math.inf


def _log_ratio(zero: Array, one: Array, p: Array, most: float) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.minimum(np.abs(np.log(one) - np.log(zero)), most)
    return np.where((np.maximum(zero, one) > _TINY) & (p > 0) & (p < 1), ratio, 0.0)


def _signed_log_ratio(zero: Array, one: Array, p: Array, most: float) -> Array:
    return np.where(one >= zero, 1.0, -1.0) * _log_ratio(zero, one, p, most)


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

    def below(x: float) -> float:
        return 1 - sum(part.moved(x) for part in parts) / bags.size

    return ContinuousDistribution(_at_each(below), epsilon)


def _at_each(below: Callable[[float], float]) -> Callable[[Array], Array]:
    return lambda points: np.array([below(x) for x in points.tolist()])


def _signed_laplace_distribution(bags: Array, epsilon: float) -> Distribution:
    n, k = bags.shape
    _check_size(bags.size * k)
    parts = [(bags[at], laplace.LaplaceOutputs(bags[at], epsilon)) for at in slices(n, k * k)]
    unknown = float(((bags > 0) & (bags < 1)).mean())
    if unknown == 0:
        return DiscreteDistribution(np.zeros(1), np.ones(1))

    def below(x: float) -> float:
        x += _SLACK * max(1.0, abs(x))  # outputs beyond 0 and k hold atoms at -epsilon and epsilon
        higher = 0.0
        for p, outputs in parts:
            over = outputs.above(math.exp(-x / 2), math.exp(x / 2), p, 1 - p)
            higher += float(np.where((p > 0) & (p < 1), over, 0).sum())
        return 1 - higher / bags.size - (1 - unknown) * (x < 0)

    return ContinuousDistribution(_at_each(below), epsilon, -epsilon)


def _laplace_change(bags: Array, epsilon: float) -> Distribution:
    n, k = bags.shape
    _check_size(bags.size * k)
    parts = [(bags[at], laplace.LaplaceOutputs(bags[at], epsilon)) for at in slices(n, k * k)]
    # Largest change: at f_1 / f_0 = e^epsilon or e^-epsilon, whatever moves the less likely label further.
    less = np.minimum(bags, 1 - bags)
    total = np.where(less > 0, less + (1 - less) * math.exp(-epsilon), 1)
    top = float((less * (1 - less) * -math.expm1(-epsilon) / total).max())
    if top == 0:
        return DiscreteDistribution(np.zeros(1), np.ones(1))

    def below(x: float) -> float:
        x += _SLACK  # outputs beyond 0 and k hold atoms
        moved = 0.0
        for p, outputs in parts:
            # P > p + x is f_1 / f_0 > (p + x) (1 - p) / (p (1 - p - x)); P < p - x likewise.
            up, down = (p > 0) & (p + x < 1), (p < 1) & (p - x > 0)
            a, b = np.where(up, p * (1 - p - x), 1), np.where(up, (1 - p) * (p + x), 1)
            moved += float(np.where(up, outputs.above(a, b, p, 1 - p), 0).sum())
            a, b = np.where(down, p * (1 - p + x), 1), np.where(down, (1 - p) * (p - x), 1)
            moved += float(np.where(down, 1 - outputs.above(a, b, p, 1 - p), 0).sum())
        return 1 - moved / bags.size

    return ContinuousDistribution(_at_each(below), top)

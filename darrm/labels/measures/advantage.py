"""The advantage about single labels of an attacker who knows the prior of every label, eta_i = Pr[y_i = 1].

All numbers are exact up to rounding: no sampling, no quadrature. The definitions are those of Busa-Fekete et al.,
"Auditing privacy mechanisms via label inference attacks" (NeurIPS 2024), for one bag; several bags are independent, and
their mean is taken. Mechanisms: those of `darrm.mechanisms` that answer labels or their number, that is all but the
weighted aggregates, and `darrm.labels.CountKernel`; each with the noise that it draws, but `LaplaceLabelProportions`
with continuous noise. For `DaRRM`, eta holds the vote probabilities of the K voters and the measures are about one
vote, given one released majority. Its guarantee is about a record of private voters, and does not bound them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from darrm.labels.measures import classes, laplace
from darrm.labels.measures.kernels import OfCounts, OfLabels, channel
from darrm.labels.mechanisms.label_proportions import LaplaceLabelProportions
from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import as_bags, by_parts

Mechanism = OfCounts | OfLabels | LaplaceLabelProportions


def individual_advantage(mechanism: Mechanism, eta: ArrayLike) -> Array:
    """The increase of the probability of guessing each label by a release.

        sum over outputs o of max(eta_i P(o | y_i = 1), (1 - eta_i) P(o | y_i = 0))  -  max(eta_i, 1 - eta_i)

    Parameters
    ----------
    mechanism
        One of `darrm.mechanisms` that answers labels or their number, or a `CountKernel`.
    eta : array_like, shape (k,) for one bag or (n, k) for n bags, in [0, 1]
        `RandomizedResponse` of C > 2 classes: shape (n, C), probabilities of the classes of each label.

    Returns
    -------
    ndarray, the shape of ``eta``; in [0, 1/2]
        C > 2 classes: shape (n,), in [0, 1 - 1/C]. The two terms become the C terms eta_(i,c) P(o | y_i = c).

    Raises
    ------
    InputError

    Notes
    -----
    Individual expected attack advantage, Definition 3.1 of the paper (2024), for a bag whose features are all known;
    `individual_advantage_over_bags` is its mean over the other features of the bag. Computed as the gain of the less
    likely label over all outputs that speak for it, so that nothing cancels. O(k^2) a bag for exact and Laplace label
    proportions; O(k^2 outcomes) for other kernels; O(n C outcomes) for C classes.

    Examples
    --------
    The sum of three labels, of which one is known and two are not:

    >>> import darrm
    >>> llp = darrm.labels.LabelProportions()
    >>> darrm.labels.individual_advantage(llp, [0.5, 0.1, 1.0]).round(4).tolist()
    [0.45, 0.05, 0.0]
    """

    kernel = classes.kernel_of_classes(mechanism)
    if kernel is not None:
        return classes.individual(kernel, eta)

    def gain(p: Array, zero: Array, one: Array) -> Array:
        sign = np.where(p <= 0.5, 1.0, -1.0)
        gains = one * (sign * p)
        gains -= zero * (sign * (1 - p))
        return gains

    return _of_each_label(mechanism, eta, laplace.individual, gain)


def additive_advantage(mechanism: Mechanism, eta: ArrayLike) -> float:
    """The increase by a release of the expected share of labels that the best attacker guesses correctly.

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
    Definition 3.1 and Theorem 3.3 of Busa-Fekete et al. (2023), for given features.

    Examples
    --------
    The sum of four labels reveals as much about one as randomized response of an epsilon between 1/2 and 1:

    >>> import darrm
    >>> llp, rr = darrm.labels.LabelProportions(), darrm.mechanisms.RandomizedResponse
    >>> round(darrm.labels.additive_advantage(llp, [0.5] * 4), 4)
    0.1875
    >>> [round(darrm.labels.additive_advantage(rr(epsilon), [0.5] * 4), 4) for epsilon in (0.5, 1.0)]
    [0.1225, 0.2311]
    """
    return float(individual_advantage(mechanism, eta).mean())


def total_variation(mechanism: Mechanism, eta: ArrayLike) -> Array:
    """Total variation between the outputs given y_i = 1 and given y_i = 0.

        sum over outputs o of max(P(o | y_i = 1) - P(o | y_i = 0), 0)

    Returns
    -------
    ndarray, the shape of ``eta``; in [0, 1]
        The other labels vary as eta says; eta_i itself does not matter. Twice the individual advantage at eta_i = 1/2.
        C > 2 classes: shape (n,), the largest over all pairs of classes.

    Raises
    ------
    InputError

    Examples
    --------
    The sum of three labels reveals less about each if two are uncertain than if all are nearly known:

    >>> import darrm
    >>> llp = darrm.labels.LabelProportions()
    >>> darrm.labels.total_variation(llp, [0.5, 0.5, 0.9]).round(4).tolist()
    [0.5, 0.5, 0.5]
    >>> darrm.labels.total_variation(llp, [0.9, 0.9, 0.9]).round(4).tolist()
    [0.81, 0.81, 0.81]
    """
    kernel = classes.kernel_of_classes(mechanism)
    if kernel is not None:
        return classes.variation(kernel, eta)
    return np.minimum(_of_each_label(mechanism, eta, laplace.variation, lambda p, zero, one: one - zero), 1)


def _of_each_label(
    mechanism: Mechanism,
    eta: ArrayLike,
    of_laplace: Callable[[Array, float], Array],
    gain: Callable[[Array, Array, Array], Array],
) -> Array:
    """Sum over outputs of max(gain, 0), from eta and the probabilities of the outputs given 0 and 1."""
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
        C > 2 classes: shape (n,), in [0, log C], with the largest of all C probabilities of each output. That is more
        than log(1 + total variation) in general.

    Raises
    ------
    InputError

    Notes
    -----
    The other labels vary as eta says; entrywise leakage of Saeidian et al. (IEEE TIFS 2021) knows them all.

    Examples
    --------
    The exact sum of three labels, beside a noisy answer for each:

    >>> import darrm
    >>> eta = [0.5, 0.4, 0.1]
    >>> darrm.labels.label_leakage(darrm.labels.LabelProportions(), eta).round(4).tolist()
    [0.4318, 0.4055, 0.4055]
    >>> darrm.labels.label_leakage(darrm.mechanisms.RandomizedResponse(1.0), eta).round(4).tolist()
    [0.3799, 0.3799, 0.3799]
    """
    kernel = classes.kernel_of_classes(mechanism)
    if kernel is not None:
        return classes.leakage(kernel, eta)
    return np.log1p(total_variation(mechanism, eta))

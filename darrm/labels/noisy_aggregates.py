"""Label privacy of noisy weighted label proportions: the delta of  o = sum of w_i (y_i + sigma g_i [i in S]).

    weights released   given w and S a Gaussian mechanism; delta is its mean over w and S, the same for all labels
    weights secret     o is a scale mixture of centred Gaussians; delta depends on the labels, and is at most the above

Derivations and proofs: docs/aggregates.md, Theorem 6 and Lemma 7. After the abstract of "Label differential privacy via
aggregation", the only part that was available; no theorem of it is quoted here.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import check_count, check_positive, plain
from darrm.accounting.gaussian import gdp_log_parts
from darrm.errors import InputError
from darrm.labels.aggregates import (
    LEAST_DELTA,
    LabelDependentValue,
    check_change,
    check_loss,
    check_range,
    check_record,
)
from darrm.labels.mechanisms.weighted_aggregates import noised_labels
from darrm.mechanisms.labelled_bag import check_labels
from darrm.mechanisms.scale_mixture import panels, scales
from darrm.numerics.arrays import Array

_HALVINGS, _PARTS = 50, 8
_GRID = 2000  # thresholds


def _log_gaussian(epsilon: float, mu: Array) -> Array:
    """log of Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_here, difference = gdp_log_parts(epsilon, mu)
        answer = log_here + np.log(-np.expm1(np.minimum(difference, 0)))
    return np.where(np.isfinite(log_here), answer, -np.inf)


def _mean_gaussian(epsilon: float, shift: float, power: int, outside: bool) -> float:
    """The mean of G at mu = shift * tan (outside S) or sin (inside), density of the angle ~ cos^power.

    Quadrature on panels that shrink towards both ends of (0, pi/2); what they leave out counts with the largest G.
    Their own error is not bounded here.
    """
    from scipy.special import betainc, gammaln

    least = math.pi / 4 * 2.0**-_HALVINGS
    t, w = panels(math.pi / 4 * 2.0 ** (np.arange(-_HALVINGS * _PARTS, 1) / _PARTS))
    total = math.log(math.pi) / 2 + gammaln((power + 1) / 2) - gammaln(power / 2 + 1) - math.log(2)

    def mean(mu: Array, cosine: Array) -> float:
        with np.errstate(divide="ignore"):
            return float(w @ np.exp(_log_gaussian(epsilon, mu) + power * np.log(cosine) - total))

    # The angle is t from 0 on, and pi/2 - t from there on: its cosine keeps all digits.
    near_0 = mean(shift * (np.tan(t) if outside else np.sin(t)), np.cos(t))
    near_end = mean(shift * (1 / np.tan(t) if outside else np.cos(t)), np.sin(t))
    at_least = math.exp(float(_log_gaussian(epsilon, np.array([shift * math.tan(least)]))[0]))
    # cos^2 of the angle is Beta((power + 1) / 2, 1 / 2).
    end = float(betainc((power + 1) / 2, 0.5, math.sin(least) ** 2))
    at_most = 1.0 if outside else math.exp(float(_log_gaussian(epsilon, np.array([shift]))[0]))
    return near_0 + near_end + at_least + end * at_most


def noisy_delta(epsilon: float, k: int, fraction: float, sigma: float, label_range: tuple[float, float]) -> float:
    """Delta of noisy weighted label proportions with weights and S released, for one changed label; any labels.

        (q / k) E[G(sin a C / sigma)] + (1 - q / k) E[G(tan b C / sigma)],     q = ceil(fraction k),  C = high - low,
        densities of the angles in (0, pi/2):  a ~ cos^(q - 2),  b ~ cos^(q - 1)  (a = pi/2 if q = 1),
        G(mu) = Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu)

    Parameters
    ----------
    epsilon : float in (0, 600], nats
    k : int in [1, 10^7]
        Records of the bag.
    fraction : float in (0, 1]
    sigma : float > 0
    label_range : (low, high)

    Returns
    -------
    float
        The supremum over labels and changes, achieved by every change of C: both directions are equal. By quadrature,
        raised by a relative 1e-6. With secret weights it is an upper bound. It depends on no label.

    Raises
    ------
    InputError

    Notes
    -----
    docs/aggregates.md, Theorem 6; it falls like e^(-epsilon sigma sqrt(q) / C).

    Examples
    --------
    Labels in [0, 1], half of which get noise of standard deviation 1, in bags of 10, 50 and 100:

    >>> import darrm
    >>> [f"{darrm.labels.noisy_delta(1.0, k, 0.5, 1.0, (0.0, 1.0)):.1e}" for k in (10, 50, 100)]
    ['2.2e-02', '3.9e-04', '2.9e-05']
    """
    epsilon, sigma = check_loss(epsilon), check_positive("sigma", sigma)
    k, fraction = check_count("k", k), check_positive("fraction", fraction, 1)
    low, high = check_range(label_range)
    shift, q = (high - low) / sigma, noised_labels(k, fraction)
    if q == 1:
        inside = math.exp(float(_log_gaussian(epsilon, np.array([shift]))[0]))
    else:
        inside = _mean_gaussian(epsilon, shift, q - 2, outside=False)
    outside = _mean_gaussian(epsilon, shift, q - 1, outside=True) if q < k else 0.0
    return min(1.0, max(LEAST_DELTA, (q * inside + (k - q) * outside) / k * (1 + 1e-6)))


def noisy_local_delta(
    epsilon: float, y: ArrayLike, noised: ArrayLike, record: int, change: float, sigma: float
) -> LabelDependentValue:
    """Delta of noisy weighted label proportions with secret weights, for one changed label. PRIVATE: it is of labels y.

        o ~ N(0, R^2),     R^2 = sum outside S of y_i^2 + sigma^2 chi'^2(q, sum in S of y_i^2 / sigma^2)

    Parameters
    ----------
    epsilon : float in (0, 600], nats
    y : array_like, shape (k,)
    noised : array_like of bool, shape (k,)
        S: which labels got noise; at least one, and at least two if ``record`` is not among them.
    record : int in [0, k)
    change : float, not 0
        The noise that is added to the label of the record.
    sigma : float > 0

    Returns
    -------
    LabelDependentValue
        Its ``error`` is an estimate: quadrature and the search for the threshold, a relative 1e-8.

    Raises
    ------
    InputError

    Notes
    -----
    docs/aggregates.md, Lemma 7: the likelihood ratio is monotone in abs(o), so delta is the largest difference over the
    events abs(o) > a or abs(o) < a.

    Examples
    --------
    Four labels, of which three got noise; the first is changed from 0 to 1:

    >>> import darrm
    >>> y, noised = [0.0, 1.0, 1.0, 0.0], [True, True, True, False]
    >>> found = darrm.labels.noisy_local_delta(0.1, y, noised, record=0, change=1.0, sigma=1.0)
    >>> found.private, round(found.delta, 4)
    (True, 0.0167)
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import erf, erfc

    epsilon, sigma = check_loss(epsilon), check_positive("sigma", sigma)
    labels = check_labels(y)
    chosen = plain("noised", noised, f"booleans of shape {labels.shape}")
    if chosen.shape != labels.shape or chosen.dtype != np.bool_ or not chosen.any():
        raise InputError(f"noised must be booleans of shape {labels.shape}, at least one of them true.")
    record, change = check_record(record, labels.size), check_change(change)
    if chosen.sum() < 2 and not chosen[record]:
        raise InputError("A change of a label without noise is computed for at least two noised labels. Got one.")
    other = labels.copy()
    other[record] += change

    def law(y: Array) -> tuple[Array, Array]:
        return scales(float((y[~chosen] ** 2).sum()), float((y[chosen] ** 2).sum()), int(chosen.sum()), sigma)

    if not float((labels[chosen] ** 2).sum() + (other[chosen] ** 2).sum()) <= 1e6 * sigma**2:
        raise InputError("Labels are more than 1000 sigma in all, so the noise hides nothing. Raise sigma.")
    before, after = law(labels), law(other)
    middle = [math.log(math.sqrt(float(p @ R**2))) for R, p in (before, after)]

    def largest(p: tuple[Array, Array], q: tuple[Array, Array]) -> float:
        best = 0.0
        for event in (erfc, erf):

            def loss(at: float, event: object = event) -> float:
                a = math.exp(at) / math.sqrt(2)
                return float(math.exp(epsilon) * (q[1] @ event(a / q[0])) - p[1] @ event(a / p[0]))  # type: ignore[operator]

            grid = np.linspace(min(middle) - 12, max(middle) + 6, _GRID)
            values = [loss(at) for at in grid]
            i = int(np.argmin(values))
            if values[i] < 0:
                ends = (grid[max(i - 1, 0)], grid[min(i + 1, _GRID - 1)])
                minimum = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-9})
                best = max(best, -min(values[i], float(minimum.fun)))
        return min(1.0, best)

    forward, reverse = largest(before, after), largest(after, before)
    error = max(1e-8 * max(forward, reverse), LEAST_DELTA)
    return LabelDependentValue(min(1.0, forward + error), min(1.0, reverse + error), 2 * error)

"""Upper bounds on the advantage, with explicit constants: for planning, and for comparison with the exact values.

Also, for bags of labels with equal priors, the change of the log odds (`extreme_bags`, `moderate_bag_size`,
`moderate_change`).

Busa-Fekete et al. (2023) is "A unified analysis of label inference attacks", Busa-Fekete et al. (2024) "Auditing
privacy mechanisms via label inference attacks" (NeurIPS 2024).

Two bounds rest on one line. For eta_i <= 1/2, with f_v(o) = Pr[o | y_i = v],

    advantage = sum over o of max(0, eta_i f_1 - (1 - eta_i) f_0) <= eta_i sum over o of max(0, f_1 - f_0),

so it is at most min(eta_i, 1 - eta_i) times the total variation between f_1 and f_0.

Formulas are evaluated in float64 and not rounded up: a bound that a mechanism achieves can be some 1e-16 too small.
Those for Laplace label proportions hold for the discrete noise that is released too. On a grid of 2^-10, where 1 is an
even number of steps, the noise and the noise plus 1 have the same total variation, 1 - e^(-epsilon / 2).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import real, whole
from darrm.labels.measures.extremes import extreme_bags, moderate_bag_size, moderate_change
from darrm.labels.measures.spread import bernstein_width, check_spread
from darrm.mechanisms.random_bags import check_epsilon
from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import as_bags

__all__ = [
    "extreme_bags",
    "label_dp",
    "label_dp_individual",
    "laplace_proportions",
    "laplace_proportions_individual",
    "moderate_bag_size",
    "moderate_change",
    "proportions",
    "proportions_iid",
    "proportions_individual",
    "proportions_mean",
]
_PEAK = 0.4688223555  # max over x >= 0 of sqrt(2 x) e^(-2 x) I_0(2 x), rounded up


def label_dp(epsilon: float) -> float:
    """Bound on the advantage of any epsilon-label-DP mechanism, whatever the labels: 1 - 2 / (1 + e^epsilon).

    Notes
    -----
    Wu et al. (2022), as cited in Section 3.2 of Busa-Fekete et al. (2023). `label_dp_individual` is never above half of
    it.

    Examples
    --------
    A label that is 0 or 1 with equal probability is guessed correctly with probability 1/2 + 0.2311 at most, at epsilon
    1:

    >>> import darrm
    >>> round(darrm.labels.measures.bounds.label_dp(1.0), 4)
    0.4621
    >>> round(float(darrm.labels.measures.bounds.label_dp_individual(1.0, [0.5])[0]), 4)
    0.2311
    """
    return math.tanh(check_epsilon(epsilon) / 2)


def label_dp_individual(epsilon: float, eta: ArrayLike) -> Array:
    """Bound on the individual advantage of any epsilon-label-DP mechanism; randomized response achieves it.

        max(0, min(eta, 1 - eta) - 1 / (1 + e^epsilon))

    Parameters
    ----------
    epsilon : float
    eta : array_like, shape (k,) or (n, k), in [0, 1]

    Returns
    -------
    ndarray, the shape of ``eta``

    Notes
    -----
    An epsilon-label-DP mechanism is randomized response on y_i followed by something that does not look at y_i
    (Kairouz, Oh, Viswanath, ICML 2015, for two inputs). That only lowers the advantage. The value at randomized
    response is Theorem 3.5 of Busa-Fekete et al. (2024).

    Examples
    --------
    Randomized response achieves it:

    >>> import darrm
    >>> darrm.labels.measures.bounds.label_dp_individual(1.0, [0.5, 0.3, 0.1]).round(4).tolist()
    [0.2311, 0.0311, 0.0]
    >>> rr = darrm.mechanisms.RandomizedResponse(1.0)
    >>> darrm.labels.individual_advantage(rr, [0.5, 0.3, 0.1]).round(4).tolist()
    [0.2311, 0.0311, 0.0]
    """
    bags, single = as_bags(eta)
    small = math.exp(-check_epsilon(epsilon))
    bound = np.maximum(np.minimum(bags, 1 - bags) - small / (1 + small), 0)
    return bound[0] if single else bound


def proportions_iid(p: float, k: int) -> float:
    """Bound on the additive advantage of exact label proportions if all labels have the same probability of a one.

        sqrt(p (1 - p) / k)   and, for p != 1/2,   exp(-k d^2 / (2 p (1 - p) + 2 d / 3)),  d = |1/2 - p|;   the lesser

    Parameters
    ----------
    p : float in [0, 1]
    k : int >= 1

    Notes
    -----
    Theorem 3.4 of Busa-Fekete et al. (2023), with the constants of its proof (Jensen, Bernstein).

    Examples
    --------
    Bags of a hundred labels, the bound, and the exact advantage by their sums:

    >>> import darrm
    >>> llp = darrm.labels.LabelProportions()
    >>> round(darrm.labels.measures.bounds.proportions_iid(0.5, 100), 4)
    0.05
    >>> round(darrm.labels.additive_advantage(llp, [0.5] * 100), 4)
    0.0398
    """
    p, k = real("p", p, 0, 1), whole("k", k)
    far = abs(0.5 - p)
    tail = math.exp(-k * far * far / (2 * p * (1 - p) + 2 * far / 3))
    return min(math.sqrt(p * (1 - p) / k), tail)


def proportions(p: float, spread: float, k: int) -> float:
    """Bound on the expected additive advantage of exact label proportions for bags drawn from one distribution.

        sqrt(2 t + 1) sqrt((e^(-3/2) + pi/4 + pi/e) sqrt(v) / n^(3/2)) + v / n,     n = k - 1,
        t = L / 3 + sqrt(L^2 / 9 + 2 n p (1 - p) L),    L = log(4 n)

    Parameters
    ----------
    p : float in [0, 1]
        E[eta].
    spread : float in [0, p (1 - p)]
        v = E[eta (1 - eta)].
    k : int >= 2
        Size of the bag.

    Notes
    -----
    The source is Lemma A.1, behind Theorem 3.5 of Busa-Fekete et al. (2023). By Bernstein, a binomial number is outside
    of the half-width t with probability at most 1 / (2 n). The printed half-width, sqrt(n) c_n, is too small for that:
    at n = 1000 and p = 1/2 it is left with probability 0.054 instead of 0.0005. The step min(a, b) <= a b / (a + b) of
    its proof does not hold, but min(a, b) <= a^(1/4) b^(3/4) does, with the same result. Lemma A.3, on which it rests,
    lost a factor of 2 that does no harm (docs/errata.md).
    `darrm.labels.measures.bounds_over_bags.proportions` is never above this bound and has a proof of its own
    (Proposition 1 of docs/label_privacy.md). So this bound has it too. The theorem is Theorem 3.3 of 2024.
    `proportions_individual` is for a given bag.

    Examples
    --------
    The bound of the paper, and the one without its logarithm:

    >>> import darrm
    >>> round(darrm.labels.measures.bounds.proportions(p=0.5, spread=0.25, k=128), 4)
    0.1867
    >>> round(darrm.labels.measures.bounds_over_bags.proportions(p=0.5, spread=0.25, k=128), 4)
    0.1051
    """
    p, k = real("p", p, 0, 1), whole("k", k, 2)
    spread = check_spread(spread, p)
    n = k - 1
    t = bernstein_width(n, p)
    inner = (math.exp(-1.5) + math.pi / 4 + math.pi / math.e) * math.sqrt(spread) / n**1.5
    return math.sqrt((2 * t + 1) * inner) + spread / n


def proportions_individual(eta: ArrayLike) -> Array:
    """Bound on the individual advantage of exact label proportions in a given bag.

        min(eta_i, 1 - eta_i) min(1, 0.46883 / sqrt(V_i)),    V_i = sum over j != i of eta_j (1 - eta_j)

    Parameters
    ----------
    eta : array_like, shape (k,) or (n, k), in [0, 1]

    Returns
    -------
    ndarray, the shape of ``eta``

    Notes
    -----
    The total variation between the number of ones of all other labels and that number plus 1 is the peak of its
    distribution, which has one mode. The peak is at most 0.46883 / sqrt(V_i) (Baillon, Cominetti, Vaisman, "A sharp
    uniform bound for the distribution of sums of Bernoulli trials", 2016). Above in this module. As min(u, 1 - u) is at
    most 2 u (1 - u), it has the form that Section 3.1 of Busa-Fekete et al. (2024) announces for its appendix.

    Examples
    --------
    Bags of 65 labels, the bound, and the exact advantage by their sums:

    >>> import darrm
    >>> eta, llp = [0.5] * 65, darrm.labels.LabelProportions()
    >>> round(float(darrm.labels.measures.bounds.proportions_individual(eta)[0]), 4)
    0.0586
    >>> round(float(darrm.labels.individual_advantage(llp, eta)[0]), 4)
    0.0497
    """
    bags, single = as_bags(eta)
    own = bags * (1 - bags)
    others = np.maximum(own.sum(axis=1, keepdims=True) - own, 0)
    with np.errstate(divide="ignore"):
        peak = np.minimum(1, _PEAK / np.sqrt(others))
    bound: Array = np.minimum(bags, 1 - bags) * peak
    return np.asarray(bound[0] if single else bound)


def proportions_mean(eta: ArrayLike) -> float:
    """Bound on the additive advantage of exact label proportions in given bags.

        mean over all labels of `proportions_individual`

    Parameters
    ----------
    eta : array_like, shape (k,) or (n, k), in [0, 1]

    Returns
    -------
    float in [0, 1/2]

    Raises
    ------
    InputError

    Notes
    -----
    O(n k).

    Examples
    --------
    >>> from darrm.labels import bounds
    >>> round(bounds.proportions_mean([0.5] * 65), 5)
    0.0586
    """
    return float(proportions_individual(eta).mean())


def laplace_proportions(epsilon: float, spread: float) -> float:
    """Bound on the expected additive advantage of Laplace label proportions, whatever the size of the bag.

        2 (1 - e^-epsilon) E[eta (1 - eta)]

    Parameters
    ----------
    epsilon : float
    spread : float in [0, 1/4]
        E[eta (1 - eta)].

    Notes
    -----
    Theorem 6.4 of Busa-Fekete et al. (2023), first part; the second part is the bound for exact proportions, as noise
    never helps the attacker. `laplace_proportions_individual` is never above it.

    Examples
    --------
    Labels that are as often 1 as 0, in bags of any size:

    >>> import darrm
    >>> round(darrm.labels.measures.bounds.laplace_proportions(epsilon=0.5, spread=0.25), 4)
    0.1967
    """
    return -2 * math.expm1(-check_epsilon(epsilon)) * real("spread", spread, 0, 0.25)


def laplace_proportions_individual(epsilon: float, eta: ArrayLike) -> Array:
    """Bound on the individual advantage of Laplace label proportions, whatever the other labels; achieved at k = 1.

        min(eta, 1 - eta) (1 - e^(-epsilon / 2))

    Parameters
    ----------
    epsilon : float
    eta : array_like, shape (k,) or (n, k), in [0, 1]

    Returns
    -------
    ndarray, the shape of ``eta``

    Notes
    -----
    Laplace noise of scale 1 / epsilon and the same noise plus 1 have the total variation 1 - e^(-epsilon / 2), and a
    random sum of other labels does not raise it. Above in this module; achieved for eta = 1/2.

    Examples
    --------
    Achieved by bags of one; in a bag of four the other labels hide more:

    >>> import darrm
    >>> llp = darrm.labels.LaplaceLabelProportions(1.0)
    >>> darrm.labels.measures.bounds.laplace_proportions_individual(1.0, [0.5]).round(4).tolist()
    [0.1967]
    >>> [round(darrm.labels.additive_advantage(llp, [0.5] * k), 4) for k in (1, 4)]
    [0.1967, 0.1331]
    """
    bags, single = as_bags(eta)
    bound: Array = np.minimum(bags, 1 - bags) * -math.expm1(-check_epsilon(epsilon) / 2)
    return np.asarray(bound[0] if single else bound)

"""Renyi privacy of Gaussian noisy max (GNMax), the PATE mechanism for non-private teachers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array, check_counts, check_orders, check_positive, real
from darrm.accounting.gaussian import gdp_holds
from darrm.accounting.renyi import epsilon_of_orders
from darrm.numerics.arrays import Array
from darrm.numerics.bisection import edge


def _check_delta(delta: object) -> float:
    return real("delta", delta, 0, 1, "()", hint="Pass for instance 1e-5.")


def gnmax_sigma(epsilon: float, delta: float) -> float:
    """The least standard deviation with which GNMax is (epsilon, delta)-DP by the Renyi bound of the papers.

        sigma^2 = min over orders lambda of  lambda / (epsilon - ln(1 / delta) / (lambda - 1))

    Parameters
    ----------
    epsilon : float > 0, nats
    delta : float in (0, 1)

    Returns
    -------
    float
        The minimum in closed form: with c = ln(1/delta), lambda = 1 + (c + sqrt(c^2 + c epsilon)) / epsilon.

    Notes
    -----
    GNMax is (lambda, lambda / sigma^2)-RDP for one changed vote (Papernot et al., ICLR 2018, Section 4.1). The
    conversion is their Theorem 5, which needs more noise than necessary: `rdp_epsilon` is tighter. Appendix D.2.1 of
    Jiang, Zhang, Joshi (TMLR 2024), Table 4, which searches on a grid. It is for any number of votes and classes.

    Examples
    --------
    >>> import darrm
    >>> round(darrm.accounting.gnmax_sigma(epsilon=1.0, delta=1e-5), 3)
    6.93
    """
    epsilon = check_positive("epsilon", epsilon)
    delta = _check_delta(delta)
    c = -math.log(delta)
    order = 1 + (c + math.sqrt(c * c + c * epsilon)) / epsilon
    return math.sqrt(order / (epsilon - c / (order - 1))) * (1 + 1e-12)  # rounded up


def gnmax_sigma_analytic(epsilon: float, delta: float) -> float:
    """The least standard deviation with which all noisy counts of GNMax are (epsilon, delta)-DP.

        delta = Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu),     mu = sqrt(2) / sigma

    Parameters
    ----------
    epsilon : float > 0, nats
    delta : float in (0, 1)

    Returns
    -------
    float
        Rounded up. Below `gnmax_sigma`, whose conversion is not tight.

    Notes
    -----
    Balle and Wang (ICML 2018): one changed vote moves two counts by 1, a shift of length sqrt(2). The label is a
    function of the noisy counts, so this is enough for `darrm.mechanisms.GaussianNoisyMax`.

    Examples
    --------
    Less noise than the Renyi bound needs:

    >>> import darrm
    >>> sigma = darrm.accounting.gnmax_sigma_analytic(epsilon=1.0, delta=1e-5)
    >>> round(sigma, 3), round(darrm.accounting.gnmax_sigma(1.0, 1e-5), 3)
    (5.276, 6.93)
    """
    epsilon = check_positive("epsilon", epsilon)
    delta = _check_delta(delta)
    low, high = 0.0, 1.0
    while gdp_holds(epsilon, delta, high):
        low, high = high, 2 * high
    low, _ = edge(lambda mu: gdp_holds(epsilon, delta, mu), low, high, 1e-12)
    return math.sqrt(2) / low * (1 + 1e-15) if low else math.inf


def rdp_epsilon(orders: ArrayLike, rdp: ArrayLike, delta: float) -> float:
    """The epsilon of Renyi bounds at a delta, by the best conversion of each order; nats.

        min over orders a of   rdp + ln(1 - 1/a) - ln(a delta) / (a - 1),      or less

    Parameters
    ----------
    orders : array_like of float > 1, shape (n,)
    rdp : array_like of float >= 0, shape (n,)
        The Renyi divergence of all labels together, for each order: the sum of those of the labels.
    delta : float in (0, 1)

    Notes
    -----
    The formula is Proposition 12 of Canonne, Kamath, Steinke (NeurIPS 2020). The optimal conversion of a single order
    can be smaller (Asoodeh, Liao, Calmon, Kosut, Sankar, ISIT 2020): docs/composition.md, Proposition 4. Theorem 5 of
    Papernot et al. (ICLR 2018), rdp + ln(1 / delta) / (a - 1), is never below either. It holds for any number of votes
    and classes if ``rdp`` does. If ``rdp`` was computed from votes (`gnmax_rdp`), the result depends on private data.

    Examples
    --------
    A hundred labels of Gaussian noisy max, sigma 40:

    >>> import darrm
    >>> import numpy as np
    >>> orders = np.arange(2.0, 200.0)
    >>> one = darrm.mechanisms.GaussianNoisyMax(40.0).rdp(orders)
    >>> round(darrm.accounting.rdp_epsilon(orders, 100 * one, delta=1e-5), 3)
    1.478
    """
    at = array("orders", orders, ("n",), 1, math.inf, "(]")
    cost = array("rdp", rdp, (at.size,), 0, math.inf, "[]")
    delta = _check_delta(delta)
    return float(epsilon_of_orders(at, cost, delta).min())


def gnmax_rdp(counts: ArrayLike, sigma: float, orders: ArrayLike) -> Array:
    """Bound on the Renyi divergence of a label of GNMax from these votes to a neighbour's; at most orders / sigma^2.

    It covers this direction only, as in the papers, so it is not a guarantee. ``rdp(orders)`` of `GaussianNoisyMax` is
    one.

        q = Pr[label differs from the majority] <= 1/2 sum over i of erfc((n_max - n_i) / (2 sigma)),
        mu_2 = sigma sqrt(ln 1/q),  mu_1 = mu_2 + 1,  eps_k = mu_k / sigma^2,
        1 / (lambda - 1) ln((1 - q) A^(lambda - 1) + q B^(lambda - 1)),
        A = (1 - q) / (1 - (q e^eps_2)^((mu_2 - 1) / mu_2)),   B = e^eps_1 / q^(1 / (mu_1 - 1))

    Parameters
    ----------
    counts : array_like of integers, shape (classes,)
    sigma : float > 0
    orders : array_like of float > 1

    Returns
    -------
    ndarray, the shape of ``orders``; nats
        It depends on the votes, so it must be kept secret: no ledger accepts it.

    Raises
    ------
    InputError

    Notes
    -----
    Theorem 6 and Propositions 7, 10 of Papernot et al. (ICLR 2018), where its conditions hold: q < 1, mu_2 > 1,
    mu_1 >= lambda and q <= e^((mu_2 - 1) eps_2) / (mu_1/(mu_1 - 1) * mu_2/(mu_2 - 1))^mu_2. Algorithm 6 of Jiang,
    Zhang, Joshi (TMLR 2024) prints it without the logarithm.

    Examples
    --------
    Almost 0 if 95 of a hundred voters agree; 4 / 10^2, the data-independent value, if they do not:

    >>> import darrm
    >>> agreed = darrm.accounting.gnmax_rdp([95, 5], sigma=10.0, orders=[4.0])
    >>> bool(agreed[0] < 1e-9)
    True
    >>> darrm.accounting.gnmax_rdp([51, 49], sigma=10.0, orders=[4.0]).tolist()
    [0.04]

    The bounds of labels add up. Three rows, beside what three labels of any votes cost:

    >>> import numpy as np
    >>> orders, rows = np.arange(2.0, 60.0), [[95, 5], [80, 20], [51, 49]]
    >>> total = sum(darrm.accounting.gnmax_rdp(row, 10.0, orders) for row in rows)
    >>> plain = 3 * darrm.mechanisms.GaussianNoisyMax(10.0).rdp(orders)
    >>> [round(darrm.accounting.rdp_epsilon(orders, each, delta=1e-5), 2) for each in (total, plain)]
    [0.68, 0.99]
    """
    votes = check_counts(counts)
    sigma = check_positive("sigma", sigma)
    wanted = check_orders(orders)
    plain = wanted / sigma**2
    from scipy.special import erfc

    at = int(np.argmax(votes))
    q = float(erfc((votes[at] - np.delete(votes, at)) / (2 * sigma)).sum()) / 2
    if q >= 1:
        return np.asarray(plain)
    if q == 0:  # below the range of float64
        q = 1e-300
    mu = sigma * math.sqrt(-math.log(q))
    if mu <= 1:
        return np.asarray(plain)
    epsilon_1, epsilon_2 = (mu + 1) / sigma**2, mu / sigma**2
    ceiling = (mu - 1) * epsilon_2 - mu * (math.log((mu + 1) / mu) + math.log(mu / (mu - 1)))
    if math.log(q) > ceiling or math.log(q) + epsilon_2 >= 0:
        return np.asarray(plain)
    log_A = math.log1p(-q) - math.log1p(-math.exp((math.log(q) + epsilon_2) * (mu - 1) / mu))
    log_B = epsilon_1 - math.log(q) / mu
    bound = np.logaddexp(math.log1p(-q) + (wanted - 1) * log_A, math.log(q) + (wanted - 1) * log_B) / (wanted - 1)
    return np.where(mu + 1 >= wanted, np.minimum(bound, plain), plain)

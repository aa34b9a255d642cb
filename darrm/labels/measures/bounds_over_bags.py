"""Upper bounds on the advantage of label proportions where the other labels of the bag are random.

Records are drawn independently: eta_1, ..., eta_k have one distribution with p = E[eta], v = E[eta (1 - eta)], and an
advantage is the mean over the bag (`darrm.labels.individual_advantage_over_bags`). Proof: Propositions 1 and 2 of
docs/label_privacy.md. All constants are explicit, and none of these bounds asks for large bags.
"""

from __future__ import annotations

import math

from darrm._validation import real, whole
from darrm.labels.measures.spread import bernstein_width, check_spread
from darrm.mechanisms.random_bags import check_epsilon

# min over s of c / sqrt(1 - s) + 1 / sqrt(8 e h(s)), rounded up: Proposition 1 of docs/label_privacy.md
_PROPOSITION = 1.18482


def proportions_individual(eta_i: float, spread: float, k: int) -> float:
    """Bound on the individual advantage of exact label proportions over random bags.

        min(eta_i, 1 - eta_i) min(1, 1.18482 / sqrt((k - 1) v))

    Parameters
    ----------
    eta_i : float in [0, 1]
    spread : float in [0, 1/4]
        v = E[eta (1 - eta)] of the other records.
    k : int >= 1
        Size of the bag.

    Returns
    -------
    float in [0, 1/2]

    Raises
    ------
    InputError

    Notes
    -----
    Proposition 1 of docs/label_privacy.md; for others drawn without replacement too, with v the mean over their
    population. O(1).

    Examples
    --------
    >>> from darrm.labels import bounds_over_bags
    >>> round(bounds_over_bags.proportions_individual(0.2, 0.165, 64), 5)
    0.0735
    """
    eta_i, k = real("eta_i", eta_i, 0, 1), whole("k", k)
    return min(eta_i, 1 - eta_i) * _share(real("spread", spread, 0, 0.25), k)


def proportions_individual_by_mean(eta_i: float, p: float, spread: float, k: int) -> float:
    """Bound on the individual advantage of exact label proportions over random bags, by the mean of eta too.

        eta_i (1 - eta_i) (1 / n + sqrt(2 t + 2) sqrt(2 e^-x (I_0(x) - I_1(x)))),     n = k - 1,  x = 2 n v,
        t = L / 3 + sqrt(L^2 / 9 + 2 n p (1 - p) L),  L = log(4 n);     at most min(eta_i, 1 - eta_i)

    Parameters
    ----------
    eta_i : float in [0, 1]
    p : float in [0, 1]
        E[eta] of the other records.
    spread : float in [0, p (1 - p)]
        v = E[eta (1 - eta)] of the other records.
    k : int >= 2
        Size of the bag.

    Returns
    -------
    float in [0, 1/2]

    Raises
    ------
    InputError

    Notes
    -----
    An explicit form of Theorem 3.4 of Busa-Fekete et al. (NeurIPS 2024), which hides constants and logarithms. Its
    printed formula is not legible in the available text, and its proof was not available. Proposition 2 of
    docs/label_privacy.md. Neither this nor `proportions_individual` is always the smaller. O(1).

    Examples
    --------
    >>> from darrm.labels import bounds_over_bags
    >>> round(bounds_over_bags.proportions_individual_by_mean(0.5, 0.5, 0.25, 1000), 5)
    0.01771
    """
    from scipy.special import ive

    eta_i, p, k = real("eta_i", eta_i, 0, 1), real("p", p, 0, 1), whole("k", k, 2)
    spread = check_spread(spread, p)
    n = k - 1
    t = bernstein_width(n, p)
    squares = 2 * float(ive(0, 2 * n * spread) - ive(1, 2 * n * spread))
    bound = eta_i * (1 - eta_i) * (1 / n + math.sqrt((2 * t + 2) * squares))
    return min(bound, eta_i, 1 - eta_i)


def proportions(p: float, spread: float, k: int) -> float:
    """Bound on the expected additive advantage of exact label proportions over random bags.

        min(2 v, p, 1 - p) min(1, 1.18482 / sqrt((k - 1) v))   <=   2.37 sqrt(v / (k - 1))

    Parameters
    ----------
    p : float in [0, 1]
        E[eta].
    spread : float in [0, p (1 - p)]
        v = E[eta (1 - eta)].
    k : int >= 1
        Size of the bag.

    Returns
    -------
    float in [0, 1/2]

    Raises
    ------
    InputError

    Notes
    -----
    Proposition 1 of docs/label_privacy.md. It implies Theorem 3.5 of Busa-Fekete et al. (2023), which is Theorem 3.3
    of 2024, without the logarithm and without the second term. Never above
    `darrm.labels.measures.bounds.proportions`. O(1).

    Examples
    --------
    >>> from darrm.labels import bounds, bounds_over_bags
    >>> round(bounds_over_bags.proportions(0.5, 0.25, 128), 4), round(bounds.proportions(0.5, 0.25, 128), 4)
    (0.1051, 0.1867)
    """
    before, share = _parts(p, spread, k)
    return before * share


def noisy_proportions(epsilon: float, p: float, spread: float, k: int) -> float:
    """Bound on the expected additive advantage of any epsilon-label-DP release of a bag's number of ones.

        min(2 v, p, 1 - p) min(tanh(epsilon / 2), 1.18482 / sqrt((k - 1) v))

    Parameters
    ----------
    epsilon : float in [1e-9, 1e6]
        Nats; of `GeometricLabelProportions`, for instance.
    p, spread, k
        As for `proportions`.

    Returns
    -------
    float in [0, 1/2]

    Raises
    ------
    InputError

    Notes
    -----
    The first part is what randomized response allows (`bounds.label_dp_individual`): (u - 1 / (1 + e^epsilon))_+ is at
    most u tanh(epsilon / 2) for u in [0, 1/2], where both are equal at the ends and the left side is convex. The second
    is that of exact proportions, as noise does not help. O(1).

    Examples
    --------
    >>> from darrm.labels import bounds_over_bags
    >>> round(bounds_over_bags.noisy_proportions(0.25, 0.5, 0.25, 16), 4)
    0.0622
    """
    before, share = _parts(p, spread, k)
    return before * min(math.tanh(check_epsilon(epsilon) / 2), share)


def laplace_proportions(epsilon: float, p: float, spread: float, k: int) -> float:
    """Bound on the expected additive advantage of Laplace label proportions over random bags.

        min(2 v, p, 1 - p) min(1 - e^(-epsilon / 2), 1.18482 / sqrt((k - 1) v))

    Parameters
    ----------
    epsilon : float in [1e-9, 1e6]
        Nats.
    p, spread, k
        As for `proportions`.

    Returns
    -------
    float in [0, 1/2]

    Raises
    ------
    InputError

    Notes
    -----
    Both parts of Theorem 6.4 of Busa-Fekete et al. (2023) in one. Its first is 2 (1 - e^-epsilon) v, which is at least
    as large: `bounds.laplace_proportions_individual` has the reason. Its second is that of exact proportions. O(1).

    Examples
    --------
    >>> from darrm.labels import bounds, bounds_over_bags
    >>> round(bounds_over_bags.laplace_proportions(1, 0.5, 0.25, 8), 4), round(bounds.laplace_proportions(1, 0.25), 4)
    (0.1967, 0.3161)
    """
    before, share = _parts(p, spread, k)
    return before * min(-math.expm1(-check_epsilon(epsilon) / 2), share)


def _parts(p: object, spread: object, k: object) -> tuple[float, float]:
    """A bound on E[min(eta, 1 - eta)], and the share of it that a bag of k leaves."""
    p = real("p", p, 0, 1)
    spread = check_spread(spread, p)
    return min(2 * spread, p, 1 - p), _share(spread, whole("k", k))


def _share(spread: float, k: int) -> float:
    """What is left of min(eta, 1 - eta) in a bag of k: min(1, 1.18482 / sqrt((k - 1) v))."""
    mass = (k - 1) * spread
    return 1.0 if mass <= _PROPOSITION**2 else _PROPOSITION / math.sqrt(mass)

"""Entrywise information leakage of noisy max: what one label tells about one voter, if all other votes are known.

Maximal leakage of the last vote to the released label, given the votes of all others (nats):

    log sum over classes j of  max over j' of Pr[label = j | counts + e_j']
        =  log sum over j of Pr[label = j | counts + e_j]

Equation (12) of Saeidian, Cervia, Oechtering, Skoglund, "Quantifying membership privacy via information leakage"
(IEEE TIFS 2021). The second form holds because a vote for j raises the probability of label j the most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm.design.smoothing import acceptance, noise_function
from darrm.errors import InputError
from darrm.mechanisms.noisy_max import MAX_CLASSES, check_counts, check_positive

Array = NDArray[np.float64]
_NODES, _WIDTH = 16, 0.25  # Gauss-Legendre nodes on each smooth piece, and its width in scales of the noise
_REACH = 40  # scales of the noise


def noisy_max_probabilities(counts: ArrayLike, *, gamma: float | None = None, sigma: float | None = None) -> Array:
    """Probability of each class to be the largest of counts + independent noise.

        Pr[j] = integral of g(t - n_j) prod over i != j of G(t - n_i) dt

    Parameters
    ----------
    counts : array_like of whole numbers, shape (classes,)
    gamma : float > 0
        Laplace noise of scale 1 / gamma. Either this or
    sigma : float > 0
        Gaussian noise of that standard deviation.

    Returns
    -------
    ndarray, shape (classes,)
        Two classes: closed forms, to a few units in the last place. More: each within 1e-12.

    Raises
    ------
    InputError

    Notes
    -----
    Two classes, d votes apart: Phi(d / (sigma sqrt 2)); 1 - (2 + gamma d) e^(-gamma d) / 4 for the class ahead.

    More: Gauss-Legendre quadrature with 16 nodes on pieces that are at most 1/4 scale wide and have no count inside
    (Laplace noise is analytic there). With the ellipse rho = 9 its error is at most (64/15) M 9^-32 a piece, M the
    largest modulus of the integrand on the ellipse: at most 2 for Laplace noise and, as abs(Phi(x + i y)) is at most
    Phi(x) + phi(x) y e^(y^2 / 2) with y < .56, below 1e8 for up to 1000 classes: some 1e-20 in all. What is cut off is
    below 1000 e^-40 < 1e-14. Rounding is most of the bound. O(classes^2 * pieces).
    """
    votes = check_counts(counts)
    if (gamma is None) == (sigma is None):
        raise InputError("Noisy max needs either gamma (Laplace noise of scale 1/gamma) or sigma (Gaussian noise).")
    from scipy.special import log_ndtr, ndtr

    if votes.size == 2:
        apart = float(abs(votes[0] - votes[1]))
        if gamma is not None:
            x = check_positive("gamma", gamma) * apart
            behind = (2 + x) * math.exp(-x) / 4
        else:
            behind = float(ndtr(-apart / (check_positive("sigma", sigma) * math.sqrt(2))))
        return np.array([1 - behind, behind] if votes[0] >= votes[1] else [behind, 1 - behind])
    g: Callable[[Array], Array]
    log_G: Callable[[Array], Array]
    if gamma is not None:
        rate = check_positive("gamma", gamma)
        scale = 1 / rate

        def g(t: Array) -> Array:
            return np.asarray(rate / 2 * np.exp(-rate * np.abs(t)))

        def log_G(t: Array) -> Array:
            far = -rate * np.abs(t)
            return np.where(t < 0, far - math.log(2), np.log1p(-np.exp(far) / 2))

    else:
        scale = check_positive("sigma", sigma)

        def g(t: Array) -> Array:
            return np.asarray(np.exp(-((t / scale) ** 2) / 2) / (scale * math.sqrt(2 * math.pi)))

        def log_G(t: Array) -> Array:
            return np.asarray(log_ndtr(t / scale))

    values, which, times = np.unique(votes - votes.max(), return_inverse=True, return_counts=True)
    # Classes this far behind win with a probability below e^-40, and so does noise beyond _REACH scales.
    kinks = values[values >= -2 * _REACH * scale]
    edges = np.concatenate([[kinks[0] - _REACH * scale], kinks, [kinks[-1] + _REACH * scale]])
    parts = [np.linspace(a, b, max(2, math.ceil((b - a) / (_WIDTH * scale)) + 1)) for a, b in pairwise(edges)]
    ends = np.unique(np.concatenate(parts))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    middle, half = (ends[1:] + ends[:-1]) / 2, (ends[1:] - ends[:-1]) / 2
    t = (middle[:, None] + half[:, None] * nodes).ravel()
    w = (half[:, None] * weights).ravel()
    # Classes with the same count have the same probability.
    logs = np.array([log_G(t - value) for value in values])
    total = times @ logs
    each = [float(w @ (g(t - value) * np.exp(total - logs[i]))) for i, value in enumerate(values)]
    return np.asarray(each)[which]


def entrywise_leakage(known_votes: ArrayLike, gamma: float) -> float:
    """Leakage of one label of Laplace noisy max about the one vote that is not known, nats.

    Parameters
    ----------
    known_votes : array_like of whole numbers, shape (classes,)
        How many of all other voters chose each class.
    gamma : float > 0
        The noise has scale 1 / gamma.

    Returns
    -------
    float
        Between 0 and gamma. By quadrature, right to about 1e-12. It depends on the votes, so it is private itself.

    Raises
    ------
    InputError

    Notes
    -----
    Equation (12) of Saeidian et al. (2021); Schur-concave in the votes (their Theorem 10): consensus leaks less.
    """
    votes = check_counts(known_votes, "known_votes")
    total = 0.0
    for value in np.unique(votes):
        j = int(np.argmax(votes == value))
        one_more = votes.copy()
        one_more[j] += 1
        total += float((votes == value).sum()) * float(noisy_max_probabilities(one_more, gamma=gamma)[j])
    return max(0.0, math.log(total))


def majority_leakage(gamma: ArrayLike) -> Array:
    """Leakage of one released majority about the one vote that is not known, nats: of DaRRM or any baseline.

        log(1 + |X(l + 1) - X(l)|),    X(l) = Pr[release 1 | l ones],    l ones among the K - 1 known votes

    Parameters
    ----------
    gamma : array_like, shape (K + 1,), float in [0, 1], symmetric
        Any noise function: of a design, of subsampling, or a constant (randomized response on the majority).

    Returns
    -------
    ndarray, shape (K,)
        For l = 0, ..., K - 1. Its largest entry bounds the leakage for any votes; at most log 2.

    Raises
    ------
    InputError

    Notes
    -----
    Equation (12) of Saeidian et al. (2021) for two outputs: log sum over outputs of max over the unknown vote. It is
    about a vote, not about the record behind it, which the voter's own privacy protects too (`processed_leakage`).
    """
    size = np.size(gamma)
    X = acceptance(noise_function(gamma, max(1, size - 1)))
    return np.asarray(np.log1p(np.abs(np.diff(X))))


def composed_leakage(leakages: ArrayLike) -> float:
    """An upper bound on the leakage of several outputs together: the sum, nats.

    For outputs that are independent given what leaks, as labels with fresh noise are. For n labels of Laplace noisy max
    that is at most n times `laplace_leakage_bound`, which is at most n gamma.

    Notes
    -----
    Lemma 5 and Corollary 15 of Saeidian et al. (2021).
    """
    return float(_nats(leakages).sum()) * (1 + 1e-15)


def processed_leakage(leakages: ArrayLike) -> float:
    """An upper bound on the leakage through stages that only see what the one before gave: the least of theirs, nats.

    A mechanism that is epsilon-DP for the record leaks at most epsilon of it, so one label leaks the lesser of epsilon
    and `majority_leakage` of a record that reaches one vote.

    Notes
    -----
    Lemma 6 of Saeidian et al. (2021); maximal leakage is at most epsilon: Issa, Wagner, Kamath (2020).
    """
    return float(_nats(leakages).min())


def _nats(leakages: ArrayLike) -> Array:
    try:
        found = np.asarray(leakages, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"leakages must be numbers. Got {leakages!r}.") from None
    if found.ndim != 1 or not found.size or not np.all(found >= 0):
        raise InputError(f"leakages must be a list of at least one number, none below 0. Got {leakages!r}.")
    return found


def laplace_leakage_bound(n_classes: int, gamma: float) -> float:
    """log B1: the largest leakage of Laplace noisy max over all votes, nats; attained where all classes have as many.

        B1 = (1 - m) 2^-m e^-g + e^g (1 - c^m) + m/2 c^(m-1) - m (m - 1)/4 e^-g H(m - 2),     c = 1 - e^-g / 2
        H(n) = g + sum over k = 1..n of (2^-k - c^k) / k

    Parameters
    ----------
    n_classes : int in [2, 1000]
    gamma : float > 0

    Returns
    -------
    float
        At most gamma.

    Notes
    -----
    Proposition 12 of Saeidian et al. (2021). Evaluated as the leakage at equal counts, where it is attained: the closed
    form cancels for many classes.
    """
    if isinstance(n_classes, bool) or not isinstance(n_classes, int | np.integer) or not 2 <= n_classes <= MAX_CLASSES:
        raise InputError(f"n_classes must be a whole number in [2, {MAX_CLASSES}]. Got {n_classes!r}.")
    return min(entrywise_leakage(np.zeros(int(n_classes)), gamma), float(gamma))


def laplace_leakage_data_bound(known_votes: ArrayLike, gamma: float) -> float:
    """log B2: a bound on the leakage of Laplace noisy max for the votes at hand, nats.

        B2 = r (1 - (2 + a) / (4 e^a)) + sum over j > r of (2 + b_j) / (4 e^(b_j)),
        a = gamma (v_1 + 1 - v_2),   b_j = gamma (v_1 - 1 - v_j),   v_1 = ... = v_r > v_(r+1) >= ...

    Parameters
    ----------
    known_votes : array_like of whole numbers, shape (classes,)
    gamma : float > 0

    Returns
    -------
    float
        At least 0. It depends on the votes, so it is private itself: never charge it to a budget.

    Notes
    -----
    Proposition 16 of Saeidian et al. (2021). Worth something where the voters agree; take the least of this and
    `laplace_leakage_bound`.
    """
    votes = np.sort(check_counts(known_votes, "known_votes"))[::-1]
    rate = check_positive("gamma", gamma)
    first = int((votes == votes[0]).sum())
    a = rate * (votes[0] + 1 - votes[1])
    b = rate * (votes[0] - 1 - votes[first:])
    total = first * (1 - (2 + a) / 4 * math.exp(-a)) + float(((2 + b) / 4 * np.exp(-b)).sum())
    return max(0.0, math.log(total))

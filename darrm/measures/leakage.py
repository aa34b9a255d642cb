"""Entrywise information leakage of noisy max: what one label tells about one voter, if all other votes are known.

Maximal leakage of the last vote to the released label, given the votes of all others (nats):

    log sum over classes j of  max over j' of Pr[label = j | counts + e_j']
        =  log sum over j of Pr[label = j | counts + e_j]

Equation (12) of Saeidian, Cervia, Oechtering, Skoglund, "Quantifying membership privacy via information leakage"
(IEEE TIFS 2021). The second form holds because a vote for j raises the probability of label j the most.

Two kinds of noise. `darrm.mechanisms.LaplaceNoisyMax` draws discrete Laplace noise; the two bounds
`laplace_leakage_bound` and `laplace_leakage_data_bound` are for discrete noise unless told otherwise. The paper has
continuous noise, and so do `noisy_max_probabilities` and `entrywise_leakage`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import MAX_CLASSES, array, check_counts, check_positive, choice, whole
from darrm.mechanisms.noisy_max import noisy_max_probabilities
from darrm.numerics.arrays import Array
from darrm.problem.noise_function import acceptance, noise_function


def entrywise_leakage(known_votes: ArrayLike, gamma: float) -> float:
    """Leakage of one label of noisy max with continuous Laplace noise about the one vote that is not known, nats.

    `darrm.mechanisms.LaplaceNoisyMax` draws discrete noise, and its labels can leak more: at known votes (5, 5) and
    gamma 2 they leak .5662, and this function says .5477. At (0, 0, 0, 2) and gamma 2.5 they leak .037 less than this
    function says. For a number that holds for the mechanism use `laplace_leakage_bound`.

    Parameters
    ----------
    known_votes : array_like of whole numbers, shape (classes,)
        How many of all other voters chose each class.
    gamma : float > 0
        The noise has scale 1 / gamma.

    Returns
    -------
    float
        Between 0 and gamma. By quadrature, right to 1e-12 times the number of classes. It is computed from the votes
        without noise, so it must stay as secret as the votes.

    Raises
    ------
    InputError

    Notes
    -----
    Equation (12) of Saeidian et al. (2021). The leakage is largest where all classes have as many votes (docs/theory,
    "The largest leakage of noisy max"). Theorem 10 of that paper also says that it is Schur-concave, so that more
    consensus always leaks less. That is false for three classes: (5, 5, 0) majorises (5, 4, 1) and leaks .37416 against
    .32780 at gamma = 1.
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
    X = acceptance(noise_function(gamma))
    return np.asarray(np.log1p(np.abs(np.diff(X))))


def composed_leakage(leakages: ArrayLike) -> float:
    """An upper bound on the leakage of several outputs together: the sum, nats.

    For outputs that are independent given what leaks, as labels with fresh noise are. n labels of
    `darrm.mechanisms.LaplaceNoisyMax` leak at most n times `laplace_leakage_bound`, which is at most n gamma.

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
    return array("leakages", leakages, ("n",), 0, math.inf, "[]")


def _is_discrete(noise: str) -> bool:
    hint = "LaplaceNoisyMax draws discrete noise; the paper has continuous noise."
    return choice("noise", noise, ("discrete", "continuous"), hint) == "discrete"


def _log_one_minus_exp(y: float) -> float:
    """log(1 - e^y) for y < 0, without cancellation near either end."""
    return math.log1p(-math.exp(y)) if y < -math.log(2) else math.log(-math.expm1(y))


def laplace_leakage_bound(n_classes: int, gamma: float, *, noise: str = "discrete") -> float:
    """The largest leakage of Laplace noisy max over all known votes, nats; attained where all classes have as many.

        discrete     gamma + log(1 - (1 - q) / (1 + q)^(m - 1)),     q = e^-gamma;     m = 2: log(1 + tanh(gamma / 2))
        continuous   log B1,
            B1 = (1 - m) 2^-m q + (1 - c^m) / q + m/2 c^(m-1) - m (m - 1)/4 q H(m - 2),     c = 1 - q / 2,
            H(n) = gamma + sum over k = 1..n of (2^-k - c^k) / k

    Parameters
    ----------
    n_classes : int in [2, 1000]
        m above.
    gamma : float > 0
    noise : {"discrete", "continuous"}
        "discrete" is what `darrm.mechanisms.LaplaceNoisyMax` draws. "continuous" is the mechanism of the paper, and
        the shipped one breaks that bound: at known votes (5, 5) and gamma 2 it leaks .5662, and log B1 is .5477.

    Returns
    -------
    float
        An upper bound, rounded up; at most gamma.

    Raises
    ------
    InputError

    Notes
    -----
    Proof, for both kinds of noise: docs/theory, "The largest leakage of noisy max". It holds for any order that decides
    ties, if that order does not depend on the votes. B1 is Proposition 12 of Saeidian et al. (2021), which rests on
    their Theorem 10. That theorem is false (`entrywise_leakage`); that equal counts leak most is true. B1 is evaluated
    as the leakage at equal counts: the closed form cancels for many classes.
    """
    rate, m = check_positive("gamma", gamma), whole("n_classes", n_classes, 2, MAX_CLASSES)
    if not _is_discrete(noise):
        # The sum of m probabilities, each right to 1e-12, is at least 1: its logarithm is right to m 1e-12.
        return min(entrywise_leakage(np.zeros(m), rate) + m * 1e-12, rate)
    if rate >= 50:
        largest = math.log(m)  # above the maximum by less than m e^-50
    else:
        log_x = _log_one_minus_exp(-rate) - (m - 1) * math.log1p(math.exp(-rate))
        largest = rate + _log_one_minus_exp(log_x)
    # Roundings are below 5e-13 of the maximum. Below gamma = 1 both terms are at most gamma, the maximum at least
    # gamma / 3, and x is right to 1 + 4 units of |log_x| < 1500; above, terms are below 51 and the maximum above .37.
    # 1e-300 is for gammas near underflow.
    return min(largest * (1 + 1e-12) + 1e-300, rate)


def laplace_leakage_data_bound(known_votes: ArrayLike, gamma: float, *, noise: str = "discrete") -> float:
    """log B2: a bound on the leakage of Laplace noisy max for the votes at hand, nats.

        B2 = r (1 - L(v_1 + 1 - v_2)) + sum over j > r of L(v_1 - 1 - v_j),     v_1 = ... = v_r > v_(r+1) >= ...,
        L(d) = Pr[of two classes, the one that is d >= 0 votes behind wins] = e^(-gamma d) (1 + d s) / 2,
        s = tanh(gamma / 2) for discrete noise, gamma / 2 for continuous noise

    Parameters
    ----------
    known_votes : array_like of whole numbers, shape (classes,)
    gamma : float > 0
    noise : {"discrete", "continuous"}
        "discrete" is what `darrm.mechanisms.LaplaceNoisyMax` draws, "continuous" the mechanism of the paper.

    Returns
    -------
    float
        An upper bound, rounded up; above 0. It is computed from the votes without noise, so it must stay as secret as
        the votes: never charge it to a budget.

    Raises
    ------
    InputError

    Notes
    -----
    A class wins with at most the probability that it beats one other class: class 1, or for class 1 itself class 2.
    So B2 is the leakage itself for two classes. Proposition 16 of Saeidian et al. (2021) for continuous noise;
    docs/theory, "The largest leakage of noisy max". The bound is small where the voters agree. Where they do not, it
    can be above gamma: take the least of this and `laplace_leakage_bound`.
    """
    votes = np.sort(check_counts(known_votes, "known_votes"))[::-1]
    rate = check_positive("gamma", gamma)
    slope = math.tanh(rate / 2) / rate if _is_discrete(noise) else 0.5

    def behind(d: Array) -> Array:
        x = rate * np.minimum(d, 745 / rate)  # from there on e^-x is below the range of float64
        return np.asarray(np.exp(-x) * (1 + slope * x) / 2)

    r = int((votes == votes[0]).sum())
    lost = r * float(behind(votes[:1] - votes[1] + 1).sum())
    others = float(behind(votes[0] - votes[r:] - 1).sum())
    # B2 - 1, raised by more than the rounding of every term, of which that of e^-x is the largest: 745 units.
    return math.log1p((r - 1 - lost + others) + 1e-12 * (r - 1 + lost + others) + 1e-300) * (1 + 1e-15)

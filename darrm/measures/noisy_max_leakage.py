"""Entrywise information leakage of noisy max: what one label tells about one voter, if all other votes are known.

Maximal leakage of the last vote to the released label, given the votes of all others (nats):

    log sum over classes j of  max over j' of Pr[label = j | counts + e_j']
        =  log sum over j of Pr[label = j | counts + e_j]

Equation (12) of Saeidian, Cervia, Oechtering, Skoglund, "Quantifying membership privacy via information leakage"
(IEEE TIFS 2021). The second form holds because a vote for j raises the probability of label j the most.

Everything here takes ``gamma`` (Laplace noise) or ``sigma`` (Gaussian noise), and ``noise="discrete"``, which is what
`darrm.mechanisms.LaplaceNoisyMax` and `GaussianNoisyMax` draw, or ``noise="continuous"``, which the paper has.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import MAX_CLASSES, check_counts, check_positive, whole
from darrm.mechanisms.integer_noise import GaussianLaw, integer_noise, winning
from darrm.mechanisms.noisy_max_chances import check_noise, noisy_max_probabilities
from darrm.numerics.arrays import Array


def entrywise_leakage(
    known_votes: ArrayLike, gamma: float | None = None, *, sigma: float | None = None, noise: str = "discrete"
) -> float:
    """Leakage of one label of noisy max about the one vote that is not known, nats.

        log sum over j of Pr[label = j | known_votes + e_j]

    Parameters
    ----------
    known_votes : array_like of whole numbers, shape (classes,)
        How many of all other voters chose each class.
    gamma : float > 0
        Laplace noise of scale 1 / gamma. Either this or
    sigma : float > 0
        Gaussian noise of that standard deviation.
    noise : {"discrete", "continuous"}
        "discrete" is what `darrm.mechanisms.LaplaceNoisyMax` and `GaussianNoisyMax` draw; "continuous" is the mechanism
        of the paper. They differ: .5662 and .5477 at known votes (5, 5) and gamma 2. Wide discrete noise is refused, as
        in `darrm.measures.noisy_max_probabilities`.

    Returns
    -------
    float
        At least 0; with gamma at most gamma. Right to 1e-12 times the number of classes, and no bound: for that see
        `leakage_bound`. It is computed from the votes without noise, so it must stay as secret as the votes.

    Raises
    ------
    InputError

    Notes
    -----
    Equation (12) of Saeidian et al. (2021): `darrm.measures.maximal_leakage` of the channel whose rows are
    `darrm.measures.noisy_max_probabilities` of known_votes + e_j. The cost is that of these. The leakage is largest
    where all classes have as many votes (Lemma 16 of docs/theory), and with continuous noise least where all voters
    agree (Lemma 19). Theorem 10 of that paper also says that it is Schur-concave, so that more consensus always leaks
    less. That is false for three classes: (5, 5, 0) majorises (5, 4, 1) and leaks .38354 against .33072 at gamma = 1
    (.37416 against .32780 with continuous noise).

    Examples
    --------
    >>> from darrm.measures import entrywise_leakage
    >>> round(entrywise_leakage([5, 5], gamma=2.0), 4), round(entrywise_leakage([5, 5], sigma=2.0), 4)
    (0.5662, 0.2418)
    """
    votes = check_counts(known_votes, "known_votes")
    if check_noise(gamma, sigma, noise) and votes.size > 2:
        return max(0.0, math.log(winning(integer_noise(gamma, sigma), votes, more=1).sum()))
    # Only differences matter. Above 2^53 one more vote would be lost. Classes that are moved up have no chance, or the
    # noise is so wide that no vote matters.
    votes = np.maximum(votes - votes.max() + 2.0**52, 0)
    total = 0.0
    for value in np.unique(votes):
        j = int(np.argmax(votes == value))
        one_more = votes.copy()
        one_more[j] += 1
        chance = noisy_max_probabilities(one_more, gamma=gamma, sigma=sigma, noise=noise)[j]
        total += float((votes == value).sum()) * float(chance)
    return max(0.0, math.log(total))


def leakage_bound(
    n_classes: int, gamma: float | None = None, *, sigma: float | None = None, noise: str = "discrete"
) -> float:
    """The largest leakage of one label about one vote, over all known votes, nats; attained where classes have as many.

        log F(0),   F(0) = m Pr[class 1 wins | counts (1, 0, ..., 0)]
        gamma, discrete     F(0) = e^gamma (1 - (1 - q) / (1 + q)^(m - 1)),   q = e^-gamma;   m = 2: 1 + tanh(gamma / 2)
        gamma, continuous   F(0) = B1 =
            (1 - m) 2^-m q + (1 - c^m) / q + m/2 c^(m-1) - m (m - 1)/4 q H(m - 2),     c = 1 - q / 2,
            H(n) = gamma + sum over k = 1..n of (2^-k - c^k) / k
        sigma, discrete     F(0) = sum over t of f(t) / f(t + 1) (H(t + 1)^m - H(t)^m),
            f(t) = Pr[Z = t], H(t) = Pr[Z <= t],   Z one noise
        sigma, continuous   F(0) = m integral of phi(t) Phi(t + 1 / sigma)^(m-1) dt;   m = 2: 2 Phi(1 / (sigma sqrt 2))

    Parameters
    ----------
    n_classes : int in [2, 1000]
        m above.
    gamma : float > 0
        Laplace noise of scale 1 / gamma. Either this or
    sigma : float > 0
        Gaussian noise of that standard deviation; with discrete noise at most 1e4.
    noise : {"discrete", "continuous"}
        "discrete" is what `darrm.mechanisms.LaplaceNoisyMax` and `GaussianNoisyMax` draw. "continuous" is the mechanism
        of the paper, and the shipped one can break its bound. At known votes (5, 5) and gamma 2 it leaks .5662, and log
        B1 is .5477.

    Returns
    -------
    float
        An upper bound, rounded up, at most log m. It is for one label and one vote: more labels add up
        (`composed_leakage`), and a record behind several votes can leak more. With gamma it is at most gamma, for any
        number of classes. **Gaussian noise has no bound that holds for every number of classes**: for any sigma the
        leakage at equal counts grows without limit with m.

    Raises
    ------
    InputError

    Notes
    -----
    Proof, for all of these: Lemma 16, 17 and 20 of docs/theory, "The largest leakage of noisy max". It holds for any
    order that decides ties, if that order does not depend on the votes. B1 is Proposition 12 of Saeidian et al. (2021),
    which rests on their Theorem 10. That theorem is false (`entrywise_leakage`); that equal counts leak most is true.
    B1 is evaluated as the leakage at equal counts: the closed form cancels for many classes. O(1) with gamma, O(sigma)
    with sigma.

    Examples
    --------
    >>> from darrm.measures import leakage_bound
    >>> [round(leakage_bound(m, sigma=1.0), 4) for m in (2, 10, 1000)]
    [0.4067, 1.1869, 2.6972]
    """
    m = whole("n_classes", n_classes, 2, MAX_CLASSES)
    most = math.log(m) * (1 + 1e-15)
    if not check_noise(gamma, sigma, noise):
        rate = math.inf if gamma is None else check_positive("gamma", gamma)
        # The sum of m probabilities, each right to 1e-12, is at least 1: its logarithm is right to m 1e-12.
        return min(entrywise_leakage(np.zeros(m), gamma, sigma=sigma, noise=noise) + m * 1e-12, rate, most)
    if gamma is None:
        return min(_gaussian_bound(m, GaussianLaw(check_positive("sigma", sigma))), most)
    return min(_laplace_bound(m, check_positive("gamma", gamma)), most)


def _laplace_bound(m: int, rate: float) -> float:
    if rate >= 50:
        largest = math.log(m)  # above the maximum by less than m e^-50
    else:
        log_x = _log_one_minus_exp(-rate) - (m - 1) * math.log1p(math.exp(-rate))
        largest = rate + _log_one_minus_exp(log_x)
    # Roundings are below 5e-13 of the maximum. Below gamma = 1 both terms are at most gamma, the maximum at least
    # gamma / 3, and x is right to 1 + 4 units of |log_x| < 1500; above, terms are below 51 and the maximum above .37.
    # 1e-300 is for gammas near underflow.
    return min(largest * (1 + 1e-12) + 1e-300, rate)


def _log_one_minus_exp(y: float) -> float:
    """log(1 - e^y) for y < 0, without cancellation near either end."""
    return math.log1p(-math.exp(y)) if y < -math.log(2) else math.log(-math.expm1(y))


def _gaussian_bound(m: int, law: GaussianLaw) -> float:
    t = np.arange(-law.reach, law.reach)
    log_at_most = law.log_at_most(t + 1)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        x = np.minimum(np.exp(law.log_mass(t + 1) - log_at_most), 1.0)  # f(t + 1) / H(t + 1)
        factor = np.where(x > 0, -np.expm1(m * np.log1p(-x)) / x, m)  # (1 - (1 - x)^m) / x
    terms = np.exp(law.log_mass(t) + (m - 1) * log_at_most) * np.where(np.isfinite(log_at_most), factor, 0)
    # All terms are positive. A change of every H by a factor changes the sum by some of that factor, for the terms that
    # count have (m - 1) (1 - H) of order 1. The terms left out are at most m f(t), together below 4 m e^-50.
    return math.log(terms.sum()) + 10 * law.rounding + m * 1e-20


def leakage_data_bound(
    known_votes: ArrayLike, gamma: float | None = None, *, sigma: float | None = None, noise: str = "discrete"
) -> float:
    """A bound on the leakage of one label about one vote, for the known votes at hand, nats: log B2.

        B2 = r (1 - L(v_1 + 1 - v_2)) + sum over j > r of L(v_1 - 1 - v_j),     v_1 = ... = v_r > v_(r+1) >= ...,
        L(d) = Pr[of two classes, that which is d >= 0 votes behind wins]
        gamma, discrete     L(d) = e^(-gamma d) (1 + d tanh(gamma / 2)) / 2
        gamma, continuous   L(d) = e^(-gamma d) (1 + d gamma / 2) / 2
        sigma, discrete     L(d) = Pr[X > d] + Pr[X = d] / 2,     X the difference of two noises
        sigma, continuous   L(d) = Phi(-d / (sigma sqrt 2))

    Parameters
    ----------
    known_votes : array_like of whole numbers, shape (classes,)
    gamma : float > 0
        Laplace noise of scale 1 / gamma. Either this or
    sigma : float > 0
        Gaussian noise of that standard deviation; with discrete noise at most 1e4.
    noise : {"discrete", "continuous"}
        "discrete" is what `darrm.mechanisms.LaplaceNoisyMax` and `GaussianNoisyMax` draw, "continuous" the mechanism of
        the paper.

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
    So B2 is the leakage itself for two classes. Proposition 16 of Saeidian et al. (2021) for continuous Laplace noise;
    Lemma 18 of docs/theory. The bound is small where the voters agree. Where they do not, it can be above
    `leakage_bound`: take the least of the two. O(classes), with sigma and discrete noise O(classes + sigma).

    Examples
    --------
    >>> from darrm.measures import leakage_data_bound
    >>> f"{leakage_data_bound([90, 5, 5, 0], sigma=10.0, noise='continuous'):.3g}"
    '2.41e-09'
    """
    votes = np.sort(check_counts(known_votes, "known_votes"))[::-1]
    behind = _behind(gamma, sigma, check_noise(gamma, sigma, noise))
    r = int((votes == votes[0]).sum())
    lost = r * float(behind(votes[:1] - votes[1] + 1).sum())
    others = float(behind(votes[0] - votes[r:] - 1).sum())
    # B2 - 1, raised by more than the rounding of every term, of which that of e^-x is the largest: 745 units. The
    # tables of discrete Gaussian noise add sigma + 2 units, at most 1.2e-12.
    slack = 1e-12 if gamma is not None else 3e-12
    return math.log1p((r - 1 - lost + others) + slack * (r - 1 + lost + others) + 1e-300) * (1 + 1e-15)


def _behind(gamma: float | None, sigma: float | None, discrete: bool) -> Callable[[Array], Array]:
    """L of `leakage_data_bound`, for an array of d >= 0."""
    if discrete:
        return integer_noise(gamma, sigma).behind
    if gamma is not None:
        rate = check_positive("gamma", gamma)

        def of_laplace(d: Array) -> Array:
            x = rate * np.minimum(d, 745 / rate)  # from there on e^-x is below the range of float64
            return np.asarray(np.exp(-x) * (1 + x / 2) / 2)

        return of_laplace
    from scipy.special import ndtr

    scale = check_positive("sigma", sigma) * math.sqrt(2)

    def of_normal(d: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(ndtr(-(d / scale)))

    return of_normal


def laplace_leakage_bound(n_classes: int, gamma: float, *, noise: str = "discrete") -> float:
    """`leakage_bound` for Laplace noise of scale 1 / gamma, nats: at most gamma for any number of classes.

    Parameters
    ----------
    n_classes, gamma, noise
        As for `leakage_bound`, whose are the formulas, the proof and the source too. O(1).

    Returns
    -------
    float
        An upper bound, rounded up.

    Raises
    ------
    InputError

    Examples
    --------
    With more classes it rises, but not above gamma:

    >>> import darrm
    >>> [round(darrm.measures.laplace_leakage_bound(classes, gamma=0.5), 4) for classes in (2, 10, 1000)]
    [0.2191, 0.4945, 0.5]
    """
    return leakage_bound(n_classes, check_positive("gamma", gamma), noise=noise)


def laplace_leakage_data_bound(known_votes: ArrayLike, gamma: float, *, noise: str = "discrete") -> float:
    """`leakage_data_bound` for Laplace noise of scale 1 / gamma, nats; as secret as the votes.

    Parameters
    ----------
    known_votes, gamma, noise
        As for `leakage_data_bound`, whose are the formulas, the proof and the source too. O(classes).

    Returns
    -------
    float
        An upper bound, rounded up.

    Raises
    ------
    InputError

    Examples
    --------
    Much less where the known votes agree than where they do not:

    >>> import darrm
    >>> agreed = darrm.measures.laplace_leakage_data_bound([90, 5, 5], gamma=0.5)
    >>> split = darrm.measures.laplace_leakage_data_bound([36, 32, 32], gamma=0.5)
    >>> agreed < 1e-15, round(split, 4)
    (True, 0.2591)
    """
    return leakage_data_bound(known_votes, check_positive("gamma", gamma), noise=noise)

"""Entrywise information leakage of noisy max: of one label about one vote, if all other votes are known.

Maximal leakage of the last vote to the released label, given the votes of all others (nats):

    log sum over classes j of  max over j' of Pr[label = j | counts + e_j']
        =  log sum over j of Pr[label = j | counts + e_j]

Equation (12) of Saeidian, Cervia, Oechtering, Skoglund, "Quantifying membership privacy via information leakage"
(IEEE TIFS 2021). The second form holds because a vote for j raises the probability of label j the most.

Everything here takes ``gamma`` (Laplace noise, `darrm.mechanisms.LaplaceNoisyMax`) or ``sigma`` (Gaussian noise,
`GaussianNoisyMax`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import MAX_CLASSES, check_counts, check_positive, whole
from darrm.mechanisms.noisy_max_chances import chances
from darrm.numerics.arrays import Array


def entrywise_leakage(known_votes: ArrayLike, gamma: float | None = None, *, sigma: float | None = None) -> float:
    """Leakage of one label of noisy max about the single unknown vote, nats.

        log sum over j of Pr[label = j | known_votes + e_j]

    Parameters
    ----------
    known_votes : array_like of integers, shape (classes,)
        How many of all other voters chose each class.
    gamma : float > 0
        Laplace noise of scale 1 / gamma. Either this or
    sigma : float > 0
        Gaussian noise of that standard deviation.

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
    where all classes have as many votes (Lemma 16 of docs/theory), and least where all voters agree (Lemma 19). Theorem
    10 of that paper also says that it is Schur-concave, so that more consensus always leaks less. That is false for
    three classes: (5, 5, 0) majorises (5, 4, 1) and leaks .37416 against .32780 at gamma = 1.

    Examples
    --------
    >>> from darrm.measures import entrywise_leakage
    >>> round(entrywise_leakage([5, 5], gamma=2.0), 4), round(entrywise_leakage([5, 5], sigma=2.0), 4)
    (0.5477, 0.244)
    """
    return max(0.0, math.log(_gain(check_counts(known_votes, "known_votes"), gamma, sigma)[0]))


def _gain(votes: Array, gamma: float | None, sigma: float | None) -> tuple[float, float]:
    """The sum of Pr[label = j | votes + e_j], and how much more it is at most."""
    # Only differences matter. Above 2^53 one more vote would be lost. Classes that are moved up have probability 0, or
    # the noise is so wide that no vote matters.
    votes = np.maximum(votes - votes.max() + 2.0**52, 0)
    _, one, times = np.unique(votes, return_index=True, return_counts=True)
    rows = np.repeat(votes[None], one.size, axis=0)
    rows[np.arange(one.size), one] += 1
    found = chances(rows, gamma, sigma)
    total = float(times @ found.values[np.arange(one.size), one])
    return total, total * (found.rho + 1e-13) + votes.size * found.cut


def leakage_bound(n_classes: int, gamma: float | None = None, *, sigma: float | None = None) -> float:
    """The largest leakage of one label about one vote, over all known votes, nats; achieved at equal counts.

        log F(0),   F(0) = m Pr[class 1 wins | counts (1, 0, ..., 0)]
        gamma     F(0) = B1 =
            (1 - m) 2^-m q + (1 - c^m) / q + m/2 c^(m-1) - m (m - 1)/4 q H(m - 2),     q = e^-gamma,  c = 1 - q / 2,
            H(n) = gamma + sum over k = 1..n of (2^-k - c^k) / k
        sigma     F(0) = m integral of phi(t) Phi(t + 1 / sigma)^(m-1) dt;     m = 2: 2 Phi(1 / (sigma sqrt 2))

    Parameters
    ----------
    n_classes : int in [2, 1000]
        m above.
    gamma : float > 0
        Laplace noise of scale 1 / gamma. Either this or
    sigma : float > 0
        Gaussian noise of that standard deviation.

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
    Proof: Lemmas 16 and 20 of docs/theory, "The largest leakage of noisy max". B1 is Proposition 12 of Saeidian et al.
    (2021), which rests on their Theorem 10. That theorem is false (`entrywise_leakage`); that equal counts leak most is
    true. B1 is evaluated as the leakage at equal counts, raised by its proved error: the closed form cancels for many
    classes. O(m).

    Examples
    --------
    >>> from darrm.measures import leakage_bound
    >>> [round(leakage_bound(m, sigma=1.0), 4) for m in (2, 10, 1000)]
    [0.419, 1.2265, 2.8096]
    """
    m = whole("n_classes", n_classes, 2, MAX_CLASSES)
    total, more = _gain(np.zeros(m), gamma, sigma)
    rate = math.inf if gamma is None else float(gamma)
    return min(math.log(total + more) * (1 + 1e-15) + 1e-15, rate, math.log(m) * (1 + 1e-15))


def leakage_data_bound(known_votes: ArrayLike, gamma: float | None = None, *, sigma: float | None = None) -> float:
    """A bound on the leakage of one label about one vote, for the given known votes, nats: log B2.

        B2 = r (1 - L(v_1 + 1 - v_2)) + sum over j > r of L(v_1 - 1 - v_j),     v_1 = ... = v_r > v_(r+1) >= ...,
        L(d) = Pr[of two classes, that which is d >= 0 votes behind wins]
        gamma     L(d) = e^(-gamma d) (1 + d gamma / 2) / 2
        sigma     L(d) = Phi(-d / (sigma sqrt 2))

    Parameters
    ----------
    known_votes : array_like of integers, shape (classes,)
    gamma : float > 0
        Laplace noise of scale 1 / gamma. Either this or
    sigma : float > 0
        Gaussian noise of that standard deviation.

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
    So B2 is the leakage itself for two classes. Proposition 16 of Saeidian et al. (2021) for Laplace noise; Lemma 18 of
    docs/theory. The bound is small where the voters agree. Where they do not, it can be above `leakage_bound`: take the
    least of the two. O(classes).

    Examples
    --------
    >>> from darrm.measures import leakage_data_bound
    >>> f"{leakage_data_bound([90, 5, 5, 0], sigma=10.0):.3g}"
    '2.41e-09'
    """
    votes = np.sort(check_counts(known_votes, "known_votes"))[::-1]

    def behind(d: Array) -> Array:
        pairs = np.stack([np.zeros(d.size), d], axis=1)
        return chances(pairs, gamma, sigma).values[:, 0]

    r = int((votes == votes[0]).sum())
    lost = r * float(behind(votes[:1] - votes[1] + 1)[0])
    others = float(behind(votes[0] - votes[r:] - 1).sum())
    # B2 - 1, raised by more than the rounding of every term.
    return math.log1p((r - 1 - lost + others) + 3e-12 * (r - 1 + lost + others) + 1e-300) * (1 + 1e-15)


def laplace_leakage_bound(n_classes: int, gamma: float) -> float:
    """`leakage_bound` for Laplace noise of scale 1 / gamma, nats: at most gamma for any number of classes.

    Parameters
    ----------
    n_classes, gamma
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
    [0.2166, 0.4927, 0.5]
    """
    return leakage_bound(n_classes, check_positive("gamma", gamma))


def laplace_leakage_data_bound(known_votes: ArrayLike, gamma: float) -> float:
    """`leakage_data_bound` for Laplace noise of scale 1 / gamma, nats; as secret as the votes.

    Parameters
    ----------
    known_votes, gamma
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
    (True, 0.2609)
    """
    return leakage_data_bound(known_votes, check_positive("gamma", gamma))

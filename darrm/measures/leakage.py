"""Maximal leakage of finite channels, with bounds for majorities, several outputs and stages.

A channel is a matrix of output probabilities, one row an input. Maximal leakage is the log of the factor by which an
output raises, on average over outputs, the probability of guessing anything about the input right. Every mechanism of
darrm with finitely many outputs has such a matrix:

    a majority (DaRRM, baselines)     DaRRM.kernel(K), or CountKernel.from_noise_function(gamma).kernel(K)
    label proportions                 LabelProportions.kernel(k), GeometricLabelProportions.kernel(k)
    randomized response               RandomizedResponse.label_kernel()
    noisy max, at known votes         [noisy_max_probabilities(known_votes + e_j, gamma=...) for each class j]

Rows of a kernel are numbers of ones. If l of all other votes are known to be ones, the channel of the last vote has the
rows l and l + 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.problem.noise_function import acceptance, noise_function


def maximal_leakage(channel: ArrayLike, support: ArrayLike | None = None) -> float:
    """Maximal leakage of an input X to the output Y of a finite channel, nats.

        sup over U with U - X - Y of  log( Pr[U guessed right from Y] / max over u of Pr[U = u] )
            =  log sum over y of  max over x with P(x) > 0 of  P(y | x)

    U is any secret that an attacker may guess: a random variable that depends on the output through X only. It may be a
    record behind a vote, or randomness used for X. The attacker guesses once. Functions of X are not enough for the
    supremum. For P(x) = (.9, .1) and the channel ((.8, .2), (.2, .8)) no function of X gains anything, and the leakage
    is log 1.6.

    Parameters
    ----------
    channel : array_like, shape (inputs, outputs), >= 0, rows that sum to 1 within 1e-9
        [x, y]: P(y | x). For noisy max the rows are `darrm.measures.noisy_max_probabilities`; for mechanisms of bags
        ``kernel(k)`` has a row for each number of ones, and ``RandomizedResponse.label_kernel()`` one for each label.
    support : array_like, shape (inputs,), >= 0, optional
        Inputs that can occur are those above 0: P(x), or ones and zeros. Leakage depends on P(x) in no other way.
        Without it, all can occur.

    Returns
    -------
    float
        In [0, log min(inputs, outputs)]; 0 only if all rows of the support are equal. It is an average over outputs,
        and does not bound the leakage of one rare output, which epsilon does. An epsilon-DP channel leaks at most
        epsilon.

    Raises
    ------
    InputError

    Notes
    -----
    Definition 1 and equation (2) of Saeidian, Cervia, Oechtering, Skoglund (IEEE TIFS 2021), after Issa, Wagner, Kamath
    (2020). O(inputs * outputs).

    Examples
    --------
    >>> import math
    >>> from darrm.measures import maximal_leakage
    >>> math.isclose(maximal_leakage([[0.8, 0.2], [0.2, 0.8]]), math.log(1.6))
    True
    """
    rows = _channel("channel", channel, ("inputs", "outputs"))
    possible = None if support is None else array("support", support, (len(rows),), 0, math.inf, "[)")[None]
    return float(_leakages(rows[None], possible)[0])


def conditional_leakage(channel: ArrayLike, support: ArrayLike | None = None) -> Array:
    """Leakage of an input X to an output Y for an attacker who knows Z = z, for each z, nats.

        log sum over y of  max over x with P(x | z) > 0 of  P(y | x, z)

    Entrywise leakage is this with all other votes, or all other records, in the place of Z.

    Parameters
    ----------
    channel : array_like, shape (known, inputs, outputs), >= 0, sums over outputs of 1 within 1e-9
        [z, x, y]: P(y | x, z). Where x cannot occur with z, any such row may stand.
    support : array_like, shape (known, inputs), >= 0, optional
        The input x can occur with z where this is above 0: P(x | z), P(x, z), or ones and zeros. Without it, all can.

    Returns
    -------
    ndarray, shape (known,)
        One leakage for each z, in [0, log min(inputs, outputs)]. The largest of them bounds it for any z.

    Raises
    ------
    InputError

    Notes
    -----
    Definition 2 and Proposition 3 of Saeidian et al. (2021): the supremum over all U with U - (X, Z) - Y of the gain of
    one guess, as in `maximal_leakage`. O(known * inputs * outputs).

    Examples
    --------
    >>> from darrm.measures import conditional_leakage
    >>> conditional_leakage([[[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]]).round(4).tolist()
    [0.0, 0.6931]
    """
    rows = _channel("channel", channel, ("known", "inputs", "outputs"))
    return _leakages(rows, None if support is None else array("support", support, rows.shape[:2], 0, math.inf, "[)"))


def _channel(name: str, values: ArrayLike, shape: tuple[str, ...]) -> Array:
    rows = array(name, values, shape, 0, math.inf, "[)")
    sums = rows.sum(axis=-1)
    if not np.all(np.abs(sums - 1) <= 1e-9):
        wrong = float(sums.flat[np.argmax(np.abs(sums - 1))])
        raise InputError(
            f"Each row of {name} must sum to 1 within 1e-9. Got the sum {wrong!r}. "
            "Pass output probabilities, outputs along the last axis."
        )
    return rows


def _leakages(rows: Array, support: Array | None) -> Array:
    """One leakage for each z, rows [z, x, y]."""
    if support is not None:
        possible = support > 0
        if not possible.any(axis=1).all():
            raise InputError("support must be above 0 for at least one input. Got zeros only.")
        rows = np.where(possible[:, :, None], rows, 0)
    return np.asarray(np.maximum(0.0, np.log(rows.max(axis=1).sum(axis=1))))


def majority_leakage(gamma: ArrayLike) -> Array:
    """Leakage of one released majority, of DaRRM or any baseline, about the single unknown vote, nats.

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

    Examples
    --------
    The plain majority of five votes reveals the vote that decides a tie; a random vote reveals little:

    >>> import darrm
    >>> darrm.measures.majority_leakage(darrm.baselines.plain_majority(5)).round(4).tolist()
    [0.0, 0.0, 0.6931, 0.0, 0.0]
    >>> darrm.measures.majority_leakage(darrm.baselines.subsampling(5, 1)).round(4).tolist()
    [0.1823, 0.1823, 0.1823, 0.1823, 0.1823]
    """
    X = acceptance(noise_function(gamma))
    return np.asarray(np.log1p(np.abs(np.diff(X))))


def composed_leakage(leakages: ArrayLike) -> float:
    """Upper bound on the leakage of several outputs together: the sum, nats.

    It holds for outputs that are mutually independent given the secret; pairwise independence is not enough. Labels
    with fresh noise are independent given the votes. So n labels of noisy max leak at most n times `leakage_bound`
    about a voter's n votes, and about the record behind them. With Laplace noise that is at most n gamma.

    Given the record alone they need not be: the votes of a voter that is trained once share the randomness of the
    training. The sum of `processed_leakage` of each label is then not a bound. Sum the leakages of labels about votes
    first.

    Notes
    -----
    Lemma 5 and Corollary 15 of Saeidian et al. (2021); docs/errata.md has what (7) and (10) leave out.

    Examples
    --------
    Ten labels of Gaussian noisy max, of ten classes:

    >>> import darrm
    >>> one = darrm.measures.leakage_bound(10, sigma=4.0)
    >>> round(one, 4), round(darrm.measures.composed_leakage([one] * 10), 4)
    (0.3644, 3.6442)
    """
    values = _nats(leakages)
    return math.fsum(values) * (1 + 1e-15) if values.max() < 1e300 else math.inf


def processed_leakage(leakages: ArrayLike) -> float:
    """Upper bound on the leakage through stages that each see only the output of the previous one: the least, nats.

    A mechanism that is epsilon-DP for the record leaks at most epsilon about it. So a label leaks about a record that
    affects one vote at most the lesser of epsilon and `majority_leakage`. For n labels and a record that affects one
    voter, it is the lesser of the epsilon of its n votes together and the sum of the n majority leakages.

    Notes
    -----
    Lemma 6 of Saeidian et al. (2021); maximal leakage is at most epsilon: Issa, Wagner, Kamath (2020).

    Examples
    --------
    The plain majority of five votes can reveal a vote, but a vote of epsilon 0.1 reveals little about its record:

    >>> import darrm
    >>> leakage = darrm.measures.majority_leakage(darrm.baselines.plain_majority(5)).max()
    >>> round(float(leakage), 4), darrm.measures.processed_leakage([0.1, leakage])
    (0.6931, 0.1)
    """
    return float(_nats(leakages).min())


def _nats(leakages: ArrayLike) -> Array:
    return array("leakages", leakages, ("n",), 0, math.inf, "[]")

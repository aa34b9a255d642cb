"""The attacker behind the advantage: what it guesses, how often it is right, and how far its odds move."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import probabilities, whole
from darrm.errors import InputError
from darrm.measures.advantage import Mechanism, additive_advantage
from darrm.measures.kernels import posterior
from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import as_bags


def attack_utility(mechanism: Mechanism, eta: ArrayLike) -> float:
    """Expected share of labels that the best attacker guesses right.

        mean over i of  max(eta_i, 1 - eta_i) + individual advantage of i

    Notes
    -----
    Expected attack utility of the attacker of Lemma 3.2 of Busa-Fekete et al. (2023).
    """
    bags, _ = as_bags(eta)
    return float(np.maximum(bags, 1 - bags).mean()) + additive_advantage(mechanism, eta)


def attacker_decisions(mechanism: Mechanism, eta: ArrayLike, output: ArrayLike) -> NDArray[np.uint8]:
    """The labels that the best attacker guesses: 1 where P(y_i = 1 | eta, output) >= 1/2.

    Parameters
    ----------
    mechanism, eta, output
        As for `darrm.measures.posterior`.

    Returns
    -------
    ndarray of uint8, the shape of ``eta``

    Notes
    -----
    Lemma 3.2 of Busa-Fekete et al. (2023). The attacker A** that their Theorem 6.3 offers for small epsilon has its
    first two cases exchanged: odds below e^-epsilon mean label 0, odds above e^epsilon label 1.
    """
    return (posterior(mechanism, eta, output) >= 0.5).astype(np.uint8)


def posterior_pairs(mechanism: Mechanism, eta: ArrayLike, output: ArrayLike) -> Array:
    """Chance of a one before and after, for every label: what a prior-posterior plot shows.

    Parameters
    ----------
    mechanism, eta, output
        As for `darrm.measures.posterior`.

    Returns
    -------
    ndarray, shape (labels, 2)
    """
    after = posterior(mechanism, eta, output)
    return np.stack([as_bags(eta)[0].ravel(), after.ravel()], axis=1)


def log_odds_change(before: ArrayLike, after: ArrayLike, a: int = 1, b: int = 0) -> Array:
    """Multiplicative advantage of one output, for labels of any number of classes; nats, with its sign.

        I_(a,b) = log(after_a / after_b) - log(before_a / before_b)

    Parameters
    ----------
    before, after : array_like, shape (..., classes), in [0, 1]
        Probabilities of all classes of a label before and after the release.
    a, b : int
        Classes.

    Returns
    -------
    ndarray, shape (...)
        In [-epsilon, epsilon] under epsilon-label-DP; infinite where the output rules a or b out; 0 where that was
        known before.

    Raises
    ------
    InputError

    Notes
    -----
    Definition 3.6 of Busa-Fekete et al. (NeurIPS 2024). `darrm.measures.multiplicative_advantage` is the distribution
    of abs(I_(1,0)) over all outputs.
    """
    prior, then = probabilities("before", before), probabilities("after", after)
    if prior.shape != then.shape:
        raise InputError(f"before and after must have one shape. Got {prior.shape} and {then.shape}.")
    last = prior.shape[-1] - 1
    a, b = whole("a", a, 0, last), whole("b", b, 0, last)
    known = (prior[..., a] == 0) | (prior[..., b] == 0)
    if not np.all(known | (then[..., a] > 0) | (then[..., b] > 0)):
        raise InputError("after must not be 0 for both classes: their odds are then not defined.")
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.log(then[..., a]) - np.log(then[..., b]) - np.log(prior[..., a]) + np.log(prior[..., b])
    return np.where(known, 0.0, change)

"""The best attacker behind the advantage: its guesses, its utility, and the change of its odds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import probabilities, whole
from darrm.errors import InputError
from darrm.labels.measures.advantage import Mechanism, additive_advantage
from darrm.labels.measures.change import guarantee
from darrm.labels.measures.classes import kernel_of_classes
from darrm.labels.measures.kernels import posterior
from darrm.labels.mechanisms.label_proportions import LaplaceLabelProportions
from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import as_bags


def attack_utility(mechanism: Mechanism, eta: ArrayLike) -> float:
    """Expected share of labels that the best attacker guesses correctly.

        mean over i of  max(eta_i, 1 - eta_i) + individual advantage of i

    With C > 2 classes, eta of shape (n, C), the largest eta_(i,c) stands in place of max(eta_i, 1 - eta_i).

    Notes
    -----
    Expected attack utility of the attacker of Lemma 3.2 of Busa-Fekete et al. (2023).

    Examples
    --------
    Without a release 70 % of the labels are guessed correctly, with the sum of each bag of four 82 %:

    >>> import darrm
    >>> llp = darrm.labels.LabelProportions()
    >>> round(darrm.labels.attack_utility(llp, [0.9, 0.5, 0.6, 0.2]), 4)
    0.821
    """
    if kernel_of_classes(mechanism) is not None:
        advantage = additive_advantage(mechanism, eta)
        return float(np.asarray(eta, dtype=np.float64).max(axis=-1).mean()) + advantage
    bags, _ = as_bags(eta)
    return float(np.maximum(bags, 1 - bags).mean()) + additive_advantage(mechanism, eta)


def attacker_decisions(mechanism: Mechanism, eta: ArrayLike, output: ArrayLike) -> NDArray[np.uint8]:
    """The labels that the best attacker guesses (A*): 1 where P(y_i = 1 | eta, output) >= 1/2.

    Parameters
    ----------
    mechanism, eta, output
        As for `darrm.labels.posterior`.

    Returns
    -------
    ndarray of uint8, the shape of ``eta``
        C > 2 classes: ndarray of uint16, shape (n,), the likeliest class.

    Notes
    -----
    Lemma 3.2 of Busa-Fekete et al. (2023), and A* of their Theorem 6.3 for Laplace label proportions.

    Examples
    --------
    The sum of four labels is 3. The attacker says 0 for the label that was the least likely a 1:

    >>> import darrm
    >>> llp = darrm.labels.LabelProportions()
    >>> darrm.labels.attacker_decisions(llp, [0.9, 0.5, 0.6, 0.2], 3).tolist()
    [1, 1, 1, 0]
    """
    after = posterior(mechanism, eta, output)
    if kernel_of_classes(mechanism) is not None:
        return np.asarray(after.argmax(axis=-1).astype(np.uint16))
    return (after >= 0.5).astype(np.uint8)


def shortcut_decisions(mechanism: Mechanism, eta: ArrayLike, output: ArrayLike) -> NDArray[np.uint8]:
    """The labels that the attacker A** guesses: from eta alone where epsilon is too small for any output to matter.

        1 if eta_i / (1 - eta_i) > e^epsilon,   0 if eta_i / (1 - eta_i) < e^-epsilon,   otherwise as A*

    Parameters
    ----------
    mechanism, eta, output
        As for `darrm.labels.posterior`, two classes. Epsilon is what `RandomizedResponse`, `LaplaceLabelProportions`
        and `GeometricLabelProportions` guarantee; for all others it is infinite and all labels are decided as by A*.

    Returns
    -------
    ndarray of uint8, the shape of ``eta``
        The same as `attacker_decisions`, but for rounding where odds are e^epsilon or e^-epsilon.

    Raises
    ------
    InputError

    Notes
    -----
    An output of an epsilon-label-DP mechanism moves log odds by at most epsilon, so odds beyond e^epsilon stay above 1.
    The cost is that of A*. After Theorem 6.3 of Busa-Fekete et al. (2023), whose A** is misprinted (docs/errata.md).
    Its first two cases are exchanged, and the third says y_i, the secret that the attacker is after. For randomized
    response these are the three cases of their Theorem 3.7.

    Examples
    --------
    >>> from darrm.labels import shortcut_decisions
    >>> from darrm.mechanisms import RandomizedResponse
    >>> shortcut_decisions(RandomizedResponse(1.0), [0.1, 0.5, 0.9], [1, 1, 0]).tolist()
    [0, 1, 1]
    """
    kernel = kernel_of_classes(mechanism)
    if kernel is not None:
        raise InputError(f"mechanism must release labels of two classes. Got {len(kernel)}. Use attacker_decisions.")
    exact = attacker_decisions(mechanism, eta, output)
    epsilon = mechanism.epsilon if isinstance(mechanism, LaplaceLabelProportions) else guarantee(mechanism)
    p = np.asarray(eta, dtype=np.float64)
    with np.errstate(divide="ignore"):
        odds = np.log(p) - np.log1p(-p)
    return np.where(np.abs(odds) > epsilon, odds > 0, exact).astype(np.uint8)


def posterior_pairs(mechanism: Mechanism, eta: ArrayLike, output: ArrayLike) -> Array:
    """Probability of a one before and after, for every label: what a prior-posterior plot shows.

    Parameters
    ----------
    mechanism, eta, output
        As for `darrm.labels.posterior`.

    Returns
    -------
    ndarray, shape (labels, 2)

    Examples
    --------
    The sum of two labels is 1: their probabilities before and after.

    >>> import darrm
    >>> darrm.labels.posterior_pairs(darrm.labels.LabelProportions(), [0.8, 0.4], 1).round(4).tolist()
    [[0.8, 0.8571], [0.4, 0.1429]]
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
    Definition 3.6 of Busa-Fekete et al. (NeurIPS 2024). `darrm.labels.multiplicative_advantage` is the distribution
    of abs(I_(1,0)) over all outputs.

    Examples
    --------
    An output after which a one is as likely as a zero was before:

    >>> import darrm
    >>> round(float(darrm.labels.log_odds_change(before=[0.7, 0.3], after=[0.3, 0.7])), 4)
    1.6946
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

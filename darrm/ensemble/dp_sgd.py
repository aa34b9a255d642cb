"""DP-SGD: its noise, calibrated by an accountant, its steps, and with them logistic regression.

One step on n records, each of them in the batch B independently with probability q, is

    w  <-  w - lr / (q n) * (sum over B of clip(g_i, C) + N(0, (sigma C)^2 I))

from weights that do not depend on the data, g_i a function of w and of record i alone, and the model is an average of
iterates. Under replace-one:

1. clip bounds the L2 norm of the whole of g_i, over all weights, by C; n is public.
2. Given w and the rest of the batch (joint convexity covers the average over it), a step on two neighbours is
   (1-q) N(0) + q N(g) against (1-q) N(0) + q N(g'), covariance (sigma C)^2 I, |g| <= C and |g'| <= C.
3. g = -C, g' = +C on a line dominates. For a >= 1 the divergence is E max(0, q - a q X - (a-1)(1-q) Y) with
   X, Y lognormal of mean 1, log-covariances |g-g'|^2, |g|^2, g.(g-g') over (sigma C)^2. It grows in each, and
   their largest values 4 C^2, C^2, 2 C^2 are reached together. For a < 1 swap the neighbours.
4. That is the REPLACE_ONE pair of dp_accounting at noise multiplier sigma = noise / C: its two means are 2 C
   apart, so no further factor 2 is due. It composes the steps and rounds losses up.
5. All iterates together are covered: any average of them and any number of predictions are post-processing.

Under add-remove one of the two is N(0), the pair is ADD_OR_REMOVE_ONE, and n is not public: a number that does not
depend on the data takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from importlib import import_module
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm.errors import InputError, MissingExtraError
from darrm.numerics.arrays import Array
from darrm.randomness.coins import WordSource

Batch = NDArray[np.bool_]

RELATIONS = {"replace-one": "REPLACE_ONE", "add-remove": "ADD_OR_REMOVE_ONE"}
MAX_EPSILON = 100.0  # largest epsilon; above it an accountant takes minutes and the guarantee is useless
MAX_NOISE = 1e6
LEAST_NOISE = 0.25  # least noise multiplier; less gives hardly any privacy, and an accountant takes minutes for it
_CLOSE = 1e-4  # relative distance of the noise multiplier from the least one
_FARTHEST = 1e100  # of an iterate
_LARGEST = 1e300  # norm of a row; above it, its square leaves float64
_calibrating = Lock()  # so that parallel training calibrates once


def calibrated_noise(epsilon: float, delta: float, rate: float, steps: int, adjacency: str) -> tuple[float, float]:
    """The least noise multiplier of DP-SGD for a target, and its epsilon, which is at most the target.

    Parameters
    ----------
    epsilon : float in (0, 100], nats
    delta : float in (0, 1)
    rate : float in (0, 1]
        Rate of Poisson sampling.
    steps : int, at least 1
    adjacency : {"replace-one", "add-remove"}

    Returns
    -------
    (float, float)
        The noise multiplier is within a relative 1e-3 of the least that the accountant allows, and at least 0.25;
        epsilon is an upper bound at ``delta``.

    Raises
    ------
    InputError
        If no multiplier up to 1e6 is enough.
    MissingExtraError

    Notes
    -----
    Privacy loss distributions of dp-accounting, rounded up. Under a second at epsilon = 1, some twenty at
    100; kept for the next call.
    """
    with _calibrating:
        return _calibrate(epsilon, delta, rate, steps, adjacency)


def training_event(noise_multiplier: float, rate: float, steps: int) -> Any:
    """DP-SGD as an event of dp-accounting, for a ledger or an accountant."""
    try:
        from darrm.accounting.events import training
    except MissingExtraError:
        raise MissingExtraError("DP-SGD needs dp-accounting. Run: pip install 'darrm[experiments]'") from None
    return training(noise_multiplier, rate, steps)


def accountant_epsilon(noise_multiplier: float, delta: float, rate: float, steps: int, adjacency: str) -> float:
    """The epsilon of DP-SGD at a noise multiplier: an upper bound; nats."""
    event = training_event(noise_multiplier, rate, steps)
    pld: Any = import_module("dp_accounting.pld.pld_privacy_accountant")
    relations: Any = import_module("dp_accounting.privacy_accountant").NeighboringRelation
    return float(pld.PLDAccountant(relations[RELATIONS[adjacency]]).compose(event).get_epsilon(delta))


@lru_cache(maxsize=256)
def _calibrate(epsilon: float, delta: float, rate: float, steps: int, adjacency: str) -> tuple[float, float]:
    from scipy.optimize import brentq

    @cache
    def cost(logarithm: float) -> float:
        return accountant_epsilon(math.exp(logarithm), delta, rate, steps, adjacency)

    # From much noise to less: distributions of small losses are quick to compose.
    least = math.log(LEAST_NOISE)
    high = max(least, math.log(min(MAX_NOISE, 16 * max(1.0, rate * math.sqrt(steps)) / epsilon)))
    while cost(high) > epsilon:
        high += 1
        if high > math.log(MAX_NOISE):
            raise InputError(
                f"No noise up to {MAX_NOISE:g} times the clip norm gives ({epsilon:g}, {delta:g}). Raise epsilon or "
                "delta, or take fewer steps."
            )
    low = max(least, high - 0.7)
    while cost(low) <= epsilon:
        if low == least:
            return math.exp(least), cost(least)
        low, high = max(least, low - 0.7), low
    found = float(brentq(lambda at: math.log(max(cost(at), 1e-300) / epsilon), low, high, xtol=_CLOSE, rtol=1e-12))
    found += _CLOSE / 2
    while cost(found) > epsilon:
        found += _CLOSE
    return math.exp(found), cost(found)


def iterates(
    gradient: Callable[[Array, Batch], Array],
    start: Array,
    rows: int,
    *,
    noise_multiplier: float,
    rate: float,
    steps: int,
    clip: float,
    learning_rate: float,
    n: float,
    words: WordSource,
) -> Iterator[Array]:
    """The weights after each step of DP-SGD, by the formula at the top.

    Parameters
    ----------
    gradient : function
        Maps the weights and the batch, bool of shape (rows,), to the sum of the gradients of the rows in the batch,
        each clipped to ``clip``; the proof relies on the clipping.
    start : ndarray, shape (p,)
        Must not depend on the data.
    rows : int
    noise_multiplier, rate, steps, clip, learning_rate
        sigma, q, number of steps, C, lr.
    n : float
        A public number in place of the number of records.
    words : WordSource

    Yields
    ------
    ndarray, shape (p,), finite
    """
    weights = start
    for _ in range(steps):
        summed = gradient(weights, _coins(rate, rows, words))
        noise = noise_multiplier * clip * normals(weights.size, words)
        # Divide by the expected batch size: the realised one is private.
        weights = weights - learning_rate / (rate * n) * (summed + noise)
        # Finite before they meet data again: infinity times 0 would carry a row past its clipping.
        weights = np.clip(np.nan_to_num(weights, nan=0.0), -_FARTHEST, _FARTHEST)
        yield weights


def clipped_sum(gradients: Array, clip: float) -> Array:
    """The sum of gradients, shape (n, p), each scaled down to the L2 norm ``clip``; non-finite ones count as 0."""
    finite = np.isfinite(gradients).all(axis=1, keepdims=True)
    gradients = np.where(finite, gradients, 0.0)
    # As directions and lengths, so that no square leaves float64.
    largest = np.abs(gradients).max(axis=1, keepdims=True)
    largest[largest == 0] = 1.0
    directions = gradients / largest
    lengths = np.maximum(np.linalg.norm(directions, axis=1), 1.0)  # at least 1 unless the gradient is 0
    return np.asarray(np.minimum(largest[:, 0], clip / lengths) @ directions)


def train(
    features: Array,
    codes: NDArray[np.intp],
    *,
    noise_multiplier: float,
    rate: float,
    steps: int,
    clip: float,
    learning_rate: float,
    n: float,
    words: WordSource,
) -> Array:
    """Logistic regression: the average of the iterates of DP-SGD from 0; codes are 0 and 1."""
    # Rows as directions and lengths: then a gradient of any size is clipped without leaving float64.
    largest = np.abs(features).max(axis=1, keepdims=True)
    largest[largest == 0] = 1.0
    lengths = np.linalg.norm(features / largest, axis=1)
    directions = features / largest / np.maximum(lengths, 1.0)[:, None]  # a row that is not 0 has length at least 1
    lengths = np.minimum(lengths * np.minimum(largest[:, 0], _LARGEST), _LARGEST)

    def gradient(weights: Array, batch: Batch) -> Array:
        u, size = directions[batch], lengths[batch]
        residuals = _sigmoid(np.clip(u @ weights, -1e6, 1e6) * size) - codes[batch]
        return np.asarray(u.T @ np.clip(residuals * size, -clip, clip))

    total = np.zeros(features.shape[1])
    for weights in iterates(
        gradient,
        np.zeros(features.shape[1]),
        len(features),
        noise_multiplier=noise_multiplier,
        rate=rate,
        steps=steps,
        clip=clip,
        learning_rate=learning_rate,
        n=n,
        words=words,
    ):
        total += weights
    return total / steps


def normals(n: int, words: WordSource) -> Array:
    """n standard normal numbers from random words.

    Each is the sum of four over 2, so that the gaps between the values that one float64 draw can take do not show in
    it (Holohan and Braghin, "Secure random sampling in differential privacy", ESORICS 2021).
    """
    from scipy.special import ndtri

    uniform = ((words(4 * n) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52  # never 0 or 1
    return np.asarray(ndtri(uniform).reshape(4, n).sum(axis=0) / 2)


def _coins(rate: float, n: int, words: WordSource) -> Batch:
    """True with probability ``rate``, rounded down to 64 bits: fewer samples are more private."""
    if rate == 1:
        return np.ones(n, dtype=np.bool_)
    return np.asarray(words(n) < np.uint64(int(math.ldexp(rate, 64))))


def _sigmoid(scores: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(scores))

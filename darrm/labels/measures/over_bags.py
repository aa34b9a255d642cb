"""Individual advantage where the other labels of the bag are drawn at random, as they are in random bags."""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import MAX_COUNT, array, real, whole
from darrm.errors import InputError
from darrm.labels.measures.advantage import Mechanism, individual_advantage
from darrm.numerics.arrays import Array
from darrm.numerics.leave_one_out import slices

_MOST_COMPOSITIONS = 20_000


class AverageAdvantage(NamedTuple):
    """A mean over bags.

    Attributes
    ----------
    mean : float
    standard_error : float
        Of the draws; 0 if the mean is exact but for rounding.
    bags : int
        Compositions that were summed, or bags that were drawn.
    """

    mean: float
    standard_error: float
    bags: int


def individual_advantage_over_bags(
    mechanism: Mechanism,
    eta_i: float,
    population: ArrayLike,
    size: int,
    *,
    replacement: bool = True,
    draws: int = 10_000,
    rng: np.random.Generator | None = None,
) -> AverageAdvantage:
    """The increase of the probability of guessing one label by a release, if the rest of its bag is random.

        E[ individual advantage of i in the bag (eta_i, eta_j1, ..., eta_j(size - 1)) ],    j from the population

    Parameters
    ----------
    mechanism
        As for `individual_advantage`, for labels of two classes.
    eta_i : float in [0, 1]
        Probability that the label is 1.
    population : array_like, shape (n,), in [0, 1]
        Those of the records that the others are drawn from; the record of the label itself is not one of them.
    size : int >= 1
        Labels in the bag.
    replacement : bool, default True
        Whether the others are drawn with replacement (independent records), or without (the bags of
        `darrm.mechanisms.bags`; then n >= size - 1).
    draws : int in [2, 1e7]
        Bags that are drawn if the population has too many values.
    rng : numpy.random.Generator, optional
        For draws that can be repeated. Nothing here is private.

    Returns
    -------
    AverageAdvantage
        ``mean`` in [0, 1/2]. Exact, with ``standard_error`` 0, if the others have at most 20 000 compositions: numbers
        of records of each value. Otherwise the mean over the draws.

    Raises
    ------
    InputError

    Notes
    -----
    Individual expected attack advantage, Definition 3.1 of Busa-Fekete et al. (NeurIPS 2024). The attacker sees the
    features of the whole bag, and the mean is over the features of the others. Its mean over eta_i from the population
    (with replacement) is the additive advantage of that definition. It is not the advantage among others that all have
    the mean of the population: with replacement that is no more (Jensen), without it may be more. O(size^2) a bag.

    Examples
    --------
    >>> from darrm.labels import individual_advantage_over_bags
    >>> from darrm.labels import LabelProportions
    >>> round(individual_advantage_over_bags(LabelProportions(), 0.5, [0.1, 0.4], 16).mean, 5)
    0.12369
    """
    eta_i, size = real("eta_i", eta_i, 0, 1), whole("size", size)
    chances = array("population", population, ("n",), 0, 1, "[]")
    draws = whole("draws", draws, 2, MAX_COUNT)
    others = size - 1
    if not replacement and others > chances.size:
        raise InputError(
            f"population must hold at least size - 1 = {others} records for bags without replacement. "
            f"Got {chances.size}. Pass replacement=True for independent records."
        )
    values, counts = np.unique(chances, return_counts=True)
    if math.comb(others + values.size - 1, others) > _MOST_COMPOSITIONS:
        return _sampled(mechanism, eta_i, chances, size, replacement, draws, rng)
    compositions = _compositions(others, values.size)
    weights = _chances(compositions, counts.astype(np.float64), replacement)
    compositions, weights = compositions[weights > 0], weights[weights > 0]
    total = 0.0
    for at in slices(len(weights), size * size):
        bags = np.array([[eta_i, *np.repeat(values, row)] for row in compositions[at]])
        total += float(weights[at] @ individual_advantage(mechanism, bags)[:, 0])
    return AverageAdvantage(total, 0.0, len(weights))


def _compositions(total: int, parts: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """All ways to write ``total`` as an ordered sum of so many integers >= 0, one a row: stars and bars."""
    bars = np.array(list(combinations(range(total + parts - 1), parts - 1)), dtype=np.int64)
    bars = bars.reshape(math.comb(total + parts - 1, total), parts - 1)
    ends = np.full((len(bars), 1), total + parts - 1)
    return np.diff(np.hstack([np.full_like(ends, -1), bars, ends]), axis=1) - 1


def _chances(compositions: np.ndarray[tuple[int, int], np.dtype[np.int64]], counts: Array, replacement: bool) -> Array:
    """Multinomial probabilities of the compositions, or hypergeometric ones without replacement."""
    from scipy.special import gammaln

    n = int(counts.sum())
    drawn = compositions.sum(axis=1)
    if replacement:
        logs = gammaln(drawn + 1) + (compositions * np.log(counts / n) - gammaln(compositions + 1)).sum(axis=1)
    else:
        left = counts - compositions
        with np.errstate(invalid="ignore"):
            ways = gammaln(counts + 1) - gammaln(compositions + 1) - gammaln(np.maximum(left, 0) + 1)
        logs = np.where((left >= 0).all(axis=1), ways.sum(axis=1), -np.inf)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _sampled(
    mechanism: Mechanism,
    eta_i: float,
    chances: Array,
    size: int,
    replacement: bool,
    draws: int,
    rng: np.random.Generator | None,
) -> AverageAdvantage:
    rng = np.random.default_rng() if rng is None else rng
    each = np.empty(draws)
    for at in slices(draws, size * size):
        bags = np.full((len(each[at]), size), eta_i)
        bags[:, 1:] = chances[_indices(chances.size, bags.shape, replacement, rng)]
        each[at] = individual_advantage(mechanism, bags)[:, 0]
    return AverageAdvantage(float(each.mean()), float(each.std(ddof=1) / math.sqrt(draws)), draws)


def _indices(
    n: int, shape: tuple[int, ...], replacement: bool, rng: np.random.Generator
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    bags, size = shape
    if replacement:
        return rng.integers(0, n, (bags, size - 1))
    rows = (rng.choice(n, size - 1, replace=False, shuffle=False) for _ in range(bags))
    return np.stack(list(rows))

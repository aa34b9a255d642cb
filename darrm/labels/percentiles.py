"""Percentiles of the multiplicative advantage of more labels than can be held at once, in passes over parts of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from darrm._validation import real
from darrm.labels.measures.advantage import Mechanism
from darrm.labels.measures.change import multiplicative_advantage
from darrm.labels.measures.classes import kernel_of_classes
from darrm.labels.measures.distribution import ContinuousDistribution, DiscreteDistribution
from darrm.labels.measures.kernels import channel
from darrm.labels.measures.laplace import LaplaceOdds
from darrm.labels.mechanisms.label_proportions import LaplaceLabelProportions
from darrm.numerics.arrays import Array

T = TypeVar("T")
Parts = Callable[[], Iterable[tuple[float, DiscreteDistribution]]]
_BINS = 1 << 16
_KEPT = 4_000_000  # values that the last pass may hold
_ENTRIES = 2_000_000  # labels times outcomes of one part
_LEVELS = 5  # bisections of a pass
_NEAR = 0.02  # how far from the quantile of some bags that of all is looked for, relative
_SAME = 1e-12  # sums so far from q reach it, as in `darrm.measures.DiscreteDistribution`


def multiplicative_summary(
    mechanism: Mechanism, bags: Array, q: float, entries: int = _ENTRIES, kept: int = _KEPT, threads: int = 1
) -> tuple[float, float]:
    """A quantile of `multiplicative_advantage` and its infinite mass, for any number of bags.

    Parameters
    ----------
    mechanism
        As for `multiplicative_advantage`.
    bags : ndarray, shape (n, k), in [0, 1]
        More than two classes: shape (n, C), a row a label.
    q : float in [0, 1]
    entries, kept : int
        Labels times outcomes of one part, and values that may be held at once.
    threads : int
        Each takes one part at a time; the answer does not depend on it.

    Returns
    -------
    float, float
        What ``quantile(q)`` and ``infinite_mass`` of the distribution of all bags are, but for values within 1e-12 of
        each other, which are one.

    Raises
    ------
    InputError

    Notes
    -----
    Beyond ``entries`` the work of `multiplicative_advantage` twice as a rule. For Laplace label proportions the
    quantile of some of the bags says where that of all is looked for. If it is not there, or ``kept`` is too small,
    their distribution function is bisected in nine more passes, each of which answers five bisections.
    """
    n, k = bags.shape
    kernel = kernel_of_classes(mechanism)
    if kernel is not None:
        outcomes = kernel.shape[1]
    elif isinstance(mechanism, LaplaceLabelProportions):
        outcomes = k
    else:
        outcomes = channel(mechanism, k).given(bags[:1])[0].shape[0]
    step = max(1, entries // (k * outcomes))
    if step >= n:
        whole = multiplicative_advantage(mechanism, bags)
        return whole.quantile(q), whole.infinite_mass
    cuts = [slice(start, start + step) for start in range(0, n, step)]
    if isinstance(mechanism, LaplaceLabelProportions):
        return _laplace_quantile(bags, mechanism, q, cuts, kept, threads), 0.0
    weights = [len(bags[at]) / n for at in cuts]

    def parts() -> Iterator[tuple[float, DiscreteDistribution]]:
        distributions = _in_threads(lambda at: multiplicative_advantage(mechanism, bags[at]), cuts, threads)
        for weight, part in zip(weights, distributions, strict=True):
            if isinstance(part, DiscreteDistribution):
                yield weight, part

    return mixture_quantile(parts, q, kept)


def _laplace_quantile(
    bags: Array, mechanism: LaplaceLabelProportions, q: float, cuts: Sequence[slice], kept: int, threads: int
) -> float:
    """Quantile for Laplace label proportions, first looked for near that of some bags from all over."""
    top = mechanism.epsilon
    last = top * (1 - 2e-12)  # at the largest value every part is complete
    guess = multiplicative_advantage(mechanism, bags[:: len(cuts)][: cuts[0].stop]).quantile(q)
    low, high = guess * (1 - _NEAR), min(guess * (1 + _NEAR), last)
    near: list[LaplaceOdds] = []
    for part in _in_threads(lambda at: LaplaceOdds(bags[at], top).between(low, high), cuts, threads):
        near.append(part)
        if sum(each.size for each in near) > kept:
            break
    else:

        def share(points: Array) -> Array:
            return np.array([1 - sum(part.moved(x) for part in near) / bags.size for x in points.tolist()])

        at_low, at_high = share(np.array([low, high]))
        if at_low < q <= at_high:
            return ContinuousDistribution(share, high, low).quantile(q)
        if at_high < q and high == last:
            return top
    near.clear()
    weights = [len(bags[at]) / len(bags) for at in cuts]

    def below(points: Array) -> Array:
        inner = np.minimum(points, last)

        def of_part(at: slice) -> list[float]:
            part = multiplicative_advantage(mechanism, bags[at])
            return [part.cdf(x) for x in inner.tolist()]

        return np.asarray(np.dot(weights, list(_in_threads(of_part, cuts, threads))))

    return ContinuousDistribution(below, top, levels=_LEVELS).quantile(q)


def _in_threads(compute: Callable[[slice], T], cuts: Sequence[slice], threads: int) -> Iterator[T]:
    """``compute`` of all cuts in their order; no more than ``threads`` answers wait at a time."""
    if threads == 1:
        yield from map(compute, cuts)
        return
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, len(cuts), threads):
            yield from pool.map(compute, cuts[start : start + threads])


def mixture_quantile(parts: Parts, q: float, kept: int = _KEPT) -> tuple[float, float]:
    """Quantile and infinite mass of a mixture of discrete distributions.

        least value x with  sum over parts of w_j Pr[X_j <= x]  >=  q

    Parameters
    ----------
    parts : callable
        Goes through the parts anew at every call: pairs of a weight w_j (sum 1) and a `DiscreteDistribution` of values
        of at least 0.
    q : float in [0, 1]
    kept : int
        Values that may be held at once.

    Returns
    -------
    float, float
        A value of one of the parts, infinity allowed; sum over parts of w_j Pr[X_j = infinity].

    Raises
    ------
    InputError

    Notes
    -----
    Each pass counts the mass in 65,536 equal cells of x / (1 + x) within the cell that holds the quantile, until that
    has at most ``kept`` values, which are then sorted. Two passes as a rule. Where the values lie closer than float64
    tells their cells apart, the largest of them is returned.
    """
    q = real("q", q, 0, 1)
    low, high, below = 0.0, 1.0, 0.0  # the quantile is in the cell [low, high), or [low, 1] if high is 1
    while True:
        mass, counts, largest = np.zeros(_BINS), np.zeros(_BINS, dtype=np.int64), np.full(_BINS, -np.inf)
        edges = low + (high - low) * (np.arange(_BINS + 1) / _BINS)
        infinite = 0.0  # the same in every pass
        for weight, part in parts():
            infinite += weight * part.infinite_mass
            values, weights = _within(part, low, high)
            cell = np.clip(np.searchsorted(edges, _squeeze(values), side="right") - 1, 0, _BINS - 1)
            mass += weight * np.bincount(cell, weights, _BINS)
            counts += np.bincount(cell, minlength=_BINS)
            np.maximum.at(largest, cell, values)
        filled = np.flatnonzero(counts)
        sums = below + np.cumsum(mass)
        at = filled[min(int(np.searchsorted(sums[filled], q - _SAME)), filled.size - 1)]
        below = float(sums[at] - mass[at])
        low, high = float(edges[at]), float(edges[at + 1])
        if counts[at] <= kept:
            break
        if high - low <= 1e-15:
            return float(largest[at]), infinite
    within = [(values, weight * weights) for weight, part in parts() for values, weights in [_within(part, low, high)]]
    values = np.concatenate([pair[0] for pair in within])
    order = np.argsort(values, kind="stable")
    sums = below + np.cumsum(np.concatenate([pair[1] for pair in within])[order])
    return float(values[order][min(int(np.searchsorted(sums, q - _SAME)), values.size - 1)]), infinite


def _squeeze(values: Array) -> Array:
    """x / (1 + x), 1 at infinity."""
    return np.asarray(1 - 1 / (1 + values))


def _within(part: DiscreteDistribution, low: float, high: float) -> tuple[Array, Array]:
    place = _squeeze(part.values)
    kept = (place >= low) & ((place < high) | (high == 1))
    return part.values[kept], part.weights[kept]

"""Empirical lower bounds on epsilon, from outputs of a mechanism on two neighbouring data sets.

A mechanism is run many times on D ("here") and on a neighbour D' ("there"); the number of outputs in some set S bounds
epsilon from below. Such a bound can refute a claim of privacy. It cannot establish one.

    Proof.  Let epsilon* be the least epsilon >= 0 with P(S) <= e^epsilon P'(S) + delta and P'(S) <= e^epsilon P(S) +
    delta for every S. Fix S before the counts that test it are seen. Of n independent runs on D, x fall into
    S: x ~ Binomial(n, P(S)), and Clopper and Pearson give one-sided bounds low(x) and high(x), each wrong with
    probability at most a = (1 - confidence) / 4; likewise for P'(S). By the union bound all four hold with probability
    at least ``confidence``, whether or not the runs on D and D' depend on each other. Then 1 - high and 1 - low are
    bounds for the complement of S, and each of

        log((low - delta) / high'),    log((low' - delta) / high),                                      of S,
        log((1 - high - delta) / (1 - low')),    log((1 - high' - delta) / (1 - low)),     of its complement

    is at most the same expression in the true probabilities, which is at most epsilon*; so is the largest. If S is
    chosen by some of the runs and tested on the others, the statement holds given the former, and so without. A random
    split of a table of counts (multivariate hypergeometric) is distributed like one of the runs themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._validation import array, check_total_delta, plain, real
from darrm.errors import InputError
from darrm.measures.error import Interval
from darrm.numerics.arrays import Array

Counts = NDArray[np.int64]

_OUTWARD = 1e-9  # relative; more than the error of the inverse beta functions
_MOST = 10**9 - 1  # of runs that numpy can split
_THRESHOLDS = 1000


class EmpiricalEpsilon(NamedTuple):
    """A lower bound on epsilon, and the event that it rests on.

    Attributes
    ----------
    lower : float
        Nats, at least 0. With the requested confidence, no smaller epsilon holds at that delta.
    event : ndarray of bool, shape (outcomes,), or float
        Which outcomes are in the event; of scores, the threshold that the event is above.
    here, there : Interval
        Probability of the event on D and on D': share of the runs that tested it, and the bounds that were used.
    """

    lower: float
    event: NDArray[np.bool_] | float
    here: Interval
    there: Interval


def empirical_epsilon(
    here: ArrayLike,
    there: ArrayLike,
    *,
    delta: float = 0.0,
    confidence: float = 0.95,
    event: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> EmpiricalEpsilon:
    """Lower bound on epsilon from the counts of each outcome on two neighbouring data sets.

        log((P(S)_low - delta) / P'(S)_high),  at least 0;   the largest for S and its complement, in both directions

    Parameters
    ----------
    here, there : array_like of integers >= 0, shape (outcomes,), at least two outcomes
        Number of times each outcome occurred in independent runs on D and on D'. For one event: ``[hits, n - hits]``.
        The numbers of runs may differ.
    delta : float in [0, 1)
    confidence : float in (0, 1)
        With at least this probability the bound is at most the true epsilon. For claims about many mechanisms at once
        divide 1 - confidence among them.
    event : array_like of bool, shape (outcomes,), optional
        The outcomes in S, chosen without looking at these counts; all runs test it. Without it, S is the first of two
        outcomes; with more outcomes, half of the runs (drawn at random) choose S, and the other half tests it.
    rng : numpy.random.Generator, optional
        Makes the random split reproducible. Nothing here is private.

    Returns
    -------
    EmpiricalEpsilon

    Raises
    ------
    InputError

    Notes
    -----
    Proof in `darrm.measures.empirical`. What n runs can show is limited: at most about log(n / log(4 / (1 -
    confidence))). Clopper and Pearson, Biometrika 1934; events as in Jagielski, Ullman, Oprea, "Auditing
    differentially private machine learning" (NeurIPS 2020). O(outcomes log outcomes).

    Examples
    --------
    Zeros and ones of a thousand runs on each data set, as randomized response of epsilon 1 gives them:

    >>> import darrm
    >>> found = darrm.measures.empirical_epsilon([269, 731], [731, 269])
    >>> round(found.lower, 3)
    0.839
    """
    on, off = _counts("here", here), _counts("there", there)
    delta, tail = check_total_delta(delta), _tail(confidence)
    if on.shape != off.shape or on.size < 2:
        raise InputError(
            f"here and there must count the same outcomes, two or more. Got {on.size} and {off.size}. "
            "For one event pass [hits, runs - hits]."
        )
    if event is not None:
        chosen = plain("event", event, f"booleans of shape ({on.size},)")
        if chosen.shape != on.shape or chosen.dtype != np.bool_:
            raise InputError(f"event must be booleans of shape ({on.size},). Got {chosen.dtype} {chosen.shape}.")
    elif on.size == 2:
        chosen = np.array([True, False])
    else:
        rng = np.random.default_rng() if rng is None else rng
        (choosing, on), (choosing_there, off) = _halves("here", on, rng), _halves("there", off, rng)
        chosen = _best_event(choosing, choosing_there, delta, tail)
    return _judged(chosen, int(on[chosen].sum()), int(on.sum()), int(off[chosen].sum()), int(off.sum()), delta, tail)


def empirical_epsilon_of_scores(
    here: ArrayLike,
    there: ArrayLike,
    *,
    delta: float = 0.0,
    confidence: float = 0.95,
    rng: np.random.Generator | None = None,
) -> EmpiricalEpsilon:
    """Lower bound on epsilon from a score of each run on two neighbouring data sets, such as a coefficient.

    As `empirical_epsilon`, for the events {score > threshold}: half of the runs choose the threshold, the others test
    it.

    Parameters
    ----------
    here, there : array_like of float, shape (runs,), at least two
        A number computed from each output, by a rule fixed in advance. The best choice is a likelihood ratio, or an
        increasing function of it.
    delta, confidence, rng
        As for `empirical_epsilon`.

    Returns
    -------
    EmpiricalEpsilon

    Raises
    ------
    InputError

    Examples
    --------
    A thousand runs on each data set, with Laplace noise of epsilon 1 and without noise:

    >>> import darrm
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> here, there = rng.laplace(1.0, 1.0, 1000), rng.laplace(0.0, 1.0, 1000)
    >>> noisy = darrm.measures.empirical_epsilon_of_scores(here, there, rng=rng)
    >>> bare = darrm.measures.empirical_epsilon_of_scores(np.ones(1000), np.zeros(1000), rng=rng)
    >>> 0 < noisy.lower < 1 < bare.lower
    True
    """
    on, off = _scores("here", here), _scores("there", there)
    delta, tail = check_total_delta(delta), _tail(confidence)
    rng = np.random.default_rng() if rng is None else rng
    (choosing, on), (choosing_there, off) = (np.array_split(rng.permutation(side), 2) for side in (on, off))
    pool = np.unique(np.concatenate([choosing, choosing_there]))
    thresholds = pool[np.unique(np.linspace(0, pool.size - 1, _THRESHOLDS).astype(np.intp))]
    above = [
        side.size - np.searchsorted(np.sort(side), thresholds, side="right") for side in (choosing, choosing_there)
    ]
    lower = _lower(above[0], choosing.size, above[1], choosing_there.size, delta, tail)
    best = float(thresholds[int(np.argmax(lower))])
    return _judged(best, int((on > best).sum()), on.size, int((off > best).sum()), off.size, delta, tail)


def _clopper_pearson(x: ArrayLike, n: int, tail: float) -> tuple[Array, Array]:
    """Bounds on the probability of x successes of n, each wrong with probability at most ``tail``.

    low:  Pr[Binomial(n, low) >= x] = tail,     high:  Pr[Binomial(n, high) <= x] = tail
    """
    from scipy.special import betainccinv, betaincinv

    x = np.asarray(x, dtype=np.float64)
    low = np.where(x > 0, betaincinv(np.maximum(x, 1), n - x + 1, tail) * (1 - _OUTWARD), 0.0)
    high = np.where(x < n, betainccinv(x + 1, np.maximum(n - x, 1), tail) * (1 + _OUTWARD), 1.0)
    return low, np.minimum(high, 1.0)


def _lower(x: ArrayLike, n: int, y: ArrayLike, n_there: int, delta: float, tail: float) -> Array:
    """The bound for events with x hits of n here and y of n_there there; an array of their shape."""
    low, high = _clopper_pearson(x, n, tail)
    low_there, high_there = _clopper_pearson(y, n_there, tail)
    # The complement by its own counts: 1 - high would lose the digits of a small number.
    not_low, not_high = _clopper_pearson(n - np.asarray(x), n, tail)
    not_low_there, not_high_there = _clopper_pearson(n_there - np.asarray(y), n_there, tail)
    ratios = [
        (low - delta) / high_there,
        (low_there - delta) / high,
        (not_low - delta) / not_high_there,
        (not_low_there - delta) / not_high,
    ]
    return np.asarray(np.log(np.maximum(np.max(ratios, axis=0), 1.0)))


def _best_event(here: Counts, there: Counts, delta: float, tail: float) -> NDArray[np.bool_]:
    """The event of largest bound among those of the likeliest outcomes by ratio, up to some rank (Neyman, Pearson).

    The complements of such events serve the other direction.
    """
    n, n_there = int(here.sum()), int(there.sum())
    order = np.argsort(-(here + 0.5) * (n_there + 1) / ((there + 0.5) * (n + 1)), kind="stable")
    lower = _lower(np.cumsum(here[order])[:-1], n, np.cumsum(there[order])[:-1], n_there, delta, tail)
    chosen = np.zeros(here.size, dtype=np.bool_)
    chosen[order[: int(np.argmax(lower)) + 1]] = True
    return chosen


def _judged(
    event: NDArray[np.bool_] | float, x: int, n: int, y: int, n_there: int, delta: float, tail: float
) -> EmpiricalEpsilon:
    sides = []
    for hits, runs in ((x, n), (y, n_there)):
        low, high = _clopper_pearson(hits, runs, tail)
        sides.append(Interval(hits / runs, float(low), float(high)))
    return EmpiricalEpsilon(float(_lower(x, n, y, n_there, delta, tail)), event, *sides)


def _halves(name: str, counts: Counts, rng: np.random.Generator) -> tuple[Counts, Counts]:
    runs = int(counts.sum())
    if not 2 <= runs <= _MOST:
        raise InputError(
            f"{name} must hold 2 to {_MOST} runs, so that one half can choose the event. Got {runs}. Pass an event."
        )
    half = rng.multivariate_hypergeometric(counts, runs // 2)
    return half, counts - half


def _counts(name: str, values: ArrayLike) -> Counts:
    runs = array(name, values, ("outcomes",), 0, 2**53, "[)", wholes=True)
    if not runs.any():
        raise InputError(f"{name} must count at least one run. Got none.")
    return runs.astype(np.int64)


def _scores(name: str, values: ArrayLike) -> Array:
    scores = array(name, values, ("runs",), ends="[]")
    if scores.size < 2:
        raise InputError(f"{name} must hold the scores of two runs or more. Got one.")
    return scores


def _tail(confidence: float) -> float:
    """The probability with which each of the four one-sided bounds may fail."""
    return (1 - real("confidence", confidence, 0, 1, "()", hint="Pass for instance 0.95.")) / 4

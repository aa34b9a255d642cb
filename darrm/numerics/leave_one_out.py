"""Distributions of the ones among all labels of a bag but one, for every label of the bag.

Let P be the distribution of all k labels and q_i that of all but label i, whose probability of a one is p_i. Then

    P(l) = (1 - p_i) q_i(l) + p_i q_i(l - 1)

and q_i follows from P upwards from l = 0, or downwards from l = k. One step upwards multiplies the relative error by c
/ (1 - c), where c = p_i q_i(l - 1) / P(l) is the probability that label i is a one if l labels are; one step downwards
by its inverse. Since q_i is log-concave, c grows with l. So the upward recurrence is used while c <= 1/2 and the
downward one from there on: no step multiplies an error by more than 1, and every entry keeps its relative accuracy,
tails too.

    Error.  A step adds at most 2 (3 k + 4) u to the relative error, u = 2^-53 (3 k u is the bound for P), so the bound
    is 2 k (3 k + 4) u: 2e-10 for k = 512. Against exact fractions the error found is below 3e-14.
    Range.  P is kept times 2^1000, so the recurrences start at probabilities near 1e-600, or at the end of the bag.
    What they start with there may be wrong, and that fades on the way: entries above 1e-290 are as said above, for all
    labels with p_i and 1 - p_i above 1e-8 or 0.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import probabilities
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.poisson_binomial import pmf

_ENTRIES = 1 << 21  # of one table of leave-one-out distributions: 16 MB
MAX_BAG = 7_000  # labels: tables of 400 MB, some at once
_SCALE = 2.0**1000
_NONE = 1e-300  # below, 1 / p has no place in float64, and no probability above 1e-290 depends on p


def leave_one_out(p: ArrayLike) -> Array:
    """Probabilities of the number of ones among all labels but one.

        q_i(l) = Pr[sum over j != i of y_j = l],    y_j independent Bernoulli(p_j)

    Parameters
    ----------
    p : array_like, shape (k,) or (n, k), float64 in [0, 1]
        One bag or many.

    Returns
    -------
    ndarray, shape (k, k) or (n, k, k), float64
        [..., i, l]

    Raises
    ------
    InputError

    Notes
    -----
    O(k^2) a bag. The relative error is bounded above in this module.
    """
    bags, single = as_bags(p)
    out = np.moveaxis(table(bags), 0, -1)
    return np.ascontiguousarray(out[0] if single else out)


def as_bags(p: ArrayLike) -> tuple[Array, bool]:
    """Probabilities as an array (n, k), and whether they came as one bag (k,)."""
    bags = probabilities("eta", p)
    if bags.ndim > 2 or not bags.size:
        raise InputError(f"eta must have shape (k,) for one bag or (n, k) for n bags. Got {bags.shape}.")
    return np.atleast_2d(bags), bags.ndim == 1


def one_a_bag(output: Array, n: int) -> Array:
    """Outputs of n bags, shape (n,), refused if they are more or fewer; one bag may have a number alone."""
    outputs = np.atleast_1d(output)
    if outputs.shape != (n,):
        raise InputError(f"output must have one number for each of {n} bags. Got shape {output.shape}.")
    return outputs


def table(p: Array) -> Array:
    """Leave-one-out distributions of the bags p (n, k), with the number of ones first: [l, bag, i], shape (k, n, k)."""
    if p.shape[1] > MAX_BAG:
        raise InputError(
            f"Bags must have at most {MAX_BAG:,} labels where all numbers of ones are told apart: tables have the "
            f"square of it. Got {p.shape[1]:,}. Take smaller bags."
        )
    # Where a recurrence is not used it may run out of range.
    with np.errstate(divide="ignore", over="ignore"):
        return _recurrences(np.where(p < _NONE, 0, p))


def _recurrences(p: Array) -> Array:
    n, k = p.shape
    alpha = np.ascontiguousarray(pmf(p, _SCALE).T)[:, :, None]
    half = alpha / 2
    up = np.where(p < 1, 1 / (1 - p), 0.0)
    down = np.where(p > 0, 1 / p, 0.0)
    to_zero, to_one = up / _SCALE, down / _SCALE
    q = np.empty((k, n, k))
    rising = p < 1  # as long as label i is a one with at most 1/2; a label that is surely a one never is
    steps = np.zeros((n, k), dtype=np.int32)
    odds, joint = p * up, np.zeros((n, k))
    for l in range(k):  # joint = Pr[y_i = 0, l ones], scaled
        np.multiply(joint, odds, out=joint)
        np.subtract(alpha[l], joint, out=joint)
        np.maximum(joint, 0, out=joint)
        np.multiply(joint, to_zero, out=q[l])
        rising &= joint >= half[l]
        if not rising.any():
            break
        steps += rising
    least, most = int(steps.min()), int(steps.max())
    odds = (1 - p) * down
    joint[:] = 0
    for l in range(k, least, -1):  # joint = Pr[y_i = 1, l ones], scaled
        np.multiply(joint, odds, out=joint)
        np.subtract(alpha[l], joint, out=joint)
        np.maximum(joint, 0, out=joint)
        if l > most:
            np.multiply(joint, to_one, out=q[l - 1])
        else:
            np.copyto(q[l - 1], joint * to_one, where=steps < l)
    return q


def weighted(p: Array, weights: Array) -> tuple[Array, Array]:
    """Probability of an event given y_i = 0 and given y_i = 1, if it has probability weights(l) given l ones.

    Parameters
    ----------
    p : ndarray, shape (n, k)
    weights : ndarray, shape (n, k + 1)

    Returns
    -------
    ndarray, ndarray, shape (n, k)
    """
    q = table(p)
    zero = np.einsum("bl,lbi->bi", weights[:, :-1], q)
    return zero, np.einsum("bl,lbi->bi", weights[:, 1:], q)


def slices(n: int, entries: int) -> list[slice]:
    """Parts of n bags whose tables, of so many entries a bag, are small."""
    step = max(1, _ENTRIES // entries)
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def by_parts(n: int, entries: int, compute: Callable[[slice], Array]) -> Array:
    """``compute`` of all `slices`, in threads, one after the other in one array."""
    parts = slices(n, entries)
    if len(parts) == 1:
        return compute(parts[0])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.concatenate(list(pool.map(compute, parts)))


def posterior(eta: ArrayLike, weights: ArrayLike) -> Array:
    """P(y_i = 1 | output) from the probabilities of that output given each number of ones.

        eta_i f_1 / (eta_i f_1 + (1 - eta_i) f_0),    f_v = sum over l of q_i(l) weights(l + v)

    Parameters
    ----------
    eta : array_like, shape (k,) or (n, k), in [0, 1]
    weights : array_like, shape (k + 1,) or (n, k + 1), >= 0
        Pr[output | l ones] or anything proportional to it, for each bag.

    Returns
    -------
    ndarray, the shape of ``eta``

    Raises
    ------
    InputError
        If an output has a probability of 0, or below 1e-290.
    """
    bags, single = as_bags(eta)
    n, k = bags.shape
    given = np.broadcast_to(np.atleast_2d(np.asarray(weights, dtype=np.float64)), (n, k + 1))

    def part(at: slice) -> Array:
        zero, one = weighted(bags[at], given[at])
        one = bags[at] * one
        total = one + (1 - bags[at]) * zero
        if not np.all(total > 1e-290):
            bag = at.start + int(np.argwhere(~(total > 1e-290))[0, 0])
            raise InputError(
                f"The output of bag {bag} has probability 0 under eta (below 1e-290), so nothing follows from it. "
                "Check that output and eta belong to one bag."
            )
        return np.asarray(one / total)

    answer = by_parts(n, k * k, part)
    return answer[0] if single else answer

"""Certificates: is a noise function as private as promised, whoever made it?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from darrm.certificate.identical import IdenticalVoters, WorstPair
from darrm.certificate.separation import Worst, WorstCase, check_size, largest, worst_by_level
from darrm.certificate.smoothing import Array
from darrm.errors import CertificateError
from darrm.numerics.exact import decimals, rounded_up
from darrm.problem.limits import Promise, total_epsilon
from darrm.problem.majority import MajorityProblem
from darrm.problem.noise_function import noise_function

_STEPS = 20  # of Newton; six are usual
_CORNERS = ("(0,0)", "(1,1)", "(hi,lo)", "(lo,hi)", "(D,0)", "(0,D)", "(1-D,1)", "(1,1-D)")


@dataclass(frozen=True)
class Certificate:
    """What was proved about one noise function and one problem.

    Attributes
    ----------
    holds : bool
        True if the release is (m epsilon, delta)-DP, proved with all rounding counted: needed_delta <= delta.
    cost : float
        Upper bound on max over allowed (p, p') of f = A(p) - e^(m eps) A(p').
    limit : float
        The right side e^(m eps) - 1 + 2 delta. ``cost`` and ``limit`` are e^(m eps) - 1 plus twice
        ``needed_delta`` (unclipped), rounded up, and ``delta``, rounded to the nearest float64: for m eps above 36
        they can coincide although ``holds`` is False, and both are infinite above 709.
    needed_delta : float
        Upper bound on the least delta with which the release is (m epsilon, delta)-DP.
    realised_epsilon : float
        Upper bound on the least epsilon with which the release is (epsilon, delta)-DP at the problem's
        delta, in nats; infinite if there is none.
    worst_case : dict of str to int
        The multiset of corners that attains the cost; corners (p, p') in terms of hi, lo and D = Delta. Others may
        need more delta by rounding alone, some 1e-14 at K = 11; for m eps above 709, where float64 ends, by any amount
        if none needs any.
    probabilities : tuple of two floats
        Pr[release 1 | D] and Pr[release 1 | D'] at the worst case.
    rounding : float
        What ``needed_delta`` includes for rounding errors.
    """

    holds: bool
    cost: float
    limit: float
    needed_delta: float
    realised_epsilon: float
    worst_case: dict[str, int]
    probabilities: tuple[float, float]
    rounding: float


class IdenticalCertificate(Certificate):
    """A `Certificate` that is worth something only if all voters are identically distributed, on every data set.

    ``worst_case`` has one entry, the pair (p, p') of all of them, and ``cost`` is an upper bound that this pair attains
    but for ``rounding``.
    """


def verify(gamma: ArrayLike, problem: MajorityProblem, *, identical: bool = False) -> Certificate:
    """Recompute from the table alone whether it keeps the promise of the problem.

        holds  <=>  max over allowed (p, p') of  X(p) - e^(m eps) X(p')  <=  delta,    X(p) = Pr[release 1 | p]

    (output 0 is the mirror image), with every rounding error on the unsafe side.

    Parameters
    ----------
    gamma : array_like, shape (K + 1,), float in [0, 1], gamma[l] == gamma[K - l]
        For even K the entry at the tie K/2 has no effect: a tie is a fair coin.
    problem : MajorityProblem
    identical : bool
        Allow only identically distributed voters, p_1 = ... = p_K and p'_1 = ... = p'_K: the setting of Theorem 4.1 of
        the paper, weaker than the promise of a design. Needs ``changed`` = K.

    Returns
    -------
    Certificate
        An `IdenticalCertificate` if ``identical``.

    Raises
    ------
    InputError
        If gamma is not a noise function for this K, or K is above 3001.

    Notes
    -----
    Lemmas 3.4 and 5.1 of Jiang, Zhang, Joshi (TMLR 2024); separation and rounding bound in docs/theory.md.
    O(K^3) if Delta = 0, and for Delta > 0 the same times the number of voters that may move with a probability that
    matters; O(K^2) more for each entry that no bound settles. Twice that, or a little more, for the realised epsilon.
    """
    check_size(problem)
    table = noise_function(gamma, problem.K)
    total = total_epsilon(problem)
    if identical:
        voters = IdenticalVoters(table, problem)
        pair = voters.at(total)
        p, q = pair.pair
        realised = _realised_epsilon(
            voters.at, voters.at, problem, total if pair.bound <= problem.delta else None, voters.unavoidable
        )
        return IdenticalCertificate(
            **_figures(problem, pair),
            realised_epsilon=realised,
            worst_case={f"({p:.12g},{q:.12g})": problem.K},
        )
    worst = largest(worst_by_level(table.tobytes(), problem))
    cases = WorstCase(table, problem)
    known = total if worst.bound <= problem.delta else None
    return Certificate(
        **_figures(problem, worst),
        realised_epsilon=_realised_epsilon(cases.at, cases.without_lo_hi, problem, known),
        worst_case={name: count for name, count in zip(_CORNERS, worst.counts, strict=True) if count},
    )


class _Figures(TypedDict):
    holds: bool
    cost: float
    limit: float
    needed_delta: float
    probabilities: tuple[float, float]
    rounding: float


def _figures(problem: MajorityProblem, worst: Worst | WorstPair) -> _Figures:
    """What a certificate says of the worst case at the promised epsilon."""
    total = total_epsilon(problem)
    with decimals(total):
        grow = total.exp() - 1
        limit = float(grow + 2 * Decimal(problem.delta))
        cost = math.inf if math.isinf(limit) else rounded_up((grow + 2 * Decimal(worst.bound)) * (1 + Decimal("1e-50")))
    return {
        "holds": worst.bound <= problem.delta,
        "cost": cost,
        "limit": limit,
        "needed_delta": max(0.0, worst.bound),
        "probabilities": (worst.first, worst.second),
        "rounding": worst.rounding,
    }


def _realised_epsilon(
    at: Callable[[Decimal], Worst | WorstPair],
    quick: Callable[[Decimal], Worst | WorstPair],
    problem: MajorityProblem,
    known: Decimal | None,
    least: Decimal = Decimal(0),
) -> float:
    """Upper bound on the least epsilon that holds at delta; ``known``, if given, holds, ``least`` is not above it.

    ``at`` gives the worst case at an epsilon, ``quick`` one among fewer cases, to start with. The excess is convex and
    falling in e^epsilon, so Newton's steps, each to the epsilon of the worst case so far, rise to the root from the
    left. The last is then moved right until it is certified. Where they creep (a delta that is nearly 0), halving
    takes over.
    """
    with decimals(total_epsilon(problem)):
        delta, epsilon = problem.delta, least
        ceiling = Decimal(2 * problem.K * problem.epsilon + 2000) if known is None else known
        whole = False  # from here on the complete corner set; before, only the tables without (lo,hi)
        for step_number in count():
            if step_number > _STEPS:
                return _bisected(lambda epsilon: at(epsilon).bound <= delta, epsilon, ceiling)
            worst = at(epsilon) if whole else quick(epsilon)
            excess = worst.difference - delta
            if worst.bound > delta and excess > 0 and worst.second == 0:
                return math.inf if known is None else rounded_up(known)
            step = Decimal(math.log1p(excess / worst.second)) if worst.bound > delta and excess > 0 else Decimal(0)
            if step > epsilon * (1 + Decimal(2) ** -50):
                epsilon = step
            elif whole or (known is not None and epsilon >= known * (1 - Decimal(2) ** -30)):
                break
            else:
                whole = True
        if known is not None and epsilon >= known * (1 - Decimal(2) ** -30):
            return rounded_up(known)
        move = max(epsilon, Decimal(problem.epsilon)) * Decimal(2) ** -50
        while at(epsilon).bound > delta:
            if epsilon >= ceiling:
                return math.inf
            epsilon, move = min(epsilon + move, ceiling), 2 * move
        return rounded_up(epsilon)


def _bisected(holds: Callable[[Decimal], bool], low: Decimal, high: Decimal) -> float:
    """An epsilon that holds, close to the least; infinite if ``high`` does not."""
    if not holds(high):
        return math.inf
    while high - low > high * Decimal(2) ** -50:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return rounded_up(high)


def repair(gamma: ArrayLike, problem: Promise) -> Array:
    """The noise function scaled down by the certified ratio until it holds.

    The constraints are homogeneous in gamma, so limit / cost is the right factor; rounding the scaled table
    is not homogeneous, so it is verified again, and again a little lower if need be.

    Returns
    -------
    ndarray, shape (K + 1,)
        Unchanged if it holds as it is.

    Raises
    ------
    InputError
        As `verify`.
    CertificateError
        If no factor was found.
    """
    check_size(problem)

    def bound(table: Array) -> float:
        return largest(worst_by_level(table.tobytes(), problem)).bound

    return _scaled(shrink(gamma, problem), problem, bound)


def repair_all(gamma: ArrayLike, limits: Sequence[Promise]) -> Array:
    """`repair` until all of several limits hold at once; scaling down for one breaks another by rounding at most."""
    table = noise_function(gamma, limits[0].K)
    while True:
        before = table
        for limit in limits:
            table = repair(table, limit)
        if np.array_equal(before, table):
            return table


def shrink(gamma: ArrayLike, problem: Promise) -> Array:
    """The noise function scaled down until multisets without (lo,hi) hold: O(K^2), nearly `repair`, proves nothing."""

    def bound(table: Array) -> float:
        return WorstCase(table, problem).without_lo_hi(total_epsilon(problem)).bound

    return _scaled(noise_function(gamma, problem.K), problem, bound)


def _scaled(original: Array, problem: Promise, bound_of: Callable[[Array], float]) -> Array:
    """The noise function scaled down until ``bound_of`` it is at most delta."""
    total = total_epsilon(problem)
    with decimals(total):
        grow = total.exp() - 1
    table, scale, slack = original, 1.0, 2.0**-51
    while slack < 1:
        bound = bound_of(table)
        if bound <= problem.delta:
            return table
        with decimals(total):
            ratio = 1 - 2 * (Decimal(bound) - Decimal(problem.delta)) / (grow + 2 * Decimal(bound))
        scale, slack = scale * float(ratio) * (1 - slack), 4 * slack
        table = original * scale
    raise CertificateError(
        f"No multiple of this gamma could be verified for m epsilon = {problem.total_epsilon:g}, "
        f"delta = {problem.delta:g}, down to a factor of {scale:g}: float64 cannot tell it from no privacy. "
        "Nothing is released. Raise epsilon, m or delta."
    )

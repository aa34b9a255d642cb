"""Noise functions of the baselines of the paper."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array, check_positive, real, whole
from darrm.errors import InputError
from darrm.numerics.arrays import Array
from darrm.numerics.bisection import largest_that
from darrm.numerics.exact import decimals, rounded_up
from darrm.problem.groups import check_problem
from darrm.problem.majority import MajorityProblem

_MOST_SECONDS = 60.0


def subsampling(K: int, m: int) -> Array:
    """Noise function of the majority of m votes drawn without replacement (a fair coin flip on a tie).

        gamma(l) = |Pr[H > m/2] - Pr[H < m/2]|,    H ~ Hypergeometric(K votes, l ones, m drawn)

    By simple composition it is (m epsilon, 1 - (1 - Delta)^m)-DP.

    Parameters
    ----------
    K : int, at least 1
    m : int in [1, K]
        For a real allowance pass it rounded down, which keeps the guarantee.

    Returns
    -------
    ndarray, shape (K + 1,)

    Notes
    -----
    Lemma 3.1 of Jiang, Zhang, Joshi (TMLR 2024), for m odd and even; binomials in exact integers, O(K) of them. Sizes
    that take more than about a minute are refused.

    Examples
    --------
    One random vote of five, and the majority of three:

    >>> import darrm
    >>> darrm.baselines.subsampling(5, 1).round(3).tolist()
    [1.0, 0.6, 0.2, 0.2, 0.6, 1.0]
    >>> darrm.baselines.subsampling(5, 3).round(3).tolist()
    [1.0, 1.0, 0.4, 0.4, 1.0, 1.0]
    """
    K, m = _check_sizes(K, m)
    if _subsampling_seconds(K, m) > _MOST_SECONDS:
        fits = largest_that(m - 1, lambda n: _subsampling_seconds(K, n) <= _MOST_SECONDS)
        raise InputError(
            f"The majority of m = {m} votes of K = {K} takes about {math.ceil(_subsampling_seconds(K, m) / 60):,} "
            f"minutes in exact integers; at most {_MOST_SECONDS / 60:g} is taken. "
            + (f"m = {fits} would fit." if fits else "Take fewer votes.")
        )
    total, most = math.comb(K, m), m // 2
    gamma = np.empty(K + 1)
    ahead = -total  # draws with more ones than zeros, less those with more zeros
    for l in range(K // 2 + 1):
        gamma[l] = gamma[K - l] = abs(ahead) / total
        # One vote more turns to 1: that counts in the draws where, beside it, half of m (rounded down) are of one kind.
        rest = m - 1 - most
        ahead += math.comb(l, most) * math.comb(K - l - 1, rest) + math.comb(K - l - 1, most) * math.comb(l, rest)
    return gamma


def _subsampling_seconds(K: int, m: int) -> float:
    """About how long `subsampling` takes: for each number of ones four binomials of some m digits."""
    return K * (0.6e-6 + 1e-7 * m + 4e-11 * m**2)


def double_subsampling(K: int, m: int) -> Array:
    """Noise function of the majority of 2 m - 1 subsampled votes; of all K if that is more than K.

    m epsilon-DP for identically distributed, purely epsilon-DP mechanisms (K odd): Theorem 4.1 of Jiang, Zhang,
    Joshi (TMLR 2024). For any other voters use `darrm.verify`.

    Parameters
    ----------
    K : int, at least 1
    m : int in [1, K]

    Returns
    -------
    ndarray, shape (K + 1,)

    Examples
    --------
    The same guarantee, if all voters are identically distributed, from five votes where subsampling takes three:

    >>> import darrm
    >>> darrm.baselines.double_subsampling(11, 3)[6:].round(3).tolist()
    [0.216, 0.606, 0.879, 1.0, 1.0, 1.0]
    >>> darrm.baselines.subsampling(11, 3)[6:].round(3).tolist()
    [0.152, 0.442, 0.697, 0.891, 1.0, 1.0]
    """
    K, m = _check_sizes(K, m)
    return subsampling(K, min(2 * m - 1, K))


def _check_sizes(K: int, m: int) -> tuple[int, int]:
    K = whole("K", K)
    return K, whole("m", m, 1, K, allowed=f"in [1, K] = [1, {K}]")


def from_accuracy(pr_correct: ArrayLike) -> Array:
    """Noise function of an algorithm from the number of ones to a bit, given its probability of the majority.

        gamma(l) = 2 Pr[release the majority of l ones and K - l zeros] - 1

    The algorithm must treat all voters alike, and 0 and 1 alike. If it distinguishes voters, averages over voters are
    not its noise function: their certificate is for `mechanisms.DaRRM`, not for the algorithm.

    Parameters
    ----------
    pr_correct : array_like, shape (K + 1,), float in [1/2, 1], symmetric
        For l = 0, ..., K ones; 1/2 at a tie.

    Returns
    -------
    ndarray, shape (K + 1,)
        Verify it (`darrm.verify`) or scale it down to a guarantee (`darrm.repair`).

    Raises
    ------
    InputError
        If a probability is below 1/2 or above 1, or the algorithm treats 0 and 1 differently.

    Notes
    -----
    Lemma 3.3 of Jiang, Zhang, Joshi (TMLR 2024).

    Examples
    --------
    An algorithm that returns the majority of three votes with probability 0.6, and 0.9 where all agree:

    >>> import darrm
    >>> gamma = darrm.baselines.from_accuracy([0.9, 0.6, 0.6, 0.9])
    >>> gamma.round(4).tolist()
    [0.8, 0.2, 0.2, 0.8]
    >>> round(darrm.verify(gamma, darrm.MajorityProblem(K=3, m=2, epsilon=1.0)).tight_epsilon, 3)
    0.734
    """
    hint = "It is the probability of the true majority, not of the label 1."
    chance = array("pr_correct", pr_correct, ("K + 1",), 0.5, 1, "[]", hint=hint)
    K = chance.size - 1
    if not K:
        raise InputError("pr_correct must have shape (K + 1,), K >= 1. Got one number.")
    if np.any(chance != chance[::-1]):
        l = int(np.argmax(abs(chance - chance[::-1])))
        raise InputError(
            "pr_correct must be symmetric, as often right for l ones as for K - l. "
            f"Got {float(chance[l])!r} for l = {l} and {float(chance[K - l])!r} for l = {K - l}. "
            "A gamma treats 0 and 1 alike."
        )
    gamma = 2 * chance - 1
    if K % 2 == 0:
        gamma[K // 2] = 0.0
    return np.asarray(gamma)


def constant(
    problem: MajorityProblem, tau: float | None = None, lam: float | None = None, *, delta_prime: float | None = None
) -> Array:
    """Classical randomized response on the majority: the same probability for every l.

        gamma = (a - 1 + 2 delta) / (a - 1 + 2 W),    W = lam + (1 - lam) max(0, b - a) / (b + 1),
        a = e^(m eps), b = e^(tau eps),

    at most 1 and rounded down, if the plain majority is (tau epsilon, lam)-DP. It keeps the guarantee for every such
    majority: W is the largest q - a q' of pairs (q, q') that are (tau epsilon, lam)-close.

    Parameters
    ----------
    problem : MajorityProblem
    tau : float > 0, optional
        Default: ``max_affected``, by simple composition.
    lam : float in [0, 1), optional
        Default: 1 - (1 - Delta)^max_affected.
    delta_prime : float in (0, 1], optional
        Compute both by the general composition of ``max_affected`` mechanisms instead (`darrm.accounting.general`).

    Returns
    -------
    ndarray, shape (K + 1,)
        0 at a tie, which is a fair coin.

    Raises
    ------
    InputError
        If both ``tau`` or ``lam`` and ``delta_prime`` are given, or one is outside its range.

    Notes
    -----
    Lemma A.1 of Jiang, Zhang, Joshi (TMLR 2024) with a correction (docs/errata.md). Its pair (13) is the worst one for
    tau >= m only; for tau < m the pair (lam, 0) is worse. General composition as in their Appendix D.1.1.
    `largest_constant` is at least as large. Where the guarantee is met exactly, as for K = 1, `darrm.verify` can refuse
    it by its own rounding; apply `darrm.repair` then.

    Examples
    --------
    The plain majority of eleven voters, with the privacy of all votes together:

    >>> import darrm
    >>> problem = darrm.MajorityProblem(K=11, m=3, epsilon=0.1)
    >>> darrm.baselines.constant(problem)[6:].round(4).tolist()
    [0.2975, 0.2975, 0.2975, 0.2975, 0.2975, 0.2975]
    """
    check_problem(problem, majority=True)
    if delta_prime is None:
        spent = (check_positive("tau", problem.max_affected if tau is None else tau), problem.epsilon)
    elif tau is not None or lam is not None:
        raise InputError("constant takes either tau and lam, or delta_prime. Pass one of the two.")
    else:
        from darrm.accounting.theorems import general

        delta_prime = real("delta_prime", delta_prime, 0, 1, "(]", hint="Pass for instance 1e-6.")
        spent = (1.0, general(problem.epsilon, problem.Delta, problem.max_affected, delta_prime).epsilon)
    if lam is not None:
        lam = real("lam", lam, 0, 1, "[)")
    return plain_majority(problem.K) * _constant(problem, spent, lam, delta_prime or 0.0)


def _constant(problem: MajorityProblem, spent: tuple[float, float], lam: float | None, delta_prime: float) -> float:
    """The probability of `constant`, if the plain majority has epsilon ``product``; ``lam`` by composition if None."""
    with decimals(Decimal(1)):
        total, plain = Decimal(problem.m) * Decimal(problem.epsilon), Decimal(spent[0]) * Decimal(spent[1])
    small = min(x for x in (Decimal(problem.Delta), Decimal(delta_prime), Decimal(lam or 0), total, plain) if x)
    with decimals(small):
        if lam is None:
            missed = 1 - (1 - Decimal(problem.Delta)) ** problem.max_affected * (1 - Decimal(delta_prime))
        else:
            missed = Decimal(lam)
        # Divided by b, so that nothing overflows.
        ahead = 1 - (total - plain).exp() if total < plain else Decimal(0)
        further = (1 - missed) * ahead / (1 + (-plain).exp())
        excess = missed - Decimal(problem.delta) + further  # W - delta
        if excess <= 0:
            return 1.0
        shrink = (-total).exp()
        short = 2 * excess * shrink / (1 - shrink + 2 * (missed + further) * shrink)  # 1 - gamma
        # Below 1, even if decimals round it to 1.
        return min(math.nextafter(1.0, 0.0), -rounded_up(short * (1 + Decimal("1e-40")) - 1))


def largest_constant(problem: MajorityProblem) -> Array:
    """The largest constant gamma that satisfies the guarantee: exact, unlike `constant`, which uses composition.

        gamma = (e^(m eps) - 1 + 2 delta) / max over allowed (p, p') of f,    f as in `darrm.verify` for gamma = 1

    Parameters
    ----------
    problem : MajorityProblem

    Returns
    -------
    ndarray, shape (K + 1,)
        Verified; 0 at a tie, which releases a fair coin flip.

    Raises
    ------
    InputError, CertificateError
        As `darrm.repair`.

    Examples
    --------
    The largest verified constant is far above that by composition:

    >>> import darrm
    >>> problem = darrm.MajorityProblem(K=11, m=3, epsilon=0.1)
    >>> darrm.baselines.largest_constant(problem)[10:].round(4).tolist()
    [0.872, 0.872]
    >>> darrm.baselines.constant(problem)[10:].round(4).tolist()
    [0.2975, 0.2975]
    """
    from darrm.certificate.scaling import repair

    check_problem(problem, majority=True)
    return repair(plain_majority(problem.K), problem)


def plain_majority(K: int) -> Array:
    """Noise function of the majority without noise: 1, but 0 at a tie, which releases a fair coin flip.

    Examples
    --------
    >>> import darrm
    >>> darrm.baselines.plain_majority(4).tolist()
    [1.0, 1.0, 0.0, 1.0, 1.0]
    """
    K = whole("K", K)
    gamma = np.ones(K + 1)
    if K % 2 == 0:
        gamma[K // 2] = 0.0
    return gamma

"""The error of a released majority, against the plain majority of the votes."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from darrm._validation import array, probabilities, real, refusal, whole
from darrm.errors import InputError
from darrm.numerics.arithmetic import usual_arithmetic
from darrm.numerics.arrays import Array
from darrm.numerics.exact import decimals
from darrm.numerics.poisson_binomial import pmf
from darrm.priors import Prior, parse
from darrm.problem.groups import check_problem
from darrm.problem.limits import guarantee
from darrm.problem.majority import MajorityProblem
from darrm.problem.noise_function import Given, noise_function


@usual_arithmetic
def expected_error(gamma: Given, p: ArrayLike) -> Array | float:
    """Expected TV error of a noise function for given vote probabilities, exact.

        |Pr[release 1] - Pr[majority 1]| = 1/2 |sum over l > K/2 of (alpha_l - alpha_(K-l)) (1 - gamma(l))|

    Parameters
    ----------
    gamma : array_like, shape (K + 1,), float in [0, 1], symmetric, or a function of l
    p : array_like, shape (K,) or (n, K), float in [0, 1]
        Probability that each mechanism votes 1, for one data set or n of them.

    Returns
    -------
    float, or ndarray of shape (n,)

    Raises
    ------
    InputError
        If gamma or p is invalid, or they differ in K.

    Notes
    -----
    Definition 2.4 of Jiang, Zhang, Joshi (TMLR 2024). O(n K^2).

    Examples
    --------
    Eleven voters that each vote 1 with probability 0.7, and the error of two noise functions:

    >>> import darrm
    >>> design = darrm.solve(K=11, m=3, epsilon=0.1)
    >>> round(darrm.expected_error(design.gamma, [0.7] * 11), 3)
    0.05
    >>> round(darrm.expected_error(darrm.baselines.subsampling(11, 3), [0.7] * 11), 3)
    0.138
    """
    p = probabilities("p", p)
    if p.ndim > 2:
        raise InputError(f"p must have shape (K,) or (n, K). Got {p.shape}.")
    K = p.shape[-1]
    if not callable(gamma) and np.shape(gamma) != (K + 1,):
        raise InputError(
            f"p must hold a probability for each of the K voters, and gamma K + 1 numbers. Got shapes {p.shape} and "
            f"{np.shape(gamma)}."
        )
    half = noise_function(gamma, K)[K // 2 + 1 :]
    alpha = pmf(p)
    balance = alpha[..., K // 2 + 1 :] - alpha[..., : K - K // 2][..., ::-1]
    error = np.abs(balance @ (1 - half)) / 2
    return float(error) if p.ndim == 1 else error


def least_error(problem: MajorityProblem, p: float) -> float:
    """Lower bound on the error of any private algorithm for voters that all vote 1 with probability p, or 1 - p.

        error >= b - Pr[majority 1 | p],     p <= 1/2,     b a lower bound on Pr[release 1]:
        b(1/2) = 1/2,   b(lo) = (1 - delta) / (1 + e^(m eps)),   b(e^-eps (p - Delta)) = e^(-m eps) (b(p) - delta)

    and b of any other p is that of the next smaller one of these, the larger of the two chains. As 1 - p is rounded, a
    p at most 2^-51 below one of them counts as that one. The error of a release that sees the votes alone changes by
    K 2^-51 at most there.

    Parameters
    ----------
    problem : MajorityProblem
        With ``max_affected`` = K, because all voters must be affected.
    p : float in [0, 1]

    Returns
    -------
    float
        At least 0; to about 1e-12.

    Raises
    ------
    InputError

    Notes
    -----
    After Lemma 3.2 of Jiang, Zhang, Joshi (TMLR 2024), for any m and delta. That lemma says abs(Pr[majority 1] - p)
    for m = 1 and any p, which is too large: K = 11, epsilon = .1, p = .5125 has the bound .021303, and the
    optimum for voters of that p has the error .021225. The two agree at p = e^(-j eps) / 2 and p = e^(-j eps) lo.
    Proof in docs/theory.md.

    Examples
    --------
    Eleven such voters: the lower bound for any algorithm of epsilon 0.1, and the error of the optimal noise function.

    >>> import darrm
    >>> problem = darrm.MajorityProblem(K=11, m=1, epsilon=0.1)
    >>> round(darrm.measures.least_error(problem, 0.55), 4)
    0.0629
    >>> round(darrm.expected_error(darrm.solve(problem).gamma, [0.55] * 11), 4)
    0.0831
    """
    check_problem(problem, majority=True)
    if problem.max_affected != problem.K:
        raise InputError(
            f"least_error needs max_affected = K: changes that affect all voters. Got {problem.max_affected} of "
            f"{problem.K}."
        )
    p = real("p", p, 0, 1, hint="Pass one probability for all voters.")
    p = min(p, 1 - p)
    reached = float(_least_ones(problem, p, 2.0**-51 if p else 0.0))
    alpha = pmf(np.full(problem.K, p))
    half = problem.K // 2
    tie = alpha[half] / 2 if problem.K % 2 == 0 else 0.0
    return max(0.0, reached - float(alpha[half + 1 :].sum() + tie))


def _least_ones(problem: MajorityProblem, p: float, near: float) -> Decimal:
    """b(p) of `least_error`, p <= 1/2, in decimals: the number of links is a rounded up logarithm of a ratio."""
    [votes] = problem.groups
    epsilon, total = Decimal(votes.epsilon), guarantee(problem).epsilon
    with decimals(min(epsilon, total, Decimal(p or 1))):
        Delta, delta = Decimal(votes.delta), Decimal(problem.delta)
        fall, shrink = (-epsilon).exp(), (-total).exp()
        # After n links: at = fall^n (at + c) - c and, with d for delta, bound = shrink^n (bound + d) - d.
        c, d = Delta * fall / (1 - fall), delta * shrink / (1 - shrink)
        end = Decimal(p) + Decimal(near) + c
        if not end:
            return Decimal(0)
        half = Decimal("0.5")
        reached = Decimal(0)
        for at, bound in ((half, half), ((1 - Delta) * fall / (1 + fall), (1 - delta) * shrink / (1 + shrink))):
            links = max(Decimal(0), (((at + c) / end).ln() / epsilon).to_integral_value(ROUND_CEILING))
            reached = max(reached, (-links * total).exp() * (bound + d) - d)
        return reached


_CHUNK = 2000
MAX_DRAWS = 1_000_000_000


class Interval(NamedTuple):
    """A mean over draws and its confidence interval."""

    mean: float
    low: float
    high: float


def sampled_error(
    gammas: Mapping[str, ArrayLike],
    prior: Prior | str = "uniform",
    *,
    draws: int = 100_000,
    confidence: float = 0.95,
    rng: np.random.Generator | None = None,
) -> dict[str, Interval]:
    """Mean of `expected_error` over vote probabilities drawn from a prior, with the same draws for all noise functions.

    Parameters
    ----------
    gammas : mapping of str to array_like, shape (K + 1,)
        Noise functions by name, all for the same K.
    prior : Prior or str
        independent, common or fixed.
    draws : int in [2, 1e9]
    confidence : float in (0, 1)
        Of each interval, by the normal approximation.
    rng : numpy.random.Generator, optional
        Makes the result reproducible. Nothing here is private.

    Returns
    -------
    dict of str to Interval

    Raises
    ------
    InputError

    Notes
    -----
    Definition 2.4 of Jiang, Zhang, Joshi (TMLR 2024). On p >= 1/2 nothing cancels and the mean is ``Design.error``,
    which is exact. O(draws K^2).

    Examples
    --------
    Simulated and exact values:

    >>> import darrm
    >>> import numpy as np
    >>> design = darrm.solve(K=11, m=3, epsilon=0.1)
    >>> gammas = {"optimum": design.gamma, "subsampling": darrm.baselines.subsampling(11, 3)}
    >>> found = darrm.measures.sampled_error(gammas, draws=2000, rng=np.random.default_rng(0))
    >>> found["optimum"].low <= design.error <= found["optimum"].high
    True
    >>> found["optimum"].mean < found["subsampling"].mean
    True
    """
    from scipy.special import ndtri

    prior = parse(prior)
    if not isinstance(gammas, Mapping):
        raise refusal("gammas", "a mapping of names to noise functions", gammas)
    tables = {name: array("gammas", gamma, ("K + 1",)) for name, gamma in gammas.items()}
    sizes = {table.size for table in tables.values()}
    if len(sizes) != 1:
        raise InputError(f"gammas must be noise functions of one K. Got sizes {sorted(sizes)}.")
    draws = whole("draws", draws, 2, MAX_DRAWS)
    confidence = real("confidence", confidence, 0, 1, "()")
    K = sizes.pop() - 1
    halves = np.array([1 - noise_function(table, K)[K // 2 + 1 :] for table in tables.values()])
    rng = np.random.default_rng() if rng is None else rng
    total, squares = np.zeros(len(tables)), np.zeros(len(tables))
    for start in range(0, draws, _CHUNK):
        alpha = pmf(prior.sample(min(_CHUNK, draws - start), K, rng))
        errors = np.abs((alpha[:, K // 2 + 1 :] - alpha[:, : K - K // 2][:, ::-1]) @ halves.T) / 2
        total += errors.sum(axis=0)
        squares += (errors**2).sum(axis=0)
    mean = total / draws
    spread = np.sqrt(np.maximum(squares / draws - mean**2, 0) / (draws - 1)) * float(ndtri((1 + confidence) / 2))
    return {
        name: Interval(float(m), max(0.0, float(m - s)), float(m + s))
        for name, m, s in zip(tables, mean, spread, strict=True)
    }

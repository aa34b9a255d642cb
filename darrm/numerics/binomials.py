"""Truncated binomial distributions: the number of voters that move, each with a small probability."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from darrm.numerics.arrays import Array


@lru_cache(maxsize=4)
def binomials(most: int, chance: float, negligible: float) -> tuple[Array, Array, float]:
    """Probabilities that s of u voters move, u = 0, ..., ``most``, s up to a negligible tail.

    Returns
    -------
    pmf : ndarray, shape (most + 1, terms)
        Pr[Bin(u, chance) = s], by its recurrence (relative error 3 u 2^-53); read-only.
    moved : ndarray, same shape
        The same minus 1 at s = 0, as a sum of terms of one sign; read-only.
    beyond : float
        Upper bound on Pr[Bin(most, chance) >= terms], at most ``negligible``; 0 if every term is kept.
    """
    pmf, stay = np.zeros((most + 1, most + 1)), np.zeros(most + 1)
    pmf[0, 0] = 1.0
    for u in range(most):
        pmf[u + 1] = (1 - chance) * pmf[u]
        pmf[u + 1, 1:] += chance * pmf[u, :-1]
        stay[u + 1] = stay[u] - chance * pmf[u, 0]
    beyond = np.append(np.cumsum(pmf[-1, :0:-1])[::-1], 0.0) * (1 + 1e-9)
    beyond[:-1] += 1e-300
    terms = int(np.argmax(beyond <= negligible)) + 1
    pmf = pmf[:, :terms].copy()
    moved = pmf.copy()
    moved[:, 0] = stay
    pmf.flags.writeable = moved.flags.writeable = False
    return pmf, moved, float(beyond[terms - 1])

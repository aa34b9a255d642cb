"""The laws of the integer noise that noisy max draws, and what classes win with it: exact sums.

Z is the noise, f(t) = Pr[Z = t], H(t) = Pr[Z <= t]. Ties are decided by fair coins, which is the same as to add to each
Z an independent number u, uniform in [0, 1). Given that class j has the noisy count s + u, class i stays below it with
probability G_i = H(s - 1 - n_i) + u f(s - n_i). So

    Pr[j wins | counts n] = sum over s of f(s - n_j) integral from 0 to 1 of prod over i != j of G_i du
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from darrm._validation import check_positive
from darrm.errors import InputError
from darrm.numerics.arrays import Array

Integers = NDArray[np.int64]
WIDEST = 1e4  # scale of the noise, up to which sums over its values are made
_NODES = 16
_NEGLIGIBLE = -100.0  # logarithm of a product of chances below which a term is left out
_ENTRIES = 2**22


class IntegerNoise(Protocol):
    """A law on the integers, symmetric about 0, with f(t) / f(t + 1) that never falls."""

    @property
    def reach(self) -> int:
        """Pr[abs(Z) >= reach - 1] < 2 e^-40."""

    def log_mass(self, t: Integers) -> Array:
        """log f(t)."""

    def log_at_most(self, t: Integers) -> Array:
        """log H(t)."""

    def behind(self, d: Array) -> Array:
        """Pr[of two classes, the one that is d >= 0 votes behind wins] = Pr[X > d] + Pr[X = d] / 2, X = Z - Z'."""


class LaplaceLaw:
    """Pr[Z = t] proportional to e^(-gamma abs(t)): closed forms.

    q = e^-gamma: f(t) = q^abs(t) (1 - q) / (1 + q), H(t) = q^-t / (1 + q) for t < 0, 1 - H(-t - 1) otherwise;
    behind(d) = q^d (1 + d tanh(gamma / 2)) / 2 for any gamma (docs/theory, Lemma 18).
    """

    def __init__(self, gamma: float) -> None:
        self._gamma = min(gamma, 1e4)  # from 745 on all noise is 0 in float64, and larger ones overflow

    @property
    def reach(self) -> int:
        return math.ceil(min(40 / self._gamma, 1e9)) + 2

    def log_mass(self, t: Integers) -> Array:
        return np.asarray(math.log(math.tanh(self._gamma / 2)) - self._gamma * np.abs(t))

    def log_at_most(self, t: Integers) -> Array:
        tail = -self._gamma * np.where(t < 0, -t, t + 1) - math.log1p(math.exp(-self._gamma))
        return np.where(t < 0, tail, np.log1p(-np.exp(tail)))

    def behind(self, d: Array) -> Array:
        # From 745 on e^-x is below the range of float64.
        x = self._gamma * np.minimum(d, 745 / self._gamma)
        return np.asarray(np.exp(-x) * (1 + math.tanh(self._gamma / 2) / self._gamma * x) / 2)


class GaussianLaw:
    """Pr[Z = t] proportional to e^(-t^2 / (2 sigma^2)): tables, each entry a sum of positive numbers.

    The difference of two such Z has Pr[X = d] = e^(-d^2 / (4 sigma^2)) S(d mod 2) / S^2, with
    S(c) = sum over t of e^(-(t - c/2)^2 / sigma^2) and S = sum over t of e^(-t^2 / (2 sigma^2)).
    """

    def __init__(self, sigma: float) -> None:
        if sigma > WIDEST:
            raise InputError(
                f"sigma must be at most {WIDEST:g} for discrete noise. Got {sigma!r}. "
                'Noise as wide is nearly continuous: pass noise="continuous".'
            )
        self._sigma = sigma = max(sigma, 1e-3)  # below .025 all noise is 0 in float64, and smaller ones overflow
        # Pr[Z >= reach - 1] is at most that of a normal variable beyond reach - 2 >= 10 sigma, below e^-50.
        self._reach = math.ceil(10 * sigma) + 2
        # Of the relative error of every f(t), and of H(t) for t < 0. Tails are added from their far ends. Each addition
        # errs by 2^-53 of the sum so far, and the sums so far are together at most sigma + 2 times the last.
        self.rounding = 1e-12 + (sigma + 2) * 2.0**-52
        t = np.arange(-self.reach, self.reach + 1)
        logs = self._exponent(t, 2)
        self._log_mass = logs - math.log(np.exp(logs).sum())
        lower = np.cumsum(np.exp(self._log_mass[: self.reach]))  # H(t) for t = -reach, ..., -1
        with np.errstate(divide="ignore"):
            self._log_at_most = np.concatenate([[-np.inf], np.log(lower), np.log1p(-lower[::-1]), [0.0]])

    @property
    def reach(self) -> int:
        return self._reach

    def _exponent(self, t: NDArray[Any], twice: float) -> Array:
        return np.asarray(-((t / self._sigma) ** 2) / twice)

    def log_mass(self, t: Integers) -> Array:
        inside = np.abs(t) <= self.reach
        return np.where(inside, self._log_mass[np.where(inside, t, 0) + self.reach], -np.inf)

    def log_at_most(self, t: Integers) -> Array:
        return np.asarray(self._log_at_most[np.clip(t, -self.reach - 1, self.reach) + self.reach + 1])

    def behind(self, d: Array) -> Array:
        whole = np.arange(-self.reach, self.reach + 1)
        total = np.exp(self._exponent(whole, 2)).sum()
        even, odd = (np.exp(self._exponent(whole - c, 1)).sum() / total for c in (0.0, 0.5))
        # From 55 sigma on e^(-d^2 / (4 sigma^2)) is below the range of float64.
        far = math.ceil(55 * self._sigma) + 2
        distance = np.arange(far + 1)
        equal = np.exp(self._exponent(distance, 4)) * np.where(distance % 2, odd, even) / total
        at_least = np.cumsum(equal[::-1])[::-1]
        return np.asarray((at_least - equal / 2)[np.minimum(d, far).astype(np.intp)])


def integer_noise(gamma: float | None, sigma: float | None) -> IntegerNoise:
    """The law of `LaplaceNoisyMax` (gamma) or of `GaussianNoisyMax` (sigma)."""
    return (
        LaplaceLaw(check_positive("gamma", gamma)) if gamma is not None else GaussianLaw(check_positive("sigma", sigma))
    )


def winning(law: IntegerNoise, counts: Array, more: int = 0) -> Array:
    """Pr[j wins] for every class j, if it alone has ``more`` votes (0 or 1) above counts; shape (classes,).

    Each is right to 1e-12 times the number of classes. Gauss-Legendre quadrature in u is exact for polynomials of
    degree below twice the number of its nodes. Where 16 nodes are too few for that, they are used as long as
    sum over i of f(s - n_i) / H(s - n_i) <= 16 for all s at hand: on the ellipse rho = 8 about [0, 1] the integrand
    is then at most e^(1.54 * 16) times that at u = 1, so the error is below 5 e^(24.7) 8^-32 < 1e-17 of that.
    Left out are noisy counts that the largest does not reach with a chance of e^-40, and classes as far behind.
    """
    if law.reach > 40 * WIDEST + 10:
        raise InputError(
            f"gamma must be at least {1 / WIDEST:g} for discrete noise and three classes or more. "
            'Noise as wide is nearly continuous: pass noise="continuous".'
        )
    values, which, times = np.unique(
        np.maximum(counts - counts.max(), -2.0 * law.reach), return_inverse=True, return_counts=True
    )
    shifts = values.astype(np.int64)
    wins = np.zeros(values.size)
    grid = np.arange(-law.reach, law.reach + 2)
    chunk = max(1, _ENTRIES // (values.size * _NODES))
    for start in range(0, grid.size, chunk):
        s = grid[start : start + chunk]
        at = s - shifts[:, None]
        log_mass, log_at_most = law.log_mass(at), law.log_at_most(at)
        with np.errstate(invalid="ignore"):  # log 0 - log 0: both chances are below the range of float64
            kept = times @ log_at_most - log_at_most.min(axis=0) > _NEGLIGIBLE
        if not kept.any():
            continue
        at, log_mass, log_at_most = at[:, kept], log_mass[:, kept], log_at_most[:, kept]
        nodes = (counts.size + 1) // 2
        if nodes > _NODES and (times @ np.exp(log_mass - log_at_most)).max() <= _NODES:
            nodes = _NODES
        own, below = np.exp(law.log_mass(at - more)), law.log_at_most(at - 1)
        x, weights = np.polynomial.legendre.leggauss(nodes)
        for u, weight in zip((1 + x) / 2, weights / 2, strict=True):
            log_G = np.logaddexp(below, math.log(u) + log_mass)
            wins += weight * (own * np.exp(times @ log_G - log_G)).sum(axis=1)
    return np.asarray(wins[which])

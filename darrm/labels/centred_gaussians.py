"""Two centred normal vectors that differ in two variances: one larger, one smaller.

This is what neighbouring labels look like through secret normal weights (`darrm.labels.local_delta`). The
hockey-stick divergence is one integral of a completely monotone function, which quadrature by Gauss bounds from below
and by Lobatto from above. Derivations and proofs: docs/aggregates.md, Lemmas 2 to 4.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from darrm.numerics.arrays import Array

_NODES = 10  # on each panel; panels double in length
_FIRST, _LAST = -104, 48  # panels from 2^-104 to 2^48, in units of 1 / (1 + T)
_CHUNK = 256  # integrals at a time, for memory
_LEAST = 1e-100  # smaller changes of variance are raised to this, which raises delta


@cache
def _rules() -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Nodes and weights on [-1, 1]: Gauss and Lobatto."""
    gauss = np.polynomial.legendre.leggauss(_NODES)
    last = np.polynomial.Legendre.basis(_NODES - 1)
    nodes = np.concatenate([[-1.0], np.sort(last.deriv().roots().real), [1.0]])
    return gauss, (nodes, 2 / (_NODES * (_NODES - 1) * last(nodes) ** 2))


def _log_integral(a: Array, b: Array, t: Array, upper: bool) -> Array:
    """Bound on log E[(1 - e^((t - x) / 2))_+], x = a z1^2 - b z2^2, for t >= 0; arrays (n,).

    (a / pi) e^-T  integral over y > 0 of  e^(-T y) / (sqrt(y) (1 + y) (1 + a + y) sqrt(1 + r + r y)),
    T = t / (2 a),   r = b / a
    """
    if a.size > _CHUNK:
        parts = [slice(i, i + _CHUNK) for i in range(0, a.size, _CHUNK)]
        return np.concatenate([_log_integral(a[part], b[part], t[part], upper) for part in parts])
    T, r = (t / (2 * a))[:, None], (b / a)[:, None]
    unit = 1 / (1 + T)
    nodes, weights = _rules()[int(upper)]
    left = 2.0 ** np.arange(_FIRST, _LAST)
    half = left[:, None] / 2  # a panel is [left, 2 left]
    y = unit * (3 * half + half * nodes).ravel()
    w = (half * weights).ravel()
    value = np.exp(-T * y) / (np.sqrt(y) * (1 + y) * (1 + a[:, None] + y) * np.sqrt(1 + r + r * y))
    total = (value @ w) * unit[:, 0]
    slack = 0.0
    if upper:
        first, last = unit * 2.0**_FIRST, unit * 2.0**_LAST
        start = 2 * np.sqrt(first) / ((1 + a[:, None]) * np.sqrt(1 + r))
        end = np.exp(-T * last) * 2 / 3 * last**-1.5 / np.sqrt(1 + r + r * last)
        total = total + (start + end)[:, 0]
        slack = 1e-12
    # The rounding of T counts in the exponent.
    shift = slack + 1e-14 * T[:, 0] * (1 if upper else -1)
    return np.asarray(np.log(a / math.pi) - T[:, 0] + np.log(total) + shift)


def log_delta(epsilon: float, down: Array, up: Array, reverse: bool = False, upper: bool = True) -> Array:
    """log of the hockey-stick divergence of N(0, I) from N(0, diag(1 - down, 1 + up)), or of the latter from it.

    Parameters
    ----------
    epsilon : float > 0, nats
    down, up : ndarray, shape (n,), down in [0, 1), up >= 0
    reverse : bool
        The second from the first.
    upper : bool
        An upper bound (Lobatto), or a lower one (Gauss).

    Returns
    -------
    ndarray, shape (n,), at most 0, maybe -inf
        The bounds differ by a relative 1e-10 or less, and bound the true value up to a relative 1e-12 of rounding.
    """
    off_scale = down > 1 - 2.0**-53
    down, up = np.clip(down, _LEAST, 1 - 2.0**-53), np.maximum(up, _LEAST)
    ratio = np.log1p(up) + np.log1p(-down)
    forward_pair = (down / (1 - down), up / (1 + up))
    reverse_pair = (up, down)
    pair, other = (reverse_pair, forward_pair) if reverse else (forward_pair, reverse_pair)
    t = 2 * epsilon + (ratio if reverse else -ratio)
    answer = np.empty_like(t)
    far = t >= 0
    answer[far] = _log_integral(pair[0][far], pair[1][far], t[far], upper)
    if not far.all():
        # H_epsilon(P, Q) = 1 - e^epsilon + e^epsilon H_-epsilon(Q, P)
        inner = np.exp(_log_integral(other[0][~far], other[1][~far], -t[~far], upper))
        rounding = 1e-12 if upper else -1e-12
        with np.errstate(divide="ignore"):
            answer[~far] = np.log(np.clip(1 - math.exp(epsilon) * (1 - inner - rounding), 0, 1))
    # A larger `down` raises delta: with the clipped one, the lower bound holds and the upper one need not.
    return np.where(off_scale & upper, 0.0, np.minimum(answer, 0.0))


def variance_changes(shift: Array, tilt: Array) -> tuple[Array, Array]:
    """(down, up) >= 0 with up - down = shift and up * down = tilt, without cancellation; arrays (n,)."""
    root = np.hypot(shift, 2 * np.sqrt(tilt))
    big = (np.abs(shift) + root) / 2
    small = np.divide(tilt, big, out=np.zeros_like(big), where=big > 0)
    return np.where(shift >= 0, small, big), np.where(shift >= 0, big, small)

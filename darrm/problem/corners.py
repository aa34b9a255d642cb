"""The corner points of the (epsilon, Delta)-DP region of one vote: their names and exact coordinates."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from darrm.numerics.exact import decimals

NAMES = ("(0,0)", "(1,1)", "(hi,lo)", "(lo,hi)", "(D,0)", "(0,D)", "(1-D,1)", "(1,1-D)")
STILL = 2


class CornerCounts(NamedTuple):
    """The number of voters at each corner (p, p'), in the order of `NAMES`; with Delta = 0 the last four are 0."""

    zeros: int
    ones: int
    hi_lo: int
    lo_hi: int
    D_0: int = 0
    zero_D: int = 0
    near_one: int = 0
    one_near: int = 0

    def named(self) -> dict[str, int]:
        """The occupied corners, by name, with the number of voters at each."""
        return {name: count for name, count in zip(NAMES, self, strict=True) if count}


class Weights(NamedTuple):
    """hi, lo and hi - lo of an (epsilon, Delta)-DP bit, each the float64 nearest to its exact value.

    hi = (1 + Delta s) / (1 + s), lo = (1 - Delta) s / (1 + s) = 1 - hi, s = e^-epsilon.
    """

    hi: float
    lo: float
    gap: float


@lru_cache(maxsize=16)
def weights(epsilon: float, Delta: float) -> Weights:
    """The corner weights, from decimal arithmetic (whose exp is correctly rounded)."""
    exact_epsilon, exact_Delta = Decimal(epsilon), Decimal(Delta)
    with decimals(exact_epsilon):
        s = (-exact_epsilon).exp()
        return Weights(
            hi=float((1 + exact_Delta * s) / (1 + s)),
            lo=float((1 - exact_Delta) * s / (1 + s)),
            gap=float((1 - s + 2 * exact_Delta * s) / (1 + s)),
        )


class MovingCorner(NamedTuple):
    """A corner (p, p') of an (epsilon, Delta)-DP bit that an affected voter may sit at, in exact numbers."""

    name: str
    p: Decimal
    not_p: Decimal
    q: Decimal
    not_q: Decimal

    @property
    def gap(self) -> Decimal:
        """p - p', rounded by no context but ours."""
        with decimals(Decimal(1)):
            return self.p - self.q


@lru_cache(maxsize=64)
def moving_corners(epsilon: float, Delta: float) -> tuple[MovingCorner, ...]:
    """The corners with p != p', in the order of `NAMES`: two if Delta = 0 or epsilon is infinite, else six."""
    exact_Delta = Decimal(Delta) if epsilon < math.inf else Decimal(0)
    with decimals(Decimal(epsilon) if epsilon < math.inf else Decimal(1)):
        s = (-Decimal(epsilon)).exp() if epsilon < math.inf else Decimal(0)
        hi, lo = (1 + exact_Delta * s) / (1 + s), (1 - exact_Delta) * s / (1 + s)
        nothing, sure = Decimal(0), Decimal(1)
        pairs = [(hi, lo, lo, hi), (lo, hi, hi, lo)]
        if exact_Delta:
            stay = 1 - exact_Delta
            pairs += [
                (exact_Delta, stay, nothing, sure),
                (nothing, sure, exact_Delta, stay),
                (stay, exact_Delta, sure, nothing),
                (sure, nothing, stay, exact_Delta),
            ]
        return tuple(MovingCorner(name, *pair) for name, pair in zip(NAMES[STILL:], pairs, strict=False))

"""What bounds on the advantage ask of p = E[eta] and of the spread v = E[eta (1 - eta)]."""

from __future__ import annotations

import math

from darrm._validation import real


def check_spread(spread: object, p: float) -> float:
    """``spread`` as a float, refused unless it is in [0, p (1 - p)], up to rounding."""
    most = p * (1 - p)
    return real("spread", spread, 0, most * (1 + 1e-12), allowed=f"in [0, p (1 - p)] = [0, {most:g}]")


def bernstein_width(n: int, p: float) -> float:
    """The half-width around n p outside of which Bernstein leaves a Binomial(n, p) number at most 1 / (2 n).

    t = L / 3 + sqrt(L^2 / 9 + 2 n p (1 - p) L),    L = log(4 n)
    """
    log = math.log(4 * n)
    return log / 3 + math.sqrt(log * log / 9 + 2 * n * p * (1 - p) * log)

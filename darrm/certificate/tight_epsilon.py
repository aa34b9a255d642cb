"""The tight epsilon of one release: the least certified epsilon at its delta, rounding included."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from itertools import count

from darrm.certificate.protocol import Separation, WorstCase
from darrm.numerics.exact import decimals, rounded_up
from darrm.problem.limits import Limit, Problem

_STEPS = 20  # Newton steps; six are typical
_CLOSE = Decimal(2.0**-50)
_NEARLY = Decimal(2.0**-30)
_NOTHING = Decimal("1e-40")  # an epsilon that needs no digits


def tight_epsilon(search: Separation, limit: Limit[Problem], *, holds: bool) -> float:
    """Upper bound on the least epsilon at the delta of the limit; infinite if no epsilon holds.

    ``holds`` is whether the epsilon of the limit is enough. The hockey-stick divergence ("excess") is convex and
    falling in e^epsilon, so Newton's steps, each to the epsilon of the worst case so far, rise to the root from the
    left. The last one is then moved right until it is certified. Where the steps become small (a delta near 0),
    bisection takes over.
    """
    delta = limit.delta
    if holds:  # a design for a limit usually needs all of it
        known = search.glimpse(limit.epsilon)
        excess = known.difference - delta - 2 * known.rounding
        needed = math.log1p(excess / known.q_side) if excess > 0 < known.q_side else math.inf
        if float(limit.epsilon) * (1 - 2.0**-30) <= needed < math.inf:  # the quotient may overflow
            return rounded_up(limit.epsilon)
    with decimals(limit.epsilon):
        ceiling = limit.epsilon if holds else Decimal(_beyond(limit.problem))
        epsilon = search.facts().epsilon_floor
        complete = False  # Newton's steps use glimpses first, then the whole search

        def certified(epsilon: Decimal) -> bool:
            return search.worst(epsilon)[0].bound <= delta

        for step_number in count():
            if step_number > _STEPS:
                return _bisected(certified, epsilon, ceiling)
            worst = search.worst(epsilon)[0] if complete else search.glimpse(epsilon)
            step = _root(worst, delta)
            if step == math.inf:
                return _bisected(certified, epsilon, ceiling)
            if step > epsilon * (1 + _CLOSE):
                epsilon = step
            elif complete or (holds and epsilon >= limit.epsilon * (1 - _NEARLY)):
                break
            else:
                complete = True
        if holds and epsilon >= limit.epsilon * (1 - _NEARLY):
            return rounded_up(limit.epsilon)
        least = max([epsilon, *(Decimal(min(kind.epsilon, 1.0)) for kind in limit.problem.affected)]) or Decimal(1)
        below, move = epsilon, least * _CLOSE
        while worst.bound > delta:
            if epsilon >= ceiling:
                return math.inf
            # The epsilon at which this case is below delta by more than rounding; the distance doubles until it is
            # enough.
            enough = _root(worst, delta - 1.5 * worst.rounding)
            below, epsilon, move = epsilon, min(max(epsilon + move, enough), ceiling), 2 * move
            worst = search.worst(epsilon)[0]
        return rounded_up(epsilon) if epsilon - below <= epsilon * _NEARLY else _bisected(certified, below, epsilon)


def _root(worst: WorstCase, delta: float) -> Decimal:
    """The epsilon at which this case needs delta; inf if unknown in float64, 0 if only rounding exceeds delta."""
    excess = float(worst.difference - delta)
    if worst.bound <= delta or excess <= 0:
        return Decimal(0)
    return Decimal(math.log1p(excess / worst.q_side)) if worst.q_side else Decimal(math.inf)


def _beyond(problem: Problem) -> float:
    """An epsilon far above all finite losses of the voters."""
    return (
        2 * problem.K * max((kind.epsilon for kind in problem.affected if math.isfinite(kind.epsilon)), default=0.0)
        + 2000
    )


def _bisected(certified: Callable[[Decimal], bool], low: Decimal, high: Decimal) -> float:
    """A certified epsilon close to the least one; infinite if ``high`` is not certified."""
    if not certified(high):
        return math.inf
    while high - low > max(high * _CLOSE, _NOTHING):
        middle = (low + high) / 2
        low, high = (low, middle) if certified(middle) else (middle, high)
    return rounded_up(high)

"""The tight epsilon of one release: the least epsilon that holds at its delta, rounding included."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from itertools import count

from darrm.certificate.protocol import Separation, WorstCase, largest
from darrm.numerics.exact import decimals, rounded_up
from darrm.problem.limits import Limit, Problem

_STEPS = 20  # of Newton; six are usual
_CLOSE = Decimal(2.0**-50)
_NEARLY = Decimal(2.0**-30)


def tight_epsilon(search: Separation, limit: Limit[Problem], *, holds: bool) -> float:
    """Upper bound on the least epsilon that holds at the delta of the limit; infinite if none does.

    ``holds`` says whether the epsilon of the limit does. The excess is convex and falling in e^epsilon, so Newton's
    steps, each to the epsilon of the worst case so far, rise to the root from the left. The last is then moved right
    until it is certified. Where they creep (a delta that is nearly 0), halving takes over.
    """
    kinds = limit.problem.affected
    with decimals(limit.epsilon):
        delta, epsilon = limit.delta, search.facts().epsilon_floor
        ceiling = limit.epsilon if holds else Decimal(_beyond(limit.problem))
        if holds:  # what was designed for a limit usually needs all of it
            known = search.glimpse(limit.epsilon)
            excess = known.difference - delta - 2 * known.rounding
            if excess > 0 < known.q_side and math.log1p(excess / known.q_side) >= limit.epsilon * (1 - _NEARLY):
                return rounded_up(limit.epsilon)
        complete = False  # until Newton's steps on glimpses end, then the whole search

        def certified(epsilon: Decimal) -> bool:
            return largest(search.worst_cases(epsilon)).bound <= delta

        for step_number in count():
            if step_number > _STEPS:
                return _bisected(certified, epsilon, ceiling)
            worst = largest(search.worst_cases(epsilon)) if complete else search.glimpse(epsilon)
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
        below, move = epsilon, max(epsilon, *(Decimal(min(kind.epsilon, 1.0)) for kind in kinds)) * _CLOSE
        while worst.bound > delta:
            if epsilon >= ceiling:
                return math.inf
            # Where this case is below delta by more than rounding; if that is not enough, twice as far each time.
            enough = _root(worst, delta - 1.5 * worst.rounding)
            below, epsilon, move = epsilon, min(max(epsilon + move, enough), ceiling), 2 * move
            worst = largest(search.worst_cases(epsilon))
        return rounded_up(epsilon) if epsilon - below <= epsilon * _NEARLY else _bisected(certified, below, epsilon)


def _root(worst: WorstCase, delta: float) -> Decimal:
    """Where the excess of this case is delta; infinite if float64 cannot say, 0 if only rounding is above delta."""
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
    """An epsilon that holds, close to the least; infinite if ``high`` does not."""
    if not certified(high):
        return math.inf
    while high - low > high * _CLOSE:
        middle = (low + high) / 2
        low, high = (low, middle) if certified(middle) else (middle, high)
    return rounded_up(high)

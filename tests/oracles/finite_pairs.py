"""Pairs of distributions over a few outcomes, composed in exact fractions, as an oracle of privacy curves."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TypeAlias

import numpy as np
from oracles.exact import exponential

from darrm.accounting.curves import Curve

Pair: TypeAlias = tuple[tuple[Fraction, Fraction], ...]  # (probability on D, on D') of each outcome
ZERO, ONE = Fraction(0), Fraction(1)


def random_pair(rng: random.Random, outcomes: int, zeros: int = 0, unit: int = 60) -> Pair:
    """A pair whose sides differ by less than a factor of ten, but for so many outcomes that one side never gives."""
    side = [[rng.randint(unit // 4, unit) for _ in range(outcomes)] for _ in range(2)]
    for _ in range(zeros):
        side[rng.randrange(2)].append(0)
        side[0 if len(side[0]) < len(side[1]) else 1].append(rng.choice([1, 2]))
    P, Q = ([Fraction(n, sum(one)) for n in one] for one in side)
    return tuple(zip(P, Q, strict=True))


def response(odds: Fraction, failure: Fraction = ZERO) -> Pair:
    """Randomized response of odds e^epsilon, and a failure."""
    hi, lo = odds / (1 + odds) * (1 - failure), 1 / (1 + odds) * (1 - failure)
    return ((failure, ZERO), (hi, lo), (lo, hi), (ZERO, failure)) if failure else ((hi, lo), (lo, hi))


def exchanged(pair: Pair) -> Pair:
    return tuple((q, p) for p, q in pair)


def merged(pair: Iterable[tuple[Fraction, Fraction]]) -> Pair:
    """The same with one outcome for each loss."""
    found: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
    for p, q in pair:
        if p or q:
            key = p / q if q else None
            before = found.get(key, (ZERO, ZERO))
            found[key] = (before[0] + p, before[1] + q)
    return tuple(found.values())


def composed(pairs: Sequence[tuple[Pair, int]]) -> Pair:
    """All of them, each so many times."""
    found: Pair = ((ONE, ONE),)
    for pair, n in pairs:
        for _ in range(n):
            found = merged((p * x, q * y) for (p, q), (x, y) in product(found, pair))
    return found


def excess(pair: Pair, a: Fraction) -> Fraction:
    return sum((max(ZERO, p - a * q) for p, q in pair), ZERO)


def up(x: Fraction) -> float:
    """The least float64 that is not below."""
    nearest = float(x)
    return nearest if Fraction(nearest) >= x else math.nextafter(nearest, math.inf)


def curve(pair: Pair) -> Curve:
    """Its curve, by its excess where its losses are."""
    kinks = {abs(math.log(p) - math.log(q)) for p, q in pair if p and q}
    last = max(kinks, default=0.0) * (1 + 1e-15)
    epsilons = np.array(sorted({0.0, *kinks} - {max(kinks, default=0.0)} | {last}))
    at = [exponential(Decimal(float(epsilon))) for epsilon in epsilons]
    return Curve.of(epsilons, np.array([[up(excess(side, a)) for a in at] for side in (pair, exchanged(pair))]))


def epsilon(pair: Pair, delta: Fraction) -> float:
    """The least epsilon >= 0 at delta in this direction; infinite if there is none."""
    if excess(pair, ONE) <= delta:
        return 0.0
    if sum((p for p, q in pair if not q), ZERO) > delta:
        return math.inf
    kinks = sorted(p / q for p, q in pair if q and p > q)
    for left, right in zip([ONE, *kinks], kinks, strict=False):
        before, after = excess(pair, left), excess(pair, right)
        if after <= delta:
            a = left + (right - left) * (before - delta) / (before - after)
            return math.log(a.numerator) - math.log(a.denominator)
    raise ArithmeticError("the excess does not reach delta")


def renyi(pair: Pair, order: float) -> tuple[Decimal, Decimal]:
    """The divergence of what is finite, and the probability of an infinite loss, in this direction."""
    with localcontext() as context:
        context.prec = 60
        alpha, total, failed = Decimal(order), Decimal(0), Decimal(0)
        for p, q in pair:
            x, y = (Decimal(side.numerator) / Decimal(side.denominator) for side in (p, q))
            if x and y:
                total += (alpha * x.ln() + (1 - alpha) * y.ln()).exp()
            elif x:
                failed += x
        return total.ln() / (alpha - 1), failed


Counts: TypeAlias = tuple[int, ...]


def best_strategy(kinds: Sequence[Pair], within: Callable[[Counts], bool], epsilon: float) -> float:
    """The largest Pr[S | D] - e^epsilon Pr[S | D'] of an adversary who chooses along the way.

    It sees every outcome, uses any kind next as long as ``within`` holds of how often each was used, and stops when it
    likes. By going through all numbers of uses and all sums of losses.
    """
    outcomes = [
        [(float(p), None if not q else math.log(q / p)) for p, q in kind if p] for kind in kinds
    ]  # the ratio moves a
    seen: dict[tuple[Counts, Counts], float] = {}
    places = [(k, o) for k, found in enumerate(outcomes) for o in range(len(found))]
    allowed = cache(within)

    def worst(used: Counts, met: Counts) -> float:
        key = (used, met)
        if key not in seen:
            log_a = epsilon + math.fsum(n * (outcomes[k][o][1] or 0.0) for n, (k, o) in zip(met, places, strict=True))
            most = max(0.0, -math.expm1(log_a))
            for k, found in enumerate(outcomes):
                more = tuple(n + (i == k) for i, n in enumerate(used))
                if allowed(more):
                    value = 0.0
                    for o, (p, ratio) in enumerate(found):
                        at = places.index((k, o))
                        then = tuple(n + (i == at) for i, n in enumerate(met))
                        value += p * (1.0 if ratio is None else worst(more, then))
                    most = max(most, value)
            seen[key] = most
        return seen[key]

    return worst((0,) * len(kinds), (0,) * len(places))

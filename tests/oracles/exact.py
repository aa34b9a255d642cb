"""The worst case by the definition: every multiset of corners, exact fractions, e^x to 80 digits."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, product
from math import comb, lcm

from darrm import MajorityProblem


def exponential(x: Decimal) -> Fraction:
    with localcontext() as context:
        context.prec = 80
        return Fraction(x.exp())


def total_epsilon(problem: MajorityProblem) -> Decimal:
    with localcontext() as context:
        context.prec = 120
        return Decimal(problem.m) * Decimal(problem.epsilon)


def corners(problem: MajorityProblem) -> list[tuple[Fraction, Fraction]]:
    D, e = Fraction(problem.Delta), exponential(Decimal(problem.epsilon))
    hi, lo, zero, one = (e + D) / (e + 1), (1 - D) / (e + 1), Fraction(0), Fraction(1)
    pure = [(zero, zero), (one, one), (hi, lo), (lo, hi)]
    return pure + ([(D, zero), (zero, D), (1 - D, one), (one, 1 - D)] if D else [])


def multisets(K: int, kinds: int, max_affected: int) -> Iterator[tuple[int, ...]]:
    """Counts of each kind that sum to K, at most ``max_affected`` of them beyond the first two kinds."""
    for moving in product(range(max_affected + 1), repeat=kinds - 2):
        if sum(moving) <= max_affected:
            for ones in range(K - sum(moving) + 1):
                yield (K - sum(moving) - ones, ones, *moving)


def pmf(p: list[Fraction]) -> list[Fraction]:
    out = [Fraction(1)]
    for x in p:
        out = [
            (out[l] * (1 - x) if l < len(out) else Fraction(0)) + (out[l - 1] * x if l else Fraction(0))
            for l in range(len(out) + 1)
        ]
    return out


def acceptance(gamma: list[float]) -> list[Fraction]:
    K = len(gamma) - 1
    return [(1 + ((2 * l > K) - (2 * l < K)) * Fraction(g)) / 2 for l, g in enumerate(gamma)]


def probabilities(gamma: list[float], problem: MajorityProblem, counts: tuple[int, ...]) -> tuple[Fraction, Fraction]:
    """Pr[release 1] under p and under p' of one multiset."""
    X = acceptance(gamma)
    answer = []
    for side in (0, 1):
        p = [corner[side] for corner, n in zip(corners(problem), counts, strict=False) for _ in range(n)]
        answer.append(sum((x * a for x, a in zip(X, pmf(p), strict=True)), Fraction(0)))
    return answer[0], answer[1]


def worst_excess(gamma: list[float], problem: MajorityProblem, epsilon: Decimal) -> Fraction:
    """max over all multisets of Pr[1 | p] - e^epsilon Pr[1 | p'].

    Multisets that begin alike share their beginning, and all numbers are whole multiples of one fraction: X averaged
    over the votes of n moving voters is a table over the ones of the others, which are at (0,0) or (1,1).
    """
    e, X, moving = exponential(epsilon), acceptance(gamma), corners(problem)[2:]
    unit = lcm(*(p.denominator for corner in moving for p in corner))
    chances = [tuple(p.numerator * (unit // p.denominator) for p in corner) for corner in moving]
    scale = lcm(*(x.denominator for x in X))

    def averaged(table: list[int], p: int) -> list[int]:
        return [(unit - p) * x + p * y for x, y in pairwise(table)]

    def worst(P: list[int], Q: list[int], kinds: list[tuple[int, ...]], left: int) -> int:
        """The largest multiple of 1 / (scale unit^max_affected e.denominator), with ``left`` voters that may move."""
        if not kinds:
            most = max(e.denominator * p - e.numerator * q for p, q in zip(P, Q, strict=True))
            return most * unit**left
        found = worst(P, Q, kinds[1:], left)
        while left:
            P, Q, left = averaged(P, kinds[0][0]), averaged(Q, kinds[0][1]), left - 1
            found = max(found, worst(P, Q, kinds[1:], left))
        return found

    table = [x.numerator * (scale // x.denominator) for x in X]
    return Fraction(
        worst(table, table, chances, problem.max_affected), scale * unit**problem.max_affected * e.denominator
    )


def acceptance_alike(gamma: list[float], p: Fraction) -> Fraction:
    """Pr[release 1] if every voter votes 1 with probability p."""
    K = len(gamma) - 1
    return sum((x * comb(K, l) * p**l * (1 - p) ** (K - l) for l, x in enumerate(acceptance(gamma))), Fraction(0))

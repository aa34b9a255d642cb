"""Decisions by groups of voters, by the definition: every multiset of corners of every group, both answers.

Numbers are decimals of 150 digits. Nothing of darrm is used: problems are plain values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import numpy as np

_CONTEXT = Context(prec=150, Emin=-999_999_999, Emax=999_999_999)
Corner = tuple[Decimal, Decimal]  # (p, p'): how likely a voter says 1 on the one data set and on the other


class Group(NamedTuple):
    """``count`` voters that are (epsilon, delta)-DP; one record reaches ``reach`` of them at most."""

    count: int
    epsilon: float
    delta: float
    reach: int


class Truth(NamedTuple):
    """Pr[answer | D] and Pr[answer | D'] for every case; a case is a row of each matrix and an answer."""

    p_side: list[Decimal]
    q_side: list[Decimal]

    def excess(self, epsilon: float | Decimal) -> Decimal:
        """The least delta that is needed at epsilon; above 0 or not."""
        with localcontext(_CONTEXT):
            grow = Decimal(epsilon).exp()
            return max(p - grow * q for p, q in zip(self.p_side, self.q_side, strict=True))

    def tight_epsilon(self, delta: float) -> Decimal:
        """The least epsilon at delta; infinite if there is none."""
        with localcontext(_CONTEXT):
            largest = Decimal(1)
            for p, q in zip(self.p_side, self.q_side, strict=True):
                if p - Decimal(delta) > largest * q:
                    if not q:
                        return Decimal("inf")
                    largest = (p - Decimal(delta)) / q
            return largest.ln()


def corners(epsilon: float, delta: float) -> list[Corner]:
    """The corners of an (epsilon, delta)-DP bit, d = delta, e = e^epsilon: where two of

        p <= e p' + d,  p' <= e p + d,  1 - p <= e (1 - p') + d,  1 - p' <= e (1 - p) + d,  0 <= p, p' <= 1

    meet. The first two are the voters that are not reached.
    """
    with localcontext(_CONTEXT):
        zero, one, d = Decimal(0), Decimal(1), Decimal(delta)
        still = [(zero, zero), (one, one)]
        if epsilon == math.inf:
            return [*still, (one, zero), (zero, one)]
        e = Decimal(epsilon).exp()
        high, low = (e + d) / (e + 1), (1 - d) / (e + 1)
        moving = [(high, low), (low, high)]
        if d:
            moving += [(d, zero), (zero, d), (1 - d, one), (one, 1 - d)]
        return still + moving


def ones(chances: Sequence[Decimal]) -> list[Decimal]:
    """The distribution of the number of ones among voters with these chances, by every set of voters that say 1."""
    distribution = [Decimal(1)]
    for p in chances:
        stay, go = [(1 - p) * x for x in distribution], [p * x for x in distribution]
        distribution = [a + b for a, b in zip([*stay, Decimal(0)], [Decimal(0), *go], strict=True)]
    return distribution


def cases(group: Group) -> Iterator[tuple[int, list[Corner]]]:
    """Every multiset of corners of a group, with the number of voters that are reached."""
    kinds = corners(group.epsilon, group.delta)
    for chosen in combinations_with_replacement(range(len(kinds)), group.count):
        reached = sum(corner >= 2 for corner in chosen)
        if reached <= group.reach:
            yield reached, [kinds[corner] for corner in chosen]


def rows(groups: Sequence[Group], reach: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The distributions of the counts on D and on D' in every case: matrices of (cases, entries of the table)."""
    with localcontext(_CONTEXT):
        parts = []
        for group in groups:
            own = list(cases(group))
            sides = [np.array([ones([c[side] for c in voters]) for _, voters in own], dtype=object) for side in (0, 1)]
            parts.append(([reached for reached, _ in own], *sides))
        reached, P, Q = parts[0]
        for more, P_own, Q_own in parts[1:]:
            together = [
                (i, j) for i, j in product(range(len(reached)), range(len(more))) if reached[i] + more[j] <= reach
            ]
            left, right = np.array(together).T
            P, Q = (
                (one[left][:, :, None] * own[right][:, None, :]).reshape(len(together), -1)
                for one, own in ((P, P_own), (Q, Q_own))
            )
            reached = [reached[i] + more[j] for i, j in together]
        kept = np.array(reached) <= reach
        return P[kept], Q[kept]


def truth(table: np.ndarray[Any, Any], groups: Sequence[Group], reach: int) -> Truth:
    """What a release answers in every case; ``table`` has Pr[answer 1] for the numbers of ones in each group."""
    with localcontext(_CONTEXT):
        P, Q = rows(groups, reach)
        X = np.array([Decimal(value) for value in np.asarray(table, dtype=np.float64).ravel().tolist()], dtype=object)
        return Truth([*P.dot(X), *P.dot(1 - X)], [*Q.dot(X), *Q.dot(1 - X)])


def excess_by_voters(
    table: np.ndarray[Any, Any],
    voters: Sequence[tuple[int, list[tuple[Fraction, Fraction]]]],
    reach: int,
    grow: Fraction,
) -> Fraction:
    """The same by a longer way, in fractions: every voter at every corner of its own, every vote vector.

    ``voters`` are (group, corners) with the two corners of a voter that is not reached first. ``reach`` over all.
    """
    worst = Fraction(-(10**9))
    for chosen in product(*(range(len(kinds)) for _, kinds in voters)):
        if sum(corner >= 2 for corner in chosen) > reach:
            continue
        sides = [Fraction(0), Fraction(0)]
        for votes in product((0, 1), repeat=len(voters)):
            counts = [0] * table.ndim
            chances = [Fraction(1), Fraction(1)]
            for vote, corner, (group, kinds) in zip(votes, chosen, voters, strict=True):
                counts[group] += vote
                chances = [x * (p if vote else 1 - p) for x, p in zip(chances, kinds[corner], strict=True)]
            X = Fraction(float(table[tuple(counts)]))
            sides = [total + chance * X for total, chance in zip(sides, chances, strict=True)]
        p, q = sides
        worst = max(worst, p - grow * q, (1 - p) - grow * (1 - q))
    return worst

"""Decisions between several classes, by the definition: every corner of every voter, and all sets of answers.

Numbers are decimals of 150 digits. Nothing of darrm is used: problems are plain values, a table is a function of votes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal, localcontext
from itertools import combinations, combinations_with_replacement, permutations, product
from typing import Any, NamedTuple

import numpy as np

_CONTEXT = Context(prec=150, Emin=-999_999_999, Emax=999_999_999)
Counts = tuple[int, ...]
Votes = tuple[Counts, ...]  # of each group
Chances = tuple[Decimal, ...]  # of each class
Table = dict[Votes, list[Decimal]]


class Group(NamedTuple):
    """``count`` voters that are (epsilon, delta)-DP; one record reaches ``reach`` of them at most."""

    count: int
    epsilon: float
    delta: float
    reach: int


class Truth(NamedTuple):
    """Pr[o | D] and Pr[o | D'] for every case and answer."""

    p_side: np.ndarray[Any, Any]
    q_side: np.ndarray[Any, Any]

    def excess(self, epsilon: float | Decimal) -> Decimal:
        """The least delta that is needed at epsilon; of the worst single answer if none is."""
        with localcontext(_CONTEXT):
            each = self.p_side - Decimal(epsilon).exp() * self.q_side
            return max(map(self._above, each)) or max(each.ravel())

    def excess_by_sets(self, epsilon: float | Decimal) -> Decimal:
        """The same, from every set of answers but none."""
        with localcontext(_CONTEXT):
            each = self.p_side - Decimal(epsilon).exp() * self.q_side
            answers = range(each.shape[1])
            sets = [list(chosen) for size in answers for chosen in combinations(answers, size + 1)]
            return max(sum((row[o] for o in chosen), Decimal(0)) for row in each for chosen in sets)

    def tight_epsilon(self, delta: float) -> Decimal:
        """The least epsilon at delta, within 1e-40 relatively; infinite if there is none."""
        with localcontext(_CONTEXT):
            if max(self._above(p[q == 0]) for p, q in zip(self.p_side, self.q_side, strict=True)) > Decimal(delta):
                return Decimal("inf")
            low, high = Decimal(0), Decimal(2)
            if self.excess(low) <= Decimal(delta):
                return low
            while self.excess(high) > Decimal(delta):
                low, high = high, 2 * high
            for _ in range(140):
                middle = (low + high) / 2
                low, high = (low, middle) if self.excess(middle) <= Decimal(delta) else (middle, high)
            return high

    @staticmethod
    def _above(values: Any) -> Decimal:
        return sum((value for value in values if value > 0), Decimal(0))


def outcomes(epsilon: float, delta: float) -> tuple[Chances, Chances]:
    """An (epsilon, delta)-DP choice of which all others are made (Kairouz, Oh, Viswanath)."""
    with localcontext(_CONTEXT):
        zero, one, d = Decimal(0), Decimal(1), Decimal(delta)
        if epsilon == math.inf:
            return (one, zero), (zero, one)
        e = Decimal(epsilon).exp()
        high, low = (1 - d) * e / (1 + e), (1 - d) / (1 + e)
        return ((d, high, low, zero), (zero, low, high, d)) if d else ((high, low), (low, high))


def corners(classes: int, epsilon: float, delta: float) -> list[tuple[Chances, Chances]]:
    """All maps of those outcomes to classes, as pairs of distributions."""
    p, q = outcomes(epsilon, delta)
    found = dict[tuple[Chances, Chances], None]()
    with localcontext(_CONTEXT):
        for said in product(range(classes), repeat=len(p)):
            # Sorted, so that what is the same on both sides is rounded the same.
            own = [
                [sorted(w for w, name in zip(side, said, strict=True) if name == c) for c in range(classes)]
                for side in (p, q)
            ]
            here, there = (tuple(sum(part, Decimal(0)) for part in side) for side in own)
            found[here, there] = None
    return list(found)


def votes_of(voters: Sequence[Chances]) -> dict[Counts, Decimal]:
    """The distribution of the votes for each class among voters with these chances."""
    found = {(0,) * len(voters[0]): Decimal(1)}
    for chances in voters:
        more: dict[Counts, Decimal] = {}
        for counts, chance in found.items():
            for c, own in enumerate(chances):
                if own:
                    after = (*counts[:c], counts[c] + 1, *counts[c + 1 :])
                    more[after] = more.get(after, Decimal(0)) + chance * own
        found = more
    return found


def cases(group: Group, classes: int) -> Iterator[tuple[int, dict[Counts, Decimal], dict[Counts, Decimal]]]:
    """Every multiset of corners of a group: how many voters are reached, and the votes on both sides."""
    with localcontext(_CONTEXT):
        for chosen in combinations_with_replacement(corners(classes, group.epsilon, group.delta), group.count):
            reached = sum(p != q for p, q in chosen)
            if reached <= group.reach:
                yield reached, votes_of([p for p, _ in chosen]), votes_of([q for _, q in chosen])


def truth(table: Table, groups: Sequence[Group], classes: int, reach: int) -> Truth:
    """What a release answers in every case."""
    place = {votes: i for i, votes in enumerate(table)}
    X = np.array([list(row) for row in table.values()], dtype=object)
    sides: list[list[Any]] = [[], []]
    with localcontext(_CONTEXT):
        for chosen in product(*(list(cases(group, classes)) for group in groups)):
            if sum(own[0] for own in chosen) > reach:
                continue
            for side, answers in enumerate(sides):
                total = np.zeros(X.shape[1], dtype=object) + Decimal(0)
                for parts in product(*((own[2] if side else own[1]).items() for own in chosen)):
                    chance = Decimal(1)
                    for _, own in parts:
                        chance *= own
                    total = total + chance * X[place[tuple(counts for counts, _ in parts)]]
                answers.append(total)
        return Truth(np.array(sides[0]), np.array(sides[1]))


def all_votes(groups: Sequence[Group], classes: int) -> list[Votes]:
    """Every vector of votes of each group, descending; the last group varies fastest."""

    def of(total: int, left: int) -> list[Counts]:
        if left == 1:
            return [(total,)]
        return [(first, *rest) for first in range(total, -1, -1) for rest in of(total - first, left - 1)]

    return list(product(*(of(group.count, classes) for group in groups)))


def drawn(row: Sequence[float]) -> list[Decimal]:
    """What a stored row means: its first largest entry is what the others leave."""
    with localcontext(_CONTEXT):
        exact = [Decimal(float(value)) for value in row]
        first = max(range(len(exact)), key=lambda o: (exact[o], -o))
        exact[first] = 1 - sum((value for o, value in enumerate(exact) if o != first), Decimal(0))
        return exact


def drawn_symmetric(counts: Counts, row: Sequence[float]) -> list[Decimal]:
    """The same for a row of sorted votes: of the blocks of equal counts the first of the largest mass has the rest."""
    with localcontext(_CONTEXT):
        blocks: list[list[int]] = []
        for j, count in enumerate(counts):
            if j and count == counts[j - 1]:
                blocks[-1].append(j)
            else:
                blocks.append([j])
        blocks += [[j] for j in range(len(counts), len(row))]
        mass = [len(block) * Decimal(float(row[block[0]])) for block in blocks]
        first = max(range(len(blocks)), key=lambda b: (mass[b], -b))
        mass[first] = 1 - sum((own for b, own in enumerate(mass) if b != first), Decimal(0))
        exact = [Decimal(0)] * len(row)
        for block, own in zip(blocks, mass, strict=True):
            for j in block:
                exact[j] = own / len(block)
        return exact


def full(table: np.ndarray[Any, Any], groups: Sequence[Group], classes: int) -> Table:
    """A full table by votes."""
    rows = np.asarray(table, dtype=np.float64).reshape(-1, table.shape[-1])
    return {votes: drawn(row) for votes, row in zip(all_votes(groups, classes), rows.tolist(), strict=True)}


def symmetric(table: np.ndarray[Any, Any], count: int, classes: int) -> Table:
    """A symmetric table, by votes under every name of the classes."""
    every = [votes for (votes,) in all_votes([Group(count, 1.0, 0.0, 1)], classes)]
    rows = [votes for votes in every if list(votes) == sorted(votes, reverse=True)]
    found: Table = {}
    for counts, row in zip(rows, np.asarray(table, dtype=np.float64).tolist(), strict=True):
        exact = drawn_symmetric(counts, row)
        for order in permutations(range(classes)):  # class c has the place order[c]
            found[(tuple(counts[j] for j in order),)] = [*(exact[j] for j in order), *exact[classes:]]
    return found

"""The hockey-stick divergence of a table ("excess"), as the largest over all cases of its voters, by listing them.

A table is a flat list for each answer, at the votes of all voters that are not placed yet. Placing one voter of a group
at a corner (P, P') of `corners` averages the table over that voter's vote: on D with P, rounded up, on D' with P',
rounded down. When all affected voters are placed, every entry is evaluated, because the others have deterministic
votes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb, prod
from operator import mul
from typing import NamedTuple

from darrm.independent.content import Group, Release, Vector, vectors
from darrm.independent.enclosures import above, below, exponential, smallness

Weights = tuple[tuple[int, int], ...]  # (class, probability over 2^bits), none of them 0
Table = list[list[int]]  # for each answer
POLYGON = ((1, 1, 0, 0), (0, 0, 1, 1), (1, 0, 0, 0), (0, 0, 0, 1), (0, 1, 1, 1), (1, 1, 1, 0))
_SPARE = 128  # bits beyond what the numbers themselves take
_NOT_PRIVATE = 2  # bits that a voter of infinite epsilon takes


class Corner(NamedTuple):
    """The probabilities of each class for a voter on D and on D'."""

    here: Weights
    there: Weights


class Excess(NamedTuple):
    """The largest excess at each price, over 2^bits: ``most`` is an upper bound, ``most - slack`` is achieved."""

    most: list[Fraction]
    slack: list[Fraction]


def of_truths(said: tuple[int, int], group: Group, classes: int, bits: int) -> Corner:
    """A voter of a known randomizer with the true answers ``said`` on D and on D'.

    The other classes of randomized response are rounded down, which is the response of a larger epsilon. A table is
    rounded up on D and down on D'.
    """
    if isinstance(group.randomizer, tuple):
        here, there = (group.randomizer[truth] for truth in said)
        return Corner(
            tuple((c, above(p, bits)) for c, p in enumerate(here) if p),
            tuple((c, below(p, bits)) for c, p in enumerate(there) if p),
        )
    one, (_, high) = 1 << bits, exponential(group.epsilon or Fraction(0), bits)
    other = (one << bits) // (high + (classes - 1) * one)  # 1 / (e^epsilon + C - 1)
    sides = []
    for truth in said:
        chances = [one - (classes - 1) * other if c == truth else other for c in range(classes)]
        sides.append(tuple((c, p) for c, p in enumerate(chances) if p))
    return Corner(*sides)


def placed(group: Group, classes: int) -> tuple[tuple[int, ...], ...]:
    """What is said of the voters of a group that a case places: `kinds`, or of a known randomizer all true answers."""
    if group.randomizer is None:
        return kinds(group, classes)
    truths = range(group.truths(classes))
    return tuple(product(truths, truths))


def moved(said: tuple[int, ...], group: Group) -> bool:
    """Whether a voter that is placed so is affected."""
    return group.randomizer is None or said[0] != said[1]


def precision(release: Release) -> int:
    """The number of bits that distinguish e^epsilon' times the least probability from 0."""
    numbers = [x for column in release.table for x in column if x]
    epsilons = [group.epsilon for group in release.groups if group.epsilon is not None]
    finite = [epsilon for epsilon, _ in release.limits if epsilon is not None]
    numbers += [x for x in (*epsilons, *finite, *(group.delta for group in release.groups)) if x]
    tables = [group.randomizer for group in release.groups if isinstance(group.randomizer, tuple)]
    numbers += [x for table in tables for row in table for x in row if x]
    numbers += [delta for _, delta in release.limits if delta]
    left, nats = release.affected, max(finite)
    for group in sorted(release.groups, key=lambda group: -(group.epsilon or 0)):
        voters = min(left, group.affected)
        nats += voters * (group.epsilon or 0)
        left -= voters
    # the coins of all voters of known randomizers
    nats += sum((group.epsilon or 0) * group.count for group in release.groups if group.randomizer is not None)
    bits = _SPARE + 2 * max(map(smallness, numbers)) + int(3 * nats) + release.affected * _NOT_PRIVATE
    return -(-bits // 64) * 64


def corner(said: tuple[int, ...], group: Group, bits: int) -> Corner:
    """A voter that says ``said[i]`` at outcome i of a private bit.

    The bit has the outcomes hi and lo, or with Delta four: one that only D has, hi, lo, one that only D' has. lo is
    rounded down and Delta up: such a bit is that of a larger epsilon and Delta, of which any smaller one can be made.
    """
    one = 1 << bits
    D = above(group.delta, bits) if group.epsilon is not None else 0
    lo = ((one - D) << bits) // (one + exponential(group.epsilon, bits)[1]) if group.epsilon is not None else 0
    here = (one - lo, lo) if len(said) == 2 else (D, one - D - lo, lo, 0)
    sides = []
    for chances in (here, here[::-1]):
        total: dict[int, int] = {}
        for c, chance in zip(said, chances, strict=True):
            if chance:
                total[c] = total.get(c, 0) + chance
        sides.append(tuple(sorted(total.items())))
    return Corner(*sides)


def kinds(group: Group, classes: int) -> tuple[tuple[int, ...], ...]:
    """The votes of an affected voter at each outcome, without those that are equal on D and D'.

    For two classes and Delta > 0 the others are between the six corners of the polygon of (p, p').
    """
    outcomes = 4 if group.delta and group.epsilon is not None else 2
    if (outcomes, classes) == (4, 2):
        return POLYGON
    return tuple(said for said in product(range(classes), repeat=outcomes) if said != said[::-1])


def n_kinds(group: Group, classes: int) -> int:
    """The number of `kinds`, without listing them."""
    if group.delta and group.epsilon is not None:
        return len(POLYGON) if classes == 2 else classes**4 - classes**2
    return classes**2 - classes


def n_cases(release: Release) -> int:
    """The number of cases that `worst` evaluates, times the answers."""
    sizes = [1]
    for group in release.groups:
        C, truths, honest = release.classes, group.truths(release.classes), group.count - group.colluders
        own = []
        for n in range(min(group.affected, release.affected) + 1):
            if group.randomizer is None:
                still = comb(group.count - n + C - 1, C - 1)
                moving = n_kinds(group, C)
            else:
                still = comb(honest - n + truths - 1, truths - 1) * comb(group.colluders + C - 1, C - 1)
                moving = truths**2 - truths
            own.append(comb(n + moving - 1, n) * still)
        most = min(len(sizes) + len(own) - 1, release.affected + 1)
        sizes = [sum(sizes[i] * own[n - i] for i in range(len(sizes)) if 0 <= n - i < len(own)) for n in range(most)]
    return sum(sizes) * (1 if release.mirrored else len(release.table))


class Listing:
    """All cases of one release, in integers over 2^bits."""

    def __init__(self, release: Release, bits: int) -> None:
        self.release, self.bits = release, bits
        self.corners = [
            [(moved(said, group), self._corner(said, group)) for said in placed(group, release.classes)]
            for group in release.groups
        ]
        self.columns = release.table[1:] if release.mirrored else release.table
        self.sources = lru_cache(maxsize=10_000)(self._sources)
        self.counts = tuple(group.count for group in release.groups)

    def start(self) -> tuple[Table, Table]:
        """The table itself on D, from above, and on D', from below."""
        bits = self.bits
        return (
            [[above(x, bits) for x in column] for column in self.columns],
            [[below(x, bits) for x in column] for column in self.columns],
        )

    def worst(self, epsilons: list[Fraction | None], progress: Callable[[int], None] = lambda done: None) -> Excess:
        """The largest excess at each epsilon, None for infinity; ``progress`` hears how many cases are done."""
        prices = [self.price(epsilon) for epsilon in epsilons]
        best: list[int | None] = [None] * len(prices)
        done = 0
        for here, there in self._cases():
            for k, price in enumerate(prices):
                best[k] = self._largest(here, there, price, best[k])
            done += len(here) * len(here[0])
            progress(done)
        return Excess([Fraction(x or 0, 1 << 2 * self.bits) for x in best], [self._slack(p) for p in prices])

    def at(
        self, reached: list[dict[tuple[int, ...], int]], sure: list[Vector], answers: list[int]
    ) -> tuple[Fraction, Fraction]:
        """The probabilities of ``answers`` in one case, on D from above and on D' from below.

        ``reached`` has the number of voters of each group by what they say, ``sure`` how many others say each class.
        """
        table, left = self.release.table, self.counts
        here = [[above(x, self.bits) for x in column] for column in table]
        there = [[below(x, self.bits) for x in column] for column in table]
        for g, voters in enumerate(reached):
            for said, count in voters.items():
                own = self._corner(said, self.release.groups[g])
                for _ in range(count):
                    here, there, left = self._placed(here, there, left, g, own)
        place = 0
        for votes, n in zip(sure, left, strict=True):
            every = vectors(n, self.release.classes)
            place = place * len(every) + every.index(votes)
        p, q = (Fraction(sum(side[o][place] for o in answers), 1 << self.bits) for side in (here, there))
        return p, q

    def _corner(self, said: tuple[int, ...], group: Group) -> Corner:
        if group.randomizer is None:
            return corner(said, group, self.bits)
        return of_truths((said[0], said[1]), group, self.release.classes, self.bits)

    def _cases(self) -> Iterator[tuple[Table, Table]]:
        """The tables of every multiset of placed voters, without recursion: there may be thousands.

        All affected voters are placed, and of known randomizers all voters but the colluders.
        """
        limits = [group.affected for group in self.release.groups]
        least = [0 if g.randomizer is None else g.count - g.colluders for g in self.release.groups]
        moving = [(g, *own) for g, every in enumerate(self.corners) for own in every]
        # What waits: the tables before a voter is placed, the affected voters of each group so far, and at which corner
        # the voter is placed; -1 for the first ones.
        waiting = [(*self.start(), self.counts, (0,) * len(limits), -1)]
        while waiting:
            here, there, left, reached, last = waiting.pop()
            if last >= 0:
                g, affected, own = moving[last]
                here, there, left = self._placed(here, there, left, g, own)
                reached = (*reached[:g], reached[g] + affected, *reached[g + 1 :])
            done = [count - n for count, n in zip(self.counts, left, strict=True)]
            if all(n >= few for n, few in zip(done, least, strict=True)):
                yield here, there
            for k in range(max(last, 0), len(moving)):
                g, affected, _ = moving[k]
                more = sum(reached) < self.release.affected and reached[g] < limits[g] if affected else True
                if more and (not least[g] or done[g] < least[g]):
                    waiting.append((here, there, left, reached, k))

    def _placed(
        self, here: Table, there: Table, left: tuple[int, ...], g: int, corner: Corner
    ) -> tuple[Table, Table, tuple[int, ...]]:
        sources, up = self.sources(left, g), (1 << self.bits) - 1
        return (
            [_average(column, sources, corner.here, self.bits, up) for column in here],
            [_average(column, sources, corner.there, self.bits, 0) for column in there],
            (*left[:g], left[g] - 1, *left[g + 1 :]),
        )

    def _sources(self, left: tuple[int, ...], g: int) -> list[list[int]]:
        """For each class the places from which a table is taken if one more voter of group g says that class."""
        classes = self.release.classes
        sizes = [comb(n + classes - 1, classes - 1) for n in left]
        before, after = prod(sizes[:g]), prod(sizes[g + 1 :])
        place = {votes: i for i, votes in enumerate(vectors(left[g], classes))}
        fewer = vectors(left[g] - 1, classes)
        own = [[place[(*v[:c], v[c] + 1, *v[c + 1 :])] for v in fewer] for c in range(classes)]
        return [
            [(i * sizes[g] + j) * after + k for i in range(before) for j in own[c] for k in range(after)]
            for c in range(classes)
        ]

    def price(self, epsilon: Fraction | None) -> int | None:
        """e^epsilon from below."""
        return None if epsilon is None else exponential(epsilon, self.bits)[0]

    def _slack(self, price: int | None) -> Fraction:
        """What all rounding moves an excess by at most.

        A step rounds C + 1 times on D and on D', and lo and Delta are rounded too: each by a unit or two of 2^-bits.
        """
        units = (len(self.columns) + 1) * (2 * sum(self.counts) * (self.release.classes + 2) + 2)
        return Fraction(units, 1 << self.bits) * (2 + Fraction(price or 0, 1 << self.bits))

    def _largest(self, here: Table, there: Table, price: int | None, best: int | None) -> int:
        """The largest excess so far: the sum over the answers that have one, or the least negative."""
        bits = self.bits
        columns = []
        for own in zip(here, there, strict=True):
            pairs = zip(*own, strict=True)
            if price is None:
                columns.append([0 if q else p << bits for p, q in pairs])
            else:
                columns.append([(p << bits) - price * q for p, q in pairs])
        top = max(map(max, columns))
        if top > 0 and len(columns) > 1 and (best is None or top * len(columns) > best):
            top = max(sum(x for x in row if x > 0) for row in zip(*columns, strict=True))
        return top if best is None else max(top, best)


def _average(column: list[int], sources: list[list[int]], weights: Weights, bits: int, up: int) -> list[int]:
    """A column after one more vote; ``up`` is 2^bits - 1 to round up, 0 to round down."""
    parts = [map(column.__getitem__, sources[c]) for c, _ in weights]
    if len(weights) == 1:
        return list(parts[0])  # surely that class
    if len(weights) == 2:
        (_, v), (_, w) = weights
        return [(v * x + w * y + up) >> bits for x, y in zip(*parts, strict=True)]
    chances = [w for _, w in weights]
    return [(sum(map(mul, chances, row)) + up) >> bits for row in zip(*parts, strict=True)]

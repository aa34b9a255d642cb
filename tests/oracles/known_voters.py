"""Voters whose randomizer is known, by the definition and by the theorem, in exact fractions.

Two ways that share no step. `rows`, `recursion` and `Achieved` compute what the theorem says: the label is one
randomized function of the true answers, and labels compose by a recursion over its rows. `by_coins` knows neither: it
goes through every strategy of truths, and draws every vote of every voter at every query. Nothing of darrm is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, cmp_to_key
from itertools import combinations, pairwise, product
from math import lcm, prod
from typing import Any, NamedTuple

Chances = tuple[Fraction, ...]
Channel = tuple[Chances, ...]  # Pr[vote | truth]; a row for each truth
Counts = tuple[int, ...]  # votes, or truths, of each kind
Release = Callable[[tuple[Counts, ...]], Chances]  # from the votes of each group to the chances of the answers
Row = tuple[Chances, Chances]  # the chances of the answers on two data sets
Law = dict[Counts, Fraction]


def exponential(epsilon: float | Fraction | Decimal) -> Fraction:
    """e^epsilon within 1e-40, relatively."""
    with localcontext() as context:
        context.prec = 60
        exact = Fraction(epsilon)
        return Fraction((Decimal(exact.numerator) / Decimal(exact.denominator)).exp()).limit_denominator(10**42)


def logarithm(ratio: Fraction) -> float:
    with localcontext() as context:
        context.prec = 60
        return float((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln())


def response(classes: int, ratio: Fraction) -> Channel:
    """Randomized response: the truth is ``ratio`` times as likely as any other vote."""
    other = 1 / (ratio + classes - 1)
    return tuple(tuple(ratio * other if v == truth else other for v in range(classes)) for truth in range(classes))


def sure(votes: int) -> Channel:
    """A voter that says its truth."""
    return tuple(tuple(Fraction(v == truth) for v in range(votes)) for truth in range(votes))


def exact(table: Sequence[float | Fraction]) -> list[Fraction]:
    return [Fraction(x) for x in table]


def by_ones(table: Sequence[float | Fraction]) -> Release:
    """The release of one group that votes 0 or 1, from Pr[answer 1] at every number of ones."""
    X = exact(table)
    return lambda votes: (1 - X[votes[0][1]], X[votes[0][1]])


def majority(voters: int) -> list[Fraction]:
    return [Fraction(1, 2) if 2 * n == voters else Fraction(2 * n > voters) for n in range(voters + 1)]


class Group(NamedTuple):
    """``count`` voters that draw every vote by ``channel``; one record reaches ``reach`` of them at most.

    Of these ``colluders`` do not: their votes may be anything. Without a channel a voter is any mechanism between two
    answers that is e^epsilon = ``ratio`` private.
    """

    count: int
    reach: int
    channel: Channel | None
    colluders: int = 0
    ratio: Fraction = Fraction(1)


# One label: what the truths make of it


def every_vote(voters: Sequence[Chances]) -> Law:
    """How the votes are counted, from every vote of every voter one by one."""
    found: Law = defaultdict(Fraction)
    kinds = len(voters[0]) if voters else 0
    for votes in product(range(kinds), repeat=len(voters)):
        found[tuple(votes.count(v) for v in range(kinds))] += prod(
            (own[v] for own, v in zip(voters, votes, strict=True)), start=Fraction(1)
        )
    return found


def convolved(voters: Sequence[Chances], kinds: int) -> Law:
    """The same, voter by voter."""
    found: Law = {(0,) * kinds: Fraction(1)}
    for own in voters:
        more: Law = defaultdict(Fraction)
        for counts, chance in found.items():
            for v, p in enumerate(own):
                if p:
                    more[(*counts[:v], counts[v] + 1, *counts[v + 1 :])] += chance * p
        found = more
    return found


def counts_of(voters: int, kinds: int) -> Iterator[Counts]:
    """Every way to count ``voters`` by kinds."""
    if kinds == 1:
        yield (voters,)
        return
    for first in range(voters + 1):
        for rest in counts_of(voters - first, kinds - 1):
            yield (first, *rest)


class Side(NamedTuple):
    """How many voters of a group a record reaches, and the laws of the group's votes on the two data sets."""

    moved: int
    here: Law
    there: Law


def sides(group: Group) -> list[Side]:
    """Every pair of truths of the voters that are no colluders, for every vote of the colluders."""
    if group.channel is None:
        return of_any(group)
    truths, kinds = len(group.channel), len(group.channel[0])
    honest = list(counts_of(group.count - group.colluders, truths))
    found = []
    for known in counts_of(group.colluders, kinds):
        said = [sure(kinds)[v] for v, n in enumerate(known) for _ in range(n)]
        laws = {
            h: convolved(said + [group.channel[truth] for truth, n in enumerate(h) for _ in range(n)], kinds)
            for h in honest
        }
        for h, other in product(honest, repeat=2):
            moved = sum(max(0, n - m) for n, m in zip(h, other, strict=True))
            if moved <= group.reach:
                found.append(Side(moved, laws[h], laws[other]))
    return found


def of_any(group: Group) -> list[Side]:
    """Sure votes of the voters that are not reached; those reached at one of the corners of Pr[1 | D], Pr[1 | D']."""
    low = 1 / (1 + group.ratio)
    up, down = (low, 1 - low), (1 - low, low)  # chances of votes 0 and 1
    found = []
    for moved in range(group.reach + 1):
        for ones, rising in product(range(group.count - moved + 1), range(moved + 1)):
            still = [sure(2)[1]] * ones + [sure(2)[0]] * (group.count - moved - ones)
            here, there = [up] * rising + [down] * (moved - rising), [down] * rising + [up] * (moved - rising)
            found.append(Side(moved, convolved(still + here, 2), convolved(still + there, 2)))
    return found


def answers(release: Release, laws: Sequence[Law]) -> Chances:
    """The chances of the answers if the groups' votes have these laws, independently."""
    found: Chances | None = None
    for votes in product(*(law.items() for law in laws)):
        chance = prod((p for _, p in votes), start=Fraction(1))
        terms = tuple(chance * x for x in release(tuple(counts for counts, _ in votes)))
        found = terms if found is None else tuple(a + b for a, b in zip(found, terms, strict=True))
    assert found is not None
    return found


def rows(release: Release, groups: Sequence[Group], affected: int | None = None) -> list[Row]:
    """The answers' chances on both data sets, for all truths of which ``affected`` differ at most."""
    most = sum(group.reach for group in groups) if affected is None else affected
    found: dict[Row, None] = {}
    seen: dict[tuple[int, ...], Chances] = {}

    def chances(laws: Sequence[Law]) -> Chances:
        name = tuple(map(id, laws))
        if name not in seen:
            seen[name] = answers(release, laws)
        return seen[name]

    listed = [sides(group) for group in groups]
    for choice in product(*listed):
        if sum(side.moved for side in choice) <= most:
            found[chances([side.here for side in choice]), chances([side.there for side in choice])] = None
    return list(found)


def of_truths(
    table: Sequence[float | Fraction], channel: Channel, colluding_ones: int = 0, colluders: int = 0
) -> Chances:
    """f_k(h): Pr[answer 1] at every number h of truths that are 1, with k ones of the colluders."""
    release, honest = by_ones(table), len(table) - 1 - colluders
    known = [sure(2)[1]] * colluding_ones + [sure(2)[0]] * (colluders - colluding_ones)
    laws = [convolved(known + [channel[1]] * h + [channel[0]] * (honest - h), 2) for h in range(honest + 1)]
    return tuple(answers(release, [law])[1] for law in laws)


def needed_delta(pairs: Sequence[Row], ratio: Fraction) -> Fraction:
    """The least delta of one label at e^epsilon = ratio."""
    return max(sum((max(Fraction(0), p - ratio * q) for p, q in zip(*row, strict=True)), Fraction(0)) for row in pairs)


def tight_epsilon(pairs: Sequence[Row], delta: Fraction = Fraction(0)) -> float:
    """The least epsilon of one label at delta, from every set of answers."""
    largest = Fraction(1)
    for P, Q in pairs:
        for size in range(1, len(P)):
            for chosen in combinations(range(len(P)), size):
                p, q = sum((P[o] for o in chosen), -delta), sum((Q[o] for o in chosen), Fraction(0))
                if p > 0 and not q:
                    return float("inf")
                if p > largest * q:
                    largest = p / q
    return logarithm(largest)


# Many labels: the recursion


def recursion(pairs: Sequence[Row], queries: int, a: Fraction) -> Fraction:
    """V_Q(a) as it is written, over every row at every label."""

    @cache
    def value(left: int, at: Fraction) -> Fraction:
        if not left:
            return max(Fraction(0), 1 - at)
        return max(
            sum((p * value(left - 1, at * q / p) for p, q in zip(P, Q, strict=True) if p), Fraction(0))
            for P, Q in pairs
        )

    return value(queries, a)


Step = tuple[int, int]  # (Pr[E | D'], Pr[E | D]) of an event, in units


def _turn(first: Step, second: Step) -> int:
    """Below 0 if the first is steeper."""
    return first[0] * second[1] - first[1] * second[0]


_steepest_first = cmp_to_key(lambda first, second: _turn(first, second))


def _hull(points: list[Step]) -> list[Step]:
    """The corners of the least concave line above all points, from the left."""
    corners: list[Step] = []
    for point in sorted(set(points), key=lambda point: (point[0], -point[1])):
        if corners and point[0] == corners[-1][0]:
            continue
        while len(corners) > 1:
            (x, y), (u, v) = corners[-2:]
            if _turn((u - x, v - y), (point[0] - u, point[1] - v)) < 0:
                break
            corners.pop()
        corners.append(point)
    return corners


class Achieved:
    """All (Pr[E | D], Pr[E | D']) of events E of Q labels: the best of them, which are the lines of V_Q.

    An event of Q labels is, after each answer to the first, an event of Q - 1. So the best are sums of chains of steps,
    steepest first, that are stretched by the chances of the answer; and of several rows the hull of all.
    """

    def __init__(self, pairs: Sequence[Row], queries: int) -> None:
        unit = lcm(*(x.denominator for row in pairs for side in row for x in side))
        whole = [[(int(q * unit), int(p * unit)) for p, q in zip(P, Q, strict=True)] for P, Q in dict.fromkeys(pairs)]
        chain: list[Step] = [(0, 0), (1, 1)]
        for _ in range(queries):
            steps = [(v[0] - u[0], v[1] - u[1]) for u, v in pairwise(chain)]
            points: list[Step] = []
            for row in whole:
                both = [(x * q, y * p) for q, p in row for x, y in steps]
                x = y = 0
                points.append((x, y))
                for step in sorted((step for step in both if step != (0, 0)), key=_steepest_first):
                    x, y = x + step[0], y + step[1]
                    points.append((x, y))
            chain = _hull(points)
        self.unit = unit**queries
        self.best = [(Fraction(p, self.unit), Fraction(q, self.unit)) for q, p in chain]

    def excess(self, a: Fraction) -> Fraction:
        """V_Q(a)."""
        return max(p - a * q for p, q in self.best)

    def least_epsilon(self, delta: Fraction) -> float:
        """The least total epsilon at delta."""
        largest = Fraction(1)
        for p, q in self.best:
            if p > delta and not q:
                return float("inf")
            if p - delta > largest * q:
                largest = (p - delta) / q
        return logarithm(largest)


# Many labels: every coin


class Voter(NamedTuple):
    """A voter that draws each vote by ``channel``. A colluder says anything: its channel is `sure`.

    The truths of a ``reached`` voter differ between the data sets. A voter ``knows`` the earlier votes of these voters:
    its truths may be any function of them. Votes of a ``watched`` voter are seen with the labels.
    """

    channel: Channel
    reached: bool = False
    knows: tuple[int, ...] = ()
    watched: bool = False


def voters_of(groups: Sequence[Group], reached: Sequence[int]) -> list[Voter]:
    """The voters of groups of which so many are reached and know their own votes; the others; the colluders."""
    found: list[Voter] = []
    for group, moved in zip(groups, reached, strict=True):
        channel = group.channel or response(2, group.ratio)
        others = sure(2) if group.channel is None else channel
        found += [Voter(channel, reached=True, knows=(len(found) + i,)) for i in range(moved)]
        found += [Voter(others)] * (group.count - group.colluders - moved)
        found += [Voter(sure(len(channel[0])))] * group.colluders
    return found


def voter_by_voter(release: Release, groups: Sequence[Group]) -> Callable[[Counts], Chances]:
    """The release from the vote of each voter."""

    def of_votes(votes: Counts) -> Chances:
        at, found = 0, []
        for group in groups:
            own = votes[at : at + group.count]
            kinds = 2 if group.channel is None else len(group.channel[0])
            found.append(tuple(own.count(v) for v in range(kinds)))
            at += group.count
        return release(tuple(found))

    return of_votes


Seen = tuple[int, ...]  # a label, and votes that are seen with it
Kept = tuple[Counts, ...]  # of each voter whose votes somebody knows, its votes so far
Measure = dict[Kept, int]  # how likely they are, in units
Way = dict[Kept, int]  # a voter's truth for all that can be kept


class _Coins:
    """All that follows a strategy: see `by_coins`."""

    def __init__(self, release: Callable[[Counts], Chances], voters: Sequence[Voter]) -> None:
        self.voters, self.everyone = voters, range(len(voters))
        self.kept = sorted({i for voter in voters for i in voter.knows})
        self.watched = [i for i in self.everyone if voters[i].watched]
        self.unit = lcm(*(p.denominator for voter in voters for own in voter.channel for p in own))
        self.channels = [[[int(p * self.unit) for p in own] for own in voter.channel] for voter in voters]
        drawn = list(product(*(range(len(voter.channel[0])) for voter in voters)))
        chances = {votes: release(votes) for votes in drawn}
        self.share = lcm(*(x.denominator for side in chances.values() for x in side))
        self.labels = {
            votes: [(o, int(x * self.share)) for o, x in enumerate(side) if x] for votes, side in chances.items()
        }
        self.draws = cache(self._draws)

    def _draws(self, truths: Counts) -> list[tuple[Seen, Counts, int]]:
        """What is seen, what is kept and how likely, for every vote of every voter."""
        found = []
        for votes, labels in self.labels.items():
            weight = prod(self.channels[i][truths[i]][votes[i]] for i in self.everyone)
            if weight:
                kept = tuple(votes[i] for i in self.kept)
                found += [((label, *(votes[i] for i in self.watched)), kept, weight * x) for label, x in labels]
        return found

    def ways(self, i: int, memories: Sequence[Kept]) -> list[Way]:
        """Every function from what a voter knows to its truth."""
        places = [self.kept.index(j) for j in self.voters[i].knows]
        known = {memory: tuple(memory[place] for place in places) for memory in memories}
        kinds, truths = sorted(set(known.values())), range(len(self.channels[i]))
        found = []
        for choice in product(truths, repeat=len(kinds)):
            truth = dict(zip(kinds, choice, strict=True))
            found.append({memory: truth[known[memory]] for memory in memories})
        return found

    def outcomes(self, measure: Measure, still: dict[int, Way], moving: dict[int, list[Way]], last: bool) -> list[Any]:
        """What is seen and kept at the next query, for all truths of the reached voters; each outcome once."""
        found = {}
        for choice in product(*moving.values()):
            way = still | dict(zip(moving, choice, strict=True))
            made: dict[Seen, Measure] = defaultdict(lambda: defaultdict(int))
            for memory, mass in measure.items():
                for seen, kept, weight in self.draws(tuple(way[i][memory] for i in self.everyone)):
                    now = () if last else tuple((*old, vote) for old, vote in zip(memory, kept, strict=True))
                    made[seen][now] += mass * weight
            name = tuple(sorted((seen, tuple(sorted(rest.items()))) for seen, rest in made.items()))
            found[name] = {seen: dict(rest) for seen, rest in made.items()}
        return list(found.items())

    def most(self, here: Measure, there: Measure, left: int, a: Fraction) -> int:
        """The largest excess, in units, of all that is still to be seen."""
        if not left:
            return max(0, a.denominator * sum(here.values()) - a.numerator * sum(there.values()))
        memories = sorted({*here, *there})
        ways = {i: self.ways(i, memories) for i in self.everyone}
        unmoved = [i for i in self.everyone if not self.voters[i].reached]
        moving = {i: ways[i] for i in self.everyone if self.voters[i].reached}
        best, tried = 0, set()
        for choice in product(*(ways[i] for i in unmoved)):
            still = dict(zip(unmoved, choice, strict=True))
            sides = (self.outcomes(measure, still, moving, left == 1) for measure in (here, there))
            for (name, one), (named, other) in product(*sides):
                if (name, named) not in tried:
                    tried.add((name, named))
                    each = (self.most(one.get(seen, {}), other.get(seen, {}), left - 1, a) for seen in {*one, *other})
                    best = max(best, sum(each))
        return best


def by_coins(release: Callable[[Counts], Chances], voters: Sequence[Voter], queries: int, a: Fraction) -> Fraction:
    """The largest Pr[E | D] - a Pr[E | D'] of all that is seen, over every strategy and every event E.

    A strategy says, after everything seen so far, which truth each voter has; that of a reached voter may be another
    one on each data set. Every voter draws its vote anew at every query, and the label is drawn from the votes.
    """
    coins = _Coins(release, voters)
    start: Measure = {((),) * len(coins.kept): 1}
    unit = coins.unit ** len(voters) * coins.share
    return Fraction(coins.most(start, start, queries, a), a.denominator * unit**queries)

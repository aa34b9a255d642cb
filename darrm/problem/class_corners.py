"""The extreme distributions of a private vote for one of several classes, and the number of cases to search.

An (epsilon, Delta)-DP vote is made from a private bit of two outcomes, or of four if Delta > 0 (Kairouz, Oh, Viswanath,
ICML 2015): one that occurs on D alone, hi, lo, and one that occurs on D' alone. A *kind* is a tuple of classes, one for
each outcome (docs/decisions.md, Lemma D6).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from darrm.errors import InputError
from darrm.numerics.bisection import largest_that
from darrm.numerics.exact import decimals
from darrm.problem.groups import ByGroups
from darrm.problem.model import VoterModel

MAX_ENTRIES = 30_000_000
_MOST_CLASSES = 30
_LARGEST_KEY = 2**62  # of votes as one number


class GroupOfCase(NamedTuple):
    """The voters of a group in a case: (kind, number of voters) for each kind, and the voters fixed at each class."""

    kinds: tuple[tuple[tuple[int, ...], int], ...]
    sure: tuple[int, ...]


class ClassCase(NamedTuple):
    """A worst case of a decision: the set of answers, and the kinds of the voters of each group."""

    answers: tuple[int, ...]
    groups: tuple[GroupOfCase, ...]

    @property
    def reached(self) -> tuple[int, ...]:
        """The number of affected voters of each group."""
        return tuple(sum(count for _, count in group.kinds) for group in self.groups)

    def named(self) -> dict[str, int]:
        """The answers and the kinds of each group in words; ``from c to d`` votes c mostly on D and d mostly on D'."""
        parts = {f"answer {answer}": 1 for answer in self.answers}
        for g, group in enumerate(self.groups, 1):
            for kind, count in group.kinds:
                where = f"from {kind[0]} to {kind[1]}" if len(kind) == 2 else f"at {kind}"
                parts[f"group {g} {where}"] = count
            parts |= {f"group {g} surely {c}": count for c, count in enumerate(group.sure) if count}
        return parts


class Bit(NamedTuple):
    """The probabilities of the outcomes of a private bit on D and on D', in exact numbers."""

    p: tuple[Decimal, ...]
    q: tuple[Decimal, ...]

    @property
    def gaps(self) -> tuple[Decimal, ...]:
        """p - q, rounded by no context but ours."""
        with decimals(Decimal(1)):
            return tuple(p - q for p, q in zip(self.p, self.q, strict=True))

    def as_decimals(self) -> tuple[Sequence[Decimal], ...]:
        """p, q and p - q."""
        return self.p, self.q, self.gaps

    def as_floats(self) -> tuple[Sequence[float], ...]:
        """p, q and p - q, each the nearest float64."""
        return tuple(tuple(map(float, side)) for side in self.as_decimals())


@lru_cache(maxsize=64)
def private_bit(epsilon: float, Delta: float) -> Bit:
    """Two outcomes if Delta = 0 or epsilon is infinite, else four."""
    exact_Delta = Decimal(Delta) if epsilon < math.inf else Decimal(0)
    with decimals(Decimal(epsilon) if epsilon < math.inf else Decimal(1)):
        s = (-Decimal(epsilon)).exp() if epsilon < math.inf else Decimal(0)
        hi, lo = (1 - exact_Delta) / (1 + s), (1 - exact_Delta) * s / (1 + s)
        if not exact_Delta:
            return Bit((hi, lo), (lo, hi))
        nothing = Decimal(0)
        return Bit((exact_Delta, hi, lo, nothing), (nothing, lo, hi, exact_Delta))


@lru_cache(maxsize=64)
def bits(problem: ByGroups, *, alike: bool) -> tuple[tuple[Bit, ...], Decimal]:
    """The bit of a voter of each group, and the probability that an affected voter's delta event occurs.

    Bits of four outcomes contain that event, and the probability is 0. Where their cases are too many, voters are taken
    as (epsilon, 0)-DP, with d = 1 - prod of (1 - delta_i), largest over the affected voters, set aside. A hockey-stick
    divergence E between such voters then bounds that of the real ones by d + (1 - d) E (docs/decisions.md, Lemma D4).
    """
    if (
        not any(group.delta for group in problem.groups)
        or entries(problem, alike=alike, most=MAX_ENTRIES) <= MAX_ENTRIES
    ):
        return tuple(private_bit(group.epsilon, group.delta) for group in problem.groups), Decimal(0)
    return tuple(private_bit(group.epsilon, 0.0) for group in problem.groups), problem.exact_least_delta


def check_classes(problem: ByGroups) -> None:
    """Refuse more classes than cases can be counted for."""
    fits = problem.n_classes <= _MOST_CLASSES
    if not fits or (problem.K + 2) ** problem.n_classes > _LARGEST_KEY:
        most = next(C for C in range(_MOST_CLASSES, 0, -1) if (problem.K + 2) ** C <= _LARGEST_KEY)
        fit = _fewer_classes(problem, most, alike=len(problem.groups) == 1)
        raise InputError(
            f"Cases of K = {problem.K} voters with {problem.n_classes} classes, of {_vectors(problem)} vectors of "
            f"counts, are too many to count. {fit} Put rare classes together, or ask fewer voters."
        )


def _vectors(problem: ByGroups) -> str:
    """How many vectors of counts there are, in print; an integer of any size is no float64."""
    C = problem.n_classes
    number = math.prod(math.comb(group.count + C - 1, C - 1) for group in problem.groups)
    return f"{Decimal(number):.1e}" if number >= 10**6 else f"{number:,}"


def entries(problem: ByGroups, *, alike: bool, pure: bool = False, most: float = math.inf) -> int:
    """The number of probabilities to compute, cases times answers; with ``pure`` as if no voter had a delta.

    ``alike`` is for releases to one group that treat all classes alike: cases are then counted up to a renaming of the
    classes. Counting stops once the number exceeds ``most``, so that any number of voters is answered at once.
    """
    check_classes(problem)
    sizes = [1]
    for group in problem.groups:
        outcomes = 4 if group.delta and group.epsilon < math.inf and not pure else 2
        reached = min(group.max_affected, problem.max_affected)
        least = _at_least(group.count, problem.n_classes, outcomes, reached, alike=alike, most=most)
        if least > most:
            return least
        own = n_cases(group.count, problem.n_classes, outcomes, reached, alike=alike)
        length = min(len(sizes) + len(own) - 1, problem.max_affected + 1)
        sizes = [sum(sizes[i] * own[n - i] for i in range(len(sizes)) if 0 <= n - i < len(own)) for n in range(length)]
        if sum(sizes) > most:
            break
    return sum(sizes) * problem.n_answers


def _at_least(count: int, classes: int, outcomes: int, reached: int, *, alike: bool, most: float) -> int:
    """A lower bound on the sum of `n_cases`, counted until it exceeds ``most``; a case has at most classes! names."""
    names = math.factorial(classes) if alike else 1
    total = 0
    for n in range(reached + 1):
        total += _named_cases(count, classes, outcomes, n)
        if total > most * names:
            break
    return -(-total // names)


def nearest_that_fits(problem: ByGroups, *, alike: bool) -> str:
    """A sentence that names the nearest problem that is small enough."""

    C = problem.n_classes

    def fits(affected: int) -> bool:
        smaller = VoterModel(problem.groups, C, affected, none=problem.none)
        return entries(smaller, alike=alike, pure=True, most=MAX_ENTRIES) <= MAX_ENTRIES

    affected = largest_that(problem.max_affected - 1, fits)
    if affected:
        return f"max_affected = {affected} would fit, if one record can affect no more voters."
    return _fewer_classes(problem, C - 1, alike=alike)


def _fewer_classes(problem: ByGroups, most: int, *, alike: bool) -> str:
    def fits(classes: int) -> bool:
        smaller = VoterModel(problem.groups, classes, problem.max_affected, none=problem.none)
        return entries(smaller, alike=alike, pure=True, most=MAX_ENTRIES) <= MAX_ENTRIES

    classes = largest_that(most, lambda c: c < 2 or fits(c))
    return f"{classes} classes would fit." if classes > 1 else "Fewer voters would fit."


@lru_cache(maxsize=64)
def kinds_of(classes: int, outcomes: int) -> tuple[tuple[int, ...], ...]:
    """All kinds whose vote differs between the two data sets, in lexicographic order; ``outcomes`` is 2 or 4."""
    every = product(range(classes), repeat=outcomes)
    return tuple(kind for kind in every if kind != kind[::-1])


@lru_cache(maxsize=64)
def n_cases(count: int, classes: int, outcomes: int, reached: int, *, alike: bool) -> tuple[int, ...]:
    """The numbers of cases with 0, ..., ``reached`` affected voters of ``count``; up to renaming if ``alike``.

    Counted by Burnside's lemma: the mean, over all renamings of the classes, of the number of cases that stay the same.
    """
    if not alike:
        return tuple(_named_cases(count, classes, outcomes, n) for n in range(reached + 1))
    total = [0] * (reached + 1)
    for cycles in _partitions(classes, classes):
        ways = math.factorial(classes)
        for length in set(cycles):
            ways //= length ** cycles.count(length) * math.factorial(cycles.count(length))
        sure = _fixed(cycles, count, lambda f: f)
        moving = _fixed(cycles, reached, lambda f: f**outcomes - f ** (outcomes // 2))
        for n in range(reached + 1):
            total[n] += ways * moving[n] * sure[count - n]
    return tuple(n // math.factorial(classes) for n in total)


def _named_cases(count: int, classes: int, outcomes: int, n: int) -> int:
    """The number of cases with ``n`` affected voters of ``count``, where renamed classes make another case."""
    kinds = classes**outcomes - classes ** (outcomes // 2)
    return math.comb(n + kinds - 1, n) * math.comb(count - n + classes - 1, classes - 1)


def _fixed(cycles: tuple[int, ...], most: int, among: Callable[[int], int]) -> list[int]:
    """The numbers of multisets of 0, ..., ``most`` items that a renaming with these ``cycles`` leaves the same.

    ``among(f)`` is the number of items that stay the same if f classes do.
    """
    ways, found = [1] + [0] * most, dict[int, int]()  # cycles of items, by their length
    for length in range(1, most + 1):
        if math.lcm(*cycles) % length:
            continue
        kept = sum(cycle for cycle in cycles if length % cycle == 0)
        sooner = sum(shorter * number for shorter, number in found.items() if length % shorter == 0)
        if number := (among(kept) - sooner) // length:
            found[length] = number
            if number <= most // length:  # one at a time is quicker then
                for _ in range(number):
                    for n in range(length, most + 1):
                        ways[n] += ways[n - length]
                continue
            ways = [
                sum(math.comb(number + k - 1, k) * ways[n - k * length] for k in range(n // length + 1))
                for n in range(most + 1)
            ]
    return ways


def _partitions(total: int, most: int) -> list[tuple[int, ...]]:
    if total == 0:
        return [()]
    return [(part, *rest) for part in range(min(total, most), 0, -1) for rest in _partitions(total - part, part)]

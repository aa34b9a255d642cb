"""The corners at which a decision's voters are placed, chosen so that all multisets can be searched."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from darrm.problem.corners import STILL, CornerCounts, MovingCorner, moving_corners
from darrm.problem.groups import ByGroups

MAX_ENTRIES = 30_000_000


class GroupCase(NamedTuple):
    """A worst case of a decision: the answer, and the number of voters of each group at each corner."""

    answer: int
    counts: tuple[CornerCounts, ...]

    @property
    def reached(self) -> tuple[int, ...]:
        """The number of affected voters of each group."""
        return tuple(sum(counts[STILL:]) for counts in self.counts)

    def named(self) -> dict[str, int]:
        """The answer and the occupied corners of each group, in words."""
        parts = {
            f"group {g} at {corner}": number
            for g, counts in enumerate(self.counts, 1)
            for corner, number in counts.named().items()
        }
        return {"answer": self.answer, **parts}


def entries(problem: ByGroups, *, pure: bool = False, most: float = math.inf) -> int:
    """The number of multisets of corners, deterministic voters included; with ``pure`` as if no voter had a delta.

    Counting stops once the number exceeds ``most``, so that any number of voters is answered at once.
    """
    sizes = [1]
    for group in problem.groups:
        kinds = len(moving_corners(group.epsilon, 0.0 if pure else group.delta))
        own, total = list[int](), 0
        for n in range(min(group.max_affected, problem.max_affected) + 1):
            own.append(math.comb(n + kinds - 1, kinds - 1) * (group.count - n + 1))
            total += own[-1]
            if total > most:  # with no voter of another group affected
                return total
        length = min(len(sizes) + len(own) - 1, problem.max_affected + 1)
        sizes = [sum(sizes[i] * own[n - i] for i in range(len(sizes)) if 0 <= n - i < len(own)) for n in range(length)]
        if sum(sizes) > most:
            break
    return sum(sizes)


@lru_cache(maxsize=64)
def group_corners(problem: ByGroups) -> tuple[tuple[tuple[MovingCorner, ...], ...], Decimal]:
    """The corners of each group, and the probability that an affected voter's delta event occurs.

    All corners of Lemma 2 contain that event, and the probability is 0. Where their multisets are too many, voters are
    taken as (epsilon, 0)-DP, with d = 1 - prod of (1 - delta_i), largest over the affected voters, set aside. A
    hockey-stick divergence E between such voters then bounds that of the real ones by d + (1 - d) E (docs/decisions.md,
    Lemma D4).
    """
    if not any(group.delta for group in problem.groups) or entries(problem, most=MAX_ENTRIES) <= MAX_ENTRIES:
        return tuple(moving_corners(group.epsilon, group.delta) for group in problem.groups), Decimal(0)
    return tuple(moving_corners(group.epsilon, 0.0) for group in problem.groups), problem.exact_least_delta

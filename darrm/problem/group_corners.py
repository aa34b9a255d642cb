"""Which corners a decision's voters are taken to have, so that all their multisets can be gone through."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from darrm.problem.corners import STILL, CornerCounts, MovingCorner, moving_corners
from darrm.problem.groups import ByGroups

MAX_ENTRIES = 30_000_000


class GroupCase(NamedTuple):
    """Where a worst case of a decision is: the answer, and how many voters of each group are at which corner."""

    answer: int
    counts: tuple[CornerCounts, ...]

    @property
    def reached(self) -> tuple[int, ...]:
        """How many voters of each group are reached."""
        return tuple(sum(counts[STILL:]) for counts in self.counts)

    def named(self) -> dict[str, int]:
        """The answer and, group by group, the corners that voters are at."""
        parts = {
            f"group {g} at {corner}": number
            for g, counts in enumerate(self.counts, 1)
            for corner, number in counts.named().items()
        }
        return {"answer": self.answer, **parts}


def entries(problem: ByGroups, *, pure: bool = False, most: float = math.inf) -> int:
    """How many multisets of corners of all groups there are, sure voters included; ``pure`` as if no delta was.

    Of more than ``most`` it counts only so far as to see that: any number of voters takes no time then.
    """
    sizes = [1]
    for group in problem.groups:
        kinds = len(moving_corners(group.epsilon, 0.0 if pure else group.delta))
        own, total = list[int](), 0
        for n in range(min(group.max_affected, problem.max_affected) + 1):
            own.append(math.comb(n + kinds - 1, kinds - 1) * (group.count - n + 1))
            total += own[-1]
            if total > most:  # with nobody of another group reached
                return total
        length = min(len(sizes) + len(own) - 1, problem.max_affected + 1)
        sizes = [sum(sizes[i] * own[n - i] for i in range(len(sizes)) if 0 <= n - i < len(own)) for n in range(length)]
        if sum(sizes) > most:
            break
    return sum(sizes)


@lru_cache(maxsize=64)
def group_corners(problem: ByGroups) -> tuple[tuple[tuple[MovingCorner, ...], ...], Decimal]:
    """The corners of each group, and the probability that is left for voters that fail.

    With all corners of Lemma 2 nothing is left. Where their multisets are too many, voters are taken to be pure, and
    all that an affected voter's delta can do is left: d = 1 - prod of (1 - delta_i), largest over the affected voters;
    an excess E of the pure ones stands for d + (1 - d) E (docs/decisions.md, Lemma D4).
    """
    if not any(group.delta for group in problem.groups) or entries(problem, most=MAX_ENTRIES) <= MAX_ENTRIES:
        return tuple(moving_corners(group.epsilon, group.delta) for group in problem.groups), Decimal(0)
    return tuple(moving_corners(group.epsilon, 0.0) for group in problem.groups), problem.exact_least_delta

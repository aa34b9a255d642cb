"""Decisions where voters may be absent: every attendance has a table of its own, and how much work all of them are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import islice, product

from darrm.errors import InputError
from darrm.problem.decision import DecisionProblem, VoterGroup
from darrm.problem.group_corners import MAX_ENTRIES, entries

MAX_CASES = 2_000_000  # vectors of present voters and counts that a mechanism holds a coin for
MAX_SECONDS = 600.0
# Processor seconds of one search, to about a factor of three (docs/decisions.md, "What it takes"): for each multiset of
# corners, for each pair of entries of the table, and for beginning at all.
_PER_MULTISET, _PER_PAIR, _EACH = 5e-6, 5e-6, 0.03


def attendances(problem: DecisionProblem) -> Iterator[tuple[int, ...]]:
    """Every vector of present voters but all and none."""
    every = product(*(range(group.count + 1) for group in problem.groups))
    return islice(every, 1, math.prod(problem.shape) - 1)


def check_absent(problem: DecisionProblem) -> None:
    """Refuse a problem whose tables for absent voters are too many to release from, or to solve within ten minutes.

    Raises
    ------
    InputError
        With the nearest problem that is allowed: fewer voters that one change reaches, or fewer voters.
    """
    searches = math.prod(problem.shape) - 1
    if _fits(problem):
        return
    if searches + 1 <= math.isqrt(MAX_CASES):
        much = f"{searches:,} searches, about {math.ceil(_seconds(problem) / 60):,} minutes of one core"
        allowed = f"at most {MAX_SECONDS / 60:g} minutes"
    else:
        much, allowed = f"{searches:,} searches", f"at most {math.isqrt(MAX_CASES) - 1:,}, for what can be released"
    raise InputError(
        f"absent=True must be for so many voters that every attendance can be solved, {allowed}. Got groups of "
        f"{', '.join(str(group.count) for group in problem.groups)} voters with max_affected = {problem.max_affected}: "
        f"{much}. {_nearest(problem)}"
    )


def _fits(problem: DecisionProblem) -> bool:
    return math.prod(problem.shape) ** 2 <= MAX_CASES and _seconds(problem) <= MAX_SECONDS


def _seconds(problem: DecisionProblem) -> float:
    """About how long all searches take; it stops to count beyond a hundred times what is allowed."""
    everybody = tuple(group.count for group in problem.groups)
    total = 0.0
    for present in (everybody, *attendances(problem)):
        own = problem.with_present(present)
        many = entries(own)
        if many > MAX_ENTRIES:
            many = entries(own, pure=True)  # as the certificate takes them
        total += _EACH + _PER_MULTISET * many + _PER_PAIR * math.prod(own.shape) ** 2
        if total > 100 * MAX_SECONDS:
            break
    return total


def _nearest(problem: DecisionProblem) -> str:
    """What would fit, nearest to the problem."""
    affected = _largest(problem.max_affected - 1, lambda t: _smaller(problem, problem.K, t))
    if affected:
        return f"max_affected = {affected} would fit, if one change of the data reaches no more voters."
    count = _largest(max(group.count for group in problem.groups) - 1, lambda n: _smaller(problem, n, problem.K))
    most = f"{count} voters in each group" if len(problem.groups) > 1 else f"{count} voters"
    return f"At most {most} would fit." if count else "Fewer groups would fit."


def _smaller(problem: DecisionProblem, count: int, affected: int) -> DecisionProblem:
    """The problem with at most so many voters in each group, and so many reached."""
    groups = [
        VoterGroup(min(group.count, count), group.epsilon, group.delta, min(group.max_affected, group.count, count))
        for group in problem.groups
    ]
    most = min(problem.max_affected, affected, sum(group.max_affected for group in groups))
    return DecisionProblem(groups, problem.epsilon, problem.delta, max_affected=most)


def _largest(most: int, made: Callable[[int], DecisionProblem]) -> int:
    """The largest number up to ``most`` whose problem fits, 0 if none does; what is smaller fits too."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if _fits(made(middle)):
            low = middle
        else:
            high = middle - 1
    return low

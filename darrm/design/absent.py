"""Decisions where voters may be absent: every attendance has a table of its own, and how much work all of them are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice, product

from darrm.errors import InputError
from darrm.numerics.bisection import largest_that
from darrm.problem import class_corners, group_corners
from darrm.problem.counts import n_sorted_counts
from darrm.problem.decision import DecisionProblem, sizes_of
from darrm.problem.groups import ByGroups, VoterGroup

MAX_CASES = 2_000_000  # vectors of present voters and counts that a mechanism holds a coin for
MAX_SECONDS = 600.0
# Processor seconds of one search, to about a factor of three (docs/decisions.md, "What it takes"): for each multiset of
# corners, for each pair of entries of the table, and for beginning at all. Of several answers twice the first two.
_PER_MULTISET, _PER_PAIR, _EACH = 5e-6, 5e-6, 0.03


def n_attendances(problem: ByGroups) -> int:
    """How many vectors of present voters there are, all and none among them."""
    return math.prod(group.count + 1 for group in problem.groups)


def attendances(problem: ByGroups) -> Iterator[tuple[int, ...]]:
    """Every vector of present voters but all and none."""
    every = product(*(range(group.count + 1) for group in problem.groups))
    return islice(every, 1, n_attendances(problem) - 1)


def check_absent(problem: DecisionProblem, *, alike: bool = False) -> None:
    """Refuse a problem whose tables for absent voters are too many to release from, or to solve within ten minutes.

    ``alike``: whether the objective treats all classes alike; tables of one group of several classes are smaller then.

    Raises
    ------
    InputError
        With the nearest problem that is allowed: fewer voters that one change reaches, or fewer voters.
    """
    searches = n_attendances(problem) - 1
    if _fits(problem, alike):
        return
    if searches + 1 <= math.isqrt(MAX_CASES):
        much = f"{searches:,} searches, about {math.ceil(_seconds(problem, alike) / 60):,} minutes of one core"
        allowed = f"at most {MAX_SECONDS / 60:g} minutes"
    else:
        much, allowed = f"{searches:,} searches", f"at most {math.isqrt(MAX_CASES) - 1:,}, for what can be released"
    raise InputError(
        f"absent=True must be for so many voters that every attendance can be solved, {allowed}. Got groups of "
        f"{sizes_of(problem)} with max_affected = {problem.max_affected}: "
        f"{much}. {_nearest(problem, alike)}"
    )


def _fits(problem: DecisionProblem, alike: bool) -> bool:
    return n_attendances(problem) ** 2 <= MAX_CASES and _seconds(problem, alike) <= MAX_SECONDS


def _seconds(problem: DecisionProblem, alike: bool) -> float:
    """About how long all searches take; it stops to count beyond a hundred times what is allowed."""
    everybody = tuple(group.count for group in problem.groups)
    total = 0.0
    for present in (everybody, *attendances(problem)):
        own = problem.with_present(present)
        of = _of_two(own) if own.binary else _of_several(own, alike and len(own.groups) == 1)
        total += _EACH + of
        if total > 100 * MAX_SECONDS:
            break
    return total


def _of_two(problem: DecisionProblem) -> float:
    many = group_corners.entries(problem, most=group_corners.MAX_ENTRIES)
    if many > group_corners.MAX_ENTRIES:
        many = group_corners.entries(problem, pure=True)  # as the certificate takes them
    return _PER_MULTISET * many + _PER_PAIR * math.prod(problem.table_shape) ** 2


def _of_several(problem: DecisionProblem, alike: bool) -> float:
    many = class_corners.entries(problem, alike=alike, most=class_corners.MAX_ENTRIES)
    if many > class_corners.MAX_ENTRIES:
        many = class_corners.entries(problem, alike=alike, pure=True)
    rows = n_sorted_counts(problem.K, problem.n_classes) if alike else math.prod(problem.table_shape)
    return 2 * (_PER_MULTISET * many + _PER_PAIR * (rows * problem.n_answers) ** 2)


def _nearest(problem: DecisionProblem, alike: bool) -> str:
    """What would fit, nearest to the problem."""

    def fits(count: int, affected: int) -> bool:
        return _fits(_smaller(problem, count, affected), alike)

    affected = largest_that(problem.max_affected - 1, lambda t: fits(problem.K, t))
    if affected:
        return f"max_affected = {affected} would fit, if one change of the data reaches no more voters."
    count = largest_that(max(group.count for group in problem.groups) - 1, lambda n: fits(n, problem.K))
    most = f"{count} voters in each group" if len(problem.groups) > 1 else f"{count} voters"
    if count:
        return f"At most {most} would fit."
    return "Fewer groups would fit." if problem.binary else "Fewer groups or classes would fit."


def _smaller(problem: DecisionProblem, count: int, affected: int) -> DecisionProblem:
    """The problem with at most so many voters in each group, and so many reached."""
    groups = [
        VoterGroup(min(group.count, count), group.epsilon, group.delta, min(group.max_affected, group.count, count))
        for group in problem.groups
    ]
    most = min(problem.max_affected, affected, sum(group.max_affected for group in groups))
    return DecisionProblem(
        groups, problem.epsilon, problem.delta, problem.n_classes, max_affected=most, none=problem.none
    )

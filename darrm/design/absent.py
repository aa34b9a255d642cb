"""Decisions with absent voters: each attendance has its own table, and the work for all of them is limited."""

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

MAX_CASES = 2_000_000  # vectors of present voters and counts for which a mechanism stores probabilities
MAX_SECONDS = 600.0
# Processor seconds of one search, to about a factor of three (docs/decisions.md, "What it takes"): for each multiset of
# corners, for each pair of entries of the table, and for beginning at all. With several answers the first two count
# twice.
_PER_MULTISET, _PER_PAIR, _EACH = 5e-6, 5e-6, 0.03


def n_attendances(problem: ByGroups) -> int:
    """The number of vectors of present voters, all and none included."""
    return math.prod(group.count + 1 for group in problem.groups)


def attendances(problem: ByGroups) -> Iterator[tuple[int, ...]]:
    """All vectors of present voters, except all and none."""
    every = product(*(range(group.count + 1) for group in problem.groups))
    return islice(every, 1, n_attendances(problem) - 1)


def check_absent(problem: DecisionProblem, *, alike: bool = False) -> None:
    """Refuse a problem whose tables for absent voters are too many to release from, or to solve within ten minutes.

    ``alike`` is whether the objective treats all classes alike; tables of one group with several classes are smaller
    then.

    Raises
    ------
    InputError
        The message names the nearest problem that is allowed, with fewer affected voters or fewer voters.
    """
    searches = n_attendances(problem) - 1
    if _fits(problem, alike):
        return
    if searches + 1 <= math.isqrt(MAX_CASES):
        much = f"{searches:,} searches, about {math.ceil(_seconds(problem, alike) / 60):,} minutes of one core"
        allowed = f"at most {MAX_SECONDS / 60:g} minutes"
    else:
        much, allowed = f"{searches:,} searches", f"at most {math.isqrt(MAX_CASES) - 1:,}, so that it can be released"
    raise InputError(
        f"absent=True is limited to groups small enough to solve every attendance, {allowed}. Got groups of "
        f"{sizes_of(problem)} with max_affected = {problem.max_affected}: "
        f"{much}. {_nearest(problem, alike)}"
    )


def _fits(problem: DecisionProblem, alike: bool) -> bool:
    return n_attendances(problem) ** 2 <= MAX_CASES and _seconds(problem, alike) <= MAX_SECONDS


def _seconds(problem: DecisionProblem, alike: bool) -> float:
    """The approximate time of all searches in seconds; counting stops at a hundred times the allowed time."""
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
        many = group_corners.entries(problem, pure=True)  # with the corners that the certificate uses
    return _PER_MULTISET * many + _PER_PAIR * math.prod(problem.table_shape) ** 2


def _of_several(problem: DecisionProblem, alike: bool) -> float:
    many = class_corners.entries(problem, alike=alike, most=class_corners.MAX_ENTRIES)
    if many > class_corners.MAX_ENTRIES:
        many = class_corners.entries(problem, alike=alike, pure=True)
    rows = n_sorted_counts(problem.K, problem.n_classes) if alike else math.prod(problem.table_shape)
    return 2 * (_PER_MULTISET * many + _PER_PAIR * (rows * problem.n_answers) ** 2)


def _nearest(problem: DecisionProblem, alike: bool) -> str:
    """The nearest problem that would fit, in words."""

    def fits(count: int, affected: int) -> bool:
        return _fits(_smaller(problem, count, affected), alike)

    affected = largest_that(problem.max_affected - 1, lambda t: fits(problem.K, t))
    if affected:
        return f"max_affected = {affected} would fit, if one record can affect no more voters."
    count = largest_that(max(group.count for group in problem.groups) - 1, lambda n: fits(n, problem.K))
    most = f"{count} voters in each group" if len(problem.groups) > 1 else f"{count} voters"
    if count:
        return f"At most {most} would fit."
    return "Fewer groups would fit." if problem.binary else "Fewer groups or classes would fit."


def _smaller(problem: DecisionProblem, count: int, affected: int) -> DecisionProblem:
    """The problem with at most that many voters in each group, and that many affected."""
    groups = [
        VoterGroup(min(group.count, count), group.epsilon, group.delta, min(group.max_affected, group.count, count))
        for group in problem.groups
    ]
    most = min(problem.max_affected, affected, sum(group.max_affected for group in groups))
    # The work does not depend on the limits.
    return DecisionProblem(groups, 1.0, 0.5, problem.n_classes, max_affected=most, none=problem.none)

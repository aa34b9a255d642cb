"""How many absent voters can be solved for: what is refused, and that what an error names would fit."""

import math
import re
import time
from itertools import product

import pytest
from cases import slow

import darrm
from darrm import DecisionProblem, InputError, VoterGroup, objectives
from darrm.design.absent import attendances, check_absent


def problem(*counts: int, affected: int | None = None, delta: float = 0.0) -> DecisionProblem:
    groups = [VoterGroup(count, epsilon, delta) for count, epsilon in zip(counts, (1.0, 0.5, 0.2, 0.1), strict=False)]
    return DecisionProblem(groups, 1.0, 0.1, max_affected=affected)


def test_attendances_are_all_but_all_and_none() -> None:
    found = list(attendances(problem(2, 1, 3)))
    assert found == [n for n in product(range(3), range(2), range(4)) if n not in ((0, 0, 0), (2, 1, 3))]
    assert list(attendances(problem(1))) == []


@pytest.mark.parametrize(
    "fine", [problem(1), problem(10, 10), problem(101), problem(25, 25, affected=5), problem(4, 4, 4), problem(7, 6)]
)
def test_what_takes_some_minutes_is_allowed(fine: DecisionProblem) -> None:
    check_absent(fine)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("large", "searches"),
    [
        (problem(12, 13, delta=1e-6), 181),
        (problem(12, 13, affected=7, delta=1e-6), 181),  # one reached voter too many
        *slow(
            (problem(25, 25), 675),
            (problem(750, affected=1), 750),  # for the size of the tables, not the multisets
            (problem(501), 501),
            (problem(10**6, affected=1), 10**6),
            (problem(5, 5, 5, 5), 1295),
            (problem(45, 45, affected=1), 2115),
        ),
    ],
)
def test_what_would_fit_fits(large: DecisionProblem, searches: int) -> None:
    """And one more does not: the nearest is named."""
    start = time.perf_counter()
    with pytest.raises(InputError, match=f"{searches:,} searches") as refusal:
        check_absent(large)
    assert time.perf_counter() - start < 30
    affected = re.search(r"max_affected = (\d+) would fit", str(refusal.value))
    counts = re.search(r"At most (\d+) voters", str(refusal.value))
    assert (affected is None) != (counts is None)

    def smaller(add: int) -> DecisionProblem:
        if affected:
            most = int(affected.group(1)) + add
            return DecisionProblem(large.groups, large.epsilon, large.delta, max_affected=most)
        assert counts
        n = int(counts.group(1)) + add
        groups = [VoterGroup(min(g.count, n), g.epsilon, g.delta) for g in large.groups]
        most = min(large.max_affected, sum(g.count for g in groups))
        return DecisionProblem(groups, large.epsilon, large.delta, max_affected=most)

    check_absent(smaller(0))
    with pytest.raises(InputError):
        check_absent(smaller(1))


@pytest.mark.thorough
def test_solve_refuses_before_it_begins() -> None:
    truth = objectives.truth([0.7, 0.6])
    rounds: list[object] = []
    with pytest.raises(InputError, match="absent=True is limited to groups"):
        darrm.solve(problem(25, 25), objective=truth, absent=True, report=rounds.append)
    assert not rounds
    assert math.prod(problem(25, 25).table_shape) == 676

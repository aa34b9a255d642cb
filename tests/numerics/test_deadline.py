"""A time limit ends a search inside its steps, at whatever moment: by a clock that goes on by a second at each look."""

import itertools
import math
import time

import numpy as np
import pytest

import darrm
from darrm.certificate.engines import forget
from darrm.numerics.deadline import OutOfTime, ends_at, time_left
from darrm.objectives import multinomials
from darrm.objectives.multinomials import multinomial
from darrm.problem.counts import count_vectors

GROUPS = darrm.DecisionProblem([darrm.VoterGroup(4, 1.0), darrm.VoterGroup(3, 0.3)], epsilon=1.2)
TRUTH = darrm.objectives.truth([0.7, 0.6])
CLASSES = darrm.DecisionProblem([darrm.VoterGroup(4, 1.0)], epsilon=1.0, classes=3, max_affected=1)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> itertools.count:  # type: ignore[type-arg]
    ticks = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))
    return ticks


def test_time_left_is_that_of_the_sooner_end(looks: object) -> None:
    assert time_left() == math.inf
    with ends_at(50.0), ends_at(10.0):
        assert 0 < time_left() < 10
    with ends_at(1.0):
        assert time_left() == 0


@pytest.mark.usefixtures("looks")
@pytest.mark.parametrize("seconds", [1, 3, 10, 30, 100])
@pytest.mark.parametrize(
    "options",
    [
        {"problem": darrm.MajorityProblem(K=15, m=3, epsilon=0.1, Delta=1e-5)},
        {"problem": darrm.MajorityProblem(K=11, m=3, epsilon=0.1), "engine": "full-list"},
        {"problem": GROUPS, "objective": TRUTH},
        {"problem": CLASSES, "objective": darrm.objectives.truth([0.7])},
    ],
)
def test_solve_ends_at_any_moment(options: dict[str, object], seconds: int) -> None:
    """With the error of time limits or an optimum, or with a certified table if the best so far will do."""
    said = "time limit"
    try:
        full = darrm.solve(**options, time_limit=seconds)  # type: ignore[call-overload]
        assert full.certificate.holds
        assert full.gap < 1e-6
        assert seconds > 1
    except darrm.SolverError as error:
        said = str(error).replace("_", " ")
    assert "time limit" in said
    if "engine" not in options:
        early = darrm.solve(**options, time_limit=seconds, on_time_limit="best")  # type: ignore[call-overload]
        assert early.certificate.holds


@pytest.mark.usefixtures("looks")
def test_a_limit_within_one_separation_ends_the_solve() -> None:
    """The clock is looked at more often than there are rounds: this one ends in the first."""
    forget()
    with pytest.raises(darrm.SolverError, match="0 iterations"):
        darrm.solve(K=701, m=3, epsilon=0.1, time_limit=10)


@pytest.mark.usefixtures("looks")
@pytest.mark.parametrize("seconds", [1, 10, 100, 300, 1000])
def test_a_plan_ends_at_any_moment(seconds: int) -> None:
    budget = {"max_affected": 1, "queries": 5, "total_epsilon": 2, "total_delta": 1e-5, "voters": "fresh"}
    for options in ({"K": 7, "epsilon": 0.8}, {"groups": [(4, 1.0)], "classes": 3}):
        spent, said = 0.0, ""
        try:
            spent = darrm.plan(**options, **budget, accuracy=0.7, time_limit=seconds).spent  # type: ignore[arg-type]
        except darrm.SolverError as error:
            said = str(error)
        assert 0 < spent <= 2 or "time limit ended" in said
        assert bool(said) == (seconds == 1) or 1 < seconds < 1000


def test_chances_of_many_votes_end() -> None:
    multinomials._factorials.cache_clear()
    counts = count_vectors(2 * multinomials._AT_ONCE, 2)
    with ends_at(time.monotonic() - 1), pytest.raises(OutOfTime):
        multinomial(counts, np.array([[0.3, 0.7]]))


@pytest.mark.thorough
def test_a_plan_for_very_many_voters_keeps_to_its_limit() -> None:
    start = time.monotonic()
    with pytest.raises(darrm.SolverError, match="time limit ended"):
        darrm.plan(
            [(1_000_000, 1.0)],
            max_affected=1,
            accuracy=0.7,
            queries=10,
            total_epsilon=5,
            total_delta=1e-6,
            voters="fresh",
            time_limit=0.5,
        )
    assert time.monotonic() - start < 20

"""What is too large for a plan is told before anything is listed, and a time limit is looked at inside every loop."""

import math
import time

import numpy as np
import pytest

import darrm
from darrm.accounting import compose
from darrm.accounting.ladder import any_votes_sigma
from darrm.ensemble.designs import fresh_plurality, teachers_decision
from darrm.numerics.deadline import OutOfTime, check_time, ends_at
from darrm.problem import counts

TEACHERS = {"accuracy": 0.8, "max_affected": 1, "queries": 1000, "total_epsilon": 8, "total_delta": 1e-5}


@pytest.fixture
def nothing_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    def listed(total: int, classes: int, most: int | None = None) -> np.ndarray:
        raise AssertionError(f"{total} votes for {classes} classes were listed")

    for module in (
        "design.rules",
        "problem.class_votes",
        "baselines.baseline",
        "baselines.random_votes",
        "problem.class_tables",
    ):
        monkeypatch.setattr(f"darrm.{module}.sorted_counts", listed)
    monkeypatch.setattr(counts, "sorted_counts", listed)


@pytest.mark.usefixtures("nothing_is_listed")
@pytest.mark.parametrize(("K", "classes"), [(250, 10), (1000, 4), (250, 7)])
def test_a_plan_that_is_too_large_names_the_noise_that_fits(K: int, classes: int) -> None:
    with pytest.raises(darrm.InputError, match=r"takes any number of votes: .*GaussianNoisyMax\(sigma=") as told:
        darrm.plan([(K, math.inf)], classes=classes, **TEACHERS)  # type: ignore[arg-type]
    sigma = float(str(told.value).partition("sigma=")[2].partition(",")[0])
    mechanism = darrm.mechanisms.GaussianNoisyMax(sigma, K=K, classes=classes)
    assert f"K={K}, classes={classes}) keeps 1000 labels within (8, 1e-05)" in str(told.value)
    assert 7.98 < compose(mechanism, 1000, delta=1e-5).upper <= 8


@pytest.mark.usefixtures("nothing_is_listed")
def test_other_ways_to_a_plan_ask_the_size_too() -> None:
    """Private voters, of whom noisy max says nothing; several groups; estimators."""
    with pytest.raises(darrm.InputError) as told:
        darrm.plan([(250, 1.0)], classes=10, voters="fresh", **TEACHERS)  # type: ignore[arg-type]
    assert "GaussianNoisyMax" not in str(told.value)
    with pytest.raises(darrm.InputError) as told:  # two changed votes, of which its total knows nothing
        darrm.plan([(250, math.inf)], classes=10, **TEACHERS | {"max_affected": 2})  # type: ignore[arg-type]
    assert "GaussianNoisyMax" not in str(told.value)
    with pytest.raises(darrm.InputError, match=r"one non-private group, 250:inf\. Noisy max takes"):
        darrm.plan([(100, math.inf), (150, math.inf)], classes=4, **TEACHERS)  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match=r"Noisy max takes any number of votes: pass sigma=21\.62 in place"):
        teachers_decision(250, "replace-one", 1000, 8, 1e-5, 10, 0.75)
    with pytest.raises(darrm.InputError, match=r"pass gamma in place of queries"):
        teachers_decision(250, "replace-one", 1000, 8, 0.0, 10, 0.75)
    with pytest.raises(darrm.InputError):
        fresh_plurality(250, 1.0, 1, "replace-one", None, None, 8, 1e-5, 10, 0.75, None)


def test_the_noise_that_is_named_is_enough_and_hardly_more() -> None:
    for queries, epsilon, delta in ((1, 1.0, 1e-5), (1000, 8.0, 1e-5), (50, 0.1, 1e-9)):
        sigma = any_votes_sigma(queries, epsilon, delta)
        spent = compose(darrm.mechanisms.GaussianNoisyMax(sigma), queries, delta=delta, K=10**6, classes=100).upper
        assert 0.999 * epsilon < spent <= epsilon


@pytest.mark.thorough
def test_a_time_limit_is_looked_at_in_the_loops_of_one_step() -> None:
    """One total of so many votes takes minutes."""
    start = time.monotonic()
    with pytest.raises(darrm.SolverError, match=r"time limit ended .*\(sigma=7\.063, K=40, classes=8\)"):
        darrm.plan([(40, math.inf)], classes=8, **TEACHERS | {"queries": 100}, time_limit=1.5)  # type: ignore[arg-type]
    assert time.monotonic() - start < 60


def test_the_sooner_of_two_ends_counts() -> None:
    check_time()
    with ends_at(time.monotonic() - 1):
        with pytest.raises(OutOfTime):
            check_time()
        with ends_at(time.monotonic() + 100), pytest.raises(OutOfTime):
            check_time()
    check_time()
    with ends_at(time.monotonic() + 100):
        check_time()

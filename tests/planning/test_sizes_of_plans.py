"""What is too large for a plan is told before anything is listed, and a time limit is looked at inside every loop."""

import math
import time
from pathlib import Path

import numpy as np
import pytest

import darrm
from darrm.accounting import OutcomeRows, compose, cover
from darrm.accounting.ladder import any_votes_sigma
from darrm.accounting.releases import one_label
from darrm.certificate.classes import ClassSeparation
from darrm.ensemble.designs import fresh_plurality, teachers_decision
from darrm.numerics.deadline import OutOfTime, check_time, ends_at
from darrm.planning.beyond_tables import beyond_tables
from darrm.problem import counts
from darrm.problem.limits import guarantee
from darrm.show import comparison_words, plan_words

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
@pytest.mark.parametrize(
    ("K", "classes", "queries"),
    [
        (250, 10, 6),
        (100, 5, 6),  # a table fits the certificate and no file, and would be searched for in hours
        pytest.param(250, 10, 1000, marks=pytest.mark.slow),
        pytest.param(1000, 4, 1000, marks=pytest.mark.slow),
    ],
)
def test_a_plan_that_no_table_fits_is_noisy_max_within_the_budget(K: int, classes: int, queries: int) -> None:
    plan = darrm.plan([(K, math.inf)], classes=classes, **TEACHERS | {"queries": queries})  # type: ignore[arg-type]
    assert (plan.problem.K, plan.problem.n_classes, plan.problem.max_affected) == (K, classes, 1)
    for votes in ({}, {"K": K, "classes": classes}, {"K": K - 1, "classes": 2 * classes}):
        noisy = darrm.mechanisms.GaussianNoisyMax(plan.chosen.sigma)
        spent = compose(noisy, queries, delta=1e-5, **votes).upper
        assert 7.98 < spent <= plan.spent <= 8
    with pytest.raises(darrm.InputError, match=rf"no table for {K} voters and {classes} classes fits.*plan\.chosen"):
        plan.design  # noqa: B018
    assert repr(plan).endswith(f"K={K}, classes={classes})>")
    assert "A second label of the same votes counts as one label more." in plan.assumptions
    assert any("evenly over the wrong classes, and as often on every query" in said for said in plan.assumptions)
    assert plan.comparison is not None
    assert plan.comparison.called == "non-private"
    planned, *others = plan.comparison
    short = f"{plan.chosen.sigma:.6g}"
    assert float(short) == plan.chosen.sigma  # so who types the noise in print has as much
    assert planned.setting.endswith(f"sigma {short}")
    assert (planned.total, planned.wrong) == (plan.spent, plan.wrong)
    assert [row.name for row in others][1:] == ["permute-and-flip", "exponential mechanism", others[-1].name]
    assert all(7.9 < row.total <= 8 for row in others[:-1])
    assert others[-1].total < 7.9  # the same noisy max by the accounting of its paper
    assert others[-1].wrong >= planned.wrong
    assert f"{others[-1].name}: the labels of Gaussian noisy max" in comparison_words.columns_meant(plan.comparison)


@pytest.mark.usefixtures("nothing_is_listed")
def test_noise_that_is_better_than_that_of_the_plan_is_named(tmp_path: Path) -> None:
    """Gaussian noise is for many labels; for one, noise that needs no delta is better."""
    asked = TEACHERS | {"queries": 1, "total_epsilon": 0.1, "accuracy": 0.3}
    plan = darrm.plan([(250, math.inf)], classes=10, **asked)  # type: ignore[arg-type]
    assert plan.comparison is not None
    assert plan.comparison["permute-and-flip"].wrong < plan.wrong
    assert any("permute-and-flip (epsilon 0.0998" in said for said in plan_words.remarks(plan))
    shown = dict(row[:2] for row in comparison_words.mechanism_rows(plan.comparison))
    printed = [shown["permute-and-flip (epsilon 0.0998192)"], plan_words.wrong_rows(plan)[0][1]]
    assert printed == ["0.26", "0.57"], "a mean over 1,000 drawn votes has no more digits"
    plan.comparison.write(tmp_path / "t.tex")
    for text in ((tmp_path / "t.tex").read_text(), str(plan.comparison)):
        assert "0.26 " in text
        assert "0.57 " in text
        assert f"{plan.wrong:.4f}" not in text
    assert plan.comparison.columns()["wrong"][0] == plan.wrong  # data keep all digits
    assert "1,000 drawn vectors of votes, with standard errors of at most 0.016." in str(plan.comparison)


@pytest.mark.usefixtures("nothing_is_listed")
def test_the_error_rates_of_noisy_max_are_those_of_drawn_votes() -> None:
    """By 4,000 labels of votes that are drawn one by one here."""
    named = {"classes": list("abcdefgh"), "prior": [0.3] + [0.1] * 7}
    voters = [darrm.VoterGroup(60, math.inf, names=[f"a{k}" for k in range(60)]),
              darrm.VoterGroup(40, math.inf, names=[f"b{k}" for k in range(40)])]  # fmt: skip
    asked = TEACHERS | named | {"accuracy": [0.25, 0.15], "queries": 5, "total_epsilon": 0.5}
    plan = darrm.plan(voters, **asked)  # type: ignore[arg-type]
    assert plan.problem.voters == (*voters[0].names, *voters[1].names)
    assert plan.problem.names == tuple("abcdefgh")
    rng = np.random.default_rng(5)
    truth = rng.choice(8, 4000, p=named["prior"])
    right = np.array([0.25] * 60 + [0.15] * 40) > rng.random((4000, 100))
    votes = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, 8, (4000, 100))) % 8)
    counts = (votes[:, :, None] == np.arange(8)).sum(axis=1)
    noisy = (counts + plan.chosen.sigma * rng.standard_normal(counts.shape)).argmax(axis=1)
    assert abs((noisy != truth).mean() - plan.wrong) < 0.03
    assert abs((counts[np.arange(4000), noisy] < counts.max(axis=1)).mean() - plan.disagreement) < 0.03
    noiseless = (counts[np.arange(4000), truth] < counts.max(axis=1)).mean()
    assert abs(noiseless - plan.wrong_without_noise) < 0.06 < 0.1 < noiseless


def test_costs_and_orders_are_not_for_noisy_max() -> None:
    for more in ({"ordered": True}, {"cost": np.ones((10, 10)) - np.eye(10)}):
        with pytest.raises(darrm.InputError, match=r"takes any number of votes: .*GaussianNoisyMax\(sigma="):
            darrm.plan([(250, math.inf)], classes=10, **TEACHERS | {"queries": 5} | more)  # type: ignore[arg-type]
    unknown = {name: value for name, value in TEACHERS.items() if name != "accuracy"} | {"queries": 5}
    plan = darrm.plan([(250, math.inf)], classes=10, **unknown)  # type: ignore[arg-type]
    assert math.isnan(plan.wrong)
    assert math.isnan(plan.disagreement)
    with pytest.raises(darrm.InputError, match="max_affected must be given"):
        darrm.plan([(250, math.inf)], classes=10, **unknown | {"max_affected": None})  # type: ignore[arg-type]


@pytest.mark.usefixtures("nothing_is_listed")
def test_votes_that_need_no_noise_are_told_so_where_no_table_fits() -> None:
    asked = TEACHERS | {"queries": 400, "total_epsilon": 8.0, "total_delta": 1e-5, "voters": "fixed"}
    with pytest.raises(darrm.InputError, match=r"need no noise: .*Any number of labels are \(8, 1e-05\)-DP"):
        darrm.plan([(250, 8.0, 1e-5)], classes=10, **asked)  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match=r"would fit((?!need no noise).)*$"):
        darrm.plan([(250, 8.0, 1e-5)], classes=10, **asked | {"total_epsilon": 7.9})  # type: ignore[arg-type]


@pytest.mark.usefixtures("nothing_is_listed")
def test_other_ways_to_a_plan_ask_the_size_too() -> None:
    """Private voters, for whom noisy max is the plan of non-private ones; several groups; estimators.

    Where no table fits without the randomizer either, to leave it out is no way.
    """
    known = darrm.VoterGroup(250, 1.0, randomizer="randomized response", colluders=0)
    for group, before in (((250, 1.0), "ask fewer voters. Or count"), (known, "classes. Count")):
        said = rf"{before} all .*--group 250:inf\), without .* the plan is then noisy max"
        with pytest.raises(darrm.InputError, match=said):
            darrm.plan([group], classes=10, voters="fresh", **TEACHERS)  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match=r"take fewer voters or classes\.$"):  # where a table fits without it
        darrm.plan([known], classes=3, voters="fresh", **TEACHERS)  # type: ignore[arg-type]
    few = TEACHERS | {"queries": 5}
    with pytest.raises(darrm.InputError, match=r"one non-private group, 250:inf\. Noisy max takes"):
        darrm.plan([(100, math.inf), (150, math.inf)], classes=3, **few)  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match=r"Noisy max takes any number of votes: pass sigma=1\.899 in place"):
        teachers_decision(250, "replace-one", 5, 8, 1e-5, 10, 0.75)
    with pytest.raises(darrm.InputError, match=r"pass gamma \(without a ledger\) in place of queries"):
        teachers_decision(250, "replace-one", 1000, 8, 0.0, 10, 0.75)
    with pytest.raises(darrm.InputError):
        fresh_plurality(250, 1.0, 1, "replace-one", None, None, 8, 1e-5, 10, 0.75, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("queries", "epsilon", "delta"),
    [
        (1, 1.0, 1e-5),
        pytest.param(1000, 8.0, 1e-5, marks=pytest.mark.thorough),
        pytest.param(50, 0.1, 1e-9, marks=pytest.mark.thorough),
    ],
)
def test_the_noise_that_is_named_is_enough_and_hardly_more(queries: int, epsilon: float, delta: float) -> None:
    sigma = any_votes_sigma(queries, epsilon, delta)
    spent = compose(darrm.mechanisms.GaussianNoisyMax(sigma), queries, delta=delta, K=10**6, classes=100).upper
    assert 0.999 * epsilon < spent <= epsilon


@pytest.mark.slow
def test_a_time_limit_is_looked_at_in_the_loops_of_one_step() -> None:
    """One total of so many votes takes minutes."""
    start = time.monotonic()
    plan = darrm.plan([(25, math.inf)], classes=10, **TEACHERS | {"queries": 100}, time_limit=1.5)  # type: ignore[arg-type]
    assert (round(plan.chosen.sigma, 3), plan.complete) == (7.062, False)
    assert time.monotonic() - start < 60


def test_noisy_max_is_the_plan_where_no_table_is_found_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def planned(*_: object) -> None:
        raise OutOfTime

    monkeypatch.setattr("darrm.planning.planner.planned", planned)
    monkeypatch.setattr("darrm.planning.beyond_tables.any_votes_sigma", lambda *_: 40.0)
    asked = TEACHERS | {"queries": 2, "time_limit": 60.0}
    plan = darrm.plan([(5, math.inf)], classes=3, **asked)  # type: ignore[arg-type]
    assert (plan.chosen.sigma, plan.complete, plan.comparison) == (40.0, False, None)
    assert plan.spent == compose(darrm.mechanisms.GaussianNoisyMax(40.0), 2, delta=1e-5).upper
    assert any("or none was found in time, so the plan is" in said for said in plan_words.remarks(plan))
    assert any("or there is no comparison" in said for said in plan_words.remarks(plan))
    for other in ({"cost": np.ones((3, 3)) - np.eye(3)}, {"groups": [(5, 1.0)], "voters": "fresh"}):
        with pytest.raises(darrm.SolverError, match="time limit ended before any design"):
            darrm.plan(**{"groups": [(5, math.inf)], "classes": 3} | asked | other)  # type: ignore[arg-type]


@pytest.mark.parametrize(("K", "reached", "noisy"), [(40, 1, True), (25, 1, False), (15, 2, False), (250, 2, True)])
def test_tables_are_given_up_only_where_noisy_max_is_as_good(K: int, reached: int, *, noisy: bool) -> None:
    """With two affected of fifteen an optimum has a third less errors, found in seconds."""
    assert (beyond_tables([darrm.VoterGroup(K, math.inf)], reached, 10, "replace-one") is not None) is noisy


def test_a_time_limit_ends_the_search_for_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("darrm.accounting.ladder.cells_of", lambda *_: check_time())
    with pytest.raises(darrm.SolverError, match="time limit ended before the noise was found"):
        darrm.plan([(250, math.inf)], classes=10, **TEACHERS | {"queries": 7}, time_limit=1e-3)  # type: ignore[arg-type]


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


@pytest.mark.parametrize("what", ["rows", "largest", "profile"])
def test_lists_of_cases_look_at_the_clock(what: str) -> None:
    """Where they are made already: on a busy machine what follows took a plan a second and more beyond its limit."""
    problem = darrm.DecisionProblem([darrm.VoterGroup(3, 1.0)], 1.0, classes=3)
    design = darrm.solve(problem, objective=darrm.objectives.rule("plurality", [0.6]))
    search, rows = ClassSeparation(design.table, guarantee(problem)), one_label(design).gives()
    assert isinstance(rows, OutcomeRows)
    assert list(search.rows())  # keeps the cases
    made = {
        "rows": lambda: list(search.rows()),
        "largest": lambda: search.largest(lambda P, Q: P[:, 0], 0.0, 10),
        "profile": lambda: cover._both(rows.P, rows.Q).forward.profile(np.ones(3)),
    }
    with ends_at(-math.inf), pytest.raises(OutOfTime):
        made[what]()

"""Labels of a design as an OpenDP measurement: its map, its labels, and what OpenDP does with both."""

import itertools
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as dp
import pytest
import scipy.stats

import darrm
from darrm.interop import opendp_measurement

PROGRAM = Path(__file__).parent / "programs" / "without_opendp.py"
N = 4  # labels
FLIPS = darrm.mechanisms.RandomizedResponse(0.5)

MAJORITY = darrm.solve(K=5, m=1, epsilon=0.5, max_affected=2)
WITH_DELTA = darrm.solve(K=3, m=1, epsilon=0.5, Delta=1e-6, delta=1e-5)
GROUPS = darrm.solve(
    darrm.DecisionProblem([darrm.VoterGroup(2, 1.0), darrm.VoterGroup(3, 0.25)], 0.5),
    objective=darrm.objectives.rule("majority", accuracy=[0.8, 0.7]),
)
ABSENT = darrm.solve(
    darrm.DecisionProblem([darrm.VoterGroup(3, 0.5)], 0.5),
    objective=darrm.objectives.rule("majority", accuracy=[0.8]),
    absent=True,
)
CLASSES = darrm.solve(
    darrm.DecisionProblem([darrm.VoterGroup(4, 1.0)], 1.0, classes=3),
    objective=darrm.objectives.rule("plurality", accuracy=[0.8]),
)
TEACHERS = darrm.solve(
    darrm.DecisionProblem([darrm.VoterGroup(5, math.inf)], 0.75, max_affected=2),
    objective=darrm.objectives.rule("majority", accuracy=[0.8]),
)
ACCURATE = darrm.objectives.truth([0.8, 0.8])
DESIGNS = {"majority": MAJORITY, "groups": GROUPS, "absent": ABSENT, "classes": CLASSES, "teachers": TEACHERS}


@pytest.fixture(autouse=True)
def _features() -> Iterator[None]:
    dp.enable_features("contrib", "honest-but-curious")
    yield
    dp.disable_features("honest-but-curious")


def people(n: int) -> Any:
    """Data with one bit for each voter."""
    return dp.vector_domain(dp.atom_domain(T=int), size=n)


def asked(data: list[int]) -> Any:
    """Each voter says its bit, or the opposite, to every query."""
    return FLIPS.release(np.tile(data, (N, 1)))


def measurement(design: Any = MAJORITY, **other: Any) -> Any:
    """A measurement on one bit for each voter."""
    given = {"n_labels": N, "votes": asked, "voters": "fresh", "input_metric": dp.hamming_distance()} | other
    if "input_domain" not in given:
        given["input_domain"] = people(design.problem.K)
    return opendp_measurement(design, **given)


# What the map says.


@pytest.mark.parametrize("voters", ["fresh", "fixed"])
@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("delta", [None, 0.0, 1e-6])
def test_the_map_is_what_all_labels_cost(name: str, voters: str, delta: float | None) -> None:
    design = DESIGNS[name]
    made = measurement(design, voters=voters, delta=delta)
    total = darrm.accounting.compose(design, N, delta=delta or 0.0, voters=voters).upper
    assert total > 0
    if delta:
        assert made.output_measure == dp.fixed_smoothed_max_divergence()
        assert [made.map(d) for d in (0, 1, 2, 9)] == [(0, 0), (total, delta), (math.inf, 1), (math.inf, 1)]
        assert made.check(1, (total, delta))
        assert not made.check(1, (math.nextafter(total, 0), delta))
        assert not made.check(2, (1e6, 0.5))
    else:
        assert made.output_measure == dp.max_divergence()
        assert [made.map(d) for d in (0, 1, 2, 9)] == [0, total, math.inf, math.inf]
        assert made.check(1, total)
        assert not made.check(1, math.nextafter(total, 0))
        assert not made.check(2, 1e6)


def test_delta_is_kept_where_it_alone_makes_epsilon_0() -> None:
    """Labels that cost nothing but delta are not free."""
    made = measurement(WITH_DELTA, n_labels=1, delta=0.9)
    assert darrm.accounting.compose(WITH_DELTA, 1, delta=0.9, voters="fresh").upper == 0
    assert made.map(1) == (0, 0.9)


def test_the_map_holds_for_the_exact_distributions() -> None:
    """Two labels by three voters with randomized response, every pair of data sets of one bit a voter."""
    design = darrm.solve(K=3, m=1, epsilon=0.5)
    made = measurement(design, n_labels=2)
    flip = FLIPS.flip_probability

    def one(data: tuple[int, ...]) -> float:
        """Pr[label 1]."""
        chances = darrm.numerics.poisson_binomial.pmf([1 - flip if bit else flip for bit in data])
        signs = np.sign(2 * np.arange(4) - 3)
        return float(chances @ (1 + signs * design.gamma) / 2)

    chances = [one(data) for data in itertools.product((0, 1), repeat=3)]
    worst = max(2 * math.log(max(a / b, (1 - a) / (1 - b))) for a in chances for b in chances)
    assert 0.9 * made.map(1) < worst <= made.map(1)


# What it releases.


@pytest.mark.parametrize("name", DESIGNS)
def test_labels_are_a_list_of_numbers_of_answers(name: str) -> None:
    design = DESIGNS[name]
    labels = measurement(design)([1] * design.problem.K)
    answers = design.problem.n_answers if isinstance(design, darrm.DecisionDesign) else 2
    assert len(labels) == N
    assert all(type(label) is int and 0 <= label < answers for label in labels)


@pytest.mark.thorough
def test_labels_have_the_probabilities_of_the_design() -> None:
    """A false alarm once in a billion runs, over all numbers of ones together. Rows are labels, in their order."""
    design, n = MAJORITY, 20_000
    K = design.problem.K
    rows = np.repeat((np.arange(K) < np.arange(K + 1)[:, None]).astype(int), n, axis=0)
    labels = measurement(n_labels=len(rows), votes=lambda data: rows)([0] * K)
    ones = np.array(labels).reshape(K + 1, n).sum(axis=1)
    signs = np.sign(2 * np.arange(K + 1) - K)
    for seen, one in zip(ones.tolist(), (1 + signs * design.gamma) / 2, strict=True):
        assert scipy.stats.binomtest(seen, n, one).pvalue > 1e-9 / (K + 1)


def test_each_call_draws_anew() -> None:
    made = measurement(n_labels=200, votes=lambda data: np.tile(data, (200, 1)))
    assert made([1, 1, 1, 0, 0]) != made([1, 1, 1, 0, 0])  # equal once in e^100 runs


# OpenDP's combinators.


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_opendp_composes_it(delta: float) -> None:
    first, second = measurement(delta=delta), measurement(CLASSES, input_domain=people(5), votes=four, delta=delta)
    both = dp.c.make_composition([first, second])
    labels = both([1, 1, 0, 1, 0])
    assert [len(part) for part in labels] == [N, N]
    assert max(labels[0]) <= 1
    a, b, total = first.map(1), second.map(1), both.map(1)
    if delta:
        assert (a[0] + b[0], 2e-6) <= total <= ((a[0] + b[0]) * (1 + 1e-15), 2e-6 * (1 + 1e-15))
    else:
        assert a + b <= total <= (a + b) * (1 + 1e-15)


def four(data: list[int]) -> Any:
    """The first four of five voters, who name one of three classes."""
    return darrm.mechanisms.RandomizedResponse(1.0, classes=3).release(np.tile(data[:4], (N, 1)))


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_it_is_asked_adaptively(delta: float) -> None:
    made = measurement(delta=delta)
    space, measure, cost = made.input_space, made.output_measure, made.map(1)
    adaptive = dp.c.make_adaptive_composition(*space, measure, d_in=1, d_mids=[cost, cost])
    queryable = adaptive([1, 1, 0, 1, 0])
    assert [len(queryable(made)) for _ in range(2)] == [N, N]
    with pytest.raises(dp.OpenDPException, match="out of queries"):
        queryable(made)
    too_little = dp.c.make_adaptive_composition(*space, measure, d_in=1, d_mids=[(0.1, delta) if delta else 0.1])
    with pytest.raises(dp.OpenDPException):
        too_little([1, 1, 0, 1, 0])(made)


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_an_odometer_counts_it_and_a_filter_stops_it(delta: float) -> None:
    made = measurement(delta=delta)
    odometer = dp.c.make_fully_adaptive_composition(*made.input_space, made.output_measure)
    running = odometer([1, 1, 0, 1, 0])
    for n in (1, 2):
        assert len(running(made)) == N
        assert running.privacy_loss(1) == pytest.approx(n * np.array(made.map(1)), rel=1e-15)
    budget = (1.5 * made.map(1)[0], 2 * delta) if delta else 1.5 * made.map(1)
    limited = dp.c.make_privacy_filter(odometer, d_in=1, d_out=budget)
    assert limited.map(1) == budget
    asked_twice = limited([1, 1, 0, 1, 0])
    assert len(asked_twice(made)) == N
    with pytest.raises(dp.OpenDPException):
        asked_twice(made)


@pytest.mark.thorough
def test_an_odometer_of_two_changes_has_no_finite_loss() -> None:
    made = measurement()
    running = dp.c.make_fully_adaptive_composition(*made.input_space, made.output_measure)([1, 1, 0, 1, 0])
    running(made)
    assert running.privacy_loss(1) == made.map(1)
    with pytest.raises(dp.OpenDPException, match="inf"):
        running.privacy_loss(2)


@pytest.mark.thorough
def test_it_comes_after_transformations_and_before_functions() -> None:
    """Records of symmetric distance 2, of a known number, become records of which one is changed."""
    bounds = (0, 1)
    prepared = (
        (dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance())
        >> dp.t.then_clamp(bounds)
        >> dp.t.then_resize(size=5, constant=0)
        >> dp.t.then_metric_bounded()
        >> dp.t.then_ordered_random()
    )
    domain = dp.vector_domain(dp.atom_domain(bounds=bounds), size=5)
    made = measurement(input_domain=domain)
    chained = prepared >> made >> (lambda labels: sum(labels))
    assert 0 <= chained([7, -7, 1]) <= N
    assert chained.map(1) == made.map(1)  # a record more may take the place of a filler
    assert chained.map(2) == math.inf
    with pytest.raises(dp.OpenDPException, match="MetricMismatch"):
        (domain, dp.symmetric_distance()) >> dp.t.then_identity() >> made


def test_it_cannot_be_serialised() -> None:
    with pytest.raises(Exception, match="does not handle"):
        dp.serialize(measurement())


# Metrics.


def other_adjacency(text: str) -> Any:
    return darrm.solve(darrm.MajorityProblem(3, m=1, epsilon=0.5, adjacency=text))


METRICS = {
    "change-one": dp.change_one_distance,
    "hamming": dp.hamming_distance,
    "symmetric": dp.symmetric_distance,
    "insert-delete": dp.insert_delete_distance,
    "replace-one": lambda: dp.user_distance("replace-one"),
    "add-remove": lambda: dp.user_distance("add-remove"),
    "one patient": lambda: dp.user_distance("one patient"),
}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("adjacency", "fit"),
    [
        ("replace-one", {"change-one", "hamming", "replace-one"}),
        ("add-remove", {"symmetric", "insert-delete", "add-remove"}),
        ("one patient", {"one patient"}),
    ],
)
def test_neighbours_are_at_distance_1_in_the_metric(adjacency: str, fit: set[str], metric: str) -> None:
    design = other_adjacency(adjacency)
    if metric in fit:
        assert 0 < measurement(design, input_metric=METRICS[metric]()).map(1) < math.inf
    else:
        with pytest.raises(darrm.InputError, match=r"input_metric must be .*are at distance 1") as refused:
            measurement(design, input_metric=METRICS[metric]())
        assert ("then_metric_bounded" in str(refused.value)) == ((adjacency, metric) == ("replace-one", "symmetric"))


@pytest.mark.thorough
@pytest.mark.first(2)
@pytest.mark.parametrize("distance", [-1, 0.5, math.nan, "1", None, True])
def test_a_distance_is_a_number_of_changes(distance: Any) -> None:
    made = measurement(input_metric=dp.user_distance("replace-one"))
    with pytest.raises(dp.OpenDPException, match="d_in must be an integer"):
        made.map(distance)


# Votes that are there.


def test_votes_of_voters_without_privacy_may_be_the_data() -> None:
    """The exact cost: the largest ratio of one label between counts that two changed voters tell apart, N times."""
    made = opendp_measurement(TEACHERS, n_labels=N, votes=None)
    ones = TEACHERS.table.ravel()
    one_label = max(
        math.log(max(ones[i] / ones[j], (1 - ones[i]) / (1 - ones[j])))
        for i in range(6)
        for j in range(max(0, i - 2), min(6, i + 3))
    )
    assert N * one_label * (1 - 1e-12) <= made.map(1) <= N * one_label * (1 + 1e-9)
    assert [made.map(d) for d in (0, 1, 2, 3)] == [0, made.map(1), made.map(1), math.inf]
    assert measurement(TEACHERS, voters="fixed").map(1) == pytest.approx(made.map(1), rel=1e-12)


@pytest.mark.parametrize(("first", "both", "furthest"), [(1, 3, 1), (3, 2, 2), (3, 5, 5), (2, 4, 2)])
def test_any_voters_may_change_up_to_the_least_limit(first: int, both: int, furthest: int) -> None:
    groups = [darrm.VoterGroup(3, math.inf, max_affected=first), darrm.VoterGroup(2, math.inf)]
    problem = darrm.DecisionProblem(groups, 1.0, max_affected=both)
    design = darrm.DecisionDesign(problem, [[0.5] * 3] * 3 + [[0.5, 0.5, 0.625]], ACCURATE)
    made = opendp_measurement(design, n_labels=1, votes=None)
    assert made.check(furthest, 1.0)
    assert not made.check(furthest + 1, 1e6)


def test_every_voter_brings_its_own_answers() -> None:
    """Labels follow the columns: with so large an epsilon another label comes once in e^30 runs."""
    problem = darrm.DecisionProblem([darrm.VoterGroup(3, math.inf)], 80.0)
    design = darrm.solve(problem, objective=darrm.objectives.rule("majority", accuracy=[0.8]))
    made = opendp_measurement(design, n_labels=4, votes=None)
    assert made([[1, 0, 1, 0], [1, 0, 0, 1], [0, 0, 1, 1]]) == [1, 0, 1, 1]
    assert made(np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 0, 1, 1]])) == [1, 0, 1, 1]
    domain = made.input_domain
    assert domain.member([[1, 0, 1, 0]] * 3)
    assert not domain.member([[1, 0, 1, 0]] * 2)
    assert not domain.member([[1, 0, 1, 2]] * 3)
    assert not domain.member([[1, 0, 1]] * 3)


def test_voters_stand_in_the_order_of_the_groups() -> None:
    """The one voter of the first group decides; another label comes once in 2^38 runs."""
    problem = darrm.DecisionProblem([darrm.VoterGroup(1, math.inf), darrm.VoterGroup(2, math.inf)], 80.0)
    never = 2.0**-40
    design = darrm.DecisionDesign(problem, [[never] * 3, [1 - never] * 3], ACCURATE)
    assert opendp_measurement(design, n_labels=2, votes=None)([[1, 0], [0, 0], [1, 1]]) == [1, 0]
    made = measurement(design, n_labels=2, votes=lambda data: [[1, 0, 1], [0, 0, 1]])
    assert made([0, 0, 0]) == [1, 0]


def test_a_stable_transformation_makes_the_votes() -> None:
    """Disjoint shards by position: each teacher says whether its part has more ones, at three thresholds."""
    made = opendp_measurement(TEACHERS, n_labels=3, votes=None)
    domain = dp.vector_domain(dp.atom_domain(T=int), size=20)

    def teach(data: list[int]) -> list[list[int]]:
        return [[int(sum(data[start : start + 4]) > least) for least in range(3)] for start in range(0, 20, 4)]

    taught = dp.t.make_user_transformation(
        domain, dp.hamming_distance(), made.input_domain, made.input_metric, teach, lambda records: records
    )
    chained = taught >> made
    assert len(chained([0, 1] * 10)) == 3
    assert (chained.map(1), chained.map(2), chained.map(3)) == (made.map(1), made.map(1), math.inf)


@pytest.mark.parametrize("design", [MAJORITY, GROUPS, CLASSES], ids=["majority", "groups", "classes"])
def test_votes_of_private_voters_are_no_data(design: Any) -> None:
    with pytest.raises(darrm.InputError, match=r"votes must be a function where voters are private\. Got None\."):
        opendp_measurement(design, n_labels=N, votes=None)


@pytest.mark.thorough
def test_one_private_group_is_enough_to_refuse_votes() -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(2, math.inf), darrm.VoterGroup(1, 0.5)], 1.0)
    design = darrm.DecisionDesign(problem, [[0.5, 0.5]] * 3, ACCURATE)
    with pytest.raises(darrm.InputError, match="votes must be a function where voters are private"):
        opendp_measurement(design, n_labels=N, votes=None)


def test_who_is_absent_is_no_data() -> None:
    design = darrm.solve(
        darrm.DecisionProblem([darrm.VoterGroup(3, math.inf)], 0.5),
        objective=darrm.objectives.rule("majority", accuracy=[0.8]),
        absent=True,
    )
    with pytest.raises(darrm.InputError, match="votes must be a function where voters may be absent"):
        opendp_measurement(design, n_labels=N, votes=None)


@pytest.mark.parametrize("name", ["voters", "input_domain", "input_metric"])
def test_votes_that_are_there_decide_the_rest(name: str) -> None:
    given = {"voters": "fresh", "input_domain": people(5), "input_metric": dp.hamming_distance()}
    with pytest.raises(darrm.InputError, match=rf"^{name} follows from the design .* Leave it out\.$"):
        opendp_measurement(TEACHERS, n_labels=N, votes=None, **{name: given[name]})  # type: ignore[arg-type]


# What is refused.


@pytest.mark.first(10)
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"design": "gamma.json"}, "design must be a Design"),
        ({"design": darrm.mechanisms.RandomizedResponse(2.0)}, "design must be a Design .* Got RandomizedResponse"),
        ({"design": MAJORITY.problem}, "design must be a Design .* Got MajorityProblem"),
        *(({"n_labels": n}, "n_labels must be an integer") for n in (0, -1, 1.5, math.nan, "4", None, 10**8)),
        *(({"delta": d}, "delta must be") for d in (-1e-9, 1, 1.0, math.nan, math.inf, "0", [0.1])),
        ({"voters": None}, 'voters must be "fresh"'),
        ({"voters": "both"}, 'voters must be "fresh"'),
        ({"votes": [[1, 0, 1, 0, 1]] * N}, "votes must be a function from the data to the votes, or None"),
        ({"input_domain": None}, "input_domain must be a Domain of OpenDP"),
        ({"input_domain": int}, "input_domain must be a Domain of OpenDP"),
        ({"input_metric": None}, "input_metric must be change_one_distance"),
        ({"input_metric": "hamming"}, "input_metric must be change_one_distance"),
        ({"input_domain": dp.hamming_distance()}, "input_domain must be a Domain of OpenDP"),
        ({"design": WITH_DELTA}, "delta must be given: one label of this design has a delta of 1e-05"),
        (
            {"design": WITH_DELTA, "delta": 0.0},
            "delta must be above .* for 4 labels of this design. Got 0. .* A loss above 14 nats plus ",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(darrm.InputError, match=said) as refused:
        measurement(**({"input_domain": people(5)} | wrong))
    assert len(str(refused.value).splitlines()) == 1


def test_features_must_be_enabled() -> None:
    dp.disable_features("honest-but-curious")
    with pytest.raises(darrm.InputError, match=r'enable_features\("contrib", "honest-but-curious"\)'):
        measurement()


def fails(data: list[int]) -> Any:
    raise RuntimeError("the voters are away")


@pytest.mark.thorough
@pytest.mark.first(4)
@pytest.mark.parametrize(
    ("votes", "said"),
    [
        (lambda data: [data] * (N - 1), rf"votes must have shape \(n_labels, K\) = \({N}, 5\)"),
        (lambda data: [data[:4]] * N, rf"votes must have shape .* Got \({N}, 4\)"),
        (lambda data: data, r"votes must have shape .* Got \(5,\)"),
        (lambda data: [[data]] * N, r"votes must have shape"),
        (lambda data: [data, data[:2], data, data], r"votes must be an array of shape"),
        (lambda data: None, r"votes must have shape .* Got \(\)"),
        (lambda data: np.full((N, 5), math.nan), "vote"),
        (lambda data: np.full((N, 5), 2), "vote"),
        (lambda data: np.full((N, 5), -1), "vote"),
        (lambda data: np.full((N, 5), 0.5), "vote"),
        (lambda data: np.full((N, 5), "yes"), "votes must be"),
        (lambda data: np.ma.masked_array(np.ones((N, 5)), True), "votes must be a plain array"),
        (fails, "RuntimeError: the voters are away"),
    ],
)
def test_bad_votes_release_nothing(votes: Any, said: str) -> None:
    made = measurement(votes=votes)
    with pytest.raises(dp.OpenDPException, match=said):
        made([1, 0, 1, 0, 1])


@pytest.mark.thorough
def test_the_extra_is_named_where_it_is_missing() -> None:
    ended = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, timeout=300, check=True)
    assert re.fullmatch(r"opendp_measurement needs OpenDP\. Run: pip install 'darrm\[opendp\]'\n", ended.stdout)


@pytest.mark.thorough
def test_votes_with_names_are_not_taken_by_position() -> None:
    """The function of the votes may give a frame; a measurement does not know which column is whose."""
    pd = pytest.importorskip("pandas")

    def problem(*names: str) -> darrm.DecisionProblem:
        groups = [darrm.VoterGroup(1, 1.0, names=names[:1] or None), darrm.VoterGroup(1, 0.25, names=names[1:] or None)]
        return darrm.DecisionProblem(groups, 0.5)

    def votes(data: list[int]) -> Any:
        return pd.DataFrame({"ben": [data[1]] * N, "anna": [data[0]] * N})

    named = darrm.solve(problem("anna", "ben"), objective=ACCURATE)
    with pytest.raises(dp.OpenDPException, match="columns by the names"):
        measurement(named, votes=votes)([1, 0])
    assert len(measurement(named, votes=lambda data: votes(data)[["anna", "ben"]].to_numpy())([1, 0])) == N
    assert len(measurement(darrm.solve(problem(), objective=ACCURATE), votes=votes)([1, 0])) == N

"""A limit for each group: one table, and for every kind of change the rows of that kind alone, by listing."""

from __future__ import annotations

import json
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from oracles import decisions

import darrm
from darrm.design.design import in_file
from darrm.design.loading import from_content
from darrm.problem.limits import guarantees

GROUPS = ((2, 1.0, 0.0, 1), (3, 0.7, 0.0, 1))
WITH_DELTA = ((2, 1.0, 1e-3, 1), (3, 0.7, 0.0, 2))
GOAL = darrm.objectives.truth([0.8, 0.7])
ALIKE, EQUAL = ((4, 1.0, 0.0, 1), (5, 1.0, 0.0, 1)), darrm.objectives.truth([0.7, 0.7])  # both limits bind


def problem_of(groups: Any, epsilon: Any, delta: Any = None, **others: Any) -> darrm.DecisionProblem:
    return darrm.DecisionProblem([darrm.VoterGroup(*group) for group in groups], epsilon, delta, **others)


def listed(groups: Any, reached: list[int]) -> list[decisions.Group]:
    """The voters of the oracle, where a change reaches voters of these groups alone."""
    return [decisions.Group(K, e, d, t if g in reached else 0) for g, (K, e, d, t) in enumerate(groups)]


CASES = [
    (GROUPS, [0.2, 0.9], [0.0, 0.0], 1, {"group 1": [0], "group 2": [1]}),
    (GROUPS, [0.9, 0.2], [1e-3, 0.0], 1, {"group 1": [0], "group 2": [1]}),
    (GROUPS, [0.2, 0.5, 0.6], [0.0, 0.0, 1e-4], 2, {"group 1": [0], "group 2": [1], "several groups": [0, 1]}),
    (WITH_DELTA, [0.4, 0.8], [5e-3, 0.0], 2, {"group 1": [0], "group 2": [1]}),
]


@pytest.mark.parametrize(("groups", "epsilon", "delta", "most", "kinds"), CASES)
def test_the_certificate_of_a_kind_is_that_of_its_own_rows(
    groups: Any, epsilon: list[float], delta: list[float], most: int, kinds: dict[str, list[int]]
) -> None:
    """The least delta and the least epsilon of each kind are those of a listing that knows no other kind."""
    problem = problem_of(groups, epsilon, delta, max_affected=most)
    design = darrm.solve(problem, objective=GOAL)
    tables = [design.table, np.random.default_rng(5).random(problem.table_shape)]
    for table in tables:
        found = darrm.verify(table, problem)
        assert list(found.kinds) == list(kinds)
        for (name, reached), e, d in zip(kinds.items(), epsilon, delta, strict=True):
            truth = decisions.truth(table, listed(groups, reached), most)
            own = found.kinds[name]
            assert own.needed_delta == pytest.approx(max(0.0, float(truth.excess(e))), abs=1e-13)
            assert Decimal(own.needed_delta) >= truth.excess(e)
            assert own.tight_epsilon == pytest.approx(float(truth.tight_epsilon(d)), rel=1e-9, abs=1e-12)
            assert own.holds == (own.needed_delta <= d)
        assert found.holds == all(own.holds for own in found.kinds.values())
        assert found.tight_epsilon == max(own.tight_epsilon for own in found.kinds.values())
    assert design.certificate.holds


@pytest.mark.parametrize("epsilon", [[0.3, 1.0], [0.9, 0.3]])
def test_each_limit_binds_and_the_optimum_lies_between_the_single_limits(epsilon: list[float]) -> None:
    design = darrm.solve(problem_of(ALIKE, epsilon, max_affected=1), objective=EQUAL)
    for own, e in zip(design.certificate.kinds.values(), epsilon, strict=True):
        assert own.tight_epsilon == pytest.approx(e, rel=1e-9)
    one = [
        darrm.solve(problem_of(ALIKE, e, max_affected=1), objective=EQUAL).expected_cost
        for e in (min(epsilon), max(epsilon))
    ]
    assert one[1] < design.expected_cost < one[0]
    assert design.gap < 1e-9


@pytest.mark.thorough
def test_equal_limits_are_one_limit_if_one_voter_is_affected() -> None:
    groups = [darrm.VoterGroup(10, float("inf")), darrm.VoterGroup(10, float("inf"))]
    goal = darrm.objectives.truth([0.7, 0.6])
    costs = [
        darrm.solve(darrm.DecisionProblem(groups, epsilon, max_affected=1), objective=goal).expected_cost
        for epsilon in ([0.3, 0.3], 0.3, [0.3, 1.0], 1.0)
    ]
    assert costs[0] == pytest.approx(costs[1], abs=1e-9)
    assert costs[1] > costs[2] > costs[3]


@pytest.mark.thorough
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_every_engine_keeps_the_limit_of_each_kind(classes: int, known: bool) -> None:
    """The certificate of a kind is that of a problem whose other voters no change affects, as non-private voters do."""
    how: dict[str, Any] = {"randomizer": "randomized response", "colluders": 0} if known else {}
    groups = [darrm.VoterGroup(2, 1.0, **how), darrm.VoterGroup(2, 0.5, **how)]
    problem = darrm.DecisionProblem(groups, [0.1, 0.3], classes=classes, max_affected=1)
    design = darrm.solve(problem, objective=darrm.objectives.truth([0.8, 0.7]))
    assert [float(limit.epsilon) for limit in guarantees(problem)] == [0.1, 0.3]
    for own, epsilon in zip(design.certificate.kinds.values(), (0.1, 0.3), strict=True):
        assert own.holds
        assert own.tight_epsilon <= epsilon
    found = darrm.independent.check(in_file(design))
    assert found.wrong == found.loose == ()
    plain = darrm.solve(darrm.DecisionProblem(groups, 0.3, classes=classes, max_affected=1), objective=design.objective)
    assert plain.expected_cost < design.expected_cost
    assert not darrm.verify(plain.table, problem).holds
    repaired = darrm.repair(plain.table, problem)
    assert darrm.verify(repaired, problem).kinds["group 1"].tight_epsilon == pytest.approx(0.1, rel=1e-6)
    assert darrm.verify(repaired, problem).holds


@pytest.mark.thorough
def test_a_file_holds_all_limits_and_every_reader_refuses_others(tmp_path: Any) -> None:
    problem = problem_of(ALIKE, [0.3, 1.0], max_affected=1)
    design = darrm.solve(problem, objective=EQUAL)
    path = tmp_path / "design.json"
    design.save(path)
    assert darrm.load(path) == design == pickle.loads(pickle.dumps(design))
    content = json.loads(path.read_text())
    assert content["problem"]["epsilon"] == [0.3, 1.0]
    assert darrm.independent.check(content).wrong == darrm.independent.check(content).loose == ()
    loose = darrm.solve(problem_of(ALIKE, [0.4, 1.0], max_affected=1), objective=EQUAL)
    other = in_file(loose)
    forged = [
        {"problem": {**content["problem"], "epsilon": [0.29, 1.0]}},
        {"problem": {**content["problem"], "epsilon": [1.0, 0.3]}},
        {"problem": {**content["problem"], "epsilon": [0.3, 1.0, 1.0], "delta": [0.0] * 3, "max_affected": 2}},
        {"problem": {**content["problem"], "epsilon": 0.3, "delta": 0.0}},
        {"problem": {**content["problem"], "epsilon": [0.3]}},
        {"table": other["table"], "table_hex": other["table_hex"]},
        {"certificate": content["certificate"]["kinds"]["group 2"]},
        {"certificate": {"kinds": {**content["certificate"]["kinds"], "group 3": {}}}},
        {"certificate": {"kinds": {"group 1": content["certificate"]["kinds"]["group 1"]}}},
        {
            "certificate": {
                "kinds": {name: {**own, "tight_epsilon": 0.1} for name, own in content["certificate"]["kinds"].items()}
            }
        },
    ]
    for changed in forged:
        with pytest.raises((darrm.InputError, darrm.CertificateError, KeyError)):
            from_content({**content, **changed})
        try:
            wrong = darrm.independent.check({**content, **changed}).wrong
        except darrm.InputError:
            continue
        assert wrong


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"epsilon": [0.1, 0.2, 0.3, 0.4]}, "a list of 2, one for each group, or 3 with max_affected above 1"),
        ({"epsilon": [0.1]}, "a list of 2"),
        ({"epsilon": [0.1, 0.2, 0.15], "max_affected": 2}, "must be at least those of every group"),
        ({"epsilon": [0.1, 0.2, 0.3], "delta": [0.1, 0.0, 0.0], "max_affected": 2}, "at least those of every group"),
        ({"epsilon": [0.1, 0.2, 0.3], "max_affected": 1}, "or 3 with max_affected above 1"),
        ({"epsilon": [0.1, 0.2], "max_affected": 2}, "at most 1, the most of one group"),
        ({"epsilon": [0.1, 0.0]}, "epsilon must be"),
        ({"epsilon": [0.1, 0.2], "delta": [0.0]}, "one for each of the 2 epsilons"),
    ],
)
def test_limits_that_do_not_fit_are_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(darrm.InputError, match=said):
        problem_of(GROUPS, **values)


def test_one_number_cannot_be_read_off_several_limits() -> None:
    problem = problem_of(GROUPS, [0.2, 0.9])
    assert problem.max_affected == 1
    for name in ("release_epsilon", "exact_epsilon"):
        with pytest.raises(darrm.InputError, match="kinds: group 1, group 2"):
            getattr(problem, name)
    with pytest.raises(darrm.InputError, match="profile"):
        darrm.solve(problem, objective=GOAL, profile=[(1.0, 0.0)])
    with pytest.raises(darrm.InputError, match=r"epsilon must be a number\. Got a list of 1"):
        darrm.DecisionProblem([darrm.VoterGroup(3, 1.0)], [0.5])


def test_no_other_library_reads_a_limit_of_some_changes_as_one_of_all() -> None:
    design = darrm.solve(problem_of(ALIKE, [0.3, 1.0], max_affected=1), objective=EQUAL)
    with pytest.raises(darrm.InputError, match="a limit of its own"):
        darrm.interop.opendp_measurement(design, n_labels=3, votes="fresh")
    with pytest.raises(darrm.InputError, match="changes in one group alone"):
        darrm.interop.opendp_measurement(design.of_kind("group 1"), n_labels=3, votes="fresh")
    with pytest.raises(darrm.InputError, match="a limit of its own"):
        darrm.interop.privacy_loss_distribution(design, voters="fresh")
    for taken in (darrm.interop.privacy_loss_distribution, darrm.interop.dp_event):
        with pytest.raises(darrm.InputError, match="changes in one group alone"):
            taken(design.of_kind("group 1"), voters="fresh")
    with pytest.raises(darrm.InputError, match="kind must be one of group 1, group 2"):
        design.of_kind("group 3")
    one = design.of_kind("group 2")
    assert one.of_kind("") is one
    assert one.certificate == design.certificate.kinds["group 2"]

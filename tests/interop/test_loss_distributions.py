"""Designs as privacy loss distributions and events of dp-accounting: never below the certificate, nor miscounted."""

from __future__ import annotations

import copy
import math
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from cases import thorough

import darrm
from darrm.accounting import compose, optimal
from darrm.accounting.releases import one_label
from darrm.certificate.engines import separation
from darrm.certificate.protocol import largest
from darrm.problem.limits import guarantee

dp = pytest.importorskip("dp_accounting")
theirs = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
loss_distributions = import_module("darrm.accounting.loss_distributions")
NeighboringPLD, PLDAccountant = darrm.interop.NeighboringPLD, darrm.interop.PLDAccountant
dp_event, privacy_loss_distribution = darrm.interop.dp_event, darrm.interop.privacy_loss_distribution
REPLACE, ADD = dp.NeighboringRelation.REPLACE_ONE, dp.NeighboringRelation.ADD_OR_REMOVE_ONE
SPECIAL = dp.NeighboringRelation.REPLACE_SPECIAL
GRID = 1e-4
PLURALITY = darrm.objectives.rule("plurality", accuracy=[0.6])
KINDS = ["majority", "Delta", "reached", "groups", "absent", "public", "classes", "none"]


@pytest.fixture(scope="module")
def designs() -> dict[str, Any]:
    """One for each kind."""
    group = darrm.VoterGroup
    truth = darrm.objectives.truth(accuracy=[0.7, 0.6])
    two = darrm.DecisionProblem([group(2, 0.3), group(1, 0.1)], 0.4, 1e-6)
    public = darrm.DecisionProblem([group(2, math.inf), group(2, 0.2, 1e-6)], 0.7, 1e-4, max_affected=1)
    none = darrm.DecisionProblem([group(3, 0.2)], 0.2, 1e-6, classes=3, none=True)
    return {
        "majority": darrm.solve(K=5, m=2, epsilon=0.1),
        "Delta": darrm.solve(K=5, m=2, epsilon=0.1, Delta=1e-5, delta=1e-4),
        "reached": darrm.solve(K=7, m=1.5, epsilon=0.1, max_affected=2),
        "groups": darrm.solve(two, objective=truth),
        "absent": darrm.solve(two, objective=truth, absent=True),
        "public": darrm.solve(public, objective=truth),
        "classes": darrm.solve(darrm.DecisionProblem([group(3, 0.2)], 0.2, 1e-6, classes=3), objective=PLURALITY),
        "none": darrm.solve(none, objective=darrm.objectives.rule("plurality", accuracy=[0.6], none=0.2)),
    }


def profile(design: Any, epsilon: float) -> float:
    """The largest delta that the certificate's own search attains at epsilon, over all tables."""
    found = 0.0
    for problem, table in one_label(design).tables:
        worst = largest(separation(table, guarantee(problem)).worst_cases(Decimal(epsilon)))
        found = max(found, worst.p_side - math.exp(epsilon) * worst.q_side)
    return found


def gaussian(sigma: float) -> Any:
    return dp.GaussianDpEvent(sigma)


def laplace(**more: Any) -> Any:
    return theirs.from_laplace_mechanism(2.0, **more)


# Distributions


@pytest.mark.thorough
@pytest.mark.first(3)
@pytest.mark.parametrize("interval", [1e-4, 1e-2])
@pytest.mark.parametrize("name", KINDS)
def test_one_label_is_never_below_its_profile(designs: dict[str, Any], name: str, interval: float) -> None:
    design, rng = designs[name], random.Random(name)
    pld = privacy_loss_distribution(design, voters="fresh", interval=interval)
    end = float(design.problem.epsilon) if name in ("majority", "Delta", "reached") else 0.8
    for epsilon in [0.0, *(rng.uniform(0, 5 * end if end < 0.2 else end) for _ in range(12))]:
        truth, found = profile(design, epsilon), pld.get_delta_for_epsilon(epsilon)
        assert found >= truth * (1 - 1e-12) - 1e-15
        # Losses of 25 nats, of voters without privacy, leave the grid of the curve coarse.
        assert found <= truth + 2 * interval + (3e-3 if name == "public" else 1e-9)
    least = profile(design, 0.0) / 10
    assert pld.get_epsilon_for_delta(least) == pytest.approx(_epsilon(design, least), rel=0.1, abs=3 * interval)


def _epsilon(design: Any, delta: float) -> float:
    low, high = 0.0, 5.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if profile(design, middle) <= delta else (middle, high)
    return high


@pytest.mark.first(1)
@pytest.mark.parametrize("name", ["majority", "Delta", "absent", "classes"])
@pytest.mark.parametrize("queries", [2, 40])
def test_blocks_cost_what_compose_says(designs: dict[str, Any], name: str, queries: int) -> None:
    design = designs[name]
    pld = privacy_loss_distribution(design, voters="fresh", queries=queries)
    for delta in (1e-2, 5e-3):
        total, found = compose(design, queries, delta=delta, voters="fresh"), pld.get_epsilon_for_delta(delta)
        assert total.lower - 1e-12 <= found <= total.upper * (1 + 2e-2) + 2 * GRID
    if queries == 2:
        one = privacy_loss_distribution(design, voters="fresh")
        assert pld.get_epsilon_for_delta(1e-2) <= one.self_compose(2).get_epsilon_for_delta(1e-2) * (1 + 2e-2) + GRID


@pytest.mark.thorough
def test_wider_intervals_are_never_cheaper(designs: dict[str, Any]) -> None:
    costs = [
        privacy_loss_distribution(designs["groups"], voters="fresh", queries=10, interval=i).get_epsilon_for_delta(1e-3)
        for i in (1e-5, 1e-4, 1e-2, 0.3, 1.0)
    ]
    truth = compose(designs["groups"], 10, delta=1e-3, voters="fresh").lower
    assert all(cost >= truth - 1e-12 for cost in costs)
    assert costs[0] <= costs[1] * (1 + 1e-4) <= costs[2] * (1 + 1e-3)


@pytest.mark.thorough
def test_fixed_voters_are_paid_for_once(designs: dict[str, Any]) -> None:
    one, many = (privacy_loss_distribution(designs["majority"], voters="fixed", queries=q) for q in (1, 10**7))
    for delta in (1e-2, 1e-5):
        truth = optimal(0.1, 0.0, 5, delta).epsilon
        assert truth - 1e-12 <= one.get_epsilon_for_delta(delta) <= truth * (1 + 1e-3) + 2 * GRID
        assert many.get_epsilon_for_delta(delta) == one.get_epsilon_for_delta(delta)
    with pytest.raises(darrm.InputError, match="non-private voters that one record can affect"):
        privacy_loss_distribution(designs["public"], voters="fixed")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"voters": None},
        {"voters": "both"},
        {"voters": "fresh", "queries": 0},
        {"voters": "fresh", "queries": 2.5},
        {"voters": "fresh", "queries": True},
        {"voters": "fresh", "queries": 10**8},
        {"voters": "fresh", "interval": 0.0},
        {"voters": "fresh", "interval": math.nan},
        {"voters": "fresh", "interval": 2.0},
        {"voters": "fresh", "interval": -1e-4},
    ],
    ids=repr,
)
def test_bad_arguments(designs: dict[str, Any], more: dict[str, Any]) -> None:
    with pytest.raises(darrm.InputError):
        privacy_loss_distribution(designs["majority"], **more)
    if "interval" not in more:
        with pytest.raises(darrm.InputError):
            dp_event(designs["majority"], **more)
    for wrong in (None, "design.json", designs["majority"].gamma):
        with pytest.raises(darrm.InputError, match="design must be a Design"):
            privacy_loss_distribution(wrong, voters="fresh")


@pytest.mark.thorough
def test_too_many_points_are_refused() -> None:
    design = darrm.solve(K=3, m=1, epsilon=0.1)
    with pytest.raises(darrm.InputError, match="Pass a wider interval"):
        privacy_loss_distribution(design, voters="fresh", queries=30_000, interval=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("queries", [10**5, *thorough(10**7)])
def test_labels_that_cost_more_than_690_nats(queries: int) -> None:
    design = darrm.solve(K=3, m=1, epsilon=0.1)
    labels = privacy_loss_distribution(design, voters="fresh", queries=queries, interval=1e-2)
    assert labels.get_delta_for_epsilon(1) >= 1


# Neighbours


@pytest.mark.parametrize(
    ("adjacency", "relation"), [("replace-one", REPLACE), ("add-remove", ADD), ("replace-special", SPECIAL)]
)
def test_three_kinds_of_neighbours(adjacency: str, relation: Any) -> None:
    design = darrm.solve(K=3, m=1, epsilon=0.1, adjacency=adjacency)
    assert loss_distributions.relation_of(adjacency) is relation
    pld = privacy_loss_distribution(design, voters="fresh")
    assert pld.neighboring_relation is relation
    accountant = PLDAccountant(relation)
    event = dp_event(design, voters="fresh", queries=3)
    assert accountant.supports(event)
    for other in {REPLACE, ADD, SPECIAL} - {relation}:
        refusing = PLDAccountant(other)
        assert not refusing.supports(event)
        with pytest.raises(dp.UnsupportedEventError, match=f"the design is for {adjacency} neighbours"):
            refusing.compose(dp.ComposedDpEvent([gaussian(4.0), dp.SelfComposedDpEvent(event, 2)]))
        assert refusing.get_epsilon(1e-5) == 0.0
        assert refusing.get_delta(0.0) == 0.0


@pytest.mark.parametrize("adjacency", ["zero-out", "replace-two", "users"])
def test_other_neighbours_are_refused(adjacency: str) -> None:
    design = darrm.solve(K=3, m=1, epsilon=0.1, adjacency=adjacency)
    for use in (privacy_loss_distribution, dp_event):
        with pytest.raises(darrm.InputError, match="dp-accounting knows no"):
            use(design, voters="fresh")


@pytest.mark.thorough
def test_distributions_of_other_neighbours_do_not_mix(designs: dict[str, Any]) -> None:
    pld = privacy_loss_distribution(designs["majority"], voters="fresh", queries=5)
    told, other = NeighboringPLD.of(laplace(), REPLACE), NeighboringPLD.of(laplace(), ADD)
    with pytest.raises(darrm.InputError, match="Make both for the same neighbours"):
        pld.compose(other)
    with pytest.warns(UserWarning, match="has no stated neighbouring relation"):
        warned = pld.compose(laplace())
    both = pld.compose(told)
    assert both.neighboring_relation is warned.neighboring_relation is REPLACE
    assert both.get_epsilon_for_delta(1e-3) == warned.get_epsilon_for_delta(1e-3)
    assert both.get_epsilon_for_delta(1e-3) > max(one.get_epsilon_for_delta(1e-3) for one in (pld, told))
    assert pld.self_compose(3).neighboring_relation is REPLACE
    for wrong in ((None, REPLACE), (laplace(), None), (laplace(), "replace-one"), (gaussian(1.0), REPLACE)):
        with pytest.raises(darrm.InputError):
            NeighboringPLD.of(*wrong)
    with pytest.raises(ValueError, match=r"[Dd]iscretization"):
        pld.compose(NeighboringPLD.of(laplace(value_discretization_interval=1e-2), REPLACE))


@pytest.mark.thorough
def test_asymmetric_distributions_stay_asymmetric() -> None:
    sampled = theirs.from_gaussian_mechanism(1.0, sampling_prob=0.1)
    told = NeighboringPLD.of(sampled, ADD)
    for n in (1, 3):
        for epsilon in (0.0, 0.3, 1.0):
            assert told.self_compose(n).get_delta_for_epsilon(epsilon) == sampled.self_compose(n).get_delta_for_epsilon(
                epsilon
            )
    curve = loss_distributions.curve_of_distribution(told)
    assert len(curve.deltas) == 2
    for row, pmf in zip(curve.deltas, (sampled._pmf_remove, sampled._pmf_add), strict=True):
        exact = pmf.get_delta_for_epsilon(curve.epsilons)
        assert (row >= exact - 1e-15).all()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "of",
    [
        lambda: theirs.from_gaussian_mechanism(0.8),
        *thorough(lambda: theirs.from_gaussian_mechanism(1.0, sampling_prob=0.01).self_compose(100)),
        laplace,
        lambda: laplace().self_compose(7),
        lambda: theirs.from_privacy_parameters(dp.pld.common.DifferentialPrivacyParameters(0.7, 1e-3)),
        lambda: theirs.from_randomized_response(0.4, 5),
        theirs.identity,
    ],
    ids=["gaussian", "sampled", "laplace", "laplaces", "guarantee", "response", "identity"],
)
def test_curves_of_distributions_are_above_them(of: Callable[[], Any]) -> None:
    rng, pld = random.Random(1), of()
    curve = loss_distributions.curve_of_distribution(pld)
    for epsilon in [*(rng.uniform(0, 4) for _ in range(60)), 0.0, 0.7, 12.0, 600.0]:
        truth = pld.get_delta_for_epsilon(epsilon)
        bound = float(curve.at(np.array([epsilon])).max())
        assert truth * (1 - 1e-9) - 1e-15 <= bound <= truth * (1 + 1e-2) + 1e-5


@pytest.mark.parametrize("low", [-4000, -7, 0, 900_000])
@pytest.mark.parametrize("infinite", [0.0, 0.3])
def test_deltas_of_a_distribution_are_theirs(low: int, infinite: float) -> None:
    """At losses, between them and beyond; e^-loss underflows in the last case. Theirs take a loop over the losses."""
    chances = np.random.default_rng(low + 4000).random(3000) ** 8
    pmf = dp.pld.pld_pmf.DensePLDPmf(1e-3, low, chances * (1 - infinite) / chances.sum(), infinite, True)
    epsilons = np.array([0.0, 5e-4, *1e-3 * np.arange(1, 50), 2.9985, 2.999, 3.0, 600.0])
    excess = loss_distributions._deltas(pmf, epsilons) - pmf.get_delta_for_epsilon(epsilons)
    assert 0 <= excess.min() <= excess.max() <= 1e-14


# Copies


@pytest.mark.thorough
def test_distributions_and_events_survive_pickling_and_copying(designs: dict[str, Any]) -> None:
    pld = privacy_loss_distribution(designs["groups"], voters="fresh", queries=3)
    event = dp_event(designs["groups"], voters="fresh", queries=3)
    cost = PLDAccountant(REPLACE).compose(event).get_epsilon(1e-3)
    for again in (lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy):
        same = again(pld)
        assert type(same) is NeighboringPLD
        assert same.neighboring_relation is REPLACE
        assert same.get_epsilon_for_delta(1e-3) == pld.get_epsilon_for_delta(1e-3)
        with pytest.raises(darrm.InputError, match="Make both for the same neighbours"):
            same.compose(NeighboringPLD.of(laplace(), ADD))
        twin = again(event)
        assert (twin.voters, twin.queries, twin.adjacency) == ("fresh", 3, "replace-one")
        assert PLDAccountant(REPLACE).compose(twin).get_epsilon(1e-3) == cost
    with pytest.raises(AttributeError):
        event.queries = 1


# Events


@pytest.mark.thorough
def test_labels_are_composed_as_often_as_told(designs: dict[str, Any]) -> None:
    design = designs["majority"]

    def cost(*events: Any) -> float:
        accountant = PLDAccountant(REPLACE)
        for event in events:
            accountant.compose(event)
        return float(accountant.get_epsilon(1e-3))

    def labels(queries: int) -> Any:
        return dp_event(design, voters="fresh", queries=queries)

    many = dp.SelfComposedDpEvent
    truth = compose(design, 24, delta=1e-3, voters="fresh")
    ways = [
        cost(labels(24)),
        cost(many(labels(4), 6)),
        cost(many(dp.ComposedDpEvent([many(labels(2), 4)]), 3)),
        PLDAccountant(REPLACE).compose(labels(2), 12).get_epsilon(1e-3),
    ]
    assert all(truth.lower - 1e-12 <= way <= truth.upper * (1 + 1e-2) + GRID for way in ways)
    apart = cost(*[labels(4)] * 6)
    assert ways[0] - 6 * GRID <= apart <= ways[0] * 1.25
    beside = cost(dp.ComposedDpEvent([gaussian(6.0), many(dp.ComposedDpEvent([labels(4), gaussian(12.0)]), 3)]))
    flat = cost(labels(12), gaussian(6.0), many(gaussian(12.0), 3))
    assert beside == pytest.approx(flat, rel=1e-2)
    assert flat > max(cost(labels(12)), cost(gaussian(6.0)), cost(many(gaussian(12.0), 3)))


@pytest.mark.slow
def test_fixed_voters_composed_are_several_sets_of_them(designs: dict[str, Any]) -> None:
    event = dp_event(designs["majority"], voters="fixed", queries=10**6)
    for n in (1, 3):
        accountant = PLDAccountant(REPLACE).compose(dp.SelfComposedDpEvent(event, n))
        truth = optimal(0.1, 0.0, 5 * n, 1e-3).epsilon
        assert truth - 1e-12 <= accountant.get_epsilon(1e-3) <= truth * (1 + 1e-2) + 3 * GRID


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("relation", [REPLACE, SPECIAL])
def test_randomized_response_is_composed_as_often_as_told(n: int, relation: Any) -> None:
    """dp-accounting 0.6 counts it once."""
    event = dp.RandomizedResponseDpEvent(0.6, 3)
    found = PLDAccountant(relation).compose(event, n).get_epsilon(1e-3)
    truth = theirs.from_randomized_response(0.6, 3, neighboring_relation=relation).self_compose(n)
    assert found == pytest.approx(truth.get_epsilon_for_delta(1e-3), rel=1e-9)
    nested = dp.SelfComposedDpEvent(dp.ComposedDpEvent([event]), n)
    assert PLDAccountant(relation).compose(nested).get_epsilon(1e-3) == pytest.approx(found, rel=1e-9)
    if relation is REPLACE:  # Kairouz, Oh, Viswanath for two answers: e^epsilon = (1 - p / 2) / (p / 2)
        two = PLDAccountant(relation).compose(dp.RandomizedResponseDpEvent(0.6, 2), n).get_epsilon(1e-3)
        exact = optimal(math.log(0.7 / 0.3), 0.0, n, 1e-3).epsilon
        assert exact - 1e-9 <= two <= exact + 2 * n * GRID
    assert math.isinf(PLDAccountant(relation).compose(dp.RandomizedResponseDpEvent(0.0, 3), n).get_epsilon(1e-3))
    assert PLDAccountant(relation).compose(dp.RandomizedResponseDpEvent(0.0, 1), n).get_epsilon(1e-3) == 0
    assert not PLDAccountant(ADD).supports(event)


@pytest.mark.thorough
def test_an_accountant_keeps_its_ledger(designs: dict[str, Any]) -> None:
    event = dp_event(designs["majority"], voters="fresh", queries=2)
    accountant = PLDAccountant(REPLACE).compose(event).compose(event, 3).compose(gaussian(5.0))
    built = accountant.ledger
    again = PLDAccountant(REPLACE).compose(built)
    assert again.get_epsilon(1e-3) == pytest.approx(accountant.get_epsilon(1e-3), rel=1e-2)
    assert again.get_delta(0.5) == pytest.approx(accountant.get_delta(0.5), rel=5e-2)


def test_accountants_of_dp_accounting_refuse_labels(designs: dict[str, Any]) -> None:
    event = dp_event(designs["majority"], voters="fresh")
    for accountant in (dp.pld.PLDAccountant(REPLACE), dp.rdp.RdpAccountant(neighboring_relation=REPLACE)):
        assert not accountant.supports(event)
        with pytest.raises(dp.UnsupportedEventError):
            accountant.compose(dp.ComposedDpEvent([event]))
    for wrong in (dp.PoissonSampledDpEvent(0.5, event), dp.SampledWithoutReplacementDpEvent(9, 3, event)):
        assert not PLDAccountant(REPLACE).supports(wrong)


@pytest.mark.thorough
def test_an_accountant_without_neighbours_is_for_adding_or_removing(designs: dict[str, Any]) -> None:
    accountant = PLDAccountant()
    assert accountant.neighboring_relation is ADD
    assert not accountant.supports(dp_event(designs["majority"], voters="fresh"))
    assert accountant.compose(gaussian(4.0)).get_epsilon(1e-5) == dp.pld.PLDAccountant().compose(
        gaussian(4.0)
    ).get_epsilon(1e-5)


# Without dp-accounting


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["dp_accounting", "attr"])
def test_a_missing_library_is_named(name: str) -> None:
    program = (
        f"import sys; sys.modules[{name!r}] = None\n"
        "import darrm, darrm.interop\n"
        "assert 'privacy_loss_distribution' in dir(darrm.interop)\n"
        "for used in darrm.interop.__all__:\n"
        "    if used not in {'NeighboringPLD', 'PLDAccountant', 'dp_event', 'privacy_loss_distribution'}: continue\n"
        "    try: getattr(darrm.interop, used)\n"
        "    except darrm.MissingExtraError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    lines = run.stdout.splitlines()
    assert len(lines) == 4
    assert all("pip install 'darrm[interop]'" in line for line in lines)


def test_the_face_loads_nothing() -> None:
    program = "import sys, darrm.interop; print({'numpy', 'scipy', 'dp_accounting', 'attr'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "set()\n"

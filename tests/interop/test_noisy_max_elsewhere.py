"""Labels of noisy max in dp-accounting and in OpenDP: never below their own total, nor far above it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cases import slow, thorough

import darrm
from darrm.accounting import compose
from darrm.interop import PLDAccountant, dp_event, opendp_measurement, privacy_loss_distribution
from darrm.mechanisms import (
    ConfidentNoisyMax,
    ExponentialMechanism,
    GaussianNoisyMax,
    LaplaceNoisyMax,
    PermuteAndFlip,
)

dp = pytest.importorskip("dp_accounting")
REPLACE, ADD = dp.NeighboringRelation.REPLACE_ONE, dp.NeighboringRelation.ADD_OR_REMOVE_ONE
KINDS: list[Any] = [
    (PermuteAndFlip(0.2), 30),
    (ExponentialMechanism(0.3), 30),
    *thorough(
        (GaussianNoisyMax(5.0, K=6, classes=3), 20),
        (LaplaceNoisyMax(0.1), 30),
        (ExponentialMechanism(0.3, K=6, classes=3), 30),
        (ConfidentNoisyMax(20, 30.0, 10.0, answers=5), 40),
    ),
    *slow((GaussianNoisyMax(20.0), 100), (GaussianNoisyMax(20.0, K=250, classes=10), 100)),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("mechanism", "queries"), KINDS, ids=repr)
def test_a_distribution_is_above_the_total_and_near_it(mechanism: Any, queries: int) -> None:
    pld = privacy_loss_distribution(mechanism, queries=queries, interval=1e-3)
    for delta in (1e-5, 1e-3):
        total = compose(mechanism, queries, delta=delta)
        found = pld.get_epsilon_for_delta(delta)
        assert total.lower <= found
        capped = isinstance(mechanism, ConfidentNoisyMax)
        assert found <= (total.bounds["Gaussian DP"] if capped else total.upper) * 1.02 + 0.01
    assert pld.neighboring_relation is REPLACE


@pytest.mark.thorough
def test_labels_beside_gaussian_noise() -> None:
    """By events: in any order, twice as many are counted as one release, and the total is below that of the counts."""
    labels = dp_event(GaussianNoisyMax(20.0), queries=50)
    accountant = PLDAccountant(REPLACE).compose(labels, 2).compose(dp.GaussianDpEvent(8.0))
    other = (
        PLDAccountant(REPLACE).compose(dp.GaussianDpEvent(8.0)).compose(dp_event(GaussianNoisyMax(20.0), queries=100))
    )
    counts = PLDAccountant(REPLACE).compose(dp.GaussianDpEvent(20 / math.sqrt(2)), 100).compose(dp.GaussianDpEvent(8.0))
    assert accountant.get_epsilon(1e-5) == pytest.approx(other.get_epsilon(1e-5), rel=1e-6)
    assert compose(GaussianNoisyMax(20.0), 100, delta=1e-5).upper < accountant.get_epsilon(1e-5)
    assert "GaussianNoisyMax(sigma=20.0)" in repr(labels)
    assert accountant.get_epsilon(1e-5) < counts.get_epsilon(1e-5)


def test_neighbours_are_stated() -> None:
    event = dp_event(GaussianNoisyMax(20.0), adjacency="add-remove")
    assert PLDAccountant(ADD).supports(event)
    assert not PLDAccountant(REPLACE).supports(event)
    assert privacy_loss_distribution(GaussianNoisyMax(20.0), adjacency="add-remove").neighboring_relation is ADD
    for use in (dp_event, privacy_loss_distribution):
        with pytest.raises(darrm.InputError, match="dp-accounting knows no 'other' neighbours"):
            use(GaussianNoisyMax(20.0), adjacency="other")
        with pytest.raises(darrm.InputError, match="voters does not apply"):
            use(GaussianNoisyMax(20.0), voters="fresh")
        with pytest.raises(darrm.InputError, match=r"A design has its own adjacency, 'replace-one'\. Got"):
            use(darrm.solve(K=3, m=1, epsilon=0.5), voters="fresh", adjacency="add-remove")


@pytest.fixture
def opendp() -> Iterator[Any]:
    prelude: Any = pytest.importorskip("opendp.prelude")
    prelude.enable_features("contrib", "honest-but-curious")
    yield prelude
    prelude.disable_features("honest-but-curious")


def test_votes_are_the_data_of_a_measurement(opendp: Any) -> None:
    made = GaussianNoisyMax(0.01, K=4, classes=3)
    measurement = opendp_measurement(made, n_labels=2, votes=None, delta=1e-5)
    assert measurement([[0, 1], [0, 1], [0, 2], [2, 1]]) == [0, 1]
    assert measurement.map(0) == (0.0, 0.0)
    assert measurement.map(1) == (compose(made, 2, delta=1e-5).upper, 1e-5)
    assert measurement.map(2) == (math.inf, 1.0)
    pure = opendp_measurement(ExponentialMechanism(0.5, K=4, classes=3), n_labels=2, votes=None)
    assert pure.map(1) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.thorough
def test_counts_are_computed_from_the_data(opendp: Any) -> None:
    space = {
        "input_domain": opendp.vector_domain(opendp.atom_domain(T=int), size=3),
        "input_metric": opendp.hamming_distance(),
    }
    made = PermuteAndFlip(1e4)
    measurement = opendp_measurement(
        made, n_labels=2, votes=lambda data: darrm.votes.counts(np.tile(data, (2, 1)), 9, sparse=True), **space
    )
    assert measurement([8, 8, 1]) == [8, 8]
    short = opendp_measurement(made, n_labels=3, votes=lambda data: [[3, 0]], **space)
    with pytest.raises(Exception, match=r"must have n_labels = 3 rows of counts\. Got 1"):
        short([1, 1, 1])


def test_what_no_measurement_is_made_of(opendp: Any) -> None:
    with pytest.raises(darrm.InputError, match="needs K and classes"):
        opendp_measurement(GaussianNoisyMax(1.0), n_labels=2, votes=None, delta=1e-5)
    made = GaussianNoisyMax(1.0, K=4, classes=3)
    with pytest.raises(darrm.InputError, match="follow from noisy max"):
        opendp_measurement(made, n_labels=2, votes=None, delta=1e-5, input_metric=opendp.hamming_distance())
    with pytest.raises(darrm.InputError, match="delta"):
        opendp_measurement(made, n_labels=2, votes=None)
    with pytest.raises(darrm.InputError, match="voters does not apply"):
        opendp_measurement(made, n_labels=2, votes=None, delta=1e-5, voters="fresh")
    with pytest.raises(darrm.InputError, match="votes must be a function"):
        opendp_measurement(made, n_labels=2, votes=[[1]], delta=1e-5)  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match="design must be a Design"):
        opendp_measurement("noisy max", n_labels=2, votes=None, delta=1e-5)  # type: ignore[arg-type]

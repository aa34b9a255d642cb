"""Totals of the exponential mechanism for any votes: rows of two answers that stand for all of bounded range."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from cases import slow, thorough

from darrm.accounting import compose, max_queries, noisy_max_parameter
from darrm.accounting.bounded_range import MOST, rows_of_range
from darrm.accounting.noisy_max import rows_of
from darrm.mechanisms import ExponentialMechanism
from darrm.numerics.arrays import Array


def excess(P: Array, Q: Array, a: Array) -> Array:
    """sum max(0, P - a Q) for each a."""
    return np.asarray(np.maximum(0, P - np.multiply.outer(a, Q)).sum(axis=-1))


@pytest.mark.parametrize("epsilon", [0.05, 0.7, *thorough(4.0)])
def test_rows_are_distributions_of_two_losses_a_cell_apart(epsilon: float) -> None:
    made = rows_of_range(epsilon, 1000)
    assert made is not None
    n = len(made)
    assert made.P.sum(axis=1) == pytest.approx(1, abs=1e-13)
    assert made.Q.sum(axis=1) == pytest.approx(1, abs=1e-13)
    assert made.losses[:, 0] - made.losses[:, 1] == pytest.approx(epsilon * (1 + 1 / n), rel=1e-9)
    assert made.losses[:, 0] == pytest.approx(epsilon * np.arange(1, n + 1) / n, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_rows_are_worse_than_any_of_bounded_range(epsilon: float) -> None:
    """Pairs of up to five answers whose losses lie in [t - epsilon, t], t at the ends of cells and between."""
    made, rng = rows_of_range(epsilon, 1000), np.random.default_rng(0)
    assert made is not None
    n, a = len(made), np.exp(np.linspace(-epsilon, epsilon, 101) * 1.2)
    for t in [*(epsilon * np.arange(n + 1) / n), *rng.uniform(0, epsilon, 50)]:
        losses = np.append(rng.uniform(t - epsilon, t, 3), [t, t - epsilon])
        Q = rng.dirichlet(np.full(5, 0.5))
        # Put as much on one of the ends as makes both of them distributions.
        mean = Q @ np.exp(losses)
        end = math.exp(t - epsilon if mean > 1 else t)
        share = (1 - mean) / (end - mean)
        Q = np.append(Q * (1 - share), share)
        P = Q * np.exp(np.append(losses, math.log(end)))
        assert P.sum() == pytest.approx(1)
        cell = min(int(t / epsilon * n), n - 1)
        for here, there, row in ((P, Q, (made.P[cell], made.Q[cell])), (Q, P, (made.Q[cell], made.P[cell]))):
            assert (excess(here, there, a) <= excess(*row, a) + 1e-12).all()


@pytest.mark.parametrize(("K", "classes"), [(5, 2), (4, 3), *thorough((6, 4), (20, 2), (21, 3))])
def test_labels_have_that_range_and_renyi_divergence(K: int, classes: int) -> None:
    """For all votes: the losses are at most epsilon apart, and the divergence is at most order epsilon^2 / 8."""
    mechanism = ExponentialMechanism(0.8)
    rows = rows_of(mechanism, K, classes)
    losses = rows.losses[:, :classes]
    span = losses.max(axis=1) - losses.min(axis=1)
    assert span.max() <= mechanism.bounded_range * (1 + 1e-12)
    assert span.max() == pytest.approx(mechanism.bounded_range)
    for order, (P, Q) in product((1.5, 2.0, 8.0, 40.0), ((rows.P, rows.Q), (rows.Q, rows.P))):
        divergence = np.log((P**order * Q ** (1 - order)).sum(axis=1)) / (order - 1)
        assert divergence.max() <= order * 0.8**2 / 8 + 1e-12


@pytest.mark.thorough
@pytest.mark.parametrize("queries", [1, 3, *thorough(20), *slow(300)])
@pytest.mark.parametrize(("epsilon", "K", "classes"), [(0.6, 5, 2), (1.5, 4, 3), *thorough((0.2, 15, 3), (0.6, 31, 2))])
def test_no_exact_total_is_above_that_of_any_votes(epsilon: float, K: int, classes: int, queries: int) -> None:
    for delta in (1e-3, 1e-6):
        total = compose(ExponentialMechanism(epsilon), queries, delta=delta)
        own = compose(ExponentialMechanism(epsilon, K=K, classes=classes), queries, delta=delta)
        for bound in ("Renyi DP", "bounded range", "optimal composition"):
            assert own.lower <= total.bounds[bound]
        assert own.upper <= total.bounds["Renyi DP"] * (1 + 1e-9)
        assert total.lower <= total.upper == min(total.bounds.values())


@pytest.mark.thorough
def test_they_are_about_half_of_what_epsilon_alone_says() -> None:
    """100 labels of epsilon .1: 1.96 is achieved, 2.01 holds; the Renyi bound is 2.17, by epsilon it is 4.31."""
    total = compose(ExponentialMechanism(0.1), 100, delta=1e-5)
    assert 1.96 < total.lower < total.upper < 2.01
    assert total.bounds["Renyi DP"] == pytest.approx(2.166, abs=1e-3)
    many = compose(ExponentialMechanism(0.001), 10**6, delta=1e-5)
    assert many.upper == many.bounds["Renyi DP"] < 2.17
    assert rows_of_range(0.1, MOST + 1) is rows_of_range(301.0, 1) is rows_of_range(1e-10, 1) is None


@pytest.mark.thorough
def test_labels_and_noise_within_a_total() -> None:
    most = max_queries(ExponentialMechanism(0.1), 4.0, 1e-5)
    assert compose(ExponentialMechanism(0.1), most, delta=1e-5).upper <= 4 * 1.001  # on a coarser grid
    assert 325 < most < 345
    epsilon = noisy_max_parameter(ExponentialMechanism, 50, 2.0, 1e-5)
    assert 1.99 < compose(ExponentialMechanism(epsilon), 50, delta=1e-5).upper <= 2

"""The comparison of libraries counts what it says."""

import math

import numpy as np
import pytest
from scripts import load

import darrm

pytest.importorskip("dp_accounting")
script, totals = load("one_budget"), load("budget_totals")
A = totals.design(11, 3)


@pytest.mark.thorough
def test_the_rules_of_a_ledger_are_in_order() -> None:
    charges = [(A, 100)]
    by_exact = totals.labels(A, 100)
    by_composed, by_renyi, by_sums = totals.composed(charges, by_exact), totals.renyi(charges), totals.basic(charges)
    assert by_exact == pytest.approx(11.17, abs=0.01)
    assert by_composed == pytest.approx(by_exact, rel=2e-3)
    assert by_exact < by_renyi < 12
    assert by_sums == pytest.approx(30)


def test_renyi_pays_for_no_failure_above_its_share() -> None:
    with pytest.raises(darrm.BudgetError):
        totals.renyi([(totals.Pair(0.1, 2e-6), 1)])


@pytest.mark.thorough
def test_a_distribution_for_other_neighbours_is_too_low_and_noticed() -> None:
    part, right = totals.block(A, 20), totals.known(totals.gaussian())
    wrong = totals.gaussian(totals.dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    assert script.warned(part, wrong) < totals.together(part, right) - 0.1
    script.refused(part, wrong)
    with pytest.raises(SystemExit, match="Nothing warned"):
        script.warned(part, right)


@pytest.mark.thorough
def test_whoever_knows_less_of_a_label_proves_less() -> None:
    singles = totals.together(totals.singles(A, 100))
    alone = totals.together(totals.guarantee(totals.each(A), 0.0).self_compose(100))
    by_renyi = totals.renyi_of_guarantees([(totals.each(A), 100)])
    assert totals.accountant([(A, 100)]) < singles < alone < by_renyi < 30


@pytest.mark.thorough
def test_opendp_adds_up() -> None:
    pytest.importorskip("opendp")
    pair = totals.Pair(1.0, 1e-6)
    assert totals.opendp_sums([(0.3, 4)]) == pytest.approx(1.2)
    assert totals.opendp_sums([(0.3, 4)], pair) == pytest.approx(2.2)
    rho = 200 * 0.3**2 / 2
    concentrated = totals.opendp_concentrated([(0.3, 200)])
    assert rho < concentrated < rho + 2 * math.sqrt(rho * math.log(1 / totals.DELTA))
    assert totals.opendp_concentrated([(0.3, 200)], pair) > concentrated + 1
    half = totals.labels(A, 10, (totals.DELTA - pair.delta) / 2)
    assert totals.opendp_labels([(A, 10), (A, 10)], pair) == pytest.approx(2 * half + 1)


@pytest.mark.thorough
def test_random_designs_are_the_same_at_every_run() -> None:
    (kind, one), (again, same) = next(script.random_designs(1)), next(script.random_designs(1))
    assert kind == again
    np.testing.assert_array_equal(one.gamma, same.gamma)
    trial = script.trial(kind, one, np.random.default_rng(1))
    assert trial.attained >= 0
    assert not trial.below
    assert -2e-3 < trial.block < trial.single


@pytest.mark.thorough
def test_the_renyi_accountant_takes_replaced_records_for_added_ones() -> None:
    """A later dp-accounting may differ; then docs/benchmarks.md must."""
    added = totals.dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    event = totals.dp_accounting.GaussianDpEvent(totals.SIGMA)
    said, of_added = (
        totals.RdpAccountant(neighboring_relation=relation).compose(event).get_epsilon(totals.DELTA)
        for relation in (totals.RELATION, added)
    )
    assert said == of_added < totals.accountant([(event, 1)]) / 1.9

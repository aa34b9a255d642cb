"""Budgets in memory and in a ledger: the same counts, all or nothing."""

import threading
from pathlib import Path

import pytest

import darrm
from darrm.accounting import Ledger
from darrm.accounting.budgets import Budget, Count, LedgerBudget, MemoryBudget

DESIGN = darrm.solve(K=3, m=1, epsilon=0.1)
ALLOWED = 20


@pytest.fixture(params=["memory", "ledger"])
def budget(request: pytest.FixtureRequest, tmp_path: Path) -> Budget:
    """A budget of 20 labels."""
    if request.param == "memory":
        return MemoryBudget(ALLOWED)
    ledger = Ledger.create(tmp_path / "ledger.json", DESIGN, total_epsilon=2.05, total_delta=0.0, voters="fresh")
    assert ledger.status()["left"] == ALLOWED
    return LedgerBudget(ledger, DESIGN)


def test_a_charge_is_whole_or_refused(budget: Budget) -> None:
    assert budget.count() == Count(0, ALLOWED)
    budget.charge(3)
    assert budget.count() == (3, ALLOWED - 3)
    with pytest.raises(
        darrm.BudgetError, match=f"18 more labels would overspend: 3 of {ALLOWED} .* Leave out 1 or more"
    ):
        budget.charge(18)
    assert budget.count() == (3, ALLOWED - 3)
    budget.charge(17)
    with pytest.raises(darrm.BudgetError, match="1 more label would overspend"):
        budget.charge(1)
    assert budget.count() == (ALLOWED, 0)


def test_threads_never_overspend(budget: Budget) -> None:
    refused: list[int] = []

    def charge() -> None:
        for _ in range(ALLOWED):
            try:
                budget.charge(1)
            except darrm.BudgetError:
                refused.append(1)

    threads = [threading.Thread(target=charge) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.count() == (ALLOWED, 0)
    assert len(refused) == 2 * ALLOWED


def test_a_charge_of_another_process_is_seen(tmp_path: Path) -> None:
    budget = {"total_epsilon": 0.25, "total_delta": 0.0, "voters": "fresh", "rule": "basic-filter"}
    Ledger.create(tmp_path / "ledger.json", DESIGN, **budget)  # type: ignore[arg-type]
    mine, theirs = (LedgerBudget(Ledger(tmp_path / "ledger.json"), DESIGN) for _ in range(2))
    theirs.charge(2)
    assert mine.count() == (2, 0)  # of this design, as it stands
    with pytest.raises(darrm.BudgetError, match="by basic composition"):
        mine.charge(1)


def test_a_budget_without_a_label_or_a_ledger_is_refused() -> None:
    with pytest.raises(darrm.BudgetError, match="does not cover one label"):
        MemoryBudget(0)
    with pytest.raises(darrm.InputError, match="ledger must be a Ledger"):
        LedgerBudget("ledger.json", DESIGN)  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", ["exact", "in-advance", "renyi-filter", "basic-filter"])
def test_a_refusal_says_what_to_do(tmp_path: Path, rule: str) -> None:
    """How many labels to leave out; of other charges, which have no number that is left, what to charge."""
    ledger = Ledger.create(
        tmp_path / "ledger.db", DESIGN, total_epsilon=2.05, total_delta=1e-3, voters="fresh", rule=rule
    )
    more = ledger.remaining(DESIGN)
    assert more is not None
    said = rf"{more} are left\. Nothing was released or charged\. Leave out 2 or more\.$"
    with pytest.raises(darrm.BudgetError, match=said):
        ledger.charge(DESIGN, more + 2)
    if rule != "exact":
        with pytest.raises(darrm.BudgetError, match=r"charged\. Charge fewer uses, or what costs less\.$"):
            ledger.charge((0.5, 0.0), 5, adjacency="replace-one")

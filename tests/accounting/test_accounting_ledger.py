"""A ledger never lets more labels out than it has counted: not with many processes, kills or a failing disk."""

from __future__ import annotations

import copy
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import ledgers
import pytest
from cases import slow
from ledgers import FAST, Forker, recorded

import darrm
from darrm.accounting import Ledger, compose, ledger_store, max_queries, optimal, theorems
from darrm.accounting.charges import account_of
from darrm.accounting.fresh import exact_guarantee
from darrm.accounting.ledger_state import OLD_RULES, Waiting
from darrm.accounting.ledger_store import Store
from darrm.accounting.old_ledgers import import_ledger
from darrm.cli import main
from darrm.errors import RecoveredLabelsWarning
from darrm.show.wording import guarantee
from darrm.storage import sealed_json

EPSILON, DELTA = 0.3, 1e-6  # a budget of some twenty labels
CALLS = 11  # of os.fsync, os.replace and statements that write, in one release: 4 for labels, 4 to charge, 3 to end
PROGRAMS = Path(__file__).with_name("programs")
pytestmark = pytest.mark.filterwarnings("ignore::darrm.errors.RecoveredLabelsWarning")
posix = pytest.mark.skipif(os.name != "posix", reason="needs fork and SIGKILL")


@pytest.fixture(scope="module")
def design() -> darrm.Design:
    return darrm.solve(K=5, m=2, epsilon=0.01)


@pytest.fixture(scope="module")
def allowed(design: darrm.Design) -> int:
    return max_queries(design, EPSILON, DELTA, voters="fresh")


@pytest.mark.thorough
def test_no_error_sends_a_ledger_to_another_path(
    design: darrm.Design, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels of the same fixed voters in two ledgers would have no guarantee."""
    path = tmp_path / "ledger.json"
    budget: dict[str, Any] = {"total_epsilon": 1, "total_delta": 1e-5, "voters": "fixed"}
    ledger = Ledger.create(path, design, **budget)
    with pytest.raises(darrm.InputError, match="a second ledger for the same voters would be no guarantee"):
        Ledger.create(path, design, **budget)

    for call in range(1, 5):
        with monkeypatch.context() as patch:
            Disk(patch, call, True)
            with pytest.raises(darrm.OutputError, match="A second ledger for the same voters") as refused:
                ledger.charge(design)
        assert "another path" not in str(refused.value)
    assert ledger.released(design) == 0

    with ledger._store.changing() as change:  # as left by a run that ended between the move of labels and what says so
        change.state.leaving.append(Waiting(str(tmp_path / ".labels.csv.x.waiting"), str(tmp_path / "labels.csv")))
    with monkeypatch.context() as patch:
        Disk(patch, 1, True)
        assert len(ledger.status()["waiting"]) == 1  # whoever may not write can still read
        with pytest.raises(darrm.OutputError, match="A second ledger for the same voters"):
            ledger.charge(design)
    assert ledger.status()["waiting"] == []


@pytest.fixture
def book(tmp_path: Path, design: darrm.Design) -> Ledger:
    """A ledger of `allowed` labels."""
    path = tmp_path / "ledger.json"
    return Ledger.create(path, design, total_epsilon=EPSILON, total_delta=DELTA, voters="fresh")


def other(**changes: Any) -> darrm.Design:
    return darrm.solve(**{"K": 5, "m": 2, "epsilon": 0.01, **changes})


def rows(folder: Path) -> int:
    """Rows in finished output files."""
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.csv") if not path.name.startswith("."))


def release(book: Ledger, design: darrm.Design, n: int, out: Path) -> None:
    with book.releasing(design, n, out) as file:
        file.write(b"1\n" * n)


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob(".*") if path.suffix in (".part", ".waiting"))


# Budget


@pytest.mark.thorough
@pytest.mark.parametrize("sizes", [(1,), (4,), (1, 2, 3)])
def test_charges_up_to_exactly_the_budget(book: Ledger, design: darrm.Design, allowed: int, sizes: tuple[int]) -> None:
    assert allowed > 10
    assert compose(design, allowed, delta=DELTA, voters="fresh").upper <= EPSILON
    left, turn = allowed, 0
    while left:
        n = min(left, sizes[turn % len(sizes)])
        book.charge(design, n)
        left, turn = left - n, turn + 1
        status = book.status()
        assert (status["released"], status["left"]) == (allowed - left, left)
    before = book.path.read_bytes()
    with pytest.raises(darrm.BudgetError, match=f"{allowed} of {allowed} are released. None is left"):
        book.charge(design, 1)
    assert book.path.read_bytes() == before


def test_nothing_is_charged_in_part(book: Ledger, design: darrm.Design, allowed: int, tmp_path: Path) -> None:
    book.charge(design, 3)
    before = book.path.read_bytes()
    out = tmp_path / "labels.csv"
    for n in (allowed - 2, allowed + 1, 10**8, 2**53):
        with pytest.raises(darrm.BudgetError, match="Nothing was released"):
            book.charge(design, n)
        with (
            pytest.raises(darrm.BudgetError, match="Nothing was released"),
            book.releasing(design, n, out) as file,
        ):
            file.write(b"1\n")
        assert book.path.read_bytes() == before
        assert not out.exists()
        assert not leftovers(tmp_path)
    book.charge(design, allowed - 3)
    assert book.status()["left"] == 0


def test_a_check_says_what_a_charge_would_and_charges_nothing(book: Ledger, design: darrm.Design, allowed: int) -> None:
    book.check(design, allowed, ids=map(str, range(allowed)))
    with pytest.raises(darrm.BudgetError):
        book.check(design, allowed + 1)
    before = book.path.read_bytes()
    book.check(design, allowed)
    assert book.path.read_bytes() == before
    book.charge(design, 2, ids=["a", "b"])
    with pytest.raises(darrm.errors.RepeatedIdError):
        book.check(design, ids=["b"])
    book.check(design, ids=["c"])
    book.charge(design, allowed - 2, ids=map(str, range(allowed - 2)))
    assert book.released(design) == allowed


def test_a_ledger_states_the_epsilon_of_one_label_as_releases_do() -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(3, 1.0)], 1 + 1.02e-12, max_affected=1)
    made = darrm.DecisionDesign(problem, [0.5] * 4, darrm.objectives.truth([0.7]))
    assert f"each label {guarantee(problem)} (design" in account_of(made, None, "replace-one", "fresh").said
    assert guarantee(problem) == "(1, 0)-DP"


def test_a_release_is_charged_and_complete(book: Ledger, design: darrm.Design, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    out.write_text("what stood here before\n")
    with book.releasing(design, 2, out) as file:
        file.write(b"1\n0\n")
        assert out.read_text() == "what stood here before\n"
        assert recorded(book.path) == 0
    assert out.read_text() == "1\n0\n"
    known = account_of(design, None, "replace-one", "fresh")
    assert Ledger(book.path).status() == {
        "total_epsilon": EPSILON,
        "total_delta": DELTA,
        "voters": "fresh",
        "rule": "exact",
        "adjacency": "replace-one",
        "condition": "each row of votes is released once, and the number of labels does not depend on what was "
        "released; if it does, the budget holds in place of the total",
        "released": 2,
        "left": max_queries(design, EPSILON, DELTA, voters="fresh") - 2,
        "designs": [{"what": known.said, "digest": known.name}],
        "charges": [{"what": known.said, "n": 2, "note": ""}],
        "waiting": [],
        "ids": 0,
        "by_key": 0,
        "computational": False,
        "affected_votes": 1,
        "left_of": {},
        "streams": {},
        "again": 0,
        "fallback_epsilon": None,
    }


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_block_that_fails_costs_nothing(
    book: Ledger, design: darrm.Design, tmp_path: Path, error: type[BaseException]
) -> None:
    before = book.path.read_bytes()

    def stopped() -> None:
        with book.releasing(design, 2, tmp_path / "labels.csv") as file:
            file.write(b"1\n")
            raise error("stop")

    with pytest.raises(error):
        stopped()
    assert book.path.read_bytes() == before
    assert not (tmp_path / "labels.csv").exists()
    assert not leftovers(tmp_path)


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2", None, float("nan"), float("inf"), 2**60])
def test_counts_are_whole_numbers(book: Ledger, design: darrm.Design, tmp_path: Path, n: Any) -> None:
    before = book.path.read_bytes()
    with pytest.raises(darrm.InputError, match="n must be an integer"):
        book.charge(design, n)
    with pytest.raises(darrm.InputError, match="n must be an integer"):
        release(book, design, n, tmp_path / "labels.csv")
    assert book.path.read_bytes() == before
    assert not (tmp_path / "labels.csv").exists()


def test_a_total_delta_below_that_of_one_label_is_named(tmp_path: Path) -> None:
    design = darrm.solve(K=3, m=1, epsilon=0.5, Delta=1e-5, max_affected=1)
    total = {"total_epsilon": 8.0, "total_delta": 1e-6, "voters": "fresh"}
    said = rf"One label has delta {design.problem.delta:g} alone"
    with pytest.raises(darrm.BudgetError, match=said):
        Ledger.create(tmp_path / "one.db", design, **total)  # type: ignore[arg-type]
    several = Ledger.create(tmp_path / "several.db", rule="in-advance", **total)  # type: ignore[arg-type]
    with pytest.raises(darrm.BudgetError, match=said):
        several.charge(design)
    wide = darrm.solve(K=3, m=1, epsilon=0.5, max_affected=1)
    with pytest.raises(darrm.BudgetError) as refused:
        Ledger.create(tmp_path / "wide.db", wide, **{**total, "total_epsilon": 0.01})  # type: ignore[arg-type]
    assert "alone" not in str(refused.value)


def test_a_budget_below_one_label_makes_no_ledger(tmp_path: Path, design: darrm.Design) -> None:
    path = tmp_path / "ledger.json"
    for voters, rule in (("fresh", "exact"), ("fixed", "exact"), ("fresh", "basic-filter")):
        with pytest.raises(darrm.BudgetError, match="does not cover one label"):
            Ledger.create(path, design, total_epsilon=0.001, total_delta=1e-9, voters=voters, rule=rule)
        assert not path.exists()


@pytest.mark.parametrize("name", ["x" * 300, "x" * 250, "a\0b"], ids=["long", "long for a journal", "NUL"])
def test_a_name_that_no_file_can_have(
    name: str, design: darrm.Design, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / name)
    with pytest.raises(darrm.InputError, match="cannot be the path of a ledger"):
        Ledger.create(path, design, total_epsilon=EPSILON, total_delta=DELTA, voters="fresh")
    with pytest.raises(darrm.InputError, match="cannot be the path of a ledger"):
        import_ledger(path, tmp_path / "new.db")
    with pytest.raises(darrm.InputError):
        darrm.tables.read(f"{path}{'x' * 9}.csv")
    with pytest.raises((darrm.InputError, darrm.OutputError)):
        design.save(f"{path}{'x' * 9}.json")
    for word in ("show", "import"):
        assert main(["ledger", word, path, *[str(tmp_path / "new.db")] * (word == "import")]) == 2
        assert re.search(r"cannot be the path of a ledger|path must be the path of a file", capsys.readouterr().err)
    assert not list(tmp_path.iterdir())


def test_a_ledger_is_not_made_twice(book: Ledger, design: darrm.Design, monkeypatch: pytest.MonkeyPatch) -> None:
    book.charge(design, 5)
    before = book.path.read_bytes()
    # Nobody waits for a total that no ledger gets.
    monkeypatch.setattr("darrm.accounting.ledger.new_state", lambda *given: pytest.fail("a total was composed"))
    with pytest.raises(darrm.InputError, match="exists already"):
        Ledger.create(book.path, design, total_epsilon=EPSILON, total_delta=DELTA, voters="fresh")
    assert book.path.read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"total_epsilon": -1}, "total_epsilon"),
        ({"total_epsilon": float("nan")}, "total_epsilon"),
        ({"total_epsilon": float("inf")}, "total_epsilon"),
        ({"total_epsilon": True}, "total_epsilon"),
        ({"total_delta": -1e-9}, "total_delta"),
        ({"total_delta": 1}, "total_delta"),
        ({"total_delta": None}, "total_delta"),
        ({"rule": "advanced"}, "rule must be one of exact, in-advance, renyi-filter, basic-filter"),
    ],
)
def test_bad_budgets(tmp_path: Path, design: darrm.Design, changes: dict[str, Any], message: str) -> None:
    path = tmp_path / "ledger.json"
    with pytest.raises(darrm.InputError, match=message):
        Ledger.create(path, design, **{"total_epsilon": 0.3, "total_delta": 1e-6, "voters": "fresh", **changes})
    assert not path.exists()


@pytest.mark.parametrize("wrong", [None, 3, "design.json"])
def test_only_designs_are_charged(book: Ledger, tmp_path: Path, wrong: Any) -> None:
    for use in (
        lambda: Ledger.create(tmp_path / "l", wrong, total_epsilon=1.0, total_delta=0.0, voters="fresh"),
        lambda: book.charge(wrong, 1),
        lambda: release(book, wrong, 1, tmp_path / "labels.csv"),
    ):
        with pytest.raises(darrm.InputError, match="Design"):
            use()
    assert recorded(book.path) == 0
    assert rows(tmp_path) == 0


# Voters, designs and rules


@pytest.mark.parametrize("voters", [None, "", "Fresh", "both", 1, ["fresh"]])
def test_voters_have_to_be_named(tmp_path: Path, design: darrm.Design, voters: Any) -> None:
    for make in (
        lambda: max_queries(design, EPSILON, DELTA, voters=voters),
        lambda: Ledger.create(tmp_path / "l", design, total_epsilon=EPSILON, total_delta=DELTA, voters=voters),
    ):
        with pytest.raises(darrm.InputError) as caught:
            make()
        assert '"fresh"' in str(caught.value)
        assert '"fixed"' in str(caught.value)
    assert not (tmp_path / "l").exists()


@pytest.mark.parametrize("changes", [{"m": 1.5}, {"epsilon": 0.0100001}, {"K": 7}])
def test_exact_is_for_one_design(book: Ledger, design: darrm.Design, tmp_path: Path, changes: dict[str, Any]) -> None:
    before = book.path.read_bytes()
    said = (
        r"is for another design \(design \w{8}\)\. Got design \w{8}\. .* add up if no row of votes has a label in both"
        r'.*"in-advance" before the first label; labels that are out count in addition\.$'
    )
    with pytest.raises(darrm.InputError, match=said):
        book.charge(other(**changes), 1)
    with pytest.raises(darrm.InputError, match=said):
        release(book, other(**changes), 1, tmp_path / "labels.csv")
    assert book.path.read_bytes() == before
    assert not (tmp_path / "labels.csv").exists()


def test_a_design_is_known_again_from_its_file(book: Ledger, design: darrm.Design, tmp_path: Path) -> None:
    design.save(tmp_path / "design.json")
    book.charge(darrm.load(tmp_path / "design.json"), 1)
    book.charge(other(), 1)
    assert book.status()["released"] == 2


def test_basic_adds_up_epsilons(tmp_path: Path) -> None:
    a, b = other(m=2, epsilon=0.0625), other(m=3, epsilon=0.125)  # 1/8 and 3/8, exactly
    book = Ledger.create(tmp_path / "l", a, total_epsilon=1.0, total_delta=0.0, voters="fresh", rule="basic-filter")
    book.charge(a, 2)
    book.charge(b, 1)
    before = book.path.read_bytes()
    for design, n in ((a, 4), (b, 2)):
        with pytest.raises(darrm.BudgetError, match="basic"):
            book.charge(design, n)
        assert book.path.read_bytes() == before
    release(book, b, 1, tmp_path / "labels.csv")  # 1/4 + 3/4: all of it
    status = book.status()
    assert (status["released"], status["rule"]) == (4, "basic-filter")
    for design in (a, b):
        with pytest.raises(darrm.BudgetError, match="basic"):
            book.charge(design, 1)
    assert recorded(book.path) == 4
    assert rows(tmp_path) == 1


def test_basic_adds_up_one_kind_of_neighbours(tmp_path: Path) -> None:
    book = Ledger.create(
        tmp_path / "b.json", other(), total_epsilon=1.0, total_delta=0.0, voters="fresh", rule="basic-filter"
    )
    with pytest.raises(darrm.InputError, match="Got add-remove: guarantees for different neighbours do not add up"):
        book.charge(other(adjacency="add-remove"), 1)


def test_basic_adds_up_deltas(tmp_path: Path) -> None:
    with_delta = other(Delta=2**-20, delta=2**-10)
    book = Ledger.create(
        tmp_path / "l", with_delta, total_epsilon=10.0, total_delta=3 * 2**-10, voters="fresh", rule="basic-filter"
    )
    book.charge(with_delta, 3)
    with pytest.raises(darrm.BudgetError, match="basic"):
        book.charge(with_delta, 1)
    book.charge(other(), 1)  # no delta
    assert book.status()["released"] == 4


@pytest.mark.thorough
def test_what_is_spent_is_what_the_labels_cost(book: Ledger, design: darrm.Design, allowed: int) -> None:
    assert book.spent() == (0, 0)
    book.charge(design, 3)
    three = compose(design, 3, delta=DELTA, voters="fresh")
    assert three.lower <= book.spent()[0] <= 1.01 * three.upper
    assert book.spent()[1] == DELTA
    book.charge(design, allowed - 3)
    everything = compose(design, allowed, delta=DELTA, voters="fresh")
    assert everything.lower <= book.spent()[0] <= EPSILON


def edited(path: Path, **changes: object) -> None:
    """Change the account of the one design of a ledger, with a checksum that matches."""
    state = ledgers.content(path)
    (account,) = state["designs"].values()
    account.update(changes)
    if "charged" in changes:
        state["notes"] = [{"name": next(iter(state["designs"])), "note": "", "charged": changes["charged"]}]
    ledgers.forge(path, state)


@pytest.mark.thorough
@pytest.mark.parametrize(("voters", "total"), [("fresh", 0.9), ("fixed", 0.04)])
def test_the_number_of_labels_in_a_file_is_certified_again(
    tmp_path: Path, design: darrm.Design, voters: str, total: float
) -> None:
    """A file may come from elsewhere, or from a composition that was too small."""
    budget = {"total_epsilon": total, "total_delta": 1e-6, "voters": voters}
    certified = max_queries(design, **budget)  # type: ignore[arg-type]
    assert 0 < certified < 1000
    book = Ledger.create(tmp_path / "l.json", design, **budget)  # type: ignore[arg-type]
    book.charge(design, 1)
    edited(book.path, allowed=20 * certified)
    assert book.status()["left"] == book.remaining(design) == certified - 1
    with pytest.raises(darrm.BudgetError, match=f"1 of {certified} are released. (None|[0-9]+) (is|are) left"):
        book.charge(design, certified)


def test_a_file_may_allow_fewer_labels(book: Ledger, design: darrm.Design, allowed: int) -> None:
    edited(book.path, allowed=allowed - 5)
    assert book.status()["left"] == allowed - 5


@pytest.mark.slow
def test_the_number_that_another_account_leaves_is_certified_again(tmp_path: Path, design: darrm.Design) -> None:
    budget = {"total_epsilon": 3, "total_delta": 1e-5, "voters": "fresh", "rule": "in-advance"}
    book = Ledger.create(tmp_path / "l.json", design, **budget)  # type: ignore[arg-type]
    book.charge((0.5, 0.0), adjacency="replace-one")
    left = book.remaining(design)
    assert left
    edited(book.path, allowed=20 * left)
    assert book.remaining(design) == left
    with pytest.raises(darrm.BudgetError, match="would overspend"):
        book.charge(design, left + 1)


@pytest.mark.thorough
def test_a_ledger_with_too_many_charges_says_so(book: Ledger, design: darrm.Design, allowed: int) -> None:
    edited(book.path, allowed=20 * allowed, charged=20 * allowed)
    assert book.status()["left"] == 0
    with pytest.raises(darrm.InputError, match=r"allows too many labels.* cost at least \d"):
        book.spent()
    with pytest.raises(darrm.InputError, match="records charges above its budget"):
        book.charge(design, 1)


@pytest.mark.parametrize("rule", ["exact", "in-advance", "renyi-filter", "basic-filter"])
def test_a_budget_below_its_charges_is_bad_input_wherever_it_is_read(
    tmp_path: Path, design: darrm.Design, rule: str
) -> None:
    book = Ledger.create(
        tmp_path / "l.json", design, total_epsilon=EPSILON, total_delta=DELTA, voters="fresh", rule=rule
    )
    book.charge(design, 2)
    with pytest.raises(darrm.BudgetError):
        book.charge(design, 100)
    ledgers.forge(book.path, {**ledgers.content(book.path), "total_epsilon": 0.01})
    for use in (lambda: book.charge(design), book.spent):
        with pytest.raises(darrm.InputError, match=r"charges above its budget|allows too many labels") as refused:
            use()
        assert not isinstance(refused.value, darrm.BudgetError)


def test_a_second_design_of_fixed_voters_is_not_sent_to_a_second_budget(tmp_path: Path, design: darrm.Design) -> None:
    budget = {"total_epsilon": 1e3, "total_delta": DELTA, "voters": "fixed"}
    book = Ledger.create(tmp_path / "fixed.json", design, **budget)  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match="must not be added up for the same fixed voters"):
        book.charge(other(m=1), 1)


def test_what_is_spent_by_the_sum(tmp_path: Path) -> None:
    small, large = other(), other(m=3, Delta=1e-5)
    book = Ledger.create(
        tmp_path / "l.json", small, total_epsilon=50, total_delta=0.1, voters="fresh", rule="basic-filter"
    )
    book.charge(small, 3)
    book.charge(large, 2)
    epsilon, delta = book.spent()
    exact = [
        3 * Fraction(a) + 2 * Fraction(b)
        for a, b in zip(*map(exact_guarantee, (small.problem, large.problem)), strict=True)
    ]
    assert exact[0] <= epsilon <= exact[0] * (1 + Fraction(1, 10**15))
    assert exact[1] <= delta <= exact[1] * (1 + Fraction(1, 10**15))


@pytest.mark.thorough
def test_what_fixed_voters_spend_does_not_grow(tmp_path: Path, design: darrm.Design) -> None:
    voters = optimal(design.problem.epsilon, design.problem.Delta, design.problem.max_affected, 1e-6).epsilon
    book = Ledger.create(tmp_path / "l.json", design, total_epsilon=100, total_delta=1e-6, voters="fixed")
    book.charge(design, 1)
    assert 0 < book.spent()[0] <= voters
    for n in (1, 10**7, 10**7):
        book.charge(design, n)
        assert book.spent() == (voters, 1e-6)


def test_basic_checks_delta_when_made(tmp_path: Path) -> None:
    with_delta = other(Delta=2**-20, delta=2**-10)
    with pytest.raises(darrm.BudgetError):
        Ledger.create(
            tmp_path / "l", with_delta, total_epsilon=10.0, total_delta=2**-11, voters="fresh", rule="basic-filter"
        )
    assert not (tmp_path / "l").exists()


def test_basic_refuses_fixed_voters(tmp_path: Path, design: darrm.Design) -> None:
    with pytest.raises(darrm.InputError, match="fixed"):
        Ledger.create(tmp_path / "l", design, total_epsilon=9.0, total_delta=0.1, voters="fixed", rule="basic-filter")
    assert not (tmp_path / "l").exists()


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_fixed_voters_that_the_budget_pays_for(tmp_path: Path, design: darrm.Design, delta: float) -> None:
    problem = design.problem
    cost = optimal(problem.epsilon, problem.Delta, problem.max_affected, delta).epsilon
    assert max_queries(design, cost, delta, voters="fixed") == theorems.MOST_LABELS
    assert max_queries(design, cost * (1 - 1e-9), delta, voters="fixed") <= 1
    book = Ledger.create(tmp_path / "l", design, total_epsilon=cost, total_delta=delta, voters="fixed")
    for n in (1, 10**6, 10**7, 10**7):
        book.charge(design, n)
    status = book.status()
    assert (status["released"], status["left"], status["voters"]) == (21_000_001, None, "fixed")
    with pytest.raises(darrm.InputError, match="another design"):
        book.charge(other(m=1.5), 1)


@pytest.mark.thorough
def test_fixed_voters_may_pay_for_one_label(tmp_path: Path, design: darrm.Design) -> None:
    cost = compose(design, 1, delta=1e-5, voters="fixed").upper
    assert cost < optimal(0.01, 0.0, 5, 1e-5).epsilon
    assert max_queries(design, cost, 1e-5, voters="fixed") == 1
    book = Ledger.create(tmp_path / "l", design, total_epsilon=cost, total_delta=1e-5, voters="fixed")
    assert book.status()["left"] == 1
    with pytest.raises(darrm.BudgetError, match="1 is left"):
        book.charge(design, 2)
    release(book, design, 1, tmp_path / "labels.csv")
    with pytest.raises(darrm.BudgetError, match="None is left"):
        book.charge(design, 1)
    assert (book.status()["released"], book.status()["left"]) == (1, 0)
    assert max_queries(design, cost * 0.99, 1e-5, voters="fixed") == 0
    with pytest.raises(darrm.BudgetError, match="does not cover one label"):
        Ledger.create(tmp_path / "none", design, total_epsilon=cost * 0.99, total_delta=1e-5, voters="fixed")


@pytest.mark.parametrize("total", [0.06, 1.0])
def test_pure_budgets_buy_what_compose_proves(design: darrm.Design, total: float) -> None:
    """The two ways to ask agree at delta = 0 too."""
    queries = max_queries(design, total, 0.0, voters="fresh")
    assert compose(design, queries + 1, delta=0.0, voters="fresh").upper > total


# Files that were touched


@pytest.fixture
def used(book: Ledger, design: darrm.Design) -> Path:
    book.charge(design, 7)
    return book.path


def refused(path: Path, design: darrm.Design, message: str | None = None) -> None:
    """Opening and every use of a ledger that is open already are refused, and the file stays as it is."""
    book = object.__new__(Ledger)
    book._store = Store(path)
    before = path.read_bytes() if path.is_file() else None
    out = path.with_name("refused.csv")
    for use in (
        lambda: Ledger(path),
        book.status,
        lambda: book.charge(design, 1),
        lambda: release(book, design, 1, out),
    ):
        with pytest.raises(darrm.InputError, match=message):
            use()
        assert not out.exists()
        assert not leftovers(path.parent)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_truncated_files_are_refused(used: Path, design: darrm.Design) -> None:
    whole = used.read_bytes()
    end = len(whole)
    for size in sorted({0, 1, 2, 15, 100, end // 3, end // 2, *range(512, end, 4096), end - 4096, end - 1}):
        used.write_bytes(whole[:size])
        refused(used, design, r"not a whole ledger|not a ledger")
    used.write_bytes(whole)
    assert Ledger(used).status()["released"] == 7


def test_flipped_digits_are_refused(used: Path, design: darrm.Design) -> None:
    whole, rng = used.read_bytes(), random.Random(1)
    start = whole.index(b'{"format": "darrm-ledger"')
    text = whole[start : whole.index(b"}", whole.index(b'"chain"'))]
    places = [start + place.start() for place in re.finditer(rb"\d", text)]
    released = start + text.index(b'"charged": 7') + len('"charged": ')
    for place in {released, *rng.sample(places, 60)}:
        digit = rng.choice([d for d in b"0123456789" if d != whole[place]])
        used.write_bytes(whole[:place] + bytes([digit]) + whole[place + 1 :])
        with pytest.raises(darrm.InputError, match="checksum does not match"):
            Ledger(used)
    used.write_bytes(whole[:released] + b"0" + whole[released + 1 :])
    refused(used, design, "checksum does not match")


@pytest.mark.thorough
def test_a_flipped_byte_anywhere_says_the_same_or_is_refused(used: Path, design: darrm.Design) -> None:
    whole, rng = used.read_bytes(), random.Random(2)
    told, outcomes = Ledger(used).status(), set()
    for place in [*range(0, 100, 3), *rng.sample(range(100, len(whole)), 60)]:
        used.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << rng.randrange(8)]) + whole[place + 1 :])
        try:
            assert Ledger(used).status() == told
            outcomes.add("read")
        except darrm.InputError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


@pytest.mark.thorough
def test_every_changed_value_is_refused(used: Path, design: darrm.Design) -> None:
    content = ledgers.content(used)
    del content["notes"]
    (name,) = content["designs"]
    account = content["designs"][name]
    for key, value in (
        ("total_epsilon", 30.0),
        ("total_delta", 1e-3),
        ("voters", "fixed"),
        ("rule", "basic-filter"),
        ("adjacency", "add-remove"),
        ("charges", 0),
        ("chain", "0" * 64),
        ("others", {"0" * 16: {}}),
        ("designs", {}),
        ("designs", {name: {**account, "charged": 0}}),
        ("designs", {name: {**account, "allowed": 10**6}}),
        ("designs", {"0" * 16: account}),
        ("leaving", {"part": "a", "out": "b"}),
        ("more", 1),
    ):
        with sqlite3.connect(used) as db:
            db.execute("UPDATE ledger SET content = ?", (json.dumps({**content, key: value}),))
        db.close()
        refused(used, design, "checksum does not match")
    for key in content:
        ledgers.forge(used, {k: v for k, v in content.items() if k != key})
        if key not in ("charges", "chain", "ids"):
            refused(used, design)
    for key, value in (("charges", 0), ("charges", 2), ("chain", "0" * 64), ("chain", "")):
        ledgers.forge(used, {**content, key: value})
        refused(used, design, "its last charge is another one")


@pytest.mark.every
@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE charges SET n = 6 WHERE number = 1",
        "UPDATE charges SET time = '2020-01-01T00:00:00.000000Z' WHERE number = 1",
        "UPDATE charges SET host = NULL WHERE number = 2",
        "UPDATE charges SET note = 'a' WHERE number = 2",
        "UPDATE charges SET note = x'00' WHERE number = 1",
        "UPDATE charges SET number = 9 WHERE number = 1",
        "DELETE FROM charges WHERE number = 1",
        "DELETE FROM charges WHERE number = 2",
        "DELETE FROM charges",
        "INSERT INTO charges SELECT 3, time, host, account, n, note, stream, ids, ids_digest, lease, seal FROM charges "
        "WHERE number = 1",
        "DELETE FROM ledger",
        "UPDATE ledger SET seal = ''",
        "DROP TABLE charged",
        "CREATE TABLE more (a)",
        "CREATE TRIGGER forgets AFTER INSERT ON charges BEGIN DELETE FROM charges; END",
    ],
)
def test_an_edited_database_is_refused(used: Path, design: darrm.Design, edit: str) -> None:
    Ledger(used).charge(design, 1)
    with sqlite3.connect(used) as db:
        db.execute(edit)
    db.close()
    with pytest.raises(darrm.InputError, match=r"was changed after it was written|has other tables"):
        Ledger(used)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "darrm-design"}, 'its format is not "darrm-ledger"'),
        ({"format": None}, 'its format is not "darrm-ledger"'),
        ({"version": 4}, "has format version 4"),
        ({"version": 6}, "has format version 6"),
        ({"version": True}, "has format version True"),
        ({"version": "5"}, "has format version '5'"),
    ],
)
def test_other_formats_are_refused(used: Path, design: darrm.Design, change: dict[str, Any], message: str) -> None:
    ledgers.forge(used, {**ledgers.content(used), **change})
    refused(used, design, message)


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "7", "{}", "labels\n1\n", "\0", "\u00e9", '{"a":1,"a":1}', "[" * 5000]
)
def test_other_files_are_refused(used: Path, design: darrm.Design, text: str) -> None:
    used.write_text(text, encoding="latin-1")
    refused(used, design)


def test_a_ledger_of_an_earlier_darrm_says_how_to_import_it(tmp_path: Path, design: darrm.Design) -> None:
    path = tmp_path / "old.json"
    sealed_json.write(path, {"format": "darrm-ledger", "version": 4})
    refused(path, design, "earlier darrm, in JSON, not a ledger. Run: darrm ledger import .*old.json ledger.db")


def test_a_design_file_is_no_ledger(tmp_path: Path, design: darrm.Design) -> None:
    design.save(tmp_path / "design.json")
    refused(tmp_path / "design.json", design, "is a design file, not a ledger. Pass a ledger. .* run: darrm verify")


def test_a_missing_file_and_a_folder_are_refused(used: Path, design: darrm.Design, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.iterdir())
    for path in (tmp_path / "missing.json", tmp_path / "no" / "missing.json", tmp_path / "folder", "", ".", "/", "a\0"):
        with pytest.raises(darrm.InputError, match="ledger"):
            Ledger(path)
    assert sorted(tmp_path.iterdir()) == before  # no lock files either
    refused(tmp_path / "missing.json", design)
    book = Ledger(used)
    used.unlink()
    with pytest.raises(darrm.InputError, match="could not be read: No such file"):
        book.charge(design, 1)


# One ledger under several names


@posix
@pytest.mark.parametrize("link", ["symlink", "folder"])
def test_a_link_leads_to_the_same_ledger(used: Path, design: darrm.Design, tmp_path: Path, link: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    if link == "symlink":
        name = tmp_path / "elsewhere" / "link.json"
        name.symlink_to(used)
    else:
        (tmp_path / "elsewhere" / "back").symlink_to(tmp_path)
        name = tmp_path / "elsewhere" / "back" / used.name
    Ledger(name).charge(design, 3)
    assert Ledger(used).status()["released"] == Ledger(name).status()["released"] == 10


@posix
def test_a_second_name_is_refused(used: Path, design: darrm.Design, tmp_path: Path) -> None:
    """A hard link would go on to hold the old count."""
    book, name = Ledger(used), tmp_path / "second.json"
    os.link(used, name)
    for path in (used, name):
        with pytest.raises(darrm.InputError, match="second name"):
            Ledger(path)
    with pytest.raises(darrm.InputError, match="second name"):
        book.charge(design, 1)
    name.unlink()
    book.charge(design, 1)
    assert recorded(used) == 8


@posix
@pytest.mark.parametrize("suffix", ["", ".lock"])
def test_labels_do_not_take_the_place_of_the_ledger(used: Path, design: darrm.Design, suffix: str) -> None:
    before = used.read_bytes()
    with pytest.raises(darrm.DarrmError):
        release(Ledger(used), design, 2, used.with_name(used.name + suffix))
    assert used.read_bytes() == before


# Many processes


@pytest.mark.thorough
def test_eight_processes_never_overspend(tmp_path: Path, design: darrm.Design) -> None:
    design.save(tmp_path / "design.json")
    (tmp_path / "out").mkdir()
    path = tmp_path / "ledger.json"
    book = Ledger.create(path, design, total_epsilon=1.0, total_delta=1e-5, voters="fresh")
    allowed = max_queries(design, 1.0, 1e-5, voters="fresh")
    assert allowed > 150
    names = [f"worker{i}" for i in range(8)]
    pipe = subprocess.PIPE
    program = PROGRAMS / "until_refused.py"
    workers = [
        subprocess.Popen([sys.executable, program, tmp_path, name], stdin=pipe, stdout=pipe, env=FAST, text=True)
        for name in names
    ]
    try:
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        refused = [int(worker.communicate(timeout=60)[0]) for worker in workers]
        assert [worker.returncode for worker in workers] == [0] * 8
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    status, lines = book.status(), []
    files = list((tmp_path / "out").glob("*.csv"))
    for file in files:
        lines += file.read_text().splitlines()
    assert len(lines) == status["released"] == recorded(path)
    assert 0 <= allowed - status["released"] < min(refused)
    assert len(set(lines)) == len(lines)
    # Each worker has all its batches, and each of them is whole.
    for name in names:
        rng = random.Random(name)
        count = sum(file.name.startswith(f"{name}-") for file in files)
        sizes = [rng.randint(1, 9) for _ in range(count)]
        expected = [f"{name},{i},{j}" for i, n in enumerate(sizes) for j in range(n)]
        assert sorted(line for line in lines if line.startswith(f"{name},")) == sorted(expected)
        assert rng.randint(1, 9) == refused[names.index(name)]
    assert not leftovers(tmp_path)


# Kills


@pytest.fixture(scope="module")
def forker(tmp_path_factory: pytest.TempPathFactory, design: darrm.Design) -> Iterator[Forker]:
    folder = tmp_path_factory.mktemp("forker")
    design.save(folder / "design.json")
    forker = Forker(folder)
    yield forker
    forker.process.communicate(timeout=60)


@pytest.mark.thorough
@posix
def test_two_hundred_kills(tmp_path: Path, design: darrm.Design, forker: Forker) -> None:
    """Never more rows than recorded; as many, once the ledger is opened again."""
    kills, rng = 200, random.Random(2)
    path, everything = tmp_path / "ledger.json", tmp_path / "out"
    Ledger.create(path, design, total_epsilon=1e4, total_delta=0.0, voters="fresh", rule="basic-filter")
    settled = waiting = interrupted = 0  # rows in folders that are done with; folders that are not; moves cut short
    for kill in range(kills):
        folder = everything / str(kill)
        folder.mkdir(parents=True)
        open_folders = [everything / str(i) for i in range(kill - waiting, kill + 1)]
        with forker.looping(path, folder, kill):
            moment = rng.uniform(0, 0.06)
            time.sleep(moment / 2)
            seen = settled + sum(map(rows, open_folders))
            assert seen <= recorded(path)  # read after the rows were counted, while both grow
            time.sleep(moment / 2)
        assert settled + sum(map(rows, open_folders)) <= recorded(path)
        interrupted += bool(ledgers.content(path)["leaving"])
        if rng.random() < 0.3:  # the next worker has to finish what this one began
            waiting += 1
            continue
        released = Ledger(path).status()["released"]
        settled += sum(map(rows, open_folders))
        assert settled == released == recorded(path)
        waiting = 0
    assert Ledger(path).status()["released"] == rows(everything) == recorded(path) > kills
    assert interrupted
    for file in everything.rglob("*.csv"):
        if not file.name.startswith("."):
            n = int(file.stem.split("-")[1])
            assert file.read_text() == "".join(f"{file.stem},{j}\n" for j in range(n))


@pytest.mark.first(1)
@posix
@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_every_step(
    tmp_path: Path, forker: Forker, design: darrm.Design, after: bool, existing: bool
) -> None:
    """Before and after every call that changes the disk: neither labels nor a charge, or both."""
    budget: dict[str, Any] = {"total_epsilon": 100, "total_delta": 0, "voters": "fresh", "rule": "basic-filter"}
    book = Ledger.create(tmp_path / "ledger.db", design, **budget)
    code, call, charged, recovered = 9, 0, 0, 0
    while code == 9:
        call += 1
        folder = tmp_path / str(call)
        folder.mkdir()
        out, n = folder / "labels.csv", 1 + call % 2
        labels = "".join(f"labels,{j}\n" for j in range(n))
        if existing:
            out.write_text("before\n")
        code = forker.crash(book.path, n, out, call, after)
        counted = recorded(book.path) - charged
        assert counted in (0, n)
        early = with_labels(out, labels)
        assert len(early) <= counted // n
        if not counted:  # what a crash leaves before the charge is for its owner alone
            assert all(path.stat().st_mode & 0o077 == 0 for path in folder.glob(".*[!k]"))  # locks are empty
        status = Ledger(book.path).status()
        assert (status["released"], status["waiting"]) == (charged + counted, [])
        late = with_labels(out, labels)
        assert len(late) == counted // n
        recovered += late != early
        if existing:  # a file that was there is replaced by a release that ends, and by no other
            assert out.read_text() == (labels if out in early else "before\n")
        else:
            assert out.exists() == bool(counted)
        charged += counted
    assert code == 0
    assert call > CALLS
    assert recovered


def with_labels(out: Path, labels: str) -> list[Path]:
    """The files with these labels: ``out``, or one with more to its name if that was taken."""
    return [path for path in out.parent.glob(f"{out.name}*") if path.is_file() and path.read_text() == labels]


@posix
@pytest.mark.parametrize("taken", ["folder", "file", "link"])
def test_a_name_that_is_taken_meanwhile(tmp_path: Path, forker: Forker, book: Ledger, taken: str) -> None:
    """What stands there stays, and the labels come to stand beside it."""
    out, far = tmp_path / "labels.csv", tmp_path / "far.csv"
    charged = crashed_before_the_move(forker, book, out)
    far.write_text("far\n")
    if taken == "folder":
        out.mkdir()
    elif taken == "file":
        out.write_text("of somebody else\n")
    else:
        out.symlink_to(far)
    status = Ledger(book.path).status()
    assert (status["released"], status["waiting"]) == (charged, [])
    (place,) = with_labels(out, "labels,0\n")
    assert place != out
    assert far.read_text() == "far\n"
    assert out.is_dir() if taken == "folder" else out.is_symlink() == (taken == "link")
    assert taken != "file" or out.read_text() == "of somebody else\n"


@pytest.mark.thorough
@posix
def test_a_move_that_cannot_be_finished_waits(
    tmp_path: Path, design: darrm.Design, forker: Forker, book: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger can be used all the same, and several may wait."""
    outs = [tmp_path / "first.csv", tmp_path / "second.csv"]

    def move(part: Path, target: Path) -> None:
        raise PermissionError(13, "Permission denied")

    charged = crashed_before_the_move(forker, book, outs[0])
    with monkeypatch.context() as patch:
        patch.setattr("darrm.accounting.ledger_store.move", move)
        assert len(Ledger(book.path).status()["waiting"]) == 1
        with pytest.raises(darrm.OutputError, match="Permission denied"):
            release(book, design, 3, outs[1])
        book.charge(design, 1)
        status = book.status()
        assert (status["released"], len(status["waiting"])) == (charged + 4, 2)
        assert all(Path(path).exists() for path in status["waiting"])
        assert not any(out.exists() for out in outs)
    status = Ledger(book.path).status()
    assert (status["released"], status["waiting"]) == (charged + 4, [])
    assert [out.read_text() for out in outs] == ["first,0\n", "1\n" * 3]


def crashed_before_the_move(forker: Forker, book: Ledger, out: Path) -> int:
    """Labels charged by then, the last of them not moved yet."""
    for call in range(5, 40):
        forker.crash(book.path, 1, out, call, after=False)
        leaving = ledgers.content(book.path)["leaving"]
        if leaving and Path(leaving[0]["part"]).exists():
            return recorded(book.path)
    raise AssertionError("no crash came between the charge and the move")


# A failing disk


class Disk:
    """os.fsync, os.replace and writes to a database that fail at one call, or from one on."""

    def __init__(self, patch: pytest.MonkeyPatch, call: int, for_good: bool) -> None:
        self.count, self.call, self.for_good = 0, call, for_good
        for name in ("fsync", "replace"):
            patch.setattr(os, name, self._failing(getattr(os, name)))
        disk, connect = self, sqlite3.connect

        class Connection(sqlite3.Connection):
            writes = False

            def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
                self.writes |= statement == "BEGIN IMMEDIATE"
                if self.writes and not statement.startswith(("SELECT", "PRAGMA", "ROLLBACK")) and disk.fails():
                    raise sqlite3.OperationalError("Input/output error")
                return super().execute(statement, *values)

        patch.setattr(sqlite3, "connect", lambda *args, **named: connect(*args, factory=Connection, **named))

    def fails(self) -> bool:
        self.count += 1
        return self.count == self.call or (self.for_good and self.count > self.call)

    def _failing(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(*args: Any) -> None:
            if self.fails():
                raise OSError(5, "Input/output error")
            real(*args)

        return call


def test_calls_of_one_release(
    book: Ledger, design: darrm.Design, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        disk = Disk(patch, 10**6, False)
        release(book, design, 2, tmp_path / "labels.csv")
    assert disk.count == CALLS or os.name != "posix", disk.count


def failing(book: Ledger, design: darrm.Design, out: Path, call: int, for_good: bool) -> tuple[int, bool, bool]:
    """Labels charged, whether the file was there before the ledger was opened again, and after."""
    before = recorded(book.path)
    with pytest.MonkeyPatch.context() as patch:
        Disk(patch, call, for_good)
        with pytest.raises(darrm.OutputError, match="Input/output error"):
            release(book, design, 2, out)
    early = out.exists()
    if early:
        assert recorded(book.path) == before + 2
    charged = Ledger(book.path).status()["released"] - before
    assert charged in (0, 2)
    if out.exists():
        assert out.read_bytes() == b"1\n1\n"
    return charged, early, out.exists()


@pytest.mark.first(3)
@posix
@pytest.mark.parametrize("for_good", [False, True])
@pytest.mark.parametrize("call", range(1, CALLS + 1))
def test_a_failing_disk_never_gives_labels_for_nothing(
    book: Ledger, design: darrm.Design, tmp_path: Path, call: int, for_good: bool
) -> None:
    charged, early, late = failing(book, design, tmp_path / "labels.csv", call, for_good)
    assert charged == 2 or not (early or late)
    assert not leftovers(tmp_path)
    release(book, design, 3, tmp_path / "next.csv")  # and the ledger is as good as before
    assert book.status()["released"] == charged + 3


@posix
@pytest.mark.parametrize("for_good", [False, True])
@pytest.mark.parametrize("call", range(1, CALLS + 1))
def test_a_failing_disk_takes_no_charge_for_nothing(
    book: Ledger, design: darrm.Design, tmp_path: Path, call: int, for_good: bool
) -> None:
    charged, _, late = failing(book, design, tmp_path / "labels.csv", call, for_good)
    assert late == (charged == 2)


@posix
@pytest.mark.parametrize("call", range(1, 4))
def test_a_failing_disk_and_a_plain_charge(book: Ledger, design: darrm.Design, call: int) -> None:
    """When a charge ends with an error, it may count or not; the file is whole."""
    with pytest.MonkeyPatch.context() as patch:
        Disk(patch, call, False)
        with pytest.raises(darrm.OutputError):
            book.charge(design, 2)
    assert Ledger(book.path).status()["released"] in (0, 2)
    assert not leftovers(book.path.parent)


def test_every_statement_waits_for_other_processes(
    book: Ledger, design: darrm.Design, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, waits = sqlite3.connect, []

    class Connection(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            if statement not in waits and not statement.startswith("ROLLBACK"):
                waits.append(statement)
                error = sqlite3.OperationalError("database is locked")
                error.sqlite_errorcode = sqlite3.SQLITE_BUSY
                raise error
            return super().execute(statement, *values)

    monkeypatch.setattr(sqlite3, "connect", lambda *args, **named: connect(*args, factory=Connection, **named))
    book.charge(design, 2, ids=["a", "b"])
    assert book.status()["released"] == 2
    assert len(waits) > 10


def test_a_charge_waits_for_a_lock(book: Ledger, design: darrm.Design, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    with closing(connect(book.path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN EXCLUSIVE")
        end = threading.Timer(0.2, other.execute, ["ROLLBACK"])
        end.start()
        monkeypatch.setattr(sqlite3, "connect", lambda *args, **named: connect(*args, **{**named, "timeout": 0}))
        book.charge(design, 2)
        end.join()
    assert book.status()["released"] == 2


def test_a_missing_folder(book: Ledger, design: darrm.Design, tmp_path: Path) -> None:
    before = book.path.read_bytes()
    for out in (tmp_path / "none" / "labels.csv", tmp_path):
        with pytest.raises(darrm.OutputError):
            release(book, design, 2, out)
    assert book.path.read_bytes() == before


# Between the charge and the move


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("moved", [False, True])
def test_an_interrupt_never_gives_labels_for_nothing(
    book: Ledger, design: darrm.Design, tmp_path: Path, error: type[BaseException], moved: bool
) -> None:
    """Just before the move or just after it."""
    out = tmp_path / "labels.csv"
    interrupt(book, design, out, error, moved)
    assert out.exists() or not moved
    assert rows(tmp_path) <= recorded(book.path)
    charged = Ledger(book.path).status()["released"]
    assert rows(tmp_path) <= charged <= 2
    release(book, design, 3, tmp_path / "next.csv")
    assert Ledger(book.path).status()["released"] == charged + 3
    assert not leftovers(tmp_path)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("moved", [False, True])
def test_an_interrupted_move_is_finished(
    book: Ledger, design: darrm.Design, tmp_path: Path, error: type[BaseException], moved: bool
) -> None:
    out = tmp_path / "labels.csv"
    interrupt(book, design, out, error, moved)
    with pytest.warns(RecoveredLabelsWarning, match=f"charged its labels: they are in {re.escape(str(out))}") as said:
        assert Ledger(book.path).status()["released"] == rows(tmp_path)
    assert len(said) == 1


def test_charged_labels_that_are_gone_are_said_to_count(book: Ledger, design: darrm.Design, tmp_path: Path) -> None:
    interrupt(book, design, tmp_path / "labels.csv", SystemExit, False)
    (part,) = tmp_path.glob(".labels.csv.*.waiting")
    part.unlink()
    with pytest.warns(RecoveredLabelsWarning, match="charged labels that are gone"):
        assert Ledger(book.path).status()["released"] == 2


def interrupt(book: Ledger, design: darrm.Design, out: Path, error: type[BaseException], moved: bool) -> None:
    real = ledger_store.move

    def move(part: Path, target: Path) -> None:
        if moved:
            real(part, target)
        raise error("stop")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("darrm.accounting.ledger_store.move", move)
        with pytest.raises(error):
            release(book, design, 2, out)


# Counts that are known at the end


def test_a_count_that_is_known_at_the_end(book: Ledger, design: darrm.Design, allowed: int, tmp_path: Path) -> None:
    out, n = tmp_path / "labels.csv", 0
    with book.releasing(design, lambda: n, out) as file:
        for n in range(1, 4):  # noqa: B007
            file.write(b"1\n")
            assert recorded(book.path) == 0
            assert not out.exists()
    assert recorded(book.path) == rows(tmp_path) == 3
    for wrong in (0, -1, 1.5, None, float("nan"), 2**60):
        with (
            pytest.raises(darrm.InputError, match="n must be an integer"),
            book.releasing(design, lambda wrong=wrong: wrong, tmp_path / "wrong.csv"),
        ):
            pass
    for many in (allowed - 2, 10**8, 2**53):  # as many as `charge` takes
        with (
            pytest.raises(darrm.BudgetError, match="Nothing was released"),
            book.releasing(design, lambda many=many: many, tmp_path / "wrong.csv"),
        ):
            pass
    with pytest.raises(ZeroDivisionError), book.releasing(design, lambda: 1 // 0, tmp_path / "wrong.csv"):
        pass
    assert recorded(book.path) == 3
    assert [path.name for path in tmp_path.iterdir() if "wrong" in path.name] == []


def test_another_design_is_refused_before_rows_that_have_a_label(book: Ledger, design: darrm.Design) -> None:
    book.charge(design, 1, ids=["x"])
    for ids in (["x"], None):
        with pytest.raises(darrm.InputError, match="another design"):
            book.charge(other(m=1), 1, ids=ids)
    with (
        pytest.raises(darrm.InputError, match="another design"),
        book.releasing(other(m=1), lambda: 1, "labels.csv", ids=lambda: ["x"]),
    ):
        pytest.fail("the block was entered")


def test_a_count_that_is_known_at_the_end_is_refused_early(
    book: Ledger, design: darrm.Design, allowed: int, tmp_path: Path
) -> None:
    def never(design: darrm.Design) -> None:
        with book.releasing(design, lambda: 1, tmp_path / "labels.csv"):
            pytest.fail("the block was entered")

    with pytest.raises(darrm.InputError, match="another design"):
        never(other(m=1))
    book.charge(design, allowed - 1)
    with book.releasing(design, lambda: 1, tmp_path / "last.csv") as file:  # what is asked early is not charged
        file.write(b"1\n")
    assert recorded(book.path) == allowed
    with pytest.raises(darrm.BudgetError, match="Nothing was released"):
        never(design)


def test_one_cap_for_blocks_of_any_size(tmp_path: Path, design: darrm.Design) -> None:
    """Fixed voters with a budget for all queries: any number of labels that JSON can count, by either way."""
    path = tmp_path / "ledger.json"
    book = Ledger.create(path, design, total_epsilon=1.0, total_delta=1e-6, voters="fixed")
    book.charge(design, 10**8)
    with book.releasing(design, 10**8, tmp_path / "a.csv"), book.releasing(design, lambda: 10**8, tmp_path / "b.csv"):
        pass
    assert book.status()["released"] == 3 * 10**8


@pytest.mark.parametrize("link", [False, True])
def test_labels_that_are_charged_for_go_to_files_only(
    tmp_path: Path, book: Ledger, design: darrm.Design, link: bool
) -> None:
    """Standard output may be a file, but a crash would leave its labels without a name to give them."""
    out = Path("/dev/fd/1")
    if not out.exists():
        pytest.skip("needs /dev/fd: without it standard output has no name to release to")
    if link:
        (tmp_path / "link").symlink_to(out)
        out = tmp_path / "link"
    with pytest.raises(darrm.OutputError, match=r"^\S+ is not a file that can be replaced"):
        release(book, design, 1, out)
    assert recorded(book.path) == 0


@pytest.mark.thorough
def test_what_is_granted_has_a_cost_that_can_be_told(tmp_path: Path) -> None:
    design = darrm.solve(K=3, m=1, epsilon=0.1, Delta=0.01)
    assert compose(design, 1, delta=0.01, voters="fresh").upper <= 0.1 * (1 + 1e-12)
    book = Ledger.create(tmp_path / "ledger.json", design, total_epsilon=0.1, total_delta=0.01, voters="fresh")
    book.charge(design, 1)
    assert book.spent() == (pytest.approx(0.1), 0.01)
    design = darrm.solve(K=3, m=3, epsilon=3, Delta=1e-12)
    book = Ledger.create(tmp_path / "far.json", design, total_epsilon=180.0, total_delta=6e-11, voters="fresh")
    left = book.status()["left"]
    book.charge(design, left)
    assert 0 < book.spent()[0] <= 180.0


def test_labels_of_fixed_voters_are_counted_as_far_as_a_ledger_can(tmp_path: Path) -> None:
    design = darrm.solve(K=3, m=1, epsilon=0.1, max_affected=1)
    book = Ledger.create(tmp_path / "ledger.json", design, total_epsilon=1.0, total_delta=0.0, voters="fixed")
    for _ in range(2):
        book.charge(design, 2**53)
    state = ledgers.content(book.path)
    assert Ledger(book.path).status()["released"] == 2 * 2**53
    assert state["rule"] == "exact"


def of_voters(*names: str, epsilon: float = 1.0) -> darrm.DecisionDesign:
    """A label of two groups of fixed voters, with these names or none."""
    groups = [
        darrm.VoterGroup(1, epsilon, names=names[:1] or None),
        darrm.VoterGroup(2, epsilon, names=names[1:] or None),
    ]
    problem = darrm.DecisionProblem(groups, 1.0, max_affected=1)
    return darrm.solve(problem, objective=darrm.objectives.truth([0.8, 0.7]))


@pytest.mark.thorough
@pytest.mark.parametrize("rule", ["exact", "in-advance"])
def test_fixed_voters_of_other_names_are_not_paid_for_with_the_first(rule: str, tmp_path: Path) -> None:
    """One record that both sets of voters were trained on would cost epsilon 2, and the ledger allowed 1."""
    ours, theirs = of_voters("ann", "ben", "eve"), of_voters("bob", "ivy", "max")
    path = tmp_path / "ledger.json"
    ledger = Ledger.create(path, ours, total_epsilon=1.0, total_delta=1e-6, voters="fixed", rule=rule)
    ledger.charge(ours, 100)
    before = path.read_bytes()
    with pytest.raises(darrm.InputError, match=r"'ann', 'ben', 'eve'.*design for .*'bob', 'ivy', 'max'"):
        ledger.charge(theirs, 1)
    with (
        pytest.raises(darrm.InputError, match="ledger of their own"),
        ledger.releasing(of_voters("ben", "ann", "eve"), 1, tmp_path / "labels.csv"),
    ):
        pass
    assert ledger.remaining(theirs) == 0
    assert ledger.remaining(ours) is None
    assert path.read_bytes() == before
    ledger.charge(of_voters("ann", "eve", "ben"), 1)  # alike in their group
    ledger.charge(of_voters(), 1)  # who has no name may be anybody, as ever
    assert Ledger(path).status()["released"] == 102


@pytest.mark.thorough
def test_a_ledger_without_names_takes_over_those_of_the_next_charge(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = Ledger.create(path, of_voters(), total_epsilon=1.0, total_delta=1e-6, voters="fixed")
    ledger.charge(of_voters(), 1)
    assert b'"names"' not in path.read_bytes()
    ledger.charge(of_voters("ann", "ben", "eve"), 1)
    with pytest.raises(darrm.InputError, match="'ann', 'ben', 'eve'"):
        Ledger(path).charge(of_voters("bob", "ivy", "max"), 1)


@pytest.mark.thorough
def test_fresh_voters_of_any_names_are_counted_alike(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = Ledger.create(path, of_voters("ann", "ben", "eve"), total_epsilon=9.0, total_delta=1e-6, voters="fresh")
    ledger.charge(of_voters("bob", "ivy", "max"), 1)
    assert b'"names"' not in path.read_bytes()


@pytest.mark.thorough
def test_a_plan_is_not_charged_for_other_voters(tmp_path: Path, design: darrm.Design) -> None:
    assert design.planned_for == ""
    darrm.Design(design.problem, design.gamma, design.prior, planned_for="fixed").save(tmp_path / "plan.json")
    fixed = darrm.load(tmp_path / "plan.json")
    assert fixed.planned_for == copy.deepcopy(fixed).planned_for == "fixed"
    assert fixed == darrm.Design(design.problem, design.gamma, design.prior)
    budget: dict[str, Any] = {"total_epsilon": 9.0, "total_delta": 1e-6}
    with pytest.raises(darrm.InputError, match="was planned for fixed voters"):
        Ledger.create(tmp_path / "a.json", fixed, **budget, voters="fresh")
    assert not (tmp_path / "a.json").exists()
    several = Ledger.create(tmp_path / "b.json", **budget, voters="fresh", rule="in-advance")
    with pytest.raises(darrm.InputError, match="was planned for fixed voters"):
        several.charge(fixed)
    with pytest.raises(darrm.InputError, match="was planned for fixed voters"):
        release(several, fixed, 1, tmp_path / "labels.csv")
    Ledger.create(tmp_path / "c.json", fixed, **budget, voters="fixed", rule="in-advance").charge(fixed, 5)
    with pytest.raises(darrm.InputError, match=r'was planned for fresh voters.*Got voters="fixed"'):
        Ledger.create(tmp_path / "d.json", design.for_plan("fresh"), **budget, voters="fixed")


@pytest.mark.thorough
@pytest.mark.parametrize("voters", ["fresh", *slow("fixed")])
def test_a_plan_knows_its_voters(voters: str) -> None:
    asked: dict[str, Any] = {"queries": 5, "total_epsilon": 0.5, "total_delta": 1e-6, "compare": False}
    plan = darrm.plan([darrm.VoterGroup(3, 1.0)], accuracy=0.7, max_affected=1, **asked, voters=voters)
    assert plan.design.planned_for == voters


def test_a_url_of_another_scheme_is_no_path() -> None:
    for url in ("postgresql+psycopg://host/db", "mysql://host/db"):
        with pytest.raises(darrm.InputError, match=r"is not read here\. Pass postgresql://"):
            Ledger(url)


def test_the_header_of_a_ledger_says_whose_it_is(tmp_path: Path) -> None:
    """As `file` reads it."""
    Ledger.create(tmp_path / "ledger.db", total_epsilon=1.0, total_delta=0.0, voters="fresh", rule="basic-filter")
    assert (tmp_path / "ledger.db").read_bytes()[68:72] == b"dARM"


@pytest.mark.every
@pytest.mark.parametrize(("old", "new"), OLD_RULES.items())
def test_rules_have_their_new_names_whatever_they_were_called(
    old: str, new: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In calls, at the command line, and in files, which keep the old names so that an earlier darrm reads them."""
    budget: dict[str, Any] = {"total_epsilon": 1.0, "total_delta": 1e-5, "voters": "fresh"}
    for name in (old, new):
        assert Ledger.create(tmp_path / f"{name}.db", rule=name, **budget).status()["rule"] == new
        command = ["ledger", "create", str(tmp_path / f"c-{name}.db"), "--rule", name, "--voters", "fresh"]
        assert main([*command, "--total-epsilon", "1", "--total-delta", "1e-5", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["rule"] == new
        assert ledgers.content(tmp_path / f"c-{name}.db")["rule"] == old
        found = ledgers.content(tmp_path / f"{name}.db")
        ledgers.forge(tmp_path / f"{name}.db", {**found, "rule": new})
        assert Ledger(tmp_path / f"{name}.db").status()["rule"] == new
    assert main(["ledger", "create", "x.db", "--rule", "other", "--total-epsilon", "1", "--total-delta", "0"]) == 2
    assert "in-advance" in capsys.readouterr().err


def test_a_path_that_is_taken_is_refused_before_long_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ledger.db").write_bytes(b"")
    monkeypatch.setattr("darrm.accounting.ledger.new_state", lambda *given: pytest.fail("the budget was composed"))
    with pytest.raises(darrm.InputError, match="exists already"):
        Ledger.create(tmp_path / "ledger.db", None, total_epsilon=1, total_delta=0, voters="fresh", rule="in-advance")

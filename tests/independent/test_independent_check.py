"""The independent check agrees with what darrm makes, and sees what is wrong."""

from __future__ import annotations

import ast
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import slow, thorough
from oracles import decisions as by_definition
from oracles import several_classes

import darrm
from darrm.cli import main
from darrm.design.design import in_file
from darrm.design.loading import from_content
from darrm.errors import InputError
from darrm.independent import check, cost, needed_delta
from darrm.independent.content import Group, Release, of_noise_function, releases, vectors
from darrm.independent.enclosures import above, exponential
from darrm.independent.listing import Corner, Listing, _average, corner, kinds, n_cases, n_kinds, precision

Voters = darrm.VoterGroup
truth, rule = darrm.objectives.truth, darrm.objectives.rule


def majority(**problem: Any) -> darrm.Design:
    return darrm.solve(**problem)


def decision(groups: list[darrm.VoterGroup], epsilon: float, delta: float | None = None, **more: Any) -> Any:
    settings = {name: more.pop(name) for name in ("classes", "max_affected", "none") if name in more}
    accuracy = [0.7, 0.55, 0.6][: len(groups)]
    return darrm.solve(
        darrm.DecisionProblem(groups, epsilon, delta, **settings),
        objective=more.pop("objective", None) or truth(accuracy),
        **more,
    )


MAJORITIES: list[dict[str, Any]] = [
    {"K": 11, "m": 3, "epsilon": 0.1},
    {"K": 11, "m": 3, "epsilon": 0.1, "Delta": 1e-5},
    {"K": 10, "m": 2.5, "epsilon": 1.0, "Delta": 0.01, "max_affected": 6},
    {"K": 7, "m": 7, "epsilon": 3.0, "Delta": 0.2},
    {"K": 7, "m": 0.5, "epsilon": 1.0, "max_affected": 2},
    {"K": 1, "m": 1, "epsilon": 1e-6, "Delta": 1e-300},
    {"K": 3, "m": 1, "epsilon": 50.0},
    {"K": 25, "m": 4, "epsilon": 0.2, "shape": "monotone"},
    {"K": 7, "m": 2, "epsilon": 0.5, "profile": [(0.5, 0.1), (1.0, 0.0)]},
    {"K": 5, "m": 2, "epsilon": 0.5, "Delta": 1e-3, "profile": [(0.5, 0.1), (math.inf, 0.004)]},
]
DECISIONS: dict[str, tuple[Any, ...]] = {
    "two groups": ([Voters(4, 1.0), Voters(7, 0.2)], 1.4),
    "groups with delta": ([Voters(3, 1.0, 1e-4), Voters(2, 0.2, 0.0, 1)], 1.0, 1e-3, {"max_affected": 2}),
    "not private voters": ([Voters(5, math.inf)], 1.0, 0.0, {"max_affected": 1}),
    "not private voters, a profile": ([Voters(5, math.inf)], 1.5, 0.01, {"max_affected": 1, "profile": [(3.0, 0.0)]}),
    "absent voters": ([Voters(2, 1.0), Voters(2, 0.5)], 1.0, None, {"absent": True}),
    "three classes alike": (
        [Voters(5, 1.0)], 1.5, None, {"classes": 3, "objective": rule("plurality", accuracy=[0.6])},
    ),
    "three named classes in two groups": ([Voters(2, 1.0), Voters(2, 0.5)], 1.5, None, {"classes": ["a", "b", "c"]}),
    "none of two": (
        [Voters(4, 1.0)], 1.5, None,
        {"none": True, "objective": truth([0.7], cost=[[0, 1], [1, 0], [0.3, 0.3]])},
    ),
    "none of three, delta": (
        [Voters(2, 1.0, 1e-3)], 1.5, 5e-3,
        {"classes": 3, "none": True, "objective": truth([0.6], none=0.3)},
    ),
    "three classes, delta": ([Voters(2, 1.0, 1e-3)], 0.5, 5e-3, {"classes": 3}),
    "four classes, one reached": ([Voters(5, math.inf)], 1.0, None, {"classes": 4, "max_affected": 1}),
    "ordered": ([Voters(2, 1.0), Voters(3, 0.5)], 0.8, None, {"ordered": True}),
}  # fmt: skip


def made(name: str) -> Any:
    *given, last = DECISIONS[name]
    return decision(*given, **last) if isinstance(last, dict) else decision(*given, last)


def as_read(design: Any) -> dict[str, Any]:
    """What a check gets of a design: the text of its file and nothing else."""
    content: dict[str, Any] = json.loads(json.dumps(in_file(design), allow_nan=False))
    return content


@pytest.mark.parametrize("problem", MAJORITIES, ids=str)
def test_it_agrees_on_majorities(problem: dict[str, Any]) -> None:
    found = check(as_read(majority(**problem)))
    assert (found.wrong, found.loose) == ((), ())


@pytest.mark.parametrize("name", DECISIONS)
def test_it_agrees_on_decisions(name: str, tmp_path: Path) -> None:
    made(name).save(tmp_path / "decision.json")
    content = json.loads((tmp_path / "decision.json").read_text(encoding="utf-8"))
    found = check(content)
    assert (found.wrong, found.loose) == ((), ())
    assert (found.cases, found.bits) == (cost(content).cases, cost(content).bits)


@pytest.mark.thorough
def test_a_design_of_a_plan_is_read(tmp_path: Path) -> None:
    design = made("two groups").for_plan("fixed")
    design.save(tmp_path / "plan.json")
    content = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert content["planned_for"] == "fixed"
    assert (check(content).wrong, check(content).loose) == ((), ())
    with pytest.raises(darrm.InputError, match="planned_for must be fresh or fixed"):
        check({**content, "planned_for": "frozen"})


# Against the definitions, by other arithmetic and other lists: decimals of 150 digits, voter by voter.


def fractions_of(table: np.ndarray[Any, Any]) -> tuple[Fraction, ...]:
    return tuple(Fraction(x) for x in np.asarray(table, dtype=np.float64).ravel().tolist())


def largest(release: Release, epsilon: float) -> tuple[Fraction, Fraction]:
    excess = Listing(release, precision(release)).worst([Fraction(epsilon)])
    return excess.most[0], excess.slack[0]


@pytest.mark.parametrize("seed", [*range(4), *thorough(*range(4, 25))])
def test_the_worst_case_of_two_answers_is_that_of_the_full_list(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups, reach = [], 0
    for _ in range(int(rng.integers(1, 3))):
        count = int(rng.integers(1, 4))
        epsilon = float(rng.choice([0.1, 1.0, 3.0, math.inf]))
        delta = float(rng.choice([0.0, 1e-5, 0.1, 0.6])) if epsilon < math.inf else 0.0
        groups.append(by_definition.Group(count, epsilon, delta, int(rng.integers(1, count + 1))))
        reach += groups[-1].reach
    reach = int(rng.integers(1, reach + 1))
    table = rng.choice([0.0, 1.0, 0.3, rng.random()], size=[group.count + 1 for group in groups])
    ones = fractions_of(table)
    release = Release(
        "", tuple(plain(group) for group in groups), 2, reach,
        (tuple(1 - x for x in ones), ones), ((Fraction(1), Fraction(0)),),
    )  # fmt: skip
    found = by_definition.truth(table, groups, reach)
    for epsilon in (0.3, 2.0):
        most, slack = largest(release, epsilon)
        exact = Fraction(found.excess(epsilon))
        assert -Fraction(1, 10**100) <= most - exact <= slack + Fraction(1, 10**100)
        assert slack < Fraction(1, 10**30)


@pytest.mark.parametrize("seed", [*range(4), *thorough(*range(4, 15))])
def test_the_worst_case_of_several_answers_is_that_of_the_full_list(seed: int) -> None:
    rng = np.random.default_rng(seed)
    delta, none = (0.1, 0) if seed % 2 else (0.0, 1)
    groups = [several_classes.Group(2, 1.0, delta, 2)]
    if not delta:
        groups.append(several_classes.Group(1, math.inf, 0.0, 1))
    reach = 1 + seed % 2
    every = several_classes.all_votes(groups, 3)
    table = {votes: several_classes.drawn(rng.dirichlet(np.full(3 + none, 0.4)).tolist()) for votes in every}
    columns = tuple(zip(*(map(Fraction, row) for row in table.values()), strict=True))
    release = Release("", tuple(map(plain, groups)), 3, reach, columns, ((Fraction(1), Fraction(0)),))
    found = several_classes.truth(table, groups, 3, reach)
    for epsilon in (0.1, 1.5):
        most, slack = largest(release, epsilon)
        exact = Fraction(found.excess_by_sets(epsilon))
        assert exact > 0
        assert -Fraction(1, 10**100) <= most - exact <= slack + Fraction(1, 10**100)


def plain(group: Any) -> Group:
    epsilon = None if group.epsilon == math.inf else Fraction(group.epsilon)
    return Group(group.count, epsilon, Fraction(group.delta), group.reach)


@pytest.mark.thorough
def test_the_cases_are_as_many_as_it_says() -> None:
    for name in DECISIONS:
        for release in releases(as_read(made(name)))[:2]:
            done: list[int] = []
            Listing(release, 64).worst([Fraction(1)], done.append)
            assert done[-1] == n_cases(release), name


@pytest.mark.thorough
def test_tables_are_read_in_the_order_in_which_darrm_releases() -> None:
    for name in ("three classes alike", "three named classes in two groups", "none of two", "two groups"):
        design = made(name)
        (release,) = releases(as_read(design))
        problem = design.problem
        every = product(*(vectors(group.count, problem.n_classes) for group in problem.groups))
        for place, votes in enumerate(every):
            counts = [own[1] for own in votes] if problem.binary else votes
            shown = design.probabilities(np.array([counts]))[0]
            assert [float(column[place]) for column in release.table] == pytest.approx(shown.tolist(), abs=1e-15)


@pytest.mark.parametrize("x", [0.0, 1e-300, 5e-324, 1e-9, 0.5, 1.0, 2.0**0.5, 709.9, 5000.25])
def test_exponentials_are_enclosed(x: float) -> None:
    flint = pytest.importorskip("flint")
    previous, flint.ctx.prec = flint.ctx.prec, 20_000
    try:
        for bits in (64, 256, 2000):
            low, high = exponential(Fraction(x), bits)
            scaled = flint.arb(x).exp() * flint.arb(2) ** bits
            assert scaled >= low
            assert scaled <= high
            assert high - low <= 3
    finally:
        flint.ctx.prec = previous


@pytest.mark.thorough
def test_all_rounding_is_against_the_claim() -> None:
    """With four bits a unit counts: D from above, D' from below, and voters that may do more than they may."""
    rng = np.random.default_rng(8)
    lo_below = 0
    for _ in range(200):
        epsilon, delta = Fraction(rng.random() * 2), Fraction(float(rng.choice([0.0, rng.random() / 4])))
        group = Group(1, epsilon, Fraction(delta), 1)
        said = (0, 1) if not delta else (1, 1, 0, 0)
        finest = exponential(epsilon, 200)
        for side, chances in zip(("here", "there"), corner(said, group, 4), strict=True):
            assert sum(w for _, w in chances) == 16, side
        ones = dict(corner(said, group, 4).there if delta else corner(said, group, 4).here).get(1, 0)
        lo = (1 - Fraction(above(delta, 4), 16)) / (1 + Fraction(finest[1], 2**200))
        assert Fraction(ones, 16) <= lo
        lo_below += Fraction(ones, 16) < lo
        column = [int(n) for n in rng.integers(0, 17, 2)]
        weights = corner(said, group, 4).here
        exact = Fraction(sum(w * column[c] for c, w in weights), 16)
        up, down = (_average(column, [[0], [1]], weights, 4, part)[0] for part in (15, 0))
        assert down <= exact <= up < down + 2
        release = Release("", (group,), 2, 1, ((1 - Fraction(1, 3),) * 2, (Fraction(1, 3),) * 2), ((epsilon, delta),))
        here, there, _ = Listing(release, 4)._placed([column], [column], (1,), 0, Corner(weights, weights))
        assert (here, there) == ([[up]], [[down]])
    assert lo_below > 100


def test_a_voter_is_no_more_private_than_it_is() -> None:
    """Where e^epsilon lies on a step of few bits, its upper end counts."""
    for epsilon in (Fraction(n, 64) for n in range(1, 200)):
        lo = dict(corner((0, 1), Group(1, epsilon, Fraction(0), 1), 3).here).get(1, 0)
        assert lo == 64 // (8 + exponential(epsilon, 3)[1])


# What it must see.


def altered(whole: dict[str, Any], **changes: Any) -> dict[str, Any]:
    problem = {**whole["problem"], **changes.pop("problem", {})}
    certificate = {**whole["certificate"], **changes.pop("certificate", {})}
    return {**whole, "problem": problem, "certificate": certificate, **changes}


def seen(content: dict[str, Any]) -> bool:
    try:
        found = check(content)
    except darrm.InputError:
        return True
    return bool(found.wrong or found.loose)


@pytest.mark.thorough
@pytest.mark.parametrize("Delta", [0.0, 1e-3])
def test_it_sees_what_is_wrong(Delta: float) -> None:
    whole = as_read(majority(K=7, m=1.5, epsilon=0.5, Delta=Delta, max_affected=2))
    gamma, claim = [float.fromhex(value) for value in whole["gamma_hex"]], whole["certificate"]

    def of(values: list[float]) -> dict[str, Any]:
        return altered(whole, gamma=values, gamma_hex=[value.hex() for value in values])

    wrong = {
        "gamma a part in 1e9 larger": of([min(1.0, value * (1 + 1e-9)) for value in gamma]),
        "gamma not symmetric": of([*gamma[:-1], gamma[-1] / 2]),
        "gamma above 1": of([2.0] * 8),
        "gamma no number": of([math.nan] * 8),
        "one number too many": of([*gamma, 0.0]),
        "more voters reached": altered(whole, problem={"max_affected": 3}),
        "voters less private": altered(whole, problem={"epsilon": 0.5 * (1 + 1e-9), "m": 1.5 / (1 + 1e-9)}),
        "a smaller delta": altered(whole, problem={"delta": whole["problem"]["delta"] - 1e-9}),
        "a smaller needed delta": altered(whole, certificate={"needed_delta": claim["needed_delta"] - 1e-9}),
        "a smaller epsilon": altered(whole, certificate={"tight_epsilon": claim["tight_epsilon"] * (1 - 1e-9)}),
        "a larger epsilon": altered(whole, certificate={"tight_epsilon": claim["tight_epsilon"] * 1.001}),
        "rounding that excuses everything": altered(
            whole, certificate={"worst_case": {"(0,0)": 3, "(1,1)": 4}, "rounding": 1e9}
        ),
        "said not to hold": altered(whole, certificate={"holds": False}),
        "gamma unlike gamma_hex": altered(whole, gamma=[0.0] * 8),
        "more voters reached than there are": altered(whole, problem={"max_affected": 9}),
        "another worst case": altered(whole, certificate={"worst_case": {"(0,0)": 3, "(1,1)": 4}}),
        "a worst case of too many": altered(whole, certificate={"worst_case": {"(hi,lo)": 7}}),
        "a worst case of no corner": altered(whole, certificate={"worst_case": {"(up,down)": 7}}),
        "other probabilities": altered(whole, certificate={"probabilities": [0.5, 0.5]}),
        "a profile that it does not keep": altered(whole, profile=[[0.1, Delta]]),
        "an infinite profile that it does not keep": altered(whole, profile=[[None, 0.0]], problem={"Delta": 0.01}),
        "no certificate": {key: value for key, value in whole.items() if key != "certificate"},
        "a truth value for a number": altered(whole, problem={"K": True}),
        "an epsilon below 0": altered(whole, problem={"epsilon": -0.5}),
        "an epsilon of the file beside that of the problem": altered(whole, total_epsilon=0.1),
        "a further entry": altered(whole, guarantee="(0.1, 0)-DP"),
        "gamma left out": altered(whole, gamma=None),
        "gamma in lists": altered(whole, gamma=[whole["gamma"]]),
        "truth values for numbers": of([0.0] * 8) | {"gamma": [False] * 8},
        "one text of digits": altered(whole, gamma=[0.0] * 8, gamma_hex="00000000"),
        "a text with blanks": altered(whole, gamma_hex=[f" {value.hex()}" for value in gamma]),
        "a claim of its own": altered(whole, certificate={"total_epsilon": 0.1}),
    }
    found = check(whole)
    assert (found.wrong, found.loose) == ((), ())
    assert [name for name, case in wrong.items() if not seen(case)] == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", DECISIONS)
def test_every_number_of_a_decision_counts(name: str) -> None:
    """A table drawn towards certainty by a part in 1e9 breaks the guarantee or what the certificate says of it."""
    whole = as_read(made(name))
    values = [float.fromhex(value) for value in whole["table_hex"]]
    answers = len(values) // math.prod(np.shape(whole["table"])[:-1]) if np.ndim(whole["table"]) > 1 else 1
    binary = np.shape(whole["table"]) == tuple(group["count"] + 1 for group in whole["problem"]["groups"])
    even = 0.5 if binary else 1 / answers
    away = np.clip(even + (np.array(values) - even) * (1 + 1e-9), 0, 1)
    if not binary:
        away = (away.reshape(-1, answers) / away.reshape(-1, answers).sum(axis=1, keepdims=True)).ravel()
    table = away.reshape(np.shape(whole["table"])).tolist()
    assert check(altered(whole, table=table, table_hex=[x.hex() for x in away.tolist()])).wrong


def test_a_tight_epsilon_is_judged_at_the_number_that_is_named() -> None:
    """That of the file is right, its guarantee is not: nothing is said of the tight epsilon but what was judged."""
    found = check(altered(as_read(majority(K=5, m=2, epsilon=0.5)), problem={"m": 1.5}))
    assert any("the table is not (0.75, 0)-DP" in one for one in found.wrong)
    assert "the tight epsilon is above 0.75" in found.wrong
    assert not any("tight epsilon is below" in one for one in found.loose)


@pytest.mark.parametrize("name", DECISIONS)
def test_decimal_numbers_stand_where_a_reader_looks_for_them(name: str) -> None:
    """The same numbers in another shape are another release."""
    whole = as_read(made(name))
    table = np.array(whole["table"])
    others = [table.ravel(), table[None], table[..., None], table.reshape(-1, 1), table.reshape(1, -1)]
    if table.ndim > 1:
        others.append(table.reshape(*reversed(table.shape)))
    shapes = {other.shape: other.tolist() for other in others if other.shape != table.shape}
    assert len(shapes) >= 2
    for other in (*shapes.values(), [*table.tolist(), []]):
        with pytest.raises(InputError, match=r"lists in the shape|is not a number in"):
            check(altered(whole, table=other))


@pytest.mark.parametrize(
    ("name", "place"), [(None, ()), ("two groups", ()), ("two groups", ("groups", 0)), ("absent voters", ())]
)
def test_a_name_that_says_nothing_is_refused(name: str | None, place: tuple[Any, ...]) -> None:
    """A reader may take a second epsilon for a part of what was judged."""
    content = as_read(made(name) if name else majority(K=3, m=1, epsilon=0.5))
    part = content["problem"]
    for step in place:
        part = part[step]
    part["total_epsilon"] = 0.1
    with pytest.raises(InputError, match="nothing of the problem is called 'total_epsilon'"):
        check(content)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("two groups", {"problem": {"classes": "no"}}),
        ("two groups", {"problem": {"classes": ["no", "no"]}}),
        ("two groups", {"problem": {"classes": True}}),
        ("two groups", {"table": None}),
        ("two groups", {"voters": "fresh; 100 labels are (1, 0)-DP"}),
        ("two groups", {"gamma_hex": []}),
        ("absent voters", {"without_votes": 0.0}),
        ("two groups", {"problem": {"classes": ["no", 5]}}),
        ("two groups", {"problem": {"adjacency": 5}}),
        ("two groups", {"problem": {"adjacency": " "}}),
        ("two groups", {"problem": {"adjacency": "replace-one\x1b[0m"}}),
        ("two groups", {"profile": ""}),
        ("two groups", {"profile": [[10**400, 0.5]]}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_no_design_says_is_refused(name: str, change: dict[str, Any]) -> None:
    content = as_read(made(name))
    assert check(content).wrong == ()
    with pytest.raises(InputError, match="could not read the design"):
        check(altered(content, **change))


def test_a_worst_case_that_is_none_hides_nothing() -> None:
    """One voter is said to be reached of seven: the worst case is none then, and the tight epsilon is far too large."""
    whole = as_read(majority(K=7, m=2, epsilon=0.4))
    found = check(altered(whole, problem={"max_affected": 1}))
    assert found.wrong == ()
    assert any("the worst case is none of this problem" in one for one in found.loose)
    assert any("tight epsilon is below" in one for one in found.loose)
    text = "x\n\x1b[2Jgamma.json: what it says of privacy holds."
    (said,) = check(altered(whole, certificate={"worst_case": text})).loose
    assert said.isprintable()
    for chances in (["0.5", "0.1"], [0.5], [0.5, 0.1, 0.1], [math.nan, 0.1], [True, 0.1]):
        found = check(altered(whole, certificate={"probabilities": chances}))
        assert any("the probabilities of the worst case are" in one for one in found.loose), chances


@pytest.mark.thorough
def test_numbers_beyond_float64_are_shown_or_refused() -> None:
    """e^800, of a worst case that is none, and an integer of a file: Python makes no float of them."""
    whole = as_read(darrm.solve(K=3, m=2, epsilon=400.0))
    found = check(altered(whole, certificate={"worst_case": {"(1,1)": 3}}))
    assert not found.wrong
    assert "the worst case is not {'(1,1)': 3}: about -10^347" in found.loose[0]
    for name in ("needed_delta", "tight_epsilon", "rounding"):
        with pytest.raises(darrm.InputError, match=f"{name} is not a number in .*: 10{{77}}") as refused:
            check(altered(whole, certificate={name: 10**400}))
        assert len(str(refused.value)) < 300


def test_tables_for_fewer_voters_are_read_strictly() -> None:
    content = as_read(made("absent voters"))
    first, *others = content["fewer"]
    assert from_content(content).absent
    for fewer in (
        [{**first, "epsilon": 0.1}, *others],
        [{**first, "table": [0.5, 0.5]}, *others],
        [{**first, "present": [bool(n) for n in first["present"]]}, *others],
        [first, first, *others],
    ):
        with pytest.raises(InputError, match="could not read the design"):
            check({**content, "fewer": fewer})
        with pytest.raises(InputError):
            from_content({**content, "fewer": fewer})
    with pytest.raises(InputError, match="absent"):
        from_content({**content, "absent": 1})


def test_the_command_says_which_voters_were_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    groups = [Voters(2, 1.0, 0.0, 1), Voters(3, math.inf)]
    decision(groups, 1.0, max_affected=2).save(tmp_path / "decision.json")
    assert main(["verify", str(tmp_path / "decision.json"), "--independent"]) in (0, 1)
    assert (
        "Voters: 2 that are (1, 0)-DP each, at most 1 affected; 3 that are non-private. "
        "A change to a neighbouring data set ('replace-one') affects at most 2 of them."
    ) in capsys.readouterr().out


def test_every_attendance_is_judged() -> None:
    whole = as_read(made("absent voters"))
    parts = whole["fewer"]
    for place, part in enumerate(parts):
        sure = {**part, "table_hex": [float(i > 0).hex() for i in range(len(part["table_hex"]))]}
        if sum(part["present"]) > 1 and part["present"] != [0, 2]:  # these two may say all: .5 and .5 are 1
            found = check(altered(whole, fewer=[*parts[:place], sure, *parts[place + 1 :]])).wrong
            assert any(str(part["present"]) in line for line in found)
    assert seen(altered(whole, fewer=parts[1:]))
    assert seen(altered(whole, fewer=[*parts, parts[0]]))
    assert seen(altered(whole, absent=False))


@pytest.mark.thorough
def test_the_profile_holds_for_every_attendance() -> None:
    whole = as_read(made("absent voters"))
    assert not check(whole).wrong
    found = check(altered(whole, profile=[[0.7, 0.0]])).wrong
    assert any("present voters" in line for line in found)


def test_a_small_probability_of_what_cannot_be_counts_at_an_infinite_epsilon() -> None:
    """One voter without privacy may say surely 1, and surely 0 on the neighbour, where 1 is never released."""
    whole = as_read(decision([Voters(1, math.inf)], 1.0, 0.01))
    tables = {"table": [0.0, 1e-3], "table_hex": [x.hex() for x in (0.0, 1e-3)]}
    for delta, holds in ((1.1e-3, True), (0.9e-3, False)):
        found = check(altered(whole, **tables, profile=[[None, delta]])).wrong
        assert any("infinity" in line for line in found) is not holds


def test_kinds_are_counted_without_making_them() -> None:
    for classes in (2, 3, 4):
        for delta in (0, Fraction(1, 10)):
            for epsilon in (Fraction(1), None):
                group = Group(1, epsilon, Fraction(delta), 1)
                assert n_kinds(group, classes) == len(kinds(group, classes))


def test_an_infinite_tight_epsilon_is_loose() -> None:
    whole = as_read(majority(**MAJORITIES[0]))
    claim = {**whole["certificate"], "tight_epsilon": None}
    found = check(altered(whole, certificate=claim))
    assert not found.wrong
    assert any("not infinite" in line for line in found.loose)


@pytest.mark.parametrize(("K", "Delta", "t"), [(5, 0.0, 5), (6, 0.0, 2), (4, 0.05, 4), (4, 0.05, 1)])
def test_numbers_in_no_file_are_judged(K: int, Delta: float, t: int) -> None:
    """Beside the certificate, which is an upper bound too, and the attained value of its worst case."""
    rng = np.random.default_rng(K + t)
    problem = darrm.MajorityProblem(K, 0.5, 0.4, Delta, max_affected=t)
    for _ in range(5):
        gamma = rng.random(K + 1)
        gamma = (gamma + gamma[::-1]) / 2
        found, proved = needed_delta(gamma.tolist(), problem), darrm.verify(gamma, problem)
        assert found <= proved.needed_delta <= found + 2 * proved.rounding
        p, q = proved.probabilities
        assert found == pytest.approx(max(0.0, p - math.exp(0.2) * q), abs=1e-12)
        release = of_noise_function(gamma.tolist(), problem)
        [exact] = Listing(release, precision(release)).worst([release.limits[0][0]]).most
        assert exact <= Fraction(found) < max(exact, 0) + Fraction(1, 2**52)
    assert needed_delta([0] * (K + 1), problem) == 0.0


@pytest.mark.parametrize(
    "gamma",
    [
        [1, 0.5, 1], [1, 0.5, 0.6, 1], [1, math.nan, math.nan, 1], [2, 0, 0, 2], "word", None, ["1", "0", "0", "1"],
        [True, False, False, True],
    ],
)  # fmt: skip
def test_what_is_no_noise_function_is_not_judged(gamma: Any) -> None:
    with pytest.raises(InputError, match=r"could not read gamma: .* Pass K \+ 1 numbers"):
        needed_delta(gamma, darrm.MajorityProblem(3, 1, 0.5))


@pytest.mark.parametrize(
    "problem", [{"K": 3}, None, darrm.DecisionProblem([darrm.VoterGroup(3, 0.5)], epsilon=0.5), darrm.MajorityProblem]
)
def test_numbers_are_judged_for_a_majority_only(problem: Any) -> None:
    with pytest.raises(InputError, match=r"problem must be a MajorityProblem\. Got .* save the design"):
        needed_delta([1, 0, 0, 1], problem)


def test_it_stands_alone() -> None:
    """Nothing of darrm but its errors, and nothing outside Python."""
    root = Path(darrm.__path__[0]) / "independent"
    for path in root.glob("*.py"):
        names = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module or "")
        mine = {name for name in names if name.split(".")[0] == "darrm" and not name.startswith("darrm.independent")}
        assert mine <= {"darrm.errors", "darrm._lazy"}, path
        assert {name.split(".")[0] for name in names} - {"darrm"} <= set(sys.stdlib_module_names), path


@pytest.mark.thorough
def test_the_designs_of_tests_are_judged() -> None:
    test = f"{Path(__file__).resolve()}::{test_it_agrees_on_majorities.__name__}[{MAJORITIES[0]}]"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--independent-check", test]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "independent check: 1 designs, 0 of them too large, 0 disagreements" in ended.stdout


JUNK = (None, -1, 0, 10**400, 1e308, math.nan, "x", [], {}, True)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a tree of JSON; of lists the first and the last entry."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list) and value:
        for at in {0, len(value) - 1}:
            yield from places(value[at], (*path, at))


def refusal(content: Any) -> str:
    """What the check says of content that it does not judge; nothing else may be raised."""
    try:
        if cost(content).seconds < 0.02:
            check(content)
    except darrm.InputError as error:
        return str(error)
    return ""


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["not private voters, a profile", *thorough("none of two"), *slow("absent voters", None)]
)
def test_whatever_a_file_holds_is_judged_or_refused(name: str | None) -> None:
    whole = as_read(made(name) if name else majority(**MAJORITIES[-1]))
    for path in places(whole):
        for junk in JUNK:
            content = json.loads(json.dumps(whole))
            at = content
            for key in path[:-1]:
                at = at[key]
            if path:
                at[path[-1]] = junk
            said = refusal(content if path else junk)
            assert len(said) < 1000, path


@pytest.mark.parametrize("wrong", [1.0 + 2.0**-52, -(2.0**-60), 1.5, math.nan, math.inf])
def test_what_is_no_probability_is_refused(wrong: float) -> None:
    """In the exact numbers and the decimals alike, whether it is gamma or a table."""
    for made, exact, decimal in (
        (majority(K=5, m=1, epsilon=0.5), "gamma_hex", "gamma"),
        (decision([Voters(3, 1.0)], 1.0), "table_hex", "table"),
    ):
        content = json.loads(json.dumps(in_file(made)))
        content[exact][0] = float.hex(wrong)
        content[decimal][0] = wrong
        with pytest.raises(darrm.InputError):
            check(content)

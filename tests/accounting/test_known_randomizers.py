"""Voters whose randomizer is known: certificates and totals against exact fractions, and against recorded figures."""

import json
import math
from fractions import Fraction as F
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from cases import slow, thorough
from numpy.typing import NDArray
from oracles.known_voters import (
    Achieved,
    Chances,
    Channel,
    Counts,
    Group,
    Release,
    Row,
    counts_of,
    exponential,
    needed_delta,
    response,
    rows,
    sure,
    tight_epsilon,
)
from oracles.several_classes import drawn

import darrm
from darrm import DecisionProblem, InputError, VoterGroup
from darrm.accounting import compose
from darrm.accounting.counts import counts_total
from darrm.accounting.many_answers import upper_of_rows
from darrm.accounting.rows import OutcomeRows
from darrm.accounting.search import Budget
from darrm.accounting.voters import among, epsilon_of
from darrm.certificate.truths import TruthSeparation
from darrm.numerics.printed import at_least, at_most
from darrm.problem.class_votes import all_votes, class_probabilities
from darrm.problem.limits import guarantee
from darrm.problem.truths import truths_of
from darrm.storage.sealed_json import write

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "known_randomizers.json").read_text())
RESPONSE = "randomized response"
SKEWED = [[0.75, 0.25], [0.125, 0.875]]
ONE_SIDED = [[0.5, 0.5], [0.0, 1.0]]  # a truth of 1 is always said
SILENT = [[0.5, 0.25, 0.25], [0.1, 0.6, 0.3]]  # two truths, three votes
UNSURE = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6], [0.3, 0.3, 0.4]]  # four truths, three votes
SHADES = [[0.8, 0.2], [0.5, 0.5], [0.3, 0.7]]  # three truths, two votes
OF_THREE = [[0.5, 0.2, 0.3], [0.25, 0.5, 0.25], [0.1, 0.3, 0.6]]


class Voters(NamedTuple):
    """A group, as darrm and as the oracle take it; without a randomizer, of any mechanism."""

    count: int
    epsilon: float
    reach: int
    randomizer: Any = RESPONSE
    colluders: int = 0

    def group(self) -> VoterGroup:
        if self.randomizer is None:
            return VoterGroup(self.count, self.epsilon, max_affected=self.reach)
        return VoterGroup(
            self.count, self.epsilon, max_affected=self.reach, randomizer=self.randomizer, colluders=self.colluders
        )

    def exact(self, classes: int) -> Group:
        if self.randomizer is None:
            if self.epsilon == math.inf:
                return Group(self.count, self.reach, sure(classes))
            return Group(self.count, self.reach, None, ratio=exponential(self.epsilon))
        channel: Channel
        if self.randomizer == RESPONSE:
            channel = response(classes, exponential(self.epsilon))
        else:
            channel = tuple(tuple(F(p) / sum(map(F, row)) for p in row) for row in self.randomizer)
        return Group(self.count, self.reach, channel, self.colluders)


class Case(NamedTuple):
    voters: tuple[Voters, ...]
    classes: int = 2
    affected: int | None = None

    def problem(self, epsilon: float = 50.0, delta: float = 0.0) -> DecisionProblem:
        groups = [voters.group() for voters in self.voters]
        return DecisionProblem(groups, epsilon, delta, self.classes, max_affected=self.affected)

    def table(self, seed: int) -> NDArray[np.float64]:
        rng = np.random.default_rng([31, seed])
        table = rng.random((*self.problem().table_shape, *([self.classes] if self.classes > 2 else [])))
        table **= (1, 4, 0.1)[seed % 3]
        return table / table.sum(axis=-1, keepdims=True) if self.classes > 2 else table

    def rows(self, table: NDArray[np.float64]) -> list[Row]:
        return rows(released(table, self), [voters.exact(self.classes) for voters in self.voters], self.affected)


def released(table: NDArray[np.float64], case: Case) -> Release:
    """The table as a function of votes, which it lists with the most votes for the first class first."""
    places: list[dict[Counts, int]] = []
    for voters in case.voters:
        listed = sorted(counts_of(voters.count, case.classes), reverse=True)
        places.append({counts: place for place, counts in enumerate(listed)})

    def release(votes: tuple[Counts, ...]) -> Chances:
        entry = table[tuple(place[counts] for place, counts in zip(places, votes, strict=True))]
        if case.classes > 2:
            return tuple(map(F, drawn(entry.tolist())))
        return (1 - F(float(entry)), F(float(entry)))

    return release


CASES = {
    "one": Case((Voters(5, 1.0, 1),)),
    "three reached": Case((Voters(7, 0.5, 3),)),
    "all reached": Case((Voters(4, 2.0, 4),)),
    "colluders": Case((Voters(7, 1.0, 2, colluders=2),)),
    "all others collude": Case((Voters(5, 1.5, 1, colluders=4),)),
    "skewed": Case((Voters(6, 2.0, 2, SKEWED, 1),)),
    "shades": Case((Voters(4, 2.0, 2, SHADES, 1),)),
    "two groups": Case((Voters(2, 1.0, 1), Voters(3, 0.3, 2, colluders=1))),
    "two groups, one affected": Case((Voters(3, 1.0, 1), Voters(2, 2.0, 1, SKEWED)), affected=1),
    "beside any": Case((Voters(3, 1.0, 1, colluders=1), Voters(2, 0.7, 1, None))),
    "any beside": Case((Voters(2, 0.7, 2, None), Voters(3, 1.0, 2)), affected=2),
    "shades beside any": Case((Voters(2, 0.7, 1, None), Voters(2, 2.0, 1, SHADES))),
    "beside non-private": Case((Voters(2, math.inf, 1, None), Voters(3, 1.0, 1)), affected=1),
    "three groups": Case((Voters(1, 1.0, 1), Voters(2, 0.5, 1, None), Voters(2, 2.0, 2, SKEWED, 0)), affected=2),
    "classes": Case((Voters(4, 1.0, 1),), 3),
    "classes, colluders": Case((Voters(4, 1.0, 2, colluders=1),), 3),
    "classes, skewed": Case((Voters(3, 2.0, 2, OF_THREE),), 3),
    "silent": Case((Voters(4, 2.0, 2, SILENT, 1),), 3),
    "unsure": Case((Voters(3, 2.0, 1, UNSURE, 1),), 3),
    "classes, groups": Case((Voters(2, 1.0, 1), Voters(2, 2.0, 1, SILENT)), 3, affected=1),
}


def in_decimals(table: Any, problem: Any) -> F:
    """The delta that a table needs, as certificates of limits far below the rounding of float64 find it."""
    limit = guarantee(problem)
    return max(F(0), F(TruthSeparation(table, limit, exact=True).worst(limit.epsilon)[0].bound))


@pytest.mark.thorough
@pytest.mark.first(10)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", [0, *thorough(1, 2)])
def test_certificates(name: str, seed: int) -> None:
    case = CASES[name]
    table = case.table(seed)
    pairs = case.rows(table)
    for epsilon, delta in ((1e-3, 1e-9), (0.2, 0.01), (1.0, 0.0)):
        found = darrm.verify(table, case.problem(epsilon, delta))
        needed, tight = needed_delta(pairs, exponential(epsilon)), tight_epsilon(pairs, F(delta))
        assert needed - F(1, 10**30) <= F(found.needed_delta) <= needed + F(1, 10**12)
        assert found.holds == (needed <= F(delta)) or abs(needed - F(delta)) < F(1, 10**12)
        assert tight * (1 - 1e-15) <= found.tight_epsilon <= tight + 1e-9
    needed = needed_delta(pairs, exponential(1e-6))
    assert needed - F(1, 10**30) <= in_decimals(table, case.problem(1e-6)) <= needed * (1 + F(1, 2**52))
    epsilons = [0.0, 0.1, 0.7, 3.0]
    for epsilon, delta in zip(epsilons, darrm.privacy_profile(table, case.problem(), epsilons).tolist(), strict=True):
        needed = needed_delta(pairs, exponential(epsilon))
        assert needed - F(1, 10**30) <= F(delta) <= needed + F(1, 10**12)


@pytest.mark.parametrize("name", ["colluders", "all others collude", "two groups", "beside any"])
def test_of_colluders_that_differ_by_the_names_of_answers_one_is_enough(name: str) -> None:
    case = CASES[name]
    problem, shape = case.problem(0.2), case.problem().table_shape
    drawn_ones = np.random.default_rng(37).integers(1, 2**20, shape) / 2**20
    table, truths = (drawn_ones + 1 - np.flip(drawn_ones)) / 2, truths_of(problem)
    assert (
        len(truths.colluding())
        == len(truths.colluding(np.nextafter(table, 1)))
        == math.prod(voters.colluders + 1 for voters in case.voters)
    )
    assert len(truths.colluding(table)) == len(truths.colluding()) // 2 + len(truths.colluding()) % 2
    needed = needed_delta(case.rows(table), exponential(0.2))
    assert needed - F(1, 10**30) <= F(darrm.verify(table, problem).needed_delta) <= needed + F(1, 10**12)


def test_of_colluders_that_differ_by_the_names_of_classes_one_is_enough() -> None:
    problem = DecisionProblem([VoterGroup(4, 1.0, randomizer=RESPONSE, colluders=2)], 0.5, 1e-3, 3)
    design = darrm.solve(problem, objective=darrm.objectives.truth([0.8]))
    full = class_probabilities(design.table, problem, all_votes(problem))
    assert [len(truths_of(problem).colluding(table)) for table in (design.table, full)] == [2, 6]
    needed = [darrm.verify(table, problem).needed_delta for table in (design.table, full)]
    assert needed[0] == pytest.approx(needed[1], rel=1e-9)


@pytest.mark.thorough
def test_what_is_drawn_counts_under_a_limit_far_below_the_rounding_of_float64() -> None:
    """Tables that are nearly the same at all votes, of which some rows do not sum to 1: what is drawn does."""
    case, rng, seen = Case((Voters(2, 2.0, 1, OF_THREE),), 3), np.random.default_rng(33), 0
    for _ in range(20):
        table = rng.dirichlet(np.ones(3)) * (1 + 1e-8 * rng.random((*case.problem().table_shape, 3)))
        table /= table.sum(axis=-1, keepdims=True)
        seen += any(sum(map(F, entries)) != 1 for entries in table.reshape(-1, 3).tolist())
        needed = needed_delta(case.rows(table), exponential(1e-10))
        assert 0 < needed <= in_decimals(table, case.problem(1e-10)) <= needed * (1 + F(1, 2**52))
    assert seen > 10


def design_of(case: Case, table: NDArray[np.float64]) -> darrm.DecisionDesign:
    """A design of a table at a loose limit: the total is that of the table."""
    return darrm.DecisionDesign(case.problem(300.0), table, darrm.objectives.truth([0.7] * len(case.voters)))


COMPOSED = ["one", "three reached", "colluders", "all others collude", "skewed", "shades", "any beside"]
COMPOSED += ["beside any", "classes", "silent", "unsure", "two groups, one affected", "classes, colluders"]


@pytest.mark.first(6)
@pytest.mark.parametrize(("name", "queries"), [*((name, 3) for name in COMPOSED), ("one", 5), ("colluders", 5)])
def test_totals_enclose_the_recursion(name: str, queries: int) -> None:
    case = CASES[name]
    table = np.clip(case.table(0), 0.01, 0.99) if case.classes == 2 else case.table(0)
    design, queries = design_of(case, table), 2 if case.classes > 2 else queries
    lines = Achieved(case.rows(table), queries)
    for delta in (1e-9, 1e-3, 0.05):
        total, exact = compose(design, queries, delta=delta, voters="fresh"), lines.least_epsilon(F(delta))
        assert total.lower - 1e-9 <= exact <= total.upper <= exact * 1.002 + 1e-9


def majority_of(K: int, epsilon: float, colluders: int = 0) -> darrm.DecisionDesign:
    case = Case((Voters(K, epsilon, 1, RESPONSE, colluders),))
    return design_of(case, np.array([float(2 * n > K) for n in range(K + 1)]))


LIGHT = [entry for entry in GOLDEN["plain_majority"] if entry["K"] <= 25 and entry["eps"] == 1.0]
DESIGNS = [entry for entry in GOLDEN["designs"] if entry["table"]]
LONG = [entry for entry in DESIGNS if entry["K"] * entry["Q"] > 20_000]
HEAVY = [entry for entry in GOLDEN["plain_majority"] if entry not in LIGHT]


@pytest.mark.thorough
@pytest.mark.first(3)
@pytest.mark.parametrize(
    "entry", [*LIGHT, *thorough(*HEAVY[::4]), *slow(*(one for i, one in enumerate(HEAVY) if i % 4))]
)
def test_totals_of_the_plain_majority(entry: dict[str, Any]) -> None:
    design = majority_of(entry["K"], entry["eps"], entry["c"])
    assert design.certificate.tight_epsilon == pytest.approx(entry["tight_one_label"], rel=1e-7)
    total = compose(design, entry["Q"], delta=entry["delta"], voters="fresh")
    assert total.upper == pytest.approx(entry["upper"], rel=1e-3)
    assert total.lower == pytest.approx(entry["lower"], rel=1e-3)
    assert entry["lower"] <= total.upper * (1 + 1e-7)  # eight digits
    assert total.lower <= entry["upper"] * (1 + 1e-7)


@pytest.mark.thorough
def test_the_page_says_how_the_total_of_a_plan_differs_from_its_own() -> None:
    design = majority_of(25, 1.0, 1)
    planned, total = Budget(100, 6.0, 1e-6, "fresh").total(design), compose(design, 100, delta=1e-6, voters="fresh")
    page = (Path(darrm.__file__).parents[1] / "docs" / "known_randomizers.md").read_text(encoding="utf-8")
    assert f"comparison states {at_least(planned)}, where the table has {at_least(total.upper, 4)}. Both" in page
    assert f"no total below {at_most(total.lower, 4)} does" in page


@pytest.mark.thorough
@pytest.mark.parametrize("entry", GOLDEN["colluders"])
def test_totals_with_colluders(entry: dict[str, Any]) -> None:
    total = compose(majority_of(entry["K"], entry["eps"], entry["c"]), entry["Q"], delta=1e-6, voters="fresh")
    assert total.upper == pytest.approx(entry["plain_upper"], rel=3e-3)  # recorded on a coarser grid
    assert total.upper <= entry["plain_upper"] * (1 + 1e-6)


@pytest.mark.thorough
@pytest.mark.first(4, 12)
@pytest.mark.parametrize(
    "entry",
    [*[one for one in DESIGNS if one not in LONG], *slow(*LONG)],
)
def test_recorded_designs_keep_their_total(entry: dict[str, Any]) -> None:
    design = design_of(Case((Voters(entry["K"], entry["eps"], 1),)), np.array(entry["table"]))
    total = compose(design, entry["Q"], delta=1e-6, voters="fresh")
    assert total.upper == pytest.approx(entry["total_upper"], rel=5e-3)
    assert total.upper <= min(entry["total_upper"], entry["total_epsilon"]) * (1 + 1e-3)


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize("entry", GOLDEN["two_promises"])
def test_two_promises(entry: dict[str, Any]) -> None:
    """A budget where the others randomize as stated, and one where they are anything."""
    for randomizer, figure in zip((RESPONSE, None), entry["totals"], strict=True):
        design = design_of(Case((Voters(25, 1.0, 1, randomizer),)), np.array(entry["table"]))
        total = compose(design, 100, delta=1e-6, voters="fresh")
        assert total.upper == pytest.approx(figure, rel=5e-3)  # recorded on a coarser grid
        assert total.upper <= figure * (1 + 1e-3)


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize("entry", GOLDEN["per_group"])
def test_totals_of_two_groups_cover_each_group(entry: dict[str, Any]) -> None:
    randomizer = RESPONSE if entry["hypothesis"] == "known" else None
    case = Case(tuple(Voters(count, entry["eps"], 1, randomizer) for count in entry["groups"]), affected=1)
    table = np.array(entry["table"]).reshape(case.problem().table_shape)
    total = compose(design_of(case, table), entry["Q"], delta=entry["delta"], voters="fresh")
    assert total.upper >= max(low for low, _ in entry["totals_fine"]) * (1 - 1e-3)


def test_plurality_of_three_classes() -> None:
    figures = GOLDEN["classes"]
    listed = sorted(counts_of(figures["K"], 3), reverse=True)
    table = np.array([[(n == max(counts)) / counts.count(max(counts)) for n in counts] for counts in listed])
    for randomizer, figure in ((RESPONSE, figures["tight_known"]), (None, figures["tight_any"])):
        case = Case((Voters(figures["K"], figures["eps"], 1, randomizer),), 3)
        assert darrm.verify(table, case.problem()).tight_epsilon == pytest.approx(figure, abs=1e-7)


@pytest.mark.thorough
@pytest.mark.first(0, 2)
@pytest.mark.parametrize(("K", "queries"), [(3, 2), (5, 3), (7, 3), (7, 5)])
def test_the_pair_at_the_centre_is_kept(K: int, queries: int) -> None:
    """Without the pair x + y = 1 of the majority, and its mirror, labels would seem to cost less."""
    case, table = Case((Voters(K, 1.0, 1),)), np.array([float(2 * n > K) for n in range(K + 1)])
    pairs = case.rows(table)
    delta = 0.7 * float(Achieved(pairs, queries).excess(F(1)))  # a small one is spent by the pairs beside it
    others = [(P, Q) for P, Q in pairs if P == Q or P[1] + Q[1] != 1]
    assert len(pairs) - len(others) == 2
    exact, seeming = (Achieved(some, queries).least_epsilon(F(delta)) for some in (pairs, others))
    total = compose(design_of(case, table), queries, delta=delta, voters="fresh", tolerance=1e-5)
    assert seeming < total.lower - 1e-6 <= exact <= total.upper


@pytest.mark.parametrize("K", [3, 8])
def test_if_all_others_collude_one_voter_is_any_mechanism(K: int) -> None:
    """For two answers and one affected voter K - 1 colluders have the guarantee without a known randomizer."""
    table = Case((Voters(K, 1.0, 1),)).table(1)
    known, anything = Case((Voters(K, 1.0, 1, RESPONSE, K - 1),)), Case((Voters(K, 1.0, 1, None),))
    one, other = (darrm.verify(table, case.problem(0.3)) for case in (known, anything))
    assert one.needed_delta == pytest.approx(other.needed_delta, abs=1e-13)
    assert one.tight_epsilon == pytest.approx(other.tight_epsilon, abs=1e-12)


@pytest.mark.thorough
def test_more_colluders_cost_more() -> None:
    table = Case((Voters(7, 1.0, 1),)).table(0)
    cases = [Case((Voters(7, 1.0, 1, RESPONSE, c),)) for c in range(7)]
    needed = [darrm.verify(table, case.problem(0.1)).needed_delta for case in cases]
    assert needed == sorted(needed)
    assert needed[0] < needed[-1]


FORGED = {
    "a smaller epsilon": {"epsilon": 0.9},
    "a slightly smaller epsilon": {"epsilon": 1.0 - 1e-6},
    "a larger epsilon": {"epsilon": 1.1},
    "fewer colluders": {"colluders": 0},
    "more colluders": {"colluders": 2},
    "another randomizer": {"randomizer": [[0.7, 0.3], [0.3, 0.7]]},
    "no randomizer": {"randomizer": None, "colluders": 0},
    "more reached": {"max_affected": 2},
}


@pytest.mark.every
@pytest.mark.parametrize("name", FORGED)
def test_a_file_that_claims_another_randomizer_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "design.json"
    problem = Case((Voters(5, 1.0, 1, RESPONSE, 1),)).problem(1.0)
    design = darrm.solve(problem, objective=darrm.objectives.truth([0.7]))
    design.save(path)
    assert darrm.load(path) == design
    content = json.loads(path.read_text())
    del content["sha256"]
    group = content["problem"]["groups"][0]
    assert {"randomizer", "colluders"} <= set(group)
    group.update(FORGED[name])
    content["problem"]["max_affected"] = group["max_affected"]
    write(path, content)
    with pytest.raises(darrm.DarrmError):
        darrm.load(path)


def test_a_table_that_relies_on_more_noise_is_refused() -> None:
    """The best table for votes of epsilon 1 is none for votes of epsilon 1.1, nor for any mechanism."""
    problem, objective = Case((Voters(7, 1.0, 1),)).problem(0.3), darrm.objectives.truth([0.8])
    table = darrm.solve(problem, objective=objective).table
    stated = darrm.verify(table, problem)
    assert stated.holds
    for other in (Voters(7, 1.1, 1), Voters(7, 1.0, 1, RESPONSE, 1), Voters(7, 1.0, 2), Voters(7, 1.0, 1, None)):
        wrong = Case((other,)).problem(0.3)
        assert not darrm.verify(table, wrong).holds
        with pytest.raises(darrm.CertificateError):
            darrm.DecisionDesign(wrong, table, objective)
    assert darrm.verify(table, Case((Voters(7, 0.9, 1),)).problem(0.3)).tight_epsilon < stated.tight_epsilon - 1e-3


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no colluders": ({"randomizer": RESPONSE}, "colluders"),
    "a delta": ({"randomizer": RESPONSE, "colluders": 0, "delta": 1e-6}, "delta"),
    "all collude": ({"randomizer": RESPONSE, "colluders": 5}, "colluders"),
    "colluders reached": ({"randomizer": RESPONSE, "colluders": 2, "max_affected": 4}, "count - colluders"),
    "less private": ({"randomizer": [[0.9, 0.1], [0.1, 0.9]], "colluders": 0}, "epsilon"),
    "colluders of any": ({"colluders": 1}, "colluders"),
    "one-sided": ({"epsilon": math.inf, "randomizer": ONE_SIDED, "colluders": 0}, "finite epsilon"),
    "response of infinity": ({"epsilon": math.inf, "randomizer": RESPONSE, "colluders": 0}, "finite epsilon"),
}


@pytest.mark.every
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    more, words = REFUSED[name]
    with pytest.raises(InputError, match=words):
        VoterGroup(5, **{"epsilon": 1.0, **more})


def test_fixed_voters_are_refused() -> None:
    with pytest.raises(InputError, match="fixed"):
        compose(majority_of(5, 1.0), 3, delta=1e-6, voters="fixed")


def test_other_libraries_cannot_say_the_assumption() -> None:
    design = majority_of(5, 1.0)
    pytest.importorskip("dp_accounting")
    for made in (darrm.interop.dp_event, darrm.interop.privacy_loss_distribution):
        with pytest.raises(InputError, match="known randomizer"):
            made(design, voters="fresh")
    pytest.importorskip("opendp")
    with pytest.raises(InputError, match="known randomizer"):
        darrm.interop.opendp_measurement(design, n_labels=1, voters="fresh", votes=lambda data: data)


@pytest.mark.thorough
@pytest.mark.parametrize("total", [0.1, 0.3])
def test_one_label_keeps_both_budgets(total: float) -> None:
    """Of one label too: the optimum for the first budget alone undoes the randomness of the other voters."""
    group = VoterGroup(25, 1.0, max_affected=1, randomizer=RESPONSE, colluders=0)
    asked = {"base_accuracy": 0.9, "max_affected": 1, "queries": 1, "total_epsilon": total, "total_delta": 0.0}
    first, both = (
        darrm.plan([group], voters="fresh", compare=False, fallback_epsilon=second, **asked)
        for second in (math.inf, None)
    )
    assert first.fallback > 2 * total == both.fallback_epsilon
    assert both.fallback <= 2 * total
    assert both.spent <= total
    any_voters = darrm.DecisionProblem([VoterGroup(25, 1.0, max_affected=1)], 2 * total)
    assert darrm.verify(both.design.table, any_voters).holds


@pytest.mark.slow
def test_a_plan_says_what_other_numbers_of_colluders_cost() -> None:
    """Each total is that of the same table for voters of which so many collude; more of them never cost less."""
    asked: dict[str, Any] = {"base_accuracy": 0.9, "max_affected": 1, "queries": 10}
    asked |= {"total_epsilon": 2.0, "total_delta": 1e-6, "voters": "fresh"}
    group = VoterGroup(9, epsilon=1.0, max_affected=1, randomizer="randomized response", colluders=1)
    plan = darrm.plan([group], **asked)
    assert list(plan.if_colluding) == [0, 1, 2]  # none, as stated, K // 4 and one more than stated
    assert plan.if_colluding[1] == pytest.approx(plan.spent, rel=1e-2)
    for colluders, total in plan.if_colluding.items():
        voters = VoterGroup(9, epsilon=1.0, max_affected=1, randomizer="randomized response", colluders=colluders)
        design = darrm.Design(DecisionProblem([voters], 2.0, 0.5), plan.design.table, plan.design.objective)
        exact = compose(design, 10, delta=1e-6, voters="fresh")
        assert exact.lower <= total <= exact.upper * 1.01
    assert sorted(plan.if_colluding.values()) == list(plan.if_colluding.values())
    any_voters = VoterGroup(9, epsilon=1.0)
    assert not darrm.plan([any_voters], **asked).if_colluding


def test_a_prior_of_votes_is_for_any_voters() -> None:
    group = VoterGroup(5, 1.0, max_affected=1, randomizer=RESPONSE, colluders=0)
    with pytest.raises(InputError, match="known randomizer"):
        darrm.plan(
            [group], prior="uniform", max_affected=1, queries=2, total_epsilon=1, total_delta=1e-6, voters="fresh"
        )


@pytest.mark.thorough
def test_the_counts_of_two_groups_cost_what_the_worse_one_costs() -> None:
    """Against three adaptive queries of all counts of both groups, whose distributions are listed here."""

    def law(K: int, ones: int, epsilon: float) -> list[float]:
        """The distribution of the votes for 1 of K voters, of whom that many have the true answer 1."""
        chances = [1.0]
        for k in range(K):
            p = 1 / (1 + math.exp(-epsilon if k < ones else epsilon))
            chances = [
                (chances[n] * (1 - p) if n < len(chances) else 0) + (chances[n - 1] * p if n else 0)
                for n in range(len(chances) + 1)
            ]
        return chances

    sizes, epsilons, delta, totals, rows = (2, 3), (1.0, 0.7), 1e-3, [], []
    truths = [(h, k) for h in range(3) for k in range(4)]
    both = {(h, k): np.outer(law(2, h, 1.0), law(3, k, 0.7)).ravel() for h, k in truths}
    for moves in ((1, 0), (0, 1)):  # the affected voter is in one group
        pairs = [(place, (place[0] + moves[0], place[1] + moves[1])) for place in truths]
        on, off = zip(*((both[a], both[b]) for a, b in pairs if b in both), strict=True)
        rows.append((np.array(on), np.array(off)))
        totals.append(upper_of_rows(OutcomeRows(*rows[-1], 2.0**-48), 3, delta))
    groups = [
        VoterGroup(K, epsilon, max_affected=1, randomizer="randomized response", colluders=0)
        for K, epsilon in zip(sizes, epsilons, strict=True)
    ]
    found = counts_total(DecisionProblem(groups, 1.0, max_affected=1).model, 3, delta)
    mixed = OutcomeRows(*(np.concatenate(side) for side in zip(*rows, strict=True)), 2.0**-48)  # in any, at each query
    assert found == pytest.approx(upper_of_rows(mixed, 3, delta), rel=2e-3)
    assert found >= max(totals) * (1 - 2e-3)
    assert min(totals) < 0.8 * max(totals)
    any_voters = [groups[0], VoterGroup(3, 0.7, max_affected=1)]
    assert counts_total(DecisionProblem(any_voters, 1.0, max_affected=1).model, 3, delta) == pytest.approx(found)
    apart = DecisionProblem(groups, 1.0, max_affected=2).model  # one in each: the votes themselves
    assert counts_total(apart, 3, delta) == epsilon_of(among(apart.affected, 3), delta)


@pytest.mark.thorough
def test_counts_of_several_affected_voters_and_of_groups_cost_less_than_votes() -> None:
    """Of one group with two affected voters, and of two groups with one: their rows are listed."""
    group = darrm.VoterGroup(6, 1.0, max_affected=2, randomizer="randomized response", colluders=0)
    one, two = DecisionProblem([group], 1.0), DecisionProblem([group, group], 1.0, max_affected=1)
    for problem, queries in ((one, 20), (two, 20)):
        votes = epsilon_of(among(problem.model.affected, queries), 1e-6)
        assert 0 < counts_total(problem.model, queries, 1e-6) < 0.9 * votes


def test_a_total_says_what_it_rests_on() -> None:
    known, any_voters = majority_of(5, 1.0, colluders=1), darrm.solve(K=5, m=2, epsilon=0.5)
    said = [str(compose(design, 2, delta=1e-6, voters="fresh")) for design in (known, any_voters)]
    assert said[0].endswith(
        "if every voter but 1 draws every vote from its true answer by randomized response of epsilon 1 with new, "
        "secret randomness and learns from no vote, the votes of those left out depend on no votes but their own, no "
        "observer of the labels knows a vote of others, and no vote is used twice or decides what to ask, draw again "
        "or release>"
    )
    assert " if " not in said[1]


def test_an_absent_voter_of_a_table_does_not_flip_a_coin() -> None:
    """With [[.9, .1], [.6, .4]] a fair coin is no response to a random answer, and the label's loss exceeds its own."""
    group = VoterGroup(3, math.log(4) + 1e-9, randomizer=[[0.9, 0.1], [0.6, 0.4]], colluders=0)
    table = np.array([0.5, 0.5, 1, 1])
    tight = darrm.verify(table, DecisionProblem([group], 1.0, 0.0, max_affected=1)).tight_epsilon

    def answer_0(votes: tuple[float, ...]) -> float:
        """Pr[label 0], from each voter's Pr[vote 1]."""
        none_or_one = math.prod(1 - p for p in votes)
        for i, p in enumerate(votes):
            none_or_one += p * math.prod(1 - q for j, q in enumerate(votes) if j != i)
        return none_or_one / 2

    with_coin = math.log(answer_0((0.5, 0.4, 0.1)) / answer_0((0.5, 0.4, 0.4)))
    by_response = math.log(answer_0((0.4, 0.4, 0.1)) / answer_0((0.4, 0.4, 0.4)))
    assert by_response <= tight < with_coin

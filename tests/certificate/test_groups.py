"""The certificate of decisions by groups against an oracle that lists every case in decimals of 150 digits."""

import dataclasses
import decimal
import itertools
import math
import time
import weakref
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles import decisions as oracle

import darrm
from darrm import DecisionProblem, VoterGroup
from darrm.certificate import groups
from darrm.certificate.engines import engine, forget, worst_cases
from darrm.certificate.groups import GroupSeparation
from darrm.certificate.protocol import largest
from darrm.problem import group_corners
from darrm.problem.limits import guarantee

EPSILONS = (1e-6, 0.1, 1.0, 30.0, 100.0, math.inf)
GUARANTEES = (1e-9, 1e-6, 1e-3, 0.1, 0.5, 1.0, 2.5, 10.0, 50.0, 300.0, 710.0, 800.0)
ODD = (0.0, 1.0, 5e-324, 1e-300, 1 - 2.0**-53, 0.5, 2.0**-53, 1e-17, 2.2e-308, 1e-160)
SHAPES = ((1,), (2,), (3,), (4,), (6,), (1, 1), (1, 2), (2, 2), (3, 2), (3, 3), (1, 1, 1), (2, 1, 1), (2, 2, 2))


class Hostile(NamedTuple):
    problem: DecisionProblem
    table: NDArray[np.float64]
    truth: oracle.Truth


def truth_of(table: Any, problem: DecisionProblem) -> oracle.Truth:
    own = [oracle.Group(group.count, group.epsilon, group.delta, group.max_affected) for group in problem.groups]
    return oracle.truth(np.asarray(table), own, problem.max_affected)


def hostile_table(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    kinds = [
        lambda: rng.random(shape),
        lambda: rng.choice(ODD, shape),
        lambda: 0.5 + rng.choice([-1, 0, 1], shape) * 2.0 ** -rng.integers(20, 54),
        lambda: np.clip(rng.choice(ODD) + rng.choice([0, 5e-324, 1e-300, 1e-17, 1e-9, -1e-9], shape), 0, 1),
        lambda: 1 / (1 + np.exp(-rng.choice([0.01, 0.3, 3, 50]) * (np.indices(shape).sum(axis=0) - 1.5))),
        lambda: np.abs((rng.random(shape) < 0.3) - 10.0 ** -rng.uniform(0, 320, shape)),
        lambda: np.where(rng.random(shape) < 0.5, rng.choice(ODD, shape), rng.random(shape)),
    ]
    return np.asarray(kinds[rng.integers(len(kinds))](), dtype=np.float64)


def hostile_case(rng: np.random.Generator) -> Hostile:
    """A problem at the edges of what is allowed, a table made to break it, and the truth about both."""
    sizes = SHAPES[rng.integers(len(SHAPES))]
    failing = sum(sizes) <= 4 and rng.random() < 0.4
    members = []
    for count in sizes:
        delta = float(rng.choice([0.0, 1e-9, 1e-3, 0.3, 0.9, 1e-300, 1 - 2.0**-53, 5e-324])) if failing else 0.0
        reach = int(rng.integers(1, count + 1)) if rng.random() < 0.5 else None
        members.append(VoterGroup(count, float(rng.choice(EPSILONS)), delta, reach))
    most = sum(group.max_affected for group in members)
    reach = int(rng.integers(1, most + 1)) if rng.random() < 0.6 else most
    epsilon = float(rng.choice(GUARANTEES))
    problem = DecisionProblem(members, epsilon, 0.0, max_affected=reach)
    table = hostile_table(rng, problem.table_shape)
    truth = truth_of(table, problem)
    needed, floor = max(0.0, float(truth.excess(epsilon))), problem.least_delta
    delta = rng.choice([0.0, 1e-12, 0.1, 5e-324, needed, np.nextafter(needed, 0), floor, np.nextafter(floor, 1)])
    return Hostile(DecisionProblem(members, epsilon, min(0.999, float(delta)), max_affected=reach), table, truth)


def check(case: Hostile) -> None:
    """No false guarantee, and bounds that are close to the truth."""
    problem, table, truth = case
    certificate = darrm.verify(table, problem)
    needed = max(Decimal(0), truth.excess(problem.epsilon))
    assert needed <= Decimal(certificate.needed_delta) <= needed + Decimal("1e-12")
    assert certificate.holds == (certificate.needed_delta <= problem.delta)
    least, said = truth.tight_epsilon(problem.delta), Decimal(certificate.tight_epsilon)
    assert said >= least
    if certificate.holds:
        assert certificate.tight_epsilon <= problem.epsilon
    if said > least + Decimal("1e-12") * max(1, least) and not (
        certificate.holds and least >= Decimal(problem.epsilon) * (1 - Decimal(2) ** -30)
    ):
        # Then rounding alone lies between what is said and what is true: delta is nearly needed at any epsilon.
        finite = min(said, Decimal(2000))
        lower = finite - Decimal("1e-12") * max(1, finite)
        spare = Decimal(problem.delta) - truth.excess(lower)
        assert spare <= max(Decimal("1e-13"), Decimal(problem.delta) * Decimal("1e-9"))


@pytest.mark.thorough
def test_the_oracle_agrees_with_itself() -> None:
    rng = np.random.default_rng(1)
    for delta, reach in itertools.product((0.0, 0.25), (1, 2, 3)):
        table, epsilon = rng.random((3, 2)), 0.7
        kinds = [[(Fraction(p), Fraction(q)) for p, q in oracle.corners(e, delta)] for e in (1.0, 0.3)]
        voters = [(0, kinds[0]), (0, kinds[0]), (1, kinds[1])]
        with decimal.localcontext() as context:
            context.prec = 150
            grow = Fraction(Decimal(epsilon).exp())
        exact = oracle.excess_by_voters(table, voters, reach, grow)
        own = [oracle.Group(2, 1.0, delta, 2), oracle.Group(1, 0.3, delta, 1)]
        assert abs(Fraction(oracle.truth(table, own, reach).excess(epsilon)) - exact) < Fraction(1, 10**120)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_no_false_guarantee(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(12):
        check(hostile_case(rng))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_no_false_guarantee_in_many_cases(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(400):
        check(hostile_case(rng))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("sizes", "delta"), [((3, 3), 0.0), ((2, 2, 2), 0.0), ((5,), 0.0), ((2, 1), 0.01), ((3,), 0.3)]
)
def test_every_number_of_affected_voters(sizes: tuple[int, ...], delta: float) -> None:
    rng = np.random.default_rng(3)
    members = [VoterGroup(n, epsilon, delta) for n, epsilon in zip(sizes, (1.0, 0.2, 0.5), strict=False)]
    needed = []
    shape = tuple(n + 1 for n in sizes)
    table = np.indices(shape).sum(axis=0) / sum(sizes) * 0.9 + rng.uniform(0, 0.1, shape)
    for reach in range(1, sum(sizes) + 1):
        problem = DecisionProblem(members, 0.3, 0.1, max_affected=reach)
        check(Hostile(problem, table, truth_of(table, problem)))
        needed.append(darrm.verify(table, problem).needed_delta)
    assert needed == sorted(needed)
    assert needed[0] < needed[-1]


@pytest.mark.thorough
def test_a_group_is_reached_as_far_as_it_says() -> None:
    table = 0.1 + np.indices((4, 4)).sum(axis=0) / 10 + np.random.default_rng(5).uniform(0, 0.1, (4, 4))
    found = set()
    for first, second in itertools.product((1, 2, 3), repeat=2):
        problem = DecisionProblem([VoterGroup(3, 0.4, 0.0, first), VoterGroup(3, 1.5, 0.0, second)], 0.01, 0.2)
        check(Hostile(problem, table, truth_of(table, problem)))
        found.add(darrm.verify(table, problem).needed_delta)
    assert len(found) == 9


@pytest.mark.parametrize("delta", [0.0, 0.2])
def test_the_worst_case_attains_what_is_needed(delta: float) -> None:
    """Corner counts and answer of a certificate, read back into chances of voters."""
    rng = np.random.default_rng(7)
    names = ("(0,0)", "(1,1)", "(hi,lo)", "(lo,hi)", "(D,0)", "(0,D)", "(1-D,1)", "(1,1-D)")
    for _ in range(20):
        problem = DecisionProblem([VoterGroup(2, 0.5, delta), VoterGroup(3, 1.5, delta)], 0.4, 0.1, max_affected=3)
        table = rng.random(problem.table_shape)
        certificate = darrm.verify(table, problem)
        worst = dict(certificate.worst_case)
        answer = worst.pop("answer")
        sides = []
        with decimal.localcontext() as context:
            context.prec = 60
            for side in (0, 1):
                chance = np.array(table if answer else 1 - table, dtype=object)
                chance = np.vectorize(Decimal, otypes=[object])(chance)
                for g, group in reversed(list(enumerate(problem.groups, 1))):
                    corners = dict(zip(names, oracle.corners(group.epsilon, delta), strict=False))
                    at = [corners[name][side] for name in names for _ in range(worst.get(f"group {g} at {name}", 0))]
                    assert len(at) == group.count
                    chance = chance.dot(np.array(oracle.ones(at), dtype=object))
                sides.append(chance)
            excess = float(sides[0] - Decimal(problem.epsilon).exp() * sides[1])
        assert excess == pytest.approx(certificate.needed_delta, abs=1e-13)
        assert [float(side) for side in sides] == pytest.approx(certificate.probabilities, abs=1e-13)


@pytest.mark.parametrize("far", [5e-324, 1e-300, 2.0**-53])
def test_what_float64_cannot_hold_is_not_taken_for_nothing(far: float) -> None:
    """A table whose true epsilon is far above 800, or infinite, once looked as if it satisfied 800."""
    problem = DecisionProblem([VoterGroup(2, 300.0), VoterGroup(1, math.inf)], 800.0)
    for table in ([[far, 0.5], [0.0, 1.0], [far, far]], [[0.5, 0.5], [0.5, 0.5], [far, 0.5]]):
        check(Hostile(problem, np.array(table), truth_of(table, problem)))
    assert not darrm.verify([[0.5, 0.5], [0.5, 0.5], [0.0, 0.5]], problem).holds


def test_subnormal_numbers_are_not_rounded_away() -> None:
    """Halves of 10 and 12 of the least float64 and of 12 and 10 are equal in float64, but no voter is at a half."""
    problem = DecisionProblem([VoterGroup(1, 1e-3)], 1e-6)
    table = np.array([10, 12]) * 5e-324
    assert truth_of(table, problem).excess(1e-6) > 0
    assert not darrm.verify(table, problem).holds


def test_products_of_many_weights_are_not_rounded_away() -> None:
    """lo^7 x is 1.6 of the least float64; taken for 2 of it, the release would look a fifth more private."""
    problem = DecisionProblem([VoterGroup(7, 98.0)], 685.9)
    table = np.zeros(8)
    table[7] = 1.6 * float(Decimal(math.ulp(0.0)) * Decimal(686).exp())
    assert truth_of(table, problem).excess(685.9) > 0
    assert not darrm.verify(table, problem).holds


@pytest.mark.parametrize(("kept", "least"), [(0, 0.4), (10**6, 0.4), (10**6, 1e-300)])
def test_decimals_of_the_caller_change_nothing(monkeypatch: pytest.MonkeyPatch, kept: int, least: float) -> None:
    problem = DecisionProblem([VoterGroup(4, 1e-3), VoterGroup(3, 2e-3)], 1e-3)
    table = np.random.default_rng(9).uniform(least, 0.6, problem.table_shape)
    table[0, 0] = least
    monkeypatch.setattr(groups, "_KEPT", kept)
    epsilon = guarantee(problem).epsilon
    bounds = []
    for digits, rounding in ((28, decimal.ROUND_HALF_EVEN), (1, decimal.ROUND_DOWN)):
        with decimal.localcontext(decimal.Context(prec=digits, rounding=rounding)):
            bounds.append([worst.bound for worst in GroupSeparation(table, guarantee(problem)).worst_cases(epsilon)])
    assert bounds[0] == bounds[1]


def test_tables_that_are_not_kept_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = DecisionProblem([VoterGroup(3, 0.5, 0.1), VoterGroup(2, math.inf)], 0.7, 0.2, max_affected=3)
    table = np.random.default_rng(11).random(problem.table_shape)
    kept = darrm.verify(table, problem)
    monkeypatch.setattr(groups, "_KEPT", 0)
    assert darrm.verify(table, problem) == kept


def test_of_tables_that_are_not_kept_the_worst_alone_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = DecisionProblem([VoterGroup(3, 0.5), VoterGroup(3, 1.0)], 0.7, 0.2)
    search = GroupSeparation(np.random.default_rng(11).random(problem.table_shape), guarantee(problem))
    search._keep = False
    searched, alive, own = [], [], search._worst

    def watched(block: Any, epsilons: Any) -> Any:
        searched.append(weakref.ref(block.tables.difference))
        alive.append(sum(one() is not None for one in searched))
        return own(block, epsilons)

    monkeypatch.setattr(search, "_worst", watched)
    search.worst(Decimal(1), Decimal(2))
    assert len(searched) == 16
    assert max(alive) < 8


@pytest.mark.thorough
@pytest.mark.parametrize("answer", [0, 1])
def test_rounding_is_counted(answer: int) -> None:
    """Tables that need nothing but for some last digits: a certificate that rounds the other way would be false."""
    rng = np.random.default_rng(13 + answer)
    for _ in range(40):
        problem = DecisionProblem([VoterGroup(3, 0.3), VoterGroup(2, 1.1)], 4.0, 0.0)
        table = rng.uniform(0.2, 0.8, problem.table_shape)
        least = truth_of(table, problem).tight_epsilon(0.0)
        below = DecisionProblem(problem.groups, math.nextafter(float(least), 0) * (1 - 1e-16))
        assert not darrm.verify(table, below).holds
        above = DecisionProblem(problem.groups, float(least) * (1 + 1e-12))
        assert darrm.verify(table, above).holds


def test_close_to_no_privacy_lost_differences_count() -> None:
    """At an epsilon of 1e-9 rounding that is relative to probabilities would be a part in 1e6."""
    problem = DecisionProblem([VoterGroup(3, 1e-9), VoterGroup(2, 2e-9)], 1.0)
    table = np.random.default_rng(17).random(problem.table_shape)
    least = truth_of(table, problem).tight_epsilon(0.0)
    assert least <= Decimal(darrm.verify(table, problem).tight_epsilon) <= least * (1 + Decimal("1e-12"))


def test_a_limit_far_below_the_rounding_of_float64_is_held_to_without_rounding() -> None:
    """Nearly constant tables of non-private voters: rounding of probabilities near 1 exceeds what is needed."""
    rng = np.random.default_rng(18)
    for voters in ([VoterGroup(3, math.inf)], [VoterGroup(2, 4.0, 1e-9), VoterGroup(1, math.inf)]):
        problem = DecisionProblem(voters, 1e-9, 2e-9)
        table = 0.9 + 1e-8 * rng.random(problem.table_shape)
        true = truth_of(table, problem).excess(problem.epsilon)
        search = GroupSeparation(table, guarantee(problem), exact=True)
        epsilon = guarantee(problem).epsilon
        for found in (largest(search.worst_cases(epsilon)), search.glimpse(epsilon)):
            assert 0 < true <= Decimal(found.bound) <= true * (1 + Decimal(2) ** -52)
        _, P, Q = search.largest(lambda P, Q: (P - Q).max(axis=1), 0.0, 1)[0]
        assert 0 < (P - Q).max() < 1e-7


@pytest.mark.thorough
def test_repair_of_any_table() -> None:
    rng = np.random.default_rng(19)
    for _ in range(30):
        problem, table, _ = hostile_case(rng)
        repaired = darrm.repair(table, problem)
        certificate = darrm.verify(repaired, problem)
        assert certificate.holds
        assert Decimal(problem.delta) >= truth_of(repaired, problem).excess(problem.epsilon)
        if darrm.verify(table, problem).holds:
            assert repaired.tolist() == table.tolist()


def test_repair_mixes_as_little_as_it_must() -> None:
    problem = DecisionProblem([VoterGroup(1, 1.0)], 0.25)
    # gamma of a fair coin mixed with randomized response of 1 nat: tanh(1/8) / tanh(1/2)
    share = math.tanh(0.125) / math.tanh(0.5)
    assert darrm.repair([0.0, 1.0], problem) == pytest.approx([(1 - share) / 2, (1 + share) / 2], abs=1e-14)


@pytest.mark.thorough
def test_failures_of_too_many_voters_are_taken_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lemma D4: never below what all corners show, and exactly d + (1 - d) times what pure voters need."""
    groups = [darrm.VoterGroup(3, 1.0, 1e-3), darrm.VoterGroup(2, 0.3, 1e-2, max_affected=1)]
    problem = darrm.DecisionProblem(groups, 0.9, delta=0.05)
    pure = darrm.DecisionProblem([darrm.VoterGroup(g.count, g.epsilon, 0.0, g.max_affected) for g in groups], 0.9)
    rng = np.random.default_rng(5)
    tables = [rng.random(problem.table_shape) ** power for power in (0.1, 1.0, 4.0)]
    exact = [darrm.verify(table, problem).needed_delta for table in tables]
    d = problem.least_delta
    monkeypatch.setattr(group_corners, "MAX_ENTRIES", group_corners.entries(problem) - 1)
    group_corners.group_corners.cache_clear()
    forget()
    try:
        for table, needed in zip(tables, exact, strict=True):
            certificate = darrm.verify(table, problem)
            alone = max(worst.bound for worst in worst_cases(table, guarantee(pure)))
            assert certificate.needed_delta >= needed
            assert certificate.needed_delta == pytest.approx(max(0.0, d + (1 - d) * alone), rel=1e-12)
            tight = certificate.tight_epsilon
            if tight < math.inf:
                assert darrm.verify(table, dataclasses.replace(problem, epsilon=tight * (1 + 1e-12))).holds
        objective = darrm.objectives.truth([0.7, 0.6])
        design = darrm.solve(problem, objective=objective)
        assert design.certificate.needed_delta == pytest.approx(0.05, rel=1e-9)
        with pytest.raises(darrm.InputError, match=r"delta must be at least 0\.01296"):
            darrm.solve(dataclasses.replace(problem, delta=0.01), objective=objective)
    finally:
        monkeypatch.undo()
        group_corners.group_corners.cache_clear()
        forget()
    assert darrm.verify(design.table, problem).needed_delta < 0.05


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize(
    ("groups", "reached"),
    [
        ([VoterGroup(3, 1.0)], 2),
        ([VoterGroup(4, 1.0, 1e-3)], 2),
        ([VoterGroup(3, math.inf), VoterGroup(2, 0.3, 1e-3, max_affected=1)], 3),
        ([VoterGroup(2, 1.0, 0.1, max_affected=1), VoterGroup(1, 0.3), VoterGroup(2, 2.0)], 2),
    ],
)
def test_multisets_of_corners_are_counted(groups: list[VoterGroup], reached: int, pure: bool) -> None:
    """One by one, those that stay and those that move."""

    def own(group: VoterGroup) -> list[int]:
        moving = 2 if pure or not group.delta or math.isinf(group.epsilon) else 6
        return [
            sum(corner >= 2 for corner in voters)
            for voters in itertools.combinations_with_replacement(range(2 + moving), group.count)
            if sum(corner >= 2 for corner in voters) <= group.max_affected
        ]

    problem = DecisionProblem(groups, 5.0, delta=0.5, max_affected=reached)
    moved = itertools.product(*map(own, groups))
    assert group_corners.entries(problem, pure=pure) == sum(sum(each) <= reached for each in moved)


def test_what_is_too_large_names_what_would_fit() -> None:
    """And one more reached voter would not."""
    members = [VoterGroup(40, epsilon) for epsilon in (0.1, 0.2, 0.3)]

    def refused(reached: int) -> str:
        try:
            GroupSeparation(np.full((41, 41, 41), 0.5), guarantee(DecisionProblem(members, 1.0, max_affected=reached)))
        except darrm.InputError as error:
            return str(error)
        return ""

    said = refused(40)
    assert said.startswith("Groups of 40 voters, 40 voters, 40 voters with max_affected = 40 have ")
    fits = int(said.split("max_affected = ")[2].split()[0])
    assert 0 < fits < 40
    assert group_corners.entries(DecisionProblem(members, 1.0, max_affected=fits)) <= group_corners.MAX_ENTRIES
    assert "can be certified" in refused(fits + 1)
    many = [VoterGroup(200, 1.0) for _ in range(4)]
    with pytest.raises(darrm.InputError, match="No max_affected would fit; fewer groups or voters need less"):
        GroupSeparation(np.zeros(1), guarantee(DecisionProblem(many, 1.0, max_affected=2)))


@pytest.mark.parametrize("problem", [
    DecisionProblem([VoterGroup(10_000_000, 1.0)], 1.0),
    DecisionProblem([VoterGroup(1_000_000, 1.0, 1e-9), VoterGroup(1_000_000, 0.5)], 1.0, 1e-3, max_affected=500_000),
    DecisionProblem([VoterGroup(1, 1.0) for _ in range(500)], 1.0),
    DecisionProblem([VoterGroup(100_000, 1.0)], 1.0, classes=3),
    DecisionProblem([VoterGroup(2_000, 1.0, 1e-9), VoterGroup(2_000, 0.5)], 1.0, 1e-3, classes=4, max_affected=2_000),
])  # fmt: skip
def test_any_number_of_voters_is_refused_at_once(problem: DecisionProblem) -> None:
    """Within seconds, where counting all that there is, for every smaller ``max_affected``, took minutes to hours."""
    begun = time.process_time()
    with pytest.raises(darrm.InputError, match="can be certified"):
        engine(problem).check_size(problem)
    assert time.process_time() - begun < 5

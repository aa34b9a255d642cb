"""The certificate of decisions between several classes against an oracle that lists every case in long decimals."""

import dataclasses
import decimal
import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from cases import slow, thorough
from numpy.typing import NDArray
from oracles import several_classes as oracle
from scipy.optimize import linprog

import darrm
from darrm import DecisionProblem, InputError, MajorityProblem, VoterGroup
from darrm.certificate import classes
from darrm.certificate.classes import ClassSeparation, in_decimals_anyway
from darrm.certificate.engines import forget
from darrm.certificate.groups import GroupSeparation
from darrm.certificate.protocol import largest
from darrm.certificate.separation import CornerSeparation
from darrm.problem import class_corners
from darrm.problem.class_corners import ClassCase
from darrm.problem.class_tables import class_table, is_symmetric
from darrm.problem.class_votes import class_probabilities
from darrm.problem.counts import n_sorted_counts, sorted_counts
from darrm.problem.limits import guarantee

Table = NDArray[np.float64]

EPSILONS = (1e-6, 0.1, 1.0, 30.0, 100.0, math.inf)
GUARANTEES = (1e-9, 1e-3, 0.1, 0.5, 1.0, 2.5, 10.0, 300.0, 800.0)
ODD = (0.0, 1.0, 5e-324, 1e-300, 1 - 2.0**-53, 0.5, 2.0**-53, 1e-17, 2.2e-308, 1e-160)


class Hostile(NamedTuple):
    problem: DecisionProblem
    table: Table
    truth: oracle.Truth


def symmetric_shape(problem: DecisionProblem) -> tuple[int, ...]:
    return n_sorted_counts(problem.K, problem.n_classes), problem.n_answers


def with_ties(table: Table, problem: DecisionProblem) -> Table:
    """Rows of a symmetric table: classes with as many votes get the probability of the first of them."""
    table = table.copy()
    for row, counts in zip(table, sorted_counts(problem.K, problem.n_classes), strict=True):
        for j in range(1, problem.n_classes):
            if counts[j] == counts[j - 1]:
                row[j] = row[j - 1]
    return table


def random_table(rng: np.random.Generator, problem: DecisionProblem, *, alike: bool, power: float = 3.0) -> Table:
    shape = symmetric_shape(problem) if alike else (*problem.table_shape, problem.n_answers)
    table = rng.random(shape) ** power
    table = with_ties(table, problem) if alike else table
    return np.asarray(table / table.sum(axis=-1, keepdims=True))


def hostile_table(rng: np.random.Generator, problem: DecisionProblem, *, alike: bool) -> Table:
    shape = symmetric_shape(problem) if alike else (*problem.table_shape, problem.n_answers)
    kinds: list[Callable[[], Any]] = [
        lambda: rng.random(shape),
        lambda: rng.choice(ODD, shape),
        lambda: 1 + rng.choice([-1, 0, 1], shape) * 2.0 ** -rng.integers(20, 52),
        lambda: np.exp(-rng.choice([0.3, 3, 50, 300]) * rng.random(shape)),
        lambda: np.abs((rng.random(shape) < 0.3) - 10.0 ** -rng.uniform(0, 320, shape)),
        lambda: np.where(rng.random(shape) < 0.5, rng.choice(ODD, shape), rng.random(shape)),
    ]
    table = np.asarray(kinds[rng.integers(len(kinds))](), dtype=np.float64)
    table = with_ties(table, problem) if alike else table
    table[table.max(axis=-1) < 1e-3] = 1.0
    return np.asarray(table / table.sum(axis=-1, keepdims=True))


def truth_of(table: Any, problem: DecisionProblem) -> oracle.Truth:
    """Of what is drawn from a stored table."""
    table = class_table(table, problem)
    own = [oracle.Group(group.count, group.epsilon, group.delta, group.max_affected) for group in problem.groups]
    if is_symmetric(table, problem):
        exact = oracle.symmetric(table, problem.K, problem.n_classes)
    else:
        exact = oracle.full(table, own, problem.n_classes)
    return oracle.truth(exact, own, problem.n_classes, problem.max_affected)


def hostile_case(rng: np.random.Generator) -> Hostile:
    """A problem at the edges of what is allowed, a table made to break it, and the truth about both."""
    C = int(rng.choice([2, 3, 3, 3, 4]))
    shapes = {2: [(2,), (3,), (1, 2)], 3: [(1,), (2,), (3,), (1, 1), (2, 1)], 4: [(1,), (2,), (1, 1)]}[C]
    sizes = shapes[rng.integers(len(shapes))]
    failing = C <= 3 and sum(sizes) <= 2 and rng.random() < 0.5
    members = []
    for count in sizes:
        delta = float(rng.choice([0.0, 1e-9, 1e-3, 0.3, 0.9, 1e-300, 5e-324])) if failing else 0.0
        reach = int(rng.integers(1, count + 1)) if rng.random() < 0.5 else None
        members.append(VoterGroup(count, float(rng.choice(EPSILONS)), delta, reach))
    most = sum(group.max_affected for group in members)
    reach = int(rng.integers(1, most + 1)) if rng.random() < 0.6 else most
    epsilon, none = float(rng.choice(GUARANTEES)), bool(C == 2 or rng.random() < 0.3)
    problem = DecisionProblem(members, epsilon, 0.0, C, reach, none=none)
    table = hostile_table(rng, problem, alike=len(sizes) == 1 and rng.random() < 0.6)
    truth = truth_of(table, problem)
    needed, floor = max(0.0, float(truth.excess(epsilon))), problem.least_delta
    delta = rng.choice([0.0, 1e-12, 0.1, 5e-324, needed, np.nextafter(needed, 0), floor, np.nextafter(floor, 1)])
    problem = DecisionProblem(members, epsilon, min(0.999, float(delta)), C, reach, none=none)
    return Hostile(problem, table, truth)


def check(case: Hostile) -> None:
    """No false guarantee, and bounds that are close to the truth."""
    problem, table, truth = case
    certificate = darrm.verify(table, problem)
    needed = max(Decimal(0), truth.excess(problem.epsilon))
    assert needed <= Decimal(certificate.needed_delta) <= needed + Decimal("1e-12")
    assert certificate.holds == (certificate.needed_delta <= problem.delta)
    said = Decimal(certificate.tight_epsilon)
    if said.is_finite():
        assert truth.excess(said) <= Decimal(problem.delta)
    if certificate.holds:
        assert certificate.tight_epsilon <= problem.epsilon
    # Rounding alone may lie between what is said and what is true: then delta is nearly needed a little below.
    below = min(said, Decimal(2000)) * (1 - Decimal("1e-12")) - Decimal("1e-12")
    if below > 0 and not (certificate.holds and said >= Decimal(problem.epsilon) * (1 - Decimal(2) ** -30)):
        spare = Decimal(problem.delta) - truth.excess(below)
        assert spare <= max(Decimal("1e-13"), Decimal(problem.delta) * Decimal("1e-9"))


def bound(table: Any, problem: DecisionProblem, epsilon: float | None = None) -> Decimal:
    """What the certificate says is needed, not cut off at 0."""
    search = ClassSeparation(table, guarantee(problem))
    at = guarantee(problem).epsilon if epsilon is None else Decimal(epsilon)
    return Decimal(largest(search.worst_cases(at)).bound)


def near(said: Decimal, true: Decimal) -> bool:
    return true <= said <= true + Decimal("1e-12")


# Lemma D6


@pytest.mark.thorough
@pytest.mark.parametrize(("C", "epsilon", "delta"), [(2, 0.7, 0.0), (3, 0.7, 0.0), (3, 1.5, 0.1), (4, 0.3, 0.02)])
def test_the_corners_span_all_private_votes(C: int, epsilon: float, delta: float) -> None:
    """In random directions the best of all (epsilon, delta)-DP pairs, by a linear program, is the best of the maps."""
    rng, grow = np.random.default_rng(C), math.exp(epsilon)
    sets = [list(s) for size in range(1, C) for s in itertools.combinations(range(C), size)]
    rows = np.zeros((2 * len(sets), 2 * C))
    for i, chosen in enumerate(sets):
        rows[2 * i, chosen] = rows[2 * i + 1, [C + o for o in chosen]] = 1.0
        rows[2 * i, [C + o for o in chosen]] = rows[2 * i + 1, chosen] = -grow
    sums = np.kron(np.eye(2), np.ones(C))
    pairs = np.array([[float(x) for side in pair for x in side] for pair in oracle.corners(C, epsilon, delta)])
    for _ in range(40):
        direction = rng.normal(size=2 * C)
        best = linprog(-direction, rows, np.full(len(rows), delta), sums, [1, 1], bounds=(0, 1))
        assert best.fun is not None
        assert -best.fun == pytest.approx((pairs @ direction).max(), abs=1e-9)


# Against the oracle


def test_the_oracle_agrees_with_itself() -> None:
    """Lemma D8: no set of answers needs more than those above 0, at any case."""
    rng = np.random.default_rng(1)
    for C, none in ((3, True), (4, False)):
        problem = DecisionProblem([VoterGroup(2, 1.0)], 0.5, 0.1, C, none=none)
        truth = truth_of(random_table(rng, problem, alike=False), problem)
        for epsilon in (0.0, 0.3, 0.8):
            assert truth.excess(epsilon) == truth.excess_by_sets(epsilon)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, 1, *thorough(2, 3)])
def test_no_false_guarantee(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(12):
        check(hostile_case(rng))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_no_false_guarantee_in_many_cases(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(200):
        check(hostile_case(rng))


FORMS = [
    (3, 1),
    (3, 2),
    (3, 3),
    (4, 2),
    pytest.param(3, 4, marks=pytest.mark.slow),
    pytest.param(4, 3, marks=pytest.mark.slow),
]


@pytest.mark.first(1)
@pytest.mark.parametrize("none", [False, True])
@pytest.mark.parametrize(("C", "K"), FORMS)
def test_every_number_of_affected_voters(C: int, K: int, none: bool) -> None:
    rng = np.random.default_rng(10 * C + K)
    for alike, epsilon in itertools.product((True, False), (0.7, math.inf)):
        needed = []
        for t in range(1, K + 1):
            problem = DecisionProblem([VoterGroup(K, epsilon)], 0.3, 0.01, C, t, none=none)
            if t == 1:
                table = random_table(rng, problem, alike=alike)
            truth = truth_of(table, problem)
            for at in (0.0, 0.3, 2.5):
                assert near(bound(table, problem, at), truth.excess(at))
            needed.append(bound(table, problem))
        assert needed == sorted(needed)
    if K > 1:  # shares of the votes are moved further by more voters
        alone, all_of_them = (DecisionProblem([VoterGroup(K, 0.7)], 0.3, 0.01, C, t, none=none) for t in (1, K))
        table = np.hstack([sorted_counts(K, C) + 0.3, np.ones((symmetric_shape(alone)[0], int(none)))])
        table /= table.sum(axis=-1, keepdims=True)
        assert bound(table, alone) < bound(table, all_of_them)


@pytest.mark.first(1)
@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize(("C", "K", "t"), [(3, 1, 1), (3, 2, 1), (3, 2, 2), (4, 1, 1), (2, 3, 2)])
def test_voters_with_a_delta(C: int, K: int, t: int, alike: bool) -> None:
    rng = np.random.default_rng(5)
    for delta in (1e-6, 0.2):
        problem = DecisionProblem([VoterGroup(K, 0.5, delta)], 0.3, 0.5, C, t, none=C == 2)
        table = random_table(rng, problem, alike=alike)
        truth = truth_of(table, problem)
        for at in (0.0, 0.3, 1.5):
            assert near(bound(table, problem, at), truth.excess(at))


@pytest.mark.thorough
def test_a_group_is_reached_as_far_as_it_says() -> None:
    found = set()
    votes = oracle.all_votes([oracle.Group(2, 0.4, 0.0, 2), oracle.Group(1, 1.5, 0.0, 1)], 3)
    table = np.array([np.sum(each, axis=0) + 0.1 for each in votes]).reshape(6, 3, 3)
    table /= table.sum(axis=-1, keepdims=True)
    for first, second, most in ((1, 1, 2), (2, 1, 3), (2, 1, 2), (2, 1, 1), (1, 1, 1)):
        groups = [VoterGroup(2, 0.4, 0.0, first), VoterGroup(1, 1.5, 0.0, second)]
        problem = DecisionProblem(groups, 0.01, 0.2, 3, most)
        assert near(bound(table, problem), truth_of(table, problem).excess(0.01))
        found.add(bound(table, problem))
    assert len(found) == 3  # with one voter reached it is that of epsilon 1.5, with two both kinds


@pytest.mark.thorough
def test_three_groups_of_different_kinds() -> None:
    rng = np.random.default_rng(9)
    groups = [VoterGroup(1, 0.4, 0.1), VoterGroup(1, math.inf), VoterGroup(1, 2.0)]
    for most, none in ((1, False), (2, True)):
        problem = DecisionProblem(groups, 0.8, 0.5, 3, most, none=none)
        table = random_table(rng, problem, alike=False)
        truth = truth_of(table, problem)
        for at in (0.0, 0.8):
            assert near(bound(table, problem, at), truth.excess(at))


@pytest.mark.parametrize(("C", "delta"), [(3, 0.0), (3, 0.2), (4, 0.0)])
def test_the_worst_case_attains_what_is_needed(C: int, delta: float) -> None:
    """Kinds and answers of a certificate, read back into chances of voters."""
    rng = np.random.default_rng(11)
    for alike, _ in itertools.product((True, False), range(4)):
        problem = DecisionProblem([VoterGroup(3, 0.5, delta)], 0.2, 0.1, C, 2)
        table = random_table(rng, problem, alike=alike)
        worst = largest(ClassSeparation(table, guarantee(problem)).worst_cases(guarantee(problem).epsilon))
        assert isinstance(worst.case, ClassCase)
        (group,), answers = worst.case.groups, worst.case.answers
        assert worst.case.reached[0] <= 2
        p, q = oracle.outcomes(0.5, delta)
        voters = [kind for kind, count in group.kinds for _ in range(count)]
        sure = [(c,) for c, count in enumerate(group.sure) for _ in range(count)]
        own = [oracle.Group(3, 0.5, delta, 2)]
        exact = oracle.symmetric(table, 3, C) if alike else oracle.full(table, own, C)
        sides = []
        with decimal.localcontext() as context:
            context.prec = 60
            for chances in (p, q):
                said = [
                    tuple(
                        sum((w for name, w in zip(kind, chances, strict=True) if name == c), Decimal(0))
                        for c in range(C)
                    )
                    for kind in voters
                ]
                said += [tuple(Decimal(int(c == name)) for c in range(C)) for (name,) in sure]
                assert len(said) == 3
                votes = oracle.votes_of(said)
                sides.append(sum(chance * exact[(n,)][o] for n, chance in votes.items() for o in answers))
            excess = float(sides[0] - Decimal(problem.epsilon).exp() * sides[1])
        assert excess == pytest.approx(worst.bound, abs=1e-13)
        assert [float(side) for side in sides] == pytest.approx([worst.p_side, worst.q_side], abs=1e-13)
        assert float(sides[0] - sides[1]) == pytest.approx(worst.difference, abs=1e-13)
        assert worst.share == len(answers) / problem.n_answers
        named = worst.case.named()
        assert sum(count for name, count in named.items() if name.startswith("group 1")) == 3
        assert [name for name in named if name.startswith("answer")] == [f"answer {o}" for o in answers]
        certificate = darrm.verify(table, problem)
        assert certificate.worst_case == named
        assert certificate.needed_delta == pytest.approx(excess, abs=1e-13)


# Rounding


@pytest.mark.thorough
@pytest.mark.parametrize("alike", [False, True])
def test_rounding_is_counted(alike: bool) -> None:
    """Tables that need nothing but for some last digits: a certificate that rounds the other way would be false."""
    rng = np.random.default_rng(13)
    for _ in range(12):
        problem = DecisionProblem([VoterGroup(2, 0.3)], 4.0, 0.0, 3)
        table = rng.uniform(0.2, 0.8, symmetric_shape(problem) if alike else (*problem.table_shape, 3))
        table = with_ties(table, problem) if alike else table
        table /= table.sum(axis=-1, keepdims=True)
        least = truth_of(table, problem).tight_epsilon(0.0)
        below = dataclasses.replace(problem, epsilon=math.nextafter(float(least), 0) * (1 - 1e-16))
        assert not darrm.verify(table, below).holds
        above = dataclasses.replace(problem, epsilon=float(least) * (1 + 1e-12))
        assert darrm.verify(table, above).holds


def test_rounding_of_differences_is_counted() -> None:
    """Tables that are nearly the same at all votes: what their differences are rounded by is most of them."""
    rng = np.random.default_rng(14)
    for _ in range(12):
        problem = DecisionProblem([VoterGroup(2, 0.3)], 0.1, 0.1, 3)
        table = 1 + 1e-12 * rng.random((*problem.table_shape, 3))
        table /= table.sum(axis=-1, keepdims=True)
        assert near(bound(table, problem, 0.0), truth_of(table, problem).excess(0.0))


@pytest.mark.thorough
def test_what_is_drawn_counts_and_not_what_is_stored() -> None:
    """A row of stored numbers may exceed 1 in the last digits, and the largest of them pays for all."""
    rng, seen = np.random.default_rng(15), 0
    for _ in range(40):
        problem = DecisionProblem([VoterGroup(1, math.inf)], 0.5, 0.0, 3)
        table = rng.dirichlet(np.ones(3), problem.table_shape)
        exact = np.array(list(oracle.full(table, [oracle.Group(1, math.inf, 0, 1)], 3).values()))
        assert all(sum(map(Fraction, row)) == 1 for row in exact)
        seen += bool(np.any(exact.astype(float) != table))
        stored = {
            votes: [Decimal(x) for x in row]
            for votes, row in zip(oracle.all_votes([oracle.Group(1, 1, 0, 1)], 3), table.tolist(), strict=True)
        }
        for form in (truth_of(table, problem), oracle.truth(stored, [oracle.Group(1, math.inf, 0.0, 1)], 3, 1)):
            assert near(bound(table, problem), form.excess(0.5))
    assert seen > 10


@pytest.mark.thorough
def test_close_to_no_privacy_lost_differences_count() -> None:
    """At an epsilon of 1e-9 rounding that is relative to probabilities would be a part in 1e6."""
    problem = DecisionProblem([VoterGroup(3, 1e-9)], 1.0, 0.0, 3)
    table = random_table(np.random.default_rng(17), problem, alike=True, power=1.0)
    least = truth_of(table, problem).tight_epsilon(0.0)
    said = Decimal(darrm.verify(table, problem).tight_epsilon)
    # What is drawn differs from what is stored by 33 u at most, relatively, which moves E X as far as E' X.
    assert least <= said <= least * (1 + Decimal("1e-12"))


def in_decimals(table: Any, problem: DecisionProblem) -> Decimal:
    """The delta that a table needs, as certificates of limits far below the rounding of float64 find it."""
    limit = guarantee(problem)
    return Decimal(ClassSeparation(table, limit, exact=True).worst(limit.epsilon)[0].bound)


@pytest.mark.thorough
@pytest.mark.parametrize("none", [False, True])
def test_a_limit_far_below_the_rounding_of_float64_is_held_to_without_rounding(none: bool) -> None:
    """Nearly constant tables of non-private voters: rounding of probabilities near 1 exceeds what is needed."""
    rng = np.random.default_rng(18)
    for groups, alike in (
        ([VoterGroup(2, math.inf)], True),
        ([VoterGroup(1, 3.0, 1e-9), VoterGroup(1, math.inf)], False),
    ):
        problem = DecisionProblem(groups, 1e-9, 0.0 if alike else 2e-9, 3, none=none)
        shape = symmetric_shape(problem) if alike else (*problem.table_shape, problem.n_answers)
        table = 1 + 1e-8 * rng.random(shape)
        table[..., 0] += 50 * (not alike)
        table = with_ties(table, problem) if alike else table
        table /= table.sum(axis=-1, keepdims=True)
        true = truth_of(table, problem).excess(1e-9)
        assert 0 < true <= in_decimals(table, problem) <= true * (1 + Decimal(2) ** -52)
        rows = list(ClassSeparation(table, guarantee(problem), exact=True).rows())
        wide = list(ClassSeparation(table, guarantee(dataclasses.replace(problem, epsilon=1.0))).rows())
        assert all(np.allclose(own, other, rtol=1e-13) for own, other in zip(rows, wide, strict=True))


@pytest.mark.thorough
def test_what_is_drawn_counts_under_a_limit_far_below_the_rounding_of_float64() -> None:
    """Nothing is allowed for rows that do not sum to 1: the certificate begins with what is sampled."""
    rng, seen = np.random.default_rng(16), 0
    for _ in range(40):
        problem = DecisionProblem([VoterGroup(1, math.inf)], 1e-9, 0.0, 3)
        table = rng.dirichlet(np.ones(3)) * (1 + 1e-8 * rng.random((*problem.table_shape, 3)))
        table /= table.sum(axis=-1, keepdims=True)
        exact = np.array(list(oracle.full(table, [oracle.Group(1, math.inf, 0, 1)], 3).values()))
        seen += bool(np.any(exact.astype(float) != table))
        true = truth_of(table, problem).excess(1e-9)
        assert 0 < true <= in_decimals(table, problem) <= true * (1 + Decimal(2) ** -52)
    assert seen > 10


def test_large_tables_stay_in_float64() -> None:
    for problem in (
        DecisionProblem([VoterGroup(9, math.inf)], 1e-9, 0.0, 4),
        DecisionProblem([VoterGroup(60, math.inf)], 1e-9),
    ):
        assert not in_decimals_anyway(guarantee(problem))
        assert in_decimals_anyway(guarantee(dataclasses.replace(problem, max_affected=1)))
        assert not in_decimals_anyway(guarantee(dataclasses.replace(problem, epsilon=0.1, max_affected=1)))


@pytest.mark.thorough
@pytest.mark.parametrize("far", [5e-324, 1e-300, 2.0**-53])
def test_what_float64_cannot_hold_is_not_taken_for_nothing(far: float) -> None:
    problem = DecisionProblem([VoterGroup(2, 300.0)], 800.0, 0.0, 3)
    for first in ([1 - 2 * far, far, far], [far, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]):
        for last in ([0.5, 0.5, 0.0], [0.5, 0.5, far], [far, far, 1.0]):
            check(Hostile(problem, table := np.array([first, last]), truth_of(table, problem)))
    assert not darrm.verify([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], dataclasses.replace(problem, epsilon=299.0)).holds


@pytest.mark.thorough
def test_products_of_many_weights_are_not_rounded_away() -> None:
    """lo^3 x is 1.6 of the least float64; taken for 2 of it, the release would look a fifth more private."""
    problem = DecisionProblem([VoterGroup(3, 230.0)], 689.9, 0.0, 3)
    tiny = 1.6 * float(Decimal(math.ulp(0.0)) * Decimal(690).exp())
    table = np.zeros((*problem.table_shape, 3))
    table[:, 1] = 1.0
    table[0] = [tiny, 1 - tiny, 0.0]
    truth = truth_of(table, problem)
    assert truth.excess(689.9) > 0
    assert not darrm.verify(table, problem).holds


@pytest.mark.thorough
@pytest.mark.parametrize(("kept", "least"), [(0, 0.4), (10**6, 0.4), (10**6, 1e-300)])
def test_decimals_of_the_caller_change_nothing(monkeypatch: pytest.MonkeyPatch, kept: int, least: float) -> None:
    problem = DecisionProblem([VoterGroup(3, 1.0)], 1e-3, 0.0, 4, none=True)
    table = random_table(np.random.default_rng(9), problem, alike=True, power=1.0)
    table[0] = [1 - 4 * min(least, 0.1)] + [min(least, 0.1)] * 4
    monkeypatch.setattr(classes, "_KEPT", kept)
    epsilon, bounds = guarantee(problem).epsilon, []
    for digits, rounding in ((28, decimal.ROUND_HALF_EVEN), (1, decimal.ROUND_DOWN)):
        with decimal.localcontext(decimal.Context(prec=digits, rounding=rounding)):
            bounds.append([worst.bound for worst in ClassSeparation(table, guarantee(problem)).worst_cases(epsilon)])
    assert bounds[0] == bounds[1]
    assert near(Decimal(max(bounds[1])), truth_of(table, problem).excess(epsilon))


@pytest.mark.thorough
def test_tables_that_are_not_kept_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for groups, alike in (([VoterGroup(3, 0.5, 0.1)], True), ([VoterGroup(2, 0.5), VoterGroup(1, math.inf)], False)):
        problem = DecisionProblem(groups, 0.7, 0.2, 3)
        table = random_table(np.random.default_rng(11), problem, alike=alike)
        forget()
        kept = darrm.verify(table, problem)
        with monkeypatch.context() as patch:
            patch.setattr(classes, "_KEPT", 0)
            forget()
            assert darrm.verify(table, problem) == kept


@pytest.mark.parametrize(
    ("groups", "alike"),
    [
        *thorough(([VoterGroup(3, 0.5)], True)),
        *slow(([VoterGroup(2, 0.5, 0.3)], True)),
        ([VoterGroup(2, 1.0)], False),
    ],
)
def test_rows_are_within_what_they_say_of_the_truth(groups: list[VoterGroup], alike: bool) -> None:
    problem = DecisionProblem(groups, 0.7, 0.7, 3)
    table = random_table(np.random.default_rng(12), problem, alike=alike)
    search, truth = ClassSeparation(table, guarantee(problem)), truth_of(table, problem)
    sides = [np.concatenate(parts) for parts in zip(*search.rows(), strict=True)]
    assert search.relative_error < 1e-14
    exact = np.hstack([truth.p_side, truth.q_side])
    # Every row is near one of the oracle's; every one of the oracle's is a renaming of a row.
    far = [
        min(float(abs(exact - [Decimal(x) for x in row]).sum(axis=1).min()) for row in [own])
        for own in np.hstack(sides).tolist()
    ]
    assert max(far) < 1e-14


@pytest.mark.parametrize("alike", [False, True])
def test_broken_cases_are_those_above_the_threshold_and_the_worst_is_among_them(alike: bool) -> None:
    problem = DecisionProblem([VoterGroup(3, 2.0)], 0.2, 0.01, 3, none=True)
    search = ClassSeparation(random_table(np.random.default_rng(29), problem, alike=alike), guarantee(problem))
    epsilon = guarantee(problem).epsilon
    worst = largest(search.worst_cases(epsilon))
    assert worst.bound > 0.1
    found = search.broken(epsilon, worst.bound / 2, 0)
    assert min(one.bound for one in found) > worst.bound / 2
    assert worst.case in [one.case for one in found]
    assert search.broken(epsilon, 1.0, 0) == search.broken(epsilon, 0.01, 1) == []
    assert max(len(one.case.answers) for one in search.broken(epsilon, 1e-12, 0)) > 1
    pure = guarantee(dataclasses.replace(problem, delta=0.0))
    singles = ClassSeparation(search._table, pure).broken(epsilon, 1e-12, 0)
    assert {len(one.case.answers) for one in singles if isinstance(one.case, ClassCase)} == {1}
    assert min(one.bound for one in singles) > 0
    assert max(one.bound for one in singles) <= worst.bound
    assert len(singles) > 20


# Where engines meet


def test_two_classes_are_those_of_the_other_engines() -> None:
    """Tables of shape (n, 2) by this engine, those of answer 1 by the two others; one rounding apart at most."""
    rng = np.random.default_rng(21)
    for delta, t in itertools.product((0.0, 0.1), (1, 3, 5)):
        problem = DecisionProblem([VoterGroup(5, 0.6, delta)], 0.9, 0.2, 2, t)
        ones = rng.random(6)
        table = np.stack([1 - ones, ones], axis=-1)
        for at in (0.0, 0.4, 0.9, 2.5):
            here = largest(ClassSeparation(table, guarantee(problem)).worst_cases(Decimal(at))).bound
            there = largest(GroupSeparation(ones, guarantee(problem)).worst_cases(Decimal(at))).bound
            assert here == pytest.approx(there, abs=1e-14)
    problem = DecisionProblem([VoterGroup(2, 0.6), VoterGroup(3, 1.5)], 0.9, 0.2, 2, 4)
    ones = rng.random(problem.table_shape)
    worst = largest(ClassSeparation(np.stack([1 - ones, ones], axis=-1), guarantee(problem)).worst_cases(Decimal(1)))
    assert worst.bound == pytest.approx(
        largest(GroupSeparation(ones, guarantee(problem)).worst_cases(Decimal(1))).bound, abs=1e-14
    )
    gamma = rng.random(6)
    gamma = (gamma + gamma[::-1]) / 2
    gamma[3:] = gamma[2::-1]
    majority = MajorityProblem(5, 3, 0.6)
    ones = np.where(np.arange(6) > 2.5, 0.5 + gamma / 2, 0.5 - gamma / 2)
    problem = DecisionProblem([VoterGroup(5, 0.6)], majority.release_epsilon, 0.0, 2)
    for form in (np.stack([1 - ones, ones], axis=-1), np.stack([1 - ones, ones], axis=-1)[[0, 1, 2]]):
        for at in (0.5, 1.8):
            here = largest(ClassSeparation(form, guarantee(problem)).worst_cases(Decimal(at))).bound
            there = largest(CornerSeparation(gamma, guarantee(majority)).worst_cases(Decimal(at))).bound
            assert here == pytest.approx(there, abs=1e-13)


@pytest.mark.thorough
def test_a_symmetric_table_is_the_full_one() -> None:
    rng = np.random.default_rng(23)
    for C, K, t, delta, none in (
        (3, 6, 6, 0.0, False),
        (4, 4, 3, 0.0, True),
        (3, 3, 2, 0.05, True),
        (5, 3, 3, 0.0, False),
    ):
        problem = DecisionProblem([VoterGroup(K, 0.8, delta)], 0.6, 0.2, C, t, none=none)
        table = random_table(rng, problem, alike=True)
        votes = np.array([votes for (votes,) in oracle.all_votes([oracle.Group(K, 1.0, 0.0, 1)], C)])
        full = class_probabilities(table, problem, votes[:, None])
        for at in (0.0, 0.6, 2.0):
            assert bound(table, problem, at) == pytest.approx(bound(full, problem, at), abs=Decimal("1e-14"))


def test_relabelling_classes_changes_nothing() -> None:
    rng = np.random.default_rng(25)
    problem = DecisionProblem([VoterGroup(3, 0.8)], 0.6, 0.2, 3)
    table = random_table(rng, problem, alike=False)
    votes = [votes for (votes,) in oracle.all_votes([oracle.Group(3, 1.0, 0.0, 1)], 3)]
    needed = {float(bound(table, problem))}
    for order in itertools.permutations(range(3)):
        other = np.empty_like(table)
        for i, counts in enumerate(votes):
            other[votes.index(tuple(counts[c] for c in order))] = table[i][list(order)]
        needed.add(float(bound(other, problem)))
    assert max(needed) - min(needed) < 1e-15


# Repair


@pytest.mark.thorough
def test_repair_of_any_table() -> None:
    rng = np.random.default_rng(19)
    for _ in range(15):
        problem, table, _ = hostile_case(rng)
        repaired = darrm.repair(table, problem)
        assert darrm.verify(repaired, problem).holds
        assert Decimal(problem.delta) >= truth_of(repaired, problem).excess(problem.epsilon)
        if darrm.verify(table, problem).holds:
            assert repaired.tolist() == class_table(table, problem).tolist()


def test_repair_mixes_as_little_as_it_must() -> None:
    """One voter that says what it saw: mixed with any of C answers, it is randomized response."""
    for C in (3, 5):
        problem = DecisionProblem([VoterGroup(1, math.inf)], 0.7, 0.0, C)
        repaired = darrm.repair(np.eye(C)[:1], problem)
        hi = math.exp(0.7) / (math.exp(0.7) + C - 1)
        assert repaired[0].tolist() == pytest.approx([hi] + [(1 - hi) / (C - 1)] * (C - 1), abs=1e-14)


# Failures together


@pytest.mark.thorough
def test_failures_of_too_many_voters_are_taken_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lemma D4: never below what all maps show, and exactly d + (1 - d) times what pure voters need."""
    problem = DecisionProblem([VoterGroup(3, 1.0, 1e-3)], 0.6, 0.05, 3)
    pure = DecisionProblem([VoterGroup(3, 1.0)], 0.6, 0.0, 3)
    tables = [random_table(np.random.default_rng(5), problem, alike=True, power=power) for power in (0.1, 1.0, 4.0)]
    exact = [darrm.verify(table, problem).needed_delta for table in tables]
    d = problem.least_delta
    monkeypatch.setattr(class_corners, "MAX_ENTRIES", class_corners.entries(problem, alike=True) - 1)
    class_corners.bits.cache_clear()
    forget()
    try:
        for table, needed in zip(tables, exact, strict=True):
            certificate = darrm.verify(table, problem)
            assert certificate.needed_delta >= needed
            assert certificate.needed_delta == pytest.approx(
                max(0.0, d + (1 - d) * float(bound(table, pure))), rel=1e-12
            )
        with pytest.raises(InputError, match="voters with a delta are few enough"):
            next(ClassSeparation(tables[0], guarantee(problem)).rows())
        objective = darrm.objectives.rule("plurality", [0.6])
        design = darrm.solve(problem, objective=objective)
        assert design.certificate.needed_delta == pytest.approx(0.05, rel=1e-9)
        with pytest.raises(InputError, match=r"delta must be at least 0\.002997"):
            darrm.solve(dataclasses.replace(problem, delta=0.002), objective=objective)
    finally:
        monkeypatch.undo()
        class_corners.bits.cache_clear()
        forget()
    assert darrm.verify(design.table, problem).needed_delta < 0.05


# What is refused


PROBLEM = DecisionProblem([VoterGroup(2, 1.0)], 1.0, 0.0, 3)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (np.full((2, 3), 0.3), r"must sum to 1 at all votes\. Got a sum of 0\.89999"),
        (np.full((2, 3), np.nan), "Got NaN"),
        (np.full((2, 4), 0.25), r"shape \(6, 3\) or \(2, 3\)\. Got shape \(2, 4\)"),
        (np.full(6, 0.25), r"shape \(6, 3\) or \(2, 3\)\. Got shape \(6,\)"),
        (np.array([[0.6, 0.3, 0.1], [0.5, 0.25, 0.25]]), "with equal votes must have equal probabilities"),
        (np.array([[0.6, 0.6, -0.2], [0.4, 0.4, 0.2]]), r"-0\.2"),
    ],
)
def test_what_is_no_table_is_refused(table: Table, words: str) -> None:
    with pytest.raises(InputError, match=words):
        darrm.verify(table, PROBLEM)


def test_a_design_is_not_taken_for_a_table() -> None:
    design = darrm.solve(PROBLEM, objective=darrm.objectives.rule("plurality", [0.6]))
    with pytest.raises(InputError, match="Got a design"):
        darrm.verify(design, PROBLEM)  # type: ignore[arg-type]


def test_rows_that_nearly_sum_to_1_are_divided_and_stay() -> None:
    rng = np.random.default_rng(27)
    for alike in (True, False):
        table = random_table(rng, PROBLEM, alike=alike) * (1 + 4e-10)
        once = class_table(table, PROBLEM)
        assert np.array_equal(once, class_table(once, PROBLEM))
        exact = [sum(map(Fraction, row), Fraction(0)) for row in once.reshape(-1, 3).tolist()]
        assert max(abs(total - 1) for total in exact) <= Fraction(11, 2**53)
        assert once == pytest.approx(table, abs=1e-9)
    right = random_table(rng, PROBLEM, alike=False)
    assert class_table(right, PROBLEM) is not right
    assert np.array_equal(class_table(right, PROBLEM), right)


def test_ties_within_rounding_are_made_equal() -> None:
    table = class_table([[0.6, 0.2, 0.2 + 1e-10], [0.4, 0.4 + 1e-10, 0.2 - 2e-10]], PROBLEM)
    assert table[0, 1] == table[0, 2]
    assert table[1, 0] == table[1, 1]


@pytest.mark.parametrize(
    ("group", "C", "none"),
    [
        ((60, 1.0), 4, False),
        ((12, 1.0), 10, True),
        ((40, 1.0, 1e-6), 5, False),
        ((3, 1.0), 31, False),
        ((2, 1.0), 900, False),
    ],
)
def test_what_is_too_large_is_refused_and_what_would_fit_does(group: tuple[Any, ...], C: int, none: bool) -> None:
    delta = 0.5 if len(group) > 2 else 0.0
    problem = DecisionProblem([VoterGroup(*group)], 1.0, delta, C, none=none)
    with pytest.raises(InputError) as refused:
        classes.check_size(problem)
    words = str(refused.value)
    if "max_affected" in words:
        most = int(words.split("max_affected = ")[-1].split(" would")[0])
        classes.check_size(dataclasses.replace(problem, max_affected=most))
        with pytest.raises(InputError):
            classes.check_size(dataclasses.replace(problem, max_affected=most + 1))
    else:
        most = int(words.split("too many to count. ")[1].split(" classes")[0])
        classes.check_size(dataclasses.replace(problem, classes=most))
        with pytest.raises(InputError):
            classes.check_size(dataclasses.replace(problem, classes=most + 1))


def test_the_further_answer_counts_in_what_would_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = DecisionProblem([VoterGroup(4, 1.0)], 1.0, 0.0, 3, none=True)
    smaller = dataclasses.replace(problem, max_affected=3)
    monkeypatch.setattr(class_corners, "MAX_ENTRIES", class_corners.entries(smaller, alike=True) - 1)
    assert class_corners.nearest_that_fits(problem, alike=True).startswith("max_affected = 2 would fit")


def test_products_beyond_float64_are_refused_where_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "MAX_EXACT_ENTRIES", 10)
    table = np.array([[1 - 2e-300, 1e-300, 1e-300], [0.4, 0.4, 0.2]])
    with pytest.raises(InputError, match="at most 10 probabilities are certified then"):
        darrm.verify(table, PROBLEM)


@pytest.mark.parametrize(("many", "most"), [(3, 30), (4, 15), (10, 8)])
def test_as_many_voters_fit_as_the_page_on_classes_says(many: int, most: int) -> None:
    """docs/howto/classes.md, if all voters may be reached."""
    classes.check_size(DecisionProblem([VoterGroup(most, epsilon=0.5)], epsilon=1.0, classes=many))
    with pytest.raises(InputError, match="can be certified"):
        classes.check_size(DecisionProblem([VoterGroup(most + 1, epsilon=0.5)], epsilon=1.0, classes=many))

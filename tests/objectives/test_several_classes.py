"""What decisions between several classes cost, vote by vote, in exact fractions."""

import itertools
import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from darrm import DecisionProblem, VoterGroup, objectives
from darrm.errors import InputError
from darrm.objectives.multinomials import multinomial
from darrm.problem.counts import count_vectors, places

ULP = 2.0**-52
Votes = tuple[int, ...]


def problem_of(sizes: Sequence[int], classes: int, *, none: bool = False) -> DecisionProblem:
    return DecisionProblem([VoterGroup(size, 1.0) for size in sizes], 1.0, classes=classes, none=none)


def by_single_votes(
    problem: DecisionProblem,
    tables: Sequence[Any],
    prior: Sequence[float],
    cost_of: Callable[[int, int, list[list[int]]], float],
) -> np.ndarray:
    """C(n, o), summed over the truth and every vote of every voter; ``cost_of(answer, truth, counts)``."""
    sizes, C = [group.count for group in problem.groups], problem.n_classes
    sums: dict[tuple[int, ...], Fraction] = {}
    voters = [g for g, size in enumerate(sizes) for _ in range(size)]
    for y, votes in itertools.product(range(C), itertools.product(range(C), repeat=len(voters))):
        chance = Fraction(prior[y])
        counts = [[0] * C for _ in sizes]
        for g, vote in zip(voters, votes, strict=True):
            chance *= Fraction(tables[g][y][vote])
            counts[g][vote] += 1
        row = tuple(int(places(np.array(own))) for own in counts)
        for o in range(problem.n_answers):
            entry = (*row, o)
            sums[entry] = sums.get(entry, Fraction(0)) + chance * Fraction(cost_of(o, y, counts))
    costs = np.full((*problem.table_shape, problem.n_answers), np.nan)
    for entry, value in sums.items():
        costs[entry] = float(value)
    return costs


def random_voters(rng: np.random.Generator, groups: int, classes: int) -> list[list[list[float]]]:
    tables = rng.random((groups, classes, classes))
    return (tables / tables.sum(axis=2, keepdims=True)).tolist()  # type: ignore[no-any-return]


def most(scores: Sequence[float]) -> set[int]:
    return {c for c, score in enumerate(scores) if score == max(scores)}


CASES = [([3], 3), ([2, 1], 3), ([3], 4), ([1, 2], 4), ([2], 5)]


@pytest.mark.thorough
@pytest.mark.parametrize("none", [False, True], ids=["", "none"])
@pytest.mark.parametrize(("sizes", "C"), CASES, ids=str)
def test_costs_are_those_of_the_single_votes(sizes: list[int], C: int, none: bool) -> None:
    rng = np.random.default_rng(sum(sizes) * 10 + C)
    problem, tables = problem_of(sizes, C, none=none), random_voters(rng, len(sizes), C)
    prior = rng.random(C)
    prior = (prior / prior.sum()).tolist()
    cost = rng.random((C + none, C)).tolist()
    close = pytest.approx
    truth = objectives.truth(tables, prior, cost)
    wanted = by_single_votes(problem, tables, prior, lambda o, y, _: cost[o][y])
    assert truth.costs(problem) == close(wanted, rel=2 * (C + 2) * ULP)

    weights = [float(w) for w in rng.integers(1, 4, len(sizes))]
    rules: list[tuple[Any, Callable[[list[list[int]]], set[int]]]] = [
        ("plurality", lambda n: most([sum(own) for own in zip(*n, strict=True)])),
        (weights, lambda n: most([sum(w * v for w, v in zip(weights, c, strict=True)) for c in zip(*n, strict=True)])),
        (
            lambda n: int(n.sum(axis=0) @ np.arange(C)) % C,
            lambda n: {sum(c * v for g in n for c, v in enumerate(g)) % C},
        ),
    ]
    for which, right in rules:
        objective = objectives.rule(which, tables, prior, none=0.25 if none else None, problem=problem)
        wanted = by_single_votes(
            problem, tables, prior, lambda o, _, n, ok=right: 0.25 if o == C else float(o not in ok(n))
        )
        assert objective.costs(problem) == close(wanted, rel=2 * (C + 2) * ULP)


@pytest.mark.parametrize("none", [False, True], ids=["", "none"])
@pytest.mark.parametrize(("sizes", "C"), [*CASES, ([3, 2], 2)], ids=str)
def test_costs_at_some_counts_are_those_of_all(sizes: list[int], C: int, none: bool) -> None:
    rng = np.random.default_rng(C)
    problem = problem_of(sizes, C, none=none)
    tables, more = random_voters(rng, len(sizes), C), {"none": 0.5} if none else {}
    given: list[objectives.Objective] = [
        objectives.truth(tables, **more),  # type: ignore[arg-type]
        objectives.rule("plurality", tables, **more),  # type: ignore[arg-type]
        objectives.rule([2.0] * len(sizes), tables, **more),  # type: ignore[arg-type]
        objectives.rule(lambda n: int(n.ravel()[0]) % 2, tables, problem=problem, **more),  # type: ignore[arg-type]
        objectives.costs(rng.random((*problem.table_shape, problem.n_answers))),
    ]
    at = [rng.integers(0, n, 7) for n in problem.table_shape]
    counts = np.stack([count_vectors(size, C)[own] for size, own in zip(sizes, at, strict=True)], axis=1)
    for objective in given:
        some = objective.costs_at(problem, counts)
        assert some.shape == (7, problem.n_answers)
        assert some == pytest.approx(objective.costs(problem)[tuple(at)], rel=4 * ULP)


def test_an_accuracy_leaves_open_how_many_classes_there_are() -> None:
    open_, rule = objectives.truth([0.7]), objectives.rule("plurality", [0.7])
    for C in (2, 3, 4):
        problem, wrong = problem_of([3], C), (1 - 0.7) / (C - 1)
        table = [[0.7 if vote == y else wrong for vote in range(C)] for y in range(C)]
        cost = (1 - np.eye(C)).tolist()
        assert np.array_equal(open_.costs(problem), objectives.truth([table], [1 / C] * C, cost).costs(problem))
        assert np.array_equal(rule.costs(problem), objectives.rule("plurality", [table], [1 / C] * C).costs(problem))


@pytest.mark.parametrize("votes", [[0.5, 0.25, 0.25], [0.7, 0.2, 0.1], [1e-3, 1e-12, 1.0], [0.0, 1.0, 0.0]], ids=str)
@pytest.mark.parametrize("K", [1, 40, 900])
def test_multinomials_are_right_to_an_ulp_or_so_for_each_class(votes: list[float], K: int) -> None:
    """900 votes on three classes have coefficients above the range of float64, and powers below it."""
    rng = np.random.default_rng(K)
    counts = rng.multinomial(K, [1 / 3] * 3, 20)
    counts[:2] = [K, 0, 0], [0, 0, K]
    for n, got in zip(counts.tolist(), multinomial(counts, np.array([votes]))[0], strict=True):
        exact = Fraction(math.factorial(K), math.prod(map(math.factorial, n)))
        for p, count in zip(votes, n, strict=True):
            exact *= Fraction(p) ** count
        if exact == 0 or exact > Fraction(2.0**-1000):
            assert abs(Fraction(float(got)) - exact) <= 4 * Fraction(ULP) * exact
        else:
            assert 0 <= got <= 2.0**-999


def test_many_classes_are_no_more_than_long_rows() -> None:
    """Of a thousand classes of equal chance: 6 ways to have three different votes, 3 to have a pair."""
    counts = np.zeros((3, 1000), dtype=np.int64)
    counts[0, :3], counts[1, :2], counts[2, -1] = 1, (2, 1), 3
    chance = multinomial(counts, np.full((1, 1000), 1e-3))[0]
    assert chance == pytest.approx([6e-9, 3e-9, 1e-9], rel=1e-12)


@pytest.mark.parametrize(("K", "C"), [(5, 3), (11, 3), (7, 4), (5, 5)])
def test_the_most_voted_class_costs_nothing_by_its_own_rule(K: int, C: int) -> None:
    problem, counts = problem_of([K], C), count_vectors(K, C)
    release = (counts == counts.max(axis=1, keepdims=True)).astype(float)
    release /= release.sum(axis=1, keepdims=True)
    assert np.sum(objectives.rule("plurality", [0.6]).costs(problem) * release) == 0
    chance = objectives.rule([1.0], [0.6]).chances(problem)  # type: ignore[attr-defined]
    assert chance.shape == (C, len(counts))
    assert chance.sum() == pytest.approx(1, abs=1e-14)


def test_the_truth_of_the_most_voted_class_of_three_voters() -> None:
    """With accuracy a and three classes: right if two or three voters are, and in a third of the cases without pair."""
    a, problem, counts = 0.6, problem_of([3], 3), count_vectors(3, 3)
    release = (counts == counts.max(axis=1, keepdims=True)).astype(float)
    release /= release.sum(axis=1, keepdims=True)
    right = a**3 + 3 * a**2 * (1 - a) + 6 * a * ((1 - a) / 2) ** 2 / 3
    assert np.sum(objectives.truth([a]).costs(problem) * release) == pytest.approx(1 - right, abs=1e-15)


@pytest.mark.parametrize(("K", "C", "agrees"), [(11, 3, 0.7424), (11, 4, 0.7372)])
def test_three_voters_of_many_agree_with_the_most_voted_class(K: int, C: int, agrees: float) -> None:
    """Three voters are drawn, and their most-voted class is released: figures of independent code."""
    problem, counts, few = problem_of([K], C), count_vectors(K, C), count_vectors(3, C)
    answer = (few == few.max(axis=1, keepdims=True)).astype(float)
    answer /= answer.sum(axis=1, keepdims=True)
    drawn = np.array(
        [[math.prod(map(math.comb, n, m)) / math.comb(K, 3) for m in few.tolist()] for n in counts.tolist()]
    )
    cost = np.sum(objectives.rule("plurality", [0.6]).costs(problem) * (drawn @ answer))
    assert 1 - cost == pytest.approx(agrees, abs=5e-5)


def test_two_classes_are_binomials() -> None:
    problem = problem_of([5, 3], 2)
    tables, prior = [[[0.9, 0.1], [0.25, 0.75]], [[0.6, 0.4], [0.4, 0.6]]], [0.3, 0.7]
    each = [
        [binom.pmf(np.arange(K + 1), K, table[y][1]) for y in (0, 1)] for K, table in zip((5, 3), tables, strict=True)
    ]
    joint = [np.multiply.outer(prior[y] * each[0][y], each[1][y]) for y in (0, 1)]
    wanted = np.stack([5 * joint[1], joint[0]], axis=-1)
    assert objectives.truth(tables, prior, [[0, 5], [1, 0]]).costs(problem) == pytest.approx(wanted, rel=1e-14)


def test_what_nobody_says_costs_what_the_prior_says() -> None:
    problem = problem_of([2, 1], 3, none=True)
    truth = objectives.truth([0.8, 0.7], [0.5, 0.3, 0.2], none=0.25)
    assert truth.costs_without_votes(problem) == pytest.approx([0.5, 0.7, 0.8, 0.25], abs=1e-15)
    rule = objectives.rule("plurality", [0.8, 0.7], none=0.25)
    assert rule.costs_without_votes(problem).tolist() == [0, 0, 0, 0.25]
    second = objectives.rule(lambda n: int(n[0, 0] == 2), [0.8, 0.7], none=0.25, problem=problem)
    assert second.costs_without_votes(problem).tolist() == [1, 0, 1, 0.25]


def test_a_function_takes_who_is_absent_for_the_first_class() -> None:
    problem = problem_of([3, 2], 3)
    function = objectives.rule(lambda n: int(n[0, 0] + 2 * n[1, 2]) % 3, [0.8, 0.7], problem=problem)
    for present in ((1, 2), (3, 1), (2, 0), (0, 2)):
        fewer = problem.with_present(present)
        costs = function.with_present(present).costs(fewer)
        chance = objectives.rule("plurality", [a for a, n in zip([0.8, 0.7], present, strict=True) if n])
        each = chance.chances(fewer).sum(axis=0)  # type: ignore[attr-defined]
        for row in np.ndindex(*fewer.table_shape):
            own = iter(zip(row, fewer.groups, strict=True))
            votes = np.zeros((2, 3), dtype=int)
            for g, count in enumerate(present):
                if count:
                    place, group = next(own)
                    votes[g] = count_vectors(group.count, 3)[place]
                votes[g, 0] += (3, 2)[g] - count
            right = int(votes[0, 0] + 2 * votes[1, 2]) % 3
            assert costs[row] == pytest.approx(each[row] * (np.arange(3) != right), abs=1e-15)


PROBLEM = problem_of([2, 1], 3)
STORED = [
    objectives.truth([0.8, 0.7]),
    objectives.truth([0.8, 0.7], none=0.25),
    objectives.truth([0.8, 0.7], [0.5, 0.3, 0.2], none=0.25),
    objectives.truth([0.8, [[0.5, 0.25, 0.25], [0, 1, 0], [0.1, 0.2, 0.7]]]),
    objectives.truth([0.8, 0.7], cost=[[0, 1, 2], [3, 0, 1], [1, 1, 0], [0.5, 0.25, 0.125]]),
    objectives.rule("plurality", [0.8, 0.7], [0.5, 0.3, 0.2]),
    objectives.rule("plurality", [0.8, 0.7], none=0.25),
    objectives.rule("majority", [0.8, 0.7]),
    objectives.rule([1.0, 2.0], [0.8, 0.7], [0.5, 0.3, 0.2], none=1.5),
    objectives.rule(objectives.at_least(2), [0.8, 0.7], none=0.5),
    objectives.rule(lambda n: int(n[0, 1] > 0), [0.8, 0.7], problem=PROBLEM),
    objectives.costs(np.random.default_rng(0).random((*PROBLEM.table_shape, 4))),
]


@pytest.mark.parametrize("objective", STORED, ids=str)
def test_files_give_the_same_objective(objective: objectives.Objective) -> None:
    stored = json.loads(json.dumps(objective.as_dict()))
    again = objectives.from_dict(stored)
    assert again == objective
    assert hash(again) == hash(objective)
    assert again.as_dict() == objective.as_dict()
    others = [other for other in STORED if other is not objective]
    assert objective not in others


def test_what_a_problem_spells_out_is_kept_whole() -> None:
    for objective in (objectives.truth([0.8, 0.7]), objectives.rule("plurality", [0.8, 0.7])):
        own = objective.of(PROBLEM)
        assert own.of(PROBLEM) == own
        again = objectives.from_dict(json.loads(json.dumps(own.as_dict())))
        assert again == own
        assert np.array_equal(again.costs(PROBLEM), objective.costs(PROBLEM))


def test_files_of_two_classes_are_written_as_ever() -> None:
    table = ((0.75, 0.25), (0.25, 0.75))
    even = {"confusion": (table,), "prior": (0.5, 0.5)}
    assert objectives.truth([0.75]).as_dict() == {"kind": "truth", **even, "cost": ((0.0, 1.0), (1.0, 0.0))}
    majority = {"kind": "rule", **even, "name": "majority", "right": None, "numbers": ()}
    assert objectives.rule("plurality", [0.75]).as_dict() == majority
    assert objectives.rule("majority", [0.75]) == objectives.rule("plurality", [[[0.75, 0.25], [0.25, 0.75]]])


TABLE3 = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]


@pytest.mark.first(10)
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: objectives.truth([[[0.5, 0.5]]]), r"A table of accuracy must have shape \(C, C\), C >= 2\. Got shape"),
        (lambda: objectives.truth([[[1.0]]]), r"A table of accuracy must have shape \(C, C\), C >= 2"),
        (lambda: objectives.truth([[[0.8, 0.1], [0.2, 0.8]]]), "A table of accuracy must be rows that sum to 1"),
        (lambda: objectives.truth([0.8], [1.0]), "prior must be a probability for each of two or more classes"),
        (lambda: objectives.truth([0.8], [0.5, 0.25, 0.5]), "prior must be probabilities that sum to 1"),
        (lambda: objectives.truth([0.8], cost=[[0, 1, 1], [1, 0, 1]]), r"cost must have shape \(C, C\), or \(C \+ 1"),
        (lambda: objectives.truth([0.8], cost=[[0.0], [1.0]]), r"cost must have shape \(C, C\).*Got shape \(2, 1\)"),
        (lambda: objectives.truth([0.8], cost=np.zeros((3, 3))), "cost must have an entry above 0"),
        (lambda: objectives.truth([0.8], cost=np.ones((4, 3)), none=0.3), 'cost has a row for the answer "none" al'),
        (lambda: objectives.truth([0.8], none=-0.1), r"none must be finite and at least 0\. Got -0\.1"),
        (lambda: objectives.truth([0.8], none=math.nan), r"none must be finite and at least 0\. Got NaN"),
        (lambda: objectives.rule("plurality", [0.8], none=math.inf), r"none must be finite and at least 0\. Got inf"),
        (lambda: objectives.truth([TABLE3], [0.5, 0.5]), r"same number of classes\. Got accuracy for 3, prior for 2\."),
        (lambda: objectives.truth([0.8], [0.5, 0.5], np.ones((3, 3))), r"Got prior for 2, cost for 3\."),
        (lambda: objectives.truth([TABLE3, [[1, 0], [0, 1]]]), r"Got accuracy for 3, accuracy for 2\."),
        (lambda: objectives.rule(objectives.at_least(2), [TABLE3]), r"Got accuracy for 3, at_least\(k\) for 2\."),
        (
            lambda: objectives.rule(lambda n: 0, [0.8, 0.7], [0.5, 0.5], problem=PROBLEM),
            r"Got prior for 2, function for 3\.",
        ),
        (
            lambda: objectives.rule(lambda n: 3, [0.8, 0.7], problem=PROBLEM),
            r"must answer a class, 0 to 2\. Got 3 for the counts \(\[2, 0, 0\], \[1, 0, 0\]\)",
        ),
        (lambda: objectives.rule(lambda n: -1, [0.8], problem=problem_of([2], 2)), r"must answer 0 or 1\. Got -1"),
        (lambda: objectives.costs([1.0, 2.0]), r"must have shape \(\*problem\.table_shape, n_answers\)\. Got \(2,\)"),
        (
            lambda: objectives.costs([[1.0], [2.0]]),
            r"must have shape \(\*problem\.table_shape, n_answers\)\. Got \(2, 1\)",
        ),
    ],
)
def test_what_is_no_objective_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        make()


NONE = problem_of([2, 1], 3, none=True)


@pytest.mark.parametrize(
    ("objective", "problem", "said"),
    [
        (objectives.truth([0.8]), PROBLEM, r"accuracy must have one entry for each of 2 groups\. Got 1\."),
        (
            objectives.truth([TABLE3] * 2),
            problem_of([2, 1], 4),
            r"for 3 classes by its accuracy\. The problem has 4\. Pa",
        ),
        (objectives.truth([0.8] * 2, [0.5, 0.5]), PROBLEM, r"for 2 classes by its prior\. The problem has 3\."),
        (
            objectives.truth([0.8] * 2, [0.5, 0.5], [[0, 1], [1, 0]]),
            PROBLEM,
            r"for 2 classes by its prior and cost\. The problem has 3\.",
        ),
        (objectives.truth([0.8] * 2), NONE, r'cost must have a last row for the answer "none".*none=0\.3'),
        (objectives.truth([0.8] * 2, none=0.3), PROBLEM, r'cost has a last row for the answer "none".*none=True'),
        (objectives.rule("plurality", [0.8] * 2), NONE, r'A rule needs what the answer "none" costs.*none=0\.3'),
        (objectives.rule("plurality", [0.8] * 2, none=0.3), PROBLEM, r'This rule says what the answer "none" costs'),
        (objectives.rule("majority", [0.8] * 2), PROBLEM, r'of 3 none may have more than half.*Pass "plurality"'),
        (objectives.rule(objectives.at_least(1), [0.8] * 2), PROBLEM, r"for 2 classes by its at_least\(k\)\. The prob"),
        (objectives.rule([1.0], [0.8] * 2), PROBLEM, r"one weight for each of 2 groups\. Got 1\."),
        (
            objectives.rule(lambda n: 0, [0.8] * 2, problem=PROBLEM),
            problem_of([2, 2], 3),
            r"This rule was made for tables of shape \(6, 3\)\. Got \(6, 6\)\.",
        ),
        (
            objectives.costs(np.ones((6, 3, 3))),
            NONE,
            r"tables of shape \(6, 3\) and 3 answers\. Got \(6, 3\) and 4\.",
        ),
        (objectives.truth([0.8]), problem_of([100], 5), r"at most 5,000,000 entries.*Got 22,990,630\."),
    ],
    ids=str,
)
def test_an_objective_that_does_not_fit_is_refused(
    objective: objectives.Objective, problem: DecisionProblem, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        objective.costs(problem)
    if "entries" not in said:
        counts = [[[group.count, *[0] * (problem.n_classes - 1)] for group in problem.groups]]
        with pytest.raises(InputError, match=said):
            objective.costs_at(problem, counts)
        with pytest.raises(InputError, match=said):
            objective.symmetric(problem)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([[[2, 0, 0]]], r"counts must be integers of shape \(m, 2, 3\)"),
        ([[2, 0, 0], [1, 0, 0]], r"counts must be integers of shape \(m, 2, 3\)"),
        ([[[2, 0, 0], [1, 1, 0]]], r"counts of group 2 must sum to its 1 voters\. Got \[1, 1, 0\]"),
        ([[[3, -1, 0], [1, 0, 0]]], r"counts must be integers finite and at least 0\. Got -1"),
        ([[[1.5, 0.5, 0], [1, 0, 0]]], r"counts must be integers finite and at least 0\. Got 1\.5"),
    ],
)
def test_counts_are_those_of_the_voters(counts: Any, said: str) -> None:
    for objective in (objectives.truth([0.8] * 2), objectives.rule("plurality", [0.8] * 2)):
        with pytest.raises(InputError, match=said):
            objective.costs_at(PROBLEM, counts)


def test_large_problems_are_costed_where_they_are_asked() -> None:
    """4.6 million vectors of a hundred votes for five classes: three of them."""
    problem = problem_of([100], 5)
    counts = np.array([[[100, 0, 0, 0, 0]], [[20, 20, 20, 20, 20]], [[60, 10, 10, 10, 10]]])
    got = objectives.rule("plurality", [0.6]).costs_at(problem, counts)
    assert np.array_equal(got == 0, [[True, *[False] * 4], [True] * 5, [True, *[False] * 4]])
    assert objectives.truth([0.6]).symmetric(problem)

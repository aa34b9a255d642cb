"""The cases that a decision between several classes goes through: how many there are, and that none is missing."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

import darrm
from darrm import DecisionProblem, VoterGroup
from darrm.certificate import class_cases
from darrm.certificate.class_cases import level, one_more, sure_votes
from darrm.problem import class_corners, counts
from darrm.problem.class_corners import ClassCase, GroupOfCase, entries, kinds_of, n_cases
from darrm.problem.class_votes import class_probabilities, votes_up_to_names, ways

Case = tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]
SIZES = [(2, 2, 4), (3, 2, 4), (3, 2, 3), (4, 2, 3), (5, 2, 2), (2, 4, 3), (3, 4, 2), (4, 4, 1)]


def plain(C: int, outcomes: int, K: int, n: int) -> Iterator[Case]:
    """Every multiset of n kinds with every way in which the other voters surely vote."""
    kinds = [kind for kind in itertools.product(range(C), repeat=outcomes) if kind != kind[::-1]]
    for multiset in itertools.combinations_with_replacement(kinds, n):
        for sure in itertools.combinations_with_replacement(range(C), K - n):
            yield multiset, tuple(sure.count(c) for c in range(C))


def renamed(case: Case, order: tuple[int, ...]) -> Case:
    """Class c is called order[c]."""
    kinds, sure = case
    votes = [0] * len(sure)
    for c, count in enumerate(sure):
        votes[order[c]] = count
    return tuple(sorted(tuple(order[c] for c in kind) for kind in kinds)), tuple(votes)


def canonical(case: Case) -> Case:
    return min(renamed(case, order) for order in itertools.permutations(range(len(case[1]))))


def listed(C: int, outcomes: int, K: int, n: int, *, alike: bool) -> list[Case]:
    """The cases of the engine."""
    kinds, found = kinds_of(C, outcomes), []
    for touched, block in level(C, outcomes, n, alike=alike).items():
        for places in block.kinds.tolist():
            multiset = tuple(sorted(kinds[place] for place in places))
            found += [(multiset, tuple(votes)) for votes in sure_votes(K - n, C, touched).tolist()]
    return found


@pytest.mark.parametrize(("C", "outcomes", "K"), SIZES)
def test_every_case_is_there_up_to_names(C: int, outcomes: int, K: int) -> None:
    for n in range(K + 1):
        every = set(plain(C, outcomes, K, n))
        ordered = listed(C, outcomes, K, n, alike=False)
        assert len(ordered) == len(every) == n_cases(K, C, outcomes, K, alike=False)[n]
        assert set(ordered) == every
        up_to_names = {canonical(case) for case in every}
        assert len(up_to_names) == n_cases(K, C, outcomes, K, alike=True)[n]
        assert {canonical(case) for case in listed(C, outcomes, K, n, alike=True)} == up_to_names


@pytest.mark.parametrize(
    ("C", "K", "t", "cases"), [(3, 11, 11, 12660), (4, 11, 11, 324659), (10, 7, 7, 74389), (10, 11, 3, 22_582)]
)
def test_counts_of_larger_problems(C: int, K: int, t: int, cases: int) -> None:
    """By another way than cycles of kinds: nearly as many multisets are kept, each level by itself."""
    own = n_cases(K, C, 2, t, alike=True)
    assert sum(own) == cases
    if cases < 100_000:
        kept = [
            sum(
                len(block.kinds) * len(sure_votes(K - n, C, touched))
                for touched, block in level(C, 2, n, alike=True).items()
            )
            for n in range(t + 1)
        ]
        assert all(few <= many for few, many in zip(own, kept, strict=True))
        assert sum(kept) < 1.5 * cases * 2


@pytest.mark.thorough
def test_counting_thirty_classes_is_quick() -> None:
    problem = DecisionProblem([VoterGroup(2, 1.0, 1e-3)], 1.0, 0.5, 30)
    assert entries(problem, alike=True) == 60_060
    assert entries(problem, alike=True, pure=True) == 330


@pytest.mark.thorough
def test_more_kinds_than_16_bits_number() -> None:
    """20^4 maps; those of the second voter have numbers above 2^15."""
    assert level(20, 4, 1, alike=True)[4].kinds.dtype == np.int32
    before = class_cases.level(20, 4, 1, alike=True)
    assert sum(len(block.kinds) for block in before.values()) == n_cases(1, 20, 4, 1, alike=True)[1]
    places = np.concatenate([block.kinds.ravel() for block in level(20, 4, 2, alike=True).values()])
    assert places.min() >= 0
    assert places.max() > 2**15


@pytest.mark.thorough
def test_different_multisets_of_one_hash_are_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """And then every case is still there."""
    level.cache_clear()
    monkeypatch.setattr(class_cases, "_mixed", lambda values: values * np.uint64(0))
    try:
        for n in range(3):
            up_to_names = {canonical(case) for case in plain(3, 4, 2, n)}
            assert {canonical(case) for case in listed(3, 4, 2, n, alike=True)} == up_to_names
    finally:
        level.cache_clear()


def test_of_few_classes_each_multiset_is_kept_once() -> None:
    for n in range(5):
        for touched, block in level(3, 2, n, alike=True).items():
            own = [tuple(kinds_of(3, 2)[place] for place in places) for places in block.kinds.tolist()]
            names = {canonical((multiset, (touched, 0, 0))) for multiset in own}
            assert len(names) == len(own)


@pytest.mark.parametrize("touched", [0, 2, 4])
def test_one_more_sure_vote_is_found_under_its_new_name(touched: int) -> None:
    C, total, answers = 4, 3, 5
    for parents in range(touched + 1) if touched < C else (C,):
        for voted in range(C):
            found = one_more(total, C, touched, voted, parents, answers, alike=True).reshape(-1, answers)
            parent_votes = sure_votes(total + 1, C, parents)
            for votes, places in zip(sure_votes(total, C, touched).tolist(), found.tolist(), strict=True):
                votes[voted] += 1
                row, answer = {place // answers for place in places}, [place % answers for place in places]
                (there,) = (parent_votes[r].tolist() for r in row)
                assert sorted(answer) == list(range(answers))
                assert answer[C] == C
                assert answer[:parents] == list(range(parents))
                assert [there[answer[c]] for c in range(C)] == votes


def test_vectors_of_votes_and_their_places() -> None:
    for total, C in ((0, 3), (4, 2), (5, 3), (3, 5), (1, 1)):
        vectors = counts.count_vectors(total, C)
        plainly = sorted((v for v in itertools.product(range(total + 1), repeat=C) if sum(v) == total), reverse=True)
        assert vectors.tolist() == [list(v) for v in plainly]
        assert counts.places(vectors).tolist() == list(range(len(vectors)))
        assert counts.Ranking(vectors, total + 1).of(vectors[::-1]).tolist() == list(range(len(vectors)))[::-1]
        in_order = [v for v in plainly if list(v) == sorted(v, reverse=True)]
        assert counts.sorted_counts(total, C).tolist() == [list(v) for v in in_order]
        assert counts.n_sorted_counts(total, C) == len(in_order)


def test_ways_to_name_sorted_votes_are_all_votes() -> None:
    for groups, C in (([5], 3), ([2, 2], 3), ([1, 1, 1], 4)):
        problem = DecisionProblem([VoterGroup(count, 1.0) for count in groups], 1.0, 0.0, C)
        assert math.fsum(ways(votes_up_to_names(problem)).tolist()) == math.prod(problem.table_shape)


@pytest.mark.thorough
def test_equal_multisets_are_kept_once_where_names_are_told_apart() -> None:
    """Few are kept twice: without the telling apart of names the engine would be right, and slow."""
    for C, n in ((3, 5), (4, 4), (6, 3)):
        every = Counter(canonical((kinds, (0,) * C)) for kinds, _ in listed(C, 2, n, n, alike=True))
        assert sum(every.values()) <= 1.1 * len(every)


def test_designs_of_many_classes_say_what_they_should() -> None:
    problem = DecisionProblem([VoterGroup(2, math.inf)], 1.0, 0.0, 12, 1)
    design = darrm.solve(problem, objective=darrm.objectives.rule("plurality", [0.5]))
    assert design.certificate.holds
    assert design.table.shape == (2, 12)
    assert design.certificate.tight_epsilon == pytest.approx(1.0, rel=1e-9)


def test_what_is_too_large_names_what_would_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer reached voters if that is enough, else fewer classes, else fewer voters; one more would not fit."""
    problem = DecisionProblem([VoterGroup(6, 1.0)], 1.0, classes=4, max_affected=3)

    def size(classes: int, reached: int) -> int:
        smaller = DecisionProblem(problem.groups, 1.0, classes=classes, max_affected=reached)
        return entries(smaller, alike=False, pure=True)

    def said(most: int, of: DecisionProblem = problem) -> str:
        monkeypatch.setattr(class_corners, "MAX_ENTRIES", most)
        return class_corners.nearest_that_fits(of, alike=False)

    assert said(size(4, 2)).startswith("max_affected = 2 would fit")
    assert said(size(4, 2) - 1).startswith("max_affected = 1 would fit")
    one = DecisionProblem(problem.groups, 1.0, classes=4, max_affected=1)
    assert said(size(3, 1), one) == "3 classes would fit."
    assert said(size(3, 1) - 1, one) == "2 classes would fit."
    assert said(size(2, 1) - 1, one) == "Fewer voters would fit."


@pytest.mark.parametrize("K", [1, 2, 3, 5])
def test_a_symmetric_table_is_read_by_any_votes(K: int) -> None:
    """Each vector of counts has the row of its sorted votes, with the masses at their classes; "none" stays."""
    problem = DecisionProblem([VoterGroup(K, 1.0)], 1.0, classes=3, none=True)
    table = np.random.default_rng(K).random((len(counts.sorted_counts(K, 3)), 4))
    for row, masses in zip(counts.sorted_counts(K, 3).tolist(), table.tolist(), strict=True):
        for renaming in itertools.permutations(range(3)):
            votes = np.array([[[row[c] for c in renaming]]])
            found = class_probabilities(table, problem, votes)[0].tolist()
            ties = [[masses[i] for i in range(3) if row[i] == count] for count in row]
            assert found[3] == masses[3]
            assert all(found[place] in ties[c] for place, c in enumerate(renaming))
            assert sorted(found[:3]) == sorted(masses[:3])


def test_voters_of_a_case_are_named() -> None:
    moves = GroupOfCase((((0, 2), 3), ((1, 0, 2), 1)), (4, 0, 5))
    assert ClassCase((1, 2), (moves,)).named() == {
        "answer 1": 1,
        "answer 2": 1,
        "group 1 from 0 to 2": 3,
        "group 1 at (1, 0, 2)": 1,
        "group 1 surely 0": 4,
        "group 1 surely 2": 5,
    }

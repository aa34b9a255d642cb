"""What is proved of voters whose randomizer is known, against every coin of every voter, in exact fractions.

`rows`, `recursion` and `Achieved` compute what the theorem says; `by_coins` draws all votes and uses none of it.
"""

import json
import math
import random
from fractions import Fraction as F
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from cases import slow, thorough
from oracles.known_voters import (
    Achieved,
    Channel,
    Counts,
    Group,
    Release,
    Voter,
    by_coins,
    by_ones,
    convolved,
    counts_of,
    every_vote,
    exponential,
    majority,
    needed_delta,
    of_truths,
    recursion,
    response,
    rows,
    sure,
    tight_epsilon,
    voter_by_voter,
    voters_of,
)

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "known_randomizers.json").read_text())
TENTH, QUARTER, THREE = response(2, F(9)), response(2, F(3)), response(3, F(3))
SKEWED: Channel = ((F(3, 4), F(1, 4)), (F(1, 8), F(7, 8)))
SILENT: Channel = ((F(1, 2), F(1, 4), F(1, 4)), (F(1, 8), F(5, 8), F(1, 4)))  # the third vote is for no answer
UNSURE: Channel = (*THREE, (F(1, 3),) * 3)  # a fourth truth that prefers no answer


def eighths(shape: tuple[int, ...], seed: int) -> Release:
    """Random chances of answer 1, for groups that vote 0 or 1."""
    rng = random.Random(seed)
    X = {n: F(rng.randrange(9), 8) for n in product(*(range(count + 1) for count in shape))}
    return lambda votes: (1 - X[tuple(own[1] for own in votes)], X[tuple(own[1] for own in votes)])


def shares(voters: int, kinds: int, answers: int, seed: int) -> Release:
    """Random chances of several answers, for one group."""
    rng = random.Random(seed)
    weights = {(counts,): [rng.randrange(1, 7) for _ in range(answers)] for counts in counts_of(voters, kinds)}
    return lambda votes: tuple(F(x, sum(weights[votes])) for x in weights[votes])


def attacked(release: Release, groups: list[Group], queries: int, a: F, affected: int | None = None) -> F:
    """The largest excess over every set of reached voters, coin by coin."""
    most = sum(group.reach for group in groups) if affected is None else affected
    sets = product(*(range(group.reach + 1) for group in groups))
    of_votes = voter_by_voter(release, groups)
    return max(by_coins(of_votes, voters_of(groups, moved), queries, a) for moved in sets if sum(moved) <= most)


# One label


@pytest.mark.every
@pytest.mark.parametrize("channel", [TENTH, SKEWED, SILENT, THREE, UNSURE])
def test_votes_are_counted_alike_by_listing_and_one_by_one(channel: Channel) -> None:
    for truths in counts_of(3, len(channel)):
        voters = [channel[truth] for truth, n in enumerate(truths) for _ in range(n)]
        assert convolved(voters, len(channel[0])) == {counts: p for counts, p in every_vote(voters).items() if p}


ONE_LABEL: list[tuple[Release, list[Group]]] = [
    (eighths((3,), 1), [Group(3, 1, TENTH)]),
    (eighths((4,), 2), [Group(4, 2, SKEWED, 1)]),
    (eighths((4,), 3), [Group(4, 3, QUARTER)]),
    (eighths((2, 2), 4), [Group(2, 1, TENTH), Group(2, 2, SKEWED)]),
    (eighths((2, 2), 5), [Group(2, 1, TENTH, 1), Group(2, 1, None, ratio=F(2))]),
    (eighths((1, 3), 6), [Group(1, 1, TENTH), Group(3, 2, None, ratio=F(3, 2))]),
    (shares(3, 3, 3, 7), [Group(3, 1, THREE)]),
    (shares(4, 3, 3, 8), [Group(4, 2, THREE, 1)]),
    (shares(3, 3, 2, 9), [Group(3, 1, SILENT)]),
    (shares(4, 3, 2, 10), [Group(4, 1, SILENT, 1)]),
    (shares(3, 3, 3, 11), [Group(3, 2, UNSURE)]),
]


@pytest.mark.every
@pytest.mark.parametrize("case", range(len(ONE_LABEL)))
def test_one_label_is_a_function_of_the_truths(case: int) -> None:
    release, groups = ONE_LABEL[case]
    pairs = rows(release, groups)
    for a in (F(1), F(9, 8), F(3, 2), F(3)):
        assert needed_delta(pairs, a) == recursion(pairs, 1, a) == attacked(release, groups, 1, a)


@pytest.mark.every
@pytest.mark.parametrize(("K", "t", "c"), [(3, 1, 0), (5, 2, 0), (6, 6, 0), (6, 3, 1), (6, 2, 4)])
def test_rows_are_all_ordered_pairs_of_numbers_of_true_ones(K: int, t: int, c: int) -> None:
    table = [F(n * n + 1, K * K + 3) for n in range(K + 1)]
    pairs = [(P[1], Q[1]) for P, Q in rows(by_ones(table), [Group(K, t, TENTH, c)]) if P != Q]
    if not c:
        assert len(pairs) == 2 * t * K - t * (t - 1)
    expected = set()
    for k in range(c + 1):
        f = of_truths(table, TENTH, k, c)
        expected |= {(f[i], f[j]) for i, j in product(range(len(f)), repeat=2) if 0 < abs(i - j) <= t}
    assert set(pairs) == expected


def test_how_many_pairs_of_truths_of_classes_there_are() -> None:
    """One voter of K changes between two of C classes, and the others are anywhere."""
    for K, C in ((3, 3), (2, 4)):
        pairs = rows(shares(K, C, 7, 12), [Group(K, 1, response(C, F(3)))])
        assert len([P for P, Q in pairs if P != Q]) == C * (C - 1) * math.comb(K + C - 2, C - 1)


@pytest.mark.thorough
def test_less_noise_than_stated_is_not_covered_and_more_is() -> None:
    """Of a voter only a floor of Pr[vote] is used: laws between those of the truths are mixtures of them."""
    release = by_ones(majority(2))
    between: Channel = (*TENTH, (F(2, 5), F(3, 5)), (F(4, 5), F(1, 5)))
    for a in (F(1), F(3, 2)):
        stated = recursion(rows(release, [Group(2, 1, TENTH)]), 2, a)
        assert attacked(release, [Group(2, 1, between)], 2, a) == stated
        assert attacked(release, [Group(2, 1, response(2, F(8)))], 2, a) < stated
        assert attacked(release, [Group(2, 1, response(2, F(10)))], 2, a) > stated


def test_if_all_others_collude_two_answers_are_as_of_any_mechanism() -> None:
    release = eighths((4,), 2)
    known, anything = rows(release, [Group(4, 1, QUARTER, 3)]), rows(release, [Group(4, 1, None, ratio=F(3))])
    for queries in (1, 2):
        for a in (F(1), F(4, 3), F(2)):
            assert recursion(known, queries, a) == recursion(anything, queries, a)
    # Of several reached voters some can be at their corners while others are sure.
    assert needed_delta(rows(release, [Group(4, 2, QUARTER, 2)]), F(1)) <= needed_delta(
        rows(release, [Group(4, 2, None, ratio=F(3))]), F(1)
    )


def test_if_all_others_collude_more_answers_are_better_than_of_any_mechanism() -> None:
    """Response between three answers is less revealing of two of them together than an e^epsilon = 3 mechanism."""

    def two_of_three(votes: tuple[Counts, ...]) -> tuple[F, ...]:
        return (F(votes[0][2]), F(1 - votes[0][2]))

    assert needed_delta(rows(two_of_three, [Group(1, 1, THREE)]), F(1)) == F(2, 5)
    anything: Channel = ((F(3, 8), F(3, 8), F(1, 4)), (F(1, 8), F(1, 8), F(3, 4)))
    assert all(max(p / q, q / p) <= 3 for p, q in zip(*anything, strict=True))
    assert needed_delta(rows(two_of_three, [Group(1, 1, anything)]), F(1)) == F(1, 2)


# Many labels


@pytest.mark.every
@pytest.mark.parametrize("entry", GOLDEN["recursion_exact"])
def test_recursion(entry: dict[str, Any]) -> None:
    ratio = 1 / F(entry["lam"]) - 1
    pairs = rows(by_ones(majority(entry["K"])), [Group(entry["K"], entry["t"], response(2, ratio), entry["c"])])
    assert recursion(pairs, entry["Q"], F(entry["a"])) == F(entry["V"])
    assert Achieved(pairs, entry["Q"]).excess(F(entry["a"])) == F(entry["V"])


@pytest.mark.every
@pytest.mark.parametrize("entry", [entry for entry in GOLDEN["recursion_exact"] if (entry["t"], entry["Q"]) != (2, 2)])
def test_recursion_by_coins(entry: dict[str, Any]) -> None:
    group = Group(entry["K"], entry["t"], response(2, 1 / F(entry["lam"]) - 1), entry["c"])
    assert attacked(by_ones(majority(entry["K"])), [group], entry["Q"], F(entry["a"])) == F(entry["V"])


MANY: list[tuple[Release, list[Group], int]] = [
    (eighths((3,), 21), [Group(3, 1, TENTH)], 2),
    (eighths((3,), 22), [Group(3, 1, SKEWED)], 2),
    (eighths((3,), 23), [Group(3, 2, SKEWED)], 2),
    (eighths((4,), 24), [Group(4, 1, TENTH, 1)], 2),
    (eighths((2,), 25), [Group(2, 1, TENTH)], 3),
    (eighths((3,), 26), [Group(3, 1, QUARTER, 1)], 1),
    (eighths((2, 1), 27), [Group(2, 1, SKEWED), Group(1, 1, TENTH)], 2),
    (eighths((2, 1), 28), [Group(2, 1, SKEWED), Group(1, 1, None, ratio=F(2))], 2),
    (eighths((2, 1), 29), [Group(2, 1, TENTH, 1), Group(1, 1, None, ratio=F(2))], 2),
    (shares(2, 3, 3, 30), [Group(2, 1, THREE)], 2),
    (shares(3, 3, 3, 31), [Group(3, 1, THREE, 1)], 1),
    (shares(2, 3, 2, 32), [Group(2, 1, SILENT)], 2),
]
LONGER: list[tuple[Release, list[Group], int]] = [
    (eighths((4,), 41), [Group(4, 2, SKEWED)], 2),
    (eighths((4,), 42), [Group(4, 2, QUARTER, 1)], 2),
    (by_ones(majority(4)), [Group(4, 2, QUARTER)], 2),
]
LONGEST: list[tuple[Release, list[Group], int]] = [
    (eighths((3,), 43), [Group(3, 1, TENTH)], 3),
    (eighths((3,), 44), [Group(3, 1, SKEWED, 1)], 3),
    (eighths((2, 2), 46), [Group(2, 2, SKEWED), Group(2, 1, None, ratio=F(3, 2))], 2),
    (shares(2, 3, 3, 47), [Group(2, 1, UNSURE)], 2),
    (shares(3, 3, 2, 48), [Group(3, 1, SILENT, 1)], 2),
]


@pytest.mark.thorough
@pytest.mark.first(2, 4)
@pytest.mark.parametrize(("release", "groups", "queries"), [*MANY, *thorough(*LONGER), *slow(*LONGEST)])
def test_many_labels_are_the_recursion(release: Release, groups: list[Group], queries: int) -> None:
    pairs = rows(release, groups)
    for a in (F(1), F(5, 4), F(2))[: 4 - queries]:
        exact = Achieved(pairs, queries).excess(a)
        assert recursion(pairs, queries, a) == exact == attacked(release, groups, queries, a)


@pytest.mark.thorough
def test_lines_of_many_labels() -> None:
    pairs = rows(eighths((4,), 51), [Group(4, 1, QUARTER, 1)])
    lines = Achieved(pairs, 3)
    for a in (F(1, 2), F(1), F(7, 5), F(4), F(50)):
        assert lines.excess(a) == recursion(pairs, 3, a)
    assert Achieved(pairs, 1).least_epsilon(F(0)) == tight_epsilon(pairs)
    last = exponential(lines.least_epsilon(F(1, 1000)))
    assert lines.excess(last * F(999999, 1000000)) > F(1, 1000) > lines.excess(last * F(1000001, 1000000))
    assert Achieved([QUARTER], 4).least_epsilon(F(0)) == pytest.approx(4 * math.log(3))


def test_a_reached_voter_may_know_all_coins_of_old_votes() -> None:
    channel, release = TENTH, by_ones(majority(2))
    voters = [Voter(channel, reached=True, knows=(0, 1)), Voter(channel)]
    for a in (F(1), F(5, 4), F(2)):
        pairs = rows(release, [Group(2, 1, channel)])
        assert by_coins(voter_by_voter(release, [Group(2, 1, channel)]), voters, 2, a) == recursion(pairs, 2, a)


@pytest.mark.thorough
def test_two_reached_voters_may_tell_each_other_their_votes() -> None:
    release, group = eighths((2,), 52), Group(2, 2, SKEWED)
    voters = [Voter(SKEWED, reached=True, knows=(0, 1))] * 2
    for a in (F(1), F(5, 4)):
        assert by_coins(voter_by_voter(release, [group]), voters, 2, a) == recursion(rows(release, [group]), 2, a)


@pytest.mark.thorough
def test_a_voter_that_sees_labels_and_its_own_votes_is_a_colluder() -> None:
    """It costs more than a voter whose votes nobody knows, and at most a voter whose votes may be anything."""
    for release in (by_ones(majority(3)), eighths((3,), 53)):
        curious = [Voter(TENTH, reached=True, knows=(0,)), Voter(TENTH), Voter(TENTH, watched=True)]
        none, one = (rows(release, [Group(3, 1, TENTH, c)]) for c in (0, 1))
        for a in (F(1), F(5, 4)):
            cost = by_coins(voter_by_voter(release, [Group(3, 1, TENTH)]), curious, 2, a)
            assert recursion(none, 2, a) < cost <= recursion(one, 2, a)


@pytest.mark.thorough
def test_votes_of_others_must_not_depend_on_old_votes() -> None:
    """The second truth of each other voter is a function of its own first vote: more than the recursion."""
    figures = GOLDEN["kept_coins_of_others"]
    channel = response(2, 1 / F(figures["lam"]) - 1)
    of_votes = voter_by_voter(by_ones(majority(3)), [Group(3, 1, channel)])
    first = Voter(channel, reached=True, knows=(0,))
    honest = by_coins(of_votes, [first, Voter(channel), Voter(channel)], 2, F(1))
    one = by_coins(of_votes, [first, Voter(channel, knows=(1,)), Voter(channel)], 2, F(1))
    both = by_coins(of_votes, [first, Voter(channel, knows=(1,)), Voter(channel, knows=(2,))], 2, F(1))
    assert honest == F(figures["recursion"]) < one < both == F(figures["with_kept_coins"])


@pytest.mark.thorough
def test_a_voter_without_a_randomizer_may_keep_its_own_votes_and_no_others() -> None:
    """Its vote may be any function of its own earlier votes; as one of another voter's vote it costs more."""
    release, groups = eighths((2, 1), 5), [Group(2, 1, QUARTER), Group(1, 0, None, ratio=F(3))]
    of_votes, a = voter_by_voter(release, groups), F(3, 2)
    first, other = Voter(QUARTER, reached=True, knows=(0,)), Voter(QUARTER)
    bound = recursion(rows(release, groups, 1), 2, a)
    keeps, learns = (by_coins(of_votes, [first, other, Voter(sure(2), knows=(known,))], 2, a) for known in (2, 1))
    assert keeps == bound < learns


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, 2, 5])
def test_queries_that_depend_on_counts_cost_at_most_the_counts(seed: int) -> None:
    """The true answers are functions of all earlier votes, as if counts chose the queries."""
    rng = random.Random(seed)
    release, group, a = by_ones([F(rng.randrange(9), 8) for _ in range(3)]), Group(2, 1, QUARTER), F(3, 2)
    voters = [Voter(QUARTER, reached=True, knows=(0, 1)), Voter(QUARTER, knows=(0, 1))]
    cost = by_coins(voter_by_voter(release, [group]), voters, 2, a)
    counts = rows(lambda votes: tuple(F(votes[0][1] == ones) for ones in range(3)), [group])
    assert recursion(rows(release, [group]), 2, a) < cost <= recursion(counts, 2, a)


def test_true_answers_must_not_depend_on_votes_of_the_same_label() -> None:
    """One affected voter that sees the other two votes first, and answers by them: .19 where no delta is needed."""
    X, a = [F(3, 4), F(1, 8), F(7, 8), F(1, 4)], F(3, 2)
    release, group = by_ones(X), Group(3, 1, QUARTER)
    stated, most = needed_delta(rows(release, [group]), a), F(0)
    for ones in range(3):
        law = convolved([QUARTER[1]] * ones + [QUARTER[0]] * (2 - ones), 2)
        for answer in (0, 1):
            excess = F(0)
            for (_, others), chance in law.items():
                each = [p * X[others] + q * X[others + 1] for p, q in QUARTER]
                each = each if answer else [1 - x for x in each]
                excess += chance * (max(each) - a * min(each))
            most = max(most, excess)
    assert stated < most / 2


# A promise for each group


@pytest.mark.thorough
def test_a_promise_for_each_group() -> None:
    """Each kind of change has the recursion over its own rows; a record of both groups is a kind of its own."""
    release, groups = eighths((2, 1), 60), [Group(2, 1, SKEWED), Group(1, 1, TENTH)]
    for a in (F(1), F(4, 3)):
        each = []
        for reach in ((1, 0), (0, 1), (1, 1)):
            own = [group._replace(reach=n) for group, n in zip(groups, reach, strict=True)]
            each.append(recursion(rows(release, own), 2, a))
            assert each[-1] == by_coins(voter_by_voter(release, own), voters_of(own, reach), 2, a)
        assert max(each[:2]) < each[2]


@pytest.mark.thorough
def test_rows_of_both_kinds_together_are_an_upper_bound_alone() -> None:
    """A record is of one kind at every label, and the recursion over all rows alternates between them."""
    X = [[F(1, 2), F(1, 2)], [F(1, 4), F(1, 64)], [F(1, 64), F(0)]]
    groups = [Group(2, 1, QUARTER), Group(1, 1, TENTH)]

    def release(votes: tuple[Counts, ...]) -> tuple[F, ...]:
        x = X[votes[0][1]][votes[1][1]]
        return (1 - x, x)

    pooled = recursion(rows(release, groups, affected=1), 2, F(2))
    assert float(attacked(release, groups, 2, F(2), affected=1)) == pytest.approx(0.0950666, abs=1e-7)
    assert float(pooled) == pytest.approx(0.0990541, abs=1e-7)


# The pair at the centre


@pytest.mark.parametrize(("K", "queries"), [(3, 2), (5, 2), (7, 3)])
def test_the_pair_at_the_centre_counts(K: int, queries: int) -> None:
    """At the centre of the majority x + y = 1, but for rounding: without this pair labels would seem to cost less."""
    pairs = rows(by_ones(majority(K)), [Group(K, 1, QUARTER)])
    centre = [(P, Q) for P, Q in pairs if P != Q and P[1] + Q[1] == 1]
    assert len(centre) == 2
    others = [row for row in pairs if row not in centre]
    assert Achieved(others, queries).excess(F(1)) < Achieved(pairs, queries).excess(F(1))

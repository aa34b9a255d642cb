"""Decisions are released with exactly the chances of their tables, absent voters included."""

import copy
import itertools
import pickle
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import darrm
from darrm.design.absent import attendances
from darrm.mechanisms import PrivateDecision, coin_votes, released_votes
from darrm.randomness.coins import Coins
from darrm.randomness.words import NotPrivateWarning

GROUPS = [darrm.VoterGroup(2, epsilon=2.0), darrm.VoterGroup(3, epsilon=1.0)]
PROBLEM = darrm.DecisionProblem(GROUPS, epsilon=1.0)
TRUTH = darrm.objectives.truth([0.8, 0.6], prior=[0.25, 0.75])
DIGITS = 4  # of the binary fractions in the tables
VOTES = list(itertools.product((0, 1), repeat=5))
WITH_ABSENT = list(itertools.product((0, 1, -1), repeat=5))


def design(absent: bool = False) -> darrm.DecisionDesign:
    """Tables of all different entries as far as possible: from 6/16 to 10/16, so (1, 0)-DP whatever the voters are."""
    rng = np.random.default_rng(1)

    def table(problem: darrm.DecisionProblem) -> np.ndarray:
        return rng.integers(6, 11, problem.table_shape) / 16

    fewer = {}
    for present in attendances(PROBLEM) if absent else ():
        own = PROBLEM.with_present(present)
        fewer[present] = darrm.DecisionDesign(own, table(own), TRUTH.with_present(present))
    return darrm.DecisionDesign(PROBLEM, table(PROBLEM), TRUTH, fewer=fewer)


def chance(made: darrm.DecisionDesign, row: tuple[int, ...]) -> Fraction:
    """Pr[answer 1] of a row of votes, by what the tables say of it."""
    groups = [np.array(row[:2]), np.array(row[2:])]
    present = tuple(int((votes >= 0).sum()) for votes in groups)
    if not any(present):
        return Fraction(made.without_votes)
    ones = tuple(int((votes == 1).sum()) for votes, count in zip(groups, present, strict=True) if count)
    return Fraction(float(made.with_present(present).table[ones]))


@pytest.mark.parametrize("absent", [False, True])
def test_the_chances_are_exact_over_all_words(monkeypatch: pytest.MonkeyPatch, absent: bool) -> None:
    monkeypatch.setattr(coin_votes, "Coins", partial(Coins, word_bits=1))
    made = design(absent)
    mechanism, rows = PrivateDecision(made), WITH_ABSENT if absent else VOTES
    ones = np.zeros(len(rows), dtype=int)
    for words in itertools.product((0, 1), repeat=DIGITS):
        for i, row in enumerate(rows):
            left = iter(words)
            monkeypatch.setattr(
                released_votes,
                "word_source",
                lambda rng, stacklevel, left=left: lambda n: np.array([next(left) for _ in range(n)], dtype=np.uint64),
            )
            ones[i] += mechanism.release([row])[0]
    assert [Fraction(int(n), 2**DIGITS) for n in ones] == [chance(made, row) for row in rows]


@pytest.mark.thorough
def test_the_tables_differ_enough_to_tell_them_apart() -> None:
    made = design(absent=True)
    assert len({chance(made, row) for row in VOTES}) > 3
    assert made.without_votes == 1.0  # the likelier truth


@pytest.mark.thorough
def test_a_solved_decision_has_its_probabilities() -> None:
    """Operating-system coins; a false alarm once in a million runs, over all counts together."""
    solved = darrm.solve(PROBLEM, objective=TRUTH)
    mechanism, n = PrivateDecision(solved), 50_000
    for counts in np.ndindex(*PROBLEM.table_shape):
        ones = int(mechanism.release_counts(np.tile(counts, (n, 1))).sum())
        one = float(solved.probabilities(list(counts))[1])
        assert scipy.stats.binomtest(ones, n, one).pvalue > 1e-6 / solved.table.size


def sure() -> darrm.DecisionDesign:
    """No noise: the number of ones in the second group alone decides."""
    problem = darrm.DecisionProblem(GROUPS, epsilon=100.0)
    return darrm.DecisionDesign(problem, np.tile([0.0, 0.0, 1.0, 1.0], (3, 1)), TRUTH)


def test_columns_are_in_the_groups_order() -> None:
    rows = np.array(VOTES)
    wanted = rows[:, 2:].sum(axis=1) >= 2
    mechanism = PrivateDecision(sure())
    for given in (rows, rows.astype(bool), rows.astype(float), rows.astype(np.int8), np.asfortranarray(rows), VOTES):
        labels = mechanism.release(given)
        assert labels.dtype == np.uint8
        assert labels.tolist() == wanted.tolist()
    streamed = list(mechanism.release_blocks([rows[:7], rows[7], rows[8:]], rows=1))
    assert np.concatenate(streamed).tolist() == wanted.tolist()
    counts = np.stack([rows[:, :2].sum(axis=1), rows[:, 2:].sum(axis=1)], axis=1)
    assert mechanism.release_counts(counts).tolist() == wanted.tolist()


@pytest.mark.thorough
def test_nobody_and_no_row() -> None:
    mechanism = PrivateDecision(design(absent=True))
    assert mechanism.release(np.full((50, 5), -1)).tolist() == [1] * 50
    assert mechanism.release(np.zeros((0, 5))).shape == (0,)


@pytest.mark.parametrize(
    ("votes", "said"),
    [
        ([[0, 1, 0, 1]], r"\(n, 5\)"),
        ([0, 1, 0, 1], r"one row a query, or \(5,\)"),
        ([[0, 1, 0, 1, 2]], "Got 2 in row 0, column 4"),
        ([[0, 1, 0, 1, 0], [0, 1, -1, 1, 0]], "Got -1 in row 1, column 2"),
        ([[0, 1, float("nan"), 1, 0]], r"Got NaN \(not a number\) in row 0, column 2"),
        ([["no", "yes", "no", "no", "no"]], "dtype"),
        (np.full((1, 5), 255, dtype=np.uint8), "Got 255"),
        ("votes.csv", "read a file with darrm.votes.read"),
        (Path("votes.csv"), "read a file with darrm.votes.read"),
        (
            pd.DataFrame({"id": ["a"], **{f"h{i}": [1] for i in range(5)}}),
            "a column id: pass it to darrm.columns.release",
        ),
        (pd.DataFrame({f"h{i}": ["yes"] for i in range(5)}), "darrm.columns.release"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_votes_that_are_none(votes: object, said: str) -> None:
    with pytest.raises(darrm.InputError, match=said):
        PrivateDecision(design()).release(votes)


@pytest.mark.thorough
@pytest.mark.parametrize("bad", [255, -2, 0.5, float("nan"), 2])
def test_only_minus_one_is_an_absent_voter(bad: float) -> None:
    with pytest.raises(darrm.InputError, match=r"0, 1 or, for an absent voter, -1. Got"):
        PrivateDecision(design(absent=True)).release([[0, 1, bad, -1, 0]])


@pytest.mark.parametrize("counts", [[[3, 0]], [[0, 4]], [[-1, 0]], [[0.5, 0]], [[1, 1, 1]], [1, 1]])
def test_counts_that_are_none(counts: object) -> None:
    with pytest.raises(darrm.InputError, match="counts must be"):
        PrivateDecision(design()).release_counts(counts)


def test_a_noise_function_is_released_as_the_table_of_its_probabilities() -> None:
    made = darrm.solve(K=5, m=2, epsilon=0.5, Delta=1e-3)
    both = [PrivateDecision(made), darrm.mechanisms.DaRRM(made)]
    table = np.array([float(one) for _, one in made.encoding.exact(made.table, made.problem)])
    assert table == pytest.approx(made.release_probabilities[:, 1], abs=1e-16)
    counts, draws = np.repeat(np.arange(6), 40_000), []
    for mechanism in both:
        with pytest.warns(NotPrivateWarning):
            draws.append(mechanism.release_counts(counts, np.random.default_rng(1)).reshape(6, -1))
    assert np.array_equal(*draws)
    assert draws[0].mean(axis=1) == pytest.approx(table, abs=0.01)


@pytest.mark.thorough
def test_too_many_cases_of_absent_voters_are_refused() -> None:
    made = design(absent=True)
    assert PrivateDecision(made).release([[1, -1, 0, 1, 1]]).shape == (1,)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("darrm.mechanisms.decision.MAX_CASES", made.table.size**2 - 1)
        with pytest.raises(darrm.InputError, match="144 vectors of present voters and counts; at most 143 can"):
            PrivateDecision(made)


@pytest.mark.thorough
@pytest.mark.parametrize("again", [lambda made: pickle.loads(pickle.dumps(made)), copy.deepcopy])
def test_pickles_and_copies_release_the_same(again: object) -> None:
    for made in (sure(), design(absent=True)):
        mechanism = again(PrivateDecision(made))  # type: ignore[operator]
        assert repr(mechanism) == f"PrivateDecision({made!r})"
        with pytest.warns(NotPrivateWarning):
            first = mechanism.release(VOTES, rng=np.random.default_rng(3))
        with pytest.warns(NotPrivateWarning):
            second = PrivateDecision(made).release(VOTES, rng=np.random.default_rng(3))
        assert first.tolist() == second.tolist()


@pytest.mark.thorough
def test_saved_and_loaded_for_absent_voters(tmp_path: object) -> None:
    made = design(absent=True)
    made.save(f"{tmp_path}/decision.json")
    loaded = darrm.load(f"{tmp_path}/decision.json")
    assert isinstance(loaded, darrm.DecisionDesign)
    assert [chance(loaded, row) for row in WITH_ABSENT] == [chance(made, row) for row in WITH_ABSENT]


@pytest.mark.parametrize("kind", [list, tuple, np.array], ids=lambda kind: kind.__name__)
def test_one_row_of_votes_gives_one_label(kind: Any) -> None:
    problem = darrm.DecisionProblem([darrm.VoterGroup(3, epsilon=30.0)], 90.0)
    goal = darrm.objectives.truth([0.9])
    design = darrm.solve(darrm.MajorityProblem(3, 3, 30.0))
    decision = darrm.solve(problem, objective=goal, absent=True)
    for mechanism in (darrm.mechanisms.DaRRM(design), darrm.mechanisms.PrivateDecision(decision)):
        labels = [mechanism.release(kind(votes)) for votes in ([0, 0, 0], [1, 1, 1])]
        assert labels == [0, 1]
        assert [np.shape(label) for label in labels] == [(), ()]
        assert all(isinstance(label, np.uint8) for label in labels)
        assert mechanism.release([kind([1, 1, 1])]).tolist() == [1]
    assert darrm.mechanisms.PrivateDecision(decision).release(kind([1, -1, 1])) == 1
    for wrong in ([0, 1], [0, 1, 1, 1], [0, 1, 2], []):
        with pytest.raises(darrm.InputError):
            darrm.mechanisms.DaRRM(design).release(kind(wrong))


def test_what_is_no_array_of_votes_is_named() -> None:
    mechanism = PrivateDecision(design())
    table = darrm.votes.VotesTable(np.zeros((1, 5), dtype=np.uint8), ("1",), None)
    with pytest.raises(darrm.InputError, match=r"^votes must be an array\. Got a VotesTable: pass its \.votes\.$"):
        mechanism.release(table)  # type: ignore[arg-type]  # not what it says
    with pytest.raises(darrm.InputError, match=r"^votes must be rows of one length, shape \(n, K\) = \(n, 5\)"):
        mechanism.release([[0, 1, 0, 1, 1], [1, 0]])
    with pytest.raises(darrm.InputError, match="must be a plain array"):
        mechanism.release(np.ma.masked_array(np.zeros((1, 5)), [[False] * 4 + [True]]))

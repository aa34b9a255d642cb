"""Releases of several answers: exactly the chances that their tables mean, whatever classes are called."""

import itertools
from collections import Counter
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.stats
from cases import slow

import darrm
from darrm.mechanisms import PrivateDecision, class_votes, released_votes
from darrm.problem.class_tables import class_table, drawn, exact_rows
from darrm.problem.counts import count_vectors, sorted_counts
from darrm.randomness.choices import Choices
from darrm.randomness.words import NotPrivateWarning


def problem(*sizes: int, classes: Any, none: bool = False) -> darrm.DecisionProblem:
    return darrm.DecisionProblem([darrm.VoterGroup(size, 1.0) for size in sizes], 1.0, classes=classes, none=none)


def mechanism(of: darrm.DecisionProblem, table: Any) -> PrivateDecision:
    """Of a table that need not be private: what is drawn is the same."""
    design = object.__new__(darrm.DecisionDesign)
    for name, value in {"problem": of, "table": np.asarray(table, dtype=float), "objective": None, "fewer": {}}.items():
        object.__setattr__(design, name, value)
    return PrivateDecision(design)


def symmetric_table(of: darrm.DecisionProblem, whole: int, seed: int = 0) -> np.ndarray:
    """Entries k / whole for a power of two, as different as they may be; only the largest block's are rounded."""
    rng = np.random.default_rng(seed)
    rows = []
    for counts in sorted_counts(of.K, of.n_classes).tolist():
        blocks = [size for _, size in sorted(Counter(counts).items(), reverse=True)] + [1] * of.none
        big = int(rng.integers(len(blocks)))
        parts = [int(rng.integers(0, max(1, whole // (2 * sum(blocks))) + 1)) for _ in blocks]
        rest = whole - sum(n * part for i, (n, part) in enumerate(zip(blocks, parts, strict=True)) if i != big)
        parts[big] = rest / blocks[big]  # type: ignore[call-overload]
        rows.append([part / whole for n, part in zip(blocks, parts, strict=True) for _ in range(n)])
    return np.array(rows)


def law(of: darrm.DecisionProblem, table: np.ndarray, counts: tuple[int, ...]) -> list[Fraction]:
    """What a symmetric table of `symmetric_table` says of counts in any order, by the definition."""
    ranked = sorted(counts, reverse=True)
    row = table[sorted_counts(of.K, of.n_classes).tolist().index(ranked)].tolist()
    names: list[Any] = [*counts] + ["none"] * of.none
    places: list[Any] = [*ranked] + ["none"] * of.none
    sizes = Counter(names)
    mass = {name: sizes[name] * Fraction(row[places.index(name)]) for name in sizes}
    largest = max(mass, key=lambda name: (mass[name], -places.index(name)))
    mass[largest] = Fraction(1) - sum(value for name, value in mass.items() if name != largest)
    return [mass[name] / sizes[name] for name in names]


SYMMETRIC = [
    problem(2, classes=2, none=True),
    *slow(problem(3, classes=3), problem(4, classes=3, none=True)),
]


@pytest.mark.thorough
@pytest.mark.parametrize("of", SYMMETRIC, ids=["2 voters", "3 voters", "none"])
def test_the_chances_of_symmetric_tables_are_exact(monkeypatch: pytest.MonkeyPatch, of: darrm.DecisionProblem) -> None:
    """Over all words that choose a block, and all places in a block of 1, 2 or 3."""
    monkeypatch.setattr(class_votes, "Choices", partial(Choices, word_bits=3))
    table = symmetric_table(of, 64)
    made, rows = mechanism(of, table), list(itertools.product(range(of.n_classes), repeat=of.K))
    seen = np.zeros((len(rows), of.n_answers), dtype=int)
    for words in itertools.product(range(8), repeat=2):
        for place in range(6):
            monkeypatch.setattr(class_votes, "uniform", lambda sizes, draw, place=place: place % sizes)
            for i, row in enumerate(rows):
                left = iter(words)
                monkeypatch.setattr(
                    released_votes,
                    "word_source",
                    lambda rng, stacklevel, left=left: (
                        lambda n: np.array([next(left) for _ in range(n)], dtype=np.uint64)
                    ),
                )
                seen[i, made.release([row])[0]] += 1
    for row, found in zip(rows, seen, strict=True):
        counts = tuple(row.count(c) for c in range(of.n_classes))
        assert [Fraction(int(n), 6 * 64) for n in found] == law(of, table, counts)


@pytest.mark.parametrize("of", [problem(1, 2, classes=3), problem(3, classes=("a", "b", "c"), none=True)])
def test_the_chances_of_full_tables_are_exact(monkeypatch: pytest.MonkeyPatch, of: darrm.DecisionProblem) -> None:
    monkeypatch.setattr(class_votes, "Choices", partial(Choices, word_bits=4))
    rng = np.random.default_rng(1)
    table = rng.multinomial(16, np.ones(of.n_answers) / of.n_answers, of.table_shape) / 16
    made = mechanism(of, table)
    vectors = [count_vectors(group.count, 3).tolist() for group in of.groups]
    for row in itertools.product(range(3), repeat=of.K):
        ends = np.cumsum([0, *(group.count for group in of.groups)])
        parts = [row[start:end] for start, end in itertools.pairwise(ends)]
        at = tuple(known.index([part.count(c) for c in range(3)]) for known, part in zip(vectors, parts, strict=True))
        seen = np.zeros(of.n_answers, dtype=int)
        for word in range(16):
            monkeypatch.setattr(
                released_votes, "word_source", lambda rng, stacklevel, word=word: lambda n: np.full(n, word, np.uint64)
            )
            seen[made.release(np.array(row))] += 1
        assert (seen / 16).tolist() == table[at].tolist()


@pytest.mark.parametrize("sizes", [(7,), (3, 4), (1, 1, 2)])
@pytest.mark.parametrize("classes", [3, 5])
def test_each_vector_of_counts_has_its_own_row(sizes: tuple[int, ...], classes: int) -> None:
    """Sure answers, a different one for neighbouring rows, from votes and from counts."""
    of = problem(*sizes, classes=classes)
    wanted = np.arange(np.prod(of.table_shape)) % classes
    made = mechanism(of, np.eye(classes)[wanted].reshape(*of.table_shape, classes))
    vectors = [count_vectors(size, classes) for size in sizes]
    grid = np.array([[vectors[g][i] for g, i in enumerate(at)] for at in np.ndindex(*of.table_shape)])
    assert made.release_counts(grid).tolist() == wanted.tolist()
    votes = np.array([np.concatenate([np.repeat(np.arange(classes), part) for part in parts]) for parts in grid])
    for kind in (np.uint8, np.int64, np.float32):
        assert made.release(votes.astype(kind)).tolist() == wanted.tolist()
    if len(sizes) == 1:
        assert made.release_counts(grid[:, 0]).tolist() == wanted.tolist()


@pytest.mark.parametrize("none", [False, True])
def test_exact_rows_sum_to_one_and_are_those_of_the_definition(none: bool) -> None:
    of = problem(6, classes=4, none=none)
    table = symmetric_table(of, 2**40, seed=3)
    rows = exact_rows(table, of)
    for counts, row, stored in zip(sorted_counts(6, 4).tolist(), rows, table.tolist(), strict=True):
        assert sum(row) == 1
        assert row == law(of, table, tuple(counts))
        assert [float(p) for p in row] == stored
    full = np.random.default_rng(0).dirichlet(np.ones(of.n_answers), of.table_shape)
    for row, stored in zip(exact_rows(full, of), full.tolist(), strict=True):
        assert sum(row) == 1
        largest = stored.index(max(stored))
        assert all(row[j] == Fraction(stored[j]) for j in range(of.n_answers) if j != largest)


@pytest.mark.thorough
@pytest.mark.first(1)
@pytest.mark.parametrize("of", [problem(5, classes=4, none=True), problem(6, classes=5), problem(2, 2, classes=3)])
@pytest.mark.parametrize("symmetric", [False, True])
def test_what_is_drawn_is_as_near_to_the_table_as_its_certificate_counts(
    of: darrm.DecisionProblem, symmetric: bool
) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        if symmetric and len(of.groups) == 1:
            counts = sorted_counts(of.K, of.n_classes)
            weights = np.exp(rng.uniform(0, 8) * counts)
            weights = np.concatenate([weights, rng.random((len(weights), 1))], axis=1)[:, : of.n_answers]
        else:
            weights = rng.random((*of.table_shape, of.n_answers)) ** rng.integers(1, 40)
        table = class_table(weights / weights.sum(axis=-1, keepdims=True), of)
        for row, stored in zip(exact_rows(table, of), table.reshape(-1, of.n_answers).tolist(), strict=True):
            assert sum(row) == 1
            assert all(
                abs(p - Fraction(q)) <= Fraction(drawn(of.n_answers)) * Fraction(q)
                for p, q in zip(row, stored, strict=True)
            )


@pytest.mark.parametrize("table", [[[0.0, 0.5, 0.5]], np.eye(3)[[1, 2, 0]]], ids=["symmetric", "full"])
def test_one_voter(table: Any) -> None:
    labels = mechanism(problem(1, classes=3), table).release(np.repeat([[0], [1], [2]], 200, axis=0)).reshape(3, 200)
    wanted = [{1, 2}, {0, 2}, {0, 1}] if len(table) == 1 else [{1}, {2}, {0}]
    assert [set(row) for row in labels.tolist()] == wanted


def test_the_first_of_equal_masses_has_the_rest() -> None:
    """Two classes of 1/4 weigh as much as one of 1/2, and here a little is missing."""
    of, least = problem(4, classes=4), 2.0**-60
    assert sorted_counts(4, 4).tolist() == [[4, 0, 0, 0], [3, 1, 0, 0], [2, 2, 0, 0], [2, 1, 1, 0], [1, 1, 1, 1]]
    table = [[0.4, 0.2, 0.2, 0.2], [0.7, 0.1, 0.1, 0.1], [0.5, 0.5, 0, 0], [0.5, 0.25, 0.25, least], [0.25] * 4]
    exact = exact_rows(np.array(table), of)
    assert exact[0] == [Fraction(0.4)] + [(1 - Fraction(0.4)) / 3] * 3  # three of 0.2 weigh more than 0.4
    assert exact[1] == [1 - 3 * Fraction(0.1)] + [Fraction(0.1)] * 3
    assert exact[3] == [Fraction(1, 2) - Fraction(least), Fraction(1, 4), Fraction(1, 4), Fraction(least)]


def test_relabelled_votes_have_relabelled_chances() -> None:
    """The words that give an answer give its image: a symmetric release knows no names."""
    of = problem(9, classes=5, none=True)
    made = mechanism(of, symmetric_table(of, 2**30))
    votes = np.random.default_rng(0).integers(0, 5, (3000, 9))
    votes[:1500] = votes[:1500] % 2  # large leads
    image = np.array([3, 0, 4, 2, 1, 5])
    with pytest.warns(NotPrivateWarning):
        labels = made.release(votes, rng=np.random.default_rng(1))
    with pytest.warns(NotPrivateWarning):
        others = made.release(image[votes], rng=np.random.default_rng(1))
    counts = np.stack([(votes == c).sum(axis=1) for c in range(5)], axis=1)
    sizes = np.array(
        [1 if label == 5 else (row == row[label]).sum() for row, label in zip(counts, labels, strict=True)]
    )
    alone = sizes == 1
    assert 500 < alone.sum() < 2900
    assert (image[labels] == others)[alone].all()
    for row, one, two in zip(counts, labels, others, strict=True):  # in a block: one of the same number of votes
        back = int(np.flatnonzero(image == two)[0])
        assert (one == 5) == (back == 5)
        assert one == 5 or row[one] == row[back]


CHANCES = [
    (problem(5, classes=3), symmetric_table(problem(5, classes=3), 2**50)),
    (problem(5, classes=3, none=True), symmetric_table(problem(5, classes=3, none=True), 2**50)),
    (problem(6, classes=11), symmetric_table(problem(6, classes=11), 2**50)),
]


@pytest.mark.parametrize(("of", "table"), CHANCES, ids=["3", "3 and none", "11"])
@pytest.mark.filterwarnings("ignore::darrm.randomness.words.NotPrivateWarning")
def test_labels_have_their_chances(of: darrm.DecisionProblem, table: np.ndarray) -> None:
    """Chi-square over one row of votes at a time, from votes to labels; fixed words."""
    made, rng, n = mechanism(of, table), np.random.default_rng(2), 40_000
    for _ in range(6):
        row = rng.integers(0, min(of.n_classes, 4), of.K)
        counts = tuple(np.bincount(row, minlength=of.n_classes).tolist())
        chances = np.array([float(p) for p in law(of, table, counts)])
        seen = np.bincount(made.release(np.tile(row, (n, 1)), rng=rng), minlength=of.n_answers)
        assert not seen[chances == 0].any()
        likely = chances > 0
        if likely.sum() > 1:
            assert scipy.stats.chisquare(seen[likely], n * chances[likely]).pvalue > 1e-4


@pytest.mark.parametrize(
    ("classes", "none", "kind"),
    [(255, True, np.uint8), (256, False, np.uint8), (256, True, np.uint16), (300, False, np.uint16)],
)
def test_labels_of_many_classes(classes: int, none: bool, kind: type) -> None:
    """No noise: the class with most votes; of three with one vote each any, or none."""
    of = problem(3, classes=classes, none=none)
    table = np.zeros((3, of.n_answers))
    table[:2, 0] = 1
    if none:
        table[2, -1] = 1
    else:
        table[2, :3] = 1 / 3
    made = mechanism(of, table)
    votes = np.array([[classes - 1, 7, classes - 1], [0, 0, 0], [1, 2, classes - 1]])
    labels = made.release(votes)
    assert labels.dtype == kind
    assert labels[:2].tolist() == [classes - 1, 0]
    assert labels[2] in ([classes] if none else votes[2])


@pytest.mark.thorough
def test_streams_rows_and_nothing() -> None:
    of = problem(3, classes=("a", "b", "c"))
    made = mechanism(of, [[1, 0, 0], [1, 0, 0], [1 / 3] * 3])
    votes = np.array([[0, 0, 1], [2, 2, 2], [1, 2, 1], [2, 0, 0]])
    assert made.release(votes).tolist() == [0, 2, 1, 0]
    streamed = made.release_blocks([votes[0], votes[1], votes[2:], np.zeros((0, 3))], rows=1)
    assert [labels.tolist() for labels in streamed] == [[0], [2], [1, 0], []]
    one = made.release([2, 1, 2])
    assert (one, np.shape(one), type(one)) == (2, (), np.uint8)
    assert made.release(np.zeros((0, 3))).dtype == np.uint8
    many = np.tile(votes, (70_000, 1))
    assert (made.release(many) == np.tile([0, 2, 1, 0], 70_000)).all()
    assert of.named(made.release(votes)).tolist() == ["a", "c", "b", "a"]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (3, r"Got 3 in row 1, column 2\. Classes are numbered from 0: pass 0 to 2\.$"),
        (4, r"Got 4 in row 1, column 2\.$"),
        (-1, "Got -1 in row 1, column 2"),
        (0.5, "Got 0.5 in row 1"),
        (float("nan"), r"Got NaN \(not a number\) in row 1"),
        (float("inf"), "Got inf in row 1"),
        ("b", "votes must be numbers 0 to 2. Got dtype <U"),
        (None, "Got dtype object"),
    ],
)
def test_votes_that_are_none(bad: Any, said: str) -> None:
    made = mechanism(problem(3, classes=("a", "b", "c")), [[1, 0, 0], [1, 0, 0], [1 / 3] * 3])
    with pytest.raises(darrm.InputError, match=said):
        made.release([[0, 1, 2], [0, 1, bad]])


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([[3, 1, 0]], "must sum to the sizes of the groups"),
        ([[3, -1, 1]], "counts must be integers finite and at least 0"),
        ([[1.5, 1.5, 0]], "integers"),
        ([3, 0, 0], r"shape \(n, 1, 3\), or \(n, 3\). Got shape \(3,\)"),
        ([[3, 0]], "Got shape"),
        ([["a", "b", "c"]], "counts must be"),
        (3, "counts must be votes for each class"),
    ],
)
def test_counts_that_are_none(counts: Any, said: str) -> None:
    made = mechanism(problem(3, classes=3), [[1, 0, 0], [1, 0, 0], [1 / 3] * 3])
    with pytest.raises(darrm.InputError, match=said):
        made.release_counts(counts)
    of = problem(1, 1, classes=3)
    with pytest.raises(darrm.InputError, match=r"shape \(n, 2, 3\). Got"):
        mechanism(of, np.full((3, 3, 3), 1 / 3)).release_counts([[1, 0, 0]])


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ([[0.5, 0.75, 0], [1, 0, 0], [1 / 3] * 3], "equal where counts of classes are equal"),
        ([[1, 0, 0], [0.7] * 3, [1 / 3] * 3], "probabilities of sum 1"),
        ([[1, 0, 0], [0.5, 0.4, 0], [1 / 3] * 3], "probabilities of sum 1"),
    ],
)
def test_tables_that_are_none(table: Any, said: str) -> None:
    of = problem(3, classes=3)
    with pytest.raises(darrm.InputError, match=said):
        exact_rows(np.array(table), of)


@pytest.mark.thorough
def test_many_voters_and_classes_are_instant() -> None:
    """1,455 rows of 10 for 25 voters, of which few come up; then vectors that fill more than 64 bits."""
    for voters, classes, n in ((25, 10, 1455), (20, 30, 627)):
        of = problem(voters, classes=classes)
        counts = sorted_counts(voters, classes)
        assert len(counts) == n
        table = np.where(counts == counts[:, :1], 1.0, 0.0)
        made = mechanism(of, table / table.sum(axis=1, keepdims=True))
        votes = np.random.default_rng(0).integers(0, classes, (2000, voters))
        every = np.stack([(votes == c).sum(axis=1) for c in range(classes)], axis=1)
        labels = made.release(votes)
        assert (every[np.arange(2000), labels] == every.max(axis=1)).all()

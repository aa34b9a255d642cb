"""The computation over shares, run by an oracle of Shamir's sharing: exact labels, and a view that tells no votes."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import shamir_threads
from cases import slow, thorough

import darrm
from darrm.errors import InputError
from darrm.interop import shared_circuit
from darrm.interop.shared_circuit import Circuit, Shared

GROUP = darrm.VoterGroup


def decision(*groups: darrm.VoterGroup, classes: int = 2, epsilon: float = 1.2) -> darrm.Design:
    problem = darrm.DecisionProblem(groups, classes=classes, epsilon=epsilon)
    return darrm.solve(problem, objective=darrm.objectives.truth([0.7, 0.6][: len(groups)]))


DESIGNS = {
    "majority": lambda: darrm.solve(K=5, m=2, epsilon=0.5, bits=4),
    "even": lambda: darrm.solve(K=4, m=2, epsilon=0.5, bits=3),
    "all bits": lambda: darrm.solve(K=3, m=1, epsilon=0.5),
    "without noise": lambda: darrm.solve(K=3, m=3, epsilon=0.5),
    "groups": lambda: decision(GROUP(2, epsilon=1.0), GROUP(3, epsilon=0.2)).rounded(5),
    "classes": lambda: decision(GROUP(3, epsilon=1.0), classes=3).rounded(4),
}
LONG = ("all bits", "classes")


def votes_of(design: darrm.Design) -> tuple[Any, Any]:
    """Every vector of votes, shape (cases, K), and the probabilities of answers that the design's own sampler has."""
    problem = design.problem
    shape = (problem.n_classes,) * problem.K
    votes = np.indices(shape).reshape(problem.K, -1).T
    ends = np.cumsum([group.count for group in problem.groups])
    parts = np.split(votes, ends[:-1], axis=1)
    counts = np.stack([np.stack([(p == c).sum(1) for c in range(problem.n_classes)], 1) for p in parts], 1)
    return votes, design.probabilities(counts[:, :, 1] if problem.binary else counts)


def exact_sums(design: darrm.Design, votes: Any) -> list[Fraction]:
    """The sums of the probabilities of the first answers at one vector of votes, as the design's sampler has them."""
    problem = design.problem
    if not problem.binary:
        chances = [Fraction(float(p)) for p in design.probabilities(np.bincount(votes, minlength=problem.n_classes))]
        return list(itertools.accumulate(chances[:-1]))
    ends = np.cumsum([group.count for group in problem.groups])
    ones = tuple(int(part.sum()) for part in np.split(votes, ends[:-1]))
    case = np.ravel_multi_index(ones, problem.table_shape)
    return design.encoding.exact(design.table, problem)[int(case)][:1]


def bits_of(votes: Any, circuit: Circuit) -> Any:
    classes = np.arange(1, circuit.inputs + 1)
    return (votes.T[:, np.newaxis] == classes[:, np.newaxis]).astype(np.int64).reshape(-1, len(votes))


def released(design: darrm.Design, votes: Any, parties: int = 3, seed: int = 0) -> list[Any]:
    """Labels at each party with its runtime; the votes are divided among the parties."""
    circuit = Circuit(design, parties)
    bits = bits_of(votes, circuit)

    async def work(runtime: Any) -> Any:
        shared = Shared(runtime, circuit)
        ends = [i * len(bits) // parties for i in range(parties + 1)]
        inputs = shared.joined([shared.secret(bits[ends[i] : ends[i + 1]], i) for i in range(parties)])
        assert not (await shared.of_inputs(inputs)).any()
        return shared.answers(await shared.opened(await shared.labels(inputs)))

    return shamir_threads.together(parties, work, seed)


def absent(classes: int) -> darrm.Design:
    groups = [GROUP(2, epsilon=1.0), GROUP(1, epsilon=0.2)]
    problem = darrm.DecisionProblem(groups, classes=classes, epsilon=1.2)
    return darrm.solve(problem, objective=darrm.objectives.truth([0.7, 0.6]), absent=True).rounded(5)


def with_absent(design: darrm.Design, classes: int) -> tuple[Any, Any]:
    """Every vector of votes of which some may be -1, and the law of its label by the design of its present voters."""
    votes = np.indices((classes + 1,) * 3).reshape(3, -1).T - 1
    chances = []
    for row in votes:
        parts = [part[part >= 0] for part in np.split(row, [2])]
        counts = [np.bincount(part, minlength=classes) for part in parts if len(part)]
        own = design.with_present([len(part) for part in parts]) if counts else None
        given = [count[1] for count in counts] if classes == 2 else counts
        chances.append(design.answers_without_votes if own is None else np.ravel(own.probabilities(given)))
    return votes, np.array(chances)


@pytest.mark.thorough
@pytest.mark.parametrize(("classes", "draws"), [(2, 400), *thorough((2, 8_000), (3, 1_000))])
def test_rows_with_absent_voters_have_the_law_of_their_attendance(classes: int, draws: int) -> None:
    """What was brought for an absent voter has no effect; rows of all attendances are in one block."""
    design = absent(classes)
    circuit = Circuit(design, 3, [2, 0, 1])  # columns in another order
    votes, chances = with_absent(design, classes)
    given = np.repeat(votes[:, [2, 0, 1]], draws, axis=0)
    present = (given >= 0).astype(np.int64).T
    bits = bits_of(np.where(given < 0, classes - 1, given), circuit)

    async def work(runtime: Any) -> Any:
        shared = Shared(runtime, circuit)
        return shared.answers(await shared.opened(await shared.labels(shared.secret(bits, 1), present, 2)))

    made = [labels for labels, _ in shamir_threads.together(3, work)]
    np.testing.assert_array_equal(made[0], made[1])
    labels = made[0].reshape(len(votes), draws)
    found = np.stack([(labels == answer).mean(axis=1) for answer in range(classes)], axis=1)
    assert np.all(np.abs(found - chances) <= 5 * np.sqrt(chances * (1 - chances) / draws) + 1e-12)


@pytest.mark.thorough
def test_one_field_suffices_for_every_attendance() -> None:
    design = darrm.solve(
        darrm.DecisionProblem([GROUP(3, epsilon=1.0)], epsilon=0.7),
        objective=darrm.objectives.truth([0.7]),
        absent=True,
    )
    short = darrm.Design(design.problem, design.rounded(2).table, design.objective, fewer=design.fewer)
    circuit = Circuit(short, 3)
    assert circuit.bits == 2
    for present in [(3,), *design.fewer]:
        of = circuit.with_present(present)
        assert of.prime == circuit.prime > of.digits + 1
        assert circuit.with_present(present) is of


@pytest.mark.parametrize("name", [*DESIGNS])
def test_each_digit_decides_exactly(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every U, for every vector of counts: the answer is the number of sums that are at most U."""
    design = DESIGNS[name]()
    circuit = Circuit(design, 3)
    votes, _ = votes_of(design)
    cases = np.unique(bits_of(votes, circuit).T @ circuit.steps, return_index=True)[1]
    if circuit.bits <= 8:
        at_most = np.arange(2**circuit.bits)
    else:  # around every sum
        sums = [int(c * 2**circuit.bits) for case in cases for c in exact_sums(design, votes[case])]
        at_most = np.array([min(max(c + d, 0), 2**circuit.bits - 1) for c in sums for d in (-1, 0, 1)], dtype=object)
    which, U = np.repeat(cases, len(at_most)), np.tile(at_most, len(cases))
    digits = np.array([[int(u) >> i & 1 for u in U] for i in range(circuit.bits - 1, -1, -1)])

    def first_party_draws(shared: Shared, bits: int, n: int) -> Any:
        return shared.secret(1 - 2 * digits.reshape(1, bits, n), 0)[0]

    monkeypatch.setattr(Shared, "_signs", first_party_draws)
    labels = [made for made, _ in released(design, votes[which])]
    exact, unit = {case: exact_sums(design, votes[case]) for case in cases.tolist()}, Fraction(1, 2**circuit.bits)
    wanted = [sum(c <= int(u) * unit for c in exact[case]) for case, u in zip(which.tolist(), U, strict=True)]
    for made in labels:  # the same at all parties
        np.testing.assert_array_equal(made, wanted)


@pytest.mark.parametrize(
    ("name", "parties", "draws"),
    [
        ("majority", 3, 20_000),
        *thorough(*((name, 3, 200_000) for name in DESIGNS if name not in LONG), ("groups", 5, 20_000)),
        *slow(*((name, 3, 200_000) for name in LONG)),
    ],
)
def test_labels_have_the_law_of_the_design(name: str, parties: int, draws: int) -> None:
    """Over all vectors of votes, each frequency is within five standard deviations."""
    design = DESIGNS[name]()
    votes, chances = votes_of(design)
    parts = -(-draws // 20_000)
    each = -(-draws // parts // len(votes))
    which = np.repeat(np.arange(len(votes)), each)
    counts = np.zeros(chances.shape)
    for part in range(parts):
        labels = released(design, votes[which], parties, part)[0][0].reshape(len(votes), each)
        counts += np.stack([(labels == answer).sum(axis=1) for answer in range(chances.shape[1])], axis=1)
    off = np.abs(counts / (each * parts) - chances)
    assert np.all(off <= 5 * np.sqrt(chances * (1 - chances) / (each * parts)) + 1e-12)


def test_a_party_sees_the_same_for_other_votes_of_the_same_label() -> None:
    """All that reaches party 0, each number and each pair of numbers, has one law whatever the others' votes are."""
    design = darrm.solve(K=3, m=1, epsilon=1.0, bits=2)
    n, views = 6_000, []
    for votes in ([1, 0, 0], [1, 1, 1]):  # of which the first is the party's own
        labels, runtime = released(design, np.tile(votes, (n, 1)), seed=sum(votes))[0]
        view = np.concatenate(runtime.seen)[:, labels == 1]
        views.append(view)
    p = Circuit(design, 3).prime
    assert len(views[0]) == len(views[1]) > 30
    worst = 0.0
    for i in range(len(views[0])):
        for j in range(i + 1):
            counts = [np.bincount(view[i] * p + view[j], minlength=p * p) for view in views]
            sums = [count.sum() for count in counts]
            both = counts[0] + counts[1]
            off = counts[0] * np.sqrt(sums[1] / sums[0]) - counts[1] * np.sqrt(sums[0] / sums[1])
            cells = both > 0
            statistic = float((off[cells] ** 2 / both[cells]).sum())
            freedom = max(1, int(cells.sum()) - 1)
            worst = max(worst, (statistic - freedom) / np.sqrt(2 * freedom))
    assert worst < 8  # standard deviations, of some thousand statistics


@pytest.mark.thorough
def test_the_test_of_views_finds_a_share_that_is_not_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    def bare(runtime: shamir_threads.Runtime, values: Any) -> list[Any]:
        return [values % runtime.p] * 3  # polynomials of degree 0

    monkeypatch.setattr(shamir_threads.Runtime, "_split", bare)
    with pytest.raises(AssertionError):
        test_a_party_sees_the_same_for_other_votes_of_the_same_label()


@pytest.mark.thorough
def test_only_the_label_is_opened_and_other_values_are_uniform() -> None:
    design = darrm.solve(K=5, m=2, epsilon=0.5, bits=4)
    votes, _ = votes_of(design)
    which = np.repeat(np.arange(len(votes)), 400)
    labels, runtime = released(design, votes[which])[0]
    of_inputs, opened = runtime.opened
    assert not of_inputs.any()
    p = Circuit(design, 3).prime
    np.testing.assert_array_equal(opened == 0, labels == 0)
    for ones in (votes[which].sum(1) == 1, votes[which].sum(1) == 5):  # whatever the votes are
        counts = np.bincount(opened[ones & (labels == 1)], minlength=p)[1:]
        expected = counts.sum() / (p - 1)
        assert ((counts - expected) ** 2 / expected).sum() < (p - 1) + 6 * np.sqrt(2 * (p - 1))


def test_what_is_no_vote_is_seen() -> None:
    design = decision(GROUP(3, epsilon=1.0), classes=3).rounded(4)
    circuit = Circuit(design, 3)
    bits = bits_of(np.array([[0, 1, 2], [2, 2, 2]]), circuit)
    bits[0, 1] = 2  # no bit
    bits[1 * 2 : 2 * 2, 0] = 1  # two classes at once

    async def work(runtime: Any) -> Any:
        shared = Shared(runtime, circuit)
        return await shared.of_inputs(shared.secret(bits, 0))

    opened = shamir_threads.together(3, work)[0][0]
    assert {tuple(at) for at in np.argwhere(opened)} == {(0, 1), (circuit.inputs * 3 + 1, 0), (circuit.inputs * 3, 1)}


def test_columns_in_another_order_add_to_the_same_cases() -> None:
    design = decision(GROUP(2, epsilon=1.0), GROUP(3, epsilon=0.2)).rounded(5)
    order = [3, 0, 4, 1, 2]
    votes, _ = votes_of(design)
    given, named = Circuit(design, 3), Circuit(design, 3, order)
    np.testing.assert_array_equal(votes[:, order] @ named.steps, votes @ given.steps)


def test_polynomials_are_the_table() -> None:
    points = np.array([0, 3, 4, 7, 12])
    basis = shared_circuit._lagrange(points, 13)
    powers = points[:, np.newaxis] ** np.arange(5) % 13
    np.testing.assert_array_equal(powers @ basis.T % 13, np.eye(5, dtype=np.int64))


@pytest.mark.thorough
def test_the_field_is_large_enough() -> None:
    for name, made in DESIGNS.items():
        circuit = Circuit(made(), 11)
        assert circuit.prime > max(circuit.digits + 1, 11), name
        assert all(circuit.prime % d for d in range(2, circuit.prime))


def test_designs_that_cannot_be_drawn_from_are_refused() -> None:
    with pytest.raises(InputError, match="rounded"):
        Circuit(decision(GROUP(3, epsilon=1.0), classes=3), 3)
    groups = [GROUP(45, epsilon=1.0), GROUP(45, epsilon=0.5)]
    problem = darrm.DecisionProblem(groups, epsilon=1.2, max_affected=1)
    coin = darrm.Design(problem, np.full((46, 46), 0.5), darrm.objectives.truth([0.7, 0.6]))
    with pytest.raises(InputError, match="at most 2,000"):
        Circuit(coin, 3)
    problem = darrm.DecisionProblem([GROUP(1, epsilon=1.0)], classes=30, epsilon=1.2)
    table = np.full((30, 30), [0.25, *[0.0] * 28, 0.75])
    with pytest.raises(InputError, match="64 bits"):  # sums of 30 products of numbers of 2^30 could wrap around
        Circuit(darrm.Design(problem, table, darrm.objectives.truth([0.7])), 3)


@pytest.mark.parametrize("given", [(0, 0, 1), (1, 2, 5), (2, 2, 1), (5, 2, 2)])
def test_shares_of_a_voter_that_are_of_no_vote_are_found_or_are_a_vote(given: tuple[int, ...]) -> None:
    """Any three numbers: what the first two say is the vote. b (1 - b) alone is 0 for them as they are."""
    design = darrm.solve(K=3, m=1, epsilon=0.5, bits=4)
    circuit = Circuit(design, 3)
    p, n = circuit.prime, 4_000
    assert sum(weight * b * (1 - b) for weight, b in zip((3, -3, 1), given, strict=True)) % p == 0
    vote = (2 * given[0] - given[1]) % p
    first = np.random.default_rng(0).integers(0, p, (2, n))
    others = [first, 2 * first - 1, 3 * first - 2]  # of 1 and 1

    async def work(runtime: Any) -> Any:
        shared = Shared(runtime, circuit)
        own = np.concatenate([np.full((1, n), given[runtime.pid]), others[runtime.pid] % p])
        inputs = await shared.again(own)
        wrong = await shared.of_inputs(inputs)
        return wrong, shared.answers(await shared.opened(await shared.labels(inputs)))

    for wrong, labels in (made for made, _ in shamir_threads.together(3, work)):
        assert not wrong[1:].any()
        assert wrong[0].all() == wrong[0].any() == (vote > 1)
        if vote <= 1:
            chance = design.release_probabilities[2 + vote, 1]
            assert abs(labels.mean() - chance) < 5 * np.sqrt(chance * (1 - chance) / n)

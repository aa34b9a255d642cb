"""Every baseline of the registry, for every kind of problem: its noise, its guarantee, its chances, its words."""

import math
import re
from typing import Any

import numpy as np
import pytest
from cases import thorough

import darrm
from darrm import VoterGroup, objectives
from darrm.accounting.search import Budget
from darrm.baselines import confident, constant_noise, flipped_votes, gaussian, random_votes
from darrm.baselines.baseline import Baseline, Family, SolvedBaseline, by_counts, least_noise
from darrm.baselines.registry import BASELINES, PLANNED, raised
from darrm.design.rules import cost_of
from darrm.errors import InputError
from darrm.planning import at_one_total, designs
from darrm.planning.setting import Setting
from darrm.problem import encodings
from darrm.problem.counts import count_vectors, sorted_counts
from darrm.problem.decision import AnyProblem
from darrm.problem.groups import ByGroups

TRUTH = objectives.truth([0.7])
TWO = objectives.truth([0.8, 0.6], [0.6, 0.4])
PAPER = objectives.paper(darrm.priors.independent())
MODELS: dict[str, tuple[AnyProblem, objectives.Objective]] = {
    "odd majority": (darrm.MajorityProblem(7, 2, 0.3), PAPER),
    "even majority that fails": (darrm.MajorityProblem(6, 2.5, 0.2, 1e-4), PAPER),
    "one affected": (darrm.MajorityProblem(9, 0.5, 1.0, max_affected=1), PAPER),
    "one group": (darrm.DecisionProblem([VoterGroup(7, 0.3)], 0.6), TRUTH),
    "two groups": (darrm.DecisionProblem([VoterGroup(3, 1.0, 1e-6), VoterGroup(4, 0.2)], 0.9, 1e-5), TWO),
    "without privacy": (darrm.DecisionProblem([VoterGroup(5, math.inf)], 1.0, 1e-5, max_affected=1), TRUTH),
    "three classes": (darrm.DecisionProblem([VoterGroup(5, 0.5)], 1.0, classes=3), TRUTH),
    "none of three": (
        darrm.DecisionProblem([VoterGroup(4, 0.5)], 1.0, classes=3, none=True),
        objectives.truth([0.7], none=0.4),
    ),
    "groups for three": (
        darrm.DecisionProblem([VoterGroup(2, 1.0), VoterGroup(2, 0.3)], 1.0, classes=3),
        objectives.truth([0.8, 0.6], [0.5, 0.3, 0.2]),
    ),
}
ALL = tuple(dict.fromkeys((*BASELINES, *PLANNED)))
OF_ONE_PARAMETER = [baseline for baseline in ALL if isinstance(baseline, Baseline)]
models = pytest.mark.parametrize("model", thorough(*list(MODELS)[:2], *list(MODELS)[2:]))


def served(model: str) -> list[tuple[Baseline, AnyProblem, objectives.Objective]]:
    problem, objective = MODELS[model]
    return [(one, problem, objective) for one in OF_ONE_PARAMETER if one.serves(problem, objective)]


def answers(table: np.ndarray, problem: AnyProblem) -> np.ndarray:
    """Probabilities of all answers, from a table of a family."""
    return np.stack([1 - table, table], axis=-1) if problem.binary else table


def test_names_are_different_and_every_one_has_a_source() -> None:
    assert len({baseline.name for baseline in ALL}) == len(ALL)
    assert all(baseline.source for baseline in ALL)
    assert set(PLANNED) >= set(OF_ONE_PARAMETER)


@pytest.mark.parametrize("model", MODELS)
def test_tables_are_probabilities_and_more_of_the_parameter_is_less_noise(model: str) -> None:
    for baseline, problem, objective in served(model):
        family = baseline.family(problem, objective)
        parameters = [family.most * share for share in (1e-4, 1e-3, 0.01, 0.1, 0.5, 1.0)]
        tables = [answers(family.table(parameter), problem) for parameter in parameters]
        for table in tables:
            assert table.min() >= 0
            assert table.sum(axis=-1) == pytest.approx(1, abs=1e-12)
            assert encodings.table(encodings.of_answers(family.table(parameters[0]), problem), problem).size
        sure = [table.max(axis=-1).sum() for table in tables]
        if baseline is not confident.BASELINE:  # which has another threshold for each noise
            assert (np.diff(sure) >= -1e-9).all(), baseline.name
        assert tables[0] == pytest.approx(np.full(tables[0].shape, 1 / problem.n_classes), abs=0.3) or problem.none


@pytest.mark.first(1, 3)
@models
def test_the_least_noise_is_certified_and_no_less_is(model: str) -> None:
    for baseline, problem, objective in served(model):
        family = baseline.family(problem, objective)
        found = least_noise(family, problem)
        if found is None:  # voters without privacy of whom one vote in a hundred would tell too much
            assert problem.affected[0].epsilon == math.inf
            continue
        said, table = found
        certificate = darrm.verify(table, problem)
        assert certificate.holds
        assert said
        most = encodings.of_answers(family.table(family.most), problem)
        if not darrm.verify(most, problem).holds:
            assert certificate.tight_epsilon >= problem.release_epsilon * (1 - 2e-7), baseline.name
        if baseline is confident.BASELINE:  # which has another threshold for each noise
            continue
        chances = encodings.of(problem, table).probabilities
        for parameter in np.geomspace(family.most / 1000, family.most, 25):
            larger = encodings.of_answers(family.table(float(parameter)), problem)
            if chances(larger).max(axis=-1).sum() > chances(table).max(axis=-1).sum() * (1 + 1e-6):
                assert not darrm.verify(larger, problem).holds, f"{baseline.name}: {parameter} is private, see steps"


@pytest.mark.first(1, 3)
@models
def test_what_a_comparison_says_of_an_entry_is_true(model: str) -> None:
    problem, objective = MODELS[model]
    of_paper = isinstance(objective, objectives.Paper)
    found = darrm.compare(problem, objective.prior) if of_paper else darrm.compare(problem, objective=objective)  # type: ignore[attr-defined]
    assert len(found) == len({entry.called for entry in found})
    for entry in found:
        certificate = darrm.verify(entry.table, problem)
        assert entry.certificate == certificate
        assert entry.within == certificate.holds
        assert found[entry.called] is entry
        if entry.within:
            assert entry.expected_cost >= found[0].expected_cost - 1e-9, entry.called
        if not of_paper:
            assert entry.expected_cost == pytest.approx(cost_of(entry.table, problem, objective), abs=1e-12)
    private = {one.name for one in BASELINES if not isinstance(one, Baseline) and not one.private}
    assert all(entry.within for entry in found.entries[: len(found) - len(private)])
    assert len(found.to_frame()) == len(found)


def softened(counts: np.ndarray, by: float) -> np.ndarray:
    weights = np.exp(by * (counts - counts.max(axis=1, keepdims=True)))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@pytest.mark.every
@pytest.mark.parametrize(
    ("chances", "said"),
    [
        (lambda counts, x: 0.9 * softened(counts, x), r"The probabilities of all classes must sum to 1\. Got 0\.9\."),
        (lambda counts, x: 2 * softened(counts, x) - 0.5, r"chances must be in \[0, 1\]\. Got 1\."),
        (lambda counts, x: softened(counts, x)[:, 0], r"numbers of shape \(4, 2\)\. Got shape \(4,\)"),
        (
            lambda counts, x: softened(counts, 1 / x),
            r"must have nearly no noise at Family\.most, 20.*take 1 / parameter",
        ),
        (lambda counts, x: softened(counts, x / 1e4), r"must have nearly no noise at Family\.most, 20, .* 0\.50"),
    ],
    ids=["sums", "range", "shape", "grows", "most"],
)
def test_a_family_that_is_none_is_refused_by_name(chances: Any, said: str) -> None:
    def family(problem: ByGroups, objective: objectives.Objective) -> Family:
        return Family(by_counts(problem, chances), 0.5, 20.0, "x = {}".format)

    problem = darrm.DecisionProblem([VoterGroup(7, 1.0)], 1.0)
    with pytest.raises(InputError, match=f"aseline 'mine'.*{said}"):
        Baseline("mine", family, "nobody").tables(problem, TRUTH, 9.0)


@pytest.mark.every
@pytest.mark.parametrize(
    ("chances", "most"),
    [(lambda counts, x: softened(counts, 1 / x), 20.0), (softened, 0.05)],
    ids=["grows", "most"],
)
def test_at_a_total_such_a_family_is_refused_too(chances: Any, most: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def family(problem: ByGroups, objective: objectives.Objective) -> Family:
        return Family(by_counts(problem, chances), most / 40, most, "x = {}".format)

    setting, budget = Setting((VoterGroup(7, math.inf),), 1, "replace-one", 2, TRUTH), Budget(20, 3.0, 1e-6, "fresh")
    for module, name in ((designs, "tried"), (at_one_total, "raised")):
        monkeypatch.setattr(module, name, lambda *_: [Baseline("mine", family, "nobody")])
    said = r"baseline 'mine' must have nearly no noise at Family\.most"
    design = darrm.solve(setting.problem(0.1), objective=TRUTH)
    with pytest.raises(InputError, match=said):
        designs.planned(setting, budget)
    with pytest.raises(InputError, match=said):
        at_one_total.at_one_total(setting, budget, design)


@pytest.mark.every
@pytest.mark.parametrize(
    ("baseline", "K", "accuracy", "none"),
    [
        (gaussian.BASELINE, 3, 0.6, 0.3),
        (constant_noise.BASELINE, 2, 0.5, 0.9),
        (confident.BASELINE, 1, 0.7, 0.3),
    ],
    ids=["all rows sure", "no answer better", "one row"],
)
def test_a_good_family_is_not_refused_where_votes_hardly_matter(
    baseline: Baseline, K: int, accuracy: float, none: float
) -> None:
    problem = darrm.DecisionProblem([VoterGroup(K, 1.0)], 1.0, none=True)
    baseline.check_ends(baseline.family(problem, objectives.truth([accuracy], none=none)), problem)


def test_a_table_of_two_classes_for_three_names_its_baseline() -> None:
    problem, objective = MODELS["three classes"]
    of_two = Baseline("mine", lambda problem, objective: Family(lambda x: np.full(6, 0.5), 0.5, 1.0, str), "nobody")
    solved = SolvedBaseline("mine", lambda *_: {"so": ("", np.full(6, 0.5))}, "nobody")
    for baseline in (of_two, solved):
        with pytest.raises(InputError, match=r"baseline 'mine'.*Got shape \(6,\)\. .* say so by its serves"):
            baseline.tables(problem, objective, 9.0)


NOT_OF_TWO = flipped_votes.BASELINE, confident.BASELINE


@pytest.mark.parametrize(
    "baseline", [one for one in OF_ONE_PARAMETER if one not in NOT_OF_TWO], ids=lambda one: one.name
)
def test_two_classes_are_the_first_case_of_many(baseline: Baseline) -> None:
    """Tables of two classes against chances of the same mechanism that are put together by hand."""
    K, parameter = 6, 0.5
    problem = darrm.DecisionProblem([VoterGroup(K, 1.0)], 1.0)
    table = baseline.family(problem, TRUTH).table(parameter)
    lead = np.array([2 * n - K for n in range(K + 1)], dtype=np.float64)
    rng = np.random.default_rng(5)
    n = 200_000
    noise = {
        "Gaussian noisy max": lambda: rng.normal(0, 1 / parameter, (2, n)),
        "Laplace noisy max": lambda: rng.laplace(0, 1 / parameter, (2, n)),
        "exponential mechanism": lambda: rng.gumbel(0, 2 / parameter, (2, n)),
        "permute-and-flip": lambda: rng.exponential(2 / parameter, (2, n)),
    }
    if baseline.name in noise:
        zero, one = noise[baseline.name]()
        ahead = [one + ones - (zero + K - ones) for ones in range(K + 1)]
        drawn = np.array([np.mean(by > 0) + np.mean(by == 0) / 2 for by in ahead])
        assert table == pytest.approx(drawn, abs=6 * math.sqrt(0.25 / n))
    elif baseline is constant_noise.BASELINE:
        assert table == pytest.approx(0.5 + np.sign(lead) * parameter / 2)
    else:
        assert baseline is random_votes.BASELINE, f"add the law of {baseline.name} here, or draw its noise above"
        assert table == pytest.approx(0.5 + parameter * lead / (2 * K))  # one vote, or a coin


@pytest.mark.thorough
def test_labels_after_a_check_have_their_law() -> None:
    problem, objective = MODELS["none of three"]
    family, sigma, n = confident.BASELINE.family(problem, objective), 2.0, 200_000
    threshold = float(family.said(1 / sigma).rpartition(" ")[2])  # to four digits
    rng = np.random.default_rng(6)
    for counts, row in zip(sorted_counts(4, 3), family.table(1 / sigma), strict=True):
        passed = counts.max() + rng.normal(0, confident.WIDER * sigma, n) >= threshold
        winners = np.argmax(counts[:, None] + rng.normal(0, sigma, (3, n)), axis=0)
        drawn = np.bincount(np.where(passed, winners, 3), minlength=4) / n
        assert row == pytest.approx(drawn, abs=6 * math.sqrt(0.25 / n))


def test_what_is_said_of_a_parameter_is_the_parameter() -> None:
    for baseline, problem, objective in served("one group"):
        family = baseline.family(problem, objective)
        said = family.said(family.guess)
        [number, *_] = re.findall(r"\d+\.?\d*(?:e-?\d+)?", said)
        read = {"Gaussian noisy max": 1 / family.guess, "Laplace noisy max": 1 / family.guess}
        read |= {constant_noise.BASELINE.name: family.guess + (1 - family.guess) / 2}
        assert float(number) == pytest.approx(read.get(baseline.name, family.guess), rel=1e-3), baseline.name


@pytest.mark.thorough
def test_a_parameter_that_is_exactly_at_the_limit_is_taken() -> None:
    """Five votes of eleven and somewhat more cost exactly .3: rounding alone would refuse them."""
    problem = darrm.DecisionProblem([VoterGroup(11, 0.1)], 0.3)
    family = random_votes.BASELINE.family(problem, TRUTH)
    found = least_noise(family, problem)
    assert found is not None
    votes = float(re.findall(r"([\d.]+) at the mean", found[0])[0])
    assert 5.5 < votes < 5.7
    assert darrm.verify(family.table(votes - 0.01), problem).tight_epsilon == pytest.approx(0.3, rel=1e-12)
    assert darrm.verify(family.table(votes + 0.01), problem).tight_epsilon > 0.3 * (1 + 1e-6)


@pytest.mark.thorough
def test_more_random_votes_of_unlike_voters_can_be_more_private() -> None:
    """One vote of five needs a delta of .111 and 2.4 votes .0472: the search must not end below one."""
    groups = [VoterGroup(2, 0.5, max_affected=1), VoterGroup(3, 2.0, max_affected=1)]
    problem = darrm.DecisionProblem(groups, 1.0, 0.05, max_affected=1)
    family = random_votes.BASELINE.family(problem, TRUTH)
    assert not darrm.verify(family.table(1.0), problem).holds
    found = least_noise(family, problem)
    assert found is not None
    votes = float(re.findall(r"([\d.]+) at the mean", found[0])[0])
    assert darrm.verify(family.table(votes), problem).holds
    more = np.arange(votes + 0.01, 5.0, 0.01)
    assert not any(darrm.verify(family.table(float(vote)), problem).holds for vote in more)


@pytest.mark.parametrize(("K", "classes"), [(5, 2), (6, 2), (5, 3)])
def test_sorted_votes_of_two_classes_are_those_of_many(K: int, classes: int) -> None:
    votes = [row for row in count_vectors(K, classes).tolist() if row == sorted(row, reverse=True)]
    assert sorted_counts(K, classes).tolist() == votes


@pytest.mark.thorough
def test_all_of_one_parameter_are_raised_at_one_total() -> None:
    names = [one.name for one in raised(MODELS["one group"][0], TRUTH)]
    found = darrm.compare(
        darrm.DecisionProblem([VoterGroup(5, 1.0)], 1.0, max_affected=1),
        base_accuracy=0.8, queries=10, total_epsilon=2, total_delta=1e-5, voters="fresh",
    )  # fmt: skip
    assert [entry.name for entry in found][1 : len(names) + 1] == names
    assert found.held == "total"
    assert all(1.99 <= entry.total <= 2 for entry in found.entries[1 : len(names) + 1])


@pytest.mark.thorough
@pytest.mark.parametrize("K", [300, 301])
def test_far_ahead_the_chance_of_the_other_answer_is_no_step_of_float64(K: int) -> None:
    """300 teachers: 1 - X at a lead of 300 would be 0, 1.1e-16 or twice that, and ln 2 what a vote costs there."""
    problem = darrm.DecisionProblem([VoterGroup(K, math.inf)], 1.0, max_affected=1)
    for baseline in OF_ONE_PARAMETER:
        if baseline.serves(problem, TRUTH) and baseline is not flipped_votes.BASELINE:
            found = baseline.tables(problem, TRUTH, 60.0)[baseline.name]
            assert darrm.verify(found[1], problem).tight_epsilon >= 1 - 1e-6, baseline.name


def test_a_majority_of_one_vote_is_exactly_at_its_limit() -> None:
    found = darrm.compare(darrm.MajorityProblem(K=1, m=1, epsilon=0.5))
    assert found["plain majority"].within


@pytest.mark.thorough
def test_an_epsilon_below_all_floats_divides_by_nothing() -> None:
    """m = 5e-324 times .1 is 0 in float64."""
    problem = darrm.MajorityProblem(1, 5e-324, 0.1)
    assert problem.release_epsilon == 0
    for baseline in BASELINES:
        objective = objectives.paper(darrm.priors.independent(), "tv")
        if isinstance(baseline, Baseline) and baseline.serves(problem, objective) and baseline.exact is None:
            assert all(
                darrm.verify(table, problem).holds for _, table in baseline.tables(problem, objective, 9.0).values()
            )
    with pytest.raises(InputError, match="leaves less than 1e-12 of a vote"):
        darrm.compare(problem)


@pytest.mark.parametrize(("voters", "classes", "fits"), [(25, 4, True), (25, 10, False), (10**6, 2, True)])
def test_samples_are_drawn_of_votes_whose_counts_can_be_listed(voters: int, classes: int, fits: bool) -> None:
    """25 votes for ten classes have 52 million samples, which took 17 gigabytes."""
    problem = darrm.DecisionProblem([VoterGroup(voters, math.inf)], 1.0, classes=classes, max_affected=1)
    assert random_votes.BASELINE.serves(problem, objectives.truth([0.7])) is fits

"""The attacks of benchmarks/studies/attack.py, with fewer runs: false claims are found, sound ones stand."""

import math
import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import slow, thorough
from scripts import load

import darrm
from darrm.randomness.words import NotPrivateWarning

CONFIDENCE = 0.999  # so that another stream of random numbers would hardly fail a sound claim


attack = load("attack")
many = load("attack_many")


@pytest.fixture
def rng() -> Iterator[np.random.Generator]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        yield np.random.default_rng(1)


def judged(seen: Iterable[Any], rng: np.random.Generator) -> dict[tuple[str, str], float]:
    """Bounds by mechanism and labels, of which only those of false claims are above the claim."""
    found = {}
    for one in seen:
        lower = one.bound(CONFIDENCE, rng).lower
        assert (lower > one.epsilon) == one.broken, (one.mechanism, one.labels, lower, one.epsilon)
        found[one.mechanism, one.labels] = lower
    return found


@pytest.mark.thorough
def test_fixed_voters_composed_per_query(rng: np.random.Generator) -> None:
    """Two labels of 2-DP each lose 4.1203, and not 4; three models of 2-DP lose at most 6."""
    found = judged(attack.per_query(600_000, rng), rng)
    assert found["DaRRM, K = 3, m = 1, epsilon = 2", "1"] > 1.97
    assert 4.02 < found["DaRRM, K = 3, m = 1, composed per query", "2 at once"] < 4.1203


@pytest.mark.thorough
def test_darrm_at_its_worst_votes(rng: np.random.Generator) -> None:
    found = judged(attack.corners(200_000, rng, rng), rng)
    assert found["DaRRM, K = 11, m = 3, optimal", "1"] > 2.9
    assert found["DaRRM, subsampling of 3", "1"] > 1.8
    assert found["DaRRM, double subsampling of 5", "1"] > 2.6
    assert found["DaRRM, m = 3, Delta = 0.001", "1"] > 2.9
    assert found["DaRRM with gamma = 1, said to be m = 3", "1"] > 3.8


@pytest.mark.thorough
def test_decisions_of_groups_at_their_worst_votes(rng: np.random.Generator) -> None:
    found = judged(attack.groups(200_000, rng, rng), rng)
    assert found["decision of 4 voters of 1 and 7 of 0.2", "1"] > 1.3
    assert found["the same, made as if all were voters of 0.2", "1"] > 2
    assert found["decision, one voter of each group reached", "1"] > 0.87
    assert found["the same, two of each group reached", "1"] > 1.6


@pytest.mark.thorough
def test_decisions_between_classes_at_their_worst_votes(rng: np.random.Generator) -> None:
    found = judged(attack.classes(200_000, rng, rng), rng)
    assert found["decision between 3 classes, 6 voters of 1", "1"] > 0.9
    assert found["decision between 3 classes, 3 and 2 voters of 1", "1"] > 0.9
    assert found["the same, 6, made as if all were voters of 0.2", "1"] > 1.8
    assert found["the same, 3 and 2, made as if all were voters of 0.2", "1"] > 1.8
    assert found["decision between 3 classes, 4 (or none) voters of 1", "1"] > 0.9
    assert found["the same, 4 (or none), made as if all were voters of 0.2", "1"] > 1.8


@pytest.mark.thorough
def test_absence_by_chance_tells_nothing_and_absence_by_data_all(rng: np.random.Generator) -> None:
    """Without the hospital the practice alone decides, and without noise: the label tells that nobody else came."""
    found = judged(many.absence(200_000, rng, rng), rng)
    assert found["decision, voters absent by chance", "1"] > 1.1
    assert found["decision, a voter silent because of its data", "1"] > 9
    assert found["the same, a coin in place of its silence", "1"] > 0.4


@pytest.mark.thorough
def test_a_plan_and_who_asks_for_more(rng: np.random.Generator) -> None:
    found = judged(many.totals(100_000, rng, rng), rng)
    assert found["plan for a total of 5 labels", "5, adaptive"] > 2.6
    assert found["the same, used for 20", "20, adaptive"] > 5


@pytest.mark.thorough
def test_who_attacks_a_plan_loses_none_of_its_total() -> None:
    """The excess of the strategy is what the exact composition says, between its proved bounds."""
    design = darrm.accounting.plan(K=3, epsilon=1.0, queries=5, total_epsilon=3.0, total_delta=0.01, voters="fresh")
    rows = np.array([many.label_one(many.majority_table(design), [pairs]) for pairs in many.any_votes(design.problem)])
    strategy = many.best_rows(rows, 5, 3.0)
    total = darrm.accounting.compose(design, 5, delta=0.01, voters="fresh")
    reached = np.interp(-0.01, -strategy.excess, strategy.logs)
    assert total.lower * (1 - 2e-4) <= reached <= total.upper * (1 + 2e-4)


@pytest.mark.thorough
def test_a_whole_ledger_and_one_that_is_charged_by_answers(rng: np.random.Generator) -> None:
    found = judged(many.ledgers(200_000, rng, rng), rng)
    assert found["ledger of 8 labels, 4 decisions, 1 answer", "all at once"] > 3.8
    assert found["the same, all of it released twice", "all at once"] > 5.5
    assert found["ledger, charged by what an answer said", "2, adaptive"] > 1.3


@pytest.mark.thorough
def test_fresh_voters(rng: np.random.Generator) -> None:
    found = judged(attack.fresh_voters(30_000, rng), rng)
    assert found["randomized response, DaRRM m = 1.5", "1"] > 1.1
    assert found["DaRRM m = 1.5, charged for one label", "5 at once"] > 3.5


@pytest.mark.thorough
def test_the_votes_of_fresh_voters_are_those_that_are_said() -> None:
    for label in (0, 1):
        ensemble = attack.fresh(label, 1.5, 0.0, None)
        votes = np.array([voter.predict(np.eye(3)) for voter in ensemble.estimators_]).T
        others = [[int(vote) for vote in pattern.split(",")] for pattern in attack.PATTERNS]
        assert votes.tolist() == [[label] * 3 + pair for pair in others]


@pytest.mark.slow
def test_noisy_max(rng: np.random.Generator) -> None:
    found = judged(attack.noisy_max(15_000, rng), rng)
    assert found["Laplace noisy max", "1"] > 0.6
    assert found["GNMax, sigma = 8", "20 at once"] > 0.6


@pytest.mark.thorough
def test_permute_and_flip(rng: np.random.Generator) -> None:
    found = judged(attack.permute_and_flip(200_000, rng), rng)
    assert found["permute-and-flip", "1"] > 0.9
    assert found["permute-and-flip, half the noise", "1"] > 1.6
    assert found["permute-and-flip", "10 at once"] > 4


@pytest.mark.thorough
def test_the_exponential_mechanism(rng: np.random.Generator) -> None:
    found = judged(attack.exponential(200_000, rng), rng)
    assert found["exponential mechanism", "1"] > 0.8
    assert found["exponential mechanism, half the noise", "1"] > 1.6
    assert found["exponential mechanism", "10 at once"] > 2.5


@pytest.mark.slow
def test_labels_after_a_check(rng: np.random.Generator) -> None:
    found = judged(attack.checked(400_000, rng), rng)
    assert found["Confident-GNMax", "10 at once"] > 0.8
    assert found["Confident-GNMax, two votes", "10 at once"] > 2.4


@pytest.mark.slow
def test_private_labels(rng: np.random.Generator) -> None:
    found = judged(attack.private_labels(200_000, rng), rng)
    assert found["randomized response", "1"] > 0.97
    assert found["geometric label proportions", "a bag of 8"] > 0.88
    assert found["Laplace label proportions", "a bag of 8"] > 0.88


def model(runs: int, rng: np.random.Generator, train: Any, steps: int = 1) -> Any:
    """Coefficients of models that say (2, 0.01), trained by ``train``."""
    one = darrm.ensemble.DPLogisticRegression(
        attack.EPSILON,
        attack.DELTA,
        sampling_rate=1.0,
        steps=steps,
        learning_rate=attack.LEARNING_RATE,
        classes=(0, 1),
        random_state=rng,
    )
    X = np.array([[attack.SIZE, 0.0], [0.0, attack.SIZE]])
    with attack.training(train):
        here, there = (np.array([one.fit(X, [y, 1]).coef_[0, 0] for _ in range(runs)]) for y in (1, 0))
    return attack.Seen("", "", "", one.epsilon_, one.delta_, here, there, train is not attack.TRAIN)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("train", "runs"),
    [*slow((attack.TRAIN, 500)), (attack.weaker(0.0), 200), *slow((attack.unclipped, 200), (attack.weaker(0.4), 2000))],
    ids=["sound", "no noise", "no clipping", "little noise"],
)
def test_models(train: Any, runs: int, rng: np.random.Generator) -> None:
    judged([model(runs, rng, train)], rng)


@pytest.mark.thorough
def test_the_outlier_is_at_the_clip_from_first_to_last(rng: np.random.Generator) -> None:
    """Without noise the coefficient is the sum of clipped gradients: the attack is the worst case of the proof."""
    steps = 20
    seen = model(2, rng, attack.weaker(0.0), steps)
    average = attack.LEARNING_RATE / 2 * (steps + 1) / 2  # n = 2 records; of the iterates
    np.testing.assert_allclose(seen.here, average, rtol=1e-6)
    np.testing.assert_allclose(seen.there, -average, rtol=1e-6)


def counts(ensemble: Any, runs: int) -> Any:
    here, there, fitted = attack.fixed(ensemble, runs)
    return *(attack.tally(side.adaptive, 8) for side in (here, there)), fitted.privacy_


@pytest.mark.parametrize("overlap", [*slow(1), *thorough(3)])
def test_labels_of_fixed_voters(overlap: int, rng: np.random.Generator) -> None:
    here, there, privacy = counts(attack.teachers(rng, overlap=overlap), 120)
    assert here.sum() == there.sum() == 120
    judged([attack.Seen("", "", "", privacy.epsilon, privacy.delta, here, there)], rng)


@pytest.mark.thorough
@pytest.mark.parametrize("train", [attack.weaker(0.0), *slow(attack.unclipped)], ids=["no noise", "no clipping"])
def test_labels_of_broken_fixed_voters(train: Any, rng: np.random.Generator) -> None:
    with attack.training(train):
        here, there, privacy = counts(attack.teachers(rng), 150)
    judged([attack.Seen("", "", "", privacy.epsilon, privacy.delta, here, there, broken=True)], rng)


@pytest.mark.thorough
def test_declared_teachers_are_believed_and_found_out(rng: np.random.Generator) -> None:
    judged([attack.declared(1000, rng)], rng)


@pytest.mark.thorough
def test_the_table_is_sure_as_a_whole() -> None:
    """A claim that is just refuted alone is not refuted beside others."""
    alone = attack.Seen("", "", "", 0.0, 0.0, np.array([600, 400]), np.array([400, 600]))
    (one,), many = (attack.judged([alone] * n, np.random.default_rng(1)) for n in (1, 1000))
    assert 0 < many[0].lower < one.lower
    assert one.words == "ABOVE ITS CLAIM"
    assert not one.expected
    assert one._replace(seen=alone._replace(broken=True)).words == "found"
    assert one._replace(seen=alone._replace(broken=True, epsilon=math.inf)).words == "MISSED"
    assert one.seen.runs == 1000


def test_other_pages_count_claims_as_the_page_of_attacks_does() -> None:
    docs = Path(attack.PAGE).parent
    counted = re.search(r"Of (\d+) sound claims 0 were refuted; of (\d+) false ones \2 were", attack.PAGE.read_text())
    assert counted
    sound, false = counted.groups()
    assert f"0 of {sound} sound claims and {false} of {false} false ones" in (docs / "note.md").read_text()
    assert f"Of {sound} sound claims none is refuted; all {false} false claims" in (docs / "trust.md").read_text()


@pytest.mark.slow
def test_all_attacks(rng: np.random.Generator) -> None:
    verdicts = attack.judged(list(attack.attacks(1500, rng, rng)), rng)
    assert [(one.seen.mechanism, one.lower) for one in verdicts if not one.expected] == []

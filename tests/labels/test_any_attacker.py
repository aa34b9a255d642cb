"""The utility of any attacker: by enumeration of labels and outputs, below the best attacker's, and by draws."""

import itertools
import math

import numpy as np
import pytest

import darrm
from darrm.labels import (
    CountKernel,
    GeometricLabelProportions,
    LabelProportions,
    LaplaceLabelProportions,
    NoisyWeightedLabelProportions,
    WeightedBagAggregates,
    attack_utility,
    attacker_decisions,
    utility_of_attacker,
)
from darrm.mechanisms import LaplaceNoisyMax, RandomizedResponse

LLP = LabelProportions()
BAG = np.array([0.2, 0.7, 0.55])


def right(kernel: np.ndarray, eta: np.ndarray, guesses: np.ndarray) -> float:
    """Expected share of right guesses over all labellings and outputs of a mechanism of counts, by the definition."""
    total = 0.0
    for y in itertools.product((0, 1), repeat=eta.size):
        chance = math.prod(p if label else 1 - p for p, label in zip(eta, y, strict=True))
        for o, guess in enumerate(guesses):
            total += chance * kernel[sum(y), o] * np.mean(guess == np.array(y))
    return total


@pytest.mark.parametrize("mechanism", [LLP, GeometricLabelProportions(0.7), LaplaceNoisyMax(0.5)])
def test_attackers_of_counts_by_the_definition(mechanism: object) -> None:
    kernel = mechanism.kernel(3)  # type: ignore[attr-defined]
    rng = np.random.default_rng(1)
    bags = np.stack([BAG, rng.random(3)])
    for _ in range(5):
        table = rng.integers(0, 2, (kernel.shape[1], 2, 3))
        wanted = np.mean([right(kernel, bags[b], table[:, b]) for b in range(2)])
        found = utility_of_attacker(mechanism, bags, table)
        assert found.utility == pytest.approx(wanted, abs=1e-14)
        assert found.advantage == pytest.approx(wanted - np.maximum(bags, 1 - bags).mean(), abs=1e-14)
        assert (found.low, found.high, found.draws) == (found.utility, found.utility, 0)
        assert found.utility <= attack_utility(mechanism, bags) + 1e-14  # type: ignore[arg-type]
        by_call = utility_of_attacker(mechanism, bags, lambda eta, o, t=table: t[o, np.arange(len(eta))])
        assert by_call.utility == pytest.approx(wanted, abs=1e-14)
        alone = utility_of_attacker(mechanism, BAG, table[:, 0])
        assert alone.utility == pytest.approx(right(kernel, BAG, table[:, 0]), abs=1e-14)


def test_no_attacker_is_better_than_the_best() -> None:
    """All 4^3 attackers of two labels: the largest utility is that of the best attacker (Lemma 3.2)."""
    eta = [0.35, 0.6]
    tables = itertools.product(itertools.product((0, 1), repeat=2), repeat=3)
    best = max(utility_of_attacker(LLP, eta, table).utility for table in tables)
    assert best == pytest.approx(attack_utility(LLP, eta), abs=1e-15)


@pytest.mark.parametrize("mechanism", [LLP, GeometricLabelProportions(1.0), RandomizedResponse(1.0)])
def test_the_best_attacker_has_its_utility(mechanism: LabelProportions) -> None:
    bags = np.random.default_rng(2).beta(2, 3, (3, 4))
    bags[0, 0], bags[1, 1] = 0, 1  # some outputs are impossible
    found = utility_of_attacker(mechanism, bags, lambda eta, output: attacker_decisions(mechanism, eta, output))
    assert found.utility == pytest.approx(attack_utility(mechanism, bags), abs=1e-14)
    assert found.draws == 0


def test_attackers_who_see_all_answers_of_a_bag() -> None:
    """Each label is guessed by the answer for its neighbour: as good as no release at all, and exact."""
    mechanism = RandomizedResponse(2.0)
    found = utility_of_attacker(mechanism, BAG, lambda eta, answers: np.roll(answers, 1, axis=1))
    stay = 1 - mechanism.flip_probability
    one = BAG * stay + (1 - BAG) * (1 - stay)
    wanted = np.mean(np.roll(one, 1) * BAG + (1 - np.roll(one, 1)) * (1 - BAG))
    assert found.utility == pytest.approx(wanted, abs=1e-14)


def test_attackers_of_answers_to_each_label() -> None:
    mechanism, eta = RandomizedResponse(1.0), np.random.default_rng(3).random(300)
    stay = 1 - mechanism.flip_probability
    table = utility_of_attacker(mechanism, eta, np.repeat([[0], [1]], 300, axis=1))
    alone = utility_of_attacker(mechanism, eta[:, None], lambda eta, answers: answers)
    assert table.utility == pytest.approx(stay, abs=1e-14)
    assert alone.utility == pytest.approx(stay, abs=1e-14)
    drawn = utility_of_attacker(mechanism, eta, lambda eta, answers: answers, draws=50, rng=np.random.default_rng(4))
    assert drawn.draws == 50  # 2^300 outputs
    assert drawn.low <= stay <= drawn.high
    three = RandomizedResponse(1.0, 3)
    rows = np.random.default_rng(5).dirichlet([1, 2, 3], 20)
    believe = utility_of_attacker(three, rows, lambda eta, answers: answers)
    assert believe.utility == pytest.approx(1 - three.flip_probability, abs=1e-14)
    assert believe.advantage == pytest.approx(1 - three.flip_probability - rows.max(axis=1).mean(), abs=1e-14)
    best = utility_of_attacker(three, rows, lambda eta, answers: attacker_decisions(three, eta, answers))
    assert best.utility == pytest.approx(attack_utility(three, rows), abs=1e-14)
    constant = utility_of_attacker(three, rows, np.full((3, 20), 2))
    assert constant.utility == pytest.approx(rows[:, 2].mean(), abs=1e-14)


def test_attackers_of_real_outputs_are_drawn() -> None:
    mechanism = LaplaceLabelProportions(1.0)
    arguments = {"draws": 4000, "confidence": 1 - 1e-9}
    found, again = (
        utility_of_attacker(
            mechanism,
            np.stack([BAG, BAG[::-1]]),
            lambda eta, output: attacker_decisions(mechanism, eta, output),
            rng=np.random.default_rng(6),
            **arguments,  # type: ignore[arg-type]
        )
        for _ in range(2)
    )
    assert found == again
    assert found.low <= attack_utility(mechanism, BAG) <= found.high
    assert found.high - found.utility == pytest.approx(math.sqrt(math.log(2e9) / 8000), rel=1e-6)
    prior = utility_of_attacker(mechanism, BAG, lambda eta, output: eta >= 0.5, **arguments)  # type: ignore[arg-type]
    assert prior.low <= np.maximum(BAG, 1 - BAG).mean() <= prior.high


@pytest.mark.thorough
def test_attackers_of_weighted_aggregates_are_drawn() -> None:
    X, eta = np.stack([np.ones(5), np.arange(5.0)], axis=1), np.full(5, 0.5)
    for mechanism, features in (
        (WeightedBagAggregates(), {"X": X}),
        (NoisyWeightedLabelProportions(0.5, 0.1), {}),
    ):
        found, opposite = (
            utility_of_attacker(
                mechanism,
                eta,
                lambda p, output, m=mechanism, s=side: (m.posterior(p, output, X) >= 0.5) == s,  # type: ignore[attr-defined]
                draws=1000,
                rng=np.random.default_rng(7),
                **features,
            )
            for side in (True, False)
        )
        assert found.draws == 1000
        assert found.low > 0.5  # what is right without the release
        assert opposite.utility == pytest.approx(1 - found.utility, abs=1e-12)


def test_bad_attackers_are_refused() -> None:
    for attacker, message in (
        (lambda eta, output: [0], r"What attacker returns must be integers of shape \(1, 2\)"),
        (lambda eta, output: [[0], [0, 1]], "What attacker returns"),
        (lambda eta, output: [[0, 2]], r"in \[0, 1\]. Got 2"),
        ([[0, 1]], r"attacker must have the shape \(3, 1, 2\)"),
        ([[0, 1], [0, 3], [1, 1]], r"in \[0, 1\]. Got 3"),
    ):
        with pytest.raises(darrm.InputError, match=message):
            utility_of_attacker(LLP, [0.5, 0.5], attacker)  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match="kernel"):
        utility_of_attacker(LaplaceLabelProportions(1.0), [0.5, 0.5], [[0, 1]])
    for mechanism in (LabelProportions, 3, None):
        with pytest.raises(darrm.InputError, match="mechanism must"):
            utility_of_attacker(mechanism, [0.5, 0.5], lambda eta, output: eta > 0.5)
    for X in (None, np.ones((3, 1))):
        with pytest.raises(darrm.InputError, match="X must be the features of the one bag"):
            utility_of_attacker(WeightedBagAggregates(), [0.5, 0.5], lambda eta, output: eta > 0.5, X=X)
    with pytest.raises(darrm.InputError, match="k must be 2"):
        utility_of_attacker(CountKernel(np.eye(3)), BAG, lambda eta, output: eta > 0.5)

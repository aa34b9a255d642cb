"""Randomized response on labels of several classes: exact coins, Bayes, and its measures by the definition."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import darrm
from darrm.labels import (
    LabelProportions,
    additive_advantage,
    attack_utility,
    attacker_decisions,
    individual_advantage,
    joint,
    label_leakage,
    largest_log_odds_change,
    log_odds_change,
    multiplicative_advantage,
    posterior,
    posterior_change,
    posterior_pairs,
    shortcut_decisions,
    total_variation,
)
from darrm.labels.percentiles import multiplicative_summary
from darrm.mechanisms import RandomizedResponse
from darrm.randomness.choices import uniform
from darrm.randomness.words import NotPrivateWarning


def exact_kernel(epsilon: float, classes: int) -> list[list[Fraction]]:
    """e^epsilon as a fraction close to it; all else exact."""
    power = Fraction(math.exp(epsilon))
    total = power + classes - 1
    return [[(power if o == y else Fraction(1)) / total for o in range(classes)] for y in range(classes)]


PRIORS = np.array([[0.2, 0.3, 0.5], [1 / 3, 1 / 3, 1 / 3], [0.0, 0.6, 0.4], [0.0, 1.0, 0.0], [0.01, 0.01, 0.98]])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_advantages_by_the_definition(epsilon: float) -> None:
    mechanism, kernel = RandomizedResponse(epsilon, classes=3), exact_kernel(epsilon, 3)
    wanted = []
    for row in PRIORS:
        p = [Fraction(x) for x in row]
        right = sum(max(p[c] * kernel[c][o] for c in range(3)) for o in range(3))
        wanted.append(float(right - max(p)))
    assert individual_advantage(mechanism, PRIORS) == pytest.approx(wanted, abs=1e-15)
    assert individual_advantage(mechanism, PRIORS[0]) == pytest.approx(wanted[0], abs=1e-15)
    assert additive_advantage(mechanism, PRIORS) == pytest.approx(np.mean(wanted), abs=1e-15)
    assert attack_utility(mechanism, PRIORS) == pytest.approx(np.mean(wanted) + PRIORS.max(axis=1).mean(), abs=1e-15)
    # At equal chances the attacker guesses what was released.
    assert wanted[1] == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) + 2) - 1 / 3, abs=1e-12)
    assert wanted[3] == 0


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_log_odds_move_by_epsilon_and_no_more(epsilon: float) -> None:
    """Largest change over pairs of possible classes, from posteriors: no likelihood is looked at."""
    mechanism = RandomizedResponse(epsilon, classes=3)
    kernel = mechanism.label_kernel()
    total = 0.0
    law = multiplicative_advantage(mechanism, PRIORS)
    for row in PRIORS:
        for output in range(3):
            chance = float(row @ kernel[:, output])
            after = posterior(mechanism, row, output)
            pairs = [abs(log_odds_change(row, after, a=a, b=b)) for a in range(3) for b in range(3) if a != b]
            largest = max(float(x) for x in pairs)
            assert largest <= epsilon + 1e-12
            rest = [c for c in range(3) if row[c] > 0]
            for c in rest if len(rest) > 1 else []:  # a class against all others moves no further
                odds = math.log(after[c] / (1 - after[c])) - math.log(row[c] / (1 - row[c]))
                assert abs(odds) <= largest + 1e-12
            total += chance * (largest > epsilon / 2) / len(PRIORS)
    assert 1 - law.cdf(epsilon / 2) == pytest.approx(total, abs=1e-12)
    assert law.cdf(epsilon) == 1
    assert law.maximum == pytest.approx(epsilon, abs=1e-12)
    assert largest_log_odds_change(mechanism, PRIORS) == pytest.approx(epsilon, abs=1e-12)
    assert largest_log_odds_change(mechanism, PRIORS[3]) == 0


def test_epsilon_beyond_the_range_of_float64_for_classes() -> None:
    mechanism = RandomizedResponse(2000.0, classes=3)
    assert largest_log_odds_change(mechanism, PRIORS) == 2000
    assert multiplicative_advantage(mechanism, PRIORS).infinite_mass == 0
    assert individual_advantage(mechanism, PRIORS) == pytest.approx(1 - PRIORS.max(axis=1), abs=1e-15)


def test_two_classes_are_as_before() -> None:
    both = RandomizedResponse(0.7), RandomizedResponse(0.7, classes=2)
    labels = np.random.default_rng(1).integers(0, 2, (50, 4))
    with pytest.warns(NotPrivateWarning):
        released = [m.release(labels, rng=np.random.default_rng(2)) for m in both]
    assert np.array_equal(*released)
    assert released[0].dtype == np.uint8
    assert repr(both[1]) == "RandomizedResponse(epsilon=0.7)"
    # The measures of several classes on the kernel of two give the same.
    from darrm.labels.measures import classes

    eta = np.array([0.1, 0.5, 0.8])
    rows = np.stack([1 - eta, eta], axis=1)
    kernel = both[0].label_kernel()
    assert classes.individual(kernel, rows) == pytest.approx(individual_advantage(both[0], eta), abs=1e-15)
    values, weights = classes.log_ratios(kernel, rows, math.inf, 0.0)
    assert values == pytest.approx(np.full((3, 2), 0.7), abs=1e-14)
    assert weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("classes", [3, 4, 300])
def test_release_follows_the_kernel(classes: int) -> None:
    mechanism, n, label = RandomizedResponse(1.5, classes), 120_000, 2
    with pytest.warns(NotPrivateWarning):
        released = mechanism.release(np.full(n, label), rng=np.random.default_rng(3))
    assert released.dtype == (np.uint8 if classes <= 256 else np.uint16)
    p = mechanism.label_kernel()[label]
    assert p.sum() == pytest.approx(1, abs=1e-12)
    seen = np.bincount(released, minlength=classes) / n
    assert seen.size == classes
    assert np.all(np.abs(seen - p) <= 5.5 * np.sqrt(p * (1 - p) / n))
    assert mechanism.flip_probability == pytest.approx(1 - p[label], rel=1e-12)
    assert math.log(p[label] / p[0]) == pytest.approx(1.5, rel=1e-12)
    assert RandomizedResponse(1e5, classes).release([[0, 1], [2, 2]]).tolist() == [[0, 1], [2, 2]]


def test_the_coin_has_the_bias_of_the_formula() -> None:
    """The first 128 binary digits of (C - 1) / (e^epsilon + C - 1), against 60 decimal digits."""
    from decimal import Decimal, localcontext

    mechanism = RandomizedResponse(0.75, classes=5)
    with localcontext() as context:
        context.prec = 60
        bias = 4 / (4 + Decimal("0.75").exp())
        digits = int(bias * 2**128)
    assert (mechanism._coin.word(0, 0) << 64) + mechanism._coin.word(0, 1) == digits


def test_uniform_integers_reject_what_would_favour_some() -> None:
    words = [(1 << 64) - 1, 7, 5, (1 << 64) - 2]

    def draw(n: int) -> np.ndarray:
        return np.array([words.pop(0) for _ in range(n)], dtype=np.uint64)

    # 2^64 = 1 mod 3: the last word alone is beyond 3 (2^64 - 1) / 3, and is drawn anew.
    assert uniform(np.array([3, 3]), draw).tolist() == [5 % 3, 7 % 3]
    assert uniform(np.array([1 << 10]), draw).tolist() == [(1 << 10) - 2]


def test_guesses_and_posteriors_of_classes() -> None:
    mechanism = RandomizedResponse(1.0, classes=3)
    output = np.array([0, 1, 2, 1, 0])
    kernel = mechanism.label_kernel()
    joint = PRIORS * kernel[:, output].T
    after = posterior(mechanism, PRIORS, output)
    assert after == pytest.approx(joint / joint.sum(axis=1, keepdims=True), abs=1e-15)
    assert attacker_decisions(mechanism, PRIORS, output).tolist() == after.argmax(axis=1).tolist()
    assert posterior_pairs(mechanism, PRIORS, output).shape == (15, 2)
    copy = pickle.loads(pickle.dumps(mechanism))
    assert (copy.epsilon, copy.classes) == (1.0, 3)
    assert repr(copy) == "RandomizedResponse(1.0, 3)"


def test_what_is_not_for_several_classes_says_so() -> None:
    mechanism = RandomizedResponse(1.0, classes=3)
    with pytest.raises(darrm.InputError, match="two classes"):
        posterior_change(mechanism, PRIORS)
    with pytest.raises(darrm.InputError, match="two classes"):
        shortcut_decisions(mechanism, [0.2, 0.3, 0.5], 1)
    with pytest.raises(darrm.InputError, match="signed must be False"):
        multiplicative_advantage(mechanism, PRIORS, signed=True)
    audit = darrm.labels.audit
    for eta in ([0.5, 0.25], [0.2, 0.3, 0.5], np.full((4, 2), 0.5)):
        with pytest.raises(darrm.InputError, match=r"shape \(n, 3\)"):
            audit({"rr": mechanism}, eta)
    with pytest.raises(darrm.InputError, match=r"eta must have shape \(n,\) for two classes"):
        audit({"rr": RandomizedResponse(1.0)}, PRIORS)
    for other in (LabelProportions(), RandomizedResponse(1.0)):
        with pytest.raises(darrm.InputError, match="Got 3 of rr and 2 of other"):
            audit([("rr", mechanism), ("other", other)], PRIORS, bag_size=1)
    with pytest.raises(darrm.InputError, match="as many classes"):
        joint([mechanism, RandomizedResponse(1.0)])
    with pytest.raises(darrm.InputError, match=r"labels must be integers in \[0, 2\]. Got 3"):
        audit({"rr": mechanism}, PRIORS, labels=[0, 1, 2, 3, 0])
    for eta in ([0.5, 0.5], [[0.2, 0.3, 0.4]], [0.5, 0.6, -0.1], 0.5, [[[1, 0, 0]]]):
        with pytest.raises(darrm.InputError, match="eta must"):
            individual_advantage(mechanism, eta)  # type: ignore[arg-type]
    for output in (3, -1, [0, 1], 0.5):
        with pytest.raises(darrm.InputError, match="output must"):
            posterior(mechanism, [0.2, 0.3, 0.5], output)  # type: ignore[arg-type]
    for classes in (1, 0, 1001, 2.5, None):
        with pytest.raises(darrm.InputError, match="classes must be an integer"):
            RandomizedResponse(1.0, classes)  # type: ignore[arg-type]
    for labels in ([3], [-1], [0.5], []):
        with pytest.raises(darrm.InputError, match="labels must"):
            mechanism.release(labels)
    with pytest.raises(darrm.InputError, match="probability 0 under"):
        RandomizedResponse(2000.0, classes=3).posterior([0.0, 0.5, 0.5], 0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_leakage_of_classes_by_the_definition(epsilon: float) -> None:
    kernel = exact_kernel(epsilon, 3)
    apart = max(sum(max(x - y, Fraction(0)) for x, y in zip(a, b, strict=True)) for a in kernel for b in kernel)
    leak = math.log(sum(max(row[o] for row in kernel) for o in range(3)))
    mechanism = RandomizedResponse(epsilon, classes=3)
    assert total_variation(mechanism, PRIORS) == pytest.approx(np.full(5, float(apart)), abs=1e-15)
    assert label_leakage(mechanism, PRIORS) == pytest.approx(np.full(5, leak), abs=1e-15)
    assert label_leakage(mechanism, PRIORS[0]) == pytest.approx(leak, abs=1e-15)
    assert leak > math.log1p(float(apart)) + 0.01


def test_an_audit_of_classes_has_the_measures_of_the_same_names() -> None:
    eta = np.random.default_rng(4).dirichlet([1, 2, 3], 40)
    one, two = RandomizedResponse(0.5, 3), RandomizedResponse(1.5, 3)
    together = joint([one, two])
    given: list[np.ndarray | None] = []

    def utility(mechanism: object, indices: np.ndarray, labels: np.ndarray | None) -> dict[str, float]:
        given.append(labels)
        return {"auc": float(indices.size)}

    truth = np.arange(40) % 3
    rows = darrm.labels.audit({"one": one, "both": [one, two]}, eta, labels=truth, utility=utility)
    for row, mechanism in zip(rows, (one, together), strict=True):
        law = multiplicative_advantage(mechanism, eta)
        assert (row.bag_size, row.bags, row.remainder, row.auc) == (1, 40, 0, 40.0)
        assert row.guaranteed_epsilon == mechanism.epsilon
        assert row.additive_advantage == pytest.approx(additive_advantage(mechanism, eta), abs=1e-15)
        assert row.max_individual_advantage == individual_advantage(mechanism, eta).max()
        assert row.multiplicative_98 == law.quantile(0.98)
        assert row.largest_log_odds_change == law.maximum
        assert row.max_leakage == label_leakage(mechanism, eta)[0]
        assert row.max_total_variation == total_variation(mechanism, eta)[0]
        assert row.attack_utility == pytest.approx(attack_utility(mechanism, eta), abs=1e-15)
        assert np.array_equal(given.pop(0), truth)  # type: ignore[arg-type]
    (bagged,) = darrm.labels.audit({"one": one}, eta, bags=np.arange(12).reshape(4, 3))
    assert (bagged.bag_size, bagged.bags, bagged.remainder) == (3, 4, 28)
    assert bagged.additive_advantage == pytest.approx(additive_advantage(one, eta[:12]), abs=1e-15)
    parts = multiplicative_summary(together, eta, 0.9, entries=100, kept=5)
    assert parts == pytest.approx((multiplicative_advantage(together, eta).quantile(0.9), 0.0), abs=1e-11)


def test_releases_of_classes_seen_together_by_all_pairs_of_outputs() -> None:
    one, two = RandomizedResponse(0.5, 3), RandomizedResponse(1.5, 3)
    together, prior = joint([one, two]), PRIORS[0]
    right = 0.0
    for first in range(3):
        for second in range(3):
            each = prior * one.label_kernel()[:, first] * two.label_kernel()[:, second]
            right += each.max()
            assert posterior(together, prior, [first, second]) == pytest.approx(each / each.sum(), abs=1e-15)
    assert individual_advantage(together, prior) == pytest.approx(right - prior.max(), abs=1e-15)


def test_the_classes_of_a_model_are_the_classes_of_the_audit() -> None:
    class Model:
        classes_ = np.arange(3)

        def predict_proba(self, X: object) -> np.ndarray:
            return PRIORS

    eta = darrm.labels.eta_from_model(Model(), None)
    assert np.array_equal(eta, PRIORS)
    (row,) = darrm.labels.audit({"rr": RandomizedResponse(1.0, 3)}, eta)
    assert row.additive_advantage == pytest.approx(additive_advantage(RandomizedResponse(1.0, 3), PRIORS))

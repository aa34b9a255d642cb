"""Signed changes of the log odds, changes of the posterior, the attacker A**, and one way to call posteriors."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import labels as oracle

import darrm
from darrm.labels import (
    BagAggregate,
    CountKernel,
    GeometricLabelProportions,
    LabelProportions,
    LaplaceLabelProportions,
    NoisyAggregate,
    NoisyWeightedLabelProportions,
    WeightedBagAggregates,
    attacker_decisions,
    individual_advantage,
    multiplicative_advantage,
    posterior,
    posterior_change,
    shortcut_decisions,
)
from darrm.mechanisms import DaRRM, RandomizedResponse

LLP = LabelProportions()
ETA = [0.15, 0.4, 0.7]
inner = st.lists(st.floats(0.01, 0.99), min_size=1, max_size=4)


def atoms(answer: oracle.Answer, eta: list[float]) -> list[tuple[float, float, float]]:
    """(log odds after - before, |posterior - eta|, weight) of every label and output, by all labellings."""
    out = []
    for p, table in zip(eta, oracle.joint(answer, eta), strict=True):
        for zero, one in table.values():
            with np.errstate(divide="ignore"):
                change = float(np.log(one) - np.log(zero)) - math.log(p / (1 - p))
            out.append((change, abs(one / (zero + one) - p), (zero + one) / len(eta)))
    return out


def laws_agree(law: darrm.labels.Distribution, pairs: list[tuple[float, float]]) -> None:
    for x, _ in pairs:
        if not math.isfinite(x):
            continue
        for shift in (-1e-6, 1e-6):
            low = sum(w for y, w in pairs if y <= x + shift - 1e-8)
            high = sum(w for y, w in pairs if y <= x + shift + 1e-8)
            assert low - 1e-11 <= law.cdf(x + shift) <= high + 1e-11


@pytest.mark.thorough
@settings(derandomize=True, max_examples=25, deadline=None)
@given(eta=inner, epsilon=st.floats(0.05, 4))
def test_laws_by_the_definition(eta: list[float], epsilon: float) -> None:
    for mechanism, answer in (
        (LLP, oracle.proportions),
        (GeometricLabelProportions(epsilon), oracle.geometric(epsilon)),
        (RandomizedResponse(epsilon), oracle.randomized_response(epsilon)),
    ):
        found = atoms(answer, eta)
        signed = multiplicative_advantage(mechanism, eta, signed=True)
        laws_agree(signed, [(change, w) for change, _, w in found])
        laws_agree(posterior_change(mechanism, eta), [(moved, w) for _, moved, w in found])
        assert signed.infinite_mass == pytest.approx(sum(w for x, _, w in found if math.isinf(x)), abs=1e-12)
        assert signed.cdf(-math.inf) == pytest.approx(sum(w for x, _, w in found if x == -math.inf), abs=1e-12)


def test_the_sign_is_all_that_is_added() -> None:
    for mechanism in (LLP, GeometricLabelProportions(1.0), LaplaceLabelProportions(1.0), RandomizedResponse(1.0)):
        eta = [0.0, *ETA, 1.0]
        signed, plain = (multiplicative_advantage(mechanism, eta, signed=s) for s in (True, False))
        for x in (0.05, 0.3, 0.77, 0.95):
            assert signed.cdf(x) - signed.cdf(-x - 1e-9) == pytest.approx(plain.cdf(x), abs=1e-8)
        assert signed.infinite_mass == pytest.approx(plain.infinite_mass, abs=1e-15)
        assert signed.maximum == pytest.approx(plain.maximum)
        assert signed.quantile(0.0) == pytest.approx(-plain.maximum, abs=1e-12)
        assert 0 < signed.cdf(-1e-9) < 1


def test_signed_randomized_response_is_two_steps() -> None:
    law = multiplicative_advantage(RandomizedResponse(0.5), [0.2], signed=True)
    ones = 0.2 * RandomizedResponse(0.5).label_kernel()[1, 1] + 0.8 * RandomizedResponse(0.5).label_kernel()[0, 1]
    assert law.cdf(-0.5) == law.cdf(0.49) == pytest.approx(1 - ones, abs=1e-15)
    assert law.cdf(-0.51) == 0
    assert law.cdf(0.5) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_laplace_laws_are_those_of_fine_noise(epsilon: float) -> None:
    """Against noise on a grid of 1/200, by a count kernel."""
    k, g = len(ETA), 200
    t = np.arange(-g * 3, g * (k + 3) + 1) / g
    kernel = np.exp(-epsilon * np.abs(t - np.arange(k + 1)[:, None])) * math.tanh(epsilon / g / 2)
    kernel[:, [0, -1]] /= -math.expm1(-epsilon / g)
    fine, mechanism = CountKernel(kernel), LaplaceLabelProportions(epsilon)
    step = 2.1 * epsilon / g
    for law, close in (
        (multiplicative_advantage(mechanism, ETA, signed=True), multiplicative_advantage(fine, ETA, signed=True)),
        (posterior_change(mechanism, ETA), posterior_change(fine, ETA)),
    ):
        assert law.maximum == pytest.approx(close.maximum, abs=1e-9)
        for q in (0.1, 0.25, 0.5, 0.8, 0.97):
            x = close.quantile(q)
            assert close.cdf(x - step) - 3 * step <= law.cdf(x) <= close.cdf(x + step) + 3 * step
            least = law.quantile(q)
            assert law.cdf(least + 1e-9) >= q - 1e-12
            assert least in (0.0, -epsilon) or law.cdf(least - 1e-9) <= q + 1e-12
        assert law.cdf(law.maximum) == 1
    assert multiplicative_advantage(mechanism, ETA, signed=True).cdf(-epsilon) > 0  # all outputs below 0


def test_outputs_beyond_all_sums_move_a_belief_alike() -> None:
    """Above k the posterior does not change any more: an atom, which the distribution function has from there on."""
    p, epsilon = 0.1, 1.5
    law = posterior_change(LaplaceLabelProportions(epsilon), [p, 0.5])
    at = p * (1 - p) * -math.expm1(-epsilon) / (p + (1 - p) * math.exp(-epsilon))
    # Label 0 is half of all; above 2 its output is e^-(2 - sum) epsilon / 2, sums of 0, 1, 2 ones.
    sums = (0.45, 0.5, 0.05)
    mass = sum(c * math.exp(-epsilon * (2 - l)) / 2 for l, c in enumerate(sums)) / 2
    assert law.cdf(at - 1e-13) == pytest.approx(law.cdf(at + 1e-9), abs=1e-7)
    assert law.cdf(at) - law.cdf(at - 1e-9) == pytest.approx(mass, abs=1e-7)


def test_the_tail_and_the_advantage() -> None:
    """The advantage is at most the mean change of the posterior: both are means over outputs of the same posterior."""
    for mechanism in (LLP, GeometricLabelProportions(1.0)):
        law = posterior_change(mechanism, ETA)
        assert individual_advantage(mechanism, ETA).mean() <= float(law.values @ law.weights) + 1e-15  # type: ignore[attr-defined]
    known = posterior_change(LaplaceLabelProportions(1.0), [0.0, 1.0])
    assert (known.maximum, known.cdf(0.0)) == (0.0, 1.0)
    assert posterior_change(LLP, [0.5, 0.5]).cdf(0.4999) == pytest.approx(0.5)
    with pytest.raises(darrm.InputError, match="two classes"):
        posterior_change(RandomizedResponse(1.0, classes=3), [0.2, 0.3, 0.5])


@pytest.mark.thorough
@settings(derandomize=True, max_examples=30, deadline=None)
@given(eta=st.lists(st.floats(0, 1), min_size=1, max_size=5), epsilon=st.floats(0.05, 3), t=st.floats(-3, 9))
def test_both_attackers_guess_the_same(eta: list[float], epsilon: float, t: float) -> None:
    k = len(eta)
    s = int(np.clip(round(t), 0, k))
    bits = (np.arange(k) + s) % 2
    for mechanism, output in (
        (LaplaceLabelProportions(epsilon), t),
        (GeometricLabelProportions(epsilon), s),
        (RandomizedResponse(epsilon), bits),
    ):
        after = posterior(mechanism, eta, output)
        clear = np.abs(after - 0.5) > 1e-12
        fast, exact = (f(mechanism, eta, output) for f in (shortcut_decisions, attacker_decisions))
        assert np.array_equal(fast[clear], exact[clear])


def test_the_three_cases_of_randomized_response() -> None:
    """Theorem 3.7 of 2023: 1 above 1 - pi, 0 below pi, and else the released label."""
    mechanism = RandomizedResponse(1.0)
    pi = mechanism.flip_probability
    eta = np.array([pi / 2, 1 - pi / 2, 0.5, 0.6, 0.4, 0.0, 1.0])
    for output in (np.zeros(7, dtype=int), np.ones(7, dtype=int)):
        cases = np.where(eta > 1 - pi, 1, np.where(eta < pi, 0, output))
        keep = (eta > 0) & (eta < 1)
        assert shortcut_decisions(mechanism, eta, output)[keep].tolist() == cases[keep].tolist()
        assert attacker_decisions(mechanism, eta, output)[keep].tolist() == cases[keep].tolist()
    assert shortcut_decisions(LLP, [0.5, 0.9], 1).tolist() == attacker_decisions(LLP, [0.5, 0.9], 1).tolist()


AGGREGATE = BagAggregate(np.array([1.0, 2.0]), 0.5)
FEATURES = [[1.0, 0.0], [1.0, 1.0], [1.0, 3.0]]
NOISY = NoisyAggregate(0.5, np.array([True, True, False]), np.array([1.0, 0.5, -1.0]))


def test_posteriors_are_called_alike() -> None:
    bits, one = [1, 0, 1], 1
    majority = DaRRM(darrm.solve(K=3, m=1, epsilon=0.5))
    for mechanism, output in (
        (LLP, 2),
        (LaplaceLabelProportions(1.0), 1.3),
        (GeometricLabelProportions(1.0), 2),
        (RandomizedResponse(1.0), bits),
        (CountKernel(np.eye(4)), 2),
        (majority, one),
        (NoisyWeightedLabelProportions(0.5, 1.0), NOISY),
    ):
        plain = posterior(mechanism, ETA, output)
        assert np.array_equal(posterior(mechanism, ETA, output, FEATURES), plain)
        with pytest.raises(darrm.InputError, match="X must"):
            posterior(mechanism, ETA, output, "features")
    aggregates = WeightedBagAggregates()
    assert np.array_equal(
        posterior(aggregates, ETA, AGGREGATE, FEATURES), aggregates.posterior(ETA, AGGREGATE, X=FEATURES)
    )


def test_errors_name_the_class_that_came() -> None:
    with pytest.raises(darrm.InputError, match=r"X must be the features .*WeightedBagAggregates.* Got None\. Pass"):
        posterior(WeightedBagAggregates(), ETA, AGGREGATE)
    with pytest.raises(darrm.InputError, match=r"output must be a NoisyAggregate\. Got BagAggregate"):
        posterior(NoisyWeightedLabelProportions(0.5, 1.0), ETA, AGGREGATE)
    with pytest.raises(darrm.InputError, match=r"output must be a tuple\. Got float"):
        posterior(WeightedBagAggregates(), ETA, 0.5, FEATURES)
    with pytest.raises(darrm.InputError, match="Got the class LabelProportions itself: call it"):
        posterior(LabelProportions, ETA, 1)
    with pytest.raises(darrm.InputError, match="Got str"):
        posterior("llp", ETA, 1)
    with pytest.raises(darrm.InputError, match="Got WeightedBagAggregates"):
        individual_advantage(WeightedBagAggregates(), ETA)  # type: ignore[arg-type]

"""Label mechanisms release what they say, and their posteriors are those of Bayes."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import labels as oracle

import darrm
from darrm.labels import GeometricLabelProportions, LabelProportions, LaplaceLabelProportions
from darrm.mechanisms import RandomizedResponse, bags
from darrm.numerics.leave_one_out import leave_one_out, posterior
from darrm.randomness.words import NotPrivateWarning

etas = st.lists(st.floats(0, 1), min_size=1, max_size=6)


def exact_pmf(p: list[float]) -> list[Fraction]:
    out = [Fraction(1)]
    for x in map(Fraction, p):
        out = [a * (1 - x) + b * x for a, b in zip([*out, Fraction(0)], [Fraction(0), *out], strict=True)]
    return out


@pytest.mark.thorough
def test_leave_one_out_keeps_its_relative_accuracy() -> None:
    rng = np.random.default_rng(1)
    near_half = 0.5 + 1e-9 * rng.standard_normal(30)
    mixed = np.concatenate([1e-6 * rng.random(15), 1 - 1e-6 * rng.random(15)])
    sure = np.concatenate([[0, 0, 1, 1, 1], rng.random(25)])
    for p in (rng.random(30), 0.02 * rng.random(30), rng.beta(0.1, 0.1, 30), near_half, mixed, sure, np.full(30, 0.5)):
        q = leave_one_out(p)
        for i in range(0, 30, 6):
            for l, true in enumerate(exact_pmf(np.delete(p, i).tolist())):
                if true == 0:
                    assert q[i, l] == 0
                elif true > 1e-290:
                    assert abs(Fraction(q[i, l]) / true - 1) < 1e-14


@pytest.mark.parametrize(("p", "k"), [(2.0**-7, 290), (2.0**-26, 60), (0.5, 128), (1 - 2.0**-7, 290)])
def test_leave_one_out_near_the_least_of_float64(p: float, k: int) -> None:
    """Where P leaves the range of float64, what the recurrences start with has faded at 1e-290."""
    q = leave_one_out(np.full(k, p))[0]
    x = Fraction(p)
    for l in range(k):
        true = math.comb(k - 1, l) * x**l * (1 - x) ** (k - 1 - l)
        if true > 1e-290:
            assert abs(Fraction(q[l]) / true - 1) < 3e-14


def test_leave_one_out_of_many_bags() -> None:
    eta = np.random.default_rng(2).random((5, 7))
    q = leave_one_out(eta)
    assert q.shape == (5, 7, 7)
    assert all(np.array_equal(q[b], leave_one_out(eta[b])) for b in range(5))
    assert np.allclose(q.sum(axis=-1), 1, atol=1e-14)
    assert leave_one_out([0.3]).tolist() == [[1.0]]


def test_bags_in_parts_are_those_of_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    eta = np.random.default_rng(3).random((40, 6))
    sums = (eta > 0.5).sum(axis=1)
    whole = LabelProportions().posterior(eta, sums)
    monkeypatch.setattr("darrm.numerics.leave_one_out._ENTRIES", 100)
    assert np.array_equal(LabelProportions().posterior(eta, sums), whole)
    eta[17], sums[17] = 0, 3
    with pytest.raises(darrm.InputError, match="bag 17 has probability 0"):
        LabelProportions().posterior(eta, sums)


def test_a_published_posterior() -> None:
    found = LabelProportions().posterior(oracle.ETA, 2)
    assert found == pytest.approx(oracle.LLP_POSTERIOR_SUM_2, abs=1e-15)


@pytest.mark.thorough
@settings(derandomize=True, max_examples=40, deadline=None)
@given(eta=etas, epsilon=st.floats(0.05, 5), data=st.data())
def test_posteriors_are_those_of_bayes(eta: list[float], epsilon: float, data: st.DataObject) -> None:
    for mechanism, answer in (
        (LabelProportions(), oracle.proportions),
        (GeometricLabelProportions(epsilon), oracle.geometric(epsilon)),
        (RandomizedResponse(epsilon), oracle.randomized_response(epsilon)),
    ):
        tables = oracle.joint(answer, eta)
        output = data.draw(st.sampled_from([o for o, pair in tables[0].items() if sum(pair) > 1e-200]))
        wanted = [table[output][1] / sum(table[output]) for table in tables]
        assert mechanism.posterior(eta, output) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.thorough
@settings(derandomize=True, max_examples=30, deadline=None)
@given(eta=etas, epsilon=st.floats(0.01, 5), t=st.floats(-3, 9))
def test_laplace_posterior(eta: list[float], epsilon: float, t: float) -> None:
    tables = oracle.joint(oracle.proportions, eta)

    def density(table: dict, v: int) -> float:
        return sum(pair[v] * math.exp(-epsilon * abs(t - s)) for s, pair in table.items())

    wanted = [density(x, 1) / (density(x, 0) + density(x, 1)) for x in tables]
    assert LaplaceLabelProportions(epsilon).posterior(eta, t) == pytest.approx(wanted, abs=1e-12)


def test_laplace_posterior_far_outside_and_without_noise() -> None:
    eta = [0.2, 0.6, 0.5]
    mechanism = LaplaceLabelProportions(0.7)
    assert np.array_equal(mechanism.posterior(eta, 1e9), mechanism.posterior(eta, 3.0))
    assert np.array_equal(mechanism.posterior(eta, -1e9), mechanism.posterior(eta, 0.0))
    assert LaplaceLabelProportions(1e6).posterior(eta, 2.25) == pytest.approx(LabelProportions().posterior(eta, 2))


def test_sure_labels_stay_sure() -> None:
    eta = [0.0, 1.0, 0.4]
    for mechanism, output in (
        (LabelProportions(), 1),
        (GeometricLabelProportions(1), 3),
        (LaplaceLabelProportions(1), 0.1),
    ):
        assert mechanism.posterior(eta, output)[:2].tolist() == [0.0, 1.0]
    assert RandomizedResponse(1).posterior(eta, [1, 0, 1])[:2].tolist() == [0.0, 1.0]


def test_many_bags_at_once() -> None:
    eta = np.random.default_rng(4).random((6, 5))
    sums = np.array([0, 1, 2, 3, 4, 5])
    for mechanism in (LabelProportions(), GeometricLabelProportions(0.8), LaplaceLabelProportions(0.8)):
        one_by_one = [mechanism.posterior(row, s) for row, s in zip(eta, sums, strict=True)]
        assert np.allclose(mechanism.posterior(eta, sums), one_by_one, rtol=1e-13)


def test_release_of_the_exact_sum() -> None:
    assert LabelProportions().release([1, 0, 1, 1]) == 3
    assert LabelProportions().release([[1, 0], [0, 0], [True, True]]).tolist() == [1, 0, 2]
    assert LabelProportions().epsilon == math.inf


def test_randomized_response_flips_as_often_as_it_says() -> None:
    mechanism, n = RandomizedResponse(0.7), 200_000
    pi = 1 / (1 + math.exp(0.7))
    assert mechanism.flip_probability == pytest.approx(pi, rel=1e-15)
    with pytest.warns(NotPrivateWarning):
        released = mechanism.release(np.ones((n // 4, 4)), rng=np.random.default_rng(5))
    assert released.shape == (n // 4, 4)
    assert abs(released.mean() - (1 - pi)) <= 5 * math.sqrt(pi * (1 - pi) / n)
    with pytest.warns(NotPrivateWarning):
        released = mechanism.release(np.zeros(n), rng=np.random.default_rng(6))
    assert abs(released.mean() - pi) <= 5 * math.sqrt(pi * (1 - pi) / n)
    assert RandomizedResponse(1e5).release([0, 1, 1]).tolist() == [0, 1, 1]


def test_the_kernel_of_randomized_response() -> None:
    pi = 1 / (1 + math.exp(0.7))
    assert RandomizedResponse(0.7).label_kernel() == pytest.approx(np.array([[1 - pi, pi], [pi, 1 - pi]]), rel=1e-15)


@pytest.mark.thorough
def test_geometric_release_follows_its_kernel_and_loses_its_bias() -> None:
    k, s, n = 5, 1, 200_000
    mechanism = GeometricLabelProportions(0.6)
    with pytest.warns(NotPrivateWarning):
        released = mechanism.release(np.tile(np.arange(k) < s, (n, 1)), rng=np.random.default_rng(7))
    p = mechanism.kernel(k)[s]
    seen = np.bincount(released, minlength=k + 1) / n
    assert np.all(np.abs(seen - p) <= 5 * np.sqrt(p * (1 - p) / n))
    for size in (1, 2, 5, 40):
        kernel = mechanism.kernel(size)
        assert np.allclose(kernel.sum(axis=1), 1, atol=1e-14)
        mean = kernel @ mechanism.unbiased(np.arange(size + 1), size)
        assert mean == pytest.approx(np.arange(size + 1), abs=1e-12)


@pytest.mark.thorough
def test_laplace_release_is_discrete_laplace_on_its_grid() -> None:
    mechanism, n = LaplaceLabelProportions(0.5), 100_000
    with pytest.warns(NotPrivateWarning):
        released = mechanism.release(np.tile([1, 1, 0], (n, 1)), rng=np.random.default_rng(8))
    assert np.array_equal(released * 1024, np.floor(released * 1024))
    for t in (-3.0, -0.5, 0.0, 1.0, 4.0):  # distribution function of continuous noise, up to half a step of the grid
        p = 0.5 * math.exp(0.5 * t) if t < 0 else 1 - 0.5 * math.exp(-0.5 * t)
        assert abs((released - 2 <= t).mean() - p) <= 5 * math.sqrt(p * (1 - p) / n) + 0.5 / 1024
    step = (mechanism.release(np.ones(3)) * 1024) % 1
    assert step == 0


def test_bags_are_disjoint_and_report_what_is_left() -> None:
    for rng in (None, np.random.default_rng(9)):
        found = bags(23, 5, rng)
        assert found.indices.shape == (4, 5)
        assert found.remainder.shape == (3,)
        assert sorted([*found.indices.ravel(), *found.remainder]) == list(range(23))
    first, again = (bags(50, 7, np.random.default_rng(10)) for _ in range(2))
    assert np.array_equal(first.indices, again.indices)
    # Every index is as likely to be in the first bag.
    rng = np.random.default_rng(11)
    seen = np.bincount(np.concatenate([bags(6, 2, rng).indices[0] for _ in range(3000)]), minlength=6) / 3000
    assert np.all(np.abs(seen - 1 / 3) <= 5 * math.sqrt(2 / 9 / 3000))


def test_bags_of_the_operating_system_are_uniformly_random() -> None:
    """All 24 orders of four are as likely: `random_bag_delta` rests on it. Each count is within 6 deviations."""
    draws = 4800
    orders: dict[tuple[int, ...], int] = {}
    for _ in range(draws):
        order = tuple(bags(4, 2).indices.ravel().tolist())
        orders[order] = orders.get(order, 0) + 1
    assert len(orders) == 24
    for count in orders.values():
        assert abs(count - draws / 24) < 6 * (draws / 24) ** 0.5


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), 1e-10, 1e7, "1", None, True])
def test_epsilon_that_is_none(value: object) -> None:
    for kind in (RandomizedResponse, LaplaceLabelProportions, GeometricLabelProportions):
        with pytest.raises(darrm.InputError, match="epsilon must be"):
            kind(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("labels", [[0, 2], [0.5], [float("nan"), 1], "ab", [], 1, [[[1]]], [-1, 0]])
def test_labels_that_are_none(labels: object) -> None:
    for mechanism in (
        LabelProportions(),
        RandomizedResponse(1),
        LaplaceLabelProportions(1),
        GeometricLabelProportions(1),
    ):
        with pytest.raises(darrm.InputError, match="label"):
            mechanism.release(labels)  # type: ignore[arg-type]


@pytest.mark.parametrize("eta", [[0.5, 1.1], [-0.1], [float("nan"), 0.5], [], 0.5, "ab", [[[0.5]]]])
def test_eta_that_is_none(eta: object) -> None:
    for mechanism, output in (
        (LabelProportions(), 1),
        (RandomizedResponse(1), [0, 1]),
        (LaplaceLabelProportions(1), 1),
        (GeometricLabelProportions(1), 1),
    ):
        with pytest.raises(darrm.InputError, match="eta must"):
            mechanism.posterior(eta, output)  # type: ignore[arg-type]


def test_outputs_that_cannot_be() -> None:
    for output in (3, -1, 0.5, float("nan"), [1, 1], "x"):
        with pytest.raises(darrm.InputError, match="output must"):
            LabelProportions().posterior([0.5, 0.5], output)  # type: ignore[arg-type]
    with pytest.raises(darrm.InputError, match="output must be finite"):
        LaplaceLabelProportions(1).posterior([0.5, 0.5], math.inf)
    with pytest.raises(darrm.InputError, match="shape of eta"):
        RandomizedResponse(1).posterior([0.5, 0.5], [1])
    with pytest.raises(darrm.InputError, match="probability 0 under"):
        LabelProportions().posterior([0.0, 0.0], 1)
    with pytest.raises(darrm.InputError, match="probability 0 under"):
        posterior([0.5, 0.5], [0.0, 0.0, 0.0])
    with pytest.raises(darrm.InputError, match="output must be integers"):
        GeometricLabelProportions(1).unbiased([0, 6], 5)


@pytest.mark.parametrize(("n", "size"), [(0, 1), (5, 6), (5, 0), (5, -1), (2.5, 1), (True, 1), (5, "2")])
def test_bags_that_cannot_be(n: object, size: object) -> None:
    with pytest.raises(darrm.InputError, match="must be"):
        bags(n, size)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 37.5])
def test_laplace_on_the_grid_has_the_guaranteed_epsilon_exactly(epsilon: float) -> None:
    """One label moves the sum by 1, which is 2^10 steps of the grid: 2^10 times the rate of one step is epsilon."""
    from darrm.labels.mechanisms import label_proportions

    mechanism = LaplaceLabelProportions(epsilon)
    outputs = mechanism.release(np.zeros((2000, 3)))
    steps = outputs * label_proportions._GRID
    assert np.array_equal(steps, np.round(steps))
    assert mechanism._noise.rate * label_proportions._GRID == Fraction(epsilon)


def test_an_audit_does_not_take_a_mechanism_at_its_word() -> None:
    class Liar:
        epsilon = 0.1

        def kernel(self, k: int) -> np.ndarray:
            return np.eye(k + 1)

    from darrm.labels import largest_log_odds_change, multiplicative_advantage

    assert largest_log_odds_change(Liar(), [0.5, 0.5]) == np.inf
    assert multiplicative_advantage(Liar(), [0.5, 0.5]).infinite_mass == pytest.approx(0.5)


def test_rare_outputs_keep_their_mass() -> None:
    from darrm.labels import multiplicative_advantage

    found = multiplicative_advantage(LabelProportions(), [0.5] * 64)
    assert found.infinite_mass == pytest.approx(2.0**-63, rel=1e-9)
    assert found.cdf(-np.inf) == 0.0
    assert found.cdf(np.inf) == 1.0

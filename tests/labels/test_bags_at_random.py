"""Floors of random bags fail no more often than they say, and the delta that rests on them is above the true mean."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import darrm
from darrm.labels import bag_floor, local_delta, random_bag_delta, worst_delta
from darrm.labels.aggregates import WorstDelta
from darrm.labels.bags_at_random import _largest, _space, _tails
from darrm.mechanisms import bags
from darrm.mechanisms.labelled_bag import column_space, residual_of


def residual(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return residual_of(column_space(X), y)


def left_out(X: np.ndarray, y: np.ndarray, j: int) -> np.ndarray:
    """Residuals of the records without record j."""
    return residual(np.delete(X, j, axis=0), np.delete(y, j))


def data(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """An intercept and normal features; labels that are 1 where leverages are the largest, which the floor fears."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, d - 1))])
    y = np.zeros(n)
    y[np.argsort((column_space(X) ** 2).sum(axis=1))[-n // 4 :]] = 1
    return X, y


def premise(X: np.ndarray, y: np.ndarray, j: int) -> dict[str, float]:
    e = left_out(X, y, j)
    return {"loss_floor": float((e**2).mean()), "residual_bound": float(np.abs(e).max()) * (1 + 1e-12)}


def test_leaving_one_record_out() -> None:
    """Lemma 8."""
    X, y = data(14, 3, 1)
    n, h = len(X), float((column_space(X) ** 2).sum(axis=1).max())
    e = residual(X, y)
    largest = float(np.abs(e).max())
    for j in range(n):
        without = left_out(X, y, j)
        assert (without**2).mean() >= ((e**2).sum() - largest**2 / (1 - h)) / (n - 1) - 1e-12
        assert np.abs(without).max() <= largest / (1 - h) + 1e-12
        for change in (-3.0, 0.7, 10.0):
            other = y.copy()
            other[j] += change
            assert min((e**2).sum(), (residual(X, other) ** 2).sum()) >= (without**2).sum() - 1e-12


@pytest.mark.thorough
@pytest.mark.parametrize("intercept", [True, False])
def test_labels_of_a_range_keep_the_residual_bound(intercept: bool) -> None:
    """Lemma 9, for labels 2 and 3: with a constant column they may be taken from the middle, else not."""
    rng = np.random.default_rng(2)
    for _ in range(100):
        X = np.column_stack([np.ones(12), rng.normal(size=12)])[:, 0 if intercept else 1 :]
        y = rng.integers(2, 4, size=12).astype(float)
        h = float((column_space(X) ** 2).sum(axis=1).max())
        size = 0.5 if intercept else 3.0
        for j in range(12):
            e = left_out(X, y, j)
            bound = size + math.sqrt(11 * h / (1 - h)) * math.sqrt(max(0.0, size**2 - (e**2).mean()))
            assert np.abs(e).max() <= bound + 1e-9


@pytest.mark.parametrize(("n", "k", "d"), [(9, 5, 1), (10, 6, 2), (11, 8, 2), (12, 4, 1)])
def test_the_trace_over_all_bags_is_below_its_bound(n: int, k: int, d: int) -> None:
    """Lemmas 10 and 11: the mean over all bags of a record of tr exp(-theta Sigma), and the two steps to the bound."""
    X, y = data(n, d, n)
    U, j = column_space(X), n - 1
    e = left_out(X, y, j)
    loss = float((e**2).mean())
    ratio = float((e**2).max()) / loss
    z = np.column_stack([math.sqrt(n - 1) * U[:j], e / math.sqrt(loss)])
    thetas, logs = _tails(U, ratio)

    def trace(theta: float, sigma: np.ndarray) -> float:
        return float(np.exp(-theta * np.linalg.eigvalsh(sigma)).sum())

    everyone = list(itertools.combinations(range(n - 1), k - 1))
    assert len(everyone) == math.comb(n - 1, k - 1)
    smaller = 0
    for theta, log in zip(thetas[::6], logs[::6], strict=True):
        without = np.mean([trace(theta, z[list(bag)].T @ z[list(bag)]) for bag in everyone])
        factors = [np.eye(d + 1) - np.outer(v, v) * -math.expm1(-theta * v @ v) / (v @ v) for v in z]
        largest = float(np.linalg.eigvalsh(np.mean(factors, axis=0))[-1])
        assert without <= (d + 1) * largest ** (k - 1) * (1 + 1e-12)
        assert math.log(largest) <= log + 1e-12
        smaller += log < 0
    assert smaller > 0 or d > 1


@pytest.mark.parametrize("n", [16, 1000])
def test_the_tails_of_an_intercept_are_rounded_up(n: int) -> None:
    """All leverages are 1 / n, so that lambda has a closed form: g (1 - 1 / n)."""
    ratio = 1.75
    with localcontext() as context:
        context.prec = 40
        length = (n - 1) / Decimal(n) + Decimal(ratio)
        for theta, log in zip(*_tails(column_space(np.ones((n, 1))), ratio), strict=True):
            least = (1 - (-Decimal(float(theta)) * length).exp()) / length * (1 - 1 / Decimal(n))
            assert (1 - least).ln() <= Decimal(float(log)) <= (1 - least).ln() * (1 - Decimal("1e-9"))


@pytest.mark.thorough
def test_the_tails_are_those_of_their_formula() -> None:
    """Lemma 11 with any c: s by a linear program, lambda as the least eigenvalue of a matrix of two rows."""
    from scipy.optimize import linprog

    X, _ = data(30, 2, 1)
    U = column_space(X)
    n, square = len(U), (U * U).sum(axis=1)
    for ratio in (1.0, 1.7, 6.5):
        for theta, log in list(zip(*_tails(U, ratio), strict=True))[20:50:7]:
            length = (n - 1) * square + ratio
            g = (1 - np.exp(-theta * length)) / length
            p = float(np.linalg.eigvalsh((U.T * g) @ U)[0] - (g * square).max())
            s = linprog(g / (n - 1), A_eq=np.ones((1, n)), b_eq=[n - 1], bounds=(0, ratio)).fun
            best = -math.inf
            for c in np.linspace(g.min(), g.max(), 401):
                q = math.sqrt(float(np.linalg.eigvalsh((U.T * (g - c) ** 2) @ U)[-1]))
                best = max(best, float(np.linalg.eigvalsh([[p, -q], [-q, s]])[0]))
            assert math.log1p(-max(best, 0.0)) <= log + 1e-6 * abs(log)


@pytest.mark.parametrize(("k", "failure"), [(40, 0.3), (150, 1e-6), (200, 0.9)])
def test_the_floor_is_that_of_its_formula(k: int, failure: float) -> None:
    """Lemma 11: (d + 1) e^(theta t) (1 - lambda)^(k - 1) <= failure, the leverage at most R^2 / (R^2 + t)."""
    n, d, loss, bound = 200, 2, 0.3, 0.8
    X = np.column_stack([np.ones(n), np.arange(n) % 9])
    U, off = _space(X)
    floor = bag_floor(k, failure, X=X, loss_floor=loss, residual_bound=bound)
    assert floor.residual_sum > 0
    with localcontext() as context:
        context.prec = 40
        t = Decimal(floor.residual_sum) / Decimal(loss)
        fails = min(
            (d + 1) * (Decimal(float(theta)) * t + (k - 1) * Decimal(float(log))).exp()
            for theta, log in zip(*_tails(U, bound * bound / loss, off), strict=True)
        )
        assert Decimal(failure) * (1 - Decimal("1e-9")) <= fails <= Decimal(failure)
    size = (n - 1) * max(
        float(X[j] @ np.linalg.solve(np.delete(X, j, axis=0).T @ np.delete(X, j, axis=0), X[j])) for j in range(n)
    )
    assert floor.leverage == pytest.approx(size / (size + float(t)), rel=1e-9)


def chance_of_a_smaller_residual(X: np.ndarray, y: np.ndarray, k: int, j: int, floor: float, draws: int) -> float:
    rng = np.random.default_rng(3)
    others = np.delete(np.arange(len(X)), j)
    chosen = (rng.permutation(others)[: k - 1] for _ in range(draws))
    return float(np.mean([(residual(X[at], y[at]) ** 2).sum() < floor for at in chosen]))


@pytest.mark.parametrize("failure", [0.5, 0.1, 1e-3])
@pytest.mark.parametrize(("n", "d", "k"), [(2000, 1, 60), (2000, 2, 200), (1000, 3, 400)])
def test_the_floor_fails_no_more_often_than_it_says(n: int, d: int, k: int, failure: float) -> None:
    """Lemma 11, by simulation: residuals sit at the largest leverages. The floor is not vacuous for these bags."""
    X, y = data(n, d, 4)
    j, draws = 0, 300
    floor = bag_floor(k, failure, X=X, **premise(X, y, j))
    assert floor.residual_sum > 0
    seen = chance_of_a_smaller_residual(X, y, k, j, floor.residual_sum, draws)
    assert seen <= failure + 3 * math.sqrt(failure / draws)
    at_random = np.random.default_rng(5).permutation(np.arange(1, n))[: k - 1]
    U = column_space(X[np.append(at_random, j)])
    assert float(U[-1] @ U[-1]) <= floor.leverage


@pytest.mark.thorough
@pytest.mark.parametrize(("n", "k"), [(16, 12), (14, 13), (13, 9)])
def test_the_floor_over_all_bags(n: int, k: int) -> None:
    """By enumeration: labels 0 and 1, half of each, and an intercept alone, where small bags have a floor already."""
    X, y = np.ones((n, 1)), np.arange(n) % 2 * 1.0
    said = {failure: bag_floor(k, failure, X=X, **premise(X, y, 0)) for failure in (0.9, 0.5, 0.3)}
    sums = [
        float((residual(X[list(bag)], y[list(bag)]) ** 2).sum()) for bag in itertools.combinations(range(1, n), k - 1)
    ]
    for failure, floor in said.items():
        assert np.mean(np.array(sums) < floor.residual_sum) <= failure
    assert said[0.9].residual_sum > 0


@pytest.mark.thorough
def test_a_floor_on_the_loss_alone_is_not_enough() -> None:
    """All the residual in 20 of 20,000 records: nine of ten bags of 100 have none, and no label privacy at all."""
    n, k = 20_000, 100
    X, y = np.ones((n, 1)), np.zeros(n)
    y[:20] = 1
    loss = float((residual(X, y) ** 2).mean())
    without = 1 - math.comb(n - 21, k - 1) / math.comb(n - 1, k - 1)  # chance that the other 99 hold one of the 20
    assert 1 - without == pytest.approx(0.904, abs=2e-3)
    others = np.zeros(k)
    assert local_delta(1.0, X[:k], others, 0, 1.0).delta == 1.0
    # The residual bound that holds says so; one that does not hold claims a floor which nine of ten bags break.
    true = bag_floor(k, 0.5, X=X, loss_floor=loss, residual_bound=float(np.abs(residual(X, y)).max()))
    false = bag_floor(k, 0.5, X=X, loss_floor=loss, residual_bound=2 * math.sqrt(loss))
    assert (true.residual_sum, true.leverage) == (0.0, 1.0)
    assert false.residual_sum > 0
    assert random_bag_delta(1.0, k, (0, 1), X=X, loss_floor=loss).upper == 1.0
    assert random_bag_delta(1.0, k, (0, 1), X=X, loss_floor=loss, residual_bound=2 * math.sqrt(loss)).upper < 0.904


@pytest.mark.thorough
@pytest.mark.parametrize(("n", "k", "epsilon"), [(600, 150, 0.5), (600, 300, 0.5), (120, 60, 1.0)])
def test_random_bags_against_the_mean_over_bags(n: int, k: int, epsilon: float) -> None:
    """Theorem 12: the divergence with the bags shown is the mean over bags of that of the bag of the record."""
    rng = np.random.default_rng(6)
    X = np.column_stack([np.ones(n), np.tile([-1.0, 1.0], n // 2)])
    y = rng.integers(0, 2, size=n).astype(float)
    j = 7
    loss = float((left_out(X, y, j) ** 2).mean())
    said = random_bag_delta(epsilon, k, (0, 1), X=X, loss_floor=loss)
    deltas = []
    for _ in range(60):
        parts = bags(n, k, rng).indices
        part = next((part for part in parts if j in part), None)
        if part is None:
            deltas.append(0.0)
            continue
        deltas.append(local_delta(epsilon, X[part], y[part], int(np.flatnonzero(part == j)[0]), 1 - 2 * y[j]).delta)
    assert np.mean(deltas) <= said.upper
    assert said.upper < 1
    # The total is what its parts add up to.
    h = min(said.floor.leverage, 0.5)
    worst = worst_delta(
        epsilon,
        said.floor.residual_sum,
        (0, 1),
        leverage=said.floor.leverage,
        largest_residual=0.5 * (1 + math.sqrt((k - 1) * h * (1 - h))),
    )
    assert said.upper == pytest.approx(said.failure + worst.upper, rel=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize(("intercept", "size"), [(True, 0.5), (False, 3.0)])
def test_what_the_delta_of_random_bags_is_made_of(
    monkeypatch: pytest.MonkeyPatch, intercept: bool, size: float
) -> None:
    """Theorem 12 for labels in [2, 3], without the search of `worst_delta`; ``size`` is that of Lemma 9."""
    n, k, asked = 20_000, 60, []

    def worst(epsilon: float, floor: float, label_range: tuple[float, float], **known: Any) -> WorstDelta:
        assert (epsilon, label_range) == (1.0, (2.0, 3.0))
        asked.append((floor, known["leverage"], known["largest_residual"]))
        return WorstDelta(0.25, 0.25, "reverse", 2.0)

    monkeypatch.setattr("darrm.labels.bags_at_random.worst_delta", worst)
    X = np.column_stack([np.ones(n), np.arange(n) % 7 - 3.0])[:, 0 if intercept else 1 :]
    loss = 0.4 * size**2
    found = random_bag_delta(1.0, k, (2, 3), X=X, loss_floor=loss)
    # Equal words of the shuffle: a factor e^(n^2 / 2^65).
    assert found.upper >= (found.failure + 0.25) * math.exp(n**2 / 2**65)
    assert found.upper == pytest.approx((found.failure + 0.25) * math.exp(n**2 / 2**65), rel=1e-14)
    for floor, leverage, largest in asked:
        assert floor > 0
        h = min(leverage, 0.5)
        assert largest == pytest.approx(size * (1 + math.sqrt((k - 1) * h * (1 - h))), rel=1e-10)
        assert largest >= size * (1 + math.sqrt((k - 1) * h * (1 - h)))
    assert max(leverage for _, leverage, _ in asked) > 0.5
    # Lemma 9: what labels of the range imply for residuals, with the largest leverage of X.
    h = float((column_space(X) ** 2).sum(axis=1).max())
    bound = size + math.sqrt((n - 1) * h / (1 - h)) * math.sqrt(size**2 - loss)
    said = random_bag_delta(1.0, k, (2, 3), X=X, loss_floor=loss, residual_bound=bound)
    assert said.floor.residual_sum == pytest.approx(found.floor.residual_sum, rel=1e-6)


def test_the_residual_of_a_record_in_its_bag_is_bounded() -> None:
    """Theorem 12: the residual bound that is handed to `worst_delta`, with labels from the corners of the range."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        k = int(rng.integers(4, 12))
        X = np.column_stack([np.ones(k), rng.normal(size=k)])
        U = column_space(X)
        j = int(rng.integers(k))
        h = float(U[j] @ U[j])
        row = np.eye(k)[j] - U @ U[j]
        y = (row > 0).astype(float)  # the worst labels of [0, 1]
        assert float(row @ y) <= 0.5 * ((1 - h) + math.sqrt((k - 1) * h * (1 - h))) + 1e-12


@pytest.mark.thorough
def test_no_bag_is_worse_than_the_worst_of_its_residual() -> None:
    rng = np.random.default_rng(8)
    for _ in range(60):
        k = int(rng.integers(5, 12))
        X = np.column_stack([np.ones(k), rng.normal(size=k)])
        y = rng.integers(0, 2, size=k).astype(float)
        j = int(rng.integers(k))
        change = 1 - 2 * y[j]
        e, other = residual(X, y), residual(X, y + change * np.eye(k)[j])
        floor = min(float(e @ e), float(other @ other))
        if floor < 1e-6:
            continue
        leverage = float((column_space(X)[j] ** 2).sum())
        reach = max(abs(float(e[j])), abs(float(other[j])))
        worst = worst_delta(0.4, floor * (1 - 1e-9), (0, 1), leverage=leverage, largest_residual=reach)
        assert local_delta(0.4, X, y, j, change).delta <= worst.upper
        assert worst.upper <= worst_delta(0.4, floor * (1 - 1e-9), (0, 1), leverage=leverage).upper * 1.021


@pytest.mark.thorough
def test_what_more_records_and_less_residual_do() -> None:
    X = np.column_stack([np.ones(5000), np.arange(5000) % 7])

    def floor(k: int = 500, failure: float = 1e-4, bound: float = 1.0) -> float:
        return bag_floor(k, failure, X=X, loss_floor=0.2, residual_bound=bound).residual_sum

    assert floor(k=250) < floor() < floor(k=1000) < 0.2 * 1000
    assert floor(failure=1e-8) < floor() < floor(failure=0.1)
    assert floor(bound=2.0) < floor() < floor(bound=0.5)
    # One record of large leverage lowers it, wherever it is.
    spoiled = X.copy()
    spoiled[0, 1] = 500.0
    assert bag_floor(500, 1e-4, X=spoiled, loss_floor=0.2, residual_bound=1.0).residual_sum < floor()


@pytest.mark.thorough
def test_delta_of_random_bags_falls_like_the_size_of_the_bag() -> None:
    X = np.column_stack([np.ones(50_000), np.arange(50_000) % 7])
    sizes = np.array([1000, 2000, 4000])
    logs = [math.log(random_bag_delta(1.0, k, (0, 1), X=X, loss_floor=0.2).upper) for k in sizes.tolist()]
    slopes = np.diff(logs) / np.diff(sizes)
    assert slopes[0] < -0.01
    assert slopes[1] == pytest.approx(slopes[0], rel=0.1)
    # The basis of the features changes nothing, nor does the unit of the labels or where their range begins.
    there = random_bag_delta(1.0, 1000, (70, 80), X=X @ [[3.0, 1.0], [1.0, 2.0]], loss_floor=20.0)
    assert math.log(there.upper) == pytest.approx(logs[0], rel=1e-3)


def test_numbers_that_say_nothing() -> None:
    X = np.column_stack([np.ones(100), np.arange(100) % 3])
    for k in (2, 3):
        assert bag_floor(k, 1e-6, X=X, loss_floor=0.2, residual_bound=1.0) == (0.0, 1.0)
        assert random_bag_delta(1.0, k, (0, 1), X=X, loss_floor=0.2).upper == 1.0
    assert bag_floor(50, 0.5, X=X, loss_floor=1e-300, residual_bound=1e300) == (0.0, 1.0)
    assert random_bag_delta(1.0, 50, (-1e308, 1e308), X=X, loss_floor=1.0).upper == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 1}, r"k must be an integer in \[2, n\] = \[2, 20\]"),
        ({"k": 21}, "k must"),
        ({"failure": 0.0}, "failure must"),
        ({"failure": 1.0}, "failure must"),
        ({"failure": math.nan}, "failure must"),
        ({"loss_floor": 0.0}, "loss_floor must"),
        ({"residual_bound": 0.1}, "residual_bound must be at least the root of loss_floor"),
        ({"residual_bound": 0.6, "loss_floor": 0.5}, "residual_bound must be at least the root of loss_floor"),
        ({"residual_bound": math.inf}, "residual_bound must"),
        ({"X": np.zeros((20, 1))}, "X must have columns that are not 0"),
        ({"X": np.eye(20)[:, :1]}, "Leverages of X must be below 1"),
        ({"X": [1.0, 2.0]}, "X must"),
    ],
)
def test_floors_that_are_none(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"k": 5, "failure": 0.1, "loss_floor": 0.2, "residual_bound": 1.0}
    with pytest.raises(darrm.InputError, match=message):
        bag_floor(**({"X": np.ones((20, 1))} | arguments | change))  # type: ignore[arg-type]


def test_deltas_that_are_none() -> None:
    X = np.ones((20, 1))
    with pytest.raises(darrm.InputError, match=r"loss_floor must be at most 0\.25"):
        random_bag_delta(1.0, 5, (0, 1), X=X, loss_floor=0.3)
    with pytest.raises(darrm.InputError, match="residual_bound"):
        random_bag_delta(1.0, 5, (0, 1), X=X, loss_floor=0.2, residual_bound=0.1)
    with pytest.raises(darrm.InputError, match="epsilon"):
        random_bag_delta(0.0, 5, (0, 1), X=X, loss_floor=0.2)
    with pytest.raises(darrm.InputError, match="label_range"):
        random_bag_delta(1.0, 5, (1, 0), X=X, loss_floor=0.2)
    with pytest.raises(darrm.InputError, match="largest_residual goes with leverage"):
        worst_delta(1.0, 1.0, (0, 1), X=X, largest_residual=1.0)
    with pytest.raises(darrm.InputError, match="largest_residual must"):
        worst_delta(1.0, 1.0, (0, 1), leverage=0.5, largest_residual=-1.0)


@pytest.mark.parametrize("size", [1e-10, 2e-10, 1e-13, 0.0])
def test_a_direction_that_the_data_set_hides_is_refused(size: float) -> None:
    """Two records of 20,000 differ in it; in the bag of one of them without the other it is a whole feature."""
    n = 20_000
    X = np.ones((n, 2))
    X[:2, 1] += size
    with pytest.raises(darrm.InputError, match="columns that do not depend on each other"):
        random_bag_delta(0.1, 1000, (0, 1), X=X, loss_floor=0.2)


def test_leverages_without_a_record_are_within_their_bound() -> None:
    """Lemma 9: (n - 1) h / (1 - h) bounds squared lengths in units of any n - 1 records; two like records attain it."""
    n = 30
    X = np.ones((n, 1))
    X[:2] = 5.0
    U = column_space(X)
    without = float(np.linalg.pinv(X[1:])[:, 0] @ X[1])  # leverage of the second record without the first
    assert _largest(U) == pytest.approx((n - 1) * without, rel=1e-9)
    spread = np.column_stack([np.ones(n), np.random.default_rng(9).standard_cauchy(n)])
    for j in range(n):
        rest = np.delete(spread, j, axis=0)
        assert (n - 1) * float(np.diag(rest @ np.linalg.pinv(rest)).max()) <= _largest(column_space(spread)) * (
            1 + 1e-9
        )


def watched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float, float]]:
    """Leverage, largest residual and answer of every call of `worst_delta` from here on."""
    asked = []

    def worst(*given: float, leverage: float, largest_residual: float) -> WorstDelta:
        answer = worst_delta(*given, leverage=leverage, largest_residual=largest_residual)  # type: ignore[arg-type]
        asked.append((leverage, largest_residual, answer.upper))
        return answer

    monkeypatch.setattr("darrm.labels.bags_at_random.worst_delta", worst)
    return asked


def test_the_residual_handed_on_is_that_of_the_theorem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Theorem 12 has h* = min(h, 1/2): beyond 1/2 a smaller leverage would give the larger residual."""
    asked = watched(monkeypatch)
    X = np.column_stack([np.ones(2000), np.tile([-1.0, 1.0], 1000)])
    X[0, 1] = 8.0
    random_bag_delta(0.5, 800, (0, 1), X=X, loss_floor=0.2)
    assert any(0.8 < leverage < 1 for leverage, _, _ in asked)
    for leverage, residual_bound, _ in asked:
        h = min(leverage, 0.5)
        assert residual_bound == pytest.approx(0.5 * (1 + math.sqrt(799 * h * (1 - h))), rel=1e-9)


@pytest.mark.thorough
def test_equal_words_of_the_shuffle_are_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 100_000
    asked = watched(monkeypatch)
    said = random_bag_delta(1.0, 1000, (0, 1), X=np.ones((n, 1)), loss_floor=0.2)
    (worst,) = {upper for leverage, _, upper in asked if leverage == said.floor.leverage}
    assert said.upper / (said.failure + worst) - 1 == pytest.approx(n**2 / 2**65, rel=1e-3)


@pytest.mark.parametrize(
    ("column", "size"), [([1.0, 1.0], 0.5), ([0.9, 1.1], 0.5 + 2.5 * (1 - 0.9 / 1.01)), ([0.0, 1.0], 3.0)]
)
def test_labels_are_taken_from_the_middle_as_far_as_a_column_is_constant(column: list[float], size: float) -> None:
    """Lemma 9, labels in [2, 3]: what the ones leave beside the features counts with the middle of the range."""
    X = np.tile(column, 20)[:, None]
    random_bag_delta(1.0, 5, (2, 3), X=X, loss_floor=size**2 * (1 - 1e-6))
    with pytest.raises(darrm.InputError, match="loss_floor must be at most"):
        random_bag_delta(1.0, 5, (2, 3), X=X, loss_floor=size**2 * (1 + 1e-6))


@pytest.mark.parametrize("size", [1e-3, 1e-5, 1e-7])
def test_rounding_of_nearly_dependent_features_is_paid_for(size: float) -> None:
    """Of n - 1 records alike and one feature nearly constant: leverages and tails by fractions are not beyond ours."""
    n = 40
    second = 1 + size * np.random.default_rng(10).normal(size=n)
    U, off = _space(np.column_stack([np.ones(n), second]))
    # One feature less its mean spans the same as both: exact, then rounded once.
    mean = sum(map(Fraction, second.tolist())) / n
    centred = [Fraction(value) - mean for value in second.tolist()]
    total = sum(value * value for value in centred)
    h = max(Fraction(1, n) + value * value / total for value in centred)
    assert _largest(U, off) >= float((n - 1) * h / (1 - h))
    exact = np.column_stack([np.full(n, n**-0.5), [float(value) / math.sqrt(total) for value in centred]])
    for ratio in (1.0, 15.0):
        ours, ideal = _tails(U, ratio, off)[1], _tails(exact, ratio)[1]
        assert np.all(ours >= ideal)
        assert ours == pytest.approx(ideal, rel=1e-3, abs=1e-9)


def test_the_residual_bound_that_the_range_implies() -> None:
    """Lemma 9, by the numbers: Y + R root(Y^2 - kappa) and no less."""
    X = np.column_stack([np.ones(2000), np.tile([-1.0, 1.0], 1000)])
    root = math.sqrt(_largest(column_space(X)))
    implied = random_bag_delta(0.5, 400, (0, 1), X=X, loss_floor=0.2)
    passed = random_bag_delta(0.5, 400, (0, 1), X=X, loss_floor=0.2, residual_bound=0.5 + root * math.sqrt(0.25 - 0.2))
    assert implied.upper == pytest.approx(passed.upper, rel=1e-6)
    assert implied.upper < 1

"""A total of noisy max is for one number of votes and of classes, and who is charged for it releases no others.

What labels cost is computed here by integrals over all noise and all votes, with no code of the library.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from cases import slow, thorough
from oracles import noisy_max as oracle

import darrm
from darrm.accounting import compose, noisy_max_parameter
from darrm.ensemble import PrivateMajorityClassifier, noisy_max
from darrm.mechanisms import GaussianNoisyMax, LaplaceNoisyMax, PermuteAndFlip

Kind = Callable[..., Any]
KINDS: list[Kind] = [GaussianNoisyMax, LaplaceNoisyMax, PermuteAndFlip]


@lru_cache(maxsize=1000)
def chances(kind: Kind, parameter: float, counts: tuple[int, ...]) -> tuple[float, ...]:
    """Pr[label | counts]."""
    if kind is GaussianNoisyMax:
        return tuple(map(float, oracle.gaussian(counts, parameter)))
    if kind is LaplaceNoisyMax:
        return tuple(map(float, oracle.laplace(counts, Fraction(parameter))))
    return tuple(map(float, oracle.exponential(counts, Fraction(parameter) / 2)))


def pairs(kind: Kind, parameter: float, K: int, classes: int) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """The chances of labels of all neighbouring votes."""
    found = []
    for known in product(range(K), repeat=classes):
        if sum(known) == K - 1:
            sides = [tuple(n + (j == c) for j, n in enumerate(known)) for c in range(classes)]
            law = [chances(kind, parameter, side) for side in sides]
            found += [(P, Q) for P in law for Q in law if P != Q]
    return found


def one_label(kind: Kind, parameter: float, K: int, classes: int, epsilon: float) -> float:
    """The least delta of one label at epsilon."""
    return max(
        sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(P, Q, strict=True))
        for P, Q in pairs(kind, parameter, K, classes)
    )


def one_pair(kind: Kind, parameter: float, K: int, queries: int, epsilon: float) -> float:
    """The least delta of many labels of two classes, if all are asked at the same votes: no more than the truth."""
    worst = 0.0
    for (p, _), (q, _) in pairs(kind, parameter, K, 2):
        of = [[math.comb(queries, n) * x**n * (1 - x) ** (queries - n) for n in range(queries + 1)] for x in (p, q)]
        worst = max(worst, sum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(*of, strict=True)))
    return worst


def tree(kind: Kind, parameter: float, K: int, classes: int, queries: int, a: float) -> float:
    """The largest P(E) - a Q(E) over all strategies of so many labels."""
    if not queries:
        return max(0.0, 1 - a)
    return max(
        sum(p * tree(kind, parameter, K, classes, queries - 1, a * q / p) for p, q in zip(P, Q, strict=True))
        for P, Q in pairs(kind, parameter, K, classes)
    )


@pytest.mark.thorough
@pytest.mark.first(0, 12)
@pytest.mark.parametrize("kind", KINDS[::-1])
@pytest.mark.parametrize(
    ("K", "classes", "queries"),
    [(3, 2, 2), (2, 3, 2), *thorough((4, 2, 3), (3, 3, 2), (4, 3, 2))],
)
def test_a_total_holds_for_its_number_of_votes_and_classes(kind: Kind, K: int, classes: int, queries: int) -> None:
    mechanism = kind(1.0, K=K, classes=classes)
    total = compose(mechanism, queries, delta=1e-3)
    assert tree(kind, 1.0, K, classes, queries, math.exp(total.upper)) <= 1e-3 * (1 + 1e-9)
    assert tree(kind, 1.0, K, classes, queries, math.exp(total.lower * 0.999)) >= 1e-3
    assert (total.K, total.classes) == (K, classes)


@pytest.mark.thorough
@pytest.mark.first(1, 2)
@pytest.mark.parametrize(
    ("kind", "parameter", "K", "other", "queries", "delta"),
    [
        (LaplaceNoisyMax, 1.3822, 25, 24, 20, 1e-5),
        *slow((GaussianNoisyMax, 0.5, 25, 24, 1, 1e-3)),
        (GaussianNoisyMax, 1.0, 10, 9, 20, 1e-5),
        (PermuteAndFlip, 1.0, 9, 10, 20, 1e-5),
    ],
)
def test_one_teacher_more_or_less_can_cost_more(
    kind: Kind, parameter: float, K: int, other: int, queries: int, delta: float
) -> None:
    """Either parity of K."""
    mechanism = kind(parameter, K=K, classes=2)
    total = compose(mechanism, queries, delta=delta).upper
    assert one_pair(kind, parameter, K, queries, total) <= delta < one_pair(kind, parameter, other, queries, total)
    with pytest.raises(darrm.InputError, match=rf"must have {K} votes: totals for {K} .* Got {other} votes in row 1"):
        mechanism.release([[K, 0], [other, 0]])


@pytest.mark.thorough
def test_the_figures_of_the_silent_teacher() -> None:
    gamma = noisy_max_parameter(LaplaceNoisyMax, 20, 30.0, 1e-5, K=25, classes=2)
    assert gamma == pytest.approx(1.3822, abs=5e-5)
    assert one_pair(LaplaceNoisyMax, gamma, 25, 20, 30.0) <= 1e-5
    assert one_pair(LaplaceNoisyMax, gamma, 24, 20, 30.0) == pytest.approx(5.5e-4, abs=5e-6)


@pytest.mark.parametrize("kind", [*KINDS[:0:-1], *slow(KINDS[0])])
def test_another_number_of_classes_can_cost_more(kind: Kind) -> None:
    """Two classes of an odd number of votes have no tie, three have."""
    parameter, K = (0.5, 3) if kind is GaussianNoisyMax else (3.0, 3)
    mechanism = kind(parameter, K=K, classes=2)
    total = compose(mechanism, 1, delta=1e-3).upper
    more = one_label(kind, parameter, K, 3, total)
    assert one_label(kind, parameter, K, 2, total) <= 1e-3
    assert (more > 1e-3) is (kind is not PermuteAndFlip)
    with pytest.raises(darrm.InputError, match=r"must have 2 columns, one for each class: .* Got 3"):
        mechanism.release([[1, 1, 1]])


FIGURES = {
    (GaussianNoisyMax, 1.0): (35.09, 34.36),
    (GaussianNoisyMax, 0.5): (80.59, 100.74),
    (LaplaceNoisyMax, 1.0): (21.50, 23.64),
    (PermuteAndFlip, 1.0): (16.96, 17.86),
}


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "parameter"), FIGURES)
def test_the_table_of_both_parities(kind: Kind, parameter: float) -> None:
    """As docs/composition.md prints it."""
    totals = [compose(kind(parameter, K=K, classes=2), 20, delta=1e-5).upper for K in (9, 10)]
    assert totals == pytest.approx(FIGURES[kind, parameter], abs=6e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_who_is_held_releases_its_votes_and_no_others(kind: Kind) -> None:
    mechanism = kind(1.0, K=4, classes=3)
    assert repr(mechanism).endswith("=1.0, K=4, classes=3)")
    assert mechanism.release([[2, 1, 1], [4, 0, 0]]).shape == (2,)
    assert mechanism.release(np.zeros((0, 3))).shape == (0,)
    for rows, said in (
        ([[2, 1, 1], [2, 1, 0]], "Got 3 votes in row 1"),
        ([[2, 1, 2]], "Got 5 votes in row 0"),
        ([[2, 2]], "must have 3 columns.* Got 2"),
        ([[2, 2, 0, 0]], "must have 3 columns.* Got 4"),
    ):
        with pytest.raises(darrm.InputError, match=said + r".*darrm\.votes\.counts\(votes, classes\)"):
            mechanism.release(rows)
    with pytest.raises(darrm.InputError, match="covers changed votes, and not a teacher that abstains"):
        mechanism.release([[2, 1, 0]])
    # To look at chances is no release.
    assert mechanism.chances([[2, 1]]).shape == (1, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_do_not_sum_alike_are_refused_without_a_number_too(kind: Kind) -> None:
    mechanism = kind(1.0)
    assert mechanism.release([[2, 1, 1], [4, 0, 0]]).shape == (2,)
    assert mechanism.release([[2, 1, 1]]).shape == mechanism.release([[2, 1]]).shape == (1,)
    labels = [[0, 1, 1, 0, 1], [1, 1, 1, 0, 1]]  # of five voters, taken for counts of five classes
    with pytest.raises(darrm.InputError, match=r"Got 3 in row 0 and 4 in row 1\. .*darrm\.votes\.counts"):
        mechanism.release(labels)


@pytest.mark.parametrize("kind", KINDS)
def test_a_total_is_for_what_its_mechanism_releases(kind: Kind) -> None:
    mechanism = kind(1.0, K=3, classes=2)
    by_own = compose(mechanism, 2, delta=1e-3)
    assert by_own == compose(mechanism, 2, delta=1e-3, K=3) == compose(kind(1.0), 2, delta=1e-3, K=3, classes=2)
    for asked in ({"K": 4}, {"classes": 3}, {"K": 3, "classes": 3}):
        with pytest.raises(
            darrm.InputError, match="releases 3 votes for 2 classes, and its total holds for these only"
        ):
            compose(mechanism, 2, delta=1e-3, **asked)  # type: ignore[arg-type]
    for one in ({"K": 3}, {"classes": 3}):
        with pytest.raises(darrm.InputError, match="K and classes go together"):
            kind(1.0, **one)
    for wrong in ({"K": 0, "classes": 2}, {"K": 3, "classes": 1}, {"K": 2.5, "classes": 2}):
        with pytest.raises(darrm.InputError, match="must be an integer"):
            kind(1.0, **wrong)


@pytest.mark.parametrize("noise", [{"gamma": 0.4, "sigma": None}, {"gamma": None, "sigma": 3.0}])
def test_an_ensemble_releases_the_votes_that_it_is_charged_for(noise: dict[str, Any]) -> None:
    release = noisy_max.NoisyMax(noise["gamma"], noise["sigma"], 5.0, 1e-5, "replace-one", 3, 2)
    assert (release.mechanism().K, release.mechanism().classes) == (3, 2)
    assert release.labels(np.array([[0, 1, 1]]), 2, None).shape == (1,)
    for votes, classes in (([[0, 1, 1, 1]], 2), ([[0, 1]], 2), ([[0, 1, 1]], 3)):
        with pytest.raises(darrm.InputError, match="totals for 3 votes over 2 classes"):
            release.labels(np.array(votes), classes, None)


def test_a_fitted_ensemble_is_held_to_its_teachers() -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    model = PrivateMajorityClassifier(teachers="non-private", K=5, sigma=3.0, total_epsilon=5, total_delta=1e-5)
    model.fit(X, X[:, 0] > 0)
    assert repr(model._release.mechanism()) == "GaussianNoisyMax(sigma=3.0, K=5, classes=2)"  # type: ignore[attr-defined]


@pytest.mark.thorough
def test_a_plan_for_voters_without_privacy_says_for_how_many_votes_it_is() -> None:
    plan = darrm.plan(
        [(3, math.inf)], queries=2, total_epsilon=2, total_delta=1e-5, max_affected=1, accuracy=0.8, compare=False
    )
    assert any("total is for 3 votes for 2 classes" in one and "abstains because of" in one for one in plan.assumptions)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["K", "classes", "parameter"])
def test_what_a_total_is_for_cannot_be_changed_afterwards(kind: Kind, name: str) -> None:
    """With another K the same mechanism would release what its total is not for; with another sigma, cost less."""
    mechanism = kind(0.5, K=25, classes=2)
    if name == "parameter":
        name = {GaussianNoisyMax: "sigma", LaplaceNoisyMax: "gamma", PermuteAndFlip: "epsilon"}[kind]
    before = repr(mechanism)
    with pytest.raises(darrm.InputError, match=f"{name} of a {kind.__name__} must not be changed"):
        setattr(mechanism, name, 24)
    assert repr(mechanism) == before
    with pytest.raises(darrm.InputError, match="25 votes"):
        mechanism.release([[12, 12]])

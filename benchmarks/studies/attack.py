"""Attack what releases something, and measure epsilon from below; broken ones must be found.

    python benchmarks/studies/attack.py [--docs] [--trainings 2000] [--seed 0]

Takes: some minutes. --docs writes docs/trust.md.

Each mechanism is run many times on data D and on D', where one record is replaced, and the attacker asks for labels,
several at once or one after the other, each query depending on the labels before. From how often they say what,
`darrm.measures.empirical_epsilon` bounds epsilon from below. All bounds together hold with probability 95 %.

What runs is the library's own code: `fit`, `predict` and `release`. Broken mechanisms are the library with one part
exchanged (less noise, no clipping), or with a claim that does not belong to it. With a seed the runs can be repeated,
and nothing is private; ``--seed system`` draws from the operating system.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import darrm
from darrm import baselines, mechanisms
from darrm.accounting import compose
from darrm.ensemble import DPLogisticRegression, PrivateMajorityClassifier, dp_logistic_regression
from darrm.labels import noisy_delta, worst_delta
from darrm.randomness.words import NotPrivateWarning

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))

import attack_many
import pages
from attack_seen import Array, Labels, Random, Seen, bits, tally

PAGE = pages.DOCS / "trust.md"
TRAIN = dp_logistic_regression.train  # the library's, to put weaker ones in its place
CONFIDENCE = 0.95  # that every bound of the table holds
EPSILON, DELTA = 2.0, 0.01  # of a model

# An outlier: its gradient is at the clip from the first step to the last, as with so small a learning rate no score
# leaves 0 by much. What labels say does not depend on the learning rate.
SIZE, LEARNING_RATE = 1e3, 1e-6
ANCHORS = 30  # records that fix the length against which queries measure the outlier's


# Fixed voters


def outlier_records(label: int, overlap: int) -> tuple[Array, Labels]:
    """Records with an outlier of that label in the first place, for K = 3 and overlap 1, or any K = overlap.

    Anchors pull the second coefficient up by a known length. With overlap 1 the other two voters are sure of 1 and of
    0, so that the first decides.
    """
    u, v = [SIZE, 0.0], [0.0, SIZE]
    if overlap == 1:
        rows, labels = [u, u, u], [label, 1, 0]
        for _ in range(ANCHORS):
            rows += [v, u, u]
            labels += [1, 1, 0]
    else:
        rows, labels = [u, [0.0, 0.0]] + ANCHORS * [v], [label, 0] + ANCHORS * [1]  # with both classes
    return np.array(rows), np.array(labels)


def cut(height: float) -> list[float]:
    """A query that is answered by 1 if the outlier's coefficient is above ``height`` clip norms."""
    return [SIZE, -SIZE * height / ANCHORS]


class Answers(NamedTuple):
    """Outcomes of all runs: one label, three at once, three in turn; as numbers."""

    one: list[int]
    several: list[int]
    adaptive: list[int]


def ask(ensemble: Any, noise: float, answers: Answers) -> None:
    """Labels of one fitted ensemble of fixed voters; heights in units of the noise that it says it has."""
    three = ensemble.predict([cut(height * noise) for height in (0.0, 1.0, 2.0)])
    answers.one.append(int(three[1]))
    answers.several.append(int(bits(three[None])[0]))
    height, path = 0.5, []
    for step in (1.0, 0.5, 0.0):  # the next query depends on the labels so far
        path.append(int(ensemble.predict([cut(height * noise)])[0]))
        height += step if path[-1] else -step
    answers.adaptive.append(int(bits([path])[0]))


def fixed(model: Any, runs: int) -> tuple[Answers, Answers, Any]:
    """Train on D and on D', again and again."""
    sides = Answers([], [], []), Answers([], [], [])
    for label, answers in zip((1, 0), sides, strict=True):
        X, y = outlier_records(label, model.overlap)
        for _ in range(runs):
            model.fit(X, y)
            ask(model, model.estimators_[0].noise_multiplier_, answers)
    return *sides, model


def weaker(noise: float) -> Callable[..., Array]:
    """Training with that share of the noise."""

    def broken(features: Array, codes: Any, *, noise_multiplier: float, **rest: Any) -> Array:
        return TRAIN(features, codes, noise_multiplier=noise * noise_multiplier, **rest)

    return broken


def unclipped(features: Array, codes: Any, *, noise_multiplier: float, clip: float, **rest: Any) -> Array:
    """Training with the noise for a clip norm that is not kept."""
    wide = 1e12
    return TRAIN(features, codes, noise_multiplier=noise_multiplier * clip / wide, clip=wide, **rest)


@contextmanager
def training(broken: Callable[..., Array]) -> Iterator[None]:
    """The library with another training in place of its own."""
    with patch.object(dp_logistic_regression, "train", broken):
        yield


def teachers(rng: Random, **parameters: Any) -> Any:
    """Full batches and one step: then the accountant is exact, and an attack can come near it."""
    return PrivateMajorityClassifier(
        DPLogisticRegression(sampling_rate=1.0, steps=1, learning_rate=LEARNING_RATE),
        voters="fixed",
        random_state=rng,
        **{"K": 3, "epsilon": EPSILON, "Delta": DELTA} | parameters,
    )


def fixed_voters(runs: int, rng: Random) -> Iterator[Seen]:
    sizes = {"one": 2, "several": 8, "adaptive": 8}
    said = {"one": "1", "several": "3 at once", "adaptive": "3, adaptive"}
    for overlap in (1, 3):
        total_delta = DELTA if overlap == 1 else 0.05
        *sides, model = fixed(teachers(rng, overlap=overlap, total_delta=total_delta), runs)
        for which, n in sizes.items():
            here, there = (tally(getattr(side, which), n) for side in sides)
            name = f"majority of DP-SGD teachers, t = {overlap}"
            yield Seen(name, "fixed", said[which], model.privacy_.epsilon, model.privacy_.delta, here, there)
    yield from broken_fixed_voters(runs, rng)


def broken_fixed_voters(runs: int, rng: Random) -> Iterator[Seen]:
    for name, train in (
        ("teachers trained without noise", weaker(0.0)),
        ("teachers with half the noise", weaker(0.5)),
        ("teachers without clipping", unclipped),
    ):
        with training(train):
            here, there, model = fixed(teachers(rng), runs if "half" in name else runs // 4)
        which, said = ("one", "1") if "half" in name else ("adaptive", "3, adaptive")
        counts = (tally(getattr(side, which), 2 if which == "one" else 8) for side in (here, there))
        yield Seen(name, "fixed", said, model.privacy_.epsilon, model.privacy_.delta, *counts, broken=True)
    here, there, model = fixed(teachers(rng, K=11, overlap=11), runs // 2)
    counts = (tally(np.array(side.adaptive) >= 4, 2) for side in (here, there))  # the first of three labels
    yield Seen("t = 11 teachers, charged as one", "fixed", "1", EPSILON, DELTA, *counts, broken=True)
    yield declared(runs, rng)


def declared(runs: int, rng: Random) -> Seen:
    """Teachers that are not private, with an epsilon that was declared and believed."""
    from sklearn.tree import DecisionTreeClassifier

    ensemble = teachers(rng, total_epsilon=EPSILON).set_params(estimator=DecisionTreeClassifier())
    labels = []
    for label in (1, 0):
        X, y = np.arange(9.0)[:, None], np.array([label, 1, 0, 0, 0, 1, 1, 1, 0])
        labels.append([int(ensemble.fit(X, y).predict([[0.0]])[0]) for _ in range(runs // 10)])
    privacy = ensemble.privacy_
    counts = (tally(side, 2) for side in labels)
    return Seen("declared teachers, not private", "fixed", "1", privacy.epsilon, privacy.delta, *counts, broken=True)


def per_query(runs: int, rng: Random) -> Iterator[Seen]:
    """DaRRM over three fixed voters, two queries (docs/theory.md, "Many releases").

    Each voter is randomized response, once, between one pair of answers and (0, 0).
    """
    problem = darrm.MajorityProblem(K=3, m=1, epsilon=2.0)
    gamma = darrm.repair([0.7654, 1.0, 1.0, 0.7654], problem)
    design = darrm.Design(problem, gamma, darrm.priors.parse("uniform"))
    likely = np.array([(1, 0), (1, 1), (0, 1)])
    release, voters = mechanisms.DaRRM(design), mechanisms.RandomizedResponse(2.0)
    sides = []
    for bit in (1, 0):
        keep = voters.release(np.full((runs, 3), bit), rng)
        sides.append(np.stack([release.release(keep * likely[:, q], rng) for q in (0, 1)], axis=1))
    one, two = ([tally(side[:, 0], 2) for side in sides], [tally(bits(side), 4) for side in sides])
    models = compose(design, 2, delta=0.0, voters="fixed")
    claim = design.problem.release_epsilon
    yield Seen("DaRRM, K = 3, m = 1, epsilon = 2", "fixed", "1", claim, 0.0, *one)
    yield Seen("two such labels, models composed", "fixed", "2 at once", models.upper, 0.0, *two)
    yield Seen("DaRRM, K = 3, m = 1, composed per query", "fixed", "2 at once", 2 * claim, 0.0, *two, broken=True)


# The models themselves


def models(runs: int, rng: Random) -> Iterator[Seen]:
    for name, steps, rate, delta, train in (
        ("DP-SGD model, 1 step", 1, 1.0, DELTA, TRAIN),
        ("DP-SGD model, 1 step", 1, 1.0, 1e-5, TRAIN),
        ("DP-SGD model, 20 steps, sampled", 20, 0.5, DELTA, TRAIN),
        ("DP-SGD model, half the noise", 1, 1.0, DELTA, weaker(0.5)),
        ("DP-SGD model without clipping", 1, 1.0, DELTA, unclipped),
    ):
        model = DPLogisticRegression(
            EPSILON,
            delta,
            sampling_rate=rate,
            steps=steps,
            learning_rate=LEARNING_RATE,
            classes=(0, 1),
            random_state=rng,
        )
        X = np.array([[SIZE, 0.0], [0.0, SIZE]])
        with training(train):
            here, there = (
                np.array([model.fit(X, [label, 1]).coef_[0, 0] for _ in range(runs if steps == 1 else runs // 2)])
                for label in (1, 0)
            )
        yield Seen(name, "a model", "coefficient", model.epsilon_, delta, here, there, train is not TRAIN)


# Fresh voters

PATTERNS = ("1, 1", "0, 0", "1, 0")  # of the two voters that the record does not reach
REACHED, UNREACHED = (0, 1, 2), (3, 4)


def nearest_records(label: int) -> tuple[Array, Labels, list[list[int]]]:
    """Records and shards of five nearest-neighbour voters, the first three of which see a record at 0 of that label.

    At the unit vector e_j the record at 0 is nearest to them, while the others vote by pattern j.
    """
    axes = np.eye(3)
    items: list[tuple[Array, int, tuple[int, ...]]] = [
        (0 * axes[0], label, REACHED),
        (3 * axes[0], 1, (3, 4, 2)),
        (3 * axes[1], 0, (3, 4, 2)),
        (3 * axes[2], 1, (3, 0, 1)),
        (3 * axes[2], 0, (4, 0, 1)),
        (100 * axes[0], 0, REACHED),  # so that all see both classes
        (-100 * axes[0], 1, REACHED),
    ]
    shards = [[i for i, item in enumerate(items) if voter in item[2]] for voter in range(5)]
    return np.array([item[0] for item in items]), np.array([item[1] for item in items]), shards


def fresh(label: int, m: float, delta: float, rng: Random) -> Any:
    """With a budget for all the runs; the claim is about the labels of one."""
    from sklearn.neighbors import KNeighborsClassifier

    X, y, shards = nearest_records(label)
    return PrivateMajorityClassifier(
        KNeighborsClassifier(1),
        voters="fresh",
        K=5,
        overlap=3,
        shards=shards,
        epsilon=1.0,
        m=m,
        total_epsilon=1e6,
        total_delta=delta,
        random_state=rng,
    ).fit(X, y)


def fresh_labels(ensemble: Any, runs: int, queries: int, adaptive: bool) -> Labels:
    """Labels of many runs, shape (runs, queries); adaptive: who saw more ones than zeros asks another pattern."""
    found = np.zeros((runs, queries), dtype=np.int64)
    for q in range(queries):
        behind = 2 * found[:, :q].sum(axis=1) < q
        pattern = np.where(behind & adaptive, 0, 1)
        found[:, q] = ensemble.predict(np.eye(3)[pattern])
    return found


def fresh_voters(runs: int, rng: Random) -> Iterator[Seen]:
    kind, m = "fresh", 1.5
    for queries, adaptive, delta in ((1, False, 0.0), (5, False, 0.0), (5, False, 0.05), (5, True, 0.05)):
        sides = []
        for label in (1, 0):
            ensemble = fresh(label, m, delta, rng)
            sides.append(bits(fresh_labels(ensemble, runs, queries, adaptive)))
        claim = compose(ensemble.design_, queries, delta=delta, voters="fresh").upper
        counts = [tally(side, 2**queries) for side in sides]
        said = f"{queries}, adaptive" if adaptive else "1" if queries == 1 else f"{queries} at once"
        yield Seen("randomized response, DaRRM m = 1.5", kind, said, claim, delta, *counts)
        if queries == 5 and not delta:
            yield Seen("DaRRM m = 1.5, charged for one label", kind, said, claim / 5, delta, *counts, broken=True)
    sides = [fresh_labels(fresh(label, 3.0, 0.0, rng), 2 * runs, 1, False)[:, 0] for label in (1, 0)]
    counts = [tally(side, 2) for side in sides]
    yield Seen("DaRRM with gamma = 1, said to be m = 1.5", kind, "1", m, 0.0, *counts, broken=True)


# Noisy max


def noisy_max(runs: int, rng: Random) -> Iterator[Seen]:
    """The votes of ten teachers are 7 to 3 (Laplace) or 5 to 5 (Gaussian), and the record decides the last."""
    for name, said, true, queries, ones, delta in (
        ("Laplace noisy max", {"gamma": 0.5}, {"gamma": 0.5}, 1, 3, 0.0),
        ("Laplace noisy max", {"gamma": 0.5}, {"gamma": 0.5}, 10, 5, 0.01),
        ("GNMax, sigma = 8", {"sigma": 8.0}, {"sigma": 8.0}, 20, 5, 0.01),
        ("Laplace noisy max, half the noise", {"gamma": 0.5}, {"gamma": 1.0}, 1, 3, 0.0),
        ("GNMax, 8 as a variance", {"sigma": 8.0}, {"sigma": math.sqrt(8)}, 20, 5, 0.01),
    ):
        n = 5 * runs if queries == 1 else runs
        sides = [noisy_labels(label, ones, true, delta, n * queries, rng).reshape(n, queries) for label in (1, 0)]
        claim = released_cost(said, queries, delta, rng)
        counts = [tally(side.sum(axis=1), queries + 1) for side in sides]
        labels = "1" if queries == 1 else f"{queries} at once"
        yield Seen(name, "non-private", labels, claim, delta, *counts, broken=said != true)


def noisy_ensemble(label: int, ones: int, noise: dict[str, float], delta: float, rng: Random) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    votes = np.array([label, *(ones * [1]), *((10 - ones) * [0])])
    X = np.repeat([0.0, 100.0], 11)[:, None]
    return PrivateMajorityClassifier(
        DecisionTreeClassifier(),
        teachers="non-private",
        K=11,
        total_epsilon=1e6,
        total_delta=delta,
        random_state=rng,
        **noise,
    ).fit(X, np.concatenate([votes, 1 - votes]))


def noisy_labels(label: int, ones: int, noise: dict[str, float], delta: float, n: int, rng: Random) -> Labels:
    most = 500_000  # below what one ensemble releases
    sizes = [min(most, n - start) for start in range(0, n, most)]
    return np.concatenate(
        [noisy_ensemble(label, ones, noise, delta, rng).predict(np.zeros((size, 1))) for size in sizes]
    )


def released_cost(noise: dict[str, float], queries: int, delta: float, rng: Random) -> float:
    """What the library says that so many labels cost."""
    ensemble = noisy_ensemble(1, 5, noise, delta, rng)
    ensemble.predict(np.zeros((queries, 1)))
    return float(ensemble.spent_.epsilon)


def permute_and_flip(runs: int, rng: Random) -> Iterator[Seen]:
    """Eleven teachers that are not private, 3 to 8 or 4 to 7: the losing class loses all of epsilon. Then 5 to 6."""
    epsilon, queries, delta = 1.0, 10, 0.01
    for true in (epsilon, 2 * epsilon):
        release, broken = mechanisms.PermuteAndFlip(true, K=11, classes=2).release, true != epsilon
        counts = [tally(release(np.tile(votes, (runs, 1)), rng), 2) for votes in ([4, 7], [3, 8])]
        name = "permute-and-flip" + (", half the noise" if broken else "")
        yield Seen(name, "non-private", "1", epsilon, 0.0, *counts, broken=broken)
    mechanism, n = mechanisms.PermuteAndFlip(epsilon, K=11, classes=2), runs // queries
    claim = compose(mechanism, queries, delta=delta).upper
    sides = [mechanism.release(np.tile(votes, (n * queries, 1)), rng) for votes in ([6, 5], [5, 6])]
    counts = [tally(side.reshape(n, queries).sum(axis=1), queries + 1) for side in sides]
    yield Seen("permute-and-flip", "non-private", f"{queries} at once", claim, delta, *counts)


def exponential(runs: int, rng: Random) -> Iterator[Seen]:
    """Eleven teachers that are not private, 4 to 7 or 3 to 8. Ten labels of 6 to 5, by their bounded range."""
    epsilon, queries, delta = 1.0, 10, 0.01
    for true in (epsilon, 2 * epsilon):
        release, broken = mechanisms.ExponentialMechanism(true, K=11, classes=2).release, true != epsilon
        counts = [tally(release(np.tile(votes, (runs, 1)), rng), 2) for votes in ([4, 7], [3, 8])]
        name = "exponential mechanism" + (", half the noise" if broken else "")
        yield Seen(name, "non-private", "1", epsilon, 0.0, *counts, broken=broken)
    mechanism, n = mechanisms.ExponentialMechanism(epsilon), runs // queries
    claim = compose(mechanism, queries, delta=delta).upper
    sides = [mechanism.release(np.tile(votes, (n * queries, 1)), rng) for votes in ([6, 5], [5, 6])]
    counts = [tally(side.reshape(n, queries).sum(axis=1), queries + 1) for side in sides]
    yield Seen("exponential mechanism", "non-private", f"{queries} at once", claim, delta, *counts)


def checked(runs: int, rng: Random) -> Iterator[Seen]:
    """Confident-GNMax on 6 to 5 votes or the reverse: how many labels of each class, and how many none.

    Where the record moves two votes, the total is that of ``max_affected`` two.
    """
    queries, delta, true = 10, 0.01, (6.0, 4.0, 4.0)
    for name, moved, noise in (
        ("Confident-GNMax", 1, true),
        ("Confident-GNMax, two votes", 2, true),
        ("Confident-GNMax, 4 as a variance", 1, (6.0, 2.0, 2.0)),
    ):
        said = mechanisms.ConfidentNoisyMax(*true, K=11, classes=2, max_affected=moved)
        claim, n = compose(said, queries, delta=delta).upper, runs // queries
        release, counts = mechanisms.ConfidentNoisyMax(*noise).release, []
        for ones in (5, 5 + moved):
            labels = release(np.tile([11 - ones, ones], (n * queries, 1)), rng).reshape(n, queries)
            seen = (labels == 0).sum(axis=1) * (queries + 1) + (labels == 1).sum(axis=1)
            counts.append(tally(seen, (queries + 1) ** 2))
        yield Seen(name, "non-private", f"{queries} at once", claim, delta, *counts, broken=noise != true)


# DaRRM on the worst votes


def corner_votes(problem: Any, worst: dict[str, int], runs: int, source: np.random.Generator) -> list[Labels]:
    """Votes on D and on D' at a multiset of corners."""
    pairs = attack_many.pairs_of(worst, problem.epsilon, problem.Delta)
    return [attack_many.cast(pairs, side, runs, source) for side in (0, 1)]


def corners(runs: int, rng: Random, source: np.random.Generator) -> Iterator[Seen]:
    pure = darrm.MajorityProblem(K=11, m=3, epsilon=1.0)
    two = darrm.MajorityProblem(K=11, m=2, epsilon=1.0)
    approximate = darrm.MajorityProblem(K=11, m=3, epsilon=1.0, Delta=1e-3)
    all_of_them = darrm.MajorityProblem(K=11, m=11, epsilon=1.0)
    for name, problem, claimed, gamma in (
        ("DaRRM, K = 11, m = 3, optimal", pure, pure, darrm.solve(pure).gamma),
        # These two are at their limits, and rounding may take them a hair above.
        ("DaRRM, subsampling of 3", two, two, darrm.repair(baselines.subsampling(11, 3), two)),
        ("DaRRM, double subsampling of 5", pure, pure, darrm.repair(baselines.double_subsampling(11, 3), pure)),
        ("DaRRM, m = 3, Delta = 0.001", approximate, approximate, darrm.solve(approximate).gamma),
        ("DaRRM with gamma = 1, said to be m = 3", all_of_them, pure, np.ones(12)),
    ):
        design = darrm.Design(problem, gamma, darrm.priors.parse("uniform"))
        worst = darrm.verify(gamma, claimed).worst_case
        votes = corner_votes(claimed, worst, runs, source)
        counts = [tally(mechanisms.DaRRM(design).release(side, rng), 2) for side in votes]
        yield Seen(name, "worst votes", "1", claimed.release_epsilon, claimed.delta, *counts, broken=claimed != problem)


# Decisions of groups on the worst votes


def group_votes(problem: Any, worst: dict[str, int], runs: int, source: np.random.Generator) -> list[Labels]:
    """Votes on D and on D' at a multiset of corners of every group."""
    groups = attack_many.pairs_of_groups(worst, problem)
    return [
        np.concatenate([attack_many.cast(pairs, side, runs, source) for pairs in groups], axis=1) for side in (0, 1)
    ]


def groups(runs: int, rng: Random, source: np.random.Generator) -> Iterator[Seen]:
    """All voters are reached, or one of each group; a false claim is of less epsilon or of fewer voters reached."""
    true = darrm.DecisionProblem([darrm.VoterGroup(4, 1.0), darrm.VoterGroup(7, 0.2)], epsilon=1.4)
    alike = darrm.DecisionProblem([darrm.VoterGroup(4, 0.2), darrm.VoterGroup(7, 0.2)], epsilon=1.4)
    one, two = (
        darrm.DecisionProblem([darrm.VoterGroup(4, 1.0, max_affected=t), darrm.VoterGroup(7, 0.5, max_affected=t)], 0.9)
        for t in (1, 2)
    )
    objective = darrm.objectives.truth(accuracy=[0.685, 0.54])
    for name, problem, attacked in (
        ("decision of 4 voters of 1 and 7 of 0.2", true, true),
        ("the same, made as if all were voters of 0.2", alike, true),
        ("decision, one voter of each group reached", one, one),
        ("the same, two of each group reached", one, two),
    ):
        design = darrm.solve(problem, objective=objective)
        worst = darrm.verify(design.table, attacked).worst_case
        votes = group_votes(attacked, worst, runs, source)
        counts = [tally(mechanisms.PrivateDecision(design).release(side, rng), 2) for side in votes]
        broken = problem is not attacked
        yield Seen(name, "worst votes", "1", problem.epsilon, problem.delta, *counts, broken=broken)


def class_votes(problem: Any, worst: dict[str, int], runs: int, source: np.random.Generator) -> list[Labels]:
    """Votes for each class in each group on D and on D' where a worst case says voters are, none with a delta."""
    sides = [np.zeros((runs, len(problem.groups), problem.n_classes), dtype=np.int64) for _ in (0, 1)]
    for name, n in worst.items():
        words = name.split()
        if words[0] != "group":
            continue
        g = int(words[1]) - 1
        if words[2] == "surely":
            for side in sides:
                side[:, g, int(words[3])] += n
            continue
        c, d = int(words[3]), int(words[5])
        stay = 1 / (1 + math.exp(-problem.groups[g].epsilon))
        for side, (first, second) in zip(sides, ((c, d), (d, c)), strict=True):
            kept = source.binomial(n, stay, runs)
            side[:, g, first] += kept
            side[:, g, second] += n - kept
    return sides


def classes(runs: int, rng: Random, source: np.random.Generator) -> Iterator[Seen]:
    """Decisions between classes, one of them with the answer "none"."""
    for groups, none in (([6], False), ([3, 2], False), ([4], True)):
        true, weak = (
            darrm.DecisionProblem([darrm.VoterGroup(n, epsilon) for n in groups], 1.0, classes=3, none=none)
            for epsilon in (1.0, 0.2)
        )
        objective = darrm.objectives.rule("plurality", [0.6] * len(groups), none=0.5 if none else None)
        voters = " and ".join(map(str, groups)) + (" (or none)" if none else "")
        for name, problem in (
            (f"decision between 3 classes, {voters} voters of 1", true),
            (f"the same, {voters}, made as if all were voters of 0.2", weak),
        ):
            design = darrm.solve(problem, objective=objective)
            release = mechanisms.PrivateDecision(design)
            worst = darrm.verify(design.table, true).worst_case
            counts = [
                tally(release.release_counts(votes, rng), 3 + none) for votes in class_votes(true, worst, runs, source)
            ]
            yield Seen(name, "worst votes", "1", problem.epsilon, problem.delta, *counts, broken=problem is weak)


# Private labels


def private_labels(runs: int, rng: Random) -> Iterator[Seen]:
    kind, k = "labels", 8
    bags = [np.zeros((runs // 4, k), dtype=np.int64) for _ in (0, 1)]
    bags[1][:, 0] = 1
    for said, true in ((1.0, 1.0), (1.0, 2.0)):
        broken = said != true
        more = ", half the noise" if broken else ""
        flips = mechanisms.RandomizedResponse(true)
        counts = [tally(flips.release(np.full(runs, label), rng), 2) for label in (1, 0)]
        yield Seen(f"randomized response{more}", kind, "1", said, 0.0, *counts, broken=broken)
        sums = [np.asarray(darrm.labels.GeometricLabelProportions(true).release(bag, rng)) for bag in bags]
        counts = [tally(side, k + 1) for side in sums]
        yield Seen(f"geometric label proportions{more}", kind, "a bag of 8", said, 0.0, *counts, broken=broken)
        noisy = [np.asarray(darrm.labels.LaplaceLabelProportions(true).release(bag, rng)) for bag in bags]
        yield Seen(f"Laplace label proportions{more}", kind, "a bag of 8", said, 0.0, *noisy, broken=broken)
    exact = [tally(darrm.labels.LabelProportions().release(bag), k + 1) for bag in bags]
    yield Seen("exact label proportions", kind, "a bag of 8", 1.0, 0.0, *exact, broken=True)
    yield from weighted(runs // 25, rng)


def weighted(runs: int, rng: Random) -> Iterator[Seen]:
    """Weighted aggregates of a bag of 8, attacked by the log-likelihood ratio; one label is 1 or 0."""
    k, epsilon = 8, 1.0
    labels = [np.array([last, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]) for last in (1.0, 0.0)]
    for said, true in ((2.0, 2.0), (2.0, 0.25)):
        release = darrm.labels.NoisyWeightedLabelProportions(1.0, true)
        sides = []
        for y in labels:
            scores = []
            for _ in range(runs):
                found = release.release(y, rng)
                w, variance = found.weights, true**2 * (found.weights**2).sum()
                far = [(found.label - w @ one) ** 2 for one in labels]
                scores.append((far[1] - far[0]) / (2 * variance))
            sides.append(np.array(scores))
        name = f"noisy weighted labels, sigma = {said:g}" + ("" if said == true else f", {true:g} drawn")
        delta = noisy_delta(epsilon, k, 1.0, said, (0, 1))
        yield Seen(name, "labels", "an aggregate", epsilon, delta, *sides, broken=said != true)
    X = np.ones((k, 1))
    residuals = [float(((y - y.mean()) ** 2).sum()) for y in labels]
    nearly = 1e-3 * np.eye(k)[1]  # almost a bag of equal labels
    for name, y_sides, floor in (
        ("weighted aggregates", labels, min(residuals)),
        ("weighted aggregates, floor not kept", [nearly + np.eye(k)[0], nearly], min(residuals)),
    ):
        release = darrm.labels.WeightedBagAggregates()
        spread = [float(((y - y.mean()) ** 2).sum()) for y in y_sides]
        sides = []
        for y in y_sides:
            scores = []
            for _ in range(runs):
                u, o = release.release(X, y, rng)
                off = [
                    (o - u[0] * one.mean()) ** 2 / (2 * s) + math.log(s) / 2
                    for one, s in zip(y_sides, spread, strict=True)
                ]
                scores.append(off[1] - off[0])
            sides.append(np.array(scores))
        delta = worst_delta(epsilon, floor, (0, 1), X=X).upper
        yield Seen(name, "labels", "an aggregate", epsilon, delta, *sides, broken="not kept" in name)


def attacks(trainings: int, rng: Random, source: np.random.Generator) -> Iterator[Seen]:
    """All of them."""
    releases = 500 * trainings
    yield from per_query(releases, rng)
    yield from corners(releases, rng, source)
    yield from groups(releases, rng, source)
    yield from classes(releases, rng, source)
    yield from attack_many.absence(releases, rng, source)
    yield from attack_many.totals(releases, rng, source)
    yield from attack_many.ledgers(releases, rng, source)
    yield from fresh_voters(50 * trainings, rng)
    yield from noisy_max(20 * trainings, rng)
    yield from permute_and_flip(releases, rng)
    yield from exponential(releases, rng)
    yield from checked(releases, rng)
    yield from private_labels(releases, rng)
    yield from models(4 * trainings, rng)
    yield from fixed_voters(trainings, rng)


class Verdict(NamedTuple):
    """One line of the table."""

    seen: Seen
    lower: float

    @property
    def above(self) -> bool:
        return self.lower > self.seen.epsilon

    @property
    def expected(self) -> bool:
        return self.above == self.seen.broken

    @property
    def words(self) -> str:
        if self.seen.broken:
            return "found" if self.above else "MISSED"
        return "ABOVE ITS CLAIM" if self.above else "below"


def judged(found: Sequence[Seen], rng: Random) -> list[Verdict]:
    """Bounds that hold all together with the confidence of the table."""
    each = 1 - (1 - CONFIDENCE) / len(found)
    return [Verdict(seen, seen.bound(each, rng).lower) for seen in found]


def table(verdicts: Sequence[Verdict]) -> str:
    return pages.table(
        [
            {
                "mechanism": one.seen.mechanism,
                "voters": one.seen.voters,
                "labels": one.seen.labels,
                "claimed epsilon": f"{one.seen.epsilon:.4g}",
                "delta": f"{one.seen.delta:.3g}",
                "runs for each data set": one.seen.runs,
                "epsilon, lower bound": f"{one.lower:.3f}",
                "verdict": one.words,
            }
            for one in verdicts
        ]
    )


def about(verdicts: Sequence[Verdict], seconds: float, trainings: int, seed: str) -> str:
    sound = [one for one in verdicts if not one.seen.broken]
    broken = [one for one in verdicts if one.seen.broken]
    return pages.bullets(
        [
            f"Of {len(sound)} sound claims {sum(one.above for one in sound)} were refuted; of {len(broken)} false ones "
            f"{sum(one.above for one in broken)} were.",
            f"Every bound is at least {100 * (1 - (1 - CONFIDENCE) / len(verdicts)):.2f} % sure, and all of them "
            f"together {100 * CONFIDENCE:.0f} %. Seed {seed}; {trainings} trainings of each ensemble for each data "
            "set.",
            f"{seconds / 60:.1f} minutes of processor time: {platform.machine()}, {os.cpu_count()} cores, Python "
            f"{platform.python_version()}.",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true", help="write the tables into docs")
    parser.add_argument(
        "--trainings", type=int, default=2000, help="of each ensemble, for each data set; others follow"
    )
    parser.add_argument("--seed", default="0", help='an integer, or "system" for the operating system')
    options = parser.parse_args()
    seeded = options.seed != "system"
    source = np.random.default_rng(int(options.seed) if seeded else None)
    start = time.perf_counter()
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        for seen in attacks(options.trainings, source if seeded else None, source):
            found.append(seen)
            print(f"{time.perf_counter() - start:6.0f} s  {seen.mechanism}, {seen.labels}", file=sys.stderr, flush=True)
    verdicts = judged(found, source)
    sound, broken = ([one for one in verdicts if one.seen.broken is which] for which in (False, True))
    said = about(verdicts, time.process_time(), options.trainings, options.seed)
    print(f"{table(sound)}\n\n{table(broken)}\n\n{said}")
    if options.docs:
        pages.put("attack-sound", table(sound), PAGE)
        pages.put("attack-broken", table(broken), PAGE)
        pages.put("attack-about", said, PAGE)
    if not all(one.expected for one in verdicts):
        raise SystemExit(1)


if __name__ == "__main__":
    main()

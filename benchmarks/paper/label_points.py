"""The points of the papers' pictures: what a mechanism tells about labels, and what is learned from its release."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import darrm

sys.path.insert(0, str(Path(__file__).resolve().parent))

from label_tasks import Task, bags_of, learn, release, scores


class Scale(NamedTuple):
    """How much is computed."""

    examples: int  # of synthetic data, in two halves
    columns: int  # of synthetic click data: few enough to be learned from so few examples
    hashed: int  # columns to which the click data of a file are hashed
    epsilons: tuple[float, ...]
    sizes: tuple[int, ...]
    noisy_sizes: tuple[int, ...]  # a curve each
    rates: tuple[float, ...]  # learning rates
    trials: int
    search: int  # trials that choose the rate; the paper of 2023 takes all of them
    epochs: int
    audited: int = 4096  # labels whose privacy is measured


PAPERS = Scale(
    32_000,
    1100,
    100_000,
    tuple(2.0**i for i in range(-4, 6)),
    tuple(2**i for i in range(10)),
    (8, 64, 512),
    (1e-6, 5e-6, 1e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2),
    trials=10,
    search=2,
    epochs=5,
)
QUICK = Scale(
    4000, 500, 500, (0.25, 0.5, 1.0, 2.0, 4.0, 8.0), (1, 2, 4, 8, 16, 32, 64), (4, 16), (1e-3, 1e-2), 3, 3, epochs=10
)


class Point(NamedTuple):
    """One mechanism at one parameter: what it tells, and what is learned from it."""

    bag_size: int
    guaranteed_epsilon: float
    additive_advantage: float
    multiplicative_98: float
    auc: float
    cross_entropy: float
    error: float  # standard error of the AUC


def adam(scale: Scale, rate: float, seed: int) -> dict[str, Any]:
    return {
        "solver": "adam",
        "learning_rate": rate,
        "epochs": scale.epochs,
        "batch_size": 1024,
        "random_state": seed,
    }


def utility(task: Task, scale: Scale, mechanism: Any, k: int) -> tuple[float, float, float]:
    """Mean AUC, mean cross-entropy and standard error of the AUC over the trials, at the rate of the best mean AUC."""
    bags = bags_of(len(task.y), k)
    released = [release(mechanism, task.y[bags], seed) for seed in range(scale.trials)]

    def trials(rate: float, seeds: Iterable[int]) -> list[tuple[float, float]]:
        return [scores(task, learn(task, mechanism, bags, released[s], **adam(scale, rate, s))) for s in seeds]

    tried = {rate: trials(rate, range(scale.search)) for rate in scale.rates}
    rate = max(tried, key=lambda rate: float(np.mean(tried[rate], axis=0)[0]))
    found = np.array(tried[rate] + trials(rate, range(scale.search, scale.trials)))
    auc, loss = found.mean(axis=0).tolist()
    return auc, loss, float(found[:, 0].std(ddof=1)) / scale.trials**0.5


def point(task: Task, scale: Scale, mechanism: Any, k: int) -> Point:
    eta = task.eta[: scale.audited]
    (row,) = darrm.labels.audit({"": mechanism}, eta, bags=bags_of(eta.size, k))
    measured = (k, row.guaranteed_epsilon, row.additive_advantage, row.multiplicative_98)
    return Point(*measured, *utility(task, scale, mechanism, k))


def reading(everything: Mapping[str, Mapping[str, list[Point]]], trials: int) -> list[str]:
    """AUC at equal advantage, interpolated between neighbouring points; and where LLP has infinite percentiles."""
    said = []
    for name, rows in everything.items():
        for measure, words, levels in (
            ("additive_advantage", "an additive advantage of", (0.01, 0.03)),
            ("multiplicative_98", "a 98th percentile of the multiplicative advantage of", (1.0, 1.5)),
        ):
            for level in levels:
                at = {title: at_level(some, measure, level) for title, some in rows.items()}
                listed = ", ".join(f"{title} {auc:.3f}" for title, auc in at.items() if auc is not None)
                said.append(f"{name}, AUC at {words} {level:g}: {listed or 'no curve reaches it'}.")
        gone = [str(row.bag_size) for row in rows["LLP"] if np.isinf(row.multiplicative_98)]
        said.append(f"{name}: the 98th percentile of LLP is infinite for k = {', '.join(gone) or 'none'}.")
        said.append(f"{name}: a learner of the labels themselves has an AUC of {rows['LLP'][0].auc:.3f}.")
    errors = [row.error for rows in everything.values() for some in rows.values() for row in some]
    said.append(
        f"Standard errors of these AUCs, over {trials} releases: median {np.median(errors):.2g}, largest "
        f"{max(errors):.2g}."
    )
    return said


def at_level(rows: list[Point], measure: str, level: float) -> float | None:
    """AUC where the curve crosses that advantage; None if it does not."""
    points = sorted((getattr(row, measure), row.auc) for row in rows if np.isfinite(getattr(row, measure)))
    if not points:
        return None
    x, y = np.array(points).T
    return float(np.interp(level, x, y)) if x[0] <= level <= x[-1] else None


def floors(tasks: Mapping[str, Task], scale: Scale) -> list[str]:
    """The AUC of learners of proportions that say nothing: where ones are rare, first steps favour rare values."""
    said, k, llp = [], scale.noisy_sizes[0], darrm.labels.LabelProportions()
    for name, task in tasks.items():
        bags, aucs = bags_of(len(task.y), k), []
        for seed in range(scale.trials):
            labels = (np.random.default_rng(seed).random(bags.shape) < task.y.mean()).astype(np.uint8)
            settings = adam(scale, scale.rates[0], seed)
            aucs.append(scores(task, learn(task, llp, bags, release(llp, labels, seed), **settings))[0])
        error = np.std(aucs, ddof=1) / scale.trials**0.5
        said.append(
            f"{name}: LLP of labels drawn without the features, with the same share of ones, has an AUC of "
            f"{np.mean(aucs):.3f} at the smallest rate (standard error {error:.1g}, k = {k})."
        )
    return said

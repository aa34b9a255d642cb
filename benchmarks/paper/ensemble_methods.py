"""Ways to private labels from K voters, for the experiment on private ensembles: votes, noise, budgets.

Everything is for two classes, replace-one, and delta = `DELTA` in total unless said otherwise. All randomness comes
from a generator, since this is an experiment: what it releases protects nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from ensemble_data import DELTA, Array, Codes, Data
from gnmax import label_sigma

import darrm
from darrm import baselines
from darrm.accounting import compose, gnmax_sigma, gnmax_sigma_analytic, optimal, plan
from darrm.accounting.fresh import of_region
from darrm.accounting.hulls import counts_region
from darrm.ensemble import DPLogisticRegression, shards
from darrm.ensemble.releases import counts
from darrm.ensemble.training import predictions, train_all
from darrm.measures import noisy_max_probabilities
from darrm.mechanisms import DaRRM
from darrm.mechanisms.noisy_max import GaussianNoisyMax

# Public numbers by which the epsilon of an answer is chosen (`planned`); none was computed from data.
ASSUMED = 0.85  # each voter is right with this probability, independently
ANSWERS = (0.5, 1.0, 1.8, 8.0)  # epsilons of one answer to choose from; 8 flips one answer in 3000
CAP = 1.8
WORTH = 5e-4  # of right labels: what a larger epsilon of the answers must bring
LARGEST_LOSS = 20.0  # of all answers to one query, in the search of `unaided`
# By hand on other splits, for one model and for ensembles, small budgets and large; that is not accounted for.
LEARNING_RATE = 4.0
NO_PRIVACY = 15.0  # an epsilon of votes that flips one in three million
PART = 0.375  # of the features that a voter knows, where every voter knows every person


def plain_model() -> Any:
    """Logistic regression without privacy."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=5000)


def partial_model() -> Any:
    """The same on some of the features, at random: voters with the same people and other knowledge of them."""
    from sklearn.ensemble import BaggingClassifier

    return BaggingClassifier(plain_model(), n_estimators=1, bootstrap=False, max_features=PART)


def dp_model(epsilon: float, delta: float) -> DPLogisticRegression:
    return DPLogisticRegression(epsilon, delta, learning_rate=LEARNING_RATE, classes=(0, 1))


def votes(model: Any, data: Data, K: int, max_affected: int, rng: np.random.Generator) -> Codes:
    """Predictions of K copies of ``model``, each record shown to ``max_affected`` of them; shape (queries, K)."""
    parts = shards(len(data.y), K, max_affected)
    models = train_all([model] * K, data.X, data.y, parts, n_jobs=1, rng=rng, shared_seed=True)
    return predictions(models, data.asked, np.array([0, 1]))


def response(gamma: Array) -> Array:
    """Pr[release 1 | l ones of K] of DaRRM, shape (K + 1,)."""
    K = len(gamma) - 1
    return np.asarray(0.5 + 0.5 * np.sign(2 * np.arange(K + 1) - K) * gamma)


def majority(K: int) -> Array:
    """The same without noise."""
    return response(baselines.plain_majority(K))


def noisy_max(sigma: float, K: int) -> Array:
    """The same for GNMax."""
    return np.array([noisy_max_probabilities([K - l, l], sigma=sigma)[1] for l in range(K + 1)])


def after_randomized_response(released: Array, epsilon: float) -> Array:
    """Pr[release 1 | l ones of K before every vote went through randomized response]."""
    from scipy.stats import binom

    K, flip = len(released) - 1, 1 / (1 + np.exp(epsilon))
    kept = [binom.pmf(np.arange(l + 1), l, 1 - flip) for l in range(K + 1)]
    turned = [binom.pmf(np.arange(K - l + 1), K - l, flip) for l in range(K + 1)]
    return np.array([np.convolve(one, other) @ released for one, other in zip(kept, turned, strict=True)])


def share_right(released: Array, cast: Codes, truth: Codes) -> float:
    """The share of labels that are right, expected over the randomness of the release."""
    ones = released[cast.sum(axis=1)]
    return float(np.where(truth == 1, ones, 1 - ones).mean())


class PerQuery(NamedTuple):
    """A way to release one label: from which votes ("private" or "plain" teachers), and its chances."""

    teachers: str
    chances: Array
    release: Callable[[Codes, np.random.Generator], Codes]


def design_of(gamma: Array, problem: darrm.MajorityProblem) -> darrm.Design:
    """A noise function, scaled down by rounding errors where its guarantee is tight."""
    return darrm.Design(problem, darrm.repair(gamma, problem), darrm.priors.parse("uniform"))


# How the noise of GNMax is chosen.
GAUGES = ("as in the paper", "exact for the counts", "exact for the label")
# Names of the ways to release one label, by how many votes are charged to one record.
COUNTS, LABEL = (f"GNMax, {gauge}" for gauge in GAUGES[1:])
LABEL_ALL, SUBSAMPLING_ALL, OPTIMAL_ALL = (f"{name}, t = 11" for name in (LABEL, "subsampling", "gamma_opt"))
PLAIN = "gamma_opt, t = 1 (plain majority)"


def per_query(m: int, epsilon: float, K: int) -> dict[str, PerQuery]:
    """Labels that are (m epsilon, m Delta)-DP one by one: the paper's columns and more.

    The paper charges gamma_opt and subsampling as if a record reached all K teachers, and GNMax as if it reached one.
    Both are here for both, but for subsampling. With t = 1 the optimum is gamma = 1 for every m >= 1.
    """
    found = {}
    for name, sigma in (
        ("GNMax", gnmax_sigma(m * epsilon, m * DELTA)),
        (COUNTS, gnmax_sigma_analytic(m * epsilon, m * DELTA)),
        (LABEL, label_sigma(m * epsilon, m * DELTA, K)),
        (LABEL_ALL, label_sigma(m * epsilon, m * DELTA, K, max_affected=K)),
    ):
        found[name] = PerQuery("plain", noisy_max(sigma, K), _by_noisy_max(GaussianNoisyMax(sigma, K=K, classes=2)))
    reached = {t: darrm.MajorityProblem(K, m, epsilon, DELTA, delta=m * DELTA, max_affected=t) for t in (1, K)}
    for name, design in (
        (SUBSAMPLING_ALL, design_of(baselines.subsampling(K, m), reached[K])),
        (OPTIMAL_ALL, darrm.solve(reached[K])),
        (PLAIN, darrm.solve(reached[1])),
    ):
        found[name] = PerQuery("private", response(design.gamma), _by_darrm(DaRRM(design)))
    return found


def _by_noisy_max(mechanism: GaussianNoisyMax) -> Callable[[Codes, np.random.Generator], Codes]:
    return lambda cast, rng: np.asarray(mechanism.release(counts(cast, 2), rng)).astype(np.intp)


def _by_darrm(mechanism: DaRRM) -> Callable[[Codes, np.random.Generator], Codes]:
    return lambda cast, rng: mechanism.release(cast, rng).astype(np.intp)


def largest(holds: Callable[[float], bool]) -> float:
    """The largest epsilon up to 100 for which ``holds``, to a relative 1e-6, from below."""
    low, high = 0.0, 100.0
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@cache
def teacher_budget(total: float, max_affected: int, delta: float = DELTA) -> tuple[float, float]:
    """(epsilon, Delta) of a fixed voter, ``max_affected`` of which cost (total, delta) by the optimal composition."""
    if max_affected == 1:
        return total, delta
    Delta = delta / (2 * max_affected)
    return largest(lambda one: optimal(one, Delta, max_affected, delta).epsilon <= total), Delta


@cache
def silent(total: float, max_affected: int, queries: int) -> float:
    """The largest epsilon of one answer with which the votes of ``queries`` queries cost (total, DELTA): no noise."""
    return largest(lambda one: optimal(one, 0.0, max_affected * queries, DELTA).epsilon <= total)


@cache
def unaided(total: float, max_affected: int, queries: int, K: int) -> float:
    """The same if only the labels are seen: the plain majority is charged like DaRRM, by exact composition."""

    def pays(epsilon: float) -> bool:
        problem = darrm.MajorityProblem(K, max_affected, epsilon, max_affected=max_affected)
        labels = design_of(np.ones(K + 1), problem)
        return compose(labels, queries, delta=DELTA, voters="fresh", tolerance=1e-2).upper <= total

    low = silent(total, max_affected, queries)  # the votes pay for the labels
    high = min(2 * low, LARGEST_LOSS / max_affected)
    while high < LARGEST_LOSS / max_affected and pays(high):
        low, high = high, min(2 * high, LARGEST_LOSS / max_affected)
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if pays(middle) else (low, middle)
    return low


def collected(epsilon: float, max_affected: int, queries: int) -> float:
    """Epsilon of all raw answers, which the aggregator sees, for one record at `DELTA`: their optimal composition."""
    return optimal(epsilon, 0.0, max_affected * queries, DELTA).epsilon


@cache
def planned_at(total: float, max_affected: int, queries: int, K: int, epsilon: float) -> darrm.Design:
    """DaRRM for fresh voters: ``queries`` labels are (total, DELTA)-DP together, by exact composition."""
    return plan(
        K=K,
        epsilon=epsilon,
        queries=queries,
        total_epsilon=total,
        total_delta=DELTA,
        voters="fresh",
        max_affected=max_affected,
    )


@cache
def planned(total: float, max_affected: int, queries: int, K: int, most: float = CAP) -> darrm.Design:
    """`planned_at` the epsilon of an answer, up to ``most``, with which most labels are right for `ASSUMED` voters.

    Only public numbers are looked at: the randomness of the answers is included, the data is not. Of epsilons that
    differ by less than `WORTH` it is the least, because the aggregator sees the answers (`collected`).
    """
    least = unaided(total, max_affected, queries, K)
    among = sorted({min(least, most), *(one for one in ANSWERS if least < one <= most)})
    designs = [planned_at(total, max_affected, queries, K, one) for one in among]
    right = [assumed_right(design) for design in designs]
    return next(design for design, one in zip(designs, right, strict=True) if one >= max(right) - WORTH)


def assumed_right(design: darrm.Design) -> float:
    """The share of right labels if each voter is right with probability `ASSUMED` before its answer is randomized."""
    from scipy.stats import binom

    K = design.problem.K
    return float(binom.pmf(np.arange(K + 1), K, ASSUMED) @ fresh(design))


def fresh(design: darrm.Design) -> Array:
    """Pr[release 1 | l ones before randomized response]."""
    return after_randomized_response(response(design.gamma), design.problem.epsilon)


def without_darrm(total: float, max_affected: int, queries: int, K: int) -> Array:
    """The same if answers carry all the noise."""
    return after_randomized_response(majority(K), unaided(total, max_affected, queries, K))


@cache
def many_labels_sigma(total: float, queries: int, K: int, gauge: str) -> float:
    """The standard deviation with which GNMax's labels of so many queries are (total, DELTA)-DP together.

    Renyi bounds add up, and so do the inverse variances of Gaussian noise on the counts. The label of two classes is a
    release of ours with X(l) = Phi((2 l - K) / (sqrt(2) sigma)) and voters that have no privacy of their own, so its
    exact adaptive composition is ours too.
    """
    if gauge == GAUGES[0]:
        return float(np.sqrt(queries) * gnmax_sigma(total, DELTA))
    by_counts = float(np.sqrt(queries) * gnmax_sigma_analytic(total, DELTA))
    if gauge == GAUGES[1]:
        return by_counts

    def holds(sigma: float) -> bool:
        return labels_total(noisy_max(sigma, K), queries) <= total

    low, high = by_counts / 2, by_counts  # labels are made of the counts
    while holds(low):
        low, high = low / 2, low
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def labels_total(released: Array, queries: int) -> float:
    """What ``queries`` labels cost if a record reaches one voter, which has no privacy: exact adaptive composition."""
    half = 2 * released[len(released) // 2 :] - 1
    reached = darrm.MajorityProblem(len(released) - 1, m=1, epsilon=1.0, max_affected=1)
    return of_region(counts_region(np.concatenate([half[::-1], half]), reached), (), queries, DELTA).upper


def many_noisy_max(total: float, queries: int, K: int, gauge: str) -> Array:
    """GNMax with noise for so many labels; see `many_labels_sigma`."""
    return noisy_max(many_labels_sigma(total, queries, K, gauge), K)


def one_pure_label(right: float, K: int, epsilon: float = 1.0) -> tuple[float, float]:
    """Shares of right labels of DaRRM and of GNMax, exact for the label, at one (epsilon, 0)-DP label.

    A record reaches one voter, voters have no privacy, and each is right with probability ``right``, independently.
    """
    from scipy.stats import binom

    likely = binom.pmf(np.arange(K + 1), K, right)
    prior = darrm.priors.independent(right, right)
    problem = darrm.MajorityProblem(K, K, NO_PRIVACY, max_affected=1)
    design = darrm.solve(problem, prior=prior, objective="disagreement", profile=[(epsilon, 0.0)])
    return float(likely @ fresh(design)), float(likely @ noisy_max(label_sigma(epsilon, 0.0, K), K))

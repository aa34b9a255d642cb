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

import darrm
from darrm import baselines
from darrm.accounting import compose, gnmax_sigma, gnmax_sigma_analytic, optimal, plan
from darrm.ensemble import DPLogisticRegression, shards
from darrm.ensemble.releases import counts
from darrm.ensemble.training import predictions, train_all
from darrm.mechanisms import DaRRM
from darrm.mechanisms.noisy_max import GaussianNoisyMax

# Chosen by hand, without data, for voters of whom each is right with probability .85: more epsilon per answer than
# what needs no noise at the majority (`silent`), so that DaRRM has something to do.
RAISED = 2.5
LARGEST_LOSS = 20.0  # of all answers to one query, where one person reaches every voter
# By hand on other splits, for one model and for ensembles, small budgets and large; that is not accounted for.
LEARNING_RATE = 4.0
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


def votes(model: Any, data: Data, K: int, changed: int, rng: np.random.Generator) -> Codes:
    """Predictions of K copies of ``model``, each record shown to ``changed`` of them; shape (queries, K)."""
    parts = shards(len(data.y), K, changed)
    models = train_all(model, data.X, data.y, parts, jobs=1, rng=rng, shared_seed=True)
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
    return np.asarray(GaussianNoisyMax(sigma).kernel(K)[:, 1])


def after_randomized_response(released: Array, epsilon: float) -> Array:
    """Pr[release 1 | l ones of K before every vote went through randomized response]."""
    from scipy.stats import binom

    K, flip = len(released) - 1, 1 / (1 + np.exp(epsilon))
    kept = [binom.pmf(np.arange(l + 1), l, 1 - flip) for l in range(K + 1)]
    turned = [binom.pmf(np.arange(K - l + 1), K - l, flip) for l in range(K + 1)]
    return np.array([np.convolve(one, other) @ released for one, other in zip(kept, turned, strict=True)])


def share_right(released: Array, cast: Codes, truth: Codes) -> float:
    """The share of labels that are right, expected over the coins of the release."""
    ones = released[cast.sum(axis=1)]
    return float(np.where(truth == 1, ones, 1 - ones).mean())


class PerQuery(NamedTuple):
    """A way to release one label: from which votes ("private" or "plain" teachers), and its chances."""

    teachers: str
    chances: Array
    release: Callable[[Codes, np.random.Generator], Codes]


def design_of(gamma: Array, problem: darrm.MajorityProblem) -> darrm.Design:
    """A noise function, scaled down by rounding errors where its promise is tight."""
    return darrm.Design(problem, darrm.repair(gamma, problem), darrm.priors.parse("uniform"))


def per_query(m: int, epsilon: float, K: int) -> dict[str, PerQuery]:
    """The paper's columns and one of ours: labels that are (m epsilon, m Delta)-DP one by one.

    As in the paper, all K votes may change, which for disjoint shards they cannot.
    """
    problem = darrm.MajorityProblem(K, m, epsilon, DELTA, delta=m * DELTA)
    found = {}
    for name, sigma in (
        ("GNMax", gnmax_sigma(m * epsilon, m * DELTA)),
        ("GNMax, exact sigma", gnmax_sigma_analytic(m * epsilon, m * DELTA)),
    ):
        found[name] = PerQuery("plain", noisy_max(sigma, K), _by_noisy_max(GaussianNoisyMax(sigma)))
    for name, design in (
        ("subsampling", design_of(baselines.subsampling(K, m), problem)),
        ("gamma_opt", darrm.solve(problem)),
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
def teacher_budget(total: float, changed: int, delta: float = DELTA) -> tuple[float, float]:
    """(epsilon, Delta) of a fixed voter, ``changed`` of which cost (total, delta) by the optimal composition."""
    if changed == 1:
        return total, delta
    Delta = delta / (2 * changed)
    return largest(lambda one: optimal(one, Delta, changed, delta).epsilon <= total), Delta


@cache
def silent(total: float, changed: int, queries: int) -> float:
    """The largest epsilon of one answer with which the votes of ``queries`` queries cost (total, DELTA): no noise."""
    return largest(lambda one: optimal(one, 0.0, changed * queries, DELTA).epsilon <= total)


@cache
def unaided(total: float, changed: int, queries: int, K: int) -> float:
    """The same if only the labels are seen: the plain majority is charged like DaRRM, by exact composition."""

    def pays(epsilon: float) -> bool:
        problem = darrm.MajorityProblem(K, changed, epsilon, changed=changed)
        labels = design_of(np.ones(K + 1), problem)
        return compose(labels, queries, delta=DELTA, voters="fresh", tolerance=1e-2).upper <= total

    low = silent(total, changed, queries)  # the votes pay for the labels
    high = min(2 * low, LARGEST_LOSS / changed)
    while high < LARGEST_LOSS / changed and pays(high):
        low, high = high, min(2 * high, LARGEST_LOSS / changed)
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if pays(middle) else (low, middle)
    return low


@cache
def planned(total: float, changed: int, queries: int, K: int) -> darrm.Design:
    """DaRRM for fresh voters: ``queries`` labels are (total, DELTA)-DP together, by exact composition."""
    if changed == 1:
        epsilon = unaided(total, changed, queries, K)
    else:
        epsilon = LARGEST_LOSS / K * 0.99 if changed == K else RAISED * silent(total, changed, queries)
    return plan(
        K=K, epsilon=epsilon, queries=queries, total_epsilon=total, total_delta=DELTA, voters="fresh", changed=changed
    )


def fresh(design: darrm.Design) -> Array:
    """Pr[release 1 | l ones before randomized response]."""
    return after_randomized_response(response(design.gamma), design.problem.epsilon)


def without_darrm(total: float, changed: int, queries: int, K: int) -> Array:
    """The same if answers carry all the noise."""
    return after_randomized_response(majority(K), unaided(total, changed, queries, K))


def many_noisy_max(total: float, queries: int, K: int, exact: bool = False) -> Array:
    """GNMax with noise for so many labels: Renyi bounds add up, and so do the inverse variances of Gaussian noise."""
    one = gnmax_sigma_analytic if exact else gnmax_sigma
    return noisy_max(np.sqrt(queries) * one(total, DELTA), K)

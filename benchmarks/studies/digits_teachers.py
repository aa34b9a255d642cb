"""Ten classes of handwritten digits, non-private teachers: what labels cost, and what they are worth.

    python benchmarks/studies/digits_teachers.py [--docs] [--quick]

Takes: three minutes, --quick half a minute. --docs writes docs/benchmarks.md.

scikit-learn's digits, ten draws of which are the private records, the public queries and the test. K logistic
regressions are trained on disjoint shards. All ways release the same number of labels within the same total
(epsilon, 1e-5), and a logistic regression, the student, learns from them. Gaussian noise is charged by Renyi DP with
its best conversion, as the noisy counts (Gaussian DP), and exactly; all others exactly. Noise
is planned before anything is trained, for teachers right with 0.75. Where 25 teachers label ten classes the plan is the
best of the others, and is left out.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import ttest_rel, wilcoxon
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from darrm.accounting import noisy_max_parameter, rdp_epsilon
from darrm.accounting.gaussian import gdp_mu
from darrm.ensemble import shards
from darrm.ensemble.designs import teachers_decision
from darrm.errors import BudgetError
from darrm.mechanisms import GaussianNoisyMax, LaplaceNoisyMax, PermuteAndFlip
from darrm.numerics.printed import at_least, at_most
from darrm.problem.class_votes import class_probabilities

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, bullets, put, table

PAGE = DOCS / "benchmarks.md"
C, BASE, DELTA = 10, 0.75, 1e-5
DRAWS, RECORDS, QUERIES = 10, 1197, 200  # records of the teachers, and labels; the other 400 images are the test
RUNS = [
    (11, 20, 2.0),
    (11, 20, 5.0),
    (11, 20, 10.0),
    (25, 200, 10.0),
    (11, 200, 10.0),
]
QUICK = RUNS[1:2]
PLAIN, GAUSSIAN = "no noise", "Gaussian, exact"
RENYI, GDP = "Gaussian, Renyi DP", "Gaussian, Gaussian DP"
FLIP, LAPLACE, PLANNED = "permute-and-flip", "Laplace", "planned"
COUNTED = {GAUSSIAN: GaussianNoisyMax, FLIP: PermuteAndFlip, LAPLACE: LaplaceNoisyMax}
STUDENTS = 5  # draws of the labels' noise, over which a student's accuracy is averaged


def renyi_sigma(queries: int, total: float) -> float:
    """The least sigma of so many labels by the Renyi bound, by its best conversion."""
    orders = 1 + np.geomspace(0.01, 1000, 5000)
    return float(brentq(lambda sigma: rdp_epsilon(orders, queries * orders / sigma**2, DELTA) - total, 0.1, 1e4))


def ways(K: int, queries: int, total: float) -> Iterator[tuple[str, str, Any]]:
    """Each way to label: its name, its noise in words, and a function from votes for each class to chances."""
    sigma = renyi_sigma(queries, total)
    yield PLAIN, "", lambda counts: (counts == counts.max(axis=1, keepdims=True)).astype(float)
    yield RENYI, f"sigma {at_least(sigma, 4)}", GaussianNoisyMax(sigma).chances
    sigma = float(np.sqrt(2 * queries) / gdp_mu(total, DELTA))
    yield GDP, f"sigma {at_least(sigma, 4)}", GaussianNoisyMax(sigma).chances
    for name, kind in COUNTED.items():
        parameter = noisy_max_parameter(kind, queries, total, DELTA, K=K, classes=C)
        gaussian = kind is GaussianNoisyMax
        noise = f"sigma {at_least(parameter, 4)}" if gaussian else f"parameter {at_most(parameter, 4)}"  # no less noise
        yield name, noise, kind(parameter).chances
    if K > 11:  # no optimum is looked for, and the plan is the best of these
        return
    try:
        design = teachers_decision(K, "replace-one", queries, total, DELTA, C, BASE)
    except BudgetError:
        return
    table_of = design.table
    yield PLANNED, "", lambda counts: class_probabilities(table_of, design.problem, counts[:, None])


def votes_of(K: int, queries: int, draw: int) -> tuple[np.ndarray, ...]:
    """Votes for each class on the queries, the queries, their truth, and the test."""
    pixels, digit = load_digits(return_X_y=True)
    order = np.random.default_rng(draw).permutation(len(digit))
    X, y = pixels[order] / 16, digit[order]
    counts = np.zeros((queries, C), dtype=np.int64)
    asked = slice(RECORDS, RECORDS + queries)
    for part in shards(RECORDS, K):
        teacher = LogisticRegression(max_iter=300).fit(X[part], y[part])
        counts[np.arange(queries), teacher.predict(X[asked])] += 1
    test = slice(RECORDS + QUERIES, None)
    return counts, X[asked], y[asked], X[test], y[test]


def students(chances: np.ndarray, data: tuple[np.ndarray, ...], rng: np.random.Generator) -> float:
    """The mean accuracy of students of drawn labels, over draws of the noise."""
    _, X, _, X_test, y_test = data
    sums = chances.cumsum(axis=1) / chances.sum(axis=1, keepdims=True)
    right = []
    for _ in range(STUDENTS):
        labels = (rng.random((len(X), 1)) > sums).sum(axis=1)
        if np.unique(labels).size > 1:
            right.append(LogisticRegression(C=0.1, max_iter=300).fit(X, labels).score(X_test, y_test))
    return float(np.mean(right)) if right else 1 / C


def main() -> None:
    parser = argparse.ArgumentParser(description="Labels of ten classes by non-private teachers.")
    parser.add_argument("--docs", action="store_true", help="also write docs/benchmarks.md")
    parser.add_argument("--quick", action="store_true", help="one total, eleven teachers, 20 labels")
    asked = parser.parse_args()
    start, clock = time.process_time(), time.time()
    rows: list[dict[str, Any]] = []
    tests: list[str] = []
    for K, queries, total in QUICK if asked.quick else RUNS:
        drawn = [votes_of(K, queries, draw) for draw in range(DRAWS)]
        right: dict[str, np.ndarray] = {}
        taught: dict[str, np.ndarray] = {}
        for name, said, chances in ways(K, queries, total):
            rng, each = np.random.default_rng(1), [chances(data[0]) for data in drawn]
            right[name] = np.array(
                [
                    (one[np.arange(queries), data[2]] / one.sum(axis=1)).mean()
                    for one, data in zip(each, drawn, strict=True)
                ]
            )
            taught[name] = np.array([students(one, data, rng) for one, data in zip(each, drawn, strict=True)])
            row = {"K": K, "labels": queries, "total epsilon": total}
            row |= {"release, accounting": name, "noise parameter": said}
            row |= {"label accuracy": float(right[name].mean()), "student accuracy": float(taught[name].mean())}
            rows.append(row)
            print(*row.values(), sep="\t", flush=True)
        rivals = [(GAUSSIAN, RENYI), (GAUSSIAN, GDP)]
        if PLANNED in right:
            best = max((name for name in COUNTED if name in right), key=lambda name: right[name].mean())
            rivals += [(PLANNED, GAUSSIAN), (PLANNED, best)] if best != GAUSSIAN else [(PLANNED, GAUSSIAN)]
        for a, b in rivals:
            said = []
            for what, found in (("labels", right), ("student", taught)):
                difference = found[a] - found[b]
                if np.allclose(difference, 0):
                    said.append(f"{what} the same")
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    p, q = ttest_rel(found[a], found[b]).pvalue, wilcoxon(found[a], found[b]).pvalue
                said.append(f"{what} {100 * difference.mean():+.1f} points (t-test {p:.1g}, Wilcoxon {q:.1g})")
            tests.append(f"K {K}, {queries} labels, total {total:g}: {a} less {b}: {'; '.join(said)}.")
            print(tests[-1], flush=True)
    seconds, by_clock = time.process_time() - start, time.time() - clock
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    took = f"{seconds:.0f} s of one core ({by_clock:.0f} s by the clock) on {machine}."
    print(took)
    if asked.docs and not asked.quick:
        put("digits-table", table(rows), PAGE)
        put("digits-tests", bullets(tests), PAGE)
        put("digits-time", took, PAGE)


if __name__ == "__main__":
    main()

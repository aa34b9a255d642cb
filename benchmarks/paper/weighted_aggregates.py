"""Weighted aggregates of labels: delta of given and of random bags, what least squares loses, what attackers gain.

    python benchmarks/paper/weighted_aggregates.py [--docs]

Takes: two minutes. --docs writes docs/aggregates.md.

What the abstract of "Label differential privacy via aggregation" claims, computed: delta falls with the size k of a
bag, without noise for weighted bag aggregates (LBA) and with noise on half of the labels for weighted label proportions
(LLP); the loss of least squares on the aggregates is (1 + o(1)) times that on the records. Besides, sampled: how much
better the best attacker guesses labels who knows how likely they are.
"""

from __future__ import annotations

import argparse
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from darrm.labels import (
    LabelProportions,
    NoisyWeightedLabelProportions,
    WeightedBagAggregates,
    individual_advantage,
    local_delta,
    multiplicative_advantage,
    noisy_delta,
    noisy_local_delta,
    random_bag_delta,
    worst_delta,
)
from darrm.labels.learners import AggregateRegressor
from darrm.mechanisms.labelled_bag import column_space, residual_of
from darrm.randomness.words import NotPrivateWarning

EPSILON, D, FLOOR = 1.0, 5, 0.1  # FLOOR: assumed mean squared residual in a bag
FRACTION, SIGMA = 0.5, 1.0
BAG, REPEATS = 50, 20
RECORDS, LOSS = 20_000, 0.2  # of the data set of random bags; its mean squared residual without any one record
AUDITED, DRAWS = 8, 2000  # labels of a bag, and bags
DOCS = Path(__file__).resolve().parents[2] / "docs"


def records(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """An intercept and four normal features; labels 0 and 1, more often 1 where the first feature is large."""
    X = np.column_stack([np.ones(n), rng.normal(size=(n, D - 1))])
    return X, (rng.random(n) < 1 / (1 + np.exp(-X[:, 1]))).astype(float)


def privacy() -> list[dict[str, Any]]:
    rows = []
    for k in (10, 20, 50, 100, 200, 500):
        X, y = records(k, np.random.default_rng(k))
        leverage = float((column_space(X) ** 2).sum(axis=1).max())
        noised = np.arange(k) < k * FRACTION
        flipped = [np.where(np.arange(k) == j, 1 - y, y) for j in range(k)]
        residuals = [float((residual_of(column_space(X), z) ** 2).mean()) for z in [y, *flipped]]
        rows.append(
            {
                "k": k,
                "largest leverage": leverage,
                "LBA, any features": worst_delta(EPSILON, FLOOR * k, (0, 1), leverage=leverage).upper,
                "LBA, these features": worst_delta(EPSILON, FLOOR * k, (0, 1), X=X).upper,
                "least residual of these labels": min(residuals),
                "LBA, these labels": max(local_delta(EPSILON, X, y, j, 1 - 2 * y[j]).delta for j in range(k)),
                "LLP, weights shown": noisy_delta(EPSILON, k, FRACTION, SIGMA, (0, 1)),
                "LLP, weights secret, labels 0": noisy_local_delta(EPSILON, np.zeros(k), noised, 0, 1.0, SIGMA).delta,
            }
        )
    return rows


def random_bags(sizes: tuple[int, ...] = (200, 500, 1000, 2000, 4000)) -> list[dict[str, Any]]:
    X, _ = records(RECORDS, np.random.default_rng(RECORDS))
    rows = []
    for k in sizes:
        by_range = random_bag_delta(EPSILON, k, (0, 1), X=X, loss_floor=LOSS)
        by_bound = random_bag_delta(EPSILON, k, (0, 1), X=X, loss_floor=LOSS, residual_bound=1.0)
        rows.append(
            {
                "k": k,
                "delta, labels in the range": by_range.upper,
                "delta, residuals at most 1": by_bound.upper,
                "part of it for failing bags": by_bound.failure,
                "residual bound / k": by_bound.floor.residual_sum / k,
                "leverage": by_bound.floor.leverage,
            }
        )
    return rows


def audit(k: int = AUDITED, draws: int = DRAWS) -> list[dict[str, Any]]:
    """What the best attacker gains on labels who knows eta, by sampled bags and their exact posteriors."""
    shown = NoisyWeightedLabelProportions(FRACTION, SIGMA)
    secret = NoisyWeightedLabelProportions(FRACTION, SIGMA, weights="secret")
    eta = np.full(k, 0.5)
    exact = float(individual_advantage(LabelProportions(), eta).mean())
    rows: list[dict[str, Any]] = [{"mechanism": "sum of the labels", "advantage": exact, "s.e.": 0.0, "at most": "-"}]
    # Of each label the attacker gains at most half the total variation of neighbours, which is delta at epsilon 0.
    tiny = 1e-6
    bound = (noisy_delta(tiny, k, FRACTION, SIGMA, (0, 1)) + np.expm1(tiny)) / 2
    for name, mechanism, at_most in (
        ("LBA, d = 2", WeightedBagAggregates(), None),
        ("LLP, weights shown", shown, bound),
        ("LLP, weights secret", secret, bound),
    ):
        rng = np.random.default_rng(k)
        gains, moves = [], []
        for _ in range(draws):
            X = np.column_stack([np.ones(k), rng.normal(size=k)])
            y = (rng.random(k) < eta).astype(float)
            output = mechanism.release(X, y, rng) if at_most is None else mechanism.release(y, rng)
            after = mechanism.posterior(eta, output, X)
            gains.append(float((np.maximum(after, 1 - after) - np.maximum(eta, 1 - eta)).mean()))
            with np.errstate(divide="ignore"):
                moves.append(np.abs(np.log(after) - np.log1p(-after)))  # eta is 1/2: its log odds are 0
        rows.append(
            {
                "mechanism": name,
                "advantage": float(np.mean(gains)),
                "s.e.": float(np.std(gains, ddof=1) / np.sqrt(draws)),
                "at most": "-" if at_most is None else float(at_most),
                "98 % of the change of log odds": float(np.quantile(moves, 0.98, method="higher")),
            }
        )
    rows[0]["98 % of the change of log odds"] = float(multiplicative_advantage(LabelProportions(), eta).quantile(0.98))
    return rows


def utility(sizes: tuple[int, ...] = (20, 80, 320, 1280), repeats: int = REPEATS) -> list[dict[str, Any]]:
    lba, llp = WeightedBagAggregates(), NoisyWeightedLabelProportions(FRACTION, SIGMA)
    rows = []
    for bags in sizes:
        ratios: dict[str, list[float]] = {"LBA": [], "LLP": []}
        for repeat in range(repeats):
            rng = np.random.default_rng([bags, repeat])
            X, y = records(bags * BAG, rng)

            def loss(model: AggregateRegressor, X: np.ndarray = X, y: np.ndarray = y) -> float:
                return float(np.mean((y - model.predict(X)) ** 2))

            best = loss(AggregateRegressor().fit(X, y))
            parts = np.arange(len(X)).reshape(bags, BAG)
            sums = [lba.release(X[part], y[part], rng) for part in parts]
            ratios["LBA"].append(loss(AggregateRegressor().fit(sums)) / best)
            noisy = [llp.release(y[part], rng) for part in parts]
            ratios["LLP"].append(loss(AggregateRegressor().fit(X, noisy, parts)) / best)
        row: dict[str, Any] = {"records": bags * BAG, "bags": bags}
        for name, values in ratios.items():
            row[f"{name} loss ratio"] = float(np.mean(values))
            row[f"{name} s.e."] = float(np.std(values, ddof=1) / np.sqrt(repeats))
        rows.append(row | {"1 + d / (bags - d - 1)": 1 + D / (bags - D - 1)})
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    def shown(value: Any) -> str:
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    lines = ["| " + " | ".join(rows[0]) + " |", "|" + " --: |" * len(rows[0])]
    lines += ["| " + " | ".join(shown(value) for value in row.values()) + " |" for row in rows]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true", help="also put the tables into docs/aggregates.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore", NotPrivateWarning)  # seeded, so that the tables can be made again
    tables = {
        "privacy": table(privacy()),
        "random-bags": table(random_bags()),
        "utility": table(utility()),
        "audit": table(audit()),
    }
    print(*tables.values(), sep="\n\n")
    if options.docs:
        page = DOCS / "aggregates.md"
        text = page.read_text(encoding="utf-8")
        for name, content in tables.items():
            parts = re.split(rf"(<!-- /?{name} -->)", text)
            text = "".join([*parts[:2], f"\n\n{content}\n\n", *parts[3:]])
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

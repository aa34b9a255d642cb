"""How far from the optimum can a design be? The certified gap of random problems of all kinds.

    python benchmarks/studies/gaps.py [--problems 20000] [--begin 0] [--seed 1] [--processes 2] [--above 1e-9]

Takes: an hour on two idle cores.

Problems are drawn one by one: K from 3 to 101, m whole and real, epsilon from 1e-6 to 20, with and without Delta and
delta, voters affected, every kind of prior, both shapes and objectives, profiles, the three engines; and decisions by
groups of voters and of several classes. Printed are how many gaps are above the limit, those with what they were asked
for, what was refused, and the largest gap of each kind. The exit status is 1 if a gap is above the limit.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import darrm


class Gap(NamedTuple):
    """What became of one problem: its kind, number, gap (NaN if it was refused), and what was asked or why not."""

    kind: str
    number: int
    gap: float
    text: str


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def pick(rng: np.random.Generator, *values: Any) -> Any:
    return values[rng.integers(len(values))]


def epsilons(rng: np.random.Generator) -> float:
    low, high = pick(rng, (0.01, 2.0), (0.01, 2.0), (1e-6, 0.01), (2.0, 20.0))
    return float(pick(rng, log_uniform(rng, low, high), 0.1, 0.5))


def voters_of(rng: np.random.Generator, most: int) -> dict[str, Any]:
    """K, epsilon, Delta, m and delta of a majority."""
    K = int(pick(rng, rng.integers(3, 16), round(log_uniform(rng, 3, most)), rng.integers(3, most + 1)))
    m = pick(rng, int(rng.integers(1, max(2, K // 2))), 1, rng.uniform(0.01, K), log_uniform(rng, 1e-3, 1.0))
    asked = {"K": K, "m": m, "epsilon": epsilons(rng)}
    most_Delta = 0.3 if K <= 15 else 1e-2 if K <= 41 else 1e-4  # larger ones take seconds
    asked["Delta"] = pick(rng, 0.0, 0.0, 1e-5, min(1e-3, most_Delta), log_uniform(rng, 1e-15, most_Delta))
    delta = pick(rng, None, None, 0.0, asked["Delta"], asked["Delta"] * m, log_uniform(rng, 1e-12, 0.3))
    if delta is not None and delta < 1:
        asked["delta"] = delta
    if rng.random() < 0.3:
        asked["max_affected"] = int(pick(rng, 1, 2, rng.integers(1, K + 1)))
    return asked


def priors_of(rng: np.random.Generator, K: int, epsilon: float) -> str:
    def numbers(values: Any) -> str:
        return ",".join(map(repr, np.asarray(values).tolist()))

    chances = rng.uniform(0, 1, K) if rng.random() < 0.5 else rng.uniform(0.5, 1, K)
    histogram = rng.integers(0, 100, K + 1) * (rng.random(K + 1) < rng.uniform(0.1, 1))
    histogram[rng.integers(0, K + 1)] += 1
    wrong = rng.dirichlet([1, 1], 2)
    accuracy = rng.uniform(0.5, 1)
    return str(
        pick(
            rng,
            "uniform",
            "common",
            f"independent:{numbers(np.sort(rng.uniform(0.5, 1, 2)))}",
            f"common:{numbers(rng.uniform(0.2, 5, 2))}",
            f"fixed:{numbers(chances)}",
            f"fixed:{numbers(np.full(K, pick(rng, 0.5, 0.9, 0.99, 1.0)))}",
            f"votes:{numbers(histogram)}",
            f"confusion:0.5,0.5:{numbers(wrong.ravel())}",
            f"randomized-response:{epsilon!r}:{accuracy!r}",
            f"randomized-response:{epsilon!r}:common",
        )
    )


def a_majority(rng: np.random.Generator, engine: str) -> tuple[Callable[[], float], str]:
    asked: dict[str, Any] = voters_of(rng, 101 if engine == "cutting-planes" else 21)
    if engine != "cutting-planes" and asked["Delta"]:
        asked["K"] = 3 + asked["K"] % 5
        asked["m"] = min(asked["m"], asked["K"])
        if "max_affected" in asked:
            asked["max_affected"] = min(asked["max_affected"], asked["K"])
    asked["prior"] = priors_of(rng, asked["K"], asked["epsilon"])
    asked |= {"shape": pick(rng, "free", "free", "monotone"), "objective": pick(rng, None, "disagreement")}
    if engine != "cutting-planes":
        asked["engine"] = engine
    elif rng.random() < 0.1:
        total = asked["m"] * asked["epsilon"]
        points = np.sort(rng.uniform(0, 2 * total, 3)).tolist()
        asked["profile"] = list(zip(points, np.sort(rng.uniform(1e-9, 0.2, 3))[::-1].tolist(), strict=True))
    text = f"darrm.solve({', '.join(f'{name}={value!r}' for name, value in asked.items())})"
    return lambda: darrm.solve(**asked).gap, text


def a_decision(rng: np.random.Generator) -> tuple[Callable[[], float], str]:
    several = rng.random() < 0.3
    groups, accuracy = [], []
    n_groups = int(rng.integers(1, 4))
    for _ in range(n_groups):
        count = int(rng.integers(1, 5 if several else 2 + 6 // n_groups))
        Delta = pick(rng, 0.0, 0.0, 1e-5, log_uniform(rng, 1e-9, 0.1))
        groups.append(darrm.VoterGroup(count, epsilons(rng), Delta))
        accuracy.append(rng.uniform(0.5, 1))
    epsilon, delta = epsilons(rng), pick(rng, 0.0, 0.0, 1e-5, log_uniform(rng, 1e-9, 0.1))
    classes, none = int(pick(rng, 3, 3, 4)) if several else 2, bool(rng.random() < 0.3)
    none &= n_groups == 1 and groups[0].count <= 3  # others take seconds
    if several:
        groups, accuracy = groups[:1], accuracy[:1]
    elif rng.random() < 0.2:  # one group, of many
        count = int(rng.integers(8, 16))
        groups, accuracy = [darrm.VoterGroup(count, groups[0].epsilon, groups[0].delta)], accuracy[:1]
    problem = darrm.DecisionProblem(groups, epsilon=epsilon, delta=delta, classes=classes, none=none)
    by_cost = darrm.objectives.costs(rng.random((*problem.table_shape, problem.n_answers)))
    prior = rng.dirichlet(np.ones(classes))
    by_truth = darrm.objectives.truth(accuracy, prior, none=rng.uniform(0.05, 0.6) if none else None)
    objective, ordered = pick(rng, by_truth, by_cost), bool(rng.random() < 0.3)
    text = f"darrm.solve({problem!r}, objective={objective!r}, ordered={ordered})"
    return lambda: darrm.solve(problem, objective=objective, ordered=ordered).gap, text


def one(seed: int, number: int) -> Gap:
    """The problem of that number, solved."""
    rng = np.random.default_rng([seed, number])
    kinds = ["cutting-planes"] * 16 + ["full-list", "full-list-cvxpy", "decision", "decision"]
    kind = str(pick(rng, *kinds))
    solve, text = a_decision(rng) if kind == "decision" else a_majority(rng, kind)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", darrm.priors.ImpossiblePriorWarning)
            return Gap(kind, number, solve(), text)
    except darrm.DarrmError as error:
        return Gap(kind, number, math.nan, f"{type(error).__name__}: {str(error)[:70]} | {text}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=20_000)
    parser.add_argument("--begin", type=int, default=0, help="the first number, to go on where a run was stopped")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--above", type=float, default=1e-9, help="the limit")
    parser.add_argument("--refused", action="store_true", help="also print what was refused")
    options = parser.parse_args()
    gaps = []
    with ProcessPoolExecutor(options.processes) as pool:
        for gap in pool.map(partial(one, options.seed), range(options.begin, options.problems), chunksize=20):
            gaps.append(gap)
            if gap.gap > options.above:
                print(f"{gap.gap:.3g} ({gap.kind}, number {gap.number}): {gap.text}", flush=True)
            elif options.refused and math.isnan(gap.gap):
                print(f"refused ({gap.kind}, number {gap.number}): {gap.text}", flush=True)
            if len(gaps) % 1000 == 0:
                print(f"{options.begin + len(gaps)} of {options.problems}", file=sys.stderr, flush=True)
    solved = [gap for gap in gaps if not math.isnan(gap.gap)]
    loose = sum(gap.gap > options.above for gap in solved)
    for kind, count in Counter(gap.kind for gap in solved).items():
        worst = max((gap for gap in solved if gap.kind == kind), key=lambda gap: gap.gap)
        print(f"{kind}: {count} solved, largest gap {worst.gap:.3g} (number {worst.number})")
    print(f"{loose} of {len(solved)} gaps are above {options.above:g}; {len(gaps) - len(solved)} were refused.")
    return 1 if loose else 0


if __name__ == "__main__":
    sys.exit(main())

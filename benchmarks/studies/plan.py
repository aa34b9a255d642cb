"""What one total budget buys: both budgets over the epsilon of the votes, the planner's time, and how near it comes.

    python benchmarks/studies/plan.py [--docs] [--quick]

Takes: some minutes, --quick half a minute. --docs writes docs/benchmarks.md.

The wide search tries many families of profiles, each raised until the exact total is spent, where the planner
tries a few. The simulation draws votes and releases labels from the planned design. Seconds are processor time of one
core; the first plan of a process, which imports SciPy, is not counted.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import darrm
from darrm import objectives
from darrm.accounting.counts import counts_total
from darrm.accounting.gaussian import gdp
from darrm.accounting.search import Budget, spend
from darrm.design.solve import solve
from darrm.mechanisms import PrivateDecision
from darrm.planning import Plan
from darrm.planning.setting import Setting
from darrm.randomness.words import NotPrivateWarning
from darrm.show.figures import LOOKS, WIDTH, curve, name_lines, new_figure, tidy
from darrm.show.wording import at_least

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, above, bullets, put, save, table

PAGE = DOCS / "benchmarks.md"
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, math.inf)
QUESTION: dict[str, Any] = {"K": 25, "base_accuracy": 0.85, "queries": 200, "voters": "fresh"}
QUESTION |= {"total_epsilon": 6.0, "total_delta": 1e-6, "compare": False}
TIMED = [(25, 200, 1), (51, 1000, 1), (25, 200, 2), (25, 200, 25), (11, 10, 1), (11, 100, 3), (101, 200, 1)]
TIMED += [(25, 2000, 1), (5, 1, 1), (51, 50, 5)]
CAPS = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
SHARES = (0.1, 0.5, 0.9)  # of the total delta, for one label of many

Profile = Callable[[float], tuple[float, float, list[tuple[float, float]]]]


def over_epsilon() -> Iterator[dict[str, Any]]:
    """Label error rates, and the epsilons of all labels and of all votes, over the epsilon of a vote."""
    for epsilon in EPSILONS:
        one, two = (darrm.plan(**QUESTION, epsilon=epsilon, max_affected=t) for t in (1, 2))
        yield {
            "epsilon of a vote": epsilon,
            "label error rate, 1 affected": round(one.wrong, 4),
            "label error rate, 2 affected": round(two.wrong, 4),
            "epsilon of all labels": above(max(one.spent, two.spent), 2),
            "epsilon of all counts, 1 affected, known randomizer": counts(epsilon),
            "epsilon of all votes, 1 affected": at_least(one.aggregator, 4),
            "epsilon of all votes, 2 affected": at_least(two.aggregator, 4),
        }


def counts(epsilon: float) -> str:
    """The total of the counts of all queries against somebody who sees no vote, if all voters randomize as stated."""
    if math.isinf(epsilon):
        return "infinite"
    known = darrm.VoterGroup(QUESTION["K"], epsilon, max_affected=1, randomizer="randomized response", colluders=0)
    voters = darrm.DecisionProblem([known], 1.0, max_affected=1).model
    return at_least(counts_total(voters, QUESTION["queries"], QUESTION["total_delta"]), 4)


def seconds() -> Iterator[dict[str, Any]]:
    """Processor seconds of a plan without a comparison."""
    darrm.plan(**QUESTION | {"K": 3, "queries": 2}, epsilon=1.0, max_affected=1)
    for K, queries, reached in TIMED:
        asked = QUESTION | {"K": K, "queries": queries}
        start = time.process_time()
        plan = darrm.plan(**asked, epsilon=1.0, max_affected=reached)
        took = time.process_time() - start
        yield {
            "voters": K,
            "labels": queries,
            "affected voters": reached,
            "seconds": f"{took:.2g}",
            "label error rate": f"{plan.wrong:.4f}",
        }


def profiles(budget: Budget) -> Iterator[Profile]:
    """What one label may be held to, by a parameter: its epsilon, its delta, and further points."""
    each = budget.delta / budget.queries

    def pure(x: float) -> tuple[float, float, list[tuple[float, float]]]:
        return x, 0.0, []

    yield pure
    for share in SHARES if budget.delta else ():
        yield lambda x, share=share: (x, share * each, [])
    for cap in (math.inf, *CAPS) if budget.delta else ():
        for share in (0.0, 0.5):

            def capped(x: float, cap: float = cap, extra: float = share * each) -> Any:
                points = gdp(min(x, 12.0))
                end = min(cap * x, points[-1][0])
                return end, extra, [(epsilon, delta + extra) for epsilon, delta in points if epsilon < end]

            yield capped


def wide_search(setting: Setting, budget: Budget) -> float:
    """The least expected cost of all families; `spend` for each, but more closely and with nothing left out."""
    best = math.inf
    for profile in profiles(budget):

        def made(x: float, profile: Profile = profile) -> darrm.DecisionDesign:
            epsilon, delta, points = profile(x)
            problem = setting.problem(min(epsilon, setting.problem().epsilon), delta)
            return solve(problem, objective=setting.objective, profile=points)

        spent = spend(made, budget, budget.epsilon / budget.queries, least=1e-5, most=50.0, tries=24, close=1e-6)
        if spent is not None:
            best = min(best, spent.release.expected_cost)
    return best


def small(count: int) -> Iterator[tuple[dict[str, Any], Setting, Budget]]:
    """Small problems: what `darrm.plan` takes, and the same for the wide search."""
    random = np.random.default_rng(1)
    for _ in range(count):
        K, reached = int(random.integers(3, 12)), int(random.integers(1, 3))
        epsilon, accuracy = float(random.choice([0.5, 1.0, 3.0])), float(random.uniform(0.6, 0.9))
        queries = int(random.choice([2, 5, 20, 100]))
        total, delta = float(random.choice([0.5, 1.0, 3.0])), float(random.choice([1e-6, 1e-4]))
        groups = (darrm.VoterGroup(K, epsilon),)
        setting = Setting(groups, reached, "replace-one", 2, objectives.truth([accuracy]))
        asked = {"groups": groups, "queries": queries, "total_epsilon": total, "total_delta": delta}
        asked |= {"voters": "fresh", "max_affected": reached, "accuracy": [accuracy], "compare": False}
        yield asked, setting, Budget(queries, total, delta, "fresh")


def beside(count: int) -> list[float]:
    """By how much the planner's label error rate exceeds the wide search's, relatively."""
    return [darrm.plan(**asked).wrong / wide_search(setting, budget) - 1 for asked, setting, budget in small(count)]


def simulated(plan: Plan, K: int, accuracy: float, draws: int, seed: int) -> tuple[float, float]:
    """The label error rate of real releases of drawn votes, and its standard deviation."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 2, draws)
    votes = np.where(random.random((draws, K)) < accuracy, truth[:, None], 1 - truth[:, None])
    if not isinstance(plan.design, darrm.DecisionDesign):
        raise TypeError("Only decisions are simulated.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)  # seeded, to be repeated
        labels = PrivateDecision(plan.design).release_counts(votes.sum(axis=1)[:, None], random)
    return float(np.mean(labels != truth)), math.sqrt(plan.wrong * (1 - plan.wrong) / draws)


def draw(rows: Sequence[dict[str, Any]]) -> Any:
    figure = new_figure((WIDTH, 3.4))
    left, right = figure.subplots(1, 2)
    finite = [row for row in rows if math.isfinite(row["epsilon of a vote"])]
    at = [row["epsilon of a vote"] for row in finite]
    for reached, who, line in ((1, "1 voter", "-"), (2, "2 voters", "--")):
        curve(left, at, [row[f"label error rate, {reached} affected"] for row in finite], LOOKS[0], f"{who}\naffected",
              linestyle=line)  # fmt: skip
    views = {"votes": (1, "-"), "counts": (3, ":")}
    for name, (look, line) in views.items():
        [column] = [column for column in finite[0] if column.startswith(f"epsilon of all {name}, 1 affected")]
        curve(right, at, [float(row[column]) for row in finite], LOOKS[look], f"all {name}", linestyle=line)
    curve(right, at, [float(row["epsilon of all labels"]) for row in finite], LOOKS[2], "all labels")
    left.set(xscale="log", xlabel="epsilon of one vote, nats", ylabel="label error rate", ylim=(0, 0.5))
    right.set(xscale="log", yscale="log", xlabel="epsilon of one vote, nats", ylabel="epsilon of all 200 queries, nats")
    tidy(left, right)
    for ax in (left, right):
        ax.set_xticks([0.1, 0.5, 1, 5], ["0.1", "0.5", "1", "5"])
        name_lines(ax)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--quick", action="store_true", help="three problems beside the wide search, no seconds")
    options = parser.parse_args()
    rows = list(over_epsilon())
    print(table(rows))
    more = beside(3 if options.quick else 20)
    plan = darrm.plan(**QUESTION, epsilon=1.0, max_affected=1)
    accuracy = objectives.randomized_response_accuracy(0.85, 1.0)
    share, deviation = simulated(plan, 25, accuracy, 200_000, 1)
    lines = [
        f"On {len(more)} small problems, beside a search of many more families, the label error rate of the plan is "
        f"higher by {100 * max(more):.2f} % at most, relatively (mean {100 * float(np.mean(more)):.2f} %).",
        f"Of 200,000 labels released from drawn votes of epsilon 1, a share of {share:.4f} differs from the truth; the "
        f"plan states a label error rate of {plan.wrong:.4f} (standard deviation {deviation:.4f}).",
    ]
    print(bullets(lines))
    timed = [] if options.quick else list(seconds())
    if timed:
        print(table(timed))
    if options.docs:
        put("plan", "\n\n".join([table(rows), bullets(lines), *([table(timed)] if timed else [])]), PAGE)
        save(draw(rows), DOCS / "plan.png")


if __name__ == "__main__":
    main()

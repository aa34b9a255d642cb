"""What a budget for each group is worth, beside one for all, and beside a vote without the stricter group.

    python benchmarks/studies/budgets_of_groups.py [--docs]

Takes: a minute. --docs writes docs/howto/groups.md.

Every voter keeps its true answer, right with probability .9, by randomized response of epsilon 1. A record affects one
voter. 4 voters are promised 1 for 100 labels together, 21 voters 4, at delta 1e-6. "Any voters" are any mechanisms of
that epsilon; a known randomizer has no colluders and no second budget.

"Weighted counts" release by the Weighting of individualized PATE (Boenisch et al., 2202.10517): the sum of votes, each
with the weight of its group, with Gaussian noise. Both weights are as large as the exact totals allow.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr

import darrm

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, put, table

PAGE = DOCS / "howto" / "groups.md"
RESPONSE = "randomized response"
STRICT, LOOSE = (4, 1.0), (21, 4.0)  # voters, and their budget
KNOWN: dict[str, Any] = {"randomizer": RESPONSE, "colluders": 0}


def wrong(groups: list[int], total: float | list[float], known: bool) -> float:
    """The label error rate of the plan."""
    how = KNOWN if known else {}
    plan = darrm.plan(
        [darrm.VoterGroup(count, epsilon=1.0, **how) for count in groups],
        base_accuracy=0.9,
        max_affected=1,
        queries=100,
        total_epsilon=total,
        total_delta=1e-6,
        voters="fresh",
        fallback_epsilon=math.inf if known else None,
        compare=False,
    )
    return plan.wrong


def of_weighted_counts(known: bool) -> float:
    """The label error rate of weighted counts with noise, where both budgets are spent to a thousandth."""
    how, base = KNOWN if known else {}, darrm.objectives.randomized_response_accuracy(0.9, 1.0)
    groups = [darrm.VoterGroup(count, epsilon=1.0, **how) for count, _ in (STRICT, LOOSE)]
    problem = darrm.DecisionProblem(groups, [1.0, 1.0], max_affected=1)  # one vote is 1-DP, so any table is
    margins = np.meshgrid(*(2.0 * np.arange(count + 1) - count for count, _ in (STRICT, LOOSE)), indexing="ij")
    weights, budgets = np.array([0.03, 0.1]), np.array([STRICT[1], LOOSE[1]])
    while True:
        table = ndtr(sum(weight * margin for weight, margin in zip(weights, margins, strict=True)))
        design = darrm.Design(problem, table * (1 - 1e-9) + 5e-10, darrm.objectives.truth([base, base]))
        total = darrm.accounting.compose(design, 100, delta=1e-6, voters="fresh", tolerance=1e-2)
        share = np.array([own.upper for own in total.of.values()]) / budgets
        if share.max() <= 1 and share.min() >= 0.998:
            return design.expected_cost
        weights *= 0.9992 / share


def rows() -> Iterator[dict[str, Any]]:
    both, budgets = [STRICT[0], LOOSE[0]], [STRICT[1], LOOSE[1]]
    asked: list[tuple[str, list[int], float | list[float]]] = [
        ("1 for all", both, STRICT[1]),
        ("4, the 21 voters alone", [LOOSE[0]], LOOSE[1]),
        ("1 and 4", both, budgets),
        ("4 for all, which breaks the promise of 1", both, LOOSE[1]),
    ]
    for name, groups, total in asked:
        figures = [f"{100 * wrong(groups, total, known):.2f}" for known in (False, True)]
        yield {"budget": name, "any voters, % wrong": figures[0], "known randomizer, % wrong": figures[1]}
        if total is budgets:
            figures = [f"{100 * of_weighted_counts(known):.2f}" for known in (False, True)]
            name += ", weighted counts"
            yield {"budget": name, "any voters, % wrong": figures[0], "known randomizer, % wrong": figures[1]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="write docs/howto/groups.md")
    args = parser.parse_args()
    content = table(list(rows()))
    print(content)
    if args.docs:
        put("budgets-of-groups", content, PAGE)


if __name__ == "__main__":
    main()

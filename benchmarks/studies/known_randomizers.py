"""What a known randomizer is worth, who sees what, and what it costs if the assumption fails.

    python benchmarks/studies/known_randomizers.py [--docs] [--quick]

Takes: three minutes, --quick half of one. --docs writes docs/known_randomizers.md.

Every voter keeps its true answer, right with probability .9, by randomized response of epsilon. One record affects one
voter, and totals are at delta 1e-6. "Any voters" are any mechanisms of that epsilon.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

import darrm
from darrm import objectives
from darrm.accounting.theorems import optimal
from darrm.numerics.printed import at_least, at_most

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, bullets, put, table

PAGE = DOCS / "known_randomizers.md"
DELTA = 1e-6
RESPONSE = "randomized response"
WORTH = [(11, 1.0), (25, 1.0), (51, 1.0), (101, 0.5), (101, 1.0)]
BUDGETS = [(100, 2.0), (100, 6.0), (1000, 6.0)]


def voters(K: int, epsilon: float, colluders: int | None, affected: int = 1) -> darrm.VoterGroup:
    """The voters; any voters of this epsilon where ``colluders`` is None."""
    known = {} if colluders is None else {"randomizer": RESPONSE, "colluders": colluders}
    return darrm.VoterGroup(K, epsilon, max_affected=affected, **known)


def planned(
    K: int,
    epsilon: float,
    colluders: int | None,
    queries: int = 100,
    total: float = 6.0,
    affected: int = 1,
    fallback: float | None = None,
) -> darrm.planning.Plan:
    """The plan for one budget; without a second budget unless ``fallback`` is one."""
    known = {} if colluders is None else {"fallback_epsilon": math.inf if fallback is None else fallback}
    return darrm.plan(
        [voters(K, epsilon, colluders, affected)],
        base_accuracy=0.9,
        max_affected=affected,
        queries=queries,
        total_epsilon=total,
        total_delta=DELTA,
        voters="fresh",
        compare=False,
        **known,
    )


def majority(K: int, epsilon: float, colluders: int | None, queries: int = 100) -> darrm.accounting.Total:
    """The total of the plain majority."""
    problem = darrm.DecisionProblem([voters(K, epsilon, colluders)], epsilon)
    plain = [float(ones > K / 2) for ones in range(K + 1)]
    design = darrm.Design(problem, darrm.repair(plain, problem), objectives.truth([0.7]))
    return darrm.accounting.compose(design, queries, delta=DELTA, voters="fresh")


def percent(plan: darrm.planning.Plan) -> str:
    """The label error rate; marked where no noise is needed."""
    return f"{100 * plan.wrong:.2f}{'*' if plan.disagreement < 1e-12 else ''}"


def worth(quick: bool) -> Iterator[dict[str, Any]]:
    """Label error rates with and without the assumption, and the total of the plain majority."""
    for K, epsilon in WORTH[1:2] if quick else WORTH:
        known, any_voters = majority(K, epsilon, 0), majority(K, epsilon, None)
        row: dict[str, Any] = {
            "K": K,
            "epsilon of a vote": epsilon,
            "total of the plain majority, 100 labels": f"{at_least(any_voters.upper, 4)} → {at_least(known.upper, 3)}",
        }
        for queries, total in BUDGETS[1:2] if quick else BUDGETS:
            plans = [planned(K, epsilon, colluders, queries, total) for colluders in (None, 0)]
            row[f"{queries:,} labels within {total:g}, % wrong"] = " → ".join(map(percent, plans))
        yield row


def colluding() -> Iterator[dict[str, Any]]:
    """25 voters of epsilon 1, 100 labels within 6, by the number of colluders."""
    for colluders in (0, 1, 6, 12, 24, None):
        plan = planned(25, 1.0, colluders)
        yield {
            "colluders": "any voters" if colluders is None else colluders,
            "% wrong": percent(plan),
            "total of the plain majority": at_least(majority(25, 1.0, colluders).upper, 4),
            "total of the counts": "" if colluders is None else at_least(plan.counts, 4),
            "total of the votes": at_least(plan.aggregator, 4),
        }


def fallbacks() -> Iterator[dict[str, Any]]:
    """25 voters of epsilon 1, 100 labels within 6, by the second budget."""
    for fallback in (6.0, 8.0, 10.0, 12.0, 16.0, math.inf):
        plan = planned(25, 1.0, 0, fallback=fallback)
        yield {
            "second budget": fallback,
            "% wrong": percent(plan),
            "total, if the assumption holds": at_least(plan.spent, 4),
            "total, if not": at_least(plan.fallback, 4),
        }


def more(quick: bool) -> list[str]:
    """Where little is gained."""
    said = []
    for affected in () if quick else (2, 3):
        plans = [percent(planned(25, 1.0, colluders, affected=affected)) for colluders in (None, 0)]
        said.append(
            f"If a record affects {affected} of 25 voters, {plans[0]} % of 100 labels within 6 are wrong, and "
            f"{plans[1]} % with the randomizer known."
        )
    return said


def fails() -> list[str]:
    """Totals of 100 labels of the plain majority: as stated, and bounds from below where the assumption fails.

    tests/accounting/test_known_voters_broken.py computes these bounds in fractions.
    """
    known = majority(25, 1.0, 0)
    hi = math.e / (1 + math.e)
    even = math.fsum(math.comb(12, i) ** 2 * hi ** (2 * i) * (1 - hi) ** (24 - 2 * i) for i in range(13))
    kept = optimal(1.0, 0.0, 100, DELTA / even).epsilon  # 12 true answers of each kind, voted for by 12 each
    one = majority(25, 1.0, 0, 1)
    three, forgets = ([math.log(x / y) for x, y in pairs(3, 0.0, forgets)] for forgets in (False, True))
    again = [math.log((x - DELTA) / y) for x, y in pairs(25, 9.0, False)]
    return [
        "100 labels of the plain majority of 25 voters that randomize as stated, without colluders, cost at most "
        f"{at_least(known.upper, 4)}, and at least {at_most(known.lower, 4)}; one label costs at most "
        f"{at_least(one.upper, 3)}.",
        "If the other voters keep and repeat their votes (RAPPOR's permanent response), 12 true answers of each kind "
        f"give 12 votes of each with probability {even:.3f}. Then every label is the vote of the affected voter: "
        f"at least {at_most(kept, 4)}.",
        "If all voters use one seed, every label can be the vote of the affected voter: at least "
        f"{at_most(optimal(1.0, 0.0, 100, DELTA).epsilon, 4)}.",
        "If votes are drawn again while at most nine votes are between the answers, one label costs at least "
        f"{at_most(max(again), 3)}.",
        f"At delta 0, one label of the plain majority of three voters costs at most {at_least(max(three), 3)} for a "
        f"record at a voter that randomizes, and at least {at_most(max(forgets), 3)} at a voter that forgets to.",
        "Two labels of the plain majority of these three voters have a delta of at most "
        f"{at_least(of_two_labels(False), 3)} at epsilon 0. If the next true answers of the other voters depend on "
        f"their own votes, it is at least {at_most(of_two_labels(True), 3)}.",
    ]


def pairs(K: int, margin: float, forgets: bool) -> list[tuple[float, float]]:
    """Pr[label] on two data sets that differ in one true answer, for the majority and all answers of the others.

    Votes are drawn again while at most ``margin`` votes are between the answers. A voter that ``forgets`` votes its
    true answer.
    """
    hi, ones = math.e / (1 + math.e), np.arange(K + 1)
    found = []
    for true in range(K):
        sides = []
        for own in (1.0, 0.0) if forgets else (hi, 1 - hi):
            each = [binom.pmf(range(true + 1), true, hi), binom.pmf(range(K - true), K - 1 - true, 1 - hi)]
            law = np.convolve(np.convolve(*each), [1 - own, own]) * (abs(2 * ones - K) > margin)
            sides.append([law[ones > K / 2].sum() / law.sum(), law[ones < K / 2].sum() / law.sum()])
        for one, zero in (sides, sides[::-1]):
            found += [(float(x), float(y)) for x, y in zip(one, zero, strict=True)]
    return found


def of_two_labels(learns: bool) -> float:
    """The largest total variation of two labels of three voters, of which one is affected, by all strategies.

    The second true answers depend on the first label; those of the affected voter on its own first vote too, and those
    of the others if they ``learn`` from theirs.
    """
    hi, bits = math.e / (1 + math.e), (0, 1)
    own = list(itertools.product(bits, repeat=2))  # the second true answer, by the first vote
    others = list(itertools.product(own if learns else [(0, 0), (1, 1)], repeat=2))

    def chance(votes: tuple[int, ...], answers: tuple[int, ...]) -> float:
        return math.prod(hi if vote == answer else 1 - hi for vote, answer in zip(votes, answers, strict=True))

    def law(first: tuple[int, ...], label: int, then: tuple[tuple[int, ...], ...]) -> Any:
        found = np.zeros(2)
        for votes in itertools.product(bits, repeat=3):
            if (sum(votes) > 1) == label:
                answers = tuple(choice[vote] for choice, vote in zip(then, votes, strict=True))
                for after in itertools.product(bits, repeat=3):
                    found[int(sum(after) > 1)] += chance(votes, first) * chance(after, answers)
        return found

    most = 0.0
    for here, there, *first in itertools.product(bits, repeat=4):
        total = 0.0
        for label in bits:
            each = []
            for then in others:
                sides = [
                    [law((one, *first), label, (own_answer, *then)) for own_answer in own] for one in (here, there)
                ]
                each += [float(np.maximum(0, P - Q).sum()) for P, Q in itertools.product(*sides)]
            total += max(each)
        most = max(most, total)
    return most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="write docs/known_randomizers.md")
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    args = parser.parse_args()
    parts = {
        "known-worth": table(list(worth(args.quick))),
        "known-colluders": table(list(colluding())),
        "known-fallback": table(list(fallbacks())),
        "known-more": bullets([*more(args.quick), *fails()]),
    }
    for name, content in parts.items():
        print(f"\n{name}\n\n{content}")
        if args.docs:
            put(name, content, PAGE)


if __name__ == "__main__":
    main()

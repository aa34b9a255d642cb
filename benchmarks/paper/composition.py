"""What a hundred labels cost: Tables 2, 5, 7, 9 of the DaRRM paper, and what is proved today.

    python benchmarks/paper/composition.py [--docs]

Takes: half a minute. --docs writes docs/papers.md.

For each row of the paper (K = 11 teachers, Delta = 1e-4, its epsilon of one teacher): its own total by Theorem 2.3, the
optimal composition of (m epsilon, delta), the envelope (the whole profile of one release composed), the exact adaptive
composition between its two bounds, and one fixed pair repeated. These are for FRESH voters, who make every answer
private by its own randomness, and a record that reaches all 11, as in the paper's analysis. The paper's teachers are
trained once, on disjoint shards: FIXED voters, t = 1. For fixed voters the reasoning of those columns does not hold;
what they cost, for t = 11 and for t = 1, is in the last two columns, with the noise of these labels counted. gamma_opt
is solved for the paper's prior.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from pages import DOCS, above, bounds, bullets, choose, put, save, table, whole

import darrm
from darrm.accounting import compose, gdp, general, optimal, privacy_profile
from darrm.accounting.fresh import envelope, of_region, one_pair
from darrm.accounting.profile import region
from darrm.show.figures import LOOKS, TEXT, WIDTH, curve, name_lines, new_figure, tidy

TEACHERS = {"MNIST": 0.0892, "Fashion-MNIST": 0.0852}
K, DELTA, PRIME = 11, 1e-4, 1e-4
FIXED_ALL, FIXED_ONE = f"fixed, t = {K}", f"fixed, t = 1, at delta {DELTA:g}"
FEW = ("data", "m", "queries", "delta", "paper", "optimal", "exact", "paper / exact", FIXED_ALL, FIXED_ONE)  # shown


def totals(data: str) -> list[dict[str, Any]]:
    epsilon = TEACHERS[data]
    rows = []
    for m in (1, 3, 5, 7):
        design = darrm.solve(K=K, m=m, epsilon=epsilon, Delta=DELTA)
        one = region(design.gamma, design.problem)
        for queries in (20, 50, 100):
            paper = general(m * epsilon, m * DELTA, queries, PRIME)
            delta = 1 - (1 - m * DELTA) ** queries * (1 - PRIME)
            exact = of_region(one, design.problem.affected, queries, delta)
            fixed = compose(design, queries, delta=delta, voters="fixed")
            rows.append(
                {
                    "data": data,
                    "m": m,
                    "queries": queries,
                    "delta": delta,
                    "paper": paper.epsilon,
                    "optimal": optimal(m * epsilon, m * DELTA, queries, delta).epsilon,
                    "envelope": envelope(one, queries, delta),
                    "exact": exact.upper,
                    "lower": exact.lower,
                    "one pair": one_pair(one.inner, queries, delta),
                    "paper / exact": paper.epsilon / exact.upper,
                    FIXED_ALL: fixed.upper,
                    FIXED_ONE: disjoint(m, epsilon, queries),
                    "_voters": fixed.bounds["the voters themselves"],
                }
            )
    return rows


def disjoint(m: float, epsilon: float, queries: int) -> float:
    """What labels of the paper's own teachers cost at `DELTA`: fixed, t = 1, so that gamma_opt is gamma = 1."""
    design = darrm.solve(K=K, m=m, epsilon=epsilon, Delta=DELTA, max_affected=1)
    return compose(design, queries, delta=DELTA, voters="fixed").upper


def findings(rows: list[dict[str, Any]]) -> list[str]:
    helped = sum(row[FIXED_ALL] < (1 - 1e-9) * row["_voters"] for row in rows)
    each = {row["data"]: row[FIXED_ONE] for row in rows}
    together = {data: optimal(TEACHERS[data], DELTA, K, 0.0011).epsilon for data in each}
    return [
        "The paper's teachers are fixed, with disjoint shards: t = 1 if these are by position. If so, and if their "
        "guarantee is for replaced records, any number of labels costs "
        f"{' and '.join(f'{above(one, 4)} ({data})' for data, one in each.items())} at delta {DELTA:g}.",
        f"If a record reached all {K} of them (t = {K}), any number of labels would cost "
        f"{' and '.join(f'{above(one)} ({data})' for data, one in together.items())} at delta 0.0011. At the larger "
        "deltas of the rows they would cost less.",
        f"The output noise of these labels lowers the total of fixed voters with t = {K} in {helped} of {len(rows)} "
        "rows.",
    ]


def under_profile(model: darrm.Design, points: int = 24) -> darrm.Design:
    """The noise function of least error whose profile is nowhere, at ``points`` epsilons, above that of ``model``."""
    problem = model.problem
    epsilons = [*np.linspace(0, 1.2 * problem.release_epsilon, points), math.inf]
    end = problem.max_affected * problem.groups[0].epsilon + 14  # where `solve` reads an infinite epsilon
    deltas = np.minimum.accumulate(privacy_profile(model.gamma, problem, [*epsilons[:-1], end]))  # but for rounding
    profile = [(e, float(d) * (1 + 1e-9)) for e, d in zip(epsilons, deltas, strict=True) if e or d]
    return darrm.solve(problem, prior=model.prior, profile=profile)


def designs(queries: int = 100, delta: float = 0.0297) -> list[dict[str, Any]]:
    """Designs for one and the same composed budget: what is won by looking at more than one point of the profile.

    Each is the member of its family (m, or mu, or a scale) with the same exact total for ``queries`` fresh labels.
    """
    epsilon, budget = TEACHERS["MNIST"], 5.0

    def total(design: darrm.Design) -> float:
        one = region(design.gamma, design.problem)
        try:
            return of_region(one, design.problem.affected, queries, delta).upper
        except darrm.InputError:
            return math.inf

    def point(m: float) -> darrm.Design:
        return darrm.solve(K=K, m=m, epsilon=epsilon, Delta=DELTA)

    def rising(m: float) -> darrm.Design:
        return darrm.solve(K=K, m=m, epsilon=epsilon, Delta=DELTA, shape="monotone")

    def like_rising(m: float) -> darrm.Design:
        return under_profile(rising(m))

    def gaussian(mu: float) -> darrm.Design:
        return darrm.solve(K=K, m=K, epsilon=epsilon, Delta=DELTA, profile=gdp(mu / 10))

    rows = []
    for name, make in (
        ("one point (gamma_opt)", point),
        ("monotone", rising),
        ("free, under the monotone profile", like_rising),
        ("Gaussian profile", gaussian),
    ):
        low, high = 1.0, 6.0
        while high - low > 1e-3:
            middle = (low + high) / 2
            low, high = (middle, high) if total(make(middle)) <= budget else (low, middle)
        best = make(low)
        one = region(best.gamma, best.problem)
        rows.append(
            {
                "design": name,
                "parameter": low,
                "exact total": total(best),
                "envelope": envelope(one, queries, delta),
                "error": best.error,
                "disagreement": best.disagreement,
            }
        )
    return rows


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    chosen = [row for row in rows if row["data"] == "MNIST" and row["queries"] == 100]
    ax = new_figure((WIDTH, 4.0)).add_subplot()
    looks = [
        ("paper", LOOKS[6], "Theorem 2.3 (the paper)"),
        ("optimal", LOOKS[1], "optimal composition"),
        ("envelope", LOOKS[4], "envelope of the profile"),
        ("exact", LOOKS[0], "exact, fresh voters"),
        (FIXED_ALL, LOOKS[2], f"fixed voters, t = {K},\nany number of labels"),
        (FIXED_ONE, (LOOKS[2][0], "P", ":"), f"fixed voters, t = 1\n(the paper's), delta = {DELTA:g}"),
    ]
    for name, look, label in looks:
        curve(ax, [row["m"] for row in chosen], [row[name] for row in chosen], look, label)
    ax.set(xlabel="allowance m", ylabel="total epsilon of 100 labels, nats", yscale="log", xticks=[1, 3, 5, 7])
    ax.set_title("K = 11, epsilon = 0.0892, Delta = 1e-4 (Table 2's setting)", fontsize=TEXT)
    tidy(ax)
    name_lines(ax)
    save(ax.figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true", help="also put the tables and the picture into docs/")
    options = parser.parse_args()
    rows = totals("MNIST") + totals("Fashion-MNIST")
    made = bounds(designs(), ("exact total", "envelope"))
    printed = bounds(rows, ("delta", "optimal", "envelope", "exact", FIXED_ALL, FIXED_ONE), ("lower",))
    print(table(choose(printed)), bullets(findings(rows)), table(made), sep="\n\n")
    if options.docs:
        page = DOCS / "papers.md"
        put("totals", f"{table(choose(printed, FEW, queries=(100,)))}\n\n{whole('totals', printed)}", page)
        put("reading", bullets(findings(rows)), page)
        put("designs", table(made), page)
        draw(rows, DOCS / "composition.svg")


if __name__ == "__main__":
    main()

"""Composing single labels of fixed voters is wrong: a picture and its figures.

    python benchmarks/studies/fresh_or_fixed.py [--docs]

Takes: half a minute. --docs writes docs/fresh_or_fixed.md.

Left: three voters of epsilon = 2 and a release that is 2-DP on its own. What an adversary finds for Q labels of fixed
voters (fixed_voters.py) beside Q m epsilon, which does not hold, and the composition of the voters, which
does. Right: eleven fixed voters of epsilon = .1, one, three or all of which a record affects; what one would
charge per label, exactly composed (right for fresh voters only), and what any number of labels costs. Further figures:
the voters of the left picture with a little fresh noise, and a budget below what the voters cost (in howto/fixed.md).
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
import numpy as np
from fixed_voters import bound, release, search
from pages import DOCS, above, bullets, put, save

import darrm
from darrm.accounting import Total
from darrm.accounting.fixed import labels_allowance
from darrm.numerics.printed import at_most
from darrm.show.figures import LOOKS, TEXT, WIDTH, curve, ink, name_lines, new_figure, tidy

TRAP, QUERIES = {"K": 3, "m": 1, "epsilon": 2.0}, (1, 2, 3)
TOTAL_DELTA, MANY = 1e-5, (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def trap() -> list[dict[str, float]]:
    design = darrm.solve(**TRAP)
    return [
        {
            "labels": Q,
            "found": search(TRAP["K"], Q, design.gamma, TRAP["epsilon"], restarts=200).loss,
            "per query": Q * design.problem.release_epsilon,
            "voters": bound(TRAP["epsilon"], 0.0, TRAP["K"], 0.0),
        }
        for Q in QUERIES
    ]


def chances(flip: float) -> tuple[float, float]:
    """Probability of two labels (1, 1) on both data sets, if each answer is also flipped with probability ``flip``."""
    K, epsilon = TRAP["K"], TRAP["epsilon"]
    table = release(K, 2, darrm.solve(**TRAP).gamma)[-1]
    noise = np.array(
        [
            [(1 - flip) ** (2 - n) * flip**n for n in row]
            for row in [[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]]
        ]
    )
    hi, sides = 1 / (1 + math.exp(-epsilon)), []
    for sure in (hi, 1 - hi):
        total = table
        for meant in (2, 3, 1):  # the answer pairs (1, 0), (1, 1), (0, 1), each against (0, 0)
            total = (sure * noise[meant] + (1 - sure) * noise[0]) @ total
        sides.append(float(total))
    return sides[0], sides[1]


def flipped(flip: float) -> float:
    """Privacy loss of these labels."""
    on, off = chances(flip)
    return math.log(on / off)


def below(K: int = 11, gamma: float = 0.2) -> Total:
    """Total of two labels of fixed voters of epsilon = 1, all of which one record affects, with constant noise."""
    problem = darrm.MajorityProblem(K, K, 1.0)
    design = darrm.Design(problem, np.full(K + 1, gamma), darrm.priors.common())
    return darrm.accounting.compose(design, 2, delta=0.0, voters="fixed")


def many() -> tuple[list[Total], dict[int, float]]:
    design = darrm.solve(K=11, m=3, epsilon=0.1)
    fresh = [darrm.accounting.compose(design, Q, delta=TOTAL_DELTA, voters="fresh") for Q in MANY]
    voters = {t: darrm.accounting.optimal(0.1, 0.0, t, TOTAL_DELTA).epsilon for t in (1, 3, 11)}
    return fresh, voters


def draw(rows: list[dict[str, float]], fresh: list[Total], voters: dict[int, float]) -> Any:
    figure = new_figure((WIDTH, 3.7))
    left, right = figure.subplots(1, 2)
    labels = [row["labels"] for row in rows]
    for key, said, look, place in (
        ("voters", "composing the voters: holds", LOOKS[2], (1.0, 6.25)),
        ("per query", "adding up single labels: wrong", LOOKS[1], (1.35, 1.3)),
        ("found", f"found by an adversary:\n{rows[1]['found']:.2f} for two labels", LOOKS[0], (1.05, 4.5)),
    ):
        curve(left, labels, [row[key] for row in rows], look)
        left.text(*place, said, color=ink(look[0]), fontsize=TEXT)
    left.set(xlabel="labels of fixed voters", ylabel="total epsilon, nats", xticks=labels, ylim=(0, 7.5))
    left.set_title("K = 3, epsilon = 2, m = 1", fontsize=TEXT)
    curve(right, MANY, [total.upper for total in fresh], LOOKS[0], "fresh voters,\ncomposed exactly")
    for (t, total), line in zip(voters.items(), ("-", "--", ":"), strict=True):
        name = f"fixed voters,\na record affects {t}"
        curve(right, MANY, [total] * len(MANY), LOOKS[2], name, marker="", linestyle=line)
    right.set(xlabel="labels", xscale="log", yscale="log")
    right.set_title("K = 11, epsilon = 0.1, m = 3", fontsize=TEXT)
    tidy(left, right)
    name_lines(right)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true")
    options = parser.parse_args()
    rows, (fresh, voters) = trap(), many()
    second, both, hundred = rows[1], below(), fresh[MANY.index(100)]
    one = darrm.MajorityProblem(11, 1, 2.0, max_affected=1)
    allowed = {e: found for e in (1.0, 1.8) if (found := labels_allowance(one, e, 0.0)) is not None}
    on, off = chances(0.0)
    lines = [
        f"Left: gamma(3) is {darrm.solve(**TRAP).gamma[3]:.8f}. The labels (1, 1) have probability {on:.4f} on one "
        f"data set and {off:.4f} on the other. The loss of two labels of fixed voters is {second['found']:.4f}; 2 m "
        f"epsilon is {second['per query']:g}; the composition of the voters, {second['voters']:g}, bounds any number "
        "of labels.",
        "Left, if each answer is also flipped with a small probability, so that voters draw fresh noise at every "
        f"query: the loss of two labels is {flipped(0.01):.4f} for .01 and {flipped(0.001):.4f} for .001.",
        f"Right: at a total delta of {TOTAL_DELTA:g}, 100 labels of fresh voters cost at most {above(hundred.upper)}, "
        f"and at least {at_most(hundred.lower, 5)}. Any number of labels of fixed voters costs "
        + ", ".join(f"{above(total)} if a record affects {t}" for t, total in voters.items())
        + ".",
    ]
    below_cost = [
        "K = 11, epsilon = 1, gamma = .2 everywhere, a record affects all voters, a total delta of 0: two labels cost "
        f"{above(both.upper, 4)} by Theorem 1, {above(2 * math.log(1.2 / 0.8), 4)} by their output noise alone, and "
        f"{both.bounds['the voters themselves']:g} by the voters alone.",
        "Voters of epsilon = 2, one of which a record affects: the output noise of all labels may have epsilon "
        + " and ".join(f"{math.floor(1000 * allowed[e].epsilon) / 1000:.3f} at a total of {e:g}" for e in allowed)
        + ".",
    ]
    print(*lines, *below_cost, sep="\n")
    if options.docs:
        save(draw(rows, fresh, voters), DOCS / "fresh_or_fixed.svg")
        put("fresh-or-fixed", bullets(lines), DOCS / "fresh_or_fixed.md")
        put("below-the-cost", bullets(below_cost), DOCS / "howto" / "fixed.md")


if __name__ == "__main__":
    main()

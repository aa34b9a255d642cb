"""The trap of composing over fixed voters, as a picture.

    python benchmarks/fresh_or_fixed.py [--docs]        half a minute

Left: three voters of epsilon = 2 and a release that is 2-DP on its own. What an adversary finds for Q labels of fixed
voters (benchmarks/fixed_voters.py) beside Q m epsilon, which does not hold, and the composition of the voters, which
does. Right: eleven fixed voters of epsilon = .1, one, three or all of which a record reaches; what one would
charge per label, exactly composed (right for fresh voters only), and what any number of labels costs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "paper"))
from fixed_voters import bound, search
from pages import DOCS, bullets, put, save

import darrm
from darrm.figures import LOOKS

TRAP, QUERIES = {"K": 3, "m": 1, "epsilon": 2.0}, (1, 2, 3)
TOTAL_DELTA, MANY = 1e-5, (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def trap() -> list[dict[str, float]]:
    design = darrm.solve(**TRAP)
    return [
        {
            "labels": Q,
            "found": search(TRAP["K"], Q, design.gamma, TRAP["epsilon"], restarts=200).loss,
            "per query": Q * design.problem.total_epsilon,
            "voters": bound(TRAP["epsilon"], 0.0, TRAP["K"], 0.0),
        }
        for Q in QUERIES
    ]


def many() -> tuple[list[float], dict[int, float]]:
    design = darrm.solve(K=11, m=3, epsilon=0.1)
    fresh = [darrm.accounting.compose(design, Q, delta=TOTAL_DELTA, voters="fresh").upper for Q in MANY]
    voters = {t: darrm.accounting.optimal(0.1, 0.0, t, TOTAL_DELTA).epsilon for t in (1, 3, 11)}
    return fresh, voters


def draw(rows: list[dict[str, float]], fresh: list[float], voters: dict[int, float]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    labels = [row["labels"] for row in rows]
    for key, name, look in (
        ("per query", "adding up single labels: wrong", 1),
        ("voters", "composing the voters: holds", 2),
        ("found", "found by an adversary", 0),
    ):
        colour, marker, line = LOOKS[look]
        left.plot(labels, [row[key] for row in rows], color=colour, marker=marker, linestyle=line, label=name)
    left.set(xlabel="labels of fixed voters, Q", ylabel="total epsilon, nats", xticks=labels, ylim=(0, 8))
    left.annotate(
        f"{rows[1]['found']:.2f} > {rows[1]['per query']:g}",
        (2, rows[1]["found"]),
        (1.35, 4.6),
        arrowprops={"arrowstyle": "-"},
        fontsize=9,
    )
    left.set_title("K = 3, epsilon = 2, m = 1: two labels lose more than 2 m epsilon", fontsize=9)
    colour, marker, line = LOOKS[1]
    right.plot(
        MANY, fresh, color=colour, marker=marker, linestyle=line, label="per label, exactly composed: fresh voters only"
    )
    for at, (t, total) in enumerate(voters.items()):
        colour, marker, line = LOOKS[(2, 0, 3)[at]]
        name = f"fixed voters, a record reaches {t}: any number of labels"
        right.plot(MANY, [total] * len(MANY), color=colour, linestyle=line, label=name)
    right.set(xlabel="labels, Q", ylabel="total epsilon, nats", xscale="log", yscale="log")
    right.set_title("K = 11, epsilon = 0.1, m = 3", fontsize=9)
    for ax in (left, right):
        ax.grid(alpha=0.25)
    left.legend(fontsize=8, loc="upper left", frameon=False)
    right.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.18), frameon=False)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true")
    options = parser.parse_args()
    rows, (fresh, voters) = trap(), many()
    second = rows[1]
    lines = [
        f"Left: two labels of fixed voters lose {second['found']:.4f}; 2 m epsilon is {second['per query']:g}; "
        f"the voters themselves, {second['voters']:g}, bound any number of labels.",
        f"Right: at a total delta of {TOTAL_DELTA:g}, 100 labels of fresh voters cost {fresh[MANY.index(100)]:.3f}; "
        "any number of labels of fixed voters costs "
        + ", ".join(f"{total:.3f} if a record reaches {t}" for t, total in voters.items())
        + ".",
    ]
    print(*lines, sep="\n")
    if options.docs:
        save(draw(rows, fresh, voters), DOCS / "fresh_or_fixed.svg")
        put("fresh-or-fixed", bullets(lines), DOCS / "fresh_or_fixed.md")


if __name__ == "__main__":
    main()

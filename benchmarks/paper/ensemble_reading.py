"""What the tables of the experiment on private ensembles say: sentences of which every number is counted from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from ensemble_data import Array

Row = dict[str, Any]
Budgets = dict[str, dict[float, dict[str, Array]]]
CLOSE = 0.005  # accuracies nearer than this are called equal


def findings(
    tests: Sequence[Row],
    allowances: Sequence[Row],
    totals: Sequence[Row],
    accuracy: Budgets,
    fresh: Sequence[Row],
    sizes: Sequence[Row],
) -> list[str]:
    return [
        *_tests(tests),
        _winners(allowances),
        _no_noise(allowances),
        _totals(totals),
        *_budgets(accuracy),
        _fresh(fresh),
        *_sizes(sizes),
    ]


def _names(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row["data"] for row in rows))


def _tests(rows: Sequence[Row]) -> list[str]:
    said = []
    for name in _names(rows):
        parts = []
        for other in ("GNMax", "GNMax, exact sigma", "subsampling"):
            found = [row[f"_{other}"] for row in rows if row["data"] == name]
            better = sum(d > 0 and t < 0.05 for d, t, _ in found), sum(d > 0 and w < 0.05 for d, _, w in found)
            worse = sum(d < 0 and t < 0.05 for d, t, _ in found), sum(d < 0 and w < 0.05 for d, _, w in found)
            parts.append(f"better than {other} in {better[0]} ({better[1]}), worse in {worse[0]} ({worse[1]})")
        count = sum(row["data"] == name for row in rows)
        said.append(
            f"{name}, the paper's way: of {count} cells gamma_opt is, at p < .05 by the t-test (by Wilcoxon's), "
            f"{'; '.join(parts)}."
        )
    return said


def _winners(rows: Sequence[Row]) -> str:
    ways = ("GNMax", "GNMax, exact sigma", "subsampling", "gamma_opt")
    best = [(row, max(row[way] for way in ways)) for row in rows]
    wins = [f"{r['data']} (epsilon {r['epsilon']:g}, m {r['m']})" for r, top in best if r["gamma_opt"] >= top - 1e-12]
    loses = sum(row["GNMax"] > row["gamma_opt"] + CLOSE for row in rows)
    exact = sum(row["GNMax, exact sigma"] > row["gamma_opt"] + CLOSE for row in rows)
    above = sum(row["gamma_opt"] > row["subsampling"] + CLOSE for row in rows)
    return (
        f"At equal cost of one label, averaged over splits, gamma_opt is the best or ties with the best of the four in "
        f"{len(wins)} of {len(rows)} rows: {'; '.join(wins) or 'none'}. It is more than {CLOSE} below GNMax in "
        f"{loses}, below GNMax with the exact sigma in {exact}, and more than {CLOSE} above subsampling in {above}."
    )


def _no_noise(rows: Sequence[Row]) -> str:
    useful = [row for row in rows if row["fixed, no noise"] > 0.52]
    differences = [row["fixed, no noise"] - row["gamma_opt"] for row in useful]
    other = [f"{row['data']}, epsilon {row['epsilon']:g}" for row in rows if row not in useful]
    return (
        f"The plain majority of the same teachers, (epsilon, Delta) in all, is right more often than gamma_opt by "
        f"{min(differences):.3f} to {max(differences):.3f} in the {len(useful)} rows in which it is right in more than "
        f"52 %. (Not so: {', '.join(dict.fromkeys(other)) or 'none'}, where teachers learn nothing.)"
    )


def _totals(rows: Sequence[Row]) -> str:
    ratios = [row["Theorem 2.3"] / row["fixed, t = 1"] for row in rows]
    exact = [row["Theorem 2.3"] / row["exact, fresh voters"] for row in rows]
    return (
        f"The totals of Theorem 2.3 are {min(ratios):.0f} to {max(ratios):.0f} times what the fixed teachers of "
        f"disjoint shards cost, and {min(exact):.2f} to {max(exact):.1f} times the exact total of fresh voters."
    )


def _first(by_total: dict[float, dict[str, Array]], method: str, other: str) -> str:
    """The totals at which one method is ahead of another."""
    ahead = [f"{total:g}" for total, one in by_total.items() if one[method].mean() > one[other].mean() + CLOSE]
    return f"at {', '.join(ahead)}" if ahead else "at none"


def _budgets(accuracy: Budgets) -> list[str]:
    said = []
    for name, by_total in accuracy.items():
        gnmax = "; ".join(
            f"GNMax for {q} labels is ahead of them {_first(by_total, f'GNMax, Q = {q}', 'fixed, t = 1')}"
            for q in (20, 100)
        )
        fresh = "; ".join(
            f"fresh voters (t = 3, DaRRM) for {q} labels {_first(by_total, f'fresh, t = 3, Q = {q}', 'fixed, t = 1')}"
            for q in (20, 100)
        )
        said.append(
            f"{name}, equal totals ({', '.join(f'{total:g}' for total in by_total)}), by more than {CLOSE}: one DP "
            f"model is ahead of fixed voters with t = 1 {_first(by_total, 'one DP model', 'fixed, t = 1')}, they of it "
            f"{_first(by_total, 'fixed, t = 1', 'one DP model')}; t = 3 is ahead of t = 1 "
            f"{_first(by_total, 'fixed, t = 3', 'fixed, t = 1')}, t = 11 "
            f"{_first(by_total, 'fixed, t = 11', 'fixed, t = 1')}; {gnmax}; {fresh}."
        )
    return said


def _fresh(rows: Sequence[Row]) -> str:
    shared = [row for row in rows if row["t"] > 1]
    gains = [row["DaRRM"] - row["less epsilon an answer"] for row in shared]
    behind = [row["fixed voters"] - row["DaRRM"] for row in rows]
    most = shared[int(np.argmax(gains))]
    return (
        f"Fresh voters, {rows[0]['data']}, equal totals: with t = 1 no noise is due at the majority, so DaRRM changes "
        f"nothing. With t > 1 it is right more often than answers that carry all the noise in "
        f"{sum(gain > 0 for gain in gains)} of {len(gains)} rows, by {min(gains):.3f} to {max(gains):.3f} (most at "
        f"t = {most['t']}, Q = {most['Q']}, total epsilon {most['total epsilon']:g}). Fixed voters with the same t and "
        f"total are ahead of it by {min(behind):.3f} to {max(behind):.3f}."
    )


def _sizes(rows: Sequence[Row]) -> list[str]:
    ways = [key for key in rows[0] if key.startswith(("fixed", "GNMax", "fresh"))]
    said = []
    for total in dict.fromkeys(row["total epsilon"] for row in rows):
        chosen = [row for row in rows if row["total epsilon"] == total]
        best = ", ".join(f"{way}: {max(chosen, key=lambda row: row[way])['K']}" for way in ways)
        said.append(f"The best of K = {', '.join(str(row['K']) for row in chosen)} at total epsilon {total:g}: {best}.")
    return said

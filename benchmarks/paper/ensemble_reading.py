"""What the tables of the experiment on private ensembles say: sentences of which every number is counted from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import ensemble_methods as methods
import numpy as np
from ensemble_data import Array
from ensemble_methods import COUNTS, LABEL, LABEL_ALL, OPTIMAL_ALL, PLAIN, SUBSAMPLING_ALL
from pages import table

Row = dict[str, Any]
Budgets = dict[str, dict[float, dict[str, Array]]]
CLOSE = 0.005  # accuracies nearer than this are called equal


def findings(
    charged: Sequence[Row],
    equal: Sequence[Row],
    allowances: Sequence[Row],
    totals: Sequence[Row],
    accuracy: Budgets,
    curve: Sequence[Row],
    sizes: Sequence[Row],
) -> list[str]:
    return [
        _tests(charged, "as the paper charges it: gamma_opt with t = 11, GNMax with t = 1", OPTIMAL_ALL),
        _tests(equal, "t = 1 for both", PLAIN),
        _tests(equal, "t = 11 for both", OPTIMAL_ALL),
        _as_charged(allowances),
        _equal_t(allowances),
        _one_label(),
        _totals(totals),
        _budgets(accuracy),
        _aggregator(accuracy),
        _several(accuracy),
        _tie(accuracy),
        _fresh(curve),
        *_sizes(sizes),
    ]


def _names(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row["data"] for row in rows))


def _below_text(rows: Sequence[Row]) -> str:
    """A table as a part of an item of a list."""
    return "\n\n" + "\n".join(f"  {line}" for line in table(rows).splitlines())


def _tests(rows: Sequence[Row], charge: str, way: str) -> str:
    """How often one way is better and worse than each other one that it was compared with."""
    start = f"_{way} less "
    lines = []
    for other in (key.removeprefix(start) for key in rows[0] if key.startswith(start)):
        line = {"than": other}
        for name in _names(rows):
            found = [row[start + other] for row in rows if row["data"] == name]
            better = sum(d > 0 and t < 0.05 for d, t, _ in found), sum(d > 0 and w < 0.05 for d, _, w in found)
            worse = sum(d < 0 and t < 0.05 for d, t, _ in found), sum(d < 0 and w < 0.05 for d, _, w in found)
            line[name] = f"{better[0]} ({better[1]}) to {worse[0]} ({worse[1]}) of {len(found)}"
        lines.append(line)
    return (
        f"One label, {charge}. Cells in which {way} is better to cells in which it is worse, at p < .05 by the t-test "
        f"(by Wilcoxon's):{_below_text(lines)}"
    )


def _below(rows: Sequence[Row], way: str, other: str) -> int:
    return sum(row[other] > row[way] + CLOSE for row in rows)


def _as_charged(rows: Sequence[Row]) -> str:
    others = ("GNMax", COUNTS, SUBSAMPLING_ALL)
    best = [row for row in rows if row[OPTIMAL_ALL] >= max(row[one] for one in others) - 1e-12]
    wins = [f"{row['data']} (epsilon {row['epsilon']:g}, m {row['m']})" for row in best]
    return (
        "One label at equal (m epsilon, m Delta), averaged over splits. On the same shards gamma_opt is charged with "
        f"t = 11 and GNMax with t = 1. In {len(wins)} of {len(rows)} rows gamma_opt is the best, or ties with the best "
        f"of GNMax, GNMax exact for the counts and subsampling. These rows are: {'; '.join(wins) or 'none'}. The "
        f"optimum is more than {CLOSE} below GNMax in {_below(rows, OPTIMAL_ALL, 'GNMax')} rows, below GNMax exact for "
        f"the counts in {_below(rows, OPTIMAL_ALL, COUNTS)}, below GNMax exact for the label in "
        f"{_below(rows, OPTIMAL_ALL, LABEL)}. It is more than {CLOSE} above subsampling (t = 11) in "
        f"{_below(rows, SUBSAMPLING_ALL, OPTIMAL_ALL)} rows."
    )


def _equal_t(rows: Sequence[Row]) -> str:
    parts = []
    for t, way, other in ((1, PLAIN, LABEL), (11, OPTIMAL_ALL, LABEL_ALL)):
        ahead = [f"{row['data']} {row['epsilon']:g}" for row in rows if row[way] > row[other] + CLOSE]
        counted = ", ".join(f"{one} ({ahead.count(one)})" for one in dict.fromkeys(ahead))
        parts.append(
            f"With t = {t}, {way} is more than {CLOSE} ahead of GNMax exact for the label in {len(ahead)} of "
            f"{len(rows)} rows, and behind in {_below(rows, way, other)}. It is ahead, by data and epsilon, at: "
            f"{counted or 'none'}."
        )
    return (
        f"The same rows with t equal for both. {' '.join(parts)} The cost of t = 1 over all labels differs: the plain "
        "majority of the private teachers is (epsilon, Delta)-DP for any number of labels, GNMax pays for each."
    )


def _one_label() -> str:
    parts = []
    for right in (0.8, 0.85):
        ours, theirs = methods.one_pure_label(right, 11)
        parts.append(f"{ours:.3f} against {theirs:.3f} if a voter is right with probability {right:g}")
    return (
        "One (1, 0)-DP label of 11 non-private voters, t = 1: DaRRM is right more often than GNMax exact for the "
        f"label: {', '.join(parts)}. (No sigma makes the noisy counts (1, 0)-DP.)"
    )


def _totals(rows: Sequence[Row]) -> str:
    ratios = [row["Theorem 2.3"] / row["fixed, t = 1"] for row in rows]
    exact = [row["Theorem 2.3"] / row["exact, fresh voters"] for row in rows]
    helped = sum(row["_with noise"] < 0.999 * row["fixed, t = 11"] for row in rows)
    return (
        f"The totals of Theorem 2.3 are {min(ratios):.0f} to {max(ratios):.0f} times what the fixed teachers of "
        f"disjoint shards by position cost. They are {min(exact):.2f} to {max(exact):.1f} times the exact total of "
        f"fresh voters. The output noise of these labels lowers the total of fixed teachers with t = 11 in {helped} of "
        f"{len(rows)} rows."
    )


def _first(by_total: dict[float, dict[str, Array]], method: str, other: str) -> str:
    """The totals at which one method is ahead of another."""
    ahead = [f"{total:g}" for total, one in by_total.items() if one[method].mean() > one[other].mean() + CLOSE]
    return ", ".join(ahead) or "none"


def _budgets(accuracy: Budgets) -> str:
    pairs = [("one DP model", "fixed, t = 1"), ("fixed, t = 1", "one DP model")]
    pairs += [(f"fixed, t = {t}", "fixed, t = 1") for t in (3, 11)]
    words = {f"{LABEL}, Q = {q}": f"GNMax (exact for the label), {q} labels" for q in (20, 100)}
    words |= {
        f"t = {t}, Q = {q}, {most}": f"DaRRM (fresh, t = {t}, {said_of(most)}), {q} labels"
        for t, q, most in ((1, 20, CAPPED), (1, 100, CAPPED), (1, 20, "any"), (3, 20, CAPPED))
    }
    pairs += [(column, "fixed, t = 1") for column in words]
    lines = [
        {"ahead": words.get(method, method), "of": other}
        | {name: _first(by_total, method, other) for name, by_total in accuracy.items()}
        for method, other in pairs
    ]
    totals = dict.fromkeys(total for by_total in accuracy.values() for total in by_total)
    return (
        f"Equal totals of {', '.join(f'{total:g}' for total in totals)}. The table has the totals at which a method is "
        f"ahead of another by more than {CLOSE}. Fixed voters are *fixed*.{_below_text(lines)}"
    )


CAPPED = f"at most {methods.CAP:g}"


def said_of(most: str) -> str:
    return "any epsilon of an answer" if most == "any" else f"answers of {most}"


def _aggregator(accuracy: Budgets) -> str:
    """What the noise at the majority brings fresh voters with t = 1, and what it costs."""
    parts = []
    for q in (20, 100):
        gains = [
            float(one[f"t = 1, Q = {q}, {CAPPED}"].mean() - one[f"t = 1, Q = {q}, no DaRRM"].mean())
            for by_total in accuracy.values()
            for one in by_total.values()
        ]
        parts.append(
            f"For Q = {q} the gain is {min(gains):.3f} to {max(gains):.3f}. Together the raw answers, which "
            f"the aggregator sees, have an epsilon of up to {methods.collected(methods.CAP, 1, q):.0f} instead of "
            "the total of the labels."
        )
    return (
        f"Fresh voters, t = 1, over all data and totals of the labels. DaRRM with answers of {CAPPED} is right more "
        f"often than answers that carry all the noise. {' '.join(parts)}"
    )


def _several(accuracy: Budgets) -> str:
    """The same where a record reaches several voters, and what a larger epsilon of the answers brings there."""
    lines: list[Row] = []
    for t, q in ((3, 20), (3, 100), (11, 20)):
        columns = [
            np.array(
                [one[f"t = {t}, Q = {q}, {said}"].mean() for by_total in accuracy.values() for one in by_total.values()]
            )
            for said in ("no DaRRM", CAPPED, "any")
        ]
        gains, more = columns[1] - columns[0], columns[2] - columns[1]
        lines.append(
            {
                "t": t,
                "Q": q,
                "gain": f"{gains.min():+.3f} to {gains.max():+.3f}",
                "by a larger epsilon": f"{more.min():+.3f} to {more.max():+.3f}",
                "raw answers, up to": f"{methods.collected(methods.CAP, t, q):.0f}",
            }
        )
    return (
        f"Fresh voters, t > 1, over all data and totals of the labels. The gain is DaRRM with answers of {CAPPED} less "
        "answers that carry all the noise. Beside it is how a larger epsilon, as chosen by public numbers, changes the "
        f"gain.{_below_text(lines)}"
    )


def _tie(accuracy: Budgets) -> str:
    """DaRRM beside its best rival, where neither relies on private votes."""
    parts = []
    for most in (CAPPED, "any"):
        gaps = [
            float((one[f"t = 1, Q = {q}, {most}"] - one[f"{LABEL}, Q = {q}"]).mean())
            for by_total in accuracy.values()
            for one in by_total.values()
            for q in (20, 100)
        ]
        parts.append(f"With {said_of(most)} the difference is {min(gaps):+.3f} to {max(gaps):+.3f}.")
    return (
        "DaRRM with fresh voters, t = 1, less GNMax exact for the label, at equal totals of the labels, over all data. "
        f"{' '.join(parts)} GNMax gives the raw votes to its curator without any noise."
    )


def _fresh(rows: Sequence[Row]) -> str:
    steps = [key for key in rows[0]["_right"] if key.startswith("answers")]
    lines: list[Row] = []
    for t in dict.fromkeys(row["t"] for row in rows):
        found = [row["_right"] for row in rows if row["t"] == t]
        best = [max(right[step] for step in steps) - right["no DaRRM"] for right in found]
        behind = [right["fixed voters"] - max(right[step] for step in steps) for right in found]
        lines.append(
            {
                "t": t,
                "best of them": f"{min(best):+.3f} to {max(best):+.3f}",
                "fixed voters": f"{min(behind):+.3f} to {max(behind):+.3f}",
            }
        )
    return (
        f"Fresh voters, {rows[0]['data']}, DaRRM with {', '.join(steps)}, at total epsilons of the labels of "
        f"{' and '.join(f'{one:g}' for one in dict.fromkeys(row['total epsilon of the labels'] for row in rows))}. "
        "The table has how far the best of them is above answers that carry all the noise. It also has how far fixed "
        f"voters with the same t and total are above the best of them.{_below_text(lines)}"
    )


def _sizes(rows: Sequence[Row]) -> list[str]:
    ways = [key for key in rows[0] if key.startswith(("fixed", "GNMax", "fresh"))]
    said = []
    for total in dict.fromkeys(row["total epsilon"] for row in rows):
        chosen = [row for row in rows if row["total epsilon"] == total]
        best = ", ".join(f"{way}: {max(chosen, key=lambda row: row[way])['K']}" for way in ways)
        said.append(f"The best of K = {', '.join(str(row['K']) for row in chosen)} at total epsilon {total:g}: {best}.")
    return said

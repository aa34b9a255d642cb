"""Leakage of Laplace noisy max: Examples 14 and 17 of Saeidian, Cervia, Oechtering, Skoglund (IEEE TIFS 2021).

    python benchmarks/paper/leakage_examples.py [--docs]

Takes: seconds. --docs writes docs/papers.md.

For each vote vector printed there: the exact entrywise leakage (their equation 12, by quadrature), the bound log B1 for
all votes, the bound log B2 for the votes at hand, and gamma; beside the figures printed there. Then how often their
Theorem 10 fails, for Laplace and Gaussian noise, and all mechanisms of a binary majority by the same definition, in one
table.
"""

from __future__ import annotations

import argparse
import functools
import itertools
from collections import Counter
from typing import Any, NamedTuple

from pages import bullets, put, table

import darrm
from darrm import baselines, compare, priors
from darrm.accounting import gnmax_sigma_analytic
from darrm.measures import (
    entrywise_leakage,
    leakage_bound,
    leakage_data_bound,
    majority_leakage,
    noisy_max_probabilities,
    processed_leakage,
)
from darrm.priors import combine

GAMMA, CLASSES = 0.1, 4
# Known votes and what is printed of them: leakage, log B1, log B2.
PRINTED: list[tuple[str, tuple[int, ...], dict[str, str]]] = [
    ("14", (4, 3, 2, 1), {"leakage": "8.50e-02", "log B1": "8.61e-02"}),
    ("14", (5, 2, 2, 1), {"leakage": "8.40e-02"}),
    ("14", (5, 3, 1, 1), {"leakage": "8.37e-02"}),
    ("14", (5, 3, 2, 0), {"leakage": "8.35e-02"}),
    ("14", (3, 3, 2, 2), {"leakage": "8.58e-02"}),
    ("14", (3, 3, 3, 1), {}),
    ("17", (4, 3, 2, 1), {"log B1": "8.61e-02", "log B2": "6.81e-01"}),
    ("17", (90, 5, 5, 0), {"log B2": "1.05e-03"}),
]


def values(votes: tuple[int, ...]) -> dict[str, float]:
    return {
        "leakage": entrywise_leakage(votes, GAMMA),
        "log B1": leakage_bound(CLASSES, GAMMA),
        "log B2": leakage_data_bound(votes, GAMMA),
    }


def rows() -> list[dict[str, Any]]:
    lines = []
    for example, votes, printed in PRINTED:
        found = values(votes)
        line: dict[str, Any] = {"example": example, "known votes": votes}
        line |= {name: f"{value:.4e}" for name, value in found.items()}
        line |= {"gamma": f"{GAMMA:.1e}", "least": f"{min(*list(found.values())[1:], GAMMA):.4e}"}
        line["printed"] = ", ".join(f"{name} {value}" for name, value in printed.items()) or "-"
        lines.append(line)
    return lines


def one_table(K: int = 11, m: int = 3, epsilon: float = 0.1) -> list[dict[str, Any]]:
    """What one label tells about one vote, for each mechanism, all with the guarantee (m epsilon, 0) but noisy max.

    Noisy max is not made for private voters: its noise is set so that one vote costs m epsilon, as if teachers were not
    private (Laplace: gamma = m epsilon / 2; Gaussian: by the exact privacy of noisy counts, delta 1e-5).
    """
    problem = darrm.MajorityProblem(K=K, m=m, epsilon=epsilon)
    right: dict[str, Any] = {}
    for entry in compare(problem):
        if not entry.setting:  # noise at the counts follows, as noisy max has it
            right[entry.name] = entry.gamma
    noise = {
        "Laplace noisy max": {"gamma": m * epsilon / 2},
        "Gaussian noisy max": {"sigma": gnmax_sigma_analytic(m * epsilon, 1e-5)},
    }
    for name, kind in noise.items():
        counts = [(max(l, K - l), min(l, K - l)) for l in range(K + 1)]
        right[name] = baselines.from_accuracy([noisy_max_probabilities(pair, **kind)[0] for pair in counts])
    lines = []
    for name, gamma in right.items():
        leak = majority_leakage(gamma)
        disagreement = float(combine(priors.parse("uniform").ones(K), "disagreement") @ (1 - gamma[K // 2 + 1 :])) / 2
        lines.append(
            {
                "mechanism": name,
                "largest leakage, nats": float(leak.max()),
                "at known votes": " : ".join(map(str, (K - 1 - int(leak.argmax()), int(leak.argmax())))),
                "at 0 : 10": float(leak[K - 1]),
                "about a record behind one vote": processed_leakage([epsilon, float(leak.max())])
                if "noisy max" not in name
                else "-",
                "disagreement": disagreement,
            }
        )
    return lines


def against_theorem_10(total: int, gamma: float) -> tuple[int, int]:
    """Pairs of sorted votes of three classes, the first majorising the second; and those where the first leaks more."""
    votes = [v for v in itertools.product(range(total, -1, -1), repeat=3) if sum(v) == total and v[0] >= v[1] >= v[2]]
    leak = {v: entrywise_leakage(v, gamma) for v in votes}
    pairs = [
        (v, w)
        for v, w in itertools.permutations(votes, 2)
        if all(a >= b for a, b in zip(itertools.accumulate(v), itertools.accumulate(w), strict=True))
    ]
    return len(pairs), sum(leak[v] > leak[w] + 1e-9 for v, w in pairs)


class Moves(NamedTuple):
    """Single votes that move to a class with as many votes or more, and those of them that raise the leakage.

    Attributes
    ----------
    to_a_largest, rise_to_a_largest : int
        Moves to a class that no class is ahead of.
    to_others, rise_to_others : int
        All other moves.
    """

    to_a_largest: int
    rise_to_a_largest: int
    to_others: int
    rise_to_others: int


def single_moves(classes: int, most: int, scale: dict[str, float]) -> Moves:
    """All moves from known votes of at most ``most`` for a class, sorted; equal classes are told apart."""

    @functools.cache
    def leak(votes: tuple[int, ...]) -> float:
        return entrywise_leakage(votes, **scale)

    seen: Counter[tuple[bool, bool]] = Counter()
    for votes in itertools.combinations_with_replacement(range(most + 1), classes):
        for i, j in itertools.permutations(range(classes), 2):
            if votes[i] >= votes[j] > 0:
                moved = tuple(sorted(n + (k == i) - (k == j) for k, n in enumerate(votes)))
                seen[votes[i] == max(votes), leak(moved) > leak(votes) + 1e-9] += 1
    return Moves(
        seen[True, False] + seen[True, True],
        seen[True, True],
        seen[False, False] + seen[False, True],
        seen[False, True],
    )


def of_all_noise() -> list[dict[str, Any]]:
    """Theorem 10 for every noise: two pairs of votes, the first of each majorising the second, and all single moves."""
    lines = []
    for name, scale in (("Laplace", {"gamma": 1.0}), ("Gaussian", {"sigma": 1.0})):
        line: dict[str, Any] = {
            "noise": name,
            "scale": ", ".join(f"{key} = {value:g}" for key, value in scale.items()),
        }
        for votes in ((5, 5, 0), (5, 4, 1), (5, 3, 2)):
            line[str(votes)] = f"{entrywise_leakage(votes, **scale):.5f}"
        line["any three"] = f"{leakage_bound(3, **scale):.5f}"
        moves = single_moves(3, 7, scale)
        line["rises, to a largest"] = f"{moves.rise_to_a_largest} of {moves.to_a_largest}"
        line["rises, others"] = f"{moves.rise_to_others} of {moves.to_others}"
        lines.append(line)
    return lines


def theorem_10() -> str:
    """What the table leaves out."""
    first, second = (entrywise_leakage(votes, 1.0) for votes in ((5, 5, 0), (5, 4, 1)))
    pairs, against = against_theorem_10(10, 1.0)
    return (
        f"Theorem 10 (more consensus leaks less) fails: at gamma = 1 the votes (5, 5, 0) majorise (5, 4, 1) and leak "
        f"{first:.5f} against {second:.5f}. Ten votes for three classes have {pairs} pairs of which the first "
        f"majorises the second; in {against} of them the first leaks more. That equal counts leak most is true."
    )


def findings() -> list[str]:
    """Where a printed figure is not ours, rounded to its digits."""
    said = []
    for example, votes, printed in PRINTED:
        found = values(votes)
        for name, value in printed.items():
            if f"{found[name]:.2e}" != value:
                said.append(
                    f"Example {example}, votes {votes}: {name} is {found[name]:.6e}, rounded {found[name]:.2e}; "
                    f"{value} is printed"
                    + (" as an upper bound, and is below it." if found[name] > float(value) else ".")
                )
    agreed = sum(len(printed) for _, _, printed in PRINTED) - len(said)
    return [f"{agreed} printed figures are ours to their last digit.", *said]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true", help="also put the table into docs/")
    options = parser.parse_args()
    content = f"{table(rows())}\n\n{bullets([*findings(), theorem_10()])}"
    together, moves = table(one_table()), table(of_all_noise())
    print(content, moves, together, sep="\n\n")
    if options.docs:
        put("leakage", content)
        put("leakage-moves", moves)
        put("leakage-all", together)


if __name__ == "__main__":
    main()

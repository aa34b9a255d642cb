"""Leakage of Laplace noisy max: Examples 14 and 17 of Saeidian, Cervia, Oechtering, Skoglund (IEEE TIFS 2021).

    python benchmarks/paper/leakage_examples.py [--docs]     a second

For each vote vector printed there: the exact entrywise leakage (their equation 12, by quadrature), the bound log B1 for
all votes, the bound log B2 for the votes at hand, and gamma; beside the figures printed there.
"""

from __future__ import annotations

import argparse
from typing import Any

from pages import bullets, put, table

from darrm.measures import entrywise_leakage, laplace_leakage_bound, laplace_leakage_data_bound

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
        "log B1": laplace_leakage_bound(CLASSES, GAMMA),
        "log B2": laplace_leakage_data_bound(votes, GAMMA),
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
    content = f"{table(rows())}\n\n{bullets(findings())}"
    print(content)
    if options.docs:
        put("leakage", content)


if __name__ == "__main__":
    main()

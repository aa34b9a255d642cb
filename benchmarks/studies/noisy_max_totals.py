"""What many labels of noisy max cost together, beside Gaussian DP and Renyi DP, and the factor that is saved.

    python benchmarks/studies/noisy_max_totals.py [--docs] [--quick]

Takes: some five minutes, --quick half a minute. --docs writes docs/composition.md.

Teachers are non-private, and one vote is affected. delta is 1e-5 for all labels together. Seconds
are processor time of one core.
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scipy.optimize import brentq

from darrm.accounting import compose
from darrm.accounting.gaussian import gdp_delta, gdp_mu
from darrm.mechanisms import GaussianNoisyMax, LaplaceNoisyMax, PermuteAndFlip

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, put, table

PAGE = DOCS / "composition.md"
DELTA = 1e-5
QUICK = [(25, 2, 0.2, 100), (25, 3, 0.2, 100)]
GAUSSIAN = [*QUICK, (25, 5, 0.2, 100), (25, 10, 0.2, 100), (100, 3, 0.2, 100), (25, 2, 0.05, 1000), (25, 3, 0.05, 1000)]
GAUSSIAN += [(5, 3, 0.02, 10_000)]
PURE = [(25, 3, 0.3, 100), (25, 5, 0.3, 100)]


def epsilon_of_gdp(mu: float) -> float:
    """The epsilon of mu-Gaussian DP at DELTA."""
    return float(brentq(lambda epsilon: gdp_delta(epsilon, mu) - DELTA, 0, mu * mu / 2 + 10 * mu))


def gaussian(settings: list[tuple[int, int, float, int]]) -> Iterator[dict[str, Any]]:
    for K, classes, mu, queries in settings:
        start = time.process_time()
        total = compose(GaussianNoisyMax(math.sqrt(2) / mu, K=K, classes=classes), queries, delta=DELTA)
        took = time.process_time() - start
        own = total.bounds.get("own profile, any accountant")
        yield {
            "K": K,
            "classes": classes,
            "mu": mu,
            "labels": queries,
            "Renyi DP": f"{total.bounds['Renyi DP']:.3f}",
            "GDP": f"{epsilon_of_gdp(mu * math.sqrt(queries)):.3f}",
            "own profile": f"{own:.3f}" if own else "",
            "exact": f"{total.upper:.3f}",
            "achieved": f"{total.lower:.3f}",
            "factor": f"{gdp_mu(total.upper, DELTA) / (mu * math.sqrt(queries)):.4f}",
            "seconds": f"{took:.2g}",
        }


def pure(settings: list[tuple[int, int, float, int]]) -> Iterator[dict[str, Any]]:
    for K, classes, epsilon, queries in settings:
        votes = {"K": K, "classes": classes}
        for mechanism in (LaplaceNoisyMax(epsilon / 2, **votes), PermuteAndFlip(epsilon, **votes)):
            total = compose(mechanism, queries, delta=DELTA)
            yield {
                "mechanism": type(mechanism).__name__,
                "K": K,
                "classes": classes,
                "epsilon of a label": epsilon,
                "labels": queries,
                "optimal composition": f"{total.bounds['optimal composition']:.3f}",
                "own profile": f"{total.bounds['own profile, any accountant']:.3f}",
                "exact": f"{total.upper:.3f}",
                "achieved": f"{total.lower:.3f}",
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--quick", action="store_true", help="two settings")
    options = parser.parse_args()
    rows = [list(gaussian(QUICK if options.quick else GAUSSIAN)), list(pure(PURE[:1] if options.quick else PURE))]
    said = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}, delta {DELTA:g}."
    text = "\n\n".join([*map(table, rows), said])
    print(text)
    if options.docs:
        put("totals", text, PAGE)


if __name__ == "__main__":
    main()

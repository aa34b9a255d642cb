"""What many labels of noisy max cost together, beside Gaussian DP and Renyi DP, and the factor that is saved.

    python benchmarks/studies/noisy_max_totals.py [--docs] [--quick]

Takes: some five minutes, --quick half a minute. --docs writes docs/composition.md.

The least noise for a total goes into docs/howto/pate.md. Teachers are non-private, and one vote is affected. delta is
1e-5 for all labels together. Seconds are processor time of one core.
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

import numpy as np

from darrm.accounting import compose, noisy_max_parameter
from darrm.accounting.gaussian import gdp_mu
from darrm.mechanisms import ExponentialMechanism, GaussianNoisyMax, LaplaceNoisyMax, PermuteAndFlip
from darrm.numerics.printed import at_least

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, above, below, put, table

PAGE = DOCS / "composition.md"
DELTA = 1e-5
QUICK = [(25, 2, 0.2, 100), (25, 3, 0.2, 100)]
GAUSSIAN = [*QUICK, (25, 5, 0.2, 100), (25, 10, 0.2, 100), (100, 3, 0.2, 100), (25, 2, 0.05, 1000), (25, 3, 0.05, 1000)]
GAUSSIAN += [(5, 3, 0.02, 10_000)]
ANY = [(math.sqrt(50), 100, 1e-5), (40.0, 1000, 1e-5), (40.0, 10_000, 1e-5), (40.0, 286, 1e-5), (40.0, 524, 1e-5)]
ANY += [(40.0, 3098, 1e-6), (100.0, 10_762, 1e-8), (1000.0, 10**6, 1e-8), (1000.0, 10**7, 1e-8)]
RANGED = [(0.3, 100), (0.1, 100), (0.05, 1000), (0.02, 10_000)]
PURE = [(25, 3, 0.3, 100), (25, 5, 0.3, 100)]


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
            "Renyi DP": above(total.bounds["Renyi DP"]),
            "GDP": above(total.bounds["Gaussian DP"]),
            "own profile": above(own) if own else "",
            "exact": above(total.upper),
            "achieved": below(total.lower),
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
                "optimal composition of epsilon alone": above(total.bounds["optimal composition"]),
                "own profile": above(total.bounds["own profile, any accountant"]),
                "exact": above(total.upper),
                "achieved": below(total.lower),
            }


def any_votes(settings: list[tuple[float, int, float]]) -> Iterator[dict[str, Any]]:
    for sigma, queries, delta in settings:
        start = time.process_time()
        total = compose(GaussianNoisyMax(sigma), queries, delta=delta)
        yield {
            "sigma": f"{sigma:.4g}",
            "labels": queries,
            "delta": f"{delta:g}",
            "achieved": below(total.lower),
            "ladder": above(total.bounds["ladder of Gaussian profiles"]),
            "GDP": above(total.bounds["Gaussian DP"]),
            "Renyi DP": above(total.bounds["Renyi DP"]),
            "seconds": f"{time.process_time() - start:.2g}",
        }


def exponential(settings: list[tuple[float, int]]) -> Iterator[dict[str, Any]]:
    """The exponential mechanism for any votes."""
    for epsilon, queries in settings:
        total = compose(ExponentialMechanism(epsilon), queries, delta=DELTA)
        ranged = total.bounds.get("bounded range")
        yield {
            "epsilon of a label": epsilon,
            "labels": f"{queries:,}",
            "achieved": below(total.lower),
            "two losses": above(ranged) if ranged else "",
            "Renyi DP": above(total.bounds["Renyi DP"]),
            "optimal composition of epsilon alone": above(total.bounds["optimal composition"]),
        }


def least_noise(totals: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """The error rates are of teachers that are right with probability .6, over 200 vectors of votes."""
    counts = np.random.default_rng(0).multinomial(250, [0.6] + [0.4 / 9] * 9, size=200)
    for total in totals:
        for queries in (1, 100, 1000):
            sigma = at_least(noisy_max_parameter(GaussianNoisyMax, queries, total, DELTA), 4)
            wrong = 1 - float(GaussianNoisyMax(float(sigma), K=250, classes=10).chances(counts)[:, 0].mean())
            yield {
                "total epsilon": total,
                "labels": f"{queries:,}",
                "sigma": sigma,
                "label error rate": f"{abs(wrong):.3f}",
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--quick", action="store_true", help="two settings")
    options = parser.parse_args()
    rows = [list(gaussian(QUICK if options.quick else GAUSSIAN)), list(pure(PURE[:1] if options.quick else PURE))]
    every = table(list(any_votes(ANY[:2] if options.quick else ANY)))
    said = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}, delta {DELTA:g}."
    text = "\n\n".join([*map(table, rows), said])
    ranged = table(list(exponential(RANGED[:2] if options.quick else RANGED)))
    least = table(list(least_noise((4,) if options.quick else (2, 4, 8))))
    print(text, every, ranged, least, sep="\n\n")
    if options.docs:
        put("any votes", every, PAGE)
        put("totals", text, PAGE)
        put("bounded range", ranged, PAGE)
        put("least noise", least, DOCS / "howto" / "pate.md")


if __name__ == "__main__":
    main()

"""Confident-GNMax in Table 1 of "Scalable private learning with PATE" (ICLR 2018), and what its labels cost by darrm.

    python benchmarks/paper/pate_2018.py [--docs] [--quick]

Takes: three minutes, --quick a minute. --docs writes docs/howto/pate.md.

Queries, noise, thresholds and delta are those of the published scripts (generate_table.sh of
tensorflow/privacy, research/pate_2018). Answers and data-dependent totals are those of Table 1. All
other totals hold for any votes: with a cap on answers at the paper's number, which must be fixed in
advance, unless the column says "no cap".
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from darrm.accounting import compose
from darrm.mechanisms import ConfidentNoisyMax, GaussianNoisyMax

sys.path.insert(0, str(Path(__file__).resolve().parent))
from pages import DOCS, above, put, table

PAGE = DOCS / "howto" / "pate.md"


class Study(NamedTuple):
    """A line of Table 1; ``told`` is its total for its own votes. ``K`` is for two classes, and None for more."""

    queries: int
    answers: int
    threshold: float
    sigma_check: float
    sigma: float
    delta: float
    told: float
    K: int | None


STUDIES = {
    "MNIST": Study(640, 286, 200, 150, 40, 1e-5, 1.97, None),
    "Adult": Study(1500, 524, 300, 200, 40, 1e-5, 1.90, 250),
    "SVHN": Study(8500, 3098, 300, 200, 40, 1e-6, 4.96, None),
    "Glyph": Study(12_000, 10_762, 1000, 500, 100, 1e-8, 2.03, None),
}


def renyi(study: Study) -> float:
    """By Renyi DP as the paper converts it, min over orders a of a c + ln(1 / delta) / (a - 1), for any votes."""
    cost = study.answers / study.sigma**2 + study.queries / (2 * study.sigma_check**2)
    return cost + 2 * math.sqrt(cost * math.log(1 / study.delta))


def row(name: str) -> dict[str, Any]:
    study = STUDIES[name]
    start = time.process_time()
    noise = study.threshold, study.sigma_check, study.sigma
    total = compose(ConfidentNoisyMax(*noise, answers=study.answers), study.queries, delta=study.delta)
    labels = compose(GaussianNoisyMax(study.sigma), study.answers, delta=study.delta)
    free = compose(ConfidentNoisyMax(*noise), study.queries, delta=study.delta)
    exact = ""
    if study.K is not None:
        all_vote = ConfidentNoisyMax(*noise, K=study.K, classes=2)
        exact = above(compose(all_vote, study.queries, delta=study.delta).upper)
    return {
        "data": name,
        "queries / answers": f"{study.queries:,} / {study.answers:,}",
        "T, sigma_check, sigma": f"{study.threshold:g}, {study.sigma_check:g}, {study.sigma:g}",
        "delta": f"{study.delta:g}",
        "paper, for its votes": f"{study.told:.2f}",
        "Renyi DP, as the paper converts it": above(renyi(study)),
        "Renyi DP": above(total.bounds["Renyi DP"]),
        "Gaussian DP": above(total.bounds["Gaussian DP"]),
        "darrm": above(total.upper),
        "labels alone": above(labels.upper),
        "darrm, no cap": above(free.upper),
        "two classes, 250 teachers, no cap": exact,
        "seconds": f"{time.process_time() - start:.2g}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--quick", action="store_true", help="MNIST and SVHN")
    options = parser.parse_args()
    text = table([row(name) for name in (["MNIST", "SVHN"] if options.quick else STUDIES)])
    print(text)
    if options.docs:
        put("pate 2018", text, PAGE)


if __name__ == "__main__":
    main()

"""Four label mechanisms at one AUC of a learner on 10,000 examples, by one call, with its picture and time.

    python benchmarks/paper/label_equal.py [--docs]

Takes: half a minute. --docs writes docs/label_privacy.md.

The AUC is the mean of three releases' learners, `RandomizedResponseClassifier` or `BagClassifier`, on 10,000 other
examples. The learners end at a minimum (L-BFGS), so that little but the noise moves the AUC.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import darrm
from darrm import mechanisms
from darrm.show.plots_audit import plot_equal_utility

sys.path.insert(0, str(Path(__file__).resolve().parent))

import pages
from label_tasks import Task, bags_of, learn, release, scores, simulated

RELEASES = 3


def auc_of(task: Task, mechanism: Any, k: int) -> float:
    """Mean AUC of learners of a few releases, the same at every call."""
    bags = bags_of(len(task.y), k)
    released = [release(mechanism, task.y[bags], seed) for seed in range(RELEASES)]
    return float(np.mean([scores(task, learn(task, mechanism, bags, one, tol=1e-4))[0] for one in released]))


def at_one_auc(
    task: Task, k: int = 8, target: float = 0.85, tolerance: float = 1e-3, low: float = 0.05
) -> list[darrm.labels.EqualUtility]:
    """The four mechanisms at one AUC of a learner, by one call."""
    return darrm.labels.at_equal_utility(
        {
            "RR": (mechanisms.RandomizedResponse, low, 8),
            "LLP+Lap": (darrm.labels.LaplaceLabelProportions, low, 8),
            "LLP+Geom": (darrm.labels.GeometricLabelProportions, low, 8),
            "LLP": (lambda size: (darrm.labels.LabelProportions(), size), [8, 16, 32, 64, 128]),
        },
        task.eta[bags_of(len(task.y), k)],
        lambda mechanism, size: auc_of(task, mechanism, size),
        target,
        tolerance=tolerance,
    )


def equal_row(row: darrm.labels.EqualUtility) -> dict[str, Any]:
    return {
        "mechanism": row.name + ("" if row.matched else " *"),
        "parameter": row.parameter,
        "k": row.bag_size,
        "AUC": row.utility,
        "additive": row.additive_advantage,
        "98 %": row.multiplicative_98,
        "infinite": row.infinite_mass,
        "largest log-odds change": row.largest_log_odds_change,
        "leakage, mean": row.mean_leakage,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true", help="write the table and the picture into docs")
    docs = parser.parse_args().docs
    task = simulated(20_000)
    start = time.process_time()
    auc_of(task, darrm.labels.LabelProportions(), 8)
    one = time.process_time() - start
    start = time.process_time()
    rows = at_one_auc(task)
    seconds = time.process_time() - start
    pages.save(plot_equal_utility(rows)[0].figure, (pages.DOCS if docs else Path(".")) / "label_equal_utility.svg")
    table = pages.table([equal_row(row) for row in rows])
    took = (
        f"The call took {seconds:.0f} seconds of processor time, {seconds / one:.0f} times that of one AUC (LLP, "
        f"k = 8): {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}."
    )
    print(f"{table}\n\n{took}")
    if docs:
        pages.put("label-equal", f"{table}\n\n{took}", pages.DOCS / "label_privacy.md")


if __name__ == "__main__":
    main()

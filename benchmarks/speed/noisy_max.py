"""Time, memory and epsilon of totals of Gaussian noisy max, beside Renyi DP and dp-accounting's accountants.

    python benchmarks/speed/noisy_max.py [--docs]

Takes: a minute. --docs writes docs/howto/pate.md.

One vote is affected. The accountants of dp-accounting take the noisy counts for released, as they must: they know no
noisy max. Each row is a process of its own; seconds are its processor time without imports, MB the most that it held.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, above, put, table

TOTALS = [(40.0, 1000, 1e-5), (40.0, 10_000, 1e-5), (1000.0, 10**6, 1e-8)]


def darrm_total(sigma: float, labels: int, delta: float) -> Callable[[], float]:
    from darrm.accounting import compose
    from darrm.mechanisms import GaussianNoisyMax

    return lambda: compose(GaussianNoisyMax(sigma), labels, delta=delta).upper


def accountant(kind: str, sigma: float, labels: int, delta: float) -> Callable[[], float]:
    """The noisy counts are a Gaussian mechanism: one changed vote moves them by sqrt(2)."""
    import dp_accounting as dp
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    def epsilon() -> float:
        made = PLDAccountant() if kind == "pld" else RdpAccountant()
        made.compose(dp.GaussianDpEvent(sigma / math.sqrt(2)), labels)
        return float(made.get_epsilon(delta))

    return epsilon


def planned(labels: int) -> Callable[[], float]:
    import darrm

    asked: dict[str, Any] = {"classes": 10, "max_affected": 1, "total_epsilon": 4, "total_delta": 1e-5}
    return lambda: darrm.plan([darrm.VoterGroup(250, math.inf)], queries=labels, **asked).spent


def released(rows: int) -> Callable[[], float]:
    from darrm.mechanisms import GaussianNoisyMax

    counts = np.random.default_rng(0).multinomial(250, [0.1] * 10, size=rows)

    def draw() -> float:
        GaussianNoisyMax(40.0, K=250, classes=10).release(counts)
        return math.nan

    return draw


def of_many_classes(rows: int) -> Callable[[], float]:
    """Half of a hundred voters name one token of 50,257, the others any."""
    import darrm

    rng = np.random.default_rng(0)
    votes = rng.integers(0, 50_257, (rows, 100))
    votes[:, :50] = votes[:, :1]

    def draw() -> float:
        counts = darrm.votes.counts(votes, 50_257, sparse=True)
        darrm.mechanisms.GaussianNoisyMax(8.0, K=100, classes=50_257).release(counts)
        return math.nan

    return draw


TASKS: dict[str, Callable[..., Callable[[], float]]] = {
    "darrm": darrm_total,
    "dp-accounting, PLD of the counts": lambda *given: accountant("pld", *given),
    "dp-accounting, RDP of the counts": lambda *given: accountant("rdp", *given),
    "plan, 250 teachers, ten classes, total 4": planned,
    "release, 250 teachers, ten classes": released,
    "count and release, 100 voters, 50,257 classes": of_many_classes,
}


def run(name: str, given: list[float]) -> dict[str, Any]:
    """One task in a process of its own."""
    command = [sys.executable, __file__, "--task", json.dumps([name, given])]
    return dict(json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout))


def measured(name: str, given: list[Any]) -> dict[str, Any]:
    task, start = TASKS[name](*given), time.process_time()
    epsilon = task()
    used, most = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return {"epsilon": "" if math.isnan(epsilon) else above(epsilon), "seconds": f"{used:.2g}", "MB": f"{most:.0f}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print(json.dumps(measured(*json.loads(options.task))))
        return
    accountants = [name for name, task in TASKS.items() if task not in (planned, released, of_many_classes)]
    tasks: list[tuple[str, list[Any]]] = [(name, list(total)) for total in TOTALS for name in accountants]
    tasks += [("plan, 250 teachers, ten classes, total 4", [1000]), ("release, 250 teachers, ten classes", [10_000])]
    tasks += [("count and release, 100 voters, 50,257 classes", [10_000])]
    rows = []
    for name, given in tasks:
        sigma, labels, delta = given if len(given) == 3 else ("", given[0], "")
        about = {
            "sigma": f"{sigma:g}" if sigma else "",
            "labels": f"{labels:,}",
            "delta": f"{delta:g}" if delta else "",
        }
        rows.append({"": name, **about, **run(name, given)})
        print(rows[-1], flush=True)
    text = table(rows)
    print(text)
    if options.docs:
        put("speed of noisy max", text, DOCS / "howto" / "pate.md")


if __name__ == "__main__":
    main()

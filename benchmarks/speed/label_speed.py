"""How long the exact privacy of label mechanisms takes: posteriors and additive advantage, seconds.

    python benchmarks/speed/label_speed.py [--examples 1000000]

Takes: two minutes.

Labels are drawn with eta ~ Beta(2, 5), in bags of 8 and of 512. ``plain`` is the usual way, one distribution of the
other labels for every label, O(k^2) each: timed for a few labels and scaled to all of them. The last lines are a whole
audit row (`darrm.labels.audit`) of 10,000 labels in bags of 1000, with one thread and with two.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from darrm.labels import GeometricLabelProportions, LabelProportions, LaplaceLabelProportions, additive_advantage, audit

Array = NDArray[np.float64]


def seconds(task: Callable[[], object]) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def plain(eta: Array, total: int, labels: int) -> tuple[float, float]:
    """Posterior and individual advantage of some labels of one bag, from the distribution of all others."""
    posterior = gain = 0.0
    for i in range(labels):
        others = np.ones(1)
        for p in np.delete(eta, i):
            others = np.convolve(others, [1 - p, p])
        one, zero = np.append(0, eta[i] * others), np.append((1 - eta[i]) * others, 0)
        posterior += one[total] / (one[total] + zero[total])
        gain += np.maximum(one, zero).sum() - max(eta[i], 1 - eta[i])
    return posterior, gain


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=1_000_000)
    examples = parser.parse_args().examples
    rng = np.random.default_rng(1)
    print(f"{'k':>4} {'mechanism':<40} {'posterior':>10} {'advantage':>10}   seconds for {examples} labels")
    for k in (8, 512):
        eta = rng.beta(2, 5, (max(1, examples // k), k))
        labels = rng.random(eta.shape) < eta
        for mechanism in (LabelProportions(), GeometricLabelProportions(1.0), LaplaceLabelProportions(1.0)):
            output = mechanism.release(labels)
            after = seconds(lambda m=mechanism, o=output, e=eta: m.posterior(e, o))  # type: ignore[misc]
            advantage = seconds(lambda m=mechanism, e=eta: additive_advantage(m, e))  # type: ignore[misc]
            print(f"{k:>4} {mechanism!r:<40} {after:>10.2f} {advantage:>10.2f}")
        some = min(k, 20)
        both = seconds(lambda e=eta, y=labels, s=some: plain(e[0], int(y[0].sum()), s))  # type: ignore[misc]
        print(f"{k:>4} {'plain':<40} {both / some * eta.size:>21.0f}   both: LabelProportions, scaled from {some}")
    eta = rng.beta(2, 5, 10_000)
    for mechanism in (LabelProportions(), GeometricLabelProportions(1.0), LaplaceLabelProportions(1.0)):
        for jobs in (1, 2):
            row = seconds(lambda m=mechanism, j=jobs: audit({"row": m}, eta, bag_size=1000, jobs=j))  # type: ignore[misc]
            print(f"1000 {mechanism!r:<40} {row:>21.2f}   audit row of {eta.size} labels, jobs = {jobs}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()

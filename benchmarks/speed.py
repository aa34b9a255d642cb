"""Time darrm.solve by cuts beside the full list of constraints, in one run on one machine.

    python benchmarks/speed.py            up to K = 101, a minute or two
    python benchmarks/speed.py --large    this engine alone up to K = 1001, several minutes

Every figure is the median of ``--repeat`` solves in this process, certificate included; the ratio is what carries over
to other machines. ``error`` is the difference between the two engines' errors, ``gap`` the larger certified gap.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time

import darrm
from darrm.design.constraints import MAX_COEFFICIENTS, n_constraints

BOTH = [(5, 2, 1e-5), (11, 3, 1e-5), (15, 3, 1e-5), (11, 3, 0.0), (41, 5, 0.0), (101, 10, 0.0)]
ALONE = [(41, 5, 1e-5), (101, 10, 1e-5), (201, 14, 1e-5)]
LARGE = [(501, 20, 0.0), (501, 20, 1e-5), (1001, 30, 0.0), (1001, 30, 1e-5)]


def timed(problem: darrm.MajorityProblem, engine: str, repeat: int) -> tuple[float, darrm.Design]:
    """Median seconds of ``repeat`` solves, and the last design."""
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        design = darrm.solve(problem, prior="common", engine=engine)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), design


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; epsilon = 0.1, prior common"
    )
    print("|    K |  m | Delta | constraints | cuts, s | full list, s | ratio |   error |     gap |")
    print("| ---: | -: | ----: | ----------: | ------: | -----------: | ----: | ------: | ------: |")
    timed(darrm.MajorityProblem(5, 2, 0.1), "cuts", 1)  # loads the libraries
    for K, m, Delta in LARGE if options.large else BOTH + ALONE:
        problem = darrm.MajorityProblem(K, m, 0.1, Delta)
        fast, design = timed(problem, "cuts", 1 if K > 501 else options.repeat)
        row = f"| {K:4} | {m:2} | {Delta:5.0e} | {n_constraints(problem):11.3g} | {fast:7.3f} "
        if n_constraints(problem) * (K + 1) // 2 <= MAX_COEFFICIENTS:
            slow, listed = timed(problem, "highs", 1 if K > 41 else options.repeat)
            gap = max(design.gap, listed.gap)
            row += f"| {slow:12.3f} | {slow / fast:5.1f} | {abs(design.error - listed.error):7.0e} | {gap:7.0e} |"
        else:
            row += f"|            - |     - |       - | {design.gap:7.0e} |"
        print(row, flush=True)


if __name__ == "__main__":
    main()

"""Time and memory as voters, classes, groups and labels grow, each to where it ends, and by what.

    python benchmarks/speed/growth.py
    python benchmarks/speed/growth.py --docs
    python benchmarks/speed/growth.py --picture     only the picture, from the table in docs/

Takes: ten minutes. --docs writes docs/benchmarks.md.

One thing grows at a time; the rest stays small. Every size is done in a process of its own with one thread: seconds are
of its processor, libraries loaded, and memory is the most that the process held, libraries included. A line ends where
darrm refuses the next size, where that takes more than a minute, or at the largest number of labels there is.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, bullets, put, save, table

import darrm

PAGE = DOCS / "benchmarks.md"
LIMIT = 60  # processor seconds of one size
WORD = "stopped"
EPSILONS = (1.0, 0.25, 0.5, 0.75, 0.1, 0.35, 0.6, 0.9)


def voters(K: int) -> Callable[[], Any]:
    problem = darrm.MajorityProblem(K, m=max(1, round(math.sqrt(K) * 0.95)), epsilon=0.1, Delta=1e-5)
    return lambda: darrm.solve(problem, prior="common")


def classes(C: int) -> Callable[[], Any]:
    problem = darrm.DecisionProblem([darrm.VoterGroup(5, 0.5)], 1.0, classes=C)
    return lambda: darrm.solve(problem, objective=darrm.objectives.truth([0.6]))


def groups(G: int) -> Callable[[], Any]:
    own = [darrm.VoterGroup(2, epsilon) for epsilon in EPSILONS[:G]]
    problem = darrm.DecisionProblem(own, 1.5)
    return lambda: darrm.solve(problem, objective=darrm.objectives.truth([0.6] * G))


def labels(n: int) -> Callable[[], Any]:
    design = darrm.solve(K=11, m=3, epsilon=0.02, prior="common")
    return lambda: darrm.accounting.compose(design, n, delta=1e-6, voters="fresh")


class Axis(NamedTuple):
    """What grows: its name, what is done, in words, the action at a size, sizes, ticks."""

    name: str
    what: str
    make: Callable[[int], Callable[[], Any]]
    sizes: tuple[int, ...]
    ticks: tuple[int, ...]


AXES = (
    Axis(
        "voters K", "solve, epsilon .1, m near the root of K, Delta 1e-5", voters,
        (5, 11, 21, 41, 101, 201, 501, 1001, 2001, 3001, 3003), (5, 101, 3001),
    ),
    Axis("classes C", "solve, 5 voters of epsilon .5", classes, (2, 3, 4, 5, 6, 8, 10, 15, 22, 23), (2, 5, 15)),
    Axis("groups G", "solve, groups of 2 voters", groups, tuple(range(1, 9)), (1, 2, 4, 6)),
    Axis(
        "labels n", "compose labels of 11 voters, each label (.06, 0)-DP", labels,
        (1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000), (1, 1000, 1_000_000),
    ),
)  # fmt: skip


def here(axis: Axis, size: int) -> dict[str, Any]:
    """Seconds and memory of one size in this process, or why it is refused; ended by the system at the limit."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 1))
    axis.make(axis.sizes[0])()  # loads the libraries
    start = time.process_time()
    try:
        action = axis.make(size)
        start = time.process_time()
        action()
    except darrm.InputError as error:
        return {WORD: f"refused: {error}"}
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
    return {"seconds": time.process_time() - start, "MB": held}


def apart(axis: Axis, size: int) -> dict[str, Any]:
    """The same in a process of its own."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, __file__, "--case", axis.name, str(size)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **threads}, check=False)
    if done.returncode == -signal.SIGXCPU:
        return {WORD: f"takes more than {LIMIT} s"}
    if done.returncode:
        return {WORD: f"ended with status {done.returncode}, as where memory ends"}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def grown(axis: Axis) -> tuple[list[dict[str, Any]], str]:
    """The rows of an axis, and a line on where it ends."""
    rows: list[dict[str, Any]] = []
    for size in axis.sizes:
        found = apart(axis, size)
        print(axis.name, size, found, file=sys.stderr, flush=True)
        if WORD in found:
            return rows, f"{axis.name}: {size:,} {found[WORD]}"
        shown = {"seconds": f"{found['seconds']:.2g}", "peak, MB": f"{found['MB']:.0f}"}
        rows.append({"what grows": axis.name, "size": f"{size:,}", **shown})
    return rows, f"{axis.name}: nothing larger than {axis.sizes[-1]:,} was tried"


def draw(page: str, path: Path) -> None:
    """Seconds above, memory below, from the table of a page; all axes logarithmic."""
    from darrm.show.figures import LOOKS, TEXT, WIDTH, curve, new_figure, tidy

    cells = [[cell.strip() for cell in line[1:-1].split("|")] for line in page.splitlines() if line.startswith("|")]
    grid = new_figure((WIDTH, 4.2)).subplots(2, len(AXES), sharey="row", sharex="col")
    for column, axis in enumerate(AXES):
        rows = [[float(cell.replace(",", "")) for cell in row[1:]] for row in cells if row[0] == axis.name]
        sizes, *measured = zip(*rows, strict=True)
        for ax, values, look in zip(grid[:, column], measured, LOOKS, strict=False):
            curve(ax, sizes, values, look)
            ax.set(xscale="log", yscale="log")
            ax.set_xticks(axis.ticks, [f"{tick:.0e}" if tick > 9999 else str(tick) for tick in axis.ticks])
            ax.tick_params(axis="x", which="minor", labelbottom=False)
            tidy(ax)
        grid[0][column].set_title(axis.what.split(",")[0].split(" labels")[0], fontsize=TEXT)
        grid[1][column].set_xlabel(axis.name)
    grid[0][0].set_ylabel("seconds")
    grid[1][0].set_ylabel("peak memory, MB")
    save(grid[0][0].figure, path)


def show_picture() -> None:
    text = PAGE.read_text(encoding="utf-8")
    draw(text.split("<!-- growth -->")[1].split("<!-- /growth -->")[0], DOCS / "growth.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--picture", action="store_true")
    parser.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(here(next(axis for axis in AXES if axis.name == options.case[0]), int(options.case[1]))))
        return
    if options.picture:
        show_picture()
        return
    found, ends = zip(*map(grown, AXES), strict=True)
    shown = [row for rows in found for row in rows]
    done = [f"{axis.name}: {axis.what}." for axis in AXES]
    load = f"load {os.getloadavg()[1]:.0f} from other work"
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {load}."
    text = "\n\n".join([bullets(done), "Where each ends:", bullets(ends), table(shown), machine])
    print(text)
    if options.docs:
        put("growth", text, PAGE)
        show_picture()


if __name__ == "__main__":
    main()

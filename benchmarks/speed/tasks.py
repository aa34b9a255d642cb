"""Processor seconds of everyday tasks, before and after: solves, tables, plans, totals, reports, commands, imports.

    python benchmarks/speed/tasks.py
    python benchmarks/speed/tasks.py --before v1.0      compare with that revision
    python benchmarks/speed/tasks.py --docs

Takes: five minutes. --docs writes docs/benchmarks.md.

Every run is a process of its own with one thread; sources of before and after take turns, so that what else the
machine does falls on both, and the best of all runs of each counts. Seconds are of the processor, libraries loaded,
except for whole processes: those count all that Python does from its start on.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from speed import ROOT, Sources, markdown, processor, sources_of

BEFORE = "ef7427ca"  # before voters of a known randomizer, budgets of groups, and ledgers in databases
RUNS = 3
COMMAND = "from darrm.cli import main; main"
PLAN = {"base_accuracy": 0.9, "max_affected": 1, "queries": 100, "total_epsilon": 6, "total_delta": 1e-6}


class Task(NamedTuple):
    """A name, how often it is done in a process, and what loads its libraries and makes it; or a process's code."""

    name: str
    times: int
    make: Callable[[], Callable[[int], Any]] | str


def solves(K: int, m: float, Delta: float) -> Callable[[], Callable[[int], Any]]:
    """Solves of limits that grow by a thousandth of m, so that none is a repetition."""

    def make() -> Callable[[int], Any]:
        import darrm

        darrm.solve(K=5, m=1, epsilon=0.7, Delta=1e-4, prior="common")
        return lambda i: darrm.solve(darrm.MajorityProblem(K, m * (1 + i / 1000), 0.1, Delta), prior="common")

    return make


def tables(K: int, Delta: float) -> Callable[[], Callable[[int], Any]]:
    """A grid of 240 designs."""

    def make() -> Callable[[int], Any]:
        from darrm.tables import solve_grid

        epsilons = [round(0.05 + i / 100, 3) for i in range(60)]
        solve_grid([K], [1], [0.7], [Delta])
        return lambda i: solve_grid([K], [1 + i / 10, 1.5, 2, 2.5], epsilons, [Delta])

    return make


def plans(compare: bool) -> Callable[[], Callable[[int], Any]]:
    def make() -> Callable[[int], Any]:
        import darrm

        darrm.plan(K=5, epsilon=1, compare=compare, voters="fresh", **PLAN)
        return lambda i: darrm.plan(K=25, epsilon=1 + i / 100, compare=compare, voters="fresh", **PLAN)

    return make


def totals(queries: int) -> Callable[[], Callable[[int], Any]]:
    def make() -> Callable[[int], Any]:
        import darrm

        designs = [darrm.solve(K=11, m=3, epsilon=0.02 + i / 1000) for i in range(4)]
        darrm.accounting.compose(designs[3], 2, delta=1e-6, voters="fresh")
        return lambda i: darrm.accounting.compose(designs[i], queries, delta=1e-6, voters="fresh")

    return make


def comparisons() -> Callable[[int], Any]:
    import darrm

    darrm.compare(darrm.MajorityProblem(K=5, m=2, epsilon=0.1))
    return lambda i: darrm.compare(darrm.MajorityProblem(K=11, m=3 + i / 10, epsilon=0.1))


def reports() -> Callable[[int], Any]:
    import darrm
    from darrm.show.report import write

    folder = Path(tempfile.mkdtemp())
    designs = [darrm.solve(K=11, m=3 + i / 10, epsilon=0.1) for i in range(4)]
    write(folder / "report.html", designs[3])
    return lambda i: write(folder / "report.html", designs[i])


TASKS = (
    Task("solve, K = 5, Delta = 1e-5", 200, solves(5, 2, 1e-5)),
    Task("solve, K = 11, Delta = 1e-5", 100, solves(11, 3, 1e-5)),
    Task("solve, K = 101, Delta = 1e-5", 10, solves(101, 10, 1e-5)),
    Task("solve, K = 1001, Delta = 1e-5", 1, solves(1001, 30, 1e-5)),
    Task("solve, K = 5, Delta = 0", 200, solves(5, 2, 0.0)),
    Task("solve, K = 101, Delta = 0", 10, solves(101, 10, 0.0)),
    Task("solve, K = 1001, Delta = 0", 1, solves(1001, 30, 0.0)),
    Task("table of 240 designs, K = 5, Delta = 0", 1, tables(5, 0.0)),
    Task("table of 240 designs, K = 5, Delta = 1e-5", 1, tables(5, 1e-5)),
    Task("table of 240 designs, K = 21, Delta = 1e-5", 1, tables(21, 1e-5)),
    Task("plan, 25 clinics, 100 labels", 1, plans(False)),
    Task("the same with its comparison", 1, plans(True)),
    Task("compose 100 labels, K = 11", 2, totals(100)),
    Task("compose 1,000 labels, K = 11", 1, totals(1000)),
    Task("compare, K = 11", 2, comparisons),
    Task("report, K = 11", 1, reports),
    Task("process: import darrm", 1, "import darrm"),
    Task("process: darrm --help", 1, f"{COMMAND}(['--help'])"),
    Task(
        "process: darrm solve, K = 11",
        1,
        "from darrm.cli import main; main('solve --K 11 --m 3 --epsilon 0.1'.split())",
    ),
)


def seconds_here(task: Task) -> float:
    """Processor seconds of one action in this process, which does some of them."""
    action = task.make()  # type: ignore[operator]  # no text comes here
    start = time.process_time()
    for i in range(task.times):
        action(i)
    return (time.process_time() - start) / task.times


def seconds(task: Task, sources: Path) -> float:
    """The same with given sources, in a process of its own."""
    path = os.pathsep.join([str(sources), str(sources / "solvers")])
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "PYTHONPATH": path}
    if isinstance(task.make, str):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-P", "-c", task.make], check=True, stdout=subprocess.DEVNULL, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    command = [sys.executable, __file__, "--case", task.name]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return float(json.loads(done.stdout.splitlines()[-1]))


def row(task: Task, sources: Sources, runs: int) -> dict[str, str]:
    """A row of the table: the best of all runs."""
    best = dict.fromkeys(name for name, path in sources._asdict().items() if path is not None)
    for _ in range(runs):
        for name in best:
            took = seconds(task, getattr(sources, name))
            best[name] = min(took, math.inf if best[name] is None else best[name])
    print(task.name, best, file=sys.stderr, flush=True)
    before, after = best.get("before"), best["after"]
    shown = {"task": task.name, "before, ms": "" if before is None else f"{1e3 * before:.4g}"}
    return {
        **shown, "after, ms": f"{1e3 * after:.4g}", "before / after": "" if before is None else f"{before / after:.2f}"
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--before", default=BEFORE, metavar="REVISION")
    parser.add_argument("--only", default="", metavar="WORDS", help="the tasks whose names have these words")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(seconds_here(next(task for task in TASKS if task.name == options.case))))
        return
    with tempfile.TemporaryDirectory() as folder:
        sources = Sources(sources_of(options.before, Path(folder)), ROOT)
        rows = [row(task, sources, options.runs) for task in TASKS if options.only in task.name]
    about = f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}; best of {options.runs}."
    text = f"{about}\n\n{markdown(rows)}"
    print(text)
    if options.docs:
        sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
        from pages import DOCS, put

        put("tasks", text, DOCS / "benchmarks.md")


if __name__ == "__main__":
    main()

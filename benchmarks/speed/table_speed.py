"""Tables at scale: all K = 3..51, m = 1..K/2, five epsilons, three Deltas; processes, neighbours, kills, lookups.

    python benchmarks/speed/table_speed.py [--quick] [--docs]
    python benchmarks/speed/table_speed.py --kills [--docs]

Takes: a quarter of an hour, with --kills two minutes. --docs writes docs/howto/tables.md.

The grid is solved by two processes (CPU use and verification by a separate process with it), by one, and without the
constraints of neighbours; a table of 100,000 rows is looked up in. With --kills a third of the grid is killed up to
twenty times at random and resumed. --quick takes every eighth K.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
from pages import DOCS, bullets, put

from darrm.design.solve import Binding
from darrm.tables import Table, read, solve_grid
from darrm.tables.problems import Grid, grid


def whole(quick: bool) -> Grid:
    """m up to K/2 for each K."""
    tasks = []
    for K in range(3, 52, 8 if quick else 1):
        tasks += grid([K], range(1, K // 2 + 1), (0.05, 0.1, 0.2, 0.5, 1.0), (0.0, 1e-6, 1e-5)).tasks
    return Grid(tuple(tasks))


def content(table: Table) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in ("seconds", "made_with")} for row in table]


def cpu() -> float:
    """Seconds of this process and of its children that have ended."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def timed(todo: Grid, jobs: int) -> tuple[Table, float, float]:
    """The table, wall seconds and CPU use of the cores asked for."""
    from joblib.externals.loky import get_reusable_executor

    start, before = time.perf_counter(), cpu()
    table = solve_grid(todo, jobs=jobs)
    seconds = time.perf_counter() - start
    if jobs > 1:
        get_reusable_executor().shutdown(wait=True)  # so that its time is counted
    return table, seconds, (cpu() - before) / seconds / jobs


def cold(todo: Grid) -> float:
    """Seconds of one process without the constraints of neighbours."""
    from darrm import solve

    start = time.perf_counter()
    for task in todo.tasks:
        solve(task.problem, prior=task.prior, shape=task.shape, objective=task.objective, binding=Binding())
    return time.perf_counter() - start


def killed(todo: Grid, folder: Path, kills: int = 20) -> tuple[Table, int]:
    """The table of a run that is killed at random and begun again; how often that was."""
    problems = folder / "problems.csv"
    lines = [f"{t.problem.K},{t.problem.m!r},{t.problem.epsilon!r},{t.problem.Delta!r}" for t in todo.tasks]
    problems.write_text("\n".join(["K,m,epsilon,Delta", *lines, ""]), encoding="utf-8")
    out = folder / "killed.jsonl"
    arguments = ["table", "--problems", str(problems), "--out", str(out), "--jobs", "2"]
    command = [sys.executable, "-c", f"import sys; from darrm.cli import main; sys.exit(main({arguments}))"]
    chance, done = random.Random(1), 0
    while done < kills and not out.exists():
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(chance.uniform(1.0, 2.2))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        done += 1
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return read(out), done


def kill_line(todo: Grid, folder: Path) -> str:
    part = Grid(todo.tasks[::3])
    interrupted, kills = killed(part, folder)
    same = content(interrupted) == content(solve_grid(part, jobs=2))
    return (
        f"{kills} random kills of a run of {len(part.tasks)} designs on two processes, resumed after each kill. "
        f"The same table: {same}."
    )


LOOKUPS = """
import json, resource, sys, time
from darrm.tables import read
start = time.perf_counter()
table = read(sys.argv[1])
opened = time.perf_counter() - start
times = []
for row in table.rows[:: len(table) // 200]:
    start = time.perf_counter()
    try:
        table.lookup(row["K"], row["m"], row["epsilon"], row["Delta"], adjacency=row["adjacency"])
    except Exception as error:
        raise SystemExit(str(error))
    times.append(time.perf_counter() - start)
times.sort()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([len(table), opened, times[len(times) // 2], times[-1], memory]))
"""


def lookups(table: Table, folder: Path) -> list[float]:
    """Rows, seconds to open, median and slowest lookup, MiB: of 100,000 rows, in a process of its own.

    The rows are those of the table again and again, each time with another name of the adjacency.
    """
    rows = []
    small = [row for row in table if row["K"] <= 21] or list(table)
    while len(rows) < 100_000:
        name = f"adjacency {len(rows) // len(small)}"
        rows += [{**row, "adjacency": name} for row in small]
    path = folder / "many.parquet"
    from darrm.tables import files

    files.write(path, rows[:100_000])
    ended = subprocess.run([sys.executable, "-c", LOOKUPS, str(path)], capture_output=True, text=True, check=True)
    return list(json.loads(ended.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="every eighth K")
    parser.add_argument("--kills", action="store_true", help="the kills alone")
    parser.add_argument("--docs", action="store_true", help="also put the figures into docs/")
    options = parser.parse_args()
    todo = whole(options.quick)
    if options.kills:
        with tempfile.TemporaryDirectory() as name:
            line = kill_line(todo, Path(name))
        print(line)
        if options.docs:
            put("tables-kills", line, DOCS / "howto" / "tables.md")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        two, wall, use = timed(todo, 2)
        one, alone, _ = timed(todo, 1)
        path = folder / "all.parquet"
        from darrm.tables import files

        files.write(path, two.rows)
        start = time.perf_counter()
        command = [
            sys.executable,
            "-c",
            f"import sys; from darrm.cli import main; sys.exit(main(['verify', '{path}']))",
        ]
        verified = subprocess.run(command, capture_output=True, text=True)
        checking = time.perf_counter() - start
        without = cold(todo)
        count, opened, median, slowest, memory = lookups(two, folder)
        lines = [
            f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}: K = 3..51"
            f"{' in steps of 8' if options.quick else ''}, m = 1..K/2, epsilon .05 to 1, Delta 0, 1e-6, 1e-5: "
            f"{len(todo.tasks)} designs, {len(two.failures)} failures, {path.stat().st_size / 1e6:.2f} MB of Parquet.",
            f"Two processes: {wall:.0f} s, {wall / len(two) * 1e3:.1f} ms a design, cores {use:.0%} busy. One: "
            f"{alone:.0f} s, {alone / wall:.2f} times as long. The same table: {content(one) == content(two)}.",
            f"Without the binding constraints of the neighbour as a start: {without:.0f} s for one process, "
            f"{without / alone:.2f} times as long.",
            f"Verified by another process in {checking:.0f} s: {verified.stdout.strip()}",
            f"{count} rows of K up to 21: open in {opened:.1f} s; a lookup, verified, takes {median * 1e3:.1f} ms "
            f"(median of 200; slowest {slowest * 1e3:.0f} ms); {memory:.0f} MiB at most.",
        ]
    print(bullets(lines))
    if options.docs:
        put("tables", bullets(lines), DOCS / "howto" / "tables.md")


if __name__ == "__main__":
    main()

"""Time darrm.solve, before and after, beside the full list of constraints: one run, one machine, one objective.

    python benchmarks/speed/speed.py
    python benchmarks/speed/speed.py --quick      up to K = 101, each once
    python benchmarks/speed/speed.py --docs       also put them into docs/, and a few lines into README.md and the note
    python benchmarks/speed/speed.py --short      only those lines and the picture, from the tables in docs/
    python benchmarks/speed/speed.py --before v1.0      compare with that revision

Takes: half an hour. --docs writes docs/benchmarks.md.

Every measurement runs in a process of its own, with one thread, so that peak memory (libraries included) is its own.
Sources of before and after take turns, so that what else the machine does falls on both. Seconds are of the processor,
medians. The prior is common, p uniform on [1/2, 1], epsilon = 0.1. The engines:

    cuts        darrm.solve: search, certificate, gap and all
    list        the full list, assembled level by level by darrm, solved by HiGHS
    CVXPY       the same list, stated in CVXPY and solved by HiGHS
    one by one  the time alone to assemble the list from one multiset after the other by convolution, the plain way

A solve is cold if nothing is kept of solves before it but the libraries, and warm if it is done again at once. A pass
is one separation of the complete corner set, for the table that is released: no certified solve takes less. In a row
are solves of the same voters for one limit after the other, in one process, by cuts and by the full list in turn.
"""

from __future__ import annotations

import argparse
import functools
import gc
import io
import json
import math
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

EPSILON = 0.1
BEFORE = "018f1c3"
ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BOTH = [(5, 2, 1e-5), (7, 2, 1e-5), (9, 3, 1e-5), (11, 3, 1e-5), (13, 3, 1e-5), (15, 3, 1e-5)]
BOTH += [(11, 3, 0.0), (21, 4, 0.0), (41, 5, 0.0), (61, 7, 0.0), (101, 10, 0.0)]
SIZES = [(5, 2), (11, 3), (21, 4), (41, 5), (101, 10), (201, 14), (501, 20), (1001, 30)]
ALONE = [(K, m, Delta) for Delta in (1e-5, 0.0) for K, m in SIZES] + [(K, m, 0.3) for K, m in SIZES[3:6]]
IN_A_ROW = [(3, 1), (4, 1), (5, 2), (7, 2), (9, 3), (11, 3), (15, 3), (21, 4), (31, 4)]
LIMITS = 25  # in a row
ROWS_IN_A_ROW = 40_000  # up to which the full list is solved too
LARGEST = (3001, 50, 0.0)  # after only
ONE_BY_ONE = 200_000  # constraints, above which the plain way is left out
SHOWN = [("11", "1e-05"), ("15", "1e-05"), ("101", "1e-05"), ("1001", "1e-05")]
SHOWN += [("41", "0"), ("101", "0"), ("1001", "0")]
GROWTH_FROM = 101  # K, from which on the growth is fitted
CALLS_TO = 201  # K, up to which calls are counted


class Sources(NamedTuple):
    """Where the sources of before and of after are; before is None if there are none."""

    before: Path | None
    after: Path


# One case in this process


def seconds_of(repeat: int, action: Callable[[], Any], first: Callable[[], Any] = int) -> tuple[list[float], Any]:
    """Processor seconds of ``repeat`` calls, each after ``first``, and the last answer."""
    seconds, answer = [], None
    for _ in range(repeat):
        first()
        gc.collect()
        start = time.process_time()
        answer = action()
        seconds.append(time.process_time() - start)
    return seconds, answer


def forget() -> None:
    """Empty all that darrm keeps of calls before: a pass, for one, would begin with the tables of the last search."""
    from darrm.certificate import engines

    if hasattr(engines, "forget"):  # older sources keep no search
        engines.forget()
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper) and str(one.__module__).startswith("darrm"):
            one.cache_clear()


def calls_of(action: Callable[[], Any]) -> int:
    """How many Python functions it calls."""
    count = 0

    def profile(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def peak() -> float:
    """Peak resident memory of this process, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def run_cuts(problem: Any, repeat: int) -> dict[str, Any]:
    import numpy as np

    import darrm
    from darrm.certificate.engines import worst_cases
    from darrm.constraints import rows as constraints
    from darrm.problem.limits import guarantee

    rounds: list[Any] = []

    def solve() -> Any:
        rounds.clear()
        return darrm.solve(problem, prior="common", report=rounds.append)

    darrm.solve(K=5, m=1, epsilon=0.7, Delta=1e-4, prior="common")  # loads the libraries
    cold, design = seconds_of(repeat, solve, forget)
    answer = {"seconds": cold, "rows": rounds[-1].rows, "error": design.error, "gap": design.gap, "peak": peak()}
    if problem.K <= 501:
        answer["warm"] = seconds_of(repeat, solve)[0]
    if problem.K <= 1001:
        limit = guarantee(problem)
        answer["pass"] = seconds_of(repeat, lambda: worst_cases(design.gamma, limit), forget)[0]
        answer["verify"] = seconds_of(repeat, lambda: darrm.verify(design.gamma, problem), forget)[0]
    if problem.K <= CALLS_TO:
        forget()
        answer["calls"] = [calls_of(solve)]
    if constraints.n_constraints(problem) * (problem.K // 2 + 1) <= constraints.MAX_COEFFICIENTS:
        half = design.gamma[problem.K // 2 + 1 :]
        answer["violation"] = max(float(np.max(block.rows @ half)) for block in constraints.blocks(problem)) - 1
    return answer


def run_list(problem: Any, repeat: int, engine: str) -> dict[str, Any]:
    import numpy as np

    from darrm import priors
    from darrm.constraints import rows as constraints
    from darrm.design.optimum import WEIGHT_FLOOR
    from darrm_solvers import LinearProgram, solve_cvxpy, solve_highs

    weights = priors.weights(priors.parse("common"), problem.K, "tv")
    raised = np.maximum(weights / weights.max(), WEIGHT_FLOOR)
    build, rows = seconds_of(repeat, lambda: constraints.all_rows(problem))
    program = LinearProgram(raised, rows, np.ones(len(rows)))
    run = solve_highs if engine == "list" else solve_cvxpy
    run(LinearProgram(raised, rows[:5], np.ones(5)))  # loads the libraries
    seconds, solution = seconds_of(repeat, lambda: run(program))
    return {
        "build": build,
        "seconds": seconds,
        "rows": len(rows),
        "peak": peak(),
        "error": float(weights @ (1 - solution.x)) / 2,
        "violation": float(np.max(rows @ solution.x)) - 1,
    }


def run_one_by_one(problem: Any) -> dict[str, Any]:
    """The rows of the paper's program, one multiset at a time; only the time is of interest."""
    from itertools import combinations_with_replacement

    import numpy as np

    from darrm.constraints.multisets import corner_points

    K, middle, growth = problem.K, problem.K // 2, math.exp(problem.m * problem.epsilon)
    corners = corner_points(problem.epsilon, problem.Delta)
    pairs = [(np.array([1 - p, p]), np.array([1 - q, q])) for p, q in corners.p]

    def build() -> Any:
        rows = []
        for multiset in combinations_with_replacement(pairs, K):
            first = second = np.ones(1)
            for p, q in multiset:
                first, second = np.convolve(first, p), np.convolve(second, q)
            change = first - growth * second
            rows.append(change[middle + 1 :] - change[: K - middle][::-1])
        return np.array(rows)

    seconds, rows = seconds_of(1, build)
    return {"build": seconds, "rows": len(rows), "peak": peak()}


def run_in_a_row(problem: Any) -> dict[str, Any]:
    """Certified solves of limits that grow by a thousandth of m, by cuts and, where it is short, by the full list."""
    import darrm

    listed = n_rows(problem.K, problem.Delta) <= ROWS_IN_A_ROW
    seconds: dict[str, list[float]] = {"cutting-planes": [], **({"full-list": []} if listed else {})}
    for i in range(LIMITS + 1):
        m = problem.m * (1 + i / 1000)
        for engine, times in seconds.items():
            gc.collect()
            start = time.process_time()
            task = darrm.MajorityProblem(problem.K, m, problem.epsilon, problem.Delta)
            _ = darrm.solve(task, prior="common", engine=engine).certificate
            times.append(time.process_time() - start)
    return {"peak": peak(), **{engine: times[1:] for engine, times in seconds.items()}}


def case(K: int, m: int, Delta: float, engine: str, repeat: int) -> dict[str, Any]:
    """One case in this process."""
    import darrm

    problem = darrm.MajorityProblem(K, m, EPSILON, Delta)
    if engine == "cuts":
        return run_cuts(problem, repeat)
    if engine == "in a row":
        return run_in_a_row(problem)
    return run_one_by_one(problem) if engine == "one by one" else run_list(problem, repeat, engine)


# Cases in processes of their own


def apart(K: int, m: int, Delta: float, engine: str, repeat: int, sources: Path) -> dict[str, Any]:
    """A case with given sources."""
    command = [sys.executable, __file__, "--case", json.dumps([K, m, Delta, engine, repeat])]
    path = os.pathsep.join([str(sources), str(sources / "solvers")])
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **threads, "PYTHONPATH": path}
    )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])  # HiGHS may print before it
    return answer


def joined(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """The medians of all measurements, and the most memory; the rest is the same in all."""
    found = dict(answers[-1])
    for name, value in found.items():
        if isinstance(value, list):
            found[name] = statistics.median(one for answer in answers for one in answer[name])
    found["peak"] = max(answer["peak"] for answer in answers)
    return found


def in_turn(K: int, m: int, Delta: float, engine: str, repeat: int, sources: Sources) -> dict[str, dict[str, Any]]:
    """A case with the sources of before and of after in turn; by "before" and "after"."""
    both = {name: path for name, path in sources._asdict().items() if path is not None}
    answers: dict[str, list[dict[str, Any]]] = {name: [] for name in both}
    for _ in range(min(repeat, 3)):
        for name, path in both.items():
            answers[name].append(apart(K, m, Delta, engine, math.ceil(repeat / 3), path))
    print(f"K = {K}, Delta = {Delta:g}: {engine}", file=sys.stderr)
    return {name: joined(found) for name, found in answers.items()}


def sources_of(revision: str, folder: Path) -> Path | None:
    """The sources of a revision in ``folder``; None if there is no such revision here."""
    archive = ["git", "-C", str(ROOT), "archive", revision, "darrm", "solvers"]
    try:
        packed = subprocess.run(archive, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        print(f"There is no revision {revision} here: only today's sources are timed.", file=sys.stderr)
        return None
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        files.extractall(folder, filter="data")
    return folder


def n_rows(K: int, Delta: float) -> int:
    return math.comb(K + 7, 7) if Delta else math.comb(K + 3, 3)


def processor() -> str:
    """What the operating system calls this processor."""
    try:
        return str(re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())[0])
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def markdown(rows: list[dict[str, str]]) -> str:
    """A table, its columns those of the first row."""
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + " --: |" * len(rows[0])]
    return "\n".join([*lines, *("| " + " | ".join(row[name] for name in rows[0]) + " |" for row in rows)])


def compared(repeat: int, quick: bool, sources: Sources, results: dict[Any, dict[str, Any]]) -> str:
    """Cuts beside lists, today."""
    rows = []
    for K, m, Delta in BOTH:
        if quick and n_rows(K, Delta) > 50_000:
            continue
        # A list is not solved five times where once takes a minute.
        times = repeat if n_rows(K, Delta) < 100_000 else 1
        today = Sources(None, sources.after)
        by = {name: in_turn(K, m, Delta, name, times, today)["after"] for name in ("cuts", "list", "CVXPY")}
        results.update({(K, Delta, name): one for name, one in by.items()})
        cuts, plain = by["cuts"], math.nan
        if n_rows(K, Delta) < ONE_BY_ONE and (K <= 41 or Delta):
            plain = in_turn(K, m, Delta, "one by one", 1, today)["after"]["build"]
        for name, one in by.items():
            seconds, build = one["seconds"], one.get("build", 0.0)
            ratios = [seconds, build + seconds, math.nan if name == "cuts" else plain + seconds]
            ready, with_build, alone = (f"{ratio / cuts['seconds']:.1f}" for ratio in ratios)
            rows.append(
                {
                    "K": str(K),
                    "Delta": f"{Delta:g}",
                    "engine": name,
                    "rows": str(one["rows"]),
                    "build, s": f"{build:.4f}" if build else "",
                    "solve, s": f"{seconds:.4f}",
                    "ratio, rows ready": ready,
                    "ratio, with build": with_build,
                    "ratio, one by one": "" if alone == "nan" else alone,
                    "peak, MB": f"{one['peak']:.0f}",
                    "error apart": "" if name == "cuts" else f"{abs(cuts['error'] - one['error']):.0e}",
                    "violation": f"{one['violation']:.0e}",
                }
            )
    return markdown(rows)


def in_a_row(repeat: int, sources: Sources) -> str:
    """Small problems, milliseconds."""
    rows = []
    for Delta in (1e-5, 0.0):
        for K, m in IN_A_ROW:
            by = in_turn(K, m, Delta, "in a row", repeat, sources)
            old, new = by.get("before", {}), by["after"]
            cuts = new["cutting-planes"]
            rows.append(
                {
                    "K": str(K),
                    "m": str(m),
                    "Delta": f"{Delta:g}",
                    "before, ms": f"{1e3 * old['cutting-planes']:.2f}" if old else "",
                    "after, ms": f"{1e3 * cuts:.2f}",
                    "ratio": f"{old['cutting-planes'] / cuts:.1f}" if old else "",
                    "full list, ms": f"{1e3 * new['full-list']:.2f}" if "full-list" in new else "",
                    "ratio to it": f"{new['full-list'] / cuts:.1f}" if "full-list" in new else "",
                }
            )
    return markdown(rows)


def alone(repeat: int, quick: bool, sources: Sources, results: dict[Any, dict[str, Any]]) -> str:
    """Before and after, and the growth."""
    rows = []
    for K, m, Delta in [*ALONE, LARGEST]:
        if quick and (K > 101 or Delta > 0.1):
            continue
        times = repeat if K <= 501 and Delta < 0.1 else 1
        by = in_turn(K, m, Delta, "cuts", times, sources if (K, m, Delta) != LARGEST else Sources(None, sources.after))
        old, new = by.get("before", {}), by["after"]
        results[K, Delta, "cuts"] = new

        def shown(one: dict[str, Any], name: str, form: str) -> str:
            return f"{one[name]:{form}}" if name in one else ""

        rows.append(
            {
                "K": str(K),
                "m": str(m),
                "Delta": f"{Delta:g}",
                "full list": f"{n_rows(K, Delta):.2g}",
                "rows": str(new["rows"]),
                "before, s": shown(old, "seconds", ".4f"),
                "after, s": f"{new['seconds']:.4f}",
                "ratio": f"{old['seconds'] / new['seconds']:.1f}" if old else "",
                "warm, s": shown(new, "warm", ".4f"),
                "pass before, s": shown(old, "pass", ".4f"),
                "pass, s": shown(new, "pass", ".4f"),
                "passes": f"{new['seconds'] / new['pass']:.1f}" if "pass" in new else "",
                "verify, s": shown(new, "verify", ".4f"),
                "calls before": shown(old, "calls", ".0f"),
                "calls": shown(new, "calls", ".0f"),
                "peak before, MB": shown(old, "peak", ".0f"),
                "peak, MB": shown(new, "peak", ".0f"),
                "gap": f"{new['gap']:.0e}",
            }
        )
    lines = [markdown(rows), ""]
    for Delta in () if quick else (1e-5, 0.0):
        points = [(math.log(K), math.log(results[K, Delta, "cuts"]["seconds"])) for K, _ in SIZES if K >= GROWTH_FROM]
        slope = statistics.linear_regression(*zip(*points, strict=True)).slope
        lines.append(f"Seconds grow like $K^{{{slope:.1f}}}$ from $K = {GROWTH_FROM}$ on for $\\Delta$ = {Delta:g}.")
    return "\n".join(lines)


def rows_of(page: str) -> dict[tuple[str, str, str], dict[str, str]]:
    """Rows of the tables of a page by K, Delta and engine."""
    rows: list[dict[str, str]] = []
    for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        head, _, *cells = ([cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines())
        rows += [dict(zip(head, row, strict=True)) for row in cells]
    return {(row["K"], row["Delta"], row.get("engine", "alone")): row for row in rows if "Delta" in row}


def draw(path: Path, page: str) -> None:
    """Seconds over K, both logarithmic, from the tables of a page."""
    from pages import save

    from darrm.show.figures import LOOKS, TEXT, WIDTH, curve, ink, new_figure, tidy

    lines: dict[tuple[str, str], dict[int, float]] = {}
    for (K, Delta, engine), row in rows_of(page).items():
        if "after, s" in row:
            lines.setdefault((Delta, "cuts"), {})[int(K)] = float(row["after, s"])
        elif "build, s" in row:
            seconds = float(row["build, s"] or 0) + float(row["solve, s"])
            lines.setdefault((Delta, engine), {}).setdefault(int(K), seconds)
    axes = new_figure((WIDTH, 3.6)).subplots(1, 2, sharex=True, sharey=True)
    for ax, Delta in zip(axes, ("1e-05", "0"), strict=True):
        drawn = {"darrm": ("cuts", LOOKS[0]), "full list": ("list", LOOKS[1]), "full list,\nCVXPY": ("CVXPY", LOOKS[2])}
        shown = [(name, lines[Delta, engine], look) for name, (engine, look) in drawn.items()]
        if Delta != "0":
            shown.append(("darrm, Delta = 0.3", lines["0.3", "cuts"], (LOOKS[0][0], "v", ":")))
        for name, points, look in shown:
            ks, took = zip(*sorted(points.items()), strict=True)
            curve(ax, ks, took, look)
            side = ("right", -6) if ks[-1] > 1000 else ("left", 6)
            ax.annotate(
                name, (ks[-1], took[-1]), (side[1], 0), textcoords="offset points", ha=side[0], va="center",
                fontsize=TEXT, color=ink(look[0]),
            )  # fmt: skip
        ax.set(xscale="log", yscale="log", xlabel="number of votes K")
        ax.set_title(f"Delta = {float(Delta):g}", fontsize=TEXT)
        ax.set_xticks([5, 11, 41, 101, 501, 3001], ["5", "11", "41", "101", "501", "3001"])
        ax.tick_params(axis="x", which="minor", labelbottom=False)
        tidy(ax)
    axes[0].set_ylabel("seconds; with certificate for darrm")
    save(axes[0].figure, path)


def short(page: str) -> str:
    """A few lines of the tables of a page."""
    by = rows_of(page)
    lines = [
        "| K | Delta | multisets of corners | darrm | listed, HiGHS | listed, CVXPY | one by one |",
        "| --: | --: | --: | --: | --: | --: | --: |",
    ]
    for K, Delta in SHOWN:
        cuts, listed, cvxpy = (by.get((K, Delta, engine)) for engine in ("cuts", "list", "CVXPY"))
        if cuts and listed and cvxpy:
            longer = [listed["ratio, with build"], cvxpy["ratio, with build"], listed["ratio, one by one"]]
            told = [f"{int(listed['rows']):,}", f"{float(cuts['solve, s']):.2g} s"]
            told += [f"{ratio} times" if ratio else "not tried" for ratio in longer]
        else:
            one = by[K, Delta, "alone"]
            told = [f"{float(one['full list']):.0e}", f"{float(one['after, s']):.2g} s", "-", "-", "-"]
        lines.append(f"| {' | '.join([K, Delta, *told])} |")
    return "\n".join(lines)


def show_short() -> None:
    """What follows from the tables of the page: a few lines in README.md and docs/note.md, and the picture."""
    from pages import put

    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    for other in (ROOT / "README.md", DOCS / "note.md"):
        put("how-far", short(page), other)
    draw(DOCS / "speed.svg", page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--before", default=BEFORE, metavar="REVISION")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--case", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(case(*options.case)))
        return
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))
    if options.short:
        show_short()
        return
    results: dict[Any, dict[str, Any]] = {}
    repeat = 1 if options.quick else options.repeat
    with tempfile.TemporaryDirectory() as folder:
        sources = Sources(sources_of(options.before, Path(folder)), ROOT)
        about = f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}; medians of {repeat}."
        listed = compared(repeat, options.quick, sources, results)
        tables = [listed, in_a_row(repeat, sources), alone(repeat, options.quick, sources, results)]
    text = "\n\n".join([about, *tables])
    print(text)
    if options.docs:
        from pages import put

        put("speed", text, DOCS / "benchmarks.md")
        show_short()


if __name__ == "__main__":
    main()

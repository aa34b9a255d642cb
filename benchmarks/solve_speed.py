"""Time darrm.solve by cuts beside the full list of constraints: one run, one machine, one objective.

    python benchmarks/solve_speed.py
    python benchmarks/solve_speed.py --quick      up to K = 101
    python benchmarks/solve_speed.py --docs       also put them into docs/, and a few lines into README.md
    python benchmarks/solve_speed.py --short      only those lines, from the tables in docs/

Takes: some minutes. --docs writes docs/benchmarks.md.

Every case runs in a process of its own, so that peak memory (libraries included) is its own. Seconds are medians. The
prior is common, p uniform on [1/2, 1], epsilon = 0.1. The engines:

    cuts        darrm.solve: search, certificate, gap and all
    list        the full list, assembled level by level by darrm, solved by HiGHS
    CVXPY       the same list, stated in CVXPY and solved by HiGHS
    one by one  the time alone to assemble the list from one multiset after the other by convolution, the plain way

A pass is one separation of the complete corner set, for the table that is released: no certified solve takes less.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

EPSILON = 0.1
DOCS = Path(__file__).resolve().parent.parent / "docs"
BOTH = [(5, 2, 1e-5), (7, 2, 1e-5), (9, 3, 1e-5), (11, 3, 1e-5), (13, 3, 1e-5), (15, 3, 1e-5)]
BOTH += [(11, 3, 0.0), (21, 4, 0.0), (41, 5, 0.0), (61, 7, 0.0), (101, 10, 0.0)]
SIZES = [(11, 3), (21, 4), (41, 5), (101, 10), (201, 14), (501, 20), (1001, 30)]
ALONE = [(K, m, Delta) for Delta in (1e-5, 0.0) for K, m in SIZES] + [(K, m, 0.3) for K, m in SIZES[2:5]]
ONE_BY_ONE = 200_000  # constraints, above which the plain way is left out
SHOWN = [
    ("11", "1e-05"),
    ("15", "1e-05"),
    ("101", "1e-05"),
    ("1001", "1e-05"),
    ("41", "0"),
    ("101", "0"),
    ("1001", "0"),
]
GROWTH_FROM = 101  # K, from which on the growth is fitted


def median_of(repeat: int, action: Callable[[], Any]) -> tuple[float, Any]:
    """Median seconds of ``repeat`` calls, and the last answer."""
    seconds, answer = [], None
    for _ in range(repeat):
        gc.collect()
        start = time.perf_counter()
        answer = action()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), answer


def peak() -> float:
    """Peak resident memory of this process, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def run_cuts(problem: Any, repeat: int) -> dict[str, Any]:
    import numpy as np

    import darrm
    from darrm.certificate.engines import forget, worst_cases
    from darrm.constraints import rows as constraints
    from darrm.problem.limits import guarantee

    rounds: list[Any] = []

    def solve() -> Any:
        forget()
        rounds.clear()
        return darrm.solve(problem, prior="common", report=rounds.append)

    solve()  # loads the libraries
    seconds, design = median_of(repeat, solve)
    answer = {"seconds": seconds, "rows": rounds[-1].rows, "error": design.error, "gap": design.gap, "peak": peak()}

    def separate() -> None:
        forget()
        worst_cases(design.gamma, guarantee(problem))

    def verify() -> None:
        forget()
        darrm.verify(design.gamma, problem)

    answer["pass"], answer["verify"] = median_of(repeat, separate)[0], median_of(repeat, verify)[0]
    if constraints.n_constraints(problem) * (problem.K // 2 + 1) <= constraints.MAX_COEFFICIENTS:
        half = design.gamma[problem.K // 2 + 1 :]
        answer["violation"] = max(float(np.max(block.rows @ half)) for block in constraints.blocks(problem)) - 1
    return answer


def run_list(problem: Any, repeat: int, engine: str) -> dict[str, Any]:
    import numpy as np

    from darrm import priors
    from darrm.constraints import rows as constraints
    from darrm.design.solve import WEIGHT_FLOOR
    from darrm_solvers import LinearProgram, solve_cvxpy, solve_highs

    weights = priors.weights(priors.parse("common"), problem.K, "tv")
    raised = np.maximum(weights / weights.max(), WEIGHT_FLOOR)
    build, rows = median_of(repeat, lambda: constraints.all_rows(problem))
    program = LinearProgram(raised, rows, np.ones(len(rows)))
    run = solve_highs if engine == "list" else solve_cvxpy
    run(LinearProgram(raised, rows[:5], np.ones(5)))  # loads the libraries
    seconds, solution = median_of(repeat, lambda: run(program))
    return {
        "build": build,
        "seconds": seconds,
        "rows": len(rows),
        "peak": peak(),
        "error": float(weights @ (1 - solution.x)) / 2,
        "violation": float(np.max(rows @ solution.x)) - 1,
    }


def run_one_by_one(problem: Any, repeat: int) -> dict[str, Any]:
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

    seconds, rows = median_of(repeat, build)
    return {"build": seconds, "rows": len(rows), "peak": peak()}


def case(K: int, m: int, Delta: float, engine: str, repeat: int) -> dict[str, Any]:
    """One case in this process."""
    import darrm

    problem = darrm.MajorityProblem(K, m, EPSILON, Delta)
    if engine == "cutting-planes":
        return run_cuts(problem, repeat)
    if engine == "one by one":
        return run_one_by_one(problem, 1)
    return run_list(problem, repeat, engine)


def apart(K: int, m: int, Delta: float, engine: str, repeat: int) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--case", json.dumps([K, m, Delta, engine, repeat])]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    print(f"K = {K}, Delta = {Delta:g}: {engine}", file=sys.stderr)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def n_rows(K: int, Delta: float) -> int:
    return math.comb(K + 7, 7) if Delta else math.comb(K + 3, 3)


def processor() -> str:
    """What the operating system calls this processor."""
    try:
        return re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())[0]
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def compare(repeat: int, results: dict[Any, dict[str, Any]]) -> str:
    """The first table."""
    lines = [
        "| K | Delta | engine | rows | build, s | solve, s | ratio, rows ready | ratio, with build | ratio, one by one "
        "| peak, MB | error apart | violation |",
        "| --: | --: | :-- | --: | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for K, m, Delta in BOTH:
        # The same number for all: a list is not solved five times where once takes a minute.
        times = repeat if n_rows(K, Delta) < 100_000 else 1
        cuts = results[K, Delta, "cuts"] = apart(K, m, Delta, "cuts", repeat)
        lines.append(
            f"| {K} | {Delta:g} | cuts | {cuts['rows']} | | {cuts['seconds']:.4f} | 1 | 1 | 1 | {cuts['peak']:.0f} "
            f"| | {cuts['violation']:.0e} |"
        )
        plain = None
        if n_rows(K, Delta) < ONE_BY_ONE and (K <= 41 or Delta):
            plain = apart(K, m, Delta, "one by one", 1)["build"]
        for engine in ("list", "CVXPY"):
            listed = results[K, Delta, engine] = apart(K, m, Delta, engine, times)
            seconds, build = listed["seconds"], listed["build"]
            one = "" if plain is None else f"{(plain + seconds) / cuts['seconds']:.0f}"
            lines.append(
                f"| {K} | {Delta:g} | {engine} | {listed['rows']} | {build:.4f} | {seconds:.4f} "
                f"| {seconds / cuts['seconds']:.1f} | {(build + seconds) / cuts['seconds']:.1f} | {one} "
                f"| {listed['peak']:.0f} | {abs(cuts['error'] - listed['error']):.0e} | {listed['violation']:.0e} |"
            )
    return "\n".join(lines)


def alone(repeat: int, quick: bool, results: dict[Any, dict[str, Any]]) -> str:
    """The second table, and the growth."""
    lines = [
        "| K | m | Delta | full list | rows | solve, s | pass, s | passes | verify, s | peak, MB | gap |",
        "| --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for K, m, Delta in ALONE:
        if quick and K > 101:
            continue
        one = results[K, Delta, "cuts"] = apart(K, m, Delta, "cuts", repeat if K <= 501 and Delta < 0.1 else 1)
        lines.append(
            f"| {K} | {m} | {Delta:g} | {n_rows(K, Delta):.2g} | {one['rows']} | {one['seconds']:.4f} "
            f"| {one['pass']:.4f} | {one['seconds'] / one['pass']:.1f} | {one['verify']:.4f} | {one['peak']:.0f} "
            f"| {one['gap']:.0e} |"
        )
    lines.append("")
    for Delta in () if quick else (1e-5, 0.0):
        points = [(math.log(K), math.log(results[K, Delta, "cuts"]["seconds"])) for K, _ in SIZES if K >= GROWTH_FROM]
        slope = statistics.linear_regression(*zip(*points, strict=True)).slope
        lines.append(f"Seconds grow like $K^{{{slope:.1f}}}$ from $K = {GROWTH_FROM}$ on for $\\Delta$ = {Delta:g}.")
    return "\n".join(lines)


def draw(path: Path, results: dict[Any, dict[str, Any]]) -> None:
    """Seconds over K, both logarithmic."""
    from darrm.show.figures import LOOKS, new_figure, save

    ax = new_figure((6.2, 4.0)).add_subplot()
    looks = {"cuts": ("o", "-"), "list": ("s", "--"), "CVXPY": ("^", ":")}
    for Delta, (colour, _, _) in zip((1e-5, 0.0, 0.3), LOOKS, strict=False):
        for engine, (marker, line) in looks.items():
            points = sorted(
                (K, r.get("build", 0) + r["seconds"]) for (K, D, e), r in results.items() if (D, e) == (Delta, engine)
            )
            if points:
                name = {"cuts": "darrm", "list": "full list", "CVXPY": "full list, CVXPY"}[engine]
                ax.plot(*zip(*points, strict=True), marker=marker, linestyle=line, color=colour, markersize=4)
                ax.lines[-1].set_label(f"{name}, Delta = {Delta:g}")
    ax.set(xscale="log", yscale="log", xlabel="number of votes K", ylabel="seconds; with certificate for darrm")
    ax.set_xticks([5, 11, 21, 41, 101, 201, 501, 1001], minor=False)
    ax.set_xticklabels(["5", "11", "21", "41", "101", "201", "501", "1001"])
    ax.tick_params(axis="x", which="minor", labelbottom=False)
    ax.grid(alpha=0.25)
    ax.legend(fontsize=7)
    save(path, ax, dpi=150)


def short(page: str) -> str:
    """A few lines of the tables of a page."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| ")
    ]
    both = {(row[0], row[1], row[2]): row for row in rows if len(row) == 12}
    single = {(row[0], row[2]): row for row in rows if len(row) == 11}
    lines = [
        "| K | Delta | multisets of corners | darrm | listed, HiGHS | listed, CVXPY | one by one |",
        "| --: | --: | --: | --: | --: | --: | --: |",
    ]
    for K, Delta in SHOWN:
        cuts, listed, cvxpy = (both.get((K, Delta, engine)) for engine in ("cuts", "list", "CVXPY"))
        if cuts and listed and cvxpy:
            longer = [f"{listed[7]} times", f"{cvxpy[7]} times", f"{listed[8]} times" if listed[8] else "not tried"]
            cells = [K, Delta, f"{int(listed[3]):,}", f"{float(cuts[5]):.2g} s", *longer]
        else:
            one = single[K, Delta]
            cells = [K, Delta, f"{float(one[3]):.0e}", f"{float(one[5]):.2g} s", "-", "-", "-"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def put_short() -> None:
    readme = DOCS.parent / "README.md"
    parts = re.split(r"(<!-- /?how-far -->)", readme.read_text(encoding="utf-8"))
    text = short((DOCS / "benchmarks.md").read_text(encoding="utf-8"))
    readme.write_text("".join([*parts[:2], f"\n\n{text}\n\n", *parts[3:]]), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--case", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(case(*options.case)))
        return
    if options.short:
        put_short()
        return
    results: dict[Any, dict[str, Any]] = {}
    about = f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}; median of {options.repeat}."
    text = "\n\n".join([about, compare(options.repeat, results), alone(options.repeat, options.quick, results)])
    print(text)
    if options.docs:
        page = DOCS / "benchmarks.md"
        parts = re.split(r"(<!-- /?speed -->)", page.read_text())
        page.write_text("".join([*parts[:2], f"\n\n{text}\n\n", *parts[3:]]))
        draw(DOCS / "speed.svg", results)
        put_short()


if __name__ == "__main__":
    main()

"""darrm solve"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm.cli import common
from darrm.cli.long_run import progress

if TYPE_CHECKING:
    from darrm.design.design import Design
    from darrm_solvers import Progress


@click.command("solve", short_help="Find the best noise function, certified.")
@common.problem_options
@common.prior_options
@click.option(
    "--shape",
    type=click.Choice(["free", "monotone"]),
    default="free",
    show_default=True,
    help="free: least error. monotone: never less noise for a closer vote.",
)
@click.option("--both-shapes", is_flag=True, help="Say the error of the other shape too.")
@click.option(
    "--engine",
    type=click.Choice(["cuts", "highs", "cvxpy"]),
    default="cuts",
    show_default=True,
    help="highs and cvxpy list every constraint: slow, for comparison.",
)
@click.option("--time-limit", type=common.NUMBER, default=float("inf"), help="Seconds for the search [none].")
@click.option(
    "--on-time-limit",
    type=click.Choice(["error", "best"]),
    default="error",
    show_default=True,
    help="At the time limit: fail, or certify the best so far.",
)
@click.option("--out", type=common.PATH, help="Write the design file here.")
@click.option("--plot", type=common.PATH, help="Draw gamma here (PNG, SVG or PDF; needs matplotlib).")
@common.json_option
def command(prior: str, out: Path | None, plot: Path | None, both_shapes: bool, as_json: bool, **values: Any) -> None:
    """Find the noise function of least error that keeps the promise, and certify it."""
    from darrm.design.files import as_dict
    from darrm.design.solve import solve

    if plot is not None:
        from darrm.figures import picture_format

        picture_format(plot)  # a wrong ending is said before the work, not after
    problem = common.take_problem(values)
    taken = common.take_prior(prior)
    start = time.perf_counter()
    with progress(_searching) as report:
        design = solve(problem, prior=taken, report=report, **values)
        seconds = time.perf_counter() - start
        designs = [design]
        if both_shapes:
            other = "monotone" if design.shape == "free" else "free"
            designs.append(solve(problem, prior=taken, report=report, **{**values, "shape": other}))
    if out is not None:
        design.save(out)
    if plot is not None:
        from darrm.plots import save_gamma

        save_gamma(plot, problem, {"gamma_opt": design.gamma})
    if as_json:
        shapes = {one.shape: {"error": one.error, "disagreement": one.disagreement, "gap": one.gap} for one in designs}
        common.print_json({**as_dict(design), "seconds": seconds, **({"shapes": shapes} if both_shapes else {})})
    else:
        show(design)
        for one in designs[1:]:
            common.console().print(
                f"shape {one.shape}: error {one.error:.8g} (tv), disagreement {one.disagreement:.8g}"
            )
        common.note(f"Solved and verified in {seconds:.3g} s.")
    for path in filter(None, (out, plot)):
        common.note(f"Wrote {path}.")


def _searching(now: Progress) -> tuple[int, None, str]:
    return 0, None, f"searching: {now.rows} constraints, round {now.rounds}"


def show(design: Design) -> None:
    """Gamma as a small chart, the promise in a sentence, and the figures."""
    from rich.table import Table

    problem, certificate = design.problem, design.certificate
    console = common.console()
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("votes", justify="right", no_wrap=True, min_width=len(f"{problem.K}:{problem.K}") - 1)
    table.add_column("gamma", justify="right", no_wrap=True, min_width=8)
    table.add_column("chance of the true majority, else a fair coin", no_wrap=True, overflow="crop")
    width = max(4, min(32, console.width - 20))
    for l in range(problem.K // 2 + 1, problem.K + 1):
        shown = common.bar(design.gamma[l], width, console.options.ascii_only)
        table.add_row(f"{problem.K - l}:{l}", f"{design.gamma[l]:.6f}", shown)
    console.print(table)
    relation = "<=" if certificate.holds else ">"
    console.print(
        f"Verified: one release of the majority of K = {problem.K} votes is {common.promise(problem)}, "
        f"{common.condition(problem)}"
    )
    console.print(
        f"cost {certificate.cost:.15g} {relation} limit {certificate.limit:.15g}; realised epsilon "
        f"{common.number(certificate.realised_epsilon)} at delta {problem.delta:.4g}"
    )
    gap = f"at most {design.gap:.1e} above the least possible {design.objective} for shape {design.shape}"
    if math.isinf(design.gap):
        gap = "not known to be the least possible"
    console.print(f"error {design.error:.8g} (tv), disagreement {design.disagreement:.8g}, under {design.prior}; {gap}")
    if design.profile:
        console.print(f"and one release keeps {len(design.profile)} points of a profile (darrm profile)")

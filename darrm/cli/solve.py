"""darrm solve"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm.cli import common

if TYPE_CHECKING:
    from darrm.design.design import Design


@click.command("solve")
@common.problem_options
@common.prior_options
@click.option("--shape", type=click.Choice(["free", "monotone"]), default="free", show_default=True)
@click.option("--engine", type=click.Choice(["cuts", "highs", "cvxpy"]), default="cuts", show_default=True)
@click.option("--time-limit", type=common.NUMBER, default=float("inf"), help="Seconds for each attempt of the solver.")
@click.option("--out", type=common.PATH, help="Write the design file here.")
@click.option("--plot", type=common.PATH, help="Draw gamma here (PNG, SVG or PDF; needs matplotlib).")
@common.json_option
def command(prior: str, out: Path | None, plot: Path | None, as_json: bool, **values: Any) -> None:
    """Find the noise function of least error that keeps the promise, and certify it."""
    from darrm.design.files import as_dict
    from darrm.design.solve import solve

    if plot is not None:
        from darrm.plots import picture_format

        picture_format(plot)  # a wrong ending is said before the work, not after
    problem = common.take_problem(values)
    start = time.perf_counter()
    design = solve(problem, prior=common.take_prior(prior), **values)
    seconds = time.perf_counter() - start
    if out is not None:
        design.save(out)
    if plot is not None:
        from darrm.plots import save_gamma

        save_gamma(plot, problem, {"gamma_opt": design.gamma})
    if as_json:
        common.print_json({**as_dict(design), "seconds": seconds})
    else:
        show(design)
        common.note(f"Solved and verified in {seconds:.3g} s.")
    for path in filter(None, (out, plot)):
        common.note(f"Wrote {path}.")


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
        f"Verified: one release of the majority of K = {problem.K} votes is {common.promise(problem)}, if each vote is "
        f"({problem.epsilon:g}, {problem.Delta:g})-DP and one change ({problem.adjacency}) reaches at most "
        f"{problem.changed} of them."
    )
    console.print(
        f"cost {certificate.cost:.15g} {relation} limit {certificate.limit:.15g}; realised epsilon "
        f"{common.number(certificate.realised_epsilon)} at delta {problem.delta:.4g}"
    )
    console.print(
        f"error {design.error:.8g} (tv), disagreement {design.disagreement:.8g}, under {design.prior}; at most "
        f"{design.gap:.1e} above the least possible {design.objective} for shape {design.shape}"
    )

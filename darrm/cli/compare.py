"""darrm compare"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from darrm.cli import common


@click.command("compare", short_help="Compare it with other mechanisms.")
@common.problem_options
@common.prior_options
@click.option("--plot", type=common.PATH, help="Draw the noise functions here (needs matplotlib).")
@common.json_option
def command(prior: str, objective: str | None, plot: Path | None, as_json: bool, **values: Any) -> None:
    """Put gamma_opt beside subsampling, double subsampling and randomized response, for one release."""
    from rich.table import Table

    from darrm.comparison import compare

    if plot is not None:
        from darrm.plots import picture_format

        picture_format(plot)  # a wrong ending is said before the work, not after
    problem = common.take_problem(values)
    under = common.take_prior(prior)
    entries = compare(problem, under, objective)
    if plot is not None:
        from darrm.plots import save_gamma

        save_gamma(plot, problem, {entry.name: entry.gamma for entry in entries if entry.certificate.holds})
        common.note(f"Wrote {plot}.")
    if as_json:
        rows = [
            {
                "name": entry.name,
                "gamma": entry.gamma.tolist(),
                "error": entry.error,
                "disagreement": entry.disagreement,
                "certificate": asdict(entry.certificate),
            }
            for entry in entries
        ]
        common.print_json({"problem": asdict(problem), "mechanisms": rows})
        return
    console = common.console()
    narrow = console.width < 70
    table = Table(title=f"One release, {common.promise(problem)}: K = {problem.K}, m = {problem.m:g}", box=None)
    table.add_column("mechanism", overflow="fold")
    for name in ("error", "verified") if narrow else ("error", "disagreement", "realised epsilon", "verified"):
        table.add_column(name, justify="right", min_width=8)
    for entry in entries:
        holds = entry.certificate.holds
        cells = [f"{entry.error:.6f}"]
        if not narrow:
            cells += [f"{entry.disagreement:.6f}", common.number(entry.certificate.realised_epsilon)]
        table.add_row(entry.name, *cells, "yes" if holds else "no", style=None if holds else "dim")
    console.print(table)
    shown = [entry for entry in entries if entry.certificate.holds]
    gammas = Table(title="gamma by votes, minority:majority", box=None)
    gammas.add_column("votes", justify="right")
    for entry in shown:
        gammas.add_column(entry.name, justify="right")
    for l in range(problem.K // 2 + 1, problem.K + 1):
        gammas.add_row(f"{problem.K - l}:{l}", *(f"{entry.gamma[l]:.4f}" for entry in shown))
    console.print(gammas)
    console.print(
        "error: the paper's total variation (a signed sum under votes: or fixed: priors). disagreement: how often the "
        f"label is not the majority of the votes. Both are for one release, under the prior {under}."
    )

"""darrm profile"""

from __future__ import annotations

import math
from pathlib import Path

import click

from darrm.cli import common
from darrm.show import typed, wording


@click.command("profile", short_help="Print the exact privacy profile of one release.")
@common.file_argument
@click.option("--epsilons", help="Epsilons of the profile: E1,E2,... in nats; inf is allowed [11 points and inf].")
@common.kind_option
@common.plot_option("the profile")
@common.json_option
def command(file: Path, epsilons: str | None, kind: str, plot: Path | None, as_json: bool) -> None:
    """Print the smallest delta at which one release is (epsilon, delta)-DP, for each epsilon: certified upper bounds.

    The release is a majority or a decision by groups of voters; with absent voters, the delta is the largest over all
    attendances. The profile is for one release. Several releases depend on the kind of voters: darrm budget.
    """
    import numpy as np

    from darrm.accounting.profile import profile_bounds
    from darrm.design.design import load
    from darrm.show.figures import tables_of
    from darrm.show.plots import plot_profile

    design = load(file).of_kind(kind)
    problem = design.problem
    if epsilons is None:
        where = [float(f"{epsilon:.6g}") for epsilon in np.linspace(0, 1.25 * problem.release_epsilon, 11)] + [math.inf]
    else:
        where = typed.numbers("--epsilons", epsilons)
    tables = [profile_bounds(part.table, part.problem, where) for part in tables_of(design)]
    bounds = [(max(low for low, _ in at), max(high for _, high in at)) for at in zip(*tables, strict=True)]
    common.draw(plot, lambda: plot_profile(design))
    common.wrote(plot)
    if as_json:
        points = [
            {"epsilon": e, "delta": high, "delta_lower": low} for e, (low, high) in zip(where, bounds, strict=True)
        ]
        common.print_json({"profile": points})
        return
    table = common.table("epsilon, nats", "delta, certified", "delta, achieved")
    for epsilon, (low, high) in zip(where, bounds, strict=True):
        table.add_row(wording.exactly(epsilon), wording.at_least(high), f"{low:.6g}")
    console = common.console()
    console.print(table)
    console.print("Achieved: some voters that are as private as stated reach this delta, so no smaller delta holds.")
    rests = wording.condition(problem, absent=len(tables) > 1)
    console.print(
        f"The profile holds for one release {rests} The guarantee of the design is {wording.guarantee(problem)}."
    )

"""darrm profile"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from darrm.cli import common
from darrm.cli.needed import Command
from darrm.show import typed, wording

if TYPE_CHECKING:
    from darrm.design.design import Design

_HEADS = ("delta, certified", "delta, achieved")


@click.command("profile", cls=Command, short_help="Print the exact privacy profile of one release.")
@common.file_argument
@click.option("--epsilons", help="Epsilons of the profile: E1,E2,... in nats; inf is allowed [11 points and inf].")
@common.kind_option
@common.plot_option("the profile")
@common.json_option
def command(file: Path, epsilons: str | None, kind: str, plot: Path | None, as_json: bool) -> None:
    """Print the smallest delta at which one release is (epsilon, delta)-DP, for each epsilon: certified upper bounds.

    The release is a majority or a decision by groups of voters; with absent voters, the delta is the largest over all
    attendances. Where each group has a limit of its own, there is a profile for each kind of change. A profile is for
    one release. Several releases depend on the kind of voters: darrm budget.
    """
    import numpy as np

    from darrm.design.loading import load
    from darrm.show.plots import plot_profile

    whole = load(file)
    names = [kind] if kind or len(whole.problem.kinds) == 1 else list(whole.problem.kinds)
    designs = {name: whole.of_kind(name) for name in names}
    most = max(design.problem.release_epsilon for design in designs.values())
    if epsilons is None:
        where = [float(f"{epsilon:.6g}") for epsilon in np.linspace(0, 1.25 * most, 11)] + [math.inf]
    else:
        where = typed.numbers("--epsilons", epsilons)
    of = {name: _bounds(design, where) for name, design in designs.items()}
    common.draw(plot, lambda: plot_profile(whole if len(of) > 1 else designs[names[0]]))
    common.wrote(plot)
    if as_json:
        points = {name: [_point(*point) for point in zip(where, bounds, strict=True)] for name, bounds in of.items()}
        common.print_json({"of": points} if len(of) > 1 else {"profile": points[names[0]]})
        return
    heads = [f"{head}, {name}" if len(of) > 1 else head for name in names for head in _HEADS]
    table = common.table("epsilon, nats", *heads)
    for epsilon, *bounds in zip(where, *of.values(), strict=True):
        figures = [figure for low, high in bounds for figure in (wording.at_least(high), f"{low:.6g}")]
        table.add_row(wording.exactly(epsilon), *figures)
    console = common.console()
    console.print(table)
    shown = whole.problem if len(of) > 1 else designs[names[0]].problem
    console.print(f"Achieved: some {wording.such_voters(shown)} reach this delta, so no smaller delta holds.")
    rests = wording.condition(shown, absent=whole.absent)
    profile = f"The profile of a change in {wording.listed(names)}" if len(of) > 1 else "The profile"
    console.print(f"{profile} holds for one release {rests} The guarantee of the design is {wording.guarantee(shown)}.")


def _bounds(design: Design, epsilons: list[float]) -> list[tuple[float, float]]:
    """The bounds of the profile; with absent voters, the largest over all attendances."""
    from darrm.accounting.profile import profile_bounds
    from darrm.show.figures import tables_of

    tables = [profile_bounds(part.table, part.problem, epsilons) for part in tables_of(design)]
    return [(max(low for low, _ in at), max(high for _, high in at)) for at in zip(*tables, strict=True)]


def _point(epsilon: float, bounds: tuple[float, float]) -> dict[str, float]:
    return {"epsilon": epsilon, "delta": bounds[1], "delta_lower": bounds[0]}

"""darrm plan"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from darrm.cli import common
from darrm.show import wording

_NEAR_COINS = 0.3  # disagreement


@click.command("plan", short_help="Find the design that makes the most of a budget.")
@common.K_option
@common.privacy_options
@common.max_affected_option
@common.number("--queries", "How many labels.", required=True)
@common.budget_options
@common.prior_options
@click.option("--shape", type=click.Choice(["free", "monotone"]), help="[the better of both]")
@common.design_option
@common.json_option
def command(prior: str, out: Path | None, as_json: bool, **values: Any) -> None:
    """Find the design of least disagreement of which all labels stay within a total budget."""
    from darrm.accounting.composition import compose
    from darrm.accounting.planning import plan
    from darrm.cli.solve import show
    from darrm.design.design import as_dict

    design = plan(prior=common.take_prior(prior), **values)
    total = compose(design, values["queries"], delta=values["total_delta"], voters=values["voters"])
    if out is not None:
        design.save(out)
    if as_json:
        common.print_json({**as_dict(design), "total": asdict(total)})
    else:
        show(design)
        console = common.console()
        console.print(wording.cost(total))
        console.print(f"Left of the budget: epsilon {values['total_epsilon'] - total.upper:.3g}.")
        if design.disagreement > _NEAR_COINS:
            console.print(
                f"These labels are not far from coin flips, which disagree with half of the majorities: "
                f"{design.disagreement:.2g} here. Ask fewer queries, or raise the budget."
            )
    common.wrote(out)

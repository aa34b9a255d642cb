"""darrm plan"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from darrm.cli import common

_NEAR_COINS = 0.3  # disagreement


@click.command("plan", short_help="Find the design that makes the most of a budget.")
@click.option("--K", "K", type=common.NUMBER, required=True, help="Number of mechanisms.")
@click.option("--epsilon", type=common.NUMBER, required=True, help="Privacy of one mechanism, in nats.")
@click.option("--Delta", "Delta", type=common.NUMBER, default=0.0, help="Failure probability of one mechanism [0].")
@click.option("--changed", type=common.NUMBER, default=None, help="How many mechanisms one record can reach [K].")
@click.option("--queries", type=common.NUMBER, required=True, help="How many labels.")
@click.option("--total-epsilon", type=common.NUMBER, required=True, help="For all labels together, in nats.")
@click.option("--total-delta", type=common.NUMBER, required=True, help="For all labels together.")
@common.voters_option
@common.prior_options
@click.option("--shape", type=click.Choice(["free", "monotone"]), default=None, help="[the better of both]")
@click.option("--out", type=common.PATH, help="Write the design file here.")
@common.json_option
def command(prior: str, out: Path | None, as_json: bool, **values: Any) -> None:
    """Find the design of least disagreement of which all labels stay within a total budget."""
    from darrm.accounting.composition import compose
    from darrm.accounting.planning import plan
    from darrm.design.design import as_dict
    from darrm.show.wording import said

    design = plan(prior=common.take_prior(prior), **values)
    total = compose(design, values["queries"], delta=values["total_delta"], voters=values["voters"])
    if out is not None:
        design.save(out)
    if as_json:
        common.print_json({**as_dict(design), "total": asdict(total)})
    else:
        from darrm.cli.solve import show

        show(design)
        console = common.console()
        console.print(said(total))
        console.print(f"Left of the budget: epsilon {values['total_epsilon'] - total.upper:.3g}.")
        if design.disagreement > _NEAR_COINS:
            console.print(
                f"These labels are not far from coin flips, which disagree with half of the majorities: "
                f"{design.disagreement:.2g} here. Ask fewer queries, or raise the budget."
            )
    if out is not None:
        common.note(f"Wrote {out}.")

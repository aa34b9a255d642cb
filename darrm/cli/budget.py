"""darrm budget"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from darrm.cli import common

if TYPE_CHECKING:
    from darrm.accounting.budget import Total


@click.command("budget", short_help="What many releases cost together.")
@click.argument("file", type=common.PATH)
@click.option("--queries", type=common.NUMBER, required=True, help="How many labels.")
@click.option("--delta", type=common.NUMBER, required=True, help="Failure probability of all of them together.")
@common.voters_option
@common.json_option
def command(file: Path, queries: int, delta: float, voters: str | None, as_json: bool) -> None:
    """The least epsilon with which all labels together are (epsilon, delta)-DP, with proof."""
    from darrm.accounting.budget import check_voters, compose
    from darrm.design.files import load

    check_voters(voters)
    design = load(file)
    total = compose(design, queries, delta=delta, voters=voters)
    if as_json:
        common.print_json(asdict(total))
        return
    console = common.console()
    console.print(said(total))
    for name, value in sorted(total.bounds.items(), key=lambda item: item[1]):
        console.print(f"  {common.number(value):>10}  by {name}")
    console.print(f"It rests on this: {common.condition(design.problem)}")


def said(total: Total) -> str:
    """What labels cost, in a sentence or two."""
    labels = f"{total.queries} label{'s' * (total.queries > 1)}"
    cost = f"({total.upper:.6g}, {total.delta:g})"
    if total.voters == "fixed" and "one label" in total.bounds:
        return f"Fixed voters: one label costs {cost}. The cost of another must not be added to it."
    if total.voters == "fixed":
        return (
            f"Fixed voters: {labels}, or any number of them, cost {cost} in all, with noise or without: they reveal "
            "nothing but what the voters that one record reaches were made to reveal."
        )
    return (
        f"Fresh voters: {labels} cost {cost} together, queries chosen adaptively. Proved; at least {total.lower:.6g} "
        "for the worst voters that are as private as stated."
    )

"""darrm ledger"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from darrm.cli import common


@click.group("ledger", short_help="Keep count of what was released.")
def command() -> None:
    """Keep count of what was released, and refuse what would overspend: darrm release --ledger."""


@command.command("create", short_help="Start a ledger with a total budget.")
@click.argument("ledger", type=common.PATH)
@click.argument("file", type=common.PATH)
@click.option("--total-epsilon", type=common.NUMBER, required=True, help="For all labels together, in nats.")
@click.option("--total-delta", type=common.NUMBER, required=True, help="For all labels together.")
@common.voters_option
@click.option(
    "--rule",
    type=click.Choice(["exact", "basic"]),
    default="exact",
    show_default=True,
    help="exact: this design only. basic: add up any designs.",
)
@common.json_option
def create(ledger: Path, file: Path, as_json: bool, **values: Any) -> None:
    """Start LEDGER for the design in FILE."""
    from darrm.accounting.ledger import Ledger
    from darrm.design.files import load

    made = Ledger.create(ledger, load(file), **values)
    _show(made.status(), as_json)
    common.note(f"Wrote {ledger}.")


@command.command("show", short_help="Say what is spent and what is left.")
@click.argument("ledger", type=common.PATH)
@common.json_option
def show(ledger: Path, as_json: bool) -> None:
    """Say what is spent and what is left of LEDGER."""
    from darrm.accounting.ledger import Ledger

    _show(Ledger(ledger).status(), as_json)


def _show(status: dict[str, Any], as_json: bool) -> None:
    if as_json:
        common.print_json(status)
        return
    left = "no end to them" if status["left"] is None else f"{status['left']} left"
    if status["rule"] == "basic":
        left = "what is left depends on the designs"
    if status["voters"] == "fixed" and status["left"] is None:
        left = "any number: these voters were paid for once"
    common.console().print(
        f"Budget ({status['total_epsilon']:g}, {status['total_delta']:g}) for {status['voters']} voters, rule "
        f"{status['rule']}: {status['released']} labels released, {left}."
    )

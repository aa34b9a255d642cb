"""darrm ledger"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm.cli import common
from darrm.show import wording

if TYPE_CHECKING:
    from darrm.accounting.ledger import Ledger


@click.group("ledger", short_help="Keep count of what was released.")
def command() -> None:
    """Keep count of what was released, and refuse what would overspend: darrm release --ledger.

    Keep one ledger for one set of voters. The budgets of two ledgers add up if voters are fresh. For fixed voters not
    even the sum is a guarantee: only the price of the voters themselves covers both.
    """


@command.command("create", short_help="Start a ledger with a total budget.")
@click.argument("ledger", type=common.PATH)
@common.file_argument
@common.budget_options
@common.choice("--rule", "exact: this design only. basic: add up any designs.", "exact", "basic")
@common.json_option
def create(ledger: Path, file: Path, as_json: bool, **values: Any) -> None:
    """Start LEDGER for the design in FILE."""
    from darrm.accounting.ledger import Ledger
    from darrm.design.design import load

    _show(Ledger.create(ledger, load(file), **values), as_json)
    common.wrote(ledger)


@command.command("show", short_help="Say what is spent and what is left.")
@click.argument("ledger", type=common.PATH)
@common.json_option
def show(ledger: Path, as_json: bool) -> None:
    """Say what is spent and what is left of LEDGER: the released labels are composed anew, which can take seconds."""
    from darrm.accounting.ledger import Ledger

    _show(Ledger(ledger), as_json)


def _show(ledger: Ledger, as_json: bool) -> None:
    status = ledger.status()
    epsilon, delta = ledger.spent()
    if as_json:
        common.print_json({**status, "spent_epsilon": epsilon, "spent_delta": delta})
        return
    left = "no end to them" if status["left"] is None else f"{status['left']} left"
    if status["rule"] == "basic":
        left = "what is left depends on the designs"
    if status["voters"] == "fixed" and status["left"] is None:
        left = "any number to come: the budget pays for these voters themselves"
    failure = wording.exactly(delta) if delta == status["total_delta"] else wording.at_least(delta)
    budget = wording.pair(status["total_epsilon"], status["total_delta"])
    common.console().print(
        f"Budget {budget} for {status['voters']} voters, rule "
        f"{status['rule']}: {status['released']} labels released, {left}. Together "
        f"they cost at most ({wording.at_least(epsilon)}, {failure}) so far"
        + (
            f", unless the labels themselves decided how many there are: then count the whole budget, {budget}."
            if status["left"] != 0 and status["released"]
            else "."
        )
    )
    for problem in ledger.problems():
        common.console().print(f"It rests on this: {wording.condition(problem, status['voters'])}")

"""darrm budget"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm.cli import common
from darrm.problem.groups import without_privacy
from darrm.show import wording

if TYPE_CHECKING:
    from darrm.design.design import Design


@click.command("budget", short_help="Compute the cumulative privacy loss of many labels.")
@common.file_argument
@common.number("--queries", "Number of labels.")
@click.option(
    "--total-epsilon",
    type=common.Numbers(),
    help="In place of --queries: find how many labels this epsilon covers, in nats. E1,E2,...: one for each group.",
)
@common.number("--delta", "Delta of all labels together.", required=True)
@common.voters_option
@common.json_option
def command(
    file: Path, queries: int | None, total_epsilon: Any, delta: float, voters: str | None, as_json: bool
) -> None:
    """Compute the certified total epsilon of --queries labels, or the number of labels that --total-epsilon covers."""
    from darrm._validation import check_voters
    from darrm.accounting.composition import compose
    from darrm.design.design import load

    if (queries is None) == (total_epsilon is None):
        raise click.UsageError("Pass either --queries or --total-epsilon.")
    design = load(file)
    voters = check_voters(voters, [group.epsilon for group in design.problem.groups])
    absent = design.absent
    if queries is None:
        from darrm.accounting.fixed import fixed_voters
        from darrm.accounting.releases import for_each_kind
        from darrm.accounting.search import max_queries
        from darrm.accounting.theorems import MOST_LABELS

        most = max_queries(design, total_epsilon, delta, voters=voters)
        kinds, epsilons = design.problem.kinds, for_each_kind(design.problem, "--total-epsilon", total_epsilon)
        if as_json:
            common.print_json({"queries": most, "total_epsilon": total_epsilon, "delta": delta, "voters": voters})
        else:
            of_voters = [fixed_voters(kind, delta) <= float(epsilons[name]) for name, kind in kinds.items()]
            paid = voters == "fixed" and all(of_voters)
            many = f"{most} label{'s' * (most != 1)}" + " or more" * (most >= MOST_LABELS)
            console = common.console()
            budget = wording.listed(
                wording.pair(float(epsilon), delta) + f" for a change in {name}" * bool(name)
                for name, epsilon in epsilons.items()
            )
            console.print(
                f"{budget} {'covers' if len(kinds) == 1 else 'cover'} "
                f"{'any number of labels' if paid else many} of {voters} voters."
            )
            console.print(_rests_on(design, voters, absent))
            if voters == "fixed" and not paid and not without_privacy(design.problem.groups):
                console.print("Do not add up such budgets for the same fixed voters: keep one ledger for them.")
        return
    total = compose(design, queries, delta=delta, voters=voters)
    if as_json:
        common.print_json(asdict(total))
        return
    console = common.console()
    for kind, own in (total.of or {"": total}).items():
        console.print(f"A change in {kind}. " * bool(kind) + wording.cost(own, design.problem.kinds[kind]))
        for name, value in sorted(own.bounds.items(), key=lambda item: item[1]):
            console.print(f"  {wording.at_least(value):>10}  by {wording.rule(name)}")
    if any(wording.rule(name) == wording.PURE for own in (total, *total.of.values()) for name in own.bounds):
        console.print(f"Pure-DP epsilon of a label: {wording.PURE_EPSILON}.")
    console.print(_rests_on(design, voters, absent))


def _rests_on(design: Design, voters: str | None, absent: bool) -> str:
    asked = wording.of_neighbours(design.problem) if voters == "fixed" else ""
    return f"This holds {wording.condition(design.problem, voters, absent=absent)} {asked}".rstrip()

"""darrm budget"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm.cli import common
from darrm.cli.needed import Command, Given
from darrm.errors import InputError
from darrm.numerics.printed import counted
from darrm.problem.groups import called, without_privacy
from darrm.problem.limits import ANY_NUMBER
from darrm.show import wording

if TYPE_CHECKING:
    from darrm.accounting.fresh import Total
    from darrm.design.design import Design
    from darrm.mechanisms.confident_noisy_max import Noisy

_TOLERANCE = 1e-3  # relative, of a total, as that of `compose`


def _missing(given: Given) -> list[str]:
    return [
        *["'FILE' (or '--noisy-max')"] * (not {"file", "noisy_max"} & given.keys()),
        *["'--queries' (or '--total-epsilon')"] * (not {"queries", "total_epsilon"} & given.keys()),
        *[common.UNLESS_BARE] * (not {"voters", "noisy_max"} & given.keys()),
    ]


@click.command("budget", cls=Command, also=_missing, short_help="Compute the cumulative privacy loss of many labels.")
@click.argument("file", type=common.PATH, required=False)
@common.number(
    "--noisy-max",
    f"In place of FILE: noisy max with Gaussian noise of this sigma over non-private teachers, for {ANY_NUMBER}.",
)
@common.number("--queries", "Number of labels, whose total is computed to a thousandth of it.")
@click.option(
    "--total-epsilon",
    type=common.Numbers(),
    help="In place of --queries: find how many labels this epsilon covers, in nats. E1,E2,...: one for each group.",
)
@common.number("--total-delta", "Delta of all labels together.", required=True)
@common.voters_option
@common.json_option
def command(
    file: Path | None,
    noisy_max: float | None,
    queries: int | None,
    total_epsilon: Any,
    total_delta: float,
    voters: str | None,
    as_json: bool,
) -> None:
    """Compute the certified total epsilon of --queries labels, or the number of labels that --total-epsilon covers.

    The voters are those of FILE, with --randomizer and --colluders as planned or solved. For a known randomizer the
    second total is printed too, with all that it rests on; darrm ledger create --fallback-epsilon keeps that one within
    a budget.
    """
    from darrm.accounting.composition import compose
    from darrm.accounting.releases import checked_voters
    from darrm.design.design import Design
    from darrm.mechanisms.noisy_max import GaussianNoisyMax

    if (queries is None) == (total_epsilon is None):
        raise click.UsageError("Pass either --queries or --total-epsilon.")
    if noisy_max is not None and file is None:
        _of_noisy_max(GaussianNoisyMax(noisy_max), queries, total_epsilon, total_delta, voters, as_json)
        return
    if file is None or noisy_max is not None:
        raise click.UsageError("Pass either the file of a design or --noisy-max SIGMA.")
    design = common.load_release(file)
    if not isinstance(design, Design):
        _of_noisy_max(design, queries, total_epsilon, total_delta, voters, as_json)
        return
    voters = checked_voters(design, voters)
    absent = design.absent
    if queries is None:
        from darrm.accounting.fixed import fixed_voters
        from darrm.accounting.releases import for_each_kind
        from darrm.accounting.search import max_queries
        from darrm.accounting.theorems import MOST_LABELS

        most = max_queries(design, total_epsilon, total_delta, voters=voters)
        others = _if_others_are_any(design, most, total_delta, voters) if most else {}
        kinds, epsilons = design.problem.kinds, for_each_kind(design.problem, "--total-epsilon", total_epsilon)
        if as_json:
            found = {"queries": most, "total_epsilon": total_epsilon, "delta": total_delta, "voters": voters}
            common.print_json({**found, **_fallback(others)})
        else:
            of_voters = [fixed_voters(kind, total_delta) <= float(epsilons[name]) for name, kind in kinds.items()]
            paid = voters == "fixed" and all(of_voters)
            many = counted(most, "label") + " or more" * (most >= MOST_LABELS)
            console = common.console()
            budget = wording.listed(
                wording.pair(float(epsilon), total_delta) + f" for a change in {name}" * bool(name)
                for name, epsilon in epsilons.items()
            )
            console.print(
                f"{budget} {'covers' if len(kinds) == 1 else 'cover'} "
                f"{'any number of labels' if paid else many} of {called(design.problem, voters)} voters."
            )
            console.print(_rests_on(design, voters, absent))
            _show_others(others, most, total_delta)
            if voters == "fixed" and not paid and not without_privacy(design.problem.groups):
                console.print("Do not add up such budgets for the same fixed voters: keep one ledger for them.")
        return
    total = compose(design, queries, delta=total_delta, voters=voters)
    others = _if_others_are_any(design, queries, total_delta, voters)
    if as_json:
        common.print_json({**asdict(total), **_fallback(others)})
        return
    console = common.console()
    for kind, own in (total.of or {"": total}).items():
        console.print(f"A change in {kind}. " * bool(kind) + wording.cost(own, design.problem.kinds[kind]))
        _print_bounds(own)
    if any(wording.rule(name) == wording.PURE for own in (total, *total.of.values()) for name in own.bounds):
        console.print(f"Pure-DP epsilon of a label: {wording.PURE_EPSILON}.")
    console.print(_rests_on(design, voters, absent))
    _show_others(others, queries, total_delta)
    if design.planned_for == "fresh":
        console.print("A plan or a ledger may print a slightly larger total: both stop at coarser bounds. All hold.")


def _if_others_are_any(design: Design, queries: int, delta: float, voters: str) -> dict[str, float]:
    """The total of each kind of change without the assumption on the others; none without a known randomizer."""
    from darrm.accounting.composition import of_label
    from darrm.accounting.releases import one_label

    return {
        kind: of_label(own.of_any_voters(), queries, delta, voters, _TOLERANCE).upper
        for kind, own in one_label(design).kinds.items()
        if own.problem.known
    }


def _fallback(others: Mapping[str, float]) -> dict[str, float]:
    return {"fallback": max(others.values())} if others else {}


def _show_others(others: Mapping[str, float], queries: int, delta: float) -> None:
    from darrm.show.plan_words import if_others_are_any

    if others:
        totals = {f" for a change in {kind}" * bool(kind): (epsilon, delta) for kind, epsilon in others.items()}
        common.console().print(if_others_are_any(queries, totals))


def _of_noisy_max(
    mechanism: Noisy,
    queries: int | None,
    total_epsilon: Any,
    delta: float,
    voters: str | None,
    as_json: bool,
) -> None:
    from darrm.accounting.composition import compose
    from darrm.accounting.fresh import released
    from darrm.accounting.search import max_queries

    console, checked = common.console(), getattr(mechanism, "sigma_check", None) is not None
    if isinstance(total_epsilon, list):
        raise InputError(
            f"--total-epsilon must be a number for noisy max. Got {total_epsilon}. Run once for each total."
        )
    if queries is None:
        most = max_queries(mechanism, total_epsilon, delta, voters=voters)
        if as_json:
            common.print_json({"queries": most, "total_epsilon": total_epsilon, "delta": delta, "voters": voters})
            return
        console.print(f"{wording.pair(total_epsilon, delta)} covers {released(most, most if checked else None)}.")
    else:
        total = compose(mechanism, queries, delta=delta, voters=voters)
        if as_json:
            common.print_json(asdict(total))
            return
        price = f"({wording.at_least(total.upper)}, {wording.exactly(delta)})-DP, certified"
        labels = (
            wording.labels_are(queries) if total.answers is None else f"{released(queries, total.answers)} together are"
        )
        console.print(f"{labels.capitalize()} {price}.")
        console.print(f"For some votes epsilon is at least {total.lower:.6g}. Bounds:")
        _print_bounds(total)
    console.print(wording.of_noisy_max(mechanism.problem, affected=mechanism.max_affected))


def _print_bounds(total: Total) -> None:
    for name, value in sorted(total.bounds.items(), key=lambda item: item[1]):
        common.console().print(f"  {wording.at_least(value):>10}  by {wording.rule(name)}")


def _rests_on(design: Design, voters: str | None, absent: bool) -> str:
    asked = wording.of_neighbours(design.problem) if voters == "fixed" else ""
    return f"This holds {wording.condition(design.problem, voters, absent=absent)} {asked}".rstrip()

"""darrm compare"""

from __future__ import annotations

import math
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm.cli import common, totals
from darrm.cli.problem import goal_option, of_one_kind
from darrm.errors import InputError
from darrm.problem.limits import rests_not_on
from darrm.show import plan_words, wording
from darrm.show.typed import take_decision

if TYPE_CHECKING:
    from darrm.measures.error import Interval

_ABREAST = 6  # mechanisms whose names stand whole beside each other in 80 columns


@click.command("compare", short_help="Compare mechanisms, for one label or at one total budget.")
@common.majority_options(required=False)
@common.number("--total-epsilon", "With --queries: of all labels together. Every mechanism is calibrated to it.")
@totals.voter_options
@click.option("--prior", help=f"{common.PRIORS} [uniform] At one total: of the truth, P0,P1. {common.NOT_RESTING}")
@common.randomized_option
@goal_option
@common.number("--queries", "How many labels: what they cost, or what one total buys for them.")
@common.number("--total-delta", "For all of them together.")
@common.voters_option
@common.number("--draws", "Sample the error too: mean and 95 % interval.")
@common.plot_option("noise functions and errors")
@common.json_option
def command(
    prior: str | None,
    objective: str | None,
    queries: int | None,
    total_delta: float | None,
    voters: str | None,
    draws: int | None,
    plot: Path | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Put the optimum beside all baselines, for one release.

    Of voters that are all alike (--K) it is gamma_opt, beside subsampling, randomized response and noise at the counts.
    Of groups of voters (--group, --release-epsilon and --accuracy) it is the best table of all.

    With --queries, --total-epsilon, --total-delta and --voters: every mechanism calibrated to one total budget of all
    labels, as darrm plan does it.
    """
    release_epsilon = values.pop("release_epsilon")
    if release_epsilon is not None and values["total_epsilon"] is not None:
        raise InputError("--release-epsilon is for one label, --total-epsilon for all together. Pass one of them.")
    if queries is not None and values["total_epsilon"] is not None:
        given = {**values, "prior": prior, "objective": objective, "draws": draws}
        _at_one_total(given, queries, total_delta, voters, plot, as_json)
        return
    strange = [
        name for name, value in {"base-accuracy": values.pop("base_accuracy"), "voters": voters}.items() if value
    ]
    if strange:
        raise InputError(
            f"--{strange[0]} is for one total budget of many labels. Pass --queries, --total-epsilon and --total-delta "
            "too, or leave it out."
        )
    if release_epsilon is not None:
        values["total_epsilon"] = release_epsilon
    if values["group"]:
        others = {"queries": queries, "draws": draws, "total-delta": total_delta, "plot": plot}
        _of_groups({**values, "objective": objective}, prior, others, as_json)
        return
    of_groups = [name for name in ("group", "accuracy", "classes") if values.pop(name)]
    if of_groups:
        raise InputError(f"--{of_groups[0]} goes with --group, or with one total budget of many labels. Leave it out.")
    missing = [f"--{name}" for name in ("K", "epsilon") if values[name] is None]
    if missing:
        raise click.UsageError(f"Missing option '{missing[0]}' (or --group, --release-epsilon and --accuracy).")
    prior = "uniform" if prior is None else prior
    import numpy as np

    from darrm.planning.comparison import compare
    from darrm.show.plots import plot_comparison

    problem = common.take_problem(values)
    under = common.take_prior(prior)
    rng = None if draws is None else np.random.default_rng(0)  # the same figures on every run
    entries = compare(problem, under, objective, queries=queries, total_delta=total_delta, draws=draws, rng=rng)
    common.draw(plot, lambda: plot_comparison(problem, entries))
    common.wrote(plot)
    if as_json:
        rows = [
            {
                "name": entry.name,
                "setting": entry.setting,
                "gamma": entry.gamma.tolist(),
                "error": entry.error,
                "disagreement": entry.disagreement,
                "certificate": asdict(entry.certificate) if entry.certificate else None,
                **({} if queries is None else {"total_fresh": entry.total}),
                **({} if entry.interval is None else {"sampled_error": entry.interval._asdict()}),
            }
            for entry in entries
        ]
        common.print_json({"problem": asdict(problem), "mechanisms": rows})
        return
    console = common.console()
    narrow = console.width < 76
    title = f"One release, {wording.guarantee(problem)}: K = {problem.K}, m = {problem.m:g}"
    table, more = common.table(title=title), common.table()  # two, since one would not fit 80 columns
    for part in (table, more):
        part.add_column("mechanism", overflow="fold", no_wrap=console.width >= 60)
    for name in ("error", "verified") if narrow else ("error", "disagreement", "tight epsilon", "verified"):
        table.add_column(name, justify="right", min_width=8)
    if draws is not None:
        more.add_column("sampled error", justify="right", min_width=8)
    if queries is not None:
        more.add_column(f"{queries} labels, fresh", justify="right", min_width=8)
    for entry in entries:
        holds = entry.within
        cells = [f"{entry.error:.6f}"]
        if not narrow:
            cells += [f"{entry.disagreement:.6f}", wording.at_least(entry.tight_epsilon)]
        style = None if holds else "dim"
        table.add_row(entry.name, *cells, "yes" if holds else "no", style=style)
        figures = [] if entry.interval is None else [_plus_minus(entry.interval)]
        figures += [] if queries is None else [wording.at_least(entry.total)]
        more.add_row(entry.name, *figures, style=style)
    console.print(table)
    noise = "; ".join(f"{entry.name}: {entry.setting}" for entry in entries if entry.setting)
    console.print(f"As little noise as the guarantee allows. {noise}.")
    console.print(f"The guarantee holds {wording.condition(problem)}")
    console.print(rests_not_on("the prior"))
    if len(more.columns) > 1:
        console.print(more)
    if queries is not None and total_delta is not None:
        from darrm.accounting.theorems import optimal

        console.print(
            f"{queries} labels, fresh: total epsilon at delta {wording.exactly(total_delta)}, "
            f"{wording.condition(problem, 'fresh')}"
        )
        try:
            fixed = optimal(problem.epsilon, problem.Delta, problem.max_affected, total_delta).epsilon
            console.print(
                "Fixed voters (made private once, with all their answers together): at most "
                f"({wording.at_least(fixed)}, {wording.exactly(total_delta)}) in all with any of these, even without "
                "noise."
            )
        except InputError as error:
            console.print(f"Fixed voters: {error}")
    shown = [entry for entry in entries if entry.within and not entry.setting]  # the paper's
    tables = math.ceil(len(shown) / _ABREAST)
    for start, end in pairwise(len(shown) * part // tables for part in range(tables + 1)):
        some = shown[start:end]
        title = "gamma by votes, minority:majority" + ", the others" * bool(start)
        gammas = common.table("votes", *(entry.name for entry in some), title=title)
        for l in range(problem.K // 2 + 1, problem.K + 1):
            gammas.add_row(f"{problem.K - l}:{l}", *(f"{entry.gamma[l]:.4f}" for entry in some))
        console.print(gammas)
    console.print(
        "error: the paper's total variation (under votes: priors rows for 0 and for 1 cancel). disagreement: how often "
        f"the label is not the majority of the votes. Both are for one release, under the prior {under}."
    )
    if draws is not None:
        console.print(
            f"sampled error: mean |total variation| over {draws} draws of p, the same for all, and its 95 % interval."
        )


def _of_groups(values: dict[str, Any], prior: str | None, others: dict[str, Any], as_json: bool) -> None:
    """One release of groups of voters."""
    from darrm.planning.comparison import compare

    for name, value in others.items():
        if value is not None:
            raise InputError(f"--{name} is for voters that are all alike, or for one total budget. Leave it out.")
    of_one_kind()
    if values["total_epsilon"] is None and values["m"] is None:
        raise click.UsageError("Missing option '--release-epsilon'.")
    if values["accuracy"] is None and prior is None:
        raise click.UsageError("Missing option '--accuracy'.")
    asked = take_decision({**values, "cost": None, "none": None, "columns": None}, prior, common.take_prior)
    problem, entries = asked["problem"], compare(**asked)
    if as_json:
        rows = [
            {
                "name": entry.name,
                "setting": entry.setting,
                "table": entry.table.tolist(),
                "expected_cost": entry.expected_cost,
                "wrong": entry.wrong,
                "disagreement": entry.disagreement,
                "certificate": asdict(entry.certificate) if entry.certificate else None,
            }
            for entry in entries
        ]
        common.print_json({"problem": asdict(problem), "mechanisms": rows})
        return
    objective = entries[0].design.objective if entries[0].design else None
    heads, lines = plan_words.mechanism_heads(entries), plan_words.mechanism_rows(entries)
    totals.show_rows(heads, lines, f"One release, {wording.guarantee(problem)}")
    console = common.console()
    console.print(f"The guarantee holds {wording.condition(problem)}")
    if objective is not None:
        console.print(f"expected cost: {objective.counted}.")
        console.print(rests_not_on(objective.assumed))


def _plus_minus(interval: Interval) -> str:
    half = (interval.high - interval.low) / 2
    return f"{interval.mean:.6f} +- {half:.1g}"


def _at_one_total(
    values: dict[str, Any],
    queries: int,
    total_delta: float | None,
    voters: str | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    from darrm.planning.planner import plan

    for name, option in {"m": "--m", "delta": "--delta", "objective": "--objective", "draws": "--draws"}.items():
        if values.pop(name) is not None:
            raise InputError(f"{option} is for one release, not for a total of {queries} labels. Leave it out.")
    if total_delta is None:
        raise InputError("--total-delta must be given with --queries and --total-epsilon. Pass e.g. 1e-6.")
    taken = totals.take_setting(values)
    answer = plan(**taken, **values, queries=queries, total_delta=total_delta, voters=voters)
    comparison = answer.comparison
    if comparison is None:
        raise InputError("A comparison at one total needs --base-accuracy or --accuracy: how often votes are right.")
    if plot is not None:
        from darrm.show.plots_plan import plot_comparison_at_one_total

        common.draw(plot, lambda: plot_comparison_at_one_total(comparison))
    if as_json:
        common.print_json({"mechanisms": totals.comparison_values(comparison)})
    else:
        totals.show_comparison(comparison)
        totals.show_assumptions(answer)
    common.wrote(plot)

"""darrm compare"""

from __future__ import annotations

import math
import os
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm.cli import common, needed, outputs, totals
from darrm.cli.needed import Command
from darrm.cli.problem import cost_option, fallback_option, goal_option, none_option, randomizer_options, take_asked
from darrm.errors import InputError, SolverError
from darrm.numerics.printed import counted
from darrm.problem.groups import plain_values
from darrm.problem.limits import rests_not_on
from darrm.show import comparison_words, plan_words, typed, wording

if TYPE_CHECKING:
    from rich.table import Table

    from darrm.baselines.entries import Comparison, Entry
    from darrm.measures.error import Interval
    from darrm.priors import Prior
    from darrm.problem.decision import AnyProblem
    from darrm.problem.majority import MajorityProblem

_MANY = "Pass --queries, --total-epsilon and --total-delta too, or leave it out."
_ABREAST = 6  # mechanisms whose names stand whole beside each other in 80 columns


@click.command("compare", cls=Command, short_help="Compare mechanisms, for one label or at one privacy budget.")
@common.majority_options(required=False)
@click.option(
    "--total-epsilon",
    type=common.Numbers(),
    help="With --queries: epsilon of all labels together, in nats. Every mechanism is calibrated to it. E1,E2,...: a "
    "budget for each group.",
)
@fallback_option
@totals.voter_options
@click.option(
    "--prior",
    help=f"Prior of the votes: {common.PRIORS[:-1]} [uniform]. At one total: "
    f"prior of the truth, P0,P1. {common.NOT_RESTING}",
)
@common.randomized_option
@goal_option
@cost_option
@randomizer_options
@none_option
@common.number(
    "--queries",
    "Number of labels. Prints their total epsilon, or with --total-epsilon compares mechanisms at that total.",
)
@common.number("--total-delta", "Delta of all labels together.")
@common.voters_option
@common.number("--draws", "Also estimate the error from this many sampled p: mean and 95 % interval.")
@click.option(
    "--out",
    type=outputs.TABLE,
    help="Write a row for each mechanism here: .csv, .json, .tex or .parquet (needs pyarrow).",
)
@click.option(
    "--extra",
    multiple=True,
    metavar="NAME=GAMMA",
    help="For one release: a noise function of your own too, NAME=g0,...,gK or NAME=FILE of a design. Repeat for more.",
)
@click.option(
    "--gammas",
    type=outputs.TABLE,
    help="For one release of a majority: write gamma of each mechanism here, in the formats of --out.",
)
@common.plot_option("noise functions and errors")
@click.option(
    "--curves",
    metavar="NAME,...",
    help="With --plot, for one release of a majority: the mechanisms whose noise functions are drawn [those without "
    "noise that was searched].",
)
@common.json_option
def command(
    prior: str | None,
    objective: str | None,
    queries: int | None,
    total_delta: float | None,
    voters: str | None,
    draws: int | None,
    out: Path | None,
    extra: tuple[str, ...],
    gammas: Path | None,
    plot: Path | None,
    curves: str | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Compare the optimum with all baselines, for one release.

    For voters that are all alike (--K) the optimum is gamma_opt, beside subsampling, randomized response and noisy
    counts. For groups of voters (--group, --release-epsilon and --accuracy) it is the optimal table.

    With --queries, --total-epsilon, --total-delta and --voters every mechanism is calibrated to one privacy budget for
    all labels, as in darrm plan.
    """
    if values["release_epsilon"] is not None and values["total_epsilon"] is not None:
        raise InputError("--release-epsilon is for one label, --total-epsilon for all together. Pass one of them.")
    if queries is not None and values["total_epsilon"] is not None:
        values.pop("release_epsilon")
        if extra:
            raise InputError(
                f"--extra is for one release, not for a total of {counted(queries, 'label')}. Leave it out."
            )
        if gammas is not None:
            raise InputError(
                f"--gammas is for one release, not for a total of {counted(queries, 'label')}. Leave it out."
            )
        if curves is not None:
            raise InputError(
                f"--curves is for one release, not for a total of {counted(queries, 'label')}. Leave it out."
            )
        given = {**values, "prior": prior, "objective": objective, "draws": draws}
        _at_one_total(given, queries, total_delta, voters, out, plot, as_json)
        return
    total_epsilon, base = values.pop("total_epsilon"), values.pop("base_accuracy")
    if total_epsilon is not None:
        if values["group"]:
            raise InputError(f"--total-epsilon is for many labels. {_MANY}")
        values["release_epsilon"] = total_epsilon
    fallback = values.pop("fallback_epsilon")
    for name, value in {"base-accuracy": base, "voters": voters, "fallback-epsilon": fallback}.items():
        if value:
            raise InputError(f"--{name} is for one privacy budget of many labels. {_MANY}")
    asked = take_asked({**values, "columns": None, "objective": objective}, prior)
    of_gammas = {"queries": queries, "draws": draws, "total-delta": total_delta, "plot": plot, "gammas": gammas}
    for name, value in of_gammas.items():
        if value is not None and values["group"]:
            raise InputError(f"--{name} goes with --K and --m, or with a privacy budget of --queries. Leave it out.")
    if (queries is None) != (total_delta is None):
        raise click.UsageError("--queries and --total-delta go together. Pass both, or none.")
    import numpy as np

    from darrm.baselines.entries import never_of
    from darrm.planning.comparison import compare, mechanisms_of
    from darrm.show.plots import plot_comparison

    rng = None if draws is None else np.random.default_rng(0)  # the same figures on every run
    if curves is not None and plot is None:
        raise InputError("--curves names what --plot draws. Got no --plot. Pass it too, or leave --curves out.")
    lines = None if curves is None else typed.names("--curves", curves)
    own = dict(_own(one, values["K"], asked["problem"]) for one in extra)
    if len(own) < len(extra):
        raise InputError(f"--extra must have a name of its own for each noise function. Got {', '.join(extra)}.")
    known = [] if lines is None else mechanisms_of(asked["problem"], own)
    unknown = never_of(lines or (), known)  # before the comparison, which can take long
    if unknown:
        raise InputError(f"--curves must be names of mechanisms: {', '.join(known)}. Got {', '.join(unknown)}.")
    entries = compare(**asked, queries=queries, total_delta=total_delta, draws=draws, rng=rng, extra=own)
    problem = asked["problem"]
    # First, because it can refuse a setting in --curves: then no file is written.
    common.draw(plot, lambda: plot_comparison(problem, entries, curves=lines))
    _keep(out, entries)
    if gammas is not None:
        entries.write(gammas, gammas=True)
    common.wrote(out, gammas, plot)
    if as_json:
        common.print_json(
            {
                "problem": plain_values(problem),
                "mechanisms": [_values(entry, queries) for entry in entries],
                "assumption": entries.assumption or None,
            }
        )
        return
    _show(problem, entries)
    if not math.isnan(entries[0].error):
        _show_more(problem, entries, queries, total_delta, draws, asked["prior"])


def _own(text: str, K: int | None, problem: AnyProblem) -> tuple[str, Any]:
    """A table of the user and its name: numbers, or that of a design file, which is verified for the problem anew."""
    from darrm.design.loading import load
    from darrm.problem import encodings

    name, _, table = text.partition("=")
    if not name or not table:
        raise InputError(f"--extra must be NAME=g0,...,gK or NAME=FILE. Got {text!r}. Pass e.g. {_example(K)}.")
    try:
        given: Any = typed.numbers(f"--extra {name}", table)
    except InputError:
        if table.endswith(".json") or os.path.isfile(table):
            given = load(table).table
        else:
            raise InputError(
                f"--extra {name} must be numbers with commas between, or the path of a design file. Got {table!r}, "
                f"which is neither. Pass e.g. {_example(K)}."
            ) from None
    try:
        return name, encodings.table(given, problem)  # before the comparison, which can take long
    except InputError as error:
        raise InputError(f"--extra {name}: {error}") from None


def _example(K: int | None) -> str:
    """A noise function of K voters as it is typed."""
    return f"mine={','.join(['1'] * (K + 1))}" if isinstance(K, int) and 0 < K < 12 else "mine=gamma.json"


def _values(entry: Entry, queries: int | None) -> dict[str, object]:
    """A mechanism for one release as plain values: of a majority its gamma and error, else its table and costs."""
    gamma = not math.isnan(entry.error)
    names = ("gamma", "error", "disagreement") if gamma else ("table", "expected_cost", "wrong", "disagreement")
    figures = {name: getattr(entry, name) for name in names}
    return {
        "name": entry.name,
        "setting": entry.setting,
        **figures,
        names[0]: figures[names[0]].tolist(),
        "certificate": entry.certificate.as_dict() if entry.certificate else None,
        **({} if queries is None else {"total_fresh": entry.total}),
        **({} if entry.interval is None else {"sampled_error": entry.interval._asdict()}),
    }


def _show(problem: AnyProblem, entries: Comparison) -> None:
    """The error and guarantee of each mechanism for one release, its noise, and the conditions of the guarantee."""
    console = common.console()
    heads, rows = comparison_words.mechanism_heads(entries), comparison_words.mechanism_rows(entries)
    kept = [0, 1, len(heads) - 1] if console.width < 76 else range(len(heads))
    table = common.table(title=f"One release, {wording.guarantee(problem)}, of K = {problem.K} voters")
    _add_names(table, console.width)
    for at in kept[1:]:
        table.add_column(common.narrow(heads[at]), justify="right", min_width=max(8, *map(len, heads[at].split())))
    for entry, row in zip(entries, rows, strict=True):
        table.add_row(entry.name, *(row[at] for at in kept[1:]), style=None if entry.within else "dim")
    console.print(table)
    noise = "; ".join(f"{entry.name}: {entry.setting}" for entry in entries if entry.setting)
    if noise:
        console.print(f"The least noise that satisfies the guarantee, by a search: {noise}.")
    if comparison_words.by_kind(entries):
        console.print(comparison_words.columns_meant(entries))
    console.print(f"The guarantee holds {wording.condition(problem)}")
    best = entries[0].design
    if best is not None:
        if best.encoding.name != "gamma":
            console.print(f"expected cost: {best.objective.cost_in_words}.")
        console.print(rests_not_on(best.objective.assumed))


def _show_more(
    problem: MajorityProblem,
    entries: Comparison,
    queries: int | None,
    total_delta: float | None,
    draws: int | None,
    under: Prior,
) -> None:
    """Of a majority: sampled errors and totals of many labels, and the noise functions of the paper."""
    console, more = common.console(), common.table()
    _add_names(more, console.width)
    if draws is not None:
        more.add_column("sampled error", justify="right", min_width=8)
    if queries is not None:
        more.add_column(common.narrow(f"total epsilon, {counted(queries, 'label')}"), justify="right", min_width=8)
    for entry in entries:
        figures = [] if entry.interval is None else [_plus_minus(entry.interval)]
        figures += [] if queries is None else [wording.at_least(entry.total)]
        more.add_row(entry.name, *figures, style=None if entry.within else "dim")
    if len(more.columns) > 1:
        console.print(more)
    if queries is not None and total_delta is not None:
        from darrm.accounting.theorems import optimal

        console.print(
            f"Total epsilon of {counted(queries, 'label')} of fresh voters, at delta {wording.exactly(total_delta)}, "
            f"{wording.condition(problem, 'fresh')}"
        )
        try:
            fixed = optimal(problem.epsilon, problem.Delta, problem.max_affected, total_delta).epsilon
            console.print(
                "Fixed voters (trained with DP once, private over all their answers together): any number of labels of "
                f"any of these mechanisms is ({wording.at_least(fixed)}, {wording.exactly(total_delta)})-DP, even "
                "without output noise."
            )
        except InputError:  # the only one that these arguments can have
            console.print("Fixed voters: no total is certified at this delta: that of the affected voters is larger.")
        if problem.delta > 0 and any(entry.within and math.isinf(entry.total) for entry in entries):
            console.print(
                "Infinite: there is no total at so small a delta. Solve and compare with --delta 0: every mechanism "
                "that is private enough then has a total at every delta. Or pass a larger --total-delta."
            )
    shown = [entry for entry in entries if entry.within and not entry.setting]  # the paper's
    tables = math.ceil(len(shown) / _ABREAST)
    for start, end in pairwise(len(shown) * part // tables for part in range(tables + 1)):
        some = shown[start:end]
        title = "gamma by votes, minority:majority" + ", further mechanisms" * bool(start)
        gammas = common.table("votes", *(entry.name for entry in some), title=title)
        for votes, *row in zip(*entries[[entry.name for entry in some]].gammas().values(), strict=True):
            gammas.add_row(votes, *(f"{value:.4f}" for value in row))
        console.print(gammas)
    cancel = " (errors at votes for 0 and for 1 cancel in the mean)" * str(under).startswith("votes")
    tie = f"; a tie agrees with both labels.{wording.AT_A_TIE}" if problem.K % 2 == 0 else "."
    console.print(
        f"Expected TV error: mean total variation distance from the plain majority, as in the paper{cancel}. "
        "Disagreement rate: probability that the label differs from the majority "
        f"of the votes{tie} Both are for one release, under the prior {under}."
    )
    if draws is not None:
        console.print(
            f"Sampled error: mean |total variation| over {draws} draws of p, the same for all, and its 95 % interval."
        )


def _add_names(table: Table, width: int) -> None:
    table.add_column("mechanism", overflow="fold", no_wrap=width >= 60)


def _plus_minus(interval: Interval) -> str:
    half = (interval.high - interval.low) / 2
    return f"{interval.mean:.6f} +- {half:.1g}"


def _at_one_total(
    values: dict[str, Any],
    queries: int,
    total_delta: float | None,
    voters: str | None,
    out: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    from darrm.planning.planner import plan

    for name, option in {
        "m": "--m",
        "delta": "--delta",
        "objective": "--objective",
        "draws": "--draws",
    }.items():
        if values.pop(name) is not None:
            raise InputError(
                f"{option} is for one release, not for a total of {counted(queries, 'label')}. Leave it out."
            )
    given = {name: value for name, value in {**values, "voters": voters}.items() if value not in (None, ())}
    lacking = ["'--total-delta'"] * (total_delta is None) + totals.missing(given)
    if len(lacking) > 1:
        raise click.UsageError(needed.said(lacking))
    if total_delta is None:
        raise InputError("--total-delta must be given with --queries and --total-epsilon. Pass e.g. 1e-6.")
    taken = totals.take_setting(values)
    answer = plan(**taken, **values, queries=queries, total_delta=total_delta, voters=voters)
    comparison = answer.comparison
    if comparison is None:
        if answer.complete:
            reached = answer.problem.max_affected
            lacks = (
                f"for one changed vote only. Got max_affected = {reached}. darrm plan finds the noise for it."
                if reached > 1
                else "by the accuracy of the votes. Pass --accuracy."
            )
            raise InputError(f"No table fits these voters, and other mechanisms are compared {lacks}")
        raise SolverError("The time limit ended before all mechanisms were calibrated. Pass a longer one.")
    _keep(out, comparison)
    if plot is not None:
        from darrm.show.plots_plan import plot_comparison_at_one_total

        common.draw(plot, lambda: plot_comparison_at_one_total(comparison))
    if as_json:
        bound = comparison.cost_at_least
        of_plan = {
            **{"cost_at_least": bound, "counts": answer.counts, "fallback": answer.fallback},
            **{"fallback_epsilon": answer.fallback_epsilon, "assumption": comparison.assumption or None},
        }
        common.print_json({"mechanisms": totals.comparison_values(comparison), **of_plan})
    else:
        totals.show_comparison(comparison)
        known = plan_words.otherwise(answer, stated=True)
        said = " ".join([plan_words.together(answer), *known]) if known else plan_words.poor(answer).rstrip()
        if said:
            common.console().print(f"Planned: {said}")
        common.console().print(plan_words.aggregator(answer))
        totals.show_assumptions(answer)
    common.wrote(out, plot)


def _keep(out: Path | None, comparison: Comparison) -> None:
    if out is not None:
        comparison.write(out)

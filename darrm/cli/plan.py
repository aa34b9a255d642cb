"""darrm plan"""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from darrm.cli import common, outputs
from darrm.cli.long_run import progress
from darrm.cli.needed import Command
from darrm.cli.problem import columns_option, fallback_option, randomizer_options
from darrm.cli.suggestions import line, options_given, suggest, suggest_release
from darrm.cli.totals import comparison_values, missing, show_assumptions, show_comparison, show_rows, take_setting
from darrm.cli.totals import options as setting_options
from darrm.errors import InputError
from darrm.problem.groups import without_privacy
from darrm.show import plan_words

if TYPE_CHECKING:
    from darrm.planning.answers import Plan
    from darrm.planning.planner import Progress


@click.command("plan", cls=Command, also=missing, short_help="Plan many labels within one privacy budget.")
@setting_options
@columns_option
@randomizer_options
@fallback_option
@common.number("--at-most", "For epsilon auto: largest epsilon of one vote, in nats.")
@common.number("--aggregator-epsilon", "For epsilon auto: largest epsilon of all votes together, in nats.")
@click.option(
    "--no-comparison",
    is_flag=True,
    help="Leave out the comparison with other mechanisms, and the totals for other numbers of colluders.",
)
@common.number(
    "--time-limit",
    "Stop the search after this many seconds and return the best design so far [no limit].",
    default=math.inf,
)
@common.plot_option("the label error rate by epsilon of a vote, or of each mechanism,")
@common.design_option
@common.json_option
def command(no_comparison: bool, plot: Path | None, out: Path | None, as_json: bool, **values: Any) -> None:
    """Plan many labels within one privacy budget.

    Prints the guarantee of all labels together, the label error rate, other mechanisms at the same budget, and the
    guarantee of all votes together.

    Example: 200 labels of 25 hospitals, each of which randomizes its answer with epsilon 0.5. A patient is in at most
    one hospital, and a neighbouring data set replaces the patient by another of the same hospital; otherwise two
    hospitals would be affected:

    \b
      darrm plan --K 25 --epsilon 0.5 --base-accuracy 0.85 --max-affected 1 \\
        --queries 200 --total-epsilon 6 --total-delta 1e-6 --voters fresh
    """
    from darrm.design.design import Design
    from darrm.planning.asked import groups_of
    from darrm.planning.planner import plan

    replaced = outputs.replaces(out)
    setting = take_setting(values)
    if out is not None:
        _check_writable(setting, values)
    if plot is not None and no_comparison and not groups_of(setting["groups"], None, None, 0.0)[1]:
        raise click.UsageError("--plot draws the comparison. Leave out --no-comparison, or --plot.")
    with progress(_said) as report:
        answer = plan(**setting, **values, compare=not no_comparison, report=report)
    if out is not None:
        answer.chosen.save(out)
    if plot is not None:
        from darrm.show.plots_plan import plot_plan

        common.draw(plot, lambda: plot_plan(answer))
    if as_json:
        common.print_json(plan_values(answer))
    else:
        show(answer)
    common.wrote(out, plot)
    if replaced:
        common.note(replaced)
    made = answer.chosen
    if out is not None and isinstance(made, Design):
        outputs.say_held(out, made)
    if as_json:
        return
    if out is None and not _writable(answer):
        common.note(f"A design for these voters is too large for a file. {_instead(answer)}")
    elif out is None:
        suggest(
            "To save the design" if isinstance(made, Design) else "To save the mechanism",
            "plan",
            *options_given(),
            "--out",
            "design.json",
        )
    else:
        ledger = out.with_name(f"{out.stem}-ledger.db")
        epsilons = [own.total_epsilon for own in answer.of.values()] or [answer.total_epsilon]
        total = ["--total-epsilon", ",".join(map(str, epsilons)), "--total-delta", float(answer.total_delta)]
        if answer.fallback_epsilon < math.inf:
            seconds = [epsilon / answer.total_epsilon * answer.fallback_epsilon for epsilon in epsilons]
            total += ["--fallback-epsilon", ",".join(map(str, seconds))]
        count = "To charge its labels to a ledger"
        if answer.voters == "fixed" and answer.aggregator <= answer.total_epsilon and not answer.of:
            rule = line("--rule", "in-advance", "--adjacency", answer.problem.adjacency)
            count += f" (for several designs of these voters: {rule} in place of {out})"
        kind = () if without_privacy(answer.problem.groups) else ("--voters", answer.voters)
        suggest(count, "ledger", "create", ledger, out, *total, *kind)
        suggest_release(out, made, ledger)


def _writable(answer: Plan) -> bool:
    """Whether the same plan takes --out; noisy max that was the plan only for lack of time does not."""
    from darrm.design.content import check_writable
    from darrm.design.design import Design

    if answer.complete and not isinstance(answer.chosen, Design):
        return True
    try:
        check_writable(answer.problem)
    except InputError:
        return False
    return True


def _instead(answer: Plan) -> str:
    """What to release by, where the design has no file."""
    from darrm.design.design import Design

    if not isinstance(answer.chosen, Design):
        return f"In Python {answer.chosen!r} has this noise; its save makes a file that darrm release reads."
    noise = next((row for row in answer.comparison or () if row.name == "Gaussian noisy max"), None)
    if answer.disagreement == 0:
        return "It needs none: it adds no noise, so release the class with most votes of each row."
    if noise is None:
        return "Let the plan compare mechanisms (a longer --time-limit, no --no-comparison), and release by one."
    return f"Release by a mechanism of darrm.mechanisms, such as GaussianNoisyMax with {noise.setting}."


def _check_writable(setting: dict[str, Any], values: dict[str, Any]) -> None:
    """Refuse voters whose design could be too large for a file, before work on it begins; noisy max fits any."""
    from darrm.certificate.engines import engine
    from darrm.design.content import check_writable
    from darrm.planning.asked import groups_of
    from darrm.planning.beyond_tables import beyond_tables
    from darrm.problem.decision import DecisionProblem
    from darrm.problem.groups import VoterGroup

    groups, classes = groups_of(setting["groups"], None, None, 0.0)[0], setting["classes"]
    counts = [VoterGroup(group.count, 1.0) for group in groups]
    try:
        several = isinstance(values["total_epsilon"], list)
        if "cost" not in setting and not values["ordered"] and values["total_delta"] > 0 and not several:
            reached, adjacency, none = values["max_affected"], values["adjacency"], bool(setting.get("none"))
            if beyond_tables(groups, reached, 2 if classes is None else classes, adjacency, none) is not None:
                return
        problem = DecisionProblem(counts, 1.0, 0.0, 2 if classes is None else classes, max_affected=1)
        engine(problem).check_size(problem)
    except InputError:
        return  # the plan refuses it too, and says what to do
    check_writable(problem)


def _said(now: Progress) -> tuple[int, int | None, str]:
    return now.done, now.steps, f"{now.doing}, step {now.done + 1} of {now.steps}"


def plan_values(answer: Plan) -> dict[str, object]:
    """A plan as plain values."""
    from darrm.design.design import Design, as_dict

    made = answer.chosen
    values = {name: value for name, value in vars(answer).items() if name not in ("chosen", "curve", "comparison")}
    values["design"] = as_dict(made) if isinstance(made, Design) else None
    values["mechanism"] = None if isinstance(made, Design) else made.as_dict()
    values["on_votes"] = None if answer.on_votes is None else asdict(answer.on_votes)
    values["of"] = {kind: own._asdict() for kind, own in answer.of.items()}
    values["curve"] = [asdict(step) for step in answer.curve]
    values["comparison"] = [] if answer.comparison is None else comparison_values(answer.comparison)
    values["cost_at_least"] = None if answer.comparison is None else answer.comparison.cost_at_least
    return values


def show(answer: Plan) -> None:
    """The answer in the order in which people ask."""
    console = common.console()
    console.print(plan_words.together(answer))
    for sentence in plan_words.otherwise(answer):
        console.print(sentence)
    for remark in plan_words.remarks(answer):
        console.print(remark)
    console.print()
    show_rows(plan_words.RATE_HEADS, plan_words.wrong_rows(answer))
    console.print()
    if answer.comparison is not None:
        show_comparison(answer.comparison, stated=True)
        console.print()
    if answer.curve:
        show_rows(plan_words.CURVE_HEADS, plan_words.curve_rows(answer), plan_words.CURVE_TITLE)
        console.print()
    console.print(plan_words.aggregator(answer))
    console.print(plan_words.one_label(answer))
    show_assumptions(answer)

"""Pictures of a plan: label error rate over the epsilon of the votes with both totals, and mechanisms at one budget."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from darrm.numerics.printed import counted, exactly
from darrm.problem.groups import rests_on, without_privacy
from darrm.show.figures import LOOKS, REST, TEXT, axes_of, curve, name_lines, new_figure, tidy
from darrm.show.wording import at_least

_NOTE = 84  # characters in a line of the note on known randomizers
_MOST = 44  # characters on groups that a title has room for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from darrm.baselines.entries import Comparison, Entry
    from darrm.planning.answers import Plan
    from darrm.problem.groups import ByGroups


def plot_plan(plan: Plan) -> Any:
    """Draw a plan.

    With a curve (epsilon "auto"): above, the label error rate over the epsilon of a vote; below, the epsilon of all
    labels together and that of all votes together. Without: the mechanisms of the comparison at one privacy budget.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import darrm
    >>> answer = darrm.plan(K=5, epsilon=1.0, base_accuracy=0.9, max_affected=1, queries=10, total_epsilon=2,
    ...                     total_delta=1e-5, voters="fresh")
    >>> darrm.show.plots_plan.plot_plan(answer).savefig("plan.png")
    """
    if len(plan.curve) > 1:
        return _curve(plan)
    if plan.comparison is None:
        from darrm.errors import InputError

        raise InputError('A plan is drawn by its curve (epsilon "auto") or its comparison. This one has neither.')
    return plot_comparison_at_one_total(plan.comparison).figure


def _curve(plan: Plan) -> Any:
    figure = new_figure((5.7, 5.0))
    above, below = figure.subplots(2, 1, sharex=True)
    epsilons = [step.epsilon for step in plan.curve]
    curve(above, epsilons, [step.wrong for step in plan.curve], LOOKS[0], "this plan")
    if math.isfinite(plan.wrong_without_privacy):
        above.axhline(plan.wrong_without_privacy, color=REST, linewidth=1, label="no privacy\nat all")
    above.set(ylabel="label error rate", ylim=(-0.02, None))
    title = f"{_voters(plan.problem)}\n{_budget(plan)}"
    if plan.problem.known:
        title += f"\n{textwrap.fill(f'The totals of labels hold if {rests_on(plan.problem)}', _NOTE)}"
    above.set_title(title, fontsize=TEXT)
    private = [step for step in plan.curve if math.isfinite(step.aggregator)]
    curve(below, [s.epsilon for s in private], [s.aggregator for s in private], LOOKS[1], "all votes")
    curve(below, epsilons, [step.public for step in plan.curve], LOOKS[2], "all labels")
    # Nothing but zeros has no logarithm: votes of tiny epsilon cost nothing beyond the total delta.
    scale = "log" if any(max(step.public, step.aggregator) > 0 for step in plan.curve) else "linear"
    below.set(xscale="log", yscale=scale, xlabel="epsilon of one vote, nats", ylabel="total epsilon, nats")
    for ax in (above, below):
        tidy(ax)
        name_lines(ax)
    return figure


def plot_comparison_at_one_total(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Draw the label error rate of each mechanism at one privacy budget: a bar each, the planned one in colour.

    The bar of a mechanism over the budget is paler, and its total stands below its name. With a known randomizer each
    bar says which budget binds, and a note what the totals rest on.

    Parameters
    ----------
    comparison : Comparison
    ax : matplotlib axes, optional
        Made if not given.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import darrm
    >>> answer = darrm.plan(K=5, epsilon=1.0, base_accuracy=0.9, max_affected=1, queries=10, total_epsilon=2,
    ...                     total_delta=1e-5, voters="fresh")
    >>> axes = darrm.show.plots_plan.plot_comparison_at_one_total(answer.comparison)
    >>> axes.figure.savefig("comparison.png")
    """
    own = ax is None
    note = textwrap.wrap(comparison.note, _NOTE)
    if ax is None:
        ax = new_figure((5.7, 0.34 * len(comparison) + 1.2 + 0.16 * len(note))).add_subplot()
    ax = axes_of(ax)
    rows = comparison.entries[::-1]
    known = not any(math.isnan(row.wrong) for row in rows)
    lengths = [row.wrong if known else row.expected_cost for row in rows]
    names = [row.name if row.within else f"{row.name}\n{_over(row, comparison)}" for row in rows]
    bars = ax.barh(names, lengths, height=0.62)
    for bar, row, length in zip(bars, rows, lengths, strict=True):
        bar.set_color(LOOKS[0][0] if row is comparison[0] else REST)
        if not row.within:
            bar.set_alpha(0.35)
        middle = bar.get_y() + bar.get_height() / 2
        said = f"{length:.3f}" if length >= 0.01 else f"{length:.2g}"
        said += f", {comparison.binding(row)} budget" * bool(comparison.second_budget)
        ax.annotate(said, (length, middle), (3, 0), textcoords="offset points", va="center", fontsize=TEXT)
    room = 1.6 if comparison.second_budget else 1.25  # for the words beside the bars
    ax.set(xlabel="label error rate" if known else "expected cost of a label", xlim=(0, room * max(lengths)))
    ax.grid(visible=False, axis="y")
    ax.tick_params(axis="y", labelsize=TEXT)
    planned = comparison[0].design
    who = "" if planned is None else f"{_voters(planned.problem, epsilons=True)}\n"
    title = "\n".join([f"{who}{_budget(comparison)}", *note])
    if own:  # a title as wide as the picture
        ax.figure.suptitle(title, fontsize=TEXT)
    else:
        ax.set_title(title, fontsize=TEXT)
    return ax


def _over(row: Entry, comparison: Comparison) -> str:
    """By how much a mechanism is over the budget that it exceeds by more."""
    if comparison.binding(row) == "second":
        return f"(over second budget: {at_least(row.fallback)})"
    return f"(over budget: {at_least(row.total)})"


def _voters(problem: ByGroups, *, epsilons: bool = False) -> str:
    """Who votes, and how many one change reaches; with the epsilon of a vote where it is one for all rows."""
    groups, voters = problem.groups, f"K = {counted(problem.K, 'voter')}"
    each = ", ".join(f"{group.count} of epsilon {exactly(group.epsilon)}" for group in groups)
    if without_privacy(groups):
        return f"K = {problem.K} non-private voters, max_affected = {problem.max_affected}"
    said = f" of epsilon {exactly(groups[0].epsilon)}" if len(groups) == 1 else f" ({each})"
    if not epsilons or len(said) > _MOST:
        said = f" in {len(groups)} groups" * (len(groups) > 1)
    return f"{voters}{said}, max_affected = {problem.max_affected}"


def _budget(asked: Plan | Comparison) -> str:
    labels = f"{counted(asked.queries, 'label')} of {asked.called} voters"
    epsilons = [own.total_epsilon for own in asked.of.values()] or [asked.total_epsilon]
    return f"{labels} within ({' / '.join(map(exactly, epsilons))}, {exactly(asked.total_delta)})"

"""Designs as HTML, for notebooks, and their pictures as data addresses that need no file and no network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from darrm.baselines.entries import Comparison
from darrm.design.design import Design
from darrm.errors import MissingExtraError
from darrm.planning.answers import Plan
from darrm.problem.decision import allowance
from darrm.show import classes
from darrm.show.figures import data_address, new_figure
from darrm.show.markup import Markup, details, element, grid, join, paragraph, text
from darrm.show.plan_words import comparison_html, plan_html
from darrm.show.wording import condition, guarantee

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from darrm.design.design import Design


def gamma_figure(designs: Mapping[str, Design]) -> Any:
    """One picture of one or two noise functions; two sizes K share the picture, each with an axis of its own.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    from darrm.show.plots import plot_gamma

    name, design = next(iter(designs.items()))
    K = design.problem.K
    if all(other.problem.K == K for other in designs.values()):
        ax = plot_gamma(design.problem, {name: other.gamma for name, other in designs.items()}, _axes(len(designs)))
    else:
        _, (other_name, other) = designs.items()
        ax = plot_gamma(design.problem, {name: design.gamma}, _axes(len(designs)))
        # A line of nothing takes the first colour, so that the legend names both.
        nothing = np.full(other.gamma.shape, np.nan)
        top = plot_gamma(other.problem, {name: nothing, other_name: other.gamma}, ax.twiny())
        ax.set(xlabel=f"number of votes for 1, l, {name}", xlim=(-0.05 * K, 1.05 * K))
        other_K = other.problem.K
        top.set(xlabel=f"number of votes for 1, l, {other_name}", xlim=(-0.05 * other_K, 1.05 * other_K), title="")
        top.grid(visible=False)
        top.spines["top"].set_visible(True)
    if len(designs) > 1:
        ax.set_title("")  # it would name the first problem only
    return ax.figure


def _axes(many: int) -> Axes:
    # Margins by hand: a layout engine draws everything twice, and the page waits for it.
    height, bottom, top = (3.1, 0.15, 0.91) if many == 1 else (3.9, 0.2, 0.865)
    figure = new_figure((5.7, height), None)
    figure.subplots_adjust(left=0.1, right=0.985, bottom=bottom, top=top)
    axes: Axes = figure.add_subplot()
    return axes


def gamma_picture(designs: Mapping[str, Design]) -> str:
    """`gamma_figure` as a data address of an SVG, the same bytes every time; may be called from many threads."""
    return data_address(gamma_figure(designs), fonttype="none")


def described(designs: Mapping[str, Design]) -> str:
    """What a picture of gamma shows, for those who cannot see it."""
    parts = []
    for name, design in designs.items():
        half, [votes] = design.gamma[design.problem.K // 2 + 1 :], design.problem.groups
        parts.append(
            f"{name}: for K = {votes.count}, m = {allowance(design.problem):g}, epsilon = {votes.epsilon:g}, gamma is "
            f"{half[0]:.3g} for the closest vote, {half[-1]:.3g} for a unanimous one and {half.min():.3g} at least."
        )
    return " ".join(parts)


def notebook_html(shown: Design | Plan | Comparison) -> str:
    """A design with its guarantee, picture (if matplotlib is installed) and table, a plan, or a comparison."""
    if isinstance(shown, Plan):
        return plan_html(shown)
    return comparison_html(shown) if isinstance(shown, Comparison) else design_html(shown)


def design_html(design: Design) -> str:
    """Guarantee, picture (if matplotlib is installed) and table of a design, for a notebook."""
    return _majority(design) if design.encoding.name == "gamma" else _decision(design)


def _majority(design: Design) -> Markup:
    problem, named = design.problem, {"gamma": design}
    try:
        picture = element("img", alt=described(named), src=gamma_picture(named), style="max-width:100%")
    except MissingExtraError:
        picture = text("")
    verified = (
        f"Verified: one release of the majority of K = {problem.K} votes is {guarantee(problem)}, {condition(problem)} "
        f"Error {design.error:.6g} (tv), disagreement {design.disagreement:.6g}, under {design.prior}."
    )
    return join([paragraph(verified), picture, details("gamma by votes", gamma_table(design))])


def _decision(design: Design) -> Markup:
    from darrm.show.plots_decision import described, not_drawn, plot_decision

    problem = design.problem
    parts = [
        paragraph(
            f"Verified: one release of a decision by {problem.K} voter{'s' * (problem.K > 1)} is {guarantee(problem)}, "
            f"{condition(problem, absent=design.absent)} Expected cost {design.expected_cost:.6g} ({design.objective})."
        )
    ]
    if not not_drawn(problem):
        alternative = described(design, problem.names[1])
        try:
            address = data_address(plot_decision(design), fonttype="none")
            parts.append(element("img", alt=alternative, src=address, style="max-width:100%"))
        except MissingExtraError:
            pass
    of = f'probability of "{problem.names[1]}"' if problem.binary else "chance of each answer"
    return join([*parts, details(f"{of} by votes", decision_table(design))])


def decision_table(design: Design) -> Markup:
    """The probability of answer 1: a column for each count of the last group, or one column if there is one group.

    Of more than two answers a column for each, at the votes that come up most often.
    """
    if not design.problem.binary:
        return _classes_table(design)
    groups, table = design.problem.groups, design.table
    named = [f"of {group.count} (group {g})" for g, group in enumerate(groups, 1)]
    if len(groups) == 1:
        return grid((named[0], "probability"), [(n, f"{x:.6f}") for n, x in enumerate(table)])
    heads = (", ".join(named[:-1]), f"0 {named[-1]}", *range(1, table.shape[-1]))
    rows = [(", ".join(map(str, n)), *(f"{x:.3f}" for x in table[n])) for n in np.ndindex(*table.shape[:-1])]
    return grid(heads, rows)


def _classes_table(design: Design) -> Markup:
    shown = classes.telling(design)
    often = [()] * len(shown.votes) if shown.often is None else [(f"{chance:.4f}",) for chance in shown.often]
    rows = [
        (classes.votes_text(votes), *(f"{chance:.6f}" for chance in chances), *more)
        for votes, chances, more in zip(shown.votes.tolist(), shown.chances, often, strict=True)
    ]
    heads = ("votes", *classes.answer_heads(design), *["come up"] * (shown.often is not None))
    said = classes.meaning(design)
    some = classes.selected(shown)
    return join([paragraph(f"{said} {some} The design file has all.".strip() if some else said), grid(heads, rows)])


def gamma_table(design: Design, caption: str = "", class_: str | None = None) -> Markup:
    """gamma by votes, from the closest vote to the unanimous one."""
    K = design.problem.K
    rows = [(f"{K - l}:{l}", f"{design.gamma[l]:.6f}") for l in range(K // 2 + 1, K + 1)]
    return grid(("votes", "gamma"), rows, caption=caption, class_=class_)
